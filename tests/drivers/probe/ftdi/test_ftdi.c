/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/probe/ftdi/ftdi.c and ftdi_wire.c. */
/*
 * The FTDI driver on the modelled MPSSE, adapter and target, in one process: every edge of the
 * clock reaches the model of the debug port. Time is counted, not waited for.
 */
#include <stdlib.h>
#include <string.h>

#include "drivers/adi/mem_ap.h"
#include "drivers/probe/ftdi/ftdi.h"
#include "tests/model/ftdi_board.h"
#include "tests/support/unit_main.h"

#define RAM        0x20001000u /* the model's program works in the first page */
#define MANY       600u        /* words: more than one batch */
#define NO_MEMORY  0x60000000u
#define DRW        (DEBUG_AP | 0xcu)
#define READ_DRW   (DRW | DEBUG_READ)
#define CTRL_STAT  (DEBUG_DP | 0x4u)
#define READ_STATE (CTRL_STAT | DEBUG_READ)

/* Adapters as their board files would have them. */
static const struct wiring {
    const char *layout;
    const char *chain; /* from TDI to TDO */
    enum debug_wire wire;
    bool dpv2;
    struct ftdi_pinout pins;
    uint8_t ir_lengths[4]; /* from TDO on */
    unsigned count, dap;
} WIRINGS[] = {
    {.layout = "minimodule-swd",
     .wire = DEBUG_WIRE_SWD,
     .pins = {.value = 0, .direction = 0x0b, .nsrst = {.data = 0x10}}},
    {.layout = "minimodule",
     .wire = DEBUG_WIRE_JTAG,
     .pins = {.value = 8, .direction = 0x0b, .nsrst = {.data = 0x20}, .adaptive_clock = true}},
    {.layout = "kt-link",
     .wire = DEBUG_WIRE_SWD,
     .dpv2 = true,
     .pins = {.value = 0x8c28,
              .direction = 0xff3b,
              .nsrst = {.data = 0x200, .enable = 0x800, .enable_inverted = true},
              .ntrst = {.data = 0x100, .enable = 0x400, .enable_inverted = true},
              .swd_enable = {.data = 0x20, .data_inverted = true, .enable = 0x2000},
              .swdio_enable = {.data = 0x1000, .data_inverted = true}}},
    {.layout = "kt-link",
     .chain = "8:0x12345679,dap,5:0x23456781,3:0x34567891",
     .wire = DEBUG_WIRE_JTAG,
     .pins = {.value = 0x8c28,
              .direction = 0xff3b,
              .nsrst = {.data = 0x200, .enable = 0x800, .enable_inverted = true},
              .ntrst = {.data = 0x100, .enable = 0x400, .enable_inverted = true},
              .swd_enable = {.data = 0x20, .data_inverted = true, .enable = 0x2000},
              .swdio_enable = {.data = 0x1000, .data_inverted = true}},
     .ir_lengths = {3, 5, 4, 8},
     .count = 4,
     .dap = 2},
};
#define WIRING_COUNT 4
#define OF_SWD       0 /* wirings for tests of one wire */
#define OF_JTAG      1

struct bench {
    struct probe_board board;
    struct ftdi_board wires;
    struct mpsse_model engine;
    struct ftdi_fifo to_engine, to_host;
    struct ftdi f;
    struct adiv5_dp dp;
    struct mem_ap ap;
    const struct debug_link_ops *ops;
    unsigned exchanges;
    unsigned lose;  /* answers lose their last byte; counts down */
    unsigned extra; /* answers come with a byte too many; counts down */
    bool gone;
    uint64_t now;
};

static struct bench b;

static uint64_t now_us(void *user)
{
    (void)user;
    return b.now += 10;
}

static void sleep_us(void *user, uint32_t time)
{
    (void)user;
    b.now += time;
}

