/* SPDX-License-Identifier: BSD-3-Clause */
/* What GDB's console shows while a motion in the past goes on. */
#include "server/reverse/past_motion.h"

#include <stdio.h>

void past_say_gap(struct past_motion *m, enum bt_gap_cause cause)
{
    char text[160];
    if (cause == BT_GAP_NONE)
        return;
    if (cause == BT_GAP_TRACE_ON)
        snprintf(text, sizeof text, "here the trace unit was told to leave instructions out\n");
    else
        snprintf(text, sizeof text, "trace is missing here (%s): what ran is not known\n",
                 bt_gap_name(cause));
    m->host->say(m->ctx, text);
}

void past_say_left_out(struct past_motion *m)
{
    char text[160];
    if (!m->search.left_out)
        return;
    snprintf(text, sizeof text, "passed %zu places where the trace unit left instructions out\n",
             m->search.left_out);
    m->host->say(m->ctx, text);
}

void past_say_alone(struct past_motion *m)
{
    char text[160];
    if (m->core_count < 2 || m->told_alone)
        return;
    m->told_alone = true;
    snprintf(text, sizeof text, "in the past only the selected core moves: %s\n",
             m->host->core_name(m->ctx, m->core));
    m->host->say(m->ctx, text);
}

/* GDB is about to go on as if nothing had been written. */
void past_say_unwatched(struct past_motion *m)
{
    uint64_t addresses[PAST_BREAKPOINTS_MAX];
    bool watch = false;
    if (m->told_watch)
        return;
    m->host->breakpoints(m->ctx, addresses, PAST_BREAKPOINTS_MAX, &watch);
    m->told_watch = watch;
    if (watch)
        m->host->say(m->ctx, "in the past steps do not see what watchpoints wait for\n");
}
