/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/usb/ftdi_source.h"

#include <string.h>

size_t ftdi_source_take(struct ftdi_source *s, uint64_t now, uint8_t *bytes, size_t size)
{
    size_t there = s->size;
    if (s->started == 0)
        s->started = now;
    if (s->rate) {
        uint64_t made = (now - s->started) * s->rate / 1000000;
        there = made < s->size ? (size_t)made : s->size;
    }
    size_t n = there - s->at < size ? there - s->at : size;
    memcpy(bytes, s->bytes + s->at, n);
    s->at += n;
    return n;
}
