/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/dwarf/dwarf_lines.h"

#include "decoder/base/array.h"
#include "decoder/base/search.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    const char *folder;    /* where the compiler ran; NULL: not told */
    const char *last_name; /* names repeat, and libdw keeps one copy of each */
    uint32_t last_file;
};

static void dwarf_build_init(struct dwarf_build *b, struct dwarf_lines *out)
{
    memset(b, 0, sizeof *b);
    b->out = out;
}

static void dwarf_build_release(struct dwarf_build *b)
{
    free(b->rows);
    free(b->ranges);
    free(b->origins);
}

/* What follows `drop` follows `at`. */
static void path_cut(char *at, const char *drop)
{
    memmove(at, drop, strlen(drop) + 1);
}

/* One file, one name: "/a/b/../c.h" is "/a/c.h". A "." or ".." at the begin stays. */
static void path_fold(char *path)
{
    for (char *at = path; (at = strchr(at, '/'));)
        if (at[1] == '/' || strncmp(at, "/./", 3) == 0)
            path_cut(at, at + (at[1] == '/' ? 1 : 2));
        else
            at++;
    for (char *at = path; (at = strstr(at, "/../"));) {
        char *part = at; /* what stands before */
        while (part > path && part[-1] != '/')
            part--;
        if (strncmp(part, "../", 3) == 0) {
            at++;
            continue;
        }
        path_cut(part, at + (at == path ? 3 : *part == '.' && part + 1 == at ? 1 : 4));
        at = part > path ? part - 1 : path;
    }
}

/* The file's path. Of another folder than that where the compiler ran libdw gives it as seen there.
 */
static char *path_of(const char *folder, const char *name)
{
    size_t length = folder ? strlen(folder) : 0;
    bool whole =
        name[0] == '/' || !length || (strncmp(name, folder, length) == 0 && name[length] == '/');
    char *path;
    if (asprintf(&path, "%s%s%s", whole ? "" : folder, whole ? "" : "/", name) < 0)
        return NULL;
    path_fold(path);
    return path;
}

static int file_index(struct dwarf_build *b, const char *name, uint32_t *index)
{
    struct dwarf_lines *d = b->out;
    if (name == b->last_name && d->file_count) {
        *index = b->last_file;
        return BT_OK;
    }
    char *path = path_of(b->folder, name);
    size_t i = 0;
    if (!path || !array_room(&d->files, d->file_count, &b->file_max, sizeof *d->files)) {
        free(path);
        return BT_ERR_NOMEM;
    }
    while (i < d->file_count && strcmp(d->files[i], path) != 0)
        i++;
    if (i == d->file_count)
        d->files[d->file_count++] = path;
    else
        free(path);
    b->last_name = name;
    b->last_file = *index = (uint32_t)i;
    return BT_OK;
}

/*
 * The rows that follow are of one sequence, which begins there. A linker puts what it has dropped
 * at address 0: where several begin at it, none of them is code.
 */
static void dwarf_build_sequence(struct dwarf_build *b, uint64_t address)
{
    b->zero = address == 0;
    b->at_zero += b->zero;
}

/* 0 or BT_ERR_NOMEM, each. */
static int dwarf_build_row(struct dwarf_build *b, uint64_t address, uint64_t end, const char *file,
                           uint32_t line)
{
    uint32_t index;
    int error = file_index(b, file, &index);
    if (error)
        return error;
    if (!array_room(&b->rows, b->row_count, &b->row_max, sizeof *b->rows))
        return BT_ERR_NOMEM;
    b->rows[b->row_count] =
        (struct dwarf_row){address, end, index, line, (uint32_t)b->row_count, b->zero};
    b->row_count++;
    return BT_OK;
}

/* Its entry, or the free one that it would have. */
static struct dwarf_origin *origin_find(const struct dwarf_build *b, uint64_t die)
{
    size_t at = (size_t)(die * 0x9e3779b97f4a7c15u >> 24) & (b->origin_max - 1);
    while (b->origins[at].die && b->origins[at].die != die)
        at = (at + 1) & (b->origin_max - 1);
    return &b->origins[at];
}

static int origins_grow(struct dwarf_build *b)
{
    struct dwarf_origin *old = b->origins;
    size_t size = b->origin_max;
    struct dwarf_origin *larger = calloc(size ? size * 2 : 1024, sizeof *larger);
    if (!larger)
        return BT_ERR_NOMEM;
    b->origins = larger;
    b->origin_max = size ? size * 2 : 1024;
    for (size_t i = 0; i < size; i++)
        if (old[i].die)
            *origin_find(b, old[i].die) = old[i];
    free(old);
    return BT_OK;
}

static int dwarf_build_function(struct dwarf_build *b, uint64_t die, const char *name,
                                const char *file, uint32_t line, uint32_t *function)
{
    struct dwarf_lines *d = b->out;
    uint32_t index = 0;
    if (d->function_count * 2 >= b->origin_max && origins_grow(b))
        return BT_ERR_NOMEM;
    struct dwarf_origin *origin = origin_find(b, die);
    if (origin->die) {
        *function = origin->function;
        return BT_OK;
    }
    int error = file_index(b, file ? file : "", &index);
    if (error)
        return error;
    if (!array_room(&d->functions, d->function_count, &b->function_max, sizeof *d->functions))
        return BT_ERR_NOMEM;
    d->functions[d->function_count] = (struct dwarf_function){name, index, line};
    *function = (uint32_t)d->function_count++;
    *origin = (struct dwarf_origin){die, *function};
    return BT_OK;
}

