/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace stream: bytes of trace as they arrive from a probe, a capture unit, a socket, a serial
 * device, an endpoint of USB. A new source is a set of these operations.
 *
 * All callbacks come from within start, poll and stop, and from within operations on a pipe of the
 * same device, in the order of the bytes: what was lost is told between the bytes before and behind
 * the loss. One thread at a time.
 */
#ifndef DRIVERS_TRACE_STREAM_H
#define DRIVERS_TRACE_STREAM_H

#include "btrace/types.h"

#define TRACE_ROOM       ((size_t)64 << 10)
#define TRACE_ROOM_SPARE 16u /* for who puts the rest of a frame in front */

struct trace_sink {
    void *user;
    /* `data` is valid during the call only, and copied unless it is what room() gave last; length
     * is never 0. */
    void (*bytes)(void *user, const uint8_t *data, size_t length);
    /* Bytes are missing from here on, it is not known how many. */
    void (*lost)(void *user, enum bt_gap_cause cause);
    /* Where the next bytes are best put: `least` (at most TRACE_ROOM +
     * TRACE_ROOM_SPARE) or more, *size. Never NULL;
     * theirs until the sink is called again. A sink of bytes that wait in the driver anyway (SWO,
     * trace buffers, transfers of USB) needs no such function. */
    uint8_t *(*room)(void *user, size_t least, size_t *size);
};

/* Those that may be NULL say so. */
struct trace_stream_ops {
    /* Begin to capture, and open what has to be open for that; `sink` is copied. A source in our
     * hands must be silent until start has returned, or its first bytes may be lost. */
    int (*start)(void *self, const struct trace_sink *sink);
    /* What becomes readable when a start, or a poll, has something to do; -1 or NULL: nothing can
     * be waited for, and poll waits itself. */
    int (*wait_fd)(void *self);
    /* Deliver what is there, wait at most `timeout_ms` for more. */
    int (*poll)(void *self, unsigned timeout_ms);
    /* Deliver the rest, end, close what start has opened. May be called again, and after a
     * failure. */
    int (*stop)(void *self);
    /* Bytes as the source counts them that have come since the start. `due` is more if the probe
     * holds some back: those will have come with what it held at the last poll. NULL: a poll
     * delivers all that there is. */
    void (*progress)(void *self, uint64_t *came, uint64_t *due);
    /* What it captures from, in words; after a start that failed: why, lower case, without full
     * stop. May be NULL. */
    void (*describe)(void *self, char *text, size_t size);
    /* Stopped; frees it. NULL: it belongs to a device. */
    void (*release)(void *self);
};

/* Each function returns 0, or BT_ERR_IO (probe gone), BT_ERR_FORMAT (answer without sense),
 * BT_ERR_UNSUPPORTED, BT_ERR_RANGE (no such device), BT_ERR_INVAL (not started), BT_ERR_NOMEM. */
struct trace_stream {
    const struct trace_stream_ops *ops;
    void *self;
};

#endif
