/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/tasks/contexts.h"

#include "decoder/flow/flow.h"
#include "server/export/export_tasks.h"
#include "server/tasks/task_switches.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWITCHES_USUAL 20u
#define SLICE          16u /* windows between two looks at what GDB sends */

/* The last switches before a place, or the next one behind it. */
struct context_question {
    struct reverse_question base;
    struct console c;
    int core;
    bool back, go; /* towards the begin of the history; the next motion goes to what is found */
    uint64_t place;
    size_t index; /* of the window that is looked at next */
    size_t wanted, count;
    struct export_switch found[]; /* the last `count` of `wanted`, oldest first */
};

/* Events of the window from *event on, `key` that of before: true, behind the next switch. What is
 * told at one place is one. */
static bool context_next(const struct history_window *w, size_t *event, struct code_key *key,
                         struct export_switch *s)
{
    uint64_t before = export_context(key);
    for (s->task = before; *event < w->event_count && s->task == before;) {
        s->position = w->events[*event].position;
        while (*event < w->event_count && w->events[*event].position == s->position)
            flow_track_key(key, &w->events[(*event)++]);
        s->task = export_context(key);
    }
    return s->task != before;
}

/* Those of the window that are nearest to the place. */
static void context_collect(struct context_question *q, const struct history_window *w)
{
    struct code_key key = w->key;
    size_t event = 0, n = 0, room = q->wanted - q->count;
    struct export_switch s;
    while (context_next(w, &event, &key, &s)) {
        if (q->back ? s.position >= q->place : s.position <= q->place || n == room)
            continue;
        if (n == room)
            memmove(q->found, q->found + 1, --n * sizeof s);
        q->found[n++] = s;
    }
    memmove(q->found + room - n, q->found, n * sizeof s);
    q->count += n;
}

static const char *context_text(uint64_t task, char text[40])
{
    return task ? export_task_name(NULL, task, text, 40) : "not known";
}

static void context_answer(struct reverse_core *k, const struct context_question *q, bool all)
{
    char text[40];
    if (q->count < q->wanted)
        console_print(&q->c, "no switch %s\n",
                      !all      ? "more was looked for"
                      : q->back ? "comes before in the history"
                                : "comes behind this place");
    for (size_t i = q->wanted - q->count; i < q->wanted; i++)
        console_print(&q->c, "%12" PRIu64 "  %s\n", q->found[i].position + 1,
                      context_text(q->found[i].task, text));
    if (!q->go || !q->count)
        return;
    k->goto_wanted = true;
    k->goto_position = q->found[0].position;
    console_print(&q->c, "the next stepi or reverse-stepi goes there\n");
}

/* A slice; true: it is answered. Windows where nothing can change are not decoded. */
static bool context_work(struct reverse_motion *m)
{
    struct context_question *q = (struct context_question *)m->question;
    struct history *h = m->cores[q->core].reverse.view.history;
    bool all = false;
    int error = BT_OK;
    for (unsigned windows = 0; windows < SLICE && !m->ctrl_c && !error && !all; windows++) {
        struct history_window w;
        struct history_reach reach;
        history_window_reach(h, q->index, &reach);
        if (reach.events && (error = history_window_index(h, q->index, &w)) == BT_OK)
            context_collect(q, &w);
        windows -= !reach.events;
        all = q->count == q->wanted ||
              (q->back ? q->index-- == 0 : ++q->index == history_window_count(h));
    }
    if (error)
        console_print(&q->c, "the history cannot be read: %s\n", bt_strerror(error));
    else if (all || m->ctrl_c)
        context_answer(&m->cores[q->core], q, all);
    return error || all || m->ctrl_c;
}

/* With `wanted`, `back` and `go`. */
static int context_begin(struct reverse_motion *m, int core, const struct context_question *as)
{
    const struct reverse *p = &m->cores[core].reverse;
    struct history *h = p->view.history;
    uint64_t from = p->position - (as->back && p->position > p->first);
    struct context_question *q = calloc(1, sizeof *q + as->wanted * sizeof *q->found);
    if (!q)
        return BT_ERR_NOMEM;
    *q = *as;
    q->place = p->position;
    reverse_motion_lock(m);
    q->index = from < history_end(h) ? history_window_find(h, from) : history_window_count(h) - 1;
    reverse_motion_unlock(m);
    m->question = &q->base;
    m->ctrl_c = false;
    m->host->later(m->ctx);
    return TARGET_PENDING;
}

/* Of a core with contexts; 0: not known. */
static uint64_t context_at(struct reverse_motion *m, int core)
{
    struct reverse *p = &m->cores[core].reverse;
    struct code_key key = {.has_context = false};
    reverse_motion_lock(m);
    if (p->position < history_end(p->view.history))
        (void)reverse_key(p, p->position, &key);
    reverse_motion_unlock(m);
    return export_context(&key);
}

static bool has_contexts(struct reverse_motion *m, int core)
{
    struct target_error why = {""};
    return core >= 0 && core < m->core_count && reverse_motion_open(m, core, &why) == BT_OK &&
           history_traces_context(m->cores[core].reverse.view.history);
}

bool contexts_status(struct reverse_motion *m, int core, char *text, size_t size)
{
    char name[40];
    size_t used = strlen(text);
    uint64_t task = has_contexts(m, core) ? context_at(m, core) : 0;
    if (task)
        snprintf(text + used, size - used, ", runs %s", context_text(task, name));
    return task;
}

int contexts_command(struct reverse_motion *m, int core, const char *rest, const struct console *c)
{
    struct context_question q = {
        .base.work = context_work, .c = *c, .core = core, .wanted = 1, .go = true};
    char text[40], *end = text;
    if (!has_contexts(m, core))
        return BT_ERR_UNSUPPORTED;
    q.back = strcmp(rest, "next") != 0;
    if (console_rest(rest, "history", text, sizeof text)) {
        q.go = false;
        q.wanted = *text ? strtoul(text, &end, 10) : SWITCHES_USUAL;
        q.wanted = *end || q.wanted > TASK_SWITCHES_MAX ? 0 : q.wanted;
    } else if (q.back && strcmp(rest, "previous") != 0) {
        q.wanted = 0;
    }
    if (q.wanted)
        return context_begin(m, core, &q);
    if (*rest)
        console_print(c,
                      "monitor tasks, tasks history [N], N up to %u, tasks previous or tasks next, "
                      "not 'tasks %s'\n",
                      TASK_SWITCHES_MAX, rest);
    else
        console_print(c, "the context at instruction %" PRIu64 ": %s\n",
                      m->cores[core].reverse.position + 1, context_text(context_at(m, core), text));
    return BT_OK;
}
