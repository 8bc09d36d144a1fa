/* SPDX-License-Identifier: BSD-3-Clause */
/* How clients of a remote target come and go, and what a lost connection does. */
#include "tests/protocol/remote/test_gdb_remote.h"

#include <stdio.h>
#include <string.h>

#define GONE "E.the target's GDB server closed the connection"
/* "O" and the same as console text. */
#define GONE_OUTPUT                                                                                \
    "O74686520746172676574277320474442207365727665722063"                                          \
    "6c6f7365642074686520636f6e6e656374696f6e0a"

START_TEST(detach_lets_run)
{
    through("Hg1", "OK");
    through("Z0,8000,4", "OK");
    through("Z2,20000000,4", "OK");
    through("Z1,9000,2;X3,220027", "OK");
    through("Z1,9000,2", "OK");
    through("Z0,8004,4", "");
    through("z2,20000000,4", "OK");
    CLIENT_SAYS("D;1");
    CLIENT_GOT("OK");
    ck_assert_int_eq(gdb_session_state(&f.session), GDB_SESSION_DETACHED);
    SERVER_GOT("z1,9000,2");
    SERVER_SAYS("OK");
    SERVER_GOT("z0,8000,4");
    LOG("");
    SERVER_SAYS("E01");
    SERVER_GOT("vCont;c");
    LOG("resumed;");
    fake_session_close(&f);
    SERVER_GOT("(none)");
    ck_assert(target_is_running(f.r.t));
    /* The next one finds the cores running, and halts them with its first question. */
    open_session();
    CLIENT_SAYS("qSupported");
    SERVER_GOT("^C");
    CLIENT_GOT("(none)");
    /* Asked for once is enough. */
    SERVER_SAYS("Fclose,3");
    SERVER_GOT("F-1,270f");
    SERVER_SAYS("T02thread:02;");
    LOG("stopped 1;");
    SERVER_GOT("qSupported");
    SERVER_SAYS("");
    fake_client_got(&f);
    through("?", "T02thread:02;");
    CLIENT_SAYS("g");
    SERVER_GOT("Hg2");
    SERVER_SAYS("OK");
    SERVER_GOT("g");
}
END_TEST

START_TEST(attach_again)
{
    f.r.hold = true;
    ours("D;x", "E01");
    ck_assert_int_eq(gdb_session_state(&f.session), GDB_SESSION_OPEN);
    CLIENT_SAYS("D");
    CLIENT_GOT("OK");
    SERVER_GOT("vCont;c");
    CLIENT_SAYS("vAttach;1");
    SERVER_GOT("^C");
    SERVER_SAYS("T02thread:01;");
    LOG("resumed;stopped 0;");
    SERVER_GOT("(none)");
    CLIENT_GOT("(none)");
    target_release_stop(f.r.t);
    SERVER_GOT("?");
    SERVER_SAYS("T02thread:01;");
    CLIENT_GOT("T02thread:01;");
    ck_assert_int_eq(gdb_session_state(&f.session), GDB_SESSION_OPEN);
    CLIENT_SAYS("vAttach;1234");
    SERVER_GOT("?");
    SERVER_SAYS("T02thread:01;");
    CLIENT_GOT("T02thread:01;");
}
END_TEST

START_TEST(detach_while_running)
{
    through("Hg1", "OK");
    through("Z1,9000,2", "OK");
    CLIENT_SAYS("vCont;c");
    SERVER_GOT("vCont;c");
    CLIENT_SAYS("D");
    CLIENT_GOT("OK");
    SERVER_GOT("^C");
    SERVER_SAYS("T02thread:01;");
    SERVER_GOT("z1,9000,2");
    SERVER_SAYS("OK");
    SERVER_GOT("vCont;c");
    LOG("resumed;stopped 0;resumed;");
    CLIENT_GOT("(none)");
    fake_session_close(&f);
    open_session();
    CLIENT_SAYS("?");
    SERVER_GOT("^C");
    SERVER_SAYS("T02thread:01;");
    SERVER_GOT("?");
    SERVER_SAYS("T05thread:01;");
    CLIENT_GOT("T05thread:01;");
    /* Nothing is planted: nothing to halt for. */
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    CLIENT_SAYS("D");
    CLIENT_GOT("OK");
    SERVER_GOT("(none)");
    ck_assert(target_is_running(f.r.t));
}
END_TEST

