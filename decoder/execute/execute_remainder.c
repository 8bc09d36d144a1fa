/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left of a number that is not known, divided by a constant: `x % 5` is x - x / 5 * 5,
 * where the quotient comes from UDIV or from the upper word of x times a reciprocal, and its
 * product from MLS, MUL, or shifts and sums. Of the difference no span of x and of the product says
 * more than that it is about x, so registers are followed that hold a multiple of the quotient.
 */
#include "execute_work.h"

enum { COND_CS = 2, COND_LS = 9 }; /* DDI 0403E.e A7.3 */

static bool has(uint32_t set, unsigned reg)
{
    return reg < EXECUTE_BOUNDED && set >> reg & 1;
}

/* The number by which x * magic >> shift divides all x up to `most`; 0: there is none. With
 * d * magic = 2^n + e it is x / d + x * e / (d * 2^n), whose whole part is that of x / d as long as
 * x * e < 2^n. */
static uint32_t divisor_of(uint64_t magic, unsigned shift, uint32_t most)
{
    unsigned __int128 power = (unsigned __int128)1 << shift,
                      d = magic ? (power + magic - 1) / magic : 0, error = d * magic - power;
    bool fits = d > 1 && d <= UINT32_MAX && (!error || most <= (power - 1) / error);
    return fits ? (uint32_t)d : 0;
}

/* An upper word, moved to the right, is the quotient by that; 0: by nothing. */
static uint32_t of_upper(const struct execute_multiples *m, unsigned reg, unsigned shift)
{
    bool upper = has(m->uppers, reg) && m->shifted >= 32 && shift < 32;
    return upper ? divisor_of(m->magic, m->shifted + shift, m->most) : 0;
}

/* Operand 2 as a multiple. */
static bool operand(const struct execute_multiples *m, const struct insn_effect *e, uint32_t *times)
{
    bool left = e->shift == EFFECT_LSL || !e->amount;
    if (e->rs != EFFECT_NO_REG || e->rm >= EXECUTE_BOUNDED)
        return false;
    *times = left && has(m->of, e->rm) ? m->times[e->rm] << e->amount : 1;
    return (left && has(m->of, e->rm)) || (e->shift == EFFECT_LSR && e->amount && m->divisor &&
                                           of_upper(m, e->rm, e->amount) == m->divisor);
}

static struct execute_relation of_product(const struct execute_work *w)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    struct execute_relation no = {.kind = EXECUTE_RELATED_NOT},
                            is = {.kind = EXECUTE_RELATED_MULTIPLE};
    unsigned of = has(m->of, e->rn) ? e->rn : e->rm;
    struct execute_value by = execute_read(w, of == e->rn ? e->rm : e->rn);
    if (!has(m->of, of) || !by.known)
        return no;
    is.number = m->times[of] * by.number;
    if (e->op == EFFECT_MUL)
        return is;
    is.kind = EXECUTE_RELATED_REMAINDER;
    return e->op == EFFECT_MLS && has(m->sources, e->ra) && is.number == m->divisor ? is : no;
}

/* A reciprocal of 33 bits: half of x * (2^32 + magic) >> 32 is upper + ((x - upper) >> 1). */
static enum execute_related of_halves(const struct execute_multiples *m,
                                      const struct insn_effect *e)
{
    bool plain = !e->amount && e->rs == EFFECT_NO_REG,
         halved = e->amount == 1 && e->shift == EFFECT_LSR && e->rs == EFFECT_NO_REG,
         apart = m->apart && e->rm + 1 == m->apart && halved,
         half = m->half && e->rm + 1 == m->half && plain;
    if (e->op == EFFECT_SUB && plain && has(m->sources, e->rn) && has(m->uppers, e->rm))
        return EXECUTE_RELATED_APART;
    if (e->op == EFFECT_MOV && apart)
        return EXECUTE_RELATED_HALF;
    return e->op == EFFECT_ADD && has(m->uppers, e->rn) && (apart || half) ? EXECUTE_RELATED_HALVED
                                                                           : EXECUTE_RELATED_NOT;
}

