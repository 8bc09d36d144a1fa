/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4_follow.h"

#include "decoder/etmv4_follow_parts.h"

#include <string.h>

/* ---- atoms -------------------------------------------------------------------------------------
 */

/* `wide`, here and below: all code is A64; else none is. */
static inline void trail_block(struct etmv4_trail *t, const struct code_run *run, unsigned fail,
                               bool wide)
{
    uint32_t info = run->info, extent = run->extent;
    t->b->first = wide ? (uint64_t)run->wide << 32 | run->start : run->start;
    t->b->extent = extent;
    t->b->info = info + ((BT_COND_PASS + fail) << 4);
    t->b++;
    t->instructions += info >> 8;
}

/* The branch that ends `run` was taken. */
static inline void trail_push(struct etmv4_trail *t, struct code_run *run)
{
    if (!t->stack)
        code_note_call(t->calls, run);
    else if (run->last & INSN_LINK)
        etmv4_flow_push(t->f, run);
}

/* An indirect branch went where the return stack says, if that is at hand. */
static inline bool trail_pop(struct etmv4_trail *t, bool wide)
{
    struct etmv4_flow *f = t->f;
    unsigned top = (f->rs_top + ETMV4_RETURN_STACK - 1u) % ETMV4_RETURN_STACK;
    if (!t->pops || f->rs_count == 0 || !f->rs[top].from)
        return false;
    struct code_run *next = f->rs[top].from->next[CODE_ONWARD];
    if (!next || (code_run_isa(next) == BT_ISA_A64) != wide)
        return false;
    f->rs_count--;
    f->rs_top = (uint8_t)top;
    t->run = next;
    t->due = false;
    return true;
}

/* `e` times E, along cached runs: returns how many are left. */
static inline unsigned trail_passed(struct etmv4_trail *t, unsigned e, bool wide)
{
    for (; e > 0; e--) {
        struct code_run *run = t->run, *next = run->next[CODE_TAKEN];
        if (run->end >= CODE_END_INDIRECT || !next)
            break;
        trail_block(t, run, 0, wide);
        trail_push(t, run);
        t->run = next;
    }
    return e;
}

/* An E on an indirect branch. False: it is none. */
static inline bool trail_indirect(struct etmv4_trail *t, bool wide)
{
    struct code_run *run = t->run;
    if (run->end != CODE_END_INDIRECT)
        return false;
    trail_block(t, run, 0, wide);
    trail_push(t, run);
    t->due = true;
    t->pops = t->stack;
    return true;
}

/* An N. False: it has yet to be taken, the long way. */
static inline bool trail_failed(struct etmv4_trail *t, bool wide)
{
    struct code_run *run = t->run, *next = run->next[CODE_ONWARD];
    if (run->end > CODE_END_INDIRECT || !next || (run->last & CODE_SURE))
        return false;
    trail_block(t, run, 1, wide);
    t->run = next;
    return true;
}

/* Atoms along cached runs, oldest in bit 0: returns how many are left. */
static inline unsigned trail_atoms(struct etmv4_trail *t, uint32_t atoms, unsigned n, bool wide)
{
    while (n > 0) {
        unsigned e = (unsigned)__builtin_ctz(~atoms);
        if (t->due && !trail_pop(t, wide))
            return n;
        unsigned left = trail_passed(t, e, wide);
        n -= e - left;
        atoms >>= e - left;
        if (n == 0)
            return 0;
        if (!(left ? trail_indirect(t, wide) : trail_failed(t, wide)))
            return n;
        n--;
        atoms >>= 1;
    }
    return 0;
}

/* An atom header. False: not all of it goes along cached runs. */
static inline bool trail_header(struct etmv4_trail *t, struct etmv4_bytes *in, bool wide)
{
    const struct etmv4_packet *h = &etmv4_packets[*in->at];
    in->left = trail_atoms(t, (uint32_t)h->value, h->n, wide);
    in->at++;
    return in->left == 0;
}

