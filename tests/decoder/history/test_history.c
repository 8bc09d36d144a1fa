/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/history/history.c, history_states.c, history_window.c and gap_ledger.c. */
/* History: windows decoded from checkpoints equal one straight decode; bounds; gaps; numbers. */
#include "decoder/history/history.h"
#include "tests/support/decoded.h"
#include "tests/support/random_flow.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

struct fixture {
    struct random_flow flow;
    struct code_image image;
    struct stream_config config;
    struct decoded straight;
};

static void set_up(struct fixture *x, uint64_t seed, unsigned instructions)
{
    struct random_flow_options o;
    memset(x, 0, sizeof *x);
    random_flow_default_options(&o);
    o.instructions = instructions;
    o.encoder.etmcr |= PTM_CR_RETURN_STACK | PTM_CR_CONTEXT_ID(2) | PTM_CR_TIMESTAMP |
                       (seed & 1 ? PTM_CR_CYCLE_ACCURATE : 0);
    ck_assert_int_eq(random_flow_init(&x->flow, seed, &o), 0);
    code_image_init(&x->image);
    for (size_t i = 0; i < x->flow.region_count; i++) {
        struct code_region r = {.address = x->flow.regions[i].address,
                                .size = x->flow.regions[i].size,
                                .bytes = x->flow.regions[i].bytes};
        code_image_add(&x->image, &r);
    }
    x->config.protocol = STREAM_PTM;
    ck_assert_int_eq(ptm_config_from_regs(&x->config.ptm, o.encoder.etmcr, o.encoder.etmidr,
                                          o.encoder.etmccer, 0x10),
                     0);
}

static void tear_down(struct fixture *x)
{
    code_image_release(&x->image);
    random_flow_release(&x->flow);
}

static void check_events(const struct history_window *w, const struct decoded *d, size_t *event)
{
    for (size_t i = 0; i < w->event_count; i++, ++*event) {
        ck_assert_uint_lt(*event, d->event_count);
        ck_assert_int_eq(memcmp(&w->events[i], &d->events[*event], sizeof w->events[i]), 0);
    }
}

/* All windows, one after the other, against the straight decode from block `block` on. */
static void check_windows(struct history *h, const struct decoded *d, size_t block, size_t event)
{
    struct history_window w;
    uint64_t number = history_first(h);
    for (size_t i = 0; i < history_window_count(h); i++) {
        ck_assert_int_eq(history_window_index(h, i, &w), 0);
        ck_assert_uint_eq(w.first, number);
        struct history_reach seen = {.low = UINT64_MAX}, told;
        for (size_t b = 0; b < w.block_count; b++, block++) {
            ck_assert_uint_lt(block, d->block_count);
            struct bt_block got;
            history_block(&w, b, &got);
            ck_assert_int_eq(memcmp(&got, &d->blocks[block], sizeof got), 0);
            ck_assert_uint_eq(history_block_cycles(&w, b), d->cycles[block]);
            ck_assert_uint_eq(history_block_number(&w, b), number);
            number += bt_block_count(&got);
            seen.low = got.first < seen.low ? got.first : seen.low;
            seen.high = bt_block_last(&got) > seen.high ? bt_block_last(&got) : seen.high;
            seen.isas |= 1u << bt_block_isa(&got);
        }
        history_window_reach(h, i, &told);
        ck_assert_uint_eq(told.low, seen.low);
        ck_assert_uint_eq(told.high, seen.high);
        ck_assert_uint_eq(told.isas, seen.isas);
        ck_assert_uint_eq(w.end, number);
        check_events(&w, d, &event);
    }
    ck_assert_uint_eq(block, d->block_count);
    ck_assert_uint_eq(event, d->event_count);
    ck_assert_uint_eq(number, history_end(h));
}

