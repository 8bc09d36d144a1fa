/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of value reconstruction: the state that building, memory and queries share. */
#ifndef DECODER_VALUES_WORK_H
#define DECODER_VALUES_WORK_H

#include "decoder/effect/effect.h"
#include "values_rules.h"

#define VALUES_STATE_REGS 23 /* r0-r14, the PC (unused), NZ, C, V and: */
#define VALUES_MODE       19 /* the low five bits of the CPSR; M profile: EXC_RETURN, bits 3 and 2 */
#define VALUES_BASIC      20 /* M profile: EXC_RETURN, bit 4, if an exception were taken now */
#define VALUES_MSP        21 /* M profile: of the stack that is not in use */
#define VALUES_PSP        22

/* From state `from` on the register is `value`. */
struct values_def {
    uint32_t from;
    uint32_t value;
};

struct values_defs {
    struct values_def *at;
    size_t count, max;
};

enum access_kind {
    ACCESS_LOAD,
    ACCESS_STORE,
    ACCESS_KILL,    /* a store of an unknown value, or one that may not have happened */
    ACCESS_CLOBBER, /* any RAM may have changed */
    ACCESS_SWITCH,  /* another stack may be in use, if `data` was not stacked there */
    ACCESS_RAISE,   /* SP was `data` and is the base: below it nothing is saved any more */
};

/* What is assumed of a word that holds a register until that is given back. */
enum values_saved {
    SAVED_NOT,
    SAVED_FRAME, /* stacked at a PendSV: handlers as that may write it, through any pointer */
    SAVED,       /* no store to an unknown address hits it */
};

/* Accesses in order of execution. */
struct values_access {
    uint32_t step;
    uint32_t when; /* state that is the first to see a store */
    uint32_t base; /* value; the address is base + offset */
    uint32_t offset;
    uint32_t data;        /* value: 32 bits, of a narrow load as extended; 0: none */
    uint32_t cond;        /* value: happened if it is 1; 0: happened */
    uint32_t word;        /* value of the whole word, if it needed one */
    uint32_t second;      /* as word, of the next word if the access crosses */
    uint32_t among;       /* values of the words that it may write, from this one on; */
    uint32_t among_count; /* so many, a power of two */
    uint32_t linked;      /* version of the word that rules tie this access to */
    uint8_t kind;         /* enum access_kind */
    uint8_t width;
    bool sign;
    bool stack;     /* SP is the base */
    uint8_t saved;  /* enum values_saved: saves a register that belongs to the caller, or gives it
                       back */
    bool fixed;     /* raises: by a number of bytes that the instruction tells */
    bool kernel;    /* by a handler that may change what an exception has stacked */
    uint32_t floor; /* loads: state before which the stack was another one */
    uint32_t mode;  /* value: A profile, whose stack pointer SP is */
};

/* The word at `address` is `value` in the states from..to. */
struct values_record {
    uint32_t address;
    uint32_t from, to;
    uint32_t value;
};

struct values_cell {
    uint32_t address;
    uint32_t present;
    uint32_t version; /* value; 0: none seen since `from` */
    uint32_t from;
    uint32_t since; /* state of the last store that is known, or may be one of a saved register */
    uint32_t epoch;
    uint32_t round;
    uint8_t kind; /* enum values_memory */
    bool used;
    uint8_t saved; /* enum values_saved: the version is a saved register, not given back yet */
    bool listed;
    uint32_t doubtful; /* state from which on that is assumed; 0: it is not */
    uint32_t mode;     /* of the access that saved it */
};

struct values_memory_state {
    struct values_access *accesses;
    size_t access_count, access_max;
    struct values_record *records;
    size_t record_count, record_max;
    struct values_cell *cells; /* open addressing; a power of two */
    size_t cell_count, cell_max;
    uint32_t *clobbers;  /* states; entry e ends epoch e */
    size_t hard_epoch;   /* the last of them that saved registers do not survive either, plus 1 */
    size_t stack_epoch;  /* the last that may have saved a register, plus 1; */
    bool stack_other;    /* it has pushed another one: what is popped may be that */
    size_t kernel_epoch; /* the last that SAVED_FRAME does not survive, plus 1 */
    uint32_t *listed;    /* addresses of words that were saved in this pass */
    size_t listed_count, listed_max;
    size_t clobber_count, clobber_max;
    uint32_t round;
};

/* A call or an exception that has not come back. */
struct values_frame {
    uint32_t address; /* where it comes back */
    uint32_t kept;    /* bit n: state register n is the same afterwards */
    uint32_t saved[VALUES_STATE_REGS];
    uint32_t on_stack; /* build.on_stack */
    uint16_t lost;  /* A and R profile: bit n: LR of the mode whose number ends in n is overwritten
                     */
    uint8_t number; /* A and R profile: of the exception */
    bool exception;
    bool moved; /* A and R profile: within it User mode got another stack pointer from memory; */
    uint32_t user_base, user_at; /* it was put away there */
};

