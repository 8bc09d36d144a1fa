/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a capture unit makes of the bytes of a trace port in continuous mode (IHI 0029E, trace
 * formatter): finds the frames by the full syncs, takes the syncs out, and, for units that do so,
 * takes the frames apart.
 */
#ifndef TESTS_USB_PORT_SAMPLER_H
#define TESTS_USB_PORT_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PORT_FRAME 16u

/* All zero: not aligned. Set frame and ctx; the rest is private. */
struct port_sampler {
    void (*frame)(void *ctx, const uint8_t frame[PORT_FRAME]);
    void *ctx;
    unsigned long unsynced; /* bytes in front of the first full sync, or behind lost alignment */
    unsigned long cut;      /* frames that ended before their time */
    bool aligned;
    bool half; /* FF FF were at a frame's start: FF 7F must follow */
    bool odd;  /* `even` waits for its other half */
    uint8_t even;
    uint32_t window; /* the latest four bytes, while not aligned */
    uint8_t part[PORT_FRAME];
    size_t fill;
};

void port_sampler_put(struct port_sampler *s, const uint8_t *bytes, size_t size);

/* Bytes are missing here: what comes next may be anything. */
void port_sampler_lost(struct port_sampler *s);

/* The bytes of a frame by their source, ID 0 included. `id` is the one that is current, and stays
 * the caller's. */
void port_deframe(uint8_t *id, const uint8_t frame[PORT_FRAME],
                  void (*put)(void *ctx, uint8_t id, const uint8_t *bytes, size_t size), void *ctx);

#endif
