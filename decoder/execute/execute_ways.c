/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers on both ways that a condition chooses between of which nobody knows whether it holds.
 */
#include "execute_work.h"

void execute_ways_save(const struct execute *x, struct execute_low *to)
{
    for (unsigned i = 0; i < EXECUTE_PC; i++) {
        to->value[i] = (uint32_t)x->regs.value[i];
        to->range[i] = x->regs.range[i];
    }
    to->known = (uint32_t)x->regs.known;
    to->bounded = x->regs.bounded;
}

static struct execute_value get(const struct execute_low *from, unsigned reg)
{
    bool known = from->known >> reg & 1, bounded = !known && from->bounded >> reg & 1;
    return (struct execute_value){from->value[reg], known, bounded ? from->range[reg] : 0};
}

static void put(struct execute_low *to, unsigned reg, struct execute_value v)
{
    to->value[reg] = v.number;
    to->range[reg] = v.range;
    to->known = (to->known & ~(1u << reg)) | (uint32_t)v.known << reg;
    to->bounded = (to->bounded & ~(1u << reg)) | (uint32_t)(v.range != 0) << reg;
}

static void set_register(struct execute *x, unsigned reg, struct execute_value v)
{
    struct execute_regs *r = &x->regs;
    r->value[reg] = v.number;
    r->range[reg] = v.range;
    r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)v.known << reg;
    r->bounded = (r->bounded & ~(1u << reg)) | (uint32_t)(v.range != 0) << reg;
    r->compared.reg = r->compared.reg == reg + 1 ? 0 : r->compared.reg;
    execute_unrelate(r, 1u << reg);
    r->partial = r->partial == reg + 1 ? 0 : r->partial;
}

void execute_ways_restore(struct execute *x, uint32_t regs, const struct execute_low *from)
{
    for (; regs; regs &= regs - 1) {
        unsigned reg = (unsigned)__builtin_ctz(regs);
        set_register(x, reg, get(from, reg));
    }
}

void execute_ways_take(struct execute *x, unsigned n)
{
    execute_ways_restore(x, x->ways.differs, &x->ways.way[n]);
    x->ways.differs = 0;
}

static bool is_same(struct execute_value a, struct execute_value b)
{
    return a.known && b.known && a.number == b.number;
}

static void join(struct execute *x, unsigned reg, struct execute_value a, struct execute_value b)
{
    struct execute_ways *ways = &x->ways;
    put(&ways->way[0], reg, a);
    put(&ways->way[1], reg, b);
    ways->differs = (ways->differs & ~(1u << reg)) | (uint32_t)!is_same(a, b) << reg;
    set_register(x, reg, execute_either(a, b));
}

void execute_ways_join(struct execute *x, uint32_t regs, const struct execute_low *first,
                       const struct execute_low *second)
{
    for (; regs; regs &= regs - 1) {
        unsigned reg = (unsigned)__builtin_ctz(regs);
        join(x, reg, get(first, reg), get(second, reg));
    }
}

void execute_ways_open(struct execute *x, unsigned cond)
{
    struct execute_ways *ways = &x->ways;
    const struct execute_compared c = x->regs.compared;
    ways->instance = ++x->memory.latest;
    ways->cond = (uint8_t)cond;
    ways->flags = true;
    ways->differs = 0;
    if (!c.reg)
        return;
    uint64_t at;
    bool stored = x->regs.multiples.stored == c.reg &&
                  execute_memory_is_same(&x->memory, EXECUTE_WATCH_STORED, &at);
    struct execute_low now;
    execute_ways_save(x, &now);
    struct execute_value v[2] = {get(&now, c.reg - 1u), get(&now, c.reg - 1u)};
    execute_narrow(&v[0], &c, cond, true);
    execute_narrow(&v[1], &c, cond, false);
    join(x, c.reg - 1u, v[0], v[1]);
    x->regs.compared = c;
    if (stored)
        execute_ways_store(x, c.reg - 1u, (uint32_t)at);
}

void execute_ways_learn(struct execute_work *w, const struct execute_compared *c, unsigned cond,
                        bool held)
{
    struct execute_ways *ways = &w->x->ways;
    const struct execute_compared of = *c, flags = w->x->regs.compared;
    struct execute_value a = get(&ways->way[0], of.reg - 1u), b = get(&ways->way[1], of.reg - 1u);
    bool first = execute_narrow(&a, &of, cond, held), second = execute_narrow(&b, &of, cond, held);
    if (ways->differs >> (of.reg - 1) & 1 && first != second) {
        execute_ways_take(w->x, second);
        ways->flags = false;
        w->x->regs.compared = flags;
    }
    execute_learn(w, &of, cond, held);
}

bool execute_ways_tell(const struct execute *x, unsigned reg)
{
    const struct execute_ways *ways = &x->ways;
    uint32_t tells = ways->differs & ways->way[0].known & ways->way[1].known;
    return !ways->flags && x->regs.compared.reg != reg + 1 && reg < EXECUTE_PC && tells >> reg & 1;
}

