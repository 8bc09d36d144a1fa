/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/probe/orbtrace/orbtrace.h"

#include "drivers/adi/debug_link.h"
#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "drivers/usb/usb_bulk_stream.h"
#include "drivers/usb/usb_libusb_device.h"
#include "orbtrace_units.h"

#include <stdio.h>
#include <stdlib.h>

#define VENDOR         0x1209u
#define PRODUCT        0x3443u
#define CLASS_VENDOR   0xffu
#define SUBCLASS_TRACE 0x54u /* T */

/* 2 MB: 48 ms at the pace of a High-Speed bus. The probe itself has 8 KiB. */
#define TRANSFERS      16
#define TRANSFER_BYTES 131072

#define REQUEST_OUT   (LIBUSB_REQUEST_TYPE_VENDOR | LIBUSB_RECIPIENT_INTERFACE)
#define REQUEST_INPUT 0x01
#define REQUEST_BAUD  0x02
#define CONTROL_MS    1000
#define TAIL_MS       110u /* a packet that has begun is sent after so long */
#define SETTLE_MS     500u
#define UNITS_MS      130u /* with keep-alives it is never silent; one comes in this time */

struct orbtrace {
    libusb_context *context;
    libusb_device_handle *handle;
    bool claimed;
    bool running;
    bool waste;    /* what comes is of nobody's capture */
    uint64_t came; /* bytes of transfers */
    struct usb_probe_filter filter;
    struct message why; /* of a start that failed */
    struct usb_probe_seen seen;
    struct orbtrace_choice choice;
    enum orbtrace_input input;
    uint32_t baud;
    struct usb_bulk_stream stream;
    struct orbflow_frames *orbflow; /* one of the two, as its protocol is */
    struct orbtrace_units units;    /* without memory otherwise */
    struct trace_sink sink;
};

static bool protocol_is_known(uint8_t protocol)
{
    return protocol == ORBTRACE_ORBFLOW || protocol == ORBTRACE_FRAMES;
}

const char *orbtrace_protocol_name(uint8_t protocol)
{
    return protocol == ORBTRACE_ORBFLOW  ? "ORBFLOW"
           : protocol == ORBTRACE_FRAMES ? "TPIU frames"
                                         : "";
}

static bool choose_setting(const struct usb_interface_info *i, struct orbtrace_choice *choice)
{
    if (i->class_code != CLASS_VENDOR || i->subclass != SUBCLASS_TRACE)
        return false;
    for (unsigned k = 0; k < i->endpoint_count; k++) {
        const struct usb_endpoint_info *e = &i->endpoints[k];
        if (e->kind != USB_ENDPOINT_BULK || !(e->address & USB_ENDPOINT_IN) || e->packet == 0)
            continue;
        *choice = (struct orbtrace_choice){.interface = i->number,
                                           .alternate = i->alternate,
                                           .endpoint = e->address,
                                           .protocol = i->protocol};
        return true;
    }
    return false;
}

/* Of several settings the one whose protocol says most about damage. */
int orbtrace_choose(const struct usb_device_info *device, struct orbtrace_choice *choice)
{
    int error = BT_ERR_UNSUPPORTED;
    for (unsigned k = 0; k < device->interface_count && k < USB_MAX_INTERFACES; k++) {
        struct orbtrace_choice c;
        if (!choose_setting(&device->interfaces[k], &c))
            continue;
        bool better = error != 0 ||
                      (protocol_is_known(c.protocol) && !protocol_is_known(choice->protocol)) ||
                      (c.protocol == ORBTRACE_ORBFLOW && choice->protocol != ORBTRACE_ORBFLOW);
        if (better)
            *choice = c;
        error = 0;
    }
    return error;
}

static bool orbtrace_fits(const struct usb_device_info *info, const struct usb_probe_filter *filter)
{
    struct orbtrace_choice choice;
    uint16_t vendor = filter->vendor ? filter->vendor : VENDOR;
    uint16_t product = filter->vendor ? filter->product : PRODUCT;
    return info->vendor == vendor && info->product == product &&
           orbtrace_choose(info, &choice) == 0;
}

