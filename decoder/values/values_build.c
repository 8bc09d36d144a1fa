/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk along the window: each instruction without its condition, and the exceptions, gaps and
 * calls between them. */
#include "values_build.h"

#include <stdlib.h>
#include <string.h>

#define SAVED_REGS   0x4ff0u /* r4-r11, LR: pushed to be given back */
#define NUMBER_RESET 8

#define KEPT_BY_SERVICE (0x6ff0u | 1u << VALUES_MODE)
#define KEPT_BY_HANDLER (0x7fffu | EFFECT_FLAGS | 1u << VALUES_MODE | 1u << VALUES_BASIC)
#define INSN_UNITS      4 /* of a budget */

static uint32_t make_value(struct build *b, enum rule_op op, uint32_t a, uint32_t x, uint32_t c,
                           uint32_t k)
{
    uint32_t d = rules_value(&b->r->rules);
    rules_add(&b->r->rules, &(struct values_rule){
                                .op = (uint8_t)op, .slot = {d, a, x, c}, .k = k, .step = b->step});
    return d;
}

static uint32_t inverted_value(struct build *b, uint32_t value)
{
    return make_value(b, RULE_XOR, value, 0, 0, UINT32_MAX);
}

/* rm, shifted. */
static uint32_t shifted_value(struct build *b, const struct insn_effect *e)
{
    uint32_t v = build_read(b, e->rm, false);
    if (e->rs != EFFECT_NO_REG)
        return make_value(b, RULE_SHIFT, v, build_read(b, e->rs, false), b->cur[EFFECT_C],
                          e->shift);
    if (!e->amount)
        return v;
    return make_value(b, RULE_SHIFT, v, 0, e->shift == EFFECT_RRX ? b->cur[EFFECT_C] : 0,
                      e->shift | (uint32_t)e->amount << 8);
}

static uint32_t shifter_carry(struct build *b, const struct insn_effect *e)
{
    if (e->carry == EFFECT_C_0 || e->carry == EFFECT_C_1)
        return build_constant(b, e->carry == EFFECT_C_1);
    if (e->carry == EFFECT_C_KEEP || e->rm == EFFECT_NO_REG)
        return b->cur[EFFECT_C];
    uint32_t v = build_read(b, e->rm, false);
    if (e->rs != EFFECT_NO_REG)
        return make_value(b, RULE_SHIFT_C, v, build_read(b, e->rs, false), b->cur[EFFECT_C],
                          e->shift);
    return make_value(b, RULE_SHIFT_C, v, 0, e->shift == EFFECT_RRX ? b->cur[EFFECT_C] : 0,
                      e->shift | (uint32_t)e->amount << 8);
}

static uint32_t operand2(struct build *b, const struct insn_effect *e)
{
    return e->rm == EFFECT_NO_REG ? build_constant(b, e->imm) : shifted_value(b, e);
}

/* Additions and subtractions: *c and *v are the flags if they are wanted. */
static uint32_t sum_value(struct build *b, const struct insn_effect *e, uint32_t *c, uint32_t *v)
{
    uint32_t a = build_read(b, e->rn, false), x = operand2(b, e), d, carry = 0, k = 1;
    bool minus = e->op == EFFECT_SUB || e->op == EFFECT_SBC;
    bool reverse = e->op == EFFECT_RSB || e->op == EFFECT_RSC;
    bool with_carry = e->op == EFFECT_ADC || e->op == EFFECT_SBC || e->op == EFFECT_RSC;
    uint32_t left = a, right = x;
    if ((minus || reverse) && (e->set_flags || with_carry)) {
        left = reverse ? x : a;
        right = inverted_value(b, reverse ? a : x);
    }
    if (with_carry) {
        carry = b->cur[EFFECT_C];
        d = make_value(b, RULE_ADC, left, right, carry, 0);
    } else if (minus || reverse) {
        d = reverse ? make_value(b, RULE_SUB, x, a, 0, 0) : make_value(b, RULE_SUB, a, x, 0, 0);
    } else {
        d = make_value(b, RULE_ADD, a, x, 0, 0);
        k = 0;
    }
    if (e->set_flags) {
        *c = make_value(b, RULE_ADD_C, left, right, carry, k);
        *v = make_value(b, RULE_ADD_V, left, right, carry, k);
    }
    return d;
}

