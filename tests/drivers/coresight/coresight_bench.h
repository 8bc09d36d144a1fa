/* SPDX-License-Identifier: BSD-3-Clause */
/* A small core in a Cortex-M's modelled system, and how it is halted; for tests. */
#ifndef TESTS_USB_UNIT_CORESIGHT_BENCH_H
#define TESTS_USB_UNIT_CORESIGHT_BENCH_H

#include "tests/model/bus_bench.h"
#include "tests/model/core_sim.h"
#include "tests/model/coresight_model.h"

#define DHCSR (CS_SCS + 0xdf0)
#define DCRSR (CS_SCS + 0xdf4)
#define DCRDR (CS_SCS + 0xdf8)
#define DEMCR (CS_SCS + 0xdfc)
#define DFSR  (CS_SCS + 0xd30)
#define KEY   0xa05f0000u

static struct core_sim sim;
static struct coresight_model sys;

static inline void setup(enum cs_kind kind)
{
    core_sim_init(&sim);
    struct core_model core = core_sim_model(&sim);
    coresight_model_init(&sys, &core);
    coresight_model_become(&sys, kind, 0);
    bus = coresight_model_bus(&sys);
}

static inline void teardown(void)
{
    coresight_model_release(&sys);
}

static inline void halt(void)
{
    W(DHCSR, KEY | 1);
    W(DHCSR, KEY | 3);
    P(DHCSR, 1u << 17, 1u << 17);
}

static inline uint32_t get_register(unsigned n)
{
    W(DCRSR, n);
    P(DHCSR, 1u << 16, 1u << 16);
    return R(DCRDR);
}

#endif
