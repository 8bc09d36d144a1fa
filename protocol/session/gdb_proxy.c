/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session whose packets are answered by another GDB server, but for branch trace, replay
 * positions, and how a session begins and ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_proxy.h"

/* What the client may send ahead of its answers. */
#define BACKLOG_MAX (4 * GDB_PACKET_SIZE)

/* Console output that the client has not acknowledged; more is dropped. */
#define OUTPUT_MAX (1u << 20)

static const char gone[] = GDB_PROXY_GONE;
static const char gone_text[] = "the target's GDB server closed the connection\n";

/* SIGKILL, which no program runs on after. */
static const char gone_stop[] = "X09";

/* For packets that are about no thread. */
static const struct gdb_thread any_thread = {.single = false};

#define DIGITS    8
#define CORE_REGS 16u

/* Without a description: 16 registers, eight of 12 bytes and one of 4 that no core has any more. */
#define PSR_OLD (16 * DIGITS + 8 * 24 + DIGITS)
#define PSR_NEW (16 * DIGITS)

static const char no_write[] =
    "E.nothing can be written at a replay position: continue to the halted core first";

static const char controls[] = "you are in control of the target now\n";

static bool proxy_core_of(const struct gdb_proxy *p, int thread, int *core)
{
    for (int i = 0; p->remote && i < p->remote->core_count; i++) {
        const struct gdb_thread *t = &p->remote->threads[i];
        if (thread < 0 || (t->single && t->thread != (uint64_t)thread))
            continue;
        *core = i;
        return i < p->session->core_count;
    }
    return false;
}

static void proxy_add_thread(struct gdb_proxy *p, int core, struct text_buf *out)
{
    char text[GDB_THREAD_TEXT];
    if (!p->remote || core >= p->remote->core_count)
        return;
    p->general = p->remote->threads[core];
    if (!p->general.single) /* it listed none, and its stop replies may name one all the same */
        p->general = p->remote->stopped;
    if (!p->general.single)
        return;
    gdb_thread_text(&p->general, text);
    text_buf_printf(out, "thread:%s;", text);
}

/*
 * Packets about a core that is at a replay position: motions are the target's own, registers and
 * memory are read from the other server and changed into what they were, writes are refused.
 */

/* What becomes of a packet about a replay position. */
enum proxy_reverse {
    PROXY_REVERSE_NOT,      /* not about a replay position: as any other */
    PROXY_REVERSE_ANSWERED, /* here, or will be */
    PROXY_REVERSE_PATCHED,  /* to be passed on; the answer goes through proxy_reverse_reply() */
};

static enum proxy_reverse reverse_answer(struct gdb_proxy *p, const char *payload, size_t len)
{
    p->passed = false;
    return gdb_session_answer(p->session, payload, len) == GDB_PASS_ON ? PROXY_REVERSE_NOT
                                                                       : PROXY_REVERSE_ANSWERED;
}

static enum proxy_reverse reverse_refuse(struct gdb_proxy *p, const char *text)
{
    gdb_proxy_send(p, text, strlen(text));
    return PROXY_REVERSE_ANSWERED;
}

static bool reverse_is_read(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    if (len == 0 || !strchr("gpm", payload[0]))
        return false;
    p->reverse_kind = *a.at++;
    p->reverse_at = 0;
    return p->reverse_kind == 'g' ? gdb_args_empty(&a) : gdb_args_hex(&a, &p->reverse_at);
}

/* Of any core: what is written now could not be told from what was there before. */
static bool packet_is_write(const struct gdb_packet *packet, const char *payload, size_t len)
{
    return packet->effect == GDB_EFFECT_MEMORY || packet->effect == GDB_EFFECT_REGISTERS ||
           gdb_packet_starts(payload, len, "G") || gdb_packet_starts(payload, len, "P") ||
           gdb_packet_starts(payload, len, "M") || gdb_packet_starts(payload, len, "X");
}

