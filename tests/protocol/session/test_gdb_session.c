/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_session.c, gdb_reply.c, gdb_query.c, gdb_data.c, gdb_threads.c. */
/* Packets of a GDB session: features, threads, registers, memory, breakpoints, console. */
#include <stdio.h>
#include <stdlib.h>
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

/* Starts over with the target as the test has changed it. */
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

START_TEST(features_of_a_full_target)
{
    ASK("qSupported:multiprocess+;swbreak+;hwbreak+;xmlRegisters=i386",
        "PacketSize=4000;QStartNoAckMode+;vContSupported+;qXfer:features:read+;"
        "qXfer:threads:read+;binary-upload+;qXfer:memory-map:read+;swbreak+;hwbreak+;"
        "Qbtrace:bts+;Qbtrace:off+;Qbtrace-conf:bts:size+;qXfer:btrace:read+;"
        "qXfer:btrace-conf:read+;ReverseStep+;ReverseContinue+");
    ck_assert_ptr_nonnull(strstr(fake_ask(&w, "qSupported"), "PacketSize=4000"));
    ASK("qSupported+", "E01");
}
END_TEST

static void take_btrace_away(void)
{
    struct gdb_host *t = &w.target.host;
    t->btrace_enable = NULL;
    t->btrace_disable = NULL;
    t->btrace_set_size = NULL;
    t->btrace_conf = NULL;
    t->btrace_read = NULL;
    t->btrace_delivered = NULL;
}

START_TEST(features_of_a_bare_target)
{
    take_btrace_away();
    w.target.ops.memory_map = NULL;
    w.target.ops.writable = false;
    w.target.no_breakpoints = true;
    w.target.host = (struct gdb_host){.monitor = NULL};
    reopen();
    ASK("qSupported:swbreak+",
        "PacketSize=4000;QStartNoAckMode+;vContSupported+;"
        "qXfer:features:read+;qXfer:threads:read+;binary-upload+;swbreak+;hwbreak+");
    static const char *const unknown[] = {
        "qXfer:memory-map:read::0,100",
        "qXfer:btrace:read:all:0,100",
        "qXfer:btrace-conf:read::0,100",
        "Qbtrace:bts",
        "Qbtrace:off",
        "Qbtrace-conf:bts:size=0x1000",
        "Z0,1000,4",
        "z0,1000,4",
    };
    EXPECT_ALL(unknown, "");
    ASK("X20000000,0:", "E.not supported");
    w.target.result = BT_ERR_UNSUPPORTED;
    ASK("P0=00000000", "E.not supported");
    ASK("M20000000,1:00", "E.not supported");
}
END_TEST

START_TEST(incomplete_hosts)
{
    struct gdb_session s;
    const struct gdb_host full = w.target.host;
    struct gdb_host h = full;
    h.btrace_read = NULL;
    ck_assert_int_eq(
        gdb_session_init(&s, &w.target.target, &h, &w.target, GDB_CONTROLS, "", NULL, NULL),
        BT_ERR_INVAL);
    h = full;
    h.reverse_memory = NULL;
    ck_assert_int_eq(
        gdb_session_init(&s, &w.target.target, &h, &w.target, GDB_CONTROLS, "", NULL, NULL),
        BT_ERR_INVAL);
}
END_TEST

START_TEST(unknown_packets)
{
    static const char *const unknown[] = {
        "vMustReplyEmpty",
        "",
        "qTStatus",
        "qOffsets",
        "QNonStop:0",
        "qCRC:0,10",
        "vFile:setfs:0",
        "vCtrlC",

        "qTsP",
        "qL00",
        "QPassSignals:e",
        "b",
        "bx",
        "qfThreadInfo1",
        "QStartNoA",
        "_M",
        "qXfer:auxv:read::0,1000",
    };
    EXPECT_ALL(unknown, "");
    ck_assert_str_eq(fake_ask_bytes(&w, "\0\xff", 2), "");
}
END_TEST

