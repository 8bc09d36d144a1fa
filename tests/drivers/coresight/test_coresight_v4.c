/* SPDX-License-Identifier: BSD-3-Clause */
/* The systems of a Cortex-M7 and of a Cortex-M33: what differs from the M4's. */
#include <string.h>

#include "tests/drivers/coresight/coresight_bench.h"

#define TRCENA (1u << 24)
#define LOOP   0x08000048u /* an instruction of core_sim's program */
#define STORED 0x20000100u /* where it stores */

static const enum cs_kind kinds[] = {CS_M7, CS_M33};

/* Until a breakpoint or watchpoint halts it, for this reason. */
static void run_into(uint32_t reason)
{
    W(DFSR, 0x1f);
    W(DHCSR, KEY | 1);
    P(DHCSR, 1u << 17, 1u << 17);
    ck_assert_uint_eq(R(DFSR), reason);
}

static unsigned part(uint32_t base)
{
    ck_assert_uint_eq(R(base + 0xff0), 0x0d);
    return (R(base + 0xfe0) & 0xff) | (R(base + 0xfe4) & 0xf) << 8;
}

/* Parts of the components that a table leads to, tables as well, and those that are not there. */
static unsigned walk(uint32_t base, unsigned *parts)
{
    unsigned n = 0;
    parts[n++] = part(base);
    for (unsigned i = 0; R(base + 4 * i); i++) {
        uint32_t entry = R(base + 4 * i), at = base + (entry & ~0xfffu);
        if (!(entry & 1))
            continue;
        if (R(at + 0xff4) >> 4 == 1)
            n += walk(at, parts + n);
        else
            parts[n++] = part(at);
    }
    return n;
}

START_TEST(test_rom)
{
    static const unsigned m7[] = {0x4c8, 0x4c7, 0x00c, 0x002, 0x00e, 0x001, 0x975, 0x9a9, 0x907};
    static const unsigned m33[] = {0x4c9, 0xd21, 0xd21, 0xd21, 0xd21, 0xd21, 0xd21, 0x907};
    unsigned parts[16];
    setup(CS_M7);
    ck_assert_uint_eq(walk(coresight_model_base(&sys) & ~3u, parts), 9);
    ck_assert_mem_eq(parts, m7, sizeof m7);
    ck_assert_uint_eq(R(CS_SCS + 0xd00), 0x411fc271);
    ck_assert_int_eq(coresight_model_set_etb(&sys, 0, false), 0);
    ck_assert_uint_eq(walk(coresight_model_base(&sys) & ~3u, parts), 8);
    teardown();
    setup(CS_M33);
    ck_assert_uint_eq(walk(coresight_model_base(&sys) & ~3u, parts), 8);
    ck_assert_mem_eq(parts, m33, sizeof m33);
    ck_assert_uint_eq(R(CS_SCS + 0xd00), 0x410fd214);
    ck_assert_uint_eq(R(CS_SCS + 0xfbc), 0x47702a04);
    ck_assert_uint_eq(R(CS_DWT + 0xfbc), 0x47701a02);
    ck_assert_uint_eq(R(CS_FPB + 0xfbc), 0x47701a03);
    ck_assert_uint_eq(R(CS_ITM + 0xfbc), 0x47701a01);
    ck_assert_uint_eq(R(CS_ITM + 0xfcc), 0x43);
    uint32_t value;
    ck_assert_int_lt(bus.read(bus.ctx, CS_TOP, 4, &value), 0);
    ck_assert_int_eq(coresight_model_set_etb(&sys, 64, true), 0);
    ck_assert_uint_eq(part(CS_ETB), 0x961);
    teardown();
}
END_TEST