static struct execute_relation of_sum(const struct execute_multiples *m,
                                      const struct insn_effect *e)
{
    struct execute_relation is = {.kind = EXECUTE_RELATED_MULTIPLE};
    uint32_t times = 0, first = has(m->of, e->rn) ? m->times[e->rn] : 0;
    bool second = operand(m, e, &times), both = second && has(m->of, e->rn),
         plain = !e->amount && e->rs == EFFECT_NO_REG;
    is.number = e->op == EFFECT_ADD   ? first + times
                : e->op == EFFECT_SUB ? first - times
                                      : times - first;
    if (both)
        return is;
    is.kind = EXECUTE_RELATED_REMAINDER;
    is.number = m->divisor;
    if (e->op == EFFECT_SUB && has(m->sources, e->rn) && second && times == m->divisor)
        return is;
    if (e->op == EFFECT_RSB && has(m->sources, e->rm) && plain && first == m->divisor && first)
        return is;
    if (e->op == EFFECT_ADD && m->divisor &&
        ((has(m->sources, e->rn) && second && times == 0 - m->divisor) ||
         (has(m->sources, e->rm) && plain && first == 0 - m->divisor)))
        return is;
    is.kind = EXECUTE_RELATED_NOT;
    return is;
}

/* Of what was stored, by a register: a quotient by 2^n. */
static struct execute_relation of_shift(const struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    bool is =
        e->rs < EXECUTE_PC && e->shift == EFFECT_LSR && e->rm + 1 == w->x->regs.multiples.stored;
    struct execute_value by = {0, false, 0};
    if (is)
        by = execute_read(w, e->rs);
    by.number &= 0xff;
    if (!by.known || by.number > 31)
        return (struct execute_relation){.kind = EXECUTE_RELATED_NOT};
    return (struct execute_relation){EXECUTE_RELATED_QUOTIENT, 1u << by.number, 0,
                                     (uint8_t)(e->rm + 1)};
}

/* How many low bits AND or BIC with a constant takes away, if no others; 0: it does something else.
 */
static unsigned cleared_bits(const struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    uint32_t low, high, gone = e->op == EFFECT_BIC ? e->imm : ~e->imm;
    if (e->rm != EFFECT_NO_REG)
        return 0;
    execute_limits(execute_read(w, e->rn), &low, &high);
    gone &= high ? UINT32_MAX >> __builtin_clz(high) : 0;
    return gone & (gone + 1) ? 0 : (unsigned)__builtin_popcount(gone);
}

/*
 * A division that shifts and subtracts, as libraries have it for cores without UDIV: of 2^n times
 * the divisor, CMP rest, divisor; ADC quotient, quotient, quotient; SUBCS rest, rest, divisor; then
 * of half that much. Behind ADC the quotient is x / divisor, if it was x / (2 * divisor) before.
 */
static struct execute_relation of_carry(const struct execute_work *w)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct execute_compared *c = &w->x->regs.compared;
    const struct insn_effect *e = w->e;
    struct execute_relation is = {.kind = EXECUTE_RELATED_NOT, .number = c->with};
    struct execute_value quotient = execute_read(w, e->rd);
    uint32_t low, high;
    if (e->rn != e->rd || e->rm != e->rd || e->amount || e->rs != EFFECT_NO_REG || !c->reg ||
        c->reg == e->rd + 1 || c->how != EXECUTE_COMPARED_WITH || c->shift || !c->with)
        return is;
    execute_limits(execute_read(w, c->reg - 1u), &low, &high);
    if (m->rest == c->reg && !m->due && has(m->of, e->rd) && m->times[e->rd] == 1 &&
        m->divisor / 2 == c->with && !(m->divisor & 1))
        is.kind = EXECUTE_RELATED_DIGIT;
    else if (quotient.known && !quotient.number && high / 2 < c->with)
        is.kind = EXECUTE_RELATED_FIRST;
    return is;
}

