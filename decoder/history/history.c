/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/base/array.h"
#include "decoder/base/search.h"
#include "decoder/history/history_parts.h"
#include "history_internal.h"

#include <stdlib.h>
#include <string.h>

#define READ_PIECE               (16u << 10)
#define DEFAULT_CHECKPOINT_BYTES (64u << 10)
#define DEFAULT_MAX_CHECKPOINTS  65536
#define DEFAULT_MAX_STATES       512
#define DEFAULT_MAX_BYTES        (64u << 20)
#define DEFAULT_MAX_GAPS         4096
#define RING_MIN                 (64u << 10)

uint64_t history_first(const struct history *h)
{
    return h->checkpoint_count ? h->checkpoints[0].instructions : stream_instructions(&h->live);
}

uint64_t history_end(const struct history *h)
{
    return stream_instructions(&h->live);
}

bool history_has_all_conditions(const struct history *h)
{
    return stream_facts(&h->live).all_conditions;
}

bool history_traces_context(const struct history *h)
{
    return h->traces_context;
}

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

/*
 * Stored bytes through a decoder, from where it is up to `end`. 0, or what the configuration's
 * `read` returned.
 */
static int decode_stored(struct history *h, struct stream *s, uint64_t end,
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

/* What `mark` says happens to a decoder. */
static void apply_mark(struct stream *s, const struct mark *mark, struct stream_sink *sink)
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
        int error = decode_stored(h, s, mark->offset, sink);
        if (error)
            return error;
        apply_mark(s, mark, sink);
    }
    int error = decode_stored(h, s, end.offset, sink);
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
    size_t low; /* the last checkpoint at or before the instruction */
    SEARCH_LAST(low, h->checkpoint_count, h->checkpoints[low].instructions <= number);
    return low;
}

int history_window(struct history *h, uint64_t number, struct history_window *out)
{
    if (number < history_first(h) || number > history_end(h) || h->checkpoint_count == 0)
        return BT_ERR_RANGE;
    return history_window_index(h, history_window_find(h, number), out);
}

static bool event_is_loud(const struct bt_event *e)
{
    const unsigned loud = 1u << BT_EVENT_TRACE_ON | 1u << BT_EVENT_GAP | 1u << BT_EVENT_EXCEPTION |
                          1u << BT_EVENT_EXCEPTION_RET | 1u << BT_EVENT_CONTEXT |
                          1u << BT_EVENT_VMID | 1u << BT_EVENT_STATE;
    return loud >> e->kind & 1;
}

#define REACH_RUN 32u                 /* blocks that are looked at together */
#define REACH_MAX (UINT64_C(1) << 62) /* differences below it have not wrapped */

/* What REACH_RUN blocks that add nothing are within. */
struct reach_known {
    uint64_t low, high; /* less than REACH_MAX apart */
    uint64_t isa, mask; /* instruction set, and what of it is looked at */
};

#ifdef __x86_64__
#define HAS_AVX2 (__builtin_cpu_supports("avx2") != 0)
typedef uint64_t block_pair __attribute__((vector_size(32), aligned(8), may_alias));

static __attribute__((target("avx2"))) bool reach_has_run(const struct reach_known *k,
                                                          const struct bt_block *blocks)
{
    const block_pair *b = (const block_pair *)blocks;
    block_pair far = {0}, other = {0};
    for (size_t i = 0; i < REACH_RUN / 2; i += 2) {
        block_pair first = __builtin_shufflevector(b[i], b[i + 1], 0, 4, 2, 6);
        block_pair rest = __builtin_shufflevector(b[i], b[i + 1], 1, 5, 3, 7);
        far |= (first - k->low) | (k->high - first - (rest & UINT32_MAX));
        other |= rest ^ k->isa << 32;
    }
    return (far[0] | far[1] | far[2] | far[3]) < REACH_MAX &&
           !((other[0] | other[1] | other[2] | other[3]) & k->mask << 32);
}
#else
#define HAS_AVX2            false
#define reach_has_run(k, b) false
#endif

static void reach_add_block(struct history_reach *r, const struct bt_block *b)
{
    uint64_t last = bt_block_last(b);
    r->low = b->first < r->low ? b->first : r->low;
    r->high = last > r->high ? last : r->high;
    r->isas |= 1u << bt_block_isa(b);
}

/* For all blocks that are decoded, and few of them add anything. */
void history_reach_add(struct history_reach *r, const struct flow_out *out)
{
    const unsigned both = 1u << BT_ISA_A32 | 1u << BT_ISA_T32;
    const struct bt_block *b = out->blocks, *end = b + out->block_count;
    while (b < end) {
        bool runs = HAS_AVX2 && (size_t)(end - b) >= REACH_RUN;
        size_t n = runs ? REACH_RUN : (size_t)(end - b);
        struct reach_known k = {r->low, r->high, bt_block_isa(b), 0xf};
        if ((r->isas & both) == both && k.isa <= BT_ISA_T32)
            k.mask = 0xe;
        bool known = runs && r->isas >> k.isa & 1 && k.high - k.low < REACH_MAX;
        if (known && reach_has_run(&k, b))
            b += n;
        else
            for (; n; n--)
                reach_add_block(r, b++);
    }
    for (size_t i = 0; i < out->event_count; i++)
        r->events |= event_is_loud(&out->events[i]);
}

