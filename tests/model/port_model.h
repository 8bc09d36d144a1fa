/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pin side of an ETMv1 or ETMv2 model: the byte FIFO behind TRACEPKT, and captured cycles as
 * bytes. The FIFO: IHI 0014Q chapters 5 and 6; captures as OpenOCD 0.12 has them.
 *
 * PORT_MODEL_ETB: 32-bit little-endian words as an ETB stores them: three cycles of 8 bits (4-bit
 * port), two of 12 (8-bit port), one of 20 (16-bit port). PORT_MODEL_CYCLES: one cycle in 1, 2 or 4
 * bytes, little-endian. A cycle is PIPESTAT[2:0], TRACEPKT above it, and one more bit above that:
 * TRACESYNC of ETMv1, PIPESTAT[3] of ETMv2.
 */
#ifndef DRIVERS_VIRTUAL_PORT_MODEL_H
#define DRIVERS_VIRTUAL_PORT_MODEL_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

enum port_model_layout {
    PORT_MODEL_ETB,
    PORT_MODEL_CYCLES,
};

#define PORT_MODEL_FIFO 256

/* Plain data. `out` belongs to the caller of port_model_init(). */
struct port_model {
    struct trace_bytes *out;
    enum port_model_layout layout;
    unsigned bits;    /* of TRACEPKT: 4, 8, 16 */
    unsigned word_at; /* ETB: cycles in `word` */
    uint32_t word;
    uint64_t cycles; /* written */
    uint8_t fifo[PORT_MODEL_FIFO];
    bool start[PORT_MODEL_FIFO]; /* first byte of an instruction address: TRACESYNC */
    unsigned head;
    unsigned count; /* whole bytes: without the one that is half out */
    bool half;      /* 4-bit port: the high nibble of `nibble` is still to come */
    uint8_t nibble;
};

/* What TRACEPKT shows in a cycle. */
struct port_model_slot {
    uint16_t pkt;
    uint16_t valid; /* mask of the bits that mean something; 0: no byte */
    bool sync;      /* the first byte of an address begins here */
};

/* ETMv1 on a 16-bit port: when a byte may go alone. An address always begins in the low half. */
enum port_model_lone {
    PORT_MODEL_LONE,         /* always, and addresses begin anywhere: ETMv2 */
    PORT_MODEL_LONE_ALIGNED, /* always, but an address begins in the low half */
    PORT_MODEL_LONE_NEVER,   /* only in front of an address */
};

/* BT_ERR_INVAL: no such port size. */
int port_model_init(struct port_model *p, unsigned bits, enum port_model_layout layout,
                    struct trace_bytes *out);

/* Nothing is lost: the caller sees to it that `size` bytes fit. `start`: of the first one. */
void port_model_push(struct port_model *p, const uint8_t *bytes, unsigned size, bool start);

/* True if nothing is left to be output, not even half a byte. */
bool port_model_empty(const struct port_model *p);

/* Bytes in the FIFO that begin an address and are not out. */
unsigned port_model_starts(const struct port_model *p);

/* What the FIFO puts on TRACEPKT in a cycle that may carry bytes. */
struct port_model_slot port_model_drain(struct port_model *p, enum port_model_lone lone);

/* Writes a captured cycle. `high` is the bit above TRACEPKT. 0 or BT_ERR_NOMEM. */
int port_model_write(struct port_model *p, unsigned pipestat, uint16_t pkt, bool high);

/* Fills the last ETB word up with cycles of `pipestat` and TRACEPKT 0. 0 or BT_ERR_NOMEM. */
int port_model_finish(struct port_model *p, unsigned pipestat);

#endif
