/* SPDX-License-Identifier: BSD-3-Clause */
/* Words of a modelled bus, in few letters: read, write, poll; for tests. */
#ifndef TESTS_USB_UNIT_BUS_BENCH_H
#define TESTS_USB_UNIT_BUS_BENCH_H

#include "model_bus.h"
#include "tests/support/unit_main.h"

static struct model_bus bus;

static inline uint32_t R(uint32_t address)
{
    uint32_t value = 0;
    ck_assert_int_eq(bus.read(bus.ctx, address, 4, &value), 0);
    return value;
}

static inline void W(uint32_t address, uint32_t value)
{
    ck_assert_int_eq(bus.write(bus.ctx, address, 4, value), 0);
}

/* Polls (read & mask) == value; fails after a few reads. */
static inline void P(uint32_t address, uint32_t mask, uint32_t value)
{
    for (unsigned i = 0; i < 20; i++)
        if ((R(address) & mask) == value)
            return;
    ck_abort_msg("0x%08x never becomes 0x%08x", address, value);
}

#endif
