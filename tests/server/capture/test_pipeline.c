/* SPDX-License-Identifier: BSD-3-Clause */
/* The live pipeline: order, losses, waiting, and readers beside the decode thread. */
#include "drivers/virtual/encoder/frame_builder.h"
#include "server/capture/pipeline.h"
#include "tests/support/history_difference.h"
#include "tests/support/random_flow.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct fixture {
    struct random_flow flow;
    struct code_image image;
    struct pipeline_config config;
    struct trace_bytes frames;
};

static void set_up(struct fixture *x, bool formatted, unsigned instructions)
{
    struct random_flow_options o;
    memset(x, 0, sizeof *x);
    random_flow_default_options(&o);
    o.instructions = instructions;
    o.encoder.sync_period = 300;
    ck_assert_int_eq(random_flow_init(&x->flow, 42, &o), 0);
    code_image_init(&x->image);
    for (size_t i = 0; i < x->flow.region_count; i++) {
        struct code_region r = {.address = x->flow.regions[i].address,
                                .size = x->flow.regions[i].size,
                                .bytes = x->flow.regions[i].bytes};
        code_image_add(&x->image, &r);
    }
    x->config.source_count = 1;
    x->config.formatted = formatted;
    x->config.mode = FORMATTER_SYNC;
    struct pipeline_source *s = &x->config.sources[0];
    s->trace_id = 0x10;
    s->image = &x->image;
    s->config.protocol = STREAM_PTM;
    ptm_config_from_regs(&s->config.ptm, o.encoder.etmcr, o.encoder.etmidr, o.encoder.etmccer,
                         0x10);
    struct frame_options fo = {.full_sync_period = 16};
    struct frame_builder b;
    frame_builder_init(&b, &fo, &x->frames);
    frame_builder_write(&b, 0x10, x->flow.trace.data, x->flow.trace.size);
    frame_builder_flush(&b);
}

static void tear_down(struct fixture *x)
{
    trace_bytes_release(&x->frames);
    code_image_release(&x->image);
    random_flow_release(&x->flow);
}

static void push_all(struct pipeline *p, const struct trace_bytes *t, bool wait)
{
    for (size_t at = 0, n; at < t->size; at += n) {
        n = 1 + (at * 31) % 700;
        if (n > t->size - at)
            n = t->size - at;
        pipeline_push(p, t->data + at, n, wait);
    }
}

START_TEST(everything_arrives)
{
    static struct fixture x;
    struct pipeline *p;
    set_up(&x, _i == 1, 30000);
    x.config.ring_bytes = 4096; /* smaller than the trace: pushing has to wait */
    ck_assert_int_eq(pipeline_new(&x.config, &p), 0);
    push_all(p, _i ? &x.frames : &x.flow.trace, true);
    ck_assert(pipeline_drain(p, 20000));
    pipeline_lock(p);
    ck_assert_uint_eq(history_end(pipeline_history(p, 0)), x.flow.traced_count);
    struct history_totals totals;
    history_totals(pipeline_history(p, 0), &totals);
    ck_assert_uint_eq(totals.bytes, x.flow.trace.size);
    pipeline_unlock(p);
    struct pipeline_stats s;
    pipeline_stats(p, &s);
    ck_assert_uint_eq(s.dropped, 0);
    ck_assert_uint_eq(s.decoded, _i ? x.frames.size : x.flow.trace.size);
    ck_assert(s.aligned);
    if (_i)
        ck_assert(s.seen[0x10]);
    pipeline_free(p);
    tear_down(&x);
}
END_TEST

struct reader {
    struct pipeline *p;
    uv_sem_t started;
    uv_sem_t stop;
    uint64_t looked;
};

/* Looks at windows all the time, and once more at the end: what is there never changes, and there
 * is ever more of it.
 */
