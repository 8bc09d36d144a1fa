/* SPDX-License-Identifier: BSD-3-Clause */
#include "ptm_flow_internal.h"
#include "ptm_internal.h"

/* The loop is one function: its state stays in registers. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Bytes on the fast path. */
struct bytes {
    struct ptm *p;
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *start; /* of the bytes at hand: at the parser's offset */
    uint64_t inner;       /* bytes of packets behind their first ones */
    unsigned left; /* atoms of the header before `at` that have yet to be taken, by the slow path */
};

/* What the packets of one call work on; written back when it ends. */
struct ptm_fast_cursor {
    struct ptm_flow *f;
    struct code_calls *calls;
    struct code_range *range;
    struct bt_block *b;
    struct flow_mark *marks;     /* the next one */
    struct code_steps *steps;    /* NULL: none */
    uint64_t more;               /* blocks, where one of `b` stands for several */
    const struct bt_block *base; /* no block before it ends with a waypoint not yet noted */
    uint64_t *counts;            /* of the next block; NULL: not wanted, or there are none */
    uint64_t cycles;
    uint64_t instructions; /* number of the next one */
    enum bt_isa isa;       /* of addresses */
};

/* What of a stream never changes: known where the loop is compiled, once for each. */
struct kind {
    bool counted;
    bool stack;
    bool times; /* of ranges are counted */
    bool leaves;
};

static ALWAYS_INLINE void ptm_fast_cursor_block(struct ptm_fast_cursor *t, struct code_range *range,
                                                unsigned fail, struct kind kind, uint32_t cycles)
{
    uint32_t info = range->info, extent = range->extent;
    t->b->first = range->start;
    t->b->extent = extent;
    t->b->info = info + ((BT_COND_PASS + fail) << 4) + (kind.times ? FLOW_COUNTED : 0);
    t->instructions += info >> 8;
    if (kind.times)
        code_range_times(range)[fail]++;
    if (kind.leaves) {
        *t->marks = (struct flow_mark){t->b, t->instructions};
        t->marks += info / CODE_LEAVES % 2;
    }
    t->b++;
    if (kind.counted && t->counts)
        *t->counts++ = cycles;
}

/* The branch that ends `range` was taken, unless it failed. Nobody could predict that: so it is no
 * branch of ours, or one that mostly depends on the range. */
static ALWAYS_INLINE void ptm_fast_cursor_push(struct ptm_fast_cursor *t, struct code_range *range,
                                               unsigned fail, struct kind kind)
{
    if (!kind.stack)
        code_note_call_if(t->calls, range, fail ^ 1);
    else if (range->last & INSN_LINK & (fail ^ 1))
        ptm_flow_push(t->f, code_range_behind(range), code_range_isa(range),
                      t->f->core.cur.security, range);
}

/* Return by an E atom: where the call on top of the return stack goes on, if that is at hand. */
static inline struct code_range *ptm_fast_cursor_pop(struct ptm_fast_cursor *t)
{
    struct ptm_flow *f = t->f;
    unsigned top = (f->rs_top + PTM_RETURN_STACK - 1u) % PTM_RETURN_STACK;
    if (f->rs_count == 0 || !flow_ranges_valid(&f->core) || !f->rs_from[top] ||
        f->rs[top].security != f->core.cur.security)
        return NULL;
    struct code_range *next = f->rs_from[top]->next[CODE_ONWARD];
    if (!next)
        return NULL;
    f->rs_count--;
    f->rs_top = (uint8_t)top;
    return next;
}

/* Atoms along cached ranges, oldest in bit n - 1: returns how many are left. */
static ALWAYS_INLINE unsigned ptm_fast_cursor_atoms(struct ptm_fast_cursor *t, unsigned value,
                                                    unsigned n, struct kind kind, uint32_t cycles)
{
    while (n > 0) {
        struct code_range *range = t->range, *next = NULL;
        unsigned fail = value >> (n - 1) & 1;
        if (range->end + !fail <= CODE_END_INDIRECT)
            next = range->next[fail];
        else if (kind.stack && range->end == CODE_END_INDIRECT)
            next = ptm_fast_cursor_pop(t);
        if (!next)
            break;
        ptm_fast_cursor_block(t, range, fail, kind, cycles);
        ptm_fast_cursor_push(t, range, fail, kind);
        t->range = next;
        n--;
    }
    return n;
}

/* The step that atoms begin with, up to a return by the return stack, seen for the first time.
 * NULL: there is no room, or a range is not linked yet. */
