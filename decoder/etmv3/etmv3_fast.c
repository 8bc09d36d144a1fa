/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams without cycle counts: a block ends with a taken branch, or with an instruction that
 * failed its condition. What can be told at the end is not kept on the way.
 */
#include "etmv3_steps.h"

static void etmv3_position_load(const struct etmv3_flow *f, const struct flow_out *out,
                                struct etmv3_position *s)
{
    *s = (struct etmv3_position){.range = f->core.range,
                                 .b = out->blocks + out->block_count,
                                 .marks = out->times ? out->marks + out->mark_count : NULL,
                                 .number = f->core.instructions,
                                 .first = f->first,
                                 .left = code_range_count(f->core.range) - f->done,
                                 .joined = (int32_t)f->joined - (int32_t)f->begin,
                                 .pending = f->pending};
}

/* A branch packet: where the indirect branch went, or what is known already. */
static ALWAYS_INLINE bool etmv3_position_branch(struct etmv3_flow *f, struct etmv3_position *s,
                                                struct etmv3_bytes *in)
{
    struct etmv3_short k;
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if (!etmv3_short_branch(&form, in->at, in->end, &k))
        return false;
    if (s->pending) {
        struct code_range *next = code_went(f->core.code, f->core.view, s->range, k.address, isa);
        if (!next)
            return false;
        etmv3_position_enter(s, next);
        s->pending = false;
    } else if (!etmv3_position_ended(s) || etmv3_position_first(s) != k.address ||
               code_range_isa(s->range) != isa) {
        return false;
    }
    etmv3_short_take(in, &k);
    return true;
}

/* Code seen for the first time. */

/* The range where the branch packet leads that comes next. */
static bool etmv3_position_link_branch(struct etmv3_flow *f, const struct etmv3_bytes *in)
{
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    struct etmv3_short k;
    return !in->has_pending && etmv3_short_branch(&form, in->at, in->end, &k) &&
           !code_find(f->core.code, f->core.view, k.address, isa) &&
           code_lookup(f->core.code, f->core.view, k.address, isa);
}

/* The successor that the next of the atoms wants that are left. */
static bool etmv3_position_link_next(struct etmv3_flow *f, struct etmv3_position *s,
                                     const struct etmv3_header *left)
{
    struct code_range *range = s->range;
    bool taken = left->passed > 0 && range->end == CODE_END_DIRECT;
    if (left->passed ? left->passed < s->left : s->left != 1)
        return false;
    if (range->end == CODE_END_NO_CODE || (left->passed && range->end == CODE_END_INDIRECT) ||
        range->next[taken ? CODE_TAKEN : CODE_ONWARD])
        return false;
    return taken ? code_taken(f->core.code, f->core.view, range)
                 : code_onward(f->core.code, f->core.view, range);
}

/* The loop has stopped for want of a range, or of a link to it: that is made, and the rest of the
 * header taken. False: it was something else. */
static __attribute__((noinline)) bool etmv3_position_link(struct etmv3_flow *f,
                                                          struct etmv3_position *s,
                                                          struct etmv3_bytes *in,
                                                          const struct flow_out *out)
{
    if (!in->left)
        return s->pending && code_has_room(f->core.code) && etmv3_position_link_branch(f, in);
    while (in->left) {
        struct etmv3_header h = {.n = (uint8_t)in->left, .value = (uint8_t)in->value};
        h.passed = (uint8_t)(h.n - (h.value ? 32 - __builtin_clz(h.value) : 0));
        if (s->pending || s->b > out->blocks + (out->block_max - FLOW_SLACK) ||
            !code_has_room(f->core.code) || !etmv3_position_link_next(f, s, &h))
            return false;
        const struct kind kind = {.times = out->times, .leaves = out->leaves};
        uint32_t left = etmv3_position_header(s, &f->core.code->calls, &h, kind);
        in->atoms += h.n - left;
        in->value &= (1u << left) - 1;
        in->left = left;
    }
    return true;
}

/* Where the next instruction is, and the block that ends before it, if one is open: 1 or 0 blocks
 * at s->b, -1 where it takes longer to tell. */
