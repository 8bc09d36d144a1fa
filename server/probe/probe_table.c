/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes that btraced drives itself, by type: opened, closed, listed. */
#include "server/probe/probe_table.h"

#include "drivers/probe/cmsis_dap/cmsis_dap.h"
#include "drivers/probe/ftdi/ftdi_channel.h"
#include "drivers/probe/orbtrace/orbtrace.h"
#include "drivers/usb/usb_libusb.h"
#include "server/probe/probe_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UDEV_RULES "60-btraced.rules"
#define CMSIS_DAP  "cmsis-dap"
#define FTDI       "ftdi"

/* Who is told of the probes that are attached. */
struct listing {
    probe_listing_fn found;
    void *ctx;
};

/* What USB tells of a device; its texts are borrowed. Without permission `why` says what to do, and
 * is the problem. */
static struct probe_listing listing_of(const char *type, const struct usb_probe_seen *seen,
                                       struct message *why)
{
    struct probe_listing entry = {.type = type,
                                  .vendor = seen->manufacturer,
                                  .product = seen->info.product_name,
                                  .serial = seen->info.serial,
                                  .usb_vendor = seen->info.vendor,
                                  .usb_product = seen->info.product,
                                  .usb_path = seen->path,
                                  .firmware = "",
                                  .wires = "",
                                  .trace = "",
                                  .capture = "",
                                  .speed = seen->speed};
    if (seen->no_permission) {
        message_set(why,
                    "no permission to open %s: install the udev rules " UDEV_RULES
                    ", then plug it in again",
                    seen->node);
        entry.problem = why->text;
    }
    return entry;
}

/* A question of ours may take several answers of the probe, so each has a part of that time; a
 * patient board file is patient with the probe, too. */
static unsigned probe_answer_ms(const struct config *config, unsigned usual_ms)
{
    unsigned part = config->deadline_ms / 3;
    return part > usual_ms ? part : usual_ms;
}

/* CMSIS-DAP. */

struct cmsis_dap_probe {
    struct usb_probe *usb;
    struct cmsis_dap dap;
    struct cmsis_dap_swo swo;
};

static int cmsis_open_usb(struct cmsis_dap_probe *c, const struct usb_probe_filter *filter,
                          struct message *why)
{
    int error = usb_probe_open(filter, &c->usb, why);
    if (error)
        return error;
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
static int cmsis_open_swo(struct probe_link *p, struct cmsis_dap_probe *c, struct message *why)
{
    const struct config *config = p->config;
    struct trace_stream stream = usb_probe_stream(c->usb);
    if (config->sink != CONFIG_SINK_SWO || config_has_trace_input(config))
        return BT_OK;
    int error = cmsis_dap_swo_init(&c->swo, &c->dap, &stream, config->swo_rate, &p->swo_actual);
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

static void cmsis_describe(struct probe_link *p, const struct cmsis_dap_probe *c)
{
    const struct usb_device_info *usb = usb_probe_info(c->usb);
    snprintf(p->name, sizeof p->name, "%s",
             *usb->product_name ? usb->product_name : c->dap.product);
    snprintf(p->serial, sizeof p->serial, "%s", *usb->serial ? usb->serial : c->dap.serial);
    snprintf(p->firmware, sizeof p->firmware, "%s", c->dap.firmware);
}

static int cmsis_open(struct probe_link *p, const struct config *config, struct message *why)
{
    const struct usb_probe_filter filter = {.serial = config->probe.serial,
                                            .path = config->probe.usb.path,
                                            .vendor = config->probe.usb.vendor,
                                            .product = config->probe.usb.product};
    struct cmsis_dap_probe *c = calloc(1, sizeof *c);
    if (!c)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    int error = cmsis_open_usb(c, &filter, why);
    if (error) {
        free(c);
        return error;
    }
    c->dap.timeout_ms = probe_answer_ms(config, c->dap.timeout_ms);
    cmsis_describe(p, c);
    error = cmsis_open_swo(p, c, why);
    if (error) {
        usb_probe_close(c->usb);
        free(c);
        return error;
    }
    p->link = cmsis_dap_link(&c->dap);
    p->probe = c;
    return BT_OK;
}

static void cmsis_close(struct probe_link *p)
{
    struct cmsis_dap_probe *c = p->probe;
    usb_probe_close(c->usb);
    free(c);
    p->probe = NULL;
}

static void add_word(char *text, size_t size, const char *word)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " " : "", word);
}

