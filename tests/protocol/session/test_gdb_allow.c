/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/session/gdb_allow.c. */
#include "protocol/session/gdb_allow.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const known[] = {
    "!",
    "?",
    "g",
    "pf",
    "pffff",
    "m1000,4",
    "x1000,4",
    "G00xx",
    "P0=00000000",
    "M1000,1:00",
    "X1000,1:#",
    "Z0,8000,4",
    "z4,20000000,4",
    "Z1,9000,2;X3,220027",
    "c",
    "c8000",
    "s",
    "s8000",
    "C05",
    "C05;8000",
    "S05",
    "bc",
    "bs",
    "R00",
    "Hc-1",
    "Hgp1.2",
    "Hg0",
    "T2",
    "vCont?",
    "vCont;c",
    "vCont;s:p1.1;c",
    "vCont;r8000,8010:1;C05:p1.-1",
    "vFlashErase:8000,400",
    "vFlashWrite:8000:\x01}",
    "vFlashDone",
    "vMustReplyEmpty",
    "qAttached",
    "qAttached:1",
    "qC",
    "qCRC:0,100",
    "qOffsets",
    "qRcmd,7265736574",
    "qSearch:memory:0;100;abc",
    "qSupported",
    "qSupported:multiprocess+;xmlRegisters=i386;swbreak+",
    "qSymbol::",
    "qSymbol:8000:6d61696e",
    "qSymbol::6d61696e",
    "qTStatus",
    "qThreadExtraInfo,p1.1",
    "qXfer:features:read:target.xml:0,fff",
    "qXfer:features:read:arm-m_profile.xml:0,fff",
    "qXfer:memory-map:read::0,fff",
    "qXfer:threads:read::0,fff",
    "qfThreadInfo",
    "qsThreadInfo",
};

START_TEST(what_touches_cores_passes)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        ck_assert_msg(gdb_may_pass(known[i], strlen(known[i])), "%s", known[i]);
}
END_TEST

/* Each of them does something to the machine of some server. */
START_TEST(what_touches_the_machine_does_not)
{
    static const char *const packets[] = {
        "",
        "p10000",
        "p80000000",
        "pffffffffffffffff",
        "P80000000=00000000",
        "vRun;2f62696e2f7368",
        "vRun;",
        "vRun",
        "vAttach;1",
        "vKill;1",
        "vFile:open:2f,0,0",
        "vFile:setfs:0",
        "vFile:unlink:2f",
        "qXfer:exec-file:read:1:0,fff",
        "qXfer:features:read:/etc/passwd:0,fff",
        "qXfer:features:read:../x:0,fff",
        "qXfer:features:write:target.xml:0:00",
        "qXfer:auxv:read::0,fff",
        "qXfer:siginfo:write::0:00",
        "qXfer:osdata:read:processes:0,fff",
        "qXfer:libraries-svr4:read::0,fff",
        "QTSave:/tmp/x",
        "QTStart",
        "QTDP:1:0:E:0:0",
        "QEnvironmentHexEncoded:61",
        "QSetWorkingDir:2f",
        "QStartupWithShell:1",
        "QNonStop:1",
        "QPassSignals:e",
        "QThreadEvents:1",
        "QCatchSyscalls:1",
        "qqemu.sstepbits",
        "qqemu.PhyMemMode",
        "Qqemu.sstep=1",
        "Qqemu.PhyMemMode:1",
        "Qqemu.made-up",
        "jThreadsInfo",
        "A3,0,6c73",
        "A",
        "B8000,S",
        "b9600",
        "d",
        "i",
        "r",
        "t0:0,0",
        "g0",
        "gdb",
        "m",
        "m1000",
        "m1000,4;ls",
        "Z0,8000,4;cmds:0,X1,00",
        "c;ls",
        "vCont;c&ls",
        "vCont;c\n",
        "T",
        "H",
        "qCx",
        "qRcmd,zz",
        "qRcmd",
        "qThreadExtraInfo,$(ls)",
        "qSupported:`ls`",
        "F5",
        "D",
        "k",
        "P0=;ls",
    };
    for (size_t i = 0; i < sizeof(packets) / sizeof(*packets); i++)
        ck_assert_msg(!gdb_may_pass(packets[i], strlen(packets[i])), "%s", packets[i]);
    ck_assert(!gdb_may_pass("g\0", 2));
}
END_TEST

/* Made-up packets that begin as a known one and go on as none: never one with a path in it. */
START_TEST(made_up_packets_do_not_pass)
{
    const char *given = getenv("BTRACED_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
    fprintf(stderr, "gdb_allow: BTRACED_SEED=%u\n", seed);
    srand(seed);
    for (int i = 0; i < 100000; i++) {
        const char *from = known[(size_t)rand() % (sizeof(known) / sizeof(*known))];
        char text[100];
        size_t n = (size_t)rand() % (strlen(from) + 1);
        if (memchr(from, ':', n) && (*from == 'v' || *from == 'X' || *from == 'q') &&
            (strstr(from, "Write") || strstr(from, "Search") || *from == 'X'))
            continue; /* bytes of memory may be anything */
        int len = snprintf(text, sizeof(text), "%.*s/%s", (int)n, from,
                           known[(size_t)rand() % (sizeof(known) / sizeof(*known))]);
        ck_assert_msg(!gdb_may_pass(text, (size_t)len), "%s", text);
    }
}
END_TEST

START_TEST(features_that_may_be_told)
{
    static const char *const good[] = {"multiprocess+", "qXfer:features:read+", "hwbreak+",
                                       "vContSupported+"};
    static const char *const bad[] = {"qXfer:exec-file:read+",
                                      "QNonStop+",
                                      "Qbtrace:pt+",
                                      "QStartNoAckMode+",
                                      "BreakpointCommands+",
                                      "vFile+",
                                      ""};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        ck_assert(gdb_may_pass_feature(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ck_assert(!gdb_may_pass_feature(bad[i], strlen(bad[i])));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("gdb_allow");
    unit_case(s, "gdb_allow: what touches cores passes", what_touches_cores_passes);
    unit_case(s, "gdb_allow: what touches the machine does not", what_touches_the_machine_does_not);
    unit_case(s, "gdb_allow: made-up packets do not pass", made_up_packets_do_not_pass);
    unit_case(s, "gdb_allow: features that may be told", features_that_may_be_told);
    return s;
}
