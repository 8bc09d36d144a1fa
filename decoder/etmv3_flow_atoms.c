/* SPDX-License-Identifier: BSD-3-Clause */
/* Atoms to blocks: digest etmv3.md 6, 7.3, 16.1. Runs of E are eaten a run of code at a time. */
#include "decoder/etmv3_flow_parts.h"

#define JOINED_MAX (1u << 20) /* instructions of one block */

static inline bool is_branch(const struct code_run *run)
{
    return run->end == CODE_END_DIRECT || run->end == CODE_END_INDIRECT;
}

/* No code for the next instruction: what was open is put out, and the position is lost. */
static void no_code(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    uint64_t here = etmv3_here(f);
    etmv3_close(f);
    etmv3_release(f, out);
    flow_lose(&f->core, out, offset, BT_GAP_NO_CODE, here);
    f->begin = f->done = f->joined = 0;
}

/* The run at the position, with at least one instruction left in it; NULL: the position is lost. */
static inline struct code_run *need_run(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    struct code_run *run = f->core.run;
    if (!run) {
        struct code_view *view = flow_view(&f->core);
        if (view)
            run =
                code_lookup(f->core.code, view, f->core.cur.address, (enum bt_isa)f->core.cur.isa);
        f->core.run = run;
    }
    if (run && f->done < code_run_count(run))
        return run;
    no_code(f, offset, out);
    return NULL;
}

static inline void start_run(struct etmv3_flow *f, struct code_run *run, uint64_t address)
{
    f->core.cur.address = address;
    f->core.run = run;
    f->begin = f->done = 0;
    f->near_index = 0;
}

/* Behind the run's last instruction. */
static void onward(struct etmv3_flow *f, struct code_run *run)
{
    uint64_t address = (uint32_t)(run->start + run->length);
    start_run(f, code_onward(f->core.code, f->core.view, run), address);
}

static void taken(struct etmv3_flow *f, struct code_run *run)
{
    f->branched = ETMV3_BRANCHED_DIRECT;
    etmv3_set_last(f, run->start + run->extent, run->isa);
    if (run->end == CODE_END_INDIRECT) {
        f->pending = true;
        f->core.cur.known = false;
        start_run(f, run, f->last); /* the run: where its branch goes is asked of it */
        return;
    }
    uint64_t target = run->target;
    f->core.cur.isa = run->target_isa;
    start_run(f, code_taken(f->core.code, f->core.view, run), target);
}

/* A block of the current run ends with its instruction `done` - 1, at `last`. */
static inline void end_block(struct etmv3_flow *f, uint64_t last, enum bt_cond cond,
                             uint64_t cycles, bool hold, struct flow_out *out)
{
    uint32_t count = etmv3_open(f), extent = (uint32_t)(last - f->first);
    f->joined = 0;
    if (!hold && !etmv3_has_data(f)) {
        flow_block(&f->core, out, f->first, extent,
                   bt_block_info(count, (enum bt_isa)f->core.cur.isa, cond), cycles);
        etmv3_set_last(f, last, f->core.cur.isa);
        return;
    }
    f->held = (struct etmv3_held){.first = f->first,
                                  .cycles = cycles,
                                  .extent = extent,
                                  .count = count,
                                  .isa = f->core.cur.isa,
                                  .cond = (uint8_t)cond};
    if (!hold)
        etmv3_release(f, out);
}

/* Execution is behind instruction `done` - 1 of the run, at `last`: a block has ended there. */
static inline void step_on(struct etmv3_flow *f, struct code_run *run, uint64_t last, bool passed)
{
    f->begin = f->done;
    f->branched = ETMV3_BRANCHED_NOT;
    if (f->done < code_run_count(run) || run->end == CODE_END_NO_CODE) {
        if (run->isa == BT_ISA_A32)
            f->first = (uint32_t)(last + 4);
        else if (f->done <= 64) /* sizes that `wide` tells */
            f->first = (uint32_t)(last + 2 + 2 * (run->wide >> (f->done - 1) & 1));
        else
            f->first = (uint32_t)(run->start + etmv3_run_offset(f, f->done));
        return;
    }
    if (passed && is_branch(run))
        taken(f, run);
    else
        onward(f, run);
    f->first = f->core.cur.address;
}

/* The run was executed to its end, which is no branch: the open block goes on behind it. */
static void join(struct etmv3_flow *f, struct code_run *run, struct flow_out *out)
{
    etmv3_set_last(f, run->start + run->extent, run->isa);
    if (etmv3_open(f) > JOINED_MAX) {
        end_block(f, f->last, BT_COND_PASS, FLOW_NO_CYCLES, false, out);
        step_on(f, run, f->last, false);
        return;
    }
    f->joined += f->done - f->begin;
    onward(f, run);
}

