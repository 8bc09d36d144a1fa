/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and opening; the way of the bytes is in ftdi_channel_port.c. */
#include "ftdi_channel_internal.h"

#include <stdio.h>
#include <stdlib.h>

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

static bool ftdi_channel_fits(const struct usb_device_info *info, const struct usb_probe_filter *filter)
{
    if (filter->vendor || filter->product)
        return info->vendor == filter->vendor && info->product == filter->product;
    return ftdi_is_adapter(info->vendor, info->product);
}

/* The one that fits, with a reference of its own. */
static int ftdi_channel_find(struct ftdi_channel *c, const struct usb_probe_filter *filter,
                libusb_device **device, struct usb_open_error *err)
{
    static const struct usb_wanted WANTED = {"FTDI adapter", ftdi_channel_fits};
    struct usb_probe_seen seen;
    int rc = usb_libusb_find(c->ftdi->usb_ctx, &WANTED, filter, device, &seen, err);
    if (rc != 0)
        return rc;
    c->info = seen.info;
    c->chip = ftdi_chip_of(seen.info.release);
    return 0;
}

static int ftdi_channel_refused(const struct ftdi_channel *c, int rc, unsigned channel,
                   struct usb_open_error *err)
{
    const char *why = rc == CLAIM_REFUSED  ? "is in use by another program"
                      : rc == OPEN_REFUSED ? "cannot be opened"
                                           : "does not answer";
    snprintf(err->text, sizeof err->text, "cannot use adapter '%.60s': channel %c %s",
             c->info.product_name, (char)('A' + channel), why);
    return BT_ERR_IO;
}

static int ftdi_channel_check_chip(const struct ftdi_channel *c, unsigned channel, struct usb_open_error *err)
{
    if (c->chip && channel < c->chip->mpsse_channels)
        return 0;
    if (!c->chip)
        snprintf(err->text, sizeof err->text,
                 "adapter '%.60s' has another chip than FT2232H, FT4232H or FT232H",
                 c->info.product_name);
    else
        snprintf(err->text, sizeof err->text, "channel %c of adapter '%.60s' (%s) has no MPSSE",
                 (char)('A' + channel), c->info.product_name, c->chip->name);
    return BT_ERR_UNSUPPORTED;
}

static int set_mode(struct ftdi_channel *c)
{
    if (ftdi_set_latency_timer(c->ftdi, LATENCY_MS) != 0 ||
        ftdi_set_bitmode(c->ftdi, ALL_INPUTS, BITMODE_RESET) != 0 ||
        ftdi_set_bitmode(c->ftdi, ALL_INPUTS, BITMODE_MPSSE) != 0)
        return BT_ERR_IO;
    c->in_mode = true;
    ftdi_channel_pause(c, MODE_WAIT_MS);
    return ftdi_channel_purge(c);
}

static int open_device(struct ftdi_channel *c, libusb_device *device, unsigned channel,
                       struct usb_open_error *err)
{
    int rc = ftdi_channel_check_chip(c, channel, err);
    if (rc != 0)
        return rc;
    (void)ftdi_set_interface(c->ftdi, (enum ftdi_interface)(INTERFACE_A + (int)channel));
    c->ftdi->module_detach_mode = AUTO_DETACH_REATACH_SIO_MODULE;
    c->ftdi->usb_read_timeout = CONTROL_MS;
    c->ftdi->usb_write_timeout = CONTROL_MS;
    rc = ftdi_usb_open_dev(c->ftdi, device);
    if (rc != 0)
        return ftdi_channel_refused(c, rc, channel, err);
    c->is_open = true;
    rc = ftdi_channel_start_port(c);
    if (rc == 0)
        rc = set_mode(c);
    return rc == BT_ERR_IO ? ftdi_channel_refused(c, 0, channel, err) : rc;
}

int ftdi_channel_open(const struct usb_probe_filter *filter, unsigned channel,
                      struct ftdi_channel **out, struct usb_open_error *err)
{
    *out = NULL;
    *err = (struct usb_open_error){0};
    struct ftdi_channel *c = calloc(1, sizeof *c);
    if (!c)
        return BT_ERR_NOMEM;
    c->ftdi = ftdi_new();
    if (!c->ftdi) {
        snprintf(err->text, sizeof err->text, "cannot use USB");
        free(c);
        return BT_ERR_IO;
    }
    libusb_device *device;
    int rc = ftdi_channel_find(c, filter, &device, err);
    if (rc == 0)
        rc = open_device(c, device, channel, err);
    if (device)
        libusb_unref_device(device);
    if (rc != 0) {
        ftdi_channel_close(c);
        return rc;
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
    if (c->in_mode)
        (void)ftdi_set_bitmode(c->ftdi, ALL_INPUTS, BITMODE_RESET);
    if (c->is_open)
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

static bool look_for_adapter(void *user, libusb_device *device)
{
    static const struct usb_probe_filter ANY;
    const struct listing *l = user;
    struct usb_device_info info;
    struct usb_probe_seen seen;
    usb_libusb_describe(device, NULL, &info);
    if (!ftdi_channel_fits(&info, &ANY))
        return false;
    usb_libusb_look(device, &seen);
    l->found(l->user, &seen, ftdi_chip_of(info.release));
    return true;
}

int ftdi_channel_list(void (*found)(void *user, const struct usb_probe_seen *adapter,
                                    const struct ftdi_chip *chip),
                      void *user, struct usb_open_error *err)
{
    struct listing l = {found, user};
    return usb_libusb_each(look_for_adapter, &l, err);
}