/* An M-profile exception frame, in the states from..until. */
struct values_stacked {
    uint32_t from, until;
    uint32_t frame, sp; /* values: its address, SP before */
    uint32_t number;    /* of the handler that was interrupted, or 0 */
};

struct values_pair {
    uint32_t step;
    uint32_t kept;
    uint16_t lost; /* as of the frame */
    bool moved;    /* SP is another one, unless it is known to be the same */
    uint32_t before[VALUES_STATE_REGS];
    uint32_t after[VALUES_STATE_REGS];
};

/* In the order of the work; from VALUES_PAIR it goes back to VALUES_RULES, once. */
enum values_stage {
    VALUES_BUILD, /* instructions and events become rules */
    VALUES_RULES,
    VALUES_ACCESSES, /* a pass over the accesses to memory, then over the words */
    VALUES_CELLS,
    VALUES_PASSED, /* what the pass has found is passed on */
    VALUES_SORT,
    VALUES_PAIR, /* assumptions: for each call the mode first, then registers */
    VALUES_PAIR_MODE,
    VALUES_TURNS, /* what goes on behind handlers, assumed, too; then back to VALUES_RULES */
    VALUES_DONE
};

struct values_sort {
    struct values_record *other; /* where runs are merged to */
    size_t width;                /* of a sorted run; 0: none yet */
    size_t at;
};

/* Has RAM second addresses? */
enum values_second {
    SECOND_NONE,
    SECOND_PERHAPS,  /* M profile: where the architecture has RAM */
    SECOND_BIT_BAND, /* and for each bit of the first MiB of SRAM */
};

struct build;        /* values_build.h */
struct values_turns; /* values_turns.h */

struct values {
    struct values_rules rules;
    struct values_defs defs[VALUES_STATE_REGS];
    struct values_memory_state memory;
    struct values_memory_state proved; /* records and clobbers before assumptions were made */
    struct values_pair *pairs;
    size_t pair_count, pair_max;
    struct values_stacked *stacked;
    size_t stacked_count, stacked_max;
    values_read_fn *read;
    void *context;
    bool earlier; /* than the halt: see struct values_window */
    size_t count;
    unsigned rounds;
    enum values_stage stage;
    size_t at;                    /* how far the stage is */
    size_t pair;                  /* those from here on are done */
    size_t news_before;           /* the pass over memory */
    unsigned passes;              /* since the last assumption */
    struct build *build;          /* until all instructions are rules */
    struct values_turns *turns;   /* NULL: not looked at */
    const struct values_ram *ram; /* where tasks that wait are; the window's */
    size_t ram_count;
    unsigned matches; /* how often turns were matched */
    struct values_sort sort;
    uint32_t infer;
    bool changed; /* the pass has found something */
    bool align;   /* assume that frames are aligned */
    bool big_endian;
    bool mixed; /* data have either order in the window: what accesses hold is not known */
    uint32_t stacks_from; /* state since which the stack pointers not in use are as they are */
    uint8_t second;       /* enum values_second: addresses of RAM */
    bool keep_saved;      /* assumed: no store to an unknown address hits a saved register */
};

static inline void spend_units(size_t *budget, size_t units)
{
    *budget -= units < *budget ? units : *budget;
}

/* values_memory.c: grows an array to hold one more; sets rules.nomem when that fails. */
bool values_room(struct values *r, void **array, size_t *max, size_t count, size_t size);

/*
 * values_build.c: all instructions and events become rules and accesses. 0 or BT_ERR_NOMEM; then
 * true when the last of them has.
 */
int values_build_begin(struct values *r, const struct values_window *w);
bool values_build_some(struct values *r, size_t *budget);

/*
 * values_memory.c: one pass over the accesses, which begins, goes over accesses and over words
 * (true: done; *at is 0 first), and has changed something. What it learnt is to be
 * passed on then. */
void values_memory_begin(struct values *r);
bool values_memory_accesses(struct values *r, size_t *at, size_t *budget);
bool values_memory_cells(struct values *r, size_t *at, size_t *budget);
static inline bool values_memory_changed(const struct values *r)
{
    return r->rules.news != r->news_before;
}

/* Keeps what is proved so far, sorted, in r->proved; `memory` goes on. */
void values_memory_keep(struct values *r);

/* Looks in one of the two states: *value is the word's value, or 0 if it is *present. */
bool values_memory_find(const struct values *r, const struct values_memory_state *m,
                        uint32_t position, uint32_t address, uint32_t *value, uint32_t *present);

#endif
