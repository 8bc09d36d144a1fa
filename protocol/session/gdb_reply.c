/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers that all packets share, and what the client has been told of the target. */
#include <stdlib.h>
#include <string.h>

#include "gdb_internal.h"
#include "protocol/rsp/plain_text.h"

/* Bytes of console text in one O packet. */
#define CONSOLE_CHUNK 1024

#define SIGNAL_INT  2
#define SIGNAL_TRAP 5

/* GDB prints the text as it stands on the wire: no character that would be escaped there. */
static void reply_add_plain(struct text_buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        text_buf_putc(b, *text < ' ' || *text > '~' || strchr("#$}*", *text) ? '?' : *text);
}

int gdb_reply_error(struct gdb_session *s, const char *text)
{
    gdb_reply(s, "E.");
    reply_add_plain(&s->reply, text);
    return BT_OK;
}

int gdb_reply_result(struct gdb_session *s, int error, const char *why)
{
    if (error >= 0)
        return gdb_reply(s, "OK");
    return gdb_reply_error(s, why[0] != '\0' ? why : bt_strerror(error));
}

int gdb_reply_done(struct gdb_session *s, const struct target_answer *a)
{
    return gdb_reply_result(s, a->error, a->why);
}

int gdb_reply_number(struct gdb_session *s, int error)
{
    switch (error) {
    case BT_ERR_NOMEM:
        return gdb_reply(s, "E0c");
    case BT_ERR_RANGE:
    case BT_ERR_NO_CODE:
        return gdb_reply(s, "E0e");
    case BT_ERR_IO:
        return gdb_reply(s, "E05");
    default:
        return gdb_reply(s, "E01");
    }
}

void gdb_reply_send(struct gdb_session *s)
{
    if (text_buf_error(&s->reply) < 0)
        gdb_reply_number(s, BT_ERR_NOMEM);
    if (text_buf_error(&s->reply) < 0 || rsp_send(&s->sender, s->reply.data, s->reply.len) < 0)
        s->state = GDB_SESSION_FAILED;
    text_buf_clear(&s->reply);
}

void gdb_reply_finish(struct gdb_session *s, int outcome)
{
    if (outcome == TARGET_PENDING || outcome == GDB_PASS_ON)
        return;
    if (outcome < 0)
        gdb_reply_number(s, outcome);
    gdb_reply_send(s);
}

void gdb_send_console(struct gdb_session *s, const char *text, size_t left)
{
    while (left > 0) {
        size_t len = left < CONSOLE_CHUNK ? left : CONSOLE_CHUNK;
        gdb_reply(s, "O");
        text_buf_hex(&s->reply, text, len);
        gdb_reply_send(s);
        text += len;
        left -= len;
    }
}

/* What is quoted in it may be of another client, or of a device. */
void gdb_print(struct gdb_session *s, const char *text)
{
    struct text_buf plain;
    text_buf_init(&plain);
    text_buf_puts(&plain, text);
    if (text_buf_error(&plain) == 0 && plain.len > 0) {
        plain_text(plain.data, plain.len, "\n\t");
        gdb_send_console(s, plain.data, plain.len);
    }
    text_buf_release(&plain);
}

const char *gdb_gone(const struct gdb_session *s)
{
    if (s->target && target_is_ready(s->target))
        return NULL;
    return s->packets ? "E.the target's GDB server closed the connection"
                      : "E.the connection to the target is lost";
}

int gdb_reply_gone(struct gdb_session *s, const char *payload)
{
    /* GDB takes no text where it reads, but a number. */
    return gdb_reply(s, payload[0] != '\0' && strchr("gpmx", payload[0]) ? "E05" : gdb_gone(s));
}

bool gdb_is_replaying(const struct gdb_session *s, int core)
{
    return s->host->is_replaying && s->host->is_replaying(s->host_ctx, core);
}

/* What the client has seen. */

void gdb_note_halt(struct gdb_session *s)
{
    s->seen = s->target->epoch;
    if (s->role == GDB_CATCHES_UP)
        s->role = GDB_CONTROLS;
    gdb_forget_shown(s);
}

void gdb_note_shown(struct gdb_session *s, const char *reply, size_t len)
{
    char **shown = &s->shown[s->general];
    if (len == 0 || reply[0] == 'E' || memchr(reply, '\0', len))
        return;
    free(*shown);
    *shown = strndup(reply, len);
}

void gdb_forget_shown(struct gdb_session *s)
{
    for (size_t i = 0; i < TARGET_CORES_MAX; i++) {
        free(s->shown[i]);
        s->shown[i] = NULL;
    }
}

