/* SPDX-License-Identifier: BSD-3-Clause */
/* One record of a perf.data file: perf_event_open(2), and the records that perf adds
 * (from 64 on). */
#include <inttypes.h>
#include <string.h>

#include "perf_data_internal.h"

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
            if (perf_u64(p, p->attrs[i].ids_at + 8 * n) == number)
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
        *t = (struct perf_task){k->at, pid, tid, parent, (uint8_t)kind};
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
    m->at = k->at;
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

int perf_take_build_id(struct perf_reader *r, const struct perf_record *k)
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
    a->at = k->at;
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

int perf_take_record(struct perf_reader *r, const struct perf_record *k, uint64_t *follows)
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
        return perf_fail(r, BT_ERR_UNSUPPORTED, k->at,
                         "its records are compressed: record without -z (--compression-level)");
    default: /* samples, counts: of no use here */
        return BT_OK;
    }
}
