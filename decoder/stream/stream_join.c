/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stream/stream_join.h"

#include "stream_internal.h"

#include <string.h>

/* What a protocol has to say; one table each, below. */
struct join {
    bool (*possible)(const struct stream_config *config); /* NULL: always */
    void (*start_at)(struct stream *s, uint64_t offset);
    bool (*same)(const struct stream *s, const struct stream *mark, const struct stream *end);
    /* What `same` lets depend on the rest of the decode. NULL: nothing does. */
    bool (*settled)(const struct stream *s, const struct stream *mark);
    bool (*reached_back)(const struct stream *mark, const struct stream *end);
    /* `s` is at the end, `before` is what it was. NULL: nothing of that is left. */
    void (*keep)(struct stream *s, const struct stream *before, const struct stream *mark);
};

/* Numbers that a stream has counted. */

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
    struct flow_core *core = stream_core(s);
    core->instructions += to->instructions - from->instructions;
    core->agreed += to->instructions - from->instructions; /* a place between instructions, too */
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

static bool same_scan(const struct packet_scan *a, const struct packet_scan *b)
{
    return a->offset == b->offset && a->synced && b->synced && a->in_zeros == b->in_zeros &&
           (!a->in_zeros || a->zeros == b->zeros) && a->carry_len == b->carry_len &&
           memcmp(a->carry, b->carry, a->carry_len) == 0;
}

static void start_scan(struct packet_scan *scan, uint64_t offset)
{
    scan->offset = scan->resync_start = offset;
}

static bool same_ptm_parser(const struct ptm *a, const struct ptm *b)
{
    return same_scan(&a->scan, &b->scan) && a->ts_raw == b->ts_raw && a->ts_valid == b->ts_valid &&
           a->last_address == b->last_address && a->last_isa == b->last_isa &&
           a->last_alt_isa == b->last_alt_isa && a->last_ns == b->last_ns &&
           a->last_hyp == b->last_hyp && a->based == b->based;
}

/* Entry number i of the return stack, 0 = the one to be popped next. */
static const struct ptm_return *stream_join_entry(const struct ptm_flow *f, unsigned i)
{
    return &f->rs[(f->rs_top + 2u * PTM_RETURN_STACK - 1 - i) % PTM_RETURN_STACK];
}

static bool same_returns(const struct ptm_flow *a, const struct ptm_flow *b)
{
    if (a->rs_count != b->rs_count)
        return false;
    for (unsigned i = 0; i < a->rs_count; i++) {
        const struct ptm_return *x = stream_join_entry(a, i), *y = stream_join_entry(b, i);
        if (x->address != y->address || x->isa != y->isa || x->security != y->security)
            return false;
    }
    return true;
}

/* The address of the last waypoint matters to an exception return packet alone, but it matters. */
static bool same_ptm(const struct stream *a, const struct stream *b, const struct stream *end)
{
    const struct ptm_flow *f = &a->u.ptm.flow, *g = &b->u.ptm.flow;
    (void)end;
    return same_ptm_parser(&a->u.ptm.parser, &b->u.ptm.parser) && f->synced == g->synced &&
           f->core.started == g->core.started && f->last_waypoint == g->last_waypoint &&
           same_position(&f->core.cur, &g->core.cur) && same_returns(f, g);
}

static void start_ptm(struct stream *s, uint64_t offset)
{
    start_scan(&s->u.ptm.parser.scan, offset);
}

static const struct join join_ptm = {.start_at = start_ptm, .same = same_ptm};

/* ETMv3. */

static bool same_base(const struct etmv3_base *a, const struct etmv3_base *b)
{
    return a->address == b->address && a->isa == b->isa && a->alt_isa == b->alt_isa &&
           a->ns == b->ns && a->hyp == b->hyp && a->known == b->known;
}

static bool same_etmv3_parser(const struct etmv3 *a, const struct etmv3 *b)
{
    return same_scan(&a->scan, &b->scan) && (!a->scan.in_zeros || a->marker == b->marker) &&
           a->ts_raw == b->ts_raw && a->ts_valid == b->ts_valid && same_base(&a->base, &b->base) &&
           a->data_base == b->data_base && a->data_bits == b->data_bits;
}

static bool same_held(const struct etmv3_pending_block *a, const struct etmv3_pending_block *b)
{
    return a->count == b->count &&
           (a->count == 0 || (a->first == b->first && a->extent == b->extent &&
                              a->cycles == b->cycles && a->isa == b->isa && a->cond == b->cond));
}

/* Events that wait, and a position that is told in other words, are the same later on. */
static bool stream_join_same_place(const struct etmv3_flow *a, const struct etmv3_flow *b)
{
    return same_position(&a->core.cur, &b->core.cur) &&
           same_held(&a->pending_block, &b->pending_block) && a->queued == 0 && b->queued == 0 &&
           !a->has_deferred && !b->has_deferred && a->first == b->first && a->last == b->last &&
           a->last_isa == b->last_isa && a->begin == b->begin && a->done == b->done &&
           a->joined == b->joined;
}

