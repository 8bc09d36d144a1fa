/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating point and SIMD of A64 (Arm DDI 0487L.a, C4.1, C7.2): moves always; arithmetic in single
 * and double precision, of scalars and of vectors, where FPCR is known; of the rest what is unknown
 * behind it. FPSR is not kept.
 */
#include "execute_a64.h"
#include "execute_real.h"

#define FPCR_OTHER 7u /* FIZ, AH, NEP: another arithmetic */

struct float_a64 {
    struct execute *x;
    uint32_t op;
    unsigned d, n, m;
    bool wide; /* double */
    unsigned lanes;
    struct real_mode mode;
};

static struct real a64_lane(const struct float_a64 *f, unsigned reg, unsigned lane)
{
    struct a64_value v = a64_half(f->x, reg, f->wide ? lane : lane / 2);
    return (struct real){f->wide ? v.bits : (uint32_t)(v.bits >> 32 * (lane & 1)), v.known};
}

/* Behind the last lane all is zero. */
static void set_lanes(const struct float_a64 *f, const struct real *r, bool wide)
{
    for (unsigned half = 0; half < 2; half++) {
        struct a64_value v = a64_known(0);
        for (unsigned n = 0; n < f->lanes; n++)
            if ((wide ? n : n / 2) == half) {
                v.bits |= wide ? r[n].bits : (uint64_t)(uint32_t)r[n].bits << 32 * (n & 1);
                v.known = v.known && r[n].known;
            }
        a64_set_half(f->x, f->d, half, v);
    }
}

static enum real_rounding rounding_of(unsigned number)
{
    static const uint8_t list[5] = {REAL_NEAREST, REAL_UP, REAL_DOWN, REAL_TO_ZERO, REAL_AWAY};
    return (enum real_rounding)list[number < 5 ? number : 0];
}

/* With two operands, as scalars have them in bits 15 to 12; then FMLA, FMLS and FABD of vectors. */
enum { TWO_FNMUL = 8, TWO_FMLA, TWO_FMLS, TWO_FABD, TWO_COUNT };

static struct real a64_two(const struct float_a64 *f, unsigned what, struct real n, struct real m,
                           struct real d)
{
    static const uint8_t ops[8] = {REAL_MUL, REAL_DIV, REAL_ADD,        REAL_SUB,
                                   REAL_MAX, REAL_MIN, REAL_MAX_NUMBER, REAL_MIN_NUMBER};
    bool wide = f->wide;
    switch (what) {
    case TWO_FNMUL:
        return real_negate(real_combine(f->mode, REAL_MUL, n, m, wide), wide);
    case TWO_FMLA:
        return real_fused(f->mode, n, m, d, wide);
    case TWO_FMLS:
        return real_fused(f->mode, real_negate(n, wide), m, d, wide);
    case TWO_FABD:
        n = real_combine(f->mode, REAL_SUB, n, m, wide);
        n.bits &= wide ? INT64_MAX : INT32_MAX;
        return n;
    default:
        return real_combine(f->mode, (enum real_op)ops[what], n, m, wide);
    }
}

/* With one, as scalars have them in bits 20 to 15: FMOV, FABS, FNEG, FSQRT; FRINT from 8 on. */
static struct real a64_one(const struct float_a64 *f, unsigned what, struct real n)
{
    uint64_t magnitude = f->wide ? INT64_MAX : INT32_MAX;
    n.known = n.known && (f->mode.known || what == 0);
    if (what == 1 || what == 2)
        n.bits = what == 1 ? n.bits & magnitude : n.bits ^ (magnitude + 1);
    else if (what == 3)
        n = real_root(f->mode, n, f->wide);
    else if (what >= 8)
        n = real_round(f->mode, n, f->wide,
                       what < 13 ? rounding_of(what - 8) : (enum real_rounding)f->mode.rounding);
    return n;
}

/* FCVT between precisions: `ftype` and bits 16 and 15. */
static void convert_precision(const struct float_a64 *f)
{
    static const uint8_t size[4] = {32, 64, 0, 16};
    unsigned from = size[a64_field(f->op, 22, 2)], to = size[a64_field(f->op, 15, 2)];
    struct a64_value v = a64_half(f->x, f->n, 0);
    if (from < 64)
        v.bits &= (UINT64_C(1) << from) - 1;
    struct real r = {0, false};
    if (from && to && from != to)
        r = real_convert(f->mode, (struct real){v.bits, v.known}, from, to);
    a64_set_scalar(f->x, f->d, a64_perhaps(r.bits, r.known));
}