static int etmv3_position_close(const struct etmv3_position *s, uint64_t *here)
{
    const struct code_range *range = s->range;
    uint32_t done = etmv3_position_done(s), offset, size = 4;
    *here = etmv3_position_first(s);
    if (etmv3_position_ended(s))
        return 0;
    if (done == 0 || (code_range_isa(range) != BT_ISA_A32 && done > CODE_WIDE_BITS))
        return -1;
    offset =
        code_range_isa(range) == BT_ISA_A32 ? 4 * (done - 1) : etmv3_wide_offset(range, done - 1);
    if (code_range_isa(range) != BT_ISA_A32)
        size = 2 + 2 * (range->wide >> (done - 1) & 1);
    uint64_t last = range->start + offset;
    s->b->first = etmv3_position_first(s);
    s->b->extent = (uint32_t)(last - s->b->first);
    s->b->info = bt_block_info((uint32_t)s->joined + done, code_range_isa(range), BT_COND_PASS);
    *here = (uint32_t)(last + size);
    return 1;
}

/* An exception, or the exit from one. False: it is something else. */
static bool etmv3_position_interrupt(struct etmv3_flow *f, struct etmv3_position *s,
                                     struct etmv3_bytes *in, struct flow_out *out)
{
    struct etmv3_origin from = {.isa = code_range_isa(s->range), .known = !s->pending};
    if (in->at == in->end || in->left)
        return false;
    if (*in->at == ETMV3_EXC_EXIT)
        return etmv3_position_ended(s) && etmv3_uncommitted(in) &&
               etmv3_fast_return(f, in, s->b - 1, out);
    int blocks = etmv3_position_close(s, &from.address);
    struct code_range *range = blocks < 0 ? NULL : etmv3_fast_exception(f, in, &from, out);
    if (!range)
        return false;
    if (blocks)
        etmv3_position_put(s, (struct kind){.times = out->times, .leaves = out->leaves}, true);
    s->pending = false;
    etmv3_position_enter(s, range);
    return true;
}

/* Back to the flow's state. */

/* What was put out last, or joined. A branch that was taken counts while it is pending, an
 * instruction that failed does not. */
static void etmv3_position_last(struct etmv3_flow *f, const struct etmv3_position *s, bool keep,
                                const struct bt_block *base)
{
    const struct bt_block *b = s->b;
    if (s->joined > 0 && !s->pending) {
        if (s->before)
            etmv3_set_last(f, code_range_last(s->before), code_range_isa(s->before));
        return;
    }
    if (keep && bt_block_cond(b - 1) != BT_COND_PASS)
        b--;
    if (b > base)
        etmv3_set_last(f, bt_block_last(b - 1), bt_block_isa(b - 1));
}

/* It is not put out yet, and not of a range when it is. */
static void etmv3_position_uncount(const struct etmv3_flow *f, const struct bt_block *b)
{
    const struct flow_core *core = &f->core;
    struct code_range *range = b->info & FLOW_COUNTED
                                   ? code_find(core->code, core->view, b->first, bt_block_isa(b))
                                   : NULL;
    if (range)
        code_range_times(range)[bt_block_cond(b) - BT_COND_PASS]--;
}

static void etmv3_position_store(struct etmv3_flow *f, struct etmv3_position *s,
                                 struct etmv3_bytes *in, struct flow_out *out)
{
    uint64_t instructions = in->atoms + etmv3_open(f);
    bool keep = etmv3_uncommitted(in) && etmv3_position_ended(s);
    etmv3_position_last(f, s, keep, out->blocks + out->block_count);
    if (in->atoms)
        f->branched = ETMV3_BRANCHED_NOT;
    if (keep) {
        etmv3_position_uncount(f, --s->b);
        if (out->times && s->marks > out->marks && s->marks[-1].block == s->b)
            s->marks--;
        etmv3_fast_keep_pending(f, in, s->b, FLOW_NO_CYCLES, out);
        instructions -= f->pending_block.count;
        if (f->pending_block.cond == BT_COND_PASS)
            f->branched = ETMV3_BRANCHED_DIRECT;
    }
    if (in->branched == in->at)
        f->branched = ETMV3_BRANCHED_PACKET;
    f->core.range = s->range;
    f->core.cur.isa = code_range_isa(s->range);
    f->core.cur.known = !s->pending;
    f->core.cur.address = s->pending ? f->last : s->range->start;
    f->first = s->pending ? f->last : etmv3_position_first(s);
    f->since = in->atoms + f->since > 1 ? 2 : (uint8_t)(in->atoms + f->since);
    f->near_index = 0;
    f->done = s->pending ? 0 : etmv3_position_done(s);
    f->joined = s->pending || s->joined < 0 ? 0 : (uint32_t)s->joined;
    f->begin = s->pending || s->joined > 0 ? 0 : (uint32_t)-s->joined;
    f->pending = s->pending;
    size_t count = (size_t)(s->b - (out->blocks + out->block_count));
    if (out->times)
        out->mark_count = (size_t)(s->marks - out->marks);
    if (out->cycles)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    etmv3_emitted(f, out, s->b, instructions - etmv3_open(f));
    f->core.blocks += s->more;
}

