/* SPDX-License-Identifier: BSD-3-Clause */
/* General queries and settings: features, threads, console commands. */
#include <stdlib.h>
#include <string.h>

#include "gdb_internal.h"

#define STATUS_SIZE 128

static void note_client_feature(struct gdb_session *s, const struct gdb_args *word)
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
static void add_features(struct gdb_session *s)
{
    const struct gdb_target *t = s->target;
    text_buf_printf(&s->reply,
                    "PacketSize=%x;QStartNoAckMode+;vContSupported+;"
                    "qXfer:features:read+;qXfer:threads:read+",
                    (unsigned)s->packet_size);
    if (t->memory_map != NULL)
        text_buf_puts(&s->reply, ";qXfer:memory-map:read+");
    if (t->insert_breakpoint != NULL)
        text_buf_puts(&s->reply, ";swbreak+;hwbreak+");
    if (t->reverse != NULL)
        text_buf_puts(&s->reply, ";ReverseStep+;ReverseContinue+");
    if (gdb_has_btrace(t))
        text_buf_puts(&s->reply, ";Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;"
                                 "qXfer:btrace:read+;qXfer:btrace-conf:read+");
}

static int supported(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_args word;
    if (!gdb_args_empty(a) && !gdb_args_char(a, ':'))
        return BT_ERR_INVAL;
    s->client_swbreak = false;
    s->client_hwbreak = false;
    while (gdb_args_until(a, ';', &word))
        note_client_feature(s, &word);
    add_features(s);
    return BT_OK;
}

/* The OK itself is acknowledged still; what is late finds nothing in flight. */
static int start_no_ack(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    rsp_sender_set_no_ack(&s->sender);
    return gdb_reply(s, "OK");
}

static int current_thread(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    text_buf_printf(&s->reply, "QC%x", (unsigned)gdb_thread_of_core(s->general));
    return BT_OK;
}

static int first_threads(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    s->threads_listed = true;
    for (int i = 0; i < s->core_count; i++)
        text_buf_printf(&s->reply, "%c%x", i == 0 ? 'm' : ',', (unsigned)gdb_thread_of_core(i));
    return BT_OK;
}

static int more_threads(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return gdb_reply(s, "l");
}

static int thread_extra(struct gdb_session *s, struct gdb_args *a)
{
    char status[STATUS_SIZE] = "";
    int thread;
    int core;
    if (!gdb_args_char(a, ',') || !gdb_args_thread(a, &thread) || !gdb_args_empty(a) ||
        !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    if (s->target->core_status != NULL)
        s->target->core_status(s->target_ctx, core, status, sizeof(status));
    struct gdb_core info = gdb_core_info(s, core);
    text_buf_hex(&s->reply, info.name, strlen(info.name));
    if (status[0] != '\0') {
        text_buf_hex(&s->reply, ": ", 2);
        text_buf_hex(&s->reply, status, strlen(status));
    }
    return BT_OK;
}

/* Attached, not created: GDB detaches when it quits instead of killing. */
static int attached(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t process;
    if (!gdb_args_empty(a) &&
        (!gdb_args_char(a, ':') || !gdb_args_hex(a, &process) || !gdb_args_empty(a)))
        return BT_ERR_INVAL;
    return gdb_reply(s, "1");
}

/* Offers of symbols: none is wanted. */
static int symbol(struct gdb_session *s, struct gdb_args *a)
{
    return gdb_args_char(a, ':') ? gdb_reply(s, "OK") : BT_ERR_INVAL;
}

static void print_console(void *to, const char *text)
{
    gdb_send_console(to, text);
}

static int run_monitor(struct gdb_session *s, const char *text)
{
    int rc = s->target->monitor(s->target_ctx, s->general, text, print_console, s);
    if (rc < 0 && rc != BT_ERR_UNSUPPORTED) {
        gdb_send_console(s, bt_strerror(rc));
        gdb_send_console(s, "\n");
    }
    return rc;
}

/* The command of ",HEX", to be freed. NULL with the reason in *error. */
static char *take_command(struct gdb_args *a, int *error)
{
    *error = BT_ERR_INVAL;
    if (!gdb_args_char(a, ',') || gdb_args_left(a) % 2 != 0)
        return NULL;
    size_t len = gdb_args_left(a) / 2;
    char *text = malloc(len + 1);
    if (text == NULL) {
        *error = BT_ERR_NOMEM;
        return NULL;
    }
    text[len] = '\0';
    if (gdb_args_bytes(a, text, len) && memchr(text, '\0', len) == NULL)
        return text;
    free(text);
    return NULL;
}

/* Explanations are output and the end is OK: GDB cannot show an error text here. */
static int monitor(struct gdb_session *s, struct gdb_args *a)
{
    int error;
    if (s->target->monitor == NULL)
        return BT_OK;
    char *text = take_command(a, &error);
    if (text == NULL)
        return error;
    if (run_monitor(s, text) == BT_ERR_UNSUPPORTED) {
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
    if (s->target->monitor == NULL || !gdb_args_text(&a, "qRcmd"))
        return BT_ERR_UNSUPPORTED;
    char *text = take_command(&a, &error);
    if (text == NULL)
        return BT_ERR_UNSUPPORTED;
    int rc = run_monitor(s, text);
    free(text);
    if (rc == BT_ERR_UNSUPPORTED)
        return rc;
    gdb_reply(s, "OK");
    gdb_reply_send(s);
    return BT_OK;
}

const struct gdb_command gdb_query_commands[] = {
    {"qSupported", GDB_PREFIX, true, supported},
    {"QStartNoAckMode", GDB_EXACT, true, start_no_ack},
    {"qC", GDB_EXACT, false, current_thread},
    {"qfThreadInfo", GDB_EXACT, false, first_threads},
    {"qsThreadInfo", GDB_EXACT, false, more_threads},
    {"qThreadExtraInfo", GDB_PREFIX, false, thread_extra},
    {"qAttached", GDB_PREFIX, false, attached},
    {"qSymbol", GDB_PREFIX, false, symbol},
    {"qRcmd", GDB_PREFIX, false, monitor},
    {NULL, GDB_EXACT, false, NULL},
};