static int orbtrace_request(struct orbtrace *o, uint8_t code, uint16_t value, uint8_t *data,
                            uint16_t length)
{
    int n = libusb_control_transfer(o->handle, REQUEST_OUT, code, value, o->choice.interface, data,
                                    length, CONTROL_MS);
    if (n == length)
        return 0;
    return n == LIBUSB_ERROR_PIPE ? BT_ERR_UNSUPPORTED : BT_ERR_IO;
}

static int set_input(struct orbtrace *o, enum orbtrace_input input)
{
    if (input == ORBTRACE_NRZ_FRAMES) {
        uint8_t baud[] = {(uint8_t)o->baud, (uint8_t)(o->baud >> 8), (uint8_t)(o->baud >> 16),
                          (uint8_t)(o->baud >> 24)};
        int error = orbtrace_request(o, REQUEST_BAUD, 0, baud, sizeof baud);
        if (error != 0)
            return error;
    }
    return orbtrace_request(o, REQUEST_INPUT, (uint16_t)input, NULL, 0);
}

static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    struct orbtrace *o = user;
    o->came += length;
    if (o->waste)
        return;
    if (o->orbflow)
        orbflow_frames_feed(o->orbflow, data, length, &o->sink);
    else
        orbtrace_units_feed(&o->units, data, length, &o->sink);
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    struct orbtrace *o = user;
    (void)cause;
    if (o->waste)
        return;
    if (o->orbflow)
        orbflow_frames_lost(o->orbflow, &o->sink);
    else
        orbtrace_units_lost(&o->units, &o->sink);
}

static uint64_t now_ms(void)
{
    return debug_now(&debug_clock_monotonic) / 1000;
}

/* With the input off, until all that was on its way has come: 0 then, USB_TIMED_OUT if there is no
 * end to it, or BT_ERR_IO. */
static int await_silence(struct orbtrace *o)
{
    uint64_t begin = now_ms(), last = begin, now = begin;
    int error = 0;
    while (error == 0 && now - last < TAIL_MS) {
        if (now - begin >= (o->orbflow ? SETTLE_MS : UNITS_MS))
            return USB_TIMED_OUT;
        uint64_t came = o->came;
        error = usb_bulk_stream_poll(&o->stream, TAIL_MS - (unsigned)(now - last));
        now = now_ms();
        if (o->came != came)
            last = now;
    }
    return error;
}

/* What an earlier user has left in it is thrown away. Then the next byte is that of a packet's
 * beginning, and nothing of it has to be. */
static int orbtrace_clear(struct orbtrace *o)
{
    o->waste = true;
    int error = await_silence(o);
    o->waste = false;
    if (error == 0 && o->orbflow)
        orbflow_frames_begin(o->orbflow);
    return error == USB_TIMED_OUT ? 0 : error;
}

static int orbtrace_begin(struct orbtrace *o, const struct trace_sink *sink)
{
    const struct trace_sink transfers = {.user = o, .bytes = on_bytes, .lost = on_lost};
    o->sink = *sink;
    if (o->orbflow)
        orbflow_frames_restart(o->orbflow);
    else
        orbtrace_units_restart(&o->units);
    /* Whoever used it before may have left it on; the transfers wait before the first byte. */
    int error = set_input(o, ORBTRACE_OFF);
    if (error == 0)
        error = usb_bulk_stream_start(&o->stream, &transfers);
    if (error == 0)
        error = orbtrace_clear(o);
    return error == 0 ? set_input(o, o->input) : error;
}

static int make_reader(struct orbtrace *o)
{
    (void)orbtrace_choose(&o->seen.info, &o->choice);
    if (o->choice.protocol == ORBTRACE_FRAMES)
        return orbtrace_units_init(&o->units);
    if (o->choice.protocol == ORBTRACE_ORBFLOW) {
        o->orbflow = orbflow_frames_new();
        return o->orbflow ? 0 : BT_ERR_NOMEM;
    }
    return message_fail(
        &o->why, BT_ERR_UNSUPPORTED,
        "'%.60s' sends trace in protocol 0x%02x, which is not known: other gateware is needed",
        o->seen.info.product_name, o->choice.protocol);
}

