/* SPDX-License-Identifier: BSD-3-Clause */
/* One instruction's effect as rules and accesses. */
#include "values_build.h"

#define SAVED_REGS 0x4ff0u /* r4-r11, LR: pushed to be given back */

static uint32_t make(struct build *b, enum rule_op op, uint32_t a, uint32_t x, uint32_t c,
                     uint32_t k)
{
    uint32_t d = rules_value(&b->r->rules);
    rules_add(&b->r->rules, &(struct values_rule){
                                .op = (uint8_t)op, .slot = {d, a, x, c}, .k = k, .step = b->step});
    return d;
}

static uint32_t constant(struct build *b, uint32_t number)
{
    return rules_constant(&b->r->rules, number, b->step);
}

static uint32_t inverted(struct build *b, uint32_t value)
{
    return make(b, RULE_XOR, value, 0, 0, UINT32_MAX);
}

/* rm, shifted. */
static uint32_t shifted(struct build *b, const struct insn_effect *e)
{
    uint32_t v = build_read(b, e->rm, false);
    if (e->rs != EFFECT_NO_REG)
        return make(b, RULE_SHIFT, v, build_read(b, e->rs, false), b->cur[EFFECT_C], e->shift);
    if (!e->amount)
        return v;
    return make(b, RULE_SHIFT, v, 0, e->shift == EFFECT_RRX ? b->cur[EFFECT_C] : 0,
                e->shift | (uint32_t)e->amount << 8);
}

static uint32_t shifter_carry(struct build *b, const struct insn_effect *e)
{
    if (e->carry == EFFECT_C_0 || e->carry == EFFECT_C_1)
        return constant(b, e->carry == EFFECT_C_1);
    if (e->carry == EFFECT_C_KEEP || e->rm == EFFECT_NO_REG)
        return b->cur[EFFECT_C];
    uint32_t v = build_read(b, e->rm, false);
    if (e->rs != EFFECT_NO_REG)
        return make(b, RULE_SHIFT_C, v, build_read(b, e->rs, false), b->cur[EFFECT_C], e->shift);
    return make(b, RULE_SHIFT_C, v, 0, e->shift == EFFECT_RRX ? b->cur[EFFECT_C] : 0,
                e->shift | (uint32_t)e->amount << 8);
}

static uint32_t operand2(struct build *b, const struct insn_effect *e)
{
    return e->rm == EFFECT_NO_REG ? constant(b, e->imm) : shifted(b, e);
}

/* Additions and subtractions: *c and *v are the flags if they are wanted. */
static uint32_t add_like(struct build *b, const struct insn_effect *e, uint32_t *c, uint32_t *v)
{
    uint32_t a = build_read(b, e->rn, false), x = operand2(b, e), d, carry = 0, k = 1;
    bool minus = e->op == EFFECT_SUB || e->op == EFFECT_SBC;
    bool reverse = e->op == EFFECT_RSB || e->op == EFFECT_RSC;
    bool with_carry = e->op == EFFECT_ADC || e->op == EFFECT_SBC || e->op == EFFECT_RSC;
    uint32_t left = a, right = x;
    if ((minus || reverse) && (e->set_flags || with_carry)) {
        left = reverse ? x : a;
        right = inverted(b, reverse ? a : x);
    }
    if (with_carry) {
        carry = b->cur[EFFECT_C];
        d = make(b, RULE_ADC, left, right, carry, 0);
    } else if (minus || reverse) {
        d = reverse ? make(b, RULE_SUB, x, a, 0, 0) : make(b, RULE_SUB, a, x, 0, 0);
    } else {
        d = make(b, RULE_ADD, a, x, 0, 0);
        k = 0;
    }
    if (e->set_flags) {
        *c = make(b, RULE_ADD_C, left, right, carry, k);
        *v = make(b, RULE_ADD_V, left, right, carry, k);
    }
    return d;
}

static uint32_t logical(struct build *b, const struct insn_effect *e)
{
    uint32_t x = operand2(b, e);
    uint32_t a = e->rn == EFFECT_NO_REG ? 0 : build_read(b, e->rn, false);
    switch (e->op) {
    case EFFECT_AND:
        return make(b, RULE_AND, a, x, 0, 0);
    case EFFECT_ORR:
        return make(b, RULE_ORR, a, x, 0, 0);
    case EFFECT_BIC:
        return make(b, RULE_BIC, a, x, 0, 0);
    case EFFECT_ORN:
        return make(b, RULE_ORN, a, x, 0, 0);
    case EFFECT_EOR:
        return make(b, RULE_XOR, a, x, 0, 0);
    case EFFECT_MVN:
        return inverted(b, x);
    default:
        return x;
    }
}

