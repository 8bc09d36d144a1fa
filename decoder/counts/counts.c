/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/counts/counts.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BITS   12
#define DEFAULT_MAX  (512u << 10)
#define HASH_FACTOR  0x9e3779b97f4a7c15u
#define NO_TRANSFERS 255u
#define NO_EDGE      UINT32_MAX
#define MARKS        (FLOW_COUNTED | CODE_LEAVES) /* in the info of blocks, with `times` */
#define BATCH        1024u                        /* blocks that are fed at a time, with `times` */
#define PAST         (COUNTS_RECENT + 2 * BATCH)  /* what may be taken back, and what comes next */

#define ANY_BLOCK 0x30u /* in the info of a block: whichever begins there */

/* A loop in two kinds: what is asked for is known where it is compiled. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

_Static_assert(sizeof(struct counts_edge) == 64, "an entry is a cache line");

/* Free ones, each in one cache line. */
static struct counts_edge *edges_new(size_t count)
{
    struct counts_edge *edges = aligned_alloc(sizeof *edges, count * sizeof *edges);
    if (edges)
        memset(edges, 0, count * sizeof *edges);
    return edges;
}

int counts_init(struct counts *c, const struct counts_config *config,
                const struct code_image *image, const struct code_key *key)
{
    const struct code_options options = {0};
    memset(c, 0, sizeof *c);
    c->config = *config;
    if (!c->config.max_edges)
        c->config.max_edges = DEFAULT_MAX;
    c->report = !config->transfer ? NO_TRANSFERS : config->jumps ? COUNTS_JUMP : COUNTS_CALL;
    c->image = image;
    c->key = *key;
    c->from = COUNTS_FROM_NOWHERE;
    c->size = (size_t)1 << FIRST_BITS;
    c->shift = 64 - FIRST_BITS;
    c->edges = edges_new(c->size);
    c->recent = calloc(COUNTS_RECENT, sizeof *c->recent);
    c->past = config->times ? calloc(PAST, sizeof *c->past) : NULL;
    c->marks = config->times ? calloc(BATCH + 1, sizeof *c->marks) : NULL;
    if (!c->edges || !c->recent || (config->times && (!c->past || !c->marks)))
        return BT_ERR_NOMEM;
    return code_cache_init(&c->code, image, &options);
}

void counts_release(struct counts *c)
{
    free(c->edges);
    free(c->recent);
    free(c->past);
    free(c->marks);
    c->past = NULL;
    c->marks = NULL;
    c->edges = NULL;
    c->recent = NULL;
    code_cache_release(&c->code);
}

static inline uint64_t counts_rest(const struct bt_block *b)
{
    return (uint64_t)b->info << 32 | b->extent;
}

static inline size_t counts_place(unsigned shift, uint64_t from, const struct bt_block *b)
{
    uint64_t x = b->first ^ counts_rest(b) ^ from << 17;
    return (size_t)(x * HASH_FACTOR >> shift);
}

static inline bool counts_is(const struct counts_edge *e, uint64_t from, const struct bt_block *b)
{
    return ((e->from ^ from) | (e->block.first ^ b->first) |
            (counts_rest(&e->block) ^ counts_rest(b))) == 0;
}

/* Where nobody is told of transfers a block counts by itself, however it was reached. */
static inline uint64_t counts_way(const struct counts *c)
{
    return c->report == NO_TRANSFERS ? COUNTS_FROM_NOWHERE : c->from;
}

/* Its entry, or the free one that it would have. */
static struct counts_edge *counts_find(const struct counts *c, uint64_t from,
                                       const struct bt_block *b)
{
    size_t at = counts_place(c->shift, from, b);
    while (c->edges[at].block.info && !counts_is(&c->edges[at], from, b))
        at = (at + 1) & (c->size - 1);
    return &c->edges[at];
}

static bool counts_grow(struct counts *c)
{
    struct counts_edge *old = c->edges;
    size_t size = c->size;
    struct counts_edge *edges = edges_new(size * 2);
    if (!edges)
        return false;
    c->edges = edges;
    c->size = size * 2;
    c->shift--;
    for (size_t i = 0; i < size; i++)
        if (old[i].block.info)
            *counts_find(c, old[i].from, &old[i].block) = old[i];
    for (uint32_t i = 0; i < COUNTS_RECENT; i++) {
        const struct counts_edge *e = &old[c->recent[i] < size ? c->recent[i] : 0];
        if (c->recent[i] < size && e->block.info)
            c->recent[i] = (uint32_t)(counts_find(c, e->from, &e->block) - edges);
    }
    free(old);
    return true;
}

