/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/trace_unit/trace_setup.c and trace_setup_unit.c. */
/* An ETMv4 as the trace unit of a target: what goes into the configuration,
 * wishes, words, filters. */
#include "server/trace_unit/trace_setup.h"

#include "server/protocols/source_device.h"
#include "tests/drivers/coresight/test_etm4_bus.h"

#define TARGET "[target]\nconnect = :1\n[trace]\nsink = etb\n[coresight]\netb = 0xE0043000\n"
#define M33    TARGET "[core cpu0]\ntype = Cortex-M33\ntrace_unit = 0xE0041000\n"

static struct etm4_bus b;
static struct config config;
static struct trace_setup setup;
static struct message why;

static void read_file(const char *text)
{
    int error = config_parse(&config, text, strlen(text), "b.conf", NULL, &why);
    ck_assert_msg(error == 0, "%s", why.text);
}

static void discover(const char *text)
{
    read_file(text);
    ck_assert_int_eq(trace_setup_discover(&setup, &b.bus, &config, 0, &why), 0);
}

static void done(void)
{
    trace_setup_release(&setup);
    config_release(&config);
}

static uint32_t reg(const char *name)
{
    uint64_t value = 0;
    ck_assert_msg(snapshot_reg(&config.cores[0].source_device, name, &value) == 0, "no %s", name);
    return (uint32_t)value;
}

static bool has_reg(const char *name)
{
    uint64_t value;
    return snapshot_reg(&config.cores[0].source_device, name, &value) == 0;
}

static void notes_have(const char *part)
{
    ck_assert_msg(strstr(setup.notes.text, part) != NULL, "'%s' is not in '%s'", part,
                  setup.notes.text);
}

START_TEST(discovery)
{
    struct stream_config stream = {.protocol = STREAM_ETMV4};
    unsigned id = 0;
    etm4_bus_m33(&b);
    discover(M33);
    ck_assert_str_eq(setup.notes.text, "");
    ck_assert(setup.history && config.cores[0].has_source);
    const struct snapshot_device *device = &config.cores[0].source_device;
    ck_assert_str_eq(device->type, "ETM4.2");
    ck_assert_str_eq(device->name, "ETM_0");
    ck_assert_uint_eq(reg("TRCCONFIGR"), 1);
    ck_assert_uint_eq(reg("TRCTRACEIDR"), 0x10);
    ck_assert_uint_eq(reg("TRCIDR0"), 0x280006e1);
    ck_assert_uint_eq(reg("TRCDEVARCH"), 0x47724a13);
    ck_assert(!has_reg("ETMTRACEIDR"));
    ck_assert_uint_eq(b.demcr & 0x01000000, 0x01000000);
    ck_assert_uint_eq(*etm4_reg(&b, 0x004), 0); /* nothing runs yet */
    ck_assert_int_eq(source_device_configure(&source_etmv4, device, &config.cores[0].core_device,
                                             &stream, &id, &why),
                     0);
    ck_assert(id == 0x10 && stream.etmv4.m_profile && stream.etmv4.version_minor == 2);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert(trace_setup_runs(&setup));
    ck_assert_uint_eq(*etm4_reg(&b, 0x004), 1);
    ck_assert_uint_eq(setup.cores[0].sync_bytes, 1024);
    ck_assert_int_eq(trace_setup_stop(&setup, &why), 0);
    ck_assert_uint_eq(*etm4_reg(&b, 0x004), 0);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    *etm4_reg(&b, 0x004) = 0; /* a reset */
    ck_assert(!trace_setup_runs(&setup));
    b.never_idle = true;
    ck_assert_int_eq(trace_setup_stop(&setup, &why), BT_ERR_IO);
    ck_assert_ptr_nonnull(strstr(why.text, "the trace unit of core cpu0 does not become idle"));
    done();
}
END_TEST

START_TEST(wishes)
{
    etm4_bus_m33(&b);
    discover(M33 "TRCCONFIGR = 0x1859\nTRCTRACEIDR = 0x22\nTRCSTALLCTLR = 0x108\nETMCR = 0x100\n"
                 "source = ETM3.5\n");
    notes_have("TRCCONFIGR is 0x00001859 in the board file, but 0x00000819 in the trace unit");
    notes_have("ETMCR is of another kind of trace unit than ETM4.2: it is not used; TRCCONFIGR is");
    notes_have("source is ETM3.5 in the board file, but the trace unit is ETM4.2, which is used");
    ck_assert_ptr_null(strstr(setup.notes.text, "TRCSTALLCTLR"));
    ck_assert_uint_eq(*etm4_reg(&b, 0x040), 0x22);
    ck_assert_uint_eq(*etm4_reg(&b, 0x02c), 0x108);
    ck_assert(!has_reg("ETMCR"));
    done();
}
END_TEST

