/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A history whose bytes are kept elsewhere, as a property: with few states and few windows it shows
 * the same as one that keeps everything, in any order, and nothing of it goes,
 * however long it is. */
#include "decoder/flow/flow.h"
#include "decoder/history/history_internal.h"
#include "tests/support/random_next.h"
#include "tests/support/random_sample.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

typedef unsigned long long ull;

#define ROUNDS       3 /* that the sample is fed */
#define WINDOW_BYTES 96

/* What bounds the history; 0: the default. */
static const struct {
    size_t states, windows;
} limits[] = {{4, 0}, {4, 8}, {64, 8}, {3, 7}, {1, 33}, {16, 64}, {5, 16}, {2, 1}, {0, 0}};

#define LIMITS (sizeof limits / sizeof *limits)

struct fixture {
    struct random_sample sample;
    struct history *bounded, *whole;
    size_t window_bytes; /* of both in the end */
    size_t windows;
    uint8_t *kept; /* what `bounded` reads */
    size_t kept_size;
    size_t total;      /* bytes in the end */
    uint64_t read;     /* bytes read so far */
    unsigned fails_in; /* reads from now; 0: never */
    uint8_t *zeros;
};

static unsigned pick(struct fixture *x, unsigned what, unsigned below)
{
    return random_pick(x->kept_size + x->total, what, below);
}

static int read_kept(void *ctx, uint64_t offset, uint8_t *out, size_t len)
{
    struct fixture *x = ctx;
    if (x->fails_in && --x->fails_in == 0)
        return BT_ERR_IO;
    ck_assert_uint_le(offset + len, x->kept_size);
    memcpy(out, x->kept + offset, len);
    x->read += len;
    return BT_OK;
}

/* Generation 1: other code everywhere; 2: what was there before. */
static void add_generations(struct fixture *x)
{
    struct code_image *image = &x->sample.image;
    size_t count = image->count, largest = 0;
    for (size_t i = 0; i < count; i++)
        if (image->regions[i].size > largest)
            largest = (size_t)image->regions[i].size;
    x->zeros = calloc(1, largest);
    ck_assert_ptr_nonnull(x->zeros);
    for (unsigned g = 1; g <= 2; g++) {
        ck_assert_uint_eq(code_image_new_generation(image), g);
        for (size_t i = 0; i < count; i++) {
            struct code_region r = image->regions[i];
            ck_assert_uint_eq(r.generation, 0);
            r.generation = g;
            r.bytes = g == 1 ? x->zeros : r.bytes;
            ck_assert_int_eq(code_image_add(image, &r), 0);
        }
    }
}

/* Windows double until they are few enough, and so they are in the other one from the start. */
static size_t final_window_bytes(const struct fixture *x, size_t windows)
{
    size_t bytes = WINDOW_BYTES;
    while (windows && (x->total + bytes - 1) / bytes > windows)
        bytes *= 2;
    return bytes;
}

static void set_up(struct fixture *x, enum stream_protocol protocol, uint64_t seed, size_t limit)
{
    memset(x, 0, sizeof *x);
    ck_assert_int_eq(random_sample_init(&x->sample, protocol, seed), 0);
    add_generations(x);
    x->total = ROUNDS * x->sample.size;
    x->kept = malloc(x->total);
    ck_assert_ptr_nonnull(x->kept);
    x->window_bytes = final_window_bytes(x, limits[limit].windows);
    x->windows = (x->total + x->window_bytes - 1) / x->window_bytes;
    struct history_config bounded = {.checkpoint_bytes = WINDOW_BYTES,
                                     .max_checkpoints = limits[limit].windows,
                                     .max_states = limits[limit].states,
                                     .read = read_kept,
                                     .read_ctx = x};
    struct history_config whole = {.checkpoint_bytes = x->window_bytes};
    ck_assert_int_eq(history_new(&bounded, &x->sample.config, &x->sample.image, &x->bounded), 0);
    ck_assert_int_eq(history_new(&whole, &x->sample.config, &x->sample.image, &x->whole), 0);
}

static void tear_down(struct fixture *x)
{
    history_free(x->bounded);
    history_free(x->whole);
    random_sample_release(&x->sample);
    free(x->kept);
    free(x->zeros);
}

