/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycle-accurate streams: every instruction is a block. Headers are not followed one by one, since
 * nobody can predict which of them ends in which instruction range: the atoms of several are
 * gathered without any branch that depends on them, and followed together, one range at a time.
 * Blocks are stored HALF at a time, more than enough of them,
 * each worked out from the first one. */
#include "etmv3_fast_internal.h"

/* Interrupts, from within the loops. */

static uint64_t etmv3_cycles_offset_of(const struct etmv3_bytes *in)
{
    return in->p->scan.offset + (size_t)(in->at - in->start);
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
    struct etmv3_packet k = {.offset = etmv3_cycles_offset_of(in)};
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
    struct bt_event *e =
        flow_event(&f->core, out, BT_EVENT_EXCEPTION_RET, etmv3_cycles_offset_of(in));
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

#define ATOMS_MAX 8  /* of one P-header */
#define GATHERED  63 /* atoms that are gathered at most: 64 bits hold them and one more */
#define HALF      4

/* A block as a whole: its address, and the rest of it. */
typedef uint64_t block_bits __attribute__((vector_size(16)));

_Static_assert(sizeof(block_bits) == sizeof(struct bt_block), "one is stored as the other");

/* What follows `first`. */
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

/* Bytes of the instructions up to number i, where bit j of w tells that number j has four. */
#define STEP(w, i)                                                                                 \
    {                                                                                              \
        2 * ((i) + 1) + 2 * ((w)&1) + ((i) > 0 ? (w)&2 : 0) + ((i) > 1 ? (w) >> 1 & 2 : 0) +       \
            ((i) > 2 ? (w) >> 2 & 2 : 0),                                                          \
            0                                                                                      \
    }
#define STEPS(w)                                                                                   \
    {                                                                                              \
        STEP(w, 0), STEP(w, 1), STEP(w, 2), STEP(w, 3)                                             \
    }

/* What to add to the block of an instruction for those behind it, by their sizes. */
static const block_bits steps[1 << HALF][HALF] = {
    STEPS(0), STEPS(1), STEPS(2),  STEPS(3),  STEPS(4),  STEPS(5),  STEPS(6),  STEPS(7),
    STEPS(8), STEPS(9), STEPS(10), STEPS(11), STEPS(12), STEPS(13), STEPS(14), STEPS(15),
};

static inline void etmv3_cycles_store_block(struct bt_block *b, block_bits bits)
{
    memcpy(b, &bits, sizeof *b);
}

/* Where execution is, and what its blocks are made from. */
struct chain {
    block_bits here; /* the next instruction's block, if it passes */
    struct code_range *range;
    struct code_range *before; /* the range that was left last, in this call */
    struct bt_block *b;
    int64_t wide;    /* sizes of the next instruction and those behind it: bit set: four bytes */
    uint64_t waited; /* cycles since the last instruction */
    uint64_t latest; /* cycles of the latest instruction in this call */
    uint32_t left;   /* instructions of the range that were not executed yet */
    bool cut;        /* and more, whose sizes are not at hand: a long range of T32 */
    bool pending;    /* the range's indirect branch was executed: its branch packet must come */
};

static inline void chain_enter(struct chain *c, struct code_range *range)
{
    c->range = range;
    c->here = (block_bits){range->start, rest_of(code_range_isa(range), BT_COND_PASS)};
    c->wide = (int32_t)range->wide; /* of a long range of A32: ones without end */
    c->left = code_range_count(range);
    c->cut = false;
    if (c->left > CODE_WIDE_BITS && code_range_isa(range) != BT_ISA_A32) {
        c->cut = true;
        c->left = CODE_WIDE_BITS;
    }
}

/* Instructions of the range that were executed. */
static inline uint32_t chain_done(const struct chain *c)
{
    return (c->cut ? CODE_WIDE_BITS : code_range_count(c->range)) - c->left;
}

/* The next instruction's address. */
static inline uint64_t chain_first(const struct chain *c)
{
    return c->here[0];
}

/* False: nothing can be followed from there. */
static bool chain_load(const struct etmv3_flow *f, const struct flow_out *out, struct chain *c)
{
    chain_enter(c, f->core.range);
    if (f->done > c->left || etmv3_open(f))
        return false;
    c->before = NULL;
    c->b = out->blocks + out->block_count;
    c->here[0] = f->first;
    c->waited = f->waited;
    c->latest = 0;
    c->left -= f->done;
    c->wide >>= f->done < 63 ? f->done : 63;
    c->pending = f->pending;
    return true;
}

/* `n` instructions of the range, at least one, that passed. */
static inline void chain_blocks(struct chain *c, uint32_t n)
{
    const block_bits *step;
    for (;; n -= HALF) {
        step = steps[c->wide & ((1 << HALF) - 1)];
        etmv3_cycles_store_block(c->b, c->here);
        etmv3_cycles_store_block(c->b + 1, c->here + step[0]);
        etmv3_cycles_store_block(c->b + 2, c->here + step[1]);
        etmv3_cycles_store_block(c->b + 3, c->here + step[2]);
        if (n <= HALF)
            break;
        c->here += step[HALF - 1];
        c->wide >>= HALF;
        c->b += HALF;
    }
    c->here += step[n - 1];
    c->wide >>= n;
    c->b += n;
}

/* The way from the range's end, whose instruction passed. NULL: not along known links, or it is not
 * told yet: *pending. */
static inline struct code_range *chain_way(const struct chain *c, bool *pending)
{
    struct code_range *range = c->range;
    *pending = false;
    if (range->end == CODE_END_DIRECT && !c->cut)
        return range->next[CODE_TAKEN];
    if (c->cut || range->end == CODE_END_NO_CODE)
        return NULL;
    *pending = range->end == CODE_END_INDIRECT;
    return *pending ? NULL : range->next[CODE_ONWARD];
}

/* One instruction failed. False: it cannot be told what follows, and nothing was done. */
static inline bool chain_failed(struct chain *c)
{
    const block_bits failed = {0, rest_of(0, BT_COND_FAIL) - rest_of(0, BT_COND_PASS)};
    struct code_range *range = c->range, *next = range->next[CODE_ONWARD];
    if (c->left == 0 || (c->left == 1 && (c->cut || range->end == CODE_END_NO_CODE || !next)))
        return false;
    etmv3_cycles_store_block(c->b++, c->here + failed);
    if (c->left == 1) {
        c->before = range;
        chain_enter(c, next);
        return true;
    }
    c->here += steps[c->wide & 1][0];
    c->wide >>= 1;
    c->left--;
    return true;
}

/* What some headers in a row say. */
struct gathered {
    const uint8_t *at; /* behind them */
    uint64_t failed;   /* bit i: atom i is N, and one bit behind the last atom */
    uint64_t waited;   /* cycles behind the last atom */
    uint64_t cycles;   /* all of them */
    uint32_t n;        /* atoms */
};

/* Headers from in->at on, with `most` atoms or a few less, and a count for each atom. Where there
 * are more than two of them, a W stands before each. */
static inline struct gathered etmv3_cycles_gather(const struct etmv3_bytes *in, uint64_t waited,
                                                  uint8_t version, uint32_t most, uint64_t *counts)
{
    struct gathered g = {.at = in->at, .waited = waited};
    while (g.at < in->end && g.n + ATOMS_MAX <= most) {
        const struct etmv3_header *h = &etmv3_cycle_headers[*g.at >> 1 & 63];
        if (!etmv3_is_pheader(*g.at) || !(h->versions & version))
            break;
        uint64_t *count = counts + g.n;
        g.waited += h->before;
        count[0] = g.waited;
        count[1] = h->each;
        count[2] = count[3] = count[4] = count[5] = count[6] = count[7] = 1;
        g.failed |= (uint64_t)h->failed << g.n;
        g.waited = h->n ? 0 : g.waited;
        g.cycles += h->cycles;
        g.n += h->n;
        g.at++;
    }
    g.failed |= (uint64_t)1 << g.n;
    return g;
}

/* Takes `bits`, as in struct gathered, as far as known links go. Returns those left. */
static inline uint64_t chain_atoms(struct chain *c, struct code_calls *calls, uint64_t bits)
{
    while (bits != 1) {
        uint32_t e = (uint32_t)__builtin_ctzll(bits), left = c->left;
        if (e >= left) {
            struct code_range *range = c->range, *next;
            bool pending;
            next = chain_way(c, &pending);
            if (!next && !pending)
                break;
            chain_blocks(c, left);
            code_note_call(calls, range);
            c->before = range;
            bits >>= left;
            if (pending) {
                c->pending = true;
                break;
            }
            chain_enter(c, next);
            continue;
        }
        if (e) {
            chain_blocks(c, e);
            c->left -= e;
            bits >>= e;
            if (bits == 1)
                break;
        }
        if (!chain_failed(c))
            break;
        bits >>= 1;
    }
    return bits;
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
        struct code_range *next = code_went(f->core.code, f->core.view, c->range, k.address, isa);
        if (!next)
            return false;
        chain_enter(c, next);
        c->pending = false;
    } else if ((uint32_t)chain_first(c) != k.address || code_range_isa(c->range) != isa) {
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
        .address = (uint32_t)chain_first(c), .isa = code_range_isa(c->range), .known = !c->pending};
    if (in->at == in->end || in->left)
        return false;
    if (*in->at == ETMV3_EXC_EXIT)
        return etmv3_uncommitted(in) && etmv3_fast_return(f, in, c->b - 1, out);
    struct code_range *range = etmv3_fast_exception(f, in, &from, out);
    if (!range)
        return false;
    c->pending = false;
    chain_enter(c, range);
    return true;
}

