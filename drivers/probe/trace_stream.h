/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace stream: bytes of trace as they arrive from a probe. Implemented by capture drivers.
 *
 * All callbacks come from within start, poll and stop, in the order of the bytes: what was lost is
 * told between the bytes before and behind the loss.
 */
#ifndef DRIVERS_TRACE_STREAM_H
#define DRIVERS_TRACE_STREAM_H

#include "btrace/types.h"

struct trace_sink {
    void *user;
    /* `data` is valid during the call only; length is never 0. */
    void (*bytes)(void *user, const uint8_t *data, size_t length);
    /* Bytes are missing from here on, it is not known how many. */
    void (*lost)(void *user, enum bt_gap_cause cause);
};

struct trace_stream_ops {
    /* Begin to capture. The source must be silent until start has returned, or its first bytes
     * may be lost. */
    int (*start)(void *self, const struct trace_sink *sink);
    /* Deliver what is there, wait at most `timeout_ms` for more. */
    int (*poll)(void *self, unsigned timeout_ms);
    /* Deliver the rest and end. May be called again, and after a failure. */
    int (*stop)(void *self);
    /* NULL: a poll delivers all that the probe has. Otherwise it may hold some back: bytes that
     * have come since the start, and that will have come with what it held at the last poll. */
    void (*progress)(void *self, uint64_t *came, uint64_t *due);
};

/* Each function returns 0, or BT_ERR_IO (probe gone), BT_ERR_FORMAT (answer without sense),
 * BT_ERR_UNSUPPORTED, BT_ERR_INVAL (not started), BT_ERR_NOMEM. */
struct trace_stream {
    const struct trace_stream_ops *ops;
    void *self;
};

#endif
