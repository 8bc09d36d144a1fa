/* SPDX-License-Identifier: BSD-3-Clause */
/* General queries and settings: features, console commands. */
#include <stdlib.h>
#include <string.h>

#include "gdb_internal.h"

static void query_add_our_features(struct gdb_session *s)
{
    if (gdb_has_btrace(s))
        text_buf_puts(&s->reply, ";Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;"
                                 "qXfer:btrace:read+;qXfer:btrace-conf:read+");
    if (s->host->reverse)
        text_buf_puts(&s->reply, ";ReverseStep+;ReverseContinue+");
}

/*
 * Exactly what works here, no Qbtrace:pt (GDB would prefer it) and no QNonStop (GDB dies with two
 * cores): both found with GDB 13.1.
 */
static void query_add_features(struct gdb_session *s)
{
    text_buf_printf(&s->reply,
                    "PacketSize=%x;QStartNoAckMode+;vContSupported+;"
                    "qXfer:features:read+;qXfer:threads:read+;binary-upload+",
                    (unsigned)s->packet_size);
    if (s->target->ops->memory_map)
        text_buf_puts(&s->reply, ";qXfer:memory-map:read+");
    text_buf_puts(&s->reply, ";swbreak+;hwbreak+");
    query_add_our_features(s);
}

static int answer_supported(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_args word;
    if (!gdb_args_empty(a) && !gdb_args_char(a, ':'))
        return BT_ERR_INVAL;
    s->client_swbreak = false;
    s->client_hwbreak = false;
    while (gdb_args_until(a, ';', &word)) {
        s->client_swbreak |= gdb_args_equal(&word, "swbreak+");
        s->client_hwbreak |= gdb_args_equal(&word, "hwbreak+");
    }
    query_add_features(s);
    return BT_OK;
}

/* LLDB's, never GDB's. It is not offered: registers are those of Hg. */
static int answer_thread_suffix(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->front_end = GDB_FRONT_END_LLDB;
    return gdb_reply(s, "");
}

/*
 * What LLDB disassembles by (LLDB's manual, "GDB Remote Protocol Extensions"): by the "arm" of
 * target.xml alone, which GDB wants there, code of an M profile is A32 to it. Numbers of Mach-O,
 * ARM and v7-M: with a triple of the M profile and a program's file LLDB 19 hangs, with a
 * "thumbv7m" nothing is disassembled.
 */
static int answer_host_info(struct gdb_session *s, struct gdb_args *a)
{
    struct target_core core = gdb_core_info(s, s->general);
    bool wide = core.profile == TARGET_PROFILE_A64;
    const char *triple = wide                               ? "aarch64-none-elf"
                         : core.profile == TARGET_PROFILE_R ? "armv7r-none-eabi"
                                                            : "armv7-none-eabi";
    (void)a;
    if (core.profile == TARGET_PROFILE_M) {
        text_buf_puts(&s->reply, "cputype:12;cpusubtype:15");
    } else {
        text_buf_puts(&s->reply, "triple:");
        text_buf_hex(&s->reply, triple, strlen(triple));
    }
    text_buf_printf(&s->reply, ";ptrsize:%d;endian:%s;", wide ? 8 : 4,
                    core.big_endian ? "big" : "little");
    return BT_OK;
}

/* The OK itself is acknowledged still; what is late finds nothing in flight. */
static int answer_start_no_ack(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    rsp_sender_set_no_ack(&s->sender);
    return gdb_reply(s, "OK");
}

