/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define READ_SIZE (256u << 10)

int trace_reader_init(struct trace_reader *r, bool orbflow)
{
    *r = (struct trace_reader){.buffer = malloc(READ_SIZE)};
    if (orbflow)
        r->orbflow = orbflow_frames_new(READ_SIZE);
    return r->buffer && (r->orbflow || !orbflow) ? BT_OK : BT_ERR_NOMEM;
}

void trace_reader_release(struct trace_reader *r)
{
    free(r->buffer);
    orbflow_frames_free(r->orbflow);
    *r = (struct trace_reader){0};
}

void trace_reader_start(struct trace_reader *r, const struct trace_input_sink *sink)
{
    r->sink = sink;
    if (r->orbflow)
        orbflow_frames_restart(r->orbflow);
}

int trace_reader_read(struct trace_reader *r, int fd)
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
