/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of a recording's history share: a long recording, and whether two histories of it
 * are the same. */
#ifndef TESTS_UNIT_TEST_LONG_RECORDING_H
#define TESTS_UNIT_TEST_LONG_RECORDING_H

#include "drivers/virtual/encoder/ptm_encoder.h"
#include "server/recording/recording_history.h"
#include "tests/support/bench_stream.h"
#include "tests/support/unit_main.h"

#include <string.h>

/* Of so many bytes of trace. */
static inline void make_recording(const char *folder, uint64_t bytes)
{
    static struct bench_stream s;
    const struct bench_recipe recipe = {"test",
                                        {.name = "mixed",
                                         .isa = BT_ISA_T32,
                                         .code_bytes = 16u << 10,
                                         .loops = 20,
                                         .calls = 30,
                                         .indirect = 10,
                                         .straight = 8},
                                        STREAM_PTM,
                                        PTM_CR_RETURN_STACK,
                                        100000,
                                        0};
    ck_assert_int_eq(bench_stream_generate(&s, &recipe, 100000), 0);
    ck_assert_int_eq(bench_stream_record(&s, folder, bytes), 0);
    bench_stream_release(&s);
}

static inline void same_window(struct history *a, struct history *b, size_t index)
{
    struct history_window v, w;
    bool same = true;
    ck_assert_int_eq(history_window_index(a, index, &v), 0);
    ck_assert_int_eq(history_window_index(b, index, &w), 0);
    ck_assert_uint_eq(v.first, w.first);
    ck_assert_uint_eq(v.end, w.end);
    ck_assert_uint_eq(v.block_count, w.block_count);
    for (size_t i = 0; i < v.block_count; i++) {
        struct bt_block p, q;
        history_block(&v, i, &p);
        history_block(&w, i, &q);
        same = same && memcmp(&p, &q, sizeof p) == 0;
    }
    ck_assert(same);
}

/* Backwards, then to and fro: of more than so many windows. */
static inline void same_windows(struct history *a, struct history *b, size_t least)
{
    size_t count = history_window_count(a);
    ck_assert_uint_eq(history_window_count(b), count);
    ck_assert_uint_gt(count, least);
    for (size_t i = count; i-- > 0;)
        same_window(a, b, i);
    for (size_t i = 0; i < count; i++)
        same_window(a, b, i * 37 % count);
}

#endif
