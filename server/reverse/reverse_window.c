/* SPDX-License-Identifier: BSD-3-Clause */
/* A part of the history, instruction by instruction, and working it out to what is known. */
#include "decoder/base/array.h"
#include "decoder/flow/flow.h"
#include "server/reverse/reverse_values.h"

#include <stdlib.h>
#include <string.h>

#define SEEN          256u /* a power of two */
#define UNITS_AN_INSN 2    /* of a budget: what it takes to fetch an instruction */

/* A stay in Debug state in which nothing was changed is none for the values. */
static bool is_quiet_halt(const struct reverse_window *f, const struct bt_event *e)
{
    bool gap = e->kind == BT_EVENT_GAP || e->kind == BT_EVENT_TRACE_ON;
    bool entry = values_is_halt(e);
    bool debug = gap && e->cause == BT_GAP_DEBUG;
    bool first = e->kind == BT_EVENT_TRACE_ON && e->cause == BT_GAP_NONE;
    if (first)
        return true;
    if ((!debug && !entry) || reverse_is_gap(f->reverse, e))
        return false;
    return e->position == f->reverse->end ||
           (f->machine->halts_known && e->position >= f->machine->written_before);
}

static int add_window_event(struct reverse_window *w, const struct bt_event *e)
{
    if (!array_room(&w->events, w->w.event_count, &w->event_max, sizeof *w->events))
        return BT_ERR_NOMEM;
    w->events[w->w.event_count++] = *e;
    return BT_OK;
}

/*
 * Blocks come again and again: what one was made of is copied then. It and the view are of the
 * present key, and last for one call of fill_slice():
 * nobody else chooses views meanwhile. */
struct reverse_code {
    struct code_view *view; /* NULL: not chosen yet */
    struct {
        uint64_t first;
        uint32_t extent;
        uint32_t info; /* of the block, without its condition; 0: none */
        size_t at;     /* in the window */
    } seen[SEEN];
};

static struct code_view *view_of(struct reverse_window *f)
{
    if (!f->code->view)
        f->code->view = code_select(&f->reverse->code, &f->key);
    return f->code->view;
}

static size_t seen_place_of(const struct bt_block *block)
{
    return (size_t)(block->first >> 1 ^ block->first >> 9 ^ block->extent >> 1) & (SEEN - 1);
}

static uint32_t shape_of(const struct bt_block *block, enum bt_cond inner)
{
    return bt_block_info(bt_block_count(block), bt_block_isa(block), inner);
}

/* A whole block that is in the window already. */
static bool fill_again(struct reverse_window *f, const struct bt_block *block, enum bt_cond inner)
{
    size_t i = seen_place_of(block), count = bt_block_count(block);
    if (f->code->seen[i].first != block->first || f->code->seen[i].extent != block->extent ||
        f->code->seen[i].info != shape_of(block, inner))
        return false;
    memcpy(&f->insns[f->w.count], &f->insns[f->code->seen[i].at], count * sizeof *f->insns);
    f->w.count += count;
    f->insns[f->w.count - 1].cond = (uint8_t)bt_block_cond(block);
    return true;
}

static void note_seen(struct reverse_window *f, const struct bt_block *block, enum bt_cond inner)
{
    size_t i = seen_place_of(block);
    f->code->seen[i].first = block->first;
    f->code->seen[i].extent = block->extent;
    f->code->seen[i].info = shape_of(block, inner);
    f->code->seen[i].at = f->w.count - bt_block_count(block);
}

/* What lies before is of no use: the window begins behind `position`. */
static void begin_window_at(struct reverse_window *f, uint64_t position)
{
    f->from = position;
    f->w.count = 0;
    f->w.event_count = 0;
    memset(f->code, 0, sizeof *f->code);
}

/* Instructions of a block from number `number` on, as far as they are wanted. `inner`: condition of
 * all but the last. */
