/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the history: what it is made of. */
#ifndef DECODER_HISTORY_INTERNAL_H
#define DECODER_HISTORY_INTERNAL_H

#include "history_window.h"

/*
 * States of the decoder at the begin of its windows. That of every `spacing`-th window is kept;
 * when there are more than the limit, every second one goes. A window between two of them is
 * decoded to from the one before. What lies between is a span: what was met on the way through the
 * latest spans is kept, too, so that a walk backwards goes through each once.
 */
#define STATE_SPANS 2 /* a walk to and fro over the border of two goes through neither again */

struct state_span {
    size_t first;    /* its window with a kept state */
    size_t count;    /* states of the windows behind that, without a hole */
    size_t max;      /* room in `states` */
    uint8_t *states; /* as history_states.kept */
    uint64_t used;   /* larger is younger */
};

struct history_states {
    uint8_t *kept; /* `size` bytes each: of the windows 0, spacing, 2 * spacing ... */
    size_t size;   /* stream_state_size() */
    size_t count;
    size_t max;     /* room in `kept` */
    size_t limit;   /* of `count` */
    size_t spacing; /* in windows: a power of two */
    uint64_t clock;
    struct state_span spans[STATE_SPANS];
};

void history_states_init(struct history_states *st, size_t size, size_t limit);
void history_states_release(struct history_states *st);

/* The decoder came by the begin of `window`, which was added, on its way from the one before.
 * Without memory that is not kept: the way there is longer then, that is all. */
void history_states_met(struct history_states *st, size_t window, const struct stream *s);

/* A copy for stream_resume() of the nearest state at or before `window`, which was added. Returns
 * the number of the window that it belongs to. `out` NULL: only that. */
size_t history_states_before(struct history_states *st, size_t window, struct stream *out);

/* State at the begin of `window`, the first one behind those that were added. BT_ERR_NOMEM. */
int history_states_add(struct history_states *st, size_t window, const struct stream *s);

/* The oldest windows go; only where all states are kept. */
void history_states_drop(struct history_states *st, size_t windows);

/* All but the oldest window go. */
void history_states_cut(struct history_states *st);

/* Windows 0 and 1 are window 0 now, 2 and 3 window 1 ... */
void history_states_pair(struct history_states *st);

/* Bytes of memory in use. */
size_t history_states_memory(const struct history_states *st);

#define SCRATCH_BLOCKS 1024
#define SCRATCH_EVENTS 256

/* A window begins before the byte at `offset`. */
struct checkpoint {
    uint64_t offset;
    uint64_t marks; /* marks applied so far */
    uint64_t instructions;
    struct history_reach reach;
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
    struct stream_config stream;
    uint8_t *ring; /* power of two, holds [ring_tail, offset) and what is not decoded yet */
    size_t ring_size;
    uint64_t ring_tail;
    uint64_t stored_end;            /* of history_store(); past: there is nothing of it left */
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
    bool finished, traces_context;
    uint64_t clock;   /* for the window cache */
    size_t looked_at; /* the window that was wanted last */
    struct window_slot windows[WINDOW_CACHE];
    struct window_scratch scratch;
};

static const struct history_reach history_reach_none = {.low = UINT64_MAX};
void history_reach_add(struct history_reach *r, const struct flow_out *out);
void history_reach_join(struct history_reach *r, const struct history_reach *other);

/* Where the next window begins. */
uint64_t history_next_checkpoint(const struct history *h);

/* The next bytes, at `offset` of the stream. BT_ERR_NOMEM. */
int history_ring_put(struct history *h, uint64_t offset, const uint8_t *data, size_t len);

#endif
