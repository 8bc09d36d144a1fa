/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_session.c. */
/* A session on a remote target: what goes to the other server, what comes back, what is ours. */
#include "tests/protocol/remote/test_gdb_remote.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct gdb_btrace_block blocks[] = {{0x8010, 0x8010}, {0x8000, 0x8004}};

START_TEST(packets_go_through)
{
    through("vMustReplyEmpty", "");
    through("Hgp1.1", "OK");
    through("qXfer:features:read:target.xml:0,ff0", "l<target/>");
    through("qXfer:memory-map:read::0,ff0", "l<memory-map/>");
    through("qXfer:threads:read::0,ff0", "m<threads>");
    through("qTStatus", "");
    through("?", "T05thread:p1.1;");
    through("Hc-1", "OK");
    through("qfThreadInfo", "mp1.1,p1.2");
    through("qsThreadInfo", "l");
    through("qThreadExtraInfo,p1.1", "435055");
    through("qAttached:1", "1");
    through("qSymbol::", "OK");
    through("vCont?", "vCont;c;C;s;S");
    LOG("");
}
END_TEST

/* The other side selects again what `?` told of, which it does not say itself. */
START_TEST(data_goes_through)
{
    CLIENT_SAYS("g");
    SERVER_GOT("Hg1");
    SERVER_SAYS("OK");
    SERVER_GOT("g");
    SERVER_SAYS("00000000xxxxxxxx");
    CLIENT_GOT("00000000xxxxxxxx");
    through("m1000,4", "E14");
    through("T2", "OK");
    through("qC", "QC1");
    through("qCRC:0,100", "C00000000");
    ours("vFile:setfs:0", "");
    ours("qXfer:btrace-other:read::0,100", "");
    LOG("");
    fake_client_sends_packet_bytes(&f, "X1000,5:#$}*\x03", 13);
    SERVER_GOT("X1000,5:#$}*\x03");
    SERVER_SAYS("OK");
    CLIENT_GOT("OK");
    LOG("memory 1000 5;");
    /* Runs are expanded: what comes back is the same text. */
    CLIENT_SAYS("m0,4");
    SERVER_GOT("m0,4");
    fake_server_sends(&f.r, "$0*\"00#dc");
    CLIENT_GOT("00000000");
}
END_TEST

START_TEST(features)
{
    CLIENT_SAYS("qSupported:multiprocess+;swbreak+");
    SERVER_GOT("qSupported:multiprocess+;swbreak+");
    SERVER_SAYS("PacketSize=1000;qXfer:features:read+;QStartNoAckMode+;QNonStop+;Qbtrace:pt+;"
                "Qbtrace-conf:pt:size+;Qbtrace:bts-;qXfer:btrace:read-;multiprocess+;swbreak+");
    CLIENT_GOT("PacketSize=1000;qXfer:features:read+;multiprocess+;swbreak+;QStartNoAckMode+;"
               "Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;qXfer:btrace:read+;"
               "qXfer:btrace-conf:read+");
    CLIENT_SAYS("qSupported");
    SERVER_GOT("qSupported");
    SERVER_SAYS("PacketSize=20000");
    ck_assert_ptr_nonnull(strstr(fake_client_got(&f), "PacketSize=4000;QStartNoAckMode+;"));
    CLIENT_SAYS("qSupported");
    SERVER_GOT("qSupported");
    SERVER_SAYS("");
    ck_assert_ptr_null(strstr(fake_client_got(&f), "PacketSize"));
    ck_assert_int_eq(strncmp(f.text.data, "QStartNoAckMode+;Qbtrace:bts+", 29), 0);
}
END_TEST

