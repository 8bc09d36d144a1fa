/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory an address is, on A and R profile: CP15 and barriers (DDI 0406C.d B3). What is known
 * of RAM is known by addresses. It lasts through a change if each address is that of its own
 * number before and behind it, as with translation off, or with tables that say so of all
 * addresses, or that there is nothing (short descriptors, B3.5). Else nothing is known behind it,
 * nor of what is stored before it counts for certain (B3.15.5).
 */
#include "execute_a64.h"
#include "execute_work.h"

#define CP15(n, op1, m, op2) ((op1) << 21 | (n) << 16 | (op2) << 5 | (m))
#define CP15_MASK            0x00ef00efu

#define SCTLR_M  1u
#define SCTLR_C  4u
#define SCTLR_EE 0x02000000u

#define TTBCR_OTHER 0x80000017u /* another format, two tables, or no look at the first one */

#define ENTRIES 4096u /* of the first level, a megabyte each */
#define SMALL   256u  /* of the second, 4 KiB each */

static bool small_is_flat(uint64_t word, uint32_t number)
{
    unsigned shift = (word & 3) == 1 ? 16 : 12;
    return !(word & 3) || word >> shift == number >> (shift - 12);
}

/* A word of the first level, of megabyte `number`. */
static bool entry_is_flat(struct execute *x, uint64_t word, uint32_t number)
{
    if (word & 2)
        return word & 1u << 18 ? word >> 24 == number >> 4 && !(word & 0x00f001e0)
                               : word >> 20 == number;
    for (uint32_t i = 0; word & 1 && i < SMALL; i++) {
        uint64_t small;
        if (!execute_translation_entry(x, (word & ~0x3ffu) + 4 * i, &small, 4) ||
            !small_is_flat(small, number * SMALL + i))
            return false;
    }
    return true;
}

static uint32_t table_of(const struct execute_regs *r)
{
    return (uint32_t)r->value[EXECUTE_TTBR0] & ~(4 * ENTRIES - 1);
}

/* As the registers are now. */
static bool is_flat(struct execute *x)
{
    struct execute_regs *r = &x->regs;
    int on = execute_control_has(r, EXECUTE_SCTLR, SCTLR_M);
    if (x->core.profile == EXECUTE_PROFILE_A64)
        return a64_is_flat(x, a64_level(x));
    if (x->core.profile == EXECUTE_PROFILE_M)
        return false;
    r->tables_from = r->tables_to = 0;
    if (on <= 0 || execute_control_has(r, EXECUTE_SCTLR, SCTLR_EE))
        return on == 0;
    if (!(r->known >> EXECUTE_TTBR0 & r->known >> EXECUTE_TTBCR & 1) ||
        r->value[EXECUTE_TTBCR] & TTBCR_OTHER)
        return false;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint64_t word;
        if (!execute_translation_entry(x, table_of(r) + 4 * i, &word, 4) ||
            !entry_is_flat(x, word, i))
            return false;
    }
    return true;
}

static void look_again(struct execute *x)
{
    x->regs.translation = is_flat(x) ? EXECUTE_TRANSLATION_FLAT : EXECUTE_TRANSLATION_FIXED;
}

void execute_translation_before(struct execute *x)
{
    if (x->regs.translation == EXECUTE_TRANSLATION_NEW)
        look_again(x);
}

void execute_translation_sync(struct execute *x, enum effect_context how)
{
    uint8_t *now = &x->regs.translation;
    if (how == EFFECT_CONTEXT_DSB && *now == EXECUTE_TRANSLATION_CHANGING_TLB)
        *now = EXECUTE_TRANSLATION_CHANGING;
    if (how != EFFECT_CONTEXT_ISB || *now != EXECUTE_TRANSLATION_CHANGING)
        return;
    execute_forget_memory(x);
    look_again(x);
}

/* A store to an address that nobody knows is taken not to be one to a table, but what says so is
 * gone. */
void execute_translation_after(struct execute *x)
{
    struct execute_regs *r = &x->regs;
    if (r->tables_hit && r->translation == EXECUTE_TRANSLATION_FLAT) {
        if (r->tables_hit == EXECUTE_TABLES_LOST)
            r->translation = EXECUTE_TRANSLATION_FIXED;
        else if (!is_flat(x))
            execute_translation_change(x, EFFECT_CONTEXT_CHANGES_TLB);
    }
    r->tables_hit = EXECUTE_TABLES_SAME;
    if (r->translation >= EXECUTE_TRANSLATION_CHANGING)
        execute_memory_forget(&x->memory);
}

