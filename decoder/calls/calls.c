/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/calls/calls.h"

#include "calls_internal.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_PATHS (64u << 10)
#define FREE_PLACE    0u /* others: index of the path, plus 1 */

int calls_init(struct calls *c, const struct calls_config *config)
{
    memset(c, 0, sizeof *c);
    c->config = *config;
    c->task = CALLS_NO_PATH;
    c->path_max = config->max_paths ? config->max_paths : DEFAULT_PATHS;
    for (c->place_count = 64; c->place_count < c->path_max * 2;)
        c->place_count *= 2;
    c->paths = calloc(c->path_max, sizeof *c->paths);
    c->places = calloc(c->place_count, sizeof *c->places);
    return c->paths && c->places ? BT_OK : BT_ERR_NOMEM;
}

void calls_release(struct calls *c)
{
    free(c->paths);
    free(c->places);
    for (unsigned i = 0; i < CALLS_STACKS; i++)
        free(c->stacks[i].frames);
    memset(c, 0, sizeof *c);
}

static bool path_is(const struct calls_path *p, const struct calls_path *q)
{
    return p->function == q->function && p->site == q->site && p->parent == q->parent &&
           p->exception == q->exception;
}

/* Its first place; others follow, up to a free one. */
static size_t path_place(const struct calls *c, const struct calls_path *p)
{
    uint64_t x = p->function ^ p->site << 19 ^ (uint64_t)p->parent << 37 ^
                 (uint64_t)(uint32_t)p->exception << 50;
    return (size_t)(x * 0x9e3779b97f4a7c15u >> 44) & (c->place_count - 1);
}

/* What has no room counts for its caller; a root without room for the first path of all. */
uint32_t calls_find_path(struct calls *c, const struct calls_path *wanted)
{
    size_t at = path_place(c, wanted);
    for (; c->places[at] != FREE_PLACE; at = (at + 1) & (c->place_count - 1))
        if (path_is(&c->paths[c->places[at] - 1], wanted))
            return c->places[at] - 1;
    if (c->path_count == c->path_max) {
        c->crowded++;
        return wanted->parent == CALLS_NO_PATH ? 0 : wanted->parent;
    }
    c->paths[c->path_count] = *wanted;
    c->places[at] = (uint32_t)++c->path_count;
    return c->places[at] - 1;
}

void calls_forget_paths(struct calls *c)
{
    while (c->path_count > 0) { /* few of many places are taken */
        size_t at = path_place(c, &c->paths[c->path_count - 1]);
        while (c->places[at] != c->path_count)
            at = (at + 1) & (c->place_count - 1);
        c->places[at] = FREE_PLACE;
        c->path_count--;
    }
    memset(c->callees, 0, sizeof c->callees);
    c->crowded = 0;
}

static inline uint64_t calls_way(uint32_t parent, const struct counts_edge *edge)
{
    return (uint64_t)parent << 32 | edge->id;
}

static inline struct calls_callee *calls_callee(struct calls *c, uint64_t way)
{
    return &c->callees[((way >> 32) * 37 + way) % CALLS_CALLEES];
}

/* The path behind `parent`, or the exception's, that the edge leads to. */
static inline uint32_t find_callee(struct calls *c, uint32_t parent, const struct counts_edge *edge,
                                   int32_t exception)
{
    uint64_t way =
        calls_way(exception < 0 ? parent : CALLS_NO_PATH - 1 - (uint32_t)exception, edge);
    struct calls_callee *callee = calls_callee(c, way);
    if (edge->id && callee->way == way)
        return callee->path;
    const struct calls_path wanted = {.function = calls_function(edge),
                                      .site = exception < 0 ? edge->from : 0,
                                      .parent = parent,
                                      .exception = exception};
    uint64_t crowded = c->crowded;
    uint32_t path = calls_find_path(c, &wanted);
    if (edge->id && c->crowded == crowded)
        *callee = (struct calls_callee){way, path};
    return path;
}

static inline void calls_pop(struct calls *c, unsigned depth)
{
    while (c->depth > depth) {
        c->depth--;
        if (c->frames[c->depth].begun && c->config.end)
            c->config.end(c->config.ctx, c->number, c->cycles);
    }
}

static inline void calls_begin(struct calls *c, struct calls_frame *f)
{
    f->begun = true;
    if (c->config.begin)
        c->config.begin(c->config.ctx, f, c->number, c->cycles);
}

