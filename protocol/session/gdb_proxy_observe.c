/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client that looks on: it reads the halted cores and their history, and changes nothing. It has
 * its own idea of where they are halted, which ends when they run: then it is told so instead of
 * being given values of another halt, until its next continue has shown it where they are now.
 *
 * The same holds for a client that has just got control and has not seen the last halt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_proxy_internal.h"

static const char gone[] = "E.the target's GDB server closed the connection";
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
static const char controls[] = "you are in control of the target now\n";

static bool is(const char *payload, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(payload, text, len) == 0;
}

static bool starts_with_any(const char *payload, size_t len, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (gdb_packet_starts(payload, len, *names))
            return true;
    }
    return false;
}

static void send_text(struct gdb_proxy *p, const char *text)
{
    gdb_proxy_send(p, text, strlen(text));
}

static bool answered(struct gdb_proxy *p, const char *text)
{
    send_text(p, text);
    return false;
}

/* Where the cores are. */

/* Why the halted cores cannot be read; NULL: they are as this client saw them last. */
static const char *obstacle(const struct gdb_proxy *p)
{
    const struct gdb_remote *u = p->remote;
    if (u == NULL || u->phase != GDB_REMOTE_READY)
        return gone;
    if (gdb_remote_is_running(u))
        return runs;
    return p->seen != u->epoch ? moved : NULL;
}

static void wait_for_halt(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    s->running = true;
    p->passed = true;
    gdb_document_forget(s->document);
    if (!p->observes)
        p->remote->client_runs = true;
    gdb_proxy_report_news(p);
    gdb_send_console(s, p->observes ? waits : waits_too);
}

static void show_halt(struct gdb_proxy *p)
{
    gdb_document_forget(p->session->document);
    gdb_proxy_show_stop(p, p->remote->stop.data, p->remote->stop.len);
}

/* A halt that is over: with the registers that some client has read at it. */
static void show_last(struct gdb_proxy *p, const char *signal)
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

static void borrow_registers(struct gdb_proxy *p)
{
    gdb_proxy_forget_shown(p);
    for (size_t i = 0; i < GDB_CORES_MAX; i++) {
        const char *last = p->remote->registers[i];
        p->shown[i] = last != NULL ? strdup(last) : NULL;
    }
}

/* GDB cannot connect without a stop, and without a PC: while cores run it is shown
 * their last one. */
static void report_state(struct gdb_proxy *p)
{
    const char *why = obstacle(p);
    p->session->state = GDB_SESSION_OPEN;
    if (why == gone) {
        send_text(p, gone);
    } else if (why == runs) {
        borrow_registers(p);
        p->seen = 0;
        show_last(p, "T05");
    } else {
        show_halt(p);
    }
}

static void resume(struct gdb_proxy *p)
{
    const char *why = obstacle(p);
    if (why == gone)
        send_text(p, gone);
    else if (why == runs)
        wait_for_halt(p);
    else if (why == moved)
        show_halt(p);
    else
        send_text(p, no_run);
}

bool gdb_proxy_observe_interrupt(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    if (!p->observes || !p->passed)
        return false;
    gdb_send_console(s, runs_on);
    show_last(p, "T02");
    return true;
}

/* Packets that need no halted core. */

/* What the other side said of itself to the client in control: it is not asked on behalf of this
 * one, for it would take over the features of this one. */
static void send_features(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    size_t len = 0;
    const char *known =
        p->remote != NULL ? gdb_remote_known(p->remote, "qSupported", 10, &len) : NULL;
    text_buf_clear(&s->reply);
    gdb_features_merge(&s->reply, known != NULL ? known : "", len, s->packet_size,
                       gdb_has_btrace(s->target), s->target->reverse != NULL);
    gdb_reply_send(s);
}

static void send_current(struct gdb_proxy *p)
{
    char text[GDB_THREAD_TEXT + 2] = "QC";
    if (p->general.single)
        gdb_thread_text(&p->general, text + 2);
    send_text(p, p->general.single ? text : "");
}

static void send_threads(struct gdb_proxy *p)
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
static bool send_known(struct gdb_proxy *p, const char *payload, size_t len)
{
    size_t n = 0;
    const char *known = gdb_remote_known(p->remote, payload, len, &n);
    if (known != NULL)
        gdb_proxy_send(p, known, n);
    else if (is(payload, len, "qfThreadInfo"))
        send_threads(p);
    else if (is(payload, len, "qC"))
        send_current(p);
    else
        send_text(p, is(payload, len, "qsThreadInfo") ? "l" : "");
    return false;
}

static bool select_core(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (packet.effect == GDB_EFFECT_SELECT)
        gdb_proxy_select(p, &packet);
    else
        gdb_note_motion(p->session, payload, len);
    return answered(p, "OK");
}

static bool command(struct gdb_proxy *p, const char *payload, size_t len)
{
    gdb_proxy_report_news(p);
    if (gdb_monitor_packet(p->session, payload, len) != BT_ERR_UNSUPPORTED)
        return false;
    gdb_send_console(p->session, no_command);
    return answered(p, "OK");
}

