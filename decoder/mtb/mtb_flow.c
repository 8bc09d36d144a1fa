/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/mtb/mtb_flow.h"
#include "decoder/flow/flow_walk.h"

#include <string.h>

#define PSEUDO 0xf0000000u /* EXC_RETURN from here on: no address */
#define FNC    0xfefffffeu /* FNC_RETURN of ARMv8-M, without its bit 0 */

void mtb_flow_init(struct mtb_flow *f, const struct mtb_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation)
{
    (void)config;
    memset(f, 0, sizeof *f);
    flow_core_init(&f->core, code, core, generation);
}

static bool mtb_pseudo(uint32_t address)
{
    return address >= PSEUDO || address == FNC;
}

/* The waypoint from `address` on. NULL: there is no code. */
static struct code_range *mtb_waypoint(struct flow_core *f, struct code_view *view,
                                       uint64_t address)
{
    struct code_range *range = code_lookup(f->code, view, address, BT_ISA_T32);
    for (uint32_t count = 0; range && range->end == CODE_END_PAGE && count < FLOW_WALK_LIMIT;) {
        count += code_range_count(range);
        range = code_onward(f->code, view, range);
    }
    return range && range->end < CODE_END_PAGE ? range : NULL;
}

/* Execution can go on behind it. What an IT block makes conditional is no more than a branch. */
static bool mtb_passes(const struct code_range *range)
{
    return range->end == CODE_END_BARRIER ||
           (range->end == CODE_END_DIRECT && !(range->last & CODE_SURE));
}

/* Whether the code leads from the position to `k`'s source in a line, before anything of it is put
 * out. */
static bool mtb_leads(struct flow_core *f, const struct mtb_packet *k)
{
    struct code_view *view = flow_view(f);
    uint64_t address = f->cur.address;
    if (k->source < address || k->source - address > 4 * FLOW_WALK_LIMIT)
        return false;
    while (view && address <= k->source) {
        if (k->kind == MTB_EXCEPTION && address == k->source)
            return true;
        struct code_range *range = mtb_waypoint(f, view, address);
        if (!range) /* an exception may come in code that ends in nothing known */
            return k->kind == MTB_EXCEPTION;
        uint64_t last = code_range_last64(range);
        if (k->source <= last)
            return k->kind == MTB_EXCEPTION || k->source == last;
        if (!mtb_passes(range))
            return false;
        address = code_range_behind64(range);
    }
    return false;
}

/* Up to the last waypoint before the source: one block each. False: there is no room for all. */
static bool mtb_pass_waypoints(struct flow_core *f, const struct mtb_packet *k,
                               struct flow_out *out)
{
    struct code_range *range;
    while ((range = mtb_waypoint(f, flow_view(f), f->cur.address)) &&
           code_range_last64(range) < k->source) {
        if (!flow_room(out))
            return false;
        uint64_t behind = code_range_behind64(range);
        enum bt_cond cond = range->end == CODE_END_DIRECT ? BT_COND_FAIL : BT_COND_PASS;
        if (!flow_walk_to_waypoint(f, out, k->offset, cond, FLOW_NO_CYCLES))
            return true;
        flow_go_to(f, behind, BT_ISA_T32);
    }
    return true;
}

static void mtb_begin(struct mtb_flow *f, const struct mtb_packet *k, uint32_t address,
                      struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TRACE_ON, k->offset);
    flow_trace_on_address(e, address, BT_ISA_T32);
    e->cause = k->start && f->core.started && !f->gap ? BT_GAP_TRACE_ON : BT_GAP_NONE;
    f->core.started = true;
    flow_go_to(&f->core, address, BT_ISA_T32);
}

