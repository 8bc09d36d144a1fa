/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/ptm_flow.h"

#include <string.h>

#define EXC_DEBUG  1u
#define WALK_LIMIT (1u << 20) /* instructions between two packets: more is a runaway */

enum isync_reason {
    ISYNC_PERIODIC,
    ISYNC_TRACE_ON,
    ISYNC_OVERFLOW,
    ISYNC_DEBUG_EXIT,
};

/* What a walk along the code found. */
enum walk {
    WALK_FAILED,   /* no code, or a runaway: the position is unknown now */
    WALK_WAYPOINT, /* stopped at a waypoint; *last is its run */
    WALK_ADDRESS,  /* stopped behind the wanted address */
};

void ptm_flow_init(struct ptm_flow *f, const struct ptm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->config = *config;
    f->core = core;
    f->generation = generation;
    ptm_flow_link(f, code);
}

void ptm_flow_unlink(struct ptm_flow *f)
{
    f->code = NULL;
    f->view = NULL;
    f->run = NULL;
    f->view_stale = true;
}

void ptm_flow_link(struct ptm_flow *f, struct code_cache *code)
{
    f->code = code;
    f->view = NULL;
    f->run = NULL;
    f->view_stale = true;
}

/* ---- output -------------------------------------------------------------------------------- */

static struct bt_event *add_event(struct ptm_flow *f, struct flow_out *out, enum bt_event_kind kind,
                                  uint64_t offset)
{
    struct bt_event *e = &out->events[out->event_count++];
    memset(e, 0, sizeof *e);
    e->kind = (uint8_t)kind;
    e->position = f->instructions;
    e->offset = offset;
    return e;
}

static void event_address(struct bt_event *e, uint64_t address, uint8_t isa)
{
    e->address = address;
    e->isa = isa;
    e->flags |= BT_EVENT_HAS_ADDRESS;
}

static void event_cycles(struct bt_event *e, const struct ptm_packet *k)
{
    if (!(k->flags & PTM_HAS_CYCLES))
        return;
    e->cycles = k->cycles;
    e->flags |= BT_EVENT_HAS_CYCLES;
}

static inline void add_block(struct ptm_flow *f, struct flow_out *out, uint64_t first,
                             uint32_t extent, uint32_t info, uint32_t cycles)
{
    struct bt_block *b = &out->blocks[out->block_count];
    b->first = first;
    b->extent = extent;
    b->info = info;
    if (out->cycles)
        out->cycles[out->block_count] = cycles;
    out->block_count++;
    f->instructions += info >> 8;
    f->blocks++;
}

static void warn(struct ptm_flow *f, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
                 uint64_t address)
{
    struct bt_event *e = add_event(f, out, BT_EVENT_WARNING, offset);
    e->cause = (uint8_t)cause;
    event_address(e, address, f->cur.isa);
}

/* The position is lost: one gap event, and nothing is followed until a packet gives it again. */
static void lose_position(struct ptm_flow *f, struct flow_out *out, uint64_t offset,
                          enum bt_gap_cause cause, uint64_t address)
{
    struct bt_event *e = add_event(f, out, BT_EVENT_GAP, offset);
    e->cause = (uint8_t)cause;
    event_address(e, address, f->cur.isa);
    f->cur.known = false;
    f->run = NULL;
}

void ptm_flow_gap(struct ptm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out)
{
    struct bt_event *e = add_event(f, out, BT_EVENT_GAP, offset);
    e->cause = (uint8_t)cause;
    e->value = bytes;
    if (f->cur.known)
        event_address(e, f->cur.address, f->cur.isa);
    f->cur.known = false;
    f->cur.halted = false;
    f->cur.has_context = false;
    f->cur.has_vmid = false;
    f->synced = false;
    f->rs_count = 0;
    f->run = NULL;
    f->view_stale = true;
}

/* ---- position ------------------------------------------------------------------------------ */

void ptm_flow_code_key(const struct ptm_flow *f, struct code_key *key)
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

static struct code_view *view_of(struct ptm_flow *f)
{
    if (!f->view_stale && f->view)
        return f->view;
    struct code_key key;
    ptm_flow_code_key(f, &key);
    f->view = code_select(f->code, &key);
    f->view_stale = false;
    f->run = NULL;
    return f->view;
}