static uint32_t logical_value(struct build *b, const struct insn_effect *e)
{
    uint32_t x = operand2(b, e);
    uint32_t a = e->rn == EFFECT_NO_REG ? 0 : build_read(b, e->rn, false);
    static const uint8_t rules[] = {[EFFECT_AND] = RULE_AND,
                                    [EFFECT_ORR] = RULE_ORR,
                                    [EFFECT_BIC] = RULE_BIC,
                                    [EFFECT_ORN] = RULE_ORN,
                                    [EFFECT_EOR] = RULE_XOR};
    if (e->op == EFFECT_MVN)
        return inverted_value(b, x);
    if (e->op >= sizeof rules || !rules[e->op])
        return x;
    return make_value(b, (enum rule_op)rules[e->op], a, x, 0, 0);
}

static uint32_t multiplied_value(struct build *b, const struct insn_effect *e)
{
    uint32_t product =
        make_value(b, RULE_MUL, build_read(b, e->rn, false), build_read(b, e->rm, false), 0, 0);
    if (e->op == EFFECT_MUL)
        return product;
    return make_value(b, e->op == EFFECT_MLA ? RULE_ADD : RULE_SUB, build_read(b, e->ra, false),
                      product, 0, 0);
}

static uint32_t field_value(struct build *b, const struct insn_effect *e)
{
    uint32_t v = e->rn == EFFECT_NO_REG ? build_constant(b, 0) : build_read(b, e->rn, false);
    if (e->op == EFFECT_MOVT)
        return make_value(b, RULE_INSERT, b->cur[e->rd], build_constant(b, e->imm), 0,
                          16 | 16 << 8);
    if (e->op == EFFECT_INSERT)
        return make_value(b, RULE_INSERT, b->cur[e->rd], v, 0, e->imm);
    if (e->amount)
        v = make_value(b, RULE_SHIFT, v, 0, 0, EFFECT_ROR | (uint32_t)e->amount << 8);
    return make_value(b, RULE_FIELD, v, 0, 0, e->imm);
}

static uint32_t alu_value(struct build *b, const struct insn_effect *e, uint32_t *c, uint32_t *v)
{
    switch (e->op) {
    case EFFECT_SUB:
    case EFFECT_RSB:
    case EFFECT_ADD:
    case EFFECT_ADC:
    case EFFECT_SBC:
    case EFFECT_RSC:
        return sum_value(b, e, c, v);
    case EFFECT_MUL:
    case EFFECT_MLA:
    case EFFECT_MLS:
        return multiplied_value(b, e);
    case EFFECT_UDIV:
    case EFFECT_SDIV:
        return make_value(b, e->op == EFFECT_UDIV ? RULE_UDIV : RULE_SDIV,
                          build_read(b, e->rn, false), build_read(b, e->rm, false), 0, 0);
    case EFFECT_FIELD:
    case EFFECT_INSERT:
    case EFFECT_MOVT:
        return field_value(b, e);
    case EFFECT_CLZ:
    case EFFECT_REV:
    case EFFECT_REV16:
    case EFFECT_REVSH:
    case EFFECT_RBIT:
        return make_value(b, (enum rule_op)(RULE_CLZ + (e->op - EFFECT_CLZ)),
                          build_read(b, e->rn, false), 0, 0, 0);
    default:
        if (e->set_flags)
            *c = shifter_carry(b, e);
        return logical_value(b, e);
    }
}

static void execute_multiply_long(struct build *b, const struct insn_effect *e)
{
    uint32_t x = build_read(b, e->rn, false), y = build_read(b, e->rm, false);
    uint32_t low = make_value(b, RULE_MUL, x, y, 0, 0);
    uint32_t high = make_value(b, e->op == EFFECT_UMULL ? RULE_UMULH : RULE_SMULH, x, y, 0, 0);
    if (e->ra < 15)
        build_assign(b, e->ra, low);
    if (e->rd < 15)
        build_assign(b, e->rd, high);
}