static uint32_t multiplied(struct build *b, const struct insn_effect *e)
{
    uint32_t product =
        make(b, RULE_MUL, build_read(b, e->rn, false), build_read(b, e->rm, false), 0, 0);
    if (e->op == EFFECT_MUL)
        return product;
    return make(b, e->op == EFFECT_MLA ? RULE_ADD : RULE_SUB, build_read(b, e->ra, false), product,
                0, 0);
}

static uint32_t fields(struct build *b, const struct insn_effect *e)
{
    uint32_t v = e->rn == EFFECT_NO_REG ? constant(b, 0) : build_read(b, e->rn, false);
    if (e->op == EFFECT_MOVT)
        return make(b, RULE_INSERT, b->cur[e->rd], constant(b, e->imm), 0, 16 | 16 << 8);
    if (e->op == EFFECT_INSERT)
        return make(b, RULE_INSERT, b->cur[e->rd], v, 0, e->imm);
    if (e->amount)
        v = make(b, RULE_SHIFT, v, 0, 0, EFFECT_ROR | (uint32_t)e->amount << 8);
    return make(b, RULE_FIELD, v, 0, 0, e->imm);
}

static uint32_t result(struct build *b, const struct insn_effect *e, uint32_t *c, uint32_t *v)
{
    switch (e->op) {
    case EFFECT_SUB:
    case EFFECT_RSB:
    case EFFECT_ADD:
    case EFFECT_ADC:
    case EFFECT_SBC:
    case EFFECT_RSC:
        return add_like(b, e, c, v);
    case EFFECT_MUL:
    case EFFECT_MLA:
    case EFFECT_MLS:
        return multiplied(b, e);
    case EFFECT_UDIV:
    case EFFECT_SDIV:
        return make(b, e->op == EFFECT_UDIV ? RULE_UDIV : RULE_SDIV, build_read(b, e->rn, false),
                    build_read(b, e->rm, false), 0, 0);
    case EFFECT_FIELD:
    case EFFECT_INSERT:
    case EFFECT_MOVT:
        return fields(b, e);
    case EFFECT_CLZ:
    case EFFECT_REV:
    case EFFECT_REV16:
    case EFFECT_REVSH:
    case EFFECT_RBIT:
        return make(b, (enum rule_op)(RULE_CLZ + (e->op - EFFECT_CLZ)), build_read(b, e->rn, false),
                    0, 0, 0);
    default:
        if (e->set_flags)
            *c = shifter_carry(b, e);
        return logical(b, e);
    }
}

static void multiply_long(struct build *b, const struct insn_effect *e)
{
    uint32_t x = build_read(b, e->rn, false), y = build_read(b, e->rm, false);
    uint32_t low = make(b, RULE_MUL, x, y, 0, 0);
    uint32_t high = make(b, e->op == EFFECT_UMULL ? RULE_UMULH : RULE_SMULH, x, y, 0, 0);
    if (e->ra < 15)
        build_assign(b, e->ra, low);
    if (e->rd < 15)
        build_assign(b, e->rd, high);
}

static void arithmetic(struct build *b, const struct insn_effect *e)
{
    uint32_t c = 0, v = 0;
    uint32_t d = result(b, e, &c, &v);
    uint32_t nz = e->set_flags ? make(b, RULE_NZ, d, 0, 0, 0) : 0;
    if (e->rd < 15)
        build_assign(b, e->rd, d);
    if (nz)
        build_assign(b, EFFECT_NZ, nz);
    if (c)
        build_assign(b, EFFECT_C, c);
    if (v)
        build_assign(b, EFFECT_V, v);
}

