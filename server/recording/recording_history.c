/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/recording_history.h"

#include "decoder/base/search.h"

#include <stdlib.h>
#include <string.h>

#define PIECE      (64u << 10) /* raw bytes between two calls of `piece` */
#define PLACES_MIN 64
#define LOOK       (1u << 20) /* raw bytes that tell how a port's stream is stored */

/* A run of trace ID `id` belongs to the source of ID `wanted`; 0: of all, they are one thread's. */
static bool is_of_source(unsigned id, unsigned wanted)
{
    return id == wanted || (wanted == 0 && id <= FORMATTER_ID_MAX);
}

/* Frames begin anew; the counts go on. */
static void recording_anew(struct formatter *f)
{
    f->id = FORMATTER_ID_UNKNOWN;
    f->fill = 0;
    f->half = f->want_sync_tail = false;
}

struct feed {
    const struct recording_sink *sink;
    struct progress *progress;
    unsigned id;
    int error;
};

static void on_feed_run(void *ctx, const struct formatter_run *run)
{
    struct feed *f = ctx;
    if (f->error)
        return;
    if (run->kind == FORMATTER_LOSS)
        f->error = f->sink->gap(f->sink->ctx, BT_GAP_WIRE);
    else if (run->kind == FORMATTER_DATA && is_of_source(run->id, f->id))
        f->error = f->sink->data(f->sink->ctx, run->data, run->len);
    else if (run->kind == FORMATTER_DATA && f->sink->other)
        f->error = f->sink->other(f->sink->ctx, run->id, run->data, run->len);
}

static int recording_feed_gap(const struct recording_sink *sink, uint8_t cause)
{
    return cause == BT_GAP_NONE ? BT_OK : sink->gap(sink->ctx, (enum bt_gap_cause)cause);
}

/* Bytes [at, end) of a file. */
static int feed_file(struct recording *r, const struct recording_source *source, size_t file,
                     const uint8_t *data, uint64_t at, uint64_t end, struct feed *f,
                     struct recording_pass *pass)
{
    for (; at < end && !f->error; at += PIECE) {
        size_t len = end - at < PIECE ? (size_t)(end - at) : PIECE;
        f->error = recording_need(r, source, file, at, at + len);
        if (!f->error && f->sink->piece)
            f->error = f->sink->piece(f->sink->ctx, file, at, &pass->formatter);
        if (f->error)
            break;
        if (source->buffer->format == SNAPSHOT_FORMAT_SOURCE_DATA)
            f->error = f->sink->data(f->sink->ctx, data + at, len);
        else
            formatter_feed(&pass->formatter, data + at, len, on_feed_run, f);
        pass->raw_bytes += len;
        progress_add(f->progress, len);
        if (!source->ordered)
            snapshot_give_back(r->snapshot, source->buffer, file, at, at + len);
    }
    return f->error;
}

/* A port's stream is stored as it came, or by a DSTREAM in blocks, under the same name. */
static int recording_mode(struct recording *r, const struct snapshot_buffer *buffer,
                          enum formatter_mode *mode)
{
    const uint8_t *data;
    uint64_t size;
    *mode = FORMATTER_ALIGNED;
    if (buffer->format != SNAPSHOT_FORMAT_DSTREAM_CORESIGHT)
        return BT_OK;
    int error = snapshot_map_buffer(r->snapshot, buffer, 0, &data, &size);
    size = size < LOOK ? size : LOOK;
    if (!error)
        error = snapshot_need(r->snapshot, buffer, 0, 0, size);
    if (!error)
        *mode = formatter_find_blocks(data, (size_t)size);
    return error;
}

int recording_range_init(struct recording *r, const struct recording_source *source, uint64_t from,
                         struct recording_pass *pass)
{
    struct recording_pass first = {.formatted =
                                       source->buffer->format != SNAPSHOT_FORMAT_SOURCE_DATA};
    enum formatter_mode mode;
    int error = recording_mode(r, source->buffer, &mode);
    first.formatter.mode = (uint8_t)mode;
    recording_range_like(&first, from, pass);
    return error;
}

void recording_range_like(const struct recording_pass *other, uint64_t from,
                          struct recording_pass *pass)
{
    memset(pass, 0, sizeof *pass);
    pass->formatted = other->formatted;
    formatter_init(&pass->formatter, (enum formatter_mode)other->formatter.mode);
    pass->formatter.offset = from;
}