static enum proxy_reverse proxy_choose_reverse(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    const struct gdb_target *t = s->target;
    struct gdb_packet packet = gdb_packet_read(payload, len);
    if (!t->reverse || !t->is_replaying || !t->reverse_memory)
        return PROXY_REVERSE_NOT;
    if (gdb_proxy_is_back(payload, len))
        return reverse_answer(p, payload, len);
    if (gdb_packet_starts(payload, len, "Hc"))
        gdb_note_motion(s, payload, len);
    if (gdb_packet_starts(payload, len, "qfThreadInfo") ||
        gdb_packet_starts(payload, len, "qXfer:threads:"))
        s->threads_listed = true;
    if (!t->is_replaying(s->target_ctx, -1))
        return PROXY_REVERSE_NOT;
    if (packet.answer == GDB_ANSWER_STOP)
        return reverse_answer(p, payload, len);
    if (packet_is_write(&packet, payload, len))
        return reverse_refuse(p, no_write);
    return t->is_replaying(s->target_ctx, s->general) && reverse_is_read(p, payload, len)
               ? PROXY_REVERSE_PATCHED
               : PROXY_REVERSE_NOT;
}

static void patch_reg(const struct target_regs *regs, unsigned reg, char *to)
{
    static const char hex[] = "0123456789abcdef";
    for (unsigned i = 0; i < DIGITS; i++) {
        unsigned byte = i / 2, shift = 8 * byte;
        unsigned digit = regs->value[reg] >> (shift + (i % 2 ? 0 : 4)) & 0xf;
        to[i] = regs->known >> reg & 1 ? hex[digit] : 'x';
    }
}

/* Is there such a stack pointer in a g packet of `len` digits? */
static bool patch_has_stack(const struct gdb_remote *u, enum gdb_stack stack, size_t len)
{
    return u->at_stack[stack] != 0 && u->at_stack[stack] + DIGITS <= len;
}

static bool patch_same_stack(const struct gdb_remote *u, enum gdb_stack a, enum gdb_stack b,
                             const char *now, size_t len)
{
    return patch_has_stack(u, a, len) && patch_has_stack(u, b, len) &&
           memcmp(now + u->at_stack[a], now + u->at_stack[b], DIGITS) == 0;
}

static bool patch_uses_psp(const struct gdb_remote *u, const struct target_regs *regs,
                           const char *now, size_t len)
{
    bool handler = (regs->value[TARGET_REG_PSR] & 0x1ff) != 0;
    return !handler && patch_has_stack(u, GDB_STACK_PSP, len) &&
           memcmp(now + u->at_stack[GDB_STACK_PSP], now + (size_t)TARGET_REG_SP * DIGITS, DIGITS) ==
               0;
}

/* Which of two security states the core was in then, else the one that it is halted in. */
static bool patch_was_nonsecure(const struct gdb_remote *u, const struct target_regs *regs,
                                const char *now, size_t len)
{
    if (regs->security != TARGET_SECURITY_UNKNOWN)
        return regs->security == TARGET_SECURITY_NONSECURE;
    return patch_same_stack(u, GDB_STACK_MSP, GDB_STACK_MSP_NS, now, len) &&
           !patch_same_stack(u, GDB_STACK_MSP, GDB_STACK_MSP_S, now, len);
}

/*
 * GDB asks for all stack pointers of an M-profile core when it unwinds, and gives up without one.
 * The one in use is SP: as now, but that handlers have the main stack. The others are shown as they
 * are.
 */
