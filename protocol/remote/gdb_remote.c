/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection to another server, from its beginning to its end: whose turn it is, what a reply
 * changes, who hears of it. One request at a time goes out, its reply comes in.
 */
#include "protocol/remote/gdb_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

/* File-I/O: "interrupted", with the request to stop. */
static const char file_interrupted[] = "F-1,4,C";

/* File-I/O: "unknown error". */
static const char file_refused[] = "F-1,270f";

/* To a question that was overtaken: a number, for GDB takes no text where it reads memory. */
static const char overtaken[] = "E05";

static const char too_long[] = "E.the target's GDB server sent a packet that is too long";

static void remote_pump(struct gdb_remote *u);

static bool remote_runs(const struct gdb_remote *u)
{
    return u->run == GDB_REMOTE_RUNNING || u->run == GDB_REMOTE_HALTING;
}

/* Requests. */

static struct gdb_request *request_new(const char *payload, size_t len, gdb_remote_reply_fn reply,
                                       void *ctx)
{
    struct gdb_request *r = malloc(sizeof(*r) + len);
    if (!r)
        return NULL;
    *r = (struct gdb_request){.reply = reply, .ctx = ctx, .len = len};
    memcpy(r->payload, payload, len);
    r->packet = gdb_packet_read(r->payload, len);
    return r;
}

static void request_finish(struct gdb_request *r, const char *reply, size_t len)
{
    if (r->reply)
        r->reply(r->ctx, reply, reply ? len : 0);
    free(r);
}

static struct gdb_request *request_take(struct gdb_request **from)
{
    struct gdb_request *r = *from;
    *from = NULL;
    return r;
}

static struct gdb_request *remote_take_ask(struct gdb_remote *u)
{
    struct gdb_request *r = u->asks;
    u->asks = r->next;
    if (!u->asks)
        u->asks_end = &u->asks;
    u->ask_count--;
    return r;
}

/* Observers beside the client. */

void gdb_remote_add_observer(struct gdb_remote *u, struct gdb_remote_observer *g)
{
    g->next = u->observers;
    g->linked = true;
    u->observers = g;
}

void gdb_remote_remove_observer(struct gdb_remote *u, struct gdb_remote_observer *g)
{
    if (!g->linked)
        return;
    g->linked = false;
    struct gdb_remote_observer **at = &u->observers;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    for (struct gdb_request **look = &u->looks; *look;) {
        struct gdb_request *r = *look;
        if (r->observer != g) {
            look = &r->next;
            continue;
        }
        *look = r->next;
        free(r);
    }
    if (u->in_flight && u->in_flight->observer == g) {
        u->in_flight->observer = NULL;
        u->in_flight->reply = NULL;
    }
}

static void observer_reply(void *ctx, const char *reply, size_t len)
{
    const struct gdb_remote_observer *g = ctx;
    g->ops->reply(g->ctx, reply, len);
}

static void remote_refuse_looks(struct gdb_remote *u, const char *reply)
{
    while (u->looks) {
        struct gdb_request *r = u->looks;
        u->looks = r->next;
        request_finish(r, reply, reply ? strlen(reply) : 0);
    }
}

/* Whoever is told may leave, but nobody else does from within. */
static void remote_observers_stopped(struct gdb_remote *u, const char *reply, size_t len)
{
    for (struct gdb_remote_observer *g = u->observers, *next; g; g = next) {
        next = g->next;
        g->ops->stopped(g->ctx, reply, len);
    }
}

static void remote_observers_go_on(struct gdb_remote *u)
{
    for (struct gdb_remote_observer *g = u->observers, *next; g; g = next) {
        next = g->next;
        g->ops->go_on(g->ctx);
    }
}

static void remote_drop_observers(struct gdb_remote *u)
{
    while (u->observers) {
        struct gdb_remote_observer *g = u->observers;
        gdb_remote_remove_observer(u, g);
        g->ops->dropped(g->ctx);
    }
}

void gdb_remote_outdate(struct gdb_remote *u)
{
    u->epoch++;
}

/* The end of a connection. */

