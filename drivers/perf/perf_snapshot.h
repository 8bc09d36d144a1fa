/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A perf.data file with CoreSight trace as a recording: the same struct snapshot that a folder
 * gives, with a core a CPU ("cpu0") or a traced thread ("thread_1234"), its trace in the file's
 * bytes, and the programs that were mapped as memory dumps.
 */
#ifndef DRIVERS_PERF_SNAPSHOT_H
#define DRIVERS_PERF_SNAPSHOT_H

#include "drivers/snapshot/snapshot.h"

/* Where the traced machine's files are. NULL: not given. */
struct perf_places {
    const char *root;      /* the folder that stands for its "/"; without one "/" itself */
    const char *build_ids; /* perf's cache of files by build ID: it has a folder .build-id */
    const char *kernel;    /* its vmlinux, or a copy of its kcore */
};

/*
 * Opens `path`, a perf.data file or the folder that newer perfs make of it. Files that are missing
 * or have another build ID are warnings. Results and *why as of snapshot_open(), but that the
 * text names a byte of the file where one is to blame;
 * BT_ERR_UNSUPPORTED: see perf_data_read(). */
int perf_snapshot_open(const char *path, const struct perf_places *places, struct snapshot **out,
                       struct message *why);

#endif
