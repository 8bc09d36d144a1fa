/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/history/history_parts.h"

#include "decoder/base/array.h"
#include "decoder/stream/stream_join.h"
#include "history_internal.h"

#include <stdlib.h>

#define STORE_PIECE (32u << 10)
#define MARKS       7 /* places where states are compared: 1/128 of a window, 1/64, ... 1/2 */

/* State at a place, and what was put out until the next one. */
struct part_mark {
    uint64_t at;      /* byte of the stream */
    size_t gap_count; /* put out before */
    struct history_reach reach;
    struct stream state;
};

struct history_part {
    const struct history *history;
    uint64_t begin, end; /* bytes of the stream */
    uint64_t window_bytes;
    uint32_t generation;
    unsigned mark_count; /* 0: it was not decoded */
    struct part_mark marks[MARKS];
    struct stream last;
    struct bt_event *gaps; /* those that the ledger may want */
    size_t gap_count, gap_max;
    bool failed;
};

struct part_decoder {
    struct code_cache code;
    struct history_part *part; /* that is decoded */
    struct bt_block blocks[SCRATCH_BLOCKS];
    struct bt_event events[SCRATCH_EVENTS];
};

int history_store(struct history *h, const uint8_t *data, size_t len)
{
    while (len > 0) {
        size_t n = len < STORE_PIECE ? len : STORE_PIECE;
        uint64_t pending = history_pending(h), end = history_stored(h);
        int error = BT_OK;
        /* What is not decoded, and the window before it, are never the oldest that go. */
        if (pending && pending + n > h->ring_size / 2)
            error = history_decode(h, end);
        if (!error)
            error = history_ring_put(h, end, data, n);
        if (error)
            return error;
        h->stored_end = end + n;
        data += n;
        len -= n;
    }
    return BT_OK;
}

uint64_t history_stored(const struct history *h)
{
    uint64_t offset = stream_offset(&h->live);
    return h->stored_end > offset ? h->stored_end : offset;
}

uint64_t history_pending(const struct history *h)
{
    return history_stored(h) - stream_offset(&h->live);
}

struct history_part *history_part_new(void)
{
    return calloc(1, sizeof(struct history_part));
}

void history_part_free(struct history_part *p)
{
    if (p)
        free(p->gaps);
    free(p);
}

bool history_cut(const struct history *h, struct history_part *part, uint64_t *begin, uint64_t *end)
{
    uint64_t window = h->window_bytes;
    struct code_key key;
    *begin = *end ? *end : history_next_checkpoint(h);
    if (*begin >= h->stored_end || !stream_can_join(&h->stream))
        return false;
    *end = h->stored_end - *begin < window ? h->stored_end : *begin + window;
    stream_code_key(&h->live, &key);
    part->history = h;
    part->begin = *begin;
    part->end = *end;
    part->window_bytes = window;
    part->generation = key.generation;
    part->mark_count = 0;
    return true;
}

/* By itself. */

struct part_decoder *part_decoder_new(const struct history *h)
{
    struct part_decoder *d = calloc(1, sizeof *d);
    struct code_options options;
    if (!d)
        return NULL;
    stream_code_options(&h->stream, &options);
    code_cache_init(&d->code, h->code.image, &options);
    return d;
}

void part_decoder_free(struct part_decoder *d)
{
    if (d)
        code_cache_release(&d->code);
    free(d);
}

static bool keep_gap(struct history_part *p, const struct bt_event *e)
{
    if (!array_room(&p->gaps, p->gap_count, &p->gap_max, sizeof *p->gaps))
        return false;
    p->gaps[p->gap_count++] = *e;
    return true;
}

/* Before the first mark nobody wants it. */
static void flush_part(void *ctx, struct flow_out *out)
{
    struct history_part *p = ((struct part_decoder *)ctx)->part;
    for (size_t i = 0; i < out->event_count && p->mark_count; i++)
        if (gap_ledger_wants(&out->events[i]) && !keep_gap(p, &out->events[i]))
            p->failed = true;
    if (p->mark_count)
        history_reach_add(&p->marks[p->mark_count - 1].reach, out);
    out->block_count = 0;
    out->event_count = 0;
}

static void feed_part(struct part_decoder *d, struct stream *s, uint64_t end,
                      struct stream_sink *sink)
{
    const struct history *h = d->part->history;
    while (stream_offset(s) < end) {
        size_t at = stream_offset(s) & (h->ring_size - 1), room = h->ring_size - at;
        uint64_t left = end - stream_offset(s);
        stream_feed(s, h->ring + at, left < room ? (size_t)left : room, sink);
    }
    flush_part(d, &sink->out);
}

void part_decode(struct part_decoder *d, struct history_part *p)
{
    struct stream_config config = p->history->stream;
    struct stream_sink sink = {.out = {.blocks = d->blocks,
                                       .events = d->events,
                                       .block_max = SCRATCH_BLOCKS,
                                       .event_max = SCRATCH_EVENTS},
                               .flush = flush_part,
                               .ctx = d};
    struct stream s;
    d->part = p;
    p->gap_count = 0;
    p->failed = false;
    config.generation = p->generation;
    stream_init(&s, &config, &d->code);
    stream_start_at(&s, p->begin);
    for (unsigned i = MARKS; i > 0 && p->begin + (p->window_bytes >> i) < p->end; i--) {
        struct part_mark *m = &p->marks[p->mark_count];
        feed_part(d, &s, p->begin + (p->window_bytes >> i), &sink);
        m->at = stream_offset(&s);
        m->gap_count = p->gap_count;
        m->reach = history_reach_none;
        stream_save(&s, &m->state);
        p->mark_count++;
    }
    feed_part(d, &s, p->end, &sink);
    stream_save(&s, &p->last);
    if (p->failed)
        p->mark_count = 0;
}

/* Joined. */

static void take_part(struct history *h, const struct history_part *p, unsigned mark)
{
    const struct part_mark *m = &p->marks[mark];
    uint64_t moved = stream_instructions(&h->live) - stream_instructions(&m->state);
    for (unsigned i = mark; i < p->mark_count; i++)
        history_reach_join(&h->checkpoints[h->checkpoint_count - 1].reach, &p->marks[i].reach);
    for (size_t i = m->gap_count; i < p->gap_count; i++) {
        struct bt_event e = p->gaps[i];
        e.position += moved;
        gap_ledger_take(&h->gaps, &e);
    }
    stream_take_over(&h->live, &m->state, &p->last);
}

int history_join(struct history *h, struct history_part *p, bool *taken)
{
    *taken = false;
    for (unsigned i = 0; i < p->mark_count; i++) {
        int error = history_decode(h, p->marks[i].at);
        if (error)
            return error;
        if (stream_same(&h->live, &p->marks[i].state, &p->last)) {
            take_part(h, p, i);
            *taken = true;
            return BT_OK;
        }
    }
    return history_decode(h, p->end);
}
