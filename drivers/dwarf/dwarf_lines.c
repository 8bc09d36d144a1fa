/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/dwarf/dwarf_lines.h"

#include "dwarf_build.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rows of one sequence of the line table, each up to the next one. */
static int build_rows(struct dwarf_build *b, Dwarf_Lines *lines, size_t count)
{
    bool begin = true;
    for (size_t i = 0; i + 1 < count; i++) {
        Dwarf_Line *row = dwarf_onesrcline(lines, i), *next = dwarf_onesrcline(lines, i + 1);
        Dwarf_Addr address, end;
        bool last;
        int line;
        if (dwarf_lineaddr(row, &address) || dwarf_lineaddr(next, &end) ||
            dwarf_lineendsequence(row, &last) || dwarf_lineno(row, &line))
            continue;
        if (begin)
            dwarf_build_sequence(b, address);
        begin = last;
        const char *file = dwarf_linesrc(row, NULL, NULL);
        if (last || end <= address || line <= 0 || !file)
            continue;
        int error = dwarf_build_row(b, address, end, file, (uint32_t)line);
        if (error)
            return error;
    }
    return BT_OK;
}

/*
 * The file where a function is declared. dwarf_decl_file() of libdw 0.188 ends the program where a
 * split unit has its line table elsewhere; `unit` is the one that has it.
 */
static const char *declared_in(Dwarf_Die *die, Dwarf_Die *origin, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Files *files;
    Dwarf_Word index;
    Dwarf_Die other = *unit;
    size_t count;
    if (!dwarf_attr(origin, DW_AT_decl_file, &attribute) ||
        dwarf_formudata(&attribute, &index) != 0)
        return NULL;
    if (origin->cu != die->cu && !dwarf_diecu(origin, &other, NULL, NULL))
        return NULL;
    if (dwarf_getsrcfiles(&other, &files, &count) != 0 || index >= count)
        return NULL;
    return dwarf_filesrc(files, index, NULL, NULL);
}

/* The function that a DIE is code of. BT_ERR_RANGE: it has no name. */
static int build_function(struct dwarf_build *b, Dwarf_Die *die, Dwarf_Die *unit, uint32_t *out)
{
    Dwarf_Attribute attribute;
    Dwarf_Die origin = *die;
    while (dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) ||
           dwarf_attr(&origin, DW_AT_specification, &attribute))
        if (!dwarf_formref_die(&attribute, &origin))
            break;
    const char *name = NULL;
    if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
        name = dwarf_formstring(&attribute);
    if (!name)
        name = dwarf_diename(die);
    int line = 0;
    if (!name)
        return BT_ERR_RANGE;
    if (dwarf_decl_line(die, &line) || line < 0)
        line = 0;
    return dwarf_build_function(b, (uintptr_t)origin.addr, name, declared_in(die, &origin, unit),
                                (uint32_t)line, out);
}

static int build_instance(struct dwarf_build *b, Dwarf_Die *die, Dwarf_Die *unit, uint32_t outer,
                          unsigned depth, uint32_t *instance)
{
    Dwarf_Addr base, low, high, entry = 0;
    uint32_t function;
    ptrdiff_t at = dwarf_ranges(die, 0, &base, &low, &high);
    if (at <= 0)
        return BT_OK; /* a declaration, or all of it is inlined */
    int error = build_function(b, die, unit, &function);
    if (error)
        return error == BT_ERR_RANGE ? BT_OK : error;
    if (dwarf_entrypc(die, &entry))
        entry = low;
    error = dwarf_build_instance(b, function, outer, entry, instance);
    for (; !error && at > 0; at = dwarf_ranges(die, at, &base, &low, &high))
        error = dwarf_build_range(b, *instance, depth, low, high);
    return error;
}

/* Functions below a DIE. `outer` is the instance that is around it. */
static int build_children(struct dwarf_build *b, Dwarf_Die *parent, Dwarf_Die *unit, uint32_t outer,
                          unsigned depth)
{
    Dwarf_Die die;
    if (depth == DWARF_DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return BT_OK;
    do {
        uint32_t instance = outer;
        int error = BT_OK, tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            error = build_instance(b, &die, unit, DWARF_NO_INSTANCE, depth, &instance);
        else if (tag == DW_TAG_inlined_subroutine)
            error = build_instance(b, &die, unit, outer, depth, &instance);
        else if (tag != DW_TAG_lexical_block && tag != DW_TAG_namespace &&
                 tag != DW_TAG_class_type && tag != DW_TAG_structure_type)
            continue;
        if (!error)
            error = build_children(b, &die, unit, instance, depth + 1);
        if (error)
            return error;
    } while (dwarf_siblingof(&die, &die) == 0);
    return BT_OK;
}

static int build_unit(struct dwarf_build *b, Dwarf_Die *unit, Dwarf_Die *code)
{
    Dwarf_Lines *lines;
    size_t count;
    int error = BT_OK;
    if (dwarf_getsrclines(unit, &lines, &count) == 0)
        error = build_rows(b, lines, count);
    return error ? error : build_children(b, code, unit, DWARF_NO_INSTANCE, 0);
}

static int build_units(struct dwarf_build *b, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, split;
    uint8_t type;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split) == 0) {
        int error = BT_OK;
        if (type == DW_UT_compile || type == DW_UT_partial)
            error = build_unit(b, &unit, &unit);
        else if (type == DW_UT_skeleton)
            error = build_unit(b, &unit, dwarf_tag(&split) == DW_TAG_invalid ? &unit : &split);
        if (error)
            return error;
    }
    return BT_OK;
}

int dwarf_lines_open(struct dwarf_lines *out, const char *path, struct message *why)
{
    struct dwarf_build build;
    memset(out, 0, sizeof *out);
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0)
        return message_fail(why, BT_ERR_IO, "cannot open '%s': %s", path, strerror(errno));
    Dwarf *dwarf = dwarf_begin(out->fd, DWARF_C_READ);
    if (!dwarf)
        return BT_OK; /* a program without it */
    out->dwarf = dwarf;
    dwarf_build_init(&build, out);
    int error = build_units(&build, dwarf);
    if (!error)
        error = dwarf_build_finish(&build);
    dwarf_build_release(&build);
    if (error)
        return message_fail(why, error, "debug information of '%s': %s", path, bt_strerror(error));
    return BT_OK;
}

void dwarf_lines_release(struct dwarf_lines *d)
{
    for (size_t i = 0; i < d->file_count; i++)
        free(d->files[i]);
    free(d->files);
    free(d->functions);
    free(d->instances);
    free(d->segments);
    if (d->dwarf)
        dwarf_end(d->dwarf);
    if (d->fd >= 0)
        close(d->fd);
    memset(d, 0, sizeof *d);
    d->fd = -1;
}

const struct dwarf_segment *dwarf_lines_at(const struct dwarf_lines *d, uint64_t address)
{
    size_t low = 0, high = d->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->segments[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->segment_count && d->segments[low].address <= address ? &d->segments[low] : NULL;
}
