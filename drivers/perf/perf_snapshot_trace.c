/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace of a perf.data file as buffers and sources. A buffer is what one CPU or one thread
 * wrote in one format; its pieces are what the kernel's records say, each begins anew with the
 * trace unit's synchronisation.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf_snapshot_internal.h"

#define LANES 8u /* of one buffer of perf's: formats, and kinds of trace units */

struct lane {
    size_t buffer;
    const struct perf_unit *unit; /* whose registers count; NULL: formatted, of several */
    bool raw;
    bool broken; /* the last piece ended early */
};

/* The spans of one CPU or thread: [first, end), by offset. */
struct queue {
    size_t first;
    size_t end;
    uint32_t cpu;
    uint32_t tid;
    struct lane lanes[LANES];
    size_t lane_count;
};

struct trace {
    struct perf_build *b;
    struct queue *queues;
    size_t queue_count;
    uint64_t homeless; /* records whose trace is not in the file */
};

static int compare_spans(const void *left, const void *right)
{
    const struct perf_span *a = left, *b = right;
    uint32_t key_a = a->cpu == PERF_NO_CPU ? a->tid : a->cpu;
    uint32_t key_b = b->cpu == PERF_NO_CPU ? b->tid : b->cpu;
    bool thread_a = a->cpu == PERF_NO_CPU, thread_b = b->cpu == PERF_NO_CPU;
    if (thread_a != thread_b)
        return thread_a - thread_b;
    if (key_a != key_b)
        return key_a < key_b ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool same_queue(const struct perf_span *a, const struct perf_span *b)
{
    return a->cpu == b->cpu && (a->cpu != PERF_NO_CPU || a->tid == b->tid);
}

static int find_queues(struct trace *t)
{
    struct perf_data *p = &t->b->data;
    int error = BT_OK;
    if (p->span_count)
        qsort(p->spans, p->span_count, sizeof *p->spans, compare_spans);
    for (size_t i = 0; i < p->span_count && !error; i++) {
        if (i > 0 && same_queue(&p->spans[i - 1], &p->spans[i])) {
            t->queues[t->queue_count - 1].end = i + 1;
            continue;
        }
        struct queue *q = PERF_GROW(t->b, t->queues, t->queue_count, SNAPSHOT_MAX_DEVICES, &error);
        if (!q)
            break;
        q->first = i;
        q->end = i + 1;
        q->cpu = p->spans[i].cpu;
        q->tid = p->spans[i].tid;
        t->queue_count++;
    }
    return error;
}

static const struct perf_unit *unit_of(const struct perf_data *p, uint32_t cpu)
{
    for (size_t i = 0; i < p->unit_count; i++)
        if (p->units[i].cpu == cpu)
            return &p->units[i];
    return NULL;
}

/* The first unit that is read like this one: a thread moves between CPUs of one kind. */
static const struct perf_unit *kind_of(const struct perf_data *p, const struct perf_unit *u)
{
    for (size_t i = 0; i < p->unit_count; i++) {
        const struct perf_unit *o = &p->units[i];
        bool same = o->kind == u->kind && o->params[0] == u->params[0] &&
                    memcmp(&o->params[2], &u->params[2], sizeof o->params - 2 * 8) == 0;
        if (same)
            return o;
    }
    return u;
}

static int new_buffer(struct perf_build *b, const struct queue *q, bool raw, size_t *index)
{
    struct snapshot *snap = b->ld.snap;
    char name[64];
    int error = BT_OK;
    struct snapshot_buffer *buffer =
        PERF_GROW(b, snap->buffers, snap->buffer_count, SNAPSHOT_MAX_LINKS, &error);
    if (!buffer)
        return error;
    if (q->cpu == PERF_NO_CPU)
        snprintf(name, sizeof name, "aux_thread_%" PRIu32, q->tid);
    else
        snprintf(name, sizeof name, "aux_cpu%" PRIu32, q->cpu);
    buffer->name = snapshot_string(snap, name, strlen(name));
    buffer->format_name = raw ? "source_data" : "coresight";
    buffer->format = raw ? SNAPSHOT_FORMAT_SOURCE_DATA : SNAPSHOT_FORMAT_CORESIGHT;
    *index = snap->buffer_count++;
    return buffer->name ? BT_OK : BT_ERR_NOMEM;
}

static int find_lane(struct trace *t, struct queue *q, bool raw, uint32_t cpu, struct lane **out)
{
    const struct perf_data *p = &t->b->data;
    const struct perf_unit *unit = NULL;
    if (q->cpu == PERF_NO_CPU || raw)
        unit = unit_of(p, q->cpu == PERF_NO_CPU ? cpu : q->cpu);
    if (q->cpu == PERF_NO_CPU)
        unit = unit ? kind_of(p, unit) : p->unit_count ? &p->units[0] : NULL;
    for (size_t i = 0; i < q->lane_count; i++) {
        *out = &q->lanes[i];
        if (q->lanes[i].raw == raw && q->lanes[i].unit == unit)
            return BT_OK;
    }
    if (q->lane_count == LANES)
        return snapshot_fail(t->b->ld.why, BT_ERR_RANGE, "", 0,
                             "thread %" PRIu32 " ran on more than %u kinds of CPUs", q->tid, LANES);
    *out = &q->lanes[q->lane_count++];
    **out = (struct lane){.unit = unit, .raw = raw};
    return new_buffer(t->b, q, raw, &(*out)->buffer);
}

static int add_part(struct trace *t, const struct lane *lane, uint64_t at, uint64_t size,
                    enum bt_gap_cause before)
{
    struct snapshot_buffer *buffer = &t->b->ld.snap->buffers[lane->buffer];
    int error = BT_OK;
    struct snapshot_buffer_file *f =
        PERF_GROW(t->b, buffer->files, buffer->file_count, PERF_MAX_PIECES, &error);
    if (!f)
        return error;
    *f = (struct snapshot_buffer_file){.path = "", .size = size, .offset = at, .anew = true};
    f->before = (uint8_t)before;
    buffer->file_count++;
    buffer->size += size;
    return BT_OK;
}

/* The kernel's mark for a sink that ran round: a frame of nothing but sync words. */
static bool is_barrier(const uint8_t *data, uint64_t size)
{
    static const uint8_t barrier[16] = {0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f,
                                        0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f};
    return size >= sizeof barrier && memcmp(data, barrier, sizeof barrier) == 0;
}

static int add_piece(struct trace *t, struct queue *q, uint64_t at, uint64_t size,
                     const struct perf_aux *aux)
{
    uint64_t flags = aux ? aux->flags : 0;
    struct lane *lane;
    int error = find_lane(t, q, (flags & PERF_AUX_FORMAT) == PERF_AUX_RAW,
                          aux ? aux->cpu : PERF_NO_CPU, &lane);
    if (error)
        return error;
    bool first = t->b->ld.snap->buffers[lane->buffer].file_count == 0;
    enum bt_gap_cause before = first ? BT_GAP_NONE : BT_GAP_TRACE_ON;
    const uint8_t *data = t->b->data.bytes + at;
    if (flags & PERF_AUX_OVERWRITE || (!lane->raw && is_barrier(data, size)))
        before = BT_GAP_OVERWRITTEN;
    if (lane->broken || flags & PERF_AUX_PARTIAL)
        before = BT_GAP_LOST_BYTES;
    while (!lane->raw && is_barrier(data, size)) {
        data += 16;
        at += 16;
        size -= 16;
    }
    lane->broken = flags & (PERF_AUX_TRUNCATED | PERF_AUX_PARTIAL | PERF_AUX_COLLISION);
    return size || before != BT_GAP_TRACE_ON ? add_part(t, lane, at, size, before) : BT_OK;
}

/* The kernel's records. */

static struct queue *queue_of(struct trace *t, const struct perf_aux *aux)
{
    if (t->queue_count == 1 && (aux->cpu == PERF_NO_CPU || aux->tid == UINT32_MAX))
        return t->queues;
    size_t low = 0, high = t->queue_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct queue *q = &t->queues[mid];
        bool thread = q->cpu == PERF_NO_CPU;
        uint32_t have = thread ? q->tid : q->cpu, want = thread ? aux->tid : aux->cpu;
        if (have == want)
            return &t->queues[mid];
        if (have < want)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* A record's trace lies in one span, or is not in the file. */
static int perf_add_aux(struct trace *t, const struct perf_aux *aux)
{
    const struct perf_data *p = &t->b->data;
    struct queue *q = queue_of(t, aux);
    if (aux->size == 0)
        return BT_OK;
    if (!q) {
        t->homeless++;
        return BT_OK;
    }
    bool snapshot = aux->flags & PERF_AUX_OVERWRITE;
    /* A snapshot's offset is its end: what is before it fills the span that holds this byte. */
    uint64_t inner = snapshot ? aux->offset - 1 : aux->offset;
    size_t low = q->first, high = q->end;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (p->spans[mid].offset <= inner)
            low = mid;
        else
            high = mid;
    }
    const struct perf_span *s = &p->spans[low];
    uint64_t size = snapshot && aux->size > s->size ? s->size : aux->size;
    uint64_t offset = snapshot ? aux->offset - size : aux->offset;
    struct perf_aux whole = *aux;
    uint64_t room =
        offset >= s->offset && offset - s->offset < s->size ? s->size - (offset - s->offset) : 0;
    if (size > room && room > 0 && s->at + s->size == p->size) {
        size = room; /* the file was cut off here */
        whole.flags |= PERF_AUX_TRUNCATED;
    }
    if (size == 0 || size > room) {
        t->homeless++;
        for (size_t i = 0; i < q->lane_count; i++)
            q->lanes[i].broken = true;
        return BT_OK;
    }
    return add_piece(t, q, s->at + (offset - s->offset), size, &whole);
}

static int add_pieces(struct trace *t)
{
    const struct perf_data *p = &t->b->data;
    int error = BT_OK;
    for (size_t i = 0; i < p->aux_count && !error; i++)
        error = perf_add_aux(t, &p->aux[i]);
    /* A file without such records: all that was written. */
    for (size_t k = 0; p->aux_count == 0 && k < t->queue_count; k++)
        for (size_t i = t->queues[k].first; i < t->queues[k].end && !error; i++)
            error = add_piece(t, &t->queues[k], p->spans[i].at, p->spans[i].size, NULL);
    for (size_t k = 0; k < t->queue_count; k++)
        for (size_t i = 0; i < t->queues[k].lane_count && !error; i++)
            if (t->queues[k].lanes[i].broken)
                error = add_part(t, &t->queues[k].lanes[i], 0, 0, BT_GAP_LOST_BYTES);
    if (!error && t->homeless)
        error = snapshot_warn(&t->b->ld, "perf.data", 0,
                              "the trace of %" PRIu64 " of %zu AUX records is not in the file",
                              t->homeless, p->aux_count);
    return error;
}

/* Sources and cores. */

static int add_reg(struct perf_build *b, struct snapshot_device *d, const char *name,
                   uint64_t value)
{
    int error = BT_OK;
    struct snapshot_reg *r = PERF_GROW(b, d->regs, d->reg_count, SNAPSHOT_MAX_REGS, &error);
    if (!r)
        return error;
    *r = (struct snapshot_reg){.name = name, .size = 32, .value = value};
    d->reg_count++;
    return BT_OK;
}

/* The registers of a unit; `id` is the trace ID in the buffer, 0: any. */
static int add_registers(struct perf_build *b, struct snapshot_device *d, const struct perf_unit *u,
                         unsigned id)
{
    static const char *const etmv3[] = {"ETMCR", "ETMTRACEIDR", "ETMCCER", "ETMIDR"};
    static const char *const etmv4[] = {"TRCCONFIGR", "TRCTRACEIDR", "TRCIDR0",       "TRCIDR1",
                                        "TRCIDR2",    "TRCIDR8",     "TRCAUTHSTATUS", "TRCDEVARCH"};
    const char *const *names = u->kind == PERF_UNIT_ETMV3 ? etmv3 : etmv4;
    int error = BT_OK;
    for (uint32_t i = 0; i < u->count && !error; i++)
        error = add_reg(b, d, names[i], i == 1 ? id : u->params[i]);
    return error;
}

/* ETMIDR[11:8] is 3 for a PTM, 2 for an ETMv3. */
static const char *type_of(const struct perf_unit *u)
{
    if (u->kind == PERF_UNIT_ETMV4)
        return "ETM4";
    if (u->kind == PERF_UNIT_ETE)
        return "ETE";
    return (u->params[3] >> 8 & 0xf) == 3 ? "PTM1.1" : "ETM3.5";
}

static struct snapshot_device *add_device(struct perf_build *b, const char *name,
                                          enum snapshot_class class, const char *type, int *error)
{
    struct snapshot *snap = b->ld.snap;
    struct snapshot_device *d =
        PERF_GROW(b, snap->devices, snap->device_count, 2 * SNAPSHOT_MAX_LINKS, error);
    if (!d)
        return NULL;
    d->name = snapshot_string(snap, name, strlen(name));
    d->class_name = class == SNAPSHOT_CLASS_CORE ? "core" : "trace_source";
    d->device_class = class;
    d->type = type;
    d->path = "perf.data";
    if (!d->name) {
        *error = BT_ERR_NOMEM;
        return NULL;
    }
    snap->device_count++;
    return d;
}

/* A core and its trace source in `buffer`. Names tell apart what one CPU has in several buffers. */
static int perf_add_source(struct perf_build *b, const char *core, const struct perf_unit *u,
                           unsigned id, size_t buffer)
{
    struct snapshot *snap = b->ld.snap;
    char core_name[64], name[80];
    int error = BT_OK;
    snprintf(core_name, sizeof core_name, "%s", core);
    for (unsigned n = 2; snapshot_device(snap, core_name) && n < 1000; n++)
        snprintf(core_name, sizeof core_name, "%s_%u", core, n);
    snprintf(name, sizeof name, "etm_%s", core_name);
    struct snapshot_device *c = add_device(b, core_name, SNAPSHOT_CLASS_CORE, "ARMv8-A", &error);
    const char *kept = c ? c->name : NULL;
    struct snapshot_device *d =
        c ? add_device(b, name, SNAPSHOT_CLASS_TRACE_SOURCE, type_of(u), &error) : NULL;
    if (d)
        error = add_registers(b, d, u, id);
    if (error || !d)
        return error;
    struct snapshot_source_buffer *sb =
        PERF_GROW(b, snap->source_buffers, snap->source_buffer_count, SNAPSHOT_MAX_LINKS, &error);
    if (!sb)
        return error;
    *sb = (struct snapshot_source_buffer){d->name, buffer};
    snap->source_buffer_count++;
    struct snapshot_core_source *cs =
        PERF_GROW(b, snap->core_sources, snap->core_source_count, SNAPSHOT_MAX_LINKS, &error);
    if (!cs)
        return error;
    *cs = (struct snapshot_core_source){kept, d->name};
    snap->core_source_count++;
    return BT_OK;
}

/* Which trace IDs the frames of a buffer name: bit 0 of an even byte marks one. */
static void seen_ids(const struct perf_build *b, size_t index, bool seen[128])
{
    const struct snapshot_buffer *buffer = &b->ld.snap->buffers[index];
    for (size_t n = 0; n < buffer->file_count; n++) {
        const uint8_t *data = b->data.bytes + buffer->files[n].offset;
        for (uint64_t at = 0; at + 16 <= buffer->files[n].size; at += 16)
            for (unsigned i = 0; i < 16; i += 2)
                if (data[at + i] & 1)
                    seen[data[at + i] >> 1] = true;
    }
}

/* A sink may be shared: the CPU that stopped last has the trace of all. */
static int add_formatted(struct trace *t, const struct queue *q, const struct lane *lane)
{
    const struct perf_data *p = &t->b->data;
    bool seen[128] = {false};
    char core[32];
    int error = BT_OK;
    seen_ids(t->b, lane->buffer, seen);
    const struct perf_unit *own = unit_of(p, q->cpu);
    for (size_t i = 0; i <= p->unit_count && !error; i++) {
        /* Its own first: where IDs are given out by sink, another CPU may have the same one. */
        const struct perf_unit *u = i == 0 ? own : &p->units[i - 1];
        if (!u || u->trace_id == 0 || !seen[u->trace_id])
            continue;
        seen[u->trace_id] = false;
        snprintf(core, sizeof core, "cpu%" PRIu32, u->cpu);
        error = perf_add_source(t->b, core, u, u->trace_id, lane->buffer);
    }
    return error;
}

static int add_lane(struct trace *t, const struct queue *q, const struct lane *lane)
{
    char core[32];
    if (q->cpu != PERF_NO_CPU && !lane->raw)
        return add_formatted(t, q, lane);
    if (q->cpu == PERF_NO_CPU)
        snprintf(core, sizeof core, "thread_%" PRIu32, q->tid);
    else
        snprintf(core, sizeof core, "cpu%" PRIu32, q->cpu);
    if (!lane->unit)
        return snapshot_warn(&t->b->ld, "perf.data", 0,
                             "the trace of %s is skipped: its trace unit is not described", core);
    return perf_add_source(t->b, core, lane->unit, 0, lane->buffer);
}

int perf_add_trace(struct perf_build *b)
{
    struct trace t = {.b = b};
    int error = find_queues(&t);
    if (!error && t.queue_count == 0)
        error = snapshot_warn(&b->ld, "perf.data", 0,
                              "there is no trace in it: it has no AUXTRACE records");
    if (!error)
        error = add_pieces(&t);
    for (size_t k = 0; k < t.queue_count && !error; k++)
        for (size_t i = 0; i < t.queues[k].lane_count && !error; i++)
            error = add_lane(&t, &t.queues[k], &t.queues[k].lanes[i]);
    free(t.queues);
    return error;
}
