/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path of ETMv3 streams without cycle counts: P-headers and branch packets along runs of
 * code that are linked already. What it does is what etmv3_flow.c and etmv3_flow_atoms.c do.
 */
#include "decoder/etmv3_flow_parts.h"

#define JOINED_MAX (1u << 20) /* instructions of one block: longer ones are for the slow path */
#define WIDE_BITS  64u        /* instructions that code_run.wide tells the size of */

/* Written back when the chain of packets ends or meets something else. */
struct path {
    struct code_run *run;
    uint64_t first; /* where the open block begins, or will begin */
    uint64_t last;  /* address of the last instruction put out, or joined */
    uint32_t last_isa;
    uint32_t begin, done, joined;
    uint8_t branched;
    bool pending; /* the run's indirect branch was executed: its branch packet must come */
};

static void path_load(const struct etmv3_flow *f, struct path *p)
{
    *p = (struct path){.run = f->core.run,
                       .first = f->first,
                       .last = f->last,
                       .last_isa = f->last_isa,
                       .begin = f->begin,
                       .done = f->done,
                       .joined = f->joined,
                       .branched = f->branched};
}

static void path_store(struct etmv3_flow *f, const struct path *p)
{
    f->core.run = p->run;
    f->core.cur.address = p->pending ? p->last : p->run->start;
    f->core.cur.isa = p->run->isa;
    f->core.cur.known = !p->pending;
    f->pending = p->pending;
    f->first = p->first;
    etmv3_set_last(f, p->last, p->last_isa);
    f->begin = p->begin;
    f->done = p->done;
    f->joined = p->joined;
    f->branched = p->branched;
    f->near_index = 0;
}

static inline void path_go(struct path *p, struct code_run *next)
{
    p->run = next;
    p->begin = p->done = 0;
}

static inline void path_block(struct etmv3_flow *f, struct path *p, uint64_t last, uint32_t count,
                              enum bt_cond cond, struct flow_out *out)
{
    flow_block(&f->core, out, p->first, (uint32_t)(last - p->first),
               bt_block_info(p->joined + count - p->begin, (enum bt_isa)p->run->isa, cond),
               FLOW_NO_CYCLES);
    p->last = last;
    p->last_isa = p->run->isa;
    p->joined = 0;
}

/* All instructions left in the run passed. False: not along links that are there. */
static inline bool run_out(struct etmv3_flow *f, struct path *p, bool more, struct flow_out *out)
{
    struct code_run *run = p->run, *next;
    uint32_t count = code_run_count(run);
    uint64_t last = run->start + run->extent;
    if (run->end == CODE_END_INDIRECT) {
        if (more)
            return false;
        path_block(f, p, last, count, BT_COND_PASS, out);
        p->begin = p->done = 0;
        p->pending = true;
        p->branched = ETMV3_BRANCHED_DIRECT;
        return true;
    }
    bool leaves = run->end == CODE_END_DIRECT;
    next = run->next[leaves ? CODE_TAKEN : CODE_ONWARD];
    if (!next || run->end == CODE_END_NO_CODE || p->joined + count > JOINED_MAX)
        return false;
    if (!leaves) { /* the open block goes on in the next run */
        p->last = last;
        p->last_isa = run->isa;
        p->joined += count - p->begin;
        path_go(p, next);
        return true;
    }
    path_block(f, p, last, count, BT_COND_PASS, out);
    p->branched = ETMV3_BRANCHED_DIRECT;
    path_go(p, next);
    p->first = next->start;
    return true;
}

