/* SPDX-License-Identifier: BSD-3-Clause */
/* Debug state of a modelled ARMv7-A core: entry, exit, registers, comparators. */
#include "debug_a.h"

#include <string.h>

#define CPSR_T        (1u << 5)
#define SCTLR         CORE_A_CP15(1, 0, 0, 0)
#define SCTLR_V       (1u << 13)
#define VBAR          CORE_A_CP15(12, 0, 0, 0)
#define HIGH_VECTORS  0xffff0000u
#define VCR_RESET     1u
#define BCR_ENABLE    1u
#define BCR_TYPE      7u /* from bit 20: linked, context, mismatch */
#define TYPE_LINKED   1u
#define TYPE_MISMATCH 4u
#define BANKED        (0x7f00u | 1u << CORE_A_SPSR) /* R8 to R14, SPSR */

static uint32_t fetch(struct debug_a *d, unsigned reg)
{
    if (!(d->valid >> reg & 1) && d->cores.ops->get(d->cores.ctx, d->index, reg, &d->reg[reg]) == 0)
        d->valid |= 1u << reg;
    return d->reg[reg];
}

/* The CPSR goes last: the others are of the mode that they were read in. */
void debug_a_write_back(struct debug_a *d)
{
    static const uint8_t order[] = {0, 1,  2,  3,  4,  5,  6,           7,           8,
                                    9, 10, 11, 12, 13, 14, CORE_A_SPSR, CORE_A_CPSR, CORE_A_PC};
    for (unsigned i = 0; i < sizeof order; i++)
        if (d->dirty >> order[i] & 1)
            d->cores.ops->set(d->cores.ctx, d->index, order[i], d->reg[order[i]]);
    d->dirty = 0;
}

uint32_t debug_a_get(struct debug_a *d, unsigned reg)
{
    uint32_t value = fetch(d, reg);
    if (reg != CORE_A_PC)
        return value;
    return value + (fetch(d, CORE_A_CPSR) & CPSR_T ? 4 : 8);
}

/* Another mode has another bank. */
void debug_a_set(struct debug_a *d, unsigned reg, uint32_t value)
{
    bool other = reg == CORE_A_CPSR && (fetch(d, CORE_A_CPSR) ^ value) & 0x1f;
    if (other)
        debug_a_write_back(d);
    if (reg == CORE_A_PC)
        value &= fetch(d, CORE_A_CPSR) & CPSR_T ? ~1u : ~3u;
    d->reg[reg] = value;
    d->valid |= 1u << reg;
    d->dirty |= 1u << reg;
    if (other) {
        debug_a_write_back(d);
        d->valid &= ~BANKED;
    }
}

static unsigned type_of(uint32_t bcr)
{
    return bcr >> 20 & BCR_TYPE;
}

static bool enabled(const struct debug_a *d, uint32_t control)
{
    return control & BCR_ENABLE && d->dscr & DSCR_HDBGEN;
}

static bool covers(const struct debug_a *d, unsigned n, uint32_t pc)
{
    unsigned byte = pc & 3;
    return (d->bvr[n] & ~3u) == (pc & ~3u) && d->bcr[n] >> (5 + byte) & 1;
}

bool debug_a_steps(const struct debug_a *d)
{
    for (unsigned n = 0; n < DEBUG_A_BREAKPOINTS; n++)
        if (enabled(d, d->bcr[n]) && type_of(d->bcr[n]) == TYPE_MISMATCH)
            return true;
    return false;
}

bool debug_a_mismatch_at(const struct debug_a *d, uint32_t pc)
{
    for (unsigned n = 0; n < DEBUG_A_BREAKPOINTS; n++)
        if (enabled(d, d->bcr[n]) && type_of(d->bcr[n]) == TYPE_MISMATCH && !covers(d, n, pc))
            return true;
    return false;
}

bool debug_a_breaks_at(const struct debug_a *d, uint32_t pc)
{
    for (unsigned n = 0; n < DEBUG_A_BREAKPOINTS; n++)
        if (enabled(d, d->bcr[n]) && type_of(d->bcr[n]) <= TYPE_LINKED && covers(d, n, pc))
            return true;
    return false;
}

bool debug_a_vector_at(const struct debug_a *d, uint32_t pc)
{
    for (unsigned i = 0; i < DEBUG_A_VECTORS; i++)
        if (d->vectors[i].count && d->vectors[i].address[0] == pc)
            return true;
    return false;
}

/* A word's lower and upper half: one breakpoint each, which an A32 instruction meets only
 * as the first. */
