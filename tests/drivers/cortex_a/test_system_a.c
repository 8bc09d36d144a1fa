/* SPDX-License-Identifier: BSD-3-Clause */
/* The ARMv7-A debug logic by the procedures of DDI 0406C.d part C, and its refusals. */
#include <string.h>

#include "tests/drivers/cortex_a/system_a_bench.h"

static void execute(uint32_t cpu, uint32_t opcode)
{
    P(cpu + DSCR, COMPLETE, COMPLETE);
    W(cpu + ITR, opcode);
    P(cpu + DSCR, COMPLETE, COMPLETE);
}

static uint32_t get(uint32_t cpu, unsigned n)
{
    execute(cpu, 0xee000e15 | n << 12);
    P(cpu + DSCR, TX_L, TX_L);
    return R(cpu + DTRTX);
}

static void set(uint32_t cpu, unsigned n, uint32_t value)
{
    W(cpu + DTRRX, value);
    execute(cpu, 0xee100e15 | n << 12);
}

static uint32_t pc(uint32_t cpu)
{
    execute(cpu, 0xe1a0000f);
    return get(cpu, 0) - 8;
}

static unsigned reason(uint32_t cpu)
{
    return R(cpu + DSCR) & 0x3f;
}

static void clean(void)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct debug_a_counters *c = &sys.debug[i].counters;
        ck_assert_uint_eq(c->undefined + c->itr_ignored + c->dtr_ignored + c->dtr_misused +
                              c->bad_restarts + c->locked_writes + c->refused,
                          0);
    }
}

START_TEST(test_rom)
{
    static const uint16_t parts[] = {0x907, 0x912, 0x908, 0xc09, 0x9a0, 0xc09,
                                     0x9a0, 0x906, 0x906, 0x950, 0x950};
    const uint32_t rom = 0x80000000;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint32_t entry = R(rom + 4 * i), at = rom + (entry & ~0xfffu);
        ck_assert_uint_eq(entry & 3, 3);
        ck_assert_uint_eq((R(at + 0xfe0) & 0xff) | (R(at + 0xfe4) & 0xf) << 8, parts[i]);
        ck_assert_uint_eq(R(at + 0xff4), 0x90);
    }
    ck_assert_uint_eq(R(rom + 4 * 11) & 1, 0);
    ck_assert_uint_eq(R(rom + 4 * 12), 0);
    ck_assert_uint_eq(R(CPU0 + 0xfcc), 0x15);
    ck_assert_uint_eq(R(CPU1 + 0xd14), 0x80000001); /* MPIDR */
}
END_TEST

START_TEST(test_run_control)
{
    uint32_t before, after;
    halt(CPU0);
    ck_assert_uint_eq(reason(CPU0), 0x03);
    set(CPU0, 5, 0x12345678);
    before = get(CPU0, 5);
    ck_assert_uint_eq(before, 0x12345678);
    before = get(CPU0, 0);
    ck_assert_uint_eq(R(CPU0 + ITR), UINT32_MAX); /* no samples of a halted core */
    ck_assert_uint_ne(R(CPU1 + ITR), UINT32_MAX);
    set(CPU0, 0, before);
    resume(CPU0);
    for (unsigned i = 0; i < 10; i++)
        R(CPU0 + DSCR);
    halt(CPU0);
    after = get(CPU0, 0);
    ck_assert_uint_gt(after, before);
    ck_assert(!sim.core[1].debug);
    clean();
}
END_TEST

/* The registers of another mode: CPSR_c, flush, access, and back. */
START_TEST(test_modes)
{
    halt(CPU0);
    execute(CPU0, 0xe10f0000);
    uint32_t cpsr = get(CPU0, 0);
    ck_assert_uint_eq(cpsr, 0x1df);
    set(CPU0, 13, 0x1000);
    set(CPU0, 0, 0x1d3);
    execute(CPU0, 0xe121f000);
    execute(CPU0, 0xee070f95);
    set(CPU0, 13, 0x2000);
    set(CPU0, 0, 0x600001d2);
    execute(CPU0, 0xe16ff000);
    set(CPU0, 0, cpsr);
    execute(CPU0, 0xe12ff000);
    ck_assert_uint_eq(get(CPU0, 13), 0x1000);
    resume(CPU0);
    ck_assert_uint_eq(sim.core[0].bank[0x13][0], 0x2000);
    ck_assert_uint_eq(sim.core[0].bank[0x13][2], 0x600001d2);
    ck_assert_uint_eq(sim.core[0].reg[CORE_A_CPSR], 0x1df);
    clean();
}
END_TEST