/* The chip as USB sees it, its buffers taken along while commands are sent. */
static int exchange(void *self, const uint8_t *out, size_t out_length, uint8_t *in,
                    size_t in_length, size_t *got, unsigned timeout_ms)
{
    size_t sent = 0;
    (void)self;
    ck_assert_uint_gt(timeout_ms, 0);
    *got = 0;
    b.exchanges++;
    if (b.gone)
        return BT_ERR_IO;
    for (;;) {
        while (sent < out_length && ftdi_fifo_room(&b.to_engine) > 0)
            ftdi_fifo_put(&b.to_engine, out[sent++]);
        mpsse_run(&b.engine, &b.to_engine, &b.to_host);
        if (b.to_host.count == 0 && sent == out_length)
            break;
        while (b.to_host.count > 0) {
            uint8_t byte = ftdi_fifo_get(&b.to_host);
            if (*got == in_length)
                return BT_ERR_FORMAT;
            in[(*got)++] = byte;
        }
    }
    if (b.lose > 0 && *got > 0 && b.lose--)
        (*got)--;
    if (b.extra > 0 && b.extra--)
        return BT_ERR_FORMAT;
    return *got < in_length ? FTDI_TIMED_OUT : 0;
}

static int purge(void *self)
{
    (void)self;
    memset(&b.to_host, 0, sizeof b.to_host);
    memset(&b.to_engine, 0, sizeof b.to_engine);
    return b.gone ? BT_ERR_IO : 0;
}

static int open_probe(const struct wiring *w)
{
    static const struct ftdi_port_ops OPS = {.exchange = exchange, .purge = purge};
    const struct ftdi_port port = {.ops = &OPS, .has_high_byte = true};
    const struct debug_clock clock = {.now_us = now_us, .sleep_us = sleep_us};
    int rc = ftdi_open(&b.f, &port, &w->pins);
    struct debug_link link = ftdi_link(&b.f);
    b.ops = link.ops;
    adiv5_init(&b.dp, &link, &clock);
    return rc;
}

static int connect_port(const struct wiring *w, uint16_t retries)
{
    const struct adiv5_connect_options options = {.wire = w->wire,
                                                  .clock_hz = 10000000,
                                                  .idle_clocks = 2,
                                                  .wait_retries = retries,
                                                  .ir_lengths = w->ir_lengths,
                                                  .chain_count = w->count,
                                                  .chain_dap = w->dap};
    int rc = adiv5_connect(&b.dp, &options);
    /* The switching sequence is no request, but looks like one to a port that is in SWD already. */
    b.board.dap.counters.bad_requests = 0;
    return rc;
}

static void set_up(const struct wiring *w)
{
    const struct probe_board_options options = {.jtag = w->wire == DEBUG_WIRE_JTAG,
                                                .dpv2 = w->dpv2};
    memset(&b, 0, sizeof b);
    ck_assert_int_eq(probe_board_init(&b.board, &options), 0);
    ftdi_board_init(&b.wires, &b.board, ftdi_layout_find(w->layout));
    if (w->chain)
        ck_assert_int_eq(tap_chain_parse(&b.wires.chain, w->chain), 0);
    struct mpsse_pins pins = ftdi_board_pins(&b.wires);
    mpsse_init(&b.engine, &pins);
    mpsse_reset(&b.engine);
    ck_assert_int_eq(open_probe(w), 0);
    ck_assert_int_eq(connect_port(w, 5), 0);
    ck_assert_int_eq(mem_ap_init(&b.ap, &b.dp, 0), 0);
}

/* Nothing that the models count as a mistake of the driver. */
static void clean_up(void)
{
    const struct mpsse_counters *e = &b.engine.counters;
    const struct dap_counters *d = &b.board.dap.counters;
    ck_assert_uint_eq(e->unlisted + e->wrong_edge + e->long_tms, 0);
    ck_assert_uint_eq(d->bad_requests + d->contention + d->write_parity + d->unpowered, 0);
    ck_assert_uint_eq(b.wires.fights, 0);
    probe_board_release(&b.board);
}

static uint32_t word(unsigned k)
{
    return k * 2654435761u ^ 0x5a5a1234u;
}

static void fill(uint32_t *words, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        words[k] = word(k);
}

static void check_words(const uint32_t *words, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        ck_assert_msg(words[k] == word(k), "word %u is %08x", k, words[k]);
}

START_TEST(test_memory)
{
    uint32_t words[MANY];
    set_up(&WIRINGS[_i]);
    ck_assert_uint_eq(b.engine.counters.bad_commands, 2);
    ck_assert_uint_eq(mpsse_rate(&b.engine), 10000000);
    ck_assert(b.engine.adaptive == WIRINGS[_i].pins.adaptive_clock);
    fill(words, MANY);
    ck_assert_int_eq(mem_ap_write_words(&b.ap, RAM, words, MANY), 0);
    memset(words, 0, sizeof words);
    unsigned before = b.exchanges;
    ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, MANY), 0);
    ck_assert_uint_lt(b.exchanges - before, 40); /* batches, not words */
    check_words(words, MANY);
    ck_assert_uint_eq(b.board.dap.counters.waits + b.board.dap.counters.faults, 0);
    clean_up();
}
END_TEST

