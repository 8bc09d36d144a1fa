/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random code, a random legal execution of it with data accesses, its ETMv3 stream, and what really
 * happened. The same seed and options always give the same flow.
 * Used like random_flow.h. */
#ifndef TESTS_SUPPORT_RANDOM_ETMV3_H
#define TESTS_SUPPORT_RANDOM_ETMV3_H

#include "drivers/virtual/encoder/etmv3_encoder.h"
#include "tests/support/random_flow.h"

/*
 * What may happen. Chances are in 1/1000 for each executed instruction, or as stated; 0: never.
 * Events that the encoder options do not trace are harmless.
 */
struct random_etmv3_options {
    struct etmv3_encoder_options encoder; /* its seed is replaced by the seed of the flow */
    unsigned instructions;                /* how many to execute */
    bool a32;                             /* code of this state exists; M profile: T32 only */
    bool t32;
    bool t32_vectors;
    bool no_it_blx; /* no BLX immediate in IT blocks */
    bool it_blocks;
    bool security; /* exceptions, SMC and their returns change the security state */
    bool hyp;      /* HVC */
    bool eret_a32;
    unsigned waypoints;        /* branches in the code, percent */
    unsigned exceptions;       /* interrupts and aborts */
    unsigned back_to_back;     /* percent: another exception at once */
    unsigned cancels;          /* percent of exceptions that cancel the last instruction */
    bool no_preempted_returns; /* M profile: no exception cancels a return */
    unsigned resets;
    unsigned debugs;
    unsigned filters;
    unsigned overflows;
    unsigned in_progress;   /* percent of restarts during a data instruction */
    unsigned underneath;    /* percent of data instructions that others run under */
    unsigned late_values;   /* percent of transfers */
    unsigned filtered_data; /* percent of transfers */
    unsigned suppressions;  /* FIFO nearly full, for some instructions */
    unsigned failed_stores; /* percent of single stores */
    unsigned context_ids;   /* percent, at each exception and its return */
    unsigned vmids;         /* same */
    unsigned scr_writes;    /* Secure to Non-secure without an exception */
    unsigned timestamps;
    unsigned triggers;
    unsigned syncs;
    unsigned flushes;
    bool short_times;   /* timestamps below 2^60 */
    unsigned long_idle; /* hundreds of cycles without an instruction */
};

/* A32 and T32, all events that do not need options of the encoder; 3,000 instructions. */
void random_etmv3_default_options(struct random_etmv3_options *o);

/*
 * One executed instruction. `traced` is false where the trace does not show it: trace was off, lost
 * in an overflow, canceled by an exception.
 */
struct random_etmv3_insn {
    uint64_t address;
    uint64_t cycle;      /* cycle-accurate: W atoms since the region began, its own included */
    uint32_t region;     /* number of I-syncs with a reason so far */
    uint32_t context_id; /* as the trace shows it */
    uint8_t isa;
    uint8_t size; /* bytes */
    uint8_t cond; /* enum bt_cond: PASS or FAIL */
    uint8_t security;
    bool traced;
    bool canceled;
};

/* One transfer that the trace shows at least in part, in the order of packets. */
struct random_etmv3_access {
    uint64_t offset;       /* of its packet; of the placeholder if its value came late */
    uint64_t value_offset; /* of the packet with the value */
    size_t insn;           /* index in insns; SIZE_MAX: entry, return of M profile, data-only */
    uint32_t address;
    uint32_t value;
    uint8_t size;
    bool store;
    bool has_address; /* traced, or follows from the one before */
    bool has_value;
    bool cprt;
    bool failed;   /* a store that did not store */
    bool canceled; /* with its instruction */
    bool lost;     /* value was late and did not come before the end or a gap */
};

/*
 * Events as in random_flow.h, with these differences: `position` counts instructions that are
 * traced in the end; TRACE_ON has the cycles since the last instruction, if known, be it from a
 * later packet; EXCEPTION has in `cycles` 0, or the index of the instruction that it cancels plus
 * 1; in M profile architectural numbers and m_profile; no has_return where the return address is
 * not in the trace.
 */
struct random_etmv3 {
    struct trace_bytes trace;
    struct random_flow_region *regions;
    size_t region_count;
    struct random_etmv3_insn *insns;
    size_t insn_count;
    size_t traced_count;
    struct bt_event *events;
    size_t event_count;
    struct random_etmv3_access *accesses;
    size_t access_count;
    uint64_t packets[ETMV3_PACKET_KINDS];
    struct random_etmv3_work *work; /* private */
};

/* 0; BT_ERR_NOMEM; BT_ERR_INVAL (options). Call random_etmv3_release() in any case. */
int random_etmv3_init(struct random_etmv3 *f, uint64_t seed, const struct random_etmv3_options *o);
void random_etmv3_release(struct random_etmv3 *f);

/* As random_flow_read(). */
size_t random_etmv3_read(const struct random_etmv3 *f, uint64_t address, uint8_t *bytes,
                         size_t size);

#endif
