/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets about tasks of a real-time kernel, which are threads. What runs is cores: a task can be
 * looked at, and neither stepped nor written to. It has no branch trace, which is that of its core.
 */
#include <string.h>

#include "gdb_internal.h"

static const char no_run[] = "E.this thread is a task: select the thread of its core to run it";
static const char no_write[] = "E.the task is switched out: its registers are in its stack";

static int task_choose(struct gdb_session *s, const struct gdb_task *t)
{
    gdb_choose_core(s, t->core);
    s->task = t->thread;
    return gdb_reply(s, "OK");
}

static int task_extra(struct gdb_session *s, const struct gdb_task *t)
{
    text_buf_hex(&s->reply, t->name, strlen(t->name));
    text_buf_hex(&s->reply, ": ", 2);
    text_buf_hex(&s->reply, t->state, strlen(t->state));
    return BT_OK;
}

/* vCont with an action for a task. */
static bool task_in_vcont(const struct gdb_session *s, const char *payload, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (payload[i] == ':' && gdb_task_of(s, gdb_task_thread(payload, len, i + 1)))
            return true;
    return false;
}

static int task_refuse_motion(struct gdb_session *s, const char *payload, size_t len)
{
    if (gdb_packet_is_back(payload, len) && s->front_end == GDB_FRONT_END_LLDB) {
        gdb_reply_stuck(s, no_run + 2);
        return BT_OK;
    }
    return gdb_reply(s, no_run);
}

static bool task_is_motion(const struct gdb_session *s, const char *payload, size_t len)
{
    if (gdb_packet_starts(payload, len, "vCont;"))
        return task_in_vcont(s, payload, len);
    return s->task_moves != 0 && (gdb_packet_is_back(payload, len) ||
                                  (len > 0 && payload[0] != 'c' && payload[0] != 'C' &&
                                   gdb_packet_starts_any(payload, len, "s S")));
}

/* Of one that is selected, and switched out. */
static int task_registers(struct gdb_session *s, const char *payload, size_t len)
{
    const struct gdb_task *t = gdb_task_of(s, s->task);
    if (t && t->running)
        return GDB_PASS_ON;
    if (gdb_packet_starts_any(payload, len, "G P"))
        return gdb_reply(s, no_write);
    return gdb_run_packet(s, payload, len);
}

/* Another server does not know what this core did there. */
static bool task_in_replay(const struct gdb_session *s)
{
    return s->host->has_tasks && s->host->has_tasks(s->host_ctx) && s->host->is_replaying &&
           s->host->is_replaying(s->host_ctx, -1);
}

int gdb_task_packet(struct gdb_session *s, const char *payload, size_t len)
{
    static const char extra[] = "qThreadExtraInfo,";
    const struct gdb_task *t;
    if (gdb_packet_starts(payload, len, "Hg")) {
        s->task = 0;
        t = gdb_task_of(s, gdb_task_thread(payload, len, 2));
        return t ? task_choose(s, t) : GDB_PASS_ON;
    }
    if (gdb_packet_starts(payload, len, "Hc")) {
        t = gdb_task_of(s, gdb_task_thread(payload, len, 2));
        s->task_moves = t ? t->thread : 0;
        return t ? gdb_reply(s, "OK") : GDB_PASS_ON;
    }
    if (gdb_packet_starts(payload, len, extra) && task_in_replay(s))
        return gdb_run_packet(s, payload, len);
    if (!gdb_tasks_may_be_shown(s))
        return GDB_PASS_ON;
    if (gdb_packet_starts(payload, len, "T"))
        return gdb_task_of(s, gdb_task_thread(payload, len, 1)) ? gdb_reply(s, "OK") : GDB_PASS_ON;
    if (gdb_packet_starts(payload, len, extra)) {
        t = gdb_task_of(s, gdb_task_thread(payload, len, sizeof extra - 1));
        return t ? task_extra(s, t) : gdb_run_packet(s, payload, len);
    }
    if (gdb_packet_starts_any(payload, len, "qfThreadInfo qsThreadInfo"))
        return gdb_run_packet(s, payload, len);
    if (task_is_motion(s, payload, len))
        return task_refuse_motion(s, payload, len);
    return s->task != 0 && gdb_packet_starts_any(payload, len, "g p G P")
               ? task_registers(s, payload, len)
               : GDB_PASS_ON;
}