static void remote_forget_state(struct gdb_remote *u)
{
    u->phase = GDB_REMOTE_DOWN;
    u->run = GDB_REMOTE_HALTED;
    u->resume_wanted = false;
    u->interrupt_wanted = false;
    u->holds_client = false;
    u->serving_file = false;
    u->selecting = false;
    u->client_runs = false;
    u->selected = (struct gdb_thread){.single = false};
    u->epoch++;
    gdb_remote_forget(u);
}

/* Everything that waits is told that no answer will come. */
static void remote_answer_all(struct gdb_remote *u)
{
    bool client_waits = u->client_runs;
    bool holds_client = u->holds_client;
    struct gdb_request *flying = request_take(&u->in_flight);
    struct gdb_request *greeting = request_take(&u->greeting);
    struct gdb_request *waiting = request_take(&u->waiting);
    remote_forget_state(u);
    if (flying)
        request_finish(flying, NULL, 0);
    if (greeting)
        request_finish(greeting, NULL, 0);
    while (u->asks)
        request_finish(remote_take_ask(u), NULL, 0);
    if (waiting)
        request_finish(waiting, NULL, 0);
    remote_refuse_looks(u, NULL);
    if (client_waits && u->client)
        u->client->stopped(u->client_ctx, NULL, 0);
    remote_observers_stopped(u, NULL, 0);
    if (holds_client && u->client)
        u->client->go_on(u->client_ctx);
    if (holds_client)
        remote_observers_go_on(u);
}

void gdb_remote_fail(struct gdb_remote *u, int error)
{
    enum gdb_remote_phase phase = u->phase;
    if (phase == GDB_REMOTE_DOWN)
        return;
    gdb_link_close(&u->link);
    remote_answer_all(u);
    if (phase == GDB_REMOTE_GREETING)
        u->events->ready(u->ctx, error);
    else
        u->events->lost(u->ctx);
}

/* Questions of our own. */

int gdb_remote_ask_thread(struct gdb_remote *u, const struct gdb_thread *thread, bool first,
                          const char *payload, size_t len, gdb_remote_reply_fn reply, void *ctx)
{
    if (u->phase != GDB_REMOTE_READY)
        return BT_ERR_IO;
    struct gdb_request *r = request_new(payload, len, reply, ctx);
    if (!r)
        return BT_ERR_NOMEM;
    if (thread)
        r->thread = *thread;
    struct gdb_request **at = first ? &u->asks : u->asks_end;
    r->next = *at;
    *at = r;
    if (!r->next)
        u->asks_end = &r->next;
    u->ask_count++;
    remote_pump(u);
    return BT_OK;
}

void gdb_remote_greet_with(struct gdb_remote *u, const char *text, gdb_remote_reply_fn reply)
{
    struct gdb_request *r = request_new(text, strlen(text), reply, u);
    if (!r) {
        gdb_remote_fail(u, BT_ERR_NOMEM);
        return;
    }
    u->greeting = r;
    remote_pump(u);
}

/* Whatever the answer is, nothing better can be done. */
static void remote_remove_orphans(struct gdb_remote *u)
{
    if (!u->orphaned || remote_runs(u))
        return;
    u->orphaned = false;
    while (u->breakpoint_count > 0) {
        struct target_breakpoint bp = u->breakpoints[--u->breakpoint_count];
        char text[64];
        int len = snprintf(text, sizeof(text), "z%x,%llx,%x", (unsigned)bp.type,
                           (unsigned long long)bp.address, (unsigned)bp.kind);
        gdb_remote_ask_thread(u, NULL, false, text, (size_t)len, NULL, NULL);
    }
}

/* What is sent, and what comes back. */

static void remote_changed(struct gdb_remote *u, enum gdb_change change, uint64_t address,
                           uint64_t length)
{
    u->events->changed(u->ctx, change, address, length);
}

static void remote_interrupt_now(struct gdb_remote *u)
{
    u->run = GDB_REMOTE_HALTING;
    gdb_link_interrupt(&u->link);
}

static bool remote_send(struct gdb_remote *u, const char *payload, size_t len)
{
    int error = gdb_link_send(&u->link, payload, len);
    u->packets++;
    if (error == BT_ERR_NOMEM)
        gdb_remote_fail(u, error);
    return error == BT_OK && u->link.open;
}

