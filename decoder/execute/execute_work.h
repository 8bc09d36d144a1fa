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
    bool apart; /* but for registers: those are of the way on which it does, */
    unsigned way;
    int error;
};

static inline struct execute_value execute_read(const struct execute_work *w, unsigned reg)
{
    uint32_t ahead = w->insn->isa == BT_ISA_T32 ? 4 : 8;
    if (reg == EXECUTE_PC && w->insn->isa != BT_ISA_A64)
        return (struct execute_value){(uint32_t)w->insn->address + ahead, true, 0};
    const struct execute_regs *r = &w->x->regs;
    bool known = r->known >> reg & 1, bounded = !known && reg < EXECUTE_BOUNDED &&
                                                r->bounded >> reg & 1 &&
                                                r->range[reg] <= UINT32_MAX;
    return (struct execute_value){(uint32_t)r->value[reg], known,
                                  bounded ? (uint32_t)r->range[reg] : 0};
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

/* execute_state.c: of what `others` has, these registers are no part any more; it has changed. */
void execute_unrelate_others(struct execute_multiples *m, uint32_t regs);
void execute_note_others(struct execute_multiples *m);

/* These registers hold something else. */
static inline void execute_unrelate(struct execute_regs *r, uint32_t regs)
{
    r->multiples.sources &= ~regs;
    r->multiples.of &= ~regs;
    r->multiples.uppers &= ~regs;
    if (r->multiples.others & regs)
        execute_unrelate_others(&r->multiples, regs);
    r->interrupted.same &= ~regs;
    if (r->interrupted.status && regs >> (r->interrupted.status - 1) & 1)
        r->interrupted.status = 0;
    r->mirror = r->mirror && regs >> (r->mirror - 1) & 1 ? 0 : r->mirror;
}

static inline void execute_write(struct execute_work *w, unsigned reg, struct execute_value v)
{
    struct execute_regs *r = &w->x->regs;
    if (reg == EXECUTE_SP && w->x->core.profile == EXECUTE_PROFILE_M) { /* DDI 0403E.e B1.4.7 */
        v.range = v.range ? ((v.number + v.range) & ~3u) - (v.number & ~3u) : 0;
        v.number &= ~3u;
    }
    if (w->maybe && !(w->apart && reg < EXECUTE_PC))
        v = execute_either(execute_read(w, reg), v);
    r->compared.reg = r->compared.reg == reg + 1 ? 0 : r->compared.reg;
    r->partial = r->partial == reg + 1 ? 0 : r->partial;
    if (reg < EXECUTE_PC) {
        execute_unrelate(r, 1u << reg);
        r->bounded = (r->bounded & ~(1u << reg)) | (uint32_t)(v.range != 0) << reg;
        r->range[reg] = v.range;
        w->x->ways.written |= 1u << reg;
        w->x->ways.differs &= ~(1u << reg);
    }
    r->value[reg] = v.number;
    r->known = (r->known & ~(UINT64_C(1) << reg)) | (uint64_t)v.known << reg;
}

#define EXECUTE_WAYS_PARTIAL (EXECUTE_BANK_MONITOR + 1) /* of struct execute_ways.saved */

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
    w->x->ways.saved[EXECUTE_WAYS_PARTIAL].instance = 0;
}

/* The flags that chose between two ways are others now. A number of its own on each way tells, too,
 * once it is compared: `a > 9 || b > 9` may be made of such. */
static inline void execute_end_ways(struct execute *x)
{
    const struct execute_low *way = x->ways.way;
    bool tells = x->ways.differs & way[0].known & way[1].known;
    x->ways.differs = x->ways.flags && !tells ? 0 : x->ways.differs;
    x->ways.flags = false;
}

