/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse.h"

#include "decoder/flow/flow.h"

#include <string.h>

/* A block of straight code between the decoder's end and the halted PC. */
static void add_walk(struct reverse *p, uint64_t first, uint64_t last, unsigned count,
                     enum bt_cond cond)
{
    struct bt_block *b = &p->extra[p->extra_count++];
    b->first = first;
    b->extent = (uint32_t)(last - first);
    b->info = bt_block_info(count, p->join.tail.isa, cond);
}

static void add_extra_blocks(struct reverse *p)
{
    const struct history_tail *tail = &p->join.tail;
    struct code_view *view = code_select(&p->code, &p->view.key);
    uint64_t first = tail->address, address = first, last = first;
    unsigned count = 0;
    memcpy(p->extra, tail->blocks, tail->count * sizeof *tail->blocks);
    p->extra_count = tail->count;
    for (unsigned i = 0; i < p->join.walked; i++) {
        struct insn insn;
        uint32_t opcode;
        last = address;
        if (!view || code_insn(&p->code, view, address, tail->isa, &insn, &opcode) != BT_OK)
            return;
        address += insn.size;
        count++;
        if (insn.cls != INSN_DIRECT)
            continue;
        add_walk(p, first, last, count, BT_COND_FAIL);
        first = address;
        count = 0;
    }
    if (count)
        add_walk(p, first, last, count, BT_COND_UNKNOWN);
}

enum bt_cond reverse_inner_condition(const struct reverse *p,
                                     const struct reverse_history_window *s,
                                     const struct bt_block *b)
{
    bool told = !s->extra && bt_block_cond(b) != BT_COND_UNKNOWN &&
                history_has_all_conditions(p->view.history);
    return told ? BT_COND_PASS : BT_COND_UNKNOWN;
}

int reverse_init(struct reverse *p, const struct btrace_view *view)
{
    const struct code_options options = {0};
    memset(p, 0, sizeof *p);
    p->view = *view;
    int error = code_cache_init(&p->code, view->image, &options);
    if (error)
        return error;
    halt_join(view, &p->code, &p->join);
    p->first = history_first(view->history);
    p->end = p->position = p->join.base + p->join.walked;
    if (p->join.known)
        add_extra_blocks(p);
    return p->end > p->first ? BT_OK : BT_ERR_RANGE;
}

void reverse_release(struct reverse *p)
{
    if (p->view.history)
        code_cache_release(&p->code);
    memset(p, 0, sizeof *p);
}

int reverse_history_window(struct reverse *p, size_t index, struct reverse_history_window *out)
{
    memset(out, 0, sizeof *out);
    if (index + 1 == reverse_history_window_count(p)) {
        out->extra = p->extra;
        out->block_count = p->extra_count;
        out->first = history_end(p->view.history);
        out->end = p->end;
        out->key = p->view.key;
        return BT_OK;
    }
    int error = history_window_index(p->view.history, index, &out->window);
    if (error)
        return error;
    out->first = out->window.first;
    out->end = out->window.end;
    out->block_count = out->window.block_count;
    out->key = out->window.key;
    for (size_t i = 0; i < out->window.event_count; i++)
        flow_track_key(&out->key, &out->window.events[i]);
    return BT_OK;
}

int reverse_history_window_find(const struct reverse *p, uint64_t position, size_t *index)
{
    if (position < p->first || position >= p->end)
        return BT_ERR_RANGE;
    *index = position >= history_end(p->view.history)
                 ? reverse_history_window_count(p) - 1
                 : history_window_find(p->view.history, position);
    return BT_OK;
}

uint64_t reverse_block_find(const struct reverse_history_window *s, uint64_t position,
                            size_t *index)
{
    uint64_t number = s->end;
    if (!s->extra) {
        *index = history_block_index(&s->window, position);
        return history_block_number(&s->window, *index);
    }
    for (*index = s->block_count; *index > 0 && number > position;)
        number -= bt_block_count(&s->extra[--*index]);
    return number;
}

