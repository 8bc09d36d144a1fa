/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/counts/counts.h"

#include "counts_internal.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BITS  12
#define DEFAULT_MAX (512u << 10)
#define NO_EDGE     UINT32_MAX

/* A loop in two kinds: what is asked for is known where it is compiled. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

#define CACHE_LINE 64u

_Static_assert(sizeof(struct counts_edge) == CACHE_LINE && sizeof(struct counts_way) == CACHE_LINE,
               "an entry is a cache line");

/* Free ones, each in one cache line. */
static void *lines_new(size_t count)
{
    void *lines = aligned_alloc(CACHE_LINE, count * CACHE_LINE);
    if (lines)
        memset(lines, 0, count * CACHE_LINE);
    return lines;
}

int counts_init(struct counts *c, const struct counts_config *config,
                const struct code_image *image, const struct code_key *key)
{
    const struct code_options options = {0};
    memset(c, 0, sizeof *c);
    c->config = *config;
    if (!c->config.max_edges)
        c->config.max_edges = DEFAULT_MAX;
    c->report = !config->transfer ? COUNTS_NO_TRANSFERS : config->jumps ? COUNTS_JUMP : COUNTS_CALL;
    c->key = *key;
    c->from = COUNTS_FROM_NOWHERE;
    c->size = (size_t)1 << FIRST_BITS;
    c->shift = 64 - FIRST_BITS;
    c->edges = lines_new(c->size);
    c->recent = calloc(COUNTS_RECENT, sizeof *c->recent);
    c->past = config->times ? calloc(COUNTS_PAST, sizeof *c->past) : NULL;
    c->marks = config->times ? calloc(COUNTS_BATCH + 1, sizeof *c->marks) : NULL;
    c->transfers =
        config->times ? calloc(COUNTS_TRANSFERS + CODE_STEP_BLOCKS, sizeof *c->transfers) : NULL;
    c->ways = config->times ? lines_new(COUNTS_WAYS) : NULL;
    if (!c->edges || !c->recent ||
        (config->times && (!c->past || !c->marks || !c->transfers || !c->ways)))
        return BT_ERR_NOMEM;
    return code_cache_init(&c->code, image, &options);
}

void counts_release(struct counts *c)
{
    free(c->edges);
    free(c->recent);
    free(c->past);
    free(c->marks);
    free(c->transfers);
    free(c->ways);
    c->ways = NULL;
    c->past = NULL;
    c->marks = NULL;
    c->transfers = NULL;
    c->edges = NULL;
    c->recent = NULL;
    code_cache_release(&c->code);
}

/* Where nobody is told of transfers a block counts by itself, however it was reached. */
static inline uint64_t counts_way(const struct counts *c)
{
    return c->report == COUNTS_NO_TRANSFERS ? COUNTS_FROM_NOWHERE : c->from;
}

/* Its entry, or the free one that it would have. */
struct counts_edge *counts_find(const struct counts *c, uint64_t from, const struct bt_block *b)
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
    struct counts_edge *edges = lines_new(size * 2);
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
    if (c->ways)
        memset(c->ways, 0, COUNTS_WAYS * sizeof *c->ways);
    return true;
}

uint64_t counts_function_at(const struct counts *c, uint64_t address)
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
    e->function = counts_function_at(c, e->block.first);
    if (e->from & 1) {
        e->kind = e->from == COUNTS_FROM_NOWHERE     ? COUNTS_ENTRY
                  : e->from == COUNTS_FROM_EXCEPTION ? COUNTS_EXCEPTION
                                                     : COUNTS_EXCEPTION_RETURN;
        return;
    }
    struct code_view *view = code_select(&c->code, &c->key);
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
    if (e->kind <= COUNTS_JUMP && counts_function_at(c, e->from) != e->function)
        e->kind = COUNTS_LEAVE;
}

/* Those that wait. */
void counts_tell(struct counts *c)
{
    const struct counts_transfer *t = c->transfers, *end = t + c->transfer_count;
    if (c->config.transfers && t < end)
        c->config.transfers(c->config.ctx, t, c->transfer_count, c->cycles);
    for (; !c->config.transfers && t < end; t++)
        c->config.transfer(c->config.ctx, t->edge, t->number, c->cycles);
    c->transfer_count = 0;
}

/* Seen for the first time. NULL: there is no room. */
static struct counts_edge *counts_add(struct counts *c, uint64_t from, const struct bt_block *b)
{
    if (c->used == c->config.max_edges)
        return NULL;
    if (c->used * 2 >= c->size) {
        counts_tell(c); /* the edges are about to move */
        if (!counts_grow(c))
            return NULL;
    }
    struct counts_edge *e = counts_find(c, from, b);
    *e = (struct counts_edge){
        .from = from, .block = *b, .kind = COUNTS_ENTRY, .id = (uint32_t)++c->used};
    if (c->report != COUNTS_NO_TRANSFERS)
        counts_classify(c, e);
    return e;
}

/* Not at its first place: further on, or new. */
struct counts_edge *counts_search(struct counts *c, uint64_t from, const struct bt_block *b)
{
    struct counts_edge *e = counts_find(c, from, b);
    return e->block.info ? e : counts_add(c, from, b);
}

/* What finds no room is a transfer all the same: the stack of calls must not lose it. */
void counts_report(struct counts *c, const struct counts_edge *known, const struct bt_block *b)
{
    struct counts_edge e = {.from = c->from, .block = *b};
    if (c->report == COUNTS_NO_TRANSFERS)
        return;
    if (!known)
        counts_classify(c, &e);
    known = known ? known : &e;
    if (known->kind >= c->report)
        c->config.transfer(c->config.ctx, known, c->number, c->cycles);
}

