/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests drivers/probe/cmsis_dap/cmsis_dap.c and drivers/adi/adiv5.c on modelled firmware, as the
 * reference does things and as others do; SWO that is more than the probe can hand on. What is told
 * of a probe is in BTRACED_PROBE, as probe_bench.h has it.
 */
#include "tests/drivers/cortex_m/probe_bench.h"

#define SCS_DHCSR  0xe000edf0u
#define SCS_DEMCR  0xe000edfcu
#define KEY_HALT   0xa05f0003u
#define CORERESET  0x1u
#define RESET_PC   0x08000040u
#define REPORT_US  1000u /* of a HID probe for a command: a frame of USB */
#define SWO_RATE   200u  /* bytes a millisecond: 2 Mbit/s */
#define SWO_BYTES  200000u
#define BLOCK_MOST 300

static struct probe_bench *open_bench(struct probe_board_options options, bool hid)
{
    if (hid)
        options.packet_size = 64;
    bench_variant(&options, &hid);
    return bench_open(&options, hid);
}

static void close_bench(struct probe_bench *b)
{
    ck_assert_uint_eq(b->board.probe.counters.overruns, 0);
    ck_assert_uint_eq(b->board.probe.counters.oversized, 0);
    ck_assert_uint_eq(b->board.probe.counters.malformed, 0);
    ck_assert_uint_eq(b->board.probe.counters.overflowed, 0);
    ck_assert_uint_eq(b->board.probe.counters.pin_waits, 0);
    probe_board_release(&b->board);
    free(b);
}

static unsigned releases;

/* nRESET as the board sees it: who lets it go, and what had run by then. */
static void count_reset(void *ctx, bool low)
{
    releases += !low;
    probe_board_nreset(ctx, low);
}

/* From the first Connect on the pin is low; the port is woken without another one; the core stands
 * at its first instruction. */
START_TEST(test_under_reset)
{
    struct probe_bench *b = open_bench((struct probe_board_options){.jtag = _i == 1}, false);
    uint32_t dhcsr = 0;
    b->board.probe.options.nreset = count_reset;
    releases = 0;
    b->connect.hold_reset = true;
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert(b->board.held);
    ck_assert_uint_eq(releases, 0);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 0), 0);
    ck_assert_int_eq(mem_ap_write32(&b->ap, SCS_DHCSR, KEY_HALT), 0);
    ck_assert_int_eq(mem_ap_write32(&b->ap, SCS_DEMCR, CORERESET), 0);
    ck_assert_int_eq(adiv5_drive_reset(&b->dp, false, 100000), 0);
    ck_assert_uint_eq(releases, 1);
    ck_assert(!b->board.held);
    ck_assert_int_eq(mem_ap_read32(&b->ap, SCS_DHCSR, &dhcsr), 0);
    ck_assert_uint_ne(dhcsr & 0x20000, 0);
    ck_assert_uint_eq(b->board.sim.reg[15], RESET_PC);
    close_bench(b);
}
END_TEST

/* Disconnecting lets the target go, whatever its pins were. */
START_TEST(test_released)
{
    struct probe_bench *b = open_bench((struct probe_board_options){.packet_count = 4}, false);
    b->connect.hold_reset = true;
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert(b->board.held);
    adiv5_disconnect(&b->dp);
    ck_assert(!b->board.held);
    close_bench(b);
}
END_TEST

/* Dormant at first, so that the first ways of waking it get no answer; with nRESET held, or not. */
START_TEST(test_deaf_finds)
{
    struct probe_board_options options = {.dpv2 = true, .quirks = {.deaf = true}};
    struct probe_bench *b = open_bench(options, _i & 1);
    b->connect.hold_reset = _i & 2;
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert_uint_eq(b->dp.version, 2);
    ck_assert(b->board.held == b->connect.hold_reset);
    close_bench(b);
}
END_TEST

/* A request that nobody answers is one error, and no end: whatever comes next works, with the clock
 * and the configuration as they were. */
