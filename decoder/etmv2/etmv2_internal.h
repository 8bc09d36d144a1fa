/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv2 parser share. Private to decoder/etmv2*.c. */
#ifndef DECODER_ETMV2_INTERNAL_H
#define DECODER_ETMV2_INTERNAL_H

#include "decoder/etmv2/etmv2.h"

/* Header of a TFO packet (IHI 0014Q 6.5). */
struct etmv2_tfo_header {
    uint8_t reason;
    bool lsip;
};

/* False: reserved. */
bool etmv2_read_tfo_header(const struct etmv2_config *config, uint8_t byte,
                           struct etmv2_tfo_header *header);

enum etmv2_parsed {
    ETMV2_NEED_MORE,
    ETMV2_BAD,  /* reserved: header, or address byte */
    ETMV2_DONE, /* p->raw is a packet: it has been filled in and took effect */
};

/* Is what p->raw holds a packet? `tfo`: the group is that of a TFO. */
enum etmv2_parsed etmv2_parse_packet(struct etmv2 *p, bool tfo, struct etmv2_packet *k);

#endif
