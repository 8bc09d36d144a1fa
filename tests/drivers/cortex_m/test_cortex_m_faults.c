/* SPDX-License-Identifier: BSD-3-Clause */
/* Run control when things go wrong: other cores, cores that are stuck, faults. */
#include "tests/drivers/cortex_m/probe_bench.h"

#define LOOP    0x08000044u
#define COUNTER 0x20000100u

#define CPUID   0xe000ed00u
#define AIRCR   0xe000ed0cu
#define CFSR    0xe000ed28u
#define HFSR    0xe000ed2cu
#define MMFAR   0xe000ed34u
#define BFAR    0xe000ed38u
#define PFR1    0xe000ed44u
#define CLIDR   0xe000ed78u
#define DHCSR   0xe000edf0u
#define DEMCR   0xe000edfcu
#define DSCSR   0xe000ee08u
#define MVFR0   0xe000ef40u
#define ICIALLU 0xe000ef50u
#define DEVARCH 0xe000efbcu
#define FP_CTRL 0xe0002000u
#define FP_COMP 0xe0002008u
#define DWT_ID  0xe0001fbcu
#define DWT     0xe0001020u

#define C_STEP     0x00000004u
#define S_REGRDY   0x00010000u
#define S_HALT     0x00020000u
#define S_SLEEP    0x00040000u
#define S_LOCKUP   0x00080000u
#define S_SDE      0x00100000u
#define S_RESET_ST 0x02000000u

static struct probe_bench *plain_bench(void)
{
    const struct probe_board_options options = {.packet_count = 4};
    return bench_new(&options, false);
}

START_TEST(test_v6m)
{
    struct probe_bench *b = plain_bench();
    bench_value(b, CPUID, 0x410cc200);
    bench_value(b, FP_CTRL, 0x40);
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    ck_assert_str_eq(b->core.name, "Cortex-M0");
    ck_assert_int_eq(b->core.arch, CORTEX_M_V6M);
    ck_assert(!b->core.fpu);
    ck_assert_uint_eq(b->core.breakpoint_count, 4);
    ck_assert(!cortex_m_has_register(&b->core, CORTEX_M_BASEPRI));
    ck_assert(!cortex_m_has_register(&b->core, CORTEX_M_S0));
    ck_assert(cortex_m_has_register(&b->core, CORTEX_M_PRIMASK));
    ck_assert_int_eq(cortex_m_vector_catch(&b->core, CORTEX_M_CATCH_FAULTS), 0);
    ck_assert_uint_eq(b->board.system.scs.demcr, 0x01000400);
    bench_free(b);
}
END_TEST

static struct probe_bench *v8_bench(bool secure_debug)
{
    struct probe_bench *b = plain_bench();
    bench_change(b, DHCSR)->set = secure_debug ? S_SDE : 0;
    bench_value(b, CPUID, 0x410fd213);
    bench_value(b, PFR1, 0x210);
    bench_value(b, FP_CTRL, 0x10000080);
    bench_value(b, DWT_ID, 0x47701a02);
    bench_change(b, FP_COMP)->keep = true;
    bench_change(b, DWT)->keep = true;
    bench_change(b, DWT + 8)->keep = true;
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    return b;
}

START_TEST(test_v8m)
{
    struct probe_bench *b = v8_bench(true);
    ck_assert_str_eq(b->core.name, "Cortex-M33");
    ck_assert_int_eq(b->core.arch, CORTEX_M_V8M_MAIN);
    ck_assert(b->core.security == CORTEX_M_SECURITY_OPEN);
    ck_assert(cortex_m_has_register(&b->core, CORTEX_M_MSPLIM_S));
    ck_assert_uint_eq(b->core.breakpoint_version, 2);
    ck_assert_uint_eq(b->core.breakpoint_count, 8);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x20000402, 2), 0);
    ck_assert_uint_eq(bench_change(b, FP_COMP)->written, 0x20000403);
    static const struct {
        enum target_breakpoint_type kind;
        uint32_t length;
        uint32_t function;
    } cases[] = {{TARGET_WATCHPOINT_WRITE, 4, 0x815},
                 {TARGET_WATCHPOINT_READ, 2, 0x416},
                 {TARGET_WATCHPOINT_ACCESS, 1, 0x014}};
    for (unsigned k = 0; k < 3; k++) {
        ck_assert_int_eq(cortex_m_insert(&b->core, cases[k].kind, COUNTER, cases[k].length), 0);
        ck_assert_uint_eq(bench_change(b, DWT)->written, COUNTER);
        ck_assert_uint_eq(bench_change(b, DWT + 8)->written, cases[k].function);
        ck_assert_int_eq(cortex_m_remove(&b->core, cases[k].kind, COUNTER, cases[k].length), 0);
        ck_assert_uint_eq(bench_change(b, DWT + 8)->written, 0);
    }
    bench_free(b);
}
END_TEST

