/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session from its beginning to its end: what comes in, which packet it is, who answers it, and
 * what waits for its turn.
 */
#include "protocol/session/gdb_session.h"

#include "gdb_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What a client has seen of the target, and what one may ask that looks on beside the client in
 * control, or has control but has not seen the last halt yet.
 */

static const char runs[] = "E.the target runs: 'continue' waits for its next halt";
static const char moved[] = "E.the target has run or was changed since: 'continue' shows it as it "
                            "is now";
static const char no_change[] = "E.you look on: only the client in control changes anything, see "
                                "'monitor clients'";
static const char waits[] = "the target runs; waiting for it to halt, Ctrl-C ends the wait\n";
static const char waits_too[] = "the target runs; waiting for it to halt, Ctrl-C halts it\n";
static const char runs_on[] = "the target runs on: only the client in control halts it\n";

/* Packets that need a halted core, that change something, and that change nothing. */
static const char halt_packets[] = "g p m G P M X qXfer:btrace:read bs bc Z z vFlash";
static const char change_packets[] = "G P M X Z z vFlash vRun vFile:";
static const char read_packets[] =
    "g p m T qC qXfer:features:read: qXfer:memory-map:read: qXfer:threads:read: qThreadExtraInfo, "
    "qfThreadInfo qsThreadInfo qAttached qOffsets qCRC: qSearch:memory: vCont?";
static const char our_packets[] = "Qbtrace qXfer:btrace bs bc";

/* Those that some client has read at the last halt. */
static void observe_borrow_registers(struct gdb_session *s)
{
    gdb_forget_shown(s);
    for (int i = 0; i < gdb_cores(s); i++) {
        const struct target_regs *last = target_last_regs(s->target, i);
        text_buf_clear(&s->reply);
        if (last)
            gdb_add_registers(s, i, last, &s->reply);
        if (s->reply.len > 0)
            s->shown[i] = strdup(s->reply.data);
    }
}

/* Where the cores are. */

/* Why the halted cores cannot be read; NULL: they are as this client saw them last. */
static const char *observe_obstacle(const struct gdb_session *s)
{
    const struct target *t = s->target;
    if (!target_is_ready(t))
        return gdb_gone(s);
    if (target_is_running(t))
        return runs;
    return s->seen != t->epoch ? moved : NULL;
}

static int observe_wait(struct gdb_session *s)
{
    gdb_start_running(s, GDB_RUNS);
    s->client.waits = true;
    gdb_report_news(s);
    gdb_print(s, s->role == GDB_OBSERVES ? waits : waits_too);
    return TARGET_PENDING;
}

static int observe_show_halt(struct gdb_session *s)
{
    const struct target *t = s->target;
    gdb_document_forget(s);
    return gdb_reply_halt(
        s, &(struct target_halt){&t->stop, t->stop_text, t->stop_packet, t->stop_packet_length});
}

/* A halt that is over: with the registers that some client has read at it. */
static int observe_show_last(struct gdb_session *s, const char *signal)
{
    s->run = GDB_HALTED;
    gdb_reply(s, signal);
    gdb_add_thread(s, &s->reply);
    return BT_OK;
}

/* GDB cannot connect without a stop, and without a PC: while cores run it is shown
 * their last one. */
static int observe_report_state(struct gdb_session *s, const char *why)
{
    s->state = GDB_SESSION_OPEN;
    if (why != runs && why != moved && why)
        return gdb_reply(s, why);
    if (why != runs)
        return observe_show_halt(s);
    observe_borrow_registers(s);
    s->seen = 0;
    return observe_show_last(s, "T05");
}

static int observe_resume(struct gdb_session *s, const char *why)
{
    if (why == runs)
        return observe_wait(s);
    if (why == moved)
        return observe_show_halt(s);
    return gdb_reply(s, why ? why : GDB_NO_RUN);
}

/* Ctrl-C of one that waits for a halt that is not its own. */
static void gdb_observe_interrupt(struct gdb_session *s)
{
    gdb_print(s, runs_on);
    s->client.waits = false;
    observe_show_last(s, "T02");
    gdb_reply_send(s);
}

