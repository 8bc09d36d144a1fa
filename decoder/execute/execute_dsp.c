/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Saturating, parallel and accumulating arithmetic, as the pseudocode of DDI 0406C.d A8.8 and
 * DDI 0403E.e A7.7. What is UNPREDICTABLE is not followed.
 */
#include "execute_work.h"

#define FLAG_Q   0x08000000u
#define FLAG_GE  0x000f0000u
#define FLAG_NZ  0xc0000000u
#define FLAG_NCV 0xf0000000u
#define NOTHING  15 /* in place of a register that is added */

enum dsp_op {
    DSP_MULTIPLY_HALVES, /* ra + half of rn * half of rm */
    DSP_MULTIPLY_WIDE,   /* ra + high 32 of 48 bits of rn * half of rm */
    DSP_MULTIPLY_HIGH,   /* high word of ra:0 + rn * rm; from here on operand 2 may be turned */
    DSP_MULTIPLY_HIGH_LESS,
    DSP_DUAL, /* ra + product of lower halves + that of upper ones */
    DSP_DUAL_LESS,
    DSP_DIFFERENCES, /* ra + sum of four absolute differences */
    DSP_LONG,        /* rd:ra is the sum and is written; from here on */
    DSP_LONG_SIGNED,
    DSP_LONG_TWICE,
    DSP_LONG_HALVES,
    DSP_LONG_DUAL,
    DSP_LONG_DUAL_LESS, /* last that multiplies */
    DSP_SATURATED,      /* rm + rn; rn doubled, subtracted: see saturated_sum */
    DSP_SATURATE,       /* rn to a number of bits */
    DSP_SATURATE_UNSIGNED,
    DSP_EXTEND, /* rn + bytes or halves of rm */
    DSP_PACK,
    DSP_SELECT,
    DSP_PARALLEL,
};

struct dsp_row {
    uint32_t a32_mask, a32, t32_mask, t32;
    enum dsp_op op;
    bool none; /* A32: nothing is added; elsewhere ra says so */
};

/* First those that are special cases of later ones. */
static const struct dsp_row rows[] = {
    {0x0fe000f0, 0x00a00090, 0xfff000f0, 0xfbe00000, DSP_LONG, false},
    {0x0fe000f0, 0x00e00090, 0xfff000f0, 0xfbc00000, DSP_LONG_SIGNED, false},
    {0x0ff000f0, 0x00400090, 0xfff000f0, 0xfbe00060, DSP_LONG_TWICE, false},
    {0x0ff00090, 0x01000080, 0xfff000c0, 0xfb100000, DSP_MULTIPLY_HALVES, false},
    {0x0ff0f090, 0x01600080, 0xfff000c0, 0xfb100000, DSP_MULTIPLY_HALVES, true},
    {0x0ff000b0, 0x01200080, 0xfff000e0, 0xfb300000, DSP_MULTIPLY_WIDE, false},
    {0x0ff0f0b0, 0x012000a0, 0xfff000e0, 0xfb300000, DSP_MULTIPLY_WIDE, true},
    {0x0ff00090, 0x01400080, 0xfff000c0, 0xfbc00080, DSP_LONG_HALVES, false},
    {0x0ff000d0, 0x07000010, 0xfff000e0, 0xfb200000, DSP_DUAL, false},
    {0x0ff000d0, 0x07000050, 0xfff000e0, 0xfb400000, DSP_DUAL_LESS, false},
    {0x0ff000d0, 0x07400010, 0xfff000e0, 0xfbc000c0, DSP_LONG_DUAL, false},
    {0x0ff000d0, 0x07400050, 0xfff000e0, 0xfbd000c0, DSP_LONG_DUAL_LESS, false},
    {0x0ff000d0, 0x07500010, 0xfff000e0, 0xfb500000, DSP_MULTIPLY_HIGH, false},
    {0x0ff000d0, 0x075000d0, 0xfff000e0, 0xfb600000, DSP_MULTIPLY_HIGH_LESS, false},
    {0x0ff000f0, 0x07800010, 0xfff000f0, 0xfb700000, DSP_DIFFERENCES, false},
    {0x0f900ff0, 0x01000050, 0xfff0f0c0, 0xfa80f080, DSP_SATURATED, false},
    {0x0fe00030, 0x06a00010, 0xffd08020, 0xf3000000, DSP_SATURATE, false},
    {0x0ff00ff0, 0x06a00f30, 0xffd08020, 0xf3000000, DSP_SATURATE, false},
    {0x0fe00030, 0x06e00010, 0xffd08020, 0xf3800000, DSP_SATURATE_UNSIGNED, false},
    {0x0ff00ff0, 0x06e00f30, 0xffd08020, 0xf3800000, DSP_SATURATE_UNSIGNED, false},
    {0x0f8003f0, 0x06800070, 0xff80f0c0, 0xfa00f080, DSP_EXTEND, false},
    {0x0ff00030, 0x06800010, 0xfff08010, 0xeac00000, DSP_PACK, false},
    {0x0ff00ff0, 0x06800fb0, 0xfff0f0f0, 0xfaa0f080, DSP_SELECT, false},
    {0x0f800f10, 0x06000f10, 0xff80f080, 0xfa80f000, DSP_PARALLEL, false},
};

