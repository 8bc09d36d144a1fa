/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv4_flow_parts.h"

#include "decoder/flow/flow_walk.h"

#include <string.h>

#define TYPE_A_DEBUG_HALT 1
#define TYPE_M_DEBUG_HALT 24
#define TYPE_M_LAZY_FP    25
#define TYPE_M_LOCKUP     26
#define TYPE_M_IRQ        0x200

#define NUMBER_DEBUG   1 /* as PTM numbers them: IHI 0035B 4.5.4 */
#define NUMBER_GENERIC 13

/* The number that the history knows: the PTM's, or that of the M-profile. */
static void set_number(struct bt_exception *e, unsigned type, bool m_profile)
{
    static const uint8_t a[] = {8,
                                NUMBER_DEBUG,
                                10,
                                NUMBER_GENERIC,
                                4,
                                NUMBER_GENERIC,
                                NUMBER_GENERIC,
                                NUMBER_GENERIC,
                                NUMBER_GENERIC,
                                NUMBER_GENERIC,
                                12,
                                11,
                                12,
                                NUMBER_GENERIC,
                                14,
                                15};
    e->type = (uint8_t)(type >= 32 ? BT_NO_TYPE : type);
    e->m_type = m_profile;
    if (!m_profile) {
        e->number = type < sizeof a ? a[type] : NUMBER_GENERIC;
    } else if (type == TYPE_M_DEBUG_HALT) {
        e->number = NUMBER_DEBUG;
    } else if (type == TYPE_M_LAZY_FP || type == TYPE_M_LOCKUP) {
        e->number = NUMBER_GENERIC;
    } else {
        e->m_profile = true;
        e->number = (uint16_t)(type >= TYPE_M_IRQ ? type - TYPE_M_IRQ + 16 : type);
    }
}

static bool is_debug_halt(const struct bt_event *e)
{
    return e->u.exception.number == NUMBER_DEBUG && !e->u.exception.m_profile;
}

bool etmv4_flow_exception_event(const struct etmv4_flow *f, struct bt_event *e, unsigned type)
{
    memset(e, 0, sizeof *e);
    e->kind = BT_EVENT_EXCEPTION;
    set_number(&e->u.exception, type, f->config.m_profile);
    return is_debug_halt(e);
}

static void put_out(struct etmv4_flow *f, struct flow_out *out)
{
    uint64_t position = f->core.instructions;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION, f->exception.offset);
    *e = f->exception;
    e->position = position;
    f->wait = ETMV4_WAIT_NONE;
    if (!f->has_handler)
        return;
    f->has_handler = false;
    etmv4_flow_context(f, &f->handler, out);
}

void etmv4_flow_exception(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    struct bt_event *e = &f->exception;
    etmv4_flow_no_vector(f, out);
    if (k->n != ETMV4_TARGET)
        etmv4_flow_resolve(f, k->offset, out);
    f->pending_pop = false;
    etmv4_flow_exception_event(f, e, k->number);
    e->offset = k->offset;
    f->exception_address = k->n;
    f->wait = ETMV4_WAIT_RETURN;
    if (k->n != ETMV4_NO_ADDRESS)
        return;
    f->wait = ETMV4_WAIT_VECTOR;
    f->core.cur.known = false;
    f->core.range = NULL;
}

/* What ran between the last P0 instruction and the exception. */
static void walk_to_return(struct etmv4_flow *f, uint64_t address, uint8_t isa,
                           struct flow_out *out)
{
    struct flow_core *core = &f->core;
    if (f->exception_address == ETMV4_TARGET)
        flow_go_to(core, address, isa);
    if (!core->cur.known || core->cur.isa != isa || core->cur.address >= address)
        return;
    switch (flow_walk_before(core, out, address, false)) {
    case FLOW_WALK_THERE:
        return;
    case FLOW_WALK_PASSED:
        flow_contradict(core, out, f->exception.offset, BT_GAP_DESYNC, address);
        return;
    case FLOW_WALK_LOST:
        flow_lose(core, out, f->exception.offset, BT_GAP_NO_CODE, core->cur.address);
        return;
    }
}

void etmv4_flow_return_address(struct etmv4_flow *f, uint64_t address, uint8_t isa,
                               struct flow_out *out)
{
    struct flow_core *core = &f->core;
    bool chained = f->config.m_profile && address == ETMV4_M_NO_RETURN;
    if (!chained) {
        walk_to_return(f, address, isa, out);
        flow_return_address(&f->exception, address, isa);
    }
    f->due = false;
    core->cur.known = false;
    core->range = NULL;
    f->wait = ETMV4_WAIT_VECTOR;
    if (!is_debug_halt(&f->exception))
        return;
    put_out(f, out);
    core->cur.address = address;
    core->cur.isa = isa;
    core->cur.halted = !chained;
    f->announce = true;
    f->on_reason = ETMV4_ON_DEBUG;
    f->on_cause = BT_GAP_DEBUG;
}

void etmv4_flow_vector(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out)
{
    flow_vector(&f->exception, address, isa);
    put_out(f, out);
}

void etmv4_flow_no_vector(struct etmv4_flow *f, struct flow_out *out)
{
    if (f->wait == ETMV4_WAIT_VECTOR || f->wait == ETMV4_WAIT_RETURN)
        put_out(f, out);
}
