/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the logic beside a synchronous FIFO sends: bytes at a rate (probes digest, section 6). It
 * has memory enough: nothing is lost when the host is slow.
 */
#ifndef TESTS_USB_FTDI_SOURCE_H
#define TESTS_USB_FTDI_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* Set bytes, size and rate (bytes a second; 0: as fast as they are taken); the rest is private. */
struct ftdi_source {
    const uint8_t *bytes;
    size_t size;
    uint64_t rate;
    size_t at;
    uint64_t started; /* microseconds; 0: not yet */
};

/* Up to `size` of the bytes that are there at `now`, microseconds; time begins with the first call.
 */
size_t ftdi_source_take(struct ftdi_source *s, uint64_t now, uint8_t *bytes, size_t size);

#endif
