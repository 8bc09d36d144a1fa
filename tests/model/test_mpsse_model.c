/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPSSE, command by command, with the bytes of AN_108. */
#include <stdlib.h>
#include <string.h>

#include "ftdi_board.h"
#include "tests/support/unit_main.h"

#define MAX_CLOCKS 600

static struct mpsse_model mpsse;
static struct ftdi_fifo out, in;
static struct probe_board *board;
static struct ftdi_board wires;

/* Pins that remember what was on TMS and TDI at each rising edge; inputs as a test sets them. */
static struct {
    uint16_t level, output;
    uint16_t inputs;
    bool follows; /* RTCK is TCK */
    unsigned clocks;
    uint8_t tms[MAX_CLOCKS], tdi[MAX_CLOCKS];
} pins;

static void record(void *ctx, uint16_t level, uint16_t output)
{
    (void)ctx;
    if (level & ~pins.level & MPSSE_TCK) {
        ck_assert_uint_lt(pins.clocks, MAX_CLOCKS);
        pins.tms[pins.clocks] = (level & MPSSE_TMS) != 0;
        pins.tdi[pins.clocks++] = (level & MPSSE_TDI) != 0;
    }
    pins.level = level;
    pins.output = output;
}

static uint16_t sense(void *ctx)
{
    (void)ctx;
    unsigned rtck = pins.follows && pins.level & MPSSE_TCK ? MPSSE_GPIOL3 : 0;
    return (uint16_t)(pins.inputs | rtck);
}

static void setup(void)
{
    const struct mpsse_pins recorder = {.drive = record, .sense = sense};
    memset(&pins, 0, sizeof pins);
    out.count = in.count = 0;
    mpsse_init(&mpsse, &recorder);
}

static void setup_board(const char *layout)
{
    const struct probe_board_options options = {.jtag = true};
    board = malloc(sizeof *board);
    ck_assert_ptr_nonnull(board);
    ck_assert_int_eq(probe_board_init(board, &options), 0);
    ftdi_board_init(&wires, board, ftdi_layout_find(layout));
    const struct mpsse_pins connected = ftdi_board_pins(&wires);
    out.count = in.count = 0;
    mpsse_init(&mpsse, &connected);
}

static void teardown_board(void)
{
    probe_board_release(board);
    free(board);
}

/* Bytes in hexadecimal, blanks between them. */
static size_t parse(const char *text, uint8_t *bytes)
{
    size_t n = 0;
    char *end;
    for (; *text; text = end + (*end == ' '))
        bytes[n++] = (uint8_t)strtoul(text, &end, 16);
    return n;
}

static void give(const char *text)
{
    uint8_t bytes[256];
    size_t n = parse(text, bytes);
    for (size_t i = 0; i < n; i++) {
        ftdi_fifo_put(&out, bytes[i]);
        mpsse_run(&mpsse, &out, &in);
    }
}

static void expect(const char *text)
{
    uint8_t wanted[256];
    size_t n = parse(text, wanted);
    ck_assert_uint_eq(in.count, n);
    for (size_t i = 0; i < n; i++)
        ck_assert_uint_eq(ftdi_fifo_get(&in), wanted[i]);
}

START_TEST(test_bad_command)
{
    setup();
    give("aa 87");
    ck_assert_uint_eq(mpsse.flush, 2);
    expect("fa aa");
    give("ab");
    expect("fa ab");
    give("9e"); /* open drain is the FT232H's */
    expect("fa 9e");
    give("48 5b 00"); /* TMS needs bit mode and the low bit first, and TDI has its bit there */
    expect("fa 48 fa 5b fa 00");
    ck_assert_uint_eq(mpsse.counters.bad_commands, 6);
}
END_TEST

START_TEST(test_gpio)
{
    setup();
    pins.inputs = 0xa5c3;
    give("80 5a 0f 82 3c f0");
    ck_assert_uint_eq(pins.level, 0x3c5a);
    ck_assert_uint_eq(pins.output, 0xf00f);
    give("81 83"); /* outputs read back, inputs are sensed */
    expect("ca 35");
    mpsse_reset(&mpsse);
    ck_assert_uint_eq(pins.output, 0);
}
END_TEST