/* What must be the same. */

/* Asserting once a block takes too long: a pass is written to a file. */
static bool same_block(const struct history_window *v, size_t i, const struct history_window *w,
                       size_t k)
{
    struct bt_block p, q;
    history_block(v, i, &p);
    history_block(w, k, &q);
    return memcmp(&p, &q, sizeof p) == 0 &&
           history_block_cycles(v, i) == history_block_cycles(w, k);
}

static bool same_key(const struct code_key *a, const struct code_key *b)
{
    return a->generation == b->generation && a->context == b->context && a->vmid == b->vmid &&
           a->core == b->core && a->security == b->security && a->has_context == b->has_context &&
           a->has_vmid == b->has_vmid;
}

static bool same(const struct history_window *v, const struct history_window *w)
{
    if (v->first != w->first || v->end != w->end || v->block_count != w->block_count ||
        v->event_count != w->event_count || !same_key(&v->key, &w->key) ||
        memcmp(v->events, w->events, v->event_count * sizeof *v->events) != 0)
        return false;
    for (size_t i = 0; i < v->block_count; i++)
        if (!same_block(v, i, w, i) ||
            (i % 50 == 0 && history_block_number(v, i) != history_block_number(w, i)))
            return false;
    return true;
}

/* Returns how many bytes were read for it. */
static uint64_t same_window(struct fixture *x, size_t index)
{
    struct history_window v, w;
    uint64_t before = x->read;
    ck_assert_int_eq(history_window_index(x->bounded, index, &v), 0);
    ck_assert_int_eq(history_window_index(x->whole, index, &w), 0);
    ck_assert_msg(same(&v, &w), "window %zu differs", index);
    if (index + 1 == history_window_count(x->bounded))
        ck_assert_uint_eq(v.end, history_end(x->bounded));
    return x->read - before;
}

/* While it grows windows may have other lengths. */
static void same_instruction(struct fixture *x, uint64_t number)
{
    struct history_window v, w;
    ck_assert_int_eq(history_window(x->bounded, number, &v), 0);
    ck_assert_int_eq(history_window(x->whole, number, &w), 0);
    size_t i = history_block_index(&v, number), k = history_block_index(&w, number);
    ck_assert_uint_lt(i, v.block_count);
    ck_assert_uint_lt(k, w.block_count);
    ck_assert_uint_eq(history_block_number(&v, i), history_block_number(&w, k));
    ck_assert_msg(same_block(&v, i, &w, k), "instruction %llu differs", (ull)number);
}

/* Feeding both. */

static void append(struct fixture *x, const uint8_t *data, size_t len)
{
    memcpy(x->kept + x->kept_size, data, len);
    x->kept_size += len;
    ck_assert_int_eq(history_append(x->bounded, data, len), 0);
    ck_assert_int_eq(history_append(x->whole, data, len), 0);
}

static void gap(struct fixture *x, enum bt_gap_cause cause, uint64_t bytes)
{
    ck_assert_int_eq(history_gap(x->bounded, cause, bytes), 0);
    ck_assert_int_eq(history_gap(x->whole, cause, bytes), 0);
}

static void generation(struct fixture *x, uint32_t number)
{
    ck_assert_int_eq(history_set_generation(x->bounded, number), 0);
    ck_assert_int_eq(history_set_generation(x->whole, number), 0);
}

/* In pieces, with gaps and generations in between, and looked at in the meantime. */
static void feed(struct fixture *x)
{
    gap(x, BT_GAP_LOST_BYTES, 7); /* in front of everything */
    while (x->kept_size < x->total) {
        size_t at = x->kept_size % x->sample.size, left = x->sample.size - at;
        size_t n = 1 + pick(x, 1, 400);
        append(x, x->sample.bytes + at, n < left ? n : left);
        if (x->kept_size == x->total)
            break; /* with what is held back until the end */
        if (n >= left)
            gap(x, BT_GAP_WIRE, 0); /* it does not go on where it began */
        if (pick(x, 2, 25) == 0)
            gap(x, BT_GAP_LOST_BYTES, pick(x, 3, 100));
        if (pick(x, 2, 25) == 1)
            generation(x, pick(x, 4, 3));
        if (pick(x, 5, 20) == 0 && history_end(x->bounded))
            same_instruction(x, pick(x, 6, (unsigned)history_end(x->bounded)));
    }
}