struct dsp {
    enum dsp_op op;
    uint32_t word; /* the instruction */
    bool thumb, add;
    uint8_t rd, rn, rm, ra;
    uint32_t n, m, a, d; /* what the registers hold; rd, where it is added, too */
    bool saturated;
    uint32_t ge; /* out: of DSP_PARALLEL; in: of DSP_SELECT */
};

static bool find_row(const struct execute_insn *i, struct dsp *s)
{
    const struct dsp_row *row = rows, *end = rows + sizeof rows / sizeof *rows;
    s->word = i->opcode;
    s->thumb = i->isa == BT_ISA_T32;
    while (row < end && (s->thumb ? (s->word & row->t32_mask) != row->t32
                                  : (s->word & row->a32_mask) != row->a32))
        row++;
    if (row == end || (s->thumb && i->size == 2))
        return false;
    bool multiplies = row->op <= DSP_LONG_DUAL_LESS;
    bool swapped =
        !s->thumb && (multiplies || row->op == DSP_SATURATE || row->op == DSP_SATURATE_UNSIGNED);
    s->op = row->op;
    s->rd = (uint8_t)effect_field(s->word, s->thumb ? 8 : multiplies ? 16 : 12, 4);
    s->rn = (uint8_t)effect_field(s->word, swapped ? 0 : 16, 4);
    s->rm = (uint8_t)effect_field(s->word, swapped && multiplies ? 8 : 0, 4);
    s->ra = (uint8_t)effect_field(s->word, 12, 4);
    s->add = multiplies && !row->none && s->ra != NOTHING;
    /* In A32 what adds nothing has its own encoding, of some. */
    bool own = !s->thumb && s->op <= DSP_MULTIPLY_WIDE && !row->none;
    bool always = own || s->op >= DSP_LONG || s->op == DSP_MULTIPLY_HIGH_LESS;
    return !(multiplies && always && !s->add);
}

static int64_t half_of(uint32_t v, bool top)
{
    return (int16_t)(v >> (top ? 16 : 0));
}

/* To `bits` bits, of a number with a sign. */
static uint32_t saturate(struct dsp *s, int64_t v, unsigned bits, bool is_signed)
{
    int64_t high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    int64_t low = is_signed ? -high - 1 : 0, in = v < low ? low : v > high ? high : v;
    s->saturated |= in != v;
    return (uint32_t)in;
}

/* What does not fit is told, but not changed. */
static uint32_t overflow(struct dsp *s, int64_t v)
{
    s->saturated |= v != (int32_t)v;
    return (uint32_t)v;
}

static int64_t dual(const struct dsp *s, bool less)
{
    bool turned = effect_field(s->word, s->thumb ? 4 : 5, 1);
    int64_t low = half_of(s->n, false) * half_of(s->m, turned),
            high = half_of(s->n, true) * half_of(s->m, !turned);
    return less ? low - high : low + high;
}

static int64_t halves(const struct dsp *s)
{
    return half_of(s->n, effect_field(s->word, 5, 1)) *
           half_of(s->m, effect_field(s->word, s->thumb ? 4 : 6, 1));
}