/* Attached, not created: GDB detaches when it quits instead of killing. */
static int answer_attached(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_empty(a) &&
        (!gdb_args_char(a, ':') || !gdb_args_hex(a, &process) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    return gdb_reply(s, "1");
}

/* Offers of symbols: none is wanted. */
static int answer_symbol(struct gdb_session *s, struct gdb_args *a)
{
    return gdb_args_char(a, ':') ? gdb_reply(s, "OK") : BT_ERR_INVAL;
}

static void query_print_console(void *to, const char *text)
{
    gdb_print(to, text);
}

static int query_run_monitor(struct gdb_session *s, const char *text)
{
    int error = BT_ERR_UNSUPPORTED;
    gdb_report_news(s);
    if (s->host->monitor)
        error = s->host->monitor(s->host_ctx, s->general, text, query_print_console, s);
    if (error < 0 && error != BT_ERR_UNSUPPORTED) {
        gdb_print(s, bt_strerror(error));
        gdb_print(s, "\n");
    }
    return error;
}

/* The command of ",HEX", to be freed. NULL with the reason in *error. */
static char *query_take_command(struct gdb_args *a, int *error)
{
    *error = BT_ERR_INVAL;
    if (!gdb_args_char(a, ',') || gdb_args_left(a) % 2 != 0)
        return NULL;
    size_t len = gdb_args_left(a) / 2;
    char *text = malloc(len + 1);
    if (!text) {
        *error = BT_ERR_NOMEM;
        return NULL;
    }
    text[len] = '\0';
    if (gdb_args_bytes(a, text, len) && !memchr(text, '\0', len))
        return text;
    free(text);
    return NULL;
}

/* Explanations are output and the end is OK: GDB cannot show an error text here. */
static int command_answered(struct gdb_session *s, const struct target_answer *a)
{
    if (a->error == BT_ERR_UNSUPPORTED && a->why[0] == '\0') {
        gdb_print(s, "unknown command '");
        gdb_print(s, s->asked.command);
        gdb_print(s, "', try 'monitor help'\n");
    } else if (a->error < 0) {
        gdb_print(s, a->why[0] != '\0' ? a->why : bt_strerror(a->error));
        gdb_print(s, "\n");
    }
    free(s->asked.command);
    s->asked.command = NULL;
    return gdb_reply(s, "OK");
}

static int answer_monitor(struct gdb_session *s, struct gdb_args *a)
{
    struct target_request r = gdb_request(s, TARGET_COMMAND);
    int error;
    char *text = query_take_command(a, &error);
    if (!text)
        return error;
    error = query_run_monitor(s, text);
    if (error == BT_ERR_UNSUPPORTED && s->role != GDB_OBSERVES && !s->packets) {
        s->asked.command = text;
        r.bytes = (const uint8_t *)text;
        r.length = strlen(text);
        return gdb_ask(s, &r, command_answered);
    }
    free(text);
    if (error == TARGET_PENDING) {
        s->asked.of_host = true;
        return TARGET_PENDING;
    }
    if (error == BT_ERR_UNSUPPORTED && s->role != GDB_OBSERVES)
        return GDB_PASS_ON;
    if (error == BT_ERR_UNSUPPORTED)
        gdb_print(s, s->packets ? "you look on: commands of the target's own server are for the "
                                  "client in control\n"
                                : "you look on: this command is for the client in control, if it "
                                  "is one: 'monitor help' lists them\n");
    return gdb_reply(s, "OK");
}

/* The features of another server, with ours. */

static void features_add_packet_size(struct text_buf *out, struct gdb_args *number, size_t limit)
{
    uint64_t size;
    if (!gdb_args_hex(number, &size) || size > limit)
        size = limit;
    text_buf_printf(out, "PacketSize=%llx;", (unsigned long long)size);
}

/*
 * A server that does not report its PacketSize gets what GDB takes for safe then:
 * nothing is added.
 */
int gdb_merge_features(struct gdb_session *s, const char *reply, size_t len)
{
    struct gdb_args a = {reply, reply + len};
    struct gdb_args word;
    while (gdb_args_until(&a, ';', &word)) {
        if (gdb_args_text(&word, "PacketSize=")) {
            features_add_packet_size(&s->reply, &word, s->packet_size);
        } else if (gdb_args_equal(&word, "qXfer:threads:read+") && s->host->has_tasks &&
                   s->host->has_tasks(s->host_ctx)) {
            continue; /* its list would not have them */
        } else if (gdb_may_pass_feature(word.at, gdb_args_left(&word))) {
            text_buf_add(&s->reply, word.at, gdb_args_left(&word));
            text_buf_putc(&s->reply, ';');
        }
    }
    text_buf_puts(&s->reply, "QStartNoAckMode+");
    query_add_our_features(s);
    return BT_OK;
}

const struct gdb_command gdb_query_commands[] = {
    {"qSupported", GDB_PREFIX, true, answer_supported},
    {"QStartNoAckMode", GDB_EXACT, true, answer_start_no_ack},
    {"QThreadSuffixSupported", GDB_EXACT, true, answer_thread_suffix},
    {"qHostInfo", GDB_EXACT, true, answer_host_info},
    {"qAttached", GDB_PREFIX, false, answer_attached},
    {"qSymbol", GDB_PREFIX, false, answer_symbol},
    {"qRcmd", GDB_PREFIX, false, answer_monitor},
    {NULL, GDB_EXACT, false, NULL},
};
