/* SPDX-License-Identifier: BSD-3-Clause */
/* A modelled FT2232H on a board, for tests of the device; time is counted, not waited for. */
#ifndef TESTS_USB_UNIT_FTDI_BENCH_H
#define TESTS_USB_UNIT_FTDI_BENCH_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/usb_ftdi.h"
#include "tests/support/unit_main.h"

static struct probe_board *board;
static struct usb_ftdi *ftdi;
static uint64_t now;
static uint8_t data[65536];
static size_t actual;

static inline uint64_t clock_now(void *ctx)
{
    (void)ctx;
    return now;
}

static inline void setup_with(struct usb_ftdi_options options)
{
    const struct probe_board_options plain = {.jtag = true, .no_etb = true};
    board = malloc(sizeof *board);
    ftdi = malloc(sizeof *ftdi);
    ck_assert(board && ftdi);
    ck_assert_int_eq(probe_board_init(board, &plain), 0);
    now = 1000000;
    options.now = clock_now;
    ck_assert_int_eq(usb_ftdi_init(ftdi, board, &options), 0);
}

static inline void setup(void)
{
    setup_with((struct usb_ftdi_options){0});
}

static inline void teardown(void)
{
    usb_ftdi_release(ftdi);
    probe_board_release(board);
    free(ftdi);
    free(board);
}

static inline int control(uint8_t type, uint8_t request, unsigned value, unsigned index,
                          unsigned length)
{
    const uint8_t packet[8] = {type,
                               request,
                               (uint8_t)value,
                               (uint8_t)(value >> 8),
                               (uint8_t)index,
                               (uint8_t)(index >> 8),
                               (uint8_t)length,
                               (uint8_t)(length >> 8)};
    return usb_device_control(&ftdi->device, packet, data, &actual);
}

static inline int set(uint8_t request, unsigned value, unsigned index)
{
    return control(0x40, request, value, index, 0);
}

static inline int send_bytes(uint8_t endpoint, const void *bytes, size_t size)
{
    size_t taken = 0;
    return usb_device_out(&ftdi->device, endpoint, bytes, size, &taken);
}

static inline int receive(uint8_t endpoint, size_t size)
{
    return usb_device_in(&ftdi->device, endpoint, data, size, &actual);
}

#endif
