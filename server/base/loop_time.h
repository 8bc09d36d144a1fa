/* SPDX-License-Identifier: BSD-3-Clause */
/* How long the event loop is away from its clients: the time of a round of it without the time that
 * it waits for something to happen. */
#ifndef SERVER_LOOP_TIME_H
#define SERVER_LOOP_TIME_H

#include <uv.h>

#define LOOP_TIME_LONG_MS 50 /* what is longer is counted */

struct loop_time {
    uv_prepare_t round;
    uint64_t begun, waited;   /* uv_hrtime() and uv_metrics_idle_time() at its begin */
    uint64_t worked_us;       /* processor time then */
    uint64_t longest_us;      /* since the start */
    uint64_t longest_work_us; /* of processor time in one round, since the start */
    uint64_t long_rounds;     /* of more than LOOP_TIME_LONG_MS */
};

/* Figures begin with the next round. `t` is all zero. */
void loop_time_start(struct loop_time *t, uv_loop_t *loop);
/* Also of one that was not started. */
void loop_time_stop(struct loop_time *t);

#endif