static uint32_t multiplied(struct dsp *s)
{
    int64_t a = (int32_t)s->a, product = (int64_t)(int32_t)s->n * (int32_t)s->m, v = 0;
    uint64_t wide = (uint64_t)s->a << 32;
    bool round = effect_field(s->word, s->thumb ? 4 : 5, 1);
    switch (s->op) {
    case DSP_MULTIPLY_HALVES:
        return overflow(s, a + halves(s));
    case DSP_MULTIPLY_WIDE:
        v = (int64_t)(int32_t)s->n * half_of(s->m, effect_field(s->word, s->thumb ? 4 : 6, 1));
        return overflow(s, a + (v >> 16));
    case DSP_MULTIPLY_HIGH:
    case DSP_MULTIPLY_HIGH_LESS:
        wide += s->op == DSP_MULTIPLY_HIGH ? (uint64_t)product : 0 - (uint64_t)product;
        return (uint32_t)((wide + (round ? 0x80000000u : 0)) >> 32);
    case DSP_DUAL:
    case DSP_DUAL_LESS:
        return overflow(s, a + dual(s, s->op == DSP_DUAL_LESS));
    default:
        for (unsigned k = 0; k < 32; k += 8) {
            int apart = (int)(s->n >> k & 0xff) - (int)(s->m >> k & 0xff);
            v += apart < 0 ? -apart : apart;
        }
        return s->a + (uint32_t)v;
    }
}

static uint64_t multiplied_long(const struct dsp *s)
{
    uint64_t sum = (uint64_t)s->d << 32 | s->a, product = (uint64_t)s->n * s->m;
    switch (s->op) {
    case DSP_LONG:
        return sum + product;
    case DSP_LONG_SIGNED:
        return sum + (uint64_t)((int64_t)(int32_t)s->n * (int32_t)s->m);
    case DSP_LONG_TWICE:
        return product + s->d + s->a;
    case DSP_LONG_HALVES:
        return sum + (uint64_t)halves(s);
    default:
        return sum + (uint64_t)dual(s, s->op == DSP_LONG_DUAL_LESS);
    }
}

/* QADD, QSUB, QDADD, QDSUB. */
static uint32_t saturated_sum(struct dsp *s)
{
    bool less = effect_field(s->word, s->thumb ? 5 : 21, 1),
         twice = effect_field(s->word, s->thumb ? 4 : 22, 1);
    int64_t m = (int32_t)s->m, n = (int32_t)s->n;
    n = twice ? (int32_t)saturate(s, 2 * n, 32, true) : n;
    return saturate(s, less ? m - n : m + n, 32, true);
}

static unsigned shift_of(const struct dsp *s)
{
    return s->thumb ? effect_field(s->word, 12, 3) << 2 | effect_field(s->word, 6, 2)
                    : effect_field(s->word, 7, 5);
}

static bool is_right(const struct dsp *s)
{
    return effect_field(s->word, s->thumb ? 21 : 6, 1);
}

/* SSAT16, USAT16. */
static bool is_pair(const struct dsp *s)
{
    return s->thumb ? is_right(s) && !shift_of(s) : effect_field(s->word, 5, 1);
}

static bool saturated(struct dsp *s, uint32_t *d)
{
    bool is_signed = s->op == DSP_SATURATE, right = is_right(s), two = is_pair(s);
    unsigned bits = effect_field(s->word, s->thumb ? 0 : 16, 5) + is_signed, by = shift_of(s);
    int64_t v = (int32_t)s->n;
    if (two) {
        if (bits > 16 || (!is_signed && bits == 16))
            return false;
        *d = (saturate(s, half_of(s->n, false), bits, is_signed) & 0xffff) |
             saturate(s, half_of(s->n, true), bits, is_signed) << 16;
        return true;
    }
    v = right ? v >> (by ? by : 32) : (int32_t)(s->n << by);
    *d = saturate(s, v, bits, is_signed);
    return true;
}

/* SXTAB16, SXTAB, SXTAH and unsigned; what adds nothing, but for the parallel ones, is elsewhere.
 */
static bool extended(struct dsp *s, uint32_t *d)
{
    static const uint8_t kinds[] = {3, 7, 0, 4, 2, 6}; /* T32, as A32 has them */
    unsigned code = effect_field(s->word, 20, 3), by = effect_field(s->word, s->thumb ? 4 : 10, 2);
    if (s->thumb && code > 5)
        return false;
    code = s->thumb ? kinds[code] : code;
    uint32_t m = by ? s->m >> 8 * by | s->m << (32 - 8 * by) : s->m, n = s->n, sign = !(code & 4);
    uint32_t low = sign ? (uint32_t)(int32_t)(int8_t)m : m & 0xff,
             high = sign ? (uint32_t)(int32_t)(int8_t)(m >> 16) : m >> 16 & 0xff;
    switch (code & 3) {
    case 0:
        *d = ((n + low) & 0xffff) | ((n >> 16) + high) << 16;
        return true;
    case 2:
        *d = n + low;
        return true;
    case 3:
        *d = n + (sign ? (uint32_t)half_of(m, false) : m & 0xffff);
        return true;
    default:
        return false;
    }
}

