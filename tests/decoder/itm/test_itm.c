/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/itm/itm.c and decoder/itm/itm_flow.c. */
/* Random streams: whatever the cuts, the packets are those that were encoded; behind damage they
 * are again from the next synchronisation on; no packet holds anything back. */
#include "decoder/stream/stream.h"
#include "tests/support/decoded.h"
#include "tests/support/random_itm.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PACKETS 4000
#define PERIOD  40

static struct random_itm truth;
static struct itm_packet got[RANDOM_ITM_BYTES];
static size_t got_count;

/* $ITM_SEED, or another one each time. */
static uint32_t itm_seed(void)
{
    const char *given = getenv("ITM_SEED");
    uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("ITM_SEED=%u\n", seed);
    fflush(stdout);
    return seed;
}

/* In pieces of random length, into few packets at a time. */
static void parse_cut(struct itm *p, const uint8_t *data, size_t size, uint32_t *seed)
{
    while (size) {
        size_t piece = 1 + (random_next(seed) >> 16) % 20;
        piece = piece < size ? piece : size;
        for (size_t used, count, at = 0; at < piece; at += used, got_count += count) {
            ck_assert_uint_lt(got_count + 3, RANDOM_ITM_BYTES);
            used = itm_parse(p, data + at, piece - at, got + got_count, 3, &count);
            ck_assert(used || count);
        }
        data += piece;
        size -= piece;
    }
}

static void parse_whole(const uint8_t *data, size_t size, uint32_t *seed)
{
    static const struct itm_config config = {.prescaler = 1};
    struct itm p;
    itm_init(&p, &config);
    got_count = 0;
    parse_cut(&p, data, size, seed);
    got_count += itm_finish(&p, got + got_count);
}

static bool same_packet(const struct itm_packet *a, const struct itm_packet *b)
{
    return a->value == b->value && a->size == b->size && a->number == b->number &&
           a->kind == b->kind && a->bytes == b->bytes && a->bits == b->bits &&
           a->relation == b->relation && a->flags == b->flags;
}

START_TEST(what_was_encoded)
{
    uint32_t seed = itm_seed();
    random_itm_make(&truth, seed, PACKETS, PERIOD);
    parse_whole(truth.bytes, truth.size, &seed);
    ck_assert_uint_eq(got_count, truth.count);
    for (size_t i = 0; i < truth.count; i++)
        ck_assert_msg(same_packet(&got[i], &truth.packets[i]) &&
                          got[i].offset == truth.packets[i].offset,
                      "packet %zu at %llu", i, (unsigned long long)truth.packets[i].offset);
}
END_TEST

/* Packets that begin in [from, end) of the truth are those at the end of what was decoded. */
static void check_tail(size_t from, uint64_t moved)
{
    size_t i = truth.count, k = got_count;
    while (i > 0 && truth.packets[i - 1].offset >= from) {
        ck_assert_uint_gt(k, 0);
        i--, k--;
        ck_assert_msg(got[k].offset == truth.packets[i].offset + moved, "packet %zu moved", i);
        if (truth.packets[i].kind == ITM_ASYNC && k == 0)
            break;
        /* A page that was lost goes on with the next one. */
        bool paged = truth.packets[i].kind == ITM_SOFTWARE;
        struct itm_packet a = got[k], b = truth.packets[i];
        if (paged)
            a.number %= 32, b.number %= 32;
        ck_assert_msg(same_packet(&a, &b), "packet %zu", i);
    }
}

/* The second synchronisation behind `at`: one may be what the damage hit. */
static size_t sync_behind(size_t at)
{
    unsigned seen = 0;
    for (size_t i = 0; i < truth.count; i++)
        if (truth.packets[i].kind == ITM_ASYNC && truth.packets[i].offset > at && ++seen == 2)
            return truth.packets[i].offset + truth.packets[i].size;
    return truth.size;
}

