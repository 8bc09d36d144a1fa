/* SPDX-License-Identifier: BSD-3-Clause */
/* Atoms to blocks: IHI 0014Q 7.3.1, 7.13. Runs of E are taken one instruction range at a time. */
#include "etmv3_flow_parts.h"

#define JOINED_MAX (1u << 20) /* instructions of one block */

static inline bool is_branch(const struct code_range *range)
{
    return range->end == CODE_END_DIRECT || range->end == CODE_END_INDIRECT;
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

/* The range at the position, with at least one instruction left in it; NULL:
 * the position is lost. */
static inline struct code_range *need_range(struct etmv3_flow *f, uint64_t offset,
                                            struct flow_out *out)
{
    struct code_range *range = f->core.range;
    if (!range) {
        struct code_view *view = flow_view(&f->core);
        if (view)
            range =
                code_lookup(f->core.code, view, f->core.cur.address, (enum bt_isa)f->core.cur.isa);
        f->core.range = range;
    }
    if (range && f->done < code_range_count(range))
        return range;
    no_code(f, offset, out);
    return NULL;
}

static inline void start_range(struct etmv3_flow *f, struct code_range *range, uint64_t address)
{
    f->core.cur.address = address;
    f->core.range = range;
    f->begin = f->done = 0;
    f->near_index = 0;
}

/* Behind the range's last instruction. */
static void onward(struct etmv3_flow *f, struct code_range *range)
{
    uint64_t address = code_range_behind(range);
    start_range(f, code_onward(f->core.code, f->core.view, range), address);
}

static void taken(struct etmv3_flow *f, struct code_range *range)
{
    f->branched = ETMV3_BRANCHED_DIRECT;
    etmv3_set_last(f, code_range_last(range), code_range_isa(range));
    if (range->end == CODE_END_INDIRECT) {
        f->pending = true;
        f->core.cur.known = false;
        start_range(f, range, f->last); /* the range: where its branch goes is asked of it */
        return;
    }
    enum bt_isa isa;
    uint32_t target = code_target(f->core.code, f->core.view, range, &isa);
    f->core.cur.isa = (uint8_t)isa;
    start_range(f, code_taken(f->core.code, f->core.view, range), target);
}

/* A block of the current range ends with its instruction `done` - 1, at `last`. */
static inline void end_block(struct etmv3_flow *f, uint64_t last, enum bt_cond cond,
                             uint64_t cycles, bool keep, struct flow_out *out)
{
    uint32_t count = etmv3_open(f), extent = (uint32_t)(last - f->first);
    f->joined = 0;
    if (!keep && !etmv3_has_data(f)) {
        flow_block(&f->core, out, f->first, extent,
                   bt_block_info(count, (enum bt_isa)f->core.cur.isa, cond), cycles);
        etmv3_set_last(f, last, f->core.cur.isa);
        return;
    }
    f->pending_block = (struct etmv3_pending_block){.first = f->first,
                                                    .cycles = cycles,
                                                    .extent = extent,
                                                    .count = count,
                                                    .isa = f->core.cur.isa,
                                                    .cond = (uint8_t)cond};
    if (!keep)
        etmv3_release(f, out);
}

/* Execution is behind instruction `done` - 1 of the range, at `last`: a block has ended there. */
static inline void step_on(struct etmv3_flow *f, struct code_range *range, uint64_t last,
                           bool passed)
{
    f->begin = f->done;
    f->branched = ETMV3_BRANCHED_NOT;
    if (f->done < code_range_count(range) || range->end == CODE_END_NO_CODE) {
        if (code_range_isa(range) == BT_ISA_A32)
            f->first = (uint32_t)(last + 4);
        else if (f->done <= CODE_WIDE_BITS) /* sizes that `wide` tells */
            f->first = (uint32_t)(last + 2 + 2 * (range->wide >> (f->done - 1) & 1));
        else
            f->first = (uint32_t)(range->start + etmv3_range_offset(f, f->done));
        return;
    }
    if (passed && is_branch(range))
        taken(f, range);
    else
        onward(f, range);
    f->first = f->core.cur.address;
}

/* The range was executed to its end, which is no branch: the open block goes on behind it. */
static void join(struct etmv3_flow *f, struct code_range *range, struct flow_out *out)
{
    etmv3_set_last(f, code_range_last(range), code_range_isa(range));
    if (etmv3_open(f) > JOINED_MAX) {
        end_block(f, f->last, BT_COND_PASS, FLOW_NO_CYCLES, false, out);
        step_on(f, range, f->last, false);
        return;
    }
    f->joined += f->done - f->begin;
    onward(f, range);
}

/* `e` instructions that passed; `more`: another atom follows. Returns atoms that had no place. */
static unsigned run_passed(struct etmv3_flow *f, uint64_t offset, unsigned e, bool more,
                           struct flow_out *out)
{
    while (e) {
        struct code_range *range = need_range(f, offset, out);
        if (!range)
            return e;
        uint32_t left = code_range_count(range) - f->done;
        if (e < left) {
            f->done += e;
            f->branched = ETMV3_BRANCHED_NOT;
            return 0;
        }
        e -= left;
        f->done += left;
        if (range->end == CODE_END_NO_CODE)
            continue;
        if (!is_branch(range)) {
            join(f, range, out);
            continue;
        }
        end_block(f, code_range_last(range), BT_COND_PASS, FLOW_NO_CYCLES, e == 0 && !more, out);
        step_on(f, range, code_range_last(range), true);
        if (!f->core.cur.known)
            return e;
    }
    return 0;
}

/* One instruction with a block of its own, or one that ends the open block. */
static bool run_one(struct etmv3_flow *f, uint64_t offset, bool passed, bool keep,
                    struct flow_out *out)
{
    struct code_range *range = need_range(f, offset, out);
    if (!range)
        return false;
    uint64_t cycles = FLOW_NO_CYCLES;
    if (f->config.cycle_accurate) {
        cycles = f->waited;
        f->waited = 0;
    }
    /* With nothing open the next instruction is the block's first: no offset to be looked up. */
    uint64_t last = etmv3_open(f) ? range->start + etmv3_range_offset(f, f->done) : f->first;
    f->done++;
    end_block(f, last, passed ? BT_COND_PASS : BT_COND_FAIL, cycles, keep, out);
    step_on(f, range, last, passed);
    return true;
}

/* An atom comes where no instruction is known. */
static void drop(struct etmv3_flow *f, uint64_t offset, unsigned count, struct flow_out *out)
{
    if (f->pending) {
        etmv3_release(f, out);
        flow_contradict(&f->core, out, offset, BT_GAP_UNKNOWN_ADDR, f->last);
        f->pending = false;
    }
    f->core.dropped += count;
}

static void plain_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    unsigned left = k->n;
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

static void cycle_atoms(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    bool each = k->flags & ETMV3_W_EACH;
    f->waited += each ? 0 : k->cycles;
    for (unsigned i = k->n; i-- > 0;) {
        f->waited += each;
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
    if (etmv3_has_pending(f))
        etmv3_release(f, out);
    f->branched = ETMV3_BRANCHED_NOT;
    f->since = k->n > 1 || f->since ? 2 : 1;
    if (f->config.cycle_accurate) {
        cycle_atoms(f, k, out);
    } else if (f->core.cur.known) {
        plain_atoms(f, k, out);
    } else {
        drop(f, k->offset, k->n, out);
    }
}

void etmv3_implied(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    if (!f->config.cycle_accurate)
        run_passed(f, offset, 1, false, out);
    else
        run_one(f, offset, true, true, out);
    etmv3_rebase(f);
}
