/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4/etmv4_flow.h"
#include "decoder/flow/flow_walk.h"
#include "etmv4_flow_internal.h"

#include <string.h>

/* IHI 0064H.b chapter 6, M profile: taken straight after another's return: there is no return
 * address. */
#define ETMV4_M_NO_RETURN 0xfffffffeu

/* Where execution goes on: as the code has it, or a trace-on or a gap tells that it does not. */
static void etmv4_flow_go_on(struct etmv4_flow *f, uint64_t offset, uint64_t address, uint8_t isa,
                             struct flow_out *out);

/* An address packet, for whatever waits for one. */
static void etmv4_flow_address(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out);

void etmv4_flow_init(struct etmv4_flow *f, const struct etmv4_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation)
{
    memset(f, 0, offsetof(struct etmv4_flow, queue));
    etmv4_queue_reset(&f->queue, 0);
    f->config = *config;
    flow_core_init(&f->core, code, core, generation);
}

/* Who executes (IHI 0064H.b chapter 6). */

/* Instruction set at an address: its IS bit, and whether the core is in AArch64. */
static uint8_t etmv4_flow_isa(const struct etmv4_flow *f, bool aarch64, uint8_t isa_bit)
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

/* A packet that cannot be right, and does no harm. */
static void etmv4_flow_warn(struct etmv4_flow *f, uint64_t offset, struct flow_out *out)
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

/* Who executes from here on: what `k` says of it. */
static void etmv4_flow_context(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out)
{
    if (!(k->flags & ETMV4_HAS_CONTEXT))
        return;
    bool wide = !f->config.m_profile && (k->info & ETMV4_INFO_SF);
    flow_set_security(&f->core, out, k->offset, etmv4_flow_security(f, k->info), true);
    set_numbers(f, k, out);
    f->sync = ETMV4_SYNC_INFORMED;
    if (wide != f->aarch64 && f->core.cur.known) /* the address came first */
        flow_go_to(&f->core, f->core.cur.address,
                   wide         ? BT_ISA_A64
                   : f->isa_bit ? BT_ISA_T32
                                : BT_ISA_A32);
    f->aarch64 = wide;
    if (!f->early.held)
        return;
    f->early.held = false;
    etmv4_flow_address(f, &f->early.packet, out);
}

static void etmv4_flow_put_out(struct etmv4_flow *f, struct flow_out *out)
{
    uint64_t position = f->core.instructions;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION, f->exception.offset);
    *e = f->exception;
    e->position = position;
    f->wait = ETMV4_WAIT_NONE;
    if (!f->handler.held)
        return;
    f->handler.held = false;
    etmv4_flow_context(f, &f->handler.packet, out);
}

/* The exception that waits goes out without a vector when no address came. */
static void etmv4_flow_no_vector(struct etmv4_flow *f, struct flow_out *out)
{
    if (f->wait == ETMV4_WAIT_VECTOR || f->wait == ETMV4_WAIT_RETURN)
        etmv4_flow_put_out(f, out);
}

/* Return stack (IHI 0064H.b). */

/* A P0 element comes: an indirect branch that got no address went where the return stack says. */
static void etmv4_flow_resolve(struct etmv4_flow *f, uint64_t offset, struct flow_out *out)
{
    if (f->branch != ETMV4_BRANCH_POPS)
        return;
    f->branch = ETMV4_BRANCH_NONE;
    const struct etmv4_return *r = etmv4_flow_pop(f);
    if (!r) {
        flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last_p0);
        return;
    }
    struct code_range *from = flow_ranges_valid(&f->core) ? r->from : NULL;
    flow_go_to(&f->core, r->address, r->isa);
    if (from && !f->core.view_stale)
        f->core.range = code_onward(f->core.code, f->core.view, from);
}

/* The indirect branch that was taken last did not go where the return stack says. */
static void etmv4_flow_keep_stack(struct etmv4_flow *f)
{
    if (f->branch == ETMV4_BRANCH_POPS)
        f->branch = ETMV4_BRANCH_DUE;
}

/* The P0 instruction that ends `range` was taken. */
static inline void etmv4_flow_taken(struct etmv4_flow *f, struct code_range *range)
{
    etmv4_flow_keep_pointers(f);
    if ((range->last & INSN_LINK) && f->config.return_stack && !f->push_blocked)
        etmv4_flow_push(f, range);
    if (range->end != CODE_END_INDIRECT) {
        enum bt_isa to;
        f->core.cur.address = code_target(f->core.code, f->core.view, range, &to);
        f->core.cur.isa = (uint8_t)to;
        f->core.range = code_taken(f->core.code, f->core.view, range);
    } else {
        f->went = range;
        f->branch = f->config.return_stack ? ETMV4_BRANCH_POPS : ETMV4_BRANCH_DUE;
        f->core.cur.known = false;
        f->core.range = NULL;
    }
}

