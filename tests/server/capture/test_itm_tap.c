/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/capture/itm_tap.c. */
/* Random packets of an ITM, in pieces of random sizes, with losses: what a console and a client get
 * of them. */
#include "server/capture/itm_tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_itm.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#define SEEDS    30
#define PACKETS  4000
#define ACCESSES 2000

struct wanted {
    uint8_t bytes[2 * RANDOM_ITM_BYTES];
    size_t used;
};

static struct random_itm stream;
static struct wanted text, packets;
static unsigned woken;

static void on_wake(void *ctx)
{
    (void)ctx;
    woken++;
}

static void add(struct wanted *w, const uint8_t *bytes, size_t len)
{
    memcpy(w->bytes + w->used, bytes, len);
    w->used += len;
}

/* `page_known`: no packet was lost since the page was told; before it is page 0. */
static void expect_packet(const struct itm_packet *k, bool page_known)
{
    unsigned port = page_known ? k->number : k->number % 32;
    if (k->kind == ITM_ASYNC) {
        add(&packets, (const uint8_t[]){0, 0, 0, 0, 0, 0x80}, 6);
        return;
    }
    if (k->kind == ITM_GLOBAL_LOW || k->kind == ITM_GLOBAL_HIGH || k->kind == ITM_PAGE ||
        k->kind == ITM_EXTENSION)
        return;
    for (unsigned i = 0; k->kind == ITM_SOFTWARE && port == 0 && i < k->bytes; i++) {
        uint8_t c = (uint8_t)(k->value >> 8 * i);
        if (c && c != '\r')
            add(&text, &c, 1);
    }
    if (k->kind != ITM_SOFTWARE || port < 32)
        add(&packets, stream.bytes + k->offset, k->size);
}

/* What is lost are the bytes of packets `lost` and the next ones up to `goes_on`. */
static void expect_stream(size_t lost, size_t goes_on)
{
    bool synced = true, page_known = true;
    text.used = packets.used = 0;
    for (size_t i = 0; i < stream.count; i++) {
        const struct itm_packet *k = &stream.packets[i];
        if (i == lost)
            synced = page_known = false;
        if (i >= lost && i < goes_on)
            continue;
        if (!synced && k->kind == ITM_ASYNC) {
            synced = true;
            add(&packets, (const uint8_t[]){0x70}, 1);
        }
        page_known |= synced && k->kind == ITM_PAGE;
        if (synced)
            expect_packet(k, page_known);
    }
}

static void feed(struct itm_tap *t, const uint8_t *bytes, size_t len, uint32_t *seed)
{
    for (size_t at = 0, n; at < len; at += n) {
        n = 1 + (random_next(seed) >> 12) % 300;
        n = n < len - at ? n : len - at;
        itm_tap_bytes(t, bytes + at, n);
    }
}

static void compare(struct itm_tap *t, enum itm_tap_kind kind, const struct wanted *w,
                    uint32_t *seed)
{
    static uint8_t got[2 * RANDOM_ITM_BYTES];
    size_t used = 0;
    for (size_t n = 1; n > 0; used += n)
        n = itm_tap_take(t, kind, got + used, 1 + (random_next(seed) >> 12) % 1000);
    ck_assert_uint_eq(used, w->used);
    ck_assert(memcmp(got, w->bytes, used) == 0);
}

START_TEST(random_streams)
{
    struct itm_tap tap;
    struct itm_tap_counts counts;
    uint32_t seed = (uint32_t)_i + 1;
    size_t writes = 0;
    printf("seed %u\n", seed);
    random_itm_make(&stream, seed, PACKETS, 50);
    ck_assert_int_eq(itm_tap_open(&tap, on_wake, NULL), 0);
    itm_tap_want(&tap, ITM_TAP_TEXT, true);
    itm_tap_want(&tap, ITM_TAP_PACKETS, true);
    expect_stream(stream.count, stream.count);
    feed(&tap, stream.bytes, stream.size, &seed);
    for (size_t i = 0; i < stream.count; i++)
        writes += stream.packets[i].kind == ITM_SOFTWARE;
    itm_tap_counts(&tap, &counts);
    ck_assert(counts.writes == writes && counts.damaged == 0 && counts.dropped == 0);
    compare(&tap, ITM_TAP_TEXT, &text, &seed);
    compare(&tap, ITM_TAP_PACKETS, &packets, &seed);
    ck_assert_uint_gt(woken, 0);
    itm_tap_close(&tap);
}
END_TEST

START_TEST(losses)
{
    struct itm_tap tap;
    uint32_t seed = (uint32_t)_i + 1;
    printf("seed %u\n", seed);
    random_itm_make(&stream, seed, PACKETS, 50);
    size_t lost = 60 + (random_next(&seed) >> 12) % (PACKETS / 2);
    size_t goes_on = lost + 1 + (random_next(&seed) >> 12) % 100;
    const struct itm_packet *behind = &stream.packets[goes_on];
    ck_assert_int_eq(itm_tap_open(&tap, on_wake, NULL), 0);
    itm_tap_want(&tap, ITM_TAP_TEXT, true);
    itm_tap_want(&tap, ITM_TAP_PACKETS, true);
    expect_stream(lost, goes_on);
    feed(&tap, stream.bytes, stream.packets[lost].offset, &seed);
    itm_tap_lost(&tap);
    feed(&tap, stream.bytes + behind->offset, stream.size - behind->offset, &seed);
    compare(&tap, ITM_TAP_TEXT, &text, &seed);
    compare(&tap, ITM_TAP_PACKETS, &packets, &seed);
    itm_tap_close(&tap);
}
END_TEST

