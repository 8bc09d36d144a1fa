/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of Zstandard frames (RFC 8878) that are read by place, without unpacking them: each frame
 * is compressed by itself, and the table of the seekable format (version 0.1.0), if the file ends
 * with it, says where each lies. Without a table (the writer was cut off, or is another
 * program) the headers of all frames are gone through; what follows the last whole frame is left
 * out.
 *
 * The contents have an address range of their own, of which only those frames take memory that are
 * looked at: at most ZSTD_FRAMES_KEPT, and those of the range that was asked for last.
 * A struct zstd_frames is for one thread at a time.
 */
#ifndef DRIVERS_ZSTD_FRAMES_H
#define DRIVERS_ZSTD_FRAMES_H

#include "btrace/types.h"

#define ZSTD_FRAME_MAX   (8u << 20) /* bytes of one frame's contents */
#define ZSTD_FRAMES_KEPT 16u

struct zstd_frames; /* private */

/*
 * The file behind `fd`, which is the caller's for the time of this call and closed by
 * zstd_frames_close(), of `size` bytes. Return:
 *   0                   *out is to be closed
 *   BT_ERR_FORMAT       it does not begin with a frame, or its table contradicts itself
 *   BT_ERR_UNSUPPORTED  a frame does not say how long its contents are, or they are longer than
 *                       ZSTD_FRAME_MAX
 *   BT_ERR_IO, BT_ERR_NOMEM
 * On error `fd` is closed, and *out is NULL.
 */
int zstd_frames_open(int fd, uint64_t size, struct zstd_frames **out);
void zstd_frames_close(struct zstd_frames *f); /* NULL is allowed */

/* Bytes of the contents. */
uint64_t zstd_frames_size(const struct zstd_frames *f);

/* Where the contents are, or will be: NULL without any, or (BT_ERR_NOMEM) without room for them. */
int zstd_frames_map(struct zstd_frames *f, const uint8_t **data);

/*
 * After zstd_frames_map(): bytes [from, to) of the contents, to <= size, may be read until the next
 * call. BT_ERR_FORMAT: a frame is damaged; BT_ERR_IO; BT_ERR_NOMEM.
 */
int zstd_frames_need(struct zstd_frames *f, uint64_t from, uint64_t to);

#endif