static void patch_stacks(struct gdb_proxy *p, const struct target_regs *regs, const char *now,
                         size_t len, char *to)
{
    const struct gdb_remote *u = p->remote;
    enum gdb_stack used = patch_uses_psp(u, regs, now, len) ? GDB_STACK_PSP : GDB_STACK_MSP;
    enum gdb_stack banked =
        used + (patch_was_nonsecure(u, regs, now, len) ? GDB_STACK_MSP_NS : GDB_STACK_MSP_S);
    for (unsigned i = 0; i < GDB_STACKS; i++) {
        if (!patch_has_stack(u, i, len))
            continue;
        if (i == used || i == banked)
            patch_reg(regs, TARGET_REG_SP, to + u->at_stack[i]);
        else
            memcpy(to + u->at_stack[i], now + u->at_stack[i], DIGITS);
    }
}

/* As long as the other server's, for GDB remembers the length; other registers are not known. */
static void patch_all(struct gdb_proxy *p, const struct target_regs *regs, const char *now,
                      size_t len)
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
        patch_reg(regs, reg, out->data + (size_t)reg * DIGITS);
    if (psr + DIGITS <= len)
        patch_reg(regs, TARGET_REG_PSR, out->data + psr);
    patch_stacks(p, regs, now, len, out->data);
}

static enum gdb_stack patch_stack_of(const struct gdb_remote *u, uint64_t number)
{
    unsigned i = 0;
    while (i < GDB_STACKS && (u->at_stack[i] == 0 || number != u->number_stack[i]))
        i++;
    return i;
}

/* A server that has its registers one by one is asked so: Secure state, if it is not known. */
static void patch_one(struct gdb_proxy *p, const struct target_regs *regs, const char *now,
                      size_t len)
{
    const struct gdb_remote *u = p->remote;
    char digits[DIGITS];
    unsigned reg = p->reverse_at < CORE_REGS ? (unsigned)p->reverse_at : TARGET_REG_COUNT;
    if (p->reverse_at == u->number_psr)
        reg = TARGET_REG_PSR;
    enum gdb_stack stack = patch_stack_of(u, p->reverse_at);
    bool non_secure = regs->security == TARGET_SECURITY_NONSECURE;
    if (stack == GDB_STACK_MSP || stack == (non_secure ? GDB_STACK_MSP_NS : GDB_STACK_MSP_S))
        reg = TARGET_REG_SP;
    if (reg == TARGET_REG_COUNT && stack != GDB_STACKS) {
        text_buf_add(&p->session->reply, now, len);
    } else if (reg < TARGET_REG_COUNT) {
        patch_reg(regs, reg, digits);
        text_buf_add(&p->session->reply, digits, sizeof(digits));
    } else {
        for (size_t i = 0; i < len; i++)
            text_buf_putc(&p->session->reply, 'x');
    }
}

static void patch_memory(struct gdb_proxy *p, const char *reply, size_t len)
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

static void proxy_reverse_reply(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    struct target_regs regs = {.known = 0};
    text_buf_clear(&s->reply);
    if (len == 0 || reply[0] == 'E' || !p->remote)
        text_buf_add(&s->reply, reply, len);
    else if (p->reverse_kind == 'm')
        patch_memory(p, reply, len);
    else if (s->target->read_regs(s->target_ctx, s->general, &regs) < 0)
        text_buf_puts(&s->reply, "E01");
    else if (p->reverse_kind == 'g')
        patch_all(p, &regs, reply, len);
    else
        patch_one(p, &regs, reply, len);
    gdb_reply_send(s);
}

/* Answers of the other side. */

static void proxy_send_lost(struct gdb_proxy *p, enum proxy_wait wait)
{
    bool data = wait == PROXY_DATA || wait == PROXY_REVERSE;
    gdb_proxy_send_text(p, wait == PROXY_EXTENDED ? "OK" : data ? "E05" : gone);
}

static void proxy_send_lost_stop(struct gdb_proxy *p)
{
    p->session->running = false;
    gdb_send_console(p->session, gone_text);
    gdb_proxy_send_text(p, gone_stop);
}

static void proxy_send_features(struct gdb_proxy *p, const char *reply, size_t len)
{
    struct gdb_session *s = p->session;
    text_buf_clear(&s->reply);
    gdb_features_merge(&s->reply, reply, len, s->packet_size, gdb_has_btrace(s->target),
                       s->target->reverse);
    gdb_reply_send(s);
}

