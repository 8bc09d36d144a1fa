/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace units, funnel, ETB, TMC and TPIU of the A-profile system, by DDI 0314H. */
#include <string.h>

#include "core_a_sim.h"
#include "port_sampler.h"
#include "tests/support/unit_main.h"
#include "trace_a.h"

#define WORDS 16u

static struct core_a_sim sim;
static struct trace_a tr;
static uint8_t bytes[256];

static void start(bool etmv3, bool tmc)
{
    const struct trace_a_options options = {.etmv3 = etmv3, .tmc = tmc, .words = WORDS};
    core_a_sim_init(&sim, 2);
    struct core_a cores = core_a_sim_cores(&sim);
    trace_a_init(&tr, &cores, &options);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i | 1);
}

static uint32_t R(unsigned offset)
{
    return sink_read(&tr.sink, offset, true);
}

static void W(unsigned offset, uint32_t value)
{
    trace_a_write_sink(&tr, offset, true, value);
}

static void arm(uint32_t ffcr)
{
    W(0x020, 0);
    W(0x018, 0);
    W(0x014, 0);
    W(0x304, ffcr);
    W(0x020, 1);
}

static void stop(void)
{
    W(0x304, R(0x304) | 0x1000);
    W(0x304, R(0x304) | 0x40);
    ck_assert_uint_eq(R(0x304) & 0x40, 0x40); /* not done at the first look */
    R(0x304);
    ck_assert_uint_eq(R(0x304) & 0x40, 0);
    ck_assert_uint_eq(R(0x300) & 2, 2);
}

START_TEST(test_etb)
{
    start(false, false);
    arm(1);
    sink_put(&tr.sink, 0x10, bytes, 20);
    ck_assert_uint_eq(R(0x010), UINT32_MAX); /* it captures */
    W(0x018, 4);
    ck_assert_uint_eq(tr.sink.ignored_writes, 1);
    stop();
    W(0x020, 0);
    ck_assert_uint_eq(R(0x018), 8); /* two frames */
    ck_assert_uint_eq(R(0x00c), 0xc);
    W(0x014, 0);
    ck_assert_uint_eq(R(0x010), 0x03000121); /* ID, bytes; bit 0 of each second one is at the end */
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_etb_wraps)
{
    start(false, false);
    arm(1);
    for (unsigned i = 0; i < 2; i++)
        sink_put(&tr.sink, 0x10, bytes, 60);
    stop();
    W(0x020, 0);
    ck_assert_uint_eq(R(0x00c) & 1, 1);
    ck_assert_uint_ne(R(0x018), 0);
    trace_a_release(&tr);
}
END_TEST

/* StopFl in the same write as FOnMan comes too late. */
START_TEST(test_stop_order)
{
    start(false, false);
    arm(1);
    W(0x304, 0x1041);
    ck_assert_uint_eq(R(0x300) & 2, 0);
    R(0x304);
    R(0x304);
    W(0x304, 0x1041);
    ck_assert_uint_eq(R(0x300) & 2, 2);
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_tmc)
{
    unsigned n = 0;
    start(false, true);
    ck_assert_uint_eq(R(0x00c) & 4, 4);
    arm(3);
    for (unsigned i = 0; i < 2; i++)
        sink_put(&tr.sink, 0x10, bytes, 60);
    stop();
    ck_assert_uint_eq(R(0x00c) & 5, 5);
    ck_assert_uint_eq(R(0x018) % 4, 0); /* bytes */
    while (R(0x010) != UINT32_MAX)
        n++;
    ck_assert_uint_eq(n, WORDS);
    ck_assert_uint_eq(R(0x00c) & 0x10, 0x10);
    trace_a_release(&tr);
}
END_TEST

