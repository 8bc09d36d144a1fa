/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_proxy.h"

static const char gone[] = GDB_PROXY_GONE;
static const char no_resume[] = "E.the target's GDB server does not know this way to run";

static const char runs[] = "E.the target runs: 'continue' waits for its next halt";
static const char moved[] = "E.the target has run or was changed since: 'continue' shows it as it "
                            "is now";
static const char no_run[] = "E.you look on: only the client in control runs the target, see "
                             "'monitor clients'";
static const char no_change[] = "E.you look on: only the client in control changes anything, see "
                                "'monitor clients'";
static const char no_command[] = "you look on: commands of the target's own server are for the "
                                 "client in control\n";
static const char waits[] = "the target runs; waiting for it to halt, Ctrl-C ends the wait\n";
static const char waits_too[] = "the target runs; waiting for it to halt, Ctrl-C halts it\n";
static const char runs_on[] = "the target runs on: only the client in control halts it\n";

/* GDB takes the thread of a stop reply for the selected one, without an Hg. The client knows from
 * now on where the cores are. */
void gdb_proxy_note_stop(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    s->threads_listed = false;
    p->seen = p->remote->epoch;
    if (p->role == PROXY_CATCHES_UP)
        p->role = PROXY_CONTROLS;
    gdb_proxy_forget_shown(p);
    if (!gdb_thread_of_stop(reply, len, &p->general))
        return;
    int core = gdb_remote_core_of(p->remote, &p->general);
    if (core >= 0 && core < s->core_count) {
        s->stopped = core;
        s->general = core;
    }
}

void gdb_proxy_show_stop(struct gdb_proxy *p, const char *reply, size_t len)
{
    p->session->running = false;
    gdb_proxy_note_stop(p, reply, len);
    if (len > 0)
        gdb_proxy_send(p, reply, len);
    else
        gdb_proxy_send_text(p, no_resume); /* GDB would go on waiting after an empty reply */
}

/* Hg0 means the thread of the last stop: nothing that the other side could be sent again. */
void gdb_proxy_select(struct gdb_proxy *p, const struct gdb_packet *packet)
{
    struct gdb_session *s = p->session;
    int core = s->stopped;
    if (packet->thread.single)
        p->general = packet->thread;
    else if (p->remote)
        p->general = p->remote->stopped;
    if (packet->thread.single && p->remote)
        core = gdb_remote_core_of(p->remote, &packet->thread);
    /* A thread of an operating system: on which core it was is not known. */
    if (core >= 0 && core < s->core_count)
        s->general = core;
}

bool gdb_proxy_reverse_wants(const struct gdb_proxy *p, const char *payload, size_t len)
{
    const struct gdb_target *t = p->session->target;
    return t->reverse && t->is_replaying &&
           (gdb_proxy_is_back(payload, len) || t->is_replaying(p->session->target_ctx, -1));
}

static bool packet_starts_with_any(const char *payload, size_t len, const char *const *names)
{
    for (; *names; names++) {
        if (gdb_packet_starts(payload, len, *names))
            return true;
    }
    return false;
}

static bool proxy_answered(struct gdb_proxy *p, const char *text)
{
    gdb_proxy_send_text(p, text);
    return false;
}

/* Where the cores are. */

/* Why the halted cores cannot be read; NULL: they are as this client saw them last. */
static const char *proxy_obstacle(const struct gdb_proxy *p)
{
    const struct gdb_remote *u = p->remote;
    if (!u || u->phase != GDB_REMOTE_READY)
        return gone;
    if (gdb_remote_is_running(u))
        return runs;
    return p->seen != u->epoch ? moved : NULL;
}

static void proxy_wait_for_halt(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    s->running = true;
    p->passed = true;
    gdb_document_forget(s);
    if (p->role != PROXY_OBSERVES)
        p->remote->client_runs = true;
    gdb_proxy_report_news(p);
    gdb_send_console(s, p->role == PROXY_OBSERVES ? waits : waits_too);
}

static void proxy_show_halt(struct gdb_proxy *p)
{
    gdb_document_forget(p->session);
    gdb_proxy_show_stop(p, p->remote->stop.data, p->remote->stop.len);
}

/* A halt that is over: with the registers that some client has read at it. */
static void proxy_show_last(struct gdb_proxy *p, const char *signal)
{
    struct gdb_session *s = p->session;
    char text[GDB_THREAD_TEXT];
    s->running = false;
    text_buf_clear(&s->reply);
    text_buf_puts(&s->reply, signal);
    if (p->general.single) {
        gdb_thread_text(&p->general, text);
        text_buf_printf(&s->reply, "thread:%s;", text);
    }
    gdb_reply_send(s);
}

static void proxy_borrow_registers(struct gdb_proxy *p)
{
    gdb_proxy_forget_shown(p);
    for (size_t i = 0; i < TARGET_CORES_MAX; i++) {
        const char *last = p->remote->registers[i];
        p->shown[i] = last ? strdup(last) : NULL;
    }
}