START_TEST(test_rate)
{
    setup();
    ck_assert_uint_eq(mpsse_rate(&mpsse), 6000000);
    give("8a 86 00 00");
    ck_assert_uint_eq(mpsse_rate(&mpsse), 30000000);
    give("86 05 01");
    ck_assert_uint_eq(mpsse_rate(&mpsse), 30000000 / 262);
    give("8b 86 01 00");
    ck_assert_uint_eq(mpsse_rate(&mpsse), 3000000);
}
END_TEST

static unsigned bits_seen(const uint8_t *bits, unsigned first, unsigned count)
{
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (unsigned)bits[first + i] << i;
    return value;
}

START_TEST(test_write)
{
    setup();
    give("80 00 0b 19 01 00 35 81");
    ck_assert_uint_eq(pins.clocks, 16);
    ck_assert_uint_eq(bits_seen(pins.tdi, 0, 16), 0x8135);
    give("11 00 00 35"); /* most significant first: the mirror image */
    ck_assert_uint_eq(bits_seen(pins.tdi, 16, 8), 0xac);
    give("1b 02 06 13 02 60"); /* three bits each */
    ck_assert_uint_eq(bits_seen(pins.tdi, 24, 6), 0x36);
    ck_assert_uint_eq(pins.clocks, 30);
    ck_assert_uint_eq(pins.level & MPSSE_TCK, 0);
    ck_assert_uint_eq(mpsse.counters.wrong_edge, 0);
    expect("");
    /* With the clock at rest low, data that changes on the rising edge is one clock late. */
    give("80 00 0b 18 00 00 01");
    ck_assert_uint_eq(bits_seen(pins.tdi, 30, 8), 0x02);
    ck_assert_uint_eq(mpsse.counters.wrong_edge, 1);
    give("80 01 0b 18 00 00 35"); /* right when it rests high */
    ck_assert_uint_eq(bits_seen(pins.tdi, pins.clocks - 8, 8), 0x35);
    ck_assert_uint_eq(mpsse.counters.wrong_edge, 1);
}
END_TEST

START_TEST(test_tms)
{
    setup();
    give("80 08 0b 4b 06 8b"); /* 1 1 0 1 0 0 0, TDI high */
    ck_assert_uint_eq(pins.clocks, 7);
    ck_assert_uint_eq(bits_seen(pins.tms, 0, 7), 0x0b);
    ck_assert_uint_eq(bits_seen(pins.tdi, 0, 7), 0x7f);
    pins.inputs = MPSSE_TDO;
    give("6b 02 01"); /* three bits back: at the top */
    ck_assert_uint_eq(bits_seen(pins.tdi, 7, 3), 0);
    expect("e0");
    give("4b 07 00");
    ck_assert_uint_eq(pins.clocks, 17);
    ck_assert_uint_eq(mpsse.counters.long_tms, 1);
    give("19 00 00 00");
    ck_assert_uint_eq(bits_seen(pins.tms, 17, 8), 0); /* TMS stays */
}
END_TEST

/* Each mode gives back what it sends; partial bytes where AN_108 says they are. */
START_TEST(test_loopback)
{
    static const struct {
        const char *command, *answer;
        bool rests_high;
    } modes[] = {
        {"31 01 00 12 c5", "12 c5", false}, {"34 01 00 12 c5", "12 c5", true},
        {"39 01 00 12 c5", "12 c5", false}, {"3c 01 00 12 c5", "12 c5", true},
        {"33 02 a0", "05", false},          {"36 02 a0", "05", true},
        {"3b 02 05", "a0", false},          {"3e 02 05", "a0", true},
    };
    setup();
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
        give(modes[i].rests_high ? "80 01 0b 84" : "80 00 0b 84");
        give(modes[i].command);
        expect(modes[i].answer);
    }
    give("85 80 00 0b");
    pins.inputs = MPSSE_TDO;
    give("39 00 00 00");
    expect("ff");
    ck_assert_uint_eq(mpsse.counters.unlisted, 0);
    ck_assert_uint_eq(mpsse.counters.wrong_edge, 0);
    give("29 00 00"); /* nothing is written: the bit for its edge does not matter */
    expect("ff");
    ck_assert_uint_eq(mpsse.counters.unlisted, 1);
}
END_TEST

