/* SPDX-License-Identifier: BSD-3-Clause */
/* What carries the modelled device: umockdev, or with BTRACED_USB_BENCH=usbip the kernel itself. */
#ifndef TESTS_USB_UMOCK_BENCH_H
#define TESTS_USB_UMOCK_BENCH_H

#include "tests/bench/usb/bench_usbip.h"
#include "tests/bench/usb/umock_usb.h"

struct umock_bench {
    struct umock_usb *mock;     /* one of the two */
    struct bench_usbip *kernel; /* is NULL */
    struct usb_device *device;
    struct umock_usb *second; /* or NULL */
};

/* The kernel's USB stack is asked for. */
bool umock_bench_on_kernel(void);

/*
 * `device` must outlive it, and so must `second`, which is beside it on umockdev, or NULL. 0, or -1
 * with a message on stderr.
 */
int umock_bench_open(struct umock_bench *b, struct usb_device *device, struct usb_device *second);

/* Pulls the cable of the first device; plugs it in again. */
void umock_bench_unplug(struct umock_bench *b);
int umock_bench_replug(struct umock_bench *b);

void umock_bench_close(struct umock_bench *b);

#endif
