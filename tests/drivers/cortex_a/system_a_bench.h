/* SPDX-License-Identifier: BSD-3-Clause */
/* Two small cores behind the modelled ARMv7-A debug logic, and its debug bus; for tests. */
#ifndef TESTS_USB_UNIT_SYSTEM_A_BENCH_H
#define TESTS_USB_UNIT_SYSTEM_A_BENCH_H

#include "tests/model/bus_bench.h"
#include "tests/model/core_a_sim.h"
#include "tests/model/system_a.h"

#define CPU0 0x80090000u
#define CPU1 0x80092000u
#define CTI0 0x80098000u
#define CTI1 0x80099000u

#define DTRRX 0x080
#define ITR   0x084
#define DSCR  0x088
#define DTRTX 0x08c
#define DRCR  0x090
#define BVR0  0x100
#define BCR0  0x140
#define WVR0  0x180
#define WCR0  0x1c0
#define PRCR  0x310
#define PRSR  0x314

#define COMPLETE (1u << 24)
#define TX_L     (1u << 26)

static struct core_a_sim sim;
static struct system_a sys;

static inline void setup(void)
{
    static const struct trace_a_options options = {.words = 64};
    core_a_sim_init(&sim, 2);
    struct core_a cores = core_a_sim_cores(&sim);
    system_a_init(&sys, &cores, &options);
    bus = system_a_debug(&sys);
}

static inline void teardown(void)
{
    system_a_release(&sys);
}

static inline void attach(uint32_t cpu)
{
    W(cpu + DSCR, R(cpu + DSCR) | DSCR_HDBGEN);
}

static inline void halt(uint32_t cpu)
{
    attach(cpu);
    W(cpu + DRCR, 1);
    P(cpu + DSCR, 1, 1);
    W(cpu + DSCR, R(cpu + DSCR) | DSCR_ITREN);
}

static inline void resume(uint32_t cpu)
{
    W(cpu + DSCR, R(cpu + DSCR) & ~DSCR_ITREN);
    W(cpu + DRCR, 6);
    P(cpu + DSCR, 2, 2);
}

static inline void add(Suite *s, const char *name, const TTest *test)
{
    TCase *t = tcase_create(name);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, test);
    suite_add_tcase(s, t);
}

#endif
