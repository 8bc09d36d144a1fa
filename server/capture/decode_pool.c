/* SPDX-License-Identifier: BSD-3-Clause */
#include "decode_pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <uv.h>

#define TASKS 64 /* at once */
#define REST  64 /* runs in which a source is decoded in one piece, where pieces do not fit */

/* A part, or all of a source up to byte `end` of its stream. */
struct decode_task {
    unsigned source;
    bool is_part;
    bool done;
    bool apart; /* the part was decoded by itself */
    int error;
    uint64_t end;
    struct history_part *part; /* kept for the next run */
};

struct decode_source {
    struct history *history;
    unsigned rest;         /* runs that are still in one piece */
    unsigned apart, taken; /* parts of this run */
};

struct decode_worker {
    struct decode_pool *pool;
    uv_thread_t thread;
    struct part_decoder **decoders; /* one a source, made when it is needed */
};

struct decode_pool {
    unsigned thread_count; /* with the caller, who is worker 0 */
    unsigned started;
    struct decode_worker *workers;
    struct decode_source *sources;
    unsigned source_count;
    bool cuts;
    uint64_t joined;
    /* The tasks of a run: [0, claimed) are somebody's, or done. */
    uv_mutex_t lock;
    uv_cond_t work; /* there are tasks, or the end */
    uv_cond_t done; /* a task is done */
    struct decode_task tasks[TASKS];
    unsigned task_count, claimed;
    bool stop;
};

static struct part_decoder *worker_decoder(struct decode_worker *w, unsigned source)
{
    if (!w->decoders[source])
        w->decoders[source] = part_decoder_new(w->pool->sources[source].history);
    return w->decoders[source];
}

static void run_task(struct decode_worker *w, struct decode_task *t)
{
    struct part_decoder *d = t->is_part ? worker_decoder(w, t->source) : NULL;
    t->apart = d != NULL;
    if (d)
        part_decode(d, t->part);
    else if (!t->is_part)
        t->error = history_decode(w->pool->sources[t->source].history, t->end);
}

static struct decode_task *claim_task(struct decode_pool *p)
{
    return p->claimed == p->task_count ? NULL : &p->tasks[p->claimed++];
}

static void decode_worker_thread(void *arg)
{
    struct decode_worker *w = arg;
    struct decode_pool *p = w->pool;
    pthread_setname_np(pthread_self(), "decode part");
    uv_mutex_lock(&p->lock);
    while (!p->stop) {
        struct decode_task *t = claim_task(p);
        if (!t) {
            uv_cond_wait(&p->work, &p->lock);
            continue;
        }
        uv_mutex_unlock(&p->lock);
        run_task(w, t);
        uv_mutex_lock(&p->lock);
        t->done = true;
        uv_cond_signal(&p->done);
    }
    uv_mutex_unlock(&p->lock);
}

/* The caller's thread. */

static void add_task(struct decode_pool *p, unsigned source, uint64_t end, bool is_part)
{
    struct decode_task *t = &p->tasks[p->task_count++];
    t->source = source;
    t->end = end;
    t->is_part = is_part;
    t->done = t->apart = false;
    t->error = BT_OK;
}

/* What of a source can be decoded apart is cut off what `whole` decodes. */
static void add_parts(struct decode_pool *p, struct decode_task *whole)
{
    struct decode_source *s = &p->sources[whole->source];
    uint64_t begin, end = 0;
    if (s->rest) {
        s->rest--;
        return;
    }
    while (p->task_count < TASKS) {
        struct decode_task *t = &p->tasks[p->task_count];
        if (!t->part && !(t->part = history_part_new()))
            return;
        if (!history_cut(s->history, t->part, &begin, &end))
            return;
        whole->end = begin < whole->end ? begin : whole->end;
        add_task(p, whole->source, end, true);
    }
}

static void make_tasks(struct decode_pool *p)
{
    p->task_count = p->claimed = 0;
    for (unsigned i = 0; i < p->source_count; i++) {
        struct decode_source *s = &p->sources[i];
        s->apart = s->taken = 0;
        if (history_pending(s->history))
            add_task(p, i, history_stored(s->history), false);
    }
    for (unsigned i = 0, n = p->task_count; i < n && p->cuts; i++)
        add_parts(p, &p->tasks[i]);
}

