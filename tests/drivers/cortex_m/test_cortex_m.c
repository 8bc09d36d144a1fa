/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/cortex_m/cortex_m.c, cortex_m_registers.c and cortex_m_breakpoints.c. */
/* Run control of the modelled Cortex-M4: halt, step, reset, registers, breakpoints. */
#include "tests/drivers/cortex_m/probe_bench.h"

#define LOOP     0x08000044u /* nop; adds; str; b */
#define COUNTER  0x20000100u /* where the program stores */
#define RAM_CODE 0x20000200u

#define DHCSR 0xe000edf0u
#define CPUID 0xe000ed00u

START_TEST(test_attach)
{
    const struct probe_board_options kinds[] = {{.packet_count = 4},
                                                {.dpv2 = true},
                                                {.jtag = true},
                                                {.packet_size = 64},
                                                {.wrap_1k = true}};
    struct probe_bench *b = bench_new(&kinds[_i], _i == 3);
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    ck_assert_str_eq(b->core.name, "Cortex-M4");
    ck_assert_int_eq(b->core.arch, CORTEX_M_V7M);
    ck_assert(b->core.fpu);
    ck_assert(!b->core.security);
    ck_assert_uint_eq(b->core.breakpoint_count, CS_FPB_CODE);
    ck_assert_uint_eq(b->core.watchpoint_count, CS_DWT_COUNT);
    ck_assert(!b->board.system.scs.halted);
    ck_assert_uint_eq(b->board.system.counters.resets, 0);
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    struct target_core_status s = bench_status(b);
    ck_assert_int_eq(s.state, TARGET_CORE_HALTED);
    ck_assert_int_eq(s.reason, TARGET_HALT_INTERRUPT);
    ck_assert_uint_eq(s.pc, b->board.sim.reg[15]);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

/* Attaching changes nothing of a core that somebody has halted, but takes his breakpoints away. */
START_TEST(test_attach_halted)
{
    struct probe_bench *b = bench_halted();
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, LOOP, 2), 0);
    uint64_t before = b->board.sim.instructions;
    cortex_m_init(&b->core, &b->ap);
    ck_assert_int_eq(cortex_m_attach(&b->core), 0);
    struct target_core_status s = bench_status(b);
    ck_assert_int_eq(s.state, TARGET_CORE_HALTED);
    ck_assert_int_eq(s.reason, TARGET_HALT_INTERRUPT);
    ck_assert_uint_eq(b->board.sim.instructions, before);
    for (unsigned i = 0; i < CS_FPB_CODE; i++)
        ck_assert_uint_eq(b->board.system.fp_comp[i], 0);
    bench_free(b);
}
END_TEST

START_TEST(test_detach)
{
    struct probe_bench *b = bench_halted();
    uint8_t code[2];
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x08000800, 2), 0);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, RAM_CODE, 2), 0);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_WATCHPOINT_WRITE, COUNTER, 4), 0);
    ck_assert_int_eq(cortex_m_vector_catch(&b->core, CORTEX_M_CATCH_FAULTS), 0);
    ck_assert_uint_eq(b->board.system.scs.demcr & 0xffff, 0x7f0);
    ck_assert_int_eq(cortex_m_detach(&b->core, _i != 0), 0);
    ck_assert_uint_eq(b->board.system.fp_comp[0], 0);
    ck_assert_uint_eq(b->board.system.dwt_function[0], 0);
    ck_assert_uint_eq(b->board.system.scs.demcr & 0xffff, 0);
    ck_assert_uint_eq(b->board.system.scs.dhcsr & 3, _i != 0);
    memcpy(code, b->board.sim.ram + (RAM_CODE - CORE_SIM_RAM), 2);
    ck_assert_uint_eq(code[1], 0);
    ck_assert(!b->board.system.scs.halted);
    bench_free(b);
}
END_TEST

START_TEST(test_step)
{
    struct probe_bench *b = bench_halted();
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_PC, LOOP | 1), 0);
    static const uint32_t pcs[] = {LOOP + 2, LOOP + 4, LOOP + 6, LOOP};
    for (unsigned i = 0; i < 8; i++) {
        ck_assert_int_eq(cortex_m_step(&b->core, _i != 0), 0);
        struct target_core_status s = bench_status(b);
        ck_assert_int_eq(s.reason, TARGET_HALT_STEP);
        ck_assert_uint_eq(s.pc, pcs[i % 4]);
        ck_assert_uint_eq(b->board.system.scs.dhcsr & 3, 3);
    }
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(cortex_m_step(&b->core, false), BT_ERR_INVAL);
    bench_reports(b, "the core runs");
    bench_free(b);
}
END_TEST

