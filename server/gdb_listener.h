/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listens for GDB on TCP or a Unix socket and runs sessions on an event loop, one connection at a
 * time: a second one is turned away while the first lasts, and waits where the first is just
 * ending. A connection may end at any byte. Or the one connection is standard input and output,
 * for a GDB that starts the server itself: target remote | btraced ... --stdio
 */
#ifndef SERVER_GDB_LISTENER_H
#define SERVER_GDB_LISTENER_H

#include "protocol/gdb_session.h"

#include <uv.h>

/* What a connection is served with. */
struct gdb_service {
    /* gdb_session_init() or its kin, for a new connection. Returns what that returns. */
    int (*open)(void *ctx, struct gdb_session *s, gdb_send_fn send, void *send_ctx);
    /* Optional: the session has no more input and will be released. */
    void (*close)(void *ctx);
    void *ctx;
};

struct gdb_listener {
    uv_loop_t *loop;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } socket;
    bool is_pipe, is_stdio;
    void (*ended)(void *ctx); /* stdio: the client has gone, and no other can come */
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

/* Listens on a Unix socket that only this user may connect to; an old one is replaced. */
int gdb_listener_start_unix(struct gdb_listener *l, uv_loop_t *loop, const char *path,
                            const struct gdb_service *service);

/* Serves standard input and output; `ended` is called when the client has gone. */
int gdb_listener_start_stdio(struct gdb_listener *l, uv_loop_t *loop,
                             const struct gdb_service *service, void (*ended)(void *ctx));

/* Closes the listening socket and the connection; the loop ends when both are closed. */
void gdb_listener_stop(struct gdb_listener *l);

#endif