START_TEST(test_breakpoints)
{
    setup(kinds[_i]);
    halt();
    ck_assert_uint_eq(R(CS_FPB), 0x10000080);
    W(CS_FPB, 3);
    W(CS_FPB + 8 + 4 * 7, LOOP | 1); /* the eighth breaks, too */
    run_into(2);
    ck_assert_uint_eq(get_register(15), LOOP);
    W(CS_FPB + 8 + 4 * 7, (LOOP + 2) | 1);
    run_into(2);
    ck_assert_uint_eq(get_register(15), LOOP + 2);
    W(CS_FPB + 8 + 4 * 7, 0);
    W(CS_FPB + 8, (LOOP & 0x1ffffffc) | 1u << 30 | 1); /* as in v1: another address */
    W(DHCSR, KEY | 1);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(R(DHCSR) & 1u << 17, 0);
    teardown();
}
END_TEST

START_TEST(test_watchpoints_m7)
{
    setup(CS_M7);
    halt();
    W(DEMCR, TRCENA);
    W(CS_DWT + 0x20, STORED);
    W(CS_DWT + 0x24, 2);
    W(CS_DWT + 0x28, 6);
    run_into(4);
    ck_assert_uint_eq(R(CS_DWT + 0x28), 6 | 1u << 24);
    teardown();
}
END_TEST

START_TEST(test_watchpoints_m33)
{
    setup(CS_M33);
    halt();
    W(DEMCR, TRCENA);
    W(CS_DWT + 0x20, STORED);
    W(CS_DWT + 0x24, 5);
    ck_assert_uint_eq(R(CS_DWT + 0x24), 0); /* v8-M has no masks */
    W(CS_DWT + 0x28, 2u << 10 | 1u << 4 | 5);
    ck_assert_uint_eq(R(CS_DWT + 0x28) & 0x07ffffff, 2u << 10 | 1u << 4 | 5);
    run_into(4);
    ck_assert_uint_eq(R(CS_DWT + 0x28) >> 24 & 1, 1);
    ck_assert_uint_eq(R(CS_DWT + 0x28) >> 24 & 1, 0);
    W(CS_DWT + 0x28, 2u << 10 | 5); /* no halt: a trigger only */
    W(DHCSR, KEY | 1);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(R(DHCSR) & 1u << 17, 0);
    halt();
    W(CS_DWT + 0x28, 2u << 10 | 1u << 4 | 6); /* nobody reads there */
    W(DHCSR, KEY | 1);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(R(DHCSR) & 1u << 17, 0);
    halt();
    W(CS_DWT + 0x20, LOOP);
    W(CS_DWT + 0x28, 1u << 10 | 1u << 4 | 2); /* an instruction */
    run_into(2);
    ck_assert_uint_eq(get_register(15), LOOP);
    teardown();
}
END_TEST

START_TEST(test_debug_registers)
{
    setup(CS_M7);
    W(DEMCR, TRCENA | 1u << 11);
    ck_assert_uint_eq(R(DEMCR), TRCENA);
    ck_assert_uint_eq(R(DHCSR) & 1u << 20, 0);
    teardown();
    setup(CS_M33);
    W(DEMCR, TRCENA | 1u << 11);
    ck_assert_uint_eq(R(DEMCR), TRCENA | 1u << 20 | 1u << 11);
    ck_assert_uint_eq(R(DHCSR) & 1u << 20, 1u << 20);
    ck_assert_uint_eq(R(CS_SCS + 0xe08), 1u << 16);
    teardown();
}
END_TEST

static void enable_etm(void)
{
    static const struct {
        unsigned offset;
        uint32_t value;
    } settings[] = {{0x010, 1},   {0x018, 0},    {0x020, 0},     {0x024, 0}, {0x02c, 0},
                    {0x034, 0xc}, {0x040, 0x12}, {0x080, 0x201}, {0x08c, 0}};
    W(DEMCR, TRCENA);
    W(CS_ETM + 0xfb0, 0xc5acce55);
    W(CS_ETM + 0x300, 0);
    W(CS_ETM + 0x310, 8);
    P(CS_ETM + 0x314, 1, 1);
    W(CS_ETM + 0x004, 0);
    P(CS_ETM + 0x00c, 1, 1);
    for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++)
        W(CS_ETM + settings[i].offset, settings[i].value);
    W(CS_ETM + 0x004, 1);
    P(CS_ETM + 0x00c, 1, 0);
}

