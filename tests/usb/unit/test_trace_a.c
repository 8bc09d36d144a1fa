/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace units, funnel, ETB, TMC and TPIU of the A-profile system, by the CoreSight digest. */
#include <string.h>

#include "tests/unit/unit_main.h"
#include "tests/usb/core_a_sim.h"
#include "tests/usb/trace_a.h"

#define WORDS 16u

static struct core_a_sim sim;
static struct trace_a tr;
static uint8_t bytes[256];

static void start(bool etmv3, bool tmc)
{
    const struct trace_a_options options = {.etmv3 = etmv3, .tmc = tmc, .words = WORDS};
    core_a_sim_init(&sim, 2);
    struct core_a cores = core_a_sim_cores(&sim);
    trace_a_init(&tr, &cores, &options);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i | 1);
}

static uint32_t R(unsigned offset)
{
    return sink_read(&tr.sink, offset, true);
}

static void W(unsigned offset, uint32_t value)
{
    trace_a_write_sink(&tr, offset, true, value);
}

static void arm(uint32_t ffcr)
{
    W(0x020, 0);
    W(0x018, 0);
    W(0x014, 0);
    W(0x304, ffcr);
    W(0x020, 1);
}

static void stop(void)
{
    W(0x304, R(0x304) | 0x1000);
    W(0x304, R(0x304) | 0x40);
    ck_assert_uint_eq(R(0x304) & 0x40, 0x40); /* not done at the first look */
    R(0x304);
    ck_assert_uint_eq(R(0x304) & 0x40, 0);
    ck_assert_uint_eq(R(0x300) & 2, 2);
}

START_TEST(test_etb)
{
    start(false, false);
    arm(1);
    sink_put(&tr.sink, 0x10, bytes, 20);
    ck_assert_uint_eq(R(0x010), UINT32_MAX); /* it captures */
    W(0x018, 4);
    ck_assert_uint_eq(tr.sink.ignored_writes, 1);
    stop();
    W(0x020, 0);
    ck_assert_uint_eq(R(0x018), 8); /* two frames */
    ck_assert_uint_eq(R(0x00c), 0xc);
    W(0x014, 0);
    ck_assert_uint_eq(R(0x010), 0x03000121); /* ID, bytes; bit 0 of each second one is at the end */
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_etb_wraps)
{
    start(false, false);
    arm(1);
    for (unsigned i = 0; i < 2; i++)
        sink_put(&tr.sink, 0x10, bytes, 60);
    stop();
    W(0x020, 0);
    ck_assert_uint_eq(R(0x00c) & 1, 1);
    ck_assert_uint_ne(R(0x018), 0);
    trace_a_release(&tr);
}
END_TEST

/* StopFl in the same write as FOnMan comes too late. */
START_TEST(test_stop_order)
{
    start(false, false);
    arm(1);
    W(0x304, 0x1041);
    ck_assert_uint_eq(R(0x300) & 2, 0);
    R(0x304);
    R(0x304);
    W(0x304, 0x1041);
    ck_assert_uint_eq(R(0x300) & 2, 2);
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_tmc)
{
    unsigned n = 0;
    start(false, true);
    ck_assert_uint_eq(R(0x00c) & 4, 4);
    arm(3);
    for (unsigned i = 0; i < 2; i++)
        sink_put(&tr.sink, 0x10, bytes, 60);
    stop();
    ck_assert_uint_eq(R(0x00c) & 5, 5);
    ck_assert_uint_eq(R(0x018) % 4, 0); /* bytes */
    while (R(0x010) != UINT32_MAX)
        n++;
    ck_assert_uint_eq(n, WORDS);
    ck_assert_uint_eq(R(0x00c) & 0x10, 0x10);
    trace_a_release(&tr);
}
END_TEST

/* A software FIFO gives while it takes; what has no room waits. */
START_TEST(test_fifo)
{
    unsigned n = 0;
    start(false, true);
    W(0x028, 1);
    arm(3);
    ck_assert_uint_eq(R(0x010), UINT32_MAX);
    for (unsigned i = 0; i < 2; i++)
        sink_put(&tr.sink, 0x10, bytes, 60);
    ck_assert_uint_eq(R(0x030), WORDS);
    while (R(0x010) != UINT32_MAX)
        n++;
    ck_assert_uint_gt(n, 28);
    W(0x028, 0); /* not now */
    ck_assert_uint_eq(R(0x028), 1);
    trace_a_release(&tr);
}
END_TEST

static struct unit_a_model *unit(unsigned i)
{
    return &tr.unit[i];
}

static void program(unsigned i, uint32_t cr, uint32_t tecr1)
{
    unit_a_write(unit(i), 0x000, true, 0x400);
    for (unsigned n = 0; n < 4; n++)
        unit_a_settle(unit(i));
    unit_a_write(unit(i), 0x020, true, 0x6f);
    unit_a_write(unit(i), 0x024, true, tecr1);
    unit_a_write(unit(i), 0x200, true, 0x10 + i);
    unit_a_write(unit(i), 0x000, true, cr | 0x400);
    unit_a_write(unit(i), 0x000, true, cr);
}