static void execute_arithmetic(struct build *b, const struct insn_effect *e)
{
    uint32_t c = 0, v = 0;
    uint32_t d = alu_value(b, e, &c, &v);
    uint32_t nz = e->set_flags ? make_value(b, RULE_NZ, d, 0, 0, 0) : 0;
    bool step = e->rn == 13 && e->rm == EFFECT_NO_REG && !(e->imm & 3);
    if (e->rd < 15)
        build_assign(b, e->rd, step ? d : build_aligned(b, e->rd, d));
    bool results = !b->pred || b->cur[EFFECT_NZ] == b->result_nz;
    if (nz)
        build_assign(b, EFFECT_NZ, nz);
    if (nz && results)
        b->result_nz = b->cur[EFFECT_NZ];
    if (c)
        build_assign(b, EFFECT_C, c);
    if (v)
        build_assign(b, EFFECT_V, v);
}

/* One loaded or stored register; values go to the registers when all have been read. */
static void transfer_register(struct build *b, const struct insn_effect *e, unsigned reg,
                              uint32_t base, uint32_t offset, uint32_t *loaded)
{
    uint32_t target, data = 0;
    if (e->load) {
        data = rules_value(&b->r->rules);
        *loaded = data;
        b->target = reg == 15 ? data : b->target;
        if (reg == 15 && e->width == 4 && !b->w->v4t && build_target(b, &target))
            rules_learn_at(&b->r->rules, data, target, VALUES_BRANCH, b->step);
    } else if (reg < 15) {
        data = b->cur[reg];
        /* A base that is written back is stored as it was only when it is the lowest. */
        if (reg == e->rn && e->writeback && (!e->list || e->list & ((1u << reg) - 1)))
            data = 0;
    }
    struct values_access *a = build_access(b,
                                           e->load        ? ACCESS_LOAD
                                           : e->exclusive ? ACCESS_KILL
                                                          : ACCESS_STORE,
                                           base, offset, data);
    if (!a)
        return;
    a->width = e->width;
    a->sign = e->sign;
    a->stack = e->rn == 13;
    bool back = (a->stack && (e->writeback || e->list)) || e->list >> 15;
    unsigned bit = reg < 16 ? 1u << reg : 0;
    unsigned kept = build_a_may_change(b) ? 0 : SAVED_REGS, pc = kept ? 1u << 15 : 0;
    if (e->load)
        a->saved = !back ? SAVED_NOT : bit & (kept | pc) ? SAVED : SAVED_FRAME;
    else
        a->saved = a->stack && e->writeback && bit & kept ? SAVED : SAVED_NOT;
}

/* What floating-point registers hold is never known: a load of one is an access, and no more. */
static void transfer_float(struct build *b, const struct insn_effect *e, uint32_t base,
                           uint32_t offset)
{
    struct values_access *a =
        e->load ? build_access(b, ACCESS_LOAD, base, offset, 0)
                : build_access(b, ACCESS_STORE, base, offset, rules_value(&b->r->rules));
    if (a)
        a->stack = e->rn == 13;
}

static void execute_memory(struct build *b, const struct insn_effect *e)
{
    uint32_t loaded[16] = {0};
    uint32_t base = build_read(b, e->rn, e->align_pc), moved = base;
    uint32_t list = e->list, at = (uint32_t)e->start;
    if (e->rm != EFFECT_NO_REG)
        moved = make_value(b, e->subtract ? RULE_SUB : RULE_ADD, base, shifted_value(b, e), 0, 0);
    else if (e->writeback && e->delta)
        moved = make_value(b, RULE_ADD, base, 0, 0, (uint32_t)e->delta);
    if (e->words) {
        for (unsigned i = 0; i < e->words; i++)
            transfer_float(b, e, base, at + 4 * i);
    } else if (list) {
        for (unsigned reg = 0; reg < 16; reg++) {
            if (!(list >> reg & 1))
                continue;
            transfer_register(b, e, reg, base, at, &loaded[reg]);
            at += 4;
        }
    } else {
        bool moves = e->rm != EFFECT_NO_REG;
        uint32_t from = e->index && moves ? moved : base;
        uint32_t offset = e->index && !moves ? (uint32_t)e->delta : 0;
        transfer_register(b, e, e->rt, from, offset, &loaded[e->rt & 15]);
        if (e->rt2 != EFFECT_NO_REG)
            transfer_register(b, e, e->rt2, from, offset + 4, &loaded[e->rt2 & 15]);
    }
    if (e->writeback && e->rn < 15)
        build_assign(b, e->rn, moved);
    for (unsigned reg = 0; reg < 15; reg++)
        if (loaded[reg])
            build_assign(b, reg, build_aligned(b, reg, loaded[reg]));
}