static __attribute__((noinline)) struct code_step *
ptm_fast_cursor_learn(const struct ptm_fast_cursor *t, unsigned value, unsigned n)
{
    unsigned atoms = 1u << n | value;
    struct code_step *known = code_step_find(t->steps, t->range, atoms);
    struct code_step_way way;
    if (known || !code_step_has_room(t->steps, t->range, atoms))
        return known;
    code_step_way_init(&way, t->range);
    while (n-- > 0) {
        struct code_range *range = way.to;
        unsigned fail = value >> n & 1;
        if (range->end + !fail > CODE_END_INDIRECT || !code_step_way_add(&way, range, fail))
            break;
        way.to = range->next[fail];
        if (!way.to)
            return NULL;
    }
    return code_step_add(t->steps, t->range, atoms, &way);
}

/* As ptm_fast_cursor_atoms(), in steps. */
static ALWAYS_INLINE unsigned ptm_fast_cursor_steps(struct ptm_fast_cursor *t, unsigned value,
                                                    unsigned n, struct kind kind)
{
    for (;;) {
        value &= (1u << n) - 1;
        struct code_step *step = code_step_at_range(t->steps, t->range, 1u << n | value);
        if (!step)
            step = ptm_fast_cursor_learn(t, value, n);
        if (!step)
            return ptm_fast_cursor_atoms(t, value, n, kind, 0);
        if (step->blocks) {
            step->times++;
            *t->b = flow_step_block(step);
            t->instructions += step->insns;
            if (kind.leaves) {
                *t->marks = (struct flow_mark){t->b, t->instructions};
                t->marks += step->leaves;
            }
            t->b++;
            t->more += step->blocks - 1u;
            if (step->calls)
                ptm_fast_cursor_push(t, code_step_call(t->steps, step), 0, kind);
            t->range = step->to;
            n -= step->blocks;
            if (n == 0)
                return 0;
        }
        if (ptm_fast_cursor_atoms(t, value >> (n - 1) & 1, 1, kind, 0))
            return n;
        if (--n == 0)
            return 0;
    }
}

/* An atom header. False: it is another one, not all there, or not all along cached ranges. */
static ALWAYS_INLINE bool ptm_fast_cursor_header(struct ptm_fast_cursor *t, struct bytes *in,
                                                 struct kind kind)
{
    uint8_t header = *in->at;
    if (kind.counted) { /* IHI 0035B 4.5.3 */
        uint32_t cycles = header >> 2 & 0xf;
        unsigned n = 1;
        if (header < 0x80 ||
            !ptm_more_count(in->at, (size_t)(in->end - in->at), &n, header & 0x40, &cycles) ||
            ptm_fast_cursor_atoms(t, header >> 1 & 1, 1, kind, cycles))
            return false;
        t->cycles += cycles;
        in->at += n;
        in->inner += n - 1;
        return true;
    }
    if (header < 0x84)
        return false;
    const struct ptm_atom_header *h = &ptm_atom_headers[header >> 1 & 63];
    in->left = kind.times ? ptm_fast_cursor_steps(t, h->value, h->n, kind)
                          : ptm_fast_cursor_atoms(t, h->value, h->n, kind, 0);
    in->at++;
    return in->left == 0;
}

/* A branch packet that only says where an indirect branch went. */
static ALWAYS_INLINE bool ptm_fast_cursor_branch(struct ptm_fast_cursor *t, struct bytes *in,
                                                 struct kind kind)
{
    struct code_range *range = t->range, *next;
    const struct flow_core *core = &t->f->core;
    size_t len = (size_t)(in->end - in->at);
    uint32_t cycles = 0;
    struct ptm_short k;
    if (range->end != CODE_END_INDIRECT ||
        !ptm_short_address(in->p->last_address, ptm_shift(in->p), in->at, len, &k) || k.e)
        return false;
    unsigned n = k.bytes;
    if (kind.counted) {
        if (n == len)
            return false;
        uint8_t byte = in->at[n++];
        cycles = byte >> 2 & 0xf;
        if (!ptm_more_count(in->at, len, &n, byte & 0x40, &cycles))
            return false;
    }
    next = kind.times ? flow_went(core, (char *)range + 1, k.address, t->isa)
                      : code_went(core->code, core->view, range, k.address, t->isa);
    if (!next)
        return false;
    ptm_fast_cursor_block(t, range, 0, kind, cycles);
    ptm_fast_cursor_push(t, range, 0, kind);
    t->range = next;
    t->cycles += cycles;
    in->p->last_address = k.address;
    in->at += n;
    in->inner += n - 1;
    return true;
}

