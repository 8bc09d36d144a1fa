/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/ptm/ptm_flow.h"

#include "decoder/flow/flow_walk.h"
#include "ptm_flow_internal.h"

#include <string.h>

void ptm_flow_init(struct ptm_flow *f, const struct ptm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->config = *config;
    flow_core_init(&f->core, code, core, generation);
}

void ptm_flow_gap(struct ptm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out)
{
    flow_core_gap(&f->core, offset, cause, bytes, out);
    f->synced = false;
    f->rs_count = 0;
}

static void event_cycles(struct bt_event *e, const struct ptm_packet *k)
{
    if (k->flags & PTM_HAS_CYCLES)
        flow_event_cycles(e, k->cycles);
}

/* Return stack (IHI 0035B chapter 4). */

static bool pop_return(struct ptm_flow *f, struct ptm_return *r, struct code_range **from)
{
    if (f->rs_count == 0)
        return false;
    f->rs_count--;
    f->rs_top = (f->rs_top + PTM_RETURN_STACK - 1) % PTM_RETURN_STACK;
    *r = f->rs[f->rs_top];
    *from = flow_ranges_valid(&f->core) ? f->rs_from[f->rs_top] : NULL;
    return true;
}

/* Walks to the next waypoint and outputs it with its condition. The position stays. */
static struct code_range *take_waypoint(struct ptm_flow *f, struct flow_out *out, uint64_t offset,
                                        enum bt_cond cond, uint64_t cycles)
{
    struct code_range *range = flow_walk_to_waypoint(&f->core, out, offset, cond, cycles);
    if (range)
        f->last_waypoint = code_range_last(range);
    return range;
}

/* analyze_atomheader(). */

/* E on an indirect branch: only the return stack can tell where it went. */
static void indirect_by_atom(struct ptm_flow *f, struct flow_out *out, uint64_t offset,
                             uint64_t address)
{
    struct ptm_return r;
    struct code_range *call;
    if (!f->config.return_stack || !pop_return(f, &r, &call)) {
        flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, address);
        return;
    }
    flow_set_security(&f->core, out, offset, (enum bt_security)r.security, true);
    flow_go_to(&f->core, r.address, r.isa);
    if (call && !f->core.view_stale)
        f->core.range = code_onward(f->core.code, f->core.view, call);
}

/* After the waypoint that ends `range`, E: the position it leads to. */
static inline void ptm_flow_taken(struct ptm_flow *f, struct flow_out *out,
                                  struct code_range *range, uint64_t offset)
{
    uint64_t ret = code_range_behind(range);
    uint8_t isa = f->core.cur.isa, security = f->core.cur.security;
    /* Following a link may start the cache over: the range is void then. */
    bool push = (range->last & INSN_LINK) && f->config.return_stack;
    uint32_t epoch = f->core.code->epoch;
    if (range->end != CODE_END_INDIRECT) {
        enum bt_isa to;
        f->core.cur.address = code_target(f->core.code, f->core.view, range, &to);
        f->core.cur.isa = (uint8_t)to;
        f->core.range = code_taken(f->core.code, f->core.view, range);
    } else {
        indirect_by_atom(f, out, offset, code_range_last(range));
    }
    /* After the pop, never before (IHI 0035B chapter 4). */
    if (push)
        ptm_flow_push(f, ret, isa, security, epoch == f->core.code->epoch ? range : NULL);
}

/* One waypoint with its condition. Returns its range, NULL when the code could not be followed. */
static inline struct code_range *ptm_flow_waypoint(struct ptm_flow *f, struct flow_out *out,
                                                   uint64_t offset, enum bt_cond cond,
                                                   uint64_t cycles)
{
    struct code_range *range = f->core.range;
    if (!range || range->end >= CODE_END_PAGE)
        return take_waypoint(f, out, offset, cond, cycles);
    /* The hot path: a cached range that ends in a waypoint. */
    flow_block(&f->core, out, range->start, range->extent, range->info | (uint32_t)cond << 4,
               cycles);
    f->last_waypoint = code_range_last(range);
    return range;
}