/* What is seen of the newest blocks, back from the last one. */
struct counts_back {
    uint32_t at;     /* in `recent` or `past`: behind what was not seen yet */
    uint32_t open;   /* as recent_open */
    uint32_t inside; /* blocks of the step there that were not seen yet */
    uint32_t seen;
};

static struct counts_back counts_back_of(const struct counts *c)
{
    return (struct counts_back){.at = c->recent_next, .open = c->recent_open};
}

/* The next one, and the way it was reached by. False: no more can be taken back. `b`: NULL if it
 * found no room. */
static bool counts_back_next(const struct counts *c, struct counts_back *k,
                             const struct bt_block **b, uint64_t *way)
{
    const struct code_step *step;
    *way = COUNTS_FROM_NOWHERE;
    if ((!k->inside && !k->open) || k->seen++ == COUNTS_RECENT)
        return false;
    if (!k->inside) {
        k->open--;
        k->at = (c->past && !k->at ? c->past_end : k->at) - 1;
    }
    if (!c->past) {
        uint32_t at = c->recent[k->at % COUNTS_RECENT];
        *b = at == NO_EDGE ? NULL : &c->edges[at].block;
        *way = at == NO_EDGE ? *way : c->edges[at].from;
    } else if (!(step = flow_step_of(&c->past[k->at]))) {
        *b = &c->past[k->at];
    } else {
        k->inside = (k->inside ? k->inside : step->blocks) - 1;
        *b = code_step_blocks(c->config.steps, step) + k->inside;
    }
    return true;
}

/* So many instructions right before a gap may be wrong: their blocks did not run, for all we know.
 */
static void counts_take_back(struct counts *c, uint64_t doubtful)
{
    uint64_t back = 0, way;
    const struct bt_block *b;
    struct counts_back k = counts_back_of(c);
    while (back < doubtful && counts_back_next(c, &k, &b, &way)) {
        const struct bt_block plain = b ? counts_plain(b) : (struct bt_block){.first = 0};
        struct counts_edge *e = b ? counts_search(c, way, &plain) : NULL;
        back += e ? bt_block_count(&plain) : 1;
        if (e)
            e->count--;
    }
    c->taken_back += back;
    c->recent_open = 0; /* what is older was proved by what followed it */
}

/* The newest branch was executed, and an exception came before where it leads to: a call, say. */
static void counts_interrupted(struct counts *c, const struct bt_exception *exception)
{
    const struct bt_block b = {exception->return_address, 0,
                               COUNTS_ANY_BLOCK | exception->return_isa};
    struct counts_edge unknown = {.from = c->from, .block = b};
    if (c->report == COUNTS_NO_TRANSFERS || c->from & 1 || !exception->has_return ||
        exception->return_address == c->from)
        return;
    const struct counts_edge *e = counts_search(c, c->from, &b);
    if (!e) {
        counts_classify(c, &unknown);
        e = &unknown;
    }
    if (e->kind >= c->report && e->kind != COUNTS_ENTRY)
        c->config.transfer(c->config.ctx, e, c->number, c->cycles);
}

/* It is one that the program sees. */
void counts_exception(struct counts *c)
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

static size_t counts_each(struct counts *c, const struct flow_out *out, size_t first,
                          uint64_t position)
{
    size_t i = first;
    while (i < out->block_count && c->number < position) {
        size_t end = out->block_count - i < COUNTS_BATCH ? out->block_count : i + COUNTS_BATCH;
        size_t plain = without_cycles(out->cycles, i, end); /* not of all, again for each event */
        i += c->report == COUNTS_NO_TRANSFERS
                 ? count_known(c, out->blocks + i, plain, position, false)
                 : count_known(c, out->blocks + i, plain, position, true);
        if (i < out->block_count && c->number < position) {
            count_one(c, &out->blocks[i], out->cycles ? out->cycles[i] : FLOW_NO_CYCLES);
            i++;
        }
    }
    return i;
}

/* So many more blocks may be taken back. */
void counts_open(struct counts *c, size_t count)
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
    c->last.info &= ~FLOW_COUNTED; /* wherever it goes on */
    if (e->cause == BT_GAP_DEBUG) {
        counts_resume(c, e);
    } else if (e->cause != BT_GAP_NONE) {
        counts_exception(c);
        c->from = COUNTS_FROM_NOWHERE;
    }
}

void counts_event(struct counts *c, const struct bt_event *e)
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

static bool counts_same_block(const struct bt_block *a, const struct bt_block *b)
{
    return a->first == b->first && a->extent == b->extent &&
           ((a->info ^ b->info) & ~COUNTS_MARKS) == 0;
}

/* The newest blocks, so far as a gap may take them back. */
static bool counts_same_recent(const struct counts *a, const struct counts *b, uint64_t doubtful)
{
    uint64_t back = 0, from, from2;
    const struct bt_block *x, *y;
    struct counts_back k = counts_back_of(a), k2 = counts_back_of(b);
    for (; back < doubtful; back += bt_block_count(x)) {
        bool more = counts_back_next(a, &k, &x, &from),
             more2 = counts_back_next(b, &k2, &y, &from2);
        if (!more || !more2)
            return more == more2;
        if (!x || !y || from != from2 || !counts_same_block(x, y))
            return false;
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
    return a->from == b->from && counts_same_block(&a->last, &b->last) && !a->has_exception &&
           !b->has_exception && counts_same_key(&a->key, &b->key) &&
           counts_same_recent(a, b, doubtful);
}

void counts_clear(struct counts *c)
{
    for (size_t i = 0; i < c->size; i++)
        c->edges[i].count = c->edges[i].cycles = 0;
    c->taken_back = c->left_out = 0;
}
