/* SPDX-License-Identifier: BSD-3-Clause */
/* What all targets report of a history, in the same words. */
#ifndef SERVER_HISTORY_TEXT_H
#define SERVER_HISTORY_TEXT_H

#include "decoder/history/history.h"
#include "server/base/console.h"

/* A line with the ledger's total by cause: "2 overflow, 1 wire", or "none". */
void history_text_gap_counts(const struct console *c, const struct history *h);

/* The ledger, a line an entry. */
void history_text_gaps(const struct console *c, const struct history *h);

/* The lines that say what was decoded: trace, history, gaps. */
void history_text_summary(const struct console *c, const struct history *h);

#endif
