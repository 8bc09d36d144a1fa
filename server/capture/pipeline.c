/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/capture/pipeline.h"

#include "decode_pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define DEFAULT_RING (16u << 20)
#define STEP         (64u << 10) /* bytes decoded between two looks at waiting readers */
#define SPARE_SLOTS  64u
#define THREAD_SHARE (256u << 10) /* bytes for each thread that are decoded together */
#define CUT_LEAST    (16u << 10)  /* shorter windows are not worth a decode of their own */
#define BATCH        64u          /* slots taken at once */

/* One entry of the ring: bytes of a buffer that it holds, or what is missing (buffer NULL). */
struct pipeline_slot {
    struct trace_buffer *buffer;
    const uint8_t *data;
    size_t len;
    uint64_t lost;
    bool known; /* lost bytes are counted */
    enum bt_gap_cause cause;
};

struct pipeline {
    struct pipeline_config config;
    struct history *histories[PIPELINE_MAX_SOURCES];
    struct decode_pool *decoders; /* NULL: one thread decodes */
    bool storing;                 /* of the decode thread: bytes wait for all threads */
    int8_t source_of[128];        /* trace ID to index, -1: nobody's */
    struct formatter formatter;
    uv_thread_t thread;
    bool running;
    /* Of the producer: the buffer that takes the next bytes (NULL: out of memory). */
    struct trace_pool *pool;
    struct trace_buffer *fill;
    size_t used;
    uint8_t waste[TRACE_ROOM + TRACE_ROOM_SPARE]; /* takes them when there is no buffer */
    /* The ring: the producer appends, the decode thread takes the oldest; `ring` guards both ends
     * and the counters, never held while decoding. Bytes that wait and slots are bounded. */
    uv_mutex_t ring;
    uv_cond_t filled;  /* there is work, or the end */
    uv_cond_t emptied; /* there is room, or a drain may be over */
    struct pipeline_slot *slots;
    size_t slot_max;
    uint64_t pushed, taken; /* slots */
    uint64_t decoded;       /* of those that were taken */
    bool stop;
    bool overrun; /* the last transfer found no room */
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

/* What was stored so far comes before what follows. */
static void pipeline_decode_stored(struct pipeline *p)
{
    if (p->storing)
        pipeline_note_error(p, decode_pool_run(p->decoders));
}

static void pipeline_source_bytes(struct pipeline *p, int source, const uint8_t *data, size_t len)
{
    struct history *h = p->histories[source];
    pipeline_note_error(p, p->storing ? history_store(h, data, len) : history_append(h, data, len));
}

static void pipeline_gap_everywhere(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes)
{
    pipeline_decode_stored(p);
    for (unsigned i = 0; i < p->config.source_count; i++)
        pipeline_note_error(p, history_gap(p->histories[i], cause, bytes));
    if (p->config.passed.trace_id)
        p->config.passed.lost(p->config.passed.ctx, cause);
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
    if (run->id == p->config.passed.trace_id)
        p->config.passed.bytes(p->config.passed.ctx, run->data, run->len);
    if (source >= 0)
        pipeline_source_bytes(p, source, run->data, run->len);
}

static void pipeline_decode_step(struct pipeline *p, const struct pipeline_slot *t, size_t at,
                                 size_t len)
{
    if (!p->config.formatted && p->config.passed.trace_id)
        p->config.passed.bytes(p->config.passed.ctx, t->data + at, len);
    else if (!p->config.formatted)
        pipeline_source_bytes(p, 0, t->data + at, len);
    else
        formatter_feed(&p->formatter, t->data + at, len, on_run, p);
}

/* What is missing is missing from all sources: which ones it was nobody knows. */
static void pipeline_decode_loss(struct pipeline *p, const struct pipeline_slot *t)
{
    if (p->config.formatted)
        formatter_discontinuity(&p->formatter, formatter_ignore_run, NULL);
    pipeline_gap_everywhere(p, t->cause, t->known ? t->lost : 0);
}

static void pipeline_own_histories(struct pipeline *p)
{
    while (atomic_load(&p->readers))
        uv_sleep(0);
    uv_mutex_lock(&p->store);
}

static void pipeline_decode_slot(struct pipeline *p, const struct pipeline_slot *t)
{
    size_t at = 0;
    do {
        pipeline_own_histories(p);
        if (t->len == 0)
            pipeline_decode_loss(p, t);
        size_t n = t->len - at < STEP ? t->len - at : STEP;
        if (n)
            pipeline_decode_step(p, t, at, n);
        at += n;
        uv_mutex_unlock(&p->store);
    } while (at < t->len);
}

/* By all threads, in one step. */
static void pipeline_decode_together(struct pipeline *p, const struct pipeline_slot *slots,
                                     unsigned count)
{
    pipeline_own_histories(p);
    p->storing = true;
    for (unsigned i = 0; i < count; i++) {
        if (slots[i].len == 0)
            pipeline_decode_loss(p, &slots[i]);
        else
            pipeline_decode_step(p, &slots[i], 0, slots[i].len);
    }
    pipeline_decode_stored(p);
    p->storing = false;
    p->stats.joined = decode_pool_joined(p->decoders);
    uv_mutex_unlock(&p->store);
}

/* The oldest slots: as many as are worth it to all threads. 0: the end. */
static unsigned pipeline_take_slots(struct pipeline *p, struct pipeline_slot *slots, size_t *bytes)
{
    size_t most = p->decoders ? THREAD_SHARE * p->config.threads : 1;
    unsigned n = 0;
    uv_mutex_lock(&p->ring);
    while (p->taken == p->pushed && !p->stop)
        uv_cond_wait(&p->filled, &p->ring);
    for (*bytes = 0; p->taken != p->pushed && n < BATCH && *bytes < most; n++) {
        slots[n] = p->slots[p->taken++ % p->slot_max];
        *bytes += slots[n].len;
    }
    uv_mutex_unlock(&p->ring);
    return n;
}

static void pipeline_slots_decoded(struct pipeline *p, const struct pipeline_slot *slots,
                                   unsigned count, size_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        trace_buffer_release(slots[i].buffer);
    uv_mutex_lock(&p->ring);
    p->stats.decoded += bytes;
    p->stats.waiting -= bytes;
    p->stats.aligned = !p->config.formatted || p->formatter.aligned;
    p->stats.losses = p->formatter.losses;
    p->decoded += count;
    uv_cond_broadcast(&p->emptied);
    uv_mutex_unlock(&p->ring);
}

static void pipeline_decode_thread(void *arg)
{
    struct pipeline *p = arg;
    struct pipeline_slot slots[BATCH];
    size_t bytes;
    pthread_setname_np(pthread_self(), "decode"); /* for top and debuggers */
    for (unsigned n; (n = pipeline_take_slots(p, slots, &bytes)) != 0;) {
        bool together = p->decoders && bytes > STEP;
        if (together)
            pipeline_decode_together(p, slots, n);
        for (unsigned i = 0; i < n && !together; i++)
            pipeline_decode_slot(p, &slots[i]);
        pipeline_slots_decoded(p, slots, n, bytes);
    }
}

/* The ring, with its mutex held. */

/* The newest slot, while the decoder has not taken it. */
static struct pipeline_slot *pipeline_newest(struct pipeline *p)
{
    return p->taken == p->pushed ? NULL : &p->slots[(p->pushed - 1) % p->slot_max];
}

static void pipeline_append(struct pipeline *p, const struct pipeline_slot *t)
{
    p->slots[p->pushed++ % p->slot_max] = *t;
    uv_cond_signal(&p->filled);
}

/* A loss at the end of the ring. Neighbours are one: a full ring makes one gap, not thousands.
 * Bytes leave a slot free for it; behind a loss of another cause there may be none. */
static void pipeline_append_loss(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes,
                                 bool known)
{
    struct pipeline_slot *last = pipeline_newest(p);
    bool full = p->pushed - p->taken == p->slot_max;
    if (last && !last->buffer && (last->cause == cause || full)) {
        last->lost += bytes;
        last->known = last->known && known;
        return;
    }
    pipeline_append(p, &(struct pipeline_slot){.lost = bytes, .known = known, .cause = cause});
}

static void pipeline_drop(struct pipeline *p, size_t len)
{
    p->stats.dropped += len;
    p->stats.drops++;
    pipeline_append_loss(p, BT_GAP_LOST_BYTES, len, true);
}

/* Small pieces that follow each other in a buffer are one slot. */
static void pipeline_append_bytes(struct pipeline *p, const uint8_t *data, size_t len)
{
    struct pipeline_slot *last = pipeline_newest(p);
    p->stats.waiting += len;
    if (last && last->buffer == p->fill && last->data + last->len == data) {
        last->len += len;
        return;
    }
    trace_buffer_hold(p->fill);
    pipeline_append(p, &(struct pipeline_slot){.buffer = p->fill, .data = data, .len = len});
}

static bool pipeline_room_for(struct pipeline *p, size_t len, bool wait)
{
    /* Full once, it must be half empty again: else each transfer that just fits between two that do
     * not makes a gap of its own. */
    size_t most = p->overrun ? p->config.ring_bytes / 2 : p->config.ring_bytes;
    size_t slots = p->slot_max - 2 - len / TRACE_BUFFER_SIZE;
    while ((p->stats.waiting && p->stats.waiting + len > most) || p->pushed - p->taken > slots) {
        if (!wait)
            return false;
        uv_cond_wait(&p->emptied, &p->ring);
    }
    return true;
}

/* The capture side. */

uint8_t *pipeline_room(struct pipeline *p, size_t least, size_t *size)
{
    if (p->fill && trace_buffer_is_own(p->fill))
        p->used = 0;
    if (!p->fill || TRACE_BUFFER_SIZE - p->used < least) {
        trace_buffer_release(p->fill);
        p->fill = trace_pool_take(p->pool);
        p->used = 0;
    }
    *size = p->fill ? TRACE_BUFFER_SIZE - p->used : sizeof p->waste;
    return p->fill ? p->fill->bytes + p->used : p->waste;
}

/* The first of `*len` bytes in a buffer, where they may be already; *len: how many. NULL: out of
 * memory. */
static const uint8_t *pipeline_place(struct pipeline *p, const uint8_t *data, size_t *len)
{
    if (data == p->waste)
        return NULL;
    const uint8_t *there = p->fill ? p->fill->bytes + p->used : NULL;
    if (data != there) {
        size_t size, least = *len < TRACE_ROOM ? *len : TRACE_ROOM;
        uint8_t *room = pipeline_room(p, least, &size);
        if (room == p->waste)
            return NULL;
        *len = *len < size ? *len : size;
        memcpy(room, data, *len);
        there = room;
    }
    p->used += *len;
    return there;
}

bool pipeline_push(struct pipeline *p, const uint8_t *data, size_t len, bool wait)
{
    uv_mutex_lock(&p->ring);
    bool taken = pipeline_room_for(p, len, false);
    if (!taken && !wait)
        pipeline_drop(p, len);
    taken = taken || wait;
    p->overrun = !taken;
    uv_mutex_unlock(&p->ring);
    for (size_t n; len > 0; data += n, len -= n) {
        n = len;
        const uint8_t *there = pipeline_place(p, data, &n);
        if (p->config.tap)
            p->config.tap(p->config.tap_ctx, there ? p->fill : NULL, there, n);
        uv_mutex_lock(&p->ring);
        if (taken && there && pipeline_room_for(p, n, true))
            pipeline_append_bytes(p, there, n);
        else if (taken)
            pipeline_drop(p, n);
        uv_mutex_unlock(&p->ring);
    }
    return taken;
}

void pipeline_lost(struct pipeline *p, enum bt_gap_cause cause, uint64_t bytes)
{
    uv_mutex_lock(&p->ring);
    pipeline_append_loss(p, cause, bytes, bytes != 0);
    uv_mutex_unlock(&p->ring);
}

bool pipeline_drain(struct pipeline *p, unsigned timeout_ms)
{
    uint64_t deadline = uv_hrtime() + (uint64_t)timeout_ms * 1000000;
    uv_mutex_lock(&p->ring);
    uint64_t goal = p->pushed;
    bool done;
    while (!(done = p->decoded >= goal)) {
        uint64_t now = uv_hrtime();
        if (now >= deadline || uv_cond_timedwait(&p->emptied, &p->ring, deadline - now) != 0)
            break;
    }
    done = p->decoded >= goal;
    uv_mutex_unlock(&p->ring);
    return done;
}

void pipeline_lock(struct pipeline *p)
{
    if (!p)
        return;
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
    if (p)
        uv_mutex_unlock(&p->store);
}

void pipeline_stats(struct pipeline *p, struct pipeline_stats *stats)
{
    pipeline_lock(p); /* for `seen`, which the decode thread writes along with the histories */
    uv_mutex_lock(&p->ring);
    *stats = p->stats;
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
    if (p->config.threads < 2 || p->config.source_count == 0)
        return BT_OK;
    bool cuts =
        !p->config.history.checkpoint_bytes || p->config.history.checkpoint_bytes >= CUT_LEAST;
    return decode_pool_new(p->config.threads, cuts, p->histories, p->config.source_count,
                           &p->decoders);
}

int pipeline_new(const struct pipeline_config *config, struct pipeline **out)
{
    *out = NULL;
    unsigned sources = config->source_count + (config->passed.trace_id != 0);
    bool fits = config->source_count <= PIPELINE_MAX_SOURCES && sources > 0 &&
                (config->formatted || sources == 1);
    if (!fits)
        return BT_ERR_INVAL;
    struct pipeline *p = calloc(1, sizeof *p);
    if (!p)
        return BT_ERR_NOMEM;
    p->config = *config;
    if (!p->config.ring_bytes)
        p->config.ring_bytes = DEFAULT_RING;
    /* Slots of less than that follow each other in one buffer. */
    p->slot_max = SPARE_SLOTS + 2 * (p->config.ring_bytes / (TRACE_BUFFER_SIZE - TRACE_ROOM));
    p->slots = calloc(p->slot_max, sizeof *p->slots);
    p->pool = trace_pool_new();
    formatter_init(&p->formatter, config->mode);
    uv_mutex_init(&p->ring);
    uv_mutex_init(&p->store);
    uv_cond_init(&p->filled);
    uv_cond_init(&p->emptied);
    int error = p->slots && p->pool ? pipeline_make_histories(p) : BT_ERR_NOMEM;
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
    decode_pool_free(p->decoders);
    for (unsigned i = 0; i < p->config.source_count; i++)
        history_free(p->histories[i]);
    trace_buffer_release(p->fill);
    trace_pool_free(p->pool);
    free(p->slots);
    uv_cond_destroy(&p->emptied);
    uv_cond_destroy(&p->filled);
    uv_mutex_destroy(&p->store);
    uv_mutex_destroy(&p->ring);
    free(p);
}
