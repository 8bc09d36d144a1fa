/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the history that may still change: IHI 0014Q 7.3. */
#include "etmv3_flow_parts.h"

#include <string.h>

/* Far into a long range of T32: from the instruction looked at last, or the last one of `wide`. */
static uint32_t far_offset(struct etmv3_flow *f, uint32_t index)
{
    struct code_range *range = f->core.range;
    uint32_t i = CODE_WIDE_BITS;
    uint32_t offset = etmv3_wide_offset(range, CODE_WIDE_BITS);
    if (f->near_index > i && f->near_index <= index) {
        i = f->near_index;
        offset = f->near_offset;
    }
    while (i < index) {
        struct insn insn = {.size = 2};
        uint32_t opcode;
        code_insn(f->core.code, f->core.view, range->start + offset, code_range_isa(range), &insn,
                  &opcode);
        offset += insn.size;
        i++;
    }
    f->near_index = index;
    f->near_offset = offset;
    return offset;
}

uint32_t etmv3_range_offset(struct etmv3_flow *f, uint32_t index)
{
    const struct code_range *range = f->core.range;
    if (index == 0)
        return 0;
    if (index == code_range_count(range))
        return code_range_length(range);
    if (code_range_isa(range) == BT_ISA_A32)
        return 4 * index;
    if (index > CODE_WIDE_BITS)
        return far_offset(f, index);
    return etmv3_wide_offset(range, index);
}

void etmv3_go_to(struct etmv3_flow *f, uint64_t address, uint8_t isa)
{
    flow_go_to(&f->core, address, isa);
    f->first = address;
    f->begin = f->done = f->joined = 0;
    f->near_index = 0;
    f->pending = false;
}

uint64_t etmv3_here(struct etmv3_flow *f)
{
    if (f->done == 0)
        return f->core.cur.address;
    return (uint32_t)(f->core.range->start + etmv3_range_offset(f, f->done));
}

bool etmv3_relink(struct etmv3_flow *f, struct flow_out *out, uint64_t offset)
{
    if (f->core.range || f->done == 0)
        return true;
    struct code_range *range = flow_range_here(&f->core, out, offset);
    if (range && code_range_count(range) > f->done)
        return true;
    if (range && code_range_count(range) == f->done) {
        if (range->end != CODE_END_NO_CODE) /* what was executed last is a waypoint only now */
            etmv3_rebase(f);
        return true;
    }
    f->begin = f->done = f->joined = 0;
    if (range)
        flow_lose(&f->core, out, offset, BT_GAP_DESYNC, f->core.cur.address);
    return false;
}

void etmv3_close(struct etmv3_flow *f)
{
    uint32_t count = etmv3_open(f);
    if (count == 0)
        return;
    uint64_t last = f->done ? f->core.range->start + etmv3_range_offset(f, f->done - 1) : f->last;
    f->pending_block = (struct etmv3_pending_block){.first = f->first,
                                                    .cycles = FLOW_NO_CYCLES,
                                                    .extent = (uint32_t)(last - f->first),
                                                    .count = count,
                                                    .isa = f->core.cur.isa,
                                                    .cond = BT_COND_PASS};
    f->begin = f->done;
    f->joined = 0;
    f->first = etmv3_here(f);
}

void etmv3_rebase(struct etmv3_flow *f)
{
    etmv3_close(f);
    if (f->done && f->core.cur.known)
        flow_go_to(&f->core, etmv3_here(f), f->core.cur.isa);
    f->begin = f->done = 0;
    f->near_index = 0;
}

static inline void release_block(struct etmv3_flow *f, struct flow_out *out)
{
    const struct etmv3_pending_block *h = &f->pending_block;
    if (etmv3_has_data(f))
        etmv3_data_scan(f);
    flow_block(&f->core, out, h->first, h->extent,
               bt_block_info(h->count, (enum bt_isa)h->isa, (enum bt_cond)h->cond), h->cycles);
    etmv3_set_last(f, h->first + h->extent, h->isa);
    f->pending_block.count = 0;
}

void etmv3_release(struct etmv3_flow *f, struct flow_out *out)
{
    if (f->pending_block.count)
        release_block(f, out);
    for (unsigned i = 0; i < f->queued; i++) {
        f->queue[i].position = f->core.instructions;
        out->events[out->event_count++] = f->queue[i];
    }
    f->queued = 0;
    f->return_pending = false;
}

/* Address of the last but one instruction of the pending block. */
static uint64_t before_last(struct etmv3_flow *f)
{
    const struct etmv3_pending_block *h = &f->pending_block;
    struct code_view *view = flow_view(&f->core);
    uint64_t address = h->first, last = h->first + h->extent;
    if (h->isa == BT_ISA_A32)
        return last - 4;
    for (uint32_t i = 2; view && i < h->count; i++) {
        struct insn insn;
        uint32_t opcode;
        if (code_insn(f->core.code, view, address, (enum bt_isa)h->isa, &insn, &opcode) != BT_OK)
            break;
        address += insn.size;
    }
    return address;
}

void etmv3_split(struct etmv3_flow *f, struct flow_out *out)
{
    struct etmv3_pending_block *h = &f->pending_block;
    if (h->count && etmv3_has_data(f))
        etmv3_data_scan(f);
    if (h->count < 2)
        return;
    uint64_t last = h->first + h->extent;
    flow_block(&f->core, out, h->first, (uint32_t)(before_last(f) - h->first),
               bt_block_info(h->count - 1, (enum bt_isa)h->isa, BT_COND_PASS), FLOW_NO_CYCLES);
    h->first = last;
    h->extent = 0;
    h->count = 1;
}

/* An exception return that did not happen: its event goes. */
static void cancel_return(struct etmv3_flow *f)
{
    unsigned n = 0;
    for (unsigned i = 0; i < f->queued; i++)
        if (f->queue[i].kind != BT_EVENT_EXCEPTION_RET)
            f->queue[n++] = f->queue[i];
    f->queued = (uint8_t)n;
    f->return_pending = false;
}

bool etmv3_cancel(struct etmv3_flow *f, uint64_t *address)
{
    struct etmv3_pending_block *h = &f->pending_block;
    *address = h->first + h->extent;
    if (f->return_pending) {
        cancel_return(f);
        *address = f->last;
        return true;
    }
    if (h->count == 0)
        return false;
    if (etmv3_has_data(f))
        etmv3_data_cancel(f, f->core.instructions + h->count - 1);
    if (h->cycles != FLOW_NO_CYCLES)
        f->waited += h->cycles;
    h->cycles = FLOW_NO_CYCLES;
    if (h->count > 1)
        h->extent = (uint32_t)(before_last(f) - h->first);
    h->count--;
    h->cond = BT_COND_PASS;
    return true;
}

struct flow_out *etmv3_events(struct etmv3_flow *f, struct flow_out *out, struct flow_out *tray)
{
    if (f->queued > ETMV3_QUEUE - 8)
        etmv3_release(f, out);
    if (!etmv3_has_pending(f))
        return out;
    *tray =
        (struct flow_out){.events = f->queue, .event_count = f->queued, .event_max = ETMV3_QUEUE};
    return tray;
}

void etmv3_events_end(struct etmv3_flow *f, const struct flow_out *to, const struct flow_out *tray)
{
    if (to == tray)
        f->queued = (uint8_t)tray->event_count;
}
