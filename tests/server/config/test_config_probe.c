/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/config/config_check.c and config_core.c: [probe], [coresight], [flash] and the
 * programmed part of [trace] in board files. */
#include "server/config/config.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit_main.h"

#define PROBE "[probe]\ntype = cmsis-dap\n"
#define CPU   "[core cpu0]\ntype = Cortex-M4\n"
#define ETB   "[trace]\nsink = etb\n"
#define TWO   "[core b]\ntype = Cortex-M4\nETMTRACEIDR = 0x10\n" /* behind the first */

static struct config config;
static struct message why;

static int parse(const char *text)
{
    return config_parse(&config, text, strlen(text), "dir/b.conf", NULL, &why);
}

static void accepts(const char *text)
{
    int error = parse(text);
    ck_assert_msg(error == 0, "%s", why.text);
}

/* The text is refused, with a message that begins so. */
static void refuse(const char *text, const char *message)
{
    ck_assert_int_eq(parse(text), BT_ERR_FORMAT);
    ck_assert_msg(strncmp(why.text, message, strlen(message)) == 0, "%s", why.text);
    config_release(&config);
}

static uint64_t trace_id(unsigned i)
{
    uint64_t id = 0;
    snapshot_reg(&config.cores[i].source_device, "ETMTRACEIDR", &id);
    return id;
}

START_TEST(defaults)
{
    accepts(PROBE ETB CPU);
    ck_assert(config_has_probe(&config) && config_programs_trace(&config));
    ck_assert_str_eq(config.probe.type, "cmsis-dap");
    ck_assert_str_eq(config.probe.serial, "");
    ck_assert_uint_eq(config.probe.usb.vendor, 0);
    ck_assert_uint_eq(config.probe.wire, DEBUG_WIRE_SWD);
    ck_assert_uint_eq(config.probe.clock, 1000000);
    ck_assert_uint_eq(config.probe.ap, 0);
    ck_assert(!config.probe.connect_under_reset && !config.attach);
    ck_assert_uint_eq(config.probe.at_exit, CONFIG_EXIT_RUN);
    ck_assert_uint_eq(config_snapshot(&config), CONFIG_SNAPSHOT_BACKGROUND);
    ck_assert_uint_eq(config.probe.jtag_chain.count, 0);
    ck_assert_int_eq(config.target.kind, ADDRESS_NONE);
    ck_assert_int_eq(config.trace.kind, ADDRESS_NONE);
    ck_assert_uint_eq(config.sink, CONFIG_SINK_ETB);
    ck_assert(config.formatted);
    ck_assert_int_eq(config.mode, FORMATTER_ALIGNED);
    ck_assert_uint_eq(config.cores[0].funnel_port, CONFIG_ALL_PORTS);
    ck_assert_uint_eq(trace_id(0), 0x10);
    config_release(&config);
}
END_TEST

START_TEST(snapshots)
{
    static const struct {
        const char *text;
        enum config_snapshot kind;
    } cases[] = {
        {PROBE ETB "[past]\nsnapshot = off\n" CPU, CONFIG_SNAPSHOT_OFF},
        {PROBE ETB "[past]\nsnapshot = halt\n" CPU, CONFIG_SNAPSHOT_HALT},
        {PROBE "[trace]\nsink = tmc\n" CPU TWO, CONFIG_SNAPSHOT_OFF},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        accepts(cases[i].text);
        ck_assert_uint_eq(config_snapshot(&config), cases[i].kind);
        config_release(&config);
    }
    refuse(PROBE ETB "[past]\nsnapshot = on\n" CPU,
           "dir/b.conf:6: snapshot: 'on' is not possible; allowed: background, halt or off");
}
END_TEST

