/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of an ETMv4, in the order of IHI 0064H.b chapter 4 and against it. */
#include "etm4_model.h"
#include "tests/support/unit_main.h"

#define PRGCTLR    0x004
#define STATR      0x00c
#define CONFIGR    0x010
#define AUXCTLR    0x018
#define EVENTCTL0R 0x020
#define EVENTCTL1R 0x024
#define STALLCTLR  0x02c
#define TSCTLR     0x030
#define SYNCPR     0x034
#define CCCTLR     0x038
#define BBCTLR     0x03c
#define TRACEIDR   0x040
#define VICTLR     0x080
#define VIIECTLR   0x084
#define VISSCTLR   0x088
#define VIPCSSCTLR 0x08c
#define OSLAR      0x300
#define OSLSR      0x304
#define PDCR       0x310
#define PDSR       0x314
#define LAR        0xfb0
#define LSR        0xfb4
#define KEY        0xc5acce55u

static struct etm4_model unit;

static uint32_t R(unsigned offset)
{
    uint32_t value;
    etm4_update(&unit);
    ck_assert_int_eq(etm4_read(&unit, offset, &value), 0);
    return value;
}

static void W(unsigned offset, uint32_t value)
{
    etm4_update(&unit);
    ck_assert_int_eq(etm4_write(&unit, offset, value), 0);
}

static void P(unsigned offset, uint32_t mask, uint32_t value)
{
    for (unsigned i = 0; i < 10; i++)
        if ((R(offset) & mask) == value)
            return;
    ck_abort_msg("0x%03x never becomes 0x%x", offset, value);
}

static void bus_error(unsigned offset)
{
    uint32_t value;
    ck_assert_int_eq(etm4_read(&unit, offset, &value), -1);
    ck_assert_int_eq(etm4_write(&unit, offset, 0), -1);
}

static void begin(enum etm4_kind kind, unsigned pairs)
{
    etm4_init(&unit, &(struct etm4_options){.kind = kind, .pairs = pairs});
}

/* Step 2 of the order. */
static void unlock(void)
{
    W(LAR, KEY);
    W(OSLAR, 0);
    P(OSLSR, 2, 0);
    W(PDCR, R(PDCR) | 8);
    P(PDSR, 1, 1);
}

/* Steps 3 to 5. */
static void program(uint32_t configr)
{
    W(PRGCTLR, 0);
    P(STATR, 1, 1);
    W(CONFIGR, configr);
    W(AUXCTLR, 0);
    W(EVENTCTL0R, 0);
    W(EVENTCTL1R, 0);
    W(STALLCTLR, 0);
    W(TSCTLR, 0);
    W(SYNCPR, 0xc);
    W(CCCTLR, 4);
    W(BBCTLR, 0);
    W(TRACEIDR, 0x10);
    W(VICTLR, 0x201);
    W(VIIECTLR, 0);
    W(VISSCTLR, 0);
    W(VIPCSSCTLR, 0);
}

static void enable(void)
{
    W(PRGCTLR, 1);
    P(STATR, 1, 0);
}

static void running(enum etm4_kind kind, unsigned pairs, uint32_t configr)
{
    begin(kind, pairs);
    unlock();
    program(configr);
    enable();
}

/* Nothing was done against the rules. */
static void clean(void)
{
    const struct etm4_counters *c = &unit.counters;
    ck_assert_uint_eq(c->locked_writes + c->os_locked + c->unpowered + c->busy_writes + c->early +
                          c->unprogrammed + c->forbidden + c->unmodelled,
                      0);
}

START_TEST(test_identity)
{
    begin(ETM4_M7, 0);
    ck_assert_uint_eq(R(0xfbc), 0x47704a13);
    ck_assert_uint_eq(R(0xfcc), 0x13);
    unlock();
    ck_assert_uint_eq(R(0x1e4) >> 4 & 0xff, 0x40); /* v4.0 */
    ck_assert_uint_eq(R(0x1ec) >> 25 & 1, 0);      /* TRCSYNCPR can be written */
    begin(ETM4_M33, 0);
    ck_assert_uint_eq(R(0xfbc), 0x47724a13);
    ck_assert_uint_eq(R(0xfb8), 0xcc);
    ck_assert_uint_eq(R(0x1e0), 0x280006e1);
    ck_assert_uint_eq(R(0x1e4) >> 4 & 0xff, 0x42);
    ck_assert_uint_eq(R(0x1ec), 0x0f990004);
    ck_assert_uint_eq(R(0x190), 1); /* TRCIDR12 */
    begin(ETM4_M33, 4);
    ck_assert_uint_eq(R(0x1f0) & 0xf, 4);
}
END_TEST

