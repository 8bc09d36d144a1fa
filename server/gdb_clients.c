/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/gdb_clients.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_MAX (16u << 20) /* bytes a client may leave unread before it is dropped */

/* Freed when its connection is gone. */
struct gdb_client {
    struct connection *connection;
    struct gdb_clients *clients; /* NULL once they have let go of it */
    struct gdb_session session;
    bool session_open;
    bool closing;
};

static void serve(struct gdb_clients *g, struct connection *c);

static void next(struct gdb_clients *g)
{
    if (g->waiting_count > 0 && !g->stopped) {
        struct connection *c = g->waiting[0];
        g->waiting_count--;
        memmove(g->waiting, g->waiting + 1, g->waiting_count * sizeof *g->waiting);
        serve(g, c);
    } else if (g->service.left) {
        g->service.left(g->service.ctx);
    }
}

static void client_close(struct gdb_client *c)
{
    struct gdb_clients *g = c->clients;
    if (c->closing)
        return;
    c->closing = true;
    c->clients = NULL;
    if (c->session_open && g->service.close)
        g->service.close(g->service.ctx);
    connection_close(c->connection);
    g->client = NULL;
    next(g);
}

static void on_released(void *ctx)
{
    struct gdb_client *c = ctx;
    if (c->session_open)
        gdb_session_release(&c->session);
    free(c);
}

static void client_send(void *ctx, const void *bytes, size_t length)
{
    struct gdb_client *c = ctx;
    if (c->closing)
        return;
    if (connection_unsent(c->connection) >= QUEUE_MAX ||
        connection_write(c->connection, bytes, length) != BT_OK)
        client_close(c);
}

static void on_input(void *ctx, const void *bytes, size_t length)
{
    struct gdb_client *c = ctx;
    gdb_session_input(&c->session, bytes, length);
    enum gdb_session_state state = gdb_session_state(&c->session);
    bool over = state == GDB_SESSION_FAILED ||
                (state == GDB_SESSION_KILLED && !gdb_session_extended(&c->session));
    if (over)
        client_close(c);
}

static void on_ended(void *ctx, const char *why)
{
    (void)why;
    client_close(ctx);
}

static void serve(struct gdb_clients *g, struct connection *connection)
{
    struct gdb_client *c = calloc(1, sizeof *c);
    if (!c) {
        connection_close(connection);
        return;
    }
    const struct connection_user user = {
        .input = on_input, .ended = on_ended, .released = on_released, .ctx = c};
    c->connection = connection;
    c->connection->user = user;
    c->clients = g;
    g->client = c;
    c->session_open = g->service.open(g->service.ctx, &c->session, client_send, c) == 0;
    if (!c->session_open || connection_start(connection, &user) != BT_OK)
        client_close(c);
}

void gdb_clients_init(struct gdb_clients *g, const struct gdb_service *service)
{
    memset(g, 0, sizeof *g);
    g->service = *service;
}

/*
 * A debugger that is started again may be here before the end of its last connection is: then it
 * waits until the place is free, instead of being turned away.
 */
void gdb_clients_admit(struct gdb_clients *g, struct connection *c)
{
    if (!g->client && !g->stopped)
        serve(g, c);
    else if (!g->stopped && g->waiting_count < GDB_CLIENTS_WAITING &&
             connection_leaving(g->client->connection))
        g->waiting[g->waiting_count++] = c;
    else
        connection_close(c);
}

void gdb_clients_stop(struct gdb_clients *g)
{
    g->stopped = true;
    for (unsigned i = 0; i < g->waiting_count; i++)
        connection_close(g->waiting[i]);
    g->waiting_count = 0;
    if (g->client)
        client_close(g->client);
}
