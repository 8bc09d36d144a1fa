/* SPDX-License-Identifier: BSD-3-Clause */
/* systemd's watchdog (WatchdogSec=): the event loop says that it goes round, twice as often as it
 * has to. */
#ifndef SERVER_WATCHDOG_H
#define SERVER_WATCHDOG_H

#include <uv.h>

struct watchdog {
    uv_timer_t timer;
    uv_loop_t *loop; /* NULL: nobody watches */
};

/* Nothing happens without WATCHDOG_USEC, or when it is for another process. */
void watchdog_start(struct watchdog *w, uv_loop_t *loop);
/* Also of one that is all zero. */
void watchdog_stop(struct watchdog *w);

#endif
