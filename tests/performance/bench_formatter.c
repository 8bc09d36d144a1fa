/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CoreSight frames taken apart, ours and OpenCSD's, on the same bytes. Prints a line a stream for
 * report.py: fields are NAME=VALUE, rates per second of CPU time.
 *
 * usage: bench_formatter [FOLDER]   FOLDER: real captures. BENCH_ONLY:
 * part of a stream's name */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/port/formatter.h"
#include "drivers/virtual/encoder/frame_builder.h"
#include "tests/support/bench_clock.h"
#include "tests/support/bench_opencsd.h"

#define UNIT      1000000u
#define SIZE      100e6 /* bytes: BENCH_MB times 5 */
#define OCSD_SIZE 10000000u
#define PIECE     65536u

/* Bytes of `sources` sources in turns of up to `turn` bytes. */
struct shape {
    const char *name;
    enum formatter_mode mode;
    unsigned sources;
    unsigned turn;
    struct frame_options options;
};

static const struct shape shapes[] = {
    {"ETB, 1 source", FORMATTER_ALIGNED, 1, 1000, {0}},
    {"ETB, 2 sources, turns of 100", FORMATTER_ALIGNED, 2, 100, {0}},
    {"ETB, 4 sources, turns of 10", FORMATTER_ALIGNED, 4, 10, {0}},
    {"port, 1 source", FORMATTER_SYNC, 1, 1000, {.full_sync_period = 64}},
    {"port, 2 sources, half syncs",
     FORMATTER_SYNC,
     2,
     100,
     {.full_sync_period = 64, .half_sync_percent = 5}},
};

static void check(int error, const char *what)
{
    if (!error)
        return;
    fprintf(stderr, "bench_formatter: %s: %s\n", what, bt_strerror(error));
    exit(1);
}

/* Data is random, but for the zeros that trace is full of. Returns the bytes put in. */
static uint64_t build(const struct shape *shape, struct trace_bytes *out)
{
    struct frame_builder b;
    struct trace_random random = {7};
    uint64_t put = 0;
    frame_builder_init(&b, &shape->options, out);
    while (out->size < UNIT) {
        uint8_t id = (uint8_t)(0x10 + trace_random_below(&random, shape->sources));
        unsigned len = 1 + trace_random_below(&random, shape->turn);
        for (unsigned i = 0; i < len; i++) {
            uint64_t r = trace_random_next(&random);
            check(frame_builder_put(&b, id, r >> 32 & 7 ? (uint8_t)r : 0), shape->name);
        }
        put += len;
    }
    check(frame_builder_flush(&b), shape->name);
    return put;
}

static void count_run(void *ctx, const struct formatter_run *run)
{
    uint64_t *bytes = ctx;
    *bytes += run->len;
}

/* Bytes of all sources that came out. */
static uint64_t ours(enum formatter_mode mode, const struct trace_bytes *unit, size_t count)
{
    struct formatter f;
    uint64_t bytes = 0;
    formatter_init(&f, mode);
    for (size_t i = 0; i < count; i++)
        for (size_t at = 0; at < unit->size; at += PIECE)
            formatter_feed(&f, unit->data + at, unit->size - at < PIECE ? unit->size - at : PIECE,
                           count_run, &bytes);
    return bytes;
}

static void theirs(enum formatter_mode mode, const struct trace_bytes *unit, size_t count)
{
    struct bench_opencsd *o = bench_opencsd_new_frames(mode == FORMATTER_SYNC);
    if (!o) {
        fputs("bench_formatter: no tree from OpenCSD\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < count; i++)
        if (!bench_opencsd_feed(o, unit->data, unit->size, 0))
            fputs("bench_formatter: OpenCSD gives up\n", stderr);
    bench_opencsd_free(o);
}

/* `put`: bytes that must come out of one unit; 0: not known. */
static bool measure(const char *name, enum formatter_mode mode, const struct trace_bytes *unit,
                    uint64_t put)
{
    double size = bench_option("BENCH_MB", SIZE / 5e6) * 5e6;
    size_t count = 1 + (size_t)(size / (double)unit->size);
    size_t ocsd_count = 1 + OCSD_SIZE / unit->size;
    size_t runs = bench_wanted_runs();
    struct bench_runs our_runs = {.count = 0}, their_runs = {.count = 0};
    uint64_t bytes = 0;
    for (size_t i = 0; i < runs; i++) {
        struct bench_time start = bench_now();
        bytes = ours(mode, unit, count);
        bench_add_run(&our_runs, start);
        start = bench_now();
        theirs(mode, unit, ocsd_count);
        bench_add_run(&their_runs, start);
    }
    struct bench_time our_time = bench_median(&our_runs), their_time = bench_median(&their_runs);
    double total = (double)unit->size * (double)count;
    double ocsd_total = (double)unit->size * (double)ocsd_count;
    printf("formatter\tname=%s\tbytes=%.0f\trate=%.1f\twall=%.1f\tocsd=%.1f\tdata=%.4f\n", name,
           total, total / our_time.cpu / 1e6, total / our_time.wall / 1e6,
           ocsd_total / their_time.cpu / 1e6, (double)bytes / total);
    fflush(stdout);
    if (!put || bytes == put * count)
        return true;
    fprintf(stderr, "bench_formatter: %s: %" PRIu64 " bytes came out, %" PRIu64 " went in\n", name,
            bytes, put * (uint64_t)count);
    return false;
}

static bool wanted(const char *name)
{
    const char *only = getenv("BENCH_ONLY");
    return !only || !*only || strstr(name, only);
}

static bool generated(void)
{
    bool ok = true;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct trace_bytes unit = {0};
        if (!wanted(shapes[i].name))
            continue;
        uint64_t put = build(&shapes[i], &unit);
        ok = measure(shapes[i].name, shapes[i].mode, &unit, put) && ok;
        trace_bytes_release(&unit);
    }
    return ok;
}

/* The ETB of five cores. */
static bool capture(const char *folder)
{
    static const char name[] = "capture tc2-etmv3-ptm";
    static uint8_t bytes[1 << 16];
    char path[4096];
    if (!wanted(name))
        return true;
    snprintf(path, sizeof path, "%s/tc2-etmv3-ptm/cstrace.bin", folder);
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "SKIP %s: no file '%s'\n", name, path);
        return true;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file) / FORMATTER_FRAME * FORMATTER_FRAME;
    fclose(file);
    const struct trace_bytes unit = {.data = bytes, .size = size};
    return size > 0 && measure(name, FORMATTER_ALIGNED, &unit, 0);
}

int main(int argc, char **argv)
{
    bool ok = argc < 2 || capture(argv[1]);
    return generated() && ok ? 0 : 1;
}
