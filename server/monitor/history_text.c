/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/monitor/history_text.h"

#include <inttypes.h>

void history_text_gap_counts(const struct console *c, const struct history *h)
{
    bool any = false;
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        uint64_t n = history_gap_count(h, (enum bt_gap_cause)cause);
        if (!n)
            continue;
        console_print(c, "%s%" PRIu64 " %s", any ? ", " : "", n,
                      bt_gap_name((enum bt_gap_cause)cause));
        any = true;
    }
    console_print(c, any ? "\n" : "none\n");
}

void history_text_gaps(const struct console *c, const struct history *h)
{
    const struct gap_entry *gaps;
    size_t n = history_gaps(h, &gaps);
    for (size_t i = 0; i < n; i++) {
        console_print(c, "before instruction %" PRIu64 ", trace byte %" PRIu64 ": %s",
                      gaps[i].position + 1, gaps[i].offset,
                      bt_gap_name((enum bt_gap_cause)gaps[i].cause));
        if (gaps[i].has_address)
            console_print(c, ", address 0x%08" PRIx64, gaps[i].address);
        if (gaps[i].bytes)
            console_print(c, ", %" PRIu64 " bytes", gaps[i].bytes);
        if (gaps[i].doubtful)
            console_print(c, ", instructions from %" PRIu64 " on may be wrong",
                          gaps[i].position - gaps[i].doubtful + 1);
        console_print(c, "\n");
    }
    if (n == 0)
        console_print(c, "no gaps\n");
}

void history_text_summary(const struct console *c, const struct history *h)
{
    struct history_totals totals;
    history_totals(h, &totals);
    console_print(c,
                  "trace         %" PRIu64 " bytes, %" PRIu64 " packets, %" PRIu64
                  " bytes skipped without synchronisation\n",
                  totals.bytes, totals.packets, totals.skipped);
    if (history_end(h) > history_first(h))
        console_print(
            c, "history       instructions %" PRIu64 " to %" PRIu64 " in %" PRIu64 " blocks\n",
            history_first(h) + 1, history_end(h), totals.blocks);
    else
        console_print(c, "history       no instruction\n");
    console_print(c, "gaps          ");
    history_text_gap_counts(c, h);
}
