/* SPDX-License-Identifier: BSD-3-Clause */
/* The firmware's flight recorder of docs/, with the modelled trace units in place of a chip's. */
#include <string.h>

#include "tests/model/core_sim.h"
#include "tests/model/coresight_model.h"
#include "tests/support/unit_main.h"

static struct core_sim sim;
static struct coresight_model sys;
static struct model_bus bus;
static uint32_t missing; /* nobody answers at this page; 0: all do */

static uint32_t reg_read(uint32_t address)
{
    uint32_t value = 0;
    if (!missing || (address & ~0xfffu) != missing)
        ck_assert_int_eq(bus.read(bus.ctx, address, 4, &value), 0);
    return value;
}

static void reg_write(uint32_t address, uint32_t value)
{
    if (!missing || (address & ~0xfffu) != missing)
        ck_assert_int_eq(bus.write(bus.ctx, address, 4, value), 0);
}

#define FLIGHT_RECORDER_REGISTER_ACCESS
bool flight_recorder_arm(void);
void flight_recorder_freeze(void);
#include "docs/flight-recorder.c"

static void setup(void)
{
    core_sim_init(&sim);
    struct core_model core = core_sim_model(&sim);
    coresight_model_init(&sys, &core);
    bus = coresight_model_bus(&sys);
    missing = 0;
}

static void teardown(void)
{
    coresight_model_release(&sys);
}

static void make_trace(const char *text)
{
    ck_assert_int_eq(core_sim_put_trace(&sim, text, strlen(text)), 0);
    coresight_model_run(&sys);
}

START_TEST(arms)
{
    setup();
    ck_assert(flight_recorder_arm());
    ck_assert(cs_etm_tracing(&sys) && cs_etb_capturing(&sys));
    ck_assert_uint_eq(cs_etm_trace_id(&sys), 0x10);
    ck_assert_uint_eq(sys.counters.locked_writes, 0);
    ck_assert_uint_eq(sys.counters.ignored_writes, 0);
    ck_assert_uint_eq(sys.counters.untraced, 0);
    ck_assert(flight_recorder_arm()); /* a second start, without a reset of the debug logic */
    ck_assert(cs_etm_tracing(&sys) && cs_etb_capturing(&sys));
    ck_assert_uint_eq(sys.counters.ignored_writes, 0);
    teardown();
}
END_TEST

START_TEST(freezes)
{
    setup();
    ck_assert(flight_recorder_arm());
    make_trace("before the fault");
    flight_recorder_freeze();
    ck_assert(!cs_etb_capturing(&sys));
    uint32_t end = sys.etb.rwp;
    ck_assert_uint_eq(end, 8); /* two frames of four words */
    make_trace("the loop behind it, which is not to be seen");
    ck_assert_uint_eq(sys.etb.rwp, end);
    ck_assert_uint_eq(sys.counters.ignored_writes, 0);
    /* ID byte, then data: bit 0 of the even bytes is in the last one. */
    const uint8_t *frame = (const uint8_t *)sys.etb.ram;
    ck_assert_uint_eq(frame[0], 0x10 << 1 | 1);
    ck_assert_uint_eq(frame[1], 'b');
    ck_assert_uint_eq(frame[3], 'f');
    teardown();
}
END_TEST

START_TEST(nothing_there)
{
    setup();
    missing = FLIGHT_RECORDER_ETB;
    ck_assert(!flight_recorder_arm());
    missing = CS_ETM;
    ck_assert(!flight_recorder_arm());
    ck_assert(!cs_etm_tracing(&sys));
    teardown();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("flight_recorder");
    unit_case(s, "flight_recorder: arms", arms);
    unit_case(s, "flight_recorder: freezes", freezes);
    unit_case(s, "flight_recorder: a chip without trace", nothing_there);
    return s;
}
