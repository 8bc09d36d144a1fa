/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv4 flow: etmv4_flow.c takes elements, etmv4_flow_atoms.c follows the code,
 * etmv4_flow_exception.c has exceptions. */
#ifndef DECODER_ETMV4_FLOW_PARTS_H
#define DECODER_ETMV4_FLOW_PARTS_H

#include "decoder/etmv4_flow.h"

/* n atoms, oldest in bit 0; bit set: E. */
void etmv4_flow_atoms(struct etmv4_flow *f, uint64_t offset, uint32_t atoms, unsigned n,
                      struct flow_out *out);

/* A P0 element comes: an indirect branch that got no address went where the return stack says. */
void etmv4_flow_resolve(struct etmv4_flow *f, uint64_t offset, struct flow_out *out);

/* Where execution goes on: as the code has it, or a trace-on or a gap tells that it does not. */
void etmv4_flow_go_on(struct etmv4_flow *f, uint64_t offset, uint64_t address, uint8_t isa,
                      struct flow_out *out);

/* Who executes from here on: what `k` says of it. */
void etmv4_flow_context(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* Digest 6.17: straight on to the P0 instruction at k->value, which was taken. */
void etmv4_flow_source(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);

/* Digest 6.16: f->q ran, and led to `address`. */
void etmv4_flow_q(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out);

/* Digest 8. The exception that waits goes out without a vector when no address came. */
void etmv4_flow_exception(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out);
void etmv4_flow_return_address(struct etmv4_flow *f, uint64_t address, uint8_t isa,
                               struct flow_out *out);
void etmv4_flow_vector(struct etmv4_flow *f, uint64_t address, uint8_t isa, struct flow_out *out);
void etmv4_flow_no_vector(struct etmv4_flow *f, struct flow_out *out);

#endif
