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
    while (follow_common(f, &in, out) && follow_exception(f, &in, out))
        ;
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}

/* ---- streams without cycle counts --------------------------------------------------------------
 */

#define JOINED_MAX (1 << 20) /* instructions of one block: longer ones are for the slow path */

/* Loaded from the flow, and written back at the end. */
struct path {
    struct code_run *run;
    struct bt_block *b;
    uint64_t first;  /* where the open block begins, or will begin */
    uint64_t last;   /* address of the last instruction put out, or joined */
    uint64_t before; /* what `last` was before the last block of one that failed */
    uint32_t last_isa, before_isa;
    uint32_t done;  /* instructions of the run that were executed */
    uint32_t count; /* instructions of the run */
    int32_t joined; /* instructions of the open block in earlier runs, less those of this run that
                       are not in it */
    uint8_t branched;
    bool pending; /* the run's indirect branch was executed: its branch packet must come */
    bool ended;   /* the last instruction ended a block */
    bool failed;  /* because it failed its condition */
};

static inline void path_enter(struct path *p, struct code_run *run)
{
    p->run = run;
    p->count = code_run_count(run);
    p->done = 0;
}

static inline void path_load(const struct etmv3_flow *f, struct path *p, struct flow_out *out)
{
    *p = (struct path){.b = out->blocks + out->block_count,
                       .first = f->first,
                       .last = f->last,
                       .last_isa = f->last_isa,
                       .joined = (int32_t)f->joined - (int32_t)f->begin,
                       .branched = f->branched,
                       .pending = f->pending};
    path_enter(p, f->core.run);
    p->done = f->done;
}

static inline void path_block(struct path *p, uint64_t last, uint32_t count, enum bt_cond cond)
{
    p->b->first = p->first;
    p->b->extent = (uint32_t)(last - p->first);
    p->b->info = bt_block_info((uint32_t)p->joined + count, (enum bt_isa)p->run->isa, cond);
    p->b++;
    p->last = last;
    p->last_isa = p->run->isa;
    p->joined = 0;
    p->ended = true;
}

/* All instructions left in the run passed; `more` atoms follow. False: not along known links. */
static inline bool path_out(struct etmv3_flow *f, struct path *p, bool more)
{
    struct code_run *run = p->run, *next;
    uint64_t last = run->start + run->extent;
    if (run->end == CODE_END_DIRECT) {
        next = run->next[CODE_TAKEN];
        if (!next)
            return false;
        path_block(p, last, p->count, BT_COND_PASS);
        p->failed = false;
        p->branched = ETMV3_BRANCHED_DIRECT;
        code_note_call(f->core.code, run);
        path_enter(p, next);
        p->first = next->start;
        return true;
    }
    if (run->end == CODE_END_INDIRECT) {
        if (more)
            return false;
        path_block(p, last, p->count, BT_COND_PASS);
        p->failed = false;
        p->branched = ETMV3_BRANCHED_DIRECT;
        p->pending = true;
        code_note_call(f->core.code, run);
        return true;
    }
    next = run->next[CODE_ONWARD];
    if (!next || run->end == CODE_END_NO_CODE || p->joined + (int32_t)p->count > JOINED_MAX)
        return false;
    p->last = last; /* the open block goes on in the next run */
    p->last_isa = run->isa;
    p->joined += (int32_t)p->count;
    p->ended = false;
    path_enter(p, next);
    return true;
}

/* `e` instructions that passed. */
static inline bool path_passed(struct etmv3_flow *f, struct path *p, unsigned e, bool more)
{
    while (e) {
        uint32_t left = p->count - p->done;
        p->branched = ETMV3_BRANCHED_NOT;
        if (e < left) {
            p->done += e;
            p->ended = false;
            return true;
        }
        e -= left;
        if (left == 0 || !path_out(f, p, e || more))
            return false;
    }
    return true;
}

static inline uint32_t offset_of(const struct code_run *run, uint32_t index)
{
    if (run->isa == BT_ISA_A32)
        return 4 * index;
    uint32_t offset = 0;
    for (uint64_t wide = run->wide; index; index--, wide >>= 1)
        offset += 2 + 2 * (uint32_t)(wide & 1);
    return offset;
}

