/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace units found, programmed and read out on the modelled board, and the whole way of a probe
 * target's trace: board file, probe, debug port, sink. All in one process.
 */
#include <string.h>
#include <unistd.h>

#include "decoder/port/formatter.h"
#include "drivers/probe/cmsis_dap/cmsis_dap.h"
#include "server/probe/probe_target_trace.h"
#include "tests/support/unit_main.h"

/* Driver and model name the bits of the protocol alike. */
#undef CMSIS_DAP_CAP_SWD
#undef CMSIS_DAP_CAP_JTAG
#undef CMSIS_DAP_CAP_SWO_UART
#undef CMSIS_DAP_CAP_SWO_STREAM
#include "tests/model/usb_probe.h"

#define PROBE "[probe]\ntype = cmsis-dap\n"
#define ETB   PROBE "[trace]\nsink = etb\n"
#define SWO   PROBE "[trace]\nsink = swo\nswo_rate = 2M\ntrace_clock = 16M\n"
#define CPU   "[core cpu0]\ntype = Cortex-M4\nETMTRACEIDR = 0x22\n"

#define ITM_ID    5
#define ITM       "itm = 0-3 31\nitm_id = 5\nitm_timestamps = 0\n"
#define TRACE_MAX 8192

static struct probe_board board;
static struct usb_probe usb;
static struct cmsis_dap dap;
static struct cmsis_dap_swo swo;
static struct probe_link probe;
static struct probe_target_trace trace;
static struct config config;
static struct message why;
static struct {
    struct formatter formatter;
    uint8_t bytes[TRACE_MAX];
    size_t length;
    size_t raw;
    unsigned others; /* bytes of sources that are not ours */
    uint8_t itm[TRACE_MAX];
    size_t itm_length;
    unsigned lost;
    enum bt_gap_cause cause;
    size_t raw_at_loss;
} got;

/* The probe without USB. */

static int pipe_send(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    (void)self, (void)timeout_ms;
    size_t taken = 0;
    return usb_device_out(&usb.device, USB_PROBE_EP_OUT, data, length, &taken) < 0 ? BT_ERR_IO : 0;
}

static int pipe_receive(void *self, uint8_t *data, size_t capacity, size_t *length,
                        unsigned timeout_ms)
{
    (void)self, (void)timeout_ms;
    int rc = usb_device_in(&usb.device, USB_PROBE_EP_IN, data, capacity, length);
    return rc == USB_DEVICE_WAIT ? USB_TIMED_OUT : rc < 0 ? BT_ERR_IO : 0;
}

static void take_itm(const uint8_t *bytes, size_t length)
{
    ck_assert_uint_le(got.itm_length + length, TRACE_MAX);
    memcpy(got.itm + got.itm_length, bytes, length);
    got.itm_length += length;
}

static void on_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx;
    if (run->kind != FORMATTER_DATA)
        return;
    if (run->id == ITM_ID)
        take_itm(run->data, run->len);
    if (run->id != 0x22) {
        got.others += run->len;
        return;
    }
    ck_assert_uint_le(got.length + run->len, TRACE_MAX);
    memcpy(got.bytes + got.length, run->data, run->len);
    got.length += run->len;
}

static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    (void)user;
    got.raw += length;
    if (!config.formatted) {
        take_itm(data, length);
        return;
    }
    formatter_feed(&got.formatter, data, length, on_run, NULL);
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    (void)user;
    got.lost++;
    got.cause = cause;
    got.raw_at_loss = got.raw;
}

