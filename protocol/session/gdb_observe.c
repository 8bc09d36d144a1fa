/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a client has seen of the target, and what one may ask that looks on beside the client in
 * control, or has control but has not seen the last halt yet.
 */
#include <string.h>

#include "gdb_internal.h"

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

void gdb_observe_interrupt(struct gdb_session *s)
{
    gdb_print(s, runs_on);
    s->client.waits = false;
    observe_show_last(s, "T02");
    gdb_reply_send(s);
}

void gdb_observe_end_wait(struct gdb_session *s)
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

int gdb_observe(struct gdb_session *s, const char *payload, size_t len)
{
    if (s->role == GDB_OBSERVES)
        return observe_looks_on(s, payload, len);
    return s->role == GDB_CATCHES_UP && s->run == GDB_HALTED ? observe_catches_up(s, payload, len)
                                                             : GDB_PASS_ON;
}
