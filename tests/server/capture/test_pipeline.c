/* SPDX-License-Identifier: BSD-3-Clause */
/* The live pipeline: order, losses, waiting, and readers beside the decode thread. */
#include "drivers/virtual/encoder/frame_builder.h"
#include "server/capture/pipeline.h"
#include "tests/support/random_flow.h"
#include "tests/support/unit_main.h"

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
    struct pipeline_stats idle;
    pipeline_stats(p, &idle);
    ck_assert(idle.idle);
    pipeline_lock(p);
    ck_assert_uint_eq(history_end(pipeline_history(p, 0)), x.flow.traced_count);
    struct history_totals totals;
    history_totals(pipeline_history(p, 0), &totals);
    ck_assert_uint_eq(totals.bytes, x.flow.trace.size);
    pipeline_unlock(p);
    struct pipeline_stats s;
    pipeline_stats(p, &s);
    ck_assert_uint_eq(s.dropped, 0);
    ck_assert_uint_eq(s.captured, s.decoded);
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

/* Looks at windows all the time: what is there never changes, and there is ever more of it. */
static void read_all_the_time(void *arg)
{
    struct reader *r = arg;
    uint64_t before = 0;
    uv_sem_post(&r->started);
    while (uv_sem_trywait(&r->stop) != 0) {
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
    ck_assert_uint_eq(s.captured, s.decoded + s.dropped);
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

Suite *unit_suite(void)
{
    Suite *s = suite_create("pipeline");
    unit_cases(s, "pipeline: everything arrives, in order", everything_arrives, 0, 2);
    unit_case(s, "pipeline: readers beside the decoder", readers_beside_the_decoder);
    unit_case(s, "pipeline: a full ring is one gap", a_full_ring_is_one_gap);
    unit_case(s, "pipeline: reported losses, bad configurations",
              reported_losses_and_bad_configurations);
    return s;
}
