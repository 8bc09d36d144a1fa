/* SPDX-License-Identifier: BSD-3-Clause */
#include "usb_orbtrace.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "usb_probe.h"

#define VENDOR_OUT 0x41 /* to an interface */
#define SET_FORMAT 0x01
#define SET_BAUD   0x02
#define POWER_LAST 0x02

#define CLASS_REQUEST_OUT   0x21
#define CLASS_REQUEST_IN    0xa1
#define CDC_SET_LINE_CODING 0x20
#define CDC_GET_LINE_CODING 0x21
#define CDC_SET_LINE_STATE  0x22

#define DAP_PACKET 508u

enum {
    STRING_CDC = 4,
    STRING_V1,
    STRING_V2,
    STRING_VERSION,
};

static struct usb_orbtrace *orbtrace_of(struct usb_device *d)
{
    return (struct usb_orbtrace *)d;
}

static uint64_t now_of(const struct usb_orbtrace *u)
{
    struct timespec t;
    if (u->options.now)
        return u->options.now(u->options.ctx);
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static int set_format(struct usb_orbtrace *u, unsigned format)
{
    return orbtrace_set_format(&u->capture, now_of(u), format) < 0 ? -EPIPE : 0;
}

static int set_baud(struct usb_orbtrace *u, const uint8_t *data, size_t length)
{
    if (length != 4)
        return -EPIPE;
    u->capture.baud = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
                      (uint32_t)data[3] << 24;
    return 0;
}

static int trace_request(struct usb_orbtrace *u, const uint8_t setup[8], const uint8_t *data,
                         size_t length)
{
    unsigned value = setup[2] | (unsigned)setup[3] << 8;
    if (setup[1] == SET_FORMAT)
        return length == 0 ? set_format(u, value) : -EPIPE;
    return setup[1] == SET_BAUD && value == 0 ? set_baud(u, data, length) : -EPIPE;
}

static int serial_request(const uint8_t setup[8], uint8_t *data, size_t length, size_t *actual)
{
    static const uint8_t coding[7] = {0x00, 0xc2, 0x01, 0, 0, 0, 8}; /* 115200, 8N1 */
    switch (setup[0] << 8 | setup[1]) {
    case CLASS_REQUEST_OUT << 8 | CDC_SET_LINE_CODING:
    case CLASS_REQUEST_OUT << 8 | CDC_SET_LINE_STATE:
        *actual = length;
        return 0;
    case CLASS_REQUEST_IN << 8 | CDC_GET_LINE_CODING:
        *actual = length < sizeof coding ? length : sizeof coding;
        memcpy(data, coding, *actual);
        return 0;
    default:
        return -EPIPE;
    }
}

static int orbtrace_control(struct usb_device *d, const uint8_t setup[8], uint8_t *data,
                            size_t *actual)
{
    struct usb_orbtrace *u = orbtrace_of(d);
    size_t length = (size_t)(setup[6] | setup[7] << 8);
    unsigned interface = setup[4];
    if (interface == u->number[ORBTRACE_DAP_V1])
        return usb_probe_hid_control(d, ORBTRACE_EP_HID_OUT, setup, data, actual);
    if (interface == u->number[ORBTRACE_CDC])
        return serial_request(setup, data, length, actual);
    if (setup[0] != VENDOR_OUT)
        return -EPIPE;
    *actual = length;
    if (interface == u->number[ORBTRACE_TRACE] || interface == u->number[ORBTRACE_PROXY])
        return trace_request(u, setup, data, length);
    if (interface != u->number[ORBTRACE_POWER] || setup[1] == 0 || setup[1] > POWER_LAST)
        return -EPIPE;
    u->power_requests++;
    return 0;
}

static int orbtrace_set_interface(struct usb_device *d, unsigned interface, unsigned alternate)
{
    struct usb_orbtrace *u = orbtrace_of(d);
    bool two = u->options.both && interface == u->number[ORBTRACE_TRACE];
    if (alternate > (two ? 1 : 0))
        return -EPIPE;
    if (two)
        orbtrace_set_protocol(&u->capture, alternate ? ORBTRACE_FLOW : ORBTRACE_FRAMES);
    return 0;
}

static int orbtrace_out(struct usb_device *d, uint8_t endpoint, const uint8_t *bytes, size_t size,
                        size_t *taken)
{
    *taken = size;
    switch (endpoint) {
    case ORBTRACE_EP_HID_OUT:
        cmsis_dap_submit(&orbtrace_of(d)->v1, bytes, size);
        return 0;
    case ORBTRACE_EP_DAP_OUT:
        cmsis_dap_submit(&d->board->probe, bytes, size);
        return 0;
    case ORBTRACE_EP_CDC_OUT:
        return 0;
    default:
        return -EPIPE;
    }
}

static void run(struct usb_orbtrace *u)
{
    size_t queued = u->device.queued[ORBTRACE_EP_TRACE % USB_DEVICE_ENDPOINTS];
    orbtrace_run(&u->capture, now_of(u), queued);
}

static void orbtrace_before(struct usb_device *d, uint8_t endpoint)
{
    if (endpoint == ORBTRACE_EP_TRACE)
        run(orbtrace_of(d));
}

static int trace_in(struct usb_orbtrace *u, uint8_t *bytes, size_t size, size_t *actual)
{
    run(u);
    if (!orbtrace_take(&u->capture, bytes, size, actual))
        return USB_DEVICE_WAIT;
    /* The packet goes on behind the end of the host's buffer. */
    return *actual == size && size % ORBTRACE_PACKET ? -EOVERFLOW : 0;
}

static int orbtrace_in(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size,
                       size_t *actual)
{
    struct usb_orbtrace *u = orbtrace_of(d);
    switch (endpoint) {
    case ORBTRACE_EP_HID_IN:
        return usb_probe_response(d, &u->v1, true, bytes, size, actual);
    case ORBTRACE_EP_DAP_IN:
        return usb_probe_response(d, &d->board->probe, false, bytes, size, actual);
    case ORBTRACE_EP_TRACE:
        return trace_in(u, bytes, size, actual);
    case ORBTRACE_EP_NOTIFY:
    case ORBTRACE_EP_CDC_IN:
        return USB_DEVICE_WAIT;
    default:
        return -EPIPE;
    }
}

static void orbtrace_replug(struct usb_device *d)
{
    struct usb_orbtrace *u = orbtrace_of(d);
    cmsis_dap_replug(&d->board->probe);
    cmsis_dap_replug(&u->v1);
    if (u->options.both)
        u->capture.protocol = ORBTRACE_FRAMES;
    orbtrace_capture_reset(&u->capture, now_of(u));
}

static void orbtrace_report(const struct usb_device *d, FILE *out)
{
    const struct usb_orbtrace *u = (const struct usb_orbtrace *)d;
    const struct orbtrace_capture *c = &u->capture;
    const struct {
        const char *name;
        unsigned long value;
    } lines[] = {
        {"trace-format", c->format},
        {"trace-baud", c->baud},
        {"trace-captured", c->counters.captured},
        {"trace-wrong", c->counters.wrong},
        {"trace-unsynced", c->sampler.unsynced},
        {"trace-cut-frames", c->sampler.cut},
        {"trace-lost", c->counters.lost},
        {"trace-lost-frames", c->counters.lost_frames},
        {"trace-overruns", c->counters.overruns},
        {"trace-flushes", c->counters.flushes},
        {"trace-keep-alive", c->counters.keep_alive},
        {"power-requests", u->power_requests},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        fprintf(out, "%s %lu\n", lines[i].name, lines[i].value);
}

/* Interface descriptor; its number comes later. */
#define INTERFACE(setting, endpoints, class, subclass, protocol, string)                           \
    9, USB_DT_INTERFACE, 0, (setting), (endpoints), (class), (subclass), (protocol), (string)
#define BULK(address)      7, USB_DT_ENDPOINT, (address), 2, 0x00, 0x02, 0
#define INTERRUPT(address) 7, USB_DT_ENDPOINT, (address), 3, USB_PROBE_HID_REPORT, 0, 4
#define TRACE(setting, protocol)                                                                   \
    INTERFACE(setting, 1, 0xff, 'T', protocol, 0), BULK(ORBTRACE_EP_TRACE)

static const uint8_t trace_frames[] = {TRACE(0, ORBTRACE_FRAMES)};
static const uint8_t trace_flow[] = {TRACE(0, ORBTRACE_FLOW)};
static const uint8_t trace_both[] = {TRACE(0, ORBTRACE_FRAMES), TRACE(1, ORBTRACE_FLOW)};
static const uint8_t proxy[] = {INTERFACE(0, 0, 0xff, 'X', 0, 0)};
static const uint8_t power[] = {INTERFACE(0, 0, 0xff, 'P', 0, 0)};
static const uint8_t version[] = {INTERFACE(0, 0, 0xff, 'V', 0, STRING_VERSION)};
static const uint8_t dap_v1[] = {INTERFACE(0, 2, 3, 0, 0, STRING_V1)};
static const uint8_t dap_v1_ends[] = {INTERRUPT(ORBTRACE_EP_HID_IN),
                                      INTERRUPT(ORBTRACE_EP_HID_OUT)};
static const uint8_t dap_v2[] = {INTERFACE(0, 2, 0xff, 0, 0, STRING_V2), BULK(ORBTRACE_EP_DAP_OUT),
                                 BULK(ORBTRACE_EP_DAP_IN)};
static const uint8_t serial_data[] = {INTERFACE(0, 2, 0x0a, 0, 0, 0), BULK(ORBTRACE_EP_CDC_IN),
                                      BULK(ORBTRACE_EP_CDC_OUT)};

struct text {
    uint8_t bytes[USB_DEVICE_DESCRIPTORS];
    size_t size;
};

static void add(struct text *t, const uint8_t *bytes, size_t size)
{
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}

/* Both interfaces of the serial port, behind the descriptor that makes them one function. */
static void add_serial(struct text *t, uint8_t first)
{
    uint8_t data = (uint8_t)(first + 1);
    const uint8_t head[] = {
        8,
        0x0b,
        first,
        2,
        2,
        2,
        0,
        0,                                    /* interface association */
        INTERFACE(0, 1, 2, 2, 0, STRING_CDC), /* */
        5,
        0x24,
        0x00,
        0x10,
        0x01, /* version 1.10 */
        4,
        0x24,
        0x02,
        0x02, /* line coding and state */
        5,
        0x24,
        0x06,
        first,
        data, /* union */
        5,
        0x24,
        0x01,
        0x00,
        data, /* no call management */
        INTERRUPT(ORBTRACE_EP_NOTIFY),
    };
    add(t, head, sizeof head);
}

static void add_interface(struct text *t, const struct usb_orbtrace *u, enum orbtrace_interface i)
{
    switch (i) {
    case ORBTRACE_CDC:
        add_serial(t, u->number[i]);
        break;
    case ORBTRACE_CDC_DATA:
        add(t, serial_data, sizeof serial_data);
        break;
    case ORBTRACE_TRACE:
        if (u->options.both)
            add(t, trace_both, sizeof trace_both);
        else if (u->capture.protocol == ORBTRACE_FLOW)
            add(t, trace_flow, sizeof trace_flow);
        else
            add(t, trace_frames, sizeof trace_frames);
        break;
    case ORBTRACE_PROXY:
        add(t, proxy, sizeof proxy);
        break;
    case ORBTRACE_DAP_V1:
        add(t, dap_v1, sizeof dap_v1);
        add(t, usb_probe_hid_descriptor, sizeof usb_probe_hid_descriptor);
        add(t, dap_v1_ends, sizeof dap_v1_ends);
        break;
    case ORBTRACE_DAP_V2:
        add(t, dap_v2, sizeof dap_v2);
        break;
    case ORBTRACE_POWER:
        add(t, power, sizeof power);
        break;
    default:
        add(t, version, sizeof version);
        break;
    }
}

/* The two of the serial port stay together. */
static const uint8_t orders[2][ORBTRACE_INTERFACES] = {
    {ORBTRACE_CDC, ORBTRACE_CDC_DATA, ORBTRACE_TRACE, ORBTRACE_PROXY, ORBTRACE_DAP_V1,
     ORBTRACE_DAP_V2, ORBTRACE_POWER, ORBTRACE_VERSION},
    {ORBTRACE_VERSION, ORBTRACE_POWER, ORBTRACE_DAP_V2, ORBTRACE_DAP_V1, ORBTRACE_PROXY,
     ORBTRACE_TRACE, ORBTRACE_CDC, ORBTRACE_CDC_DATA},
};

static void describe(struct usb_orbtrace *u, struct text *t)
{
    const uint8_t *order = orders[u->options.reversed];
    for (uint8_t i = 0; i < ORBTRACE_INTERFACES; i++)
        u->number[order[i]] = i;
    for (uint8_t i = 0; i < ORBTRACE_INTERFACES; i++) {
        size_t at = t->size;
        add_interface(t, u, order[i]);
        for (; at < t->size; at += t->bytes[at])
            if (t->bytes[at + 1] == USB_DT_INTERFACE)
                t->bytes[at + 2] = i;
    }
}

static void init_device(struct usb_orbtrace *u, struct probe_board *board)
{
    static const struct usb_device_ops ops = {
        .control = orbtrace_control,
        .out = orbtrace_out,
        .in = orbtrace_in,
        .replug = orbtrace_replug,
        .set_interface = orbtrace_set_interface,
        .before = orbtrace_before,
        .report = orbtrace_report,
    };
    static const uint8_t device[18] = {
        18,
        USB_DT_DEVICE,
        0x00,
        0x02,
        0xef,
        0x02,
        0x01,
        64,
        ORBTRACE_VID & 0xff,
        ORBTRACE_VID >> 8,
        ORBTRACE_PID & 0xff,
        ORBTRACE_PID >> 8,
        0x00,
        0x01,
        1,
        2,
        3,
        1,
    };
    bool flow = u->options.both || u->capture.protocol == ORBTRACE_FLOW;
    struct text t = {.size = 0};
    describe(u, &t);
    usb_device_init(&u->device, &ops, board, device, t.bytes, t.size, ORBTRACE_INTERFACES);
    u->strings[1] = "btraced";
    u->strings[2] = "Model ORBTrace mini";
    u->strings[3] = "MODEL0003";
    u->strings[STRING_CDC] = "Model serial port";
    u->strings[STRING_V1] = "CMSIS-DAP v1";
    u->strings[STRING_V2] = "CMSIS-DAP v2";
    u->strings[STRING_VERSION] = flow ? "Version: v1.4.3-0-g0000000" : "Version: v1.3.1-0-g0000000";
    u->device.strings = u->strings;
    u->device.string_count = sizeof u->strings / sizeof *u->strings;
}

/* The firmware of both CMSIS-DAP interfaces: no SWO commands. */
static int init_probes(struct usb_orbtrace *u, struct probe_board *board)
{
    struct cmsis_dap_options options = board->probe.options;
    options.capabilities = CMSIS_DAP_CAP_SWD | CMSIS_DAP_CAP_JTAG;
    options.product = u->strings[2];
    options.serial = u->strings[3];
    options.swo = NULL;
    options.packet_count = 1;
    options.packet_size = DAP_PACKET;
    if (cmsis_dap_init(&board->probe, &options, &board->dap) < 0)
        return -1;
    options.packet_size = USB_PROBE_HID_REPORT;
    return cmsis_dap_init(&u->v1, &options, &board->dap);
}

int usb_orbtrace_init(struct usb_orbtrace *u, struct probe_board *board,
                      const struct usb_orbtrace_options *options)
{
    memset(u, 0, sizeof *u);
    u->options = *options;
    enum orbtrace_protocol protocol = options->protocol ? options->protocol : ORBTRACE_FLOW;
    if (options->both)
        protocol = ORBTRACE_FRAMES;
    orbtrace_capture_init(&u->capture, &options->capture, protocol, options->feed);
    u->capture.drop = &board->probe.swo.drop;
    orbtrace_capture_reset(&u->capture, now_of(u));
    init_device(u, board);
    return init_probes(u, board);
}

void usb_orbtrace_release(struct usb_orbtrace *u)
{
    orbtrace_capture_release(&u->capture);
}
