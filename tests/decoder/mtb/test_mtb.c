/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/mtb/mtb.c and decoder/mtb/mtb_flow.c. */
/* Random programs that are run here, with exceptions and restarts: what is decoded is what ran,
 * whatever the cuts; of a damaged buffer nothing is decoded that the code does not allow. */
#include "decoder/stream/stream.h"
#include "tests/support/decoded.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE    0x1000u
#define INSNS   400u
#define PACKETS 600u
#define STEPS   200000u

#define NOP  0xbf00u
#define BXLR 0x4770u

static uint8_t code[2 * INSNS];
static uint8_t ram[8 * PACKETS];
static uint32_t ran[STEPS];
static size_t ran_count, packet_count;
static uint32_t seed;

/* $MTB_SEED, or another one each time. */
static void mtb_seed(void)
{
    const char *given = getenv("MTB_SEED");
    seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("MTB_SEED=%u\n", seed);
    fflush(stdout);
}

static uint32_t choice(uint32_t n)
{
    return (random_next(&seed) >> 12) % n;
}

static unsigned opcode_at(uint32_t address)
{
    return code[address - BASE] | (unsigned)code[address - BASE + 1] << 8;
}

/* Conditional and other branches to anywhere, returns, and instructions between them. */
static void make_program(void)
{
    for (uint32_t i = 0; i < INSNS; i++) {
        uint32_t to = choice(INSNS - 20);
        int32_t distance = (int32_t)to - (int32_t)i - 2;
        unsigned op = NOP;
        if (i >= INSNS - 20 || choice(12) == 0)
            op = BXLR;
        else if (choice(5) == 0 && distance >= -128 && distance < 128)
            op = 0xd000 | choice(14) << 8 | ((uint32_t)distance & 0xff);
        else if (choice(12) == 0)
            op = 0xe000 | ((uint32_t)distance & 0x7ff);
        code[2 * i] = (uint8_t)op;
        code[2 * i + 1] = (uint8_t)(op >> 8);
    }
}

