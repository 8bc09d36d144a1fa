/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries a modelled device on umockdev: the client's usbfs requests arrive here, so an unmodified
 * libusb program sees a device. Needs a GLib main loop in the thread that made it.
 */
#ifndef TESTS_USB_UMOCK_USB_H
#define TESTS_USB_UMOCK_USB_H

#include "tests/model/usb_device.h"

struct umock_usb;

/*
 * Makes the test bench with the device in it, or puts the device into that of `beside`, which stays
 * the first one; free them in the other order. `u` must outlive it.
 * NULL with a message on stderr. */
struct umock_usb *umock_usb_new(struct usb_device *u, const struct umock_usb *beside);

/* Pulls the cable: what is queued ends, the device leaves the bus. Nothing if it is out. */
void umock_usb_unplug(struct umock_usb *m);

/* Plugs it in again, also after a fault that unplugged it. 0, or -1 with a message on stderr. */
int umock_usb_replug(struct umock_usb *m);

void umock_usb_free(struct umock_usb *m);

#endif
