/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a value that is not known may be: a number or up to `range` more, modulo 2^32, so that it
 * may have a sign. Never too narrow: what cannot be said in one such span is unknown.
 */
#include "execute_work.h"

/* Conditions (DDI 0403E.e A7.3). */
enum { EQ, NE, CS, CC, MI, PL, VS, VC, HI, LS, GE, LT, GT, LE };

#define SIGN 0x80000000u

struct execute_value execute_span(uint32_t low, uint32_t high)
{
    uint32_t range = high - low;
    return (struct execute_value){low, !range, range == UINT32_MAX ? 0 : range};
}

/* From the least to the greatest, or unknown. */
static struct execute_value between(uint32_t low, uint32_t high)
{
    return low <= high ? execute_span(low, high) : (struct execute_value){0, false, 0};
}

void execute_limits(struct execute_value v, uint32_t *low, uint32_t *high)
{
    bool whole = !v.known && (!v.range || v.number + v.range < v.number);
    *low = whole ? 0 : v.number;
    *high = whole ? UINT32_MAX : v.number + v.range;
}

void execute_signed_limits(struct execute_value v, int32_t *low, int32_t *high)
{
    uint32_t from, to;
    v.number ^= SIGN;
    execute_limits(v, &from, &to);
    *low = (int32_t)(from ^ SIGN);
    *high = (int32_t)(to ^ SIGN);
}

struct execute_value execute_sum(struct execute_value a, struct execute_value b, bool subtract)
{
    struct execute_value d = {a.number + b.number, a.known && b.known, a.range + b.range};
    bool loose = (!a.known && !a.range) || (!b.known && !b.range) || d.range < a.range;
    if (subtract)
        d.number = a.number - b.number - b.range;
    d.range = loose ? 0 : d.range;
    return d;
}

/* By a constant: both wrap alike. */
static struct execute_value times(struct execute_value v, uint32_t by)
{
    bool fits = v.range && (uint64_t)v.range * by < UINT32_MAX;
    return (struct execute_value){v.number * by, false, fits ? v.range * by : 0};
}

struct execute_value execute_product(struct execute_value a, struct execute_value b)
{
    uint32_t low[2], high[2];
    if (a.known || b.known)
        return times(a.known ? b : a, a.known ? a.number : b.number);
    execute_limits(a, &low[0], &high[0]);
    execute_limits(b, &low[1], &high[1]);
    if ((uint64_t)high[0] * high[1] > UINT32_MAX)
        return (struct execute_value){0, false, 0};
    return execute_span(low[0] * low[1], high[0] * high[1]);
}

static struct execute_value shifted(struct execute_value v, unsigned shift, struct execute_value by)
{
    uint32_t low, high, least, most;
    int32_t from, to;
    execute_limits(by, &least, &most);
    if (!most || most > 31) /* by more than a byte says, too */
        return (struct execute_value){0, false, 0};
    execute_limits(v, &low, &high);
    execute_signed_limits(v, &from, &to);
    switch (shift) {
    case EFFECT_LSL:
        if (by.known && !v.known)
            return times(v, 1u << by.number);
        return high << most >> most == high ? execute_span(low << least, high << most)
                                            : (struct execute_value){0, false, 0};
    case EFFECT_LSR:
        return execute_span(low >> most, high >> least);
    case EFFECT_ASR:
        return execute_span((uint32_t)(from >> (from < 0 ? least : most)),
                            (uint32_t)(to >> (to < 0 ? most : least)));
    default:
        return (struct execute_value){0, false, 0};
    }
}