/* Bits `mask` of the PSR become those of `bits`, as far as `known` says. */
static inline void execute_set_psr(struct execute_work *w, uint32_t mask, uint32_t bits,
                                   uint32_t known)
{
    struct execute_regs *r = &w->x->regs;
    r->compared.reg = 0;
    if (mask & 0xf0000000u)
        execute_end_ways(w->x);
    if (w->maybe)
        known &= r->psr_known & ~(r->psr ^ bits);
    r->psr = (r->psr & ~mask) | (bits & mask);
    r->psr_known = (r->psr_known & ~mask) | (known & mask);
}

/* execute_alu.c */
void execute_arithmetic(struct execute_work *w);

/* execute_range.c: operand 2, and the carry that comes of it. */
struct execute_value execute_operand(const struct execute_work *w, uint32_t *carry,
                                     uint32_t *carry_known);
/* The register was loaded from there, so that what is learnt of one is learnt of both. */
void execute_mirror(struct execute_work *w, unsigned reg, uint64_t address);
/* What a load may give at most; `found`: what is known to be there, or a range of 0. */
struct execute_value execute_loaded(struct execute_value found, unsigned width, bool sign);
/* What was written there is not known, but is `v`, as far as it has room. */
void execute_bound(struct execute *x, uint64_t address, unsigned width, struct execute_value v);

/* execute_remainder.c: what the instruction at work will make of its rd; that it has done so. */
enum execute_related {
    EXECUTE_RELATED_NOT,
    EXECUTE_RELATED_SOURCE,
    EXECUTE_RELATED_MULTIPLE, /* of the quotient: `number` times it */
    EXECUTE_RELATED_QUOTIENT, /* by `number`, times 2^scale */
    EXECUTE_RELATED_REMAINDER,
    EXECUTE_RELATED_FIRST, /* a quotient by `number` of which a first digit was found, or another */
    EXECUTE_RELATED_DIGIT,
    EXECUTE_RELATED_UPPER, /* a product, `scale` further to the right */
    EXECUTE_RELATED_APART, /* what is divided, less the upper word; half of that */
    EXECUTE_RELATED_HALF,
    EXECUTE_RELATED_HALVED, /* that and the upper word */
    EXECUTE_RELATED_PART,   /* bits `number` of rn */
    EXECUTE_RELATED_ZEROS,  /* CLZ of register `of` - 1, times `scale` and plus `number` */
};
struct execute_relation {
    enum execute_related kind;
    uint32_t number, scale;
    uint8_t of;
};
struct execute_relation execute_relation(const struct execute_work *w);
void execute_relate(struct execute_work *w, struct execute_relation is);
/* UMULL has written the upper word of a * b. */
void execute_relate_upper(struct execute_work *w, struct execute_value a, struct execute_value b);
/* Registers that hold what this one holds. */
uint32_t execute_same(const struct execute_multiples *m, unsigned reg);
/* Register `product` is that of `sources`, at most `most`, with `magic`, to the right by `shifted`.
 */
struct execute_product_of {
    uint64_t magic;
    unsigned product;
    uint32_t sources, written, most; /* registers */
    uint8_t shifted;
};
void execute_relate_product(struct execute_multiples *m, const struct execute_product_of *p);
/* What that is, shifted once more. */
struct execute_relation execute_shift_product(const struct execute_multiples *m, unsigned reg,
                                              unsigned shift);
/* The register was stored at that address, or loaded from there. */
void execute_keep(struct execute_work *w, unsigned reg, uint64_t address);
void execute_reload(struct execute_work *w, unsigned reg, uint64_t address);
/* MOV to the PC: where it went says how great a number is whose zeros chose the place. */
void execute_learn_zeros(struct execute_work *w);
/* An instruction that takes the divisor from what is left, where that is not less; it has run, or
 * not. `before`: relations as they were. */
bool execute_takes_divisor(const struct execute_work *w, unsigned cond);
void execute_take_divisor(struct execute_work *w, const struct execute_multiples *before);

/* execute_range.c: what may come of values, one of which at least is not known. From `low` to
 * `high`, modulo 2^32: */
