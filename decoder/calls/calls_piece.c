/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/calls/calls_piece.h"

#include "calls_internal.h"
#include "decoder/base/array.h"

#include <stdlib.h>
#include <string.h>

#define NO_RETURN  1u    /* no instruction has that address */
#define ABSENT_MAX 4096u /* of a step */

void calls_piece_release(struct calls_piece *p)
{
    free(p->rows);
    free(p->steps);
    free(p->frames);
    free(p->absent);
    memset(p, 0, sizeof *p);
}

void calls_cutter_release(struct calls_cutter *c)
{
    calls_release(&c->calls);
    calls_piece_release(&c->piece);
}

/* What is open is now below a new base, in `function` (0: not known). */
static void cutter_base(struct calls_cutter *c, uint64_t function)
{
    const struct calls_path base = {
        .function = c->piece.step_count, .parent = CALLS_NO_PATH, .exception = CALLS_ROW_BASE};
    c->calls.depth = 1;
    c->calls.frames[0] = (struct calls_frame){.return_address = NO_RETURN,
                                              .function = function,
                                              .path = calls_find_path(&c->calls, &base),
                                              .exception = -1,
                                              .begun = true};
    c->step_absent = c->piece.absent_count;
    memset(c->seen, 0xff, sizeof c->seen); /* no address */
    c->calls.deepest = 1;
    c->relied = false;
    c->closed = false;
}

/* All that is open above the base, and what happens to it and to what is below. */
static void cutter_step(struct calls_cutter *c, struct calls_step *step)
{
    struct calls_piece *p = &c->piece;
    for (unsigned i = 1; i < c->calls.depth && !c->error; i++) {
        if (!array_room(&p->frames, p->frame_count, &c->frame_max, sizeof *p->frames))
            c->error = BT_ERR_NOMEM;
        else
            p->frames[p->frame_count++] = c->calls.frames[i];
    }
    if (!c->error && !array_room(&p->steps, p->step_count, &c->step_max, sizeof *p->steps))
        c->error = BT_ERR_NOMEM;
    if (c->error)
        return;
    step->rows = c->calls.path_count;
    step->function = c->relied ? c->calls.frames[0].function : 0;
    step->frames = c->calls.depth - 1;
    step->deepest = c->calls.deepest - 1;
    step->absent = (uint32_t)(p->absent_count - c->step_absent);
    p->steps[p->step_count++] = *step;
}

/* No call below the base returns there. False: there is no room to say so. */
static bool cutter_absent(struct calls_cutter *c, uint64_t address)
{
    struct calls_piece *p = &c->piece;
    uint64_t *seen = &c->seen[(address >> 1) % CALLS_PIECE_SEEN];
    if (*seen == address)
        return true;
    if (p->absent_count - c->step_absent >= ABSENT_MAX)
        return false;
    if (!array_room(&p->absent, p->absent_count, &c->absent_max, sizeof *p->absent))
        c->error = BT_ERR_NOMEM;
    if (c->error)
        return false;
    p->absent[p->absent_count++] = *seen = address;
    return true;
}

/* The base is in that function, as far as is known. */
static bool cutter_relies(struct calls_cutter *c, const struct counts_edge *edge)
{
    bool same = edge->function && c->calls.frames[0].function == edge->function;
    c->relied |= same;
    return same;
}

/* The predicates below follow calls.c: whether it would look at what is below the base. */

static bool indirect_is_below(struct calls_cutter *c, const struct counts_edge *edge)
{
    const struct calls *calls = &c->calls;
    for (unsigned i = calls->depth; i > 1; i--)
        if (calls->frames[i - 1].return_address == edge->block.first)
            return false;
    if (calls->depth == 1)
        return !edge->switches || !cutter_relies(c, edge) || !cutter_absent(c, edge->block.first);
    if (!edge->function) /* where it begins is not known */
        return true;
    bool stays = edge->switches && calls->frames[calls->depth - 1].function == edge->function;
    return (!stays && edge->block.first != edge->function) || !cutter_absent(c, edge->block.first);
}

static bool leave_is_below(struct calls_cutter *c, const struct counts_edge *edge)
{
    const struct calls *calls = &c->calls;
    uint64_t function = calls_function(edge);
    if (calls->depth == 1)
        return !cutter_relies(c, edge);
    bool found = edge->block.first == function;
    for (unsigned i = calls->depth; i > 1 && !found; i--)
        found = calls->frames[i - 1].function == function;
    return !found;
}

static bool return_is_below(const struct calls_cutter *c, const struct counts_edge *edge)
{
    const struct calls *calls = &c->calls;
    unsigned base = calls_base(calls), top = calls->depth;
    uint64_t interrupted = calls->interrupted;
    if (edge->from & 1) {
        if (!c->closed)
            return true;
    } else {
        if (!base)
            return true;
        interrupted = calls->frames[base - 1].return_address;
        top = base - 1;
    }
    if (interrupted == edge->block.first)
        return top == 1 && !c->entered;
    const struct calls_frame *frame = &calls->frames[top - 1];
    return top == 1 || (frame->exception < 0 && frame->function != calls_function(edge));
}

