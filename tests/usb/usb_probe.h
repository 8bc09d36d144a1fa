/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modelled probe as a USB device, whatever carries it: descriptors, standard control requests
 * and endpoints (probes digest, sections 7.1 and 7.2). Statuses are those of an URB: 0 or -errno.
 */
#ifndef TESTS_USB_USB_PROBE_H
#define TESTS_USB_USB_PROBE_H

#include "tests/usb/probe_board.h"

#define USB_PROBE_VID 0x1209
#define USB_PROBE_PID 0x0001

#define USB_PROBE_EP_OUT 0x01
#define USB_PROBE_EP_IN  0x81
#define USB_PROBE_EP_SWO 0x82 /* v2 only */

#define USB_PROBE_WAIT 1 /* usb_probe_in(): nothing yet */

/* Counts down by transfers of the command endpoints; 0: not. */
struct usb_faults {
    unsigned unplug_after;
    unsigned stall_after; /* that IN transfer stalls; the response waits behind the halt */
    unsigned short_after; /* that response is cut to its first byte */
    unsigned lose_after;  /* that response never comes */
};

/* Faults are public, the rest is private. Nothing to release. */
struct usb_probe {
    struct probe_board *board;
    bool hid; /* CMSIS-DAP v1 */
    struct usb_faults faults;
    bool unplugged;
    bool halted;
    uint8_t descriptors[256];
    size_t descriptors_size;
};

/* `board` must outlive the device. */
void usb_probe_init(struct usb_probe *u, struct probe_board *board, bool hid);

/*
 * A control request: `data` holds wLength bytes, both ways. Sets *actual. 0, or -EPIPE for a
 * request that the device does not know.
 */
int usb_probe_control(struct usb_probe *u, const uint8_t setup[8], uint8_t *data, size_t *actual);

/* One OUT transfer. 0, -EPIPE, -ESHUTDOWN. */
int usb_probe_out(struct usb_probe *u, uint8_t endpoint, const uint8_t *bytes, size_t size);

/* One IN transfer. 0 with *actual, USB_PROBE_WAIT, -EPIPE, -EOVERFLOW, -ESHUTDOWN. */
int usb_probe_in(struct usb_probe *u, uint8_t endpoint, uint8_t *bytes, size_t size,
                 size_t *actual);

/* Unplugged by hand; and plugged in again, with the probe's firmware started anew. */
void usb_probe_unplug(struct usb_probe *u);
void usb_probe_replug(struct usb_probe *u);

/* CLEAR_FEATURE(ENDPOINT_HALT). */
void usb_probe_clear_halt(struct usb_probe *u);

#endif
