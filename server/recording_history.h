/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * History of a recorded source. The trace stays in the recording's files: the history reads the
 * bytes of a window back through an index of places in the raw buffer.
 */
#ifndef SERVER_RECORDING_HISTORY_H
#define SERVER_RECORDING_HISTORY_H

#include "decoder/history.h"
#include "server/recording.h"

/* A place in the raw buffer, the formatter's state there, and how much it had given before. */
struct recording_anchor {
    uint64_t offset; /* in the source's stream */
    uint64_t at;     /* in the file */
    size_t file;
    struct formatter formatter;
};

struct recording_history {
    struct recording *recording;
    const struct recording_source *source;
    struct history *history;
    struct recording_pass pass;
    struct recording_anchor *anchors;
    size_t anchor_count;
    size_t anchor_max;
    struct recording_anchor near; /* where the last read came by: the next one goes on there */
};

/*
 * Decodes the whole source once. Returns 0 or a bt_error; release in both cases.
 */
int recording_history_init(struct recording_history *rh, struct recording *r,
                           const struct recording_source *source);
void recording_history_release(struct recording_history *rh);

#endif