START_TEST(damage_ends_at_a_synchronisation)
{
    uint32_t seed = itm_seed();
    static uint8_t bytes[RANDOM_ITM_BYTES + 1];
    for (unsigned round = 0; round < 60; round++) {
        random_itm_make(&truth, seed + round, PACKETS / 8, PERIOD);
        size_t at = 8 + random_next(&seed) % (truth.size / 2);
        unsigned how = round % 3;
        memcpy(bytes, truth.bytes, at);
        if (how == 0) { /* a bit of one byte */
            memcpy(bytes + at, truth.bytes + at, truth.size - at);
            bytes[at] ^= (uint8_t)(1u << (seed >> 29));
        } else if (how == 1) { /* dropped */
            memcpy(bytes + at, truth.bytes + at + 1, truth.size - at - 1);
        } else { /* twice */
            bytes[at] = truth.bytes[at];
            memcpy(bytes + at + 1, truth.bytes + at, truth.size - at);
        }
        uint64_t moved = how == 0 ? 0 : how == 1 ? UINT64_MAX : 1;
        parse_whole(bytes, truth.size + moved, &seed);
        check_tail(sync_behind(at), moved);
    }
}
END_TEST

START_TEST(a_loss_waits_for_a_synchronisation)
{
    static const uint8_t stream[] = {0, 0, 0, 0, 0, 0x80, 0x01, 'A', 0x0b, 'x'};
    static const uint8_t later[] = {'y', 0x01, 'z', 0, 0, 0, 0, 0, 0x80, 0x01, 'B'};
    static const struct itm_config config = {.prescaler = 1};
    struct itm p;
    uint32_t seed = 1;
    itm_init(&p, &config);
    got_count = 0;
    parse_cut(&p, stream, sizeof stream, &seed);
    itm_discontinuity(&p);
    parse_cut(&p, later, sizeof later, &seed);
    ck_assert_uint_eq(got_count, 5);
    ck_assert_uint_eq(got[2].kind, ITM_UNSYNCED);
    ck_assert_uint_eq(got[2].offset, 10);
    ck_assert_uint_eq(got[4].value, 'B');
}
END_TEST

static void init_stream(struct decoded *d, struct code_image *image)
{
    const struct stream_config config = {.protocol = STREAM_ITM, .itm = {.prescaler = 1}};
    code_image_init(image);
    decoded_init(d, &config, image);
}

/* Blocks there are none; events do not depend on the cuts. */
START_TEST(events_are_the_same_however_it_is_cut)
{
    uint32_t seed = itm_seed();
    struct code_image image;
    static struct decoded a, b;
    random_itm_make(&truth, seed, PACKETS, PERIOD);
    init_stream(&a, &image);
    init_stream(&b, &image);
    decoded_feed(&a, truth.bytes, truth.size, 0);
    decoded_feed(&b, truth.bytes, truth.size, seed | 1);
    stream_gap(&a.stream, BT_GAP_LOST_BYTES, 3, &a.sink);
    stream_gap(&b.stream, BT_GAP_LOST_BYTES, 3, &b.sink);
    stream_finish(&a.stream, &a.sink);
    stream_finish(&b.stream, &b.sink);
    decoded_take(&a);
    decoded_take(&b);
    const char *difference = decoded_difference(&a, &b);
    ck_assert_msg(!difference, "%s", difference);
    ck_assert_uint_eq(a.block_count, 0);
    size_t written = 0, stimuli = 0;
    for (size_t i = 0; i < truth.count; i++)
        written += truth.packets[i].kind == ITM_SOFTWARE;
    for (size_t i = 0; i < a.event_count; i++)
        stimuli += a.events[i].kind == BT_EVENT_STIMULUS;
    ck_assert_uint_eq(stimuli, written);
    ck_assert_uint_eq(a.events[a.event_count - 1].cause, BT_GAP_LOST_BYTES);
    decoded_release(&a);
    decoded_release(&b);
    code_image_release(&image);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("itm");
    unit_case(s, "what_was_encoded", what_was_encoded);
    unit_case(s, "damage_ends_at_a_synchronisation", damage_ends_at_a_synchronisation);
    unit_case(s, "a_loss_waits_for_a_synchronisation", a_loss_waits_for_a_synchronisation);
    unit_case(s, "events_are_the_same_however_it_is_cut", events_are_the_same_however_it_is_cut);
    return s;
}
