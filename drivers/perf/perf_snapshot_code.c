/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which program bytes each core of a perf.data file saw. Linux writes a thread's number into the
 * context ID that the trace may carry: by it programs at the same addresses
 * are told apart. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perf_snapshot_internal.h"

#define CONFIG_CONTEXT 0x0040u /* TRCCONFIGR.CID */
#define CONFIG_VMID    0x0080u /* TRCCONFIGR.VMID: a kernel in EL2 has the thread's number there */
#define CONTEXT_ETMV3  0xc000u /* ETMCR.ContextIDSize */

enum selector { BY_NOTHING, BY_CONTEXT, BY_VMID };

/* The map and who has it. */
struct code {
    struct perf_build *b;
    struct perf_task *threads; /* by process, then thread; each once */
    size_t thread_count;
    size_t processes; /* with code */
};

static int compare_tasks(const void *left, const void *right)
{
    const struct perf_task *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int compare_maps(const void *left, const void *right)
{
    const struct perf_map *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->at > b->at ? -1 : a->at < b->at; /* newest first: it wins */
}

static int list_threads(struct code *c)
{
    struct perf_data *p = &c->b->data;
    if (p->map_count)
        qsort(p->maps, p->map_count, sizeof *p->maps, compare_maps);
    if (p->task_count == 0)
        return BT_OK;
    c->threads = malloc(p->task_count * sizeof *c->threads);
    if (!c->threads)
        return BT_ERR_NOMEM;
    memcpy(c->threads, p->tasks, p->task_count * sizeof *c->threads);
    qsort(c->threads, p->task_count, sizeof *c->threads, compare_tasks);
    for (size_t i = 0; i < p->task_count; i++)
        if (i == 0 || compare_tasks(&c->threads[i], &c->threads[c->thread_count - 1]) != 0)
            c->threads[c->thread_count++] = c->threads[i];
    return BT_OK;
}

/* First map of a process, in the order of compare_maps(). */
static size_t first_map(const struct perf_data *p, uint32_t pid)
{
    size_t low = 0, high = p->map_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (p->maps[mid].pid < pid)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The latest exec or fork of `pid` before `limit`; NULL: it was there from the beginning. */
static const struct perf_task *birth_of(const struct perf_data *p, uint32_t pid, uint64_t limit)
{
    for (size_t i = p->task_count; i-- > 0;) {
        const struct perf_task *t = &p->tasks[i];
        if (t->pid == pid && t->at < limit && t->kind != PERF_TASK_SEEN)
            return t;
    }
    return NULL;
}

/* What a core sees of a process: its maps since its last exec, and what it had from its parent. */
static int add_maps(struct code *c, struct snapshot_device *core, uint32_t pid,
                    enum selector selector, uint32_t context)
{
    struct perf_build *b = c->b;
    const struct perf_data *p = &b->data;
    uint64_t limit = UINT64_MAX;
    int error = BT_OK;
    for (unsigned depth = 0; depth < PERF_FORKS && !error; depth++) {
        const struct perf_task *birth = birth_of(p, pid, limit);
        for (size_t i = first_map(p, pid); i < p->map_count && p->maps[i].pid == pid && !error;
             i++) {
            const struct perf_map *m = &p->maps[i];
            size_t file;
            if (m->at >= limit || (birth && m->at < birth->at))
                continue;
            error = perf_find_program(b, m, &file);
            if (error || file == SIZE_MAX)
                continue;
            const struct snapshot_file *f = &b->ld.snap->priv->files[file];
            uint64_t length = m->offset < f->size ? f->size - m->offset : 0;
            length = m->size < length ? m->size : length;
            if (length == 0 || m->address > UINT64_MAX - length)
                continue;
            struct snapshot_dump *d =
                PERF_GROW(b, core->dumps, core->dump_count, PERF_MAX_DUMPS, &error);
            if (!d)
                return error;
            *d = (struct snapshot_dump){.address = m->address,
                                        .length = length,
                                        .offset = m->offset,
                                        .space = "",
                                        .path = f->path,
                                        .file = file,
                                        .context = context,
                                        .by_context = selector == BY_CONTEXT,
                                        .by_vmid = selector == BY_VMID};
            core->dump_count++;
        }
        if (!birth || birth->kind != PERF_TASK_FORK)
            break;
        pid = birth->parent;
        limit = birth->at;
    }
    return error;
}

static enum selector selector_of(const struct snapshot *snap, const struct snapshot_device *core)
{
    uint64_t value;
    for (size_t i = 0; i < snap->core_source_count; i++) {
        if (strcmp(snap->core_sources[i].core, core->name) != 0)
            continue;
        const struct snapshot_device *d = snapshot_device(snap, snap->core_sources[i].source);
        if (d && snapshot_reg(d, "TRCCONFIGR", &value) == BT_OK)
            return value & CONFIG_VMID ? BY_VMID : value & CONFIG_CONTEXT ? BY_CONTEXT : BY_NOTHING;
        if (d && snapshot_reg(d, "ETMCR", &value) == BT_OK)
            return value & CONTEXT_ETMV3 ? BY_CONTEXT : BY_NOTHING;
    }
    return BY_NOTHING;
}

/* The process of the thread that a core stands for, by its name. */
static bool process_of(const struct code *c, const char *name, uint32_t *pid)
{
    if (strncmp(name, "thread_", 7) != 0)
        return false;
    uint32_t tid = (uint32_t)strtoul(name + 7, NULL, 10);
    for (size_t i = 0; i < c->thread_count; i++) {
        if (c->threads[i].tid == tid) {
            *pid = c->threads[i].pid;
            return true;
        }
    }
    return false;
}

static int perf_add_core(struct code *c, struct snapshot_device *core)
{
    enum selector selector = selector_of(c->b->ld.snap, core);
    uint32_t pid, last = UINT32_MAX;
    int error = BT_OK;
    if (process_of(c, core->name, &pid)) {
        error = add_maps(c, core, pid, BY_NOTHING, 0);
        return error ? error : perf_add_kernel(c->b, core);
    }
    if (c->processes < 2)
        selector = BY_NOTHING;
    for (size_t i = 0; i < c->thread_count && !error; i++) {
        const struct perf_task *t = &c->threads[i];
        if (selector != BY_NOTHING || t->pid != last)
            error = add_maps(c, core, t->pid, selector, t->tid);
        last = t->pid;
    }
    if (!error && selector == BY_NOTHING && c->processes > 1)
        error = snapshot_warn(&c->b->ld, core->name, 0,
                              "the trace has no context IDs: the %zu processes cannot be told "
                              "apart; record with -e cs_etm/contextid/",
                              c->processes);
    return error ? error : perf_add_kernel(c->b, core);
}

int perf_add_code(struct perf_build *b)
{
    struct code c = {.b = b};
    int error = list_threads(&c);
    const struct perf_data *p = &b->data;
    for (size_t i = 0; i < p->map_count; i++)
        if (p->maps[i].pid != UINT32_MAX && (i == 0 || p->maps[i].pid != p->maps[i - 1].pid))
            c.processes++;
    for (size_t i = 0; i < b->ld.snap->device_count && !error; i++)
        if (b->ld.snap->devices[i].device_class == SNAPSHOT_CLASS_CORE)
            error = perf_add_core(&c, &b->ld.snap->devices[i]);
    free(c.threads);
    return error;
}
