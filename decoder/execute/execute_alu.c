/* SPDX-License-Identifier: BSD-3-Clause */
/* Integer arithmetic, as the pseudocode of DDI 0403E.e A2.2 and A6.7, and DDI 0406C.d A8.8. */
#include "execute_work.h"

#define FLAG_C  0x20000000u
#define FLAG_V  0x10000000u
#define FLAG_NZ 0xc0000000u

static const struct execute_value unknown_value;

static struct execute_value known_value(uint32_t number)
{
    return (struct execute_value){number, true, 0};
}

static uint32_t rotate_right(uint32_t v, unsigned by)
{
    return by & 31 ? v >> (by & 31) | v << (32 - (by & 31)) : v;
}

static void set_flags(struct execute_work *w, struct execute_value d, uint32_t mask, uint32_t bits,
                      uint32_t known)
{
    bits |= (d.number & 0x80000000u) | (d.number ? 0 : 0x40000000u);
    execute_set_psr(w, mask | FLAG_NZ, bits, known | (d.known ? FLAG_NZ : 0));
}

static struct execute_value sum(struct execute_work *w, struct execute_value a,
                                struct execute_value b)
{
    const struct insn_effect *e = w->e;
    bool with_carry = e->op == EFFECT_ADC || e->op == EFFECT_SBC || e->op == EFFECT_RSC;
    struct execute_value carry = known_value(e->op != EFFECT_ADD);
    if (with_carry)
        carry = (struct execute_value){w->x->regs.psr >> 29 & 1, w->x->regs.psr_known >> 29 & 1, 0};
    if (e->op == EFFECT_RSB || e->op == EFFECT_RSC) {
        struct execute_value swap = a;
        a = b;
        b = swap;
    }
    bool adds = e->op == EFFECT_ADD || e->op == EFFECT_ADC;
    uint32_t second = adds ? b.number : ~b.number;
    uint64_t wide = (uint64_t)a.number + second + carry.number;
    struct execute_value d = {(uint32_t)wide, a.known && b.known && carry.known, 0};
    uint32_t bits = (wide >> 32 ? FLAG_C : 0) |
                    ((~(a.number ^ second) & (a.number ^ d.number)) >> 31 ? FLAG_V : 0);
    if (e->set_flags)
        set_flags(w, d, FLAG_C | FLAG_V, bits, d.known ? FLAG_C | FLAG_V : 0);
    if (d.known || (with_carry && e->op != EFFECT_ADC))
        return d.known ? d : unknown_value;
    d = execute_sum(a, b, !adds);
    return with_carry ? execute_sum(d, carry.known ? carry : execute_span(0, 1), false) : d;
}

/* Of a word of which some bits are known: what a constant leaves of them. */
static uint32_t partial_result(const struct execute_work *w, struct execute_value b, uint32_t *bits)
{
    const struct execute_regs *r = &w->x->regs;
    const struct insn_effect *e = w->e;
    bool moved = e->op == EFFECT_MOV && e->rs == EFFECT_NO_REG && !e->amount;
    uint32_t known = r->partial_known, with = e->op == EFFECT_BIC ? ~b.number : b.number;
    *bits = r->partial_bits;
    if (!r->partial || w->maybe || (moved ? e->rm : e->rn) + 1 != r->partial)
        return 0;
    if (moved)
        return known;
    if (!b.known || (e->op != EFFECT_AND && e->op != EFFECT_BIC && e->op != EFFECT_ORR))
        return 0;
    *bits = e->op == EFFECT_ORR ? *bits | with : *bits & with;
    return known | (e->op == EFFECT_ORR ? with : ~with);
}

static struct execute_value logical(struct execute_work *w, struct execute_value a,
                                    struct execute_value b, uint32_t carry, uint32_t carry_known)
{
    struct execute_value d = {0, a.known && b.known, 0}, range = unknown_value;
    uint32_t partial, partial_known = partial_result(w, b, &partial);
    bool zero_a = a.known && !a.number, zero_b = b.known && !b.number;
    switch (w->e->op) {
    case EFFECT_AND:
        d.number = a.number & b.number;
        d.known |= zero_a || zero_b;
        d.number = zero_a || zero_b ? 0 : d.number;
        range = execute_masked(a, b);
        break;
    case EFFECT_EOR:
        d.number = a.number ^ b.number;
        range = execute_joined(a, b, true);
        break;
    case EFFECT_ORR:
        d.number = a.number | b.number;
        range = execute_joined(a, b, false);
        break;
    case EFFECT_BIC:
        d.number = a.number & ~b.number;
        range = execute_masked(a, b.known ? known_value(~b.number) : unknown_value);
        break;
    case EFFECT_ORN:
        d.number = a.number | ~b.number;
        break;
    case EFFECT_MVN:
        range = d = execute_inverse(b);
        break;
    default:
        range = d = b;
    }
    if (!d.known && partial_known == UINT32_MAX)
        d = known_value(partial);
    if (w->e->set_flags)
        set_flags(w, d, FLAG_C, carry ? FLAG_C : 0, carry_known ? FLAG_C : 0);
    return d.known ? d : range;
}

