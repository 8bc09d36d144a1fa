/* SPDX-License-Identifier: BSD-3-Clause */
/* What blocks that are counted and blocks that the decoder counts have in common. Private to this
 * folder. */
#ifndef DECODER_COUNTS_INTERNAL_H
#define DECODER_COUNTS_INTERNAL_H

#include "decoder/counts/counts.h"

#define COUNTS_NO_TRANSFERS 255u
#define COUNTS_MARKS        (FLOW_COUNTED | CODE_LEAVES) /* in the info of blocks, with `times` */

/* With `times`: blocks that are fed at a time, those of which some may be taken back and what comes
 * next, and transfers that are told of at a time, or a step's more. */
#define COUNTS_BATCH     1024u
#define COUNTS_PAST      (COUNTS_RECENT + 2 * COUNTS_BATCH)
#define COUNTS_TRANSFERS 256u

static inline struct bt_block counts_plain(const struct bt_block *b)
{
    return (struct bt_block){b->first, b->extent, b->info & ~COUNTS_MARKS};
}

static inline uint64_t counts_rest(const struct bt_block *b)
{
    return (uint64_t)b->info << 32 | b->extent;
}

static inline size_t counts_place(unsigned shift, uint64_t from, const struct bt_block *b)
{
    uint64_t x = b->first ^ counts_rest(b) ^ from << 17;
    return (size_t)(x * 0x9e3779b97f4a7c15u >> shift);
}

static inline bool counts_is(const struct counts_edge *e, uint64_t from, const struct bt_block *b)
{
    return ((e->from ^ from) | (e->block.first ^ b->first) |
            (counts_rest(&e->block) ^ counts_rest(b))) == 0;
}

/* Its entry, or the free one that it would have. */
struct counts_edge *counts_find(const struct counts *c, uint64_t from, const struct bt_block *b);

/* Not at its first place: further on, or new. NULL: there is no room. */
struct counts_edge *counts_search(struct counts *c, uint64_t from, const struct bt_block *b);

/* Where the function begins that holds the address; 0: not known. */
uint64_t counts_function_at(const struct counts *c, uint64_t address);

/* Those that wait are told. */
void counts_tell(struct counts *c);

/* The block is reached by the edge, which may be a transfer; NULL: it found no room. */
void counts_report(struct counts *c, const struct counts_edge *known, const struct bt_block *b);

/* One that is held is an exception that the program sees. */
void counts_exception(struct counts *c);

/* Behind all blocks before it. */
void counts_event(struct counts *c, const struct bt_event *e);

/* So many more blocks may be taken back. */
void counts_open(struct counts *c, size_t count);

#endif
