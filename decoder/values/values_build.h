/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of value reconstruction: walking the window once, in order, to make values, rules and
 * accesses. */
#ifndef DECODER_VALUES_BUILD_H
#define DECODER_VALUES_BUILD_H

#include "values_work.h"

#define BUILD_FRAMES     512
#define BUILD_SAVED      1024 /* a power of two */
#define BUILD_IT_UNKNOWN 0xff
#define BUILD_NESTING    64
#define BUILD_BANKS      6
#define BUILD_BANK_FIQ   1
#define BUILD_HIGH       5 /* r8-r12 */

#define BUILD_MODE_USER       0x10u
#define BUILD_MODE_FIQ        0x11u
#define BUILD_MODE_IRQ        0x12u
#define BUILD_MODE_SUPERVISOR 0x13u
#define BUILD_MODE_ABORT      0x17u
#define BUILD_MODE_UNDEFINED  0x1bu
#define BUILD_MODE_SYSTEM     0x1fu

#define BUILD_KEPT_BY_CALL 0x2ff0u /* registers: r4 to r11, SP */

/* Exceptions of A and R profile as the trace numbers them; the M profile has its reset as 1. */
#define BUILD_NUMBER_DEBUG          1
#define BUILD_NUMBER_ASYNC_ABORT    4
#define BUILD_NUMBER_UNDEFINED      9
#define BUILD_NUMBER_SVC            10
#define BUILD_NUMBER_PREFETCH_ABORT 11
#define BUILD_NUMBER_DATA_ABORT     12
#define BUILD_NUMBER_IRQ            14
#define BUILD_NUMBER_FIQ            15

/* Exceptions of M profile. */
#define BUILD_NUMBER_NMI     2
#define BUILD_NUMBER_PENDSV  14
#define BUILD_NUMBER_SYSTICK 15

/* M profile, values: VALUES_MODE and VALUES_BASIC of what was interrupted. */
struct build_outer {
    uint32_t context, basic;
    enum values_saved saved;
};

/* A status register: values of the whole and of its parts. */
struct build_status {
    uint32_t word, mode;
    uint32_t flags[3]; /* NZ, C, V */
};

/* Values of what a mode has of its own while another one runs, and its SPSR at any time. */
struct build_bank {
    uint32_t sp, lr;
    struct build_status spsr;
};

/* An indirect branch without link. */
enum build_jump {
    BUILD_JUMP_NOT,
    BUILD_JUMP,
    BUILD_JUMP_BACK, /* by LR, or from the stack */
};

enum build_is { BUILD_IS_NOT, BUILD_IS, BUILD_IS_PERHAPS };

/* Where the path goes on behind the instruction. */
struct build_next {
    uint32_t address; /* if known */
    uint8_t isa;
    bool known;
    bool leaves; /* not straight on */
};

struct build {
    struct values *r;
    const struct values_window *w;
    uint32_t cur[VALUES_STATE_REGS]; /* value of each register now */
    uint32_t step;                   /* instruction that is looked at */
    uint32_t from;                   /* first state that sees what is defined */
    uint32_t pred;                   /* value: the instruction runs if it is 1; 0: it runs */
    uint32_t result_nz;              /* value: N and Z of a result, which are never both set */
    size_t event;                    /* next one */
    const struct bt_event *behind;   /* the first behind the instruction that is not passive */
    struct build_next next;
    struct values_frame frames[BUILD_FRAMES];
    size_t frame_count;
    uint32_t on_stack; /* bit n: register n is SP, or was made of it, since the stack is in use */
    uint32_t floor;    /* first state of that: what memory held there before is another's */
    uint8_t it;        /* ITSTATE of the next instruction, or BUILD_IT_UNKNOWN */
    uint8_t it_left;   /* instructions after which an unknown one has ended */
    uint8_t changing;  /* enum effect_context: translation, of which no memory is known meanwhile */
    struct {
        uint32_t address;
        uint8_t it;       /* the same at any time (DDI 0403E.e A7.3.3): nobody jumps into a block */
    } saved[BUILD_SAVED]; /* at interrupted instructions, by address */
    unsigned nesting;     /* M-profile: exceptions entered in the window and not left */
    struct build_outer outer[BUILD_NESTING]; /* what they interrupted */
    uint32_t stacked[BUILD_NESTING]; /* their frames: numbers of r->stacked, plus 1; 0: none */
    uint16_t number;                 /* of the handler that runs, as far as the window tells */
    uint32_t pending;                /* value: frame whose room is not filled yet; 0: none */
    uint32_t pending_with;           /* value: 1 if it has room; 0: it has */
    bool pending_anywhere;           /* there may be one that is not known */
    unsigned switched;               /* stack pointers written since the outermost of them */
    uint32_t target;                 /* value: where the instruction goes, if indirectly; 0: none */
    uint32_t base_lr; /* value: what is the same in each LR when what ran first of all is
                         interrupted; 0: none yet */
    struct build_bank banks[BUILD_BANKS]; /* User and System share the first */
    uint32_t high[2][BUILD_HIGH];         /* r8-r12 of all other modes, and of FIQ */
    uint32_t tested;                      /* mode that `tests` are of */
    uint32_t tests[BUILD_BANKS];          /* value: 1 if it has that bank; 0: not made */
    struct build_status status_read;      /* by the last MRS; word 0: none */
    enum build_jump jumped;               /* the instruction before */
    bool returned; /* it was an exception return, whether or not the trace says so */
    bool canceled; /* the instruction does not complete */
    bool back;     /* a handler has returned to `back_to`, in the other security state */
    uint32_t back_to;
    bool two_states; /* the window's, or the security state changes in it */
};