/* Note what the last waypoint was, before something else is put out. */
static void ptm_fast_cursor_note(struct ptm_fast_cursor *t)
{
    if (t->b > t->base)
        t->f->last_waypoint = flow_block_last(t->f->core.code, t->b - 1);
    t->base = t->b;
}

static struct bt_event *ptm_fast_cursor_event(struct ptm_fast_cursor *t, const struct bytes *in,
                                              const uint8_t *at, enum bt_event_kind kind,
                                              struct flow_out *out)
{
    uint64_t offset = in->p->scan.offset + (size_t)(at - in->start);
    struct bt_event *e = flow_event(&t->f->core, out, kind, offset);
    e->position = t->instructions;
    return e;
}

/* A packet that says that an exception was taken, without a change of state. */
struct entry {
    struct code_range *range;
    uint32_t address;
    uint32_t cycles;
    uint16_t number;
    unsigned size;
};

/* IHI 0035B 4.5.4. `base`: of the address. False: it is another packet, or leads to unknown
 * code. */
static bool parse_entry(const struct ptm_fast_cursor *t, const struct bytes *in, const uint8_t *at,
                        uint32_t base, struct entry *e)
{
    const struct ptm *p = in->p;
    size_t len = (size_t)(in->end - at);
    struct ptm_short k;
    if (!len || !(*at & 1) || !ptm_short_address(base, ptm_shift(p), at, len, &k) || !k.e ||
        len < k.bytes + 2)
        return false;
    unsigned n = k.bytes;
    uint8_t info = at[n++];
    e->address = k.address;
    e->number = info >> 1 & 0xf;
    e->cycles = 0;
    if ((info & 0x80) || (info & 1) != p->last_ns || (info >> 6 & 1) != p->last_alt_isa ||
        e->number <= PTM_EXC_DEBUG || ptm_security(p) != t->f->core.cur.security)
        return false;
    if (p->config.cycle_accurate) {
        uint8_t byte = at[n++];
        e->cycles = byte >> 2 & 0xf;
        if (!ptm_more_count(at, len, &n, byte & 0x40, &e->cycles))
            return false;
    }
    e->size = n;
    e->range = code_find(t->f->core.code, t->f->core.view, e->address, t->isa);
    return e->range;
}

/* The instruction of the range that holds `wanted`: its index and place. False: there is none, or
 * not so near. */
static bool ptm_fast_find_inside(const struct code_range *range, uint32_t wanted, uint32_t *index,
                                 uint32_t *offset, uint32_t *size)
{
    uint32_t ahead = wanted - (uint32_t)range->start;
    *size = 4;
    *index = ahead / 4;
    *offset = ahead & ~3u;
    if (ahead >= code_range_length(range))
        return false;
    if (code_range_isa(range) == BT_ISA_A32)
        return true;
    *offset = 0;
    for (*index = 0; *index < CODE_WIDE_BITS; ++*index) {
        *size = 2 + 2 * (range->wide >> *index & 1);
        if (ahead - *offset < *size)
            return true;
        *offset += *size;
    }
    return false;
}

/* An exception: a branch packet, before it perhaps a waypoint update that says how far execution
 * went (IHI 0035B chapter 5). */
static bool ptm_fast_cursor_exception(struct ptm_fast_cursor *t, struct bytes *in,
                                      struct flow_out *out)
{
    const struct code_range *range = t->range;
    const uint8_t *at = in->at;
    uint32_t base = in->p->last_address, index = 0, offset = 0, size = 0;
    struct ptm_short update;
    struct entry entry;
    bool updated = *at == PTM_HDR_UPDATE;
    if (updated) {
        if (!ptm_short_address(base, ptm_shift(in->p), at + 1, (size_t)(in->end - at - 1), &update))
            return false;
        at += update.bytes + 1;
        base = update.address;
        if (!ptm_fast_find_inside(range, update.address, &index, &offset, &size))
            return false;
    }
    if (out->event_max - out->event_count < FLOW_SLACK || !parse_entry(t, in, at, base, &entry))
        return false;
    ptm_fast_cursor_note(t);
    if (updated) {
        *t->b++ = (struct bt_block){
            range->start, offset, bt_block_info(index + 1, code_range_isa(range), BT_COND_UNKNOWN)};
        t->base = t->b;
        t->instructions += index + 1;
        if (out->times)
            *t->marks++ = (struct flow_mark){t->b - 1, t->instructions};
        if (t->counts)
            *t->counts++ = FLOW_NO_CYCLES;
    }
    struct bt_event *e = ptm_fast_cursor_event(t, in, at, BT_EVENT_EXCEPTION, out);
    flow_exception_number(e, entry.number);
    flow_vector(e, entry.address, (uint8_t)t->isa);
    flow_return_address(e, (uint32_t)(range->start + offset + size), code_range_isa(range));
    if (in->p->config.cycle_accurate)
        flow_event_cycles(e, entry.cycles);
    t->cycles += entry.cycles;
    t->range = entry.range;
    in->inner += (size_t)(at - in->at) - updated + entry.size - 1;
    in->at = at + entry.size;
    in->p->last_address = entry.address;
    return true;
}

