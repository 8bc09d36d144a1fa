/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace unit of one core, in front of the port: PTM or ETMv3, its address filter, and what it
 * does when the FIFO is full. The core's flow comes in as executed instructions and events; all
 * calls from the core's own thread, or while the machine is stopped.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_UNIT_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_UNIT_H

#include <stdatomic.h>

#include "board_model.h"
#include "board_port.h"

/*
 * Bytes into a block up to which plain instructions are not told one by one to a PTM: only the last
 * can show in the trace, before an exception. The model needs to see them before 4096.
 */
#define BOARD_UNIT_LAZY 2048u

/* Transfers of one instruction at most: VLDM of 32 words, and those that cross pages are two. */
#define BOARD_UNIT_ACCESSES 64

/* Private, but for the inline function below, `each`, `id` and the counters. */
struct board_unit {
    struct board_model model;
    bool each;  /* the model wants each instruction with its condition */
    bool split; /* what is cancelled has a packet of its own */
    struct trace_bytes bytes;
    struct board_port *port;
    atomic_uint_fast64_t *clock; /* instructions of all cores: the time */
    uint8_t id;
    const struct board_insn *newest; /* plain instruction that the model has not been told of */
    struct board_insn kept;
    struct board_state block; /* first instruction after the last boundary */
    uint64_t cycles;          /* not told yet */
    struct board_filter filter;
    bool selected;          /* the filter takes what runs */
    enum board_start start; /* why trace will start when it does */
    bool enabled;           /* by the user */
    bool debug;             /* core is in Debug state */
    bool overflowed;        /* waits for the FIFO */
    bool failed;            /* out of memory: no more trace */
    unsigned patience;
    uint64_t overflows;
    unsigned access_count;
    struct board_access accesses[BOARD_UNIT_ACCESSES]; /* of the instruction that runs */
};

/* `clock` and `port` are shared by all cores. 0, or -1: options contradict each other. */
int board_unit_init(struct board_unit *u, const struct board_options *o, unsigned core,
                    struct board_port *port, atomic_uint_fast64_t *clock);

/* Trace on, off. `next`: what runs next. */
void board_unit_on(struct board_unit *u, const struct board_state *next);
void board_unit_off(struct board_unit *u);

/* The model anew, for the registers of `o`; trace is off. 0, or -1: options contradict. */
int board_unit_reprogram(struct board_unit *u, const struct board_options *o);

/* From now on this is traced. */
void board_unit_set_filter(struct board_unit *u, const struct board_filter *filter,
                           const struct board_state *next);

/* An instruction ran. */
void board_unit_ran(struct board_unit *u, const struct board_step *step);

/* The instruction that runs has made a transfer; forgets those so far, it starts again. */
void board_unit_access(struct board_unit *u, uint32_t address, unsigned size);
void board_unit_no_access(struct board_unit *u);

/*
 * `cancelled`: the instruction that had started and did not complete, or NULL. x->cancel is worked
 * out here.
 */
void board_unit_exception(struct board_unit *u, const struct board_exception *x,
                          const struct board_step *cancelled);
void board_unit_debug_entry(struct board_unit *u, const struct board_state *here);
void board_unit_debug_exit(struct board_unit *u, const struct board_state *next);
void board_unit_context_id(struct board_unit *u, uint32_t value);

/* FIFO overflow: trace is lost and goes on at `next`. */
void board_unit_overflow(struct board_unit *u, const struct board_state *next);

/* The flow broke in a way that has no name: trace stops and starts at `next`. */
void board_unit_jump(struct board_unit *u, const struct board_state *next);

/* Pending atoms become packets, and all bytes go to the port. */
void board_unit_flush(struct board_unit *u);

/* A-sync in front of what follows, so that it can be read on its own; not sent to the port yet. */
void board_unit_sync(struct board_unit *u);

/* Records of translated code are about to be freed. */
void board_unit_keep(struct board_unit *u);

/* board_unit_ran() of an instruction that is no waypoint and has no effects. */
static inline void board_unit_ran_plain(struct board_unit *u, const struct board_insn *insn,
                                        bool pass)
{
    if (!u->each && insn->address - u->block.address < BOARD_UNIT_LAZY) {
        u->cycles++;
        u->newest = insn;
    } else {
        const struct board_step step = {.insn = insn,
                                        .pass = pass,
                                        .next = {insn->address + insn->size, (enum bt_isa)insn->isa,
                                                 u->block.security, u->block.level}};
        board_unit_ran(u, &step);
    }
}

#endif
