/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exceptions of M-profile cores. Where floating-point registers may be in the frames, the core's
 * CONTROL.FPCA decides: an instruction that uses them sets it, an exception clears it and a return
 * gives it back. Their room is often filled later,
 * by the first such instruction of a handler. */
#include "values_build.h"

#include <string.h>

#define FRAME_REGS   0x500fu /* r0-r3, r12, LR */
#define KEPT_REGS    0x0ff0u /* r4-r11 */
#define FLOAT_OFFSET 0x20u
#define FLOAT_WORDS  17u /* s0-s15, FPSCR */
#define CONTROL      20u /* special register */
#define NUMBER_MASK  0x1ffu

/* EXC_RETURN of a core without a second stack in use; of v8-M in Secure state. */
#define RETURN_HANDLER       0xfffffff1u
#define RETURN_HANDLER_FLOAT 0xffffffe1u
#define RETURN_THREAD        0xfffffff9u
#define RETURN_THREAD_FLOAT  0xffffffe9u

static bool has_one_stack(const struct build *b)
{
    return b->w->m_one_stack && !b->two_states;
}

static bool is_nonsecure(const struct build *b)
{
    return b->w->m_nonsecure || b->two_states;
}

static enum build_float outer(const struct build *b)
{
    return b->nesting < BUILD_NESTING ? (enum build_float)b->outer[b->nesting] : BUILD_FLOAT_MAYBE;
}

/* An access of the core itself. */
static void stack_word(struct build *b, enum access_kind kind, uint32_t base, uint32_t offset,
                       uint32_t data, enum values_saved saved)
{
    struct values_access *a = build_access(b, kind, base, offset, data);
    if (!a)
        return;
    a->stack = true;
    a->saved = (uint8_t)saved;
}

/* Floating-point registers: now, or when a handler uses some (lazily), or never. */
static void fill_frame(struct build *b, uint32_t base)
{
    for (uint32_t i = 0; i < FLOAT_WORDS; i++)
        stack_word(b, ACCESS_KILL, base, FLOAT_OFFSET + 4 * i, 0, SAVED_NOT);
}

/*
 * A service writes its results there, and so may the handler of a fault. A scheduler that is called
 * by PendSV does it for tasks that wait, if at all.
 */
static enum values_saved stacked_by(const struct bt_event *entry)
{
    unsigned number = entry->u.exception.number & NUMBER_MASK;
    if (number >= BUILD_NUMBER_SYSTICK || number == BUILD_NUMBER_NMI)
        return SAVED;
    return number == BUILD_NUMBER_PENDSV ? SAVED_FRAME : SAVED_NOT;
}

/* The eight words at the exception's frame; those loaded become the registers. */
static void stack_frame(struct build *b, uint32_t base, uint32_t xpsr, const struct bt_event *entry)
{
    static const uint8_t order[6] = {0, 1, 2, 3, 12, 14};
    enum access_kind kind = entry ? ACCESS_STORE : ACCESS_LOAD;
    enum values_saved saved = entry ? stacked_by(entry) : SAVED;
    uint32_t loaded[6];
    for (unsigned i = 0; i < 6; i++) {
        loaded[i] = entry ? b->cur[order[i]] : rules_value(&b->r->rules);
        stack_word(b, kind, base, i * 4, loaded[i], saved);
    }
    if (!entry)
        stack_word(b, kind, base, 24, rules_value(&b->r->rules), saved);
    if (entry) {
        uint32_t pc =
            entry->u.exception.has_return
                ? rules_constant(&b->r->rules, (uint32_t)entry->u.exception.return_address, b->step)
                : 0;
        stack_word(b, kind, base, 24, pc, saved);
    }
    stack_word(b, kind, base, 28, xpsr, saved);
    for (unsigned i = 0; i < 6 && !entry; i++)
        build_assign(b, order[i], loaded[i]);
}

