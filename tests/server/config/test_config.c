/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/config/config.c, config_check.c, config_core.c, config_file.c, config_keys.c,
 * config_parser.c, config_value.c. */
#include "server/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config/config_keys.h"
#include "server/protocols/source_device.h"
#include "tests/support/unit_main.h"

#define TARGET "[target]\nconnect = :1234\n"               /* lines 1-2 */
#define TRACE  "[trace]\nconnect = :5678\nformat = tpiu\n" /* lines 3-5 */
#define CORE                                                                                       \
    "[core cpu0]\ntype = Cortex-A9\nsource = PTM1.0\nETMCR = 0x20000000\nETMIDR = 0x411CF301\n"    \
    "ETMCCER = 0x00C018EA\nETMTRACEIDR = 0x10\n" /* lines 6-12 */
#define BOARD TARGET TRACE CORE

static const struct config_names names = {.run = "/run/x", .plugin = "/lib/board.so"};
static struct config config;
static struct message why;

static int parse(const char *text)
{
    return config_parse(&config, text, strlen(text), "dir/b.conf", &names, &why);
}

static void take(const char *text)
{
    int error = parse(text);
    ck_assert_msg(error == 0, "%s", why.text);
}

/* The text is refused with this message, or one that begins with it if it ends in "...". */
static void refuse(const char *text, const char *message)
{
    size_t n = strlen(message);
    bool open = n > 3 && strcmp(message + n - 3, "...") == 0;
    ck_assert_int_eq(parse(text), BT_ERR_FORMAT);
    if (open)
        ck_assert_msg(strncmp(why.text, message, n - 3) == 0, "%s", why.text);
    else
        ck_assert_str_eq(why.text, message);
    config_release(&config);
}

/* All mistakes at once. */

static struct {
    unsigned count;
    char text[4096]; /* a line each */
} mistakes;

static void on_mistake(void *ctx, const char *text)
{
    size_t used = strlen(mistakes.text);
    ck_assert_ptr_eq(ctx, &mistakes);
    mistakes.count++;
    snprintf(mistakes.text + used, sizeof mistakes.text - used, "%s\n", text);
}

static void collect(const char *text)
{
    static const struct config_names told = {
        .run = "/run/x", .plugin = "/lib/board.so", .mistake = on_mistake, .ctx = &mistakes};
    memset(&mistakes, 0, sizeof mistakes);
    int error = config_parse(&config, text, strlen(text), "b.conf", &told, &why);
    ck_assert_int_eq(error, mistakes.count ? BT_ERR_FORMAT : BT_OK);
    ck_assert_msg(!mistakes.count || strncmp(mistakes.text, why.text, strlen(why.text)) == 0,
                  "'%s' is not the first", why.text);
    config_release(&config);
}

/* A good value and a bad one for each of these lines: whichever are bad, each is named, and nothing
 * else is. */
START_TEST(all_mistakes)
{
    static const struct {
        const char *before, *good, *bad;
    } parts[] = {
        {"[target]\nconnect = ", ":1234", "1:2:3"},
        {"\ndeadline = ", "3000", "1"},
        {"\n[trace]\nconnect = :5678\nformat = ", "tpiu", "tpui"},
        {"\n[history]\nmemory = ", "1M", "1"},
        {"\n[gdb]\nlisten = ", ":3333", "192.0.2.1:3333"},
        {"\n[core a]\nsource = PTM1.1\nETMCR = 0\nETMIDR = 0x411CF312\n"
         "ETMCCER = 0x00C018EA\nETMTRACEIDR = 0x10\ntype = ",
         "Cortex-A9", "Cortex-A99"},
        {"\n[core b]\ntype = Cortex-A9\nthread = ", "7", "x"},
    };
    enum { PARTS = sizeof parts / sizeof *parts };
    char alone[PARTS][600], text[1000];
    for (unsigned round = 0; round <= PARTS; round++) {
        unsigned first = round < PARTS ? 1u << round : 0;
        unsigned last = round < PARTS ? first : (1u << PARTS) - 1;
        for (unsigned bad = first; bad <= last; bad++) {
            unsigned wanted = 0;
            size_t n = 0;
            for (unsigned i = 0; i < PARTS; i++)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", parts[i].before,
                                      bad >> i & 1 ? parts[i].bad : parts[i].good);
            collect(text);
            if (round < PARTS) {
                ck_assert_msg(mistakes.count == 1, "%s gives %s", text, mistakes.text);
                snprintf(alone[round], sizeof *alone, "%.599s", mistakes.text);
                continue;
            }
            for (unsigned i = 0; i < PARTS; i++) {
                wanted += bad >> i & 1;
                ck_assert_msg(!(bad >> i & 1) || strstr(mistakes.text, alone[i]),
                              "%s gives %s, and not %s", text, mistakes.text, alone[i]);
            }
            ck_assert_msg(mistakes.count == wanted, "%s gives %s", text, mistakes.text);
        }
    }
}
END_TEST

