/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks of the real-time kernel: those of the halt, and which of them ran when. */
#include "decoder/base/bytes.h"
#include "live_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWITCHES_USUAL 20u
#define BLOCKS_MOST    2000000u /* that one question looks at: some 50 ms */
#define BLOCKS_STATUS  200000u

/* The watch that tells of stores to `pointer`: its comparator; -1: there is none. */
static int switch_comparator(const struct live *l, uint32_t pointer)
{
    const struct config_itm *itm = &l->config->itm;
    for (unsigned i = 0; l->itm.open && i < itm->watch_count; i++) {
        const struct config_watch *w = &itm->watches[i];
        if (w->found && w->address == pointer && w->size == 4 && w->value && w->pc)
            return w->comparator;
    }
    return -1;
}

/* What the DWT has told up to this halt is taken once: nothing is added while the core stands. */
static int switches_begin(struct live *l, const struct reverse *p, int comparator, uint32_t task)
{
    struct itm_tap_store *told = calloc(ITM_TAP_STORES, sizeof *told);
    struct task_store *stores = calloc(ITM_TAP_STORES, sizeof *stores);
    int error = told && stores ? BT_OK : BT_ERR_NOMEM;
    size_t n = error ? 0 : itm_tap_stores(&l->itm.tap, (unsigned)comparator, told, ITM_TAP_STORES);
    for (size_t i = 0; i < n; i++)
        stores[i] = (struct task_store){told[i].pc & ~1u, told[i].value};
    if (!error)
        error = task_switches_begin(&l->switches, p, stores, n, task);
    free(told);
    free(stores);
    return error;
}

/* Looks for switches up to `position`, or `count` of them. False: they cannot be known. */
static bool switches_look(struct live *l, int thread, uint64_t position, size_t count,
                          size_t blocks, bool *complete)
{
    const struct live_core *c = live_core_of(l, thread);
    struct gdb_tasks tasks;
    uint32_t pointer, task;
    *complete = true;
    if (!c || c != l->cores || c->source < 0 || !tasks_has(l->tasks) ||
        tasks_at(l->tasks, l->target, &tasks) != BT_OK ||
        !tasks_current(l->tasks, thread, &pointer, &task))
        return false;
    int comparator = switch_comparator(l, pointer);
    if (comparator < 0)
        return false;
    struct btrace_view view;
    struct reverse reverse;
    pipeline_lock(l->pipeline);
    live_view(l, c, BTRACE_DEFAULT_SIZE, &view);
    int error = reverse_init(&reverse, &view);
    if (!error && !l->switches.begun)
        error = switches_begin(l, &reverse, comparator, task);
    if (!error)
        *complete = task_switches_extend(&l->switches, &reverse, position, count, blocks);
    reverse_release(&reverse);
    pipeline_unlock(l->pipeline);
    return !error;
}

static void add_switch(struct live *l, int thread, struct export_tasks *tasks,
                       struct profile_task *names, size_t *name_count, uint64_t position,
                       uint32_t task)
{
    size_t i = 0;
    tasks->list[tasks->count++] = (struct export_switch){position, task};
    while (i < *name_count && names[i].task != task)
        i++;
    const char *name = tasks_name(l->tasks, thread, task);
    if (i < *name_count || i == LIVE_TASKS_NAMED || !*name)
        return;
    names[i].task = task;
    snprintf(names[i].name, sizeof names[i].name, "%s", name);
    ++*name_count;
}

size_t live_tasks_switches(struct live *l, unsigned core, uint64_t from, struct export_tasks *tasks,
                           struct profile_task names[LIVE_TASKS_NAMED])
{
    const struct task_switches *s = &l->switches;
    int thread = live_thread(&l->cores[core]);
    size_t count = 0;
    uint32_t task;
    bool complete;
    memset(tasks, 0, sizeof *tasks);
    if (target_is_running(l->target) ||
        !switches_look(l, thread, from, SIZE_MAX, BLOCKS_MOST, &complete) || s->reached >= s->end)
        return 0;
    tasks->list = calloc(s->count + 1, sizeof *tasks->list);
    if (!tasks->list)
        return 0;
    from = s->reached > from ? s->reached : from;
    if (task_switches_at(s, from, &task))
        add_switch(l, thread, tasks, names, &count, from, task);
    for (size_t i = s->count; i > 0; i--)
        if (s->list[i - 1].position > from)
            add_switch(l, thread, tasks, names, &count, s->list[i - 1].position,
                       s->list[i - 1].task);
    return count;
}

