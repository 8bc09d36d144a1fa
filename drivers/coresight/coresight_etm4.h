/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programming of ETMv4 and ETE trace units. IHI 0064H.b chapters 4 and 7; ETE: DDI 0487L.a
 * chapter D4. `base` is the unit's first page; results as in coresight.h.
 *
 * Sink, replicator and funnels must run before a unit is started.
 */
#ifndef DRIVERS_CORESIGHT_ETM4_H
#define DRIVERS_CORESIGHT_ETM4_H

#include "drivers/coresight/coresight.h"

#define CORESIGHT_ETM4_IDS    14 /* TRCIDR0 to TRCIDR13 */
#define CORESIGHT_ETM4_RANGES 8  /* pairs of address comparators that a unit may have */

/* Bits of TRCCONFIGR (IHI 0064H.b chapter 7). */
#define CORESIGHT_ETM4_BROADCAST    0x00000008u /* the target of every branch */
#define CORESIGHT_ETM4_CYCLES       0x00000010u
#define CORESIGHT_ETM4_CONTEXT      0x00000040u
#define CORESIGHT_ETM4_VMID         0x00000080u
#define CORESIGHT_ETM4_TIMESTAMPS   0x00000800u
#define CORESIGHT_ETM4_RETURN_STACK 0x00001000u /* left out with CORESIGHT_ETM4_BROADCAST */
/* Those of them that a user may ask for. */
#define CORESIGHT_ETM4_OPTIONS 0x000018d8u

/* Bits of TRCSTALLCTLR: the core waits while the unit's FIFO has little room. */
#define CORESIGHT_ETM4_STALL_LEVEL 0x0000000fu /* 0 late and seldom, 15 early and often */
#define CORESIGHT_ETM4_STALL       0x00000100u
#define CORESIGHT_ETM4_LOSSLESS    0x00002000u /* it waits as long as it takes */

/* Instructions from `first` to `last`, both of them included. */
struct coresight_etm4_range {
    uint64_t first, last;
    bool exclude; /* not traced; else it and other such ranges alone are */
};

struct coresight_etm4_options {
    uint8_t trace_id;         /* 1..0x6f; even where the unit can trace data, too */
    uint32_t config;          /* of CORESIGHT_ETM4_OPTIONS */
    uint32_t stall;           /* of CORESIGHT_ETM4_STALL...; 0: the core never waits */
    uint16_t cycle_threshold; /* fewer cycles are not told; 0: the least that the unit can do */
    uint8_t sync_log2;        /* 2^n bytes between synchronisations, 8..20; 0: 10 */
    struct coresight_etm4_range ranges[CORESIGHT_ETM4_RANGES];
    unsigned range_count; /* 0: everything is traced */
};

/* Why a unit cannot be used, where the error alone does not say. */
enum coresight_etm4_failure {
    CORESIGHT_ETM4_FINE,
    CORESIGHT_ETM4_OTHER_UNIT, /* what is there is no ETMv4 and no ETE */
    CORESIGHT_ETM4_NO_POWER,
    CORESIGHT_ETM4_LOCKED, /* the OS lock */
    CORESIGHT_ETM4_FORBIDDEN,
    CORESIGHT_ETM4_BUSY,  /* it does not become idle */
    CORESIGHT_ETM4_STUCK, /* it does not leave idle */
    CORESIGHT_ETM4_DEAF,  /* it does not keep what is written */
    CORESIGHT_ETM4_ODD_ID,
    CORESIGHT_ETM4_FEW_RANGES, /* more ranges than pairs of comparators */
};

/* What a decoder must know, as read back. */
struct coresight_etm4_state {
    enum coresight_etm4_failure failure;
    bool enabled;
    uint32_t config;   /* TRCCONFIGR */
    uint32_t trace_id; /* TRCTRACEIDR */
    uint32_t sync;     /* TRCSYNCPR */
    uint32_t stall;    /* TRCSTALLCTLR */
    uint32_t devarch;  /* TRCDEVARCH; 0: absent, the version is in TRCIDR1 */
    uint32_t auth;     /* TRCAUTHSTATUS */
    uint32_t idr[CORESIGHT_ETM4_IDS];
};

