/* SPDX-License-Identifier: BSD-3-Clause */
#include "orbtrace_capture.h"

#include <string.h>

#define CHUNK        65536u
#define PATIENT      (4 * CHUNK) /* bytes for the host, beyond which an endless memory waits */
#define HOPELESS     (128 * CHUNK)
#define KEEP_ALIVE   0xa6
#define ITM_ID       1
#define BAUD_PERCENT 3u

static bool is_parallel(unsigned format)
{
    return format >= ORBTRACE_PARALLEL_1 && format <= ORBTRACE_PARALLEL_4;
}

static bool is_itm(unsigned format)
{
    return format == ORBTRACE_MANCHESTER_ITM || format == ORBTRACE_NRZ_ITM;
}

static size_t backlog(const struct orbtrace_capture *c)
{
    return c->wire.size - c->first;
}

/* Towards the host. */

/* Bytes that are lost of `size` that come now: a fault, or there is no room. */
static size_t excess(struct orbtrace_capture *c, size_t size)
{
    size_t room = c->limit > backlog(c) ? c->limit - backlog(c) : 0;
    size_t lost = size > room ? size - room : 0;
    if (c->drop && *c->drop > 0) {
        size_t fault = *c->drop < size ? *c->drop : size;
        *c->drop -= (unsigned)fault;
        lost = fault > lost ? fault : lost;
    }
    c->counters.overruns += lost && !c->overrun;
    c->overrun = lost > 0;
    return lost;
}

static void append(struct orbtrace_capture *c, const uint8_t *bytes, size_t size)
{
    if (c->first == c->wire.size || (c->first > PATIENT && c->first > c->wire.size / 2)) {
        if (backlog(c) > 0)
            memmove(c->wire.data, c->wire.data + c->first, backlog(c));
        c->wire.size -= c->first;
        c->flush -= c->flushing ? c->first : 0;
        c->first = 0;
    }
    if (size > 0)
        trace_bytes_append(&c->wire, bytes, size);
}

/* All or nothing. */
static bool send_unit(struct orbtrace_capture *c, const uint8_t *bytes, size_t size)
{
    if (excess(c, size) > 0)
        return false;
    append(c, bytes, size);
    return true;
}

/* The transfer ends here, however little is in it. */
static void flush(struct orbtrace_capture *c)
{
    c->flush = c->wire.size;
    c->flushing = true;
    c->alive = c->now;
    c->counters.flushes++;
}

static bool is_time(const struct orbtrace_capture *c)
{
    return c->now - c->alive >= ORBTRACE_ALIVE;
}

static void on_packet(void *ctx, const uint8_t *wire, size_t size)
{
    struct orbtrace_capture *c = ctx;
    if (c->options.whole) {
        c->counters.lost += send_unit(c, wire, size) ? 0 : size;
    } else {
        size_t lost = excess(c, size);
        c->counters.lost += lost;
        append(c, wire, size - lost);
    }
    if (is_time(c))
        flush(c);
}

