/* SPDX-License-Identifier: BSD-3-Clause */
/* The ORBTrace as a USB device: interfaces, requests, both protocols, its memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/usb_orbtrace.h"
#include "tests/support/unit_main.h"

#define EP     ORBTRACE_EP_TRACE
#define FRAMES 4096u

static struct probe_board *board;
static struct usb_orbtrace *probe;
static struct trace_feed feed;
static uint64_t now;
static uint8_t data[1u << 20];
static size_t actual;
static uint8_t port[4 + FRAMES * PORT_FRAME];

static uint64_t clock_now(void *ctx)
{
    (void)ctx;
    return now;
}

/* A full sync, then frames of ID 0x10 with fourteen bytes each. */
static void make_port(void)
{
    memcpy(port, "\xff\xff\xff\x7f", 4);
    for (unsigned i = 0; i < FRAMES; i++) {
        uint8_t *frame = port + 4 + i * PORT_FRAME;
        memset(frame, 0, PORT_FRAME);
        frame[0] = 0x21;
        for (unsigned k = 1; k < 15; k++)
            frame[k] = (uint8_t)(i * 2 + k) & 0xfe;
        frame[1] = (uint8_t)(i >> 8);
    }
}

static void setup(struct usb_orbtrace_options options, bool wired)
{
    const struct probe_board_options plain = {.no_etb = true, .parallel = true};
    board = malloc(sizeof *board);
    probe = malloc(sizeof *probe);
    ck_assert(board && probe);
    ck_assert_int_eq(probe_board_init(board, &plain), 0);
    now = 1000000;
    make_port();
    feed = (struct trace_feed){.bytes = port, .size = sizeof port, .times = 1};
    if (wired)
        feed = (struct trace_feed){.board = board};
    options.now = clock_now;
    options.feed = &feed;
    ck_assert_int_eq(usb_orbtrace_init(probe, board, &options), 0);
}

static void teardown(void)
{
    usb_orbtrace_release(probe);
    probe_board_release(board);
    free(probe);
    free(board);
}

static int control(uint8_t type, uint8_t request, unsigned value, unsigned index, unsigned length)
{
    const uint8_t packet[8] = {type,
                               request,
                               (uint8_t)value,
                               (uint8_t)(value >> 8),
                               (uint8_t)index,
                               (uint8_t)(index >> 8),
                               (uint8_t)length,
                               (uint8_t)(length >> 8)};
    return usb_device_control(&probe->device, packet, data, &actual);
}

static int set_format(unsigned format)
{
    return control(0x41, 1, format, probe->number[ORBTRACE_TRACE], 0);
}

static int receive(size_t size)
{
    return usb_device_in(&probe->device, EP, data, size, &actual);
}

/* Descriptors and requests. */

struct found {
    unsigned interfaces, settings, endpoints;
    int number[256];   /* of a vendor interface by its subclass; -1: not there */
    uint8_t protocols; /* of the trace interface, a bit for 0x01 and one for 0x10 */
};

static struct found walk(void)
{
    struct found f = {0};
    memset(f.number, -1, sizeof f.number);
    ck_assert_int_eq(control(0x80, 6, 0x0200, 0, 1024), 0);
    ck_assert_uint_eq(actual, (size_t)(data[2] | data[3] << 8));
    f.interfaces = data[4];
    size_t at = 0;
    for (; at < actual; at += data[at]) {
        const uint8_t *d = data + at;
        ck_assert_uint_ge(d[0], 2);
        f.endpoints += d[1] == USB_DT_ENDPOINT;
        if (d[1] != USB_DT_INTERFACE)
            continue;
        ck_assert_uint_eq(d[2], f.settings - (d[3] ? 1 : 0) - (f.settings > d[2] && !d[3]));
        f.settings++;
        if (d[5] == 0xff)
            f.number[d[6]] = d[2];
        if (d[5] == 0xff && d[6] == 'T')
            f.protocols |= d[7] == 0x01 ? 1 : d[7] == 0x10 ? 2 : 4;
    }
    ck_assert_uint_eq(at, actual);
    return f;
}