/* The count of zeros in front of a number, with constants. */
static struct execute_relation of_zeros(const struct execute_work *w)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    bool first = m->zeros && e->rn + 1 == m->zeros, second = m->zeros && e->rm + 1 == m->zeros,
         left = e->rs == EFFECT_NO_REG && (e->shift == EFFECT_LSL || !e->amount);
    struct execute_relation is = {
        .of = m->zeros_of, .scale = m->zeros_times, .number = m->zeros_plus};
    struct execute_value by;
    uint32_t carry, carry_known;
    if (e->op == EFFECT_CLZ && e->rn != e->rd)
        return (struct execute_relation){EXECUTE_RELATED_ZEROS, 0, 1, (uint8_t)(e->rn + 1)};
    if (first == second || (second && !left) ||
        (e->op != EFFECT_ADD && e->op != EFFECT_SUB && e->op != EFFECT_RSB))
        return is;
    by = first ? execute_operand(w, &carry, &carry_known) : execute_read(w, e->rn);
    is.kind = by.known && e->rd + 1 != is.of ? EXECUTE_RELATED_ZEROS : EXECUTE_RELATED_NOT;
    is.scale <<= second ? e->amount : 0;
    is.number <<= second ? e->amount : 0;
    if (e->op != EFFECT_ADD && second == (e->op == EFFECT_SUB)) {
        is.scale = 0 - is.scale; /* taken from the other one */
        is.number = 0 - is.number;
    } else if (e->op != EFFECT_ADD) {
        by.number = 0 - by.number;
    }
    is.number += by.number;
    return is;
}

void execute_learn_zeros(struct execute_work *w)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    struct execute_compared c = {.reg = m->zeros_of};
    uint32_t to = (uint32_t)w->insn->next, zeros = 0, found = 0,
             drop = w->insn->isa == BT_ISA_T32 ? 1 : 2; /* bits that are no part of the place */
    if (w->maybe || !w->insn->has_next || w->insn->next == w->insn->address || !m->zeros ||
        e->rm + 1 != m->zeros || e->amount || e->rs != EFFECT_NO_REG)
        return;
    for (uint32_t n = 0; n < 33; n++)
        if (!((m->zeros_times * n + m->zeros_plus) >> drop ^ to >> drop)) {
            zeros = n;
            found++;
        }
    if (found != 1 || zeros == 32)
        return;
    c.with = 0x80000000u >> zeros;
    execute_learn(w, &c, COND_CS, true);
    c.with = UINT32_MAX >> zeros;
    if (!w->error)
        execute_learn(w, &c, COND_LS, true);
}

bool execute_takes_divisor(const struct execute_work *w, unsigned cond)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct execute_compared *c = &w->x->regs.compared;
    const struct insn_effect *e = w->e;
    uint32_t carry, carry_known;
    if (cond != COND_CS || e->kind != EFFECT_ALU || e->op != EFFECT_SUB || e->set_flags ||
        e->rd + 1 != m->rest || e->rn != e->rd || c->reg != m->rest || c->with != m->divisor ||
        c->how != EXECUTE_COMPARED_WITH || c->shift ||
        (w->insn->has_next && w->insn->next == w->insn->address))
        return false;
    struct execute_value by = execute_operand(w, &carry, &carry_known);
    return by.known && by.number == m->divisor;
}

void execute_take_divisor(struct execute_work *w, const struct execute_multiples *before)
{
    struct execute_multiples *m = &w->x->regs.multiples;
    unsigned reg = before->rest - 1u;
    struct execute_value v = execute_read(w, reg);
    w->maybe = false;
    if (!v.known)
        execute_write(w, reg, execute_remainder(v, before->divisor));
    *m = *before;
    execute_unrelate(&w->x->regs, 1u << reg);
    m->rest = before->rest;
    execute_note_others(m);
}

