/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two loops of the short way share. Private to decoder/etmv3_follow*.c. */
#ifndef DECODER_ETMV3_FOLLOW_PARTS_H
#define DECODER_ETMV3_FOLLOW_PARTS_H

#include "decoder/etmv3_flow_parts.h"
#include "decoder/etmv3_headers.h"
#include "decoder/etmv3_parse.h"

#include <string.h>

/* Bytes that are being followed. */
struct etmv3_bytes {
    struct etmv3 *p;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t inner; /* bytes of branch packets behind their first ones */
    /* Atoms of the P-header before `at` that have yet to be taken, the long way; as in a packet. */
    uint32_t left;
    uint32_t value;
};

static inline void etmv3_leave(struct etmv3_bytes *in, uint32_t left, uint32_t value)
{
    in->left = left;
    in->value = value;
}

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

/* etmv3_follow_plain.c */
void etmv3_follow_plain(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out);

/* etmv3_follow_cycles.c */
void etmv3_follow_cycles(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out);

#endif
