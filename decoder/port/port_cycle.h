/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cycles of an ETMv1 or ETMv2 trace port out of captured bytes. The port modes (multiplexed,
 * demultiplexed, half-rate) have been undone by whoever captured (IHI 0014Q chapter 8).
 *
 * Two layouts. PORT_ETB: 32-bit little-endian words as they are read from an ETB, in the order of
 * capture, as OpenOCD 0.12 reads them: three cycles of 8 bits for a 4-bit port, two of 12 bits for
 * an 8-bit port, one of 20 bits for a 16-bit port. PORT_CYCLES: the same cycles unpacked, one in 1,
 * 2 or 4 bytes, little-endian (for the 4-bit port that is the raw format of OpenOCD's trace tools).
 * Of a cycle, bits [2:0] are PIPESTAT[2:0], then comes TRACEPKT, and the bit above it is TRACESYNC
 * of ETMv1 and PIPESTAT[3] of ETMv2.
 */
#ifndef DECODER_PORT_CYCLE_H
#define DECODER_PORT_CYCLE_H

#include "btrace/types.h"

enum port_layout { PORT_ETB, PORT_CYCLES, PORT_LAYOUTS };

struct port_format {
    uint8_t bits;   /* of TRACEPKT: 4, 8 or 16 */
    uint8_t layout; /* enum port_layout */
};

struct port_cycle {
    uint16_t pkt;   /* TRACEPKT */
    uint8_t status; /* PIPESTAT[2:0] */
    uint8_t high;   /* the bit above TRACEPKT */
};

/* Plain data; may be copied. */
struct port_reader {
    struct port_format format;
    uint64_t offset; /* of the next byte */
    uint64_t base;   /* offset where the first word after the latest loss begins */
    uint64_t cycles; /* complete ones since `base` */
    uint32_t word;   /* bytes of the current word or record that have come */
    uint8_t at;      /* their number */
};

/* BT_ERR_INVAL: no such port size or layout. */
int port_reader_init(struct port_reader *r, const struct port_format *format);

/* Bytes are missing: the next one is the first of a word. */
void port_reader_restart(struct port_reader *r);

/* Does `byte`, the next one, complete a cycle? Takes nothing. */
bool port_peek(const struct port_reader *r, uint8_t byte, struct port_cycle *cycle);
void port_take(struct port_reader *r, uint8_t byte);

/* Where cycle `index` since `base` begins, from `base` on, and how many bytes it touches. */
uint64_t port_cycle_offset(const struct port_format *format, uint64_t index);
unsigned port_cycle_size(const struct port_format *format);

#endif