START_TEST(features_without_trace)
{
    struct gdb_host *t = &f.host;
    fake_session_close(&f);
    t->btrace_enable = NULL;
    t->btrace_disable = NULL;
    t->btrace_set_size = NULL;
    t->btrace_conf = NULL;
    t->btrace_read = NULL;
    t->btrace_delivered = NULL;
    t->monitor = NULL;
    open_session();
    CLIENT_SAYS("qSupported");
    SERVER_GOT("qSupported");
    SERVER_SAYS("PacketSize=1000");
    CLIENT_GOT("PacketSize=1000;QStartNoAckMode+");
    through("Hg1", "OK");
    through("qRcmd,68656c70", "");
    ours("Qbtrace:bts", "");
    t->btrace_read = (int (*)(void *, int, enum gdb_annex, struct gdb_btrace_blocks *))1;
    struct gdb_session s;
    ck_assert_int_eq(gdb_session_init(&s, f.r.t, t, &f, GDB_CONTROLS, "", NULL, NULL),
                     BT_ERR_INVAL);
    t->btrace_read = NULL;
}
END_TEST

START_TEST(trace_is_ours)
{
    f.blocks = blocks;
    f.block_count = sizeof(blocks) / sizeof(*blocks);
    through("Hgp1.2", "OK");
    ours("Qbtrace-conf:bts:size=0x10000", "OK");
    ours("Qbtrace:bts", "OK");
    ours("qXfer:btrace-conf:read::0,fff",
         "l<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n<btrace-conf version=\"1.0\">\n"
         "<bts size=\"0x10000\"/>\n</btrace-conf>\n");
    HOST_LOG("size 10000;enable 1;");
    ours("qXfer:btrace:read:all:0,fff",
         "l<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n"
         "<block begin=\"0x8010\" end=\"0x8010\"/>\n<block begin=\"0x8000\" end=\"0x8004\"/>\n"
         "</btrace>\n");
    HOST_LOG("read 1 0;delivered 1 0;");
    through("Hg1", "OK");
    ours("Qbtrace:off", "OK");
    ours("Qbtrace:pt", "E.only the bts format is available");
    HOST_LOG("disable 0;");
    /* Thread 0 is that of the last stop. */
    through("Hg2", "OK");
    through("Hg0", "OK");
    ours("Qbtrace:off", "OK");
    HOST_LOG("disable 0;");
    CLIENT_SAYS("g");
    SERVER_GOT("Hg1");
    SERVER_SAYS("OK");
    SERVER_GOT("g");
    SERVER_SAYS("00");
    CLIENT_GOT("00");
    LOG("");
}
END_TEST

START_TEST(link_of_its_own)
{
    ours("QStartNoAckMode", "OK");
    text_buf_clear(&f.to_client);
    CLIENT_SAYS("qC");
    ck_assert_uint_eq(f.to_client.len, 0);
    /* The other link still says '+'. */
    SERVER_GOT("Hg1");
    SERVER_SAYS("OK");
    ck_assert_str_eq(f.r.to_server.data, "+$qC#b4");
    SERVER_GOT("qC");
    SERVER_SAYS("QC1");
    ck_assert_str_eq(f.to_client.data, "$QC1#c5");
}
END_TEST

START_TEST(extended_mode)
{
    CLIENT_SAYS("!");
    SERVER_GOT("!");
    SERVER_SAYS("");
    CLIENT_GOT("OK");
    ck_assert(gdb_session_extended(&f.session));
    ours("vRun;", "");
    ours("vRun;2f62696e2f7368;2d63", "");
    LOG("");
    CLIENT_SAYS("R00");
    SERVER_GOT("R00");
    CLIENT_GOT("(none)");
    LOG("reset;");
    through("?", "T05thread:02;");
    ours("QNonStop:0", "");
}
END_TEST

static void got_regs(void *ctx, const struct target_answer *a)
{
    (void)ctx;
    text_buf_printf(&f.r.log, "pc %" PRIx64 ";",
                    a->regs ? a->regs->value[TARGET_REG_PC] : UINT64_C(0));
}

static void read_pc(int core)
{
    struct target_request r = {
        .kind = TARGET_READ_REGISTERS, .core = core, .set = TARGET_REGISTERS_PC};
    target_ask(f.r.t, NULL, &r, got_regs, NULL);
}

