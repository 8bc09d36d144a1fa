/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results of late that are not known, and what they were made of: where a condition tells more of
 * one, more may follow of others. `value < 4800 ? value / 400 : 11` compares value >> 6 with 75,
 * behind the division.
 */
#include "execute_a64.h"

static struct execute_made *made_of(struct execute_derived *d, uint32_t number)
{
    struct execute_made *m = &d->made[number % EXECUTE_DERIVED];
    return number && m->number == number ? m : NULL;
}

static struct execute_entry entry_now(const struct execute_regs *r, unsigned reg)
{
    return (struct execute_entry){.value = r->value[reg],
                                  .range = r->range[reg],
                                  .known = r->known >> reg & 1,
                                  .bounded = r->bounded >> reg & 1,
                                  .word = r->words >> reg & 1};
}

static void put_entry(struct execute_regs *r, unsigned reg, const struct execute_entry *e)
{
    uint32_t bit = 1u << reg;
    r->value[reg] = e->value;
    r->range[reg] = e->range;
    r->known = (r->known & ~(uint64_t)bit) | (e->known ? bit : 0);
    r->bounded = (r->bounded & ~bit) | (e->bounded ? bit : 0);
    r->words = (r->words & ~bit) | (e->word ? bit : 0);
}

static struct execute_made *add(struct execute_derived *d)
{
    uint32_t number = ++d->latest;
    struct execute_made *m = &d->made[number % EXECUTE_DERIVED];
    *m = (struct execute_made){.number = number};
    return m;
}

/* The number of what is in the register, which is not known. */
static uint32_t number_of(struct execute *x, unsigned reg)
{
    struct execute_derived *d = &x->derived;
    if (made_of(d, d->in[reg]))
        return d->in[reg];
    struct execute_made *m = add(d);
    m->is = entry_now(&x->regs, reg);
    return d->in[reg] = m->number;
}

static unsigned operand_reg(uint32_t op, unsigned n)
{
    static const uint8_t lsb[EXECUTE_OPERANDS] = {5, 16, 10};
    return a64_field(op, lsb[n], 5);
}

static bool is_selection(uint32_t op)
{
    return (op & 0x1fe00000) == 0x1a800000;
}

/* Its result depends on registers alone, or, of a selection, on what was compared. */
static bool is_followed(uint32_t op)
{
    unsigned group = a64_field(op, 25, 4), which = a64_field(op, 23, 3);
    if (group == 8 || group == 9) /* not MOVK, BFM */
        return which == 2 || which == 4 || which == 7 || (which == 6 && a64_field(op, 29, 2) != 1);
    return (group == 5 || group == 13) && (op & 0x1fe00000) != 0x1a000000 &&
           (op & 0x1fe00000) != 0x1a400000;
}

void a64_before(struct execute *x, uint32_t op, struct execute_made *now)
{
    const struct execute_regs *r = &x->regs;
    unsigned operands = (op >> 25 & 14) == 8 ? 1 : EXECUTE_OPERANDS, unknown = 0;
    now->opcode = 0;
    if (!is_followed(op) || (is_selection(op) && r->chained))
        return;
    for (unsigned n = 0; n < operands; n++)
        if (operand_reg(op, n) != A64_ZR && !(r->known >> operand_reg(op, n) & 1))
            unknown |= 1u << n;
    if (!unknown)
        return;
    *now = (struct execute_made){.opcode = op, .compared = r->compared};
    for (unsigned n = 0; n < operands; n++)
        if (operand_reg(op, n) != A64_ZR)
            now->operand[n] = entry_now(r, operand_reg(op, n));
    for (unsigned n = 0; n < operands; n++)
        if (unknown >> n & 1)
            now->from[n] = number_of(x, operand_reg(op, n));
    now->compared.width = 0;
    if (r->compared.reg != operand_reg(op, 0) + 1 && r->compared.reg != operand_reg(op, 1) + 1)
        now->compared.reg = 0;
}

void a64_behind(struct execute *x, const struct execute_made *now)
{
    unsigned rd = now->opcode & 31;
    if (!now->opcode || rd == A64_ZR || x->regs.known >> rd & 1)
        return;
    struct execute_made *m = add(&x->derived);
    uint32_t number = m->number;
    *m = *now;
    m->number = number;
    m->is = entry_now(&x->regs, rd);
    x->derived.in[rd] = number;
}

/* What it is by what its operands are; `with` is to work with. */
static bool again(struct execute *with, struct execute_derived *d, const struct execute_made *m,
                  a64_run_fn *run, struct execute_entry *is)
{
    const struct execute_insn i = {.opcode = m->opcode, .isa = BT_ISA_A64, .size = 4};
    uint32_t op = m->opcode;
    for (unsigned n = EXECUTE_OPERANDS; n-- > 0;) {
        unsigned reg = operand_reg(op, n);
        const struct execute_made *from = made_of(d, m->from[n]);
        if (reg != A64_ZR)
            put_entry(&with->regs, reg, from ? &from->is : &m->operand[n]);
    }
    with->regs.multiples = (struct execute_multiples){.sources = 0};
    with->regs.psr_known = 0;
    with->regs.compared = m->compared;
    bool ran = run(with, &i);
    *is = entry_now(&with->regs, op & 31);
    return ran;
}

