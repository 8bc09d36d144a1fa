/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MTB, the trace buffer of Cortex-M0+, M23 and M33: bytes -> packets of two words, a change of the
 * PC each. DDI 0486B chapter 2.
 *
 * The bytes are the buffer's, oldest packet first. A recording describes the source as a device
 * with `type=MTB`; with POSITION and MASTER in [regs] its file is the RAM of the buffer as it
 * stood, and `struct mtb_config` says where the oldest packet is.
 */
#ifndef DECODER_MTB_H
#define DECODER_MTB_H

#include "btrace/types.h"

#include <stddef.h>

#define MTB_PACKET 8 /* bytes */

struct mtb_config {
    bool as_it_stood;  /* what follows is known */
    bool wrapped;      /* the oldest packet is at the position, else at the beginning */
    uint32_t size;     /* of the buffer, bytes */
    uint32_t position; /* in it, bytes: where the next packet would go */
};

/* From POSITION and MASTER. */
void mtb_config_from_regs(struct mtb_config *config, uint32_t position, uint32_t master);

enum mtb_kind {
    MTB_BRANCH,     /* an instruction at `source` went to `destination` */
    MTB_EXCEPTION,  /* the instruction at `source` would have been next; or an exception's return */
    MTB_INCOMPLETE, /* the buffer ends inside a packet; source = bytes */
};

struct mtb_packet {
    uint64_t offset;
    uint32_t source; /* without the bits that tell the two below */
    uint32_t destination;
    uint8_t kind; /* enum mtb_kind */
    bool start;   /* the first one since trace was started */
};

/* Plain data: a copy is a checkpoint. */
struct mtb {
    uint64_t offset; /* of the next byte */
    uint8_t count;
    uint8_t bytes[MTB_PACKET]; /* begin of a packet */
};

/* As each protocol's: decoder/flow/flow.h; max >= 1, at most one packet at the end. Behind a
 * loss the next byte begins a packet. */
void mtb_init(struct mtb *p, const struct mtb_config *config);
void mtb_discontinuity(struct mtb *p);
size_t mtb_parse(struct mtb *p, const uint8_t *data, size_t len, struct mtb_packet *out, size_t max,
                 size_t *count);
size_t mtb_finish(struct mtb *p, struct mtb_packet *out);

#endif