/* By value reconstruction: what the pointer held. */
static bool task_by_values(struct live_client *k, int core, uint32_t *task)
{
    struct live *l = k->live;
    struct gdb_tasks tasks;
    uint32_t pointer, present;
    uint8_t bytes[4];
    if (!tasks_has(l->tasks) || k->motion.memory != REVERSE_MEMORY_ERROR ||
        tasks_at(l->tasks, l->target, &tasks) != BT_OK ||
        !tasks_current(l->tasks, core, &pointer, &present))
        return false;
    bytes_set_word(bytes, present);
    uint8_t now[4];
    memcpy(now, bytes, sizeof now);
    l->reverse.reply.bytes = now;
    l->reverse.reply.address = pointer;
    l->reverse.reply.length = sizeof now;
    size_t n = reverse_motion_memory(&k->motion, core, pointer, bytes, sizeof bytes, sizeof bytes);
    l->reverse.reply.bytes = NULL;
    k->misses[false].count = 0;
    *task = bytes_word(bytes);
    return n == sizeof bytes && *task; /* 0: the kernel has not started */
}

static bool task_at(struct live_client *k, int core, uint32_t *task)
{
    struct live *l = k->live;
    uint64_t position = reverse_motion_position(&k->motion, core);
    bool complete;
    return (switches_look(l, core, position, SIZE_MAX, BLOCKS_STATUS, &complete) &&
            task_switches_at(&l->switches, position, task)) ||
           task_by_values(k, core, task);
}

static void task_text(const struct live *l, int core, uint32_t task, char *text, size_t size)
{
    const char *name = tasks_name(l->tasks, core, task);
    if (*name)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, "0x%08x, which is no task now", task);
}

void live_tasks_status(void *client, int core, char *text, size_t size)
{
    struct live_client *k = client;
    char name[64];
    uint32_t task;
    if (!reverse_motion_status(&k->motion, core, text, size) ||
        contexts_status(&k->motion, core, text, size) || !tasks_has(k->live->tasks) ||
        !task_at(k, core, &task))
        return;
    task_text(k->live, core, task, name, sizeof name);
    size_t used = strlen(text);
    if (used < size)
        snprintf(text + used, size - used, ", runs task %s", name);
}

/* How far it goes back, and why no further. */
static void print_reach(const struct live *l, bool complete, const struct console *c)
{
    const struct task_switches *s = &l->switches;
    if (s->ended)
        console_print(c, "known from instruction %" PRIu64 " on: %s\n", s->reached + 1, s->why);
    else if (!complete)
        console_print(c,
                      "known from instruction %" PRIu64 " on: the same command goes on from "
                      "there\n",
                      s->reached + 1);
}

/* Those up to the client's place are looked for. */
static bool has_switches(const struct live_client *k, int core, const struct console *c)
{
    bool complete;
    uint64_t place = reverse_motion_active(&k->motion, core)
                         ? reverse_motion_position(&k->motion, core)
                         : UINT64_MAX;
    bool found = switches_look(k->live, core, place, SIZE_MAX, BLOCKS_MOST, &complete);
    if (!found)
        console_print(c, "which task ran when is not known: that takes 'watch = " CONFIG_WATCH_TASK
                         "' in [trace], and history of this core\n");
    return found && k->live->switches.begun;
}

/* Where the client is in the history. */
static uint64_t place_of(const struct live_client *k, int core)
{
    return reverse_motion_active(&k->motion, core) ? reverse_motion_position(&k->motion, core)
                                                   : k->live->switches.end;
}