static inline uint32_t build_fresh(struct build *b)
{
    return rules_value(&b->r->rules);
}

static inline uint32_t build_constant(struct build *b, uint32_t number)
{
    return rules_constant(&b->r->rules, number, b->step);
}

/* values_state.c: a new value for a register, depending on the instruction's condition. */
void build_assign(struct build *b, unsigned reg, uint32_t value);

/* What the register has when `value` is written: SP of the M profile has no bits 1 and 0. */
uint32_t build_aligned(struct build *b, unsigned reg, uint32_t value);
void build_clobber(struct build *b, uint32_t regs);
struct values_access *build_access(struct build *b, enum access_kind kind, uint32_t base,
                                   uint32_t offset, uint32_t data);

static inline void build_clobber_memory(struct build *b)
{
    build_access(b, ACCESS_CLOBBER, 0, 0, 0);
}

/* What the register reads as in the instruction that is looked at; the PC too. */
uint32_t build_read(struct build *b, unsigned reg, bool align_pc);

/* Where the path goes on after the instruction, with the T bit, as BX takes it. */
bool build_target(const struct build *b, uint32_t *target);

/* A call or exception begins, which is to come back to `address` with the registers `kept`. */
void build_push_frame(struct build *b, uint32_t address, uint32_t kept, bool exception);

/* One came back to `address`: what was begun last of that kind, if it was to come back there. */
void build_pair(struct build *b, uint32_t address, bool exception);

/* Is it where the innermost exception that is open was taken? */
bool build_is_innermost(struct build *b, uint32_t address);
/* Its handlers may have changed what a call may change. */
void build_give_back_less(struct build *b);

/*
 * values_stack.c: SP is of another stack now, or of another place of its stack that nobody knows:
 * calls and exceptions that are open do not come back as they went. `process`: it was PSP, in a
 * handler, whose own calls are not concerned.
 */
void build_other_stack(struct build *b, bool process);

/* The instruction has run; `before`: registers as they were. */
void build_track_stack(struct build *b, const struct insn_effect *e, const uint32_t *before);

/* The IT state of an interrupted instruction, and where a handler came back to it. */
void build_save_it(struct build *b, uint32_t address);
void build_restore_it(struct build *b, uint32_t address);

/* values_canceled.c: parts of what an instruction does that did not complete; of the one that the
 * exception is to come back to. */
void build_canceled(struct build *b, const struct insn_effect *e);
void build_abandoned(struct build *b, const struct bt_exception *x);

/* values_m.c: exceptions of M-profile cores; one whose return was chained to the next; the path
 * is lost; an instruction has run. */
void build_m_entry(struct build *b, const struct bt_event *event);
void build_m_return(struct build *b, uint32_t address); /* where it returns to */
/* A return, or a chained handler, of which nothing has run. */
void build_m_unsure(struct build *b);
/* Likewise, of an indirect branch in front of an exception that is to come back to `address`. */
void build_m_perhaps_chained(struct build *b, uint32_t address);
void build_m_chained(struct build *b, const struct bt_event *event);
void build_m_lost(struct build *b);
void build_m_states(struct build *b); /* first: does the window change the security state? */
void build_m_executed(struct build *b);
void build_m_floats_used(struct build *b,
                         bool certain); /* or perhaps, by what is not in the path */
void build_m_decoded(uint32_t op, struct insn_effect *e); /* an MSR changes less */
bool build_m_special(struct build *b);                    /* an MRS or MSR of the stacks: true */

/* values_a.c: modes of A- and R-profile cores; the path is lost; an exception; a halt. */
void build_a_lost(struct build *b);
void build_a_entry(struct build *b, const struct bt_event *event);
/* What is open loses LR of the mode that the exception goes to. */
void build_a_overwrites(struct build *b, const struct bt_event *event);
bool build_a_may_change(const struct build *b);
bool build_a_goes_behind(const struct build *b, const struct bt_exception *x);
bool build_a_has_mixed_data(const struct values_window *w);
void build_a_halted(struct build *b, uint32_t psr);

void build_a_system(struct build *b, const struct insn_effect *e);

/* The window has ended in what `psr` says. */
void build_m_halted(struct build *b, uint32_t psr);

#endif