START_TEST(oversize_packet)
{
    size_t len = GDB_PACKET_SIZE + 1;
    char *payload = malloc(len);
    memset(payload, 'm', len);
    ck_assert_str_eq(fake_ask_bytes(&w, payload, len), "E.the packet is longer than PacketSize");
    free(payload);
    ASK("qC", "QC1");
}
END_TEST

START_TEST(bad_checksum_with_and_without_acks)
{
    gdb_session_input(&w.session, "$qC#00", 6);
    ck_assert_str_eq(w.sent.data, "-");
    ck_assert_str_eq(fake_replies(&w), "(none)");
    ASK("QStartNoAckMode", "OK");
    w.no_ack = true;
    gdb_session_input(&w.session, "$qC#00", 6);
    ck_assert_str_eq(fake_replies(&w), "E01");
    gdb_session_input(&w.session, "+$qC#b4", 7);
    ck_assert_str_eq(w.sent.data, "$QC1#c5");
}
END_TEST

START_TEST(frame_is_sent_again)
{
    gdb_session_input(&w.session, "$qC#b4", 6);
    ck_assert_str_eq(w.sent.data, "+$QC1#c5");
    gdb_session_input(&w.session, "-", 1);
    ck_assert_str_eq(w.sent.data, "+$QC1#c5$QC1#c5");
    gdb_session_input(&w.session, "+-", 2);
    ck_assert_str_eq(w.sent.data, "+$QC1#c5$QC1#c5");
    /* A client that never acknowledges is answered all the same. */
    text_buf_clear(&w.sent);
    gdb_session_input(&w.session, "$qC#b4$qC#b4", 12);
    ck_assert_str_eq(w.sent.data, "+$QC1#c5+$QC1#c5");
    for (int i = 0; i < 1000; i++)
        gdb_session_input(&w.session, "-", 1);
    ck_assert_int_eq(gdb_session_state(&w.session), GDB_SESSION_FAILED);
    ck_assert_uint_lt(w.sent.len, 1000);
}
END_TEST

START_TEST(thread_lists)
{
    ASK("qfThreadInfo", "m1,2");
    ASK("qsThreadInfo", "l");
    ASK("qXfer:threads:read::0,1000",
        "l<?xml version=\"1.0\"?>\n<threads>\n"
        "<thread id=\"1\" core=\"0\" name=\"A9 #0\" id_str=\"core 0\"></thread>\n"
        "<thread id=\"2\" core=\"1\" name=\"A9 &lt;#1&gt;\" id_str=\"core 1\">"
        "at &quot;216&quot;</thread>\n</threads>\n");
    ASK("qThreadExtraInfo,1", "4139202330");
    ASK("qThreadExtraInfo,2", "4139203c23313e3a2061742022323136"
                              "22");
    static const char *const bad[] = {
        "qThreadExtraInfo",    "qThreadExtraInfo,",   "qThreadExtraInfo,3",
        "qThreadExtraInfo,1x", "qThreadExtraInfo,-1",
    };
    EXPECT_ALL(bad, "E01");
}
END_TEST

START_TEST(choice_of_threads)
{
    ASK("qC", "QC1");
    ASK("Hg2", "OK");
    ASK("qC", "QC2");
    ASK("p3", "03010000");
    ASK("Hgp1.1", "OK");
    ASK("p3", "03000000");
    ASK("Hg2", "OK");
    ASK("Hg-1", "OK");
    ASK("qC", "QC2");
    /* Thread 0 is that of the last stop. */
    ASK("Hg0", "OK");
    ASK("qC", "QC1");
    w.target.stop.core = 1;
    ASK("vCont;c", "T05thread:2;");
    ASK("qC", "QC2");
    ASK("Hg1", "OK");
    ASK("Hg0", "OK");
    ASK("qC", "QC2");
    static const char *const good[] = {"Hc-1", "Hc0", "Hc1", "Hcp1.-1", "T1", "T2", "Tp1.2"};
    EXPECT_ALL(good, "OK");
    static const char *const bad[] = {"H",    "Hg",  "Hc",    "Hx1", "Hg3",
                                      "Hg-2", "Hgp", "Hgp1.", "Hc9", "Hg1,",
                                      "T",    "T3",  "T-1",   "T1 ", "Hgfffffffff"};
    EXPECT_ALL(bad, "E01");
}
END_TEST

