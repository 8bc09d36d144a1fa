/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_data.h"

#include <byteswap.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_data_internal.h"

#define MAGIC         UINT64_C(0x32454c4946524550) /* the number; its bytes on disk tell the order */
#define FILE_HEADER   104u
#define PIPE_HEADER   16u
#define FEATURES      256u
#define FEATURE_ID    2u /* the table of build IDs */
#define SECTION       16u
#define COMPRESSED    27u
#define ATTR_SMALLEST 64u /* as of the first edition */

uint32_t perf_u32(const struct perf_data *p, uint64_t at)
{
    uint32_t v;
    memcpy(&v, p->bytes + at, sizeof v);
    return p->swapped ? bswap_32(v) : v;
}

uint64_t perf_u64(const struct perf_data *p, uint64_t at)
{
    uint64_t v;
    memcpy(&v, p->bytes + at, sizeof v);
    return p->swapped ? bswap_64(v) : v;
}

int perf_fail(struct perf_reader *r, int error, uint64_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->why->text, sizeof r->why->text, format, args);
    va_end(args);
    r->why->at = at;
    return error;
}

void *perf_grow(struct perf_reader *r, void *array, size_t *count, size_t element, size_t limit,
                uint64_t at, int *error)
{
    void *old;
    memcpy(&old, array, sizeof old);
    if (*count >= limit) {
        *error = perf_fail(r, BT_ERR_RANGE, at, "more than %zu records of one kind", limit);
        return NULL;
    }
    /* Sizes are powers of two: full exactly when the count is 0 or one of them. */
    if ((*count & (*count - 1)) == 0) {
        void *grown = reallocarray(old, *count ? *count * 2 : 1, element);
        if (!grown) {
            *error = perf_fail(r, BT_ERR_NOMEM, at, "out of memory");
            return NULL;
        }
        memcpy(array, &grown, sizeof grown);
        old = grown;
    }
    void *place = (char *)old + *count * element;
    memset(place, 0, element);
    ++*count;
    return place;
}

static bool perf_inside(const struct perf_data *p, uint64_t at, uint64_t size)
{
    return at <= p->size && size <= p->size - at;
}

/* Flag `bit` of an attribute: a bit field, which a big-endian machine fills from the top. */
static bool attr_flag(const struct perf_data *p, uint64_t at, unsigned bit)
{
    uint16_t probe = 1;
    uint8_t first;
    memcpy(&first, &probe, 1);
    bool big = (first == 0) != p->swapped;
    return p->bytes[at + 40 + bit / 8] >> (big ? 7 - bit % 8 : bit % 8) & 1;
}

int perf_take_attr(struct perf_reader *r, uint64_t at, uint64_t size, uint64_t ids_at,
                   uint64_t ids_size)
{
    struct perf_data *p = r->data;
    int error = BT_OK;
    if (size < ATTR_SMALLEST || !perf_inside(p, at, size))
        return perf_fail(r, BT_ERR_FORMAT, at, "an event's attribute of %" PRIu64 " bytes", size);
    if (!perf_inside(p, ids_at, ids_size) || ids_size % 8)
        return perf_fail(r, BT_ERR_FORMAT, at, "the event's numbers lie outside of the file");
    struct perf_attr *a =
        perf_grow(r, &p->attrs, &p->attr_count, sizeof *a, PERF_MAX_ATTRS, at, &error);
    if (!a)
        return error;
    a->type = perf_u32(p, at);
    a->sample_type = perf_u64(p, at + 24);
    a->all_have_id = attr_flag(p, at, 18);
    a->ids_at = ids_at;
    a->id_count = ids_size / 8;
    return BT_OK;
}

static int take_attrs(struct perf_reader *r, uint64_t at, uint64_t size, uint64_t each)
{
    struct perf_data *p = r->data;
    if (each < ATTR_SMALLEST + SECTION || each > 4096 || !perf_inside(p, at, size))
        return perf_fail(r, BT_ERR_FORMAT, 16, "the table of events lies outside of the file");
    for (uint64_t i = 0; i + each <= size; i += each) {
        uint64_t ids = at + i + each - SECTION;
        int error =
            perf_take_attr(r, at + i, each - SECTION, perf_u64(p, ids), perf_u64(p, ids + 8));
        if (error)
            return error;
    }
    return BT_OK;
}

