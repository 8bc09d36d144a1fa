/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_ftdi.h"

#include "drivers/probe/ftdi/ftdi_channel.h"
#include "server/probe/probe_link.h"

#include <stdio.h>
#include <stdlib.h>

#define TYPE "ftdi"

struct ftdi_probe {
    struct ftdi_channel *channel;
    struct ftdi engine;
};

/* The layout as the board file names it, against the pins that the chip has. */
static int check_layout(const struct ftdi_pinout *l, const struct ftdi_chip *chip,
                        struct message *why)
{
    unsigned pins = l->direction | l->ntrst.data | l->ntrst.enable | l->nsrst.data |
                    l->nsrst.enable | l->swd_enable.data | l->swd_enable.enable |
                    l->swdio_enable.data | l->swdio_enable.enable;
    if (chip->has_high_byte || (pins & 0xff00) == 0)
        return BT_OK;
    message_set(why, "[probe] layout uses pins 0x%04x, but a %s has no pins above 0x00FF",
                pins & 0xff00, chip->name);
    return BT_ERR_UNSUPPORTED;
}

static int open_engine(struct ftdi_probe *f, const struct config_probe *o, struct message *why)
{
    struct usb_open_error err;
    const struct usb_probe_filter filter = {.serial = o->serial,
                                            .path = o->usb.path,
                                            .vendor = o->usb.vendor,
                                            .product = o->usb.product};
    int error = ftdi_channel_open(&filter, o->channel, &f->channel, &err);
    if (error) {
        message_set(why, "%s", error == BT_ERR_NOMEM ? "out of memory" : err.text);
        return error;
    }
    struct ftdi_port port = ftdi_channel_port(f->channel);
    error = check_layout(&o->layout, ftdi_channel_chip(f->channel), why);
    if (error)
        return error;
    error = ftdi_open(&f->engine, &port, &o->layout, &probe_link_clock);
    if (error)
        message_set(why, "adapter '%s' does not answer as an MPSSE does: %s",
                    ftdi_channel_info(f->channel)->product_name,
                    error == BT_ERR_IO ? "silence; unplug it and plug it in again"
                                       : bt_strerror(error));
    return error;
}

static int open_probe(struct probe_link *p, const struct config *config, struct message *why)
{
    if (config->sink == CONFIG_SINK_SWO && !config_has_trace_input(config)) {
        message_set(why,
                    "an FTDI adapter that debugs does not capture SWO; another 'sink' is "
                    "needed, or a section [capture]: type = ftdi-uart is another channel of it");
        return BT_ERR_UNSUPPORTED;
    }
    struct ftdi_probe *f = calloc(1, sizeof *f);
    if (!f)
        return BT_ERR_NOMEM;
    int error = open_engine(f, &config->probe, why);
    if (error) {
        ftdi_channel_close(f->channel);
        free(f);
        return error;
    }
    const struct usb_device_info *usb = ftdi_channel_info(f->channel);
    snprintf(p->name, sizeof p->name, "%s (%s, channel %c)", usb->product_name,
             ftdi_channel_chip(f->channel)->name, (char)('A' + config->probe.channel));
    snprintf(p->serial, sizeof p->serial, "%s", usb->serial);
    p->firmware[0] = '\0';
    p->link = ftdi_link(&f->engine);
    p->probe = f;
    return BT_OK;
}

static void close_probe(struct probe_link *p)
{
    struct ftdi_probe *f = p->probe;
    ftdi_close(&f->engine);
    ftdi_channel_close(f->channel);
    free(f);
    p->probe = NULL;
}

struct list {
    probe_listing_fn found;
    void *ctx;
};

static void found_usb(void *ctx, const struct usb_probe_seen *seen, const struct ftdi_chip *chip)
{
    const struct list *l = ctx;
    struct message why;
    char wires[64] = "";
    struct probe_listing entry = probe_listing_of(TYPE, seen, &why);
    entry.wires = wires;
    if (chip)
        entry.capture =
            chip->has_fifo ? "ftdi-uart (SWO), ftdi-fifo (with logic of yours)" : "ftdi-uart (SWO)";
    if (chip)
        snprintf(wires, sizeof wires, "SWD JTAG (%s, channel A%s)", chip->name,
                 chip->mpsse_channels > 1 ? " or B" : "");
    if (!entry.problem && !chip) {
        message_set(&why, "the chip has no MPSSE that is known here");
        entry.problem = why.text;
    }
    l->found(l->ctx, &entry);
}

static int list_probes(probe_listing_fn found, void *ctx, struct message *why)
{
    struct list l = {found, ctx};
    struct usb_open_error err;
    int error = ftdi_channel_list(found_usb, &l, &err);
    if (error)
        message_set(why, "%s", err.text);
    return error;
}

const struct probe_driver probe_ftdi = {
    .type = TYPE,
    .open = open_probe,
    .close = close_probe,
    .list = list_probes,
};