struct execute_value execute_span(uint32_t low, uint32_t high);
/* The least and the greatest that it may be. */
void execute_limits(struct execute_value v, uint32_t *low, uint32_t *high);
void execute_signed_limits(struct execute_value v, int32_t *low, int32_t *high);
/* a + b, or a - b: known, too. */
struct execute_value execute_sum(struct execute_value a, struct execute_value b, bool subtract);
struct execute_value execute_product(struct execute_value a, struct execute_value b);
struct execute_value execute_quotient(struct execute_value a, struct execute_value b,
                                      bool is_signed);
/* v, which is known to be below `divisor`, but not 0. */
struct execute_value execute_remainder(struct execute_value v, uint32_t divisor);
/* a and b; a or b, or one of them alone; not v; bits of it. */
struct execute_value execute_masked(struct execute_value a, struct execute_value b);
struct execute_value execute_joined(struct execute_value a, struct execute_value b, bool exclusive);
struct execute_value execute_inverse(struct execute_value v);
struct execute_value execute_field(struct execute_value v, unsigned lsb, unsigned width, bool sign);
/* What was compared, as a condition that held or did not says it is; false: it cannot be so. */
bool execute_narrow(struct execute_value *v, const struct execute_compared *c, unsigned cond,
                    bool held);
/* Likewise of `low` and up to `range` more, modulo 2^32 or, if c->wide, 2^64. */
bool execute_narrow_wide(uint64_t *low, uint64_t *range, const struct execute_compared *c,
                         unsigned cond);
void execute_learn(struct execute_work *w, const struct execute_compared *c, unsigned cond,
                   bool held);
/* Does the condition hold, by what the register in `regs.compared` may be? 1, 0, or -1: that does
 * not say. */
int execute_compared_pass(const struct execute_work *w, unsigned cond);

/* execute_state.c: tells of an access, a load or a store; of any load that there may be, or any
 * load and store. */
void execute_tell(struct execute *x, uint64_t address, uint64_t size, bool store, bool perhaps);
void execute_tell_any(struct execute *x, bool store);

/* execute_state.c: a store-exclusive: what is there is one of two, and known as soon as the path
 * shows the result; it is 0 or 1. An error of memory. */
struct execute_value execute_begin_exclusive(struct execute_work *w, uint32_t address,
                                             struct execute_value v);
int execute_end_exclusive(struct execute *x, uint64_t result);

/* execute_state.c: does the condition pass? 1, 0, or -1: the flags that are known do not say. */
int execute_flags_pass(const struct execute_regs *r, unsigned cond);
/* The flags as a condition that passed, or did not, says they are. */
void execute_learn_flags(struct execute_regs *r, unsigned cond, bool pass);
/* ITSTATE; bytes of a big-endian core; a store to an unknown address; one of which
 * is known that it hits some of `size` bytes at `address`. */
void execute_set_it(struct execute_regs *r, uint8_t it);
void execute_swap(const struct execute *x, uint8_t *bytes, unsigned width);
void execute_clobber_store(struct execute_work *w);
void execute_clobber_range(struct execute_work *w, uint32_t address, uint32_t size);

/* The second addresses of each bit of RAM that a Cortex-M3 and M4 have (DDI 0403E.e B3.1). */
#define EXECUTE_BIT_BAND      0x22000000u
#define EXECUTE_BIT_BAND_SIZE 0x02000000u

#define EXECUTE_E 0x200u /* of the CPSR */

/* A64: SCTLR_ELx.EE, or E0E (Arm DDI 0487L.a, D24.2): 1: big-endian, 0: not;
 * -1: not known, where it has been another than the core's; behind a write to SCTLR, before it is
 * forgotten. */
int a64_order(const struct execute *x);
void a64_note_order(struct execute *x);

/* The order of data: that of the core, but for SETEND BE, and SCTLR of the level of A64. */
static inline bool execute_is_big(const struct execute *x)
{
    if (x->core.profile == EXECUTE_PROFILE_A64)
        return a64_order(x) > 0;
    bool set = x->core.profile == EXECUTE_PROFILE_AR && x->regs.psr & x->regs.psr_known & EXECUTE_E;
    return x->core.big_endian || set;
}

