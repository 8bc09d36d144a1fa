/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every protocol's flow stage hands out: blocks of executed instructions and events between
 * them, in batches of fixed-size records.
 *
 * Both stages of a protocol NAME are plain data, which may be copied to make a checkpoint:
 *
 * - NAME_parse(): `len` bytes into at most `max` packets, whose number is *count. Returns the bytes
 *   consumed: fewer than `len` only when `out` is full; give the rest again. Bad input never fails:
 *   it gives a packet that says so, and the search for the next synchronisation.
 * - NAME_discontinuity(): bytes are missing before the next one; all but the options is forgotten.
 * - NAME_finish(): the end of the stream. Stores what is incomplete; returns how many packets.
 * - NAME_flow_init(): `code` must outlive the flow; `core` and `generation` select code (struct
 *   code_key).
 * - NAME_flow_run(): takes packets in order and fills `out`. Returns how many were taken: fewer
 *   than `count` only when `out` has less than FLOW_SLACK room left.
 * - NAME_flow_gap(): bytes of the stream are missing at `offset`. Puts out a gap event; the
 *   position becomes unknown.
 */
#ifndef DECODER_FLOW_H
#define DECODER_FLOW_H

#include "decoder/program/code_steps.h"

/* A flow stage stops before a packet when fewer free slots than this are left: no packet, with
 * what was pending before it, puts out more. Arrays must be larger. */
#define FLOW_SLACK 48

/* A block that somebody has to look at and, with `leaves`, the number of the instruction behind it.
 */
struct flow_mark {
    struct bt_block *block;
    uint64_t number;
};

/* Filled by a flow stage; arrays belong to the caller. */
struct flow_out {
    struct bt_block *blocks;
    uint64_t *cycles; /* a count a block, FLOW_NO_CYCLES where none; NULL: not wanted */
    struct bt_event *events;
    size_t block_count, block_max;
    size_t event_count, event_max;
    bool times;  /* the cache of code counts (struct code_options): blocks that are counted there
                    have FLOW_COUNTED */
    bool leaves; /* with `times`: so have those of ranges with CODE_LEAVES a mark */
    struct flow_mark *marks; /* with `times`: of blocks that are not counted, in order; one more
                                than block_max */
    size_t mark_count;
};

#define FLOW_COUNTED 0x80u /* in the info of a block; beside it CODE_LEAVES of its range */

/* In the info of a block, where the cache of code has steps: it stands for those of a step. */
#define FLOW_STEP (FLOW_COUNTED | 0x30u)

static inline struct bt_block flow_step_block(const struct code_step *step)
{
    return (struct bt_block){(uintptr_t)step, 0, (uint32_t)step->insns << 8 | FLOW_STEP};
}

/* NULL: it is a block. */
static inline const struct code_step *flow_step_of(const struct bt_block *b)
{
    return (b->info & FLOW_STEP) == FLOW_STEP ? (const struct code_step *)(uintptr_t)b->first
                                              : NULL;
}

/* The last instruction of a block, or of a step. */
static inline uint64_t flow_block_last(const struct code_cache *code, const struct bt_block *b)
{
    const struct code_step *step = flow_step_of(b);
    return bt_block_last(step ? code_step_blocks(code->steps, step) + step->blocks - 1 : b);
}

#define FLOW_NO_CYCLES UINT64_MAX /* counts are 32 bit: all of their values are used */

/*
 * Follows who looks at the program image along blocks and events: call for each event in order.
 * Listings need it to read the opcodes of the blocks behind the event.
 */
void flow_track_key(struct code_key *key, const struct bt_event *event);

static inline bool flow_room(const struct flow_out *out)
{
    return out->block_max - out->block_count >= FLOW_SLACK &&
           out->event_max - out->event_count >= FLOW_SLACK;
}

#endif