START_TEST(test_reset)
{
    struct probe_bench *b = bench_halted();
    enum cortex_m_reset_kind kind = _i & 1 ? CORTEX_M_RESET_PIN : CORTEX_M_RESET_SYSTEM;
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, LOOP, 2), 0);
    if (_i & 2)
        ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(cortex_m_reset(&b->core, kind), 0);
    ck_assert_uint_eq(b->board.system.counters.resets, 1);
    struct target_core_status s = bench_status(b);
    ck_assert_int_eq(s.state, TARGET_CORE_HALTED);
    ck_assert_int_eq(s.reason, TARGET_HALT_INTERRUPT);
    ck_assert_uint_eq(s.pc, 0x08000040);
    ck_assert(!s.reset_seen);
    ck_assert_uint_eq(b->board.system.scs.demcr & 1, 0);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    s = bench_wait(b);
    ck_assert_int_eq(s.reason, TARGET_HALT_HWBREAK);
    ck_assert_uint_eq(s.pc, LOOP);
    /* Run: the breakpoint holds from the first instruction on. */
    ck_assert_int_eq(cortex_m_reset(&b->core, kind), 0);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    s = bench_wait(b);
    ck_assert_int_eq(s.reason, TARGET_HALT_HWBREAK);
    ck_assert_uint_eq(b->board.sim.reg[0], 0);
    ck_assert_int_eq(cortex_m_remove(&b->core, TARGET_BREAKPOINT_HARDWARE, LOOP, 2), 0);
    ck_assert_int_eq(cortex_m_reset(&b->core, kind), 0);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

/* Somebody presses the button: it is told, and what was set holds. */
START_TEST(test_reset_seen)
{
    struct probe_bench *b = bench_attached();
    ck_assert(!bench_status(b).reset_seen);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, LOOP + 2, 2), 0);
    memset(b->board.system.fp_comp, 0, sizeof b->board.system.fp_comp);
    b->board.system.scs.demcr = 0;
    b->board.system.scs.dhcsr = 0;
    coresight_model_reset(&b->board.system);
    struct target_core_status s = bench_status(b);
    ck_assert(s.reset_seen);
    s = bench_wait(b);
    ck_assert(!s.reset_seen);
    ck_assert_int_eq(s.reason, TARGET_HALT_HWBREAK);
    ck_assert_uint_eq(b->board.system.scs.demcr, 0x01000000);
    bench_free(b);
}
END_TEST

START_TEST(test_registers)
{
    struct probe_bench *b = bench_halted();
    uint32_t all[CORTEX_M_REGISTERS];
    uint32_t one;
    for (unsigned r = 0; r < CORTEX_M_REGISTERS; r++) {
        if (r == CORTEX_M_SP || !cortex_m_has_register(&b->core, r))
            continue;
        ck_assert_int_eq(cortex_m_write_register(&b->core, r, 0x5a5a0000u + 2 * r), 0);
    }
    unsigned packets = b->board.probe.counters.packets;
    ck_assert_int_eq(cortex_m_read_all(&b->core, all), 0);
    packets = b->board.probe.counters.packets - packets;
    ck_assert_uint_lt(packets, 12);
    packets = b->board.probe.counters.packets;
    ck_assert_int_eq(cortex_m_read_all(&b->core, all), 0);
    ck_assert_uint_le(b->board.probe.counters.packets - packets, b->dap.packet_size < 500 ? 11 : 8);
    for (unsigned r = 0; r < CORTEX_M_REGISTERS; r++) {
        if (!cortex_m_has_register(&b->core, r)) {
            ck_assert_uint_eq(all[r], 0);
            ck_assert_int_eq(cortex_m_read_register(&b->core, r, &one), BT_ERR_UNSUPPORTED);
            ck_assert_int_eq(cortex_m_write_register(&b->core, r, 0), BT_ERR_UNSUPPORTED);
            continue;
        }
        uint32_t want = 0x5a5a0000u + 2 * (r == CORTEX_M_SP ? CORTEX_M_MSP : r);
        if (r >= CORTEX_M_PRIMASK && r <= CORTEX_M_CONTROL)
            want &= 0xff;
        ck_assert_msg(all[r] == want, "%s: %08x", cortex_m_register_name(r), all[r]);
        ck_assert_int_eq(cortex_m_read_register(&b->core, r, &one), 0);
        ck_assert_uint_eq(one, want);
    }
    ck_assert_uint_eq(b->board.sim.reg[0x40 + 31], 0x5a5a0000u + 2 * CORTEX_M_S31);
    ck_assert_uint_eq(b->board.sim.reg[20] & 0xff, 2 * CORTEX_M_PRIMASK);
    ck_assert_str_eq(cortex_m_register_name(CORTEX_M_S31), "s31");
    ck_assert_str_eq(cortex_m_register_name(CORTEX_M_FPSCR), "fpscr");
    ck_assert_str_eq(cortex_m_register_name(CORTEX_M_PSPLIM_NS), "psplim_ns");
    bench_free(b);
}
END_TEST

