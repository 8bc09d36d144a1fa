/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/coresight/coresight.c, coresight_buffer.c, coresight_etm.c and coresight_port.c. */
#include "drivers/coresight/coresight.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/adi/mem_ap.h"
#include "drivers/coresight/coresight_trace.h"
#include "tests/drivers/adi/test_adiv5_model.h"
#include "tests/support/unit_main.h"

/* A bus of pages of registers; behaviour by the kind of the page. */
#define PAGES 8u
#define BASE  0x80000000u

enum page_kind {
    PAGE_PLAIN,
    PAGE_ETB,
    PAGE_TMC,
    PAGE_ETM,
    PAGE_TPIU,
    PAGE_STUCK_TPIU,
    PAGE_FAULT,
};

struct board {
    struct coresight_bus bus;
    uint32_t regs[PAGES][1024];
    enum page_kind kind[PAGES];
    uint32_t ram[64]; /* of the ETB or TMC */
    unsigned ram_left;
    bool flushed_without_stop;
    unsigned flushes;
    uint64_t now;
};

static uint32_t read_reg(struct board *b, unsigned page, unsigned offset)
{
    uint32_t *r = b->regs[page];
    switch (b->kind[page]) {
    case PAGE_ETB:
        if (offset == 0x010) {
            if ((r[0x020 / 4] & 1) != 0)
                return 0xffffffffu;
            uint32_t value = b->ram[r[0x014 / 4] % 64];
            r[0x014 / 4] = (r[0x014 / 4] + 1) % 64;
            return value;
        }
        break;
    case PAGE_TMC:
        if (offset == 0x010)
            return b->ram_left > 0 ? b->ram[64 - b->ram_left--] : 0xffffffffu;
        break;
    default:
        break;
    }
    return r[offset / 4];
}

static void write_reg(struct board *b, unsigned page, unsigned offset, uint32_t value)
{
    uint32_t *r = b->regs[page];
    bool sink =
        b->kind[page] == PAGE_ETB || b->kind[page] == PAGE_TMC || b->kind[page] == PAGE_TPIU;
    if (sink && offset == 0x304 && (value & 0x40) != 0) {
        if ((r[0x304 / 4] & 0x1000) == 0)
            b->flushed_without_stop = true;
        b->flushes++;
        r[0x300 / 4] |= 2;
        r[0x00c / 4] |= 4;
        value &= ~0x40u;
    }
    if (b->kind[page] == PAGE_TPIU && offset == 0x304 && (value & 0x1000) == 0)
        r[0x300 / 4] = 0; /* it goes on */
    if (sink && offset == 0x020)
        r[0x300 / 4] = value == 0 ? 2 : 0;
    if (b->kind[page] == PAGE_ETM && offset == 0x000) {
        value &= ~0x20000000u; /* no return stack here */
        r[0x010 / 4] = (value & 0x400) != 0 ? 2 : 0;
    }
    if (b->kind[page] == PAGE_ETM && offset != 0x000 && offset != 0xfb0 && offset < 0x300)
        ck_assert_uint_eq(r[0x010 / 4], 2); /* only while Prog is set */
    r[offset / 4] = value;
}

static int bus_read(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    struct board *b = bus->self;
    for (size_t k = 0; k < count; k++) {
        uint64_t at = address + 4 * k - BASE;
        if (at >= PAGES * 0x1000 || b->kind[at >> 12] == PAGE_FAULT) {
            bus->failure = DEBUG_FAIL_FAULT;
            bus->fault_address = address + 4 * k;
            return BT_ERR_IO;
        }
        words[k] = read_reg(b, (unsigned)(at >> 12), (unsigned)(at & 0xfff));
    }
    return 0;
}

static int bus_fifo(struct coresight_bus *bus, uint64_t address, uint32_t *words, size_t count)
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < count; k++)
        rc = bus_read(bus, address, words + k, 1);
    return rc;
}

static int bus_write(struct coresight_bus *bus, uint64_t address, const uint32_t *words,
                     size_t count)
{
    struct board *b = bus->self;
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_lt(address - BASE, PAGES * 0x1000);
    write_reg(b, (unsigned)((address - BASE) >> 12), (unsigned)(address & 0xfff), words[0]);
    return 0;
}

static uint64_t board_now(void *user)
{
    struct board *b = user;
    return b->now += 10;
}