START_TEST(windows_equal_a_straight_decode)
{
    static struct fixture x;
    set_up(&x, (uint64_t)_i + 1, 30000);
    decoded_init(&x.straight, &x.config, &x.image);
    decoded_feed(&x.straight, x.flow.trace.data, x.flow.trace.size, 0);
    struct history_config hc = {.checkpoint_bytes = 100 + 333 * (size_t)_i};
    struct history *h;
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    for (size_t at = 0; at < x.flow.trace.size;) {
        size_t n = 1 + (at * 7919 + (size_t)_i) % 500;
        if (n > x.flow.trace.size - at)
            n = x.flow.trace.size - at;
        ck_assert_int_eq(history_append(h, x.flow.trace.data + at, n), 0);
        at += n;
    }
    history_finish(h);
    struct history_totals totals;
    history_totals(h, &totals);
    ck_assert_uint_eq(totals.bytes, x.flow.trace.size);
    check_windows(h, &x.straight, 0, 0);
    check_windows(h, &x.straight, 0, 0); /* again: nothing depends on what was looked at before */
    history_free(h);
    decoded_release(&x.straight);
    tear_down(&x);
}
END_TEST

/* Any window on its own, in random order, while the history grows. */
START_TEST(numbers_stay_valid_while_it_grows)
{
    static struct fixture x;
    set_up(&x, 99, 20000);
    decoded_init(&x.straight, &x.config, &x.image);
    decoded_feed(&x.straight, x.flow.trace.data, x.flow.trace.size, 0);
    struct history_config hc = {.checkpoint_bytes = 512};
    struct history *h;
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    srand(5);
    for (size_t at = 0; at < x.flow.trace.size;) {
        size_t n = 64 < x.flow.trace.size - at ? 64 : x.flow.trace.size - at;
        ck_assert_int_eq(history_append(h, x.flow.trace.data + at, n), 0);
        at += n;
        if (history_end(h) == 0)
            continue;
        uint64_t number = (uint64_t)rand() % history_end(h);
        struct history_window w;
        ck_assert_int_eq(history_window(h, number, &w), 0);
        size_t b = history_block_index(&w, number), all = 0;
        ck_assert_uint_lt(b, w.block_count);
        uint64_t count = 0;
        while (count + bt_block_count(&x.straight.blocks[all]) <= number)
            count += bt_block_count(&x.straight.blocks[all++]);
        struct bt_block got;
        history_block(&w, b, &got);
        ck_assert_uint_eq(got.first, x.straight.blocks[all].first);
        ck_assert_uint_eq(history_block_number(&w, b), count);
    }
    struct history_window w;
    ck_assert_int_eq(history_window(h, history_end(h) + 1, &w), BT_ERR_RANGE);
    history_free(h);
    decoded_release(&x.straight);
    tear_down(&x);
}
END_TEST

/* The oldest part goes when the memory is full; what is left keeps its numbers. */
START_TEST(bounded_memory_drops_the_oldest)
{
    static struct fixture x;
    set_up(&x, 3, 60000);
    struct history_config hc = {.checkpoint_bytes = 1024, .max_bytes = 64 << 10, .max_gaps = 64};
    struct history *h;
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    unsigned rounds = 20;
    size_t memory = 0;
    for (unsigned i = 0; i < rounds; i++) {
        ck_assert_int_eq(history_append(h, x.flow.trace.data, x.flow.trace.size), 0);
        if (i == rounds / 2)
            memory = history_memory(h);
    }
    struct history_totals totals;
    history_totals(h, &totals);
    ck_assert_uint_gt(totals.bytes, 10 * hc.max_bytes);
    ck_assert_uint_gt(history_first(h), 0);
    ck_assert_uint_le(history_memory(h), memory + memory / 4);
    struct history_window w;
    ck_assert_int_eq(history_window(h, history_first(h) - 1, &w), BT_ERR_RANGE);
    ck_assert_int_eq(history_window(h, history_first(h), &w), 0);
    decoded_init(&x.straight, &x.config, &x.image);
    for (unsigned i = 0; i < rounds; i++)
        decoded_feed(&x.straight, x.flow.trace.data, x.flow.trace.size, 0);
    size_t block = 0, event = 0;
    for (uint64_t n = 0; n < history_first(h); block++)
        n += bt_block_count(&x.straight.blocks[block]);
    ck_assert_int_eq(history_window_index(h, 0, &w), 0);
    ck_assert_uint_gt(w.event_count, 0);
    while (memcmp(&x.straight.events[event], &w.events[0], sizeof w.events[0]) != 0)
        event++;
    check_windows(h, &x.straight, block, event);
    history_free(h);
    decoded_release(&x.straight);
    tear_down(&x);
}
END_TEST

