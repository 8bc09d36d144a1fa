/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv3/etmv3_fast.h"

#include "etmv3_fast_parts.h"

/* Short branches leave it as it is. */
static bool same_security(const struct etmv3 *p, const struct etmv3_flow *f)
{
    return etmv3_state(p, &p->base) >> 4 == f->core.cur.security;
}

/* The range at the position, as the next atom would look for it. */
static void find_range(struct flow_core *c)
{
    struct code_view *view = flow_view(c);
    if (view && !c->range && c->cur.known)
        c->range = code_lookup(c->code, view, c->cur.address, (enum bt_isa)c->cur.isa);
}

static bool fast_path_may_begin(const struct etmv3 *p, const struct etmv3_flow *f)
{
    if (!p->synced || p->in_zeros || p->carry_len || !p->base.known || p->config.data_only)
        return false;
    if (p->base.isa > BT_ISA_T32 || p->base.alt_isa || !same_security(p, f))
        return false;
    if (!f->synced || f->has_deferred || f->blind || etmv3_has_data(f))
        return false;
    return f->core.cur.known || f->pending;
}

/* Interrupts, from within the loops. */

static uint64_t offset_of(const struct etmv3_bytes *in)
{
    return in->p->offset + (size_t)(in->at - in->start);
}

/* Number of the next instruction, when all that were executed are put out. */
static uint64_t position_of(const struct etmv3_flow *f, const struct etmv3_bytes *in)
{
    return f->core.instructions + etmv3_open(f) + in->atoms;
}

static bool is_simple(const struct etmv3_flow *f, const struct etmv3_bytes *in,
                      const struct etmv3_packet *k)
{
    if (k->kind != ETMV3_BRANCH || k->number == 0 || (k->flags & ETMV3_CANCEL))
        return false;
    if (k->number == ETMV3_EXC_DEBUG && !f->config.m_profile)
        return false;
    return in->p->base.isa <= BT_ISA_T32 && !in->p->base.alt_isa &&
           etmv3_packet_security(k) == f->core.cur.security;
}

struct code_range *etmv3_fast_exception(struct etmv3_flow *f, struct etmv3_bytes *in,
                                        const struct etmv3_origin *from, struct flow_out *out)
{
    struct etmv3_packet k = {.offset = offset_of(in)};
    const struct etmv3_base saved = in->p->base;
    struct code_range *range = NULL;
    if (in->has_pending || out->event_max - out->event_count < FLOW_SLACK)
        return NULL;
    size_t size = etmv3_exception_packet(in->p, in->at, in->end, &k);
    if (size && is_simple(f, in, &k))
        range = code_find(f->core.code, f->core.view, k.value, etmv3_packet_isa(&k));
    if (!range) {
        in->p->base = saved;
        return NULL;
    }
    etmv3_exception(f, &k, from, out)->position = position_of(f, in);
    in->at += size;
    in->inner += size - 1;
    in->branched = in->at;
    in->committed = in->atoms;
    return range;
}

bool etmv3_fast_return(struct etmv3_flow *f, struct etmv3_bytes *in, const struct bt_block *b,
                       struct flow_out *out)
{
    if (f->config.m_profile || out->event_max - out->event_count < FLOW_SLACK)
        return false;
    if (in->returned == in->atoms) /* another one: that is odd */
        return false;
    in->returned = in->atoms;
    in->tail = out->event_count;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION_RET, offset_of(in));
    e->position = position_of(f, in);
    flow_exception_return_address(e, bt_block_last(b), bt_block_isa(b));
    if (in->branched == in->at++) /* still the latest but for this */
        in->branched = in->at;
    return true;
}

void etmv3_fast_keep_pending(struct etmv3_flow *f, const struct etmv3_bytes *in,
                             const struct bt_block *b, uint64_t cycles, struct flow_out *out)
{
    f->pending_block = (struct etmv3_pending_block){.first = b->first,
                                                    .cycles = cycles,
                                                    .extent = b->extent,
                                                    .count = bt_block_count(b),
                                                    .isa = (uint8_t)bt_block_isa(b),
                                                    .cond = (uint8_t)bt_block_cond(b)};
    if (in->returned != in->atoms)
        return;
    f->queue[0] = out->events[--out->event_count];
    f->queued = 1;
}

/* What the two loops can take at in->at, out of them: false, and nothing is taken. */
static bool fast_path(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    if (!fast_path_may_begin(in->p, f))
        return false;
    if (f->done == 0)
        find_range(&f->core);
    if (!f->core.range || f->core.view_stale || !flow_room(out))
        return false;
    code_calls_of(f->core.code, f->core.view);
    in->start = in->at;
    in->branched = NULL;
    in->atoms = in->committed = 0;
    in->returned = UINT64_MAX;
    in->has_pending = etmv3_has_pending(f);
    if (in->p->config.cycle_accurate)
        etmv3_fast_cycles(f, in, out);
    else
        etmv3_fast_plain(f, in, out);
    in->p->offset += (size_t)(in->at - in->start);
    return true;
}

/* What the loop left of a P-header. */
static bool take_left(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    if (in->left == 0)
        return false;
    const struct etmv3_packet k = {.offset = in->p->offset - 1,
                                   .value = in->value,
                                   .size = 1,
                                   .flags = in->flags,
                                   .kind = ETMV3_ATOM,
                                   .n = (uint8_t)in->left};
    in->left = 0;
    etmv3_atoms(f, &k, out);
    return true;
}

/* One packet that the loops cannot take: the slow path, but at once. */
static bool slow_packet(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    struct etmv3_packet k[3]; /* what one step of the parser may need */
    struct etmv3 *p = in->p;
    size_t count = 0;
    bool room = out->block_max - out->block_count >= 3 * FLOW_SLACK &&
                out->event_max - out->event_count >= 3 * FLOW_SLACK;
    if (in->at == in->end || !room || !p->synced || p->in_zeros || p->carry_len)
        return false;
    size_t size = etmv3_parse(p, in->at, (size_t)(in->end - in->at), k, 3, &count);
    etmv3_flow_run(f, k, count, out);
    in->at += size;
    in->inner += size - count;
    return true;
}

size_t etmv3_fast(struct etmv3 *p, struct etmv3_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets)
{
    struct etmv3_bytes in = {.p = p, .at = data, .end = data + len};
    while (fast_path(f, &in, out) && (take_left(f, &in, out) || slow_packet(f, &in, out)))
        ;
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
