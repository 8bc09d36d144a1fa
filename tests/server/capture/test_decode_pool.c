/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/history/history_parts.c. */
/*
 * Histories that several threads decode, as a property: random executions, encoded with random
 * options and damaged at random places, and plain noise, give the history that one thread makes,
 * whatever the pieces, with losses and new generations of the code between them.
 */
#include "drivers/virtual/encoder/trace_bytes.h"
#include "server/capture/decode_pool.h"
#include "tests/support/history_difference.h"
#include "tests/support/random_sample.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 25
#define SOURCES       3
#define NOISE         30000

/* The same trace in all sources, at different paces. */
struct both {
    struct history *one[SOURCES], *many[SOURCES];
    size_t at[SOURCES];
    struct decode_pool *pool;
    uint64_t windows;
};

static void both_open(struct both *b, const struct stream_config *config,
                      const struct code_image *image, struct trace_random *random)
{
    const struct history_config h = {
        .checkpoint_bytes = 1024u << trace_random_below(random, 3),
        .max_bytes = 64u << (10 + 6 * trace_random_below(random, 2)),
    };
    memset(b, 0, sizeof *b);
    for (unsigned i = 0; i < SOURCES; i++) {
        ck_assert_int_eq(history_new(&h, config, image, &b->one[i]), 0);
        ck_assert_int_eq(history_new(&h, config, image, &b->many[i]), 0);
    }
    ck_assert_int_eq(
        decode_pool_new(2 + trace_random_below(random, 3), true, b->many, SOURCES, &b->pool), 0);
}

static void both_close(struct both *b)
{
    decode_pool_free(b->pool);
    for (unsigned i = 0; i < SOURCES; i++) {
        history_free(b->one[i]);
        history_free(b->many[i]);
    }
}

static void both_compare(struct both *b, uint64_t seed)
{
    ck_assert_int_eq(decode_pool_run(b->pool), 0);
    for (unsigned i = 0; i < SOURCES; i++) {
        const char *difference = history_difference(b->one[i], b->many[i]);
        ck_assert_msg(!difference, "seed %llu, source %u: %s", (unsigned long long)seed, i,
                      difference);
        ck_assert_uint_eq(history_pending(b->many[i]), 0);
    }
}

/* Something that happens between two pieces of source `i`. */
static void both_interrupt(struct both *b, unsigned i, struct trace_random *random)
{
    if (trace_random_percent(random, 60))
        return;
    ck_assert_int_eq(decode_pool_run(b->pool), 0);
    if (trace_random_percent(random, 70)) {
        ck_assert_int_eq(history_gap(b->one[i], BT_GAP_WIRE, 7), 0);
        ck_assert_int_eq(history_gap(b->many[i], BT_GAP_WIRE, 7), 0);
    } else {
        uint32_t generation = trace_random_below(random, 3);
        ck_assert_int_eq(history_set_generation(b->one[i], generation), 0);
        ck_assert_int_eq(history_set_generation(b->many[i], generation), 0);
    }
}

static void both_feed(struct both *b, const uint8_t *bytes, size_t size, uint64_t seed,
                      struct trace_random *random)
{
    for (bool more = true; more;) {
        more = false;
        for (unsigned i = 0; i < SOURCES; i++) {
            size_t n = 1 + trace_random_below(random, trace_random_percent(random, 50) ? 40 : 9000);
            n = n < size - b->at[i] ? n : size - b->at[i];
            ck_assert_int_eq(history_append(b->one[i], bytes + b->at[i], n), 0);
            ck_assert_int_eq(history_store(b->many[i], bytes + b->at[i], n), 0);
            b->at[i] += n;
            more |= b->at[i] < size;
            if (trace_random_percent(random, 10))
                both_interrupt(b, i, random);
        }
        if (trace_random_percent(random, 20))
            ck_assert_int_eq(decode_pool_run(b->pool), 0);
        if (trace_random_percent(random, 5))
            both_compare(b, seed);
    }
    for (unsigned i = 0; i < SOURCES; i++)
        b->windows += history_windows_dropped(b->many[i]) + history_window_count(b->many[i]);
    both_compare(b, seed);
    for (unsigned i = 0; i < SOURCES; i++) {
        history_finish(b->one[i]);
        history_finish(b->many[i]);
    }
    both_compare(b, seed);
    for (unsigned i = 0; i < SOURCES; i++) {
        ck_assert_int_eq(history_again(b->one[i]), 0);
        ck_assert_int_eq(history_again(b->many[i]), 0);
    }
    both_compare(b, seed);
}

static unsigned flows(void)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    return count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
}

/* What is never taken from another decode is the same without fail. */
START_TEST(as_one_thread)
{
    static const enum stream_protocol protocols[] = {STREAM_PTM, STREAM_ETMV3, STREAM_ETMV4};
    static struct random_sample s;
    uint64_t windows = 0, joined = 0;
    for (unsigned seed = 1; seed <= flows(); seed++) {
        struct trace_random random = {seed};
        struct both b;
        ck_assert_int_eq(random_sample_init(&s, protocols[_i], seed), 0);
        both_open(&b, &s.config, &s.image, &random);
        both_feed(&b, s.bytes, s.size, seed, &random);
        windows += b.windows;
        joined += decode_pool_joined(b.pool);
        both_close(&b);
        random_sample_release(&s);
    }
    printf("protocol %d: %llu windows, %llu joined\n", protocols[_i], (unsigned long long)windows,
           (unsigned long long)joined);
    ck_assert_uint_gt(joined, windows / 100);
}
END_TEST

/* Also those protocols whose decodes cannot be joined. */
START_TEST(noise)
{
    static uint8_t bytes[NOISE];
    struct code_image image;
    code_image_init(&image);
    for (unsigned seed = 1; seed <= 1 + flows() / 10; seed++) {
        struct trace_random random = {seed};
        struct stream_config config = {.protocol = (enum stream_protocol)_i, .etmv1.port.bits = 4};
        struct both b;
        for (size_t i = 0; i < NOISE; i++) /* with runs of zeros: synchronisations */
            bytes[i] = i % 64 < 12 ? 0 : (uint8_t)trace_random_below(&random, 256);
        both_open(&b, &config, &image, &random);
        both_feed(&b, bytes, NOISE, seed, &random);
        both_close(&b);
    }
    code_image_release(&image);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("decode_pool");
    unit_cases(s, "decode pool: PTM, ETMv3, ETMv4 and ETE as by one thread", as_one_thread, 0, 3);
    unit_cases(s, "decode pool: noise of every protocol as by one thread", noise, 0,
               STREAM_PROTOCOLS);
    return s;
}