void calls_put_frame(struct calls *c, const struct calls_frame *frame)
{
    struct calls_frame *f = &c->frames[c->depth];
    *f = *frame;
    bool tail = f->tail && c->depth && f[-1].exception < 0;
    f->below = tail ? f[-1].below : (uint16_t)c->depth;
    c->depth++;
}

static inline void calls_open(struct calls *c, uint64_t function, uint64_t return_address,
                              bool tail, uint32_t path)
{
    const struct calls_frame frame = {return_address, function, path, -1, .tail = tail};
    calls_put_frame(c, &frame);
    c->paths[path].calls++;
    calls_begin(c, &c->frames[c->depth - 1]);
}

static void calls_open_root(struct calls *c, uint64_t function, uint64_t return_address, bool tail)
{
    const struct calls_path wanted = {.function = function, .parent = c->task, .exception = -1};
    if (c->depth == CALLS_DEPTH) { /* deeper than anyone looks: begins anew */
        calls_pop(c, 0);
        c->crowded++;
    }
    calls_open(c, function, return_address, tail, calls_find_path(c, &wanted));
}

/* The callers are not known. */
static void calls_root(struct calls *c, uint64_t function)
{
    calls_open_root(c, function, 0, false);
}

static inline void calls_push(struct calls *c, const struct counts_edge *edge,
                              uint64_t return_address, bool tail)
{
    uint64_t function = calls_function(edge);
    if (!c->depth || !edge->from || c->depth == CALLS_DEPTH) {
        calls_open_root(c, function, return_address, tail);
        return;
    }
    uint32_t parent = c->frames[c->depth - 1].path;
    calls_open(c, function, return_address, tail, find_callee(c, parent, edge, -1));
}

/* The frame above that of the newest open exception. */
unsigned calls_base(const struct calls *c)
{
    unsigned base = c->depth;
    while (base > 0 && c->frames[base - 1].exception < 0)
        base--;
    return base;
}

/* True if an open call returns there: it is closed. */
static bool calls_return(struct calls *c, uint64_t address)
{
    for (unsigned i = c->depth; i > 0 && c->frames[i - 1].exception < 0; i--) {
        if (c->frames[i - 1].return_address != address)
            continue;
        calls_pop(c, c->frames[i - 1].below);
        return true;
    }
    return false;
}

/* The frame of the handler is one of functions, too: what it calls lies above it. */
static bool calls_back_to(struct calls *c, uint64_t function)
{
    unsigned base = calls_base(c);
    for (unsigned i = c->depth; i > base || (i == base && i > 0); i--) {
        if (c->frames[i - 1].function == function) {
            calls_pop(c, i);
            return true;
        }
    }
    return false;
}

static void calls_leave(struct calls *c, const struct counts_edge *edge)
{
    uint64_t function = calls_function(edge);
    if (c->depth && c->frames[c->depth - 1].function == function)
        return;
    if (edge->block.first != function && calls_back_to(c, function))
        return;
    uint64_t return_address = 0;
    /* A ring of functions that jump to each other does not grow. */
    for (unsigned i = c->depth; i > 0 && c->frames[i - 1].tail; i--) {
        if (c->frames[i - 1].function == function) {
            calls_pop(c, i);
            return;
        }
    }
    if (c->depth && c->frames[c->depth - 1].exception < 0)
        return_address = c->frames[c->depth - 1].return_address;
    calls_push(c, edge, return_address, true);
}

/* A return to somebody who called before the trace shows it; or a switch; or a task begins. */
static void calls_indirect(struct calls *c, const struct counts_edge *edge)
{
    uint64_t function = calls_function(edge);
    if (calls_return(c, edge->block.first) || c->frames[c->depth - 1].function == function)
        return;
    bool begins = edge->block.first == function;
    if (begins && !c->frames[0].arrived) {
        calls_leave(c, edge);
        return;
    }
    unsigned base = calls_base(c);
    calls_pop(c, base);
    if (base)
        calls_push(c, edge, 0, false);
    else
        calls_root(c, function);
}

/* The task whose calls are open outside of exceptions. */
static uint32_t calls_owner(const struct calls *c)
{
    uint32_t path = c->depth ? c->frames[0].path : CALLS_NO_PATH;
    while (path != CALLS_NO_PATH && !c->paths[path].task)
        path = c->paths[path].parent;
    return path;
}