/* Goes on until `bytes` or `out` ends, or something is not simple. On its own, and on copies: so
 * that compilers keep them in registers. */
static ALWAYS_INLINE void etmv3_position_run(struct etmv3_flow *f, struct etmv3_position *position,
                                             struct etmv3_bytes *bytes, struct flow_out *out,
                                             struct kind kind)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct code_calls *calls = &f->core.code->calls;
    struct etmv3_bytes in = *bytes;
    struct etmv3_position s = *position;
    while (in.at < in.end && s.b <= limit) {
        if (kind.times && etmv3_position_steps(f, &s, &in, limit, kind.leaves))
            continue;
        uint8_t header = *in.at;
        if (s.pending || !etmv3_is_pheader(header)) {
            if (!etmv3_position_branch(f, &s, &in))
                break;
            in.branched = in.at;
            continue;
        }
        const struct etmv3_header *h = &etmv3_plain_headers[header >> 1 & 63];
        if (h->n == 0)
            break;
        if (in.has_pending) {
            etmv3_release(f, out);
            s.b = out->blocks + out->block_count;
            if (kind.times)
                s.marks = out->marks + out->mark_count;
            s.number = f->core.instructions;
            in.has_pending = false;
        }
        in.at++;
        uint32_t left = etmv3_position_header(&s, calls, h, kind);
        in.atoms += h->n - left;
        if (left) {
            etmv3_leave(&in, left, h);
            break;
        }
    }
    *position = s;
    *bytes = in;
}

#define FAST_LOOP(name, attributes, ...)                                                           \
    static __attribute__((attributes)) void name(struct etmv3_flow *f, struct etmv3_position *s,   \
                                                 struct etmv3_bytes *in, struct flow_out *out)     \
    {                                                                                              \
        etmv3_position_run(f, s, in, out, (struct kind){__VA_ARGS__});                             \
    }
FAST_LOOP(fast_loop, noinline, false, false, false)
FAST_LOOP(fast_loop_times, noinline, false, true, false)
FAST_LOOP(fast_loop_leaves, noinline, false, true, true)

/* Each N inside a range counts the wide instructions before it: a tenth of the loop's time on
 * processors that are only known to be x86-64. */
#ifdef __x86_64__
#define POPCNT     noinline, target("popcnt")
#define HAS_POPCNT (__builtin_cpu_supports("popcnt") != 0)
FAST_LOOP(fast_loop_popcnt, POPCNT, true, false, false)
FAST_LOOP(fast_loop_times_popcnt, POPCNT, true, true, false)
FAST_LOOP(fast_loop_leaves_popcnt, POPCNT, true, true, true)
#else
#define fast_loop_popcnt        fast_loop
#define fast_loop_times_popcnt  fast_loop_times
#define fast_loop_leaves_popcnt fast_loop_leaves
#define HAS_POPCNT              false
#endif

/* By bits that are counted, times and leaves. */
static void (*const fast_loops[2][3])(struct etmv3_flow *f, struct etmv3_position *s,
                                      struct etmv3_bytes *in, struct flow_out *out) = {
    {fast_loop, fast_loop_times, fast_loop_leaves},
    {fast_loop_popcnt, fast_loop_times_popcnt, fast_loop_leaves_popcnt}};

