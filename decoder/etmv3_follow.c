/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv3_follow.h"

#include "decoder/etmv3_follow_parts.h"

/* Short branches leave it as it is. */
static bool same_security(const struct etmv3 *p, const struct etmv3_flow *f)
{
    return etmv3_state(p, &p->base) >> 4 == f->core.cur.security;
}

/* The run at the position, as the next atom would look for it. */
static void find_run(struct flow_core *c)
{
    struct code_view *view = flow_view(c);
    if (view && !c->run && c->cur.known)
        c->run = code_lookup(c->code, view, c->cur.address, (enum bt_isa)c->cur.isa);
}

static bool may_follow(const struct etmv3 *p, const struct etmv3_flow *f)
{
    if (!p->synced || p->in_zeros || p->carry_len || !p->base.known || p->config.data_only)
        return false;
    if (p->base.isa > BT_ISA_T32 || p->base.alt_isa || !same_security(p, f))
        return false;
    if (!f->synced || f->has_deferred || f->blind || etmv3_has_data(f))
        return false;
    return f->core.cur.known || f->pending;
}

/* What the two loops can take at in->at, out of them: false, and nothing is taken. */
static bool follow_common(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    const uint8_t *at = in->at;
    if (!may_follow(in->p, f))
        return false;
    if (f->done == 0)
        find_run(&f->core);
    if (!f->core.run || f->core.view_stale || !flow_room(out))
        return false;
    code_calls_of(f->core.code, f->core.view);
    if (in->p->config.cycle_accurate)
        etmv3_follow_cycles(f, in, out);
    else
        etmv3_follow_plain(f, in, out);
    in->p->offset += (size_t)(in->at - at);
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

                                   .kind = ETMV3_ATOM,
                                   .n = (uint8_t)in->left};
    in->left = 0;
    etmv3_atoms(f, &k, out);
    return true;
}

/* An exception or the return from one: the long way, but at once. */
static bool follow_exception(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    struct etmv3_packet k = {.offset = in->p->offset};
    if (in->at == in->end || !flow_room(out))
        return false;
    size_t size = etmv3_exception_packet(in->p, in->at, in->end, &k);
    if (size == 0)
        return false;
    etmv3_flow_run(f, &k, 1, out);
    in->at += size;
    in->inner += size - 1;
    in->p->offset += size;
    return true;
}

size_t etmv3_follow(struct etmv3 *p, struct etmv3_flow *f, const uint8_t *data, size_t len,
                    struct flow_out *out, uint64_t *packets)
{
    struct etmv3_bytes in = {.p = p, .at = data, .end = data + len};
    while (follow_common(f, &in, out) && (take_left(f, &in, out) || follow_exception(f, &in, out)))
        ;
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
