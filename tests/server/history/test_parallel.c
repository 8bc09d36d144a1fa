/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/stream/stream_join.c. */
/*
 * Decoding in pieces by several threads, as a property: random executions, encoded with random
 * options and damaged at random places, give the same blocks,
 * counts and events as one decode. */
#include "server/history/parallel.h"
#include "tests/support/decoded.h"
#include "tests/support/random_next.h"
#include "tests/support/random_sample.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_FLOWS 40

typedef unsigned long long ull;

/* The property. */

struct joins {
    uint64_t pieces; /* but for the first of each decode, which has nothing to be joined to */
    uint64_t joined;
};

/* The bytes come in two parts, with a loss between them if `seed` says so. */
static void feed_all(struct decoded *d, struct parallel *p, const struct random_sample *s,
                     uint64_t seed)
{
    size_t half = random_pick(seed, 50, (unsigned)s->size);
    for (unsigned part = 0; part < 2; part++) {
        const uint8_t *from = s->bytes + part * half;
        size_t size = part ? s->size - half : half;
        if (p)
            ck_assert_int_eq(parallel_feed(p, from, size), 0);
        else
            stream_feed(&d->stream, from, size, &d->sink);
        if (part || random_pick(seed, 51, 4))
            continue;
        if (p)
            ck_assert_int_eq(parallel_drain(p), 0);
        stream_gap(&d->stream, BT_GAP_WIRE, 0, &d->sink);
    }
    if (p)
        ck_assert_int_eq(parallel_drain(p), 0);
    stream_finish(&d->stream, &d->sink);
    decoded_take(d);
}

static void check_counts(const struct stream *one, const struct stream *many, uint64_t seed)
{
    ck_assert_msg(one->packets == many->packets && one->skipped == many->skipped &&
                      stream_instructions(one) == stream_instructions(many) &&
                      stream_blocks(one) == stream_blocks(many) &&
                      stream_cycles(one) == stream_cycles(many) &&
                      stream_atoms_dropped(one) == stream_atoms_dropped(many) &&
                      stream_offset(one) == stream_offset(many) &&
                      stream_started(one) == stream_started(many),
                  "seed %llu: other counts", (ull)seed);
}

static void check_sample(const struct random_sample *s, uint64_t seed, struct joins *joins)
{
    static struct decoded one, many;
    struct parallel_options o = {.threads = 1 + random_pick(seed, 52, 3),
                                 .piece_bytes = 1024 + random_pick(seed, 53, 2048),
                                 .want_blocks = true,
                                 .joined = &joins->joined};
    decoded_init(&one, &s->config, &s->image);
    decoded_init(&many, &s->config, &s->image);
    struct parallel *p = parallel_new(&o, &s->config, &s->image, &many.stream, &many.sink);
    ck_assert_ptr_nonnull(p);
    feed_all(&one, NULL, s, seed);
    feed_all(&many, p, s, seed);
    joins->pieces += (s->size + o.piece_bytes - 1) / o.piece_bytes - 1;
    parallel_free(p);
    const char *difference = decoded_difference(&one, &many);
    ck_assert_msg(!difference, "seed %llu: %s", (ull)seed, difference);
    check_counts(&one.stream, &many.stream, seed);
    decoded_release(&one);
    decoded_release(&many);
}

/* What is never joined is the same without fail. */
static void check_joins(const struct joins *joins)
{
    ck_assert_msg(joins->joined > joins->pieces / 3, "%llu of %llu pieces were joined",
                  (ull)joins->joined, (ull)joins->pieces);
}

static unsigned flows(void)
{
    const char *count = getenv("BTRACED_PROPERTY_COUNT");
    return count ? (unsigned)atoi(count) : DEFAULT_FLOWS;
}

static void check_protocol(enum stream_protocol protocol)
{
    static struct random_sample s;
    struct joins joins = {0};
    for (unsigned i = 1; i <= flows(); i++) {
        ck_assert_int_eq(random_sample_init(&s, protocol, i), 0);
        check_sample(&s, i, &joins);
        random_sample_release(&s);
    }
    check_joins(&joins);
}

START_TEST(ptm)
{
    check_protocol(STREAM_PTM);
}
END_TEST

START_TEST(etmv3)
{
    check_protocol(STREAM_ETMV3);
}
END_TEST

START_TEST(etmv4)
{
    check_protocol(STREAM_ETMV4);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("parallel");
    unit_case(s, "parallel: PTM in pieces decodes to the same", ptm);
    unit_case(s, "parallel: ETMv3 in pieces decodes to the same", etmv3);
    unit_case(s, "parallel: ETMv4 and ETE in pieces decode to the same", etmv4);
    return s;
}
