/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forward execution on known and unknown values: from a state that is known, such as a halt, along
 * the path that the trace proves. Nothing is guessed: what comes from outside (devices, shared
 * memory, instructions whose effect is not known) is unknown, and so is what is computed from it.
 *
 * The rules of instructions are those of decoder/effect/effect.h, as for what follows backwards
 * (decoder/values/values.h). Pure: no I/O; memory grows by pages of execute_memory.h alone.
 */
#ifndef DECODER_EXECUTE_H
#define DECODER_EXECUTE_H

#include "btrace/types.h"
#include "decoder/execute/execute_memory.h"

enum execute_profile {
    EXECUTE_PROFILE_M,
    EXECUTE_PROFILE_AR,  /* A32, T32 */
    EXECUTE_PROFILE_A64, /* A64 in all exception levels */
};

/* What the core has, as values_window has it. */
struct execute_core {
    enum execute_profile profile;
    bool big_endian; /* of data */
    bool fpu;
    bool security; /* v8-M: Secure and Non-secure state */
    bool v4t;
    bool bit_band; /* the regions of a Cortex-M3 or M4 */
    bool limits;   /* v8-M: stacks have limits, CONTROL has SFPA */
};

/* Registers of A32 and T32 code; indexes of execute_regs.value. Stack pointers and other banked
 * registers that are not in use have places of their own; the one in use is r13. */
enum execute_reg {
    EXECUTE_SP = 13,
    EXECUTE_LR = 14,
    EXECUTE_PC = 15,
    EXECUTE_PSR = 16, /* known bit by bit: psr_known */
    /* M profile */
    EXECUTE_MSP,
    EXECUTE_PSP,
    EXECUTE_CONTROL,
    EXECUTE_PRIMASK,
    EXECUTE_BASEPRI,
    EXECUTE_FAULTMASK,
    EXECUTE_MSPLIM,
    EXECUTE_PSPLIM,
    /* CCR, FPCCR, FPCAR, FPDSCR and MPU_CTRL are in memory; without them exception frames are not
     * known: CCR for its STKALIGN, FPCCR for ASPEN, LSPEN and LSPACT (FPCAR is where then),
     * MPU_CTRL as it may keep a frame from being written. */
    EXECUTE_CCR,
    EXECUTE_FPCCR,
    EXECUTE_FPCAR,
    EXECUTE_FPDSCR,
    EXECUTE_MPU_CTRL,
    /* A and R profile: SP, LR and SPSR by mode, in the order of enum execute_bank; those in use are
     * r13 and r14. Then r8 to r12 of FIQ mode and of the others, while they are not in use. */
    EXECUTE_BANKS = 32,
    EXECUTE_HIGH = EXECUTE_BANKS + 3 * 7,
    /* CP15, of the security state in use; in the upper half of SCTLR's value bits that are not
     * known. */
    EXECUTE_SCTLR = EXECUTE_HIGH + 5,
    EXECUTE_TTBR0,
    EXECUTE_TTBCR,
    EXECUTE_MPIDR,
    EXECUTE_SCR,
    EXECUTE_REGS = 64
};

/* A64: indexes of execute_regs.value behind x0 to x30. */
enum execute_a64_reg {
    A64_SP0 = 31, /* SP_EL0 to SP_EL3 */
    A64_ELR0 = 35,
    A64_ELR1, /* to ELR_EL3 */
    A64_SPSR0 = 38,
    A64_SPSR1, /* to SPSR_EL3: in bits 63 to 32 which of the others are known */
    A64_VBAR0 = 42,
    A64_VBAR1,       /* to VBAR_EL3 */
    A64_TPIDR = 46,  /* TPIDR_EL0 to TPIDR_EL3, then TPIDRRO_EL0; EXECUTE_MPIDR as with 32 bits */
    A64_SCTLR1 = 51, /* to SCTLR_EL3: in bits 63 to 32 which of the others are not known */
    A64_TTBR1 = 54,  /* TTBR0_EL1 to TTBR0_EL3 */
    A64_TCR1 = 57,   /* to TCR_EL3 */
    A64_UPPER = 60,  /* TTBR1_EL1 */
    A64_HCR = 62,
};

