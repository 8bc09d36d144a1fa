/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/history/history.c: what a window reaches, in any batches of blocks, is what a plain
 * loop over them finds. */
#include "decoder/history/history_internal.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#define BLOCKS 200
#define SEEDS  3000
#define REACH  128

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
    return (random_next(seed) >> 8) % limit;
}

/* Where blocks lie: around some places, of which two may be half of all addresses apart. */
static uint64_t random_address(uint32_t *seed)
{
    static const uint64_t around[] = {
        0x8000,     0xffff0000,        0x400000,          UINT64_C(1) << 62,
        UINT64_MAX, UINT64_C(1) << 63, 0xffffff8000000000};
    unsigned place = random_below(seed, sizeof around / sizeof *around);
    return around[place] + random_below(seed, 64) - 32;
}

static void random_blocks(uint32_t *seed, struct bt_block *blocks, size_t count)
{
    unsigned isas = random_below(seed, 3), spread = random_below(seed, 3);
    uint64_t base = random_address(seed);
    for (size_t i = 0; i < count; i++) {
        bool other = random_below(seed, spread ? 64 : 2) == 0;
        unsigned isa = isas == 0   ? BT_ISA_A32 + random_below(seed, 2)
                       : isas == 1 ? BT_ISA_A64
                                   : BT_ISA_A32 + random_below(seed, 5);
        blocks[i].first = (spread == 2 && other ? random_address(seed) : base) +
                          (other ? random_below(seed, 256) : 16);
        blocks[i].extent = random_below(seed, other ? 128 : 8);
        blocks[i].info = bt_block_info(random_below(seed, 100), (enum bt_isa)isa,
                                       (enum bt_cond)(random_below(seed, 4)));
    }
}

START_TEST(batches_reach_what_their_blocks_do)
{
    for (uint32_t first = 1; first <= SEEDS; first++) {
        struct bt_block blocks[BLOCKS];
        uint32_t seed = first * 2654435761u;
        struct history_reach told = history_reach_none, seen = history_reach_none;
        for (unsigned batches = 0; batches < 4; batches++) {
            struct flow_out out = {.blocks = blocks, .block_count = random_below(&seed, BLOCKS)};
            random_blocks(&seed, blocks, out.block_count);
            history_reach_add(&told, &out);
            for (size_t i = 0; i < out.block_count; i++) {
                uint64_t last = bt_block_last(&blocks[i]);
                seen.low = blocks[i].first < seen.low ? blocks[i].first : seen.low;
                seen.high = last > seen.high ? last : seen.high;
                seen.isas |= 1u << bt_block_isa(&blocks[i]);
            }
            ck_assert_msg(told.low == seen.low && told.high == seen.high && told.isas == seen.isas,
                          "seed %u", (unsigned)first);
        }
    }
}
END_TEST

/* Half of all addresses below, where a difference has the sign of one above. */
START_TEST(far_blocks_are_reached)
{
    struct bt_block near[REACH], far[REACH];
    for (size_t i = 0; i < REACH; i++) {
        near[i] = (struct bt_block){UINT64_C(1) << 63 | 0x100, 0, bt_block_info(1, BT_ISA_A64, 0)};
        far[i] = (struct bt_block){0xff, 4, near[i].info};
    }
    struct history_reach told = history_reach_none;
    history_reach_add(&told, &(struct flow_out){.blocks = near, .block_count = REACH});
    history_reach_add(&told, &(struct flow_out){.blocks = far, .block_count = REACH});
    ck_assert_uint_eq(told.low, 0xff);
    ck_assert_uint_eq(told.high, near[0].first);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("history_reach");
    unit_case(s, "blocks in batches", batches_reach_what_their_blocks_do);
    unit_case(s, "blocks far away", far_blocks_are_reached);
    return s;
}