static void arm(unsigned mode)
{
    W(CS_ETB + 0xfb0, 0xc5acce55);
    W(CS_ETB + 0x020, 0);
    P(CS_ETB + 0x00c, 4, 4);
    W(CS_ETB + 0x028, mode);
    W(CS_ETB + 0x018, 0);
    W(CS_ETB + 0x014, 0);
    W(CS_ETB + 0x304, 3);
    W(CS_ETB + 0x020, 1);
}

static void stop_sink(void)
{
    W(CS_ETB + 0x304, R(CS_ETB + 0x304) | 0x1000);
    W(CS_ETB + 0x304, R(CS_ETB + 0x304) | 0x40);
    P(CS_ETB + 0x304, 0x40, 0);
    P(CS_ETB + 0x00c, 4, 4);
}

static unsigned count_words(void)
{
    unsigned n = 0;
    while (n < 64 && R(CS_ETB + 0x010) != UINT32_MAX)
        n++;
    return n;
}

START_TEST(test_trace_into_tmc)
{
    uint8_t trace[100];
    setup(kinds[_i]);
    ck_assert_int_eq(coresight_model_set_etb(&sys, 64, true), 0);
    memset(trace, 0x21, sizeof trace);
    arm(0);
    enable_etm();
    ck_assert(cs_etm_tracing(&sys));
    ck_assert_int_eq(core_sim_put_trace(&sim, trace, sizeof trace), 0);
    R(CS_ETM + 0x00c);
    ck_assert_uint_eq(sim.trace_size, 0);
    /* What the core has made and the unit still holds comes out while it stops. */
    ck_assert_int_eq(core_sim_put_trace(&sim, trace, 40), 0);
    etm4_update(&sys.etm4_unit);
    ck_assert_int_eq(etm4_write(&sys.etm4_unit, 0x004, 0), 0);
    R(CS_ETM + 0x00c);
    ck_assert_uint_eq(sim.trace_size, 40);
    P(CS_ETM + 0x00c, 3, 3);
    ck_assert_uint_eq(sim.trace_size, 0);
    stop_sink();
    ck_assert_uint_eq(count_words(), 40); /* 140 bytes and an ID in frames of 15 */
    ck_assert_uint_eq(sys.counters.ignored_writes + sys.counters.locked_writes, 0);
    teardown();
}
END_TEST

START_TEST(test_impatient)
{
    uint8_t trace[40];
    setup(CS_M7);
    memset(trace, 0x21, sizeof trace);
    arm(0);
    enable_etm();
    W(CS_ETM + 0x004, 0);
    core_sim_put_trace(&sim, trace, sizeof trace);
    W(CS_ETB + 0x304, 0x1003);
    W(CS_ETB + 0x304, 0x1043); /* before it is idle: the sink has stopped when the end comes */
    P(CS_ETM + 0x00c, 3, 3);
    W(CS_ETB + 0x020, 0);
    ck_assert_uint_eq(R(CS_ETB + 0x018), 0);
    ck_assert_uint_eq(sim.trace_size, 0);
    teardown();
}
END_TEST

START_TEST(test_needs_trcena)
{
    setup(CS_M33);
    ck_assert_uint_eq(R(CS_ETM + 0x1e0), 0);
    ck_assert_uint_eq(sys.counters.untraced, 1);
    enable_etm();
    W(DEMCR, 0);
    ck_assert(!cs_etm_tracing(&sys));
    teardown();
}
END_TEST

START_TEST(test_refused)
{
    uint32_t value;
    setup(CS_M7);
    W(DEMCR, TRCENA);
    ck_assert_int_lt(bus.read(bus.ctx, CS_ETM + 0x1e0, 4, &value), 0);
    ck_assert_int_lt(bus.write(bus.ctx, CS_ETM + 0x040, 4, 2), 0);
    ck_assert_uint_eq(sys.etm4_unit.counters.unpowered, 2);
    ck_assert_uint_eq(R(CS_ETM + 0xfbc), 0x47704a13);
    teardown();
}
END_TEST

