/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and opening a channel, and the way of its bytes. */
#include "drivers/probe/ftdi/ftdi_channel.h"

#include <ftdi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "drivers/usb/usb_libusb_device.h"

#include "ftdi_mpsse.h"

#define FTDI_IN_BYTES 16384 /* of one IN transfer: a multiple of any wMaxPacketSize */

enum ftdi_channel_phase {
    FTDI_CHANNEL_CLOSED,
    FTDI_CHANNEL_OPEN,
    FTDI_CHANNEL_IN_MODE, /* the MPSSE is on */
};

/* FAILED lasts to the next exchange, GONE for good. */
enum ftdi_channel_health {
    FTDI_CHANNEL_FINE,
    FTDI_CHANNEL_FAILED, /* USB refused a transfer; the device may still be there */
    FTDI_CHANNEL_GONE,
};

struct ftdi_channel {
    struct ftdi_context *ftdi;
    enum ftdi_channel_phase phase;
    enum ftdi_channel_health health;
    struct usb_device_info info;
    const struct ftdi_chip *chip;
    /* One transfer a direction, and the exchange that they are for. */
    struct libusb_transfer *in;
    struct libusb_transfer *out;
    bool in_flight, out_flight;
    bool stopping; /* nothing is submitted any more */
    bool excess;   /* more came than was asked for */
    uint8_t *want;
    size_t want_length;
    size_t got;
    uint8_t in_data[FTDI_IN_BYTES];
};

#define ROUND_MS      100u
#define CANCEL_ROUNDS 100u
#define CANCEL_MS     10u
#define DRAIN_MS      5u
#define DRAIN_MAX     64u

static void handle_events(struct ftdi_channel *c, uint64_t ms)
{
    struct timeval tv = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    (void)libusb_handle_events_timeout_completed(c->ftdi->usb_ctx, &tv, NULL);
}

static void note_health(struct ftdi_channel *c, enum ftdi_channel_health health)
{
    if (c->health < health)
        c->health = health;
}

static void note_status(struct ftdi_channel *c, enum libusb_transfer_status status)
{
    switch (status) {
    case LIBUSB_TRANSFER_COMPLETED:
    case LIBUSB_TRANSFER_TIMED_OUT:
    case LIBUSB_TRANSFER_CANCELLED:
        break;
    case LIBUSB_TRANSFER_NO_DEVICE:
        note_health(c, FTDI_CHANNEL_GONE);
        break;
    default:
        note_health(c, FTDI_CHANNEL_FAILED);
        break;
    }
}

static bool ftdi_channel_submit(struct ftdi_channel *c, struct libusb_transfer *t)
{
    int code = libusb_submit_transfer(t);
    if (code == LIBUSB_ERROR_NO_DEVICE)
        note_health(c, FTDI_CHANNEL_GONE);
    else if (code != 0)
        note_health(c, FTDI_CHANNEL_FAILED);
    return code == 0;
}

static void ftdi_channel_take(struct ftdi_channel *c, size_t length)
{
    size_t n = mpsse_strip_status(c->in_data, length, c->ftdi->max_packet_size);
    size_t room = c->want_length - c->got;
    if (n > room) {
        c->excess = true;
        n = room;
    }
    if (n > 0)
        memcpy(c->want + c->got, c->in_data, n);
    c->got += n;
}

static void LIBUSB_CALL on_in(struct libusb_transfer *t)
{
    struct ftdi_channel *c = t->user_data;
    c->in_flight = false;
    note_status(c, t->status);
    if (t->actual_length > 0)
        ftdi_channel_take(c, (size_t)t->actual_length);
    bool good = t->status == LIBUSB_TRANSFER_COMPLETED;
    if (good && !c->stopping && c->got < c->want_length)
        c->in_flight = ftdi_channel_submit(c, t);
}

static void LIBUSB_CALL on_out(struct libusb_transfer *t)
{
    struct ftdi_channel *c = t->user_data;
    c->out_flight = false;
    note_status(c, t->status);
    if (t->status == LIBUSB_TRANSFER_COMPLETED && t->actual_length != t->length)
        note_health(c, FTDI_CHANNEL_FAILED);
}

/* Transfers for an open device. 0 or BT_ERR_NOMEM. */
static int ftdi_channel_start_port(struct ftdi_channel *c)
{
    c->in = libusb_alloc_transfer(0);
    c->out = libusb_alloc_transfer(0);
    return c->in && c->out ? 0 : BT_ERR_NOMEM;
}

