/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder.h"

static uint8_t insn_flags(const struct insn *insn)
{
    unsigned flags = 0;
    if (insn->cls == INSN_DIRECT || insn->cls == INSN_INDIRECT)
        flags |= BT_INSTRUCTION_BRANCH;
    if (insn->cls == INSN_INDIRECT)
        flags |= BT_INSTRUCTION_INDIRECT;
    if (insn->flags & INSN_LINK)
        flags |= BT_INSTRUCTION_CALL;
    return (uint8_t)flags;
}

static void hand_out_instructions(struct handout *h, const struct bt_block *block, uint64_t cycles)
{
    uint64_t address = block->first, last = bt_block_last(block);
    enum bt_isa isa = bt_block_isa(block);
    if (!h->view)
        h->view = code_select(&h->code, &h->key);
    for (uint32_t i = 0; i < bt_block_count(block) && h->view; i++) {
        struct bt_instruction out = {.number = h->number + i,
                                     .address = address,
                                     .cycles = address == last ? cycles : BT_NO_CYCLES,
                                     .isa = (uint8_t)isa};
        struct insn insn;
        if (code_insn(&h->code, h->view, address, isa, &insn, &out.opcode) != BT_OK)
            break;
        out.condition = (uint8_t)(address == last ? bt_block_cond(block) : BT_COND_UNKNOWN);
        out.size = insn.size;
        out.flags = insn_flags(&insn);
        if (out.number >= h->first && out.number < h->end)
            h->sink.instruction(h->sink.ctx, &out);
        address += insn.size;
    }
}

void handout_block(struct handout *h, const struct bt_block *block, uint64_t cycles)
{
    uint64_t next = h->number + bt_block_count(block);
    if (next > h->first && h->number < h->end) {
        if (h->sink.block)
            h->sink.block(h->sink.ctx, h->number, block, cycles);
        if (h->sink.instruction)
            hand_out_instructions(h, block, cycles);
    }
    h->number = next;
}

void handout_event(struct handout *h, const struct bt_event *event)
{
    flow_track_key(&h->key, event);
    h->view = NULL;
    if (h->sink.event && event->position >= h->first && event->position < h->end)
        h->sink.event(h->sink.ctx, event);
}