static uint64_t function_at(const struct counts *c, uint64_t address)
{
    return c->config.function ? c->config.function(c->config.function_ctx, address) : 0;
}

/* No compiler returns by it: TBB, TBH, a load from an index, a sum with the program counter; BR of
 * A64. */
static bool is_switch(uint32_t opcode, enum bt_isa isa, unsigned size)
{
    if (isa == BT_ISA_A64)
        return (opcode & 0xfffffc1fu) == 0xd61f0000u;
    if (isa == BT_ISA_A32)
        return (opcode & 0x0e10f010u) == 0x0610f000u || (opcode & 0x0feff000u) == 0x008ff000u;
    if (size == 2)
        return (opcode & 0xff87u) == 0x4487u;
    return (opcode & 0xfff0ffe0u) == 0xe8d0f000u || (opcode & 0xfff0ffc0u) == 0xf850f000u;
}

/* What leads from the newest block to this one. */
static void counts_classify(struct counts *c, struct counts_edge *e)
{
    struct insn insn;
    uint32_t opcode;
    e->function = function_at(c, e->block.first);
    if (e->from & 1) {
        e->kind = e->from == COUNTS_FROM_NOWHERE     ? COUNTS_ENTRY
                  : e->from == COUNTS_FROM_EXCEPTION ? COUNTS_EXCEPTION
                                                     : COUNTS_EXCEPTION_RETURN;
        return;
    }
    struct code_view *view = code_select(&c->code, &c->key);
    e->from_isa = (uint8_t)bt_block_isa(&c->last);
    e->kind = COUNTS_ENTRY;
    if (!view || code_insn(&c->code, view, e->from, bt_block_isa(&c->last), &insn, &opcode))
        return;
    e->behind = e->from + insn.size;
    bool onward = e->block.first == e->behind;
    /* The kind is the same however often it comes, and whichever comes first: so a conditional call
     * of the next instruction is one, whether its condition held or not. */
    if (onward && !(insn.flags & INSN_LINK && insn.cls == INSN_DIRECT && insn.target == e->behind))
        e->kind = COUNTS_ONWARD;
    else if (insn.flags & INSN_LINK)
        e->kind = COUNTS_CALL;
    else if (insn.flags & INSN_EXC_RETURN)
        e->kind = COUNTS_EXCEPTION_RETURN;
    else if (insn.cls == INSN_INDIRECT)
        e->kind = COUNTS_INDIRECT;
    else
        e->kind = COUNTS_JUMP;
    e->switches =
        e->kind == COUNTS_INDIRECT && is_switch(opcode, bt_block_isa(&c->last), insn.size);
    if (e->kind <= COUNTS_JUMP && function_at(c, e->from) != e->function)
        e->kind = COUNTS_LEAVE;
}

/* Seen for the first time. NULL: there is no room. */
static struct counts_edge *counts_add(struct counts *c, uint64_t from, const struct bt_block *b)
{
    if (c->used == c->config.max_edges)
        return NULL;
    if (c->used * 2 >= c->size && !counts_grow(c))
        return NULL;
    struct counts_edge *e = counts_find(c, from, b);
    *e = (struct counts_edge){.from = from, .block = *b, .kind = COUNTS_ENTRY};
    if (c->report != NO_TRANSFERS)
        counts_classify(c, e);
    c->used++;
    return e;
}

/* Not at its first place: further on, or new. */
static struct counts_edge *counts_search(struct counts *c, uint64_t from, const struct bt_block *b)
{
    struct counts_edge *e = counts_find(c, from, b);
    return e->block.info ? e : counts_add(c, from, b);
}

/* What finds no room is a transfer all the same: the stack of calls must not lose it. */
static void counts_report(struct counts *c, const struct counts_edge *known,
                          const struct bt_block *b)
{
    struct counts_edge e = {.from = c->from, .block = *b};
    if (c->report == NO_TRANSFERS)
        return;
    if (!known)
        counts_classify(c, &e);
    known = known ? known : &e;
    if (known->kind >= c->report)
        c->config.transfer(c->config.ctx, known, c->number, c->cycles);
}

/* The entry of the newest block but those that were taken back already; NULL: it has none. */
static struct counts_edge *counts_newest(struct counts *c)
{
    uint32_t at;
    if (!c->past) {
        at = c->recent[--c->recent_next % COUNTS_RECENT];
        return at == NO_EDGE ? NULL : &c->edges[at];
    }
    at = c->recent_next = (c->recent_next ? c->recent_next : c->past_end) - 1;
    c->past[at].info &= ~MARKS;
    return counts_search(c, COUNTS_FROM_NOWHERE, &c->past[at]);
}

