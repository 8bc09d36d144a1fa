/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path of the PTM flow: one load of the run and one of its successor for each block, with
 * the counters in registers.
 */
#include "decoder/ptm_flow_internal.h"

/* What a stretch of common packets works on; written back when it ends. */
struct trail {
    struct ptm_flow *f;
    struct code_run *run;
    struct bt_block *b;
    uint64_t *counts; /* of the next block; NULL: not wanted */
    uint64_t cycles;
    uint64_t instructions;
    struct code_run *last; /* run of the last waypoint */
    bool stack;
};

static inline void trail_block(struct trail *t, struct code_run *run, unsigned fail,
                               const struct ptm_packet *k)
{
    if (t->counts)
        *t->counts++ = k->flags & PTM_HAS_CYCLES ? k->cycles : FLOW_NO_CYCLES;
    t->b->first = run->start;
    t->b->extent = run->extent;
    t->b->info = run->info | (1 + fail) << 4;
    t->b++;
    t->instructions += run->info >> 8;
    t->last = run;
}

static inline void trail_push(struct trail *t, struct code_run *run)
{
    if (!t->stack)
        code_note_call(&t->f->core.code->calls, run);
    else if (run->flags & INSN_LINK)
        ptm_flow_push(t->f, (uint32_t)(run->start + run->length), run->isa, t->f->core.cur.security,
                      run);
}

/* Return by an E atom: where the call on top of the return stack goes on, if that is at hand. */
static inline struct code_run *trail_pop(struct trail *t)
{
    struct ptm_flow *f = t->f;
    unsigned top = (f->rs_top + PTM_RETURN_STACK - 1u) % PTM_RETURN_STACK;
    if (!t->stack || f->rs_count == 0 || !flow_runs_valid(&f->core) || !f->rs_from[top] ||
        f->rs[top].security != f->core.cur.security)
        return NULL;
    struct code_run *next = f->rs_from[top]->next[CODE_ONWARD];
    if (!next)
        return NULL;
    f->rs_count--;
    f->rs_top = (uint8_t)top;
    return next;
}

/* Atoms along cached runs: returns how many are left, for the slow path. */
static inline unsigned trail_atoms(struct trail *t, const struct ptm_packet *k)
{
    unsigned value = (unsigned)k->value, n = k->n;
    while (n > 0) {
        struct code_run *run = t->run, *next;
        unsigned fail = value >> (n - 1) & 1;
        if (run->end == CODE_END_INDIRECT && !fail)
            next = trail_pop(t);
        else if (run->end <= CODE_END_INDIRECT)
            next = run->next[fail];
        else
            next = NULL;
        if (!next)
            break;
        trail_block(t, run, fail, k);
        if (!fail)
            trail_push(t, run);
        t->run = next;
        n--;
    }
    return n;
}

/* A branch packet that only says where an indirect branch went. */
static inline bool trail_branch(struct trail *t, const struct ptm_packet *k)
{
    struct code_run *run = t->run, *next;
    struct flow_core *core = &t->f->core;
    enum bt_isa isa = ptm_packet_isa(k);
    if (run->end != CODE_END_INDIRECT || k->number != 0 || (k->flags & ~PTM_HAS_CYCLES))
        return false;
    next = code_went(core->code, core->view, run, k->value, isa);
    if (!next)
        return false;
    trail_block(t, run, 0, k);
    trail_push(t, run);
    t->run = next;
    return true;
}

static void trail_end(struct trail *t, struct flow_out *out)
{
    struct ptm_flow *f = t->f;
    size_t count = (size_t)(t->b - (out->blocks + out->block_count));
    out->block_count += count;
    f->core.blocks += count;
    f->core.instructions += t->instructions;
    f->core.cycles += t->cycles;
    if (t->last)
        f->last_waypoint = t->last->start + t->last->extent;
    f->core.run = t->run;
    f->core.cur.address = t->run->start;
    f->core.cur.isa = t->run->isa;
}

size_t ptm_flow_follow(struct ptm_flow *f, const struct ptm_packet *packets, size_t count,
                       struct flow_out *out, unsigned *left)
{
    struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct trail t = {.f = f,
                      .run = f->core.run,
                      .b = out->blocks + out->block_count,
                      .counts = out->cycles ? out->cycles + out->block_count : NULL,
                      .stack = f->config.return_stack};
    size_t i = 0;
    code_calls_of(f->core.code, f->core.view);
    for (; i < count; i++) {
        const struct ptm_packet *k = &packets[i];
        *left = k->n;
        if (t.b > limit)
            break;
        if (k->kind == PTM_ATOM) {
            *left = trail_atoms(&t, k);
            if (*left)
                break;
        } else if (k->kind != PTM_BRANCH || !trail_branch(&t, k)) {
            break;
        }
        t.cycles += k->cycles; /* 0 where there is no count */
    }
    trail_end(&t, out);
    return i;
}