/* Fast mode, as a debugger reads: count - 1 words from the latched LDC, the last one without. */
START_TEST(test_fast_read)
{
    static const uint32_t words[4] = {0x11111111, 0x22222222, 0x33333333, 0x44444444};
    memcpy(sim.memory + 0x5000, words, sizeof words);
    halt(CPU0);
    set(CPU0, 0, CORE_A_SIM_MEMORY + 0x5000);
    execute(CPU0, 0xecb05e01);
    uint32_t dscr = R(CPU0 + DSCR);
    W(CPU0 + DSCR, dscr | 2u << 20);
    W(CPU0 + ITR, 0xecb05e01);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(R(CPU0 + DTRTX), words[i]);
    W(CPU0 + DSCR, dscr);
    P(CPU0 + DSCR, COMPLETE | TX_L, COMPLETE | TX_L);
    ck_assert_uint_eq(R(CPU0 + DTRTX), words[3]);
    ck_assert_uint_eq(get(CPU0, 0), CORE_A_SIM_MEMORY + 0x5010);
    clean();
}
END_TEST

START_TEST(test_fast_write)
{
    halt(CPU0);
    set(CPU0, 0, CORE_A_SIM_HOLE - 8);
    uint32_t dscr = R(CPU0 + DSCR), word;
    W(CPU0 + DSCR, dscr | 2u << 20);
    W(CPU0 + ITR, 0xeca05e01);
    for (uint32_t i = 0; i < 4; i++) /* the third aborts, the fourth is ignored */
        W(CPU0 + DTRRX, 0xa0 + i);
    W(CPU0 + DSCR, dscr);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, DSCR_SDABORT);
    memcpy(&word, sim.memory + CORE_A_SIM_HOLE - CORE_A_SIM_MEMORY - 4, 4);
    ck_assert_uint_eq(word, 0xa1);
    ck_assert_uint_eq(sim.core[0].dfar, CORE_A_SIM_HOLE);
    ck_assert_uint_eq(sim.core[0].dfsr & 0x800, 0x800);
    ck_assert_uint_eq(sys.debug[0].counters.dtr_ignored, 1);
    W(CPU0 + DRCR, 4);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, 0);
    ck_assert_uint_eq(get(CPU0, 0), CORE_A_SIM_HOLE); /* the base stays */
}
END_TEST

START_TEST(test_aborts)
{
    halt(CPU0);
    set(CPU0, 0, 0xa0000000);
    execute(CPU0, 0xe4901004);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, DSCR_SDABORT);
    ck_assert_uint_eq(sim.core[0].dfsr, 0x8);
    ck_assert_uint_eq(sim.core[0].dfar, 0xa0000000);
    W(CPU0 + ITR, 0xe1a0000f); /* behind a sticky flag nothing runs */
    ck_assert_uint_eq(sys.debug[0].counters.itr_ignored, 1);
    W(CPU0 + DRCR, 4);
    ck_assert_uint_eq(get(CPU0, 0), 0xa0000000);
}
END_TEST

/* The debug bus in the core's own memory: its software locks hold, and it takes whole words. */
START_TEST(test_window)
{
    const uint32_t lock = 0x1e010000 + SYSTEM_A_ETB + 0xfb0;
    system_a_window(&sys, 0x1e010000);
    halt(CPU0);
    set(CPU0, 0, lock);
    execute(CPU0, 0xe5901004); /* LDR R1, [R0, #4] */
    ck_assert_uint_eq(get(CPU0, 1), 3);
    set(CPU0, 1, 0xc5acce55);
    execute(CPU0, 0xe5801000); /* STR R1, [R0] */
    execute(CPU0, 0xe5901004);
    ck_assert_uint_eq(get(CPU0, 1), 1);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, 0);
    execute(CPU0, 0xe5d01004); /* LDRB */
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, DSCR_SDABORT);
    W(CPU0 + DRCR, 4);
    set(CPU0, 0, 0x1e010000 + 0x50000); /* where nothing is */
    execute(CPU0, 0xe5901000);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, DSCR_SDABORT);
    ck_assert_uint_eq(sim.core[0].dfar, 0x1e060000);
}
END_TEST

