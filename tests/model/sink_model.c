/* SPDX-License-Identifier: BSD-3-Clause */
#include "sink_model.h"

#include <string.h>

#define LAR         0xfb0
#define KEY         0xc5acce55u
#define CTL_CAPTURE 1u
#define MODE_CIRCLE 0u
#define MODE_FIFO   1u
#define FFCR_FORMAT 3u
#define FFCR_ENFT   1u
#define FFCR_MANUAL (1u << 6)
#define FFCR_STOPFL (1u << 12)
#define FFCR_RW     0x7773u
#define NO_DATA     UINT32_MAX

void sink_init(struct sink_model *s, bool tmc, uint32_t words)
{
    memset(s, 0, sizeof *s);
    s->tmc = tmc;
    s->words = words;
    memset(s->ram, 0xa5, sizeof s->ram); /* what power-up leaves is no trace */
    sink_reset(s);
}

void sink_reset(struct sink_model *s)
{
    static const struct frame_options options = {.repeat_id_period = 8};
    s->rrp = s->rwp = s->count = 0;
    s->trg = s->ctl = s->mode = s->ffcr = s->watermark = s->level = 0;
    s->pscr = 0x0a;
    s->full = s->flush_stops = false;
    s->stopped = s->locked = true;
    s->flush_reads = 0;
    s->framed.size = 0;
    frame_builder_init(&s->frames, &options, &s->framed);
}

void sink_release(struct sink_model *s)
{
    trace_bytes_release(&s->framed);
}

bool sink_captures(const struct sink_model *s)
{
    return s->ctl & CTL_CAPTURE && !s->stopped;
}

static bool is_fifo(const struct sink_model *s)
{
    return s->tmc && s->mode == MODE_FIFO;
}

static void store(struct sink_model *s, uint32_t word)
{
    s->ram[s->rwp] = word;
    s->rwp = (s->rwp + 1) % s->words;
    if (s->count < s->words)
        s->count++;
    else if (s->tmc)
        s->rrp = s->rwp; /* the oldest goes */
    s->full |= s->tmc ? s->count == s->words : s->rwp == 0;
    if (s->count > s->level)
        s->level = s->count;
}

/* Whole words go into the memory; a software FIFO takes what it has room for. */
static void drain(struct sink_model *s)
{
    size_t used = 0;
    while (sink_captures(s) && s->framed.size - used >= 4) {
        uint32_t word;
        if (is_fifo(s) && s->count == s->words)
            break;
        memcpy(&word, s->framed.data + used, 4);
        store(s, word);
        used += 4;
    }
    if (used)
        memmove(s->framed.data, s->framed.data + used, s->framed.size - used);
    s->framed.size -= used;
}

void sink_put(struct sink_model *s, uint8_t id, const uint8_t *bytes, size_t size)
{
    if (!sink_captures(s))
        return;
    if (s->ffcr & FFCR_ENFT)
        frame_builder_write(&s->frames, id, bytes, size);
    else
        trace_bytes_append(&s->framed, bytes, size);
    drain(s);
}

/* A TMC gives what it has, oldest first; an ETB gives what the pointer says. */
static uint32_t read_data(struct sink_model *s)
{
    if (sink_captures(s) && !is_fifo(s))
        return NO_DATA;
    if (s->tmc && s->count == 0)
        return NO_DATA;
    uint32_t value = s->ram[s->rrp];
    s->rrp = (s->rrp + 1) % s->words;
    if (s->tmc)
        s->count--;
    if (is_fifo(s) && sink_captures(s)) {
        s->full = false;
        drain(s);
    }
    return value;
}

/* ETB: Full, AcqComp, FtEmpty; TMC: Full, TMCReady, FtEmpty, Empty. */
static uint32_t status(const struct sink_model *s)
{
    uint32_t value = (s->full ? 1u : 0) | (s->stopped ? 0xcu : 0);
    return s->tmc && s->count == 0 ? value | 0x10 : value;
}

static uint32_t read_ffcr(struct sink_model *s)
{
    if (s->flush_reads == 0)
        return s->ffcr;
    s->flush_reads--;
    return s->ffcr | FFCR_MANUAL;
}

