/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listens for GDB on TCP and runs sessions on an event loop, one connection at a time: a second
 * one is turned away while the first lasts, and waits where the first is just ending. A connection
 * may end at any byte.
 */
#ifndef SERVER_GDB_LISTENER_H
#define SERVER_GDB_LISTENER_H

#include "protocol/gdb_session.h"

#include <uv.h>

/* What a connection is served with. */
struct gdb_service {
    /* gdb_session_init() or its kin, for a new connection. Returns what that returns. */
    int (*open)(void *ctx, struct gdb_session *s, gdb_send_fn send, void *send_ctx);
    void *ctx;
};

struct gdb_listener {
    uv_loop_t *loop;
    uv_tcp_t socket;
    struct gdb_service service;
    struct gdb_client *client; /* NULL: nobody is connected */
    bool deferred;             /* a connection waits for the client to be gone */
    unsigned port;             /* really listened on */
};

/*
 * Listens on a numeric address ("127.0.0.1", "::1"); port 0 takes a free one. The listener must
 * stay until the loop has ended. Returns 0 or a negative libuv error.
 */
int gdb_listener_start(struct gdb_listener *l, uv_loop_t *loop, const char *address, unsigned port,
                       const struct gdb_service *service);

/* Closes the listening socket and the connection; the loop ends when both are closed. */
void gdb_listener_stop(struct gdb_listener *l);

#endif
