/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of forward execution: one instruction at work. */
#ifndef DECODER_EXECUTE_WORK_H
#define DECODER_EXECUTE_WORK_H

#include "decoder/effect/effect.h"
#include "decoder/execute/execute.h"

#define EXECUTE_FLOATS    0x44u       /* bytes of s0-s15 and FPSCR in a frame of the M profile */
#define EXECUTE_SYSTEM    0xe0000000u /* M profile: registers are there, in memory */
#define EXECUTE_IT_BITS   0x0600fc00u /* of the PSR */
#define EXECUTE_IT_LENGTH 4           /* instructions of a block */

/* M profile, CONTROL: the context has floating-point registers. */
#define FPCA 4u

#define EXECUTE_RANGE_MAX 0x4000u /* bytes that a store may hit without making all unknown */

/* What is not known may be known to be `number`, or up to `range` more; range 0: it is not. */
struct execute_value {
    uint32_t number;
    bool known;
    uint32_t range;
};

struct execute_work {
    struct execute *x;
    const struct execute_insn *insn;
    const struct insn_effect *e;
    bool maybe; /* not known whether it runs: what it writes stays known only if it is the same, */
    bool apart; /* but for registers: those are of the way on which it does */
    int error;
};

static inline struct execute_value execute_read(const struct execute_work *w, unsigned reg)
{
    uint32_t ahead = w->insn->isa == BT_ISA_T32 ? 4 : 8;
    if (reg == EXECUTE_PC)
        return (struct execute_value){(uint32_t)w->insn->address + ahead, true, 0};
    const struct execute_regs *r = &w->x->regs;
    bool known = r->known >> reg & 1, bounded = !known && reg < EXECUTE_PC && r->bounded >> reg & 1;
    return (struct execute_value){(uint32_t)r->value[reg], known, bounded ? r->range[reg] : 0};
}

/* One of the two. */
static inline struct execute_value execute_either(struct execute_value a, struct execute_value b)
{
    bool bounded = (a.known || a.range) && (b.known || b.range);
    if (b.number - a.number > UINT32_MAX / 2) {
        const struct execute_value swap = a;
        a = b;
        b = swap;
    }
    uint32_t apart = b.number - a.number, end = apart + b.range;
    struct execute_value d = {a.number, a.known && b.known && !apart, 0};
    if (!d.known && bounded && end >= apart)
        d.range = a.range > end ? a.range : end;
    return d;
}

static inline void execute_write(struct execute_work *w, unsigned reg, struct execute_value v)
{
    struct execute_regs *r = &w->x->regs;
    if (reg == EXECUTE_SP && w->x->core.profile == EXECUTE_PROFILE_M) { /* DDI 0403E.e B1.4.7 */
        v.range = v.range ? ((v.number + v.range) & ~3u) - (v.number & ~3u) : 0;
        v.number &= ~3u;
    }
    if (w->maybe && !w->apart)
        v = execute_either(execute_read(w, reg), v);
    r->compared = r->compared == reg + 1 ? 0 : r->compared;
    r->partial = r->partial == reg + 1 ? 0 : r->partial;
    if (reg < EXECUTE_PC) {
        r->bounded = (r->bounded & ~(1u << reg)) | (uint32_t)(v.range != 0) << reg;
        r->range[reg] = v.range;
    }
    r->value[reg] = v.number;
    r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)v.known << reg;
}

/* Of what was written to the register, and is not known, these bits are. */
static inline void execute_set_partial(struct execute_work *w, unsigned reg, uint32_t bits,
                                       uint32_t known)
{
    struct execute_regs *r = &w->x->regs;
    if (w->maybe || !known || reg >= EXECUTE_PC || r->known >> reg & 1)
        return;
    r->partial = (uint8_t)(reg + 1);
    r->partial_bits = bits;
    r->partial_known = known;
}

/* Bits `mask` of the PSR become those of `bits`, as far as `known` says. */
static inline void execute_set_psr(struct execute_work *w, uint32_t mask, uint32_t bits,
                                   uint32_t known)
{
    struct execute_regs *r = &w->x->regs;
    r->compared = 0;
    if (w->maybe)
        known &= r->psr_known & ~(r->psr ^ bits);
    r->psr = (r->psr & ~mask) | (bits & mask);
    r->psr_known = (r->psr_known & ~mask) | (known & mask);
}

/* execute_alu.c */
struct execute_value execute_operand(const struct execute_work *w, uint32_t *carry,
                                     uint32_t *carry_known);
