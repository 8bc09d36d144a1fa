/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv4.0 to v4.6 and ETE, instruction trace: bytes -> packets.
 * IHI 0064H.b chapter 6, registers chapter 7; ETE: DDI 0487L.a chapter D5. Knows no instructions
 * and no speculation: see etmv4_flow.h and etmv4_queue.h for that.
 */
#ifndef DECODER_ETMV4_H
#define DECODER_ETMV4_H

#include "decoder/flow/packet_scan.h"

/* What the decoder must know of the trace unit: the stream is not self-describing. */
struct etmv4_config {
    uint32_t cycle_mask;     /* what the cycle counter holds */
    uint16_t max_speculated; /* P0 elements that may be uncommitted */
    uint8_t trace_id;
    uint8_t version_minor; /* of ETMv4, or of ETE */
    uint8_t context_bytes; /* 0 or 4 */
    uint8_t vmid_bytes;    /* 0, 1, 2 or 4 */
    bool ete;
    bool m_profile;
    bool counts_commit;  /* cycle count packets carry commits: TRCIDR0.COMMOPT is 0 */
    bool traces_context; /* context IDs are traced: TRCCONFIGR */
    bool traces_vmid;
    bool return_stack;
    bool conditional; /* conditional tracing is on: its packets are legal */
    bool data_trace;  /* a second stream carries it: its markers are legal */
    bool q_packets;
    bool wait_waypoints;  /* WFI and WFE are P0 instructions */
    bool marked_times;    /* timestamps belong to markers */
    bool transactions_p0; /* the packet of a transaction's start is a P0 element */
};

#define ETMV4_SPECULATED_MAX 256 /* larger TRCIDR8 are refused */

/* Registers by the names of IHI 0064H.b chapter 7; those that a unit lacks are 0. */
struct etmv4_registers {
    uint32_t configr;
    uint32_t traceidr;
    uint32_t devarch; /* 0: absent, the version is that of idr1 */
    uint32_t idr[14];
};

/*
 * Configuration from register values. BT_ERR_INVAL: they are of no ETMv4 or ETE;
 * BT_ERR_UNSUPPORTED: loads and stores as P0 elements, or too many speculated elements.
 */
int etmv4_config_from_regs(struct etmv4_config *config, const struct etmv4_registers *r,
                           bool m_profile);

enum etmv4_kind {
    ETMV4_ATOM,       /* n atoms, oldest in bit 0 of value; bit set: E */
    ETMV4_ADDRESS,    /* value, isa_bit; CONTEXT: with what a context packet says */
    ETMV4_CONTEXT,    /* CONTEXT: something was said, else "as before". Here and in addresses n:
                         ETMV4_INFO_VMID, _CONTEXT: left out behind a Trace Info, so it is 0 */
    ETMV4_EXCEPTION,  /* number = type; n: enum etmv4_exception_address; PENDING */
    ETMV4_EXC_RETURN, /* M-profile: a P0 element */
    ETMV4_FUNC_RETURN,
    ETMV4_TRACE_INFO, /* STARTING; commit = elements that were uncommitted; value = INFO; n: in the
                         queue, 1 = these are not as many as are known */
    ETMV4_TRACE_ON,
    ETMV4_DISCARD,         /* synchronisation is lost */
    ETMV4_OVERFLOW,        /* synchronisation is lost */
    ETMV4_RESYNC,          /* synchronisation is lost */
    ETMV4_CYCLES,          /* COUNTED: cycles; COMMITS: commit */
    ETMV4_COMMIT,          /* commit */
    ETMV4_CANCEL,          /* n atoms in value, then the newest `commit` vanish; MISPREDICT */
    ETMV4_MISPREDICT,      /* n atoms in value, the newest of all is turned round */
    ETMV4_Q,               /* COUNTED: commit instructions; ADDRESSED: value, isa_bit */
    ETMV4_SOURCE,          /* value, isa_bit: the P0 instruction there was taken */
    ETMV4_TIMESTAMP,       /* value; COUNTED: cycles */
    ETMV4_MARKER,          /* of a timestamp */
    ETMV4_EVENT,           /* number = mask */
    ETMV4_INSTRUMENTATION, /* value, number = exception level */
    ETMV4_TRANSACTION,     /* number: 0 commit, 1 start */
    ETMV4_FUTURE_FLUSH,
    ETMV4_DATA_SYNC,
    ETMV4_CONDITION, /* conditional tracing: no effect on the flow */
    ETMV4_IGNORE,
    ETMV4_ASYNC,      /* value = bytes */
    ETMV4_RESERVED,   /* value = header; synchronisation is lost */
    ETMV4_MALFORMED,  /* value = header; synchronisation is lost */
    ETMV4_UNSYNCED,   /* value = bytes skipped while looking for an A-sync */
    ETMV4_INCOMPLETE, /* value = bytes; the stream ended inside a packet */
};

