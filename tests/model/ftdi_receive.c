/* SPDX-License-Identifier: BSD-3-Clause */
/* What an FT2232H receives from senders that do not wait for it (AN_130). */
#include <string.h>

#include "usb_ftdi.h"

#define BAUD_PERCENT 3u
#define CHUNK        16384u
#define HOPELESS     (64u * 1024 * 1024) /* bytes that came while nobody looked */

static size_t late(const struct ftdi_channel *c)
{
    return c->late.size - c->late_first;
}

/* What came before has its turn in the chip's buffer. */
static void move_late(struct ftdi_channel *c)
{
    if (late(c) > 0)
        c->late_first += ftdi_fifo_write(&c->in, c->late.data + c->late_first, late(c));
    if (c->late_first <= c->late.size / 2)
        return;
    c->late.size = late(c);
    memmove(c->late.data, c->late.data + c->late_first, c->late.size);
    c->late_first = 0;
}

/* Bytes that found no room: beside the chip's buffer there are `more`. */
static size_t receive(struct ftdi_channel *c, const uint8_t *bytes, size_t size, size_t more)
{
    move_late(c);
    size_t n = late(c) ? 0 : ftdi_fifo_write(&c->in, bytes, size);
    size_t room = more > late(c) ? more - late(c) : 0;
    size_t rest = size - n < room ? size - n : room;
    if (rest > 0)
        trace_bytes_append(&c->late, bytes + n, rest);
    return size - n - rest;
}

/* Part of what the host waits for is built already. */
static size_t waiting(const struct ftdi_channel *c, size_t queued)
{
    return queued > c->size ? queued - c->size : 0;
}

static bool fits(uint64_t rate, uint64_t baud)
{
    uint64_t off = rate > baud ? rate - baud : baud - rate;
    return rate > 0 && 100 * off <= BAUD_PERCENT * rate;
}

/* Bytes that have come on the line; whether they can be told apart. */
static size_t listen(struct usb_ftdi *u, const struct ftdi_channel *c, uint8_t *bytes, size_t size,
                     bool *good)
{
    struct trace_feed *feed = u->options.uart;
    *good = fits(feed ? u->options.uart_baud : probe_board_port(u->board.board).baud, c->baud);
    if (!feed)
        return probe_board_swo(u->board.board, bytes, size);
    if (!*good && feed->started == 0)
        return 0;
    return trace_feed_take(feed, u->options.now(u->options.ctx), bytes, size);
}

/* Bytes of another rate are nonsense: they are dropped. */
void usb_ftdi_receive_swo(struct usb_ftdi *u, struct ftdi_channel *c, size_t queued)
{
    unsigned *fault = &u->board.board->probe.swo.drop;
    uint8_t bytes[4096];
    size_t n;
    bool good, dead = u->channel[0].mode == FTDI_MODE_SYNC_FIFO;
    move_late(c);
    while ((n = listen(u, c, bytes, sizeof bytes, &good)) > 0) {
        if (dead)
            continue;
        if (!good) {
            u->counters.wrong_baud += (unsigned)n;
            continue;
        }
        size_t drop = *fault < n ? *fault : n;
        *fault -= (unsigned)drop;
        drop += receive(c, bytes + drop, n - drop, waiting(c, queued));
        c->overrun |= drop > 0;
        u->counters.overruns += (unsigned)drop;
    }
}

void usb_ftdi_receive_fifo(struct usb_ftdi *u, struct ftdi_channel *c, size_t queued)
{
    struct trace_feed *feed = u->options.fifo;
    unsigned *drop = &u->board.board->probe.swo.drop;
    uint64_t now = u->options.now(u->options.ctx);
    bool patient = u->options.buffer == 0;
    uint8_t bytes[CHUNK];
    size_t n;
    if (!feed || !u->fifo)
        return;
    move_late(c);
    if (!patient && trace_feed_waiting(feed, now) > HOPELESS) {
        uint64_t lost = trace_feed_waiting(feed, now) - HOPELESS;
        trace_feed_skip(feed, lost);
        u->counters.fifo_lost += (unsigned long)lost;
    }
    size_t more = patient ? 0 : waiting(c, queued) + u->options.buffer;
    while ((n = patient ? ftdi_fifo_room(&c->in) : sizeof bytes) > 0 &&
           (n = trace_feed_take(feed, now, bytes, n)) > 0) {
        size_t fault = *drop < n ? *drop : n;
        *drop -= (unsigned)fault;
        u->counters.fifo_lost += fault + receive(c, bytes + fault, n - fault, more);
    }
}
