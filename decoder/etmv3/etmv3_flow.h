/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for ETMv3: packets and the program image -> executed blocks and events.
 * IHI 0014Q: 7.3 (atoms, branches, cancelling), 7.4 (data), 7.10.5 (I-sync), 7.13 (cycles).
 *
 * Every instruction has an atom. A block ends with a taken branch, with an instruction that failed
 * its condition, before an event, and in cycle-accurate mode with every instruction: its count is
 * that of the cycles since the instruction before it.
 *
 * The latest instruction may be cancelled by a branch packet that comes much later, so the block
 * that it ends, and the events behind it, are pending until the next atom or an exception that
 * cancels nothing (IHI 0014Q 7.3).
 */
#ifndef DECODER_ETMV3_FLOW_H
#define DECODER_ETMV3_FLOW_H

#include "decoder/etmv3/etmv3.h"
#include "decoder/flow/flow_core.h"

#define ETMV3_QUEUE 24 /* events that wait behind the pending block; more release it */

enum etmv3_branched {
    ETMV3_BRANCHED_NOT,
    ETMV3_BRANCHED_DIRECT, /* a taken branch: a packet may tell its target */
    ETMV3_BRANCHED_PACKET, /* a branch packet: others may follow it */
};

struct etmv3_pending_block {
    uint64_t first;
    uint64_t cycles;
    uint32_t extent;
    uint32_t count; /* 0: nothing is pending */
    uint8_t isa;
    uint8_t cond;
};

/* Whose data is coming (IHI 0014Q 7.4.2), and where its next transfer goes. */
struct etmv3_data {
    uint64_t owner;   /* number of the latest data instruction */
    uint64_t scanned; /* instructions looked at so far, from the start of the stream */
    uint64_t next;
    bool has_owner;
    bool has_next;
    bool store;
    bool no_address; /* a coprocessor register transfer */
    uint8_t bytes;
};

/* An out-of-order placeholder that waits for its value (IHI 0014Q 7.4). */
struct etmv3_waiting {
    uint64_t offset;
    uint64_t address;
    struct etmv3_data data;
    bool used;
    bool has_address;
};

/*
 * See struct flow_core for copies. core.cur.address is where the range begins that execution is in:
 * `done` of its instructions have been executed, those from `begin` on are the open block, with
 * `joined` ones of the ranges right before.
 */
struct etmv3_flow {
    struct flow_core core;
    struct etmv3_config config;
    uint64_t first;       /* where the open block begins, or will begin */
    uint64_t last;        /* address of the last instruction put out, or joined */
    uint64_t waited;      /* W atoms since the last instruction */
    uint32_t gap_waited;  /* those that the latest trace-on found */
    uint32_t due_changes; /* how often `count_due` was set anew */
    uint32_t begin, done, joined;
    uint32_t near_index, near_offset; /* place of an instruction of the range, to go on from */
    uint8_t last_isa;
    bool synced;         /* an I-sync was seen since the last loss */
    bool pending;        /* an indirect branch was executed: its branch packet must come */
    bool blind;          /* reserved state: nothing is followed until the next I-sync */
    bool return_pending; /* an exception return of M profile may be cancelled: IHI 0014Q 7.5 */
    bool count_due;      /* the latest trace-on has no cycle count yet */
    bool has_deferred;
    uint8_t branched; /* enum etmv3_branched: what came last */
    uint8_t since;    /* atoms since the latest trace-on, up to 2 */
    uint8_t reason;   /* of the latest trace-on */
    uint8_t queued;
    uint8_t keyed; /* 1: `queue` tells of another context or security state than `key` */
    struct etmv3_pending_block pending_block;
    struct etmv3_packet deferred; /* an I-sync that waits for its cycle count */
    struct etmv3_data data;
    struct etmv3_waiting waiting[3];
    struct bt_event queue[ETMV3_QUEUE];
    struct code_key key; /* if `keyed`: who has executed what is pending */
};

/* As each protocol's: decoder/flow/flow.h. */
void etmv3_flow_init(struct etmv3_flow *f, const struct etmv3_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation);
size_t etmv3_flow_run(struct etmv3_flow *f, const struct etmv3_packet *packets, size_t count,
                      struct flow_out *out);
void etmv3_flow_gap(struct etmv3_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out);

/* The code is about to change, at `offset`: what was executed is told by the code of before, and of
 * what is pending only the last instruction stays. Needs room for a packet. */
void etmv3_flow_commit(struct etmv3_flow *f, uint64_t offset, struct flow_out *out);

/* No more packets: what is pending is put out. */
void etmv3_flow_finish(struct etmv3_flow *f, struct flow_out *out);

/* Where execution goes on behind the last instruction put out. False if that is not known. */
bool etmv3_flow_position(const struct etmv3_flow *f, uint64_t *address, enum bt_isa *isa);

/*
 * The fast path from bytes to blocks, past the packets: P-headers and branch packets that go along
 * code that has been looked up before, most bytes of any ETMv3 stream without data trace. The
 * states of both stages are then those that the slow path would have left. Takes what bytes it can:
 * none where state or configuration do not allow it; stops before the first packet that is not
 * simple, or when `out` has less than FLOW_SLACK room left. Returns the bytes taken, and adds their
 * packets to *packets.
 */
size_t etmv3_fast(struct etmv3 *p, struct etmv3_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets);

#endif