/* A software FIFO gives while it takes; what has no room waits. */
START_TEST(test_fifo)
{
    unsigned n = 0;
    start(false, true);
    W(0x028, 1);
    arm(3);
    ck_assert_uint_eq(R(0x010), UINT32_MAX);
    for (unsigned i = 0; i < 2; i++)
        sink_put(&tr.sink, 0x10, bytes, 60);
    ck_assert_uint_eq(R(0x030), WORDS);
    while (R(0x010) != UINT32_MAX)
        n++;
    ck_assert_uint_gt(n, 28);
    W(0x028, 0); /* not now */
    ck_assert_uint_eq(R(0x028), 1);
    trace_a_release(&tr);
}
END_TEST

static struct unit_a_model *unit(unsigned i)
{
    return &tr.unit[i];
}

static void program(unsigned i, uint32_t cr, uint32_t tecr1)
{
    unit_a_write(unit(i), 0x000, true, 0x400);
    for (unsigned n = 0; n < 4; n++)
        unit_a_update(unit(i));
    unit_a_write(unit(i), 0x020, true, 0x6f);
    unit_a_write(unit(i), 0x024, true, tecr1);
    unit_a_write(unit(i), 0x200, true, 0x10 + i);
    unit_a_write(unit(i), 0x000, true, cr | 0x400);
    unit_a_write(unit(i), 0x000, true, cr);
}

START_TEST(test_ptm)
{
    start(false, false);
    unit_a_write(unit(0), 0x200, true, 0x10); /* powered down */
    ck_assert_uint_eq(unit(0)->ignored_writes, 1);
    unit_a_write(unit(0), 0x000, false, 0x400);
    ck_assert_uint_eq(unit(0)->locked_writes, 1);
    program(0, 0x30001100, 0x01000000);
    ck_assert_uint_eq(unit_a_read(unit(0), 0x000, true), 0x1100); /* what it does not have */
    ck_assert_uint_eq(unit_a_read(unit(0), 0x010, true), 2);
    ck_assert(!unit_a_setting(unit(0)).on);
    trace_a_run(&tr);
    trace_a_run(&tr);
    ck_assert_uint_eq(unit_a_read(unit(0), 0x010, true), 0);
    ck_assert(tr.set[0].on);
    ck_assert_uint_eq(tr.set[0].etmcr, 0x1100);
    ck_assert_uint_eq(tr.unselected, 1);      /* the funnel's port is off */
    unit_a_write(unit(0), 0x200, true, 0x22); /* it runs */
    ck_assert_uint_eq(unit_a_trace_id(unit(0)), 0x10);
    trace_a_release(&tr);
}
END_TEST

START_TEST(test_choices)
{
    start(true, false);
    program(0, 0x840, 0);
    for (unsigned n = 0; n < 4; n++)
        unit_a_update(unit(0));
    ck_assert(!unit_a_setting(unit(0)).on); /* includes nothing */
    program(0, 0x840, 0x01000000);
    for (unsigned n = 0; n < 4; n++)
        unit_a_update(unit(0));
    ck_assert(unit_a_setting(unit(0)).on);
    ck_assert_uint_eq(unit_a_read(unit(0), 0x014, true) & 0xc00, 0xc00);
    unit_a_write(unit(0), 0x000, true, 0x400);
    for (unsigned n = 0; n < 4; n++)
        unit_a_update(unit(0));
    unit_a_write(unit(0), 0x048, true, 0x60000100);
    unit_a_write(unit(0), 0x04c, true, 0x60000200);
    program(0, 0x840, 2);
    for (unsigned n = 0; n < 4; n++)
        unit_a_update(unit(0));
    struct core_a_trace set = unit_a_setting(unit(0));
    ck_assert(set.on && !set.exclude && set.ranges == 1);
    ck_assert_uint_eq(set.first[0], 0x60000100);
    ck_assert_uint_eq(set.last[0], 0x600001ff);
    program(0, 0x000, 0x01000000); /* without ETMEN */
    for (unsigned n = 0; n < 4; n++)
        unit_a_update(unit(0));
    ck_assert(!unit_a_setting(unit(0)).on);
    trace_a_release(&tr);
}
END_TEST

