/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Register and memory values along a traced path: which are certain, and why.
 *
 * Input is a window of executed instructions that ends where the core halted, the halted core's
 * registers and its present memory. For every position a value is known or unknown; one that is
 * called known follows from the architecture. Values that need an assumption (calls keep the
 * registers that the procedure call standard tells them to keep) are marked as inferred, and
 * the assumption can be left out. See docs/values.md for what that gains.
 *
 * Position p is the state before instruction p runs; position `count` is the halted core. An
 * exception between two instructions has happened in the state of the position behind it.
 * A32 and T32 only: windows with other instruction sets are refused.
 */
#ifndef DECODER_VALUES_H
#define DECODER_VALUES_H

#include "btrace/types.h"

#define VALUES_MAX_INSNS 1000000u
#define VALUES_REGS      15u /* r0 to r14; the PC is the path itself */

struct values_insn {
    uint32_t address;
    uint32_t opcode; /* T32: first halfword in the upper half if 4 bytes */
    uint8_t isa;     /* enum bt_isa: A32 or T32 */
    uint8_t size;    /* bytes */
    uint8_t cond;    /* enum bt_cond, as far as the trace tells */
};

enum values_memory {
    VALUES_MEMORY_OTHER,  /* device, or not known: never trusted */
    VALUES_MEMORY_SHARED, /* RAM that others write as well: never trusted */
    VALUES_MEMORY_CONST,  /* nobody writes it: value at any time */
    VALUES_MEMORY_RAM,    /* only this core's instructions write it: value is the present one */
    VALUES_MEMORY_UNREAD, /* as RAM; the present value is not known */
    VALUES_MEMORY_SAVED,  /* as UNREAD where a register is saved; others write elsewhere */
};

/* Kind of the aligned word at `address`, and its value as an ordinary word load gives it. */
typedef enum values_memory values_read_fn(void *context, uint32_t address, uint32_t *value);

#define VALUES_INFER_ABI 1u /* calls keep SP and r4-r11; stores spare what is saved */
#define VALUES_INFER_EXCEPTION                                                                     \
    2u /* handlers give back what they interrupted; CCR.STKALIGN is set */
#define VALUES_INFER_ALL 3u

struct values_ram {
    uint32_t address, size; /* bytes; multiples of 4 */
};

struct values_window {
    const struct values_insn *insns;
    size_t count;
    const struct bt_event *events; /* in order; positions are counted from `first` */
    size_t event_count;
    uint64_t first;       /* position of insns[0] */
    uint32_t final[16];   /* registers of the halted core, PC included */
    uint32_t final_known; /* bit n: final[n] is valid */
    uint32_t final_cpsr;  /* CPSR or xPSR */
    uint32_t final_msp, final_psp;
    bool final_stacks_known; /* both are valid */
    bool final_cpsr_known;
    uint8_t final_isa;
    values_read_fn *read; /* NULL: no memory is known */
    void *context;
    /* M-profile: all RAM in which stacks of tasks may be, if read() knows all of it as it is at the
     * end of the window: tasks that wait are looked for there. Borrowed until *done. */
    const struct values_ram *ram;
    size_t ram_count;
    bool earlier;   /* it ends before the halt: at its end RAM may have held something else */
    uint32_t infer; /* VALUES_INFER_*: 0 leaves only what is proved */
    bool m_profile;
    bool m_one_stack;    /* M-profile: PSP is not in use,
                            and without m_fpu no frame has FP registers */
    bool m_fpu;          /* M-profile: the core may stack floating-point registers */
    bool m_float_manual; /* M-profile: FPCCR.ASPEN is 0, so that using them does not make room for
                            them */
    bool m_unaligned;    /* M-profile: CCR.STKALIGN is 0, so that no frame is moved to be aligned */
    bool m_nonsecure; /* M-profile: it ran in Non-secure state, where LR of a handler is another */
    bool m_bit_band; /* M-profile: a Cortex-M3 or M4, whose RAM has a second address for each bit */
    bool m_two_states; /* M-profile: code of the other security state runs, too: exceptions may take
                          r4-r11 away and give them back. So, too, if an event says so */
    bool a_banks;    /* A and R profile: registers of each mode are followed; see docs/values.md */
    bool big_endian; /* of data */
    bool v4t;        /* loads into the PC do not change the instruction set */
};

