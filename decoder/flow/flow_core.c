/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/flow/flow_core.h"

#include <string.h>

void flow_core_init(struct flow_core *f, struct code_cache *code, uint16_t core,
                    uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->core = core;
    f->generation = generation;
    flow_core_link(f, code);
}

void flow_core_link(struct flow_core *f, struct code_cache *code)
{
    f->code = code;
    f->view = NULL;
    f->range = NULL;
    f->view_stale = true;
    f->range_epoch = CODE_EPOCH_NONE;
}

void flow_core_key(const struct flow_core *f, struct code_key *key)
{
    code_key_init(key);
    key->core = f->core;
    key->generation = f->generation;
    key->security = f->cur.security;
    key->context = f->cur.context;
    key->has_context = f->cur.has_context;
    key->vmid = f->cur.vmid;
    key->has_vmid = f->cur.has_vmid;
}

struct bt_event *flow_event(struct flow_core *f, struct flow_out *out, enum bt_event_kind kind,
                            uint64_t offset)
{
    struct bt_event *e = &out->events[out->event_count++];
    memset(e, 0, sizeof *e);
    e->kind = (uint8_t)kind;
    e->position = f->instructions;
    e->offset = offset;
    return e;
}

void flow_event_cycles(struct bt_event *e, uint32_t cycles)
{
    e->cycles = cycles;
    e->has_cycles = true;
}

void flow_warn(struct flow_core *f, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
               uint64_t address)
{
    struct bt_event *e = flow_event(f, out, BT_EVENT_WARNING, offset);
    e->cause = (uint8_t)cause;
    flow_gap_address(e, address, f->cur.isa);
}

void flow_lose(struct flow_core *f, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
               uint64_t address)
{
    struct bt_event *e = flow_event(f, out, BT_EVENT_GAP, offset);
    e->cause = (uint8_t)cause;
    flow_gap_address(e, address, f->cur.isa);
    f->cur.known = false;
    f->range = NULL;
}

void flow_contradict(struct flow_core *f, struct flow_out *out, uint64_t offset,
                     enum bt_gap_cause cause, uint64_t address)
{
    flow_lose(f, out, offset, cause, address);
    struct bt_event *e = &out->events[out->event_count - 1];
    uint64_t doubtful = f->instructions - f->agreed;
    e->u.gap.doubtful = doubtful < UINT32_MAX ? (uint32_t)doubtful : UINT32_MAX;
    f->agreed = f->instructions; /* nobody is told twice */
}

void flow_core_gap(struct flow_core *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                   struct flow_out *out)
{
    struct bt_event *e = flow_event(f, out, BT_EVENT_GAP, offset);
    e->cause = (uint8_t)cause;
    e->u.gap.bytes = bytes;
    if (f->cur.known)
        flow_gap_address(e, f->cur.address, f->cur.isa);
    f->cur.known = false;
    f->cur.halted = false;
    f->cur.has_context = false;
    f->cur.has_vmid = false;
    f->range = NULL;
    f->view_stale = true;
}

struct code_view *flow_view(struct flow_core *f)
{
    if (!f->view_stale && f->view)
        return f->view;
    struct code_key key;
    const struct code_view *before = f->view;
    flow_core_key(f, &key);
    f->view = code_select(f->code, &key);
    if (f->view != before) /* a call's link to what is behind it is of the view of the call */
        f->range_epoch = CODE_EPOCH_NONE;
    f->view_stale = false;
    f->range = NULL;
    return f->view;
}

struct code_range *flow_range_here(struct flow_core *f, struct flow_out *out, uint64_t offset)
{
    struct code_view *view = flow_view(f);
    if (view && !f->range)
        f->range = code_lookup(f->code, view, f->cur.address, (enum bt_isa)f->cur.isa);
    if (!f->range)
        flow_lose(f, out, offset, BT_GAP_NO_CODE, f->cur.address);
    return f->range;
}

void flow_go_to(struct flow_core *f, uint64_t address, uint8_t isa)
{
    f->cur.address = address;
    f->cur.isa = isa;
    f->cur.known = true;
    f->cur.halted = false;
    f->range = NULL;
}

void flow_set_security(struct flow_core *f, struct flow_out *out, uint64_t offset,
                       enum bt_security security, bool announce)
{
    if (f->cur.security == security)
        return;
    f->cur.security = (uint8_t)security;
    f->view_stale = true;
    if (announce)
        flow_event(f, out, BT_EVENT_STATE, offset)->u.state.security = (uint8_t)security;
}

void flow_set_context(struct flow_core *f, struct flow_out *out, uint64_t offset, uint32_t context)
{
    if (f->cur.has_context && f->cur.context == context)
        return;
    f->cur.context = context;
    f->cur.has_context = true;
    f->view_stale = true;
    flow_event(f, out, BT_EVENT_CONTEXT, offset)->u.context.id = context;
}

void flow_set_vmid(struct flow_core *f, struct flow_out *out, uint64_t offset, uint32_t vmid)
{
    f->cur.vmid = vmid;
    f->cur.has_vmid = true;
    f->view_stale = true;
    flow_event(f, out, BT_EVENT_VMID, offset)->u.vmid.id = vmid;
}

struct code_range *flow_learn_target(const struct flow_core *f, const void *from, uint64_t address,
                                     enum bt_isa isa)
{
    struct code_steps *steps = f->code->steps;
    const uint32_t target = flow_target(address, isa);
    struct code_range *range = code_find(f->code, f->view, address, isa);
    if (range && !code_step_find(steps, from, target)) {
        struct code_step_way way;
        code_step_way_init(&way, range);
        code_step_add(steps, from, target, &way);
    }
    return range;
}
