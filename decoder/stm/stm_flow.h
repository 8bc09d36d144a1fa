/* SPDX-License-Identifier: BSD-3-Clause */
/* What the packets of an STM say, as events; there are no blocks. MIPI STP 2.2. */
#ifndef DECODER_STM_FLOW_H
#define DECODER_STM_FLOW_H

#include "decoder/flow/flow_core.h"
#include "decoder/stm/stm.h"

struct stm_flow {
    struct flow_core core;
};

/* As each protocol's: decoder/flow/flow.h. There is no code to be followed. */
void stm_flow_init(struct stm_flow *f, const struct stm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation);
size_t stm_flow_run(struct stm_flow *f, const struct stm_packet *packets, size_t count,
                    struct flow_out *out);
void stm_flow_gap(struct stm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out);

#endif
