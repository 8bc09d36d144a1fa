/* SPDX-License-Identifier: BSD-3-Clause */
/* One decode of a source with its counts, fed by whoever walks: from end to end (export_walk.c), or
 * a part of it (part.c). Private to these. */
#ifndef SERVER_EXPORT_WALK_INTERNAL_H
#define SERVER_EXPORT_WALK_INTERNAL_H

#include "decoder/history/gap_ledger.h"
#include "server/export/export_walk.h"

#define WALK_BLOCKS 1024
#define WALK_EVENTS 256

struct parallel;

/* One decode of a source that tells no instructions. */
struct listener {
    struct stream stream;
    struct stream_sink sink;
    struct bt_block none[FLOW_SLACK];
    struct bt_event events[WALK_EVENTS];
};

struct walk_state {
    const struct export_walk *walk;
    struct counts *counts;
    bool times; /* the decoder counts, not this walk */
    uint64_t doubtful;
    uint64_t exceptions;
    struct code_cache code;
    struct stream stream;
    struct stream_sink sink;
    struct parallel *parallel; /* NULL: one thread */
    struct gap_ledger gaps;    /* its totals: no entry is kept */
    struct bt_block blocks[WALK_BLOCKS];
    uint64_t cycles[WALK_BLOCKS];
    struct bt_event events[WALK_EVENTS];
    struct listener beside;
};

/* `s` is all 0. BT_ERR_NOMEM; walk_close() in both cases. *counts are the caller's to release. */
int walk_open(struct walk_state *s, const struct export_walk *walk, struct counts *counts);
void walk_close(struct walk_state *s);

/* What struct recording_sink calls, with the state. */
int walk_data(void *ctx, const uint8_t *data, size_t len);
int walk_gap(void *ctx, enum bt_gap_cause cause);

/* Everything decoded so far is counted; or it was the end of the source. */
void walk_settle(struct walk_state *s);
void walk_finish(struct walk_state *s);

#endif