static void execute_branch(struct build *b, const struct insn_effect *e)
{
    uint32_t target;
    const struct values_insn *i = &b->w->insns[b->step];
    bool indirect = e->rn != EFFECT_NO_REG && !e->zero && e->rn < 15;
    b->target = indirect ? b->cur[e->rn] : 0;
    if (indirect && build_target(b, &target))
        rules_learn_at(&b->r->rules, b->cur[e->rn], target, VALUES_BRANCH, b->step);
    if (!e->link)
        return;
    uint32_t back = i->address + i->size;
    uint32_t kept = BUILD_KEPT_BY_CALL | (b->w->a_banks ? 1u << VALUES_MODE : 0);
    build_push_frame(b, back, kept, false);
    build_assign(b, 14, build_constant(b, i->isa == BT_ISA_T32 ? back | 1 : back));
}

/* A change of translation counts. */
static void build_settle(struct build *b)
{
    if (b->changing == EFFECT_CONTEXT_CHANGES) {
        b->changing = EFFECT_CONTEXT_SAME;
        build_clobber_memory(b);
    }
}

static void build_context(struct build *b, const struct insn_effect *e)
{
    if (e->context == EFFECT_CONTEXT_CHANGES || e->context == EFFECT_CONTEXT_CHANGES_TLB)
        b->changing = b->changing > e->context ? b->changing : e->context;
    else if (e->context == EFFECT_CONTEXT_DSB && b->changing)
        b->changing = EFFECT_CONTEXT_CHANGES;
    else if (e->context == EFFECT_CONTEXT_ISB)
        build_settle(b);
    else if (b->changing && (e->kind == EFFECT_MEMORY || e->kind == EFFECT_SYSTEM))
        build_clobber_memory(b);
}

static void build_execute(struct build *b, const struct insn_effect *e)
{
    if (b->canceled) {
        build_canceled(b, e);
        return;
    }
    if (e->kind == EFFECT_SYSTEM) {
        build_a_system(b, e);
        return;
    }
    if (e->kind == EFFECT_OTHER && b->w->m_profile && build_m_special(b))
        return;
    if (e->kind == EFFECT_ALU && (e->op == EFFECT_UMULL || e->op == EFFECT_SMULL))
        execute_multiply_long(b, e);
    else if (e->kind == EFFECT_ALU)
        execute_arithmetic(b, e);
    else if (e->kind == EFFECT_MEMORY)
        execute_memory(b, e);
    else if (e->kind == EFFECT_BRANCH)
        execute_branch(b, e);
    if (e->clobber_memory)
        build_clobber_memory(b);
    build_clobber(b, e->clobber);
}

static bool build_is_halt(const struct build *b, const struct bt_event *event)
{
    return values_is_halt(event) && event->position == b->w->first + b->r->count;
}

static void path_lost(struct build *b)
{
    build_clobber_memory(b);
    build_clobber(b, EFFECT_ALL_REGS);
    build_other_stack(b, false);
    build_m_lost(b);
    build_a_lost(b);
    b->jumped = BUILD_JUMP_NOT;
    b->returned = false;
    b->it = BUILD_IT_UNKNOWN;
    b->it_left = 4;
}

