/* SPDX-License-Identifier: BSD-3-Clause */
/* Exceptions and their returns, from within the loop: no change of security, AArch64 or numbers. */
#include "etmv4_fast_internal.h"

#include <string.h>

#define ALWAYS_INLINE inline __attribute__((always_inline))

#define HDR_FULL         0x9a /* an address of 32 bits; the next one: with IS */
#define HDR_EXCEPTION    0x06
#define HDR_EXC_RETURN   0x07
#define HDR_CONTEXT      0x81
#define HDR_WITH_CONTEXT 0x82 /* as HDR_FULL, and a context */

#define PLACE_MOST 8 /* bytes of a place that is looked at here, and of an exception's type */
#define TYPE_MOST  3

/* A context that is told again: security, AArch64, and no numbers. The exception level may be
 * another one. */
static bool etmv4_fast_cursor_same_context(const struct etmv4_fast_cursor *t, uint8_t info)
{
    const struct etmv4_flow *f = t->f;
    return !(info & (ETMV4_INFO_VMID | ETMV4_INFO_CONTEXT)) &&
           etmv4_flow_security(f, info) == f->core.cur.security &&
           (f->config.m_profile || !(info & ETMV4_INFO_SF) == !f->aarch64);
}

/* As etmv4_near_address(), also with a context that is the same,
 * in the packet or in one before it. */
static bool parse_place(const struct etmv4_fast_cursor *t, const struct etmv4_address *last,
                        const uint8_t *at, const uint8_t *end, struct etmv4_target *a)
{
    unsigned h = *at - HDR_WITH_CONTEXT;
    if (end - at < PLACE_MOST)
        return false;
    if (h < 2) {
        if (!etmv4_near_address(last, (uint8_t)(HDR_FULL + h), at + 1, end, a))
            return false;
        a->size++;
        return etmv4_fast_cursor_same_context(t, at[a->size - 1]);
    }
    if (*at != HDR_CONTEXT)
        return etmv4_near_address(last, *at, at + 1, end, a);
    if (!etmv4_fast_cursor_same_context(t, at[1]) ||
        !etmv4_near_address(last, at[2], at + 3, end, a))
        return false;
    a->size += 2;
    a->packets++;
    return true;
}

/* Exception return (IHI 0064H.b chapter 6): the last P0 instruction was the return. */
static bool etmv4_fast_cursor_leave(struct etmv4_fast_cursor *t, uint64_t offset,
                                    struct flow_out *out)
{
    if (out->event_max - out->event_count < FLOW_SLACK)
        return false;
    etmv4_fast_cursor_note(t);
    struct bt_event *e = flow_event(&t->f->core, out, BT_EVENT_EXCEPTION_RET, offset);
    e->position = t->instructions;
    flow_exception_return_address(e, t->f->last_p0, (uint8_t)code_range_isa(t->range));
    t->pops = false;
    return true;
}

static uint64_t etmv4_fast_offset_of(const struct etmv4_bytes *in)
{
    return in->p->scan.offset + (size_t)(in->at - in->start);
}

static bool trail_return(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, struct flow_out *out)
{
    if (in->p->config.ete || !etmv4_fast_cursor_leave(t, etmv4_fast_offset_of(in), out))
        return false;
    in->at++;
    return true;
}

/* The whole instructions of the range in front of `address`, which stands in it: *count, and the
 * offset of the last of them. False: it does not, or not so near. */
static bool etmv4_fast_find_inside(const struct code_range *range, uint64_t address,
                                   uint32_t *count, uint32_t *offset)
{
    uint64_t ahead = address - code_range_first64(range);
    if (ahead >= code_range_length(range))
        return false;
    if (code_range_isa(range) != BT_ISA_T32) {
        *count = (uint32_t)ahead / 4;
        *offset = 4 * *count - 4;
        return true;
    }
    uint32_t behind = 0;
    for (*count = 0; *count < CODE_WIDE_BITS; ++*count) {
        uint32_t size = 2 + 2 * (range->wide >> *count & 1);
        if (ahead - behind < size)
            return true;
        *offset = behind;
        behind += size;
    }
    return false;
}

/* What ran between the last P0 instruction and the exception: a part of the range that is ahead. */
static void put_part(struct etmv4_fast_cursor *t, enum bt_isa isa, uint32_t count, uint32_t offset)
{
    etmv4_fast_cursor_note(t);
    if (count)
        *t->b++ = (struct bt_block){code_range_first64(t->range), offset,
                                    bt_block_info(count, isa, BT_COND_UNKNOWN)};
    t->base = t->b;
    t->instructions += count;
    if (count && t->marks)
        *t->marks++ = (struct flow_mark){t->b - 1, t->instructions};
}

