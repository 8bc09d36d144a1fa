/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv1 model: its state, and what its parts offer each other. */
#ifndef DRIVERS_VIRTUAL_ETMV1_ENCODER_STATE_H
#define DRIVERS_VIRTUAL_ETMV1_ENCODER_STATE_H

#include "arm5_branch.h"
#include "etmv1_encoder.h"

#define ETMV1_DATA_MAX   70 /* an address and 64 bytes */
#define ETMV1_BRANCH_MAX 9  /* an address and a context ID */

#define ETMV1_REASON_NORMAL     0
#define ETMV1_REASON_TRACE_ON   1
#define ETMV1_REASON_OVERFLOW   2
#define ETMV1_REASON_DEBUG_EXIT 3
#define ETMV1_REASON_PERIODIC   4

/* The status that is being put together. */
struct etmv1_open_status {
    bool valid;
    bool insn;
    bool pass;
    bool branch;
    bool replaces; /* the branch before must be abandoned */
    unsigned reason;
    struct etmv1_place target;
    uint8_t data[ETMV1_DATA_MAX];
    unsigned size;
};

struct etmv1_encoder {
    struct etmv1_encoder_options options;
    struct port_model port;
    struct trace_random random;

    /* What the options come to. */
    unsigned minor;
    unsigned context_id_bytes;
    bool data_address;
    bool data_value;
    bool cprt;
    bool broadcast;
    bool cycle_accurate;

    bool on;
    uint32_t base; /* last address output, with the Thumb bit */
    bool base_jazelle;
    struct etmv1_open_status open;
    struct arm5_previous previous;

    /* APO cycles of the last branch that are still to come. */
    unsigned apo_left;
    unsigned apo;
    bool apo_insn; /* it is no start of trace */

    uint32_t data_base;
    bool data_full;       /* next address has all bytes */
    uint64_t data_cycles; /* since the last full one */

    uint32_t context_id;
    bool context_due;
    bool trigger_due;
    bool draining;
    bool restarted; /* by a restart, and no instruction since */

    uint64_t sync_cycles; /* since the last full address */
    bool sync_requested;

    etmv1_cycle_observer observer;
    void *observer_context;
};

/* etmv1_cycles.c: a status with all that it pushes, and what must come before it. */
int etmv1_status(struct etmv1_encoder *e, const struct etmv1_open_status *s, unsigned keep);
/* A cycle in which nothing runs; half an APO if one is due. */
int etmv1_idle(struct etmv1_encoder *e);

/* etmv1_address.c: `p` has room for ETMV1_BRANCH_MAX; return the bytes written. */
/* Address of a branch, which becomes the base; *reason is what five bytes tell. */
unsigned etmv1_put_branch(struct etmv1_encoder *e, uint8_t *p, const struct etmv1_place *target,
                          unsigned *reason, unsigned *address_bytes);
unsigned etmv1_put_data_address(struct etmv1_encoder *e, uint8_t *p, uint32_t address);
/* The counter (IHI 0014Q chapter 5) wants a full address: of an indirect branch, or of any. */
bool etmv1_sync_due(const struct etmv1_encoder *e, bool any);

#endif