static void read_all_the_time(void *arg)
{
    struct reader *r = arg;
    uint64_t before = 0;
    uv_sem_post(&r->started);
    for (bool over = false; !over;) {
        over = uv_sem_trywait(&r->stop) == 0;
        pipeline_lock(r->p);
        struct history *h = pipeline_history(r->p, 0);
        struct history_window w;
        if (history_end(h) < before)
            abort();
        before = history_end(h);
        if (before && history_window(h, before / 2, &w) != 0)
            abort();
        pipeline_unlock(r->p);
        r->looked++;
    }
}

START_TEST(readers_beside_the_decoder)
{
    static struct fixture x;
    struct reader r = {0};
    uv_thread_t thread;
    set_up(&x, true, 60000);
    x.config.history.checkpoint_bytes = 512;
    ck_assert_int_eq(pipeline_new(&x.config, &r.p), 0);
    uv_sem_init(&r.started, 0);
    uv_sem_init(&r.stop, 0);
    uv_thread_create(&thread, read_all_the_time, &r);
    uv_sem_wait(&r.started);
    push_all(r.p, &x.frames, true);
    ck_assert(pipeline_drain(r.p, 60000));
    uv_sem_post(&r.stop);
    uv_thread_join(&thread);
    ck_assert_uint_gt(r.looked, 0);
    pipeline_lock(r.p);
    ck_assert_uint_eq(history_end(pipeline_history(r.p, 0)), x.flow.traced_count);
    pipeline_unlock(r.p);
    pipeline_free(r.p);
    tear_down(&x);
}
END_TEST

/* A full ring: whole transfers are dropped, one gap each time, with the bytes that are gone. */
START_TEST(a_full_ring_is_one_gap)
{
    static struct fixture x;
    struct pipeline *p;
    set_up(&x, false, 30000);
    x.config.ring_bytes = 1000;
    ck_assert_int_eq(pipeline_new(&x.config, &p), 0);
    pipeline_lock(p); /* the decoder stands still */
    uint64_t dropped = 0;
    for (size_t at = 0; at + 400 <= 8000; at += 400)
        dropped += pipeline_push(p, x.flow.trace.data + at, 400, false) ? 0 : 400;
    pipeline_unlock(p);
    ck_assert(pipeline_drain(p, 20000));
    pipeline_push(p, x.flow.trace.data + 8000, x.flow.trace.size - 8000, true);
    ck_assert(pipeline_drain(p, 20000));
    ck_assert_uint_ge(dropped, 400 * 10);
    pipeline_lock(p);
    struct history *h = pipeline_history(p, 0);
    const struct gap_entry *gaps;
    uint64_t bytes = 0, entries = 0;
    size_t n = history_gaps(h, &gaps);
    for (size_t i = 0; i < n; i++) {
        if (gaps[i].cause != BT_GAP_LOST_BYTES)
            continue;
        bytes += gaps[i].bytes;
        entries++;
    }
    ck_assert_uint_eq(entries, 1);
    ck_assert_uint_eq(bytes, dropped);
    ck_assert_uint_gt(history_end(h), 0);
    pipeline_unlock(p);
    struct pipeline_stats s;
    pipeline_stats(p, &s);
    ck_assert_uint_eq(s.dropped, dropped);
    ck_assert_uint_eq(s.decoded, x.flow.trace.size - dropped);
    pipeline_free(p);
    tear_down(&x);
}
END_TEST

START_TEST(reported_losses_and_bad_configurations)
{
    static struct fixture x;
    struct pipeline *p;
    set_up(&x, true, 5000);
    ck_assert_int_eq(pipeline_new(&x.config, &p), 0);
    pipeline_push(p, x.frames.data, x.frames.size / 2, true);
    pipeline_lost(p, BT_GAP_LOST_BYTES, 16);
    pipeline_lost(p, BT_GAP_LOST_BYTES, 0);
    pipeline_push(p, x.frames.data + x.frames.size / 2, x.frames.size - x.frames.size / 2, true);
    ck_assert(pipeline_drain(p, 20000));
    pipeline_lock(p);
    ck_assert_uint_eq(history_gap_count(pipeline_history(p, 0), BT_GAP_LOST_BYTES), 1);
    pipeline_unlock(p);
    struct pipeline_stats stats;
    pipeline_stats(p, &stats);
    ck_assert_int_eq(stats.error, 0);
    pipeline_free(p);
    x.config.sources[0].trace_id = 0x70;
    ck_assert_int_eq(pipeline_new(&x.config, &p), BT_ERR_INVAL);
    x.config.source_count = 0;
    ck_assert_int_eq(pipeline_new(&x.config, &p), BT_ERR_INVAL);
    tear_down(&x);
}
END_TEST

