/* SPDX-License-Identifier: BSD-3-Clause */
/* Run control over bad lines, and with a probe that goes away. */
#include <stdio.h>

#include "tests/drivers/cortex_m/probe_bench.h"

#define LOOP    0x08000044u
#define COUNTER 0x20000100u

/* The same small session; the first result that is not 0 ends it. */
static int session(struct probe_bench *b)
{
    uint32_t all[CORTEX_M_REGISTERS];
    struct target_core_status status;
    uint8_t bytes[64];
    struct cortex_m *core = &b->core;
    int rc = cortex_m_halt(core);
    if (rc == 0)
        rc = cortex_m_read_all(core, all);
    if (rc == 0)
        rc = cortex_m_write_register(core, 0, 7);
    if (rc == 0)
        rc = cortex_m_insert(core, TARGET_BREAKPOINT_HARDWARE, LOOP, 2);
    if (rc == 0)
        rc = cortex_m_read_memory(core, COUNTER, bytes, sizeof bytes);
    if (rc == 0)
        rc = cortex_m_resume(core);
    if (rc == 0)
        rc = cortex_m_status(core, &status);
    if (rc == 0)
        rc = cortex_m_halt(core);
    if (rc == 0)
        rc = cortex_m_step(core, true);
    return rc;
}

START_TEST(test_line)
{
    static const struct {
        const char *fault;
        bool heals; /* nothing of it is seen from outside: else a step,
                       which is not repeated, fails */
        const char *words;
    } cases[] = {{"wait=1", true, ""},
                 {"fault=1", false, "bus error"},
                 {"parity=1", false, "wires"},
                 {"noack=1", false, "wires"},
                 {"wait=100000", false, "busy"}};
    unsigned failed = 0;
    for (unsigned skip = 0; skip < 800; skip += skip < 300 ? 9 : 1) {
        struct probe_bench *b = bench_attached();
        char text[64];
        snprintf(text, sizeof text, "%s,skip=%u", cases[_i].fault, skip);
        ck_assert_int_eq(probe_board_faults(&b->board, text), 0);
        int rc = session(b);
        if (rc != 0) {
            failed++;
            ck_assert_int_eq(rc, BT_ERR_IO);
            bench_reports(b, "no access to 0x");
            bench_reports(b, cases[_i].words);
        }
        /* When the line is good again, so is everything. */
        memset(&b->board.dap.faults, 0, sizeof b->board.dap.faults);
        ck_assert_int_eq(cortex_m_halt(&b->core), 0);
        ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_PC, LOOP + 2), 0);
        ck_assert_int_eq(cortex_m_resume(&b->core), 0);
        ck_assert(b->board.system.fp_comp[0] == 0 || (b->board.system.fp_ctrl & 1) != 0);
        rc = session(b);
        ck_assert_int_eq(rc, 0);
        bench_free(b);
    }
    ck_assert_int_eq(failed == 0, cases[_i].heals);
}
END_TEST

/* Whatever falls silent around a reset, it ends: in success at the reset vector, or in an error. */
START_TEST(test_reset_line)
{
    unsigned passed = 0; /* silence that a reset got through */
    for (unsigned skip = 0; skip < 120; skip++) {
        struct probe_bench *b = bench_attached();
        char text[64];
        snprintf(text, sizeof text, "noack=60,skip=%u", skip);
        ck_assert_int_eq(probe_board_faults(&b->board, text), 0);
        uint64_t begin = b->now;
        int rc = cortex_m_reset(&b->core, CORTEX_M_RESET_SYSTEM);
        ck_assert_uint_lt(b->now - begin, 20000000);
        passed += rc == 0 && b->board.dap.faults.no_ack == 0;
        memset(&b->board.dap.faults, 0, sizeof b->board.dap.faults);
        if (rc == 0)
            ck_assert_uint_eq(bench_status(b).pc, 0x08000040);
        else
            ck_assert_int_eq(rc, BT_ERR_IO);
        ck_assert_int_eq(cortex_m_reset(&b->core, CORTEX_M_RESET_SYSTEM), 0);
        bench_free(b);
    }
    ck_assert_uint_gt(passed, 0);
}
END_TEST

/* Unplugged at each transfer, and plugged in again: breakpoints are as they were. */
START_TEST(test_unplug)
{
    unsigned failed = 0;
    for (unsigned after = 1; after < 140; after += 3) {
        struct probe_bench *b = bench_attached();
        ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, LOOP + 4, 2), 0);
        b->usb.device.faults.unplug_after = after;
        int rc = session(b);
        ck_assert_int_eq(rc != 0, b->usb.device.unplugged);
        if (rc != 0) {
            struct target_core_status status;
            failed++;
            bench_reports(b, "probe");
            ck_assert_int_ne(cortex_m_status(&b->core, &status), 0);
            b->usb.device.unplugged = false;
            b->board.system.scs.dhcsr = 0;
            b->board.system.scs.halted = false;
            b->board.sim.stop = CORE_RUNNING;
            memset(b->board.system.fp_comp, 0, sizeof b->board.system.fp_comp);
            ck_assert_int_eq(adiv5_connect(&b->dp, &b->connect), 0);
            ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 0), 0);
            ck_assert_int_eq(cortex_m_attach(&b->core), 0);
            struct target_core_status s = bench_wait(b);
            ck_assert_int_eq(s.reason, TARGET_HALT_HWBREAK);
        }
        bench_free(b);
    }
    ck_assert_uint_gt(failed, 10);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cortex_m_line");
    unit_cases(s, "bad line", test_line, 0, 5);
    unit_case(s, "bad line at a reset", test_reset_line);
    unit_case(s, "unplugged", test_unplug);
    return s;
}
