/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts that the decoder keeps, of ranges and of steps: of the blocks only those that are marked
 * are looked at. */
#include "counts_internal.h"

#include <string.h>

void counts_times(void *ctx, const struct bt_block *b, uint64_t times)
{
    struct counts *c = ctx;
    struct counts_edge *e = &c->edges[counts_place(c->shift, COUNTS_FROM_NOWHERE, b)];
    if (!counts_is(e, COUNTS_FROM_NOWHERE, b))
        e = counts_search(c, COUNTS_FROM_NOWHERE, b);
    if (e)
        e->count += times;
    else
        c->left_out += times;
}

void counts_room(struct counts *c, struct flow_out *out)
{
    if (COUNTS_PAST - c->past_next < COUNTS_BATCH) {
        c->past_end = c->past_next;
        c->past_next = 0;
    }
    out->blocks = c->past + c->past_next;
    out->block_max = COUNTS_BATCH;
    out->times = true;
    out->leaves = c->report != COUNTS_NO_TRANSFERS;
    out->marks = c->marks;
    out->mark_count = 0;
}

bool counts_leaves(void *ctx, uint64_t from, uint64_t to)
{
    return counts_function_at(ctx, from) != counts_function_at(ctx, to);
}

/* What is left to be seen of a batch, from block `b` on, whose first instruction is that of number
 * c->number. */
struct counts_pass {
    const struct flow_mark *mark, *marks_end;
    const struct bt_block *b, *end;
};

/* The block may have been reached by a transfer. */
static void counts_reached(struct counts *c, const struct bt_block *b)
{
    const struct counts_edge *e = &c->edges[counts_place(c->shift, c->from, b)];
    if (!counts_is(e, c->from, b))
        e = counts_search(c, c->from, b);
    if (!e)
        counts_tell(c);
    if (!e)
        counts_report(c, NULL, b);
    else if (e->kind >= c->report)
        c->transfers[c->transfer_count++] = (struct counts_transfer){e, c->number};
}

/* Whichever block begins where this one does, or the step. */
static inline struct bt_block counts_any(const struct counts *c, const struct bt_block *b)
{
    const struct code_step *step = flow_step_of(b);
    if (step)
        b = code_step_blocks(c->config.steps, step);
    return (struct bt_block){b->first, 0, (b->info & 0xf) | COUNTS_ANY_BLOCK};
}

static bool counts_block_left(const struct bt_block *b)
{
    return (b->info & COUNTS_MARKS) != FLOW_COUNTED;
}

static bool counts_left(const struct counts *c)
{
    return c->from & 1 || counts_block_left(&c->last);
}

static bool counts_step_leaves(const struct counts *c, const struct code_step *step, unsigned i)
{
    return code_step_leaves(c->config.steps, step) >> i & 1;
}

/* Behind block `i` of the step. */
static void counts_at_inside(struct counts *c, const struct code_step *step, unsigned i)
{
    c->last = code_step_blocks(c->config.steps, step)[i];
    c->last.info |= FLOW_COUNTED | (counts_step_leaves(c, step, i) ? CODE_LEAVES : 0);
    c->from = bt_block_last(&c->last);
}

static void counts_at(struct counts *c, const struct bt_block *newest)
{
    const struct code_step *step = flow_step_of(newest);
    if (step) {
        counts_at_inside(c, step, step->blocks - 1u);
        return;
    }
    c->last = *newest;
    c->from = bt_block_last(newest);
}

/* Of the block or step behind it. */
static inline uint32_t counts_way_info(const struct bt_block *to)
{
    uint32_t step = (to->info & FLOW_STEP) == FLOW_STEP;
    return (to->info & 0xf) | step << 7;
}

static inline struct counts_way *counts_way_of(struct counts_way *ways, const struct bt_block *b,
                                               uint64_t to)
{
    uint64_t x = (b->first ^ to << 17) * 0x9e3779b97f4a7c15u;
    return &ways[x >> 40 & (COUNTS_WAYS - 1)];
}

