/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/zstd/zstd_writer.h"
#include "decoder/base/bytes.h"
#include "drivers/base/file_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "zstd_seek_table.h"

#define LEVEL 1 /* the disk's thread has a core that decodes beside it */

struct zstd_writer {
    ZSTD_CCtx *context;
    size_t fill;
    uint8_t *table; /* entries of the frames that are written */
    size_t frames, frames_max;
    size_t packed_max;
    uint8_t *packed;
    uint8_t bytes[ZSTD_WRITER_FRAME];
};

static void zstd_writer_free(struct zstd_writer *w)
{
    ZSTD_freeCCtx(w->context);
    free(w->table);
    free(w->packed);
    free(w);
}

struct zstd_writer *zstd_writer_new(void)
{
    struct zstd_writer *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->packed_max = ZSTD_compressBound(ZSTD_WRITER_FRAME);
    w->packed = malloc(w->packed_max);
    w->context = ZSTD_createCCtx();
    if (!w->packed || !w->context) {
        zstd_writer_free(w);
        errno = ENOMEM;
        return NULL;
    }
    ZSTD_CCtx_setParameter(w->context, ZSTD_c_compressionLevel, LEVEL);
    ZSTD_CCtx_setParameter(w->context, ZSTD_c_checksumFlag, 1);
    return w;
}

static int zstd_writer_note(struct zstd_writer *w, size_t packed)
{
    if (w->frames == w->frames_max) {
        size_t room = w->frames_max ? 2 * w->frames_max : 64;
        uint8_t *grown = reallocarray(w->table, room, 8);
        if (!grown) {
            errno = ENOMEM;
            return BT_ERR_IO;
        }
        w->table = grown;
        w->frames_max = room;
    }
    bytes_set_word(w->table + 8 * w->frames, (uint32_t)packed);
    bytes_set_word(w->table + 8 * w->frames++ + 4, (uint32_t)w->fill);
    return BT_OK;
}

int zstd_writer_flush(struct zstd_writer *w, int fd)
{
    if (!w->fill)
        return BT_OK;
    size_t packed = ZSTD_compress2(w->context, w->packed, w->packed_max, w->bytes, w->fill);
    if (ZSTD_isError(packed)) {
        errno = ENOMEM; /* all else cannot be, with this room */
        return BT_ERR_IO;
    }
    int error = zstd_writer_note(w, packed);
    if (!error)
        error = file_write_all(fd, w->packed, packed, NULL);
    w->fill = 0;
    return error;
}

int zstd_writer_append(struct zstd_writer *w, int fd, const void *data, size_t length)
{
    const uint8_t *p = data;
    while (length > 0) {
        size_t room = sizeof w->bytes - w->fill, n = room < length ? room : length;
        memcpy(w->bytes + w->fill, p, n);
        w->fill += n;
        p += n;
        length -= n;
        int error = w->fill == sizeof w->bytes ? zstd_writer_flush(w, fd) : BT_OK;
        if (error)
            return error;
    }
    return BT_OK;
}

static int zstd_writer_end(struct zstd_writer *w, int fd)
{
    uint8_t header[ZSTD_SEEK_HEADER], footer[ZSTD_SEEK_FOOTER] = {0};
    bytes_set_word(header, ZSTD_SEEK_SKIPPABLE);
    bytes_set_word(header + 4, (uint32_t)(8 * w->frames + sizeof footer));
    bytes_set_word(footer, (uint32_t)w->frames);
    bytes_set_word(footer + 5, ZSTD_SEEK_MAGIC);
    int error = file_write_all(fd, header, sizeof header, NULL);
    if (!error)
        error = file_write_all(fd, w->table, 8 * w->frames, NULL);
    return error ? error : file_write_all(fd, footer, sizeof footer, NULL);
}

int zstd_writer_close(struct zstd_writer *w, int fd)
{
    if (!w)
        return BT_OK;
    int error = zstd_writer_flush(w, fd);
    if (!error && w->frames)
        error = zstd_writer_end(w, fd);
    int saved = errno;
    zstd_writer_free(w);
    errno = saved;
    return error;
}
