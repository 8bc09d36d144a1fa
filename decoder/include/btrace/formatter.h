/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoreSight formatter frames (16 bytes, as a TPIU or an ETB makes them: IHI 0029E, chapter D4)
 * taken apart into the bytes of each trace source. A trace that was stored without frames needs
 * none of this: it goes into its decoder as it is.
 */
#ifndef BTRACE_FORMATTER_H
#define BTRACE_FORMATTER_H

#include "btrace/types.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bt_formatter; /* opaque */

enum bt_framing {
    BT_FRAMING_ALIGNED,   /* whole frames from the first byte on, no sync words: ETB, TMC, perf */
    BT_FRAMING_SYNC,      /* a port's stream: full and half sync words, begins anywhere */
    BT_FRAMING_FULL_SYNC, /* the same without half sync words */
};

enum bt_run_kind {
    BT_RUN_DATA,    /* bytes of one source */
    BT_RUN_TRIGGER, /* the trigger marker stands here */
    BT_RUN_LOSS,    /* alignment was lost: bytes of any source may be missing before this point;
                       give each decoder a bt_decoder_gap() with BT_GAP_WIRE */
};

struct bt_run {
    uint64_t offset;     /* of the frame, in bytes since the first one fed */
    const uint8_t *data; /* valid during the call */
    size_t size;         /* bytes; 0 for other kinds than data */
    uint8_t kind;        /* enum bt_run_kind */
    uint8_t id;          /* trace ID; data: 0xff if it is not known yet */
};

/* Called for each run: those of a source, and marks with the runs around them, in the order of the
 * stream; several sources between two marks not in turn. Must not use the formatter. */
typedef void bt_run_callback(void *ctx, const struct bt_run *run);

/*
 * A formatter that hands its runs to `callback` with `ctx`; released with bt_formatter_free().
 *
 * 0: *out is the formatter.
 * BT_ERR_INVAL: `callback` or `out` is NULL, or `framing` is none.
 * BT_ERR_NOMEM
 */
BT_API int bt_formatter_new(enum bt_framing framing, bt_run_callback *callback, void *ctx,
                            struct bt_formatter **out);

/*
 * The next `size` bytes, of any number: cut anywhere, they give the same bytes of each source.
 * Damaged frames are no error, but a run of kind BT_RUN_LOSS.
 *
 * 0: taken.
 * BT_ERR_INVAL: `formatter` is NULL, or `data` is NULL and `size` is not 0.
 */
BT_API int bt_formatter_feed(struct bt_formatter *formatter, const uint8_t *data, size_t size);

/* NULL is allowed. */
BT_API void bt_formatter_free(struct bt_formatter *formatter);

#ifdef __cplusplus
}
#endif

#endif