START_TEST(test_clocks)
{
    setup();
    give("80 00 0b 8e 04");
    ck_assert_uint_eq(pins.clocks, 5);
    give("8f 02 00");
    ck_assert_uint_eq(pins.clocks, 29);
    give("9c 00 00"); /* GPIOL1 is low: all of them */
    ck_assert_uint_eq(pins.clocks, 37);
    give("9d 00 00 81"); /* and it is low already: none */
    ck_assert_uint_eq(pins.clocks, 37);
    in.count = 0;
    give("94 aa"); /* without end, in turns */
    ck_assert_uint_gt(pins.clocks, 37);
    expect("");
    pins.inputs = MPSSE_GPIOL1;
    mpsse_run(&mpsse, &out, &in);
    expect("fa aa");
}
END_TEST

START_TEST(test_wait)
{
    setup();
    give("88 aa");
    expect("");
    pins.inputs = MPSSE_GPIOL1;
    mpsse_run(&mpsse, &out, &in);
    expect("fa aa");
    give("88 ab 89 aa");
    expect("fa ab");
    pins.inputs = 0;
    mpsse_run(&mpsse, &out, &in);
    expect("fa aa");
    ck_assert_uint_eq(pins.clocks, 0);
}
END_TEST

/* A target that does not send the clock back stops it in the middle of a bit. */
START_TEST(test_adaptive)
{
    setup();
    give("80 00 0b 96 1b 03 0a aa");
    ck_assert_uint_eq(pins.clocks, 1);
    ck_assert_uint_eq(pins.level & MPSSE_TCK, MPSSE_TCK);
    expect("");
    pins.follows = true;
    mpsse_run(&mpsse, &out, &in);
    ck_assert_uint_eq(pins.clocks, 4);
    ck_assert_uint_eq(bits_seen(pins.tdi, 0, 4), 0x0a);
    expect("fa aa");
    pins.follows = false;
    give("97 1b 03 05");
    ck_assert_uint_eq(pins.clocks, 8);
}
END_TEST

/* It stands still when nobody takes the answers, and loses nothing. */
START_TEST(test_full)
{
    setup();
    give("84 80 00 0b");
    ftdi_fifo_put(&out, 0x20);
    ftdi_fifo_put(&out, 0xff);
    ftdi_fifo_put(&out, 0x1f); /* 8192 bytes in */
    ftdi_fifo_put(&out, 0xaa);
    pins.clocks = 0;
    const struct mpsse_pins nothing = {0};
    mpsse.pins = nothing;
    mpsse_run(&mpsse, &out, &in);
    ck_assert_uint_eq(in.count, FTDI_FIFO_SIZE);
    ck_assert_uint_eq(out.count, 1);
    ck_assert_uint_eq(mpsse.counters.full, 1);
    for (unsigned i = 0; i < 100; i++)
        ftdi_fifo_get(&in);
    mpsse_run(&mpsse, &out, &in);
    ck_assert_uint_eq(in.count, FTDI_FIFO_SIZE);
    in.count = 0;
    mpsse_run(&mpsse, &out, &in);
    ck_assert_uint_eq(in.count, 8192 - FTDI_FIFO_SIZE - 100 + 2);
    ck_assert_uint_eq(mpsse.counters.clocks, 8 * 8192);
}
END_TEST

#define TO_IDLE "4b 04 1f 4b 00 00"
#define DPACC   " 4b 03 03 1b 02 02 4b 00 81 4b 01 01"
#define IDLE    " 8e 07"