/* Both units through the funnel into one ETB, each with its ID. */
START_TEST(test_two_units)
{
    start(false, false);
    arm(1);
    funnel_a_write(&tr, 0x000, true, 0x303);
    funnel_a_write(&tr, 0x004, true, 0); /* ignored: ports are on */
    ck_assert_uint_eq(funnel_a_read(&tr, 0x004, true), 0x00fac688);
    program(0, 0, 0x01000000);
    program(1, 0, 0x01000000);
    for (unsigned n = 0; n < 4; n++)
        trace_a_run(&tr);
    stop();
    W(0x020, 0);
    W(0x014, 0);
    uint32_t word = R(0x010);
    ck_assert_uint_eq(word & 0xff, 0x10 << 1 | 1);
    ck_assert_uint_eq(word >> 8 & 0xff, 0xc0);
    ck_assert_uint_eq(word >> 16 & 0xff, 0x11 << 1 | 1);
    ck_assert_uint_eq(word >> 24, 0xc1);
    ck_assert_uint_eq(tr.unselected, 0);
    trace_a_release(&tr);
}
END_TEST

static uint32_t RT(unsigned offset)
{
    return tpiu_a_read(&tr.tpiu, offset, true);
}

static void WT(unsigned offset, uint32_t value)
{
    trace_a_write_tpiu(&tr, offset, true, value);
}

static void await_flush(void)
{
    ck_assert_uint_eq(RT(0x304) & 0x40, 0x40); /* not done at the first look */
    RT(0x304);
    ck_assert_uint_eq(RT(0x304) & 0x40, 0);
}

/* In this order: stop, choose, start. */
static void stop_port(void)
{
    WT(0x304, 0x1000);
    WT(0x304, 0x1040);
    await_flush();
    ck_assert_uint_eq(RT(0x300), 2);
}

static void start_port(unsigned width)
{
    stop_port();
    ck_assert(RT(0x000) >> (width - 1) & 1);
    WT(0x004, 1u << (width - 1));
    WT(0x304, 0x0103);
}

static void start_wired(void)
{
    start(false, false);
    tr.tpiu.wired = true;
}

START_TEST(test_tpiu)
{
    start(false, false);
    trace_a_write_tpiu(&tr, 0x004, false, 8);
    ck_assert_uint_eq(tr.tpiu.locked_writes, 1);
    trace_a_write_tpiu(&tr, 0xfb0, false, 0xc5acce55);
    trace_a_write_tpiu(&tr, 0x004, false, 8);
    ck_assert_uint_eq(RT(0x004), 8);
    WT(0x004, 0x10); /* five pins there are not */
    WT(0x004, 0x0b); /* one width at a time */
    ck_assert_uint_eq(RT(0x004), 8);
    ck_assert_uint_eq(tr.tpiu.ignored_writes, 2);
    ck_assert_uint_eq(RT(0x308), 0x40);
    WT(0x308, 0x12010);
    ck_assert_uint_eq(RT(0x308), 0x010);
    stop_port();
    WT(0x304, 0x0103);
    ck_assert_uint_eq(RT(0x304), 0x0103);
    ck_assert_uint_eq(RT(0x300), 0);
    stop_port(); /* clears what cannot be changed yet: no fault of whoever does so */
    ck_assert_uint_eq(tr.tpiu.ignored_writes, 2);
    trace_a_release(&tr);
}
END_TEST

