/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ITM and DWT packets say, as events; there are no blocks. DDI 0403E.e appendix D4.
 *
 * Events stand in stream order: a local timestamp holds for what stands between it and the one
 * before. The PC or address and the value of one data access, two packets, are one event.
 */
#ifndef DECODER_ITM_FLOW_H
#define DECODER_ITM_FLOW_H

#include "decoder/flow/flow_core.h"
#include "decoder/itm/itm.h"

#define ITM_COMPARATORS 4

struct itm_flow {
    struct flow_core core;
    uint64_t local;      /* sum of the local timestamps, in cycles of their clock */
    uint64_t global;     /* latest global one */
    bool global_known;   /* its high bits, too */
    bool clock_changed;  /* a GTS1 that could not be told as a whole said so */
    bool local_doubtful; /* something was lost since the latest local timestamp */
    uint8_t prescaler;
    uint8_t pending; /* bit n: `half[n]` waits for its value */
    uint64_t latest; /* offset of the latest access that was put out */
    struct bt_event half[ITM_COMPARATORS];
};

/* As each protocol's: decoder/flow/flow.h. There is no code to be followed. */
void itm_flow_init(struct itm_flow *f, const struct itm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation);
size_t itm_flow_run(struct itm_flow *f, const struct itm_packet *packets, size_t count,
                    struct flow_out *out);
void itm_flow_gap(struct itm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out);

/* End of the stream: halves of accesses that were waiting. */
void itm_flow_finish(struct itm_flow *f, struct flow_out *out);

#endif