START_TEST(test_undefined)
{
    halt(CPU0);
    execute(CPU0, 0xec510b10); /* VMOV with floating point off */
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, DSCR_UND);
    W(CPU0 + DRCR, 4);
    sim.core[0].reg[CORE_A_FPEXC] = 1u << 30;
    sim.core[0].reg[CORE_A_FP + 1] = 0x3ff00000;
    execute(CPU0, 0xec510b10);
    ck_assert_uint_eq(get(CPU0, 1), 0x3ff00000);
    set(CPU0, 0, 0x1d0);
    execute(CPU0, 0xe121f000); /* User mode has no DFSR */
    execute(CPU0, 0xee150f10);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, DSCR_UND);
    W(CPU0 + DRCR, 4);
    set(CPU0, 0, 0x1df); /* but the way back */
    execute(CPU0, 0xe121f000);
    execute(CPU0, 0xee150f10);
    ck_assert_uint_eq(R(CPU0 + DSCR) & DSCR_STICKY, 0);
}
END_TEST

START_TEST(test_careless)
{
    W(CPU0 + ITR, 0xe1a0000f); /* it runs */
    W(CPU0 + DRCR, 1);
    P(CPU0 + DSCR, 1, 1);
    W(CPU0 + ITR, 0xe1a0000f); /* ITRen is off */
    ck_assert_uint_eq(sys.debug[0].counters.itr_ignored, 2);
    W(CPU0 + DSCR, DSCR_ITREN | DSCR_HDBGEN);
    W(CPU0 + ITR, 0xe1a0000f);
    W(CPU0 + ITR, 0xe1a0100f); /* DSCR has not been looked at since */
    ck_assert_uint_eq(sys.debug[0].counters.itr_ignored, 3);
    R(CPU0 + DTRTX); /* empty */
    ck_assert_uint_eq(sys.debug[0].counters.dtr_ignored, 1);
    P(CPU0 + DSCR, COMPLETE, COMPLETE);
    W(CPU0 + DTRRX, 1);
    W(CPU0 + DTRRX, 2); /* full */
    ck_assert_uint_eq(sys.debug[0].counters.dtr_ignored, 2);
    execute(CPU0, 0xee100e15);
    ck_assert_uint_eq(get(CPU0, 0), 1);
    execute(CPU0, 0xee100e15); /* empty again */
    ck_assert_uint_eq(sys.debug[0].counters.dtr_misused, 1);
    W(CPU0 + DRCR, 2); /* with ITRen */
    ck_assert_uint_eq(sys.debug[0].counters.bad_restarts, 1);
}
END_TEST

START_TEST(test_step)
{
    uint32_t at;
    halt(CPU0);
    for (unsigned i = 0; i < 7; i++) {
        uint32_t saved = get(CPU0, 0);
        at = pc(CPU0);
        W(CPU0 + BVR0, at);
        W(CPU0 + BCR0, 0x4001e7);
        set(CPU0, 0, saved);
        resume(CPU0);
        P(CPU0 + DSCR, 1, 1);
        ck_assert_uint_eq(reason(CPU0), 0x07);
        W(CPU0 + BCR0, 0);
        W(CPU0 + DSCR, R(CPU0 + DSCR) | DSCR_ITREN);
        saved = get(CPU0, 0);
        ck_assert_uint_eq(pc(CPU0), at == CORE_A_SIM_LOOP + 8 ? CORE_A_SIM_LOOP : at + 4);
        set(CPU0, 0, saved);
    }
    clean();
}
END_TEST

START_TEST(test_breakpoint_and_watchpoint)
{
    attach(CPU0);
    W(CPU0 + BVR0, CORE_A_SIM_LOOP);
    W(CPU0 + BCR0, 0x1e7);
    P(CPU0 + DSCR, 1, 1);
    ck_assert_uint_eq(reason(CPU0), 0x07);
    W(CPU0 + DRCR, 6); /* where it stands it stops again */
    P(CPU0 + DSCR, 3, 3);
    ck_assert_uint_eq(sim.core[0].reg[CORE_A_PC], CORE_A_SIM_LOOP);
    W(CPU0 + BCR0, 0);
    W(CPU0 + WVR0, CORE_A_SIM_VALUE);
    W(CPU0 + WCR0, 0xf << 5 | 2 << 3 | 7);
    W(CPU0 + DRCR, 6);
    P(CPU0 + DSCR, 3, 3);
    ck_assert_uint_eq(reason(CPU0), 0x2b);
    ck_assert_uint_eq(R(CPU0 + 0x018), CORE_A_SIM_LOOP + 4 + 8); /* WFAR */
    W(CPU0 + WCR0, 0);
    clean();
}
END_TEST

START_TEST(test_bkpt)
{
    static const uint32_t bkpt = 0xe1200070;
    attach(CPU0);
    memcpy(sim.memory + 8, &bkpt, 4);
    P(CPU0 + DSCR, 1, 1);
    ck_assert_uint_eq(reason(CPU0), 0x0f);
}
END_TEST