static void open_board(const char *text)
{
    static const struct probe_board_options options = {.packet_count = 4};
    static const struct usb_pipe_ops ops = {.send = pipe_send, .receive = pipe_receive};
    const struct usb_pipe pipe = {.ops = &ops, .out_packet = 512, .in_packet = 512};
    const struct adiv5_connect_options connect = {.wire = DEBUG_WIRE_SWD};
    memset(&got, 0, sizeof got);
    memset(&probe, 0, sizeof probe);
    int error = config_parse(&config, text, strlen(text), "b.conf", NULL, &why);
    ck_assert_msg(error == 0, "%s", why.text);
    formatter_init(&got.formatter, config.mode);
    ck_assert_int_eq(probe_board_init(&board, &options), 0);
    board.system.frames.options.repeat_id_period = 8; /* as formatters do */
    usb_probe_init(&usb, &board, false);
    ck_assert_int_eq(cmsis_dap_open(&dap, &pipe, CMSIS_DAP_BULK), 0);
    const struct debug_link link = cmsis_dap_link(&dap);
    adiv5_init(&probe.dp, &link, &debug_clock_monotonic);
    ck_assert_int_eq(adiv5_connect(&probe.dp, &connect), 0);
    ck_assert_int_eq(mem_ap_init(&probe.ap, &probe.dp, 0), 0);
    coresight_bus_on_mem_ap(&probe.bus, &probe.ap);
    probe.rom = CS_ROM;
    probe.is_open = true;
    if (config.sink == CONFIG_SINK_SWO) {
        ck_assert_int_eq(cmsis_dap_swo_init(&swo, &dap, NULL, config.swo_rate, NULL), 0);
        probe.swo = cmsis_dap_swo_stream(&swo);
    }
}

static int open_trace(void)
{
    const struct trace_sink sink = {.bytes = on_bytes, .lost = on_lost};
    return probe_target_trace_open(&trace, &probe, &config, &sink, &why);
}

static void open_all(const char *text)
{
    open_board(text);
    ck_assert_msg(open_trace() == 0, "%s", why.text);
}

static void close_all(void)
{
    probe_target_trace_close(&trace);
    probe_board_release(&board);
    config_release(&config);
}

static void notes_have(const char *part)
{
    ck_assert_msg(strstr(trace.setup.notes.text, part) != NULL, "'%s' is not in '%s'", part,
                  trace.setup.notes.text);
}

static uint32_t reg(const char *name)
{
    uint64_t value = 0;
    ck_assert_int_eq(snapshot_reg(&config.cores[0].source_device, name, &value), 0);
    return (uint32_t)value;
}

static void resume(void)
{
    ck_assert_msg(probe_target_trace_resume(&trace, &why) == 0, "%s", why.text);
}

static void halted(void)
{
    ck_assert_msg(probe_target_trace_halted(&trace, &why) == 0, "%s", why.text);
}

/* The core makes `count` bytes of trace, counting from `first`. */
static void make_trace(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t byte = (uint8_t)(first + i);
        ck_assert_int_eq(core_sim_put_trace(&board.sim, &byte, 1), 0);
        if (i % 64 == 63)
            coresight_model_run(&board.system);
    }
    coresight_model_run(&board.system);
}

/* What is found. */

START_TEST(discovery)
{
    char text[100];
    open_all(ETB CPU);
    ck_assert_str_eq(trace.setup.notes.text, "");
    ck_assert(trace.setup.history && config.cores[0].has_source);
    ck_assert_uint_eq(trace.setup.sink, CS_ETB);
    ck_assert_uint_eq(trace.setup.cores[0].unit, CS_ETM);
    ck_assert_str_eq(config.cores[0].source_device.type, "ETM3.5");
    ck_assert_uint_eq(reg("ETMIDR"), 0x4114f250);
    ck_assert_uint_eq(reg("ETMCCER"), 0x18541800);
    ck_assert_uint_eq(reg("ETMCCR"), 0x8c842000);
    ck_assert_uint_eq(reg("ETMSYNCFR"), 0x400);
    ck_assert_uint_eq(reg("ETMTRACEIDR"), 0x22);
    ck_assert_uint_eq(reg("ETMCR"), 0x800);
    ck_assert_str_eq(trace_setup_describe_sink(&trace.setup, text, sizeof text),
                     "ETB, 4096 bytes at 0xe0043000");
    ck_assert(board.system.etm.prog && !cs_etb_capturing(&board.system)); /* nothing runs yet */
    close_all();
}
END_TEST

START_TEST(wishes)
{
    open_all(ETB CPU "ETMCR = 0x10001180\n"); /* timestamps, all branches, stall; cycles are not */
    ck_assert_uint_eq(reg("ETMCR"), 0x10000980);
    notes_have("core cpu0: ETMCR is 0x10001180 in the board file, but 0x10000980 in the trace");
    close_all();
}
END_TEST