/* So many instructions right before a gap may be wrong: their blocks did not run, for all we know.
 */
static void counts_take_back(struct counts *c, uint64_t doubtful)
{
    uint64_t back = 0;
    for (; back < doubtful && c->recent_open > 0; c->recent_open--) {
        struct counts_edge *e = counts_newest(c);
        back += e ? bt_block_count(&e->block) : 1;
        if (e)
            e->count--;
    }
    c->taken_back += back;
    c->recent_open = 0; /* what is older was proved by what followed it */
}

/* The newest branch was executed, and an exception came before where it leads to: a call, say. */
static void counts_interrupted(struct counts *c, const struct bt_exception *exception)
{
    struct counts_edge e = {.from = c->from, .block.first = exception->return_address};
    if (c->report == NO_TRANSFERS || c->from & 1 || !exception->has_return ||
        exception->return_address == c->from)
        return;
    counts_classify(c, &e);
    if (e.kind >= c->report && e.kind != COUNTS_ENTRY)
        c->config.transfer(c->config.ctx, &e, c->number, c->cycles);
}

/* It is one that the program sees. */
static void counts_exception(struct counts *c)
{
    if (!c->has_exception)
        return;
    c->has_exception = false;
    c->from = c->before;
    counts_interrupted(c, &c->exception.u.exception);
    c->from = COUNTS_FROM_EXCEPTION;
    if (c->config.event)
        c->config.event(c->config.ctx, &c->exception, c->cycles);
}

/* Blocks before instruction `position` that were seen before, by the way they come now, and have no
 * count of cycles; returns how many. */
static ALWAYS_INLINE size_t count_known(struct counts *c, const struct bt_block *blocks,
                                        size_t count, uint64_t position, bool reports)
{
    struct counts_edge *edges = c->edges;
    uint32_t *recent = c->recent, next = c->recent_next;
    unsigned shift = c->shift, report = c->report;
    uint64_t from = c->from, number = c->number;
    size_t i = 0;
    for (; i < count && number < position; i++) {
        uint64_t way = reports ? from : COUNTS_FROM_NOWHERE;
        size_t at = counts_place(shift, way, &blocks[i]);
        struct counts_edge *e = &edges[at];
        if (!counts_is(e, way, &blocks[i])) {
            e = counts_find(c, way, &blocks[i]);
            if (!e->block.info)
                break;
            at = (size_t)(e - edges);
        }
        if (reports && e->kind >= report) { /* who is told may look at the newest block */
            if (i)
                c->last = blocks[i - 1];
            c->from = from;
            c->number = number;
            c->config.transfer(c->config.ctx, e, number, c->cycles);
        }
        e->count++;
        recent[next++ % COUNTS_RECENT] = (uint32_t)at;
        number += bt_block_count(&blocks[i]);
        from = bt_block_last(&blocks[i]);
    }
    if (i)
        c->last = blocks[i - 1];
    c->from = from;
    c->number = number;
    c->recent_next = next;
    return i;
}

/* Any block, with its cycles. */
static void count_one(struct counts *c, const struct bt_block *b, uint64_t cycles)
{
    struct counts_edge *e = counts_search(c, counts_way(c), b);
    counts_report(c, e, b);
    if (e)
        e->count++;
    else
        c->left_out++;
    c->recent[c->recent_next++ % COUNTS_RECENT] = e ? (uint32_t)(e - c->edges) : NO_EDGE;
    if (cycles != FLOW_NO_CYCLES) {
        c->cycles += cycles;
        if (e)
            e->cycles += cycles;
    }
    c->number += bt_block_count(b);
    c->from = bt_block_last(b);
    c->last = *b;
}

/* How many blocks from `first` on have no count of cycles. */
static size_t without_cycles(const uint64_t *cycles, size_t first, size_t count)
{
    size_t i = first;
    if (!cycles)
        return count - first;
    while (i < count && cycles[i] == FLOW_NO_CYCLES)
        i++;
    return i - first;
}

static void counts_add_times(struct counts *c, const struct bt_block *b, uint64_t times)
{
    struct counts_edge *e = &c->edges[counts_place(c->shift, COUNTS_FROM_NOWHERE, b)];
    if (!counts_is(e, COUNTS_FROM_NOWHERE, b))
        e = counts_search(c, COUNTS_FROM_NOWHERE, b);
    if (e)
        e->count += times;
    else
        c->left_out += times;
}

