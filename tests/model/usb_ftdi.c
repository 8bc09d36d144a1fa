/* SPDX-License-Identifier: BSD-3-Clause */
#include "usb_ftdi.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define DEVICE_SIZE 18

#define BULK(address) 7, USB_DT_ENDPOINT, (address), 2, 0x00, 0x02, 0
#define PACKET_LOW    4 /* in an endpoint's descriptor */

#define INTERFACE_SIZE (9u + 2 * 7)
static const uint8_t interfaces[FTDI_CHANNELS * INTERFACE_SIZE] = {
    9, USB_DT_INTERFACE, 0, 0, 2, 0xff, 0xff, 0xff, 2, BULK(FTDI_EP_A_IN), BULK(FTDI_EP_A_OUT),
    9, USB_DT_INTERFACE, 1, 0, 2, 0xff, 0xff, 0xff, 2, BULK(FTDI_EP_B_IN), BULK(FTDI_EP_B_OUT),
    9, USB_DT_INTERFACE, 2, 0, 2, 0xff, 0xff, 0xff, 2, BULK(0x85),         BULK(0x06),
    9, USB_DT_INTERFACE, 3, 0, 2, 0xff, 0xff, 0xff, 2, BULK(0x87),         BULK(0x08),
};

struct usb_ftdi *usb_ftdi_of(struct usb_device *d)
{
    return (struct usb_ftdi *)d;
}