static inline void etmv4_flow_one_atom(struct etmv4_flow *f, uint64_t offset, bool passed,
                                       struct flow_out *out)
{
    enum bt_cond cond = passed ? BT_COND_PASS : BT_COND_FAIL;
    struct code_range *range = f->core.range;
    if (!range || range->end >= CODE_END_PAGE) {
        range = flow_walk_to_waypoint(&f->core, out, offset, cond, FLOW_NO_CYCLES);
        if (!range)
            return;
    } else {
        flow_block(&f->core, out, code_range_first64(range), range->extent,
                   range->info | (uint32_t)cond << 4, FLOW_NO_CYCLES);
    }
    f->last_p0 = code_range_last64(range);
    if (passed) {
        etmv4_flow_taken(f, range);
        return;
    }
    if (range->last & CODE_SURE) {
        flow_contradict(&f->core, out, offset, BT_GAP_DESYNC, f->last_p0);
        return;
    }
    f->core.cur.address = code_range_behind64(range);
    f->core.range = code_onward(f->core.code, f->core.view, range);
}

/* Atoms as far as the links between ranges lead; returns how many. */
static inline unsigned linked_atoms(struct etmv4_flow *f, uint32_t atoms, unsigned n,
                                    struct flow_out *out)
{
    struct code_range *range = f->core.range, *last = NULL;
    bool pushes = f->config.return_stack && !f->push_blocked;
    unsigned done = 0;
    if (!range || !f->core.cur.known)
        return 0;
    etmv4_flow_keep_pointers(f);
    for (; done < n && range->end < CODE_END_INDIRECT; done++, atoms >>= 1) {
        unsigned e = atoms & 1;
        struct code_range *next = range->next[e ? CODE_TAKEN : CODE_ONWARD];
        if (!next || (!e && (range->last & CODE_SURE)))
            break;
        flow_block(&f->core, out, code_range_first64(range), range->extent,
                   range->info | (uint32_t)(e ? BT_COND_PASS : BT_COND_FAIL) << 4, FLOW_NO_CYCLES);
        if (pushes && e && (range->last & INSN_LINK))
            etmv4_flow_push(f, range);
        last = range;
        range = next;
    }
    if (!last)
        return 0;
    f->last_p0 = code_range_last64(last);
    f->core.cur.address = code_range_first64(range);
    f->core.cur.isa = (uint8_t)code_range_isa(range);
    f->core.range = range;
    return done;
}

void etmv4_flow_atoms(struct etmv4_flow *f, uint64_t offset, uint32_t atoms, unsigned n,
                      struct flow_out *out)
{
    if (f->core.view_stale)
        flow_view(&f->core);
    f->jumps = false;
    for (; n > 0; n--, atoms >>= 1) {
        unsigned linked = linked_atoms(f, atoms, n, out);
        n -= linked;
        atoms >>= linked;
        if (n == 0)
            return;
        etmv4_flow_resolve(f, offset, out);
        if (f->core.cur.known) {
            etmv4_flow_one_atom(f, offset, atoms & 1, out);
            continue;
        }
        if (f->branch != ETMV4_BRANCH_NONE) {
            flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last_p0);
            f->branch = ETMV4_BRANCH_NONE;
        }
        etmv4_flow_no_vector(f, out);
        f->core.dropped++;
    }
}

/* Source addresses and Q. */

/* Source address (DDI 0487L.a chapter D5): straight on to the P0 instruction at k->value, which was
 * taken. */
static void etmv4_flow_source(struct etmv4_flow *f, const struct etmv4_packet *k,
                              struct flow_out *out)
{
    uint8_t isa = f->aarch64 ? BT_ISA_A64 : k->isa_bit ? BT_ISA_T32 : BT_ISA_A32;
    etmv4_flow_resolve(f, k->offset, out);
    etmv4_flow_no_vector(f, out);
    bool ahead = f->core.cur.known && f->core.cur.isa == isa && f->core.cur.address <= k->value;
    if (!ahead || flow_walk_before(&f->core, out, k->value, true) != FLOW_WALK_THERE) {
        if (f->branch != ETMV4_BRANCH_NONE) /* the way from its target to here is not known */
            flow_contradict(&f->core, out, k->offset, BT_GAP_UNKNOWN_ADDR, f->last_p0);
        f->branch = ETMV4_BRANCH_NONE;
        etmv4_flow_go_on(f, k->offset, k->value, isa, out);
    }
    etmv4_flow_atoms(f, k->offset, 1, 1, out);
}