/* TAR, then a block: what the target refuses for a while is done all the same, once. */
START_TEST(test_wait)
{
    for (unsigned skip = 0; skip < 45; skip++) {
        uint32_t words[20];
        struct debug_result r;
        struct debug_transfer tar[2] = {{DEBUG_AP | 0x0, 0xa2000012}, {DEBUG_AP | 0x4, RAM}};
        set_up(&WIRINGS[_i]);
        ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 1), 0); /* SELECT, bank 0 */
        ck_assert_int_eq(b.ops->transfer(&b.f, tar, 2, &r), 0);
        fill(words, 20);
        b.board.dap.faults.skip = skip;
        b.board.dap.faults.wait = 3;
        ck_assert_int_eq(b.ops->block(&b.f, DRW, words, 20, &r), 0);
        ck_assert(r.done == 20 && r.ack == DEBUG_ACK_OK);
        ck_assert_int_eq(b.ops->transfer(&b.f, tar, 2, &r), 0);
        memset(words, 0, sizeof words);
        ck_assert_int_eq(b.ops->block(&b.f, READ_DRW, words, 20, &r), 0);
        ck_assert(r.done == 20 && r.ack == DEBUG_ACK_OK);
        for (unsigned k = 0; k < 20; k++)
            ck_assert_msg(words[k] == word(k), "skip %u: word %u is %08x", skip, k, words[k]);
        ck_assert_uint_eq(b.board.dap.faults.wait, 0);
        ck_assert_uint_eq(b.board.dap.ctrl_stat & 0xb2, 0);
        clean_up();
    }
}
END_TEST

START_TEST(test_wait_for_ever)
{
    for (unsigned skip = 0; skip < 30; skip++) {
        uint32_t words[20] = {0};
        struct debug_result r;
        set_up(&WIRINGS[_i]);
        ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 1), 0);
        b.board.dap.faults.skip = skip;
        b.board.dap.faults.wait = 1000000;
        ck_assert_int_eq(b.ops->block(&b.f, READ_DRW, words, 20, &r), 0);
        if (r.ack != DEBUG_ACK_OK) {
            ck_assert_int_eq(r.ack, DEBUG_ACK_WAIT);
            ck_assert_uint_lt(r.done, 20);
        }
        b.board.dap.faults.wait = 0;
        b.board.dap.faults.skip = 0;
        words[0] = 0x11223344;
        ck_assert_int_eq(mem_ap_write_words(&b.ap, RAM, words, 1) == 0 ||
                             mem_ap_write_words(&b.ap, RAM, words, 1) == 0,
                         1);
        words[0] = 0;
        ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 1), 0);
        ck_assert_uint_eq(words[0], 0x11223344);
        clean_up();
    }
}
END_TEST

/* A write fails on the bus: none behind it is done, and the next batch works. */
START_TEST(test_fault)
{
    const bool swd = WIRINGS[_i].wire == DEBUG_WIRE_SWD;
    for (unsigned at = 0; at < 12; at++) {
        uint32_t words[12], zeros[12] = {0};
        struct debug_result r;
        struct debug_transfer tar[2] = {{DEBUG_AP | 0x0, 0xa2000012}, {DEBUG_AP | 0x4, RAM}};
        set_up(&WIRINGS[_i]);
        ck_assert_int_eq(mem_ap_write_words(&b.ap, RAM, zeros, 12), 0);
        ck_assert_int_eq(b.ops->transfer(&b.f, tar, 2, &r), 0);
        fill(words, 12);
        b.board.dap.faults.skip = at;
        b.board.dap.faults.fault = 1;
        ck_assert_int_eq(b.ops->block(&b.f, DRW, words, 12, &r), 0);
        if (swd && b.board.dap.faults.fault == 0) {
            ck_assert_int_eq(r.ack, DEBUG_ACK_FAULT);
            ck_assert_uint_le(r.done, 12);
        } else {
            ck_assert_int_eq(r.ack, DEBUG_ACK_OK); /* JTAG: the sticky flag is asked for later */
        }
        b.board.dap.faults.fault = b.board.dap.faults.skip = 0;
        if (connect_port(&WIRINGS[_i], 0) != 0) /* on JTAG that tells of the flag it clears */
            ck_assert_int_eq(connect_port(&WIRINGS[_i], 0), 0);
        mem_ap_forget(&b.ap);
        memset(words, 0xff, sizeof words);
        ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 12), 0);
        unsigned written = 0;
        while (written < 12 && words[written] == word(written))
            written++;
        for (unsigned k = written; k < 12; k++)
            ck_assert_msg(words[k] == 0, "word %u was written behind a fault at %u", k, at);
        clean_up();
    }
}
END_TEST

