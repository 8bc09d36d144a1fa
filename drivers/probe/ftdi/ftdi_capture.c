/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/probe/ftdi/ftdi_capture.h"
#include "ftdi_capture_strip.h"

#include "drivers/probe/ftdi/ftdi_channel.h"
#include "drivers/usb/usb_bulk_stream.h"
#include "drivers/usb/usb_libusb_device.h"

#include <ftdi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* 2 MB: 48 ms at the pace of a High-Speed bus; a UART needs a hundredth of that. */
#define FIFO_TRANSFERS 32
#define FIFO_BYTES     65536
#define UART_TRANSFERS 16
#define UART_BYTES     4096

#define LATENCY_MS   2   /* with 1 blocks were lost */
#define CONTROL_MS   900 /* libftdi: with 1000 and more, a part of a second is more than allowed */
#define MODE_WAIT_MS 20
#define ALL_PINS     0xff
#define TOLERANCE    3u /* per cent of the rate */

#define OPEN_REFUSED  (-4) /* of libftdi */
#define CLAIM_REFUSED (-5)

struct ftdi_capture {
    struct ftdi_context *ftdi;
    bool is_open;
    bool running;
    struct usb_probe_filter filter;
    struct message why; /* of a start that failed */
    struct usb_probe_seen seen;
    struct ftdi_capture_options options;
    struct usb_bulk_stream stream;
    struct trace_sink sink;
};

static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    const struct ftdi_capture *c = user;
    ftdi_capture_strip(data, length, c->ftdi->max_packet_size, &c->sink);
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    const struct ftdi_capture *c = user;
    c->sink.lost(c->sink.user, cause);
}