/* A chip that lets nobody debug its Secure code. */
START_TEST(test_v8m_closed)
{
    struct probe_bench *b = v8_bench(false);
    bool secure = false;
    ck_assert(b->core.security == CORTEX_M_SECURITY_CLOSED);
    ck_assert(!cortex_m_has_register(&b->core, CORTEX_M_MSP_S));
    ck_assert(!cortex_m_has_register(&b->core, CORTEX_M_PSPLIM_S));
    ck_assert(cortex_m_has_register(&b->core, CORTEX_M_MSP_NS));
    ck_assert(cortex_m_has_register(&b->core, CORTEX_M_MSPLIM_NS));
    bench_value(b, DSCSR, 0x10000);
    ck_assert_int_eq(cortex_m_is_secure(&b->core, &secure), 0);
    ck_assert(secure);
    bench_value(b, DSCSR, 0);
    ck_assert_int_eq(cortex_m_is_secure(&b->core, &secure), 0);
    ck_assert(!secure);
    bench_change(b, DHCSR)->clear = S_HALT; /* it is in Secure code for good */
    ck_assert_int_eq(cortex_m_halt(&b->core), BT_ERR_IO);
    ck_assert_int_eq(b->core.failure, CORTEX_M_FAIL_SECURE);
    bench_reports(b, "it runs Secure code, which this chip does not let debug");
    bench_change(b, DHCSR)->clear = 0;
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    bench_change(b, DHCSR)->set = S_SDE; /* its program has opened it */
    bench_status(b);
    ck_assert(cortex_m_has_register(&b->core, CORTEX_M_MSP_S));
    bench_free(b);
}
END_TEST

START_TEST(test_cache)
{
    struct probe_bench *b = plain_bench();
    uint8_t byte = 1;
    bench_value(b, CPUID, 0x411fc272);
    bench_value(b, CLIDR, 0x09000003);
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    ck_assert_str_eq(b->core.name, "Cortex-M7");
    ck_assert(b->core.instruction_cache);
    bench_change(b, ICIALLU)->written = 1;
    ck_assert_int_eq(cortex_m_write_memory(&b->core, COUNTER, &byte, 1), 0);
    ck_assert_uint_eq(bench_change(b, ICIALLU)->written, 0);
    bench_change(b, ICIALLU)->written = 1;
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, COUNTER + 8, 2), 0);
    ck_assert_uint_eq(bench_change(b, ICIALLU)->written, 0);
    bench_free(b);
}
END_TEST

START_TEST(test_unknown_part)
{
    static const struct {
        uint32_t cpuid;
        uint32_t devarch;
        const char *name;
    } cases[] = {{0x410fd990, 0x47702a04, "ARMv8-M mainline"},
                 {0x410cd990, 0x47702a04, "ARMv8-M baseline"},
                 {0x720fc990, 0, "ARMv7-M"},
                 {0x410cc990, 1, "ARMv6-M"}};
    struct probe_bench *b = plain_bench();
    bench_value(b, CPUID, cases[_i].cpuid);
    bench_value(b, DEVARCH, cases[_i].devarch);
    bench_change(b, DEVARCH)->fail = cases[_i].devarch == 1;
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    ck_assert_str_eq(b->core.name, cases[_i].name);
    bench_free(b);
}
END_TEST