static void proxy_drain(struct gdb_proxy *p);

static void proxy_reply(void *ctx, const char *reply, size_t len)
{
    struct gdb_proxy *p = ctx;
    enum proxy_wait wait = p->wait;
    p->wait = PROXY_IDLE;
    if (p->role != PROXY_OBSERVES && p->remote)
        gdb_remote_remove_observer(p->remote, &p->observer);
    if (wait == PROXY_IDLE)
        return;
    if (wait == PROXY_STATE && reply)
        gdb_proxy_note_stop(p, reply, len);
    if (wait == PROXY_DATA && reply && p->reverse_kind == 'g')
        gdb_proxy_note_shown(p, reply, len);
    if (!reply)
        proxy_send_lost(p, wait);
    else if (wait == PROXY_FEATURES)
        proxy_send_features(p, reply, len);
    else if (wait == PROXY_EXTENDED)
        gdb_proxy_send_text(p, "OK");
    else if (wait == PROXY_REVERSE)
        proxy_reverse_reply(p, reply, len);
    else
        gdb_proxy_send(p, reply, len);
    proxy_drain(p);
}

static void proxy_stopped(void *ctx, const char *reply, size_t len)
{
    struct gdb_proxy *p = ctx;
    if (!p->session->running || !p->passed)
        return;
    if (!reply) {
        proxy_send_lost_stop(p);
        return;
    }
    gdb_proxy_show_stop(p, reply, len);
}

static void proxy_output(void *ctx, const char *payload, size_t len)
{
    struct gdb_proxy *p = ctx;
    if (p->session->sender.queue.len < OUTPUT_MAX)
        gdb_proxy_send(p, payload, len);
}

static void proxy_dropped(void *ctx)
{
    struct gdb_proxy *p = ctx;
    enum proxy_wait wait = p->wait;
    p->remote = NULL;
    p->wait = PROXY_IDLE;
    if (wait != PROXY_IDLE)
        proxy_send_lost(p, wait);
    if (p->session->running)
        proxy_send_lost_stop(p);
    proxy_drain(p);
}

static void proxy_goes_on(void *ctx)
{
    proxy_drain(ctx);
}

static const struct gdb_remote_client proxy_client = {proxy_reply, proxy_stopped, proxy_output,
                                                      proxy_dropped, proxy_goes_on};

/* Packets of the client. */

static int proxy_try_pass(struct gdb_proxy *p, const struct gdb_thread *thread, const char *payload,
                          size_t len)
{
    if (!p->remote)
        return BT_ERR_IO;
    if (p->role == PROXY_OBSERVES)
        return gdb_remote_look(p->remote, &p->observer, thread, payload, len);
    return gdb_remote_pass(p->remote, thread, payload, len);
}

static void proxy_send_refusal(struct gdb_proxy *p, int error)
{
    gdb_proxy_send_text(p, error == BT_ERR_IO ? gone : "E.too much is under way");
}

static void proxy_pass(struct gdb_proxy *p, enum proxy_wait wait, const struct gdb_thread *thread,
                       const char *payload, size_t len)
{
    p->wait = wait;
    int error = proxy_try_pass(p, thread, payload, len);
    if (error == BT_OK)
        return;
    p->wait = PROXY_IDLE;
    if (error == BT_ERR_IO)
        proxy_send_lost(p, wait);
    else
        proxy_send_refusal(p, error);
}

static void proxy_pass_resume(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    s->running = true;
    p->passed = true;
    gdb_document_forget(s);
    int error = proxy_try_pass(p, &p->general, payload, len);
    if (error == BT_OK) {
        if (s->running)
            gdb_proxy_report_news(p);
        return;
    }
    s->running = false;
    proxy_send_refusal(p, error);
}

