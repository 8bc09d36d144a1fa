/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/capture/pipeline.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define DEFAULT_RING (16u << 20)
#define STEP         (64u << 10) /* bytes decoded between two looks at waiting readers */

/* One entry of the ring: a transfer, or what is missing (data NULL). */
struct pipeline_item {
    struct pipeline_item *next;
    uint64_t lost;
    bool known; /* lost bytes are counted */
    enum bt_gap_cause cause;
    size_t len;
    uint8_t data[];
};

struct pipeline {
    struct pipeline_config config;
    struct history *histories[PIPELINE_MAX_SOURCES];
    int8_t source_of[128]; /* trace ID to index, -1: nobody's */
    struct formatter formatter;
    uv_thread_t thread;
    bool running;
    /* The ring: a list whose bytes are bounded. The producer appends, the decode thread takes the
     * head; `ring` guards both ends and the counters, never held while decoding. */
    uv_mutex_t ring;
    uv_cond_t filled;  /* there is work, or the end */
    uv_cond_t emptied; /* there is room, or a drain may be over */
    struct pipeline_item *first, *last;
    uint64_t pushed, taken; /* entries */
    bool stop;
    bool overrun;   /* the last transfer found no room */
    bool loss_open; /* the last entry is a loss that grows while the ring stays full */
    struct pipeline_stats stats;
    int error;
    /* The histories: held by the decode thread for one step, or by a reader. `readers` makes the
     * decode thread step aside, since a mutex alone lets it come straight back. */
    uv_mutex_t store;
    atomic_uint readers;
};

/* The decode thread. */

static void pipeline_note_error(struct pipeline *p, int error)
{
    if (!error)
        return;
    uv_mutex_lock(&p->ring);
    if (!p->error)
        p->error = error;
    uv_mutex_unlock(&p->ring);
}

static void pipeline_gap_everywhere(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes)
{
    for (unsigned i = 0; i < p->config.source_count; i++)
        pipeline_note_error(p, history_gap(p->histories[i], cause, bytes));
}

static void on_run(void *ctx, const struct formatter_run *run)
{
    struct pipeline *p = ctx;
    if (run->kind == FORMATTER_LOSS) {
        pipeline_gap_everywhere(p, BT_GAP_WIRE, 0);
        return;
    }
    if (run->kind != FORMATTER_DATA || run->id > 127)
        return;
    p->stats.seen[run->id] = true;
    int source = p->source_of[run->id];
    if (source >= 0)
        pipeline_note_error(p, history_append(p->histories[source], run->data, run->len));
}

static void on_ignored_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx, (void)run;
}

static void pipeline_decode_step(struct pipeline *p, const struct pipeline_item *t, size_t at,
                                 size_t len)
{
    if (!p->config.formatted)
        pipeline_note_error(p, history_append(p->histories[0], t->data + at, len));
    else
        formatter_feed(&p->formatter, t->data + at, len, on_run, p);
}

/* What is missing is missing from all sources: which ones it was nobody knows. */
static void pipeline_decode_loss(struct pipeline *p, const struct pipeline_item *t)
{
    if (p->config.formatted)
        formatter_discontinuity(&p->formatter, on_ignored_run, NULL);
    pipeline_gap_everywhere(p, t->cause, t->known ? t->lost : 0);
}

static void pipeline_decode_item(struct pipeline *p, const struct pipeline_item *t)
{
    size_t at = 0;
    do {
        while (atomic_load(&p->readers))
            uv_sleep(0);
        uv_mutex_lock(&p->store);
        if (t->len == 0)
            pipeline_decode_loss(p, t);
        size_t n = t->len - at < STEP ? t->len - at : STEP;
        if (n)
            pipeline_decode_step(p, t, at, n);
        at += n;
        uv_mutex_unlock(&p->store);
    } while (at < t->len);
}

static struct pipeline_item *pipeline_next_item(struct pipeline *p)
{
    uv_mutex_lock(&p->ring);
    while (!p->first && !p->stop)
        uv_cond_wait(&p->filled, &p->ring);
    struct pipeline_item *t = p->first;
    if (t) {
        p->first = t->next;
        if (!p->first)
            p->last = NULL;
        p->loss_open = p->loss_open && p->first;
    }
    uv_mutex_unlock(&p->ring);
    return t;
}

static void pipeline_decode_thread(void *arg)
{
    struct pipeline *p = arg;
    pthread_setname_np(pthread_self(), "decode"); /* for top and debuggers */
    for (struct pipeline_item *t; (t = pipeline_next_item(p));) {
        pipeline_decode_item(p, t);
        uv_mutex_lock(&p->ring);
        p->stats.decoded += t->len;
        p->stats.waiting -= t->len;
        p->stats.aligned = !p->config.formatted || p->formatter.aligned;
        p->stats.losses = p->formatter.losses;
        p->taken++;
        uv_cond_broadcast(&p->emptied);
        uv_mutex_unlock(&p->ring);
        free(t);
    }
}

/* The capture side. */

static void pipeline_append(struct pipeline *p, struct pipeline_item *t)
{
    t->next = NULL;
    if (p->last)
        p->last->next = t;
    else
        p->first = t;
    p->last = t;
    p->pushed++;
    p->stats.waiting += t->len;
    uv_cond_signal(&p->filled);
}

