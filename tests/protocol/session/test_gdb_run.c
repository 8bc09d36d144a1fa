/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_run.c and gdb_client.c. */
/* Resuming, stop replies, reverse execution, and the ends of a GDB session. */
#include <string.h>

#include "tests/support/fake_gdb_target.h"
#include "tests/support/unit_main.h"

static struct fake_wire w;

static void setup(void)
{
    fake_wire_init(&w);
    fake_wire_open(&w);
}

static void teardown(void)
{
    fake_wire_release(&w);
}

static void reopen(void)
{
    gdb_session_release(&w.session);
    fake_wire_open(&w);
}

#define ASK(packet, reply) ck_assert_str_eq(fake_ask(&w, packet), reply)
#define LOG(text)          ck_assert_str_eq(fake_log(&w), text)

static void expect_all(const char *const *packets, size_t count, const char *reply)
{
    for (size_t i = 0; i < count; i++) {
        const char *got = fake_ask(&w, packets[i]);
        ck_assert_msg(strcmp(got, reply) == 0, "'%s' got '%s', not '%s'", packets[i], got, reply);
    }
}

#define EXPECT_ALL(list, reply) expect_all(list, sizeof(list) / sizeof(*list), reply)

START_TEST(vcont_actions)
{
    ASK("vCont?", "vCont;c;C;s;S;t");
    ASK("vCont;c", "T05thread:1;");
    LOG("resume cc 0;");
    ASK("vCont;s:2;c", "T05thread:1;");
    LOG("resume cs 1 step;");
    ASK("vCont;s:1", "T05thread:1;");
    LOG("resume s- 0 step;");
    ASK("vCont;c:1;t", "T05thread:1;");
    LOG("resume c- 0;");
    ASK("vCont;s:p1.2;c:p1.-1", "T05thread:1;");
    LOG("resume cs 1 step;");
    ASK("vCont;C05:2;S0b:1", "T05thread:1;");
    LOG("resume sc 0 step;");
    /* The leftmost action counts. */
    ASK("vCont;t:1;c:-1;s:2", "T05thread:1;");
    LOG("resume -c 1;");
    static const char *const bad[] = {"vCont",
                                      "vCont;",
                                      "vCont;x",
                                      "vCont;c:",
                                      "vCont;c:3",
                                      "vCont;c;;s",
                                      "vCont;t",
                                      "vCont;t:1",
                                      "vCont;C",
                                      "vCont;S1ff",
                                      "vCont;r0,10:1",
                                      "vContc",
                                      "vCont;c:1x",
                                      "vCont;c:1,2",
                                      "vCont;s:1;:2",
                                      "vCont;cc",
                                      "vCont;c:99999999999"};
    EXPECT_ALL(bad, "E01");
    LOG("");
}
END_TEST

START_TEST(plain_resumes)
{
    ASK("c", "T05thread:1;");
    ASK("s", "T05thread:1;");
    LOG("resume cc 0;resume s- 0 step;");
    ASK("Hc2", "OK");
    ASK("c", "T05thread:1;");
    ASK("s", "T05thread:1;");
    LOG("resume -c 1;resume -s 1 step;");
    ASK("Hc-1", "OK");
    ASK("C05", "T05thread:1;");
    ASK("S0b", "T05thread:1;");
    LOG("resume cc 0;resume s- 0 step;");
    ASK("c8000", "T05thread:1;");
    ASK("S05;8004", "T05thread:1;");
    LOG("reg 0 15 8000;resume cc 0;reg 0 15 8004;resume s- 0 step;");
    static const char *const bad[] = {"cx", "s8000,", "C", "Cx", "C100", "S05:8000", "c123456789"};
    EXPECT_ALL(bad, "E01");
    LOG("");
}
END_TEST

START_TEST(refused_resumes)
{
    w.target.result = BT_ERR_INVAL;
    w.target.why = "this is a recording";
    static const char *const all[] = {"vCont;c", "c", "s", "C05", "S05", "c8000", "bs", "bc"};
    EXPECT_ALL(all, "E.this is a recording");
    ck_assert(!gdb_session_running(&w.session));
    w.target.why = NULL;
    ASK("vCont;c", "E.value out of its allowed range");
    w.target.result = BT_OK;
    w.target.host.is_replaying = NULL;
    w.target.host.read_regs = NULL;
    w.target.host.reverse_memory = NULL;
    w.target.host.resume = NULL;
    w.target.host.reverse = NULL;
    w.target.host.interrupt = NULL;
    reopen();
    ASK("vCont;c", "T05thread:1;");
    static const char *const backward[] = {"bs", "bc"};
    EXPECT_ALL(backward, "E.the target cannot run backwards");
}
END_TEST

