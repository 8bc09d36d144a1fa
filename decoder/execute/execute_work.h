/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of forward execution: one instruction at work. */
#ifndef DECODER_EXECUTE_WORK_H
#define DECODER_EXECUTE_WORK_H

#include "decoder/effect/effect.h"
#include "decoder/execute/execute.h"

struct execute_value {
    uint32_t number;
    bool known;
};

struct execute_work {
    struct execute *x;
    const struct execute_insn *insn;
    const struct insn_effect *e;
    bool maybe; /* not known whether it runs: what it writes stays known only if it is the same */
    int error;
};

static inline struct execute_value execute_read(const struct execute_work *w, unsigned reg)
{
    uint32_t ahead = w->insn->isa == BT_ISA_T32 ? 4 : 8;
    if (reg == EXECUTE_PC)
        return (struct execute_value){(uint32_t)w->insn->address + ahead, true};
    return (struct execute_value){(uint32_t)w->x->regs.value[reg], w->x->regs.known >> reg & 1};
}

static inline void execute_write(struct execute_work *w, unsigned reg, struct execute_value v)
{
    struct execute_regs *r = &w->x->regs;
    bool known = v.known;
    if (w->maybe)
        known = known && r->known >> reg & 1 && (uint32_t)r->value[reg] == v.number;
    r->value[reg] = v.number;
    r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)known << reg;
}

/* Bits `mask` of the PSR become those of `bits`, as far as `known` says. */
static inline void execute_set_psr(struct execute_work *w, uint32_t mask, uint32_t bits,
                                   uint32_t known)
{
    struct execute_regs *r = &w->x->regs;
    if (w->maybe)
        known &= r->psr_known & ~(r->psr ^ bits);
    r->psr = (r->psr & ~mask) | (bits & mask);
    r->psr_known = (r->psr_known & ~mask) | (known & mask);
}

/* execute_alu.c */
struct execute_value execute_operand(const struct execute_work *w, uint32_t *carry,
                                     uint32_t *carry_known);
void execute_arithmetic(struct execute_work *w);

/* execute_state.c: ITSTATE; bytes of a big-endian core; a store to an unknown address. */
void execute_set_it(struct execute_regs *r, uint8_t it);
void execute_swap(const struct execute *x, uint8_t *bytes, unsigned width);
void execute_clobber_store(struct execute_work *w);

/* execute_m.c: MRS and MSR, false if it is neither; what comes before an instruction. */
bool execute_m_special(struct execute_work *w);
void execute_m_before(struct execute_work *w, bool uses_floats);

#endif
