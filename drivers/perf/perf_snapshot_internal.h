/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by perf_snapshot*.c. */
#ifndef DRIVERS_PERF_SNAPSHOT_INTERNAL_H
#define DRIVERS_PERF_SNAPSHOT_INTERNAL_H

#include "drivers/perf/perf_snapshot.h"
#include "drivers/snapshot/snapshot_loader.h"
#include "perf_data.h"

#define PERF_MAX_PROGRAMS 4096u /* different files */
#define PERF_MAX_PIECES   1048576u
#define PERF_MAX_DUMPS    1048576u
#define PERF_FORKS        64u /* generations of processes that are looked through */

/* A program file that has been looked for. */
struct perf_program {
    const char *path; /* on the traced machine */
    size_t file;      /* of the snapshot; SIZE_MAX: not to be had */
};

struct perf_build {
    struct snapshot_loader ld;
    struct perf_data data;
    const struct perf_places *places;
    struct perf_program *programs;
    size_t program_count;
};

/* A new element of an array of the snapshot's. NULL with *error. */
#define PERF_GROW(b, array, count, limit, error)                                                   \
    snapshot_grow(&(b)->ld, &(array), (count), sizeof *(array), (limit), "entries", (error))

/* perf_snapshot_trace.c: buffers, sources, cores. */
int perf_add_trace(struct perf_build *b);

/* Dumps for each core. */
int perf_add_code(struct perf_build *b);

#endif
