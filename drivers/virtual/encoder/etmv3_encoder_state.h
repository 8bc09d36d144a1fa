/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv3 model: its state, and what its parts offer each other. */
#ifndef DRIVERS_VIRTUAL_ETMV3_ENCODER_STATE_H
#define DRIVERS_VIRTUAL_ETMV3_ENCODER_STATE_H

#include "drivers/virtual/encoder/etmv3_encoder.h"

#define ETMV3_ATOMS_MAX 64
#define ETMV3_TAGS      4 /* 1..3 are used */

/* What the stream has told so far: the base of compression. Set by packets only. */
struct etmv3_last {
    uint32_t address;
    enum bt_isa isa;
    bool alt;      /* AltISA as last sent: survives packets without exception byte 0 */
    bool alt_used; /* ThumbEE was told since the last I-sync */
    bool nonsecure;
    bool hyp;
};

/* An E or N that is not in the output, and the W in front of it. */
struct etmv3_atom {
    uint64_t idle;
    bool n;
};

enum etmv3_tag {
    ETMV3_TAG_FREE,
    ETMV3_TAG_OUT,
    ETMV3_TAG_ORPHAN, /* its placeholder was before an overflow */
};

struct etmv3_encoder {
    struct etmv3_encoder_options options;
    struct trace_bytes *out;
    struct trace_random random;

    /* What the options come to. */
    unsigned minor;
    unsigned context_id_bytes;
    bool cycle_accurate;
    bool alternative;
    bool data_only;
    bool data_address;
    bool data_value;
    bool trace_vmid;
    bool timestamps;
    bool timestamp_wide;
    bool timestamp_gray;
    bool has_info; /* exception information bytes */
    bool has_security;
    bool has_alt;
    bool has_hyp;
    bool has_format4; /* atoms without a W of their own may begin a header */

    bool on;      /* tracing */
    bool started; /* the first A-sync is out */
    struct etmv3_last last;
    struct etmv3_state next;   /* what runs next */
    enum bt_security security; /* of the core */

    struct etmv3_atom atoms[ETMV3_ATOMS_MAX];
    unsigned atom_count;
    unsigned atom_limit; /* output when so many are there */
    uint64_t idle;       /* W behind the last atom */
    uint64_t cycles;     /* W since the I-sync that began this region */

    bool branch_due; /* of the last instruction */
    struct etmv3_state branch_target;
    uint8_t branch_resume;
    bool branch_computed; /* it is indirect */
    bool preempted;       /* the last instruction was an exception return that has no target */

    /* Data instruction in progress. */
    bool busy;
    bool busy_overtaken; /* another has run since */
    struct etmv3_state busy_insn;

    uint64_t gap;   /* cycles since the last P-header, trace off */
    bool count_due; /* cycle count packet of the last I-sync */
    uint32_t count;
    unsigned count_wait; /* instructions */

    uint32_t data_base;
    bool data_be;
    bool data_full;           /* next address has all bytes */
    uint32_t data_next;       /* address of a sequential transfer */
    bool data_begun;          /* the data instruction has a packet */
    bool suppress;            /* FIFO nearly full */
    bool suppressed;          /* the present data instruction is suppressed */
    bool suppressed_reported; /* by a packet, no data since */
    enum etmv3_tag tags[ETMV3_TAGS];

    uint32_t context_id;
    uint8_t vmid;
    uint64_t time;
    uint64_t timestamp_raw; /* as last sent */
    bool timestamp_full;    /* next one carries all bytes */

    uint64_t since_async; /* bytes or cycles, see sync_period */
    bool isync_due;
    bool tsync_due;
    unsigned isync_wait; /* instructions */
    unsigned tsync_wait;

    etmv3_packet_observer observer;
    void *observer_context;
    uint64_t packets[ETMV3_PACKET_KINDS];
};

/* etmv3_output.c: all return 0 or BT_ERR_NOMEM. Atoms are put out first, but for emit and async. */
int etmv3_out_emit(struct etmv3_encoder *e, enum etmv3_packet_kind kind, const uint8_t *bytes,
                   size_t size, uint64_t detail);
int etmv3_out_async(struct etmv3_encoder *e);
/* `executing`: NULL, or the second address of an LSiP I-sync. */
int etmv3_out_isync(struct etmv3_encoder *e, unsigned reason, const struct etmv3_state *next,
                    const struct etmv3_state *executing);
int etmv3_out_branch(struct etmv3_encoder *e, const struct etmv3_state *target,
                     const struct etmv3_exception *x, uint8_t resume);
/* Perhaps a branch packet to somewhere, which the real one follows. */
int etmv3_out_detour(struct etmv3_encoder *e, const struct etmv3_state *target);
int etmv3_out_cycle_count(struct etmv3_encoder *e);
int etmv3_out_context_id(struct etmv3_encoder *e);
int etmv3_out_vmid(struct etmv3_encoder *e);
int etmv3_out_timestamp(struct etmv3_encoder *e, bool clock_changed);
int etmv3_out_single(struct etmv3_encoder *e, enum etmv3_packet_kind kind, uint8_t header);

/* Code of the deprecated exception form, or -1. */
int etmv3_inline_code(const struct etmv3_encoder *e, unsigned exception);

/* etmv3_atoms.c */
int etmv3_atom_add(struct etmv3_encoder *e, bool n);
/* Puts out pending atoms; the W behind them, too, if `all`. */
int etmv3_atoms_flush(struct etmv3_encoder *e, bool all);
/* Atoms never show; their cycles and those behind them begin a gap. */
void etmv3_atoms_drop(struct etmv3_encoder *e);

/* etmv3_sync.c: after an instruction or, in data-only mode, a transfer. */
int etmv3_sync_serve(struct etmv3_encoder *e);

/* Branch packet of the last instruction, if it is still due. */
int etmv3_branch_flush(struct etmv3_encoder *e);

#endif