void counts_range(void *ctx, const struct code_range *range, const uint64_t times[2])
{
    for (uint32_t way = CODE_TAKEN; way <= CODE_ONWARD; way++) {
        const struct bt_block b = {code_range_first64(range), range->extent,
                                   range->info + ((BT_COND_PASS + way) << 4)};
        if (times[way])
            counts_add_times(ctx, &b, times[way]);
    }
}

void counts_room(struct counts *c, struct flow_out *out)
{
    if (PAST - c->past_next < BATCH) {
        c->past_end = c->past_next;
        c->past_next = 0;
    }
    out->blocks = c->past + c->past_next;
    out->block_max = BATCH;
    out->times = true;
    out->leaves = c->report != NO_TRANSFERS;
    out->marks = c->marks;
    out->mark_count = 0;
}

bool counts_leaves(void *ctx, uint64_t from, uint64_t to)
{
    return function_at(ctx, from) != function_at(ctx, to);
}

static size_t counts_each(struct counts *c, const struct flow_out *out, size_t first,
                          uint64_t position)
{
    size_t i = first;
    while (i < out->block_count && c->number < position) {
        size_t end = out->block_count - i < BATCH ? out->block_count : i + BATCH;
        size_t plain = without_cycles(out->cycles, i, end); /* not of all, again for each event */
        i += c->report == NO_TRANSFERS ? count_known(c, out->blocks + i, plain, position, false)
                                       : count_known(c, out->blocks + i, plain, position, true);
        if (i < out->block_count && c->number < position) {
            count_one(c, &out->blocks[i], out->cycles ? out->cycles[i] : FLOW_NO_CYCLES);
            i++;
        }
    }
    return i;
}

/* So many more blocks may be taken back. */
static void counts_open(struct counts *c, size_t count)
{
    size_t open = c->recent_open + count;
    c->recent_open = open < COUNTS_RECENT ? (uint32_t)open : COUNTS_RECENT;
}

/* The blocks from `first` on that begin before instruction `position`; returns where they end. */
static size_t counts_take(struct counts *c, const struct flow_out *out, size_t first,
                          uint64_t position)
{
    if (first < out->block_count && c->number < position)
        counts_exception(c);
    size_t i = counts_each(c, out, first, position);
    counts_open(c, i - first);
    return i;
}

static void counts_hold_exception(struct counts *c, const struct bt_event *e)
{
    counts_exception(c);
    c->exception = *e;
    c->has_exception = true;
    c->before = c->from;
}

/* Debug state ends; an exception may be the entry to it. Mostly the core goes on where it was. */
static void counts_resume(struct counts *c, const struct bt_event *e)
{
    const struct bt_exception *x = &c->exception.u.exception;
    if (!c->has_exception)
        return;
    bool halts = x->has_return && x->has_vector && x->return_address == x->vector; /* ETMv3 */
    if (x->has_vector && e->u.trace_on.has_address && e->u.trace_on.address == x->vector &&
        !halts) {
        counts_exception(c); /* the core halted at its vector */
        return;
    }
    c->has_exception = false;
    c->from =
        x->has_return && e->u.trace_on.has_address && e->u.trace_on.address == x->return_address
            ? c->before
            : COUNTS_FROM_NOWHERE;
}

static void counts_trace_on(struct counts *c, const struct bt_event *e)
{
    if (e->cause == BT_GAP_DEBUG) {
        counts_resume(c, e);
    } else if (e->cause != BT_GAP_NONE) {
        counts_exception(c);
        c->from = COUNTS_FROM_NOWHERE;
    }
}

static void counts_event(struct counts *c, const struct bt_event *e)
{
    flow_track_key(&c->key, e);
    if (e->has_cycles)
        c->cycles += e->cycles;
    switch (e->kind) {
    case BT_EVENT_EXCEPTION:
        counts_hold_exception(c, e);
        return;
    case BT_EVENT_EXCEPTION_RET:
        counts_exception(c);
        if (c->config.m_profile)
            c->from = COUNTS_FROM_EXCEPTION_RETURN;
        break;
    case BT_EVENT_TRACE_ON:
        counts_trace_on(c, e);
        break;
    case BT_EVENT_GAP:
        counts_exception(c);
        counts_take_back(c, e->u.gap.doubtful);
        c->from = COUNTS_FROM_NOWHERE;
        break;
    default:
        break;
    }
    if (c->config.event)
        c->config.event(c->config.ctx, e, c->cycles);
}

