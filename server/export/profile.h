/* SPDX-License-Identifier: BSD-3-Clause */
/* Where instructions and cycles went: by instruction, line, function and path of calls. */
#ifndef SERVER_PROFILE_H
#define SERVER_PROFILE_H

#include "decoder/calls/calls.h"
#include "server/export/export_args.h"

#include <stdio.h>

struct profile_core {
    const char *name;
    bool m_profile;
    struct calls calls;
};

struct profile_task {
    uint32_t task; /* as in struct calls_path */
    char name[48];
};

struct profile {
    const struct export_names *names;
    const struct export_loss *loss;
    const struct counts_table *table; /* sorted */
    struct profile_core *cores;
    size_t core_count;
    const struct profile_task *tasks; /* whose names are known; others: those of variables */
    size_t task_count;
    bool cycles; /* the trace has them */
};

/* Whether the trace had any. */
bool profile_has_cycles(const struct counts_table *table);

/* The name of a path's function, or of its task: `out`. */
const char *profile_function_name(const struct profile *p, const struct calls_path *path, char *out,
                                  size_t size);

/*
 * The PC samples of an ITM that stands alone, in place of instructions: functions without callers.
 * `core` is made of it, `table` and `loss` are added to. 0 or a bt_error; release both in all
 * cases.
 */
int profile_sample(struct profile_core *core, struct export_opened *o,
                   const struct recording_source *itm, struct counts_table *table,
                   struct export_loss *loss);

/* Reports. What cannot be written shows at the file. BT_ERR_NOMEM: nothing is complete. */
int profile_write_callgrind(const struct profile *p, FILE *out);
int profile_write_folded(const struct profile *p, FILE *out);
int profile_write_speedscope(const struct profile *p, FILE *out);
int profile_write_text(const struct profile *p, FILE *out);

#endif