/* Lost bytes: one entry of the ledger, the same place in a window decoded later. */
START_TEST(gaps_are_one_entry_and_decoded_again)
{
    static struct fixture x;
    set_up(&x, 12, 20000);
    struct history_config hc = {.checkpoint_bytes = 700};
    struct history *h;
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    size_t half = x.flow.trace.size / 2;
    ck_assert_int_eq(history_append(h, x.flow.trace.data, half), 0);
    ck_assert_int_eq(history_gap(h, BT_GAP_LOST_BYTES, 100), 0);
    ck_assert_int_eq(history_gap(h, BT_GAP_LOST_BYTES, 23), 0);
    ck_assert_int_eq(
        history_append(h, x.flow.trace.data + half + 123, x.flow.trace.size - half - 123), 0);
    ck_assert_uint_eq(history_gap_count(h, BT_GAP_LOST_BYTES), 1);
    const struct gap_entry *gaps;
    size_t n = history_gaps(h, &gaps), lost = 0, found = 0;
    for (size_t i = 0; i < n; i++) {
        if (gaps[i].cause != BT_GAP_LOST_BYTES)
            continue;
        ck_assert_uint_eq(gaps[i].bytes, 123);
        ck_assert_uint_eq(gaps[i].offset, half);
        lost++;
    }
    ck_assert_uint_eq(lost, 1);
    for (size_t i = 0; i < history_window_count(h); i++) {
        struct history_window w;
        ck_assert_int_eq(history_window_index(h, i, &w), 0);
        for (size_t e = 0; e < w.event_count; e++)
            found += w.events[e].kind == BT_EVENT_GAP && w.events[e].cause == BT_GAP_LOST_BYTES;
    }
    ck_assert_uint_ge(found, 1);
    history_free(h);
    tear_down(&x);
}
END_TEST

/* Eight bytes a block on a 32-bit core, whatever a block holds. */
static void append_with_a_gap(struct history *h, const struct fixture *x)
{
    size_t half = x->flow.trace.size / 2;
    ck_assert_int_eq(history_append(h, x->flow.trace.data, half), 0);
    ck_assert_int_eq(history_gap(h, BT_GAP_LOST_BYTES, 50), 0);
    ck_assert_int_eq(
        history_append(h, x->flow.trace.data + half + 50, x->flow.trace.size - half - 50), 0);
}

static void same_windows(struct history *a, struct history *b)
{
    struct history_window v, w;
    ck_assert_uint_eq(history_window_count(a), history_window_count(b));
    for (size_t i = 0; i < history_window_count(a); i++) {
        ck_assert_int_eq(history_window_index(a, i, &v), 0);
        ck_assert_int_eq(history_window_index(b, i, &w), 0);
        ck_assert_uint_eq(v.first, w.first);
        ck_assert_uint_eq(v.end, w.end);
        ck_assert_uint_eq(v.block_count, w.block_count);
        for (size_t k = 0; k < v.block_count; k++) {
            struct bt_block p, q;
            history_block(&v, k, &p);
            history_block(&w, k, &q);
            ck_assert_int_eq(memcmp(&p, &q, sizeof p), 0);
        }
        ck_assert_uint_eq(v.event_count, w.event_count);
        ck_assert_int_eq(memcmp(v.events, w.events, v.event_count * sizeof *v.events), 0);
    }
}

