/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Live trace on its way to disk: a recording folder (drivers/snapshot_writer) that grows while it
 * is written, so that a crash or a kill at any byte leaves what was captured. The bytes are the
 * raw ones of the port, before the decoder and before anything is dropped for want of room.
 *
 * recorder_bytes() is for the capture thread; everything else for the event loop. Writing to disk
 * is done by the recorder's own thread: the capture never waits for a disk.
 */
#ifndef SERVER_RECORDER_H
#define SERVER_RECORDER_H

#include "server/config.h"

struct recorder; /* private */

struct recorder_stats {
    uint64_t bytes;   /* on disk */
    uint64_t waiting; /* bytes in memory */
    uint64_t dropped; /* bytes that found the memory full: the disk is too slow, or full */
    int error;        /* first error of writing, or 0 */
    char folder[600];
};

/*
 * Makes the folder `path`, or a new numbered one in it ("path/0001") if `path` exists, and
 * describes the board: cores, trace units with their registers, the program's segments as memory
 * dumps, the buffer with its format. `images`: code of each core of the board file. Returns 0 or a
 * bt_error with *why filled.
 */
int recorder_start(const struct config *config, const char *path,
                   const struct code_image *const *images, struct recorder **out,
                   struct message *why);

/* Writes what waits, commits, ends the thread. NULL is allowed. 0 or the first error. */
int recorder_stop(struct recorder *r);

/* Captured bytes, in order. Copies them; never blocks for the disk. */
void recorder_bytes(struct recorder *r, const uint8_t *data, size_t len);

/* A core's PC and PSR at a halt, for the one who replays; written with the next commit. */
void recorder_halted(struct recorder *r, unsigned core, uint64_t pc, uint32_t psr);

void recorder_stats(struct recorder *r, struct recorder_stats *stats);

#endif