struct execute_value execute_operand(const struct execute_work *w, uint32_t *carry,
                                     uint32_t *carry_known)
{
    const struct insn_effect *e = w->e;
    *carry = w->x->regs.psr >> 29 & 1;
    *carry_known = w->x->regs.psr_known >> 29 & 1;
    if (e->rm == EFFECT_NO_REG) {
        if (e->carry == EFFECT_C_0 || e->carry == EFFECT_C_1) {
            *carry = e->carry == EFFECT_C_1;
            *carry_known = 1;
        }
        return (struct execute_value){e->imm, true, 0};
    }
    struct execute_value v = execute_read(w, e->rm), by = {e->amount, true, 0};
    bool needs_carry = e->shift == EFFECT_RRX;
    if (e->rs != EFFECT_NO_REG)
        by = execute_read(w, e->rs);
    if (e->rs == EFFECT_NO_REG && !e->amount)
        return v;
    struct execute_value range = v;
    v.known = v.known && by.known && (!needs_carry || *carry_known);
    *carry_known = v.known && (*carry_known || (by.number & 0xff));
    v.number = effect_shift_value(e->shift, v.number, by.number & 0xff, carry);
    v.range = 0;
    if (by.known)
        by.number &= 0xff;
    return v.known ? v : shifted(range, e->shift, by);
}

/* The number with all bits below its highest one. */
static uint32_t filled(uint32_t v)
{
    return v ? UINT32_MAX >> __builtin_clz(v) : 0;
}

struct execute_value execute_masked(struct execute_value a, struct execute_value b)
{
    uint32_t low, high, other, most, mask = b.known ? b.number : a.number;
    execute_limits(b.known ? a : b, &low, &high);
    execute_limits(b.known ? b : a, &other, &most);
    if ((!a.known && !b.known) || ~mask & (~mask + 1)) /* not low bits alone are taken away */
        return between(0, most < high ? most : high);
    return between(low & mask, high & mask);
}

struct execute_value execute_joined(struct execute_value a, struct execute_value b, bool exclusive)
{
    uint32_t low, high, least, most;
    execute_limits(a, &low, &high);
    execute_limits(b, &least, &most);
    return between(exclusive ? 0 : low > least ? low : least, filled(high | most));
}

struct execute_value execute_inverse(struct execute_value v)
{
    return (struct execute_value){~(v.number + v.range), v.known, v.range};
}

struct execute_value execute_field(struct execute_value v, unsigned lsb, unsigned width, bool sign)
{
    uint32_t low, high, mask = UINT32_MAX >> (32 - width);
    int32_t from, to, least = -(int32_t)(mask / 2) - 1;
    execute_limits(v, &low, &high);
    execute_signed_limits(v, &from, &to);
    if (!sign)
        return high >> lsb <= mask ? between(low >> lsb, high >> lsb) : between(0, mask);
    if (!lsb && from >= least && to <= (int32_t)(mask / 2))
        return v;
    return execute_span((uint32_t)least, mask / 2);
}

struct execute_value execute_quotient(struct execute_value a, struct execute_value b,
                                      bool is_signed)
{
    uint32_t low, high, least, most;
    int32_t from, to;
    execute_limits(a, &low, &high);
    execute_limits(b, &least, &most);
    execute_signed_limits(a, &from, &to);
    if (!is_signed) /* by zero it is 0, or traps */
        return between(least ? low / most : 0, least ? high / least : high);
    if (!b.known || !b.number || b.number >= SIGN)
        return (struct execute_value){0, false, 0};
    return execute_span((uint32_t)(from / (int32_t)b.number), (uint32_t)(to / (int32_t)b.number));
}

struct execute_value execute_remainder(struct execute_value v, uint32_t divisor)
{
    uint32_t low, high;
    execute_limits(v, &low, &high);
    return high < divisor ? v : execute_span(0, divisor - 1);
}

/* From `low` on, up to `range` more, modulo 2^32 or 2^64, of which `all` is the greatest. */
struct span {
    uint64_t low, range, all;
};

static uint64_t filled_wide(uint64_t v)
{
    return v ? UINT64_MAX >> __builtin_clzll(v) : 0;
}

/* Numbers for which the condition holds. 1: `span` has them, 0: there are none, -1: it does not
 * say. */
