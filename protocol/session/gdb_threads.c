/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads and the cores that they are. Those of another server are named as it names them, and may
 * be of an operating system: on which core such a one was is not known.
 */
#include <string.h>

#include "gdb_internal.h"
#include "protocol/remote/gdb_remote.h"

struct target_core gdb_core_info(const struct gdb_session *s, int core)
{
    struct target_core info = {.name = NULL};
    if (s->target->ops->core_info(s->target, core, &info) < 0)
        info = (struct target_core){.name = NULL};
    if (!info.name)
        info.name = "core";
    return info;
}

void gdb_core_status(const struct gdb_session *s, int core, char text[GDB_STATUS_SIZE])
{
    text[0] = '\0';
    if (s->host->core_status)
        s->host->core_status(s->host_ctx, core, text, GDB_STATUS_SIZE);
    if (text[0] == '\0' && s->target->ops->core_status)
        s->target->ops->core_status(s->target, core, text, GDB_STATUS_SIZE);
}

/* Not single: the other side listed none. */
static struct gdb_thread session_thread(const struct gdb_session *s, int core)
{
    if (s->packets)
        return gdb_remote_of(s->target)->threads[core];
    return (struct gdb_thread){.single = true, .thread = (uint64_t)gdb_thread_of_core(core)};
}

bool gdb_core_of_thread(const struct gdb_session *s, int thread, int *core)
{
    if (thread == GDB_THREAD_ANY) {
        *core = s->stopped;
        return true;
    }
    for (int i = 0; thread > 0 && i < gdb_cores(s); i++) {
        struct gdb_thread t = session_thread(s, i);
        if (t.single && t.thread != (uint64_t)thread)
            continue;
        *core = i;
        return true;
    }
    return false;
}

void gdb_choose_core(struct gdb_session *s, int core)
{
    s->general = core;
    s->task = 0;
    s->thread = session_thread(s, core);
    if (!s->thread.single) /* its stop replies may name one all the same */
        s->thread = gdb_remote_of(s->target)->stopped;
}

void gdb_choose_thread(struct gdb_session *s, const struct gdb_thread *thread)
{
    const struct gdb_remote *r = gdb_remote_of(s->target);
    int core = thread->single ? gdb_remote_core_of(r, thread) : s->stopped;
    s->thread = thread->single ? *thread : r->stopped;
    s->task = 0;
    if (core >= 0)
        s->general = core;
}

void gdb_choose_stopped(struct gdb_session *s, const char *reply, size_t len)
{
    struct gdb_thread thread;
    if (!gdb_thread_of_stop(reply, len, &thread))
        return;
    gdb_choose_thread(s, &thread);
    if (gdb_remote_core_of(gdb_remote_of(s->target), &thread) >= 0)
        s->stopped = s->general;
}

void gdb_add_thread(const struct gdb_session *s, struct text_buf *out)
{
    char text[GDB_THREAD_TEXT];
    if (!s->thread.single)
        return;
    gdb_thread_text(&s->thread, text);
    text_buf_printf(out, "thread:%s;", text);
}

/* Packets. */

static int answer_current_thread(struct gdb_session *s, struct gdb_args *a)
{
    char text[GDB_THREAD_TEXT];
    (void)a;
    if (!s->thread.single)
        return BT_OK;
    gdb_thread_text(&s->thread, text);
    text_buf_printf(&s->reply, "QC%s", text);
    return BT_OK;
}

/* They were listed without processes, of which the client in control may have made use. */
static void add_listed_thread(struct gdb_session *s, struct gdb_thread t)
{
    char text[GDB_THREAD_TEXT];
    if (s->packets && !t.has_process) {
        t.has_process = gdb_remote_of(s->target)->stopped.has_process;
        t.process = gdb_remote_of(s->target)->stopped.process;
    }
    gdb_thread_text(&t, text);
    text_buf_printf(&s->reply, "%c%s", s->reply.len == 0 ? 'm' : ',', text);
}