/* What was put out last. A branch that was taken counts while it is pending, an instruction that
 * failed, or did not end its range, does not. */
static void chain_last(struct etmv3_flow *f, const struct chain *c, bool keep,
                       const struct bt_block *base)
{
    const struct bt_block *b = c->b;
    if (keep && f->branched != ETMV3_BRANCHED_DIRECT)
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
    bool keep = etmv3_uncommitted(in);
    if (in->atoms)
        f->branched = keep && chain_taken(c) ? ETMV3_BRANCHED_DIRECT : ETMV3_BRANCHED_NOT;
    chain_last(f, c, keep, out->blocks + out->block_count);
    if (keep)
        etmv3_fast_keep_pending(f, in, --c->b, last, out);
    if (in->branched == in->at)
        f->branched = ETMV3_BRANCHED_PACKET;
    f->core.range = c->range;
    f->core.cur.isa = code_range_isa(c->range);
    f->core.cur.known = !c->pending;
    f->core.cur.address = c->pending ? f->last : c->range->start;
    f->first = c->pending ? f->last : chain_first(c);
    f->begin = f->done = c->pending ? 0 : chain_done(c);
    f->pending = c->pending;
    f->near_index = 0;
    f->waited = c->waited;
    f->since = in->atoms + f->since > 1 ? 2 : (uint8_t)(in->atoms + f->since);
    uint64_t number = f->core.instructions;
    for (struct bt_block *b = out->blocks + out->block_count; out->times && b < c->b; b++) {
        number += bt_block_count(b);
        out->marks[out->mark_count++] = (struct flow_mark){b, number};
    }
    etmv3_emitted(f, out, c->b, (size_t)(c->b - (out->blocks + out->block_count)));
}

