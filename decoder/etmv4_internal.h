/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv4 parser: etmv4.c finds packets, etmv4_packets.c takes them apart. */
#ifndef DECODER_ETMV4_INTERNAL_H
#define DECODER_ETMV4_INTERNAL_H

#include "decoder/etmv4.h"

/* etmv4_parse_packet() returns 1, or one of these. */
#define ETMV4_NEED_MORE 0
#define ETMV4_BAD       (-1)

/* Bytes of one packet while it is taken apart. */
struct etmv4_cursor {
    const uint8_t *p;
    const uint8_t *end;
};

/*
 * One packet, at c->p, of a stream in which a Trace Info was seen, into the cleared *k; also an
 * extension packet that is no A-sync. c->p ends behind it. The parser's state changes only when the
 * packet is complete.
 */
int etmv4_parse_packet(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);

/* Digest 6.15: atoms and their number for each header; n = 0: not an atom header. */
struct etmv4_atom_header {
    uint32_t value;
    uint8_t n;
};
extern const struct etmv4_atom_header etmv4_atom_headers[256];

#endif
