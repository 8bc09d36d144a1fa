/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/loop_time.h"

#include "server/base/log.h"

#include <inttypes.h>

/* Once a round, before the loop waits. */
static void on_round(uv_prepare_t *handle)
{
    struct loop_time *t = handle->data;
    uint64_t now = uv_hrtime(), waited = uv_metrics_idle_time(handle->loop);
    uint64_t away_us = (now - t->begun - (waited - t->waited)) / 1000;
    if (t->begun && away_us > t->longest_us)
        t->longest_us = away_us;
    if (t->begun && away_us > LOOP_TIME_LONG_MS * 1000) {
        t->long_rounds++;
        log_write(LOG_AT_DEBUG, "event loop: away for %" PRIu64 " ms\n", away_us / 1000);
    }
    t->begun = now;
    t->waited = waited;
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