START_TEST(test_no_memory)
{
    uint32_t words[40];
    set_up(&WIRINGS[_i]);
    for (unsigned round = 0; round < 3; round++) {
        ck_assert_int_eq(mem_ap_read_words(&b.ap, NO_MEMORY, words, 40), BT_ERR_IO);
        ck_assert_int_eq(b.dp.failure, DEBUG_FAIL_FAULT);
        fill(words, 40);
        ck_assert_int_eq(mem_ap_write_words(&b.ap, RAM, words, 40), 0);
        ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 40), 0);
        check_words(words, 40);
    }
    clean_up();
}
END_TEST

/* Bits are damaged at any place of a list that reads, then writes: the write is not done. */
START_TEST(test_damage)
{
    for (unsigned skip = 0; skip < 4; skip++) {
        struct debug_transfer list[] = {
            {DEBUG_AP | 0x4, RAM}, {READ_DRW, 0}, {READ_DRW, 0}, {READ_DRW, 0}, {DRW, 0x77777777}};
        uint32_t zeros[8] = {0};
        struct debug_result r;
        set_up(&WIRINGS[OF_SWD]);
        ck_assert_int_eq(mem_ap_write_words(&b.ap, RAM, zeros, 8), 0);
        b.board.dap.faults.skip = skip;
        if (_i == 0)
            b.board.dap.faults.parity = 1;
        else
            b.board.dap.faults.no_ack = 1;
        ck_assert_int_eq(b.ops->transfer(&b.f, list, 5, &r), 0);
        ck_assert_int_eq(r.ack, _i == 0 ? DEBUG_ACK_PROTOCOL : DEBUG_ACK_NONE);
        ck_assert_uint_lt(r.done, 4);
        b.board.dap.faults.skip = 0;
        /* The first access finds the line out of step, and sets that right. */
        uint32_t words[8];
        mem_ap_forget(&b.ap);
        if (mem_ap_read_words(&b.ap, RAM, words, 8) != 0)
            ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 8), 0);
        for (unsigned k = 0; k < 8; k++)
            ck_assert_uint_eq(words[k], 0);
        clean_up();
    }
}
END_TEST

START_TEST(test_out_of_step)
{
    uint32_t words[30];
    struct debug_result r;
    set_up(&WIRINGS[_i]);
    ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 1), 0);
    for (unsigned round = 0; round < 2; round++) {
        b.lose = round == 0;
        b.extra = round == 1;
        int rc = b.ops->block(&b.f, READ_DRW, words, 30, &r);
        ck_assert_int_eq(rc, round == 0 ? BT_ERR_IO : BT_ERR_FORMAT);
        b.dp.failure = DEBUG_FAIL_NONE;
        ck_assert_int_eq(connect_port(&WIRINGS[_i], 5), 0);
        mem_ap_forget(&b.ap);
        fill(words, 30);
        ck_assert_int_eq(mem_ap_write_words(&b.ap, RAM, words, 30), 0);
        ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 30), 0);
        check_words(words, 30);
    }
    ck_assert_uint_eq(b.engine.counters.bad_commands, 6); /* found again twice */
    b.gone = true;
    ck_assert_int_eq(mem_ap_read_words(&b.ap, RAM, words, 30), BT_ERR_IO);
    ck_assert_int_eq(b.dp.failure, DEBUG_FAIL_PROBE);
    ftdi_close(&b.f);
    ck_assert_int_eq(open_probe(&WIRINGS[_i]), BT_ERR_IO);
    clean_up();
}
END_TEST