START_TEST(test_reset)
{
    for (unsigned i = 0; i < 2; i++) {
        setup(CS_M7);
        sys.resets_trace = i;
        enable_etm();
        ck_assert(cs_etm_tracing(&sys));
        W(CS_SCS + 0xd0c, 0x05fa0004);
        ck_assert_uint_eq(cs_etm_tracing(&sys), !i);
        ck_assert_uint_eq(R(CS_ETM + 0xfb4), i ? 3 : 1);
        teardown();
    }
}
END_TEST

START_TEST(test_power_of_the_chip)
{
    setup(CS_M7);
    enable_etm();
    coresight_model_fault(&sys, "etm-off", 7, 1);
    sys.etm4_unit.counters.early = 3;
    coresight_model_power(&sys, false);
    coresight_model_power(&sys, true);
    W(DEMCR, TRCENA);
    ck_assert_uint_eq(R(CS_ETM + 0x314), 0x22);
    ck_assert_uint_eq(R(CS_ETM + 0xfb8), 0x08); /* wired so */
    ck_assert_uint_eq(sys.etm4_unit.counters.early, 3);
    ck_assert_uint_eq(R(CS_FPB), 0x10000080);
    teardown();
}
END_TEST

START_TEST(test_faults)
{
    setup(CS_M7);
    enable_etm();
    ck_assert_int_eq(coresight_model_fault(&sys, "etm-lock", 8, 1), 0);
    ck_assert(!cs_etm_tracing(&sys));
    W(CS_ETM + 0x300, 0);
    for (unsigned i = 0; i < 12; i++)
        R(CS_ETM + 0x314);
    ck_assert(cs_etm_tracing(&sys));
    ck_assert_int_eq(coresight_model_fault(&sys, "etm-power", 9, 1), 0);
    ck_assert_uint_eq(R(CS_ETM + 0x314) & 2, 2);
    enable_etm();
    ck_assert_int_eq(coresight_model_fault(&sys, "etm-off", 7, 1), 0);
    ck_assert(!cs_etm_tracing(&sys));
    ck_assert_int_eq(coresight_model_fault(&sys, "etm-busy", 8, 1), 0);
    W(CS_ETM + 0x004, 0);
    for (unsigned i = 0; i < 20; i++)
        ck_assert_uint_eq(R(CS_ETM + 0x00c) & 1, 0);
    ck_assert_int_eq(coresight_model_fault(&sys, "etm-cold", 8, 1), -1);
    teardown();
    setup(CS_M4);
    ck_assert_int_eq(coresight_model_fault(&sys, "etm-busy", 8, 1), -1);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("coresight_v4");
    unit_case(s, "coresight_v4: ROM tables and identification", test_rom);
    unit_cases(s, "coresight_v4: breakpoints of FPB v2", test_breakpoints, 0, 2);
    unit_case(s, "coresight_v4: watchpoints of a Cortex-M7", test_watchpoints_m7);
    unit_case(s, "coresight_v4: watchpoints of v8-M", test_watchpoints_m33);
    unit_case(s, "coresight_v4: DHCSR and DEMCR of v8-M", test_debug_registers);
    unit_cases(s, "coresight_v4: trace into a TMC, to its end", test_trace_into_tmc, 0, 2);
    unit_case(s, "coresight_v4: who stops the sink too early", test_impatient);
    unit_case(s, "coresight_v4: TRCENA", test_needs_trcena);
    unit_case(s, "coresight_v4: bus errors", test_refused);
    unit_case(s, "coresight_v4: a reset, of the trace unit or not", test_reset);
    unit_case(s, "coresight_v4: power of the chip", test_power_of_the_chip);
    unit_case(s, "coresight_v4: faults", test_faults);
    return s;
}