static inline void ptm_flow_one_atom(struct ptm_flow *f, const struct ptm_packet *k, bool passed,
                                     struct flow_out *out)
{
    uint64_t cycles = k->flags & PTM_HAS_CYCLES ? k->cycles : FLOW_NO_CYCLES;
    struct code_range *range =
        ptm_flow_waypoint(f, out, k->offset, passed ? BT_COND_PASS : BT_COND_FAIL, cycles);
    if (!range)
        return;
    if (passed) {
        ptm_flow_taken(f, out, range, k->offset);
        return;
    }
    f->core.cur.address = code_range_behind(range);
    f->core.range = code_onward(f->core.code, f->core.view, range);
}

static void slow_atom(struct ptm_flow *f, const struct ptm_packet *k, unsigned i,
                      struct flow_out *out)
{
    if (f->core.cur.known)
        ptm_flow_one_atom(f, k, !(k->value >> i & 1), out);
    else
        f->core.dropped++;
}

void ptm_flow_atoms(struct ptm_flow *f, const struct ptm_packet *k, unsigned n,
                    struct flow_out *out)
{
    if (f->core.view_stale)
        flow_view(&f->core);
    if (k->flags & PTM_HAS_CYCLES)
        f->core.cycles += k->cycles;
    while (n > 0)
        slow_atom(f, k, --n, out);
}

static void branch_no_excp(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    uint64_t cycles = k->flags & PTM_HAS_CYCLES ? k->cycles : FLOW_NO_CYCLES;
    enum bt_isa isa = ptm_packet_isa(k), to;
    struct code_range *range = NULL, *next = NULL;
    if (f->core.cur.known) {
        if (f->core.view_stale)
            flow_view(&f->core);
        range = ptm_flow_waypoint(f, out, k->offset, BT_COND_PASS, cycles);
    }
    if (range) {
        if ((range->last & INSN_LINK) && f->config.return_stack)
            ptm_flow_push(f, code_range_behind(range), f->core.cur.isa, f->core.cur.security,
                          range);
        if (range->end == CODE_END_DIRECT &&
            code_target(f->core.code, f->core.view, range, &to) != k->value)
            flow_contradict(&f->core, out, k->offset, BT_GAP_DESYNC, code_range_last(range));
        if (range->end == CODE_END_INDIRECT && !(k->flags & PTM_HAS_INFO) && isa <= BT_ISA_T32)
            next = code_indirect(f->core.code, f->core.view, range, k->value, isa);
    }
    if (k->flags & PTM_HAS_INFO)
        flow_set_security(&f->core, out, k->offset, ptm_packet_security(k), true);
    flow_go_to(&f->core, k->value, (uint8_t)isa);
    f->core.range = next;
    if (isa == BT_ISA_JAZELLE) /* not traced until an I-sync: IHI 0035B 1.1.3 */
        f->core.cur.known = false;
}

static void branch_with_excp(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION, k->offset);
    flow_exception_number(e, k->number);
    flow_vector(e, k->value, (uint8_t)ptm_packet_isa(k));
    if (f->core.cur.known)
        flow_return_address(e, f->core.cur.address, f->core.cur.isa);
    event_cycles(e, k);
    if (k->number == PTM_EXC_DEBUG) { /* address and state of the packet mean nothing: IHI 0035B */
        f->core.cur.halted = f->core.cur.known;
        f->core.cur.known = false;
        f->core.range = NULL;
        return;
    }
    flow_set_security(&f->core, out, k->offset, ptm_packet_security(k), true);
    flow_go_to(&f->core, k->value, (uint8_t)ptm_packet_isa(k));
    if (f->core.cur.isa == BT_ISA_JAZELLE)
        f->core.cur.known = false;
}

static void analyze_branch(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{

    if (k->flags & PTM_HAS_CYCLES)
        f->core.cycles += k->cycles;
    if (k->number == 0)
        branch_no_excp(f, k, out);
    else
        branch_with_excp(f, k, out);
    if (k->flags & PTM_ODD_STATE)
        flow_warn(&f->core, out, k->offset, BT_GAP_BAD_PACKET, k->value);
}

static void analyze_waypoint_update(struct ptm_flow *f, const struct ptm_packet *k,
                                    struct flow_out *out)
{
    if (!f->core.cur.known)
        return;
    if ((int32_t)((uint32_t)k->value - (uint32_t)f->core.cur.address) < 0) {
        flow_contradict(&f->core, out, k->offset, BT_GAP_DESYNC, k->value);
        return;
    }
    flow_walk_through(&f->core, out, k->offset, k->value);
}

/* I-sync, analyze_cid(), analyze_vmid(), analyze_eret() and the rest. */

static void ptm_flow_trace_on(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TRACE_ON, k->offset);
    e->cause = (uint8_t)flow_isync_gap(&f->core, f->synced, k->number);
    e->u.trace_on.reason = (uint8_t)k->number;
    e->u.trace_on.security = (uint8_t)ptm_packet_security(k);
    flow_trace_on_address(e, k->value, (uint8_t)ptm_packet_isa(k));
    /* PFTv1.1: the count is unknown after an overflow or a debug exit. */
    if (f->config.version_minor == 0 || k->number == ISYNC_TRACE_ON)
        event_cycles(e, k);
}

