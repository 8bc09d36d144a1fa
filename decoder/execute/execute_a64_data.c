/* SPDX-License-Identifier: BSD-3-Clause */
/* Data processing of general registers (Arm DDI 0487L.a, C4.1: immediate and register). */
#include "execute_a64.h"

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
    int entry = reg == A64_ZR ? execute_sp(x->core.profile, &x->regs) : (int)reg;
    struct a64_value v = entry < 0 ? a64_unknown() : a64_entry(x, (unsigned)entry);
    v.bits = a64_cut(v.bits, wide);
    return v;
}

void a64_set_sp(struct execute *x, unsigned reg, bool wide, struct a64_value v)
{
    int entry = reg == A64_ZR ? execute_sp(x->core.profile, &x->regs) : (int)reg;
    v.bits = a64_cut(v.bits, wide);
    if (entry >= 0)
        a64_set_entry(x, (unsigned)entry, v);
    else
        x->regs.known &= ~(0xfull << A64_SP0);
}

/* N == V; -1: not known. */
static int same_sign(const struct execute *x)
{
    uint32_t both = A64_N | A64_V;
    if ((x->regs.psr_known & both) != both)
        return -1;
    return !(x->regs.psr & A64_N) == !(x->regs.psr & A64_V);
}

static int flag(const struct execute *x, uint32_t bit)
{
    return x->regs.psr_known & bit ? !!(x->regs.psr & bit) : -1;
}

static int both(int a, int b)
{
    if (a == 0 || b == 0)
        return 0;
    return a < 0 || b < 0 ? -1 : 1;
}

static int invert(int a)
{
    return a < 0 ? -1 : !a;
}

