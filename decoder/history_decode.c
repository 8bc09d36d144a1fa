/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/history_internal.h"

#include <string.h>

#define READ_PIECE (16u << 10)

/* A contiguous piece of stored bytes at `offset`, at most `len` long; in `buffer` or in the ring.
 */
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
        stream_set_generation(s, (uint32_t)mark->bytes);
    else
        stream_gap(s, (enum bt_gap_cause)mark->cause, mark->bytes, sink);
}

static int decode_window(struct history *h, const struct checkpoint *c, struct window_slot *slot)
{
    struct stream s;
    int error;
    window_slot_begin(slot, &h->scratch, c->instructions);
    struct stream saved;
    memset(&saved, 0, sizeof saved);
    memcpy(&saved, h->states + (size_t)(c - h->checkpoints) * h->state_size, h->state_size);
    stream_resume(&s, &saved, &h->code);
    stream_code_key(&s, &slot->window.key);
    for (uint64_t m = c->marks; m < slot->end_marks; m++) {
        const struct mark *mark = &h->marks[m - h->mark_base];
        error = history_decode_stored(h, &s, mark->offset, &slot->sink);
        if (error)
            return error;
        history_apply_mark(&s, mark, &slot->sink);
    }
    error = history_decode_stored(h, &s, slot->end_offset, &slot->sink);
    if (error)
        return error;
    if (h->finished && slot->id + 1 == h->checkpoint_base + h->checkpoint_count)
        stream_finish(&s, &slot->sink); /* what was held back has been put out then, too */
    return window_slot_end(slot);
}

/* The slot of checkpoint number `id` decoded to the given end, or the one to be used for it. */
static struct window_slot *choose_slot(struct history *h, uint64_t id, uint64_t end_offset,
                                       uint64_t end_marks)
{
    struct window_slot *oldest = &h->windows[0];
    for (size_t i = 0; i < WINDOW_CACHE; i++) {
        struct window_slot *slot = &h->windows[i];
        if (slot->valid && slot->id == id && slot->end_offset == end_offset &&
            slot->end_marks == end_marks)
            return slot;
        if (slot->used < oldest->used)
            oldest = slot;
    }
    oldest->valid = false;
    oldest->id = id;
    oldest->end_offset = end_offset;
    oldest->end_marks = end_marks;
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
    const struct checkpoint *c = &h->checkpoints[index];
    bool last = index + 1 == h->checkpoint_count;
    uint64_t end_offset = last ? stream_offset(&h->live) : c[1].offset;
    uint64_t end_marks = last ? h->mark_base + h->mark_count : c[1].marks;
    struct window_slot *slot = choose_slot(h, h->checkpoint_base + index, end_offset, end_marks);
    slot->used = ++h->clock;
    if (!slot->valid) {
        /* The live decode keeps pointers into the cache that a window's decode may refill. */
        stream_unlink(&h->live);
        int error = decode_window(h, c, slot);
        if (error)
            return error;
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
