/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ITM and DWT of a Cortex-M as sources of trace: what software writes, exceptions, samples of the
 * PC, watched data. DDI 0403E.e C1.7 and C1.8, DDI 0553B.v D1.2. Results as in coresight.h. The
 * trace enable bit (DEMCR.TRCENA) must be set.
 *
 * The DWT's comparators are shared with whoever debugs: only free ones are taken, from the last
 * that trace packets can name downwards, while watchpoints are set from the first on.
 */
#ifndef DRIVERS_CORESIGHT_ITM_H
#define DRIVERS_CORESIGHT_ITM_H

#include "drivers/coresight/coresight.h"

#define CORESIGHT_ITM_WATCHES 4 /* as many comparators as trace packets can name */

/* A range of data whose accesses are traced. */
struct coresight_itm_watch {
    uint32_t address; /* a multiple of `size` */
    uint32_t size;    /* bytes: a power of two */
    bool value;       /* what is told of an access; at least one of the three */
    bool pc;
    bool place; /* the low half of the address; not on ARMv8-M */
};

struct coresight_itm_options {
    uint8_t trace_id;  /* 1..0x6f */
    uint32_t ports;    /* mask of stimulus ports that are on */
    uint8_t prescaler; /* of local timestamps: 1, 4, 16 or 64; 0: there are none */
    bool exceptions;
    unsigned samples; /* cycles between two samples of the PC; 0: none */
    unsigned cycles;  /* ... between two events of the cycle counter: one of the two */
    struct coresight_itm_watch watches[CORESIGHT_ITM_WATCHES];
    unsigned watch_count;
};

#define CORESIGHT_ITM_NONE (-1)

/* A comparator: whose it is. */
enum coresight_itm_use {
    CORESIGHT_ITM_FREE,
    CORESIGHT_ITM_OURS,
    CORESIGHT_ITM_DEBUG, /* halts the core */
    CORESIGHT_ITM_OTHER, /* somebody else's trace or events */
};

struct coresight_itm_state {
    uint32_t control; /* ITM_TCR while it runs */
    uint32_t dwt;     /* bits of DWT_CTRL that are ours, while it runs */
    bool v8;          /* the comparators' form */
    unsigned comparators;
    int8_t taken[CORESIGHT_ITM_WATCHES]; /* by each watch; CORESIGHT_ITM_NONE: none was free */
    uint32_t function[CORESIGHT_ITM_WATCHES];
    /* As they were before. */
    uint32_t old_control, old_ports, old_dwt;
    bool started;
};

/* Whether the DWT can make samples so far apart: 64 to 1024 cycles in steps of 64, 1024 to 16384 in
 * steps of 1024. */
bool coresight_itm_period(unsigned cycles);

/* Is there a DWT that makes packets? BT_ERR_UNSUPPORTED: no. Fills `v8` and `comparators`. */
int coresight_itm_find(struct coresight_bus *bus, struct coresight_itm_state *state);

/*
 * Set up and start, the cores halted. What was there before the first start is kept for
 * coresight_itm_stop(). A watch without a comparator is no error: state->taken tells.
 */
int coresight_itm_start(struct coresight_bus *bus, const struct coresight_itm_options *options,
                        struct coresight_itm_state *state);

/* Does it run as it was started, and are the comparators still ours? */
bool coresight_itm_runs(struct coresight_bus *bus, const struct coresight_itm_options *options,
                        const struct coresight_itm_state *state);

/* Everything is as before: comparators are free, the other settings those that were found. */
int coresight_itm_stop(struct coresight_bus *bus, struct coresight_itm_state *state);

/* Whose comparator `k` is now. */
int coresight_itm_use(struct coresight_bus *bus, const struct coresight_itm_state *state,
                      unsigned k, enum coresight_itm_use *use);

#endif
