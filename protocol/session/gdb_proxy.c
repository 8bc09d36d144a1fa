/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_proxy_internal.h"

/* What the client may send ahead of its answers. */
#define BACKLOG_MAX (4 * GDB_PACKET_SIZE)

/* Console output that the client has not acknowledged; more is dropped. */
#define OUTPUT_MAX (1u << 20)

static const char gone[] = "E.the target's GDB server closed the connection";
static const char gone_text[] = "the target's GDB server closed the connection\n";
static const char no_resume[] = "E.the target's GDB server does not know this way to run";

/* SIGKILL, which no program runs on after. */
static const char gone_stop[] = "X09";

/* For packets that are about no thread. */
static const struct gdb_thread any = {.single = false};

void gdb_proxy_send(struct gdb_proxy *p, const char *payload, size_t len)
{
    if (rsp_send(&p->session->sender, payload, len) < 0)
        p->session->state = GDB_SESSION_FAILED;
}

static void send_text(struct gdb_proxy *p, const char *text)
{
    gdb_proxy_send(p, text, strlen(text));
}

/* Answers of the other side. */

/* GDB takes the thread of a stop reply for the selected one, without an Hg. The client knows from
 * now on where the cores are. */
static void note_stop(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    s->threads_listed = false;
    p->seen = p->remote->epoch;
    p->outdated = false;
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
    note_stop(p, reply, len);
    if (len > 0)
        gdb_proxy_send(p, reply, len);
    else
        send_text(p, no_resume); /* GDB would go on waiting after an empty reply */
}

static void send_lost(struct gdb_proxy *p, enum proxy_wait wait)
{
    bool data = wait == PROXY_DATA || wait == PROXY_REVERSE;
    send_text(p, wait == PROXY_EXTENDED ? "OK" : data ? "E05" : gone);
}

static void send_lost_stop(struct gdb_proxy *p)
{
    p->session->running = false;
    gdb_send_console(p->session, gone_text);
    send_text(p, gone_stop);
}

static void send_features(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    text_buf_clear(&s->reply);
    gdb_features_merge(&s->reply, reply, len, s->packet_size, gdb_has_btrace(s->target),
                       s->target->reverse != NULL);
    gdb_reply_send(s);
}

static void drain(struct gdb_proxy *p);

static void client_reply(void *ctx, const char *reply, size_t len)
{
    struct gdb_proxy *p = ctx;
    enum proxy_wait wait = p->wait;
    p->wait = PROXY_IDLE;
    if (!p->observes && p->remote != NULL)
        gdb_remote_remove_observer(p->remote, &p->observer);
    if (wait == PROXY_IDLE)
        return;
    if (wait == PROXY_STATE && reply != NULL)
        note_stop(p, reply, len);
    if (wait == PROXY_DATA && reply != NULL && p->reverse_kind == 'g')
        gdb_proxy_note_shown(p, reply, len);
    if (reply == NULL)
        send_lost(p, wait);
    else if (wait == PROXY_FEATURES)
        send_features(p, reply, len);
    else if (wait == PROXY_EXTENDED)
        send_text(p, "OK");
    else if (wait == PROXY_REVERSE)
        gdb_proxy_reverse_reply(p, reply, len);
    else
        gdb_proxy_send(p, reply, len);
    drain(p);
}

static void client_stopped(void *ctx, const char *reply, size_t len)
{
    struct gdb_proxy *p = ctx;
    if (!p->session->running || !p->passed)
        return;
    if (reply == NULL) {
        send_lost_stop(p);
        return;
    }
    gdb_proxy_show_stop(p, reply, len);
}

static void client_output(void *ctx, const char *payload, size_t len)
{
    struct gdb_proxy *p = ctx;
    if (p->session->sender.queue.len < OUTPUT_MAX)
        gdb_proxy_send(p, payload, len);
}