/* `e` instructions that passed; `more`: another atom follows. Returns atoms that had no place. */
static unsigned run_passed(struct etmv3_flow *f, uint64_t offset, unsigned e, bool more,
                           struct flow_out *out)
{
    while (e) {
        struct code_run *run = need_run(f, offset, out);
        if (!run)
            return e;
        uint32_t left = code_run_count(run) - f->done;
        if (e < left) {
            f->done += e;
            f->branched = ETMV3_BRANCHED_NOT;
            return 0;
        }
        e -= left;
        f->done += left;
        if (run->end == CODE_END_NO_CODE)
            continue;
        if (!is_branch(run)) {
            join(f, run, out);
            continue;
        }
        end_block(f, run->start + run->extent, BT_COND_PASS, FLOW_NO_CYCLES, e == 0 && !more, out);
        step_on(f, run, run->start + run->extent, true);
        if (!f->core.cur.known)
            return e;
    }
    return 0;
}

/* One instruction with a block of its own, or one that ends the open block. */
static bool run_one(struct etmv3_flow *f, uint64_t offset, bool passed, bool hold,
                    struct flow_out *out)
{
    struct code_run *run = need_run(f, offset, out);
    if (!run)
        return false;
    uint64_t cycles = FLOW_NO_CYCLES;
    if (f->config.cycle_accurate) {
        cycles = f->waited;
        f->waited = 0;
    }
    /* With nothing open the next instruction is the block's first: no offset to be looked up. */
    uint64_t last = etmv3_open(f) ? run->start + etmv3_run_offset(f, f->done) : f->first;
    f->done++;
    end_block(f, last, passed ? BT_COND_PASS : BT_COND_FAIL, cycles, hold, out);
    step_on(f, run, last, passed);
    return true;
}

/* An atom comes where no instruction is known: digest 16.6. */
static void drop(struct etmv3_flow *f, uint64_t offset, unsigned count, struct flow_out *out)
{
    if (f->pending) {
        etmv3_release(f, out);
        flow_lose(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last);
        f->pending = false;
    }
    f->atoms_dropped += count;
}

void etmv3_plain_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, unsigned left,
                       struct flow_out *out)
{
    while (left) {
        uint32_t rest = (uint32_t)k->value & ((1u << left) - 1);
        unsigned failed = rest ? 32u - (unsigned)__builtin_clz(rest) : 0; /* place of the first N */
        unsigned lost = run_passed(f, k->offset, left - failed, failed != 0, out);
        left = failed;
        if (left && f->core.cur.known) {
            left--;
            if (!run_one(f, k->offset, false, left == 0, out))
                left++;
        }
        if (!f->core.cur.known && lost + left) {
            drop(f, k->offset, lost + left, out);
            return;
        }
    }
}

/* The `left` last atoms of `k`; `waited`: the W of the first of them is counted already. */
static void cycle_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, unsigned left,
                        bool waited, struct flow_out *out)
{
    bool each = k->flags & ETMV3_W_EACH;
    for (unsigned i = left; i-- > 0;) {
        f->waited += each && !waited;
        waited = false;
        if (!f->core.cur.known || !run_one(f, k->offset, !(k->value >> i & 1), i == 0, out)) {
            f->waited += each ? i : 0;
            drop(f, k->offset, i + 1, out);
            return;
        }
    }
}

void etmv3_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    f->core.cycles += k->cycles;
    if (k->n == 0) {
        f->waited += k->cycles;
        return;
    }
    if (etmv3_holding(f))
        etmv3_release(f, out);
    f->branched = ETMV3_BRANCHED_NOT;
    f->since = k->n > 1 || f->since ? 2 : 1;
    if (f->config.cycle_accurate) {
        f->waited += k->flags & ETMV3_W_EACH ? 0 : k->cycles;
        cycle_atoms(f, k, k->n, false, out);
    } else if (f->core.cur.known)
        etmv3_plain_atoms(f, k, k->n, out);
    else
        drop(f, k->offset, k->n, out);
}

/* ---- the hot path of cycle-accurate streams ----------------------------------------------------
 */

/* What a chain of P-headers works on; written back when it ends or meets something else. */
struct chain {
    struct code_run *run;
    uint64_t first; /* address of instruction `done` of the run */
    uint64_t waited;
    uint32_t done;
    uint32_t count; /* instructions of the run */
    uint32_t last_isa;
    uint64_t last; /* address of the last instruction */
    bool branched; /* it was a taken branch */
};