/* The branch itself, and where it went. */
static void mtb_branch(struct mtb_flow *f, const struct mtb_packet *k, struct flow_out *out)
{
    struct flow_core *core = &f->core;
    enum bt_isa isa;
    struct code_range *range =
        flow_walk_to_waypoint(core, out, k->offset, BT_COND_PASS, FLOW_NO_CYCLES);
    if (!range)
        return;
    bool direct = range->end == CODE_END_DIRECT;
    if (direct && code_target(core->code, core->view, range, &isa) != k->destination) {
        flow_contradict(core, out, k->offset, BT_GAP_DESYNC, k->destination);
    } else if (mtb_pseudo(k->destination)) {
        flow_exception_return_address(flow_event(core, out, BT_EVENT_EXCEPTION_RET, k->offset),
                                      k->source, BT_ISA_T32);
        core->cur.known = false;
        f->returning = true;
        return;
    }
    flow_go_to(core, k->destination, BT_ISA_T32);
}

static void mtb_exception(struct mtb_flow *f, const struct mtb_packet *k, struct flow_out *out)
{
    struct flow_core *core = &f->core;
    core->started = true;
    if (core->cur.known && core->cur.address != k->source &&
        (flow_walk_before(core, out, k->source, false) != FLOW_WALK_THERE ||
         core->cur.address != k->source))
        flow_contradict(core, out, k->offset, BT_GAP_DESYNC, k->source);
    struct bt_event *e = flow_event(core, out, BT_EVENT_EXCEPTION, k->offset);
    flow_exception_number(e, 0);
    flow_return_address(e, k->source, BT_ISA_T32);
    flow_vector(e, k->destination, BT_ISA_T32);
    e->u.exception.m_profile = true;
    flow_go_to(core, k->destination, BT_ISA_T32);
}

/* The second half of an exception's return: where execution goes on. */
static void mtb_returned(struct mtb_flow *f, const struct mtb_packet *k, struct flow_out *out)
{
    bool due = f->returning;
    f->returning = false;
    if (due)
        flow_go_to(&f->core, k->destination, BT_ISA_T32);
    else
        mtb_begin(f, k, k->destination, out);
}

/* Trace was off before, or packets or code contradict each other: execution begins anew. */
static void mtb_announce(struct mtb_flow *f, const struct mtb_packet *k, struct flow_out *out)
{
    struct flow_core *core = &f->core;
    bool second = f->returning && k->kind == MTB_EXCEPTION && mtb_pseudo(k->source);
    if (k->start || (f->returning && !second))
        core->cur.known = f->returning = false;
    if (core->cur.known && !mtb_leads(core, k))
        flow_contradict(core, out, k->offset, BT_GAP_DESYNC, k->source);
    if (!core->cur.known && !second && k->kind == MTB_BRANCH)
        mtb_begin(f, k, k->source, out);
    if (core->cur.known && !mtb_leads(core, k)) /* there is no branch */
        flow_lose(core, out, k->offset, BT_GAP_DESYNC, k->source);
}

/* False: there is no room. */
static bool mtb_take(struct mtb_flow *f, const struct mtb_packet *k, struct flow_out *out)
{
    if (k->kind == MTB_INCOMPLETE)
        return true;
    if (!f->announced)
        mtb_announce(f, k, out);
    f->announced = true;
    if (f->core.cur.known && !mtb_pass_waypoints(&f->core, k, out))
        return false;
    if (!flow_room(out))
        return false;
    if (k->kind == MTB_EXCEPTION && mtb_pseudo(k->source))
        mtb_returned(f, k, out);
    else if (k->kind == MTB_EXCEPTION)
        mtb_exception(f, k, out);
    else if (f->core.cur.known)
        mtb_branch(f, k, out);
    else if (!mtb_pseudo(k->destination))
        mtb_begin(f, k, k->destination, out);
    f->announced = f->gap = false;
    return true;
}

size_t mtb_flow_run(struct mtb_flow *f, const struct mtb_packet *packets, size_t count,
                    struct flow_out *out)
{
    for (size_t i = 0; i < count; i++)
        if (!flow_room(out) || !mtb_take(f, &packets[i], out))
            return i;
    return count;
}

void mtb_flow_gap(struct mtb_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out)
{
    f->announced = f->returning = false;
    f->gap = true;
    flow_core_gap(&f->core, offset, cause, bytes, out);
}
