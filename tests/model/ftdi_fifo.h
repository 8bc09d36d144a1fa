/* SPDX-License-Identifier: BSD-3-Clause */
/* One of the buffers of an FTDI channel. */
#ifndef TESTS_USB_FTDI_FIFO_H
#define TESTS_USB_FTDI_FIFO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FTDI_FIFO_SIZE 4096u /* of an FT2232H, which has the largest */

/* All zero: empty. */
struct ftdi_fifo {
    uint8_t bytes[FTDI_FIFO_SIZE];
    size_t first, count;
    size_t missing; /* bytes of a smaller chip's that there are not */
};

static inline size_t ftdi_fifo_room(const struct ftdi_fifo *f)
{
    return FTDI_FIFO_SIZE - f->missing - f->count;
}

/* There must be room. */
static inline void ftdi_fifo_put(struct ftdi_fifo *f, uint8_t byte)
{
    f->bytes[(f->first + f->count++) % FTDI_FIFO_SIZE] = byte;
}

/* It must not be empty. */
static inline uint8_t ftdi_fifo_get(struct ftdi_fifo *f)
{
    uint8_t byte = f->bytes[f->first];
    f->first = (f->first + 1) % FTDI_FIFO_SIZE;
    f->count--;
    return byte;
}

/* As many of the bytes as there is room for; how many. */
static inline size_t ftdi_fifo_write(struct ftdi_fifo *f, const uint8_t *bytes, size_t size)
{
    size_t at = (f->first + f->count) % FTDI_FIFO_SIZE;
    size_t n = size < ftdi_fifo_room(f) ? size : ftdi_fifo_room(f);
    size_t part = n < FTDI_FIFO_SIZE - at ? n : FTDI_FIFO_SIZE - at;
    if (n == 0)
        return 0;
    memcpy(f->bytes + at, bytes, part);
    memcpy(f->bytes, bytes + part, n - part);
    f->count += n;
    return n;
}

/* `size` bytes that must be there. */
static inline void ftdi_fifo_read(struct ftdi_fifo *f, uint8_t *bytes, size_t size)
{
    size_t part = size < FTDI_FIFO_SIZE - f->first ? size : FTDI_FIFO_SIZE - f->first;
    memcpy(bytes, f->bytes + f->first, part);
    memcpy(bytes + part, f->bytes, size - part);
    f->first = (f->first + size) % FTDI_FIFO_SIZE;
    f->count -= size;
}

#endif
