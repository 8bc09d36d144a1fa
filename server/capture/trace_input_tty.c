/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace from a serial device. */
#include "drivers/probe/serial_port.h"
#include "trace_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RETRY_MS 200

struct tty_input {
    const struct config_capture *capture;
    struct trace_reader reader;
    int fd; /* -1: closed */
};

static int open_input(void *self, const struct trace_input_sink *sink, struct message *why)
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

static int wait_fd(void *self)
{
    return ((struct tty_input *)self)->fd;
}

static int read_input(void *self)
{
    struct tty_input *t = self;
    return trace_reader_read(&t->reader, t->fd);
}

static void close_input(void *self)
{
    struct tty_input *t = self;
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

static void describe(void *self, char *text, size_t size)
{
    const struct tty_input *t = self;
    snprintf(text, size, "serial device %s at %u bits a second", t->capture->device,
             t->capture->baud);
}

static void release(void *self)
{
    struct tty_input *t = self;
    trace_reader_release(&t->reader);
    free(t);
}

static const struct trace_input_ops OPS = {
    .open = open_input,
    .wait_fd = wait_fd,
    .read = read_input,
    .close = close_input,
    .describe = describe,
    .release = release,
};

int trace_input_tty(const struct config *config, struct trace_input *in, struct message *why)
{
    struct tty_input *t = calloc(1, sizeof *t);
    message_set(why, "out of memory");
    if (!t)
        return BT_ERR_NOMEM;
    t->capture = &config->capture;
    t->fd = -1;
    if (trace_reader_init(&t->reader, config->orbflow)) {
        release(t);
        return BT_ERR_NOMEM;
    }
    *in = (struct trace_input){
        .ops = &OPS,
        .self = t,
        .required = true,
        .whole_frames = config->formatted && config->mode == FORMATTER_ALIGNED && !config->orbflow,
        .gone = "the serial device is gone",
        .retry_ms = RETRY_MS,
        .delay_ms = config->orbflow ? TRACE_READER_ORBFLOW_MS : 0,
    };
    return BT_OK;
}
