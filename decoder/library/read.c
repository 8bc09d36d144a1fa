/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of a history, handed out window by window. */
#include "decoder.h"

/* Events of the window up to instruction `number`; the code that a block is of follows from all. */
static size_t hand_out_events(struct handout *h, const struct history_window *w, size_t event)
{
    while (event < w->event_count && w->events[event].position <= h->number)
        handout_event(h, &w->events[event++]);
    return event;
}

static void hand_out_window(struct handout *h, const struct history_window *w)
{
    uint64_t first = h->first > w->first ? h->first : w->first;
    size_t event = 0, block = history_block_index(w, first);
    h->key = w->key;
    h->view = NULL;
    h->number = block < w->block_count ? history_block_number(w, block) : w->end;
    for (; block < w->block_count && h->number < h->end; block++) {
        struct bt_block b;
        event = hand_out_events(h, w, event);
        history_block(w, block, &b);
        handout_block(h, &b, history_block_cycles(w, block));
    }
    while (event < w->event_count)
        handout_event(h, &w->events[event++]);
}

/* Window to begin with: events right before instruction `first` may stand at the end of one that
 * comes before the instruction's own. */
static int find_window(struct history *history, uint64_t first, size_t *index)
{
    struct history_window w;
    for (*index = history_window_find(history, first); *index > 0; --*index) {
        int error = history_window_index(history, *index, &w);
        if (error || w.first < first)
            return error;
    }
    return BT_OK;
}

/* Windows without instructions are visited, too: their events count. */
static int hand_out(struct bt_decoder *d)
{
    size_t index;
    int error = find_window(d->history, d->handout.first, &index);
    for (; !error && index < history_window_count(d->history); index++) {
        struct history_window w;
        error = history_window_index(d->history, index, &w);
        if (error || w.first >= d->handout.end)
            break;
        hand_out_window(&d->handout, &w);
    }
    return error;
}

int bt_decoder_read(struct bt_decoder *d, uint64_t first, uint64_t end, const struct bt_sink *sink)
{
    if (!d || !sink || end < first)
        return BT_ERR_INVAL;
    if (!d->history)
        return BT_ERR_UNSUPPORTED;
    if (first < history_first(d->history) || end > history_end(d->history))
        return BT_ERR_RANGE;
    if (history_window_count(d->history) == 0)
        return BT_OK;
    d->handout.sink = *sink;
    d->handout.first = first;
    /* What stands behind the last instruction belongs to the end. */
    d->handout.end = end == history_end(d->history) ? UINT64_MAX : end;
    return hand_out(d);
}
