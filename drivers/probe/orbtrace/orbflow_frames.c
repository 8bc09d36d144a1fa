/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/probe/orbtrace/orbflow_frames.h"

#include "frame_packer.h"
#include "orbflow.h"

#include <stdlib.h>

#define SOURCE_MAX  0x6fu
#define TAG_TRIGGER 0x7du

struct orbflow_frames {
    struct orbflow orbflow;
    struct frame_packer packer;
    const struct trace_sink *sink; /* during a feed */
    bool hole;                     /* a loss was told, and nothing since */
    uint8_t *out;                  /* the sink's room; NULL: none yet */
    size_t used, size;
};

struct orbflow_frames *orbflow_frames_new(void)
{
    struct orbflow_frames *f = malloc(sizeof *f);
    if (f)
        orbflow_frames_restart(f);
    return f;
}

void orbflow_frames_free(struct orbflow_frames *f)
{
    free(f);
}

void orbflow_frames_restart(struct orbflow_frames *f)
{
    orbflow_init(&f->orbflow);
    frame_packer_init(&f->packer);
    f->out = NULL;
    f->used = 0;
    f->hole = false;
}

void orbflow_frames_begin(struct orbflow_frames *f)
{
    orbflow_begin(&f->orbflow);
}

static void orbflow_deliver(struct orbflow_frames *f)
{
    uint8_t *out = f->out;
    if (!out)
        return;
    f->used += frame_packer_flush(&f->packer, out + f->used);
    f->out = NULL;
    if (f->used == 0)
        return;
    f->sink->bytes(f->sink->user, out, f->used);
    f->hole = false;
}

static void on_packet(void *user, uint8_t tag, const uint8_t *payload, size_t length)
{
    struct orbflow_frames *f = user;
    if (tag > SOURCE_MAX && tag != TAG_TRIGGER)
        return;
    if (f->out && f->size - f->used < FRAME_PACKER_ROOM(length) + FRAME_PACKER_ROOM(0))
        orbflow_deliver(f);
    if (!f->out) {
        f->out = f->sink->room(f->sink->user, TRACE_ROOM, &f->size);
        f->used = 0;
    }
    f->used += frame_packer_put(&f->packer, tag, payload, length, f->out + f->used);
}

static void on_damage(void *user)
{
    struct orbflow_frames *f = user;
    orbflow_deliver(f);
    if (!f->hole)
        f->sink->lost(f->sink->user, BT_GAP_LOST_BYTES);
    f->hole = true;
}

void orbflow_frames_feed(struct orbflow_frames *f, const uint8_t *data, size_t length,
                         const struct trace_sink *sink)
{
    const struct orbflow_sink packets = {.user = f, .packet = on_packet, .damaged = on_damage};
    f->sink = sink;
    orbflow_feed(&f->orbflow, data, length, &packets);
    orbflow_deliver(f);
}

void orbflow_frames_lost(struct orbflow_frames *f, const struct trace_sink *sink)
{
    f->sink = sink;
    orbflow_discontinuity(&f->orbflow);
    on_damage(f);
}
