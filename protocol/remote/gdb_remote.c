/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection to another server: which packet a request is, what its reply says, what it said
 * before. Whose turn it is and what is changed by it is struct target's.
 */
#include "protocol/remote/gdb_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

/* Payloads of the other side: its documents may come in larger pieces than ours. */
#define PAYLOAD_MAX (4 * GDB_PACKET_SIZE)

/* File-I/O: "interrupted", with the request to stop. */
static const char file_interrupted[] = "F-1,4,C";

/* File-I/O: "unknown error". */
static const char file_refused[] = "F-1,270f";

static const char too_long[] = "E.the target's GDB server sent a packet that is too long";

static const struct gdb_thread any_thread = {.single = false};

/* Packets of clients. */

static bool packet_is_ok(const char *reply, size_t len)
{
    return len == 2 && memcmp(reply, "OK", 2) == 0;
}

static void packet_got(struct gdb_remote *r, const char *reply, size_t len)
{
    struct target_answer answer = {.bytes = (const uint8_t *)reply, .length = len};
    struct gdb_packet p = gdb_packet_read(r->request->packet, r->request->packet_length);
    struct target_stop stop;
    bool good = gdb_packet_succeeded(&p, reply, len);
    gdb_remote_remember(r, reply, len);
    if (r->request->kind == TARGET_READ_REGISTERS) {
        gdb_remote_take_regs(r, reply, len);
        good = (r->regs.known >> TARGET_REG_PC & 1) != 0;
        answer.regs = &r->regs;
    } else if (p.selects && packet_is_ok(reply, len)) {
        r->selected = p.thread;
    } else if (good && (p.request.kind == TARGET_STATUS || p.request.kind == TARGET_RESET)) {
        /* Which thread the other side selects then is not said anywhere. */
        r->selected = any_thread;
        stop = gdb_remote_take_stop(r, reply, len);
        answer.stop = &stop;
    }
    if (!good)
        answer.error = len == 0 ? BT_ERR_UNSUPPORTED : BT_ERR_RANGE;
    gdb_remote_answer(r, &answer);
}

static void remote_pass_packet(struct gdb_remote *r, const struct target_request *q)
{
    if (gdb_packet_read(q->packet, q->packet_length).answer != GDB_ANSWER_NONE)
        gdb_remote_send(r, q->packet, q->packet_length, packet_got);
    else if (gdb_remote_send(r, q->packet, q->packet_length, NULL))
        gdb_remote_answer(r, &(struct target_answer){.error = BT_OK});
}

/* Typed requests. */

static void request_got(struct gdb_remote *r, const char *reply, size_t len)
{
    struct target_answer answer = {.bytes = (const uint8_t *)reply, .length = len};
    if (len == 0)
        answer.error = BT_ERR_UNSUPPORTED;
    else if (reply[0] == 'E')
        answer.error = BT_ERR_RANGE;
    gdb_remote_answer(r, &answer);
}

static void request_got_status(struct gdb_remote *r, const char *reply, size_t len)
{
    struct target_stop stop = gdb_remote_take_stop(r, reply, len);
    struct target_answer answer = {.bytes = (const uint8_t *)reply, .length = len, .stop = &stop};
    r->selected = any_thread;
    if (stop.kind == TARGET_HALT_FAILED)
        answer.error = BT_ERR_FORMAT;
    gdb_remote_answer(r, &answer);
}

static void request_send_breakpoint(struct gdb_remote *r, const struct target_request *q)
{
    const struct target_breakpoint *bp = &q->breakpoint;
    char text[64];
    snprintf(text, sizeof(text), "%c%x,%llx,%x", q->kind == TARGET_INSERT ? 'Z' : 'z',
             (unsigned)bp->type, (unsigned long long)bp->address, (unsigned)bp->kind);
    gdb_remote_send_text(r, text, request_got);
}

