/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding a long stream with several threads, joined exactly: each thread takes a piece, starts
 * at the first synchronisation in it, and notes its state at a few places. The caller's thread
 * follows the pieces in order: it decodes the head of a piece itself, from the true state, until
 * that equals what the other thread had at the same place; the rest is then taken over.
 *
 * Threads: the pieces belong to the caller, but for the time between submit and done, when they
 * belong to one worker. The program image is only read while a decode runs.
 */
#ifndef SERVER_PARALLEL_H
#define SERVER_PARALLEL_H

#include "decoder/stream/stream_join.h"

struct parallel; /* private */

struct parallel_options {
    unsigned threads;   /* workers beside the caller's thread */
    size_t piece_bytes; /* 0: 1 MiB; else 1024 or more */
    bool want_blocks;   /* false: only events are handed over, blocks are counted alone */
    uint64_t *joined;   /* optional: counts pieces whose end was taken from a worker */
};

/*
 * `exact` is the caller's stream, at the beginning, and `sink` where all output goes, in order (its
 * flush gets larger arrays than its own). NULL: no memory,
 * or the stream cannot be joined. */
struct parallel *parallel_new(const struct parallel_options *options,
                              const struct stream_config *config, const struct code_image *image,
                              struct stream *exact, struct stream_sink *sink);

/* The next bytes. 0 or a bt_error. */
int parallel_feed(struct parallel *p, const uint8_t *data, size_t len);

/* Everything fed so far is decoded and put out when this returns: the caller may go on with
 * `exact` itself (a gap, the end of the stream), and then feed more. */
int parallel_drain(struct parallel *p);

void parallel_free(struct parallel *p);

#endif