START_TEST(test_no_core)
{
    struct probe_bench *b = plain_bench();
    bench_value(b, CPUID, _i == 0 ? 0 : _i == 1 ? UINT32_MAX : 0x41123456);
    ck_assert_int_eq(cortex_m_attach(&b->core), BT_ERR_FORMAT);
    bench_reports(b, "no Cortex-M answers");
    bench_free(b);
}
END_TEST

START_TEST(test_refused)
{
    struct probe_bench *b = plain_bench();
    bench_change(b, CPUID)->fail = true;
    ck_assert_int_eq(cortex_m_attach(&b->core), BT_ERR_IO);
    bench_reports(b, "no access to 0xe000ed00");
    bench_change(b, CPUID)->fail = false;
    bench_change(b, DHCSR)->clear = 1;
    ck_assert_int_eq(cortex_m_attach(&b->core), BT_ERR_IO);
    bench_reports(b, "locked");
    bench_free(b);
}
END_TEST

/* Cores that are stuck. */

START_TEST(test_no_halt)
{
    struct probe_bench *b = bench_attached();
    b->board.system.never_halts = true;
    uint64_t begin = b->now;
    ck_assert_int_eq(cortex_m_halt(&b->core), BT_ERR_IO);
    ck_assert_uint_lt(b->now - begin, 1000 * CORTEX_M_LIMIT_MS + 100000);
    bench_reports(b, "the core does not halt: DHCSR.C_HALT was set for 3000 ms");
    b->core.limit_ms = 200;
    begin = b->now;
    ck_assert_int_eq(cortex_m_halt(&b->core), BT_ERR_IO);
    ck_assert_uint_lt(b->now - begin, 210000);
    b->board.system.never_halts = false;
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    bench_free(b);
}
END_TEST

START_TEST(test_sleep_and_lockup)
{
    struct probe_bench *b = bench_attached();
    struct bench_change *dhcsr = bench_change(b, DHCSR);
    char text[128];
    struct cortex_m_exception e;
    dhcsr->set = S_SLEEP;
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_SLEEPING);
    dhcsr->set = S_LOCKUP | S_SLEEP;
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_LOCKUP);
    dhcsr->set = S_LOCKUP;
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_HALTED);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_XPSR, 0x01000003), 0);
    ck_assert_int_eq(cortex_m_exception(&b->core, &e), 0);
    ck_assert(e.lockup);
    ck_assert_str_eq(cortex_m_exception_text(&e, text, sizeof text),
                     "lockup by a fault in a fault handler, in HardFault");
    bench_free(b);
}
END_TEST

/* One that stops running without halting again: a step of it ends. */
START_TEST(test_step_stuck)
{
    struct probe_bench *b = bench_halted();
    bench_change(b, DHCSR)->clear = S_HALT;
    bench_change(b, DHCSR)->trigger = C_STEP;
    uint64_t begin = b->now;
    ck_assert_int_eq(cortex_m_step(&b->core, _i != 0), BT_ERR_IO);
    ck_assert_uint_lt(b->now - begin, 1000 * CORTEX_M_LIMIT_MS + 100000);
    bench_reports(b, "does not halt");
    bench_free(b);
}
END_TEST

START_TEST(test_registers_stuck)
{
    struct probe_bench *b = bench_halted();
    uint32_t all[CORTEX_M_REGISTERS];
    bench_change(b, DHCSR)->clear = S_REGRDY;
    ck_assert_int_eq(cortex_m_read_all(&b->core, all), BT_ERR_IO);
    bench_reports(b, "hand over its registers");
    ck_assert_int_eq(cortex_m_write_register(&b->core, 3, 1), BT_ERR_IO);
    bench_change(b, DHCSR)->clear = 0;
    ck_assert_int_eq(cortex_m_read_all(&b->core, all), 0);
    ck_assert_uint_eq(all[CORTEX_M_PC], b->board.sim.reg[15]);
    /* It runs again behind our back. */
    bench_change(b, DHCSR)->clear = S_HALT;
    ck_assert_int_eq(cortex_m_read_all(&b->core, all), BT_ERR_INVAL);
    bench_reports(b, "halt it first");
    bench_free(b);
}
END_TEST