static void request_send_command(struct gdb_remote *r, const struct target_request *q)
{
    struct text_buf text;
    text_buf_init(&text);
    text_buf_puts(&text, "qRcmd,");
    text_buf_hex(&text, q->bytes, q->length);
    if (text_buf_error(&text) < 0)
        gdb_remote_answer(r, &(struct target_answer){.error = BT_ERR_NOMEM});
    else
        gdb_remote_send(r, text.data, text.len, request_got);
    text_buf_release(&text);
}

static void remote_begin(struct gdb_remote *r)
{
    const struct target_request *q = r->request;
    if (q->packet)
        remote_pass_packet(r, q);
    else if (q->kind == TARGET_READ_REGISTERS)
        gdb_remote_read_regs(r);
    else if (q->kind == TARGET_READ_MEMORY)
        gdb_remote_read_memory(r);
    else if (q->kind == TARGET_WRITE_MEMORY)
        gdb_remote_write_memory(r);
    else if (q->kind == TARGET_INSERT || q->kind == TARGET_REMOVE)
        request_send_breakpoint(r, q);
    else if (q->kind == TARGET_STATUS)
        gdb_remote_send_text(r, "?", request_got_status);
    else if (q->kind == TARGET_COMMAND)
        request_send_command(r, q);
    else
        gdb_remote_answer(r, &(struct target_answer){.error = BT_ERR_UNSUPPORTED});
}

/* The thread that is to be selected before. */
static struct gdb_thread remote_thread_for(const struct gdb_remote *r,
                                           const struct target_request *q)
{
    struct gdb_thread thread = any_thread;
    struct gdb_args a = {q->thread, q->thread + strnlen(q->thread, sizeof(q->thread))};
    bool of_core = q->kind == TARGET_READ_REGISTERS || q->kind == TARGET_READ_MEMORY ||
                   q->kind == TARGET_WRITE_MEMORY;
    if (q->packet)
        gdb_thread_take(&a, &thread);
    else if (of_core)
        thread = r->threads[q->core];
    return thread;
}

/* A client's packet goes out all the same; a request of ours would read another core's values. */
static void remote_got_selected(struct gdb_remote *r, const char *reply, size_t len)
{
    bool good = packet_is_ok(reply, len);
    r->selected = good ? remote_thread_for(r, r->request) : any_thread;
    if (good || r->request->packet || target_cores(&r->target) == 1)
        remote_begin(r);
    else
        gdb_remote_answer(r, &(struct target_answer){.error = BT_ERR_RANGE});
}

static void remote_start(struct target *t, const struct target_request *q)
{
    struct gdb_remote *r = gdb_remote_of(t);
    char text[GDB_THREAD_TEXT + 2] = "Hg";
    const char *resume = r->can_vcont ? "vCont;c" : "c";
    if (q->kind == TARGET_RESUME) {
        gdb_remote_send(r, q->packet ? q->packet : resume,
                        q->packet ? q->packet_length : strlen(resume), NULL);
        return;
    }
    struct gdb_thread thread = remote_thread_for(r, q);
    r->request = q;
    if (!thread.single || gdb_thread_same(&thread, &r->selected)) {
        remote_begin(r);
        return;
    }
    gdb_thread_text(&thread, text + 2);
    gdb_remote_send_text(r, text, remote_got_selected);
}

/* What comes in. */

static bool remote_runs(const struct gdb_remote *r)
{
    return r->target.run == TARGET_RUNNING || r->target.run == TARGET_HALTING;
}

static void remote_take_file_request(struct gdb_remote *r, const char *payload, size_t len)
{
    struct target_client *c = r->target.control;
    if (!c || !c->waits) {
        gdb_remote_send_text(r, file_refused, NULL);
        return;
    }
    r->target.serves_client = true;
    c->ops->output(c->ctx, payload, len);
}

static void remote_take_stop_reply(struct gdb_remote *r, const char *payload, size_t len)
{
    struct gdb_thread thread;
    struct target_stop stop = gdb_remote_take_stop(r, payload, len);
    if (gdb_thread_of_stop(payload, len, &thread))
        r->selected = thread;
    target_stopped(&r->target,
                   &(struct target_halt){.stop = &stop, .packet = payload, .packet_length = len});
}

