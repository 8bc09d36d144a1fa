/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a compiler wants to know of a run: how often each range of instructions between two taken
 * branches ran, and each taken branch. Exceptions and gaps end a range, and are no branches.
 */
#ifndef SERVER_FEEDBACK_H
#define SERVER_FEEDBACK_H

#include "server/export/export_walk.h"

#include <stdio.h>

/* A range from its first to its last instruction, or a branch from there to there. */
struct feedback_pair {
    uint64_t from;
    uint64_t to;
    uint64_t before; /* the branch that led to a range, where `stacks` are kept; 0: none, or not
                        known */
    uint64_t count;  /* 0: a free entry */
    bool branch;
};

struct feedback {
    struct feedback_pair *pairs; /* a hash table, until feedback_finish() */
    size_t size;
    size_t used;
    uint64_t left_out;     /* for want of room */
    struct counts *counts; /* of the source that is walked */
    uint64_t first;        /* where the range began that runs */
    uint64_t before;       /* the branch that led there */
    bool open;
    bool stacks; /* a branch is counted with the range behind it: for feedback_write_brstack() alone
                  */
};

/* BT_ERR_NOMEM. Release in both cases. */
int feedback_init(struct feedback *f);
void feedback_release(struct feedback *f);

/* One source is walked, and added. */
int feedback_add(struct feedback *f, struct export_walk *walk, struct export_loss *loss);

/* The same for who walks: `walk` follows `f`, and *counts, which are those of the walk. Afterwards
 * feedback_close(). */
void feedback_follow(struct feedback *f, struct export_walk *walk, struct counts *counts);
void feedback_close(struct feedback *f);

/* For pieces that are joined. Whether both go on alike; all counts are 0 again, and the range that
 * runs goes on; a count from elsewhere. */
bool feedback_same(const struct feedback *a, const struct feedback *b);
void feedback_clear(struct feedback *f);
void feedback_put(struct feedback *f, const struct feedback_pair *pair);

/* Ranges, then branches, by their addresses. */
void feedback_order(struct feedback_pair *pairs, size_t count);

/* Nothing more is added: ranges, then branches, by their addresses. */
void feedback_finish(struct feedback *f);

/* The text of AutoFDO, and that of BOLT's pre-aggregated profiles. What is not in the program is
 * left out. */
void feedback_write_autofdo(const struct feedback *f, const struct export_program *program,
                            const struct export_loss *loss, FILE *out);
void feedback_write_bolt(const struct feedback *f, const struct export_program *program, FILE *out);

/* What `perf script -F ip,brstack` prints of samples, each with its count before it: a branch and
 * the one that ends the range behind it. */
void feedback_write_brstack(const struct feedback *f, const struct export_program *program,
                            FILE *out);

#endif