void counts_feed(struct counts *c, const struct flow_out *out)
{
    size_t b = 0;
    for (size_t e = 0; e < out->event_count; e++) {
        b = counts_take(c, out, b, out->events[e].position);
        counts_event(c, &out->events[e]);
    }
    counts_take(c, out, b, UINT64_MAX);
}

/* What is left to be seen of a batch, from block `b` on, whose first instruction is that of number
 * c->number. */
struct counts_pass {
    const struct flow_mark *mark, *marks_end;
    const struct bt_block *b, *end;
};

/* The block may have been reached by a transfer. */
static inline void counts_reached(struct counts *c, const struct bt_block *marked)
{
    const struct bt_block b = {marked->first, 0, (marked->info & 0xf) | ANY_BLOCK};
    const struct counts_edge *e = &c->edges[counts_place(c->shift, c->from, &b)];
    if (!counts_is(e, c->from, &b))
        e = counts_search(c, c->from, &b);
    if (!e)
        counts_report(c, NULL, &b);
    else if (e->kind >= c->report)
        c->config.transfer(c->config.ctx, e, c->number, c->cycles);
}

static bool counts_left(const struct counts *c)
{
    return c->from & 1 || (c->last.info & MARKS) != FLOW_COUNTED;
}

static void counts_at(struct counts *c, const struct bt_block *newest)
{
    c->last = *newest;
    c->from = bt_block_last(newest);
}

static inline void counts_take_mark(struct counts *c, const struct bt_block *b)
{
    if (b->info & FLOW_COUNTED)
        return;
    const struct bt_block plain = {b->first, b->extent, b->info & ~MARKS};
    counts_add_times(c, &plain, 1);
}

/* Marked blocks that begin before instruction `position`, and what they lead to. */
static void counts_pass_marks(struct counts *c, struct counts_pass *p, uint64_t position)
{
    for (; p->mark < p->marks_end; p->mark++) {
        const struct bt_block *b = p->mark->block;
        if (p->mark->number - bt_block_count(b) >= position)
            return;
        counts_take_mark(c, b);
        counts_at(c, b);
        c->number = p->mark->number;
        p->b = b + 1;
        if (p->b < p->end && c->number < position)
            counts_reached(c, p->b);
    }
}

/* All blocks that begin before instruction `position`. */
static void counts_pass_to(struct counts *c, struct counts_pass *p, uint64_t position)
{
    const struct bt_block *first = p->b;
    bool reports = c->report != NO_TRANSFERS;
    if (first == p->end || c->number >= position)
        return;
    counts_exception(c);
    if (reports && counts_left(c))
        counts_reached(c, first);
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
    bool follows = c->report != NO_TRANSFERS || c->config.event;
    for (size_t e = 0; e < out->event_count; e++) {
        if (follows || out->events[e].kind == BT_EVENT_GAP)
            counts_pass_to(c, &p, out->events[e].position);
        counts_event(c, &out->events[e]);
    }
    counts_pass_to(c, &p, UINT64_MAX);
    c->number = number;
}

/* The newest blocks, so far as a gap may take them back. */
static bool counts_same_recent(const struct counts *a, const struct counts *b, uint64_t doubtful)
{
    uint64_t back = 0;
    for (uint32_t i = 1; back < doubtful; i++) {
        if (i > a->recent_open || i > b->recent_open)
            return a->recent_open == b->recent_open;
        uint32_t x = a->recent[(a->recent_next - i) % COUNTS_RECENT];
        uint32_t y = b->recent[(b->recent_next - i) % COUNTS_RECENT];
        if (x == NO_EDGE || y == NO_EDGE ||
            !counts_is(&a->edges[x], b->edges[y].from, &b->edges[y].block))
            return false;
        back += bt_block_count(&a->edges[x].block);
    }
    return true;
}

static bool counts_same_key(const struct code_key *a, const struct code_key *b)
{
    return a->generation == b->generation && a->core == b->core && a->security == b->security &&
           a->has_context == b->has_context && (!a->has_context || a->context == b->context) &&
           a->has_vmid == b->has_vmid && (!a->has_vmid || a->vmid == b->vmid);
}

bool counts_same(const struct counts *a, const struct counts *b, uint64_t doubtful)
{
    return a->from == b->from && a->last.first == b->last.first &&
           counts_rest(&a->last) == counts_rest(&b->last) && !a->has_exception &&
           !b->has_exception && counts_same_key(&a->key, &b->key) &&
           counts_same_recent(a, b, doubtful);
}

void counts_clear(struct counts *c)
{
    for (size_t i = 0; i < c->size; i++)
        c->edges[i].count = c->edges[i].cycles = 0;
    c->taken_back = c->left_out = 0;
}