/* Up to the exception, to its vector. False: not along known code, and nothing has changed. */
static bool etmv4_fast_cursor_enter(struct etmv4_fast_cursor *t, const struct etmv4_entry *e,
                                    struct flow_out *out, bool wide)
{
    const struct flow_core *core = &t->f->core;
    enum bt_isa isa = etmv4_fast_cursor_isa(t, e->from_isa, wide);
    enum bt_isa to_isa = etmv4_fast_cursor_isa(t, e->to_isa, wide);
    uint32_t count = 0, offset = 0;
    struct bt_event event;
    if (t->due || out->event_max - out->event_count < FLOW_SLACK || (!wide && e->to > UINT32_MAX))
        return false;
    struct code_range *range = code_find(core->code, core->view, e->to, to_isa);
    if (!range || isa != code_range_isa(t->range) ||
        !etmv4_fast_find_inside(t->range, e->from, &count, &offset) ||
        etmv4_flow_exception_event(t->f, &event, e->type))
        return false;
    put_part(t, isa, count, offset);
    flow_return_address(&event, e->from, (uint8_t)isa);
    flow_vector(&event, e->to, (uint8_t)to_isa);
    event.offset = e->offset;
    event.position = t->instructions;
    out->events[out->event_count++] = event;
    t->range = range;
    t->f->isa_bit = e->to_isa;
    return true;
}

/* IHI 0064H.b chapter 6: the packets of an exception with a return address, up to the vector. */
static bool trail_exception(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                            struct flow_out *out, bool wide)
{
    const uint8_t *at = in->at;
    struct etmv4_address last[3]; /* address registers behind it */
    struct etmv4_target from, to;
    if (in->end - at < TYPE_MOST)
        return false;
    uint8_t b1 = at[1], two = b1 >> 7;
    struct etmv4_entry e = {.offset = etmv4_fast_offset_of(in),
                            .type = (uint16_t)((b1 >> 1 & 0x1f) | (two ? (at[2] & 0x1f) << 5 : 0))};
    if ((b1 & 0x41) != ETMV4_RETURN || (in->p->config.ete && !two))
        return false;
    at += 2 + two;
    memcpy(last, in->p->last, sizeof last);
    if (in->end - at < PLACE_MOST || !etmv4_near_address(last, *at, at + 1, in->end, &from))
        return false;
    at += from.size;
    etmv4_push_address(last, from.value, from.isa_bit);
    if (!parse_place(t, last, at, in->end, &to))
        return false;
    at += to.size;
    etmv4_push_address(last, to.value, to.isa_bit);
    e.from = from.value;
    e.from_isa = from.isa_bit;
    e.to = to.value;
    e.to_isa = to.isa_bit;
    if (!etmv4_fast_cursor_enter(t, &e, out, wide))
        return false;
    memcpy(in->p->last, last, sizeof last);
    in->inner += (size_t)(at - in->at) - 2 - to.packets;
    in->at = at;
    return true;
}

/* A place that is told with its context. */
static bool trail_place(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, bool wide)
{
    struct etmv4_target a;
    if (*in->at < HDR_CONTEXT || *in->at > HDR_WITH_CONTEXT + 1)
        return false;
    return parse_place(t, in->p->last, in->at, in->end, &a) &&
           etmv4_fast_cursor_there(t, in, &a, wide);
}

/* What interrupts are made of. False: it is something else, and nothing was taken. */
static __attribute__((noinline)) bool etmv4_fast_cursor_rare(struct etmv4_fast_cursor *t,
                                                             struct etmv4_bytes *in,
                                                             struct flow_out *out, bool wide)
{
    if (in->left || in->p->numbers_due)
        return false;
    switch (*in->at) {
    case HDR_EXCEPTION:
        return trail_exception(t, in, out, wide);
    case HDR_EXC_RETURN:
        return trail_return(t, in, out);
    default:
        return trail_place(t, in, wide);
    }
}

