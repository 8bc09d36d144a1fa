/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a value of A64 that is not known may be: a number or up to `range` more, modulo 2^64, or
 * 2^32 where an instruction is not wide. Never too narrow. Relations of registers are those of
 * execute_remainder.c, which sees their lower words.
 */
#include "execute_a64.h"

static uint64_t all(bool wide)
{
    return wide ? UINT64_MAX : UINT32_MAX;
}

static uint64_t ones(unsigned n)
{
    return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static bool is_told(struct a64_value v)
{
    return v.known || v.range;
}

static struct a64_value between(uint64_t low, uint64_t high)
{
    uint64_t range = high - low;
    return (struct a64_value){low, !range, range == UINT64_MAX ? 0 : range};
}

/* As a word, if it is one. */
static struct a64_value cut(struct a64_value v, bool wide)
{
    bool fits = wide || v.range < UINT32_MAX;
    return (struct a64_value){a64_cut(v.bits, wide), v.known, fits ? v.range : 0};
}

static void limits(struct a64_value v, bool wide, uint64_t *low, uint64_t *high)
{
    bool whole = !v.known && (!v.range || v.range > all(wide) - v.bits);
    *low = whole ? 0 : v.bits;
    *high = whole ? all(wide) : v.bits + v.range;
}

static void signed_limits(struct a64_value v, bool wide, int64_t *low, int64_t *high)
{
    uint64_t from, to, sign = all(wide) / 2 + 1;
    v.bits ^= sign;
    limits(v, wide, &from, &to);
    *low = a64_signed(from ^ sign, wide ? 64 : 32);
    *high = a64_signed(to ^ sign, wide ? 64 : 32);
}

struct a64_value a64_span(const struct execute *x, unsigned reg, bool wide)
{
    const struct execute_regs *r = &x->regs;
    struct a64_value v = a64_get(x, reg, wide);
    uint64_t low, high;
    if (v.known || reg == A64_ZR || !(r->bounded >> reg & 1))
        return v;
    v.range = r->range[reg];
    if (!wide && v.range >= UINT32_MAX)
        v.range = 0;
    if (!wide || !(r->words >> reg & 1))
        return v;
    limits(v, false, &low, &high);
    return between(low, high);
}

bool a64_is_word(const struct execute *x, unsigned reg)
{
    uint64_t low, high;
    limits(a64_span(x, reg, true), true, &low, &high);
    return high <= UINT32_MAX;
}

struct a64_value a64_sum(struct a64_value a, struct a64_value b, bool subtract, bool wide)
{
    struct a64_value d = {.known = a.known && b.known, .range = a.range + b.range};
    bool loose = !is_told(a) || !is_told(b) || d.range < a.range || d.range >= all(wide);
    d.bits = a64_cut(subtract ? a.bits - b.bits - b.range : a.bits + b.bits, wide);
    d.range = loose ? 0 : d.range;
    return d;
}

static struct a64_value times(struct a64_value v, uint64_t by, bool wide)
{
    struct a64_value d = {.bits = a64_cut(v.bits * by, wide), .known = v.known};
    if (__builtin_mul_overflow(v.range, by, &d.range) || d.range >= all(wide))
        d.range = 0;
    return d;
}

struct a64_value a64_product(struct a64_value a, struct a64_value b, bool wide)
{
    uint64_t low[2], high[2], most;
    if (a.known || b.known)
        return times(a.known ? b : a, a.known ? a.bits : b.bits, wide);
    limits(a, wide, &low[0], &high[0]);
    limits(b, wide, &low[1], &high[1]);
    if (__builtin_mul_overflow(high[0], high[1], &most) || most > all(wide))
        return a64_unknown();
    return between(low[0] * low[1], most);
}

/* Of a product of words, whose registers are these. */
struct a64_value a64_long_product(struct a64_value a, struct a64_value b, bool is_signed)
{
    int64_t ends[2][2], least = INT64_MAX, most = INT64_MIN;
    uint64_t low[2], high[2];
    if (!is_signed) {
        limits(a, false, &low[0], &high[0]);
        limits(b, false, &low[1], &high[1]);
        return between(low[0] * low[1], high[0] * high[1]);
    }
    signed_limits(a, false, &ends[0][0], &ends[0][1]);
    signed_limits(b, false, &ends[1][0], &ends[1][1]);
    for (unsigned i = 0; i < 4; i++) {
        int64_t product = ends[0][i & 1] * ends[1][i >> 1];
        least = product < least ? product : least;
        most = product > most ? product : most;
    }
    return between((uint64_t)least, (uint64_t)most);
}

struct a64_value a64_upper_product(struct a64_value a, struct a64_value b)
{
    uint64_t low[2], high[2];
    limits(a, true, &low[0], &high[0]);
    limits(b, true, &low[1], &high[1]);
    return between((uint64_t)((unsigned __int128)low[0] * low[1] >> 64),
                   (uint64_t)((unsigned __int128)high[0] * high[1] >> 64));
}

struct a64_value a64_quotient(struct a64_value a, struct a64_value b, bool is_signed, bool wide)
{
    uint64_t low, high, least, most;
    int64_t from, to;
    limits(a, wide, &low, &high);
    limits(b, wide, &least, &most);
    signed_limits(a, wide, &from, &to);
    if (!is_signed) /* by zero it is 0 */
        return between(least ? low / most : 0, least ? high / least : high);
    if (!b.known || !b.bits || b.bits > all(wide) / 2)
        return a64_unknown();
    return cut(between((uint64_t)(from / (int64_t)b.bits), (uint64_t)(to / (int64_t)b.bits)), wide);
}

struct a64_value a64_shifted(struct a64_value v, unsigned type, struct a64_value by, bool wide)
{
    uint64_t low, high, least, most;
    int64_t from, to;
    limits(by, true, &least, &most);
    if (by.known && !by.bits)
        return v;
    if (most > (wide ? 63 : 31) || (!by.known && !by.range))
        return a64_unknown();
    limits(v, wide, &low, &high);
    signed_limits(v, wide, &from, &to);
    switch (type) {
    case 0:
        if (by.known)
            return times(v, UINT64_C(1) << by.bits, wide);
        return a64_cut(high << most, wide) >> most == high ? between(low << least, high << most)
                                                           : a64_unknown();
    case 1:
        return between(low >> most, high >> least);
    case 2:
        return cut(between((uint64_t)(from >> (from < 0 ? least : most)),
                           (uint64_t)(to >> (to < 0 ? most : least))),
                   wide);
    default:
        return a64_unknown();
    }
}

/* Bits of it, as 64. */
static struct a64_value part_of(struct a64_value v, bool wide, unsigned lsb, unsigned width,
                                bool sign)
{
    uint64_t low, high, mask = ones(width);
    int64_t from, to, most = (int64_t)(mask >> 1);
    limits(v, wide, &low, &high);
    signed_limits(v, wide, &from, &to);
    if (!sign)
        return high >> lsb <= mask ? between(low >> lsb, high >> lsb) : between(0, mask);
    from >>= lsb;
    to >>= lsb;
    return from >= -most - 1 && to <= most ? between((uint64_t)from, (uint64_t)to)
                                           : between((uint64_t)(-most - 1), (uint64_t)most);
}

struct a64_value a64_part(const struct execute *x, unsigned reg, const struct a64_bits *b)
{
    bool wide = b->lsb + b->width > 32;
    struct a64_value v = a64_span(x, reg, wide);
    if (b->wide == wide && b->lsb == 0 && b->at + b->width >= (wide ? 64 : 32))
        return times(v, UINT64_C(1) << b->at, wide); /* LSL */
    v = part_of(v, wide, b->lsb, b->width, b->sign);
    return cut(b->at ? times(v, UINT64_C(1) << b->at, true) : v, b->wide);
}

static struct a64_value masked(struct a64_value a, struct a64_value b, bool wide)
{
    uint64_t low, high, other, most, mask = b.known ? b.bits : a.bits;
    limits(b.known ? a : b, wide, &low, &high);
    limits(b.known ? b : a, wide, &other, &most);
    uint64_t gone = a64_cut(~mask, wide);
    if (!a.known && !b.known)
        return between(0, most < high ? most : high);
    if (!(mask & (mask + 1)) && high <= mask)
        return between(low, high);
    if (gone & (gone + 1)) /* not low bits alone are taken away */
        return between(0, most < high ? most : high);
    return between(low & mask, high & mask);
}

struct a64_value a64_joined(unsigned opc, struct a64_value a, struct a64_value b, bool wide)
{
    uint64_t low, high, least, most;
    bool is_and = opc == 0 || opc == 3;
    if (is_and)
        return masked(a, b, wide);
    if ((a.known && !a.bits) || (b.known && !b.bits))
        return b.known && !b.bits ? a : b;
    limits(a, wide, &low, &high);
    limits(b, wide, &least, &most);
    high |= most;
    return between(opc == 2      ? 0
                   : low > least ? low
                                 : least,
                   high ? UINT64_MAX >> __builtin_clzll(high) : 0);
}

struct a64_value a64_inverse(struct a64_value v, bool wide)
{
    v.bits = a64_cut(~(v.bits + v.range), wide);
    return v;
}

struct a64_value a64_either(struct a64_value a, struct a64_value b, bool wide)
{
    bool told = is_told(a) && is_told(b);
    if (a64_cut(b.bits - a.bits, wide) > all(wide) / 2) {
        const struct a64_value swap = a;
        a = b;
        b = swap;
    }
    uint64_t apart = a64_cut(b.bits - a.bits, wide), end = apart + b.range;
    struct a64_value d = {a.bits, a.known && b.known && !apart, 0};
    if (!d.known && told && end >= apart && end < all(wide))
        d.range = a.range > end ? a.range : end;
    return d;
}

struct a64_value a64_zeros(struct a64_value v, bool wide)
{
    uint64_t low, high, size = wide ? 64 : 32;
    limits(v, wide, &low, &high);
    return between(high ? (uint64_t)__builtin_clzll(high) - (64 - size) : size,
                   low ? (uint64_t)__builtin_clzll(low) - (64 - size) : size);
}

struct a64_value a64_extended(struct a64_value v, unsigned size)
{
    return part_of(v, false, 0, 8 * size, true);
}

/* What of memory is not known, in bytes at most, as 64 bits or, if not `wide`, 32. */
struct a64_value a64_loaded(struct execute *x, uint64_t address, unsigned size, bool sign)
{
    uint8_t upper[4];
    uint32_t number, range, high;
    if (execute_is_big(x) || !execute_is_own_order(x))
        return a64_unknown();
    range = execute_memory_range(&x->memory, address, size == 8 ? 4 : size, &number);
    if (size < 8) {
        struct a64_value v = {number, false, range};
        v = size < 4 && !range ? between(0, ones(8 * size)) : v;
        return sign ? part_of(v, false, 0, 8 * size, true) : v;
    }
    if (!execute_memory_read(&x->memory, address + 4, upper, 4))
        return a64_unknown();
    high = upper[0] | (uint32_t)upper[1] << 8 | (uint32_t)upper[2] << 16 | (uint32_t)upper[3] << 24;
    bool whole = !range || range > UINT32_MAX - number;
    return between((uint64_t)high << 32 | (whole ? 0 : number),
                   (uint64_t)high << 32 | (whole ? UINT32_MAX : number + range));
}

void a64_bound(struct execute *x, uint64_t address, unsigned size, struct a64_value v, int *error)
{
    uint32_t high = (uint32_t)(v.bits >> 32);
    uint8_t upper[4] = {(uint8_t)high, (uint8_t)(high >> 8), (uint8_t)(high >> 16),
                        (uint8_t)(high >> 24)};
    if (!v.range || address & (size - 1) || execute_is_big(x) || !execute_is_own_order(x))
        return;
    if (size == 8 && (v.bits + v.range) >> 32 == high && v.bits + v.range >= v.bits)
        *error = execute_memory_write(&x->memory, address + 4, upper, 4);
    else if (size == 8)
        return;
    if (v.range < UINT32_MAX)
        execute_bound(x, address, size < 4 ? size : 4,
                      (struct execute_value){(uint32_t)v.bits, false, (uint32_t)v.range});
}

/* What was compared is now known better, where it is in memory, too. */
static void learn_memory(struct execute *x, const struct execute_compared *c, unsigned cond,
                         int *error)
{
    struct execute_compared there = *c;
    struct execute_memory *m = &x->memory;
    uint64_t at, low, range;
    uint8_t bytes[8];
    unsigned slot = EXECUTE_WATCH_MIRROR;
    there.shift = 0;
    if (!c->width || (c->shift && c->how != EXECUTE_COMPARED_WITH) || c->wide != (c->width == 8))
        return;
    if (!execute_memory_is_same(m, slot, &at) || at != c->address)
        slot = EXECUTE_WATCH_STORED;
    if ((slot == EXECUTE_WATCH_STORED &&
         (!execute_memory_is_same(m, slot, &at) || at != c->address)) ||
        execute_memory_read(m, at, bytes, c->width))
        return;
    struct a64_value v = a64_loaded(x, at, c->width, false);
    low = v.range ? v.bits : 0;
    range = v.range ? v.range : all(c->wide);
    if (!execute_narrow_wide(&low, &range, &there, cond)) {
        *error = BT_ERR_RANGE;
        return;
    }
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(low >> 8 * i);
    if (!range)
        *error = execute_memory_write(m, at, bytes, c->width);
    else if (range != all(c->wide))
        a64_bound(x, at, c->width, (struct a64_value){low, false, range}, error);
    execute_memory_watch(m, slot, at, c->width);
}

static void learn(struct execute *x, const struct execute_compared *c, unsigned cond, int *error)
{
    struct execute_regs *r = &x->regs;
    unsigned reg = c->reg - 1u;
    if (c->reg && !(r->known >> reg & 1)) {
        struct a64_value v = a64_span(x, reg, c->wide);
        uint64_t low = v.range ? v.bits : 0, range = v.range ? v.range : all(c->wide);
        if (!execute_narrow_wide(&low, &range, c, cond)) {
            *error = BT_ERR_RANGE;
            return;
        }
        if ((c->wide || a64_is_word(x, reg)) && range != all(c->wide)) {
            r->value[reg] = low;
            r->range[reg] = range;
            r->known |= (uint64_t)!range << reg;
            r->partial = r->partial == c->reg ? 0 : r->partial;
            r->bounded = (r->bounded & ~(1u << reg)) | (uint32_t)(range != 0) << reg;
            r->words = (r->words & ~(1u << reg)) | (uint32_t)!c->wide << reg;
        }
    }
    learn_memory(x, c, cond, error);
}

static bool passes(uint32_t nzcv, unsigned cond)
{
    return execute_flags_pass(&(struct execute_regs){.psr = nzcv << 28, .psr_known = A64_NZCV},
                              cond) > 0;
}

void a64_learn(struct execute *x, unsigned cond, bool held, int *error)
{
    const struct execute_compared last = x->regs.compared;
    const struct execute_chain *chain = x->regs.chain;
    unsigned n = x->regs.chained;
    cond = held ? cond : cond ^ 1;
    if (n && passes(chain[n - 1].flags, cond))
        return; /* it may not have been compared */
    if (last.reg || last.width)
        learn(x, &last, cond, error);
    while (n-- > 0 && *error == BT_OK) {
        struct execute_compared c = chain[n].before;
        if (n && passes(chain[n - 1].flags, chain[n].cond))
            return;
        if (c.reg || c.width)
            learn(x, &c, chain[n].cond, error);
    }
}

/* The place of what was compared is another one, or there is something else. */
static void end_places(struct execute_regs *r)
{
    r->compared.width = 0;
    for (unsigned n = 0; n < r->chained; n++)
        r->chain[n].before.width = 0;
}

void a64_mirror(struct execute *x, unsigned reg, uint64_t address, unsigned size)
{
    if (reg == A64_ZR || execute_is_big(x) || !execute_is_own_order(x))
        return;
    execute_memory_watch(&x->memory, EXECUTE_WATCH_MIRROR, address, size);
    x->regs.mirror = (uint8_t)(reg + 1);
    x->regs.mirror_width = (uint8_t)size;
    end_places(&x->regs);
}

void a64_keep(struct execute *x, unsigned reg, uint64_t address)
{
    struct execute_work w = {.x = x};
    if (reg == A64_ZR || execute_is_big(x))
        return;
    execute_keep(&w, reg, address);
    end_places(&x->regs);
}

static void note_place(const struct execute *x, struct execute_compared *c, unsigned reg)
{
    const struct execute_regs *r = &x->regs;
    bool mirror = r->mirror == reg + 1;
    if (!mirror && r->multiples.stored != reg + 1)
        return;
    c->width = mirror ? r->mirror_width : 4;
    if (!execute_memory_is_same(&x->memory, mirror ? EXECUTE_WATCH_MIRROR : EXECUTE_WATCH_STORED,
                                &c->address))
        c->width = 0;
}

void a64_learn_zero(struct execute *x, unsigned reg, const struct execute_compared *of, bool held,
                    int *error)
{
    struct execute_compared c = *of;
    note_place(x, &c, reg);
    c.reg = (uint8_t)(reg + 1);
    learn(x, &c, held ? 0 : 1, error);
}

int a64_holds(const struct execute *x, unsigned cond)
{
    const struct execute_compared *c = &x->regs.compared;
    int holds = a64_condition(x, cond);
    if (holds >= 0 || x->regs.chained || !c->reg)
        return holds;
    struct a64_value v = a64_span(x, c->reg - 1u, c->wide);
    uint64_t low = v.range || v.known ? v.bits : 0,
             range = v.range || v.known ? v.range : all(c->wide), other = low, others = range;
    if (!execute_narrow_wide(&low, &range, c, cond))
        return 0;
    return execute_narrow_wide(&other, &others, c, cond ^ 1) ? -1 : 1;
}

struct a64_value a64_on_condition(const struct execute *x, unsigned reg, bool wide, unsigned cond)
{
    const struct execute_compared *c = &x->regs.compared;
    struct a64_value v = a64_span(x, reg, wide);
    if (v.known || c->reg != reg + 1 || c->wide != wide || x->regs.chained)
        return v;
    uint64_t low = v.range ? v.bits : 0, range = v.range ? v.range : all(wide);
    if (execute_narrow_wide(&low, &range, c, cond))
        v = (struct a64_value){low, !range, range == all(wide) ? 0 : range};
    return v;
}

void a64_note_compared(struct execute *x, struct execute_compared c)
{
    if (c.reg && c.how != EXECUTE_COMPARED_RESULT)
        note_place(x, &c, c.reg - 1u);
    x->regs.compared = c;
}

void a64_chain(struct execute *x, unsigned cond, unsigned flags)
{
    struct execute_regs *r = &x->regs;
    if (r->chained == EXECUTE_CHAIN) {
        r->chain[0] = r->chain[1];
        r->chain[0].before.reg = r->chain[0].before.width = 0;
        r->chained--;
    }
    r->chain[r->chained++] = (struct execute_chain){r->compared, (uint8_t)cond, (uint8_t)flags};
}