static const char *stop_reply(enum target_halt_reason kind)
{
    w.target.stop = (struct target_stop){kind, 1, 11, 0x20000010};
    return fake_ask(&w, "?");
}

START_TEST(stop_replies)
{
    fake_ask(&w, "qSupported:swbreak+;hwbreak+");
    ck_assert_str_eq(stop_reply(TARGET_HALT_TRAP), "T05thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_INTERRUPT), "T02thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_SWBREAK), "T05swbreak:;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_HWBREAK), "T05hwbreak:;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_WATCH), "T05watch:20000010;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_RWATCH), "T05rwatch:20000010;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_AWATCH), "T05awatch:20000010;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_REPLAY_BEGIN), "T05replaylog:begin;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_REPLAY_END), "T05replaylog:end;thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_SIGNAL), "T0bthread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_EXITED), "W0b");
    /* A client that does not know these reasons does not get them. */
    fake_ask(&w, "qSupported:hwbreak-");
    ck_assert_str_eq(stop_reply(TARGET_HALT_SWBREAK), "T05thread:2;");
    ck_assert_str_eq(stop_reply(TARGET_HALT_HWBREAK), "T05thread:2;");
    w.target.stop.core = 7;
    ASK("?", "T05thread:2;");
}
END_TEST

START_TEST(resume_that_is_pending)
{
    static const struct target_stop stop = {TARGET_HALT_INTERRUPT, 1, 0, 0};
    w.target.result = TARGET_PENDING;
    gdb_session_input(&w.session, "\x03", 1);
    gdb_session_stopped(&w.session, &stop);
    ASK("vCont;c", "(none)");
    ck_assert(gdb_session_running(&w.session));
    ASK("g", "E.the target is running");
    ASK("vCont;c", "E.the target is running");
    ASK("qfoo", "");
    gdb_session_output(&w.session, "hi");
    ck_assert_str_eq(fake_replies(&w), "O6869");
    gdb_session_input(&w.session, "\x03", 1);
    LOG("resume cc 0;interrupt;");
    gdb_session_stopped(&w.session, &stop);
    ck_assert_str_eq(fake_replies(&w), "(none)");
    fake_target_stop(&w.target, &stop);
    ck_assert_str_eq(fake_replies(&w), "T02thread:2;");
    ck_assert(!gdb_session_running(&w.session));
    fake_target_stop(&w.target, &stop);
    gdb_session_output(&w.session, "hi");
    ck_assert_str_eq(fake_replies(&w), "(none)");
    ASK("qC", "QC2");
}
END_TEST

START_TEST(pending_in_other_ways)
{
    static const struct target_stop stop = {TARGET_HALT_TRAP, 1, 0, 0};
    w.target.result = TARGET_PENDING;
    ASK("?", "(none)");
    ASK("qC", "(none)"); /* waits for its turn */
    fake_target_stop(&w.target, &stop);
    ck_assert_str_eq(fake_replies(&w), "T05thread:2;|QC2");
    ASK("bc", "(none)");
    gdb_session_resume_failed(&w.session, "the probe is gone");
    ck_assert_str_eq(fake_replies(&w), "E.the probe is gone");
    gdb_session_resume_failed(&w.session, "again");
    ck_assert_str_eq(fake_replies(&w), "(none)");
    /* The stop may come from within the operation. */
    w.target.stop_session = &w.session;
    w.target.replaying = true;
    ASK("vCont;s:1", "T05thread:1;");
    ck_assert(!gdb_session_running(&w.session));
    w.target.stop_session = NULL;
    w.target.replaying = false;
    ASK("vCont;c", "(none)");
    ASK("D", "OK");
    fake_target_stop(&w.target, &stop);
    ck_assert_str_eq(fake_replies(&w), "(none)");
}
END_TEST