/* A recorder that is slow: it holds the last pieces of each capture, and compares them late. */
struct slow_recorder {
    const uint8_t *stream; /* what is captured, in a circle of `size` bytes */
    size_t size;
    uint64_t seen;
    struct {
        struct trace_buffer *buffer;
        const uint8_t *data;
        size_t len;
        uint64_t at;
    } held[40];
    unsigned count; /* of all pieces */
    unsigned buffers;
    const struct trace_buffer *last;
};

static void compare_held(struct slow_recorder *r, unsigned i)
{
    for (size_t k = 0; k < r->held[i].len; k++)
        if (r->held[i].data[k] != r->stream[(r->held[i].at + k) % r->size])
            abort();
    trace_buffer_release(r->held[i].buffer);
    r->held[i].buffer = NULL;
}

static void hold_piece(void *ctx, struct trace_buffer *buffer, const uint8_t *data, size_t len)
{
    struct slow_recorder *r = ctx;
    unsigned i = r->count++ % 40;
    if (r->held[i].buffer)
        compare_held(r, i);
    trace_buffer_hold(buffer);
    r->held[i].buffer = buffer;
    r->held[i].data = data;
    r->held[i].len = len;
    r->held[i].at = r->seen;
    r->seen += len;
    r->buffers += buffer != r->last;
    r->last = buffer;
}

static void end_holding(struct slow_recorder *r)
{
    for (unsigned i = 0; i < 40; i++)
        if (r->held[i].buffer)
            compare_held(r, i);
}

/* `n` bytes from `at` on of a stream that goes round, in the pipeline's room or from elsewhere. */
static bool push_round(struct pipeline *p, const struct slow_recorder *r, uint64_t at, size_t n,
                       bool in_room, bool wait)
{
    static uint8_t elsewhere[3 * TRACE_BUFFER_SIZE];
    size_t size;
    uint8_t *to = in_room ? pipeline_room(p, n, &size) : elsewhere;
    for (size_t i = 0; i < n; i++)
        to[i] = r->stream[(at + i) % r->size];
    return pipeline_push(p, to, n, wait);
}

/* Pieces of all sizes and losses, with a decoder that stands still at times: what is not dropped is
 * decoded, what is dropped or lost is a gap with its bytes, and the recorder sees everything. */
START_TEST(a_slow_recorder_beside_the_decoder)
{
    static struct fixture x;
    static struct slow_recorder r;
    struct trace_random random = {(uint64_t)_i};
    struct pipeline *p;
    struct pipeline_stats s;
    uint64_t lost = 0;
    unsigned still = 0;
    printf("seed %d\n", _i);
    set_up(&x, false, 30000);
    r = (struct slow_recorder){.stream = x.flow.trace.data, .size = x.flow.trace.size};
    x.config.ring_bytes = 500000;
    x.config.history.max_gaps = 1 << 20;
    x.config.tap = hold_piece;
    x.config.tap_ctx = &r;
    ck_assert_int_eq(pipeline_new(&x.config, &p), 0);
    for (unsigned i = 0; i < 1500; i++) {
        bool tiny = trace_random_percent(&random, 70), in_room = trace_random_percent(&random, 50);
        size_t n = 1 + trace_random_below(&random, tiny      ? 30
                                                   : in_room ? (uint32_t)TRACE_ROOM
                                                             : 3 * (uint32_t)TRACE_BUFFER_SIZE / 4);
        if (trace_random_percent(&random, 3) && !still) {
            pipeline_lock(p);
            still = 1 + trace_random_below(&random, 50);
        } else if (still && --still == 0) {
            pipeline_unlock(p);
        }
        push_round(p, &r, r.seen, n, in_room, !still && trace_random_percent(&random, 50));
        if (trace_random_percent(&random, 5)) {
            pipeline_lost(p, BT_GAP_LOST_BYTES, 7);
            lost += 7;
        }
    }
    if (still)
        pipeline_unlock(p);
    ck_assert(pipeline_drain(p, 60000));
    pipeline_stats(p, &s);
    end_holding(&r);
    ck_assert_int_eq(s.error, 0);
    ck_assert_uint_eq(s.waiting, 0);
    ck_assert_uint_eq(r.seen, s.decoded + s.dropped);
    const struct gap_entry *gaps;
    uint64_t bytes = 0;
    pipeline_lock(p);
    size_t n = history_gaps(pipeline_history(p, 0), &gaps);
    for (size_t i = 0; i < n; i++)
        bytes += gaps[i].cause == BT_GAP_LOST_BYTES ? gaps[i].bytes : 0;
    pipeline_unlock(p);
    ck_assert_uint_eq(bytes, s.dropped + lost);
    pipeline_free(p);
    tear_down(&x);
}
END_TEST