static void analyze_isync(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    bool periodic = k->number == ISYNC_PERIODIC && f->synced;
    uint8_t isa = (uint8_t)ptm_packet_isa(k);
    if (k->flags & PTM_HAS_CYCLES)
        f->core.cycles += k->cycles;
    if (!periodic)
        ptm_flow_trace_on(f, k, out);
    else if (f->core.cur.known && (f->core.cur.address != k->value || f->core.cur.isa != isa))
        flow_contradict(&f->core, out, k->offset, BT_GAP_DESYNC, f->core.cur.address);
    f->core.agreed = f->core.instructions;
    flow_set_security(&f->core, out, k->offset, ptm_packet_security(k), periodic);
    if (k->flags & PTM_HAS_CONTEXT)
        flow_set_context(&f->core, out, k->offset, k->context);
    flow_go_to(&f->core, k->value, isa);
    f->rs_count = 0; /* every I-sync empties it, a periodic one too */
    f->synced = f->core.started = true;
}

static void analyze_cid(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (!(k->flags & PTM_HAS_CONTEXT))
        return;
    f->core.cur.has_context = false; /* an event for each packet, also one that repeats */
    flow_set_context(&f->core, out, k->offset, k->context);
}

static void analyze_vmid(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    flow_set_vmid(&f->core, out, k->offset, (uint8_t)k->value);
}

static void analyze_eret(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION_RET, k->offset);
    flow_exception_return_address(e, f->last_waypoint, f->core.cur.isa);
}

static void ptm_flow_timestamp(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (k->flags & PTM_HAS_CYCLES)
        f->core.cycles += k->cycles;
    if (!(k->flags & PTM_TS_VALID))
        return;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TIMESTAMP, k->offset);
    e->u.timestamp.value = packet_time(k->value, f->config.timestamp_gray);
    e->u.timestamp.rate_changed = k->flags & PTM_TS_FREQ;
    event_cycles(e, k);
}

/* Packets that mean something before the first I-sync, too. */
static bool ptm_flow_early_packet(struct ptm_flow *f, const struct ptm_packet *k,
                                  struct flow_out *out)
{
    switch (k->kind) {
    case PTM_ISYNC:
        analyze_isync(f, k, out);
        return true;
    case PTM_TIMESTAMP:
        ptm_flow_timestamp(f, k, out);
        return true;
    case PTM_TRIGGER:
        flow_event(&f->core, out, BT_EVENT_TRIGGER, k->offset);
        return true;
    case PTM_RESERVED:
    case PTM_MALFORMED:
        ptm_flow_gap(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        return true;
    default:
        return !f->synced;
    }
}

static void ptm_flow_other_packet(struct ptm_flow *f, const struct ptm_packet *k,
                                  struct flow_out *out)
{
    if (ptm_flow_early_packet(f, k, out))
        return;
    switch (k->kind) {
    case PTM_BRANCH:
        analyze_branch(f, k, out);
        break;
    case PTM_UPDATE:
        analyze_waypoint_update(f, k, out);
        break;
    case PTM_CONTEXT:
        analyze_cid(f, k, out);
        break;
    case PTM_VMID:
        analyze_vmid(f, k, out);
        break;
    case PTM_EXC_RETURN:
        analyze_eret(f, k, out);
        break;
    default: /* ignore, A-sync, skipped bytes: no meaning for the flow */
        break;
    }
}

size_t ptm_flow_run(struct ptm_flow *f, const struct ptm_packet *packets, size_t count,
                    struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!flow_room(out))
            return i;
        const struct ptm_packet *k = &packets[i];
        if (k->kind == PTM_ATOM && f->synced)
            ptm_flow_atoms(f, k, k->n, out);
        else
            ptm_flow_other_packet(f, k, out);
    }
    return count;
}