/* One loaded or stored register; values go to the registers when all have been read. */
static void transfer(struct build *b, const struct insn_effect *e, unsigned reg, uint32_t base,
                     uint32_t offset, uint32_t *loaded)
{
    uint32_t target, data = 0;
    if (e->load) {
        data = rules_value(&b->r->rules);
        *loaded = data;
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
    if (e->load)
        a->saved = (a->stack && (e->writeback || e->list)) || e->list >> 15;
    else
        a->saved = a->stack && e->writeback && reg < 16 && SAVED_REGS >> reg & 1;
}

static void store_float(struct build *b, uint32_t base, uint32_t offset, bool stack)
{
    struct values_access *a =
        build_access(b, ACCESS_STORE, base, offset, rules_value(&b->r->rules));
    if (a)
        a->stack = stack;
}

static void memory(struct build *b, const struct insn_effect *e)
{
    uint32_t loaded[16] = {0};
    uint32_t base = build_read(b, e->rn, e->align_pc), moved = base;
    uint32_t list = e->list, at = (uint32_t)e->start;
    if (e->rm != EFFECT_NO_REG)
        moved = make(b, e->subtract ? RULE_SUB : RULE_ADD, base, shifted(b, e), 0, 0);
    else if (e->writeback && e->delta)
        moved = make(b, RULE_ADD, base, 0, 0, (uint32_t)e->delta);
    if (e->words) {
        for (unsigned i = 0; i < e->words && !e->load; i++)
            store_float(b, base, at + 4 * i, e->rn == 13);
    } else if (list) {
        for (unsigned reg = 0; reg < 16; reg++) {
            if (!(list >> reg & 1))
                continue;
            transfer(b, e, reg, base, at, &loaded[reg]);
            at += 4;
        }
    } else {
        bool moves = e->rm != EFFECT_NO_REG;
        uint32_t from = e->index && moves ? moved : base;
        uint32_t offset = e->index && !moves ? (uint32_t)e->delta : 0;
        transfer(b, e, e->rt, from, offset, &loaded[e->rt & 15]);
        if (e->rt2 != EFFECT_NO_REG)
            transfer(b, e, e->rt2, from, offset + 4, &loaded[e->rt2 & 15]);
    }
    if (e->writeback && e->rn < 15)
        build_assign(b, e->rn, moved);
    for (unsigned reg = 0; reg < 15; reg++)
        if (loaded[reg])
            build_assign(b, reg, loaded[reg]);
}

static void branch(struct build *b, const struct insn_effect *e)
{
    uint32_t target;
    const struct values_insn *i = &b->w->insns[b->step];
    if (e->rn != EFFECT_NO_REG && !e->zero && e->rn < 15 && build_target(b, &target))
        rules_learn_at(&b->r->rules, b->cur[e->rn], target, VALUES_BRANCH, b->step);
    if (!e->link)
        return;
    uint32_t back = i->address + i->size;
    uint32_t kept = 0x2ff0 | (b->w->a_banks ? 1u << VALUES_MODE : 0);
    build_push_frame(b, back, kept, false);
    build_assign(b, 14, constant(b, i->isa == BT_ISA_T32 ? back | 1 : back));
}

/* Registers that a load or store may have written before it was given up;
 * its base is given back. */
static uint32_t memory_writes(const struct insn_effect *e)
{
    uint32_t regs = e->clobber;
    if (!e->load)
        return regs;
    regs |= e->list;
    if (e->rt != EFFECT_NO_REG)
        regs |= 1u << e->rt;
    if (e->rt2 != EFFECT_NO_REG)
        regs |= 1u << e->rt2;
    return regs & EFFECT_ALL_REGS & ~(1u << 15) & ~(1u << e->rn);
}

/* What an instruction that did not complete may have written: parts of what it writes. */
static void canceled(struct build *b, const struct insn_effect *e)
{
    bool stores = e->kind == EFFECT_MEMORY && !e->load;
    if (e->clobber_memory || stores)
        build_clobber_memory(b);
    if (e->kind == EFFECT_OTHER || e->kind == EFFECT_SYSTEM || b->w->v4t)
        build_clobber(b, e->kind == EFFECT_NONE ? 0 : EFFECT_ALL_REGS);
    else if (e->kind == EFFECT_MEMORY)
        build_clobber(b, memory_writes(e));
}

void build_execute(struct build *b, const struct insn_effect *e)
{
    if (b->canceled) {
        canceled(b, e);
        return;
    }
    if (e->kind == EFFECT_SYSTEM) {
        build_a_system(b, e);
        return;
    }
    if (e->kind == EFFECT_ALU && (e->op == EFFECT_UMULL || e->op == EFFECT_SMULL))
        multiply_long(b, e);
    else if (e->kind == EFFECT_ALU)
        arithmetic(b, e);
    else if (e->kind == EFFECT_MEMORY)
        memory(b, e);
    else if (e->kind == EFFECT_BRANCH)
        branch(b, e);
    if (e->clobber_memory)
        build_clobber_memory(b);
    build_clobber(b, e->clobber);
}