/* GDB cannot connect without a stop, and without a PC: while cores run it is shown
 * their last one. */
static void proxy_report_state(struct gdb_proxy *p)
{
    const char *why = proxy_obstacle(p);
    p->session->state = GDB_SESSION_OPEN;
    if (why == gone) {
        gdb_proxy_send_text(p, gone);
    } else if (why == runs) {
        proxy_borrow_registers(p);
        p->seen = 0;
        proxy_show_last(p, "T05");
    } else {
        proxy_show_halt(p);
    }
}

static void proxy_resume(struct gdb_proxy *p)
{
    const char *why = proxy_obstacle(p);
    if (why == gone)
        gdb_proxy_send_text(p, gone);
    else if (why == runs)
        proxy_wait_for_halt(p);
    else if (why == moved)
        proxy_show_halt(p);
    else
        gdb_proxy_send_text(p, no_run);
}

bool gdb_proxy_observe_interrupt(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    if (p->role != PROXY_OBSERVES || !p->passed)
        return false;
    gdb_send_console(s, runs_on);
    proxy_show_last(p, "T02");
    return true;
}

/* Packets that need no halted core. */

/* What the other side said of itself to the client in control: it is not asked on behalf of this
 * one, for it would take over the features of this one. */
static void observer_send_features(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    size_t len = 0;
    const char *known = p->remote ? gdb_remote_known(p->remote, "qSupported", 10, &len) : NULL;
    text_buf_clear(&s->reply);
    gdb_features_merge(&s->reply, known ? known : "", len, s->packet_size,
                       gdb_has_btrace(s->target), s->target->reverse);
    gdb_reply_send(s);
}

static void observer_send_current(struct gdb_proxy *p)
{
    char text[GDB_THREAD_TEXT + 2] = "QC";
    if (p->general.single)
        gdb_thread_text(&p->general, text + 2);
    gdb_proxy_send_text(p, p->general.single ? text : "");
}

static void observer_send_threads(struct gdb_proxy *p)
{
    struct text_buf *out = &p->session->reply;
    char text[GDB_THREAD_TEXT];
    text_buf_clear(out);
    for (int i = 0; i < p->remote->core_count; i++) {
        struct gdb_thread t = p->remote->threads[i];
        if (!t.single)
            continue;
        /* They were listed without processes, of which the client in control may have made use. */
        if (!t.has_process && p->remote->stopped.has_process) {
            t.has_process = true;
            t.process = p->remote->stopped.process;
        }
        gdb_thread_text(&t, text);
        text_buf_printf(out, "%c%s", out->len == 0 ? 'm' : ',', text);
    }
    if (out->len == 0)
        text_buf_puts(out, "l");
    gdb_reply_send(p->session);
}

/* While cores run: what was said to another client, or as of a server that knows less. */
static bool observer_send_known(struct gdb_proxy *p, const char *payload, size_t len)
{
    size_t n = 0;
    const char *known = gdb_remote_known(p->remote, payload, len, &n);
    if (known)
        gdb_proxy_send(p, known, n);
    else if (gdb_proxy_is(payload, len, "qfThreadInfo"))
        observer_send_threads(p);
    else if (gdb_proxy_is(payload, len, "qC"))
        observer_send_current(p);
    else
        gdb_proxy_send_text(p, gdb_proxy_is(payload, len, "qsThreadInfo") ? "l" : "");
    return false;
}

static bool observer_select(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (packet.effect == GDB_EFFECT_SELECT)
        gdb_proxy_select(p, &packet);
    else
        gdb_note_motion(p->session, payload, len);
    return proxy_answered(p, "OK");
}

static bool observer_command(struct gdb_proxy *p, const char *payload, size_t len)
{
    gdb_proxy_report_news(p);
    if (gdb_monitor_packet(p->session, payload, len) != BT_ERR_UNSUPPORTED)
        return false;
    gdb_send_console(p->session, no_command);
    return proxy_answered(p, "OK");
}

/* The client's own view, of which nothing reaches the target. True: it was one of these. */
static bool observer_own_view(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (gdb_proxy_is(payload, len, "!")) {
        p->session->extended = true;
        gdb_proxy_send_text(p, "OK");
    } else if (gdb_packet_starts(payload, len, "qSupported")) {
        observer_send_features(p);
    } else if (packet.effect == GDB_EFFECT_HALTED) {
        proxy_report_state(p);
    } else if (gdb_packet_starts(payload, len, "Hg") || gdb_packet_starts(payload, len, "Hc")) {
        observer_select(p, payload, len);
    } else if (gdb_packet_starts(payload, len, "qRcmd,")) {
        observer_command(p, payload, len);
    } else {
        return false;
    }
    return true;
}