/* Nothing is kept that nobody wants; who does not take loses, and is told in the stream. */
START_TEST(a_full_queue)
{
    static uint8_t got[ITM_TAP_ROOM];
    const uint8_t packet[] = {0x03, 'a', 'b', 'c', 'd'};
    struct itm_tap tap;
    struct itm_tap_counts counts;
    ck_assert_int_eq(itm_tap_open(&tap, on_wake, NULL), 0);
    itm_tap_bytes(&tap, packet, sizeof packet);
    ck_assert_uint_eq(itm_tap_take(&tap, ITM_TAP_TEXT, got, sizeof got), 0);
    itm_tap_want(&tap, ITM_TAP_PACKETS, true);
    for (size_t i = 0; i < ITM_TAP_ROOM / sizeof packet + 10; i++)
        itm_tap_bytes(&tap, packet, sizeof packet);
    itm_tap_counts(&tap, &counts);
    ck_assert_uint_ge(counts.dropped, 9 * sizeof packet);
    size_t n = itm_tap_take(&tap, ITM_TAP_PACKETS, got, sizeof got);
    ck_assert(n <= ITM_TAP_ROOM && n > ITM_TAP_ROOM - 2 * sizeof packet);
    itm_tap_bytes(&tap, packet, sizeof packet);
    n = itm_tap_take(&tap, ITM_TAP_PACKETS, got, sizeof got);
    ck_assert(got[n - 6] == 0x70 && memcmp(got + n - 5, packet, 5) == 0);
    itm_tap_close(&tap);
}
END_TEST

struct stores {
    struct itm_tap_store list[ITM_TAP_COMPARATORS][ACCESSES];
    size_t count[ITM_TAP_COMPARATORS];
};

static void put_word(struct wanted *w, unsigned header, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)header, (uint8_t)value, (uint8_t)(value >> 8),
                             (uint8_t)(value >> 16), (uint8_t)(value >> 24)};
    add(w, bytes, sizeof bytes);
}

/* DDI 0403E.e D4.3: PC of an access 0x47, its value 0x87 of a load and 0x8f of a store, with the
 * comparator in bits [5:4]; some accesses have no PC, and now and then there is an overflow. */
static void put_accesses(struct stores *s, struct wanted *w, uint32_t *seed)
{
    for (unsigned i = 0; i < ACCESSES; i++) {
        uint32_t dice = random_next(seed) >> 8, pc = random_next(seed), value = random_next(seed);
        unsigned k = dice & 3;
        if (dice >> 2 & 7)
            put_word(w, 0x47 | k << 4, pc);
        put_word(w, (dice >> 5 & 1 ? 0x8f : 0x87) | k << 4, value);
        if ((dice >> 2 & 7) && dice >> 5 & 1)
            s->list[k][s->count[k]++] = (struct itm_tap_store){pc, value, (uint8_t)k};
        if ((dice >> 6 & 0x1ff) == 0) {
            add(w, (const uint8_t[]){0x70}, 1);
            memset(s->count, 0, sizeof s->count);
        }
    }
}

/* Newest first, back to the last loss, and as many as there is room for. */
static void compare_stores(struct itm_tap *t, const struct stores *s, size_t room)
{
    static struct itm_tap_store got[ACCESSES];
    for (unsigned k = 0; k < ITM_TAP_COMPARATORS; k++) {
        size_t n = itm_tap_stores(t, k, got, room);
        ck_assert_uint_eq(n, s->count[k] < room ? s->count[k] : room);
        for (size_t i = 0; i < n; i++) {
            const struct itm_tap_store *wanted = &s->list[k][s->count[k] - 1 - i];
            ck_assert(got[i].pc == wanted->pc && got[i].value == wanted->value &&
                      got[i].comparator == k);
        }
    }
}

START_TEST(stores)
{
    static struct stores s;
    static struct wanted w;
    struct itm_tap tap;
    uint32_t seed = (uint32_t)_i + 1;
    printf("seed %u\n", seed);
    put_accesses(&s, &w, &seed);
    put_word(&w, 0x47, 0x100);
    put_word(&w, 0x8f, 0x200); /* there is one */
    s.list[0][s.count[0]++] = (struct itm_tap_store){0x100, 0x200, 0};
    ck_assert_int_eq(itm_tap_open(&tap, on_wake, NULL), 0);
    feed(&tap, w.bytes, w.used, &seed);
    compare_stores(&tap, &s, ACCESSES);
    compare_stores(&tap, &s, 1);
    itm_tap_lost(&tap);
    memset(s.count, 0, sizeof s.count);
    compare_stores(&tap, &s, ACCESSES);
    itm_tap_close(&tap);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("itm_tap");
    unit_cases(s, "ITM tap: random packets in random pieces", random_streams, 0, SEEDS);
    unit_cases(s, "ITM tap: losses", losses, 0, SEEDS);
    unit_case(s, "ITM tap: nobody takes", a_full_queue);
    unit_cases(s, "ITM tap: stores that were traced", stores, 0, SEEDS);
    return s;
}