bool gdb_remote_is_running(const struct gdb_remote *u)
{
    return u->run != GDB_REMOTE_HALTED || u->resume_wanted || u->client_runs;
}

static struct gdb_request *remote_take_look(struct gdb_remote *u)
{
    struct gdb_request *r = u->looks;
    if (!r || u->run != GDB_REMOTE_HALTED || u->holds_client)
        return NULL;
    u->looks = r->next;
    r->next = NULL;
    return r;
}

/* What a request has changed. */

static void request_apply_breakpoint(struct gdb_remote *u, const struct gdb_request *r)
{
    bool inserted = r->packet.effect == GDB_EFFECT_INSERT;
    gdb_remote_note_breakpoint(u, &r->packet.breakpoint, inserted);
    if (!inserted)
        return;
    u->orphaned = u->orphaned || r->abandoned;
    remote_remove_orphans(u);
}

/* Which thread the other side selects for a `?` is not said anywhere: it is selected again. */
static void remote_apply_halted(struct gdb_remote *u, const char *reply, size_t len)
{
    gdb_thread_of_stop(reply, len, &u->stopped);
    u->selected = (struct gdb_thread){.single = false};
    text_buf_clear(&u->stop);
    text_buf_add(&u->stop, reply, len);
}

/* Changes that we have made ourselves are no news. */
static void request_report_change(struct gdb_remote *u, const struct gdb_packet *p)
{
    if (p->effect == GDB_EFFECT_MEMORY)
        remote_changed(u, GDB_CHANGE_MEMORY, p->address, p->length);
    else if (p->effect == GDB_EFFECT_FLASH && u->events->programmed)
        u->events->programmed(u->ctx, p->address, p->data, (size_t)p->length);
    else if (p->effect == GDB_EFFECT_REGISTERS)
        remote_changed(u, GDB_CHANGE_REGISTERS, 0, 0);
    else if (p->effect == GDB_EFFECT_RESET || p->effect == GDB_EFFECT_RESTART)
        remote_changed(u, GDB_CHANGE_RESET, 0, 0);
}

static void request_apply(struct gdb_remote *u, const struct gdb_request *r, const char *reply,
                          size_t len)
{
    if (r->packet.answer != GDB_ANSWER_NONE && !gdb_packet_succeeded(&r->packet, reply, len))
        return;
    if (r->packet.effect == GDB_EFFECT_SELECT)
        u->selected = r->packet.thread;
    if (r->packet.effect == GDB_EFFECT_HALTED || r->packet.effect == GDB_EFFECT_RESTART)
        remote_apply_halted(u, reply, len);
    if (!r->from_client)
        return;
    if (r->packet.effect == GDB_EFFECT_INSERT || r->packet.effect == GDB_EFFECT_REMOVE)
        request_apply_breakpoint(u, r);
    request_report_change(u, &r->packet);
}

static bool request_send_resume(struct gdb_remote *u, struct gdb_request *r)
{
    unsigned epoch = u->link.epoch;
    u->run = GDB_REMOTE_RESUMING;
    u->resume_wanted = false;
    request_report_change(u, &r->packet);
    u->events->resumed(u->ctx);
    u->epoch++;
    remote_refuse_looks(u, overtaken);
    if (u->link.epoch == epoch && remote_send(u, r->payload, r->len)) {
        u->run = GDB_REMOTE_RUNNING;
        if (u->interrupt_wanted)
            remote_interrupt_now(u);
        u->interrupt_wanted = false;
    } else if (u->run == GDB_REMOTE_RESUMING) {
        u->run = GDB_REMOTE_HALTED;
    }
    request_finish(r, NULL, 0);
    return !remote_runs(u);
}

/* True when the next request may follow at once. */
static bool request_send(struct gdb_remote *u, struct gdb_request *r)
{
    switch (r->packet.answer) {
    case GDB_ANSWER_STOP:
        u->in_flight = NULL;
        return request_send_resume(u, r);
    case GDB_ANSWER_NONE:
        u->in_flight = NULL;
        if (remote_send(u, r->payload, r->len))
            request_apply(u, r, NULL, 0);
        request_finish(r, NULL, 0);
        return true;
    default:
        u->in_flight = r;
        remote_send(u, r->payload, r->len);
        return false;
    }
}