START_TEST(registers_read)
{
    w.target.regs[0].value[13] = 0x12345678;
    w.target.regs[0].known = (1u << TARGET_REG_COUNT) - 1 - (1u << 2);
    ASK("g", "0000000001000000xxxxxxxx0300000004000000050000000600000007000000"
             "08000000090000000a0000000b0000000c000000785634120e0000000f00000010000000");
    ASK("pd", "78563412");
    ASK("p19", "10000000");
    ASK("p10", "10000000");
    ASK("p2", "xxxxxxxx");
    w.target.big_endian = true;
    ASK("pd", "12345678");
    static const char *const bad[] = {"g0", "p", "p11", "p1a", "p-1", "px", "p1,", "pffffffff"};
    EXPECT_ALL(bad, "E01");
    w.target.result = BT_ERR_IO;
    ASK("g", "E05");
    ASK("p0", "E05");
    w.target.why = "the cable is out";
    ASK("g", "E.the cable is out");
    ASK("p0", "E.the cable is out");
    ASK("p11", "E01");
}
END_TEST

START_TEST(registers_written)
{
    ASK("P3=78563412", "OK");
    ASK("P19=00000060", "OK");
    LOG("reg 0 3 12345678;reg 0 16 60000000;");
    w.target.big_endian = true;
    ASK("Hg2", "OK");
    ASK("Pf=12345678", "OK");
    LOG("reg 1 15 12345678;");
    char all[1 + 17 * 8 + 1] = "G";
    for (int i = 0; i < 17; i++)
        snprintf(all + 1 + 8 * i, 9, i == 5 || i > 6 ? "xxxxxxxx" : "0000000%x", i);
    ASK(all, "OK");
    LOG("reg 1 0 0;reg 1 1 1;reg 1 2 2;reg 1 3 3;reg 1 4 4;reg 1 6 6;");
    static const char *const bad[] = {"P",           "P3",         "P3=",           "P3=123456",
                                      "P3=1234567x", "P11=000000", "P3=1234567890", "G",
                                      "G00000000",   "P=00000000"};
    EXPECT_ALL(bad, "E01");
    LOG("");
    w.target.result = BT_ERR_INVAL;
    w.target.why = "replay positions are read-only";
    ASK("P3=78563412", "E.replay positions are read-only");
    ASK(all, "E.replay positions are read-only");
    LOG("reg 1 3 78563412;reg 1 0 0;reg 1 1 1;reg 1 2 2;reg 1 3 3;reg 1 4 4;reg 1 6 6;");
}
END_TEST

START_TEST(further_registers_read)
{
    const char *core = "00000000010000000200000003000000040000000500000006000000070000000800000009"
                       "0000000a0000000b0000000c0000000d0000000e0000000f00000010000000";
    char all[256];
    ASK("p1a", "E01");
    w.target.extra_count = 3;
    snprintf(all, sizeof(all), "%s%s", core, "4433221101efcdab8967452301");
    ASK("g", all);
    ASK("p1a", "44332211");
    ASK("p1b", "01");
    ASK("p1c", "efcdab8967452301");
    ASK("p1d", "E01");
    ASK("p18", "E01");
    const struct target_regs regs = w.target.regs[0];
    w.target.regs[0].extra_known = 0;
    snprintf(all, sizeof(all), "%s%s", core, "xxxxxxxxxxxxxxxxxxxxxxxxxx");
    ASK("g", all);
    ASK("p1b", "xx");
    w.target.regs[0] = regs;
    w.target.result = BT_ERR_IO;
    ASK("g", "E05");
    ASK("p1b", "E05");
    w.target.why = "no FPU";
    ASK("g", "E.no FPU");
    ASK("p1b", "E.no FPU");
    w.target.result = BT_OK;
    w.target.big_endian = true;
    ASK("p1a", "11223344");
    ASK("p1c", "0123456789abcdef");
}
END_TEST