static int answer_first_threads(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_tasks tasks;
    (void)a;
    s->threads_listed = true;
    for (int i = 0; i < gdb_cores(s); i++) {
        struct gdb_thread t = session_thread(s, i);
        if (t.single)
            add_listed_thread(s, t);
    }
    gdb_tasks_now(s, &tasks);
    for (size_t i = 0; i < tasks.count; i++) {
        struct gdb_thread t = session_thread(s, tasks.task[i].core);
        t.single = true;
        t.thread = (uint64_t)tasks.task[i].thread;
        add_listed_thread(s, t);
    }
    return s->reply.len > 0 ? BT_OK : gdb_reply(s, "l");
}

static int answer_more_threads(struct gdb_session *s, struct gdb_args *a)
{
    (void)a;
    return gdb_reply(s, "l");
}

static int answer_thread_extra(struct gdb_session *s, struct gdb_args *a)
{
    char status[GDB_STATUS_SIZE];
    int thread, core;
    if (!gdb_args_char(a, ',') || !gdb_args_thread(a, &thread) || !gdb_args_empty(a) ||
        !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    gdb_core_status(s, core, status);
    gdb_tasks_core(s, core, status, sizeof status);
    struct target_core info = gdb_core_info(s, core);
    text_buf_hex(&s->reply, info.name, strlen(info.name));
    if (status[0] != '\0') {
        if (info.name[0] != '\0')
            text_buf_hex(&s->reply, ": ", 2);
        text_buf_hex(&s->reply, status, strlen(status));
    }
    return BT_OK;
}

static bool session_set_motion(struct gdb_session *s, int thread)
{
    int core = 0;
    if (thread != GDB_THREAD_ALL && !gdb_core_of_thread(s, thread, &core))
        return false;
    s->motion = thread == GDB_THREAD_ALL   ? GDB_MOTION_ALL
                : thread == GDB_THREAD_ANY ? GDB_MOTION_GENERAL
                                           : core;
    return true;
}

void gdb_note_motion(struct gdb_session *s, const char *payload, size_t len)
{
    struct gdb_args a = {payload, payload + len};
    int thread;
    if (gdb_args_text(&a, "Hc") && gdb_args_thread(&a, &thread))
        session_set_motion(s, thread);
}

static int answer_set_thread(struct gdb_session *s, struct gdb_args *a)
{
    int thread, core = s->general;
    struct gdb_thread chosen;
    bool general = gdb_args_char(a, 'g');
    if (!general && !gdb_args_char(a, 'c'))
        return BT_ERR_INVAL;
    if (general && s->packets && gdb_thread_take(a, &chosen)) {
        gdb_choose_thread(s, &chosen);
        return gdb_reply(s, "OK");
    }
    if (!gdb_args_thread(a, &thread) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    if (!general)
        return session_set_motion(s, thread) ? gdb_reply(s, "OK") : BT_ERR_INVAL;
    /* All threads at once make no sense here: the one that is selected stays. */
    if (thread != GDB_THREAD_ALL && !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    gdb_choose_core(s, core);
    return gdb_reply(s, "OK");
}

static int answer_thread_alive(struct gdb_session *s, struct gdb_args *a)
{
    int thread, core;
    if (!gdb_args_thread(a, &thread) || !gdb_args_empty(a) || !gdb_core_of_thread(s, thread, &core))
        return BT_ERR_INVAL;
    return gdb_reply(s, "OK");
}

const struct gdb_command gdb_thread_commands[] = {
    {"H", GDB_PREFIX, false, answer_set_thread},
    {"T", GDB_PREFIX, false, answer_thread_alive},
    {"qC", GDB_EXACT, false, answer_current_thread},
    {"qfThreadInfo", GDB_EXACT, false, answer_first_threads},
    {"qsThreadInfo", GDB_EXACT, false, answer_more_threads},
    {"qThreadExtraInfo", GDB_PREFIX, false, answer_thread_extra},
    {NULL, GDB_EXACT, false, NULL},
};
