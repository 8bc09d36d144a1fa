/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores behind a probe of ours as a struct target. The probe belongs to a thread of its own,
 * because USB calls wait: requests go to it one by one as they are, and what it answers, halts and
 * text come back on the event loop. All functions here belong to the thread of the loop.
 *
 * When it starts, cores that run are halted, and trace that was captured before is collected; then
 * the target is ready. A probe that is pulled, or a target without power, is no target that is
 * lost: questions are errors, what runs ends with a stop, and it is looked for. When it is back, or
 * was reset by somebody, events->changed() tells, always before the answer or the stop of the
 * request that has to do with it.
 *
 * Trace comes to the sink in the probe's thread; at a halt all of it before the stop.
 */
#ifndef SERVER_PROBE_THREAD_H
#define SERVER_PROBE_THREAD_H

#include "drivers/base/message.h"
#include "drivers/probe/trace_stream.h"
#include "drivers/target/target.h"
#include "server/config/config.h"

#include <uv.h>

#define PROBE_THREAD_SUMMARY 2048

#define PROBE_THREAD_STATUS 64

struct probe_target;
struct probe_driver;

/* What the loop is told, one at a time. */
enum probe_reply {
    PROBE_REPLY_NONE,
    PROBE_REPLY_OPENED,
    PROBE_REPLY_ANSWER,
    PROBE_REPLY_HALTED, /* the stop follows when the trace is read */
    PROBE_REPLY_NOT_HALTED,
    PROBE_REPLY_STOP,
};

struct probe_news {
    enum probe_reply reply;
    enum target_run opened;
    struct target_answer answer;
    struct target_stop stop;
    char stop_text[sizeof((struct target_error *)0)->text];
};

struct probe_thread {
    struct target target;               /* first */
    char summary[PROBE_THREAD_SUMMARY]; /* what there was when it was opened, as lines */
    char sink[128];                     /* where trace goes to, in words; "": there is none */
    /* Private. */
    struct probe_target *probe; /* of the thread once that runs, but for what is atomic */
    uv_thread_t thread;
    uv_async_t async;
    enum {
        PROBE_THREAD_CLOSED,
        PROBE_THREAD_OPEN,
        PROBE_THREAD_RUNS,
        PROBE_THREAD_ENDS,
    } phase;         /* written by the loop, with the lock */
    uv_mutex_t lock; /* of what follows */
    uv_cond_t wake;
    const struct target_request *request; /* to be taken by the thread; NULL: none */
    bool interrupt;                       /* cores that run are to halt */
    struct probe_news news;
    unsigned changes; /* bits of enum target_change */
    char *text;       /* for the console; NULL: none */
    char status[CONFIG_MAX_CORES][PROBE_THREAD_STATUS];
};

/*
 * Opens probe (by `driver`, NULL: the board file names none), cores, flash algorithm and trace
 * units, which complete `config`: a Cortex-M is neither halted nor reset, but as the board file
 * says (connect_under_reset); other cores are halted for a moment. `config` must outlive it; `sink`
 * is copied. Nothing runs yet. 0, or a bt_error with *why filled: what is wrong and what to do.
 * probe_thread_release() in all cases.
 */
int probe_thread_open(struct probe_thread *p, const struct probe_driver *driver,
                      struct config *config, const struct trace_sink *sink, struct message *why);

/*
 * Starts the thread. `events` and `ctx` are the target's; events->ready() follows. Returns the
 * target, which is `p`'s, or NULL (no memory). Then probe_thread_stop() while the loop still runs.
 */
struct target *probe_thread_start(struct probe_thread *p, uv_loop_t *loop,
                                  const struct target_events *events, void *ctx);

/* The thread is to end, and is not waited for; nothing comes from the target any more. May be
 * called twice, and for one that has not started. */
void probe_thread_stop(struct probe_thread *p);

/* Waits for the end of the thread, takes all breakpoints away, lets the cores run or leaves them
 * halted as the board file says, and lets go of the probe; open questions are answered with
 * errors. Behind the end of the loop; also for one that is all zero. */
void probe_thread_release(struct probe_thread *p);

/* Whether the probe or the target does not answer now, and how often that began. */
bool probe_thread_is_lost(const struct probe_thread *p, unsigned *losses);

/* Lines on the `monitor` commands (TARGET_COMMAND) that only such a target has. */
void probe_thread_help(const struct config *config, target_print_fn print, void *to);

#endif