/* What a port that was not stopped first makes of the same: as it was, without a format. */
START_TEST(test_tpiu_order)
{
    start_wired();
    WT(0x304, 0x0103);
    ck_assert_uint_eq(RT(0x304), 0x0100);
    ck_assert_uint_eq(tr.tpiu.ignored_writes, 1);
    ck_assert(!tpiu_a_sends(&tr.tpiu));
    WT(0x304, 0x1040); /* StopFl too late for this flush */
    ck_assert_uint_eq(RT(0x300), 1);
    await_flush();
    ck_assert_uint_eq(RT(0x300), 0);
    tpiu_a_put(&tr.tpiu, 0x10, bytes, 5);
    ck_assert_uint_eq(tr.tpiu.unsent, 5); /* there is no TRACECTL */
    start_port(4);
    ck_assert(tpiu_a_sends(&tr.tpiu));
    WT(0x204, 0x20004); /* a pattern instead */
    tpiu_a_put(&tr.tpiu, 0x10, bytes, 5);
    ck_assert_uint_eq(tr.tpiu.unsent, 10);
    ck_assert_uint_eq(tr.tpiu.pins.size, 0);
    trace_a_release(&tr);
}
END_TEST

struct taken {
    uint8_t bytes[2][4096];
    size_t size[2];
    unsigned frames, other;
    uint8_t id;
};

static void on_source(void *ctx, uint8_t id, const uint8_t *from, size_t size)
{
    struct taken *t = ctx;
    if (id != 0x10 && id != 0x11) {
        t->other += id != 0;
        return;
    }
    memcpy(t->bytes[id & 1] + t->size[id & 1], from, size);
    t->size[id & 1] += size;
}

static void on_frame(void *ctx, const uint8_t frame[PORT_FRAME])
{
    struct taken *t = ctx;
    t->frames++;
    port_deframe(&t->id, frame, on_source, t);
}

/* What the pins have, by its sources; how many bytes that was. */
static size_t look_at_pins(struct taken *t)
{
    static uint8_t wire[16384];
    struct port_sampler sampler = {.frame = on_frame, .ctx = t};
    size_t n = tpiu_a_pins(&tr.tpiu, false, wire, sizeof wire);
    port_sampler_put(&sampler, wire, n);
    ck_assert_uint_eq(sampler.cut, 0);
    ck_assert_uint_eq(sampler.unsynced, 4); /* it begins with a full sync */
    return n;
}

/* Both sources, whole, in frames; with as many syncs as FSCR says; the flush sends the rest. */
START_TEST(test_tpiu_pins)
{
    static struct taken t;
    memset(&t, 0, sizeof t);
    start_wired();
    stop_port();
    WT(0x308, 8);
    start_port(16);
    ck_assert_uint_eq(tpiu_a_width(&tr.tpiu), 16);
    for (unsigned i = 0; i < 8; i++) {
        tpiu_a_put(&tr.tpiu, 0x10, bytes, 200);
        tpiu_a_put(&tr.tpiu, 0x11, bytes + 16, 100);
    }
    WT(0x304, 0x0143);
    await_flush();
    size_t n = look_at_pins(&t);
    ck_assert_uint_eq(t.size[0], 1600);
    ck_assert_uint_eq(t.size[1], 800);
    ck_assert_mem_eq(t.bytes[0] + 200, bytes, 200);
    ck_assert_mem_eq(t.bytes[1] + 700, bytes + 16, 100);
    ck_assert_uint_eq(t.other, 0);
    ck_assert_uint_eq(n, 16 * t.frames + 4 * ((t.frames + 7) / 8));
    stop_port();
    tpiu_a_put(&tr.tpiu, 0x10, bytes, 200); /* taken, and gone */
    ck_assert_uint_eq(tr.tpiu.pins.size, 0);
    ck_assert_uint_eq(tr.tpiu.unsent, 0);
    trace_a_release(&tr);
}
END_TEST

