/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests counts_times.c on what decoders count in steps (code_steps.c, etmv3_steps.c): random
 * executions, encoded with random options and damaged at random places, are counted as if each
 * block were, and their transfers and events told alike. */
#include "decoder/counts/counts_table.h"
#include "decoder/stream/stream_join.h"
#include "tests/support/random_sample.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_FLOWS 40
/* A seed; of PTM: Debug state is left to another function, behind a range that leads into none. */
#define LEAVES_DEBUG 1164u
#define TURNS        3u /* of the same bytes: so ways come again */
#define EVENTS       512u
#define BLOCKS       1024u
#define FUNCTION     64u /* bytes */

typedef unsigned long long ull;

/* One way to count. */
struct side {
    struct counts counts;
    struct code_cache code;
    struct stream stream;
    struct stream_sink sink;
    uint64_t steps; /* that blocks were in place of */
    uint64_t told, sum;
    struct bt_event events[EVENTS];
    struct bt_block blocks[BLOCKS];
};

static void side_told(struct side *s, const uint64_t *all, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        s->sum = (s->sum ^ all[i]) * 0x100000001b3u;
    s->told++;
}

static void side_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                          uint64_t cycles)
{
    uint64_t all[] = {edge->from, edge->block.first, edge->kind, edge->behind, number, cycles};
    side_told(ctx, all, sizeof all / sizeof *all);
}

static void side_transfers(void *ctx, const struct counts_transfer *transfers, size_t count,
                           uint64_t cycles)
{
    for (size_t i = 0; i < count; i++)
        side_transfer(ctx, transfers[i].edge, transfers[i].number, cycles);
}

static void side_event(void *ctx, const struct bt_event *event, uint64_t cycles)
{
    uint64_t all[] = {event->kind, event->position, cycles};
    side_told(ctx, all, sizeof all / sizeof *all);
}

/* Functions that are small: many a branch leads from one into another. */
static uint64_t side_function(void *ctx, uint64_t address)
{
    (void)ctx;
    return address & ~(uint64_t)(FUNCTION - 1);
}

static void side_take(void *ctx, struct flow_out *out)
{
    struct side *s = ctx;
    for (size_t i = 0; i < out->block_count; i++)
        s->steps += flow_step_of(&out->blocks[i]) != NULL;
    if (s->counts.config.times)
        counts_feed_times(&s->counts, out, stream_instructions(&s->stream));
    else
        counts_feed(&s->counts, out);
    out->block_count = out->event_count = 0;
    if (s->counts.config.times)
        counts_room(&s->counts, out);
}

static void side_init(struct side *s, const struct random_sample *sample, bool steps, bool follows)
{
    struct code_options options;
    struct code_key key;
    struct counts_config config = {.times = steps};
    stream_code_options(&sample->config, &options);
    s->steps = s->told = s->sum = 0;
    if (follows) {
        config.function = side_function;
        config.transfer = side_transfer;
        config.transfers = side_transfers;
        config.event = side_event;
        config.ctx = s;
    }
    if (steps) {
        options.times = counts_times;
        options.leaves = follows ? counts_leaves : NULL;
        options.ctx = &s->counts;
    }
    ck_assert_int_eq(code_cache_init(&s->code, &sample->image, &options), 0);
    config.steps = s->code.steps;
    stream_init(&s->stream, &sample->config, &s->code);
    stream_code_key(&s->stream, &key);
    ck_assert_int_eq(counts_init(&s->counts, &config, &sample->image, &key), 0);
    s->sink = (struct stream_sink){
        .out = {.blocks = s->blocks, .events = s->events, .block_max = BLOCKS, .event_max = EVENTS},
        .flush = side_take,
        .ctx = s};
    if (steps)
        counts_room(&s->counts, &s->sink.out);
}

static void side_feed(struct side *s, const struct random_sample *sample)
{
    stream_feed(&s->stream, sample->bytes, sample->size, &s->sink);
    stream_gap(&s->stream, BT_GAP_WIRE, 0, &s->sink); /* the begin does not follow the end */
    side_take(s, &s->sink.out);
}

static void compare_tables(struct side *each, struct side *steps, uint64_t seed)
{
    struct counts_table a, b;
    counts_table_init(&a);
    counts_table_init(&b);
    ck_assert_int_eq(counts_table_add(&a, &each->counts), 0);
    ck_assert_int_eq(counts_table_add(&b, &steps->counts), 0);
    counts_table_sort(&a);
    counts_table_sort(&b);
    ck_assert_msg(a.count == b.count, "seed %llu: other instructions", (ull)seed);
    for (size_t i = 0; i < a.count; i++) {
        ck_assert_msg(memcmp(&a.insns[i], &b.insns[i], sizeof a.insns[i]) == 0,
                      "seed %llu: other counts at 0x%llx", (ull)seed, (ull)a.insns[i].address);
    }
    counts_table_release(&a);
    counts_table_release(&b);
}