/* A task has one; without tasks it is known by the address alone. */
static struct calls_stack *find_stack(struct calls *c, uint32_t task, uint64_t resume)
{
    struct calls_stack *oldest = &c->stacks[0];
    for (unsigned i = 0; i < CALLS_STACKS; i++) {
        struct calls_stack *s = &c->stacks[i];
        if (s->count && s->task == task && (task != CALLS_NO_PATH || s->resume == resume))
            return s;
        if (s->used < oldest->used)
            oldest = s;
    }
    return oldest;
}

/* Not from where tasks are known to where they are not, or back: what runs there nobody knows. */
static void put_stack_away(struct calls *c, uint64_t resume)
{
    uint32_t task = calls_owner(c);
    struct calls_stack *s = find_stack(c, task, resume);
    if (!c->depth || (task == CALLS_NO_PATH) != (c->task == CALLS_NO_PATH) ||
        (!resume && task == CALLS_NO_PATH))
        return;
    if (!s->frames)
        s->frames = malloc(CALLS_DEPTH * sizeof *s->frames);
    if (!s->frames)
        return;
    memcpy(s->frames, c->frames, c->depth * sizeof *s->frames);
    s->count = c->depth;
    s->resume = resume;
    s->used = ++c->stacks_used;
    s->task = task;
}

/* The task's stack, or that which was interrupted there: its calls go on, in `function`. */
static void take_stack_up(struct calls *c, uint64_t resume, uint64_t function)
{
    struct calls_stack *s = find_stack(c, c->task, resume);
    bool found =
        s->count && s->task == c->task && (c->task != CALLS_NO_PATH || s->resume == resume);
    if (!found || (s->resume != resume && s->frames[s->count - 1].function != function)) {
        s->count = found ? 0 : s->count;
        calls_root(c, function);
        c->frames[0].arrived = !resume;
        return;
    }
    memcpy(c->frames, s->frames, s->count * sizeof *s->frames);
    c->depth = s->count;
    s->count = 0;
    for (unsigned i = 0; i < c->depth; i++)
        calls_begin(c, &c->frames[i]);
}

/* The newest exception is over. False: none is open. */
static bool close_exception(struct calls *c, uint64_t *interrupted)
{
    unsigned base = calls_base(c);
    if (!base)
        return false;
    *interrupted = c->frames[base - 1].return_address;
    calls_pop(c, base - 1);
    return true;
}

/* After an exception, execution goes on: where it was interrupted at `interrupted`, or elsewhere,
 * in another task. */
static void calls_resume(struct calls *c, const struct counts_edge *edge, uint64_t interrupted)
{
    uint64_t address = edge->block.first, function = calls_function(edge);
    const struct calls_frame *top = c->depth ? &c->frames[c->depth - 1] : NULL;
    bool same = !c->switched || calls_owner(c) == c->task || calls_base(c);
    if (top && same && (interrupted == address || top->exception >= 0 || top->function == function))
        return;
    put_stack_away(c, interrupted);
    calls_pop(c, 0);
    take_stack_up(c, address, function);
    c->frames[0].arrived &= address != 0; /* 0 is an address here */
}

void calls_switch(struct calls *c, uint64_t task, uint64_t number)
{
    const struct calls_path path = {
        .function = task, .parent = CALLS_NO_PATH, .exception = -1, .task = true};
    uint32_t before = c->task, now = task ? calls_find_path(c, &path) : CALLS_NO_PATH;
    bool known = now != CALLS_NO_PATH && c->paths[now].task; /* there was room */
    c->switched = true;
    c->task = known ? now : CALLS_NO_PATH;
    if (known)
        c->paths[now].calls++;
    for (unsigned i = 0; i < CALLS_STACKS && (!known || before == CALLS_NO_PATH); i++)
        c->stacks[i].count = 0;
    if (c->task == before || !c->depth || calls_base(c))
        return;
    /* Without an exception: it is the function that runs which goes over to the other stack. */
    uint64_t function = c->frames[c->depth - 1].function;
    calls_settle(c, number, c->cycles);
    put_stack_away(c, 0);
    calls_pop(c, 0);
    take_stack_up(c, 0, function);
}

static inline void calls_begin_handler(struct calls *c, struct calls_frame *top,
                                       const struct counts_edge *edge)
{
    top->function = calls_function(edge);
    top->path = find_callee(c, CALLS_NO_PATH, edge, top->exception);
    c->paths[top->path].calls++;
    calls_begin(c, top);
}

