/* SPDX-License-Identifier: BSD-3-Clause */
/* One device out of those that are attached. */
#include "drivers/usb_libusb_internal.h"

#include <stdio.h>

static bool passes(libusb_device *device, const struct usb_wanted *wanted,
                   const struct usb_probe_filter *filter)
{
    struct usb_device_info info;
    if ((filter->bus || filter->address) && (filter->bus != libusb_get_bus_number(device) ||
                                             filter->address != libusb_get_device_address(device)))
        return false;
    usb_libusb_describe(device, NULL, &info);
    return wanted->fits(&info, filter);
}

static int none(const struct usb_wanted *wanted, const struct usb_probe_filter *filter,
                struct usb_open_error *err)
{
    if (err->candidates > 0)
        snprintf(err->text, sizeof err->text, "no %s with serial number '%.60s', %u others",
                 wanted->noun, filter->serial ? filter->serial : "", err->candidates);
    else if (filter->vendor || filter->product)
        snprintf(err->text, sizeof err->text, "no %s %04x:%04x found on USB", wanted->noun,
                 filter->vendor, filter->product);
    else
        snprintf(err->text, sizeof err->text, "no %s found on USB", wanted->noun);
    return BT_ERR_RANGE;
}

static int check(const struct usb_probe_seen *seen, const struct usb_wanted *wanted, unsigned found,
                 struct usb_open_error *err)
{
    if (found > 1) {
        snprintf(err->text, sizeof err->text,
                 "%s: %u are attached: name one with 'serial' (btraced probes lists them)",
                 wanted->noun, found);
        return BT_ERR_RANGE;
    }
    if (!seen->no_permission)
        return 0;
    snprintf(err->text, sizeof err->text,
             "no permission to open %s %s (%04x:%04x): install the udev rules 60-btraced.rules",
             wanted->noun, seen->node, seen->info.vendor, seen->info.product);
    return BT_ERR_IO;
}

int usb_libusb_find(libusb_context *context, const struct usb_wanted *wanted,
                    const struct usb_probe_filter *filter, libusb_device **out,
                    struct usb_probe_seen *seen, struct usb_open_error *err)
{
    libusb_device **list;
    unsigned found = 0;
    *out = NULL;
    *err = (struct usb_open_error){0};
    ssize_t n = libusb_get_device_list(context, &list);
    for (ssize_t k = 0; k < n; k++) {
        struct usb_probe_seen look;
        if (!passes(list[k], wanted, filter))
            continue;
        err->candidates++;
        usb_libusb_look(list[k], &look);
        if (!usb_serial_matches(&look.info, filter->serial) || found++ > 0)
            continue;
        *out = libusb_ref_device(list[k]);
        *seen = look;
    }
    if (n >= 0)
        libusb_free_device_list(list, 1);
    int rc = found ? check(seen, wanted, found, err) : none(wanted, filter, err);
    if (rc != 0 && *out) {
        libusb_unref_device(*out);
        *out = NULL;
    }
    return rc;
}
