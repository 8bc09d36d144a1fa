/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv4 and ETE packets as bytes, one function a packet (IHI 0064H.b chapter 6). No state; the flow
 * is in etmv4_encoder.c. Each function writes to `p`, which has room for ETMV4_PUT_MAX bytes, and
 * returns the number written.
 */
#ifndef DRIVERS_VIRTUAL_ETMV4_PACKETS_H
#define DRIVERS_VIRTUAL_ETMV4_PACKETS_H

#include "btrace/types.h"

#define ETMV4_PUT_MAX 40

/* Least number of bytes 1..max that hold `value` in groups of seven bits. */
unsigned etmv4_varint_bytes(uint64_t value, unsigned max);

/* `bytes` groups of seven bits: what is behind the needed ones is zero. */
size_t etmv4_put_varint(uint8_t *p, uint64_t value, unsigned bytes);

size_t etmv4_put_async(uint8_t *p);

struct etmv4_info_fields {
    bool empty_section; /* an INFO section even when it says nothing */
    unsigned info;
    uint32_t speculation;
    uint32_t threshold;
};

size_t etmv4_put_trace_info(uint8_t *p, const struct etmv4_info_fields *f);

/* 1..9 bytes of `time`; `count` < 0: without a cycle count. */
size_t etmv4_put_timestamp(uint8_t *p, uint64_t time, unsigned bytes, int64_t count);

/* How much of an address is sent. Exact matches are bytes of their own: 0x90 + entry. */
enum etmv4_reach { ETMV4_SHORT_1, ETMV4_SHORT_2, ETMV4_LONG_32, ETMV4_LONG_64, ETMV4_REACHES };

/* What an address packet of this form leaves as it was in the one before. */
uint64_t etmv4_address_kept(enum etmv4_reach reach, bool is1);

/* Header and payload; not for the short forms in front of a context. */
size_t etmv4_put_address(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach);
size_t etmv4_put_source_address(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach);

struct etmv4_context_fields {
    uint8_t info; /* the whole information byte, V and C included */
    uint32_t vmid;
    uint32_t context_id;
    unsigned vmid_bytes; /* counts if V */
    unsigned context_bytes;
};

size_t etmv4_put_context(uint8_t *p, const struct etmv4_context_fields *f);

/* `reach` is ETMV4_LONG_32 or ETMV4_LONG_64. */
size_t etmv4_put_address_context(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach,
                                 const struct etmv4_context_fields *f);

/* `target`: the address that follows is that of the P0 element before, too. */
size_t etmv4_put_exception(uint8_t *p, unsigned type, bool target, bool pending, bool long_form);

/*
 * One packet for as many of the oldest of `count` (1..32) atoms as it can hold, oldest in bit 0,
 * 1 = E; stores their number in *taken.
 */
size_t etmv4_put_atoms(uint8_t *p, uint32_t atoms, unsigned count, unsigned *taken);

/*
 * Cycle counts: `value` is that of the packet, threshold taken off. Format 1: `commit` < 0 where
 * packets carry none, `value` < 0 where the count is not known.
 */
size_t etmv4_put_cycles_1(uint8_t *p, int64_t commit, int64_t value);
size_t etmv4_put_cycles_2(uint8_t *p, bool f, unsigned a, unsigned b);
size_t etmv4_put_cycles_3(uint8_t *p, unsigned a, unsigned b);

size_t etmv4_put_instrumentation(uint8_t *p, unsigned level, uint64_t value);

#endif
