/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace of a recorded source: one pass over its bytes, or its history. The trace stays in the
 * recording's files: the history reads the bytes of a window back through an index of places in the
 * raw buffer.
 */
#ifndef SERVER_RECORDING_HISTORY_H
#define SERVER_RECORDING_HISTORY_H

#include "decoder/history/history.h"
#include "decoder/port/formatter.h"
#include "server/recording/recording.h"

/* Where the bytes of one source go, in order. */
struct recording_sink {
    int (*data)(void *ctx, const uint8_t *data, size_t len);
    /* BT_GAP_WIRE: frame alignment was lost before the next data; the rest: as the recording says.
     */
    int (*gap)(void *ctx, enum bt_gap_cause cause);
    /* Optional: bytes of the buffer's other sources, in order with these. */
    int (*other)(void *ctx, unsigned id, const uint8_t *data, size_t len);
    /* Optional: called before each piece of raw bytes, with its place in the buffer's files. */
    int (*piece)(void *ctx, size_t file, uint64_t at, const struct formatter *f);
    void *ctx;
};

/* Statistics of a pass over a buffer. */
struct recording_pass {
    uint64_t raw_bytes;
    struct formatter formatter; /* as the pass left it; untouched for unformatted buffers */
    bool formatted;
};

/*
 * One pass over the source's buffer: hands its bytes to `sink`, in pieces. Stops at the first
 * error that the sink returns, and returns it; BT_ERR_IO if the files cannot be mapped.
 */
int recording_feed(struct recording *r, const struct recording_source *source,
                   const struct recording_sink *sink, struct recording_pass *pass);

/*
 * The same of a range of raw bytes, the buffer's files one behind the other: recording_range_init()
 * at `from`, then range by range. What the recording says of a place before a file is of the range
 * that holds the file's first byte; one that reaches beyond the size has the end's, too.
 */
int recording_range_init(struct recording *r, const struct recording_source *source, uint64_t from,
                         struct recording_pass *pass);

/* As the first, where another pass of the same source has begun. */
void recording_range_like(const struct recording_pass *other, uint64_t from,
                          struct recording_pass *pass);

int recording_feed_range(struct recording *r, const struct recording_source *source, uint64_t from,
                         uint64_t to, const struct recording_sink *sink,
                         struct recording_pass *pass);

#define RECORDING_PLACES 2048 /* the limit, if nobody says another one */

/*
 * Places in a recording's raw buffer from which bytes of one source's stream are found again. When
 * there are more than the limit, every second one goes: from then on one is taken half as often.
 * A place, the formatter's state there, and how much it had given before.
 */
struct recording_place {
    uint64_t offset; /* in the source's stream */
    uint64_t at;     /* in the file */
    size_t file;
    struct formatter formatter;
};

struct recording_index {
    struct recording_place *places; /* [0, count): in order */
    size_t count;
    size_t max;   /* room in `places` */
    size_t limit; /* of `count` */
    size_t every; /* that many come by for one that is taken */
    size_t seen;
};

struct recording_history {
    struct recording *recording;
    const struct recording_source *source;
    struct history *history;
    struct recording_pass pass;
    struct recording_index index;
    struct recording_place near; /* where the last read came by: the next one goes on there */
};

/* What bounds the memory; 0 is the default of each. */
struct recording_history_limits {
    size_t places;           /* RECORDING_PLACES */
    size_t checkpoint_bytes; /* these as in struct history_config */
    size_t max_checkpoints;
    size_t max_states;
};

/* Places in the raw buffer, in order, at which somebody looks at the history while it is made.
 * Those behind its end are not reached. */
struct recording_marks {
    const uint64_t *bytes; /* before the place */
    size_t count;
    int (*reached)(void *ctx, size_t mark, struct history *h); /* 0, or what is returned then */
    void *ctx;
};

/*
 * Decodes the whole source once; `limits` NULL: the defaults; `marks` NULL: none. Returns 0 or a
 * bt_error; release in both cases.
 */
int recording_history_init(struct recording_history *rh, struct recording *r,
                           const struct recording_source *source,
                           const struct recording_history_limits *limits,
                           const struct recording_marks *marks);
/* Without decoding anything yet: history_restore() has what it was decoded to before. */
int recording_history_prepare(struct recording_history *rh, struct recording *r,
                              const struct recording_source *source,
                              const struct recording_history_limits *limits);
void recording_history_release(struct recording_history *rh);

#endif
