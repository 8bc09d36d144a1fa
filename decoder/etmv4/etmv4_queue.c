/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4/etmv4_queue.h"

#include <string.h>

void etmv4_queue_reset(struct etmv4_queue *q, uint32_t unseen)
{
    memset(q, 0, offsetof(struct etmv4_queue, items));
    q->depth = q->unseen = unseen;
}

/* P0 elements of one packet (IHI 0064H.b chapter 6); `*open`: an exception waits for its
 * address. */
static unsigned etmv4_queue_elements(const struct etmv4_config *config,
                                     const struct etmv4_packet *k, bool *open)
{
    switch (k->kind) {
    case ETMV4_ATOM:
        return k->n;
    case ETMV4_EXCEPTION: /* with the address; a failed transaction is none, a reset is one */
        *open = k->n != ETMV4_NO_ADDRESS;
        return k->n == ETMV4_NO_ADDRESS && k->number == 0;
    case ETMV4_ADDRESS: {
        bool of_exception = *open;
        *open = false;
        return of_exception;
    }
    case ETMV4_EXC_RETURN:
        return config->m_profile;
    case ETMV4_TRANSACTION:
        return k->number && config->transactions_p0;
    case ETMV4_FUNC_RETURN:
    case ETMV4_Q:
    case ETMV4_SOURCE:
        return 1;
    default:
        return 0;
    }
}

void etmv4_queue_pull(struct etmv4_queue *q)
{
    memmove(q->items, q->items + q->first, (size_t)(q->count - q->first) * sizeof q->items[0]);
    q->count = (uint16_t)(q->count - q->first);
    q->first = 0;
}

/* Room at the newest end: the items move to the begin when they have come to the end. */
static bool etmv4_queue_make_room(struct etmv4_queue *q, uint16_t items)
{
    if (q->count < items)
        return true;
    if (q->first == 0)
        return false;
    etmv4_queue_pull(q);
    return true;
}

/* A packet that is no commit, cancel or mispredict. False: the queue is full. */
static bool etmv4_queue_add(struct etmv4_queue *q, const struct etmv4_config *config,
                            const struct etmv4_packet *k)
{
    if (!etmv4_queue_make_room(q, etmv4_queue_items(config->max_speculated)))
        return false;
    unsigned n = etmv4_queue_elements(config, k, &q->open);
    struct etmv4_packet *item = &q->items[q->count++];
    *item = *k;
    if (n)
        item->flags |= ETMV4_P0;
    q->depth += n;
    if (q->depth - q->release > config->max_speculated)
        q->release = q->depth - config->max_speculated;
    return true;
}

/* The oldest `n` are real. False: there are fewer. */
static bool etmv4_queue_commit(struct etmv4_queue *q, uint32_t n)
{
    if (n > q->depth - q->release)
        return false;
    q->release += n;
    return true;
}

/* IHI 0064H.b, speculation: what a cancel leaves where it was. */
static bool etmv4_queue_is_kept(const struct etmv4_packet *k)
{
    switch (k->kind) {
    case ETMV4_EVENT:
    case ETMV4_TIMESTAMP:
    case ETMV4_CYCLES:
    case ETMV4_MARKER:
    case ETMV4_INSTRUMENTATION:
        return true;
    default:
        return false;
    }
}

/* Takes up to n elements from the newest end of an item; returns how many. */
static uint32_t take_from(struct etmv4_packet *item, uint32_t n)
{
    if (!(item->flags & ETMV4_P0))
        return 0;
    if (item->kind != ETMV4_ATOM)
        return 1;
    uint32_t taken = item->n < n ? item->n : n;
    item->n = (uint8_t)(item->n - taken);
    item->value &= ((uint64_t)1 << item->n) - 1;
    return taken;
}

/* The newest `n` never ran. False: there are fewer, or they are committed. */
static bool etmv4_queue_cancel(struct etmv4_queue *q, uint32_t n)
{
    uint16_t at = q->count, kept = 0;
    bool with_exception = false;
    if (n > q->depth - q->release)
        return false;
    q->depth -= n;
    while (at > q->first && (n > 0 || with_exception)) {
        struct etmv4_packet *item = &q->items[at - 1];
        if (etmv4_queue_is_kept(item)) {
            kept++;
            at--;
            continue;
        }
        uint32_t taken = take_from(item, n);
        n -= taken;
        if (item->kind == ETMV4_ATOM && item->n > 0)
            break;
        if (item->kind == ETMV4_ADDRESS && taken)
            with_exception = true;
        if (item->kind == ETMV4_EXCEPTION)
            with_exception = false;
        if (kept) /* those that stay are behind it: they close the hole */
            memmove(item, item + 1, kept * sizeof *item);
        q->count--;
        at--;
    }
    q->open = false;
    q->unseen -= n; /* older than all items */
    return true;
}

