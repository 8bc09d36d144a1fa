/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/history/gap_ledger.h"

#include "decoder/base/array.h"

#include <stdlib.h>
#include <string.h>

void gap_ledger_init(struct gap_ledger *g, size_t limit)
{
    memset(g, 0, sizeof *g);
    g->limit = limit;
}

void gap_ledger_release(struct gap_ledger *g)
{
    free(g->entries);
    gap_ledger_init(g, g->limit);
}

void gap_ledger_take(struct gap_ledger *g, const struct bt_event *e)
{
    if (!gap_ledger_wants(e))
        return;
    struct gap_entry entry = {
        .position = e->position,
        .offset = e->offset,
        .cause = e->cause,
    };
    if (e->kind == BT_EVENT_GAP) {
        entry.bytes = e->u.gap.bytes;
        entry.doubtful = e->u.gap.doubtful;
        entry.address = e->u.gap.address;
        entry.has_address = e->u.gap.has_address;
    } else {
        entry.address = e->u.trace_on.address;
        entry.has_address = e->u.trace_on.has_address;
    }
    if (g->last.cause == entry.cause && g->last.position == entry.position) {
        g->last.bytes += entry.bytes;
        if (g->count && g->entries[g->count - 1].offset == g->last.offset)
            g->entries[g->count - 1].bytes += entry.bytes;
        return;
    }
    g->last = entry;
    g->totals[entry.cause]++;
    if (g->count < g->limit && array_room(&g->entries, g->count, &g->max, sizeof *g->entries))
        g->entries[g->count++] = entry;
}

void gap_ledger_forget(struct gap_ledger *g, uint64_t offset)
{
    while (g->count && g->entries[g->count - 1].offset >= offset)
        g->totals[g->entries[--g->count].cause]--;
    memset(&g->last, 0, sizeof g->last);
}