static void flush_live(void *ctx, struct flow_out *out)
{
    struct history *h = ctx;
    for (size_t i = 0; i < out->event_count; i++)
        gap_ledger_take(&h->gaps, &out->events[i]);
    if (h->checkpoint_count)
        history_reach_add(&h->checkpoints[h->checkpoint_count - 1].reach, out);
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

void history_reach_join(struct history_reach *r, const struct history_reach *other)
{
    r->low = other->low < r->low ? other->low : r->low;
    r->high = other->high > r->high ? other->high : r->high;
    r->isas |= other->isas;
    r->events |= other->events;
}

uint64_t history_windows_dropped(const struct history *h)
{
    return h->checkpoint_base;
}

void history_window_reach(const struct history *h, size_t index, struct history_reach *out)
{
    *out = h->checkpoints[index].reach;
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
    size_t count = h->checkpoint_count;
    h->checkpoint_count = (count + 1) / 2;
    for (size_t i = 0; i < h->checkpoint_count; i++) {
        const struct history_reach *other =
            2 * i + 1 < count ? &h->checkpoints[2 * i + 1].reach : &history_reach_none;
        h->checkpoints[i] = h->checkpoints[2 * i];
        history_reach_join(&h->checkpoints[i].reach, other);
    }
    h->window_bytes *= 2;
    history_states_pair(&h->states);
    forget_windows(h);
}

uint64_t history_next_checkpoint(const struct history *h)
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
    if (stream_offset(&h->live) < history_next_checkpoint(h))
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
    c->reach = history_reach_none;
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

int history_ring_put(struct history *h, uint64_t offset, const uint8_t *data, size_t len)
{
    int error = ring_reserve(h, offset, len);
    if (error)
        return error;
    size_t at = offset & (h->ring_size - 1);
    size_t first = len < h->ring_size - at ? len : h->ring_size - at;
    memcpy(h->ring + at, data, first);
    memcpy(h->ring, data + first, len - first);
    return BT_OK;
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
    h->stream = *stream;
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
    h->traces_context = stream_traces_context(stream);
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
        int error = history_ring_put(h, offset, data, len);
        if (error)
            return error;
    }
    stream_feed(&h->live, data, len, &h->sink);
    flush_live(h, &h->sink.out);
    return BT_OK;
}

int history_append(struct history *h, const uint8_t *data, size_t len)
{
    while (len > 0) {
        uint64_t offset = stream_offset(&h->live);
        if (offset >= history_next_checkpoint(h)) {
            int error = add_checkpoint(h);
            if (error)
                return error;
        }
        uint64_t room = history_next_checkpoint(h) - offset;
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
    if (!array_room(&h->marks, h->mark_count, &h->mark_max, sizeof *h->marks))
        return BT_ERR_NOMEM;
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
    apply_mark(&h->live, &mark, &h->sink);
    flush_live(h, &h->sink.out);
    return BT_OK;
}

int history_set_generation(struct history *h, uint32_t generation)
{
    const struct mark mark = {stream_offset(&h->live), generation, MARK_GENERATION};
    int error = add_mark(h, &mark);
    if (error)
        return error;
    apply_mark(&h->live, &mark, &h->sink);
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

void history_totals(const struct history *h, struct history_totals *out)
{
    out->bytes = stream_offset(&h->live);
    out->packets = h->live.packets;
    out->skipped = h->live.skipped;
    out->blocks = stream_blocks(&h->live);
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
    out->taken_told = stream_facts(&s).taken_told;
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

int history_decode(struct history *h, uint64_t end)
{
    while (stream_offset(&h->live) < end) {
        if (stream_offset(&h->live) >= history_next_checkpoint(h)) {
            int error = add_checkpoint(h);
            if (error)
                return error;
        }
        uint64_t to = history_next_checkpoint(h) < end ? history_next_checkpoint(h) : end;
        int error = decode_stored(h, &h->live, to, &h->sink);
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
    h->checkpoints[0].reach = history_reach_none;
    history_states_cut(&h->states);
    forget_windows(h);
    /* Checkpoints count the marks that come before them. */
    int error = BT_OK;
    h->mark_count = 0;
    while (h->mark_count < mark_count && !error) {
        const struct mark *mark = &h->marks[h->mark_count];
        bool before = h->mark_base + h->mark_count < h->checkpoints[0].marks;
        if (!before)
            error = history_decode(h, mark->offset);
        h->mark_count++;
        if (!before && !error)
            apply_mark(&h->live, mark, &h->sink);
    }
    h->mark_count = mark_count;
    if (!error)
        error = history_decode(h, end);
    if (!error && h->finished)
        history_finish(h);
    return error;
}
