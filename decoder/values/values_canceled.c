/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that did not complete. What an exception is to come back to is not in the path, but
 * may have begun: of a load or store of several registers any part may be done, only its base is as
 * it was (DDI 0403E.e B1.5.10; DDI 0406C.d B1.9.8 of aborts on the A and R profiles). */
#include "values_build.h"

#define AHEAD_MAX                                                                                  \
    4096u /* instructions in which it is looked for, where no program has its code                 \
           */

/* Exceptions of M profile. */
#define NUMBER_USAGE_FAULT 6
#define NUMBER_SVC         11

/* Registers that a load or store may have written before it was given up;
 * its base is given back. */
static uint32_t memory_writes(const struct insn_effect *e)
{
    uint32_t regs = e->clobber;
    if (!e->load)
        return regs;
    regs |= e->list;
    if (e->rt != EFFECT_NO_REG)
        regs |= 1u << e->rt;
    if (e->rt2 != EFFECT_NO_REG)
        regs |= 1u << e->rt2;
    return regs & EFFECT_ALL_REGS & ~(1u << 15) & ~(1u << e->rn);
}

/* What an instruction that did not complete may have written: parts of what it writes. */
void build_canceled(struct build *b, const struct insn_effect *e)
{
    bool stores = e->kind == EFFECT_MEMORY && !e->load;
    if (e->clobber_memory || stores)
        build_clobber_memory(b);
    if (e->kind == EFFECT_OTHER || e->kind == EFFECT_SYSTEM || b->w->v4t)
        build_clobber(b, e->kind == EFFECT_NONE ? 0 : EFFECT_ALL_REGS);
    else if (e->kind == EFFECT_MEMORY)
        build_clobber(b, memory_writes(e));
}

/* A halfword of code that nobody changes. */
static bool constant_half(const struct build *b, uint32_t address, uint32_t *half)
{
    uint32_t word;
    if (!b->r->read || b->r->read(b->r->context, address & ~3u, &word) != VALUES_MEMORY_CONST)
        return false;
    *half = word >> (address & 2 ? 16 : 0) & 0xffff;
    return true;
}

/* The instruction there, from where the path comes by again or from the program. */
static bool find_instruction(const struct build *b, uint32_t address, uint8_t isa,
                             struct values_insn *i)
{
    uint32_t low, high = 0, ahead = AHEAD_MAX;
    for (uint32_t at = b->step; at < b->r->count && ahead; at++, ahead--)
        if (b->w->insns[at].address == address) {
            *i = b->w->insns[at];
            return true;
        }
    *i = (struct values_insn){.address = address, .isa = isa, .size = 4};
    if (b->w->big_endian || !constant_half(b, address, &low))
        return false;
    if (isa == BT_ISA_T32 && low >> 11 < 0x1d)
        i->size = 2;
    if (i->size == 4 && !constant_half(b, address + 2, &high))
        return false;
    i->opcode = isa == BT_ISA_A32 ? high << 16 | low : i->size == 2 ? low : low << 16 | high;
    return true;
}

static unsigned accesses_of(const struct insn_effect *e)
{
    if (e->list)
        return (unsigned)__builtin_popcount(e->list);
    return e->words ? e->words : e->rt2 != EFFECT_NO_REG ? 2 : 1;
}

static void perhaps_stored(struct build *b, const struct insn_effect *e)
{
    bool list = e->list || e->words;
    uint32_t at = (uint32_t)(list ? e->start : e->index ? e->delta : 0);
    if (e->rm != EFFECT_NO_REG || e->rn > 14) {
        build_clobber_memory(b);
        return;
    }
    for (unsigned i = 0; i < accesses_of(e); i++) {
        struct values_access *a = build_access(b, ACCESS_KILL, b->cur[e->rn], at + 4 * i, 0);
        if (a)
            a->stack = e->rn == 13;
    }
}

void build_abandoned(struct build *b, const struct bt_exception *x)
{
    bool fault = b->w->m_profile ? x->number < NUMBER_SVC : x->number == BUILD_NUMBER_DATA_ABORT;
    struct values_insn i;
    struct insn_effect e;
    if (b->w->m_profile ? x->number == NUMBER_SVC : !fault)
        return;
    uint8_t isa = b->w->m_profile ? BT_ISA_T32 : x->return_isa;
    if (!find_instruction(b, (uint32_t)x->return_address, isa, &i)) {
        build_clobber_memory(b);
        build_clobber(b, EFFECT_ALL_REGS & ~(1u << 13));
        return;
    }
    if (i.isa == BT_ISA_A32)
        effect_a32(i.opcode, &e);
    else if (i.size == 2)
        effect_t16((uint16_t)i.opcode, i.address, false, &e);
    else
        effect_t32(i.opcode, i.address, &e);
    if (e.kind != EFFECT_MEMORY && !b->w->m_profile)
        build_canceled(b, &e);
    if (e.kind != EFFECT_MEMORY)
        return;
    bool several = accesses_of(&e) > 1;
    if (e.load && several)
        build_clobber(b, memory_writes(&e));
    else if (!e.load && (several || fault))
        perhaps_stored(b, &e);
    if (b->w->m_profile && e.words && (several || fault)) /* or not even fetched */
        build_m_floats_used(b, false);
}
