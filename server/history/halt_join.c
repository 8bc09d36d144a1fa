/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/halt_join.h"

/* True when straight code leads from the trace's end to the PC: then those *count instructions
 * ran. */
static bool walk_to_pc(struct code_cache *code, const struct btrace_view *v,
                       const struct history_tail *tail, unsigned *count)
{
    struct code_view *view = code_select(code, &v->key);
    uint64_t address = tail->address;
    for (unsigned i = 0; i < HALT_JOIN_WALK_MAX && view; i++) {
        struct insn insn;
        uint32_t opcode;
        *count = i;
        if (address == v->pc)
            return true;
        if (code_insn(code, view, address, tail->isa, &insn, &opcode) != BT_OK ||
            insn.cls == INSN_DIRECT || insn.cls == INSN_INDIRECT)
            return false;
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
