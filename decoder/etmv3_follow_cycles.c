/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycle-accurate streams: every instruction is a block. Those of one P-header in one run of code
 * are stored without asking how many there are: more than enough of them, and the next ones
 * begin where the last of them ended.
 */
#include "decoder/etmv3_follow_parts.h"

#define ATOMS_MAX 8 /* of one P-header */
#define HALF      4

/* What follows `first` in a block of one instruction. */
struct block_rest {
    uint32_t extent;
    uint32_t info;
};

static inline uint64_t rest_of(enum bt_isa isa, enum bt_cond cond)
{
    const struct block_rest rest = {.info = bt_block_info(1, isa, cond)};
    uint64_t bits;
    memcpy(&bits, &rest, sizeof bits);
    return bits;
}

/* Loaded from the flow, and written back at the end. */
struct chain {
    struct code_run *run;
    struct bt_block *b;
    uint64_t *count; /* of the next block */
    size_t stride;   /* all ones, or 0: counts are not wanted */
    uint64_t first;  /* the next instruction */
    int64_t wide;    /* sizes of it and those behind it: bit set: four bytes */
    uint64_t rest;   /* of a block that passed */
    uint32_t done;   /* instructions of the run that were executed */
    uint32_t known;  /* those whose size is known: all of them but in a long run of T32 */
    bool branched;   /* the last instruction was a taken branch */
    bool pending;    /* and an indirect one: its branch packet must come */
};

static inline void chain_enter(struct chain *c, struct code_run *run)
{
    uint32_t count = code_run_count(run);
    bool a32 = run->isa == BT_ISA_A32;
    c->run = run;
    c->first = run->start;
    c->done = 0;
    c->known = a32 || count < ETMV3_WIDE_BITS ? count : ETMV3_WIDE_BITS;
    c->wide = a32 ? -1 : (int64_t)run->wide;
    c->rest = rest_of((enum bt_isa)run->isa, BT_COND_PASS);
}

static void chain_load(const struct etmv3_flow *f, struct chain *c)
{
    chain_enter(c, f->core.run);
    c->first = f->first;
    c->done = f->done;
    if (c->wide != -1)
        c->wide = f->done < ETMV3_WIDE_BITS ? (int64_t)((uint64_t)c->wide >> f->done) : 0;
    c->branched = false;
    c->pending = f->pending;
}

static inline uint64_t store_block(struct bt_block *b, uint64_t first, uint64_t wide, uint64_t rest)
{
    b->first = first;
    memcpy(&b->extent, &rest, sizeof rest);
    return first + 2 + (wide & 2);
}

/* HALF blocks, and where the one behind them begins. No loop: compilers would leave it one. */
static inline uint64_t store_half(struct bt_block *b, uint64_t first, uint64_t wide, uint64_t rest)
{
    first = store_block(b, first, wide << 1, rest);
    first = store_block(b + 1, first, wide, rest);
    first = store_block(b + 2, first, wide >> 1, rest);
    first = store_block(b + 3, first, wide >> 2, rest);
    b[HALF].first = first;
    return first;
}

/* `n` instructions of the run, up to ATOMS_MAX; the first one has `cycles`, the others `each`. */
static inline void chain_blocks(struct chain *c, unsigned n, uint64_t cycles, uint64_t each)
{
    uint64_t *count = c->count;
    uint64_t wide = (uint64_t)c->wide;
    uint64_t next = store_half(c->b, c->first, wide, c->rest);
    count[0] = cycles;
    count[1] = count[2] = count[3] = each;
    if (n > HALF) {
        store_half(c->b + HALF, next, wide >> HALF, c->rest);
        count[4] = count[5] = count[6] = count[7] = each;
    }
    c->b += n;
    c->count += n & c->stride;
    c->first = c->b->first;
}

/* The run's last instruction was executed; `more` atoms follow. False: not along known links. */
static inline bool chain_out(struct etmv3_flow *f, struct chain *c, bool passed, bool more)
{
    struct code_run *run = c->run, *next;
    unsigned way = CODE_ONWARD;
    c->branched = false;
    if (c->known != code_run_count(run) || run->end == CODE_END_NO_CODE)
        return false;
    if (passed && (run->end == CODE_END_DIRECT || run->end == CODE_END_INDIRECT)) {
        code_note_call(&f->core.code->calls, run);
        c->branched = true;
        way = CODE_TAKEN;
        if (run->end == CODE_END_INDIRECT) {
            c->pending = true;
            return !more;
        }
    }
    next = run->next[way];
    if (!next)
        return false;
    chain_enter(c, next);
    return true;
}

/* `e` instructions that passed. */
static inline bool chain_passed(struct etmv3_flow *f, struct chain *c, unsigned e, bool more,
                                uint64_t cycles, uint64_t each)
{
    while (e) {
        unsigned left = c->known - c->done;
        if (e < left) {
            chain_blocks(c, e, cycles, each);
            c->done += e;
            c->wide >>= e;
            c->branched = false;
            return true;
        }
        chain_blocks(c, left, cycles, each);
        cycles = each;
        e -= left;
        if (!chain_out(f, c, true, e || more))
            return false;
    }
    return true;
}

