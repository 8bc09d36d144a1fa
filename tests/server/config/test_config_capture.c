/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/config/config_check.c: [capture] in board files, and the formats of what comes. */
#include "server/config/config.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit_main.h"

#define TARGET "[target]\nconnect = :1234\n" /* lines 1-2 */
#define PROBE  "[probe]\ntype = cmsis-dap\n" /* lines 1-2 */
#define CPU    "[core cpu0]\ntype = Cortex-M4\n"
#define CORE                                                                                       \
    CPU "source = ETM3.5\nETMCR = 0\nETMIDR = 0x4114F250\nETMCCER = 0x18541800\nETMTRACEIDR = 1\n"

static struct config config;
static struct message why;

static int parse(const char *text)
{
    return config_parse(&config, text, strlen(text), "b.conf", NULL, &why);
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

START_TEST(orbtrace)
{
    accepts(TARGET "[capture]\ntype = orbtrace\n" CORE);
    ck_assert_uint_eq(config.capture.type, CONFIG_CAPTURE_ORBTRACE);
    ck_assert(config_has_trace_input(&config) && config.trace.kind == ADDRESS_NONE);
    ck_assert(config.formatted && config.mode == FORMATTER_ALIGNED && !config.orbflow);
    ck_assert(config.tpiu_width == 4 && !config_captures_swo(&config));
    config_release(&config);
    accepts(PROBE "[trace]\nsink = tpiu\ntpiu_width = 2\n[capture]\ntype = orbtrace\n"
                  "serial = ABC\nusb = 1209:3443\n" CPU);
    ck_assert_str_eq(config.capture.serial, "ABC");
    ck_assert_uint_eq(config.capture.usb.product, 0x3443);
    config_release(&config);
    accepts(PROBE "[trace]\nsink = swo\nswo_rate = 2M\ntrace_clock = 16M\n"
                  "[capture]\ntype = orbtrace\n" CPU);
    ck_assert(config_captures_swo(&config));
    ck_assert_int_eq(config.mode, FORMATTER_ALIGNED);
    config_release(&config);
    refuse(TARGET "[trace]\nformat = tpiu\n[capture]\ntype = orbtrace\n" CORE,
           "b.conf:4: format: is not used with ORBTrace");
    refuse(TARGET "[trace]\ntpiu_width = 8\n[capture]\ntype = orbtrace\n" CORE,
           "b.conf:4: tpiu_width: is not a width that ORBTrace captures; allowed: 1, 2 or 4");
    refuse(PROBE "[trace]\nsink = etb\n[capture]\ntype = orbtrace\n" CPU,
           "b.conf:6: [capture]: is not used with this 'sink'");
}
END_TEST

START_TEST(others)
{
    accepts(TARGET "[trace]\nformat = tpiu\n[capture]\ntype = ftdi-fifo\n" CORE);
    ck_assert_uint_eq(config.capture.type, CONFIG_CAPTURE_FTDI_FIFO);
    ck_assert_int_eq(config.mode, FORMATTER_SYNC);
    config_release(&config);
    accepts(TARGET "[trace]\nformat = tpiu\nswo_rate = 3M\n[capture]\ntype = ftdi-uart\n" CORE);
    ck_assert_uint_eq(config.capture.channel, 1);
    ck_assert_uint_eq(config.capture.baud, 3000000);
    config_release(&config);
    accepts(TARGET "[trace]\nformat = orbflow\n[capture]\ntype = tty\ndevice = /dev/x\n"
                   "baud = 921600\n" CORE);
    ck_assert_str_eq(config.capture.device, "/dev/x");
    ck_assert_uint_eq(config.capture.baud, 921600);
    ck_assert(config.orbflow && config.formatted && config.mode == FORMATTER_ALIGNED);
    config_release(&config);
    accepts(TARGET "[trace]\nformat = orbflow\nconnect = :3402\n" CORE);
    ck_assert(config.orbflow);
    config_release(&config);
}
END_TEST

START_TEST(mistakes)
{
    static const struct {
        const char *text, *message;
    } wrong[] = {
        {"[capture]\nserial = x\n", ": [capture] type: is missing; allowed: orbtrace, ftdi-fifo"},
        {"[capture]\ntype = dstream\n", ":4: type: 'dstream' is not possible; allowed: orbtrace,"},
        {"[capture]\ntype = ftdi-fifo\n", ": [trace] format: is missing"},
        {"[capture]\ntype = tty\nbaud = 1M\n", ": [capture] device: is missing"},
        {"[capture]\ntype = tty\ndevice = /dev/x\n", ": [capture] baud: is missing"},
        {"[capture]\ntype = ftdi-uart\n", ": [capture] baud: is missing"},
        {"[capture]\ntype = orbtrace\nbaud = 1M\n", ":5: baud: is not used with this 'type'"},
        {"[capture]\ntype = orbtrace\ndevice = /x\n", ":5: device: is not used with this 'type'"},
        {"[capture]\ntype = ftdi-fifo\nchannel = B\n", ":5: channel: is not used with this"},
        {"[capture]\ntype = tty\nserial = 1\n", ":5: serial: is not used with this 'type'"},
        {"[capture]\ntype = orbtrace\n[trace]\nlisten = :1\n", ":6: listen: is for trace that"},
        {"[capture]\ntype = orbtrace\n[trace]\nconnect = :1\n", ":6: connect: is for trace that"},
        {"[capture]\ntype = orbtrace\n[trace]\nbuffer = 4K\n", ":6: buffer: is for trace that"},
        {"[capture]\ntype = orbtrace\n[trace]\nbackpressure = yes\n",
         ":6: backpressure: cannot hold up a capture unit"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[600], message[200];
        snprintf(text, sizeof text, TARGET "%s" CORE, wrong[k].text);
        snprintf(message, sizeof message, "b.conf%s", wrong[k].message);
        refuse(text, message);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("config_capture");
    unit_case(s, "config: ORBTrace captures", orbtrace);
    unit_case(s, "config: other capture units, and formats", others);
    unit_case(s, "config: what a capture unit excludes", mistakes);
    return s;
}