START_TEST(test_overrun_detection)
{
    struct debug_result r;
    struct debug_transfer read = {READ_STATE, 0};
    set_up(&WIRINGS[_i]);
    ck_assert_int_eq(connect_port(&WIRINGS[_i], 0), 0);
    ck_assert_int_eq(b.ops->transfer(&b.f, &read, 1, &r), 0);
    ck_assert_uint_eq(read.value & 0x50000001, 0x50000001);
    adiv5_disconnect(&b.dp);
    ck_assert_uint_eq(b.board.dap.ctrl_stat & 0x50000001, 0x50000000);
    clean_up();
}
END_TEST

START_TEST(test_pins)
{
    const struct wiring *w = &WIRINGS[_i];
    uint8_t pins = 0;
    set_up(w);
    ck_assert_int_eq(b.ops->pins(&b.f, 0, DEBUG_PIN_NRESET, &pins), 0);
    ck_assert(b.board.held && b.wires.target_resets == 1);
    ck_assert_uint_eq(pins & DEBUG_PIN_NRESET, 0);
    ck_assert_int_eq(connect_port(w, 5), 0); /* connecting leaves it low */
    ck_assert(b.board.held);
    ck_assert_int_eq(b.ops->pins(&b.f, DEBUG_PIN_NRESET, DEBUG_PIN_NRESET, &pins), 0);
    ck_assert(!b.board.held && (pins & DEBUG_PIN_NRESET) != 0);
    bool trst = w->pins.ntrst.data != 0;
    ck_assert_int_eq(b.ops->pins(&b.f, 0, DEBUG_PIN_NTRST, &pins), trst ? 0 : BT_ERR_UNSUPPORTED);
    ck_assert(b.wires.tap_held == trst);
    if (trst)
        ck_assert_int_eq(b.ops->pins(&b.f, DEBUG_PIN_NTRST, DEBUG_PIN_NTRST, &pins), 0);
    ck_assert(!b.wires.tap_held);
    ck_assert_int_eq(b.ops->pins(&b.f, 0, DEBUG_PIN_SWDIO, &pins), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(connect_port(w, 5), 0);
    ftdi_close(&b.f);
    ck_assert_uint_eq(b.engine.output, 0);
    clean_up();
}
END_TEST

START_TEST(test_refusals)
{
    const uint8_t lengths[] = {4, 5, 1};
    const uint8_t dap_of_three[] = {3};
    set_up(&WIRINGS[OF_JTAG]);
    ck_assert_int_eq(b.ops->set_clock(&b.f, 0), BT_ERR_INVAL);
    ck_assert_int_eq(b.ops->jtag_chain(&b.f, lengths, 2, 2), BT_ERR_INVAL);
    ck_assert_int_eq(b.ops->jtag_chain(&b.f, lengths, 0, 0), BT_ERR_INVAL);
    ck_assert_int_eq(b.ops->jtag_chain(&b.f, lengths, 3, 0), BT_ERR_INVAL);
    ck_assert_int_eq(b.ops->jtag_chain(&b.f, dap_of_three, 1, 0), BT_ERR_INVAL);
    ck_assert_int_eq(b.ops->set_clock(&b.f, 92), 0);
    ck_assert(b.engine.divide_by_5);
    clean_up();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("ftdi");
    unit_cases(s, "ftdi: memory in batches", test_memory, 0, WIRING_COUNT);
    unit_cases(s, "ftdi: WAIT at every place", test_wait, 0, WIRING_COUNT);
    unit_cases(s, "ftdi: WAIT without end", test_wait_for_ever, 0, WIRING_COUNT);
    unit_cases(s, "ftdi: a fault at every place", test_fault, 0, WIRING_COUNT);
    unit_cases(s, "ftdi: no memory there", test_no_memory, 0, WIRING_COUNT);
    unit_cases(s, "ftdi: damaged bits", test_damage, 0, 2);
    unit_cases(s, "ftdi: answers are lost, or too long", test_out_of_step, 0, WIRING_COUNT);
    unit_cases(s, "ftdi: overrun detection comes and goes", test_overrun_detection, 0,
               WIRING_COUNT);
    unit_cases(s, "ftdi: reset lines", test_pins, 0, WIRING_COUNT);
    unit_case(s, "ftdi: what it refuses", test_refusals);
    return s;
}
