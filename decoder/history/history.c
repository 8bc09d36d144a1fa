/* SPDX-License-Identifier: BSD-3-Clause */
#include "history_internal.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_CHECKPOINT_BYTES (64u << 10)
#define DEFAULT_MAX_CHECKPOINTS  65536
#define DEFAULT_MAX_STATES       512
#define DEFAULT_MAX_BYTES        (64u << 20)
#define DEFAULT_MAX_GAPS         4096
#define RING_MIN                 (64u << 10)

static void flush_live(void *ctx, struct flow_out *out)
{
    struct history *h = ctx;
    for (size_t i = 0; i < out->event_count; i++)
        gap_ledger_take(&h->gaps, &out->events[i]);
    out->block_count = 0;
    out->event_count = 0;
}

size_t history_gaps(const struct history *h, const struct gap_entry **out)
{
    *out = h->gaps.entries;
    return h->gaps.count;
}

uint64_t history_gap_count(const struct history *h, enum bt_gap_cause cause)
{
    return (unsigned)cause < BT_GAP_CAUSES ? h->gaps.totals[cause] : 0;
}

static void drop_oldest(struct history *h, size_t count)
{
    memmove(h->checkpoints, h->checkpoints + count,
            (h->checkpoint_count - count) * sizeof *h->checkpoints);
    history_states_drop(&h->states, count);
    h->checkpoint_count -= count;
    h->checkpoint_base += count;
    uint64_t first = h->checkpoint_count ? h->checkpoints[0].marks : h->mark_base + h->mark_count;
    size_t old = (size_t)(first - h->mark_base);
    if (old == 0)
        return;
    memmove(h->marks, h->marks + old, (h->mark_count - old) * sizeof *h->marks);
    h->mark_count -= old;
    h->mark_base = first;
}

static bool grow_checkpoints(struct history *h)
{
    size_t max = h->checkpoint_max ? h->checkpoint_max * 2 : 64;
    if (max > h->config.max_checkpoints)
        max = h->config.max_checkpoints;
    struct checkpoint *checkpoints = realloc(h->checkpoints, max * sizeof *checkpoints);
    if (!checkpoints)
        return false;
    h->checkpoints = checkpoints;
    h->checkpoint_max = max;
    return true;
}

static void forget_windows(struct history *h)
{
    for (size_t i = 0; i < WINDOW_CACHE; i++)
        h->windows[i].valid = false;
}

/* Half as many windows, twice as long: nothing is lost. */
static void pair_windows(struct history *h)
{
    h->checkpoint_count = (h->checkpoint_count + 1) / 2;
    for (size_t i = 1; i < h->checkpoint_count; i++)
        h->checkpoints[i] = h->checkpoints[2 * i];
    h->window_bytes *= 2;
    history_states_pair(&h->states);
    forget_windows(h);
}

static uint64_t next_checkpoint(const struct history *h)
{
    if (h->checkpoint_count == 0)
        return stream_offset(&h->live);
    return h->checkpoints[h->checkpoint_count - 1].offset + h->window_bytes;
}

static int add_checkpoint(struct history *h)
{
    bool full = h->checkpoint_count == h->config.max_checkpoints;
    if (full && h->config.read)
        pair_windows(h);
    else if (full)
        drop_oldest(h, 1 + h->checkpoint_count / 16);
    if (stream_offset(&h->live) < next_checkpoint(h))
        return BT_OK; /* the last one had none to pair with: it goes on */
    if (h->checkpoint_count == h->checkpoint_max && !grow_checkpoints(h))
        return BT_ERR_NOMEM;
    int error = history_states_add(&h->states, h->checkpoint_count, &h->live);
    if (error)
        return error;
    struct checkpoint *c = &h->checkpoints[h->checkpoint_count++];
    c->offset = stream_offset(&h->live);
    c->marks = h->mark_base + h->mark_count;
    c->instructions = stream_instructions(&h->live);
    return BT_OK;
}

/* Stored bytes. */

static bool ring_grow(struct history *h, uint64_t held)
{
    size_t size = h->ring_size ? h->ring_size * 2 : RING_MIN;
    uint8_t *grown = malloc(size);
    if (!grown)
        return false;
    for (uint64_t at = h->ring_tail; at < h->ring_tail + held; at++)
        grown[at & (size - 1)] = h->ring[at & (h->ring_size - 1)];
    free(h->ring);
    h->ring = grown;
    h->ring_size = size;
    return true;
}

/* Room for `len` bytes at `offset`: the ring grows to its bound, then the oldest go. */
static int ring_reserve(struct history *h, uint64_t offset, size_t len)
{
    while (offset - h->ring_tail + len > h->ring_size && h->ring_size < h->config.max_bytes)
        if (!ring_grow(h, offset - h->ring_tail))
            break;
    if (len > h->ring_size)
        return BT_ERR_NOMEM;
    size_t drop = 0;
    if (offset - h->ring_tail + len > h->ring_size) {
        h->ring_tail = offset + len - h->ring_size;
        while (drop < h->checkpoint_count && h->checkpoints[drop].offset < h->ring_tail)
            drop++;
    }
    if (drop)
        drop_oldest(h, drop);
    return BT_OK;
}

