/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pieces of calls need of the calls. Private to this folder. */
#ifndef DECODER_CALLS_INTERNAL_H
#define DECODER_CALLS_INTERNAL_H

#include "decoder/calls/calls.h"

/* The path, made if it is new; what has no room counts for its caller. */
uint32_t calls_find_path(struct calls *c, const struct calls_path *wanted);

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

/* The frame above that of the newest open exception; 0: none is open. */
unsigned calls_base(const struct calls *c);

/* The function of the block that an edge leads to. */
uint64_t calls_function(const struct counts_edge *edge);

#endif