/* Where a known value comes from: the last step of its derivation. */
enum values_how {
    VALUES_UNKNOWN,
    VALUES_HALTED,    /* register of the halted core */
    VALUES_CONSTANT,  /* in the opcode or relative to the PC; a call's return address */
    VALUES_COMPUTED,  /* forwards, from operands */
    VALUES_UNDONE,    /* backwards, from a result */
    VALUES_BRANCH,    /* where an indirect branch went */
    VALUES_CONDITION, /* a condition that passed or failed */
    VALUES_CODE,      /* read from constant memory */
    VALUES_PRESENT,   /* present memory, not written since */
    VALUES_FORWARDED, /* through a memory word, from a store or another load */
    VALUES_EXCEPTION, /* exception entry or return */
    VALUES_DATA,      /* data trace */
    VALUES_CALL,      /* assumed: kept by a call or by a handler */
    VALUES_HOWS
};

/* Short text such as "undone", for listings. */
const char *values_how_name(enum values_how how);

struct values_answer {
    uint32_t value;
    uint32_t step; /* instruction that gave it (index in the window), or UINT32_MAX */
    uint8_t how;   /* enum values_how; VALUES_UNKNOWN: value is not valid */
    bool inferred; /* rests on an assumption */
};

struct values_counts {
    size_t values, rules, accesses, words, memory_bytes;
    unsigned rounds;
    size_t conflicts;          /* contradictions without assumptions: trace or model is wrong */
    size_t inferred_conflicts; /* calls that were seen not to keep the standard are not counted */
    uint32_t inferred_at;      /* instruction of the first of these (index in the window) */
};

struct values; /* private */

/*
 * Works the window out, in slices of a budget; the slices do not change the result. The window is
 * borrowed until *done, but `read` and `context`, which values_memory() may ask, stay. Questions
 * are allowed only then. Memory: about 200 bytes an instruction. values_begin(): 0, BT_ERR_INVAL
 * (too long, empty or unordered), BT_ERR_UNSUPPORTED (instruction set), BT_ERR_NOMEM; *out is NULL
 * then. values_work(): 0 or BT_ERR_NOMEM, after which only values_free() is allowed.
 * A unit of `budget` takes some 50 ns.
 */
int values_begin(struct values **out, const struct values_window *window);
int values_work(struct values *r, size_t budget, bool *done);
void values_free(struct values *r);

/* Register 0..14 at a position. False if unknown or out of range; *answer is always set. */
bool values_register(const struct values *r, size_t position, unsigned reg,
                     struct values_answer *answer);

/*
 * Condition flags at a position, in bits 31..28; `mask` has the bits that are known, `inferred`
 * those of them that rest on an assumption.
 */
uint32_t values_flags(const struct values *r, size_t position, uint32_t *mask, uint32_t *inferred);

/*
 * M-profile: MSP and PSP at a position. Bits 0 and 1 of what is returned: which are known; bit 2:
 * it is known which is SP, the second if *process. */
unsigned values_stacks(const struct values *r, size_t position, uint32_t stacks[2], bool *process);

/* M-profile: the stack pointers that are not in use at a position are those of the window's end. */
bool values_stacks_kept(const struct values *r, size_t position);

/* The aligned word at `address` at a position. As above. */
bool values_word(const struct values *r, size_t position, uint32_t address,
                 struct values_answer *answer);

/*
 * M-profile: the word at `address` is the xPSR that an exception stacked whose handler has not
 * returned at the position. *value has what is certain of it (instruction set, alignment and the
 * interrupted handler's number as the trace tells it), the rest is 0. For words that
 * values_word() does not know: without that of a frame a debugger cannot
 * unwind through it. */
bool values_status(const struct values *r, size_t position, uint32_t address, uint32_t *value);

/* An access to memory. */
struct values_touch {
    size_t step;      /* made between positions step and step + 1: by the instruction, or by an
                         exception behind it */
    uint64_t address; /* if known; in a bit-band region that of the byte */
    uint64_t value;   /* of a store of up to 8 bytes, if value_known */
    uint8_t size;     /* bytes */
    bool known;       /* the address is; if not it may be any */
    bool load, store; /* both: nobody knows which, and how much */
    bool perhaps;     /* its condition is not known, or it is a store-exclusive */
    bool value_known;
    bool inferred; /* the address rests on an assumption */
};

/* Accesses in order, 0 to values_touches() - 1; false: number `i` is none, or did not happen. */
size_t values_touches(const struct values *r);
bool values_touch(const struct values *r, size_t i, struct values_touch *touch);

void values_counts(const struct values *r, struct values_counts *counts);

/* An exception by name only: the core enters Debug state. */
bool values_is_halt(const struct bt_event *event);

#endif
