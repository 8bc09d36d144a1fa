/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions about a long history that the server answers itself, so that GDB does not have to
 * load it: which calls led here, and when did a function run.
 */
#ifndef SERVER_CALL_HISTORY_H
#define SERVER_CALL_HISTORY_H

#include "decoder/history/history.h"
#include "drivers/elf/elf_image.h"
#include "server/base/console.h"

#define CALL_HISTORY_MAX 1000u /* lines of one answer */

struct call_query {
    struct history *history;
    const struct code_image *image;
    struct elf_image *const *elf; /* for names; may be none */
    size_t elf_count;
    bool m_profile; /* names of exceptions */
    uint64_t end;   /* only what ran before this position, 0: everything */
};

/*
 * "monitor history [N]", with its argument as text: the last N calls, oldest first: number of the
 * first instruction, name, indented by the depth of the calls; exceptions, returns into callers
 * that were called before the part that is shown, and gaps are lines of their own.
 */
void call_history_command(const struct call_query *q, const char *count, const struct console *c);

/* Where the function, or the instruction at the address ("0x..."), ran last: newest first. Counted
 * from `end`. */
void call_history_when(const struct call_query *q, const char *what, const struct console *c);

#endif
