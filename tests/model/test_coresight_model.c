/* SPDX-License-Identifier: BSD-3-Clause */
/* The Cortex-M4 system, by the sequences of DDI 0403E.e, DDI 0314H and IHI 0014Q. */
#include <string.h>

#include "tests/drivers/coresight/coresight_bench.h"

#define AIRCR (CS_SCS + 0xd0c)

static void set_register(unsigned n, uint32_t value)
{
    W(DCRDR, value);
    W(DCRSR, n | 0x10000);
    P(DHCSR, 1u << 16, 1u << 16);
}

START_TEST(test_rom)
{
    static const uint32_t parts[] = {0x00c, 0x002, 0x003, 0x001, 0x9a1, 0x925, 0x907};
    setup(CS_M4);
    for (unsigned i = 0; i < 7; i++) {
        uint32_t entry = R(CS_ROM + 4 * i);
        uint32_t base = CS_ROM + (entry & ~0xfffu);
        ck_assert_uint_eq(entry & 3, 3);
        ck_assert_uint_eq((R(base + 0xfe0) & 0xff) | (R(base + 0xfe4) & 0xf) << 8, parts[i]);
        ck_assert_uint_eq(R(base + 0xfe4) >> 4 | (R(base + 0xfe8) & 7) << 4, 0x3b);
        ck_assert_uint_eq(R(base + 0xff0), 0x0d);
        ck_assert_uint_eq(R(base + 0xffc), 0xb1);
    }
    ck_assert_uint_eq(R(CS_ROM + 4 * 7) & 1, 0);
    ck_assert_uint_eq(R(CS_ROM + 4 * 8), 0);
    teardown();
}
END_TEST

START_TEST(test_halt_and_registers)
{
    setup(CS_M4);
    W(DHCSR, 3);
    ck_assert_uint_eq(sys.counters.bad_key, 1);
    W(DHCSR, KEY | 2); /* without C_DEBUGEN */
    ck_assert_uint_eq(R(DHCSR) & 1u << 17, 0);
    halt();
    ck_assert_uint_eq(R(DFSR), 1);
    W(DFSR, 1);
    ck_assert_uint_eq(R(DFSR), 0);
    W(DCRSR, 15);
    ck_assert_uint_eq(R(DHCSR) & 1u << 16, 0); /* not at the first look */
    ck_assert_uint_eq(R(DHCSR) & 1u << 16, 1u << 16);
    ck_assert_uint_eq(R(DCRDR) & ~0xfu, 0x08000040);
    set_register(7, 0xfeedf00d);
    ck_assert_uint_eq(get_register(7), 0xfeedf00d);
    ck_assert_uint_eq(get_register(13), get_register(17));
    W(DHCSR, KEY | 1);
    W(DCRSR, 0);
    ck_assert_uint_eq(sys.counters.running_accesses, 1);
    teardown();
}
END_TEST

START_TEST(test_step)
{
    setup(CS_M4);
    halt();
    set_register(15, 0x08000044);
    W(DHCSR, KEY | 0xb);
    W(DHCSR, KEY | 0xd);
    P(DHCSR, 1u << 17, 1u << 17);
    ck_assert_uint_eq(get_register(15), 0x08000046);
    ck_assert_uint_eq(sys.counters.maskints_races, 0);
    W(DHCSR, KEY | 5); /* MASKINTS goes with HALT */
    ck_assert_uint_eq(sys.counters.maskints_races, 1);
    teardown();
}
END_TEST

START_TEST(test_breakpoint)
{
    setup(CS_M4);
    halt();
    W(CS_FPB, 1); /* no key */
    ck_assert_uint_eq(R(CS_FPB), 0x260);
    W(CS_FPB, 3);
    W(CS_FPB + 8, (0x08000048 & 0x1ffffffc) | 1u << 30 | 1);
    W(DHCSR, KEY | 1);
    P(DHCSR, 1u << 17, 1u << 17);
    ck_assert_uint_eq(R(DFSR) & 2, 2);
    ck_assert_uint_eq(get_register(15), 0x08000048);
    uint64_t before = sim.instructions;
    W(DHCSR, KEY | 1); /* not stepped over: it stops at once */
    P(DHCSR, 1u << 17, 1u << 17);
    ck_assert_uint_eq(sim.instructions, before);
    W(CS_FPB + 8, 0);
    W(CS_FPB + 12, (0x08000048 & 0x1ffffffc) | 2u << 30 | 1); /* upper half: 4a */
    W(DHCSR, KEY | 1);
    P(DHCSR, 1u << 17, 1u << 17);
    ck_assert_uint_eq(get_register(15), 0x0800004a);
    teardown();
}
END_TEST