/* Without code, then decoded again with it: as if it had been there from the start. */
START_TEST(again_with_code_that_was_missing)
{
    static struct fixture x;
    struct history_config hc = {.checkpoint_bytes = 700};
    struct history *h, *whole;
    const struct gap_entry *gaps, *wanted;
    struct code_image late;
    set_up(&x, (uint64_t)_i, 20000);
    code_image_init(&late);
    ck_assert_int_eq(history_new(&hc, &x.config, &late, &h), 0);
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &whole), 0);
    append_with_a_gap(h, &x);
    append_with_a_gap(whole, &x);
    ck_assert_uint_eq(history_end(h), 0);
    ck_assert_uint_gt(history_gap_count(h, BT_GAP_NO_CODE), 0);
    for (size_t i = 0; i < x.image.count; i++)
        ck_assert_int_eq(code_image_add(&late, &x.image.regions[i]), 0);
    ck_assert_int_eq(history_again(h), 0);
    ck_assert_uint_eq(history_end(h), history_end(whole));
    same_windows(h, whole);
    size_t n = history_gaps(h, &gaps);
    ck_assert_uint_eq(n, history_gaps(whole, &wanted));
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(gaps[i].position, wanted[i].position);
        ck_assert_uint_eq(gaps[i].offset, wanted[i].offset);
        ck_assert_uint_eq(gaps[i].bytes, wanted[i].bytes);
        ck_assert_uint_eq(gaps[i].address, wanted[i].address);
        ck_assert_uint_eq(gaps[i].cause, wanted[i].cause);
        ck_assert_uint_eq(gaps[i].has_address, wanted[i].has_address);
    }
    for (unsigned cause = 0; cause < BT_GAP_CAUSES; cause++)
        ck_assert_uint_eq(history_gap_count(h, (enum bt_gap_cause)cause),
                          history_gap_count(whole, (enum bt_gap_cause)cause));
    history_free(h);
    history_free(whole);
    code_image_release(&late);
    tear_down(&x);
}
END_TEST

/* All code becomes other code half way: windows before and behind are decoded with their own. */
START_TEST(another_generation_of_the_code)
{
    static struct fixture x;
    static uint8_t other[1 << 20];
    struct history_config hc = {.checkpoint_bytes = 700};
    struct history *h;
    set_up(&x, 4, 20000);
    size_t half = x.flow.trace.size / 2, count = x.image.count;
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    ck_assert_int_eq(history_append(h, x.flow.trace.data, half), 0);
    decoded_init(&x.straight, &x.config, &x.image);
    decoded_feed(&x.straight, x.flow.trace.data, half, 0);
    uint32_t generation = code_image_new_generation(&x.image);
    for (size_t i = 0; i < count; i++) {
        struct code_region r = x.image.regions[i];
        ck_assert_uint_le(r.size, sizeof other);
        r.bytes = other; /* andeq r0, r0, r0: nothing there branches */
        r.generation = generation;
        ck_assert_int_eq(code_image_add(&x.image, &r), 0);
    }
    uint64_t middle = history_end(h);
    ck_assert_int_eq(history_set_generation(h, generation), 0);
    stream_set_generation(&x.straight.stream, generation, &x.straight.sink);
    ck_assert_int_eq(history_append(h, x.flow.trace.data + half, x.flow.trace.size - half), 0);
    decoded_feed(&x.straight, x.flow.trace.data + half, x.flow.trace.size - half, 0);
    check_windows(h, &x.straight, 0, 0);
    ck_assert_uint_gt(middle, 1000);
    ck_assert_uint_gt(history_gap_count(h, BT_GAP_NO_CODE) + history_gap_count(h, BT_GAP_DESYNC),
                      0);
    ck_assert_int_eq(history_again(h), 0);
    check_windows(h, &x.straight, 0, 0);
    decoded_release(&x.straight);
    history_free(h);
    tear_down(&x);
}
END_TEST

START_TEST(windows_are_packed)
{
    static struct fixture x;
    struct history_config hc = {.checkpoint_bytes = 1 << 20};
    struct history *h;
    struct history_window w;
    set_up(&x, 2, 60000); /* an even seed: no cycle counts */
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    ck_assert_int_eq(history_append(h, x.flow.trace.data, x.flow.trace.size), 0);
    size_t before = history_memory(h);
    ck_assert_int_eq(history_window_index(h, 0, &w), 0);
    ck_assert_uint_gt(w.block_count, 5000);
    /* Arrays grow by doubling, so up to half of them is spare; events have a size of their own. */
    size_t events = 2 * (w.event_count + 64) * sizeof *w.events;
    size_t bound = 2 * 8 * (w.block_count + 1) + 2 * 8 * (w.block_count / 128 + 2) + events;
    ck_assert_uint_le(history_memory(h) - before, bound + 4096);
    history_free(h);
    tear_down(&x);
}
END_TEST