static inline bool chain_failed(struct etmv3_flow *f, struct chain *c, uint64_t cycles)
{
    if (c->done >= c->known)
        return false;
    uint64_t rest = rest_of((enum bt_isa)c->run->isa, BT_COND_FAIL);
    c->b->first = c->first;
    memcpy(&c->b->extent, &rest, sizeof rest);
    c->b++;
    *c->count = cycles;
    c->count += 1 & c->stride;
    c->branched = false;
    if (c->done + 1 == c->known)
        return chain_out(f, c, false, true);
    c->first += 2 + 2 * (c->wide & 1);
    c->wide >>= 1;
    c->done++;
    return true;
}

/* False: not all of it is simple; then the chain is of no more use. `cycles`: of its first atom. */
static inline bool chain_header(struct etmv3_flow *f, struct chain *c, const struct etmv3_header *h,
                                uint64_t cycles)
{
    unsigned passed = h->passed, rest = h->n - h->passed; /* 0, 1, or 2 when the first failed */
    uint64_t each = h->flags & ETMV3_W_EACH ? 1 : 0;
    for (;;) {
        if (passed) {
            if (!chain_passed(f, c, passed, rest != 0, cycles, each))
                return false;
            cycles = each;
        }
        if (rest == 0)
            return true;
        if (!chain_failed(f, c, cycles))
            return false;
        if (--rest == 0)
            return true;
        cycles = each;
        passed = !(h->value & 1);
        rest -= passed;
    }
}

/* The last instruction may be cancelled yet: its block is held. */
static void chain_hold(struct etmv3_flow *f, struct chain *c, uint64_t cycles,
                       const struct flow_out *out)
{
    const struct bt_block *b = --c->b;
    f->held = (struct etmv3_held){.first = b->first,
                                  .cycles = cycles,
                                  .count = 1,
                                  .isa = (uint8_t)bt_block_isa(b),
                                  .cond = (uint8_t)bt_block_cond(b)};
    if (c->branched)
        etmv3_set_last(f, b->first, (uint32_t)bt_block_isa(b));
    else if (b > out->blocks + out->block_count)
        etmv3_set_last(f, b[-1].first, (uint32_t)bt_block_isa(&b[-1]));
}

static void chain_store(struct etmv3_flow *f, const struct chain *c)
{
    f->core.run = c->run;
    f->core.cur.isa = c->run->isa;
    f->core.cur.known = !c->pending;
    f->core.cur.address = c->pending ? f->last : c->run->start;
    f->first = c->pending ? f->last : c->first;
    f->begin = f->done = c->pending ? 0 : c->done;
    f->pending = c->pending;
    f->near_index = 0;
}

/* A branch packet: where the indirect branch went, or what is known already. */
static inline bool chain_branch(struct etmv3_flow *f, struct chain *c, struct etmv3_bytes *in)
{
    struct etmv3_short k;
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if (!etmv3_short_branch(in->p, in->at, in->end, &k))
        return false;
    if (c->pending) {
        struct code_run *next = code_went(f->core.code, f->core.view, c->run, k.address, isa);
        if (!next)
            return false;
        chain_enter(c, next);
        c->pending = false;
    } else if (c->first != k.address || c->run->isa != isa) {
        return false;
    }
    etmv3_short_take(in, &k);
    return true;
}

void etmv3_follow_cycles(struct etmv3_flow *f, struct etmv3_bytes *bytes, struct flow_out *out)
{
    struct etmv3_bytes in = *bytes;
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    uint8_t version = (uint8_t)(1u << f->config.version_minor);
    uint64_t unwanted[2 * ATOMS_MAX], waited = f->waited, total = 0, atoms = 0, last = 0;
    struct chain c;
    uint8_t branched = f->branched;
    chain_load(f, &c);
    if (c.done > c.known || etmv3_open(f))
        return;
    c.b = out->blocks + out->block_count;
    c.count = out->cycles ? out->cycles + out->block_count : unwanted;
    c.stride = out->cycles ? SIZE_MAX : 0;
    while (in.at < in.end && c.b <= limit) {
        if (!etmv3_is_pheader(*in.at)) {
            if (!chain_branch(f, &c, &in))
                break;
            branched = ETMV3_BRANCHED_PACKET;
            continue;
        }
        const struct etmv3_header *h = &etmv3_cycle_headers[*in.at >> 1 & 63];
        if (!(h->versions & version) || (c.pending && h->n))
            break;
        if (h->n) {
            if (etmv3_holding(f)) {
                etmv3_release(f, out);
                c.b = out->blocks + out->block_count;
                c.count = out->cycles ? out->cycles + out->block_count : unwanted;
            }
            struct chain saved = c;
            if (!chain_header(f, &c, h, waited + h->before)) {
                c = saved;
                break;
            }
            atoms += h->n;
            last = h->n == 1 ? waited + h->before : h->flags & ETMV3_W_EACH ? 1 : 0;
            waited = 0;
            branched = c.branched ? ETMV3_BRANCHED_DIRECT : ETMV3_BRANCHED_NOT;
        } else {
            waited += h->before;
        }
        total += h->cycles;
        in.at++;
    }
    *bytes = in;
    if (atoms)
        chain_hold(f, &c, last, out);
    chain_store(f, &c);
    f->waited = waited;
    f->branched = branched;
    f->since = atoms + f->since > 1 ? 2 : (uint8_t)(atoms + f->since);
    f->core.cycles += total;
    etmv3_emitted(f, out, c.b, (size_t)(c.b - (out->blocks + out->block_count)));
}
