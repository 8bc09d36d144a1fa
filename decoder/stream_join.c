/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stream_join.h"

#include <string.h>

bool stream_can_join(const struct stream_config *config)
{
    if (config->protocol == STREAM_ETMV3) /* data accesses are told by instruction number */
        return !config->etmv3.data_value && !config->etmv3.data_address;
    return config->protocol == STREAM_PTM;
}

void stream_start_at(struct stream *s, uint64_t offset)
{
    if (s->protocol == STREAM_ETMV3)
        s->u.etmv3.parser.offset = s->u.etmv3.parser.hunt_start = offset;
    else
        s->u.ptm.parser.offset = s->u.ptm.parser.hunt_start = offset;
}

/* ---- numbers that a stream has counted --------------------------------------------------------
 */

struct counts {
    uint64_t instructions;
    uint64_t blocks;
    uint64_t packets;
    uint64_t skipped;
    uint64_t cycles;
    uint64_t atoms_dropped;
};

static void get_counts(const struct stream *s, struct counts *c)
{
    *c = (struct counts){.instructions = stream_instructions(s),
                         .blocks = stream_blocks(s),
                         .packets = s->packets,
                         .skipped = s->skipped,
                         .cycles = stream_cycles(s),
                         .atoms_dropped = stream_atoms_dropped(s)};
}

/* Adds (to - from). */
static void add_counts(struct stream *s, const struct counts *to, const struct counts *from)
{
    bool etmv3 = s->protocol == STREAM_ETMV3;
    struct flow_core *core = etmv3 ? &s->u.etmv3.flow.core : &s->u.ptm.flow.core;
    core->instructions += to->instructions - from->instructions;
    core->blocks += to->blocks - from->blocks;
    core->cycles += to->cycles - from->cycles;
    s->packets += to->packets - from->packets;
    s->skipped += to->skipped - from->skipped;
    core->dropped += to->atoms_dropped - from->atoms_dropped;
}

static bool same_position(const struct flow_position *a, const struct flow_position *b)
{
    return a->known == b->known && a->halted == b->halted &&
           (!(a->known || a->halted) || (a->address == b->address && a->isa == b->isa)) &&
           a->security == b->security && a->has_context == b->has_context &&
           (!a->has_context || a->context == b->context) && a->has_vmid == b->has_vmid &&
           (!a->has_vmid || a->vmid == b->vmid);
}

/* ---- PTM ---------------------------------------------------------------------------------------
 */