/* To and from a general register, with `fraction` bits behind the point. */
static bool convert_integer(const struct float_a64 *f, unsigned fraction)
{
    unsigned rmode = a64_field(f->op, 19, 2), opcode = a64_field(f->op, 16, 3);
    bool big = f->op >> 31, to_real = opcode >> 1 == 1, away = opcode >> 1 == 2;
    struct real_integer kind = {!(opcode & 1), big ? 64 : 32, (uint8_t)fraction};
    struct real r;
    if (opcode >= 6 || (rmode && (to_real || away)) || fraction > kind.bits ||
        (fraction && (away || (!to_real && rmode != 3))))
        return false;
    if (to_real) {
        struct a64_value v = a64_get(f->x, f->n, big);
        r = real_from_integer(f->mode, (struct real){v.bits, v.known}, kind, f->wide);
        a64_set_scalar(f->x, f->d, a64_perhaps(r.bits, r.known));
    } else {
        r = real_to_integer(f->mode, a64_lane(f, f->n, 0), f->wide, kind,
                            rounding_of(away ? 4 : rmode));
        a64_set(f->x, f->d, big, a64_perhaps(r.bits, r.known));
    }
    return true;
}

static void a64_compare(const struct float_a64 *f, struct real n, struct real m)
{
    bool known = n.known && m.known && f->mode.known;
    a64_set_flags(f->x, real_compare(f->mode, n, m, f->wide), known ? A64_NZCV : 0);
}

static struct real immediate(const struct float_a64 *f)
{
    uint64_t imm = a64_field(f->op, 13, 8), top = imm >> 6 & 1 ? 0x3fc0 : 0x4000;
    uint64_t low = imm & 0x3f;
    return (struct real){f->wide ? (imm >> 7) << 63 | top << 48 | low << 48
                                 : (imm >> 7) << 31 | (top == 0x3fc0 ? 0x3e000000u : 0x40000000u) |
                                       low << 19,
                         true};
}

/* One lane; false: not followed. */
static bool run_scalar(const struct float_a64 *f)
{
    uint32_t op = f->op;
    struct real n = a64_lane(f, f->n, 0), m = a64_lane(f, f->m, 0), r;
    unsigned one = a64_field(op, 15, 6), two = a64_field(op, 12, 4), cond = two;
    int holds = a64_condition(f->x, cond);
    if (op >> 24 == 0x1f) {
        struct real a = a64_lane(f, a64_field(op, 10, 5), 0);
        bool o1 = op >> 21 & 1, o0 = op >> 15 & 1;
        r = real_fused(f->mode, o0 != o1 ? real_negate(n, f->wide) : n, m,
                       o1 ? real_negate(a, f->wide) : a, f->wide);
    } else if (!(op >> 21 & 1)) {
        return convert_integer(f, 64 - a64_field(op, 10, 6));
    } else if (a64_field(op, 10, 2) == 2 && two <= TWO_FNMUL) {
        r = a64_two(f, two, n, m, m);
    } else if (a64_field(op, 10, 2) == 3) {
        r = holds > 0 ? n : m;
        r.known = r.known && (holds >= 0 || (n.known && m.known && n.bits == m.bits));
    } else if (a64_field(op, 10, 2) == 1) {
        a64_set_flags(f->x, op << 28, holds == 0 ? A64_NZCV : 0);
        if (holds > 0)
            a64_compare(f, n, m);
        return true;
    } else if (a64_field(op, 10, 6) == 0) {
        return convert_integer(f, 0);
    } else if (a64_field(op, 10, 3) == 4) {
        r = immediate(f);
    } else if (a64_field(op, 10, 4) == 8) {
        a64_compare(f, n, op >> 3 & 1 ? (struct real){0, true} : m);
        return true;
    } else if (a64_field(op, 10, 5) == 16 && (one < 4 || (one >= 8 && one < 16 && one != 13))) {
        r = a64_one(f, one, n);
    } else {
        return false;
    }
    set_lanes(f, &r, f->wide);
    return true;
}

/* Place in the list, or its length. */
static unsigned place_of(const uint8_t *list, unsigned count, unsigned key)
{
    unsigned at = 0;
    while (at < count && list[at] != key)
        at++;
    return at;
}