static __attribute__((noinline)) void etmv3_fast_plain(struct etmv3_flow *f, struct etmv3_bytes *in,
                                                       struct flow_out *out)
{
    struct etmv3_position s;
    etmv3_position_load(f, out, &s);
    do {
        fast_loops[HAS_POPCNT][out->times + out->leaves](f, &s, in, out);
        if (out->times)
            etmv3_position_unfold(&s, out->blocks + out->block_count, f->core.code->steps,
                                  out->leaves);
    } while (etmv3_position_interrupt(f, &s, in, out) || etmv3_position_link(f, &s, in, out));
    etmv3_position_store(f, &s, in, out);
}

/* Short branches leave it as it is. */
static bool same_security(const struct etmv3 *p, const struct etmv3_flow *f)
{
    return etmv3_state(p, &p->base) >> 4 == f->core.cur.security;
}

/* The range at the position, as the next atom would look for it. */
static void find_range(struct flow_core *c)
{
    struct code_view *view = flow_view(c);
    if (view && !c->range && c->cur.known)
        c->range = code_lookup(c->code, view, c->cur.address, (enum bt_isa)c->cur.isa);
}

static bool etmv3_fast_fast_path_may_begin(const struct etmv3 *p, const struct etmv3_flow *f)
{
    if (!p->scan.synced || p->scan.in_zeros || p->scan.carry_len || !p->base.known ||
        p->config.data_only)
        return false;
    if (p->base.isa > BT_ISA_T32 || p->base.alt_isa || !same_security(p, f))
        return false;
    if (!f->synced || f->has_deferred || f->blind || etmv3_has_data(f))
        return false;
    return f->core.cur.known || f->pending;
}

/* What the two loops can take at in->at, out of them: false, and nothing is taken. */
static bool etmv3_fast_fast_path(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    if (!etmv3_fast_fast_path_may_begin(in->p, f))
        return false;
    if (f->done == 0)
        find_range(&f->core);
    if (!f->core.range || f->core.view_stale || !flow_room(out))
        return false;
    code_calls_of(f->core.code, f->core.view);
    in->start = in->at;
    in->branched = NULL;
    in->atoms = in->committed = 0;
    in->returned = UINT64_MAX;
    in->has_pending = etmv3_has_pending(f);
    if (in->p->config.cycle_accurate)
        etmv3_fast_cycles(f, in, out);
    else
        etmv3_fast_plain(f, in, out);
    in->p->scan.offset += (size_t)(in->at - in->start);
    return true;
}

/* What the loop left of a P-header. */
static bool take_left(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    if (in->left == 0)
        return false;
    const struct etmv3_packet k = {.offset = in->p->scan.offset - 1,
                                   .value = in->value,
                                   .size = 1,
                                   .flags = in->flags,
                                   .kind = ETMV3_ATOM,
                                   .n = (uint8_t)in->left};
    in->left = 0;
    etmv3_atoms(f, &k, out);
    return true;
}

/* One packet that the loops cannot take: the slow path, but at once. */
static bool etmv3_fast_slow_packet(struct etmv3_flow *f, struct etmv3_bytes *in,
                                   struct flow_out *out)
{
    struct etmv3_packet k[3]; /* what one step of the parser may need */
    struct etmv3 *p = in->p;
    size_t count = 0;
    bool room = out->block_max - out->block_count >= 3 * FLOW_SLACK &&
                out->event_max - out->event_count >= 3 * FLOW_SLACK;
    if (in->at == in->end || !room || !p->scan.synced || p->scan.in_zeros || p->scan.carry_len)
        return false;
    size_t size = etmv3_parse(p, in->at, (size_t)(in->end - in->at), k, 3, &count);
    etmv3_flow_run(f, k, count, out);
    in->at += size;
    in->inner += size - count;
    return true;
}

size_t etmv3_fast(struct etmv3 *p, struct etmv3_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets)
{
    struct etmv3_bytes in = {.p = p, .at = data, .end = data + len};
    while (etmv3_fast_fast_path(f, &in, out) &&
           (take_left(f, &in, out) || etmv3_fast_slow_packet(f, &in, out)))
        ;
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
