/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_data.h"

#include "perf_unpack.h"

#include <byteswap.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERF_MAX_ATTRS 256u
#define PERF_MAX_UNITS 4096u
#define PERF_MAX_ITEMS 1048576u /* of any other list */

#define PERF_HEADER 8u /* bytes of a record's header */

struct perf_record {
    uint64_t at;   /* of its header in the file */
    uint64_t size; /* with the header */
    uint32_t type;
    uint16_t misc;
};

struct perf_reader {
    struct perf_data *data;
    struct message *why;
    struct perf_unpack *unpack; /* NULL: no compressed record was met */
    uint64_t shift;             /* from `at` to where the record lay if nothing were compressed */
    uint64_t packed_at;         /* of the compressed record that is being read; 0: none is */
    uint64_t left;              /* behind the last whole record */
};

#define INFO_BEGIN     16u /* of the numbers in the record */
#define TYPE_CORESIGHT 3u

#define NEWEST 2u /* version of the layout */

/* One block: which unit, whose, how many numbers. Version 0 had fixed lengths and no count. */
#define MAGIC_ETMV3 UINT64_C(0x3030303030303030)
#define MAGIC_ETMV4 UINT64_C(0x4040404040404040)
#define MAGIC_ETE   UINT64_C(0x5050505050505050)

#define COUNT_ETMV3 4u
#define COUNT_ETMV4 7u
#define COUNT_ETE   8u

#define ID_UNUSED 0x80000000u /* the ID comes in a record of its own */

__attribute__((format(printf, 4, 5))) static int perf_fail(struct perf_reader *r, int error,
                                                           uint64_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    message_vset(r->why, format, args);
    va_end(args);
    if (r->packed_at)
        return message_fail(r->why, error, "byte 0x%" PRIx64 ": unpacked byte 0x%" PRIx64 ": %s",
                            r->packed_at, at, r->why->text);
    return message_fail(r->why, error, "byte 0x%" PRIx64 ": %s", at, r->why->text);
}

static const char *other_trace(uint32_t type)
{
    static const char *const names[] = {"no known kind", "Intel PT",    "Intel BTS",    "CoreSight",
                                        "Arm SPE",       "s390 CPUMCF", "HiSilicon PTT"};
    return type < sizeof names / sizeof *names ? names[type] : names[0];
}

static bool unit_kind(uint64_t magic, uint8_t *kind, uint32_t *count)
{
    switch (magic) {
    case MAGIC_ETMV3:
        *kind = PERF_UNIT_ETMV3;
        *count = COUNT_ETMV3;
        return true;
    case MAGIC_ETMV4:
        *kind = PERF_UNIT_ETMV4;
        *count = COUNT_ETMV4;
        return true;
    case MAGIC_ETE:
        *kind = PERF_UNIT_ETE;
        *count = COUNT_ETE;
        return true;
    default:
        return false;
    }
}

static uint64_t perf_number(const struct perf_data *p, const uint8_t *bytes)
{
    uint64_t v;
    memcpy(&v, bytes, sizeof v);
    return p->swapped ? bswap_64(v) : v;
}

/* Numbers in the file's byte order; the caller has checked that they are inside. */
static uint64_t perf_u64(const struct perf_data *p, uint64_t at)
{
    return perf_number(p, p->bytes + at);
}

/* Room for one more, zeroed and counted, in an array that grows by doubling; NULL: *error. */
static void *perf_grow(struct perf_reader *r, void *array, size_t *count, size_t element,
                       size_t limit, uint64_t at, int *error)
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

