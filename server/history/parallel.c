/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/parallel.h"

#include "decoder/base/array.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define PIECE_BYTES (1u << 20)
#define MARKS       10 /* places where states are compared: 1/1024 of a piece, 1/512, 1/256 ... */
#define OUT_BLOCKS  4096
#define OUT_EVENTS  1024

/* State at a place of a piece, and how much had been put out there. */
struct piece_mark {
    size_t at; /* bytes of the piece */
    size_t block_count;
    size_t event_count;
    struct stream state;
};

struct piece {
    uint64_t offset; /* of the first byte in the source's stream */
    size_t len;
    bool done;
    int error;
    unsigned mark_count;
    struct stream end;
    struct bt_block *blocks;
    uint64_t *cycles;
    struct bt_event *events;
    size_t block_count, block_max;
    size_t event_count, event_max;
    struct piece_mark marks[MARKS];
    uint8_t bytes[];
};

struct parallel {
    struct stream_config config;
    const struct code_image *image;
    struct stream *exact;
    struct stream_sink *sink;
    bool want_blocks;
    bool stop;
    size_t piece_bytes;
    uint64_t *joined; /* of the options */
    unsigned thread_count;
    unsigned started;
    uv_thread_t *threads;
    uv_mutex_t lock;
    uv_cond_t work; /* a piece was submitted, or stop */
    uv_cond_t done; /* a piece is done */
    /* Pieces go round: [tail, taken) with workers or done, [taken, head) waiting,
     * head is filled. */
    struct piece **ring;
    unsigned ring_size;
    uint64_t tail, taken, head;
};

struct worker_out {
    struct piece *piece;
    bool want_blocks;
    struct bt_block blocks[OUT_BLOCKS];
    uint64_t cycles[OUT_BLOCKS];
    struct bt_event events[OUT_EVENTS];
};

/* Behind the `count` items that are there already. */
static bool keep_items(void *array, const void *items, size_t count, size_t more, size_t *max,
                       size_t size)
{
    char *kept;
    if (!array_room_for(array, count, max, more, size))
        return false;
    memcpy(&kept, array, sizeof kept);
    memcpy(kept + count * size, items, more * size);
    return true;
}

static void keep_blocks(struct piece *p, const struct flow_out *out)
{
    size_t count = p->block_count, more = out->block_count, max = p->block_max;
    if (keep_items(&p->blocks, out->blocks, count, more, &max, sizeof *p->blocks) &&
        keep_items(&p->cycles, out->cycles, count, more, &p->block_max, sizeof *p->cycles))
        p->block_count += more;
    else
        p->error = BT_ERR_NOMEM;
}

static void keep_events(struct piece *p, const struct flow_out *out)
{
    size_t more = out->event_count;
    if (keep_items(&p->events, out->events, p->event_count, more, &p->event_max, sizeof *p->events))
        p->event_count += more;
    else
        p->error = BT_ERR_NOMEM;
}

static void keep_output(void *ctx, struct flow_out *out)
{
    struct worker_out *w = ctx;
    if (w->want_blocks && out->block_count)
        keep_blocks(w->piece, out);
    if (out->event_count)
        keep_events(w->piece, out);
    out->block_count = 0;
    out->event_count = 0;
}

static void note_mark(struct piece *p, size_t at, const struct stream *s)
{
    struct piece_mark *m = &p->marks[p->mark_count++];
    m->at = at;
    m->block_count = p->block_count;
    m->event_count = p->event_count;
    stream_save(s, &m->state);
}