static struct debug_a_breakpoint code_breakpoint(const struct debug_a *d, unsigned n)
{
    struct debug_a_breakpoint p = {.kind = CORE_A_BREAKPOINT_CODE, .size = 2};
    uint32_t address = d->bvr[n] & ~3u;
    unsigned bytes = d->bcr[n] >> 5 & 0xf;
    if (!enabled(d, d->bcr[n]) || type_of(d->bcr[n]) > TYPE_LINKED)
        return p;
    if (bytes & 3)
        p.address[p.count++] = address;
    if (bytes & 12)
        p.address[p.count++] = address + 2;
    return p;
}

/* BAS of a watchpoint is a run of bytes, or all of them with a mask. */
static struct debug_a_breakpoint watchpoint(const struct debug_a *d, unsigned n)
{
    static const enum core_a_breakpoint_kind kinds[] = {
        CORE_A_BREAKPOINT_ACCESS, CORE_A_BREAKPOINT_READ, CORE_A_BREAKPOINT_WRITE,
        CORE_A_BREAKPOINT_ACCESS};
    uint32_t control = d->wcr[n];
    unsigned bytes = control >> 5 & 0xff;
    unsigned mask = control >> 24 & 0x1f;
    unsigned kind = control >> 3 & 3;
    struct debug_a_breakpoint p = {.kind = kinds[kind]};
    if (!enabled(d, control) || !bytes || !kind)
        return p;
    p.count = 1;
    if (mask >= 3) {
        p.size = 1u << mask;
        p.address[0] = d->wvr[n] & ~(p.size - 1);
        return p;
    }
    unsigned first = (unsigned)__builtin_ctz(bytes);
    p.address[0] = (d->wvr[n] & ~3u) + first;
    p.size = 32 - (unsigned)__builtin_clz(bytes) - first;
    return p;
}

/* VCR[7:0]: reset, undefined, SVC, prefetch abort, data abort, -, IRQ, FIQ; [31:25]: Non-secure. */
static struct debug_a_breakpoint vector(const struct debug_a *d, unsigned n, uint32_t base)
{
    struct debug_a_breakpoint p = {.kind = CORE_A_BREAKPOINT_CODE, .size = 2};
    if (d->dscr & DSCR_HDBGEN && (d->vcr | d->vcr >> 24) >> n & 1 && n != 5) {
        p.count = 1;
        p.address[0] = base + 4 * n;
    }
    return p;
}

static bool same(const struct debug_a_breakpoint *a, const struct debug_a_breakpoint *b)
{
    return a->count == b->count &&
           (!a->count || (a->kind == b->kind && a->size == b->size &&
                          memcmp(a->address, b->address, a->count * sizeof *a->address) == 0));
}

static void change(struct debug_a *d, struct debug_a_breakpoint *now,
                   struct debug_a_breakpoint wanted)
{
    const struct core_a *c = &d->cores;
    if (same(now, &wanted))
        return;
    for (unsigned i = 0; i < now->count; i++)
        c->ops->set_breakpoint(c->ctx, d->index, now->kind, now->address[i], now->size, false);
    for (unsigned i = 0; i < wanted.count; i++)
        c->ops->set_breakpoint(c->ctx, d->index, wanted.kind, wanted.address[i], wanted.size, true);
    *now = wanted;
}

void debug_a_apply_breakpoints(struct debug_a *d)
{
    const struct core_a *c = &d->cores;
    uint32_t base = 0, sctlr = 0;
    bool bkpt = d->dscr & DSCR_HDBGEN;
    if (d->vcr) {
        c->ops->get_cp15(c->ctx, d->index, VBAR, &base);
        c->ops->get_cp15(c->ctx, d->index, SCTLR, &sctlr);
    }
    for (unsigned n = 0; n < DEBUG_A_BREAKPOINTS; n++)
        change(d, &d->code[n], code_breakpoint(d, n));
    for (unsigned n = 0; n < DEBUG_A_WATCHPOINTS; n++)
        change(d, &d->data[n], watchpoint(d, n));
    for (unsigned n = 1; n < DEBUG_A_VECTORS; n++)
        change(d, &d->vectors[n], vector(d, n, sctlr & SCTLR_V ? HIGH_VECTORS : base));
    if (bkpt != d->stops_at_bkpt)
        c->ops->set_bkpt(c->ctx, d->index, bkpt);
    d->stops_at_bkpt = bkpt;
}

/* Entry and exit. */

static void want(struct debug_a *d, enum core_a_run run)
{
    d->cores.ops->want(d->cores.ctx, d->index, run);
    d->stepping = run == CORE_A_STEPPING;
}

static bool enter_for(struct debug_a *d, enum debug_a_entry entry)
{
    d->entry = entry;
    d->entering = true;
    d->halt_request = d->unlocked = false;
    want(d, CORE_A_STOPPED);
    return true;
}