/* What sections together must fulfil, and lines behind a broken header. */
START_TEST(all_mistakes_together)
{
    collect("[target]\nconnect = :1\ncommand = x\n[probe]\ntype = cmsis-dap\nchannel = A\n"
            "jtag_chain = 4\n[trace]\nsink = swo\ntpiu_width = 1\n[core a]\ntype = Cortex-M3\n");
    ck_assert_uint_eq(mistakes.count, 7);
    ck_assert_ptr_nonnull(strstr(mistakes.text, "b.conf:2: connect: "));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "b.conf:3: command: "));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "b.conf:6: channel: "));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "b.conf:7: jtag_chain: "));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "[trace] swo_rate: is missing"));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "[trace] trace_clock: is missing"));
    ck_assert_ptr_nonnull(strstr(mistakes.text, "b.conf:10: tpiu_width: "));
    collect("[trgaet]\nconnect = :1\n[core a b]\ntype = x\n[core c]\ntype = y\n");
    ck_assert_uint_eq(mistakes.count, 3); /* the last one is the type */
    collect(BOARD "[history]\nmemory = 1\nno equals sign\ncheckpoint = 1\n");
    ck_assert_uint_eq(mistakes.count, 2);
}
END_TEST

START_TEST(defaults)
{
    take(BOARD);
    ck_assert_str_eq(config.path, "dir/b.conf");
    ck_assert_str_eq(config.name, "b");
    ck_assert_str_eq(config.description, "");
    ck_assert_int_eq(config.target.kind, ADDRESS_TCP);
    ck_assert_str_eq(config.target.host, "127.0.0.1");
    ck_assert_uint_eq(config.target.port, 1234);
    ck_assert_ptr_null(config.command);
    ck_assert_uint_eq(config.trace.port, 5678);
    ck_assert(!config.trace_listens && config.formatted && !config.backpressure);
    ck_assert_int_eq(config.mode, FORMATTER_SYNC);
    ck_assert_uint_eq(config_snapshot(&config), CONFIG_SNAPSHOT_OFF);
    ck_assert_int_eq(config.control.kind, ADDRESS_NONE);
    ck_assert_uint_eq(config.ring, 16u << 20);
    ck_assert_uint_eq(config.threads, 0);
    ck_assert_uint_eq(config.drain_ms, 200);
    ck_assert_uint_eq(config.deadline_ms, 3000);
    ck_assert_uint_eq(config.connect_timeout, 0);
    ck_assert_uint_eq(config.memory, 64u << 20);
    ck_assert_uint_eq(config.checkpoint, 64u << 10);
    ck_assert_str_eq(config.access.listen[0].address.host, "127.0.0.1");
    ck_assert_uint_eq(config.access.listen[0].address.port, 3333);
    ck_assert_str_eq(config.record_dir, "");
    config_release(&config);
}
END_TEST

START_TEST(every_key)
{
    take("[board]\nname = n\ndescription = a board\n"
         "[target]\nconnect = unix:$RUN/gdb\ncommand = a \"b c\"\nreset = system_reset\n"
         "[trace]\nlisten = unix:$RUN/trace\ncontrol = [::1]:7\nformat = frames\nring = 0x100K\n"
         "threads = 3\ndrain_ms = 0\nbackpressure = yes\n"
         "[history]\nmemory = 2G\ncheckpoint = 8k\n[gdb]\nlisten = [::1]:0\n"
         "[record]\ndir = $DIR/rec\n"
         "[core a]\ntype = Cortex-A8\nprogram = $DIR/a.elf\nthread = 7\nSCTLR = 0x2000\n" CORE);
    ck_assert_str_eq(config.name, "n");
    ck_assert_str_eq(config.description, "a board");
    ck_assert_int_eq(config.target.kind, ADDRESS_UNIX);
    ck_assert_str_eq(config.target.host, "/run/x/gdb");
    ck_assert_str_eq(config.reset, "system_reset");
    ck_assert(config.trace_listens && config.backpressure && config.formatted);
    ck_assert_int_eq(config.mode, FORMATTER_ALIGNED);
    ck_assert_str_eq(config.control.host, "::1");
    ck_assert_uint_eq(config.ring, 0x100u << 10);
    ck_assert_uint_eq(config.threads, 3);
    ck_assert_uint_eq(config.drain_ms, 0);
    ck_assert_uint_eq(config.memory, (size_t)2 << 30);
    ck_assert_uint_eq(config.checkpoint, 8192);
    ck_assert_str_eq(config.access.listen[0].address.host, "::1");
    ck_assert_uint_eq(config.access.listen[0].address.port, 0);
    ck_assert_str_eq(config.record_dir, "dir/rec");
    ck_assert_str_eq(config.cores[0].program, "dir/a.elf");
    ck_assert_uint_eq(config.cores[0].thread, 7);
    ck_assert_str_eq(config.command[1], "b c");
    config_release(&config);
}
END_TEST

START_TEST(shared_memory)
{
    take(BOARD "shared = 0x20000000+4K  0x20008000+256\n");
    ck_assert_uint_eq(config.cores[0].shared.count, 2);
    ck_assert_uint_eq(config.cores[0].shared.at[0].size, 4096);
    ck_assert_uint_eq(config.cores[0].shared.at[1].address, 0x20008000);
    config_release(&config);
    refuse(BOARD "shared = 0x20000000+4K 0x20008000\n", "dir/b.conf:13: shared: '...");
    refuse(BOARD "shared = 0+1 1+1 2+1 3+1 4+1 5+1 6+1 7+1 8+1\n", "dir/b.conf:13: shared: '...");
}
END_TEST