START_TEST(test_interfaces)
{
    for (unsigned i = 0; i < 8; i++) {
        const struct usb_orbtrace_options options = {
            .reversed = i & 1, .both = i & 2, .protocol = i & 4 ? ORBTRACE_FRAMES : 0};
        setup(options, false);
        struct found f = walk();
        ck_assert_uint_eq(f.interfaces, 8);
        ck_assert_uint_eq(f.settings, options.both ? 9 : 8);
        ck_assert_uint_eq(f.endpoints, options.both ? 9 : 8);
        ck_assert_uint_eq(f.protocols, options.both ? 3 : options.protocol ? 1 : 2);
        for (const char *c = "TXPV"; *c; c++)
            ck_assert_int_ge(f.number[(unsigned char)*c], 0);
        ck_assert_int_eq(f.number[0], options.reversed ? 2 : 5);
        ck_assert_int_eq(f.number['T'], probe->number[ORBTRACE_TRACE]);
        teardown();
    }
}
END_TEST

START_TEST(test_requests)
{
    static const unsigned formats[] = {0, 1, 2, 3, 0x10, 0x11, 0x12, 0x13};
    setup((struct usb_orbtrace_options){0}, false);
    unsigned trace = probe->number[ORBTRACE_TRACE], proxy = probe->number[ORBTRACE_PROXY];
    for (unsigned i = 0, next = 0; i < 256; i++) {
        bool known = next < 8 && formats[next] == i;
        next += known;
        ck_assert_int_eq(control(0x41, 1, i, i & 1 ? trace : proxy, 0), known ? 0 : -EPIPE);
    }
    ck_assert_uint_eq(probe->capture.format, 0x13);
    memcpy(data, "\x40\x42\x0f\x00", 4);
    ck_assert_int_eq(control(0x41, 2, 0, proxy, 4), 0);
    ck_assert_uint_eq(probe->capture.baud, 1000000);
    ck_assert_int_eq(control(0x41, 2, 0, trace, 2), -EPIPE);
    ck_assert_int_eq(control(0x41, 3, 0, trace, 0), -EPIPE);
    ck_assert_int_eq(control(0x40, 1, 3, trace, 0), -EPIPE);
    ck_assert_int_eq(control(0x41, 1, 3, probe->number[ORBTRACE_VERSION], 0), -EPIPE);
    ck_assert_uint_eq(probe->power_requests, 0);
    ck_assert_int_eq(control(0x41, 1, 1, 0xff00u | probe->number[ORBTRACE_POWER], 0), 0);
    ck_assert_uint_eq(probe->power_requests, 1);
    teardown();
}
END_TEST

/* Both CMSIS-DAP interfaces work on the same target, each with its packet size. */
START_TEST(test_dap)
{
    static const uint8_t ends[2][2] = {{ORBTRACE_EP_HID_OUT, ORBTRACE_EP_HID_IN},
                                       {ORBTRACE_EP_DAP_OUT, ORBTRACE_EP_DAP_IN}};
    uint8_t command[64] = {0x00, 0xff};
    size_t taken;
    setup((struct usb_orbtrace_options){0}, false);
    for (unsigned i = 0; i < 2; i++) {
        command[1] = 0xff;
        taken = 0;
        ck_assert_int_eq(usb_device_out(&probe->device, ends[i][0], command, 64, &taken), 0);
        ck_assert_int_eq(usb_device_in(&probe->device, ends[i][1], data, 512, &actual), 0);
        ck_assert_uint_eq(actual, i ? 4 : 64);
        ck_assert_uint_eq(data[2] | data[3] << 8, i ? 508 : 64);
        command[1] = 0xf0;
        taken = 0;
        ck_assert_int_eq(usb_device_out(&probe->device, ends[i][0], command, 64, &taken), 0);
        ck_assert_int_eq(usb_device_in(&probe->device, ends[i][1], data, 512, &actual), 0);
        ck_assert_mem_eq(data, "\x00\x02\x03", 3); /* two bytes of capabilities */
    }
    teardown();
}
END_TEST

/* Protocol 0x01. */

START_TEST(test_frames)
{
    struct usb_orbtrace_options options = {.protocol = ORBTRACE_FRAMES};
    setup(options, false);
    ck_assert_int_eq(receive(512), USB_DEVICE_WAIT);
    ck_assert_int_eq(set_format(3), 0);
    ck_assert_int_eq(receive(512), 0);
    ck_assert_uint_eq(actual, 512);
    ck_assert_mem_eq(data, port + 4, 512);
    ck_assert_int_eq(receive(65536), USB_DEVICE_WAIT);
    now += 100000;
    ck_assert_int_eq(receive(65536), 0);
    ck_assert_uint_eq(actual, FRAMES * PORT_FRAME - 512 + PORT_FRAME);
    ck_assert_mem_eq(data, port + 4 + 512, FRAMES * PORT_FRAME - 512);
    const uint8_t alive[16] = {0xa6,          0,           0, 0, 0,    1,    0,    0,
                               FRAMES & 0xff, FRAMES >> 8, 0, 0, 0xff, 0xff, 0xff, 0x7f};
    ck_assert_mem_eq(data + actual - PORT_FRAME, alive, sizeof alive);
    ck_assert_int_eq(set_format(0), 0);
    ck_assert_int_eq(receive(512), USB_DEVICE_WAIT);
    now += 100000;
    ck_assert_int_eq(receive(512), 0);
    ck_assert_uint_eq(actual, 16);
    teardown();
}
END_TEST