START_TEST(own_questions_in_between)
{
    through("Hgp1.1", "OK");
    through("g", "00");
    read_pc(1);
    SERVER_GOT("Hg2");
    CLIENT_SAYS("m0,4");
    SERVER_SAYS("OK");
    SERVER_GOT("pf");
    SERVER_SAYS("00000060");
    SERVER_GOT("p19");
    SERVER_SAYS("00000000");
    LOG("pc 60000000;");
    SERVER_GOT("Hgp1.1");
    /* One that comes meanwhile waits for the client's. */
    ask("qC");
    SERVER_SAYS("OK");
    SERVER_GOT("m0,4");
    SERVER_SAYS("11");
    CLIENT_GOT("11");
    SERVER_GOT("qC");
    SERVER_SAYS("QC1");
    LOG("'QC1';");
    /* Chosen by a question of the test. */
    ask("Hg2");
    SERVER_GOT("Hg2");
    SERVER_SAYS("OK");
    LOG("'OK';");
    CLIENT_SAYS("m0,4");
    SERVER_GOT("Hgp1.1");
    SERVER_SAYS("E01");
    /* It may work all the same. */
    SERVER_GOT("m0,4");
    SERVER_SAYS("22");
    CLIENT_GOT("22");
    LOG("");
}
END_TEST

START_TEST(run_and_stop)
{
    f.r.hold = true;
    through("Hg1", "OK");
    CLIENT_SAYS("vCont;s:1;c");
    LOG("resumed;");
    SERVER_GOT("vCont;s:1;c");
    ck_assert(gdb_session_running(&f.session));
    CLIENT_GOT("(none)");
    SERVER_SAYS("O48690a");
    CLIENT_GOT("O48690a");
    SERVER_SAYS("O"); /* a sign of life */
    CLIENT_GOT("O");
    ck_assert(gdb_session_running(&f.session));
    ours("m0,4", "E.the target is running");
    ours("Qbtrace:bts", "E.the target is running");
    gdb_session_input(&f.session, "\x03", 1);
    SERVER_GOT("^C");
    SERVER_SAYS("T02thread:p1.2;core:1;");
    LOG("stopped 1;");
    CLIENT_GOT("(none)");
    ck_assert(gdb_session_running(&f.session));
    /* No interrupt for cores that are halted. */
    gdb_session_input(&f.session, "\x03", 1);
    read_pc(1);
    SERVER_GOT("pf");
    SERVER_SAYS("04000000");
    target_release_stop(f.r.t);
    CLIENT_GOT("T02thread:p1.2;core:1;");
    ck_assert(!gdb_session_running(&f.session));
    SERVER_GOT("p19");
    SERVER_SAYS("00000000");
    LOG("pc 4;");
    /* The thread of the stop is the selected one, for us and for the other side. */
    through("g", "00");
    ours("Qbtrace:bts", "OK");
    HOST_LOG("enable 1;");
}
END_TEST

START_TEST(ways_to_run)
{
    static const char *const packets[] = {"c", "s", "C05", "S05", "vCont;c:p1.-1", "bs", "bc"};
    static const char *const stops[] = {"S05", "T05thread:01;", "W00", "X09", "E01", "N", "OK"};
    for (size_t i = 0; i < sizeof(packets) / sizeof(*packets); i++) {
        CLIENT_SAYS(packets[i]);
        SERVER_GOT(packets[i]);
        LOG("resumed;");
        SERVER_SAYS(stops[i]);
        CLIENT_GOT(stops[i]);
        LOG("stopped 0;");
    }
    /* Other addresses to go on from. */
    CLIENT_SAYS("c8000");
    SERVER_GOT("c8000");
    SERVER_SAYS("S05");
    CLIENT_SAYS("C05;8000");
    SERVER_GOT("C05;8000");
    /* GDB waits for ever after an empty reply. */
    SERVER_SAYS("");
    CLIENT_GOT("S05|E.the target's GDB server does not know this way to run");
    LOG("registers;resumed;stopped 0;registers;resumed;stopped 0;");
}
END_TEST

