/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose turn it is: one request at a time goes out, its reply comes in. */
#include <string.h>

#include "protocol/remote/gdb_remote_internal.h"

/* File-I/O: "unknown error". */
static const char file_refused[] = "F-1,270f";

/* To a question that was overtaken: a number, for GDB takes no text where it reads memory. */
static const char overtaken[] = "E05";

static const char too_long[] = "E.the target's GDB server sent a packet that is too long";

static void changed(struct gdb_remote *u, enum gdb_change change, uint64_t address, uint64_t length)
{
    u->events->changed(u->ctx, change, address, length);
}

void gdb_remote_interrupt_now(struct gdb_remote *u)
{
    u->halting = true;
    gdb_link_interrupt(&u->link);
}

bool gdb_remote_send(struct gdb_remote *u, const char *payload, size_t len)
{
    int rc = gdb_link_send(&u->link, payload, len);
    u->packets++;
    if (rc == BT_ERR_NOMEM)
        gdb_remote_fail(u, rc);
    return rc == BT_OK && u->link.open;
}

/* What a request has changed. */

static void apply_breakpoint(struct gdb_remote *u, const struct gdb_request *r)
{
    if (r->packet.effect == GDB_EFFECT_REMOVE) {
        gdb_remote_note_removed(u, &r->packet.breakpoint);
        return;
    }
    gdb_remote_note_inserted(u, &r->packet.breakpoint);
    u->orphaned = u->orphaned || r->abandoned;
    gdb_remote_remove_orphans(u);
}

/* Which thread the other side selects for a `?` is not said anywhere: it is selected again. */
static void apply_halted(struct gdb_remote *u, const char *reply, size_t len)
{
    gdb_thread_of_stop(reply, len, &u->stopped);
    u->selected = (struct gdb_thread){.single = false};
    text_buf_clear(&u->stop);
    text_buf_add(&u->stop, reply, len);
}

/* Changes that we have made ourselves are no news. */
static void report_change(struct gdb_remote *u, const struct gdb_packet *p)
{
    if (p->effect == GDB_EFFECT_MEMORY)
        changed(u, GDB_CHANGE_MEMORY, p->address, p->length);
    else if (p->effect == GDB_EFFECT_FLASH && u->events->programmed != NULL)
        u->events->programmed(u->ctx, p->address, p->data, (size_t)p->length);
    else if (p->effect == GDB_EFFECT_REGISTERS)
        changed(u, GDB_CHANGE_REGISTERS, 0, 0);
    else if (p->effect == GDB_EFFECT_RESET || p->effect == GDB_EFFECT_RESTART)
        changed(u, GDB_CHANGE_RESET, 0, 0);
}

static void apply(struct gdb_remote *u, const struct gdb_request *r, const char *reply, size_t len)
{
    if (r->packet.answer != GDB_ANSWER_NONE && !gdb_packet_succeeded(&r->packet, reply, len))
        return;
    if (r->packet.effect == GDB_EFFECT_SELECT)
        u->selected = r->packet.thread;
    if (r->packet.effect == GDB_EFFECT_HALTED || r->packet.effect == GDB_EFFECT_RESTART)
        apply_halted(u, reply, len);
    if (!r->from_client)
        return;
    if (r->packet.effect == GDB_EFFECT_INSERT || r->packet.effect == GDB_EFFECT_REMOVE)
        apply_breakpoint(u, r);
    report_change(u, &r->packet);
}

static bool send_resume(struct gdb_remote *u, struct gdb_request *r)
{
    unsigned epoch = u->link.epoch;
    u->resuming = true;
    u->resume_wanted = false;
    report_change(u, &r->packet);
    u->events->resumed(u->ctx);
    u->epoch++;
    gdb_remote_refuse_looks(u, overtaken);
    u->resuming = false;
    if (u->link.epoch == epoch && gdb_remote_send(u, r->payload, r->len)) {
        u->run = GDB_REMOTE_RUNNING;
        u->halting = false;
        if (u->interrupt_wanted)
            gdb_remote_interrupt_now(u);
        u->interrupt_wanted = false;
    }
    gdb_request_finish(r, NULL, 0);
    return u->run != GDB_REMOTE_RUNNING;
}

/* True when the next request may follow at once. */
static bool send_request(struct gdb_remote *u, struct gdb_request *r)
{
    switch (r->packet.answer) {
    case GDB_ANSWER_STOP:
        u->in_flight = NULL;
        return send_resume(u, r);
    case GDB_ANSWER_NONE:
        u->in_flight = NULL;
        if (gdb_remote_send(u, r->payload, r->len))
            apply(u, r, NULL, 0);
        gdb_request_finish(r, NULL, 0);
        return true;
    default:
        u->in_flight = r;
        gdb_remote_send(u, r->payload, r->len);
        return false;
    }
}

static bool start_request(struct gdb_remote *u, struct gdb_request *r)
{
    char text[GDB_THREAD_TEXT + 2] = "Hg";
    if (!r->thread.single || gdb_thread_same(&r->thread, &u->selected))
        return send_request(u, r);
    gdb_thread_text(&r->thread, text + 2);
    u->in_flight = r;
    u->selecting = true;
    gdb_remote_send(u, text, strlen(text));
    return false;
}

/* A client's request goes out all the same; one of ours would read another core's values. */
static void take_selected(struct gdb_remote *u, bool good)
{
    struct gdb_request *r = u->in_flight;
    u->selecting = false;
    u->selected = good ? r->thread : (struct gdb_thread){.single = false};
    if (!good && !r->from_client && u->core_count > 1) {
        u->in_flight = NULL;
        gdb_request_finish(r, "E01", 3);
        return;
    }
    send_request(u, r);
}

