/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/loop_time.h"

#include "server/base/log.h"

#include <inttypes.h>
#include <time.h>

/* Of this thread: what is not work of the time away is waiting, for a lock, a disk or a processor.
 */
static uint64_t work_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Once a round, before the loop waits. */
static void on_round(uv_prepare_t *handle)
{
    struct loop_time *t = handle->data;
    uint64_t now = uv_hrtime(), work = work_us(), waited = uv_metrics_idle_time(handle->loop);
    uint64_t away_us = (now - t->begun - (waited - t->waited)) / 1000;
    if (t->begun && away_us > t->longest_us)
        t->longest_us = away_us;
    if (t->begun && work - t->worked_us > t->longest_work_us)
        t->longest_work_us = work - t->worked_us;
    if (t->begun && away_us > LOOP_TIME_LONG_MS * 1000) {
        t->long_rounds++;
        log_write(LOG_AT_DEBUG, "event loop: away for %" PRIu64 " ms, %" PRIu64 " ms of work\n",
                  away_us / 1000, (work - t->worked_us) / 1000);
    }
    t->begun = now;
    t->waited = waited;
    t->worked_us = work;
}

void loop_time_start(struct loop_time *t, uv_loop_t *loop)
{
    uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
    uv_prepare_init(loop, &t->round);
    t->round.data = t;
    uv_prepare_start(&t->round, on_round);
    uv_unref((uv_handle_t *)&t->round);
}

void loop_time_stop(struct loop_time *t)
{
    if (t->round.data && !uv_is_closing((uv_handle_t *)&t->round))
        uv_close((uv_handle_t *)&t->round, NULL);
}