START_TEST(test_deaf_recovers)
{
    struct probe_board_options options = {.quirks = {.deaf = true}};
    struct probe_bench *b = open_bench(options, _i);
    b->connect.clock_hz = 3000000;
    b->connect.idle_clocks = 5;
    b->connect.wait_retries = 123;
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    for (unsigned k = 0; k < 20; k++) {
        uint32_t value;
        b->board.dap.faults.no_ack = 1 + k % 3;
        b->board.dap.faults.skip = k;
        for (unsigned tries = 0; b->board.dap.faults.no_ack != 0; tries++) {
            ck_assert_uint_lt(tries, 100);
            (void)adiv5_ap_read(&b->dp, 0, ADIV5_AP_IDR, &value);
        }
        /* The last one may have fallen into the recovery from the one before. */
        if (adiv5_ap_read(&b->dp, 0, ADIV5_AP_IDR, &value) != 0)
            ck_assert_int_eq(adiv5_ap_read(&b->dp, 0, ADIV5_AP_IDR, &value), 0);
        ck_assert_uint_eq(value, b->board.ap.options.idr);
    }
    ck_assert_uint_eq(b->board.probe.clock, 3000000);
    ck_assert_uint_eq(b->board.probe.idle_cycles, 5);
    ck_assert_uint_eq(b->board.probe.wait_retries, 123);
    close_bench(b);
}
END_TEST

/* A pin that does not get there ends by our clock, and no probe is asked to wait. */
START_TEST(test_pin_wait)
{
    struct probe_board_options options = {.quirks = {.pin_wait = true}};
    struct probe_bench *b = open_bench(options, _i);
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert_int_eq(adiv5_drive_reset(&b->dp, true, 100000), 0);
    uint64_t begin = b->now;
    ck_assert_int_eq(adiv5_drive_reset(&b->dp, false, 100000), 0);
    ck_assert_uint_lt(b->now - begin, 10000);
    b->board.probe.nreset_stuck = true;
    ck_assert_int_eq(adiv5_drive_reset(&b->dp, false, 100000), 0);
    ck_assert_uint_ge(b->now - begin, 100000);
    ck_assert_uint_lt(b->now - begin, 300000);
    close_bench(b);
}
END_TEST

/* Blocks around the size of a packet, with as many packets on their way as the probe takes. */
START_TEST(test_blocks)
{
    struct probe_bench *b = open_bench((struct probe_board_options){.jtag = _i & 2}, _i & 1);
    uint32_t out[BLOCK_MOST], in[BLOCK_MOST];
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 0), 0);
    for (unsigned n = 1; n < BLOCK_MOST; n += n < 20 ? 1 : 37) {
        for (unsigned k = 0; k < n; k++)
            out[k] = n << 16 | k;
        ck_assert_int_eq(mem_ap_write_words(&b->ap, 0x20000200, out, n), 0);
        ck_assert_int_eq(mem_ap_read_words(&b->ap, 0x20000200, in, n), 0);
        ck_assert_mem_eq(in, out, 4 * n);
    }
    close_bench(b);
}
END_TEST

static const struct {
    const char *chain;
    uint8_t lengths[4]; /* from TDO on */
    unsigned count, dap;
} CHAINS[] = {{"dap", {4}, 1, 0},
              {"5:0x12345677,dap", {4, 5}, 2, 0},
              {"dap,5:0x12345677", {5, 4}, 2, 1},
              {"8:0,5:0x12345677,dap,6:0x3ba00477", {6, 4, 5, 8}, 4, 1}};

/* The DAP among other devices of a JTAG chain. */
START_TEST(test_chain)
{
    struct probe_board_options options = {.jtag = true, .chain = CHAINS[_i].chain};
    struct probe_bench *b = open_bench(options, _i & 1);
    uint32_t value = 0;
    b->connect.ir_lengths = CHAINS[_i].lengths;
    b->connect.chain_count = CHAINS[_i].count;
    b->connect.chain_dap = CHAINS[_i].dap;
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 0), 0);
    ck_assert_int_eq(mem_ap_write32(&b->ap, 0x20000200, 0x12345678), 0);
    ck_assert_int_eq(mem_ap_read32(&b->ap, 0x20000200, &value), 0);
    ck_assert_uint_eq(value, 0x12345678);
    close_bench(b);
}
END_TEST

