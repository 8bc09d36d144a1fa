/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Live trace on its way to disk: a recording folder (drivers/snapshot_writer) that grows while it
 * is written, so that a crash or a kill at any byte leaves what was captured. The bytes are the
 * raw ones of the port, before the decoder and before anything is dropped for want of room.
 *
 * recorder_bytes() and recorder_lost() are for the capture thread; everything else for the event
 * loop. Writing to disk is done by the recorder's own thread: the capture never waits for a disk.
 *
 * Bytes that wait for the disk take at most RECORDER_MEMORY. What finds that full is dropped,
 * whole transfers at a time, and counted. Where bytes are missing the recording of a formatted
 * stream holds a mark that no trace source can send: who reads it loses frame alignment there and
 * finds it again at the next frame sync (format tpiu) or the next frame (format frames); it is a
 * gap, never a silent join. Raw trace has no such mark: there the packet decoder sees damage.
 */
#ifndef SERVER_RECORDER_H
#define SERVER_RECORDER_H

#include "decoder/program/code_image.h"
#include "server/capture/trace_pool.h"
#include "server/config/config.h"

#define RECORDER_MEMORY ((size_t)64 << 20)

struct recorder; /* private */

struct recorder_stats {
    uint64_t bytes;   /* on disk, with the marks */
    uint64_t waiting; /* bytes in memory */
    uint64_t dropped; /* bytes that found the memory full: the disk is too slow, or full */
    uint64_t drops;   /* places where bytes are missing, those of recorder_lost() included */
    int error;        /* first error of writing, or 0: nothing is written after it */
    char folder[600];
    char why[256]; /* the error in words, "" if none */
};

/*
 * Makes the folder `path`, or a new numbered one in it ("path/0001") if `path` exists, and
 * describes the board: cores, trace units with their registers, the program's segments as memory
 * dumps, the buffer with its format. `images`: code of each core of the board file, of which any
 * may be NULL or shared with another core; they are read during the call only. Code that depends
 * on a VMID or context ID is left out: the format cannot say so. Returns 0 or a bt_error with
 * *why filled.
 */
int recorder_start(const struct config *config, const char *path,
                   const struct code_image *const *images, struct recorder **out,
                   struct message *why);

/* Writes what waits, commits, ends the thread. The capture must have ended. NULL is allowed. 0 or
 * the first error. */
int recorder_stop(struct recorder *r);

/* Captured bytes, in order: `buffer` has them, and is held until they are on disk. Never blocks for
 * the disk. */
void recorder_bytes(struct recorder *r, struct trace_buffer *buffer, const uint8_t *data,
                    size_t len);

/* The capture lost bytes before the next ones; whole frames, if the format is frames. */
void recorder_lost(struct recorder *r);

/* Registers of a core in recordings: length of the buffer when its PC was read. */
#define RECORDER_BYTES "TRACE_BYTES"

/*
 * More of them, for what they are worth: where RECORDER_STATE_BYTES is RECORDER_BYTES, R0 to R12,
 * SP and LR are those of the halt, and so is memory from RECORDER_STACK on, RECORDER_STACK_BYTES
 * long. Other memory is that of the recording's begin.
 */
#define RECORDER_STATE_BYTES "STATE_BYTES"
#define RECORDER_STACK       "STACK_ADDRESS"
#define RECORDER_STACK_BYTES "STACK_BYTES"

/*
 * Registers of an ITM, RECORDER_COMPARATOR with a number behind: the address that a comparator of
 * the DWT watches, as a halt has found it; RECORDER_NO_ADDRESS: not the same all the time.
 */
#define RECORDER_COMPARATOR "DWT_COMP"
#define RECORDER_NO_ADDRESS UINT32_MAX

/* More of a core at a halt. */
#define RECORDER_STACK_MAX 4096u
struct recorder_state {
    uint32_t regs[15]; /* r0 to r14 */
    uint32_t stack;    /* address of the first byte of `memory` */
    uint32_t length;
    uint8_t memory[RECORDER_STACK_MAX]; /* around SP */
};

/*
 * A core's PC and PSR at a halt, for the one who replays, and (NULL: none) more of its state, which
 * is copied; written with the next commit, which comes within a second, together with the length of
 * the trace up to it (RECORDER_BYTES). Where that is not the length of the buffer, the recording
 * was cut off elsewhere and they say nothing.
 */
void recorder_halted(struct recorder *r, unsigned core, uint64_t pc, uint32_t psr,
                     const struct recorder_state *state);

/*
 * Registers of a core: RAM that its board file names, and what of it others write, too. A number
 * from 0 on is behind, and behind RECORDER_SIZE for the bytes.
 */
#define RECORDER_RAM    "RAM"
#define RECORDER_SHARED "SHARED"
#define RECORDER_SIZE   "_BYTES"

/*
 * What was known of a core at a halt, for who executes on from there: a device of this class, in
 * the order of the halts. Of its registers RECORDER_BYTES is the length of the trace that leads
 * there, RECORDER_KNOWN_CORE which of the recording's cores it is, the others are the caller's.
 * Its dumps are RAM, of which the first that has an address counts.
 */
#define RECORDER_KNOWN_CLASS "core_state"
#define RECORDER_KNOWN_CORE  "CORE"
#define RECORDER_KNOWN_MAX   128u               /* states, */
#define RECORDER_KNOWN_BYTES ((size_t)64 << 20) /* and bytes of RAM in all of them */

struct recorder_known_reg {
    char name[16];
    uint64_t value;
};

struct recorder_known_ram {
    uint64_t address;
    size_t length;
    const uint8_t *bytes;
};

struct recorder_known {
    const struct recorder_known_reg *regs;
    size_t reg_count;
    const struct recorder_known_ram *ram;
    size_t ram_count;
};

/*
 * Copied, and written as above: of the core's latest recorder_halted(), or of the time before any
 * trace. BT_OK, BT_ERR_NOMEM, or BT_ERR_RANGE: the recording has as much of that as it takes.
 */
int recorder_add_known(struct recorder *r, unsigned core, const struct recorder_known *k);

void recorder_stats(struct recorder *r, struct recorder_stats *stats);

#endif
