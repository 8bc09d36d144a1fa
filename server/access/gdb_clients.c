/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/access/gdb_clients.h"

#include "server/base/log.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TICK_MS       1000
#define REFUSED_MS    10000 /* for one that was refused to ask why */
#define REFUSED_EXTRA 16    /* connections that are told why they cannot stay, at once */
#define REFUSALS      3     /* packets that are answered with it */

static void serve_connection(struct gdb_clients *g, struct connection *c);
static void on_timer(uv_timer_t *timer);

static void look_at_clients_soon(struct gdb_clients *g)
{
    uv_timer_start(&g->timer, on_timer, 0, TICK_MS);
}

static bool anybody_leaving(const struct gdb_clients *g)
{
    for (const struct gdb_client *c = g->first; c; c = c->next)
        if (connection_leaving(c->connection))
            return true;
    return false;
}

static bool anybody_admitted(const struct gdb_clients *g)
{
    for (const struct gdb_client *c = g->first; c; c = c->next)
        if (c->admitted)
            return true;
    return false;
}

/* A place is free. */
static void serve_waiting(struct gdb_clients *g, const struct gdb_client *gone)
{
    if (g->stopped)
        return;
    if (g->waiting_count == 0 && g->service.left)
        g->service.left(g->service.ctx, gone->admitted && !anybody_admitted(g));
    while (g->waiting_count > 0 && !anybody_leaving(g)) {
        struct connection *c = g->waiting[0];
        g->waiting_count--;
        memmove(g->waiting, g->waiting + 1, g->waiting_count * sizeof *g->waiting);
        serve_connection(g, c);
    }
}

static void gdb_clients_unlink(struct gdb_client **list, struct gdb_client *c)
{
    while (*list != c)
        list = &(*list)->next;
    *list = c->next;
}

static void part_with_client(struct gdb_client *c)
{
    struct gdb_clients *g = c->clients;
    gdb_clients_unlink(&g->first, c);
    g->count--;
    c->next = g->parting;
    g->parting = c;
}

static void close_service(struct gdb_client *c)
{
    if (c->open)
        c->clients->service.close(c->clients->service.ctx, c);
    c->open = false;
}

/* What was said last is an explanation, or what somebody waits for who has ended his own direction:
 * it is sent. */
static void end_connection(struct gdb_client *c)
{
    if (c->asked || (c->session_open && gdb_session_is_refused(&c->session)))
        connection_finish(c->connection);
    else
        connection_close(c->connection);
}

static void client_close(struct gdb_client *c)
{
    struct gdb_clients *g = c->clients;
    if (c->closing)
        return;
    c->closing = true;
    close_service(c);
    part_with_client(c);
    if (c->admitted)
        log_write(LOG_AT_INFO, "btraced: client %u (%s) has left\n", c->number,
                  c->connection->peer);
    end_connection(c);
    serve_waiting(g, c);
}

static void on_released(void *ctx)
{
    struct gdb_client *c = ctx;
    gdb_clients_unlink(&c->clients->parting, c);
    if (c->session_open) {
        gdb_session_release(&c->session);
        c->clients->service.release(c->clients->service.ctx, c);
    }
    free(c);
    malloc_trim(0); /* reconstructed values of a client may be a hundred megabytes */
}

static void note_slow_reader(struct gdb_client *c)
{
    log_write(LOG_AT_WARNING,
              "btraced: client %u (%s) is dropped: it has left more than %zu bytes unread "
              "([limits] memory)\n",
              c->number, c->connection->peer, c->clients->limits->memory);
    c->clients->dropped++;
}

static void log_client_bytes(const struct gdb_client *c, const char *direction, const void *bytes,
                             size_t length)
{
    char who[60];
    if (!c->clients->log_wire)
        return;
    snprintf(who, sizeof who, "btraced: client %u %s", c->number, direction);
    log_bytes(who, bytes, length);
}

/* Called in the middle of something, such as an answer that is being found: who takes no more is
 * parted with from the loop. */
static void client_send(void *ctx, const void *bytes, size_t length)
{
    struct gdb_client *c = ctx;
    if (c->closing || c->over)
        return;
    log_client_bytes(c, "<", bytes, length);
    c->sent += length;
    c->over = connection_write(c->connection, bytes, length) != BT_OK;
    if (!c->over && connection_unsent(c->connection) > c->clients->limits->memory) {
        note_slow_reader(c);
        c->over = true;
    }
    if (c->over)
        look_at_clients_soon(c->clients);
}

/* GDB begins with an acknowledgement or a packet; a browser, a shell or a port scanner does not. */
static bool is_gdb_greeting(uint8_t byte)
{
    return byte == '+' || byte == '-' || byte == '$' || byte == RSP_INTERRUPT;
}