/* By U, bit 23 and the opcode: as scalars have them. False: not followed. */
static bool run_lanes(const struct float_a64 *f)
{
    static const uint8_t twos[TWO_COUNT] = {0x5b, 0x5f, 0x1a, 0x3a, 0x1e, 0x3e,
                                            0x18, 0x38, 0xff, 0x19, 0x39, 0x7a};
    static const uint8_t ones[16] = {0xff, 0x2f, 0x6f, 0x7f, 0xff, 0xff, 0xff, 0xff,
                                     0x18, 0x38, 0x19, 0x39, 0x58, 0xff, 0x59, 0x79};
    uint32_t op = f->op;
    unsigned key = a64_field(op, 29, 1) << 6 | a64_field(op, 23, 1) << 5;
    bool same = (op & 0x9f200400) == 0x0e200400, element = (op & 0x9f800400) == 0x0f800000;
    bool misc = (op & 0x9f3e0c00) == 0x0e200800;
    unsigned two = place_of(twos, TWO_COUNT, key | a64_field(op, 11, 5));
    unsigned opcode = a64_field(op, 12, 5), one = place_of(ones, 16, key | opcode), at = 0;
    struct real_integer kind = {!(op >> 29 & 1), f->wide ? 64 : 32, 0};
    unsigned conversion = opcode - 0x1a < 2 ? (opcode - 0x1a) << 1 | (key >> 5 & 1) : 4;
    struct real r[4];
    if (element) { /* one lane of m with all of n */
        unsigned what = a64_field(op, 12, 4);
        two = op >> 29 & 1 ? TWO_COUNT
              : what == 1  ? TWO_FMLA
              : what == 5  ? TWO_FMLS
              : what == 9  ? 0
                           : TWO_COUNT;
        at = f->wide ? a64_field(op, 11, 1) : a64_field(op, 11, 1) << 1 | a64_field(op, 21, 1);
        if (f->wide && op >> 21 & 1)
            return false;
    }
    bool to_real = misc && (key & 0x20) == 0 && opcode == 0x1d;
    bool to_integer = misc && (opcode - 0x1a < 2 || (opcode == 0x1c && !(key & 0x20)));
    if (!((same || element) && two < TWO_COUNT) && !(misc && one < 16) && !to_real && !to_integer)
        return false;
    for (unsigned i = 0; i < f->lanes; i++) {
        struct real n = a64_lane(f, f->n, i);
        if (to_real)
            r[i] = real_from_integer(f->mode, n, kind, f->wide);
        else if (to_integer)
            r[i] = real_to_integer(f->mode, n, f->wide, kind, rounding_of(conversion));
        else if (misc)
            r[i] = a64_one(f, one, n);
        else
            r[i] = a64_two(f, two, n, a64_lane(f, f->m, element ? at : i), a64_lane(f, f->d, i));
    }
    set_lanes(f, r, f->wide);
    return true;
}

/* MOVI of zeros and ORR of a register with itself, as compilers set and copy registers. */
static bool copy_vector(struct execute *x, uint32_t op)
{
    unsigned n = a64_field(op, 5, 5), q = op >> 30 & 1;
    bool zero = ((op & 0x9ffffc00) == 0x0f00e400 || (op & 0xbffffc00) == 0x0f000400) && !n;
    if (!zero && ((op & 0xbfe0fc00) != 0x0ea01c00 || n != a64_field(op, 16, 5)))
        return false;
    a64_set_half(x, op & 31, 1, q && !zero ? a64_half(x, n, 1) : a64_known(0));
    a64_set_half(x, op & 31, 0, zero ? a64_known(0) : a64_half(x, n, 0));
    return true;
}

static struct a64_value element_of(const struct execute *x, unsigned reg, unsigned index,
                                   unsigned size)
{
    unsigned at = index << size;
    struct a64_value v = a64_half(x, reg, at / 8 & 1);
    v.bits = v.bits >> 8 * (at % 8) & UINT64_MAX >> (64 - (8u << size));
    return v;
}

static void set_element(struct execute *x, unsigned reg, unsigned index, unsigned size,
                        struct a64_value v)
{
    unsigned at = index << size;
    uint64_t mask = UINT64_MAX >> (64 - (8u << size)) << 8 * (at % 8);
    struct a64_value old = a64_half(x, reg, at / 8 & 1);
    v.bits = (old.bits & ~mask) | (v.bits << 8 * (at % 8) & mask);
    v.known = v.known && (old.known || size == 3);
    a64_set_half(x, reg, at / 8 & 1, v);
}

