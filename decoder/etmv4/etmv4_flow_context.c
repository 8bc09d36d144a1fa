/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4: who executes, and where execution goes on (IHI 0064H.b chapter 6). */
#include "etmv4_flow_parts.h"

uint8_t etmv4_flow_isa(const struct etmv4_flow *f, bool aarch64, uint8_t isa_bit)
{
    if (f->config.m_profile)
        return BT_ISA_T32;
    if (aarch64)
        return BT_ISA_A64;
    return isa_bit ? BT_ISA_T32 : BT_ISA_A32;
}

enum bt_security etmv4_flow_security(const struct etmv4_flow *f, uint8_t info)
{
    if (f->config.m_profile)
        return info & ETMV4_INFO_NS ? BT_SEC_NONSECURE : BT_SEC_SECURE;
    if (!(info & ETMV4_INFO_NS))
        return BT_SEC_SECURE;
    return (info & ETMV4_INFO_EL) == 2 ? BT_SEC_HYP : BT_SEC_NONSECURE;
}

void etmv4_flow_warn(struct etmv4_flow *f, uint64_t offset, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_WARNING, offset);
    e->cause = BT_GAP_BAD_PACKET;
    if (f->core.cur.known)
        flow_gap_address(e, f->core.cur.address, f->core.cur.isa);
}

static void set_numbers(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    const struct flow_position *cur = &f->core.cur;
    bool vmid = k->info & ETMV4_INFO_VMID, context = k->info & ETMV4_INFO_CONTEXT;
    if ((vmid && !f->config.vmid_bytes) || (context && !f->config.context_bytes))
        etmv4_flow_warn(f, k->offset, out); /* by the registers the unit has none */
    /* What is left out is unchanged, and has been 0 since a Trace Info: then k->vmid, k->context
     * are. */
    vmid |= (k->n & ETMV4_INFO_VMID) != 0;
    context |= (k->n & ETMV4_INFO_CONTEXT) != 0;
    if (vmid && f->config.vmid_bytes && !(cur->has_vmid && cur->vmid == k->vmid))
        flow_set_vmid(&f->core, out, k->offset, k->vmid);
    if (context && f->config.context_bytes)
        flow_set_context(&f->core, out, k->offset, k->context);
}

void etmv4_flow_context(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (!(k->flags & ETMV4_HAS_CONTEXT))
        return;
    bool wide = !f->config.m_profile && (k->info & ETMV4_INFO_SF);
    flow_set_security(&f->core, out, k->offset, etmv4_flow_security(f, k->info), true);
    set_numbers(f, k, out);
    f->informed = true;
    if (wide != f->aarch64 && f->core.cur.known) /* the address came first */
        flow_go_to(&f->core, f->core.cur.address,
                   wide         ? BT_ISA_A64
                   : f->isa_bit ? BT_ISA_T32
                                : BT_ISA_A32);
    f->aarch64 = wide;
    if (!f->has_early)
        return;
    f->has_early = false;
    etmv4_flow_address(f, &f->early, out);
}

static bool is_wide(const struct etmv4_flow *f, const struct etmv4_packet *k)
{
    return k->flags & ETMV4_HAS_CONTEXT ? k->info & ETMV4_INFO_SF : f->aarch64;
}

/* The vector is in the handler's context, and the exception comes before both. */
static void vector(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    bool apart = f->has_handler && !(k->flags & ETMV4_HAS_CONTEXT);
    bool wide = is_wide(f, apart ? &f->handler : k);
    etmv4_flow_vector(f, k->value, etmv4_flow_isa(f, wide, k->isa_bit), out);
}

void etmv4_flow_context_packet(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out)
{
    if (f->wait != ETMV4_WAIT_VECTOR) {
        etmv4_flow_context(f, k, out);
    } else if (k->flags & ETMV4_HAS_CONTEXT) {
        f->handler = *k;
        f->has_handler = true;
    }
}

static void trace_on_event(struct etmv4_flow *f, uint64_t offset, uint64_t address, uint8_t isa,
                           struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TRACE_ON, offset);
    e->cause = f->on_cause;
    e->u.trace_on.reason = f->on_reason;
    e->u.trace_on.security = f->core.cur.security;
    flow_trace_on_address(e, address, isa);
    f->announce = false;
    f->on_reason = ETMV4_ON_PERIODIC;
    f->on_cause = BT_GAP_NONE;
}

void etmv4_flow_go_on(struct etmv4_flow *f, uint64_t offset, uint64_t address, uint8_t isa,
                      struct flow_out *out)
{
    struct flow_core *core = &f->core;
    struct code_range *next = NULL, *went = f->due && flow_ranges_valid(core) ? f->went : NULL;
    if (f->announce) {
        trace_on_event(f, offset, address, isa, out);
        core->agreed = core->instructions;
    } else if (core->cur.known && core->cur.address == address && core->cur.isa == isa) {
        core->agreed = core->instructions;
        return;
    } else if (core->cur.known && !f->jumps) {
        flow_contradict(core, out, offset, BT_GAP_DESYNC, core->cur.address);
    } else if (went && !core->view_stale) {
        next = code_indirect(core->code, core->view, went, address, (enum bt_isa)isa);
    }
    flow_go_to(core, address, isa);
    core->range = next;
}

void etmv4_flow_address(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (k->flags & ETMV4_HAS_CONTEXT)
        f->has_early = false;
    if (f->wait == ETMV4_WAIT_VECTOR)
        vector(f, k, out);
    etmv4_flow_context(f, k, out);
    if (!f->informed && !f->config.m_profile) {
        f->early = *k;
        f->has_early = true;
        return;
    }
    uint8_t isa = etmv4_flow_isa(f, f->aarch64, k->isa_bit);
    f->isa_bit = k->isa_bit;
    switch (f->wait) {
    case ETMV4_WAIT_RETURN:
        etmv4_flow_return_address(f, k->value, isa, out);
        return;
    case ETMV4_WAIT_Q:
        etmv4_flow_q(f, k->value, isa, out);
        return;
    default:
        break;
    }
    etmv4_flow_go_on(f, k->offset, k->value, isa, out);
    f->pending_pop = f->push_blocked = f->jumps = f->due = false;
}
