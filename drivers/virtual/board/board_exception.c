/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_exception.h"

#include <inttypes.h>

#include "drivers/virtual/encoder/waypoint.h"

#define MODE(psr)    ((psr)&0x1f)
#define MODE_MONITOR 0x16
#define HIGH_VECTORS 0xffff0000u /* SCTLR.V */

/* What an exception does to the instruction that its preferred return address names. */
enum fate {
    FATE_NEXT,      /* it has not started: interrupts, aborts of its fetch */
    FATE_CANCELLED, /* it has started and changed nothing */
    FATE_RAN,       /* the trace counts it as executed: Undefined Instruction */
};

/* Exceptions by vector. LR is the preferred return address plus `offset`. */
struct rule {
    uint8_t vector; /* address[4:0] */
    uint8_t mode;
    uint8_t number; /* PFT */
    uint8_t offset_a32;
    uint8_t offset_t32;
    uint8_t fate;
    uint8_t async_number; /* if the named instruction is not the one that has started */
    uint8_t type;         /* ETMv4 */
};

static const struct rule rules[] = {
    {0x04, 0x1b, 9, 4, 2, FATE_RAN, 9, 3},
    {0x08, 0x13, 10, 0, 0, FATE_NEXT, 10, 2},
    {0x0c, 0x17, 11, 4, 4, FATE_CANCELLED, 11, 11},
    {0x10, 0x17, 12, 8, 8, FATE_CANCELLED, 4, 12},
    {0x18, 0x12, 14, 4, 4, FATE_NEXT, 14, 14},
    {0x1c, 0x11, 15, 4, 4, FATE_NEXT, 15, 15},
    {0x08, MODE_MONITOR, 2, 0, 0, FATE_NEXT, 2, 2},
    {0x0c, MODE_MONITOR, 11, 4, 4, FATE_CANCELLED, 11, 11},
    {0x10, MODE_MONITOR, 12, 8, 8, FATE_CANCELLED, 4, 12},
    {0x18, MODE_MONITOR, 14, 4, 4, FATE_NEXT, 14, 14},
    {0x1c, MODE_MONITOR, 15, 4, 4, FATE_NEXT, 15, 15},
};

/* An exception that has been recognised. */
struct taken {
    const struct rule *rule;
    struct board_place vector;
    struct board_place preferred; /* with the PSR before the exception, if known */
};

static const struct rule *find_rule(uint32_t address, uint32_t mode)
{
    for (unsigned i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].vector == (address & 0x1f) && rules[i].mode == mode)
            return &rules[i];
    return NULL;
}

static void explain(const struct board_cpu *c, uint32_t lr, bool has_spsr, uint32_t spsr,
                    struct taken *t)
{
    enum bt_isa isa = has_spsr ? board_code_state(spsr, false).isa : (enum bt_isa)c->last_isa;
    uint32_t offset = isa == BT_ISA_A32 ? t->rule->offset_a32 : t->rule->offset_t32;

    t->preferred =
        (struct board_place){.address = lr - offset, .isa = isa, .has_psr = has_spsr, .psr = spsr};
}

/* Any address may look like a vector: is it where the vectors are? */
static bool at_vectors(const struct board_cpu *c, const struct taken *t)
{
    uint32_t base = (uint32_t)t->vector.address & ~0x1fu;

    return base == c->vector_base[board_cpu_vectors(c, t->rule->mode)] || base == HIGH_VECTORS;
}

/* Is the core, at the vector of `rule`, there by an exception or did it branch there? */
static bool is_entry(const struct board_cpu *c, const struct board_insn *pending,
                     const struct taken *t)
{
    const struct board_place *to = &t->vector;

    if (!pending || pending->cls != WAYPOINT_INDIRECT)
        return true; /* the caller knows that no branch leads here */
    if (!at_vectors(c, t))
        return false;
    if (pending->flags & BOARD_INSN_EXCEPTION_RETURN)
        return c->came_from[c->mode] != to->address;
    if (t->rule->fate == FATE_CANCELLED && t->preferred.address == pending->address)
        return true;
    return t->rule->mode != c->mode;
}

static bool recognise(struct board_cpu *c, const struct board_insn *pending, struct board_place to,
                      struct taken *t)
{
    uint32_t lr, spsr = 0;

    /* All vectors are words; the first one, reset, is not an exception that returns. */
    if (to.address & 3 || (to.address & 0x1f) == 0 || !board_cpu_psr(c, &to))
        return false;
    t->rule = find_rule(to.address, MODE(to.psr));
    t->vector = to;
    if (!t->rule || !board_qemu_register(c->qemu, c->index, BOARD_REG_LR, &lr))
        return false;
    bool has_spsr = board_qemu_spsr(c->qemu, c->index, &spsr);
    explain(c, lr, has_spsr, spsr, t);
    return is_entry(c, pending, t);
}

