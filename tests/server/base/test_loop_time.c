/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/base/loop_time.c: work is time away from the loop, waiting is not. */
#include <stdbool.h>

#include "server/base/loop_time.h"
#include "tests/support/unit_main.h"

#define WORK_MS (LOOP_TIME_LONG_MS + 10)

struct rounds {
    unsigned left; /* timers to come */
    bool work;     /* each is at work when it comes */
};

static void on_timer(uv_timer_t *timer)
{
    struct rounds *r = timer->data;
    if (r->work)
        uv_sleep(WORK_MS);
    if (--r->left == 0)
        uv_close((uv_handle_t *)timer, NULL);
}

/* The time of all rounds together, without what the loop has waited: microseconds. */
static uint64_t run(struct loop_time *t, struct rounds r)
{
    uv_loop_t loop;
    uv_timer_t timer;
    ck_assert_int_eq(uv_loop_init(&loop), 0);
    loop_time_start(t, &loop);
    uv_timer_init(&loop, &timer);
    timer.data = &r;
    uv_timer_start(&timer, on_timer, WORK_MS, WORK_MS);
    uint64_t begun = uv_hrtime();
    uv_run(&loop, UV_RUN_DEFAULT);
    uint64_t away = uv_hrtime() - begun - uv_metrics_idle_time(&loop);
    loop_time_stop(t);
    loop_time_stop(t);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    return away / 1000;
}

START_TEST(work_counts)
{
    struct loop_time t = {.longest_us = 0};
    uint64_t away = run(&t, (struct rounds){.left = 3, .work = true});
    ck_assert_uint_ge(t.longest_us, WORK_MS * 1000);
    ck_assert_uint_le(t.longest_us, away);
    ck_assert_uint_gt(t.longest_work_us, 0);
    ck_assert_uint_ge(t.long_rounds, 1);
}
END_TEST

START_TEST(waiting_does_not)
{
    struct loop_time t = {.longest_us = 0};
    uint64_t away = run(&t, (struct rounds){.left = 3, .work = false});
    ck_assert_uint_le(t.longest_us, away);
    ck_assert(t.long_rounds == 0 || away > LOOP_TIME_LONG_MS * 1000);
}
END_TEST

START_TEST(nothing_is_stopped)
{
    struct loop_time t = {.longest_us = 0};
    loop_time_stop(&t);
    ck_assert_uint_eq(t.longest_us, 0);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("loop_time");
    TCase *tc = tcase_create("loop_time");
    suite_add_tcase(s, tc);
    tcase_add_test(tc, work_counts);
    tcase_add_test(tc, waiting_does_not);
    tcase_add_test(tc, nothing_is_stopped);
    return s;
}