static void board_sleep(void *user, uint32_t time)
{
    struct board *b = user;
    b->now += time;
}

static struct board *board_new(void)
{
    static const struct coresight_bus_ops OPS = {
        .read = bus_read, .write = bus_write, .read_fifo = bus_fifo};
    struct board *b = calloc(1, sizeof *b);
    ck_assert_ptr_nonnull(b);
    b->bus = (struct coresight_bus){
        .ops = &OPS, .self = b, .clock = {.now_us = board_now, .sleep_us = board_sleep, .user = b}};
    return b;
}

static uint64_t page(unsigned k)
{
    return BASE + 0x1000u * k;
}

/* Identification registers. */
static void set_ids(struct board *b, unsigned k, unsigned class, unsigned designer, unsigned part,
                    unsigned pages_log2)
{
    uint32_t *id = &b->regs[k][0xfd0 / 4];
    id[0] = pages_log2 << 4 | designer >> 7;
    id[4] = part & 0xff;
    id[5] = (designer & 0xf) << 4 | part >> 8;
    id[6] = 0x10 | 8 | (designer >> 4 & 7);
    id[8] = 0x0d;
    id[9] = class << 4;
    id[10] = 0x05;
    id[11] = 0xb1;
}

START_TEST(test_walk)
{
    struct board *b = board_new();
    struct coresight_component list[8];
    set_ids(b, 0, 1, 0x020, 0x123, 0);
    set_ids(b, 1, 9, CORESIGHT_ARM, 0x907, 0);
    b->regs[1][0xfcc / 4] = 0x21;
    set_ids(b, 2, 1, CORESIGHT_ARM, 0x4a9, 0);
    set_ids(b, 4, 9, CORESIGHT_ARM, 0x950, 1); /* two pages: 3 and 4 */
    b->regs[4][0xfcc / 4] = 0x13;
    b->kind[5] = PAGE_FAULT;
    b->regs[0][0] = 0x1003;
    b->regs[0][1] = 0x6002; /* not present */
    b->regs[0][2] = 0x5003; /* cannot be read */
    b->regs[0][3] = 0x7003; /* no identification */
    b->regs[0][4] = 0x2003;
    b->regs[2][0] = 0x2003;
    b->regs[2][1] = 0xffffe003; /* back to the first table */
    b->regs[2][2] = 0x0003;     /* itself */
    ck_assert_int_eq(coresight_scan(&b->bus, BASE | 3, list, 8), 4);
    ck_assert_int_eq(coresight_kind_of(&list[0]), CORESIGHT_ROM_TABLE);
    ck_assert_uint_eq(list[0].designer, 0x020);
    ck_assert_uint_eq(list[0].part, 0x123);
    ck_assert_int_eq(coresight_kind_of(&list[1]), CORESIGHT_ETB);
    ck_assert_uint_eq(list[1].designer, CORESIGHT_ARM);
    ck_assert_uint_eq(list[1].type, 0x21);
    ck_assert_int_eq(coresight_kind_of(&list[2]), CORESIGHT_ROM_TABLE);
    ck_assert_int_eq(coresight_kind_of(&list[3]), CORESIGHT_PTM);
    ck_assert_uint_eq(list[3].base, page(3));
    ck_assert_int_eq(coresight_scan(&b->bus, BASE | 3, list, 2), 2);
    ck_assert_int_eq(coresight_scan(&b->bus, 0xffffffff, list, 8), BT_ERR_FORMAT);
    ck_assert_int_eq(coresight_scan(&b->bus, 2, list, 8), BT_ERR_FORMAT);
    ck_assert_int_eq(coresight_scan(&b->bus, page(7) | 3, list, 8), BT_ERR_FORMAT);
    free(b);
}
END_TEST

START_TEST(test_walk_class_9)
{
    struct board *b = board_new();
    struct coresight_component list[8];
    set_ids(b, 0, 9, CORESIGHT_ARM, 0x4e0, 0);
    b->regs[0][0xfbc / 4] = 0x47700af7;
    b->regs[0][0xfc8 / 4] = 1; /* entries of 64 bits */
    set_ids(b, 1, 9, CORESIGHT_ARM, 0x961, 0);
    set_ids(b, 2, 9, 0x015, 0xabc, 0);
    b->regs[2][0xfcc / 4] = 0x12;
    b->regs[0][0] = 0x1003;
    b->regs[0][2] = 0x7002; /* not present */
    b->regs[0][4] = 0x2003;
    ck_assert_int_eq(coresight_scan(&b->bus, BASE | 3, list, 8), 3);
    ck_assert_int_eq(coresight_kind_of(&list[1]), CORESIGHT_TMC);
    ck_assert_int_eq(coresight_kind_of(&list[2]), CORESIGHT_FUNNEL); /* by type alone */
    free(b);
}
END_TEST

