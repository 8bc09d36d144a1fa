/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interfaces of usb.h on libusb-1.0. A device belongs to one thread.
 */
#ifndef DRIVERS_USB_LIBUSB_H
#define DRIVERS_USB_LIBUSB_H

#include "drivers/probe/trace_stream.h"
#include "drivers/usb/usb.h"

struct usb_probe;

#define USB_MAX_PATH 32u /* "255-255.255.255.255.255.255.255" is 31 */

/*
 * Which probe; all zero: the only one. The path is the bus and the ports from there on, "1-2.3": it
 * names a device without a serial number, and stays when the device is plugged in again. The
 * address does not stay.
 */
struct usb_probe_filter {
    const char *serial; /* NULL or "": any */
    const char *path;   /* NULL or "": any */
    uint16_t vendor;    /* with product; both 0: any */
    uint16_t product;
    uint8_t bus, address; /* both 0: any */
};

/*
 * Find and open a CMSIS-DAP probe.
 * Return 0 and *out, to be closed with usb_probe_close(); BT_ERR_RANGE (no such probe),
 * BT_ERR_IO (found, but not to be opened: no permission, in use), BT_ERR_NOMEM; *why tells why.
 * Several that fit are BT_ERR_RANGE, too: *why lists them with what names each.
 */
int usb_probe_open(const struct usb_probe_filter *filter, struct usb_probe **out,
                   struct message *why);

/* A probe that is attached. */
struct usb_probe_seen {
    struct usb_device_info info;
    char manufacturer[USB_MAX_STRING];
    uint8_t bus, address;
    char path[USB_MAX_PATH]; /* as in the filter; "" if not known */
    const char *speed;       /* "480 Mbit/s"; "" if not known */
    char node[32];           /* the file that must be opened to use it */
    bool no_permission;
};

/*
 * Calls `found` for each CMSIS-DAP probe, also those that may not be opened. Nothing is claimed.
 * Return 0, or BT_ERR_IO with *why.
 */
int usb_probe_list(void (*found)(void *user, const struct usb_probe_seen *probe), void *user,
                   struct message *why);

/* Stop streams, release the interface, free. NULL is allowed. */
void usb_probe_close(struct usb_probe *probe);

/* Of an open probe; valid until it is closed. The stream's ops are NULL if it has none. */
const struct usb_device_info *usb_probe_info(const struct usb_probe *probe);
const struct usb_dap_choice *usb_probe_choice(const struct usb_probe *probe);
struct usb_pipe usb_probe_pipe(struct usb_probe *probe);
struct trace_stream usb_probe_stream(struct usb_probe *probe);

#endif