static uint32_t base_value(struct build *b, bool with_floats)
{
    struct values_rules *rules = &b->r->rules;
    if (b->base_lr[0])
        return b->base_lr[with_floats];
    b->base_lr[0] = rules_value(rules);
    b->base_lr[1] = rules_value(rules);
    rules_add(rules, &(struct values_rule){.op = RULE_XOR,
                                           .slot = {b->base_lr[0], b->base_lr[1]},
                                           .k = RETURN_THREAD ^ RETURN_THREAD_FLOAT,
                                           .step = b->step,
                                           .how = VALUES_EXCEPTION});
    return b->base_lr[with_floats];
}

/*
 * LR says what was interrupted. A handler that began in the window is known as one; of what ran
 * before all of them each entry tells the same.
 */
static void learn_return(struct build *b)
{
    if (!b->nesting || b->nesting > BUILD_NESTING)
        return;
    enum build_float was = (enum build_float)b->outer[b->nesting - 1];
    bool with_floats = was == BUILD_FLOAT_USED;
    if (was == BUILD_FLOAT_MAYBE)
        return;
    if (is_nonsecure(b) && b->nesting > 1) /* it depends on what the core implements */
        return;
    if (b->nesting == 1)
        rules_equal(&b->r->rules, b->cur[14], base_value(b, with_floats), b->step,
                    VALUES_EXCEPTION);
    else
        rules_learn_at(&b->r->rules, b->cur[14],
                       with_floats ? RETURN_HANDLER_FLOAT : RETURN_HANDLER, VALUES_EXCEPTION,
                       b->step);
}

void build_m_halted(struct build *b, uint32_t psr)
{
    if (b->nesting == 0 && !(psr & NUMBER_MASK) && b->base_lr[0] && !is_nonsecure(b))
        rules_learn(&b->r->rules, b->base_lr[0], RETURN_THREAD, VALUES_EXCEPTION);
}

static void enter_context(struct build *b)
{
    if (b->nesting < BUILD_NESTING) {
        b->outer[b->nesting] = (uint8_t)b->floats;
        b->stacked[b->nesting] = 0;
    }
    b->nesting++;
    b->floats = b->w->m_fpu ? BUILD_FLOAT_UNUSED : b->floats;
}

/* Keeps where the frame is for values_status(). */
static void note_frame(struct build *b, uint32_t frame, uint32_t sp, uint16_t number)
{
    struct values *r = b->r;
    if (b->nesting > BUILD_NESTING || !values_room(r, (void **)&r->stacked, &r->stacked_max,
                                                   r->stacked_count, sizeof *r->stacked))
        return;
    r->stacked[r->stacked_count++] = (struct values_stacked){
        .from = b->step, .until = UINT32_MAX, .frame = frame, .sp = sp, .number = number};
    b->stacked[b->nesting - 1] = (uint32_t)r->stacked_count;
}

/* The innermost handler has returned. */
static void leave_frame(struct build *b)
{
    uint32_t number = b->nesting < BUILD_NESTING ? b->stacked[b->nesting] : 0;
    b->number = 0;
    if (!number)
        return;
    b->r->stacked[number - 1].until = b->step;
    b->number = (uint16_t)b->r->stacked[number - 1].number;
}

/* On the way to Non-secure state the core takes r4-r11 away, even if it never gets there. */
static void kept_taken(struct build *b)
{
    if (b->two_states)
        build_clobber(b, KEPT_REGS);
}

void build_m_entry(struct build *b, const struct bt_event *event)
{
    struct values_rules *rules = &b->r->rules;
    enum build_float was = b->floats;
    enter_context(b);
    uint16_t number = b->number;
    b->number = event->u.exception.number & NUMBER_MASK;
    kept_taken(b);
    if (!has_one_stack(b) || was == BUILD_FLOAT_MAYBE) {
        b->pending_anywhere = b->w->m_fpu;
        build_clobber_memory(b);
        build_clobber(b, FRAME_REGS | 1u << 13 | EFFECT_FLAGS);
        return;
    }
    uint32_t sp = rules_value(rules), xpsr = rules_value(rules);
    bool with_floats = was == BUILD_FLOAT_USED;
    rules_add(rules, &(struct values_rule){.op = RULE_STACKED,
                                           .slot = {sp, b->cur[13], xpsr},
                                           .k = RULE_STACKED_ENTRY |
                                                (with_floats ? RULE_STACKED_FLOAT : 0),
                                           .step = b->step,
                                           .how = VALUES_EXCEPTION});
    stack_frame(b, sp, xpsr, event);
    note_frame(b, sp, b->cur[13], number);
    if (with_floats) {
        fill_frame(b, sp);
        b->pending = sp;
    }
    build_clobber(b, FRAME_REGS | EFFECT_FLAGS);
    build_assign(b, 13, sp);
    learn_return(b);
}