static void fill_ram(struct board *b)
{
    for (unsigned k = 0; k < 64; k++)
        b->ram[k] = 0x1000 + k;
}

START_TEST(test_etb)
{
    static const struct {
        uint32_t status, write;
        size_t count;
        uint32_t first;
        bool wrapped, unclean;
    } runs[] = {
        {0, 0, 0, 0, false, false},       {0, 12, 12, 0x1000, false, false},
        {0, 13, 16, 0x1000, false, true}, {1, 0, 64, 0x1000, true, false},
        {1, 20, 64, 0x1014, true, false}, {1, 21, 64, 0x1018, true, true},
        {1, 63, 64, 0x1000, true, true},  {0, 63, 64, 0x1000, false, true},
    };
    struct board *b = board_new();
    struct coresight_buffer etb;
    struct coresight_buffer_content content;
    uint32_t words[64];
    b->kind[1] = PAGE_ETB;
    b->regs[1][1] = 64;
    b->regs[1][0x300 / 4] = 2;
    fill_ram(b);
    ck_assert_int_eq(coresight_buffer_init(&etb, &b->bus, page(1), false), 0);
    ck_assert_uint_eq(etb.words, 64);
    ck_assert_int_eq(coresight_buffer_start(&etb), 0);
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 1);
    ck_assert_uint_eq(b->regs[1][0x304 / 4], 1);
    b->regs[1][0x018 / 4] = runs[_i].write;
    b->regs[1][0x00c / 4] = runs[_i].status;
    ck_assert_int_eq(coresight_buffer_stop(&etb), 0);
    ck_assert(!b->flushed_without_stop);
    ck_assert_uint_eq(b->regs[1][0x304 / 4], 0x1001);
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 0);
    ck_assert_int_eq(coresight_buffer_read(&etb, words, &content), 0);
    ck_assert_uint_eq(content.words, runs[_i].count);
    ck_assert(content.wrapped == runs[_i].wrapped);
    ck_assert(content.unclean == runs[_i].unclean);
    for (size_t k = 0; k < content.words; k++)
        ck_assert_uint_eq(words[k], 0x1000 + (runs[_i].first - 0x1000 + k) % 64);
    b->regs[1][0x018 / 4] = 64; /* beyond its RAM */
    ck_assert_int_eq(coresight_buffer_read(&etb, words, &content), BT_ERR_FORMAT);
    b->regs[1][1] = 0;
    ck_assert_int_eq(coresight_buffer_init(&etb, &b->bus, page(1), false), BT_ERR_FORMAT);
    free(b);
}
END_TEST

START_TEST(test_tmc)
{
    struct board *b = board_new();
    struct coresight_buffer tmc;
    struct coresight_buffer_content content;
    uint32_t words[64];
    b->kind[1] = PAGE_TMC;
    b->regs[1][1] = 64;
    b->regs[1][0x00c / 4] = 4;
    b->regs[1][0xfc8 / 4] = 4u << 8; /* 128 bits wide */
    fill_ram(b);
    ck_assert_int_eq(coresight_buffer_init(&tmc, &b->bus, page(1), true), 0);
    ck_assert_uint_eq(tmc.memory_words, 4);
    ck_assert_int_eq(coresight_buffer_start(&tmc), 0);
    ck_assert_uint_eq(b->regs[1][0x304 / 4], 3);
    b->regs[1][0x00c / 4] = _i ? 1 : 0;
    b->ram_left = _i ? 64 : 8;
    ck_assert_int_eq(coresight_buffer_stop(&tmc), 0);
    ck_assert(!b->flushed_without_stop);
    ck_assert_int_eq(coresight_buffer_read(&tmc, words, &content), 0);
    ck_assert_uint_eq(content.words, _i ? 64 : 8);
    ck_assert(content.wrapped == (_i != 0));
    ck_assert_uint_eq(words[0], _i ? 0x1000 : 0x1000 + 56);
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 0);
    ck_assert_int_eq(coresight_buffer_read(&tmc, words, &content), 0);
    ck_assert_uint_eq(content.words, 0); /* disabled: nothing to read */
    b->regs[1][0xfc8 / 4] = 1u << 6;
    ck_assert_int_eq(coresight_buffer_init(&tmc, &b->bus, page(1), true), BT_ERR_UNSUPPORTED);
    free(b);
}
END_TEST