static inline bool transfer_is_below(struct calls_cutter *c, const struct counts_edge *edge)
{
    bool floor = c->calls.depth == 1;
    const struct calls_frame *top = &c->calls.frames[c->calls.depth - 1];
    if (!floor && edge->kind == COUNTS_INDIRECT && top->return_address == edge->block.first &&
        top->exception < 0)
        return false; /* most returns */
    switch (edge->kind) {
    case COUNTS_CALL:
        return floor && !c->entered;
    case COUNTS_INDIRECT:
        return (floor && !c->entered) || (!calls_base(&c->calls) && indirect_is_below(c, edge));
    case COUNTS_LEAVE:
        return (floor && !c->entered) || (leave_is_below(c, edge) && !calls_base(&c->calls));
    case COUNTS_EXCEPTION:
        return floor;
    case COUNTS_EXCEPTION_RETURN:
        return return_is_below(c, edge);
    default:
        return true;
    }
}

/* False: there is no more use in following. */
static bool cutter_goes_on(struct calls_cutter *c)
{
    if (!c->error && (c->calls.crowded || c->calls.depth == CALLS_DEPTH))
        c->error = BT_ERR_UNSUPPORTED;
    return !c->error;
}

static void cutter_deeper(struct calls_cutter *c)
{
    if (c->calls.depth > c->calls.deepest)
        c->calls.deepest = c->calls.depth;
}

void calls_cutter_transfer(void *cutter, const struct counts_edge *edge, uint64_t number,
                           uint64_t cycles)
{
    struct calls_cutter *c = cutter;
    if (!cutter_goes_on(c))
        return;
    if (!transfer_is_below(c, edge)) {
        calls_transfer(&c->calls, edge, number, cycles);
        cutter_deeper(c);
        c->closed = false;
        return;
    }
    bool closed = edge->kind == COUNTS_EXCEPTION_RETURN && edge->from & 1 && c->closed;
    struct calls_step step = {
        .from = edge->from,
        .to = edge->block.first,
        .target = edge->function,
        .behind = closed ? c->calls.interrupted : edge->behind,
        .closed = closed,
        .op = (uint8_t)(CALLS_OP_TRANSFER + edge->kind),
    };
    calls_settle(&c->calls, number, cycles);
    cutter_step(c, &step);
    c->entered = edge->kind != COUNTS_INDIRECT || edge->block.first; /* a root "returns" to 0 */
    cutter_base(c, edge->function);
}

void calls_cutter_transfers(void *cutter, const struct counts_transfer *transfers, size_t count,
                            uint64_t cycles)
{
    struct calls_cutter *c = cutter;
    const struct calls_floor floor = {1, c->seen};
    for (size_t i = 0; i < count && cutter_goes_on(c);) {
        size_t followed = 0;
        if (cycles == c->calls.cycles && c->entered)
            followed = calls_follow(&c->calls, &floor, transfers + i, count - i);
        i += followed;
        c->closed &= !followed;
        if (i < count) {
            calls_cutter_transfer(c, transfers[i].edge, transfers[i].number, cycles);
            i++;
        }
    }
}

static bool event_is_below(const struct calls_cutter *c, const struct bt_event *event)
{
    unsigned top = c->calls.depth;
    switch (event->kind) {
    case BT_EVENT_EXCEPTION:
        while (c->calls.frames[top - 1].exception < 0 && c->calls.frames[top - 1].tail)
            top--;
        return c->calls.config.m_profile && !event->u.exception.has_return && top == 1;
    case BT_EVENT_EXCEPTION_RET:
        return c->calls.config.m_profile && !calls_base(&c->calls);
    default:
        return event->kind == BT_EVENT_GAP;
    }
}

void calls_cutter_event(void *cutter, const struct bt_event *event, uint64_t cycles)
{
    struct calls_cutter *c = cutter;
    if (!cutter_goes_on(c))
        return;
    if (!event_is_below(c, event)) {
        calls_event(&c->calls, event, cycles);
        cutter_deeper(c);
        bool returns = event->kind == BT_EVENT_EXCEPTION_RET && c->calls.config.m_profile;
        c->closed = returns || (c->closed && event->kind != BT_EVENT_EXCEPTION);
        return;
    }
    struct calls_step step = {.op = CALLS_OP_GAP};
    if (event->kind == BT_EVENT_EXCEPTION) {
        step.op = CALLS_OP_EXCEPTION;
        step.exception = event->u.exception.number;
    } else if (event->kind == BT_EVENT_EXCEPTION_RET) {
        step.op = CALLS_OP_EXCEPTION_RETURN;
    }
    calls_settle(&c->calls, event->position > c->calls.number ? event->position : c->calls.number,
                 cycles > c->calls.cycles ? cycles : c->calls.cycles);
    cutter_step(c, &step);
    c->entered = step.op == CALLS_OP_EXCEPTION;
    cutter_base(c, 0);
}