/* One instruction that failed its condition: a block ends with it. */
static inline bool path_failed(struct path *p)
{
    struct code_run *run = p->run, *next = run->next[CODE_ONWARD];
    bool a32 = run->isa == BT_ISA_A32;
    p->before = p->last;
    p->before_isa = p->last_isa;
    p->failed = true;
    p->branched = ETMV3_BRANCHED_NOT;
    if (p->done + 1 == p->count) {
        if (!next || run->end == CODE_END_NO_CODE)
            return false;
        path_block(p, run->start + run->extent, p->count, BT_COND_FAIL);
        path_enter(p, next);
        p->first = next->start;
        return true;
    }
    if (p->done >= p->count || (!a32 && p->done >= ETMV3_WIDE_BITS))
        return false;
    uint64_t last = run->start + offset_of(run, p->done);
    path_block(p, last, ++p->done, BT_COND_FAIL);
    p->first = last + (a32 ? 4 : 2 + 2 * (run->wide >> (p->done - 1) & 1));
    p->joined = -(int32_t)p->done;
    return true;
}

/* False: not all of it is simple; then the path is of no more use. */
static inline bool path_header(struct etmv3_flow *f, struct path *p, const struct etmv3_header *h)
{
    unsigned passed = h->passed, rest = h->n - h->passed; /* 0, 1, or 2 when the first failed */
    for (;;) {
        if (!path_passed(f, p, passed, rest != 0))
            return false;
        if (rest == 0)
            return true;
        if (!path_failed(p))
            return false;
        if (--rest == 0)
            return true;
        passed = !(h->value & 1);
        rest -= passed;
    }
}

/* The last block may be cancelled yet if its last instruction was the last one executed. */
static void path_hold(struct etmv3_flow *f, struct path *p)
{
    const struct bt_block *b = --p->b;
    f->held = (struct etmv3_held){.first = b->first,
                                  .cycles = FLOW_NO_CYCLES,
                                  .extent = b->extent,
                                  .count = bt_block_count(b),
                                  .isa = (uint8_t)bt_block_isa(b),
                                  .cond = (uint8_t)bt_block_cond(b)};
    if (p->failed) {
        p->last = p->before;
        p->last_isa = p->before_isa;
    }
}

static void path_store(struct etmv3_flow *f, struct path *p, uint64_t atoms, struct flow_out *out)
{
    uint64_t instructions = atoms + etmv3_open(f);
    if (atoms && p->ended) {
        path_hold(f, p);
        instructions -= f->held.count;
    }
    etmv3_set_last(f, p->last, p->last_isa);
    f->core.run = p->run;
    f->core.cur.isa = p->run->isa;
    f->core.cur.known = !p->pending;
    f->core.cur.address = p->pending ? p->last : p->run->start;
    f->first = p->pending ? p->last : p->first;
    f->done = p->pending ? 0 : p->done;
    f->joined = p->pending || p->joined < 0 ? 0 : (uint32_t)p->joined;
    f->begin = p->pending || p->joined > 0 ? 0 : (uint32_t)-p->joined;
    f->pending = p->pending;
    f->branched = p->branched;
    f->since = atoms + f->since > 1 ? 2 : (uint8_t)(atoms + f->since);
    f->near_index = 0;
    size_t count = (size_t)(p->b - (out->blocks + out->block_count));
    if (out->cycles)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    etmv3_emitted(f, out, p->b, instructions - etmv3_open(f));
}

/* A branch packet: where the indirect branch went, or what is known already. */
static inline bool path_branch(struct etmv3_flow *f, struct path *p, struct etmv3_bytes *in)
{
    struct etmv3_short k;
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if (!etmv3_short_branch(in->p, in->at, in->end, &k))
        return false;
    if (p->pending) {
        struct code_run *next = code_went(f->core.code, f->core.view, p->run, k.address, isa);
        if (!next)
            return false;
        path_enter(p, next);
        p->first = next->start;
        p->pending = false;
    } else if (p->joined + (int32_t)p->done != 0 || p->first != k.address || p->run->isa != isa) {
        return false;
    }
    p->branched = ETMV3_BRANCHED_PACKET;
    etmv3_short_take(in, &k);
    return true;
}

void etmv3_follow_plain(struct etmv3_flow *f, struct etmv3_bytes *bytes, struct flow_out *out)
{
    struct etmv3_bytes in = *bytes;
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct path p;
    uint64_t atoms = 0;
    path_load(f, &p, out);
    while (in.at < in.end && p.b <= limit) {
        if (!etmv3_is_pheader(*in.at)) {
            if (!path_branch(f, &p, &in))
                break;
            continue;
        }
        const struct etmv3_header *h = &etmv3_plain_headers[*in.at >> 1 & 63];
        if (h->versions == 0 || (p.pending && h->n))
            break;
        if (h->n && etmv3_holding(f)) {
            etmv3_release(f, out);
            p.b = out->blocks + out->block_count;
            p.last = f->last;
            p.last_isa = f->last_isa;
        }
        struct path saved = p;
        if (!path_header(f, &p, h)) {
            p = saved;
            break;
        }
        atoms += h->n;
        in.at++;
    }
    *bytes = in;
    path_store(f, &p, atoms, out);
}
