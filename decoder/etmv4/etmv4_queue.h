/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv4's speculation (IHI 0064H.b): elements wait in program order until the trace unit commits
 * them, or vanish. A P0 element is what commits and cancels count; an atom packet holds several.
 * Private to decoder/.
 */
#ifndef DECODER_ETMV4_QUEUE_H
#define DECODER_ETMV4_QUEUE_H

#include "decoder/etmv4/etmv4.h"

#define ETMV4_QUEUE (6 * ETMV4_SPECULATED_MAX + 64)

/* Plain data. A copy may be cut to etmv4_queue_size(). */
struct etmv4_queue {
    uint32_t depth;   /* P0 elements in the queue, those of `unseen` included */
    uint32_t unseen;  /* the oldest of them: traced before synchronisation, not in `items` */
    uint32_t release; /* P0 elements that are committed and still in the queue */
    uint16_t first;   /* oldest item */
    uint16_t count;   /* behind the newest one */
    bool open;        /* an exception waits for its address: both are one P0 element */
    struct etmv4_packet items[ETMV4_QUEUE];
};

/* All forgotten; then `unseen` elements are there that no packet tells of. */
void etmv4_queue_reset(struct etmv4_queue *q, uint32_t unseen);

/* A packet's effect: an element is added, the oldest are committed, the newest vanish. False: the
 * queue is full, or there are not so many. */
bool etmv4_queue_take(struct etmv4_queue *q, const struct etmv4_config *config,
                      const struct etmv4_packet *k);

/* A cancel or mispredict: its atoms are added; the newest elements vanish; the newest atom then
 * went the other way. False: there are fewer, or they are committed. */
bool etmv4_queue_undo(struct etmv4_queue *q, const struct etmv4_config *config,
                      const struct etmv4_packet *k);

/* For who takes items by himself: committed ones that no packet told of are gone; the items stand
 * at the begin. */
void etmv4_queue_pass_unseen(struct etmv4_queue *q);
void etmv4_queue_pull(struct etmv4_queue *q);

/*
 * Next committed item, oldest first; a packet with fewer atoms than it had is the rest of it. An
 * atom packet comes back with as many atoms as are committed. False: none.
 */
bool etmv4_queue_next(struct etmv4_queue *q, struct etmv4_packet *k);

/* At the end: next item that holds whether or not its elements were committed. False: none. */
bool etmv4_queue_rest(struct etmv4_queue *q, struct etmv4_packet *k);

/*
 * Items that a unit's speculation can need, and the bytes of a queue with so many. Each P0 element
 * may bring an address, a context, a count, a time and an event:
 * two items for each would not do. */
static inline uint16_t etmv4_queue_items(uint16_t max_speculated)
{
    return (uint16_t)(max_speculated ? 6 * max_speculated + 64 : 0);
}

static inline size_t etmv4_queue_size(uint16_t max_speculated)
{
    return offsetof(struct etmv4_queue, items) +
           etmv4_queue_items(max_speculated) * sizeof(struct etmv4_packet);
}

#endif
