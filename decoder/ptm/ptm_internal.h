/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the PTM parser: ptm.c takes any packet apart, ptm_common.c the frequent ones, fast. */
#ifndef DECODER_PTM_INTERNAL_H
#define DECODER_PTM_INTERNAL_H

#include "decoder/ptm/ptm.h"

/* Headers that both of them know (IHI 0035B table 4-1). */
#define PTM_HDR_UPDATE     0x72
#define PTM_HDR_EXC_RETURN 0x76

/*
 * Frequent packets of a synchronised stream, as many as there are whole, up to out[max - 1]. Stops
 * at the first other one. Adds to *count; returns bytes consumed.
 */
size_t ptm_parse_common(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out,
                        size_t max, size_t *count);

/* IHI 0035B 4.5.3: atoms and their number for each header of a stream that is not cycle-accurate.
 * Index: (header - 0x80) / 2; n = 0: not an atom header. */
struct ptm_atom_header {
    uint8_t value;
    uint8_t n;
};
extern const struct ptm_atom_header ptm_atom_headers[64];

/* Rest of a count (IHI 0035B 4.5.3) behind the n bytes at `b`; false: not all of it is there. */
static inline bool ptm_more_count(const uint8_t *b, size_t len, unsigned *n, bool more,
                                  uint32_t *count)
{
    for (unsigned shift = 4; more && shift < 32; shift += 7) {
        if (*n == len)
            return false;
        uint8_t byte = b[(*n)++];
        *count |= (uint32_t)(byte & 0x7f) << shift;
        more = byte & 0x80;
    }
    return true;
}

/* An address of one to four bytes. */
struct ptm_short {
    uint32_t address;
    unsigned bytes;
    bool e; /* bit 6 of the last of several bytes */
};

/* Bits that the addresses of LastState's instruction set leave out. */
static inline unsigned ptm_shift(const struct ptm *p)
{
    static const uint8_t shifts[] = {[BT_ISA_A32] = 2, [BT_ISA_T32] = 1, [BT_ISA_JAZELLE] = 0};
    return shifts[p->last_isa];
}

/* Relative to `base`. False: it has five bytes, or may have. Takes no branches that depend on the
 * number of bytes: nobody could predict them. */
static inline bool ptm_short_address(uint32_t base, unsigned shift, const uint8_t *b, size_t len,
                                     struct ptm_short *a)
{
    if (len < 4)
        return false;
    uint32_t w = bytes_word(b);
    uint32_t stop = ~w & 0x80808080u; /* the lowest bit: in the last byte */
    if (!stop)
        return false;
    unsigned place = (unsigned)__builtin_ctz(stop);
    unsigned several = place > 7;
    a->bytes = place / 8 + 1;
    a->e = several & w >> (place - 1);
    uint32_t mask = (1u << (7 * a->bytes - 1 - several + shift)) - 1;
    uint32_t value =
        (w >> 1 & 0x3f) | (w >> 2 & 0x1fc0) | (w >> 3 & 0xfe000) | (w >> 4 & 0x7f00000);
    a->address = (base & ~mask) | (value << shift & mask);
    return true;
}

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