/* One that waits for a halt though nothing runs, as its resume was not begun: it is shown the last.
 */
static void gdb_observe_end_wait(struct gdb_session *s)
{
    if (s->run != GDB_RUNS || target_is_running(s->target))
        return;
    s->client.waits = false;
    s->run = GDB_HALTED;
    gdb_reply_finish(s, observe_show_halt(s));
}

/*
 * GDB takes no text for memory, but a number. And it can do nothing, not even continue, without the
 * registers of the halt that it shows: it gets those that were read at that halt.
 */
static int observe_refuse_read(struct gdb_session *s, const char *payload, size_t len,
                               const char *why)
{
    const char *shown = s->shown[s->general];
    if (gdb_packet_is(payload, len, "g") && shown && s->task == 0)
        return gdb_reply(s, shown);
    return gdb_reply(s, payload[0] == 'm' ? "E05" : why);
}

/* The client's own view, of which nothing reaches the target; GDB_PASS_ON: it is none of these. */
static int observe_own_view(struct gdb_session *s, const char *payload, size_t len, const char *why)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (packet.request.kind == TARGET_STATUS)
        return observe_report_state(s, why);
    if (!gdb_packet_starts_any(payload, len, "! qSupported Hg Hc qRcmd,"))
        return GDB_PASS_ON;
    return s->packets && payload[1] == 'S' ? gdb_pass_known_features(s)
                                           : gdb_run_packet(s, payload, len);
}

static int observe_looks_on(struct gdb_session *s, const char *payload, size_t len)
{
    const char *why = observe_obstacle(s);
    bool motion = gdb_packet_read(payload, len).answer == GDB_ANSWER_STOP;
    int outcome = observe_own_view(s, payload, len, why);
    if (outcome != GDB_PASS_ON)
        return outcome;
    if (motion && s->run != GDB_HALTED)
        return gdb_reply(s, runs);
    if (motion && !gdb_packet_is_back(payload, len) && (why || !gdb_reverse_wants(s, payload, len)))
        return observe_resume(s, why);
    if (!motion && gdb_packet_starts_any(payload, len, change_packets))
        return gdb_reply(s, no_change);
    if (gdb_packet_starts(payload, len, "R"))
        return TARGET_PENDING; /* which has no reply */
    if (why && gdb_packet_starts_any(payload, len, halt_packets))
        return observe_refuse_read(s, payload, len, why);
    if (motion || gdb_packet_starts_any(payload, len, our_packets))
        return GDB_PASS_ON;
    if (!gdb_packet_starts_any(payload, len, read_packets))
        return gdb_reply(s, "");
    if (why && why != runs && why != moved)
        return observe_refuse_read(s, payload, len, why);
    return why == runs && s->packets ? gdb_pass_known(s, payload, len) : GDB_PASS_ON;
}

/* In control, but what GDB shows is of a halt before. */
static int observe_catches_up(struct gdb_session *s, const char *payload, size_t len)
{
    const char *why = observe_obstacle(s);
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (why != runs && why != moved) {
        s->role = GDB_CONTROLS;
        return GDB_PASS_ON;
    }
    if (packet.request.kind == TARGET_STATUS && why == runs)
        return GDB_PASS_ON; /* the cores are halted for it, as for any client in control */
    if (packet.answer == GDB_ANSWER_STOP && !gdb_packet_is_back(payload, len))
        return observe_resume(s, why);
    return gdb_packet_starts_any(payload, len, halt_packets)
               ? observe_refuse_read(s, payload, len, why)
               : GDB_PASS_ON;
}

/* GDB_PASS_ON: the packet goes the ordinary way. */
static int gdb_observe(struct gdb_session *s, const char *payload, size_t len)
{
    if (s->role == GDB_OBSERVES)
        return observe_looks_on(s, payload, len);
    return s->role == GDB_CATCHES_UP && s->run == GDB_HALTED ? observe_catches_up(s, payload, len)
                                                             : GDB_PASS_ON;
}

