/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of one trace source out of a recording's buffer. */
#include "server/recording/recording.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void recording_anew(struct formatter *f)
{
    f->id = FORMATTER_ID_UNKNOWN;
    f->fill = 0;
    f->half = f->want_sync_tail = false;
}

struct feed {
    const struct recording_sink *sink;
    unsigned id;
    int error;
};

static void take_run(void *ctx, const struct formatter_run *run)
{
    struct feed *f = ctx;
    if (f->error)
        return;
    if (run->kind == FORMATTER_LOSS)
        f->error = f->sink->loss(f->sink->ctx);
    else if (run->kind == FORMATTER_DATA && recording_is_of(run->id, f->id))
        f->error = f->sink->data(f->sink->ctx, run->data, run->len);
}

void recording_give_back(const uint8_t *data, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)data / page * page;
    uintptr_t end = ((uintptr_t)data + len) / page * page;
    if (end > begin)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static int report_gap(const struct recording_sink *sink, uint8_t cause)
{
    if (cause == BT_GAP_NONE)
        return BT_OK;
    return sink->gap ? sink->gap(sink->ctx, (enum bt_gap_cause)cause) : sink->loss(sink->ctx);
}

static int feed_file(const struct recording_source *source, size_t file, const uint8_t *data,
                     uint64_t size, struct feed *f, struct recording_pass *pass)
{
    for (uint64_t at = 0; at < size && !f->error; at += RECORDING_PIECE) {
        size_t len = size - at < RECORDING_PIECE ? (size_t)(size - at) : RECORDING_PIECE;
        if (f->sink->piece)
            f->error = f->sink->piece(f->sink->ctx, file, at, &pass->formatter);
        if (f->error)
            break;
        if (source->buffer->format == SNAPSHOT_FORMAT_SOURCE_DATA)
            f->error = f->sink->data(f->sink->ctx, data + at, len);
        else
            formatter_feed(&pass->formatter, data + at, len, take_run, f);
        pass->raw_bytes += len;
        recording_give_back(data + at, len);
    }
    return f->error;
}

int recording_feed(struct recording *r, const struct recording_source *source,
                   const struct recording_sink *sink, struct recording_pass *pass)
{
    struct feed f = {sink, source->trace_id, BT_OK};
    memset(pass, 0, sizeof *pass);
    pass->formatted = source->buffer->format != SNAPSHOT_FORMAT_SOURCE_DATA;
    bool aligned = source->buffer->format == SNAPSHOT_FORMAT_CORESIGHT;
    formatter_init(&pass->formatter, aligned ? FORMATTER_ALIGNED : FORMATTER_SYNC);
    for (size_t i = 0; i < source->buffer->file_count; i++) {
        const uint8_t *data;
        uint64_t size;
        int error = snapshot_map_buffer(r->snapshot, source->buffer, i, &data, &size);
        if (!error)
            error = report_gap(sink, source->buffer->files[i].before);
        if (source->buffer->files[i].anew)
            recording_anew(&pass->formatter);
        if (!error)
            error = feed_file(source, i, data, size, &f, pass);
        if (error)
            return error;
    }
    return BT_OK;
}
