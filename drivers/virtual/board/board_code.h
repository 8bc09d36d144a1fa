/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the board keeps of each translated instruction, worked out once, when QEMU translates it. */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_CODE_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_CODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btrace/types.h"

/* What else an instruction does that the board has to look after. */
#define BOARD_INSN_EXCEPTION_RETURN 1u
#define BOARD_INSN_WRITES_PSR       2u  /* mode may change: MSR, CPS */
#define BOARD_INSN_CONTEXT_ID       4u  /* MCR to CONTEXTIDR */
#define BOARD_INSN_SECURE_CONFIG    8u  /* MCR to SCR */
#define BOARD_INSN_WAIT             16u /* WFI, WFE */
#define BOARD_INSN_VECTOR_BASE      32u /* MCR to VBAR or MVBAR */

#define BOARD_COND_ALWAYS 14

/* Where execution is. */
struct board_state {
    uint64_t address;
    enum bt_isa isa;
    enum bt_security security;
    uint8_t level; /* exception level; M profile: 0 Thread, 3 Handler */
};

struct board_insn {
    uint64_t address;
    uint64_t target; /* direct branches */
    uint32_t opcode; /* as waypoint_classify() takes it */
    uint8_t size;
    uint8_t isa;        /* enum bt_isa */
    uint8_t target_isa; /* enum bt_isa */
    uint8_t cls;        /* enum waypoint_class */
    uint8_t condition;  /* as in A32 opcodes; BOARD_COND_ALWAYS also for CBZ, CBNZ */
    uint8_t flags;
    /* The instruction in front in the same block if it does nothing but run on to this one, and
     * this one is no indirect branch. */
    const struct board_insn *before;
};

/* One core state at the start of a block: instruction set and ITSTATE. */
struct board_code_state {
    enum bt_isa isa;
    uint8_t it;
};

/* Memory of the records, freed together: QEMU says when no translated code is left. */
struct board_code {
    pthread_mutex_t lock;
    struct board_code_chunk *chunks;
};

int board_code_init(struct board_code *c);
void board_code_clear(struct board_code *c);

/* `count` records that are not initialised, or NULL. They live until board_code_clear(). */
struct board_insn *board_code_new(struct board_code *c, size_t count);

/*
 * Fills in *insn from its bytes (2 or 4, in memory order, little-endian code) and steps
 * `state->it`. `before` is the record in front in the block, or NULL.
 */
void board_code_describe(struct board_insn *insn, uint64_t address, const uint8_t *bytes,
                         size_t size, struct board_code_state *state,
                         const struct board_insn *before);

/* ISA and ITSTATE of a PSR value; in the M profile that has no T bit where others have it. */
struct board_code_state board_code_state(uint32_t psr, bool m_profile);

/* Does a condition hold with these flags? */
bool board_condition_passes(unsigned condition, uint32_t psr);

#endif