static uint32_t reverse_bits(unsigned op, uint32_t v)
{
    uint32_t swapped = v >> 24 | (v >> 8 & 0xff00) | (v << 8 & 0xff0000) | v << 24, out = 0;
    switch (op) {
    case EFFECT_REV:
        return swapped;
    case EFFECT_REV16:
        return swapped >> 16 | swapped << 16;
    case EFFECT_REVSH:
        return (uint32_t)(int32_t)(int16_t)(swapped >> 16);
    case EFFECT_RBIT:
        for (unsigned i = 0; i < 32; i++)
            out |= (v >> i & 1) << (31 - i);
        return out;
    default:
        return v ? (uint32_t)__builtin_clz(v) : 32;
    }
}

static uint32_t field(const struct insn_effect *e, uint32_t into, uint32_t v)
{
    unsigned lsb = e->imm & 31, width = e->imm >> 8 & 0xff;
    uint32_t mask = width >= 32 ? UINT32_MAX : (1u << width) - 1;
    if (e->op == EFFECT_INSERT)
        return (into & ~(mask << lsb)) | (v & mask) << lsb;
    v = rotate_right(v, e->amount) >> lsb & mask;
    return e->imm & 1u << 16 && v >> (width - 1) & 1 ? v | ~mask : v;
}

static uint32_t divide(bool is_signed, uint32_t a, uint32_t b)
{
    if (!b)
        return 0;
    if (!is_signed)
        return a / b;
    return b == UINT32_MAX ? 0 - a : (uint32_t)((int32_t)a / (int32_t)b);
}

static bool valid_field(const struct insn_effect *e)
{
    unsigned width = e->imm >> 8 & 0xff;
    return width && (e->imm & 31) + width <= 32;
}

/* What has one or two operands and no flags. */
static struct execute_value simple(struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    struct execute_value a = e->rn == EFFECT_NO_REG ? known_value(0) : execute_read(w, e->rn), d;
    uint32_t low, high;
    switch (e->op) {
    case EFFECT_UDIV:
    case EFFECT_SDIV:
        d = execute_read(w, e->rm);
        if (!d.known || !a.known)
            return execute_quotient(a, d, e->op == EFFECT_SDIV);
        d.range = 0;
        d.known = d.known && a.known && d.number; /* by zero it may trap */
        d.number = divide(e->op == EFFECT_SDIV, a.number, d.number);
        return d;
    case EFFECT_MOVT:
        d = execute_read(w, e->rd);
        d.number = (d.number & 0xffff) | e->imm << 16;
        d.range = 0;
        return d;
    case EFFECT_INSERT:
        d = execute_read(w, e->rd);
        d.known = d.known && a.known && valid_field(e);
        d.range = 0;
        d.number = valid_field(e) ? field(e, d.number, a.number) : 0;
        return d;
    case EFFECT_FIELD:
        if (!valid_field(e))
            return unknown_value;
        if (!a.known)
            return execute_field(e->amount ? unknown_value : a, e->imm & 31, e->imm >> 8 & 0xff,
                                 e->imm >> 16 & 1);
        return (struct execute_value){field(e, 0, a.number), a.known, 0};
    case EFFECT_CLZ:
        execute_limits(a, &low, &high);
        if (!a.known)
            return execute_span(reverse_bits(e->op, high), reverse_bits(e->op, low));
        /* fallthrough */
    default:
        return (struct execute_value){reverse_bits(e->op, a.number), a.known, 0};
    }
}

static struct execute_value multiplied(struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    struct execute_value a = execute_read(w, e->rn), b = execute_read(w, e->rm), d;
    d = (struct execute_value){a.number * b.number, a.known && b.known, 0};
    if (!d.known)
        d = execute_product(a, b);
    if (e->op != EFFECT_MUL)
        d = execute_sum(execute_read(w, e->ra), d, e->op == EFFECT_MLS);
    if (e->set_flags)
        set_flags(w, d, 0, 0, 0);
    return d;
}

/* The upper word of a signed product: the least and the greatest are among those of the ends. */
static struct execute_value signed_upper(struct execute_value a, struct execute_value b)
{
    int32_t ends[2][2], least = INT32_MAX, most = INT32_MIN;
    execute_signed_limits(a, &ends[0][0], &ends[0][1]);
    execute_signed_limits(b, &ends[1][0], &ends[1][1]);
    for (unsigned i = 0; i < 4; i++) {
        int32_t upper = (int32_t)((int64_t)ends[0][i & 1] * ends[1][i >> 1] >> 32);
        least = upper < least ? upper : least;
        most = upper > most ? upper : most;
    }
    return execute_span((uint32_t)least, (uint32_t)most);
}

