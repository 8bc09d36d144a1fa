/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the PTM model: its state, and the packet level that ptm_output.c gives it. */
#ifndef DRIVERS_VIRTUAL_PTM_ENCODER_STATE_H
#define DRIVERS_VIRTUAL_PTM_ENCODER_STATE_H

#include "drivers/virtual/encoder/ptm_encoder.h"

/* What the stream has told so far: the base of compression. Set by packets only. */
struct ptm_last {
    uint32_t address;
    enum bt_isa isa;
    bool alt; /* AltISA as last sent: survives packets without an information byte */
    enum bt_security security;
};

struct ptm_place {
    uint32_t address;
    enum bt_isa isa;
};

struct ptm_encoder {
    struct ptm_encoder_options options;
    struct trace_bytes *out;
    struct trace_random random;

    unsigned context_id_bytes;
    bool cycle_accurate;
    bool v11;
    bool broadcast;
    bool return_stack;
    bool trace_vmid;
    bool timestamps;
    bool timestamp_wide;
    bool timestamp_gray;

    bool on;      /* tracing */
    bool started; /* the first A-sync is out */
    struct ptm_last last;
    struct ptm_state next;     /* what runs next; address and state only at a boundary */
    enum bt_security security; /* the core's own */

    /* The block since the last boundary. */
    bool in_block;           /* a non-waypoint ran that no packet has told */
    uint32_t block_start;    /* target of the last boundary */
    struct ptm_place newest; /* last non-waypoint: what an exception upgrades */
    struct ptm_place limit;  /* last one that begins within 4096 bytes of block_start */
    uint32_t limit_end;

    unsigned atoms; /* pending, newest in bit 0, 1 = N */
    unsigned atom_count;
    unsigned atom_limit; /* header is output when it holds so many */

    struct ptm_state stack[PTM_RETURN_STACK_MAX];
    unsigned stack_count;

    uint32_t context_id;
    bool context_id_due;
    uint8_t vmid;
    bool vmid_due;

    uint64_t time;
    uint64_t waypoint_time;
    uint64_t timestamp_raw; /* as last sent */
    bool timestamp_full;    /* next one carries all bytes */

    uint64_t cycles; /* since the last count in the output */
    uint32_t last_count;

    uint64_t bytes_since_async;
    bool isync_due;
    bool tsync_due;
    unsigned isync_wait; /* waypoints */
    unsigned tsync_wait;

    ptm_packet_observer observer;
    void *observer_context;
    uint64_t packets[PTM_PACKET_KINDS];
};

/* Packets. All return 0 or BT_ERR_NOMEM. All but async and atoms flush pending atoms first. */
int ptm_out_async(struct ptm_encoder *e);
int ptm_out_isync(struct ptm_encoder *e, unsigned reason, const struct ptm_state *next);
int ptm_out_flush(struct ptm_encoder *e);
int ptm_out_atom(struct ptm_encoder *e, bool n);
int ptm_out_branch(struct ptm_encoder *e, const struct ptm_state *target, unsigned exception);
int ptm_out_debug(struct ptm_encoder *e);
int ptm_out_update(struct ptm_encoder *e, const struct ptm_place *place);
int ptm_out_context_id(struct ptm_encoder *e);
int ptm_out_vmid(struct ptm_encoder *e);
int ptm_out_timestamp(struct ptm_encoder *e, bool clock_changed);
int ptm_out_single(struct ptm_encoder *e, enum ptm_packet_kind kind, uint8_t header);

#endif