START_TEST(further_registers_written)
{
    char all[1 + 17 * 8 + 26 + 2] = "G";
    w.target.extra_count = 3;
    ASK("P1a=78563412", "OK");
    ASK("P1b=01", "OK");
    ASK("P1c=efcdab8967452301", "OK");
    LOG("extra 0 0 12345678;extra 0 1 1;extra 0 2 123456789abcdef;");
    static const char *const bad[] = {"P1a=7856341", "P1b=0100", "P1c=00000000", "P1d=00000000"};
    EXPECT_ALL(bad, "E01");
    memset(all + 1, 'x', 17 * 8);
    ASK(all, "OK");
    LOG("");
    strcat(all, "xxxxxxxx02efcdab8967452301");
    ASK(all, "OK");
    LOG("extra 0 1 2;extra 0 2 123456789abcdef;");
    all[strlen(all) - 1] = '\0';
    ASK(all, "E01");
    w.target.result = BT_ERR_UNSUPPORTED;
    ASK("P1a=78563412", "E.not supported");
}
END_TEST

START_TEST(flash)
{
    ASK("vFlashErase:08000000,00004000", "OK");
    ck_assert_str_eq(fake_ask_bytes(&w, "vFlashWrite:08000000:a:,", 24), "OK");
    ASK("vFlashDone", "OK");
    LOG("erase 8000000 4000;flash 8000000 613a2c;done;");
    static const char *const bad[] = {"vFlashErase:",           "vFlashErase:0,0",
                                      "vFlashErase:x,4",        "vFlashErase:8000000",
                                      "vFlashErase:8000000,4;", "vFlashErase:ffffffffffffffff,4",
                                      "vFlashWrite:",           "vFlashWrite:8000000",
                                      "vFlashWrite:8000000:",   "vFlashDone:"};
    EXPECT_ALL(bad, "E01");
    LOG("");
    w.target.result = BT_ERR_IO;
    w.target.why = "the sector is protected";
    ASK("vFlashErase:08000000,4000", "E.the sector is protected");
    ASK("vFlashWrite:08000000:a", "E.the sector is protected");
    ASK("vFlashDone", "E.the sector is protected");
    w.target.no_flash = true;
    w.target.why = NULL;
    static const char *const unknown[] = {"vFlashErase:0,4", "vFlashWrite:0:a", "vFlashDone"};
    EXPECT_ALL(unknown, "");
}
END_TEST

START_TEST(memory_read)
{
    ASK("m20000010,4", "10111213");
    ASK("m20002ffe,40", "feff");
    ck_assert_uint_eq(strlen(fake_ask(&w, "m20000000,ffffffff")), GDB_PACKET_SIZE);
    ASK("m20003000,1", "E0e");
    ASK("mffffffffffffffff,ffffffffffffffff", "E0e");
    static const char *const bad[] = {
        "m",           "m20000000",    "m20000000,",   "m20000000,x",         "m,4",
        "m20000000,0", "m20000000,4:", "m0x2000000,4", "m12345678901234567,1"};
    EXPECT_ALL(bad, "E01");
}
END_TEST

