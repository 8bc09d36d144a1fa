/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/access/access_control.h"

#include "server/base/log.h"
#include "server/net/stream_connection.h"
#include "server/net/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOG_LINES  20 /* refusals that are logged in LOG_MS */
#define LOG_MS     10000
#define REFUSED_MS 2000 /* for the other side to read why */

static const char nothing_granted[] = "[access] grants it nothing";

/* What one connection goes through before a session sees it. */

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

static void on_deadline(uv_timer_t *timer);

/* Deadlines are in the order of arrival, nearly: a look now and then is enough for the rest. */
static void set_deadline(struct access_control *e)
{
    uint64_t now = uv_now(e->loop);
    if (!e->first)
        uv_timer_stop(&e->deadline);
    else
        uv_timer_start(&e->deadline, on_deadline, e->first->until > now ? e->first->until - now : 1,
                       0);
}

/* It is looked at no more: it was judged, or is gone. */
static void leave_access(void *ctx)
{
    struct access_connection *g = ctx;
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

static void refuse_connection(struct access_connection *g, const char *why)
{
    struct connection *c = g->connection;
    if (!g->refused)
        log_refusal(g->access, c->peer, why);
    leave_access(g);
    connection_close(c);
}

static void on_deadline(uv_timer_t *timer)
{
    struct access_control *e = timer->data;
    uint64_t now = uv_now(e->loop);
    while (e->first && e->first->until <= now)
        refuse_connection(e->first, "the handshake takes too long");
    set_deadline(e);
}

/* Who was refused stays in the list until he has gone: that limits their number, too. */
static void on_handshaken(void *ctx, struct connection *c, const char *why)
{
    struct access_connection *g = ctx;
    struct access_control *e = g->access;
    char changed[200];
    c->role = why ? ROLE_NONE : access_role_of(e->roles, &c->who);
    if (!why && c->role == ROLE_NONE)
        why = nothing_granted;
    else if (!why && !access_control_holds(e, c, changed, sizeof changed))
        why = changed; /* the lists are others than when it began */
    if (!why) {
        leave_access(g);
        e->admitted(e->ctx, c);
        return;
    }
    log_refusal(e, c->peer, why);
    g->refused = true;
    g->until = uv_now(e->loop) + REFUSED_MS;
    c->user = (struct connection_user){.released = leave_access, .ctx = g};
    connection_finish(c);
    set_deadline(e);
}

static void begin_handshake(struct access_control *e, struct connection *lower)
{
    struct access_connection *g = calloc(1, sizeof *g);
    if (!g) {
        connection_close(lower);
        return;
    }
    if (e->pending == ACCESS_CONTROL_MAX_PENDING)
        refuse_connection(e->first, "too many handshakes at once");
    g->access = e;
    g->connection = tls_connection_new(lower, e->context, on_handshaken, g);
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

static void clear_pending(struct access_control *e)
{
    while (e->first) {
        struct connection *c = e->first->connection;
        leave_access(e->first);
        connection_close(c);
    }
    log_rest(e);
}

static bool is_in_networks(const struct access_control *e, const struct identity *who)
{
    for (unsigned i = 0; i < e->allow_count; i++)
        if (network_has(&e->allow[i], &who->address))
            return true;
    return false;
}

static bool wants_tls(const struct access_control *e, unsigned l)
{
    return e->context && (e->tls[l] || !e->listeners[l].loopback);
}

static void receive_connection(struct access_control *e, unsigned l, int fd)
{
    struct connection *c = stream_connection_new(e->loop, fd);
    if (!c)
        return;
    stream_connection_watch(fd, e->vanished_s);
    bool known = e->listeners[l].loopback || is_in_networks(e, &c->who);
    if (!known &&
        (e->allow_count > 0 || (!e->context && !access_rules_have(e->roles, IDENTITY_NET)))) {
        log_refusal(e, c->peer, "its address is not in 'allow' of [gdb]");
        connection_close(c);
        return;
    }
    if (wants_tls(e, l)) {
        begin_handshake(e, c);
        return;
    }
    c->role = access_role_of(e->roles, &c->who);
    if (c->role != ROLE_NONE) {
        e->admitted(e->ctx, c);
    } else {
        log_refusal(e, c->peer, nothing_granted);
        connection_close(c);
    }
}

/* An address of this machine is not judged by networks. */
static bool address_holds(const struct access_control *e, const struct identity *who)
{
    static const struct network own[] = {{AF_INET, {127}, 8}, {AF_INET6, {[15] = 1}, 128}};
    return e->allow_count == 0 || who->address.ss_family == AF_UNSPEC ||
           network_has(&own[0], &who->address) || network_has(&own[1], &who->address) ||
           is_in_networks(e, who);
}

bool access_control_holds(const struct access_control *e, struct connection *c, char *why,
                          size_t size)
{
    if (!tls_connection_holds(c, e->context, why, size))
        return false;
    c->role = access_role_of(e->roles, &c->who);
    bool holds = address_holds(e, &c->who);
    if (!holds)
        snprintf(why, size, "your address is not in 'allow' of [gdb] any more");
    else if (c->role == ROLE_NONE)
        snprintf(why, size, "[access] grants you nothing any more");
    return holds && c->role != ROLE_NONE;
}

static int adopt_listeners(struct access_control *e, const struct config_access *config,
                           struct message *why)
{
    unsigned count = listener_handed_over();
    if (count == 0)
        return message_fail(
            why, BT_ERR_IO,
            "'listen = systemd', but no sockets were handed over (LISTEN_FDS): is it "
            "started by a .socket unit?");
    for (unsigned i = 0; i < count; i++) {
        struct config_listen as = {.systemd = true};
        if (e->count == ACCESS_CONTROL_MAX_LISTENERS)
            return message_fail(why, BT_ERR_IO, "more than %d sockets to listen on",
                                ACCESS_CONTROL_MAX_LISTENERS);
        int error = listener_adopt(&e->listeners[e->count], LISTENER_FIRST_FD + (int)i, why);
        if (error)
            return error;
        as.address = e->listeners[e->count++].address;
        error = config_access_guarded(config, &as, why);
        if (error)
            return error;
    }
    return BT_OK;
}

static int open_listeners(struct access_control *e, const struct config_access *config,
                          struct message *why)
{
    const struct listener_file file = {config->unix_mode, config->unix_owner.uid,
                                       config->unix_owner.gid};
    int error = BT_OK;
    for (unsigned i = 0; i < config->listen_count && !error; i++) {
        if (config->listen[i].systemd) {
            error = adopt_listeners(e, config, why);
            continue;
        }
        error = listener_bind(&e->listeners[e->count], &config->listen[i].address, &file, why);
        if (!error)
            e->tls[e->count++] = config->listen[i].tls;
    }
    return error;
}

static void warn_of_networks(const struct access_control *e)
{
    char where[300];
    for (unsigned i = 0; i < e->count; i++) {
        if (e->listeners[i].loopback || wants_tls(e, i))
            continue;
        address_format(&e->listeners[i].address, where, sizeof where);
        log_write(LOG_AT_WARNING,
                  "%s: warning: whoever has an address of the networks in 'allow' controls the "
                  "target through %s: an address proves nothing, and nothing is encrypted; a "
                  "section [tls] would do both\n",
                  e->command, where);
    }
}

/* What holds for those who come. */

int access_control_reload(struct access_control *e, const struct config_access *config,
                          const char *path, struct message *why)
{
    struct tls_context *fresh = NULL;
    if (config_has_tls(config)) {
        fresh = tls_context_server(&config->tls, path, why);
        if (!fresh)
            return BT_ERR_FORMAT;
    }
    for (unsigned i = 0; i < e->count; i++) {
        const struct config_listen as = {.tls = e->tls[i], .address = e->listeners[i].address};
        if (config_access_guarded(config, &as, why) != BT_OK) {
            tls_context_drop(fresh);
            return BT_ERR_FORMAT;
        }
    }
    tls_context_drop(e->context);
    e->context = fresh;
    e->handshake_ms = config->tls.handshake * 1000;
    e->vanished_s = config->vanished;
    memcpy(e->allow, config->allow, sizeof e->allow);
    e->allow_count = config->allow_count;
    memcpy(e->roles, config->roles, sizeof e->roles);
    return BT_OK;
}

int access_control_open(struct access_control *e, const struct config_access *config,
                        const char *path, const char *command, struct message *why)
{
    memset(e, 0, sizeof *e);
    e->command = command;
    int error = access_control_reload(e, config, path, why);
    if (!error)
        error = open_listeners(e, config, why);
    if (error)
        access_control_stop(e);
    else
        warn_of_networks(e);
    return error;
}

static void on_arrived(void *ctx, struct listener *l, int fd)
{
    struct access_control *e = ctx;
    receive_connection(e, (unsigned)(l - e->listeners), fd);
}

int access_control_start(struct access_control *e, uv_loop_t *loop,
                         void (*admitted)(void *ctx, struct connection *c), void *ctx,
                         struct message *why)
{
    e->loop = loop;
    e->admitted = admitted;
    e->ctx = ctx;
    e->started = true;
    uv_timer_init(loop, &e->deadline);
    e->deadline.data = e;
    for (unsigned i = 0; i < e->count; i++) {
        int error = listener_start(&e->listeners[i], loop, on_arrived, e, why);
        if (error) {
            access_control_stop(e);
            return error;
        }
    }
    return BT_OK;
}

void access_control_stop(struct access_control *e)
{
    for (unsigned i = 0; i < e->count; i++)
        listener_stop(&e->listeners[i]);
    e->count = 0;
    if (e->started) {
        clear_pending(e);
        uv_close((uv_handle_t *)&e->deadline, NULL);
    }
    e->started = false;
    tls_context_drop(e->context);
    e->context = NULL;
}

/* What is ready. */

/* An address that stands for all is none that can be connected to. */
static bool is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void report_what_to_type(const struct access_control *e, unsigned i, const char *target)
{
    struct address at = e->listeners[i].address;
    char where[300];
    if (is_any(at.host))
        snprintf(at.host, sizeof at.host, "HOST");
    address_format(&at, where, sizeof where);
    if (wants_tls(e, i))
        log_write(LOG_AT_INFO,
                  "in GDB, type: %s | btraced connect %s --ca CA --cert CERT --key KEY\n", target,
                  where);
    else if (at.kind == ADDRESS_UNIX)
        log_write(LOG_AT_INFO, "in GDB, type: %s %s\n", target, at.host);
    else
        log_write(LOG_AT_INFO, "in GDB, type: %s %s\n", target, where);
}

void access_control_announce(const struct access_control *e, bool extended)
{
    char where[300];
    for (unsigned i = 0; i < e->count; i++)
        report_what_to_type(e, i, extended ? "target extended-remote" : "target remote");
    for (unsigned i = 0; i < e->count; i++) {
        const struct address *at = &e->listeners[i].address;
        address_format(at, where, sizeof where);
        if (at->kind == ADDRESS_UNIX) {
            fprintf(stderr, "Listening on %s\n", where);
            continue;
        }
        fprintf(stderr, "Info : Listening on port %u for gdb connections\n", at->port);
        fprintf(stderr, "Listening on port %u\n", at->port);
    }
    fflush(stderr);
}
