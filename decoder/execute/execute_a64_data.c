/* SPDX-License-Identifier: BSD-3-Clause */
/* Data processing of general registers (Arm DDI 0487L.a, C4.1: immediate and register). */
#include "execute_a64.h"

/* Compilers divide small numbers by less, too, but such products are most often something else. */
#define RECIPROCAL_MIN 0x1000000u

int execute_sp(enum execute_profile profile, const struct execute_regs *r)
{
    bool leveled = (r->psr_known & A64_PSTATE_EL) == A64_PSTATE_EL;
    int level = (int)a64_field(r->psr, 2, 2);
    if (profile != EXECUTE_PROFILE_A64)
        return EXECUTE_SP;
    if (leveled && level == 0)
        return A64_SP0;
    if (!(r->psr_known & A64_PSTATE_SP))
        return -1;
    if (!(r->psr & A64_PSTATE_SP))
        return A64_SP0;
    return leveled ? A64_SP0 + level : -1;
}

struct a64_value a64_get_sp(const struct execute *x, unsigned reg, bool wide)
{
    if (reg != A64_ZR)
        return a64_span(x, reg, wide);
    int entry = execute_sp(x->core.profile, &x->regs);
    struct a64_value v = entry < 0 ? a64_unknown() : a64_entry(x, (unsigned)entry);
    v.bits = a64_cut(v.bits, wide);
    return v;
}

void a64_set_sp(struct execute *x, unsigned reg, bool wide, struct a64_value v)
{
    int entry = execute_sp(x->core.profile, &x->regs);
    if (reg != A64_ZR) {
        a64_set(x, reg, wide, v);
        return;
    }
    v.bits = a64_cut(v.bits, wide);
    if (entry >= 0)
        a64_set_entry(x, (unsigned)entry, v);
    else
        x->regs.known &= ~(0xfull << A64_SP0);
}

/* A register of an instruction that is told of as one of 32 bits with such an effect, so that what
 * registers tell of each other is told of its result, too. */
static void put(struct execute *x, const struct execute_insn *i, const struct insn_effect *e,
                struct a64_value v)
{
    struct execute_work w = {.x = x, .insn = i, .e = e};
    struct execute_relation is = {.kind = EXECUTE_RELATED_NOT};
    bool wide = i->opcode >> 31, upper = wide && e->shift == EFFECT_LSR && e->amount,
         all = e->rn != A64_ZR && e->rm != A64_ZR && e->ra != A64_ZR && e->rd != A64_ZR;
    if (!v.known && all && upper && e->op == EFFECT_MOV)
        is = execute_shift_product(&x->regs.multiples, e->rm, e->amount);
    else if (!v.known && all && !upper) /* of which upper words come down */
        is = execute_relation(&w);
    if (is.kind == EXECUTE_RELATED_REMAINDER &&
        (!wide || ((e->rn >= A64_ZR || a64_is_word(x, e->rn)) && a64_is_word(x, e->rm) &&
                   (e->ra >= A64_ZR || a64_is_word(x, e->ra))))) {
        uint64_t divisor = x->regs.multiples.divisor;
        if (!v.range || v.bits + v.range < v.bits || v.bits + v.range >= divisor)
            v = (struct a64_value){.range = divisor - 1};
    }
    a64_set(x, e->rd, wide, v);
    execute_relate(&w, is);
}

/* x + y + carry, and its flags. */
static uint64_t add_with_flags(uint64_t a, uint64_t b, bool carry, bool wide, uint32_t *flags)
{
    uint64_t sign = wide ? 1ull << 63 : 1ull << 31;
    uint64_t sum = a64_cut(a + b + carry, wide);
    a = a64_cut(a, wide);
    b = a64_cut(b, wide);
    bool out = carry ? sum <= a : sum < a;
    bool overflow = (~(a ^ b) & (a ^ sum) & sign) != 0;
    *flags =
        (sum & sign ? A64_N : 0) | (sum ? 0 : A64_Z) | (out ? A64_C : 0) | (overflow ? A64_V : 0);
    return sum;
}

