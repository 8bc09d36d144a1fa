/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of line tables and ranges of functions, made segments. Private to drivers/dwarf. */
#ifndef DRIVERS_DWARF_BUILD_H
#define DRIVERS_DWARF_BUILD_H

#include "drivers/dwarf/dwarf_lines.h"

#define DWARF_DEPTH_MAX 64u /* of functions and blocks inside each other */

struct dwarf_row {
    uint64_t address;
    uint64_t end;
    uint32_t file;
    uint32_t line;
    uint32_t order; /* of two at one address the later one counts */
    bool at_zero;   /* of a sequence that begins at address 0 */
};

struct dwarf_range {
    uint64_t low;
    uint64_t high;
    uint32_t instance;
    uint32_t depth;
};

/* The function that a DIE describes. */
struct dwarf_origin {
    uint64_t die; /* where it is in memory: offsets of split units are not unique; 0: a free entry
                   */
    uint32_t function;
};

struct dwarf_build {
    struct dwarf_lines *out;
    struct dwarf_row *rows;
    size_t row_count, row_max;
    struct dwarf_range *ranges;
    size_t range_count, range_max;
    struct dwarf_origin *origins; /* a hash table */
    size_t origin_max, function_max, instance_max, file_max;
    uint32_t at_zero;      /* sequences that begin there */
    bool zero;             /* the newest one does */
    const char *last_name; /* names repeat, and libdw keeps one copy of each */
    uint32_t last_file;
};

void dwarf_build_init(struct dwarf_build *b, struct dwarf_lines *out);
void dwarf_build_release(struct dwarf_build *b);

/*
 * The rows that follow are of one sequence, which begins there. A linker puts what it has dropped
 * at address 0: where several begin at it, none of them is code.
 */
void dwarf_build_sequence(struct dwarf_build *b, uint64_t address);

/* 0 or BT_ERR_NOMEM, each. */
int dwarf_build_row(struct dwarf_build *b, uint64_t address, uint64_t end, const char *file,
                    uint32_t line);
int dwarf_build_function(struct dwarf_build *b, uint64_t die, const char *name, const char *file,
                         uint32_t line, uint32_t *function);
int dwarf_build_instance(struct dwarf_build *b, uint32_t function, uint32_t outer, uint64_t entry,
                         uint32_t *instance);
int dwarf_build_range(struct dwarf_build *b, uint32_t instance, unsigned depth, uint64_t low,
                      uint64_t high);

/* The segments, from all that was given. */
int dwarf_build_finish(struct dwarf_build *b);

#endif