START_TEST(test_cross_trigger)
{
    for (uint32_t cti = CTI0; cti <= CTI1; cti += 0x1000) {
        W(cti, 1);
        W(cti + 0x020, 1); /* in debug: channel 0 */
        W(cti + 0x0a0, 1); /* EDBGRQ */
        W(cti + 0x0bc, 2); /* DBGRESTART: channel 1 */
    }
    halt(CPU0);
    P(CPU1 + DSCR, 1, 1);
    ck_assert_uint_eq(reason(CPU1), 0x13);
    W(CPU0 + DSCR, R(CPU0 + DSCR) & ~DSCR_ITREN);
    W(CTI0 + 0x01c, 2);
    P(CPU0 + DSCR, 3, 3); /* the request still stands */
    P(CPU1 + DSCR, 3, 3);
    W(CTI0 + 0x010, 1);
    W(CTI1 + 0x010, 1);
    W(CTI0 + 0x01c, 2);
    P(CPU0 + DSCR, 3, 2);
    P(CPU1 + DSCR, 3, 2);
    W(CTI1 + 0x140, 0); /* behind its gate */
    halt(CPU0);
    P(CPU1 + DSCR, 3, 2);
    clean();
}
END_TEST

START_TEST(test_locks)
{
    const uint32_t system_view = CPU0 & ~0x80000000u;
    uint32_t value;
    ck_assert_uint_eq(R(system_view + 0xfb4), 3);
    ck_assert_uint_eq(R(CPU0 + 0xfb4), 0);
    W(system_view + DRCR, 1);
    ck_assert_uint_eq(sys.debug[0].counters.locked_writes, 1);
    ck_assert_uint_eq(R(CPU0 + DSCR) & 1, 0);
    W(system_view + 0xfb0, 0xc5acce55);
    W(system_view + DRCR, 1);
    P(CPU0 + DSCR, 1, 1);
    ck_assert_int_eq(system_a_fault(&sys, "oslock", 6, 1), 0);
    ck_assert_int_lt(bus.read(bus.ctx, CPU0 + DSCR, 4, &value), 0);
    ck_assert_uint_eq(R(CPU0 + 0x304), 3);
    W(CPU0 + 0x300, 0);
    ck_assert_uint_eq(R(CPU0 + 0x304), 1);
    ck_assert_uint_eq(R(CPU0 + DSCR) & 1, 1);
}
END_TEST

START_TEST(test_power)
{
    uint32_t value;
    R(CPU0 + 0x314);
    ck_assert_uint_eq(R(CPU0 + 0x314), 1); /* sticky bits go when they are read */
    ck_assert_int_eq(system_a_fault(&sys, "off", 3, 1), 0);
    ck_assert_uint_eq(R(CPU0 + 0x314), 2);
    ck_assert_int_lt(bus.read(bus.ctx, CPU0 + DSCR, 4, &value), 0);
    ck_assert_int_lt(bus.write(bus.ctx, CPU0 + DRCR, 4, 1), 0);
    ck_assert_uint_eq(R(CPU1 + DSCR) & 1, 0);
    ck_assert_int_eq(system_a_fault(&sys, "off", 3, 0), 0);
    ck_assert_uint_eq(R(CPU0 + 0x314), 3);
    ck_assert_uint_eq(R(CPU0 + 0x314), 1);
    ck_assert_int_lt(bus.read(bus.ctx, CPU0 + DSCR, 2, &value), 0);
    ck_assert_int_lt(system_a_fault(&sys, "of", 2, 0), 0);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("system_a");
    add(s, "system_a: ROM table and identification", test_rom);
    add(s, "system_a: halt, registers, resume; PC samples", test_run_control);
    add(s, "system_a: registers of other modes", test_modes);
    add(s, "system_a: fast mode, reads", test_fast_read);
    add(s, "system_a: fast mode, writes that abort", test_fast_write);
    add(s, "system_a: data abort, and what follows is ignored", test_aborts);
    add(s, "system_a: the debug bus as the core has it", test_window);
    add(s, "system_a: undefined instructions and User mode", test_undefined);
    add(s, "system_a: what careless clients do is ignored and counted", test_careless);
    add(s, "system_a: steps by address mismatch", test_step);
    add(s, "system_a: breakpoint and watchpoint", test_breakpoint_and_watchpoint);
    add(s, "system_a: BKPT", test_bkpt);
    add(s, "system_a: cross triggers halt and restart two cores", test_cross_trigger);
    add(s, "system_a: software lock and OS lock", test_locks);
    add(s, "system_a: power-down", test_power);
    return s;
}
