/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for GDB's console, and what all targets say of a history in the same words. */
#ifndef SERVER_CONSOLE_H
#define SERVER_CONSOLE_H

#include "decoder/history.h"
#include "protocol/gdb_target.h"

struct console {
    gdb_print_fn print;
    void *to;
};

/* At most 400 characters a call. */
void console_say(const struct console *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A line with the ledger's total by cause: "2 overflow, 1 wire", or "none". */
void console_gap_counts(const struct console *c, const struct history *h);

/* The ledger, a line an entry. */
void console_gaps(const struct console *c, const struct history *h);

/* The lines that say what was decoded: trace, history, gaps. */
void console_history(const struct console *c, const struct history *h);

/* The rest of `text` behind the words `name`, without blanks around it (into `out`); NULL if it
 * does not begin with them. */
const char *console_rest(const char *text, const char *name, char *out, size_t size);

#endif