/* Announced by binary-upload+: GDB 16 and later, and LLDB 21, then read by nothing else. */
START_TEST(memory_read_binary)
{
    ASK("x20000021,5", "b!\"#$%");
    ASK("x2000007c,3", "b|}~");
    ASK("x20002ffe,40", "b\xfe\xff");
    gdb_session_input(&w.session, "$x20000000,ffffffff#00", 22); /* bad checksum: asked again */
    ck_assert_str_eq(fake_replies(&w), "(none)");
    ASK("x20003000,1", "E0e");
    ASK("x0,0", "");
    static const char *const bad[] = {"x", "x20000000", "x20000000,", "x,4", "x20000000,4:"};
    EXPECT_ALL(bad, "E01");
}
END_TEST

/* As much as a packet holds, whatever has to be escaped. */
START_TEST(memory_read_binary_whole)
{
    memset(w.target.memory, '}', sizeof w.target.memory);
    size_t n = strlen(fake_ask(&w, "x20000000,ffffffff"));
    ck_assert_uint_gt(n, GDB_PACKET_SIZE / 2 - 16);
    ck_assert_uint_le(2 * n, GDB_PACKET_SIZE);
}
END_TEST

/* LLDB names itself by what GDB never asks. */
START_TEST(what_lldb_asks)
{
    ASK("QThreadSuffixSupported", "");
    ASK("qHostInfo", "triple:61726d76372d6e6f6e652d65616269;ptrsize:4;endian:little;");
    w.target.profile = TARGET_PROFILE_M;
    ASK("qHostInfo", "cputype:12;cpusubtype:15;ptrsize:4;endian:little;");
    w.target.profile = TARGET_PROFILE_A64;
    w.target.big_endian = true;
    ASK("qHostInfo", "triple:616172636836342d6e6f6e652d656c66;ptrsize:8;endian:big;");
    static const char *const empty[] = {
        "QListThreadsInStopReply", "qProcessInfo", "qVAttachOrWaitSupported", "QEnableErrorStrings",
        "qStructuredDataPlugins",  "jThreadsInfo", "jThreadExtendedInfo:",    "qThreadStopInfo1",
        "qMemoryRegionInfo:0",     "qOffsets",     "qRegisterInfo0",
    };
    EXPECT_ALL(empty, "");
}
END_TEST

START_TEST(memory_written)
{
    ASK("M20000100,3:a1B2c3", "OK");
    ASK("m20000100,4", "a1b2c303");
    ck_assert_str_eq(fake_ask_bytes(&w, "X20000200,4:#$}\0", 16), "OK");
    ASK("m20000200,4", "23247d00");
    ASK("X20000200,0:", "OK");
    LOG("write 0 20000100 3;write 0 20000200 4;");
    static const char *const bad[] = {"M",
                                      "M20000000,1",
                                      "M20000000,1:",
                                      "M20000000,1:0",
                                      "M20000000,1:000",
                                      "M2000000,1:x",
                                      "X",
                                      "X20000000,2:a",
                                      "X20000000,0:a",
                                      "X20000000",
                                      "M20000000,ffffffffffffffff:00",
                                      "Mffffffff"};
    EXPECT_ALL(bad, "E01");
    LOG("");
    ASK("M0,1:00", "E.no such position or address");
    w.target.result = BT_ERR_INVAL;
    w.target.why = "bytes $#*} refused\n";
    ASK("M20000000,1:00", "E.bytes ???? refused?");
}
END_TEST

START_TEST(breakpoints)
{
    ASK("Z0,60010060,4", "OK");
    ASK("Z2,20000000,8", "OK");
    ASK("z0,60010060,4", "OK");
    LOG("insert 0 0 60010060 4;insert 0 2 20000000 8;remove 0 0 60010060 4;");
    static const char *const bad[] = {"Z",      "Z0",       "Z0,",       "Z0,100", "Z0,100,",
                                      "Z5,0,4", "Z0,100,x", "z0,100,2,", "z",      "Z0,100,2;X1,0",
                                      "Zx,1,2", "Z1,,2"};
    EXPECT_ALL(bad, "E01");
    w.target.result = BT_ERR_UNSUPPORTED;
    ASK("Z3,100,4", "");
    w.target.result = BT_ERR_RANGE;
    w.target.why = "6 comparators are in use";
    ASK("Z1,100,4", "E.6 comparators are in use");
    ASK("z1,100,4", "E.6 comparators are in use");
}
END_TEST