static void decode_piece(const struct parallel *par, struct piece *p, struct worker_out *w,
                         struct code_cache *code)
{
    struct stream s;
    struct stream_sink sink = {.out = {.blocks = w->blocks,
                                       .cycles = w->want_blocks ? w->cycles : NULL,
                                       .events = w->events,
                                       .block_max = OUT_BLOCKS,
                                       .event_max = OUT_EVENTS},
                               .flush = keep_output,
                               .ctx = w};
    w->piece = p;
    p->block_count = p->event_count = 0;
    p->mark_count = 0;
    p->error = BT_OK;
    stream_init(&s, &par->config, code);
    stream_start_at(&s, p->offset);
    size_t at = 0;
    for (size_t mark = par->piece_bytes >> MARKS; mark < p->len && p->mark_count < MARKS;
         mark *= 2) {
        stream_feed(&s, p->bytes + at, mark - at, &sink);
        keep_output(w, &sink.out);
        at = mark;
        note_mark(p, at, &s);
    }
    stream_feed(&s, p->bytes + at, p->len - at, &sink);
    keep_output(w, &sink.out);
    stream_save(&s, &p->end);
}

static struct piece *next_piece(struct parallel *par)
{
    while (par->taken == par->head && !par->stop)
        uv_cond_wait(&par->work, &par->lock);
    return par->taken == par->head ? NULL : par->ring[par->taken++ % par->ring_size];
}

static void decode_pieces(void *arg)
{
    struct parallel *par = arg;
    struct code_options options;
    struct code_cache code;
    struct worker_out *w = malloc(sizeof *w);
    stream_code_options(&par->config, &options);
    code_cache_init(&code, par->image, &options);
    if (w)
        w->want_blocks = par->want_blocks;
    uv_mutex_lock(&par->lock);
    for (struct piece *p; (p = next_piece(par));) {
        uv_mutex_unlock(&par->lock);
        if (w)
            decode_piece(par, p, w, &code);
        else
            p->error = BT_ERR_NOMEM;
        uv_mutex_lock(&par->lock);
        p->done = true;
        uv_cond_signal(&par->done);
    }
    uv_mutex_unlock(&par->lock);
    code_cache_release(&code);
    free(w);
}

/* Joining, in the caller's thread. */

static void flush_exact(struct parallel *par)
{
    par->sink->flush(par->sink->ctx, &par->sink->out);
}

/* Decodes the head from the true state up to the first mark where both are the same. */
static const struct piece_mark *find_join(struct parallel *par, const struct piece *p, size_t *at)
{
    for (unsigned i = 0; i < p->mark_count; i++) {
        const struct piece_mark *m = &p->marks[i];
        stream_feed(par->exact, p->bytes + *at, m->at - *at, par->sink);
        *at = m->at;
        if (stream_same(par->exact, &m->state, &p->end))
            return m;
    }
    return NULL;
}

static void take_over(struct parallel *par, struct piece *p, const struct piece_mark *m)
{
    uint64_t moved = stream_instructions(par->exact) - stream_instructions(&m->state);
    for (size_t i = m->event_count; i < p->event_count; i++)
        p->events[i].position += moved;
    struct flow_out out = {.blocks = p->blocks ? p->blocks + m->block_count : NULL,
                           .cycles = p->cycles ? p->cycles + m->block_count : NULL,
                           .events = p->events ? p->events + m->event_count : NULL,
                           .block_count = p->block_count - m->block_count,
                           .event_count = p->event_count - m->event_count};
    flush_exact(par);
    par->sink->flush(par->sink->ctx, &out);
    stream_take_over(par->exact, &m->state, &p->end);
}

static int join_piece(struct parallel *par, struct piece *p)
{
    size_t at = 0;
    if (p->error)
        return p->error;
    const struct piece_mark *m = find_join(par, p, &at);
    if (m) {
        take_over(par, p, m);
        if (par->joined)
            ++*par->joined;
        return BT_OK;
    }
    stream_feed(par->exact, p->bytes + at, p->len - at, par->sink);
    flush_exact(par);
    return BT_OK;
}

/* Waits for the oldest piece and joins it. */
static int collect_piece(struct parallel *par)
{
    struct piece *p = par->ring[par->tail % par->ring_size];
    uv_mutex_lock(&par->lock);
    while (!p->done)
        uv_cond_wait(&par->done, &par->lock);
    uv_mutex_unlock(&par->lock);
    int error = join_piece(par, p);
    p->done = false;
    par->tail++;
    return error;
}

