/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run-control driver on the modelled probe and board, in one process: driver, MEM-AP, debug
 * port, CMSIS-DAP commands, USB transfers of the model. Time is counted, not waited for.
 *
 * BTRACED_PROBE makes another probe of it: "SIZE,COUNT,hid|bulk,none|polled|streamed,plain|quirks",
 * packet size and count, transport, SWO, and whether it has the quirks of other firmware.
 *
 * Between the model's MEM-AP and its bus sits a list of words that tests change: other cores than
 * the one that is modelled, and states that it does not get into by itself.
 */
#ifndef TESTS_USB_UNIT_PROBE_BENCH_H
#define TESTS_USB_UNIT_PROBE_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/cortex_m/cortex_m.h"
#include "drivers/probe/cmsis_dap/cmsis_dap.h"
#include "tests/support/unit_main.h"

/* Driver and model name the bits of the protocol alike. */
#undef CMSIS_DAP_CAP_SWD
#undef CMSIS_DAP_CAP_JTAG
#undef CMSIS_DAP_CAP_SWO_UART
#undef CMSIS_DAP_CAP_SWO_STREAM
#include "tests/model/usb_probe.h"

#define BENCH_CHANGES 16

/* Reads of `address` have `clear` taken out and `set` put in; `fail`: bus error, reads and writes.
 * `drop`: writes are kept from the model, and the last one is in `written`. */
struct bench_change {
    uint32_t address;
    uint32_t clear;
    uint32_t set;
    uint32_t written;
    bool fail;
    bool drop;
    bool keep; /* reads give what was written last */
    /* Not 0: the change begins with the first write that has all of these bits. */
    uint32_t trigger;
};

struct probe_bench {
    struct probe_board board;
    struct usb_probe usb;
    struct cmsis_dap dap;
    struct adiv5_dp dp;
    struct adiv5_connect_options connect;
    struct mem_ap ap;
    struct cortex_m core;
    struct model_bus bus;
    struct bench_change changes[BENCH_CHANGES];
    unsigned change_count;
    struct trace_sink endpoint; /* of SWO */
    bool skip_endpoint;         /* nobody takes anything from it */
    bool dead_in_reset;         /* nothing can be accessed while nRESET is low */
    uint64_t now;
};

static inline int bench_send(void *self, const uint8_t *data, size_t length, unsigned timeout_ms)
{
    struct probe_bench *b = self;
    (void)timeout_ms;
    size_t taken = 0;
    return usb_device_out(&b->usb.device, USB_PROBE_EP_OUT, data, length, &taken) < 0 ? BT_ERR_IO
                                                                                      : 0;
}

static inline int bench_receive(void *self, uint8_t *data, size_t capacity, size_t *length,
                                unsigned timeout_ms)
{
    struct probe_bench *b = self;
    int rc = usb_device_in(&b->usb.device, USB_PROBE_EP_IN, data, capacity, length);
    b->now += rc == USB_DEVICE_WAIT ? 1000u * timeout_ms : 0;
    if (rc == USB_DEVICE_WAIT)
        return USB_TIMED_OUT;
    return rc < 0 ? BT_ERR_IO : 0;
}

static inline uint64_t bench_now(void *user)
{
    struct probe_bench *b = user;
    return b->now += 20;
}

static inline void bench_sleep(void *user, uint32_t time)
{
    struct probe_bench *b = user;
    b->now += time;
}

static inline struct bench_change *bench_find(struct probe_bench *b, uint32_t address)
{
    for (unsigned i = 0; i < b->change_count; i++) {
        if (b->changes[i].address == address)
            return &b->changes[i];
    }
    return NULL;
}

/* The change of this word, made if there is none yet. */
static inline struct bench_change *bench_change(struct probe_bench *b, uint32_t address)
{
    struct bench_change *c = bench_find(b, address);
    if (!c) {
        ck_assert_uint_lt(b->change_count, BENCH_CHANGES);
        c = &b->changes[b->change_count++];
        *c = (struct bench_change){.address = address};
    }
    return c;
}

/* Reads give `value` whatever the model has. */
static inline void bench_value(struct probe_bench *b, uint32_t address, uint32_t value)
{
    struct bench_change *c = bench_change(b, address);
    c->clear = UINT32_MAX;
    c->set = value;
}

static inline int bench_bus_read(void *ctx, uint32_t address, unsigned size, uint32_t *value)
{
    struct probe_bench *b = ctx;
    const struct bench_change *c = bench_find(b, address);
    if ((c && c->fail) || (b->dead_in_reset && b->board.held))
        return -1;
    int rc = b->bus.read(b->bus.ctx, address, size, value);
    if (c && c->keep)
        *value = c->written;
    else if (c && c->trigger == 0)
        *value = (*value & ~c->clear) | c->set;
    return rc;
}

static inline int bench_bus_write(void *ctx, uint32_t address, unsigned size, uint32_t value)
{
    struct probe_bench *b = ctx;
    struct bench_change *c = bench_find(b, address);
    if (c)
        c->written = value;
    if (c && (value & c->trigger) == c->trigger)
        c->trigger = 0;
    if ((c && c->fail) || (b->dead_in_reset && b->board.held))
        return -1;
    return c && (c->drop || c->keep) ? 0 : b->bus.write(b->bus.ctx, address, size, value);
}