START_TEST(console_commands)
{
    ASK("qRcmd,68656c70", "O6f6e650a|O74776f0a|OK");
    ASK("qRcmd,7822", "O756e6b6e6f776e20636f6d6d616e642027|O7822|"
                      "O272c2074727920276d6f6e69746f722068656c70270a|OK");
    w.target.result = BT_ERR_IO;
    ASK("qRcmd,", "O696e7075742f6f7574707574206572726f72|O0a|OK");
    LOG("monitor 0 'help';monitor 0 'x\"';command 'x\"';monitor 0 '';");
    w.target.result = BT_OK;
    ASK("qRcmd,736179", "O736169640a|OK");
    LOG("monitor 0 'say';command 'say';");
    static const char *const bad[] = {"qRcmd", "qRcmd,6", "qRcmd,zz", "qRcmd,6100", "qRcmd,68656"};
    EXPECT_ALL(bad, "E01");
    LOG("");
}
END_TEST

START_TEST(target_descriptions)
{
    const char *text = fake_ask(&w, "qXfer:features:read:target.xml:0,3fff");
    ck_assert_int_eq(text[0], 'l');
    ck_assert_ptr_nonnull(strstr(text, "<feature name=\"org.gnu.gdb.arm.core\">"));
    ck_assert_ptr_nonnull(strstr(text, "<reg name=\"cpsr\" bitsize=\"32\" regnum=\"25\"/>"));
    ck_assert_ptr_nonnull(strstr(text, "name=\"r12\""));
    ck_assert_ptr_null(strstr(text, "xpsr"));
    w.target.profile = TARGET_PROFILE_M;
    text = fake_ask(&w, "qXfer:features:read:target.xml:0,3fff");
    ck_assert_ptr_nonnull(strstr(text, "<feature name=\"org.gnu.gdb.arm.m-profile\">"));
    ck_assert_ptr_nonnull(strstr(text, "<reg name=\"xpsr\" bitsize=\"32\" regnum=\"25\"/>"));
    ck_assert_ptr_null(strstr(text, "cpsr"));
    ck_assert_ptr_null(strstr(text, "m-system"));
    w.target.extra_count = 3;
    text = fake_ask(&w, "qXfer:features:read:target.xml:0,3fff");
    ck_assert_ptr_nonnull(
        strstr(text, "</feature>\n<feature name=\"org.gnu.gdb.arm.m-system\">\n"
                     "<reg name=\"control\" bitsize=\"32\" type=\"uint32\" regnum=\"26\"/>\n"
                     "<reg name=\"primask\" bitsize=\"8\" type=\"uint8\" regnum=\"27\"/>\n"
                     "</feature>\n<feature name=\"org.gnu.gdb.arm.vfp\">\n"
                     "<reg name=\"d0\" bitsize=\"64\" type=\"ieee_double\" regnum=\"28\"/>\n"
                     "</feature>\n</target>\n"));
}
END_TEST

START_TEST(memory_maps)
{
    static const struct target_region regions[] = {
        {TARGET_REGION_RAM, 0x20000000, 0x3000, 0},
        {TARGET_REGION_FLASH, 0x8000000, 0x100000, 0x4000},
        {TARGET_REGION_ROM, 0xfffff000, 0x1000, 0},
    };
    w.target.regions = regions;
    w.target.region_count = 3;
    const char *text = fake_ask(&w, "qXfer:memory-map:read::0,1000");
    ck_assert_ptr_nonnull(strstr(text, "<memory type=\"ram\" start=\"0x20000000\""
                                       " length=\"0x3000\"/>\n<memory type=\"flash\""
                                       " start=\"0x8000000\" length=\"0x100000\">\n"
                                       "<property name=\"blocksize\">0x4000</property>\n"
                                       "</memory>\n<memory type=\"rom\" start=\"0xfffff000\""
                                       " length=\"0x1000\"/>\n</memory-map>\n"));
    w.target.region_count = 0;
    text = fake_ask(&w, "qXfer:memory-map:read::0,1000");
    ck_assert_ptr_nonnull(strstr(text, "<memory-map>\n</memory-map>\n"));
}
END_TEST

