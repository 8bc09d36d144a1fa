/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of a target that takes them as they are, another GDB server, and their answers. */
#include <string.h>

#include "gdb_internal.h"
#include "protocol/remote/gdb_remote.h"

/* For packets that are about no thread. */
static const struct gdb_thread any_thread = {.single = false};

/* Packets that are about no thread go out with whichever is selected. */
static bool packet_needs_thread(const char *payload, size_t len)
{
    return !gdb_packet_starts_any(payload, len,
                                  "H T qSupported vMustReplyEmpty qAttached qfThreadInfo "
                                  "qsThreadInfo qT qSymbol vCont? !");
}

/* Answers. */

/* There is none: the other side is gone, or late, or the cores run again. */
static int pass_reply_lost(struct gdb_session *s, const struct target_answer *a)
{
    const char kind[] = {s->asked.kind, '\0'};
    if (gdb_gone(s) || (kind[0] != '\0' && strchr("gpmx", kind[0])))
        return gdb_reply_gone(s, kind);
    return a->error == BT_ERR_INVAL ? gdb_reply(s, "E05") : gdb_reply_result(s, BT_ERR_IO, a->why);
}

static int pass_answered(struct gdb_session *s, const struct target_answer *a)
{
    const char *reply = (const char *)a->bytes;
    if (!reply)
        return pass_reply_lost(s, a);
    if (s->asked.kind == 'g')
        gdb_note_shown(s, reply, a->length);
    text_buf_add(&s->reply, reply, a->length);
    return BT_OK;
}

static int features_answered(struct gdb_session *s, const struct target_answer *a)
{
    return a->bytes ? gdb_merge_features(s, (const char *)a->bytes, a->length)
                    : pass_reply_lost(s, a);
}

static int state_answered(struct gdb_session *s, const struct target_answer *a)
{
    if (!a->bytes)
        return pass_reply_lost(s, a);
    gdb_note_halt(s);
    s->threads_listed = false;
    gdb_choose_stopped(s, (const char *)a->bytes, a->length);
    text_buf_add(&s->reply, (const char *)a->bytes, a->length);
    return BT_OK;
}

/* Packets. */

/* Not single: whichever is selected. */
static struct target_request pass_request(const struct gdb_session *s,
                                          const struct gdb_thread *thread, const char *payload,
                                          size_t len)
{
    struct target_request r = gdb_packet_read(payload, len).request;
    char text[GDB_THREAD_TEXT];
    r.core = s->general;
    if (thread->single) {
        gdb_thread_text(thread, text);
        if (strlen(text) < sizeof(r.thread))
            memcpy(r.thread, text, strlen(text) + 1);
    }
    return r;
}

static int pass_ask(struct gdb_session *s, const struct gdb_thread *thread, const char *payload,
                    size_t len, gdb_answer_fn answer)
{
    struct target_request r = pass_request(s, thread, payload, len);
    s->asked.kind = len > 0 ? payload[0] : '\0';
    return gdb_ask(s, &r, answer);
}

/* A state that is asked for is that of a session again, after D or k. */
static int pass_state(struct gdb_session *s, const char *payload, size_t len)
{
    s->state = GDB_SESSION_OPEN;
    return pass_ask(s, &any_thread, payload, len, state_answered);
}

static int pass_on(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    struct target_request r = pass_request(s, &any_thread, payload, len);
    if (packet.answer == GDB_ANSWER_STOP)
        return gdb_run_cores(s, &r);
    if (packet.answer == GDB_ANSWER_NONE) {
        if (gdb_run_packet(s, payload, len) == GDB_PASS_ON)
            target_ask(s->target, &s->client, &r, NULL, NULL);
        return TARGET_PENDING;
    }
    if (packet.request.kind == TARGET_STATUS || packet.request.kind == TARGET_RESET)
        return pass_state(s, payload, len);
    if (packet.selects)
        gdb_choose_thread(s, &packet.thread);
    return pass_ask(s, packet_needs_thread(payload, len) ? &s->thread : &any_thread, payload, len,
                    gdb_packet_starts(payload, len, "qSupported") ? features_answered
                                                                  : pass_answered);
}

/* Motions, and what is read of a core that is at a replay position, are answered here. */
static int pass_reverse(struct gdb_session *s, const char *payload, size_t len)
{
    if (!s->host->reverse)
        return GDB_PASS_ON;
    if (gdb_packet_is_back(payload, len))
        return gdb_run_packet(s, payload, len);
    if (gdb_packet_starts(payload, len, "Hc"))
        gdb_note_motion(s, payload, len);
    if (gdb_packet_starts_any(payload, len, "qfThreadInfo qXfer:threads:"))
        s->threads_listed = true;
    bool motion = gdb_packet_read(payload, len).answer == GDB_ANSWER_STOP;
    bool concerned =
        motion ? gdb_is_replaying(s, -1)
               : gdb_is_replaying(s, s->general) && gdb_packet_starts_any(payload, len, "g p m x");
    return concerned ? gdb_run_packet(s, payload, len) : GDB_PASS_ON;
}