/* Packets that are about no thread go out with whichever is selected. */
static bool packet_needs_thread(const char *payload, size_t len)
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
static void proxy_pass_state(struct gdb_proxy *p, const char *payload, size_t len)
{
    bool left = p->session->state != GDB_SESSION_OPEN;
    p->session->state = GDB_SESSION_OPEN;
    /* The target was never let go of: attaching to it again is to ask how it is. */
    if (left && gdb_packet_starts(payload, len, "vAttach"))
        proxy_pass(p, PROXY_STATE, &any_thread, "?", 1);
    else
        proxy_pass(p, PROXY_STATE, &any_thread, payload, len);
}

static void proxy_pass_on(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_packet packet = gdb_packet_read(payload, len);
    enum proxy_wait wait = PROXY_REPLY;
    if (packet.answer == GDB_ANSWER_STOP) {
        proxy_pass_resume(p, payload, len);
        return;
    }
    if (packet.effect == GDB_EFFECT_HALTED || packet.effect == GDB_EFFECT_RESTART) {
        proxy_pass_state(p, payload, len);
        return;
    }
    if (packet.answer == GDB_ANSWER_NONE) {
        const struct gdb_target *t = p->session->target;
        struct target_error why = {""};
        if (p->role == PROXY_OBSERVES || !t->restart ||
            t->restart(p->session->target_ctx, &why) < 0)
            proxy_try_pass(p, &any_thread, payload, len);
        return;
    }
    if (packet.effect == GDB_EFFECT_SELECT)
        gdb_proxy_select(p, &packet);
    if (gdb_packet_starts(payload, len, "qSupported"))
        wait = PROXY_FEATURES;
    else if (len > 0 && strchr("mgp", payload[0]))
        wait = PROXY_DATA;
    if (wait == PROXY_DATA)
        p->reverse_kind = payload[0];
    proxy_pass(p, wait, packet_needs_thread(payload, len) ? &p->general : &any_thread, payload,
               len);
}

static bool proxy_is_btrace(const struct gdb_proxy *p, const char *payload, size_t len)
{
    static const char *const names[] = {
        "Qbtrace:", "Qbtrace-conf:", "qXfer:btrace:", "qXfer:btrace-conf:"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (gdb_packet_starts(payload, len, names[i]))
            return gdb_has_btrace(p->session->target);
    }
    return false;
}

static bool packet_is_leave(const char *payload, size_t len)
{
    return gdb_proxy_is(payload, len, "D") || gdb_packet_starts(payload, len, "D;") ||
           gdb_proxy_is(payload, len, "k") || gdb_packet_starts(payload, len, "vKill");
}

/* The connection to the other side stays: a GDB that comes later finds the board as it is. */
static void proxy_leave(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    s->state = GDB_SESSION_OPEN;
    gdb_session_answer(s, payload, len);
    if (p->remote && p->role != PROXY_OBSERVES && s->state != GDB_SESSION_OPEN)
        gdb_remote_let_go(p->remote, s->state == GDB_SESSION_DETACHED);
}

/* Our own commands first; the rest is the other side's. */
static void proxy_monitor(struct gdb_proxy *p, const char *payload, size_t len)
{
    gdb_proxy_report_news(p);
    if (gdb_monitor_packet(p->session, payload, len) == BT_ERR_UNSUPPORTED)
        proxy_pass_on(p, payload, len);
}

/* While the target waits for a file, GDB may read and write its memory. */
static void proxy_while_running(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_remote *u = p->remote;
    enum gdb_packet_answer answer = gdb_packet_read(payload, len).answer;
    if (!u || !u->serving_file || answer == GDB_ANSWER_STOP || answer == GDB_ANSWER_NONE)
        gdb_proxy_send_text(p, "E.the target is running");
    else if (len == 0 || payload[0] != 'F')
        proxy_pass(p, PROXY_REPLY, &p->general, payload, len);
    else if (gdb_remote_answer_file(u, payload, len) < 0)
        gdb_proxy_send_text(p, "E.no file was asked for");
}