/* Whether the latest trace-on waits for a count, which nobody knows who did not see it. */
static bool same_due(const struct etmv3_flow *a, const struct etmv3_flow *b)
{
    return a->count_due == b->count_due &&
           (!a->count_due || (a->reason == b->reason && a->gap_waited == b->gap_waited));
}

static bool same_state3(const struct stream_etmv3 *a, const struct stream_etmv3 *b)
{
    const struct etmv3_flow *f = &a->flow, *g = &b->flow;
    return same_etmv3_parser(&a->parser, &b->parser) && stream_join_same_place(f, g) &&
           f->waited == g->waited && f->synced == g->synced && f->core.started == g->core.started &&
           f->pending == g->pending && f->blind == g->blind &&
           f->return_pending == g->return_pending && f->branched == g->branched &&
           f->since == g->since;
}

/* No trace-on, no count and no gap in between: what waits for a count goes on waiting. */
static bool due_untouched(const struct etmv3_flow *mark, const struct etmv3_flow *end)
{
    return mark->due_changes == end->due_changes;
}

static bool same_etmv3(const struct stream *s, const struct stream *mark, const struct stream *end)
{
    const struct etmv3_flow *m = &mark->u.etmv3.flow;
    return same_state3(&s->u.etmv3, &mark->u.etmv3) &&
           (same_due(&s->u.etmv3.flow, m) || due_untouched(m, &end->u.etmv3.flow));
}

static bool settled_etmv3(const struct stream *s, const struct stream *mark)
{
    return same_due(&s->u.etmv3.flow, &mark->u.etmv3.flow);
}

static void keep_due(struct stream *s, const struct stream *before, const struct stream *mark)
{
    struct etmv3_flow *f = &s->u.etmv3.flow;
    const struct etmv3_flow *old = &before->u.etmv3.flow;
    if (!due_untouched(&mark->u.etmv3.flow, f))
        return;
    f->count_due = old->count_due;
    f->reason = old->reason;
    f->gap_waited = old->gap_waited;
}

/* Data accesses are told by instruction number. */
static bool no_data(const struct stream_config *config)
{
    return !config->etmv3.data_value && !config->etmv3.data_address;
}

static void start_etmv3(struct stream *s, uint64_t offset)
{
    start_scan(&s->u.etmv3.parser.scan, offset);
}

static const struct join join_etmv3 = {.possible = no_data,
                                       .start_at = start_etmv3,
                                       .same = same_etmv3,
                                       .settled = settled_etmv3,
                                       .keep = keep_due};

/* ETMv4. */

static bool same_etmv4_parser(const struct etmv4 *a, const struct etmv4 *b)
{
    for (unsigned i = 0; i < 3; i++)
        if (a->last[i].value != b->last[i].value || a->last[i].isa_bit != b->last[i].isa_bit)
            return false;
    return same_scan(&a->scan, &b->scan) && a->lost == b->lost && a->timestamp == b->timestamp &&
           a->threshold == b->threshold;
}

static bool same_item(const struct etmv4_packet *a, const struct etmv4_packet *b)
{
    return a->offset == b->offset && a->value == b->value && a->context == b->context &&
           a->vmid == b->vmid && a->cycles == b->cycles && a->commit == b->commit &&
           a->number == b->number && a->kind == b->kind && a->flags == b->flags && a->n == b->n &&
           a->info == b->info && a->isa_bit == b->isa_bit;
}

/* Elements that are not certain yet: one that nobody here has seen is another state. */
static bool stream_join_same_queue(const struct etmv4_queue *a, const struct etmv4_queue *b)
{
    if (a->depth != b->depth || a->unseen != b->unseen || a->release != b->release ||
        a->open != b->open || a->count - a->first != b->count - b->first)
        return false;
    for (unsigned i = 0; i < (unsigned)(a->count - a->first); i++)
        if (!same_item(&a->items[a->first + i], &b->items[b->first + i]))
            return false;
    return true;
}

/* Index of entry number i of the return stack, 0 = the one to be popped next. */
static unsigned return_at(const struct etmv4_flow *f, unsigned i)
{
    return (f->rs_top + 2u * ETMV4_RETURN_STACK - 1 - i) % ETMV4_RETURN_STACK;
}

/* Entries that lie on top of those from before the cut. */
static unsigned own_returns(const struct etmv4_flow *f)
{
    unsigned own = 0;
    while (own < f->rs_count && f->rs[return_at(f, own)].isa != ETMV4_RETURN_FOREIGN)
        own++;
    return own;
}

/*
 * A trace unit empties its return stack at a Trace Info (IHI 0064H.b chapter 6), the flow keeps its
 * own: those who came from the beginning have entries below that nobody else can know. They make no
 * difference as long as none is popped.
 */
static bool same_returns4(const struct etmv4_flow *f, const struct etmv4_flow *mark,
                          const struct etmv4_flow *end)
{
    unsigned own = own_returns(mark);
    if (f->rs_count < own || f->rs_count > mark->rs_count ||
        mark->foreign_pops != end->foreign_pops)
        return false;
    for (unsigned i = 0; i < own; i++) {
        const struct etmv4_return *x = &f->rs[return_at(f, i)], *y = &mark->rs[return_at(mark, i)];
        if (x->address != y->address || x->isa != y->isa)
            return false;
    }
    return true;
}

