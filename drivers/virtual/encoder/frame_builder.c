/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/virtual/encoder/frame_builder.h"

#include <string.h>

#define SLOTS    15 /* the last byte of a frame holds the auxiliary bits */
#define AUX_BYTE 15

static const uint8_t full_sync[4] = {0xff, 0xff, 0xff, 0x7f};
static const uint8_t half_sync[2] = {0xff, 0x7f};

void frame_builder_init(struct frame_builder *b, const struct frame_options *o,
                        struct trace_bytes *out)
{
    *b = (struct frame_builder){.options = *o, .random = {.state = o->seed}, .out = out};
    b->full_before = o->full_sync_period != 0;
}

static bool wants_full_sync(struct frame_builder *b)
{
    unsigned period = b->options.full_sync_period;

    return b->full_before || (period && b->since_sync >= period) ||
           trace_random_percent(&b->random, b->options.full_sync_percent);
}

static int write_frame(struct frame_builder *b)
{
    int error = 0;

    if (wants_full_sync(b)) {
        error = trace_bytes_append(b->out, full_sync, sizeof full_sync);
        b->since_sync = 0;
    }
    for (unsigned pair = 0; !error && pair < 8; pair++) {
        unsigned halves = b->half_before[pair];
        halves += (unsigned)trace_random_percent(&b->random, b->options.half_sync_percent);
        while (!error && halves-- > 0)
            error = trace_bytes_append(b->out, half_sync, sizeof half_sync);
        if (!error)
            error = trace_bytes_append(b->out, b->frame + 2 * pair, 2);
    }
    memset(b->frame, 0, sizeof b->frame);
    b->slot = 0;
    b->full_before = false;
    b->half_before[0] = b->half_before[8];
    memset(b->half_before + 1, 0, sizeof b->half_before - 1);
    b->frames++;
    b->since_sync++;
    b->since_id++;
    return error;
}

static int advance(struct frame_builder *b, unsigned slots)
{
    b->slot += slots;
    return b->slot == SLOTS ? write_frame(b) : 0;
}

static void store_id(struct frame_builder *b, uint8_t id, bool delayed)
{
    b->frame[b->slot] = (uint8_t)(id << 1 | 1);
    if (delayed)
        b->frame[AUX_BYTE] |= (uint8_t)(1u << b->slot / 2);
    b->current_id = id;
    b->since_id = 0;
}

/* ID byte and behind it the pending byte, or the ID byte alone if it is the last of the frame. */
static int place_behind_id(struct frame_builder *b, uint8_t id, bool delayed)
{
    bool fits = b->slot < SLOTS - 1;

    if (fits)
        b->frame[b->slot + 1] = b->pending_byte;
    store_id(b, id, delayed);
    return advance(b, fits ? 2 : 1);
}

/* Places the pending byte; `next_id` is the ID of the byte behind it. */
static int frame_builder_place(struct frame_builder *b, uint8_t next_id)
{
    unsigned repeat = b->options.repeat_id_period;

    b->have_pending = false;
    /* An odd slot always belongs to the current ID: the look-ahead below sees to that. */
    if (b->slot % 2 == 0 && (b->pending_id != b->current_id || (repeat && b->since_id >= repeat))) {
        bool fits = b->slot < SLOTS - 1;
        int error = place_behind_id(b, b->pending_id, false);
        if (error || fits)
            return error;
    }
    if (b->slot % 2 == 0 && b->slot < SLOTS - 1 && next_id != b->current_id) {
        bool delayed = !b->options.no_delayed;
        return place_behind_id(b, delayed ? next_id : b->current_id, delayed);
    }
    if (b->slot % 2 == 0) {
        b->frame[b->slot] = b->pending_byte & 0xfe;
        b->frame[AUX_BYTE] |= (uint8_t)((b->pending_byte & 1) << b->slot / 2);
    } else {
        b->frame[b->slot] = b->pending_byte;
    }
    return advance(b, 1);
}

int frame_builder_put(struct frame_builder *b, uint8_t id, uint8_t byte)
{
    int error = 0;

    if (id > FRAME_ID_MAX)
        return BT_ERR_INVAL;
    if (b->have_pending)
        error = frame_builder_place(b, id);
    b->have_pending = true;
    b->pending_id = id;
    b->pending_byte = byte;
    return error;
}

int frame_builder_write(struct frame_builder *b, uint8_t id, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int error = frame_builder_put(b, id, bytes[i]);
        if (error)
            return error;
    }
    return 0;
}

int frame_builder_trigger(struct frame_builder *b)
{
    return frame_builder_put(b, FRAME_ID_TRIGGER, 0);
}

int frame_builder_flush(struct frame_builder *b)
{
    int error = 0;

    if (b->have_pending)
        error = frame_builder_place(b, FRAME_ID_NULL);
    if (error || b->slot == 0)
        return error;
    if (b->current_id != FRAME_ID_NULL)
        store_id(b, FRAME_ID_NULL, false);
    return write_frame(b);
}

void frame_builder_full_sync(struct frame_builder *b)
{
    b->full_before = true;
}

void frame_builder_half_sync(struct frame_builder *b)
{
    unsigned slot = b->slot + (b->have_pending ? 1 : 0); /* 15 at most */

    b->half_before[(slot + 1) / 2]++;
}

int frame_builder_idle(struct frame_builder *b, bool full)
{
    if (b->slot != 0)
        return BT_ERR_INVAL;
    return full ? trace_bytes_append(b->out, full_sync, sizeof full_sync)
                : trace_bytes_append(b->out, half_sync, sizeof half_sync);
}

uint64_t frame_builder_frames(const struct frame_builder *b)
{
    return b->frames;
}
