/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source lines and functions of a program by address, from its DWARF sections (versions 2 to 5),
 * inlined functions included. All is read at once; what does not hold together is left out.
 */
#ifndef DRIVERS_DWARF_LINES_H
#define DRIVERS_DWARF_LINES_H

#include "btrace/types.h"
#include "drivers/base/message.h"

#define DWARF_NO_INSTANCE UINT32_MAX

/* A function of the source. */
struct dwarf_function {
    const char *name; /* its linkage name if it has one */
    uint32_t file;    /* index; of its declaration */
    uint32_t line;
};

/* Code of a function: its own, or a copy of it that was inlined somewhere. */
struct dwarf_instance {
    uint32_t function; /* index */
    uint32_t outer;    /* the instance that it is inlined into; DWARF_NO_INSTANCE: its own code */
    uint64_t entry;    /* its first instruction */
};

/* Addresses of one line and one instance. In order of addresses, without overlap. */
struct dwarf_segment {
    uint64_t address;
    uint64_t end;
    uint32_t file; /* index */
    uint32_t line;
    uint32_t instance; /* the innermost; DWARF_NO_INSTANCE: of no function that is described */
};

struct dwarf_lines {
    char **files;
    size_t file_count;
    struct dwarf_function *functions;
    size_t function_count;
    struct dwarf_instance *instances;
    size_t instance_count;
    struct dwarf_segment *segments;
    size_t segment_count;
    void *dwarf; /* names are its */
    int fd;
};

/*
 * The file's line table and functions. 0 with *out empty if it has none; BT_ERR_IO, BT_ERR_FORMAT
 * with *why filled; BT_ERR_NOMEM. Release in all cases.
 */
int dwarf_lines_open(struct dwarf_lines *out, const char *path, struct message *why);
void dwarf_lines_release(struct dwarf_lines *d);

/* The segment that holds the address; NULL if none does. */
const struct dwarf_segment *dwarf_lines_at(const struct dwarf_lines *d, uint64_t address);

#endif
