/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv1.0 to v1.3 (ARM7, ARM9): captured port cycles -> statuses and instruction addresses.
 * IHI 0014Q chapter 5; PIPESTAT is its table 5-1. Only addresses can be told from data without the
 * program (they have TRACESYNC): which bytes are whose is found in etmv1_flow.h.
 *
 * Bytes of the input: see port_cycle.h. A recording describes the source as a device with
 * `type=ETM1.0` to `ETM1.3` (`ETMv1...` is read, too) and [regs] ETMCR; ETMCCR, if it is there,
 * says the version instead of the type. PORT_LAYOUT there is the number of the layout, 0 (ETB
 * words) if missing; SCTLR among the core's [regs] says where its vectors are, and bit 7 of it
 * that data is big-endian. What the specification leaves open has a key each in the source's
 * [regs]: the names in capitals at struct etmv1_config.
 */
#ifndef DECODER_ETMV1_H
#define DECODER_ETMV1_H

#include "decoder/port/port_cycle.h"

/* What the decoder must know of the trace unit: the stream is not self-describing. */
struct etmv1_config {
    struct port_format port;
    uint8_t version_minor; /* 0 to 3 */
    uint8_t context_bytes; /* 0, 1, 2 or 4 */
    bool data_value;
    bool data_address;
    bool monitor_cprt; /* coprocessor register transfers are traced */
    bool cycle_accurate;
    bool low_vectors;  /* exception vectors at 0; both: not known which */
    bool high_vectors; /* at 0xffff0000 */

    /* Choices that IHI 0014Q leaves to the implementation. All 0 is the choice that is
     * preferred. */
    bool hold_single;   /* HOLD_SINGLE: on a 16-bit port a byte that is alone in the FIFO
                           waits for another, unless no data is traced or an address follows */
    bool late_data;     /* DATA_LATENCY: data into an empty FIFO comes out a cycle later */
    bool big_endian;    /* VALUE_ORDER: values come most significant byte first */
    bool swp_addresses; /* SWP_ADDRESSES: each transfer of a SWP has its address */
    bool cprt_values;   /* CPRT_VALUES: coprocessor register transfers have values even if only
                           addresses are traced */
    bool idle_high;     /* TD_IDLE: TRACEPKT[0] of a TD that does not count */
};

/*
 * Configuration from ETMCR and the minor version; vectors at either place.
 * BT_ERR_INVAL: ETMCR[6:4] is no port size of an ETMv1, or no such version.
 */
int etmv1_config_from_regs(struct etmv1_config *config, uint32_t etmcr, unsigned minor);

/* Does a byte wait in the FIFO for another? Only next to data: else an address follows. */
static inline bool etmv1_holds(const struct etmv1_config *c)
{
    return c->hold_single && c->port.bits == 16 && (c->data_value || c->data_address);
}

/* Minor version from ETMCCR (IHI 0014Q chapter 3), or BT_ERR_INVAL: not that of an ETMv1. */
int etmv1_minor_of_ccr(uint32_t etmccr);

/* PIPESTAT (IHI 0014Q table 5-1). */
enum etmv1_status {
    ETMV1_IE,
    ETMV1_ID,
    ETMV1_IN,
    ETMV1_WT,
    ETMV1_BE,
    ETMV1_BD,
    ETMV1_TR,
    ETMV1_TD,
};

enum etmv1_reason {
    ETMV1_NORMAL,
    ETMV1_TRACE_ON,
    ETMV1_OVERFLOW,
    ETMV1_DEBUG_EXIT,
    ETMV1_PERIODIC,
};

enum etmv1_kind {
    ETMV1_CYCLE,     /* status, pkt */
    ETMV1_ADDRESS,   /* value, isa, reason, context, n: right behind the cycle with its last byte */
    ETMV1_MALFORMED, /* bytes that cannot be an address, or a status that cannot be; value */
    ETMV1_INCOMPLETE, /* the stream ended inside an address; value = bytes */
    ETMV1_END,        /* the stream ends here: nothing more will come */
};

#define ETMV1_TRIGGER     0x01u /* cycle: the trigger was in it, and no byte */
#define ETMV1_SYNC        0x02u /* cycle: an address begins */
#define ETMV1_LOW         0x04u /* cycle: its (low) byte or nibble is an address's */
#define ETMV1_HIGH        0x08u /* cycle, 16-bit port: its high byte, too */
#define ETMV1_COUNTED     0x10u /* cycle: a TD that counts (TRACEPKT[0] = 1) */
#define ETMV1_PARTIAL     0x20u /* address: only the low 7 * n bits are known */
#define ETMV1_HAS_CONTEXT 0x40u

#define ETMV1_RAW 9

struct etmv1_packet {
    uint64_t offset; /* of the cycle, or of the one that has the address's first byte */
    uint64_t value;
    uint64_t cycle; /* number of the cycle, counted since the latest loss */
    uint32_t context;
    uint16_t pkt;   /* TRACEPKT */
    uint16_t flags; /* ETMV1_* */
    uint8_t kind;   /* enum etmv1_kind */
    uint8_t status; /* what TR replaced is put in its place */
    uint8_t reason; /* enum etmv1_reason */
    uint8_t isa;
    uint8_t raw_len;
    uint8_t raw[ETMV1_RAW]; /* the address's bytes: they are spread over many cycles */
};

/* Bytes of the stream from `offset` that are the packet; 0: its bytes are spread over cycles. */
uint64_t etmv1_packet_size(const struct etmv1_config *config, const struct etmv1_packet *k);

/* Parser state; plain data, may be copied to make a checkpoint. */
struct etmv1 {
    struct etmv1_config config;
    struct port_reader in;
    uint64_t raw_cycle; /* where the address in `raw` begins */
    uint32_t base;      /* last address, with its bit 0 */
    bool known;         /* all of it */
    bool jazelle;
    bool in_address;
    bool nibble_valid;
    uint8_t nibble;
    uint8_t apo_left; /* cycles of the latest branch that carry its address packet offset */
    uint8_t due;      /* addresses of branches seen, as far as is known */
    bool pushed;      /* data since the latest branch */
    uint8_t spare;    /* what the address's last byte is if the FIFO was emptied */
    uint8_t spares;   /* 0: no such byte; 2: it may be one or another */
    uint8_t raw_len;
    uint8_t raw[ETMV1_RAW];
};

/* As each protocol's: decoder/flow/flow.h; max >= 4, up to 2 packets at the end. BT_ERR_INVAL: no
 * such port. What is bad is ETMV1_MALFORMED, and addresses stay partial until a full one. */
int etmv1_init(struct etmv1 *p, const struct etmv1_config *config);
void etmv1_discontinuity(struct etmv1 *p);
size_t etmv1_parse(struct etmv1 *p, const uint8_t *data, size_t len, struct etmv1_packet *out,
                   size_t max, size_t *count);
size_t etmv1_finish(struct etmv1 *p, struct etmv1_packet *out);

#endif
