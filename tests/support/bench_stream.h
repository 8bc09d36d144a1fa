/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace for benchmarks: one source's bytes with their configuration and code, real captures,
 * recorded runs of programs and generated ones, made longer by repetition.
 */
#ifndef TESTS_SUPPORT_BENCH_STREAM_H
#define TESTS_SUPPORT_BENCH_STREAM_H

#include "server/recording/recording_history.h"
#include "tests/support/bench_program.h"

/*
 * `bytes` is a whole number of units. A unit begins with an A-sync; decoders are told of a loss of
 * bytes between two units, since a capture does not go on where it began.
 */
struct bench_stream {
    char name[64];
    struct stream_config config;
    uint32_t etmcr, etmidr, etmccer, etmtraceidr;
    struct etmv4_registers etmv4;
    bool m_profile; /* of Cortex-M */
    const struct code_image *image;
    uint8_t *bytes;
    size_t size;
    size_t unit;
    size_t code_bytes;
    uint64_t instructions; /* in one unit; 0: not known */
    struct code_image own_image;
    struct bench_program program; /* generated streams only */
};

/* A generated stream: what runs, and through which trace unit. */
struct bench_recipe {
    const char *name;
    struct bench_mix mix;
    enum stream_protocol protocol;
    uint32_t control;        /* ETMCR; ETMv4: TRCCONFIGR */
    size_t unit;             /* bytes of trace, about */
    uint16_t max_speculated; /* ETMv4 */
};

/* `size`: bytes wanted; one unit at least. 0 or a bt_error; release in both cases. */
int bench_stream_generate(struct bench_stream *s, const struct bench_recipe *recipe, size_t size);

/* Source `name` of a recording, which must outlive the stream. BT_ERR_RANGE: no such source, or
 * no A-sync in it. */
int bench_stream_capture(struct bench_stream *s, struct recording *r, const char *name,
                         size_t size);

/* The first source of a recording, to its last byte; `instructions` ran in it.
 * Otherwise as above. */
int bench_stream_run(struct bench_stream *s, struct recording *r, uint64_t instructions,
                     size_t size);

void bench_stream_release(struct bench_stream *s);

/* Writes a recording of the stream's first `size` bytes (a whole number of units is repeated as
 * needed), in formatter frames. `path` must not exist. 0 or a bt_error. */
int bench_stream_record(const struct bench_stream *s, const char *path, uint64_t size);

#endif
