/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the history: history.c writes it, history_decode.c decodes windows of it again. */
#ifndef DECODER_HISTORY_INTERNAL_H
#define DECODER_HISTORY_INTERNAL_H

#include "history_states.h"
#include "history_window.h"

#define SCRATCH_BLOCKS 1024
#define SCRATCH_EVENTS 256

/* A window begins before the byte at `offset`. */
struct checkpoint {
    uint64_t offset;
    uint64_t marks; /* marks applied so far */
    uint64_t instructions;
};

/* Before the byte at `offset` bytes are missing, or another generation of the image begins. */
struct mark {
    uint64_t offset;
    uint64_t bytes; /* MARK_GENERATION: its number */
    unsigned cause; /* enum bt_gap_cause */
};

#define MARK_GENERATION BT_GAP_CAUSES

struct history {
    struct history_config config;
    struct code_cache code;
    struct stream live;
    struct stream_sink sink; /* of the live decode: blocks are counted and dropped */
    struct bt_block scratch_blocks[SCRATCH_BLOCKS];
    struct bt_event scratch_events[SCRATCH_EVENTS];
    uint8_t *ring; /* power of two, holds [ring_tail, offset) */
    size_t ring_size;
    uint64_t ring_tail;
    struct checkpoint *checkpoints; /* [0, checkpoint_count): oldest first */
    size_t checkpoint_count;
    size_t checkpoint_max;
    uint64_t window_bytes;    /* from one to the next */
    uint64_t checkpoint_base; /* number of checkpoints[0] since the stream began */
    struct history_states states;
    struct mark *marks;
    size_t mark_count;
    size_t mark_max;
    uint64_t mark_base;
    struct gap_ledger gaps;
    bool finished;
    uint64_t clock;   /* for the window cache */
    size_t looked_at; /* the window that was wanted last */
    struct window_slot windows[WINDOW_CACHE];
    struct window_scratch scratch;
};

/*
 * Stored bytes through a decoder, from where it is up to `end`. 0, or what the configuration's
 * `read` returned.
 */
int history_decode_stored(struct history *h, struct stream *s, uint64_t end,
                          struct stream_sink *sink);

/* What `mark` says happens to a decoder. */
void history_apply_mark(struct stream *s, const struct mark *mark, struct stream_sink *sink);

#endif