static int holding(const struct execute_compared *c, unsigned cond, struct span *span)
{
    uint64_t with = c->with, low = with, high = with, sign = span->all / 2 + 1;
    if (c->how == EXECUTE_COMPARED_RESULT && cond != EQ && cond != MI && cond != PL)
        return -1;
    if (c->how == EXECUTE_COMPARED_BY) { /* c - v >= 0 is v - c <= 0 */
        static const uint8_t turned[] = {EQ, NE, LS, HI, VS, VS, VS, VC, CC, CS, LE, GT, LT, GE};
        cond = cond < sizeof turned ? turned[cond] : VS;
    }
    switch (cond) {
    case EQ:
        break;
    case CS:
        high = span->all;
        break;
    case CC:
        low = 0;
        high--;
        break;
    case MI:
        low += sign;
        high--;
        break;
    case PL:
        high += sign - 1;
        break;
    case HI:
        low++;
        high = span->all;
        break;
    case LS:
        low = 0;
        break;
    case GE:
        high = sign - 1;
        break;
    case LT:
        low = sign;
        high--;
        break;
    case GT:
        low++;
        high = sign - 1;
        break;
    case LE:
        low = sign;
        break;
    default:
        return -1;
    }
    span->low = low & span->all;
    span->range = (high - low) & span->all;
    if ((cond == CC && !with) || (cond == HI && with == span->all) ||
        (cond == LT && with == sign) || (cond == GT && with == sign - 1))
        return 0;
    return span->range == span->all ? -1 : 1;
}

/* What is in both; false: nothing. What would be two pieces stays as it is, or is `to`. */
static bool narrow(struct span *v, struct span to)
{
    uint64_t from = (to.low - (v->range == v->all ? to.low : v->low)) & v->all,
             end = (from + to.range) & v->all;
    if (v->range == v->all) {
        *v = to;
        return true;
    }
    if (from > end) { /* both its ends may be in */
        if (from <= v->range) {
            *v = to.range < v->range ? to : *v;
            return true;
        }
        from = 0;
    } else if (from > v->range) {
        return false;
    }
    v->low = (v->low + from) & v->all;
    v->range = (end < v->range ? end : v->range) - from;
    return true;
}

/* Some of these bits are set, or none. */
static bool narrow_bits(struct span *v, uint64_t bits, bool set)
{
    bool whole = v->range > v->all - v->low;
    uint64_t high = whole ? v->all : v->low + v->range, least = bits & (~bits + 1);
    struct span to = {set ? least : 0, set ? v->all - least : filled_wide(high) & ~bits, v->all};
    if (!v->range)
        return set == ((v->low & bits) != 0);
    if (!bits)
        return !set;
    return (set ? !least : to.range == v->all) || narrow(v, to);
}

static bool narrow_to(struct span *v, const struct execute_compared *c, unsigned cond)
{
    struct span to = {.all = v->all};
    if (c->how == EXECUTE_COMPARED_BITS)
        return cond > NE || narrow_bits(v, c->with, cond == NE);
    if (cond != NE) {
        int says = holding(c, cond, &to);
        return says && (says < 0 || narrow(v, to));
    }
    if (!v->range)
        return v->low != c->with;
    bool all = v->range == v->all;
    if (all || v->low == c->with) {
        v->low = ((all ? c->with : v->low) + 1) & v->all;
        v->range--;
    } else if (((v->low + v->range) & v->all) == c->with) {
        v->range--;
    }
    return true;
}

bool execute_narrow_wide(uint64_t *low, uint64_t *range, const struct execute_compared *c,
                         unsigned cond)
{
    struct span v = {*low, *range, c->wide ? UINT64_MAX : UINT32_MAX};
    v.low = (v.low + c->shift) & v.all;
    bool possible = narrow_to(&v, c, cond);
    *low = (v.low - c->shift) & v.all;
    *range = v.range;
    return possible;
}

bool execute_narrow(struct execute_value *v, const struct execute_compared *c, unsigned cond,
                    bool held)
{
    uint64_t low = v->number, range = v->known || v->range ? v->range : UINT32_MAX;
    bool known = v->known, possible = execute_narrow_wide(&low, &range, c, held ? cond : cond ^ 1);
    *v = execute_span((uint32_t)low, (uint32_t)(low + range));
    v->known |= known;
    return possible;
}

