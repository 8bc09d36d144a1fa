/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * History of ETMv4 and ETE: windows decoded from checkpoints equal one straight decode, also where
 * elements wait for their commit at the checkpoint;
 * and what a decoded block costs in memory. */
#include "decoder/history/history_window.h"
#include "tests/support/decoded.h"
#include "tests/support/random_etmv4.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

enum unit {
    UNIT_M, /* as ETM-M7, ETM-M33: 32 bits, nothing speculative */
    UNIT_A32,
    UNIT_A64,
    UNIT_MIXED, /* a speculative ETE, all instruction sets */
};

struct fixture {
    struct random_etmv4 flow;
    struct code_image image;
    struct stream_config config;
};

static void set_up(struct fixture *x, enum unit unit, uint64_t seed, unsigned instructions,
                   bool cycles)
{
    struct random_etmv4_options o;
    struct etmv4_encoder_options *e = &o.encoder;

    memset(x, 0, sizeof *x);
    random_etmv4_default_options(&o);
    o.instructions = instructions;
    o.a64 = unit == UNIT_A64 || unit == UNIT_MIXED;
    o.a32 = unit == UNIT_A32 || unit == UNIT_MIXED;
    o.t32 = unit != UNIT_A64;
    o.discards = o.resets = o.software = 0;
    e->m_profile = unit == UNIT_M;
    e->devarch = unit == UNIT_M ? 0x47724a13 : unit == UNIT_MIXED ? 0x47735a13 : 0x47704a13;
    e->idr0 = 1u << 5 | ETMV4_IDR0_CYCLES | 1u << 9 | ETMV4_IDR0_COMMOPT | 8u << 24;
    e->idr2 = unit == UNIT_M ? 4 : 8 | 4u << 5 | 1u << 10;
    e->idr8 = unit == UNIT_MIXED ? 40 : 0;
    e->wrong_percent = e->mispredict_percent = unit == UNIT_MIXED ? 10 : 0;
    e->source_percent = 0;
    e->sync_period = 400;
    e->configr =
        1 | ETMV4_CONFIG_TIMESTAMP | ETMV4_CONFIG_RETURN_STACK | (cycles ? ETMV4_CONFIG_CYCLES : 0);
    ck_assert_int_eq(random_etmv4_init(&x->flow, seed, &o), 0);
    code_image_init(&x->image);
    for (size_t i = 0; i < x->flow.region_count; i++) {
        struct code_region r = {.address = x->flow.regions[i].address,
                                .size = x->flow.regions[i].size,
                                .bytes = x->flow.regions[i].bytes};
        ck_assert_int_eq(code_image_add(&x->image, &r), 0);
    }
    struct etmv4_registers r = {.configr = e->configr, .traceidr = 0x10, .devarch = e->devarch};
    r.idr[0] = e->idr0;
    r.idr[2] = e->idr2;
    r.idr[8] = e->idr8;
    x->config.protocol = STREAM_ETMV4;
    ck_assert_int_eq(etmv4_config_from_regs(&x->config.etmv4, &r, e->m_profile), 0);
}

static void tear_down(struct fixture *x)
{
    code_image_release(&x->image);
    random_etmv4_release(&x->flow);
}

static void same_blocks(const struct history_window *w, const struct decoded *d, size_t *block,
                        uint64_t *number)
{
    struct bt_block got;

    for (size_t b = 0; b < w->block_count; b++, ++*block) {
        ck_assert_uint_lt(*block, d->block_count);
        history_block(w, b, &got);
        ck_assert_int_eq(memcmp(&got, &d->blocks[*block], sizeof got), 0);
        ck_assert_uint_eq(history_block_cycles(w, b), d->cycles[*block]);
        ck_assert_uint_eq(history_block_number(w, b), *number);
        *number += bt_block_count(&got);
    }
}

