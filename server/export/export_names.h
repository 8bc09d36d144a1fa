/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions and source lines by address, for whatever is exported: of all programs of a run. */
#ifndef SERVER_EXPORT_NAMES_H
#define SERVER_EXPORT_NAMES_H

#include "drivers/dwarf/dwarf_lines.h"
#include "drivers/elf/elf_image.h"

#include <stdio.h>

#define EXPORT_MAX_MAPS 16

struct export_map { /* --source-map FROM=TO */
    const char *from;
    size_t from_length;
    const char *to;
};

struct export_program {
    const char *path;
    const struct elf_image *elf;
    struct dwarf_lines lines; /* none: no segment */
};

struct export_names {
    struct export_program *programs;
    size_t count;
    struct export_map maps[EXPORT_MAX_MAPS];
    size_t map_count;
};

/* Paths and images stay the caller's. 0 or a bt_error with *why filled; release in all cases. */
int export_names_init(struct export_names *n, const char *const *paths,
                      struct elf_image *const *elf, size_t count, bool lines, struct message *why);
void export_names_release(struct export_names *n);

/* Adds "FROM=TO"; false: it is none, or there are too many. */
bool export_names_map(struct export_names *n, const char *text);

/* A source file's path as it is to be written: that of the first FROM that it is below. */
const char *export_source_path(const struct export_names *n, const char *file, char *out,
                               size_t size);

/* Where the function begins that holds the address; 0: none is known. A part that the compiler
 * moved away (NAME.cold) belongs to NAME. */
uint64_t export_function(const struct export_names *n, uint64_t address);

/* The name of the function at the address, or the address in digits, into `out`. */
const char *export_function_name(const struct export_names *n, uint64_t address, char *out,
                                 size_t size);

/* The same of a variable; "NAME+4": so many bytes behind its begin. */
const char *export_variable_name(const struct export_names *n, uint64_t address, char *out,
                                 size_t size);

/* Bytes of the character of UTF-8 that begins here; 0: it is none. */
size_t export_utf8(const unsigned char *s, size_t length);

/* The line that the address belongs to. False: not known. *file is as DWARF has it. */
bool export_line(const struct export_names *n, uint64_t address, const char **file, unsigned *line);

/* `length` bytes as a JSON string in UTF-8, in which a page of HTML sees no tag either: '<' is
 * escaped, and what is no UTF-8 is U+FFFD. */
void export_json_text(const char *text, size_t length, FILE *out);

/* The address of a function of this name; false: there is none. */
bool export_find(const struct export_names *n, const char *name, uint64_t *address);

#endif