static void enter_exception(struct build *b, const struct bt_event *event)
{
    const struct bt_exception *x = &event->u.exception;
    if (b->w->m_profile && !x->has_return && b->jumped) {
        build_m_chained(b, event);
        return;
    }
    /* In Debug state anything may be written. */
    if (x->number == BUILD_NUMBER_DEBUG || (x->number == NUMBER_RESET && !b->w->m_profile)) {
        path_lost(b);
        b->it = 0;
        return;
    }
    if (x->has_return) {
        if (b->jumped && b->w->m_profile)
            build_m_perhaps_chained(b, (uint32_t)x->return_address);
        if (b->jumped)
            build_pair(b, (uint32_t)x->return_address, false);
        if (b->returned)
            build_pair(b, (uint32_t)x->return_address, true);
        build_abandoned(b, x);
        /* A service may give something back. For an interrupt nobody waits, so it changes nothing;
         * of the M profile, if it goes to somebody else, that is another stack: values_stack.c. */
        bool service = !b->w->m_profile && x->number == BUILD_NUMBER_SVC;
        uint32_t kept = service ? KEPT_BY_SERVICE : KEPT_BY_HANDLER;
        if (b->w->m_profile && x->number < BUILD_NUMBER_PENDSV && x->number != BUILD_NUMBER_NMI)
            kept = BUILD_KEPT_BY_CALL;
        bool behind = build_a_goes_behind(b, x);
        if (behind)
            kept = 1u << VALUES_MODE | 1u << 13;
        build_push_frame(b, (uint32_t)x->return_address, kept, true);
        if (b->w->a_banks && b->frame_count)
            b->frames[b->frame_count - 1].number = x->number & 0xff;
        if (b->w->a_banks)
            build_a_overwrites(b, event);
        if (behind) /* where in the block it goes on the handler says */
            b->it = BUILD_IT_UNKNOWN;
        build_save_it(b, (uint32_t)x->return_address);
    } else {
        b->frame_count = 0;
    }
    b->it = 0;
    b->jumped = BUILD_JUMP_NOT;
    b->returned = false;
    b->on_stack = 1u << 13;
    if (b->w->m_profile)
        build_m_entry(b, event);
    else if (b->w->a_banks)
        build_a_entry(b, event);
    else
        build_clobber(b, x->number == BUILD_NUMBER_IRQ || x->number == BUILD_NUMBER_SVC
                             ? 0x6000
                             : EFFECT_BANKED);
}

/* Does an event at this position say that the security state is another one? */
static bool state_changes(const struct build *b)
{
    const struct values_window *w = b->w;
    for (size_t i = b->event; i < w->event_count; i++) {
        if (w->events[i].position != w->first + b->step || w->events[i].kind == BT_EVENT_EXCEPTION)
            break;
        if (w->events[i].kind == BT_EVENT_STATE)
            return true;
    }
    return false;
}

/* A handler has returned to `address`. */
static void pair_return(struct build *b, uint32_t address)
{
    build_pair(b, address, true);
    build_restore_it(b, address);
}

static void return_from_exception(struct build *b)
{
    const struct values_window *w = b->w;
    if (w->a_banks && b->returned)
        return; /* the instruction was one */
    uint32_t address = b->step < b->r->count ? w->insns[b->step].address : w->final[15];
    size_t at = b->event;
    while (at < w->event_count && w->events[at].kind == BT_EVENT_STATE)
        at++;
    const struct bt_event *next = at < w->event_count ? &w->events[at] : NULL;
    bool at_once = next && next->position == w->first + b->step && next->kind == BT_EVENT_EXCEPTION;
    if (at_once) /* straight into the next handler: it has the address */
        address = (uint32_t)next->u.exception.return_address;
    /* It has taken over the frame: nothing was given back, and nothing saved. */
    if (w->m_profile && at_once && !next->u.exception.has_return) {
        b->jumped = BUILD_JUMP;
        return;
    }
    if (w->m_profile && at_once && !w->m_one_stack && !build_is_innermost(b, address))
        build_m_unsure(b);
    else if (w->m_profile)
        build_m_return(b, address);
    else
        build_clobber(b, EFFECT_BANKED | EFFECT_FLAGS);
    if (w->a_banks)
        build_a_lost(b);
    b->jumped = BUILD_JUMP_NOT;
    b->returned = false;
    b->on_stack = 1u << 13;
    b->back_to = address;
    b->back = w->m_profile && state_changes(b);
    if (!b->back)
        pair_return(b, address);
}

/* What ran before is another state's, with stacks of its own; r4-r11 may have been taken away. */
static void change_state(struct build *b)
{
    build_clobber_memory(b);
    build_clobber(b, EFFECT_ALL_REGS);
    build_a_lost(b);
    if (b->w->m_profile)
        build_m_lost(b);
    if (b->back)
        pair_return(b, b->back_to);
    b->back = false;
}

static void build_events(struct build *b)
{
    const struct values_window *w = b->w;
    b->pred = 0;
    while (b->event < w->event_count && w->events[b->event].position <= w->first + b->step) {
        const struct bt_event *event = &w->events[b->event++];
        if (event->position < w->first + b->step || build_is_halt(b, event))
            continue;
        b->from = b->step;
        b->r->stacks_from = b->from;
        switch (event->kind) {
        case BT_EVENT_GAP:
        case BT_EVENT_TRACE_ON:
            path_lost(b);
            break;
        case BT_EVENT_EXCEPTION:
            build_settle(b);
            enter_exception(b, event);
            break;
        case BT_EVENT_EXCEPTION_RET:
            build_settle(b);
            return_from_exception(b);
            break;
        case BT_EVENT_CONTEXT:
        case BT_EVENT_VMID:
            build_clobber_memory(b);
            break;
        case BT_EVENT_STATE:
            change_state(b);
            break;
        default:
            break;
        }
        rules_run(&b->r->rules);
    }
}