static void client_dropped(void *ctx)
{
    struct gdb_proxy *p = ctx;
    enum proxy_wait wait = p->wait;
    p->remote = NULL;
    p->wait = PROXY_IDLE;
    if (wait != PROXY_IDLE)
        send_lost(p, wait);
    if (p->session->running)
        send_lost_stop(p);
    drain(p);
}

static void client_goes_on(void *ctx)
{
    drain(ctx);
}

const struct gdb_remote_client gdb_proxy_client = {client_reply, client_stopped, client_output,
                                                   client_dropped, client_goes_on};

/* Packets of the client. */

static int try_pass(struct gdb_proxy *p, const struct gdb_thread *thread, const char *payload,
                    size_t len)
{
    if (p->remote == NULL)
        return BT_ERR_IO;
    if (p->observes)
        return gdb_remote_look(p->remote, &p->observer, thread, payload, len);
    return gdb_remote_pass(p->remote, thread, payload, len);
}

static void send_refusal(struct gdb_proxy *p, int error)
{
    send_text(p, error == BT_ERR_IO ? gone : "E.too much is under way");
}

static void pass(struct gdb_proxy *p, enum proxy_wait wait, const struct gdb_thread *thread,
                 const char *payload, size_t len)
{
    p->wait = wait;
    int rc = try_pass(p, thread, payload, len);
    if (rc == BT_OK)
        return;
    p->wait = PROXY_IDLE;
    if (rc == BT_ERR_IO)
        send_lost(p, wait);
    else
        send_refusal(p, rc);
}

static void pass_resume(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    s->running = true;
    p->passed = true;
    gdb_document_forget(s->document);
    int rc = try_pass(p, &p->general, payload, len);
    if (rc == BT_OK) {
        if (s->running)
            gdb_proxy_report_news(p);
        return;
    }
    s->running = false;
    send_refusal(p, rc);
}

static bool is(const char *payload, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(payload, text, len) == 0;
}

/* Hg0 means the thread of the last stop: nothing that the other side could be told again. */
void gdb_proxy_select(struct gdb_proxy *p, const struct gdb_packet *packet)
{
    struct gdb_session *s = p->session;
    int core = s->stopped;
    if (packet->thread.single)
        p->general = packet->thread;
    else if (p->remote != NULL)
        p->general = p->remote->stopped;
    if (packet->thread.single && p->remote != NULL)
        core = gdb_remote_core_of(p->remote, &packet->thread);
    /* A thread of an operating system: on which core it was is not known. */
    if (core >= 0 && core < s->core_count)
        s->general = core;
}

/* Packets that are about no thread go out with whichever is selected. */
static bool needs_thread(const char *payload, size_t len)
{
    static const char *const without[] = {
        "H",
        "T",
        "qSupported",
        "vMustReplyEmpty",
        "qAttached",
        "qfThreadInfo",
        "qsThreadInfo",
        "qT",
        "qSymbol",
        "vCont?",
        "!",
    };
    for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++) {
        if (gdb_packet_starts(payload, len, without[i]))
            return false;
    }
    return true;
}

/* A state that is asked for is that of a session again, after D or k. */
static void pass_state(struct gdb_proxy *p, const char *payload, size_t len)
{
    bool left = p->session->state != GDB_SESSION_OPEN;
    p->session->state = GDB_SESSION_OPEN;
    /* The target was never let go of: attaching to it again is to ask how it is. */
    if (left && gdb_packet_starts(payload, len, "vAttach"))
        pass(p, PROXY_STATE, &any, "?", 1);
    else
        pass(p, PROXY_STATE, &any, payload, len);
}