/* A loss at the end of the ring. Neighbours are one: a full ring makes one gap, not thousands. */
static void pipeline_append_loss(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes,
                                 bool known)
{
    if (p->loss_open && p->last && p->last->cause == cause) {
        p->last->lost += bytes;
        p->last->known = p->last->known && known;
        return;
    }
    struct pipeline_item *t = calloc(1, sizeof *t);
    if (!t) {
        p->error = BT_ERR_NOMEM;
        return;
    }
    t->lost = bytes;
    t->known = known;
    t->cause = cause;
    pipeline_append(p, t);
    p->loss_open = true;
}

static bool pipeline_room_for(struct pipeline *p, size_t len, bool wait)
{
    /* Full once, it must be half empty again: else each transfer that just fits between two that do
     * not makes a gap of its own. */
    size_t most = p->overrun ? p->config.ring_bytes / 2 : p->config.ring_bytes;
    while (p->stats.waiting && p->stats.waiting + len > most) {
        if (!wait)
            return false;
        uv_cond_wait(&p->emptied, &p->ring);
    }
    return true;
}

bool pipeline_push(struct pipeline *p, const uint8_t *data, size_t len, bool wait)
{
    if (len == 0)
        return true;
    struct pipeline_item *t = malloc(sizeof *t + len);
    if (t) {
        t->lost = 0;
        t->known = true;
        t->len = len;
        memcpy(t->data, data, len);
    }
    uv_mutex_lock(&p->ring);
    p->stats.captured += len;
    bool taken = t && pipeline_room_for(p, len, wait);
    p->overrun = !taken;
    if (taken) {
        pipeline_append(p, t);
        p->loss_open = false;
    } else {
        p->stats.dropped += len;
        p->stats.drops++;
        pipeline_append_loss(p, BT_GAP_LOST_BYTES, len, true);
    }
    uv_mutex_unlock(&p->ring);
    if (!taken)
        free(t);
    return taken;
}

void pipeline_lost(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes)
{
    uv_mutex_lock(&p->ring);
    p->stats.lost += bytes;
    pipeline_append_loss(p, cause, bytes, bytes != 0);
    uv_mutex_unlock(&p->ring);
}

bool pipeline_drain(struct pipeline *p, unsigned timeout_ms)
{
    uint64_t deadline = uv_hrtime() + (uint64_t)timeout_ms * 1000000;
    uv_mutex_lock(&p->ring);
    uint64_t goal = p->pushed;
    bool done;
    while (!(done = p->taken >= goal)) {
        uint64_t now = uv_hrtime();
        if (now >= deadline || uv_cond_timedwait(&p->emptied, &p->ring, deadline - now) != 0)
            break;
    }
    done = p->taken >= goal;
    uv_mutex_unlock(&p->ring);
    return done;
}

void pipeline_lock(struct pipeline *p)
{
    atomic_fetch_add(&p->readers, 1);
    uv_mutex_lock(&p->store);
    atomic_fetch_sub(&p->readers, 1);
}

struct history *pipeline_history(struct pipeline *p, unsigned i)
{
    return i < p->config.source_count ? p->histories[i] : NULL;
}

void pipeline_unlock(struct pipeline *p)
{
    uv_mutex_unlock(&p->store);
}

void pipeline_stats(struct pipeline *p, struct pipeline_stats *stats)
{
    pipeline_lock(p); /* for `seen`, which the decode thread writes along with the histories */
    uv_mutex_lock(&p->ring);
    *stats = p->stats;
    stats->idle = p->taken == p->pushed;
    stats->error = p->error;
    uv_mutex_unlock(&p->ring);
    pipeline_unlock(p);
}

static int pipeline_make_histories(struct pipeline *p)
{
    memset(p->source_of, -1, sizeof p->source_of);
    for (unsigned i = 0; i < p->config.source_count; i++) {
        const struct pipeline_source *s = &p->config.sources[i];
        if (p->config.formatted && (s->trace_id == 0 || s->trace_id > FORMATTER_ID_MAX))
            return BT_ERR_INVAL;
        p->source_of[s->trace_id & 0x7f] = (int8_t)i;
        int error = history_new(&p->config.history, &s->config, s->image, &p->histories[i]);
        if (error)
            return error;
    }
    return BT_OK;
}

int pipeline_new(const struct pipeline_config *config, struct pipeline **out)
{
    *out = NULL;
    bool fits = config->source_count <= PIPELINE_MAX_SOURCES && config->source_count > 0 &&
                (config->formatted || config->source_count == 1);
    if (!fits)
        return BT_ERR_INVAL;
    struct pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return BT_ERR_NOMEM;
    p->config = *config;
    if (!p->config.ring_bytes)
        p->config.ring_bytes = DEFAULT_RING;
    formatter_init(&p->formatter, config->mode);
    uv_mutex_init(&p->ring);
    uv_mutex_init(&p->store);
    uv_cond_init(&p->filled);
    uv_cond_init(&p->emptied);
    int error = pipeline_make_histories(p);
    if (!error && uv_thread_create(&p->thread, pipeline_decode_thread, p) != 0)
        error = BT_ERR_NOMEM;
    p->running = !error;
    if (error)
        pipeline_free(p);
    else
        *out = p;
    return error;
}

void pipeline_free(struct pipeline *p)
{
    if (!p)
        return;
    uv_mutex_lock(&p->ring);
    p->stop = true;
    uv_cond_broadcast(&p->filled);
    uv_mutex_unlock(&p->ring);
    if (p->running)
        uv_thread_join(&p->thread);
    for (unsigned i = 0; i < p->config.source_count; i++)
        history_free(p->histories[i]);
    uv_cond_destroy(&p->emptied);
    uv_cond_destroy(&p->filled);
    uv_mutex_destroy(&p->store);
    uv_mutex_destroy(&p->ring);
    free(p);
}
