/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growable byte buffer and a small deterministic random source, shared by the trace unit and
 * formatter models.
 */
#ifndef DRIVERS_VIRTUAL_TRACE_BYTES_H
#define DRIVERS_VIRTUAL_TRACE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* All zero is a valid empty buffer. The owner calls trace_bytes_release(). */
struct trace_bytes {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

/* Appends `size` bytes. 0, or BT_ERR_NOMEM with the buffer unchanged. */
int trace_bytes_append(struct trace_bytes *b, const void *bytes, size_t size);

/* Frees the memory and leaves an empty buffer. */
void trace_bytes_release(struct trace_bytes *b);

/* Any start value is fine: the sequence depends on nothing else. */
struct trace_random {
    uint64_t state;
};

uint64_t trace_random_next(struct trace_random *r);

/* Uniform enough for tests: 0 .. limit - 1; 0 when limit is 0. */
uint32_t trace_random_below(struct trace_random *r, uint32_t limit);

/* 1 with a chance of `percent` in 100. Draws nothing for 0. */
int trace_random_percent(struct trace_random *r, unsigned percent);

#endif
