/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random code, a random legal execution of it, the PTM stream of that execution, and what really
 * happened. The same seed and options always give the same flow.
 *
 * Usage:
 *     struct random_flow f;
 *     struct random_flow_options o;
 *     random_flow_default_options(&o);
 *     if (random_flow_init(&f, seed, &o) == 0) {
 *         decode f.trace against f.regions, compare with f.insns and f.events
 *     }
 *     random_flow_release(&f);
 */
#ifndef TESTS_SUPPORT_RANDOM_FLOW_H
#define TESTS_SUPPORT_RANDOM_FLOW_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/ptm_encoder.h"

/*
 * What may happen. Chances are in 1/1000 for each executed instruction, or as stated; 0: never.
 * Events that the encoder options do not trace are harmless.
 */
struct random_flow_options {
    struct ptm_encoder_options encoder; /* its seed is replaced by the seed of the flow */
    unsigned instructions;              /* how many to execute */
    bool a32;                           /* code of this state exists; at least one of the two */
    bool t32;
    bool t32_vectors;      /* exceptions are taken in T32 state (if there is T32 code) */
    bool no_it_blx;        /* no BLX immediate in IT blocks (OpenCSD follows a failed one to A32) */
    bool it_blocks;        /* T32 code has IT blocks */
    bool svc_insns;        /* code has SVC, UDF */
    bool smc_insns;        /* code has SMC */
    bool hvc_insns;        /* code has HVC; entry to Hyp mode (virtualization, v1.1) */
    bool eret_a32;         /* A32 code has ERET */
    bool security;         /* exceptions and their returns change between Secure and Non-secure */
    bool large_blocks;     /* some straight runs of more than 4096 bytes */
    unsigned waypoints;    /* share of waypoints in the code, percent, default 30 */
    unsigned exceptions;   /* IRQ, FIQ, aborts, generic */
    unsigned back_to_back; /* chance in 100 that another exception follows an exception at once */
    unsigned resets;
    unsigned debugs;
    unsigned filters; /* trace off and later on */
    unsigned overflows;
    unsigned context_ids; /* chance in 100 at each ISB, exception and exception return */
    unsigned vmids;       /* same */
    unsigned scr_writes;  /* Secure to Non-secure without an exception */
    unsigned timestamps;  /* explicit requests */
    unsigned triggers;
    unsigned syncs;   /* explicit requests */
    unsigned flushes; /* WFI */
};

/* A32 and T32, return stack off, all events that any PTM has; 5,000 instructions. */
void random_flow_default_options(struct random_flow_options *o);

/* Code memory: little-endian, at least 4 readable bytes behind the last instruction. */
struct random_flow_region {
    uint64_t address;
    uint8_t *bytes;
    size_t size;
};

/*
 * One executed instruction. `traced` is false where the trace does not show it: trace was off, in
 * an overflow, behind the last waypoint when trace stopped, before a reset. `cond` is what
 * the trace tells: PASS or FAIL for waypoints by atom or branch packet, else UNKNOWN.
 */
struct random_flow_insn {
    uint64_t address;
    uint8_t isa;  /* enum bt_isa */
    uint8_t size; /* bytes */
    uint8_t cond; /* enum bt_cond */
    bool traced;
    bool waypoint;       /* an atom or branch packet stands for it */
    bool closes;         /* last instruction of a range: waypoint, or named by a waypoint update */
    bool information;    /* its branch packet reports a new security state */
    uint8_t security;    /* enum bt_security it ran in */
    uint32_t context_id; /* in force for it as the trace shows it */
};

/*
 * Flow f. All memory belongs to it.
 *
 * Events are those that the trace shows, in stream order, in the terms of struct bt_event:
 * `position` counts *traced* instructions only (position of the traced instruction that follows).
 *   TRACE_ON       reason = that of the I-sync, 1..3; address, isa = first instruction; cycles
 *   EXCEPTION      number; return_address = next instruction that would have run (not for reset),
 *                  return_isa; vector (number 1: 0); cycles
 *   EXCEPTION_RET  the traced instruction before is an exception return
 *   CONTEXT, VMID  id. CONTEXT also for an I-sync that changes the value
 *   TIMESTAMP      value = decoded time (binary); rate_changed = R bit; cycles
 *   TRIGGER
 * `offset` is where the packet begins in `trace`. No GAP or STATE events are recorded: a gap is in
 * front of each TRACE_ON but the first, by its reason.
 */
struct random_flow {
    struct trace_bytes trace; /* one source, no frames */
    struct random_flow_region *regions;
    size_t region_count;
    struct random_flow_insn *insns; /* all that ran, in order */
    size_t insn_count;
    size_t traced_count; /* of them traced */
    struct bt_event *events;
    size_t event_count;
    uint64_t cycles; /* sum of all counts in the stream */
    uint64_t packets[PTM_PACKET_KINDS];
    struct random_flow_work *work; /* private */
};

/* 0; BT_ERR_NOMEM; BT_ERR_INVAL (options). Call random_flow_release() in any case. */
int random_flow_init(struct random_flow *f, uint64_t seed, const struct random_flow_options *o);
void random_flow_release(struct random_flow *f);

/*
 * Reads code as a decoder's memory callback does: up to `size` bytes at `address`, from one
 * region. Returns the number of bytes copied, 0 if nothing is there.
 */
size_t random_flow_read(const struct random_flow *f, uint64_t address, uint8_t *bytes, size_t size);

#endif
