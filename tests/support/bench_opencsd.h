/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenCSD on the bytes of a benchmark, through its C API, with callbacks that only count. */
#ifndef TESTS_SUPPORT_BENCH_OPENCSD_H
#define TESTS_SUPPORT_BENCH_OPENCSD_H

#include "tests/support/bench_stream.h"

struct bench_counts {
    uint64_t packets;
    uint64_t blocks; /* OpenCSD: instruction ranges */
    uint64_t instructions;
};

struct bench_opencsd; /* private */

/* A decode tree for the stream: packet processor alone, or the full decoder with the stream's code.
 * NULL: OpenCSD has no decoder for the protocol, or refuses the configuration. */
struct bench_opencsd *bench_opencsd_new(const struct bench_stream *s, bool full);

/* A tree that only takes formatter frames apart: memory aligned, or with sync words. */
struct bench_opencsd *bench_opencsd_new_frames(bool sync);

void bench_opencsd_free(struct bench_opencsd *o);

/* Feeds `size` bytes, with a reset between units (0: none). Adds to the counts. False: a fatal
 * error. */
bool bench_opencsd_feed(struct bench_opencsd *o, const uint8_t *data, size_t size, size_t unit);

const struct bench_counts *bench_opencsd_counts(const struct bench_opencsd *o);

/* "1.3.3" */
const char *bench_opencsd_version(void);

#endif
