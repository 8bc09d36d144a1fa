/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the PTM parser: ptm.c finds packets, ptm_packets.c takes any of them apart,
 * ptm_common.c the frequent ones, fast. */
#ifndef DECODER_PTM_INTERNAL_H
#define DECODER_PTM_INTERNAL_H

#include "decoder/ptm.h"

/* ptm_parse_packet() returns 1, or one of these. */
#define PTM_NEED_MORE 0
#define PTM_BAD       (-1)

/* Headers that both of them know (digest 5). */
#define PTM_HDR_UPDATE     0x72
#define PTM_HDR_EXC_RETURN 0x76

/* Bytes of one packet while it is taken apart. */
struct ptm_cursor {
    const uint8_t *p;
    const uint8_t *end;
};

/*
 * One packet that is no A-sync, at c->p, into the cleared *k. c->p ends behind it. The parser's
 * state changes only when the packet is complete.
 */
int ptm_parse_packet(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k);

/*
 * Frequent packets of a synchronised stream, as many as there are whole, up to out[max - 1]. Stops
 * at the first other one. Adds to *count; returns bytes consumed.
 */
size_t ptm_parse_common(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out,
                        size_t max, size_t *count);

/* State of what follows a packet, from LastState: fills isa_state and value. */
static inline enum bt_security ptm_security(const struct ptm *p)
{
    if (p->last_hyp && p->config.virtualization)
        return BT_SEC_HYP;
    return p->last_ns ? BT_SEC_NONSECURE : BT_SEC_SECURE;
}

static inline uint8_t ptm_isa_state(const struct ptm *p, uint8_t isa)
{
    if (isa == BT_ISA_T32 && p->last_alt_isa)
        isa = BT_ISA_T32EE;
    return (uint8_t)(isa | ptm_security(p) << 4);
}

#endif
