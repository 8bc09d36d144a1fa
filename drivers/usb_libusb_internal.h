/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that use libusb. */
#ifndef DRIVERS_USB_LIBUSB_INTERNAL_H
#define DRIVERS_USB_LIBUSB_INTERNAL_H

#include <libusb.h>

#include "drivers/usb_libusb.h"

/* What a device is; `handle` NULL: strings are those that the kernel knows. */
void usb_libusb_describe(libusb_device *device, libusb_device_handle *handle,
                         struct usb_device_info *info);

/* The device file that is opened to use it. */
void usb_libusb_node(libusb_device *device, char *text, size_t size);

/* All that can be told of a device without claiming it; it is opened for a moment if that is
 * allowed. */
void usb_libusb_look(libusb_device *device, struct usb_probe_seen *seen);

/*
 * Calls `look` for each device on any bus; `err->candidates` counts those it says are meant. 0, or
 * BT_ERR_IO with err->text: USB cannot be used.
 */
int usb_libusb_each(bool (*look)(void *user, libusb_device *device), void *user,
                    struct usb_open_error *err);

#endif