static uint64_t check_sample(const struct random_sample *sample, uint64_t seed, bool follows,
                             uint64_t *back, uint64_t *told)
{
    static struct side each, steps;
    side_init(&each, sample, false, follows);
    side_init(&steps, sample, true, follows);
    for (unsigned i = 0; i < TURNS; i++) {
        side_feed(&each, sample);
        side_feed(&steps, sample);
        ck_assert_msg(stream_blocks(&each.stream) == stream_blocks(&steps.stream) &&
                          stream_instructions(&each.stream) == stream_instructions(&steps.stream) &&
                          each.counts.number == steps.counts.number &&
                          each.counts.taken_back == steps.counts.taken_back,
                      "seed %llu: other numbers", (ull)seed);
        /* Where nobody follows transfers, what an event changes of the way is only known behind the
         * next block. */
        ck_assert_msg(follows || each.counts.has_exception ||
                          each.counts.from != steps.counts.from ||
                          counts_same(&each.counts, &steps.counts, stream_doubtful(&each.stream)),
                      "seed %llu: other newest blocks", (ull)seed);
    }
    ck_assert_msg(each.told == steps.told && each.sum == steps.sum, "seed %llu: other transfers",
                  (ull)seed);
    *back += steps.counts.taken_back;
    *told += steps.told;
    code_cache_report_times(&steps.code);
    compare_tables(&each, &steps, seed);
    code_cache_release(&each.code);
    code_cache_release(&steps.code);
    counts_release(&each.counts);
    counts_release(&steps.counts);
    return steps.steps;
}

static void check_protocol(enum stream_protocol protocol, bool follows)
{
    static struct random_sample s;
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    unsigned flows = count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
    uint64_t steps = 0, back = 0, told = 0;
    for (unsigned i = 0; i <= flows; i++) {
        unsigned seed = i ? i : LEAVES_DEBUG;
        ck_assert_int_eq(random_sample_init(&s, protocol, seed), 0);
        steps += check_sample(&s, seed, follows, &back, &told);
        random_sample_release(&s);
    }
    printf("# %llu steps, %llu instructions taken back, %llu transfers and events told\n",
           (ull)steps, (ull)back, (ull)told);
    ck_assert(back > 0 || flows < DEFAULT_FLOWS);
    ck_assert(steps > 0);
    ck_assert(told > 0 || !follows);
}

START_TEST(ptm)
{
    check_protocol(STREAM_PTM, false);
    check_protocol(STREAM_PTM, true);
}
END_TEST

START_TEST(etmv3)
{
    check_protocol(STREAM_ETMV3, false);
    check_protocol(STREAM_ETMV3, true);
}
END_TEST

START_TEST(etmv4)
{
    check_protocol(STREAM_ETMV4, false);
    check_protocol(STREAM_ETMV4, true);
}
END_TEST

/* Ranges go: their steps are not found any more, but the blocks of those in a batch stay, and their
 * places are not given away. */
START_TEST(dropped)
{
    struct code_range ranges[2] = {{.extent = 4}, {.extent = 8}};
    struct code_step_way way;
    struct code_steps *s = code_steps_new();
    ck_assert_ptr_nonnull(s);
    for (unsigned i = 0; i < 2; i++) {
        code_step_way_init(&way, &ranges[i]);
        ck_assert(code_step_way_add(&way, &ranges[i], 0));
        ck_assert_ptr_nonnull(code_step_add(s, &ranges[i], 1, &way));
    }
    struct code_step *first = code_step_find(s, &ranges[0], 1);
    ck_assert_ptr_nonnull(first);
    code_steps_drop(s);
    ck_assert_ptr_null(code_step_find(s, &ranges[0], 1));
    ck_assert_ptr_null(code_step_find(s, &ranges[1], 1));
    code_step_way_init(&way, &ranges[0]);
    ck_assert(code_step_way_add(&way, &ranges[1], 1));
    struct code_step *again = code_step_add(s, &ranges[0], 1, &way);
    ck_assert_ptr_nonnull(again);
    ck_assert_ptr_ne(again, first);
    ck_assert_uint_eq(code_step_blocks(s, first)->extent, 4);
    ck_assert_uint_eq(code_step_blocks(s, again)->extent, 8);
    while ((again = code_step_add(s, &ranges[0], 1, &way)))
        ck_assert_ptr_ne(again, first);
    ck_assert(!code_step_has_room(s, &ranges[0], 1));
    code_steps_free(s);
}
END_TEST

/* Steps of one range with one header, from different places in it, and the one from its begin found
 * where the others are and where ranges are looked for. */
START_TEST(places)
{
    struct code_steps *s = code_steps_new();
    struct code_range *range = aligned_alloc(CODE_PLACES, CODE_PLACES);
    ck_assert_ptr_nonnull(s);
    ck_assert_ptr_nonnull(range);
    for (uint32_t header = 1; header < 100; header += 7) {
        for (unsigned at = 0; at < CODE_PLACES; at++) {
            char *place = (char *)range + at;
            struct code_step_way way;
            code_step_way_init(&way, place);
            struct code_step *step = code_step_add(s, place, header, &way);
            ck_assert_ptr_nonnull(step);
            ck_assert_ptr_eq(code_step_find(s, place, header), step);
            ck_assert(!code_step_at(s, place, header) || code_step_at(s, place, header) == step);
        }
        ck_assert_ptr_eq(code_step_at_range(s, range, header), code_step_at(s, range, header));
    }
    ck_assert_ptr_nonnull(code_step_at_range(s, range, 1));
    free(range);
    code_steps_free(s);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("counts in steps");
    unit_case(suite, "ptm", ptm);
    unit_case(suite, "etmv3", etmv3);
    unit_case(suite, "etmv4", etmv4);
    unit_case(suite, "dropped", dropped);
    unit_case(suite, "places", places);
    return suite;
}