/* Data caches, by what is done: 6 invalidates, 10, 11 and 14 write back. Of a cache that is not in
 * use only the latter is seen, else only the former. */
static bool keeps_caches(const struct execute_regs *r, uint32_t what)
{
    unsigned m = what & 15, op2 = what >> 5 & 7;
    if ((what & 0x00ef0000) != 7 << 16 || !op2 || op2 > 2)
        return false;
    int cached = execute_control_has(r, EXECUTE_SCTLR, SCTLR_M | SCTLR_C);
    return m == 6 ? !cached : cached == 1 && (m == 10 || m == 14 || (m == 11 && op2 == 1));
}

/* Of addresses that are all their own only protection, attributes and what the TLB has change. */
static bool keeps_flat(uint32_t what)
{
    unsigned n = what >> 16 & 15;
    return !(what >> 21 & 7) && (what == CP15(2, 0, 0, 1) || what == CP15(3, 0, 0, 0) || n == 8 ||
                                 (n == 10 && (what & 15) == 2) || what == CP15(13, 0, 0, 1));
}

static void write_cp15(struct execute_work *w, uint32_t what, struct execute_value v)
{
    struct execute *x = w->x;
    bool flat = x->regs.translation == EXECUTE_TRANSLATION_FLAT, kept = keeps_flat(what);
    if (w->maybe)
        v.known = false;
    uint32_t known = v.known ? UINT32_MAX : 0;
    switch (what) {
    case CP15(1, 0, 0, 0):
        kept = execute_write_control(x, EXECUTE_SCTLR, v.number, known) && is_flat(x);
        break;
    case CP15(2, 0, 0, 0):
    case CP15(2, 0, 0, 2):
        execute_put_control(&x->regs, what == CP15(2, 0, 0, 0) ? EXECUTE_TTBR0 : EXECUTE_TTBCR,
                            v.number, known, false);
        kept = is_flat(x);
        break;
    case CP15(1, 0, 1, 0): /* SCR: another security state has registers of its own */
        x->regs.known &= ~(UINT64_C(7) << EXECUTE_SCTLR);
        execute_put_control(&x->regs, EXECUTE_SCR, v.number, known, false);
        break;
    default:
        break;
    }
    if (w->e->context == EFFECT_CONTEXT_SAME && w->e->clobber_memory &&
        !keeps_caches(&x->regs, what))
        execute_clobber_store(w);
    else if (w->e->context != EFFECT_CONTEXT_SAME && !(flat && kept))
        execute_translation_change(x, (enum effect_context)w->e->context);
}

static void read_cp15(struct execute_work *w, uint32_t what)
{
    const struct execute_regs *r = &w->x->regs;
    unsigned rt = effect_field(w->insn->opcode, 12, 4), reg = EXECUTE_PSR;
    if (what == CP15(0, 0, 0, 5))
        reg = EXECUTE_MPIDR;
    else if (what == CP15(1, 0, 0, 0) && !(r->value[EXECUTE_SCTLR] >> 32))
        reg = EXECUTE_SCTLR;
    if (rt == EXECUTE_PC)
        execute_set_psr(w, 0xf0000000u, 0, 0);
    else
        execute_write(w, rt,
                      (struct execute_value){(uint32_t)r->value[reg],
                                             reg != EXECUTE_PSR && (r->known >> reg & 1), 0});
}

bool execute_cp15(struct execute_work *w)
{
    uint32_t op = w->insn->opcode;
    bool t32 = w->insn->isa == BT_ISA_T32, first = t32 ? op >> 28 == 14 : op >> 28 != 15;
    bool one = first && (op & 0x0f000f10) == 0x0e000f10, reads = op >> 20 & 1;
    bool two = first && (op & 0x0ff00f00) == 0x0c400f00;
    if (t32 && w->insn->size == 2)
        return false;
    if (w->e->context == EFFECT_CONTEXT_DSB || w->e->context == EFFECT_CONTEXT_ISB) {
        if (!w->maybe)
            execute_translation_sync(w->x, (enum effect_context)w->e->context);
        return true;
    }
    if (two && w->e->context != EFFECT_CONTEXT_SAME) {
        w->x->regs.known &= ~(UINT64_C(7) << EXECUTE_SCTLR);
        execute_translation_change(w->x, EFFECT_CONTEXT_CHANGES);
        return true;
    }
    if (one && reads)
        read_cp15(w, op & CP15_MASK);
    else if (one)
        write_cp15(w, op & CP15_MASK, execute_read(w, effect_field(op, 12, 4)));
    return one;
}
