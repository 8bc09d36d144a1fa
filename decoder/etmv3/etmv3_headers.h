/* SPDX-License-Identifier: BSD-3-Clause */
/* What each P-header says: IHI 0014Q 7.3.1. Private to decoder/etmv3*.c. */
#ifndef DECODER_ETMV3_HEADERS_H
#define DECODER_ETMV3_HEADERS_H

#include "decoder/etmv3/etmv3.h"

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

#define ETMV3_EXC_EXIT 0x76 /* header */

/* The packet of a header that is one byte long, without its offset. */
struct etmv3_single {
    struct etmv3_packet packet;
    uint8_t versions; /* as above; 0: no such packet */
};

/* Index: header / 2; of even ones. P-headers, and returns from exceptions. */
#define ETMV3_SINGLES 128
extern const struct etmv3_single etmv3_plain_singles[ETMV3_SINGLES];
extern const struct etmv3_single etmv3_cycle_singles[ETMV3_SINGLES];

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
