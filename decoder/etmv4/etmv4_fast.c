/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4/etmv4_fast.h"

#include "etmv4_fast_parts.h"

#include <string.h>

/* An atom header. False: not all of it goes along cached ranges. */
static inline bool trail_header(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, bool wide)
{
    const struct etmv4_packet *h = &etmv4_packets[*in->at];
    in->left = etmv4_fast_cursor_atoms(t, (uint32_t)h->value, h->n, wide);
    in->at++;
    return in->left == 0;
}

static inline bool trail_address(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, bool wide)
{
    struct etmv4_target a;
    return etmv4_near_address(in->p->last, *in->at, in->at + 1, in->end, &a) &&
           etmv4_fast_cursor_there(t, in, &a, wide);
}

static inline void trail_run(struct etmv4_fast_cursor *now, struct etmv4_bytes *bytes,
                             struct flow_out *out, bool wide)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct etmv4_fast_cursor t = *now;
    struct etmv4_bytes in = *bytes;
    while (in.at < in.end && t.b <= limit) {
        if (*in.at >= ETMV4_HDR_ATOM ? trail_header(&t, &in, wide) : trail_address(&t, &in, wide))
            continue;
        *now = t; /* copies: the loop keeps its own in registers */
        *bytes = in;
        if (in.at == in.end || !etmv4_fast_cursor_rare(now, bytes, out, wide))
            return;
        t = *now;
        in = *bytes;
    }
    *now = t;
    *bytes = in;
}

void etmv4_fast_cursor_begin(struct etmv4_fast_cursor *t, struct etmv4_flow *f,
                             const struct flow_out *out)
{
    struct bt_block *b = out->blocks + out->block_count;
    code_calls_of(f->core.code, f->core.view);
    *t = (struct etmv4_fast_cursor){.f = f,
                                    .mask = {etmv4_fast_cursor_is_wide(f) ? UINT64_MAX : UINT32_MAX,
                                             (uint64_t)UINT32_MAX << 32 | UINT16_MAX},
                                    .calls = f->core.code->calls.from,
                                    .call_count = f->core.code->calls.count,
                                    .range = f->due ? f->went : f->core.range,
                                    .b = b,
                                    .base = b,
                                    .instructions = f->core.instructions,
                                    .agreed = f->core.agreed,
                                    .due = f->due,
                                    .pops = f->pending_pop,
                                    .stack = f->config.return_stack};
}

void etmv4_fast_cursor_end(struct etmv4_fast_cursor *t, struct flow_out *out)
{
    struct etmv4_flow *f = t->f;
    size_t count = (size_t)(t->b - (out->blocks + out->block_count));
    etmv4_fast_cursor_note(t);
    f->core.code->calls.count = t->call_count;
    if (out->cycles)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    out->block_count += count;
    f->core.blocks += count;
    f->core.instructions = t->instructions;
    f->core.agreed = t->agreed;
    f->due = t->due;
    f->pending_pop = t->due && t->pops;
    f->core.cur.known = !t->due;
    f->core.range = t->due ? NULL : t->range;
    f->went = t->range;
    f->core.cur.address = code_range_first64(t->range);
    f->core.cur.isa = (uint8_t)code_range_isa(t->range);
}

bool etmv4_fast_cursor_may_begin(struct etmv4_flow *f)
{
    struct flow_core *c = &f->core;
    if (f->wait != ETMV4_WAIT_NONE || f->announce || f->has_early || f->jumps || f->push_blocked)
        return false;
    if (f->due) {
        etmv4_flow_keep_pointers(f);
        return f->went && c->view && !c->view_stale;
    }
    if (!c->cur.known || !flow_view(c))
        return false;
    if (!c->range)
        c->range = code_lookup(c->code, c->view, c->cur.address, (enum bt_isa)c->cur.isa);
    etmv4_flow_keep_pointers(f);
    return c->range && code_range_first64(c->range) == c->cur.address &&
           (code_range_isa(c->range) == BT_ISA_A64) == etmv4_fast_cursor_is_wide(f);
}

static void fast_path(struct etmv4_flow *f, struct etmv4_bytes *in, struct flow_out *out)
{
    struct etmv4_fast_cursor t;
    etmv4_fast_cursor_begin(&t, f, out);
    in->start = in->at;
    if (etmv4_fast_cursor_is_wide(f))
        trail_run(&t, in, out, true);
    else
        trail_run(&t, in, out, false);
    in->p->offset += (size_t)(in->at - in->start);
    etmv4_fast_cursor_end(&t, out);
}

/* What was left of a header, or one packet that the loop cannot take: the slow path,
 * but at once. */
static bool slow_packet(struct etmv4_flow *f, struct etmv4_bytes *in, struct flow_out *out)
{
    struct etmv4_packet k[2]; /* a synchronised parser needs room for two, and gives one */
    size_t count = 0;
    if (in->left) {
        const struct etmv4_packet *h = &etmv4_packets[in->at[-1]];
        etmv4_flow_atoms(f, in->p->offset - 1, (uint32_t)h->value >> (h->n - in->left), in->left,
                         out);
        in->left = 0;
        return true;
    }
    if (in->at == in->end || !flow_room(out))
        return false;
    size_t size = etmv4_parse(in->p, in->at, (size_t)(in->end - in->at), k, 2, &count);
    if (count)
        etmv4_flow_run(f, k, 1, out);
    in->at += size;
    in->inner += size - count;
    return true;
}

/* Where nothing is known packets only pass by: that is quicker many at a time. */
static bool is_on_the_way(const struct etmv4 *p, const struct etmv4_flow *f)
{
    return p->synced && !p->in_zeros && !p->carry_len && f->synced &&
           (f->core.cur.known || f->due || f->wait != ETMV4_WAIT_NONE);
}

size_t etmv4_fast(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets)
{
    struct etmv4_bytes in = {.p = p, .at = data, .end = data + len};
    if (f->config.max_speculated)
        return etmv4_fast_queue(p, f, data, len, out, packets);
    while (is_on_the_way(p, f) && flow_room(out)) {
        if (etmv4_fast_cursor_may_begin(f))
            fast_path(f, &in, out);
        if (!slow_packet(f, &in, out))
            break;
    }
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
