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

/* Where execution is, and what its blocks are made from. */
struct chain {
    struct code_run *run;
    struct code_run *before; /* the run that was left last, in this call */
    struct bt_block *b;
    uint64_t *count; /* of the next block */
    size_t stride;   /* all ones, or 0: counts are not wanted */
    uint64_t first;  /* the next instruction */
    int64_t wide;    /* sizes of it and those behind it: bit set: four bytes */
    uint64_t rest;   /* of a block that passed */
    uint64_t waited; /* cycles since the last instruction */
    uint32_t left;   /* instructions of the run that were not executed yet */
    bool cut;        /* and more, whose sizes are not at hand: a long run of T32 */
    bool pending;    /* the run's indirect branch was executed: its branch packet must come */
};

static inline void chain_enter(struct chain *c, struct code_run *run)
{
    uint32_t count = code_run_count(run);
    bool a32 = code_run_isa(run) == BT_ISA_A32;
    c->run = run;
    c->first = run->start;
    c->cut = !a32 && count > CODE_WIDE_BITS;
    c->left = c->cut ? CODE_WIDE_BITS : count;
    c->wide = a32 ? -1 : (int64_t)run->wide;
    c->rest = rest_of(code_run_isa(run), BT_COND_PASS);
}

/* Instructions of the run that were executed. */
static inline uint32_t chain_done(const struct chain *c)
{
    return (c->cut ? CODE_WIDE_BITS : code_run_count(c->run)) - c->left;
}

