/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/trace_unit/trace_setup_itm.c, server/config/config_itm.c and
 * drivers/coresight/coresight_itm.c. */
/* Registers of an ITM, a DWT and a TPIU as the architecture has them, random board files: what is
 * set up afterwards, and whose the comparators are. */
#include "server/trace_unit/trace_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#define ROUNDS    400
#define TPIU_BASE 0xe0040000u
#define TER       0xe00u
#define TCR       0xe80u

/* Registers by page: ITM, DWT, TPIU, and DEMCR. */
static struct {
    struct coresight_bus bus;
    uint32_t itm[1024], dwt[1024], tpiu[1024], demcr;
    bool v8, locked, no_packets;
    unsigned comparators, mask_max, busy;
    unsigned bad; /* writes that the architecture forbids */
    uint64_t now;
} b;

static uint32_t *place(uint64_t address)
{
    uint32_t *page = (address & ~0xfffull) == 0xe0000000u   ? b.itm
                     : (address & ~0xfffull) == 0xe0001000u ? b.dwt
                     : (address & ~0xfffull) == TPIU_BASE   ? b.tpiu
                                                            : NULL;
    return address == 0xe000edfcu ? &b.demcr : page ? &page[(address & 0xfff) / 4] : NULL;
}

static int bus_read(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t *p = place(address + 4 * i);
        if (!p) {
            bus->failure = DEBUG_FAIL_FAULT;
            bus->fault_address = address;
            return BT_ERR_IO;
        }
        words[i] = *p;
        if (p == &b.itm[TCR / 4] && b.busy) {
            b.busy--;
            words[i] |= 0x00800000;
        }
        if (p == b.dwt)
            words[i] |= b.comparators << 28 | (b.no_packets ? 1u << 27 : 0);
    }
    return 0;
}

static void write_itm(unsigned offset, uint32_t value)
{
    if (offset == 0xfb0) {
        b.locked = value != 0xc5acce55;
        return;
    }
    b.bad += b.locked;
    if (offset == TCR) {
        uint32_t was = b.itm[TCR / 4];
        b.bad += was & 1 && (was ^ value) & 0x7f0000 && value & 1;
        b.bad += b.busy > 0 && value & 1;
        b.busy = was & 1 && !(value & 1) ? 3 : b.busy;
        value &= 0x007f0f0f;
    }
    b.itm[offset / 4] = value;
}

static void write_dwt(unsigned offset, uint32_t value)
{
    uint32_t was = b.dwt[offset / 4];
    if (offset == 0) /* the start value is taken while nothing counts */
        b.bad += was & 0x401000 && (was ^ value) & 0x1e0;
    if (offset >= 0x20 && offset < 0x20 + 16 * b.comparators && offset % 16 == 4 &&
        value > b.mask_max)
        value = b.mask_max;
    b.dwt[offset / 4] = offset == 0 ? value & 0x007fffff : value;
}

static int bus_write(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                     size_t count)
{
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_nonnull(place(address));
    (void)bus;
    if ((address & ~0xfffull) == 0xe0000000u)
        write_itm(address & 0xfff, words[0]);
    else if ((address & ~0xfffull) == 0xe0001000u)
        write_dwt(address & 0xfff, words[0]);
    else
        *place(address) = words[0];
    return 0;
}

static uint64_t bus_now(void *user)
{
    (void)user;
    return b.now += 10;
}

static void bus_sleep(void *user, uint32_t time)
{
    (void)user;
    b.now += time;
}

static void make_bus(bool v8, unsigned comparators)
{
    static const struct coresight_bus_ops ops = {.read = bus_read, .write = bus_write};
    memset(&b, 0, sizeof b);
    b.bus =
        (struct coresight_bus){.ops = &ops, .clock = {.now_us = bus_now, .sleep_us = bus_sleep}};
    b.v8 = v8;
    b.locked = true;
    b.comparators = comparators;
    b.mask_max = 15;
    b.dwt[0xfbc / 4] = v8 ? 0x47701a02 : 0;
    b.tpiu[0] = 0xf;
}

