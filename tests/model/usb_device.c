/* SPDX-License-Identifier: BSD-3-Clause */
#include "usb_device.h"

#include <errno.h>
#include <string.h>

#define DEVICE_SIZE 18
#define CONFIG_SIZE 9
#define STRING_MAX  64
#define SERIAL      3 /* index of that string */
#define AT_SERIAL   16

void usb_device_init(struct usb_device *d, const struct usb_device_ops *ops,
                     struct probe_board *board, const uint8_t device[18], const uint8_t *interfaces,
                     size_t size, unsigned interface_count)
{
    size_t total = CONFIG_SIZE + size;
    const uint8_t config[CONFIG_SIZE] = {
        CONFIG_SIZE,
        USB_DT_CONFIG,
        (uint8_t)total,
        (uint8_t)(total >> 8),
        (uint8_t)interface_count,
        1,
        0,
        0x80,
        50,
    };
    memset(d, 0, sizeof *d);
    d->ops = ops;
    d->board = board;
    d->vid = (uint16_t)(device[8] | device[9] << 8);
    d->pid = (uint16_t)(device[10] | device[11] << 8);
    memcpy(d->descriptors, device, DEVICE_SIZE);
    memcpy(d->descriptors + DEVICE_SIZE, config, CONFIG_SIZE);
    memcpy(d->descriptors + DEVICE_SIZE + CONFIG_SIZE, interfaces, size);
    d->descriptors_size = DEVICE_SIZE + total;
}

static size_t string_descriptor(const struct usb_device *d, unsigned index,
                                uint8_t out[2 + 2 * STRING_MAX])
{
    if (index == 0) {
        memcpy(out, (const uint8_t[]){4, USB_DT_STRING, 0x09, 0x04}, 4);
        return 4;
    }
    if (index >= d->string_count || (index == SERIAL && !d->descriptors[AT_SERIAL]))
        return 0;
    size_t length = strnlen(d->strings[index], STRING_MAX);
    out[0] = (uint8_t)(2 + 2 * length);
    out[1] = USB_DT_STRING;
    for (size_t i = 0; i < length; i++) {
        out[2 + 2 * i] = (uint8_t)d->strings[index][i];
        out[3 + 2 * i] = 0;
    }
    return out[0];
}

static int get_descriptor(struct usb_device *d, const uint8_t setup[8], uint8_t *data,
                          size_t *actual)
{
    uint8_t text[2 + 2 * STRING_MAX];
    const uint8_t *from = text;
    size_t size = 0;
    size_t wanted = (size_t)(setup[6] | setup[7] << 8);
    switch (setup[3]) {
    case USB_DT_DEVICE:
        from = d->descriptors;
        size = DEVICE_SIZE;
        break;
    case USB_DT_CONFIG:
        from = d->descriptors + DEVICE_SIZE;
        size = d->descriptors_size - DEVICE_SIZE;
        break;
    case USB_DT_STRING:
        size = string_descriptor(d, setup[2], text);
        break;
    default:
        return d->ops->control(d, setup, data, actual);
    }
    if (size == 0)
        return -EPIPE;
    *actual = size < wanted ? size : wanted;
    memcpy(data, from, *actual);
    return 0;
}

int usb_device_control(struct usb_device *d, const uint8_t setup[8], uint8_t *data, size_t *actual)
{
    size_t length = (size_t)(setup[6] | setup[7] << 8);
    *actual = 0;
    if (d->unplugged)
        return -ESHUTDOWN;
    switch (setup[0] << 8 | setup[1]) {
    case 0x8006:
    case 0x8106:
        return get_descriptor(d, setup, data, actual);
    case 0x8000: /* GET_STATUS */
        *actual = length < 2 ? length : 2;
        memset(data, 0, *actual);
        return 0;
    case 0x0009: /* SET_CONFIGURATION */
        return 0;
    case 0x010b:
        return usb_device_set_interface(d, setup[4], setup[2]);
    case 0x0201: /* CLEAR_FEATURE of an endpoint */
        usb_device_clear_halt(d);
        return 0;
    default:
        return d->ops->control(d, setup, data, actual);
    }
}

int usb_device_set_interface(struct usb_device *d, unsigned interface, unsigned alternate)
{
    if (d->unplugged)
        return -ESHUTDOWN;
    return d->ops->set_interface ? d->ops->set_interface(d, interface, alternate) : 0;
}

static size_t *queue_of(struct usb_device *d, uint8_t endpoint)
{
    if (d->ops->before && !d->unplugged)
        d->ops->before(d, endpoint);
    return &d->queued[endpoint % USB_DEVICE_ENDPOINTS];
}

void usb_device_queue(struct usb_device *d, uint8_t endpoint, size_t size)
{
    *queue_of(d, endpoint) += size;
}

void usb_device_unqueue(struct usb_device *d, uint8_t endpoint, size_t size)
{
    *queue_of(d, endpoint) -= size;
}

bool usb_device_due(unsigned *countdown)
{
    return *countdown && --*countdown == 0;
}

int usb_device_out(struct usb_device *d, uint8_t endpoint, const uint8_t *bytes, size_t size,
                   size_t *taken)
{
    unsigned bit = 1u << (endpoint & 0xf);
    /* A transfer that goes on is no new one. */
    if (!(d->blocked & bit) && usb_device_due(&d->faults.unplug_after))
        d->unplugged = true;
    d->blocked &= ~bit;
    if (d->unplugged)
        return -ESHUTDOWN;
    int status = d->ops->out(d, endpoint, bytes, size, taken);
    if (status == USB_DEVICE_WAIT)
        d->blocked |= bit;
    return status;
}

int usb_device_in(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size,
                  size_t *actual)
{
    *actual = 0;
    return d->unplugged ? -ESHUTDOWN : d->ops->in(d, endpoint, bytes, size, actual);
}

size_t usb_device_take_back(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size)
{
    return d->unplugged || !d->ops->take_back ? 0 : d->ops->take_back(d, endpoint, bytes, size);
}

void usb_device_hide_serial(struct usb_device *d)
{
    d->descriptors[AT_SERIAL] = 0;
    d->board->probe.options.serial = NULL;
}

void usb_device_unplug(struct usb_device *d)
{
    d->unplugged = true;
}

void usb_device_replug(struct usb_device *d)
{
    d->unplugged = false;
    d->halted = false;
    d->muted = false;
    d->blocked = 0;
    d->ops->replug(d);
}

void usb_device_clear_halt(struct usb_device *d)
{
    d->halted = false;
}

void usb_device_report(const struct usb_device *d, FILE *out)
{
    probe_board_report(d->board, out);
    if (d->ops->report)
        d->ops->report(d, out);
}
