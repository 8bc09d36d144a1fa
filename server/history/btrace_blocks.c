/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/btrace_blocks.h"

/* Execution certainly goes on behind this instruction if no more trace comes. */
static bool walk_passes(const struct history_tail *tail, const struct insn *insn)
{
    return insn->cls != INSN_INDIRECT &&
           (insn->cls != INSN_DIRECT || (tail->taken_told && insn->flags & INSN_CONDITIONAL));
}

/* True when straight code leads from the trace's end to the PC: then those *count instructions
 * ran. */
static bool walk_to_pc(struct code_cache *code, const struct btrace_view *v,
                       const struct history_tail *tail, unsigned *count)
{
    struct code_view *view = code_select(code, &v->key);
    uint64_t address = tail->address;
    unsigned branches = 0;
    for (unsigned i = 0; i < HALT_JOIN_WALK_MAX && view && branches <= HALT_JOIN_BRANCHES; i++) {
        struct insn insn;
        uint32_t opcode;
        *count = i;
        if (address == v->pc)
            return true;
        if (code_insn(code, view, address, tail->isa, &insn, &opcode) != BT_OK ||
            !walk_passes(tail, &insn))
            return false;
        branches += insn.cls == INSN_DIRECT;
        address += insn.size;
    }
    return false;
}

static bool leads_to_pc(const struct btrace_view *view, struct code_cache *code,
                        const struct history_tail *tail, unsigned *walked)
{
    *walked = 0;
    if (!tail->known || view->untraced)
        return false;
    return view->jumped ? tail->address == view->pc : walk_to_pc(code, view, tail, walked);
}

void halt_join(const struct btrace_view *view, struct code_cache *code, struct halt_join *join)
{
    history_tail(view->history, &join->tail);
    join->known = leads_to_pc(view, code, &join->tail, &join->walked);
    if (!join->known) {
        join->tail.count = join->tail.instructions = 0;
        join->tail.known = history_position(view->history, &join->tail.address, &join->tail.isa);
        join->known = leads_to_pc(view, code, &join->tail, &join->walked);
    }
    if (!join->known)
        join->walked = 0;
    join->base = history_end(view->history) + join->tail.instructions;
}

/* Blocks go out newest first: `begin`, `end` is the one that older ones may still join. */
struct builder {
    struct gdb_btrace_blocks *out;
    struct code_cache code; /* instruction sizes */
    struct code_key key;
    struct code_view *code_view; /* of the key */
    uint64_t begin;
    uint64_t end;
    bool open;
    bool gap;       /* one goes below the open block */
    bool thumb;     /* the open block is T32 */
    bool odd_thumb; /* mark such blocks by bit 0 */
    uint64_t instructions;
    uint64_t max_instructions;
    size_t max_blocks;
    const struct btrace_view *view;
    const struct btrace_mark *since; /* of a delta; else NULL */
    bool joined;                     /* the delta has reached it */
};

/* What is still open counts: it will go out, too. */
static bool builder_is_full(const struct builder *b)
{
    size_t blocks = b->out->count + b->open + b->gap;
    return b->instructions >= b->max_instructions || blocks >= b->max_blocks;
}

static int close_block(struct builder *b)
{
    int error = BT_OK;
    uint64_t mark = b->odd_thumb && b->thumb;
    if (b->open)
        error = gdb_btrace_blocks_add(b->out, b->begin | mark, b->end | mark);
    if (!error && b->gap)
        error = gdb_btrace_blocks_add_gap(b->out);
    b->open = b->gap = false;
    return error;
}

/* Bytes of the last instruction of a block: joined runs must be exactly adjacent. */
static unsigned last_size(struct builder *b, const struct bt_block *block)
{
    if (bt_block_isa(block) == BT_ISA_A32 || bt_block_isa(block) == BT_ISA_A64)
        return 4;
    return b->code_view ? code_insn_size(b->code_view, bt_block_last(block), bt_block_isa(block))
                        : 0;
}