static int fill_block(struct reverse_window *f, const struct bt_block *block, uint64_t number,
                      enum bt_cond inner)
{
    uint64_t address = block->first, end = number + bt_block_count(block);
    enum bt_isa isa = bt_block_isa(block);
    bool whole = number >= f->from && end <= f->to && end > number;
    if (whole && fill_again(f, block, inner))
        return BT_OK;
    struct code_view *view = view_of(f);
    if (!view)
        return BT_ERR_NOMEM;
    for (; number < end && number < f->to; number++) {
        struct insn insn;
        uint32_t opcode;
        bool known = (isa == BT_ISA_A32 || isa == BT_ISA_T32) && address <= UINT32_MAX &&
                     code_insn(&f->reverse->code, view, address, isa, &insn, &opcode) == BT_OK;
        if (!known) {
            begin_window_at(f, end);
            return BT_OK;
        }
        if (number >= f->from)
            f->insns[f->w.count++] = (struct values_insn){
                .address = (uint32_t)address,
                .opcode = opcode,
                .isa = (uint8_t)isa,
                .size = insn.size,
                .cond = (uint8_t)(number + 1 == end ? bt_block_cond(block) : inner)};
        address += insn.size;
    }
    if (whole)
        note_seen(f, block, inner);
    return BT_OK;
}

/* Who reads code from now on. */
static void track_key(struct reverse_window *f, const struct bt_event *event)
{
    struct code_key before = f->key;
    flow_track_key(&f->key, event);
    if (memcmp(&before, &f->key, sizeof before) != 0)
        memset(f->code, 0, sizeof *f->code);
}

/* Events up to `position`, which is that of the next instruction. */
static int take_events(struct reverse_window *f, const struct reverse_history_window *s, size_t *e,
                       uint64_t position)
{
    int error = BT_OK;
    for (; *e < s->window.event_count && s->window.events[*e].position <= position && !error;
         ++*e) {
        const struct bt_event *event = &s->window.events[*e];
        track_key(f, event);
        if (event->position > f->from && event->position <= f->to && !is_quiet_halt(f, event))
            error = add_window_event(f, event);
    }
    return error;
}

/* Begins a window: what of it is taken first. */
static void open_window(struct reverse_window *f, const struct reverse_history_window *s)
{
    f->key = s->extra ? s->key : s->window.key;
    memset(f->code, 0, sizeof *f->code);
    f->number = s->first;
    f->block = f->event = 0;
    if (f->number < f->from && s->block_count)
        f->number = reverse_block_find(s, f->from, &f->block);
    f->opened = true;
}

/* Blocks of the window with `wanted` more instructions, or somewhat more. *over: none are left in
 * it. */
static int fill_window(struct reverse_window *f, const struct reverse_history_window *s,
                       size_t wanted, bool *over)
{
    int error = BT_OK;
    uint64_t stop = f->number + wanted < f->to ? f->number + wanted : f->to;
    for (; f->block < s->block_count && f->number < stop && !error; f->block++) {
        struct bt_block block;
        reverse_block(s, f->block, &block);
        error = take_events(f, s, &f->event, f->number);
        if (!error && f->number + bt_block_count(&block) > f->from)
            error =
                fill_block(f, &block, f->number, reverse_inner_condition(f->reverse, s, &block));
        f->number += bt_block_count(&block);
    }
    *over = f->block >= s->block_count || f->number >= f->to;
    return error || !*over ? error : take_events(f, s, &f->event, f->to);
}

/* Where the debugger wrote nothing of before counts any more, whatever the trace shows there. */
static int add_written(struct reverse_window *f)
{
    for (size_t i = 0; i < f->machine->written_count; i++) {
        const struct bt_event gap = {
            .kind = BT_EVENT_GAP, .cause = BT_GAP_DEBUG, .position = f->machine->written[i]};
        if (gap.position <= f->from || gap.position >= f->reverse->end || gap.position > f->to)
            continue;
        if (add_window_event(f, &gap))
            return BT_ERR_NOMEM;
        size_t k = f->w.event_count - 1;
        for (; k > 0 && f->events[k - 1].position > gap.position; k--)
            f->events[k] = f->events[k - 1];
        f->events[k] = gap;
    }
    return BT_OK;
}