START_TEST(test_watchpoint)
{
    setup(CS_M4);
    halt();
    ck_assert_uint_eq(R(CS_DWT), 0); /* TRCENA */
    ck_assert_uint_eq(sys.counters.untraced, 1);
    W(DEMCR, 1u << 24);
    ck_assert_uint_eq(R(CS_DWT) >> 28, 4);
    ck_assert_uint_eq(R(CS_DWT + 0x1c), UINT32_MAX);
    W(CS_DWT + 0x20, 0x20000100);
    W(CS_DWT + 0x24, 2);
    W(CS_DWT + 0x28, 6);
    W(DHCSR, KEY | 1);
    P(DHCSR, 1u << 17, 1u << 17);
    ck_assert_uint_eq(R(DFSR) & 4, 4);
    ck_assert_uint_eq(R(CS_DWT + 0x28), 6 | 1u << 24);
    ck_assert_uint_eq(R(CS_DWT + 0x28), 6);
    W(CS_DWT + 0x28, 5); /* nobody reads there */
    W(DHCSR, KEY | 1);
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(R(DHCSR) & 1u << 17, 0);
    ck_assert_uint_eq(R(CS_DWT + 0x1c) & ~0xfu, 0x08000040);
    teardown();
}
END_TEST

START_TEST(test_vector_catch)
{
    setup(CS_M4);
    W(DHCSR, KEY | 1);
    R(DHCSR);
    W(DEMCR, 1);
    W(AIRCR, 4); /* no key */
    ck_assert_uint_eq(sys.counters.resets, 0);
    W(AIRCR, 0x05fa0004);
    uint32_t dhcsr = R(DHCSR);
    ck_assert_uint_eq(dhcsr & 1u << 25, 1u << 25);
    ck_assert_uint_eq(dhcsr & 1u << 17, 1u << 17);
    ck_assert_uint_eq(R(DHCSR) & 1u << 25, 0);
    ck_assert_uint_eq(R(DFSR) & 8, 8);
    ck_assert_uint_eq(get_register(15), 0x08000040);
    W(DEMCR, 0);
    W(AIRCR, 0x05fa0004);
    ck_assert_uint_eq(R(DHCSR) & 1u << 17, 0);
    teardown();
}
END_TEST

START_TEST(test_bus_errors)
{
    uint32_t value;
    setup(CS_M4);
    ck_assert_int_lt(bus.read(bus.ctx, 0x60000000, 4, &value), 0);
    ck_assert_int_lt(bus.read(bus.ctx, 0xe0050000, 4, &value), 0);
    ck_assert_int_lt(bus.read(bus.ctx, DHCSR, 1, &value), 0);
    ck_assert_uint_eq(sys.counters.sub_word, 1);
    ck_assert_int_eq(bus.write(bus.ctx, 0x20000003, 1, 0x5a), 0);
    ck_assert_uint_eq(R(0x20000000), 0x5a000000);
    ck_assert_int_lt(bus.write(bus.ctx, 0x2003ffff + 1, 4, 0), 0);
    teardown();
}
END_TEST

static void start_etm(uint32_t id)
{
    W(DEMCR, 1u << 24);
    W(CS_ETM + 0xfb0, 0xc5acce55);
    W(CS_ETM, 0x400);
    P(CS_ETM + 0x10, 2, 2);
    W(CS_ETM + 0x200, id);
    W(CS_ETM + 0x008, 0x406f);
    W(CS_ETM + 0x020, 0x6f);
    W(CS_ETM + 0x024, 0x01000000);
    W(CS_ETM, 0xd00);
    W(CS_ETM, 0x900);
    P(CS_ETM + 0x10, 2, 0);
}

