/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gap ledger: every span of trace that was lost, damaged or could not be decoded is one entry
 * with its cause, its place in the stream and in the history. Listings, monitor commands and GDB's
 * gaps all come from it.
 */
#ifndef DECODER_GAP_LEDGER_H
#define DECODER_GAP_LEDGER_H

#include "btrace/types.h"

struct gap_entry {
    uint64_t position; /* number of the instruction that follows */
    uint64_t offset;   /* in the source's stream */
    uint64_t bytes;    /* missing, if known */
    uint64_t doubtful; /* instructions right before that may be wrong */
    uint64_t address;  /* last known or wanted, if has_address */
    uint8_t cause;     /* enum bt_gap_cause */
    bool has_address;
};

struct gap_ledger {
    struct gap_entry *entries;
    size_t count;
    size_t max;   /* room in `entries` */
    size_t limit; /* entries kept: later ones are only counted */
    struct gap_entry last;
    uint64_t totals[BT_GAP_CAUSES];
};

void gap_ledger_init(struct gap_ledger *g, size_t limit);
void gap_ledger_release(struct gap_ledger *g);

/* The events that are gaps to it. */
static inline bool gap_ledger_wants(const struct bt_event *e)
{
    bool gap = e->kind == BT_EVENT_GAP || e->kind == BT_EVENT_TRACE_ON;
    return gap && e->cause != BT_GAP_NONE && e->cause < BT_GAP_CAUSES;
}

/*
 * Takes an event, in stream order; those that are no gap are passed over. Gaps of one cause at one
 * position are one entry. Without memory for an entry it is only counted.
 */
void gap_ledger_take(struct gap_ledger *g, const struct bt_event *e);

/* Forgets what was found from byte `offset` of the stream on. */
void gap_ledger_forget(struct gap_ledger *g, uint64_t offset);

#endif
