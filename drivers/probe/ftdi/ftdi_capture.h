/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace through an FTDI chip, by libftdi1 and libusb-1.0: a synchronous FIFO that logic of the
 * user's fills, or a channel as UART on the SWO pin. Bytes are delivered as they were put in.
 * Belongs to one thread. Synchronous FIFO: AN_130.
 */
#ifndef DRIVERS_FTDI_CAPTURE_H
#define DRIVERS_FTDI_CAPTURE_H

#include "drivers/probe/trace_stream.h"
#include "drivers/usb/usb_libusb.h"

enum ftdi_capture_mode {
    FTDI_CAPTURE_FIFO, /* synchronous 245 FIFO: channel A of an FT2232H or FT232H */
    FTDI_CAPTURE_UART, /* 8N1 without flow control */
};

struct ftdi_capture_options {
    enum ftdi_capture_mode mode;
    unsigned channel; /* 0 is A; of a UART */
    uint32_t baud;    /* of a UART */
};

/*
 * An adapter: its start finds it and opens a channel of it, after its stop the chip is an ordinary
 * one again, all pins inputs. Without numbers in the filter FTDI's own are meant; its strings must
 * outlive the stream. 0 or BT_ERR_NOMEM.
 *
 * Start: BT_ERR_RANGE (none, or several), BT_ERR_IO (no permission, in use, no answer),
 * BT_ERR_UNSUPPORTED (chip or channel cannot do it, or not at this rate), BT_ERR_NOMEM.
 */
int ftdi_capture_stream(const struct usb_probe_filter *filter,
                        const struct ftdi_capture_options *options, struct trace_stream *out);

#endif