void calls_cutter_begin(struct calls_cutter *c, uint64_t number, uint64_t cycles)
{
    struct calls *calls = &c->calls;
    calls_piece_release(&c->piece);
    c->step_max = c->frame_max = c->absent_max = 0;
    calls_forget_paths(calls);
    calls->number = number;
    calls->cycles = cycles;
    c->entered = false;
    c->error = BT_OK;
    cutter_base(c, 0);
}

int calls_cutter_init(struct calls_cutter *c, bool m_profile)
{
    const struct calls_config config = {.max_paths = CALLS_PIECE_ROWS, .m_profile = m_profile};
    memset(c, 0, sizeof *c);
    int error = calls_init(&c->calls, &config);
    if (!error)
        calls_cutter_begin(c, 0, 0);
    return error;
}

int calls_cutter_end(struct calls_cutter *c, uint64_t number, uint64_t cycles,
                     struct calls_piece *out)
{
    struct calls_step step = {.op = CALLS_OP_END};
    memset(out, 0, sizeof *out);
    if (!cutter_goes_on(c))
        return c->error;
    calls_settle(&c->calls, number, cycles);
    cutter_step(c, &step);
    c->piece.row_count = c->calls.path_count;
    c->piece.rows = malloc(c->piece.row_count * sizeof *c->piece.rows);
    if (c->error || !c->piece.rows)
        return BT_ERR_NOMEM;
    memcpy(c->piece.rows, c->calls.paths, c->piece.row_count * sizeof *c->piece.rows);
    *out = c->piece;
    memset(&c->piece, 0, sizeof c->piece);
    return BT_OK;
}

/* Joining. */

struct join {
    struct calls *calls;
    const struct calls_piece *piece;
    uint32_t *paths; /* of the rows */
    size_t row, frame, absent;
};

/* What was taken for true of the frames below holds. */
static bool join_holds(const struct join *j, const struct calls_step *s)
{
    const struct calls *c = j->calls;
    if (c->depth + s->deepest > CALLS_DEPTH || s->frames > s->deepest)
        return false;
    if (s->function && (!c->depth || c->frames[c->depth - 1].function != s->function))
        return false;
    for (unsigned i = c->depth; i > 0 && c->frames[i - 1].exception < 0; i--)
        for (uint32_t k = 0; k < s->absent; k++)
            if (c->frames[i - 1].return_address == j->piece->absent[j->absent + k])
                return false;
    return true;
}

static void join_row(struct join *j, const struct calls_path *row, uint32_t base)
{
    struct calls *c = j->calls;
    uint32_t path = base;
    if (row->exception != CALLS_ROW_BASE) {
        const struct calls_path wanted = {
            .function = row->function,
            .site = row->site,
            .parent = row->parent == CALLS_NO_PATH ? CALLS_NO_PATH : j->paths[row->parent],
            .exception = row->exception};
        path = calls_find_path(c, &wanted);
    }
    j->paths[j->row++] = path;
    if (path == CALLS_NO_PATH)
        return;
    c->paths[path].calls += row->calls;
    c->paths[path].self += row->self;
    c->paths[path].self_cycles += row->self_cycles;
}

static void join_op(struct calls *c, const struct calls_step *s)
{
    struct bt_event event = {.kind = BT_EVENT_GAP};
    if (s->op >= CALLS_OP_TRANSFER) {
        const struct counts_edge edge = {.from = s->from,
                                         .block.first = s->to,
                                         .behind = s->behind,
                                         .function = s->target,
                                         .kind = (uint8_t)(s->op - CALLS_OP_TRANSFER)};
        if (s->closed)
            c->interrupted = s->behind;
        calls_transfer(c, &edge, c->number, c->cycles);
    } else if (s->op != CALLS_OP_END) {
        if (s->op == CALLS_OP_EXCEPTION) {
            event.kind = BT_EVENT_EXCEPTION;
            event.u.exception.number = (uint16_t)s->exception;
        } else if (s->op == CALLS_OP_EXCEPTION_RETURN) {
            event.kind = BT_EVENT_EXCEPTION_RET;
        }
        calls_event(c, &event, c->cycles);
    }
}

static void join_step(struct join *j, const struct calls_step *s)
{
    struct calls *c = j->calls;
    uint32_t base = c->depth ? c->frames[c->depth - 1].path : CALLS_NO_PATH;
    while (j->row < s->rows)
        join_row(j, &j->piece->rows[j->row], base);
    for (uint32_t i = 0; i < s->frames; i++) {
        struct calls_frame frame = j->piece->frames[j->frame++];
        if (frame.path != CALLS_NO_PATH)
            frame.path = j->paths[frame.path];
        calls_put_frame(c, &frame);
    }
    j->absent += s->absent;
    join_op(c, s);
}

int calls_join(struct calls *c, const struct calls_piece *p)
{
    struct join j = {.calls = c, .piece = p};
    int error = BT_OK;
    j.paths = malloc(p->row_count * sizeof *j.paths + 1);
    if (!j.paths)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < p->step_count && !error; i++) {
        error = join_holds(&j, &p->steps[i]) ? BT_OK : BT_ERR_UNSUPPORTED;
        if (!error)
            join_step(&j, &p->steps[i]);
    }
    free(j.paths);
    return error;
}
