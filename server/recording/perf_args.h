/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of `btraced decode` and `btraced replay` for a perf.data file of Linux. */
#ifndef SERVER_PERF_ARGS_H
#define SERVER_PERF_ARGS_H

#include "drivers/base/message.h"
#include "drivers/perf/perf_snapshot.h"

struct perf_args {
    bool on; /* the recording is a perf.data file */
    struct perf_places places;
    char cache[4096]; /* perf's own: $HOME/.debug */
};

/* Rows of a table of struct command_option. */
#define PERF_OPTIONS(args)                                                                         \
    {.name = "perf", .flag = &(args)->on}, {.name = "root", .text = &(args)->places.root},         \
        {.name = "symfs", .text = &(args)->places.root},                                           \
        {.name = "buildid-dir", .text = &(args)->places.build_ids},                                \
        {.name = "vmlinux", .text = &(args)->places.kernel},                                       \
    {                                                                                              \
        .name = "kcore", .text = &(args)->places.kernel                                            \
    }

#define PERF_HELP                                                                                  \
    "  --perf             RECORDING is a perf.data file of Linux with CoreSight trace\n"           \
    "  --root DIR         with --perf: the traced machine's programs are below DIR\n"              \
    "  --buildid-dir DIR  with --perf: its programs by build ID (default $HOME/.debug)\n"          \
    "  --vmlinux FILE     with --perf: its kernel, linked or as a copy of kcore\n"

/* After the last option. What is wrong, or NULL. */
const char *perf_args_complete(struct perf_args *args);

#endif
