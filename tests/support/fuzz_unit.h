/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component of CoreSight for fuzzers: a page of registers that answer what records of the input
 * say, 8 bytes each: offset (bit 0: a fault), how often that answer is given (0: always), value.
 * Registers without a record keep what is written. An access outside the page and the store, or
 * more of them than any component needs, ends the fuzzer.
 */
#ifndef TESTS_SUPPORT_FUZZ_UNIT_H
#define TESTS_SUPPORT_FUZZ_UNIT_H

#include "drivers/coresight/coresight.h"

struct fuzz_unit {
    struct coresight_bus bus; /* for the driver */
    uint64_t base;
    uint64_t store, store_bytes; /* memory that the component uses beside its page */
    /* NULL, or called behind each write. */
    void (*wrote)(struct fuzz_unit *u, unsigned offset);
    uint32_t regs[1024];
    const uint8_t *records;
    size_t count;
    uint8_t given[256]; /* how often each record has answered */
    unsigned accesses;
    uint64_t now;
};

/* A unit at `base`; `data` are the records, which must outlive it. */
void fuzz_unit_init(struct fuzz_unit *u, uint64_t base, const uint8_t *data, size_t size);

static inline unsigned fuzz_get16(const uint8_t *p)
{
    return (unsigned)p[0] | (unsigned)p[1] << 8;
}

static inline uint32_t fuzz_get32(const uint8_t *p)
{
    return fuzz_get16(p) | (uint32_t)fuzz_get16(p + 2) << 16;
}

#endif
