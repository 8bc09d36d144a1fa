/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for the MTB: from where one packet went, along the code, to where the next
 * one begins. DDI 0486B chapter 2. Conditional branches on the way were not taken.
 */
#ifndef DECODER_MTB_FLOW_H
#define DECODER_MTB_FLOW_H

#include "decoder/flow/flow_core.h"
#include "decoder/mtb/mtb.h"

struct mtb_flow {
    struct flow_core core;
    bool announced; /* the events that come before the way to the packet's source were put out */
    bool returning; /* the second packet of an exception's return is due */
    bool gap;       /* right before the packet: it says already that something is missing */
};

/* As each protocol's: decoder/flow/flow.h. A packet that was not taken is given again. */
void mtb_flow_init(struct mtb_flow *f, const struct mtb_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation);
size_t mtb_flow_run(struct mtb_flow *f, const struct mtb_packet *packets, size_t count,
                    struct flow_out *out);
void mtb_flow_gap(struct mtb_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out);

#endif
