/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pins of an ETMv2 port say in one cycle. Private to decoder/etmv2*.c. */
#ifndef DECODER_ETMV2_PINS_H
#define DECODER_ETMV2_PINS_H

#include "decoder/etmv2/etmv2.h"

/* PIPESTAT and TRACEPKT out of the bits that are captured of a cycle (digest 3, 4.1, 12). */
void etmv2_read_pins(const struct etmv2_config *config, const struct port_cycle *raw,
                     struct etmv2_cycle *c);

/* Is it a TFO? A TD that is none is idle, or a wait cycle (digest 4.2, 8.3, 8.5). */
bool etmv2_is_tfo(const struct etmv2_config *config, const struct etmv2_cycle *c);

/* Digest 8.3: from TRACEPKT[3:1], and from TRACEPKT[7:4] or the next nibble of a 4-bit port. */
uint8_t etmv2_tfo_number(const struct etmv2_config *c, unsigned three, unsigned four);

#endif
