/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine of an endpoint that delivers without being asked: many transfers are queued ahead, and
 * each goes back into the queue as soon as its bytes are taken. Shared by the files that use
 * libusb.
 */
#ifndef DRIVERS_USB_BULK_STREAM_H
#define DRIVERS_USB_BULK_STREAM_H

#include <libusb.h>

#include "drivers/probe/trace_stream.h"

struct usb_bulk_slot;

/* What the transfers of the last poll held: none was there, all were whole, or not. */
enum usb_stream_pace {
    USB_STREAM_IDLE,
    USB_STREAM_FULL,
    USB_STREAM_SHORT,
};

/* Private. Belongs to the thread of its device; must not move while it runs. */
struct usb_bulk_stream {
    libusb_context *context;
    libusb_device_handle *handle;
    uint8_t endpoint;
    unsigned transfers;
    size_t size; /* of one, bytes */
    struct usb_bulk_slot *slots;
    uint8_t *memory; /* of all transfers */
    struct trace_sink sink;
    unsigned in_flight;
    unsigned errors; /* in a row */
    enum usb_stream_pace pace;
    bool stopping;
    bool stalled;
    bool gone;
};

/* `size` is a multiple of the endpoint's wMaxPacketSize. What they come to should hold what the
 * device sends in 50 ms. Nothing is allocated yet. */
void usb_bulk_stream_init(struct usb_bulk_stream *s, libusb_context *context,
                          libusb_device_handle *handle, uint8_t endpoint, unsigned transfers,
                          size_t size);

/* The stream of a struct usb_bulk_stream: transfers, one at a time. Its sink needs no room().
 * Start: BT_ERR_INVAL (runs already), BT_ERR_NOMEM, BT_ERR_IO. Stop: 0 also if it does not run;
 * BT_ERR_IO: a transfer does not come back, and the structure must never be freed. */
struct trace_stream usb_bulk_trace_stream(struct usb_bulk_stream *s);
int usb_bulk_stream_start(void *self, const struct trace_sink *sink);
int usb_bulk_stream_poll(void *self, unsigned timeout_ms);
int usb_bulk_stream_stop(void *self);

#endif