static int fill_end(struct reverse_window *f)
{
    int error = BT_OK;
    if (f->to == f->reverse->end && !f->reverse->join.known) {
        const struct bt_event gap = {
            .kind = BT_EVENT_GAP, .cause = BT_GAP_UNKNOWN_ADDR, .position = f->to};
        error = add_window_event(f, &gap);
    }
    return error ? error : add_written(f);
}

#define CCR_STKALIGN (1u << 9)
#define FPCCR_ASPEN  (1u << 31)

/* How exceptions stack, as a halt that was looked at says: the latest one. */
static void take_stacking(struct values_window *w, const struct reverse_machine *m)
{
    const struct reverse_forward *f = m->forward;
    bool ccr = false, fpccr = false;
    for (size_t i = f && w->m_profile ? f->count : 0; i-- > 0 && !(ccr && fpccr);) {
        const struct execute_regs *r = &f->segments[i]->state.regs;
        if (!ccr && r->known >> EXECUTE_CCR & 1)
            w->m_unaligned = !(r->value[EXECUTE_CCR] & CCR_STKALIGN);
        if (!fpccr && r->known >> EXECUTE_FPCCR & 1)
            w->m_float_manual = !(r->value[EXECUTE_FPCCR] & FPCCR_ASPEN);
        ccr |= r->known >> EXECUTE_CCR & 1;
        fpccr |= r->known >> EXECUTE_FPCCR & 1;
    }
}

static void take_machine(struct values_window *w, const struct reverse *p,
                         const struct reverse_machine *m, bool halted)
{
    w->m_profile = reverse_machine_is_m(m);
    w->m_one_stack = w->m_profile && m->program.one_stack;
    w->m_two_states = w->m_profile && m->program.two_states;
    w->a_banks = !w->m_profile && m->program.plain_modes;
    w->m_bit_band = w->m_profile && m->bit_band;
    w->m_fpu = w->m_profile && m->program.has_float;
    take_stacking(w, m);
    w->big_endian = m->big_endian;
    w->v4t = m->v4t;
    if (halted && w->m_profile) {
        w->ram = m->program.ram;
        w->ram_count = m->program.ram_count;
    }
    w->read = m->read;
    w->context = m->context;
    w->final_isa = p->view.thumb ? BT_ISA_T32 : BT_ISA_A32;
    const struct target_regs *regs = halted && !m->registers_written ? &m->regs : m->ends;
    if (!regs)
        return;
    for (unsigned i = 0; i <= TARGET_REG_PC; i++)
        w->final[i] = regs->value[i];
    w->final_known = regs->known & 0xffff;
    w->final_cpsr = regs->value[TARGET_REG_PSR];
    w->final_cpsr_known = regs->known >> TARGET_REG_PSR & 1;
    w->final_msp = regs->stack[TARGET_STACK_MSP];
    w->final_psp = regs->stack[TARGET_STACK_PSP];
    w->final_stacks_known = w->m_profile && regs->stack_known >> TARGET_STACK_MSP & 1 &&
                            regs->stack_known >> TARGET_STACK_PSP & 1;
}

/*
 * `p` and `m` must outlive it. Each call of fill_slice() takes about `wanted` instructions; *done:
 * no more calls, `w` is complete. Code that is not known, or another instruction set, makes the
 * window begin later. Release in all cases.
 */
static int begin_window(struct reverse_window *w, struct reverse *p,
                        const struct reverse_machine *m, uint64_t from, uint64_t to)
{
    *w = (struct reverse_window){.reverse = p, .machine = m, .from = from, .to = to};
    w->insns = malloc((size_t)(to - from) * sizeof *w->insns);
    return w->insns ? reverse_history_window_find(p, from, &w->index) : BT_ERR_NOMEM;
}