static void pause_ms(unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static int ftdi_capture_begin(struct ftdi_capture *c, const struct trace_sink *sink)
{
    const struct trace_sink transfers = {.user = c, .bytes = on_bytes, .lost = on_lost};
    c->sink = *sink;
    if (ftdi_set_bitmode(c->ftdi, ALL_PINS, BITMODE_RESET) != 0)
        return BT_ERR_IO;
    pause_ms(MODE_WAIT_MS);
    if (ftdi_tcioflush(c->ftdi) != 0)
        return BT_ERR_IO;
    /* The transfers wait before the first byte can come. */
    int error = usb_bulk_stream_start(&c->stream, &transfers);
    if (error == 0 && c->options.mode == FTDI_CAPTURE_FIFO &&
        ftdi_set_bitmode(c->ftdi, ALL_PINS, BITMODE_SYNCFF) != 0)
        error = BT_ERR_IO;
    return error;
}

static bool ftdi_capture_fits(const struct usb_device_info *info,
                              const struct usb_probe_filter *filter)
{
    if (filter->vendor)
        return info->vendor == filter->vendor && info->product == filter->product;
    return ftdi_is_adapter(info->vendor, info->product);
}

static int ftdi_capture_check_chip(struct ftdi_capture *c)
{
    const struct ftdi_chip *chip = ftdi_chip_of(c->seen.info.release);
    const char *name = c->seen.info.product_name;
    if (!chip)
        message_set(&c->why, "adapter '%.60s' has another chip than FT2232H, FT4232H or FT232H",
                    name);
    else if (c->options.mode == FTDI_CAPTURE_FIFO && !chip->has_fifo)
        message_set(&c->why,
                    "adapter '%.60s' (%s) has no synchronous FIFO: an FT2232H or FT232H has", name,
                    chip->name);
    else if (c->options.channel >= chip->channels)
        message_set(&c->why, "adapter '%.60s' (%s) has no channel %c", name, chip->name,
                    (char)('A' + c->options.channel));
    else
        return 0;
    return BT_ERR_UNSUPPORTED;
}

static int ftdi_capture_refused(struct ftdi_capture *c, int code)
{
    const char *why = code == CLAIM_REFUSED  ? "is in use by another program"
                      : code == OPEN_REFUSED ? "cannot be opened"
                                             : "does not answer";
    return message_fail(&c->why, BT_ERR_IO, "cannot use adapter '%.60s': channel %c %s",
                        c->seen.info.product_name, (char)('A' + c->options.channel), why);
}

static int set_rate(struct ftdi_capture *c)
{
    uint32_t wanted = c->options.baud;
    if (ftdi_set_baudrate(c->ftdi, (int)wanted) != 0 ||
        ftdi_set_line_property(c->ftdi, BITS_8, STOP_BIT_1, NONE) != 0 ||
        ftdi_setflowctrl(c->ftdi, SIO_DISABLE_FLOW_CTRL) != 0)
        return message_fail(&c->why, BT_ERR_UNSUPPORTED,
                            "adapter '%.60s' cannot capture at %u bits a second",
                            c->seen.info.product_name, wanted);
    uint64_t actual = (uint64_t)c->ftdi->baudrate;
    uint64_t off = actual > wanted ? actual - wanted : wanted - actual;
    if (off * 100 <= (uint64_t)wanted * TOLERANCE)
        return 0;
    return message_fail(&c->why, BT_ERR_UNSUPPORTED,
                        "adapter '%.60s' cannot capture at %u bits a second; the nearest is %u",
                        c->seen.info.product_name, wanted, (unsigned)actual);
}

static int ftdi_capture_open_device(struct ftdi_capture *c, libusb_device *device)
{
    int error = ftdi_capture_check_chip(c);
    if (error != 0)
        return error;
    (void)ftdi_set_interface(c->ftdi, (enum ftdi_interface)(INTERFACE_A + (int)c->options.channel));
    c->ftdi->module_detach_mode = AUTO_DETACH_REATACH_SIO_MODULE;
    c->ftdi->usb_read_timeout = CONTROL_MS;
    c->ftdi->usb_write_timeout = CONTROL_MS;
    error = ftdi_usb_open_dev(c->ftdi, device);
    if (error != 0)
        return ftdi_capture_refused(c, error);
    c->is_open = true;
    if (ftdi_set_latency_timer(c->ftdi, LATENCY_MS) != 0 ||
        ftdi_set_bitmode(c->ftdi, ALL_PINS, BITMODE_RESET) != 0)
        return ftdi_capture_refused(c, 0);
    return c->options.mode == FTDI_CAPTURE_UART ? set_rate(c) : 0;
}

static int ftdi_capture_open(struct ftdi_capture *c)
{
    static const struct usb_wanted WANTED = {"FTDI adapter", ftdi_capture_fits};
    bool fifo = c->options.mode == FTDI_CAPTURE_FIFO;
    libusb_device *device;
    c->ftdi = ftdi_new();
    if (!c->ftdi)
        return BT_ERR_NOMEM;
    int error = usb_libusb_find(c->ftdi->usb_ctx, &WANTED, &c->filter, &device, &c->seen, &c->why);
    if (error != 0)
        return error;
    error = ftdi_capture_open_device(c, device);
    libusb_unref_device(device);
    /* In libftdi's context out_ep is the endpoint read from. */
    usb_bulk_stream_init(&c->stream, c->ftdi->usb_ctx, c->ftdi->usb_dev, (uint8_t)c->ftdi->out_ep,
                         fifo ? FIFO_TRANSFERS : UART_TRANSFERS, fifo ? FIFO_BYTES : UART_BYTES);
    return error;
}

/* The chip is an ordinary one again, all pins inputs. BT_ERR_IO: a transfer is not back, and must
 * not be freed: the device is kept for good. */
static int ftdi_capture_close(struct ftdi_capture *c)
{
    if (usb_bulk_stream_stop(&c->stream) != 0)
        return BT_ERR_IO;
    if (c->is_open) {
        (void)ftdi_set_bitmode(c->ftdi, 0, BITMODE_RESET);
        (void)ftdi_usb_close(c->ftdi);
    }
    if (c->ftdi)
        ftdi_free(c->ftdi);
    c->is_open = false;
    c->ftdi = NULL;
    return 0;
}

static int capture_start(void *self, const struct trace_sink *sink)
{
    struct ftdi_capture *c = self;
    if (c->ftdi)
        return BT_ERR_INVAL;
    c->why.text[0] = '\0';
    int error = ftdi_capture_open(c);
    if (error == 0 && (error = ftdi_capture_begin(c, sink)) != 0)
        usb_describe_refusal(&c->seen.info, error, &c->why);
    if (error != 0) {
        message_default(&c->why, error);
        (void)ftdi_capture_close(c);
    }
    c->running = error == 0;
    return error;
}

static int capture_poll(void *self, unsigned timeout_ms)
{
    struct ftdi_capture *c = self;
    return c->running ? usb_bulk_stream_poll(&c->stream, timeout_ms) : BT_ERR_INVAL;
}

static int capture_stop(void *self)
{
    struct ftdi_capture *c = self;
    if (!c->running)
        return 0;
    c->running = false;
    int error = usb_bulk_stream_poll(&c->stream, 2 * LATENCY_MS);
    int closed = ftdi_capture_close(c);
    return error != 0 ? error : closed;
}

static void capture_describe(void *self, char *text, size_t size)
{
    const struct ftdi_capture *c = self;
    if (c->running)
        usb_describe(&c->seen.info, "", text, size);
    else
        snprintf(text, size, "%s", c->why.text);
}

static void capture_release(void *self)
{
    struct ftdi_capture *c = self;
    if (!c->ftdi)
        free(c);
}

int ftdi_capture_stream(const struct usb_probe_filter *filter,
                        const struct ftdi_capture_options *options, struct trace_stream *out)
{
    static const struct trace_stream_ops OPS = {
        .start = capture_start,
        .poll = capture_poll,
        .stop = capture_stop,
        .describe = capture_describe,
        .release = capture_release,
    };
    struct ftdi_capture *c = calloc(1, sizeof *c);
    if (!c)
        return BT_ERR_NOMEM;
    c->filter = *filter;
    c->options = *options;
    *out = (struct trace_stream){.ops = &OPS, .self = c};
    return 0;
}
