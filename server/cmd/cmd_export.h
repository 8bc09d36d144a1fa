/* SPDX-License-Identifier: BSD-3-Clause */
/* What coverage and feedback write, for merge as well. */
#ifndef SERVER_CMD_EXPORT_H
#define SERVER_CMD_EXPORT_H

#include "server/export/coverage.h"
#include "server/export/export_args.h"
#include "server/export/feedback.h"
#include "server/export/profile.h"

/* Format number args->format of coverage to the output. An exit code. */
int cmd_export_coverage(const struct export_args *args, const struct coverage *c,
                        const struct export_names *names, const struct export_loss *loss);

/* --fail-under: EXIT_BELOW and a line, or EXIT_OK. */
int cmd_export_judge(const struct export_args *args, const struct coverage *c);

enum { PROFILE_CALLGRIND, PROFILE_FOLDED, PROFILE_SPEEDSCOPE, PROFILE_TEXT };

/* Cores and their calls, in that format, to the output; `table` is sorted. An exit code. */
int cmd_export_profile(const struct export_args *args, unsigned format, struct profile *p);

enum { FEEDBACK_AUTOFDO, FEEDBACK_BOLT, FEEDBACK_BRSTACK };

/* Text of that format to the output, what is missing to standard error. An exit code. */
int cmd_export_feedback(const struct export_args *args, unsigned format,
                        const struct export_program *program, const struct feedback *f,
                        const struct export_loss *loss);

#endif