static inline bool counts_way_is(const struct counts_way *way, const struct bt_block *b,
                                 uint64_t to, uint32_t to_info)
{
    return ((way->from.first ^ b->first) | (counts_rest(&way->from) ^ counts_rest(b)) |
            (way->to ^ to) | (way->to_info ^ to_info)) == 0;
}

/* All that there is room for is copied, which takes no branch: the rest is overwritten. */
static inline struct counts_transfer *counts_way_tell(const struct counts_way *way, uint64_t number,
                                                      struct counts_transfer *t)
{
    t[0] = (struct counts_transfer){way->told[0].edge, way->told[0].number + number};
    t[1] = (struct counts_transfer){way->told[1].edge, way->told[1].number + number};
    return t + way->count;
}

/* What is told each time is remembered, if it is not too much. `next`: NULL if nothing comes. */
static void counts_learn(struct counts *c, const struct bt_block *b, const struct bt_block *next)
{
    const struct code_step *step = flow_step_of(b);
    const struct bt_block *blocks = step ? code_step_blocks(c->config.steps, step) : b;
    uint64_t behind = bt_block_count(b);
    unsigned count = step ? step->blocks : 1;
    struct counts_way way = {.from = *b,
                             .to = next ? next->first : 0,
                             .to_info = next ? counts_way_info(next) : COUNTS_WAY_ENDS};
    for (unsigned i = 0; i < count; i++) {
        const struct bt_block *to = i + 1 < count ? &blocks[i + 1] : next;
        behind -= bt_block_count(&blocks[i]);
        if (!to || !(step ? counts_step_leaves(c, step, i) : counts_block_left(b)))
            continue;
        const struct bt_block any = counts_any(c, to);
        const struct counts_edge *e = counts_find(c, bt_block_last(&blocks[i]), &any);
        if (!e->block.info)
            return;
        if (e->kind < c->report)
            continue;
        if (way.count == COUNTS_WAY_TOLD)
            return;
        way.told[way.count++] = (struct counts_transfer){e, -behind};
    }
    *counts_way_of(c->ways, b, way.to) = way;
}

/* The transfers inside of a step, which ends before instruction `number`. */
static void counts_pass_inside(struct counts *c, const struct code_step *step, uint64_t number)
{
    c->number = number - step->insns;
    const struct bt_block *blocks = code_step_blocks(c->config.steps, step);
    for (unsigned i = 0; i + 1 < step->blocks; i++) {
        c->number += bt_block_count(&blocks[i]);
        if (!counts_step_leaves(c, step, i))
            continue;
        counts_at_inside(c, step, i);
        const struct bt_block next = counts_any(c, &blocks[i + 1]);
        counts_reached(c, &next);
    }
}

static inline void counts_take_mark(struct counts *c, const struct bt_block *b)
{
    if (b->info & FLOW_COUNTED)
        return;
    const struct bt_block plain = counts_plain(b);
    counts_times(c, &plain, 1);
}

/* True if the block is counted. */
static inline bool counts_add_known(struct counts_edge *edges, unsigned shift,
                                    const struct bt_block *marked)
{
    const struct bt_block b = counts_plain(marked);
    struct counts_edge *e = &edges[counts_place(shift, COUNTS_FROM_NOWHERE, &b)];
    bool known = counts_is(e, COUNTS_FROM_NOWHERE, &b);
    e->count += known;
    return known;
}

/* Marks behind which something comes before instruction `position`, and whose blocks and ways on
 * were seen before and are where they are looked for first: up to the first one that is otherwise.
 */
