/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFT packets as bytes, one function a packet. No state; the flow is in ptm_encoder.c. Each
 * function writes to `p`, which has room for PTM_PACKET_MAX bytes,
 * and returns the number written. */
#ifndef DRIVERS_VIRTUAL_PTM_PACKETS_H
#define DRIVERS_VIRTUAL_PTM_PACKETS_H

#include "btrace/types.h"

#define PTM_PACKET_MAX 20

/* Cycle count field of a packet: PTM_NO_COUNT where the packet or the mode has none. */
#define PTM_NO_COUNT (-1)

struct ptm_isync_fields {
    uint32_t address;
    enum bt_isa isa; /* A32, T32 or T32EE */
    enum bt_security security;
    unsigned reason; /* 0..3 */
    int64_t count;
    bool count_bit7; /* top bit of the first count byte, without a meaning */
    uint32_t context_id;
    unsigned context_id_bytes; /* 0, 1, 2, 4 */
};

struct ptm_branch_fields {
    uint32_t address;
    enum bt_isa isa;
    unsigned address_bytes; /* 1..5; at least 2 with an information byte */
    unsigned info_bytes;    /* 0..2 */
    unsigned exception;     /* 0: none */
    enum bt_security security;
    int64_t count;
};

/* Least number of address bytes that turn `base` into `address`, both of state `isa`. */
unsigned ptm_address_bytes(uint32_t address, uint32_t base, enum bt_isa isa);

size_t ptm_put_isync(uint8_t *p, const struct ptm_isync_fields *f);
size_t ptm_put_branch(uint8_t *p, const struct ptm_branch_fields *f);

/*
 * `alt`: -1, or the AltISA bit of a waypoint information byte; needs five address bytes and a Thumb
 * state.
 */
size_t ptm_put_update(uint8_t *p, uint32_t address, enum bt_isa isa, unsigned address_bytes,
                      int alt);

/* `atoms`: 1..5 of them, the oldest in the highest bit, 1 = N. */
size_t ptm_put_atoms(uint8_t *p, unsigned atoms, unsigned count);
size_t ptm_put_cycle_atom(uint8_t *p, bool n, uint32_t cycles);

size_t ptm_put_context_id(uint8_t *p, uint32_t value, unsigned bytes);

/* `raw`: as transmitted, Gray or binary. `bytes` 1..7, or 1..9 if `wide`. */
size_t ptm_put_timestamp(uint8_t *p, uint64_t raw, unsigned bytes, bool wide, bool clock_changed,
                         int64_t count);

#endif