/* Each protocol's trace ID has a name of its own, and all share one range. */
START_TEST(trace_ids)
{
#define ETM4                                                                                       \
    "[core b]\ntype = Cortex-M7\nsource = ETM4.0\nTRCCONFIGR = 1\nTRCIDR0 = 0x280006E1\n"          \
    "TRCIDR1 = 0x4100F402\nTRCIDR2 = 4\n"
    take(BOARD ETM4 "TRCTRACEIDR = 0x11\n");
    ck_assert(config.cores[1].has_source);
    ck_assert_uint_eq(snapshot_find_reg(&config.cores[1].source_device, "TRCTRACEIDR")->index, 16);
    config_release(&config);
    refuse(BOARD ETM4 "TRCTRACEIDR = 0x10\n",
           "dir/b.conf:20: TRCTRACEIDR: 0x10 is that of [core cpu0] too");
    refuse(BOARD ETM4 "TRCTRACEIDR = 0x70\n",
           "dir/b.conf:20: TRCTRACEIDR: 0x70 is not the ID of a trace source; allowed: 1 to 0x6f");
    refuse(BOARD ETM4, "dir/b.conf:13: TRCTRACEIDR: is missing: frames tell the trace...");
    refuse(BOARD ETM4 "ETMTRACEIDR = 0x11\n", "dir/b.conf:13: TRCTRACEIDR: is missing: frames...");
}
END_TEST

START_TEST(cores)
{
    take(BOARD "ETMSYNCFR = 512\n[core cpu1]\ntype = Cortex-M4\nsource = ETM3.5\nETMCR = 0\n"
               "ETMIDR = 0x4114F250\nETMCCER = 0\nETMTRACEIDR = 0x6f\n"
               "[core cpu2]\ntype = ARM926EJ-S\nSCTLR = 0x2000\n");
    ck_assert_uint_eq(config.core_count, 3);
    const struct config_core *c = config.cores;
    ck_assert_str_eq(c[0].name, "cpu0");
    ck_assert(c[0].has_source && c[1].has_source && !c[2].has_source);
    ck_assert_uint_eq(c[0].thread, 1);
    ck_assert_uint_eq(c[2].thread, 3);
    ck_assert_str_eq(c[1].core_device.type, "Cortex-M4");
    ck_assert_str_eq(c[0].source_device.type, "PTM1.0");
    ck_assert_str_eq(c[0].source_device.name, "PTM_0");
    ck_assert_str_eq(c[1].source_device.name, "ETM_1");
    const struct snapshot_reg *reg = snapshot_find_reg(&c[0].source_device, "ETMTRACEIDR");
    ck_assert(reg && reg->has_index && reg->index == 0x80 && reg->value == 0x10);
    ck_assert_uint_eq(c[0].source_device.reg_count, 5);
    ck_assert_uint_eq(c[2].source_device.reg_count, 0);
    uint64_t sctlr;
    ck_assert_int_eq(snapshot_reg(&c[2].core_device, "SCTLR", &sctlr), 0);
    ck_assert_uint_eq(sctlr, 0x2000);
    struct stream_config stream = {0};
    unsigned id = 0;
    ck_assert_int_eq(source_device_configure(source_protocol_of_type("ETM3.5"), &c[1].source_device,
                                             &c[1].core_device, &stream, &id, &why),
                     0);
    ck_assert(stream.etmv3.m_profile && id == 0x6f);
    config_release(&config);
}
END_TEST