struct execute_relation execute_relation(const struct execute_work *w)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    struct execute_relation is = {.kind = EXECUTE_RELATED_NOT}, zeros = is;
    if (w->maybe || e->rd >= EXECUTE_BOUNDED)
        return is;
    if (e->op == EFFECT_ADC)
        return of_carry(w);
    if (e->op == EFFECT_CLZ || m->zeros)
        zeros = of_zeros(w);
    if (zeros.kind != EXECUTE_RELATED_NOT)
        return zeros;
    if (e->op == EFFECT_UDIV) {
        struct execute_value a = execute_read(w, e->rn), b = execute_read(w, e->rm);
        is.kind = !a.known && b.known && b.number ? EXECUTE_RELATED_QUOTIENT : EXECUTE_RELATED_NOT;
        is.number = b.number;
        is.of = (uint8_t)(e->rn + 1);
        return is;
    }
    if (!m->sources && !m->kept && !m->stored && e->op != EFFECT_AND)
        return is;
    is.kind = m->shifted == 32 ? of_halves(m, e) : is.kind;
    if (is.kind != EXECUTE_RELATED_NOT)
        return is;
    switch (e->op) {
    case EFFECT_MOV:
        if (has(m->sources, e->rm) && !e->amount && e->rs == EFFECT_NO_REG)
            is.kind = EXECUTE_RELATED_SOURCE;
        else if (operand(m, e, &is.number))
            is.kind = EXECUTE_RELATED_MULTIPLE;
        else if (e->shift == EFFECT_LSR && e->amount && e->rs == EFFECT_NO_REG &&
                 (is.number = of_upper(m, e->rm, e->amount)) != 0)
            is.kind = EXECUTE_RELATED_QUOTIENT;
        else
            return of_shift(w);
        return is;
    case EFFECT_AND: /* 2^n times what is shifted to the right by n */
    case EFFECT_BIC:
        is.scale = cleared_bits(w);
        if (is.scale && (is.number = of_upper(m, e->rn, is.scale)) != 0) {
            is.kind = EXECUTE_RELATED_QUOTIENT;
        } else if (e->op == EFFECT_AND && e->rm == EFFECT_NO_REG && e->rd != e->rn) {
            is.kind = EXECUTE_RELATED_PART;
            is.number = e->imm;
        }
        return is;
    case EFFECT_ADD:
    case EFFECT_SUB:
    case EFFECT_RSB:
        return of_sum(m, e);
    case EFFECT_MUL:
    case EFFECT_MLS:
        return of_product(w);
    default:
        return is;
    }
}

uint32_t execute_same(const struct execute_multiples *m, unsigned reg)
{
    bool copied = m->copy == reg + 1 || m->copied == reg + 1;
    return 1u << reg | (copied ? 1u << (m->copy - 1) | 1u << (m->copied - 1) : 0);
}

/* What is in the register is divided, unless it is one of `written`. */
static void begin_division(struct execute_multiples *m, uint32_t sources, uint32_t written)
{
    m->sources = sources & ~written;
    m->uppers = m->of = 0;
    m->kept = m->due = false;
    m->rest = m->apart = m->half = 0;
}

static void begin(struct execute_multiples *m, uint32_t divisor, unsigned quotient, uint32_t times)
{
    m->rest = m->due = 0;
    m->divisor = divisor;
    m->of = 1u << quotient;
    m->times[quotient] = times;
}

