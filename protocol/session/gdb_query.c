/* SPDX-License-Identifier: BSD-3-Clause */
/* General queries and settings: features, threads, console commands. */
#include <stdlib.h>
#include <string.h>

#include "gdb_internal.h"

#define STATUS_SIZE 128

static void query_note_feature(struct gdb_session *s, const struct gdb_args *word)
{
    if (gdb_args_equal(word, "swbreak+"))
        s->client_swbreak = true;
    else if (gdb_args_equal(word, "hwbreak+"))
        s->client_hwbreak = true;
}

/*
 * Exactly what works here, no Qbtrace:pt (GDB would prefer it) and no QNonStop (GDB dies with two
 * cores): both found with GDB 13.1.
 */
static void query_add_features(struct gdb_session *s)
{
    const struct gdb_target *t = s->target;
    text_buf_printf(&s->reply,
                    "PacketSize=%x;QStartNoAckMode+;vContSupported+;"
                    "qXfer:features:read+;qXfer:threads:read+",
                    (unsigned)s->packet_size);
    if (t->memory_map)
        text_buf_puts(&s->reply, ";qXfer:memory-map:read+");
    if (t->insert_breakpoint)
        text_buf_puts(&s->reply, ";swbreak+;hwbreak+");
    if (t->reverse)
        text_buf_puts(&s->reply, ";ReverseStep+;ReverseContinue+");
    if (gdb_has_btrace(t))
        text_buf_puts(&s->reply, ";Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;"
                                 "qXfer:btrace:read+;qXfer:btrace-conf:read+");
}

static int answer_supported(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_args word;
    if (!gdb_args_empty(a) && !gdb_args_char(a, ':'))
        return BT_ERR_INVAL;
    s->client_swbreak = false;
    s->client_hwbreak = false;
    while (gdb_args_until(a, ';', &word))
        query_note_feature(s, &word);
    query_add_features(s);
    return BT_OK;
}

/* The OK itself is acknowledged still; what is late finds nothing in flight. */
static int answer_start_no_ack(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    rsp_sender_set_no_ack(&s->sender);
    return gdb_reply(s, "OK");
}

static int answer_current_thread(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    text_buf_printf(&s->reply, "QC%x", (unsigned)gdb_thread_of_core(s->general));
    return BT_OK;
}

static int answer_first_threads(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->threads_listed = true;
    for (int i = 0; i < s->core_count; i++)
        text_buf_printf(&s->reply, "%c%x", i == 0 ? 'm' : ',', (unsigned)gdb_thread_of_core(i));
    return BT_OK;
}

static int answer_more_threads(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return gdb_reply(s, "l");
}

static int answer_thread_extra(struct gdb_session *s, struct gdb_args *a)
{
    char status[STATUS_SIZE] = "";
    int thread;
    int core;
    if (!gdb_args_char(a, ',') || !gdb_args_thread(a, &thread) || !gdb_args_empty(a) ||
        !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    if (s->target->core_status)
        s->target->core_status(s->target_ctx, core, status, sizeof(status));
    struct target_core info = gdb_core_info(s, core);
    text_buf_hex(&s->reply, info.name, strlen(info.name));
    if (status[0] != '\0') {
        text_buf_hex(&s->reply, ": ", 2);
        text_buf_hex(&s->reply, status, strlen(status));
    }
    return BT_OK;
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
    gdb_send_console(to, text);
}

static int query_run_monitor(struct gdb_session *s, const char *text)
{
    int error = s->target->monitor(s->target_ctx, s->general, text, query_print_console, s);
    if (error < 0 && error != BT_ERR_UNSUPPORTED) {
        gdb_send_console(s, bt_strerror(error));
        gdb_send_console(s, "\n");
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
static int answer_monitor(struct gdb_session *s, struct gdb_args *a)
{
    int error;
    if (!s->target->monitor)
        return BT_OK;
    char *text = query_take_command(a, &error);
    if (!text)
        return error;
    if (query_run_monitor(s, text) == BT_ERR_UNSUPPORTED) {
        gdb_send_console(s, "unknown command '");
        gdb_send_console(s, text);
        gdb_send_console(s, "', try 'monitor help'\n");
    }
    free(text);
    return gdb_reply(s, "OK");
}

int gdb_monitor_packet(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    int error;
    if (!s->target->monitor || !gdb_args_text(&a, "qRcmd"))
        return BT_ERR_UNSUPPORTED;
    char *text = query_take_command(&a, &error);
    if (!text)
        return BT_ERR_UNSUPPORTED;
    error = query_run_monitor(s, text);
    free(text);
    if (error == BT_ERR_UNSUPPORTED)
        return error;
    gdb_reply(s, "OK");
    gdb_reply_send(s);
    return BT_OK;
}

/* The features of another server, with ours. */

/*
 * What the other side reports of these does not count: they are answered here, GDB dies of non-stop
 * with two cores, and it would prefer the Intel format (found with GDB 13.1).
 */
static const char *const our_features[] = {
    "QStartNoAckMode", "qXfer:btrace:read", "qXfer:btrace-conf:read", "QNonStop", "Qbtrace",
    "Qbtrace-conf",    "ReverseStep",       "ReverseContinue",
};

/* The name is followed by '+', '-', '?', '=' or, for the families of Qbtrace, by ':'. */
static bool is_our_feature(const struct gdb_args *word)
{
    for (size_t i = 0; i < sizeof(our_features) / sizeof(*our_features); i++) {
        struct gdb_args a = *word;
        if (gdb_args_text(&a, our_features[i]) && !gdb_args_empty(&a) &&
            (gdb_args_char(&a, '+') || gdb_args_char(&a, '-') || gdb_args_char(&a, '?') ||
             gdb_args_char(&a, '=') || gdb_args_char(&a, ':')))
            return true;
    }
    return false;
}

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
void gdb_features_merge(struct text_buf *out, const char *reply, size_t len, size_t limit,
                        bool btrace, bool reverse)
{
    struct gdb_args a = {reply, reply + len};
    struct gdb_args word;
    while (gdb_args_until(&a, ';', &word)) {
        if (gdb_args_empty(&word) || is_our_feature(&word))
            continue;
        if (gdb_args_text(&word, "PacketSize=")) {
            features_add_packet_size(out, &word, limit);
        } else {
            text_buf_add(out, word.at, gdb_args_left(&word));
            text_buf_putc(out, ';');
        }
    }
    text_buf_puts(out, "QStartNoAckMode+");
    if (btrace)
        text_buf_puts(out, ";Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;"
                           "qXfer:btrace:read+;qXfer:btrace-conf:read+");
    if (reverse)
        text_buf_puts(out, ";ReverseStep+;ReverseContinue+");
}

const struct gdb_command gdb_query_commands[] = {
    {"qSupported", GDB_PREFIX, true, answer_supported},
    {"QStartNoAckMode", GDB_EXACT, true, answer_start_no_ack},
    {"qC", GDB_EXACT, false, answer_current_thread},
    {"qfThreadInfo", GDB_EXACT, false, answer_first_threads},
    {"qsThreadInfo", GDB_EXACT, false, answer_more_threads},
    {"qThreadExtraInfo", GDB_PREFIX, false, answer_thread_extra},
    {"qAttached", GDB_PREFIX, false, answer_attached},
    {"qSymbol", GDB_PREFIX, false, answer_symbol},
    {"qRcmd", GDB_PREFIX, false, answer_monitor},
    {NULL, GDB_EXACT, false, NULL},
};
