/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the history: states of the decoder at the begin of its windows. That of every
 * `spacing`-th window is kept; when there are more than the limit, every second one goes. A window
 * between two of them is decoded to from the one before. What lies between is a span: what was met
 * on the way through the latest spans is kept, too, so that a walk backwards goes through each
 * once. */
#ifndef DECODER_HISTORY_STATES_H
#define DECODER_HISTORY_STATES_H

#include "decoder/stream/stream.h"

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

/* State at the begin of `window`, the first one behind those that were added. BT_ERR_NOMEM. */
int history_states_add(struct history_states *st, size_t window, const struct stream *s);

/* A copy for stream_resume() of the nearest state at or before `window`, which was added. Returns
 * the number of the window that it belongs to. `out` NULL: only that. */
size_t history_states_before(struct history_states *st, size_t window, struct stream *out);

/* The decoder came by the begin of `window`, which was added, on its way from the one before. */
void history_states_met(struct history_states *st, size_t window, const struct stream *s);

/* The oldest windows go; only where all states are kept. */
void history_states_drop(struct history_states *st, size_t windows);

/* All but the oldest window go. */
void history_states_cut(struct history_states *st);

/* Windows 0 and 1 are window 0 now, 2 and 3 window 1 ... */
void history_states_pair(struct history_states *st);

/* Bytes of memory in use. */
size_t history_states_memory(const struct history_states *st);

#endif
