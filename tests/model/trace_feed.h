/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a trace port sends: the bytes of a file at a rate, once or again and again, or what a board
 * has on its pins.
 */
#ifndef TESTS_USB_TRACE_FEED_H
#define TESTS_USB_TRACE_FEED_H

#include "probe_board.h"

/* Set the first group, or board; the rest is private, but for taken and skipped. */
struct trace_feed {
    const uint8_t *bytes; /* of the file */
    size_t size;
    uint64_t rate;  /* bytes a second; 0: as fast as they are taken */
    uint64_t times; /* the file is sent; 0: without end */

    struct probe_board *board; /* else NULL */

    uint64_t started; /* microseconds; 0: not yet */
    uint64_t taken, skipped;
};

/* Time begins now: nothing before it is there to be taken. */
void trace_feed_start(struct trace_feed *f, uint64_t now);

/*
 * Up to `size` of the bytes that were sent until `now`, microseconds; time begins with the first
 * call if it has not.
 */
size_t trace_feed_take(struct trace_feed *f, uint64_t now, uint8_t *bytes, size_t size);

/* Bytes that were sent until `now` and not taken; of a file with a rate, else 0. */
uint64_t trace_feed_waiting(const struct trace_feed *f, uint64_t now);

/* Throws `size` of them away. */
void trace_feed_skip(struct trace_feed *f, uint64_t size);

#endif
