/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoreSight formatter frames taken apart into one byte stream a trace source.
 * IHI 0029E, trace formatter; DDI 0314H 8.12 and 9.6. Incremental: any split of the input gives the
 * same bytes of each source between the same marks. */
#ifndef DECODER_FORMATTER_H
#define DECODER_FORMATTER_H

#include "btrace/types.h"

#define FORMATTER_FRAME      16
#define FORMATTER_ID_UNKNOWN 0xff
#define FORMATTER_ID_TRIGGER 0x7d
#define FORMATTER_ID_MAX     0x6f /* highest ID of a trace source */

enum formatter_mode {
    FORMATTER_ALIGNED,  /* whole frames from offset 0, no sync words: ETB, TMC, memory */
    FORMATTER_SYNC,     /* port stream: full and half sync words, arbitrary start */
    FORMATTER_FULLSYNC, /* full sync words only (DSTREAM): a half sync is an error */
    FORMATTER_BLOCKS,   /* as SYNC, in a DSTREAM dump: of each 512 bytes the last 8 are a footer */
};

#define FORMATTER_BLOCK  512
#define FORMATTER_FOOTER 8

enum formatter_kind {
    FORMATTER_DATA,    /* `data[0..len)` belongs to source `id` */
    FORMATTER_TRIGGER, /* embedded trigger marker at this point */
    FORMATTER_LOSS,    /* alignment lost: bytes of any source may be missing before this point */
};

/* One item of output. `data` is valid during the call only. */
struct formatter_run {
    uint64_t offset; /* of the frame in the raw stream that holds the first byte */
    const uint8_t *data;
    uint32_t len;
    uint8_t kind; /* enum formatter_kind */
    uint8_t id;
};

/* Called for each run; runs of a source, and marks with the runs around them, are in stream order,
 * while sources between two marks are not in turn, unless `in_turn` says so. Must not call back
 * into the formatter. */
typedef void formatter_sink(void *ctx, const struct formatter_run *run);

struct formatter {
    uint64_t offset;       /* raw bytes consumed */
    uint64_t frame_offset; /* raw offset of frame byte 0 */
    uint64_t frames;       /* complete frames decoded */
    uint64_t losses;       /* times that alignment was lost */
    uint64_t skipped;      /* raw bytes thrown away while not aligned, or in partial frames */
    uint8_t mode;
    bool in_turn; /* the caller's to set: sources are in turn, too, in shorter runs */
    bool aligned;
    bool want_sync_tail; /* FF FF seen at offset 0: FF 7F must follow */
    bool half;           /* one byte of a pair is in `pair` */
    uint8_t pair;
    uint8_t id; /* current source, or FORMATTER_ID_UNKNOWN */
    uint8_t fill;
    uint32_t window;                    /* the last four bytes while resynchronising */
    uint8_t frame[2 * FORMATTER_FRAME]; /* the second half is never filled, but read */
};

void formatter_init(struct formatter *f, enum formatter_mode mode);

/*
 * SYNC or BLOCKS: how a stored port stream that begins with `data` is to be read. Blocks have no
 * mark of their own: they are there when the frames hold together without their footers, and do not
 * with them. Damage alone changes nothing.
 */
enum formatter_mode formatter_find_blocks(const uint8_t *data, size_t len);

/*
 * Feeds `len` raw bytes; hands every run that they complete to `sink`. Bytes of one source are
 * joined into one run where possible. Never fails: damage becomes a
 * FORMATTER_LOSS run and the search for the next alignment.
 */
void formatter_feed(struct formatter *f, const uint8_t *data, size_t len, formatter_sink *sink,
                    void *ctx);

/* A sink for who wants to know the alignment alone. */
void formatter_ignore_run(void *ctx, const struct formatter_run *run);

/* Whether both know where they are, and take what follows apart in the same way. */
bool formatter_same(const struct formatter *a, const struct formatter *b);

/* Bytes were lost before the next feed (USB error, ring full): drops the partial frame. */
void formatter_discontinuity(struct formatter *f, formatter_sink *sink, void *ctx);

#endif
