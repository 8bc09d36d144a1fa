/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests drivers/coresight/coresight_ring.c on the model of an RP2350's way of trace into memory:
 * bytes come, the ring is read and started at random; what is read is what came last, and whether
 * more came is told. $RING_SEED makes a run again.
 */
#include "drivers/coresight/coresight_trace.h"
#include "tests/model/ring_model.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TPIU   0x40148000u
#define DMA    0x50000300u
#define FIFO   0x50700000u
#define ROUNDS 300u
#define ID     0x21u

static struct ring_model model;
static struct coresight_bus bus;
static struct coresight_buffer buffer;
static uint32_t words[RING_MODEL_BYTES / 4];
static uint32_t seed;
static uint8_t came[4 * RING_MODEL_BYTES];
static size_t came_size;

static int ring_bus_read(struct coresight_bus *b, uint64_t address, uint32_t *to, size_t count)
{
    (void)b;
    for (size_t i = 0; i < count; i++)
        to[i] = ring_model_read(&model, (uint32_t)address + 4 * (uint32_t)i);
    return 0;
}

static int ring_bus_write(struct coresight_bus *b, uint64_t address, const uint32_t *from,
                          size_t count)
{
    (void)b;
    for (size_t i = 0; i < count; i++)
        if (ring_model_write(&model, (uint32_t)address + 4 * (uint32_t)i, from[i]))
            ring_model_flush(&model);
    return 0;
}

static uint64_t ring_now(void *user)
{
    (void)user;
    return 0;
}

static void ring_sleep(void *user, unsigned us)
{
    (void)user;
    (void)us;
}

static uint32_t choice(uint32_t n)
{
    return (random_next(&seed) >> 12) % n;
}

/* What the board file for the chip writes. */
static void ring_chip(uint32_t first, unsigned bits)
{
    const uint32_t list[][2] = {{0x40060058, 0xacce00f8},
                                {0x50000464, 0x1000},
                                {FIFO, 1},
                                {DMA, FIFO + 4},
                                {DMA + 4, first},
                                {DMA + 8, 0xffffffff},
                                {DMA + 12, 0x006b8049 | 0x1000 | bits << 8},
                                {FIFO, 2},
                                {0x40147000, 2}};
    ring_model_reset(&model);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        ring_model_write(&model, list[i][0], list[i][1]);
}

static void ring_setup(void)
{
    static const struct coresight_bus_ops ops = {.read = ring_bus_read, .write = ring_bus_write};
    const char *given = getenv("RING_SEED");
    seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("RING_SEED=%u\n", seed);
    fflush(stdout);
    ring_model_release(&model);
    memset(&model, 0, sizeof model);
    model.present = true;
    bus =
        (struct coresight_bus){.ops = &ops, .clock = {.now_us = ring_now, .sleep_us = ring_sleep}};
}

static void ring_init(uint32_t first, uint32_t size)
{
    static const struct coresight_ring tell = {DMA + 4, FIFO, 2};
    ck_assert_int_eq(coresight_buffer_init_ring(&buffer, &bus, TPIU, first, size, &tell), 0);
    ck_assert_int_eq(coresight_buffer_start(&buffer), 0);
    came_size = 0;
}

static void let_come(uint32_t count)
{
    for (uint32_t i = 0; i < count && came_size < sizeof came; i++)
        came[came_size++] = (uint8_t)choice(256);
    ring_model_put(&model, ID, came + came_size - count, count);
}

/* Bytes of the source in the frames that were read; -1: they are none. */
static long unpack(const struct coresight_buffer_content *c, uint8_t *out)
{
    long n = 0;
    unsigned id = 0;
    for (size_t f = 0; f + 4 <= c->words; f += 4) {
        uint8_t frame[16];
        memcpy(frame, &words[f], sizeof frame);
        for (unsigned i = 0; i < 15; i++) {
            bool even = i % 2 == 0, flag = frame[15] >> i / 2 & 1;
            if (even && frame[i] & 1) {
                unsigned next = frame[i] >> 1;
                if (flag && i < 14) { /* the byte behind it is still of the old one */
                    if (id == ID)
                        out[n++] = frame[i + 1];
                    i++;
                }
                id = next;
            } else if (id == ID) {
                out[n++] = even ? (uint8_t)(frame[i] | flag) : frame[i];
            }
        }
    }
    return n;
}