/* An atom header. False: not all of it goes along cached ranges. */
static ALWAYS_INLINE bool trail_header(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                                       const struct bt_block *limit, bool wide,
                                       enum etmv4_counting times)
{
    const struct etmv4_packet *h = &etmv4_packets[*in->at];
    if (times && etmv4_fast_cursor_steps(t, in, limit, wide, times))
        return true;
    in->left = etmv4_fast_cursor_atoms(t, (uint32_t)h->value, h->n, wide, times);
    in->at++;
    return in->left == 0;
}

static ALWAYS_INLINE bool trail_address(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                                        bool wide)
{
    struct etmv4_target a;
    return etmv4_near_address(in->p->last, *in->at, in->at + 1, in->end, &a) &&
           etmv4_fast_cursor_there(t, in, &a, wide);
}

/* A copy, with what is known of it at compile time. */
static ALWAYS_INLINE struct etmv4_fast_cursor trail_copy(const struct etmv4_fast_cursor *now,
                                                         bool stack)
{
    struct etmv4_fast_cursor t = *now;
    t.stack = stack;
    t.pops = stack && t.pops;
    return t;
}

static ALWAYS_INLINE void trail_along(struct etmv4_fast_cursor *now, struct etmv4_bytes *bytes,
                                      struct flow_out *out, bool wide, bool stack,
                                      enum etmv4_counting times)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct etmv4_fast_cursor t = trail_copy(now, stack);
    struct etmv4_bytes in = *bytes;
    while (in.at < in.end && t.b <= limit) {
        if (*in.at >= ETMV4_HDR_ATOM ? trail_header(&t, &in, limit, wide, times)
                                     : trail_address(&t, &in, wide))
            continue;
        *now = t; /* copies: the loop keeps its own in registers */
        *bytes = in;
        if (in.at == in.end || !etmv4_fast_cursor_rare(now, bytes, out, wide))
            return;
        t = trail_copy(now, stack);
        in = *bytes;
    }
    *now = t;
    *bytes = in;
}

/* A function for each loop: beside another one it takes up to a fifth longer. */
#define TRAIL(name, wide, stack, times)                                                            \
    static __attribute__((noinline)) void name(struct etmv4_fast_cursor *t,                        \
                                               struct etmv4_bytes *in, struct flow_out *out)       \
    {                                                                                              \
        trail_along(t, in, out, wide, stack, times);                                               \
    }
TRAIL(trail_run, false, false, ETMV4_NO_TIMES)
TRAIL(trail_run_wide, true, false, ETMV4_NO_TIMES)
TRAIL(trail_run_times, false, false, ETMV4_TIMES)
TRAIL(trail_run_times_wide, true, false, ETMV4_TIMES)
TRAIL(trail_run_leaves, false, false, ETMV4_LEAVES)
TRAIL(trail_run_leaves_wide, true, false, ETMV4_LEAVES)
TRAIL(trail_run_stack, false, true, ETMV4_NO_TIMES)
TRAIL(trail_run_stack_wide, true, true, ETMV4_NO_TIMES)
TRAIL(trail_run_stack_times, false, true, ETMV4_TIMES)
TRAIL(trail_run_stack_times_wide, true, true, ETMV4_TIMES)
TRAIL(trail_run_stack_leaves, false, true, ETMV4_LEAVES)
TRAIL(trail_run_stack_leaves_wide, true, true, ETMV4_LEAVES)

/* By times and leaves, the stack, wide. */
static void (*const trail_runs[3][2][2])(struct etmv4_fast_cursor *, struct etmv4_bytes *,
                                         struct flow_out *) = {
    {{trail_run, trail_run_wide}, {trail_run_stack, trail_run_stack_wide}},
    {{trail_run_times, trail_run_times_wide}, {trail_run_stack_times, trail_run_stack_times_wide}},
    {{trail_run_leaves, trail_run_leaves_wide},
     {trail_run_stack_leaves, trail_run_stack_leaves_wide}}};

static void etmv4_fast_cursor_begin(struct etmv4_fast_cursor *t, struct etmv4_flow *f,
                                    const struct flow_out *out)
{
    struct bt_block *b = out->blocks + out->block_count;
    code_calls_of(f->core.code, f->core.view);
    *t = (struct etmv4_fast_cursor){.f = f,
                                    .mask = {etmv4_fast_cursor_is_wide(f) ? UINT64_MAX : UINT32_MAX,
                                             (uint64_t)UINT32_MAX << 32 | UINT16_MAX},
                                    .calls = f->core.code->calls.from,
                                    .call_count = f->core.code->calls.count,
                                    .range = f->branch ? f->went : f->core.range,
                                    .b = b,
                                    .marks = out->times ? out->marks + out->mark_count : NULL,
                                    .steps = out->times ? f->core.code->steps : NULL,
                                    .base = b,
                                    .instructions = f->core.instructions,
                                    .agreed = f->core.agreed,
                                    .due = f->branch != ETMV4_BRANCH_NONE,
                                    .pops = f->branch == ETMV4_BRANCH_POPS,
                                    .stack = f->config.return_stack};
}