/* A TMC that stores in the system's memory, here on page 2, step by step (DDI 0461B). */
START_TEST(test_etr)
{
    static const unsigned ends[] = {24, 8, 10}; /* where the write pointer stands, in words */
    struct board *b = board_new();
    struct coresight_buffer etr;
    struct coresight_buffer_content content;
    uint32_t words[64];
    const unsigned end = ends[_i];
    const bool wrapped = _i != 0;
    b->kind[1] = PAGE_TMC;
    b->regs[1][0x00c / 4] = 4;
    b->regs[1][0xfc8 / 4] = 1u << 6;
    for (unsigned k = 0; k < 64; k++)
        b->regs[2][k] = 0x1000 + k;
    ck_assert_int_eq(coresight_buffer_init_etr(&etr, &b->bus, page(1), page(2) + 4, 256),
                     BT_ERR_INVAL);
    ck_assert_int_eq(coresight_buffer_init_etr(&etr, &b->bus, page(1), page(2), 256), 0);
    ck_assert_int_eq(coresight_buffer_start(&etr), 0);
    ck_assert_uint_eq(b->regs[1][0x004 / 4], 64);
    ck_assert_uint_eq(b->regs[1][0x118 / 4], (uint32_t)page(2));
    ck_assert_uint_eq(b->regs[1][0x11c / 4], (uint32_t)(page(2) >> 32));
    ck_assert_uint_eq(b->regs[1][0x018 / 4], (uint32_t)page(2));
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 1);
    b->regs[1][0x00c / 4] = wrapped;
    b->regs[1][0x018 / 4] = (uint32_t)page(2) + 4 * end;
    ck_assert_int_eq(coresight_buffer_stop(&etr), 0);
    ck_assert_int_eq(coresight_buffer_read(&etr, words, &content), 0);
    ck_assert(content.wrapped == wrapped);
    ck_assert(content.unclean == (end % 4 != 0));
    ck_assert_uint_eq(content.words, _i == 0 ? 24 : _i == 1 ? 64 : 60);
    ck_assert_uint_eq(words[0], 0x1000 + (_i == 0 ? 0 : _i == 1 ? 8 : 12));
    ck_assert_uint_eq(words[content.words - 1], 0x1000 + (_i == 0 ? 23 : 7));
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 0);
    b->regs[1][0x020 / 4] = 1;
    b->regs[1][0x018 / 4] = (uint32_t)page(2) + 260; /* outside the store */
    ck_assert_int_eq(coresight_buffer_read(&etr, words, &content), BT_ERR_FORMAT);
    b->regs[1][0xfc8 / 4] = 0;
    ck_assert_int_eq(coresight_buffer_init_etr(&etr, &b->bus, page(1), page(2), 256),
                     BT_ERR_UNSUPPORTED);
    b->regs[1][0x00c / 4] = 4;
    ck_assert_int_eq(coresight_etf_pass(&b->bus, page(1)), 0);
    ck_assert_uint_eq(b->regs[1][0x028 / 4], 2);
    ck_assert_uint_eq(b->regs[1][0x304 / 4], 1);
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 1);
    free(b);
}
END_TEST

/* The target's own program has stopped the formatter: it would never answer another flush. */
START_TEST(test_frozen)
{
    struct board *b = board_new();
    struct coresight_buffer buffer = {.bus = &b->bus, .base = page(1), .words = 64};
    b->kind[1] = PAGE_ETB;
    b->regs[1][0x020 / 4] = 1;
    b->regs[1][0x300 / 4] = 2;
    b->regs[1][0x304 / 4] = 1;
    ck_assert_int_eq(coresight_buffer_stop(&buffer), 0);
    ck_assert_uint_eq(b->regs[1][0x304 / 4], 1);
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 0);
    buffer.tmc = true; /* stays enabled: it can be read only so */
    b->kind[1] = PAGE_TMC;
    b->regs[1][0x020 / 4] = 1;
    b->regs[1][0x00c / 4] = 4;
    ck_assert_int_eq(coresight_buffer_stop(&buffer), 0);
    ck_assert_uint_eq(b->regs[1][0x304 / 4], 1);
    ck_assert_uint_eq(b->regs[1][0x020 / 4], 1);
    free(b);
}
END_TEST

