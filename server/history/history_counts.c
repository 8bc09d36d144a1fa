/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/history_counts.h"

#define PIECE 256u /* blocks */

/* Blocks from number `i` on, which is moved on. */
static void next_blocks(const struct history_window *w, size_t *i, uint64_t *number, uint64_t from,
                        uint64_t to, struct flow_out *out)
{
    for (; *i < w->block_count && *number < to && out->block_count < PIECE; (*i)++) {
        struct bt_block b;
        history_block(w, *i, &b);
        if (*number >= from)
            out->blocks[out->block_count++] = b;
        *number += bt_block_count(&b);
    }
}

void history_counts_feed(struct counts *counts, const struct history_window *w, uint64_t from,
                         uint64_t to, struct gap_ledger *gaps)
{
    struct bt_block blocks[PIECE];
    uint64_t number = w->first;
    size_t i = 0, event = 0;
    bool last;
    while (event < w->event_count && w->events[event].position < from)
        event++;
    do {
        struct flow_out out = {.blocks = blocks, .events = (struct bt_event *)w->events + event};
        next_blocks(w, &i, &number, from, to, &out);
        last = i == w->block_count || number >= to;
        for (; event < w->event_count; event++, out.event_count++) {
            uint64_t position = w->events[event].position;
            if (position > to || (!last && position >= number))
                break;
            if (gaps)
                gap_ledger_take(gaps, &w->events[event]);
        }
        counts_feed(counts, &out);
    } while (!last);
}
