/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files that make up a live target. Calls go one way: live_target.c is on top of
 * live_monitor.c, that of live_control.c and live.c, that of live_halt.c, and below are
 * live_reverse.c, live_report.c and live_trace.c.
 */
#ifndef SERVER_LIVE_INTERNAL_H
#define SERVER_LIVE_INTERNAL_H

#include "server/export/export_tasks.h"
#include "server/export/profile.h"
#include "server/history/call_history.h"
#include "server/live/live.h"
#include "server/tasks/contexts.h"

#include <strings.h>

/* A client: each has its own branch trace and its own replay position. */
struct live_client {
    struct live_client *next;
    struct live *live;
    struct gdb_client *client;
    struct gdb_session *session;
    uint32_t size; /* of GDB's buffer */
    struct {
        bool recording; /* as far as GDB knows */
        bool delivered; /* the history was read since it was enabled or GDB connected */
        bool moved;     /* PC was written, or the target was reset, since the history was read */
        uint64_t stop;  /* number of the stop at which it was read */
        struct btrace_mark has, given; /* what GDB has, and will have once it is delivered */
    } cores[CONFIG_MAX_CORES];
    struct reverse_motion motion;
    struct live_reverse_misses misses[2]; /* of a motion; of what is worked out ahead of it */
    struct live_reverse_reader readers[TARGET_CORES_MAX];
    struct {
        struct call_job *job; /* NULL: none is under way */
        int core;             /* of the board file */
        const struct history *history;
    } question;                     /* about the history, by `monitor` */
    struct live_counting *counting; /* NULL: none is under way */
};

/* Thread of the target's own GDB server, 0-based. */
static inline int live_thread(const struct live_core *c)
{
    return (int)c->config->thread - 1;
}

/* The core of a thread; NULL: the board file does not name it, and it has no trace. */
static inline struct live_core *live_core_of(struct live *l, int thread)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (live_thread(&l->cores[i]) == thread)
            return &l->cores[i];
    return NULL;
}

/* The core of a thread; NULL: it has no trace. */
static inline struct live_core *live_traced_core(struct live *l, int thread)
{
    struct live_core *c = live_core_of(l, thread);
    return c && c->source >= 0 ? c : NULL;
}

/* Another GDB server keeps the target, with commands of its own. */
static inline bool live_is_remote(const struct live *l)
{
    return l->target->ops->packets;
}

static inline bool live_is_m_profile(const struct live_core *c)
{
    return strncasecmp(c->config->type, "Cortex-M", 8) == 0;
}

/* A wild SP may point at devices, some of which notice that they are read: an M-profile core's are
 * at fixed places. */
static inline bool live_may_be_stack(const struct live_core *c, uint64_t sp)
{
    return !live_is_m_profile(c) || sp >> 29 <= 1 || (sp >= 0x60000000 && sp < 0xa0000000);
}

/* Of halted cores: the answer's bytes. As target_ask(). */
static inline int live_read_memory(const struct live *l, int core, uint64_t address, size_t length,
                                   target_done_fn done, void *ctx)
{
    const struct target_request r = {
        .kind = TARGET_READ_MEMORY, .core = core, .address = address, .length = length};
    return target_ask(l->target, NULL, &r, done, ctx);
}

/* The core has halted in AArch64 state: bit 4 of its PSTATE, set in all modes of AArch32, is 0. */
static inline bool live_is_a64(const struct live_core *c)
{
    return strncasecmp(c->config->type, "Cortex-A", 8) == 0 &&
           (c->regs.known >> TARGET_REG_PSR & 1) && !(c->regs.value[TARGET_REG_PSR] & 1u << 4);
}

static inline enum execute_profile live_profile(const struct live_core *c)
{
    return live_is_m_profile(c) ? EXECUTE_PROFILE_M
           : live_is_a64(c)     ? EXECUTE_PROFILE_A64
                                : EXECUTE_PROFILE_AR;
}

/* History of a core, or NULL; between pipeline_lock() and pipeline_unlock(). */
static inline struct history *live_history(const struct live *l, int core)
{
    return l->cores[core].source < 0
               ? NULL
               : pipeline_history(l->pipeline, (unsigned)l->cores[core].source);
}

/* live_trace.c: trace units, pipeline, link, and recording if the board file wants it. 0 or a
 * bt_error with *why filled; release in both cases. */
int live_trace_open(struct live *l, struct message *why);
void live_trace_release(struct live *l);
/* Bytes of trace that have arrived. */
uint64_t live_bytes(const struct live *l);
/* For a worker thread; work->data is the target. l->drain tells how it ended. */
void live_drain_work(uv_work_t *work);
/* Starts recording, as recorder_start(), or ends it. 0 or a bt_error. */
int live_record(struct live *l, const char *path, struct message *why);
/* Bytes are missing here, for that cause; as of a struct trace_sink. Any thread. */
void live_trace_lost(void *live, enum bt_gap_cause cause);
int live_record_stop(struct live *l);
/* One of the target's own commands; clients wait until `done` lets them go on. 0 or a bt_error. */
int live_command(struct live *l, const char *text, target_done_fn done);
/*
 * `monitor trace on` and `off`. BT_OK: from the next resume on it is so, once the target has been
 * looked at again; TARGET_PENDING: the board is asked, and the client's command ends with its
 * answer. `then` is called when it is done, by either.
 */
