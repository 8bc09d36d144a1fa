/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_unpack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define ROOM_MIN (256u << 10)

struct perf_unpack {
    ZSTD_DCtx *stream;
    uint64_t total;
    size_t kept;
    uint8_t rest[PERF_RECORD_MAX];
};

struct perf_unpack *perf_unpack_new(void)
{
    struct perf_unpack *u = calloc(1, sizeof *u);
    if (u && !(u->stream = ZSTD_createDCtx())) {
        free(u);
        return NULL;
    }
    return u;
}

void perf_unpack_free(struct perf_unpack *u)
{
    if (u)
        ZSTD_freeDCtx(u->stream);
    free(u);
}

int perf_unpack_piece(struct perf_unpack *u, const uint8_t *packed, size_t length, uint8_t **out,
                      size_t *out_length)
{
    ZSTD_inBuffer in = {packed, length, 0};
    ZSTD_outBuffer to = {malloc(ROOM_MIN), ROOM_MIN, u->kept};
    int error = to.dst ? BT_OK : BT_ERR_NOMEM;
    if (!error)
        memcpy(to.dst, u->rest, u->kept);
    for (bool full = false; !error && (in.pos < in.size || full);) {
        size_t result = ZSTD_decompressStream(u->stream, &to, &in);
        full = to.pos == to.size;
        if (ZSTD_isError(result))
            error = BT_ERR_FORMAT;
        else if (u->total + to.pos > PERF_UNPACKED_MAX)
            error = BT_ERR_RANGE;
        else if (full) {
            void *grown = realloc(to.dst, 2 * to.size);
            error = grown ? BT_OK : BT_ERR_NOMEM;
            to.dst = grown ? grown : to.dst;
            to.size *= 2;
        }
    }
    if (error) {
        free(to.dst);
        return error;
    }
    u->total += to.pos;
    u->kept = 0;
    *out = to.dst;
    *out_length = to.pos;
    return BT_OK;
}

void perf_unpack_keep(struct perf_unpack *u, const uint8_t *bytes, size_t length)
{
    memcpy(u->rest, bytes, length);
    u->kept = length;
}

size_t perf_unpack_kept(const struct perf_unpack *u)
{
    return u->kept;
}
