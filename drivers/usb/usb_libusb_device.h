/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that use libusb. */
#ifndef DRIVERS_USB_LIBUSB_DEVICE_H
#define DRIVERS_USB_LIBUSB_DEVICE_H

#include <libusb.h>

#include "drivers/usb/usb_libusb.h"

/* What a device is; `handle` NULL: strings are those that the kernel knows. */
void usb_libusb_describe(libusb_device *device, libusb_device_handle *handle,
                         struct usb_device_info *info);

/* All that can be told of a device without claiming it; it is opened for a moment if that is
 * allowed. */
void usb_libusb_look(libusb_device *device, struct usb_probe_seen *seen);

/* Calls `look` for each device on any bus. 0, or BT_ERR_IO with *why: USB cannot be used. */
int usb_libusb_each(void (*look)(void *user, libusb_device *device), void *user,
                    struct message *why);

/* Devices that fit the same filter; more than one is a refusal, since a guess could halt the wrong
 * core. */
#define USB_SEVERAL 4u
struct usb_several {
    unsigned attached; /* devices of that kind, whatever the filter lets through */
    unsigned count;
    struct {
        char serial[USB_MAX_STRING];
        char product[USB_MAX_STRING];
        char path[USB_MAX_PATH];
    } list[USB_SEVERAL]; /* the first of them */
};

/* A kind of device that is looked for. */
struct usb_wanted {
    const char *noun; /* "ORBTrace": for messages */
    /* Could it be one, as far as its descriptors tell? Strings are not known yet. */
    bool (*fits)(const struct usb_device_info *info, const struct usb_probe_filter *filter);
};

/*
 * The one device that is wanted and that the filter lets through. Nothing is claimed.
 * Return 0 with *out, to be released with libusb_unref_device(), and what it is in *seen;
 * BT_ERR_RANGE (none, or several), BT_ERR_IO (no permission); *why tells why.
 */
int usb_libusb_find(libusb_context *context, const struct usb_wanted *wanted,
                    const struct usb_probe_filter *filter, libusb_device **out,
                    struct usb_probe_seen *seen, struct message *why);

#endif