static bool bkpt_at(const struct debug_a *d, uint32_t pc, uint32_t cpsr)
{
    const struct core_a *c = &d->cores;
    uint8_t b[4] = {0};
    bool thumb = cpsr & CPSR_T;
    if (c->ops->load(c->ctx, d->index, pc, b, thumb ? 2 : 4) != 0)
        return false;
    return thumb ? b[1] == 0xbe : b[3] == 0xe1 && (b[2] & 0xf0) == 0x20 && (b[0] & 0xf0) == 0x70;
}

/* It stands at a place of its own choice, or is said to by a breakpoint that has gone since. */
static bool stopped_at(struct debug_a *d, uint32_t pc, uint32_t cpsr)
{
    if (debug_a_breaks_at(d, pc) || debug_a_mismatch_at(d, pc))
        return enter_for(d, DEBUG_A_BREAKPOINT);
    if (debug_a_vector_at(d, pc))
        return enter_for(d, DEBUG_A_VECTOR);
    if (d->dscr & DSCR_HDBGEN && bkpt_at(d, pc, cpsr))
        return enter_for(d, DEBUG_A_BKPT);
    want(d, debug_a_steps(d) ? CORE_A_STEPPING : CORE_A_RUNNING);
    return false;
}

static bool stopped(struct debug_a *d, enum core_a_stop why)
{
    const struct core_a *c = &d->cores;
    uint32_t pc = 0, cpsr = 0;
    c->ops->get(c->ctx, d->index, CORE_A_PC, &pc);
    c->ops->get(c->ctx, d->index, CORE_A_CPSR, &cpsr);
    if (why != CORE_A_ACCESSES)
        return stopped_at(d, pc, cpsr);
    d->wfar = pc + (cpsr & CPSR_T ? 4 : 8);
    return enter_for(d, DEBUG_A_WATCHPOINT);
}

bool debug_a_poll(struct debug_a *d)
{
    uint32_t address;
    if (d->halted || d->entering || d->off || d->in_reset || d->never_halts)
        return d->entering;
    enum core_a_stop why = d->cores.ops->poll(d->cores.ctx, d->index, &address);
    if (why != CORE_A_NONE && stopped(d, why))
        return true;
    if (d->halt_request)
        return enter_for(d, d->unlocked ? DEBUG_A_OS_UNLOCK : DEBUG_A_REQUEST);
    return d->external_request && enter_for(d, DEBUG_A_EXTERNAL);
}

void debug_a_enter(struct debug_a *d)
{
    if (!d->entering)
        return;
    d->entering = false;
    d->halted = true;
    d->valid = d->dirty = 0;
    d->halt_reads = d->counters.halts++ % 2;
    d->cores.ops->set_debug(d->cores.ctx, d->index, true);
}

static void go_in_reset(struct debug_a *d)
{
    if (d->halted)
        d->cores.ops->set_debug(d->cores.ctx, d->index, false);
    d->halted = d->entering = false;
    d->in_reset = d->was_reset = true;
    d->valid = d->dirty = 0;
    want(d, CORE_A_STOPPED);
}

void debug_a_reset_line(struct debug_a *d)
{
    d->reset_line = true;
    go_in_reset(d);
}

void debug_a_release(struct debug_a *d)
{
    if (!d->in_reset || d->reset_line || d->prcr & PRCR_HOLD)
        return;
    d->in_reset = false;
    if (d->dscr & DSCR_HDBGEN && d->vcr & VCR_RESET)
        enter_for(d, DEBUG_A_VECTOR);
    else
        want(d, debug_a_steps(d) ? CORE_A_STEPPING : CORE_A_RUNNING);
}

void debug_a_was_reset(struct debug_a *d)
{
    d->reset_line = false;
    go_in_reset(d);
    debug_a_release(d);
}

/* Requests from outside. */

void debug_a_request(struct debug_a *d, bool level)
{
    d->external_request = level;
}

/* A breakpoint where it stands is met at once; architecture: mismatch is one of them. */
void debug_a_restart(struct debug_a *d)
{
    const struct core_a *c = &d->cores;
    if (!d->halted)
        return;
    d->counters.bad_restarts += d->dscr & (DSCR_ITREN | DSCR_STICKY) || !d->instrcompl_l ? 1 : 0;
    debug_a_write_back(d);
    uint32_t pc = fetch(d, CORE_A_PC);
    c->ops->set_debug(c->ctx, d->index, false);
    d->halted = false;
    d->restart_reads = 1;
    debug_a_apply_breakpoints(d);
    if (debug_a_breaks_at(d, pc) || debug_a_mismatch_at(d, pc))
        enter_for(d, DEBUG_A_BREAKPOINT);
    else
        want(d, debug_a_steps(d) ? CORE_A_STEPPING : CORE_A_RUNNING);
}