/* Of what was gathered from in->at on, only `n` atoms could be taken: reads up to there. The rest
 * of a header of which some were makes a packet. Returns the cycles of the headers
 * that were read. */
static uint64_t go_back(struct chain *c, struct etmv3_bytes *in, uint32_t n)
{
    uint64_t cycles = 0;
    while (n) {
        const struct etmv3_header *h = &etmv3_cycle_headers[*in->at++ >> 1 & 63];
        cycles += h->cycles;
        if (h->n)
            c->waited = 0;
        if (n < h->n) {
            etmv3_leave(in, h->n - n, h);
            break;
        }
        n -= h->n;
    }
    return cycles;
}

/* A header when atoms must not come, or something is pending until one does. False: it cannot be
 * taken so. */
static bool fast_alone(struct etmv3_flow *f, struct chain *c, struct etmv3_bytes *in,
                       struct flow_out *out)
{
    const struct etmv3_header *h = &etmv3_cycle_headers[*in->at >> 1 & 63];
    if (!(h->versions & 1u << f->config.version_minor) || (c->pending && h->n))
        return false;
    if (h->n) {
        etmv3_release(f, out);
        c->b = out->blocks + out->block_count;
        in->has_pending = false;
        return true;
    }
    f->core.cycles += h->cycles;
    c->waited += h->before;
    if (in->branched == in->at++) /* still the latest but for this */
        in->branched = in->at;
    return true;
}

/* As many headers as can be gathered. False: not all of that could be taken. */
static inline bool fast_headers(struct etmv3_flow *f, struct chain *c, struct etmv3_bytes *in,
                                const struct flow_out *out)
{
    uint64_t unwanted[GATHERED];
    uint8_t version = (uint8_t)(1u << f->config.version_minor);
    size_t at = (size_t)(c->b - out->blocks), room = out->block_max - at - HALF;
    uint64_t *counts = out->cycles ? out->cycles + at : unwanted;
    struct gathered g = etmv3_cycles_gather(in, c->waited, version,
                                            room < GATHERED ? (uint32_t)room : GATHERED, counts);
    uint64_t rest = chain_atoms(c, &f->core.code->calls, g.failed);
    uint32_t n = g.n - (63u - (uint32_t)__builtin_clzll(rest));
    in->atoms += n;
    if (n)
        c->latest = counts[n - 1];
    if (rest != 1) {
        f->core.cycles += go_back(c, in, n);
        return c->pending && !in->left;
    }
    if (n == 0 && in->branched == in->at)
        in->branched = g.at;
    f->core.cycles += g.cycles;
    c->waited = g.waited;
    if (in->at == g.at)
        return false;
    in->at = g.at;
    return true;
}

/* Goes on until `bytes` or `out` ends, or something is not simple. On its own, and on copies: so
 * that compilers keep them in registers. */
static __attribute__((noinline)) void fast_loop(struct etmv3_flow *f, struct chain *chain,
                                                struct etmv3_bytes *bytes, struct flow_out *out)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct etmv3_bytes in = *bytes;
    struct chain c = *chain;
    while (in.at < in.end && c.b <= limit) {
        bool go_on;
        if (!etmv3_is_pheader(*in.at)) {
            go_on = chain_branch(f, &c, &in);
            if (go_on)
                in.branched = in.at;
        } else if (c.pending || in.has_pending) {
            go_on = fast_alone(f, &c, &in, out);
        } else {
            go_on = fast_headers(f, &c, &in, out);
        }
        if (!go_on)
            break;
    }
    *chain = c;
    *bytes = in;
}

void etmv3_fast_cycles(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    struct chain c;
    if (!chain_load(f, out, &c))
        return;
    do
        fast_loop(f, &c, in, out);
    while (chain_interrupt(f, &c, in, out));
    chain_store(f, &c, in, c.latest, out);
}