START_TEST(malformed_qxfer)
{
    static const char *const bad[] = {
        "qXfer:features",
        "qXfer:features:",
        "qXfer:features:read",
        "qXfer:features:read:",
        "qXfer:features:read:target.xml",
        "qXfer:features:read:target.xml:",
        "qXfer:features:read:target.xml:0",
        "qXfer:features:read:target.xml:0,",
        "qXfer:features:read:target.xml:,100",
        "qXfer:features:read:target.xml:0,0",
        "qXfer:features:read:target.xml:0,100;",
        "qXfer:features:read:other.xml:0,100",
        "qXfer:features:read::0,100",
        "qXfer:features:write:target.xml:0:abc",
        "qXfer:threads:read:x:0,100",
        "qXfer:",
    };
    EXPECT_ALL(bad, "E01");
    ASK("qXfer:features:read:target.xml:ffffffffffffffff,100", "l");
    ASK("qXfer:nothing:read::0,100", "");
}
END_TEST

START_TEST(small_queries)
{
    ASK("qAttached", "1");
    ASK("qAttached:a410", "1");
    ASK("qSymbol::", "OK");
    ASK("qSymbol:0:6d61696e", "OK");
    ck_assert(!gdb_session_extended(&w.session));
    ASK("!", "OK");
    ck_assert(gdb_session_extended(&w.session));
    static const char *const bad[] = {"qAttachedx", "qAttached:", "qSymbol", "!x", "?x"};
    EXPECT_ALL(bad, "E01");
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
    Suite *suite = suite_create("gdb_session");
    add(suite, "gdb_session: features of a full target", features_of_a_full_target);
    add(suite, "gdb_session: features of a bare target", features_of_a_bare_target);
    add(suite, "gdb_session: incomplete hosts are refused", incomplete_hosts);
    add(suite, "gdb_session: unknown packets get an empty reply", unknown_packets);
    add(suite, "gdb_session: oversize packet", oversize_packet);
    add(suite, "gdb_session: bad checksum", bad_checksum_with_and_without_acks);
    add(suite, "gdb_session: '-' brings the last frame again", frame_is_sent_again);
    add(suite, "gdb_session: thread lists", thread_lists);
    add(suite, "gdb_session: Hg, Hc, T and thread 0", choice_of_threads);
    add(suite, "gdb_session: g and p", registers_read);
    add(suite, "gdb_session: G and P", registers_written);
    add(suite, "gdb_session: further registers read", further_registers_read);
    add(suite, "gdb_session: further registers written", further_registers_written);
    add(suite, "gdb_session: flash", flash);
    add(suite, "gdb_session: m, also short and unreadable", memory_read);
    add(suite, "gdb_session: memory is read in binary, too", memory_read_binary);
    add(suite, "gdb_session: a binary read fits into a packet", memory_read_binary_whole);
    add(suite, "gdb_session: what LLDB asks", what_lldb_asks);
    add(suite, "gdb_session: M and X", memory_written);
    add(suite, "gdb_session: Z and z", breakpoints);
    add(suite, "gdb_session: qRcmd", console_commands);
    add(suite, "gdb_session: target.xml of both profiles", target_descriptions);
    add(suite, "gdb_session: memory map", memory_maps);
    add(suite, "gdb_session: malformed qXfer", malformed_qxfer);
    add(suite, "gdb_session: small queries", small_queries);
    return suite;
}
