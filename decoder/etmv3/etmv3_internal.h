/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv3 parser share. Private to decoder/etmv3*.c. */
#ifndef DECODER_ETMV3_INTERNAL_H
#define DECODER_ETMV3_INTERNAL_H

#include "decoder/etmv3/etmv3.h"

#define ETMV3_END_MARKER 0x01 /* header: of a branch, or the end of an unformatted capture */

/* One packet that is no A-sync; c->p ends behind it. PACKET_BAD: k->kind says what it is. */
int etmv3_parse_packet(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k);

/* A branch packet: the cursor stands at the first address byte. */
int etmv3_parse_branch(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k);

/* Address bits in the first four bytes of a branch packet: 6, then 7 each. */
static inline uint32_t etmv3_address_bits(uint32_t w)
{
    return (w >> 1 & 0x3f) | (w >> 2 & 0x1fc0) | (w >> 3 & 0xfe000) | (w >> 4 & 0x7f00000);
}

/* What a short branch packet is relative to, and how it is written. */
struct etmv3_form {
    uint32_t address;
    uint8_t shift; /* bits that addresses leave out */
    bool alternative;
};

static inline struct etmv3_form etmv3_form(const struct etmv3 *p)
{
    return (struct etmv3_form){.address = p->base.address,
                               .shift = (0x012u >> 4 * p->base.isa) & 3, /* Jazelle, T32, A32 */
                               .alternative = p->config.alternative};
}

/* A branch packet of up to four address bytes, without exception information. */
struct etmv3_short {
    uint32_t address;
    uint8_t size;
};

/* The packet at `b`; false if it is another one, or might be. Takes no branches that depend on its
 * length: nobody could predict them. */
static inline bool etmv3_short_branch(const struct etmv3_form *f, const uint8_t *b,
                                      const uint8_t *end, struct etmv3_short *k)
{
    if (end - b < 4)
        return false;
    uint32_t w = bytes_word(b);
    uint32_t stop = ~w & 0x80808080u;                 /* the lowest bit: in the last byte */
    if (!(w & 1) || (w & 0xffff) == 0x0001u || !stop) /* 01 00: the end of the capture? */
        return false;
    unsigned place = (unsigned)__builtin_ctz(stop);
    unsigned short_byte = f->alternative & (place > 7);
    if (short_byte & w >> (place - 1))
        return false;
    uint32_t mask = (1u << (6 + 7 * (place / 8) - short_byte + f->shift)) - 1;
    k->address = (f->address & ~mask) | (etmv3_address_bits(w) << f->shift & mask);
    k->size = (uint8_t)(place / 8 + 1);
    return true;
}

/*
 * A branch packet of any length, as exceptions have it, whole in the bytes at hand, into
 * the cleared *k. Returns its size; 0: it is something else.
 */
size_t etmv3_exception_packet(struct etmv3 *p, const uint8_t *data, const uint8_t *end,
                              struct etmv3_packet *k);

/*
 * Synced, not in data-only mode, at a header: branches and packets of one byte,
 * which most of a stream is, as many as there are. Adds packets, `max` at most, to *count; returns
 * bytes consumed: up to a packet of another kind, or one that is not whole.
 */
size_t etmv3_parse_frequent(struct etmv3 *p, const uint8_t *data, size_t len,
                            struct etmv3_packet *out, size_t max, size_t *count);

/* Instruction set and security state as packets carry them. */
static inline uint8_t etmv3_state(const struct etmv3 *p, const struct etmv3_base *base)
{
    uint8_t isa = base->isa == BT_ISA_T32 && base->alt_isa ? BT_ISA_T32EE : base->isa;
    enum bt_security security = base->ns ? BT_SEC_NONSECURE : BT_SEC_SECURE;
    if (base->hyp && p->config.virtualization)
        security = BT_SEC_HYP;
    return (uint8_t)(isa | security << 4);
}

/* What each P-header says: IHI 0014Q 7.3.1. */
struct etmv3_header {
    uint8_t versions; /* bit v: it has this meaning in ETMv3.v; 0: reserved */
    uint8_t n;        /* atoms */
    uint8_t value;    /* of the atoms as in struct etmv3_packet */
    uint8_t cycles;   /* W atoms */
    uint8_t before;   /* those that stand before the first atom */
    uint8_t passed;   /* E atoms before the first N */
    uint8_t each;     /* 1: a W before each atom */
    uint8_t failed;   /* with cycles: bit i: atom i is N, the oldest is number 0 */
};

/* Index: (header - 0x80) / 2. */
#define ETMV3_HEADERS 64
extern const struct etmv3_header etmv3_plain_headers[ETMV3_HEADERS];
extern const struct etmv3_header etmv3_cycle_headers[ETMV3_HEADERS];

/* The packet of a header that is one byte long, without its offset. */
struct etmv3_single {
    struct etmv3_packet packet;
    uint8_t versions; /* as of a header; 0: no such packet */
};

/* Index: header / 2; of even ones. P-headers, and returns from exceptions. */
#define ETMV3_SINGLES 128

extern const struct etmv3_single etmv3_plain_singles[ETMV3_SINGLES];
extern const struct etmv3_single etmv3_cycle_singles[ETMV3_SINGLES];

#define ETMV3_EXC_EXIT 0x76 /* header */

static inline bool etmv3_is_pheader(uint8_t byte)
{
    return (byte & 0x81) == 0x80;
}

/* ETMV3_* of its packet. */
static inline uint16_t etmv3_header_flags(const struct etmv3_header *h)
{
    return (uint16_t)(h->each * ETMV3_W_EACH);
}

static inline const struct etmv3_header *etmv3_header_table(const struct etmv3_config *config)
{
    return config->cycle_accurate ? etmv3_cycle_headers : etmv3_plain_headers;
}

#endif
