/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/recording/recording_history.c and recording.c. History of a recording: read back
 * through an index with few places it is the same. */
#include "tests/server/recording/test_long_recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 4
#define PIECE  65536 /* raw bytes from one place that could be taken to the next */

/* Places at equal distances, from the first one on: none is missing. */
static void check_places(const struct recording_index *x, size_t limit)
{
    ck_assert_uint_le(x->count, limit);
    ck_assert_uint_le(x->max, limit);
    ck_assert(x->every == 1 || 2 * x->count + 1 > limit);
    ck_assert_uint_eq(x->count, (x->seen + x->every - 1) / x->every);
    for (size_t i = 0; i < x->count; i++) {
        ck_assert_uint_eq(x->places[i].at, i * x->every * PIECE);
        ck_assert(i == 0 || x->places[i].offset > x->places[i - 1].offset);
    }
}

START_TEST(places_become_sparser)
{
    static struct recording r;
    static struct recording_history rh;
    struct message why;
    char parent[] = "/tmp/test_recording_history.XXXXXX", folder[64], command[80];
    ck_assert_ptr_nonnull(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/recording", parent);
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    make_recording(folder, 1500000);
    for (size_t limit = 2; limit < 40; limit++) {
        const struct recording_history_limits limits = {.places = limit};
        ck_assert_int_eq(recording_open(&r, folder, NULL, 0, &why), 0);
        ck_assert_int_eq(recording_history_init(&rh, &r, &r.sources[0], &limits, NULL), 0);
        ck_assert_uint_gt(rh.index.seen, 20);
        check_places(&rh.index, limit);
        recording_history_release(&rh);
        recording_close(&r);
    }
    ck_assert_int_eq(system(command), 0);
}
END_TEST

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
    make_recording(folder, 1500000);
    ck_assert_int_eq(recording_open(&r, folder, NULL, 0, &why), 0);
    ck_assert_int_eq(recording_open(&s, folder, NULL, 0, &why), 0);
    ck_assert_int_eq(recording_history_init(&few, &r, &r.sources[0], &limits, NULL), 0);
    ck_assert_int_eq(recording_history_init(&many, &s, &s.sources[0], &enough, NULL), 0);
    ck_assert_uint_gt(many.index.count, 4 * PLACES);
    ck_assert_uint_le(few.index.count, PLACES);
    same_windows(few.history, many.history, 100);
    recording_history_release(&few);
    recording_history_release(&many);
    recording_close(&r);
    recording_close(&s);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

#define MARKS 7
struct looks {
    uint64_t bytes[MARKS], ends[MARKS];
    unsigned count;
};

static int look(void *ctx, size_t mark, struct history *h)
{
    struct looks *looks = ctx;
    ck_assert_uint_lt(mark, MARKS - 1); /* the last one lies behind the end */
    looks->ends[mark] = history_end(h);
    looks->count++;
    return 0;
}

/* Where the history stands after so many bytes is where one of these bytes alone ends, but for what
 * the end of its trace adds; the whole is as without marks. */
START_TEST(marks_change_nothing)
{
    static struct recording r, s;
    static struct recording_history plain, marked;
    static struct looks looks;
    struct message why;
    char parent[] = "/tmp/test_recording_history.XXXXXX", folder[64], command[80];
    ck_assert_ptr_nonnull(mkdtemp(parent));
    snprintf(folder, sizeof folder, "%s/recording", parent);
    snprintf(command, sizeof command, "rm -rf '%s'", parent);
    make_recording(folder, 1500000);
    ck_assert_int_eq(recording_open(&r, folder, NULL, 0, &why), 0);
    ck_assert_int_eq(recording_open(&s, folder, NULL, 0, &why), 0);
    uint64_t size = recording_bytes(&r.sources[0]);
    const uint64_t bytes[MARKS] = {0, 17, 17, PIECE + 5, size / 2, size, size + 1};
    memcpy(looks.bytes, bytes, sizeof bytes);
    const struct recording_marks marks = {looks.bytes, MARKS, look, &looks};
    ck_assert_int_eq(recording_history_init(&plain, &r, &r.sources[0], NULL, NULL), 0);
    ck_assert_int_eq(recording_history_init(&marked, &s, &s.sources[0], NULL, &marks), 0);
    ck_assert_uint_eq(looks.count, MARKS - 1);
    ck_assert_uint_eq(looks.ends[0], 0);
    ck_assert_uint_eq(looks.ends[1], looks.ends[2]);
    ck_assert_uint_lt(looks.ends[2], looks.ends[3]);
    ck_assert_uint_lt(looks.ends[3], looks.ends[4]);
    ck_assert_uint_lt(looks.ends[4], looks.ends[5]);
    ck_assert_uint_le(looks.ends[5], history_end(plain.history));
    ck_assert_uint_eq(history_end(marked.history), history_end(plain.history));
    size_t count = history_window_count(plain.history);
    ck_assert_uint_eq(history_window_count(marked.history), count);
    for (size_t i = 0; i < count; i++)
        same_window(marked.history, plain.history, i);
    recording_history_release(&plain);
    recording_history_release(&marked);
    recording_close(&r);
    recording_close(&s);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("history of a recording");
    unit_case(s, "recording history: places of the index become sparser", places_become_sparser);
    unit_case(s, "recording history: few places show the same", few_places_show_the_same);
    unit_case(s, "recording history: marks change nothing", marks_change_nothing);
    return s;
}