static void finish(struct fixture *x)
{
    history_finish(x->bounded);
    history_finish(x->whole);
}

/* The property. */

/* So far is it at most to a state that is kept. */
static size_t largest_spacing(const struct fixture *x, size_t limit)
{
    size_t states = limits[limit].states ? limits[limit].states : 512;
    return x->windows <= states ? 1 : 2 * x->windows / states;
}

static void check_backward(struct fixture *x)
{
    uint64_t before = x->read;
    size_t newest = (x->windows - 1) / x->bounded->states.spacing * x->bounded->states.spacing;
    for (size_t i = x->windows; i-- > 0;) {
        uint64_t read = same_window(x, i);
        /* Itself and a part of the span before: not all the way to it at once. */
        if (i + 1 < newest) /* nobody knew where the walk went before it left the newest one */
            ck_assert_uint_le(read, 2 * x->window_bytes);
    }
    ck_assert_uint_le(x->read - before, 2 * x->total);
}

static void check_forward(struct fixture *x)
{
    uint64_t before = x->read;
    for (size_t i = 0; i < x->windows; i++)
        same_window(x, i);
    ck_assert_uint_le(x->read - before, x->total);
}

static void check_random(struct fixture *x, size_t limit)
{
    size_t most = 2 * largest_spacing(x, limit) * x->window_bytes;
    for (unsigned i = 0; i < 60; i++)
        ck_assert_uint_le(same_window(x, pick(x, 100 + i, (unsigned)x->windows)), most);
}

/* Who executes at the begin of a window is what the events of all those before say. */
static void check_keys(struct fixture *x)
{
    struct history_window w;
    struct code_key key;
    for (size_t i = 0; i < x->windows; i++) {
        ck_assert_int_eq(history_window_index(x->whole, i, &w), 0);
        if (i == 0)
            key = w.key;
        key.generation = w.key.generation;
        if (!key.has_context)
            key.context = w.key.context;
        if (!key.has_vmid)
            key.vmid = w.key.vmid;
        ck_assert_msg(same_key(&key, &w.key),
                      "window %zu: context %d 0x%x, not %d 0x%x; security %d, not %d", i,
                      w.key.has_context, w.key.context, key.has_context, key.context,
                      w.key.security, key.security);
        for (size_t k = 0; k < w.event_count; k++)
            flow_track_key(&key, &w.events[k]);
    }
}

/* All the orders that one can look in. */
static void check_all(struct fixture *x, size_t limit)
{
    ck_assert_uint_eq(history_first(x->bounded), 0);
    ck_assert_uint_eq(history_end(x->bounded), history_end(x->whole));
    ck_assert_uint_eq(history_window_count(x->bounded), x->windows);
    ck_assert_uint_eq(history_window_count(x->whole), x->windows);
    check_keys(x);
    check_backward(x);
    check_random(x, limit);
    check_forward(x);
    check_random(x, limit);
}

START_TEST(few_states_show_the_same)
{
    static const enum stream_protocol protocols[] = {STREAM_PTM, STREAM_ETMV3, STREAM_ETMV4};
    static struct fixture x;
    size_t limit = (size_t)_i % LIMITS;
    set_up(&x, protocols[_i / LIMITS], (uint64_t)_i + 1, limit);
    feed(&x);
    finish(&x);
    ck_assert_uint_gt(history_end(x.bounded), 1000);
    check_all(&x, limit);
    uint64_t end = history_end(x.bounded);
    ck_assert_int_eq(history_again(x.bounded), 0);
    ck_assert_int_eq(history_again(x.whole), 0);
    ck_assert_uint_eq(history_end(x.bounded), end);
    check_all(&x, limit);
    tear_down(&x);
}
END_TEST