/* Straight code of 128 KiB: what does not fit in eight bytes is kept whole. */
START_TEST(a_block_too_large_to_pack)
{
    static const uint8_t trace[] = {0, 0, 0, 0, 0, 0x80, 0x08, 0x00, 0x10, 0, 0, 0x21, 0x84, 0x86};
    static uint8_t code[0x20000 + 8];
    static const uint8_t nop[4] = {0x00, 0x00, 0xa0, 0xe1};
    static const uint8_t beq_next[4] = {0xff, 0xff, 0xff, 0x0a};
    struct code_image image;
    struct stream_config config = {.protocol = STREAM_PTM};
    struct history_config hc = {0};
    struct history *h;
    struct history_window w;
    struct bt_block b;
    for (size_t i = 0; i < 0x20000; i += 4)
        memcpy(code + i, nop, 4);
    memcpy(code + 0x20000, beq_next, 4);
    memcpy(code + 0x20004, beq_next, 4);
    code_image_init(&image);
    struct code_region r = {.address = 0x1000, .size = sizeof code, .bytes = code};
    ck_assert_int_eq(code_image_add(&image, &r), 0);
    ck_assert_int_eq(ptm_config_from_regs(&config.ptm, 0, 0x411cf312, 0x34c01ac2, 0x10), 0);
    ck_assert_int_eq(history_new(&hc, &config, &image, &h), 0);
    ck_assert_int_eq(history_append(h, trace, sizeof trace), 0);
    ck_assert_int_eq(history_window(h, 0, &w), 0);
    ck_assert_uint_eq(w.block_count, 2);
    history_block(&w, 0, &b);
    ck_assert_uint_eq(b.first, 0x1000);
    ck_assert_uint_eq(b.extent, 0x20000);
    ck_assert_uint_eq(bt_block_count(&b), 0x8001);
    ck_assert_int_eq(bt_block_cond(&b), BT_COND_PASS);
    history_block(&w, 1, &b);
    ck_assert_uint_eq(b.first, 0x21004);
    ck_assert_int_eq(bt_block_cond(&b), BT_COND_FAIL);
    ck_assert_uint_eq(history_block_number(&w, 1), 0x8001);
    ck_assert_uint_eq(history_block_index(&w, 0x8000), 0);
    ck_assert_uint_eq(history_block_index(&w, 0x8001), 1);
    history_free(h);
    code_image_release(&image);
}
END_TEST

START_TEST(impossible_configuration)
{
    static struct fixture x;
    set_up(&x, 1, 100);
    struct history *h;
    struct history_config small = {.max_bytes = 1000};
    struct history_config coarse = {.checkpoint_bytes = 1 << 20, .max_bytes = 1 << 20};
    ck_assert_int_eq(history_new(&small, &x.config, &x.image, &h), BT_ERR_INVAL);
    ck_assert_int_eq(history_new(&coarse, &x.config, &x.image, &h), BT_ERR_INVAL);
    tear_down(&x);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("history");
    unit_cases(s, "history: windows equal a straight decode", windows_equal_a_straight_decode, 0,
               6);
    unit_case(s, "history: numbers stay valid while it grows", numbers_stay_valid_while_it_grows);
    unit_case(s, "history: bounded memory drops the oldest", bounded_memory_drops_the_oldest);
    unit_case(s, "history: gaps are one entry, decoded again the same",
              gaps_are_one_entry_and_decoded_again);
    unit_cases(s, "history: decoded again with code that was missing",
               again_with_code_that_was_missing, 0, 4);
    unit_case(s, "history: another generation of the code", another_generation_of_the_code);
    unit_case(s, "history: windows are packed", windows_are_packed);
    unit_case(s, "history: a block too large to pack", a_block_too_large_to_pack);
    unit_case(s, "history: impossible configuration", impossible_configuration);
    return s;
}