/* The handler is known now that it runs. */
static void calls_enter_handler(struct calls *c, const struct counts_edge *edge)
{
    struct calls_frame *top = c->depth ? &c->frames[c->depth - 1] : NULL;
    if (!top || top->exception < 0 || top->begun) {
        calls_root(c, calls_function(edge));
        return;
    }
    calls_begin_handler(c, top, edge);
}

/* What is neither a call nor surely a return. */
static __attribute__((noinline)) void calls_other(struct calls *c, const struct counts_edge *edge)
{
    if (!c->depth && edge->kind != COUNTS_EXCEPTION) {
        calls_root(c, calls_function(edge));
        return;
    }
    switch (edge->kind) {
    case COUNTS_INDIRECT:
        calls_indirect(c, edge);
        break;
    case COUNTS_LEAVE:
        calls_leave(c, edge);
        break;
    case COUNTS_EXCEPTION:
        calls_enter_handler(c, edge);
        break;
    case COUNTS_EXCEPTION_RETURN: {
        uint64_t interrupted = edge->block.first;
        if (edge->from & 1) /* the event has closed it */
            interrupted = c->interrupted;
        else if (!close_exception(c, &interrupted))
            calls_pop(c, 0);
        calls_resume(c, edge, interrupted);
        break;
    }
    default: /* the begin, or behind a gap */
        calls_pop(c, 0);
        calls_root(c, calls_function(edge));
    }
}

/* Calls and returns are most: a switch would go astray. */
void calls_transfer(void *calls, const struct counts_edge *edge, uint64_t number, uint64_t cycles)
{
    struct calls *c = calls;
    calls_settle(c, number, cycles);
    if (c->depth && edge->kind == COUNTS_CALL) {
        calls_push(c, edge, edge->behind, false);
        return;
    }
    const struct calls_frame *top = &c->frames[c->depth ? c->depth - 1 : 0];
    if (c->depth && edge->kind == COUNTS_INDIRECT && top->return_address == edge->block.first &&
        top->exception < 0)
        calls_pop(c, top->below);
    else
        calls_other(c, edge);
}

/* No open call returns to where the edge leads, which is the newest one's function. */
static inline bool calls_stay(const struct calls_frame *top, const struct counts_edge *edge,
                              unsigned depth, const struct calls_floor *floor)
{
    uint64_t address = edge->block.first;
    if (!edge->function || top->function != edge->function)
        return false;
    for (; depth > floor->frames && top->exception < 0; depth--, top--)
        if (top->return_address == address)
            return false;
    return depth > floor->frames || !floor->frames ||
           (edge->switches && floor->absent[(address >> 1) % CALLS_PIECE_SEEN] == address);
}

/* The frames that stay when execution goes on where the newest exception interrupted it; 0: it does
 * not, or somebody else has to look. */
static inline unsigned calls_resumed(const struct calls *c, const struct counts_edge *edge,
                                     unsigned depth, const struct calls_floor *floor)
{
    uint64_t interrupted = c->interrupted;
    if (c->switched || (edge->from & 1 && floor->frames))
        return 0;
    if (!(edge->from & 1)) {
        while (depth > floor->frames && c->frames[depth - 1].exception < 0)
            depth--;
        if (depth == floor->frames)
            return 0;
        interrupted = c->frames[--depth].return_address;
    }
    return interrupted == edge->block.first ? depth : 0;
}

/* A call that is known from here; `tail`: a jump. Returns the frames that are open then; 0:
 * somebody else has to look. */
static inline unsigned calls_called(struct calls *c, struct calls_frame *top, unsigned depth,
                                    const struct counts_edge *edge, bool tail)
{
    uint64_t way = calls_way(top->path, edge), function = calls_function(edge);
    uint64_t return_address = edge->behind;
    unsigned below = depth;
    const struct calls_callee *callee = calls_callee(c, way);
    if (callee->way != way || depth + 1 >= CALLS_DEPTH)
        return 0;
    if (tail) {
        if (top->tail || function == top->function || function != edge->block.first)
            return 0;
        return_address = top->exception >= 0 ? 0 : top->return_address;
        below = top->exception >= 0 ? depth : top->below;
    }
    c->paths[callee->path].calls++;
    top[1] = (struct calls_frame){return_address,  function,     callee->path, -1,
                                  (uint16_t)below, .tail = tail, .begun = true};
    if (depth + 1 > c->deepest)
        c->deepest = depth + 1;
    return depth + 1;
}