START_TEST(every_key)
{
    accepts("[probe]\ntype = cmsis-dap\nserial = A1\nusb = 0d28:0204\nwire = jtag\nclock = 12M\n"
            "ap = 3\nconnect_under_reset = yes\nat_exit = halt\njtag_chain = 4 5\njtag_device = 1\n"
            "[trace]\nsink = swo\nswo_rate = 2000k\ntrace_clock = 168M\n"
            "[coresight]\nrom = 0xE00FF000\netb = 0x1000\ntmc = 0x2000\ntpiu = 0x3000\n"
            "funnel = 0x4000\nreplicator = 0x5000\nreplicator_port = 1\n"
            "[flash]\nalgorithm = a.flm\nram = 0x20000000+16K\n" CPU
            "trace_unit = 0xE0041000\nfunnel_port = 3\n");
    const struct config_probe *p = &config.probe;
    ck_assert_str_eq(p->serial, "A1");
    ck_assert(p->usb.vendor == 0x0d28 && p->usb.product == 0x0204);
    ck_assert_uint_eq(p->wire, DEBUG_WIRE_JTAG);
    ck_assert_uint_eq(p->clock, 12000000);
    ck_assert_uint_eq(p->ap, 3);
    ck_assert(p->connect_under_reset && p->at_exit == CONFIG_EXIT_HALT);
    ck_assert(p->jtag_chain.count == 2 && p->jtag_chain.ir_lengths[1] == 5);
    ck_assert_uint_eq(p->jtag_device, 1);
    ck_assert_uint_eq(config.swo_rate, 2000000);
    ck_assert_uint_eq(config.trace_clock, 168000000);
    ck_assert_int_eq(config.mode, FORMATTER_SYNC);
    const struct config_coresight *c = &config.coresight;
    ck_assert(c->rom == 0xe00ff000 && c->etb == 0x1000 && c->tmc == 0x2000 && c->tpiu == 0x3000);
    ck_assert(c->funnel == 0x4000 && c->replicator == 0x5000 && c->replicator_port == 1);
    ck_assert_str_eq(config.flash.algorithm, "dir/a.flm");
    ck_assert(config.flash.ram.address == 0x20000000 && config.flash.ram.size == 16384);
    ck_assert_uint_eq(config.cores[0].trace_unit, 0xe0041000);
    ck_assert_uint_eq(config.cores[0].funnel_port, 3);
    config_release(&config);
}
END_TEST

START_TEST(sinks)
{
    accepts(PROBE "[trace]\nsink = tpiu\nconnect = :3402\nformat = tpiu\ntpiu_width = 2\n" CPU);
    ck_assert(config.trace.port == 3402 && config.tpiu_width == 2);
    config_release(&config);
    accepts(PROBE "[trace]\nsink = none\n" CPU "source = ETM3.5\nETMCR = 0\n");
    ck_assert(!config_programs_trace(&config) && !config.cores[0].has_source);
    config_release(&config);
    accepts("[target]\nconnect = :1\n" ETB CPU); /* over another GDB server */
    ck_assert_uint_eq(config.at_exit, CONFIG_EXIT_LEAVE);
    ck_assert(!config_has_probe(&config) && config_programs_trace(&config));
    config_release(&config);
    accepts(PROBE "[trace]\nsink = tmc\n" CPU "[core b]\ntype = Cortex-M4\nETMTRACEIDR = 0x10\n"
                  "[core c]\ntype = Cortex-M4\n");
    ck_assert(trace_id(0) == 0x11 && trace_id(1) == 0x10 && trace_id(2) == 0x12);
    config_release(&config);
}
END_TEST

START_TEST(probe_and_target)
{
    refuse(ETB CPU, "dir/b.conf: [target] connect: is missing; allowed: HOST:PORT");
    refuse("[probe]\nap = 1\n" ETB CPU, "dir/b.conf: [probe] type: is missing; allowed: cmsis-dap");
    refuse("[probe]\ntype = stlink\n" ETB CPU,
           "dir/b.conf:2: type: 'stlink' is not a probe that is known; allowed: cmsis-dap");
    refuse(PROBE "[target]\nconnect = :1\n" ETB CPU,
           "dir/b.conf:4: connect: is for another GDB server, but with [probe] btraced debugs the "
           "target itself");
    refuse(PROBE "[target]\ncommand = x\n" ETB CPU, "dir/b.conf:4: command: is for another GDB");
    refuse(PROBE "[target]\nat_exit = run\n" ETB CPU, "dir/b.conf:4: at_exit: is for another GDB");
    refuse(PROBE "jtag_chain = 4 5\n" ETB CPU,
           "dir/b.conf:3: jtag_chain: is of the other wire; allowed: with wire = jtag");
    refuse(PROBE "wire = jtag\njtag_device = 1\n" ETB CPU,
           "dir/b.conf:4: jtag_device: is not in 'jtag_chain'");
    refuse("[target]\nconnect = :1\n[flash]\nram = 0+1\n" ETB CPU,
           "dir/b.conf:4: ram: is not used: the target's own GDB server programs its flash");
    refuse(PROBE "[flash]\nalgorithm = a\n" ETB CPU, "dir/b.conf: [flash] ram: is missing");
    refuse(PROBE "[flash]\nram = 0+1\n" ETB CPU, "dir/b.conf: [flash] algorithm: is missing");
    refuse(
        PROBE ETB "[core a]\ntype = Cortex-A53\n",
        "dir/b.conf:6: type: an ARMv8-A core is not debugged through a probe of ours; allowed: ");
    refuse(
        PROBE ETB "[core a]\ntype = Cortex-R5\n",
        "dir/b.conf:6: type: Cortex-R5: not debugged through a probe of ours; allowed: Cortex-M");
    refuse(PROBE ETB "[core a]\ntype = ARM926EJ-S\n", "dir/b.conf:6: type: ARM926EJ-S: not");
    accepts("[target]\nconnect = :1\n" ETB "[core a]\ntype = Cortex-A53\nTRCTRACEIDR = 0x20\n");
    ck_assert_uint_eq(config.cores[0].source_device.reg_count, 1); /* no other ID */
    config_release(&config);
}
END_TEST