/* The newest atom went the other way. False: there is none. */
static bool etmv4_queue_mispredict(struct etmv4_queue *q)
{
    if (q->depth == q->release)
        return false;
    for (uint16_t at = q->count, behind = 0; at > q->first; at--) {
        struct etmv4_packet *item = &q->items[at - 1];
        if (item->kind == ETMV4_ATOM) {
            item->value ^= (uint64_t)1 << (item->n - 1);
            return true;
        }
        if (item->flags & ETMV4_P0)
            return false;
        if (item->kind == ETMV4_ADDRESS) {
            memmove(item, item + 1, behind * sizeof *item);
            q->count--;
        } else {
            behind++;
        }
    }
    return false;
}

bool etmv4_queue_undo(struct etmv4_queue *q, const struct etmv4_config *config,
                      const struct etmv4_packet *k)
{
    struct etmv4_packet atoms = *k;
    uint32_t release = q->release;
    atoms.kind = ETMV4_ATOM;
    if ((!k->n || etmv4_queue_add(q, config, &atoms)) &&
        (k->kind != ETMV4_CANCEL || etmv4_queue_cancel(q, k->commit)) &&
        (!(k->flags & ETMV4_MISPREDICTS) || etmv4_queue_mispredict(q)))
        return true;
    q->release = release; /* what its atoms may have pushed out is in doubt, too */
    return false;
}

static void drop_first(struct etmv4_queue *q)
{
    if (++q->first == q->count)
        q->first = q->count = 0;
}

void etmv4_queue_pass_unseen(struct etmv4_queue *q)
{
    uint32_t unseen = q->unseen < q->release ? q->unseen : q->release;
    q->unseen -= unseen;
    q->release -= unseen;
    q->depth -= unseen;
}

bool etmv4_queue_next(struct etmv4_queue *q, struct etmv4_packet *k)
{
    etmv4_queue_pass_unseen(q);
    if (q->release == 0 || q->first == q->count)
        return false;
    struct etmv4_packet *item = &q->items[q->first];
    *k = *item;
    k->flags &= (uint8_t)~ETMV4_P0;
    if (!(item->flags & ETMV4_P0)) {
        drop_first(q);
        return true;
    }
    uint32_t n = 1;
    if (k->kind == ETMV4_ATOM) {
        n = k->n = (uint8_t)(q->release < k->n ? q->release : k->n);
        k->value &= ((uint64_t)1 << n) - 1;
        item->value >>= n;
        item->n = (uint8_t)(item->n - n);
    }
    if (item->kind != ETMV4_ATOM || item->n == 0)
        drop_first(q);
    q->release -= n;
    q->depth -= n;
    return true;
}

bool etmv4_queue_rest(struct etmv4_queue *q, struct etmv4_packet *k)
{
    while (q->first < q->count) {
        *k = q->items[q->first];
        drop_first(q);
        if (etmv4_queue_is_kept(k))
            return true;
    }
    return false;
}

bool etmv4_queue_take(struct etmv4_queue *q, const struct etmv4_config *config,
                      const struct etmv4_packet *k)
{
    struct etmv4_packet item = *k;
    switch (k->kind) {
    case ETMV4_TRACE_INFO: /* a check of what is known */
        item.n = k->commit != q->depth;
        return etmv4_queue_add(q, config, &item);
    case ETMV4_COMMIT:
        return etmv4_queue_commit(q, k->commit);
    case ETMV4_CYCLES:
        if (k->flags & ETMV4_COMMITS)
            return etmv4_queue_commit(q, k->commit);
        return etmv4_queue_add(q, config, k);
    case ETMV4_CANCEL:
    case ETMV4_MISPREDICT:
        return etmv4_queue_undo(q, config, k);
    default:
        return etmv4_queue_add(q, config, k);
    }
}
