/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_feed.h"

#include <string.h>

#define SECOND 1000000u

void trace_feed_start(struct trace_feed *f, uint64_t now)
{
    uint8_t old[4096];
    f->started = now;
    f->taken = f->skipped = 0;
    while (f->board && probe_board_pins(f->board, old, sizeof old) == sizeof old) {
    }
}

/* Bytes that the file has had the time to send. */
static uint64_t made(const struct trace_feed *f, uint64_t now)
{
    uint64_t all = f->times ? f->times * f->size : UINT64_MAX;
    uint64_t us = now - f->started;
    if (!f->rate)
        return all;
    uint64_t n = us / SECOND * f->rate + us % SECOND * f->rate / SECOND;
    return n < all ? n : all;
}

static size_t take_file(struct trace_feed *f, uint64_t now, uint8_t *bytes, size_t size)
{
    uint64_t waiting = f->size ? made(f, now) - f->taken : 0;
    size_t n = 0;
    if (size > waiting)
        size = (size_t)waiting;
    while (n < size) {
        size_t at = (size_t)(f->taken % f->size);
        size_t part = f->size - at < size - n ? f->size - at : size - n;
        memcpy(bytes + n, f->bytes + at, part);
        f->taken += part;
        n += part;
    }
    return n;
}

size_t trace_feed_take(struct trace_feed *f, uint64_t now, uint8_t *bytes, size_t size)
{
    if (f->started == 0)
        trace_feed_start(f, now);
    if (!f->board)
        return take_file(f, now, bytes, size);
    size_t n = probe_board_pins(f->board, bytes, size);
    f->taken += n;
    return n;
}

uint64_t trace_feed_waiting(const struct trace_feed *f, uint64_t now)
{
    return f->board || !f->rate || f->started == 0 ? 0 : made(f, now) - f->taken;
}

void trace_feed_skip(struct trace_feed *f, uint64_t size)
{
    f->taken += size;
    f->skipped += size;
}