/* GDB decodes a block by the instruction set of its first byte's symbol: never join two sets. */
static int add_block(struct builder *b, const struct bt_block *block, bool same_isa)
{
    unsigned size = last_size(b, block);
    bool joins = b->open && !b->gap && same_isa && size && bt_block_last(block) + size == b->begin;
    b->instructions += bt_block_count(block);
    if (joins) {
        b->begin = block->first;
        return BT_OK;
    }
    int error = close_block(b);
    b->begin = block->first;
    b->end = bt_block_last(block);
    b->thumb = bt_block_isa(block) != BT_ISA_A32 && bt_block_isa(block) != BT_ISA_A64;
    b->open = true;
    return error;
}

static bool is_hole(const struct btrace_view *view, uint64_t position)
{
    for (size_t i = 0; i < view->hole_count; i++)
        if (position == view->holes[i].end || position == view->holes[i].tail)
            return true;
    return false;
}

bool btrace_is_gap(const struct btrace_view *view, const struct bt_event *e)
{
    if (e->kind != BT_EVENT_GAP && e->kind != BT_EVENT_TRACE_ON)
        return false;
    if (e->cause == BT_GAP_DEBUG)
        return is_hole(view, e->position);
    return e->cause != BT_GAP_NONE;
}

/* Something is missing behind what was decoded when GDB read last: then what led from there to its
 * PC never came into the history, and others have those numbers. */
static int look_for_loss(const struct builder *b, struct history *h)
{
    const struct btrace_mark *since = b->since;
    struct history_window w = {.first = UINT64_MAX};
    if (history_first(h) > since->end)
        return BT_ERR_RANGE;
    for (size_t i = history_window_count(h); i > 0 && w.first >= since->end; i--) {
        int error = history_window_index(h, i - 1, &w);
        if (error)
            return error;
        for (size_t e = 0; e < w.event_count; e++) {
            uint64_t position = w.events[e].position;
            if (position >= since->end && position <= since->number &&
                btrace_is_gap(b->view, &w.events[e]))
                return BT_ERR_RANGE;
        }
    }
    return BT_OK;
}

/* The delta's oldest block, whose first instruction is number `first`: GDB fills in where it
 * begins. A gap there, or another address than GDB has, is no join. */
static int join_delta(struct builder *b, const struct bt_block *block, uint64_t first)
{
    uint64_t index = b->since->number - first, address;
    bool gap_between = b->gap && index == bt_block_count(block);
    if (gap_between ||
        !code_address_of(&b->code, &b->key, block->first, bt_block_isa(block), index, &address) ||
        address != b->since->pc)
        return BT_ERR_RANGE;
    b->begin = 0;
    b->joined = true;
    return BT_OK;
}

/* One window, newest block first. Keys are not tracked back: sizes need code at the same place in
 * all states, or the join is simply not made. */
static int add_window(struct builder *b, const struct history_window *w, enum bt_isa *newer)
{
    size_t e = w->event_count;
    b->key = w->key;
    for (size_t i = 0; i < w->event_count; i++)
        flow_track_key(&b->key, &w->events[i]);
    b->code_view = code_select(&b->code, &b->key);
    uint64_t end = w->end;
    for (size_t i = w->block_count; i > 0 && !builder_is_full(b); i--) {
        struct bt_block block;
        history_block(w, i - 1, &block);
        /* The limit is a promise: a block that goes past it is left out, but never all of them. */
        if (b->instructions && b->instructions + bt_block_count(&block) > b->max_instructions)
            b->max_instructions = b->instructions;
        for (; e > 0 && w->events[e - 1].position >= end; e--)
            b->gap |= btrace_is_gap(b->view, &w->events[e - 1]);
        if (builder_is_full(b))
            break;
        int error = add_block(b, &block, bt_block_isa(&block) == *newer);
        if (error)
            return error;
        *newer = bt_block_isa(&block);
        end -= bt_block_count(&block);
        if (b->since && end <= b->since->number)
            return join_delta(b, &block, end);
    }
    for (; e > 0 && !builder_is_full(b); e--)
        b->gap |= btrace_is_gap(b->view, &w->events[e - 1]) && w->events[e - 1].position > 0;
    return BT_OK;
}

/* The halted PC. */

/* A delta that begins within the last straight instructions. */
static void join_walk(struct builder *b, const struct history_tail *tail, uint64_t base,
                      unsigned walked)
{
    if (!b->since || b->since->number < base)
        return;
    uint64_t index = b->since->number - base, address;
    b->joined = index <= walked &&
                code_address_of(&b->code, &b->key, tail->address, tail->isa, index, &address) &&
                address == b->since->pc;
    b->begin = 0;
}

