/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ORBFLOW stream: however it is cut, the frames hold the same bytes of each source
 * in the same order, and they are what a second reader of the packets gets. */
#include "drivers/probe/orbtrace/orbflow.h"
#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "tests/support/sink_room.h"
#include "tests/support/source_sums.h"

#include <stdlib.h>

#define SOURCE_MAX  FORMATTER_ID_MAX
#define TAG_TRIGGER 0x7du
#define CHUNK       (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Losses that follow each other are one. */
struct outcome {
    struct source_sums sums;
    bool hole;
    struct formatter formatter;
};

static void add_byte(struct outcome *d, uint8_t id, uint8_t byte)
{
    source_sums_add(&d->sums, id, byte);
    d->hole = false;
}

static void add_trigger(struct outcome *d)
{
    source_sums_mark(&d->sums, 5);
    d->hole = false;
}

static void add_loss(struct outcome *d)
{
    if (!d->hole)
        source_sums_mark(&d->sums, 7);
    d->hole = true;
}

static void take_run(void *ctx, const struct formatter_run *run)
{
    struct outcome *d = ctx;
    if (run->kind == FORMATTER_LOSS)
        abort();
    if (run->kind == FORMATTER_TRIGGER)
        add_trigger(d);
    for (uint32_t i = 0; run->kind == FORMATTER_DATA && i < run->len; i++)
        add_byte(d, run->id, run->data[i]);
}

static void ignore_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx, (void)run;
}

static void take_frames(void *user, const uint8_t *data, size_t length)
{
    struct outcome *d = user;
    if (length == 0 || length % FORMATTER_FRAME != 0)
        abort();
    /* Any one of them may be the first that is seen. */
    formatter_discontinuity(&d->formatter, ignore_run, NULL);
    formatter_feed(&d->formatter, data, length, take_run, d);
    bool names = (data[0] & 1) && !(data[FORMATTER_FRAME - 1] & 1); /* its source, at once */
    uint8_t id = data[0] >> 1;
    if (!names || (id > FORMATTER_ID_MAX && id != FORMATTER_ID_TRIGGER))
        abort();
}

static void take_loss(void *user, enum bt_gap_cause cause)
{
    (void)cause;
    add_loss(user);
}

static void take_packet(void *user, uint8_t tag, const uint8_t *payload, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (tag <= SOURCE_MAX)
            add_byte(user, tag, payload[i]);
        else if (tag == TAG_TRIGGER)
            add_trigger(user);
    }
}

static void take_damage(void *user)
{
    add_loss(user);
}

static uint64_t through_frames(const uint8_t *data, size_t size, size_t step)
{
    struct outcome d = {0};
    const struct trace_sink sink = {
        .user = &d, .bytes = take_frames, .lost = take_loss, .room = sink_room};
    struct orbflow_frames *f = orbflow_frames_new();
    if (!f)
        return 0;
    formatter_init(&d.formatter, FORMATTER_ALIGNED);
    for (size_t at = 0; at < size; at += step)
        orbflow_frames_feed(f, data + at, size - at < step ? size - at : step, &sink);
    orbflow_frames_free(f);
    source_sums_mark(&d.sums, 0);
    return d.sums.all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > CHUNK)
        return 0;
    size_t step = 1 + data[0] % 61;
    struct outcome packets = {0};
    struct orbflow o;
    const struct orbflow_sink sink = {&packets, take_packet, take_damage};
    orbflow_init(&o);
    orbflow_feed(&o, data + 1, size - 1, &sink);
    source_sums_mark(&packets.sums, 0);
    if (through_frames(data + 1, size - 1, CHUNK) != packets.sums.all ||
        through_frames(data + 1, size - 1, step) != packets.sums.all)
        abort();
    return 0;
}
