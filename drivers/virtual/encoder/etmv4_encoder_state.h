/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv4 model: its state, and the packet level that etmv4_output.c gives it. */
#ifndef DRIVERS_VIRTUAL_ETMV4_ENCODER_STATE_H
#define DRIVERS_VIRTUAL_ETMV4_ENCODER_STATE_H

#include "drivers/virtual/encoder/etmv4_encoder.h"

/* What the stream has told so far; set by packets only. */
struct etmv4_sent {
    struct etmv4_place addresses[3]; /* newest first; A32 stands for IS0 */
    struct etmv4_context context;
    bool aarch64;
    uint64_t time;
};

struct etmv4_encoder {
    struct etmv4_encoder_options options;
    struct trace_bytes *out;
    struct trace_random random;

    bool ete;
    unsigned version; /* minor */
    unsigned context_bytes;
    unsigned vmid_bytes;
    uint64_t cycle_max; /* what the counter holds */
    bool broadcast;
    bool return_stack;
    bool counts;
    bool count_commits; /* cycle count packets carry commits */
    bool timestamps;
    bool markers;
    bool can_ignore;
    bool wait_p0;

    bool on;
    bool lost; /* synchronisation is: A-sync comes first */
    struct etmv4_sent sent;
    struct etmv4_context context;
    struct etmv4_place start; /* where the block since the last P0 element began */
    bool after_branch;        /* the last P0 element is a taken indirect branch, nothing else */
    bool address_due;         /* it must be told */
    bool no_pop;              /* by an address: the return stack may not stand for it */
    bool context_due;         /* even if it is as told */
    bool sync_due;
    bool trace_on_due;

    uint32_t atoms; /* held back, oldest in bit 0 */
    unsigned atom_count;
    unsigned straight; /* newest of them that are N, each told with its position known */
    uint32_t depth;    /* P0 elements that are not committed, with the atoms held back */

    struct etmv4_place stack[ETMV4_MODEL_STACK_MAX];
    unsigned stack_count;

    uint64_t time;
    uint64_t cycles; /* since the last count in the output */
    bool cycles_unknown;
    uint64_t cycle_sum;

    uint64_t bytes_since_async;
    uint64_t packets[ETMV4_SENT_KINDS];
};

/*
 * Packets. All return 0 or BT_ERR_NOMEM. All but the atoms put out first what is held back.
 * `place` of addresses: the state of the instruction there.
 */
int etmv4_out_sync(struct etmv4_encoder *e);
int etmv4_out_flush(struct etmv4_encoder *e);
int etmv4_out_atom(struct etmv4_encoder *e, bool taken);
int etmv4_out_address(struct etmv4_encoder *e, const struct etmv4_place *place);
int etmv4_out_source(struct etmv4_encoder *e, const struct etmv4_place *place);
int etmv4_out_reset(struct etmv4_encoder *e, unsigned type); /* without an address; ETE */
int etmv4_out_exception(struct etmv4_encoder *e, const struct etmv4_exception *x, bool target);
int etmv4_out_cycles(struct etmv4_encoder *e);
int etmv4_out_timestamp(struct etmv4_encoder *e);
int etmv4_out_instrumentation(struct etmv4_encoder *e, unsigned level, uint64_t value);
int etmv4_out_bytes(struct etmv4_encoder *e, enum etmv4_packet_kind kind, const uint8_t *bytes,
                    size_t size);

/* Tells `place` and the context if it is not as told, in one packet or two. */
int etmv4_out_place(struct etmv4_encoder *e, const struct etmv4_place *place);

/* Whether a context packet would say nothing new. */
bool etmv4_out_context_sent(const struct etmv4_encoder *e, bool aarch64);

/* Tells the context alone if it is not as told. */
int etmv4_out_context(struct etmv4_encoder *e, bool aarch64);

/* etmv4_speculation.c: all return 0 or BT_ERR_NOMEM, and do nothing where MAXSPEC is 0. */
int etmv4_spec_commit(struct etmv4_encoder *e, uint32_t count);
int etmv4_spec_commit_some(struct etmv4_encoder *e);
int etmv4_spec_commit_all(struct etmv4_encoder *e);
int etmv4_spec_wrong_path(struct etmv4_encoder *e);

/* Counts a P0 element. More than MAXSPEC are committed without a packet. */
void etmv4_spec_count(struct etmv4_encoder *e);

/* An atom that says the wrong thing, and the packet that turns it round. */
int etmv4_spec_mispredict(struct etmv4_encoder *e, bool taken);

#endif
