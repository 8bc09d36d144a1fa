/* SPDX-License-Identifier: BSD-3-Clause */
#include "history_window.h"

#include "decoder/base/array.h"
#include "decoder/base/search.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_STRIDE 128

/* packed_block.rest */
#define REST_HALVES  0x00003fffu /* extent in halfwords */
#define REST_COUNT   0x07ffc000u
#define COUNT_SHIFT  14
#define COUNT_MAX    0x1fffu
#define COND_SHIFT   27
#define REST_COUNTED 0x40000000u /* cycles[] has its count */
#define REST_WIDE    0x80000000u /* the bits of WIDE_INDEX are an index into wide[] */
#define WIDE_INDEX   0x3fffffffu

static bool pack_wide(struct window_store *s, const struct bt_block *b, bool counted,
                      struct packed_block *p)
{
    if (!array_room_for(&s->wide, s->wide_count, &s->wide_max, 1, sizeof *s->wide))
        return false;
    p->first = 0;
    p->rest = REST_WIDE | (counted ? REST_COUNTED : 0) | (uint32_t)s->wide_count;
    s->wide[s->wide_count++] = *b;
    return true;
}

static bool pack_block(struct window_store *s, const struct bt_block *b, bool counted,
                       struct packed_block *p)
{
    enum bt_isa isa = bt_block_isa(b);
    bool small = b->first <= UINT32_MAX && isa <= BT_ISA_T32 && b->extent / 2 <= REST_HALVES &&
                 bt_block_count(b) <= COUNT_MAX && !(b->first & 1);
    if (!small)
        return pack_wide(s, b, counted, p);
    p->first = (uint32_t)b->first | (uint32_t)isa;
    p->rest = b->extent / 2 | bt_block_count(b) << COUNT_SHIFT |
              (uint32_t)bt_block_cond(b) << COND_SHIFT | (counted ? REST_COUNTED : 0);
    return true;
}

static void unpack_block(const struct window_store *s, size_t i, struct bt_block *b)
{
    const struct packed_block *p = &s->blocks[i];
    if (p->rest & REST_WIDE) {
        *b = s->wide[p->rest & WIDE_INDEX];
        return;
    }
    b->first = p->first & ~1u;
    b->extent = 2 * (p->rest & REST_HALVES);
    b->info = bt_block_info((p->rest & REST_COUNT) >> COUNT_SHIFT, (enum bt_isa)(p->first & 1),
                            (enum bt_cond)(p->rest >> COND_SHIFT & 3));
}

static uint32_t packed_count(const struct window_store *s, size_t i)
{
    const struct packed_block *p = &s->blocks[i];
    if (p->rest & REST_WIDE)
        return bt_block_count(&s->wide[p->rest & WIDE_INDEX]);
    return (p->rest & REST_COUNT) >> COUNT_SHIFT;
}

/* The first count of a window makes room for one a block; until then there is none. */
static bool store_cycles(struct window_store *s, uint64_t cycles)
{
    bool first = s->cycles_max == 0;
    size_t missing = first ? s->count + 1 : 1, have = first ? 0 : s->count;
    if (!array_room_for(&s->cycles, have, &s->cycles_max, missing, sizeof *s->cycles))
        return false;
    s->cycles[s->count] = (uint32_t)cycles;
    return true;
}

/* Room for it is there already, but for its cycles. */
static bool store_block(struct window_store *s, const struct bt_block *b, uint64_t cycles,
                        uint64_t number)
{
    if ((cycles != FLOW_NO_CYCLES || s->cycles_max) && !store_cycles(s, cycles))
        return false;
    if (s->count % WINDOW_STRIDE == 0)
        s->numbers[s->number_count++] = number;
    if (!pack_block(s, b, cycles != FLOW_NO_CYCLES, &s->blocks[s->count]))
        return false;
    s->count++;
    return true;
}

static bool reserve_blocks(struct window_store *s, size_t more)
{
    return array_room_for(&s->blocks, s->count, &s->max, more, sizeof *s->blocks) &&
           array_room_for(&s->numbers, s->number_count, &s->number_max, more / WINDOW_STRIDE + 1,
                          sizeof *s->numbers);
}