/* What the host waits for counts as room; beyond that and 8 KiB frames are lost, and counted. */
START_TEST(test_frames_lost)
{
    struct usb_orbtrace_options options = {.protocol = ORBTRACE_FRAMES,
                                           .capture = {.buffer = ORBTRACE_BUFFER, .pending = true}};
    setup(options, false);
    usb_device_queue(&probe->device, EP, 16384);
    ck_assert_int_eq(set_format(3), 0);
    ck_assert_int_eq(receive(16384), 0);
    usb_device_unqueue(&probe->device, EP, 16384);
    ck_assert_mem_eq(data, port + 4, 16384);
    ck_assert_uint_eq(probe->capture.counters.lost_frames, FRAMES - 24576 / PORT_FRAME);
    ck_assert_uint_eq(probe->capture.counters.overruns, 1);
    now += 100000;
    usb_device_queue(&probe->device, EP, 16384);
    ck_assert_int_eq(receive(16384), 0);
    ck_assert_mem_eq(data, port + 4 + 16384, 8192);
    now += 100000;
    ck_assert_int_eq(receive(16384), 0);
    const uint8_t *alive = data + actual - PORT_FRAME;
    ck_assert_uint_eq(alive[0], 0xa6);
    ck_assert_mem_ne(alive + 1, "\0\0\0\0", 4);
    ck_assert_uint_eq(alive[6] | (unsigned)alive[7] << 8, FRAMES - 24576 / PORT_FRAME);
    ck_assert_uint_eq(alive[8] | (unsigned)alive[9] << 8, 24576 / PORT_FRAME);
    teardown();
}
END_TEST

/* Good packets of tag 0x10 in `data`; their payload is left there. *bad: checksum or COBS. */
static size_t unpack(size_t size, unsigned *bad)
{
    size_t out = 0, at = 0;
    *bad = 0;
    while (at < size) {
        uint8_t packet[2 * ORBFLOW_WIRE];
        size_t n = 0, end = at;
        while (end < size && data[end])
            end++;
        while (at < end && n < ORBFLOW_WIRE) {
            unsigned code = data[at++];
            for (unsigned i = 1; i < code && at < end; i++)
                packet[n++] = data[at++];
            if (code < 255 && at < end)
                packet[n++] = 0;
        }
        uint8_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum = (uint8_t)(sum + packet[i]);
        bool good = n > 2 && sum == 0 && packet[0] == 0x10;
        *bad += !good;
        if (good) {
            memcpy(data + out, packet + 1, n - 2);
            out += n - 2;
        }
        at = end + 1;
    }
    return out;
}

START_TEST(test_flow)
{
    unsigned bad;
    setup((struct usb_orbtrace_options){0}, false);
    ck_assert_int_eq(set_format(3), 0);
    ck_assert_int_eq(receive(65536), USB_DEVICE_WAIT);
    now += 99999;
    ck_assert_int_eq(receive(65536), USB_DEVICE_WAIT);
    now += 1;
    ck_assert_int_eq(receive(65536), 0);
    ck_assert_uint_ne(actual % 512, 0);
    ck_assert_uint_eq(data[actual - 1], 0);
    ck_assert_uint_eq(unpack(actual, &bad), FRAMES * 14);
    ck_assert_uint_eq(bad, 0);
    for (unsigned i = 0; i < FRAMES; i++)
        ck_assert_mem_eq(data + 14 * i, port + 4 + PORT_FRAME * i + 1, 14);
    teardown();
}
END_TEST

