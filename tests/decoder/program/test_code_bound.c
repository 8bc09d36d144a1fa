/* SPDX-License-Identifier: BSD-3-Clause */
/* The same trace gives the same blocks whatever the cache may hold, and on the fast path and the
 * slow one. */
#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "drivers/virtual/encoder/ptm_encoder.h"
#include "tests/support/bench_stream.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>

#define UNIT   100000u /* bytes of trace */
#define BLOCKS 512

static const struct {
    const char *name;
    enum stream_protocol protocol;
    uint32_t control;
    enum bt_isa isa;
    uint16_t max_speculated;
} sources[] = {
    {"PTM", STREAM_PTM, 0, BT_ISA_T32, 0},
    {"PTM return stack", STREAM_PTM, PTM_CR_RETURN_STACK, BT_ISA_A32, 0},
    {"PTM cycles", STREAM_PTM, PTM_CR_CYCLE_ACCURATE, BT_ISA_T32, 0},
    {"ETMv3", STREAM_ETMV3, 0, BT_ISA_A32, 0},
    {"ETMv3", STREAM_ETMV3, 0, BT_ISA_T32, 0},
    {"ETMv3 cycles", STREAM_ETMV3, ETMV3_CR_CYCLE_ACCURATE, BT_ISA_T32, 0},
    {"ETMv4", STREAM_ETMV4, 1, BT_ISA_A64, 0},
    {"ETMv4 return stack", STREAM_ETMV4, 1 | ETMV4_CONFIG_RETURN_STACK, BT_ISA_A64, 0},
    {"ETMv4 speculation", STREAM_ETMV4, 1, BT_ISA_A64, 64},
};

/* All that was put out, in two numbers. */
struct sum {
    uint64_t blocks;
    uint64_t events;
};

static void take(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * 0x9e3779b97f4a7c15u;
    *hash ^= *hash >> 29;
}

static void flush(void *ctx, struct flow_out *out)
{
    struct sum *sum = ctx;
    for (size_t i = 0; i < out->block_count; i++) {
        take(&sum->blocks, out->blocks[i].first);
        take(&sum->blocks, (uint64_t)out->blocks[i].extent << 32 | out->blocks[i].info);
        take(&sum->blocks, out->cycles ? out->cycles[i] : FLOW_NO_CYCLES);
    }
    for (size_t i = 0; i < out->event_count; i++) {
        take(&sum->events, out->events[i].position);
        take(&sum->events, out->events[i].offset << 8 | (uint64_t)out->events[i].kind);
    }
    out->block_count = out->event_count = 0;
}

static void see(void *ctx, const struct stream_packet *packet)
{
    (void)ctx;
    (void)packet;
}

struct way {
    size_t max_ranges;
    bool packets; /* someone looks at packets: there is no fast path */
    bool counts;  /* an array for cycles that the trace may not have */
    size_t piece; /* bytes a call */
};

static struct sum decode(const struct bench_stream *s, const struct way *way, uint64_t *blocks,
                         uint32_t *epochs)
{
    static struct bt_block out[BLOCKS];
    static struct bt_event events[BLOCKS];
    static uint64_t cycles[BLOCKS];
    static struct stream stream;
    struct code_cache cache;
    struct code_options options = {0};
    struct sum sum = {0, 0};
    bool counted = way->counts || stream_counts_blocks(&s->config);
    struct stream_sink sink = {.out = {.blocks = out,
                                       .cycles = counted ? cycles : NULL,
                                       .events = events,
                                       .block_max = BLOCKS,
                                       .event_max = BLOCKS},
                               .flush = flush,
                               .packet = way->packets ? see : NULL,
                               .ctx = &sum};
    stream_code_options(&s->config, &options);
    options.max_ranges = way->max_ranges;
    ck_assert_int_eq(code_cache_init(&cache, s->image, &options), 0);
    stream_init(&stream, &s->config, &cache);
    for (size_t at = 0; at < s->unit; at += way->piece)
        stream_feed(&stream, s->bytes + at, s->unit - at < way->piece ? s->unit - at : way->piece,
                    &sink);
    stream_finish(&stream, &sink);
    flush(&sum, &sink.out);
    *blocks = stream_blocks(&stream);
    *epochs = cache.epoch;
    ck_assert_uint_eq(stream_instructions(&stream), s->instructions);
    code_cache_release(&cache);
    return sum;
}

START_TEST(blocks_do_not_depend_on_the_cache)
{
    static struct bench_stream s;
    struct bench_recipe recipe = {.name = sources[_i].name,
                                  .mix = {.name = "mixed",
                                          .isa = sources[_i].isa,
                                          .code_bytes = 64u << 10,
                                          .loops = 20,
                                          .calls = 30,
                                          .indirect = 10,
                                          .straight = 8},
                                  .protocol = sources[_i].protocol,
                                  .control = sources[_i].control,
                                  .unit = UNIT,
                                  .max_speculated = sources[_i].max_speculated};
    static const struct way ways[] = {
        {.max_ranges = CODE_RANGE_CHUNK, .piece = 65536},
        {.counts = true, .piece = 1000},
        {.packets = true, .piece = 65536},
        {.packets = true, .max_ranges = CODE_RANGE_CHUNK, .piece = 777}};
    uint64_t blocks, others;
    uint32_t epochs;
    ck_assert_int_eq(bench_stream_generate(&s, &recipe, UNIT), 0);
    struct sum first = decode(&s, &(struct way){.piece = 65536}, &blocks, &epochs);
    ck_assert_uint_gt(blocks, 1000);
    ck_assert_uint_eq(epochs, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct sum other = decode(&s, &ways[i], &others, &epochs);
        ck_assert_uint_eq(other.blocks, first.blocks);
        ck_assert_uint_eq(other.events, first.events);
        ck_assert_uint_eq(others, blocks);
        if (ways[i].max_ranges)
            ck_assert_uint_gt(epochs, 3);
    }
    bench_stream_release(&s);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("code_bound");
    unit_cases(s, "code: the same blocks with a small cache, and by the slow path",
               blocks_do_not_depend_on_the_cache, 0, sizeof sources / sizeof *sources);
    return s;
}