/* A resume that the target cannot do: it may be refused as late as that. */
START_TEST(resume_that_fails_later)
{
    w.target.result = TARGET_PENDING;
    ASK("vCont;c", "(none)");
    fake_target_stop(&w.target, &(struct target_stop){.kind = TARGET_HALT_FAILED});
    ck_assert_str_eq(fake_replies(&w), "E.gone ????");
    ck_assert(!gdb_session_running(&w.session));
    ASK("vCont;c", "(none)");
    target_lost(&w.target.target, BT_ERR_IO);
    ck_assert_str_eq(fake_replies(&w),
                     "O74686520636f6e6e656374696f6e20746f2074686520746172676574206973"
                     "206c6f73740a|X09");
    ASK("?", "E.input/output error");
}
END_TEST

START_TEST(reverse_execution)
{
    ASK("bs", "T05thread:1;");
    ASK("bc", "T05thread:1;");
    LOG("reverse 0 step;reverse 0;");
    /* Hc0 means the general thread at the time of the packet. */
    ASK("Hc0", "OK");
    ASK("Hg2", "OK");
    w.target.stop = (struct target_stop){TARGET_HALT_REPLAY_BEGIN, 1, 0, 0};
    ASK("bs", "T05replaylog:begin;thread:2;");
    ASK("Hc1", "OK");
    ASK("bc", "T05replaylog:begin;thread:2;");
    LOG("reverse 1 step;reverse 0;");
    ASK("bs1", "E01");
    ASK("bc;", "E01");
}
END_TEST

START_TEST(threads_listed_flag)
{
    ASK("vCont;s:1", "T05thread:1;");
    ASK("Z0,8000,4", "OK");
    ASK("vCont;c", "T05thread:1;");
    ASK("qfThreadInfo", "m1,2");
    ASK("vCont;c", "T05thread:1;");
    ASK("vCont;c", "T05thread:1;");
    fake_ask(&w, "qXfer:threads:read::0,1000");
    ASK("vCont;c", "T05thread:1;");
    LOG("resume s- 0 step;insert 0 0 8000 4;resume cc 0;resume cc 0 listed;resume cc 0;"
        "resume cc 0 listed;");
}
END_TEST

START_TEST(ends_of_a_session)
{
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_OPEN);
    ASK("D", "OK");
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_DETACHED);
    ASK("vAttach;1", "T05thread:1;");
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_OPEN);
    ASK("D;1", "OK");
    ASK("vKill;a410", "OK");
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_KILLED);
    ASK("?", "T05thread:1;");
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_OPEN);
    ASK("k", "(none)");
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_KILLED);
    LOG("leave;resume  -1;halt;leave;resume  -1;leave;halt;leave;");
    static const char *const bad[] = {"Dx",      "D;",      "D;x",      "vKill",      "vKill;",
                                      "vKill;x", "vAttach", "vAttach;", "vAttach;1;", "kx"};
    EXPECT_ALL(bad, "E01");
    LOG("");
}
END_TEST

START_TEST(restarts)
{
    ASK("vRun;", "T05thread:1;");
    ASK("vRun;2f62696e;61", "T05thread:1;");
    ASK("R00", "(none)");
    LOG("restart;halt;restart;halt;restart;");
    ASK("vRunx", "E01");
    w.target.result = BT_ERR_INVAL;
    w.target.why = "a recording cannot start again";
    ASK("vRun;", "E.a recording cannot start again");
    w.target.host.restart = NULL;
    w.target.result = BT_OK;
    ASK("vRun;", "T05thread:1;");
    ASK("R00", "(none)");
    LOG("restart;reset;reset;");
    w.target.result = BT_ERR_UNSUPPORTED;
    w.target.why = NULL;
    ASK("vRun;", "E.the target cannot be started again");
    ASK("R00", "(none)");
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
    Suite *suite = suite_create("gdb_run");
    add(suite, "gdb_run: vCont", vcont_actions);
    add(suite, "gdb_run: c, s, C, S with Hc and addresses", plain_resumes);
    add(suite, "gdb_run: a refused resume carries its text", refused_resumes);
    add(suite, "gdb_run: stop replies of every kind", stop_replies);
    add(suite, "gdb_run: resume, Ctrl-C, output, later stop", resume_that_is_pending);
    add(suite, "gdb_run: pending '?', failure later, stop from within", pending_in_other_ways);
    add(suite, "gdb_run: a resume that fails, a target that is lost", resume_that_fails_later);
    add(suite, "gdb_run: bs and bc", reverse_execution);
    add(suite, "gdb_run: whether threads were listed since the stop", threads_listed_flag);
    add(suite, "gdb_run: detach, kill, attach again", ends_of_a_session);
    add(suite, "gdb_run: vRun and R", restarts);
    return suite;
}
