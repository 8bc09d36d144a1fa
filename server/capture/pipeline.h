/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Live trace on its way: a capture thread pushes raw bytes, a decode thread takes them apart and
 * appends them to one history a source, and the event loop reads the histories. Between the two is
 * a bounded ring that holds the buffers the bytes were captured to: they are not copied.
 *
 * Threads and owners:
 *   - pipeline_room(), pipeline_push(): the capture thread alone (one producer);
 *   - pipeline_lost(): any thread;
 *   - the pipeline's own decode thread is the one consumer and the only writer of histories; with
 *     much to do it has others decode with it (server/capture/decode_pool.h), while it holds the
 * lock;
 *   - everything else: any thread. A history is read between pipeline_lock() and
 *     pipeline_unlock(); the decode thread waits meanwhile, and the ring takes what arrives.
 */
#ifndef SERVER_PIPELINE_H
#define SERVER_PIPELINE_H

#include "decoder/history/history.h"
#include "decoder/port/formatter.h"
#include "drivers/probe/trace_stream.h"
#include "server/capture/trace_pool.h"

#define PIPELINE_MAX_SOURCES 16

struct pipeline_source {
    unsigned trace_id; /* unused without frames: the one source takes all bytes */
    struct stream_config config;
    const struct code_image *image; /* must outlive the pipeline */
};

/* A source that is only passed on, as it comes: from the decode thread. */
struct pipeline_passed {
    unsigned trace_id; /* 0: none; without frames it takes all bytes, and there is no other source
                        */
    void (*bytes)(void *ctx, const uint8_t *data, size_t len);
    void (*lost)(void *ctx, enum bt_gap_cause cause); /* bytes are missing here */
    void *ctx;
};

struct pipeline_config {
    bool formatted;           /* CoreSight frames */
    enum formatter_mode mode; /* of the frames */
    size_t ring_bytes;        /* captured bytes that may wait for the decoder; 0: 16 MiB */
    unsigned threads;         /* that decode; 0: one */
    /* NULL, or who wants each piece before the decoder, in order and in pipeline_push(), also one
     * that is dropped: `buffer` may be held on; NULL: the piece is lost for want of memory. */
    void (*tap)(void *ctx, struct trace_buffer *buffer, const uint8_t *data, size_t len);
    void *tap_ctx;
    struct pipeline_passed passed;
    struct history_config history;
    struct pipeline_source sources[PIPELINE_MAX_SOURCES];
    unsigned source_count;
};

/* Counters since the start. */
struct pipeline_stats {
    uint64_t dropped; /* bytes that found the ring full */
    uint64_t drops;   /* transfers dropped whole */
    uint64_t decoded; /* bytes through the decoder */
    uint64_t losses;  /* times that frame alignment was lost */
    uint64_t waiting; /* bytes in the ring */
    bool aligned;     /* frames are in lock */
    uint64_t joined;  /* windows that were decoded ahead, or by another thread */
    int error;        /* first one of the decode thread (memory), or 0 */
    bool seen[128];   /* trace IDs that had data */
};

struct pipeline; /* private */

/* 0 or a bt_error; *out is released with pipeline_free(). Starts the decode thread. */
int pipeline_new(const struct pipeline_config *config, struct pipeline **out);

/* Decodes what is in the ring, then ends. No push may be under way. */
void pipeline_free(struct pipeline *p);

/* As trace_sink's room(): where the bytes of the next push are best put. */
uint8_t *pipeline_room(struct pipeline *p, size_t least, size_t *size);

/*
 * One transfer: at pipeline_room(), or it is copied. `wait`: the source can be held up, so a full
 * ring makes this call block. Otherwise a transfer that finds no room is dropped whole, and so are
 * those behind it until the ring is half empty; a loss takes their place in the order: it becomes
 * one gap with the bytes dropped. Returns false if it was dropped.
 */
bool pipeline_push(struct pipeline *p, const uint8_t *data, size_t len, bool wait);

/* The capture side knows that `bytes` (0: how many is not known) are missing here, and why. */
void pipeline_lost(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes);

/*
 * Waits until everything pushed before the call is decoded; false after `timeout_ms` (the rest is
 * still decoded later).
 */
bool pipeline_drain(struct pipeline *p, unsigned timeout_ms);

/* History of source number i; between lock and unlock, which do nothing where `p` is NULL. */
void pipeline_lock(struct pipeline *p);
struct history *pipeline_history(struct pipeline *p, unsigned i);
void pipeline_unlock(struct pipeline *p);

void pipeline_stats(struct pipeline *p, struct pipeline_stats *stats);

#endif
