/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A modelled USB device as its carriers see it: control requests and transfers, whatever the device
 * is. What all devices have in common is done here. Statuses are those of an URB:
 * 0 or -errno. */
#ifndef TESTS_USB_USB_DEVICE_H
#define TESTS_USB_USB_DEVICE_H

#include "probe_board.h"

#define USB_DEVICE_WAIT 1 /* a transfer that cannot end yet */

#define USB_DT_DEVICE    1
#define USB_DT_CONFIG    2
#define USB_DT_STRING    3
#define USB_DT_INTERFACE 4
#define USB_DT_ENDPOINT  5

#define USB_DEVICE_DESCRIPTORS 512
#define USB_DEVICE_ENDPOINTS   16

/* Counts down by transfers of the command endpoints; 0: not. */
struct usb_faults {
    unsigned unplug_after;
    unsigned stall_after; /* that IN transfer stalls; the response waits behind the halt */
    unsigned short_after; /* that response loses its end */
    unsigned lose_after;  /* that response never comes */
    unsigned mute_after;  /* nor do that and all behind it, until it is plugged in again */
};

struct usb_device;

/* The device's own part of the functions below; each is called only while it is plugged in. */
struct usb_device_ops {
    int (*control)(struct usb_device *d, const uint8_t setup[8], uint8_t *data, size_t *actual);
    int (*out)(struct usb_device *d, uint8_t endpoint, const uint8_t *bytes, size_t size,
               size_t *taken);
    int (*in)(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size, size_t *actual);
    void (*replug)(struct usb_device *d); /* its firmware starts anew */
    /* Another setting of an interface: 0, or -EPIPE. NULL: each has one. */
    int (*set_interface)(struct usb_device *d, unsigned interface, unsigned alternate);
    /* An IN transfer is taken back: the bytes of it that the host has already; or NULL: none. */
    size_t (*take_back)(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size);
    /* Called before `queued` of an IN endpoint changes; or NULL. */
    void (*before)(struct usb_device *d, uint8_t endpoint);
    void (*report)(const struct usb_device *d, FILE *out); /* counters of its own, or NULL */
};

/*
 * Faults, ids, descriptors, board and unplugged are public.
 * A device's type begins with this one. */
struct usb_device {
    const struct usb_device_ops *ops;
    struct probe_board *board;
    struct usb_faults faults;
    bool unplugged;
    bool halted;
    bool muted;                          /* firmware that hangs */
    unsigned blocked;                    /* OUT endpoints, a bit each, whose transfer waits */
    size_t queued[USB_DEVICE_ENDPOINTS]; /* bytes of the IN transfers that wait, by number */
    bool full_speed;                     /* 12 Mbit/s, else 480 */
    uint16_t vid, pid;
    const char *const *strings; /* from index 1; [0] is not used */
    size_t string_count;
    uint8_t descriptors[USB_DEVICE_DESCRIPTORS]; /* of the device, then of its configuration */
    size_t descriptors_size;
};

/*
 * `device` is the whole descriptor of the device, `interfaces` what follows the head of the
 * configuration. `board` must outlive the device.
 */
void usb_device_init(struct usb_device *d, const struct usb_device_ops *ops,
                     struct probe_board *board, const uint8_t device[18], const uint8_t *interfaces,
                     size_t size, unsigned interface_count);

/*
 * A control request: `data` holds wLength bytes, both ways. Sets *actual. 0, or -EPIPE for a
 * request that the device does not know.
 */
int usb_device_control(struct usb_device *d, const uint8_t setup[8], uint8_t *data, size_t *actual);

/*
 * One OUT transfer. 0, -EPIPE, -ESHUTDOWN; USB_DEVICE_WAIT when the device took only the first
 * *taken bytes: to be called again with the same transfer and *taken.
 * *taken begins with 0. */
int usb_device_out(struct usb_device *d, uint8_t endpoint, const uint8_t *bytes, size_t size,
                   size_t *taken);

/* One IN transfer. 0 with *actual, USB_DEVICE_WAIT, -EPIPE, -EOVERFLOW, -ESHUTDOWN. */
int usb_device_in(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size,
                  size_t *actual);

/* The host takes back its oldest IN transfer of an endpoint: how many bytes are in it. */
size_t usb_device_take_back(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size);

/*
 * The carrier tells of an IN transfer of `size` bytes that begins to wait, or that waits no longer:
 * a device that streams goes on as long as a host has room for what it sends.
 */
void usb_device_queue(struct usb_device *d, uint8_t endpoint, size_t size);
void usb_device_unqueue(struct usb_device *d, uint8_t endpoint, size_t size);

/* SET_INTERFACE: 0, -EPIPE, -ESHUTDOWN. */
int usb_device_set_interface(struct usb_device *d, unsigned interface, unsigned alternate);

/* Its maker gave it no serial number. */
void usb_device_hide_serial(struct usb_device *d);

/* The cable is pulled; and plugged in again. */
void usb_device_unplug(struct usb_device *d);
void usb_device_replug(struct usb_device *d);

/* CLEAR_FEATURE(ENDPOINT_HALT). */
void usb_device_clear_halt(struct usb_device *d);

/* All counters of the board and the device, one "name value" a line. */
void usb_device_report(const struct usb_device *d, FILE *out);

/* For devices: whether a fault happens now. */
bool usb_device_due(unsigned *countdown);

#endif
