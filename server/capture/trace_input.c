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

#define FD_RETRY_MS  200
#define USB_RETRY_MS 300 /* a look at all USB devices */
/* Frames of ORBTrace's first protocol wait for a keep-alive, ten a second. */
#define USB_UNITS_MS 130u
/* How long ORBFLOW holds back what is not a full packet. */
#define ORBFLOW_MS 110u

/* Trace from a file descriptor: a stream socket that the source connects to, or that we do, or a
 * serial device. */
struct fd_stream {
    const struct config *config;
    struct trace_sink sink;
    int listener;       /* -1 if we connect */
    int fd;             /* -1: closed */
    struct message why; /* the last start failed */
};

static bool fd_stream_is_tty(const struct fd_stream *s)
{
    return s->config->capture.type == CONFIG_CAPTURE_TTY;
}

static int fd_stream_open(struct fd_stream *s)
{
    const struct config_capture *c = &s->config->capture;
    char where[300];
    if (fd_stream_is_tty(s))
        return serial_port_open(c->device, c->baud, &s->why);
    int fd = s->listener >= 0 ? stream_socket_accept(s->listener)
                              : stream_socket_connect(&s->config->trace);
    if (fd >= 0)
        return fd;
    int reason = errno;
    address_format(&s->config->trace, where, sizeof where);
    return message_fail(&s->why, BT_ERR_IO, "no source at %s: %s", where, strerror(reason));
}

static int fd_stream_start(void *self, const struct trace_sink *sink)
{
    struct fd_stream *s = self;
    int fd = fd_stream_open(s);
    if (fd < 0)
        return fd;
    s->fd = fd;
    s->sink = *sink;
    return BT_OK;
}

static int fd_stream_wait_fd(void *self)
{
    const struct fd_stream *s = self;
    return s->fd >= 0 ? s->fd : s->listener;
}

static int fd_stream_poll(void *self, unsigned timeout_ms)
{
    const struct fd_stream *s = self;
    const struct trace_sink *sink = &s->sink;
    size_t size;
    uint8_t *room = sink->room(sink->user, TRACE_ROOM, &size);
    ssize_t n = read(s->fd, room, size);
    (void)timeout_ms; /* there is something to read */
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return BT_OK;
    if (n <= 0)
        return BT_ERR_IO;
    sink->bytes(sink->user, room, (size_t)n);
    return BT_OK;
}

static int fd_stream_stop(void *self)
{
    struct fd_stream *s = self;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    return BT_OK;
}

static void fd_stream_describe(void *self, char *text, size_t size)
{
    const struct fd_stream *s = self;
    if (s->fd < 0)
        snprintf(text, size, "%s", s->why.text);
    else if (fd_stream_is_tty(s))
        snprintf(text, size, "serial device %s at %u bits a second", s->config->capture.device,
                 s->config->capture.baud);
    else
        snprintf(text, size, "the source is connected");
}

static void fd_stream_release(void *self)
{
    struct fd_stream *s = self;
    if (s->listener >= 0)
        close(s->listener);
    free(s);
}

static int trace_input_fd(const struct config *config, struct trace_input *in, struct message *why)
{
    static const struct trace_stream_ops OPS = {
        .start = fd_stream_start,
        .wait_fd = fd_stream_wait_fd,
        .poll = fd_stream_poll,
        .stop = fd_stream_stop,
        .describe = fd_stream_describe,
        .release = fd_stream_release,
    };
    struct fd_stream *s = calloc(1, sizeof *s);
    char where[300];
    if (!s)
        return BT_ERR_NOMEM;
    s->config = config;
    s->listener = s->fd = -1;
    in->stream = (struct trace_stream){.ops = &OPS, .self = s};
    in->retry_ms = FD_RETRY_MS;
    in->required = fd_stream_is_tty(s);
    in->gone = in->required ? "the serial device is gone" : "the source has closed the connection";
    if (in->required)
        return BT_OK;
    address_format(&config->trace, where, sizeof where);
    snprintf(in->absent, sizeof in->absent, "no source yet at %s", where);
    if (!config->trace_listens || (s->listener = stream_socket_listen(&config->trace)) >= 0)
        return BT_OK;
    message_set(why, "cannot listen for trace on %s: %s", where, strerror(errno));
    return BT_ERR_IO;
}

static enum orbtrace_input orbtrace_pins(const struct config *c)
{
    if (config_captures_swo(c))
        return ORBTRACE_NRZ_FRAMES;
    return c->tpiu_width == 1   ? ORBTRACE_PARALLEL_1
           : c->tpiu_width == 2 ? ORBTRACE_PARALLEL_2
                                : ORBTRACE_PARALLEL_4;
}

static int trace_input_usb(const struct config *config, struct trace_input *in)
{
    const struct config_capture *c = &config->capture;
    const struct usb_probe_filter filter = {.serial = c->serial,
                                            .path = c->usb.path,
                                            .vendor = c->usb.vendor,
                                            .product = c->usb.product};
    bool uart = c->type == CONFIG_CAPTURE_FTDI_UART;
    const struct ftdi_capture_options options = {
        .mode = uart ? FTDI_CAPTURE_UART : FTDI_CAPTURE_FIFO,
        .channel = uart ? c->channel : 0,
        .baud = c->baud,
    };
    in->required = true;
    in->gone = "the capture unit does not answer any more";
    in->retry_ms = USB_RETRY_MS;
    if (c->type == CONFIG_CAPTURE_ORBTRACE)
        return orbtrace_stream(&filter, orbtrace_pins(config), config->swo_rate, &in->stream);
    return ftdi_capture_stream(&filter, &options, &in->stream);
}

int trace_input_make(const struct config *config, struct trace_input *in, struct message *why)
{
    bool orbtrace = config->capture.type == CONFIG_CAPTURE_ORBTRACE;
    bool on_fd =
        config->capture.type == CONFIG_CAPTURE_NONE || config->capture.type == CONFIG_CAPTURE_TTY;
    bool orbflow = config->orbflow && !orbtrace; /* which makes frames of it itself */
    *in = (struct trace_input){
        .whole_frames =
            !orbtrace && !orbflow && config->formatted && config->mode == FORMATTER_ALIGNED,
        .delay_ms = orbtrace  ? USB_UNITS_MS
                    : orbflow ? ORBFLOW_MS
                              : 0,
    };
    int error = on_fd ? trace_input_fd(config, in, why) : trace_input_usb(config, in);
    if (!error && orbflow && !(in->orbflow = orbflow_frames_new()))
        error = BT_ERR_NOMEM;
    if (error == BT_ERR_NOMEM)
        message_set(why, "out of memory");
    return error;
}

void trace_input_release(struct trace_input *in)
{
    if (in->stream.ops)
        in->stream.ops->release(in->stream.self);
    orbflow_frames_free(in->orbflow);
}
