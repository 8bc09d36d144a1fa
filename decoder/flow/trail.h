/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the flow stages of ETMv1 and ETMv2 share: these protocols have one status for each
 * instruction. Instructions are followed through the code one by one and joined to blocks; a block
 * ends with a branch, with an instruction that failed its condition, before an event, and in
 * cycle-accurate mode with every instruction: its count is that of the cycles since the instruction
 * before it. Private to decoder/.
 */
#ifndef DECODER_TRAIL_H
#define DECODER_TRAIL_H

#include "decoder/flow/flow_core.h"

/* `core` comes first. core.range, if set, is the range that holds core.cur.address. */
struct trail {
    struct flow_core core;
    uint32_t first, last; /* of the open block */
    uint32_t next;        /* behind it */
    uint32_t count;       /* its instructions; 0: none is open */
    uint8_t isa;
    bool cycle_accurate;
    bool low_vectors;
    bool high_vectors;
    uint64_t counted; /* core.cycles at the latest instruction */
};

/* One instruction at the current position. */
struct trail_step {
    uint32_t address;
    uint32_t next;   /* behind it */
    uint32_t target; /* TRAIL_DIRECT */
    uint8_t size;
    uint8_t isa;
    uint8_t target_isa;
    uint8_t end; /* enum code_end; CODE_END_PAGE for what is no waypoint */
};

void trail_init(struct trail *t, struct code_cache *code, uint16_t core, uint32_t generation);

/* Number of the next instruction to be added. */
static inline uint64_t trail_number(const struct trail *t)
{
    return t->core.instructions + t->count;
}

/* The instruction at the position; false, after a gap event, when there is no code. */
bool trail_fetch(struct trail *t, struct flow_out *out, uint64_t offset, struct trail_step *step);

/* Moves the position behind it, or to its target: not for indirect branches that are taken. */
void trail_advance(struct trail *t, const struct trail_step *step, bool taken);

/* Its opcode; false: none can be read. */
bool trail_opcode(struct trail *t, const struct trail_step *step, uint32_t *opcode);

/* Cycles since the latest instruction; counting starts anew. FLOW_NO_CYCLES if not counted. */
uint64_t trail_cycles(struct trail *t);

/* Adds an executed instruction. */
void trail_add(struct trail *t, struct flow_out *out, const struct trail_step *step,
               enum bt_cond cond, uint64_t cycles);

/* Puts out the open block: must be done before an event. */
void trail_close(struct trail *t, struct flow_out *out);

/* As flow_event() and so on, behind the open block. */
struct bt_event *trail_event(struct trail *t, struct flow_out *out, enum bt_event_kind kind,
                             uint64_t offset);
void trail_lose(struct trail *t, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
                uint64_t address);
void trail_warn(struct trail *t, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
                uint64_t address);

/*
 * Tracing begins at `address`, for one of the reasons of digest etmv1.md 7.3 and etmv2.md 8.4
 * (0: synchronisation). `first`: nothing came before, or its loss has an event of its own.
 * `told`: a branch packet gave core.cur.address, and nothing has run there: so the code alone does
 * not say where the gap begins, and a gap event does.
 */
void trail_on(struct trail *t, struct flow_out *out, uint64_t offset, unsigned reason,
              uint32_t address, uint8_t isa, bool first, bool told);

/* Number of the exception (as PTM numbers them, pft.md 12.1) whose vector this is; 0: none. */
unsigned trail_vector(const struct trail *t, uint32_t address, uint8_t isa);

#endif
