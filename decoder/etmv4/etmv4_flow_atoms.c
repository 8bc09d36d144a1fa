/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv4_flow_parts.h"

#include "decoder/flow/flow_walk.h"

/* Return stack (IHI 0064H.b). */

void etmv4_flow_keep_pointers(struct etmv4_flow *f)
{
    if (flow_ranges_valid(&f->core))
        return;
    for (unsigned i = 0; i < ETMV4_RETURN_STACK; i++)
        f->rs[i].from = NULL;
    f->went = NULL;
    f->core.range_epoch = f->core.code->epoch;
}

/* The entry to return by; NULL: it is not known. */
static const struct etmv4_return *pop(struct etmv4_flow *f)
{
    if (f->rs_count == 0)
        return NULL;
    f->rs_count--;
    f->rs_top = (f->rs_top + ETMV4_RETURN_STACK - 1) % ETMV4_RETURN_STACK;
    if (f->rs[f->rs_top].isa != ETMV4_RETURN_FOREIGN)
        return &f->rs[f->rs_top];
    f->foreign_pops++;
    return NULL;
}

void etmv4_flow_resolve(struct etmv4_flow *f, uint64_t offset, struct flow_out *out)
{
    if (!f->pending_pop)
        return;
    f->pending_pop = f->due = false;
    const struct etmv4_return *r = pop(f);
    if (!r) {
        flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last_p0);
        return;
    }
    struct code_range *from = flow_ranges_valid(&f->core) ? r->from : NULL;
    flow_go_to(&f->core, r->address, r->isa);
    if (from && !f->core.view_stale)
        f->core.range = code_onward(f->core.code, f->core.view, from);
}

/* The P0 instruction that ends `range` was taken. */
static inline void taken(struct etmv4_flow *f, struct code_range *range)
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
        f->due = true;
        f->core.cur.known = false;
        f->core.range = NULL;
        f->pending_pop = f->config.return_stack;
    }
}

static inline void one_atom(struct etmv4_flow *f, uint64_t offset, bool passed,
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
        taken(f, range);
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
            one_atom(f, offset, atoms & 1, out);
            continue;
        }
        if (f->due) {
            flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last_p0);
            f->due = false;
        }
        etmv4_flow_no_vector(f, out);
        f->core.dropped++;
    }
}

/* Source addresses and Q. */

void etmv4_flow_source(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    uint8_t isa = f->aarch64 ? BT_ISA_A64 : k->isa_bit ? BT_ISA_T32 : BT_ISA_A32;
    etmv4_flow_resolve(f, k->offset, out);
    etmv4_flow_no_vector(f, out);
    bool ahead = f->core.cur.known && f->core.cur.isa == isa && f->core.cur.address <= k->value;
    if (!ahead || flow_walk_before(&f->core, out, k->value, true) != FLOW_WALK_THERE) {
        if (f->due) /* the way from its target to here is not known */
            flow_contradict(&f->core, out, k->offset, BT_GAP_UNKNOWN_ADDR, f->last_p0);
        f->due = false;
        etmv4_flow_go_on(f, k->offset, k->value, isa, out);
    }
    etmv4_flow_atoms(f, k->offset, 1, 1, out);
}

void etmv4_flow_q(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out)
{
    enum flow_walk_end end = FLOW_WALK_LOST;
    f->wait = ETMV4_WAIT_NONE;
    f->due = f->pending_pop = false; /* atoms may have come before the address */
    if (f->core.cur.known && (f->q.flags & ETMV4_COUNTED))
        end = flow_walk_count(&f->core, out, f->q.commit, address);
    if (end != FLOW_WALK_THERE)
        flow_lose(&f->core, out, f->q.offset, BT_GAP_UNKNOWN_ADDR, f->core.cur.address);
    flow_go_to(&f->core, address, isa);
}