START_TEST(contradictions)
{
    open_all(ETB CPU "source = PTM1.1\nETMIDR = 0x411CF312\nETMCCER = 0x18541800\n");
    notes_have("source is PTM1.1 in the board file, but the trace unit is ETM3.5, which is used");
    notes_have("ETMIDR is 0x411cf312 in the board file, but 0x4114f250 in the trace unit");
    ck_assert_ptr_null(strstr(trace.setup.notes.text, "ETMCCER"));
    ck_assert_str_eq(config.cores[0].source_device.type, "ETM3.5");
    ck_assert_uint_eq(reg("ETMIDR"), 0x4114f250);
    close_all();
}
END_TEST

START_TEST(no_history)
{
    open_all(PROBE "[trace]\nsink = tmc\n" CPU);
    notes_have("no history: this chip has no TMC; there is: sink = etb, tpiu or swo");
    ck_assert(!trace.setup.history && !config.cores[0].has_source);
    resume();
    halted();
    ck_assert_uint_eq(got.raw, 0);
    close_all();
    open_all(ETB CPU "[core b]\ntype = Cortex-M4\n");
    notes_have("core b: no history: this core has no trace unit");
    ck_assert(trace.setup.history && config.cores[0].has_source && !config.cores[1].has_source);
    close_all();
    open_all(ETB "[coresight]\netb = 0xE0043000\n" CPU "trace_unit = 0x20000000\n");
    notes_have("core cpu0: no history: the trace unit at 0x20000000");
    ck_assert(!trace.setup.history);
    close_all();
    open_all(PROBE "[trace]\nsink = none\n" CPU);
    ck_assert(!trace.setup.history && trace.setup.notes.used == 0);
    close_all();
}
END_TEST

static void expect_trace(unsigned from, unsigned first, unsigned count)
{
    ck_assert_uint_eq(got.length, from + count);
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_eq(got.bytes[from + i], (uint8_t)(first + i));
}

START_TEST(etb_runs)
{
    open_all(ETB CPU);
    halted(); /* nothing has run */
    ck_assert_uint_eq(got.raw, 0);
    resume();
    ck_assert(cs_etm_tracing(&board.system) && cs_etb_capturing(&board.system));
    make_trace(0, 300);
    ck_assert_int_eq(probe_target_trace_poll(&trace, &why), 0);
    ck_assert_uint_eq(got.raw, 0);
    halted();
    expect_trace(0, 0, 300);
    halted(); /* twice: there is nothing more */
    expect_trace(0, 0, 300);
    unsigned packets = board.probe.counters.packets;
    resume();
    ck_assert_uint_lt(board.probe.counters.packets - packets, 40); /* not all anew */
    make_trace(300, 1000);
    halted();
    expect_trace(300, 300, 1000);
    ck_assert_uint_eq(got.lost, 0);
    ck_assert_uint_eq(board.system.counters.locked_writes, 0);
    ck_assert_uint_eq(board.system.counters.untraced, 0);
    ck_assert_uint_eq(board.system.counters.sub_word, 0);
    close_all();
    ck_assert_int_eq(trace.capturing, false);
}
END_TEST

START_TEST(etb_wraps)
{
    open_all(ETB CPU);
    resume();
    make_trace(0, 6000);
    halted();
    ck_assert_uint_eq(got.lost, 1);
    ck_assert_int_eq(got.cause, BT_GAP_OVERWRITTEN);
    ck_assert_uint_eq(got.raw_at_loss, 0); /* told before the first byte */
    ck_assert_uint_eq(got.raw, 4 * CS_ETB_WORDS);
    ck_assert_uint_gt(got.length, 3000);
    for (size_t i = 0; i < got.length; i++)
        ck_assert_uint_eq(got.bytes[i], (uint8_t)(6000 - got.length + i));
    close_all();
}
END_TEST

START_TEST(reset_programs_again)
{
    open_all(ETB CPU);
    resume();
    make_trace(0, 100);
    halted();
    coresight_model_reset(&board.system);
    probe_target_trace_reset(&trace);
    resume();
    ck_assert(cs_etm_tracing(&board.system) && cs_etb_capturing(&board.system));
    make_trace(100, 100);
    halted();
    expect_trace(100, 100, 100);
    close_all();
}
END_TEST