static void cmsis_found_asked(const struct listing *l, struct probe_listing *entry,
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

static void cmsis_found(void *ctx, const struct usb_probe_seen *seen)
{
    const struct listing *l = ctx;
    struct cmsis_dap_probe c = {0};
    struct message why;
    char capture[100];
    struct probe_listing entry = listing_of(CMSIS_DAP, seen, &why);
    describe_capture(&seen->info, capture, sizeof capture);
    entry.capture = capture;
    const struct usb_probe_filter filter = {.bus = seen->bus, .address = seen->address};
    if (!entry.problem && cmsis_open_usb(&c, &filter, &why) == BT_OK) {
        cmsis_found_asked(l, &entry, &c.dap);
        usb_probe_close(c.usb);
        return;
    }
    entry.problem = why.text;
    l->found(l->ctx, &entry);
}

static int cmsis_list(probe_listing_fn found, void *ctx, struct message *why)
{
    struct listing l = {found, ctx};
    return usb_probe_list(cmsis_found, &l, why);
}

static const struct probe_driver probe_cmsis_dap = {
    .type = CMSIS_DAP,
    .open = cmsis_open,
    .close = cmsis_close,
    .list = cmsis_list,
};

/* FTDI adapters. */

struct ftdi_probe {
    struct ftdi_channel *channel;
    struct ftdi engine;
};

/* The layout as the board file names it, against the pins that the chip has. */
static int ftdi_check_layout(const struct ftdi_pinout *l, const struct ftdi_chip *chip,
                             struct message *why)
{
    unsigned pins = l->direction | l->ntrst.data | l->ntrst.enable | l->nsrst.data |
                    l->nsrst.enable | l->swd_enable.data | l->swd_enable.enable |
                    l->swdio_enable.data | l->swdio_enable.enable;
    if (chip->has_high_byte || (pins & 0xff00) == 0)
        return BT_OK;
    return message_fail(why, BT_ERR_UNSUPPORTED,
                        "[probe] layout uses pins 0x%04x, but a %s has no pins above 0x00FF",
                        pins & 0xff00, chip->name);
}

static int ftdi_open_engine(struct ftdi_probe *f, const struct config_probe *o, struct message *why)
{
    const struct usb_probe_filter filter = {.serial = o->serial,
                                            .path = o->usb.path,
                                            .vendor = o->usb.vendor,
                                            .product = o->usb.product};
    int error = ftdi_channel_open(&filter, o->channel, &f->channel, why);
    if (error)
        return error;
    struct ftdi_port port = ftdi_channel_port(f->channel);
    error = ftdi_check_layout(&o->layout, ftdi_channel_chip(f->channel), why);
    if (error)
        return error;
    error = ftdi_open(&f->engine, &port, &o->layout);
    if (error)
        message_set(why, "adapter '%s' does not answer as an MPSSE does: %s",
                    ftdi_channel_info(f->channel)->product_name,
                    error == BT_ERR_IO ? "silence; unplug it and plug it in again"
                                       : bt_strerror(error));
    return error;
}

static int ftdi_probe_open(struct probe_link *p, const struct config *config, struct message *why)
{
    if (config->sink == CONFIG_SINK_SWO && !config_has_trace_input(config))
        return message_fail(
            why, BT_ERR_UNSUPPORTED,
            "an FTDI adapter that debugs does not capture SWO; another 'sink' is "
            "needed, or a section [capture]: type = ftdi-uart is another channel of it");
    struct ftdi_probe *f = calloc(1, sizeof *f);
    if (!f)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    int error = ftdi_open_engine(f, &config->probe, why);
    if (error) {
        ftdi_channel_close(f->channel);
        free(f);
        return error;
    }
    f->engine.answer_ms = probe_answer_ms(config, f->engine.answer_ms);
    const struct usb_device_info *usb = ftdi_channel_info(f->channel);
    snprintf(p->name, sizeof p->name, "%s (%s, channel %c)", usb->product_name,
             ftdi_channel_chip(f->channel)->name, (char)('A' + config->probe.channel));
    snprintf(p->serial, sizeof p->serial, "%s", usb->serial);
    p->firmware[0] = '\0';
    p->link = ftdi_link(&f->engine);
    p->probe = f;
    return BT_OK;
}

static void ftdi_probe_close(struct probe_link *p)
{
    struct ftdi_probe *f = p->probe;
    ftdi_close(&f->engine);
    ftdi_channel_close(f->channel);
    free(f);
    p->probe = NULL;
}

static void ftdi_found(void *ctx, const struct usb_probe_seen *seen, const struct ftdi_chip *chip)
{
    const struct listing *l = ctx;
    struct message why;
    char wires[64] = "";
    struct probe_listing entry = listing_of(FTDI, seen, &why);
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

static int ftdi_probe_list(probe_listing_fn found, void *ctx, struct message *why)
{
    struct listing l = {found, ctx};
    return ftdi_channel_list(ftdi_found, &l, why);
}

static const struct probe_driver probe_ftdi = {
    .type = FTDI,
    .open = ftdi_probe_open,
    .close = ftdi_probe_close,
    .list = ftdi_probe_list,
};

static const struct probe_driver *const drivers[] = {
    &probe_cmsis_dap,
    &probe_ftdi,
};

const struct probe_driver *const *probe_drivers(size_t *count)
{
    *count = sizeof drivers / sizeof *drivers;
    return drivers;
}

const struct probe_driver *probe_driver_named(const char *type)
{
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (strcmp(drivers[i]->type, type) == 0)
            return drivers[i];
    return NULL;
}