START_TEST(command_words)
{
    static const char *const words[] = {"qemu", "-a b", "",  "x", "/run/x/s", "/lib/board.so,d=dir",
                                        "$5",   "pq r", NULL};
    struct config_names blanks = names;
    const char *text =
        "[target]\ncommand = qemu \"-a b\"  \"\"\tx $RUN/s $PLUGIN,d=$DIR $$5 p\"q r\"\n"
        "connect = :1\n" TRACE CORE;
    take(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_pstr_eq(config.command[i], words[i]);
    config_release(&config);

    blanks.run = "/a b \"c";
    ck_assert_int_eq(config_parse(&config, text, strlen(text), "x", &blanks, &why), 0);
    ck_assert_str_eq(config.command[4], "/a b \"c/s");
    ck_assert_str_eq(config.command[5], "/lib/board.so,d=.");
    config_release(&config);

    refuse("[target]\ncommand = a \"b\n",
           "dir/b.conf:2: command: 'b': a double quote is not closed");
    refuse("[target]\ncommand = \"\" b\n", "dir/b.conf:2: command: the program's name is empty...");
}
END_TEST

START_TEST(dollar_names)
{
    refuse("[board]\nname = $HOME\n",
           "dir/b.conf:2: name: '$HOME' stands for nothing; allowed: $RUN, $DIR, $PLUGIN, and $$ "
           "for a dollar sign");
    refuse("[board]\nname = 5$\n", "dir/b.conf:2: name: '$' stands for nothing...");
    take("[board]\nname = $$RUN$$\n" BOARD);
    ck_assert_str_eq(config.name, "$RUN$");
    config_release(&config);
    const char *text = "[board]\nname = $RUN\n";
    ck_assert_int_eq(config_parse(&config, text, strlen(text), "x", NULL, &why), BT_ERR_FORMAT);
    ck_assert_str_eq(why.text, "x:2: name: $RUN has no value here");
    config_release(&config);
}
END_TEST

START_TEST(unknown_sections_and_keys)
{
    refuse(
        "[tarce]\n",
        "dir/b.conf:1: [tarce]: is not a section; did you mean [trace]? allowed: "
        "[board], [target], [probe], [trace], [capture], [coresight], [history], [past], [gdb], "
        "[tls], [access], [limits], [metrics], [audit], [record], [setup], [flash], [core NAME]");
    refuse("[zebra]\n", "dir/b.conf:1: [zebra]: is not a section; allowed: [board]...");
    refuse("[corex]\n", "dir/b.conf:1: [corex]: is not a section; did you mean [core]?...");
    refuse(
        "[trace]\nfromat = raw\n",
        "dir/b.conf:2: fromat: is not a key of [trace]; did you mean 'format'? allowed: listen, "
        "connect, control, format, buffer, ring, threads, drain_ms, backpressure, sink, swo_rate, "
        "trace_clock, tpiu_width, "
        "itm, itm_id, itm_timestamps, itm_console, itm_listen, dwt, watch");
    refuse("[trace]\nFORMAT = raw\n",
           "dir/b.conf:2: FORMAT: is not a key of [trace]; did you mean 'format'?...");
    refuse("[target]\nformat = raw\n",
           "dir/b.conf:2: format: is not a key of [target] but of "
           "[trace]; allowed here: connect, command, user, reset, at_exit, "
           "deadline, connect_timeout, monitor");
    refuse("[trace]\nETMCR = 0\n", "dir/b.conf:2: ETMCR: is not a key of [trace] but of [core...");
    refuse("[trace]\nzebra = 1\n", "dir/b.conf:2: zebra: is not a key of [trace]; allowed: lis...");
    refuse("[core a]\nETMRC = 1\n",
           "dir/b.conf:2: ETMRC: is not a key of [core a]; did you mean 'ETMCR'?...");
    refuse(
        "[core a]\nETMNOSUCH = 1\n",
        "dir/b.conf:2: ETMNOSUCH: is not a key of [core a]; allowed: type, program, thread, "
        "source, trace_unit, funnel_port, debug, cti, shared, ram, mpidr, rtos, ETMCR, ETMCCR...");
    refuse("name = x\n[board]\n", "dir/b.conf:1: name: stands before the first section");
    refuse("[board]\nname\n", "dir/b.conf:2: neither '[section]' nor 'key=value'");
}
END_TEST

START_TEST(doubles)
{
    refuse("[board]\nname = a\n\nname = b\n", "dir/b.conf:4: name: comes twice (first in line 2)");
    refuse("[board]\nname = a\n[gdb]\n[board]\nname = b\n",
           "dir/b.conf:5: name: comes twice (first in line 2)");
    refuse(CORE "ETMCR = 0\n", "dir/b.conf:8: ETMCR: comes twice (first in line 4)");
    refuse(CORE "[core cpu0]\n", "dir/b.conf:8: cpu0: [core cpu0] comes twice (first in line 1)");
    refuse(BOARD "[core b]\ntype = Cortex-A9\nthread = 1\n",
           "dir/b.conf:15: thread: 1 is that of [core cpu0] too");
    refuse(BOARD "[core b]\ntype = Cortex-A9\nsource = PTM1.0\nETMTRACEIDR = 16\n",
           "dir/b.conf:16: ETMTRACEIDR: 0x10 is that of [core cpu0] too");
    refuse(BOARD "[core PTM_0]\ntype = Cortex-A9\n",
           "dir/b.conf:13: PTM_0: is the name that the trace unit of [core cpu0] has...");
    take(BOARD "[core b]\ntype = Cortex-A9\n[core d]\ntype = Cortex-A9\n");
    config_release(&config);
}
END_TEST

START_TEST(missing)
{
    refuse(TRACE CORE, "dir/b.conf: [target] connect: is missing; allowed: HOST:PORT, :PORT (this "
                       "machine), [ADDRESS]:PORT or unix:PATH");
    refuse(TARGET "[trace]\nconnect = :1\n" CORE,
           "dir/b.conf: [trace] format: is missing; allo...");
    refuse(TARGET "[trace]\nformat = raw\n" CORE,
           "dir/b.conf: [trace] listen or connect: is missing...");
    refuse(BOARD "[trace]\nlisten = :5\n",
           "dir/b.conf:14: listen: [trace] has both 'listen' and 'connect'...");
    refuse(TARGET TRACE, "dir/b.conf: [core NAME]: is missing: one section for each core");
    refuse(BOARD "[core b]\n", "dir/b.conf:13: [core b] type: is missing...");
    refuse(TARGET TRACE "[core b]\ntype = Cortex-A9\n",
           "dir/b.conf:6: source: no core has one, so there is nothing to trace...");
    refuse(TARGET TRACE "[core b]\ntype = Cortex-A9\nETMCR = 1\n",
           "dir/b.conf:8: ETMCR: is a register of a trace unit, but [core b] has no 'source'");
    refuse(TARGET TRACE "[core b]\ntype = Cortex-A9\nsource = PTM1.0\n",
           "dir/b.conf:6: ETMTRACEIDR: is missing: frames tell...");
    refuse(TARGET TRACE "[core b]\ntype = Cortex-A9\nsource = PTM1.0\nETMTRACEIDR = 1\nETMCR = 0\n",
           "dir/b.conf:6: register ETMIDR is missing...");
    refuse(TARGET TRACE "[core b]\ntype = Cortex-A7\nsource = ETM3.5\nETMTRACEIDR = 1\nETMCR = 0\n"
                        "ETMIDR = 0x410CF250\n",
           "dir/b.conf:6: register ETMCCER is missing...");
    refuse("", "dir/b.conf: [target] connect: is missing...");
    refuse("[target]\nconnect = :1\ncommand = a\nat_exit = run\n" TRACE CORE,
           "dir/b.conf:4: at_exit: is not used: the program of 'command' ends with btraced...");
}
END_TEST

START_TEST(wrong_values)
{
    static const struct {
        const char *key, *message;
    } bad[] = {
        {"[trace]\nring = 12Q", "ring: '12Q' is not possible; allowed: bytes, 64K to 1G; K, M..."},
        {"[trace]\nring = 1KB", "ring: '1KB' is not possible..."},
        {"[trace]\nring = 1K", "ring: '1K' is not possible..."},
        {"[trace]\nring = -1", "ring: '-1' is not possible..."},
        {"[trace]\nring = 2G", "ring: '2G' is not possible..."},
        {"[trace]\nring = 18446744073709551617", "ring: '18446744073709551617' is not possible..."},
        {"[trace]\nring = 18014398509481985K", "ring: '18014398509481985K' is not possible..."},
        {"[trace]\nring = 0x", "ring: '0x' is not possible..."},
        {"[trace]\nring =", "ring: has no value..."},
        {"[trace]\ndrain_ms = 1K", "drain_ms: '1K' is not possible..."},
        {"[trace]\ndrain_ms = 60001", "drain_ms: '60001' is not possible..."},
        {"[trace]\nthreads = all", "threads: 'all' is not possible; allowed: auto, or 1 to 16"},
        {"[trace]\nthreads = 0", "threads: '0' is not possible; allowed: auto, or 1 to 16"},
        {"[trace]\nbackpressure = on", "backpressure: 'on' is not possible; allowed: yes or no"},
        {"[trace]\nformat = etb",
         "format: 'etb' is not a format; allowed: tpiu, frames, orbflow or..."},
        {"[core a]\nthread = 0", "thread: '0' is not possible; allowed: 1 to 1024"},
        {"[core a]\nETMCR = 0x100000000", "ETMCR: '0x100000000' is not the value of a register..."},
        {"[core a]\nETMCR = 1 2", "ETMCR: '1 2' is not the value of a register..."},
        {"[core a]\nETMCR = 0xfg", "ETMCR: '0xfg' is not the value of a register..."},
        {"[trace]\nconnect = host", "connect: 'host': it has no port; allowed: HOST:PORT..."},
        {"[trace]\nconnect = host:", "connect: 'host:': the port must be a number up to 65535..."},
        {"[trace]\nconnect = h:65536", "connect: 'h:65536': the port must be a number up to..."},
        {"[trace]\nconnect = h:0", "connect: 'h:0': port 0 cannot be reached..."},
        {"[trace]\nconnect = ::1:5", "connect: '::1:5': an address with colons must stand in b..."},
        {"[trace]\nconnect = a b:5", "connect: 'a b:5': the host is no name or number..."},
        {"[trace]\nconnect = []:5", "connect: '[]:5': the host is no name or number..."},
        {"[trace]\nconnect = unix:", "connect: 'unix:': the path after unix: is empty..."},
        {"[target]\ndeadline = 99",
         "deadline: '99' is not possible; allowed: milliseconds, 100 to 60000"},
        {"[target]\nat_exit = stop",
         "at_exit: 'stop' is not possible; allowed: run, halt or leave"},
        {"[gdb]\nlisten = 0.0.0.0:3333",
         "listen: '0.0.0.0:3333' is not an address of this mach..."},
        {"[gdb]\nlisten = [::]:3333", "listen: '[::]:3333' is not an address of this machine..."},
        {"[gdb]\nlisten = 127.1:1", "listen: '127.1:1': the address is a name; one to listen..."},
        {"[gdb]\nlisten = ,", "listen: has no value..."},
        {"[gdb]\nlisten = :1 \"unix:/a", "listen: 'unix:/a': a double quote is not closed..."},
        {"[gdb]\nlisten = :1,:2,:3,:4,:5,:6,:7,:8,:9", "listen: more than 8 addresses..."},
        {"[gdb]\nlisten = :1, localhost:1", "listen: '127.0.0.1:1' comes twice"},
        {"[gdb]\nlisten = [::1]:1, [0::1]:1", "listen: '[0::1]:1' comes twice"},
        {"[gdb]\nlisten = 10.0.0.1:1, 0.0.0.0:1\nallow = 10.0.0.0/8",
         "listen: '10.0.0.1:1' and '0.0.0.0:1' are one port twice: all addresses, and one of..."},
        {"[gdb]\nlisten = unix:/a, unix:/a", "listen: 'unix:/a' comes twice"},
        {"[gdb]\nlisten = :1, h:2", "listen: 'h:2': the address is a name..."},
        {"[gdb]\nunix_mode = 0888", "unix_mode: '0888' is not a mode; allowed: an octal num..."},
        {"[gdb]\nunix_mode = 1777", "unix_mode: '1777' is not a mode; allowed: an octal num..."},
        {"[gdb]\nunix_owner = no.such", "unix_owner: this machine has no user 'no.such'; all..."},
        {"[gdb]\nunix_owner = :no.such", "unix_owner: this machine has no group 'no.such'; ..."},
    };
    char text[256], message[256];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "%s\n", bad[i].key);
        snprintf(message, sizeof message, "dir/b.conf:2: %s", bad[i].message);
        refuse(text, message);
    }
    refuse("[core a b]\n", "dir/b.conf:1: [core NAME]: 'a b' is not a name...");
    refuse("[core]\n", "dir/b.conf:1: [core NAME]: '' is not a name...");
    refuse(
        "[history]\nmemory = 64K\ncheckpoint = 128K\n" BOARD,
        "dir/b.conf:3: checkpoint: is more than half of 'memory' (65536 bytes); allowed: at most "
        "32768");
    refuse(
        "[history]\nmemory = 100K\n" BOARD,
        "dir/b.conf:2: memory: must hold two checkpoints; allowed: at least 131072, or a smaller "
        "'checkpoint'");
    take("[history]\nmemory = 255K\n" BOARD);
    ck_assert_uint_eq(config.memory, 128u << 10);
    config_release(&config);
}
END_TEST

