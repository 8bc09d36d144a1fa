/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes of several trace sources put into CoreSight frames: for a probe that takes them apart
 * itself, so that all behind it, and a recording, has one form of trace. Frames come whole, without
 * syncs, and what is put in between two flushes begins with its ID.
 * IHI 0029E, trace formatter.
 */
#ifndef DRIVERS_FRAME_PACKER_H
#define DRIVERS_FRAME_PACKER_H

#include "btrace/types.h"

#define FRAME_PACKER_FRAME 16u
/* Bytes that a put of `n` bytes, or a flush (n = 0), may write. */
#define FRAME_PACKER_ROOM(n) ((n) + (n) / 15 + 3 * FRAME_PACKER_FRAME)

/* Private. */
struct frame_packer {
    uint8_t frame[FRAME_PACKER_FRAME];
    unsigned slot; /* next free one, 0 to 14 */
    uint8_t id;    /* of the byte that comes next, or none */
};

void frame_packer_init(struct frame_packer *p);

/* `length` bytes of source `id` (1 to 0x7e). Returns the number of bytes written to `out`: whole
 * frames; the rest waits for more. */
size_t frame_packer_put(struct frame_packer *p, uint8_t id, const uint8_t *data, size_t length,
                        uint8_t *out);

/* Completes the frame with null bytes, if one is begun. Returns the number of bytes written. */
size_t frame_packer_flush(struct frame_packer *p, uint8_t *out);

#endif