START_TEST(test_locks)
{
    begin(ETM4_M7, 0);
    ck_assert_uint_eq(R(LSR), 3);
    W(OSLAR, 0);
    ck_assert_uint_eq(R(OSLSR) & 2, 2); /* the software lock holds */
    ck_assert_uint_eq(unit.counters.locked_writes, 1);
    W(LAR, KEY);
    ck_assert_uint_eq(R(LSR), 1);
    W(PDCR, 8);
    P(PDSR, 1, 1);
    bus_error(CONFIGR); /* the OS lock still does */
    ck_assert_uint_eq(unit.counters.os_locked, 2);
    ck_assert_uint_eq(R(PDSR) & 0x20, 0x20);
    W(OSLAR, 0);
    ck_assert_uint_eq(R(OSLSR), 8);
    W(CONFIGR, 0x801);
    ck_assert_uint_eq(R(CONFIGR), 0x801);
    W(LAR, 0);
    W(CONFIGR, 1);
    ck_assert_uint_eq(R(CONFIGR), 0x801);
}
END_TEST

START_TEST(test_power)
{
    begin(ETM4_M7, 0);
    W(LAR, KEY);
    W(OSLAR, 0);
    ck_assert_uint_eq(R(PDSR), 2);
    ck_assert_uint_eq(R(PDSR), 0); /* the loss is told once */
    bus_error(0x1e0);
    ck_assert_uint_eq(unit.counters.unpowered, 2);
    W(PDCR, 8);
    ck_assert_uint_eq(R(PDSR) & 1, 0); /* not at the first look */
    P(PDSR, 1, 1);
    ck_assert_uint_ne(R(TRACEIDR), 0); /* nonsense */
    W(PDCR, 0);
    ck_assert_uint_eq(R(PDSR) & 3, 2);
}
END_TEST

START_TEST(test_m33_has_no_locks)
{
    begin(ETM4_M33, 0);
    ck_assert_uint_eq(R(LSR), 0);
    ck_assert_uint_eq(R(OSLSR), 0);
    W(LAR, KEY);
    W(OSLAR, 1);
    W(PDCR, 8);
    ck_assert_uint_eq(R(PDCR), 0);
    ck_assert_uint_eq(R(PDSR) & 0x21, 1);
    W(CONFIGR, 0x1811);
    ck_assert_uint_eq(R(CONFIGR), 0x1811);
    ck_assert_uint_eq(R(SYNCPR), 10);
    W(SYNCPR, 12);
    ck_assert_uint_eq(R(SYNCPR), 10);
    ck_assert_uint_eq(unit.counters.read_only, 1);
    clean();
}
END_TEST

START_TEST(test_order)
{
    static const enum etm4_kind kinds[] = {ETM4_M7, ETM4_M33};
    running(kinds[_i], 0, 0x1801);
    ck_assert(etm4_traces(&unit));
    struct core_trace_v4 t = etm4_setting(&unit);
    ck_assert_uint_eq(t.configr, 0x1801);
    ck_assert_uint_eq(t.ccctlr, 0);
    ck_assert_uint_eq(t.syncpr, kinds[_i] == ETM4_M7 ? 12 : 10);
    ck_assert_uint_eq(t.includes + t.excludes, 0);
    ck_assert_uint_eq(etm4_trace_id(&unit), 0x10);
    W(PRGCTLR, 0);
    ck_assert(!etm4_traces(&unit) && etm4_holds_back(&unit));
    ck_assert_uint_eq(R(STATR), 0);
    P(STATR, 3, 2); /* stable before it is idle */
    ck_assert(etm4_holds_back(&unit));
    P(STATR, 3, 3);
    ck_assert(!etm4_holds_back(&unit));
    clean();
}
END_TEST