START_TEST(types)
{
    refuse(TARGET TRACE "[core a]\ntype = Cortex-A99\n",
           "dir/b.conf:7: type: core 'Cortex-A99' is not known; did you mean 'Cortex-A9'?");
    refuse(TARGET TRACE "[core a]\ntype = 8051\n",
           "dir/b.conf:7: type: core '8051' is not known; allowed: Cortex-M0, -M0+, -M1...");
    refuse(
        TARGET TRACE "[core a]\ntype = Cortex-A9\nsource = ETM9\n",
        "dir/b.conf:8: source: the protocol of 'ETM9' is not known; allowed: the trace unit's...");
    refuse(TARGET TRACE "[core a]\ntype = Cortex-A9\nsource = PTM[]\n",
           "dir/b.conf:8: source: the protocol of 'PTM[]' is not known...");
    refuse(TARGET TRACE "[core a]\ntype = Cortex-A9\nsource = PTM1.0\nETMCR = 0\nETMCCER = 0\n"
                        "ETMTRACEIDR = 1\nETMIDR = 0x410CF250\n",
           "dir/b.conf:6: ETMIDR 0x410cf250 is not that of a PTM (bits [11:8] must be 3)");
    static const char *const ids[] = {"0", "0x70", "0x90"};
    for (size_t i = 0; i < 3; i++) {
        char text[512], message[128];
        snprintf(text, sizeof text,
                 "%s[core a]\ntype = Cortex-A9\nsource = PTM1.0\nETMTRACEIDR = %s\n", TARGET TRACE,
                 ids[i]);
        snprintf(message, sizeof message, "dir/b.conf:9: ETMTRACEIDR: 0x%lx is not the ID of a...",
                 strtoul(ids[i], NULL, 0));
        refuse(text, message);
    }
}
END_TEST