START_TEST(test_idcode)
{
    setup_board("minimodule");
    give("80 08 0b " TO_IDLE " 4b 02 01 28 02 00 2a 06 6b 00 01 4b 01 01 87");
    expect("77 04 a0 96 00");
    /* Sampled on the falling edge it is the same: the target changes TDO behind it. */
    give(TO_IDLE " 4b 02 01 2c 02 00 2e 06 6f 00 01 4b 01 01 87");
    expect("77 04 a0 96 00");
    teardown_board();
}
END_TEST

/* CTRL/STAT is written by a scan of 35 bits, and read back by two more scans. */
START_TEST(test_dpacc)
{
    static const char read[] = " 4b 02 01 39 03 00 03 00 00 00 3b 01 00 6b 00 01 4b 01 01";
    setup_board("minimodule");
    give("80 08 0b " TO_IDLE DPACC
         " 4b 02 01 39 03 00 02 00 00 80 3b 01 02 6b 00 01 4b 01 01" IDLE);
    in.count = 0;
    give(read);
    in.count = 0;
    for (unsigned i = 0; i < 3; i++) { /* the power comes after two looks */
        give(read);
        ck_assert_uint_eq(in.count, 6);
        if (i < 2)
            in.count = 0;
    }
    uint64_t scan = 0;
    for (unsigned i = 0; i < 4; i++)
        scan |= (uint64_t)ftdi_fifo_get(&in) << 8 * i;
    scan |= (uint64_t)(ftdi_fifo_get(&in) >> 6) << 32;
    scan |= (uint64_t)(ftdi_fifo_get(&in) >> 7) << 34;
    ck_assert_uint_eq(scan & 7, 2); /* OK */
    ck_assert_uint_eq(scan >> 3, 0xf0000000);
    teardown_board();
}
END_TEST

#define SWITCH     "19 10 00 ff ff ff ff ff ff ff 9e e7 ff ff ff ff ff ff ff 00"
#define READ_DPIDR " 19 00 00 a5 80 00 09 28 03 00 2a 05 80 00 0b"

static uint64_t swd_answer(void)
{
    uint64_t bits = 0;
    ck_assert_uint_eq(in.count, 5);
    for (unsigned i = 0; i < 4; i++)
        bits |= (uint64_t)ftdi_fifo_get(&in) << 8 * i;
    return bits | (uint64_t)(ftdi_fifo_get(&in) >> 2) << 32;
}

START_TEST(test_swd)
{
    setup_board("minimodule-swd");
    give("80 00 0b " SWITCH READ_DPIDR);
    uint64_t bits = swd_answer();
    ck_assert_uint_eq(bits >> 1 & 7, DAP_ACK_OK);
    ck_assert_uint_eq(bits >> 4 & 0xffffffff, 0x2ba01477);
    ck_assert_uint_eq(bits >> 36 & 1, (unsigned)__builtin_parity(0x2ba01477));
    /* A write: ABORT 0x1e. Its parity is 0. */
    give("19 00 00 81 80 00 09 2a 04 80 00 0b 19 03 00 1e 00 00 00 1b 00 00 19 00 00 00");
    ck_assert_uint_eq(in.count, 1);
    ck_assert_uint_eq(ftdi_fifo_get(&in) >> 3 >> 1 & 7, DAP_ACK_OK);
    ck_assert_uint_eq(wires.fights, 0);
    ck_assert_uint_eq(board->dap.counters.write_parity, 0);
    ck_assert_uint_eq(board->dap.counters.accesses, 2);
    teardown_board();
}
END_TEST

/* On the falling edge the target shows its next bit already. */
START_TEST(test_swd_falling)
{
    setup_board("minimodule-swd");
    give("80 00 0b " SWITCH " 19 00 00 a5 80 00 09 2c 03 00 2e 05");
    ck_assert_uint_eq(swd_answer() & 7, DAP_ACK_OK);
    teardown_board();
}
END_TEST