START_TEST(test_no_poll)
{
    running(ETM4_M7, 0, 1);
    W(TRACEIDR, 0x22);
    ck_assert_uint_eq(R(TRACEIDR), 0x10);
    W(PRGCTLR, 0);
    W(TRACEIDR, 0x22); /* not idle yet */
    ck_assert_uint_eq(R(TRACEIDR), 0x10);
    ck_assert_uint_eq(unit.counters.busy_writes, 2);
    W(PRGCTLR, 1);
    ck_assert_uint_eq(unit.counters.early, 1);
    P(STATR, 1, 1);
    ck_assert_uint_eq(R(PRGCTLR), 0);
    W(PRGCTLR, 1);
    ck_assert(!etm4_traces(&unit)); /* nor does it trace at once */
    P(STATR, 1, 0);
    ck_assert(etm4_traces(&unit));
}
END_TEST

START_TEST(test_unprogrammed)
{
    static const unsigned needed[] = {CONFIGR,  EVENTCTL0R, EVENTCTL1R, STALLCTLR, SYNCPR,
                                      TRACEIDR, VICTLR,     VIPCSSCTLR, VIIECTLR,  VISSCTLR};
    begin(ETM4_M7, 4);
    unlock();
    program(1);
    unit.written[needed[_i] / 4] = false;
    enable();
    ck_assert(!etm4_traces(&unit));
    ck_assert_uint_eq(unit.counters.unprogrammed, 1);
}
END_TEST

START_TEST(test_needed_with_options)
{
    static const struct {
        uint32_t configr;
        unsigned offset;
    } options[] = {{0x11, CCCTLR}, {0x801, TSCTLR}, {0x9, BBCTLR}};
    begin(ETM4_M7, 4);
    unlock();
    program(1);
    unit.written[options[_i].offset / 4] = false;
    enable();
    ck_assert(etm4_traces(&unit)); /* without the option it does not matter */
    W(PRGCTLR, 0);
    P(STATR, 1, 1);
    W(CONFIGR, options[_i].configr);
    enable();
    ck_assert(!etm4_traces(&unit));
    ck_assert_uint_eq(unit.counters.unprogrammed, 1);
}
END_TEST

START_TEST(test_forbidden)
{
    static const struct {
        unsigned offset;
        uint32_t value;
    } wrong[] = {{TRACEIDR, 0},     {TRACEIDR, 0x70}, {SYNCPR, 7}, {SYNCPR, 21},
                 {CONFIGR, 0x1009}, {CONFIGR, 0x11},  {0xf00, 1}};
    begin(ETM4_M7, 0);
    unlock();
    program(1);
    W(CCCTLR, 3);
    W(wrong[_i].offset, wrong[_i].value);
    enable();
    ck_assert(!etm4_traces(&unit));
    ck_assert_uint_eq(unit.counters.forbidden, 1);
}
END_TEST

START_TEST(test_view_inst)
{
    running(ETM4_M7, 0, 1);
    static const uint32_t nothing[] = {0x200, 0x001};
    for (unsigned i = 0; i < 2; i++) {
        W(PRGCTLR, 0);
        P(STATR, 1, 1);
        W(VICTLR, nothing[i]);
        enable();
        ck_assert(!etm4_traces(&unit)); /* never, or not started */
    }
    clean();
    W(PRGCTLR, 0);
    P(STATR, 1, 1);
    W(VICTLR, 0x20201);                  /* a level that is excluded */
    ck_assert_uint_eq(R(VICTLR), 0x201); /* and that there is not */
    W(VICTLR, 0x80201);
    enable();
    ck_assert(!etm4_traces(&unit));
    ck_assert_uint_eq(unit.counters.unmodelled, 1);
}
END_TEST

START_TEST(test_ranges)
{
    begin(ETM4_M7, 2);
    unlock();
    program(9);
    for (unsigned i = 0; i < 4; i++) {
        W(0x400 + 8 * i, 0x1000 * (i + 1));
        W(0x404 + 8 * i, 0);
        W(0x480 + 8 * i, 0);
    }
    W(VIIECTLR, 0x000f0002 | 1 << 16);
    ck_assert_uint_eq(R(VIIECTLR), 0x00030002); /* two pairs */
    W(VIIECTLR, 0x00010002);
    W(BBCTLR, 0x100); /* in no range */
    enable();
    ck_assert(etm4_traces(&unit));
    struct core_trace_v4 t = etm4_setting(&unit);
    ck_assert_uint_eq(t.includes, 1);
    ck_assert_uint_eq(t.include[0].first, 0x3000);
    ck_assert_uint_eq(t.include[0].last, 0x4000);
    ck_assert_uint_eq(t.excludes, 1);
    ck_assert_uint_eq(t.exclude[0].first, 0x1000);
    ck_assert_uint_eq(t.configr, 1);
    W(PRGCTLR, 0);
    P(STATR, 1, 1);
    W(BBCTLR, 0);
    enable();
    ck_assert_uint_eq(etm4_setting(&unit).configr, 9);
    W(PRGCTLR, 0);
    P(STATR, 1, 1);
    W(BBCTLR, 1);
    enable();
    ck_assert(!etm4_traces(&unit));
    ck_assert_uint_eq(unit.counters.unmodelled, 1);
    W(PRGCTLR, 0);
    P(STATR, 1, 1);
    W(BBCTLR, 0);
    W(0x498, 1); /* the end of the second pair is a data address */
    enable();
    ck_assert(!etm4_traces(&unit));
    ck_assert_uint_eq(unit.counters.unmodelled, 2);
}
END_TEST