/* What BTRACED_PROBE says. A DAP in a chain is not changed by it. */
static inline void bench_variant(struct probe_board_options *options, bool *hid)
{
    char transport[8], swo[12], firmware[8];
    const char *text = getenv("BTRACED_PROBE");
    if (!text)
        return;
    ck_assert_int_eq(sscanf(text, "%u,%u,%7[a-z],%11[a-z],%7[a-z]", &options->packet_size,
                            &options->packet_count, transport, swo, firmware),
                     5);
    *hid = strcmp(transport, "hid") == 0;
    options->swo = swo[0] == 'n'   ? PROBE_SWO_NONE
                   : swo[0] == 'p' ? PROBE_SWO_POLLED
                                   : PROBE_SWO_STREAMED;
    options->quirks.deaf = options->quirks.pin_wait = strcmp(firmware, "quirks") == 0;
}

static inline uint64_t bench_model_now(void *ctx)
{
    return ((const struct probe_bench *)ctx)->now; /* the board is its first part */
}

static inline int bench_endpoint_start(void *self, const struct trace_sink *sink)
{
    ((struct probe_bench *)self)->endpoint = *sink;
    return 0;
}

static inline int bench_endpoint_poll(void *self, unsigned timeout_ms)
{
    uint8_t bytes[CMSIS_DAP_SWO_BLOCK]; /* as long as the driver's */
    struct probe_bench *b = self;
    size_t n;
    b->now += 1000 * (timeout_ms + 1);
    while (!b->skip_endpoint &&
           usb_device_in(&b->usb.device, USB_PROBE_EP_SWO, bytes, sizeof bytes, &n) == 0) {
        if (n > 0)
            b->endpoint.bytes(b->endpoint.user, bytes, n);
    }
    return 0;
}

static inline int bench_endpoint_stop(void *self)
{
    (void)self;
    return 0;
}

/* The third endpoint of the probe; each poll takes a millisecond at least. */
static inline struct trace_stream bench_endpoint(struct probe_bench *b)
{
    static const struct trace_stream_ops OPS = {
        .start = bench_endpoint_start, .poll = bench_endpoint_poll, .stop = bench_endpoint_stop};
    return (struct trace_stream){.ops = &OPS, .self = b};
}

/* Board and probe as they are told, open; nothing is connected. */
static inline struct probe_bench *bench_open(const struct probe_board_options *options, bool hid)
{
    static const struct usb_pipe_ops OPS = {.send = bench_send, .receive = bench_receive};
    struct probe_bench *b = calloc(1, sizeof *b);
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(probe_board_init(&b->board, options), 0);
    b->board.probe.options.now = bench_model_now;
    unsigned size = b->board.probe.options.packet_size;
    uint16_t usb = (uint16_t)(hid || size == 64 ? size : 512);
    usb_probe_init(&b->usb, &b->board, hid);
    b->bus = b->board.ap.bus;
    b->board.ap.bus =
        (struct model_bus){.ctx = b, .read = bench_bus_read, .write = bench_bus_write};
    const struct usb_pipe pipe = {.ops = &OPS, .self = b, .out_packet = usb, .in_packet = usb};
    ck_assert_int_eq(cmsis_dap_open(&b->dap, &pipe, hid ? CMSIS_DAP_HID : CMSIS_DAP_BULK), 0);
    const struct debug_clock clock = {.now_us = bench_now, .sleep_us = bench_sleep, .user = b};
    const struct debug_link link = cmsis_dap_link(&b->dap);
    adiv5_init(&b->dp, &link, &clock);
    b->connect.wire = options->jtag ? DEBUG_WIRE_JTAG : DEBUG_WIRE_SWD;
    return b;
}

/* The same, or what BTRACED_PROBE makes of it; connected; the core is not attached. */
static inline struct probe_bench *bench_new(const struct probe_board_options *told, bool hid)
{
    struct probe_board_options options = *told;
    if (hid)
        options.packet_size = 64;
    bench_variant(&options, &hid);
    struct probe_bench *b = bench_open(&options, hid);
    ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 0), 0);
    cortex_m_init(&b->core, &b->ap);
    b->core.reconnect = &b->connect;
    return b;
}

/* Everything as a client that keeps the rules leaves it. */
static inline void bench_free(struct probe_bench *b)
{
    const struct cs_counters *s = &b->board.system.counters;
    ck_assert_uint_eq(s->ignored_writes, 0);
    ck_assert_uint_eq(s->locked_writes, 0);
    ck_assert_uint_eq(s->sub_word, 0);
    ck_assert_uint_eq(s->bad_key, 0);
    ck_assert_uint_eq(s->maskints_races, 0);
    ck_assert_uint_eq(s->running_accesses, 0);
    ck_assert_uint_eq(s->untraced, 0);
    ck_assert_uint_eq(b->board.ap.unaligned, 0);
    probe_board_release(&b->board);
    free(b);
}

static inline struct probe_bench *bench_attached(void)
{
    const struct probe_board_options options = {.packet_count = 4};
    struct probe_bench *b = bench_new(&options, false);
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    return b;
}

static inline struct probe_bench *bench_halted(void)
{
    struct probe_bench *b = bench_attached();
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    return b;
}

static inline struct target_core_status bench_status(struct probe_bench *b)
{
    struct target_core_status s;
    ck_assert_int_eq(cortex_m_status(&b->core, &s), 0);
    return s;
}

/* Looks until it is halted; the core runs a little with each look. */
static inline struct target_core_status bench_wait(struct probe_bench *b)
{
    struct target_core_status s = bench_status(b);
    for (unsigned i = 0; i < 50 && s.state != TARGET_CORE_HALTED; i++)
        s = bench_status(b);
    ck_assert_int_eq(s.state, TARGET_CORE_HALTED);
    return s;
}

/* The words for the last failure have `part` in them. */
static inline void bench_reports(const struct probe_bench *b, const char *part)
{
    char text[256];
    cortex_m_describe(&b->core, text, sizeof text);
    ck_assert_msg(strstr(text, part) != NULL, "'%s' is not in '%s'", part, text);
}

#endif