static void go_to(struct ptm_flow *f, uint64_t address, uint8_t isa)
{
    f->cur.address = address;
    f->cur.isa = isa;
    f->cur.known = true;
    f->cur.halted = false;
    f->run = NULL;
}

/* The state of the instructions that follow; an event where it differs from before. */
static void set_security(struct ptm_flow *f, struct flow_out *out, uint64_t offset,
                         enum bt_security security, bool announce)
{
    if (f->cur.security == security)
        return;
    f->cur.security = (uint8_t)security;
    f->view_stale = true;
    if (announce)
        add_event(f, out, BT_EVENT_STATE, offset)->value = security;
}

static void set_context(struct ptm_flow *f, struct flow_out *out, uint64_t offset, uint32_t context)
{
    if (f->cur.has_context && f->cur.context == context)
        return;
    f->cur.context = context;
    f->cur.has_context = true;
    f->view_stale = true;
    add_event(f, out, BT_EVENT_CONTEXT, offset)->value = context;
}

/* ---- return stack (digest 11) -------------------------------------------------------------- */

static inline void push_return(struct ptm_flow *f, uint64_t address, uint8_t isa, uint8_t security)
{
    f->rs[f->rs_top] = (struct ptm_return){(uint32_t)address, isa, security};
    f->rs_top = (f->rs_top + 1) % PTM_RETURN_STACK;
    if (f->rs_count < PTM_RETURN_STACK)
        f->rs_count++;
}

static bool pop_return(struct ptm_flow *f, struct ptm_return *r)
{
    if (f->rs_count == 0)
        return false;
    f->rs_count--;
    f->rs_top = (f->rs_top + PTM_RETURN_STACK - 1) % PTM_RETURN_STACK;
    *r = f->rs[f->rs_top];
    return true;
}

/* ---- walking the code (decode_instr and the loops around it) -------------------------------- */

/* Runs passed on the way to a waypoint, joined to one block. */
struct stretch {
    uint64_t first;
    uint64_t offset; /* of the packet that asked for it */
    uint32_t extent;
    uint32_t count;
    uint8_t isa;
};

static void flush_stretch(struct ptm_flow *f, struct flow_out *out, const struct stretch *s,
                          enum bt_cond cond, uint32_t cycles)
{
    if (s->count)
        add_block(f, out, s->first, s->extent, bt_block_info(s->count, (enum bt_isa)s->isa, cond),
                  cycles);
}

static void extend_stretch(struct stretch *s, uint64_t last, uint32_t count)
{
    s->extent = (uint32_t)(last - s->first);
    s->count += count;
}

/* The run at the current position; NULL after a gap event when there is none. */
static struct code_run *current_run(struct ptm_flow *f, struct flow_out *out, uint64_t offset)
{
    struct code_view *view = view_of(f);
    if (view && !f->run)
        f->run = code_lookup(f->code, view, f->cur.address, (enum bt_isa)f->cur.isa);
    if (!f->run)
        lose_position(f, out, offset, BT_GAP_NO_CODE, f->cur.address);
    return f->run;
}

/*
 * Goes on through page-end runs to the next waypoint. On success *run is the run that ends with
 * it, not yet added to `s`; otherwise what was passed is output and the position is lost.
 */
static bool walk_to_waypoint(struct ptm_flow *f, struct flow_out *out, struct stretch *s,
                             struct code_run **run)
{
    struct code_run *r = current_run(f, out, s->offset);
    if (!r)
        return false;
    while (r->end == CODE_END_PAGE && s->count < WALK_LIMIT) {
        extend_stretch(s, r->start + r->extent, code_run_count(r));
        r = code_onward(f->code, f->view, r);
        if (!r)
            break;
    }
    *run = r;
    if (r && r->end < CODE_END_PAGE)
        return true;
    if (r && r->end == CODE_END_NO_CODE && code_run_count(r))
        extend_stretch(s, r->start + r->extent, code_run_count(r));
    flush_stretch(f, out, s, BT_COND_UNKNOWN, FLOW_NO_CYCLES);
    uint64_t wanted = r ? r->start + r->length : f->cur.address;
    lose_position(f, out, s->offset, r && r->end == CODE_END_PAGE ? BT_GAP_DESYNC : BT_GAP_NO_CODE,
                  wanted);
    return false;
}

