/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/etmv3/etmv3_flow.c and decoder/etmv3/etmv3_pending.c. */
/* ETMv3 flow: windows of a history equal one straight decode, what is pending, how much. */
#include "decoder/history/history.h"
#include "tests/support/decoded.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define CODE 1024u
#define BASE 0x8000u

struct fixture {
    uint8_t code[CODE];
    struct code_image image;
    struct stream_config config;
    struct decoded straight;
};

/* Straight code, direct and indirect branches, loads and stores. */
static void set_up(struct fixture *x, uint32_t etmcr, uint32_t seed)
{
    static const uint32_t words[] = {0xe1a00000, 0xe1a00000, 0xe1a00000, 0x0a000002,
                                     0xe5912000, 0xe12fff1e, 0x1afffff8, 0xe5812000};
    memset(x, 0, sizeof *x);
    for (unsigned i = 0; i < CODE / 4; i++) {
        random_next(&seed);
        memcpy(x->code + 4 * i, &words[seed >> 29], 4);
    }
    struct code_region region = {.address = BASE, .size = CODE, .bytes = x->code};
    code_image_init(&x->image);
    code_image_add(&x->image, &region);
    x->config.protocol = STREAM_ETMV3;
    ck_assert_int_eq(etmv3_config_from_regs(&x->config.etmv3, etmcr, 0x410cf250, 0x344008f2, 0x10),
                     0);
    decoded_init(&x->straight, &x->config, &x->image);
}

static void tear_down(struct fixture *x)
{
    decoded_release(&x->straight);
    code_image_release(&x->image);
}

/* Mostly atoms and branches into the code, sometimes everything else. */
static size_t make_stream(const struct fixture *x, uint8_t *data, size_t max, uint32_t seed)
{
    static const uint8_t start[] = {0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0, 0x80, 0, 0};
    static const uint8_t cancel[] = {0x8d, 0x80, 0x82, 0x80, 0x48, 0x3c};
    static const uint8_t time[] = {0x42, 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1};
    bool traces_data = x->config.etmv3.data_value;
    size_t n = sizeof start;
    memcpy(data, start, sizeof start);
    while (n + 32 < max) {
        random_next(&seed);
        unsigned what = seed >> 27, byte = seed >> 16 & 0xff;
        if (what < 14) {
            data[n++] = (uint8_t)(0x80 | (byte & 0x5c)) == 0x80 ? 0x84 : 0x80 | (byte & 0x5c);
        } else if (what < 24) {
            data[n++] = (uint8_t)(0x81 | (byte & 0x7e));
            data[n++] = byte >> 6;
        } else if (what < 26) {
            memcpy(data + n, time, sizeof time);
            n += sizeof time;
        } else if (what < 28) {
            memcpy(data + n, cancel, sizeof cancel);
            n += sizeof cancel;
        } else if (what < 31 && traces_data) {
            data[n++] = 0x06;
            data[n++] = (uint8_t)byte;
        } else if (what == 31) {
            memcpy(data + n, start, sizeof start);
            data[n + 7] = byte & 1 ? 0x21 : 0x01;
            n += sizeof start;
        }
    }
    return n;
}

static void check_window(const struct history_window *w, const struct decoded *d, size_t *block,
                         size_t *event, uint64_t *number)
{
    ck_assert_uint_eq(w->first, *number);
    for (size_t b = 0; b < w->block_count; b++, ++*block) {
        ck_assert_uint_lt(*block, d->block_count);
        struct bt_block got;
        history_block(w, b, &got);
        ck_assert_int_eq(memcmp(&got, &d->blocks[*block], sizeof got), 0);
        ck_assert_uint_eq(history_block_cycles(w, b), d->cycles[*block]);
        *number += bt_block_count(&got);
    }
    for (size_t e = 0; e < w->event_count; e++, ++*event) {
        ck_assert_uint_lt(*event, d->event_count);
        ck_assert_int_eq(memcmp(&w->events[e], &d->events[*event], sizeof w->events[e]), 0);
    }
    ck_assert_uint_eq(w->end, *number);
}