/* One block at *at; numbers that are newer than this reader are passed over. */
static int take_unit(struct perf_reader *r, uint64_t version, uint64_t *at, uint64_t end)
{
    struct perf_data *p = r->data;
    uint64_t begin = *at, head = version ? 24 : 16;
    uint32_t wanted;
    uint8_t kind;
    int error = BT_OK;
    if (end - begin < head)
        return perf_fail(r, BT_ERR_FORMAT, begin, "the list of trace units is cut off");
    if (!unit_kind(perf_u64(p, begin), &kind, &wanted))
        return perf_fail(r, BT_ERR_UNSUPPORTED, begin,
                         "a trace unit of kind 0x%" PRIx64 ", which is not known",
                         perf_u64(p, begin));
    uint64_t count = version ? perf_u64(p, begin + 16) : wanted;
    if (count < wanted || count > (end - begin - head) / 8)
        return perf_fail(r, BT_ERR_FORMAT, begin, "a trace unit with %" PRIu64 " registers", count);
    struct perf_unit *u =
        perf_grow(r, &p->units, &p->unit_count, sizeof *u, PERF_MAX_UNITS, begin, &error);
    if (!u)
        return error;
    u->kind = kind;
    u->cpu = (uint32_t)perf_u64(p, begin + 8);
    u->count = wanted;
    for (uint32_t i = 0; i < wanted; i++)
        u->params[i] = perf_u64(p, begin + head + 8 * (uint64_t)i);
    uint64_t id = u->params[1];
    u->trace_id = id & ID_UNUSED || (id & 0x7f) >= PERF_TRACE_IDS ? 0 : id & 0x7f;
    *at = begin + head + 8 * count;
    return BT_OK;
}

static uint32_t perf_u32(const struct perf_data *p, uint64_t at)
{
    uint32_t v;
    memcpy(&v, p->bytes + at, sizeof v);
    return p->swapped ? bswap_32(v) : v;
}

/* What perf keeps of the trace units. */
static int perf_take_info(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    uint64_t at = k->at + INFO_BEGIN, end = k->at + k->size / 8 * 8;
    if (k->size < INFO_BEGIN)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "the record of the trace units is cut off");
    uint32_t type = perf_u32(p, k->at + 8);
    if (type != TYPE_CORESIGHT)
        return perf_fail(r, BT_ERR_UNSUPPORTED, k->at + 8,
                         "its trace is of %s (type %" PRIu32 "), not of CoreSight",
                         other_trace(type), type);
    if (end - at < 24)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "the record of the trace units is cut off");
    if (p->has_info)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "a second record of the trace units");
    uint64_t version = perf_u64(p, at), count = perf_u64(p, at + 8);
    if (version > NEWEST)
        return perf_fail(r, BT_ERR_UNSUPPORTED, at,
                         "trace units described in version %" PRIu64 "; known are 0 to %u", version,
                         NEWEST);
    p->pmu_type = (uint32_t)(count >> 32);
    p->has_info = true;
    at += 24;
    for (uint32_t n = (uint32_t)count; n > 0; n--) {
        int error = take_unit(r, version, &at, end);
        if (error)
            return error;
    }
    return BT_OK;
}

enum {
    RECORD_MMAP = 1,
    RECORD_LOST = 2,
    RECORD_COMM = 3,
    RECORD_FORK = 7,
    RECORD_MMAP2 = 10,
    RECORD_AUX = 11,
    RECORD_ITRACE_START = 12,
    RECORD_HW_ID = 21,
    RECORD_ATTR = 64,
    RECORD_TRACING_DATA = 66,
    RECORD_BUILD_ID = 67,
    RECORD_AUXTRACE_INFO = 70,
    RECORD_AUXTRACE = 71,
    RECORD_COMPRESSED = 81,
    RECORD_COMPRESSED2 = 83,
    RECORD_SIMPLEPERF = 32768, /* from here on Android's: `misc` has the high half of the size */
};

#define MISC_DATA          0x2000u /* mmap: not code */
#define MISC_EXEC          0x2000u /* comm: by an exec */
#define MISC_MAP_BUILD_ID  0x4000u
#define MISC_BUILD_ID_SIZE 0x8000u

#define SAMPLE_TID        0x00002u
#define SAMPLE_TIME       0x00004u
#define SAMPLE_ID         0x00040u
#define SAMPLE_CPU        0x00080u
#define SAMPLE_STREAM_ID  0x00200u
#define SAMPLE_IDENTIFIER 0x10000u

#define PROT_EXECUTE 4u

/* Who and where a record comes from. */

struct origin {
    uint32_t cpu;
    uint32_t pid;
    uint32_t tid;
};

static const struct perf_attr *attr_of_number(const struct perf_data *p, uint64_t number)
{
    for (size_t i = 0; i < p->attr_count; i++)
        for (uint64_t n = 0; n < p->attrs[i].id_count && n < 4096; n++)
            if (perf_number(p, p->attrs[i].ids + 8 * n) == number)
                return &p->attrs[i];
    return NULL;
}