START_TEST(trace_needs)
{
    refuse(PROBE CPU,
           "dir/b.conf: [trace] sink: is missing; allowed: etb, tmc, mtb, memory-ring, swo, "
           "tpiu or none");
    refuse(PROBE "[trace]\nsink = tpiu\n" CPU, "dir/b.conf: [trace] listen or connect: is missing");
    refuse("[target]\nconnect = :1\n[trace]\nsink = swo\nswo_rate = 1M\ntrace_clock = 8M\n" CPU,
           "dir/b.conf: [trace] listen or connect: is missing");
    refuse(PROBE "[trace]\nsink = tpiu\nlisten = :1\n" CPU, "dir/b.conf: [trace] format: is mis");
    refuse(PROBE ETB "listen = :1\n" CPU, "dir/b.conf:5: listen: is not used with this 'sink'");
    refuse(PROBE ETB "format = raw\n" CPU, "dir/b.conf:5: format: is what 'sink' makes it");
    refuse(PROBE ETB "buffer = 4K\n" CPU, "dir/b.conf:5: buffer: is not used with this 'sink'");
    refuse(PROBE ETB "swo_rate = 4k\n" CPU, "dir/b.conf:5: swo_rate: is not used with this 'sink'");
    refuse(PROBE "[trace]\nsink = swo\n" CPU,
           "dir/b.conf: [trace] swo_rate: is missing, which sink = swo needs");
    refuse(PROBE "[trace]\nsink = swo\nswo_rate = 1M\n" CPU,
           "dir/b.conf: [trace] trace_clock: is missing, which sink = swo needs");
    refuse(PROBE "[trace]\nsink = swo\nswo_rate = 2M\ntrace_clock = 1M\n" CPU,
           "dir/b.conf:5: swo_rate: is faster than 'trace_clock'");
    refuse(PROBE ETB CPU "source = ETM9\n", "dir/b.conf:7: source: the protocol of 'ETM9'");
    refuse(PROBE ETB CPU "ETMTRACEIDR = 0x70\n", "dir/b.conf:7: ETMTRACEIDR: 0x70 is not the ID");
}
END_TEST

#define MTB "[trace]\nsink = mtb\n"
#define M0  "[core m]\ntype = Cortex-M0+\n"

START_TEST(mtb_needs)
{
    static const char *const wrong[] = {"0x20000800+4K", "0x20000000+3K", "0x20000000+8",
                                        "0x20000004+16"};
    accepts(PROBE MTB "[coresight]\nmtb = 0x41006000\nmtb_memory = 0x20001000+4K\n" M0);
    ck_assert(config.coresight.mtb == 0x41006000 && config.coresight.mtb_memory.size == 4096);
    ck_assert(!config.formatted && config.cores[0].source_device.reg_count == 0);
    config_release(&config);
    refuse(PROBE MTB M0, "dir/b.conf: [coresight] mtb_memory: is missing, which sink = mtb needs");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[256];
        snprintf(text, sizeof text, PROBE MTB "[coresight]\nmtb_memory = %s\n" M0, wrong[i]);
        refuse(text, "dir/b.conf:6: mtb_memory: is no place for an MTB; allowed: ADDRESS+SIZE of");
    }
    refuse(PROBE MTB CPU, "dir/b.conf:4: sink: mtb is not in [core");
    refuse(PROBE MTB M0 "[core b]\ntype = Cortex-M0+\n",
           "dir/b.conf:4: sink: mtb is of one core, and [core b] is a second, a Cortex-M0+");
    refuse(PROBE MTB "itm = all\n[coresight]\nmtb_memory = 0x20001000+4K\n"
                     "[core m]\ntype = Cortex-M33\n",
           "dir/b.conf:5: itm: is not used with sink = mtb; allowed: etb, tmc, swo or tpiu");
}
END_TEST

