/* SPDX-License-Identifier: BSD-3-Clause */
/* A session from its beginning to its end: what comes in, which packet it is, who answers it. */
#include "protocol/session/gdb_session.h"

#include <stdio.h>
#include <string.h>

#include "gdb_internal.h"

#define PACKET_SIZE_MIN 1024

static const struct gdb_command *const command_tables[] = {
    gdb_data_commands,
    gdb_run_commands,
    gdb_query_commands,
    gdb_xfer_commands,
};

static bool target_all_or_none(const bool *have, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (have[i] != have[0])
            return false;
    }
    return true;
}

static bool target_btrace_complete(const struct gdb_target *t)
{
    const bool btrace[] = {
        t->btrace_enable, t->btrace_disable, t->btrace_set_size,
        t->btrace_conf,   t->btrace_read,    t->btrace_delivered,
    };
    return target_all_or_none(btrace, sizeof(btrace) / sizeof(*btrace));
}

static bool target_complete(const struct gdb_target *t)
{
    const bool breakpoints[] = {t->insert_breakpoint, t->remove_breakpoint};
    const bool extra[] = {t->extra_registers, t->read_extra};
    const bool flash[] = {t->flash_erase, t->flash_write, t->flash_done};
    return t->core_count && t->core_info && t->halt_reason && t->read_regs && t->read_memory &&
           target_btrace_complete(t) &&
           target_all_or_none(breakpoints, sizeof(breakpoints) / sizeof(*breakpoints)) &&
           target_all_or_none(extra, sizeof(extra) / sizeof(*extra)) &&
           target_all_or_none(flash, sizeof(flash) / sizeof(*flash));
}

static void session_write(void *ctx, const void *bytes, size_t len)
{
    struct gdb_session *s = ctx;
    s->send(s->send_ctx, bytes, len);
}

int gdb_session_begin(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                      int cores, gdb_send_fn send, void *send_ctx)
{
    if (!target_btrace_complete(target) || cores < 1 || cores > TARGET_CORES_MAX)
        return BT_ERR_INVAL;
    *s = (struct gdb_session){
        .target = target,
        .target_ctx = target_ctx,
        .send = send,
        .send_ctx = send_ctx,
        .core_count = cores,
        .motion = GDB_MOTION_ALL,
        .packet_size = GDB_PACKET_SIZE,
    };
    if (rsp_receiver_init(&s->receiver, GDB_PACKET_SIZE) < 0)
        return BT_ERR_NOMEM;
    rsp_sender_init(&s->sender, session_write, s);
    text_buf_init(&s->reply);
    text_buf_init(&s->document.text);
    return BT_OK;
}

int gdb_session_init(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                     gdb_send_fn send, void *send_ctx)
{
    if (!target_complete(target))
        return BT_ERR_INVAL;
    return gdb_session_begin(s, target, target_ctx, target->core_count(target_ctx), send, send_ctx);
}

static void session_drop_proxy(struct gdb_session *s)
{
    if (s->proxy)
        s->proxy_ops->free(s->proxy);
    s->proxy = NULL;
}

void gdb_session_release(struct gdb_session *s)
{
    session_drop_proxy(s);
    gdb_document_forget(s);
    rsp_receiver_release(&s->receiver);
    rsp_sender_release(&s->sender);
    text_buf_release(&s->reply);
}

static bool command_matches(const struct gdb_command *c, const struct gdb_args *packet)
{
    return c->match == GDB_EXACT
               ? gdb_args_equal(packet, c->name)
               : gdb_args_text(&(struct gdb_args){packet->at, packet->end}, c->name);
}

static const struct gdb_command *command_of_packet(const struct gdb_args *packet)
{
    for (size_t t = 0; t < sizeof(command_tables) / sizeof(*command_tables); t++) {
        for (const struct gdb_command *c = command_tables[t]; c->name; c++) {
            if (command_matches(c, packet))
                return c;
        }
    }
    return NULL;
}