/* The event that a record belongs to: its number is its end; without numbers it is the trace's. */
static const struct perf_attr *attr_of(const struct perf_data *p, const struct perf_record *k)
{
    const struct perf_attr *found = NULL;
    bool numbers = false;
    for (size_t i = 0; i < p->attr_count; i++)
        numbers |= (p->attrs[i].sample_type & SAMPLE_IDENTIFIER) != 0;
    if (numbers && p->attr_count > 1 && k->size >= PERF_HEADER + 8)
        found = attr_of_number(p, perf_u64(p, k->at + k->size - 8));
    for (size_t i = 0; i < p->attr_count && !found; i++)
        if (p->has_info && p->attrs[i].type == p->pmu_type)
            found = &p->attrs[i];
    return found || p->attr_count == 0 ? found : &p->attrs[0];
}

/* The record's own part has `fixed` bytes; what follows is read from its end. */
static struct origin origin_of(const struct perf_data *p, const struct perf_record *k,
                               uint64_t fixed)
{
    struct origin o = {PERF_NO_CPU, UINT32_MAX, UINT32_MAX};
    const struct perf_attr *a = attr_of(p, k);
    if (!a || !a->all_have_id)
        return o;
    static const uint32_t order[] = {SAMPLE_TID,       SAMPLE_TIME, SAMPLE_ID,
                                     SAMPLE_STREAM_ID, SAMPLE_CPU,  SAMPLE_IDENTIFIER};
    uint64_t at = k->at + k->size;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (a->sample_type & order[i])
            at -= 8;
    if (at > k->at + k->size || at < k->at + fixed)
        return o;
    if (a->sample_type & SAMPLE_TID) {
        o.pid = perf_u32(p, at);
        o.tid = perf_u32(p, at + 4);
    }
    for (size_t i = 0; i < 4; i++)
        if (a->sample_type & order[i])
            at += 8;
    if (a->sample_type & SAMPLE_CPU)
        o.cpu = perf_u32(p, at);
    return o;
}

static int perf_need(struct perf_reader *r, const struct perf_record *k, uint64_t size)
{
    if (k->size >= size)
        return BT_OK;
    return perf_fail(r, BT_ERR_FORMAT, k->at,
                     "a record of type %" PRIu32 " has %" PRIu64 " bytes, not %" PRIu64, k->type,
                     k->size, size);
}

/* The text at `offset` of the record ends inside of it. */
static const char *text_at(const struct perf_reader *r, const struct perf_record *k,
                           uint64_t offset)
{
    const char *text = (const char *)r->data->bytes + k->at + offset;
    return offset < k->size && memchr(text, 0, (size_t)(k->size - offset)) ? text : NULL;
}

static int add_task(struct perf_reader *r, const struct perf_record *k, enum perf_task_kind kind,
                    uint32_t pid, uint32_t tid, uint32_t parent)
{
    struct perf_data *p = r->data;
    int error = BT_OK;
    const struct perf_task *last = p->task_count ? &p->tasks[p->task_count - 1] : NULL;
    if (kind == PERF_TASK_SEEN && last && last->pid == pid && last->tid == tid)
        return BT_OK;
    struct perf_task *t =
        perf_grow(r, &p->tasks, &p->task_count, sizeof *t, PERF_MAX_ITEMS, k->at, &error);
    if (t)
        *t = (struct perf_task){k->at + r->shift, pid, tid, parent, (uint8_t)kind};
    return error;
}

static int take_comm(struct perf_reader *r, const struct perf_record *k)
{
    int error = perf_need(r, k, 16);
    if (error)
        return error;
    uint32_t pid = perf_u32(r->data, k->at + 8), tid = perf_u32(r->data, k->at + 12);
    return add_task(r, k, k->misc & MISC_EXEC ? PERF_TASK_EXEC : PERF_TASK_SEEN, pid, tid, 0);
}

