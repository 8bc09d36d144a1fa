/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for ETMv2: packets and the program image -> executed blocks and events.
 * IHI 0014Q chapter 6: data packets 6.4, TFO 6.5, branches 6.7.1.
 *
 * The latest instruction is pending, with the events behind it, until the next one: a branch
 * packet with the E bit may still cancel it. Its data goes with it.
 */
#ifndef DECODER_ETMV2_FLOW_H
#define DECODER_ETMV2_FLOW_H

#include "decoder/etmv2/etmv2.h"
#include "decoder/flow/access.h"
#include "decoder/flow/flow_cursor.h"

#define ETMV2_PENDING_EVENTS 24 /* more make the pending instruction final */

/* An event that waits for the pending instruction to be final. */
struct etmv2_pending_event {
    uint64_t offset;
    uint64_t owner; /* data: number of the instruction, if `owned` */
    uint32_t address;
    uint32_t value;
    uint8_t kind;  /* enum bt_event_kind */
    uint8_t bytes; /* data */
    bool owned;
    bool has_address;
    bool has_value;
    bool store;
};

/* Whose data packets are coming: the latest instruction that transfers data. */
struct etmv2_access {
    uint64_t number;  /* of the instruction, if `owned` */
    uint32_t address; /* of the next transfer */
    bool owned;
    bool open; /* a load that missed: its value is still to come */
    bool has_address;
    bool store;
    bool high_first; /* the higher word of a doubleword comes first */
    bool swap;       /* SWP: a load, then a store to the same address */
    uint8_t bytes;   /* of one transfer; 0: not known */
};

/* What gave the position that execution has reached. */
enum etmv2_arrival {
    ETMV2_BY_CODE,         /* the instruction before it */
    ETMV2_BY_BRANCH,       /* a packet with its address, and no instruction ran since */
    ETMV2_BY_EXCEPTION,    /* same, and it is a vector */
    ETMV2_BY_TFO,          /* tracing began there, and no instruction ran since */
    ETMV2_FIRST_SINCE_TFO, /* the one instruction since then */
};

/* See struct flow_core for copies. */
struct etmv2_flow {
    struct flow_cursor cursor;
    struct etmv2_config config;
    bool synced;          /* a TFO was seen since the last loss */
    bool waiting;         /* an indirect branch was executed: its packet must come */
    bool pending;         /* `step` is the latest instruction, not put out yet */
    bool pending_data;    /* which transfers data */
    uint8_t arrival;      /* enum etmv2_arrival */
    uint8_t pending_cond; /* enum bt_cond */
    uint8_t event_count;
    struct flow_cursor_step step;
    uint64_t pending_cycles;
    struct etmv2_access access;
    struct etmv2_access miss[4]; /* by tag; 0: unused */
    uint32_t first_half;         /* value of a 64-bit load's first packet */
    bool has_first_half;
    struct etmv2_pending_event events[ETMV2_PENDING_EVENTS];
};

/* As each protocol's: decoder/flow/flow.h. ETMV2_END puts out what is pending. */
void etmv2_flow_init(struct etmv2_flow *f, const struct etmv2_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation);
size_t etmv2_flow_run(struct etmv2_flow *f, const struct etmv2_packet *packets, size_t count,
                      struct flow_out *out);
void etmv2_flow_gap(struct etmv2_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out);

#endif