/* Those before it are finished. */
static int finish_task(struct decode_pool *p, struct decode_task *t)
{
    struct decode_source *s = &p->sources[t->source];
    bool taken = false;
    int error = t->is_part ? history_join(s->history, t->part, &taken) : t->error;
    s->apart += t->apart;
    s->taken += taken;
    p->joined += taken;
    return error;
}

/* The lock is held; returns the first error. */
static int finish_tasks(struct decode_pool *p)
{
    int error = BT_OK;
    for (unsigned next = 0; next < p->task_count;) {
        struct decode_task *t = &p->tasks[next];
        bool ready = t->done;
        struct decode_task *mine = ready ? NULL : claim_task(p);
        if (!ready && !mine) {
            uv_cond_wait(&p->done, &p->lock);
            continue;
        }
        uv_mutex_unlock(&p->lock);
        /* A part whose turn it is needs no decode of its own. */
        if (mine && (mine != t || !mine->is_part))
            run_task(&p->workers[0], mine);
        ready = ready || mine == t;
        int failed = ready ? finish_task(p, t) : BT_OK;
        error = error ? error : failed;
        uv_mutex_lock(&p->lock);
        if (mine)
            mine->done = true;
        next += ready;
    }
    return error;
}

int decode_pool_run(struct decode_pool *p)
{
    int error = BT_OK;
    uv_mutex_lock(&p->lock);
    for (make_tasks(p); p->task_count && !error; make_tasks(p)) {
        uv_cond_broadcast(&p->work);
        error = finish_tasks(p);
        for (unsigned i = 0; i < p->source_count; i++)
            if (2 * p->sources[i].taken < p->sources[i].apart)
                p->sources[i].rest = REST;
    }
    p->task_count = p->claimed = 0;
    uv_mutex_unlock(&p->lock);
    return error;
}

uint64_t decode_pool_joined(const struct decode_pool *p)
{
    return p->joined;
}

static int make_workers(struct decode_pool *p)
{
    p->workers = calloc(p->thread_count, sizeof *p->workers);
    for (unsigned i = 0; p->workers && i < p->thread_count; i++) {
        struct decode_worker *w = &p->workers[i];
        w->pool = p;
        w->decoders = calloc(p->source_count + 1, sizeof *w->decoders);
        if (!w->decoders)
            return BT_ERR_NOMEM;
    }
    return p->workers ? BT_OK : BT_ERR_NOMEM;
}

static int start_workers(struct decode_pool *p)
{
    for (p->started = 1; p->started < p->thread_count; p->started++) {
        struct decode_worker *w = &p->workers[p->started];
        if (uv_thread_create(&w->thread, decode_worker_thread, w) != 0)
            return BT_ERR_NOMEM;
    }
    return BT_OK;
}

int decode_pool_new(unsigned threads, bool cuts, struct history *const *histories, unsigned count,
                    struct decode_pool **out)
{
    struct decode_pool *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return BT_ERR_NOMEM;
    uv_mutex_init(&p->lock);
    uv_cond_init(&p->work);
    uv_cond_init(&p->done);
    p->thread_count = threads;
    p->cuts = cuts;
    p->source_count = count;
    p->sources = calloc(count + 1, sizeof *p->sources);
    for (unsigned i = 0; p->sources && i < count; i++)
        p->sources[i].history = histories[i];
    int error = p->sources ? make_workers(p) : BT_ERR_NOMEM;
    if (!error)
        error = start_workers(p);
    if (error)
        decode_pool_free(p);
    else
        *out = p;
    return error;
}

static void free_workers(struct decode_pool *p)
{
    for (unsigned i = 0; p->workers && i < p->thread_count; i++) {
        struct part_decoder **decoders = p->workers[i].decoders;
        for (unsigned k = 0; decoders && k < p->source_count; k++)
            part_decoder_free(decoders[k]);
        free(decoders);
    }
    free(p->workers);
}

void decode_pool_free(struct decode_pool *p)
{
    if (!p)
        return;
    uv_mutex_lock(&p->lock);
    p->stop = true;
    uv_cond_broadcast(&p->work);
    uv_mutex_unlock(&p->lock);
    for (unsigned i = 1; i < p->started; i++)
        uv_thread_join(&p->workers[i].thread);
    free_workers(p);
    for (unsigned i = 0; i < TASKS; i++)
        history_part_free(p->tasks[i].part);
    free(p->sources);
    uv_cond_destroy(&p->done);
    uv_cond_destroy(&p->work);
    uv_mutex_destroy(&p->lock);
    free(p);
}