static bool request_start(struct gdb_remote *u, struct gdb_request *r)
{
    char text[GDB_THREAD_TEXT + 2] = "Hg";
    if (!r->thread.single || gdb_thread_same(&r->thread, &u->selected))
        return request_send(u, r);
    gdb_thread_text(&r->thread, text + 2);
    u->in_flight = r;
    u->selecting = true;
    remote_send(u, text, strlen(text));
    return false;
}

/* A client's request goes out all the same; one of ours would read another core's values. */
static void remote_take_selected(struct gdb_remote *u, bool good)
{
    struct gdb_request *r = u->in_flight;
    u->selecting = false;
    u->selected = good ? r->thread : (struct gdb_thread){.single = false};
    if (!good && !r->from_client && u->core_count > 1) {
        u->in_flight = NULL;
        request_finish(r, "E01", 3);
        return;
    }
    request_send(u, r);
}

static bool remote_client_may_ask(const struct gdb_remote *u)
{
    return (u->run == GDB_REMOTE_HALTED && !u->holds_client) || u->serving_file;
}

/* In turns: neither keeps the other waiting for ever. */
static struct gdb_request *remote_next_of_clients(struct gdb_remote *u)
{
    struct gdb_request *r = u->observer_turn ? remote_take_look(u) : NULL;
    if (!r && remote_client_may_ask(u))
        r = request_take(&u->waiting);
    if (!r)
        r = remote_take_look(u);
    if (r)
        u->observer_turn = !r->observer;
    return r;
}

/* The next request that may be sent now, taken out of its queue; NULL when there is none. */
static struct gdb_request *remote_next_request(struct gdb_remote *u)
{
    if (u->phase == GDB_REMOTE_GREETING)
        return request_take(&u->greeting);
    if (u->asks && !remote_runs(u))
        return remote_take_ask(u);
    if (u->resume_wanted && u->run == GDB_REMOTE_HALTED && !u->holds_client) {
        struct gdb_request *r =
            u->can_vcont ? request_new("vCont;c", 7, NULL, NULL) : request_new("c", 1, NULL, NULL);
        if (!r)
            gdb_remote_fail(u, BT_ERR_NOMEM);
        return r;
    }
    return remote_next_of_clients(u);
}

/* A client that is new while cores run: GDB cannot do anything before they are halted. */
static void remote_halt_for_client(struct gdb_remote *u)
{
    if (u->waiting && u->run == GDB_REMOTE_RUNNING && !u->serving_file)
        remote_interrupt_now(u);
}

/* True when there may be more to send. */
static bool remote_pump_one(struct gdb_remote *u)
{
    if (u->phase == GDB_REMOTE_DOWN || u->in_flight)
        return false;
    struct gdb_request *r = remote_next_request(u);
    if (r)
        return request_start(u, r);
    remote_halt_for_client(u);
    return false;
}

static void remote_pump(struct gdb_remote *u)
{
    if (u->pump != GDB_REMOTE_PUMP_IDLE) {
        u->pump = GDB_REMOTE_PUMP_AGAIN;
        return;
    }
    bool more;
    do {
        u->pump = GDB_REMOTE_PUMP_ACTIVE;
        more = remote_pump_one(u);
    } while (more || u->pump == GDB_REMOTE_PUMP_AGAIN);
    u->pump = GDB_REMOTE_PUMP_IDLE;
}

static bool remote_client_takes_output(const struct gdb_remote *u)
{
    const struct gdb_request *r = u->in_flight;
    if (!u->client)
        return false;
    if (r)
        return r->from_client && r->packet.answer == GDB_ANSWER_OUTPUT;
    return u->client_runs;
}

static void remote_take_reply(struct gdb_remote *u, const char *payload, size_t len)
{
    struct gdb_request *r = request_take(&u->in_flight);
    if (r->from_client || r->observer)
        gdb_remote_remember(u, r, payload, len);
    request_apply(u, r, payload, len);
    request_finish(r, payload, len);
}