START_TEST(usb_place)
{
    accepts("[probe]\ntype = ftdi\nusb = 1-2.3\n" ETB CPU);
    ck_assert_str_eq(config.probe.usb.path, "1-2.3");
    ck_assert_uint_eq(config.probe.usb.vendor, 0);
    config_release(&config);
    accepts("[probe]\ntype = ftdi\nusb = 0403:6010  255-1.2.3.4.5.6.255\n" ETB CPU);
    ck_assert_str_eq(config.probe.usb.path, "255-1.2.3.4.5.6.255");
    ck_assert_uint_eq(config.probe.usb.product, 0x6010);
    config_release(&config);
}
END_TEST

START_TEST(values)
{
    static const struct {
        const char *line;
        const char *key;
    } bad[] = {
        {"[probe]\nusb = 0d28-0204", "usb"},
        {"[probe]\nusb = 0000:0204", "usb"},
        {"[probe]\nusb = 0d28:204", "usb"},
        {"[probe]\nusb = 1", "usb"},
        {"[probe]\nusb = 1-", "usb"},
        {"[probe]\nusb = 1-2.", "usb"},
        {"[probe]\nusb = 1.2", "usb"},
        {"[probe]\nusb = 1-2-3", "usb"},
        {"[probe]\nusb = 1-02", "usb"},
        {"[probe]\nusb = 1-256", "usb"},
        {"[probe]\nusb = 1-0", "usb"},
        {"[probe]\nusb = 1-1.1.1.1.1.1.1.1", "usb"},
        {"[probe]\nusb = 1-2 1-3", "usb"},
        {"[probe]\nusb = 0d28:0204 0d28:0205", "usb"},
        {"[probe]\nusb = 0d28:0204, 1-2", "usb"},
        {"[probe]\nwire = SWD", "wire"},
        {"[probe]\nclock = 999", "clock"},
        {"[probe]\nclock = 1G", "clock"},
        {"[probe]\nclock = 101M", "clock"},
        {"[probe]\nclock = 1kk", "clock"},
        {"[probe]\nap = 256", "ap"},
        {"[probe]\nat_exit = stop", "at_exit"},
        {"[probe]\njtag_chain = 1", "jtag_chain"},
        {"[probe]\njtag_chain = 4,5", "jtag_chain"},
        {"[probe]\njtag_chain = 4 4 4 4 4 4 4 4 4", "jtag_chain"},
        {"[probe]\njtag_device = 8", "jtag_device"},
        {"[trace]\nsink = etr", "sink"},
        {"[trace]\nsink = ", "sink"},
        {"[trace]\ntpiu_width = 33", "tpiu_width"},
        {"[coresight]\nrom = 0x10", "rom"},
        {"[coresight]\netb = 0", "etb"},
        {"[flash]\nram = 0x20000000", "ram"},
        {"[flash]\nram = 0x20000000+0", "ram"},
        {"[flash]\nram = 0xfffff000+4097", "ram"},
        {"[flash]\nram = 0x1+1Z", "ram"},
    };
    char text[300], message[100];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "%s\n" CPU, bad[i].line);
        snprintf(message, sizeof message, "dir/b.conf:2: %s: ", bad[i].key);
        refuse(text, message);
    }
}
END_TEST

