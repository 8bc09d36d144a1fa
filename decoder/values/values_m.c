/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exceptions of M-profile cores, and their two stacks. Which stack is in use, and whether
 * floating-point registers go to a frame, is what EXC_RETURN would say if an exception were taken
 * now: bits 3 and 2, and bit 4 (DDI 0403E.e B1.5.8). They are values as any other, so that what is
 * learnt of them later counts as well; a return sets them to those of the EXC_RETURN that it goes
 * by, wherever that was meanwhile. SP of the stack that is not in use is a value, too.
 *
 * An instruction that uses floating-point registers makes room for them in the next frame. It is
 * often filled later, by the first such instruction of a handler. */
#include "values_turns.h"

#define SP           13
#define LR           14
#define FRAME_REGS   0x500fu /* r0-r3, r12, LR */
#define KEPT_REGS    0x0ff0u /* r4-r11 */
#define STACKED_PC   24u
#define FLOAT_OFFSET 0x20u
#define FLOAT_WORDS  17u /* s0-s15, FPSCR */
#define CONTROL      20u /* special register */
#define NUMBER_MASK  0x1ffu

/* EXC_RETURN but for what it says of the interrupted code; of v8-M in Secure state. */
#define RETURN_BASE    0xffffffe1u
#define RETURN_CONTEXT 0x0cu
#define RETURN_THREAD  0x08u
#define RETURN_PROCESS 0x04u /* thread mode, on the process stack */
#define RETURN_BASIC   0x10u /* no room for floating-point registers */

/* MRS and MSR (DDI 0403E.e B5.2.2): bits 7..0 name the special register. */
#define MRS         0xf3ef8000u
#define MRS_MASK    0xffffd000u
#define MSR         0xf3808000u
#define MSR_MASK    0xffe0d000u
#define SPECIAL_MSP 8
#define SPECIAL_PSP 9

static uint32_t stack_rule(struct build *b, enum rule_op op, uint32_t x, uint32_t y, uint32_t k)
{
    uint32_t d = build_fresh(b);
    rules_add(&b->r->rules,
              &(struct values_rule){.op = (uint8_t)op, .slot = {d, x, y}, .k = k, .step = b->step});
    return d;
}

static bool known_number(const struct build *b, uint32_t value, uint32_t *number)
{
    *number = b->r->rules.values[value].number;
    return rules_known(&b->r->rules, value);
}

/* The bits of a word. */
static uint32_t masked_value(struct build *b, uint32_t word, uint32_t mask)
{
    return stack_rule(b, RULE_AND, word, build_constant(b, mask), 0);
}

/* All that is known is lost at exceptions. */
static bool loses_all(const struct build *b)
{
    return b->two_states;
}

static bool is_nonsecure(const struct build *b)
{
    return b->w->m_nonsecure || b->two_states;
}

/* Which stack. */

static uint32_t choose_value(struct build *b, enum build_is is, uint32_t condition, uint32_t yes,
                             uint32_t no)
{
    if (is != BUILD_IS_PERHAPS || yes == no)
        return is == BUILD_IS_NOT ? no : yes;
    uint32_t d = build_fresh(b);
    rules_add(
        &b->r->rules,
        &(struct values_rule){.op = RULE_SELECT, .slot = {d, condition, no, yes}, .step = b->step});
    return d;
}

/* Is it PSP? *condition: value that is 1 then. A handler has MSP. */
static enum build_is on_process(struct build *b, uint32_t *condition)
{
    uint32_t number, context = b->cur[VALUES_MODE];
    *condition = 0;
    if (b->nesting || b->w->m_one_stack)
        return BUILD_IS_NOT;
    if (known_number(b, context, &number))
        return number & RETURN_PROCESS ? BUILD_IS : BUILD_IS_NOT;
    if (b->tested != context) {
        b->tested = context;
        b->tests[0] = stack_rule(b, RULE_FIELD, context, 0, 2 | 1u << 8);
    }
    *condition = b->tests[0];
    return BUILD_IS_PERHAPS;
}

/* SP goes to where it is kept while the other one is in use. */
static void leave_stack(struct build *b)
{
    uint32_t p;
    enum build_is is = on_process(b, &p);
    build_assign(b, VALUES_MSP, choose_value(b, is, p, b->cur[VALUES_MSP], b->cur[SP]));
    build_assign(b, VALUES_PSP, choose_value(b, is, p, b->cur[SP], b->cur[VALUES_PSP]));
}