static void remote_take_file_request(struct gdb_remote *u, const char *payload, size_t len)
{
    if (u->client && u->client_runs) {
        u->serving_file = true;
        u->client->output(u->client_ctx, payload, len);
    } else {
        remote_send(u, file_refused, strlen(file_refused));
    }
}

static void remote_take_stop(struct gdb_remote *u, const char *payload, size_t len)
{
    text_buf_clear(&u->stop);
    text_buf_add(&u->stop, payload, len);
    if (text_buf_error(&u->stop) < 0) {
        gdb_remote_fail(u, BT_ERR_NOMEM);
        return;
    }
    u->run = GDB_REMOTE_HELD;
    gdb_remote_forget_registers(u);
    u->serving_file = false;
    if (gdb_thread_of_stop(payload, len, &u->stopped))
        u->selected = u->stopped;
    remote_remove_orphans(u);
    u->events->stopped(u->ctx);
}

static void remote_packet(void *ctx, const char *payload, size_t len)
{
    struct gdb_remote *u = ctx;
    u->packets++;
    if (!payload) {
        payload = too_long;
        len = strlen(payload);
    }
    if (gdb_packet_is_output(payload, len)) {
        if (remote_client_takes_output(u))
            u->client->output(u->client_ctx, payload, len);
        return;
    }
    if (u->selecting)
        remote_take_selected(u, len == 2 && memcmp(payload, "OK", 2) == 0);
    else if (u->in_flight)
        remote_take_reply(u, payload, len);
    else if (remote_runs(u) && len > 1 && payload[0] == 'F')
        remote_take_file_request(u, payload, len);
    else if (remote_runs(u))
        remote_take_stop(u, payload, len);
    remote_pump(u);
}

/* The functions for the server and for the session. */

int gdb_remote_look(struct gdb_remote *u, struct gdb_remote_observer *g,
                    const struct gdb_thread *thread, const char *payload, size_t len)
{
    if (u->phase != GDB_REMOTE_READY || !g->linked)
        return BT_ERR_IO;
    struct gdb_request *r = request_new(payload, len, observer_reply, g);
    if (!r)
        return BT_ERR_NOMEM;
    r->observer = g;
    r->thread = *thread;
    struct gdb_request **at = &u->looks;
    while (*at)
        at = &(*at)->next;
    *at = r;
    remote_pump(u);
    return BT_OK;
}

void gdb_remote_interrupt(struct gdb_remote *u)
{
    if (remote_runs(u))
        remote_interrupt_now(u);
    else if (u->run != GDB_REMOTE_HELD && gdb_remote_is_running(u))
        u->interrupt_wanted = true;
}

void gdb_remote_release_stop(struct gdb_remote *u)
{
    if (u->run != GDB_REMOTE_HELD)
        return;
    u->run = GDB_REMOTE_HALTED;
    if (u->client_runs) {
        u->client_runs = false;
        u->client->stopped(u->client_ctx, u->stop.data, u->stop.len);
    }
    remote_observers_stopped(u, u->stop.data, u->stop.len);
    remote_pump(u);
}

void gdb_remote_hold_client(struct gdb_remote *u, bool holds_client)
{
    bool done = u->holds_client && !holds_client;
    u->holds_client = holds_client;
    if (!done)
        return;
    if (u->client)
        u->client->go_on(u->client_ctx);
    remote_observers_go_on(u);
    remote_pump(u);
}

int gdb_remote_resume(struct gdb_remote *u)
{
    if (u->phase != GDB_REMOTE_READY)
        return BT_ERR_IO;
    if (gdb_remote_is_running(u))
        return BT_ERR_INVAL;
    u->resume_wanted = true;
    remote_pump(u);
    return BT_OK;
}

static void remote_client_reply(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    if (u->client)
        u->client->reply(u->client_ctx, reply, len);
}

static bool client_request_under_way(const struct gdb_remote *u)
{
    return u->waiting || (u->in_flight && u->in_flight->from_client && !u->in_flight->abandoned);
}