/* Who reads code at `position` of the window. */
static struct code_key window_key_at(const struct reverse_history_window *s, uint64_t position)
{
    struct code_key key = s->extra ? s->key : s->window.key;
    for (size_t i = 0; i < s->window.event_count && s->window.events[i].position <= position; i++)
        flow_track_key(&key, &s->window.events[i]);
    return key;
}

int reverse_pc(struct reverse *p, uint64_t position, uint64_t *pc, enum bt_isa *isa)
{
    struct reverse_history_window s;
    struct bt_block block;
    size_t index;
    if (position == p->end) {
        *pc = p->view.pc;
        *isa = p->view.thumb ? BT_ISA_T32 : BT_ISA_A32;
        return BT_OK;
    }
    int error = reverse_history_window_find(p, position, &index);
    if (!error)
        error = reverse_history_window(p, index, &s);
    if (error)
        return error;
    uint64_t number = reverse_block_find(&s, position, &index);
    reverse_block(&s, index, &block);
    struct code_key key = window_key_at(&s, position);
    *isa = bt_block_isa(&block);
    return code_address_of(&p->code, &key, block.first, *isa, position - number, pc)
               ? BT_OK
               : BT_ERR_NO_CODE;
}

bool reverse_ran(struct reverse *p, uint64_t address, bool later)
{
    struct reverse_history_window s;
    struct bt_block block;
    size_t index, here;
    enum bt_isa isa;
    uint64_t near = p->position < p->end ? p->position : p->end - 1, pc;
    if (p->first == p->end || reverse_pc(p, near, &pc, &isa) ||
        reverse_history_window_find(p, near, &index) || reverse_history_window(p, index, &s))
        return false;
    reverse_block_find(&s, near, &here);
    for (size_t i = 0; i < (later ? s.block_count : here + 1); i++) {
        reverse_block(&s, i, &block);
        uint64_t last = i == here && !later ? pc : bt_block_last(&block);
        if (block.first < address + 4 && address < last + 4)
            return true;
    }
    return false;
}

int reverse_key(struct reverse *p, uint64_t position, struct code_key *key)
{
    struct reverse_history_window s;
    size_t index;
    int error = reverse_history_window_find(p, position, &index);
    if (!error)
        error = reverse_history_window(p, index, &s);
    if (!error)
        *key = window_key_at(&s, position);
    return error;
}

bool reverse_is_gap(const struct reverse *p, const struct bt_event *e)
{
    return e->position > p->first && btrace_is_gap(&p->view, e);
}

/* Of several causes at one place the first that is no filter. */
static enum bt_gap_cause worse_cause(enum bt_gap_cause a, enum bt_gap_cause b)
{
    return a == BT_GAP_NONE || a == BT_GAP_TRACE_ON ? b : a;
}

/* Events of one position may stand at the end of one window and at the beginning of the next. */
enum bt_gap_cause reverse_gap_before(struct reverse *p, uint64_t position)
{
    enum bt_gap_cause cause = BT_GAP_NONE;
    struct reverse_history_window s;
    size_t index;
    if (position <= p->first || position > p->end ||
        reverse_history_window_find(p, position - 1, &index) != BT_OK)
        return BT_GAP_NONE;
    for (; index < reverse_history_window_count(p) && reverse_history_window(p, index, &s) == BT_OK;
         index++) {
        if (s.first > position)
            break;
        for (size_t i = 0; i < s.window.event_count; i++) {
            const struct bt_event *e = &s.window.events[i];
            if (e->position == position && reverse_is_gap(p, e))
                cause = worse_cause(cause, (enum bt_gap_cause)e->cause);
        }
    }
    if (position == p->end && !p->join.known)
        cause = worse_cause(cause, BT_GAP_UNKNOWN_ADDR);
    return cause;
}