/* One that is not for the other side: unknown, or known and malformed. */
static int pass_refuse(struct gdb_session *s, const char *payload, size_t len)
{
    return len > 0 && gdb_packet_starts_any(payload, len, "g p m x G P M X Z z c s C S H T R")
               ? BT_ERR_INVAL
               : gdb_reply(s, "");
}

/* QEMU says nothing of a thread that it has not, and the connection would be given up. */
static bool pass_is_of_no_thread(const struct gdb_session *s, const char *payload, size_t len)
{
    const struct gdb_remote *r = gdb_remote_of(s->target);
    struct gdb_args a = {payload, payload + len};
    struct gdb_thread t;
    return r->is_qemu && gdb_args_text(&a, "qThreadExtraInfo,") &&
           (!gdb_thread_take(&a, &t) || !t.single || gdb_remote_core_of(r, &t) < 0);
}

int gdb_pass(struct gdb_session *s, const char *payload, size_t len)
{
    if (target_is_ready(s->target) && len > gdb_remote_of(s->target)->packet_size)
        return gdb_reply(s, "E.the packet is longer than PacketSize"); /* QEMU would not answer */
    if (gdb_packet_is_broken(payload, len) || pass_is_of_no_thread(s, payload, len))
        return BT_ERR_INVAL;
    if (gdb_packet_is(payload, len, "QThreadSuffixSupported") ||
        gdb_packet_is(payload, len, "qHostInfo"))
        return gdb_run_packet(s, payload, len);
    /* The target was never let go of: attaching to it is to ask how it is. */
    if (gdb_packet_starts(payload, len, "vAttach"))
        return gdb_pass(s, "?", 1);
    if (!gdb_may_pass(payload, len) && !gdb_packet_starts(payload, len, "qRcmd"))
        return pass_refuse(s, payload, len);
    if (gdb_packet_is(payload, len, "!")) {
        struct target_request r = pass_request(s, &any_thread, payload, len);
        target_ask(s->target, &s->client, &r, NULL, NULL);
        return gdb_run_packet(s, payload, len);
    }
    int outcome = gdb_packet_starts(payload, len, "qRcmd") ? gdb_run_packet(s, payload, len)
                                                           : pass_reverse(s, payload, len);
    if (!s->target) /* the command has given it away */
        return gdb_reply_gone(s, payload);
    return outcome == GDB_PASS_ON ? pass_on(s, payload, len) : outcome;
}

/* While the target waits for a file, GDB may read and write its memory. */
int gdb_pass_while_running(struct gdb_session *s, const char *payload, size_t len)
{
    enum gdb_packet_answer answer = gdb_packet_read(payload, len).answer;
    if (!s->target->serves_client || answer == GDB_ANSWER_STOP || answer == GDB_ANSWER_NONE)
        return gdb_reply(s, "E.the target is running");
    if (len > 0 && payload[0] != 'F' && !gdb_packet_starts(payload, len, "qRcmd") &&
        gdb_may_pass(payload, len))
        return pass_ask(s, &s->thread, payload, len, pass_answered);
    if (len == 0 || payload[0] != 'F')
        return pass_refuse(s, payload, len);
    if (gdb_remote_answer_file(gdb_remote_of(s->target), payload, len) < 0)
        return gdb_reply(s, "E.no file was asked for");
    return TARGET_PENDING;
}

/* For one that looks on. */

/* What the other side said of itself to the client in control: it is not asked on behalf of this
 * one, for it would take over the features of this one. */
int gdb_pass_known_features(struct gdb_session *s)
{
    size_t len = 0;
    const char *known = gdb_remote_known(gdb_remote_of(s->target), "qSupported", 10, &len);
    return gdb_merge_features(s, known ? known : "", len);
}

int gdb_pass_known(struct gdb_session *s, const char *payload, size_t len)
{
    size_t n = 0;
    const char *known = gdb_remote_known(gdb_remote_of(s->target), payload, len, &n);
    if (!known && gdb_packet_starts_any(payload, len, "qfThreadInfo qsThreadInfo qC"))
        return gdb_run_packet(s, payload, len);
    text_buf_add(&s->reply, known ? known : "", n);
    return BT_OK;
}
