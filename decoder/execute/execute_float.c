/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scalar floating point in single and double precision (DDI 0403E.e A2.5, A6.4 to A6.7; DDI 0406C.d
 * A7.5, A7.8, A7.9; Arm DDI 0487L.a F6.1 for what v8 has besides): moves always, the rest where
 * FPSCR is known and asks for no vectors.
 */
#include "execute_real.h"
#include "execute_work.h"

#define FPSCR_MODE  0x07ff0000u /* AHP, DN, FZ, RMode, Stride, FZ16, Len */
#define FPSCR_SUMS  0x0000009fu /* cumulative exceptions */
#define FPSCR_KEPT  0xf7c0009fu /* as written; other bits a core may lack and read as 0 */
#define FPSCR_FLAGS 0xf0000000u
#define FPSCR_SHORT 0x00370000u /* Stride and Len: vectors of A-profile cores, 0 elsewhere */

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
    struct real_mode mode;
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
    unsigned which = (f->op >> 20 & 3) | (f->op >> 21 & 4);
    if (which < 3) {
        bool negated = f->six;
        n = real_combine(f->mode, REAL_MUL, n, m, wide);
        n = negated ? real_negate(n, wide) : n;
        return which == 2
                   ? n
                   : real_combine(f->mode, REAL_ADD, which ? real_negate(d, wide) : d, n, wide);
    }
    if (which == 3)
        return real_combine(f->mode, f->six ? REAL_SUB : REAL_ADD, n, m, wide);
    if (which == 4)
        return f->six ? (struct real){0, false} : real_combine(f->mode, REAL_DIV, n, m, wide);
    return real_fused(f->mode, f->six ? real_negate(n, wide) : n, m,
                      which == 5 ? real_negate(d, wide) : d, wide);
}

static void compare_reals(struct execute_work *w, const struct float_insn *f, struct real a,
                          struct real b)
{
    set_fpscr(w, FPSCR_FLAGS | FPSCR_SUMS, real_compare(f->mode, a, b, f->wide),
              a.known && b.known && f->mode.known ? FPSCR_FLAGS : 0);
}

static struct real integer_of(const struct float_insn *f, struct real m, bool is_signed,
                              enum real_rounding how)
{
    return real_to_integer(f->mode, m, f->wide, (struct real_integer){is_signed, 32, 0}, how);
}

/* VCVTB, VCVTT. */
static void convert_half(struct execute_work *w, const struct float_insn *f)
{
    const struct execute_regs *r = &w->x->regs;
    unsigned d = place(f->op, 12, 22, false), m = place(f->op, 0, 5, false),
             by = f->op & 0x80 ? 16 : 0, other = f->wide ? 64 : 32;
    if (f->op & 1u << 16) {
        struct real v = real_convert(f->mode, read_real(r, f->m, f->wide), other, 16),
                    old = read_real(r, d, false);
        v.bits = (old.bits & ~(UINT64_C(0xffff) << by)) | v.bits << by;
        v.known = v.known && old.known;
        write_real(w, d, v, false);
    } else {
        struct real v = read_real(r, m, false);
        v.bits = v.bits >> by & 0xffff;
        write_real(w, f->d, real_convert(f->mode, v, 16, other), f->wide);
    }
}

/* VCVT of a register's own lower half or whole; false: no such number of bits. */
static bool convert_fixed(struct execute_work *w, const struct float_insn *f)
{
    unsigned size = f->op & 0x80 ? 32 : 16, less = (f->op & 15) << 1 | (f->op >> 5 & 1);
    struct real v = read_real(&w->x->regs, f->d, f->wide);
    if (less > size)
        return false;
    const struct real_integer kind = {!(f->op & 1u << 16), (uint8_t)size, (uint8_t)(size - less)};
    v = f->op & 1u << 18 ? real_to_integer(f->mode, v, f->wide, kind, REAL_TO_ZERO)
                         : real_from_integer(f->mode, v, kind, f->wide);
    v.bits = f->wide ? v.bits : (uint32_t)v.bits;
    write_real(w, f->d, v, f->wide);
    return true;
}

/* Bits 23, 21, 20 and 6 are set: by bits 19 to 16 and 7. */
static bool other(struct execute_work *w, const struct float_insn *f)
{
    const struct execute_regs *r = &w->x->regs;
    uint32_t op = f->op;
    struct real m = read_real(r, f->m, f->wide);
    unsigned d = f->d;
    bool wide = f->wide, seven = op & 0x80;
    switch (op >> 16 & 15) {
    case 0: /* VMOV, VABS; with VNEG they are exact, as FPSCR may be */
        m.bits &= seven ? ~(wide ? UINT64_C(1) << 63 : 1u << 31) : UINT64_MAX;
        write_real(w, d, m, wide);
        return true;
    case 1:
        m = seven ? real_root(f->mode, m, wide) : real_negate(m, wide);
        write_real(w, d, m, wide);
        if (!seven)
            return true;
        break;
    case 2:
    case 3:
        convert_half(w, f);
        break;
    case 4:
    case 5:
        compare_reals(w, f, read_real(r, d, wide), op & 1u << 16 ? (struct real){0, true} : m);
        return true;
    case 6:
        m = real_round(f->mode, m, wide, seven ? REAL_TO_ZERO : f->mode.rounding);
        write_real(w, d, m, wide);
        break;
    case 7:
        m = seven ? real_convert(f->mode, m, wide ? 64 : 32, wide ? 32 : 64)
                  : real_round(f->mode, m, wide, f->mode.rounding);
        wide = wide != seven;
        write_real(w, seven ? place(op, 12, 22, wide) : d, m, wide);
        break;
    case 8:
        m = read_real(r, place(op, 0, 5, false), false);
        write_real(w, d, real_from_integer(f->mode, m, (struct real_integer){seven, 32, 0}, wide),
                   wide);
        break;
    case 12:
    case 13:
        m = integer_of(f, m, op & 1u << 16, seven ? REAL_TO_ZERO : f->mode.rounding);
        m.bits = (uint32_t)m.bits;
        write_real(w, place(op, 12, 22, false), m, false);
        break;
    case 10:
    case 11:
    case 14:
    case 15:
        if (!convert_fixed(w, f))
            return false;
        break;
    default:
        return false;
    }
    set_fpscr(w, FPSCR_SUMS, 0, 0);
    return true;
}