#define SWO                                                                                        \
    "[target]\nconnect = :1\n[coresight]\ntpiu = 0xE0040000\n[trace]\nconnect = :2\n"              \
    "sink = swo\nswo_rate = 1M\ntrace_clock = 16M\nformat = raw\n"
#define M4 "[core cpu0]\ntype = Cortex-M4\n"

static struct config config;
static struct trace_setup setup;
static struct message why;

static int parse(const char *text)
{
    return config_parse(&config, text, strlen(text), "b.conf", NULL, &why);
}

static void begin(const char *text)
{
    int error = parse(text);
    ck_assert_msg(error == 0, "%s", why.text);
    ck_assert_int_eq(trace_setup_discover(&setup, &b.bus, &config, 0, &why), 0);
}

static void done(void)
{
    trace_setup_release(&setup);
    config_release(&config);
}

static void notes_have(const char *part)
{
    ck_assert_msg(strstr(setup.notes.text, part) != NULL, "'%s' is not in '%s'", part,
                  setup.notes.text);
}

START_TEST(alone_on_swo)
{
    make_bus(false, 4);
    begin(SWO "itm = 0 2-3\nitm_id = 5\nitm_timestamps = 16\ndwt = exceptions, pc-samples 2048\n"
              "watch = 0x20000010 2 pc value, 0x20000100\n" M4);
    ck_assert(config_is_itm_alone(&config) && setup.history && !config.cores[0].has_source);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert_uint_eq(b.demcr, 0x01000000);
    ck_assert_uint_eq(b.tpiu[0x304 / 4], 0x100); /* no frames */
    ck_assert_uint_eq(b.itm[TER / 4], 0xd);
    ck_assert_uint_eq(b.itm[TCR / 4], 0x0005020f);
    /* CYCCNTENA, POSTPRESET and POSTINIT 1, CYCTAP, SYNCTAP 1, PCSAMPLENA, EXCTRCENA */
    ck_assert_uint_eq(b.dwt[0], 0x00011623);
    ck_assert(b.dwt[0x50 / 4] == 0x20000010 && b.dwt[0x54 / 4] == 1 && b.dwt[0x58 / 4] == 3);
    ck_assert(b.dwt[0x40 / 4] == 0x20000100 && b.dwt[0x44 / 4] == 2 && b.dwt[0x48 / 4] == 2);
    notes_have("watch 0x20000010: comparator 3 of the DWT, 2 bytes at 0x20000010");
    ck_assert(trace_setup_runs(&setup) && b.bad == 0);
    b.itm[TCR / 4] = 0; /* a reset */
    ck_assert(!trace_setup_runs(&setup));
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert(trace_setup_runs(&setup));
    b.dwt[0x58 / 4] = 6; /* a debugger takes it */
    ck_assert(!trace_setup_runs(&setup));
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert_uint_eq(b.dwt[0x58 / 4], 6);
    ck_assert_int_eq(trace_setup_stop(&setup, &why), 0);
    ck_assert(b.dwt[0x58 / 4] == 6 && b.dwt[0x48 / 4] == 0 && b.dwt[0x38 / 4] == 0);
    done();
}
END_TEST