/* The limits on how many there are, of all and of one: `text` is why there is no place, or "". */
static void find_place(const struct gdb_client *c, char *text, size_t size)
{
    const struct gdb_clients *g = c->clients;
    unsigned others = 0, same = 0;
    for (const struct gdb_client *k = g->first; k; k = k->next) {
        if (k == c || !k->session_open || gdb_session_is_refused(&k->session))
            continue;
        others++;
        same += identity_same(&k->connection->who, &c->connection->who);
    }
    *text = '\0';
    if (others >= g->limits->clients)
        snprintf(text, size, "%u clients are connected, which is the limit", others);
    else if (g->limits->identity && same >= g->limits->identity)
        snprintf(text, size, "%u clients of yours are connected, which is the limit for one", same);
}

static void note_refused(struct gdb_client *c)
{
    struct gdb_clients *g = c->clients;
    g->refused++;
    log_write(LOG_AT_WARNING, "btraced: client %u (%s) is refused: %s\n", c->number,
              c->connection->peer, gdb_session_refusal(&c->session));
    close_service(c);
}

/* Only a client that speaks takes a place: who connects and says nothing is in nobody's way. */
static bool begin_session(struct gdb_client *c, uint8_t first)
{
    struct gdb_clients *g = c->clients;
    char text[120];
    if (!is_gdb_greeting(first)) {
        log_write(LOG_AT_WARNING,
                  "btraced: %s does not speak GDB's protocol; the connection is closed\n",
                  c->connection->peer);
        return false;
    }
    c->number = ++g->last_number;
    if (g->service.open(g->service.ctx, c, client_send, c) != BT_OK)
        return false;
    c->session_open = c->open = true;
    gdb_session_limit(&c->session, g->limits->packet);
    find_place(c, text, sizeof text);
    if (*text && !gdb_session_is_refused(&c->session))
        gdb_session_refuse(&c->session, text);
    c->admitted = !gdb_session_is_refused(&c->session);
    if (!c->admitted)
        note_refused(c);
    return true;
}

/* Each packet is measured by itself: who sends many has time for each. */
static void note_progress(struct gdb_client *c)
{
    uint64_t taken = gdb_session_taken(&c->session);
    if (!gdb_session_in_packet(&c->session))
        c->begun = 0;
    else if (c->begun == 0 || taken != c->taken)
        c->begun = c->heard;
    c->taken = taken;
}

static void on_input(void *ctx, const void *bytes, size_t length)
{
    struct gdb_client *c = ctx;
    if (c->closing || c->over || length == 0)
        return;
    c->heard = uv_now(c->clients->loop);
    c->received += length;
    if (!c->session_open && !begin_session(c, *(const uint8_t *)bytes)) {
        client_close(c);
        return;
    }
    log_client_bytes(c, ">", bytes, length);
    gdb_session_input(&c->session, bytes, length);
    if (c->closing || c->over)
        return;
    note_progress(c);
    enum gdb_session_state state = gdb_session_state(&c->session);
    bool over = state == GDB_SESSION_FAILED ||
                (state == GDB_SESSION_KILLED && !gdb_session_extended(&c->session)) ||
                gdb_session_refused(&c->session) >= REFUSALS;
    if (state == GDB_SESSION_FAILED) {
        log_write(LOG_AT_WARNING,
                  "btraced: client %u (%s) is dropped: it sends too much ahead of the answers, or "
                  "takes none of them\n",
                  c->number, c->connection->peer);
        c->clients->dropped++;
    }
    if (over)
        client_close(c);
}

static void on_ended(void *ctx, const char *why)
{
    struct gdb_client *c = ctx;
    c->asked = !why;
    client_close(c);
}

static void serve_connection(struct gdb_clients *g, struct connection *connection)
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
    c->since = c->heard = uv_now(g->loop);
    struct gdb_client **at = &g->first;
    while (*at)
        at = &(*at)->next;
    *at = c;
    g->count++;
    if (connection_start(connection, &user) != BT_OK)
        client_close(c);
}

/* The oldest connection that has not said anything makes room: whoever opens many keeps out nobody
 * who speaks at once. */
static void make_room(struct gdb_clients *g)
{
    struct gdb_client *c = g->first;
    while (c && c->session_open)
        c = c->next;
    if (!c)
        return;
    log_write(LOG_AT_WARNING, "btraced: %s has said nothing, and makes room for others\n",
              c->connection->peer);
    client_close(c);
}

void gdb_clients_admit(struct gdb_clients *g, struct connection *c)
{
    if (!g->stopped && g->count >= g->limits->clients + REFUSED_EXTRA)
        make_room(g);
    if (g->stopped || g->count >= g->limits->clients + REFUSED_EXTRA)
        connection_close(c);
    else if (!anybody_leaving(g))
        serve_connection(g, c);
    else if (g->waiting_count < GDB_CLIENTS_WAITING)
        g->waiting[g->waiting_count++] = c;
    else
        connection_close(c);
}

/* The place is free for another at once; the connection ends when the client is heard again. */
static void disconnect_idle(struct gdb_client *c)
{
    struct gdb_clients *g = c->clients;
    char text[120];
    snprintf(text, sizeof text,
             "nothing was heard from you for %u s ([limits] idle): connect again",
             g->limits->idle_s);
    log_write(LOG_AT_WARNING,
              "btraced: client %u (%s) is disconnected: idle for %u s ([limits] idle)\n", c->number,
              c->connection->peer, g->limits->idle_s);
    g->dropped++;
    close_service(c);
    gdb_session_refuse(&c->session, text);
}

