/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for ETMv4 and ETE: packets and the program image -> executed blocks and
 * events. IHI 0064H.b: speculation, exceptions, return stack; ETE: DDI 0487L.a chapters D4 and D5.
 * */
#ifndef DECODER_ETMV4_FLOW_H
#define DECODER_ETMV4_FLOW_H

#include "decoder/etmv4/etmv4.h"
#include "decoder/etmv4/etmv4_queue.h"
#include "decoder/flow/flow_core.h"

#define ETMV4_RETURN_STACK 16 /* at least as deep as any trace unit's */

struct etmv4_return {
    uint64_t address;
    struct code_range *from; /* the call, while flow_ranges_valid(): not in a copy */
    uint8_t isa;             /* or ETMV4_RETURN_FOREIGN */
};

/* From before the place where decoding began (stream_join.h): its address is not known here. */
#define ETMV4_RETURN_FOREIGN 0xff

/* What the next address element is for. */
enum etmv4_wait {
    ETMV4_WAIT_NONE,   /* where execution goes on */
    ETMV4_WAIT_RETURN, /* preferred return address of `exception` */
    ETMV4_WAIT_VECTOR, /* where `exception` went; it is put out with it */
    ETMV4_WAIT_Q,      /* where the instructions of `q` led */
};

/* LOST to TRACED at a Trace Info, to INFORMED with the first context; from each to LOST. */
enum etmv4_sync {
    ETMV4_SYNC_LOST,
    ETMV4_SYNC_TRACED,   /* a Trace Info was seen since the last loss */
    ETMV4_SYNC_INFORMED, /* context is known: addresses can be followed */
};

/* Of the indirect branch that was taken last. */
enum etmv4_branch {
    ETMV4_BRANCH_NONE, /* its address is known */
    ETMV4_BRANCH_DUE,  /* an address packet must follow */
    ETMV4_BRANCH_POPS, /* an address, or with the next E or N the return stack, decides */
};

/* How far the packet at hand is. */
enum etmv4_hand {
    ETMV4_HAND_NEW,
    ETMV4_HAND_QUEUED,     /* it is in the queue, its output is not complete */
    ETMV4_HAND_MISCOUNTED, /* it cannot be right; what is in the queue goes */
};

struct etmv4_held {
    struct etmv4_packet packet; /* if held */
    bool held;
};

/* See struct flow_core for copies. */
struct etmv4_flow {
    struct flow_core core;
    struct etmv4_config config;
    uint64_t last_p0;          /* address of the last P0 instruction put out */
    struct bt_event exception; /* while `wait` says so */
    struct etmv4_packet q;
    struct etmv4_held early;   /* an address without context: it waits for that */
    struct etmv4_held handler; /* context of an exception's handler: it waits for the vector */
    struct code_range *went;   /* while `branch` says so: the branch; as `from` above */
    uint8_t wait;              /* enum etmv4_wait */
    uint8_t sync;              /* enum etmv4_sync */
    uint8_t branch;            /* enum etmv4_branch */
    uint8_t at_hand;           /* enum etmv4_hand */
    uint8_t exception_address; /* enum etmv4_exception_address */
    uint8_t on_reason;         /* of the trace-on event that the next address makes */
    uint8_t on_cause;
    uint8_t isa_bit; /* of the latest address */
    bool announce;   /* the next address makes a trace-on event */
    bool aarch64;
    bool push_blocked; /* from a periodic Trace Info to the next address */
    bool jumps;        /* the next address need not agree with the code */
    bool marked;       /* a timestamp marker was seen */
    bool cut; /* decoding begins in the middle: the first Trace Info finds a return stack */
    uint8_t rs_count;
    uint8_t rs_top;        /* index of the next free entry */
    uint32_t foreign_pops; /* entries that were wanted and are not known here */
    struct etmv4_return rs[ETMV4_RETURN_STACK];
    struct etmv4_queue queue; /* must be last: copies are kept without its unused end */
};

/* As each protocol's: decoder/flow/flow.h. */
void etmv4_flow_init(struct etmv4_flow *f, const struct etmv4_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation);
size_t etmv4_flow_run(struct etmv4_flow *f, const struct etmv4_packet *packets, size_t count,
                      struct flow_out *out);
void etmv4_flow_gap(struct etmv4_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out);

/* End of the stream: puts out what waits for an address that does not come. False: when there is
 * room again there is more. */
bool etmv4_flow_finish(struct etmv4_flow *f, struct flow_out *out);

/*
 * The fast path from bytes to blocks, past the packets: atoms and addresses that go along code that
 * has been looked up before, most bytes of any ETMv4 stream. The states of both stages are then
 * those that the slow path would have left. Takes what bytes it can: none where the states do not
 * allow it; stops where synchronisation ends or the end of `data` cuts a packet, or when `out` has
 * less than FLOW_SLACK room left. Returns the bytes taken, and adds their packets to *packets.
 */
size_t etmv4_fast(struct etmv4 *p, struct etmv4_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets);

#endif
