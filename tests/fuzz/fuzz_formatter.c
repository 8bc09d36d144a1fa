/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes into the formatter; byte by byte gives the same sources as all at once. */
#include "tests/support/source_sums.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct source_sums sums;
    uint64_t bytes;
};

static void take(void *ctx, const struct formatter_run *run)
{
    struct outcome *d = ctx;
    if (run->kind != FORMATTER_DATA) {
        source_sums_mark(&d->sums, 1000u + run->kind);
        return;
    }
    if (run->id == 0 || run->id > FORMATTER_ID_MAX || run->len == 0)
        abort();
    for (uint32_t i = 0; i < run->len; i++)
        source_sums_add(&d->sums, run->id, run->data[i]);
    d->bytes += run->len;
}

static struct outcome decode(enum formatter_mode mode, const uint8_t *data, size_t size,
                             size_t step)
{
    struct formatter f;
    struct outcome d = {.bytes = 0};
    formatter_init(&f, mode);
    for (size_t at = 0; at < size; at += step)
        formatter_feed(&f, data + at, size - at < step ? size - at : step, take, &d);
    if (f.offset != size || d.bytes > size)
        abort();
    source_sums_mark(&d.sums, 0);
    return d;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    enum formatter_mode mode = (enum formatter_mode)(data[0] % 3);
    size_t step = 1 + data[1] % 37;
    struct outcome whole = decode(mode, data + 2, size - 2, size);
    struct outcome cut = decode(mode, data + 2, size - 2, step);
    if (whole.sums.all != cut.sums.all || whole.bytes != cut.bytes)
        abort();
    return 0;
}