static void put_packet(uint32_t from, bool exception, uint32_t to, bool start)
{
    const uint32_t words[2] = {from | exception, to | start};
    for (unsigned i = 0; i < 8; i++)
        ram[8 * packet_count + i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    packet_count++;
}

static uint32_t anywhere(void)
{
    return BASE + 2 * choice(INSNS - 20);
}

/* Where the branch at `pc` goes: its own target, or that of a return. */
static uint32_t target_of(uint32_t pc, unsigned op)
{
    if (op == BXLR)
        return anywhere();
    int32_t distance = op < 0xe000 ? (int8_t)(op & 0xff) : (int32_t)((op & 0x7ff) << 21) >> 21;
    return pc + 4 + 2 * (uint32_t)distance;
}

/* Until the buffer is full; `ran` begins with the first packet's branch. */
static void run_program(void)
{
    uint32_t pc = anywhere();
    bool start = true, returning = false;
    ran_count = packet_count = 0;
    while (packet_count + 3 < PACKETS && ran_count + 1 < STEPS) {
        if (packet_count && choice(60) == 0) { /* an exception, now and then one on its heels */
            uint32_t handler = anywhere();
            put_packet(pc, true, handler, false);
            pc = handler;
            returning = true;
            continue;
        }
        unsigned op = opcode_at(pc);
        if (packet_count)
            ran[ran_count++] = pc;
        bool taken = op != NOP && ((op & 0xf000) != 0xd000 || choice(2));
        if (!taken) {
            pc += 2;
            continue;
        }
        if (!packet_count)
            ran[ran_count++] = pc;
        if (op == BXLR && returning && choice(2)) {
            uint32_t back = anywhere();
            put_packet(pc, false, 0xfffffff8, start);
            put_packet(0xfffffff8, true, back, false);
            pc = back;
            returning = false;
        } else {
            uint32_t to = target_of(pc, op);
            put_packet(pc, false, to, start);
            pc = to;
        }
        start = false;
    }
}

static void open_program(struct decoded *d, struct code_image *image)
{
    const struct stream_config config = {.protocol = STREAM_MTB};
    const struct code_region region = {.address = BASE, .size = sizeof code, .bytes = code};
    code_image_init(image);
    ck_assert_int_eq(code_image_add(image, &region), BT_OK);
    decoded_init(d, &config, image);
}

static void decode_ram(struct decoded *d, struct code_image *image, size_t packets, uint32_t cuts)
{
    open_program(d, image);
    decoded_feed(d, ram, 8 * packets, cuts);
    stream_finish(&d->stream, &d->sink);
    decoded_take(d);
}

/* What ran behind the last packet is not in the trace. */
static void check_ran(const struct decoded *d)
{
    size_t n = 0;
    for (size_t i = 0; i < d->block_count; i++) {
        uint64_t address = d->blocks[i].first;
        for (uint32_t k = 0; k < bt_block_count(&d->blocks[i]); k++, address += 2, n++) {
            ck_assert_uint_lt(n, ran_count);
            ck_assert_msg(address == ran[n], "instruction %zu: 0x%x ran, 0x%llx decoded", n, ran[n],
                          (unsigned long long)address);
        }
    }
    size_t left = ran_count - n;
    for (size_t i = n; i < ran_count; i++)
        ck_assert_msg(i == n || ran[i] == ran[i - 1] + 2, "%zu instructions are missing", left);
}

START_TEST(what_ran)
{
    mtb_seed();
    for (unsigned round = 0; round < 20; round++) {
        static struct decoded whole, cut;
        struct code_image image, other;
        make_program();
        run_program();
        decode_ram(&whole, &image, packet_count, 0);
        decode_ram(&cut, &other, packet_count, seed | 1);
        for (size_t i = 0; i < whole.event_count; i++)
            ck_assert_uint_ne(whole.events[i].kind, BT_EVENT_GAP);
        check_ran(&whole);
        const char *difference = decoded_difference(&whole, &cut);
        ck_assert_msg(!difference, "%s", difference);
        decoded_release(&whole);
        decoded_release(&cut);
        code_image_release(&image);
        code_image_release(&other);
    }
}
END_TEST

/* Each instruction but the last of a block goes on to the next one. */
static void check_possible(const struct decoded *d)
{
    for (size_t i = 0; i < d->block_count; i++) {
        uint64_t last = bt_block_last(&d->blocks[i]);
        for (uint64_t address = d->blocks[i].first; address < last; address += 2)
            ck_assert_uint_eq(opcode_at((uint32_t)address), NOP);
    }
}

START_TEST(a_damaged_buffer_makes_no_path_that_cannot_be)
{
    mtb_seed();
    for (unsigned round = 0; round < 20; round++) {
        static struct decoded d;
        struct code_image image;
        make_program();
        run_program();
        for (unsigned i = 0; i < 20; i++)
            ram[choice((uint32_t)(8 * packet_count))] ^= (uint8_t)(1u << choice(8));
        decode_ram(&d, &image, packet_count, seed | 1);
        check_possible(&d);
        decoded_release(&d);
        code_image_release(&image);
    }
}
END_TEST

START_TEST(position_and_mask)
{
    struct mtb_config c = {0};
    mtb_config_from_regs(&c, 0x14, 2 | 1u << 31);
    ck_assert(c.as_it_stood && c.wrapped);
    ck_assert_uint_eq(c.size, 64);
    ck_assert_uint_eq(c.position, 0x10);
    mtb_config_from_regs(&c, 0x1058, 3); /* elsewhere in a larger RAM */
    ck_assert(!c.wrapped);
    ck_assert_uint_eq(c.size, 128);
    ck_assert_uint_eq(c.position, 0x58);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("mtb");
    unit_case(s, "what_ran", what_ran);
    unit_case(s, "a_damaged_buffer_makes_no_path_that_cannot_be",
              a_damaged_buffer_makes_no_path_that_cannot_be);
    unit_case(s, "position_and_mask", position_and_mask);
    return s;
}