void execute_relate(struct execute_work *w, struct execute_relation is)
{
    struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    uint32_t bit = 1u << (e->rd & 31);
    switch (is.kind) {
    case EXECUTE_RELATED_SOURCE:
        m->sources |= bit;
        break;
    case EXECUTE_RELATED_MULTIPLE:
        m->of |= bit;
        m->times[e->rd] = is.number;
        break;
    case EXECUTE_RELATED_QUOTIENT:
        if (is.of)
            begin_division(m, execute_same(m, is.of - 1u), bit);
        m->kept |= e->op == EFFECT_MOV && is.of;
        begin(m, is.number, e->rd, 1u << is.scale);
        break;
    case EXECUTE_RELATED_FIRST:
        begin_division(m, 1u << (w->x->regs.compared.reg - 1), 0);
        m->kept = m->stored == w->x->regs.compared.reg;
        /* fallthrough */
    case EXECUTE_RELATED_DIGIT:
        begin(m, is.number, e->rd, 1);
        m->rest = w->x->regs.compared.reg;
        m->due = true;
        break;
    case EXECUTE_RELATED_UPPER:
        m->uppers = bit;
        m->shifted += (uint8_t)is.scale;
        break;
    case EXECUTE_RELATED_APART:
        m->apart = (uint8_t)(e->rd + 1);
        break;
    case EXECUTE_RELATED_HALF:
        m->half = (uint8_t)(e->rd + 1);
        break;
    case EXECUTE_RELATED_HALVED:
        m->uppers = bit;
        m->magic += UINT64_C(1) << 32;
        m->shifted++;
        break;
    case EXECUTE_RELATED_PART:
        m->whole = (uint8_t)(e->rn + 1);
        m->part = (uint8_t)(e->rd + 1);
        m->mask = is.number;
        break;
    case EXECUTE_RELATED_ZEROS:
        m->zeros = (uint8_t)(e->rd + 1);
        m->zeros_of = is.of;
        m->zeros_times = is.scale;
        m->zeros_plus = is.number;
        break;
    default:
        return;
    }
    execute_note_others(m);
}

void execute_relate_product(struct execute_multiples *m, const struct execute_product_of *p)
{
    m->magic = p->magic;
    m->most = p->most;
    begin_division(m, p->sources, p->written);
    m->uppers = 1u << p->product;
    m->shifted = p->shifted;
    m->divisor = divisor_of(m->magic, m->shifted, m->most);
    if (m->divisor)
        begin(m, m->divisor, p->product, 1);
    execute_note_others(m);
}

void execute_relate_upper(struct execute_work *w, struct execute_value a, struct execute_value b)
{
    const struct insn_effect *e = w->e;
    unsigned source = a.known ? e->rm : e->rn;
    struct execute_product_of p = {.sources = 1u << (source & 31),
                                   .product = e->rd,
                                   .written = 1u << (e->rd & 15) | 1u << (e->ra & 15),
                                   .magic = a.known ? a.number : b.number,
                                   .shifted = 32};
    uint32_t low;
    if (w->maybe || a.known == b.known || e->rd >= EXECUTE_PC || source >= EXECUTE_PC)
        return;
    execute_limits(a.known ? b : a, &low, &p.most);
    execute_relate_product(&w->x->regs.multiples, &p);
}

struct execute_relation execute_shift_product(const struct execute_multiples *m, unsigned reg,
                                              unsigned shift)
{
    struct execute_relation is = {.kind = EXECUTE_RELATED_NOT};
    if (!has(m->uppers, reg) || m->shifted + shift > 127)
        return is;
    is.number = divisor_of(m->magic, m->shifted + shift, m->most);
    is.kind = is.number ? EXECUTE_RELATED_QUOTIENT : EXECUTE_RELATED_UPPER;
    is.scale = is.number ? 0 : shift;
    return is;
}

void execute_keep(struct execute_work *w, unsigned reg, uint64_t address)
{
    struct execute_multiples *m = &w->x->regs.multiples;
    if (reg >= EXECUTE_BOUNDED || address & 3 || execute_is_bit(w->x, (uint32_t)address) ||
        !execute_is_own_order(w->x))
        return;
    execute_memory_watch(&w->x->memory, EXECUTE_WATCH_STORED, address, 4);
    m->stored = (uint8_t)(reg + 1);
    m->kept = false;
    execute_note_others(m);
}

void execute_reload(struct execute_work *w, unsigned reg, uint64_t address)
{
    struct execute_multiples *m = &w->x->regs.multiples;
    uint64_t at;
    if (m->kept && reg < EXECUTE_BOUNDED && execute_is_own_order(w->x) &&
        execute_memory_is_same(&w->x->memory, EXECUTE_WATCH_STORED, &at) && at == address)
        m->sources |= 1u << reg;
}