static void proxy_pass_or_patch(struct gdb_proxy *p, const char *payload, size_t len)
{
    enum proxy_reverse reverse = proxy_choose_reverse(p, payload, len);
    if (reverse == PROXY_REVERSE_PATCHED)
        proxy_pass(p, PROXY_REVERSE, &p->general, payload, len);
    else if (reverse == PROXY_REVERSE_NOT)
        proxy_pass_on(p, payload, len);
}

static void proxy_handle(struct gdb_proxy *p, const char *payload, size_t len)
{
    struct gdb_session *s = p->session;
    if (packet_is_leave(payload, len)) {
        proxy_leave(p, payload, len);
    } else if (gdb_proxy_is(payload, len, "QStartNoAckMode")) {
        gdb_session_answer(s, payload, len);
    } else if (!gdb_proxy_observe(p, payload, len)) {
        return;
    } else if (s->running) {
        proxy_while_running(p, payload, len);
    } else if (proxy_is_btrace(p, payload, len)) {
        gdb_session_answer(s, payload, len);
    } else if (p->remote && len > p->remote->packet_size) {
        gdb_proxy_send_text(
            p, "E.the packet is longer than PacketSize"); /* QEMU would not answer at all */
    } else if (gdb_packet_is_broken(payload, len)) {
        gdb_proxy_send_text(p, "E01");
    } else if (gdb_packet_starts(payload, len, "QNonStop")) {
        gdb_proxy_send_text(p, "");
    } else if (gdb_proxy_is(payload, len, "!")) {
        s->extended = true;
        proxy_pass(p, PROXY_EXTENDED, &any_thread, payload, len);
    } else if (gdb_packet_starts(payload, len, "qRcmd,")) {
        proxy_monitor(p, payload, len);
    } else {
        proxy_pass_or_patch(p, payload, len);
    }
}

/* Packets that come before the answer to the one before. */

/* A failed allocation shows in text_buf_error(), and loses the whole session. */
static void proxy_put_off(struct gdb_proxy *p, const char *payload, size_t len)
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
static bool proxy_must_wait(const struct gdb_proxy *p, const char *payload, size_t len)
{
    bool holds_client = p->remote && p->remote->holds_client && !p->session->running;
    bool ours = proxy_is_btrace(p, payload, len) || gdb_packet_starts(payload, len, "qRcmd,") ||
                gdb_proxy_reverse_wants(p, payload, len);
    return p->wait != PROXY_IDLE || (holds_client && ours);
}

static void proxy_drain(struct gdb_proxy *p)
{
    struct text_buf *b = &p->backlog;
    if (p->draining)
        return;
    p->draining = true;
    while (b->len > 0 && p->session->state != GDB_SESSION_FAILED) {
        size_t len;
        memcpy(&len, b->data, sizeof(len));
        if (proxy_must_wait(p, b->data + sizeof(len), len))
            break;
        proxy_handle(p, b->data + sizeof(len), len);
        text_buf_drop(b, sizeof(len) + len);
    }
    p->draining = false;
}

static void proxy_packet(struct gdb_proxy *p, const char *payload, size_t len)
{
    if (p->backlog.len > 0 || proxy_must_wait(p, payload, len))
        proxy_put_off(p, payload, len);
    else
        proxy_handle(p, payload, len);
}

static void proxy_interrupt(struct gdb_proxy *p)
{
    struct gdb_session *s = p->session;
    if (!s->running)
        return;
    if (gdb_proxy_observe_interrupt(p))
        return;
    if (!p->passed && s->target->interrupt)
        s->target->interrupt(s->target_ctx);
    else if (p->remote)
        gdb_remote_interrupt(p->remote);
}

