/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of counts, added up: parts of a recording in turn, each from where the one before ended,
 * and any number of recordings. What is broken, foreign, missing or there twice is named, and
 * nothing is added.
 */
#ifndef SERVER_MERGE_H
#define SERVER_MERGE_H

#include "server/export/counts_file.h"
#include "server/export/profile.h"

/* One source of one recording. */
struct merge_source {
    const char *run;
    const char *name;
    const char *core;
    bool formatted;
    uint64_t part; /* that comes next, from its mark on */
    uint64_t mark;
    uint64_t numbers[COUNTS_NUMBERS];
};

struct merge {
    struct merge_file *files; /* private: by recording and part */
    size_t file_count;
    struct merge_source *sources; /* of all recordings */
    size_t source_count;
    struct counts_table table; /* sorted */
    struct feedback feedback;
    struct profile_core *cores; /* one a source, if calls are needed; otherwise NULL */
    struct export_loss loss;
};

enum merge_needs {
    MERGE_ANY,
    MERGE_PAIRS, /* ranges and branches */
    MERGE_CALLS,
};

/*
 * Reads and checks all files. `programs` (NULL: any) are those that all have to be of; `needs`:
 * what is added up beside the instructions. 0 or a bt_error with *why filled; release in all cases.
 */
int merge_files(struct merge *m, char *const *paths, size_t count,
                const struct counts_file *programs, enum merge_needs needs, struct message *why);
void merge_release(struct merge *m);

/* The rows of `btraced decode`, for each recording and source. */
void merge_write_summary(const struct merge *m, FILE *out);

#endif