/* A and R profile, AArch64: which memory an address is. */
enum execute_translation {
    EXECUTE_TRANSLATION_NEW,   /* the next instruction finds out */
    EXECUTE_TRANSLATION_FIXED, /* not known, but always the same */
    EXECUTE_TRANSLATION_FLAT,  /* that of its own number, or none */
    /* The one before or the one behind, until an ISB or an exception; the TLB: until a DSB before
     * that. Nothing of RAM is known meanwhile. */
    EXECUTE_TRANSLATION_CHANGING,
    EXECUTE_TRANSLATION_CHANGING_TLB,
};

enum execute_bank {
    EXECUTE_BANK_USER, /* and System; has no SPSR */
    EXECUTE_BANK_FIQ,
    EXECUTE_BANK_IRQ,
    EXECUTE_BANK_SUPERVISOR,
    EXECUTE_BANK_ABORT,
    EXECUTE_BANK_UNDEFINED,
    EXECUTE_BANK_MONITOR,
};

/* Bank of CPSR's mode, or -1: none, such as Hyp mode, which is not followed. */
int execute_mode_bank(uint32_t mode);

/* Where the bank's SP is; LR and SPSR are behind it. */
static inline unsigned execute_bank_reg(enum execute_bank bank)
{
    return EXECUTE_BANKS + 3 * (unsigned)bank;
}

enum execute_tables {
    EXECUTE_TABLES_SAME,
    EXECUTE_TABLES_HIT,
    EXECUTE_TABLES_LOST, /* with all that was known of memory */
};

enum execute_compared_how {
    EXECUTE_COMPARED_WITH,
    EXECUTE_COMPARED_BY,     /* of `with` minus that */
    EXECUTE_COMPARED_RESULT, /* N and Z alone */
    EXECUTE_COMPARED_BITS,   /* those that `with` has alone */
};

struct execute_compared {
    uint64_t with, shift; /* the flags are those of value[reg - 1] + shift minus `with`, */
    uint64_t address;     /* A64: what was compared was here, too, */
    uint8_t width;        /* so many bytes; 0: nowhere */
    uint8_t reg;          /* 0: of something else; */
    uint8_t how;          /* enum execute_compared_how */
    bool wide;            /* of 64 bits */
};

/* A64: conditional comparisons. The flags are of the next one, or compared, if `cond` held of those
 * of `before`; else they are `flags`. */
#define EXECUTE_CHAIN 2u
struct execute_chain {
    struct execute_compared before;
    uint8_t cond, flags;
};

#define EXECUTE_BOUNDED 31u /* registers whose ranges are kept: r0 to r14, x0 to x30 */

/* Of what is not known, divided. */
struct execute_multiples {
    /* Registers that hold it, times[n] of the quotient, or its product with `magic`, shifted to the
     * right by `shifted`: 32 or more are its upper word, and 0 all of it (A64). It is at most
     * `most`. Of A64 registers the lower words count. */
    uint32_t sources, of, uppers;
    uint32_t divisor, times[EXECUTE_BOUNDED], most;
    uint64_t magic;
    /* The rest: registers plus 1, 0: none; `others` has a bit for each. */
    uint32_t others;
    uint8_t shifted;
    uint8_t copy, copied;    /* A64: the same */
    uint8_t apart, half;     /* what is divided less an upper word; half of that */
    uint8_t whole, part;     /* part is whole & mask */
    uint8_t zeros, zeros_of; /* zeros is CLZ of zeros_of, times zeros_times plus zeros_plus */
    uint8_t stored;          /* is the word that EXECUTE_WATCH_STORED has */
    uint8_t rest;            /* is what is divided % divisor, */
    bool due;                /* or % (2 * divisor), which an instruction is to mend */
    bool kept;               /* the word that is watched is what is divided */
    uint32_t mask, zeros_times, zeros_plus;
};

#define EXECUTE_INTERRUPTED 8u /* exceptions that are kept in mind */

/*
 * What registers tell of each other where an exception comes: they tell it again behind its return,
 * as far as they hold what they held then. Each exception has a number, which words of memory have
 * that such registers are stored to (execute_memory_hold()).
 */
struct execute_interrupted {
    uint32_t number; /* 0: of no exception */
    uint32_t same;   /* these registers hold what they held there */
    uint8_t status;  /* value[status - 1] is the status of before exception `status_of`, */
    uint32_t status_of, saved[7]; /* and each mode's SPSR that of before another one; 0: of none */
    struct execute_before {
        uint32_t number;
        uint32_t within; /* of the exception whose handler was interrupted, and what was the same */
        uint32_t within_same;
        uint8_t mirror, mirror_width;
        uint64_t mirror_at, stored_at;
        struct execute_compared compared;
        struct execute_multiples multiples;
    } before[EXECUTE_INTERRUPTED];
};