START_TEST(test_os_lock_again)
{
    running(ETM4_M7, 0, 1);
    etm4_lock_again(&unit);
    ck_assert(!etm4_traces(&unit));
    bus_error(STATR);
    ck_assert_uint_eq(R(OSLSR), 0xa);
    for (unsigned i = 0; i < 10; i++)
        R(PDSR);
    W(OSLAR, 0);
    ck_assert_uint_eq(R(PRGCTLR), 1);
    P(STATR, 1, 0); /* it goes on */
    ck_assert(etm4_traces(&unit));
    begin(ETM4_M33, 0);
    etm4_lock_again(&unit); /* has none */
    R(STATR);
}
END_TEST

START_TEST(test_power_lost)
{
    running(ETM4_M7, 0, 1);
    R(PDSR);
    etm4_lose_power(&unit);
    ck_assert_uint_eq(R(PDSR), 0x22);
    P(PDSR, 1, 1); /* it was asked for */
    W(OSLAR, 0);
    ck_assert_uint_eq(R(PRGCTLR), 0);
    ck_assert_uint_ne(R(TRACEIDR), 0x10);
    W(PRGCTLR, 1);
    ck_assert_uint_eq(unit.counters.unprogrammed, 1);
    running(ETM4_M33, 0, 1);
    R(PDSR);
    etm4_lose_power(&unit);
    ck_assert_uint_eq(R(PDSR), 3);
    ck_assert(!etm4_traces(&unit));
}
END_TEST

START_TEST(test_other_faults)
{
    running(ETM4_M33, 0, 1);
    unit.faults.never_idle = true;
    W(PRGCTLR, 0);
    for (unsigned i = 0; i < 100; i++)
        ck_assert_uint_eq(R(STATR) & 1, 0);
    ck_assert(etm4_holds_back(&unit));
    running(ETM4_M33, 0, 1);
    unit.faults.no_trace = true;
    ck_assert_uint_eq(R(0xfb8), 0x88);
    ck_assert(!etm4_traces(&unit));
}
END_TEST

START_TEST(test_claim)
{
    begin(ETM4_M33, 0);
    ck_assert_uint_eq(R(0xfa0), 0xf);
    W(0xfa0, 5);
    ck_assert_uint_eq(R(0xfa4), 5);
    W(0xfa4, 4);
    ck_assert_uint_eq(R(0xfa4), 1);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etm4_model");
    unit_case(s, "etm4_model: identification", test_identity);
    unit_case(s, "etm4_model: software lock and OS lock", test_locks);
    unit_case(s, "etm4_model: power", test_power);
    unit_case(s, "etm4_model: a Cortex-M33's has no locks", test_m33_has_no_locks);
    unit_cases(s, "etm4_model: the documented order", test_order, 0, 2);
    unit_case(s, "etm4_model: who does not poll", test_no_poll);
    unit_cases(s, "etm4_model: registers that must be written", test_unprogrammed, 0, 10);
    unit_cases(s, "etm4_model: those of an option", test_needed_with_options, 0, 3);
    unit_cases(s, "etm4_model: values that contradict", test_forbidden, 0, 7);
    unit_case(s, "etm4_model: ViewInst", test_view_inst);
    unit_case(s, "etm4_model: address ranges", test_ranges);
    unit_case(s, "etm4_model: the target sets the OS lock again", test_os_lock_again);
    unit_case(s, "etm4_model: power is lost", test_power_lost);
    unit_case(s, "etm4_model: never idle, not allowed", test_other_faults);
    unit_case(s, "etm4_model: claim tags", test_claim);
    return s;
}