START_TEST(kill_halts)
{
    through("Hg1", "OK");
    through("Z0,8000,4", "OK");
    CLIENT_SAYS("k");
    CLIENT_GOT("(none)");
    SERVER_GOT("z0,8000,4");
    SERVER_SAYS("OK");
    SERVER_GOT("(none)");
    ck_assert_int_eq(gdb_session_state(&f.session), GDB_SESSION_KILLED);
    fake_session_close(&f);
    open_session();
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    ours("vKill", "E01");
    CLIENT_SAYS("vKill;1");
    CLIENT_GOT("OK");
    SERVER_GOT("^C");
    SERVER_SAYS("T02thread:01;");
    CLIENT_GOT("(none)");
    SERVER_GOT("(none)");
    ck_assert(!target_is_running(f.r.t));
    LOG("resumed;stopped 0;");
}
END_TEST

START_TEST(client_disappears)
{
    through("Hg1", "OK");
    through("Z0,8000,4", "OK");
    CLIENT_SAYS("Z0,9000,4");
    SERVER_GOT("Z0,9000,4");
    fake_session_close(&f);
    SERVER_SAYS("OK");
    SERVER_GOT("z0,8000,4");
    SERVER_SAYS("OK");
    SERVER_GOT("z0,9000,4");
    SERVER_SAYS("OK");
    SERVER_GOT("(none)");
    ck_assert(!target_is_running(f.r.t));
    LOG("");
    /* While cores run: they run on, and what was planted goes when they halt. */
    open_session();
    through("Hg1", "OK");
    through("Z0,8000,4", "OK");
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    fake_session_close(&f);
    SERVER_GOT("(none)");
    ck_assert(target_is_running(f.r.t));
    SERVER_SAYS("T05thread:02;");
    LOG("resumed;stopped 1;");
    SERVER_GOT("z0,8000,4");
    SERVER_SAYS("OK");
    SERVER_GOT("(none)");
    ck_assert(!target_is_running(f.r.t));
}
END_TEST

/* A resume that waits for a question of ours is not sent any more. */
START_TEST(detach_before_the_resume)
{
    through("Hg1", "OK");
    ask("qC");
    CLIENT_SAYS("vCont;s:1");
    CLIENT_SAYS("D");
    CLIENT_GOT("OK");
    SERVER_GOT("qC");
    SERVER_SAYS("QC1");
    SERVER_GOT("vCont;c");
    SERVER_SAYS("S05");
    SERVER_GOT("(none)");
    CLIENT_GOT("(none)");
    LOG("'QC1';resumed;stopped 0;");
    ask("qC");
    CLIENT_SAYS("vCont;s:1");
    CLIENT_SAYS("k");
    SERVER_GOT("qC");
    SERVER_SAYS("QC1");
    SERVER_GOT("(none)");
    LOG("'QC1';");
}
END_TEST

/* The old session of a client that comes again may be there still. */
START_TEST(two_sessions)
{
    struct fake_session second;
    CLIENT_SAYS("qC");
    SERVER_GOT("Hg1");
    fake_session_init(&second);
    fake_session_open(&second, f.r.t, GDB_CONTROLS);
    CLIENT_GOT(GONE);
    ours("qC", GONE);
    ours("D", "OK");
    SERVER_SAYS("OK");
    SERVER_GOT("qC");
    fake_client_sends_packet(&second, "?");
    SERVER_SAYS("QC1");
    SERVER_GOT("?");
    fake_session_close(&f);
    SERVER_SAYS("T05thread:01;");
    ck_assert_str_eq(fake_client_got(&second), "T05thread:01;");
    fake_session_release(&second);
}
END_TEST

START_TEST(lost_while_halted)
{
    CLIENT_SAYS("qC");
    SERVER_GOT("Hg1");
    CLIENT_SAYS("m0,4");
    gdb_remote_disconnected(f.r.u);
    CLIENT_GOT(GONE "|E05"); /* GDB takes no text for memory */
    LOG("lost;");
    ours("?", GONE);
    ours("vCont;c", GONE);
    ours("qSupported", GONE);
    ours("qRcmd,6161", GONE);
    ours("R00", "(none)");
    ours("!", "OK");
    ours("Qbtrace:off", "OK");
    ours("D", "OK");
    ours("k", "(none)");
    /* It may come back. */
    fake_remote_connect(&f.r);
    through("?", "T05thread:01;");
}
END_TEST