static struct gdb_proxy *proxy_new(struct gdb_session *s, struct gdb_remote *u)
{
    struct gdb_proxy *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->session = s;
    p->remote = u;
    text_buf_init(&p->backlog);
    p->observer.ops = &proxy_client;
    p->observer.ctx = p;
    p->general = u->stopped;
    p->seen = u->epoch;
    s->stopped = gdb_remote_stopped_core(u);
    s->general = s->stopped;
    return p;
}

static void proxy_free(struct gdb_proxy *p)
{
    if (!p)
        return;
    if (p->remote)
        gdb_remote_remove_observer(p->remote, &p->observer);
    if (p->remote && p->role != PROXY_OBSERVES)
        gdb_remote_detach(p->remote);
    text_buf_release(&p->backlog);
    gdb_proxy_forget_shown(p);
    free(p);
}

static const struct gdb_proxy_ops proxy_ops = {
    proxy_packet, proxy_interrupt, proxy_free, proxy_core_of, proxy_add_thread,
};

/* `greeting` NULL: it has the other server to itself. */
static int proxy_begin(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                       struct gdb_remote *u, const char *greeting, gdb_send_fn send, void *send_ctx)
{
    int cores = target->core_count ? target->core_count(target_ctx) : gdb_remote_cores(u);
    int error = gdb_session_begin(s, target, target_ctx, cores, send, send_ctx);
    if (error < 0)
        return error;
    struct gdb_proxy *p = proxy_new(s, u);
    if (!p) {
        gdb_session_release(s);
        return BT_ERR_NOMEM;
    }
    s->proxy = p;
    s->proxy_ops = &proxy_ops;
    if (greeting) {
        p->role = PROXY_OBSERVES;
        snprintf(p->greeting, sizeof(p->greeting), "%s", greeting);
        gdb_remote_add_observer(u, &p->observer);
    } else {
        gdb_remote_attach(u, &proxy_client, p);
    }
    return BT_OK;
}

int gdb_session_init_remote(struct gdb_session *s, const struct gdb_target *target,
                            void *target_ctx, struct gdb_remote *u, gdb_send_fn send,
                            void *send_ctx)
{
    return proxy_begin(s, target, target_ctx, u, NULL, send, send_ctx);
}

int gdb_session_init_observer(struct gdb_session *s, const struct gdb_target *target,
                              void *target_ctx, struct gdb_remote *u, const char *greeting,
                              gdb_send_fn send, void *send_ctx)
{
    return proxy_begin(s, target, target_ctx, u, greeting, send, send_ctx);
}

bool gdb_session_observes(const struct gdb_session *s)
{
    return s->proxy && s->proxy->role == PROXY_OBSERVES;
}

void gdb_session_take_control(struct gdb_session *s)
{
    struct gdb_proxy *p = s->proxy;
    struct gdb_remote *u = p ? p->remote : NULL;
    if (!u || p->role != PROXY_OBSERVES)
        return;
    gdb_remote_attach(u, &proxy_client, p);
    p->role = p->seen != u->epoch ? PROXY_CATCHES_UP : PROXY_CONTROLS;
    snprintf(p->greeting, sizeof(p->greeting), "%s", controls);
    if (p->wait == PROXY_IDLE)
        gdb_remote_remove_observer(u, &p->observer);
    if (!s->running)
        return;
    gdb_proxy_report_news(p);
    if (p->passed)
        u->client_runs = true;
}

/* From within a command of its own, between two questions. */
void gdb_session_give_control(struct gdb_session *s)
{
    struct gdb_proxy *p = s->proxy;
    struct gdb_remote *u = p ? p->remote : NULL;
    if (!u || p->role == PROXY_OBSERVES)
        return;
    gdb_remote_detach(u);
    gdb_remote_remove_observer(u, &p->observer);
    gdb_remote_add_observer(u, &p->observer);
    p->seen = p->role == PROXY_CATCHES_UP ? 0 : u->epoch;
    p->role = PROXY_OBSERVES;
    p->greeting[0] = '\0';
}