/* What came out of the capture, held against what was sent: bytes that count. */
struct heard {
    struct probe_bench *b;
    uint32_t sent; /* words that left the pin */
    uint64_t bytes;
    uint64_t piece, longest;
    unsigned losses;
    bool any;
    uint32_t part, next; /* word that is received, and the one that must follow */
    unsigned have;       /* bytes of it */
    bool locked;
};

/* The stream is words of 4 bytes that count, low byte first; behind a loss the next word that has a
 * successor is looked for by its lowest byte. */
static void hear_bytes(void *user, const uint8_t *data, size_t length)
{
    struct heard *h = user;
    for (size_t k = 0; k < length; k++) {
        uint8_t wanted = (uint8_t)(h->next >> 8 * h->have);
        if (h->locked)
            ck_assert_uint_eq(data[k], wanted);
        h->part |= (uint32_t)data[k] << 8 * h->have;
        h->have++;
        if (h->have < 4)
            continue;
        h->next = h->part + 1;
        h->locked = true;
        h->part = 0;
        h->have = 0;
    }
    h->bytes += length;
    h->piece += length;
    if (h->piece > h->longest)
        h->longest = h->piece;
}

static void hear_loss(void *user, enum bt_gap_cause cause)
{
    struct heard *h = user;
    ck_assert_int_eq(cause, BT_GAP_LOST_BYTES);
    h->losses++;
    h->locked = false;
    h->part = 0;
    h->have = 0;
    h->piece = 0;
}

/* So much has left the pin while a command was on its way, whole words. */
static void swo_goes_on(struct probe_bench *b, struct heard *h, unsigned bytes)
{
    for (unsigned k = 0; k < bytes / 4; k++, h->sent++) {
        uint8_t word[4] = {(uint8_t)h->sent, (uint8_t)(h->sent >> 8), (uint8_t)(h->sent >> 16),
                           (uint8_t)(h->sent >> 24)};
        cs_swo_put(&b->board.system, word, 4);
    }
}

static struct heard *listening;

static int slow_send(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    struct probe_bench *b = self;
    b->now += REPORT_US;
    if (listening)
        swo_goes_on(b, listening, SWO_RATE);
    return bench_send(self, data, length, timeout_ms);
}

/* A probe of 64-byte reports gets 60 bytes a millisecond of 200: it keeps its pieces, each as long
 * as its buffer at least, and tells of each loss. */
START_TEST(test_swo_too_fast)
{
    static const struct usb_pipe_ops OPS = {.send = slow_send, .receive = bench_receive};
    struct probe_bench *b =
        bench_open(&(struct probe_board_options){.packet_size = 64, .swo = PROBE_SWO_POLLED}, true);
    struct heard h = {.b = b};
    const struct trace_sink sink = {.user = &h, .bytes = hear_bytes, .lost = hear_loss};
    struct cmsis_dap_swo *swo = malloc(sizeof *swo);
    ck_assert_ptr_nonnull(swo);
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    b->board.system.tpiu.sppr = 2;
    b->dap.pipe.ops = &OPS;
    ck_assert_int_eq(cmsis_dap_swo_init(swo, &b->dap, NULL, 2000000, NULL), 0);
    struct trace_stream t = cmsis_dap_swo_stream(swo);
    ck_assert_int_eq(t.ops->start(t.self, &sink), 0);
    listening = &h;
    while (4 * (uint64_t)h.sent < SWO_BYTES)
        ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    listening = NULL;
    ck_assert_int_eq(t.ops->stop(t.self), 0);
    ck_assert_uint_ge(h.longest, CMSIS_DAP_SWO_BUFFER);
    ck_assert_uint_gt(h.losses, 2);
    /* 60 of 200, less what the questions for the status and the new starts take. */
    ck_assert_uint_gt(h.bytes, SWO_BYTES / 4);
    free(swo);
    close_bench(b);
}
END_TEST