START_TEST(changes)
{
    through("Hg1", "OK");
    through("M1000,4:00000000", "OK");
    through("M1000,4:00000000", "E01");
    through("X2000,0:", "OK");
    through("vFlashErase:8000,400", "OK");
    through("vFlashWrite:8000:abc", "OK");
    through("vFlashDone", "OK");
    LOG("memory 1000 4;programmed 8000 616263;");
    through("P0=00000000", "OK");
    through("P0=00000000", "E01");
    through("G00", "OK");
    through("qRcmd,726573657420", "OK");
    through("qRcmd,726573657420", "");
    LOG("registers;registers;reset;");
    HOST_LOG("monitor 0 'reset ';monitor 0 'reset ';");
}
END_TEST

static void ask_in_change(struct fake_remote *fake)
{
    (void)fake;
    ask("qC");
}

START_TEST(question_from_within_an_event)
{
    through("Hg1", "OK");
    f.r.on_changed = ask_in_change;
    CLIENT_SAYS("M1000,1:00");
    SERVER_GOT("M1000,1:00");
    SERVER_SAYS("OK");
    CLIENT_GOT("OK");
    SERVER_GOT("qC");
    CLIENT_SAYS("m0,1");
    SERVER_GOT("(none)");
    SERVER_SAYS("QC2");
    LOG("memory 1000 1;'QC2';");
    SERVER_GOT("m0,1");
    SERVER_SAYS("00");
    CLIENT_GOT("00");
}
END_TEST

START_TEST(monitor_commands)
{
    ours("qRcmd,68656c70", "O6f6e650a|O74776f0a|OK");
    HOST_LOG("monitor 0 'help';");
    through("Hg1", "OK");
    CLIENT_SAYS("qRcmd,696e666f");
    SERVER_GOT("qRcmd,696e666f");
    SERVER_SAYS("O4100");
    SERVER_SAYS("O42");
    SERVER_SAYS("OK");
    CLIENT_GOT("O4100|O42|OK");
    HOST_LOG("monitor 0 'info';");
    LOG("");                                 /* only shows something */
    through("qRcmd,696e666f20723b20", "OK"); /* "info r; " */
    through("qRcmd,6d6477206f", "OK");       /* "mdw o" */
    through("qRcmd,6d6479", "OK");           /* "mdy" */
    LOG("reset;reset;");
    HOST_LOG("monitor 0 'info r; ';monitor 0 'mdw o';monitor 0 'mdy';");
    ours("qRcmd,6", "E01");
    ours("qRcmd:6161", "E01");
    /* Output where GDB expects none is dropped. */
    CLIENT_SAYS("m0,1");
    SERVER_GOT("m0,1");
    SERVER_SAYS("O41");
    CLIENT_GOT("(none)");
    SERVER_SAYS("00");
    CLIENT_GOT("00");
}
END_TEST

START_TEST(files_of_the_client)
{
    through("Hg1", "OK");
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    SERVER_SAYS("Fwrite,1,2000,5");
    CLIENT_GOT("Fwrite,1,2000,5");
    through("m2000,5", "48656c6c6f");
    ours("qRcmd,6d696772617465", "");
    ours("vFile:open:2f,0,0", "");
    CLIENT_SAYS("vCont;c");
    CLIENT_GOT("E.the target is running");
    CLIENT_SAYS("F5");
    SERVER_GOT("F5");
    CLIENT_GOT("(none)");
    ours("F5", "E.the target is running");
    /* A server that does not wait for the answer. */
    SERVER_SAYS("Fclose,3");
    CLIENT_GOT("Fclose,3");
    SERVER_SAYS("T05thread:01;");
    CLIENT_GOT("T05thread:01;");
    through("m0,1", "00");
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    LOG("resumed;stopped 0;resumed;");
    ours("m0,1", "E.the target is running");
    SERVER_SAYS("Fclose,3");
    CLIENT_GOT("Fclose,3");
    fake_session_close(&f);
    SERVER_GOT("F-1,4,C");
    SERVER_SAYS("T02thread:01;");
    LOG("stopped 0;");
}
END_TEST