/* Code that was missing shows what states before were made without it: none of them is left. */
START_TEST(again_with_code_that_was_missing)
{
    static struct fixture x;
    struct code_image late;
    size_t limit = (size_t)_i;
    set_up(&x, STREAM_PTM, 5, limit);
    code_image_init(&late);
    history_free(x.bounded);
    struct history_config config = {.checkpoint_bytes = WINDOW_BYTES,
                                    .max_checkpoints = limits[limit].windows,
                                    .max_states = limits[limit].states,
                                    .read = read_kept,
                                    .read_ctx = &x};
    ck_assert_int_eq(history_new(&config, &x.sample.config, &late, &x.bounded), 0);
    for (unsigned i = 0; i < ROUNDS; i++)
        append(&x, x.sample.bytes, x.sample.size);
    struct history_window w;
    ck_assert_uint_eq(history_end(x.bounded), 0);
    for (size_t i = x.windows; i-- > 0;)
        ck_assert_int_eq(history_window_index(x.bounded, i, &w), 0);
    for (size_t i = 0; i < x.sample.image.count; i++)
        ck_assert_int_eq(code_image_add(&late, &x.sample.image.regions[i]), 0);
    ck_assert_int_eq(history_again(x.bounded), 0);
    check_all(&x, limit);
    tear_down(&x);
    code_image_release(&late);
}
END_TEST

/* An error of `read` on the way is told, and no harm done. */
START_TEST(reading_fails_on_the_way)
{
    static struct fixture x;
    struct history_window w;
    set_up(&x, STREAM_ETMV4, 3, 0);
    feed(&x);
    finish(&x);
    unsigned failed = 0;
    for (unsigned i = 0; i < 200; i++) {
        size_t index = pick(&x, 300 + i, (unsigned)x.windows);
        x.fails_in = 1 + pick(&x, 600 + i, 30);
        int error = history_window_index(x.bounded, index, &w);
        ck_assert(error == BT_OK || error == BT_ERR_IO);
        failed += error == BT_ERR_IO;
        x.fails_in = 0;
        same_window(&x, index);
    }
    ck_assert_uint_gt(failed, 20);
    check_all(&x, 0);
    tear_down(&x);
}
END_TEST

/* Sixteen times the stream: the memory stays, and so does all of the history. */
START_TEST(memory_does_not_grow)
{
    static struct fixture x;
    set_up(&x, STREAM_PTM, 2, 0);
    history_free(x.bounded);
    struct history_config config = {.checkpoint_bytes = 100,
                                    .max_checkpoints = 64,
                                    .max_states = 8,
                                    .max_gaps = 16,
                                    .read = read_kept,
                                    .read_ctx = &x};
    ck_assert_int_eq(history_new(&config, &x.sample.config, &x.sample.image, &x.bounded), 0);
    size_t size = x.sample.size, once = 0;
    free(x.kept);
    x.kept = malloc(64 * size);
    ck_assert_ptr_nonnull(x.kept);
    for (unsigned i = 0; i < 64; i++) {
        append(&x, x.sample.bytes, size);
        if (i == 3)
            once = history_memory(x.bounded);
    }
    ck_assert_uint_gt(4 * size, 64 * config.checkpoint_bytes); /* bounds are reached by then */
    ck_assert_uint_eq(history_memory(x.bounded), once);
    /* Two tables, and the states of two spans of up to 2 * 64 / 8 windows. */
    size_t state = stream_state_size(&x.sample.config);
    size_t code = x.bounded->code.chunk_count * CODE_RANGE_CHUNK * sizeof(struct code_range);
    size_t tables = 64 * sizeof(struct checkpoint) + (8 + 2 * 15) * state;
    size_t gaps = x.bounded->gaps.max * sizeof(struct gap_entry);
    ck_assert_uint_le(once, sizeof(struct history) + code + tables + gaps);
    ck_assert_uint_eq(history_first(x.bounded), 0);
    same_instruction(&x, 0);
    for (unsigned i = 0; i < 100; i++)
        same_instruction(&x, pick(&x, i, (unsigned)history_end(x.bounded)));
    tear_down(&x);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("bounds of a history");
    unit_cases(s, "history: few states and windows show the same", few_states_show_the_same, 0,
               3 * LIMITS);
    unit_cases(s, "history: few states, decoded again with code that was missing",
               again_with_code_that_was_missing, 0, LIMITS);
    unit_case(s, "history: reading fails on the way to a window", reading_fails_on_the_way);
    unit_case(s, "history: memory does not grow, and nothing goes", memory_does_not_grow);
    return s;
}
