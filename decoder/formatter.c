/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/formatter.h"

#include <string.h>

#define FULL_SYNC 0xffffff7fu /* last four bytes, newest in the low byte */
#define RUN_MAX   4096

/* Bytes of the current source, gathered until the source changes or the buffer is full. */
struct gather {
    formatter_sink *sink;
    void *ctx;
    uint64_t offset;
    uint32_t len;
    uint8_t id;
    uint8_t data[RUN_MAX];
};

static void gather_flush(struct gather *g)
{
    if (g->len == 0)
        return;
    struct formatter_run run = {g->offset, g->data, g->len, FORMATTER_DATA, g->id};
    g->sink(g->ctx, &run);
    g->len = 0;
}

static void emit_mark(struct gather *g, enum formatter_kind kind, uint64_t offset)
{
    gather_flush(g);
    struct formatter_run run = {offset, NULL, 0, (uint8_t)kind, FORMATTER_ID_UNKNOWN};
    g->sink(g->ctx, &run);
}

void formatter_init(struct formatter *f, enum formatter_mode mode)
{
    memset(f, 0, sizeof *f);
    f->mode = (uint8_t)mode;
    f->aligned = mode == FORMATTER_ALIGNED;
    f->id = FORMATTER_ID_UNKNOWN;
}

/* Everything that depends on earlier bytes is void (digest 9). */
static void lose(struct formatter *f, struct gather *g, bool keep_alignment)
{
    f->losses++;
    f->skipped += f->fill;
    f->fill = 0;
    f->id = FORMATTER_ID_UNKNOWN;
    f->want_sync_tail = false;
    f->aligned = keep_alignment;
    f->window = 0;
    emit_mark(g, FORMATTER_LOSS, f->offset);
}

/* Bytes of IDs that are no trace source: padding, triggers, reserved (digest 4). */
static void take_special(struct formatter *f, struct gather *g)
{
    if (f->id == 0)
        f->padding++;
    else if (f->id == FORMATTER_ID_UNKNOWN)
        f->unattributed++;
    else if (f->id == FORMATTER_ID_TRIGGER)
        emit_mark(g, FORMATTER_TRIGGER, f->frame_offset);
    else
        f->reserved++;
}

static inline void take_byte(struct formatter *f, struct gather *g, uint8_t byte)
{
    if (f->id == 0 || f->id > FORMATTER_ID_MAX) {
        take_special(f, g);
        return;
    }
    if (g->len == 0 || g->id != f->id || g->len == RUN_MAX) {
        gather_flush(g);
        g->id = f->id;
        g->offset = f->frame_offset;
    }
    g->data[g->len++] = byte;
}

/* No ID byte in the frame: fifteen bytes of the current source at once. */
static inline void take_plain_frame(struct formatter *f, struct gather *g, const uint8_t *frame)
{
    unsigned aux = frame[15];
    if (g->len == 0 || g->id != f->id || g->len > RUN_MAX - 16) {
        gather_flush(g);
        g->id = f->id;
        g->offset = f->frame_offset;
    }
    uint8_t *out = g->data + g->len;
    memcpy(out, frame, 16);
    for (unsigned k = 0; k < 8; k++)
        out[2 * k] |= (uint8_t)(aux >> k & 1);
    g->len += 15;
}

/* Frame with ID bytes. Returns false when an impossible ID shows lost alignment. */
static bool take_mixed_frame(struct formatter *f, struct gather *g, const uint8_t *frame)
{
    unsigned aux = frame[15];
    for (unsigned k = 0; k < 8; k++, aux >>= 1) {
        uint8_t even = frame[2 * k];
        bool last = k == 7; /* byte 15 is the aux byte, no data */
        if (!(even & 1)) {
            take_byte(f, g, even | (uint8_t)(aux & 1));
            if (!last)
                take_byte(f, g, frame[2 * k + 1]);
            continue;
        }
        uint8_t id = even >> 1;
        if (id == 0x7f)
            return false;
        if (!last && (aux & 1)) /* delayed: the odd byte still belongs to the old source */
            take_byte(f, g, frame[2 * k + 1]);
        f->id = id;
        if (!last && !(aux & 1))
            take_byte(f, g, frame[2 * k + 1]);
    }
    return true;
}

