/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets about a core that is at a replay position: motions are the target's own, registers and
 * memory are read from the other server and changed into what they were,
 * writes are refused. */
#include <string.h>

#include "gdb_proxy_internal.h"

#define DIGITS    8
#define CORE_REGS 16u

/* Without a description: 16 registers, eight of 12 bytes and one of 4 that no core has any more. */
#define PSR_OLD (16 * DIGITS + 8 * 24 + DIGITS)
#define PSR_NEW (16 * DIGITS)

static const char no_write[] =
    "E.nothing can be written at a replay position: continue to the halted core first";

bool gdb_proxy_core_of(const struct gdb_proxy *p, int thread, int *core)
{
    for (int i = 0; p->remote != NULL && i < p->remote->core_count; i++) {
        const struct gdb_thread *t = &p->remote->threads[i];
        if (thread < 0 || (t->single && t->thread != (uint64_t)thread))
            continue;
        *core = i;
        return i < p->session->core_count;
    }
    return false;
}

void gdb_proxy_add_thread(struct gdb_proxy *p, int core, struct text_buf *out)
{
    char text[GDB_THREAD_TEXT];
    if (p->remote == NULL || core >= p->remote->core_count)
        return;
    p->general = p->remote->threads[core];
    if (!p->general.single) /* it listed none, and its stop replies may name one all the same */
        p->general = p->remote->stopped;
    if (!p->general.single)
        return;
    gdb_thread_text(&p->general, text);
    text_buf_printf(out, "thread:%s;", text);
}

static enum proxy_reverse answer(struct gdb_proxy *p, const char *payload, size_t len)
{
    p->passed = false;
    return gdb_session_answer(p->session, payload, len) == GDB_PASS_ON ? PROXY_REVERSE_NOT
                                                                       : PROXY_REVERSE_ANSWERED;
}

static enum proxy_reverse refuse(struct gdb_proxy *p, const char *text)
{
    gdb_proxy_send(p, text, strlen(text));
    return PROXY_REVERSE_ANSWERED;
}

static bool is_read(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    if (len == 0 || strchr("gpm", payload[0]) == NULL)
        return false;
    p->reverse_kind = *a.at++;
    p->reverse_at = 0;
    return p->reverse_kind == 'g' ? gdb_args_empty(&a) : gdb_args_hex(&a, &p->reverse_at);
}

/* Of any core: what is written now could not be told from what was there before. */
static bool is_write(const struct gdb_packet *packet, const char *payload, size_t len)
{
    return packet->effect == GDB_EFFECT_MEMORY || packet->effect == GDB_EFFECT_REGISTERS ||
           gdb_packet_starts(payload, len, "G") || gdb_packet_starts(payload, len, "P") ||
           gdb_packet_starts(payload, len, "M") || gdb_packet_starts(payload, len, "X");
}

static bool is_back(const char *payload, size_t len)
{
    return len == 2 && (memcmp(payload, "bs", 2) == 0 || memcmp(payload, "bc", 2) == 0);
}

bool gdb_proxy_reverse_wants(const struct gdb_proxy *p, const char *payload, size_t len)
{
    const struct gdb_target *t = p->session->target;
    return t->reverse != NULL && t->is_replaying != NULL &&
           (is_back(payload, len) || t->is_replaying(p->session->target_ctx, -1));
}

enum proxy_reverse gdb_proxy_reverse(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    const struct gdb_target *t = s->target;
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (t->reverse == NULL || t->is_replaying == NULL || t->reverse_memory == NULL)
        return PROXY_REVERSE_NOT;
    if (is_back(payload, len))
        return answer(p, payload, len);
    if (gdb_packet_starts(payload, len, "Hc"))
        gdb_note_motion(s, payload, len);
    if (gdb_packet_starts(payload, len, "qfThreadInfo") ||
        gdb_packet_starts(payload, len, "qXfer:threads:"))
        s->threads_listed = true;
    if (!t->is_replaying(s->target_ctx, -1))
        return PROXY_REVERSE_NOT;
    if (packet.answer == GDB_ANSWER_STOP)
        return answer(p, payload, len);
    if (is_write(&packet, payload, len))
        return refuse(p, no_write);
    return t->is_replaying(s->target_ctx, s->general) && is_read(p, payload, len)
               ? PROXY_REVERSE_PATCHED
               : PROXY_REVERSE_NOT;
}

static void put_reg(const struct gdb_proxy *p, const struct gdb_regs *regs, unsigned reg, char *to)
{
    static const char hex[] = "0123456789abcdef";
    for (unsigned i = 0; i < DIGITS; i++) {
        unsigned byte = i / 2, shift = 8 * (p->remote->big_endian ? 3 - byte : byte);
        unsigned digit = regs->value[reg] >> (shift + (i % 2 ? 0 : 4)) & 0xf;
        to[i] = regs->known >> reg & 1 ? hex[digit] : 'x';
    }
}

/* Is there such a stack pointer in a g packet of `len` digits? */
static bool has_stack(const struct gdb_remote *u, enum gdb_stack stack, size_t len)
{
    return u->at_stack[stack] != 0 && u->at_stack[stack] + DIGITS <= len;
}

static bool same_stack(const struct gdb_remote *u, enum gdb_stack a, enum gdb_stack b,
                       const char *now, size_t len)
{
    return has_stack(u, a, len) && has_stack(u, b, len) &&
           memcmp(now + u->at_stack[a], now + u->at_stack[b], DIGITS) == 0;
}