/* Is it a return from an exception, of a core where such is an instruction as others? */
static bool is_exception_return(const struct insn_effect *e)
{
    return e->kind == EFFECT_SYSTEM &&
           (e->system == EFFECT_RETURN_MEMORY || e->system == EFFECT_RETURN_MOVE ||
            e->system == EFFECT_RETURN_LOAD);
}

/* Events that say something else than where the path goes. */
static bool is_passive(const struct build *b, const struct bt_event *e)
{
    if (e->kind == BT_EVENT_EXCEPTION_RET)
        return b->w->a_banks; /* the instruction says it */
    return e->kind == BT_EVENT_DATA || e->kind == BT_EVENT_CYCLES || e->kind == BT_EVENT_COUNT ||
           e->kind == BT_EVENT_SOFTWARE || e->kind == BT_EVENT_TIMESTAMP ||
           e->kind == BT_EVENT_TRIGGER || e->kind == BT_EVENT_WARNING ||
           e->kind == BT_EVENT_CONTEXT || e->kind == BT_EVENT_TRANSACTION;
}

/* The first event that stands right behind the instruction and is not passive. */
static const struct bt_event *event_behind(const struct build *b)
{
    for (size_t i = b->event; i < b->w->event_count; i++) {
        const struct bt_event *e = &b->w->events[i];
        if (e->position > b->w->first + b->step + 1)
            break;
        if (!is_passive(b, e) && !build_is_halt(b, e))
            return e;
    }
    return NULL;
}

/* What follows on the instruction; events do, if there are any. */
static void look_ahead(struct build *b)
{
    const struct values_window *w = b->w;
    const struct values_insn *i = &w->insns[b->step];
    bool last = b->step + 1 == b->r->count;
    b->behind = event_behind(b);
    b->next.address = last ? w->final[15] : i[1].address;
    b->next.isa = last ? w->final_isa : i[1].isa;
    b->next.known = !b->behind && (!last || w->final_known >> 15 & 1);
    b->next.leaves =
        b->next.known && (b->next.address != i->address + i->size || b->next.isa != i->isa);
}

static bool writes_pc(const struct insn_effect *e)
{
    return e->kind == EFFECT_BRANCH || is_exception_return(e) ||
           (e->kind == EFFECT_ALU && e->rd == 15) ||
           (e->kind == EFFECT_MEMORY && e->load && (e->list >> 15 || e->rt == 15));
}

/* By a condition: NZ is bit 0, C bit 1, V bit 2. */
static unsigned flags_tested(unsigned cond)
{
    static const uint8_t tested[8] = {1, 2, 1, 4, 3, 5, 5, 0};
    return tested[cond >> 1 & 7];
}

/* Sets b->pred; false: the instruction is known not to do anything. `blind`: nobody knows whether
 * it is conditional. */
static bool check_condition(struct build *b, const struct insn_effect *e, bool blind)
{
    struct values_rules *rules = &b->r->rules;
    unsigned cond = b->w->insns[b->step].cond;
    b->pred = 0;
    if (e->cond >= EFFECT_ALWAYS && !blind)
        return true;
    uint32_t nz = b->cur[EFFECT_NZ], p = rules_value(rules);
    uint32_t any = nz == b->result_nz || e->zero ? 0 : RULE_ANY_FLAGS;
    if (e->zero && !blind) {
        nz = rules_value(rules);
        rules_add(rules, &(struct values_rule){
                             .op = RULE_NZ, .slot = {nz, b->cur[e->rn]}, .step = b->step});
    }
    if (cond == BT_COND_UNKNOWN && writes_pc(e) && b->next.leaves)
        cond = BT_COND_PASS;
    if (cond != BT_COND_UNKNOWN)
        rules_learn_at(rules, p, cond == BT_COND_PASS, VALUES_CONDITION, b->step);
    unsigned tests = flags_tested(e->cond);
    if (!blind)
        rules_add(rules, &(struct values_rule){.op = RULE_COND,
                                               .slot = {p, tests & 1 ? nz : 0,
                                                        tests & 2 ? b->cur[EFFECT_C] : 0,
                                                        tests & 4 ? b->cur[EFFECT_V] : 0},
                                               .k = e->cond | any,
                                               .step = b->step});
    rules_run(rules);
    if (rules_known(rules, p))
        return rules->values[p].number;
    b->pred = p;
    return true;
}

