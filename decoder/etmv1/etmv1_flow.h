/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for ETMv1: statuses, addresses and the program image -> executed blocks and
 * events. The protocol: IHI 0014Q chapter 5.
 *
 * The bytes of a status come up to a FIFO later than it, so cycles wait in a ring until the oldest
 * has all that is its own.
 */
#ifndef DECODER_ETMV1_FLOW_H
#define DECODER_ETMV1_FLOW_H

#include "decoder/etmv1/etmv1.h"
#include "decoder/flow/access.h"
#include "decoder/flow/flow_cursor.h"

#define ETMV1_RING      512 /* cycles; more than any FIFO and the longest LDM take */
#define ETMV1_ADDRESSES 24  /* complete ones in the ring: an offset counts up to 14 */

/* An instruction address whose branch has not been reached yet. Places count ring entries. */
struct etmv1_target {
    uint64_t offset; /* in the stream */
    uint64_t start;  /* place of its first byte */
    uint64_t end;    /* of its last one */
    uint32_t value;
    uint32_t context;
    uint8_t flags; /* ETMV1_PARTIAL, ETMV1_HAS_CONTEXT; ETMV1_HIGH: ends in the high byte */
    uint8_t reason;
    uint8_t isa;
};

/* A byte of the FIFO's output: the next to be read. */
struct etmv1_cursor {
    uint64_t place;
    bool high; /* 16-bit port: the upper byte of it */
};

/* See struct flow_core for copies. */
struct etmv1_flow {
    struct flow_cursor cursor;
    struct etmv1_config config;
    bool synced;        /* branches and addresses are paired */
    bool ended;         /* no more cycles will come */
    bool aligned;       /* `data` is where the next status's data is, at the earliest */
    bool data_known;    /* data_base is a full address */
    bool reported;      /* a branch packet gave the position, and no instruction ran since */
    bool start_pending; /* `start` was abandoned: the next branch says whether it counts */
    uint32_t data_base;
    struct etmv1_target start;
    struct etmv1_cursor data;
    uint64_t earliest; /* place where the bytes of the next status may begin */
    uint64_t first;    /* places in the ring: oldest, next status, end */
    uint64_t next, end;
    uint64_t address_at; /* place where the address begins that is being received */
    uint64_t next_cycle; /* number of the cycle at `next` */
    uint64_t base;       /* offset of cycle 0 */
    uint16_t target_head, target_count;
    struct etmv1_target targets[ETMV1_ADDRESSES];
    uint16_t pkt[ETMV1_RING]; /* TD: how many */
    uint8_t info[ETMV1_RING];
};

/* As each protocol's: decoder/flow/flow.h. ETMV1_END puts out what is pending. */
void etmv1_flow_init(struct etmv1_flow *f, const struct etmv1_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation);
size_t etmv1_flow_run(struct etmv1_flow *f, const struct etmv1_packet *packets, size_t count,
                      struct flow_out *out);
void etmv1_flow_gap(struct etmv1_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out);

#endif