/* Of which register the flags of a - b tell, or of a + b. */
static struct execute_compared comparison(uint32_t op, struct a64_value a, struct a64_value b,
                                          bool plain)
{
    bool wide = op >> 31, subtract = op >> 30 & 1;
    unsigned rn = a64_field(op, 5, 5), rm = a64_field(op, 16, 5), rd = op & 31;
    struct execute_compared c = {.wide = wide};
    if (b.known && rn != A64_ZR && (subtract || a64_cut(b.bits << 1, wide))) {
        c.reg = (uint8_t)(rn + 1);
        c.with = a64_cut(subtract ? b.bits : 0 - b.bits, wide);
    } else if (subtract && a.known && plain && rm != A64_ZR && rd != rm) {
        c.reg = (uint8_t)(rm + 1);
        c.with = a.bits;
        c.how = EXECUTE_COMPARED_BY;
    } else if (rd != A64_ZR) {
        c.reg = (uint8_t)(rd + 1);
        c.how = EXECUTE_COMPARED_RESULT;
    }
    return c;
}

/* `related`: NULL, or of two registers, of which one may be shifted. */
static void add_and_set(struct execute *x, const struct execute_insn *i, struct a64_value a,
                        struct a64_value b, const struct insn_effect *related)
{
    uint32_t op = i->opcode, flags = 0;
    bool wide = op >> 31, subtract = op >> 30 & 1, flags_too = op >> 29 & 1;
    struct execute_compared c = comparison(op, a, b, related && !related->amount);
    struct a64_value r = {.known = a.known && b.known};
    r.bits = add_with_flags(a.bits, subtract ? ~b.bits : b.bits, subtract, wide, &flags);
    if (!r.known)
        r = a64_sum(a, b, subtract, wide);
    if (flags_too)
        a64_set_flags(x, flags, r.known ? A64_NZCV : 0);
    if (flags_too && !r.known)
        a64_note_compared(x, c);
    if (related)
        put(x, i, related, r);
    else if (flags_too)
        a64_set(x, op & 31, wide, r);
    else
        a64_set_sp(x, op & 31, wide, r);
    if (!flags_too || r.known || !c.reg || c.reg != (op & 31) + 1)
        return;
    x->regs.compared.reg = c.reg; /* it is less now */
    x->regs.compared.shift = c.how == EXECUTE_COMPARED_WITH ? c.with : 0;
}

/* Of the operand of which some bits are known (execute_regs.partial), with one that is known. */
static void logical_in_part(struct execute *x, uint32_t op, const struct execute_regs *before,
                            uint64_t with)
{
    unsigned opc = a64_field(op, 29, 2);
    uint32_t bits = before->partial_bits, known = before->partial_known;
    if (opc == 0 || opc == 3)
        a64_set_partial(x, op & 31, bits & (uint32_t)with, known | ~(uint32_t)with);
    else if (!(with >> 32))
        a64_set_partial(x, op & 31, opc == 1 ? bits | (uint32_t)with : bits ^ (uint32_t)with,
                        opc == 1 ? known | (uint32_t)with : known);
}

static void note_tested(struct execute *x, uint32_t op, struct a64_value b)
{
    unsigned rn = a64_field(op, 5, 5), rd = op & 31;
    struct execute_compared c = {.wide = op >> 31};
    if (b.known && rn != A64_ZR && rd != rn) {
        c.reg = (uint8_t)(rn + 1);
        c.with = a64_cut(b.bits, c.wide);
        c.how = EXECUTE_COMPARED_BITS;
    } else if (rd != A64_ZR) {
        c.reg = (uint8_t)(rd + 1);
        c.how = EXECUTE_COMPARED_RESULT;
    }
    a64_note_compared(x, c);
}

static void note_copy(struct execute_multiples *m, unsigned to, unsigned from)
{
    m->copy = (uint8_t)(to + 1);
    m->copied = (uint8_t)(from + 1);
    execute_note_others(m);
}