START_TEST(test_no_reset)
{
    struct probe_bench *b = bench_attached();
    enum cortex_m_reset_kind kind = _i != 0 ? CORTEX_M_RESET_PIN : CORTEX_M_RESET_SYSTEM;
    uint64_t begin = b->now;
    bench_change(b, AIRCR)->drop = true;
    b->board.probe.options.nreset = NULL;
    ck_assert_int_eq(cortex_m_reset(&b->core, kind), BT_ERR_IO);
    ck_assert_uint_lt(b->now - begin, 1000 * CORTEX_M_LIMIT_MS + 100000);
    bench_reports(b, "reset did not work");
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

/* A port that is dead while nRESET is low: the core halts at its first instruction all the same. */
START_TEST(test_dead_in_reset)
{
    struct probe_bench *b = bench_attached();
    b->dead_in_reset = true;
    ck_assert_int_eq(cortex_m_reset(&b->core, CORTEX_M_RESET_PIN), 0);
    ck_assert_uint_eq(bench_status(b).pc, 0x08000040);
    ck_assert_int_eq(bench_status(b).reason, TARGET_HALT_INTERRUPT);
    ck_assert_uint_eq(b->board.system.counters.resets, 2);
    bench_free(b);
}
END_TEST

/* The one answer that tells of the reset is lost. */
START_TEST(test_reset_unseen)
{
    struct probe_bench *b = bench_halted();
    bench_change(b, DHCSR)->clear = S_RESET_ST;
    ck_assert_int_eq(cortex_m_reset(&b->core, CORTEX_M_RESET_SYSTEM), 0);
    ck_assert_uint_eq(bench_status(b).pc, 0x08000040);
    ck_assert_int_eq(bench_status(b).reason, TARGET_HALT_INTERRUPT);
    bench_change(b, AIRCR)->drop = true;
    ck_assert_int_eq(cortex_m_reset(&b->core, CORTEX_M_RESET_SYSTEM), BT_ERR_IO);
    bench_free(b);
}
END_TEST

/* nRESET of a part that forgets its comparators. */
static void forgetful_reset(void *ctx, bool low)
{
    struct probe_board *board = ctx;
    if (board->held && !low) {
        memset(board->system.fp_comp, 0, sizeof board->system.fp_comp);
        board->system.fp_ctrl &= ~1u;
        cs_breakpoints_apply(&board->system);
        coresight_model_reset(&board->system);
    }
    board->held = low;
}

/* A breakpoint at an instruction that runs once, right behind the reset. */
START_TEST(test_forgetful)
{
    struct probe_bench *b = bench_attached();
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, LOOP - 2, 2), 0);
    b->board.probe.options.nreset = forgetful_reset;
    ck_assert_int_eq(cortex_m_reset(&b->core, CORTEX_M_RESET_PIN), 0);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    struct target_core_status s = bench_wait(b);
    ck_assert_int_eq(s.reason, TARGET_HALT_HWBREAK);
    ck_assert_uint_eq(s.pc, LOOP - 2);
    bench_free(b);
}
END_TEST

/* Connecting while nRESET is held low, for a program that locks the debugger out. */
START_TEST(test_under_reset)
{
    struct probe_bench *b = plain_bench();
    struct adiv5_connect_options connect = b->connect;
    connect.hold_reset = true;
    ck_assert_int_eq(adiv5_connect(&b->dp, &connect), 0);
    ck_assert(b->board.held);
    ck_assert_int_eq(mem_ap_init(&b->ap, &b->dp, 0), 0);
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    ck_assert_int_eq(cortex_m_reset(&b->core, CORTEX_M_RESET_PIN), 0);
    ck_assert(!b->board.held);
    ck_assert_uint_eq(bench_status(b).pc, 0x08000040);
    bench_free(b);
}
END_TEST

/* Faults of the program. */

