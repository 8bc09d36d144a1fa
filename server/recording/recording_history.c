/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/recording_history.h"

#include <string.h>

#define SLICE 4096u /* raw bytes taken apart at a time when reading back */

static int on_data(void *ctx, const uint8_t *data, size_t len)
{
    struct recording_history *rh = ctx;
    return history_append(rh->history, data, len);
}

static int on_loss(void *ctx)
{
    struct recording_history *rh = ctx;
    return history_gap(rh->history, BT_GAP_WIRE, 0);
}

static int on_gap(void *ctx, enum bt_gap_cause cause)
{
    struct recording_history *rh = ctx;
    return history_gap(rh->history, cause, 0);
}

static int on_piece(void *ctx, size_t file, uint64_t at, const struct formatter *f)
{
    struct recording_history *rh = ctx;
    const struct recording_place place = {history_bytes(rh->history), at, file, *f};
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

static void take_bytes(struct want *w, const uint8_t *data, size_t len)
{
    uint64_t begin = w->offset > w->from ? w->offset : w->from;
    uint64_t end = w->offset + len < w->from + w->len ? w->offset + len : w->from + w->len;
    if (end > begin)
        memcpy(w->out + (begin - w->from), data + (begin - w->offset), (size_t)(end - begin));
    w->offset += len;
}

static void take_run(void *ctx, const struct formatter_run *run)
{
    struct want *w = ctx;
    if (run->kind == FORMATTER_DATA && recording_is_of(run->id, w->id))
        take_bytes(w, run->data, run->len);
}

/* The nearest place at or before `offset`. */
static void find_place(struct recording_history *rh, uint64_t offset)
{
    const struct recording_place *p = recording_index_find(&rh->index, offset);
    bool nearer = rh->near.offset <= offset && rh->near.offset >= p->offset;
    if (!nearer)
        rh->near = *p;
}

/* The piece that ends at `end`; one that is looked at again soon is still in the file cache. */
static void give_back(const uint8_t *data, uint64_t end)
{
    uint64_t begin = (end - 1) / RECORDING_PIECE * RECORDING_PIECE;
    recording_give_back(data + begin, (size_t)(end - begin));
}

static int read_back(void *ctx, uint64_t offset, uint8_t *out, size_t len)
{
    struct recording_history *rh = ctx;
    const struct snapshot_buffer *buffer = rh->source->buffer;
    if (rh->index.count == 0)
        return BT_ERR_RANGE;
    find_place(rh, offset);
    struct recording_place a = rh->near;
    struct want w = {out, offset, len, a.offset, rh->source->trace_id};
    while (w.offset < offset + len) {
        const uint8_t *data;
        uint64_t size;
        int error = snapshot_map_buffer(rh->recording->snapshot, buffer, a.file, &data, &size);
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
        if (rh->pass.formatted)
            formatter_feed(&a.formatter, data + a.at, slice, take_run, &w);
        else
            take_bytes(&w, data + a.at, slice);
        a.at += slice;
        if (a.at % RECORDING_PIECE == 0 || a.at == size)
            give_back(data, a.at);
    }
    return BT_OK;
}

int recording_history_init(struct recording_history *rh, struct recording *r,
                           const struct recording_source *source,
                           const struct recording_history_limits *limits)
{
    static const struct recording_history_limits defaults = {0};
    const struct recording_history_limits *l = limits ? limits : &defaults;
    struct history_config config = {.checkpoint_bytes = l->checkpoint_bytes,
                                    .max_checkpoints = l->max_checkpoints,
                                    .max_states = l->max_states,
                                    .read = read_back,
                                    .read_ctx = rh};
    memset(rh, 0, sizeof *rh);
    recording_index_init(&rh->index, l->places);
    rh->recording = r;
    rh->source = source;
    int error = history_new(&config, &source->config, source->image, &rh->history);
    if (error)
        return error;
    struct recording_sink sink = {
        .data = on_data, .loss = on_loss, .gap = on_gap, .piece = on_piece, .ctx = rh};
    error = recording_feed(r, source, &sink, &rh->pass);
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
