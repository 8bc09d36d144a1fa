/* SPDX-License-Identifier: BSD-3-Clause */
/* What one connection goes through before a session sees it. */
#include "access_control_internal.h"
#include "server/base/log.h"
#include "server/net/stream_connection.h"
#include "server/net/tls_connection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINES  20 /* refusals that are logged in LOG_MS */
#define LOG_MS     10000
#define REFUSED_MS 2000 /* for the other side to read why */

/* A connection that is in its handshake, or was refused and is not closed yet. */
struct access_connection {
    struct access_control *access;
    struct access_connection *before, *after;
    struct connection *connection;
    uint64_t until; /* ms of the loop's clock */
    bool refused;
};

static void log_rest(struct access_control *e)
{
    if (e->not_logged)
        log_write(LOG_AT_WARNING, "%s: %u more refusals\n", e->command, e->not_logged);
    e->not_logged = 0;
}

static void log_refusal(struct access_control *e, const char *peer, const char *why)
{
    uint64_t now = uv_now(e->loop);
    if (e->logged == 0 || now - e->log_since >= LOG_MS) {
        log_rest(e);
        e->log_since = now;
        e->logged = 0;
    }
    if (e->logged++ < LOG_LINES)
        log_write(LOG_AT_WARNING, "%s: refused %s: %s\n", e->command, peer, why);
    else
        e->not_logged++;
}

/* Deadlines are in the order of arrival, nearly: a look now and then is enough for the rest. */
static void set_deadline(struct access_control *e)
{
    uint64_t now = uv_now(e->loop);
    if (!e->first)
        uv_timer_stop(&e->deadline);
    else
        uv_timer_start(&e->deadline, access_control_on_deadline,
                       e->first->until > now ? e->first->until - now : 1, 0);
}

static void leave(struct access_connection *g)
{
    struct access_control *e = g->access;
    if (g->before)
        g->before->after = g->after;
    else
        e->first = g->after;
    if (g->after)
        g->after->before = g->before;
    else
        e->last = g->before;
    e->pending--;
    g->connection->user.released = NULL;
    free(g);
    set_deadline(e);
}

static void send_away(struct access_connection *g, const char *why)
{
    struct connection *c = g->connection;
    if (!g->refused)
        log_refusal(g->access, c->peer, why);
    leave(g);
    connection_close(c);
}

void access_control_on_deadline(uv_timer_t *timer)
{
    struct access_control *e = timer->data;
    uint64_t now = uv_now(e->loop);
    while (e->first && e->first->until <= now)
        send_away(e->first, "the handshake takes too long");
    set_deadline(e);
}

static void on_gone(void *ctx)
{
    leave(ctx);
}

/* Who was refused stays in the list until he has gone: that limits their number, too. */
static void on_shaken(void *ctx, struct connection *c, const char *why)
{
    struct access_connection *g = ctx;
    struct access_control *e = g->access;
    if (!why) {
        leave(g);
        e->admitted(e->ctx, c);
        return;
    }
    log_refusal(e, c->peer, why);
    g->refused = true;
    g->until = uv_now(e->loop) + REFUSED_MS;
    c->user = (struct connection_user){.released = on_gone, .ctx = g};
    connection_finish(c);
    set_deadline(e);
}

static void shake_hands(struct access_control *e, struct connection *lower)
{
    struct access_connection *g = calloc(1, sizeof *g);
    if (!g) {
        connection_close(lower);
        return;
    }
    if (e->pending == ACCESS_CONTROL_MAX_PENDING)
        send_away(e->first, "too many handshakes at once");
    g->access = e;
    g->connection = tls_connection_new(lower, e->context, on_shaken, g);
    if (!g->connection) {
        free(g);
        return;
    }
    g->until = uv_now(e->loop) + e->handshake_ms;
    g->before = e->last;
    if (e->last)
        e->last->after = g;
    else
        e->first = g;
    e->last = g;
    e->pending++;
    set_deadline(e);
}

void access_control_clear(struct access_control *e)
{
    while (e->first) {
        struct connection *c = e->first->connection;
        leave(e->first);
        connection_close(c);
    }
    log_rest(e);
}

static bool is_in_networks(const struct access_control *e, int fd)
{
    struct sockaddr_storage peer;
    if (stream_connection_address(fd, &peer) != BT_OK)
        return false;
    for (unsigned i = 0; i < e->allow_count; i++)
        if (network_has(&e->allow[i], &peer))
            return true;
    return false;
}

bool access_control_wants_tls(const struct access_control *e, unsigned l)
{
    return e->context && (e->tls[l] || !e->listeners[l].loopback);
}

void access_control_receive(struct access_control *e, unsigned l, int fd)
{
    bool others = !e->listeners[l].loopback;
    bool known = !others || is_in_networks(e, fd);
    struct connection *c = stream_connection_new(e->loop, fd);
    if (!c)
        return;
    if (!known && (e->allow_count > 0 || !e->context)) {
        log_refusal(e, c->peer, "its address is not in 'allow' of [gdb]");
        connection_close(c);
    } else if (access_control_wants_tls(e, l)) {
        shake_hands(e, c);
    } else {
        e->admitted(e->ctx, c);
    }
}