static void decode_instruction(struct build *b, struct insn_effect *e)
{
    const struct values_insn *i = &b->w->insns[b->step];
    if (i->isa == BT_ISA_A32) {
        b->it = 0;
        effect_a32(i->opcode, e);
        if (!b->w->a_banks && e->kind == EFFECT_SYSTEM)
            e->kind = EFFECT_OTHER;
        return;
    }
    if (i->size == 2)
        effect_t16((uint16_t)i->opcode, i->address, b->it && b->it != BUILD_IT_UNKNOWN, e);
    else
        effect_t32(i->opcode, i->address, e);
    if (b->w->m_profile && i->size == 4)
        build_m_decoded(i->opcode, e);
    if (!b->w->a_banks && e->kind == EFFECT_SYSTEM)
        e->kind = EFFECT_OTHER;
    if (e->kind == EFFECT_IT) {
        b->it = (uint8_t)e->imm;
        return;
    }
    if (b->it == BUILD_IT_UNKNOWN) {
        e->clobber |= i->size == 2 && e->set_flags ? EFFECT_FLAGS : 0;
        e->set_flags &= i->size == 4;
        if (!--b->it_left)
            b->it = 0;
        return;
    }
    if (!b->it)
        return;
    if (b->it >> 4 < EFFECT_ALWAYS)
        e->cond = b->it >> 4;
    b->it = b->it & 7 ? (uint8_t)((b->it & 0xe0) | (b->it << 1 & 0x1f)) : 0;
}

/* Data trace of the instruction, if it made one access. */
static void learn_from_data(struct build *b, size_t first_access)
{
    struct values_memory_state *m = &b->r->memory;
    const struct bt_event *found = NULL;
    for (size_t i = b->event; i < b->w->event_count; i++) {
        const struct bt_event *e = &b->w->events[i];
        if (e->position > b->w->first + b->step + 1)
            break;
        if (e->kind != BT_EVENT_DATA || e->u.data.back != 1 ||
            e->position != b->w->first + b->step + 1)
            continue;
        if (found)
            return;
        found = e;
    }
    if (!found || b->pred || m->access_count != first_access + 1)
        return;
    const struct values_access *a = &m->accesses[first_access];
    if (a->kind > ACCESS_STORE || (a->kind == ACCESS_STORE) != found->u.data.store)
        return;
    if (found->u.data.has_address)
        rules_learn_at(&b->r->rules, a->base, (uint32_t)found->u.data.address - a->offset,
                       VALUES_DATA, b->step);
    if (found->u.data.has_value && a->data &&
        (a->width == 4 || (a->kind == ACCESS_LOAD && !a->sign)))
        rules_learn_at(&b->r->rules, a->data, (uint32_t)found->u.data.value, VALUES_DATA, b->step);
}

/*
 * Not every protocol says so, but an instruction to come back to did not complete. Where it is left
 * out of the path the one before it, which is here, did.
 */
static bool is_aborted(const struct values_insn *i, const struct insn_effect *e,
                       const struct bt_event *exception)
{
    bool given = exception->u.exception.canceled;
    if (!exception->u.exception.has_return)
        return given;
    return (uint32_t)exception->u.exception.return_address == i->address &&
           (given || e->kind != EFFECT_BRANCH);
}

/* Did the instruction lead to the other security state of an M-profile core? */
static bool changes_state(const struct build *b, const struct bt_event *behind)
{
    return b->w->m_profile && behind && behind->kind == BT_EVENT_STATE;
}