START_TEST(test_etm_rules)
{
    setup(CS_M4);
    W(DEMCR, 1u << 24);
    ck_assert_uint_eq(R(CS_ETM), 0x411);
    ck_assert_uint_eq(R(CS_ETM + 0xfb4), 3);
    W(CS_ETM, 0x400);
    ck_assert_uint_eq(R(CS_ETM), 0x411); /* locked */
    ck_assert_uint_eq(sys.counters.locked_writes, 1);
    W(CS_ETM + 0xfb0, 0xc5acce55);
    W(CS_ETM + 0x200, 5); /* powered down */
    ck_assert_uint_eq(R(CS_ETM + 0x200), 0);
    ck_assert_uint_eq(sys.counters.ignored_writes, 1);
    start_etm(2);
    ck_assert_uint_eq(sys.counters.ignored_writes, 1);
    W(CS_ETM + 0x200, 9); /* Prog = 0 */
    ck_assert_uint_eq(R(CS_ETM + 0x200), 2);
    ck_assert_uint_eq(R(CS_ETM + 0x024), 0);
    ck_assert_uint_eq(R(CS_ETM + 0x1e4), 0x4114f250);
    W(CS_ETM, 0xd00 | 1u << 12 | 1u << 28);
    ck_assert_uint_eq(R(CS_ETM), 0xd00 | 1u << 28); /* no cycle-accurate mode */
    teardown();
}
END_TEST

START_TEST(test_tpiu)
{
    setup(CS_M4);
    W(DEMCR, 1u << 24);
    W(CS_TPIU + 0xfb0, 0xc5acce55); /* harmless: there is no lock */
    ck_assert_uint_eq(R(CS_TPIU + 0xfb4), 0);
    W(CS_TPIU + 4, 4); /* three bits */
    ck_assert_uint_eq(R(CS_TPIU + 4), 1);
    W(CS_TPIU + 4, 8);
    ck_assert_uint_eq(R(CS_TPIU + 4), 8);
    W(CS_TPIU + 0x304, 0x100);
    ck_assert_uint_eq(R(CS_TPIU + 0x304), 0x100);
    W(CS_TPIU + 0xf0, 0);
    ck_assert_uint_eq(R(CS_TPIU + 0x304), 0x102); /* parallel: always formatted */
    ck_assert_uint_eq(R(CS_TPIU), 0xb);
    teardown();
}
END_TEST

static void arm_etb(void)
{
    W(CS_ETB + 0xfb0, 0xc5acce55);
    W(CS_ETB + 0x20, 0);
    P(CS_ETB + 0x300, 2, 2);
    W(CS_ETB + 0x18, 0);
    W(CS_ETB + 0x14, 0);
    W(CS_ETB + 0x1c, 0);
    W(CS_ETB + 0x304, 1);
    W(CS_ETB + 0x20, 1);
}

static void stop_etb(void)
{
    W(CS_ETB + 0x304, R(CS_ETB + 0x304) | 0x1000);
    W(CS_ETB + 0x304, R(CS_ETB + 0x304) | 0x40);
    P(CS_ETB + 0x304, 0x40, 0);
    W(CS_ETB + 0x20, 0);
    P(CS_ETB + 0x300, 2, 2);
}

/* `count` words from `start`, frames taken apart by hand: the bytes of source `id`. */
static size_t read_frames(uint32_t start, uint32_t count, unsigned current, uint8_t id,
                          uint8_t *out)
{
    size_t n = 0;
    W(CS_ETB + 0x14, start);
    for (uint32_t f = 0; f < count / 4; f++) {
        uint8_t frame[16];
        for (unsigned i = 0; i < 4; i++) {
            uint32_t word = R(CS_ETB + 0x10);
            memcpy(frame + 4 * i, &word, 4);
        }
        for (unsigned i = 0; i < 15; i++) {
            bool low = frame[15] >> i / 2 & 1;
            unsigned old = current;
            if (i % 2 == 0 && frame[i] & 1) {
                current = frame[i] >> 1;
                /* A delayed change: the next byte is still the old source's. */
                if (low && i < 14 && old == id)
                    out[n++] = frame[i + 1];
                if (low) {
                    i++;
                }
                continue;
            }
            uint8_t byte = i % 2 == 0 ? (uint8_t)(frame[i] | low) : frame[i];
            if (current == id)
                out[n++] = byte;
        }
    }
    return n;
}

