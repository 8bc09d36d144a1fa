/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An FT2232H, FT4232H or FT232H as a USB device (as libftdi1 sees it): channels, each with its
 * buffers, latency timer and bit modes. An MPSSE of channel A works on the board's debug port;
 * channel B as a UART receives its SWO pin, or what `uart` sends; channel A as a synchronous FIFO,
 * which its EEPROM must allow, carries what `fifo` sends, and then channel B rests.
 *
 * A UART's sender and the logic beside a FIFO do not wait for the host. What comes while the
 * transfers that wait and the chip's buffer are full is lost: the UART says so in a status byte;
 * the logic says nothing, and has a memory of its own.
 *
 * An IN transfer is a row of packets of 512 bytes (full speed: 64), each with two status bytes at
 * its head, that ends with a shorter one. Full packets leave as soon as a transfer waits; less
 * leaves on send immediate or when the latency timer has run out, then also without data. An OUT
 * transfer waits while the buffer is full: who reads nothing comes to a stop. Packets of an IN
 * transfer that is taken back go with the next one; a host would have them already.
 */
#ifndef TESTS_USB_USB_FTDI_H
#define TESTS_USB_USB_FTDI_H

#include "ftdi_board.h"
#include "ftdi_eeprom.h"
#include "trace_feed.h"
#include "usb_device.h"

#define FTDI_CHANNELS     4u /* at most */
#define FTDI_EP_A_OUT     0x02
#define FTDI_EP_A_IN      0x81
#define FTDI_EP_B_OUT     0x04
#define FTDI_EP_B_IN      0x83
#define FTDI_PACKET       512u
#define FTDI_PACKET_FULL  64u
#define FTDI_STATUS       2u
#define FTDI_TRANSFER_MAX (256u * 1024) /* a longer IN transfer ends here */

#define FTDI_LINE_STATUS  0x60 /* second status byte: both transmitters empty */
#define FTDI_LINE_OVERRUN 0x02
#define FTDI_MODEM_STATUS 0x32

enum ftdi_mode {
    FTDI_MODE_RESET = 0x00,
    FTDI_MODE_BITBANG = 0x01,
    FTDI_MODE_MPSSE = 0x02,
    FTDI_MODE_SYNC_BITBANG = 0x04,
    FTDI_MODE_SYNC_FIFO = 0x40,
};

/* All fields are optional. */
struct usb_ftdi_options {
    const struct ftdi_layout *layout; /* NULL: the first one */
    const char *chain;                /* as for tap_chain_parse() */
    void *ctx;
    uint64_t (*now)(void *ctx); /* microseconds; NULL: the monotonic clock */
    struct trace_feed *fifo;    /* must outlive the device; NULL: no FIFO in the EEPROM */
    size_t buffer;              /* bytes that the logic beside the FIFO holds; 0: all */
    struct trace_feed *uart;    /* a file on RXD of channel B, not before somebody listens */
    uint32_t uart_baud;         /* of it, bits a second: NRZ, ten bits a byte */
    bool full_speed;
};

struct ftdi_counters {
    unsigned overruns;       /* bytes of SWO that found the buffer full */
    unsigned wrong_baud;     /* bytes of SWO at a rate that the UART does not have */
    unsigned dropped;        /* bytes to a channel that does nothing with them */
    unsigned purged;         /* bytes to the host that were thrown away */
    unsigned idle;           /* packets without data */
    unsigned long fifo_lost; /* bytes that the logic beside the FIFO could not keep */
    unsigned eeprom_writes;
};

/* One channel; private but for the settings. */
struct ftdi_channel {
    uint8_t mode, mask;
    uint8_t latency; /* ms */
    uint32_t baud;
    uint16_t format, flow, modem;
    struct mpsse_model mpsse;
    struct ftdi_fifo out, in; /* from and to the host */
    uint64_t sent;            /* when the latest packet left, microseconds */
    bool overrun;
    struct trace_bytes late; /* came in, and waits for room in `in` */
    size_t late_first;
    uint8_t transfer[FTDI_TRANSFER_MAX]; /* packets of the IN transfer that goes on */
    size_t size;
    bool ready; /* it is complete */
};

/* Large: not for the stack. Public are device, counters, board, channel[].mpsse. */
struct usb_ftdi {
    struct usb_device device;
    struct usb_ftdi_options options;
    struct ftdi_counters counters;
    struct ftdi_board board;
    const struct ftdi_kind *kind;
    struct ftdi_channel channel[FTDI_CHANNELS];
    const char *strings[4];
    uint16_t eeprom[FTDI_EEPROM_WORDS];
    bool fifo;     /* what it says was read when the chip was plugged in */
    size_t packet; /* bytes */
};

/*
 * Copies the options; `board` must outlive the device. 0, or -1 for a bad chain. Release what init
 * took.
 */
int usb_ftdi_init(struct usb_ftdi *u, struct probe_board *board,
                  const struct usb_ftdi_options *options);
void usb_ftdi_release(struct usb_ftdi *u);

/* Inside the model. */

struct usb_ftdi *usb_ftdi_of(struct usb_device *d);
/* Vendor requests (ftdi_control.c). */
int usb_ftdi_control(struct usb_device *d, const uint8_t setup[8], uint8_t *data, size_t *actual);
/* Settings as after power-on; counters stay. */
void usb_ftdi_start_channel(struct ftdi_channel *c);
/* What a channel receives (ftdi_receive.c): a UART the SWO pin, a FIFO its logic. `queued`: bytes
 * that the host waits for. */
void usb_ftdi_receive_swo(struct usb_ftdi *u, struct ftdi_channel *c, size_t queued);
void usb_ftdi_receive_fifo(struct usb_ftdi *u, struct ftdi_channel *c, size_t queued);

#endif