static void multiply_long(struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    struct execute_value a = execute_read(w, e->rn), b = execute_read(w, e->rm);
    uint64_t product = (uint64_t)a.number * b.number;
    if (e->op == EFFECT_SMULL)
        product = (uint64_t)((int64_t)(int32_t)a.number * (int32_t)b.number);
    bool known = a.known && b.known;
    struct execute_value high = {(uint32_t)(product >> 32), known, 0};
    if (!known && e->op == EFFECT_UMULL) {
        uint32_t least[2], most[2];
        execute_limits(a, &least[0], &most[0]);
        execute_limits(b, &least[1], &most[1]);
        high = execute_span((uint32_t)((uint64_t)least[0] * least[1] >> 32),
                            (uint32_t)((uint64_t)most[0] * most[1] >> 32));
    } else if (!known) {
        high = signed_upper(a, b);
    }
    execute_write(w, e->ra, (struct execute_value){(uint32_t)product, known, 0});
    execute_write(w, e->rd, high);
    if (!known && e->op == EFFECT_UMULL)
        execute_relate_upper(w, a, b);
    if (e->clobber)
        execute_set_psr(w, FLAG_NZ, (product >> 32 & 0x80000000u) | (product ? 0 : 0x40000000u),
                        known ? FLAG_NZ : 0);
}

/* Of which register the flags tell what it is: an operand, or else the result. */
static void note_compared(struct execute_work *w, struct execute_value a, struct execute_value b,
                          bool known)
{
    const struct insn_effect *e = w->e;
    struct execute_compared c = {.reg = 0};
    bool plain = e->rs == EFFECT_NO_REG && !e->amount, subtracts = e->op == EFFECT_SUB,
         adds = e->op == EFFECT_ADD && b.number & 0x7fffffff;
    if (known || w->maybe)
        return;
    if ((subtracts || adds) && b.known && e->rn < EXECUTE_PC) {
        c.reg = (uint8_t)(e->rn + 1);
        c.with = subtracts ? b.number : 0 - b.number;
        c.shift = e->rd == e->rn ? c.with : 0;
    } else if (subtracts && a.known && plain && e->rm < EXECUTE_PC && e->rd != e->rm) {
        c = (struct execute_compared){
            .with = a.number, .reg = (uint8_t)(e->rm + 1), .how = EXECUTE_COMPARED_BY};
    } else if (e->op == EFFECT_AND && b.known && e->rd == EFFECT_NO_REG && e->rn < EXECUTE_PC) {
        c = (struct execute_compared){
            .with = b.number, .reg = (uint8_t)(e->rn + 1), .how = EXECUTE_COMPARED_BITS};
    } else if (e->rd < EXECUTE_PC) {
        c = (struct execute_compared){.reg = (uint8_t)(e->rd + 1), .how = EXECUTE_COMPARED_RESULT};
    }
    w->x->regs.compared = c;
}

void execute_arithmetic(struct execute_work *w)
{
    const struct insn_effect *e = w->e;
    struct execute_value d, a = known_value(0), b = a;
    uint32_t carry, carry_known, partial = 0, partial_known = 0;
    if (e->op == EFFECT_UMULL || e->op == EFFECT_SMULL) {
        multiply_long(w);
        return;
    }
    if (e->op >= EFFECT_MUL && e->op <= EFFECT_MLS) {
        d = multiplied(w);
    } else if (e->op > EFFECT_MLS) {
        d = simple(w);
    } else {
        if (e->rn != EFFECT_NO_REG)
            a = execute_read(w, e->rn);
        b = execute_operand(w, &carry, &carry_known);
        partial_known = partial_result(w, b, &partial);
        d = e->op >= EFFECT_SUB && e->op <= EFFECT_RSC ? sum(w, a, b)
                                                       : logical(w, a, b, carry, carry_known);
    }
    if (e->rd < EXECUTE_PC) {
        struct execute_relation relation = {.kind = EXECUTE_RELATED_NOT};
        if (!d.known)
            relation = execute_relation(w);
        if (relation.kind == EXECUTE_RELATED_REMAINDER)
            d = execute_remainder(d, w->x->regs.multiples.divisor);
        execute_write(w, e->rd, d);
        execute_relate(w, relation);
        execute_set_partial(w, e->rd, partial, partial_known);
    } else if (e->rd == EXECUTE_PC && e->op == EFFECT_MOV) {
        execute_learn_zeros(w);
    }
    if (e->set_flags)
        note_compared(w, a, b, d.known);
}