/* False: nothing can be followed from there. */
static bool chain_load(const struct etmv3_flow *f, const struct flow_out *out, struct chain *c)
{
    chain_enter(c, f->core.run);
    if (f->done > c->left || etmv3_open(f))
        return false;
    c->before = NULL;
    c->b = out->blocks + out->block_count;
    c->first = f->first;
    c->waited = f->waited;
    c->left -= f->done;
    if (c->wide != -1)
        c->wide = f->done < CODE_WIDE_BITS ? (int64_t)((uint64_t)c->wide >> f->done) : 0;
    c->pending = f->pending;
    return true;
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

/* The way from the run's end when its last instruction passed; `more` atoms follow. NULL: not along
 * known links, or it is not told yet: *pending. */
static inline struct code_run *chain_way(const struct chain *c, bool more, bool *pending)
{
    struct code_run *run = c->run;
    *pending = false;
    if (run->end == CODE_END_DIRECT && !c->cut)
        return run->next[CODE_TAKEN];
    if (c->cut || run->end == CODE_END_NO_CODE)
        return NULL;
    *pending = run->end == CODE_END_INDIRECT && !more;
    return run->end == CODE_END_INDIRECT ? NULL : run->next[CODE_ONWARD];
}

/* `e` instructions passed. Returns those that have yet to be taken, the long way. */
static inline uint32_t chain_passed(struct chain *c, struct code_calls *calls, uint32_t e,
                                    uint64_t cycles, uint64_t each)
{
    while (e >= c->left) {
        struct code_run *run = c->run, *next;
        uint32_t left = c->left;
        bool pending;
        next = chain_way(c, e != left, &pending);
        if (!next && !pending)
            return e;
        chain_blocks(c, left, cycles, each);
        code_note_call(calls, run);
        c->before = run;
        e -= left;
        if (pending) {
            c->pending = true;
            return 0;
        }
        chain_enter(c, next);
        if (e == 0)
            return 0;
        cycles = each;
    }
    chain_blocks(c, e, cycles, each);
    c->left -= e;
    c->wide >>= e;
    return 0;
}

/* One instruction failed. False: it has yet to be taken, the long way. */
static inline bool chain_failed(struct chain *c, uint64_t cycles)
{
    struct code_run *run = c->run, *next = run->next[CODE_ONWARD];
    if (c->left == 0 || (c->left == 1 && (c->cut || run->end == CODE_END_NO_CODE || !next)))
        return false;
    uint64_t rest = rest_of(code_run_isa(run), BT_COND_FAIL);
    c->b->first = c->first;
    memcpy(&c->b->extent, &rest, sizeof rest);
    c->b++;
    *c->count = cycles;
    c->count += 1 & c->stride;
    if (c->left == 1) {
        c->before = run;
        chain_enter(c, next);
        return true;
    }
    c->first += 2 + 2 * (c->wide & 1);
    c->wide >>= 1;
    c->left--;
    return true;
}

/* The atoms of a header; the first one has `cycles`. Returns those that have yet to be taken. */
static inline uint32_t chain_header(struct chain *c, struct code_calls *calls,
                                    const struct etmv3_header *h, uint64_t cycles)
{
    uint32_t e = h->passed, rest = h->n - e; /* 0, 1, or 2 when the first failed */
    uint64_t each = h->each;
    for (;;) {
        if (e) {
            e = chain_passed(c, calls, e, cycles, each);
            if (e || rest == 0)
                return e + rest;
            cycles = each;
        }
        if (c->pending || !chain_failed(c, cycles))
            return rest;
        if (--rest == 0)
            return 0;
        cycles = each;
        e = ~h->value & 1;
        rest -= e;
    }
}

/* A branch packet: where the indirect branch went, or what is known already. */
static inline bool chain_branch(struct etmv3_flow *f, struct chain *c, struct etmv3_bytes *in)
{
    struct etmv3_short k;
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if (!etmv3_short_branch(&form, in->at, in->end, &k))
        return false;
    if (c->pending) {
        struct code_run *next =
            code_went(f->core.code, f->core.view, c->run, k.address, isa, false);
        if (!next)
            return false;
        chain_enter(c, next);
        c->pending = false;
    } else if (c->first != k.address || code_run_isa(c->run) != isa) {
        return false;
    }
    etmv3_short_take(in, &k);
    return true;
}

/* An exception, or the exit from one. False: it is something else. */
static bool chain_interrupt(struct etmv3_flow *f, struct chain *c, struct etmv3_bytes *in,
                            struct flow_out *out)
{
    const struct etmv3_origin from = {
        .address = (uint32_t)c->first, .isa = code_run_isa(c->run), .known = !c->pending};
    if (in->at == in->end || in->left)
        return false;
    if (*in->at == ETMV3_EXC_EXIT)
        return etmv3_unsettled(in) && etmv3_follow_return(f, in, c->b - 1, out);
    struct code_run *run = etmv3_follow_exception(f, in, &from, out);
    if (!run)
        return false;
    c->pending = false;
    chain_enter(c, run);
    return true;
}

/* What was put out last. A branch that was taken counts while it is held, an instruction that
 * failed, or did not end its run, does not. */
static void chain_last(struct etmv3_flow *f, const struct chain *c, bool hold,
                       const struct bt_block *base)
{
    const struct bt_block *b = c->b;
    if (hold && f->branched != ETMV3_BRANCHED_DIRECT)
        b--;
    if (b > base)
        etmv3_set_last(f, b[-1].first, bt_block_isa(b - 1));
}

/* The latest instruction was a branch that was taken. */
static bool chain_taken(const struct chain *c)
{
    if (c->pending)
        return true;
    return chain_done(c) == 0 && c->before && bt_block_cond(c->b - 1) == BT_COND_PASS &&
           (c->before->end == CODE_END_DIRECT || c->before->end == CODE_END_INDIRECT);
}

static void chain_store(struct etmv3_flow *f, struct chain *c, struct etmv3_bytes *in,
                        uint64_t last, struct flow_out *out)
{
    bool hold = etmv3_unsettled(in);
    if (in->atoms)
        f->branched = hold && chain_taken(c) ? ETMV3_BRANCHED_DIRECT : ETMV3_BRANCHED_NOT;
    chain_last(f, c, hold, out->blocks + out->block_count);
    if (hold)
        etmv3_follow_hold(f, in, --c->b, last, out);
    if (in->branched == in->at)
        f->branched = ETMV3_BRANCHED_PACKET;
    f->core.run = c->run;
    f->core.cur.isa = code_run_isa(c->run);
    f->core.cur.known = !c->pending;
    f->core.cur.address = c->pending ? f->last : c->run->start;
    f->first = c->pending ? f->last : c->first;
    f->begin = f->done = c->pending ? 0 : chain_done(c);
    f->pending = c->pending;
    f->near_index = 0;
    f->waited = c->waited;
    f->since = in->atoms + f->since > 1 ? 2 : (uint8_t)(in->atoms + f->since);
    etmv3_emitted(f, out, c->b, (size_t)(c->b - (out->blocks + out->block_count)));
}

/* The latest instructions: those of a header but for the last `left`, and the cycles of the first
 * of them. */
struct latest {
    const struct etmv3_header *h; /* NULL: there were none */
    uint64_t cycles;
    uint32_t left;
};

/* Cycles of the last one of them. */
static uint64_t latest_cycles(const struct latest *l)
{
    return l->h && l->h->n - l->left > 1 ? l->h->each : l->cycles;
}

/* The last `left` atoms of a header have yet to be taken: the rest of it makes a packet. */
static void leave(struct chain *c, struct etmv3_bytes *in, struct latest *latest,
                  const struct etmv3_header *h, uint32_t left)
{
    uint32_t done = h->n - left;
    etmv3_leave(in, left, h);
    in->atoms += done;
    if (done)
        *latest = (struct latest){h, c->waited, left};
    c->waited = done ? 0 : c->waited - h->each; /* each atom brings its own */
}

/* Goes on until `bytes` or `out` ends, or something is not simple. On its own, and on copies: so
 * that compilers keep them in registers. */
static __attribute__((noinline)) void follow(struct etmv3_flow *f, struct chain *chain,
                                             struct etmv3_bytes *bytes, struct latest *latest,
                                             struct flow_out *out)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    uint8_t version = (uint8_t)(1u << f->config.version_minor);
    struct code_calls *calls = &f->core.code->calls;
    struct etmv3_bytes in = *bytes;
    struct chain c = *chain;
    uint64_t total = 0;
    while (in.at < in.end && c.b <= limit) {
        if (!etmv3_is_pheader(*in.at)) {
            if (!chain_branch(f, &c, &in))
                break;
            in.branched = in.at;
            continue;
        }
        const struct etmv3_header *h = &etmv3_cycle_headers[*in.at >> 1 & 63];
        if (!(h->versions & version) || (c.pending && h->n))
            break;
        total += h->cycles;
        c.waited += h->before;
        if (h->n == 0) {
            if (in.branched == in.at++) /* still the latest but for this */
                in.branched = in.at;
            continue;
        }
        if (in.holding) {
            etmv3_release(f, out);
            c.b = out->blocks + out->block_count;
            c.count = out->cycles ? out->cycles + out->block_count : c.count;
            in.holding = false;
        }
        in.at++;
        uint32_t left = chain_header(&c, calls, h, c.waited);
        if (left) {
            leave(&c, &in, latest, h, left);
            break;
        }
        in.atoms += h->n;
        latest->h = h;
        latest->cycles = c.waited;
        c.waited = 0;
    }
    f->core.cycles += total;
    *chain = c;
    *bytes = in;
}

void etmv3_follow_cycles(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    uint64_t unwanted[2 * ATOMS_MAX];
    struct latest latest = {0};
    struct chain c;
    if (!chain_load(f, out, &c))
        return;
    c.count = out->cycles ? out->cycles + out->block_count : unwanted;
    c.stride = out->cycles ? SIZE_MAX : 0;
    do
        follow(f, &c, in, &latest, out);
    while (chain_interrupt(f, &c, in, out));
    chain_store(f, &c, in, latest_cycles(&latest), out);
}
