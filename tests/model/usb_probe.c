/* SPDX-License-Identifier: BSD-3-Clause */
#include "usb_probe.h"

#include <errno.h>
#include <string.h>

#define DT_HID      0x21
#define DT_REPORT   0x22
#define DEVICE_SIZE 18
#define HID_REPORT  USB_PROBE_HID_REPORT

static const uint8_t device_descriptor[DEVICE_SIZE] = {
    DEVICE_SIZE,
    USB_DT_DEVICE,
    0x00,
    0x02,
    0,
    0,
    0,
    64,
    USB_PROBE_VID & 0xff,
    USB_PROBE_VID >> 8,
    USB_PROBE_PID & 0xff,
    USB_PROBE_PID >> 8,
    0x00,
    0x01,
    1,
    2,
    3,
    1,
};

static const uint8_t bulk_interface[] = {
    9,
    USB_DT_INTERFACE,
    0,
    0,
    3,
    0xff,
    0,
    0,
    4, /* interface string "CMSIS-DAP v2" */
    7,
    USB_DT_ENDPOINT,
    USB_PROBE_EP_OUT,
    2,
    0x00,
    0x02,
    0, /* bulk, 512 */
    7,
    USB_DT_ENDPOINT,
    USB_PROBE_EP_IN,
    2,
    0x00,
    0x02,
    0, /* bulk, 512 */
    7,
    USB_DT_ENDPOINT,
    USB_PROBE_EP_SWO,
    2,
    0x00,
    0x02,
    0, /* bulk, 512 */
};

/* Vendor page 0xff00: one input and one output report of 64 bytes. */
static const uint8_t report_descriptor[] = {
    0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08,
    0x95, 0x40, 0x09, 0x01, 0x81, 0x02, 0x95, 0x40, 0x09, 0x01, 0x91, 0x02, 0xc0,
};

const uint8_t usb_probe_hid_descriptor[9] = {
    9, DT_HID, 0x11, 0x01, 0, 1, DT_REPORT, sizeof report_descriptor, 0,
};

static const uint8_t hid_interface[] = {
    9,
    USB_DT_INTERFACE,
    0,
    0,
    2,
    3,
    0,
    0,
    5, /* "CMSIS-DAP v1" */
    9,
    DT_HID,
    0x11,
    0x01,
    0,
    1,
    DT_REPORT,
    sizeof report_descriptor,
    0,
    7,
    USB_DT_ENDPOINT,
    USB_PROBE_EP_IN,
    3,
    HID_REPORT,
    0,
    4, /* interrupt */
    7,
    USB_DT_ENDPOINT,
    USB_PROBE_EP_OUT,
    3,
    HID_REPORT,
    0,
    4,
};

static const char *const strings[] = {
    NULL, "btraced", "Model CMSIS-DAP", "MODEL0001", "CMSIS-DAP v2", "CMSIS-DAP v1",
};

static struct usb_probe *probe_of(struct usb_device *d)
{
    return (struct usb_probe *)d;
}

static int probe_out(struct usb_device *d, uint8_t endpoint, const uint8_t *bytes, size_t size,
                     size_t *taken)
{
    if (endpoint != USB_PROBE_EP_OUT)
        return -EPIPE;
    cmsis_dap_submit(&d->board->probe, bytes, size);
    *taken = size;
    return 0;
}

int usb_probe_hid_control(struct usb_device *d, uint8_t out, const uint8_t setup[8], uint8_t *data,
                          size_t *actual)
{
    size_t length = (size_t)(setup[6] | setup[7] << 8);
    size_t taken = 0;
    switch (setup[0] << 8 | setup[1]) {
    case 0x8106: /* GET_DESCRIPTOR of the interface */
        if (setup[3] != DT_REPORT)
            return -EPIPE;
        *actual = length < sizeof report_descriptor ? length : sizeof report_descriptor;
        memcpy(data, report_descriptor, *actual);
        return 0;
    case 0x210a: /* SET_IDLE */
        return 0;
    case 0x2109: /* SET_REPORT */
        *actual = length;
        return usb_device_out(d, out, data, length, &taken);
    default:
        return -EPIPE;
    }
}