/* AND, ORR, EOR, ANDS of operands, the second one inverted if N says so. */
static bool logical(struct execute *x, const struct execute_insn *i, struct a64_value a,
                    struct a64_value b, const struct insn_effect *e)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31, immediate = e->rm == EFFECT_NO_REG;
    unsigned opc = a64_field(op, 29, 2);
    struct a64_value r = {.known = a.known && b.known};
    r.bits = opc == 1 ? a.bits | b.bits : opc == 2 ? a.bits ^ b.bits : a.bits & b.bits;
    r.bits = a64_cut(r.bits, wide);
    bool is_and = opc == 0 || opc == 3;
    if (is_and &&
        ((a.known && a64_cut(a.bits, wide) == 0) || (b.known && a64_cut(b.bits, wide) == 0)))
        r = a64_known(0);
    if (!r.known)
        r = a64_joined(opc, a, b, wide);
    if (opc == 3) {
        uint64_t sign = wide ? 1ull << 63 : 1ull << 31;
        a64_set_flags(x, (r.bits & sign ? A64_N : 0) | (r.bits ? 0 : A64_Z),
                      r.known ? A64_NZCV : A64_C | A64_V);
    }
    const struct execute_regs before = {.partial = x->regs.partial,
                                        .partial_bits = x->regs.partial_bits,
                                        .partial_known = x->regs.partial_known};
    if (immediate && opc != 3 && (op & 31) == A64_ZR)
        a64_set_sp(x, A64_ZR, wide, r);
    else
        put(x, i, e, r);
    if (opc == 3 && !r.known)
        note_tested(x, op, b);
    if (!r.known && e->op == EFFECT_MOV && !e->amount && e->rd != e->rm && e->rm < A64_ZR &&
        e->rd < A64_ZR)
        note_copy(&x->regs.multiples, e->rd, e->rm);
    if (before.partial && !r.known && b.known && before.partial == a64_field(op, 5, 5) + 1)
        logical_in_part(x, op, &before, a64_cut(b.bits, wide));
    return true;
}