/* Since when a packet is due that does not come; 0: none is. */
static uint64_t due_since(const struct gdb_client *c)
{
    if (!c->session_open || gdb_session_taken(&c->session) == 0)
        return c->since;
    return c->begun;
}

static void drop_slow_talker(struct gdb_client *c)
{
    unsigned s = c->clients->limits->silent_s;
    if (c->session_open)
        log_write(LOG_AT_WARNING,
                  "btraced: client %u (%s) is dropped: a packet of it is not complete after %u s "
                  "([limits] silent)\n",
                  c->number, c->connection->peer, s);
    else
        log_write(LOG_AT_WARNING,
                  "btraced: %s has said nothing for %u s; the connection is closed\n",
                  c->connection->peer, s);
    c->clients->dropped += c->session_open;
    client_close(c);
}

void gdb_client_end(struct gdb_client *c, const char *why)
{
    if (c->closing)
        return;
    log_write(LOG_AT_WARNING, "btraced: client %u (%s) is disconnected: %s\n", c->number,
              c->connection->peer, why);
    close_service(c);
    if (c->session_open)
        gdb_session_refuse(&c->session, why);
    client_close(c);
}

static void judge_client(struct gdb_client *c)
{
    struct gdb_clients *g = c->clients;
    enum access_role role = c->connection->role;
    char why[160];
    if (c->closing)
        return;
    if (!g->holds(g->holds_ctx, c->connection, why, sizeof why))
        gdb_client_end(c, why);
    else if (c->connection->role != role && c->open && g->service.granted)
        g->service.granted(g->service.ctx, c);
}

/* Those that wait for a place have no session to be told in. */
static void judge_all(struct gdb_clients *g)
{
    char why[160];
    unsigned kept = 0;
    for (struct gdb_client *c = g->first, *after; c; c = after) {
        after = c->next;
        judge_client(c);
    }
    for (unsigned i = 0; i < g->waiting_count; i++) {
        if (g->holds(g->holds_ctx, g->waiting[i], why, sizeof why))
            g->waiting[kept++] = g->waiting[i];
        else
            connection_close(g->waiting[i]);
    }
    g->waiting_count = kept;
    g->holds = NULL;
}

static bool certificate_is_over(const struct gdb_client *c)
{
    int64_t expires = c->connection->who.expires;
    return expires && expires <= (int64_t)time(NULL);
}

static void look_at_client(struct gdb_client *c, uint64_t now)
{
    uint64_t silent = now - c->heard, idle = (uint64_t)c->clients->limits->idle_s * 1000;
    uint64_t due = due_since(c);
    bool refused = c->session_open && gdb_session_is_refused(&c->session);
    if (c->over) {
        client_close(c);
    } else if (certificate_is_over(c)) {
        gdb_client_end(c, "your certificate has expired");
    } else if (due && now - due >= (uint64_t)c->clients->limits->silent_s * 1000) {
        drop_slow_talker(c);
    } else if (refused && silent >= REFUSED_MS + 2 * idle) {
        client_close(c);
    } else if (c->session_open && !refused && idle && silent >= idle &&
               !gdb_session_running(&c->session)) {
        disconnect_idle(c);
    }
}

/* Who is closed from within is freed later, from the loop. */
static void on_timer(uv_timer_t *timer)
{
    struct gdb_clients *g = timer->data;
    uint64_t now = uv_now(g->loop);
    if (g->holds)
        judge_all(g);
    for (struct gdb_client *c = g->first, *after; c; c = after) {
        after = c->next;
        if (!c->closing)
            look_at_client(c, now);
    }
}

void gdb_clients_judge(struct gdb_clients *g,
                       bool (*holds)(void *ctx, struct connection *c, char *why, size_t size),
                       void *ctx)
{
    if (g->stopped)
        return;
    g->holds = holds;
    g->holds_ctx = ctx;
    look_at_clients_soon(g);
}

int gdb_clients_init(struct gdb_clients *g, uv_loop_t *loop, const struct gdb_service *service,
                     const struct gdb_limits *limits)
{
    memset(g, 0, sizeof *g);
    g->loop = loop;
    g->service = *service;
    g->limits = limits;
    g->log_wire = log_shows(LOG_AT_DEBUG);
    loop_time_start(&g->loop_time, loop);
    int error = uv_timer_init(loop, &g->timer);
    g->timer.data = g;
    return error ? error : uv_timer_start(&g->timer, on_timer, TICK_MS, TICK_MS);
}

void gdb_clients_stop(struct gdb_clients *g)
{
    if (!g->loop || g->stopped)
        return;
    g->stopped = true;
    uv_close((uv_handle_t *)&g->timer, NULL);
    loop_time_stop(&g->loop_time);
    for (unsigned i = 0; i < g->waiting_count; i++)
        connection_close(g->waiting[i]);
    g->waiting_count = 0;
    while (g->first)
        client_close(g->first);
    for (struct gdb_client *c = g->parting; c; c = c->next)
        connection_close(c->connection);
}
