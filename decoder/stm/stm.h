/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MIPI STPv2, as the STM of an application processor sends it: bytes -> packets. MIPI STP 2.2; what
 * an STM makes of it: DDI 0444B chapter 2.
 *
 * The stream is one of nibbles, the low one of a byte first, and packets begin at any of them; the
 * nibbles of a value come most significant first. A recording describes the source as a device with
 * `type=STM` and, in [regs], STMTCSR: its trace ID.
 */
#ifndef DECODER_STM_H
#define DECODER_STM_H

#include "btrace/types.h"

#include <stddef.h>

struct stm_config {
    uint8_t trace_id; /* what STMTCSR[22:16] says */
};

enum stm_kind {
    STM_NULL, /* with STM_TIMED: a timestamp alone */
    STM_ASYNC,
    STM_VERSION,      /* value */
    STM_MASTER,       /* master */
    STM_CHANNEL,      /* channel */
    STM_DATA,         /* value, bits; master, channel */
    STM_FLAG,         /* master, channel */
    STM_TRIGGER,      /* value */
    STM_USER,         /* value, bits */
    STM_FREQUENCY,    /* value: of the timestamps, in hertz */
    STM_MASTER_ERROR, /* value: the master's writes were lost */
    STM_GLOBAL_ERROR, /* value: several masters' were */
    STM_RESERVED,     /* of a length that is not known: synchronisation is lost */
    STM_MALFORMED,    /* the same: a bad timestamp, or the middle of it is a synchronisation */
    STM_UNSYNCED,     /* value = bytes thrown away */
    STM_INCOMPLETE,   /* the stream ended inside a packet */
    STM_KINDS
};

#define STM_MARKED     0x01u
#define STM_TIMED      0x02u /* stamp, stamp_bits */
#define STM_TIME_KNOWN 0x04u /* time: all of it */

#define STM_NIBBLES 48 /* more than any packet but a synchronisation */

struct stm_packet {
    uint64_t offset; /* of the byte that its first nibble is in */
    uint64_t value;
    uint64_t stamp; /* timestamp as it was sent */
    uint64_t time;
    uint64_t size; /* bytes, the first and last of which other packets may share */
    uint16_t master;
    uint16_t channel;
    uint8_t kind; /* enum stm_kind */
    uint8_t bits;
    uint8_t stamp_bits;
    uint8_t flags;   /* STM_* */
    uint8_t phase;   /* 1: begins in the upper nibble */
    uint8_t nibbles; /* in `raw`: low nibble of a byte first, as in the stream */
    uint8_t raw[STM_NIBBLES / 2];
};

/* Plain data: a copy is a checkpoint. Places count nibbles. */
struct stm {
    uint64_t at;           /* of the next nibble */
    uint64_t start;        /* of the packet that is being received */
    uint64_t resync_start; /* where the search for a synchronisation began; bytes */
    uint64_t ones;         /* nibbles of all ones before `at` */
    uint64_t time;         /* latest timestamp */
    uint64_t sent;         /* the same before Gray code was undone */
    uint16_t master;
    uint16_t channel;
    uint8_t version; /* its low three bits; STM_NO_VERSION: not told yet */
    bool synced;
    bool time_known;
    uint8_t count; /* nibbles of that packet */
    uint8_t nibbles[STM_NIBBLES];
};

#define STM_NO_VERSION 0xff

/* From STMTCSR. */
void stm_config_from_regs(struct stm_config *config, uint32_t stmtcsr);

/* As each protocol's: decoder/flow/flow.h; max >= 8, at most one packet at the end. */
void stm_init(struct stm *p, const struct stm_config *config);
void stm_discontinuity(struct stm *p);
size_t stm_parse(struct stm *p, const uint8_t *data, size_t len, struct stm_packet *out, size_t max,
                 size_t *count);
size_t stm_finish(struct stm *p, struct stm_packet *out);

#endif
