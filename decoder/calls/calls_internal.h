/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pieces of calls need of the calls. Private to this folder. */
#ifndef DECODER_CALLS_INTERNAL_H
#define DECODER_CALLS_INTERNAL_H

#include "decoder/calls/calls.h"
#include "decoder/calls/calls_piece.h"

/* The path, made if it is new; what has no room counts for its caller. */
uint32_t calls_find_path(struct calls *c, const struct calls_path *wanted);

/* There are none any more. */
void calls_forget_paths(struct calls *c);

/* What ran since the last transfer, up to instruction `number`, was of the newest call. */
static inline void calls_settle(struct calls *c, uint64_t number, uint64_t cycles)
{
    uint32_t path = c->depth ? c->frames[c->depth - 1].path : CALLS_NO_PATH;
    if (path != CALLS_NO_PATH)
        c->paths[path].self += number - c->number;
    c->number = number;
    if (cycles == c->cycles) /* most traces have none */
        return;
    if (path != CALLS_NO_PATH)
        c->paths[path].self_cycles += cycles - c->cycles;
    c->cycles = cycles;
}

/* Frames of which the lower ones are neither asked for nor touched, nor is the highest one but for
 * its calls; to what is in `absent`, by address / 2, none of them returns. */
struct calls_floor {
    unsigned frames;
    const uint64_t *absent; /* CALLS_PIECE_SEEN */
};

/* Calls and returns that are as they were before, at the number of cycles up to which all is
 * settled: returns how many transfers they are, up to the first other one. */
size_t calls_follow(struct calls *c, const struct calls_floor *floor,
                    const struct counts_transfer *transfers, size_t count);

/* A frame above all others. */
void calls_put_frame(struct calls *c, const struct calls_frame *frame);

/* The frame above that of the newest open exception; 0: none is open. */
unsigned calls_base(const struct calls *c);

/* The function of the block that an edge leads to. */
static inline uint64_t calls_function(const struct counts_edge *edge)
{
    return edge->function ? edge->function : edge->block.first;
}

#endif
