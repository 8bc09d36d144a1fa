/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/usb/usb.h"

#include <stdio.h>
#include <string.h>

#define CLASS_HID        0x03u
#define CLASS_VENDOR     0xffu
#define CLASS_COMPOSITE  0x00u
#define HID_REPORT_BYTES 64u

static const char DAP_NAME[] = "CMSIS-DAP";

static const struct usb_endpoint_info *usb_endpoint(const struct usb_interface_info *i,
                                                    unsigned index, enum usb_endpoint_kind kind,
                                                    bool in)
{
    if (index >= i->endpoint_count || index >= USB_MAX_ENDPOINTS)
        return NULL;
    const struct usb_endpoint_info *e = &i->endpoints[index];
    if (e->kind != kind || ((e->address & USB_ENDPOINT_IN) != 0) != in || e->packet == 0)
        return NULL;
    if ((e->address & ~USB_ENDPOINT_IN) == 0)
        return NULL; /* the control endpoint, whatever the descriptor says */
    return e;
}

/* Out, in, and perhaps a second in: the order is part of the protocol. */
static bool choose_bulk(const struct usb_interface_info *i, struct usb_dap_choice *choice)
{
    const struct usb_endpoint_info *out = usb_endpoint(i, 0, USB_ENDPOINT_BULK, false);
    const struct usb_endpoint_info *in = usb_endpoint(i, 1, USB_ENDPOINT_BULK, true);
    const struct usb_endpoint_info *swo = usb_endpoint(i, 2, USB_ENDPOINT_BULK, true);
    if (!out || !in)
        return false;
    *choice = (struct usb_dap_choice){.interface = i->number,
                                      .alternate = i->alternate,
                                      .out = out->address,
                                      .in = in->address,
                                      .swo = swo ? swo->address : 0,
                                      .out_packet = out->packet,
                                      .in_packet = in->packet};
    return true;
}

static bool choose_hid(const struct usb_interface_info *i, struct usb_dap_choice *choice)
{
    const struct usb_endpoint_info *out = NULL;
    const struct usb_endpoint_info *in = NULL;
    for (unsigned k = 0; k < i->endpoint_count; k++) {
        if (!out)
            out = usb_endpoint(i, k, USB_ENDPOINT_INTERRUPT, false);
        if (!in)
            in = usb_endpoint(i, k, USB_ENDPOINT_INTERRUPT, true);
    }
    if (!in)
        return false;
    *choice = (struct usb_dap_choice){.hid = true,
                                      .interface = i->number,
                                      .alternate = i->alternate,
                                      .out = out ? out->address : 0,
                                      .in = in->address,
                                      .out_packet = out ? out->packet : HID_REPORT_BYTES,
                                      .in_packet = in->packet};
    return true;
}

/* Interfaces named so are preferred; with the name on the device alone any that fits will do. */
static bool usb_named(const struct usb_device_info *device, const struct usb_interface_info *i,
                      bool by_device)
{
    if (by_device)
        return strstr(device->product_name, DAP_NAME);
    return strstr(i->name, DAP_NAME);
}

static bool usb_choose(const struct usb_interface_info *i, bool hid, struct usb_dap_choice *choice)
{
    if (hid)
        return i->class_code == CLASS_HID && choose_hid(i, choice);
    return (i->class_code == CLASS_VENDOR || i->class_code == CLASS_COMPOSITE) &&
           choose_bulk(i, choice);
}

int usb_choose_cmsis_dap(const struct usb_device_info *device, struct usb_dap_choice *choice)
{
    for (int hid = 0; hid <= 1; hid++) {
        for (int by_device = 0; by_device <= 1; by_device++) {
            for (unsigned k = 0; k < device->interface_count && k < USB_MAX_INTERFACES; k++) {
                const struct usb_interface_info *i = &device->interfaces[k];
                if (!usb_named(device, i, by_device))
                    continue;
                if (usb_choose(i, hid != 0, choice))
                    return 0;
            }
        }
    }
    return BT_ERR_UNSUPPORTED;
}

bool usb_may_be_cmsis_dap(const struct usb_device_info *device)
{
    struct usb_dap_choice choice;
    bool may = false;
    for (unsigned k = 0; k < device->interface_count && k < USB_MAX_INTERFACES; k++)
        may |= usb_choose(&device->interfaces[k], false, &choice) ||
               usb_choose(&device->interfaces[k], true, &choice);
    return may && device->names_hidden;
}

bool usb_serial_matches(const struct usb_device_info *device, const char *serial)
{
    return !serial || serial[0] == '\0' || strcmp(device->serial, serial) == 0;
}

void usb_describe(const struct usb_device_info *device, const char *more, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s%s", device->product_name, device->serial[0] ? ", serial " : "",
             device->serial, *more ? ", " : "", more);
}

void usb_describe_refusal(const struct usb_device_info *device, int error, struct message *why)
{
    message_set(why, "capture unit '%s' cannot be started: %s", device->product_name,
                error == BT_ERR_UNSUPPORTED ? "it refuses this input (tpiu_width, swo_rate)"
                : error == BT_ERR_NOMEM     ? "out of memory"
                                            : "it does not answer; unplug it and plug it in again");
}
