/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ITM and DWT of ARMv7-M and ARMv8-M: bytes -> packets. DDI 0403E.e appendix D4, DDI 0553B.v F1.2.
 *
 * A header tells how long its packet is, so that a stream can be read from its first byte without
 * a synchronisation packet; many never have one, since the DWT makes it every 16 to 268 million
 * cycles at most. A recording describes the source as a device with `type=ITM` and, in [regs],
 * ITMTCR: trace ID and prescaler of the local timestamps.
 */
#ifndef DECODER_ITM_H
#define DECODER_ITM_H

#include "decoder/flow/packet_scan.h"

struct itm_config {
    uint8_t prescaler; /* of local timestamps: 1, 4, 16 or 64; 0 is 1 */
    /* Nothing is packets before a synchronisation packet, as in the middle of a buffer. Otherwise
     * this holds once one was seen: who has none is read on at the next byte. */
    bool wait_sync;
};

/* From ITM_TCR (DDI 0403E.e C1.7.6); the trace ID is stored, too. */
void itm_config_from_regs(struct itm_config *config, uint32_t itm_tcr, unsigned *trace_id);

enum itm_kind {
    ITM_ASYNC,
    ITM_OVERFLOW,
    ITM_LOCAL_TIME,   /* value, relation */
    ITM_GLOBAL_LOW,   /* GTS1: value, bits; flags */
    ITM_GLOBAL_HIGH,  /* GTS2: value, bits */
    ITM_PAGE,         /* value: stimulus ports 32 * value and up follow */
    ITM_EXTENSION,    /* value, bits: another one */
    ITM_SOFTWARE,     /* number = stimulus port, value, bytes */
    ITM_COUNTERS,     /* value: mask of profiling counters that wrapped */
    ITM_PMU,          /* value: mask of PMU counters that overflowed */
    ITM_EXCEPTION,    /* number, relation = 1 entered, 2 exited, 3 returned to */
    ITM_SAMPLE,       /* bytes = 4: value = PC; bytes = 1: value = 0 asleep, 0xff not allowed */
    ITM_DATA_PC,      /* number = comparator, value */
    ITM_DATA_MATCH,   /* number = comparator */
    ITM_DATA_ADDRESS, /* number = comparator, value: the low `bytes` of it */
    ITM_DATA_VALUE,   /* number = comparator, value, bytes, flags */
    ITM_HARDWARE,     /* a hardware source that is not known, or of a size it cannot have: number */
    ITM_RESERVED,     /* value = header */
    ITM_MALFORMED,    /* a field without an end, zeros that are no synchronisation: number =
                         header, value = bytes */
    ITM_UNSYNCED,     /* value = bytes thrown away */
    ITM_INCOMPLETE,   /* value = bytes: the stream ended inside a packet */
};

#define ITM_WRITE        0x01u /* data value: of a store, otherwise a load */
#define ITM_CLOCK_CHANGE 0x02u /* GTS1 */
#define ITM_WRAP         0x04u /* GTS1: the high bits have changed, GTS2 follows */

/* Relation of a local timestamp to the packets before it (DDI 0403E.e D4.2.4). */
enum itm_relation {
    ITM_TIME_EXACT,
    ITM_TIME_LATE,        /* the timestamp was delayed */
    ITM_TIME_PACKET_LATE, /* the packets were delayed */
    ITM_TIME_BOTH_LATE,
};

struct itm_packet {
    uint64_t offset;
    uint64_t value;
    uint16_t size; /* 0xffff: as `value` says */
    uint16_t number;
    uint8_t kind; /* enum itm_kind */
    uint8_t bytes;
    uint8_t bits;
    uint8_t relation;
    uint8_t flags; /* ITM_* */
};

/* Plain data: a copy is a checkpoint. */
struct itm {
    struct packet_scan scan;
    uint8_t page;
    bool wait_sync; /* after a loss there will be a synchronisation packet */
};

/* As each protocol's: decoder/flow/flow.h; max >= 2, at most one packet at the end. */
void itm_init(struct itm *p, const struct itm_config *config);
void itm_discontinuity(struct itm *p);
size_t itm_parse(struct itm *p, const uint8_t *data, size_t len, struct itm_packet *out, size_t max,
                 size_t *count);
size_t itm_finish(struct itm *p, struct itm_packet *out);

#endif
