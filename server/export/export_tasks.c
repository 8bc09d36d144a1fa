/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/export_tasks.h"

#include "decoder/base/array.h"
#include "drivers/rtos/rtos.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPARATORS 4u
#define SITES       8u  /* instructions that store */
#define WAITING     64u /* stores that wait for the other stream */
#define POINTER     "current_task"

/* As one of the streams has it. */
struct task_store {
    uint32_t pc, task;
    uint64_t position; /* of what runs behind it */
    uint64_t offset;   /* bytes of the core's trace before it was known */
};

struct task_queue {
    struct task_store of[WAITING];
    unsigned count;
};

struct task_search {
    struct export_tasks *tasks;
    const struct recording_source *source;
    unsigned comparator;
    uint32_t sites[SITES];
    unsigned site_count;
    struct task_queue told, ran;
    uint64_t offset;     /* bytes of the core's trace so far */
    uint64_t active;     /* `offset` of the newest store, or loss */
    uint64_t position;   /* when both were silent last: up to here it is certain */
    bool lost;           /* they are not in step */
    bool blind, deaf;    /* nothing came of the path, of the ITM, since the loss: no silence */
    struct code_key key; /* of context IDs */
    int error;
};

static void search_add(struct task_search *s, uint64_t position, uint64_t task)
{
    struct export_tasks *t = s->tasks;
    if (t->count && t->list[t->count - 1].task == task)
        return;
    if (!array_room(&t->list, t->count, &t->max, sizeof *t->list)) {
        s->error = BT_ERR_NOMEM;
        return;
    }
    t->list[t->count++] = (struct export_switch){position, task};
}

/* The task is not known from `position` on, or from the first store that is not certain. */
static void search_lose(struct task_search *s, uint64_t position)
{
    struct export_tasks *t = s->tasks;
    const struct task_queue *queues[] = {&s->told, &s->ran};
    for (unsigned i = 0; i < 2; i++)
        if (queues[i]->count && queues[i]->of[0].position < position)
            position = queues[i]->of[0].position;
    uint64_t certain = position < s->position ? position : s->position;
    for (; t->count && t->list[t->count - 1].position > certain; t->count--)
        if (t->list[t->count - 1].position < position)
            position = t->list[t->count - 1].position;
    s->told.count = s->ran.count = 0;
    s->lost = true;
    s->active = s->offset;
    search_add(s, position, 0);
}

static void queue_take(struct task_queue *q)
{
    q->count--;
    memmove(q->of, q->of + 1, q->count * sizeof *q->of);
}

static bool queue_is_late(const struct task_search *s, const struct task_queue *q)
{
    return q->count == WAITING || (q->count && s->offset - q->of[0].offset > EXPORT_TASKS_LAG);
}

/* Before anything new: one that found no other in time is a contradiction. Both silent: in step. */
static void search_look(struct task_search *s, uint64_t position)
{
    if (queue_is_late(s, &s->told) || queue_is_late(s, &s->ran))
        search_lose(s, position);
    if (s->blind || s->deaf)
        s->active = s->offset;
    if (s->told.count || s->ran.count || s->offset - s->active <= EXPORT_TASKS_LAG)
        return;
    s->lost = false;
    s->position = position;
}

static void search_store(struct task_search *s, struct task_queue *q,
                         const struct task_store *store)
{
    search_look(s, store->position);
    s->active = s->offset;
    if (s->lost) {
        if (q == &s->ran)
            search_add(s, store->position, 0);
        return;
    }
    q->of[q->count++] = *store;
    if (!s->told.count || !s->ran.count)
        return;
    const struct task_store *told = &s->told.of[0], *ran = &s->ran.of[0];
    if (told->pc != ran->pc) {
        search_lose(s, store->position);
        return;
    }
    search_add(s, ran->position, told->task);
    queue_take(&s->told);
    queue_take(&s->ran);
}

static bool is_store(const struct task_search *s, const struct bt_event *e)
{
    const struct bt_watch *w = &e->u.watch;
    return e->kind == BT_EVENT_WATCH && w->comparator == s->comparator && w->has_value && w->store;
}

