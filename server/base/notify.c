/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TEXT_MAX 200

/* A name that begins with @ is one without a file. */
static void notify_send(const char *text)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = name ? strlen(name) : 0;
    if (length < 2 || length >= sizeof to.sun_path || (*name != '/' && *name != '@'))
        return;
    memcpy(to.sun_path, name, length);
    if (*name == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to, size);
    close(fd);
}

void notify_systemd(enum notify_state state, const char *status)
{
    static const char *const words[] = {[NOTIFY_READY] = "READY=1",
                                        [NOTIFY_RELOADING] = "RELOADING=1",
                                        [NOTIFY_STOPPING] = "STOPPING=1",
                                        [NOTIFY_ALIVE] = "WATCHDOG=1"};
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s%s%s", words[state], status ? "\nSTATUS=" : "",
             status ? status : "");
    notify_send(text);
}

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