/* `f` is at the end, and gets those entries from before that are left. */
static void keep_returns(struct stream *s, const struct stream *before, const struct stream *mark)
{
    struct etmv4_flow *f = &s->u.etmv4.flow;
    const struct etmv4_flow *old = &before->u.etmv4.flow;
    unsigned own = own_returns(f), below = own_returns(&mark->u.etmv4.flow);
    unsigned left = f->rs_count - own, had = old->rs_count - below;
    left = had < left ? had : left;
    for (unsigned i = 0; i < left; i++)
        f->rs[return_at(f, own + i)] = old->rs[return_at(old, below + i)];
    f->rs_count = (uint8_t)(own + left);
    f->foreign_pops = old->foreign_pops;
}

/* The address of an unknown position is told, too, where it got lost. */
static bool same_place4(const struct flow_core *a, const struct flow_core *b)
{
    return same_position(&a->cur, &b->cur) && a->cur.address == b->cur.address &&
           a->cur.isa == b->cur.isa;
}

/* Between the packets of an exception or a Q there is much state for a short time: no join. */
static bool same_state4(const struct stream_etmv4 *a, const struct stream_etmv4 *b)
{
    const struct etmv4_flow *f = &a->flow, *g = &b->flow;
    return same_etmv4_parser(&a->parser, &b->parser) && same_place4(&f->core, &g->core) &&
           stream_join_same_queue(&f->queue, &g->queue) && f->wait == ETMV4_WAIT_NONE &&
           g->wait == ETMV4_WAIT_NONE && !f->early.held && !g->early.held && !f->handler.held &&
           !g->handler.held && f->last_p0 == g->last_p0 && f->on_reason == g->on_reason &&
           f->on_cause == g->on_cause && f->isa_bit == g->isa_bit && f->announce == g->announce &&
           f->sync == g->sync && f->core.started == g->core.started && f->aarch64 == g->aarch64 &&
           f->branch == g->branch && f->push_blocked == g->push_blocked && f->jumps == g->jumps &&
           (!f->config.marked_times || f->marked == g->marked) && f->at_hand == ETMV4_HAND_NEW &&
           g->at_hand == ETMV4_HAND_NEW;
}

static bool same_etmv4(const struct stream *s, const struct stream *mark, const struct stream *end)
{
    return same_state4(&s->u.etmv4, &mark->u.etmv4) &&
           same_returns4(&s->u.etmv4.flow, &mark->u.etmv4.flow, &end->u.etmv4.flow);
}

static bool reached_back4(const struct stream *mark, const struct stream *end)
{
    return mark->u.etmv4.flow.foreign_pops != end->u.etmv4.flow.foreign_pops;
}

static void start_etmv4(struct stream *s, uint64_t offset)
{
    start_scan(&s->u.etmv4.parser.scan, offset);
    s->u.etmv4.flow.cut = offset > 0;
}

static const struct join join_etmv4 = {.start_at = start_etmv4,
                                       .same = same_etmv4,
                                       .reached_back = reached_back4,
                                       .keep = keep_returns};

static const struct join *join_of(unsigned protocol)
{
    static const struct join *const joins[] = {
        [STREAM_PTM] = &join_ptm, [STREAM_ETMV3] = &join_etmv3, [STREAM_ETMV4] = &join_etmv4};
    return protocol < sizeof joins / sizeof *joins ? joins[protocol] : NULL;
}

bool stream_can_join(const struct stream_config *config)
{
    const struct join *join = join_of(config->protocol);
    return join && (!join->possible || join->possible(config));
}

void stream_start_at(struct stream *s, uint64_t offset)
{
    join_of(s->protocol)->start_at(s, offset);
}

uint64_t stream_doubtful(const struct stream *s)
{
    const struct flow_core *core = stream_core((struct stream *)s);
    return core->instructions - core->agreed;
}

bool stream_same(const struct stream *s, const struct stream *mark, const struct stream *end)
{
    return stream_doubtful(s) == stream_doubtful(mark) && join_of(s->protocol)->same(s, mark, end);
}

bool stream_joins(const struct stream *s, const struct stream *mark)
{
    const struct join *join = join_of(s->protocol);
    return stream_same(s, mark, mark) && (!join->settled || join->settled(s, mark));
}

bool stream_reached_back(const struct stream *mark, const struct stream *end)
{
    const struct join *join = join_of(mark->protocol);
    return join->reached_back && join->reached_back(mark, end);
}

void stream_take_over(struct stream *s, const struct stream *mark, const struct stream *end)
{
    struct counts here, there;
    struct stream before;
    stream_save(s, &before);
    get_counts(s, &here);
    get_counts(mark, &there);
    stream_resume(s, end, stream_core(s)->code);
    add_counts(s, &here, &there);
    const struct join *join = join_of(s->protocol);
    if (join->keep)
        join->keep(s, &before, mark);
}