enum etmv4_exception_address {
    ETMV4_NO_ADDRESS, /* ETE's reset and failed transactions */
    ETMV4_RETURN,     /* an address packet follows: the preferred return address */
    ETMV4_TARGET,     /* it is the target of the P0 element before, too */
};

#define ETMV4_HAS_CONTEXT 0x01u /* info is valid; the rest as it says */
#define ETMV4_COUNTED     0x02u
#define ETMV4_COMMITS     0x04u
#define ETMV4_ADDRESSED   0x08u
#define ETMV4_MISPREDICTS 0x10u
#define ETMV4_STARTING    0x20u /* the first since synchronisation was lost */
#define ETMV4_PENDING     0x40u /* M-profile: a serious fault is pending */
#define ETMV4_P0          0x80u /* for etmv4_queue.c: counts as an element */

/* Context information byte (IHI 0064H.b chapter 6). */
#define ETMV4_INFO_EL      0x03u
#define ETMV4_INFO_NSE     0x08u
#define ETMV4_INFO_SF      0x10u
#define ETMV4_INFO_NS      0x20u
#define ETMV4_INFO_VMID    0x40u
#define ETMV4_INFO_CONTEXT 0x80u

/* Half a cache line. No kind has both members of a union: addresses and contexts have the first
 * ones of the numbers, and addresses, contexts, sources and Q have info and isa_bit. */
struct etmv4_packet {
    uint64_t offset; /* of the header in the source's stream */
    uint64_t value;
    union {
        uint32_t context;
        uint32_t cycles;
    };
    union {
        uint32_t vmid;
        uint32_t commit;
    };
    uint16_t size; /* bytes; 0xffff: more, see value */
    union {
        uint16_t number;
        struct {
            uint8_t info;    /* ETMV4_INFO_* */
            uint8_t isa_bit; /* IS of an address: 1 = T32 where the core is in AArch32 */
        };
    };
    uint8_t kind; /* enum etmv4_kind */
    uint8_t flags;
    uint8_t header;
    uint8_t n;
};

struct etmv4_address {
    uint64_t value;
    uint8_t isa_bit;
};

/* Parser state; plain data, may be copied to make a checkpoint. */
struct etmv4 {
    struct etmv4_config config;
    struct packet_scan scan;
    uint64_t timestamp;
    uint32_t threshold;           /* added to cycle counts */
    struct etmv4_address last[3]; /* address registers, newest first */
    bool lost;                    /* synchronisation was lost since the latest Trace Info */
    bool numbers_due;             /* what the next context leaves out of its numbers is 0 */
};

/* As each protocol's: decoder/flow/flow.h; max >= 2, at most one packet at the end:
 * ETMV4_INCOMPLETE or ETMV4_UNSYNCED. What is bad is ETMV4_RESERVED or ETMV4_MALFORMED; what is
 * looked for then is an A-sync. */
void etmv4_init(struct etmv4 *p, const struct etmv4_config *config);
void etmv4_discontinuity(struct etmv4 *p);
size_t etmv4_parse(struct etmv4 *p, const uint8_t *data, size_t len, struct etmv4_packet *out,
                   size_t max, size_t *count);
size_t etmv4_finish(struct etmv4 *p, struct etmv4_packet *out);

#endif