/* The first look: which instructions store. */
static void search_listen(void *ctx, const struct bt_event *e)
{
    struct task_search *s = ctx;
    if (!is_store(s, e))
        return;
    uint32_t pc = e->u.watch.place & ~1u;
    unsigned i = 0;
    while (i < s->site_count && s->sites[i] != pc)
        i++;
    if (e->u.watch.what != BT_WATCH_PC || i == SITES)
        s->lost = true; /* nothing can be known */
    else if (i == s->site_count)
        s->sites[s->site_count++] = pc;
}

static void search_told(void *ctx, const struct bt_event *e, uint64_t number, uint64_t cycles)
{
    struct task_search *s = ctx;
    (void)cycles;
    if (e->kind == BT_EVENT_GAP) {
        search_lose(s, number);
        s->deaf = true;
        return;
    }
    search_look(s, number);
    s->deaf = false;
    if (is_store(s, e))
        search_store(
            s, &s->told,
            &(struct task_store){e->u.watch.place & ~1u, e->u.watch.value, number, s->offset});
}

/* T32: how many instructions of the block are before the one at `pc`. False: none begins there. */
static bool search_index(const struct task_search *s, const struct bt_block *b, uint32_t pc,
                         uint64_t *index)
{
    struct code_key key = {.core = s->source->config.core,
                           .generation = s->source->image->generation};
    uint64_t at = b->first;
    for (*index = 0; at < pc; ++*index) {
        uint8_t half[2];
        if (code_image_read(s->source->image, &key, at, half, sizeof half) < sizeof half)
            return false;
        at += half[1] >= 0xe8 ? 4 : 2;
    }
    return at == pc;
}

/* No site comes twice in a block; of several the addresses ascend. */
static void search_block(struct task_search *s, const struct bt_block *b, uint64_t number)
{
    for (uint64_t from = b->first;;) {
        uint32_t next = UINT32_MAX;
        uint64_t index;
        for (unsigned i = 0; i < s->site_count; i++)
            if (s->sites[i] >= from && s->sites[i] <= bt_block_last(b) && s->sites[i] < next)
                next = s->sites[i];
        if (next == UINT32_MAX)
            return;
        if (search_index(s, b, next, &index))
            search_store(s, &s->ran, &(struct task_store){next, 0, number + index + 1, s->offset});
        from = (uint64_t)next + 1;
    }
}

/* Trace of the core may be missing there. */
static void search_path_event(struct task_search *s, const struct bt_event *e)
{
    bool gap = e->kind == BT_EVENT_GAP;
    bool off = e->kind == BT_EVENT_TRACE_ON && e->cause != BT_GAP_NONE && e->cause != BT_GAP_DEBUG;
    if (!gap && !off)
        return;
    uint64_t doubtful = gap ? e->u.gap.doubtful : 0; /* they may be no instructions of this task */
    search_lose(s, e->position - (doubtful < e->position ? doubtful : e->position));
    s->blind = true;
}

static void search_output(void *ctx, const struct flow_out *out, uint64_t number, uint64_t offset)
{
    struct task_search *s = ctx;
    size_t e = 0;
    s->offset = offset;
    for (size_t i = 0; i < out->block_count; i++) {
        for (; e < out->event_count && out->events[e].position <= number; e++)
            search_path_event(s, &out->events[e]);
        search_look(s, number);
        s->blind = false;
        search_block(s, &out->blocks[i], number);
        number += bt_block_count(&out->blocks[i]);
    }
    for (; e < out->event_count; e++)
        search_path_event(s, &out->events[e]);
}

/* Where the kernel of a program has its pointer; 0: there is none. */
static uint64_t pointer_of(const struct elf_image *elf)
{
    struct message why;
    struct rtos *rtos;
    uint64_t address = 0, size;
    if (rtos_open(&rtos, RTOS_AUTO, elf, &why) == BT_OK && rtos) {
        address = rtos_current(rtos);
        rtos_close(rtos);
    }
    if (!address && !elf_image_variable(elf, POINTER, &address, &size))
        return 0;
    return address;
}

