/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_session.c, of clients that look on, gdb_packets.c and gdb_pass.c. */
/* A client that looks on beside the one in control, and control that changes hands. */
#include <string.h>

#include "tests/support/fake_gdb_target.h"
#include "tests/support/fake_session.h"
#include "tests/support/unit_main.h"

#define NO_RUN "E.you look on: only the client in control runs the target, see 'monitor clients'"
#define NO_CHANGE                                                                                  \
    "E.you look on: only the client in control changes anything, see 'monitor clients'"
#define RUNS  "E.the target runs: 'continue' waits for its next halt"
#define MOVED "E.the target has run or was changed since: 'continue' shows it as it is now"
#define REGS_0                                                                                     \
    "00000000010000000200000003000000040000000500000006000000070000000800000009000000"             \
    "0a0000000b0000000c0000000d0000000e0000000f00000010000000"

static struct fake_wire w, o;

static void setup(void)
{
    fake_wire_init(&w);
    fake_wire_open(&w);
    fake_wire_observe(&o, &w, "");
}

static void teardown(void)
{
    fake_wire_release(&o);
    fake_wire_release(&w);
}

#define ASK(packet, reply)     ck_assert_str_eq(fake_ask(&w, packet), reply)
#define OBSERVE(packet, reply) ck_assert_str_eq(fake_ask(&o, packet), reply)
#define LOG(text)              ck_assert_str_eq(fake_log(&w), text)

/* Text on the console, as it goes over the wire; valid until the next call. */
static const char *console(const char *text, const char *reply)
{
    static struct text_buf b;
    if (b.data == NULL)
        text_buf_init(&b);
    text_buf_clear(&b);
    text_buf_putc(&b, 'O');
    text_buf_hex(&b, text, strlen(text));
    text_buf_puts(&b, reply);
    return b.data;
}

static const struct target_stop halt = {.kind = TARGET_HALT_TRAP, .core = 1};

static void run_for_control(void)
{
    w.target.result = TARGET_PENDING;
    ASK("vCont;c", "(none)");
    w.target.result = BT_OK;
    fake_log(&w);
}