int gdb_remote_pass(struct gdb_remote *u, const struct gdb_thread *thread, const char *payload,
                    size_t len)
{
    if (u->phase == GDB_REMOTE_DOWN)
        return BT_ERR_IO;
    if (client_request_under_way(u))
        return BT_ERR_INVAL;
    struct gdb_request *r = request_new(payload, len, remote_client_reply, u);
    if (!r)
        return BT_ERR_NOMEM;
    if (r->packet.effect == GDB_EFFECT_INSERT && gdb_remote_reserve(u) < 0) {
        free(r);
        return BT_ERR_NOMEM;
    }
    r->from_client = true;
    r->thread = *thread;
    if (r->packet.answer == GDB_ANSWER_STOP || r->packet.answer == GDB_ANSWER_NONE) {
        r->reply = NULL;
        r->thread.single = false;
    }
    u->client_runs = u->client_runs || r->packet.answer == GDB_ANSWER_STOP;
    u->waiting = r;
    remote_pump(u);
    return BT_OK;
}

int gdb_remote_answer_file(struct gdb_remote *u, const char *payload, size_t len)
{
    if (!u->serving_file || u->in_flight || u->waiting)
        return BT_ERR_INVAL;
    u->serving_file = false;
    remote_send(u, payload, len);
    return BT_OK;
}

void gdb_remote_let_go(struct gdb_remote *u, bool run)
{
    bool planted = u->breakpoint_count > 0;
    /* A resume that has not been sent. */
    free(request_take(&u->waiting));
    u->client_runs = false;
    if (u->phase != GDB_REMOTE_READY)
        return;
    u->orphaned = true;
    remote_remove_orphans(u);
    u->resume_wanted = run && (!remote_runs(u) || planted);
    if (remote_runs(u) && (planted || !run))
        remote_interrupt_now(u);
    remote_pump(u);
}

void gdb_remote_detach(struct gdb_remote *u)
{
    free(request_take(&u->waiting));
    u->client = NULL;
    u->client_runs = false;
    if (u->in_flight && u->in_flight->from_client) {
        u->in_flight->abandoned = true;
        u->in_flight->reply = NULL;
    }
    if (u->serving_file) {
        u->serving_file = false;
        remote_send(u, file_interrupted, strlen(file_interrupted));
    }
    u->orphaned = u->breakpoint_count > 0;
    remote_remove_orphans(u);
    remote_pump(u);
}

void gdb_remote_attach(struct gdb_remote *u, const struct gdb_remote_client *client, void *ctx)
{
    if (u->client) {
        u->client->dropped(u->client_ctx);
        gdb_remote_detach(u);
    }
    u->client = client;
    u->client_ctx = ctx;
}

static void remote_link_broken(void *ctx, int error)
{
    gdb_remote_fail(ctx, error);
}

void gdb_remote_disconnected(struct gdb_remote *u)
{
    gdb_remote_fail(u, BT_ERR_IO);
}

void gdb_remote_input(struct gdb_remote *u, const void *bytes, size_t len)
{
    gdb_link_input(&u->link, bytes, len);
}

int gdb_remote_new(const struct gdb_remote_events *events, void *ctx, gdb_remote_send_fn send,
                   void *send_ctx, struct gdb_remote **out)
{
    static const struct gdb_link_events link_events = {remote_packet, remote_link_broken};
    struct gdb_remote *u = calloc(1, sizeof(*u));
    if (!u)
        return BT_ERR_NOMEM;
    u->events = events;
    u->ctx = ctx;
    u->core_count = 1;
    u->asks_end = &u->asks;
    u->epoch = 1;
    text_buf_init(&u->stop);
    text_buf_init(&u->description);
    text_buf_init(&u->document);
    if (gdb_link_init(&u->link, GDB_REMOTE_PAYLOAD_MAX, &link_events, u, send, send_ctx) < 0) {
        free(u);
        return BT_ERR_NOMEM;
    }
    *out = u;
    return BT_OK;
}

void gdb_remote_free(struct gdb_remote *u)
{
    if (!u)
        return;
    gdb_link_close(&u->link);
    if (u->client)
        u->client->dropped(u->client_ctx);
    u->client = NULL;
    remote_drop_observers(u);
    remote_answer_all(u);
    gdb_link_release(&u->link);
    text_buf_release(&u->stop);
    text_buf_release(&u->description);
    text_buf_release(&u->document);
    free(u);
}