static bool is_better(const struct execute_entry *a, const struct execute_entry *b)
{
    return !b->known && (a->known || (a->bounded && (!b->bounded || a->range < b->range)));
}

/* What the operand of a shift or of an addition was, by its result. */
static bool undo(struct execute_derived *d, const struct execute_made *m)
{
    uint32_t op = m->opcode;
    struct execute_made *from = made_of(d, m->from[0]);
    struct execute_entry is = m->is;
    unsigned r = a64_field(op, 16, 6), size = op >> 31 ? 64 : 32;
    bool shifts = (op & 0x7f800000) == 0x53000000 && a64_field(op, 10, 6) == size - 1 &&
                  a64_field(op, 22, 1) == op >> 31;
    if (!shifts || !from || !is.bounded || is.range >= UINT32_MAX ||
        is.value + is.range < is.value || (is.value + is.range) >> (size - 1 - r) >> 1)
        return false;
    is.value <<= r;
    is.range = (is.range << r) + (UINT64_C(1) << r) - 1;
    is.word = size == 32;
    if (is.word && !from->is.word &&
        (!from->is.bounded || from->is.range > UINT32_MAX ||
         from->is.value > UINT32_MAX - from->is.range))
        return false;
    if (!is_better(&is, &from->is))
        return false;
    from->is = is;
    return true;
}

/* More is known of one: and of what was made of it, and of what it was made of. */
static void derive(struct execute *with, struct execute_derived *d, struct execute_made *m,
                   a64_run_fn *run)
{
    uint32_t better = 1u << m->number % EXECUTE_DERIVED;
    if (undo(d, m))
        better |= 1u << m->from[0] % EXECUTE_DERIVED;
    uint32_t n = d->latest >= EXECUTE_DERIVED ? d->latest - EXECUTE_DERIVED + 1 : 1;
    for (; n <= d->latest; n++) {
        struct execute_entry is;
        struct execute_made *made = made_of(d, n);
        uint32_t of = 0;
        for (unsigned k = 0; made && made->opcode && k < EXECUTE_OPERANDS; k++)
            of |= made_of(d, made->from[k]) ? better >> made->from[k] % EXECUTE_DERIVED & 1 : 0;
        if (of && again(with, d, made, run, &is) && is_better(&is, &made->is)) {
            made->is = is;
            better |= 1u << n % EXECUTE_DERIVED;
        }
    }
}

static void narrow_entry(struct execute_made *m, const struct execute_compared *c, unsigned cond)
{
    uint64_t all = c->wide ? UINT64_MAX : UINT32_MAX, low, range;
    struct execute_entry *e = &m->is;
    bool fits =
        e->bounded &&
        (c->wide ? !e->word || e->range <= UINT32_MAX - e->value
                 : e->word || (e->range <= UINT32_MAX && e->value <= UINT32_MAX - e->range));
    low = fits ? e->value : 0;
    range = fits ? e->range : all;
    if (e->known || (!fits && !c->wide) || !execute_narrow_wide(&low, &range, c, cond) ||
        range == all)
        return;
    *e = (struct execute_entry){
        .value = low, .range = range, .known = !range, .bounded = range, .word = !c->wide};
}

struct a64_value a64_derived(const struct execute *x, unsigned reg, bool wide, unsigned cond,
                             a64_run_fn *run)
{
    const struct execute_compared *c = &x->regs.compared;
    struct a64_value v = a64_on_condition(x, reg, wide, cond);
    uint32_t number = reg == A64_ZR ? 0 : x->derived.in[reg];
    if (v.known || x->regs.chained || !c->reg || c->reg == reg + 1 || !number)
        return v;
    struct execute_derived d = x->derived;
    struct execute_made *m = made_of(&d, d.in[c->reg - 1]), *target = made_of(&d, number);
    if (!m || !target)
        return v;
    struct execute with = {.core = x->core};
    narrow_entry(m, c, cond);
    derive(&with, &d, m, run);
    put_entry(&with.regs, reg, &target->is);
    struct a64_value is = a64_span(&with, reg, wide);
    return is.known || (is.range && (!v.range || is.range < v.range)) ? is : v;
}

void a64_derive(struct execute *x, unsigned reg, a64_run_fn *run)
{
    struct execute_derived *d = &x->derived;
    struct execute_made *m = made_of(d, d->in[reg]);
    if (!m)
        return;
    struct execute_entry is = entry_now(&x->regs, reg);
    if (!is_better(&is, &m->is))
        return;
    struct execute with = {.core = x->core};
    m->is = is;
    derive(&with, d, m, run);
    for (unsigned n = 0; n < EXECUTE_BOUNDED; n++) {
        is = entry_now(&x->regs, n);
        m = made_of(d, d->in[n]);
        if (!m || is.known || !is_better(&m->is, &is))
            continue;
        put_entry(&x->regs, n, &m->is);
        x->regs.partial = m->is.known && x->regs.partial == n + 1 ? 0 : x->regs.partial;
    }
}