static void pass_on(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    enum proxy_wait wait = PROXY_REPLY;
    if (packet.answer == GDB_ANSWER_STOP) {
        pass_resume(p, payload, len);
        return;
    }
    if (packet.effect == GDB_EFFECT_HALTED || packet.effect == GDB_EFFECT_RESTART) {
        pass_state(p, payload, len);
        return;
    }
    if (packet.answer == GDB_ANSWER_NONE) {
        const struct gdb_target *t = p->session->target;
        struct gdb_why why = {""};
        if (p->observes || !t->restart || t->restart(p->session->target_ctx, &why) < 0)
            try_pass(p, &any, payload, len);
        return;
    }
    if (packet.effect == GDB_EFFECT_SELECT)
        gdb_proxy_select(p, &packet);
    if (gdb_packet_starts(payload, len, "qSupported"))
        wait = PROXY_FEATURES;
    else if (len > 0 && strchr("mgp", payload[0]) != NULL)
        wait = PROXY_DATA;
    if (wait == PROXY_DATA)
        p->reverse_kind = payload[0];
    pass(p, wait, needs_thread(payload, len) ? &p->general : &any, payload, len);
}

static bool is_btrace(const struct gdb_proxy *p, const char *payload, size_t len)
{
    static const char *const names[] = {
        "Qbtrace:", "Qbtrace-conf:", "qXfer:btrace:", "qXfer:btrace-conf:"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (gdb_packet_starts(payload, len, names[i]))
            return gdb_has_btrace(p->session->target);
    }
    return false;
}

static bool is_leave(const char *payload, size_t len)
{
    return is(payload, len, "D") || gdb_packet_starts(payload, len, "D;") ||
           is(payload, len, "k") || gdb_packet_starts(payload, len, "vKill");
}

/* The connection to the other side stays: a GDB that comes later finds the board as it is. */
static void leave(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    s->state = GDB_SESSION_OPEN;
    gdb_session_answer(s, payload, len);
    if (p->remote != NULL && !p->observes && s->state != GDB_SESSION_OPEN)
        gdb_remote_let_go(p->remote, s->state == GDB_SESSION_DETACHED);
}

/* Our own commands first; the rest is the other side's. */
static void monitor(struct gdb_proxy *p, const char *payload, size_t len)
{
    gdb_proxy_report_news(p);
    if (gdb_monitor_packet(p->session, payload, len) == BT_ERR_UNSUPPORTED)
        pass_on(p, payload, len);
}

/* While the target waits for a file, GDB may read and write its memory. */
static void while_running(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_remote *u = p->remote;
    enum gdb_packet_answer answer = gdb_packet_read(payload, len).answer;
    if (u == NULL || !u->serving_file || answer == GDB_ANSWER_STOP || answer == GDB_ANSWER_NONE)
        send_text(p, "E.the target is running");
    else if (len == 0 || payload[0] != 'F')
        pass(p, PROXY_REPLY, &p->general, payload, len);
    else if (gdb_remote_answer_file(u, payload, len) < 0)
        send_text(p, "E.no file was asked for");
}

static void pass_or_patch(struct gdb_proxy *p, const char *payload, size_t len)
{
    enum proxy_reverse reverse = gdb_proxy_reverse(p, payload, len);
    if (reverse == PROXY_REVERSE_PATCHED)
        pass(p, PROXY_REVERSE, &p->general, payload, len);
    else if (reverse == PROXY_REVERSE_NOT)
        pass_on(p, payload, len);
}

static void handle(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    if (is_leave(payload, len)) {
        leave(p, payload, len);
    } else if (is(payload, len, "QStartNoAckMode")) {
        gdb_session_answer(s, payload, len);
    } else if (!gdb_proxy_observe(p, payload, len)) {
        return;
    } else if (s->running) {
        while_running(p, payload, len);
    } else if (is_btrace(p, payload, len)) {
        gdb_session_answer(s, payload, len);
    } else if (p->remote != NULL && len > p->remote->packet_size) {
        send_text(p, "E.the packet is longer than PacketSize"); /* QEMU would not answer at all */
    } else if (gdb_packet_is_broken_write(payload, len) ||
               gdb_packet_is_broken_choice(payload, len) ||
               gdb_packet_is_broken_end(payload, len)) {
        send_text(p, "E01");
    } else if (gdb_packet_starts(payload, len, "QNonStop")) {
        send_text(p, "");
    } else if (is(payload, len, "!")) {
        s->extended = true;
        pass(p, PROXY_EXTENDED, &any, payload, len);
    } else if (gdb_packet_starts(payload, len, "qRcmd,")) {
        monitor(p, payload, len);
    } else {
        pass_or_patch(p, payload, len);
    }
}

