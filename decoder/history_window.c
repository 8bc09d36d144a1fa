/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/history_window.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCKS 4096
#define FIRST_EVENTS 256

static bool grow(void **array, size_t max, size_t item)
{
    void *grown = realloc(*array, max * item);
    if (!grown)
        return false;
    *array = grown;
    return true;
}

static bool reserve_blocks(struct window_slot *slot, size_t max)
{
    if (!grow((void **)&slot->blocks, max, sizeof *slot->blocks) ||
        !grow((void **)&slot->cycles, max, sizeof *slot->cycles) ||
        !grow((void **)&slot->numbers, max, sizeof *slot->numbers))
        return false;
    slot->block_max = max;
    return true;
}

static bool reserve_events(struct window_slot *slot, size_t max)
{
    if (!grow((void **)&slot->events, max, sizeof *slot->events))
        return false;
    slot->event_max = max;
    return true;
}

/* The sink writes straight into the slot's arrays: this only hands it the larger ones. */
static void aim_sink(struct window_slot *slot)
{
    struct flow_out *out = &slot->sink.out;
    out->blocks = slot->blocks;
    out->cycles = slot->cycles;
    out->events = slot->events;
    out->block_max = slot->block_max;
    out->event_max = slot->event_max;
}

/* Out of memory: the rest of the window is thrown away, and the error told at the end. */
static void fail(struct window_slot *slot)
{
    slot->error = BT_ERR_NOMEM;
    slot->sink.out.block_count = 0;
    slot->sink.out.event_count = 0;
}

static void flush_window(void *ctx, struct flow_out *out)
{
    struct window_slot *slot = ctx;
    bool ok = true;
    if (out->block_max - out->block_count < FLOW_SLACK)
        ok = reserve_blocks(slot, slot->block_max * 2);
    if (ok && out->event_max - out->event_count < FLOW_SLACK)
        ok = reserve_events(slot, slot->event_max * 2);
    aim_sink(slot);
    if (!ok)
        fail(slot);
}

int window_slot_begin(struct window_slot *slot, uint64_t first)
{
    slot->valid = false;
    slot->error = BT_OK;
    if (!slot->block_max && !reserve_blocks(slot, FIRST_BLOCKS))
        return BT_ERR_NOMEM;
    if (!slot->event_max && !reserve_events(slot, FIRST_EVENTS))
        return BT_ERR_NOMEM;
    memset(&slot->sink, 0, sizeof slot->sink);
    slot->sink.flush = flush_window;
    slot->sink.ctx = slot;
    slot->window.first = first;
    aim_sink(slot);
    return BT_OK;
}

int window_slot_end(struct window_slot *slot)
{
    struct history_window *w = &slot->window;
    w->blocks = slot->blocks;
    w->cycles = slot->cycles;
    w->numbers = slot->numbers;
    w->events = slot->events;
    w->block_count = slot->sink.out.block_count;
    w->event_count = slot->sink.out.event_count;
    uint64_t number = w->first;
    for (size_t i = 0; i < w->block_count; i++) {
        slot->numbers[i] = number;
        number += bt_block_count(&slot->blocks[i]);
    }
    w->end = number;
    slot->valid = slot->error == BT_OK;
    return slot->error;
}

void window_slot_release(struct window_slot *slot)
{
    free(slot->blocks);
    free(slot->numbers);
    free(slot->cycles);
    free(slot->events);
    memset(slot, 0, sizeof *slot);
}

size_t window_slot_memory(const struct window_slot *slot)
{
    return slot->block_max * (sizeof *slot->blocks + sizeof *slot->numbers + sizeof *slot->cycles) +
           slot->event_max * sizeof *slot->events;
}