START_TEST(test_registers_running)
{
    struct probe_bench *b = bench_attached();
    uint32_t all[CORTEX_M_REGISTERS];
    uint32_t pc;
    ck_assert_int_eq(cortex_m_read_register(&b->core, 0, &pc), BT_ERR_INVAL);
    ck_assert_int_eq(cortex_m_read_all(&b->core, all), BT_ERR_INVAL);
    ck_assert_int_eq(cortex_m_write_register(&b->core, 0, 1), BT_ERR_INVAL);
    bench_reports(b, "halt it first");
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    bench_free(b);
}
END_TEST

/* Breakpoints and watchpoints. */

START_TEST(test_breakpoint)
{
    struct probe_bench *b = bench_halted();
    uint32_t at = LOOP + 2 * (unsigned)_i;
    for (unsigned round = 0; round < 3; round++) {
        ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, at, 2), 0);
        ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, at, 2), 0);
        ck_assert_int_eq(cortex_m_resume(&b->core), 0);
        struct target_core_status s = bench_wait(b);
        ck_assert_int_eq(s.reason, TARGET_HALT_HWBREAK);
        ck_assert_uint_eq(s.pc, at);
    }
    /* One round of the loop, and one step, from a breakpoint on. */
    uint32_t before = b->board.sim.reg[0];
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_uint_eq(bench_wait(b).pc, at);
    ck_assert_uint_eq(b->board.sim.reg[0], before + 1);
    ck_assert_int_eq(cortex_m_step(&b->core, false), 0);
    ck_assert_uint_ne(bench_status(b).pc, at);
    ck_assert_int_eq(bench_status(b).reason, TARGET_HALT_STEP);
    ck_assert_int_eq(cortex_m_remove(&b->core, TARGET_BREAKPOINT_HARDWARE, at, 2), 0);
    ck_assert_int_eq(cortex_m_remove(&b->core, TARGET_BREAKPOINT_HARDWARE, at, 2), BT_ERR_RANGE);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

START_TEST(test_breakpoints_full)
{
    struct probe_bench *b = bench_attached();
    for (unsigned i = 0; i < 2 * CS_FPB_CODE; i++)
        ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x100 + 2 * i, 2),
                         0);
    ck_assert_uint_eq(b->board.system.fp_comp[0], 0xc0000101);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x200, 2), BT_ERR_RANGE);
    bench_reports(b, "in use");
    ck_assert_int_eq(cortex_m_remove(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x102, 2), 0);
    ck_assert_uint_eq(b->board.system.fp_comp[0], 0x40000101);
    ck_assert_int_eq(cortex_m_remove(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x100, 2), 0);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x202, 2), 0);
    ck_assert_uint_eq(b->board.system.fp_comp[0], 0x80000201);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, RAM_CODE, 2),
                     BT_ERR_UNSUPPORTED);
    bench_reports(b, "below 0x20000000");
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_HARDWARE, 0x301, 2), BT_ERR_INVAL);
    bench_free(b);
}
END_TEST

static void put_code(struct probe_bench *b, uint32_t address, const uint16_t *code, size_t count)
{
    memcpy(b->board.sim.ram + (address - CORE_SIM_RAM), code, 2 * count);
}

