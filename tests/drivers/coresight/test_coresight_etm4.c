/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/coresight/coresight_etm4.c. */
/* Programming of an ETMv4: order, settings, what it lacks, and what goes wrong. */
#include "drivers/coresight/coresight_etm4.h"

#include "tests/drivers/coresight/test_etm4_bus.h"

static struct etm4_bus b;
static struct coresight_etm4_state state;

static int start(const struct coresight_etm4_options *o)
{
    return coresight_etm4_start(&b.bus, ETM4_UNIT, o, &state);
}

static void expect_reg(unsigned offset, uint32_t value)
{
    ck_assert_msg(*etm4_reg(&b, offset) == value, "0x%03x is 0x%08x, not 0x%08x", offset,
                  *etm4_reg(&b, offset), value);
}

START_TEST(m33)
{
    const struct coresight_etm4_options o = {.trace_id = 0x22,
                                             .config = CORESIGHT_ETM4_OPTIONS,
                                             .stall = CORESIGHT_ETM4_STALL | 8,
                                             .cycle_threshold = 2,
                                             .sync_log2 = 12};
    etm4_bus_m33(&b);
    *etm4_reg(&b, 0x1f4) |= 4u << 25; /* a sequencer */
    for (unsigned offset = 0x100; offset < 0x180; offset += 4)
        *etm4_reg(&b, offset) = 0x55; /* somebody was here */
    *etm4_reg(&b, 0x004) = 1;
    *etm4_reg(&b, 0x00c) = 0;
    *etm4_reg(&b, 0x208) = *etm4_reg(&b, 0x20c) = *etm4_reg(&b, 0x280) = 0x55;
    ck_assert_int_eq(start(&o), 0);
    ck_assert_uint_eq(b.early, 0);
    ck_assert_uint_gt(b.writes, 10);
    ck_assert_uint_eq(state.config, 0x0819); /* no context, no VMID; all branches: no stack */
    ck_assert_uint_eq(state.trace_id, 0x22);
    ck_assert_uint_eq(coresight_etm4_sync_bytes(&state), 1024); /* fixed */
    ck_assert(state.enabled && state.failure == CORESIGHT_ETM4_FINE);
    ck_assert(coresight_etm4_version(&state) == 2 && !coresight_etm4_is_ete(&state));
    ck_assert_uint_eq(state.idr[12], 1);
    expect_reg(0x004, 1);
    expect_reg(0x02c, 0x108);
    expect_reg(0x038, 4); /* no less than it can do */
    expect_reg(0x080, 0x201);
    expect_reg(0x084, 0);
    expect_reg(0x100, 0);
    expect_reg(0x118, 0);
    expect_reg(0x150, 0);
    expect_reg(0x208, 0);
    expect_reg(0x20c, 0);
    expect_reg(0x280, 0);
    ck_assert_int_eq(coresight_etm4_stop(&b.bus, ETM4_UNIT, &state), 0);
    expect_reg(0x004, 0);
}
END_TEST

START_TEST(a53)
{
    const struct coresight_etm4_options o = {
        .trace_id = 0x11,
        .config = CORESIGHT_ETM4_CONTEXT | CORESIGHT_ETM4_VMID | CORESIGHT_ETM4_TIMESTAMPS,
        .stall = CORESIGHT_ETM4_STALL | CORESIGHT_ETM4_LOSSLESS | 15,
        .ranges = {{.first = 0xffffffc000080000, .last = 0xffffffc0000fffff},
                   {.first = 0x400000, .last = 0x4000ff, .exclude = true}},
        .range_count = 2};
    etm4_bus_a53(&b);
    b.config_mask = 0x18c9; /* it has not all that its identification claims */
    ck_assert_int_eq(start(&o), 0);
    ck_assert_uint_eq(b.early, 0);
    ck_assert_uint_eq(state.config, 0x8c1);
    ck_assert_uint_eq(coresight_etm4_ranges(&state), 4);
    ck_assert_uint_eq(coresight_etm4_sync_bytes(&state), 1024);
    expect_reg(0x310, 8);
    expect_reg(0x02c, 0x10f); /* it cannot hold the core for as long as it takes */
    expect_reg(0x400, 0x00080000);
    expect_reg(0x404, 0xffffffc0);
    expect_reg(0x408, 0x000fffff);
    expect_reg(0x40c, 0xffffffc0);
    expect_reg(0x410, 0x00400000);
    expect_reg(0x418, 0x004000ff);
    expect_reg(0x084, 0x00020001);
    ck_assert(coresight_etm4_runs(&b.bus, ETM4_UNIT, &state));
    *etm4_reg(&b, 0x010) ^= 8;
    ck_assert(!coresight_etm4_runs(&b.bus, ETM4_UNIT, &state));
}
END_TEST

