/* SPDX-License-Identifier: BSD-3-Clause */
#include "orbflow.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/probe/orbtrace/orbflow_frames.h"

#include "frame_packer.h"

#define DELIMITER  0x00u
#define LONG_GROUP 0xffu /* 254 bytes, no zero behind them */
#define LEAST      3u    /* tag, one byte of payload, checksum */

static const char MAGIC[] = "%%ORBFLOW1.0.0%%"; /* at the start of files */
#define MAGIC_LENGTH (sizeof MAGIC - 1)
#define NO_MAGIC     UINT32_MAX

void orbflow_init(struct orbflow *o)
{
    *o = (struct orbflow){.resyncing = true};
}

static void begin_packet(struct orbflow *o)
{
    o->resyncing = false;
    o->zero_due = false;
    o->left = 0;
    o->used = 0;
}

/* What comes next is the beginning of a packet: the source was silent for longer than it holds back
 * one that is not full. */
static void orbflow_begin(struct orbflow *o)
{
    begin_packet(o);
}

/* Bytes were lost before the next feed: drops the packet that is not complete. The caller knows of
 * the damage. */
static void orbflow_discontinuity(struct orbflow *o)
{
    begin_packet(o);
    o->resyncing = true;
    o->magic = NO_MAGIC;
}

static void orbflow_damage(struct orbflow *o, const struct orbflow_sink *sink)
{
    o->errors++;
    sink->damaged(sink->user);
}

static void end_packet(struct orbflow *o, const struct orbflow_sink *sink)
{
    uint8_t sum = 0;
    for (size_t i = 0; i < o->used; i++)
        sum = (uint8_t)(sum + o->packet[i]);
    uint8_t tag = o->packet[0];
    if (o->used >= LEAST && sum == 0 && tag > 0 && tag <= ORBFLOW_TAG_MAX) {
        o->packets++;
        sink->packet(sink->user, tag, o->packet + 1, o->used - 2);
    } else if (o->used > 0) {
        orbflow_damage(o, sink);
    }
    begin_packet(o);
}

/* False: the packet is longer than any that is meant. */
static bool orbflow_append(struct orbflow *o, const uint8_t *data, size_t length)
{
    if (length > sizeof o->packet - o->used)
        return false;
    memcpy(o->packet + o->used, data, length);
    o->used += length;
    return true;
}

/* Bytes of a group: returns how many were taken. */
static size_t take_group(struct orbflow *o, const uint8_t *data, size_t length,
                         const struct orbflow_sink *sink)
{
    size_t n = length < o->left ? length : o->left;
    const uint8_t *zero = memchr(data, DELIMITER, n);
    if (zero || !orbflow_append(o, data, n)) {
        /* It may be this zero that is wrong, so the packet behind it is not trusted either. */
        orbflow_damage(o, sink);
        orbflow_discontinuity(o);
        return zero ? (size_t)(zero - data) + 1 : n;
    }
    o->left = (uint8_t)(o->left - n);
    return n;
}

static void take_code(struct orbflow *o, uint8_t code, const struct orbflow_sink *sink)
{
    static const uint8_t ZERO = 0;
    if (code == DELIMITER) {
        end_packet(o, sink);
        return;
    }
    if (o->zero_due && !orbflow_append(o, &ZERO, 1)) {
        orbflow_damage(o, sink);
        orbflow_discontinuity(o);
        return;
    }
    o->left = (uint8_t)(code - 1);
    o->zero_due = code != LONG_GROUP;
}

/* Up to and including the next delimiter: returns how many bytes that are. */
static size_t orbflow_resync(struct orbflow *o, const uint8_t *data, size_t length)
{
    if (o->magic < MAGIC_LENGTH) {
        o->magic = *data == (uint8_t)MAGIC[o->magic] ? o->magic + 1 : NO_MAGIC;
        if (o->magic == MAGIC_LENGTH)
            begin_packet(o);
        if (o->magic != NO_MAGIC)
            return 1;
    }
    const uint8_t *zero = memchr(data, DELIMITER, length);
    if (!zero)
        return length;
    begin_packet(o);
    return (size_t)(zero - data) + 1;
}

void orbflow_feed(struct orbflow *o, const uint8_t *data, size_t length,
                  const struct orbflow_sink *sink)
{
    while (length > 0) {
        size_t n = 1;
        if (o->resyncing)
            n = orbflow_resync(o, data, length);
        else if (o->left > 0)
            n = take_group(o, data, length, sink);
        else
            take_code(o, *data, sink);
        data += n;
        length -= n;
    }
}

#define SLOTS 15u /* the last byte holds a bit for each even one */
#define AUX   15u
#define NONE  0xffu
#define NULLS 0x00u