static void ring_write(struct history *h, uint64_t offset, const uint8_t *data, size_t len)
{
    size_t at = offset & (h->ring_size - 1);
    size_t first = len < h->ring_size - at ? len : h->ring_size - at;
    memcpy(h->ring + at, data, first);
    memcpy(h->ring, data + first, len - first);
}

static size_t or_default(size_t value, size_t otherwise)
{
    return value ? value : otherwise;
}

int history_new(const struct history_config *config, const struct stream_config *stream,
                const struct code_image *image, struct history **out)
{
    struct history *h = calloc(1, sizeof *h);
    struct code_options options;
    *out = NULL;
    if (!h)
        return BT_ERR_NOMEM;
    h->config = *config;
    h->config.checkpoint_bytes = or_default(config->checkpoint_bytes, DEFAULT_CHECKPOINT_BYTES);
    h->config.max_checkpoints = or_default(config->max_checkpoints, DEFAULT_MAX_CHECKPOINTS);
    h->config.max_states = or_default(config->max_states, DEFAULT_MAX_STATES);
    h->config.max_gaps = or_default(config->max_gaps, DEFAULT_MAX_GAPS);
    h->config.max_bytes = or_default(config->max_bytes, DEFAULT_MAX_BYTES);
    while (h->config.max_bytes & (h->config.max_bytes - 1)) /* the ring is a power of two */
        h->config.max_bytes &= h->config.max_bytes - 1;
    if (h->config.max_bytes < RING_MIN ||
        (!config->read && h->config.checkpoint_bytes > h->config.max_bytes / 2)) {
        free(h);
        return BT_ERR_INVAL;
    }
    gap_ledger_init(&h->gaps, h->config.max_gaps);
    stream_code_options(stream, &options);
    code_cache_init(&h->code, image, &options);
    stream_init(&h->live, stream, &h->code);
    h->scratch.counted = stream_counts_blocks(stream);
    h->window_bytes = h->config.checkpoint_bytes;
    history_states_init(&h->states, stream_state_size(stream),
                        config->read ? h->config.max_states : h->config.max_checkpoints);
    h->sink.out = (struct flow_out){.blocks = h->scratch_blocks,
                                    .events = h->scratch_events,
                                    .block_max = SCRATCH_BLOCKS,
                                    .event_max = SCRATCH_EVENTS};
    h->sink.flush = flush_live;
    h->sink.ctx = h;
    *out = h;
    return BT_OK;
}

void history_free(struct history *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < WINDOW_CACHE; i++)
        window_slot_release(&h->windows[i]);
    code_cache_release(&h->code);
    free(h->ring);
    free(h->checkpoints);
    free(h->marks);
    history_states_release(&h->states);
    gap_ledger_release(&h->gaps);
    free(h);
}

static int append_piece(struct history *h, const uint8_t *data, size_t len)
{
    uint64_t offset = stream_offset(&h->live);
    if (!h->config.read) {
        int error = ring_reserve(h, offset, len);
        if (error)
            return error;
        ring_write(h, offset, data, len);
    }
    stream_feed(&h->live, data, len, &h->sink);
    flush_live(h, &h->sink.out);
    return BT_OK;
}

int history_append(struct history *h, const uint8_t *data, size_t len)
{
    while (len > 0) {
        uint64_t offset = stream_offset(&h->live);
        if (offset >= next_checkpoint(h)) {
            int error = add_checkpoint(h);
            if (error)
                return error;
        }
        uint64_t room = next_checkpoint(h) - offset;
        size_t piece = len < room ? len : (size_t)room;
        int error = append_piece(h, data, piece);
        if (error)
            return error;
        data += piece;
        len -= piece;
    }
    return BT_OK;
}

static int add_mark(struct history *h, const struct mark *mark)
{
    if (h->checkpoint_count == 0) {
        int error = add_checkpoint(h);
        if (error)
            return error;
    }
    if (h->mark_count == h->mark_max) {
        size_t max = h->mark_max ? h->mark_max * 2 : 64;
        struct mark *grown = realloc(h->marks, max * sizeof *grown);
        if (!grown)
            return BT_ERR_NOMEM;
        h->marks = grown;
        h->mark_max = max;
    }
    h->marks[h->mark_count++] = *mark;
    return BT_OK;
}

int history_gap(struct history *h, enum bt_gap_cause cause, uint64_t bytes)
{
    const struct mark mark = {stream_offset(&h->live), bytes, cause};
    struct mark *last = h->mark_count ? &h->marks[h->mark_count - 1] : NULL;
    if (last && last->offset == mark.offset && last->cause == mark.cause) {
        last->bytes += bytes;
    } else {
        int error = add_mark(h, &mark);
        if (error)
            return error;
    }
    history_apply_mark(&h->live, &mark, &h->sink);
    flush_live(h, &h->sink.out);
    return BT_OK;
}