static void etmv4_fast_cursor_end(struct etmv4_fast_cursor *t, struct flow_out *out)
{
    struct etmv4_flow *f = t->f;
    size_t count = (size_t)(t->b - (out->blocks + out->block_count));
    etmv4_fast_cursor_note(t);
    f->core.code->calls.count = t->call_count;
    if (out->cycles)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    out->block_count += count;
    if (out->times)
        out->mark_count = (size_t)(t->marks - out->marks);
    f->core.blocks += count + t->more;
    f->core.instructions = t->instructions;
    f->core.agreed = t->agreed;
    f->branch = !t->due ? ETMV4_BRANCH_NONE : t->pops ? ETMV4_BRANCH_POPS : ETMV4_BRANCH_DUE;
    f->core.cur.known = !t->due;
    f->core.range = t->due ? NULL : t->range;
    f->went = t->range;
    f->core.cur.address = code_range_first64(t->range);
    f->core.cur.isa = (uint8_t)code_range_isa(t->range);
}

/* Whether the loop can begin, at the range that execution is in front of or that it left. */
static bool etmv4_fast_cursor_may_begin(struct etmv4_flow *f)
{
    struct flow_core *c = &f->core;
    if (f->wait != ETMV4_WAIT_NONE || f->announce || f->early.held || f->jumps || f->push_blocked)
        return false;
    if (f->branch != ETMV4_BRANCH_NONE) {
        etmv4_flow_keep_pointers(f);
        return f->went && c->view && !c->view_stale;
    }
    if (!c->cur.known || !flow_view(c))
        return false;
    if (!c->range)
        c->range = code_lookup(c->code, c->view, c->cur.address, (enum bt_isa)c->cur.isa);
    etmv4_flow_keep_pointers(f);
    return c->range && code_range_first64(c->range) == c->cur.address &&
           (code_range_isa(c->range) == BT_ISA_A64) == etmv4_fast_cursor_is_wide(f);
}

static void etmv4_fast_fast_path(struct etmv4_flow *f, struct etmv4_bytes *in, struct flow_out *out)
{
    struct etmv4_fast_cursor t;
    etmv4_fast_cursor_begin(&t, f, out);
    in->start = in->at;
    trail_runs[out->times + out->leaves][f->config.return_stack][etmv4_fast_cursor_is_wide(f)](
        &t, in, out);
    in->p->scan.offset += (size_t)(in->at - in->start);
    etmv4_fast_cursor_end(&t, out);
}

/* What was left of a header, or one packet that the loop cannot take: the slow path,
 * but at once. */
