/* SPDX-License-Identifier: BSD-3-Clause */
#include "history_internal.h"

#include <string.h>

#define READ_PIECE (16u << 10)

/* A contiguous piece of stored bytes at `offset`, at most `len` long;
 * in `buffer` or in the ring. */
static int stored_bytes(struct history *h, uint64_t offset, size_t len, uint8_t *buffer,
                        const uint8_t **out, size_t *got)
{
    if (h->config.read) {
        *got = len < READ_PIECE ? len : READ_PIECE;
        *out = buffer;
        return h->config.read(h->config.read_ctx, offset, buffer, *got);
    }
    size_t at = offset & (h->ring_size - 1);
    *got = len < h->ring_size - at ? len : h->ring_size - at;
    *out = h->ring + at;
    return BT_OK;
}

int history_decode_stored(struct history *h, struct stream *s, uint64_t end,
                          struct stream_sink *sink)
{
    uint8_t buffer[READ_PIECE];
    while (stream_offset(s) < end) {
        uint64_t offset = stream_offset(s);
        const uint8_t *data;
        size_t got;
        int error = stored_bytes(h, offset, (size_t)(end - offset), buffer, &data, &got);
        if (error)
            return error;
        stream_feed(s, data, got, sink);
    }
    return BT_OK;
}

void history_apply_mark(struct stream *s, const struct mark *mark, struct stream_sink *sink)
{
    if (mark->cause == MARK_GENERATION)
        stream_set_generation(s, (uint32_t)mark->bytes, sink);
    else
        stream_gap(s, (enum bt_gap_cause)mark->cause, mark->bytes, sink);
}

/* Where window `index` ends as of now. */
struct window_end {
    uint64_t offset;
    uint64_t marks;
    bool last;
};

static struct window_end window_end(const struct history *h, size_t index)
{
    if (index + 1 == h->checkpoint_count)
        return (struct window_end){stream_offset(&h->live), h->mark_base + h->mark_count, true};
    const struct checkpoint *next = &h->checkpoints[index + 1];
    return (struct window_end){next->offset, next->marks, false};
}

/* Bytes and marks of window `index` through a decoder that stands at its begin. */
static int decode_through(struct history *h, size_t index, struct stream *s,
                          struct stream_sink *sink)
{
    struct window_end end = window_end(h, index);
    for (uint64_t m = h->checkpoints[index].marks; m < end.marks; m++) {
        const struct mark *mark = &h->marks[m - h->mark_base];
        int error = history_decode_stored(h, s, mark->offset, sink);
        if (error)
            return error;
        history_apply_mark(s, mark, sink);
    }
    int error = history_decode_stored(h, s, end.offset, sink);
    if (!error && !end.last)
        history_states_met(&h->states, index + 1, s);
    return error;
}

static void drop_output(void *ctx, struct flow_out *out)
{
    (void)ctx;
    out->block_count = 0;
    out->event_count = 0;
}

/* A decoder at the begin of window `index`: from the nearest state before it, without keeping
 * what comes out on the way. */
static int decode_up_to(struct history *h, size_t index, struct stream *s)
{
    struct stream saved;
    struct stream_sink sink = {.out = {.blocks = h->scratch.blocks,
                                       .events = h->scratch.events,
                                       .block_max = WINDOW_SCRATCH,
                                       .event_max = WINDOW_SCRATCH / 4},
                               .flush = drop_output};
    int error = BT_OK;
    size_t at = history_states_before(&h->states, index, &saved);
    stream_resume(s, &saved, &h->code);
    for (; at < index && !error; at++)
        error = decode_through(h, at, s, &sink);
    return error;
}

static int decode_window(struct history *h, size_t index, struct window_slot *slot)
{
    struct stream s;
    int error = decode_up_to(h, index, &s);
    if (error)
        return error;
    window_slot_begin(slot, &h->scratch, h->checkpoints[index].instructions);
    stream_code_key(&s, &slot->window.key);
    error = decode_through(h, index, &s, &slot->sink);
    if (error)
        return error;
    if (h->finished && index + 1 == h->checkpoint_count)
        stream_finish(&s, &slot->sink); /* what was pending has been put out then, too */
    return window_slot_end(slot);
}

/*
 * Who walks backwards meets the end of the span before next. It is decoded up to there in equal
 * parts, one for each window of this span that is still to come:
 * nobody waits for all of it. */
static void walk_ahead(struct history *h, size_t index)
{
    size_t spacing = h->states.spacing, behind = index % spacing, first = index - behind;
    if (spacing == 1 || first == 0)
        return;
    size_t at = history_states_before(&h->states, first - 1, NULL);
    size_t part = (first - 1 - at + behind) / (behind + 1);
    struct stream s;
    if (part)
        decode_up_to(h, at + part, &s); /* an error comes again when the window is wanted */
}

/* The slot of checkpoint number `id` decoded to the given end, or the one to be used for it. */
static struct window_slot *choose_slot(struct history *h, uint64_t id, const struct window_end *end)
{
    struct window_slot *oldest = &h->windows[0];
    for (size_t i = 0; i < WINDOW_CACHE; i++) {
        struct window_slot *slot = &h->windows[i];
        if (slot->valid && slot->id == id && slot->end_offset == end->offset &&
            slot->end_marks == end->marks)
            return slot;
        if (slot->used < oldest->used)
            oldest = slot;
    }
    oldest->valid = false;
    oldest->id = id;
    oldest->end_offset = end->offset;
    oldest->end_marks = end->marks;
    return oldest;
}

size_t history_window_count(const struct history *h)
{
    return h->checkpoint_count;
}

int history_window_index(struct history *h, size_t index, struct history_window *out)
{
    if (index >= h->checkpoint_count)
        return BT_ERR_RANGE;
    struct window_end end = window_end(h, index);
    struct window_slot *slot = choose_slot(h, h->checkpoint_base + index, &end);
    bool backwards = index + 1 == h->looked_at;
    slot->used = ++h->clock;
    h->looked_at = index;
    if (!slot->valid) {
        /* The live decode keeps pointers into the cache that a window's decode may refill. */
        stream_unlink(&h->live);
        int error = decode_window(h, index, slot);
        if (error)
            return error;
        if (backwards)
            walk_ahead(h, index);
    }
    *out = slot->window;
    return BT_OK;
}

size_t history_window_find(const struct history *h, uint64_t number)
{
    size_t low = 0, high = h->checkpoint_count;
    while (high - low > 1) { /* the last checkpoint at or before the instruction */
        size_t mid = low + (high - low) / 2;
        if (h->checkpoints[mid].instructions <= number)
            low = mid;
        else
            high = mid;
    }
    return low;
}

int history_window(struct history *h, uint64_t number, struct history_window *out)
{
    if (number < history_first(h) || number > history_end(h) || h->checkpoint_count == 0)
        return BT_ERR_RANGE;
    return history_window_index(h, history_window_find(h, number), out);
}