unsigned export_tasks_comparator(const struct export_opened *o, const struct recording_source *itm)
{
    for (size_t p = 0; p < o->names.count; p++) {
        uint64_t pointer = pointer_of(o->names.programs[p].elf);
        for (unsigned i = 0; i < COMPARATORS && pointer; i++)
            if (recording_watched(itm, i) == pointer)
                return i;
    }
    return COMPARATORS;
}

/* Of an M-profile core the kernel's own pointer says more. */
static bool has_contexts(const struct recording_source *source)
{
    return !export_m_profile(source) && stream_traces_context(&source->config);
}

bool export_tasks_watched(const struct export_opened *o, const struct recording_source *source)
{
    const struct recording_source *itm = recording_itm(&o->recording, source);
    return has_contexts(source) ||
           (itm && export_m_profile(source) && export_tasks_comparator(o, itm) != COMPARATORS);
}

/* A context ID holds until the next one, or until trace is missing. */
static void search_context(void *ctx, const struct bt_event *e, uint64_t cycles)
{
    struct task_search *s = ctx;
    (void)cycles;
    flow_track_key(&s->key, e);
    search_add(s, e->position, export_context(&s->key));
}

/* One ID all the time, as of programs without an operating system, is no task. */
static bool is_one_context(const struct export_tasks *t)
{
    uint64_t first = 0;
    for (size_t i = 0; i < t->count; i++) {
        first = first ? first : t->list[i].task;
        if (t->list[i].task && t->list[i].task != first)
            return false;
    }
    return true;
}

static int find_contexts(struct task_search *s, struct export_opened *o)
{
    struct export_loss loss = {0};
    struct counts counts;
    struct export_walk walk = {.recording = &o->recording,
                               .source = s->source,
                               .names = &o->names,
                               .event = search_context,
                               .ctx = s};
    int error = export_walk(&walk, &counts, &loss);
    counts_release(&counts);
    if (is_one_context(s->tasks))
        s->tasks->count = 0;
    return error ? error : s->error;
}

int export_tasks_find(struct export_tasks *t, struct export_opened *o,
                      const struct recording_source *source)
{
    const struct recording_source *itm = recording_itm(&o->recording, source);
    struct task_search s = {.tasks = t, .source = source};
    struct export_loss loss = {0};
    struct counts counts;
    uint64_t bytes = 0;
    memset(t, 0, sizeof *t);
    if (!export_tasks_watched(o, source))
        return BT_OK;
    if (has_contexts(source))
        return find_contexts(&s, o);
    s.comparator = export_tasks_comparator(o, itm);
    int error = export_listen(&o->recording, itm, search_listen, &s, &bytes);
    if (error || s.lost || !s.site_count)
        return error;
    struct export_walk walk = {.recording = &o->recording,
                               .source = source,
                               .names = &o->names,
                               .beside = itm,
                               .told = search_told,
                               .output = search_output,
                               .ctx = &s};
    error = export_walk(&walk, &counts, &loss);
    counts_release(&counts);
    if (s.told.count || s.ran.count) /* one has no other: all of them may be paired wrongly */
        search_lose(&s, UINT64_MAX);
    return error ? error : s.error;
}

void export_tasks_tell(struct export_tasks *t, struct calls *calls, uint64_t number)
{
    for (; t->next < t->count && t->list[t->next].position <= number; t->next++)
        calls_switch(calls, t->list[t->next].task, t->list[t->next].position);
}

const char *export_task_name(const struct export_names *names, uint64_t task, char *out,
                             size_t size)
{
    if (task < EXPORT_CONTEXT)
        return export_variable_name(names, task, out, size);
    snprintf(out, size, "context 0x%" PRIx32, (uint32_t)task);
    return out;
}

void export_tasks_release(struct export_tasks *t)
{
    free(t->list);
    memset(t, 0, sizeof *t);
}
