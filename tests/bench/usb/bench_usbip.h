/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries a modelled device on the kernel's virtual USB host controller (vhci-hcd), so that clients
 * meet it behind the real USB stack. Needs that module, the right to write to its sysfs files, and
 * a GLib main loop in the thread that made it.
 */
#ifndef TESTS_USB_BENCH_USBIP_H
#define TESTS_USB_BENCH_USBIP_H

#include "tests/model/usb_device.h"

struct bench_usbip;

/* Plugs the device in, and waits until its node is there. `u` must outlive it. NULL with a message
 * on stderr. */
struct bench_usbip *bench_usbip_new(struct usb_device *u);

/* Pulls it out if that has not happened, and frees. */
void bench_usbip_free(struct bench_usbip *b);

/* After u->unplugged was changed: pulls out or plugs in again. 0, or -1 if that failed. */
int bench_usbip_update(struct bench_usbip *b);

#endif