static uint32_t stack_pointer(struct build *b)
{
    uint32_t p;
    enum build_is is = on_process(b, &p);
    return choose_value(b, is, p, b->cur[VALUES_PSP], b->cur[VALUES_MSP]);
}

/* The core runs an exception return, or has said so: it is in a handler. */
static void learn_handler(struct build *b)
{
    rules_learn_at(&b->r->rules, b->cur[VALUES_MODE], 0, VALUES_EXCEPTION, b->step);
    rules_run(&b->r->rules);
}

/* An access of the core itself. `with`: value that is 1 if it is made; 0: it is. */
static void stack_word(struct build *b, enum access_kind kind, uint32_t base, uint32_t offset,
                       uint32_t data, enum values_saved saved, uint32_t with)
{
    struct values_access *a = build_access(b, kind, base, offset, data);
    if (!a)
        return;
    a->stack = true;
    a->saved = (uint8_t)saved;
    if (with)
        a->cond = with;
}

/* Floating-point registers: now, or when a handler uses some (lazily), or never. `with`: value that
 * is 1 if there is room for them; 0: there is. */
static void fill_frame(struct build *b, uint32_t base, uint32_t with)
{
    for (uint32_t i = 0; i < FLOAT_WORDS; i++) {
        struct values_access *a = build_access(b, ACCESS_KILL, base, FLOAT_OFFSET + 4 * i, 0);
        if (!a)
            return;
        a->stack = true;
        if (with)
            a->cond = with;
    }
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
static void stack_frame(struct build *b, uint32_t base, uint32_t xpsr, const struct bt_event *entry,
                        enum values_saved saved, uint32_t with)
{
    static const uint8_t order[6] = {0, 1, 2, 3, 12, 14};
    enum access_kind kind = entry ? ACCESS_STORE : ACCESS_LOAD;
    uint32_t loaded[6];
    for (unsigned i = 0; i < 6; i++) {
        loaded[i] = entry ? b->cur[order[i]] : rules_value(&b->r->rules);
        stack_word(b, kind, base, i * 4, loaded[i], saved, with);
    }
    if (!entry)
        stack_word(b, kind, base, 24, rules_value(&b->r->rules), saved, 0);
    if (entry) {
        uint32_t pc =
            entry->u.exception.has_return
                ? rules_constant(&b->r->rules, (uint32_t)entry->u.exception.return_address, b->step)
                : 0;
        stack_word(b, kind, base, 24, pc, saved, with);
    }
    stack_word(b, kind, base, 28, xpsr, saved, with);
    for (unsigned i = 0; i < 6 && !entry; i++)
        build_assign(b, order[i], loaded[i]);
}

/* Of a handler within a handler in Non-secure state it depends on what the core implements. */
static uint32_t return_base(struct build *b)
{
    if (!is_nonsecure(b))
        return build_constant(b, RETURN_BASE);
    if (b->nesting > 1)
        return build_fresh(b);
    if (!b->base_lr)
        b->base_lr = build_fresh(b);
    return b->base_lr;
}

/* LR says what was interrupted, and so what the return is to. */
static uint32_t return_value(struct build *b, uint32_t context, uint32_t basic)
{
    struct values_rules *rules = &b->r->rules;
    uint32_t lr =
        stack_rule(b, RULE_ADD, return_base(b), stack_rule(b, RULE_ADD, context, basic, 0), 0);
    uint32_t parts[2] = {context, basic}, masks[2] = {RETURN_CONTEXT, RETURN_BASIC};
    for (unsigned i = 0; i < 2; i++)
        rules_equal(rules, parts[i], masked_value(b, lr, masks[i]), b->step, VALUES_EXCEPTION);
    return lr;
}

/* SP and MSP are not PSP where the halt says so. */
static void learn_stacks(struct build *b, bool thread)
{
    struct values_rules *rules = &b->r->rules;
    const struct values_window *w = b->w;
    if (!w->final_stacks_known || !(w->final_known >> SP & 1) || b->w->m_one_stack)
        return;
    if (thread && w->final_msp != w->final_psp)
        rules_learn(rules, b->cur[VALUES_MODE],
                    RETURN_THREAD | (w->final[SP] == w->final_psp ? RETURN_PROCESS : 0),
                    VALUES_HALTED);
    leave_stack(b);
    rules_learn(rules, b->cur[VALUES_MSP], w->final_msp, VALUES_HALTED);
    rules_learn(rules, b->cur[VALUES_PSP], w->final_psp, VALUES_HALTED);
}

void build_m_halted(struct build *b, uint32_t psr)
{
    bool thread = !(psr & NUMBER_MASK);
    if (loses_all(b))
        return;
    if (!thread)
        learn_handler(b);
    else if (!b->nesting && b->w->m_one_stack)
        rules_learn(&b->r->rules, b->cur[VALUES_MODE], RETURN_THREAD, VALUES_HALTED);
    learn_stacks(b, thread);
}

static void enter_context(struct build *b)
{
    if (b->nesting < BUILD_NESTING) {
        b->outer[b->nesting].context = b->cur[VALUES_MODE];
        b->outer[b->nesting].basic = b->cur[VALUES_BASIC];
        b->outer[b->nesting].saved = SAVED;
        b->stacked[b->nesting] = 0;
    }
    if (!b->nesting)
        b->switched = 0;
    b->nesting++;
    build_assign(b, VALUES_MODE, build_constant(b, 0));
    build_assign(b, VALUES_BASIC, build_constant(b, RETURN_BASIC));
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

/* Nobody but handlers as this one may have changed what was stacked. */
static void note_saved(struct build *b, enum values_saved saved)
{
    if (!b->nesting || b->nesting > BUILD_NESTING)
        return;
    struct build_outer *o = &b->outer[b->nesting - 1];
    o->saved = saved < o->saved ? saved : o->saved;
}

/* What the innermost handler gives back has been there since it began. */
static enum values_saved saved_for(const struct build *b)
{
    bool same = b->nesting > 1 || (b->nesting == 1 && !b->switched);
    bool kept = same && b->nesting <= BUILD_NESTING && b->outer[b->nesting - 1].saved == SAVED;
    return kept ? SAVED : SAVED_FRAME;
}

/* Another stack may be in use from now on. `sp`: as it is then. */
static void note_switch(struct build *b, uint32_t to, uint32_t frame, uint32_t sp)
{
    if (b->w->m_one_stack || b->nesting)
        return;
    struct values_access *a =
        build_access(b, ACCESS_SWITCH, frame, STACKED_PC, build_constant(b, to));
    if (a)
        a->word = sp;
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

/* An exception where nothing is followed. */
static void lose_stacks(struct build *b, bool entry)
{
    b->pending_anywhere |= b->w->m_fpu;
    if (entry)
        build_clobber_memory(b);
    build_clobber(b, FRAME_REGS | 1u << SP | EFFECT_FLAGS | 1u << VALUES_MODE | 1u << VALUES_BASIC |
                         1u << VALUES_MSP | 1u << VALUES_PSP);
}

static uint32_t frame_rule(struct build *b, uint32_t frame, uint32_t sp, uint32_t xpsr,
                           uint32_t basic, uint32_t k)
{
    uint32_t number;
    if (known_number(b, basic, &number)) {
        k |= number ? 0 : RULE_STACKED_FLOAT;
        basic = 0;
    }
    rules_add(&b->r->rules, &(struct values_rule){.op = RULE_STACKED,
                                                  .slot = {frame, sp, xpsr, basic},
                                                  .k = k,
                                                  .step = b->step,
                                                  .how = VALUES_EXCEPTION});
    return k;
}

/* There may be room for floating-point registers in the frame, which are written now or later. */
static void stack_floats(struct build *b, uint32_t frame, uint32_t basic)
{
    uint32_t number;
    bool known = known_number(b, basic, &number);
    if (known && number)
        return;
    uint32_t with = known ? 0 : stack_rule(b, RULE_COND, stack_rule(b, RULE_NZ, basic, 0, 0), 0, 0);
    b->pending_anywhere |= with && b->pending;
    fill_frame(b, frame, with);
    b->pending = frame;
    b->pending_with = with;
}

/* Exceptions that stacking may be the reason of. */
#define HARD_FAULT  3
#define MEM_MANAGE  4
#define BUS_FAULT   5
#define USAGE_FAULT 6

/*
 * A fault may be that of a frame that found no room: memory was protected, or the stack of a v8-M
 * core at its limit, where SP is then (DDI 0553B.v, PushStack()). Nothing is known to be stacked
 * before the return address is found in its place. Value that is 1 if it is; 0: no doubt.
 */
static uint32_t check_frame(struct build *b, const struct bt_event *event, uint32_t *frame,
                            uint32_t *pc)
{
    const struct bt_exception *x = &event->u.exception;
    unsigned number = x->number & NUMBER_MASK;
    bool limit = !b->w->m_bit_band && (number == HARD_FAULT || number == USAGE_FAULT);
    if (number != HARD_FAULT && number != MEM_MANAGE && number != BUS_FAULT && !limit)
        return 0;
    uint32_t there = build_fresh(b);
    *pc = build_fresh(b);
    if (x->has_return) {
        uint32_t apart = stack_rule(b, RULE_XOR, *pc, 0, (uint32_t)x->return_address);
        there = stack_rule(b, RULE_COND, stack_rule(b, RULE_NZ, apart, 0, 0), 0, 0);
    }
    if (limit)
        *frame = choose_value(b, BUILD_IS_PERHAPS, there, *frame, build_fresh(b));
    for (uint32_t offset = 0; offset < 32; offset += 4)
        stack_word(b, ACCESS_KILL, *frame, offset, 0, SAVED_NOT, 0);
    return there;
}

void build_m_entry(struct build *b, const struct bt_event *event)
{
    uint32_t context = b->cur[VALUES_MODE], basic = b->cur[VALUES_BASIC], sp = b->cur[SP];
    uint16_t number = b->number;
    b->number = event->u.exception.number & NUMBER_MASK;
    kept_taken(b);
    if (loses_all(b)) {
        enter_context(b);
        lose_stacks(b, true);
        return;
    }
    uint32_t frame = build_fresh(b), xpsr = build_fresh(b);
    frame_rule(b, frame, sp, xpsr, basic, RULE_STACKED_ENTRY);
    enum values_saved saved = stacked_by(event);
    uint32_t pc = 0, with = check_frame(b, event, &frame, &pc);
    stack_frame(b, frame, xpsr, event, saved, with);
    if (with)
        stack_word(b, ACCESS_LOAD, frame, STACKED_PC, pc, SAVED_NOT, 0);
    if (event->u.exception.has_return)
        turns_interrupted(
            b, &(struct values_turn){.address = (uint32_t)event->u.exception.return_address,
                                     .frame = frame,
                                     .sp = sp,
                                     .status = xpsr,
                                     .basic = basic,
                                     .context = context,
                                     .lr = b->cur[LR],
                                     .written = saved == SAVED_NOT});
    stack_floats(b, frame, basic);
    build_assign(b, SP, frame);
    leave_stack(b);
    enter_context(b);
    if (!with)
        note_frame(b, frame, sp, number);
    note_saved(b, saved);
    build_clobber(b, FRAME_REGS | EFFECT_FLAGS);
    build_assign(b, SP, b->cur[VALUES_MSP]);
    build_assign(b, LR, return_value(b, context, basic));
}

/* A handler was interrupted, which nobody takes the core away from: the window has begun in it. */
static bool returns_as_entered(const struct build *b)
{
    return b->nesting < BUILD_NESTING && (b->nesting || b->w->m_one_stack);
}

/* What the return is to: as it was interrupted, or as the EXC_RETURN says that it goes by. */
static void return_to_context(struct build *b, bool entered)
{
    uint32_t back = b->target ? b->target : build_fresh(b);
    if (entered && returns_as_entered(b)) {
        build_assign(b, VALUES_MODE, b->outer[b->nesting].context);
        build_assign(b, VALUES_BASIC, b->outer[b->nesting].basic);
        return;
    }
    uint32_t context = build_fresh(b);
    uint32_t basic = b->w->m_fpu ? build_fresh(b) : build_constant(b, RETURN_BASIC);
    rules_equal(&b->r->rules, back, return_value(b, context, basic), b->step, VALUES_EXCEPTION);
    rules_run(&b->r->rules);
    build_assign(b, VALUES_MODE, context);
    build_assign(b, VALUES_BASIC, basic);
}

void build_m_return(struct build *b, uint32_t address)
{
    uint32_t number;
    bool entered = b->nesting;
    enum values_saved saved = saved_for(b);
    kept_taken(b);
    if (!loses_all(b)) {
        learn_handler(b);
        build_assign(b, VALUES_MSP, b->cur[SP]);
    }
    if (entered) {
        b->nesting--;
        leave_frame(b);
    } else {
        b->base_lr = 0;
    }
    if (loses_all(b)) {
        uint32_t before = b->cur[SP];
        lose_stacks(b, false);
        build_access(b, ACCESS_RAISE, b->cur[SP], 0, before);
        return;
    }
    return_to_context(b, entered);
    uint32_t frame = stack_pointer(b), sp = build_fresh(b), xpsr = build_fresh(b);
    uint32_t basic = b->cur[VALUES_BASIC];
    frame_rule(b, frame, sp, xpsr, basic, 0);
    note_switch(b, address, frame, sp);
    stack_frame(b, frame, xpsr, NULL, saved, 0);
    turns_returned(b, &(struct values_turn){.address = address,
                                            .frame = frame,
                                            .sp = sp,
                                            .status = xpsr,
                                            .basic = basic,
                                            .context = b->cur[VALUES_MODE],
                                            .lr = b->cur[LR]});
    if (known_number(b, basic, &number) && !number)
        b->pending = 0;
    build_clobber(b, EFFECT_FLAGS);
    build_assign(b, SP, sp);
    leave_stack(b);
}

/* What an interrupt has stacked may be written from now on: by a service, chained to it. */
static void expose_frame(struct build *b)
{
    const uint32_t stacks[] = {b->cur[SP], b->cur[VALUES_PSP]};
    for (unsigned i = 0; i < (b->w->m_one_stack ? 1 : 2); i++)
        build_access(b, ACCESS_RAISE, stack_rule(b, RULE_ADD, stacks[i], 0, FLOAT_OFFSET), 0,
                     stacks[i]);
}

void build_m_chained(struct build *b, const struct bt_event *event)
{
    uint32_t back = b->target;
    bool service = stacked_by(event) == SAVED_NOT;
    note_saved(b, stacked_by(event));
    if (service) {
        build_give_back_less(b);
        turns_served(b);
    }
    b->number = event->u.exception.number & NUMBER_MASK;
    b->it = 0;
    b->jumped = BUILD_JUMP_NOT;
    build_clobber(b, FRAME_REGS | EFFECT_FLAGS);
    kept_taken(b);
    if (loses_all(b))
        return;
    if (service)
        expose_frame(b);
    learn_handler(b);
    build_assign(b, VALUES_MODE, build_constant(b, 0));
    build_assign(b, VALUES_BASIC, build_constant(b, RETURN_BASIC));
    if (b->nesting && b->nesting <= BUILD_NESTING) {
        b->nesting--;
        bool same = returns_as_entered(b);
        const struct build_outer *o = &b->outer[b->nesting++];
        if (same)
            back = return_value(b, o->context, o->basic);
    }
    if (back)
        build_assign(b, LR, back);
}

void build_m_states(struct build *b)
{
    const struct values_window *w = b->w;
    bool changes = false;
    for (size_t i = 0; i < w->event_count && !changes; i++)
        changes = w->events[i].kind == BT_EVENT_STATE;
    b->two_states = w->m_two_states || changes;
}

void build_m_unsure(struct build *b)
{
    kept_taken(b);
    build_m_lost(b);
    lose_stacks(b, true);
}

/* Nobody sees a handler that was chained and interrupted before its first instruction. */
void build_m_perhaps_chained(struct build *b, uint32_t address)
{
    const uint32_t regs = FRAME_REGS | EFFECT_FLAGS;
    uint32_t context, same = build_fresh(b);
    bool thread = !b->nesting && known_number(b, b->cur[VALUES_MODE], &context) && context;
    if (thread || loses_all(b))
        return;
    if (b->target) { /* the branch went to `address` */
        uint32_t to = masked_value(b, b->target, ~1u);
        uint32_t apart = stack_rule(b, RULE_XOR, to, 0, address);
        same = stack_rule(b, RULE_COND, stack_rule(b, RULE_NZ, apart, 0, 0), 0, 0);
    }
    for (unsigned reg = 0; reg < VALUES_STATE_REGS; reg++)
        if (regs >> reg & 1)
            build_assign(b, reg,
                         choose_value(b, BUILD_IS_PERHAPS, same, b->cur[reg], build_fresh(b)));
    build_assign(b, VALUES_BASIC,
                 choose_value(b, BUILD_IS_PERHAPS, same, b->cur[VALUES_BASIC],
                              build_constant(b, RETURN_BASIC)));
}

void build_m_lost(struct build *b)
{
    uint32_t pred = b->pred;
    b->pred = 0; /* whether or not */
    for (unsigned i = 0; i < b->nesting && i < BUILD_NESTING; i++)
        if (b->stacked[i])
            b->r->stacked[b->stacked[i] - 1].until = b->step;
    turns_unsure(b, true);
    b->nesting = 0;
    b->number = 0;
    b->base_lr = 0;
    b->pending = 0;
    b->pending_anywhere = b->w->m_fpu;
    b->target = 0;
    build_clobber(b, 1u << VALUES_MODE | 1u << VALUES_MSP | 1u << VALUES_PSP | 1u << VALUES_BASIC);
    if (!b->w->m_fpu)
        build_assign(b, VALUES_BASIC, build_constant(b, RETURN_BASIC));
    b->pred = pred;
}

/* Special registers that are stack pointers, or choose them. Code without privileges cannot write
 * them, and reads 0; handlers can. */

static bool is_handler(const struct build *b)
{
    uint32_t number;
    return b->nesting || (known_number(b, b->cur[VALUES_MODE], &number) && !number);
}

static void write_control(struct build *b)
{
    uint32_t kept = b->cur[SP];
    leave_stack(b);
    build_clobber(b, 1u << VALUES_MODE | (b->w->m_fpu ? 1u << VALUES_BASIC : 0));
    kept = is_handler(b) ? kept : stack_pointer(b);
    if (kept != b->cur[SP])
        build_assign(b, SP, kept);
}

static void write_stack(struct build *b, unsigned which, unsigned reg)
{
    uint32_t p, value = is_handler(b) ? build_aligned(b, SP, b->cur[reg]) : build_fresh(b);
    enum build_is is = on_process(b, &p);
    bool process = which == SPECIAL_PSP;
    b->switched++;
    build_assign(b, process ? VALUES_PSP : VALUES_MSP, value);
    if (is == BUILD_IS_PERHAPS)
        value = build_fresh(b);
    if (is == BUILD_IS_PERHAPS || (is == BUILD_IS) == process)
        build_assign(b, SP, value);
}

void build_m_decoded(uint32_t op, struct insn_effect *e)
{
    unsigned which = op & 0xff;
    if ((op & MSR_MASK) != MSR)
        return;
    e->clobber_memory = false;
    e->clobber = which < 4 ? EFFECT_FLAGS : which >= 16 && which < 20 ? 0 : 1u << SP;
}

bool build_m_special(struct build *b)
{
    const struct values_insn *i = &b->w->insns[b->step];
    unsigned which = i->opcode & 0xff;
    bool stack = which == SPECIAL_MSP || which == SPECIAL_PSP;
    if (i->size != 4 || loses_all(b))
        return false;
    if ((i->opcode & MRS_MASK) == MRS && stack && is_handler(b)) {
        build_assign(b, i->opcode >> 8 & 15, b->cur[which == SPECIAL_PSP ? VALUES_PSP : SP]);
        return true;
    }
    if ((i->opcode & MSR_MASK) != MSR || (!stack && which != CONTROL))
        return false;
    if (stack)
        write_stack(b, which, i->opcode >> 16 & 15);
    else
        write_control(b);
    return true;
}

/* Bits 27..24 of coprocessor space, coprocessors 10 and 11. */
static bool uses_floats(const struct values_insn *i)
{
    return i->size == 4 && (i->opcode & 0xec000e00) == 0xec000a00 &&
           (i->opcode & 0x03000000) != 0x03000000;
}

void build_m_executed(struct build *b)
{
    if (uses_floats(&b->w->insns[b->step]))
        build_m_floats_used(b, true);
}

void build_m_floats_used(struct build *b, bool certain)
{
    uint32_t number;
    if (!b->w->m_fpu)
        return;
    bool used = known_number(b, b->cur[VALUES_BASIC], &number) && !number;
    if (!used && b->pending_anywhere)
        build_clobber_memory(b);
    if (b->pending)
        fill_frame(b, b->pending, b->pred ? 0 : b->pending_with);
    if (!used && !certain && !b->w->m_float_manual)
        build_clobber(b, 1u << VALUES_BASIC);
    if (!certain)
        return;
    if (!b->pred) {
        b->pending = 0;
        b->pending_anywhere = false;
    }
    if (!b->w->m_float_manual)
        build_assign(b, VALUES_BASIC, build_constant(b, 0));
}