/* Whatever is on its way comes back. */
static bool ftdi_channel_cancel(struct ftdi_channel *c)
{
    c->stopping = true;
    if (c->in_flight)
        (void)libusb_cancel_transfer(c->in);
    if (c->out_flight)
        (void)libusb_cancel_transfer(c->out);
    for (unsigned k = 0; k < CANCEL_ROUNDS && (c->in_flight || c->out_flight); k++)
        handle_events(c, CANCEL_MS);
    return !c->in_flight && !c->out_flight;
}

/* Cancels and frees them. False: one is still on its way, and must be kept. */
static bool ftdi_channel_stop_port(struct ftdi_channel *c)
{
    if (!ftdi_channel_cancel(c))
        return false;
    libusb_free_transfer(c->in);
    libusb_free_transfer(c->out);
    c->in = c->out = NULL;
    return true;
}

static void ftdi_channel_begin(struct ftdi_channel *c, uint8_t *in, size_t in_length)
{
    c->want = in;
    c->want_length = in_length;
    c->got = 0;
    c->stopping = c->excess = false;
    if (c->health == FTDI_CHANNEL_FAILED)
        c->health = FTDI_CHANNEL_FINE;
}

static void submit_in(struct ftdi_channel *c)
{
    libusb_fill_bulk_transfer(c->in, c->ftdi->usb_dev, (unsigned char)c->ftdi->out_ep, c->in_data,
                              FTDI_IN_BYTES, on_in, c, 0);
    c->in_flight = ftdi_channel_submit(c, c->in);
}

static bool is_over(const struct ftdi_channel *c)
{
    return c->health != FTDI_CHANNEL_FINE ||
           (!c->out_flight && c->got >= c->want_length && !c->in_flight);
}

static int wait_for_end(struct ftdi_channel *c, unsigned timeout_ms)
{
    uint64_t end = debug_now(&debug_clock_monotonic) / 1000 + timeout_ms;
    while (!is_over(c)) {
        uint64_t now = debug_now(&debug_clock_monotonic) / 1000;
        if (now >= end)
            break;
        handle_events(c, end - now < ROUND_MS ? end - now : ROUND_MS);
    }
    bool in_time = is_over(c);
    if (!ftdi_channel_cancel(c) || c->health != FTDI_CHANNEL_FINE)
        return BT_ERR_IO;
    if (c->excess)
        return BT_ERR_FORMAT;
    return in_time ? 0 : FTDI_TIMED_OUT;
}

static int port_exchange(void *self, const uint8_t *out, size_t out_length, uint8_t *in,
                         size_t in_length, size_t *got, unsigned timeout_ms)
{
    struct ftdi_channel *c = self;
    *got = 0;
    if (c->health == FTDI_CHANNEL_GONE || c->in_flight || c->out_flight)
        return BT_ERR_IO;
    ftdi_channel_begin(c, in, in_length);
    if (in_length > 0)
        submit_in(c);
    if (out_length > 0 && c->health == FTDI_CHANNEL_FINE) {
        unsigned char *bytes = (unsigned char *)(uintptr_t)out; /* libusb does not write to it */
        libusb_fill_bulk_transfer(c->out, c->ftdi->usb_dev, (unsigned char)c->ftdi->in_ep, bytes,
                                  (int)out_length, on_out, c, 0);
        c->out_flight = ftdi_channel_submit(c, c->out);
    }
    int error = wait_for_end(c, timeout_ms);
    *got = c->got;
    return error;
}

/* What the chip still holds or sends comes to nothing: empty packets mean that it has no more. */
static int ftdi_channel_purge(struct ftdi_channel *c)
{
    uint8_t waste[FTDI_IN_BYTES];
    if (c->health == FTDI_CHANNEL_GONE || c->in_flight || c->out_flight)
        return BT_ERR_IO;
    if (c->health == FTDI_CHANNEL_FAILED) { /* perhaps an endpoint that stalled */
        (void)libusb_clear_halt(c->ftdi->usb_dev, (unsigned char)c->ftdi->in_ep);
        (void)libusb_clear_halt(c->ftdi->usb_dev, (unsigned char)c->ftdi->out_ep);
    }
    if (ftdi_tcioflush(c->ftdi) != 0)
        return BT_ERR_IO;
    for (unsigned k = 0; k < DRAIN_MAX; k++) {
        ftdi_channel_begin(c, waste, sizeof waste);
        submit_in(c);
        int error = wait_for_end(c, DRAIN_MS);
        if (error == BT_ERR_IO)
            return error;
        if (c->got == 0)
            break;
    }
    return 0;
}

