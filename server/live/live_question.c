/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions of clients about the history, in slices on the event loop: others are served between.
 */
#include "live_internal.h"

void live_question_forget(struct live_client *k)
{
    call_job_free(k->question.job);
    k->question.job = NULL;
    live_counts_forget(k->counting);
    k->counting = NULL;
    if (k->live->told.client == k)
        k->live->told.client = NULL;
}

/* True: it is answered, or its history is gone. */
static bool question_work(struct live_client *k)
{
    struct live *l = k->live;
    bool done = true;
    if (!l->pipeline || l->cores[k->question.core].source < 0)
        return true;
    pipeline_lock(l->pipeline);
    if (live_history(l, k->question.core) == k->question.history)
        done = call_job_work(k->question.job);
    pipeline_unlock(l->pipeline);
    return done;
}

/* A slice each; then what they send is looked at: it may be Ctrl-C. */
static void on_questions(uv_idle_t *idle)
{
    struct live *l = idle->data;
    bool more = false;
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        if (k->question.job && question_work(k)) {
            live_question_forget(k);
            gdb_session_command_done(k->session);
        }
        more |= k->question.job != NULL || (k->counting && !live_counts_work(k->counting));
    }
    if (!more)
        uv_idle_stop(idle);
}

void live_question_begin(struct live_client *k, struct call_job *job, int core,
                         const struct history *history)
{
    k->question.job = job;
    k->question.core = core;
    k->question.history = history;
    live_questions_begin(k->live);
}

void live_questions_begin(struct live *l)
{
    if (l->phase != LIVE_STOPPED)
        uv_idle_start(&l->questions, on_questions);
}