START_TEST(lost_while_running)
{
    CLIENT_SAYS("vCont;c");
    SERVER_GOT("vCont;c");
    gdb_remote_disconnected(f.r.u);
    CLIENT_GOT(GONE_OUTPUT "|X09");
    LOG("resumed;lost;");
    ck_assert(!gdb_session_running(&f.session));
    ours("?", GONE);
    /* While a stop is held, and while a resume waits for its turn. */
    fake_remote_connect(&f.r);
    f.r.hold = true;
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    SERVER_SAYS("S05");
    gdb_remote_disconnected(f.r.u);
    CLIENT_GOT(GONE_OUTPUT "|X09");
    LOG("resumed;stopped 0;lost;");
    text_buf_clear(&f.r.to_server);
    fake_remote_connect(&f.r);
    ask("qC");
    CLIENT_SAYS("c");
    gdb_remote_disconnected(f.r.u);
    CLIENT_GOT(GONE_OUTPUT "|X09");
    LOG("'none';lost;");
    text_buf_clear(&f.r.to_server);
    fake_remote_connect(&f.r);
    f.r.drop_on_send = true;
    CLIENT_SAYS("c");
    CLIENT_GOT(GONE_OUTPUT "|X09");
    LOG("resumed;lost;");
}
END_TEST

START_TEST(freed_before_the_session)
{
    CLIENT_SAYS("c");
    gdb_remote_free(f.r.u);
    f.r.u = NULL;
    CLIENT_GOT(GONE_OUTPUT "|X09");
    CLIENT_SAYS("qC");
    CLIENT_GOT(GONE);
}
END_TEST

START_TEST(client_before_the_greeting_is_over)
{
    fake_session_close(&f);
    gdb_remote_connected(f.r.u);
    LOG("lost;");
    text_buf_clear(&f.r.to_server);
    open_session();
    gdb_remote_connected(f.r.u);
    LOG("ready -7;");
    CLIENT_SAYS("qC");
    SERVER_GOT("qSupported:xmlRegisters=arm");
    SERVER_SAYS("");
    SERVER_GOT("?");
    SERVER_SAYS("T05thread:01;");
    SERVER_GOT("qfThreadInfo");
    SERVER_SAYS("l");
    SERVER_GOT("vCont?");
    CLIENT_GOT("(none)");
    SERVER_SAYS("");
    LOG("ready 0;");
    SERVER_GOT("qC");
}
END_TEST

START_TEST(too_many_breakpoints)
{
    char packet[32];
    through("Hg1", "OK");
    for (int i = 0; i < 1024; i++) {
        snprintf(packet, sizeof(packet), "Z0,%x,4", 4 * i);
        through(packet, "OK");
    }
    ours("Z0,8000,4", "E.too much is under way");
    through("z0,0,4", "OK");
    through("Z0,8000,4", "OK");
    gdb_remote_disconnected(f.r.u);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("gdb_remote_leave");
    add(suite, "gdb_remote_leave: detach lets the cores run", detach_lets_run);
    add(suite, "gdb_remote_leave: attach after detach", attach_again);
    add(suite, "gdb_remote_leave: detach while running", detach_while_running);
    add(suite, "gdb_remote_leave: detach before the resume was sent", detach_before_the_resume);
    add(suite, "gdb_remote_leave: kill leaves the cores halted", kill_halts);
    add(suite, "gdb_remote_leave: a client that disappears", client_disappears);
    add(suite, "gdb_remote_leave: a second session takes over", two_sessions);
    add(suite, "gdb_remote_leave: connection lost while halted", lost_while_halted);
    add(suite, "gdb_remote_leave: connection lost while running", lost_while_running);
    add(suite, "gdb_remote_leave: remote target freed first", freed_before_the_session);
    add(suite, "gdb_remote_leave: client before the greeting is over",
        client_before_the_greeting_is_over);
    add(suite, "gdb_remote_leave: too many breakpoints", too_many_breakpoints);
    return suite;
}