static bool etmv4_fast_slow_packet(struct etmv4_flow *f, struct etmv4_bytes *in,
                                   struct flow_out *out)
{
    struct etmv4_packet k[2]; /* a synchronised parser needs room for two, and gives one */
    size_t count = 0;
    if (in->left) {
        const struct etmv4_packet *h = &etmv4_packets[in->at[-1]];
        etmv4_flow_atoms(f, in->p->scan.offset - 1, (uint32_t)h->value >> (h->n - in->left),
                         in->left, out);
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
    return p->scan.synced && !p->scan.in_zeros && !p->scan.carry_len &&
           f->sync != ETMV4_SYNC_LOST &&
           (f->core.cur.known || f->branch != ETMV4_BRANCH_NONE || f->wait != ETMV4_WAIT_NONE);
}

/*
 * The fast path of a unit that speculates. Packets go straight into the queue, where commits only
 * count and what is cancelled vanishes; what is committed then goes from the queue to blocks, many
 * items at a time.
 */

#define HDR_COMMIT 0x2d /* the number behind it */

/* Into the queue. */

/* Where bytes become items. */
struct filler {
    struct etmv4_flow *f;
    struct etmv4_packet *item; /* the next one */
    uint32_t depth;            /* as in the queue */
    uint32_t release;
    bool open;
};

static inline void take_queue(struct filler *w)
{
    struct etmv4_queue *q = &w->f->queue;
    w->item = q->items + q->count;
    w->depth = q->depth;
    w->release = q->release;
    w->open = q->open;
}

static inline void give_queue(const struct filler *w)
{
    struct etmv4_queue *q = &w->f->queue;
    q->count = (uint16_t)(w->item - q->items);
    q->depth = w->depth;
    q->release = w->release;
    q->open = w->open;
}

/* The item stays: `n` P0 elements, of which the oldest are committed when they become too many. */
static inline void etmv4_fast_keep(struct filler *w, uint32_t n, uint32_t most)
{
    uint32_t oldest = w->depth + n - most;
    w->item->flags |= n ? ETMV4_P0 : 0;
    w->item++;
    w->depth += n;
    if (w->depth > most && oldest > w->release)
        w->release = oldest;
}

/* False: it cannot be right, and has yet to be taken. */
static bool etmv4_fast_undo(struct filler *w)
{
    struct etmv4_flow *f = w->f;
    struct etmv4_packet k = *w->item;
    give_queue(w);
    bool right = etmv4_queue_undo(&f->queue, &f->config, &k);
    f->at_hand = right ? ETMV4_HAND_NEW : ETMV4_HAND_MISCOUNTED;
    take_queue(w);
    return right;
}

/* A count goes out behind what it commits: that has to go out first. */
static bool fill_count(struct filler *w, uint32_t most)
{
    if (!(w->item->flags & ETMV4_COMMITS)) {
        etmv4_fast_keep(w, 0, most);
        return true;
    }
    if (w->item->commit <= w->depth - w->release) {
        w->release += w->item->commit;
        w->f->at_hand = ETMV4_HAND_QUEUED;
    }
    return false;
}

/* The packet at w->item. False: it has yet to be taken, by the slow path, or it is queued. */
static inline bool fill_one(struct filler *w, uint32_t most, bool m_profile)
{
    switch (w->item->kind) {
    case ETMV4_ATOM:
        etmv4_fast_keep(w, w->item->n, most);
        return true;
    case ETMV4_ADDRESS:
        etmv4_fast_keep(w, w->open, most);
        w->open = false;
        return true;
    case ETMV4_COMMIT:
        if (w->item->commit > w->depth - w->release)
            return false;
        w->release += w->item->commit;
        return true;
    case ETMV4_CANCEL:
    case ETMV4_MISPREDICT:
        return etmv4_fast_undo(w);
    case ETMV4_EXCEPTION:
        etmv4_fast_keep(w, 0, most);
        w->open = true;
        return true;
    case ETMV4_EXC_RETURN:
        etmv4_fast_keep(w, m_profile, most);
        return true;
    case ETMV4_CYCLES:
        return fill_count(w, most);
    default: /* a context */
        etmv4_fast_keep(w, 0, most);
        return true;
    }
}

/* What most bytes of such a stream are: atoms, commits and short addresses. Returns the size of the
 * packet at `at`; 0: it is another one, or cannot be right. */
static inline unsigned fill_common(struct filler *w, struct etmv4_address last[3],
                                   const uint8_t *at, uint64_t offset, uint32_t most)
{
    unsigned h = *at, size = 1, n;
    if (h >= ETMV4_HDR_ATOM) {
        *w->item = etmv4_packets[h];
        n = w->item->n;
    } else if (h == HDR_COMMIT) {
        if (at[1] > 0x7f || at[1] > w->depth - w->release)
            return 0;
        w->release += at[1];
        return 2;
    } else if (h - ETMV4_HDR_SHORT < 2) {
        *w->item = etmv4_packets[h];
        size = etmv4_take_short(h - ETMV4_HDR_SHORT, last, at, w->item);
        n = w->open;
        w->open = false;
    } else {
        return 0;
    }
    w->item->offset = offset;
    etmv4_fast_keep(w, n, most);
    return size;
}

/* Frequent packets, as many as there is room for. Never the last ones of the data: what has been
 * committed can then be put out before all bytes are taken. */
static size_t etmv4_fast_fill(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data,
                              size_t len, uint64_t *packets)
{
    const uint8_t *at = data, *end = data + len;
    uint64_t base = p->scan.offset - (uintptr_t)data, count = 0;
    uint32_t most = f->config.max_speculated;
    const struct etmv4_packet *limit = f->queue.items + etmv4_queue_items(f->config.max_speculated);
    bool m_profile = f->config.m_profile;
    struct etmv4_address last[3] = {p->last[0], p->last[1], p->last[2]};
    struct filler w = {.f = f};
    take_queue(&w);
    for (; w.item < limit && end - at >= PACKET_CARRY; count++) {
        uint64_t offset = base + (uintptr_t)at;
        unsigned size = fill_common(&w, last, at, offset, most);
        if (!size) {
            size = etmv4_take_frequent(p, last, at, offset, w.item);
            if (!size || !fill_one(&w, most, m_profile))
                break;
        }
        at += size;
    }
    give_queue(&w);
    memcpy(p->last, last, sizeof last);
    p->scan.offset += (size_t)(at - data);
    *packets += count;
    return (size_t)(at - data);
}

/* From the queue to blocks. */

/* Items that are being taken, oldest first. */
struct taker {
    struct etmv4_packet *item;
    const struct etmv4_packet *end;
    uint32_t release;
};

/* An exception is two or three places behind each other: its return address is the P0 element, and
 * the vector is certain when one more is. */
static bool drain_exception(struct etmv4_fast_cursor *t, struct taker *d, struct flow_out *out,
                            bool wide)
{
    struct etmv4_packet *from = d->item + 1, *to = d->item + 2;
    if (d->release < 2 || d->end - d->item < 4 || d->item->n != ETMV4_RETURN ||
        from->kind != ETMV4_ADDRESS || (from->flags & ETMV4_HAS_CONTEXT))
        return false;
    if (to->kind == ETMV4_CONTEXT) {
        if ((to->flags & ETMV4_HAS_CONTEXT) && !etmv4_fast_cursor_same_context(t, to->info))
            return false;
        to++;
    }
    if (to->kind != ETMV4_ADDRESS || (to->flags & ETMV4_P0) ||
        ((to->flags & ETMV4_HAS_CONTEXT) && !etmv4_fast_cursor_same_context(t, to->info)))
        return false;
    struct etmv4_entry e = {.from = from->value,
                            .to = to->value,
                            .offset = d->item->offset,
                            .type = d->item->number,
                            .from_isa = from->isa_bit,
                            .to_isa = to->isa_bit};
    if (!etmv4_fast_cursor_enter(t, &e, out, wide))
        return false;
    d->release--;
    d->item = to + 1;
    return true;
}

/* Anything but atoms and addresses. */
static bool drain_rare(struct etmv4_fast_cursor *t, struct taker *d, struct flow_out *out,
                       bool wide)
{
    const struct etmv4_packet *k = d->item;
    switch (k->kind) {
    case ETMV4_CONTEXT:
        if ((k->flags & ETMV4_HAS_CONTEXT) && !etmv4_fast_cursor_same_context(t, k->info))
            return false;
        break;
    case ETMV4_EXCEPTION:
        return drain_exception(t, d, out, wide);
    case ETMV4_EXC_RETURN:
        if ((k->flags & ETMV4_P0) || !etmv4_fast_cursor_leave(t, k->offset, out))
            return false;
        break;
    default:
        return false;
    }
    d->item++;
    return true;
}

/* Atoms that are committed. False: not all go along cached ranges. */
static inline bool drain_atoms(struct etmv4_fast_cursor *t, struct taker *d, bool wide,
                               const struct flow_out *out)
{
    struct etmv4_packet *k = d->item;
    uint32_t atoms = (uint32_t)k->value, n = k->n;
    if (n > d->release) {
        n = d->release;
        atoms &= (1u << n) - 1;
    }
    unsigned left = out->leaves  ? etmv4_fast_cursor_atoms(t, atoms, n, wide, ETMV4_LEAVES)
                    : out->times ? etmv4_fast_cursor_atoms(t, atoms, n, wide, ETMV4_TIMES)
                                 : etmv4_fast_cursor_atoms(t, atoms, n, wide, ETMV4_NO_TIMES);
    unsigned taken = n - left;
    d->release -= taken;
    if (taken == k->n) {
        d->item++;
        return true;
    }
    k->n = (uint8_t)(k->n - taken);
    k->value >>= taken;
    return left == 0;
}

static inline bool drain_address(struct etmv4_fast_cursor *t, struct taker *d, bool wide)
{
    const struct etmv4_packet *k = d->item;
    if (k->flags & ETMV4_P0 ||
        ((k->flags & ETMV4_HAS_CONTEXT) && !etmv4_fast_cursor_same_context(t, k->info)) ||
        !etmv4_fast_cursor_reach(t, k->value, etmv4_fast_cursor_isa(t, k->isa_bit, wide), wide))
        return false;
    t->f->isa_bit = k->isa_bit;
    d->item++;
    return true;
}

static inline void drain_run(struct etmv4_fast_cursor *now, struct taker *items,
                             struct flow_out *out, bool wide)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct etmv4_fast_cursor t = *now;
    struct taker d = *items;
    while (d.release > 0 && d.item < d.end && t.b <= limit) {
        uint8_t kind = d.item->kind;
        if (kind == ETMV4_ATOM ? drain_atoms(&t, &d, wide, out)
                               : kind == ETMV4_ADDRESS && drain_address(&t, &d, wide))
            continue;
        *now = t; /* copies: the loop keeps its own in registers */
        *items = d;
        if (kind == ETMV4_ATOM || !drain_rare(now, items, out, wide))
            return;
        t = *now;
        d = *items;
    }
    *now = t;
    *items = d;
}

