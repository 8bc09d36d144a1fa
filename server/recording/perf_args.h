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

/* For the tables of getopt_long(): values that no other option of these commands has. */
enum {
    OPT_PERF = 512,
    OPT_PERF_ROOT,
    OPT_PERF_BUILD_IDS,
    OPT_PERF_KERNEL,
};

#define PERF_OPTIONS                                                                               \
    {"perf", no_argument, NULL, OPT_PERF}, {"root", required_argument, NULL, OPT_PERF_ROOT},       \
        {"symfs", required_argument, NULL, OPT_PERF_ROOT},                                         \
        {"buildid-dir", required_argument, NULL, OPT_PERF_BUILD_IDS},                              \
        {"vmlinux", required_argument, NULL, OPT_PERF_KERNEL},                                     \
    {                                                                                              \
        "kcore", required_argument, NULL, OPT_PERF_KERNEL                                          \
    }

#define PERF_HELP                                                                                  \
    "  --perf             RECORDING is a perf.data file of Linux with CoreSight trace\n"           \
    "  --root DIR         with --perf: the traced machine's programs are below DIR\n"              \
    "  --buildid-dir DIR  with --perf: its programs by build ID (default $HOME/.debug)\n"          \
    "  --vmlinux FILE     with --perf: its kernel, linked or as a copy of kcore\n"

/* One of the options above; false: it is none of them. */
bool perf_args_take(struct perf_args *args, int option, const char *value);

/* After the last option. What is wrong, or NULL. */
const char *perf_args_complete(struct perf_args *args);

#endif