#define PACKET_SIZE_MIN 1024

/* What the client may send ahead of its answers. */
#define BACKLOG_MAX (4 * GDB_PACKET_SIZE)

static const char controls[] = "you are in control of the target now\n";
static const char asks[] = "you may ask 'monitor' questions, and nothing else";
static const char asks_packets[] = "qSupported qRcmd, vMustReplyEmpty";
static const char too_long[] = "E.the packet is longer than PacketSize";

/* Answered here, whatever runs and whoever has the target. */
static bool packet_is_own(const char *payload, size_t len)
{
    return gdb_packet_is(payload, len, "QStartNoAckMode") ||
           gdb_packet_starts_any(payload, len, "D k vKill");
}

/* Before it is done: that it was asked for counts. */
static void session_report_change(struct gdb_session *s, const char *payload, size_t len)
{
    if (!s->host->changes || s->role == GDB_OBSERVES || len == 0 || !strchr("MXGPRvF", payload[0]))
        return;
    struct gdb_packet packet = gdb_packet_read(payload, len);
    packet.request.core = s->general;
    s->host->changes(s->host_ctx, &packet.request);
}

static int session_choose_answer(struct gdb_session *s, const char *payload, size_t len)
{
    if (s->refusal[0] != '\0') {
        s->refused++;
        return gdb_reply_error(s, s->refusal);
    }
    if (packet_is_own(payload, len))
        return gdb_run_packet(s, payload, len);
    if (s->only && !gdb_packet_starts_any(payload, len, s->only))
        return gdb_reply_error(s, asks);
    if (!s->target && gdb_packet_starts(payload, len, "R"))
        return TARGET_PENDING;
    if (!s->target && !gdb_is_btrace(s, payload, len))
        return gdb_reply_gone(s, payload);
    int outcome = gdb_task_packet(s, payload, len);
    if (outcome == GDB_PASS_ON)
        outcome = gdb_observe(s, payload, len);
    if (outcome != GDB_PASS_ON)
        return outcome;
    session_report_change(s, payload, len);
    if (s->run != GDB_HALTED)
        return s->packets ? gdb_pass_while_running(s, payload, len)
                          : gdb_run_packet(s, payload, len);
    /* Of any core: what is written now could not be told from what was there before. */
    if (gdb_packet_starts_any(payload, len, "G P M X") && gdb_is_replaying(s, -1) &&
        s->target->ops->writable)
        return gdb_reply(s, "E.nothing can be written at a replay position: continue to the "
                            "halted core first");
    if (s->packets && !gdb_is_btrace(s, payload, len))
        return gdb_pass(s, payload, len);
    return gdb_run_packet(s, payload, len);
}

static void session_handle(struct gdb_session *s, const char *payload, size_t len)
{
    text_buf_clear(&s->reply);
    gdb_reply_finish(s, session_choose_answer(s, payload, len));
}

/* Packets that come before the answer to the one before. */

/* A failed allocation shows in text_buf_error(), and loses the whole session. */
static void session_put_off(struct gdb_session *s, const char *payload, size_t len)
{
    struct text_buf *b = &s->backlog;
    if (b->len + len < BACKLOG_MAX) {
        text_buf_add(b, &len, sizeof(len));
        text_buf_add(b, payload, len);
    }
    if (text_buf_error(b) < 0 || b->len + len >= BACKLOG_MAX)
        s->state = GDB_SESSION_FAILED;
}

/* An answer is due first; or the history is about to change, and this is about it. */
static bool session_must_wait(const struct gdb_session *s, const char *payload, size_t len)
{
    bool held = s->target && s->target->holds_clients && s->run == GDB_HALTED;
    if (s->asked.answer || s->asked.of_host || gdb_tasks_wait(s, payload, len))
        return true;
    return held && (gdb_is_btrace(s, payload, len) || gdb_packet_starts(payload, len, "qRcmd,") ||
                    gdb_reverse_wants(s, payload, len));
}