/* QEMU tells a stop again when it has been resumed anew; a step has ended with its request. */
START_TEST(files_asked_by_qemu)
{
    f.r.u->is_qemu = true;
    CLIENT_SAYS("vCont;c:p1.-1");
    SERVER_GOT("vCont;c:p1.-1");
    SERVER_SAYS("Fwrite,1,2000,5");
    CLIENT_GOT("Fwrite,1,2000,5");
    CLIENT_SAYS("F5");
    SERVER_GOT("F5,0,C");
    SERVER_SAYS("T02");
    CLIENT_GOT("(none)");
    SERVER_GOT("vCont;c:p1.-1");
    SERVER_SAYS("Fopen,2000/4,0,0");
    CLIENT_GOT("Fopen,2000/4,0,0");
    CLIENT_SAYS("F-1,2");
    SERVER_GOT("F-1,2,C");
    SERVER_SAYS("T05thread:p1.1;");
    CLIENT_GOT("T05thread:p1.1;");
    CLIENT_SAYS("vCont;s:p1.1;c:p1.-1");
    SERVER_GOT("vCont;s:p1.1;c:p1.-1");
    SERVER_SAYS("Fclose,3");
    CLIENT_GOT("Fclose,3");
    CLIENT_SAYS("F0");
    SERVER_GOT("F0,0,C");
    SERVER_SAYS("T02");
    CLIENT_GOT("T05");
    /* GDB's own Ctrl-C, and one that comes meanwhile. */
    CLIENT_SAYS("vCont;c:p1.-1");
    SERVER_GOT("vCont;c:p1.-1");
    SERVER_SAYS("Fclose,3");
    CLIENT_GOT("Fclose,3");
    CLIENT_SAYS("F-1,4,C");
    SERVER_GOT("F-1,4,C");
    SERVER_SAYS("T02");
    CLIENT_GOT("T02");
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    SERVER_SAYS("Fclose,3");
    CLIENT_GOT("Fclose,3");
    CLIENT_SAYS("F0");
    SERVER_GOT("F0,0,C");
    gdb_session_input(&f.session, "\x03", 1);
    SERVER_GOT("^C");
    SERVER_SAYS("T02");
    CLIENT_GOT("T02");
}
END_TEST

START_TEST(packets_ahead_of_answers)
{
    through("Hg1", "OK");
    CLIENT_SAYS("m0,1");
    CLIENT_SAYS("m1,1");
    CLIENT_SAYS("Qbtrace:off");
    CLIENT_SAYS("c");
    CLIENT_SAYS("m2,1");
    CLIENT_GOT("(none)");
    SERVER_GOT("m0,1");
    SERVER_SAYS("00");
    SERVER_GOT("m1,1");
    SERVER_SAYS("11");
    SERVER_GOT("c");
    CLIENT_GOT("00|11|OK|E.the target is running");
    SERVER_SAYS("S05");
    CLIENT_GOT("S05");
    CLIENT_SAYS("m0,1");
    for (int i = 0; i < 100000 && gdb_session_state(&f.session) == GDB_SESSION_OPEN; i++)
        CLIENT_SAYS("m1,1");
    ck_assert_int_eq(gdb_session_state(&f.session), GDB_SESSION_FAILED);
}
END_TEST