static bool uses_psp(const struct gdb_remote *u, const struct gdb_regs *regs, const char *now,
                     size_t len)
{
    bool handler = (regs->value[GDB_REG_PSR] & 0x1ff) != 0;
    return !handler && has_stack(u, GDB_STACK_PSP, len) &&
           memcmp(now + u->at_stack[GDB_STACK_PSP], now + (size_t)GDB_REG_SP * DIGITS, DIGITS) == 0;
}

/* Which of two security states the core was in then, else the one that it is halted in. */
static bool was_nonsecure(const struct gdb_remote *u, const struct gdb_regs *regs, const char *now,
                          size_t len)
{
    if (regs->security != GDB_SECURITY_UNKNOWN)
        return regs->security == GDB_SECURITY_NONSECURE;
    return same_stack(u, GDB_STACK_MSP, GDB_STACK_MSP_NS, now, len) &&
           !same_stack(u, GDB_STACK_MSP, GDB_STACK_MSP_S, now, len);
}

/*
 * GDB asks for all stack pointers of an M-profile core when it unwinds, and gives up without one.
 * The one in use is SP: as now, but that handlers have the main stack. The others are shown as they
 * are.
 */
static void put_stacks(struct gdb_proxy *p, const struct gdb_regs *regs, const char *now,
                       size_t len, char *to)
{
    const struct gdb_remote *u = p->remote;
    enum gdb_stack used = uses_psp(u, regs, now, len) ? GDB_STACK_PSP : GDB_STACK_MSP;
    enum gdb_stack banked =
        used + (was_nonsecure(u, regs, now, len) ? GDB_STACK_MSP_NS : GDB_STACK_MSP_S);
    for (unsigned i = 0; i < GDB_STACKS; i++) {
        if (!has_stack(u, i, len))
            continue;
        if (i == used || i == banked)
            put_reg(p, regs, GDB_REG_SP, to + u->at_stack[i]);
        else
            memcpy(to + u->at_stack[i], now + u->at_stack[i], DIGITS);
    }
}

/* As long as the other server's, for GDB remembers the length; other registers are not known. */
static void add_all(struct gdb_proxy *p, const struct gdb_regs *regs, const char *now, size_t len)
{
    struct text_buf *out = &p->session->reply;
    size_t psr = p->remote->has_description || len < PSR_OLD + DIGITS ? PSR_NEW : PSR_OLD;
    if (p->remote->at_psr != 0)
        psr = p->remote->at_psr;
    for (size_t i = 0; i < len; i++)
        text_buf_putc(out, 'x');
    if (text_buf_error(out) < 0)
        return;
    for (unsigned reg = 0; reg < CORE_REGS && (reg + 1) * DIGITS <= len; reg++)
        put_reg(p, regs, reg, out->data + (size_t)reg * DIGITS);
    if (psr + DIGITS <= len)
        put_reg(p, regs, GDB_REG_PSR, out->data + psr);
    put_stacks(p, regs, now, len, out->data);
}

static enum gdb_stack stack_of(const struct gdb_remote *u, uint64_t number)
{
    unsigned i = 0;
    while (i < GDB_STACKS && (u->at_stack[i] == 0 || number != u->number_stack[i]))
        i++;
    return i;
}

/* A server that has its registers one by one is asked so: Secure state, if it is not known. */
static void add_one(struct gdb_proxy *p, const struct gdb_regs *regs, const char *now, size_t len)
{
    const struct gdb_remote *u = p->remote;
    char digits[DIGITS];
    unsigned reg = p->reverse_at < CORE_REGS ? (unsigned)p->reverse_at : GDB_REG_COUNT;
    if (p->reverse_at == u->number_psr)
        reg = GDB_REG_PSR;
    enum gdb_stack stack = stack_of(u, p->reverse_at);
    bool non_secure = regs->security == GDB_SECURITY_NONSECURE;
    if (stack == GDB_STACK_MSP || stack == (non_secure ? GDB_STACK_MSP_NS : GDB_STACK_MSP_S))
        reg = GDB_REG_SP;
    if (reg == GDB_REG_COUNT && stack != GDB_STACKS) {
        text_buf_add(&p->session->reply, now, len);
    } else if (reg < GDB_REG_COUNT) {
        put_reg(p, regs, reg, digits);
        text_buf_add(&p->session->reply, digits, sizeof(digits));
    } else {
        for (size_t i = 0; i < len; i++)
            text_buf_putc(&p->session->reply, 'x');
    }
}

static void add_memory(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    uint8_t bytes[GDB_PACKET_SIZE / 2];
    size_t n = len / 2 < sizeof(bytes) ? len / 2 : sizeof(bytes);
    struct gdb_args a = {reply, reply + len};
    if (!gdb_args_bytes(&a, bytes, n)) {
        text_buf_add(&s->reply, reply, len);
        return;
    }
    n = s->target->reverse_memory(s->target_ctx, s->general, p->reverse_at, bytes, n);
    if (n > 0)
        text_buf_hex(&s->reply, bytes, n);
    else
        text_buf_puts(&s->reply, "E0e");
}

void gdb_proxy_reverse_reply(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    struct gdb_regs regs = {.known = 0};
    text_buf_clear(&s->reply);
    if (len == 0 || reply[0] == 'E' || p->remote == NULL)
        text_buf_add(&s->reply, reply, len);
    else if (p->reverse_kind == 'm')
        add_memory(p, reply, len);
    else if (s->target->read_regs(s->target_ctx, s->general, &regs) < 0)
        text_buf_puts(&s->reply, "E01");
    else if (p->reverse_kind == 'g')
        add_all(p, &regs, reply, len);
    else
        add_one(p, &regs, reply, len);
    gdb_reply_send(s);
}