START_TEST(switched_off)
{
    open_all(ETB CPU);
    resume();
    make_trace(0, 50);
    halted();
    probe_target_trace_enable(&trace, false);
    resume();
    ck_assert(!cs_etm_tracing(&board.system));
    halted();
    expect_trace(0, 0, 50);
    probe_target_trace_enable(&trace, true);
    resume();
    ck_assert(cs_etm_tracing(&board.system));
    make_trace(50, 50);
    halted();
    expect_trace(50, 50, 50);
    close_all();
}
END_TEST

/* Armed by one run, read by another: nothing is programmed or reset in between. */
START_TEST(flight_recorder)
{
    open_all(ETB CPU "ETMCR = 0x100\n");
    resume();
    probe_target_trace_close(&trace);
    make_trace(0, 700);
    ck_assert(cs_etm_tracing(&board.system) && cs_etb_capturing(&board.system));

    config_release(&config);
    ck_assert_int_eq(config_parse(&config, ETB CPU, strlen(ETB CPU), "b.conf", NULL, &why), 0);
    config.attach = true;
    ck_assert_int_eq(open_trace(), 0);
    ck_assert(cs_etm_tracing(&board.system) && cs_etb_capturing(&board.system));
    ck_assert_uint_eq(reg("ETMCR"), 0x900); /* as it was armed */
    ck_assert_uint_eq(reg("ETMTRACEIDR"), 0x22);
    make_trace(700, 20);
    halted();
    expect_trace(0, 0, 720);
    resume();
    make_trace(720, 80);
    halted();
    expect_trace(720, 720, 80);
    ck_assert_uint_eq(got.lost, 0);
    close_all();
}
END_TEST

START_TEST(attached_without_capture)
{
    open_board(ETB CPU);
    config.attach = true;
    ck_assert_int_eq(open_trace(), 0);
    notes_have("core cpu0: the trace unit is not running: was it armed?");
    close_all();
}
END_TEST

START_TEST(unplugged)
{
    open_all(ETB CPU);
    resume();
    make_trace(0, 100);
    usb.device.unplugged = true;
    ck_assert_int_eq(probe_target_trace_halted(&trace, &why), BT_ERR_IO);
    ck_assert(probe_link_is_gone(&probe));
    ck_assert_int_eq(got.cause, BT_GAP_LOST_BYTES);
    ck_assert_int_eq(probe_target_trace_resume(&trace, &why), BT_ERR_IO);
    probe_target_trace_close(&trace);
    open_trace();
    ck_assert(!trace.setup.history);
    close_all();
}
END_TEST

/* A whole session; the line is damaged once, at the transfer `skip`. False:
 * it ended before that. */
static bool damaged_session(const char *fault, unsigned skip)
{
    char text[64];
    open_board(ETB CPU);
    snprintf(text, sizeof text, "%s=1,skip=%u", fault, skip);
    ck_assert_int_eq(probe_board_faults(&board, text), 0);
    ck_assert_msg(open_trace() == 0, "%s: %s", text, why.text);
    ck_assert_msg(trace.setup.history, "%s: %s", text, trace.setup.notes.text);
    resume();
    make_trace(1, 200);
    halted();
    ck_assert_msg(got.length == 200 && got.lost == 0, "%s: %zu bytes, lost %u", text, got.length,
                  got.lost);
    for (unsigned i = 0; i < 200; i++)
        ck_assert_msg(got.bytes[i] == i + 1, "%s: byte %u is 0x%02x", text, i, got.bytes[i]);
    bool happened = probe.dp.line_errors > 0;
    close_all();
    return happened;
}

START_TEST(damaged_once)
{
    static const char *const faults[] = {"parity", "noack"};
    unsigned skip = 0;
    while (damaged_session(faults[_i], skip))
        skip++;
    ck_assert_uint_gt(skip, 300); /* all of them were met */
}
END_TEST

