/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the MTB in drivers/coresight/coresight_buffer.c on the model of one: packets come, the
 * buffer is read and started at random; what is read is what came last, and whether more came is
 * told. $MTB_SEED makes a run again.
 */
#include "drivers/coresight/coresight_trace.h"
#include "tests/model/mtb_model.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE   0xf0000000u
#define ROUNDS 3000u

static struct mtb_model model;
static struct coresight_bus bus;
static struct coresight_buffer buffer;
static uint32_t words[MTB_MODEL_BYTES / 4];
static uint32_t seed, came; /* words since the buffer was empty */

static int mtb_bus_read(struct coresight_bus *b, uint64_t address, uint32_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)address + 4 * (uint32_t)i;
        const uint8_t *ram = mtb_model_ram(&model, at, 4);
        (void)b;
        if (ram)
            memcpy(&to[i], ram, 4);
        else
            to[i] = mtb_model_read(&model, at - BASE);
    }
    return 0;
}

static int mtb_bus_write(struct coresight_bus *b, uint64_t address, const uint32_t *from,
                         size_t count)
{
    (void)b;
    for (size_t i = 0; i < count; i++)
        mtb_model_write(&model, (unsigned)(address - BASE) + 4 * (unsigned)i, from[i]);
    return 0;
}

static uint32_t choice(uint32_t n)
{
    return (random_next(&seed) >> 12) % n;
}

static void mtb_setup(void)
{
    static const struct coresight_bus_ops ops = {.read = mtb_bus_read, .write = mtb_bus_write};
    const char *given = getenv("MTB_SEED");
    seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("MTB_SEED=%u\n", seed);
    fflush(stdout);
    memset(&model, 0, sizeof model);
    model.present = true;
    mtb_model_reset(&model);
    bus = (struct coresight_bus){.ops = &ops};
}

/* Packets whose words count, so that each tells its place. */
static void let_come(uint32_t packets)
{
    for (uint32_t i = 0; i < 2 * packets; i++, came++)
        mtb_model_put(&model, (const uint8_t *)&came, 4);
}

static void check_content(void)
{
    struct coresight_buffer_content c;
    ck_assert_int_eq(coresight_buffer_stop(&buffer), 0);
    ck_assert_int_eq(coresight_buffer_read(&buffer, words, &c), 0);
    ck_assert(!c.unclean && c.wrapped == (came >= buffer.words));
    ck_assert_uint_eq(c.words, came < buffer.words ? came : buffer.words);
    for (size_t i = 0; i < c.words; i++)
        ck_assert_uint_eq(words[i], came - c.words + i);
}

START_TEST(test_rounds)
{
    mtb_setup();
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint32_t size = 16u << choice(10);
        const uint32_t least = (MTB_MODEL_RAM + size - 1) / size;
        const uint32_t first =
            (least + choice((MTB_MODEL_RAM + MTB_MODEL_BYTES) / size - least)) * size;
        ck_assert_int_eq(coresight_buffer_init_mtb(&buffer, &bus, BASE, first, size), 0);
        ck_assert(!coresight_mtb_runs(&buffer) || model.master & 1u << 31);
        ck_assert_int_eq(coresight_buffer_start(&buffer), 0);
        for (unsigned run = choice(6); run < 6; run++) {
            ck_assert(coresight_mtb_runs(&buffer));
            came = 0;
            let_come(choice(3) ? choice(8) : choice(2 * size / 8 + 2));
            check_content();
            ck_assert_int_eq(coresight_buffer_start(&buffer), 0);
        }
        if (choice(2)) {
            ck_assert_int_eq(coresight_mtb_stop(&buffer), 0);
            ck_assert(!coresight_mtb_runs(&buffer));
        } else if (choice(2)) {
            mtb_model_reset(&model);
        }
    }
    ck_assert_uint_eq(model.unprogrammed, 0);
}
END_TEST

/* RAM that it does not have, and a buffer that somebody else has set up. */
START_TEST(test_elsewhere)
{
    struct coresight_buffer_content c;
    static const uint32_t sizes[] = {0, 8, 24, 1u << 28};
    mtb_setup();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ck_assert_int_eq(coresight_buffer_init_mtb(&buffer, &bus, BASE, 0x1f004000, sizes[i]),
                         BT_ERR_INVAL);
    ck_assert_int_eq(coresight_buffer_init_mtb(&buffer, &bus, BASE, 0x1f002008, 16), BT_ERR_INVAL);
    ck_assert_int_eq(coresight_buffer_init_mtb(&buffer, &bus, BASE, 0x1f000000, 4096),
                     BT_ERR_RANGE);
    ck_assert_int_eq(coresight_buffer_init_mtb(&buffer, &bus, BASE, 0x20000000, 32768), 0);
    ck_assert_int_eq(coresight_buffer_start(&buffer), BT_ERR_RANGE);
    ck_assert(!coresight_mtb_runs(&buffer));
    ck_assert_int_eq(coresight_buffer_init_mtb(&buffer, &bus, BASE, 0x1f002000, 4096), 0);
    mtb_model_write(&model, 4, 1u << 31 | 7); /* half as long */
    ck_assert_int_eq(coresight_buffer_read(&buffer, words, &c), BT_ERR_FORMAT);
    mtb_model_write(&model, 4, 1u << 31 | 8);
    mtb_model_write(&model, 0, 0x3000);
    ck_assert_int_eq(coresight_buffer_read(&buffer, words, &c), BT_ERR_FORMAT);
    mtb_model_write(&model, 0, 0x2008);
    ck_assert_int_eq(coresight_buffer_read(&buffer, words, &c), 0);
    ck_assert_uint_eq(c.words, 2);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("coresight MTB");
    unit_case(s, "coresight: what is read of an MTB is what came last", test_rounds);
    unit_case(s, "coresight: RAM and buffers that are not the MTB's", test_elsewhere);
    return s;
}
