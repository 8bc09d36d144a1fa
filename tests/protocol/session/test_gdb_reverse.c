/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_data.c. */
/* A core at a replay position: what is read there, with stack pointers, and what is refused. */
#include <string.h>

#include "tests/support/fake_gdb_target.h"
#include "tests/support/unit_main.h"

#define M_SYSTEM "org.gnu.gdb.arm.m-system"

static struct fake_wire w;

static void setup(void)
{
    fake_wire_init(&w);
    fake_wire_open(&w);
    w.target.replaying = true;
}

static void teardown(void)
{
    fake_wire_release(&w);
}

#define ASK(packet, reply) ck_assert_str_eq(fake_ask(&w, packet), reply)
#define LOG(text)          ck_assert_str_eq(fake_log(&w), text)

/* The target is not asked, and of what lies beyond it is known what the host knows. */
START_TEST(registers_of_the_position)
{
    w.target.regs[0].known &= ~(1u << 4);
    w.target.extra_count = 2;
    w.target.regs[0].extra_known = 2;
    w.target.ops.start = NULL;
    ASK("g", "00000000010000000200000003000000xxxxxxxx0500000006000000070000000800000009000000"
             "0a0000000b0000000c0000000d0000000e0000000f00000010000000xxxxxxxx01");
    ASK("p4", "xxxxxxxx");
    ASK("pf", "0f000000");
    ASK("p19", "10000000");
    ASK("p1b", "01");
    ASK("p1c", "E01");
    ASK("Hg2", "OK");
    ASK("p3", "03010000");
    w.target.result = BT_ERR_RANGE;
    ASK("g", "E0e");
}
END_TEST

/* GDB asks for all stack pointers of an M-profile core when it unwinds, and gives up without one.
 */
