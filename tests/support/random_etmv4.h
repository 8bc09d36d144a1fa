/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random code, a random legal execution of it, its ETMv4 or ETE stream, and what really happened.
 * The same seed and options always give the same flow. Used as random_flow.h.
 */
#ifndef TESTS_SUPPORT_RANDOM_ETMV4_H
#define TESTS_SUPPORT_RANDOM_ETMV4_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "tests/support/random_flow.h"

/* Chances are in 1/1000 for each executed instruction, or as stated; 0: never. */
struct random_etmv4_options {
    struct etmv4_encoder_options encoder; /* its seed is replaced by the seed of the flow */
    unsigned instructions;                /* how many to execute */
    bool a64;                             /* code of this state exists; M profile: T32 alone */
    bool a32;
    bool t32;
    bool it_blocks;
    unsigned branches; /* share of P0 instructions in the code, percent */
    unsigned exceptions;
    unsigned back_to_back; /* chance in 100 that another exception follows at once */
    unsigned resets;       /* ETE */
    unsigned filters;      /* trace off and later on */
    unsigned overflows;
    unsigned discards;
    unsigned contexts; /* chance in 100 at each ISB, exception and exception return */
    unsigned timestamps;
    unsigned events;
    unsigned software; /* ETE 1.3 */
    unsigned syncs;    /* explicit requests */
    unsigned flushes;
};

/* A64, everything that any trace unit has; 2,000 instructions. */
void random_etmv4_default_options(struct random_etmv4_options *o);

/* `cond` is what the trace tells: PASS or FAIL for P0 instructions, else UNKNOWN. */
struct random_etmv4_insn {
    uint64_t address;
    uint32_t context_id;
    uint32_t vmid;
    uint8_t isa;  /* enum bt_isa */
    uint8_t size; /* bytes */
    uint8_t cond; /* enum bt_cond */
    bool traced;
};

/*
 * All memory belongs to the flow. Events are those that the trace shows, in stream order, with
 * `position` counting traced instructions. TRACE_ON: address, isa. EXCEPTION: all, has_vector if
 * the trace tells it. GAP: cause, of an overflow or discard. EXCEPTION_RET. TIMESTAMP: value.
 * SOFTWARE. TRIGGER: an event packet.
 */
struct random_etmv4 {
    struct trace_bytes trace; /* one source, no frames */
    struct random_flow_region regions[10];
    size_t region_count;
    struct random_etmv4_insn *insns; /* all that ran, in order */
    size_t insn_count;
    size_t traced_count;
    struct bt_event *events;
    size_t event_count;
    uint64_t cycles; /* sum of all known counts */
    uint64_t packets[ETMV4_SENT_KINDS];
    struct random_etmv4_work *work; /* private */
};

/* 0; BT_ERR_NOMEM; BT_ERR_INVAL (options). Call random_etmv4_release() in any case. */
int random_etmv4_init(struct random_etmv4 *f, uint64_t seed, const struct random_etmv4_options *o);
void random_etmv4_release(struct random_etmv4 *f);

#endif
