/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/usb/usb_bulk_stream.h"

#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define ERRORS        4u /* in a row; then the device counts as gone */
#define STOP_ROUNDS   200u
#define STOP_ROUND_MS 10
#define GATHER_US     4000u
#define GATHER_BYTES  (1u << 20)

struct usb_bulk_slot {
    struct libusb_transfer *transfer;
    bool in_flight;
    struct usb_bulk_stream *stream;
    uint8_t *data;
};

static void usb_submit(struct usb_bulk_slot *slot)
{
    struct usb_bulk_stream *s = slot->stream;
    int code = libusb_submit_transfer(slot->transfer);
    if (code == 0) {
        slot->in_flight = true;
        s->in_flight++;
    } else if (code == LIBUSB_ERROR_NO_DEVICE) {
        s->gone = true;
    }
}

static void LIBUSB_CALL on_transfer(struct libusb_transfer *t)
{
    struct usb_bulk_slot *slot = t->user_data;
    struct usb_bulk_stream *s = slot->stream;
    slot->in_flight = false;
    s->in_flight--;
    if (t->actual_length < t->length)
        s->pace = USB_STREAM_SHORT;
    else if (s->pace == USB_STREAM_IDLE)
        s->pace = USB_STREAM_FULL;
    if (t->actual_length > 0) {
        s->sink.bytes(s->sink.user, slot->data, (size_t)t->actual_length);
        s->errors = 0;
    }
    switch (t->status) {
    case LIBUSB_TRANSFER_COMPLETED:
    case LIBUSB_TRANSFER_TIMED_OUT:
        break;
    case LIBUSB_TRANSFER_CANCELLED:
        return;
    case LIBUSB_TRANSFER_NO_DEVICE:
        s->gone = true;
        return;
    case LIBUSB_TRANSFER_STALL: /* cleared in poll: not allowed here */
        s->stalled = true;
        s->sink.lost(s->sink.user, BT_GAP_LOST_BYTES);
        return;
    default:
        s->sink.lost(s->sink.user, BT_GAP_LOST_BYTES);
        if (++s->errors > ERRORS)
            s->gone = true;
        break;
    }
    if (!s->stopping && !s->gone)
        usb_submit(slot);
}

static void handle_events(struct usb_bulk_stream *s, unsigned timeout_ms)
{
    struct timeval tv = {.tv_sec = timeout_ms / 1000, .tv_usec = (timeout_ms % 1000) * 1000L};
    (void)libusb_handle_events_timeout_completed(s->context, &tv, NULL);
}

int usb_bulk_stream_poll(void *self, unsigned timeout_ms)
{
    struct usb_bulk_stream *s = self;
    if (!s->slots)
        return BT_ERR_INVAL;
    if (s->stalled) {
        s->stalled = false;
        (void)libusb_clear_halt(s->handle, s->endpoint);
    }
    for (unsigned k = 0; k < s->transfers && !s->gone; k++) {
        if (!s->slots[k].in_flight)
            usb_submit(&s->slots[k]);
    }
    /* Behind whole transfers more of them come. In a long queue they can wait for each other, and
     * cost one wake-up: High Speed takes 17 ms at least to fill the shortest. */
    bool gathers = s->pace == USB_STREAM_FULL && s->transfers * s->size >= GATHER_BYTES;
    if (gathers && timeout_ms * 1000 > GATHER_US)
        usleep(GATHER_US);
    s->pace = USB_STREAM_IDLE;
    handle_events(s, timeout_ms);
    return s->gone ? BT_ERR_IO : 0;
}

int usb_bulk_stream_stop(void *self)
{
    struct usb_bulk_stream *s = self;
    if (!s->slots)
        return 0;
    s->stopping = true;
    for (unsigned k = 0; k < s->transfers; k++) {
        if (s->slots[k].in_flight)
            (void)libusb_cancel_transfer(s->slots[k].transfer);
    }
    for (unsigned k = 0; k < STOP_ROUNDS && s->in_flight > 0; k++)
        handle_events(s, STOP_ROUND_MS);
    if (s->in_flight > 0)
        return BT_ERR_IO; /* a transfer that is not back must not be freed: kept for good */
    for (unsigned k = 0; k < s->transfers; k++)
        libusb_free_transfer(s->slots[k].transfer);
    free(s->slots);
    free(s->memory);
    s->slots = NULL;
    s->memory = NULL;
    return 0;
}

int usb_bulk_stream_start(void *self, const struct trace_sink *sink)
{
    struct usb_bulk_stream *s = self;
    if (s->slots)
        return BT_ERR_INVAL;
    s->slots = calloc(s->transfers, sizeof *s->slots);
    s->memory = malloc(s->transfers * s->size);
    if (!s->slots || !s->memory) {
        (void)usb_bulk_stream_stop(s);
        return BT_ERR_NOMEM;
    }
    s->sink = *sink;
    s->stopping = s->stalled = s->gone = false;
    s->errors = 0;
    for (unsigned k = 0; k < s->transfers; k++) {
        struct usb_bulk_slot *slot = &s->slots[k];
        slot->stream = s;
        slot->data = s->memory + k * s->size;
        slot->transfer = libusb_alloc_transfer(0);
        if (!slot->transfer) {
            (void)usb_bulk_stream_stop(s);
            return BT_ERR_NOMEM;
        }
        libusb_fill_bulk_transfer(slot->transfer, s->handle, s->endpoint, slot->data, (int)s->size,
                                  on_transfer, slot, 0);
        usb_submit(slot); /* with less memory for USB than this, fewer are in flight */
    }
    if (s->in_flight > 0)
        return 0;
    (void)usb_bulk_stream_stop(s);
    return BT_ERR_IO;
}

void usb_bulk_stream_init(struct usb_bulk_stream *s, libusb_context *context,
                          libusb_device_handle *handle, uint8_t endpoint, unsigned transfers,
                          size_t size)
{
    *s = (struct usb_bulk_stream){.context = context,
                                  .handle = handle,
                                  .endpoint = endpoint,
                                  .transfers = transfers,
                                  .size = size};
}

struct trace_stream usb_bulk_trace_stream(struct usb_bulk_stream *s)
{
    static const struct trace_stream_ops OPS = {
        .start = usb_bulk_stream_start, .poll = usb_bulk_stream_poll, .stop = usb_bulk_stream_stop};
    return (struct trace_stream){.ops = &OPS, .self = s};
}