static void counts_pass_known(struct counts *c, struct counts_pass *p, uint64_t position)
{
    const struct flow_mark *mark = p->mark, *last = p->marks_end - 1;
    struct counts_edge *edges = c->edges;
    struct counts_transfer *t = c->transfers + c->transfer_count,
                           *full = c->transfers + COUNTS_TRANSFERS;
    unsigned shift = c->shift;
    for (; mark < last && mark->number < position && t < full; mark++) {
        const struct bt_block *b = mark->block;
        const struct counts_way *way = counts_way_of(c->ways, b, b[1].first);
        if (!counts_way_is(way, b, b[1].first, counts_way_info(b + 1)) ||
            (!(b->info & FLOW_COUNTED) && !counts_add_known(edges, shift, b)))
            break;
        t = counts_way_tell(way, mark->number, t);
    }
    c->transfer_count = (size_t)(t - c->transfers);
    if (mark == p->mark)
        return;
    p->mark = mark;
    p->b = mark[-1].block + 1;
    c->number = mark[-1].number;
}

/* A mark of any kind, and what it leads to; `next`: NULL if that comes later. */
static void counts_pass_mark(struct counts *c, const struct flow_mark *mark,
                             const struct bt_block *next)
{
    const struct bt_block *b = mark->block;
    const struct code_step *step = flow_step_of(b);
    uint64_t to = next ? next->first : 0;
    const struct counts_way *way = counts_way_of(c->ways, b, to);
    bool tells = step || next;
    bool known = tells && counts_way_is(way, b, to, next ? counts_way_info(next) : COUNTS_WAY_ENDS);
    if (known) {
        struct counts_transfer *t = c->transfers + c->transfer_count;
        c->transfer_count += (size_t)(counts_way_tell(way, mark->number, t) - t);
    } else if (step) {
        counts_pass_inside(c, step, mark->number);
    }
    counts_take_mark(c, b);
    c->number = mark->number;
    if (known || !tells)
        return;
    counts_at(c, b);
    if (next && counts_left(c)) {
        const struct bt_block any = counts_any(c, next);
        counts_reached(c, &any);
    }
    counts_learn(c, b, next);
}

/* Marked blocks that begin before instruction `position`, and what they lead to. */
static void counts_pass_marks(struct counts *c, struct counts_pass *p, uint64_t position)
{
    while (p->mark < p->marks_end) {
        counts_pass_known(c, p, position);
        const struct flow_mark *mark = p->mark;
        if (mark->number > position && mark->number - bt_block_count(mark->block) >= position)
            return;
        if (c->transfer_count >= COUNTS_TRANSFERS)
            counts_tell(c);
        p->b = mark->block + 1;
        counts_pass_mark(c, mark, p->b < p->end && mark->number < position ? p->b : NULL);
        p->mark++;
    }
}

/* All blocks that begin before instruction `position`. */
static void counts_pass_to(struct counts *c, struct counts_pass *p, uint64_t position)
{
    const struct bt_block *first = p->b;
    bool reports = c->report != COUNTS_NO_TRANSFERS;
    if (first == p->end || c->number >= position)
        return;
    counts_exception(c);
    if (reports && counts_left(c)) {
        const struct bt_block next = counts_any(c, first);
        counts_reached(c, &next);
    }
    if (reports) {
        counts_pass_marks(c, p, position);
        counts_tell(c);
    }
    if (position == UINT64_MAX)
        p->b = p->end;
    for (; p->b < p->end && c->number < position; p->b++)
        c->number += bt_block_count(p->b);
    counts_at(c, p->b - 1);
    for (; p->mark < p->marks_end && p->mark->block < p->b; p->mark++)
        counts_take_mark(c, p->mark->block);
    counts_open(c, (size_t)(p->b - first));
    c->past_next += (uint32_t)(p->b - first);
    c->recent_next = c->past_next;
}

void counts_feed_times(struct counts *c, const struct flow_out *out, uint64_t number)
{
    struct counts_pass p = {out->marks, out->marks + out->mark_count, out->blocks,
                            out->blocks + out->block_count};
    bool follows = c->report != COUNTS_NO_TRANSFERS || c->config.event;
    for (size_t e = 0; e < out->event_count; e++) {
        if (follows || out->events[e].kind == BT_EVENT_GAP)
            counts_pass_to(c, &p, out->events[e].position);
        counts_event(c, &out->events[e]);
    }
    counts_pass_to(c, &p, UINT64_MAX);
    c->number = number;
}