static void begin_stretch(const struct ptm_flow *f, struct stretch *s, uint64_t offset)
{
    *s = (struct stretch){.first = f->cur.address, .offset = offset, .isa = f->cur.isa};
}

/* Walks to the next waypoint and outputs it with its condition. The position stays. */
static struct code_run *take_waypoint(struct ptm_flow *f, struct flow_out *out, uint64_t offset,
                                      enum bt_cond cond, uint32_t cycles)
{
    struct stretch s;
    struct code_run *run;
    begin_stretch(f, &s, offset);
    if (!walk_to_waypoint(f, out, &s, &run))
        return NULL;
    extend_stretch(&s, run->start + run->extent, code_run_count(run));
    flush_stretch(f, out, &s, cond, cycles);
    f->last_waypoint = run->start + run->extent;
    return run;
}

/* ---- analyze_atomheader() ------------------------------------------------------------------- */

/* E on an indirect branch: only the return stack can tell where it went. */
static void indirect_by_atom(struct ptm_flow *f, struct flow_out *out, uint64_t offset,
                             uint64_t address)
{
    struct ptm_return r;
    if (!f->config.return_stack || !pop_return(f, &r)) {
        lose_position(f, out, offset, BT_GAP_UNKNOWN_ADDR, address);
        return;
    }
    set_security(f, out, offset, (enum bt_security)r.security, true);
    go_to(f, r.address, r.isa);
}

static void taken(struct ptm_flow *f, struct flow_out *out, struct code_run *run, uint64_t offset)
{
    uint64_t ret = (uint32_t)(run->start + run->length);
    uint8_t isa = f->cur.isa, security = f->cur.security;
    bool link = run->flags & INSN_LINK; /* following a link may start the cache over: run is void */
    if (run->end == CODE_END_DIRECT) {
        f->cur.address = run->target;
        f->cur.isa = run->target_isa;
        f->run = code_taken(f->code, f->view, run);
    } else if (run->end == CODE_END_BARRIER) {
        f->cur.address = ret;
        f->run = code_onward(f->code, f->view, run);
    } else {
        indirect_by_atom(f, out, offset, run->start + run->extent);
    }
    /* After the pop, never before (digest 11). */
    if (link && f->config.return_stack)
        push_return(f, ret, isa, security);
}

static inline void one_atom(struct ptm_flow *f, const struct ptm_packet *k, bool passed,
                            struct flow_out *out)
{
    uint32_t cycles = k->flags & PTM_HAS_CYCLES ? k->cycles : FLOW_NO_CYCLES;
    enum bt_cond cond = passed ? BT_COND_PASS : BT_COND_FAIL;
    struct code_run *run = f->run;
    if (run && run->end < CODE_END_PAGE) { /* the hot path: a cached run that ends in a waypoint */
        add_block(f, out, run->start, run->extent, run->info | (uint32_t)cond << 4, cycles);
        f->last_waypoint = run->start + run->extent;
    } else {
        run = take_waypoint(f, out, k->offset, cond, cycles);
        if (!run)
            return;
    }
    if (passed) {
        taken(f, out, run, k->offset);
        return;
    }
    f->cur.address = (uint32_t)(run->start + run->length);
    f->run = code_onward(f->code, f->view, run);
}

static void analyze_atomheader(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (k->flags & PTM_HAS_CYCLES)
        f->cycles += k->cycles;
    for (unsigned i = k->n; i-- > 0;) {
        if (!f->cur.known) {
            f->atoms_dropped += i + 1;
            return;
        }
        one_atom(f, k, !(k->value >> i & 1), out);
    }
}

/* ---- branch_no_excp(), branch_with_excp() ---------------------------------------------------- */