/* With what is pending at a checkpoint, and looked at while the stream still runs. */
START_TEST(windows_equal_a_straight_decode)
{
    static const uint32_t modes[4] = {0, 0x1000, 0xc, 0x100c};
    static struct fixture x;
    static uint8_t data[20000];
    struct history_config hc = {.checkpoint_bytes = 100 + 37 * (size_t)_i};
    struct history *h;
    struct history_window w;
    set_up(&x, modes[_i % 4], (uint32_t)_i);
    size_t len = make_stream(&x, data, sizeof data, (uint32_t)_i + 77);
    decoded_feed(&x.straight, data, len, 0);
    stream_finish(&x.straight.stream, &x.straight.sink);
    decoded_take(&x.straight);
    ck_assert_uint_gt(x.straight.block_count, 500);
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    for (size_t at = 0; at < len; at += 777) {
        ck_assert_int_eq(history_append(h, data + at, len - at < 777 ? len - at : 777), 0);
        ck_assert_int_eq(history_window(h, history_end(h), &w), 0);
        ck_assert_uint_eq(w.end, history_end(h));
    }
    history_finish(h);
    ck_assert_uint_eq(history_end(h), stream_instructions(&x.straight.stream));
    size_t block = 0, event = 0;
    uint64_t number = 0;
    for (size_t i = 0; i < history_window_count(h); i++) {
        ck_assert_int_eq(history_window_index(h, i, &w), 0);
        check_window(&w, &x.straight, &block, &event, &number);
    }
    ck_assert_uint_eq(block, x.straight.block_count);
    ck_assert_uint_eq(event, x.straight.event_count);
    history_free(h);
    tear_down(&x);
}
END_TEST

static void feed(struct fixture *x, const uint8_t *data, size_t len)
{
    decoded_feed(&x->straight, data, len, 0);
}

