/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts that the decoder keeps, of ranges and of steps: of the blocks only those that are marked
 * are looked at. */
#include "counts_internal.h"
#include "decoder/base/array.h"

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

/* The block may have been reached by a transfer; not by one that is at its first place. */
static void counts_reached(struct counts *c, const struct bt_block *b)
{
    const struct counts_edge *e = counts_search(c, c->from, b);
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

static bool counts_left(const struct counts *c)
{
    return c->from & 1 || (c->last.info & COUNTS_MARKS) != FLOW_COUNTED;
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

/* What of a step's transfers is told each time is remembered, if there is room. */
static void counts_learn(struct counts *c, const struct code_step *step)
{
    struct counts_inside *in = c->inside;
    const struct bt_block *blocks = code_step_blocks(c->config.steps, step);
    size_t pooled = in->pooled;
    uint64_t behind = step->insns;
    if (!array_room_for(&in->pool, pooled, &in->room, step->blocks, sizeof *in->pool))
        return;
    for (unsigned i = 0; i + 1 < step->blocks; i++) {
        behind -= bt_block_count(&blocks[i]);
        if (!counts_step_leaves(c, step, i))
            continue;
        const struct bt_block next = counts_any(c, &blocks[i + 1]);
        const struct counts_edge *e = counts_find(c, bt_block_last(&blocks[i]), &next);
        if (!e->block.info)
            return;
        if (e->kind >= c->report)
            in->pool[pooled++] = (struct counts_transfer){e, behind};
    }
    in->pool[pooled++] = (struct counts_transfer){NULL, 0};
    in->firsts[step - c->config.steps->steps] = (uint32_t)in->pooled + 1;
    in->pooled = pooled;
}

/* The transfers inside of a step, which ends before instruction `number`. */
static void counts_pass_inside(struct counts *c, const struct code_step *step, uint64_t number)
{
    uint32_t first = c->inside->firsts[step - c->config.steps->steps];
    if (first) {
        const struct counts_transfer *in = c->inside->pool + first - 1;
        for (; in->edge; in++)
            c->transfers[c->transfer_count++] =
                (struct counts_transfer){in->edge, number - in->number};
        return;
    }
    c->number = number - step->insns;
    for (unsigned i = 0; i + 1 < step->blocks; i++) {
        counts_at_inside(c, step, i);
        c->number += bt_block_count(&c->last);
        if (!counts_step_leaves(c, step, i))
            continue;
        const struct bt_block next = counts_any(c, code_step_blocks(c->config.steps, step) + i + 1);
        counts_reached(c, &next);
    }
    counts_learn(c, step);
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

/* Marks whose blocks and ways on were seen before, and are where they are looked for first: up to
 * the first one that is otherwise. */
static void counts_pass_known(struct counts *c, struct counts_pass *p,
                              const struct flow_mark *marks_end)
{
    const struct flow_mark *mark = p->mark;
    struct counts_edge *edges = c->edges;
    struct counts_transfer *t = c->transfers + c->transfer_count,
                           *full = c->transfers + COUNTS_TRANSFERS;
    unsigned shift = c->shift, report = c->report;
    for (; mark < marks_end && t < full; mark++) {
        const struct bt_block *marked = mark->block, *last = marked;
        const struct code_step *step = flow_step_of(marked);
        struct counts_transfer *next = t;
        if (step) {
            uint32_t first = c->inside->firsts[step - c->config.steps->steps];
            if (!first)
                break;
            const struct counts_transfer *in = c->inside->pool + first - 1;
            for (; in->edge; in++)
                *next++ = (struct counts_transfer){in->edge, mark->number - in->number};
            last = code_step_blocks(c->config.steps, step) + step->blocks - 1;
        }
        if (!step || counts_step_leaves(c, step, step->blocks - 1u)) {
            const struct bt_block b = counts_any(c, marked + 1);
            uint64_t from = bt_block_last(last);
            const struct counts_edge *e = &edges[counts_place(shift, from, &b)];
            if (!counts_is(e, from, &b) ||
                (!(marked->info & FLOW_COUNTED) && !counts_add_known(edges, shift, marked)))
                break;
            *next = (struct counts_transfer){e, mark->number};
            next += e->kind >= report;
        }
        t = next;
    }
    c->transfer_count = (size_t)(t - c->transfers);
    p->mark = mark;
}

/* Marked blocks that begin before instruction `position`, and what they lead to. */
static void counts_pass_marks(struct counts *c, struct counts_pass *p, uint64_t position)
{
    const struct flow_mark *end = position == UINT64_MAX ? p->marks_end : p->mark;
    while (end < p->marks_end && end->number - bt_block_count(end->block) < position)
        end++;
    if (end == p->mark)
        return;
    while (p->mark < end) {
        counts_pass_known(c, p, end - 1); /* the last one may lead to what comes later */
        if (c->transfer_count >= COUNTS_TRANSFERS)
            counts_tell(c);
        const struct bt_block *b = p->mark->block;
        const struct code_step *step = flow_step_of(b);
        if (step)
            counts_pass_inside(c, step, p->mark->number);
        counts_take_mark(c, b);
        counts_at(c, b);
        c->number = p->mark->number;
        p->b = b + 1;
        p->mark++;
        if (counts_left(c) && p->b < p->end && c->number < position) {
            const struct bt_block next = counts_any(c, p->b);
            counts_reached(c, &next);
        }
    }
    counts_tell(c);
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
        counts_tell(c);
    }
    if (reports)
        counts_pass_marks(c, p, position);
    if (position == UINT64_MAX) {
        counts_at(c, p->end - 1);
        p->b = p->end;
    }
    for (; p->b < p->end && c->number < position; p->b++) {
        counts_at(c, p->b);
        c->number += bt_block_count(p->b);
    }
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
