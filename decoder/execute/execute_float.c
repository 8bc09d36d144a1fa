/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scalar floating point in single and double precision (DDI 0403E.e A2.5, A6.4 to A6.7; DDI 0406C.d
 * A7.5, A7.8, A7.9): moves always; arithmetic where FPSCR is known to ask for rounding to nearest,
 * no flush to zero, no default NaNs and no vectors, as this machine's own arithmetic does it. What
 * becomes of a NaN that goes in is not followed.
 */
#include "execute_work.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(FLT_EVAL_METHOD == 0, "float and double are not computed in their own precision");

#define FPSCR_MODE  0x07ff0000u /* AHP, DN, FZ, RMode, Stride, FZ16, Len */
#define FPSCR_SUMS  0x0000009fu /* cumulative exceptions */
#define FPSCR_KEPT  0xf7c0009fu /* as written; other bits a core may lack and read as 0 */
#define FPSCR_FLAGS 0xf0000000u
#define FPSCR_SHORT 0x00370000u /* Stride and Len: vectors of A-profile cores, 0 elsewhere */

/* A number of one of the two kinds, as bits. */
struct real {
    uint64_t bits;
    bool known;
};

static const struct real unknown = {0, false};

static double number_of(struct real a, bool wide)
{
    float narrow;
    double d;
    uint32_t bits = (uint32_t)a.bits;
    memcpy(&narrow, &bits, sizeof narrow);
    memcpy(&d, &a.bits, sizeof d);
    return wide ? d : (double)narrow;
}

static struct real from_double(double d)
{
    struct real a = {0, true};
    memcpy(&a.bits, &d, sizeof d);
    if (isnan(d))
        a.bits = UINT64_C(0x7ff8000000000000);
    return a;
}

static struct real from_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof f);
    return (struct real){isnan(f) ? 0x7fc00000u : bits, true};
}

/* Known, and no NaN. */
static bool usable(struct real a, bool wide)
{
    return a.known && !isnan(number_of(a, wide));
}

static struct real negate(struct real a, bool wide)
{
    a.bits ^= wide ? UINT64_C(1) << 63 : 1u << 31;
    return a;
}

enum real_op { REAL_ADD, REAL_SUB, REAL_MUL, REAL_DIV };

static struct real combine(enum real_op op, struct real a, struct real b, bool wide)
{
    if (!usable(a, wide) || !usable(b, wide))
        return unknown;
    double x = number_of(a, wide), y = number_of(b, wide);
    float f = (float)x, g = (float)y;
    switch (op) {
    case REAL_ADD:
        return wide ? from_double(x + y) : from_float(f + g);
    case REAL_SUB:
        return wide ? from_double(x - y) : from_float(f - g);
    case REAL_MUL:
        return wide ? from_double(x * y) : from_float(f * g);
    default:
        return wide ? from_double(x / y) : from_float(f / g);
    }
}

/* a * b + c, rounded once. */
static struct real fused(struct real a, struct real b, struct real c, bool wide)
{
    if (!usable(a, wide) || !usable(b, wide) || !usable(c, wide))
        return unknown;
    double x = number_of(a, wide), y = number_of(b, wide), z = number_of(c, wide);
    return wide ? from_double(fma(x, y, z)) : from_float(fmaf((float)x, (float)y, (float)z));
}

static struct real root(struct real a, bool wide)
{
    if (!usable(a, wide))
        return unknown;
    double x = number_of(a, wide);
    return wide ? from_double(sqrt(x)) : from_float(sqrtf((float)x));
}

/* Registers. */

static struct real read_real(const struct execute_regs *r, unsigned n, bool wide)
{
    if (!wide)
        return (struct real){(uint32_t)(r->vector[n / 2] >> (n & 1 ? 32 : 0)),
                             r->vector_known >> n & 1};
    return (struct real){r->vector[n], n < 16 ? (r->vector_known >> 2 * n & 3) == 3
                                              : r->vector_known64 >> (n - 16) & 1};
}

static void write_real(struct execute_work *w, unsigned n, struct real v, bool wide)
{
    struct execute_regs *r = &w->x->regs;
    struct real old = read_real(r, n, wide);
    unsigned half = n & 1 ? 32 : 0;
    if (w->maybe)
        v.known = v.known && old.known && v.bits == old.bits;
    if (!wide) {
        r->vector[n / 2] = (r->vector[n / 2] & ~(UINT64_C(0xffffffff) << half)) | v.bits << half;
        r->vector_known = (r->vector_known & ~(UINT64_C(1) << n)) | (uint64_t)v.known << n;
        return;
    }
    r->vector[n] = v.bits;
    if (n < 16)
        r->vector_known = (r->vector_known & ~(UINT64_C(3) << 2 * n)) | (v.known ? 3ull : 0)
                                                                            << 2 * n;
    else
        r->vector_known64 = (r->vector_known64 & ~(UINT64_C(1) << (n - 16))) | (uint64_t)v.known
                                                                                   << (n - 16);
}