static uint32_t packed(const struct dsp *s)
{
    bool right = effect_field(s->word, s->thumb ? 5 : 6, 1);
    unsigned by = s->thumb ? effect_field(s->word, 12, 3) << 2 | effect_field(s->word, 6, 2)
                           : effect_field(s->word, 7, 5);
    if (right)
        return (s->n & 0xffff0000u) |
               ((uint32_t)((int64_t)(int32_t)s->m >> (by ? by : 32)) & 0xffff);
    return (s->n & 0xffff) | (s->m << by & 0xffff0000u);
}

static uint32_t selected(const struct dsp *s)
{
    uint32_t mask = 0;
    for (unsigned k = 0; k < 4; k++)
        mask |= s->ge >> k & 1 ? 0xffu << 8 * k : 0;
    return (s->n & mask) | (s->m & ~mask);
}

enum { SUM_PLAIN = 1, SUM_SATURATED, SUM_HALVED };
enum { LANES_CROSS = 1, LANES_CROSS_LESS, LANES_LESS, LANES_BYTES };

/* Two halves or four bytes; false: no such instruction. */
static bool parallel(struct dsp *s, uint32_t *d)
{
    static const uint8_t lanes[8] = {4, 0, 1, 5, 7, 3, 2, 5}; /* T32, as A32 has them; 5: none */
    unsigned how = effect_field(s->word, s->thumb ? 4 : 20, 3) + s->thumb,
             which = effect_field(s->word, s->thumb ? 20 : 5, 3);
    which = s->thumb ? lanes[which] : which;
    bool is_signed = !(how & 4), bytes = which & LANES_BYTES;
    unsigned width = bytes ? 8 : 16;
    uint32_t mask = (1u << width) - 1;
    if (!(how & 3) || which == 5 || which == 6)
        return false;
    bool cross = which == LANES_CROSS || which == LANES_CROSS_LESS;
    for (unsigned at = 0; at < 32; at += width) {
        int64_t x = s->n >> at & mask, y = s->m >> (cross ? 16 - at : at) & mask, v;
        if (is_signed) {
            x = bytes ? (int8_t)x : (int16_t)x;
            y = bytes ? (int8_t)y : (int16_t)y;
        }
        bool less = cross ? (which == LANES_CROSS) == !at : (which & 3) == LANES_LESS;
        v = less ? x - y : x + y;
        bool ge = is_signed || less ? v >= 0 : v > (int64_t)mask;
        s->ge |= ge ? (bytes ? 1u : 3u) << at / 8 : 0;
        bool before = s->saturated;
        if ((how & 3) == SUM_SATURATED)
            v = saturate(s, v, width, is_signed);
        s->saturated = before; /* Q is left as it was */
        *d |= ((uint32_t)((how & 3) == SUM_HALVED ? v >> 1 : v) & mask) << at;
    }
    if ((how & 3) != SUM_PLAIN)
        s->op = DSP_PACK; /* no GE */
    return true;
}

static bool computed(struct dsp *s, uint32_t *d)
{
    switch (s->op) {
    case DSP_SATURATED:
        *d = saturated_sum(s);
        return true;
    case DSP_SATURATE:
    case DSP_SATURATE_UNSIGNED:
        return saturated(s, d);
    case DSP_EXTEND:
        return extended(s, d);
    case DSP_PACK:
        *d = packed(s);
        return true;
    case DSP_SELECT:
        *d = selected(s);
        return true;
    case DSP_PARALLEL:
        return parallel(s, d);
    default:
        *d = multiplied(s);
        return true;
    }
}

static void write_long(struct execute_work *w, const struct dsp *s, bool known)
{
    uint64_t v = multiplied_long(s);
    execute_write(w, s->ra, (struct execute_value){(uint32_t)v, known, 0});
    execute_write(w, s->rd, (struct execute_value){(uint32_t)(v >> 32), known, 0});
    if (w->e->clobber & 1u << EFFECT_NZ) /* before ARMv5 C and V are not kept */
        execute_set_psr(w, w->x->core.v4t ? FLAG_NCV : FLAG_NZ,
                        (uint32_t)(v >> 32 & 0x80000000u) | (v ? 0 : 0x40000000u),
                        known ? FLAG_NZ : 0);
}

