/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/stm/stm.c and decoder/stm/stm_flow.c. */
/* Random streams: whatever the cuts, the packets are those that were encoded; behind damage they
 * are again from the next synchronisation on. */
#include "decoder/stream/stream.h"
#include "tests/support/decoded.h"
#include "tests/support/random_next.h"
#include "tests/support/random_stm.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PACKETS 4000
#define PERIOD  30
#define AT_MOST 8 /* packets at a time */

static struct random_stm truth;
static struct stm_packet got[RANDOM_STM_BYTES];
static size_t got_count;

/* $STM_SEED, or another one each time. */
static uint32_t stm_seed(void)
{
    const char *given = getenv("STM_SEED");
    uint32_t seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("STM_SEED=%u\n", seed);
    fflush(stdout);
    return seed;
}

static void parse_cut(struct stm *p, const uint8_t *data, size_t size, uint32_t *seed)
{
    while (size) {
        size_t piece = 1 + (random_next(seed) >> 16) % 30;
        piece = piece < size ? piece : size;
        for (size_t used, count, at = 0; at < piece; at += used, got_count += count) {
            ck_assert_uint_lt(got_count + AT_MOST, RANDOM_STM_BYTES);
            used = stm_parse(p, data + at, piece - at, got + got_count, AT_MOST, &count);
            ck_assert(used || count);
        }
        data += piece;
        size -= piece;
    }
}

static void parse_whole(const uint8_t *data, size_t size, uint32_t *seed)
{
    static const struct stm_config config;
    struct stm p;
    stm_init(&p, &config);
    got_count = 0;
    parse_cut(&p, data, size, seed);
    got_count += stm_finish(&p, got + got_count);
}

static bool same_packet(const struct stm_packet *a, const struct stm_packet *b)
{
    if (a->kind == STM_ASYNC || b->kind == STM_ASYNC)
        return a->kind == b->kind;
    return a->kind == b->kind && a->value == b->value && a->bits == b->bits &&
           a->flags == b->flags && a->stamp == b->stamp && a->stamp_bits == b->stamp_bits &&
           (!(a->flags & STM_TIME_KNOWN) || a->time == b->time) && a->master == b->master &&
           a->channel == b->channel && a->phase == b->phase;
}

START_TEST(what_was_encoded)
{
    uint32_t seed = stm_seed();
    for (unsigned round = 0; round < 8; round++) {
        random_stm_make(&truth, seed + round, PACKETS, PERIOD);
        parse_whole(truth.bytes, truth.nibbles / 2, &seed);
        ck_assert_uint_eq(got_count, truth.count);
        for (size_t i = 0; i < truth.count; i++) {
            const struct stm_packet *k = &truth.packets[i];
            ck_assert_msg(same_packet(&got[i], k) && got[i].offset == k->offset &&
                              got[i].size == (k->phase + k->size + 1) / 2,
                          "packet %zu at %llu", i, (unsigned long long)k->offset);
        }
    }
}
END_TEST

/* Behind the second synchronisation after `at` all is as it was. */
static void check_tail(size_t at, uint64_t moved)
{
    unsigned seen = 0;
    size_t from = truth.count;
    for (size_t i = 0; i < truth.count && seen < 2; i++) {
        if (truth.packets[i].kind == STM_ASYNC && truth.packets[i].offset > at && ++seen == 2)
            from = i;
    }
    for (size_t i = truth.count, k = got_count; i > from; i--) {
        ck_assert_uint_gt(k, 0);
        k--;
        ck_assert_msg(got[k].offset == truth.packets[i - 1].offset + moved &&
                          same_packet(&got[k], &truth.packets[i - 1]),
                      "packet %zu", i - 1);
    }
}

START_TEST(damage_ends_at_a_synchronisation)
{
    uint32_t seed = stm_seed();
    static uint8_t bytes[RANDOM_STM_BYTES + 1];
    for (unsigned round = 0; round < 60; round++) {
        random_stm_make(&truth, seed + round, PACKETS / 8, PERIOD);
        size_t size = truth.nibbles / 2, at = 12 + random_next(&seed) % (size / 2);
        unsigned how = round % 3;
        memcpy(bytes, truth.bytes, at);
        if (how == 0) { /* a bit of one byte */
            memcpy(bytes + at, truth.bytes + at, size - at);
            bytes[at] ^= (uint8_t)(1u << (seed >> 29));
        } else if (how == 1) { /* dropped */
            memcpy(bytes + at, truth.bytes + at + 1, size - at - 1);
        } else { /* twice */
            bytes[at] = truth.bytes[at];
            memcpy(bytes + at + 1, truth.bytes + at, size - at);
        }
        uint64_t moved = how == 0 ? 0 : how == 1 ? UINT64_MAX : 1;
        parse_whole(bytes, size + moved, &seed);
        check_tail(at, moved);
    }
}
END_TEST

START_TEST(events_are_the_same_however_it_is_cut)
{
    uint32_t seed = stm_seed();
    const struct stream_config config = {.protocol = STREAM_STM};
    struct code_image image;
    static struct decoded a, b;
    random_stm_make(&truth, seed, PACKETS, PERIOD);
    code_image_init(&image);
    decoded_init(&a, &config, &image);
    decoded_init(&b, &config, &image);
    decoded_feed(&a, truth.bytes, truth.nibbles / 2, 0);
    decoded_feed(&b, truth.bytes, truth.nibbles / 2, seed | 1);
    stream_gap(&a.stream, BT_GAP_LOST_BYTES, 3, &a.sink);
    stream_gap(&b.stream, BT_GAP_LOST_BYTES, 3, &b.sink);
    stream_finish(&a.stream, &a.sink);
    stream_finish(&b.stream, &b.sink);
    decoded_take(&a);
    decoded_take(&b);
    const char *difference = decoded_difference(&a, &b);
    ck_assert_msg(!difference, "%s", difference);
    size_t written = 0, stimuli = 0;
    for (size_t i = 0; i < truth.count; i++)
        written += truth.packets[i].kind == STM_DATA || truth.packets[i].kind == STM_FLAG;
    for (size_t i = 0; i < a.event_count; i++)
        stimuli += a.events[i].kind == BT_EVENT_STIMULUS;
    ck_assert_uint_eq(stimuli, written);
    decoded_release(&a);
    decoded_release(&b);
    code_image_release(&image);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("stm");
    unit_case(s, "what_was_encoded", what_was_encoded);
    unit_case(s, "damage_ends_at_a_synchronisation", damage_ends_at_a_synchronisation);
    unit_case(s, "events_are_the_same_however_it_is_cut", events_are_the_same_however_it_is_cut);
    return s;
}