static void branch_no_excp(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    uint32_t cycles = k->flags & PTM_HAS_CYCLES ? k->cycles : FLOW_NO_CYCLES;
    if (f->cur.known) {
        struct code_run *run = take_waypoint(f, out, k->offset, BT_COND_PASS, cycles);
        if (run && (run->flags & INSN_LINK) && f->config.return_stack)
            push_return(f, (uint32_t)(run->start + run->length), f->cur.isa, f->cur.security);
        if (run && run->end == CODE_END_DIRECT && run->target != k->value)
            warn(f, out, k->offset, BT_GAP_DESYNC, run->start + run->extent);
    }
    if (k->flags & PTM_HAS_INFO)
        set_security(f, out, k->offset, ptm_packet_security(k), true);
    go_to(f, k->value, (uint8_t)ptm_packet_isa(k));
    if (f->cur.isa == BT_ISA_JAZELLE) /* not traced until an I-sync (digest 13.6) */
        f->cur.known = false;
}

static void branch_with_excp(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    struct bt_event *e = add_event(f, out, BT_EVENT_EXCEPTION, k->offset);
    e->number = k->number;
    e->value = k->value;
    e->target_isa = (uint8_t)ptm_packet_isa(k);
    if (f->cur.known)
        event_address(e, f->cur.address, f->cur.isa);
    event_cycles(e, k);
    if (k->number == EXC_DEBUG) { /* address and state of the packet mean nothing (digest 13.3) */
        f->cur.halted = f->cur.known;
        f->cur.known = false;
        f->run = NULL;
        return;
    }
    set_security(f, out, k->offset, ptm_packet_security(k), true);
    go_to(f, k->value, (uint8_t)ptm_packet_isa(k));
    if (f->cur.isa == BT_ISA_JAZELLE)
        f->cur.known = false;
}

static void analyze_branch(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (k->flags & PTM_HAS_CYCLES)
        f->cycles += k->cycles;
    if (k->number == 0)
        branch_no_excp(f, k, out);
    else
        branch_with_excp(f, k, out);
}

/* ---- analyze_waypoint_update() -------------------------------------------------------------- */

/* Instructions of a run up to the one that holds `wanted`: adds them to `s`. */
static bool walk_inside(struct ptm_flow *f, const struct code_run *run, uint64_t wanted,
                        struct stretch *s)
{
    uint64_t address = run->start;
    struct insn insn;
    uint32_t opcode;
    while (address - run->start < run->length) {
        if (code_insn(f->code, f->view, address, (enum bt_isa)run->isa, &insn, &opcode) != BT_OK)
            return false;
        extend_stretch(s, address, 1);
        if (wanted - address < insn.size) {
            go_to(f, (uint32_t)(address + insn.size), run->isa);
            return true;
        }
        address += insn.size;
    }
    return false;
}

/* From the position through `wanted`, over waypoints if need be (reported once). */
static void walk_to_address(struct ptm_flow *f, uint64_t wanted, uint64_t offset,
                            struct flow_out *out)
{
    struct stretch s;
    bool warned = false;
    begin_stretch(f, &s, offset);
    struct code_run *run = current_run(f, out, offset);
    if (!run)
        return;
    while (run && wanted - run->start >= run->length && run->end != CODE_END_NO_CODE &&
           s.count < WALK_LIMIT) {
        extend_stretch(&s, run->start + run->extent, code_run_count(run));
        if (run->end != CODE_END_PAGE && !warned) {
            warn(f, out, offset, BT_GAP_DESYNC, run->start + run->extent);
            warned = true;
        }
        run = code_onward(f->code, f->view, run);
    }
    bool found = run && wanted - run->start < run->length && walk_inside(f, run, wanted, &s);
    if (!found && run && run->end == CODE_END_NO_CODE && code_run_count(run))
        extend_stretch(&s, run->start + run->extent, code_run_count(run));
    flush_stretch(f, out, &s, BT_COND_UNKNOWN, FLOW_NO_CYCLES);
    if (!found) {
        bool no_code = run && run->end == CODE_END_NO_CODE;
        lose_position(f, out, offset, no_code ? BT_GAP_NO_CODE : BT_GAP_DESYNC,
                      run ? run->start + run->length : wanted);
    }
}

static void analyze_waypoint_update(struct ptm_flow *f, const struct ptm_packet *k,
                                    struct flow_out *out)
{
    if (!f->cur.known)
        return;
    if ((int32_t)((uint32_t)k->value - (uint32_t)f->cur.address) < 0) {
        lose_position(f, out, k->offset, BT_GAP_DESYNC, k->value);
        return;
    }
    walk_to_address(f, k->value, k->offset, out);
}

