/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels of FTDI chips on USB, by libftdi1 and libusb-1.0: found, listed, and opened with their
 * MPSSE. A channel belongs to one thread. MPSSE: AN_108.
 */
#ifndef DRIVERS_FTDI_CHANNEL_H
#define DRIVERS_FTDI_CHANNEL_H

#include "drivers/probe/ftdi/ftdi.h"
#include "drivers/usb/usb_libusb.h"

struct ftdi_channel;

/* A chip with an MPSSE. */
struct ftdi_chip {
    const char *name;        /* "FT2232H" */
    unsigned mpsse_channels; /* channels with an MPSSE, from A on */
    bool has_high_byte;      /* GPIOH pins */
    unsigned channels;
    bool has_fifo; /* synchronous, on channel A */
};

/* The chip of a device by its bcdDevice; NULL: none that is known here. */
const struct ftdi_chip *ftdi_chip_of(uint16_t bcd_device);

/* May a device of these numbers be an FTDI adapter? Makers of adapters use numbers of their own. */
bool ftdi_is_adapter(uint16_t vendor, uint16_t product);

/*
 * Find an adapter and open a channel (0: A) in MPSSE mode. Without numbers in the filter any of
 * the known adapters is taken; with them, what they name.
 * Return 0 and *out, to be closed with ftdi_channel_close(); BT_ERR_RANGE (no such adapter),
 * BT_ERR_IO (found, but not to be opened: no permission, in use), BT_ERR_UNSUPPORTED (the chip or
 * the channel has no MPSSE), BT_ERR_NOMEM; *why tells why.
 */
int ftdi_channel_open(const struct usb_probe_filter *filter, unsigned channel,
                      struct ftdi_channel **out, struct message *why);

/* Bit mode 0, which makes inputs of all pins, and free. NULL is allowed. */
void ftdi_channel_close(struct ftdi_channel *c);

/* Of an open channel; valid until it is closed. */
const struct usb_device_info *ftdi_channel_info(const struct ftdi_channel *c);
const struct ftdi_chip *ftdi_channel_chip(const struct ftdi_channel *c);
struct ftdi_port ftdi_channel_port(struct ftdi_channel *c);

/*
 * Calls `found` for each known adapter, also those that may not be opened. `chip` is NULL if it is
 * one without MPSSE. Nothing is claimed. Return 0, or BT_ERR_IO with *why.
 */
int ftdi_channel_list(void (*found)(void *user, const struct usb_probe_seen *adapter,
                                    const struct ftdi_chip *chip),
                      void *user, struct message *why);

#endif