/* Who goes on driving SWDIO reads himself, and it is counted. */
START_TEST(test_swd_fight)
{
    setup_board("minimodule-swd");
    give("80 00 0b " SWITCH " 19 00 00 a5 28 03 00 2a 05");
    ck_assert_uint_eq(swd_answer() >> 1 & 7, 7);
    ck_assert_uint_gt(wires.fights, 0);
    teardown_board();
}
END_TEST

/* KT-LINK: one set of pins for both wires, switched by signals. */
START_TEST(test_switched)
{
    setup_board("kt-link");
    give("80 28 3b 82 8c ff " TO_IDLE " 4b 02 01 28 02 00 2a 06 6b 00 01 4b 01 01");
    expect("77 04 a0 96 00");
    /* SWD_EN: bit 5 low, bit 13 high. SWDIO_OE: bit 12, low drives. */
    give("80 08 3b 82 ac ff " SWITCH " 19 00 00 a5 82 bc ff 28 03 00 2a 05 82 ac ff");
    ck_assert_uint_eq(swd_answer() >> 4 & 0xffffffff, 0x2ba01477);
    ck_assert_uint_eq(wires.fights, 0);
    /* nSRST: bit 9 low, enabled by bit 11 low. */
    ck_assert_uint_eq(wires.target_resets, 0);
    give("82 a4 ff");
    ck_assert_uint_eq(wires.target_resets, 1);
    ck_assert(board->held);
    give("82 ac ff");
    ck_assert(!board->held);
    teardown_board();
}
END_TEST

START_TEST(test_chain)
{
    static const char *const bad[] = {"",
                                      "dap,",
                                      "5:1",
                                      "dap,dap",
                                      "dap,1:0",
                                      "dap,x",
                                      "2:0,2:0,2:0,2:0,dap,2:0,2:0,2:0,2:0,2:0"};
    setup_board("minimodule");
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(tap_chain_parse(&wires.chain, bad[i]), -1);
    /* TDI, a device of 5 bits with an IDCODE, the DAP, one of 2 bits without, TDO. */
    ck_assert_int_eq(tap_chain_parse(&wires.chain, "5:0x12345677,dap,2:0"), 0);
    /* Behind reset: one bypass bit, two IDCODEs. */
    give("80 08 0b " TO_IDLE " 4b 02 01 2a 00 28 07 00");
    expect("00 77 04 a0 4b 77 56 34 12");
    /* All ones into the 11 bits of IR: what comes out are the captured bits 01, 0001, 00001. */
    give(TO_IDLE " 4b 03 03 39 00 00 ff 3b 01 ff 6b 00 81 4b 01 01");
    expect("45 00 00");
    /* Three bypass bits: a pattern comes out three clocks later. */
    give("4b 02 01 39 01 00 a5 5a");
    expect("28 d5");
    teardown_board();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("mpsse_model");
    unit_case(s, "mpsse: bad commands are echoed", test_bad_command);
    unit_case(s, "mpsse: pins", test_gpio);
    unit_case(s, "mpsse: clock rate", test_rate);
    unit_case(s, "mpsse: bytes and bits out, both edges", test_write);
    unit_case(s, "mpsse: TMS", test_tms);
    unit_case(s, "mpsse: loopback in every mode", test_loopback);
    unit_case(s, "mpsse: clocks without data", test_clocks);
    unit_case(s, "mpsse: wait for a pin", test_wait);
    unit_case(s, "mpsse: adaptive clock", test_adaptive);
    unit_case(s, "mpsse: stands still when its buffer is full", test_full);
    unit_case(s, "mpsse: JTAG, IDCODE", test_idcode);
    unit_case(s, "mpsse: JTAG, a DP register", test_dpacc);
    unit_case(s, "mpsse: SWD by a resistor", test_swd);
    unit_case(s, "mpsse: SWD sampled on the other edge", test_swd_falling);
    unit_case(s, "mpsse: SWDIO driven by both ends", test_swd_fight);
    unit_case(s, "mpsse: a board that switches between JTAG and SWD", test_switched);
    unit_case(s, "mpsse: several TAPs", test_chain);
    return s;
}