static inline bool trail_address(struct etmv4_trail *t, struct etmv4_bytes *in, bool wide)
{
    struct etmv4_target a;
    return etmv4_near_address(in->p->last, *in->at, in->at + 1, in->end, &a) &&
           etmv4_trail_there(t, in, &a, wide);
}

/* ---- the loop ----------------------------------------------------------------------------------
 */

static inline void trail_run(struct etmv4_trail *now, struct etmv4_bytes *bytes,
                             struct flow_out *out, bool wide)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct etmv4_trail t = *now;
    struct etmv4_bytes in = *bytes;
    while (in.at < in.end && t.b <= limit) {
        if (*in.at >= ETMV4_HDR_ATOM ? trail_header(&t, &in, wide) : trail_address(&t, &in, wide))
            continue;
        *now = t; /* copies: the loop keeps its own in registers */
        *bytes = in;
        if (in.at == in.end || !etmv4_trail_rare(now, bytes, out, wide))
            return;
        t = *now;
        in = *bytes;
    }
    *now = t;
    *bytes = in;
}

static void trail_end(struct etmv4_trail *t, struct flow_out *out)
{
    struct etmv4_flow *f = t->f;
    size_t count = (size_t)(t->b - (out->blocks + out->block_count));
    etmv4_trail_note(t);
    if (out->cycles)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    out->block_count += count;
    f->core.blocks += count;
    f->core.instructions = t->instructions;
    f->core.agreed = t->agreed;
    f->due = t->due;
    f->pending_pop = t->due && t->pops;
    f->core.cur.known = !t->due;
    f->core.run = t->due ? NULL : t->run;
    f->went = t->run;
    f->core.cur.address = code_run_first64(t->run);
    f->core.cur.isa = (uint8_t)code_run_isa(t->run);
}

/* Whose addresses come: those of A64. Nothing but a context packet changes that. */
static bool is_wide(const struct etmv4_flow *f)
{
    return f->aarch64 && !f->config.m_profile;
}

static void follow_common(struct etmv4_flow *f, struct etmv4_bytes *in, struct flow_out *out)
{
    struct bt_block *b = out->blocks + out->block_count;
    struct etmv4_trail t = {.f = f,
                            .calls = &f->core.code->calls,
                            .run = f->due ? f->went : f->core.run,
                            .b = b,
                            .base = b,
                            .instructions = f->core.instructions,
                            .agreed = f->core.agreed,
                            .due = f->due,
                            .pops = f->pending_pop,
                            .stack = f->config.return_stack};
    in->start = in->at;
    if (is_wide(f))
        trail_run(&t, in, out, true);
    else
        trail_run(&t, in, out, false);
    in->p->offset += (size_t)(in->at - in->start);
    trail_end(&t, out);
}

/* Whether the loop can begin, at the run that execution is in front of or that it left. */
static bool may_follow(struct etmv4_flow *f)
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
    if (!c->run)
        c->run = code_lookup(c->code, c->view, c->cur.address, (enum bt_isa)c->cur.isa);
    etmv4_flow_keep_pointers(f);
    return c->run && code_run_first64(c->run) == c->cur.address &&
           (code_run_isa(c->run) == BT_ISA_A64) == is_wide(f);
}

/* What was left of a header, or one packet that the loop cannot take: the long way, but at once. */
static bool follow_other(struct etmv4_flow *f, struct etmv4_bytes *in, struct flow_out *out)
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

size_t etmv4_follow(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                    struct flow_out *out, uint64_t *packets)
{
    struct etmv4_bytes in = {.p = p, .at = data, .end = data + len};
    if (f->config.max_speculated)
        return 0;
    while (is_on_the_way(p, f) && flow_room(out)) {
        if (may_follow(f)) {
            code_calls_of(f->core.code, f->core.view);
            follow_common(f, &in, out);
        }
        if (!follow_other(f, &in, out))
            break;
    }
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
