/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing recordings: a folder in the CoreSight trace snapshot format, version 1.0, that
 * snapshot_open(), OpenCSD's snapshot reader and ARM's tools open.
 *
 * Order of use: create; describe devices, buffers, sources; commit; then append trace as it comes.
 * Dumps, registers and further commits may come at any time, before and during the capture.
 *
 * After the first commit the folder is a valid recording at every moment: ini files are replaced
 * whole (written beside, synced, renamed), and trace bytes go straight to the end of the buffer's
 * file, so what a crash cuts off is readable up to the last whole byte.
 *
 * What snapshot_open() would refuse for its number (devices, buffers, dumps, registers) is refused
 * here, with BT_ERR_RANGE.
 *
 * A writer belongs to one thread. File names are made by the writer ("device_0.ini",
 * "buffer_0.bin", "dump_0.bin"); names of devices and buffers are the caller's.
 * A name is 1 to 63 characters, printable, without any of = ; # [ ] ( ) , " ' / \ and without
 * blanks at either end.
 */
#ifndef DRIVERS_SNAPSHOT_WRITER_H
#define DRIVERS_SNAPSHOT_WRITER_H

#include "btrace/types.h"

struct snapshot_writer;

/* Description of one device. Strings are copied. */
struct snapshot_writer_device {
    const char *name;       /* "cpu_0", "PTM_0" */
    const char *class_name; /* "core" or "trace_source" */
    const char *type; /* core: "Cortex-A9"; source: "PTM1.1", "ETM3.5", "ETM4", "STM", "ITM" */
};

/* For a register without an index in the ini file. */
#define SNAPSHOT_WRITER_NO_INDEX UINT32_MAX

/*
 * Make folder `path` (its parent must exist; an existing folder must be empty).
 * `description` goes into [snapshot] if it is not NULL; control characters, ; and # become blanks.
 * Return 0, BT_ERR_IO (errno says why; EEXIST or ENOTEMPTY: something is there already),
 * BT_ERR_NOMEM.
 */
int snapshot_writer_create(const char *path, const char *description, struct snapshot_writer **out);

/*
 * Each returns the new item's number (0, 1, ...) or BT_ERR_INVAL (bad or doubled name, bad index),
 * BT_ERR_NOMEM. Nothing is written before the next commit.
 */
int snapshot_writer_add_device(struct snapshot_writer *w, const struct snapshot_writer_device *dev);

/* `format`: "coresight" (frames), "source_data" (one source, no frames) or "dstream_coresight"
 * (frames with frame syncs). */
int snapshot_writer_add_buffer(struct snapshot_writer *w, const char *name, const char *format);

/* The buffer's file is written compressed, and named for that. BT_ERR_INVAL: no such buffer, or it
 * was committed. */
int snapshot_writer_compress(struct snapshot_writer *w, int buffer);

/*
 * Trace of device `source` goes into `buffer`, and traces device `core` (-1: no core, as for STM
 * and ITM). A source has one buffer, a core may have several sources.
 * Return 0, BT_ERR_INVAL (no such device or buffer,
 * source already has one), BT_ERR_NOMEM. */
int snapshot_writer_add_source(struct snapshot_writer *w, int source, int buffer, int core);

/*
 * Set a register of a device: NAME(0x080)=value, or NAME=value with SNAPSHOT_WRITER_NO_INDEX, or
 * NAME(size:64)=value if `bits` is 64. A register of the same name is replaced.
 * `bits` is 32 or 64; a 64-bit register with an index is written without the index.
 * Return 0, BT_ERR_INVAL, BT_ERR_NOMEM.
 */
int snapshot_writer_set_reg(struct snapshot_writer *w, int device, const char *name, uint32_t index,
                            unsigned bits, uint64_t value);

/*
 * Write `length` bytes of memory at `address` to a dump file of the device. The file is written
 * and synced now, and named in the device's ini file at the next commit.
 * `space` is "" or NULL for any, or as in struct snapshot_dump ("S", "N", "EL1N"...).
 * Return 0, BT_ERR_INVAL (no such device, length 0,
 * end beyond 2^64), BT_ERR_IO, BT_ERR_NOMEM. */
int snapshot_writer_add_dump(struct snapshot_writer *w, int device, uint64_t address,
                             const char *space, const void *data, size_t length);

/*
 * The newest of the device's dumps, whose file must be no other device's, has other bytes, at
 * another address maybe. As above; BT_ERR_INVAL, too, if there is none.
 */
int snapshot_writer_replace_dump(struct snapshot_writer *w, int device, uint64_t address,
                                 const void *data, size_t length);

/* As snapshot_writer_add_dump(), but of a device that shares another one's memory: refers to the
 * newest dump file. */
int snapshot_writer_share_dump(struct snapshot_writer *w, int device);

/*
 * Bring the ini files up to date: devices first, snapshot.ini last. Makes missing buffer files.
 * Return 0, BT_ERR_INVAL (no device yet), or BT_ERR_IO (errno says why; the files are as they
 * were, or newer one by one).
 */
int snapshot_writer_commit(struct snapshot_writer *w);

/*
 * Append trace bytes to a buffer. Needs a commit since the buffer was added.
 * Return:
 *   0             all bytes are with the operating system; those of a compressed buffer from the
 *                 next commit on, or when a frame (ZSTD_WRITER_FRAME) is full
 *   BT_ERR_IO     some may be missing (disk full...); snapshot_writer_size() counts what is there
 *   BT_ERR_INVAL  no such buffer, or it was not committed
 */
int snapshot_writer_append(struct snapshot_writer *w, int buffer, const void *data, size_t length);

/* Bytes appended to a buffer so far; 0 if there is no such buffer. */
uint64_t snapshot_writer_size(const struct snapshot_writer *w, int buffer);

/* Commit what is not committed, sync, free. NULL is allowed. Return 0 or BT_ERR_IO; the writer is
 * gone in both cases. */
int snapshot_writer_close(struct snapshot_writer *w);

#endif