struct execute_regs {
    uint64_t value[EXECUTE_REGS]; /* A64: x0-x30, then SP of EL0 to EL3, ELR, SPSR of EL1 to EL3 */
    uint64_t known;               /* bit n: value[n]; never PC and PSR */
    /* Bit n, of what is not known: it is value[n], or up to range[n] more, modulo 2^32; A64: modulo
     * 2^64 but for those of `words`, whose upper half is zero. Who sets known bits from outside
     * clears these. */
    uint32_t bounded, words;
    uint64_t range[EXECUTE_BOUNDED];
    struct execute_compared compared;
    struct execute_chain chain[EXECUTE_CHAIN]; /* A64: `chained` of them, the oldest first */
    uint8_t chained;
    uint8_t mirror; /* value[mirror - 1] is what is watched in memory; 0: nothing is */
    uint8_t mirror_width;
    struct execute_multiples multiples;
    struct execute_interrupted interrupted;
    uint8_t partial; /* A and R profile, A64: of value[partial - 1], a status, these bits are */
    uint32_t partial_bits, partial_known; /* known; 0: of none */
    uint32_t psr, psr_known;              /* CPSR, xPSR or PSTATE, bit by bit */
    uint64_t vector[64];                  /* d0-d31; A64: v0.d[0], v0.d[1], v1.d[0] ... */
    uint64_t vector_known;                /* A32, T32: bit n: s(n) */
    uint64_t vector_known64; /* A64: bit n: vector[n]; A32, T32: d16-d31 as bits 0-15 */
    uint32_t fpscr, fpscr_known;
    uint8_t it_unknown; /* T32: so many instructions may yet be of an IT block that is not known */
    bool float_settled; /* M profile: no floating-point registers are still to be stacked; */
    bool float_pending; /* they are, to FPCAR; neither: not known */
    bool mixed;         /* not M profile: the order of data has been another than the core's */
    bool float_off;     /* M profile: CPACR was written, and perhaps not so that there are any */
    /* M profile: where s0-s15 and FPSCR are as they are here, or are still to be stacked: which one
     * nobody knows, nor what they are now. These are known of them. 0: nowhere. */
    uint32_t float_place, place_status;
    uint16_t place_floats;
    bool handler;       /* M profile: in handler mode, for which exception the PSR says */
    uint32_t returning; /* M profile: EXC_RETURN that was branched to, if known; otherwise 0.
                           A64: behind an HVC or SMC the level, 2 or 3; 4: behind a
                           branch to where no instruction can be */

    uint8_t translation;             /* enum execute_translation */
    uint8_t tables_hit;              /* enum execute_tables, by the instruction at work */
    uint64_t tables_from, tables_to; /* FLAT: where tables in RAM are that say so; empty: none */
};

/* Where the SP in use is in `value`; -1: it is not known which one that is. */
int execute_sp(enum execute_profile profile, const struct execute_regs *r);

/* An instruction of the path. */
struct execute_insn {
    uint64_t address;
    uint32_t opcode; /* T32: first halfword in the upper half if 4 bytes */
    uint8_t isa;     /* enum bt_isa */
    uint8_t size;
    uint8_t cond; /* enum bt_cond, as far as the trace tells */
    /*
     * Where the program went on: the address of the instruction that ran next or, where an
     * exception came in between, the exception's preferred return address.
     */
    uint64_t next;
    bool has_next; /* false: not told, such as at a gap or an exception without return address */
};

/* Decoded instructions, kept; a cache of one thread that any number of states may use. */
struct execute_code;

struct execute_code *execute_code_new(void); /* NULL: no memory. 1 MiB */
void execute_code_free(struct execute_code *code);

/* Memory that was accessed: all of [from, to); or `perhaps` some of it, or nothing. */
struct execute_access {
    uint64_t from, to;
    bool load, store;
    bool perhaps;
};

/* r0 to r14, as execute_regs has them. */
struct execute_low {
    uint32_t value[15], range[15], known, bounded;
};

