/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device side of USB/IP, as the kernel's virtual host controller speaks it: headers of 48
 * bytes, big endian, each followed by the data of its transfer. Pure: bytes in, bytes out. Facts:
 * the kernel's documentation, "USB/IP protocol".
 */
#ifndef TESTS_USB_USBIP_SERVER_H
#define TESTS_USB_USBIP_SERVER_H

#include "usb_device.h"

#define USBIP_HEADER       48u
#define USBIP_MAX_TRANSFER (1u << 20) /* more in one transfer is refused */
#define USBIP_MAX_WAITING  256u       /* transfers that wait for the device */

struct usbip_waiting {
    uint32_t sequence;
    uint32_t length;
    uint8_t endpoint;
    uint8_t *data; /* of an OUT transfer that the device has not taken whole, else NULL */
    size_t taken;
};

struct usbip_server {
    struct usb_device *device;
    void (*send)(void *ctx, const uint8_t *bytes, size_t size);
    void *ctx;
    /* Private. */
    uint8_t *input; /* a header, and behind it the data of an OUT transfer */
    size_t used;
    struct usbip_waiting waiting[USBIP_MAX_WAITING]; /* oldest first */
    size_t waiting_count;
    uint8_t *reply;
};

/* `device` is borrowed; `send` gets whole replies. 0, or -1 without memory. */
int usbip_server_init(struct usbip_server *s, struct usb_device *device,
                      void (*send)(void *ctx, const uint8_t *bytes, size_t size), void *ctx);
void usbip_server_release(struct usbip_server *s);

/* Takes what arrived, any split. -1: this is not the protocol, close the connection. */
int usbip_server_input(struct usbip_server *s, const uint8_t *bytes, size_t size);

/* Ends the waiting transfers that the device can now answer. True: some still wait. */
bool usbip_server_poll(struct usbip_server *s);

/* The connection is new: nothing waits. */
void usbip_server_reset(struct usbip_server *s);

#endif