/* Packets that come before the answer to the one before. */

/* A failed allocation shows in text_buf_error(), and loses the whole session. */
static void put_off(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct text_buf *b = &p->backlog;
    if (b->len + len < BACKLOG_MAX) {
        text_buf_add(b, &len, sizeof(len));
        text_buf_add(b, payload, len);
    }
    if (text_buf_error(b) < 0 || b->len + len >= BACKLOG_MAX)
        p->session->state = GDB_SESSION_FAILED;
}

/* An answer is due first; or the history is about to change, and this is about it. */
static bool must_wait(const struct gdb_proxy *p, const char *payload, size_t len)
{
    bool holds_client = p->remote != NULL && p->remote->holds_client && !p->session->running;
    bool ours = is_btrace(p, payload, len) || gdb_packet_starts(payload, len, "qRcmd,") ||
                gdb_proxy_reverse_wants(p, payload, len);
    return p->wait != PROXY_IDLE || (holds_client && ours);
}

static void drain(struct gdb_proxy *p)
{
    struct text_buf *b = &p->backlog;
    if (p->draining)
        return;
    p->draining = true;
    while (b->len > 0 && p->session->state != GDB_SESSION_FAILED) {
        size_t len;
        memcpy(&len, b->data, sizeof(len));
        if (must_wait(p, b->data + sizeof(len), len))
            break;
        handle(p, b->data + sizeof(len), len);
        text_buf_drop(b, sizeof(len) + len);
    }
    p->draining = false;
}

void gdb_proxy_packet(struct gdb_proxy *p, const char *payload, size_t len)
{
    if (p->backlog.len > 0 || must_wait(p, payload, len))
        put_off(p, payload, len);
    else
        handle(p, payload, len);
}

void gdb_proxy_interrupt(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    if (!s->running)
        return;
    if (gdb_proxy_observe_interrupt(p))
        return;
    if (!p->passed && s->target->interrupt != NULL)
        s->target->interrupt(s->target_ctx);
    else if (p->remote != NULL)
        gdb_remote_interrupt(p->remote);
}

static struct gdb_proxy *new_proxy(struct gdb_session *s, struct gdb_remote *u)
{
    struct gdb_proxy *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->session = s;
    p->remote = u;
    text_buf_init(&p->backlog);
    p->observer.ops = &gdb_proxy_client;
    p->observer.ctx = p;
    p->general = u->stopped;
    p->seen = u->epoch;
    s->stopped = gdb_remote_stopped_core(u);
    s->general = s->stopped;
    return p;
}

struct gdb_proxy *gdb_proxy_new(struct gdb_session *s, struct gdb_remote *u)
{
    struct gdb_proxy *p = new_proxy(s, u);
    if (p != NULL)
        gdb_remote_attach(u, &gdb_proxy_client, p);
    return p;
}

struct gdb_proxy *gdb_proxy_new_observer(struct gdb_session *s, struct gdb_remote *u,
                                         const char *greeting)
{
    struct gdb_proxy *p = new_proxy(s, u);
    if (p == NULL)
        return NULL;
    p->observes = true;
    snprintf(p->greeting, sizeof(p->greeting), "%s", greeting);
    gdb_remote_add_observer(u, &p->observer);
    return p;
}

bool gdb_proxy_observes(const struct gdb_proxy *p)
{
    return p->observes;
}

void gdb_proxy_free(struct gdb_proxy *p)
{
    if (p == NULL)
        return;
    if (p->remote != NULL)
        gdb_remote_remove_observer(p->remote, &p->observer);
    if (p->remote != NULL && !p->observes)
        gdb_remote_detach(p->remote);
    text_buf_release(&p->backlog);
    gdb_proxy_forget_shown(p);
    free(p);
}
