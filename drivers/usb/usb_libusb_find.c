/* SPDX-License-Identifier: BSD-3-Clause */
/* One device out of those that are attached. */
#include "drivers/usb/usb_libusb_internal.h"

#include <stdio.h>
#include <string.h>

/* Several that fit. */

void usb_several_add(struct usb_several *s, libusb_device *device,
                     const struct usb_device_info *info)
{
    unsigned k = s->count++;
    if (k >= USB_SEVERAL)
        return;
    snprintf(s->list[k].serial, sizeof s->list[k].serial, "%s", info->serial);
    snprintf(s->list[k].product, sizeof s->list[k].product, "%s", info->product_name);
    usb_libusb_path(device, s->list[k].path);
}

/* Does the serial number name this one alone? Cheap adapters have none, or all the same. */
static bool has_own_serial(const struct usb_several *s, unsigned k)
{
    unsigned listed = s->count < USB_SEVERAL ? s->count : USB_SEVERAL;
    bool own = s->list[k].serial[0] != '\0' && s->count <= USB_SEVERAL;
    for (unsigned i = 0; i < listed; i++)
        own &= i == k || strcmp(s->list[i].serial, s->list[k].serial) != 0;
    return own;
}

int usb_several_refuse(const struct usb_several *s, const char *noun, struct usb_open_error *err)
{
    unsigned listed = s->count < USB_SEVERAL ? s->count : USB_SEVERAL;
    size_t size = sizeof err->text;
    size_t at = (size_t)snprintf(err->text, size, "%u %ss are attached; name one", s->count, noun);
    for (unsigned k = 0; k < listed && at < size; k++) {
        bool own = has_own_serial(s, k);
        at += (size_t)snprintf(err->text + at, size - at, "%s '%s = %.40s' (%.30s)", k ? "," : ":",
                               own ? "serial" : "usb", own ? s->list[k].serial : s->list[k].path,
                               s->list[k].product);
    }
    if (s->count > listed && at < size)
        snprintf(err->text + at, size - at, ", ... (btraced probes lists them)");
    return BT_ERR_RANGE;
}

static bool usb_passes(libusb_device *device, const struct usb_wanted *wanted,
                   const struct usb_probe_filter *filter)
{
    struct usb_device_info info;
    if (!usb_libusb_is_there(device, filter))
        return false;
    usb_libusb_describe(device, NULL, &info);
    return wanted->fits(&info, filter);
}

static int usb_none(const struct usb_wanted *wanted, const struct usb_probe_filter *filter,
                struct usb_open_error *err)
{
    bool at = filter->path && filter->path[0] != '\0';
    const char *path = at ? filter->path : "";
    if (err->candidates > 0)
        snprintf(err->text, sizeof err->text,
                 "no %s with serial number '%.60s'%s%s, but %u attached: see 'btraced probes'",
                 wanted->noun, filter->serial ? filter->serial : "", at ? " at " : "", path,
                 err->candidates);
    else if (filter->vendor || filter->product)
        snprintf(err->text, sizeof err->text, "no %s %04x:%04x found on USB%s%s", wanted->noun,
                 filter->vendor, filter->product, at ? " at " : "", path);
    else
        snprintf(err->text, sizeof err->text, "no %s found on USB%s%s", wanted->noun,
                 at ? " at " : "", path);
    return BT_ERR_RANGE;
}

static int usb_check(const struct usb_probe_seen *seen, const struct usb_wanted *wanted,
                 const struct usb_several *all, struct usb_open_error *err)
{
    if (all->count > 1)
        return usb_several_refuse(all, wanted->noun, err);
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
    struct usb_several all = {.count = 0};
    *out = NULL;
    *err = (struct usb_open_error){0};
    ssize_t n = libusb_get_device_list(context, &list);
    for (ssize_t k = 0; k < n; k++) {
        struct usb_probe_seen look;
        if (!usb_passes(list[k], wanted, filter))
            continue;
        err->candidates++;
        usb_libusb_look(list[k], &look);
        if (!usb_serial_matches(&look.info, filter->serial))
            continue;
        usb_several_add(&all, list[k], &look.info);
        if (*out)
            continue;
        *out = libusb_ref_device(list[k]);
        *seen = look;
    }
    if (n >= 0)
        libusb_free_device_list(list, 1);
    int rc = *out ? usb_check(seen, wanted, &all, err) : usb_none(wanted, filter, err);
    if (rc != 0 && *out) {
        libusb_unref_device(*out);
        *out = NULL;
    }
    return rc;
}