/* Packets that do. */

static const char *const halt_packets[] = {
    "g", "p", "m", "G", "P", "M", "X", "qXfer:btrace:read", "bs", "bc", "Z", "z", "vFlash", NULL};
static const char *const change_packets[] = {"G", "P",      "M",    "X",      "Z",
                                             "z", "vFlash", "vRun", "vFile:", NULL};
static const char *const read_packets[] = {"g",
                                           "p",
                                           "m",
                                           "T",
                                           "qC",
                                           "qXfer:features:read:",
                                           "qXfer:memory-map:read:",
                                           "qXfer:threads:read:",
                                           "qThreadExtraInfo,",
                                           "qfThreadInfo",
                                           "qsThreadInfo",
                                           "qAttached",
                                           "qOffsets",
                                           "qCRC:",
                                           "qSearch:memory:",
                                           "vCont?",
                                           NULL};

static const char *const our_packets[] = {"Qbtrace", "qXfer:btrace", "bs", "bc", NULL};

/*
 * GDB takes no text for memory, but a number. And it can do nothing, not even continue, without the
 * registers of the halt that it shows: it gets those that were read at that halt.
 */
static bool proxy_refuse_read(struct gdb_proxy *p, const char *payload, size_t len, const char *why)
{
    const char *shown = p->shown[p->session->general];
    if (gdb_proxy_is(payload, len, "g") && shown)
        return proxy_answered(p, shown);
    return proxy_answered(p, payload[0] == 'm' ? "E05" : why);
}

void gdb_proxy_note_shown(struct gdb_proxy *p, const char *reply, size_t len)
{
    char **shown = &p->shown[p->session->general];
    if (len == 0 || reply[0] == 'E' || memchr(reply, '\0', len))
        return;
    free(*shown);
    *shown = strndup(reply, len);
}

void gdb_proxy_forget_shown(struct gdb_proxy *p)
{
    for (size_t i = 0; i < TARGET_CORES_MAX; i++) {
        free(p->shown[i]);
        p->shown[i] = NULL;
    }
}

/* True: the packet may go the ordinary way, for it changes nothing. */
static bool observer_takes(struct gdb_proxy *p, const char *payload, size_t len)
{
    const char *why = proxy_obstacle(p);
    bool motion = gdb_packet_read(payload, len).answer == GDB_ANSWER_STOP;
    bool back = gdb_proxy_is(payload, len, "bs") || gdb_proxy_is(payload, len, "bc");
    bool reverse = p->remote && gdb_proxy_reverse_wants(p, payload, len);
    if (observer_own_view(p, payload, len))
        return false;
    if (motion && p->session->running)
        return proxy_answered(p, runs);
    if (motion && !back && (why || !reverse)) {
        proxy_resume(p);
        return false;
    }
    if (!motion && packet_starts_with_any(payload, len, change_packets))
        return proxy_answered(p, no_change);
    if (gdb_packet_starts(payload, len, "R"))
        return false; /* which has no reply */
    if (why && packet_starts_with_any(payload, len, halt_packets))
        return proxy_refuse_read(p, payload, len, why);
    if (motion || packet_starts_with_any(payload, len, our_packets))
        return true;
    if (!packet_starts_with_any(payload, len, read_packets))
        return proxy_answered(p, "");
    if (why == gone)
        return proxy_refuse_read(p, payload, len, why);
    return why == runs ? observer_send_known(p, payload, len) : true;
}

/* In control, but what GDB shows is of a halt before. */
static bool proxy_catch_up(struct gdb_proxy *p, const char *payload, size_t len)
{
    const char *why = proxy_obstacle(p);
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (!why || why == gone) {
        p->role = PROXY_CONTROLS;
        return true;
    }
    if (packet.effect == GDB_EFFECT_HALTED && why == runs)
        return true; /* the cores are halted for it, as for any client in control */
    if (packet.answer == GDB_ANSWER_STOP && !gdb_proxy_is(payload, len, "bs") &&
        !gdb_proxy_is(payload, len, "bc")) {
        proxy_resume(p);
        return false;
    }
    return packet_starts_with_any(payload, len, halt_packets)
               ? proxy_refuse_read(p, payload, len, why)
               : true;
}

bool gdb_proxy_observe(struct gdb_proxy *p, const char *payload, size_t len)
{
    if (p->role == PROXY_OBSERVES)
        return observer_takes(p, payload, len);
    if (p->session->running)
        return true;
    return p->role == PROXY_CATCHES_UP ? proxy_catch_up(p, payload, len) : true;
}

/* A text while GDB waits at its prompt would be taken for a reply: it is kept for the next time. */
void gdb_proxy_report_news(struct gdb_proxy *p)
{
    if (p->greeting[0] != '\0')
        gdb_send_console(p->session, p->greeting);
    p->greeting[0] = '\0';
}