START_TEST(raw_has_one_source)
{
    const char *one = TARGET "[trace]\nlisten = :5\nformat = raw\n[core a]\ntype = ARM926EJ-S\n"
                             "source = ETM1.3\nETMCR = 0\nPORT_LAYOUT = 1\n";
    char two[1024];
    take(one);
    ck_assert(!config.formatted);
    config_release(&config);
    snprintf(two, sizeof two, "%s%s", one, "[core b]\ntype = Cortex-A9\n");
    take(two);
    config_release(&config);
    snprintf(two, sizeof two, "%s%s", one,
             "[core b]\ntype = ARM926EJ-S\nsource = ETM1.3\nETMCR=0\n");
    refuse(two, "dir/b.conf:13: source: format = raw holds the trace of one source...");
    snprintf(two, sizeof two, "%s%s", one, "PORT_LAYOUT = 1\n");
    refuse(two, "dir/b.conf:11: PORT_LAYOUT: comes twice (first in line 10)");
}
END_TEST

START_TEST(limits)
{
    char text[8192], run[200];
    size_t n = (size_t)snprintf(text, sizeof text, "%s", TARGET TRACE CORE);
    for (unsigned i = 1; i < CONFIG_MAX_CORES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "[core c%u]\ntype = Cortex-A9\n", i);
    take(text);
    ck_assert_uint_eq(config.core_count, CONFIG_MAX_CORES);
    config_release(&config);
    snprintf(text + n, sizeof text - n, "[core last]\n");
    refuse(text, "dir/b.conf:43: last: more than 16 cores");

    memset(run, 'r', sizeof run);
    struct config_names long_run = {.run = run};
    for (size_t length = 107; length <= 108; length++) {
        const char *line = "[trace]\nlisten = unix:$RUN\nformat = tpiu\n" TARGET CORE;
        run[length] = '\0';
        int error = config_parse(&config, line, strlen(line), "b.conf", &long_run, &why);
        ck_assert_int_eq(error, length == 107 ? BT_OK : BT_ERR_FORMAT);
        if (error)
            ck_assert_ptr_nonnull(strstr(why.text, "the path of a Unix socket is too long: at "
                                                   "most 107 characters"));
        config_release(&config);
        run[length] = 'r';
    }

    memset(text, 'x', sizeof text);
    memcpy(text, "[board]\nname = ", 15);
    text[15 + 64] = '\0';
    refuse(text, "dir/b.conf:2: name: is too long: at most 63 characters");
    text[15 + 64] = 'x';
    text[15 + 5000] = '\0';
    refuse(text, "dir/b.conf:2: name: is too long: at most 4095 characters");
    memset(text, 'p', 600);
    text[600] = '\0';
    ck_assert_int_eq(config_parse(&config, BOARD, strlen(BOARD), text, &names, &why),
                     BT_ERR_FORMAT);
    config_release(&config);
}
END_TEST

