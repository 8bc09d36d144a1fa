/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a program ran: source lines, functions and branches, and the same of its object code.
 * A line ran as often as the most frequent of its instructions in one copy of the code, all copies
 * (inlined, or made by the compiler) added up.
 */
#ifndef SERVER_COVERAGE_H
#define SERVER_COVERAGE_H

#include "server/export/export_walk.h"

#include <stdio.h>

/* An instruction of the program, whether it ran or not. */
struct coverage_insn {
    uint64_t address;
    uint64_t count;
    uint64_t taken; /* of a conditional branch */
    uint64_t not_taken;
    uint8_t size;
    bool branch; /* a conditional one */
};

struct coverage_line {
    const char *file; /* as DWARF has it; of equal files the same pointer */
    uint32_t line;
    uint64_t count;
};

/* Two directions of a branch, all copies of it added up. */
struct coverage_branch {
    const char *file;
    uint32_t line;
    uint32_t number; /* of the line */
    uint64_t taken;
    uint64_t not_taken;
};

struct coverage_function {
    const char *file;
    const char *name;
    uint32_t line;
    uint64_t count;
};

struct coverage {
    struct coverage_insn *insns; /* in the order of their addresses */
    size_t insn_count, insn_max;
    struct coverage_line *lines; /* these by file and line */
    size_t line_count, line_max;
    struct coverage_branch *branches;
    size_t branch_count, branch_max;
    struct coverage_function *functions;
    size_t function_count, function_max;
};

/* `table` is sorted, `image` has the program's code. 0 or BT_ERR_NOMEM; release in both cases. */
int coverage_init(struct coverage *c, const struct export_names *names,
                  const struct counts_table *table, const struct code_image *image);
void coverage_release(struct coverage *c);

struct coverage_total {
    uint64_t lines, lines_hit;
    uint64_t functions, functions_hit;
    uint64_t branches, branches_hit; /* directions */
};

/* Of one file, or (NULL) of all. */
void coverage_sum(const struct coverage *c, const char *file, struct coverage_total *out);

/* Reports. What cannot be written shows at the file. */
void coverage_write_lcov(const struct coverage *c, const struct export_names *names,
                         const struct export_loss *loss, FILE *out);
void coverage_write_text(const struct coverage *c, const struct export_names *names,
                         const struct export_loss *loss, FILE *out);
void coverage_write_objects(const struct coverage *c, const struct export_names *names,
                            const struct export_loss *loss, FILE *out);

#endif