START_TEST(test_software_breakpoint)
{
    static const uint16_t code[] = {0x2001, 0x2002, 0x2003, 0xe7fb}; /* movs r0, 1, 2, 3; b */
    struct probe_bench *b = bench_halted();
    uint8_t bytes[8];
    put_code(b, RAM_CODE, code, 4);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_PC, RAM_CODE), 0);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, RAM_CODE + 2, 2), 0);
    ck_assert_uint_eq(b->board.sim.ram[RAM_CODE + 3 - CORE_SIM_RAM], 0xbe);
    ck_assert_int_eq(cortex_m_read_memory(&b->core, RAM_CODE, bytes, 8), 0);
    ck_assert_mem_eq(bytes, code, 8);
    ck_assert_int_eq(cortex_m_read_sized(&b->core, RAM_CODE + 3, 1, bytes, 1), 0);
    ck_assert_uint_eq(bytes[0], 0x20);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(cortex_m_resume(&b->core), 0);
        struct target_core_status s = bench_wait(b);
        ck_assert_int_eq(s.reason, TARGET_HALT_SWBREAK);
        ck_assert_uint_eq(s.pc, RAM_CODE + 2);
        ck_assert_uint_eq(b->board.sim.reg[0], 1);
    }
    /* Writing below it: the breakpoint stays, the new instruction runs. */
    const uint8_t other[] = {0x07, 0x20};
    ck_assert_int_eq(cortex_m_write_memory(&b->core, RAM_CODE + 2, other, 2), 0);
    ck_assert_uint_eq(b->board.sim.ram[RAM_CODE + 3 - CORE_SIM_RAM], 0xbe);
    ck_assert_int_eq(cortex_m_step(&b->core, true), 0);
    ck_assert_uint_eq(b->board.sim.reg[0], 7);
    ck_assert_int_eq(cortex_m_remove(&b->core, TARGET_BREAKPOINT_SOFTWARE, RAM_CODE + 2, 2), 0);
    ck_assert_mem_eq(b->board.sim.ram + (RAM_CODE + 2 - CORE_SIM_RAM), other, 2);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    bench_free(b);
}
END_TEST

START_TEST(test_software_not_ram)
{
    struct probe_bench *b = bench_halted();
    /* A word that ignores writes, and one that refuses them. */
    struct bench_change *c = bench_change(b, LOOP);
    c->drop = true;
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, LOOP, 2),
                     BT_ERR_UNSUPPORTED);
    bench_reports(b, "no software breakpoint");
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_BREAKPOINT_SOFTWARE, 0x60000000, 2),
                     BT_ERR_IO);
    bench_reports(b, "0x60000000");
    ck_assert_uint_eq(b->core.software_count, 0);
    bench_free(b);
}
END_TEST

/* A BKPT that the program has itself is told apart, and left behind by running or stepping. */
START_TEST(test_program_bkpt)
{
    static const uint16_t code[] = {0x2001, 0xbe01, 0x2003, 0xe7fb};
    struct probe_bench *b = bench_halted();
    put_code(b, RAM_CODE, code, 4);
    ck_assert_int_eq(cortex_m_write_register(&b->core, CORTEX_M_PC, RAM_CODE), 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(cortex_m_resume(&b->core), 0);
        struct target_core_status s = bench_wait(b);
        ck_assert_int_eq(s.reason, TARGET_HALT_BKPT);
        ck_assert_uint_eq(s.pc, RAM_CODE + 2);
        ck_assert_uint_eq(b->board.sim.reg[0], 1);
    }
    ck_assert_int_eq(cortex_m_step(&b->core, false), 0);
    ck_assert_uint_eq(bench_status(b).pc, RAM_CODE + 4);
    ck_assert_int_eq(cortex_m_step(&b->core, false), 0);
    ck_assert_uint_eq(b->board.sim.reg[0], 3);
    bench_free(b);
}
END_TEST

START_TEST(test_watchpoint)
{
    static const struct {
        enum target_breakpoint_type kind;
        uint32_t address;
        uint32_t length;
        bool hit; /* by the program's store to COUNTER */
    } cases[] = {
        {TARGET_WATCHPOINT_WRITE, COUNTER, 4, true},
        {TARGET_WATCHPOINT_ACCESS, COUNTER, 4, true},
        {TARGET_WATCHPOINT_READ, COUNTER, 4, false},
        {TARGET_WATCHPOINT_WRITE, COUNTER - 0x100, 0x400, true},
        {TARGET_WATCHPOINT_WRITE, COUNTER - 4, 12, true},
        {TARGET_WATCHPOINT_WRITE, COUNTER + 4, 4, false},
        {TARGET_WATCHPOINT_WRITE, COUNTER - 8, 8, false},
    };
    struct probe_bench *b = bench_halted();
    ck_assert_int_eq(cortex_m_insert(&b->core, cases[_i].kind, cases[_i].address, cases[_i].length),
                     0);
    ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    for (unsigned k = 0; k < 2 && cases[_i].hit; k++) {
        struct target_core_status s = bench_wait(b);
        ck_assert_int_eq(s.reason, target_watch_reason(cases[_i].kind));
        ck_assert_uint_eq(s.watch_address, cases[_i].address);
        ck_assert_uint_eq(s.watch_length, cases[_i].length);
        ck_assert_int_eq(cortex_m_resume(&b->core), 0);
    }
    for (unsigned k = 0; k < 5 && !cases[_i].hit; k++)
        ck_assert_int_eq(bench_status(b).state, TARGET_CORE_RUNNING);
    ck_assert_int_eq(cortex_m_remove(&b->core, cases[_i].kind, cases[_i].address, cases[_i].length),
                     0);
    ck_assert_int_eq(cortex_m_halt(&b->core), 0);
    for (unsigned k = 0; k < CS_DWT_COUNT; k++)
        ck_assert_uint_eq(b->board.system.dwt_function[k], 0);
    ck_assert_int_eq(cortex_m_remove(&b->core, cases[_i].kind, cases[_i].address, cases[_i].length),
                     BT_ERR_RANGE);
    bench_free(b);
}
END_TEST

