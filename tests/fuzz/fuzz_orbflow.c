/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an ORBFLOW stream: however it is cut, the frames hold the same bytes of each source
 * in the same order, and they are what a second reader of the packets gets. */
#include "decoder/port/formatter.h"
#include "drivers/probe/orbtrace/orbflow.h"
#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "tests/support/sink_room.h"

#include <stdlib.h>

#define SOURCE_MAX  FORMATTER_ID_MAX
#define TAG_TRIGGER 0x7du
#define CHUNK       (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Order-dependent sum of what came out. Losses that follow each other are one. */
struct digest {
    uint64_t sum;
    bool hole;
    struct formatter formatter;
};

static void add(struct digest *d, uint64_t value)
{
    d->sum = d->sum * 31 + value;
    d->hole = false;
}

static void add_loss(struct digest *d)
{
    if (!d->hole)
        add(d, 7);
    d->hole = true;
}

static void take_run(void *ctx, const struct formatter_run *run)
{
    struct digest *d = ctx;
    if (run->kind == FORMATTER_LOSS)
        abort();
    if (run->kind == FORMATTER_TRIGGER)
        add(d, 5);
    for (uint32_t i = 0; run->kind == FORMATTER_DATA && i < run->len; i++)
        add(d, 1000 + (uint64_t)run->id * 256 + run->data[i]);
}

static void ignore_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx, (void)run;
}

static void take_frames(void *user, const uint8_t *data, size_t length)
{
    struct digest *d = user;
    if (length == 0 || length % FORMATTER_FRAME != 0)
        abort();
    /* Any one of them may be the first that is seen. */
    formatter_discontinuity(&d->formatter, ignore_run, NULL);
    formatter_feed(&d->formatter, data, length, take_run, d);
    if (d->formatter.unattributed || d->formatter.reserved)
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
            add(user, 1000 + (uint64_t)tag * 256 + payload[i]);
        else if (tag == TAG_TRIGGER)
            add(user, 5);
    }
}

static void take_damage(void *user)
{
    add_loss(user);
}

static uint64_t through_frames(const uint8_t *data, size_t size, size_t step)
{
    struct digest d = {0};
    const struct trace_sink sink = {
        .user = &d, .bytes = take_frames, .lost = take_loss, .room = sink_room};
    struct orbflow_frames *f = orbflow_frames_new();
    if (!f)
        return 0;
    formatter_init(&d.formatter, FORMATTER_ALIGNED);
    for (size_t at = 0; at < size; at += step)
        orbflow_frames_feed(f, data + at, size - at < step ? size - at : step, &sink);
    orbflow_frames_free(f);
    return d.sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > CHUNK)
        return 0;
    size_t step = 1 + data[0] % 61;
    struct digest packets = {0};
    struct orbflow o;
    const struct orbflow_sink sink = {&packets, take_packet, take_damage};
    orbflow_init(&o);
    orbflow_feed(&o, data + 1, size - 1, &sink);
    if (through_frames(data + 1, size - 1, CHUNK) != packets.sum ||
        through_frames(data + 1, size - 1, step) != packets.sum)
        abort();
    return 0;
}
