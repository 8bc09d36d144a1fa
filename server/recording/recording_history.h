/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * History of a recorded source. The trace stays in the recording's files: the history reads the
 * bytes of a window back through an index of places in the raw buffer.
 */
#ifndef SERVER_RECORDING_HISTORY_H
#define SERVER_RECORDING_HISTORY_H

#include "decoder/history/history.h"
#include "server/recording/recording.h"
#include "server/recording/recording_index.h"

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

/*
 * Decodes the whole source once; `limits` NULL: the defaults. Returns 0 or a bt_error; release in
 * both cases.
 */
int recording_history_init(struct recording_history *rh, struct recording *r,
                           const struct recording_source *source,
                           const struct recording_history_limits *limits);
void recording_history_release(struct recording_history *rh);

#endif