/* All instructions and events are there. */
static int finish_window(struct reverse_window *w)
{
    struct reverse *p = w->reverse;
    int error = fill_end(w);
    take_machine(&w->w, p, w->machine, w->to == p->end);
    w->w.m_nonsecure = w->w.m_profile && w->key.security == BT_SEC_NONSECURE;
    w->w.insns = w->insns;
    w->w.events = w->events;
    w->w.first = w->from;
    w->w.earlier = w->to != p->end && !w->machine->ends;
    if (w->to != p->end) {
        uint64_t pc = 0;
        enum bt_isa isa = BT_ISA_A32;
        if (!error && reverse_pc(p, w->to, &pc, &isa) == BT_OK) {
            w->w.final[TARGET_REG_PC] = (uint32_t)pc;
            w->w.final_known |= 1u << TARGET_REG_PC;
            w->w.final_isa = (uint8_t)isa;
        }
    }
    return error;
}

static int fill_some(struct reverse_window *w, size_t wanted, bool *done)
{
    struct reverse_history_window s;
    bool over;
    int error = reverse_history_window(w->reverse, w->index, &s);
    *done = false;
    if (error)
        return error;
    if (s.first <= w->to) {
        if (!w->opened)
            open_window(w, &s);
        error = fill_window(w, &s, wanted, &over);
        if (error || !over)
            return error;
        w->opened = false;
        if (++w->index < reverse_history_window_count(w->reverse))
            return BT_OK;
    }
    *done = true;
    return finish_window(w);
}

static int fill_slice(struct reverse_window *w, size_t wanted, bool *done)
{
    struct reverse_code code;
    w->code = &code;
    memset(w->code, 0, sizeof *w->code);
    int error = fill_some(w, wanted, done);
    w->code = NULL;
    return error;
}

static void release_window(struct reverse_window *w)
{
    free(w->insns);
    free(w->events);
    *w = (struct reverse_window){.reverse = NULL};
}

void reverse_work_end(struct reverse_work *w)
{
    values_free(w->values);
    release_window(&w->window);
    memset(w, 0, sizeof *w);
}

int reverse_work_begin(struct reverse_work *w, struct reverse *p, const struct reverse_machine *m,
                       uint64_t from, uint64_t to, uint32_t infer)
{
    reverse_work_end(w);
    w->active = true;
    w->wanted = from;
    w->to = to;
    w->halted = to == p->end;
    w->infer = infer;
    return begin_window(&w->window, p, m, from, to);
}

static int fill_work(struct reverse_work *w, size_t budget, bool *done)
{
    int error = fill_slice(&w->window, budget / UNITS_AN_INSN, &w->filled);
    if (error || !w->filled)
        return error;
    w->window.w.infer = w->infer;
    if (w->window.w.count)
        return values_begin(&w->values, &w->window.w);
    *done = true;
    return BT_OK;
}

int reverse_work_go_on(struct reverse_work *w, size_t budget, bool *done)
{
    *done = false;
    if (!w->filled)
        return fill_work(w, budget, done);
    return values_work(w->values, budget, done);
}

void reverse_work_take(struct reverse_work *w, struct reverse_known *known)
{
    reverse_known_release(known);
    known->values = w->values;
    known->wanted = w->wanted;
    known->from = w->values ? w->window.w.first : w->wanted;
    known->to = w->to;
    known->halted = w->halted;
    known->built = true;
    if (known->values)
        values_counts(known->values, &known->counts);
    known->conflict = known->counts.conflicts != 0;
    w->values = NULL;
    reverse_work_end(w);
}

void reverse_known_release(struct reverse_known *k)
{
    values_free(k->values);
    memset(k, 0, sizeof *k);
}