/* Records from `at` to `end`, one behind the other; what is cut off at the end is left. */
static int take_records(struct perf_reader *r, uint64_t at, uint64_t end,
                        int (*take)(struct perf_reader *r, const struct perf_record *k,
                                    uint64_t *follows))
{
    struct perf_data *p = r->data;
    while (end - at >= PERF_HEADER) {
        struct perf_record k = {.at = at, .type = perf_u32(p, at)};
        uint16_t half[2];
        memcpy(half, p->bytes + at + 4, sizeof half);
        k.misc = p->swapped ? bswap_16(half[0]) : half[0];
        k.size = p->swapped ? bswap_16(half[1]) : half[1];
        if (k.size < PERF_HEADER)
            return perf_fail(r, BT_ERR_FORMAT, at,
                             "a record of %" PRIu64 " bytes: the smallest has 8", k.size);
        if (k.size > end - at)
            break;
        uint64_t follows = 0;
        int error = take(r, &k, &follows);
        if (error)
            return error;
        at += k.size;
        if (follows > end - at) {
            p->cut = true;
            return BT_OK;
        }
        at += follows;
    }
    if (at != end)
        p->cut = true;
    return BT_OK;
}

static int take_id_entry(struct perf_reader *r, const struct perf_record *k, uint64_t *follows)
{
    *follows = 0;
    return perf_take_build_id(r, k);
}

/* The file's tables. */

static bool has_feature(const struct perf_data *p, unsigned feature)
{
    return perf_u64(p, 72 + feature / 64 * 8) >> feature % 64 & 1;
}

/* Their places stand behind the records, one for each bit that is set. */
static int take_features(struct perf_reader *r, uint64_t table)
{
    struct perf_data *p = r->data;
    for (unsigned i = 0; i < FEATURES; i++) {
        if (!has_feature(p, i))
            continue;
        if (!perf_inside(p, table, SECTION)) { /* perf writes it last */
            p->cut = true;
            return BT_OK;
        }
        uint64_t at = perf_u64(p, table), size = perf_u64(p, table + 8);
        table += SECTION;
        if (i != FEATURE_ID)
            continue;
        if (!perf_inside(p, at, size))
            return perf_fail(r, BT_ERR_FORMAT, table - SECTION,
                             "the table of build IDs lies outside of the file");
        int error = take_records(r, at, at + size, take_id_entry);
        if (error)
            return error;
    }
    return BT_OK;
}

static int take_file(struct perf_reader *r)
{
    struct perf_data *p = r->data;
    int error = take_attrs(r, perf_u64(p, 24), perf_u64(p, 32), perf_u64(p, 16));
    uint64_t at = perf_u64(p, 40), size = perf_u64(p, 48);
    if (error)
        return error;
    if (has_feature(p, COMPRESSED))
        return perf_fail(r, BT_ERR_UNSUPPORTED, 72,
                         "its records are compressed: record without -z (--compression-level)");
    if (!perf_inside(p, at, 0))
        return perf_fail(r, BT_ERR_FORMAT, 40, "the records lie outside of the file");
    if (!perf_inside(p, at, size) || size == 0) { /* perf did not come to write its size */
        p->cut = true;
        size = p->size - at;
    } else {
        error = take_features(r, at + size);
    }
    return error ? error : take_records(r, at, at + size, perf_take_record);
}

int perf_data_read(struct perf_data *p, const uint8_t *bytes, uint64_t size, struct perf_error *why)
{
    struct perf_reader r = {p, why};
    *p = (struct perf_data){.bytes = bytes, .size = size};
    *why = (struct perf_error){0};
    if (size < PIPE_HEADER)
        return perf_fail(&r, BT_ERR_FORMAT, 0, "too short for a perf.data file");
    uint64_t magic = perf_u64(p, 0);
    if (magic != MAGIC && bswap_64(magic) != MAGIC)
        return perf_fail(&r, BT_ERR_FORMAT, 0,
                         memcmp(bytes, "PERFFILE", 8) == 0
                             ? "a perf.data file of version 1, which is not read"
                             : "not a perf.data file: it begins without PERFILE2");
    p->swapped = magic != MAGIC;
    uint64_t header = perf_u64(p, 8);
    int error;
    if (header == PIPE_HEADER) {
        p->pipe = true;
        error = take_records(&r, PIPE_HEADER, size, perf_take_record);
    } else if (header < FILE_HEADER || size < FILE_HEADER) {
        return perf_fail(&r, BT_ERR_FORMAT, 8, "a header of %" PRIu64 " bytes", header);
    } else {
        error = take_file(&r);
    }
    if (!error && !p->has_info)
        error = perf_fail(&r, BT_ERR_UNSUPPORTED, 0,
                          "it has no CoreSight trace: record with -e cs_etm// (perf record)");
    return error;
}

void perf_data_release(struct perf_data *p)
{
    free(p->attrs);
    free(p->units);
    free(p->spans);
    free(p->aux);
    free(p->maps);
    free(p->tasks);
    free(p->build_ids);
    *p = (struct perf_data){0};
}
