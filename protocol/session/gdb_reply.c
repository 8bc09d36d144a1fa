/* SPDX-License-Identifier: BSD-3-Clause */
/* The answers that all packets share, and what the target reports of its cores. */
#include <string.h>

#include "gdb_internal.h"

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

void gdb_reply_error(struct gdb_session *s, const char *text)
{
    gdb_reply(s, "E.");
    reply_add_plain(&s->reply, text);
}

int gdb_reply_result(struct gdb_session *s, int error, const struct target_error *why)
{
    if (error >= 0)
        return gdb_reply(s, "OK");
    gdb_reply_error(s, why->text[0] != '\0' ? why->text : bt_strerror(error));
    return BT_OK;
}

/* GDB shows no more than the number: that of errno where there is one. */
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

void gdb_send_console(struct gdb_session *s, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t len = left < CONSOLE_CHUNK ? left : CONSOLE_CHUNK;
        gdb_reply(s, "O");
        text_buf_hex(&s->reply, text, len);
        gdb_reply_send(s);
        text += len;
        left -= len;
    }
}

bool gdb_core_of_thread(const struct gdb_session *s, int thread, int *core)
{
    if (thread == GDB_THREAD_ANY) {
        *core = s->stopped;
        return true;
    }
    if (s->proxy)
        return s->proxy_ops->core_of(s->proxy, thread, core);
    if (thread < 1 || thread > s->core_count)
        return false;
    *core = thread - 1;
    return true;
}

struct target_core gdb_core_info(const struct gdb_session *s, int core)
{
    struct target_core info = {.name = NULL};
    if (!s->target->core_info || s->target->core_info(s->target_ctx, core, &info) < 0)
        info = (struct target_core){.name = NULL};
    if (!info.name)
        info.name = "core";
    return info;
}

unsigned gdb_extra_registers(const struct gdb_session *s, int core,
                             const struct target_register **list)
{
    if (!s->target->extra_registers)
        return 0;
    int count = s->target->extra_registers(s->target_ctx, core, list);
    return count < 0 ? 0 : count > TARGET_EXTRA_MAX ? TARGET_EXTRA_MAX : (unsigned)count;
}

static void stop_add_thread(struct gdb_session *s, int core)
{
    if (s->proxy)
        s->proxy_ops->add_thread(s->proxy, core, &s->reply);
    else
        text_buf_printf(&s->reply, "thread:%x;", (unsigned)gdb_thread_of_core(core));
}

static const char *stop_reason_word(const struct gdb_session *s, enum target_halt_reason kind)
{
    switch (kind) {
    case TARGET_HALT_SWBREAK:
        return s->client_swbreak ? "swbreak:;" : "";
    case TARGET_HALT_HWBREAK:
        return s->client_hwbreak ? "hwbreak:;" : "";
    case TARGET_HALT_REPLAY_BEGIN:
        return "replaylog:begin;";
    case TARGET_HALT_REPLAY_END:
        return "replaylog:end;";
    default:
        return "";
    }
}

static const char *stop_watch_word(enum target_halt_reason kind)
{
    switch (kind) {
    case TARGET_HALT_WATCH:
        return "watch";
    case TARGET_HALT_RWATCH:
        return "rwatch";
    case TARGET_HALT_AWATCH:
        return "awatch";
    default:
        return NULL;
    }
}

static unsigned stop_signal_number(const struct target_stop *stop)
{
    if (stop->kind == TARGET_HALT_INTERRUPT)
        return SIGNAL_INT;
    if (stop->kind == TARGET_HALT_SIGNAL)
        return (unsigned)stop->signal & 0xff;
    return SIGNAL_TRAP;
}

void gdb_reply_stop(struct gdb_session *s, const struct target_stop *stop)
{
    struct text_buf *reply = &s->reply;
    const char *watch = stop_watch_word(stop->kind);
    s->threads_listed = false;
    if (stop->core >= 0 && stop->core < s->core_count)
        s->stopped = stop->core;
    /* GDB takes the thread of the reply for the selected one, without an Hg. */
    s->general = s->stopped;
    text_buf_clear(reply);
    if (stop->kind == TARGET_HALT_EXITED) {
        text_buf_printf(reply, "W%02x", (unsigned)stop->signal & 0xff);
        return;
    }
    text_buf_printf(reply, "T%02x", stop_signal_number(stop));
    if (watch)
        text_buf_printf(reply, "%s:%llx;", watch, (unsigned long long)stop->address);
    text_buf_puts(reply, stop_reason_word(s, stop->kind));
    stop_add_thread(s, s->stopped);
}
