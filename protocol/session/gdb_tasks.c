/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tasks of a real-time kernel a client may see now. */
#include <stdio.h>
#include <string.h>

#include "gdb_internal.h"

static const char monitor_tasks[] = "qRcmd,7461736b73";

bool gdb_tasks_may_be_shown(const struct gdb_session *s)
{
    if (!s->host->has_tasks || !s->target || s->run != GDB_HALTED || s->refusal[0] != '\0' ||
        s->only || !target_is_ready(s->target) || target_is_running(s->target))
        return false;
    bool seen = s->role == GDB_CONTROLS || s->seen == s->target->epoch;
    return seen && s->host->has_tasks(s->host_ctx) &&
           !(s->host->is_replaying && s->host->is_replaying(s->host_ctx, -1));
}

bool gdb_tasks_now(const struct gdb_session *s, struct gdb_tasks *out)
{
    *out = (struct gdb_tasks){.count = 0};
    return gdb_tasks_may_be_shown(s) && s->host->tasks(s->host_ctx, out) == BT_OK;
}

/* Behind the name, "p1.3e9" as well. -1: it is none of a task. */
int gdb_task_thread(const char *payload, size_t len, size_t name)
{
    struct gdb_args a = {payload + name, payload + len};
    struct gdb_thread t;
    if (len < name || !gdb_thread_take(&a, &t) || !t.single || t.thread < GDB_TASK_FIRST ||
        t.thread > INT32_MAX)
        return -1;
    return (int)t.thread;
}

bool gdb_tasks_wait(const struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_tasks tasks;
    bool lists = gdb_packet_starts_any(payload, len,
                                       "qfThreadInfo qXfer:threads:read::0, qThreadExtraInfo,") ||
                 gdb_packet_starts(payload, len, monitor_tasks);
    bool one = (gdb_packet_starts(payload, len, "Hg") && gdb_task_thread(payload, len, 2) > 0) ||
               (gdb_packet_starts(payload, len, "T") && gdb_task_thread(payload, len, 1) > 0);
    bool of_task = s->task != 0 && gdb_packet_starts_any(payload, len, "g p");
    return (lists || one || of_task) && gdb_tasks_may_be_shown(s) &&
           s->host->tasks(s->host_ctx, &tasks) == TARGET_PENDING;
}

const struct gdb_task *gdb_task_of(const struct gdb_session *s, int thread)
{
    struct gdb_tasks tasks;
    if (thread < GDB_TASK_FIRST || !gdb_tasks_now(s, &tasks))
        return NULL;
    const struct gdb_task *t = tasks.task;
    for (size_t left = tasks.count; left > 0; left--, t++)
        if (t->thread == thread)
            return t;
    return NULL;
}

void gdb_tasks_core(const struct gdb_session *s, int core, char *text, size_t size)
{
    struct gdb_tasks tasks;
    size_t used = strlen(text);
    const char *between = used > 0 ? ", " : "";
    if (!gdb_tasks_now(s, &tasks))
        return;
    for (size_t i = 0; i < tasks.count; i++)
        if (tasks.task[i].running && tasks.task[i].core == core)
            used += (size_t)snprintf(text + used, size - used, "%sruns task %s", between,
                                     tasks.task[i].name);
    if (used < size && tasks.notes[core][0] != '\0')
        snprintf(text + used, size - used, "%stasks: %s", used > 0 ? ", " : "", tasks.notes[core]);
}
