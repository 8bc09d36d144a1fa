/* SPDX-License-Identifier: BSD-3-Clause */
/* Control requests of an FTDI chip (as libftdi1 sends them). */
#include <errno.h>
#include <string.h>

#include "usb_ftdi.h"

#define VENDOR_OUT 0x40
#define VENDOR_IN  0xc0

enum {
    SIO_RESET = 0x00,
    SIO_MODEM_CONTROL = 0x01,
    SIO_FLOW_CONTROL = 0x02,
    SIO_BAUD_RATE = 0x03,
    SIO_FORMAT = 0x04,
    SIO_MODEM_STATUS = 0x05,
    SIO_EVENT_CHAR = 0x06,
    SIO_ERROR_CHAR = 0x07,
    SIO_SET_LATENCY = 0x09,
    SIO_GET_LATENCY = 0x0a,
    SIO_BIT_MODE = 0x0b,
    SIO_READ_PINS = 0x0c,
    SIO_READ_EEPROM = 0x90,
    SIO_WRITE_EEPROM = 0x91,
    SIO_ERASE_EEPROM = 0x92,
};

enum {
    RESET_ALL = 0,
    PURGE_OUT = 1, /* on the way from the host */
    PURGE_IN = 2,
};

#define LATENCY_DEFAULT 16
#define BAUD_DEFAULT    9600u
#define CLOCK_12M       0x20000u /* in the divisor: 12 MHz, else 3 MHz */

void usb_ftdi_start_channel(struct ftdi_channel *c)
{
    c->mode = FTDI_MODE_RESET;
    c->mask = 0;
    c->latency = LATENCY_DEFAULT;
    c->baud = BAUD_DEFAULT;
    c->format = c->flow = c->modem = 0;
    c->out.count = c->in.count = 0;
    c->size = 0;
    c->ready = c->overrun = false;
    c->late.size = c->late_first = 0;
    mpsse_reset(&c->mpsse);
}

static int reset(struct usb_ftdi *u, struct ftdi_channel *c, unsigned what)
{
    if (what > PURGE_IN)
        return -EPIPE;
    if (what != PURGE_IN)
        c->out.count = 0;
    if (what != PURGE_OUT) {
        u->counters.purged += (unsigned)c->in.count;
        c->in.count = 0;
        c->late.size = c->late_first = 0;
        c->mpsse.flush = 0;
        c->size = 0;
        c->ready = c->overrun = false;
    }
    return 0;
}

/* The divisor counts in eighths; which eighth is a code. 0 and 1 stand for 1 and 1.5. */
static uint32_t baud_of(uint32_t divisor)
{
    static const uint8_t eighths[] = {0, 4, 2, 1, 3, 5, 6, 7};
    uint32_t clock = divisor & CLOCK_12M ? 12000000 : 3000000;
    uint32_t eight = 8 * (divisor & 0x3fff) + eighths[divisor >> 14 & 7];
    if (eight == 0)
        eight = 8;
    else if (eight == 8)
        eight = 12;
    return 8 * clock / eight;
}

static void set_bit_mode(struct usb_ftdi *u, struct ftdi_channel *c, uint8_t mode, uint8_t mask)
{
    if (mode == FTDI_MODE_SYNC_FIFO && c->mode != mode && c == &u->channel[0] && u->options.fifo)
        trace_feed_start(u->options.fifo, u->options.now(u->options.ctx));
    c->mode = mode;
    c->mask = mask;
    mpsse_reset(&c->mpsse);
    if (mode == FTDI_MODE_BITBANG || mode == FTDI_MODE_SYNC_BITBANG)
        mpsse_set_pins(&c->mpsse, 0, mask);
}

static int set(struct usb_ftdi *u, struct ftdi_channel *c, uint8_t request, unsigned value,
               unsigned index)
{
    switch (request) {
    case SIO_RESET:
        return reset(u, c, value);
    case SIO_MODEM_CONTROL:
        c->modem = (uint16_t)value;
        return 0;
    case SIO_FLOW_CONTROL:
        c->flow = (uint16_t)(index >> 8);
        return 0;
    case SIO_BAUD_RATE:
        c->baud = baud_of(value | (uint32_t)(index & 0xff00) << 8);
        return 0;
    case SIO_FORMAT:
        c->format = (uint16_t)value;
        return 0;
    case SIO_EVENT_CHAR:
    case SIO_ERROR_CHAR:
        return 0;
    case SIO_SET_LATENCY:
        if (value < 1 || value > 255)
            return -EPIPE;
        c->latency = (uint8_t)value;
        return 0;
    case SIO_BIT_MODE:
        set_bit_mode(u, c, (uint8_t)(value >> 8), (uint8_t)value);
        return 0;
    default:
        return -EPIPE;
    }
}

static int get(const struct ftdi_channel *c, uint8_t request, uint8_t data[2], size_t *size)
{
    *size = 1;
    switch (request) {
    case SIO_MODEM_STATUS:
        data[0] = FTDI_MODEM_STATUS;
        data[1] = FTDI_LINE_STATUS;
        *size = 2;
        return 0;
    case SIO_GET_LATENCY:
        data[0] = c->latency;
        return 0;
    case SIO_READ_PINS:
        data[0] = (uint8_t)mpsse_get_pins(&c->mpsse);
        return 0;
    default:
        return -EPIPE;
    }
}

/* These are the chip's, not of a channel; the index is the word. */
static int change_eeprom(struct usb_ftdi *u, uint8_t request, unsigned value, unsigned index)
{
    u->counters.eeprom_writes++;
    if (request == SIO_ERASE_EEPROM)
        memset(u->eeprom, 0xff, sizeof u->eeprom);
    else if (index < FTDI_EEPROM_WORDS)
        u->eeprom[index] = (uint16_t)value;
    else
        return -EPIPE;
    return 0;
}

int usb_ftdi_control(struct usb_device *d, const uint8_t setup[8], uint8_t *data, size_t *actual)
{
    struct usb_ftdi *u = usb_ftdi_of(d);
    uint8_t request = setup[1];
    uint8_t bytes[2] = {0};
    unsigned value = setup[2] | (unsigned)setup[3] << 8;
    unsigned index = setup[4] | (unsigned)setup[5] << 8;
    size_t length = (size_t)(setup[6] | setup[7] << 8);
    size_t size = 2;
    unsigned number = index & 0xff; /* of the channel, from 1 */
    int status = 0;
    if (setup[0] == VENDOR_OUT && (request == SIO_WRITE_EEPROM || request == SIO_ERASE_EEPROM))
        return change_eeprom(u, request, value, index);
    if (setup[0] == VENDOR_IN && request == SIO_READ_EEPROM && index < FTDI_EEPROM_WORDS) {
        bytes[0] = (uint8_t)u->eeprom[index];
        bytes[1] = (uint8_t)(u->eeprom[index] >> 8);
    } else if (number < 1 || number > u->kind->channels) {
        return -EPIPE;
    } else if (setup[0] == VENDOR_OUT) {
        return set(u, &u->channel[number - 1], request, value, index);
    } else if (setup[0] == VENDOR_IN) {
        status = get(&u->channel[number - 1], request, bytes, &size);
    } else {
        return -EPIPE;
    }
    if (status < 0)
        return status;
    *actual = size < length ? size : length;
    memcpy(data, bytes, *actual);
    return 0;
}