#define CORESIGHT_ETM4_DEVARCH_PRESENT 0x00100000u
#define CORESIGHT_ARCHID_ETE           0x5a13u

static inline bool coresight_etm4_has_devarch(const struct coresight_etm4_state *state)
{
    return (state->devarch & CORESIGHT_ETM4_DEVARCH_PRESENT) != 0;
}

/* ETE, and minor version: of ETMv4.x, or of ETE 1.x. */
static inline bool coresight_etm4_is_ete(const struct coresight_etm4_state *state)
{
    return coresight_etm4_has_devarch(state) && (state->devarch & 0xffff) == CORESIGHT_ARCHID_ETE;
}

static inline unsigned coresight_etm4_version(const struct coresight_etm4_state *state)
{
    return coresight_etm4_has_devarch(state) ? state->devarch >> 16 & 0xf
                                             : state->idr[1] >> 4 & 0xf;
}

/* Bytes between two synchronisations; 0: there are none but the first. */
uint32_t coresight_etm4_sync_bytes(const struct coresight_etm4_state *state);

/* How many ranges its comparators take. */
static inline unsigned coresight_etm4_ranges(const struct coresight_etm4_state *state)
{
    unsigned pairs = state->idr[4] & 0xf;
    return pairs < CORESIGHT_ETM4_RANGES ? pairs : CORESIGHT_ETM4_RANGES;
}

/* Code of one of the two worlds is left out of the trace, by the chip's authentication signals. */
static inline bool coresight_etm4_secure_hidden(const struct coresight_etm4_state *state)
{
    return (state->auth >> 6 & 3) == 2;
}

static inline bool coresight_etm4_nonsecure_hidden(const struct coresight_etm4_state *state)
{
    return (state->auth >> 2 & 3) == 2;
}

/* In words, to follow the name of the unit: "has no power: ...". NULL for CORESIGHT_ETM4_FINE. */
const char *coresight_etm4_failure_text(enum coresight_etm4_failure failure);

/* Its identification and what it is set to now; nothing is changed but its software lock.
 * BT_ERR_UNSUPPORTED: CORESIGHT_ETM4_OTHER_UNIT. */
int coresight_etm4_read(struct coresight_bus *bus, uint64_t base,
                        struct coresight_etm4_state *state);

/*
 * Power, locks, and everything set for these options; the unit stays stopped, and what it accepts
 * is in *state. Options that this unit lacks are left out of state->config and state->stall and are
 * no error.
 *   BT_ERR_INVAL        trace ID, period or a range out of range; CORESIGHT_ETM4_ODD_ID
 *   BT_ERR_RANGE        CORESIGHT_ETM4_FEW_RANGES
 *   BT_ERR_UNSUPPORTED  another value of state->failure
 *   BT_ERR_IO           the access was refused,
 * or with state->failure a state was not reached */
int coresight_etm4_program(struct coresight_bus *bus, uint64_t base,
                           const struct coresight_etm4_options *options,
                           struct coresight_etm4_state *state);

/* The same, and start it. */
int coresight_etm4_start(struct coresight_bus *bus, uint64_t base,
                         const struct coresight_etm4_options *options,
                         struct coresight_etm4_state *state);

/* Stop; its FIFO is empty behind this. BT_ERR_IO: refused, or state->failure says what. */
int coresight_etm4_stop(struct coresight_bus *bus, uint64_t base,
                        struct coresight_etm4_state *state);

/* Does it run as *state says? False also when it cannot be asked. */
bool coresight_etm4_runs(struct coresight_bus *bus, uint64_t base,
                         const struct coresight_etm4_state *state);

#endif