/* An exception whose first instruction never ran because `outer` came before it. */
static bool recognise_inner(struct board_cpu *c, const struct board_insn *pending,
                            const struct taken *outer, struct taken *t)
{
    struct board_place to = outer->preferred;
    uint32_t lr, spsr;

    if (!to.has_psr || MODE(to.psr) == outer->rule->mode || to.address & 3)
        return false;
    t->rule = find_rule(to.address, MODE(to.psr));
    t->vector = to;
    if (!t->rule || !board_qemu_banked(c->qemu, c->index, MODE(to.psr), &spsr, &lr))
        return false;
    explain(c, lr, true, spsr, t);
    return is_entry(c, pending, t);
}

static void trace(struct board_cpu *c, const struct taken *t, unsigned number,
                  const struct board_insn *cancelled)
{
    const struct board_place *to = &t->vector;
    struct board_exception x = {.preferred =
                                    board_cpu_state(c, t->preferred.address, t->preferred.isa)};

    /* Right also after a reset, which nothing here sees. */
    c->vector_base[board_cpu_vectors(c, t->rule->mode)] = (uint32_t)to->address & ~0x1fu;
    if (c->mode == MODE_MONITOR && c->nonsecure)
        c->nonsecure = false; /* the core clears SCR.NS */
    c->mode = t->rule->mode;
    c->came_from[c->mode] = (uint32_t)t->preferred.address;
    x.number = number;
    c->next = board_cpu_state(c, to->address, to->isa);
    board_exception_trace(c, &x, cancelled);
}

/* Is the preferred return address where the core was about to go on? */
static bool was_next(const struct board_cpu *c, const struct board_insn *pending,
                     const struct taken *t)
{
    if (pending)
        return board_cpu_follows(pending, t->preferred);
    return t->preferred.address == c->next.address && t->preferred.isa == c->next.isa;
}

/* The instruction that had started, when the exception has been taken. False: no rule fits. */
static bool board_exception_commit(struct board_cpu *c, const struct board_insn *pending,
                                   const struct taken *t, unsigned *number,
                                   const struct board_insn **cancelled)
{
    bool named = pending && pending->address == t->preferred.address &&
                 (enum bt_isa)pending->isa == t->preferred.isa;
    bool v4 = c->unit.model.ops->etmv4;

    *number = v4 ? t->rule->type : t->rule->number;
    *cancelled = NULL;
    if (named && t->rule->fate == FATE_RAN && !v4) {
        if (pending->cls == WAYPOINT_NONE) {
            struct board_place after = t->preferred;
            after.address += pending->size;
            board_cpu_commit(c, pending, after);
        }
        return true;
    }
    if (named && t->rule->fate != FATE_NEXT) {
        *cancelled = pending;
        return true;
    }
    if (was_next(c, pending, t)) {
        if (t->rule->fate == FATE_CANCELLED)
            *number = t->rule->async_number;
        if (pending)
            board_cpu_commit(c, pending, t->preferred);
        return true;
    }
    *cancelled = pending; /* has started, was interrupted, will start again */
    return named;
}

static bool take_a(struct board_cpu *c, const struct board_insn *pending, struct board_place to)
{
    struct taken outer, inner;
    unsigned number, inner_number;
    const struct board_insn *cancelled;

    if (!recognise(c, pending, to, &outer))
        return false;
    if (recognise_inner(c, pending, &outer, &inner) &&
        !(pending && pending->address == outer.preferred.address) &&
        !(pending && pending->cls != WAYPOINT_INDIRECT && was_next(c, pending, &outer))) {
        if (!board_exception_commit(c, pending, &inner, &inner_number, &cancelled))
            return false;
        trace(c, &inner, inner_number, cancelled);
        trace(c, &outer, c->unit.model.ops->etmv4 ? outer.rule->type : outer.rule->number, NULL);
        return true;
    }
    if (!board_exception_commit(c, pending, &outer, &number, &cancelled))
        return false;
    trace(c, &outer, number, cancelled);
    return true;
}

void board_exception_trace(struct board_cpu *c, const struct board_exception *x,
                           const struct board_insn *cancelled)
{
    struct board_exception traced = *x;
    struct board_step step;

    traced.vector = c->next;
    if (cancelled)
        step = board_cpu_cancelled(c, cancelled);
    board_truth_log(&c->truth, c->count,
                    "exception %u preferred 0x%08" PRIx64 " vector 0x%08" PRIx64 "%s%s", x->number,
                    x->preferred.address | (x->preferred.isa == BT_ISA_T32), c->next.address,
                    cancelled ? " cancelled" : "", x->chained ? " chained" : "");
    board_unit_exception(&c->unit, &traced, cancelled ? &step : NULL);
}

bool board_exception_take(struct board_cpu *c, const struct board_insn *pending,
                          struct board_place to)
{
    if (c->m_profile)
        return board_exception_take_m(c, pending, to);
    return c->a64 ? board_exception_take_a64(c, pending, to) : take_a(c, pending, to);
}
