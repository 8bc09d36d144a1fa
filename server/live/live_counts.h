/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `monitor coverage` and `monitor profile`: what is in the history of all traced cores, counted, as
 * text or as a file below [record] dir. The history is walked in slices on the event loop; lines
 * are looked up and the file is written by a worker.
 */
#ifndef SERVER_LIVE_COUNTS_H
#define SERVER_LIVE_COUNTS_H

#include "server/base/console.h"

#include <stdint.h>

struct live;
struct live_client;
struct live_counting; /* one such question; private */

enum live_counts_kind { LIVE_COVERAGE, LIVE_PROFILE, LIVE_COUNTS };

/* Numbers of instructions. */
struct live_counts_span {
    uint64_t from;
    uint64_t to;  /* if stopped; otherwise up to now */
    bool started; /* otherwise what ran since the cores were resumed last */
    bool stopped;
};

/* Cores begin to run. */
void live_counts_resumed(struct live *l);

void live_counts_start(struct live *l, enum live_counts_kind kind, const struct console *c);
void live_counts_stop(struct live *l, enum live_counts_kind kind, const struct console *c);

/* TARGET_PENDING: live_questions_begin() is to follow. BT_OK: it is said already why not. `name`
 * "": text for the console. */
int live_counts_ask(struct live_client *k, enum live_counts_kind kind, const char *name,
                    const struct console *c);

/* A slice. True: nothing more is to be done on the loop. */
bool live_counts_work(struct live_counting *j);

/* Ctrl-C: the next slice ends it. */
void live_counts_interrupt(struct live_counting *j);

/* The client is gone. NULL is allowed. */
void live_counts_forget(struct live_counting *j);

#endif
