/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace from a capture unit on USB: one that delivers a trace_stream. */
#include "drivers/probe/ftdi/ftdi_capture.h"
#include "drivers/probe/orbtrace/orbtrace.h"
#include "trace_reader.h"

#include <stdio.h>
#include <stdlib.h>

#define RETRY_MS 300 /* a look at all USB devices */
#define POLL_MS  20  /* so long the end of the link may have to wait */
/* Frames of the first protocol wait for a keep-alive, ten a second. */
#define UNITS_MS 130u

struct usb_input {
    const struct config *config;
    struct orbtrace *orbtrace; /* one of the two; both NULL: closed */
    struct ftdi_capture *ftdi;
    struct trace_stream stream;
    struct orbflow_frames *orbflow; /* of an FTDI chip that is fed so */
    const struct trace_input_sink *sink;
};

static enum orbtrace_input orbtrace_pins(const struct config *c)
{
    if (config_captures_swo(c))
        return ORBTRACE_NRZ_FRAMES;
    return c->tpiu_width == 1   ? ORBTRACE_PARALLEL_1
           : c->tpiu_width == 2 ? ORBTRACE_PARALLEL_2
                                : ORBTRACE_PARALLEL_4;
}

static int open_unit(struct usb_input *u, struct usb_open_error *err)
{
    const struct config_capture *c = &u->config->capture;
    const struct usb_probe_filter filter = {.serial = c->serial,
                                            .path = c->usb.path,
                                            .vendor = c->usb.vendor,
                                            .product = c->usb.product};
    if (c->type == CONFIG_CAPTURE_ORBTRACE) {
        int rc = orbtrace_open(&filter, orbtrace_pins(u->config), u->config->swo_rate, &u->orbtrace,
                               err);
        if (rc == 0)
            u->stream = orbtrace_stream(u->orbtrace);
        return rc;
    }
    bool uart = c->type == CONFIG_CAPTURE_FTDI_UART;
    const struct ftdi_capture_options options = {
        .mode = uart ? FTDI_CAPTURE_UART : FTDI_CAPTURE_FIFO,
        .channel = uart ? c->channel : 0,
        .baud = c->baud,
    };
    int rc = ftdi_capture_open(&filter, &options, &u->ftdi, err);
    if (rc == 0)
        u->stream = ftdi_capture_stream(u->ftdi);
    return rc;
}

static const struct usb_device_info *info_of(const struct usb_input *u)
{
    return u->orbtrace ? orbtrace_info(u->orbtrace) : ftdi_capture_info(u->ftdi);
}

static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    const struct usb_input *u = user;
    const struct trace_input_sink *sink = u->sink;
    if (u->orbflow)
        orbflow_frames_feed(u->orbflow, data, length, &sink->trace);
    else
        sink->trace.bytes(sink->trace.user, data, length);
    sink->arrived(sink->trace.user, length);
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    const struct usb_input *u = user;
    if (u->orbflow)
        orbflow_frames_lost(u->orbflow, &u->sink->trace);
    else
        u->sink->trace.lost(u->sink->trace.user, cause);
}

static int read_input(void *self)
{
    const struct usb_input *u = self;
    return u->stream.ops->poll(u->stream.self, POLL_MS);
}

static void close_input(void *self)
{
    struct usb_input *u = self;
    orbtrace_close(u->orbtrace);
    ftdi_capture_close(u->ftdi);
    u->orbtrace = NULL;
    u->ftdi = NULL;
}

static int open_input(void *self, const struct trace_input_sink *sink, struct message *why)
{
    struct usb_input *u = self;
    const struct trace_sink stream_sink = {.user = u, .bytes = on_bytes, .lost = on_lost};
    struct usb_open_error err;
    int error = open_unit(u, &err);
    if (error) {
        message_set(why, "%s", error == BT_ERR_NOMEM ? "out of memory" : err.text);
        return error;
    }
    if (u->orbflow)
        orbflow_frames_restart(u->orbflow);
    u->sink = sink;
    error = u->stream.ops->start(u->stream.self, &stream_sink);
    if (!error)
        return BT_OK;
    message_set(why, "capture unit '%s' cannot be started: %s", info_of(u)->product_name,
                error == BT_ERR_UNSUPPORTED ? "it refuses this input (tpiu_width, swo_rate)"
                : error == BT_ERR_IO        ? "it does not answer; unplug it and plug it in again"
                                            : bt_strerror(error));
    close_input(u);
    return error;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void describe(void *self, char *text, size_t size)
{
    const struct usb_input *u = self;
    const struct usb_device_info *info = info_of(u);
    bool serial = info->serial[0] != '\0';
    const char *protocol =
        u->orbtrace ? orbtrace_protocol_name(orbtrace_protocol(u->orbtrace)) : "";
    snprintf(text, size, "%s%s%s%s%s", info->product_name, serial ? ", serial " : "", info->serial,
             *protocol ? ", " : "", protocol);
}

static void release(void *self)
{
    struct usb_input *u = self;
    orbflow_frames_free(u->orbflow);
    free(u);
}

static const struct trace_input_ops OPS = {
    .open = open_input,
    .wait_fd = wait_fd,
    .read = read_input,
    .close = close_input,
    .describe = describe,
    .release = release,
};

#define MOST_BYTES (64u << 10) /* that an FTDI chip's stream delivers at once */

int trace_input_usb(const struct config *config, struct trace_input *in, struct message *why)
{
    bool orbtrace = config->capture.type == CONFIG_CAPTURE_ORBTRACE;
    struct usb_input *u = calloc(1, sizeof *u);
    message_set(why, "out of memory");
    if (!u)
        return BT_ERR_NOMEM;
    u->config = config;
    if (config->orbflow && !orbtrace && !(u->orbflow = orbflow_frames_new(MOST_BYTES))) {
        free(u);
        return BT_ERR_NOMEM;
    }
    *in = (struct trace_input){
        .ops = &OPS,
        .self = u,
        .required = true,
        .whole_frames =
            !orbtrace && config->formatted && config->mode == FORMATTER_ALIGNED && !config->orbflow,
        .gone = "the capture unit does not answer any more",
        .retry_ms = RETRY_MS,
        .delay_ms = orbtrace          ? UNITS_MS
                    : config->orbflow ? TRACE_READER_ORBFLOW_MS
                                      : 0,
    };
    return BT_OK;
}