START_TEST(test_ptm)
{
    start(false, false);
    unit_a_write(unit(0), 0x200, true, 0x10); /* powered down */
    ck_assert_uint_eq(unit(0)->ignored_writes, 1);
    unit_a_write(unit(0), 0x000, false, 0x400);
    ck_assert_uint_eq(unit(0)->locked_writes, 1);
    program(0, 0x30001100, 0x01000000);
    ck_assert_uint_eq(unit_a_read(unit(0), 0x000, true), 0x1100); /* what it does not have */
    ck_assert_uint_eq(unit_a_read(unit(0), 0x010, true), 2);
    ck_assert(!unit_a_setting(unit(0)).on);
    trace_a_run(&tr);
    trace_a_run(&tr);
    ck_assert_uint_eq(unit_a_read(unit(0), 0x010, true), 0);
    ck_assert(tr.set[0].on);
    ck_assert_uint_eq(tr.set[0].etmcr, 0x1100);
    ck_assert_uint_eq(tr.unselected, 1);      /* the funnel's port is off */
    unit_a_write(unit(0), 0x200, true, 0x22); /* it runs */
    ck_assert_uint_eq(unit_a_trace_id(unit(0)), 0x10);
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_choices)
{
    start(true, false);
    program(0, 0x840, 0);
    for (unsigned n = 0; n < 4; n++)
        unit_a_settle(unit(0));
    ck_assert(!unit_a_setting(unit(0)).on); /* includes nothing */
    program(0, 0x840, 0x01000000);
    for (unsigned n = 0; n < 4; n++)
        unit_a_settle(unit(0));
    ck_assert(unit_a_setting(unit(0)).on);
    ck_assert_uint_eq(unit_a_read(unit(0), 0x014, true) & 0xc00, 0xc00);
    unit_a_write(unit(0), 0x000, true, 0x400);
    for (unsigned n = 0; n < 4; n++)
        unit_a_settle(unit(0));
    unit_a_write(unit(0), 0x048, true, 0x60000100);
    unit_a_write(unit(0), 0x04c, true, 0x60000200);
    program(0, 0x840, 2);
    for (unsigned n = 0; n < 4; n++)
        unit_a_settle(unit(0));
    struct core_a_trace set = unit_a_setting(unit(0));
    ck_assert(set.on && !set.exclude && set.ranges == 1);
    ck_assert_uint_eq(set.first[0], 0x60000100);
    ck_assert_uint_eq(set.last[0], 0x600001ff);
    program(0, 0x000, 0x01000000); /* without ETMEN */
    for (unsigned n = 0; n < 4; n++)
        unit_a_settle(unit(0));
    ck_assert(!unit_a_setting(unit(0)).on);
    trace_a_release(&tr);
}
END_TEST

/* Both units through the funnel into one ETB, each with its ID. */
START_TEST(test_two_units)
{
    start(false, false);
    arm(1);
    funnel_a_write(&tr, 0x000, true, 0x303);
    funnel_a_write(&tr, 0x004, true, 0); /* ignored: ports are on */
    ck_assert_uint_eq(funnel_a_read(&tr, 0x004, true), 0x00fac688);
    program(0, 0, 0x01000000);
    program(1, 0, 0x01000000);
    for (unsigned n = 0; n < 4; n++)
        trace_a_run(&tr);
    stop();
    W(0x020, 0);
    W(0x014, 0);
    uint32_t word = R(0x010);
    ck_assert_uint_eq(word & 0xff, 0x10 << 1 | 1);
    ck_assert_uint_eq(word >> 8 & 0xff, 0xc0);
    ck_assert_uint_eq(word >> 16 & 0xff, 0x11 << 1 | 1);
    ck_assert_uint_eq(word >> 24, 0xc1);
    ck_assert_uint_eq(tr.unselected, 0);
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_tpiu)
{
    start(false, false);
    tpiu_a_write(&tr, 0x004, false, 8);
    ck_assert_uint_eq(tr.locked_writes, 1);
    tpiu_a_write(&tr, 0x004, true, 8);
    tpiu_a_write(&tr, 0x004, true, 0x10); /* five pins there are not */
    ck_assert_uint_eq(tpiu_a_read(&tr, 0x004, true), 8);
    tpiu_a_write(&tr, 0x304, true, 0x1000);
    tpiu_a_write(&tr, 0x304, true, 0x1040);
    ck_assert_uint_eq(tpiu_a_read(&tr, 0x304, true), 0x1040);
    ck_assert_uint_eq(tpiu_a_read(&tr, 0x304, true), 0x1000);
    ck_assert_uint_eq(tpiu_a_read(&tr, 0x300, true), 2);
    trace_a_release(&tr);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("trace_a");
    unit_case(s, "trace_a: ETB", test_etb);
    unit_case(s, "trace_a: ETB wraps", test_etb_wraps);
    unit_case(s, "trace_a: ETB stops on a flush asked for before", test_stop_order);
    unit_case(s, "trace_a: TMC, circular buffer", test_tmc);
    unit_case(s, "trace_a: TMC, software FIFO", test_fifo);
    unit_case(s, "trace_a: PTM's lock, power and programming bit", test_ptm);
    unit_case(s, "trace_a: what the trace unit chooses", test_choices);
    unit_case(s, "trace_a: two trace units through the funnel", test_two_units);
    unit_case(s, "trace_a: TPIU", test_tpiu);
    return s;
}