/* `e` instructions that passed; returns how many are left. */
static inline unsigned passed(struct etmv3_flow *f, struct path *p, unsigned e, bool more,
                              struct flow_out *out)
{
    while (e && !p->pending) {
        uint32_t left = code_run_count(p->run) - p->done;
        p->branched = ETMV3_BRANCHED_NOT;
        if (e < left) {
            p->done += e;
            return 0;
        }
        if (left == 0 || !run_out(f, p, more || e > left, out))
            return e;
        e -= left;
    }
    return e;
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
static inline bool failed(struct etmv3_flow *f, struct path *p, struct flow_out *out)
{
    struct code_run *run = p->run, *next = run->next[CODE_ONWARD];
    uint32_t count = code_run_count(run);
    bool end = p->done + 1 == count;
    if (p->done >= count || p->done >= WIDE_BITS)
        return false;
    if (end && (!next || run->end == CODE_END_NO_CODE))
        return false;
    uint64_t last = run->start + offset_of(run, p->done);
    path_block(f, p, last, p->done + 1, BT_COND_FAIL, out);
    p->branched = ETMV3_BRANCHED_NOT;
    if (end) {
        path_go(p, next);
        p->first = next->start;
    } else {
        p->first = last + (run->isa == BT_ISA_A32 ? 4 : 2 + 2 * (run->wide >> p->done & 1));
        p->begin = ++p->done;
    }
    return true;
}

/* Atoms of one P-header; returns how many are left when one is not simple. */
static inline unsigned path_atoms(struct etmv3_flow *f, struct path *p,
                                  const struct etmv3_packet *k, struct flow_out *out)
{
    unsigned left = k->n;
    while (left && !p->pending) {
        uint32_t rest = (uint32_t)k->value & ((1u << left) - 1);
        unsigned n = rest ? 32u - (unsigned)__builtin_clz(rest) : 0; /* place of the first N */
        unsigned stuck = passed(f, p, left - n, n != 0, out);
        if (stuck)
            return stuck + n;
        left = n;
        if (left && !failed(f, p, out))
            return left;
        left -= left != 0;
    }
    return left;
}

static inline bool plain_branch(const struct etmv3_flow *f, const struct etmv3_packet *k)
{
    return k->kind == ETMV3_BRANCH && k->number == 0 && k->flags == 0 &&
           etmv3_packet_security(k) == (enum bt_security)f->core.cur.security;
}

/* A branch packet: where the indirect branch went last time, or what is known already. */
static inline bool path_branch(struct path *p, const struct etmv3_packet *k)
{
    struct code_run *next = p->pending ? p->run->next[CODE_TAKEN] : p->run;
    bool open = p->joined + p->done - p->begin != 0;
    uint64_t here = p->pending && next ? next->start : p->first;
    if (!next || (!p->pending && open) || here != k->value || next->isa != etmv3_packet_isa(k))
        return false;
    if (p->pending) {
        path_go(p, next);
        p->first = next->start;
        p->pending = false;
    }
    p->branched = ETMV3_BRANCHED_PACKET;
    return true;
}

/* Another executed instruction follows for sure: what packet 0 did can be cancelled no more. */
static inline bool settled(const struct etmv3_flow *f, const struct etmv3_packet *packets,
                           size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (packets[i].kind == ETMV3_ATOM && packets[i].n)
            return true;
        if (packets[i].kind != ETMV3_ATOM && !plain_branch(f, &packets[i]))
            return false;
    }
    return false;
}

size_t etmv3_follow_plain(struct etmv3_flow *f, const struct etmv3_packet *packets, size_t count,
                          struct flow_out *out)
{
    struct path p;
    size_t i = 0;
    path_load(f, &p);
    for (; i < count && flow_room(out); i++) {
        const struct etmv3_packet *k = &packets[i];
        if (k->kind == ETMV3_ATOM ? p.pending && k->n : !plain_branch(f, k))
            break;
        if (!settled(f, k, count - i))
            break;
        if (k->kind != ETMV3_ATOM) {
            if (etmv3_holding(f) || !path_branch(&p, k))
                break;
            continue;
        }
        if (k->n == 0)
            continue;
        if (etmv3_holding(f))
            etmv3_release(f, out);
        f->since = k->n > 1 || f->since ? 2 : 1;
        unsigned left = path_atoms(f, &p, k, out);
        if (left == 0)
            continue;
        path_store(f, &p);
        etmv3_plain_atoms(f, k, left, out);
        if (etmv3_holding(f))
            etmv3_release(f, out);
        if (!f->core.run || !f->core.cur.known)
            return i + 1;
        path_load(f, &p);
    }
    path_store(f, &p);
    return i;
}
