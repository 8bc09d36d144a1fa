/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions of those who were let in, one at a time: a second one is turned away while the first
 * lasts, and waits where the first is just ending. A connection may end at any byte.
 */
#ifndef SERVER_GDB_CLIENTS_H
#define SERVER_GDB_CLIENTS_H

#include "protocol/gdb_session.h"
#include "server/connection.h"

#define GDB_CLIENTS_WAITING 16

/* What a connection is served with. */
struct gdb_service {
    /* gdb_session_init() or its kin, for a new connection. Returns what that returns. */
    int (*open)(void *ctx, struct gdb_session *s, gdb_send_fn send, void *send_ctx);
    /* Optional: the session has no more input and will be released. */
    void (*close)(void *ctx);
    /* Optional: the connection is over, and nobody waits. */
    void (*left)(void *ctx);
    void *ctx;
};

struct gdb_clients {
    struct gdb_service service;
    struct gdb_client *client; /* NULL: nobody is served */
    /* Came while the client was leaving, the first first. */
    struct connection *waiting[GDB_CLIENTS_WAITING];
    unsigned waiting_count;
    bool stopped;
};

void gdb_clients_init(struct gdb_clients *g, const struct gdb_service *service);

/* Takes over a connection that is not started. */
void gdb_clients_admit(struct gdb_clients *g, struct connection *c);

/* Closes all; those who come later are turned away. The structure must stay until the loop has
 * ended. */
void gdb_clients_stop(struct gdb_clients *g);

#endif
