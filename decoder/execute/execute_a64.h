/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of forward execution: A64 (Arm DDI 0487L.a, chapters C4 to C7). Each group of the encoding
 * tables of C4.1 is a function; what it does not know returns false, and the caller then knows
 * nothing any more.
 */
#ifndef DECODER_EXECUTE_A64_H
#define DECODER_EXECUTE_A64_H

#include "execute_work.h"

#define A64_ZR 31u

/* execute_regs.returning: a branch that went to where no instruction can be. */
#define A64_UNALIGNED 4u

/* PSTATE as SPSR has it. */
#define A64_PSTATE_SP   1u
#define A64_PSTATE_EL   0xcu
#define A64_PSTATE_M4   0x10u /* AArch32 */
#define A64_PSTATE_MODE 0x1fu
#define A64_PSTATE_DAIF 0x3c0u
#define A64_N           (1u << 31)
#define A64_Z           (1u << 30)
#define A64_C           (1u << 29)
#define A64_V           (1u << 28)
#define A64_NZCV        0xf0000000u

/* What is not known may be known to be `bits`, or up to `range` more, modulo 2^64 or, of a word,
 * 2^32; range 0: it is not. */
struct a64_value {
    uint64_t bits;
    bool known;
    uint64_t range;
};

static inline uint32_t a64_field(uint32_t op, unsigned lsb, unsigned width)
{
    return op >> lsb & ((1u << width) - 1);
}

