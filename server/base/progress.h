/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far something is that takes long, how fast, and how long it may still take: a line on
 * standard error that is written over, and gone at the end. Only on a terminal, and not in the
 * first two seconds.
 */
#ifndef SERVER_PROGRESS_H
#define SERVER_PROGRESS_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROGRESS_SECOND UINT64_C(1000000000) /* in ns */

struct progress {
    const char *what;            /* "btraced coverage 3/16" */
    uint64_t total, done;        /* bytes */
    uint64_t begun_ns, shown_ns; /* shown_ns 0: nothing is on the terminal */
    bool wanted;
};

/* Nothing of `total` is done. `wanted` false, or no terminal: nothing is ever shown. */
void progress_begin(struct progress *p, const char *what, uint64_t total, bool wanted);

/* So much more is done. Cheap enough for every 64 KiB. At `total` the line goes. NULL is allowed.
 */
void progress_add(struct progress *p, uint64_t done);

/* The line goes, however far it is. */
void progress_end(struct progress *p);

/* The line at that time; false: it is too early for a first one, or a next one. */
static inline bool progress_line(const struct progress *p, uint64_t now_ns, char *text, size_t size)
{
    uint64_t passed = now_ns - p->begun_ns;
    if (passed < 2 * PROGRESS_SECOND || now_ns - p->shown_ns < PROGRESS_SECOND / 4 || !p->done)
        return false;
    double share = (double)p->done / (double)p->total;
    double taken = (double)passed / (double)PROGRESS_SECOND, left = taken * (1 - share) / share;
    uint64_t seconds = left < 1e9 ? (uint64_t)left + 1 : (uint64_t)1e9;
    char minutes[32] = "";
    if (seconds >= 60)
        snprintf(minutes, sizeof minutes, "%" PRIu64 " min ", seconds / 60);
    snprintf(text, size, "%s: %d %%, %.1f MB/s, %s%0*" PRIu64 " s left", p->what,
             (int)(100 * share), (double)p->done / 1e6 / taken, minutes, *minutes ? 2 : 1,
             seconds % 60);
    return true;
}

#endif