START_TEST(comparators_are_shared)
{
    make_bus(false, 4);
    b.dwt[0x58 / 4] = 7; /* watchpoint */
    b.dwt[0x28 / 4] = 1; /* another tool's samples of the PC */
    begin(SWO "watch = 0x20000000, 0x20000004 4 address, 0x20000008 4 pc\n" M4);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    notes_have("watch 0x20000000: comparator 2 of the DWT");
    notes_have("watch 0x20000004: comparator 1 of the DWT");
    notes_have(
        "0x20000008 is not watched: no comparator for it: 0 is of somebody else's trace, 1 is "
        "of another watch, 2 is of another watch, 3 is of a watchpoint");
    ck_assert(b.dwt[0x48 / 4] == 2 && b.dwt[0x38 / 4] == 0x21);
    ck_assert(b.dwt[0x58 / 4] == 7 && b.dwt[0x28 / 4] == 1);
    done();
    make_bus(true, 4);
    begin(SWO
          "watch = 0x20000000, 0x20000004 2 value pc, 0x20000008 1 pc, 0x2000000c 4 address\n" M4);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert_uint_eq(b.dwt[0x58 / 4], 0x82c); /* a word with value */
    ck_assert_uint_eq(b.dwt[0x48 / 4], 0x43c); /* a halfword, with value and PC */
    ck_assert_uint_eq(b.dwt[0x38 / 4], 0x034); /* a byte, the PC */
    ck_assert_uint_eq(b.dwt[0x28 / 4], 0);
    notes_have("0x2000000c is not watched: no comparator for it: 0 is unable to do this");
    done();
    make_bus(false, 0);
    b.no_packets = true;
    begin(SWO "watch = 0x20000000\n" M4);
    notes_have("no ITM: the DWT of this core sends no packets");
    ck_assert(!setup.history);
    done();
}
END_TEST

/* What a random board file wants is what the registers have, and nothing is left of it. */
START_TEST(random_setups)
{
    static const unsigned scales[] = {0, 1, 4, 16, 64};
    uint32_t seed = getenv("BTRACED_SEED") ? (uint32_t)strtoul(getenv("BTRACED_SEED"), NULL, 0) : 9;
    printf("seed %u\n", seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        char text[1024], list[200] = "", watch[200] = "";
        uint32_t ports = random_next(&seed), old_dwt = random_next(&seed) & 0xc01;
        unsigned scale = random_next(&seed) >> 8, id = 1 + (random_next(&seed) >> 8) % 0x6f;
        unsigned steps = 1 + (random_next(&seed) >> 8) % 16, what = random_next(&seed) >> 8;
        unsigned period = steps * (what & 4 && steps > 1 ? 1024 : 64), foreign = 0;
        uint32_t functions[4];
        ports = ports ? ports : 1;
        make_bus(what & 8, 1 + (what >> 4) % 4);
        for (unsigned k = 0; k < 32; k++)
            if (ports >> k & 1)
                snprintf(list + strlen(list), sizeof list - strlen(list), " %u", k);
        for (unsigned k = 0; k < b.comparators; k++) {
            b.dwt[(0x28 + 16 * k) / 4] = random_next(&seed) >> 30 ? 0 : b.v8 ? 0x14 : 5;
            functions[k] = b.dwt[(0x28 + 16 * k) / 4];
            foreign += functions[k] != 0;
        }
        unsigned watches = (what >> 8) % 5;
        for (unsigned k = 0; k < watches; k++)
            snprintf(watch + strlen(watch), sizeof watch - strlen(watch), "%s0x%x 4", k ? ", " : "",
                     0x20000000 + 4 * k);
        b.dwt[0] = old_dwt;
        b.itm[TCR / 4] = what & 0x1000 ? 0x00030001 : 0;
        b.itm[TER / 4] = 0x80;
        snprintf(text, sizeof text,
                 SWO "itm =%s\nitm_id = %u\nitm_timestamps = %u\ndwt = %s %u%s\n%s%s\n" M4, list,
                 id, scales[scale % 5], what & 1 ? "pc-samples" : "cycles", period,
                 what & 2 ? ",exceptions" : "", watches ? "watch = " : "", watch);
        begin(text);
        ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
        ck_assert_msg(trace_setup_runs(&setup) && b.bad == 0, "round %u", round);
        ck_assert_uint_eq(b.itm[TER / 4], ports);
        ck_assert_uint_eq(b.itm[TCR / 4],
                          id << 16 | (scale % 5 ? 2 | (scale % 5 - 1) << 8 : 0) | 13);
        bool slow = period > 1024;
        uint32_t preset = period / (slow ? 1024 : 64) - 1;
        ck_assert_uint_eq(b.dwt[0], 0x401 | (slow ? 0x200 : 0) | preset << 1 | preset << 5 |
                                        (what & 1 ? 0x1000 : 0x400000) | (what & 2 ? 0x10000 : 0));
        unsigned used = 0;
        for (unsigned k = 0; k < b.comparators; k++) {
            uint32_t now = b.dwt[(0x28 + 16 * k) / 4];
            ck_assert(functions[k] ? now == functions[k] : now == 0 || now == (b.v8 ? 0x82c : 2));
            used += !functions[k] && now;
        }
        unsigned room = b.comparators - foreign;
        ck_assert_uint_eq(used, watches < room ? watches : room);
        ck_assert_int_eq(trace_setup_stop(&setup, &why), 0);
        for (unsigned k = 0; k < b.comparators; k++)
            ck_assert_uint_eq(b.dwt[(0x28 + 16 * k) / 4], functions[k]);
        ck_assert(b.itm[TER / 4] == 0x80 && b.itm[TCR / 4] == (what & 0x1000 ? 0x00030001u : 0));
        /* The port's own synchronisation stays on, as for every Cortex-M. */
        ck_assert_uint_eq(b.dwt[0] & ~0xc01u, 0);
        ck_assert_uint_eq(b.bad, 0);
        done();
    }
}
END_TEST

