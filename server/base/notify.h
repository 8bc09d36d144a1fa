/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What systemd is told of a service of Type=notify: datagrams to the socket that NOTIFY_SOCKET
 * names. Without that variable nothing is done; nor is anything reported, as there is nobody who
 * could do better.
 */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

#include <uv.h>

enum notify_state {
    NOTIFY_READY,     /* a client that connects now is served */
    NOTIFY_RELOADING, /* the configuration is read again; NOTIFY_READY follows */
    NOTIFY_STOPPING,  /* the end has begun */
    NOTIFY_ALIVE,     /* for its watchdog */
};

/* `status` is for `systemctl status`; NULL: what it was. Cut at 200 bytes. */
void notify_systemd(enum notify_state state, const char *status);

/* The watchdog (WatchdogSec=): the event loop says that it goes round, twice as often as it has to.
 */
struct watchdog {
    uv_timer_t timer;
    uv_loop_t *loop; /* NULL: nobody watches */
};

/* Nothing happens without WATCHDOG_USEC, or when it is for another process. */
void watchdog_start(struct watchdog *w, uv_loop_t *loop);
/* Also of one that is all zero. */
void watchdog_stop(struct watchdog *w);

#endif
