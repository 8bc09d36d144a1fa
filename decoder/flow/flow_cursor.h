/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the flow stages of ETMv1 and ETMv2 share: these protocols have one status for each
 * instruction. Instructions are followed through the code one by one and joined to blocks; a block
 * ends with a branch, with an instruction that failed its condition, before an event, and in
 * cycle-accurate mode with every instruction: its count is that of the cycles since the instruction
 * before it. Private to decoder/.
 */
#ifndef DECODER_FLOW_CURSOR_H
#define DECODER_FLOW_CURSOR_H

#include "decoder/flow/flow_core.h"

/* `core` comes first. core.range, if set, is the range that holds core.cur.address. */
struct flow_cursor {
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
struct flow_cursor_step {
    uint32_t address;
    uint32_t next;   /* behind it */
    uint32_t target; /* CODE_END_DIRECT */
    uint8_t size;
    uint8_t isa;
    uint8_t target_isa;
    uint8_t end; /* enum code_end; CODE_END_PAGE for what is no waypoint */
};

void flow_cursor_init(struct flow_cursor *t, struct code_cache *code, uint16_t core,
                      uint32_t generation);

/* Number of the next instruction to be added. */
static inline uint64_t flow_cursor_number(const struct flow_cursor *t)
{
    return t->core.instructions + t->count;
}

/* The instruction at the position; false, after a gap event, when there is no code. */
bool flow_cursor_fetch(struct flow_cursor *t, struct flow_out *out, uint64_t offset,
                       struct flow_cursor_step *step);

/* Moves the position behind it, or to its target: not for indirect branches that are taken. */
void flow_cursor_advance(struct flow_cursor *t, const struct flow_cursor_step *step, bool taken);

/* Its opcode; false: none can be read. */
bool flow_cursor_opcode(struct flow_cursor *t, const struct flow_cursor_step *step,
                        uint32_t *opcode);

/* Cycles since the latest instruction; counting starts anew. FLOW_NO_CYCLES if not counted. */
static inline uint64_t flow_cursor_cycles(struct flow_cursor *t)
{
    uint64_t cycles = t->core.cycles - t->counted;
    t->counted = t->core.cycles;
    return t->cycle_accurate ? cycles : FLOW_NO_CYCLES;
}

/* Adds an executed instruction. */
void flow_cursor_add(struct flow_cursor *t, struct flow_out *out,
                     const struct flow_cursor_step *step, enum bt_cond cond, uint64_t cycles);

/* Puts out the open block: must be done before an event. */
void flow_cursor_close(struct flow_cursor *t, struct flow_out *out);

/* As flow_event() and so on, behind the open block. */
static inline struct bt_event *flow_cursor_event(struct flow_cursor *t, struct flow_out *out,
                                                 enum bt_event_kind kind, uint64_t offset)
{
    flow_cursor_close(t, out);
    return flow_event(&t->core, out, kind, offset);
}

static inline void flow_cursor_lose(struct flow_cursor *t, struct flow_out *out, uint64_t offset,
                                    enum bt_gap_cause cause, uint64_t address)
{
    flow_cursor_close(t, out);
    flow_lose(&t->core, out, offset, cause, address);
}

static inline void flow_cursor_warn(struct flow_cursor *t, struct flow_out *out, uint64_t offset,
                                    enum bt_gap_cause cause, uint64_t address)
{
    flow_cursor_close(t, out);
    flow_warn(&t->core, out, offset, cause, address);
}

/*
 * Tracing begins at `address`, for one of the reasons of IHI 0014Q chapter 5 and IHI 0014Q
 * table 6-7 (0: synchronisation). `first`: nothing came before, or its loss has an event of its
 * own. `reported`: a branch packet gave core.cur.address, and nothing has run there: so the code
 * alone does not say where the gap begins, and a gap event does.
 */
void flow_cursor_on(struct flow_cursor *t, struct flow_out *out, uint64_t offset, unsigned reason,
                    uint32_t address, uint8_t isa, bool first, bool reported);

/* Number of the exception (as PTM numbers them, IHI 0035B 4.5.4) whose vector this is; 0: none. */
unsigned flow_cursor_vector(const struct flow_cursor *t, uint32_t address, uint8_t isa);

#endif