static void session_drain(struct gdb_session *s)
{
    struct text_buf *b = &s->backlog;
    if (s->draining)
        return;
    s->draining = true;
    while (b->len > 0 && s->state != GDB_SESSION_FAILED) {
        size_t len;
        memcpy(&len, b->data, sizeof(len));
        if (session_must_wait(s, b->data + sizeof(len), len))
            break;
        session_handle(s, b->data + sizeof(len), len);
        text_buf_drop(b, sizeof(len) + len);
    }
    s->draining = false;
}

/* What comes in. */

static void session_take_packet(struct gdb_session *s)
{
    const char *payload = s->receiver.payload;
    size_t len = s->receiver.payload_len;
    s->taken++;
    rsp_send_ack(&s->sender, true);
    rsp_sender_implied_ack(&s->sender);
    if (s->backlog.len > 0 || session_must_wait(s, payload, len))
        session_put_off(s, payload, len);
    else
        session_handle(s, payload, len);
}

static void session_take_oversize(struct gdb_session *s)
{
    rsp_send_ack(&s->sender, true);
    rsp_sender_implied_ack(&s->sender);
    gdb_reply(s, too_long);
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

/* One that crosses a stop reply finds nothing to interrupt, which GDB expects. */
static void session_take_break(struct gdb_session *s)
{
    if ((s->run == GDB_MOVES || s->asked.of_host) && s->host->interrupt)
        s->host->interrupt(s->host_ctx);
    else if (s->run == GDB_RUNS && s->role == GDB_OBSERVES)
        gdb_observe_interrupt(s);
    else if (s->run == GDB_RUNS && s->target)
        target_interrupt(s->target);
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
        session_take_break(s);
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

/* What the host says. */

void gdb_session_stopped(struct gdb_session *s, const struct target_stop *stop)
{
    if (s->run != GDB_MOVES)
        return;
    s->run = GDB_HALTED;
    gdb_reply_stop(s, stop);
    gdb_reply_send(s);
}

void gdb_session_resume_failed(struct gdb_session *s, const char *text)
{
    if (s->run != GDB_MOVES)
        return;
    s->run = GDB_HALTED;
    if (s->front_end == GDB_FRONT_END_LLDB)
        gdb_reply_stuck(s, text);
    else
        gdb_reply_error(s, text);
    gdb_reply_send(s);
}

void gdb_session_command_done(struct gdb_session *s)
{
    if (!s->asked.of_host)
        return;
    s->asked.of_host = false;
    gdb_reply(s, "OK");
    gdb_reply_send(s);
    session_drain(s);
}

void gdb_session_output(struct gdb_session *s, const char *text)
{
    size_t used = strlen(s->greeting);
    if (s->front_end == GDB_FRONT_END_LLDB &&
        s->run == GDB_MOVES) /* CodeLLDB takes the first packet for the answer to bs */
        snprintf(s->greeting + used, sizeof(s->greeting) - used, "%s", text);
    else if (s->run != GDB_HALTED)
        gdb_print(s, text);
}

void gdb_session_limit(struct gdb_session *s, size_t size)
{
    if (size > GDB_PACKET_SIZE)
        size = GDB_PACKET_SIZE;
    s->packet_size = size < PACKET_SIZE_MIN ? PACKET_SIZE_MIN : size;
    s->receiver.limit = s->packet_size;
}

/* Beginning, end, and who has control. */

static bool host_is_complete(const struct gdb_host *h)
{
    const bool btrace[] = {h->btrace_enable, h->btrace_disable, h->btrace_set_size,
                           h->btrace_conf,   h->btrace_read,    h->btrace_delivered};
    const bool replay[] = {h->is_replaying, h->read_regs, h->reverse_memory,
                           h->resume,       h->reverse,   h->interrupt};
    for (size_t i = 1; i < sizeof(btrace) / sizeof(*btrace); i++) {
        if (btrace[i] != btrace[0] || replay[i] != replay[0])
            return false;
    }
    return true;
}

static void session_write(void *ctx, const void *bytes, size_t len)
{
    struct gdb_session *s = ctx;
    s->send(s->send_ctx, bytes, len);
}

int gdb_session_init(struct gdb_session *s, struct target *target, const struct gdb_host *host,
                     void *host_ctx, enum gdb_role role, const char *greeting, gdb_send_fn send,
                     void *send_ctx)
{
    if (!host_is_complete(host))
        return BT_ERR_INVAL;
    *s = (struct gdb_session){
        .target = target,
        .host = host,
        .host_ctx = host_ctx,
        .client = {.ops = &gdb_client_ops, .ctx = s},
        .go_on = session_drain,
        .send = send,
        .send_ctx = send_ctx,
        .role = role,
        .packets = target->ops->packets,
        .stopped = target->stopped_core,
        .motion = GDB_MOTION_ALL,
        .seen = target->epoch,
        .packet_size = GDB_PACKET_SIZE,
    };
    if (rsp_receiver_init(&s->receiver, GDB_PACKET_SIZE) < 0)
        return BT_ERR_NOMEM;
    rsp_sender_init(&s->sender, session_write, s);
    text_buf_init(&s->reply);
    text_buf_init(&s->backlog);
    text_buf_init(&s->document.text);
    snprintf(s->greeting, sizeof(s->greeting), "%s", greeting);
    gdb_choose_core(s, s->stopped);
    if (s->packets)
        gdb_choose_thread(s, &(struct gdb_thread){.single = false});
    target_add_client(target, &s->client, role != GDB_OBSERVES);
    return BT_OK;
}

static void session_leave_target(struct gdb_session *s)
{
    if (s->target)
        target_remove_client(s->target, &s->client);
    s->target = NULL;
}

void gdb_session_release(struct gdb_session *s)
{
    session_leave_target(s);
    gdb_document_forget(s);
    gdb_forget_shown(s);
    free(s->asked.command);
    rsp_receiver_release(&s->receiver);
    rsp_sender_release(&s->sender);
    text_buf_release(&s->reply);
    text_buf_release(&s->backlog);
}

void gdb_session_take_control(struct gdb_session *s)
{
    if (!s->target || s->role != GDB_OBSERVES)
        return;
    s->role = s->seen != s->target->epoch ? GDB_CATCHES_UP : GDB_CONTROLS;
    snprintf(s->greeting, sizeof(s->greeting), "%s", controls);
    target_add_client(s->target, &s->client, true);
    if (s->run != GDB_HALTED)
        gdb_report_news(s);
}

/* From within a command of its own, between two questions. */
void gdb_session_give_control(struct gdb_session *s)
{
    if (!s->target || s->role == GDB_OBSERVES)
        return;
    s->seen = s->role == GDB_CATCHES_UP ? 0 : s->target->epoch;
    s->role = GDB_OBSERVES;
    s->greeting[0] = '\0';
    target_add_client(s->target, &s->client, false);
}

void gdb_session_lose_control(struct gdb_session *s, const char *text)
{
    if (!s->target || s->role == GDB_OBSERVES)
        return;
    gdb_session_give_control(s);
    snprintf(s->greeting, sizeof(s->greeting), "%s", text);
    gdb_answer_lost(s);
    if (s->run != GDB_HALTED)
        gdb_report_news(s);
    gdb_observe_end_wait(s);
}

void gdb_session_only_asks(struct gdb_session *s)
{
    s->only = asks_packets;
}

void gdb_session_refuse(struct gdb_session *s, const char *text)
{
    bool owed = s->run != GDB_HALTED || s->asked.answer || s->asked.of_host;
    s->asked.of_host = false;
    session_leave_target(s);
    snprintf(s->refusal, sizeof(s->refusal), "%s", text);
    s->asked.answer = NULL;
    s->run = GDB_HALTED;
    if (owed)
        session_handle(s, "", 0);
    session_drain(s);
}