static uint32_t read_tmc(const struct sink_model *s, unsigned offset)
{
    switch (offset) {
    case 0x028:
        return s->mode;
    case 0x02c:
        return s->level;
    case 0x030:
        return s->count;
    case 0x034:
        return s->watermark;
    case 0x308:
        return s->pscr;
    case 0xfc8: /* memory of 32 bits, configured as ETB */
        return 2u << 8;
    default:
        return 0;
    }
}

uint32_t sink_read(struct sink_model *s, unsigned offset, bool external)
{
    unsigned unit = s->tmc ? 4 : 1; /* bytes, or words */
    switch (offset) {
    case 0x004:
        return s->words;
    case 0x00c:
        return status(s);
    case 0x010:
        return read_data(s);
    case 0x014:
        return s->rrp * unit;
    case 0x018:
        return s->rwp * unit;
    case 0x01c:
        return s->trg;
    case 0x020:
        return s->ctl;
    case 0x300:
        return s->stopped ? 2 : 0;
    case 0x304:
        return read_ffcr(s);
    case 0xfb4:
        return external ? 0 : 1u | (s->locked ? 2u : 0);
    case 0xfcc:
        return 0x21;
    default:
        return s->tmc ? read_tmc(s, offset) : 0;
    }
}

static void write_ctl(struct sink_model *s, uint32_t value)
{
    static const struct frame_options options = {.repeat_id_period = 8};
    if (value & CTL_CAPTURE && !(s->ctl & CTL_CAPTURE)) {
        s->stopped = s->full = false;
        s->framed.size = 0;
        s->level = s->count = 0;
        frame_builder_init(&s->frames, &options, &s->framed);
        if (s->tmc)
            s->rrp = s->rwp;
    } else if (!(value & CTL_CAPTURE)) {
        s->stopped = true;
    }
    s->ctl = value & CTL_CAPTURE;
}

/* The formatter's mode can be changed only while it stands. StopFl that comes with a flush is too
 * late for that. */
static bool write_ffcr(struct sink_model *s, uint32_t value)
{
    bool flush = value & FFCR_MANUAL && s->flush_reads == 0;
    if ((value ^ s->ffcr) & FFCR_FORMAT && !s->stopped) {
        s->ignored_writes++;
        value = (value & ~FFCR_FORMAT) | (s->ffcr & FFCR_FORMAT);
    }
    s->flush_stops = s->ffcr & FFCR_STOPFL;
    s->ffcr = value & FFCR_RW & ~FFCR_MANUAL;
    return flush && sink_captures(s);
}

void sink_flush(struct sink_model *s)
{
    frame_builder_flush(&s->frames);
    drain(s);
    s->flush_reads = 1;
    s->stopped |= s->flush_stops;
}

static void write_stopped(struct sink_model *s, unsigned offset, uint32_t value)
{
    unsigned unit = s->tmc ? 4 : 1;
    switch (offset) {
    case 0x014:
        s->rrp = value / unit % s->words;
        break;
    case 0x018:
        s->rwp = value / unit % s->words;
        break;
    case 0x01c:
        s->trg = value;
        break;
    case 0x024:
        s->ram[s->rwp] = value;
        s->rwp = (s->rwp + 1) % s->words;
        break;
    case 0x028:
        s->mode = s->tmc ? value & 3 : 0;
        break;
    case 0x034:
        s->watermark = value;
        break;
    case 0x308:
        s->pscr = value & 0x1f;
        break;
    default:
        s->ignored_writes++;
        break;
    }
}

bool sink_write(struct sink_model *s, unsigned offset, bool external, uint32_t value)
{
    if (offset == LAR) {
        s->locked = external ? s->locked : value != KEY;
        return false;
    }
    if (s->locked && !external) {
        s->locked_writes++;
        return false;
    }
    if (offset == 0x304)
        return write_ffcr(s, value);
    if (offset == 0x020)
        write_ctl(s, value);
    else if (s->ctl & CTL_CAPTURE)
        s->ignored_writes++;
    else
        write_stopped(s, offset, value);
    return false;
}
