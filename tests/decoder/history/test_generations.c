/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Code that changes on the way, also to what contradicts the trace, as a property: any split of the
 * input, any pauses, and the slow path instead of the fast one give the same.
 */
#include "tests/support/decoded.h"
#include "tests/support/random_sample.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 20

struct way {
    const char *name;
    size_t piece; /* bytes at once; 0: as many as can be */
    size_t pause; /* bytes after which the decoder's state is a copy without pointers; 0: never */
    bool packets; /* someone looks at packets: there is no fast path */
};

static const struct way ways[] = {{"in pieces", 13, 0, false},
                                  {"with pauses", 0, 96, false},
                                  {"the slow path", 0, 0, true},
                                  {"the slow path with pauses", 0, 50, true}};

static void see(void *ctx, const struct stream_packet *packet)
{
    (void)ctx;
    (void)packet;
}

/* Generations 1 and 3: other code, all zeros or random; 2: what was there before. */
static uint8_t *add_generations(struct random_sample *x, uint64_t seed)
{
    size_t count = x->image.count, largest = 0;
    for (size_t i = 0; i < count; i++)
        if (x->image.regions[i].size > largest)
            largest = (size_t)x->image.regions[i].size;
    uint8_t *other = calloc(1, largest);
    ck_assert_ptr_nonnull(other);
    struct trace_random random = {(uint32_t)seed + 1};
    for (size_t i = 0; i < largest && seed % 4 == 0; i++)
        other[i] = (uint8_t)(trace_random_next(&random) >> 24);
    for (unsigned g = 1; g <= 3; g++) {
        ck_assert_uint_eq(code_image_new_generation(&x->image), g);
        for (size_t i = 0; i < count; i++) {
            struct code_region r = x->image.regions[i];
            r.generation = g;
            r.bytes = g % 2 ? other : r.bytes;
            ck_assert_int_eq(code_image_add(&x->image, &r), 0);
        }
    }
    return other;
}

/* Bytes up to where something happens next: a multiple of `every`. */
static size_t up_to(size_t at, size_t n, size_t every)
{
    return every && n > every - at % every ? every - at % every : n;
}

static void decode(struct decoded *d, const struct random_sample *x, const struct way *way)
{
    size_t change = 37 + x->size % 61;
    decoded_init(d, &x->config, &x->image);
    d->sink.packet = way->packets ? see : NULL;
    for (size_t at = 0, n; at < x->size; at += n) {
        n = up_to(at, up_to(at, up_to(at, x->size - at, change), way->pause), way->piece);
        decoded_feed(d, x->bytes + at, n, 0);
        if ((at + n) % change == 0)
            stream_set_generation(&d->stream, (uint32_t)((at + n) / change % 4), &d->sink);
        if (way->pause && (at + n) % way->pause == 0) {
            struct stream saved;
            stream_save(&d->stream, &saved);
            stream_resume(&d->stream, &saved, &d->code);
        }
    }
    stream_finish(&d->stream, &d->sink);
    decoded_take(d);
}

static void check(enum stream_protocol protocol, uint64_t seed)
{
    static struct random_sample x;
    static struct decoded straight, other;
    ck_assert_int_eq(random_sample_init(&x, protocol, seed), 0);
    uint8_t *code = add_generations(&x, seed);
    decode(&straight, &x, &(struct way){.name = "straight"});
    ck_assert_uint_gt(straight.block_count, 100);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        decode(&other, &x, &ways[i]);
        const char *difference = decoded_difference(&straight, &other);
        ck_assert_msg(!difference, "seed %u, %s: %s", (unsigned)seed, ways[i].name, difference);
        decoded_release(&other);
    }
    decoded_release(&straight);
    random_sample_release(&x);
    free(code);
}

static const enum stream_protocol protocols[] = {STREAM_PTM, STREAM_ETMV3, STREAM_ETMV4};

START_TEST(code_changes_on_the_way)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        check(protocols[_i], seed);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("generations");
    unit_cases(s, "code that changes on the way: any split, pauses, the slow path",
               code_changes_on_the_way, 0, sizeof protocols / sizeof *protocols);
    return s;
}
