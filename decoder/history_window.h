/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the history: a window's arrays while it is decoded, and the few that are kept. */
#ifndef DECODER_HISTORY_WINDOW_H
#define DECODER_HISTORY_WINDOW_H

#include "decoder/history.h"

#define WINDOW_CACHE 4

/* A decoded window and what it was decoded from. */
struct window_slot {
    uint64_t id;         /* number of its checkpoint since the stream began */
    uint64_t end_offset; /* bytes of the stream it was decoded to */
    uint64_t end_marks;
    uint64_t used; /* for eviction: larger is younger */
    bool valid;
    int error; /* while decoding */
    struct history_window window;
    struct bt_block *blocks;
    uint64_t *numbers;
    uint64_t *cycles;
    struct bt_event *events;
    size_t block_max;
    size_t event_max;
    struct stream_sink sink;
};

/* Empties the slot and makes its sink ready; `first`: number of the first instruction. */
int window_slot_begin(struct window_slot *slot, uint64_t first);

/* Takes what the sink still holds and numbers the blocks. Returns slot->error. */
int window_slot_end(struct window_slot *slot);

void window_slot_release(struct window_slot *slot);
size_t window_slot_memory(const struct window_slot *slot);

#endif