/* SWO in all ways that the probe has, slow enough: every byte, no loss. */
START_TEST(test_swo_all)
{
    struct probe_bench *b = open_bench((struct probe_board_options){.swo = PROBE_SWO_POLLED}, _i);
    struct heard h = {.b = b};
    const struct trace_sink sink = {.user = &h, .bytes = hear_bytes, .lost = hear_loss};
    struct cmsis_dap_swo *swo = malloc(sizeof *swo);
    const struct trace_stream endpoint = bench_endpoint(b);
    ck_assert_ptr_nonnull(swo);
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    b->board.system.tpiu.sppr = 2;
    int error = cmsis_dap_swo_init(swo, &b->dap, b->usb.hid ? NULL : &endpoint, 2000000, NULL);
    bool none = (b->dap.caps & CMSIS_DAP_CAP_SWO_UART) == 0;
    ck_assert_int_eq(error, none ? BT_ERR_UNSUPPORTED : 0);
    struct trace_stream t = cmsis_dap_swo_stream(swo);
    if (!none) {
        ck_assert_int_eq(t.ops->start(t.self, &sink), 0);
        for (unsigned k = 0; k < 200; k++) {
            swo_goes_on(b, &h, 4 * (k % 100));
            ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
        }
        ck_assert_int_eq(t.ops->stop(t.self), 0);
        ck_assert_uint_eq(h.bytes, 4 * (uint64_t)h.sent);
        ck_assert_uint_eq(h.losses, 0);
    }
    free(swo);
    close_bench(b);
}
END_TEST

/* A probe that streams and says that it pauses: what came before is kept, up to that place. */
START_TEST(test_swo_stream_paused)
{
    struct probe_bench *b = bench_open(&(struct probe_board_options){.packet_count = 4}, false);
    struct heard h = {.b = b};
    const struct trace_sink sink = {.user = &h, .bytes = hear_bytes, .lost = hear_loss};
    struct cmsis_dap_swo *swo = malloc(sizeof *swo);
    const struct trace_stream endpoint = bench_endpoint(b);
    ck_assert_ptr_nonnull(swo);
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    b->board.system.tpiu.sppr = 2;
    ck_assert_int_eq(cmsis_dap_swo_init(swo, &b->dap, &endpoint, 2000000, NULL), 0);
    struct trace_stream t = cmsis_dap_swo_stream(swo);
    ck_assert_int_eq(t.ops->start(t.self, &sink), 0);
    for (unsigned k = 0; k < 10; k++) {
        swo_goes_on(b, &h, 512);
        ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    }
    /* The next 100 bytes are the last that it takes; the rest of the block is lost. */
    b->board.probe.swo.pause = 1;
    swo_goes_on(b, &h, 100);
    b->skip_endpoint = true; /* the host has no time */
    ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    swo_goes_on(b, &h, 400);
    ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    b->skip_endpoint = false;
    b->now += CMSIS_DAP_BLOCK_US;
    for (unsigned k = 0; k < 10; k++) {
        swo_goes_on(b, &h, 512);
        ck_assert_int_eq(t.ops->poll(t.self, 0), 0);
    }
    ck_assert_int_eq(t.ops->stop(t.self), 0);
    ck_assert_uint_eq(h.losses, 1);
    ck_assert_uint_ge(h.bytes, 15 * 512);
    free(swo);
    close_bench(b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cmsis_dap_board");
    unit_cases(s, "probe: under reset the core stands at its first instruction", test_under_reset,
               0, 2);
    unit_case(s, "probe: disconnecting lets nRESET go", test_released);
    unit_cases(s, "probe: deaf behind a missing answer, finds a dormant port", test_deaf_finds, 0,
               4);
    unit_cases(s, "probe: deaf behind a missing answer, recovers", test_deaf_recovers, 0, 2);
    unit_cases(s, "probe: the host waits for a pin", test_pin_wait, 0, 2);
    unit_cases(s, "probe: blocks of all sizes", test_blocks, 0, 4);
    unit_cases(s, "probe: JTAG chains", test_chain, 0, 4);
    unit_case(s, "probe: polled SWO at more than it can hand on", test_swo_too_fast);
    unit_cases(s, "probe: all of SWO", test_swo_all, 0, 2);
    unit_case(s, "probe: a probe that streams pauses", test_swo_stream_paused);
    return s;
}