/* What is kept of memory beside its bytes is of that order. */
static inline bool execute_is_own_order(const struct execute *x)
{
    return execute_is_big(x) == x->core.big_endian;
}

static inline bool execute_is_bit(const struct execute *x, uint32_t address)
{
    return x->core.bit_band && address - EXECUTE_BIT_BAND < EXECUTE_BIT_BAND_SIZE;
}

/* The byte that has the bit. */
static inline uint32_t execute_bit_byte(uint32_t address)
{
    return 0x20000000u + ((address - EXECUTE_BIT_BAND) >> 5);
}

/* execute_interrupted.c: an exception comes, and nothing has changed yet: its number, 0: there is
 * nothing to keep. It has returned, to a status of before exception `number`. */
uint32_t execute_interrupt(struct execute *x);
void execute_interrupt_end(struct execute *x, uint32_t number);
/* A register is stored at that address, whole, and loaded from there. */
void execute_hold(struct execute *x, unsigned reg, uint64_t address);
void execute_take_held(struct execute *x, unsigned reg, uint64_t address);
/* So is the status of before exception `number`. */
void execute_hold_status(struct execute *x, uint32_t number, uint64_t address);
uint32_t execute_held_status(const struct execute *x, uint64_t address);

/* execute_ways.c: a new choice, by a condition that is not known. What was compared is something
 * else on each way. */
void execute_ways_open(struct execute *x, unsigned cond);
/* What a condition says of a register, which may leave one way. */
void execute_ways_learn(struct execute_work *w, const struct execute_compared *c, unsigned cond,
                        bool held);
/* The register is a number on each way, which tells of a choice whose flags are gone, and those
 * that are there now do not. */
bool execute_ways_tell(const struct execute *x, unsigned reg);
/* The registers are as they are on that way, and no longer on two. */
void execute_ways_take(struct execute *x, unsigned n);
void execute_ways_save(const struct execute *x, struct execute_low *to);
/* These registers are as they were; or one or the other on the two ways. */
void execute_ways_restore(struct execute *x, uint32_t regs, const struct execute_low *from);
void execute_ways_join(struct execute *x, uint32_t regs, const struct execute_low *first,
                       const struct execute_low *second);
/* What is at that address where nobody knows whether `v` is written over it; where that is known
 * on each way *pair is to be kept of it. */
struct execute_value execute_ways_perhaps(const struct execute_work *w, uint32_t address,
                                          unsigned width, struct execute_value v,
                                          struct execute_pair *pair);
/* A register is stored at that address, whole, and loaded from there. */
void execute_ways_store(struct execute *x, unsigned reg, uint32_t address);
void execute_ways_load(struct execute *x, unsigned reg, uint32_t address);
/* So are the flags, in a frame; or they are in a mode's SPSR, which is stored, or comes back. */
void execute_ways_enter(struct execute *x, uint32_t address);
void execute_ways_return(struct execute *x, uint32_t address);
void execute_ways_enter_mode(struct execute *x, enum execute_bank bank);
void execute_ways_store_saved(struct execute *x, unsigned saved, uint32_t address);
void execute_ways_load_saved(struct execute *x, unsigned saved, uint32_t address);
void execute_ways_return_saved(struct execute *x, enum execute_bank bank);

/* execute_float.c: coprocessors and SIMD. */
bool execute_uses_vectors(const struct execute_insn *i);

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
/* Registers that the mode has for itself. */
uint32_t execute_banked(uint32_t mode);

/* execute_m.c: MRS and MSR, false if it is neither; what comes before an instruction; an exception,
 * also of another profile's core that is not followed. */
bool execute_m_special(struct execute_work *w);
void execute_m_before(struct execute_work *w, bool uses_floats);
int execute_m_exception(struct execute *x, const struct bt_event *event);

#endif