static inline int64_t a64_signed(uint64_t value, unsigned bits)
{
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

static inline uint64_t a64_cut(uint64_t value, bool wide)
{
    return wide ? value : (uint32_t)value;
}

static inline struct a64_value a64_perhaps(uint64_t bits, bool known)
{
    return (struct a64_value){.bits = bits, .known = known};
}

static inline struct a64_value a64_known(uint64_t bits)
{
    return (struct a64_value){.bits = bits, .known = true};
}

static inline struct a64_value a64_unknown(void)
{
    return (struct a64_value){.known = false};
}

/* Entry of execute_regs.value. */
static inline struct a64_value a64_entry(const struct execute *x, unsigned entry)
{
    return a64_perhaps(x->regs.value[entry], x->regs.known >> entry & 1);
}

/* What was compared is not in the register any more, or the flags do not tell of it. */
static inline void a64_end_compared(struct execute_regs *r, unsigned entry)
{
    r->compared.reg = r->compared.reg == entry + 1 ? 0 : r->compared.reg;
    for (unsigned n = 0; n < r->chained; n++)
        if (r->chain[n].before.reg == entry + 1)
            r->chain[n].before.reg = 0;
}

static inline void a64_end_flags(struct execute_regs *r)
{
    r->compared.reg = r->compared.width = 0;
    r->chained = 0;
}

static inline void a64_set_entry(struct execute *x, unsigned entry, struct a64_value v)
{
    struct execute_regs *r = &x->regs;
    r->partial = r->partial == entry + 1 ? 0 : r->partial;
    r->value[entry] = v.bits;
    r->known = (r->known & ~(1ull << entry)) | (uint64_t)v.known << entry;
    if (entry >= EXECUTE_BOUNDED)
        return;
    uint32_t bit = 1u << entry;
    r->bounded = (r->bounded & ~bit) | (!v.known && v.range ? bit : 0);
    r->range[entry] = v.range;
    r->words &= ~bit;
    execute_unrelate(r, bit);
    a64_end_compared(r, entry);
    x->derived.in[entry] = 0;
}

/* Register 31 is zero. Without a range. */
static inline struct a64_value a64_get(const struct execute *x, unsigned reg, bool wide)
{
    struct a64_value v = reg == A64_ZR ? a64_known(0) : a64_entry(x, reg);
    v.bits = a64_cut(v.bits, wide);
    return v;
}

static inline void a64_set(struct execute *x, unsigned reg, bool wide, struct a64_value v)
{
    bool word = !wide && !v.known;
    if (reg == A64_ZR)
        return;
    v.bits = a64_cut(v.bits, wide);
    if (word && (!v.range || v.range >= UINT32_MAX))
        v = (struct a64_value){.range = UINT32_MAX};
    a64_set_entry(x, reg, v);
    x->regs.words |= (uint32_t)word << reg;
}

/* Of what was written to the register, and is not known, these bits are; bits 63 to 32 are 0. */
static inline void a64_set_partial(struct execute *x, unsigned reg, uint32_t bits, uint32_t known)
{
    if (reg == A64_ZR || !known)
        return;
    x->regs.partial = (uint8_t)(reg + 1);
    x->regs.partial_bits = bits;
    x->regs.partial_known = known;
}

/* The exception level, 0 to 3; -1: not known. */
static inline int a64_level(const struct execute *x)
{
    return (x->regs.psr_known & A64_PSTATE_EL) == A64_PSTATE_EL ? (int)(x->regs.psr >> 2 & 3) : -1;
}

/* HCR_EL2.E2H: EL2 may have EL1's names for its registers. */
#define HCR_E2H (UINT64_C(1) << 34)
static inline bool a64_may_be_host(const struct execute *x)
{
    return !(x->regs.known >> A64_HCR & 1) || x->regs.value[A64_HCR] & HCR_E2H;
}

/* execute_a64_range.c: a register and its range; it is known to be at most 2^32 - 1. */
struct a64_value a64_span(const struct execute *x, unsigned reg, bool wide);
bool a64_is_word(const struct execute *x, unsigned reg);
/* What comes of values: known only where that can be said of a part of them. */
struct a64_value a64_sum(struct a64_value a, struct a64_value b, bool subtract, bool wide);
struct a64_value a64_product(struct a64_value a, struct a64_value b, bool wide);
struct a64_value a64_long_product(struct a64_value a, struct a64_value b, bool is_signed);
struct a64_value a64_upper_product(struct a64_value a, struct a64_value b);
struct a64_value a64_quotient(struct a64_value a, struct a64_value b, bool is_signed, bool wide);
/* `type`: LSL, LSR, ASR, ROR. */
struct a64_value a64_shifted(struct a64_value v, unsigned type, struct a64_value by, bool wide);
/* AND, ORR, EOR, ANDS. */
struct a64_value a64_joined(unsigned opc, struct a64_value a, struct a64_value b, bool wide);
struct a64_value a64_inverse(struct a64_value v, bool wide);
struct a64_value a64_either(struct a64_value a, struct a64_value b, bool wide);
struct a64_value a64_zeros(struct a64_value v, bool wide);
/* Bits lsb to lsb + width - 1 of a register, put to `at`. */
struct a64_bits {
    unsigned lsb, width, at;
    bool wide, sign;
};
struct a64_value a64_part(const struct execute *x, unsigned reg, const struct a64_bits *b);
/* With a sign, from so many bytes to 64 bits. */
struct a64_value a64_extended(struct a64_value v, unsigned size);
/* What is in memory and not known; `v` was written there, which is not known. */
struct a64_value a64_loaded(struct execute *x, uint64_t address, unsigned size, bool sign);
void a64_bound(struct execute *x, uint64_t address, unsigned size, struct a64_value v, int *error);

/* Does the condition hold, by the flags or by what was compared? 1, 0, -1: not known. */
int a64_holds(const struct execute *x, unsigned cond);
/* What the register is if the condition holds. */
struct a64_value a64_on_condition(const struct execute *x, unsigned reg, bool wide, unsigned cond);
/* The flags tell of a comparison; of the next one if `cond` holds, and else are `flags`. */
void a64_note_compared(struct execute *x, struct execute_compared c);
void a64_chain(struct execute *x, unsigned cond, unsigned flags);
/* The path says that the condition held, or not; that a register, compared so, was equal, or not.
 */
void a64_learn(struct execute *x, unsigned cond, bool held, int *error);
void a64_learn_zero(struct execute *x, unsigned reg, const struct execute_compared *of, bool held,
                    int *error);
/* execute_a64_derived.c: before and behind an instruction of general registers, whose result may be
 * made of what a condition tells more of later. */
void a64_before(struct execute *x, uint32_t op, struct execute_made *now);
void a64_behind(struct execute *x, const struct execute_made *now);
/* As a64_on_condition(), also of what was made of what was compared; `run`: a64_data(). */
typedef bool a64_run_fn(struct execute *x, const struct execute_insn *i);
struct a64_value a64_derived(const struct execute *x, unsigned reg, bool wide, unsigned cond,
                             a64_run_fn *run);
/* More is known of the register: and of others. */
void a64_derive(struct execute *x, unsigned reg, a64_run_fn *run);

/* The register is what is in memory there. */
void a64_mirror(struct execute *x, unsigned reg, uint64_t address, unsigned size);
void a64_keep(struct execute *x, unsigned reg, uint64_t address);

/* Register 31 is SP. */
struct a64_value a64_get_sp(const struct execute *x, unsigned reg, bool wide);
void a64_set_sp(struct execute *x, unsigned reg, bool wide, struct a64_value v);

/* 1: holds; 0: does not; -1: not known. */
static inline int a64_condition(const struct execute *x, unsigned cond)
{
    return cond >= 14 ? 1 : execute_flags_pass(&x->regs, cond);
}

/* `flags` of the bits `known`; the others of NZCV are unknown. */
static inline void a64_set_flags(struct execute *x, uint32_t flags, uint32_t known)
{
    x->regs.psr = (x->regs.psr & ~A64_NZCV) | (flags & A64_NZCV);
    x->regs.psr_known = (x->regs.psr_known & ~A64_NZCV) | (known & A64_NZCV);
    a64_end_flags(&x->regs);
}

/* Of an instruction: false: its effect is not known. *error: BT_OK, or what execute_step() says. */
bool a64_data(struct execute *x, const struct execute_insn *i);
bool a64_branch(struct execute *x, const struct execute_insn *i, int *error);
bool a64_memory(struct execute *x, const struct execute_insn *i, int *error);

/* execute_a64_float.c: floating point and SIMD, also what is not followed. */
void a64_float(struct execute *x, uint32_t op);

/* An exception whose handler's first instruction is at `next`. What ERET does, the instruction
 * does. */
int a64_exception(struct execute *x, const struct bt_exception *e, uint64_t next);

/* execute_a64_translation.c: whether all addresses are their own at that level; MSR of SCTLR,
 * TTBR0, TTBR1, TCR and HCR, -1: of one that is not kept (`some`: of a value that is not known
 * these bits are); an exception or its return. */
bool a64_is_flat(struct execute *x, int level);
void a64_write_translation(struct execute *x, int entry, struct a64_value v, uint32_t some);
void a64_change_level(struct execute *x, int from, int to);

/* Behind what the exception comes back to, which is not in the path, but may have begun. */
int a64_take_exception(struct execute *x, const struct bt_exception *e, uint64_t next);

/* Runs one instruction, as execute_step(). */
int a64_step(struct execute *x, const struct execute_insn *i);

/* Vector registers as two halves; `bytes` 16, or fewer: what lies above them becomes zero. */
static inline struct a64_value a64_half(const struct execute *x, unsigned reg, unsigned half)
{
    unsigned entry = 2 * reg + half;
    return a64_perhaps(x->regs.vector[entry], x->regs.vector_known64 >> entry & 1);
}

static inline void a64_set_half(struct execute *x, unsigned reg, unsigned half, struct a64_value v)
{
    unsigned entry = 2 * reg + half;
    x->regs.vector[entry] = v.bits;
    x->regs.vector_known64 = (x->regs.vector_known64 & ~(1ull << entry)) | (uint64_t)v.known
                                                                               << entry;
}

static inline void a64_set_scalar(struct execute *x, unsigned reg, struct a64_value v)
{
    a64_set_half(x, reg, 0, v);
    a64_set_half(x, reg, 1, a64_known(0));
}

static inline void a64_forget_vector(struct execute *x, unsigned reg)
{
    a64_set_half(x, reg, 0, a64_unknown());
    a64_set_half(x, reg, 1, a64_unknown());
}

#endif