static int take_fork(struct perf_reader *r, const struct perf_record *k)
{
    int error = perf_need(r, k, 32);
    if (error)
        return error;
    uint32_t pid = perf_u32(r->data, k->at + 8), parent = perf_u32(r->data, k->at + 12);
    uint32_t tid = perf_u32(r->data, k->at + 16);
    return add_task(r, k, pid == parent ? PERF_TASK_SEEN : PERF_TASK_FORK, pid, tid, parent);
}

static int take_thread(struct perf_reader *r, const struct perf_record *k)
{
    int error = perf_need(r, k, 16);
    return error ? error
                 : add_task(r, k, PERF_TASK_SEEN, perf_u32(r->data, k->at + 8),
                            perf_u32(r->data, k->at + 12), 0);
}

static int take_map(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    bool second = k->type == RECORD_MMAP2;
    int error = perf_need(r, k, second ? 73 : 41);
    if (error)
        return error;
    if (second ? !(perf_u32(p, k->at + 64) & PROT_EXECUTE) : (k->misc & MISC_DATA) != 0)
        return BT_OK;
    const char *path = text_at(r, k, second ? 72 : 40);
    if (!path)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "the name of a mapped file has no end");
    struct perf_map *m =
        perf_grow(r, &p->maps, &p->map_count, sizeof *m, PERF_MAX_ITEMS, k->at, &error);
    if (!m)
        return error;
    m->at = k->at + r->shift;
    m->pid = perf_u32(p, k->at + 8);
    m->address = perf_u64(p, k->at + 16);
    m->size = perf_u64(p, k->at + 24);
    m->offset = perf_u64(p, k->at + 32);
    m->path = path;
    if (second && k->misc & MISC_MAP_BUILD_ID) {
        uint8_t size = p->bytes[k->at + 40];
        m->build_id_size = size <= PERF_BUILD_ID ? size : 0;
        memcpy(m->build_id, p->bytes + k->at + 44, PERF_BUILD_ID);
    }
    if (m->pid == UINT32_MAX)
        return BT_OK;
    return add_task(r, k, PERF_TASK_SEEN, m->pid, perf_u32(p, k->at + 12), 0);
}

/* A record of a build ID, in the stream or in the file's table. */
static int perf_take_build_id(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    int error = perf_need(r, k, 37);
    if (error)
        return error;
    const char *path = text_at(r, k, 36);
    if (!path)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "the name of a file with a build ID has no end");
    struct perf_build_id *b =
        perf_grow(r, &p->build_ids, &p->build_id_count, sizeof *b, PERF_MAX_ITEMS, k->at, &error);
    if (!b)
        return error;
    uint8_t size = k->misc & MISC_BUILD_ID_SIZE ? p->bytes[k->at + 32] : PERF_BUILD_ID;
    b->path = path;
    b->size = size <= PERF_BUILD_ID ? size : PERF_BUILD_ID;
    memcpy(b->id, p->bytes + k->at + 12, PERF_BUILD_ID);
    return BT_OK;
}

static int take_aux(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    int error = perf_need(r, k, 32);
    if (error)
        return error;
    struct perf_aux *a =
        perf_grow(r, &p->aux, &p->aux_count, sizeof *a, PERF_MAX_ITEMS, k->at, &error);
    if (!a)
        return error;
    struct origin o = origin_of(p, k, 32);
    a->offset = perf_u64(p, k->at + 8);
    a->size = perf_u64(p, k->at + 16);
    a->flags = perf_u64(p, k->at + 24);
    a->cpu = o.cpu;
    a->tid = o.tid;
    return o.tid == UINT32_MAX ? BT_OK : add_task(r, k, PERF_TASK_SEEN, o.pid, o.tid, 0);
}

static int take_span(struct perf_reader *r, const struct perf_record *k, uint64_t *follows)
{
    struct perf_data *p = r->data;
    int error = perf_need(r, k, 48);
    if (!error && r->packed_at)
        error = perf_fail(r, BT_ERR_FORMAT, k->at, "trace in a compressed record");
    if (error)
        return error;
    uint64_t size = perf_u64(p, k->at + 8), begin = k->at + k->size;
    *follows = size;
    /* What is there of one that was cut off is not lost. */
    if (size > p->size - begin)
        size = p->size - begin;
    struct perf_span *s =
        perf_grow(r, &p->spans, &p->span_count, sizeof *s, PERF_MAX_ITEMS, k->at, &error);
    if (!s)
        return error;
    s->at = begin;
    s->size = size;
    s->offset = perf_u64(p, k->at + 16);
    s->tid = perf_u32(p, k->at + 36);
    s->cpu = perf_u32(p, k->at + 40);
    if (s->offset > UINT64_MAX - size)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "trace that wraps around the buffer's count");
    return BT_OK;
}

