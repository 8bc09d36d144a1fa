/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for PTM: packets and the program image -> executed blocks and events.
 * Implements the decompressor operations of IHI 0035B B.3.2, with corrections; exceptions:
 * IHI 0035B chapter 5; return stack: IHI 0035B chapter 4. */
#ifndef DECODER_PTM_FLOW_H
#define DECODER_PTM_FLOW_H

#include "decoder/flow/flow_core.h"
#include "decoder/ptm/ptm.h"

#define PTM_RETURN_STACK 16 /* at least as deep as any trace unit's */

struct ptm_return {
    uint32_t address;
    uint8_t isa;
    uint8_t security;
};

/* See struct flow_core for copies. */
struct ptm_flow {
    struct flow_core core;
    struct ptm_config config;
    uint64_t last_waypoint; /* address of the last waypoint output */
    bool synced;            /* an I-sync was seen since the last loss */
    uint8_t rs_count;
    uint8_t rs_top; /* index of the next free entry */
    struct ptm_return rs[PTM_RETURN_STACK];
    /* The calls, while flow_ranges_valid(): not in a copy. Must be last:
     * copies are kept without. */
    struct code_range *rs_from[PTM_RETURN_STACK];
};

/* As each protocol's: decoder/flow/flow.h. */
void ptm_flow_init(struct ptm_flow *f, const struct ptm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation);
size_t ptm_flow_run(struct ptm_flow *f, const struct ptm_packet *packets, size_t count,
                    struct flow_out *out);
void ptm_flow_gap(struct ptm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out);

/*
 * The fast path from bytes to blocks, past the packets: atoms and branch packets that go along code
 * that has been looked up before, most bytes of any PTM stream. The states of both stages are then
 * those that the slow path would have left. Takes what bytes it can: none where the states do not
 * allow it; stops before the first packet that is rare, or when `out` has less than FLOW_SLACK room
 * left. Returns the bytes taken, and adds their packets to *packets.
 */
size_t ptm_fast(struct ptm *p, struct ptm_flow *f, const uint8_t *data, size_t len,
                struct flow_out *out, uint64_t *packets);

#endif