static bool same_ptm_parser(const struct ptm *a, const struct ptm *b)
{
    return a->offset == b->offset && a->synced && b->synced && a->in_zeros == b->in_zeros &&
           (!a->in_zeros || a->zeros == b->zeros) && a->ts_raw == b->ts_raw &&
           a->ts_valid == b->ts_valid && a->last_address == b->last_address &&
           a->last_isa == b->last_isa && a->last_alt_isa == b->last_alt_isa &&
           a->last_ns == b->last_ns && a->last_hyp == b->last_hyp && a->based == b->based &&
           a->carry_len == b->carry_len && memcmp(a->carry, b->carry, a->carry_len) == 0;
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
static bool same_ptm(const struct stream_ptm *a, const struct stream_ptm *b)
{
    const struct ptm_flow *f = &a->flow, *g = &b->flow;
    return same_ptm_parser(&a->parser, &b->parser) && f->synced == g->synced &&
           f->core.started == g->core.started && f->last_waypoint == g->last_waypoint &&
           same_position(&f->core.cur, &g->core.cur) && same_returns(f, g);
}

/* ---- ETMv3 -------------------------------------------------------------------------------------
 */

static bool same_base(const struct etmv3_base *a, const struct etmv3_base *b)
{
    return a->address == b->address && a->isa == b->isa && a->alt_isa == b->alt_isa &&
           a->ns == b->ns && a->hyp == b->hyp && a->known == b->known;
}

static bool same_etmv3_parser(const struct etmv3 *a, const struct etmv3 *b)
{
    return a->offset == b->offset && a->synced && b->synced && a->in_zeros == b->in_zeros &&
           (!a->in_zeros || (a->zeros == b->zeros && a->marker == b->marker)) &&
           a->ts_raw == b->ts_raw && a->ts_valid == b->ts_valid && same_base(&a->base, &b->base) &&
           a->data_base == b->data_base && a->data_bits == b->data_bits &&
           a->carry_len == b->carry_len && memcmp(a->carry, b->carry, a->carry_len) == 0;
}

static bool same_held(const struct etmv3_held *a, const struct etmv3_held *b)
{
    return a->count == b->count &&
           (a->count == 0 || (a->first == b->first && a->extent == b->extent &&
                              a->cycles == b->cycles && a->isa == b->isa && a->cond == b->cond));
}

/* Events that wait, and a position that is told in other words, are the same later on. */
static bool same_place(const struct etmv3_flow *a, const struct etmv3_flow *b)
{
    return same_position(&a->core.cur, &b->core.cur) && same_held(&a->held, &b->held) &&
           a->queued == 0 && b->queued == 0 && !a->has_deferred && !b->has_deferred &&
           a->first == b->first && a->last == b->last && a->last_isa == b->last_isa &&
           a->begin == b->begin && a->done == b->done && a->joined == b->joined;
}

/* Whether the latest trace-on waits for a count, which nobody knows who did not see it. */
static bool same_due(const struct etmv3_flow *a, const struct etmv3_flow *b)
{
    return a->count_due == b->count_due &&
           (!a->count_due || (a->reason == b->reason && a->gap_waited == b->gap_waited));
}

static bool same_etmv3(const struct stream_etmv3 *a, const struct stream_etmv3 *b)
{
    const struct etmv3_flow *f = &a->flow, *g = &b->flow;
    return same_etmv3_parser(&a->parser, &b->parser) && same_place(f, g) &&
           f->waited == g->waited && f->synced == g->synced && f->core.started == g->core.started &&
           f->pending == g->pending && f->blind == g->blind && f->return_held == g->return_held &&
           f->branched == g->branched && f->since == g->since;
}

/* No trace-on, no count and no gap in between: what waits for a count goes on waiting. */
static bool due_untouched(const struct etmv3_flow *mark, const struct etmv3_flow *end)
{
    return mark->due_changes == end->due_changes;
}

/* ---- joining -----------------------------------------------------------------------------------
 */

bool stream_same(const struct stream *s, const struct stream *mark, const struct stream *end)
{
    if (s->protocol != STREAM_ETMV3)
        return same_ptm(&s->u.ptm, &mark->u.ptm);
    const struct etmv3_flow *m = &mark->u.etmv3.flow;
    return same_etmv3(&s->u.etmv3, &mark->u.etmv3) &&
           (same_due(&s->u.etmv3.flow, m) || due_untouched(m, &end->u.etmv3.flow));
}

static struct code_cache *code_of(const struct stream *s)
{
    return s->protocol == STREAM_ETMV3 ? s->u.etmv3.flow.core.code : s->u.ptm.flow.core.code;
}

void stream_take_over(struct stream *s, const struct stream *mark, const struct stream *end)
{
    struct counts here, there;
    struct stream before = *s;
    get_counts(s, &here);
    get_counts(mark, &there);
    stream_resume(s, end, code_of(&before));
    add_counts(s, &here, &there);
    const struct etmv3_flow *old = &before.u.etmv3.flow;
    struct etmv3_flow *f = &s->u.etmv3.flow;
    if (s->protocol == STREAM_ETMV3 && due_untouched(&mark->u.etmv3.flow, f)) {
        f->count_due = old->count_due;
        f->reason = old->reason;
        f->gap_waited = old->gap_waited;
    }
}