/* A text while GDB waits at its prompt would be taken for a reply: it is kept for the next time. */
void gdb_report_news(struct gdb_session *s)
{
    gdb_print(s, s->greeting);
    s->greeting[0] = '\0';
}

/* Stops. */

static void reply_add_reason(struct gdb_session *s, const struct target_stop *stop)
{
    static const char *const words[] = {
        [TARGET_HALT_SWBREAK] = "swbreak:;",
        [TARGET_HALT_HWBREAK] = "hwbreak:;",
        [TARGET_HALT_REPLAY_BEGIN] = "replaylog:begin;",
        [TARGET_HALT_REPLAY_END] = "replaylog:end;",
        [TARGET_HALT_WATCH] = "watch",
        [TARGET_HALT_RWATCH] = "rwatch",
        [TARGET_HALT_AWATCH] = "awatch",
        [TARGET_HALT_EXITED] = NULL,
    };
    const char *word = words[stop->kind];
    if (!word || (stop->kind == TARGET_HALT_SWBREAK && !s->client_swbreak) ||
        (stop->kind == TARGET_HALT_HWBREAK && !s->client_hwbreak))
        return;
    text_buf_puts(&s->reply, word);
    if (word[strlen(word) - 1] != ';')
        text_buf_printf(&s->reply, ":%llx;", (unsigned long long)stop->address);
}

static unsigned stop_signal_number(const struct target_stop *stop)
{
    if (stop->kind == TARGET_HALT_INTERRUPT)
        return SIGNAL_INT;
    if (stop->kind == TARGET_HALT_SIGNAL)
        return (unsigned)stop->signal & 0xff;
    return SIGNAL_TRAP;
}

/* LLDB before 21 does not know replaylog, and would step on and on at the end: an exception ends
 * its step. Where replaylog is known it counts, as the last. */
static void reply_add_boundary(struct gdb_session *s, const struct target_stop *stop,
                               const char *why)
{
    bool begin = stop->kind == TARGET_HALT_REPLAY_BEGIN;
    if (s->front_end != GDB_FRONT_END_LLDB || (!begin && stop->kind != TARGET_HALT_REPLAY_END))
        return;
    if (!why)
        why = begin ? "the history begins here" : "the history ends here";
    text_buf_puts(&s->reply, "reason:exception;description:");
    text_buf_hex(&s->reply, why, strlen(why));
    text_buf_putc(&s->reply, ';');
}

/* `why`: a boundary's reason; NULL: the history has no more. */
static void reply_stop(struct gdb_session *s, const struct target_stop *stop, const char *why)
{
    struct text_buf *reply = &s->reply;
    s->threads_listed = false;
    if (stop->core >= 0 && stop->core < gdb_cores(s))
        s->stopped = stop->core;
    /* GDB takes the thread of the reply for the selected one, without an Hg. */
    gdb_choose_core(s, s->stopped);
    text_buf_clear(reply);
    if (stop->kind == TARGET_HALT_EXITED) {
        text_buf_printf(reply, "W%02x", (unsigned)stop->signal & 0xff);
        return;
    }
    text_buf_printf(reply, "T%02x", stop_signal_number(stop));
    reply_add_boundary(s, stop, why);
    reply_add_reason(s, stop);
    gdb_add_thread(s, reply);
}

void gdb_reply_stop(struct gdb_session *s, const struct target_stop *stop)
{
    reply_stop(s, stop, NULL);
}

/* An error to bs or bc ends LLDB's session (found with LLDB 21): it gets a stop. */
void gdb_reply_stuck(struct gdb_session *s, const char *why)
{
    const struct target_stop stop = {.kind = TARGET_HALT_REPLAY_BEGIN, .core = s->stopped};
    reply_stop(s, &stop, why);
}

static int reply_halt_packet(struct gdb_session *s, const struct target_halt *halt)
{
    gdb_choose_stopped(s, halt->packet, halt->packet_length);
    if (halt->packet_length == 0) /* GDB would go on waiting after an empty reply */
        return gdb_reply(s, "E.the target's GDB server does not know this way to run");
    text_buf_add(&s->reply, halt->packet, halt->packet_length);
    return BT_OK;
}

int gdb_reply_halt(struct gdb_session *s, const struct target_halt *halt)
{
    text_buf_clear(&s->reply);
    s->threads_listed = false;
    gdb_note_halt(s);
    if (halt->packet)
        return reply_halt_packet(s, halt);
    if (halt->stop->kind == TARGET_HALT_FAILED)
        return gdb_reply_result(s, BT_ERR_IO, halt->text ? halt->text : "");
    gdb_reply_stop(s, halt->stop);
    return BT_OK;
}
