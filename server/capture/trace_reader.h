/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace from a file descriptor: reading, and what makes frames of ORBFLOW. */
#ifndef SERVER_TRACE_READER_H
#define SERVER_TRACE_READER_H

#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "trace_input.h"

/* Private. */
struct trace_reader {
    uint8_t *buffer;
    struct orbflow_frames *orbflow; /* NULL: bytes are passed on as they are */
    const struct trace_input_sink *sink;
};

/* 0 or BT_ERR_NOMEM. */
int trace_reader_init(struct trace_reader *r, bool orbflow);
void trace_reader_release(struct trace_reader *r);

/* A new source at the other end. */
void trace_reader_start(struct trace_reader *r, const struct trace_input_sink *sink);

/* Reads once; 0 (perhaps nothing was there), or BT_ERR_IO at the end. */
int trace_reader_read(struct trace_reader *r, int fd);

/* How long ORBFLOW holds back what is not a full packet. */
#define TRACE_READER_ORBFLOW_MS 110u

#endif