#define FEED(x, ...)                                                                               \
    feed((x), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void start(struct fixture *x, uint32_t etmcr)
{
    set_up(x, etmcr, 0);
    memset(x->code, 0, CODE); /* ANDEQ: nothing but straight code */
    FEED(x, 0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0, 0x80, 0, 0);
}

START_TEST(the_last_block_is_held_back)
{
    static struct fixture x;
    uint64_t address;
    enum bt_isa isa;
    start(&x, 0);
    FEED(&x, 0x88);
    ck_assert_uint_eq(x.straight.block_count, 0);
    ck_assert(stream_position(&x.straight.stream, &address, &isa));
    ck_assert_uint_eq(address, BASE); /* behind the last instruction that was put out */
    FEED(&x, 0xc0);
    FEED(&x, 0x84);
    ck_assert_uint_eq(x.straight.block_count, 1);
    ck_assert_uint_eq(bt_block_count(&x.straight.blocks[0]), 3);
    ck_assert_int_eq(bt_block_cond(&x.straight.blocks[0]), BT_COND_FAIL);
    ck_assert(stream_position(&x.straight.stream, &address, &isa));
    ck_assert_uint_eq(address, BASE + 12);
    stream_finish(&x.straight.stream, &x.straight.sink);
    decoded_take(&x.straight);
    ck_assert_uint_eq(stream_instructions(&x.straight.stream), 4);
    ck_assert(stream_position(&x.straight.stream, &address, &isa));
    ck_assert_uint_eq(address, BASE + 16);
    tear_down(&x);
}
END_TEST

/* Events behind the pending block are bounded: then it is put out, and a cancel comes too late. */
START_TEST(the_queue_is_bounded)
{
    static struct fixture x;
    start(&x, 0);
    FEED(&x, 0x88);
    for (unsigned i = 0; i < 100; i++)
        FEED(&x, 0x0c);
    FEED(&x, 0x8d, 0x80, 0x82, 0x80, 0x48, 0x3c);
    stream_finish(&x.straight.stream, &x.straight.sink);
    decoded_take(&x.straight);
    ck_assert_uint_eq(stream_instructions(&x.straight.stream), 2);
    unsigned triggers = 0, warnings = 0;
    for (size_t i = 0; i < x.straight.event_count; i++) {
        triggers += x.straight.events[i].kind == BT_EVENT_TRIGGER;
        warnings += x.straight.events[i].kind == BT_EVENT_WARNING;
        if (x.straight.events[i].kind == BT_EVENT_TRIGGER)
            ck_assert_uint_eq(x.straight.events[i].position, 2);
    }
    ck_assert_uint_eq(triggers, 100);
    ck_assert_uint_eq(warnings, 1);
    tear_down(&x);
}
END_TEST

static uint32_t context_of(const struct fixture *x)
{
    struct code_key key;
    stream_code_key(&x->straight.stream, &key);
    ck_assert(key.has_context);
    return key.context;
}

/* Whoever looks at the code in between looks at that of what comes out next. */
START_TEST(a_context_waits_behind_the_pending_block)
{
    static struct fixture x;
    set_up(&x, 0x4000, 0); /* context IDs of a byte */
    memset(x.code, 0, CODE);
    FEED(&x, 0, 0, 0, 0, 0, 0x80, 0x08, 0x11, 0x21, 0, 0x80, 0, 0);
    FEED(&x, 0x88, 0x0c);
    ck_assert_uint_eq(context_of(&x), 0x11);
    FEED(&x, 0x6e, 0x22);
    FEED(&x, 0x6e, 0x33, 0x0c);
    ck_assert_uint_eq(context_of(&x), 0x11);
    FEED(&x, 0x84);
    ck_assert_uint_eq(context_of(&x), 0x33);
    tear_down(&x);
}
END_TEST

/* Values that never come are told at the end, in the order of their tags. */
START_TEST(lost_values_are_reported)
{
    static struct fixture x;
    start(&x, 0xc);
    FEED(&x, 0x84, 0x74, 0x80, 0x80, 0x80, 0x80, 0x02, 0x78, 0x04, 0x84);
    FEED(&x, 0x08, 0x41, 0, 0x80, 0, 0);
    decoded_take(&x.straight);
    unsigned found = 0;
    for (size_t i = 0; i < x.straight.event_count; i++) {
        const struct bt_event *e = &x.straight.events[i];
        if (e->kind != BT_EVENT_DATA)
            continue;
        ck_assert_uint_eq(e->u.data.address, 0x20000000 + 4 * found);
        ck_assert(!e->u.data.has_value);
        found++;
    }
    ck_assert_uint_eq(found, 2);
    tear_down(&x);
}
END_TEST

START_TEST(lost_bytes_end_the_run)
{
    static struct fixture x;
    start(&x, 0);
    FEED(&x, 0x88);
    stream_gap(&x.straight.stream, BT_GAP_LOST_BYTES, 7, &x.straight.sink);
    decoded_take(&x.straight);
    ck_assert_uint_eq(stream_instructions(&x.straight.stream), 2);
    const struct bt_event *e = &x.straight.events[x.straight.event_count - 1];
    ck_assert_uint_eq(e->kind, BT_EVENT_GAP);
    ck_assert_uint_eq(e->cause, BT_GAP_LOST_BYTES);
    ck_assert_uint_eq(e->u.gap.bytes, 7);
    ck_assert_uint_eq(e->u.gap.address, BASE + 8);
    FEED(&x, 0x88);
    ck_assert_uint_eq(stream_instructions(&x.straight.stream), 2);
    tear_down(&x);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3 flow");
    unit_cases(s, "etmv3 flow: windows equal a straight decode", windows_equal_a_straight_decode, 0,
               24);
    unit_case(s, "etmv3 flow: the last block is held back", the_last_block_is_held_back);
    unit_case(s, "etmv3 flow: the queue is bounded", the_queue_is_bounded);
    unit_case(s, "etmv3 flow: a context waits behind the pending block",
              a_context_waits_behind_the_pending_block);
    unit_case(s, "etmv3 flow: lost values are told", lost_values_are_reported);
    unit_case(s, "etmv3 flow: lost bytes end the run", lost_bytes_end_the_run);
    return s;
}