static uint64_t ones(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

static uint64_t rotate(uint64_t v, unsigned by, unsigned size)
{
    v &= ones(size);
    by %= size;
    return by ? (v >> by | v << (size - by)) & ones(size) : v;
}

static uint64_t replicate(uint64_t v, unsigned size)
{
    for (; size < 64; size *= 2)
        v |= v << size;
    return v;
}

/* All forms of a bit mask immediate; false: reserved. */
static bool bit_mask(unsigned n, unsigned imms, unsigned immr, bool wide, uint64_t *mask)
{
    unsigned pattern = n << 6 | (~imms & 0x3f), len = 6;
    while (len > 0 && !(pattern >> len & 1))
        len--;
    if (len < 1 || (n && !wide))
        return false;
    unsigned size = 1u << len, s = imms & (size - 1);
    if (s == size - 1)
        return false;
    *mask = replicate(rotate(ones(s + 1), immr & (size - 1), size), size);
    return true;
}

/* SBFM, BFM, UBFM. */
static bool bit_field(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31;
    unsigned opc = a64_field(op, 29, 2), r = a64_field(op, 16, 6), s = a64_field(op, 10, 6);
    unsigned size = wide ? 64 : 32, rd = op & 31;
    if (opc == 3 || a64_field(op, 22, 1) != wide || r >= size || s >= size)
        return false;
    struct a64_value v = a64_get(x, a64_field(op, 5, 5), wide), old = a64_get(x, rd, wide);
    /* The field: where it lies in the result, and how wide it is. */
    unsigned width = s >= r ? s - r + 1 : s + 1, at = s >= r ? 0 : size - r;
    uint64_t field = (s >= r ? v.bits >> r : v.bits) & ones(width);
    struct a64_value out = {.bits = field << at, .known = v.known};
    if (opc == 1) {
        out.bits |= old.bits & ~(ones(width) << at);
        out.known = (v.known || width == 0) && (old.known || width == size);
    } else if (opc == 0 && field >> (width - 1) & 1) {
        out.bits |= ~ones(at + width);
    }
    const struct a64_bits bits = {
        .lsb = s >= r ? r : 0, .width = width, .at = at, .wide = wide, .sign = opc == 0};
    struct insn_effect e;
    effect_init(&e);
    e.rd = (uint8_t)rd;
    e.op = EFFECT_EOR; /* tells nothing */
    if (opc == 2 && (s == size - 1 || (at && at + width == size && at < 32))) {
        e.op = EFFECT_MOV;
        e.rm = (uint8_t)a64_field(op, 5, 5);
        e.shift = at ? EFFECT_LSL : EFFECT_LSR;
        e.amount = (uint8_t)(at ? at : r);
    }
    if (!out.known && opc != 1)
        out = a64_part(x, a64_field(op, 5, 5), &bits);
    put(x, i, &e, out);
    return true;
}

static bool move_wide(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    unsigned opc = a64_field(op, 29, 2), shift = 16 * a64_field(op, 21, 2), rd = op & 31;
    uint64_t imm = (uint64_t)a64_field(op, 5, 16) << shift;
    if (opc == 1 || (!wide && shift >= 32))
        return false;
    struct a64_value v = a64_known(opc == 0 ? ~imm : imm);
    if (opc == 3) {
        struct a64_value old = a64_get(x, rd, wide);
        v = a64_perhaps((old.bits & ~(0xffffull << shift)) | imm, old.known);
    }
    a64_set(x, rd, wide, v);
    return true;
}

static bool extract(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    unsigned lsb = a64_field(op, 10, 6), size = wide ? 64 : 32;
    if (a64_field(op, 29, 2) || a64_field(op, 21, 1) || a64_field(op, 22, 1) != wide || lsb >= size)
        return false;
    struct a64_value hi = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value lo = a64_get(x, a64_field(op, 16, 5), wide), r = lo;
    if (lsb)
        r = a64_perhaps(lo.bits >> lsb | hi.bits << (size - lsb), hi.known && lo.known);
    a64_set(x, op & 31, wide, r);
    return true;
}

static bool of_immediate(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31;
    unsigned rn = a64_field(op, 5, 5);
    uint64_t imm;
    struct insn_effect e;
    effect_init(&e);
    e.rd = op & 31;
    e.rn = (uint8_t)rn;
    switch (a64_field(op, 23, 3)) {
    case 0:
    case 1: /* ADR, ADRP */
        imm = (uint64_t)a64_signed(a64_field(op, 5, 19) << 2 | a64_field(op, 29, 2), 21);
        if (wide)
            a64_set(x, op & 31, true, a64_known((i->address & ~0xfffull) + (imm << 12)));
        else
            a64_set(x, op & 31, true, a64_known(i->address + imm));
        return true;
    case 2:
        imm = (uint64_t)a64_field(op, 10, 12) << 12 * a64_field(op, 22, 1);
        add_and_set(x, i, a64_get_sp(x, rn, wide), a64_known(imm), NULL);
        return true;
    case 4:
        if (!bit_mask(a64_field(op, 22, 1), a64_field(op, 10, 6), a64_field(op, 16, 6), wide, &imm))
            return false;
        e.op = a64_field(op, 29, 2) == 1   ? EFFECT_ORR
               : a64_field(op, 29, 2) == 2 ? EFFECT_EOR
                                           : EFFECT_AND;
        e.imm = (uint32_t)imm;
        return logical(x, i, a64_span(x, rn, wide), a64_known(a64_cut(imm, wide)), &e);
    case 5:
        return move_wide(x, op);
    case 6:
        return bit_field(x, i);
    case 7:
        return extract(x, op);
    default: /* memory tags */
        return false;
    }
}

static uint64_t shift_by(uint64_t v, unsigned type, unsigned by, bool wide)
{
    unsigned size = wide ? 64 : 32;
    switch (type) {
    case 0:
        return a64_cut(v << by, wide);
    case 1:
        return a64_cut(v, wide) >> by;
    case 2:
        return a64_cut((uint64_t)(a64_signed(v, size) >> by), wide);
    default:
        return rotate(v, by, size);
    }
}

static bool shifted_register(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31, is_add = op >> 24 & 1, inverts = !is_add && op >> 21 & 1;
    unsigned type = a64_field(op, 22, 2), by = a64_field(op, 10, 6), opc = a64_field(op, 29, 2);
    if ((!wide && by >= 32) || (is_add && type == 3))
        return false;
    struct a64_value a = a64_span(x, a64_field(op, 5, 5), wide);
    struct a64_value b = a64_span(x, a64_field(op, 16, 5), wide);
    struct insn_effect e;
    effect_init(&e);
    e.rd = op & 31;
    e.rm = a64_field(op, 16, 5);
    e.rn = a64_field(op, 5, 5);
    e.shift = type == 0 ? EFFECT_LSL : type == 1 ? EFFECT_LSR : EFFECT_ASR;
    e.amount = (uint8_t)by;
    if (b.known)
        b.bits = shift_by(b.bits, type, by, wide);
    else
        b = a64_shifted(b, type, a64_known(by), wide);
    if (is_add) {
        e.op = by > 31 ? EFFECT_EOR : op >> 30 & 1 ? EFFECT_SUB : EFFECT_ADD; /* of lower words */
        add_and_set(x, i, a, b, &e);
        return true;
    }
    e.op = opc == 1 ? EFFECT_ORR : EFFECT_EOR;
    if (opc == 1 && e.rn == A64_ZR && !inverts && type < 2 && by < 32) {
        e.op = EFFECT_MOV;
        e.rn = EFFECT_NO_REG;
    }
    if (inverts)
        b = a64_inverse(b, wide);
    return logical(x, i, a, b, &e);
}

static bool extended_register(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31;
    unsigned option = a64_field(op, 13, 3), by = a64_field(op, 10, 3), bits = 8u << (option & 3);
    if (by > 4 || a64_field(op, 22, 2))
        return false;
    struct a64_value b = a64_get(x, a64_field(op, 16, 5), true);
    b.bits = option & 4 ? (uint64_t)a64_signed(b.bits, bits) : b.bits & ones(bits);
    b.bits = a64_cut(b.bits << by, wide);
    if (!b.known)
        b = a64_part(x, a64_field(op, 16, 5),
                     &(struct a64_bits){.width = bits, .at = by, .wide = wide, .sign = option & 4});
    add_and_set(x, i, a64_get_sp(x, a64_field(op, 5, 5), wide), b, NULL);
    return true;
}

static bool add_with_carry(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    if (a64_field(op, 10, 6))
        return false; /* RMIF, SETF8, SETF16 */
    struct a64_value a = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value b = a64_get(x, a64_field(op, 16, 5), wide);
    int carry = a64_condition(x, 2);
    uint32_t flags;
    struct a64_value r = {.known = a.known && b.known && carry >= 0};
    r.bits = add_with_flags(a.bits, op >> 30 & 1 ? ~b.bits : b.bits, carry == 1, wide, &flags);
    if (op >> 29 & 1)
        a64_set_flags(x, flags, r.known ? A64_NZCV : 0);
    a64_set(x, op & 31, wide, r);
    return true;
}

static bool conditional_compare(struct execute *x, uint32_t op)
{
    bool wide = op >> 31, subtract = op >> 30 & 1, immediate = op >> 11 & 1;
    unsigned cond = a64_field(op, 12, 4);
    if (!(op >> 29 & 1) || op & 0x410)
        return false;
    struct a64_value a = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value b =
        immediate ? a64_known(a64_field(op, 16, 5)) : a64_get(x, a64_field(op, 16, 5), wide);
    int holds = a64_holds(x, cond);
    uint32_t flags;
    add_with_flags(a.bits, subtract ? ~b.bits : b.bits, subtract, wide, &flags);
    if (holds == 0) {
        a64_set_flags(x, op << 28, A64_NZCV);
        return true;
    }
    if (holds < 0)
        a64_chain(x, cond, op & 15);
    unsigned chained = holds < 0 ? x->regs.chained : 0;
    bool known = a.known && b.known;
    a64_set_flags(x, flags, holds == 1 && known ? A64_NZCV : 0);
    x->regs.chained = (uint8_t)chained;
    if (!known)
        a64_note_compared(x, comparison(op | 31, a, b, !immediate));
    return true;
}

static bool conditional_select(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    if (op >> 29 & 1 || a64_field(op, 11, 1))
        return false;
    unsigned cond = a64_field(op, 12, 4);
    int holds = a64_holds(x, cond);
    struct a64_value a = a64_derived(x, a64_field(op, 5, 5), wide, cond, a64_data);
    struct a64_value b = a64_derived(x, a64_field(op, 16, 5), wide, cond ^ 1, a64_data);
    if (op >> 30 & 1)
        b = a64_inverse(b, wide);
    if (op >> 10 & 1)
        b = a64_sum(b, a64_known(1), false, wide);
    if (holds < 0)
        a = a64_either(a, b, wide);
    a64_set(x, op & 31, wide, holds == 0 ? b : a);
    return true;
}

static uint32_t crc(uint32_t sum, uint64_t data, unsigned bytes, uint32_t polynomial)
{
    for (unsigned bit = 0; bit < 8 * bytes; bit++, data >>= 1)
        sum = sum >> 1 ^ ((sum ^ data) & 1 ? polynomial : 0);
    return sum;
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool wide)
{
    if (!b)
        return 0;
    if (!is_signed)
        return a / b;
    int64_t n = a64_signed(a, wide ? 64 : 32), d = a64_signed(b, wide ? 64 : 32);
    return d == -1 ? 0 - (uint64_t)n : (uint64_t)(n / d);
}

static bool two_sources(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31;
    unsigned which = a64_field(op, 10, 6), rd = op & 31;
    if (op >> 29 & 1)
        return false;
    struct a64_value a = a64_span(x, a64_field(op, 5, 5), wide);
    struct a64_value b = a64_span(x, a64_field(op, 16, 5), wide), r = {.known = a.known && b.known};
    struct insn_effect e;
    effect_init(&e);
    e.rd = (uint8_t)rd;
    if (which == 2 || which == 3) {
        e.op = which == 2 ? EFFECT_UDIV : EFFECT_SDIV;
        e.rn = a64_field(op, 5, 5);
        e.rm = a64_field(op, 16, 5);
        r.bits = divide(a.bits, b.bits, which == 3, wide);
        if (!r.known)
            r = a64_quotient(a, b, which == 3, wide);
        if (!wide) {
            put(x, i, &e, r);
            return true;
        }
    } else if (which >= 8 && which < 12) {
        b.bits &= b.known ? (wide ? 63 : 31) : UINT64_MAX;
        r.bits = shift_by(a.bits, which & 3, b.bits & (wide ? 63 : 31), wide);
        if (!r.known)
            r = a64_shifted(a, which & 3, b, wide);
    } else if (which >= 16 && which < 24 && wide == ((which & 3) == 3)) {
        uint32_t polynomial = which & 4 ? 0x82f63b78 : 0xedb88320;
        r.bits = crc((uint32_t)a.bits, b.bits, 1u << (which & 3), polynomial);
        wide = false;
    } else if (which == 12 && wide) {
        r.known = false; /* PACGA */
    } else {
        return false;
    }
    a64_set(x, rd, wide, r);
    return true;
}

static uint64_t a64_reverse_bits(uint64_t v, unsigned size)
{
    uint64_t r = 0;
    for (unsigned bit = 0; bit < size; bit++)
        r |= (v >> bit & 1) << (size - 1 - bit);
    return r;
}

/* The order of bytes within units of `unit` of them. */
static uint64_t reverse_bytes(uint64_t v, unsigned unit, unsigned size)
{
    uint64_t r = 0;
    for (unsigned byte = 0; byte < size / 8; byte++)
        r |= (v >> 8 * byte & 0xff) << 8 * (byte / unit * unit + unit - 1 - byte % unit);
    return r;
}

static bool one_source(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    unsigned which = a64_field(op, 10, 6), size = wide ? 64 : 32;
    struct a64_value v = a64_get(x, a64_field(op, 5, 5), wide);
    uint64_t sign = (uint64_t)a64_signed(v.bits, size);
    if (op >> 29 & 1)
        return false;
    if (a64_field(op, 16, 5) == 1) { /* pointer authentication: it keeps the destination's place */
        a64_set(x, op & 31, true, a64_unknown());
        return true;
    }
    if (a64_field(op, 16, 5) || which > 5 || (which == 3 && !wide))
        return false;
    switch (which) {
    case 0:
        v.bits = a64_reverse_bits(v.bits, size);
        break;
    case 1:
    case 2:
    case 3:
        v.bits = reverse_bytes(v.bits, which == 2 && !wide ? 4 : 1u << which, size);
        break;
    case 4:
        v = a64_zeros(a64_span(x, a64_field(op, 5, 5), wide), wide);
        break;
    default:
        sign = sign >> 63 ? ~sign : sign;
        v.bits = (sign ? (uint64_t)__builtin_clzll(sign) - (64 - size) : size) - 1;
        if (!sign)
            v.bits = size - 1;
        break;
    }
    a64_set(x, op & 31, wide, v);
    return true;
}

/* A product with what may be a reciprocal: of what may be divided so. */
static void put_product(struct execute *x, uint32_t op, struct a64_value r, struct a64_value n,
                        struct a64_value m, unsigned shifted)
{
    unsigned source = a64_field(op, n.known ? 16 : 5, 5);
    struct execute_product_of p = {.product = op & 31,
                                   .sources = execute_same(&x->regs.multiples, source),
                                   .written = 1u << (op & 31),
                                   .magic = n.known ? n.bits : m.bits,
                                   .shifted = (uint8_t)shifted};
    struct a64_value v = n.known ? m : n;
    bool word = v.range && v.bits + v.range <= UINT32_MAX && v.bits + v.range >= v.bits;
    a64_set(x, op & 31, true, r);
    if (r.known || n.known == m.known || p.product == A64_ZR || source == A64_ZR || !word ||
        p.magic < RECIPROCAL_MIN)
        return;
    p.most = (uint32_t)(v.bits + v.range);
    if (shifted || !(((unsigned __int128)p.most * p.magic) >> 64))
        execute_relate_product(&x->regs.multiples, &p);
}

/* MADD, MSUB. */
static void multiply_add(struct execute *x, const struct execute_insn *i, struct a64_value n,
                         struct a64_value m, struct a64_value a)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31, minus = op >> 15 & 1;
    struct a64_value r = {.known = n.known && m.known && a.known};
    struct insn_effect e;
    effect_init(&e);
    r.bits = minus ? a.bits - n.bits * m.bits : a.bits + n.bits * m.bits;
    e.rd = op & 31;
    e.rn = a64_field(op, 5, 5);
    e.rm = a64_field(op, 16, 5);
    e.ra = a64_field(op, 10, 5);
    e.op = minus ? EFFECT_MLS : EFFECT_MLA;
    if (e.ra == A64_ZR && !minus) {
        e.op = EFFECT_MUL;
        e.ra = EFFECT_NO_REG;
    }
    if (!r.known)
        r = a64_sum(a, a64_product(n, m, wide), minus, wide);
    uint32_t of = x->regs.multiples.of;
    if (wide && e.op == EFFECT_MUL && !(of >> e.rn & 1) && !(of >> e.rm & 1))
        put_product(x, op, r, n, m, 0);
    else
        put(x, i, &e, r);
}