static void take_frame(struct formatter *f, struct gather *g, const uint8_t *frame)
{
    static const uint8_t id_bits[8] = {1, 0, 1, 0, 1, 0, 1, 0};
    uint64_t mask, low, high;
    memcpy(&mask, id_bits, 8);
    memcpy(&low, frame, 8);
    memcpy(&high, frame + 8, 8);
    bool source = f->id != 0 && f->id <= FORMATTER_ID_MAX;
    if (((low | high) & mask) == 0 && source)
        take_plain_frame(f, g, frame);
    else if (!take_mixed_frame(f, g, frame)) {
        /* Frames from memory keep their place whatever is in them. */
        lose(f, g, f->mode == FORMATTER_ALIGNED);
        return;
    }
    f->frames++;
}

/* Frames of a sink's memory: FF at an even offset is damage, found by its ID 0x7F. */
static void feed_aligned(struct formatter *f, struct gather *g, const uint8_t *data, size_t len)
{
    while (len > 0) {
        if (f->fill == 0 && len >= FORMATTER_FRAME) {
            f->frame_offset = f->offset;
            take_frame(f, g, data);
            f->offset += FORMATTER_FRAME;
            data += FORMATTER_FRAME;
            len -= FORMATTER_FRAME;
            continue;
        }
        if (f->fill == 0)
            f->frame_offset = f->offset;
        f->frame[f->fill++] = *data++;
        f->offset++;
        len--;
        if (f->fill == FORMATTER_FRAME) {
            f->fill = 0;
            take_frame(f, g, f->frame);
        }
    }
}

/* Digest 8, rules 1-3, for one pair of bytes at an even frame offset. */
static void take_pair(struct formatter *f, struct gather *g, uint8_t a, uint8_t b)
{
    if (a == 0xff && b == 0x7f) {
        bool tail = f->want_sync_tail;
        f->want_sync_tail = false;
        if (!tail && f->mode == FORMATTER_FULLSYNC)
            lose(f, g, false);
        return;
    }
    if (f->want_sync_tail) { /* FF FF without its second half */
        lose(f, g, false);
        return;
    }
    if (a == 0xff && b == 0xff) {
        if (f->fill != 0)
            lose(f, g, true);
        f->want_sync_tail = true;
        return;
    }
    if (f->fill == 0)
        f->frame_offset = f->offset - 2;
    f->frame[f->fill] = a;
    f->frame[f->fill + 1] = b;
    f->fill += 2;
    if (f->fill == FORMATTER_FRAME) {
        f->fill = 0;
        take_frame(f, g, f->frame);
    }
}

/* Nothing but a full sync gives the frame's start (digest 5). Returns bytes consumed. */
static size_t hunt(struct formatter *f, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        f->window = f->window << 8 | data[i];
        f->offset++;
        if (f->window != FULL_SYNC) {
            f->skipped++;
            continue;
        }
        f->skipped -= f->skipped < 3 ? f->skipped : 3; /* the sync word itself is not lost data */
        f->aligned = true;
        f->half = false;
        f->fill = 0;
        f->id = FORMATTER_ID_UNKNOWN;
        return i + 1;
    }
    return len;
}

static void feed_port(struct formatter *f, struct gather *g, const uint8_t *data, size_t len)
{
    size_t i = 0;
    while (i < len) {
        if (!f->aligned) {
            i += hunt(f, data + i, len - i);
            continue;
        }
        f->offset++;
        if (!f->half) {
            f->pair = data[i++];
            f->half = true;
            continue;
        }
        f->half = false;
        take_pair(f, g, f->pair, data[i++]);
    }
}

void formatter_feed(struct formatter *f, const uint8_t *data, size_t len, formatter_sink *sink,
                    void *ctx)
{
    struct gather g;
    g.sink = sink;
    g.ctx = ctx;
    g.len = 0;
    if (f->mode == FORMATTER_ALIGNED)
        feed_aligned(f, &g, data, len);
    else
        feed_port(f, &g, data, len);
    gather_flush(&g);
}

void formatter_discontinuity(struct formatter *f, formatter_sink *sink, void *ctx)
{
    struct gather g;
    g.sink = sink;
    g.ctx = ctx;
    g.len = 0;
    f->half = false;
    lose(f, &g, f->mode == FORMATTER_ALIGNED);
}