/* The client's own view, of which nothing reaches the target. True: it was one of these. */
static bool own_view(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (is(payload, len, "!")) {
        p->session->extended = true;
        send_text(p, "OK");
    } else if (gdb_packet_starts(payload, len, "qSupported")) {
        send_features(p);
    } else if (packet.effect == GDB_EFFECT_HALTED) {
        report_state(p);
    } else if (gdb_packet_starts(payload, len, "Hg") || gdb_packet_starts(payload, len, "Hc")) {
        select_core(p, payload, len);
    } else if (gdb_packet_starts(payload, len, "qRcmd,")) {
        command(p, payload, len);
    } else {
        return false;
    }
    return true;
}

/* Packets that do. */

static const char *const of_halt[] = {"g",  "p",  "m", "G", "P",      "M", "X", "qXfer:btrace:read",
                                      "bs", "bc", "Z", "z", "vFlash", NULL};
static const char *const changes[] = {"G", "P",      "M",    "X",      "Z",
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

static const char *const ours[] = {"Qbtrace", "qXfer:btrace", "bs", "bc", NULL};

/*
 * GDB takes no text for memory, but a number. And it can do nothing, not even continue, without the
 * registers of the halt that it shows: it gets those that were read at that halt.
 */
static bool refuse(struct gdb_proxy *p, const char *payload, size_t len, const char *why)
{
    const char *shown = p->shown[p->session->general];
    if (is(payload, len, "g") && shown != NULL)
        return answered(p, shown);
    return answered(p, payload[0] == 'm' ? "E05" : why);
}

void gdb_proxy_note_shown(struct gdb_proxy *p, const char *reply, size_t len)
{
    char **shown = &p->shown[p->session->general];
    if (len == 0 || reply[0] == 'E' || memchr(reply, '\0', len) != NULL)
        return;
    free(*shown);
    *shown = strndup(reply, len);
}

void gdb_proxy_forget_shown(struct gdb_proxy *p)
{
    for (size_t i = 0; i < GDB_CORES_MAX; i++) {
        free(p->shown[i]);
        p->shown[i] = NULL;
    }
}

/* True: the packet may go the ordinary way, for it changes nothing. */
static bool observe(struct gdb_proxy *p, const char *payload, size_t len)
{
    const char *why = obstacle(p);
    bool motion = gdb_packet_read(payload, len).answer == GDB_ANSWER_STOP;
    bool back = is(payload, len, "bs") || is(payload, len, "bc");
    bool reverse = p->remote != NULL && gdb_proxy_reverse_wants(p, payload, len);
    if (own_view(p, payload, len))
        return false;
    if (motion && p->session->running)
        return answered(p, runs);
    if (motion && !back && (why != NULL || !reverse)) {
        resume(p);
        return false;
    }
    if (!motion && starts_with_any(payload, len, changes))
        return answered(p, no_change);
    if (gdb_packet_starts(payload, len, "R"))
        return false; /* which has no reply */
    if (why != NULL && starts_with_any(payload, len, of_halt))
        return refuse(p, payload, len, why);
    if (motion || starts_with_any(payload, len, ours))
        return true;
    if (!starts_with_any(payload, len, read_packets))
        return answered(p, "");
    if (why == gone)
        return refuse(p, payload, len, why);
    return why == runs ? send_known(p, payload, len) : true;
}

/* In control, but what GDB shows is of a halt before. */
static bool catch_up(struct gdb_proxy *p, const char *payload, size_t len)
{
    const char *why = obstacle(p);
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (why == NULL || why == gone) {
        p->outdated = false;
        return true;
    }
    if (packet.effect == GDB_EFFECT_HALTED && why == runs)
        return true; /* the cores are halted for it, as for any client in control */
    if (packet.answer == GDB_ANSWER_STOP && !is(payload, len, "bs") && !is(payload, len, "bc")) {
        resume(p);
        return false;
    }
    return starts_with_any(payload, len, of_halt) ? refuse(p, payload, len, why) : true;
}

bool gdb_proxy_observe(struct gdb_proxy *p, const char *payload, size_t len)
{
    if (p->observes)
        return observe(p, payload, len);
    if (p->session->running)
        return true;
    return p->outdated ? catch_up(p, payload, len) : true;
}

/* A text while GDB waits at its prompt would be taken for a reply: it is kept for the next time. */
void gdb_proxy_report_news(struct gdb_proxy *p)
{
    if (p->greeting[0] != '\0')
        gdb_send_console(p->session, p->greeting);
    p->greeting[0] = '\0';
}

void gdb_proxy_take_control(struct gdb_proxy *p)
{
    struct gdb_remote *u = p->remote;
    if (u == NULL || !p->observes)
        return;
    gdb_remote_attach(u, &gdb_proxy_client, p);
    p->observes = false;
    p->outdated = p->seen != u->epoch;
    snprintf(p->greeting, sizeof(p->greeting), "%s", controls);
    if (p->wait == PROXY_IDLE)
        gdb_remote_remove_observer(u, &p->observer);
    if (!p->session->running)
        return;
    gdb_proxy_report_news(p);
    if (p->passed)
        u->client_runs = true;
}

/* From within a command of its own, between two questions. */
void gdb_proxy_give_control(struct gdb_proxy *p)
{
    struct gdb_remote *u = p->remote;
    if (u == NULL || p->observes)
        return;
    gdb_remote_detach(u);
    gdb_remote_remove_observer(u, &p->observer);
    gdb_remote_add_observer(u, &p->observer);
    p->observes = true;
    p->seen = p->outdated ? 0 : u->epoch;
    p->outdated = false;
    p->greeting[0] = '\0';
}