int recording_feed_range(struct recording *r, const struct recording_source *source, uint64_t from,
                         uint64_t to, const struct recording_sink *sink,
                         struct recording_pass *pass)
{
    struct feed f = {sink, r->progress, source->trace_id, BT_OK};
    uint64_t start = 0; /* of the file */
    pass->formatter.in_turn = sink->other;
    for (size_t i = 0; i < source->buffer->file_count && start < to; i++) {
        const uint8_t *data;
        uint64_t size;
        int error = recording_map(r, source, i, &data, &size);
        if (!error && start >= from) {
            error = recording_feed_gap(sink, source->buffer->files[i].before);
            if (source->buffer->files[i].anew)
                recording_anew(&pass->formatter);
        }
        uint64_t at = from > start ? from - start : 0;
        uint64_t end = to - start < size ? to - start : size;
        if (!error && at < end)
            error = feed_file(r, source, i, data, at, end, &f, pass);
        if (error)
            return error;
        start += size;
    }
    return BT_OK;
}

int recording_feed(struct recording *r, const struct recording_source *source,
                   const struct recording_sink *sink, struct recording_pass *pass)
{
    int error = recording_range_init(r, source, 0, pass);
    return error ? error : recording_feed_range(r, source, 0, UINT64_MAX, sink, pass);
}

static void recording_index_init(struct recording_index *x, size_t limit)
{
    memset(x, 0, sizeof *x);
    x->limit = limit ? limit : RECORDING_PLACES;
    x->every = 1;
}

static void recording_index_release(struct recording_index *x)
{
    free(x->places);
    memset(x, 0, sizeof *x);
}

static bool recording_index_grow(struct recording_index *x)
{
    size_t max = x->max ? x->max * 2 : PLACES_MIN;
    if (max > x->limit)
        max = x->limit;
    struct recording_place *grown = realloc(x->places, max * sizeof *grown);
    if (!grown)
        return false;
    x->places = grown;
    x->max = max;
    return true;
}

static void recording_index_thin(struct recording_index *x)
{
    x->count = (x->count + 1) / 2;
    for (size_t i = 1; i < x->count; i++)
        x->places[i] = x->places[2 * i];
    x->every *= 2;
}

/* The source's next place; `offset` and place never go back. BT_ERR_NOMEM. */
static int recording_index_add(struct recording_index *x, const struct recording_place *place)
{
    if (x->count == x->limit && x->seen % x->every == 0)
        recording_index_thin(x);
    if (x->seen % x->every == 0) {
        if (x->count == x->max && !recording_index_grow(x))
            return BT_ERR_NOMEM;
        x->places[x->count++] = *place;
    }
    x->seen++;
    return BT_OK;
}

/* The nearest place at or before `offset`; the index is not empty. */
static const struct recording_place *recording_index_find(const struct recording_index *x,
                                                          uint64_t offset)
{
    size_t low;
    SEARCH_LAST(low, x->count, x->places[low].offset <= offset);
    return &x->places[low];
}

#define SLICE 4096u /* raw bytes taken apart at a time when reading back */

static int on_data(void *ctx, const uint8_t *data, size_t len)
{
    struct recording_history *rh = ctx;
    return history_append(rh->history, data, len);
}

static int on_gap(void *ctx, enum bt_gap_cause cause)
{
    struct recording_history *rh = ctx;
    return history_gap(rh->history, cause, 0);
}

static int on_piece(void *ctx, size_t file, uint64_t at, const struct formatter *f)
{
    struct recording_history *rh = ctx;
    struct history_totals totals;
    history_totals(rh->history, &totals);
    const struct recording_place place = {totals.bytes, at, file, *f};
    return recording_index_add(&rh->index, &place);
}

/* Reading back. */

/* Bytes [from, from + len) of the source's stream are wanted in `out`. */
struct want {
    uint8_t *out;
    uint64_t from;
    size_t len;
    uint64_t offset; /* of the next byte that the formatter gives */
    unsigned id;
};

static void want_take_bytes(struct want *w, const uint8_t *data, size_t len)
{
    uint64_t begin = w->offset > w->from ? w->offset : w->from;
    uint64_t end = w->offset + len < w->from + w->len ? w->offset + len : w->from + w->len;
    if (end > begin)
        memcpy(w->out + (begin - w->from), data + (begin - w->offset), (size_t)(end - begin));
    w->offset += len;
}

static void on_wanted_run(void *ctx, const struct formatter_run *run)
{
    struct want *w = ctx;
    if (run->kind == FORMATTER_DATA && is_of_source(run->id, w->id))
        want_take_bytes(w, run->data, run->len);
}

