/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace unit of one core: a PTM in front of the port. The core's flow comes in as executed
 * instructions and events; all calls from the core's own thread, or while the machine is stopped.
 *
 * This is the place of other trace units: an ETMv3 would take the same calls, only that it wants
 * each instruction, also the plain ones, with its condition.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_UNIT_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_UNIT_H

#include <stdatomic.h>

#include "drivers/virtual/board/board_code.h"
#include "drivers/virtual/board/board_port.h"
#include "drivers/virtual/ptm_encoder.h"

/*
 * Bytes into a block up to which plain instructions are not told one by one: only the last can show
 * in the trace, before an exception. The model needs to see them before 4096.
 */
#define BOARD_UNIT_LAZY 2048u

/* Private, but for the inline function below and the counters. */
struct board_unit {
    struct ptm_encoder *encoder;
    struct trace_bytes bytes;
    struct board_port *port;
    atomic_uint_fast64_t *clock; /* instructions of all cores: the time */
    uint8_t id;
    const struct board_insn *newest; /* plain instruction that the model has not been told of */
    struct board_insn kept;
    uint32_t block_start;
    enum bt_security security;
    uint64_t cycles; /* not told yet */
    bool enabled;    /* by the user */
    bool debug;      /* core is in Debug state */
    bool overflowed; /* waits for the FIFO */
    bool failed;     /* out of memory: no more trace */
    unsigned patience;
    uint64_t overflows;
};

/* `clock` and `port` are shared by all cores. 0, or -1: options contradict each other. */
int board_unit_init(struct board_unit *u, const struct board_options *o, unsigned core,
                    struct board_port *port, atomic_uint_fast64_t *clock);
void board_unit_release(struct board_unit *u);

/* Trace on, off. `next`: what runs next. */
void board_unit_on(struct board_unit *u, const struct ptm_state *next);
void board_unit_off(struct board_unit *u);

/* An instruction ran. See struct ptm_insn for `pass` and `next`. */
void board_unit_ran(struct board_unit *u, const struct board_insn *insn, bool pass,
                    const struct ptm_state *next);

void board_unit_exception(struct board_unit *u, unsigned number, const struct ptm_state *vector);
void board_unit_debug_entry(struct board_unit *u);
void board_unit_debug_exit(struct board_unit *u, const struct ptm_state *next);
void board_unit_context_id(struct board_unit *u, uint32_t value);

/* FIFO overflow: trace is lost and goes on at `next`. */
void board_unit_overflow(struct board_unit *u, const struct ptm_state *next);

/* The flow broke in a way that has no name: trace stops and starts at `next`. */
void board_unit_jump(struct board_unit *u, const struct ptm_state *next);

/* Pending atoms become packets, and all bytes go to the port. */
void board_unit_flush(struct board_unit *u);

/* A-sync in front of what follows, so that it can be read on its own; not sent to the port yet. */
void board_unit_sync(struct board_unit *u);

/* Records of translated code are about to be freed. */
void board_unit_keep(struct board_unit *u);

/* board_unit_ran() of an instruction that is no waypoint and has no effects. */
static inline void board_unit_ran_plain(struct board_unit *u, const struct board_insn *insn)
{
    if (insn->address - u->block_start < BOARD_UNIT_LAZY) {
        u->cycles++;
        u->newest = insn;
    } else {
        const struct ptm_state next = {insn->address + insn->size, (enum bt_isa)insn->isa,
                                       u->security};
        board_unit_ran(u, insn, true, &next);
    }
}

#endif