/* Ports and sources. */

START_TEST(test_ports)
{
    struct board *b = board_new();
    b->regs[2][0] = 0x704;
    ck_assert_int_eq(coresight_funnel_enable(&b->bus, page(2), 1), 0);
    ck_assert_uint_eq(b->regs[2][0], 0x306);
    ck_assert_int_eq(coresight_funnel_enable(&b->bus, page(2), 8), BT_ERR_INVAL);
    b->regs[5][0] = b->regs[5][1] = 0xff;
    ck_assert_int_eq(coresight_replicator_pass(&b->bus, page(5), UINT32_MAX), 0);
    ck_assert(b->regs[5][0] == 0 && b->regs[5][1] == 0);
    b->kind[3] = PAGE_TPIU;
    b->regs[3][0] = 0xb;
    ck_assert_int_eq(coresight_tpiu_parallel(&b->bus, page(3), false, 4), 0);
    ck_assert_uint_eq(b->regs[3][1], 8);
    ck_assert_uint_eq(b->regs[3][0x304 / 4], 0x103);
    b->flushes = 0;
    ck_assert_int_eq(coresight_tpiu_drain(&b->bus, page(3)), 0);
    ck_assert_uint_eq(b->flushes, 1);
    ck_assert_uint_eq(b->regs[3][0x304 / 4], 0x103);
    ck_assert_uint_eq(b->regs[3][0x300 / 4] & 2, 0);
    ck_assert_int_eq(coresight_tpiu_parallel(&b->bus, page(3), false, 3), BT_ERR_UNSUPPORTED);
    ck_assert(!b->flushed_without_stop);
    b->regs[4][0] = 0xb;
    b->regs[4][0xf0 / 4] = 1;
    ck_assert_int_eq(coresight_tpiu_parallel(&b->bus, page(4), true, 2), 0);
    ck_assert_uint_eq(b->regs[4][1], 2);
    ck_assert_uint_eq(b->regs[4][0xf0 / 4], 0);
    ck_assert_int_eq(coresight_tpiu_swo(&b->bus, page(4), 84, true), 0);
    ck_assert_uint_eq(b->regs[4][0xf0 / 4], 2);
    ck_assert_uint_eq(b->regs[4][0x10 / 4], 83);
    ck_assert_int_eq(coresight_tpiu_swo(&b->bus, page(4), 0, true), BT_ERR_INVAL);
    /* One whose flush never ends. */
    b->kind[5] = PAGE_STUCK_TPIU;
    ck_assert_int_eq(coresight_tpiu_stop(&b->bus, page(5)), BT_ERR_IO);
    ck_assert_int_eq(b->bus.failure, DEBUG_FAIL_TIMEOUT);
    ck_assert_uint_eq(b->bus.fault_address, page(5) + 0x304);
    ck_assert_uint_lt(b->now, 200000);
    ck_assert_int_eq(coresight_tpiu_drain(&b->bus, page(5)), BT_ERR_IO);
    ck_assert_uint_eq(b->regs[5][0x304 / 4] & 0x1040, 0);
    free(b);
}
END_TEST

START_TEST(test_etm)
{
    struct board *b = board_new();
    struct coresight_etm_state state;
    struct coresight_etm_options o = {.ptm = true, .trace_id = 0x10, .cycle_accurate = true};
    b->kind[6] = PAGE_ETM;
    b->regs[6][0] = 0x401;
    b->regs[6][0x004 / 4] = 0x8d294004;
    b->regs[6][0x1e4 / 4] = 0x411cf301;
    b->regs[6][0x150 / 4] = 0x1234;
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), 0);
    ck_assert_uint_eq(b->regs[6][0], 0x1000);
    ck_assert_uint_eq(state.control, 0x1000);
    ck_assert_uint_eq(state.id, 0x411cf301);
    ck_assert_uint_eq(state.trace_id, 0x10);
    ck_assert_uint_eq(b->regs[6][0x020 / 4], 0x6f);
    ck_assert_uint_eq(b->regs[6][0x024 / 4], 0x01000000);
    ck_assert_uint_eq(b->regs[6][0x150 / 4], 0x2406f);
    ck_assert_uint_eq(b->regs[6][0x1e0 / 4], 0x400);
    ck_assert_int_eq(coresight_etm_stop(&b->bus, page(6)), 0);
    ck_assert_uint_eq(b->regs[6][0], 0x1400);
    o.return_stack = true; /* this one has none */
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), 0);
    ck_assert_uint_eq(state.control, 0x1000);
    o.branch_broadcast = true;
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), BT_ERR_INVAL);
    o = (struct coresight_etm_options){.trace_id = 2};
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), BT_ERR_UNSUPPORTED);
    free(b);
}
END_TEST