static void submit_piece(struct parallel *par)
{
    uv_mutex_lock(&par->lock);
    par->head++;
    uv_cond_signal(&par->work);
    uv_mutex_unlock(&par->lock);
}

int parallel_feed(struct parallel *par, const uint8_t *data, size_t len)
{
    while (len > 0) {
        struct piece *p = par->ring[par->head % par->ring_size];
        size_t room = par->piece_bytes - p->len, n = room < len ? room : len;
        if (p->len == 0) {
            bool before = par->head > par->tail;
            const struct piece *last = par->ring[(par->head - 1) % par->ring_size];
            p->offset = before ? last->offset + last->len : stream_offset(par->exact);
        }
        memcpy(p->bytes + p->len, data, n);
        p->len += n;
        data += n;
        len -= n;
        if (p->len < par->piece_bytes)
            continue;
        submit_piece(par);
        if (par->head - par->tail == par->ring_size) { /* the slot to be filled next is in use */
            int error = collect_piece(par);
            if (error)
                return error;
        }
        par->ring[par->head % par->ring_size]->len = 0;
    }
    return BT_OK;
}

int parallel_drain(struct parallel *par)
{
    if (par->ring[par->head % par->ring_size]->len)
        submit_piece(par);
    while (par->tail < par->head) {
        int error = collect_piece(par);
        if (error)
            return error;
    }
    par->ring[par->head % par->ring_size]->len = 0;
    return BT_OK;
}

static bool make_ring(struct parallel *par)
{
    par->ring_size = par->thread_count + 2;
    par->ring = calloc(par->ring_size, sizeof *par->ring);
    par->threads = calloc(par->thread_count, sizeof *par->threads);
    if (!par->ring || !par->threads)
        return false;
    for (unsigned i = 0; i < par->ring_size; i++) {
        par->ring[i] = malloc(sizeof *par->ring[i] + par->piece_bytes);
        if (!par->ring[i])
            return false;
        memset(par->ring[i], 0, offsetof(struct piece, marks));
    }
    return true;
}

struct parallel *parallel_new(const struct parallel_options *options,
                              const struct stream_config *config, const struct code_image *image,
                              struct stream *exact, struct stream_sink *sink)
{
    struct parallel *par = stream_can_join(config) ? calloc(1, sizeof *par) : NULL;
    if (!par)
        return NULL;
    par->config = *config;
    par->image = image;
    par->exact = exact;
    par->sink = sink;
    par->want_blocks = options->want_blocks;
    par->joined = options->joined;
    par->thread_count = options->threads;
    par->piece_bytes = options->piece_bytes ? options->piece_bytes : PIECE_BYTES;
    uv_mutex_init(&par->lock);
    uv_cond_init(&par->work);
    uv_cond_init(&par->done);
    bool ok = make_ring(par);
    for (unsigned i = 0; ok && i < par->thread_count; i++) {
        ok = uv_thread_create(&par->threads[i], decode_pieces, par) == 0;
        par->started += ok;
    }
    if (ok)
        return par;
    parallel_free(par);
    return NULL;
}

void parallel_free(struct parallel *par)
{
    if (!par)
        return;
    uv_mutex_lock(&par->lock);
    par->stop = true;
    uv_cond_broadcast(&par->work);
    uv_mutex_unlock(&par->lock);
    for (unsigned i = 0; i < par->started; i++)
        uv_thread_join(&par->threads[i]);
    for (unsigned i = 0; par->ring && i < par->ring_size; i++) {
        if (!par->ring[i])
            continue;
        free(par->ring[i]->blocks);
        free(par->ring[i]->cycles);
        free(par->ring[i]->events);
        free(par->ring[i]);
    }
    uv_cond_destroy(&par->done);
    uv_cond_destroy(&par->work);
    uv_mutex_destroy(&par->lock);
    free(par->ring);
    free(par->threads);
    free(par);
}