/* Exception return (IHI 0035B 4.5): the last waypoint was the return. */
static bool ptm_fast_cursor_return(struct ptm_fast_cursor *t, struct bytes *in,
                                   struct flow_out *out)
{
    if (out->event_max - out->event_count < FLOW_SLACK)
        return false;
    ptm_fast_cursor_note(t);
    struct bt_event *e = ptm_fast_cursor_event(t, in, in->at, BT_EVENT_EXCEPTION_RET, out);
    flow_exception_return_address(e, t->f->last_waypoint, code_range_isa(t->range));
    in->at++;
    return true;
}

/* What interrupts are made of. False: it is something else. */
static __attribute__((noinline)) bool ptm_fast_cursor_rare(struct ptm_fast_cursor *t,
                                                           struct bytes *in, struct flow_out *out)
{
    if (in->left)
        return false;
    return *in->at == PTM_HDR_EXC_RETURN ? ptm_fast_cursor_return(t, in, out)
                                         : ptm_fast_cursor_exception(t, in, out);
}

static ALWAYS_INLINE void ptm_fast_cursor_run(struct ptm_fast_cursor *now, struct bytes *bytes,
                                              struct flow_out *out, struct kind kind)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct ptm_fast_cursor t = *now;
    struct bytes in = *bytes;
    while (in.at < in.end && t.b <= limit) {
        if (*in.at & 1 ? ptm_fast_cursor_branch(&t, &in, kind)
                       : ptm_fast_cursor_header(&t, &in, kind))
            continue;
        *now = t; /* copies: the loop keeps its own in registers */
        *bytes = in;
        if (!ptm_fast_cursor_rare(now, bytes, out))
            return;
        t = *now;
        in = *bytes;
    }
    *now = t;
    *bytes = in;
}

/* Twelve functions, or compilers make one loop of them all. */
#define TRAIL_RUN(name, ...)                                                                       \
    static __attribute__((noinline)) void name(struct ptm_fast_cursor *t, struct bytes *in,        \
                                               struct flow_out *out)                               \
    {                                                                                              \
        ptm_fast_cursor_run(t, in, out, (struct kind){__VA_ARGS__});                               \
    }
TRAIL_RUN(ptm_fast_cursor_run_plain, false, false, false, false)
TRAIL_RUN(ptm_fast_cursor_run_stack, false, true, false, false)
TRAIL_RUN(ptm_fast_cursor_run_counted, true, false, false, false)
TRAIL_RUN(ptm_fast_cursor_run_counted_stack, true, true, false, false)
TRAIL_RUN(ptm_fast_cursor_run_plain_times, false, false, true, false)
TRAIL_RUN(ptm_fast_cursor_run_stack_times, false, true, true, false)
TRAIL_RUN(ptm_fast_cursor_run_counted_times, true, false, true, false)
TRAIL_RUN(ptm_fast_cursor_run_counted_stack_times, true, true, true, false)
TRAIL_RUN(ptm_fast_cursor_run_plain_leaves, false, false, true, true)
TRAIL_RUN(ptm_fast_cursor_run_stack_leaves, false, true, true, true)
TRAIL_RUN(ptm_fast_cursor_run_counted_leaves, true, false, true, true)
TRAIL_RUN(ptm_fast_cursor_run_counted_stack_leaves, true, true, true, true)