static int dwarf_build_instance(struct dwarf_build *b, uint32_t function, uint32_t outer,
                                uint64_t entry, uint32_t *instance)
{
    struct dwarf_lines *d = b->out;
    if (!array_room(&d->instances, d->instance_count, &b->instance_max, sizeof *d->instances))
        return BT_ERR_NOMEM;
    d->instances[d->instance_count] = (struct dwarf_instance){function, outer, entry};
    *instance = (uint32_t)d->instance_count++;
    return BT_OK;
}

static int dwarf_build_range(struct dwarf_build *b, uint32_t instance, unsigned depth, uint64_t low,
                             uint64_t high)
{
    if (low >= high)
        return BT_OK;
    if (!array_room(&b->ranges, b->range_count, &b->range_max, sizeof *b->ranges))
        return BT_ERR_NOMEM;
    b->ranges[b->range_count++] = (struct dwarf_range){low, high, instance, depth};
    return BT_OK;
}

static int row_order(const void *a, const void *b)
{
    const struct dwarf_row *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int range_order(const void *a, const void *b)
{
    const struct dwarf_range *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static int cut_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The first segment at or behind the address. */
static size_t segment_from(const struct dwarf_lines *d, uint64_t address)
{
    size_t low;
    SEARCH_FIRST(low, d->segment_count, d->segments[low].address < address);
    return low;
}

/* Inner functions after outer ones: what is painted last stays. */
static void paint_ranges(struct dwarf_build *b)
{
    struct dwarf_lines *d = b->out;
    if (b->range_count)
        qsort(b->ranges, b->range_count, sizeof *b->ranges, range_order);
    for (size_t i = 0; i < b->range_count; i++)
        for (size_t s = segment_from(d, b->ranges[i].low);
             s < d->segment_count && d->segments[s].address < b->ranges[i].high; s++)
            d->segments[s].instance = b->ranges[i].instance;
}

/* Rows that overlap are cut: the later begin counts. */
static int put_row(struct dwarf_build *b, size_t *max, const struct dwarf_row *row,
                   const uint64_t *cuts, size_t cut_count)
{
    struct dwarf_lines *d = b->out;
    size_t low;
    SEARCH_FIRST(low, cut_count, cuts[low] <= row->address);
    for (uint64_t at = row->address; at < row->end; low++) {
        uint64_t end = low < cut_count && cuts[low] < row->end ? cuts[low] : row->end;
        if (end == at)
            continue;
        if (!array_room(&d->segments, d->segment_count, max, sizeof *d->segments))
            return BT_ERR_NOMEM;
        d->segments[d->segment_count++] =
            (struct dwarf_segment){at, end, row->file, row->line, DWARF_NO_INSTANCE};
        at = end;
    }
    return BT_OK;
}

static void drop_what_was_dropped(struct dwarf_build *b)
{
    size_t rows = 0, ranges = 0;
    if (b->at_zero < 2)
        return;
    for (size_t i = 0; i < b->row_count; i++)
        if (!b->rows[i].at_zero)
            b->rows[rows++] = b->rows[i];
    for (size_t i = 0; i < b->range_count; i++)
        if (b->ranges[i].low > 1) /* 1: in lists of ranges, where 0 would end the list */
            b->ranges[ranges++] = b->ranges[i];
    b->row_count = rows;
    b->range_count = ranges;
}

/* The segments, from all that was given. */
static int dwarf_build_finish(struct dwarf_build *b)
{
    drop_what_was_dropped(b);
    size_t cut_count = 2 * b->range_count, max = 0;
    uint64_t *cuts = malloc((cut_count + 1) * sizeof *cuts);
    int error = BT_OK;
    if (!cuts)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < b->range_count; i++) {
        cuts[2 * i] = b->ranges[i].low;
        cuts[2 * i + 1] = b->ranges[i].high;
    }
    qsort(cuts, cut_count, sizeof *cuts, cut_order);
    if (b->row_count)
        qsort(b->rows, b->row_count, sizeof *b->rows, row_order);
    for (size_t i = 0; i < b->row_count && !error; i++) {
        struct dwarf_row *row = &b->rows[i];
        if (i + 1 < b->row_count && b->rows[i + 1].address < row->end)
            row->end = b->rows[i + 1].address;
        error = put_row(b, &max, row, cuts, cut_count);
    }
    free(cuts);
    if (!error)
        paint_ranges(b);
    return error;
}

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

/* Names of files that follow are of this unit. */
static void build_of_unit(struct dwarf_build *b, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    b->folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
}

/*
 * The file where a function is declared. dwarf_decl_file() of libdw 0.188 ends the program where a
 * split unit has its line table elsewhere; `unit` is the one that has it.
 */
static const char *declared_in(struct dwarf_build *b, Dwarf_Die *die, Dwarf_Die *origin,
                               Dwarf_Die *unit)
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
    build_of_unit(b, &other);
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
    return dwarf_build_function(b, (uintptr_t)origin.addr, name, declared_in(b, die, &origin, unit),
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
    build_of_unit(b, unit);
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
    size_t low;
    SEARCH_FIRST(low, d->segment_count, d->segments[low].end <= address);
    return low < d->segment_count && d->segments[low].address <= address ? &d->segments[low] : NULL;
}
