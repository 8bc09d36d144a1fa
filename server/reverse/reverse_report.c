/* SPDX-License-Identifier: BSD-3-Clause */
/* What GDB's console shows while a motion along the history goes on. */
#include "server/reverse/reverse_motion.h"

#include <stdio.h>

void reverse_report_gap(struct reverse_motion *m, enum bt_gap_cause cause)
{
    char text[160];
    if (cause == BT_GAP_NONE)
        return;
    if (cause == BT_GAP_TRACE_ON)
        snprintf(text, sizeof text, "here the trace unit was told to leave instructions out\n");
    else
        snprintf(text, sizeof text, "trace is missing here (%s): what ran is not known\n",
                 bt_gap_name(cause));
    m->host->report(m->ctx, text);
}

void reverse_report_left_out(struct reverse_motion *m)
{
    char text[160];
    if (!m->search.left_out)
        return;
    snprintf(text, sizeof text, "passed %zu places where the trace unit left instructions out\n",
             m->search.left_out);
    m->host->report(m->ctx, text);
}

void reverse_report_alone(struct reverse_motion *m)
{
    char text[160];
    if (m->core_count < 2 || m->reported_alone)
        return;
    m->reported_alone = true;
    snprintf(text, sizeof text, "in reverse execution only the selected core moves: %s\n",
             m->host->core_name(m->ctx, m->core));
    m->host->report(m->ctx, text);
}

/* GDB is about to go on as if nothing had been written. */
void reverse_report_unwatched(struct reverse_motion *m)
{
    uint64_t addresses[REVERSE_BREAKPOINTS_MAX];
    bool watch = false;
    if (m->reported_watch)
        return;
    m->host->breakpoints(m->ctx, addresses, REVERSE_BREAKPOINTS_MAX, &watch);
    m->reported_watch = watch;
    if (watch)
        m->host->report(m->ctx,
                        "in reverse execution steps do not see what watchpoints wait for\n");
}