/* By times and leaves, counted, stack. */
static void (*const ptm_fast_cursor_runs[3][2][2])(struct ptm_fast_cursor *t, struct bytes *in,
                                                   struct flow_out *out) = {
    {{ptm_fast_cursor_run_plain, ptm_fast_cursor_run_stack},
     {ptm_fast_cursor_run_counted, ptm_fast_cursor_run_counted_stack}},
    {{ptm_fast_cursor_run_plain_times, ptm_fast_cursor_run_stack_times},
     {ptm_fast_cursor_run_counted_times, ptm_fast_cursor_run_counted_stack_times}},
    {{ptm_fast_cursor_run_plain_leaves, ptm_fast_cursor_run_stack_leaves},
     {ptm_fast_cursor_run_counted_leaves, ptm_fast_cursor_run_counted_stack_leaves}}};

static void ptm_fast_cursor_end(struct ptm_fast_cursor *t, struct flow_out *out)
{
    struct ptm_flow *f = t->f;
    size_t count = (size_t)(t->b - (out->blocks + out->block_count));
    ptm_fast_cursor_note(t);
    if (out->cycles && !t->counts)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    out->block_count += count;
    if (out->times)
        out->mark_count = (size_t)(t->marks - out->marks);
    f->core.blocks += count + t->more;
    f->core.instructions = t->instructions;
    f->core.cycles += t->cycles;
    f->core.range = t->range;
    f->core.cur.address = t->range->start;
    f->core.cur.isa = code_range_isa(t->range);
}

static void ptm_fast_fast_path(struct ptm_flow *f, struct bytes *in, struct flow_out *out)
{
    bool counted = in->p->config.cycle_accurate;
    struct bt_block *b = out->blocks + out->block_count;
    struct ptm_fast_cursor t = {.f = f,
                                .calls = &f->core.code->calls,
                                .range = f->core.range,
                                .b = b,
                                .marks = out->times ? out->marks + out->mark_count : NULL,
                                .steps = out->times ? f->core.code->steps : NULL,
                                .base = b,
                                .counts =
                                    out->cycles && counted ? out->cycles + out->block_count : NULL,
                                .instructions = f->core.instructions,
                                .isa = (enum bt_isa)(ptm_isa_state(in->p, in->p->last_isa) & 0xf)};
    in->start = in->at;
    ptm_fast_cursor_runs[out->times + out->leaves][counted][f->config.return_stack](&t, in, out);
    in->p->scan.offset += (size_t)(in->at - in->start);
    ptm_fast_cursor_end(&t, out);
}

/* The range at the position, as the next waypoint would look for it. */
static bool ptm_fast_fast_path_may_begin(const struct ptm *p, struct ptm_flow *f,
                                         const struct flow_out *out)
{
    struct flow_core *c = &f->core;
    if (!p->scan.synced || p->scan.in_zeros || p->scan.carry_len || !p->based)
        return false;
    if (!f->synced || !c->cur.known || !flow_room(out) || !flow_view(c))
        return false;
    if (!c->range)
        c->range = code_lookup(c->code, c->view, c->cur.address, (enum bt_isa)c->cur.isa);
    return c->range;
}

/* What was left of a header, or one packet that the loop cannot take: the slow path,
 * but at once. */
static bool ptm_fast_slow_packet(struct ptm_flow *f, struct bytes *in, struct flow_out *out)
{
    struct ptm_packet k[2]; /* a synchronised parser needs room for two, and gives one */
    size_t count = 0;
    if (in->left) {
        const struct ptm_atom_header *h = &ptm_atom_headers[in->at[-1] >> 1 & 63];
        *k = (struct ptm_packet){.offset = in->p->scan.offset - 1,
                                 .value = h->value,
                                 .size = 1,
                                 .kind = PTM_ATOM,
                                 .n = h->n};
        ptm_flow_atoms(f, k, in->left, out);
        in->left = 0;
        return true;
    }
    if (in->at == in->end || !flow_room(out))
        return false;
    size_t size = ptm_parse(in->p, in->at, (size_t)(in->end - in->at), k, 2, &count);
    if (count)
        ptm_flow_run(f, k, 1, out);
    in->at += size;
    in->inner += size - count;
    return true;
}

size_t ptm_fast(struct ptm *p, struct ptm_flow *f, const uint8_t *data, size_t len,
                struct flow_out *out, uint64_t *packets)
{
    struct bytes in = {.p = p, .at = data, .end = data + len};
    while (ptm_fast_fast_path_may_begin(p, f, out)) {
        code_calls_of(f->core.code, f->core.view);
        ptm_fast_fast_path(f, &in, out);
        if (!ptm_fast_slow_packet(f, &in, out))
            break;
    }
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