START_TEST(addresses)
{
    static const struct {
        const char *text, *host, *again;
        unsigned port;
        int kind;
    } good[] = {
        {"example.org:80", "example.org", "example.org:80", 80, ADDRESS_TCP},
        {":80", "127.0.0.1", "127.0.0.1:80", 80, ADDRESS_TCP},
        {"[fe80::1%eth0]:80", "fe80::1%eth0", "[fe80::1%eth0]:80", 80, ADDRESS_TCP},
        {"[1.2.3.4]:0", "1.2.3.4", "1.2.3.4:0", 0, ADDRESS_TCP},
        {"unix:/a b:c", "/a b:c", "unix:/a b:c", 0, ADDRESS_UNIX},
    };
    static const char *const bad[] = {"",     ":",      "host", "80",   "a:b",  "a:-1",  "a:1x",
                                      "a:+1", "::1:80", "[]:1", "[a:1", "a]:1", "unix:", "a/b:1"};
    struct address a;
    char text[300];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_ptr_null(address_problem(good[i].text, &a));
        ck_assert_int_eq((int)a.kind, good[i].kind);
        ck_assert_str_eq(a.host, good[i].host);
        ck_assert_uint_eq(a.port, good[i].port);
        address_format(&a, text, sizeof text);
        ck_assert_str_eq(text, good[i].again);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(address_problem(bad[i], &a), "'%s'", bad[i]);
        ck_assert_int_eq(a.kind, ADDRESS_NONE);
    }
    memset(text, 'h', sizeof text);
    memcpy(text + 256, ":1", 3);
    ck_assert_ptr_nonnull(address_problem(text, &a));
    ck_assert_ptr_null(address_problem(text + 1, &a));
}
END_TEST

START_TEST(comments_and_line_ends)
{
    take("\xef\xbb\xbf# c\r\n[board] ; c\r\nname = a#b ; c\r\n" BOARD);
    ck_assert_str_eq(config.name, "a#b");
    config_release(&config);
    refuse("[board]\nname = a\x01\n", "dir/b.conf:2: control character 0x01...");
}
END_TEST

/* Those of the source tree, whose build folder this program stands in. */
static const char *const boards[] = {"virtual-a9", "virtual-a9-smp", "virtual-m3", "virtual-m4"};

START_TEST(boards_by_name)
{
    int error = config_load(&config, boards[_i], &names, &why);
    ck_assert_msg(error == 0, "%s", why.text);
    ck_assert_str_eq(config.name, boards[_i]);
    ck_assert(config.trace_listens && config.command && config.formatted);
    const char *program = strrchr(config.cores[0].program, '/');
    ck_assert_msg(config.cores[0].program[0] == '/' && program, "%s", config.cores[0].program);
    /* Each plugin argument that is a register is what the first core says. */
    unsigned registers = 0;
    for (char **word = config.command; *word; word++) {
        char *copy = strdup(*word);
        for (char *save, *part = strtok_r(copy, ",", &save); part;
             part = strtok_r(NULL, ",", &save)) {
            char *value = strchr(part, '=');
            uint64_t expected;
            if (strncmp(part, "etm", 3) != 0 || !value)
                continue;
            *value++ = '\0';
            ck_assert_msg(snapshot_reg(&config.cores[0].source_device, part, &expected) == 0, "%s",
                          part);
            ck_assert_uint_eq(strtoull(value, NULL, 0), expected);
            registers++;
        }
        free(copy);
    }
    ck_assert_uint_ge(registers, 4);
    ck_assert_uint_eq(registers, config.cores[0].source_device.reg_count);
    config_release(&config);
}
END_TEST

START_TEST(files)
{
    char folder[] = "/tmp/test_config.XXXXXX", path[64];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/my.conf", folder);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs("[record]\ndir = $DIR\n" BOARD, f);
    fclose(f);
    ck_assert_int_eq(config_load(&config, path, &names, &why), 0);
    ck_assert_str_eq(config.name, "my");
    ck_assert_str_eq(config.record_dir, folder);
    config_release(&config);
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(config_load(&config, "my.conf", &names, &why), 0);
    ck_assert_str_eq(config.record_dir, folder);
    config_release(&config);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(config_load(&config, path, &names, &why), BT_ERR_IO);
    ck_assert_ptr_nonnull(strstr(why.text, "my.conf': No such file or directory"));
    config_release(&config);
    ck_assert_int_eq(config_load(&config, folder, &names, &why), BT_ERR_IO);
    config_release(&config);
    ck_assert_int_eq(rmdir(folder), 0);
    ck_assert_int_eq(config_load(&config, "vritual-a9", &names, &why), BT_ERR_IO);
    ck_assert_msg(strncmp(why.text, "vritual-a9: no such board in '", 30) == 0 &&
                      strstr(why.text, "did you mean 'virtual-a9'?"),
                  "%s", why.text);
    config_release(&config);
    ck_assert_int_eq(config_load(&config, "zebra", &names, &why), BT_ERR_IO);
    ck_assert_msg(!strstr(why.text, "did you mean"), "%s", why.text);
    config_release(&config);
}
END_TEST

