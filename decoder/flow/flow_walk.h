/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks along the code from the position of a flow: over ends of pages to the next waypoint, or to
 * an address that lies before it. For flow stages; private to decoder/.
 */
#ifndef DECODER_FLOW_WALK_H
#define DECODER_FLOW_WALK_H

#include "decoder/flow/flow_core.h"

#define FLOW_WALK_LIMIT (1u << 20) /* instructions between two packets: more is a runaway */

/*
 * To the next waypoint, which is put out as one block with what is before it. The position stays
 * where it was. NULL: there is no code, or no end; what was passed is put out, the position is
 * lost, and an event tells.
 */
struct code_range *flow_walk_to_waypoint(struct flow_core *f, struct flow_out *out, uint64_t offset,
                                         enum bt_cond cond, uint64_t cycles);

/* How flow_walk_before() ended. */
enum flow_walk_end {
    FLOW_WALK_THERE,  /* the position is `address`, or at the instruction that `address` is in */
    FLOW_WALK_PASSED, /* a waypoint stands before it: nothing was put out */
    FLOW_WALK_LOST,   /* no code, or too far: nothing was put out */
};

/*
 * Up to, not with, the instruction at `address`; no waypoint may stand before it, unless `over`:
 * then they are taken for such that were not taken. What was passed is one block.
 */
enum flow_walk_end flow_walk_before(struct flow_core *f, struct flow_out *out, uint64_t address,
                                    bool over);

/*
 * Through the instruction at `wanted`, over waypoints if need be, of which the first makes a
 * warning. What was passed is one block. Where there is no code, or no end,
 * the position is lost. */
void flow_walk_through(struct flow_core *f, struct flow_out *out, uint64_t offset, uint64_t wanted);

/*
 * `count` instructions from the position; only the last one may be a waypoint. `to` is where they
 * are said to have led: FLOW_WALK_PASSED if they cannot have, nothing is put out then.
 */
enum flow_walk_end flow_walk_count(struct flow_core *f, struct flow_out *out, uint32_t count,
                                   uint64_t to);

#endif