static bool three_sources(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31, minus = op >> 15 & 1;
    unsigned which = a64_field(op, 21, 3), rn = a64_field(op, 5, 5), rm = a64_field(op, 16, 5);
    struct a64_value n = a64_span(x, rn, wide), m = a64_span(x, rm, wide);
    struct a64_value a = a64_span(x, a64_field(op, 10, 5), wide);
    struct a64_value r = {.known = n.known && m.known && a.known};
    if (a64_field(op, 29, 2) || (which && !wide))
        return false;
    switch (which) {
    case 0:
        multiply_add(x, i, n, m, a);
        return true;
    case 1:
        r.bits = (uint64_t)((int64_t)(int32_t)n.bits * (int32_t)m.bits);
        break;
    case 5:
        r.bits = (uint64_t)(uint32_t)n.bits * (uint32_t)m.bits;
        break;
    case 2:
    case 6: {
        unsigned __int128 product =
            which == 6 ? (unsigned __int128)n.bits * m.bits
                       : (unsigned __int128)((__int128)(int64_t)n.bits * (int64_t)m.bits);
        r = (struct a64_value){(uint64_t)(product >> 64), n.known && m.known, 0};
        if (!r.known)
            r = which == 6 ? a64_upper_product(n, m) : a64_unknown();
        if (which == 6)
            put_product(x, op, r, n, m, 64);
        else
            a64_set(x, op & 31, true, r);
        return !minus;
    }
    default:
        return false;
    }
    r.bits = minus ? a.bits - r.bits : a.bits + r.bits;
    n = a64_span(x, rn, false);
    m = a64_span(x, rm, false);
    if (!r.known)
        r = a64_sum(a, a64_long_product(n, m, which == 1), minus, true);
    if (!n.known && (!n.range || n.range > UINT32_MAX - n.bits))
        n = (struct a64_value){.range = UINT32_MAX};
    if (!m.known && (!m.range || m.range > UINT32_MAX - m.bits))
        m = (struct a64_value){.range = UINT32_MAX};
    if (which == 5 && !minus && a64_field(op, 10, 5) == A64_ZR)
        put_product(x, op, r, n, m, 0);
    else
        a64_set(x, op & 31, true, r);
    return true;
}

static bool registers(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    if (!(op >> 28 & 1))
        return op >> 24 & 1 && op >> 21 & 1 ? extended_register(x, i) : shifted_register(x, i);
    if (op >> 24 & 1)
        return three_sources(x, i);
    switch (a64_field(op, 21, 4)) {
    case 0:
        return add_with_carry(x, op);
    case 2:
        return conditional_compare(x, op);
    case 4:
        return conditional_select(x, op);
    case 6:
        return op >> 30 & 1 ? one_source(x, op) : two_sources(x, i);
    default:
        return false;
    }
}

bool a64_data(struct execute *x, const struct execute_insn *i)
{
    return (i->opcode >> 25 & 14) == 8 ? of_immediate(x, i) : registers(x, i);
}