/*
 * Since the header's version 2 trace IDs are given while it records. The number, as Linux has it in
 * tools/include/linux/coresight-pmu.h: trace ID in bits 7:0, since the minor version 1 the number
 * of the sink in bits 39:8, minor version in bits 59:56, major version in bits 63:60. What is there
 * keeps its meaning in all minor versions. The sink is not needed: a CPU's own buffer is looked at
 * with its own ID first.
 */
static int take_hw_id(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    int error = perf_need(r, k, 16);
    if (error)
        return error;
    uint64_t value = perf_u64(p, k->at + 8);
    if (value >> 60 > 0)
        return perf_fail(r, BT_ERR_UNSUPPORTED, k->at,
                         "a trace ID of version %" PRIu64 ", which is not known", value >> 60);
    uint32_t cpu = origin_of(p, k, 16).cpu;
    uint8_t id = (uint8_t)value;
    for (size_t i = 0; i < p->unit_count; i++)
        if (p->units[i].cpu == cpu)
            p->units[i].trace_id = id < PERF_TRACE_IDS ? id : 0;
    return BT_OK;
}

static int perf_take_attr(struct perf_reader *r, uint64_t at, uint64_t size, uint64_t ids_at,
                          uint64_t ids_size);

static int take_attr_record(struct perf_reader *r, const struct perf_record *k)
{
    int error = perf_need(r, k, PERF_HEADER + 64);
    if (error)
        return error;
    uint64_t size = perf_u32(r->data, k->at + PERF_HEADER + 4);
    if (size == 0)
        size = 64;
    if (size > k->size - PERF_HEADER)
        return perf_fail(r, BT_ERR_FORMAT, k->at, "an event's attribute of %" PRIu64 " bytes",
                         size);
    uint64_t ids = k->at + PERF_HEADER + size;
    return perf_take_attr(r, k->at + PERF_HEADER, size, ids, (k->at + k->size - ids) / 8 * 8);
}

static int take_compressed(struct perf_reader *r, const struct perf_record *k);

/* One record inside the file; *follows: bytes behind it that are not records. */
static int perf_take_record(struct perf_reader *r, const struct perf_record *k, uint64_t *follows)
{
    switch (k->type) {
    case RECORD_MMAP:
    case RECORD_MMAP2:
        return take_map(r, k);
    case RECORD_LOST:
        r->data->lost += k->size >= 24 ? perf_u64(r->data, k->at + 16) : 1;
        return BT_OK;
    case RECORD_COMM:
        return take_comm(r, k);
    case RECORD_FORK:
        return take_fork(r, k);
    case RECORD_ITRACE_START:
        return take_thread(r, k);
    case RECORD_AUX:
        return take_aux(r, k);
    case RECORD_HW_ID:
        return take_hw_id(r, k);
    case RECORD_ATTR:
        return take_attr_record(r, k);
    case RECORD_TRACING_DATA:
        if (k->size >= 12)
            *follows = ((uint64_t)perf_u32(r->data, k->at + 8) + 7) / 8 * 8;
        return BT_OK;
    case RECORD_BUILD_ID:
        return perf_take_build_id(r, k);
    case RECORD_AUXTRACE_INFO:
        return perf_take_info(r, k);
    case RECORD_AUXTRACE:
        return take_span(r, k, follows);
    case RECORD_COMPRESSED:
    case RECORD_COMPRESSED2:
        return take_compressed(r, k);
    default: /* samples, counts: of no use here */
        return BT_OK;
    }
}

#define MAGIC         UINT64_C(0x32454c4946524550) /* the number; its bytes on disk tell the order */
#define FILE_HEADER   104u
#define PIPE_HEADER   16u
#define FEATURES      256u
#define FEATURE_ID    2u /* the table of build IDs */
#define SECTION       16u
#define ATTR_SMALLEST 64u /* as of the first edition */

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