/*
 * A condition that nobody knows chooses between two ways through an IT block, or past an
 * instruction: what registers are on each of them, until the flags are others. What an exception
 * interrupts keeps it: a handler's stack has both (execute_memory_pair()). Private.
 */
struct execute_ways {
    uint32_t instance; /* the number of the choice; 0: there is none */
    uint32_t differs;  /* bit n: rn, and it is what way[] has */
    uint32_t written;  /* by the instruction at work */
    uint8_t cond;      /* way[0]: it holds */
    bool flags;        /* the flags in use are those that choose */
    struct execute_low way[2];
    struct {
        uint32_t instance; /* 0: it does not say */
        uint8_t cond;
    } saved[EXECUTE_BANK_MONITOR + 2]; /* A and R profile: which flags of each mode's SPSR choose;
                                          then those of a register: execute_regs.partial */
};

/*
 * A64: results of late that are not known, what they were made of, and which of them are in
 * registers. Private.
 */
#define EXECUTE_DERIVED  32u
#define EXECUTE_OPERANDS 3u

struct execute_entry {
    uint64_t value, range;
    bool known, bounded, word;
};

struct execute_made {
    uint32_t number, opcode;         /* 0: there is none; nobody knows of what it was made */
    uint32_t from[EXECUTE_OPERANDS]; /* 0: of what `operand` has */
    struct execute_entry operand[EXECUTE_OPERANDS], is;
    struct execute_compared compared; /* what the flags told of then */
};

struct execute_derived {
    uint32_t latest, in[EXECUTE_BOUNDED]; /* numbers, 0: none */
    struct execute_made made[EXECUTE_DERIVED];
};

/* A store-exclusive whose result is not known yet, which only a comparison and a branch may follow.
 * Private. */
struct execute_exclusive {
    uint8_t reg, width; /* of the result, plus 1; 0: there is none */
    bool known[2];      /* memory behind a result of 0, and of 1 */
    uint64_t value[2];
    uint64_t address, at; /* `insns` then */
};

struct execute {
    struct execute_core core;
    struct execute_code *code; /* borrowed; NULL: each instruction is decoded again */
    struct execute_regs regs;
    struct execute_ways ways;
    struct execute_derived derived;
    struct execute_exclusive exclusive;
    struct execute_memory memory;
    uint64_t insns;    /* executed */
    uint64_t unknown;  /* of them: effect not known, all that they may write is unknown */
    uint64_t clobbers; /* stores whose address was not known */
    /* Told of each access of an instruction or exception, behind it; a large one may be told in
     * parts. NULL: nobody wants to know. */
    void (*accessed)(void *ctx, const struct execute_access *access);
    void *ctx;
    uint64_t last_access; /* A64: address of the latest access, if has_access */
    bool has_access;
    bool chains;   /* M profile: the exception follows on a return, or the return is followed by one
                    */
    bool returned; /* M profile: the latest event was an exception's return, */
    bool returned_known;
    bool reloaded;        /* and gave floating-point registers back from its frame; */
    uint32_t returned_to; /* to there, if that is known */
    bool nonsecure;       /* v8-M: it runs in Non-secure state, which EXC_RETURN tells (DDI 0553B.v,
                             D1.2.78) */
};

/*
 * Runs one instruction. BT_OK; BT_ERR_NOMEM: the memory's budget is spent; BT_ERR_RANGE: what is
 * known contradicts the path (a known condition or branch target goes elsewhere): nothing that is
 * known may be shown, the caller ends this stretch. BT_ERR_UNSUPPORTED: not this instruction set.
 */
int execute_step(struct execute *x, const struct execute_insn *insn);

/*
 * An exception between two instructions, or its return: as the trace tells it. `next` is where the
 * path goes on: the handler's first instruction; of a return, what it came back to, or
 * EXECUTE_NO_ADDRESS where that is not told. A handler that follows on a return at the same
 * position (M profile: tail-chaining) is both calls. A and R profile: the returning instruction has
 * done it all, the event is not needed.
 */
#define EXECUTE_NO_ADDRESS UINT64_MAX
int execute_exception(struct execute *x, const struct bt_event *event, uint64_t next);
int execute_exception_return(struct execute *x, const struct bt_event *event, uint64_t next);

/* All registers, all memory or both are unknown from here on: a gap, a change of security state. */
void execute_forget_registers(struct execute *x);
void execute_forget_memory(struct execute *x);

#endif