static uint64_t monotonic(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static struct ftdi_channel *channel_of(struct usb_ftdi *u, uint8_t endpoint)
{
    unsigned number = endpoint & 0x7f;
    if (number < 1 || number > 2 * u->kind->channels || number % 2 != endpoint >> 7)
        return NULL;
    return &u->channel[(number - 1) / 2];
}

static unsigned number_of(const struct usb_ftdi *u, const struct ftdi_channel *c)
{
    return (unsigned)(c - u->channel);
}

/* What a channel does with its buffers. */

static void drop(struct usb_ftdi *u, struct ftdi_channel *c)
{
    u->counters.dropped += (unsigned)c->out.count;
    c->out.count = 0;
}

static void bang(struct ftdi_channel *c)
{
    bool reads = c->mode == FTDI_MODE_SYNC_BITBANG;
    while (c->out.count && (!reads || ftdi_fifo_room(&c->in))) {
        if (reads)
            ftdi_fifo_put(&c->in, (uint8_t)mpsse_get_pins(&c->mpsse));
        mpsse_set_pins(&c->mpsse, ftdi_fifo_get(&c->out), c->mask);
    }
}

static size_t queued(const struct usb_ftdi *u, const struct ftdi_channel *c)
{
    return u->device.queued[(2 * number_of(u, c) + 1) % USB_DEVICE_ENDPOINTS];
}

static void run_channel(struct usb_ftdi *u, struct ftdi_channel *c)
{
    switch (c->mode) {
    case FTDI_MODE_MPSSE:
        if (number_of(u, c) >= u->kind->engines) {
            drop(u, c);
            break;
        }
        mpsse_run(&c->mpsse, &c->out, &c->in);
        break;
    case FTDI_MODE_BITBANG:
    case FTDI_MODE_SYNC_BITBANG:
        bang(c);
        break;
    case FTDI_MODE_RESET:
        drop(u, c);
        if (c == &u->channel[1])
            usb_ftdi_receive_swo(u, c, queued(u, c));
        break;
    case FTDI_MODE_SYNC_FIFO:
        drop(u, c);
        if (c == &u->channel[0] && u->kind->sync_fifo)
            usb_ftdi_receive_fifo(u, c, queued(u, c));
        break;
    default:
        drop(u, c);
        break;
    }
}

/* One packet at the end of the transfer, if it is time for one; its size, or 0. */
static size_t send_packet(struct usb_ftdi *u, struct ftdi_channel *c)
{
    uint64_t now = u->options.now(u->options.ctx);
    size_t payload = u->packet - FTDI_STATUS;
    size_t n = c->in.count;
    if (c->mpsse.flush)
        n = c->mpsse.flush;
    else if (n < payload && now - c->sent < 1000u * c->latency)
        return 0;
    if (n > payload)
        n = payload;
    uint8_t *packet = c->transfer + c->size;
    packet[0] = FTDI_MODEM_STATUS;
    packet[1] = FTDI_LINE_STATUS | (c->overrun ? FTDI_LINE_OVERRUN : 0);
    c->overrun = false;
    ftdi_fifo_read(&c->in, packet + FTDI_STATUS, n);
    c->mpsse.flush -= c->mpsse.flush < n ? c->mpsse.flush : n;
    c->size += FTDI_STATUS + n;
    c->sent = now;
    u->counters.idle += n == 0;
    return FTDI_STATUS + n;
}

/* Adds packets until the transfer is full or a short packet has ended it. */
static void build_transfer(struct usb_ftdi *u, struct ftdi_channel *c, size_t limit)
{
    while (!c->ready) {
        run_channel(u, c);
        size_t n = send_packet(u, c);
        if (n == 0)
            return;
        c->ready = n < u->packet || c->size + u->packet > limit;
    }
}

/* What is wrong with the transfer that is ready: 0, or the status it has instead. */
static int spoil(struct usb_device *d, struct ftdi_channel *c)
{
    size_t packet = usb_ftdi_of(d)->packet;
    size_t last = c->size % packet ? c->size % packet : packet;
    if (c->size <= FTDI_STATUS)
        return 0;
    if (usb_device_due(&d->faults.stall_after)) {
        d->halted = true;
        return -EPIPE;
    }
    if (usb_device_due(&d->faults.lose_after)) {
        c->size = 0;
        c->ready = false;
        return USB_DEVICE_WAIT;
    }
    if (usb_device_due(&d->faults.short_after))
        c->size -= (last - FTDI_STATUS + 1) / 2;
    return 0;
}

static int ftdi_in(struct usb_device *d, uint8_t endpoint, uint8_t *bytes, size_t size,
                   size_t *actual)
{
    struct usb_ftdi *u = usb_ftdi_of(d);
    struct ftdi_channel *c = channel_of(u, endpoint);
    size_t limit = size < u->packet ? u->packet : size;
    if (!c || !(endpoint & 0x80) || (d->halted && c == &u->channel[0]))
        return -EPIPE;
    build_transfer(u, c, limit < FTDI_TRANSFER_MAX ? limit : FTDI_TRANSFER_MAX);
    if (!c->ready)
        return USB_DEVICE_WAIT;
    int status = c == &u->channel[0] ? spoil(d, c) : 0;
    if (status)
        return status;
    /* Packets that an earlier, longer transfer was given and did not wait for: some are left. */
    size_t n = c->size <= size ? c->size : size - size % u->packet;
    if (n == 0)
        return -EOVERFLOW;
    memcpy(bytes, c->transfer, n);
    memmove(c->transfer, c->transfer + n, c->size - n);
    c->size -= n;
    c->ready = c->size > 0;
    *actual = n;
    return 0;
}

static int ftdi_out(struct usb_device *d, uint8_t endpoint, const uint8_t *bytes, size_t size,
                    size_t *taken)
{
    struct usb_ftdi *u = usb_ftdi_of(d);
    struct ftdi_channel *c = channel_of(u, endpoint);
    if (!c || endpoint & 0x80)
        return -EPIPE;
    while (*taken < size) {
        size_t before = *taken;
        while (*taken < size && ftdi_fifo_room(&c->out))
            ftdi_fifo_put(&c->out, bytes[(*taken)++]);
        run_channel(u, c);
        if (*taken == before)
            return USB_DEVICE_WAIT;
    }
    return 0;
}

/* Trace comes while nobody looks, too. */
static void ftdi_before(struct usb_device *d, uint8_t endpoint)
{
    struct usb_ftdi *u = usb_ftdi_of(d);
    struct ftdi_channel *c = channel_of(u, endpoint);
    if (c && (c->mode == FTDI_MODE_SYNC_FIFO || c == &u->channel[1]))
        run_channel(u, c);
}

static void ftdi_replug(struct usb_device *d)
{
    struct usb_ftdi *u = usb_ftdi_of(d);
    u->fifo = ftdi_eeprom_fifo(u->eeprom);
    for (unsigned i = 0; i < u->kind->channels; i++) {
        usb_ftdi_start_channel(&u->channel[i]);
        u->channel[i].sent = u->options.now(u->options.ctx);
    }
}

static void ftdi_report(const struct usb_device *d, FILE *out)
{
    const struct usb_ftdi *u = (const struct usb_ftdi *)d;
    const struct mpsse_counters *m = &u->channel[0].mpsse.counters;
    const struct ftdi_counters *f = &u->counters;
    const struct {
        const char *name;
        unsigned value;
    } lines[] = {
        {"mpsse-commands", m->commands},
        {"mpsse-bad-commands", m->bad_commands},
        {"mpsse-unlisted", m->unlisted},
        {"mpsse-wrong-edge", m->wrong_edge},
        {"mpsse-no-pins", m->no_pins},
        {"mpsse-long-tms", m->long_tms},
        {"mpsse-full", m->full},
        {"mpsse-rate", mpsse_rate(&u->channel[0].mpsse)},
        {"latency", u->channel[0].latency},
        {"uart-overruns", f->overruns},
        {"uart-wrong-baud", f->wrong_baud},
        {"dropped", f->dropped},
        {"purged", f->purged},
        {"idle-packets", f->idle},
        {"fifo-lost", (unsigned)f->fifo_lost},
        {"eeprom-writes", f->eeprom_writes},
        {"fights", u->board.fights},
        {"target-resets", u->board.target_resets},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        fprintf(out, "%s %u\n", lines[i].name, lines[i].value);
}

static void init_device(struct usb_ftdi *u, struct probe_board *board)
{
    static const struct usb_device_ops ops = {
        .control = usb_ftdi_control,
        .out = ftdi_out,
        .in = ftdi_in,
        .replug = ftdi_replug,
        .before = ftdi_before,
        .report = ftdi_report,
    };
    const struct ftdi_layout *l = u->options.layout;
    const uint8_t device[DEVICE_SIZE] = {
        DEVICE_SIZE,
        USB_DT_DEVICE,
        0x00,
        0x02,
        0,
        0,
        0,
        64,
        (uint8_t)l->vid,
        (uint8_t)(l->vid >> 8),
        (uint8_t)l->pid,
        (uint8_t)(l->pid >> 8),
        (uint8_t)u->kind->release,
        (uint8_t)(u->kind->release >> 8),
        1,
        2,
        3,
        1,
    };
    size_t size = u->kind->channels * INTERFACE_SIZE;
    uint8_t ends[sizeof interfaces];
    memcpy(ends, interfaces, sizeof ends);
    for (size_t at = 0; at < size; at += ends[at]) {
        if (ends[at + 1] == USB_DT_ENDPOINT) {
            ends[at + PACKET_LOW] = (uint8_t)u->packet;
            ends[at + PACKET_LOW + 1] = (uint8_t)(u->packet >> 8);
        }
    }
    usb_device_init(&u->device, &ops, board, device, ends, size, u->kind->channels);
    u->device.full_speed = u->options.full_speed;
    u->strings[1] = "btraced";
    u->strings[2] = l->product;
    u->strings[3] = "MODEL0002";
    u->device.strings = u->strings;
    u->device.string_count = sizeof u->strings / sizeof *u->strings;
    ftdi_eeprom_fill(u->eeprom, l->vid, l->pid, u->kind->release, u->strings + 1,
                     u->options.fifo != NULL);
}

int usb_ftdi_init(struct usb_ftdi *u, struct probe_board *board,
                  const struct usb_ftdi_options *options)
{
    const struct mpsse_pins nothing = {0};
    memset(u, 0, sizeof *u);
    u->options = *options;
    if (!u->options.layout)
        u->options.layout = ftdi_layout_find("minimodule");
    if (!u->options.now)
        u->options.now = monotonic;
    u->kind = u->options.layout->kind;
    u->packet = options->full_speed ? FTDI_PACKET_FULL : FTDI_PACKET;
    init_device(u, board);
    ftdi_board_init(&u->board, board, u->options.layout);
    struct mpsse_pins pins = ftdi_board_pins(&u->board);
    mpsse_init(&u->channel[0].mpsse, &pins);
    for (unsigned i = 1; i < FTDI_CHANNELS; i++)
        mpsse_init(&u->channel[i].mpsse, &nothing);
    for (unsigned i = 0; i < FTDI_CHANNELS; i++) {
        struct ftdi_channel *c = &u->channel[i];
        c->in.missing = c->out.missing = FTDI_FIFO_SIZE - u->kind->buffer;
        c->mpsse.no_high_byte = !u->kind->high_byte;
    }
    ftdi_replug(&u->device);
    return options->chain ? tap_chain_parse(&u->board.chain, options->chain) : 0;
}

void usb_ftdi_release(struct usb_ftdi *u)
{
    for (unsigned i = 0; i < FTDI_CHANNELS; i++)
        trace_bytes_release(&u->channel[i].late);
}
