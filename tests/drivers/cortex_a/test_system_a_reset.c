/* SPDX-License-Identifier: BSD-3-Clause */
/* Resets of the ARMv7-A system: by its line, and by the debug registers (DDI 0406C.d part C). */
#include "tests/drivers/cortex_a/system_a_bench.h"

static unsigned reason(uint32_t cpu)
{
    return R(cpu + DSCR) & 0x3f;
}

START_TEST(test_reset_catch)
{
    attach(CPU0);
    W(CPU0 + 0x01c, 1);
    system_a_nreset(&sys, true);
    system_a_nreset(&sys, false);
    P(CPU0 + DSCR, 3, 3);
    ck_assert_uint_eq(reason(CPU0), 0x17);
    ck_assert_uint_eq(sim.core[0].reg[CORE_A_PC], CORE_A_SIM_MEMORY);
    ck_assert_uint_eq(R(CPU1 + DSCR) & 1, 0);
    ck_assert_uint_eq(R(CPU0 + 0x314) & 8, 8);
}
END_TEST

/* While the line is low the core is in no state to be looked at; what its debug logic was told
 * stays. */
START_TEST(test_reset_line)
{
    halt(CPU0);
    W(CPU0 + BVR0, 0x60000100);
    R(CPU0 + PRSR);
    system_a_nreset(&sys, true);
    ck_assert_uint_eq(R(CPU0 + PRSR), 0xd);
    ck_assert_uint_eq(R(CPU0 + PRSR), 0xd); /* that it was reset is told when it is not any more */
    ck_assert_uint_eq(R(CPU0 + DSCR) & 1, 0);
    ck_assert_uint_eq(R(CPU0 + ITR), UINT32_MAX); /* no sample of a PC */
    uint32_t before = sim.core[0].reg[0];
    for (unsigned i = 0; i < 5; i++)
        system_a_run(&sys);
    ck_assert_uint_eq(sim.core[0].reg[0], before);
    system_a_nreset(&sys, false);
    ck_assert_uint_eq(R(CPU0 + PRSR), 9);
    ck_assert_uint_eq(R(CPU0 + PRSR), 1);
    ck_assert_uint_eq(R(CPU0 + BVR0), 0x60000100);
    ck_assert_uint_eq(R(CPU0 + DSCR) & (DSCR_HDBGEN | DSCR_ITREN), DSCR_HDBGEN | DSCR_ITREN);
    system_a_run(&sys);
    ck_assert_uint_ne(sim.core[0].reg[0], 0); /* it runs */
}
END_TEST

/* Held in reset by its debug logic, and halted in front of its first instruction. */
START_TEST(test_reset_hold)
{
    attach(CPU0);
    W(CPU0 + PRCR, PRCR_HOLD);
    system_a_nreset(&sys, true);
    W(CPU0 + PRCR, 0); /* the line is low */
    ck_assert_uint_eq(R(CPU0 + PRSR) & 4, 4);
    W(CPU0 + PRCR, PRCR_HOLD);
    system_a_nreset(&sys, false);
    ck_assert_uint_eq(R(CPU0 + PRSR) & 4, 4);
    ck_assert_uint_eq(R(CPU1 + PRSR) & 4, 0);
    W(CPU0 + DRCR, 1);
    ck_assert_uint_eq(R(CPU0 + DSCR) & 1, 0);
    W(CPU0 + PRCR, 0);
    P(CPU0 + DSCR, 1, 1);
    ck_assert_uint_eq(reason(CPU0), 0x03);
    ck_assert_uint_eq(sim.core[0].reg[CORE_A_PC], CORE_A_SIM_MEMORY);
    ck_assert_uint_eq(R(CPU0 + PRSR), 9);
}
END_TEST

/* A core that asks for its reset: where nobody hears it nothing happens. */
START_TEST(test_own_reset)
{
    halt(CPU0);
    R(CPU0 + PRSR);
    W(CPU0 + PRCR, PRCR_RESET);
    ck_assert_uint_eq(R(CPU0 + PRSR), 1);
    ck_assert_uint_eq(R(CPU0 + DSCR) & 1, 1);
    ck_assert_uint_eq(sys.unheard, 1);
    sys.hears_cores = true;
    W(CPU0 + PRCR, PRCR_RESET | PRCR_HOLD);
    ck_assert_uint_eq(R(CPU0 + PRCR), PRCR_HOLD);
    ck_assert_uint_eq(R(CPU0 + PRSR), 0xd);
    ck_assert_uint_eq(R(CPU1 + PRSR) & 8, 8); /* the system has one reset */
    W(CPU0 + PRCR, 0);
    ck_assert_uint_eq(R(CPU0 + PRSR), 9);
    ck_assert_uint_eq(sys.core_resets, 1);
}
END_TEST

/* The trace's registers outlive a reset, or not: boards differ. */
START_TEST(test_reset_of_trace)
{
    const uint32_t unit = 0x80000000u + SYSTEM_A_UNIT, tpiu = 0x80000000u + SYSTEM_A_TPIU;
    const uint32_t etb = 0x80000000u + SYSTEM_A_ETB, funnel = 0x80000000u + SYSTEM_A_FUNNEL;
    for (unsigned resets = 0; resets < 2; resets++) {
        sys.resets_trace = resets;
        W(unit, 0x400);
        W(unit + 0x200, 0x22);
        W(tpiu + 0x004, 8);
        W(funnel, 0x301);
        W(etb + 0x020, 0);
        W(etb + 0x018, 12);
        W(etb + 0x304, 1);
        W(etb + 0x020, 1);
        system_a_nreset(&sys, true);
        system_a_nreset(&sys, false);
        ck_assert_uint_eq(R(unit), resets ? 0x401 : 0x400);
        ck_assert_uint_eq(R(unit + 0x200), resets ? 0 : 0x22);
        ck_assert_uint_eq(R(tpiu + 0x004), resets ? 1 : 8);
        ck_assert_uint_eq(R(funnel), resets ? 0x300 : 0x301);
        ck_assert_uint_eq(R(etb + 0x020), !resets);
        ck_assert_uint_eq(R(etb + 0x304), !resets);
        ck_assert_uint_eq(R(etb + 0x018), resets ? 0 : 12);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("system_a_reset");
    add(s, "system_a_reset: reset is caught", test_reset_catch);
    add(s, "system_a_reset: the reset line", test_reset_line);
    add(s, "system_a_reset: held in reset", test_reset_hold);
    add(s, "system_a_reset: a core asks for its reset", test_own_reset);
    add(s, "system_a_reset: what a reset does to the trace", test_reset_of_trace);
    return s;
}