START_TEST(test_etm_m4)
{
    struct board *b = board_new();
    struct coresight_etm_state state;
    struct coresight_etm_options o = {
        .m_profile = true, .trace_id = 2, .branch_broadcast = true, .stall_level = 24};
    b->kind[6] = PAGE_ETM;
    b->regs[6][0] = 0x411;
    b->regs[6][0x004 / 4] = 0x8c842000;
    b->regs[6][0x1e4 / 4] = 0x4114f250;
    ck_assert_int_eq(coresight_etm_read(&b->bus, page(6), &state), 0);
    ck_assert(state.id == 0x4114f250 && state.control == 0x411 && b->regs[6][0] == 0x411);
    ck_assert_int_eq(coresight_etm_program(&b->bus, page(6), &o, &state), 0);
    ck_assert_uint_eq(state.control, 0x980); /* while it runs; it does not yet */
    ck_assert_uint_eq(b->regs[6][0], 0xd80);
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), 0);
    ck_assert_uint_eq(b->regs[6][0], 0x980);
    ck_assert_uint_eq(b->regs[6][0x02c / 4], 24);
    b->regs[6][0x004 / 4] &= ~0x00800000u; /* cannot stall */
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), 0);
    ck_assert_uint_eq(b->regs[6][0], 0x900);
    o.cycle_accurate = true;
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), BT_ERR_INVAL);
    o = (struct coresight_etm_options){.m_profile = true, .trace_id = 0x70};
    ck_assert_int_eq(coresight_etm_start(&b->bus, page(6), &o, &state), BT_ERR_INVAL);
    free(b);
}
END_TEST

START_TEST(test_on_mem_ap)
{
    struct model *m = model_new();
    struct adiv5_dp dp = model_connected(m, false);
    struct mem_ap ap;
    struct coresight_bus bus;
    uint32_t value;
    ck_assert_int_eq(mem_ap_init(&ap, &dp, 2), 0);
    coresight_bus_on_mem_ap(&bus, &ap);
    ck_assert_int_eq(coresight_write(&bus, MODEL_BASE + 8, 0x12345678), 0);
    ck_assert_int_eq(coresight_read(&bus, MODEL_BASE + 8, &value), 0);
    ck_assert_uint_eq(value, 0x12345678);
    ck_assert_int_eq(coresight_modify(&bus, MODEL_BASE + 8, 0xff, 0), 0);
    ck_assert_int_eq(coresight_poll(&bus, MODEL_BASE + 8, 0xfff, 0x600), 0);
    ck_assert_int_eq(coresight_read(&bus, 0x90000004, &value), BT_ERR_IO);
    ck_assert_int_eq(bus.failure, DEBUG_FAIL_FAULT);
    ck_assert_uint_eq(bus.fault_address, 0x90000004);
    free(m);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("coresight");
    unit_case(s, "coresight: ROM tables with loops and holes", test_walk);
    unit_case(s, "coresight: ROM table of class 9", test_walk_class_9);
    unit_cases(s, "coresight: ETB, wrapped and not", test_etb, 0, 8);
    unit_cases(s, "coresight: TMC, wrapped and not", test_tmc, 0, 2);
    unit_cases(s, "coresight: TMC that stores in the system's memory", test_etr, 0, 3);
    unit_case(s, "coresight: buffers that the target's program has stopped", test_frozen);
    unit_case(s, "coresight: funnel, replicator and TPIU", test_ports);
    unit_case(s, "coresight: PTM", test_etm);
    unit_case(s, "coresight: ETM of a Cortex-M4", test_etm_m4);
    unit_case(s, "coresight: on a MEM-AP", test_on_mem_ap);
    return s;
}