START_TEST(read_only)
{
    etm4_bus_a53(&b);
    *etm4_reg(&b, 0x004) = 1;
    *etm4_reg(&b, 0x010) = 0x801;
    *etm4_reg(&b, 0x040) = 0x33;
    ck_assert_int_eq(coresight_etm4_read(&b.bus, ETM4_UNIT, &state), 0);
    ck_assert(state.enabled && state.config == 0x801 && state.trace_id == 0x33);
    ck_assert_uint_eq(b.writes, 0);
    expect_reg(0x310, 0);
    expect_reg(0x304, 0xa);
    *etm4_reg(&b, 0xfbc) = 0;
    ck_assert_int_eq(coresight_etm4_read(&b.bus, ETM4_UNIT, &state), 0); /* by TRCIDR1 */
    ck_assert_uint_eq(coresight_etm4_version(&state), 0);
    *etm4_reg(&b, 0x1e4) = 0x4114f250; /* an ETMv3 */
    ck_assert_int_eq(coresight_etm4_read(&b.bus, ETM4_UNIT, &state), BT_ERR_UNSUPPORTED);
    ck_assert_int_eq(state.failure, CORESIGHT_ETM4_OTHER_UNIT);
    *etm4_reg(&b, 0xfbc) = 0x47715a13;
    ck_assert_int_eq(coresight_etm4_read(&b.bus, ETM4_UNIT, &state), 0);
    ck_assert(coresight_etm4_is_ete(&state) && coresight_etm4_version(&state) == 1);
}
END_TEST

static const struct {
    const char *words; /* a part of them */
    enum coresight_etm4_failure failure;
    int error;
} troubles[] = {
    {"has no power", CORESIGHT_ETM4_NO_POWER, BT_ERR_IO},
    {"OS lock", CORESIGHT_ETM4_LOCKED, BT_ERR_UNSUPPORTED},
    {"chip is closed", CORESIGHT_ETM4_FORBIDDEN, BT_ERR_UNSUPPORTED},
    {"does not become idle", CORESIGHT_ETM4_BUSY, BT_ERR_IO},
    {"does not start", CORESIGHT_ETM4_STUCK, BT_ERR_IO},
    {"does not keep", CORESIGHT_ETM4_DEAF, BT_ERR_UNSUPPORTED},
    {"must be even", CORESIGHT_ETM4_ODD_ID, BT_ERR_INVAL},
    {"fewer address comparators", CORESIGHT_ETM4_FEW_RANGES, BT_ERR_RANGE},
    {"is no ETMv4", CORESIGHT_ETM4_OTHER_UNIT, BT_ERR_UNSUPPORTED},
};

static void make_trouble(enum coresight_etm4_failure failure, struct coresight_etm4_options *o)
{
    b.no_power = failure == CORESIGHT_ETM4_NO_POWER;
    b.lock_stuck = failure == CORESIGHT_ETM4_LOCKED;
    b.never_idle = failure == CORESIGHT_ETM4_BUSY;
    b.never_starts = failure == CORESIGHT_ETM4_STUCK;
    b.deaf = failure == CORESIGHT_ETM4_DEAF;
    if (failure == CORESIGHT_ETM4_FORBIDDEN)
        *etm4_reg(&b, 0xfb8) = 0x88;
    if (failure == CORESIGHT_ETM4_ODD_ID)
        *etm4_reg(&b, 0x1e0) |= 0x18;
    if (failure == CORESIGHT_ETM4_OTHER_UNIT)
        *etm4_reg(&b, 0xfbc) = 0x47700a00;
    o->range_count = failure == CORESIGHT_ETM4_FEW_RANGES ? 5 : 0;
}

