/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_input.h"

#include "drivers/probe/ftdi/ftdi_capture.h"
#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "drivers/probe/orbtrace/orbtrace.h"
#include "drivers/probe/serial_port.h"
#include "server/net/stream_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long ORBFLOW holds back what is not a full packet. */
#define TRACE_READER_ORBFLOW_MS 110u
#define READ_SIZE               (256u << 10)

/* Trace from a file descriptor: reading, and what makes frames of ORBFLOW. */
struct trace_reader {
    uint8_t *buffer;
    struct orbflow_frames *orbflow; /* NULL: bytes are passed on as they are */
    const struct trace_input_sink *sink;
};

static int trace_input_no_memory(struct message *why)
{
    message_set(why, "out of memory");
    return BT_ERR_NOMEM;
}

static int trace_reader_init(struct trace_reader *r, bool orbflow)
{
    *r = (struct trace_reader){.buffer = malloc(READ_SIZE)};
    if (orbflow)
        r->orbflow = orbflow_frames_new(READ_SIZE);
    return r->buffer && (r->orbflow || !orbflow) ? BT_OK : BT_ERR_NOMEM;
}

static void trace_reader_release(struct trace_reader *r)
{
    free(r->buffer);
    orbflow_frames_free(r->orbflow);
    *r = (struct trace_reader){0};
}

static void trace_reader_start(struct trace_reader *r, const struct trace_input_sink *sink)
{
    r->sink = sink;
    if (r->orbflow)
        orbflow_frames_restart(r->orbflow);
}