/* Full packets end no transfer: behind them comes an empty one, in the next if need be. */
START_TEST(test_empty_packet)
{
    setup((struct usb_orbtrace_options){0}, false);
    feed.size = 0;
    uint8_t itm[509];
    memset(itm, 0x55, sizeof itm);
    for (unsigned size = 507; size <= 509; size++) { /* tag, checksum, three codes, the zero */
        orbflow_sender_put(&probe->capture.flow, now, 1, itm, size);
        now += 100000;
        ck_assert_int_eq(receive(1024), 0);
        ck_assert_uint_eq(actual, size + 6);
    }
    /* Two packets of 256 bytes each. */
    orbflow_sender_put(&probe->capture.flow, now, 1, itm, 252);
    orbflow_sender_put(&probe->capture.flow, now, 2, itm, 252);
    now += 100000;
    ck_assert_int_eq(receive(512), 0);
    ck_assert_uint_eq(actual, 512);
    ck_assert_int_eq(receive(512), 0);
    ck_assert_uint_eq(actual, 0);
    ck_assert_int_eq(receive(512), USB_DEVICE_WAIT);
    orbflow_sender_put(&probe->capture.flow, now, 1, itm, 506);
    now += 100000;
    ck_assert_int_eq(receive(100), -EOVERFLOW);
    teardown();
}
END_TEST

/* Both choices for an overrun: packets that are damaged, or packets that are not there. */
START_TEST(test_flow_lost)
{
    for (unsigned whole = 0; whole < 2; whole++) {
        struct usb_orbtrace_options options = {
            .capture = {.buffer = ORBTRACE_BUFFER, .whole = whole == 1}};
        unsigned bad;
        setup(options, false);
        ck_assert_int_eq(set_format(3), 0);
        usb_device_queue(&probe->device, EP, 512);
        ck_assert_int_eq(receive(512), 0);
        usb_device_unqueue(&probe->device, EP, 512);
        ck_assert_uint_gt(probe->capture.counters.lost, 40000);
        size_t got = actual;
        now += 100000;
        board->probe.swo.drop = whole ? 0 : 100;
        orbflow_sender_put(&probe->capture.flow, now, 0x10, port, 1024);
        board->probe.swo.drop = 0;
        now += 100000;
        orbflow_sender_put(&probe->capture.flow, now, 0x10, port, 100);
        while (usb_device_in(&probe->device, EP, data + got, 65536, &actual) == 0)
            got += actual;
        now += 100000;
        while (usb_device_in(&probe->device, EP, data + got, 65536, &actual) == 0)
            got += actual;
        ck_assert_uint_gt(unpack(got, &bad), 5000);
        ck_assert_uint_eq(bad > 0, !whole);
        teardown();
    }
}
END_TEST

/* The port, time, and the cable. */

static void put_port(const void *bytes, size_t size)
{
    cs_swo_put(&board->system, bytes, size);
}

static size_t flushed(void)
{
    size_t got = 0;
    for (unsigned i = 0; i < 3; i++) {
        while (usb_device_in(&probe->device, EP, data, 65536, &actual) == 0)
            got += actual;
        now += 100000;
    }
    return got;
}

/* Only what the target sends in the form that the probe was told arrives. */
START_TEST(test_pins)
{
    static const struct {
        unsigned sppr, width, acpr, format, baud;
        bool works;
    } cases[] = {
        {0, 8, 0, 3, 0, true},
        {0, 8, 0, 2, 0, false},
        {0, 1, 0, 1, 0, true},
        {0, 2, 0, 2, 0, true},
        {0, 1, 0, 3, 0, false},
        {2, 8, 0, 3, 0, false},
        {2, 1, 63, 0x13, 1000000, true},
        {2, 1, 63, 0x13, 1029000, true},
        {2, 1, 63, 0x13, 1040000, false},
        {2, 1, 63, 0x12, 1000000, true},
        {1, 1, 63, 0x11, 0, true},
        {1, 1, 63, 0x10, 0, true},
        {1, 1, 63, 0x13, 1000000, false},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        setup((struct usb_orbtrace_options){0}, true);
        cs_tpiu_write(&board->system, 0x0f0, cases[i].sppr);
        cs_tpiu_write(&board->system, 0x004, cases[i].width);
        cs_tpiu_write(&board->system, 0x010, cases[i].acpr);
        put_port("early", 5);
        memcpy(data, &cases[i].baud, 4);
        ck_assert_int_eq(control(0x41, 2, 0, probe->number[ORBTRACE_TRACE], 4), 0);
        ck_assert_int_eq(set_format(cases[i].format), 0);
        put_port(port, 4 + 2 * PORT_FRAME);
        bool itm = cases[i].format == 0x10 || cases[i].format == 0x12;
        size_t bytes = itm ? 4 + 2 * PORT_FRAME : 28;
        unsigned bad;
        size_t got = flushed();
        ck_assert_uint_eq(probe->capture.counters.wrong, cases[i].works ? 0 : 4 + 2 * PORT_FRAME);
        ck_assert_uint_eq(got > bytes, cases[i].works);
        unpack(got, &bad);
        ck_assert_uint_eq(bad, itm ? 1 : 0); /* its tag is 1 */
        teardown();
    }
}
END_TEST

