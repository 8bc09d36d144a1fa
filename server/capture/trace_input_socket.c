/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace from a stream socket that the source connects to, or that we do. */
#include "server/net/stream_socket.h"
#include "trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_MS 200

struct socket_input {
    const struct config *config;
    struct trace_reader reader;
    int listener; /* -1 if we connect */
    int fd;       /* -1: not connected */
};

static int open_input(void *self, const struct trace_input_sink *sink, struct message *why)
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

static int wait_fd(void *self)
{
    const struct socket_input *s = self;
    return s->fd >= 0 ? s->fd : s->listener;
}

static int read_input(void *self)
{
    struct socket_input *s = self;
    return trace_reader_read(&s->reader, s->fd);
}

static void close_input(void *self)
{
    struct socket_input *s = self;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void describe(void *self, char *text, size_t size)
{
    (void)self;
    snprintf(text, size, "the source is connected");
}

static void release(void *self)
{
    struct socket_input *s = self;
    if (s->listener >= 0)
        close(s->listener);
    trace_reader_release(&s->reader);
    free(s);
}

static const struct trace_input_ops OPS = {
    .open = open_input,
    .wait_fd = wait_fd,
    .read = read_input,
    .close = close_input,
    .describe = describe,
    .release = release,
};

int trace_input_socket(const struct config *config, struct trace_input *in, struct message *why)
{
    char where[300];
    struct socket_input *s = calloc(1, sizeof *s);
    message_set(why, "out of memory");
    if (!s)
        return BT_ERR_NOMEM;
    s->config = config;
    s->listener = s->fd = -1;
    int error = trace_reader_init(&s->reader, config->orbflow);
    address_format(&config->trace, where, sizeof where);
    if (!error && config->trace_listens) {
        s->listener = stream_socket_listen(&config->trace);
        if (s->listener < 0) {
            message_set(why, "cannot listen for trace on %s: %s", where, strerror(errno));
            error = BT_ERR_IO;
        }
    }
    if (error) {
        release(s);
        return error;
    }
    *in = (struct trace_input){
        .ops = &OPS,
        .self = s,
        .whole_frames = config->formatted && config->mode == FORMATTER_ALIGNED && !config->orbflow,
        .gone = "the source has closed the connection",
        .retry_ms = RETRY_MS,
        .delay_ms = config->orbflow ? TRACE_READER_ORBFLOW_MS : 0,
    };
    snprintf(in->absent, sizeof in->absent, "no source yet at %s", where);
    return BT_OK;
}