static int orbtrace_claim(struct orbtrace *o, libusb_device *device)
{
    int code = libusb_open(device, &o->handle);
    if (code != 0)
        o->handle = NULL;
    else
        (void)libusb_set_auto_detach_kernel_driver(o->handle, 1);
    if (code == 0)
        code = libusb_claim_interface(o->handle, o->choice.interface);
    o->claimed = code == 0;
    if (code == 0 && o->choice.alternate != 0)
        code =
            libusb_set_interface_alt_setting(o->handle, o->choice.interface, o->choice.alternate);
    if (code == 0)
        return 0;
    return message_fail(&o->why, BT_ERR_IO, "cannot use the trace interface of '%.60s': %s",
                        o->seen.info.product_name,
                        code == LIBUSB_ERROR_BUSY ? "it is in use by another program (orbuculum?)"
                                                  : libusb_strerror(code));
}

static int open_device(struct orbtrace *o)
{
    static const struct usb_wanted WANTED = {"ORBTrace", orbtrace_fits};
    libusb_device *device;
    int error = libusb_init(&o->context);
    if (error != 0) {
        message_set(&o->why, "cannot use USB: %s", libusb_strerror(error));
        o->context = NULL;
        return BT_ERR_IO;
    }
    error = usb_libusb_find(o->context, &WANTED, &o->filter, &device, &o->seen, &o->why);
    if (error != 0)
        return error;
    error = make_reader(o);
    if (error == 0)
        error = orbtrace_claim(o, device);
    libusb_unref_device(device);
    usb_bulk_stream_init(&o->stream, o->context, o->handle, o->choice.endpoint, TRANSFERS,
                         TRANSFER_BYTES);
    return error;
}

/* BT_ERR_IO: a transfer is not back, and must not be freed: the device is kept for good. */
static int close_device(struct orbtrace *o)
{
    if (usb_bulk_stream_stop(&o->stream) != 0)
        return BT_ERR_IO;
    if (o->claimed)
        (void)libusb_release_interface(o->handle, o->choice.interface);
    if (o->handle)
        libusb_close(o->handle);
    if (o->context)
        libusb_exit(o->context);
    orbflow_frames_free(o->orbflow);
    orbtrace_units_release(&o->units);
    o->claimed = false;
    o->handle = NULL;
    o->context = NULL;
    o->orbflow = NULL;
    return 0;
}

static int capture_start(void *self, const struct trace_sink *sink)
{
    struct orbtrace *o = self;
    if (o->context)
        return BT_ERR_INVAL;
    o->why.text[0] = '\0';
    int error = open_device(o);
    if (error == 0 && (error = orbtrace_begin(o, sink)) != 0)
        usb_describe_refusal(&o->seen.info, error, &o->why);
    if (error != 0) {
        message_default(&o->why, error);
        (void)close_device(o);
    }
    o->running = error == 0;
    return error;
}

static int capture_poll(void *self, unsigned timeout_ms)
{
    struct orbtrace *o = self;
    return o->running ? usb_bulk_stream_poll(&o->stream, timeout_ms) : BT_ERR_INVAL;
}

static int capture_stop(void *self)
{
    struct orbtrace *o = self;
    if (!o->running)
        return 0;
    o->running = false;
    int error = set_input(o, ORBTRACE_OFF);
    if (error == 0)
        error = await_silence(o);
    int closed = close_device(o);
    return error < 0 ? error : closed;
}

static void capture_describe(void *self, char *text, size_t size)
{
    const struct orbtrace *o = self;
    if (o->running)
        usb_describe(&o->seen.info, orbtrace_protocol_name(o->choice.protocol), text, size);
    else
        snprintf(text, size, "%s", o->why.text);
}

static void capture_release(void *self)
{
    struct orbtrace *o = self;
    if (!o->context)
        free(o);
}

int orbtrace_stream(const struct usb_probe_filter *filter, enum orbtrace_input input, uint32_t baud,
                    struct trace_stream *out)
{
    static const struct trace_stream_ops OPS = {
        .start = capture_start,
        .poll = capture_poll,
        .stop = capture_stop,
        .describe = capture_describe,
        .release = capture_release,
    };
    struct orbtrace *o = calloc(1, sizeof *o);
    if (!o)
        return BT_ERR_NOMEM;
    o->filter = *filter;
    o->input = input;
    o->baud = baud;
    *out = (struct trace_stream){.ops = &OPS, .self = o};
    return 0;
}