START_TEST(test_etb_capture)
{
    static uint8_t trace[500], got[8192];
    setup(CS_M4);
    for (unsigned i = 0; i < sizeof trace; i++)
        trace[i] = (uint8_t)(i * 7);
    arm_etb();
    start_etm(0x12);
    ck_assert_int_eq(core_sim_put_trace(&sim, trace, sizeof trace), 0);
    ck_assert_uint_eq(R(CS_ETB + 0x10), UINT32_MAX); /* still capturing */
    W(CS_ETB + 0x18, 5);
    ck_assert_uint_ne(R(CS_ETB + 0x18), 5);
    stop_etb();
    uint32_t count = R(CS_ETB + 0x18);
    ck_assert_uint_eq(count % 4, 0);
    ck_assert_uint_eq(R(CS_ETB + 0x0c) & 1, 0);
    ck_assert_uint_eq(read_frames(0, count, 0, 0x12, got), sizeof trace);
    ck_assert_mem_eq(got, trace, sizeof trace);
    teardown();
}
END_TEST

START_TEST(test_etb_wrap)
{
    static uint8_t trace[6000], got[8192];
    setup(CS_M4);
    for (unsigned i = 0; i < sizeof trace; i++)
        trace[i] = (uint8_t)(i * 13 >> 3);
    arm_etb();
    start_etm(2);
    core_sim_put_trace(&sim, trace, sizeof trace);
    stop_etb();
    ck_assert_uint_eq(R(CS_ETB + 0x0c) & 1, 1);
    uint32_t start = R(CS_ETB + 0x18);
    /* What precedes the first ID in the buffer: the source is known from elsewhere. */
    size_t n = read_frames(start, CS_ETB_WORDS, 2, 2, got);
    ck_assert_uint_gt(n, 3700);
    ck_assert_uint_lt(n, sizeof trace);
    ck_assert_mem_eq(got, trace + sizeof trace - n, n);
    ck_assert_uint_eq(R(CS_ETB + 0x14), start);
    teardown();
}
END_TEST

START_TEST(test_etb_stop_order)
{
    setup(CS_M4);
    arm_etb();
    W(CS_ETB + 0x304, 0x1041); /* StopFl together with FOnMan: too late */
    P(CS_ETB + 0x304, 0x40, 0);
    ck_assert_uint_eq(R(CS_ETB + 0x300) & 2, 0);
    W(CS_ETB + 0x304, 0x1041);
    P(CS_ETB + 0x300, 2, 2);
    teardown();
}
END_TEST

START_TEST(test_swo)
{
    uint8_t got[64];
    setup(CS_M4);
    W(DEMCR, 1u << 24);
    W(CS_TPIU + 0xfb0, 0xc5acce55);
    W(CS_TPIU + 0xf0, 2);
    W(CS_TPIU + 0x304, 0x100);
    W(CS_ITM + 0xfb0, 0xc5acce55);
    W(CS_ITM, 0x41); /* off */
    W(CS_ITM + 0xe00, 1);
    W(CS_ITM + 0xe80, 0x1000d);
    ck_assert_int_eq(bus.write(bus.ctx, CS_ITM, 1, 'A'), 0);
    W(CS_ITM, 0x64636261);
    W(CS_ITM + 4, 1); /* port 1 is off */
    ck_assert_uint_eq(coresight_model_swo(&sys, got, sizeof got), 7);
    ck_assert_mem_eq(got,
                     "\x01"
                     "A"
                     "\x03"
                     "abcd",
                     7);
    ck_assert_uint_eq(coresight_model_swo(&sys, got, sizeof got), 0);
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("coresight_model");
    unit_case(s, "coresight_model: ROM table and identification", test_rom);
    unit_case(s, "coresight_model: halt and registers", test_halt_and_registers);
    unit_case(s, "coresight_model: step", test_step);
    unit_case(s, "coresight_model: breakpoints", test_breakpoint);
    unit_case(s, "coresight_model: watchpoints and TRCENA", test_watchpoint);
    unit_case(s, "coresight_model: reset with vector catch", test_vector_catch);
    unit_case(s, "coresight_model: bus errors and byte access", test_bus_errors);
    unit_case(s, "coresight_model: ETM lock, power and programming bit", test_etm_rules);
    unit_case(s, "coresight_model: TPIU", test_tpiu);
    unit_case(s, "coresight_model: ETB captures the ETM's bytes in frames", test_etb_capture);
    unit_case(s, "coresight_model: ETB wraps", test_etb_wrap);
    unit_case(s, "coresight_model: ETB stops on a flush asked for before", test_etb_stop_order);
    unit_case(s, "coresight_model: ITM on SWO", test_swo);
    return s;
}