void frame_packer_init(struct frame_packer *p)
{
    *p = (struct frame_packer){.id = NONE};
}

static void set_id(struct frame_packer *p, unsigned slot, uint8_t id)
{
    p->frame[slot] = (uint8_t)(id << 1 | 1);
    p->id = id;
}

static size_t frame_packer_complete(struct frame_packer *p, uint8_t *out)
{
    memcpy(out, p->frame, sizeof p->frame);
    memset(p->frame, 0, sizeof p->frame);
    p->slot = 0;
    return sizeof p->frame;
}

/* From the next byte on all is of `id`. An ID needs an even slot: where that is taken already, its
 * byte goes behind the ID, which then counts from the byte after it. */
static size_t change_id(struct frame_packer *p, uint8_t id, uint8_t *out)
{
    if (p->slot % 2 == 0) {
        set_id(p, p->slot, id);
    } else {
        unsigned even = p->slot - 1, bit = 1u << even / 2;
        uint8_t low = (p->frame[AUX] & bit) ? 1 : 0;
        p->frame[p->slot] = p->frame[even] | low;
        p->frame[AUX] |= (uint8_t)bit;
        set_id(p, even, id);
    }
    p->slot++;
    return p->slot == SLOTS ? frame_packer_complete(p, out) : 0;
}

static void put_byte(struct frame_packer *p, uint8_t byte)
{
    if (p->slot % 2 == 0) {
        p->frame[p->slot] = byte & 0xfe;
        p->frame[AUX] |= (uint8_t)((byte & 1u) << p->slot / 2);
    } else {
        p->frame[p->slot] = byte;
    }
    p->slot++;
}

/* A frame of 15 bytes of one source. */
static void whole_frame(const uint8_t *data, uint8_t *out)
{
    unsigned aux = 0;
    memcpy(out, data, SLOTS);
    for (unsigned slot = 0; slot < SLOTS; slot += 2) {
        aux |= (out[slot] & 1u) << slot / 2;
        out[slot] &= 0xfe;
    }
    out[AUX] = (uint8_t)aux;
}

size_t frame_packer_put(struct frame_packer *p, uint8_t id, const uint8_t *data, size_t length,
                        uint8_t *out)
{
    size_t used = 0;
    if (length > 0 && id != p->id)
        used = change_id(p, id, out);
    while (length > 0) {
        if (p->slot == 0 && length >= SLOTS) {
            whole_frame(data, out + used);
            used += FRAME_PACKER_FRAME;
            data += SLOTS;
            length -= SLOTS;
            continue;
        }
        put_byte(p, *data++);
        length--;
        if (p->slot == SLOTS)
            used += frame_packer_complete(p, out + used);
    }
    return used;
}

size_t frame_packer_flush(struct frame_packer *p, uint8_t *out)
{
    size_t used = 0;
    if (p->slot > 0)
        used = change_id(p, NULLS, out);
    if (p->slot > 0)
        used += frame_packer_complete(p, out + used);
    p->id = NONE;
    return used;
}

#define SOURCE_MAX  0x6fu
#define TAG_TRIGGER 0x7du

struct orbflow_frames {
    struct orbflow orbflow;
    struct frame_packer packer;
    const struct trace_sink *sink; /* during a feed */
    bool hole;                     /* a loss was told, and nothing since */
    size_t used, size;
    uint8_t out[];
};

struct orbflow_frames *orbflow_frames_new(size_t most)
{
    /* A packet that ends in the piece may have begun before; each costs an ID at worst. */
    size_t size = 2 * most + 2 * FRAME_PACKER_ROOM(ORBFLOW_PACKET_MAX);
    struct orbflow_frames *f = malloc(sizeof *f + size);
    if (!f)
        return NULL;
    f->size = size;
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
    f->used = 0;
    f->hole = false;
}

void orbflow_frames_begin(struct orbflow_frames *f)
{
    orbflow_begin(&f->orbflow);
}

static void orbflow_deliver(struct orbflow_frames *f)
{
    f->used += frame_packer_flush(&f->packer, f->out + f->used);
    if (f->used == 0)
        return;
    f->sink->bytes(f->sink->user, f->out, f->used);
    f->used = 0;
    f->hole = false;
}

static void on_packet(void *user, uint8_t tag, const uint8_t *payload, size_t length)
{
    struct orbflow_frames *f = user;
    if (tag > SOURCE_MAX && tag != TAG_TRIGGER)
        return;
    if (f->size - f->used < FRAME_PACKER_ROOM(length) + FRAME_PACKER_ROOM(0))
        orbflow_deliver(f);
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