static void put_little(uint8_t *bytes, uint32_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static void send_keep_alive(struct orbtrace_capture *c)
{
    uint8_t unit[PORT_FRAME] = {KEEP_ALIVE};
    if (c->options.pending)
        put_little(unit + 1, (uint32_t)backlog(c) | 0x21000000u, 4);
    unit[5] = c->format != ORBTRACE_OFF;
    put_little(unit + 6, c->counters.lost_frames, 2);
    put_little(unit + 8, c->counters.frames, 4);
    memcpy(unit + 12, "\xff\xff\xff\x7f", 4);
    if (send_unit(c, unit, sizeof unit))
        c->counters.keep_alive++;
    flush(c);
}

static void on_run(void *ctx, uint8_t id, const uint8_t *bytes, size_t size)
{
    struct orbtrace_capture *c = ctx;
    orbflow_sender_put(&c->flow, c->now, id, bytes, size);
}

static void on_frame(void *ctx, const uint8_t frame[PORT_FRAME])
{
    struct orbtrace_capture *c = ctx;
    if (c->protocol == ORBTRACE_FLOW) {
        port_deframe(&c->id, frame, on_run, c);
    } else if (send_unit(c, frame, PORT_FRAME)) {
        c->counters.frames++;
    } else {
        c->counters.lost_frames++;
        c->counters.lost += PORT_FRAME;
    }
}

static void frame_itm(struct orbtrace_capture *c, const uint8_t *bytes, size_t size)
{
    static const struct frame_options plain = {0};
    struct trace_bytes frames = {0};
    struct frame_builder builder;
    frame_builder_init(&builder, &plain, &frames);
    frame_builder_write(&builder, ITM_ID, bytes, size);
    frame_builder_flush(&builder);
    for (size_t i = 0; i < frames.size; i += PORT_FRAME)
        on_frame(c, frames.data + i);
    trace_bytes_release(&frames);
}

static void put_itm(struct orbtrace_capture *c, const uint8_t *bytes, size_t size)
{
    if (c->protocol == ORBTRACE_FLOW) {
        orbflow_sender_put(&c->flow, c->now, ITM_ID, bytes, size);
    } else if (c->options.itm_frames) {
        frame_itm(c, bytes, size);
    } else {
        size_t lost = excess(c, size);
        c->counters.lost += lost;
        append(c, bytes, size - lost);
    }
}

/* Whether the port sends in the form that the probe listens to; a file always does. */
static bool fits(const struct orbtrace_capture *c)
{
    if (!c->feed->board)
        return true;
    struct probe_port p = probe_board_port(c->feed->board);
    if (is_parallel(c->format))
        return p.width == 1u << (c->format - 1);
    if (c->format == ORBTRACE_MANCHESTER_ITM || c->format == ORBTRACE_MANCHESTER_TPIU)
        return p.manchester;
    uint64_t off = p.baud > c->baud ? p.baud - c->baud : c->baud - p.baud;
    return p.baud > 0 && 100 * off <= BAUD_PERCENT * p.baud;
}

static unsigned holes(const struct orbtrace_capture *c)
{
    return c->feed->board ? probe_board_port(c->feed->board).holes : 0;
}

static void lose_port(struct orbtrace_capture *c)
{
    port_sampler_lost(&c->sampler);
    c->counters.overruns++;
}

static void sample(struct orbtrace_capture *c, const uint8_t *bytes, size_t size)
{
    c->counters.captured += size;
    if (!fits(c)) {
        c->counters.wrong += size;
        port_sampler_lost(&c->sampler);
        return;
    }
    if (is_itm(c->format))
        put_itm(c, bytes, size);
    else
        port_sampler_put(&c->sampler, bytes, size);
    if (holes(c) != c->holes) {
        c->holes = holes(c);
        lose_port(c);
    }
}

/* So much came while nobody looked that the end of it is all that can matter. */
static void skip(struct orbtrace_capture *c)
{
    uint64_t waiting = trace_feed_waiting(c->feed, c->now);
    if (!c->options.buffer || waiting < HOPELESS + c->limit)
        return;
    uint64_t lost = (waiting - c->limit) / PORT_FRAME * PORT_FRAME;
    trace_feed_skip(c->feed, lost);
    c->counters.lost += (unsigned long)lost;
    if (c->protocol == ORBTRACE_FRAMES)
        c->counters.lost_frames = (uint16_t)(c->counters.lost_frames + lost / PORT_FRAME);
    lose_port(c);
}

/* Until there is less than was asked for: an idle port has a little more at each look. */
static void listen(struct orbtrace_capture *c)
{
    uint8_t bytes[CHUNK];
    size_t n = sizeof bytes;
    skip(c);
    while (n == sizeof bytes && (c->options.buffer || backlog(c) < PATIENT)) {
        n = trace_feed_take(c->feed, c->now, bytes, sizeof bytes);
        sample(c, bytes, n);
    }
}

void orbtrace_run(struct orbtrace_capture *c, uint64_t now, size_t queued)
{
    c->now = now;
    c->limit = c->options.buffer ? c->options.buffer + queued : SIZE_MAX;
    if (c->feed && c->format != ORBTRACE_OFF)
        listen(c);
    orbflow_sender_tick(&c->flow, now);
    if (!is_time(c))
        return;
    if (c->protocol == ORBTRACE_FRAMES)
        send_keep_alive(c);
    else if (backlog(c) > 0 && c->flow.payload == 0 && !c->flushing)
        flush(c);
}

bool orbtrace_take(struct orbtrace_capture *c, uint8_t *bytes, size_t size, size_t *actual)
{
    size_t n = backlog(c) < size ? backlog(c) : size;
    bool full = n == size;
    if (c->flushing && c->flush - c->first <= n) {
        n = c->flush - c->first;
        /* A last packet that is full has an empty one behind it, for which nobody may wait yet. */
        bool empty = n == size && n % ORBTRACE_PACKET == 0;
        c->flushing = empty;
        full = true;
    }
    if (!full)
        return false;
    if (n > 0)
        memcpy(bytes, c->wire.data + c->first, n);
    c->first += n;
    *actual = n;
    return true;
}

int orbtrace_set_format(struct orbtrace_capture *c, uint64_t now, unsigned format)
{
    bool known = format == ORBTRACE_OFF || is_parallel(format) ||
                 (format >= ORBTRACE_MANCHESTER_ITM && format <= ORBTRACE_NRZ_TPIU);
    if (!known)
        return -1;
    bool begins = c->format == ORBTRACE_OFF && format != ORBTRACE_OFF;
    c->format = (uint8_t)format;
    c->id = 0;
    port_sampler_lost(&c->sampler);
    if (c->feed && begins) {
        trace_feed_start(c->feed, now);
        c->holes = holes(c);
    }
    return 0;
}

void orbtrace_set_protocol(struct orbtrace_capture *c, enum orbtrace_protocol protocol)
{
    c->protocol = protocol;
    c->flow.payload = 0;
    c->first = c->wire.size = 0;
    c->flushing = false;
}

void orbtrace_capture_reset(struct orbtrace_capture *c, uint64_t now)
{
    c->format = ORBTRACE_OFF;
    c->baud = 0;
    c->id = 0;
    c->overrun = false;
    c->counters.frames = 0;
    c->counters.lost_frames = 0;
    c->alive = now;
    port_sampler_lost(&c->sampler);
    orbtrace_set_protocol(c, c->protocol);
}

void orbtrace_capture_init(struct orbtrace_capture *c, const struct orbtrace_options *options,
                           enum orbtrace_protocol protocol, struct trace_feed *feed)
{
    memset(c, 0, sizeof *c);
    c->options = *options;
    c->protocol = protocol;
    c->feed = feed;
    c->sampler.frame = on_frame;
    c->sampler.ctx = c;
    c->flow.send = on_packet;
    c->flow.ctx = c;
}

void orbtrace_capture_release(struct orbtrace_capture *c)
{
    trace_bytes_release(&c->wire);
}