START_TEST(test_exception)
{
    static const struct {
        uint32_t ipsr, cfsr, hfsr, mmfar, bfar;
        const char *text;
    } cases[] = {
        {0, 0x8200, 0, 0, 0, ""},
        {3, 0x8200, 0x40000000, 0, 0x60000000,
         "HardFault: precise data bus error: an access was refused by the bus (0x60000000)"},
        {3, 0x0400, 0x40000000, 0, 0x60000000,
         "HardFault: imprecise data bus error: a write some instructions before was refused by the "
         "bus"},
        {4, 0x0082, 0, 0x10, 0,
         "MemManage: an access was not allowed by the memory protection (0x00000010)"},
        {6, 0x02010000, 0, 0, 0,
         "UsageFault: an undefined instruction was reached, a number was divided by zero"},
        {3, 0, 0x2, 0, 0, "HardFault: an exception vector could not be read"},
        {3, 0, 0x80000000, 0, 0, "HardFault: a BKPT instruction was reached without a debugger"},
        {15, 0x8200, 0, 0, 0, "SysTick"},
        {21, 0, 0, 0, 0, "interrupt 5"},
    };
    struct probe_bench *b = bench_halted();
    struct cortex_m_exception e;
    char text[256];
    char small[16];
    bench_value(b, CFSR, cases[_i].cfsr);
    bench_value(b, HFSR, cases[_i].hfsr);
    bench_value(b, MMFAR, cases[_i].mmfar);
    bench_value(b, BFAR, cases[_i].bfar);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_XPSR, 0x01000000 | cases[_i].ipsr),
                     0);
    ck_assert_int_eq(cortex_m_exception(&b->core, &e), 0);
    ck_assert_uint_eq(e.number, cases[_i].ipsr);
    ck_assert_str_eq(cortex_m_exception_text(&e, text, sizeof text), cases[_i].text);
    /* With the frame that the entry to the handler left. */
    const uint32_t pc = 0x08001234;
    memcpy(b->board.sim.ram + 0x118, &pc, 4);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_LR, 0xfffffff9), 0);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_MSP, 0x20000100), 0);
    ck_assert_int_eq(cortex_m_exception(&b->core, &e), 0);
    ck_assert_int_eq(e.frame_known, cases[_i].ipsr >= 3 && cases[_i].ipsr <= 7);
    cortex_m_exception_text(&e, text, sizeof text);
    ck_assert_int_eq(strstr(text, "; at 0x08001234") != NULL, e.frame_known);
    cortex_m_exception_text(&e, small, sizeof small);
    ck_assert_uint_lt(strlen(small), sizeof small);
    bench_free(b);
}
END_TEST

/* The program runs into nowhere: with vector catch it stops there. */
START_TEST(test_vector_catch)
{
    struct probe_bench *b = bench_halted();
    ck_assert_int_eq(cortex_m_vector_catch(&b->core, CORTEX_M_CATCH_HARDFAULT), 0);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_PC, 0x60000000), 0);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(bench_wait(b).reason, TARGET_HALT_VECTOR);
    bench_free(b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cortex_m_faults");
    unit_case(s, "ARMv6-M", test_v6m);
    unit_case(s, "ARMv8-M", test_v8m);
    unit_case(s, "ARMv8-M: a chip that is closed for Secure debug", test_v8m_closed);
    unit_case(s, "instruction cache", test_cache);
    unit_cases(s, "part that is not known", test_unknown_part, 0, 4);
    unit_cases(s, "no core", test_no_core, 0, 3);
    unit_case(s, "core that refuses", test_refused);
    unit_case(s, "core that does not halt", test_no_halt);
    unit_case(s, "asleep, and locked up", test_sleep_and_lockup);
    unit_cases(s, "step that does not end", test_step_stuck, 0, 2);
    unit_case(s, "registers that do not come", test_registers_stuck);
    unit_cases(s, "reset that does nothing", test_no_reset, 0, 2);
    unit_case(s, "port that is dead in reset", test_dead_in_reset);
    unit_case(s, "reset that is not seen", test_reset_unseen);
    unit_case(s, "reset that forgets breakpoints", test_forgetful);
    unit_case(s, "connect under reset", test_under_reset);
    unit_cases(s, "exception in words", test_exception, 0, 9);
    unit_case(s, "vector catch", test_vector_catch);
    return s;
}
