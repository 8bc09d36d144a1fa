/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/history/btrace_blocks.c. */
/*
 * A loop that goes two ways, traced into a buffer of a few packets, and halted at random: what GDB
 * has after each delta, or whole read where there is none, is what ran behind the last gap. The
 * loop's instructions have the same addresses again and again, and many of them are known by the
 * halted PC alone when GDB reads.
 */
#include "server/history/btrace_blocks.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE   0x1000u
#define ROOM   6u /* packets of the buffer */
#define HALTS  400u
#define LONG   60u /* instructions between two halts */
#define LISTED (HALTS * LONG)

static const uint16_t program[] = {
    0xbf00, /*       nop */
    0xbf00, /*       nop */
    0xd1fc, /* 1004: bne 1000 */
    0xbf00, /*       nop */
    0xbf00, /*       nop */
    0xe7fb, /*       b 1004 */
};

static uint32_t seed;

struct run {
    struct code_image image;
    struct history *history;
    uint32_t pc;
    uint32_t ran[LISTED];
    size_t ran_count;
    uint8_t packets[8 * LONG]; /* since the last halt */
    size_t packet_count;
    uint64_t gdb[LISTED]; /* what it has: addresses, the last one that of the PC; 0: a gap */
    size_t gdb_count;
    struct btrace_mark has;
    unsigned deltas, wholes, losses;
};

static uint32_t choice(uint32_t n)
{
    return (random_next(&seed) >> 12) % n;
}

static void put_word(uint8_t *bytes, uint32_t word)
{
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(word >> 8 * i);
}

static void step(struct run *r)
{
    uint32_t from = r->pc;
    uint16_t op = program[(from - BASE) / 2];
    bool taken = op >> 12 == 0xe || (op >> 12 == 0xd && choice(2));
    r->ran[r->ran_count++] = from;
    r->pc += 2;
    if (!taken)
        return;
    r->pc = op >> 12 == 0xe ? BASE + 4 : BASE;
    put_word(r->packets + 8 * r->packet_count, from);
    put_word(r->packets + 8 * r->packet_count++ + 4, r->pc);
}

/* The buffer is read out, and empty then. */
static void read_out(struct run *r)
{
    size_t lost = r->packet_count > ROOM ? r->packet_count - ROOM : 0;
    if (lost)
        ck_assert_int_eq(history_gap(r->history, BT_GAP_OVERWRITTEN, 0), BT_OK);
    ck_assert_int_eq(
        history_append(r->history, r->packets + 8 * lost, 8 * (r->packet_count - lost)), BT_OK);
    r->packet_count = 0;
    r->losses += lost > 0;
}

/* GDB 13.1: a delta goes on from the PC that it has, and the one block in it may hold no more. */
static void take(struct run *r, const struct gdb_btrace_blocks *out, bool delta)
{
    for (size_t i = out->count; i > 0; i--) {
        const struct gdb_btrace_block *block = &out->block[i - 1];
        uint64_t begin = block->begin;
        bool gap = block->end < begin;
        if (delta && i == out->count) {
            ck_assert_uint_eq(begin, 0);
            begin = r->gdb[--r->gdb_count];
            ck_assert_uint_ge(block->end, begin);
        }
        for (uint64_t at = begin; !gap && at <= block->end; at += 2)
            r->gdb[r->gdb_count++] = at;
        if (gap)
            r->gdb[r->gdb_count++] = 0;
    }
}

static void read_by_gdb(struct run *r)
{
    const struct btrace_view view = {.history = r->history,
                                     .image = &r->image,
                                     .pc = r->pc,
                                     .thumb = true,
                                     .size = BTRACE_DEFAULT_SIZE};
    struct gdb_btrace_blocks out = {0};
    struct btrace_mark given;
    int error = btrace_delta(&view, &r->has, &out, &given);
    bool delta = error == BT_OK;
    if (error == BT_ERR_RANGE) {
        out.count = r->gdb_count = 0;
        error = btrace_blocks(&view, &out, &given);
    }
    ck_assert_int_eq(error, BT_OK);
    take(r, &out, delta);
    free(out.block);
    r->has = given;
    r->deltas += delta;
    r->wholes += !delta;
}

static void check_gdb(const struct run *r, unsigned halt)
{
    size_t shown = 0;
    ck_assert_uint_gt(r->gdb_count, 0);
    ck_assert_uint_eq(r->gdb[r->gdb_count - 1], r->pc);
    for (size_t i = r->gdb_count - 1; i > 0 && r->gdb[i - 1]; i--, shown++)
        ck_assert_msg(r->gdb[i - 1] == r->ran[r->ran_count - 1 - shown],
                      "halt %u: 0x%x ran %zu before the PC, and 0x%llx is shown", halt,
                      r->ran[r->ran_count - 1 - shown], shown + 1,
                      (unsigned long long)r->gdb[i - 1]);
}

START_TEST(deltas_end_where_trace_was_lost)
{
    static struct run r;
    const struct stream_config config = {.protocol = STREAM_MTB};
    const struct history_config kept = {.checkpoint_bytes = 256};
    uint8_t code[sizeof program];
    const struct code_region region = {.address = BASE, .size = sizeof code, .bytes = code};
    const char *given = getenv("BLOCKS_SEED");
    seed = given ? (uint32_t)strtoul(given, NULL, 0) : (uint32_t)time(NULL) * 2654435761u;
    printf("BLOCKS_SEED=%u\n", seed);
    fflush(stdout);
    for (size_t i = 0; i < sizeof code; i++)
        code[i] = (uint8_t)(program[i / 2] >> 8 * (i % 2));
    r = (struct run){.pc = BASE};
    code_image_init(&r.image);
    ck_assert_int_eq(code_image_add(&r.image, &region), BT_OK);
    ck_assert_int_eq(history_new(&kept, &config, &r.image, &r.history), BT_OK);
    for (unsigned halt = 0; halt < HALTS; halt++) {
        for (uint32_t n = 1 + choice(LONG - 1); n > 0; n--)
            step(&r);
        read_out(&r);
        if (history_end(r.history) == 0)
            continue;
        read_by_gdb(&r);
        check_gdb(&r, halt);
    }
    printf("%u deltas, %u whole reads, %u losses\n", r.deltas, r.wholes, r.losses);
    ck_assert_uint_gt(r.deltas, HALTS / 10);
    ck_assert_uint_gt(r.losses, HALTS / 10);
    history_free(r.history);
    code_image_release(&r.image);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("btrace_blocks");
    unit_case(s, "deltas_end_where_trace_was_lost", deltas_end_where_trace_was_lost);
    return s;
}
