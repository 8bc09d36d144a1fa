/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stream_join.h"

#include <string.h>

bool stream_can_join(enum stream_protocol protocol)
{
    return protocol == STREAM_PTM;
}

void stream_start_at(struct stream *s, uint64_t offset)
{
    s->u.ptm.parser.offset = offset;
    s->u.ptm.parser.hunt_start = offset;
}

void stream_get_counts(const struct stream *s, struct stream_counts *counts)
{
    const struct ptm_flow *f = &s->u.ptm.flow;
    counts->instructions = f->core.instructions;
    counts->blocks = f->core.blocks;
    counts->packets = s->packets;
    counts->skipped = s->skipped;
    counts->cycles = f->core.cycles;
    counts->atoms_dropped = f->atoms_dropped;
}

static void set_counts(struct stream *s, const struct stream_counts *counts)
{
    struct ptm_flow *f = &s->u.ptm.flow;
    f->core.instructions = counts->instructions;
    f->core.blocks = counts->blocks;
    s->packets = counts->packets;
    s->skipped = counts->skipped;
    f->core.cycles = counts->cycles;
    f->atoms_dropped = counts->atoms_dropped;
}

void stream_rebase(struct stream *s, const struct stream_counts *at,
                   const struct stream_counts *from)
{
    struct stream_counts c;
    stream_get_counts(s, &c);
    c.instructions += from->instructions - at->instructions;
    c.blocks += from->blocks - at->blocks;
    c.packets += from->packets - at->packets;
    c.skipped += from->skipped - at->skipped;
    c.cycles += from->cycles - at->cycles;
    c.atoms_dropped += from->atoms_dropped - at->atoms_dropped;
    set_counts(s, &c);
}

static bool same_parser(const struct ptm *a, const struct ptm *b)
{
    return a->offset == b->offset && a->synced && b->synced && a->in_zeros == b->in_zeros &&
           (!a->in_zeros || a->zeros == b->zeros) && a->ts_raw == b->ts_raw &&
           a->ts_valid == b->ts_valid && a->last_address == b->last_address &&
           a->last_isa == b->last_isa && a->last_alt_isa == b->last_alt_isa &&
           a->last_ns == b->last_ns && a->last_hyp == b->last_hyp && a->based == b->based &&
           a->carry_len == b->carry_len && memcmp(a->carry, b->carry, a->carry_len) == 0;
}

static bool same_position(const struct flow_position *a, const struct flow_position *b)
{
    return a->known == b->known && a->halted == b->halted &&
           (!(a->known || a->halted) || (a->address == b->address && a->isa == b->isa)) &&
           a->security == b->security && a->has_context == b->has_context &&
           (!a->has_context || a->context == b->context) && a->has_vmid == b->has_vmid &&
           (!a->has_vmid || a->vmid == b->vmid);
}

/* Entry number i of the return stack, 0 = the one to be popped next. */
static const struct ptm_return *entry(const struct ptm_flow *f, unsigned i)
{
    return &f->rs[(f->rs_top + 2u * PTM_RETURN_STACK - 1 - i) % PTM_RETURN_STACK];
}

static bool same_returns(const struct ptm_flow *a, const struct ptm_flow *b)
{
    if (a->rs_count != b->rs_count)
        return false;
    for (unsigned i = 0; i < a->rs_count; i++) {
        const struct ptm_return *x = entry(a, i), *y = entry(b, i);
        if (x->address != y->address || x->isa != y->isa || x->security != y->security)
            return false;
    }
    return true;
}

/* The address of the last waypoint matters to an exception return packet alone, but it matters. */
bool stream_same(const struct stream *a, const struct stream *b)
{
    const struct ptm_flow *f = &a->u.ptm.flow, *g = &b->u.ptm.flow;
    return same_parser(&a->u.ptm.parser, &b->u.ptm.parser) && f->synced == g->synced &&
           f->started == g->started && f->last_waypoint == g->last_waypoint &&
           same_position(&f->core.cur, &g->core.cur) && same_returns(f, g);
}
