/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv2.0 and v2.1 (ARM10): captured port cycles -> packets.
 * IHI 0014Q chapter 6; packets 6.4, synchronisation and TFO 6.5, branch addresses 6.7.1. Knows no
 * instructions: see etmv2_flow.h for that.
 *
 * Bytes of the input: see port_cycle.h. A recording describes the source as a device with
 * `type=ETM2.0` or `ETM2.1` (`ETMv2...` is read, too) and [regs] ETMCR and ETMIDR. PORT_LAYOUT
 * there is the number of the layout, 0 (ETB words) if missing; SCTLR among the core's [regs] says
 * where its vectors are. What the specification leaves open has a key each in the same [regs]: the
 * names in capitals at struct etmv2_config.
 */
#ifndef DECODER_ETMV2_H
#define DECODER_ETMV2_H

#include "decoder/port/port_cycle.h"

/* What the decoder must know of the trace unit: the stream is not self-describing. */
struct etmv2_config {
    struct port_format port;
    uint8_t context_bytes; /* 0, 1, 2 or 4 */
    bool data_value;
    bool data_address;
    bool cycle_accurate;
    bool monitor_cprt; /* coprocessor register transfers are traced */
    bool low_vectors;  /* exception vectors at 0; both: not known which */
    bool high_vectors; /* at 0xffff0000 */

    /* Choices that IHI 0014Q leaves to the implementation. All 0 is the choice that is
     * preferred. */
    uint64_t status_codes; /* STATUS_CODES, point 1: bits [4i+3:4i] are the row of the table that
                              PIPESTAT i stands for, see etmv2_status_codes_valid(); 0: row i */
    uint8_t tfo_header;    /* TFO_HEADER, 2: bit of "LSM in progress" << 4 | lower bit of the
                              reason, see etmv2_tfo_header_valid(); 0: 0x75 */
    bool tfo_straight;     /* TFO_VALUE, 3: TRACEPKT[7:1] is the value as it stands */
    bool late_group;     /* GROUP_LATENCY, 4: a group's first byte comes a cycle after its status */
    uint8_t tfo4_extra;  /* TFO4_CYCLES, 5: 4-bit port, cycles behind a TFO that have no
                            byte; 0: 1 */
    bool wait_zeros;     /* WAIT_CODE, 6: cycle-accurate, a TD with TRACEPKT[3:1] = 000 is a wait
                            and TFO values are 16 too large (H2); else 111 is one (H1) */
    bool tfo_in_trigger; /* TRIGGER_TFO, 7: value of a TFO in the cycle of the trigger is in
                            TRACEPKT[7:4] of that cycle (8- and 16-bit port), else in the next */
    bool no_tag_reserved; /* MISS_TAG0, 8: Load Miss data with tag 0 is reserved */
    bool high_word_first; /* WORD_ORDER, 9: of LDRD and STRD */
    bool status_together; /* PIPESTAT3, 10: PIPESTAT[3] is captured below TRACEPKT, not above */
    bool big_endian;      /* VALUE_ORDER, 11: values come most significant byte first */
    bool abort_no_status; /* ABORT_STATUS, 12: an instruction whose prefetch aborted, E = 0,
                             has no status: it is the one behind the last instruction */
};

#define ETMV2_STATUS_CODES 0xfedcba9876543210u

/* Each row of the table once, and TR and TD at 6 and 7: those two are certain. */
bool etmv2_status_codes_valid(uint64_t codes);

/* Three different bits of a byte. */
bool etmv2_tfo_header_valid(unsigned header);

/*
 * Configuration from the values of ETMCR and ETMIDR; vectors at either place.
 * BT_ERR_INVAL: ETMIDR is not that of an ETMv2 (major version field not 1), or ETMCR[6:4] is no
 * port size of it.
 */
int etmv2_config_from_regs(struct etmv2_config *config, uint32_t etmcr, uint32_t etmidr);

/* PIPESTAT (IHI 0014Q chapter 6). */
enum etmv2_status {
    ETMV2_IE,
    ETMV2_DE,
    ETMV2_IN,
    ETMV2_DN,
    ETMV2_WT,
    ETMV2_DW,
    ETMV2_TR,
    ETMV2_TD,
    ETMV2_PHANTOM = 8, /* and one of the first four: a branch came before it in the same cycle */
    ETMV2_PHANTOM_NOT_TAKEN = 12,
};

enum etmv2_kind {
    ETMV2_STATUS,     /* one cycle: status */
    ETMV2_TFO,        /* number = reason, value = address; see ETMV2_LSIP */
    ETMV2_BRANCH,     /* value = address, n = its bytes */
    ETMV2_DATA,       /* Normal Data: address and value */
    ETMV2_NOT_TRACED, /* Value Not Traced */
    ETMV2_MISS,       /* Load Miss occurred: n = tag, address */
    ETMV2_MISS_DATA,  /* n = tag, value */
    ETMV2_CONTEXT,    /* context */
    ETMV2_RESERVED,   /* value = byte; synchronisation is lost */
    ETMV2_DESYNC,     /* statuses and bytes do not agree (IHI 0014Q 6.5); synchronisation is lost */
    ETMV2_UNSYNCED,   /* value = bytes skipped while looking for a TFO */
    ETMV2_INCOMPLETE, /* value = bytes: the stream ended before the packets of these cycles */
    ETMV2_END,        /* the stream ends here: nothing pending can change any more */
};