static int port_purge(void *self)
{
    return ftdi_channel_purge(self);
}

struct ftdi_port ftdi_channel_port(struct ftdi_channel *c)
{
    static const struct ftdi_port_ops OPS = {.exchange = port_exchange, .purge = port_purge};
    return (struct ftdi_port){.ops = &OPS, .self = c, .has_high_byte = c->chip->has_high_byte};
}

#define LATENCY_MS   1
#define CONTROL_MS   900 /* libftdi: with 1000 and more, a part of a second is more than allowed */
#define MODE_WAIT_MS 20
#define ALL_INPUTS   0x00

#define OPEN_REFUSED  (-4) /* of libftdi */
#define CLAIM_REFUSED (-5)

static const struct {
    uint16_t bcd_device;
    struct ftdi_chip chip;
} CHIPS[] = {
    {0x0700, {"FT2232H", 2, true, 2, true}},    {0x0800, {"FT4232H", 2, false, 4, false}},
    {0x0900, {"FT232H", 1, true, 1, true}},     {0x2800, {"FT2233HP", 2, true, 2, true}},
    {0x2900, {"FT4233HP", 2, false, 4, false}}, {0x3000, {"FT2232HP", 2, true, 2, true}},
    {0x3100, {"FT4232HP", 2, false, 4, false}}, {0x3200, {"FT233HP", 1, true, 1, true}},
    {0x3300, {"FT232HP", 1, true, 1, true}},    {0x3600, {"FT4232HA", 2, false, 4, false}},
};

/* FTDI's own numbers, and those of the adapters that OpenOCD 0.12 knows. */
static const struct {
    uint16_t vendor, product;
} ADAPTERS[] = {
    {0x0403, 0x6010}, {0x0403, 0x6011}, {0x0403, 0x6014}, {0x15ba, 0x002a}, {0x15ba, 0x002b},
    {0x0403, 0xcff8}, {0x0403, 0xbbe2}, {0x0403, 0x8220}, {0x0403, 0x8a98}, {0x22b7, 0x150d},
    {0x0b6b, 0x0040}, {0x0403, 0xbcd9}, {0x0403, 0xbcda}, {0x0403, 0xa6d0},
};

const struct ftdi_chip *ftdi_chip_of(uint16_t bcd_device)
{
    for (size_t k = 0; k < sizeof CHIPS / sizeof *CHIPS; k++) {
        if (CHIPS[k].bcd_device == bcd_device)
            return &CHIPS[k].chip;
    }
    return NULL;
}

bool ftdi_is_adapter(uint16_t vendor, uint16_t product)
{
    for (size_t k = 0; k < sizeof ADAPTERS / sizeof *ADAPTERS; k++) {
        if (ADAPTERS[k].vendor == vendor && ADAPTERS[k].product == product)
            return true;
    }
    return false;
}

static bool ftdi_channel_fits(const struct usb_device_info *info,
                              const struct usb_probe_filter *filter)
{
    if (filter->vendor || filter->product)
        return info->vendor == filter->vendor && info->product == filter->product;
    return ftdi_is_adapter(info->vendor, info->product);
}

/* The one that fits, with a reference of its own. */
static int ftdi_channel_find(struct ftdi_channel *c, const struct usb_probe_filter *filter,
                             libusb_device **device, struct message *why)
{
    static const struct usb_wanted WANTED = {"FTDI adapter", ftdi_channel_fits};
    struct usb_probe_seen seen;
    int error = usb_libusb_find(c->ftdi->usb_ctx, &WANTED, filter, device, &seen, why);
    if (error != 0)
        return error;
    c->info = seen.info;
    c->chip = ftdi_chip_of(seen.info.release);
    return 0;
}

static int ftdi_channel_refused(const struct ftdi_channel *c, int code, unsigned channel,
                                struct message *why)
{
    const char *reason = code == CLAIM_REFUSED  ? "is in use by another program"
                         : code == OPEN_REFUSED ? "cannot be opened"
                                                : "does not answer";
    return message_fail(why, BT_ERR_IO, "cannot use adapter '%.60s': channel %c %s",
                        c->info.product_name, (char)('A' + channel), reason);
}

