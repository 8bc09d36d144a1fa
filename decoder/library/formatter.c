/* SPDX-License-Identifier: BSD-3-Clause */
#include "btrace/formatter.h"

#include "decoder/port/formatter.h"

#include <stdlib.h>

struct bt_formatter {
    struct formatter formatter;
    bt_run_callback *callback;
    void *ctx;
};

static void take_run(void *ctx, const struct formatter_run *run)
{
    const struct bt_formatter *f = ctx;
    static const uint8_t kinds[] = {[FORMATTER_DATA] = BT_RUN_DATA,
                                    [FORMATTER_TRIGGER] = BT_RUN_TRIGGER,
                                    [FORMATTER_LOSS] = BT_RUN_LOSS};
    const struct bt_run out = {.offset = run->offset,
                               .data = run->data,
                               .size = run->len,
                               .kind = kinds[run->kind],
                               .id = run->id};
    f->callback(f->ctx, &out);
}

int bt_formatter_new(enum bt_framing framing, bt_run_callback *callback, void *ctx,
                     struct bt_formatter **out)
{
    static const enum formatter_mode modes[] = {[BT_FRAMING_ALIGNED] = FORMATTER_ALIGNED,
                                                [BT_FRAMING_SYNC] = FORMATTER_SYNC,
                                                [BT_FRAMING_FULL_SYNC] = FORMATTER_FULLSYNC};
    if (!out || !callback || (unsigned)framing > BT_FRAMING_FULL_SYNC)
        return BT_ERR_INVAL;
    struct bt_formatter *f = calloc(1, sizeof *f);
    *out = f;
    if (!f)
        return BT_ERR_NOMEM;
    formatter_init(&f->formatter, modes[framing]);
    f->callback = callback;
    f->ctx = ctx;
    return BT_OK;
}

int bt_formatter_feed(struct bt_formatter *f, const uint8_t *data, size_t size)
{
    if (!f || (!data && size))
        return BT_ERR_INVAL;
    if (size)
        formatter_feed(&f->formatter, data, size, take_run, f);
    return BT_OK;
}

void bt_formatter_free(struct bt_formatter *f)
{
    free(f);
}
