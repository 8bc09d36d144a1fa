/* SPDX-License-Identifier: BSD-3-Clause */
/* What carries the modelled device: umockdev, or with BTRACED_USB_BED=usbip the kernel itself. */
#ifndef TESTS_USB_UMOCK_BED_H
#define TESTS_USB_UMOCK_BED_H

#include "tests/usb/bed_usbip.h"
#include "tests/usb/umock_usb.h"

struct umock_bed {
    struct umock_usb *mock;   /* one of the two */
    struct bed_usbip *kernel; /* is NULL */
    struct usb_device *device;
    struct umock_usb *second; /* or NULL */
};

/* The kernel's USB stack is asked for. */
bool umock_bed_on_kernel(void);

/*
 * `device` must outlive it, and so must `second`, which is beside it on umockdev, or NULL. 0, or -1
 * with a message on stderr.
 */
int umock_bed_open(struct umock_bed *b, struct usb_device *device, struct usb_device *second);

/* Pulls the cable of the first device; plugs it in again. */
void umock_bed_unplug(struct umock_bed *b);
int umock_bed_replug(struct umock_bed *b);

void umock_bed_close(struct umock_bed *b);

#endif