/* The flight recorder's capture is taken as it is, and made the same way again. */
START_TEST(attached)
{
    etm4_bus_m33(&b);
    read_file(M33);
    config.attach = true;
    *etm4_reg(&b, 0x010) = 0x809;
    *etm4_reg(&b, 0x040) = 0x31;
    ck_assert_int_eq(trace_setup_discover(&setup, &b.bus, &config, 0, &why), 0);
    notes_have("core cpu0: the trace unit is not running: was it armed?");
    ck_assert_uint_eq(b.writes, 0);
    ck_assert(reg("TRCCONFIGR") == 0x809 && reg("TRCTRACEIDR") == 0x31);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert(*etm4_reg(&b, 0x010) == 0x809 && *etm4_reg(&b, 0x040) == 0x31);
    done();
}
END_TEST

START_TEST(words)
{
    etm4_bus_m33(&b);
    *etm4_reg(&b, 0xfb8) = 0x88;
    discover(M33);
    notes_have("core cpu0: no history: the trace unit at 0xe0041000 may not trace: the chip is "
               "closed");
    ck_assert(!setup.history && !config.cores[0].has_source);
    done();
    etm4_bus_m33(&b);
    *etm4_reg(&b, 0xfb8) = 0x8c;
    discover(M33);
    notes_have("core cpu0: Secure code is not traced: the chip does not allow it");
    ck_assert(setup.history);
    b.never_starts = true;
    ck_assert_int_eq(trace_setup_program(&setup, &why), BT_ERR_IO);
    ck_assert_str_eq(why.text, "the trace unit of core cpu0 does not start (TRCSTATR): does its "
                               "trace clock run?");
    done();
    etm4_bus_m33(&b);
    *etm4_reg(&b, 0xfbc) = 0; /* neither part nor architecture are known */
    discover(M33);
    ck_assert_str_eq(config.cores[0].source_device.type, "ETM4.2");
    done();
    etm4_bus_m33(&b);
    b.fault = ETM4_UNIT + 0x1e0;
    discover(M33);
    notes_have("core cpu0: no history: the trace unit at 0xe0041000 ");
    done();
}
END_TEST

static void filter(const char *text, int error, const char *answer)
{
    int got = trace_setup_filter(&setup, text, &why);
    ck_assert_msg(got == error, "%s: %d, '%s'", text, got, why.text);
    ck_assert_msg(strstr(why.text, answer) != NULL, "%s: '%s'", text, why.text);
}

START_TEST(filters)
{
    static const char *const wrong[] = {"",
                                        "include",
                                        "include 0x100",
                                        "include 0x100-",
                                        "include 0x200-0x100",
                                        "include 0x100-0x200 0x300-0x400",
                                        "include -0x100-0x200",
                                        "only 0x100-0x200",
                                        "include 0x100-0x1ffffffffffffffff"};
    etm4_bus_a53(&b);
    discover(M33);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        filter(wrong[k], BT_ERR_INVAL, "trace filter include START-END, ");
    ck_assert(setup.programmed);
    filter("include 0x8000-0x8fff", 0, "the filter is set: include 0x00008000-0x00008fff");
    ck_assert(!setup.programmed && setup.filter_count == 1);
    filter("exclude 0x8100-0x81ff", 0, "fff, exclude 0x00008100-0x000081ff");
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert_uint_eq(*etm4_reg(&b, 0x084), 0x00020001);
    ck_assert_uint_eq(*etm4_reg(&b, 0x418), 0x81ff);
    filter("include 1-2", 0, "set");
    filter("include 3-4", 0, "set");
    filter("include 5-6", BT_ERR_RANGE, "comparators for 4 ranges, all in use");
    ck_assert_uint_eq(setup.filter_count, 4);
    filter("include none", 0, "the filter is set: exclude 0x00008100-0x000081ff");
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert_uint_eq(*etm4_reg(&b, 0x084), 0x00010000);
    filter("none", 0, "no filter: all addresses are traced");
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert_uint_eq(*etm4_reg(&b, 0x084), 0);
    done();
    etm4_bus_m33(&b);
    discover(M33);
    filter("include 1-2", BT_ERR_UNSUPPORTED, "core cpu0 has no address comparators");
    filter("none", 0, "no filter");
    done();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("trace_setup");
    unit_case(s, "trace setup: an ETMv4 is found, described and started", discovery);
    unit_case(s, "trace setup: wishes for an ETMv4", wishes);
    unit_case(s, "trace setup: an ETMv4 that was armed", attached);
    unit_case(s, "trace setup: an ETMv4 that cannot be used, in words", words);
    unit_case(s, "trace setup: address filters of an ETMv4", filters);
    return s;
}