/* What the decoder holds back, newest block first. `end`: number behind its last instruction. */
static int add_tail(struct builder *b, const struct history_tail *tail, uint64_t end,
                    enum bt_isa *newer)
{
    int error = BT_OK;
    for (size_t i = tail->count; i > 0 && !b->joined && !error; i--) {
        const struct bt_block *block = &tail->blocks[i - 1];
        error = add_block(b, block, bt_block_isa(block) == *newer);
        *newer = bt_block_isa(block);
        end -= bt_block_count(block);
        if (!error && b->since && end <= b->since->number)
            error = join_delta(b, block, end);
    }
    return error;
}

static int begin_at_pc(struct builder *b, const struct btrace_view *view, enum bt_isa *isa,
                       struct btrace_mark *mark)
{
    struct halt_join j;
    halt_join(view, &b->code, &j);
    *isa = j.tail.known ? j.tail.isa : view->thumb ? BT_ISA_T32 : BT_ISA_A32;
    b->open = true;
    b->begin = b->end = view->pc;
    b->thumb = view->thumb;
    b->gap = !j.known;
    *mark = (struct btrace_mark){j.known, history_end(view->history), j.base + j.walked, view->pc};
    if (!j.known)
        return BT_OK;
    b->begin = j.tail.address;
    join_walk(b, &j.tail, j.base, j.walked);
    return add_tail(b, &j.tail, j.base, isa);
}

static int add_windows(struct builder *b, struct history *h, enum bt_isa isa)
{
    struct history_window w;
    int error = BT_OK;
    for (size_t i = history_window_count(h); i > 0 && !builder_is_full(b) && !b->joined && !error;
         i--) {
        error = history_window_index(h, i - 1, &w);
        if (!error)
            error = add_window(b, &w, &isa);
    }
    return error;
}

static int build_blocks(const struct btrace_view *view, const struct btrace_mark *since,
                        struct gdb_btrace_blocks *out, struct btrace_mark *mark)
{
    struct history *h = view->history;
    struct builder b = {
        .out = out, .key = view->key, .odd_thumb = view->odd_thumb, .since = since, .view = view};
    struct code_options options = {0};
    struct history_tail tail;
    struct btrace_mark unused = {.valid = false};
    enum bt_isa isa = BT_ISA_A32;
    b.max_blocks = view->size / BTRACE_BLOCK_BYTES;
    b.max_instructions = BTRACE_MAX_INSTRUCTIONS;
    if (view->size > BTRACE_DEFAULT_SIZE && b.max_blocks > b.max_instructions)
        b.max_instructions = b.max_blocks;
    mark = mark ? mark : &unused;
    *mark = (struct btrace_mark){.valid = false};
    history_tail(h, &tail);
    if (history_end(h) + tail.instructions == 0)
        return since ? BT_ERR_RANGE : BT_OK;
    code_cache_init(&b.code, view->image, &options);
    b.code_view = code_select(&b.code, &b.key);
    int error = begin_at_pc(&b, view, &isa, mark);
    if (!error)
        error = add_windows(&b, h, isa);
    if (!error && since)
        error = b.joined ? look_for_loss(&b, h) : BT_ERR_RANGE;
    b.gap = false; /* nothing older is shown */
    if (!error)
        error = close_block(&b);
    code_cache_release(&b.code);
    return error;
}

int btrace_blocks(const struct btrace_view *view, struct gdb_btrace_blocks *out,
                  struct btrace_mark *mark)
{
    return build_blocks(view, NULL, out, mark);
}

int btrace_delta(const struct btrace_view *view, const struct btrace_mark *since,
                 struct gdb_btrace_blocks *out, struct btrace_mark *mark)
{
    return since->valid ? build_blocks(view, since, out, mark) : BT_ERR_RANGE;
}

void btrace_end_key(struct history *h, uint16_t core, struct code_key *key)
{
    struct history_window w;
    code_key_init(key);
    key->core = core;
    size_t count = history_window_count(h);
    if (count == 0 || history_window_index(h, count - 1, &w) != BT_OK)
        return;
    *key = w.key;
    for (size_t i = 0; i < w.event_count; i++)
        flow_track_key(key, &w.events[i]);
}
