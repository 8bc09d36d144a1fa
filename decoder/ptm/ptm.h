/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Program Flow Trace (PTM, PFTv1.0 and v1.1): bytes -> packets.
 * IHI 0035B: registers chapter 3, packets 4.5, headers table 4-1. Knows no instructions: see
 * ptm_flow.h for that.
 */
#ifndef DECODER_PTM_H
#define DECODER_PTM_H

#include "decoder/flow/packet_scan.h"

/* What the decoder must know of the trace unit: the stream is not self-describing. */
struct ptm_config {
    uint8_t trace_id;
    uint8_t version_minor; /* 0: PFTv1.0, 1: PFTv1.1 */
    uint8_t context_bytes; /* 0, 1, 2 or 4 */
    bool cycle_accurate;
    bool return_stack;
    bool barrier_waypoints; /* DMB and DSB are waypoints */
    bool virtualization;    /* Hyp bits are meaningful */
    bool timestamp64;       /* up to 64 bits in 9 bytes; else 48 bits in 7 */
    bool timestamp_gray;
    bool t32_split; /* a BL/BLX pair is traced as two 16-bit instructions */
};

/*
 * Configuration from the values of ETMCR, ETMIDR, ETMCCER and ETMTRACEIDR.
 * BT_ERR_INVAL: ETMIDR is not that of a PTM (major version field not 3).
 */
int ptm_config_from_regs(struct ptm_config *config, uint32_t etmcr, uint32_t etmidr,
                         uint32_t etmccer, uint32_t etmtraceidr);

enum ptm_kind {
    PTM_ATOM,      /* n atoms, oldest in bit n-1 of value; bit set: N */
    PTM_BRANCH,    /* value = address; number = exception; implies E when number is 0 */
    PTM_ISYNC,     /* value = address; number = reason */
    PTM_UPDATE,    /* waypoint update; value = address */
    PTM_TIMESTAMP, /* value = raw, merged; n = bits sent */
    PTM_CONTEXT,   /* context */
    PTM_VMID,      /* value */
    PTM_EXC_RETURN,
    PTM_TRIGGER,
    PTM_IGNORE,
    PTM_ASYNC,      /* value = bytes */
    PTM_RESERVED,   /* value = header; synchronisation is lost */
    PTM_MALFORMED,  /* value = header; synchronisation is lost */
    PTM_UNSYNCED,   /* value = bytes skipped while looking for an A-sync */
    PTM_INCOMPLETE, /* value = bytes; the stream ended inside a packet */
};

#define PTM_HAS_CYCLES  0x01u
#define PTM_HAS_CONTEXT 0x02u
#define PTM_HAS_INFO    0x04u /* branch: an exception information byte gave the security state */
#define PTM_TS_VALID    0x08u /* a full-length timestamp was seen: value may be reported */
#define PTM_TS_FREQ     0x10u /* the clock frequency changed */
#define PTM_ODD_STATE   0x20u /* reserved instruction set code in the fifth address byte */
#define PTM_PARTIAL     0x40u /* no I-sync yet: only the low bits of the address are known */

struct ptm_packet {
    uint64_t offset; /* of the header in the source's stream */
    uint64_t value;
    uint32_t cycles;
    uint32_t context;
    uint16_t size;     /* bytes; 0xffff: more, see value */
    uint16_t number;   /* exception number or I-sync reason */
    uint8_t kind;      /* enum ptm_kind */
    uint8_t flags;     /* PTM_* */
    uint8_t isa_state; /* enum bt_isa, and enum bt_security << 4 */
    uint8_t n;
};

static inline enum bt_isa ptm_packet_isa(const struct ptm_packet *p)
{
    return (enum bt_isa)(p->isa_state & 0xf);
}

static inline enum bt_security ptm_packet_security(const struct ptm_packet *p)
{
    return (enum bt_security)(p->isa_state >> 4);
}

/*
 * Parser state; plain data, may be copied to make a checkpoint. The "last" fields are the
 * LastState of IHI 0035B B.3.2: what packets alone have said, the base of compression.
 */
struct ptm {
    struct ptm_config config;
    struct packet_scan scan;
    uint64_t ts_raw;
    uint32_t last_address;
    uint8_t last_isa;
    bool last_alt_isa;
    bool last_ns;
    bool last_hyp;
    bool based; /* an I-sync gave LastState since the last loss */
    bool ts_valid;
};

/* As each protocol's: decoder/flow/flow.h; max >= 2, at most one packet at the end:
 * PTM_INCOMPLETE or PTM_UNSYNCED. What is bad is PTM_RESERVED or PTM_MALFORMED; what is looked
 * for then is an A-sync. */
void ptm_init(struct ptm *p, const struct ptm_config *config);
void ptm_discontinuity(struct ptm *p);
size_t ptm_parse(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out, size_t max,
                 size_t *count);
size_t ptm_finish(struct ptm *p, struct ptm_packet *out);

#endif