int a64_condition(const struct execute *x, unsigned cond)
{
    int holds;
    switch (cond >> 1) {
    case 0:
        holds = flag(x, A64_Z);
        break;
    case 1:
        holds = flag(x, A64_C);
        break;
    case 2:
        holds = flag(x, A64_N);
        break;
    case 3:
        holds = flag(x, A64_V);
        break;
    case 4:
        holds = both(flag(x, A64_C), invert(flag(x, A64_Z)));
        break;
    case 5:
        holds = same_sign(x);
        break;
    case 6:
        holds = both(same_sign(x), invert(flag(x, A64_Z)));
        break;
    default:
        return 1;
    }
    return cond & 1 ? invert(holds) : holds;
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

static void add_and_set(struct execute *x, uint32_t op, struct a64_value a, struct a64_value b,
                        bool stack)
{
    bool wide = op >> 31, subtract = op >> 30 & 1, flags_too = op >> 29 & 1;
    uint32_t flags = 0;
    struct a64_value r = {.known = a.known && b.known};
    r.bits = add_with_flags(a.bits, subtract ? ~b.bits : b.bits, subtract, wide, &flags);
    if (flags_too)
        a64_set_flags(x, flags, r.known ? A64_NZCV : 0);
    if (stack && !flags_too)
        a64_set_sp(x, op & 31, wide, r);
    else
        a64_set(x, op & 31, wide, r);
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

/* AND, ORR, EOR, ANDS of operands, the second one inverted if N says so. */
static bool logical(struct execute *x, uint32_t op, struct a64_value a, struct a64_value b,
                    bool immediate)
{
    bool wide = op >> 31;
    unsigned opc = a64_field(op, 29, 2);
    struct a64_value r = {.known = a.known && b.known};
    r.bits = opc == 1 ? a.bits | b.bits : opc == 2 ? a.bits ^ b.bits : a.bits & b.bits;
    r.bits = a64_cut(r.bits, wide);
    bool is_and = opc == 0 || opc == 3;
    if (is_and &&
        ((a.known && a64_cut(a.bits, wide) == 0) || (b.known && a64_cut(b.bits, wide) == 0)))
        r = a64_known(0);
    if (opc == 3) {
        uint64_t sign = wide ? 1ull << 63 : 1ull << 31;
        a64_set_flags(x, (r.bits & sign ? A64_N : 0) | (r.bits ? 0 : A64_Z),
                      r.known ? A64_NZCV : A64_C | A64_V);
    }
    const struct execute_regs before = {.partial = x->regs.partial,
                                        .partial_bits = x->regs.partial_bits,
                                        .partial_known = x->regs.partial_known};
    if (immediate && opc != 3)
        a64_set_sp(x, op & 31, wide, r);
    else
        a64_set(x, op & 31, wide, r);
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
static bool bit_field(struct execute *x, uint32_t op)
{
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
    a64_set(x, rd, wide, out);
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
        v = (struct a64_value){(old.bits & ~(0xffffull << shift)) | imm, old.known};
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
        r = (struct a64_value){lo.bits >> lsb | hi.bits << (size - lsb), hi.known && lo.known};
    a64_set(x, op & 31, wide, r);
    return true;
}

bool a64_immediate(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    bool wide = op >> 31;
    unsigned rn = a64_field(op, 5, 5);
    uint64_t imm;
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
        add_and_set(x, op, a64_get_sp(x, rn, wide), a64_known(imm), true);
        return true;
    case 4:
        if (!bit_mask(a64_field(op, 22, 1), a64_field(op, 10, 6), a64_field(op, 16, 6), wide, &imm))
            return false;
        return logical(x, op, a64_get(x, rn, wide), a64_known(a64_cut(imm, wide)), true);
    case 5:
        return move_wide(x, op);
    case 6:
        return bit_field(x, op);
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

static bool shifted_register(struct execute *x, uint32_t op)
{
    bool wide = op >> 31, is_add = op >> 24 & 1;
    unsigned type = a64_field(op, 22, 2), by = a64_field(op, 10, 6);
    if ((!wide && by >= 32) || (is_add && type == 3))
        return false;
    struct a64_value a = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value b = a64_get(x, a64_field(op, 16, 5), wide);
    b.bits = shift_by(b.bits, type, by, wide);
    if (is_add) {
        add_and_set(x, op, a, b, false);
        return true;
    }
    if (op >> 21 & 1)
        b.bits = a64_cut(~b.bits, wide);
    return logical(x, op, a, b, false);
}

static bool extended_register(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    unsigned option = a64_field(op, 13, 3), by = a64_field(op, 10, 3), bits = 8u << (option & 3);
    if (by > 4 || a64_field(op, 22, 2))
        return false;
    struct a64_value b = a64_get(x, a64_field(op, 16, 5), true);
    b.bits = option & 4 ? (uint64_t)a64_signed(b.bits, bits) : b.bits & ones(bits);
    b.bits = a64_cut(b.bits << by, wide);
    add_and_set(x, op, a64_get_sp(x, a64_field(op, 5, 5), wide), b, true);
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
    bool wide = op >> 31, subtract = op >> 30 & 1;
    if (!(op >> 29 & 1) || op & 0x410)
        return false;
    struct a64_value a = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value b =
        op >> 11 & 1 ? a64_known(a64_field(op, 16, 5)) : a64_get(x, a64_field(op, 16, 5), wide);
    int holds = a64_condition(x, a64_field(op, 12, 4));
    uint32_t flags;
    add_with_flags(a.bits, subtract ? ~b.bits : b.bits, subtract, wide, &flags);
    if (holds == 0)
        a64_set_flags(x, op << 28, A64_NZCV);
    else
        a64_set_flags(x, flags, holds == 1 && a.known && b.known ? A64_NZCV : 0);
    return true;
}

static bool conditional_select(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    if (op >> 29 & 1 || a64_field(op, 11, 1))
        return false;
    int holds = a64_condition(x, a64_field(op, 12, 4));
    struct a64_value a = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value b = a64_get(x, a64_field(op, 16, 5), wide);
    if (op >> 30 & 1)
        b.bits = ~b.bits;
    if (op >> 10 & 1)
        b.bits++;
    b.bits = a64_cut(b.bits, wide);
    if (holds < 0)
        a.known = a.known && b.known && a.bits == b.bits;
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

static bool two_sources(struct execute *x, uint32_t op)
{
    bool wide = op >> 31;
    unsigned which = a64_field(op, 10, 6), rd = op & 31;
    if (op >> 29 & 1)
        return false;
    struct a64_value a = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value b = a64_get(x, a64_field(op, 16, 5), wide), r = {.known = a.known && b.known};
    if (which == 2 || which == 3) {
        r.bits = divide(a.bits, b.bits, which == 3, wide);
    } else if (which >= 8 && which < 12) {
        r.bits = shift_by(a.bits, which & 3, b.bits & (wide ? 63 : 31), wide);
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
        v.bits = v.bits ? (uint64_t)__builtin_clzll(v.bits) - (64 - size) : size;
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

static bool three_sources(struct execute *x, uint32_t op)
{
    bool wide = op >> 31, minus = op >> 15 & 1;
    unsigned which = a64_field(op, 21, 3);
    struct a64_value n = a64_get(x, a64_field(op, 5, 5), wide);
    struct a64_value m = a64_get(x, a64_field(op, 16, 5), wide);
    struct a64_value a = a64_get(x, a64_field(op, 10, 5), wide);
    struct a64_value r = {.known = n.known && m.known && a.known};
    if (a64_field(op, 29, 2) || (which && !wide))
        return false;
    switch (which) {
    case 0:
        r.bits = n.bits * m.bits;
        break;
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
        a64_set(x, op & 31, true,
                (struct a64_value){(uint64_t)(product >> 64), n.known && m.known});
        return !minus;
    }
    default:
        return false;
    }
    r.bits = minus ? a.bits - r.bits : a.bits + r.bits;
    a64_set(x, op & 31, wide, r);
    return true;
}

bool a64_register(struct execute *x, const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    if (!(op >> 28 & 1))
        return op >> 24 & 1 && op >> 21 & 1 ? extended_register(x, op) : shifted_register(x, op);
    if (op >> 24 & 1)
        return three_sources(x, op);
    switch (a64_field(op, 21, 4)) {
    case 0:
        return add_with_carry(x, op);
    case 2:
        return conditional_compare(x, op);
    case 4:
        return conditional_select(x, op);
    case 6:
        return op >> 30 & 1 ? one_source(x, op) : two_sources(x, op);
    default:
        return false;
    }
}
