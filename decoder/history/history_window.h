/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the history: decoded windows, packed to 8 bytes a block on 32-bit cores. Blocks of A64
 * cost 24: 8 and the whole block. Counts of cycles that belong to blocks add 4.
 */
#ifndef DECODER_HISTORY_WINDOW_H
#define DECODER_HISTORY_WINDOW_H

#include "decoder/history/history.h"

#define WINDOW_CACHE   4
#define WINDOW_SCRATCH 1024 /* blocks between the decoder and the packed store */

/* `first` has the instruction set in bit 0 (1: T32); see the masks in history_window.c. */
struct packed_block {
    uint32_t first;
    uint32_t rest;
};

/* Blocks of one window. */
struct window_store {
    struct packed_block *blocks;
    uint32_t *cycles;      /* only if some block has a count; as many as blocks */
    uint64_t *numbers;     /* of each WINDOW_STRIDE-th block's first instruction */
    struct bt_block *wide; /* blocks that do not fit in 8 bytes */
    size_t count, max;
    size_t cycles_max;
    size_t number_count, number_max;
    size_t wide_count, wide_max;
};

/* A decoded window and what it was decoded from. */
struct window_slot {
    uint64_t id;         /* number of its checkpoint since the stream began */
    uint64_t end_offset; /* bytes of the stream it was decoded to */
    uint64_t end_marks;
    uint64_t used; /* for eviction: larger is younger */
    uint64_t next; /* number of the next instruction while decoding */
    bool valid;
    int error; /* while decoding */
    struct history_window window;
    struct window_store store;
    struct bt_event *events;
    size_t event_count, event_max;
    struct stream_sink sink;
};

/* What a decode writes to before it is packed; one for all windows of a history. */
struct window_scratch {
    struct bt_block blocks[WINDOW_SCRATCH];
    uint64_t cycles[WINDOW_SCRATCH];
    struct bt_event events[WINDOW_SCRATCH / 4];
    bool counted; /* blocks may have counts of cycles */
};

/* Empties the slot and makes its sink ready; `first`: number of the first instruction. */
void window_slot_begin(struct window_slot *slot, struct window_scratch *scratch, uint64_t first);

/* Takes what the sink still holds. Returns slot->error. */
int window_slot_end(struct window_slot *slot);

void window_slot_release(struct window_slot *slot);
static inline size_t window_slot_memory(const struct window_slot *slot)
{
    const struct window_store *s = &slot->store;
    return s->max * sizeof *s->blocks + s->cycles_max * sizeof *s->cycles +
           s->number_max * sizeof *s->numbers + s->wide_max * sizeof *s->wide +
           slot->event_max * sizeof *slot->events;
}

#endif
