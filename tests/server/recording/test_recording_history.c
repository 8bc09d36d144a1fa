/* SPDX-License-Identifier: BSD-3-Clause */
/* History of a recording: read back through an index with few places it is the same. */
#include "drivers/virtual/encoder/ptm_encoder.h"
#include "server/recording/recording_history.h"
#include "tests/support/bench_stream.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 4

/* A place in 100 raw bytes, as if each gave 90 of the source. */
static void add_places(struct recording_index *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct recording_place place = {.offset = 90 * i, .at = 100 * i};
        ck_assert_int_eq(recording_index_add(x, &place), 0);
    }
}

START_TEST(places_become_sparser)
{
    struct recording_index x;
    const size_t count = 1000, limit = (size_t)_i;
    recording_index_init(&x, limit);
    add_places(&x, count);
    ck_assert_uint_le(x.count, limit);
    ck_assert_uint_le(x.max, limit);
    ck_assert_uint_gt(2 * x.count + 1, limit);
    for (size_t offset = 0; offset < 90 * count; offset += 7) {
        const struct recording_place *p = recording_index_find(&x, offset);
        ck_assert_uint_le(p->offset, offset);
        ck_assert_uint_eq(p->offset / 90 * 100, p->at);
        ck_assert_uint_lt(offset - p->offset, 90 * x.every); /* none is missing */
    }
    recording_index_release(&x);
}
END_TEST

static void make_recording(const char *folder)
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
    ck_assert_int_eq(bench_stream_record(&s, folder, 1500000), 0);
    bench_stream_release(&s);
}

static void same_window(struct history *a, struct history *b, size_t index)
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

START_TEST(few_places_show_the_same)
{
    static struct recording r, s;
    static struct recording_history few, many;
    struct message why;
    const struct recording_history_limits limits = {
        .places = PLACES, .checkpoint_bytes = 8192, .max_states = 8};
    const struct recording_history_limits enough = {.checkpoint_bytes = 8192, .max_states = 65536};
    char parent[] = "/tmp/test_recording_history.XXXXXX", folder[64], command[80];
    ck_assert_ptr_nonnull(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/recording", parent);
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    make_recording(folder);
    ck_assert_int_eq(recording_open(&r, folder, NULL, 0, &why), 0);
    ck_assert_int_eq(recording_open(&s, folder, NULL, 0, &why), 0);
    ck_assert_int_eq(recording_history_init(&few, &r, &r.sources[0], &limits), 0);
    ck_assert_int_eq(recording_history_init(&many, &s, &s.sources[0], &enough), 0);
    ck_assert_uint_gt(many.index.count, 4 * PLACES);
    ck_assert_uint_le(few.index.count, PLACES);
    size_t count = history_window_count(many.history);
    ck_assert_uint_eq(history_window_count(few.history), count);
    ck_assert_uint_gt(count, 100);
    for (size_t i = count; i-- > 0;)
        same_window(few.history, many.history, i);
    for (size_t i = 0; i < count; i++)
        same_window(few.history, many.history, i * 37 % count);
    recording_history_release(&few);
    recording_history_release(&many);
    recording_close(&r);
    recording_close(&s);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("history of a recording");
    unit_cases(s, "recording history: places of the index become sparser", places_become_sparser, 2,
               40);
    unit_case(s, "recording history: few places show the same", few_places_show_the_same);
    return s;
}