static void refuse(const char *text, const char *message)
{
    ck_assert_int_eq(parse(text), BT_ERR_FORMAT);
    ck_assert_msg(strncmp(why.text, message, strlen(message)) == 0, "'%s'", why.text);
    config_release(&config);
}

START_TEST(board_files)
{
    refuse(SWO "itm = 32\n" M4, "b.conf:11: itm: '32' is not possible; allowed: all, or numbers");
    refuse(SWO "itm = 3-1\n" M4, "b.conf:11: itm: '3-1' is not possible");
    refuse(SWO "itm = ,\n" M4, "b.conf:11: itm: ',' is not possible");
    refuse(SWO "dwt = pc-samples 100\n" M4, "b.conf:11: dwt: 'pc-samples 100' is not possible");
    refuse(SWO "dwt = pc-samples 64, cycles 64\n" M4, "b.conf:11: dwt: ");
    refuse(SWO "dwt = everything\n" M4, "b.conf:11: dwt: 'everything' is not possible");
    refuse(SWO "watch = 0x20000001 4\n" M4, "b.conf:11: watch: ");
    refuse(SWO "watch = 0x20000000 3\n" M4, "b.conf:11: watch: ");
    refuse(SWO "watch = counter 4 hex\n" M4, "b.conf:11: watch: ");
    refuse(SWO "watch = a,b,c,d,e\n" M4, "b.conf:11: watch: ");
    refuse(SWO "itm = all\nitm_timestamps = 2\n" M4,
           "b.conf:12: itm_timestamps: 2 is not possible");
    refuse(SWO "itm_id = 2\n" M4, "b.conf:11: itm_id: is not used");
    refuse(SWO "itm = all\nitm_listen = 10.0.0.1:3443\n" M4,
           "b.conf:12: itm_listen: '10.0.0.1:3443'");
    refuse(SWO "itm = all\n[core cpu0]\ntype = Cortex-M23\n",
           "b.conf:11: itm: is not used: a Cortex-M23");
    refuse(SWO "itm = all\n" M4 "source = ETM3.5\n",
           "b.conf:11: itm: format = raw holds the trace");
    refuse("[target]\nconnect = :1\n[trace]\nconnect = :2\nformat = tpiu\nitm = all\nitm_id = "
           "0x10\n" M4 "source = ETM3.5\nETMCR = 0\nETMIDR = 0x4114F250\nETMCCER = 0x18541800\n"
           "ETMTRACEIDR = 0x10\n",
           "b.conf:7: itm_id: 0x10 is the trace ID of [core cpu0]");
}
END_TEST

/* Beside the build folder, wherever the test stands. */
static void find_program(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size - 64);
    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    char *build = strstr(path, "/build/");
    ck_assert_ptr_nonnull(build);
    snprintf(build, 64, "/configs/virtual/crash-m4.elf");
}

