/* SPDX-License-Identifier: BSD-3-Clause */
#include "dwarf_build.h"

#include <stdlib.h>
#include <string.h>

/* Room for one more of `count`; *max says how many there is room for. */
static void *room_for(void *array, size_t count, size_t *max, size_t size)
{
    if (count < *max)
        return array;
    size_t more = *max ? *max * 2 : 256;
    void *larger = realloc(array, more * size);
    if (larger)
        *max = more;
    return larger;
}

#define ROOM_FOR_ONE(array, count, max)                                                            \
    do {                                                                                           \
        void *larger_ = room_for(array, count, &(max), sizeof *(array));                           \
        if (!larger_)                                                                              \
            return BT_ERR_NOMEM;                                                                   \
        (array) = larger_;                                                                         \
    } while (0)

void dwarf_build_init(struct dwarf_build *b, struct dwarf_lines *out)
{
    memset(b, 0, sizeof *b);
    b->out = out;
}

void dwarf_build_release(struct dwarf_build *b)
{
    free(b->rows);
    free(b->ranges);
    free(b->origins);
}

static int file_index(struct dwarf_build *b, const char *name, uint32_t *index)
{
    struct dwarf_lines *d = b->out;
    if (name == b->last_name && d->file_count) {
        *index = b->last_file;
        return BT_OK;
    }
    size_t i = 0;
    while (i < d->file_count && strcmp(d->files[i], name) != 0)
        i++;
    if (i == d->file_count) {
        ROOM_FOR_ONE(d->files, d->file_count, b->file_max);
        d->files[i] = strdup(name);
        if (!d->files[i])
            return BT_ERR_NOMEM;
        d->file_count++;
    }
    b->last_name = name;
    b->last_file = *index = (uint32_t)i;
    return BT_OK;
}

void dwarf_build_sequence(struct dwarf_build *b, uint64_t address)
{
    b->zero = address == 0;
    b->at_zero += b->zero;
}

int dwarf_build_row(struct dwarf_build *b, uint64_t address, uint64_t end, const char *file,
                    uint32_t line)
{
    uint32_t index;
    int error = file_index(b, file, &index);
    if (error)
        return error;
    ROOM_FOR_ONE(b->rows, b->row_count, b->row_max);
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

int dwarf_build_function(struct dwarf_build *b, uint64_t die, const char *name, const char *file,
                         uint32_t line, uint32_t *function)
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
    ROOM_FOR_ONE(d->functions, d->function_count, b->function_max);
    d->functions[d->function_count] = (struct dwarf_function){name, index, line};
    *function = (uint32_t)d->function_count++;
    *origin = (struct dwarf_origin){die, *function};
    return BT_OK;
}

int dwarf_build_instance(struct dwarf_build *b, uint32_t function, uint32_t outer, uint64_t entry,
                         uint32_t *instance)
{
    struct dwarf_lines *d = b->out;
    ROOM_FOR_ONE(d->instances, d->instance_count, b->instance_max);
    d->instances[d->instance_count] = (struct dwarf_instance){function, outer, entry};
    *instance = (uint32_t)d->instance_count++;
    return BT_OK;
}

int dwarf_build_range(struct dwarf_build *b, uint32_t instance, unsigned depth, uint64_t low,
                      uint64_t high)
{
    if (low >= high)
        return BT_OK;
    ROOM_FOR_ONE(b->ranges, b->range_count, b->range_max);
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
    size_t low = 0, high = d->segment_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (d->segments[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
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
    size_t low = 0, high = cut_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cuts[middle] <= row->address)
            low = middle + 1;
        else
            high = middle;
    }
    for (uint64_t at = row->address; at < row->end; low++) {
        uint64_t end = low < cut_count && cuts[low] < row->end ? cuts[low] : row->end;
        if (end == at)
            continue;
        ROOM_FOR_ONE(d->segments, d->segment_count, *max);
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

int dwarf_build_finish(struct dwarf_build *b)
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