/* Committed items, as far as they go along cached ranges. */
static void drain_along(struct etmv4_flow *f, struct flow_out *out)
{
    struct etmv4_queue *q = &f->queue;
    struct taker d = {q->items + q->first, q->items + q->count, q->release};
    struct etmv4_fast_cursor t;
    etmv4_fast_cursor_begin(&t, f, out);
    if (etmv4_fast_cursor_is_wide(f))
        drain_run(&t, &d, out, true);
    else
        drain_run(&t, &d, out, false);
    etmv4_fast_cursor_end(&t, out);
    q->depth -= q->release - d.release;
    q->release = d.release;
    q->first = (uint16_t)(d.item - q->items);
    if (q->first == q->count)
        q->first = q->count = 0;
}

/* All that is committed. False: no room for all of it. */
static bool etmv4_fast_drain(struct etmv4_flow *f, struct flow_out *out)
{
    struct etmv4_packet k;
    while (flow_room(out)) {
        etmv4_queue_pass_unseen(&f->queue);
        if (f->queue.release && f->queue.count && etmv4_fast_cursor_may_begin(f))
            drain_along(f, out);
        if (!flow_room(out))
            return false;
        if (!etmv4_queue_next(&f->queue, &k))
            return true;
        etmv4_flow_element(f, &k, out);
    }
    return false;
}