/* The nearest place at or before `offset`. */
static void recording_history_find_place(struct recording_history *rh, uint64_t offset)
{
    const struct recording_place *p = recording_index_find(&rh->index, offset);
    bool nearer = rh->near.offset <= offset && rh->near.offset >= p->offset;
    if (!nearer)
        rh->near = *p;
}

/* The piece that ends at `end`; one that is looked at again soon is still in the file cache. */
static void recording_history_give_back(struct recording_history *rh, size_t file, uint64_t end)
{
    const struct recording_source *source = rh->source;
    if (!source->ordered && end)
        snapshot_give_back(rh->recording->snapshot, source->buffer, file, (end - 1) / PIECE * PIECE,
                           end);
}

static int recording_history_read(void *ctx, uint64_t offset, uint8_t *out, size_t len)
{
    struct recording_history *rh = ctx;
    const struct snapshot_buffer *buffer = rh->source->buffer;
    if (rh->index.count == 0)
        return BT_ERR_RANGE;
    recording_history_find_place(rh, offset);
    struct recording_place a = rh->near;
    struct want w = {out, offset, len, a.offset, rh->source->trace_id};
    while (w.offset < offset + len) {
        const uint8_t *data;
        uint64_t size;
        int error = recording_map(rh->recording, rh->source, a.file, &data, &size);
        if (error)
            return error;
        if (a.at == size) {
            a.file++;
            a.at = 0;
            if (a.file < buffer->file_count && buffer->files[a.file].anew)
                recording_anew(&a.formatter);
            continue;
        }
        /* The next read begins where this one ends: at the latest inside this slice. */
        a.offset = w.offset;
        rh->near = a;
        size_t slice = size - a.at < SLICE ? (size_t)(size - a.at) : SLICE;
        error = recording_need(rh->recording, rh->source, a.file, a.at, a.at + slice);
        if (error)
            return error;
        if (rh->pass.formatted)
            formatter_feed(&a.formatter, data + a.at, slice, on_wanted_run, &w);
        else
            want_take_bytes(&w, data + a.at, slice);
        a.at += slice;
        if (a.at % PIECE == 0 || a.at == size)
            recording_history_give_back(rh, a.file, a.at);
    }
    return BT_OK;
}

/* From mark to mark, then the rest. */
static int feed_marked(struct recording_history *rh, const struct recording_marks *marks)
{
    const struct recording_sink sink = {
        .data = on_data, .gap = on_gap, .piece = on_piece, .ctx = rh};
    uint64_t from = 0;
    int error = recording_range_init(rh->recording, rh->source, 0, &rh->pass);
    for (size_t i = 0; marks && i < marks->count && !error; i++) {
        if (marks->bytes[i] < from || marks->bytes[i] > recording_bytes(rh->source))
            continue;
        error = recording_feed_range(rh->recording, rh->source, from, marks->bytes[i], &sink,
                                     &rh->pass);
        from = marks->bytes[i];
        if (!error)
            error = marks->reached(marks->ctx, i, rh->history);
    }
    return error ? error
                 : recording_feed_range(rh->recording, rh->source, from, UINT64_MAX, &sink,
                                        &rh->pass);
}

int recording_history_prepare(struct recording_history *rh, struct recording *r,
                              const struct recording_source *source,
                              const struct recording_history_limits *limits)
{
    static const struct recording_history_limits defaults = {0};
    const struct recording_history_limits *l = limits ? limits : &defaults;
    struct history_config config = {.checkpoint_bytes = l->checkpoint_bytes,
                                    .max_checkpoints = l->max_checkpoints,
                                    .max_states = l->max_states,
                                    .read = recording_history_read,
                                    .read_ctx = rh};
    memset(rh, 0, sizeof *rh);
    recording_index_init(&rh->index, l->places);
    rh->recording = r;
    rh->source = source;
    return history_new(&config, &source->config, source->image, &rh->history);
}

int recording_history_init(struct recording_history *rh, struct recording *r,
                           const struct recording_source *source,
                           const struct recording_history_limits *limits,
                           const struct recording_marks *marks)
{
    int error = recording_history_prepare(rh, r, source, limits);
    if (error)
        return error;
    error = feed_marked(rh, marks);
    if (error)
        return error;
    history_finish(rh->history);
    if (rh->index.count)
        rh->near = rh->index.places[0];
    return BT_OK;
}

void recording_history_release(struct recording_history *rh)
{
    history_free(rh->history);
    recording_index_release(&rh->index);
    memset(rh, 0, sizeof *rh);
}