int history_set_generation(struct history *h, uint32_t generation)
{
    const struct mark mark = {stream_offset(&h->live), generation, MARK_GENERATION};
    int error = add_mark(h, &mark);
    if (error)
        return error;
    history_apply_mark(&h->live, &mark, &h->sink);
    flush_live(h, &h->sink.out);
    return BT_OK;
}

void history_finish(struct history *h)
{
    stream_finish(&h->live, &h->sink);
    flush_live(h, &h->sink.out);
    h->finished = true;
    forget_windows(h); /* the last one may have become longer */
}

uint64_t history_first(const struct history *h)
{
    return h->checkpoint_count ? h->checkpoints[0].instructions : stream_instructions(&h->live);
}

uint64_t history_end(const struct history *h)
{
    return stream_instructions(&h->live);
}

uint64_t history_bytes(const struct history *h)
{
    return stream_offset(&h->live);
}

uint64_t history_packets(const struct history *h)
{
    return h->live.packets;
}

uint64_t history_skipped(const struct history *h)
{
    return h->live.skipped;
}

uint64_t history_blocks(const struct history *h)
{
    return stream_blocks(&h->live);
}

bool history_position(const struct history *h, uint64_t *address, enum bt_isa *isa)
{
    return stream_position(&h->live, address, isa);
}

static void no_flush(void *ctx, struct flow_out *out)
{
    *(bool *)ctx = true;
    out->block_count = 0;
    out->event_count = 0;
}

static bool is_loss(const struct bt_event *e)
{
    return e->kind == BT_EVENT_GAP || e->kind == BT_EVENT_TRACE_ON;
}

/* What would come out if the stream ended here. */
void history_tail(struct history *h, struct history_tail *out)
{
    struct bt_block blocks[HISTORY_TAIL_MAX + FLOW_SLACK];
    struct bt_event events[2 * FLOW_SLACK];
    struct stream saved, s;
    bool too_much = false;
    struct stream_sink sink = {.out = {.blocks = blocks,
                                       .events = events,
                                       .block_max = HISTORY_TAIL_MAX + FLOW_SLACK,
                                       .event_max = 2 * FLOW_SLACK},
                               .flush = no_flush,
                               .ctx = &too_much};
    memset(out, 0, sizeof *out);
    stream_save(&h->live, &saved);
    stream_resume(&s, &saved, &h->code);
    stream_finish(&s, &sink);
    for (size_t i = 0; i < sink.out.event_count; i++)
        too_much |= is_loss(&events[i]);
    if (too_much || sink.out.block_count > HISTORY_TAIL_MAX)
        return;
    out->known = stream_position(&s, &out->address, &out->isa);
    out->count = out->known ? sink.out.block_count : 0;
    for (size_t i = 0; i < out->count; i++) {
        out->blocks[i] = blocks[i];
        out->instructions += bt_block_count(&blocks[i]);
    }
}

size_t history_memory(const struct history *h)
{
    size_t n = sizeof *h + h->checkpoint_max * sizeof *h->checkpoints +
               history_states_memory(&h->states) + h->mark_max * sizeof *h->marks +
               h->gaps.max * sizeof *h->gaps.entries +
               h->code.chunk_count * CODE_RANGE_CHUNK * sizeof(struct code_range);
    if (!h->config.read)
        n += h->ring_size;
    for (size_t i = 0; i < WINDOW_CACHE; i++)
        n += window_slot_memory(&h->windows[i]);
    return n;
}

/* Stored bytes up to `end` through the live decoder, with checkpoints as on the first way. */
static int append_stored(struct history *h, uint64_t end)
{
    while (stream_offset(&h->live) < end) {
        if (stream_offset(&h->live) >= next_checkpoint(h)) {
            int error = add_checkpoint(h);
            if (error)
                return error;
        }
        uint64_t to = next_checkpoint(h) < end ? next_checkpoint(h) : end;
        int error = history_decode_stored(h, &h->live, to, &h->sink);
        flush_live(h, &h->sink.out);
        if (error)
            return error;
    }
    return BT_OK;
}

int history_again(struct history *h)
{
    struct stream saved;
    if (h->checkpoint_count == 0)
        return BT_OK;
    uint64_t end = stream_offset(&h->live);
    size_t mark_count = h->mark_count;
    history_states_before(&h->states, 0, &saved);
    stream_resume(&h->live, &saved, &h->code);
    gap_ledger_forget(&h->gaps, h->checkpoints[0].offset);
    h->checkpoint_count = 1;
    history_states_cut(&h->states);
    forget_windows(h);
    /* Checkpoints count the marks that come before them. */
    int error = BT_OK;
    h->mark_count = 0;
    while (h->mark_count < mark_count && !error) {
        const struct mark *mark = &h->marks[h->mark_count];
        bool before = h->mark_base + h->mark_count < h->checkpoints[0].marks;
        if (!before)
            error = append_stored(h, mark->offset);
        h->mark_count++;
        if (!before && !error)
            history_apply_mark(&h->live, mark, &h->sink);
    }
    h->mark_count = mark_count;
    if (!error)
        error = append_stored(h, end);
    if (!error && h->finished)
        history_finish(h);
    return error;
}
