/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/flow/flow_cursor.h"

#include <string.h>

#define HIGH_VECTORS 0xffff0000u

void flow_cursor_init(struct flow_cursor *t, struct code_cache *code, uint16_t core,
                      uint32_t generation)
{
    memset(t, 0, sizeof *t);
    flow_core_init(&t->core, code, core, generation);
}

/* Size of an instruction inside a range. */
static uint8_t size_inside(struct flow_cursor *t, const struct code_range *range, uint32_t address)
{
    struct insn insn;
    uint32_t opcode;
    if (code_range_isa(range) == BT_ISA_A32)
        return 4;
    if (code_range_length(range) == 2 * code_range_count(range))
        return 2;
    if (code_insn(t->core.code, t->core.view, address, code_range_isa(range), &insn, &opcode) !=
        BT_OK)
        return 2;
    return insn.size;
}

bool flow_cursor_fetch(struct flow_cursor *t, struct flow_out *out, uint64_t offset,
                       struct flow_cursor_step *step)
{
    uint32_t address = (uint32_t)t->core.cur.address;
    /* Not flow_range_here(): only a loss may close the open block, not a look-up after a copy. */
    struct code_view *view = flow_view(&t->core);
    if (view && !t->core.range)
        t->core.range = code_lookup(t->core.code, view, address, (enum bt_isa)t->core.cur.isa);
    struct code_range *range = t->core.range;
    if (!range || code_range_count(range) == 0) {
        flow_cursor_lose(t, out, offset, BT_GAP_NO_CODE, address);
        return false;
    }
    uint32_t at = address - range->start;
    bool last = at == range->extent;
    *step = (struct flow_cursor_step){
        .address = address, .isa = code_range_isa(range), .end = CODE_END_PAGE};
    step->size =
        last ? (uint8_t)(code_range_length(range) - range->extent) : size_inside(t, range, address);
    step->next = address + step->size;
    if (!last)
        return true;
    if (range->end < CODE_END_PAGE)
        step->end = range->end;
    if (range->end == CODE_END_DIRECT || range->end == CODE_END_BARRIER) {
        enum bt_isa isa;
        step->target = code_target(t->core.code, view, range, &isa);
        step->target_isa = (uint8_t)isa;
    }
    return true;
}

void flow_cursor_advance(struct flow_cursor *t, const struct flow_cursor_step *step, bool taken)
{
    struct flow_core *f = &t->core;
    struct code_range *range = f->range;
    bool last = range && step->address - range->start == range->extent;
    if (taken && step->end == CODE_END_DIRECT) {
        f->cur.address = step->target;
        f->cur.isa = step->target_isa;
        f->range = range ? code_taken(f->code, f->view, range) : NULL;
        return;
    }
    f->cur.address = step->next;
    if (last)
        f->range = range->end == CODE_END_NO_CODE ? NULL : code_onward(f->code, f->view, range);
}

bool flow_cursor_opcode(struct flow_cursor *t, const struct flow_cursor_step *step,
                        uint32_t *opcode)
{
    struct insn insn;
    struct code_view *view = flow_view(&t->core);
    return view && code_insn(t->core.code, view, step->address, (enum bt_isa)step->isa, &insn,
                             opcode) == BT_OK;
}

static void put_block(struct flow_cursor *t, struct flow_out *out, enum bt_cond cond,
                      uint64_t cycles)
{
    flow_block(&t->core, out, t->first, t->last - t->first,
               bt_block_info(t->count, (enum bt_isa)t->isa, cond), cycles);
    t->count = 0;
}

void flow_cursor_close(struct flow_cursor *t, struct flow_out *out)
{
    if (t->count)
        put_block(t, out, BT_COND_PASS, FLOW_NO_CYCLES);
}

void flow_cursor_add(struct flow_cursor *t, struct flow_out *out,
                     const struct flow_cursor_step *step, enum bt_cond cond, uint64_t cycles)
{
    bool joins = step->address == t->next && step->isa == t->isa && t->count < BT_BLOCK_COUNT_MAX;
    if (!joins)
        flow_cursor_close(t, out);
    if (t->count == 0) {
        t->first = step->address;
        t->isa = step->isa;
    }
    t->last = step->address;
    t->next = step->next;
    t->count++;
    if (cond == BT_COND_FAIL || step->end != CODE_END_PAGE || cycles != FLOW_NO_CYCLES)
        put_block(t, out, cond, cycles);
}

void flow_cursor_on(struct flow_cursor *t, struct flow_out *out, uint64_t offset, unsigned reason,
                    uint32_t address, uint8_t isa, bool first, bool reported)
{
    static const uint8_t causes[4] = {BT_GAP_NONE, BT_GAP_TRACE_ON, BT_GAP_OVERFLOW, BT_GAP_DEBUG};
    uint8_t cause = first ? BT_GAP_NONE : causes[reason & 3];
    if (cause && reported && t->core.cur.known)
        flow_cursor_lose(t, out, offset, (enum bt_gap_cause)cause, t->core.cur.address);
    struct bt_event *e = flow_cursor_event(t, out, BT_EVENT_TRACE_ON, offset);
    e->cause = cause;
    e->u.trace_on.reason = (uint8_t)reason;
    flow_trace_on_address(e, address, isa);
    flow_go_to(&t->core, address, isa);
    t->counted = t->core.cycles;
}

unsigned flow_cursor_vector(const struct flow_cursor *t, uint32_t address, uint8_t isa)
{
    static const uint8_t numbers[8] = {8, 9, 10, 11, 12, 13, 14, 15};
    uint32_t base = address & ~0x1cu;
    if (isa != BT_ISA_A32)
        return 0;
    if ((base == 0 && t->low_vectors) || (base == HIGH_VECTORS && t->high_vectors))
        return numbers[address >> 2 & 7];
    return 0;
}