/* A socket that gives a byte at a time fills buffers, and is one entry of the ring. */
START_TEST(tiny_pieces)
{
    static struct fixture x;
    static struct slow_recorder r;
    struct pipeline *p;
    struct pipeline_stats s;
    enum { COUNT = 600000 };
    set_up(&x, false, 30000);
    r = (struct slow_recorder){.stream = x.flow.trace.data, .size = x.flow.trace.size};
    x.config.tap = hold_piece;
    x.config.tap_ctx = &r;
    x.config.ring_bytes = COUNT + 1000;
    ck_assert_int_eq(pipeline_new(&x.config, &p), 0);
    pipeline_lock(p); /* the decoder stands still */
    for (unsigned i = 0; i < COUNT; i++)
        ck_assert(push_round(p, &r, i, 1, i % 2 == 0, false));
    ck_assert(!push_round(p, &r, COUNT, 2000, false, false));
    pipeline_unlock(p);
    ck_assert(pipeline_drain(p, 60000));
    pipeline_stats(p, &s);
    ck_assert_uint_eq(s.decoded, COUNT);
    ck_assert_uint_eq(s.dropped, 2000);
    ck_assert_uint_le(r.buffers, COUNT / TRACE_BUFFER_SIZE + 2);
    end_holding(&r);
    pipeline_free(p);
    tear_down(&x);
}
END_TEST

/* Entries of the ring are bounded, too: losses of two causes and bytes in turns. */
START_TEST(losses_in_order)
{
    static struct fixture x;
    struct pipeline *p;
    struct pipeline_stats s;
    uint64_t lost = 0, at = 0;
    set_up(&x, false, 30000);
    ck_assert_int_eq(pipeline_new(&x.config, &p), 0);
    pipeline_lock(p);
    for (unsigned i = 0; i < 5000; i++) {
        pipeline_lost(p, i % 2 ? BT_GAP_LOST_BYTES : BT_GAP_OVERWRITTEN, 3);
        lost += 3;
        if (pipeline_push(p, x.flow.trace.data + at, 10, false))
            at += 10;
    }
    pipeline_unlock(p);
    ck_assert(pipeline_drain(p, 20000));
    pipeline_stats(p, &s);
    ck_assert_uint_eq(s.decoded, at);
    ck_assert_uint_gt(at, 100);
    const struct gap_entry *gaps;
    uint64_t bytes = 0, offset = 0;
    pipeline_lock(p);
    size_t n = history_gaps(pipeline_history(p, 0), &gaps);
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_ge(gaps[i].offset, offset);
        offset = gaps[i].offset;
        bytes += gaps[i].bytes;
    }
    pipeline_unlock(p);
    ck_assert_uint_eq(bytes, s.dropped + lost);
    pipeline_free(p);
    tear_down(&x);
}
END_TEST

/* A stream of frames of two sources, over and over, with damage and losses; what waits is more than
 * one thread is given. */
