/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection to another server: which packet a request is, what its reply says, what it said
 * before. Whose turn it is and what is changed by it is struct target's.
 */
#include "protocol/remote/gdb_remote.h"

#include "gdb_remote_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Requests for registers and memory, as packets, one after the other. */

/* "Mffffffffffffffff,10000:" */
#define WRITE_HEADER 32

/* Registers of devices are read and written whole. */
#define WORD 4u

#define CORE_FEATURE "org.gnu.gdb.arm.core"

/* Registers. */

#define CORE(name, number)                                                                         \
    {                                                                                              \
        CORE_FEATURE, name, "uint32", 32, number                                                   \
    }
#define GENERAL                                                                                    \
    CORE("r0", 0), CORE("r1", 1), CORE("r2", 2), CORE("r3", 3), CORE("r4", 4), CORE("r5", 5),      \
        CORE("r6", 6), CORE("r7", 7), CORE("r8", 8), CORE("r9", 9), CORE("r10", 10),               \
        CORE("r11", 11), CORE("r12", 12), CORE("sp", 13), CORE("lr", 14), CORE("pc", 15)
#define FLOAT(name, number)                                                                        \
    {                                                                                              \
        "org.gnu.gdb.arm.fpa", name, "arm_fpa_ext", 96, number                                     \
    }

/* Without a description: eight registers of 12 bytes and one of 4 that no core has any more. */
static const struct target_register customary[] = {
    GENERAL,         FLOAT("f0", 16), FLOAT("f1", 17),  FLOAT("f2", 18),
    FLOAT("f3", 19), FLOAT("f4", 20), FLOAT("f5", 21),  FLOAT("f6", 22),
    FLOAT("f7", 23), CORE("fps", 24), CORE("cpsr", 25),
};
static const struct target_register customary_short[] = {GENERAL, CORE("cpsr", 25)};

/* Digits of `count` registers in a g packet. */
static size_t registers_digits(const struct target_register *list, unsigned count)
{
    size_t digits = 0;
    for (unsigned i = 0; i < count; i++)
        digits += (list[i].bits + 7) / 8 * 2;
    return digits;
}

#define COUNT(list) (unsigned)(sizeof(list) / sizeof(*(list)))

static unsigned gdb_remote_registers(struct target *t, int core,
                                     const struct target_register **list)
{
    struct gdb_remote *r = gdb_remote_of(t);
    size_t length = t->registers_length;
    (void)core;
    if (r->register_count > 0) {
        *list = r->registers;
        return r->register_count;
    }
    bool whole = length == 0 || length >= registers_digits(customary, COUNT(customary));
    *list = whole ? customary : customary_short;
    return whole ? COUNT(customary) : COUNT(customary_short);
}