START_TEST(test_watchpoints_full)
{
    struct probe_bench *b = bench_attached();
    b->board.system.dwt_function[1] = 8; /* somebody's, for trace */
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_WATCHPOINT_READ, COUNTER, 3), 0);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_WATCHPOINT_READ, COUNTER + 1, 3),
                     BT_ERR_RANGE);
    bench_reports(b, "in use");
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_WATCHPOINT_READ, COUNTER + 0x10, 16), 0);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_WATCHPOINT_READ, COUNTER, 0), BT_ERR_INVAL);
    ck_assert_int_eq(cortex_m_insert(&b->core, TARGET_WATCHPOINT_READ, 0xfffffffe, 4),
                     BT_ERR_INVAL);
    ck_assert_uint_eq(b->board.system.dwt_function[1], 8);
    ck_assert_uint_eq(b->board.system.dwt_mask[0], 1);
    ck_assert_uint_eq(b->board.system.dwt_mask[2], 0);
    ck_assert_uint_eq(b->board.system.dwt_mask[3], 4);
    bench_free(b);
}
END_TEST

START_TEST(test_memory)
{
    struct probe_bench *b = bench_attached();
    uint8_t out[300];
    uint8_t in[300];
    for (unsigned i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 7);
    ck_assert_int_eq(cortex_m_write_memory(&b->core, RAM_CODE + 1, out, sizeof out), 0);
    ck_assert_mem_eq(b->board.sim.ram + (RAM_CODE + 1 - CORE_SIM_RAM), out, sizeof out);
    for (unsigned size = 1; size <= 4; size *= 2) {
        ck_assert_int_eq(cortex_m_write_sized(&b->core, RAM_CODE + 64 * size, size, out, 16), 0);
        memset(in, 0, sizeof in);
        ck_assert_int_eq(cortex_m_read_sized(&b->core, RAM_CODE + 64 * size, size, in, 16), 0);
        ck_assert_mem_eq(in, out, 16 * (size_t)size);
    }
    ck_assert_int_eq(cortex_m_read_memory(&b->core, 0x40000000, in, 4), BT_ERR_IO);
    bench_reports(b, "0x40000000");
    ck_assert_int_eq(cortex_m_read_memory(&b->core, RAM_CODE + 1, in, 8), 0);
    ck_assert_mem_eq(in, out, 8);
    bench_free(b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("cortex_m");
    unit_cases(s, "attach, halt, run on each kind of wire", test_attach, 0, 5);
    unit_case(s, "attach to a halted core", test_attach_halted);
    unit_cases(s, "detach", test_detach, 0, 2);
    unit_cases(s, "step", test_step, 0, 2);
    unit_cases(s, "reset", test_reset, 0, 4);
    unit_case(s, "reset by somebody else", test_reset_seen);
    unit_case(s, "registers", test_registers);
    unit_case(s, "registers of a running core", test_registers_running);
    unit_cases(s, "hardware breakpoint", test_breakpoint, 0, 4);
    unit_case(s, "more breakpoints than comparators", test_breakpoints_full);
    unit_case(s, "software breakpoint", test_software_breakpoint);
    unit_case(s, "software breakpoint outside RAM", test_software_not_ram);
    unit_case(s, "BKPT of the program", test_program_bkpt);
    unit_cases(s, "watchpoint", test_watchpoint, 0, 7);
    unit_case(s, "more watchpoints than comparators", test_watchpoints_full);
    unit_case(s, "memory", test_memory);
    return s;
}