START_TEST(reads_of_halted_cores)
{
    ck_assert(gdb_session_observes(&o.session));
    OBSERVE("?", "T05thread:1;");
    OBSERVE("g", REGS_0);
    OBSERVE("m20000010,2", "1011");
    OBSERVE("Hg2", "OK");
    OBSERVE("p3", "03010000");
    OBSERVE("qfThreadInfo", "m1,2");
    OBSERVE("qAttached", "1");
    OBSERVE("!", "OK");
    ASK("qC", "QC1");
    LOG("");
    static const char *const changes[] = {
        "G00", "P0=00000000", "M20000000,1:00", "X20000000,0:", "Z0,8000,4", "vFlashDone", "vRun;"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        OBSERVE(changes[i], NO_CHANGE);
    OBSERVE("c", NO_RUN);
    OBSERVE("vCont;s:1", NO_RUN);
    OBSERVE("R00", "(none)");
    OBSERVE("qTStatus", "");
    LOG("");
    /* Its own branch trace, motions and end. */
    OBSERVE("Qbtrace:bts", "OK");
    OBSERVE("bs", "T05thread:1;");
    OBSERVE("D", "OK");
    ck_assert_str_eq(fake_log(&o), "enable 1;reverse 1 step;leave;");
    ck_assert(!target_is_running(&w.target.target));
}
END_TEST

START_TEST(cores_that_run)
{
    OBSERVE("?", "T05thread:1;");
    OBSERVE("g", REGS_0);
    run_for_control();
    OBSERVE("g", REGS_0); /* of the halt that it shows */
    OBSERVE("p0", RUNS);
    OBSERVE("m20000010,2", "E05");
    OBSERVE("qfThreadInfo", "m1,2");
    ck_assert_str_eq(
        fake_ask(&o, "c"),
        console("the target runs; waiting for it to halt, Ctrl-C ends the wait\n", ""));
    OBSERVE("vCont;c", RUNS);
    gdb_session_input(&o.session, "\x03", 1);
    ck_assert_str_eq(
        fake_replies(&o),
        console("the target runs on: only the client in control halts it\n", "|T02thread:1;"));
    LOG("");
    fake_ask(&o, "c");
    fake_target_stop(&w.target, &halt);
    ck_assert_str_eq(fake_replies(&o), "T05thread:2;");
    ck_assert_str_eq(fake_replies(&w), "T05thread:2;");
    /* One that it was not told of. */
    ASK("vCont;c", "T05thread:1;");
    OBSERVE("p0", MOVED);
    OBSERVE("c", "T05thread:1;");
    OBSERVE("p0", "00000000");
}
END_TEST

/* GDB cannot connect without a stop, and without registers. */
START_TEST(comes_while_cores_run)
{
    struct fake_wire late;
    ASK("g", REGS_0);
    run_for_control();
    fake_wire_observe(&late, &w, "hello\n");
    ck_assert_str_eq(fake_ask(&late, "?"), "T05thread:1;");
    ck_assert_str_eq(fake_ask(&late, "g"), REGS_0);
    ck_assert_str_eq(fake_ask(&late, "Hg2"), "OK");
    ck_assert_str_eq(fake_ask(&late, "g"), RUNS); /* nobody has read these */
    ck_assert_str_eq(fake_ask(&late, "qRcmd,68656c70"), "O68656c6c6f0a|O6f6e650a|O74776f0a|OK");
    LOG("");
    fake_wire_release(&late);
}
END_TEST

START_TEST(commands)
{
    ck_assert_str_eq(fake_ask(&o, "qRcmd,68656c70"), "O6f6e650a|O74776f0a|OK");
    const char *got = fake_ask(&o, "qRcmd,736179");
    ck_assert_ptr_nonnull(strstr(got, "|OK"));
    LOG("");
    ck_assert_str_eq(fake_log(&o), "monitor 0 'help';monitor 0 'say';");
}
END_TEST

START_TEST(control_changes_hands)
{
    OBSERVE("?", "T05thread:1;");
    ASK("Z0,8000,4", "OK");
    gdb_session_give_control(&w.session);
    LOG("insert 0 0 8000 4;remove 0 0 8000 4;");
    ASK("c", NO_RUN);
    gdb_session_take_control(&o.session);
    ck_assert(!gdb_session_observes(&o.session));
    OBSERVE("P0=00000000", "OK");
    ck_assert_str_eq(fake_ask(&o, "vCont;c"),
                     console("you are in control of the target now\n", "|T05thread:1;"));
    ASK("p0", MOVED);
    /* It has not seen the last halt. */
    gdb_session_give_control(&o.session);
    gdb_session_take_control(&w.session);
    ASK("p0", MOVED);
    ASK("qfThreadInfo", "m1,2");
    ASK("c", "T05thread:1;");
    ASK("p0", "00000000");
}
END_TEST

START_TEST(control_while_cores_run)
{
    run_for_control();
    fake_ask(&o, "c");
    gdb_session_release(&w.session);
    gdb_session_take_control(&o.session);
    ck_assert_str_eq(fake_replies(&o), console("you are in control of the target now\n", ""));
    gdb_session_input(&o.session, "\x03", 1);
    LOG("interrupt;");
    fake_target_stop(&w.target, &halt);
    ck_assert_str_eq(fake_replies(&o), "T05thread:2;");
    fake_wire_open(&w); /* takes it */
    OBSERVE("p0", "E05");
}
END_TEST

START_TEST(refused)
{
    run_for_control();
    fake_ask(&o, "c");
    gdb_session_refuse(&o.session, "one client is enough");
    ck_assert_str_eq(fake_replies(&o), "E.one client is enough");
    OBSERVE("?", "E.one client is enough");
    ck_assert_uint_eq(gdb_session_refused(&o.session), 2);
    fake_target_stop(&w.target, &halt);
    ck_assert_str_eq(fake_replies(&o), "(none)");
}
END_TEST

/* Beside a session that is passed on: what the other server told that one, and nothing is asked. */
START_TEST(passed_on)
{
    struct fake_session f, g;
    fake_session_init(&f);
    fake_session_init(&g);
    fake_remote_connect(&f.r);
    struct target *t = f.r.t;
    fake_session_open(&f, t, GDB_CONTROLS);
    fake_session_open(&g, t, GDB_OBSERVES);
    fake_client_sends_packet(&f, "qSupported:swbreak+");
    fake_server_got(&f.r);
    fake_server_sends_packet(&f.r, "PacketSize=1000;multiprocess+");
    fake_client_sends_packet(&g, "qSupported:swbreak+");
    ck_assert_ptr_nonnull(
        strstr(fake_client_got(&g), "PacketSize=1000;multiprocess+;QStartNoAckMode+"));
    fake_client_sends_packet(&g, "?");
    ck_assert_int_eq(fake_client_got(&g)[0], 'T');
    fake_client_sends_packet(&f, "c");
    ck_assert_str_eq(fake_server_got(&f.r), "c");
    fake_client_sends_packet(&g, "qfThreadInfo");
    ck_assert_str_eq(fake_client_got(&g), "m1,2");
    fake_client_sends_packet(&g, "qC");
    ck_assert_str_eq(fake_client_got(&g), "QC1");
    fake_client_sends_packet(&g, "m0,4");
    ck_assert_str_eq(fake_client_got(&g), "E05");
    fake_client_sends_packet(&g, "qRcmd,736179");
    ck_assert_ptr_nonnull(strstr(fake_client_got(&g), "|OK"));
    ck_assert_str_eq(fake_server_got(&f.r), "(none)");
    fake_session_close(&g);
    fake_session_release(&g);
    fake_session_release(&f);
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
    Suite *suite = suite_create("gdb_observe");
    add(suite, "gdb_observe: halted cores are read, nothing is changed", reads_of_halted_cores);
    add(suite, "gdb_observe: while cores run", cores_that_run);
    add(suite, "gdb_observe: one that comes while cores run", comes_while_cores_run);
    add(suite, "gdb_observe: commands are the host's", commands);
    add(suite, "gdb_observe: control changes hands", control_changes_hands);
    add(suite, "gdb_observe: control of cores that run", control_while_cores_run);
    add(suite, "gdb_observe: one that is refused", refused);
    add(suite, "gdb_observe: beside a session that is passed on", passed_on);
    return suite;
}