static int trace_reader_read(struct trace_reader *r, int fd)
{
    const struct trace_input_sink *sink = r->sink;
    ssize_t n = read(fd, r->buffer, READ_SIZE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return BT_OK;
    if (n <= 0)
        return BT_ERR_IO;
    if (r->orbflow)
        orbflow_frames_feed(r->orbflow, r->buffer, (size_t)n, &sink->trace);
    else
        sink->trace.bytes(sink->trace.user, r->buffer, (size_t)n);
    sink->arrived(sink->trace.user, (size_t)n);
    return BT_OK;
}

#define SOCKET_RETRY_MS 200

/* Trace from a stream socket that the source connects to, or that we do. */
struct socket_input {
    const struct config *config;
    struct trace_reader reader;
    int listener; /* -1 if we connect */
    int fd;       /* -1: not connected */
};

static int socket_open(void *self, const struct trace_input_sink *sink, struct message *why)
{
    struct socket_input *s = self;
    char where[300];
    s->fd = s->listener >= 0 ? stream_socket_accept(s->listener)
                             : stream_socket_connect(&s->config->trace);
    if (s->fd >= 0) {
        trace_reader_start(&s->reader, sink);
        return BT_OK;
    }
    address_format(&s->config->trace, where, sizeof where);
    message_set(why, "no source at %s: %s", where, strerror(errno));
    return BT_ERR_IO;
}

static int socket_wait_fd(void *self)
{
    const struct socket_input *s = self;
    return s->fd >= 0 ? s->fd : s->listener;
}

static int socket_read(void *self)
{
    struct socket_input *s = self;
    return trace_reader_read(&s->reader, s->fd);
}

static void socket_close(void *self)
{
    struct socket_input *s = self;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void socket_describe(void *self, char *text, size_t size)
{
    (void)self;
    snprintf(text, size, "the source is connected");
}

static void socket_release(void *self)
{
    struct socket_input *s = self;
    if (s->listener >= 0)
        close(s->listener);
    trace_reader_release(&s->reader);
    free(s);
}

static const struct trace_input_ops socket_ops = {
    .open = socket_open,
    .wait_fd = socket_wait_fd,
    .read = socket_read,
    .close = socket_close,
    .describe = socket_describe,
    .release = socket_release,
};

static int trace_input_socket(const struct config *config, struct trace_input *in,
                              struct message *why)
{
    char where[300];
    struct socket_input *s = calloc(1, sizeof *s);
    if (!s)
        return trace_input_no_memory(why);
    s->config = config;
    s->listener = s->fd = -1;
    if (trace_reader_init(&s->reader, config->orbflow)) {
        socket_release(s);
        return trace_input_no_memory(why);
    }
    address_format(&config->trace, where, sizeof where);
    if (config->trace_listens && (s->listener = stream_socket_listen(&config->trace)) < 0) {
        message_set(why, "cannot listen for trace on %s: %s", where, strerror(errno));
        socket_release(s);
        return BT_ERR_IO;
    }
    *in = (struct trace_input){
        .ops = &socket_ops,
        .self = s,
        .whole_frames = config->formatted && config->mode == FORMATTER_ALIGNED && !config->orbflow,
        .gone = "the source has closed the connection",
        .retry_ms = SOCKET_RETRY_MS,
        .delay_ms = config->orbflow ? TRACE_READER_ORBFLOW_MS : 0,
    };
    snprintf(in->absent, sizeof in->absent, "no source yet at %s", where);
    return BT_OK;
}

#define TTY_RETRY_MS 200

/* Trace from a serial device. */
struct tty_input {
    const struct config_capture *capture;
    struct trace_reader reader;
    int fd; /* -1: closed */
};

static int tty_open(void *self, const struct trace_input_sink *sink, struct message *why)
{
    struct tty_input *t = self;
    char text[400];
    t->fd = serial_port_open(t->capture->device, t->capture->baud, text, sizeof text);
    if (t->fd < 0) {
        int error = t->fd;
        t->fd = -1;
        message_set(why, "%s", text);
        return error;
    }
    trace_reader_start(&t->reader, sink);
    return BT_OK;
}

static int tty_wait_fd(void *self)
{
    return ((struct tty_input *)self)->fd;
}

static int tty_read(void *self)
{
    struct tty_input *t = self;
    return trace_reader_read(&t->reader, t->fd);
}

static void tty_close(void *self)
{
    struct tty_input *t = self;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

static void tty_describe(void *self, char *text, size_t size)
{
    const struct tty_input *t = self;
    snprintf(text, size, "serial device %s at %u bits a second", t->capture->device,
             t->capture->baud);
}

static void tty_release(void *self)
{
    struct tty_input *t = self;
    trace_reader_release(&t->reader);
    free(t);
}

static const struct trace_input_ops tty_ops = {
    .open = tty_open,
    .wait_fd = tty_wait_fd,
    .read = tty_read,
    .close = tty_close,
    .describe = tty_describe,
    .release = tty_release,
};

static int trace_input_tty(const struct config *config, struct trace_input *in, struct message *why)
{
    struct tty_input *t = calloc(1, sizeof *t);
    if (!t)
        return trace_input_no_memory(why);
    t->capture = &config->capture;
    t->fd = -1;
    if (trace_reader_init(&t->reader, config->orbflow)) {
        tty_release(t);
        return trace_input_no_memory(why);
    }
    *in = (struct trace_input){
        .ops = &tty_ops,
        .self = t,
        .required = true,
        .whole_frames = config->formatted && config->mode == FORMATTER_ALIGNED && !config->orbflow,
        .gone = "the serial device is gone",
        .retry_ms = TTY_RETRY_MS,
        .delay_ms = config->orbflow ? TRACE_READER_ORBFLOW_MS : 0,
    };
    return BT_OK;
}

#define USB_RETRY_MS 300 /* a look at all USB devices */
#define USB_POLL_MS  20  /* so long the end of the link may have to wait */
/* Frames of the first protocol wait for a keep-alive, ten a second. */
#define USB_UNITS_MS 130u

/* Trace from a capture unit on USB: one that delivers a trace_stream. */
struct usb_input {
    const struct config *config;
    struct orbtrace *orbtrace; /* one of the two; both NULL: closed */
    struct ftdi_capture *ftdi;
    struct trace_stream stream;
    struct orbflow_frames *orbflow; /* of an FTDI chip that is fed so */
    const struct trace_input_sink *sink;
};

static enum orbtrace_input usb_orbtrace_pins(const struct config *c)
{
    if (config_captures_swo(c))
        return ORBTRACE_NRZ_FRAMES;
    return c->tpiu_width == 1   ? ORBTRACE_PARALLEL_1
           : c->tpiu_width == 2 ? ORBTRACE_PARALLEL_2
                                : ORBTRACE_PARALLEL_4;
}

static int usb_open_unit(struct usb_input *u, struct usb_open_error *err)
{
    const struct config_capture *c = &u->config->capture;
    const struct usb_probe_filter filter = {.serial = c->serial,
                                            .path = c->usb.path,
                                            .vendor = c->usb.vendor,
                                            .product = c->usb.product};
    if (c->type == CONFIG_CAPTURE_ORBTRACE) {
        int error = orbtrace_open(&filter, usb_orbtrace_pins(u->config), u->config->swo_rate,
                                  &u->orbtrace, err);
        if (!error)
            u->stream = orbtrace_stream(u->orbtrace);
        return error;
    }
    bool uart = c->type == CONFIG_CAPTURE_FTDI_UART;
    const struct ftdi_capture_options options = {
        .mode = uart ? FTDI_CAPTURE_UART : FTDI_CAPTURE_FIFO,
        .channel = uart ? c->channel : 0,
        .baud = c->baud,
    };
    int error = ftdi_capture_open(&filter, &options, &u->ftdi, err);
    if (!error)
        u->stream = ftdi_capture_stream(u->ftdi);
    return error;
}

static const struct usb_device_info *usb_info(const struct usb_input *u)
{
    return u->orbtrace ? orbtrace_info(u->orbtrace) : ftdi_capture_info(u->ftdi);
}

static void on_usb_bytes(void *user, const uint8_t *data, size_t length)
{
    const struct usb_input *u = user;
    const struct trace_input_sink *sink = u->sink;
    if (u->orbflow)
        orbflow_frames_feed(u->orbflow, data, length, &sink->trace);
    else
        sink->trace.bytes(sink->trace.user, data, length);
    sink->arrived(sink->trace.user, length);
}

static void on_usb_lost(void *user, enum bt_gap_cause cause)
{
    const struct usb_input *u = user;
    if (u->orbflow)
        orbflow_frames_lost(u->orbflow, &u->sink->trace);
    else
        u->sink->trace.lost(u->sink->trace.user, cause);
}

static int usb_read(void *self)
{
    const struct usb_input *u = self;
    return u->stream.ops->poll(u->stream.self, USB_POLL_MS);
}

static void usb_close(void *self)
{
    struct usb_input *u = self;
    orbtrace_close(u->orbtrace);
    ftdi_capture_close(u->ftdi);
    u->orbtrace = NULL;
    u->ftdi = NULL;
}

static int usb_open(void *self, const struct trace_input_sink *sink, struct message *why)
{
    struct usb_input *u = self;
    const struct trace_sink stream_sink = {.user = u, .bytes = on_usb_bytes, .lost = on_usb_lost};
    struct usb_open_error err;
    int error = usb_open_unit(u, &err);
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
    message_set(why, "capture unit '%s' cannot be started: %s", usb_info(u)->product_name,
                error == BT_ERR_UNSUPPORTED ? "it refuses this input (tpiu_width, swo_rate)"
                : error == BT_ERR_IO        ? "it does not answer; unplug it and plug it in again"
                                            : bt_strerror(error));
    usb_close(u);
    return error;
}

static int usb_wait_fd(void *self)
{
    (void)self;
    return -1;
}

static void usb_describe(void *self, char *text, size_t size)
{
    const struct usb_input *u = self;
    const struct usb_device_info *info = usb_info(u);
    bool serial = info->serial[0] != '\0';
    const char *protocol =
        u->orbtrace ? orbtrace_protocol_name(orbtrace_protocol(u->orbtrace)) : "";
    snprintf(text, size, "%s%s%s%s%s", info->product_name, serial ? ", serial " : "", info->serial,
             *protocol ? ", " : "", protocol);
}

static void usb_release(void *self)
{
    struct usb_input *u = self;
    orbflow_frames_free(u->orbflow);
    free(u);
}

static const struct trace_input_ops usb_ops = {
    .open = usb_open,
    .wait_fd = usb_wait_fd,
    .read = usb_read,
    .close = usb_close,
    .describe = usb_describe,
    .release = usb_release,
};

#define USB_MOST_BYTES (64u << 10) /* that an FTDI chip's stream delivers at once */

static int trace_input_usb(const struct config *config, struct trace_input *in, struct message *why)
{
    bool orbtrace = config->capture.type == CONFIG_CAPTURE_ORBTRACE;
    struct usb_input *u = calloc(1, sizeof *u);
    if (!u)
        return trace_input_no_memory(why);
    u->config = config;
    if (config->orbflow && !orbtrace && !(u->orbflow = orbflow_frames_new(USB_MOST_BYTES))) {
        free(u);
        return trace_input_no_memory(why);
    }
    *in = (struct trace_input){
        .ops = &usb_ops,
        .self = u,
        .required = true,
        .whole_frames =
            !orbtrace && config->formatted && config->mode == FORMATTER_ALIGNED && !config->orbflow,
        .gone = "the capture unit does not answer any more",
        .retry_ms = USB_RETRY_MS,
        .delay_ms = orbtrace          ? USB_UNITS_MS
                    : config->orbflow ? TRACE_READER_ORBFLOW_MS
                                      : 0,
    };
    return BT_OK;
}

int trace_input_make(const struct config *config, struct trace_input *in, struct message *why)
{
    *in = (struct trace_input){0};
    switch (config->capture.type) {
    case CONFIG_CAPTURE_NONE:
        return trace_input_socket(config, in, why);
    case CONFIG_CAPTURE_TTY:
        return trace_input_tty(config, in, why);
    default:
        return trace_input_usb(config, in, why);
    }
}
