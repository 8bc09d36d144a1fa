/* SPDX-License-Identifier: BSD-3-Clause */
#include "tpiu_a.h"

#include <string.h>

#define LAR         0xfb0
#define LSR         0xfb4
#define KEY         0xc5acce55u
#define SSPSR       0x8000808bu /* 1, 2, 4, 8, 16 and 32 bits */
#define FFCR_ENFTC  (1u << 0)
#define FFCR_ENFCON (1u << 1)
#define FFCR_FORMAT (FFCR_ENFTC | FFCR_ENFCON)
#define FFCR_MANUAL (1u << 6)
#define FFCR_STOPFL (1u << 12)
#define FFCR_RW     0x3733u
#define FSCR_PERIOD 0xfffu
#define PATTERN_ON  (3u << 16)
#define REPEAT_ID   8 /* frames of one source (DDI 0314H 8.12) */

static void start_frames(struct tpiu_a *t)
{
    const struct frame_options options = {.repeat_id_period = REPEAT_ID,
                                          .full_sync_period = t->fscr & FSCR_PERIOD};
    frame_builder_init(&t->frames, &options, &t->framed);
}

void tpiu_a_reset(struct tpiu_a *t)
{
    t->cspsr = 1;
    t->fscr = 0x40;
    t->ffcr = t->ctpmr = t->tprcr = t->tcvr = t->tmr = 0;
    t->locked = true;
    t->stopped = t->flush_stops = false;
    t->flush_reads = 0;
    t->framed.size = 0;
    start_frames(t);
}

void tpiu_a_init(struct tpiu_a *t, bool wired)
{
    memset(t, 0, sizeof *t);
    t->wired = wired;
    tpiu_a_reset(t);
}

void tpiu_a_release(struct tpiu_a *t)
{
    trace_bytes_release(&t->framed);
}

bool tpiu_a_sends(const struct tpiu_a *t)
{
    return t->wired && !t->stopped && t->ffcr & FFCR_ENFCON && !(t->ctpmr & PATTERN_ON);
}

unsigned tpiu_a_width(const struct tpiu_a *t)
{
    return (unsigned)__builtin_ctz(t->cspsr) + 1;
}

static uint64_t pin_rate(const struct tpiu_a *t)
{
    return (uint64_t)TRACE_PINS_CLOCK * tpiu_a_width(t) / 8;
}

uint64_t tpiu_a_rate(const struct tpiu_a *t)
{
    return tpiu_a_sends(t) ? pin_rate(t) * 15 / 16 : 0; /* the rest is for IDs */
}

static void send(struct tpiu_a *t)
{
    trace_pins_put(&t->pins, t->framed.data, t->framed.size);
    t->framed.size = 0;
}

void tpiu_a_put(struct tpiu_a *t, uint8_t id, const uint8_t *bytes, size_t size)
{
    if (tpiu_a_sends(t)) {
        frame_builder_write(&t->frames, id, bytes, size);
        send(t);
    } else if (t->wired && !t->stopped) {
        t->unsent += size;
    }
}

void tpiu_a_flush(struct tpiu_a *t)
{
    if (tpiu_a_sends(t)) {
        frame_builder_flush(&t->frames);
        send(t);
    }
    t->flush_reads = 2;
    t->stopped |= t->flush_stops;
}

size_t tpiu_a_pins(struct tpiu_a *t, bool idle, uint8_t *bytes, size_t size)
{
    trace_pins_rest(&t->pins, &t->frames, idle && tpiu_a_sends(t), pin_rate(t));
    return trace_pins_take(&t->pins, bytes, size);
}

static uint32_t *plain(struct tpiu_a *t, unsigned offset)
{
    switch (offset) {
    case 0x104:
        return &t->tcvr;
    case 0x108:
        return &t->tmr;
    case 0x204:
        return &t->ctpmr;
    case 0x208:
        return &t->tprcr;
    default:
        return NULL;
    }
}

static uint32_t read_ffcr(struct tpiu_a *t)
{
    if (t->flush_reads == 0)
        return t->ffcr;
    t->flush_reads--;
    return t->ffcr | FFCR_MANUAL;
}

uint32_t tpiu_a_read(struct tpiu_a *t, unsigned offset, bool external)
{
    const uint32_t *value = plain(t, offset);
    if (value)
        return *value;
    switch (offset) {
    case 0x000:
        return SSPSR;
    case 0x004:
        return t->cspsr;
    case 0x100:
        return 0x11f;
    case 0x200:
        return 0x3000f;
    case 0x300: /* TCPresent is 0 */
        return (t->flush_reads ? 1u : 0) | (t->stopped ? 2u : 0);
    case 0x304:
        return read_ffcr(t);
    case 0x308:
        return t->fscr;
    case LSR:
        return external ? 0 : 1u | (t->locked ? 2u : 0);
    case 0xfc8:
        return 0xa0;
    case 0xfcc:
        return 0x11;
    default:
        return 0;
    }
}

/* Another width cuts what is on its way. */
static void write_width(struct tpiu_a *t, uint32_t value)
{
    if (!(value & SSPSR) || value & (value - 1)) {
        t->ignored_writes++;
        return;
    }
    if (value == t->cspsr)
        return;
    t->pins.holes += t->pins.size > 0;
    trace_pins_clear(&t->pins);
    t->cspsr = value;
}

/* StopFl that comes with a flush is too late for it; without it the formatter goes on. */
static bool write_ffcr(struct tpiu_a *t, uint32_t value)
{
    bool flush = value & FFCR_MANUAL && t->flush_reads == 0;
    bool starts = t->stopped && !(value & FFCR_STOPFL);
    if ((value ^ t->ffcr) & FFCR_FORMAT && !t->stopped) {
        t->ignored_writes += !(value & FFCR_STOPFL); /* what stops it may clear them */
        value = (value & ~FFCR_FORMAT) | (t->ffcr & FFCR_FORMAT);
    }
    t->flush_stops = t->ffcr & FFCR_STOPFL;
    t->ffcr = value & FFCR_RW;
    if (starts) {
        t->stopped = false;
        start_frames(t);
    }
    return flush;
}

bool tpiu_a_write(struct tpiu_a *t, unsigned offset, bool external, uint32_t value)
{
    uint32_t *to = plain(t, offset);
    if (offset == LAR) {
        t->locked = external ? t->locked : value != KEY;
    } else if (t->locked && !external) {
        t->locked_writes++;
    } else if (offset == 0x304) {
        return write_ffcr(t, value);
    } else if (offset == 0x004) {
        write_width(t, value);
    } else if (offset == 0x308) {
        t->fscr = value & FSCR_PERIOD;
        t->frames.options.full_sync_period = t->fscr;
    } else if (to) {
        *to = value;
    } else {
        t->ignored_writes++;
    }
    return false;
}