START_TEST(trouble)
{
    struct coresight_etm4_options o = {.trace_id = 0x11};
    etm4_bus_a53(&b);
    make_trouble(troubles[_i].failure, &o);
    ck_assert_int_eq(start(&o), troubles[_i].error);
    ck_assert_int_eq(state.failure, troubles[_i].failure);
    ck_assert(!state.enabled);
    ck_assert_ptr_nonnull(strstr(coresight_etm4_failure_text(state.failure), troubles[_i].words));
    if (troubles[_i].failure != CORESIGHT_ETM4_STUCK)
        expect_reg(0x004, 0);
    ck_assert_uint_eq(b.early, 0);
    ck_assert_uint_lt(b.now, 200000);
}
END_TEST

START_TEST(refused)
{
    static const unsigned places[] = {0xfb0, 0x310, 0x300, 0xfbc, 0x1e4, 0x190,
                                      0xfb8, 0x004, 0x00c, 0x010, 0x084};
    const struct coresight_etm4_options o = {.trace_id = 0x10};
    etm4_bus_a53(&b);
    b.fault = ETM4_UNIT + places[_i];
    ck_assert_int_eq(start(&o), BT_ERR_IO);
    ck_assert_int_eq(b.bus.failure, DEBUG_FAIL_FAULT);
    ck_assert_uint_eq(b.bus.fault_address, b.fault);
    ck_assert_int_eq(state.failure, CORESIGHT_ETM4_FINE);
    ck_assert_ptr_null(coresight_etm4_failure_text(state.failure));
}
END_TEST

START_TEST(arguments)
{
    static const struct coresight_etm4_options bad[] = {
        {.trace_id = 0},
        {.trace_id = 0x70},
        {.trace_id = 1, .sync_log2 = 7},
        {.trace_id = 1, .sync_log2 = 21},
        {.trace_id = 1, .ranges = {{.first = 2, .last = 1}}, .range_count = 1},
    };
    etm4_bus_a53(&b);
    ck_assert_int_eq(start(&bad[_i]), BT_ERR_INVAL);
    ck_assert_int_eq(state.failure, CORESIGHT_ETM4_FINE);
    expect_reg(0x010, 0);
}
END_TEST

/* One world of two may be closed: the other one is traced. */
START_TEST(worlds)
{
    const struct coresight_etm4_options o = {.trace_id = 0x10};
    etm4_bus_m33(&b);
    *etm4_reg(&b, 0xfb8) = 0x8c;
    ck_assert_int_eq(start(&o), 0);
    ck_assert(coresight_etm4_secure_hidden(&state) && !coresight_etm4_nonsecure_hidden(&state));
    *etm4_reg(&b, 0xfb8) = 0xc8;
    ck_assert_int_eq(start(&o), 0);
    ck_assert(!coresight_etm4_secure_hidden(&state) && coresight_etm4_nonsecure_hidden(&state));
    *etm4_reg(&b, 0xfb8) = 0; /* a unit that does not tell */
    ck_assert_int_eq(start(&o), 0);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("coresight_etm4");
    unit_case(s, "ETMv4: a Cortex-M33's, what is left of others is cleared", m33);
    unit_case(s, "ETMv4: a Cortex-A53's, power, OS lock, address ranges", a53);
    unit_case(s, "ETMv4: reading changes nothing", read_only);
    unit_cases(s, "ETMv4: what goes wrong has a name", trouble, 0,
               sizeof troubles / sizeof *troubles);
    unit_cases(s, "ETMv4: each access may be refused", refused, 0, 11);
    unit_cases(s, "ETMv4: arguments out of range", arguments, 0, 5);
    unit_case(s, "ETMv4: a chip that closes one world", worlds);
    return s;
}