START_TEST(windows_equal_a_straight_decode)
{
    static struct fixture x;
    static struct decoded d;
    struct history_config hc = {.checkpoint_bytes = 300};
    struct history *h;
    struct history_window w;
    size_t block = 0, event = 0;
    uint64_t number = 0;

    set_up(&x, (enum unit)(_i % 4), (uint64_t)_i + 1, 20000, _i & 1);
    decoded_init(&d, &x.config, &x.image);
    decoded_feed(&d, x.flow.trace.data, x.flow.trace.size, 0);
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &h), 0);
    for (size_t at = 0, n = 1; at < x.flow.trace.size; at += n, n = n % 97 + 1) {
        n = n < x.flow.trace.size - at ? n : x.flow.trace.size - at;
        ck_assert_int_eq(history_append(h, x.flow.trace.data + at, n), 0);
    }
    stream_finish(&d.stream, &d.sink);
    decoded_take(&d);
    history_finish(h);
    ck_assert_uint_gt(history_window_count(h), 5);
    for (size_t i = 0; i < history_window_count(h); i++) {
        ck_assert_int_eq(history_window_index(h, i, &w), 0);
        ck_assert_uint_eq(w.first, number);
        same_blocks(&w, &d, &block, &number);
        ck_assert_uint_eq(w.end, number);
        ck_assert_uint_le(event + w.event_count, d.event_count);
        ck_assert_int_eq(memcmp(w.events, d.events + event, w.event_count * sizeof *w.events), 0);
        event += w.event_count;
    }
    ck_assert_uint_eq(block, d.block_count);
    ck_assert_uint_eq(event, d.event_count);
    ck_assert_uint_eq(number, history_end(h));
    history_free(h);
    decoded_release(&d);
    tear_down(&x);
}
END_TEST

/* What the window of a whole flow holds, without the room to grow; `*blocks`: how many. */
static size_t bytes_of_blocks(const struct fixture *x, size_t *blocks)
{
    static struct window_scratch scratch;
    static struct stream stream;
    struct window_slot slot;
    struct code_cache code;
    struct code_options options;

    memset(&slot, 0, sizeof slot);
    stream_code_options(&x->config, &options);
    code_cache_init(&code, &x->image, &options);
    stream_init(&stream, &x->config, &code);
    window_slot_begin(&slot, &scratch, 0);
    stream_feed(&stream, x->flow.trace.data, x->flow.trace.size, &slot.sink);
    stream_finish(&stream, &slot.sink);
    ck_assert_int_eq(window_slot_end(&slot), 0);
    const struct window_store *s = &slot.store;
    size_t bytes = s->count * sizeof *s->blocks + s->number_count * sizeof *s->numbers +
                   s->wide_count * sizeof *s->wide +
                   (s->cycles_max ? s->count * sizeof *s->cycles : 0);
    *blocks = s->count;
    window_slot_release(&slot);
    code_cache_release(&code);
    return bytes;
}

/* A 64-bit core's blocks are kept whole behind the packed ones. Cycle counts of ETMv4 are events:
 * they cost no block anything. */
START_TEST(bytes_a_block)
{
    static const struct {
        enum unit unit;
        bool cycles;
        unsigned bytes;
    } rows[] = {
        {UNIT_M, false, 8},  {UNIT_M, true, 8},     {UNIT_A32, false, 8},
        {UNIT_A32, true, 8}, {UNIT_A64, false, 24}, {UNIT_A64, true, 24},
    };
    static struct fixture x;
    size_t blocks;

    set_up(&x, rows[_i].unit, 7, 60000, rows[_i].cycles);
    size_t bytes = bytes_of_blocks(&x, &blocks);
    ck_assert_uint_gt(blocks, 5000);
    /* Every 128th has the number of its first instruction, too. */
    ck_assert_uint_eq(bytes, rows[_i].bytes * blocks + (blocks + 127) / 128 * 8);
    tear_down(&x);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("history of ETMv4");

    unit_cases(s, "history: windows of ETMv4 equal a straight decode",
               windows_equal_a_straight_decode, 0, 8);
    unit_cases(s, "history: bytes a block of ETMv4", bytes_a_block, 0, 6);
    return s;
}
