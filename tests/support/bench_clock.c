/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/bench_clock.h"

#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct bench_time bench_now(void)
{
    return (struct bench_time){seconds(CLOCK_THREAD_CPUTIME_ID), seconds(CLOCK_MONOTONIC)};
}

void bench_add_run(struct bench_runs *runs, struct bench_time start)
{
    struct bench_time end = bench_now();
    if (runs->count < BENCH_MAX_RUNS)
        runs->times[runs->count++] =
            (struct bench_time){end.cpu - start.cpu, end.wall - start.wall};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct bench_time bench_median(const struct bench_runs *runs)
{
    double cpu[BENCH_MAX_RUNS], wall[BENCH_MAX_RUNS];
    if (runs->count == 0)
        return (struct bench_time){0};
    for (size_t i = 0; i < runs->count; i++) {
        cpu[i] = runs->times[i].cpu;
        wall[i] = runs->times[i].wall;
    }
    return (struct bench_time){middle(cpu, runs->count), middle(wall, runs->count)};
}

double bench_option(const char *name, double otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtod(text, NULL) : otherwise;
}

size_t bench_wanted_runs(void)
{
    double runs = bench_option("BENCH_RUNS", 5);
    return runs < 1 ? 1 : runs > BENCH_MAX_RUNS ? BENCH_MAX_RUNS : (size_t)runs;
}