static void set_status(struct execute_work *w, const struct dsp *s, bool known)
{
    const struct execute_regs *r = &w->x->regs;
    bool may = s->op <= DSP_MULTIPLY_WIDE || s->op == DSP_DUAL || s->op == DSP_DUAL_LESS ||
               (s->op >= DSP_SATURATED && s->op <= DSP_SATURATE_UNSIGNED);
    if (s->op == DSP_PARALLEL)
        execute_set_psr(w, FLAG_GE, s->ge << 16, known ? FLAG_GE : 0);
    if (known ? s->saturated : may && !(r->psr & r->psr_known & FLAG_Q))
        execute_set_psr(w, FLAG_Q, FLAG_Q, known ? FLAG_Q : 0);
}

static bool reads_both(const struct dsp *s)
{
    return s->op != DSP_SATURATE && s->op != DSP_SATURATE_UNSIGNED;
}

static struct execute_value extended_range(const struct dsp *s, struct execute_value n,
                                           struct execute_value m)
{
    static const uint8_t kinds[] = {3, 7, 0, 4, 2, 6};
    unsigned code = effect_field(s->word, 20, 3), by = effect_field(s->word, s->thumb ? 4 : 10, 2);
    code = s->thumb && code < 6 ? kinds[code] : code;
    if (!(code & 2))
        return (struct execute_value){0, false, 0};
    if (by)
        m = (struct execute_value){0, false, 0};
    return execute_sum(n, execute_field(m, 0, code & 1 ? 16 : 8, !(code & 4)), false);
}

/* Of what is not known. */
static struct execute_value unknown_range(const struct dsp *s, struct execute_value n,
                                          struct execute_value m)
{
    struct dsp low = *s, high = *s;
    uint32_t from, to;
    int32_t least, most;
    if (s->op == DSP_EXTEND)
        return extended_range(s, n, m);
    if (s->op != DSP_SATURATE && s->op != DSP_SATURATE_UNSIGNED)
        return (struct execute_value){0, false, 0};
    execute_signed_limits(n, &least, &most);
    low.n = (uint32_t)least;
    high.n = (uint32_t)most;
    if (!is_right(s) && shift_of(s)) { /* moved to the left, it may have wrapped */
        low.word = high.word = s->word & (s->thumb ? ~0x70c0u : ~0xf80u);
        low.n = 0x80000000u;
        high.n = 0x7fffffffu;
    }
    if (!saturated(&low, &from) || !saturated(&high, &to) || is_pair(s))
        return (struct execute_value){0, false, 0};
    return execute_span(from, to);
}

bool execute_dsp(struct execute_work *w)
{
    struct dsp s = {.op = DSP_MULTIPLY_HALVES};
    uint32_t d = 0, psr = w->x->regs.psr_known;
    if (!find_row(w->insn, &s))
        return false;
    bool is_long = s.op >= DSP_LONG && s.op <= DSP_LONG_DUAL_LESS;
    bool sums = s.op == DSP_EXTEND && s.rn != NOTHING;
    struct execute_value n = {0, true, 0}, m = n, a = n, high = n;
    if (s.op != DSP_EXTEND || sums)
        n = execute_read(w, s.rn);
    if (reads_both(&s))
        m = execute_read(w, s.rm);
    if (s.add)
        a = execute_read(w, s.ra);
    if (is_long)
        high = execute_read(w, s.rd);
    if (s.rd == EXECUTE_PC || (s.rn == EXECUTE_PC && s.op != DSP_EXTEND) ||
        (reads_both(&s) && s.rm == EXECUTE_PC) || (is_long && s.rd == s.ra))
        return false;
    s.n = n.number;
    s.m = m.number;
    s.a = a.number;
    s.d = high.number;
    s.ge = s.op == DSP_SELECT ? w->x->regs.psr >> 16 & 15 : 0;
    bool known = n.known && m.known && a.known && high.known &&
                 (s.op != DSP_SELECT || (psr & FLAG_GE) == FLAG_GE);
    if (is_long) {
        write_long(w, &s, known);
        return true;
    }
    if (!computed(&s, &d))
        return false;
    struct execute_value v = {d, known, 0};
    if (!known)
        v = unknown_range(&s, n, m);
    execute_write(w, s.rd, v);
    set_status(w, &s, known);
    return true;
}