static void push_damaged(struct pipeline *p, const struct trace_bytes *frames, unsigned seed)
{
    static uint8_t turn[1 << 20];
    struct trace_random random = {seed};
    ck_assert_uint_le(frames->size, sizeof turn);
    for (unsigned i = 0; i < 24; i++) {
        memcpy(turn, frames->data, frames->size);
        if (trace_random_percent(&random, 30))
            turn[trace_random_below(&random, (uint32_t)frames->size)] ^= 0x10;
        for (size_t at = 0, n; at < frames->size; at += n) {
            n = 1 + trace_random_below(&random, 2 * (uint32_t)TRACE_BUFFER_SIZE);
            n = n < frames->size - at ? n : frames->size - at;
            pipeline_push(p, turn + at, n, true);
        }
        if (trace_random_percent(&random, 20))
            pipeline_lost(p, BT_GAP_LOST_BYTES, 5);
    }
    ck_assert(pipeline_drain(p, 60000));
}

START_TEST(several_threads)
{
    static struct fixture x;
    struct pipeline *one, *many;
    struct pipeline_stats s;
    struct reader r = {0};
    uv_thread_t reader;
    struct frame_options fo = {.full_sync_period = 16};
    struct frame_builder b;
    printf("seed %d\n", _i);
    set_up(&x, true, 60000);
    trace_bytes_release(&x.frames);
    frame_builder_init(&b, &fo, &x.frames);
    for (size_t at = 0, n; at < x.flow.trace.size; at += n) {
        n = x.flow.trace.size - at < 1000 ? x.flow.trace.size - at : 1000;
        frame_builder_write(&b, 0x10, x.flow.trace.data + at, n);
        frame_builder_write(&b, 0x11, x.flow.trace.data + at, n);
    }
    frame_builder_flush(&b);
    x.config.sources[1] = x.config.sources[0];
    x.config.sources[1].trace_id = 0x11;
    x.config.source_count = 2;
    x.config.history.checkpoint_bytes = 16 << 10;
    ck_assert_int_eq(pipeline_new(&x.config, &one), 0);
    x.config.threads = 4;
    ck_assert_int_eq(pipeline_new(&x.config, &many), 0);
    push_damaged(one, &x.frames, (unsigned)_i);
    r.p = many;
    uv_sem_init(&r.started, 0);
    uv_sem_init(&r.stop, 0);
    uv_thread_create(&reader, read_all_the_time, &r);
    uv_sem_wait(&r.started);
    push_damaged(many, &x.frames, (unsigned)_i);
    uv_sem_post(&r.stop);
    uv_thread_join(&reader);
    pipeline_lock(one);
    pipeline_lock(many);
    for (unsigned i = 0; i < 2; i++) {
        const char *difference =
            history_difference(pipeline_history(one, i), pipeline_history(many, i));
        ck_assert_msg(!difference, "source %u: %s", i, difference);
        ck_assert_uint_gt(history_end(pipeline_history(many, i)), 20 * x.flow.traced_count);
    }
    pipeline_unlock(many);
    pipeline_unlock(one);
    pipeline_stats(many, &s);
    ck_assert_uint_gt(s.joined, 0);
    ck_assert_int_eq(s.error, 0);
    pipeline_free(one);
    pipeline_free(many);
    tear_down(&x);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("pipeline");
    unit_cases(s, "pipeline: everything arrives, in order", everything_arrives, 0, 2);
    unit_case(s, "pipeline: readers beside the decoder", readers_beside_the_decoder);
    unit_case(s, "pipeline: a full ring is one gap", a_full_ring_is_one_gap);
    unit_case(s, "pipeline: reported losses, bad configurations",
              reported_losses_and_bad_configurations);
    unit_cases(s, "pipeline: a slow recorder beside the decoder",
               a_slow_recorder_beside_the_decoder, 1, 9);
    unit_case(s, "pipeline: tiny pieces", tiny_pieces);
    unit_case(s, "pipeline: losses in order", losses_in_order);
    unit_cases(s, "pipeline: several threads make the histories of one, beside a reader",
               several_threads, 1, 4);
    return s;
}