/* Switches behind or at the client's place: those are not counted. */
static size_t switches_behind(const struct live_client *k, int core)
{
    const struct task_switches *s = &k->live->switches;
    uint64_t place = place_of(k, core);
    size_t n = 0;
    while (n < s->count && s->list[n].position >= place)
        n++;
    return n;
}

static void tasks_history(struct live_client *k, int core, const char *rest,
                          const struct console *c)
{
    struct live *l = k->live;
    char *end, name[64];
    unsigned long wanted = strtoul(rest, &end, 10);
    bool complete;
    if (*end || (*rest && wanted == 0) || wanted > TASK_SWITCHES_MAX) {
        console_print(c, "monitor tasks history [N], up to %u, not '%s'\n", TASK_SWITCHES_MAX,
                      rest);
        return;
    }
    wanted = *rest ? wanted : SWITCHES_USUAL;
    if (!has_switches(k, core, c))
        return;
    size_t behind = switches_behind(k, core);
    switches_look(l, core, 0, behind + wanted, BLOCKS_MOST, &complete);
    behind = switches_behind(k, core);
    size_t n = l->switches.count;
    n = n > behind + wanted ? behind + wanted : n;
    if (n < behind + wanted)
        print_reach(l, complete, c);
    for (; n > behind; n--) {
        const struct task_switch *s = &l->switches.list[n - 1];
        task_text(l, core, s->task, name, sizeof name);
        console_print(c, "%12" PRIu64 "  %s\n", s->position + 1, name);
    }
}

static void tasks_go(struct live_client *k, int core, bool back, const struct console *c)
{
    struct live *l = k->live;
    const struct task_switches *s = &l->switches;
    char text[64];
    bool complete;
    if (!has_switches(k, core, c))
        return;
    size_t behind = switches_behind(k, core);
    if (back)
        switches_look(l, core, 0, behind + 1, BLOCKS_MOST, &complete);
    uint64_t place = place_of(k, core);
    size_t i = switches_behind(k, core);
    if (back ? i == s->count : place < s->reached) {
        print_reach(l, complete, c);
        return;
    }
    if (!back)
        while (i > 0 && s->list[i - 1].position <= place)
            i--;
    if (!back && i == 0) {
        console_print(c, "no switch comes behind this place\n");
        return;
    }
    const struct task_switch *to = &s->list[back ? i : i - 1];
    task_text(l, core, to->task, text, sizeof text);
    console_print(c, "task %s runs from there on\n", text);
    snprintf(text, sizeof text, "goto %" PRIu64, to->position + 1);
    (void)reverse_monitor(&k->motion, core, text, c->print, c->to);
}

static void tasks_now(struct live_client *k, int core, const struct console *c)
{
    char name[64];
    uint32_t task;
    tasks_report(k->live->tasks, c);
    if (!reverse_motion_active(&k->motion, core))
        return;
    console_print(c, "these are of the halt; at instruction %" PRIu64,
                  reverse_motion_position(&k->motion, core) + 1);
    if (task_at(k, core, &task)) {
        task_text(k->live, core, task, name, sizeof name);
        console_print(c, " task %s ran\n", name);
    } else {
        console_print(c, " it is not known which one ran\n");
    }
}

void live_tasks_command(struct live_client *k, int core, const char *rest, const struct console *c)
{
    const struct live *l = k->live;
    struct gdb_tasks tasks;
    char more[64];
    if (!tasks_has(l->tasks))
        console_print(c, "no core has a kernel whose tasks are known: see rtos of [core]\n");
    else if (target_is_running(l->target))
        console_print(c, "the target runs\n");
    else if (tasks_at(l->tasks, l->target, &tasks) != BT_OK)
        console_print(c, "they are not known yet: 'info threads' first\n");
    else if (*rest == '\0')
        tasks_now(k, core, c);
    else if (console_rest(rest, "history", more, sizeof more))
        tasks_history(k, core, more, c);
    else if (strcmp(rest, "previous") == 0 || strcmp(rest, "next") == 0)
        tasks_go(k, core, rest[0] == 'p', c);
    else
        console_print(c,
                      "monitor tasks, tasks history [N], tasks previous or tasks next, not "
                      "'tasks %s'\n",
                      rest);
}