/* One attribute of `size` bytes with its numbers. 0 or a bt_error. */
static int perf_take_attr(struct perf_reader *r, uint64_t at, uint64_t size, uint64_t ids_at,
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
    a->ids = p->bytes + ids_at;
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
        k.size |= k.type >= RECORD_SIMPLEPERF ? (uint64_t)k.misc << 16 : 0;
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
    r->left = end - at;
    return BT_OK;
}

/* What is unpacked of a compressed record, as if it were the file. */
static int take_unpacked(struct perf_reader *r, const uint8_t *bytes, size_t length)
{
    struct perf_data *p = r->data;
    const struct perf_data file = *p;
    p->bytes = bytes;
    p->size = length;
    int error = take_records(r, 0, length, perf_take_record);
    if (!error && r->left > PERF_RECORD_MAX)
        error = perf_fail(r, BT_ERR_FORMAT, 0, "bytes behind it that are no record");
    if (!error)
        perf_unpack_keep(r->unpack, bytes + length - r->left, (size_t)r->left);
    p->bytes = file.bytes;
    p->size = file.size;
    p->cut = file.cut;
    return error;
}

/* Kept as long as the file, if something refers to it. */
static int keep_unpacked(struct perf_reader *r, const struct perf_record *k, uint8_t *bytes,
                         size_t before)
{
    struct perf_data *p = r->data;
    int error = BT_OK;
    uint8_t **place = NULL;
    if (p->map_count + p->build_id_count + p->attr_count != before)
        place = perf_grow(r, &p->unpacked, &p->unpacked_count, sizeof *place, PERF_MAX_ITEMS, k->at,
                          &error);
    if (place)
        *place = bytes;
    else
        free(bytes);
    return error;
}

static int take_compressed(struct perf_reader *r, const struct perf_record *k)
{
    struct perf_data *p = r->data;
    uint64_t head = k->type == RECORD_COMPRESSED2 ? 16 : 8, shift = r->shift;
    size_t before = p->map_count + p->build_id_count + p->attr_count, length;
    uint8_t *bytes;
    int error = perf_need(r, k, head);
    if (!error && r->packed_at)
        error = perf_fail(r, BT_ERR_FORMAT, k->at, "a compressed record in another one");
    uint64_t size = head == 16 && !error ? perf_u64(p, k->at + 8) : k->size - head;
    if (!error && size > k->size - head)
        error =
            perf_fail(r, BT_ERR_FORMAT, k->at, "a compressed record of %" PRIu64 " bytes", size);
    if (!error && !r->unpack && !(r->unpack = perf_unpack_new()))
        error = perf_fail(r, BT_ERR_NOMEM, k->at, "out of memory");
    if (error)
        return error;
    error = perf_unpack_piece(r->unpack, p->bytes + k->at + head, (size_t)size, &bytes, &length);
    if (error)
        return perf_fail(r, error, k->at, "its compressed record cannot be unpacked: %s",
                         error == BT_ERR_FORMAT ? "it is damaged" : "it is too large");
    r->packed_at = k->at;
    r->shift = k->at + shift;
    error = take_unpacked(r, bytes, length);
    r->packed_at = 0;
    r->shift = shift + length - k->size;
    int kept = keep_unpacked(r, k, bytes, before);
    return error ? error : kept;
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

int perf_data_read(struct perf_data *p, const uint8_t *bytes, uint64_t size, struct message *why)
{
    struct perf_reader r = {.data = p, .why = why};
    *p = (struct perf_data){.bytes = bytes, .size = size};
    *why = (struct message){.text = ""};
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
        error = take_records(&r, PIPE_HEADER, size, perf_take_record);
    } else if (header < FILE_HEADER || size < FILE_HEADER) {
        return perf_fail(&r, BT_ERR_FORMAT, 8, "a header of %" PRIu64 " bytes", header);
    } else {
        error = take_file(&r);
    }
    p->cut |= r.unpack && perf_unpack_kept(r.unpack);
    perf_unpack_free(r.unpack);
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
    for (size_t i = 0; i < p->unpacked_count; i++)
        free(p->unpacked[i]);
    free(p->unpacked);
    *p = (struct perf_data){0};
}