static int probe_control(struct usb_device *d, const uint8_t setup[8], uint8_t *data,
                         size_t *actual)
{
    if (!probe_of(d)->hid)
        return -EPIPE;
    return usb_probe_hid_control(d, USB_PROBE_EP_OUT, setup, data, actual);
}

int usb_probe_response(struct usb_device *d, struct cmsis_dap_model *probe, bool hid,
                       uint8_t *bytes, size_t size, size_t *actual)
{
    uint8_t response[CMSIS_DAP_PACKET_MAX] = {0};
    if (d->halted)
        return -EPIPE;
    if (!cmsis_dap_answers(probe))
        return USB_DEVICE_WAIT;
    if (usb_device_due(&d->faults.stall_after)) {
        d->halted = true;
        return -EPIPE;
    }
    size_t n = cmsis_dap_response(probe, response);
    d->muted |= usb_device_due(&d->faults.mute_after);
    if (d->muted || usb_device_due(&d->faults.lose_after))
        return USB_DEVICE_WAIT;
    if (usb_device_due(&d->faults.short_after))
        n = 1;
    else if (hid)
        n = probe->options.packet_size;
    *actual = n < size ? n : size;
    memcpy(bytes, response, *actual);
    return n > size ? -EOVERFLOW : 0;
}

/* Bulk transfers know no other end: the CMSIS-DAP manual names no packet of no bytes behind a whole
 * block. */
static void fill_transfer(struct usb_probe *u, size_t size)
{
    size_t n = CMSIS_DAP_SWO_BLOCK;
    while (!u->ready && n == CMSIS_DAP_SWO_BLOCK && sizeof u->transfer - u->size >= n) {
        n = cmsis_dap_stream(&u->device.board->probe, u->transfer + u->size);
        u->size += n;
        u->ready =
            (n > 0 && n < CMSIS_DAP_SWO_BLOCK) || u->size >= size || u->size == sizeof u->transfer;
    }
}

static int swo_in(struct usb_probe *u, uint8_t *bytes, size_t size, size_t *actual)
{
    u->ready |= u->size >= size;
    fill_transfer(u, size);
    if (!u->ready)
        return USB_DEVICE_WAIT;
    bool over = u->size > size;
    *actual = over ? size : u->size;
    memcpy(bytes, u->transfer, *actual);
    u->size = 0;
    u->ready = false;
    return over ? -EOVERFLOW : 0;
}

static int probe_in(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size,
                    size_t *actual)
{
    if (endpoint == USB_PROBE_EP_IN)
        return usb_probe_response(d, &d->board->probe, probe_of(d)->hid, bytes, size, actual);
    if (endpoint != USB_PROBE_EP_SWO || probe_of(d)->hid)
        return -EPIPE;
    return swo_in(probe_of(d), bytes, size, actual);
}

static size_t probe_take_back(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size)
{
    struct usb_probe *u = probe_of(d);
    if (endpoint != USB_PROBE_EP_SWO || u->size > size)
        return 0;
    size_t n = u->size;
    memcpy(bytes, u->transfer, n);
    u->size = 0;
    u->ready = false;
    return n;
}

static void probe_replug(struct usb_device *d)
{
    cmsis_dap_replug(&d->board->probe);
    probe_of(d)->size = 0;
    probe_of(d)->ready = false;
}

void usb_probe_init(struct usb_probe *u, struct probe_board *board, bool hid)
{
    static const struct usb_device_ops ops = {
        .control = probe_control,
        .out = probe_out,
        .in = probe_in,
        .replug = probe_replug,
        .take_back = probe_take_back,
    };
    const uint8_t *interface = hid ? hid_interface : bulk_interface;
    size_t size = hid ? sizeof hid_interface : sizeof bulk_interface;
    usb_device_init(&u->device, &ops, board, device_descriptor, interface, size, 1);
    u->device.strings = strings;
    u->device.string_count = sizeof strings / sizeof *strings;
    u->hid = hid;
    u->size = 0;
    u->ready = false;
}
