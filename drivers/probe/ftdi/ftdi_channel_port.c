/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of an MPSSE over USB. An IN transfer is queued before the commands are sent, and again
 * until the answer is complete: so the chip's buffer never fills up, and the engine never stops.
 * libftdi's own transfers wait for ever on a chip that is alive and has nothing to say.
 *
 * In libftdi's context in_ep is the endpoint that is written to,
 * and out_ep the one read from. */
#include "ftdi_channel_internal.h"

#include "ftdi_mpsse.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#define ROUND_MS      100u
#define CANCEL_ROUNDS 100u
#define CANCEL_MS     10u
#define DRAIN_MS      5u
#define DRAIN_MAX     64u

static uint64_t ftdi_channel_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void ftdi_channel_pause(struct ftdi_channel *c, unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)c;
    nanosleep(&t, NULL);
}

static void handle_events(struct ftdi_channel *c, uint64_t ms)
{
    struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    (void)libusb_handle_events_timeout_completed(c->ftdi->usb_ctx, &tv, NULL);
}

static void note_status(struct ftdi_channel *c, enum libusb_transfer_status status)
{
    switch (status) {
    case LIBUSB_TRANSFER_COMPLETED:
    case LIBUSB_TRANSFER_TIMED_OUT:
    case LIBUSB_TRANSFER_CANCELLED:
        break;
    case LIBUSB_TRANSFER_NO_DEVICE:
        c->gone = true;
        break;
    default:
        c->failed = true;
        break;
    }
}

static bool ftdi_channel_submit(struct ftdi_channel *c, struct libusb_transfer *t)
{
    int rc = libusb_submit_transfer(t);
    if (rc == LIBUSB_ERROR_NO_DEVICE)
        c->gone = true;
    else if (rc != 0)
        c->failed = true;
    return rc == 0;
}

static void ftdi_channel_take(struct ftdi_channel *c, size_t length)
{
    size_t n = mpsse_strip_status(c->in_data, length, c->ftdi->max_packet_size);
    size_t room = c->want_length - c->got;
    if (n > room) {
        c->excess = true;
        n = room;
    }
    if (n > 0)
        memcpy(c->want + c->got, c->in_data, n);
    c->got += n;
}

static void LIBUSB_CALL on_in(struct libusb_transfer *t)
{
    struct ftdi_channel *c = t->user_data;
    c->in_flight = false;
    note_status(c, t->status);
    if (t->actual_length > 0)
        ftdi_channel_take(c, (size_t)t->actual_length);
    bool good = t->status == LIBUSB_TRANSFER_COMPLETED;
    if (good && !c->stopping && c->got < c->want_length)
        c->in_flight = ftdi_channel_submit(c, t);
}

static void LIBUSB_CALL on_out(struct libusb_transfer *t)
{
    struct ftdi_channel *c = t->user_data;
    c->out_flight = false;
    note_status(c, t->status);
    if (t->status == LIBUSB_TRANSFER_COMPLETED && t->actual_length != t->length)
        c->failed = true;
}

int ftdi_channel_start_port(struct ftdi_channel *c)
{
    c->in = libusb_alloc_transfer(0);
    c->out = libusb_alloc_transfer(0);
    return c->in && c->out ? 0 : BT_ERR_NOMEM;
}

/* Whatever is on its way comes back. */
static bool ftdi_channel_cancel(struct ftdi_channel *c)
{
    c->stopping = true;
    if (c->in_flight)
        (void)libusb_cancel_transfer(c->in);
    if (c->out_flight)
        (void)libusb_cancel_transfer(c->out);
    for (unsigned k = 0; k < CANCEL_ROUNDS && (c->in_flight || c->out_flight); k++)
        handle_events(c, CANCEL_MS);
    return !c->in_flight && !c->out_flight;
}

bool ftdi_channel_stop_port(struct ftdi_channel *c)
{
    if (!ftdi_channel_cancel(c))
        return false;
    libusb_free_transfer(c->in);
    libusb_free_transfer(c->out);
    c->in = c->out = NULL;
    return true;
}