#define ETMV2_HAS_CONTEXT 0x001u
#define ETMV2_HAS_ADDRESS 0x002u /* data: all bits of `address` are known */
#define ETMV2_HAS_VALUE   0x004u
#define ETMV2_TRIGGER     0x008u /* status: the trigger was in this cycle */
#define ETMV2_TFO_CYCLE   0x010u /* status: a TFO, not a TD */
/* TFO: LSM in progress; value is where the LSM is, address where execution goes on, isa2 in which
 * state */
#define ETMV2_LSIP    0x020u
#define ETMV2_CANCEL  0x040u /* branch: E bit */
#define ETMV2_FIRST   0x080u /* data: A bit, first packet of its instruction */
#define ETMV2_MORE    0x100u /* C bit: another packet of the same cycle follows */
#define ETMV2_WAITING 0x200u /* status: TD of a cycle that counts (TRACEPKT[0] = 1) */

#define ETMV2_RAW 16

struct etmv2_packet {
    uint64_t offset; /* of the cycle, or of the one that has the packet's first byte */
    uint64_t value;
    uint32_t address;
    uint32_t context;
    uint16_t flags; /* ETMV2_* */
    uint8_t kind;   /* enum etmv2_kind */
    uint8_t status; /* of a cycle: what TR replaced is put in its place */
    uint8_t number;
    uint8_t isa;
    uint8_t isa2;
    uint8_t n;
    uint8_t raw_len;
    uint8_t raw[ETMV2_RAW]; /* the packet's bytes: they are spread over many cycles */
};

/* Bytes of the stream from `offset` that are the packet; 0: its bytes are spread over cycles. */
uint64_t etmv2_packet_size(const struct etmv2_config *config, const struct etmv2_packet *k);

#define ETMV2_QUEUE 512 /* cycles that wait for earlier packets: a FIFO has at most 127 bytes */
#define ETMV2_TFOS  32  /* TFO packets that may wait in the FIFO */

/* A TFO cycle whose packet has not come yet. */
struct etmv2_tfo {
    uint64_t cycle;
    uint64_t fifo; /* bytes out of the FIFO before it */
    uint8_t n;     /* TFO value */
    bool half;     /* 4-bit port: in the middle of a byte */
};

/* The cycle that is being taken apart. */
struct etmv2_cycle {
    uint16_t pkt;
    uint8_t status;
    uint8_t slots; /* bytes (4-bit port: nibbles) that it may still have */
    bool trigger;
    bool used;    /* had a byte */
    bool excused; /* need not have one */
    bool own;     /* its own group is pushed behind what it outputs */
};

enum etmv2_sync {
    ETMV2_SYNC_SEARCH,
    ETMV2_SYNC_CANDIDATE, /* on the way to the packet of tfo[0] */
    ETMV2_SYNC_FOLLOWS,   /* groups are followed */
};

/* Parser state; plain data, may be copied to make a checkpoint. */
struct etmv2 {
    struct etmv2_config config;
    struct port_reader in;
    enum etmv2_sync sync;
    bool busy;     /* `cycle` is valid */
    bool head_out; /* the status of the first queued cycle was given out */
    bool shifted;  /* candidate: half a byte was dropped already */
    bool nibble_valid;
    uint8_t nibble;
    uint8_t tfo_wait; /* what of a TFO value is still to come */
    uint8_t tfo_idle; /* cycles without a byte that are still to come behind a TFO */
    struct etmv2_cycle cycle;
    uint16_t queue_head, queue_len;
    uint16_t groups;       /* queued cycles that have one */
    uint64_t queue_cycle;  /* number of the first queued cycle */
    uint64_t fifo;         /* bytes out of the FIFO */
    uint64_t resync_start; /* offset where the search for a TFO began */
    uint64_t skipped_to;   /* end of skipped bytes that are to be reported; 0: none */
    uint64_t byte_cycle;   /* of the latest byte: of its lower nibble */
    uint64_t raw_cycle;    /* of the first byte of the packet in `raw` */
    uint32_t base;         /* last branch or TFO address */
    uint32_t data_base;    /* last data address */
    uint8_t base_isa;
    bool data_known;
    uint8_t raw_len;
    uint8_t tfo_count;
    struct etmv2_tfo tfo[ETMV2_TFOS];
    uint8_t raw[ETMV2_RAW];
    uint8_t queue[ETMV2_QUEUE];
};

/* As each protocol's: decoder/flow/flow.h; max >= 8, up to 3 packets at the end. BT_ERR_INVAL: no
 * such port. Each cycle's status comes before the packets that it pushed, and those before the next
 * cycle. What is bad is ETMV2_RESERVED or ETMV2_DESYNC; what is looked for then is a TFO. */
int etmv2_init(struct etmv2 *p, const struct etmv2_config *config);
void etmv2_discontinuity(struct etmv2 *p);
size_t etmv2_parse(struct etmv2 *p, const uint8_t *data, size_t len, struct etmv2_packet *out,
                   size_t max, size_t *count);
size_t etmv2_finish(struct etmv2 *p, struct etmv2_packet *out);

#endif
