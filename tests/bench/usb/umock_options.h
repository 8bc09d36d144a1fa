/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of umockdev_probe; umock_options_usage says what they do. */
#ifndef TESTS_USB_UMOCK_OPTIONS_H
#define TESTS_USB_UMOCK_OPTIONS_H

#include "tests/model/core_qemu.h"
#include "tests/model/trace_a.h"
#include "tests/model/usb_ftdi.h"
#include "tests/model/usb_orbtrace.h"

enum umock_probe {
    UMOCK_CMSIS_DAP,
    UMOCK_FTDI,
    UMOCK_ORBTRACE,
    UMOCK_NONE,
};

/* Texts point into the argument list, but for the machine's name. */
struct umock_options {
    struct probe_board_options board;
    struct usb_faults usb;
    struct trace_a_options trace_a;
    bool core_resets, trace_resets; /* of the A profile's system */
    uint32_t window;                /* of its cores on the debug bus; 0: none */
    struct qemu_link_options qemu;  /* machine: NULL for the built-in core */
    char machine[64];
    char plugin[256]; /* the default */
    struct core_qemu_flash flash;
    const char *faults;
    const char *report;
    const char *control;
    bool hid;
    enum umock_probe probe;
    enum umock_probe beside; /* CMSIS-DAP, FTDI or none */
    bool no_serial;
    struct usb_orbtrace_options orbtrace;
    const struct ftdi_layout *layout; /* NULL: the default */
    const char *paced;                /* a file that is the trace port's, or NULL */
    uint64_t rate, times;             /* of it, as trace_feed has them */
    const char *uart;                 /* a file that is on RXD of an FTDI's channel B, or NULL */
    uint64_t uart_baud, uart_times;
    const char *tty; /* path of a serial device that has the SWO pin, or NULL */
    bool buffered;   /* --buffer was given */
    size_t buffer;
    bool full_speed;
    const char *chain; /* NULL: the DAP alone */
    int command;       /* index of the first word of the command */
};

extern const char umock_options_usage[];

/* 0, or -1 for options that make no sense. */
int umock_options_parse(struct umock_options *o, int argc, char **argv);

#endif
