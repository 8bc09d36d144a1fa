/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of the USB side of the FTDI driver. */
#ifndef DRIVERS_FTDI_CHANNEL_INTERNAL_H
#define DRIVERS_FTDI_CHANNEL_INTERNAL_H

#include <ftdi.h>

#include "drivers/probe/ftdi/ftdi_channel.h"
#include "drivers/usb/usb_libusb_internal.h"

#define FTDI_IN_BYTES 16384 /* of one IN transfer: a multiple of any wMaxPacketSize */

struct ftdi_channel {
    struct ftdi_context *ftdi;
    bool is_open;
    bool in_mode; /* the MPSSE is on */
    struct usb_device_info info;
    const struct ftdi_chip *chip;
    /* One transfer a direction, and the exchange that they are for. */
    struct libusb_transfer *in;
    struct libusb_transfer *out;
    bool in_flight, out_flight;
    bool stopping; /* nothing is submitted any more */
    bool gone;
    bool failed; /* USB refused a transfer; the device may still be there */
    bool excess; /* more came than was asked for */
    uint8_t *want;
    size_t want_length;
    size_t got;
    uint8_t in_data[FTDI_IN_BYTES];
};

/* Transfers for an open device. 0 or BT_ERR_NOMEM. */
int ftdi_channel_start_port(struct ftdi_channel *c);

/* Cancels and frees them. False: one is still on its way, and must be kept. */
bool ftdi_channel_stop_port(struct ftdi_channel *c);

/* Throws away what is under way in both directions. 0 or BT_ERR_IO. */
int ftdi_channel_purge(struct ftdi_channel *c);

void ftdi_channel_pause(struct ftdi_channel *c, unsigned ms);

#endif
