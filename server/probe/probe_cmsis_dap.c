/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_cmsis_dap.h"

#include "drivers/probe/cmsis_dap/cmsis_dap.h"
#include "drivers/probe/orbtrace/orbtrace.h"
#include "drivers/usb/usb_libusb.h"
#include "server/probe/probe_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE "cmsis-dap"

struct cmsis_dap_probe {
    struct usb_probe *usb;
    struct cmsis_dap dap;
    struct cmsis_dap_swo swo;
};

static int open_usb(struct cmsis_dap_probe *c, const struct usb_probe_filter *filter,
                    struct message *why)
{
    struct usb_open_error err;
    int error = usb_probe_open(filter, &c->usb, &err);
    if (error) {
        message_set(why, "%s", error == BT_ERR_NOMEM ? "out of memory" : err.text);
        return error;
    }
    struct usb_pipe pipe = usb_probe_pipe(c->usb);
    error = cmsis_dap_open(&c->dap, &pipe,
                           usb_probe_choice(c->usb)->hid ? CMSIS_DAP_HID : CMSIS_DAP_BULK);
    if (error) {
        message_set(why, "probe '%s' does not answer as CMSIS-DAP probes do: %s",
                    usb_probe_info(c->usb)->product_name,
                    error == BT_ERR_IO ? "silence; unplug it and plug it in again"
                                       : bt_strerror(error));
        usb_probe_close(c->usb);
    }
    return error;
}

/* SWO at the rate of the board file, if the trace comes this way. */
static int open_swo(struct probe_link *p, struct cmsis_dap_probe *c, struct message *why)
{
    const struct config *config = p->config;
    struct usb_stream stream = usb_probe_stream(c->usb);
    if (config->sink != CONFIG_SINK_SWO || config_has_trace_input(config))
        return BT_OK;
    int error = cmsis_dap_swo_init(&c->swo, &c->dap, &stream, CMSIS_DAP_SWO_UART, config->swo_rate,
                                   &p->swo_actual);
    if (error == BT_ERR_UNSUPPORTED)
        message_set(why, "probe '%s' cannot capture SWO as UART; another 'sink' is needed",
                    p->name);
    else if (error == BT_ERR_RANGE)
        message_set(why, "probe '%s' cannot capture SWO at swo_rate = %u; it offers %u", p->name,
                    config->swo_rate, p->swo_actual);
    else if (error)
        message_set(why, "probe '%s': SWO cannot be set up: %s", p->name, bt_strerror(error));
    else
        p->swo = cmsis_dap_swo_stream(&c->swo);
    return error;
}

static void describe(struct probe_link *p, const struct cmsis_dap_probe *c)
{
    const struct usb_device_info *usb = usb_probe_info(c->usb);
    snprintf(p->name, sizeof p->name, "%s",
             *usb->product_name ? usb->product_name : c->dap.product);
    snprintf(p->serial, sizeof p->serial, "%s", *usb->serial ? usb->serial : c->dap.serial);
    snprintf(p->firmware, sizeof p->firmware, "%s", c->dap.firmware);
}

static int open_probe(struct probe_link *p, const struct config *config, struct message *why)
{
    const struct usb_probe_filter filter = {.serial = config->probe.serial,
                                            .path = config->probe.usb.path,
                                            .vendor = config->probe.usb.vendor,
                                            .product = config->probe.usb.product};
    struct cmsis_dap_probe *c = calloc(1, sizeof *c);
    if (!c)
        return BT_ERR_NOMEM;
    int error = open_usb(c, &filter, why);
    if (error) {
        free(c);
        return error;
    }
    describe(p, c);
    error = open_swo(p, c, why);
    if (error) {
        usb_probe_close(c->usb);
        free(c);
        return error;
    }
    p->link = cmsis_dap_link(&c->dap);
    p->probe = c;
    return BT_OK;
}

static void close_probe(struct probe_link *p)
{
    struct cmsis_dap_probe *c = p->probe;
    usb_probe_close(c->usb);
    free(c);
    p->probe = NULL;
}

struct list {
    probe_listing_fn found;
    void *ctx;
};

static void add_word(char *text, size_t size, const char *word)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " " : "", word);
}

static void found_asked(const struct list *l, struct probe_listing *entry,
                        const struct cmsis_dap *dap)
{
    char wires[32] = "", trace[64] = "";
    if (dap->caps & CMSIS_DAP_CAP_SWD)
        add_word(wires, sizeof wires, "SWD");
    if (dap->caps & CMSIS_DAP_CAP_JTAG)
        add_word(wires, sizeof wires, "JTAG");
    if (dap->caps & CMSIS_DAP_CAP_SWO_UART)
        add_word(trace, sizeof trace, "UART");
    if (dap->caps & CMSIS_DAP_CAP_SWO_MANCHESTER)
        add_word(trace, sizeof trace, "Manchester");
    if (*trace)
        add_word(trace, sizeof trace, dap->caps & CMSIS_DAP_CAP_SWO_STREAM ? "streamed" : "polled");
    if (!*entry->vendor)
        entry->vendor = dap->vendor;
    if (!*entry->product)
        entry->product = dap->product;
    if (!*entry->serial)
        entry->serial = dap->serial;
    entry->firmware = dap->firmware;
    entry->wires = wires;
    entry->trace = trace;
    l->found(l->ctx, entry);
}

/* The trace interface of the same device, which is opened apart from the probe. */
static void describe_capture(const struct usb_device_info *info, char *text, size_t size)
{
    struct orbtrace_choice choice;
    text[0] = '\0';
    if (orbtrace_choose(info, &choice) != 0)
        return;
    const char *protocol = orbtrace_protocol_name(choice.protocol);
    if (*protocol)
        snprintf(text, size, "orbtrace (tpiu_width 1, 2 or 4; SWO as UART; %s)", protocol);
    else
        snprintf(text, size, "none: its gateware's trace protocol 0x%02x is not known",
                 choice.protocol);
}

static void found_usb(void *ctx, const struct usb_probe_seen *seen)
{
    const struct list *l = ctx;
    struct cmsis_dap_probe c = {0};
    struct message why;
    char capture[100];
    struct probe_listing entry = probe_listing_of(TYPE, seen, &why);
    describe_capture(&seen->info, capture, sizeof capture);
    entry.capture = capture;
    const struct usb_probe_filter filter = {.bus = seen->bus, .address = seen->address};
    if (!entry.problem && open_usb(&c, &filter, &why) == BT_OK) {
        found_asked(l, &entry, &c.dap);
        usb_probe_close(c.usb);
        return;
    }
    entry.problem = why.text;
    l->found(l->ctx, &entry);
}

static int list_probes(probe_listing_fn found, void *ctx, struct message *why)
{
    struct list l = {found, ctx};
    struct usb_open_error err;
    int error = usb_probe_list(found_usb, &l, &err);
    if (error)
        message_set(why, "%s", err.text);
    return error;
}

const struct probe_driver probe_cmsis_dap = {
    .type = TYPE,
    .open = open_probe,
    .close = close_probe,
    .list = list_probes,
};
