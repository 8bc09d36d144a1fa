/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ORBTrace as a capture unit: its trace interface, by libusb-1.0. The CMSIS-DAP interfaces of the
 * same device are a probe like others, and may be open at the same time elsewhere. Target power is
 * never touched. Belongs to one thread.
 */
#ifndef DRIVERS_ORBTRACE_H
#define DRIVERS_ORBTRACE_H

#include "drivers/probe/trace_stream.h"
#include "drivers/usb/usb_libusb.h"

/* What is connected to its input pins. */
enum orbtrace_input {
    ORBTRACE_OFF = 0x00,
    ORBTRACE_PARALLEL_1 = 0x01,
    ORBTRACE_PARALLEL_2 = 0x02,
    ORBTRACE_PARALLEL_4 = 0x03,
    ORBTRACE_NRZ_FRAMES = 0x13, /* SWO as UART, with the formatter on */
};

/* bInterfaceProtocol of the trace interface. */
enum orbtrace_protocol {
    ORBTRACE_FRAMES = 0x01,  /* gateware before 1.4 */
    ORBTRACE_ORBFLOW = 0x10, /* 1.4 and later */
};

/* The trace interface of a device. */
struct orbtrace_choice {
    uint8_t interface;
    uint8_t alternate;
    uint8_t endpoint;
    uint8_t protocol; /* also one that is not known here */
};

/* Return 0; BT_ERR_UNSUPPORTED: it is no ORBTrace. Strings of `device` are not needed. */
int orbtrace_choose(const struct usb_device_info *device, struct orbtrace_choice *choice);

/* In words: "ORBFLOW", "TPIU frames", "" (not known). */
const char *orbtrace_protocol_name(uint8_t protocol);

/*
 * An ORBTrace: its start finds it and opens the trace interface, its stop turns the input off.
 * CoreSight frames, whole and without syncs, of all sources. `baud` is for ORBTRACE_NRZ_FRAMES
 * alone; the filter's strings must outlive it. 0 or BT_ERR_NOMEM.
 *
 * Start: BT_ERR_RANGE (none, or several), BT_ERR_IO (no permission, in use), BT_ERR_UNSUPPORTED
 * (its trace protocol is not known, or it refuses the input), BT_ERR_NOMEM. */
int orbtrace_stream(const struct usb_probe_filter *filter, enum orbtrace_input input, uint32_t baud,
                    struct trace_stream *out);

#endif