static unsigned place(uint32_t op, unsigned lsb, unsigned bit, bool wide)
{
    unsigned field = effect_field(op, lsb, 4), one = effect_field(op, bit, 1);
    return wide ? one << 4 | field : field << 1 | one;
}

static void set_fpscr(struct execute_work *w, uint32_t mask, uint32_t bits, uint32_t known)
{
    struct execute_regs *r = &w->x->regs;
    if (w->maybe)
        known &= r->fpscr_known & ~(r->fpscr ^ bits);
    r->fpscr = (r->fpscr & ~mask) | (bits & mask);
    r->fpscr_known = (r->fpscr_known & ~mask) | (known & mask);
}

/* Moves between core registers and these. */

static void move_status(struct execute_work *w, uint32_t op)
{
    const struct execute_regs *r = &w->x->regs;
    unsigned rt = effect_field(op, 12, 4);
    if (!(op & 1u << 20)) {
        struct execute_value v = execute_read(w, rt);
        set_fpscr(w, ~0u, v.number, v.known ? FPSCR_KEPT | ~v.number : 0);
    } else if (rt == EXECUTE_PC) {
        execute_set_psr(w, FPSCR_FLAGS, r->fpscr, r->fpscr_known);
    } else {
        execute_write(w, rt, (struct execute_value){r->fpscr, r->fpscr_known == ~0u, 0});
    }
}

static void move_half(struct execute_work *w, uint32_t op, unsigned n)
{
    struct execute_regs *r = &w->x->regs;
    unsigned rt = effect_field(op, 12, 4);
    struct real v = read_real(r, n, false);
    if (op & 1u << 20) {
        execute_write(w, rt, (struct execute_value){(uint32_t)v.bits, v.known, 0});
    } else {
        struct execute_value c = execute_read(w, rt);
        write_real(w, n, (struct real){c.number, c.known}, false);
    }
}

static bool move_core(struct execute_work *w, uint32_t op)
{
    bool pc = effect_field(op, 12, 4) == EXECUTE_PC;
    if ((op & 0x0fef0fff) == 0x0ee10a10 && (!pc || op & 1u << 20)) {
        move_status(w, op);
    } else if ((op & 0x0fe00f7f) == 0x0e000a10 && !pc) {
        move_half(w, op, place(op, 16, 7, false));
    } else if ((op & 0x0fc00fff) == 0x0e000b10 && !pc) { /* half of d0 to d15 */
        move_half(w, op, 2 * effect_field(op, 16, 4) + effect_field(op, 21, 1));
    } else if ((op & 0x0fe00ed0) == 0x0c400a10) {
        bool wide = op & 1u << 8;
        unsigned n = place(op, 0, 5, wide);
        n = wide ? 2 * n : n;
        if (n >= 31 || pc || effect_field(op, 16, 4) == EXECUTE_PC)
            return false;
        move_half(w, op, n);
        move_half(w, (op & ~0xf000u) | (op >> 4 & 0xf000), n + 1);
    } else {
        return false;
    }
    return true;
}

/* Data processing. */

struct float_insn {
    uint32_t op;
    bool wide;
    unsigned d, n, m; /* registers of that precision */
    bool six;         /* bit 6 */
};

static uint64_t expand_immediate(uint32_t op, bool wide)
{
    uint64_t sign = op >> 19 & 1, six = op >> 18 & 1, low = (op >> 12 & 0x30) | (op & 15);
    return wide ? sign << 63 | (six ? UINT64_C(0x3fc0) : UINT64_C(0x4000)) << 48 | low << 48
                : sign << 31 | (six ? 0x3e000000u : 0x40000000u) | low << 19;
}

/* d = op(d, n, m), by bits 23, 21 and 20. */
static struct real arithmetic(const struct float_insn *f, struct real d, struct real n,
                              struct real m)
{
    bool wide = f->wide;
    switch ((f->op >> 20 & 3) | (f->op >> 21 & 4)) {
    case 0:
        n = combine(REAL_MUL, n, m, wide);
        return combine(REAL_ADD, d, f->six ? negate(n, wide) : n, wide);
    case 1:
        n = combine(REAL_MUL, n, m, wide);
        return combine(REAL_ADD, negate(d, wide), f->six ? negate(n, wide) : n, wide);
    case 2:
        n = combine(REAL_MUL, n, m, wide);
        return f->six ? negate(n, wide) : n;
    case 3:
        return combine(f->six ? REAL_SUB : REAL_ADD, n, m, wide);
    case 4:
        return f->six ? unknown : combine(REAL_DIV, n, m, wide);
    case 5:
        return fused(f->six ? negate(n, wide) : n, m, negate(d, wide), wide);
    default:
        return fused(f->six ? negate(n, wide) : n, m, d, wide);
    }
}

