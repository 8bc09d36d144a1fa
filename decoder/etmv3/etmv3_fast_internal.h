/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two loops of the fast path share. Private to decoder/etmv3. */
#ifndef DECODER_ETMV3_FAST_INTERNAL_H
#define DECODER_ETMV3_FAST_INTERNAL_H

#include "etmv3_flow_internal.h"
#include "etmv3_internal.h"

#include <string.h>

/* Bytes on the fast path, and what came of them in one call of a loop. */
struct etmv3_bytes {
    struct etmv3 *p;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t inner;          /* bytes of packets behind their first ones: of all calls */
    const uint8_t *start;    /* at the parser's offset */
    const uint8_t *branched; /* behind the latest branch packet */
    uint64_t atoms;          /* instructions executed */
    uint64_t committed;      /* those that no packet can cancel any more */
    uint64_t returned;       /* those before the event that is out->events[tail] */
    bool has_pending;        /* something is pending: no atom has come yet */
    /* Atoms of the P-header before `at` that have yet to be taken, by the slow path; as in a
     * packet. */
    uint32_t left;
    uint32_t value;
    uint16_t flags;
};

static inline void etmv3_leave(struct etmv3_bytes *in, uint32_t left, const struct etmv3_header *h)
{
    in->left = left;
    in->value = h->value & ((1u << left) - 1);
    in->flags = etmv3_header_flags(h);
}

/* The block of the latest instruction, if that ended one, is to be pending. */
static inline bool etmv3_uncommitted(const struct etmv3_bytes *in)
{
    return in->atoms != in->committed;
}

/*
 * An exception that cancels nothing, at `from`, to code that is known and in the same state:
 * its event is put out, and its range returned. NULL: it is something else,
 * and nothing was done. */
struct code_range *etmv3_fast_exception(struct etmv3_flow *f, struct etmv3_bytes *in,
                                        const struct etmv3_origin *from, struct flow_out *out);

/* An exception exit behind the block `b`, which is not committed. False: nothing was done. */
bool etmv3_fast_return(struct etmv3_flow *f, struct etmv3_bytes *in, const struct bt_block *b,
                       struct flow_out *out);

/* The block `b` is pending, and so are the events behind it. */
void etmv3_fast_keep_pending(struct etmv3_flow *f, const struct etmv3_bytes *in,
                             const struct bt_block *b, uint64_t cycles, struct flow_out *out);

/* It was followed. */
static inline void etmv3_short_take(struct etmv3_bytes *in, const struct etmv3_short *k)
{
    in->p->base.address = k->address;
    in->at += k->size;
    in->inner += k->size - 1u;
}

/* Blocks up to `b` were put out, with `instructions`. */
static inline void etmv3_emitted(struct etmv3_flow *f, struct flow_out *out,
                                 const struct bt_block *b, uint64_t instructions)
{
    size_t count = (size_t)(b - (out->blocks + out->block_count));
    out->block_count += count;
    f->core.blocks += count;
    f->core.instructions += instructions;
}

/* Where cycles are counted. */
void etmv3_fast_cycles(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out);

#endif