/* While the server looks at the halted cores: the client waits, in order, and its history, too. */
START_TEST(client_waits_for_the_cores)
{
    target_hold_clients(f.r.t, true);
    CLIENT_SAYS("Qbtrace:off");
    CLIENT_SAYS("m0,4");
    CLIENT_GOT("(none)");
    SERVER_GOT("(none)");
    ck_assert_int_eq(ask("qOurs"), BT_OK);
    SERVER_GOT("qOurs");
    SERVER_SAYS("1");
    LOG("'1';");
    target_hold_clients(f.r.t, true);
    SERVER_GOT("(none)");
    target_hold_clients(f.r.t, false);
    CLIENT_GOT("OK");
    HOST_LOG("disable 0;");
    SERVER_GOT("Hg1");
    SERVER_SAYS("OK");
    SERVER_GOT("m0,4");
    SERVER_SAYS("00000000");
    CLIENT_GOT("00000000");
    target_hold_clients(f.r.t, true);
    CLIENT_SAYS("Hg1");
    CLIENT_SAYS("c");
    SERVER_GOT("(none)");
    target_hold_clients(f.r.t, false);
    SERVER_GOT("Hg1");
    SERVER_SAYS("OK");
    CLIENT_GOT("OK");
    SERVER_GOT("c");
    SERVER_SAYS("S05");
    CLIENT_GOT("S05");
    /* A resume that waits does not make the cores run. */
    target_hold_clients(f.r.t, true);
    CLIENT_SAYS("c");
    ck_assert_int_eq(ask("qOurs"), BT_OK);
    SERVER_GOT("qOurs");
    SERVER_SAYS("2");
    target_hold_clients(f.r.t, false);
    SERVER_GOT("c");
    SERVER_SAYS("S05");
    CLIENT_GOT("S05");
    /* Nobody waits for ever when the other side is gone. */
    target_hold_clients(f.r.t, true);
    CLIENT_SAYS("Qbtrace:off");
    CLIENT_GOT("(none)");
    gdb_remote_disconnected(f.r.u);
    CLIENT_GOT("OK");
}
END_TEST

/* Threads of an operating system at the other side are no cores. */
START_TEST(unknown_threads)
{
    through("Hg2", "OK");
    through("Hg20001f30", "OK");
    through("g", "00");
    ours("Qbtrace:off", "OK");
    HOST_LOG("disable 1;");
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    SERVER_SAYS("T05thread:20001f30;");
    CLIENT_GOT("T05thread:20001f30;");
    LOG("resumed;stopped 0;");
    ours("Qbtrace:off", "OK");
    HOST_LOG("disable 1;");
}
END_TEST

/* More than the client takes is dropped, and no reply with it. */
START_TEST(endless_output)
{
    char output[2001];
    memset(output, '4', sizeof(output) - 1);
    output[0] = 'O';
    output[1999] = '\0';
    CLIENT_SAYS("c");
    SERVER_GOT("c");
    for (int i = 0; i < 2000; i++)
        SERVER_SAYS(output);
    ck_assert_uint_lt(f.session.sender.queue.len, (1u << 20) + 4096);
    SERVER_SAYS("S05");
    const char *got = fake_client_got(&f);
    ck_assert_str_eq(got + strlen(got) - 4, "|S05");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("gdb_remote_session");
    add(suite, "gdb_remote_session: packets go through", packets_go_through);
    add(suite, "gdb_remote_session: data goes through", data_goes_through);
    add(suite, "gdb_remote_session: features are merged", features);
    add(suite, "gdb_remote_session: a target without trace", features_without_trace);
    add(suite, "gdb_remote_session: branch trace is ours", trace_is_ours);
    add(suite, "gdb_remote_session: acknowledgements of each link", link_of_its_own);
    add(suite, "gdb_remote_session: extended mode, vRun, R", extended_mode);
    add(suite, "gdb_remote_session: own questions in between", own_questions_in_between);
    add(suite, "gdb_remote_session: run, interrupt, held stop", run_and_stop);
    add(suite, "gdb_remote_session: every way to run and to stop", ways_to_run);
    add(suite, "gdb_remote_session: changes are told", changes);
    add(suite, "gdb_remote_session: question from within an event", question_from_within_an_event);
    add(suite, "gdb_remote_session: monitor", monitor_commands);
    add(suite, "gdb_remote_session: files of the client", files_of_the_client);
    add(suite, "gdb_remote_session: files that QEMU asks for", files_asked_by_qemu);
    add(suite, "gdb_remote_session: packets ahead of answers", packets_ahead_of_answers);
    add(suite, "gdb_remote_session: the client waits for the cores", client_waits_for_the_cores);
    add(suite, "gdb_remote_session: threads that are no cores", unknown_threads);
    add(suite, "gdb_remote_session: endless output", endless_output);
    return suite;
}
