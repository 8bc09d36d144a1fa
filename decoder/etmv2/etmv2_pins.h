/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pins of an ETMv2 port say in one cycle. Private to decoder/etmv2*.c. */
#ifndef DECODER_ETMV2_PINS_H
#define DECODER_ETMV2_PINS_H

#include "decoder/etmv2/etmv2.h"

/* PIPESTAT and TRACEPKT out of the bits that are captured of a cycle (IHI 0014Q chapter 6). */
void etmv2_read_pins(const struct etmv2_config *config, const struct port_cycle *raw,
                     struct etmv2_cycle *c);

/* Is it a TFO? A TD that is none is idle, or a wait cycle (IHI 0014Q 6.5). */
bool etmv2_is_tfo(const struct etmv2_config *config, const struct etmv2_cycle *c);

/* IHI 0014Q 6.5, TFO values: from TRACEPKT[3:1], and from TRACEPKT[7:4] or the next nibble of a
 * 4-bit port. What the text leaves open has two hypotheses. H1: a cycle-accurate wait has 111 in
 * TRACEPKT[3:1]. H2: it has 000 there, and TFO values are 16 too large. */
uint8_t etmv2_tfo_number(const struct etmv2_config *c, unsigned three, unsigned four);

#endif