void build_m_return(struct build *b)
{
    struct values_rules *rules = &b->r->rules;
    if (b->nesting) {
        b->nesting--;
        b->floats = outer(b);
        leave_frame(b);
    } else {
        build_m_lost(b);
    }
    kept_taken(b);
    if (!has_one_stack(b) || b->floats == BUILD_FLOAT_MAYBE) {
        uint32_t before = b->cur[13];
        build_clobber(b, FRAME_REGS | 1u << 13 | EFFECT_FLAGS);
        build_access(b, ACCESS_RAISE, b->cur[13], 0, before);
        return;
    }
    bool with_floats = b->floats == BUILD_FLOAT_USED;
    uint32_t sp = rules_value(rules), xpsr = rules_value(rules);
    rules_add(rules, &(struct values_rule){.op = RULE_STACKED,
                                           .slot = {b->cur[13], sp, xpsr},
                                           .k = with_floats ? RULE_STACKED_FLOAT : 0,
                                           .step = b->step,
                                           .how = VALUES_EXCEPTION});
    stack_frame(b, b->cur[13], xpsr, NULL);
    if (with_floats)
        b->pending = 0;
    build_clobber(b, EFFECT_FLAGS);
    build_assign(b, 13, sp);
}

void build_m_chained(struct build *b, const struct bt_event *event)
{
    b->number = event->u.exception.number & NUMBER_MASK;
    b->floats = b->w->m_fpu ? BUILD_FLOAT_UNUSED : b->floats;
    b->it = 0;
    b->jumped = false;
    build_clobber(b, FRAME_REGS | EFFECT_FLAGS);
    kept_taken(b);
    if (has_one_stack(b))
        learn_return(b);
}

void build_m_states(struct build *b)
{
    const struct values_window *w = b->w;
    bool changes = false;
    for (size_t i = 0; i < w->event_count && !changes; i++)
        changes = w->events[i].kind == BT_EVENT_STATE;
    b->two_states = w->m_two_states || changes;
}

void build_m_lost(struct build *b)
{
    for (unsigned i = 0; i < b->nesting && i < BUILD_NESTING; i++)
        if (b->stacked[i])
            b->r->stacked[b->stacked[i] - 1].until = b->step;
    b->nesting = 0;
    b->number = 0;
    memset(b->base_lr, 0, sizeof b->base_lr);
    b->floats = b->w->m_fpu ? BUILD_FLOAT_MAYBE : BUILD_FLOAT_UNUSED;
    b->pending = 0;
    b->pending_anywhere = b->w->m_fpu;
}

/* Bits 27..24 of coprocessor space, coprocessors 10 and 11. */
static bool uses_floats(const struct values_insn *i)
{
    return i->size == 4 && (i->opcode & 0xec000e00) == 0xec000a00 &&
           (i->opcode & 0x03000000) != 0x03000000;
}

void build_m_executed(struct build *b)
{
    const struct values_insn *i = &b->w->insns[b->step];
    if (i->size == 4 && (i->opcode & 0xffe0d0ff) == (0xf3808000 | CONTROL)) {
        b->floats = BUILD_FLOAT_MAYBE;
        return;
    }
    if (!uses_floats(i))
        return;
    if (b->floats != BUILD_FLOAT_USED && b->pending_anywhere)
        build_clobber_memory(b);
    if (b->pending)
        fill_frame(b, b->pending);
    if (!b->pred) {
        b->pending = 0;
        b->pending_anywhere = false;
        b->floats = BUILD_FLOAT_USED;
    } else if (b->floats == BUILD_FLOAT_UNUSED) {
        b->floats = BUILD_FLOAT_MAYBE;
    }
}
