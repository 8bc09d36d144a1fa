/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv3 trace protocol (ETMv3.0 to ETMv3.5, IHI 0014Q chapter 7): bytes -> packets.
 * Headers are in its table 7-1, instructions in 7.3, data in 7.4, synchronisation in 7.10. Knows no
 * instructions: see etmv3_flow.h for that.
 */
#ifndef DECODER_ETMV3_H
#define DECODER_ETMV3_H

#include "decoder/flow/packet_scan.h"

/* What the decoder must know of the trace unit: the stream is not self-describing. */
struct etmv3_config {
    uint32_t sync_period; /* bytes between synchronisations; 0: none. For messages only */
    uint8_t trace_id;
    uint8_t version_minor; /* 0 to 5: ETMv3.0 to ETMv3.5 */
    uint8_t context_bytes; /* 0, 1, 2 or 4 */
    bool cycle_accurate;
    bool data_value;
    bool data_address;
    bool data_only;
    bool alternative;    /* branch packets of the alternative encoding */
    bool virtualization; /* Hyp bits are meaningful */
    bool timestamp64;    /* up to 64 bits in 9 bytes; else 48 bits in 7 */
    bool timestamp_gray;
    bool t32_split; /* a BL/BLX pair is traced as two 16-bit instructions */
    bool m_profile; /* ARMv7-M: exception numbers, T32 alone; no register tells */
};

#define ETMV3_SYNC_PERIOD 1024 /* of units whose ETMSYNCFR is not known: the reset value */

/*
 * Configuration from the values of ETMCR, ETMIDR, ETMCCER (0 where there is none: before v3.1) and
 * ETMTRACEIDR; the caller sets m_profile and sync_period.
 * BT_ERR_INVAL: ETMIDR is not that of an ETMv3 (major version field not 2).
 */
int etmv3_config_from_regs(struct etmv3_config *config, uint32_t etmcr, uint32_t etmidr,
                           uint32_t etmccer, uint32_t etmtraceidr);

enum etmv3_kind {
    ETMV3_ATOM,   /* n atoms, oldest in bit n-1 of value, bit set: N; cycles = number of W atoms,
                     all before the first atom, or one before each (ETMV3_W_EACH) */
    ETMV3_BRANCH, /* value = address; number = exception; extra = Resume */
    ETMV3_ISYNC,  /* value = address; number = reason; LSiP: address = data instruction, extra =
                     its state */
    ETMV3_CYCLE_COUNT, /* cycles; 0: unknown */
    ETMV3_CONTEXT,     /* context */
    ETMV3_VMID,        /* value */
    ETMV3_TIMESTAMP,   /* value = raw, merged; n = bits sent */
    ETMV3_TRIGGER,
    ETMV3_IGNORE,
    ETMV3_EXC_ENTRY,
    ETMV3_EXC_RETURN,
    ETMV3_DATA,        /* address, value; n = bytes of value sent; extra = valid address bits */
    ETMV3_PLACEHOLDER, /* out-of-order: address; number = tag */
    ETMV3_OOO_DATA,    /* out-of-order: value; number = tag */
    ETMV3_NOT_TRACED,  /* data value not traced; address */
    ETMV3_STORE_FAILED,
    ETMV3_SUPPRESSED, /* data suppressed */
    ETMV3_ASYNC,      /* value = bytes */
    ETMV3_END,        /* value = bytes: end marker and padding of an unformatted capture */
    ETMV3_RESERVED,   /* value = header; synchronisation is lost */
    ETMV3_MALFORMED,  /* value = header; synchronisation is lost */
    ETMV3_UNSYNCED,   /* value = bytes skipped while looking for an A-sync */
    ETMV3_INCOMPLETE, /* value = bytes; the stream ended inside a packet */
};

#define ETMV3_HAS_CYCLES  0x0001u /* I-sync with cycle count */
#define ETMV3_HAS_CONTEXT 0x0002u
#define ETMV3_HAS_INFO    0x0004u /* branch: exception information byte 0 was there */
#define ETMV3_TS_VALID    0x0008u /* a full-length timestamp was seen: value may be reported */
#define ETMV3_TS_FREQ     0x0010u /* the clock frequency changed */
#define ETMV3_ODD_STATE   0x0020u /* I-sync: J, T and AltISA are reserved, or not of such a core */
#define ETMV3_PARTIAL     0x0040u /* no I-sync yet: only the low bits of the address are known */
#define ETMV3_CANCEL      0x0080u /* branch: the last traced instruction is cancelled */
#define ETMV3_INLINE      0x0100u /* branch: exception in the deprecated in-line form */
#define ETMV3_LSIP        0x0200u
#define ETMV3_DATA_ONLY   0x0400u /* I-sync without address */
#define ETMV3_W_EACH      0x0800u
#define ETMV3_HAS_ADDRESS 0x1000u /* data */
#define ETMV3_HAS_VALUE   0x2000u /* data */
#define ETMV3_BIG_ENDIAN  0x4000u /* data: the transfer is big-endian */
#define ETMV3_RESUME      0x8000u /* branch: exception information byte 2 was there */

struct etmv3_packet {
    uint64_t offset; /* of the header in the source's stream */
    uint64_t value;
    uint32_t address;
    uint32_t cycles;
    uint32_t context;
    uint16_t size;     /* bytes; 0xffff: more, see value */
    uint16_t number;   /* exception number, I-sync reason, out-of-order tag */
    uint16_t flags;    /* ETMV3_* */
    uint8_t kind;      /* enum etmv3_kind */
    uint8_t isa_state; /* enum bt_isa, and enum bt_security << 4 */
    uint8_t extra;
    uint8_t n;
};

static inline enum bt_isa etmv3_packet_isa(const struct etmv3_packet *p)
{
    return (enum bt_isa)(p->isa_state & 0xf);
}

static inline enum bt_security etmv3_packet_security(const struct etmv3_packet *p)
{
    return (enum bt_security)(p->isa_state >> 4);
}

/* What branch packets are relative to, and what they leave out (IHI 0014Q 7.3). */
struct etmv3_base {
    uint32_t address;
    uint8_t isa; /* A32, T32 or Jazelle */
    bool alt_isa;
    bool ns;
    bool hyp;
    bool known; /* an I-sync was seen since the last loss */
};

/* Parser state; plain data, may be copied to make a checkpoint. */
struct etmv3 {
    struct etmv3_config config;
    struct packet_scan scan;
    uint64_t ts_raw;
    struct etmv3_base base;
    uint32_t data_base;
    uint8_t data_bits; /* of data_base that are known: low ones */
    bool marker;       /* a 0x01 stands before these zeros: a branch, or the end marker */
    bool ts_valid;
};

/* As each protocol's: decoder/flow/flow.h; max >= 3, at most one packet at the end: a last
 * branch, ETMV3_END, ETMV3_INCOMPLETE or ETMV3_UNSYNCED. What is bad is ETMV3_RESERVED or
 * ETMV3_MALFORMED; what is looked for then is an A-sync. */
void etmv3_init(struct etmv3 *p, const struct etmv3_config *config);
void etmv3_discontinuity(struct etmv3 *p);
size_t etmv3_parse(struct etmv3 *p, const uint8_t *data, size_t len, struct etmv3_packet *out,
                   size_t max, size_t *count);
size_t etmv3_finish(struct etmv3 *p, struct etmv3_packet *out);

#endif