int live_trace_switch(struct live_client *k, bool on, const struct console *c,
                      void (*then)(struct live *l));
/* `monitor trace filter`. Likewise. */
int live_trace_filter(struct live_client *k, const char *text, const struct console *c);
/* Who waits for the board does so no longer. */
void live_told_interrupt(struct live_client *k);
/* `monitor trace set`. True: from the next resume on it is so, likewise. */
bool live_trace_set(struct live *l, const char *text, const struct console *c);

/* live_report.c: the lines of `monitor status`. */
void live_status_report(const struct live *l, const struct console *c);
/* Trace that no core gets, in words, "" if there is none. While cores run another one's trace may
 * still come first: then only what is no trace at all counts. */
void live_strays(const struct live *l, bool halted, char *text, size_t size);

/* live_reverse.c: how the core's history leads to the halt; `size` is that of GDB's buffer. With
 * the pipeline locked. */
void live_view(const struct live *l, const struct live_core *c, uint32_t size,
               struct btrace_view *view);

/* live_tasks.c: `monitor tasks` and what may be behind it. */
#define LIVE_TASKS_NAMED 128u
void live_tasks_command(struct live_client *k, int core, const char *rest, const struct console *c);
/* Of a core at a replay position: where it is, and which task it runs, if that is known. */
/*
 * Which task of the halted core ran when, from instruction `from` on, as far back as that is known,
 * and the tasks' names; nothing where it is not. Release with export_tasks_release(). How many
 * names there are.
 */
size_t live_tasks_switches(struct live *l, unsigned core, uint64_t from, struct export_tasks *tasks,
                           struct profile_task names[LIVE_TASKS_NAMED]);

/* As gdb_host.core_status. */
void live_tasks_status(void *client, int core, char *text, size_t size);

/* live_question.c: a client's question about the history is answered from now on, and then its
 * command; or it is forgotten. */
void live_question_begin(struct live_client *k, struct call_job *job, int core,
                         const struct history *history);
void live_question_forget(struct live_client *k);
/* Something is to be done in slices. */
void live_questions_begin(struct live *l);

/* live_halt.c: begins to look at the halted cores; then l->known is called, unless the connection
 * is lost meanwhile. */
void live_look(struct live *l);
/* What is known of the halted cores, and what was programmed for them, may be otherwise. */
void live_look_again(struct live *l);

/* live_join.c: the cores run; they have halted. */
void live_join_resumed(struct live *l);
void live_join_halted(struct live *l);
/* Registers are known. True: the trace does not lead to them yet, a worker waits for more, and
 * live_look() follows. */
bool live_join_waits(struct live *l);
/* All code is known, too: l->drain tells what has become of this halt. */
void live_join_judge(struct live *l);
/* LIVE_DRAIN_APART in words. */
void live_join_describe(const struct live *l, char *text, size_t size);

/* live.c: the target has started over: [setup] is due again. */
void live_was_reset(struct live *l);

/* live_monitor.c: a line of `monitor`, as gdb_host.monitor. */
int live_monitor(void *client, int core, const char *text, target_print_fn print, void *to);
/* The target starts over, by the board file's command. BT_ERR_UNSUPPORTED: there is none. */
int live_restart(struct live *l);

/* One line of `monitor`. */
struct live_line {
    struct live_client *client;
    struct live *live;
    int thread;
    struct live_core *core; /* of the thread; NULL: it has no trace */
    const char *rest;       /* behind the command's name */
    const struct console *c;
};

/* live_control.c: a line for the audit, of what the client did. */
void live_audit(const struct live_client *k, const char *what, const char *detail);
void live_log_control(const struct live_client *k);
/* [access] lets the client control the target. */
bool live_may_control(const struct live_client *k);
/* Out of the list of clients. */
void live_unlink(struct live_client *k);
/* Commands: who is connected; control is taken when nobody has it, or from whoever has it; given
 * away; a client's session is ended. */
int live_list_clients(const struct live_line *q);
int live_take_free(const struct live_line *q);
int live_take_control(const struct live_line *q);
int live_give_up(const struct live_line *q);
int live_kick(const struct live_line *q);

/* NULL: nothing is worked out forwards for the core. */
static inline struct reverse_forward *live_snapshot_forward(struct live *l,
                                                            const struct live_core *c)
{
    struct live_snapshot_core *s = l->snapshot.cores[c - l->cores];
    return s ? &s->forward : NULL;
}

#endif