static void build_instruction(struct build *b)
{
    const struct values_insn *i = &b->w->insns[b->step];
    struct insn_effect e;
    size_t first_access = b->r->memory.access_count;
    look_ahead(b);
    const struct bt_event *behind = b->behind;
    b->target = 0;
    if (b->jumped)
        build_pair(b, i->address, false);
    if (b->returned)
        build_pair(b, i->address, true);
    b->from = b->step + 1;
    bool blind = i->isa == BT_ISA_T32 && b->it == BUILD_IT_UNKNOWN;
    decode_instruction(b, &e);
    b->canceled = behind && behind->kind == BT_EVENT_EXCEPTION && is_aborted(i, &e, behind);
    bool runs = check_condition(b, &e, blind);
    uint32_t before[VALUES_STATE_REGS];
    memcpy(before, b->cur, sizeof before);
    if (runs) {
        build_execute(b, &e);
        build_context(b, &e);
        build_track_stack(b, &e, before);
    }
    if (runs && b->w->m_fpu)
        build_m_executed(b);
    learn_from_data(b, first_access);
    bool interrupted = behind && behind->kind == BT_EVENT_EXCEPTION && writes_pc(&e);
    bool indirect = e.kind != EFFECT_BRANCH || (e.rn != EFFECT_NO_REG && !e.zero);
    bool plain = e.kind != EFFECT_OTHER && e.kind != EFFECT_SYSTEM;
    bool back = e.kind == EFFECT_BRANCH ? e.rn == 14 : e.kind == EFFECT_MEMORY && e.rn == 13;
    bool left = b->next.leaves || interrupted || changes_state(b, behind);
    b->jumped = BUILD_JUMP_NOT;
    if (runs && plain && indirect && !e.link && left)
        b->jumped = back ? BUILD_JUMP_BACK : BUILD_JUMP;
    if (b->jumped && interrupted && b->pred) /* returned or not: nobody knows */
        b->frame_count = 0;
    if (b->next.leaves && b->it) /* a taken branch ends the block */
        b->it = 0;
    b->returned = runs && ((e.kind == EFFECT_OTHER && b->next.leaves) ||
                           (is_exception_return(&e) && !b->canceled && !b->pred));
    if (b->returned)
        build_settle(b);
    if (b->returned)
        build_restore_it(b, b->step + 1 < b->r->count ? i[1].address : b->w->final[15]);
    rules_run(&b->r->rules);
}

static void learn_halted(struct build *b)
{
    const struct values_window *w = b->w;
    for (unsigned reg = 0; reg < 15; reg++)
        if (w->final_known >> reg & 1)
            rules_learn(&b->r->rules, b->cur[reg], w->final[reg], VALUES_HALTED);
    if (!w->final_cpsr_known)
        return;
    if (w->m_profile)
        build_m_halted(b, w->final_cpsr);
    else if (w->a_banks)
        build_a_halted(b, w->final_cpsr);
    uint32_t nz = w->final_cpsr >> 30;
    if (nz != 3)
        rules_learn(&b->r->rules, b->cur[EFFECT_NZ], nz, VALUES_HALTED);
    rules_learn(&b->r->rules, b->cur[EFFECT_C], w->final_cpsr >> 29 & 1, VALUES_HALTED);
    rules_learn(&b->r->rules, b->cur[EFFECT_V], w->final_cpsr >> 28 & 1, VALUES_HALTED);
}

int values_build_begin(struct values *r, const struct values_window *w)
{
    struct build *b = calloc(1, sizeof *b);
    if (!b)
        return BT_ERR_NOMEM;
    r->build = b;
    r->mixed = build_a_has_mixed_data(w);
    b->r = r;
    b->w = w;
    b->it = BUILD_IT_UNKNOWN;
    b->it_left = 4;
    for (unsigned i = 0; i < BUILD_SAVED; i++)
        b->saved[i].it = BUILD_IT_UNKNOWN;
    build_m_states(b);
    build_m_lost(b);
    build_clobber(b, EFFECT_ALL_REGS);
    build_a_lost(b);
    b->on_stack = 1u << 13;
    return r->rules.nomem ? BT_ERR_NOMEM : 0;
}

bool values_build_some(struct values *r, size_t *budget)
{
    struct build *b = r->build;
    for (; b->step < r->count && *budget && !r->rules.nomem; b->step++) {
        build_events(b);
        build_instruction(b);
        *budget -= *budget < INSN_UNITS ? *budget : INSN_UNITS;
    }
    if (b->step < r->count)
        return false;
    build_events(b);
    learn_halted(b);
    free(b);
    r->build = NULL;
    return true;
}
