/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv3 packets as bytes, one function a packet. No state; compression is in etmv3_output.c. Each
 * function writes to `p`, which has room for ETMV3_PACKET_MAX bytes, and returns the number
 * written.
 */
#ifndef DRIVERS_VIRTUAL_ETMV3_PACKETS_H
#define DRIVERS_VIRTUAL_ETMV3_PACKETS_H

#include "btrace/types.h"

#define ETMV3_PACKET_MAX 24

/* Cycle count of an I-sync that has none. */
#define ETMV3_NO_COUNT (-1)

struct etmv3_branch_fields {
    uint32_t address;
    enum bt_isa isa;
    bool alternative;       /* encoding, see ETMIDR[20] */
    unsigned address_bytes; /* 1..5; with exception bytes 5, alternative: at least 2 */
    unsigned info_bytes;    /* exception information bytes 0 to info_bytes - 1: 0..2 */
    bool has_resume;        /* and byte 2 */
    unsigned exception;     /* as in the packet; 0: none */
    bool cancel;
    bool nonsecure;
    bool hyp;
    uint8_t resume; /* 0..15 */
};

struct etmv3_isync_fields {
    uint32_t address;
    enum bt_isa isa;
    bool nonsecure;
    bool hyp;
    unsigned reason; /* 0..3 */
    bool data_only;  /* no address */
    bool lsip;       /* `current` follows the address */
    int64_t count;   /* or ETMV3_NO_COUNT */
    uint32_t context_id;
    unsigned context_id_bytes;          /* 0, 1, 2, 4 */
    struct etmv3_branch_fields current; /* LSiP: second address, relative to the first */
};

/* Data packets: size code of a value, least number of value bytes. */
struct etmv3_data_fields {
    bool has_address_bit;   /* bit A of the header */
    unsigned address_bytes; /* 0: address is not traced; else 1..5 */
    uint32_t address;
    bool big_endian; /* in a fifth address byte */
    bool has_value;  /* value is traced */
    uint32_t value;
};

/* Least number of address bytes that turn `base` into `address`, both of state `isa`. */
unsigned etmv3_address_bytes(uint32_t address, uint32_t base, enum bt_isa isa, bool alternative);
unsigned etmv3_data_address_bytes(uint32_t address, uint32_t base);

size_t etmv3_put_isync(uint8_t *p, const struct etmv3_isync_fields *f);
size_t etmv3_put_branch(uint8_t *p, const struct etmv3_branch_fields *f);

/* Deprecated form of an exception, original encoding: ARM state, no further bytes. `code` 0..7. */
size_t etmv3_put_inline_exception(uint8_t *p, uint32_t address, unsigned code, bool cancel);

size_t etmv3_put_cycle_count(uint8_t *p, uint32_t count);
size_t etmv3_put_context_id(uint8_t *p, uint32_t value, unsigned bytes);

/* `raw`: as transmitted, Gray or binary. `bytes` 1..7, or 1..9 if `wide`. */
size_t etmv3_put_timestamp(uint8_t *p, uint64_t raw, unsigned bytes, bool wide, bool clock_changed);

size_t etmv3_put_data(uint8_t *p, const struct etmv3_data_fields *f);
size_t etmv3_put_placeholder(uint8_t *p, unsigned tag, const struct etmv3_data_fields *f);
size_t etmv3_put_late_data(uint8_t *p, unsigned tag, uint32_t value);
size_t etmv3_put_not_traced(uint8_t *p, const struct etmv3_data_fields *f);

#endif