/* Behind cores that stand still half syncs fill the port, one of them in the frame that waits. */
START_TEST(test_tpiu_idle)
{
    static struct taken t;
    static uint8_t wire[4096];
    struct port_sampler sampler = {.frame = on_frame, .ctx = &t};
    size_t n = 0;
    memset(&t, 0, sizeof t);
    start_wired();
    start_port(1);
    tpiu_a_put(&tr.tpiu, 0x10, bytes, 20);
    n = tpiu_a_pins(&tr.tpiu, true, wire, sizeof wire);
    ck_assert_uint_eq(n, 20); /* a sync and a frame */
    while (n < 1000)
        n += tpiu_a_pins(&tr.tpiu, true, wire + n, sizeof wire - n);
    tpiu_a_put(&tr.tpiu, 0x10, bytes + 20, 20);
    n += tpiu_a_pins(&tr.tpiu, false, wire + n, sizeof wire - n);
    port_sampler_put(&sampler, wire, n);
    ck_assert_uint_eq(t.frames, 2);
    ck_assert_mem_eq(t.bytes[0], bytes, t.size[0]);
    ck_assert_uint_eq(sampler.cut, 0);
    trace_a_release(&tr);
}
END_TEST

/* The cores know how much fits, from both trace units, from the time that they trace. */
START_TEST(test_tpiu_pace)
{
    static const unsigned widths[] = {1, 2, 4, 8, 16};
    start_wired();
    funnel_a_write(&tr, 0x000, true, 0x303);
    program(1, 0, 0x01000000);
    for (unsigned n = 0; n < 4; n++)
        trace_a_run(&tr);
    ck_assert_uint_eq(sim.pace, 0);
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
        start_port(widths[i]);
        trace_a_run(&tr);
        ck_assert_uint_eq(sim.pace, 8000000 * widths[i] / 16 * 15);
    }
    stop_port();
    trace_a_run(&tr);
    ck_assert_uint_eq(sim.pace, 0);
    start_port(1);
    tr.tpiu.wired = false;
    trace_a_run(&tr);
    ck_assert_uint_eq(sim.pace, 0);
    trace_a_release(&tr);
}
END_TEST

/* From the cores through the funnel to ETB and pins at once; the TPIU's flush is not the ETB's. */
START_TEST(test_tpiu_and_etb)
{
    static struct taken t;
    memset(&t, 0, sizeof t);
    start_wired();
    arm(1);
    start_port(4);
    funnel_a_write(&tr, 0x000, true, 0x303);
    program(0, 0, 0x01000000);
    program(1, 0, 0x01000000);
    for (unsigned n = 0; n < 4; n++)
        trace_a_run(&tr);
    stop_port();
    look_at_pins(&t);
    ck_assert_uint_eq(t.frames, 1);
    ck_assert_uint_eq(t.size[0], 1);
    ck_assert_uint_eq(t.bytes[0][0], 0xc0);
    ck_assert_uint_eq(t.bytes[1][0], 0xc1);
    ck_assert_uint_eq(R(0x018), 0);
    stop();
    ck_assert_uint_eq(R(0x018), 4);
    trace_a_release(&tr);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("trace_a");
    unit_case(s, "trace_a: ETB", test_etb);
    unit_case(s, "trace_a: ETB wraps", test_etb_wraps);
    unit_case(s, "trace_a: ETB stops on a flush asked for before", test_stop_order);
    unit_case(s, "trace_a: TMC, circular buffer", test_tmc);
    unit_case(s, "trace_a: TMC, software FIFO", test_fifo);
    unit_case(s, "trace_a: PTM's lock, power and programming bit", test_ptm);
    unit_case(s, "trace_a: what the trace unit chooses", test_choices);
    unit_case(s, "trace_a: two trace units through the funnel", test_two_units);
    unit_case(s, "trace_a: TPIU", test_tpiu);
    unit_case(s, "trace_a: the order in which a TPIU is set", test_tpiu_order);
    unit_case(s, "trace_a: pins of the TPIU", test_tpiu_pins);
    unit_case(s, "trace_a: an idle port", test_tpiu_idle);
    unit_case(s, "trace_a: how much fits on the pins", test_tpiu_pace);
    unit_case(s, "trace_a: pins and ETB at once", test_tpiu_and_etb);
    return s;
}
