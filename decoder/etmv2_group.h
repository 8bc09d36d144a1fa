/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv2 parser share. Private to decoder/etmv2*.c. */
#ifndef DECODER_ETMV2_GROUP_H
#define DECODER_ETMV2_GROUP_H

#include "decoder/etmv2.h"

#define ETMV2_TFO_HEADER(byte) (((byte)&0x1f) == 0)

enum etmv2_parsed {
    ETMV2_NEED_MORE,
    ETMV2_BAD,  /* reserved: header, or address byte */
    ETMV2_DONE, /* p->raw is a packet: it has been filled in and took effect */
};

/* Is what p->raw holds a packet? `tfo`: the group is that of a TFO. */
enum etmv2_parsed etmv2_parse_packet(struct etmv2 *p, bool tfo, struct etmv2_packet *k);

#endif