static void ftdi_channel_begin(struct ftdi_channel *c, uint8_t *in, size_t in_length)
{
    c->want = in;
    c->want_length = in_length;
    c->got = 0;
    c->stopping = c->failed = c->excess = false;
}

static void submit_in(struct ftdi_channel *c)
{
    libusb_fill_bulk_transfer(c->in, c->ftdi->usb_dev, (unsigned char)c->ftdi->out_ep, c->in_data,
                              FTDI_IN_BYTES, on_in, c, 0);
    c->in_flight = ftdi_channel_submit(c, c->in);
}

static bool is_over(const struct ftdi_channel *c)
{
    return c->gone || c->failed || (!c->out_flight && c->got >= c->want_length && !c->in_flight);
}

static int wait_for_end(struct ftdi_channel *c, unsigned timeout_ms)
{
    uint64_t end = ftdi_channel_now_ms() + timeout_ms;
    while (!is_over(c)) {
        uint64_t now = ftdi_channel_now_ms();
        if (now >= end)
            break;
        handle_events(c, end - now < ROUND_MS ? end - now : ROUND_MS);
    }
    bool in_time = is_over(c);
    if (!ftdi_channel_cancel(c) || c->gone || c->failed)
        return BT_ERR_IO;
    if (c->excess)
        return BT_ERR_FORMAT;
    return in_time ? 0 : FTDI_TIMED_OUT;
}

static int port_exchange(void *self, const uint8_t *out, size_t out_length, uint8_t *in,
                         size_t in_length, size_t *got, unsigned timeout_ms)
{
    struct ftdi_channel *c = self;
    *got = 0;
    if (c->gone || c->in_flight || c->out_flight)
        return BT_ERR_IO;
    ftdi_channel_begin(c, in, in_length);
    if (in_length > 0)
        submit_in(c);
    if (out_length > 0 && !c->gone && !c->failed) {
        unsigned char *bytes = (unsigned char *)(uintptr_t)out; /* libusb does not write to it */
        libusb_fill_bulk_transfer(c->out, c->ftdi->usb_dev, (unsigned char)c->ftdi->in_ep, bytes,
                                  (int)out_length, on_out, c, 0);
        c->out_flight = ftdi_channel_submit(c, c->out);
    }
    int rc = wait_for_end(c, timeout_ms);
    *got = c->got;
    return rc;
}

/* What the chip still holds or sends comes to nothing: empty packets mean that it has no more. */
int ftdi_channel_purge(struct ftdi_channel *c)
{
    uint8_t waste[FTDI_IN_BYTES];
    if (c->gone || c->in_flight || c->out_flight)
        return BT_ERR_IO;
    if (c->failed) { /* perhaps an endpoint that stalled */
        (void)libusb_clear_halt(c->ftdi->usb_dev, (unsigned char)c->ftdi->in_ep);
        (void)libusb_clear_halt(c->ftdi->usb_dev, (unsigned char)c->ftdi->out_ep);
    }
    if (ftdi_tcioflush(c->ftdi) != 0)
        return BT_ERR_IO;
    for (unsigned k = 0; k < DRAIN_MAX; k++) {
        ftdi_channel_begin(c, waste, sizeof waste);
        submit_in(c);
        int rc = wait_for_end(c, DRAIN_MS);
        if (rc == BT_ERR_IO)
            return rc;
        if (c->got == 0)
            break;
    }
    return 0;
}

static int port_purge(void *self)
{
    return ftdi_channel_purge(self);
}

struct ftdi_port ftdi_channel_port(struct ftdi_channel *c)
{
    static const struct ftdi_port_ops OPS = {.exchange = port_exchange, .purge = port_purge};
    return (struct ftdi_port){.ops = &OPS, .self = c, .has_high_byte = c->chip->has_high_byte};
}
