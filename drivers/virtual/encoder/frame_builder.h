/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of a CoreSight formatter: (trace ID, byte) pairs in, 16-byte frames out, memory aligned or
 * with the sync words of a TPIU in continuous mode.
 */
#ifndef DRIVERS_VIRTUAL_FRAME_BUILDER_H
#define DRIVERS_VIRTUAL_FRAME_BUILDER_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

#define FRAME_ID_NULL    0x00
#define FRAME_ID_TRIGGER 0x7d
#define FRAME_ID_MAX     0x7e

/* All zero: memory aligned frames as an ETB stores them, nothing random. */
struct frame_options {
    uint64_t seed;
    unsigned full_sync_period;  /* frames between full syncs, one before the first; 0: none */
    unsigned full_sync_percent; /* chance of a full sync in front of a frame */
    unsigned half_sync_percent; /* chance of a half sync in front of each byte pair */
    unsigned repeat_id_period;  /* frames of one source after which its ID is repeated; 0: never */
    bool no_delayed;            /* no delayed ID changes: the old ID is repeated in their place */
};

/* Fields are private. No memory of its own: nothing to release. */
struct frame_builder {
    struct frame_options options;
    struct trace_random random;
    struct trace_bytes *out;
    uint8_t frame[16];
    unsigned slot;          /* next free slot, 0..14; 15: complete */
    uint8_t half_before[9]; /* half syncs in front of pair k; [8]: of the next frame */
    bool full_before;
    bool have_pending;
    uint8_t pending_id;
    uint8_t pending_byte;
    uint8_t current_id;
    uint64_t frames;
    unsigned since_sync; /* frames */
    unsigned since_id;   /* frames */
};

/* Appends to `out`, which the caller owns and keeps. */
void frame_builder_init(struct frame_builder *b, const struct frame_options *o,
                        struct trace_bytes *out);

/*
 * One byte of source `id`, 0..FRAME_ID_MAX (0 is padding). The builder looks one byte ahead, so
 * output lags. 0, BT_ERR_INVAL (id), BT_ERR_NOMEM.
 */
int frame_builder_put(struct frame_builder *b, uint8_t id, uint8_t byte);
int frame_builder_write(struct frame_builder *b, uint8_t id, const uint8_t *bytes, size_t size);

/* Embedded trigger marker: one zero byte of ID 0x7D at this position. */
int frame_builder_trigger(struct frame_builder *b);

/* Completes the current frame with null bytes. Does nothing right after a complete frame. */
int frame_builder_flush(struct frame_builder *b);

/* Full sync in front of the next frame; half sync at the next 16-bit boundary. */
void frame_builder_full_sync(struct frame_builder *b);
void frame_builder_half_sync(struct frame_builder *b);

/* Writes a full (4 bytes) or half (2 bytes) sync word now; only between frames (BT_ERR_INVAL). */
int frame_builder_idle(struct frame_builder *b, bool full);

/* Complete frames written so far. */
uint64_t frame_builder_frames(const struct frame_builder *b);

#endif