/* Whether a line of the page's tables begins with | `name` |. */
static bool is_named(const char *page, const char *section, const char *name)
{
    char heading[64], row[64];
    snprintf(heading, sizeof heading, "### [%s%s]", section,
             strcmp(section, "core") == 0 ? " NAME" : "");
    snprintf(row, sizeof row, "\n| `%s` |", name);
    const char *begin = strstr(page, heading);
    const char *end = begin ? strstr(begin + 1, "\n### ") : NULL;
    const char *found = begin ? strstr(begin, row) : NULL;
    return found && (!end || found < end);
}

START_TEST(several_addresses)
{
    take(BOARD "[gdb]\nlisten = 127.0.0.1:3333, [::1]:0 \"unix:$RUN/a, b\",systemd\n"
               "unix_mode = 660\nunix_owner = 4711:0\n");
    const struct config_access *a = &config.access;
    ck_assert_uint_eq(a->listen_count, 4);
    ck_assert_str_eq(a->listen[0].address.host, "127.0.0.1");
    ck_assert_str_eq(a->listen[1].address.host, "::1");
    ck_assert_int_eq(a->listen[2].address.kind, ADDRESS_UNIX);
    ck_assert_str_eq(a->listen[2].address.host, "/run/x/a, b");
    ck_assert(a->listen[3].systemd && !a->listen[0].systemd);
    ck_assert_uint_eq(a->unix_mode, 0660);
    ck_assert_uint_eq(a->unix_owner.uid, 4711);
    ck_assert_uint_eq(a->unix_owner.gid, 0);
    config_release(&config);
    take(BOARD);
    ck_assert_uint_eq(config.access.unix_mode, 0600);
    ck_assert_uint_eq(config.access.unix_owner.uid, ADDRESS_SAME_OWNER);
    ck_assert_uint_eq(config.access.unix_owner.gid, ADDRESS_SAME_OWNER);
    config_release(&config);
}
END_TEST

static void read_manual(char *page, size_t size)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    char *build = strstr(path, "/build/");
    ck_assert_ptr_nonnull(build);
    snprintf(build, 64, "/docs/board-files.md");
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    page[fread(page, 1, size - 1, f)] = '\0';
    fclose(f);
}

START_TEST(manual_names_every_key)
{
    char page[65536];
    read_manual(page, sizeof page);
    size_t count;
    const struct config_key *keys = config_keys(&count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(is_named(page, keys[i].section, keys[i].name), "[%s] %s", keys[i].section,
                      keys[i].name);
        const char *initial = keys[i].initial;
        ck_assert_msg(!initial || strstr(page, initial), "default of %s", keys[i].name);
    }
    const struct config_register *registers = config_registers(&count);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(strstr(page, registers[i].name) != NULL, "%s", registers[i].name);
}
END_TEST

START_TEST(manual_has_a_board)
{
    char page[65536];
    read_manual(page, sizeof page);
    char *begin = strstr(page, "```ini\n");
    char *end = begin ? strstr(begin + 7, "```") : NULL;
    ck_assert_ptr_nonnull(end);
    *end = '\0';
    take(begin + 7);
    ck_assert_str_eq(config.target.host, "localhost");
    ck_assert_uint_eq(config.access.listen[0].address.port, 3334);
    config_release(&config);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("config");
    unit_case(s, "config: defaults", defaults);
    unit_case(s, "config: all mistakes at once", all_mistakes);
    unit_case(s, "config: all mistakes of what goes together", all_mistakes_together);
    unit_case(s, "config: every key", every_key);
    unit_case(s, "config: memory that others write", shared_memory);
    unit_case(s, "config: trace IDs of all protocols", trace_ids);
    unit_case(s, "config: cores and their registers", cores);
    unit_case(s, "config: words of a command", command_words);
    unit_case(s, "config: dollar names", dollar_names);
    unit_case(s, "config: unknown sections and keys", unknown_sections_and_keys);
    unit_case(s, "config: what comes twice", doubles);
    unit_case(s, "config: what is missing", missing);
    unit_case(s, "config: wrong values", wrong_values);
    unit_case(s, "config: types of cores and trace units", types);
    unit_case(s, "config: raw trace has one source", raw_has_one_source);
    unit_case(s, "config: limits", limits);
    unit_case(s, "config: addresses", addresses);
    unit_case(s, "config: comments and line ends", comments_and_line_ends);
    unit_cases(s, "config: boards by name", boards_by_name, 0, sizeof boards / sizeof *boards);
    unit_case(s, "config: files and folders", files);
    unit_case(s, "config: several addresses to listen on", several_addresses);
    unit_case(s, "config: the manual names every key", manual_names_every_key);
    unit_case(s, "config: the board of the manual", manual_has_a_board);
    return s;
}