START_TEST(swo_stream)
{
    open_all(SWO CPU);
    ck_assert_uint_eq(trace.setup.sink, CS_TPIU);
    resume();
    const struct cs_tpiu *t = &board.system.tpiu;
    ck_assert(t->sppr == 2 && t->acpr == 7 && t->ffcr == 0x102);
    ck_assert_uint_eq(board.system.dwt_ctrl & 0xc01, 0x401);
    make_trace(0, 500);
    ck_assert_int_eq(probe_target_trace_poll(&trace, &why), 0);
    ck_assert_uint_gt(got.length, 400);
    uint32_t ports = board.system.itm.ter, control = board.system.itm.tcr;
    halted();
    expect_trace(0, 0, 500); /* with what was in the last frame */
    ck_assert_uint_gt(got.others, 0);
    ck_assert(board.system.itm.ter == ports && board.system.itm.tcr == control);
    resume();
    make_trace(500, 200);
    halted();
    expect_trace(500, 500, 200);
    ck_assert_uint_eq(got.lost, 0);
    ck_assert_uint_eq(board.system.counters.locked_writes, 0);
    close_all();
}
END_TEST

/* Software writes to ports 0 to 3 and 31; port 7 is off. What the ITM makes of it. */
static size_t write_ports(uint8_t *wanted, unsigned seed)
{
    static const unsigned ports[] = {0, 1, 7, 3, 31};
    size_t used = 0;
    for (unsigned i = 0; i < 50; i++) {
        unsigned port = ports[(seed + i) % 5], size = 1u << i % 3;
        uint32_t value = seed + i * 0x01030507u;
        cs_itm_write(&board.system, 4 * port, size, value);
        if (port == 7)
            continue;
        wanted[used++] = (uint8_t)(port << 3 | (size == 4 ? 3 : size));
        for (unsigned k = 0; k < size; k++)
            wanted[used++] = (uint8_t)(value >> 8 * k);
    }
    return used;
}

static void expect_itm(const uint8_t *wanted, size_t length)
{
    ck_assert_uint_eq(got.itm_length, length);
    ck_assert(memcmp(got.itm, wanted, length) == 0);
    got.itm_length = 0;
}

/* No frames, no history of a core: the bytes of the ITM as they are. */
START_TEST(itm_alone)
{
    uint8_t wanted[512];
    open_all(SWO "format = raw\n" ITM CPU);
    ck_assert(trace.setup.history && !config.cores[0].has_source);
    resume();
    ck_assert_uint_eq(board.system.tpiu.ffcr, 0x100);
    ck_assert_uint_eq(board.system.itm.tcr, ITM_ID << 16 | 0xd);
    size_t length = write_ports(wanted, 1);
    ck_assert_int_eq(probe_target_trace_poll(&trace, &why), 0);
    halted();
    expect_itm(wanted, length);
    coresight_model_reset(&board.system);
    board.system.itm.tcr = board.system.itm.ter = 0;
    resume(); /* it is set up again */
    length = write_ports(wanted, 2);
    halted();
    expect_itm(wanted, length);
    ck_assert_uint_eq(got.lost + board.system.counters.locked_writes, 0);
    close_all();
}
END_TEST

/* What pushes the last frame out is not the ITM's. */
START_TEST(itm_beside_etm)
{
    uint8_t wanted[512];
    open_all(SWO ITM CPU);
    for (unsigned run = 0; run < 3; run++) {
        resume();
        ck_assert_uint_eq(board.system.tpiu.ffcr, 0x102);
        ck_assert_uint_eq(board.system.itm.tcr, ITM_ID << 16 | 0xd);
        make_trace(500 * run, 300);
        size_t length = write_ports(wanted, run);
        make_trace(500 * run + 300, 200);
        halted();
        expect_itm(wanted, length);
        expect_trace(500 * run, 500 * run, 500);
    }
    ck_assert_uint_eq(got.lost + board.system.counters.locked_writes, 0);
    close_all();
}
END_TEST

START_TEST(swo_overrun)
{
    open_all(SWO CPU);
    resume();
    make_trace(0, 1000);
    board.probe.swo.overrun = true;
    halted();
    ck_assert_uint_eq(got.lost, 1);
    ck_assert_int_eq(got.cause, BT_GAP_LOST_BYTES);
    close_all();
}
END_TEST

/* A port that has something at each of so many looks, as one behind a slow line has. */
static struct {
    struct trace_sink sink;
    unsigned looks;
} slow;

static int slow_start(void *self, const struct trace_sink *sink)
{
    (void)self;
    slow.sink = *sink;
    return BT_OK;
}

