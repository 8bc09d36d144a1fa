/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing files that zstd_frames.h reads by place, and `zstd -d` as any other: frames of
 * ZSTD_WRITER_FRAME bytes, each with its length and a checksum, and at the end the table of the
 * seekable format. Without its end (a crash) the file has all whole frames.
 */
#ifndef DRIVERS_ZSTD_WRITER_H
#define DRIVERS_ZSTD_WRITER_H

#include "btrace/types.h"

#define ZSTD_WRITER_FRAME (256u << 10)

struct zstd_writer; /* private */

/* `fd` below is one file, empty at first, the caller's. NULL: no memory (errno says so). */
struct zstd_writer *zstd_writer_new(void);

/* The next bytes: kept until a frame is full. 0 or BT_ERR_IO. */
int zstd_writer_append(struct zstd_writer *w, int fd, const void *data, size_t length);

/* What is kept becomes a frame: all bytes so far are with the operating system. 0 or BT_ERR_IO. */
int zstd_writer_flush(struct zstd_writer *w, int fd);

/* Flushes and writes the table. NULL is allowed. 0 or BT_ERR_IO; the writer is gone in both cases.
 */
int zstd_writer_close(struct zstd_writer *w, int fd);

#endif
