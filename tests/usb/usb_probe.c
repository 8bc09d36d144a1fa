/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/usb/usb_probe.h"

#include <errno.h>
#include <string.h>

#define DT_DEVICE    1
#define DT_CONFIG    2
#define DT_STRING    3
#define DT_INTERFACE 4
#define DT_ENDPOINT  5
#define DT_HID       0x21
#define DT_REPORT    0x22

#define DEVICE_SIZE 18
#define CONFIG_SIZE 9
#define HID_REPORT  64

static const uint8_t device_descriptor[DEVICE_SIZE] = {
    DEVICE_SIZE,
    DT_DEVICE,
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
    DT_INTERFACE,
    0,
    0,
    3,
    0xff,
    0,
    0,
    4, /* interface string "CMSIS-DAP v2" */
    7,
    DT_ENDPOINT,
    USB_PROBE_EP_OUT,
    2,
    0x00,
    0x02,
    0, /* bulk, 512 */
    7,
    DT_ENDPOINT,
    USB_PROBE_EP_IN,
    2,
    0x00,
    0x02,
    0, /* bulk, 512 */
    7,
    DT_ENDPOINT,
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

static const uint8_t hid_interface[] = {
    9,
    DT_INTERFACE,
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
    DT_ENDPOINT,
    USB_PROBE_EP_IN,
    3,
    HID_REPORT,
    0,
    4, /* interrupt */
    7,
    DT_ENDPOINT,
    USB_PROBE_EP_OUT,
    3,
    HID_REPORT,
    0,
    4,
};

static const char *const strings[] = {
    NULL, "btraced", "Model CMSIS-DAP", "MODEL0001", "CMSIS-DAP v2", "CMSIS-DAP v1",
};

void usb_probe_init(struct usb_probe *u, struct probe_board *board, bool hid)
{
    const uint8_t *interface = hid ? hid_interface : bulk_interface;
    size_t size = hid ? sizeof hid_interface : sizeof bulk_interface;
    uint8_t config[CONFIG_SIZE] = {
        CONFIG_SIZE, DT_CONFIG, (uint8_t)(CONFIG_SIZE + size), 0, 1, 1, 0, 0x80, 50,
    };
    memset(u, 0, sizeof *u);
    u->board = board;
    u->hid = hid;
    memcpy(u->descriptors, device_descriptor, DEVICE_SIZE);
    memcpy(u->descriptors + DEVICE_SIZE, config, CONFIG_SIZE);
    memcpy(u->descriptors + DEVICE_SIZE + CONFIG_SIZE, interface, size);
    u->descriptors_size = DEVICE_SIZE + CONFIG_SIZE + size;
}

static size_t string_descriptor(unsigned index, uint8_t out[64])
{
    if (index == 0) {
        memcpy(out, (const uint8_t[]){4, DT_STRING, 0x09, 0x04}, 4);
        return 4;
    }
    if (index >= sizeof strings / sizeof *strings)
        return 0;
    size_t length = strlen(strings[index]);
    out[0] = (uint8_t)(2 + 2 * length);
    out[1] = DT_STRING;
    for (size_t i = 0; i < length; i++) {
        out[2 + 2 * i] = (uint8_t)strings[index][i];
        out[3 + 2 * i] = 0;
    }
    return out[0];
}

static int get_descriptor(const struct usb_probe *u, const uint8_t setup[8], uint8_t *data,
                          size_t *actual)
{
    uint8_t text[64];
    const uint8_t *from = text;
    size_t size = 0;
    size_t wanted = (size_t)(setup[6] | setup[7] << 8);
    switch (setup[3]) {
    case DT_DEVICE:
        from = u->descriptors;
        size = DEVICE_SIZE;
        break;
    case DT_CONFIG:
        from = u->descriptors + DEVICE_SIZE;
        size = u->descriptors_size - DEVICE_SIZE;
        break;
    case DT_STRING:
        size = string_descriptor(setup[2], text);
        break;
    case DT_REPORT:
        from = report_descriptor;
        size = u->hid ? sizeof report_descriptor : 0;
        break;
    default:
        break;
    }
    if (size == 0)
        return -EPIPE;
    *actual = size < wanted ? size : wanted;
    memcpy(data, from, *actual);
    return 0;
}

int usb_probe_control(struct usb_probe *u, const uint8_t setup[8], uint8_t *data, size_t *actual)
{
    size_t length = (size_t)(setup[6] | setup[7] << 8);
    *actual = 0;
    if (u->unplugged)
        return -ESHUTDOWN;
    switch (setup[0] << 8 | setup[1]) {
    case 0x8006:
    case 0x8106:
        return get_descriptor(u, setup, data, actual);
    case 0x8000: /* GET_STATUS */
        data[0] = data[1] = 0;
        *actual = length < 2 ? length : 2;
        return 0;
    case 0x0009: /* SET_CONFIGURATION */
    case 0x010b: /* SET_INTERFACE */
    case 0x210a: /* HID SET_IDLE */
        return 0;
    case 0x0201: /* CLEAR_FEATURE of an endpoint */
        usb_probe_clear_halt(u);
        return 0;
    case 0x2109: /* HID SET_REPORT */
        *actual = length;
        return u->hid ? usb_probe_out(u, USB_PROBE_EP_OUT, data, length) : -EPIPE;
    default:
        return -EPIPE;
    }
}

static bool due(unsigned *countdown)
{
    return *countdown && --*countdown == 0;
}

int usb_probe_out(struct usb_probe *u, uint8_t endpoint, const uint8_t *bytes, size_t size)
{
    if (due(&u->faults.unplug_after))
        u->unplugged = true;
    if (u->unplugged)
        return -ESHUTDOWN;
    if (endpoint != USB_PROBE_EP_OUT)
        return -EPIPE;
    cmsis_dap_submit(&u->board->probe, bytes, size);
    return 0;
}

static int command_in(struct usb_probe *u, uint8_t *bytes, size_t size, size_t *actual)
{
    uint8_t response[CMSIS_DAP_PACKET_MAX] = {0};
    if (u->halted)
        return -EPIPE;
    if (u->board->probe.response_count == 0)
        return USB_PROBE_WAIT;
    if (due(&u->faults.stall_after)) {
        u->halted = true;
        return -EPIPE;
    }
    size_t n = cmsis_dap_response(&u->board->probe, response);
    if (due(&u->faults.lose_after))
        return USB_PROBE_WAIT;
    if (due(&u->faults.short_after))
        n = 1;
    else if (u->hid)
        n = HID_REPORT;
    *actual = n < size ? n : size;
    memcpy(bytes, response, *actual);
    return n > size ? -EOVERFLOW : 0;
}

int usb_probe_in(struct usb_probe *u, uint8_t endpoint, uint8_t *bytes, size_t size, size_t *actual)
{
    *actual = 0;
    if (u->unplugged)
        return -ESHUTDOWN;
    if (endpoint == USB_PROBE_EP_IN)
        return command_in(u, bytes, size, actual);
    if (endpoint != USB_PROBE_EP_SWO || u->hid)
        return -EPIPE;
    *actual = cmsis_dap_stream(&u->board->probe, bytes, size < 512 ? size : 512);
    return *actual ? 0 : USB_PROBE_WAIT;
}

void usb_probe_clear_halt(struct usb_probe *u)
{
    u->halted = false;
}

void usb_probe_unplug(struct usb_probe *u)
{
    u->unplugged = true;
}

void usb_probe_replug(struct usb_probe *u)
{
    u->unplugged = false;
    u->halted = false;
    cmsis_dap_replug(&u->board->probe);
}