/* ITM from an old gateware: bare, or in frames of ID 1 whose padding is not ITM. */
START_TEST(test_itm_of_old_gateware)
{
    for (unsigned i = 0; i < 2; i++) {
        struct usb_orbtrace_options options = {.protocol = ORBTRACE_FRAMES,
                                               .capture = {.itm_frames = i == 1}};
        setup(options, true);
        cs_tpiu_write(&board->system, 0x0f0, 1);
        ck_assert_int_eq(set_format(ORBTRACE_MANCHESTER_ITM), 0);
        put_port("\x01\x02\x03", 3);
        ck_assert_int_eq(receive(512), USB_DEVICE_WAIT);
        now += 100000;
        ck_assert_int_eq(receive(512), 0);
        ck_assert_uint_eq(actual, (i ? 16 : 3) + 16);
        ck_assert_mem_eq(data, i ? "\x03\x01\x02\x03\x01\x00" : "\x01\x02\x03", i ? 6 : 3);
        teardown();
    }
}
END_TEST

/* A file at a rate, again and again, from the moment that a format is set. */
START_TEST(test_paced)
{
    setup((struct usb_orbtrace_options){.protocol = ORBTRACE_FRAMES}, false);
    feed.rate = 1000000;
    feed.times = 2;
    now += 5000000;
    ck_assert_int_eq(set_format(3), 0);
    orbtrace_run(&probe->capture, now, 0);
    ck_assert_uint_eq(probe->capture.counters.captured, 0);
    now += 10000;
    orbtrace_run(&probe->capture, now, 0);
    ck_assert_uint_eq(probe->capture.counters.captured, 10000);
    now += 10000000;
    orbtrace_run(&probe->capture, now, 0);
    ck_assert_uint_eq(probe->capture.counters.captured, 2 * sizeof port);
    ck_assert_uint_eq(probe->capture.counters.frames, 2 * FRAMES);
    teardown();
}
END_TEST

START_TEST(test_cable)
{
    setup((struct usb_orbtrace_options){.both = true}, false);
    unsigned trace = probe->number[ORBTRACE_TRACE];
    ck_assert_int_eq(usb_device_set_interface(&probe->device, trace, 2), -EPIPE);
    ck_assert_int_eq(usb_device_set_interface(&probe->device, 0, 1), -EPIPE);
    ck_assert_int_eq(usb_device_set_interface(&probe->device, trace, 1), 0);
    ck_assert_int_eq(probe->capture.protocol, ORBTRACE_FLOW);
    ck_assert_int_eq(set_format(3), 0);
    ck_assert_int_eq(receive(512), 0);
    usb_device_unplug(&probe->device);
    ck_assert_int_eq(receive(512), -ESHUTDOWN);
    ck_assert_int_eq(set_format(3), -ESHUTDOWN);
    usb_device_replug(&probe->device);
    ck_assert_uint_eq(probe->capture.format, 0);
    ck_assert_int_eq(probe->capture.protocol, ORBTRACE_FRAMES);
    ck_assert_int_eq(receive(512), USB_DEVICE_WAIT);
    ck_assert_int_eq(set_format(3), 0);
    ck_assert_int_eq(receive(512), 0);
    ck_assert_mem_eq(data, port + 4, 512);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("usb_orbtrace");
    unit_case(s, "usb_orbtrace: interfaces in both orders", test_interfaces);
    unit_case(s, "usb_orbtrace: requests", test_requests);
    unit_case(s, "usb_orbtrace: both debug interfaces", test_dap);
    unit_case(s, "usb_orbtrace: frames and keep-alive units", test_frames);
    unit_case(s, "usb_orbtrace: lost frames are counted", test_frames_lost);
    unit_case(s, "usb_orbtrace: ORBFLOW", test_flow);
    unit_case(s, "usb_orbtrace: an empty packet behind a full one", test_empty_packet);
    unit_case(s, "usb_orbtrace: ORBFLOW that is lost", test_flow_lost);
    unit_case(s, "usb_orbtrace: only what was asked for", test_pins);
    unit_case(s, "usb_orbtrace: ITM of old gateware", test_itm_of_old_gateware);
    unit_case(s, "usb_orbtrace: a file at a rate", test_paced);
    unit_case(s, "usb_orbtrace: cable and alternate settings", test_cable);
    return s;
}