/* `x` digits: not known. */
static void regs_take(struct gdb_remote *r, const struct target_register *list, unsigned entry,
                      const char *digits, size_t len)
{
    struct gdb_args a = {digits, digits + len};
    uint8_t bytes[16];
    uint64_t value[2] = {0, 0};
    size_t size = len / 2;
    int vector = target_register_vector(&list[entry]);
    bool fits = vector >= 0 ? size == 16 : size == 4 || size == 8;
    if (!fits || len % 2 != 0 || !gdb_args_bytes(&a, bytes, size))
        return;
    for (size_t i = 0; i < size; i++)
        value[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    if (vector < 0) {
        target_regs_set(&r->regs, list, entry, value[0]);
        return;
    }
    memcpy(r->regs.vector[vector], value, sizeof value);
    r->regs.vector_known |= 1u << vector;
}

/* A reply to g; what it does not have is not known. */
static void gdb_remote_take_regs(struct gdb_remote *r, const char *reply, size_t len)
{
    const struct target_register *list;
    bool good = len > 0 && reply[0] != 'E';
    memset(&r->regs, 0, sizeof(r->regs));
    if (good)
        r->target.registers_length = len;
    unsigned count = gdb_remote_registers(&r->target, 0, &list);
    for (unsigned i = 0; good && i < count; i++) {
        size_t digits = registers_digits(&list[i], 1);
        if (digits > len)
            break;
        regs_take(r, list, i, reply, digits);
        reply += digits;
        len -= digits;
    }
}

static void regs_finish(struct gdb_remote *r)
{
    bool known = (r->regs.known >> TARGET_REG_PC & 1) != 0;
    gdb_remote_answer(r, &(struct target_answer){.error = known ? BT_OK : BT_ERR_RANGE,
                                                 .regs = known ? &r->regs : NULL});
}

/* The next one that is asked for by its number: what is wanted, and not yet known. */
static bool regs_is_missing(const struct gdb_remote *r, const struct target_register *list,
                            unsigned entry)
{
    int reg = target_register_reg(&list[entry]);
    uint64_t value;
    if (r->request->set == TARGET_REGISTERS_PC && reg != TARGET_REG_PC && reg != TARGET_REG_PSR)
        return false;
    /* QEMU has them in no reply to g. */
    bool all = r->request->set == TARGET_REGISTERS_ALL, a64 = list[0].name[0] == 'x';
    int vector = target_register_vector(&list[entry]);
    if (vector >= 0)
        return all && !(r->regs.vector_known >> vector & 1);
    bool control = all && a64 && strcmp(list[entry].name, "fpcr") == 0;
    if (reg != TARGET_REG_PC && reg != TARGET_REG_PSR && target_register_stack(&list[entry]) < 0 &&
        target_register_system(&list[entry]) < 0 && !control)
        return false;
    return !target_regs_get(&r->regs, list, entry, &value);
}

static void regs_got_one(struct gdb_remote *r, const char *reply, size_t len);

static void regs_ask_missing(struct gdb_remote *r)
{
    const struct target_register *list;
    unsigned count = gdb_remote_registers(&r->target, 0, &list);
    char text[16];
    while (r->entry < count && (r->only_g || !regs_is_missing(r, list, r->entry)))
        r->entry++;
    if (r->entry >= count) {
        regs_finish(r);
        return;
    }
    snprintf(text, sizeof(text), "p%x", list[r->entry].number);
    gdb_remote_send_text(r, text, regs_got_one);
}

static void regs_got_all(struct gdb_remote *r, const char *reply, size_t len)
{
    gdb_remote_take_regs(r, reply, len);
    bool known = (r->regs.known >> TARGET_REG_PC & 1) != 0;
    /* It was asked for after a p that failed. */
    if (r->request->set == TARGET_REGISTERS_PC)
        r->only_g = r->only_g || known;
    if (known)
        regs_ask_missing(r);
    else
        regs_finish(r);
}

/* An empty reply: the other side has no p. There are servers whose p fails, and GDB never asks. */
static void regs_got_one(struct gdb_remote *r, const char *reply, size_t len)
{
    const struct target_register *list;
    gdb_remote_registers(&r->target, 0, &list);
    bool pc = target_register_reg(&list[r->entry]) == TARGET_REG_PC;
    regs_take(r, list, r->entry, reply, len);
    if (pc && r->regs.known == 0 && list[r->entry].number == TARGET_REG_PC &&
        (len == 0 || reply[0] == 'E')) {
        gdb_remote_send_text(r, "g", regs_got_all);
        return;
    }
    r->entry++;
    if (pc && r->regs.known == 0)
        regs_finish(r);
    else
        regs_ask_missing(r);
}

/* gdb_remote_access.c: requests for registers and memory. */
static void gdb_remote_read_regs(struct gdb_remote *r)
{
    memset(&r->regs, 0, sizeof(r->regs));
    r->entry = 0;
    if (r->request->set == TARGET_REGISTERS_PC && !r->only_g)
        regs_ask_missing(r);
    else
        gdb_remote_send_text(r, "g", regs_got_all);
}

/* Memory. */

static void memory_got(struct gdb_remote *r, const char *reply, size_t len);

static void memory_ask_read(struct gdb_remote *r, size_t take)
{
    char text[48];
    bool device = r->request->device;
    size_t longest = ((r->packet_size - 1) / 2) & ~(size_t)(device ? WORD - 1 : 0);
    r->take = take < longest ? take : longest;
    snprintf(text, sizeof(text), "m%llx,%zx",
             (unsigned long long)r->request->address + r->bytes.len, r->take);
    gdb_remote_send_text(r, text, memory_got);
}

/* Bytes in the reply, 0 when it is an error or too long. */
static size_t memory_take_bytes(struct gdb_remote *r, const char *reply, size_t len)
{
    size_t count = len / 2;
    struct gdb_args a = {reply, reply + len};
    char *to = len % 2 == 0 && count <= r->take ? text_buf_room(&r->bytes, count) : NULL;
    if (!to || !gdb_args_bytes(&a, to, count))
        return 0;
    text_buf_took(&r->bytes, count);
    return count;
}

/*
 * Servers refuse a read that is good in part only: the end of the good part is searched, with
 * half as many bytes after each refusal. A word of a device is asked for once.
 */
static void memory_got(struct gdb_remote *r, const char *reply, size_t len)
{
    size_t next = 0, before = r->bytes.len;
    size_t got = memory_take_bytes(r, reply, len);
    if (got > 0 && (got == r->take || !r->request->device)) {
        next = r->end - r->bytes.len;
    } else if (!r->request->device) {
        r->end = before + r->take - 1;
        next = r->take / 2;
    }
    if (next > 0) {
        memory_ask_read(r, next);
        return;
    }
    gdb_remote_answer(r, &(struct target_answer){.error = r->bytes.len > 0 ? BT_OK : BT_ERR_RANGE,
                                                 .bytes = (const uint8_t *)r->bytes.data,
                                                 .length = r->bytes.len});
}

static void gdb_remote_read_memory(struct gdb_remote *r)
{
    text_buf_clear(&r->bytes);
    r->end = r->request->length;
    memory_ask_read(r, r->end);
}

static void memory_got_write(struct gdb_remote *r, const char *reply, size_t len);

static void memory_ask_write(struct gdb_remote *r)
{
    struct text_buf text;
    const struct target_request *q = r->request;
    size_t longest = ((r->packet_size - WRITE_HEADER) / 2) & ~(size_t)(WORD - 1);
    size_t left = q->length - r->done;
    r->take = left < longest ? left : longest;
    text_buf_init(&text);
    text_buf_printf(&text, "M%llx,%zx:", (unsigned long long)q->address + r->done, r->take);
    text_buf_hex(&text, q->bytes + r->done, r->take);
    if (text_buf_error(&text) < 0)
        gdb_remote_answer(r, &(struct target_answer){.error = BT_ERR_NOMEM});
    else
        gdb_remote_send(r, text.data, text.len, memory_got_write);
    text_buf_release(&text);
}

static void memory_got_write(struct gdb_remote *r, const char *reply, size_t len)
{
    bool good = len == 2 && memcmp(reply, "OK", 2) == 0;
    r->done += r->take;
    if (good && r->done < r->request->length)
        memory_ask_write(r);
    else
        gdb_remote_answer(r, &(struct target_answer){.error = good ? BT_OK : BT_ERR_RANGE});
}

static void gdb_remote_write_memory(struct gdb_remote *r)
{
    r->done = 0;
    memory_ask_write(r);
}

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
        r->resumed = q;
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

/* QEMU 10 tells no stop behind a plain answer, but takes a stop with it, and is resumed behind
 * that. */
static void remote_answer_file(struct gdb_remote *r, const char *payload, size_t len)
{
    char text[64];
    const char *stop = memchr(payload, ',', len) ? ",C" : ",0,C";
    r->resumes_anew = r->is_qemu && !memchr(payload, 'C', len);
    snprintf(text, sizeof(text), "%.*s%s", (int)len, payload, r->resumes_anew ? stop : "");
    gdb_remote_send_text(r, text, NULL);
}

static void remote_take_file_request(struct gdb_remote *r, const char *payload, size_t len)
{
    struct target_client *c = r->target.control;
    if (!c || !c->waits) {
        remote_answer_file(r, file_refused, strlen(file_refused));
        return;
    }
    r->target.serves_client = true;
    c->ops->output(c->ctx, payload, len);
}

static void remote_take_stop_reply(struct gdb_remote *r, const char *payload, size_t len)
{
    struct gdb_thread thread;
    bool anew =
        r->resumes_anew && r->target.run == TARGET_RUNNING && gdb_packet_is(payload, len, "T02");
    r->resumes_anew = false;
    const struct target_request *q = r->resumed;
    if (anew && !(q->packet && gdb_packet_starts_any(q->packet, q->packet_length, "s vCont;s"))) {
        remote_start(&r->target, q);
        return;
    }
    if (anew)
        payload = "T05"; /* the instruction that asked for the file was the step */
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
    remote_answer_file(r, payload, len);
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
