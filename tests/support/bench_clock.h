/* SPDX-License-Identifier: BSD-3-Clause */
/* Time of benchmarks: the thread's own and the wall's, and the median of several runs. */
#ifndef TESTS_SUPPORT_BENCH_CLOCK_H
#define TESTS_SUPPORT_BENCH_CLOCK_H

#include <stddef.h>

/* Seconds. */
struct bench_time {
    double cpu; /* of the calling thread */
    double wall;
};

#define BENCH_MAX_RUNS 15

struct bench_runs {
    struct bench_time times[BENCH_MAX_RUNS];
    size_t count;
};

struct bench_time bench_now(void);

/* Adds a run that began at `start` and ends now; more than BENCH_MAX_RUNS are not kept. */
void bench_add_run(struct bench_runs *runs, struct bench_time start);

/* Medians, each of its own; 0 without runs. */
struct bench_time bench_median(const struct bench_runs *runs);

/* Runs of each measurement: BENCH_RUNS, else 5; at most BENCH_MAX_RUNS. */
size_t bench_wanted_runs(void);

/* Number from the environment, or `otherwise`. */
double bench_option(const char *name, double otherwise);

#endif
