/* SPDX-License-Identifier: BSD-3-Clause */
/* What an instruction is about to access: for ARMv7-A cores, which do not say which watchpoint it
 * was. */
#include "decoder/effect/effect.h"
#include "probe_target.h"

#define CPSR_C (1u << 29)
#define CPSR_T (1u << 5)

/* The PC is ahead, and a word's. */
static uint32_t access_reg(const uint32_t *regs, unsigned n)
{
    bool thumb = (regs[TARGET_REG_PSR] & CPSR_T) != 0;
    return n == TARGET_REG_PC ? (regs[n] + (thumb ? 4 : 8)) & ~3u : regs[n];
}

static uint32_t access_offset(const struct insn_effect *e, const uint32_t *regs)
{
    uint32_t carry = (regs[TARGET_REG_PSR] & CPSR_C) != 0;
    if (e->rm == EFFECT_NO_REG)
        return (uint32_t)e->delta;
    uint32_t offset = effect_shift_value(e->shift, access_reg(regs, e->rm), e->amount, &carry);
    return e->subtract ? -offset : offset;
}

bool probe_a_find_access(uint32_t code, const uint32_t *regs, struct cortex_a_access *access)
{
    struct insn_effect e;
    bool thumb = (regs[TARGET_REG_PSR] & CPSR_T) != 0;
    if (!thumb)
        effect_a32(code, &e);
    else if (code >> 16 == 0)
        effect_t16((uint16_t)code, regs[TARGET_REG_PC], false, &e);
    else
        effect_t32(code, regs[TARGET_REG_PC], &e);
    if (e.kind != EFFECT_MEMORY && !(e.kind == EFFECT_SYSTEM && e.list))
        return false;
    bool several = e.words || e.list;
    unsigned count = e.words ? e.words : e.list ? 0 : e.rt2 != EFFECT_NO_REG ? 2 : 1;
    for (uint32_t list = e.words ? 0 : e.list; list; list &= list - 1)
        count++;
    uint32_t moved = several ? (uint32_t)e.start : e.index ? access_offset(&e, regs) : 0;
    bool swaps = !several && e.rt == EFFECT_NO_REG;
    *access = (struct cortex_a_access){.address = access_reg(regs, e.rn) + moved,
                                       .length = count * e.width,
                                       .load = e.load || swaps,
                                       .store = !e.load};
    return true;
}
