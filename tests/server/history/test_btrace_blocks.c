/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/history/btrace_blocks.c. */
/*
 * A loop is traced into a buffer of a few packets, and halted at random: what GDB has after each
 * delta, or whole read where there is none, is what ran behind the last gap. Many instructions are
 * known by the halted PC alone when GDB reads.
 */
#include "server/history/btrace_blocks.h"
#include "tests/support/mtb_loop.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALTS (MTB_LOOP_MAX / MTB_LOOP_LONG)

static const uint16_t program[] = {
    0xbf00, /*       nop */
    0xbf00, /*       nop */
    0xd1fc, /* 1004: bne 1000 */
    0xbf00, /*       nop */
    0xbf00, /*       nop */
    0xe7fb, /*       b 1004 */
};

struct reader {
    uint64_t list[MTB_LOOP_MAX]; /* what it has: addresses, the last one that of the PC; 0: a gap */
    size_t count;
    struct btrace_mark has;
    unsigned deltas, wholes;
};

/* GDB 13.1: a delta goes on from the PC that it has. */
static void take(struct reader *g, const struct gdb_btrace_blocks *out, bool delta)
{
    for (size_t i = out->count; i > 0; i--) {
        const struct gdb_btrace_block *block = &out->block[i - 1];
        uint64_t begin = block->begin;
        bool gap = block->end < begin;
        if (delta && i == out->count) {
            ck_assert_uint_eq(begin, 0);
            begin = g->list[--g->count];
            ck_assert_uint_ge(block->end, begin);
        }
        for (uint64_t at = begin; !gap && at <= block->end; at += 2)
            g->list[g->count++] = at;
        if (gap)
            g->list[g->count++] = 0;
    }
}

static void read_blocks(struct reader *g, const struct btrace_view *view)
{
    struct gdb_btrace_blocks out = {0};
    struct btrace_mark given;
    int error = btrace_delta(view, &g->has, &out, &given);
    bool delta = error == BT_OK;
    if (error == BT_ERR_RANGE) {
        out.count = g->count = 0;
        error = btrace_blocks(view, &out, &given);
    }
    ck_assert_int_eq(error, BT_OK);
    take(g, &out, delta);
    free(out.block);
    g->has = given;
    g->deltas += delta;
    g->wholes += !delta;
}

static void check_list(const struct reader *g, const struct mtb_loop *r, unsigned halt)
{
    size_t shown = 0;
    ck_assert_uint_gt(g->count, 0);
    ck_assert_uint_eq(g->list[g->count - 1], r->pc);
    for (size_t i = g->count - 1; i > 0 && g->list[i - 1]; i--, shown++)
        ck_assert_msg(g->list[i - 1] == r->ran[r->ran_count - 1 - shown],
                      "halt %u: 0x%x ran %zu before the PC, and 0x%llx is shown", halt,
                      r->ran[r->ran_count - 1 - shown], shown + 1,
                      (unsigned long long)g->list[i - 1]);
}

START_TEST(deltas_end_where_trace_was_lost)
{
    static struct mtb_loop r;
    static struct reader g;
    mtb_loop_init(&r, program, "BLOCKS_SEED");
    for (unsigned halt = 0; halt < HALTS; halt++) {
        mtb_loop_run(&r);
        if (history_end(r.history) == 0)
            continue;
        const struct btrace_view view = mtb_loop_view(&r);
        read_blocks(&g, &view);
        check_list(&g, &r, halt);
    }
    printf("%u deltas, %u whole reads, %u losses\n", g.deltas, g.wholes, r.losses);
    ck_assert_uint_gt(g.deltas, HALTS / 10);
    ck_assert_uint_gt(r.losses, HALTS / 10);
    mtb_loop_release(&r);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("btrace_blocks");
    unit_case(s, "deltas_end_where_trace_was_lost", deltas_end_where_trace_was_lost);
    return s;
}
