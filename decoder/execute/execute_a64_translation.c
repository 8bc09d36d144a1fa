/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory an address is in AArch64 state (Arm DDI 0487L.a, D8), as execute_translation.c has
 * it: flat is a level's translation that is off, or whose tables of 4 KiB granules say of all
 * addresses that they are their own, or that there is nothing. Both security states are taken to
 * have the same memory.
 */
#include "execute_a64.h"
#include "execute_work.h"

#define SCTLR_M  1u
#define SCTLR_EE 0x02000000u

#define HCR_VM  1u
#define HCR_DC  (1u << 12)
#define HCR_TGE (1u << 27)

#define TCR_GRANULE  0xc000u    /* TG0 */
#define TCR_NO_UPPER (1u << 23) /* EPD1 */

#define TABLE_ADDRESS UINT64_C(0xfffffffff000)
#define ENTRIES_MAX   8192u

/* Whether one of these bits may be set. */
static bool hypervisor_may(const struct execute *x, uint64_t bits)
{
    return !(x->regs.known >> A64_HCR & 1) || x->regs.value[A64_HCR] & bits;
}

struct walk {
    struct execute *x;
    unsigned left; /* entries that may yet be looked at */
    bool empty;    /* none may lead anywhere */
};

static bool table_is_flat(struct walk *w, uint64_t table, unsigned level, unsigned entries,
                          uint64_t base)
{
    unsigned shift = 39 - 9 * level;
    for (unsigned i = 0; i < entries; i++) {
        uint64_t entry, address = base + ((uint64_t)i << shift);
        if (!w->left-- || !execute_translation_entry(w->x, table + 8ull * i, &entry, 8))
            return false;
        if (!(entry & 1) || (level == 3 && !(entry & 2)))
            continue;
        bool deeper = entry & 2 && level < 3;
        if (w->empty || (!deeper && (entry & TABLE_ADDRESS) >> shift != address >> shift) ||
            (deeper && !table_is_flat(w, entry & TABLE_ADDRESS, level + 1, 512, address)))
            return false;
    }
    return true;
}

/* The table of a register that leaves out so many address bits. */
static bool register_is_flat(struct execute *x, unsigned entry, unsigned without, bool empty)
{
    struct walk w = {x, ENTRIES_MAX, empty};
    if (without < 16 || without > 39 || !(x->regs.known >> entry & 1))
        return false;
    unsigned bits = 64 - without - 12, levels = (bits + 8) / 9;
    return table_is_flat(&w, x->regs.value[entry] & TABLE_ADDRESS, 4 - levels,
                         1u << (bits - 9 * (levels - 1)), 0);
}

bool a64_is_flat(struct execute *x, int level)
{
    struct execute_regs *r = &x->regs;
    unsigned regime = level < 1 ? 0 : (unsigned)level - 1;
    uint64_t tcr = r->value[A64_TCR1 + regime];
    int on = execute_control_has(r, A64_SCTLR1 + regime, SCTLR_M);
    r->tables_from = r->tables_to = 0;
    if (level < 0 || (regime == 0 && hypervisor_may(x, HCR_VM | HCR_DC | HCR_TGE | HCR_E2H)) ||
        (regime == 1 && a64_may_be_host(x)))
        return false;
    if (on <= 0 || execute_control_has(r, A64_SCTLR1 + regime, SCTLR_EE))
        return on == 0;
    if (!(r->known >> (A64_TCR1 + regime) & 1) || tcr & TCR_GRANULE)
        return false;
    return register_is_flat(x, A64_TTBR1 + regime, tcr & 63, false) &&
           (regime || tcr & TCR_NO_UPPER ||
            ((tcr >> 30 & 3) == 2 && register_is_flat(x, A64_UPPER, tcr >> 16 & 63, true)));
}

static void forget_all(struct execute *x)
{
    a64_note_order(x);
    x->regs.known &= ~(UINT64_C(0x3ff) << A64_SCTLR1);
    execute_translation_change(x, EFFECT_CONTEXT_CHANGES);
}

/* Another level's: the TLB may have what was so before. */
static void write_other(struct execute *x, int level, unsigned entry, struct a64_value v,
                        uint32_t known)
{
    struct execute_regs *r = &x->regs;
    uint64_t from = r->tables_from, to = r->tables_to;
    unsigned control = A64_SCTLR1 + (unsigned)level - 1;
    bool flat = a64_is_flat(x, level);
    execute_put_control(r, entry, v.bits, known, entry == control);
    if (!flat && execute_control_has(r, control, SCTLR_M))
        r->value[control] |= (uint64_t)SCTLR_M << 32;
    r->tables_from = from;
    r->tables_to = to;
}

void a64_write_translation(struct execute *x, int entry, struct a64_value v, uint32_t some)
{
    bool control = entry >= A64_SCTLR1 && entry < A64_TTBR1;
    uint32_t known = v.known ? UINT32_MAX : control ? some : 0;
    if (control && v.bits >> 32)
        known = 0;
    int level = a64_level(x), of = entry == A64_UPPER ? 1 : 1 + (entry - A64_SCTLR1) % 3;
    bool flat = x->regs.translation == EXECUTE_TRANSLATION_FLAT;
    if (entry == A64_HCR) {
        bool same = v.known && !a64_may_be_host(x);
        a64_set_entry(x, A64_HCR, v);
        if (level != 3 && !(same && !a64_may_be_host(x)))
            forget_all(x);
    } else if (entry < 0 || level < 1 || (level == 2 && a64_may_be_host(x))) {
        forget_all(x);
        x->regs.mixed |= control;
    } else if (of != level) {
        write_other(x, of, (unsigned)entry, v, known);
    } else {
        bool kept = entry < A64_TTBR1
                        ? execute_write_control(x, (unsigned)entry, v.bits, known)
                        : execute_put_control(&x->regs, (unsigned)entry, v.bits, known, false);
        if (!(flat && kept && a64_is_flat(x, level)))
            execute_translation_change(x, EFFECT_CONTEXT_CHANGES);
    }
    if (control)
        a64_note_order(x);
}

void a64_change_level(struct execute *x, int from, int to)
{
    bool flat = x->regs.translation == EXECUTE_TRANSLATION_FLAT;
    if (from >= 0 && to >= 0 && (from == to || (from < 2 && to < 2)))
        return;
    if (flat && a64_is_flat(x, to))
        return;
    execute_forget_memory(x);
    if (x->regs.translation < EXECUTE_TRANSLATION_CHANGING)
        x->regs.translation = EXECUTE_TRANSLATION_NEW;
}