/* The packet that is queued and whose commits are out: a cycle count, as etmv4_fast_fill() left
 * it. */
static size_t finish_count(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                           struct flow_out *out, uint64_t *packets)
{
    struct etmv4_packet k;
    size_t count = 0, size = etmv4_parse_frequent(p, data, len, &k, 1, &count);
    if (count)
        etmv4_flow_element(f, &k, out);
    f->at_hand = ETMV4_HAND_NEW;
    *packets += count;
    return size;
}

/* The fast path for units that speculate. What is committed may be left in the queue when `out` has
 * no room for it: then come again, with what is left of the data, which is never nothing. */
static __attribute__((noinline)) size_t etmv4_fast_queue(struct etmv4 *p, struct etmv4_flow *f,
                                                         const uint8_t *data, size_t len,
                                                         struct flow_out *out, uint64_t *packets)
{
    size_t used = 0, step = 1;
    while ((step > 0 || f->at_hand != ETMV4_HAND_NEW) && etmv4_fast_drain(f, out)) {
        step = 0;
        if (!p->scan.synced || p->scan.in_zeros || p->scan.carry_len ||
            f->sync == ETMV4_SYNC_LOST || f->at_hand == ETMV4_HAND_MISCOUNTED)
            break;
        if (f->at_hand != ETMV4_HAND_NEW)
            used += finish_count(p, f, data + used, len - used, out, packets);
        if (f->queue.first)
            etmv4_queue_pull(&f->queue);
        step = etmv4_fast_fill(p, f, data + used, len - used, packets);
        used += step;
    }
    return used;
}

size_t etmv4_fast(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets)
{
    struct etmv4_bytes in = {.p = p, .at = data, .end = data + len};
    if (f->config.max_speculated)
        return etmv4_fast_queue(p, f, data, len, out, packets);
    while (is_on_the_way(p, f) && flow_room(out)) {
        if (etmv4_fast_cursor_may_begin(f))
            etmv4_fast_fast_path(f, &in, out);
        if (!etmv4_fast_slow_packet(f, &in, out))
            break;
    }
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