static inline void chain_load(const struct etmv3_flow *f, struct chain *c)
{
    c->run = f->core.run;
    c->first = f->first;
    c->waited = f->waited;
    c->done = f->done;
    c->count = c->run ? code_run_count(c->run) : 0;
    c->last = f->last;
    c->last_isa = f->last_isa;
    c->branched = false;
}

static inline void chain_store(struct etmv3_flow *f, const struct chain *c)
{
    f->core.run = c->run;
    f->core.cur.address = c->run->start;
    f->core.cur.isa = c->run->isa;
    f->first = c->first;
    f->waited = c->waited;
    f->begin = f->done = c->done;
    etmv3_set_last(f, c->last, c->last_isa);
    if (c->branched)
        f->branched = ETMV3_BRANCHED_DIRECT;
}

/* Execution goes on behind the instruction at c->first; false: not along links that are there. */
static inline bool chain_step(struct chain *c, bool passed)
{
    struct code_run *run = c->run, *next;
    bool a32 = run->isa == BT_ISA_A32;
    if (c->done + 1 < c->count) {
        c->first += a32 ? 4 : 2 + 2 * (run->wide >> c->done & 1);
        c->done++;
        c->branched = false;
        return true;
    }
    bool leaves = passed && is_branch(run);
    if (run->end == CODE_END_NO_CODE || (leaves && run->end == CODE_END_INDIRECT))
        return false;
    next = run->next[leaves ? CODE_TAKEN : CODE_ONWARD];
    if (!next)
        return false;
    c->branched = leaves;
    c->run = next;
    c->first = next->start;
    c->done = 0;
    c->count = code_run_count(next);
    return true;
}

/* Atoms of one packet, a block each; returns how many are left when one is not simple. */
static inline unsigned chain_atoms(struct etmv3_flow *f, struct chain *c,
                                   const struct etmv3_packet *k, struct flow_out *out)
{
    bool each = k->flags & ETMV3_W_EACH;
    unsigned left = k->n;
    c->waited += each ? 0 : k->cycles;
    while (left > 0) {
        c->waited += each;
        uint64_t first = c->first;
        uint32_t isa = c->run->isa;
        bool passed = !(k->value >> (left - 1) & 1);
        /* Sizes of T32 instructions are known for the first 64 of a run. */
        if (c->done >= c->count || c->done >= 64 || !chain_step(c, passed))
            break;
        flow_block(&f->core, out, first, 0,
                   1u << 8 | (uint32_t)(passed ? BT_COND_PASS : BT_COND_FAIL) << 4 | isa,
                   c->waited);
        c->last = first;
        c->last_isa = isa;
        c->waited = 0;
        left--;
    }
    return left;
}

/* Another executed instruction follows packet 0 for sure: what it did can be cancelled no more. */
static inline bool settled(const struct etmv3_packet *packets, size_t count)
{
    for (size_t i = 1; i < count && packets[i].kind == ETMV3_ATOM; i++)
        if (packets[i].n)
            return true;
    return false;
}

size_t etmv3_follow(struct etmv3_flow *f, const struct etmv3_packet *packets, size_t count,
                    struct flow_out *out)
{
    struct chain c;
    size_t i = 0;
    chain_load(f, &c);
    for (; i < count && packets[i].kind == ETMV3_ATOM && flow_room(out); i++) {
        const struct etmv3_packet *k = &packets[i];
        if (k->n == 0) {
            f->core.cycles += k->cycles;
            c.waited += k->cycles;
            continue;
        }
        if (!settled(k, count - i))
            break;
        if (etmv3_holding(f))
            etmv3_release(f, out);
        f->core.cycles += k->cycles;
        f->since = k->n > 1 || f->since ? 2 : 1;
        c.branched = false;
        unsigned left = chain_atoms(f, &c, k, out);
        f->branched = ETMV3_BRANCHED_NOT;
        if (left == 0)
            continue;
        chain_store(f, &c);
        cycle_atoms(f, k, left, true, out);
        if (etmv3_holding(f))
            etmv3_release(f, out);
        if (!f->core.run || !f->core.cur.known)
            return i + 1;
        chain_load(f, &c);
    }
    chain_store(f, &c);
    return i;
}

void etmv3_implied(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    if (!f->config.cycle_accurate)
        run_passed(f, offset, 1, false, out);
    else
        run_one(f, offset, true, true, out);
    etmv3_rebase(f);
}