void execute_arithmetic(struct execute_work *w);
/* A register that was compared, as a condition that held or did not says it is. */
void execute_learn(struct execute_work *w, unsigned reg, uint32_t with, unsigned cond, bool held);
/* a + b, or a - b; of what is not known the range. */
struct execute_value execute_sum(struct execute_value a, struct execute_value b, bool subtract);

/* execute_state.c: tells of an access, a load or a store; of any load that there may be, or any
 * load and store. */
void execute_tell(struct execute *x, uint64_t address, uint64_t size, bool store, bool perhaps);
void execute_tell_any(struct execute *x, bool store);

/* execute_state.c: does the condition pass? 1, 0, or -1: the flags that are known do not say. */
int execute_flags_pass(const struct execute_regs *r, unsigned cond);
/* ITSTATE; bytes of a big-endian core; a store to an unknown address; one of which
 * is known that it hits some of `size` bytes at `address`. */
void execute_set_it(struct execute_regs *r, uint8_t it);
void execute_swap(const struct execute *x, uint8_t *bytes, unsigned width);
void execute_clobber_store(struct execute_work *w);
void execute_clobber_range(struct execute_work *w, uint32_t address, uint32_t size);

/* The second addresses of each bit of RAM that a Cortex-M3 and M4 have (DDI 0403E.e B3.1). */
#define EXECUTE_BIT_BAND      0x22000000u
#define EXECUTE_BIT_BAND_SIZE 0x02000000u

static inline bool execute_is_bit(const struct execute *x, uint32_t address)
{
    return x->core.bit_band && address - EXECUTE_BIT_BAND < EXECUTE_BIT_BAND_SIZE;
}

/* The byte that has the bit. */
static inline uint32_t execute_bit_byte(uint32_t address)
{
    return 0x20000000u + ((address - EXECUTE_BIT_BAND) >> 5);
}

/* execute_float.c, execute_dsp.c: false: it is not followed. */
bool execute_float(struct execute_work *w);
bool execute_dsp(struct execute_work *w);

/* execute_state.c: a word of memory; a store of bits of which `known` are; a status, as far as its
 * bytes are known. */
struct execute_value execute_get_word(struct execute *x, uint32_t address);
void execute_put_word(struct execute *x, uint32_t address, uint32_t word, uint32_t known,
                      int *error);
uint32_t execute_get_status(struct execute *x, uint64_t address, uint32_t *known);

/* execute_translation.c: MCR and MRC of CP15, and barriers, false if it is none of them; before
 * each instruction; something that ends a change of translation has happened. */
bool execute_cp15(struct execute_work *w);
void execute_translation_before(struct execute *x);
void execute_translation_sync(struct execute *x, enum effect_context how);
/* Behind an instruction that has hit tables, and all while addresses change. */
void execute_translation_after(struct execute *x);
/* execute_state.c: from now on addresses may be others. */
void execute_translation_change(struct execute *x, enum effect_context how);
/* A word of a table, of 4 or 8 bytes: false: not known. */
bool execute_translation_entry(struct execute *x, uint64_t address, uint64_t *entry, unsigned size);
/* Whether all bits of the mask are 1 in that SCTLR: 1, 0; -1: not known. */
int execute_control_has(const struct execute_regs *r, unsigned sctlr, uint32_t mask);
/* A write to a register of translation, of which these bits are known; `control`: to a SCTLR.
 * Returns whether all are. */
bool execute_put_control(struct execute_regs *r, unsigned reg, uint64_t value, uint32_t known,
                         bool control);
/* To the SCTLR in use: false: RAM is not what it was, or may be. A cache that is turned off has
 * what memory has not. */
bool execute_write_control(struct execute *x, unsigned reg, uint64_t value, uint32_t known);

/* execute_ar.c: what deals with modes and status, false if it is not followed; before each
 * instruction; an exception, false likewise. */
bool execute_ar_system(struct execute_work *w);
void execute_ar_before(struct execute *x, const struct execute_insn *insn);
bool execute_ar_exception(struct execute *x, const struct bt_event *event);

/* execute_m.c: MRS and MSR, false if it is neither; what comes before an instruction; an exception,
 * also of another profile's core that is not followed. */
bool execute_m_special(struct execute_work *w);
void execute_m_before(struct execute_work *w, bool uses_floats);
int execute_m_exception(struct execute *x, const struct bt_event *event);

#endif