START_TEST(variables)
{
    char text[4096 + 512], program[4096];
    find_program(program, sizeof program);
    make_bus(false, 4);
    snprintf(text, sizeof text,
             SWO "watch = ticks, no_such_thing, fault address, topics\n" M4 "program = %s\n",
             program);
    begin(text);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    notes_have(
        "warning: [trace] watch: 'topics' has 448 bytes at 0x2000000c: a comparator watches");
    notes_have("watch ticks: comparator 3 of the DWT, 4 bytes at 0x20000210");
    notes_have("watch fault: comparator 2 of the DWT, 8 bytes at 0x20000220");
    ck_assert(b.dwt[0x58 / 4] == 2 && b.dwt[0x48 / 4] == 0x21 && b.dwt[0x38 / 4] == 0);
    done();
}
END_TEST

static void set_and_run(const char *text, int error, const char *answer)
{
    ck_assert_int_eq(trace_setup_set_itm(&setup, text, &why), error);
    ck_assert_msg(strstr(why.text, answer), "%s: %s", text, why.text);
    ck_assert(error == BT_ERR_INVAL || !trace_setup_runs(&setup));
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert(trace_setup_runs(&setup));
}

/* By command: what is said holds, what is wrong changes nothing, and what was set is let go. */
START_TEST(set_by_command)
{
    char text[4096 + 512], program[4096];
    find_program(program, sizeof program);
    make_bus(false, 4);
    snprintf(text, sizeof text, SWO "itm = 0\nwatch = ticks\n" M4 "program = %s\n", program);
    begin(text);
    ck_assert_int_eq(trace_setup_program(&setup, &why), 0);
    ck_assert(b.itm[TER / 4] == 1 && b.dwt[0x58 / 4] == 2 && !(b.dwt[0] & 0x10000));
    set_and_run("itm 1 8-9", 0, "itm = 1 8-9, from the next resume on");
    ck_assert_uint_eq(b.itm[TER / 4], 0x302);
    set_and_run("itm 1 32", BT_ERR_INVAL, "'1 32' is not possible; allowed: none, or ");
    ck_assert_uint_eq(b.itm[TER / 4], 0x302);
    set_and_run("dwt exceptions, pc-samples 4096", 0, "dwt = exceptions");
    ck_assert_uint_eq(b.dwt[0] & 0x11000, 0x11000);
    set_and_run("dwt none", 0, "dwt = none");
    ck_assert_uint_eq(b.dwt[0] & 0x11000, 0);
    set_and_run("watch fault, 0x20000000 2 value pc", 0, "watch = fault, 0x20000000");
    ck_assert(b.dwt[0x58 / 4] == 2 && b.dwt[0x50 / 4] == 0x20000220);
    ck_assert(b.dwt[0x48 / 4] == 3 && b.dwt[0x40 / 4] == 0x20000000);
    set_and_run("watch ticks, no_such_thing", BT_ERR_RANGE, "no variable 'no_such_thing'");
    ck_assert(b.dwt[0x50 / 4] == 0x20000210 && b.dwt[0x48 / 4] == 0);
    set_and_run("watch none", 0, "watch = none");
    ck_assert(b.dwt[0x58 / 4] == 0 && b.dwt[0x48 / 4] == 0);
    ck_assert_int_eq(trace_setup_set_itm(&setup, "ports 1", &why), BT_ERR_INVAL);
    done();
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("trace_setup_itm");
    unit_case(s, "ITM set-up: alone over SWO, again after a reset, taken back", alone_on_swo);
    unit_case(s, "ITM set-up: comparators are shared, and who has which is told",
              comparators_are_shared);
    unit_case(s, "ITM set-up: random board files, registers, and back", random_setups);
    unit_case(s, "ITM set-up: board files that are refused", board_files);
    unit_case(s, "ITM set-up: variables by name", variables);
    unit_case(s, "ITM set-up: by command", set_by_command);
    return s;
}