struct gdb_request *gdb_remote_take_ask(struct gdb_remote *u)
{
    struct gdb_request *r = u->asks;
    u->asks = r->next;
    if (u->asks == NULL)
        u->asks_end = &u->asks;
    u->ask_count--;
    return r;
}

static struct gdb_request *take(struct gdb_request **from)
{
    struct gdb_request *r = *from;
    *from = NULL;
    return r;
}

static bool client_may_ask(const struct gdb_remote *u)
{
    return (u->run == GDB_REMOTE_HALTED && !u->holds_client) || u->serving_file;
}

/* In turns: neither keeps the other waiting for ever. */
static struct gdb_request *take_next_of_clients(struct gdb_remote *u)
{
    struct gdb_request *r = u->observer_turn ? gdb_remote_take_look(u) : NULL;
    if (r == NULL && client_may_ask(u))
        r = take(&u->waiting);
    if (r == NULL)
        r = gdb_remote_take_look(u);
    if (r != NULL)
        u->observer_turn = r->observer == NULL;
    return r;
}

/* The next request that may be sent now, taken out of its queue; NULL when there is none. */
static struct gdb_request *take_next(struct gdb_remote *u)
{
    if (u->phase == GDB_REMOTE_GREETING)
        return take(&u->greeting);
    if (u->asks != NULL && u->run != GDB_REMOTE_RUNNING)
        return gdb_remote_take_ask(u);
    if (u->resume_wanted && u->run == GDB_REMOTE_HALTED && !u->holds_client) {
        struct gdb_request *r = u->can_vcont ? gdb_request_new("vCont;c", 7, NULL, NULL)
                                             : gdb_request_new("c", 1, NULL, NULL);
        if (r == NULL)
            gdb_remote_fail(u, BT_ERR_NOMEM);
        return r;
    }
    return take_next_of_clients(u);
}

/* A client that is new while cores run: GDB cannot do anything before they are halted. */
static void halt_for_client(struct gdb_remote *u)
{
    if (u->waiting != NULL && u->run == GDB_REMOTE_RUNNING && !u->serving_file && !u->halting)
        gdb_remote_interrupt_now(u);
}

/* True when there may be more to send; also when it was asked for meanwhile. */
static bool pump_one(struct gdb_remote *u)
{
    u->pump_again = false;
    if (u->phase == GDB_REMOTE_DOWN || u->in_flight != NULL)
        return false;
    struct gdb_request *r = take_next(u);
    if (r == NULL) {
        halt_for_client(u);
        return u->pump_again;
    }
    bool more = start_request(u, r);
    return more || u->pump_again;
}

void gdb_remote_pump(struct gdb_remote *u)
{
    u->pump_again = true;
    if (u->pumping)
        return;
    u->pumping = true;
    while (u->pump_again)
        u->pump_again = pump_one(u);
    u->pumping = false;
}

static bool client_takes_output(const struct gdb_remote *u)
{
    const struct gdb_request *r = u->in_flight;
    if (u->client == NULL)
        return false;
    if (r != NULL)
        return r->from_client && r->packet.answer == GDB_ANSWER_OUTPUT;
    return u->client_runs;
}

static void take_reply(struct gdb_remote *u, const char *payload, size_t len)
{
    struct gdb_request *r = take(&u->in_flight);
    if (r->from_client || r->observer != NULL)
        gdb_remote_remember(u, r, payload, len);
    apply(u, r, payload, len);
    gdb_request_finish(r, payload, len);
}

static void take_file_request(struct gdb_remote *u, const char *payload, size_t len)
{
    if (u->client != NULL && u->client_runs) {
        u->serving_file = true;
        u->client->output(u->client_ctx, payload, len);
    } else {
        gdb_remote_send(u, file_refused, strlen(file_refused));
    }
}

static void take_stop(struct gdb_remote *u, const char *payload, size_t len)
{
    text_buf_clear(&u->stop);
    text_buf_add(&u->stop, payload, len);
    if (text_buf_error(&u->stop) < 0) {
        gdb_remote_fail(u, BT_ERR_NOMEM);
        return;
    }
    u->run = GDB_REMOTE_HELD;
    gdb_remote_forget_registers(u);
    u->halting = false;
    u->serving_file = false;
    if (gdb_thread_of_stop(payload, len, &u->stopped))
        u->selected = u->stopped;
    gdb_remote_remove_orphans(u);
    u->events->stopped(u->ctx);
}

void gdb_remote_packet(void *ctx, const char *payload, size_t len)
{
    struct gdb_remote *u = ctx;
    u->packets++;
    if (payload == NULL) {
        payload = too_long;
        len = strlen(payload);
    }
    if (gdb_packet_is_output(payload, len)) {
        if (client_takes_output(u))
            u->client->output(u->client_ctx, payload, len);
        return;
    }
    if (u->selecting)
        take_selected(u, len == 2 && memcmp(payload, "OK", 2) == 0);
    else if (u->in_flight != NULL)
        take_reply(u, payload, len);
    else if (u->run == GDB_REMOTE_RUNNING && len > 1 && payload[0] == 'F')
        take_file_request(u, payload, len);
    else if (u->run == GDB_REMOTE_RUNNING)
        take_stop(u, payload, len);
    gdb_remote_pump(u);
}
