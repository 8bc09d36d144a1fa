/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/watchdog.h"

#include "server/base/notify.h"

#include <stdlib.h>
#include <unistd.h>

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    notify_systemd(NOTIFY_ALIVE, NULL);
}

void watchdog_start(struct watchdog *w, uv_loop_t *loop)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    unsigned long long ms = usec ? strtoull(usec, NULL, 10) / 2000 : 0;
    if (ms == 0 || (pid && strtoul(pid, NULL, 10) != (unsigned long)getpid()))
        return;
    w->loop = loop;
    uv_timer_init(loop, &w->timer);
    uv_timer_start(&w->timer, on_watchdog, 0, ms);
    uv_unref((uv_handle_t *)&w->timer);
}

void watchdog_stop(struct watchdog *w)
{
    if (w->loop)
        uv_close((uv_handle_t *)&w->timer, NULL);
    w->loop = NULL;
}
