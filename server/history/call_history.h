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
 * A question under way. It is answered in slices, between which the history may grow and lose its
 * oldest part, and code may be written; `query` but its history and image is copied, names and
 * `console` are borrowed until its end.
 */
struct call_job; /* private */

#define CALL_JOB_SECONDS 20 /* of work: then what was found so far is the answer */

/*
 * "monitor history [N]", with its argument as text: the last N calls, oldest first: number of the
 * first instruction, name, indented by the depth of the calls; exceptions, returns into callers
 * that were called before the part that is shown, and gaps are lines of their own. NULL: the answer
 * is given already.
 */
struct call_job *call_history_begin(const struct call_query *q, const char *count,
                                    const struct console *c);

/* Where the function, or the instruction at the address ("0x..."), ran last: newest first. Counted
 * from `end`. NULL as above. */
struct call_job *call_when_begin(const struct call_query *q, const char *what,
                                 const struct console *c);

/* A slice of a few milliseconds, with the history locked. True: the answer is complete. */
bool call_job_work(struct call_job *j);

/* Ctrl-C: the next slice ends it with what was found so far. */
void call_job_interrupt(struct call_job *j);
void call_job_free(struct call_job *j);

#endif
