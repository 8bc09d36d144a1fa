/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fast path of a unit that speculates. Packets go straight into the queue, where commits only
 * count and what is cancelled vanishes; what is committed then goes from the queue to blocks, many
 * items at a time.
 */
#include "decoder/etmv4/etmv4_fast.h"

#include "etmv4_fast_parts.h"

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
static inline void keep(struct filler *w, uint32_t n, uint32_t most)
{
    uint32_t oldest = w->depth + n - most;
    w->item->flags |= n ? ETMV4_P0 : 0;
    w->item++;
    w->depth += n;
    if (w->depth > most && oldest > w->release)
        w->release = oldest;
}

/* False: it cannot be right, and has yet to be taken. */
static bool undo(struct filler *w)
{
    struct etmv4_flow *f = w->f;
    struct etmv4_packet k = *w->item;
    give_queue(w);
    f->miscounted = !etmv4_queue_undo(&f->queue, &f->config, &k);
    f->accepted = f->miscounted;
    take_queue(w);
    return !f->miscounted;
}

/* A count goes out behind what it commits: that has to go out first. */
static bool fill_count(struct filler *w, uint32_t most)
{
    if (!(w->item->flags & ETMV4_COMMITS)) {
        keep(w, 0, most);
        return true;
    }
    if (w->item->commit <= w->depth - w->release) {
        w->release += w->item->commit;
        w->f->accepted = true;
    }
    return false;
}

/* The packet at w->item. False: it has yet to be taken, by the slow path, or it is `accepted`. */
static inline bool fill_one(struct filler *w, uint32_t most, bool m_profile)
{
    switch (w->item->kind) {
    case ETMV4_ATOM:
        keep(w, w->item->n, most);
        return true;
    case ETMV4_ADDRESS:
        keep(w, w->open, most);
        w->open = false;
        return true;
    case ETMV4_COMMIT:
        if (w->item->commit > w->depth - w->release)
            return false;
        w->release += w->item->commit;
        return true;
    case ETMV4_CANCEL:
    case ETMV4_MISPREDICT:
        return undo(w);
    case ETMV4_EXCEPTION:
        keep(w, 0, most);
        w->open = true;
        return true;
    case ETMV4_EXC_RETURN:
        keep(w, m_profile, most);
        return true;
    case ETMV4_CYCLES:
        return fill_count(w, most);
    default: /* a context */
        keep(w, 0, most);
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
    keep(w, n, most);
    return size;
}

/* Frequent packets, as many as there is room for. Never the last ones of the data: what has been
 * committed can then be put out before all bytes are taken. */
static size_t fill(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                   uint64_t *packets)
{
    const uint8_t *at = data, *end = data + len;
    uint64_t base = p->offset - (uintptr_t)data, count = 0;
    uint32_t most = f->config.max_speculated;
    const struct etmv4_packet *limit = f->queue.items + etmv4_queue_items(f->config.max_speculated);
    bool m_profile = f->config.m_profile;
    struct etmv4_address last[3] = {p->last[0], p->last[1], p->last[2]};
    struct filler w = {.f = f};
    take_queue(&w);
    for (; w.item < limit && end - at >= ETMV4_CARRY; count++) {
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
    p->offset += (size_t)(at - data);
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
static inline bool drain_atoms(struct etmv4_fast_cursor *t, struct taker *d, bool wide)
{
    struct etmv4_packet *k = d->item;
    uint32_t atoms = (uint32_t)k->value, n = k->n;
    if (n > d->release) {
        n = d->release;
        atoms &= (1u << n) - 1;
    }
    unsigned left = etmv4_fast_cursor_atoms(t, atoms, n, wide), taken = n - left;
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
        if (kind == ETMV4_ATOM ? drain_atoms(&t, &d, wide)
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
static bool drain(struct etmv4_flow *f, struct flow_out *out)
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

/* The packet that is accepted and whose commits are out: a cycle count, as fill() left it. */
static size_t finish_count(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                           struct flow_out *out, uint64_t *packets)
{
    struct etmv4_packet k;
    size_t count = 0, size = etmv4_parse_frequent(p, data, len, &k, 1, &count);
    if (count)
        etmv4_flow_element(f, &k, out);
    f->accepted = false;
    *packets += count;
    return size;
}

size_t etmv4_fast_queue(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                        struct flow_out *out, uint64_t *packets)
{
    size_t used = 0, step = 1;
    while ((step > 0 || f->accepted) && drain(f, out)) {
        step = 0;
        if (!p->synced || p->in_zeros || p->carry_len || !f->synced || f->miscounted)
            break;
        if (f->accepted)
            used += finish_count(p, f, data + used, len - used, out, packets);
        if (f->queue.first)
            etmv4_queue_pull(&f->queue);
        step = fill(p, f, data + used, len - used, packets);
        used += step;
    }
    return used;
}
