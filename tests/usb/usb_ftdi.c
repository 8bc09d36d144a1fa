/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/usb/usb_ftdi.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define PAYLOAD      (FTDI_PACKET - FTDI_STATUS)
#define DEVICE_SIZE  18
#define BAUD_PERCENT 3u

#define BULK(address) 7, USB_DT_ENDPOINT, (address), 2, 0x00, 0x02, 0

static const uint8_t interfaces[] = {
    9, USB_DT_INTERFACE, 0, 0, 2, 0xff, 0xff, 0xff, 2, BULK(FTDI_EP_A_IN), BULK(FTDI_EP_A_OUT),
    9, USB_DT_INTERFACE, 1, 0, 2, 0xff, 0xff, 0xff, 2, BULK(FTDI_EP_B_IN), BULK(FTDI_EP_B_OUT),
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
    switch (endpoint) {
    case FTDI_EP_A_IN:
    case FTDI_EP_A_OUT:
        return &u->channel[0];
    case FTDI_EP_B_IN:
    case FTDI_EP_B_OUT:
        return &u->channel[1];
    default:
        return NULL;
    }
}

/* ---- what a channel does with its buffers -------------------------------------------------------
 */

static void drop(struct usb_ftdi *u, struct ftdi_channel *c)
{
    u->counters.dropped += (unsigned)c->out.count;
    c->out.count = 0;
}

/* SWO arrives whether there is room or not, and as nonsense at another rate: that is dropped. */
static void receive_swo(struct usb_ftdi *u, struct ftdi_channel *c)
{
    struct probe_board *board = u->board.board;
    uint64_t rate = CS_TRACE_CLOCK / (board->system.tpiu.acpr + 1);
    uint64_t off = rate > c->baud ? rate - c->baud : c->baud - rate;
    bool fits = 100 * off <= BAUD_PERCENT * rate;
    uint8_t bytes[256];
    size_t n;
    while ((n = probe_board_swo(board, bytes, sizeof bytes)) > 0) {
        u->counters.wrong_baud += fits ? 0 : (unsigned)n;
        for (size_t i = 0; fits && i < n; i++) {
            if (ftdi_fifo_room(&c->in)) {
                ftdi_fifo_put(&c->in, bytes[i]);
            } else {
                c->overrun = true;
                u->counters.overruns++;
            }
        }
    }
}

static void fill_fifo(struct usb_ftdi *u, struct ftdi_channel *c)
{
    uint8_t bytes[FTDI_FIFO_SIZE];
    if (!u->options.fifo)
        return;
    size_t n = trace_feed_take(u->options.fifo, u->options.now(u->options.ctx), bytes,
                               ftdi_fifo_room(&c->in));
    for (size_t i = 0; i < n; i++)
        ftdi_fifo_put(&c->in, bytes[i]);
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

static void run_channel(struct usb_ftdi *u, struct ftdi_channel *c)
{
    switch (c->mode) {
    case FTDI_MODE_MPSSE:
        mpsse_run(&c->mpsse, &c->out, &c->in);
        break;
    case FTDI_MODE_BITBANG:
    case FTDI_MODE_SYNC_BITBANG:
        bang(c);
        break;
    case FTDI_MODE_RESET:
        drop(u, c);
        if (c == &u->channel[1])
            receive_swo(u, c);
        break;
    case FTDI_MODE_SYNC_FIFO:
        drop(u, c);
        if (c == &u->channel[0])
            fill_fifo(u, c);
        break;
    default:
        drop(u, c);
        break;
    }
}

/* ---- transfers ----------------------------------------------------------------------------------
 */

/* One packet at the end of the transfer, if it is time for one; its size, or 0. */
static size_t send_packet(struct usb_ftdi *u, struct ftdi_channel *c)
{
    uint64_t now = u->options.now(u->options.ctx);
    size_t n = c->in.count;
    if (c->mpsse.flush)
        n = c->mpsse.flush;
    else if (n < PAYLOAD && now - c->sent < 1000u * c->latency)
        return 0;
    if (n > PAYLOAD)
        n = PAYLOAD;
    uint8_t *packet = c->transfer + c->size;
    packet[0] = FTDI_MODEM_STATUS;
    packet[1] = FTDI_LINE_STATUS | (c->overrun ? FTDI_LINE_OVERRUN : 0);
    c->overrun = false;
    for (size_t i = 0; i < n; i++)
        packet[FTDI_STATUS + i] = ftdi_fifo_get(&c->in);
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
        c->ready = n < FTDI_PACKET || c->size + FTDI_PACKET > limit;
    }
}

/* What is wrong with the transfer that is ready: 0, or the status it has instead. */
static int spoil(struct usb_device *d, struct ftdi_channel *c)
{
    size_t last = c->size % FTDI_PACKET ? c->size % FTDI_PACKET : FTDI_PACKET;
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
    size_t limit = size < FTDI_PACKET ? FTDI_PACKET : size;
    if (!c || !(endpoint & 0x80) || (d->halted && c == &u->channel[0]))
        return -EPIPE;
    build_transfer(u, c, limit < FTDI_TRANSFER_MAX ? limit : FTDI_TRANSFER_MAX);
    if (!c->ready)
        return USB_DEVICE_WAIT;
    int status = c == &u->channel[0] ? spoil(d, c) : 0;
    if (status)
        return status;
    /* Packets that an earlier, longer transfer was given and did not wait for: some are left. */
    size_t n = c->size <= size ? c->size : size - size % FTDI_PACKET;
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

/* ---- the device ---------------------------------------------------------------------------------
 */

static void ftdi_replug(struct usb_device *d)
{
    struct usb_ftdi *u = usb_ftdi_of(d);
    for (unsigned i = 0; i < FTDI_CHANNELS; i++) {
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
        {"mpsse-long-tms", m->long_tms},
        {"mpsse-full", m->full},
        {"mpsse-rate", mpsse_rate(&u->channel[0].mpsse)},
        {"latency", u->channel[0].latency},
        {"uart-overruns", f->overruns},
        {"uart-wrong-baud", f->wrong_baud},
        {"dropped", f->dropped},
        {"purged", f->purged},
        {"idle-packets", f->idle},
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
        0x00,
        0x07,
        1,
        2,
        3,
        1,
    };
    usb_device_init(&u->device, &ops, board, device, interfaces, sizeof interfaces, FTDI_CHANNELS);
    u->strings[1] = "btraced";
    u->strings[2] = l->product;
    u->strings[3] = "MODEL0002";
    u->device.strings = u->strings;
    u->device.string_count = sizeof u->strings / sizeof *u->strings;
    ftdi_eeprom_fill(u->eeprom, l->vid, l->pid, u->strings + 1);
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
    init_device(u, board);
    ftdi_board_init(&u->board, board, u->options.layout);
    struct mpsse_pins pins = ftdi_board_pins(&u->board);
    mpsse_init(&u->channel[0].mpsse, &pins);
    mpsse_init(&u->channel[1].mpsse, &nothing);
    ftdi_replug(&u->device);
    return options->chain ? ftdi_board_chain(&u->board, options->chain) : 0;
}
