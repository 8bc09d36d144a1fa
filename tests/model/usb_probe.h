/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modelled CMSIS-DAP probe as a USB device: descriptors and endpoints (CMSIS-DAP manual, USB
 * configuration).
 */
#ifndef TESTS_USB_USB_PROBE_H
#define TESTS_USB_USB_PROBE_H

#include "usb_device.h"

#define USB_PROBE_VID 0x1209
#define USB_PROBE_PID 0x0001

#define USB_PROBE_EP_OUT 0x01
#define USB_PROBE_EP_IN  0x81
#define USB_PROBE_EP_SWO 0x82 /* v2 only */

#define USB_PROBE_TRANSFER 32768u /* a longer IN transfer of SWO ends here */

/*
 * Nothing to release; public are device and hid. A transfer of the SWO endpoint ends when it is
 * full, or with a block that is no whole packet. One that is taken back has the
 * blocks that came until then.
 */
struct usb_probe {
    struct usb_device device;
    bool hid;                             /* CMSIS-DAP v1 */
    uint8_t transfer[USB_PROBE_TRANSFER]; /* blocks of the SWO transfer that goes on */
    size_t size;
    bool ready; /* it has ended */
};

/* `board` must outlive the device. */
void usb_probe_init(struct usb_probe *u, struct probe_board *board, bool hid);

/* For other probes with such interfaces. */

#define USB_PROBE_HID_REPORT 64u

/* Its class descriptor, which says how long the report descriptor is. */
extern const uint8_t usb_probe_hid_descriptor[9];

/* Requests of HID; reports go to endpoint `out`. 0, or -EPIPE. */
int usb_probe_hid_control(struct usb_device *d, uint8_t out, const uint8_t setup[8], uint8_t *data,
                          size_t *actual);

/* An IN transfer of a firmware's responses, with the faults of the device; status as
 * usb_device_in(). */
int usb_probe_response(struct usb_device *d, struct cmsis_dap_model *probe, bool hid,
                       uint8_t *bytes, size_t size, size_t *actual);

#endif
