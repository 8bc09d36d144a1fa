/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * USB as the drivers see it: a small interface that a USB library implements, and plain
 * descriptions of devices from which an interface is chosen. No USB library is needed here. An
 * endpoint that delivers without being asked is a trace_stream.
 * CMSIS-DAP's: CMSIS-DAP manual, USB configuration.
 */
#ifndef DRIVERS_USB_H
#define DRIVERS_USB_H

#include "btrace/types.h"
#include "drivers/base/message.h"

/* Returned by receive when nothing came in its time. */
#define USB_TIMED_OUT 1

/* Two endpoints, one out and one in; a message is one transfer. */
struct usb_pipe_ops {
    /* Send all of `data`. Return 0, USB_TIMED_OUT, BT_ERR_IO. */
    int (*send)(void *self, const uint8_t *data, size_t length, unsigned timeout_ms);
    /* Receive one message. `capacity` is a multiple of in_packet. Return 0 and *length (at most
     * `capacity`), USB_TIMED_OUT, BT_ERR_IO. */
    int (*receive)(void *self, uint8_t *data, size_t capacity, size_t *length, unsigned timeout_ms);
};

struct usb_pipe {
    const struct usb_pipe_ops *ops;
    void *self;
    uint16_t out_packet; /* wMaxPacketSize; with HID: bytes of a report */
    uint16_t in_packet;
};

#define USB_ENDPOINT_IN 0x80u

enum usb_endpoint_kind {
    USB_ENDPOINT_CONTROL,
    USB_ENDPOINT_ISOCHRONOUS,
    USB_ENDPOINT_BULK,
    USB_ENDPOINT_INTERRUPT,
};

struct usb_endpoint_info {
    uint8_t address;
    uint8_t kind; /* enum usb_endpoint_kind */
    uint16_t packet;
};

#define USB_MAX_ENDPOINTS  8u
#define USB_MAX_INTERFACES 16u
#define USB_MAX_STRING     128u

/* One alternate setting of an interface. */
struct usb_interface_info {
    uint8_t number;
    uint8_t alternate;
    uint8_t class_code;
    uint8_t subclass;
    uint8_t protocol;
    unsigned endpoint_count;
    struct usb_endpoint_info endpoints[USB_MAX_ENDPOINTS]; /* in the order of the descriptors */
    char name[USB_MAX_STRING];
};

struct usb_device_info {
    uint16_t vendor;
    uint16_t product;
    uint16_t release; /* bcdDevice */
    char product_name[USB_MAX_STRING];
    char serial[USB_MAX_STRING];
    bool names_hidden; /* it has names that are not known: it could not be opened */
    unsigned interface_count;
    struct usb_interface_info interfaces[USB_MAX_INTERFACES];
};

/* What to open for CMSIS-DAP. */
struct usb_dap_choice {
    bool hid; /* version 1 of the protocol */
    uint8_t interface;
    uint8_t alternate;
    uint8_t out; /* endpoint addresses; out is 0 if reports go by SET_REPORT */
    uint8_t in;
    uint8_t swo; /* 0: none */
    uint16_t out_packet;
    uint16_t in_packet;
};

/* Choose the interface of a CMSIS-DAP probe: version 2 if the device has both.
 * Return 0, or BT_ERR_UNSUPPORTED (not a CMSIS-DAP probe). */
int usb_choose_cmsis_dap(const struct usb_device_info *device, struct usb_dap_choice *choice);

/* Could one whose names are hidden be a CMSIS-DAP probe? By its interfaces alone: hubs, disks and
 * sound cards could not. */
bool usb_may_be_cmsis_dap(const struct usb_device_info *device);

/* The device in words, with what is told of it in `more` (""). */
void usb_describe(const struct usb_device_info *device, const char *more, char *text, size_t size);

/* Why a capture unit that was opened cannot be started: a bt_error. */
void usb_describe_refusal(const struct usb_device_info *device, int error, struct message *why);

/* Does the device have this serial number? NULL or "": any. */
bool usb_serial_matches(const struct usb_device_info *device, const char *serial);

#endif