/* Without conditions: VSEL, VMAXNM, VMINNM; VRINT and VCVT with a rounding of their own. */
static bool unconditional(struct execute_work *w, const struct float_insn *f)
{
    static const uint8_t ways[4] = {REAL_AWAY, REAL_NEAREST, REAL_UP, REAL_DOWN};
    static const uint8_t conditions[4] = {0, 6, 10, 12}; /* EQ, VS, GE, GT */
    const struct execute_regs *r = &w->x->regs;
    uint32_t op = f->op;
    struct real n = read_real(r, f->n, f->wide), m = read_real(r, f->m, f->wide);
    enum real_rounding how = ways[op >> 16 & 3];
    if ((op & 0x0f800e50) == 0x0e000a00) {
        int pass = execute_flags_pass(r, conditions[op >> 20 & 3]);
        bool same = n.known && m.known && n.bits == m.bits;
        n = pass > 0 ? n : m;
        n.known = n.known && (pass >= 0 || same);
        write_real(w, f->d, n, f->wide);
        return true;
    }
    if ((op & 0x0fb00e10) == 0x0e800a00) {
        n = real_combine(f->mode, f->six ? REAL_MIN_NUMBER : REAL_MAX_NUMBER, n, m, f->wide);
        write_real(w, f->d, n, f->wide);
    } else if ((op & 0x0fbc0ed0) == 0x0eb80a40) {
        write_real(w, f->d, real_round(f->mode, m, f->wide, how), f->wide);
    } else if ((op & 0x0fbc0e50) == 0x0ebc0a40) {
        m = integer_of(f, m, op & 0x80, how);
        m.bits = (uint32_t)m.bits;
        write_real(w, place(op, 12, 22, false), m, false);
    } else {
        return false;
    }
    set_fpscr(w, FPSCR_SUMS, 0, 0);
    return true;
}

bool execute_uses_vectors(const struct execute_insn *i)
{
    if (i->isa == BT_ISA_T32 && i->size == 2)
        return false;
    uint32_t op = i->opcode;
    if (i->isa == BT_ISA_T32)
        return (op & 0xec000000) == 0xec000000 || (op & 0xff100000) == 0xf9000000;
    return (op >> 28 == 15 && (op & 0x0e000000) == 0x02000000) ||
           (op >> 28 == 15 && (op & 0x0f100000) == 0x04000000) || (op & 0x0c000000) == 0x0c000000;
}

bool execute_float(struct execute_work *w)
{
    struct execute_regs *r = &w->x->regs;
    uint32_t op = w->insn->opcode, top = op >> 28;
    bool wide = op & 1u << 8, thumb = w->insn->isa == BT_ISA_T32;
    uint32_t asked =
        w->x->core.profile == EXECUTE_PROFILE_M ? FPSCR_MODE & ~FPSCR_SHORT : FPSCR_MODE;
    struct float_insn f = {.op = op,
                           .wide = wide,
                           .d = place(op, 12, 22, wide),
                           .n = place(op, 16, 7, wide),
                           .m = place(op, 0, 5, wide),
                           .six = op & 1u << 6};
    if ((r->fpscr_known & asked) == asked)
        f.mode = real_mode_of(r->fpscr);
    if (top == 15)
        return unconditional(w, &f);
    if (thumb && top != 14)
        return false;
    if ((op & 0x0f000e10) != 0x0e000a00)
        return move_core(w, op);
    if (w->x->core.profile != EXECUTE_PROFILE_M &&
        ((r->fpscr_known & FPSCR_SHORT) != FPSCR_SHORT || r->fpscr & FPSCR_SHORT))
        return false; /* it may write more registers than one */
    if ((op & 0x00b00000) != 0x00b00000) {
        struct real v = arithmetic(&f, read_real(r, f.d, wide), read_real(r, f.n, wide),
                                   read_real(r, f.m, wide));
        write_real(w, f.d, v, wide);
        set_fpscr(w, FPSCR_SUMS, 0, 0);
        return true;
    }
    if (!f.six) {
        write_real(w, f.d, (struct real){expand_immediate(op, wide), true}, wide);
        return true;
    }
    return other(w, &f);
}