/* DUP, INS, UMOV, SMOV; false: none of them. */
static bool copy_element(struct execute *x, uint32_t op)
{
    unsigned rd = op & 31, rn = a64_field(op, 5, 5), imm = a64_field(op, 16, 5) | 32, size = 0;
    unsigned what = a64_field(op, 11, 4), q = op >> 30 & 1;
    bool lane = (op & 0xffe0fc00) == 0x5e000400, inserts = (op & 0xffe08400) == 0x6e000400;
    while (!(imm >> size & 1))
        size++;
    if (size > 3 || !(lane || inserts || (op & 0xbfe08400) == 0x0e000400))
        return false;
    unsigned index = (imm & 31) >> (size + 1);
    struct a64_value v = element_of(x, rn, index, size), general = a64_get(x, rn, true);
    if (lane) {
        a64_set_scalar(x, rd, v);
    } else if (inserts) {
        set_element(x, rd, index, size, element_of(x, rn, what >> size, size));
    } else if (what == 3) {
        set_element(x, rd, index, size, general);
    } else if (what == 5 || what == 7) {
        if (what == 5)
            v.bits = (uint64_t)a64_signed(v.bits, 8u << size);
        a64_set(x, rd, q, v);
    } else if (what <= 1) {
        uint64_t mask = UINT64_MAX >> (64 - (8u << size));
        v = what ? general : v;
        v.bits = (v.bits & mask) * (UINT64_MAX / mask);
        a64_set_half(x, rd, 0, v);
        a64_set_half(x, rd, 1, q ? v : a64_known(0));
    } else {
        return false;
    }
    return true;
}

/* FMOV between registers; false: it is none, or one of half precision. */
static bool run_fmov(struct execute *x, uint32_t op)
{
    unsigned rd = op & 31, rn = a64_field(op, 5, 5);
    struct a64_value low = a64_half(x, rn, 0);
    switch (op & 0xfffffc00) {
    case 0x1e260000: /* Wd, Sn */
        a64_set(x, rd, false, low);
        return true;
    case 0x9e660000: /* Xd, Dn */
        a64_set(x, rd, true, low);
        return true;
    case 0x9eae0000: /* Xd, Vn.D[1] */
        a64_set(x, rd, true, a64_half(x, rn, 1));
        return true;
    case 0x9eaf0000: /* Vd.D[1], Xn */
        a64_set_half(x, rd, 1, a64_get(x, rn, true));
        return true;
    case 0x1e270000: /* Sd, Wn */
    case 0x9e670000: /* Dd, Xn */
        a64_set_scalar(x, rd, a64_get(x, rn, op >> 31));
        return true;
    default:
        return false;
    }
}

/* Each writes one vector register, or one general register or the flags: those are decoded, for the
 * rest is a vector's. */
static void forget_result(struct execute *x, uint32_t op, bool scalar)
{
    bool copies = (op & 0xbfe08400) == 0x0e000400;
    unsigned rd = op & 31;
    x->unknown++;
    if (scalar && (!(op >> 21 & 1) || !a64_field(op, 10, 6)))
        a64_set(x, rd, true, a64_unknown()); /* conversions, FMOV */
    else if (scalar && (a64_field(op, 10, 2) == 1 || a64_field(op, 10, 4) == 8))
        a64_set_flags(x, 0, 0); /* FCCMP, FCMP */
    else if (copies)
        a64_set(x, rd, true, a64_unknown()); /* UMOV, SMOV */
    a64_forget_vector(x, rd);
}

void a64_float(struct execute *x, uint32_t op)
{
    bool scalar = (op >> 24 & 0x5f) == 0x1e, fused = op >> 24 == 0x1f;
    bool lane = op >> 30 == 1 && a64_field(op, 25, 4) == 15; /* of a vector's instructions */
    unsigned type = a64_field(op, 22, 2);
    bool wide = scalar || fused ? type == 1 : type & 1;
    const struct execute_regs *r = &x->regs;
    struct float_a64 f = {.x = x,
                          .op = lane ? op & ~0x50000000u : op,
                          .d = op & 31,
                          .n = a64_field(op, 5, 5),
                          .m = a64_field(op, 16, 5),
                          .wide = wide,
                          .lanes = scalar || fused || lane ? 1 : (op >> 30 & 1) + 1};
    if (!scalar && !fused && !lane && !wide)
        f.lanes *= 2;
    if (r->fpscr_known == UINT32_MAX && !(r->fpscr & FPCR_OTHER))
        f.mode = real_mode_of(r->fpscr);
    if (run_fmov(x, op) || copy_vector(x, op) || copy_element(x, op))
        return;
    if (scalar && (op & 0xff3e7c00) == 0x1e224000)
        convert_precision(&f);
    else if (scalar || fused ? type >= 2 || !run_scalar(&f)
                             : (wide && f.lanes == 1 && !lane) || !run_lanes(&f))
        forget_result(x, op, scalar);
}