static void remote_packet(void *ctx, const char *payload, size_t len)
{
    struct gdb_remote *r = ctx;
    gdb_remote_got_fn got = r->got;
    if (!payload) {
        payload = too_long;
        len = strlen(payload);
    }
    if (r->target.owed_since_ms > 0)
        r->target.owed_since_ms = r->target.now_ms;
    if (gdb_packet_is_output(payload, len)) {
        target_output(&r->target, payload, len);
    } else if (got) {
        r->got = NULL;
        r->target.owed_since_ms = 0;
        got(r, payload, len);
    } else if (remote_runs(r) && len > 1 && payload[0] == 'F') {
        remote_take_file_request(r, payload, len);
    } else if (remote_runs(r)) {
        remote_take_stop_reply(r, payload, len);
    }
}

int gdb_remote_answer_file(struct gdb_remote *r, const char *payload, size_t len)
{
    if (!r->target.serves_client || r->got)
        return BT_ERR_INVAL;
    r->target.serves_client = false;
    gdb_remote_send(r, payload, len, NULL);
    return BT_OK;
}

static void remote_interrupt(struct target *t)
{
    gdb_link_interrupt(&gdb_remote_of(t)->link);
}

static void remote_client_gone(struct target *t)
{
    gdb_remote_send_text(gdb_remote_of(t), file_interrupted, NULL);
}

static int remote_core_info(struct target *t, int core, struct target_core *info)
{
    const struct target_register *list;
    (void)core;
    gdb_remote_registers(t, core, &list);
    *info = (struct target_core){.name = "", .profile = TARGET_PROFILE_A};
    if (strstr(list->feature, "m-profile"))
        info->profile = TARGET_PROFILE_M;
    else if (strstr(list->feature, "aarch64"))
        info->profile = TARGET_PROFILE_A64;
    return BT_OK;
}

static const struct target_ops remote_ops = {
    .start = remote_start,
    .interrupt = remote_interrupt,
    .registers = gdb_remote_registers,
    .core_info = remote_core_info,
    .client_gone = remote_client_gone,
    .packets = true,
    .writable = true,
};

/* Beginning and end. */

static void remote_link_broken(void *ctx, int error)
{
    gdb_remote_fail(ctx, error);
}

void gdb_remote_disconnected(struct gdb_remote *r)
{
    gdb_remote_fail(r, BT_ERR_IO);
}

void gdb_remote_connected(struct gdb_remote *r)
{
    gdb_remote_fail(r, BT_ERR_IO);
    gdb_link_open(&r->link);
    target_opening(&r->target);
    gdb_remote_greet(r);
}

void gdb_remote_input(struct gdb_remote *r, const void *bytes, size_t len)
{
    gdb_link_input(&r->link, bytes, len);
}

int gdb_remote_new(const struct target_events *events, void *ctx, gdb_remote_send_fn send,
                   void *send_ctx, struct gdb_remote **out)
{
    static const struct gdb_link_events link_events = {remote_packet, remote_link_broken};
    struct gdb_remote *r = calloc(1, sizeof(*r));
    if (!r)
        return BT_ERR_NOMEM;
    target_init(&r->target, &remote_ops, events, ctx);
    text_buf_init(&r->description);
    text_buf_init(&r->document);
    text_buf_init(&r->bytes);
    if (gdb_link_init(&r->link, PAYLOAD_MAX, &link_events, r, send, send_ctx) < 0) {
        free(r);
        return BT_ERR_NOMEM;
    }
    *out = r;
    return BT_OK;
}

void gdb_remote_free(struct gdb_remote *r)
{
    if (!r)
        return;
    gdb_remote_forget(r);
    target_release(&r->target);
    gdb_link_release(&r->link);
    text_buf_release(&r->description);
    text_buf_release(&r->document);
    text_buf_release(&r->bytes);
    free(r->registers);
    free(r);
}