START_TEST(stack_pointers)
{
    static const struct target_register m33[] = {
        {M_SYSTEM, "msp", "data_ptr", 32, 30},    {M_SYSTEM, "psp", "data_ptr", 32, 31},
        {M_SYSTEM, "msp_s", "data_ptr", 32, 32},  {M_SYSTEM, "psp_s", "data_ptr", 32, 33},
        {M_SYSTEM, "msp_ns", "data_ptr", 32, 34}, {M_SYSTEM, "psp_ns", "data_ptr", 32, 35},
        {M_SYSTEM, "q0", "uint128", 128, 36},
    };
    w.target.registers = m33;
    w.target.register_count = sizeof m33 / sizeof *m33;
    w.target.regs[0].stack_known = 1u << TARGET_STACK_MSP | 1u << TARGET_STACK_PSP_NS;
    w.target.regs[0].stack[TARGET_STACK_MSP] = 0x38001000;
    w.target.regs[0].stack[TARGET_STACK_PSP_NS] = 0x44444444;
    ASK("g", "00100038xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx44444444xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    ASK("p1e", "00100038");
    ASK("p20", "xxxxxxxx");
    ASK("p23", "44444444");
    /* As long as what GDB has seen of it before. */
    w.target.target.registers_length = 12;
    ASK("g", "00100038xxxx");
}
END_TEST

/* The present bytes, with those that were others. */
START_TEST(memory_of_the_position)
{
    w.target.told = 2;
    ASK("m20000010,4", "aaaa");
    w.target.told = 8;
    ASK("m20000010,4", "aaaaaaaa");
    w.target.told = 0;
    ASK("m20000010,4", "E0e");
    ASK("m0,4", "E0e");
    w.target.replaying = false;
    ASK("m20000010,4", "10111213");
}
END_TEST

START_TEST(nothing_is_written)
{
    static const char *const writes[] = {"G00", "P0=00000000", "M20000000,1:00", "X20000000,0:"};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        ASK(writes[i], "E.nothing can be written at a replay position: continue to the halted core "
                       "first");
    ASK("c8000", "E.not supported");
    ASK("Z0,8000,4", "OK");
    LOG("insert 0 0 8000 4;");
    /* What cannot be written anyway says so itself. */
    w.target.ops.writable = false;
    w.target.result = BT_ERR_UNSUPPORTED;
    w.target.why = "a recording is read-only";
    ASK("P0=00000000", "E.a recording is read-only");
    ASK("M20000000,1:00", "E.a recording is read-only");
}
END_TEST

START_TEST(resumes_move_the_position)
{
    ASK("vCont;s:2", "T05thread:1;");
    ASK("vCont;c", "T05thread:1;");
    ASK("bs", "T05thread:1;");
    LOG("move 1 step;move 0;reverse 0 step;");
    w.target.result = TARGET_PENDING;
    ASK("c", "(none)");
    gdb_session_input(&w.session, "\x03", 1);
    LOG("move 0;interrupt;");
    gdb_session_resume_failed(&w.session, "no more");
    ck_assert_str_eq(fake_replies(&w), "E.no more");
}
END_TEST

/* An unknown register is an error, but of those that make up a frame. */
START_TEST(lldb_registers)
{
    w.target.regs[0].known &= ~(1u << 4 | 1u << TARGET_REG_LR);
    ASK("p4", "xxxxxxxx");
    ASK("QThreadSuffixSupported", "");
    ASK("p4", "E01");
    ASK("pe", "xxxxxxxx");
    ASK("p5", "05000000");
}
END_TEST

/* It reads the registers of all threads before a motion, and sends no Hc. */
START_TEST(lldb_moves_the_core_that_stopped)
{
    ASK("QThreadSuffixSupported", "");
    w.target.stop.core = 0;
    ASK("?", "T05thread:1;");
    ASK("Hg2", "OK");
    ASK("bc", "T05thread:1;");
    ASK("Hg2", "OK");
    ASK("Hc2", "OK");
    ASK("bs", "T05thread:1;");
    ASK("Hg2", "OK");
    ASK("bc", "T05thread:1;");
    LOG("halt;reverse 0;reverse 1 step;reverse 0;");
}
END_TEST

/* An error would end its session. */
START_TEST(lldb_gets_a_stop)
{
    w.target.result = BT_ERR_UNSUPPORTED;
    w.target.why = "no way";
    ASK("bc", "E.no way");
    ASK("QThreadSuffixSupported", "");
    ASK("bc", "T05reason:exception;description:6e6f20776179;replaylog:begin;thread:1;");
    ASK("bs", "T05reason:exception;description:6e6f20776179;replaylog:begin;thread:1;");
    w.target.why = "";
    ASK("bc",
        "T05reason:exception;description:6e6f7420737570706f72746564;replaylog:begin;thread:1;");
    w.target.result = TARGET_PENDING;
    ASK("bc", "(none)");
    gdb_session_resume_failed(&w.session, "no more");
    ck_assert_str_eq(fake_replies(&w),
                     "T05reason:exception;description:6e6f206d6f7265;replaylog:begin;thread:1;");
    w.target.host.reverse = NULL;
    ck_assert_int_eq(strncmp(fake_ask(&w, "bc"), "T05reason:exception;description:", 32), 0);
}
END_TEST

START_TEST(memory_in_binary)
{
    w.target.told = 2;
    ASK("x20000010,4", "b\xaa\xaa");
    w.target.told = 0;
    ASK("x20000010,4", "E0e");
}
END_TEST

static void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test);
    suite_add_tcase(suite, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("gdb reverse");
    add(s, "gdb reverse: registers are those of then", registers_of_the_position);
    add(s, "gdb reverse: stack pointers that are known", stack_pointers);
    add(s, "gdb reverse: memory is that of then", memory_of_the_position);
    add(s, "gdb reverse: nothing is written", nothing_is_written);
    add(s, "gdb reverse: resumes move the position", resumes_move_the_position);
    add(s, "gdb reverse: LLDB: unknown registers are errors", lldb_registers);
    add(s, "gdb reverse: LLDB: the core that stopped moves", lldb_moves_the_core_that_stopped);
    add(s, "gdb reverse: LLDB: a stop in place of an error", lldb_gets_a_stop);
    add(s, "gdb reverse: memory in binary", memory_in_binary);
    return s;
}