/* How many bytes of the newest were found; *all: they are all that came. */
static void check_content(struct coresight_buffer_content *c)
{
    static uint8_t found[RING_MODEL_BYTES];
    ck_assert_int_eq(coresight_buffer_stop(&buffer), 0);
    ck_assert_int_eq(coresight_buffer_read(&buffer, words, c), 0);
    if (c->overflowed)
        return;
    ck_assert(!c->unclean && c->words % 4 == 0);
    long n = unpack(c, found);
    ck_assert(n <= (long)came_size && memcmp(found, came + came_size - n, (size_t)n) == 0);
    if (!c->wrapped)
        ck_assert_int_eq(n, (long)came_size);
    else /* an ID comes each eight frames at the latest */
        ck_assert(c->words == buffer.words && n >= (long)buffer.words * 3 - 8 * 16);
}

START_TEST(test_ring_rounds)
{
    struct coresight_buffer_content c;
    unsigned wrapped = 0;
    ring_setup();
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned bits = 7 + choice(9);
        uint32_t size = 1u << bits, first = RING_MODEL_RAM + choice(RING_MODEL_BYTES / size) * size;
        ring_chip(first, bits);
        ring_init(first, size);
        for (unsigned run = choice(6); run < 6; run++) {
            let_come(choice(3) ? choice(200) : choice(3 * size));
            check_content(&c);
            ck_assert(!c.overflowed);
            wrapped += c.wrapped;
            ck_assert_int_eq(coresight_buffer_start(&buffer), 0);
            came_size = 0;
        }
    }
    ck_assert(wrapped > 20);
    ck_assert_uint_eq(model.bad_writes, 0);
}
END_TEST

/* A word is lost: nothing of that run is read, and all of the next one. */
START_TEST(test_ring_overflow)
{
    struct coresight_buffer_content c;
    ring_setup();
    ring_chip(RING_MODEL_RAM, 12);
    ring_init(RING_MODEL_RAM, 4096);
    model.lose_after = model.words + 20;
    let_come(300);
    check_content(&c);
    ck_assert(c.overflowed && c.words == 0);
    for (unsigned run = 0; run < 5; run++) {
        ck_assert_int_eq(coresight_buffer_start(&buffer), 0);
        came_size = 0;
        let_come(run % 2 ? 300 : 9000);
        check_content(&c);
        ck_assert(!c.overflowed && c.wrapped == (run % 2 == 0));
    }
}
END_TEST

START_TEST(test_ring_elsewhere)
{
    struct coresight_buffer_content c;
    const struct coresight_ring tell = {DMA + 4, 0, 0};
    ring_setup();
    ring_chip(RING_MODEL_RAM, 12);
    ck_assert_int_eq(coresight_buffer_init_ring(&buffer, &bus, TPIU, RING_MODEL_RAM, 24, &tell),
                     BT_ERR_INVAL);
    ck_assert_int_eq(coresight_buffer_init_ring(&buffer, &bus, TPIU, RING_MODEL_RAM + 8, 32, &tell),
                     BT_ERR_INVAL);
    ck_assert_int_eq(
        coresight_buffer_init_ring(&buffer, &bus, TPIU, RING_MODEL_RAM + 4096, 4096, &tell), 0);
    ck_assert_int_eq(coresight_buffer_start(&buffer), BT_ERR_FORMAT); /* who writes is elsewhere */
    ck_assert_int_eq(coresight_buffer_read(&buffer, words, &c), BT_ERR_FORMAT);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("coresight ring");
    unit_case(s, "coresight: what is read of a ring is what came last", test_ring_rounds);
    unit_case(s, "coresight: a ring that lost a word, and the next run", test_ring_overflow);
    unit_case(s, "coresight: rings that are none", test_ring_elsewhere);
    return s;
}