size_t calls_follow(struct calls *c, const struct calls_floor *floor,
                    const struct counts_transfer *transfers, size_t count)
{
    struct calls_path *paths = c->paths;
    const struct counts_transfer *t = transfers, *end = transfers + count;
    unsigned depth = c->depth, lowest = floor->frames;
    uint64_t number = c->number;
    for (; t < end; t++) {
        const struct counts_edge *e = t->edge;
        unsigned next;
        if (depth <= lowest && (e->kind != COUNTS_CALL || depth < lowest || !depth))
            break;
        struct calls_frame *top = &c->frames[depth - 1];
        if (e->kind == COUNTS_INDIRECT) {
            next = top->below;
            if (top->return_address != e->block.first || top->exception >= 0) {
                if (!calls_stay(top, e, depth, floor))
                    break;
                next = depth;
            }
        } else if (top->path == CALLS_NO_PATH) {
            if (e->kind != COUNTS_EXCEPTION)
                break;
            calls_begin_handler(c, top, e);
            number = t->number;
            continue;
        } else {
            next = e->kind == COUNTS_CALL               ? calls_called(c, top, depth, e, false)
                   : e->kind == COUNTS_LEAVE            ? calls_called(c, top, depth, e, true)
                   : e->kind == COUNTS_EXCEPTION_RETURN ? calls_resumed(c, e, depth, floor)
                                                        : 0;
            if (!next)
                break;
        }
        paths[top->path].self += t->number - number;
        number = t->number;
        depth = next;
    }
    c->depth = depth;
    c->number = number;
    return (size_t)(t - transfers);
}

void calls_transfers(void *calls, const struct counts_transfer *transfers, size_t count,
                     uint64_t cycles)
{
    struct calls *c = calls;
    const struct calls_floor floor = {c->config.begin || c->config.end ? CALLS_DEPTH : 0, NULL};
    for (size_t i = 0; i < count;) {
        if (cycles == c->cycles)
            i += calls_follow(c, &floor, transfers + i, count - i);
        if (i < count) {
            calls_transfer(c, transfers[i].edge, transfers[i].number, cycles);
            i++;
        }
    }
}

/* The next exception comes in place of a return to what this handler interrupted (tail-chaining):
 * where that is nobody tells. What the handler jumped to may be what returns. */
static bool calls_are_chained(const struct calls *c, const struct bt_exception *x)
{
    unsigned top = c->depth;
    while (top > 0 && c->frames[top - 1].exception < 0 && c->frames[top - 1].tail)
        top--;
    return c->config.m_profile && !x->has_return && top > 0 && c->frames[top - 1].exception >= 0;
}

void calls_event(void *calls, const struct bt_event *event, uint64_t cycles)
{
    struct calls *c = calls;
    uint64_t interrupted = 0;
    calls_settle(c, event->position > c->number ? event->position : c->number,
                 cycles > c->cycles ? cycles : c->cycles);
    if (event->kind == BT_EVENT_EXCEPTION && c->depth < CALLS_DEPTH) {
        if (event->u.exception.has_return)
            interrupted = event->u.exception.return_address;
        else if (calls_are_chained(c, &event->u.exception))
            (void)close_exception(c, &interrupted);
        const struct calls_frame frame = {.return_address = interrupted,
                                          .path = CALLS_NO_PATH,
                                          .exception = event->u.exception.number};
        calls_put_frame(c, &frame);
    } else if (event->kind == BT_EVENT_EXCEPTION_RET && c->config.m_profile) {
        if (!close_exception(c, &c->interrupted))
            calls_pop(c, 0);
    } else if (event->kind == BT_EVENT_GAP) {
        calls_pop(c, 0);
    }
}

void calls_finish(struct calls *c, uint64_t number, uint64_t cycles)
{
    calls_settle(c, number, cycles);
    calls_pop(c, 0);
    free(c->places);
    c->places = NULL;
    for (size_t i = 0; i < c->path_count; i++) {
        c->paths[i].all = c->paths[i].self;
        c->paths[i].all_cycles = c->paths[i].self_cycles;
    }
    for (size_t i = c->path_count; i > 0; i--) {
        const struct calls_path *p = &c->paths[i - 1];
        if (p->parent == CALLS_NO_PATH)
            continue;
        c->paths[p->parent].all += p->all;
        c->paths[p->parent].all_cycles += p->all_cycles;
    }
}
