/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ORBTrace mini as a USB device (as its gateware has it): a serial port, trace, its control
 * proxy, CMSIS-DAP v1 and v2, power and version. Interfaces are numbered in order, and the order is
 * an option: clients must go by class. Nothing is wired to the serial port.
 */
#ifndef TESTS_USB_USB_ORBTRACE_H
#define TESTS_USB_USB_ORBTRACE_H

#include "orbtrace_capture.h"
#include "usb_device.h"

#define ORBTRACE_VID 0x1209
#define ORBTRACE_PID 0x3443

#define ORBTRACE_EP_NOTIFY  0x81 /* of the serial port */
#define ORBTRACE_EP_CDC_IN  0x82
#define ORBTRACE_EP_CDC_OUT 0x02
#define ORBTRACE_EP_HID_IN  0x83
#define ORBTRACE_EP_HID_OUT 0x03
#define ORBTRACE_EP_DAP_IN  0x84
#define ORBTRACE_EP_DAP_OUT 0x04
#define ORBTRACE_EP_TRACE   0x85

/* In the order of a real one. */
enum orbtrace_interface {
    ORBTRACE_CDC,
    ORBTRACE_CDC_DATA,
    ORBTRACE_TRACE,
    ORBTRACE_PROXY,
    ORBTRACE_DAP_V1,
    ORBTRACE_DAP_V2,
    ORBTRACE_POWER,
    ORBTRACE_VERSION,
    ORBTRACE_INTERFACES,
};

struct usb_orbtrace_options {
    struct orbtrace_options capture;
    enum orbtrace_protocol protocol; /* 0: ORBTRACE_FLOW */
    bool both;                       /* protocols 0x01 and 0x10, as settings 0 and 1 */
    bool reversed;                   /* the other order of interfaces */
    struct trace_feed *feed;         /* must outlive the device; NULL: the port is not wired */
    void *ctx;
    uint64_t (*now)(void *ctx); /* microseconds; NULL: the monotonic clock */
};

/* Public are device, capture and power_requests. */
struct usb_orbtrace {
    struct usb_device device;
    struct usb_orbtrace_options options;
    struct orbtrace_capture capture;
    struct cmsis_dap_model v1; /* v2 is that of the board */
    uint8_t number[ORBTRACE_INTERFACES];
    unsigned power_requests;
    const char *strings[8];
};

/*
 * `board` must outlive the device; its probe becomes that of an ORBTrace. Release what init took.
 * 0, or -1.
 */
int usb_orbtrace_init(struct usb_orbtrace *u, struct probe_board *board,
                      const struct usb_orbtrace_options *options);
void usb_orbtrace_release(struct usb_orbtrace *u);

#endif