void execute_mirror(struct execute_work *w, unsigned reg, uint64_t address)
{
    execute_memory_watch(&w->x->memory, EXECUTE_WATCH_MIRROR, address, w->e->width);
    w->x->regs.mirror = (uint8_t)(reg + 1);
    w->x->regs.mirror_width = w->e->width;
}

void execute_bound(struct execute *x, uint64_t address, unsigned width, struct execute_value v)
{
    if (width < 4)
        v = execute_field(v, 0, 8 * width, false);
    if (v.range && (width == 4 || v.range < UINT32_MAX >> (32 - 8 * width)) &&
        execute_is_own_order(x))
        execute_memory_bound(&x->memory, address, width, v.number, v.range);
}

struct execute_value execute_loaded(struct execute_value found, unsigned width, bool sign)
{
    if (width == 4)
        return found;
    if (!found.range)
        found = execute_span(0, width == 1 ? UINT8_MAX : UINT16_MAX);
    return sign ? execute_field(found, 0, 8 * width, true) : found;
}

static void learn_memory(struct execute_work *w, struct execute_value v, enum execute_watch n,
                         unsigned width)
{
    struct execute_memory *m = &w->x->memory;
    uint64_t address;
    uint8_t bytes[4] = {(uint8_t)v.number, (uint8_t)(v.number >> 8), (uint8_t)(v.number >> 16),
                        (uint8_t)(v.number >> 24)};
    if (!execute_memory_is_same(m, n, &address) || !execute_is_own_order(w->x))
        return;
    execute_swap(w->x, bytes, width);
    if (v.known)
        w->error = execute_memory_write(m, address, bytes, width);
    else if (v.range && !(address & (width - 1)) && !execute_memory_pair(m, address))
        execute_bound(w->x, address, width, v);
    execute_memory_watch(m, n, address, width);
}

/* The register has what it had, of which a condition says more. */
static void learn_register(struct execute_work *w, const struct execute_compared *c, unsigned cond,
                           bool held)
{
    const struct execute_compared of = *c, flags = w->x->regs.compared;
    const struct execute_multiples multiples = w->x->regs.multiples;
    const uint8_t mirror = w->x->regs.mirror;
    struct execute_value v = execute_read(w, of.reg - 1u);
    if (!execute_narrow(&v, &of, cond, held)) {
        w->error = BT_ERR_RANGE;
        return;
    }
    execute_write(w, of.reg - 1u, v);
    w->x->regs.compared = flags;
    w->x->regs.multiples = multiples;
    if (mirror == of.reg) {
        learn_memory(w, v, EXECUTE_WATCH_MIRROR, w->x->regs.mirror_width);
        w->x->regs.mirror = mirror;
    }
    if (multiples.stored == of.reg)
        learn_memory(w, v, EXECUTE_WATCH_STORED, 4);
    if (w->x->exclusive.reg == of.reg && v.known)
        w->error = execute_end_exclusive(w->x, v.number);
}

void execute_learn(struct execute_work *w, const struct execute_compared *c, unsigned cond,
                   bool held)
{
    const struct execute_multiples *m = &w->x->regs.multiples;
    struct execute_compared part = {.reg = m->part, .how = c->how, .with = c->with};
    bool told =
        c->how == EXECUTE_COMPARED_BITS && m->part && m->whole == c->reg && !(c->with & ~m->mask);
    learn_register(w, c, cond, held);
    if (told && !w->error)
        learn_register(w, &part, cond, held);
}

int execute_compared_pass(const struct execute_work *w, unsigned cond)
{
    const struct execute_compared *c = &w->x->regs.compared;
    struct execute_value v = execute_read(w, c->reg - 1u), other = v;
    if (!execute_narrow(&v, c, cond, true))
        return 0;
    return execute_narrow(&other, c, cond, false) ? -1 : 1;
}