/* Q packet (IHI 0064H.b chapter 6): f->q ran, and led to `address`. */
static void etmv4_flow_q(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out)
{
    enum flow_walk_end end = FLOW_WALK_LOST;
    f->wait = ETMV4_WAIT_NONE;
    f->branch = ETMV4_BRANCH_NONE; /* atoms may have come before the address */
    if (f->core.cur.known && (f->q.flags & ETMV4_COUNTED))
        end = flow_walk_count(&f->core, out, f->q.commit, address);
    if (end != FLOW_WALK_THERE)
        flow_lose(&f->core, out, f->q.offset, BT_GAP_UNKNOWN_ADDR, f->core.cur.address);
    flow_go_to(&f->core, address, isa);
}

#define TYPE_M_DEBUG_HALT 24
#define TYPE_M_LAZY_FP    25
#define TYPE_M_LOCKUP     26
#define TYPE_M_IRQ        0x200

#define NUMBER_DEBUG   1 /* as PTM numbers them: IHI 0035B 4.5.4 */
#define NUMBER_GENERIC 13

/* The number that the history knows: the PTM's, or that of the M-profile. */
static void set_number(struct bt_exception *e, unsigned type, bool m_profile)
{
    static const uint8_t a[] = {[0] = 8,   [1] = NUMBER_DEBUG, [2] = 10,  [4] = 4,  [10] = 12,
                                [11] = 11, [12] = 12,          [14] = 14, [15] = 15};
    e->type = (uint8_t)(type >= 32 ? BT_NO_TYPE : type);
    e->m_type = m_profile;
    if (!m_profile) {
        e->number = type < sizeof a && a[type] ? a[type] : NUMBER_GENERIC;
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

static void etmv4_flow_exception(struct etmv4_flow *f, const struct etmv4_packet *k,
                                 struct flow_out *out)
{
    struct bt_event *e = &f->exception;
    etmv4_flow_no_vector(f, out);
    if (k->n != ETMV4_TARGET)
        etmv4_flow_resolve(f, k->offset, out);
    etmv4_flow_keep_stack(f);
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

static void etmv4_flow_return_address(struct etmv4_flow *f, uint64_t address, uint8_t isa,
                                      struct flow_out *out)
{
    struct flow_core *core = &f->core;
    bool chained = f->config.m_profile && address == ETMV4_M_NO_RETURN;
    if (!chained) {
        walk_to_return(f, address, isa, out);
        flow_return_address(&f->exception, address, isa);
    }
    f->branch = ETMV4_BRANCH_NONE;
    core->cur.known = false;
    core->range = NULL;
    f->wait = ETMV4_WAIT_VECTOR;
    if (!is_debug_halt(&f->exception))
        return;
    etmv4_flow_put_out(f, out);
    core->cur.address = address;
    core->cur.isa = isa;
    core->cur.halted = !chained;
    f->announce = true;
    f->on_reason = ETMV4_ON_DEBUG;
    f->on_cause = BT_GAP_DEBUG;
}

/* Where execution goes on (IHI 0064H.b chapter 6). */

static bool is_wide(const struct etmv4_flow *f, const struct etmv4_packet *k)
{
    return k->flags & ETMV4_HAS_CONTEXT ? k->info & ETMV4_INFO_SF : f->aarch64;
}

/* The vector is in the handler's context, and the exception comes before both. */
static void etmv4_flow_do_vector(struct etmv4_flow *f, const struct etmv4_packet *k,
                                 struct flow_out *out)
{
    bool apart = f->handler.held && !(k->flags & ETMV4_HAS_CONTEXT);
    bool wide = is_wide(f, apart ? &f->handler.packet : k);
    flow_vector(&f->exception, k->value, etmv4_flow_isa(f, wide, k->isa_bit));
    etmv4_flow_put_out(f, out);
}

/* A context packet: that of a handler waits for the vector. */
static void etmv4_flow_context_packet(struct etmv4_flow *f, const struct etmv4_packet *k,
                                      struct flow_out *out)
{
    if (f->wait != ETMV4_WAIT_VECTOR) {
        etmv4_flow_context(f, k, out);
    } else if (k->flags & ETMV4_HAS_CONTEXT) {
        f->handler.packet = *k;
        f->handler.held = true;
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

static void etmv4_flow_go_on(struct etmv4_flow *f, uint64_t offset, uint64_t address, uint8_t isa,
                             struct flow_out *out)
{
    struct flow_core *core = &f->core;
    struct code_range *next = NULL, *went = NULL;
    if (f->branch != ETMV4_BRANCH_NONE && flow_ranges_valid(core))
        went = f->went;
    if (f->announce) {
        trace_on_event(f, offset, address, isa, out);
        core->agreed = core->instructions;
    } else if (core->cur.known && core->cur.address == address && core->cur.isa == isa) {
        core->agreed = core->instructions;
        return;
    } else if (core->cur.known && !f->jumps) {
        bool other_isa = core->cur.isa != isa;
        flow_contradict(core, out, offset, BT_GAP_DESYNC, core->cur.address);
        if (other_isa) /* no branch changed it: the packet proves nothing, not its place either */
            return;
    } else if (went && !core->view_stale) {
        next = code_indirect(core->code, core->view, went, address, (enum bt_isa)isa);
    }
    flow_go_to(core, address, isa);
    core->range = next;
}

static void etmv4_flow_address(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out)
{
    if (k->flags & ETMV4_HAS_CONTEXT)
        f->early.held = false;
    if (f->wait == ETMV4_WAIT_VECTOR)
        etmv4_flow_do_vector(f, k, out);
    etmv4_flow_context(f, k, out);
    if (f->sync != ETMV4_SYNC_INFORMED && !f->config.m_profile) {
        f->early.packet = *k;
        f->early.held = true;
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
    f->push_blocked = f->jumps = false;
    f->branch = ETMV4_BRANCH_NONE;
}

/* Position, return stack and what waits: gone. */
static void etmv4_flow_forget(struct etmv4_flow *f)
{
    f->wait = ETMV4_WAIT_NONE;
    f->push_blocked = f->jumps = false;
    f->early.held = f->handler.held = false;
    f->branch = ETMV4_BRANCH_NONE;
    f->rs_count = 0;
    f->core.cur.known = f->core.cur.halted = false;
    f->core.range = NULL;
}

/* Times and events happened, whatever becomes of the elements between them. False: no room for
 * all of them; the rest comes when this is called again. */
static bool drop_uncommitted(struct etmv4_flow *f, struct flow_out *out)
{
    struct etmv4_packet k;
    while (flow_room(out)) {
        if (etmv4_queue_rest(&f->queue, &k)) {
            etmv4_flow_element(f, &k, out);
            continue;
        }
        etmv4_queue_reset(&f->queue, 0);
        return true;
    }
    return false;
}

static void etmv4_flow_lose(struct etmv4_flow *f, uint64_t offset, enum bt_gap_cause cause,
                            uint64_t bytes, struct flow_out *out)
{
    etmv4_flow_no_vector(f, out);
    flow_core_gap(&f->core, offset, cause, bytes, out);
    etmv4_flow_forget(f);
    f->sync = ETMV4_SYNC_LOST;
}

void etmv4_flow_gap(struct etmv4_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out)
{
    etmv4_queue_reset(&f->queue, 0);
    f->at_hand = ETMV4_HAND_NEW;
    etmv4_flow_lose(f, offset, cause, bytes, out);
    f->on_reason = cause == BT_GAP_OVERFLOW ? ETMV4_ON_OVERFLOW : ETMV4_ON_PERIODIC;
}

bool etmv4_flow_finish(struct etmv4_flow *f, struct flow_out *out)
{
    if (!drop_uncommitted(f, out))
        return false;
    etmv4_flow_no_vector(f, out);
    return true;
}

/* A Trace Info that is the first one here and a periodic one of the stream leaves the return stack
 * as it was: any number of entries. */
static void keep_foreign_returns(struct etmv4_flow *f)
{
    if (!f->cut)
        return;
    for (unsigned i = 0; i < ETMV4_RETURN_STACK; i++)
        f->rs[i] = (struct etmv4_return){.isa = ETMV4_RETURN_FOREIGN};
    f->rs_count = ETMV4_RETURN_STACK;
    f->cut = false;
}

static void trace_info(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (f->sync != ETMV4_SYNC_LOST) /* the parser lost what the flow did not hear of */
        etmv4_flow_lose(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
    etmv4_flow_forget(f);
    keep_foreign_returns(f);
    etmv4_queue_reset(&f->queue, k->commit);
    f->aarch64 = false;
    f->marked = false;
    f->announce = true;
    f->on_cause = BT_GAP_NONE;
    f->core.started = true;
    f->sync = ETMV4_SYNC_TRACED;
}

static void etmv4_flow_trace_on(struct etmv4_flow *f, struct flow_out *out)
{
    etmv4_flow_no_vector(f, out);
    if (!f->announce) { /* else: nothing came before, or its loss has an event of its own */
        f->on_cause = BT_GAP_TRACE_ON;
        f->announce = true;
    }
    if (f->on_reason == ETMV4_ON_PERIODIC)
        f->on_reason = ETMV4_ON_TRACE_ON;
    etmv4_flow_forget(f);
}

static void etmv4_flow_exception_return(struct etmv4_flow *f, const struct etmv4_packet *k,
                                        struct flow_out *out)
{
    etmv4_flow_keep_stack(f);
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION_RET, k->offset);
    flow_exception_return_address(e, f->last_p0, f->core.cur.isa);
}

static void etmv4_flow_timestamp(struct etmv4_flow *f, const struct etmv4_packet *k,
                                 struct flow_out *out)
{
    if (f->config.marked_times && !f->marked)
        return;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TIMESTAMP, k->offset);
    e->u.timestamp.value = k->value;
    if (k->flags & ETMV4_COUNTED)
        flow_event_cycles(e, k->cycles);
}

static void etmv4_flow_cycles(struct etmv4_flow *f, const struct etmv4_packet *k,
                              struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_COUNT, k->offset);
    if (!(k->flags & ETMV4_COUNTED))
        return;
    flow_event_cycles(e, k->cycles);
    f->core.cycles += k->cycles;
}

static void q_element(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    etmv4_flow_resolve(f, k->offset, out);
    etmv4_flow_no_vector(f, out);
    f->q = *k;
    f->wait = ETMV4_WAIT_Q;
    if (k->flags & ETMV4_ADDRESSED)
        etmv4_flow_q(f, k->value, etmv4_flow_isa(f, f->aarch64, k->isa_bit), out);
}

static void etmv4_flow_trigger(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out)
{
    flow_event(&f->core, out, BT_EVENT_TRIGGER, k->offset)->u.trigger.mask = k->number;
}

static void etmv4_flow_software(struct etmv4_flow *f, const struct etmv4_packet *k,
                                struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_SOFTWARE, k->offset);
    e->u.software.value = k->value;
    e->u.software.level = (uint8_t)k->number;
}

void etmv4_flow_element(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    switch (k->kind) {
    case ETMV4_ATOM:
        etmv4_flow_atoms(f, k->offset, (uint32_t)k->value, k->n, out);
        break;
    case ETMV4_ADDRESS:
        etmv4_flow_address(f, k, out);
        break;
    case ETMV4_CONTEXT:
        etmv4_flow_context_packet(f, k, out);
        break;
    case ETMV4_EXCEPTION:
        etmv4_flow_exception(f, k, out);
        break;
    case ETMV4_EXC_RETURN:
        etmv4_flow_exception_return(f, k, out);
        break;
    case ETMV4_FUNC_RETURN:
        etmv4_flow_keep_stack(f);
        break;
    case ETMV4_TRACE_INFO: /* a periodic one */
        if (k->n || (k->commit && !f->config.max_speculated))
            etmv4_flow_warn(f, k->offset, out);
        f->push_blocked = true;
        break;
    case ETMV4_TRACE_ON:
        etmv4_flow_trace_on(f, out);
        break;
    case ETMV4_CYCLES:
        etmv4_flow_cycles(f, k, out);
        break;
    case ETMV4_Q:
        q_element(f, k, out);
        break;
    case ETMV4_SOURCE:
        etmv4_flow_source(f, k, out);
        break;
    case ETMV4_TIMESTAMP:
        etmv4_flow_timestamp(f, k, out);
        break;
    case ETMV4_MARKER:
        f->marked = true;
        break;
    case ETMV4_EVENT:
        etmv4_flow_trigger(f, k, out);
        break;
    case ETMV4_INSTRUMENTATION:
        etmv4_flow_software(f, k, out);
        break;
    case ETMV4_TRANSACTION:
        if (k->number)
            etmv4_flow_resolve(f, k->offset, out);
        flow_event(&f->core, out, BT_EVENT_TRANSACTION, k->offset)->u.transaction.start = k->number;
        break;
    case ETMV4_FUTURE_FLUSH:
        f->jumps = true;
        break;
    default: /* markers of data trace, conditions, padding: no meaning for the flow */
        break;
    }
}

/* Speculation (IHI 0064H.b). */

/* More is committed or cancelled than there is: what comes cannot be understood until the next
 * Trace Info tells how much there is. False as below. */
static bool etmv4_flow_miscounted(struct etmv4_flow *f, const struct etmv4_packet *k,
                                  struct flow_out *out)
{
    if (!drop_uncommitted(f, out))
        return false;
    etmv4_flow_lose(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
    f->at_hand = ETMV4_HAND_NEW;
    return true;
}

/* False: no room for all of its output; the rest comes when it is given again. */
static bool etmv4_flow_speculative(struct etmv4_flow *f, const struct etmv4_packet *k,
                                   struct flow_out *out)
{
    struct etmv4_packet next;
    if (f->at_hand == ETMV4_HAND_NEW)
        f->at_hand =
            etmv4_queue_take(&f->queue, &f->config, k) ? ETMV4_HAND_QUEUED : ETMV4_HAND_MISCOUNTED;
    if (f->at_hand == ETMV4_HAND_MISCOUNTED)
        return etmv4_flow_miscounted(f, k, out);
    while (flow_room(out)) {
        if (etmv4_queue_next(&f->queue, &next)) {
            etmv4_flow_element(f, &next, out);
            continue;
        }
        f->at_hand = ETMV4_HAND_NEW;
        if (k->kind == ETMV4_CYCLES && (k->flags & ETMV4_COMMITS))
            etmv4_flow_element(f, k, out);
        return true;
    }
    return false;
}

/* Nothing is speculative: elements are real at once. */
static void etmv4_flow_certain(struct etmv4_flow *f, const struct etmv4_packet *k,
                               struct flow_out *out)
{
    if (k->kind == ETMV4_CANCEL || k->kind == ETMV4_MISPREDICT)
        etmv4_flow_miscounted(f, k, out);
    else
        etmv4_flow_element(f, k, out);
}

/* Packets that mean something without synchronisation, too, or take it away. */
static bool sync_packet(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    switch (k->kind) {
    case ETMV4_TRACE_INFO:
        if (f->sync != ETMV4_SYNC_LOST && !(k->flags & ETMV4_STARTING))
            return false;
        trace_info(f, k, out);
        return true;
    case ETMV4_DISCARD: /* what was speculative when the unit was stopped */
        etmv4_flow_lose(f, k->offset, BT_GAP_TRACE_ON, 0, out);
        return true;
    case ETMV4_OVERFLOW:
        etmv4_flow_lose(f, k->offset, BT_GAP_OVERFLOW, 0, out);
        f->on_reason = ETMV4_ON_OVERFLOW;
        return true;
    case ETMV4_RESYNC:
    case ETMV4_RESERVED:
    case ETMV4_MALFORMED:
        etmv4_flow_lose(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        return true;
    case ETMV4_ASYNC:
    case ETMV4_UNSYNCED:
    case ETMV4_INCOMPLETE:
        return true;
    case ETMV4_EVENT:
        if (f->sync == ETMV4_SYNC_LOST)
            etmv4_flow_trigger(f, k, out);
        return f->sync == ETMV4_SYNC_LOST;
    default:
        return f->sync == ETMV4_SYNC_LOST;
    }
}

/* Nothing that is uncommitted stays. */
static bool ends_all(const struct etmv4_packet *k)
{
    return k->kind == ETMV4_DISCARD || k->kind == ETMV4_OVERFLOW || k->kind == ETMV4_RESYNC ||
           k->kind == ETMV4_RESERVED || k->kind == ETMV4_MALFORMED;
}

size_t etmv4_flow_run(struct etmv4_flow *f, const struct etmv4_packet *packets, size_t count,
                      struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct etmv4_packet *k = &packets[i];
        if (!flow_room(out))
            return i;
        if (k->kind == ETMV4_ATOM && f->sync != ETMV4_SYNC_LOST && !f->config.max_speculated)
            etmv4_flow_atoms(f, k->offset, (uint32_t)k->value, k->n, out);
        else if (f->queue.count && ends_all(k) && !drop_uncommitted(f, out))
            return i;
        else if (f->at_hand == ETMV4_HAND_NEW && sync_packet(f, k, out))
            continue;
        else if (!f->config.max_speculated)
            etmv4_flow_certain(f, k, out);
        else if (!etmv4_flow_speculative(f, k, out))
            return i;
    }
    return count;
}