static int session_run_packet(struct gdb_session *s, struct gdb_args *packet)
{
    const struct gdb_command *c = command_of_packet(packet);
    if (!c)
        return BT_OK;
    if (s->running && !c->while_running)
        return gdb_reply(s, "E.the target is running");
    gdb_args_text(packet, c->name);
    if (c->match == GDB_BARE && !gdb_args_empty(packet))
        return BT_ERR_INVAL;
    return c->run(s, packet);
}

int gdb_session_answer(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args packet = {payload, payload + len};
    text_buf_clear(&s->reply);
    int outcome = session_run_packet(s, &packet);
    if (outcome == TARGET_PENDING || outcome == GDB_PASS_ON)
        return outcome;
    if (outcome < 0)
        gdb_reply_number(s, outcome);
    gdb_reply_send(s);
    return BT_OK;
}

static void session_send_refusal(struct gdb_session *s)
{
    gdb_reply_error(s, s->refusal);
    gdb_reply_send(s);
    s->refused++;
}

static void session_take_packet(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, true);
    rsp_sender_implied_ack(&s->sender);
    if (s->refusal[0] != '\0')
        session_send_refusal(s);
    else if (s->proxy)
        s->proxy_ops->packet(s->proxy, s->receiver.payload, s->receiver.payload_len);
    else
        gdb_session_answer(s, s->receiver.payload, s->receiver.payload_len);
}

static void session_take_oversize(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, true);
    rsp_sender_implied_ack(&s->sender);
    gdb_reply(s, "E.the packet is longer than PacketSize");
    gdb_reply_send(s);
}

/* Without acknowledgements nothing asks for the frame again: report it, or the client waits. */
static void session_take_bad(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, false);
    if (s->sender.no_ack) {
        gdb_reply_number(s, BT_ERR_FORMAT);
        gdb_reply_send(s);
    }
}

static void session_take_event(struct gdb_session *s, enum rsp_event event)
{
    switch (event) {
    case RSP_PACKET:
        session_take_packet(s);
        break;
    case RSP_OVERSIZE:
        session_take_oversize(s);
        break;
    case RSP_BAD:
        session_take_bad(s);
        break;
    case RSP_ACK:
        rsp_sender_acked(&s->sender);
        break;
    case RSP_NAK:
        if (rsp_sender_nacked(&s->sender) < 0)
            s->state = GDB_SESSION_FAILED;
        break;
    case RSP_BREAK:
        /* One that crosses a stop reply finds nothing to interrupt, which GDB expects. */
        if (s->refusal[0] != '\0')
            break;
        if (s->proxy)
            s->proxy_ops->interrupt(s->proxy);
        else if (s->running && s->target->interrupt)
            s->target->interrupt(s->target_ctx);
        break;
    case RSP_NONE:
        break;
    }
}

void gdb_session_input(struct gdb_session *s, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    while (len > 0 && s->state != GDB_SESSION_FAILED)
        session_take_event(s, rsp_receive(&s->receiver, &at, &len));
}

void gdb_session_stopped(struct gdb_session *s, const struct target_stop *stop)
{
    if (!s->running)
        return;
    s->running = false;
    gdb_reply_stop(s, stop);
    gdb_reply_send(s);
}

void gdb_session_resume_failed(struct gdb_session *s, const char *text)
{
    if (!s->running)
        return;
    s->running = false;
    gdb_reply_error(s, text);
    gdb_reply_send(s);
}

void gdb_session_output(struct gdb_session *s, const char *text)
{
    if (s->running)
        gdb_send_console(s, text);
}

void gdb_session_refuse(struct gdb_session *s, const char *text)
{
    session_drop_proxy(s);
    snprintf(s->refusal, sizeof(s->refusal), "%s", text);
    if (s->running)
        session_send_refusal(s);
    s->running = false;
}

void gdb_session_limit(struct gdb_session *s, size_t size)
{
    if (size > GDB_PACKET_SIZE)
        size = GDB_PACKET_SIZE;
    s->packet_size = size < PACKET_SIZE_MIN ? PACKET_SIZE_MIN : size;
    s->receiver.limit = s->packet_size;
}