/* ---- I-sync, analyze_cid(), analyze_vmid(), analyze_eret() and the rest ------------------------
 */

static enum bt_gap_cause isync_gap(const struct ptm_flow *f, unsigned reason)
{
    if (!f->started || !f->synced)
        return BT_GAP_NONE; /* nothing before it, or the loss has its own event */
    switch (reason) {
    case ISYNC_TRACE_ON:
        return BT_GAP_TRACE_ON;
    case ISYNC_OVERFLOW:
        return BT_GAP_OVERFLOW;
    case ISYNC_DEBUG_EXIT:
        return BT_GAP_DEBUG;
    default:
        return BT_GAP_NONE;
    }
}

static void trace_on(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    struct bt_event *e = add_event(f, out, BT_EVENT_TRACE_ON, k->offset);
    e->cause = (uint8_t)isync_gap(f, k->number);
    e->value = k->number;
    e->number = ptm_packet_security(k);
    event_address(e, k->value, (uint8_t)ptm_packet_isa(k));
    /* PFTv1.1: the count is unknown after an overflow or a debug exit (digest 2). */
    if (f->config.version_minor == 0 || k->number == ISYNC_TRACE_ON)
        event_cycles(e, k);
}

static void analyze_isync(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    bool periodic = k->number == ISYNC_PERIODIC && f->synced;
    uint8_t isa = (uint8_t)ptm_packet_isa(k);
    if (k->flags & PTM_HAS_CYCLES)
        f->cycles += k->cycles;
    if (!periodic)
        trace_on(f, k, out);
    else if (f->cur.known && (f->cur.address != k->value || f->cur.isa != isa))
        warn(f, out, k->offset, BT_GAP_DESYNC, f->cur.address);
    set_security(f, out, k->offset, ptm_packet_security(k), periodic);
    if (k->flags & PTM_HAS_CONTEXT)
        set_context(f, out, k->offset, k->context);
    go_to(f, k->value, isa);
    f->rs_count = 0; /* every I-sync empties it, a periodic one too (digest 11) */
    f->synced = f->started = true;
}

static void analyze_cid(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (k->flags & PTM_HAS_CONTEXT)
        set_context(f, out, k->offset, k->context);
}

static void analyze_vmid(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    f->cur.vmid = (uint8_t)k->value;
    f->cur.has_vmid = true;
    f->view_stale = true;
    f->run = NULL;
    add_event(f, out, BT_EVENT_VMID, k->offset)->value = k->value;
}

static void analyze_eret(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    struct bt_event *e = add_event(f, out, BT_EVENT_EXCEPTION_RET, k->offset);
    event_address(e, f->last_waypoint, f->cur.isa);
}

static void timestamp(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (k->flags & PTM_HAS_CYCLES)
        f->cycles += k->cycles;
    if (!(k->flags & PTM_TS_VALID))
        return;
    struct bt_event *e = add_event(f, out, BT_EVENT_TIMESTAMP, k->offset);
    e->value = ptm_timestamp(&f->config, k->value);
    e->number = k->flags & PTM_TS_FREQ ? 1 : 0;
    event_cycles(e, k);
}

/* Packets that mean something before the first I-sync, too. */
static bool early_packet(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    switch (k->kind) {
    case PTM_ISYNC:
        analyze_isync(f, k, out);
        return true;
    case PTM_TIMESTAMP:
        timestamp(f, k, out);
        return true;
    case PTM_TRIGGER:
        add_event(f, out, BT_EVENT_TRIGGER, k->offset);
        return true;
    case PTM_RESERVED:
    case PTM_MALFORMED:
        ptm_flow_gap(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        return true;
    default:
        return !f->synced;
    }
}

static void other_packet(struct ptm_flow *f, const struct ptm_packet *k, struct flow_out *out)
{
    if (early_packet(f, k, out))
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
        if (k->kind == PTM_ATOM && f->synced) {
            if (f->view_stale)
                view_of(f);
            analyze_atomheader(f, k, out);
        } else {
            other_packet(f, k, out);
        }
    }
    return count;
}