static int ftdi_channel_check_chip(const struct ftdi_channel *c, unsigned channel,
                                   struct message *why)
{
    if (c->chip && channel < c->chip->mpsse_channels)
        return 0;
    if (!c->chip)
        message_set(why, "adapter '%.60s' has another chip than FT2232H, FT4232H or FT232H",
                    c->info.product_name);
    else
        message_set(why, "channel %c of adapter '%.60s' (%s) has no MPSSE", (char)('A' + channel),
                    c->info.product_name, c->chip->name);
    return BT_ERR_UNSUPPORTED;
}

static int set_mode(struct ftdi_channel *c)
{
    if (ftdi_set_latency_timer(c->ftdi, LATENCY_MS) != 0 ||
        ftdi_set_bitmode(c->ftdi, ALL_INPUTS, BITMODE_RESET) != 0 ||
        ftdi_set_bitmode(c->ftdi, ALL_INPUTS, BITMODE_MPSSE) != 0)
        return BT_ERR_IO;
    c->phase = FTDI_CHANNEL_IN_MODE;
    debug_sleep(&debug_clock_monotonic, MODE_WAIT_MS * 1000);
    return ftdi_channel_purge(c);
}

static int open_device(struct ftdi_channel *c, libusb_device *device, unsigned channel,
                       struct message *why)
{
    int error = ftdi_channel_check_chip(c, channel, why);
    if (error != 0)
        return error;
    (void)ftdi_set_interface(c->ftdi, (enum ftdi_interface)(INTERFACE_A + (int)channel));
    c->ftdi->module_detach_mode = AUTO_DETACH_REATACH_SIO_MODULE;
    c->ftdi->usb_read_timeout = CONTROL_MS;
    c->ftdi->usb_write_timeout = CONTROL_MS;
    error = ftdi_usb_open_dev(c->ftdi, device);
    if (error != 0)
        return ftdi_channel_refused(c, error, channel, why);
    c->phase = FTDI_CHANNEL_OPEN;
    error = ftdi_channel_start_port(c);
    if (error == 0)
        error = set_mode(c);
    return error == BT_ERR_IO ? ftdi_channel_refused(c, 0, channel, why) : error;
}

int ftdi_channel_open(const struct usb_probe_filter *filter, unsigned channel,
                      struct ftdi_channel **out, struct message *why)
{
    *out = NULL;
    *why = (struct message){.text = ""};
    struct ftdi_channel *c = calloc(1, sizeof *c);
    if (!c)
        return message_default(why, BT_ERR_NOMEM);
    c->ftdi = ftdi_new();
    if (!c->ftdi) {
        message_set(why, "cannot use USB");
        free(c);
        return BT_ERR_IO;
    }
    libusb_device *device;
    int error = ftdi_channel_find(c, filter, &device, why);
    if (error == 0)
        error = open_device(c, device, channel, why);
    if (device)
        libusb_unref_device(device);
    if (error != 0) {
        ftdi_channel_close(c);
        return message_default(why, error);
    }
    *out = c;
    return 0;
}

void ftdi_channel_close(struct ftdi_channel *c)
{
    if (!c)
        return;
    if (!ftdi_channel_stop_port(c))
        return; /* a transfer that is not back must not be freed: kept for good */
    if (c->phase == FTDI_CHANNEL_IN_MODE)
        (void)ftdi_set_bitmode(c->ftdi, ALL_INPUTS, BITMODE_RESET);
    if (c->phase != FTDI_CHANNEL_CLOSED)
        (void)ftdi_usb_close(c->ftdi);
    ftdi_free(c->ftdi);
    free(c);
}

const struct usb_device_info *ftdi_channel_info(const struct ftdi_channel *c)
{
    return &c->info;
}

const struct ftdi_chip *ftdi_channel_chip(const struct ftdi_channel *c)
{
    return c->chip;
}

struct listing {
    void (*found)(void *user, const struct usb_probe_seen *adapter, const struct ftdi_chip *chip);
    void *user;
};

static void look_for_adapter(void *user, libusb_device *device)
{
    static const struct usb_probe_filter ANY;
    const struct listing *l = user;
    struct usb_device_info info;
    struct usb_probe_seen seen;
    usb_libusb_describe(device, NULL, &info);
    if (!ftdi_channel_fits(&info, &ANY))
        return;
    usb_libusb_look(device, &seen);
    l->found(l->user, &seen, ftdi_chip_of(info.release));
}

int ftdi_channel_list(void (*found)(void *user, const struct usb_probe_seen *adapter,
                                    const struct ftdi_chip *chip),
                      void *user, struct message *why)
{
    struct listing l = {found, user};
    return usb_libusb_each(look_for_adapter, &l, why);
}
