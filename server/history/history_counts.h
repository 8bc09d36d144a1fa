/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of a history, counted as a stream's output is while it is decoded. */
#ifndef SERVER_HISTORY_COUNTS_H
#define SERVER_HISTORY_COUNTS_H

#include "decoder/counts/counts.h"
#include "decoder/history/history.h"

/*
 * What of the window ran from instruction `from` up to `to`, which is not counted any more; both
 * are where a block begins, or outside of the window. counts->number is that of the window's first
 * instruction, or of `from` if that is later. `gaps` may be NULL.
 */
void history_counts_feed(struct counts *counts, const struct history_window *w, uint64_t from,
                         uint64_t to, struct gap_ledger *gaps);

#endif