static void compare_reals(struct execute_work *w, struct real a, struct real b, bool wide)
{
    double x = number_of(a, wide), y = number_of(b, wide);
    uint32_t flags = x == y ? 0x60000000u : x < y ? 0x80000000u : x > y ? 0x20000000u : 0x30000000u;
    set_fpscr(w, FPSCR_FLAGS | FPSCR_SUMS, flags, a.known && b.known ? FPSCR_FLAGS : 0);
}

static struct real to_integer(struct real a, bool wide, bool sign, bool truncates)
{
    double v = number_of(a, wide), low = sign ? -2147483648.0 : 0,
           high = sign ? 2147483647.0 : 4294967295.0;
    if (!a.known)
        return unknown;
    v = isnan(v) ? 0 : truncates ? trunc(v) : rint(v);
    v = v < low ? low : v > high ? high : v;
    return (struct real){sign ? (uint32_t)(int32_t)v : (uint32_t)v, true};
}

static struct real from_integer(struct real a, bool wide, bool sign)
{
    double v = sign ? (double)(int32_t)a.bits : (double)(uint32_t)a.bits;
    return !a.known ? unknown : wide ? from_double(v) : from_float((float)v);
}

/* Between the two precisions; `wide`: it comes from double. */
static struct real convert(struct real a, bool wide)
{
    if (!usable(a, wide))
        return unknown;
    double v = number_of(a, wide);
    return wide ? from_float((float)v) : from_double(v);
}

/* Bits 23, 21 and 20 are set, and 6: by bits 19 to 16 and 7. Exact: as FPSCR may be. */
static bool other_exact(struct execute_work *w, const struct float_insn *f)
{
    struct real m = read_real(&w->x->regs, f->m, f->wide);
    uint64_t top = f->wide ? UINT64_C(1) << 63 : 1u << 31;
    switch (f->op >> 16 & 15) {
    case 0:
        m.bits &= f->op & 0x80 ? ~top : ~UINT64_C(0);
        break;
    case 1:
        if (f->op & 0x80)
            return false;
        m.bits ^= top;
        break;
    default:
        return false;
    }
    write_real(w, f->d, m, f->wide);
    return true;
}

/* The same of those that round or are rounded; `settled`: FPSCR is known to be as above. */
static bool other_rounded(struct execute_work *w, const struct float_insn *f, bool settled)
{
    const struct execute_regs *r = &w->x->regs;
    uint32_t op = f->op;
    struct real m = read_real(r, f->m, f->wide), v;
    unsigned kind = op >> 16 & 15, d = f->d;
    bool wide = f->wide;
    m.known = m.known && settled;
    if (kind == 4 || kind == 5) {
        struct real with = kind == 4 ? m : (struct real){0, settled};
        compare_reals(w, read_real(r, f->d, wide), with, wide);
        return true;
    }
    if (kind == 1) {
        v = root(m, wide);
    } else if (kind == 7 && op & 0x80) {
        v = convert(m, wide);
        d = place(op, 12, 22, !wide);
        wide = !wide;
    } else if (kind == 8) {
        m = read_real(r, place(op, 0, 5, false), false);
        m.known = m.known && settled;
        v = from_integer(m, wide, op & 0x80);
    } else if (kind == 12 || kind == 13) {
        v = to_integer(m, wide, kind & 1, op & 0x80);
        d = place(op, 12, 22, false);
        wide = false;
    } else {
        return false;
    }
    write_real(w, d, v, wide);
    set_fpscr(w, FPSCR_SUMS, 0, 0);
    return true;
}

bool execute_float(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    uint32_t op = w->insn->opcode, top = w->insn->isa == BT_ISA_T32 ? 14 : w->insn->opcode >> 28;
    bool wide = op & 1u << 8,
         settled = (r->fpscr_known & FPSCR_MODE) == FPSCR_MODE && !(r->fpscr & FPSCR_MODE);
    struct float_insn f = {.op = op,
                           .wide = wide,
                           .d = place(op, 12, 22, wide),
                           .n = place(op, 16, 7, wide),
                           .m = place(op, 0, 5, wide),
                           .six = op & 1u << 6};
    if (top == 15 || (w->insn->isa == BT_ISA_T32 && op >> 28 != 14))
        return false;
    if ((op & 0x0f000e10) != 0x0e000a00)
        return move_core(w, op);
    if (w->x->core.profile != EXECUTE_PROFILE_M &&
        ((r->fpscr_known & FPSCR_SHORT) != FPSCR_SHORT || r->fpscr & FPSCR_SHORT))
        return false; /* it may write more registers than one */
    if ((op & 0x00b00000) != 0x00b00000) {
        struct real v = arithmetic(&f, read_real(r, f.d, wide), read_real(r, f.n, wide),
                                   read_real(r, f.m, wide));
        v.known = v.known && settled;
        write_real(w, f.d, v, wide);
        set_fpscr(w, FPSCR_SUMS, 0, 0);
        return true;
    }
    if (!f.six) {
        write_real(w, f.d, (struct real){expand_immediate(op, wide), true}, wide);
        return true;
    }
    return other_exact(w, &f) || other_rounded(w, &f, settled);
}