void execute_ways_store(struct execute *x, unsigned reg, uint32_t address)
{
    const struct execute_ways *ways = &x->ways;
    if (reg >= EXECUTE_PC || !(ways->differs >> reg & 1) || !execute_is_own_order(x))
        return;
    struct execute_value a = get(&ways->way[0], reg), b = get(&ways->way[1], reg);
    execute_memory_set_pair(&x->memory, &(struct execute_pair){.address = address,
                                                               .instance = ways->instance,
                                                               .number = {a.number, b.number},
                                                               .range = {a.range, b.range},
                                                               .known = {a.known, b.known}});
}

static const struct execute_pair *pair_at(const struct execute *x, uint32_t address)
{
    return execute_is_own_order(x) ? execute_memory_pair(&x->memory, address) : NULL;
}

struct execute_value execute_ways_perhaps(const struct execute_work *w, uint32_t address,
                                          unsigned width, struct execute_value v,
                                          struct execute_pair *pair)
{
    struct execute *x = w->x;
    struct execute_value old = {0, false, 0};
    const struct execute_pair *p = pair_at(x, address);
    unsigned other = !w->way;
    uint8_t bytes[4];
    old.known = execute_memory_read(&x->memory, address, bytes, width);
    if (!old.known && execute_is_own_order(x))
        old.range = execute_memory_range(&x->memory, address, width, &old.number);
    execute_swap(x, bytes, width);
    for (unsigned i = 0; old.known && i < width; i++)
        old.number |= (uint32_t)bytes[i] << (8 * i);
    if (width < 4)
        v = v.known ? (struct execute_value){v.number & ((1u << 8 * width) - 1), true, 0}
                    : execute_field(v, 0, 8 * width, false);
    if (w->apart && width == 4 && !(address & 3) && execute_is_own_order(x)) {
        if (p && !p->flags && p->instance == x->ways.instance)
            old = (struct execute_value){p->number[other], p->known[other], p->range[other]};
        *pair = (struct execute_pair){.address = address, .instance = x->ways.instance};
        pair->number[other] = old.number;
        pair->known[other] = old.known;
        pair->range[other] = old.range;
        pair->number[w->way] = v.number;
        pair->known[w->way] = v.known;
        pair->range[w->way] = v.range;
    }
    return execute_either(old, v);
}

/* Of another choice no more is known than what registers may be. */
static void resume(struct execute *x, uint32_t instance)
{
    struct execute_ways *ways = &x->ways;
    if (ways->instance == instance)
        return;
    ways->instance = instance;
    ways->flags = false;
    ways->differs = 0;
}

static void resume_flags(struct execute *x, uint32_t instance, uint8_t cond)
{
    resume(x, instance);
    x->ways.flags = instance != 0;
    x->ways.cond = cond;
}

void execute_ways_load(struct execute *x, unsigned reg, uint32_t address)
{
    const struct execute_pair *p = pair_at(x, address);
    bool other = p && x->ways.flags && x->ways.differs && x->ways.instance != p->instance;
    if (!p || p->flags || reg >= EXECUTE_PC || other)
        return;
    resume(x, p->instance);
    join(x, reg, (struct execute_value){p->number[0], p->known[0], p->range[0]},
         (struct execute_value){p->number[1], p->known[1], p->range[1]});
}

static void store_flags(struct execute *x, uint32_t address, uint32_t instance, uint8_t cond)
{
    if (instance && execute_is_own_order(x))
        execute_memory_set_pair(
            &x->memory, &(struct execute_pair){
                            .address = address, .instance = instance, .flags = true, .cond = cond});
}

void execute_ways_enter(struct execute *x, uint32_t address)
{
    store_flags(x, address, x->ways.flags ? x->ways.instance : 0, x->ways.cond);
    x->ways.flags = false;
}

void execute_ways_return(struct execute *x, uint32_t address)
{
    const struct execute_pair *p = pair_at(x, address);
    if (p && p->flags)
        resume_flags(x, p->instance, p->cond);
}

void execute_ways_enter_mode(struct execute *x, enum execute_bank bank)
{
    struct execute_ways *ways = &x->ways;
    ways->saved[bank].instance = ways->flags ? ways->instance : 0;
    ways->saved[bank].cond = ways->cond;
    ways->flags = false;
}

void execute_ways_store_saved(struct execute *x, unsigned saved, uint32_t address)
{
    store_flags(x, address, x->ways.saved[saved].instance, x->ways.saved[saved].cond);
}

void execute_ways_load_saved(struct execute *x, unsigned saved, uint32_t address)
{
    const struct execute_pair *p = pair_at(x, address);
    x->ways.saved[saved].instance = p && p->flags ? p->instance : 0;
    x->ways.saved[saved].cond = p ? p->cond : 0;
}

void execute_ways_return_saved(struct execute *x, enum execute_bank bank)
{
    if (x->ways.saved[bank].instance)
        resume_flags(x, x->ways.saved[bank].instance, x->ways.saved[bank].cond);
}