/* Out of memory: the rest of the window is thrown away, and the error told at the end. */
static void flush_window(void *ctx, struct flow_out *out)
{
    struct window_slot *slot = ctx;
    bool ok = !slot->error &&
              array_room_for(&slot->events, slot->event_count, &slot->event_max,
                             out->event_count + 1, sizeof *slot->events) &&
              reserve_blocks(&slot->store, out->block_count);
    for (size_t i = 0; i < out->block_count && ok; i++) {
        ok = store_block(&slot->store, &out->blocks[i],
                         out->cycles ? out->cycles[i] : FLOW_NO_CYCLES, slot->next);
        slot->next += bt_block_count(&out->blocks[i]);
    }
    if (ok && out->event_count) {
        memcpy(slot->events + slot->event_count, out->events,
               out->event_count * sizeof *out->events);
        slot->event_count += out->event_count;
    }
    if (!ok)
        slot->error = BT_ERR_NOMEM;
    out->block_count = 0;
    out->event_count = 0;
}

/* A window's life. */

void window_slot_begin(struct window_slot *slot, struct window_scratch *scratch, uint64_t first)
{
    slot->valid = false;
    slot->error = BT_OK;
    slot->next = first;
    slot->event_count = 0;
    slot->store.count = slot->store.number_count = slot->store.wide_count = 0;
    free(slot->store.cycles);
    slot->store.cycles = NULL;
    slot->store.cycles_max = 0;
    slot->sink = (struct stream_sink){.out = {.blocks = scratch->blocks,
                                              .cycles = scratch->counted ? scratch->cycles : NULL,
                                              .events = scratch->events,
                                              .block_max = WINDOW_SCRATCH,
                                              .event_max = WINDOW_SCRATCH / 4},
                                      .flush = flush_window,
                                      .ctx = slot};
    slot->window.first = first;
}

int window_slot_end(struct window_slot *slot)
{
    struct history_window *w = &slot->window;
    flush_window(slot, &slot->sink.out);
    w->store = &slot->store;
    w->events = slot->events;
    w->block_count = slot->store.count;
    w->event_count = slot->event_count;
    w->end = slot->next;
    slot->valid = slot->error == BT_OK;
    return slot->error;
}

void window_slot_release(struct window_slot *slot)
{
    free(slot->store.blocks);
    free(slot->store.cycles);
    free(slot->store.numbers);
    free(slot->store.wide);
    free(slot->events);
    memset(slot, 0, sizeof *slot);
}

/* Looking into one (history.h). */

void history_block(const struct history_window *w, size_t i, struct bt_block *out)
{
    unpack_block(w->store, i, out);
}

bool history_block_back(const struct history_window *w, size_t least, uint64_t address, size_t *i)
{
    const struct packed_block *blocks = w->store->blocks;
    size_t at = *i;
    while (at > least) {
        const struct packed_block *p = &blocks[--at];
        struct bt_block b;
        if (!(p->rest & REST_WIDE) &&
            address - (p->first & ~1u) > 2 * (uint64_t)(p->rest & REST_HALVES))
            continue;
        unpack_block(w->store, at, &b);
        if (address < b.first || address > bt_block_last(&b))
            continue;
        *i = at;
        return true;
    }
    *i = least;
    return false;
}

uint64_t history_block_cycles(const struct history_window *w, size_t i)
{
    const struct packed_block *p = &w->store->blocks[i];
    if (!w->store->cycles_max || !(p->rest & REST_COUNTED))
        return FLOW_NO_CYCLES;
    return w->store->cycles[i];
}

uint64_t history_block_number(const struct history_window *w, size_t i)
{
    size_t base = i / WINDOW_STRIDE;
    uint64_t number = w->store->numbers[base];
    for (size_t k = base * WINDOW_STRIDE; k < i; k++)
        number += packed_count(w->store, k);
    return number;
}

size_t history_block_index(const struct history_window *w, uint64_t number)
{
    const struct window_store *s = w->store;
    if (number < w->first || number >= w->end)
        return w->block_count;
    size_t low; /* the last stride that begins at or before the instruction */
    SEARCH_LAST(low, s->number_count, s->numbers[low] <= number);
    size_t i = low * WINDOW_STRIDE;
    for (uint64_t at = s->numbers[low]; number - at >= packed_count(s, i); i++)
        at += packed_count(s, i);
    return i;
}
