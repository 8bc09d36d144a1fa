/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/usb/umock_bench.h"

#include <stdlib.h>
#include <string.h>

bool umock_bench_on_kernel(void)
{
    const char *name = getenv("BTRACED_USB_BENCH");
    return name && strcmp(name, "usbip") == 0;
}

int umock_bench_open(struct umock_bench *b, struct usb_device *device, struct usb_device *second)
{
    *b = (struct umock_bench){.device = device};
    if (umock_bench_on_kernel() && second) {
        fprintf(stderr, "umockdev_probe: a second device is on umockdev only\n");
        return -1;
    }
    if (umock_bench_on_kernel())
        b->kernel = bench_usbip_new(device);
    else
        b->mock = umock_usb_new(device, NULL);
    if (b->mock && second && !(b->second = umock_usb_new(second, b->mock)))
        return -1;
    return b->kernel || b->mock ? 0 : -1;
}

void umock_bench_unplug(struct umock_bench *b)
{
    if (b->mock)
        umock_usb_unplug(b->mock);
    if (b->kernel) {
        usb_device_unplug(b->device);
        bench_usbip_update(b->kernel);
    }
}

int umock_bench_replug(struct umock_bench *b)
{
    if (b->mock)
        return umock_usb_replug(b->mock);
    usb_device_replug(b->device);
    return bench_usbip_update(b->kernel);
}

void umock_bench_close(struct umock_bench *b)
{
    if (b->kernel)
        bench_usbip_free(b->kernel);
    if (b->second)
        umock_usb_free(b->second);
    if (b->mock)
        umock_usb_free(b->mock);
}