static int slow_poll(void *self, unsigned timeout_ms)
{
    (void)self;
    usleep(timeout_ms * 1000);
    if (slow.looks > 0) {
        slow.looks--;
        slow.sink.bytes(slow.sink.user, (const uint8_t *)"", 1);
    }
    return BT_OK;
}

static int slow_stop(void *self)
{
    (void)self;
    return BT_OK;
}

/* What is left of `looks` that take 2 ms each behind a halt that waits for `drain_ms`. */
static unsigned drained_slowly(const char *text, unsigned looks)
{
    static const struct trace_stream_ops ops = {
        .start = slow_start, .poll = slow_poll, .stop = slow_stop};
    open_all(text);
    probe.swo = (struct trace_stream){.ops = &ops};
    slow.looks = 0;
    resume();
    slow.looks = looks;
    halted();
    close_all();
    return slow.looks;
}

START_TEST(swo_drain_limit)
{
    ck_assert_uint_eq(drained_slowly(SWO "drain_ms = 60000\n" CPU, 300), 0);
    ck_assert_uint_eq(got.lost, 0);
    ck_assert_uint_gt(drained_slowly(SWO "drain_ms = 20\n" CPU, 300), 200);
    ck_assert_uint_eq(got.lost, 1);
    ck_assert_int_eq(got.cause, BT_GAP_LOST_BYTES);
}
END_TEST

START_TEST(swo_rate_must_fit)
{
    open_all(PROBE "[trace]\nsink = swo\nswo_rate = 2M\ntrace_clock = 9M\n" CPU);
    ck_assert_int_eq(probe_target_trace_resume(&trace, &why), BT_ERR_RANGE);
    ck_assert_str_eq(why.text, "swo_rate = 2000000 cannot be made of trace_clock = 9000000: the "
                               "nearest is 1800000");
    close_all();
}
END_TEST

START_TEST(tpiu_pins)
{
    open_all(PROBE "[trace]\nsink = tpiu\ntpiu_width = 2\nconnect = :1\nformat = tpiu\n" CPU);
    resume();
    ck_assert(board.system.tpiu.sppr == 0 && board.system.tpiu.cspsr == 2);
    halted();
    close_all();
    open_all(PROBE "[trace]\nsink = tpiu\ntpiu_width = 8\nconnect = :1\nformat = tpiu\n" CPU);
    ck_assert_int_eq(probe_target_trace_resume(&trace, &why), BT_ERR_UNSUPPORTED);
    ck_assert_str_eq(why.text, "the TPIU has no port of tpiu_width = 8 pins");
    close_all();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("probe_target_trace");
    unit_case(s, "probe_target_trace: what is found", discovery);
    unit_case(s, "probe_target_trace: wishes of the board file", wishes);
    unit_case(s, "probe_target_trace: the hardware is right", contradictions);
    unit_case(s, "probe_target_trace: no history, and why", no_history);
    unit_case(s, "probe_target_trace: an ETB, run by run", etb_runs);
    unit_case(s, "probe_target_trace: an ETB that wraps", etb_wraps);
    unit_case(s, "probe_target_trace: programmed again after a reset", reset_programs_again);
    unit_case(s, "probe_target_trace: switched off and on", switched_off);
    unit_case(s, "probe_target_trace: a flight recorder", flight_recorder);
    unit_case(s, "probe_target_trace: attached, and nothing was armed", attached_without_capture);
    unit_case(s, "probe_target_trace: unplugged", unplugged);
    unit_cases(s, "probe_target_trace: damaged on the wire once, wherever that is", damaged_once, 0,
               2);
    unit_case(s, "probe_target_trace: SWO", swo_stream);
    unit_case(s, "probe_target_trace: SWO with an ITM alone", itm_alone);
    unit_case(s, "probe_target_trace: SWO with an ITM beside the ETM", itm_beside_etm);
    unit_case(s, "probe_target_trace: SWO overruns", swo_overrun);
    unit_case(s, "probe_target_trace: a halt waits [trace] drain_ms for SWO", swo_drain_limit);
    unit_case(s, "probe_target_trace: a rate that the clock does not give", swo_rate_must_fit);
    unit_case(s, "probe_target_trace: pins of the TPIU", tpiu_pins);
    return s;
}
