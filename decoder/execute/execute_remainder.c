/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left of a number that is not known, divided by a constant: `x % 5` is x - x / 5 * 5,
 * where the quotient comes from UDIV or from the upper word of x times a reciprocal, and its
 * product from MLS, MUL, or shifts and sums. Of the difference no span of x and of the product says
 * more than that it is about x, so registers are followed that hold a multiple of the quotient.
 */
#include "execute_work.h"

static bool has(uint16_t set, unsigned reg)
{
    return reg < EXECUTE_PC && set >> reg & 1;
}

/* The number by which x * magic >> (32 + shift) divides all x up to `most`; 0: there is none. With
 * d * magic = 2^n + e it is x / d + x * e / (d * 2^n), whose whole part is that of x / d as long as
 * x * e < 2^n. */
static uint32_t divisor_of(uint32_t magic, unsigned shift, uint32_t most)
{
    uint64_t power = UINT64_C(1) << (32 + shift), d = magic ? (power + magic - 1) / magic : 0;
    bool fits = d > 1 && d <= UINT32_MAX && most * (d * magic - power) < power;
    return fits ? (uint32_t)d : 0;
}

/* An upper word, moved to the right, is the quotient by that; 0: by nothing. */
static uint32_t of_upper(const struct execute_multiples *m, unsigned reg, unsigned shift)
{
    return has(m->uppers, reg) && shift < 32 ? divisor_of(m->magic, shift, m->most) : 0;
}

/* Operand 2 as a multiple. */
static bool operand(const struct execute_multiples *m, const struct insn_effect *e, uint32_t *times)
{
    bool left = e->shift == EFFECT_LSL || !e->amount;
    if (e->rs != EFFECT_NO_REG || e->rm >= EXECUTE_PC)
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
    is.kind = EXECUTE_RELATED_NOT;
    return is;
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

struct execute_relation execute_relation(const struct execute_work *w)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    struct execute_relation is = {.kind = EXECUTE_RELATED_NOT};
    if (w->maybe || e->rd >= EXECUTE_PC)
        return is;
    if (e->op == EFFECT_UDIV) {
        struct execute_value a = execute_read(w, e->rn), b = execute_read(w, e->rm);
        is.kind = !a.known && b.known && b.number ? EXECUTE_RELATED_QUOTIENT : EXECUTE_RELATED_NOT;
        is.number = b.number;
        return is;
    }
    if (!m->sources && e->op != EFFECT_AND)
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

static void begin(struct execute_multiples *m, uint32_t divisor, unsigned quotient, uint32_t times)
{
    m->divisor = divisor;
    m->of = (uint16_t)(1u << quotient);
    m->times[quotient] = times;
}

void execute_relate(struct execute_work *w, struct execute_relation is)
{
    struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    uint16_t bit = (uint16_t)(1u << (e->rd & 15));
    switch (is.kind) {
    case EXECUTE_RELATED_SOURCE:
        m->sources |= bit;
        break;
    case EXECUTE_RELATED_MULTIPLE:
        m->of |= bit;
        m->times[e->rd] = is.number;
        break;
    case EXECUTE_RELATED_QUOTIENT:
        if (e->op == EFFECT_UDIV) {
            m->sources = (uint16_t)(1u << e->rn & 0x7fff & ~bit);
            m->uppers = 0;
        }
        begin(m, is.number, e->rd, 1u << is.scale);
        break;
    case EXECUTE_RELATED_PART:
        m->whole = (uint8_t)(e->rn + 1);
        m->part = (uint8_t)(e->rd + 1);
        m->mask = is.number;
        break;
    default:
        break;
    }
}

void execute_relate_upper(struct execute_work *w, struct execute_value a, struct execute_value b)
{
    struct execute_multiples *m = &w->x->regs.multiples;
    const struct insn_effect *e = w->e;
    unsigned source = a.known ? e->rm : e->rn;
    uint32_t low, written = 1u << (e->rd & 15) | 1u << (e->ra & 15);
    if (w->maybe || a.known == b.known || e->rd >= EXECUTE_PC || source >= EXECUTE_PC)
        return;
    m->magic = a.known ? a.number : b.number;
    execute_limits(a.known ? b : a, &low, &m->most);
    m->sources = (uint16_t)(1u << source & ~written);
    m->uppers = (uint16_t)(1u << e->rd);
    m->of = 0;
    m->divisor = divisor_of(m->magic, 0, m->most);
    if (m->divisor)
        begin(m, m->divisor, e->rd, 1);
}
