/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of recover: walking the window once, in order, to make values, rules and accesses. */
#ifndef DECODER_RECOVER_BUILD_H
#define DECODER_RECOVER_BUILD_H

#include "decoder/recover_work.h"

#define BUILD_FRAMES     512
#define BUILD_SAVED      16
#define BUILD_IT_UNKNOWN 0xff
#define BUILD_NESTING    64

/* Have floating-point registers been used since the exception that is handled, or ever? */
enum build_float { BUILD_FLOAT_MAYBE, BUILD_FLOAT_UNUSED, BUILD_FLOAT_USED };

struct build {
    struct recover *r;
    const struct recover_window *w;
    uint32_t cur[RECOVER_STATE_REGS]; /* value of each register now */
    uint32_t step;                    /* instruction that is looked at */
    uint32_t from;                    /* first state that sees what is defined */
    uint32_t pred;                    /* value: the instruction runs if it is 1; 0: it runs */
    size_t event;                     /* next one */
    struct recover_frame frames[BUILD_FRAMES];
    size_t frame_count;
    uint8_t it;      /* ITSTATE of the next instruction, or BUILD_IT_UNKNOWN */
    uint8_t it_left; /* instructions after which an unknown one has ended */
    struct {
        uint32_t address;
        uint8_t it;
    } saved[BUILD_SAVED]; /* IT state at interrupted instructions */
    unsigned saved_next;
    unsigned nesting; /* M-profile: exceptions entered in the window and not left */
    enum build_float floats;
    uint8_t outer[BUILD_NESTING];    /* `floats` of what they interrupted */
    uint32_t stacked[BUILD_NESTING]; /* their frames: numbers of r->stacked, plus 1; 0: none */
    uint16_t number;                 /* of the handler that runs, as far as the window tells */
    uint32_t pending;                /* value: frame whose room is not filled yet; 0: none */
    bool pending_anywhere;           /* there may be one that is not known */
    uint32_t base_lr[2]; /* values: what LR becomes when what ran first of all is interrupted,
                            without and with floating-point registers; 0: none yet */
    bool jumped;         /* the instruction before went by an indirect branch without link */
    bool returned;       /* it was an exception return, whether or not the trace says so */
    bool canceled;       /* the instruction does not complete */
};

/* A new value for a register, depending on the instruction's condition. */
void build_assign(struct build *b, unsigned reg, uint32_t value);
void build_clobber(struct build *b, uint32_t regs);
void build_clobber_memory(struct build *b);
struct recover_access *build_access(struct build *b, enum access_kind kind, uint32_t base,
                                    uint32_t offset, uint32_t data);

/* What the register reads as in the instruction that is looked at; the PC too. */
uint32_t build_read(struct build *b, unsigned reg, bool align_pc);

/* Where the path goes on after the instruction, with the T bit, as BX takes it. */
bool build_target(const struct build *b, uint32_t *target);

/* recover_exec.c: the instruction itself, without its condition. */
void build_execute(struct build *b, const struct insn_effect *e);

/* The entry to Debug state that this halt is: changes nothing. */
bool build_is_halt(const struct build *b, const struct bt_event *event);

/* recover_events.c: what happened between the instruction before and this one. */
void build_events(struct build *b);
void build_pair(struct build *b, uint32_t address, bool exception);
void build_push_frame(struct build *b, uint32_t address, uint32_t kept, bool exception);
void build_restore_it(struct build *b, uint32_t address);

/* recover_m.c: exceptions of M-profile cores; one whose return was chained to the next; the path
 * is lost; an instruction has run. */
void build_m_entry(struct build *b, const struct bt_event *event);
void build_m_return(struct build *b);
void build_m_chained(struct build *b, const struct bt_event *event);
void build_m_lost(struct build *b);
void build_m_executed(struct build *b);

/* The window has ended in what `psr` says. */
void build_m_halted(struct build *b, uint32_t psr);

#endif