START_TEST(hardware_reports)
{
    uint64_t value;
    accepts(PROBE ETB CPU "ETMCR = 1\n");
    ck_assert(!config.cores[0].has_source);
    ck_assert_int_eq(config_set_source(&config, 0, "ETM3.5"), 0);
    ck_assert_int_eq(config_set_register(&config.cores[0], "ETMCR", 0x800), 0);
    ck_assert_int_eq(config_set_register(&config.cores[0], "ETMIDR", 0x4114f250), 0);
    const struct snapshot_device *d = &config.cores[0].source_device;
    ck_assert(config.cores[0].has_source);
    ck_assert_str_eq(d->type, "ETM3.5");
    ck_assert_str_eq(d->name, "ETM_0");
    ck_assert_uint_eq(d->reg_count, 3);
    ck_assert(snapshot_reg(d, "ETMCR", &value) == 0 && value == 0x800);
    ck_assert(snapshot_reg(d, "ETMIDR", &value) == 0 && value == 0x4114f250);
    ck_assert_uint_eq(snapshot_find_reg(d, "ETMIDR")->index, 0x79);
    config_release(&config);
}
END_TEST

#define FTDI "[probe]\ntype = ftdi\n"

START_TEST(ftdi_keys)
{
    const struct ftdi_pinout *l = &config.probe.layout;
    accepts(FTDI ETB CPU);
    ck_assert_uint_eq(config.probe.channel, 0);
    ck_assert(l->value == 0x0008 && l->direction == 0x000b);
    ck_assert(l->nsrst.data == 0 && l->nsrst.enable == 0 && !l->adaptive_clock);
    config_release(&config);
    accepts(FTDI "wire = jtag\nchannel = b\nlayout = 0x8C28/0xFF3B\nnsrst = 0x0200 enable !0x0800\n"
                 "ntrst = !0x0100\nswd_enable = enable 0x2000\nswdio_enable = !0x1000\n"
                 "adaptive_clock = yes\nsample_falling = yes\nconnect_under_reset = yes\n" ETB CPU);
    ck_assert_uint_eq(config.probe.channel, 1);
    ck_assert(l->value == 0x8c28 && l->direction == 0xff3b);
    ck_assert(l->nsrst.data == 0x0200 && l->nsrst.enable == 0x0800);
    ck_assert(!l->nsrst.data_inverted && l->nsrst.enable_inverted);
    ck_assert(l->ntrst.data == 0x0100 && l->ntrst.data_inverted && l->ntrst.enable == 0);
    ck_assert(l->swd_enable.data == 0 && l->swd_enable.enable == 0x2000);
    ck_assert(l->swdio_enable.data == 0x1000 && l->swdio_enable.data_inverted);
    ck_assert(l->adaptive_clock && l->sample_falling);
    config_release(&config);
}
END_TEST

START_TEST(ftdi_mistakes)
{
    static const char *const wrong[] = {
        "channel = E",
        "channel = AB",
        "layout = 8",
        "layout = 0x10000/0",
        "layout = 8/0xB/1",
        "layout = /",
        "nsrst = 0",
        "nsrst = 0x10000",
        "nsrst = enable",
        "nsrst = 0x20 0x40",
        "nsrst = !",
        "nsrst = 0x20 enable 0x20",
        "nsrst = 0x20 enable x",
        "nsrst = low 0x0020",
        "nsrst = enable 0x20 0x40",
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[200], message[100];
        snprintf(text, sizeof text, FTDI "%s\n" ETB CPU, wrong[k]);
        snprintf(message, sizeof message, "dir/b.conf:3: %.*s: '", (int)strcspn(wrong[k], " "),
                 wrong[k]);
        refuse(text, message);
    }
    refuse(PROBE "channel = A\n" ETB CPU, "dir/b.conf:3: channel: is of another probe");
    refuse(FTDI "connect_under_reset = yes\n" ETB CPU, "dir/b.conf: [probe] nsrst: is missing");
    refuse(FTDI "adaptive_clock = yes\n" ETB CPU, "dir/b.conf:3: adaptive_clock: is of the other");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("config_probe");
    unit_case(s, "config: a probe's defaults", defaults);
    unit_case(s, "config: when RAM is read for the past", snapshots);
    unit_case(s, "config: every key of probes and sinks", every_key);
    unit_case(s, "config: sinks", sinks);
    unit_case(s, "config: probe and target exclude each other", probe_and_target);
    unit_case(s, "config: what a sink needs and excludes", trace_needs);
    unit_case(s, "config: what sink = mtb needs", mtb_needs);
    unit_case(s, "config: where a probe is plugged in", usb_place);
    unit_case(s, "config: values of probes and sinks", values);
    unit_case(s, "config: the hardware completes a core", hardware_reports);
    unit_case(s, "config: pins of FTDI adapters", ftdi_keys);
    unit_case(s, "config: pins that do not exist", ftdi_mistakes);
    return s;
}
