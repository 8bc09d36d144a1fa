/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets, queues, and the commands that touch no wire. */
#include "cmsis_dap_model.h"

#include <string.h>
#include <time.h>

#define MICROFRAME_NS 125000u

#define STATUS_OK    0x00
#define STATUS_ERROR 0xff

#define ID_INFO               0x00
#define ID_HOST_STATUS        0x01
#define ID_CONNECT            0x02
#define ID_DISCONNECT         0x03
#define ID_TRANSFER_CONFIGURE 0x04
#define ID_TRANSFER           0x05
#define ID_TRANSFER_BLOCK     0x06
#define ID_WRITE_ABORT        0x08
#define ID_DELAY              0x09
#define ID_RESET_TARGET       0x0a
#define ID_SWJ_PINS           0x10
#define ID_SWJ_CLOCK          0x11
#define ID_SWJ_SEQUENCE       0x12
#define ID_SWD_CONFIGURE      0x13
#define ID_JTAG_SEQUENCE      0x14
#define ID_JTAG_CONFIGURE     0x15
#define ID_JTAG_IDCODE        0x16
#define ID_SWO_FIRST          0x17
#define ID_SWO_LAST           0x1c
#define ID_SWO_EXTENDED       0x1e

#define PIN_TCK    0x01
#define PIN_TMS    0x02
#define PIN_TDI    0x04
#define PIN_TDO    0x08
#define PIN_NRESET 0x80
#define PINS_SWD   (PIN_TCK | PIN_TMS | PIN_NRESET)
#define PINS_JTAG  (PINS_SWD | PIN_TDI)

uint8_t cmsis_dap_u8(struct cmsis_dap_reader *r)
{
    if (r->left == 0) {
        r->bad = true;
        return 0;
    }
    r->left--;
    return *r->at++;
}

uint16_t cmsis_dap_u16(struct cmsis_dap_reader *r)
{
    uint16_t low = cmsis_dap_u8(r);
    return (uint16_t)(low | cmsis_dap_u8(r) << 8);
}

uint32_t cmsis_dap_u32(struct cmsis_dap_reader *r)
{
    uint32_t low = cmsis_dap_u16(r);
    return low | (uint32_t)cmsis_dap_u16(r) << 16;
}

void cmsis_dap_put(struct cmsis_dap_writer *w, uint32_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        if (w->size == w->limit) {
            w->full = true;
            return;
        }
        w->bytes[w->size++] = (uint8_t)(value >> 8 * i);
    }
}

static uint64_t monotonic(void *ctx)
{
    struct timespec t;
    (void)ctx;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int cmsis_dap_init(struct cmsis_dap_model *c, const struct cmsis_dap_options *options,
                   struct dap_model *dap)
{
    if (options->packet_size < 8 || options->packet_size > CMSIS_DAP_PACKET_MAX ||
        options->packet_count < 1 || options->packet_count > CMSIS_DAP_QUEUE)
        return -1;
    memset(c, 0, sizeof *c);
    c->options = *options;
    if (!c->options.now)
        c->options.now = monotonic;
    c->dap = dap;
    c->wait_retries = 100;
    c->turnround = 1;
    c->clock = 1000000;
    c->pins = PIN_NRESET;
    return 0;
}

void cmsis_dap_replug(struct cmsis_dap_model *c)
{
    struct cmsis_dap_options options = c->options;
    struct cmsis_dap_counters counters = c->counters;
    struct tap_chain chain = c->chain;
    cmsis_dap_init(c, &options, c->dap);
    c->chain = chain;
    c->counters = counters;
}

/* The line that the probe pulls low, if it drives it at all. */
static void drive_nreset(struct cmsis_dap_model *c, enum cmsis_dap_port port, uint8_t pins)
{
    bool was = c->port != CMSIS_DAP_PORT_OFF && !(c->pins & PIN_NRESET);
    bool low = port != CMSIS_DAP_PORT_OFF && !(pins & PIN_NRESET);
    c->port = port;
    c->pins = pins;
    if (was != low && c->options.nreset)
        c->options.nreset(c->options.ctx, low);
}

static void put_text(struct cmsis_dap_writer *w, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    cmsis_dap_put(w, (uint32_t)size, 1);
    for (size_t i = 0; i < size; i++)
        cmsis_dap_put(w, (uint8_t)text[i], 1);
}

static void put_number(struct cmsis_dap_writer *w, uint32_t value, unsigned size)
{
    cmsis_dap_put(w, size, 1);
    cmsis_dap_put(w, value, size);
}

static void info(const struct cmsis_dap_model *c, uint8_t id, struct cmsis_dap_writer *w)
{
    const struct cmsis_dap_options *o = &c->options;
    switch (id) {
    case 0x01:
        put_text(w, o->vendor);
        break;
    case 0x02:
        put_text(w, o->product);
        break;
    case 0x03:
        put_text(w, o->serial);
        break;
    case 0x04:
        put_text(w, "2.1.0");
        break;
    case 0x09:
        put_text(w, o->version);
        break;
    case 0xf0:
        put_number(w, o->capabilities, 2); /* the second is about a COM port: there is none */
        break;
    case 0xf1:
        put_number(w, 1000000, o->capabilities & CMSIS_DAP_CAP_TIMER ? 4 : 0);
        break;
    case 0xfd:
        put_number(w, CMSIS_DAP_SWO_BUFFER, 4);
        break;
    case 0xfe:
        put_number(w, o->packet_count, 1);
        break;
    case 0xff:
        put_number(w, o->packet_size, 2);
        break;
    default:
        cmsis_dap_put(w, 0, 1);
        break;
    }
}

static uint8_t connect_port(struct cmsis_dap_model *c, uint8_t port)
{
    uint8_t caps = c->options.capabilities;
    if (port == 0)
        port = caps & CMSIS_DAP_CAP_SWD ? CMSIS_DAP_PORT_SWD : CMSIS_DAP_PORT_JTAG;
    if (port > CMSIS_DAP_PORT_JTAG || !(caps >> (port - 1) & 1))
        return 0;
    /* All pins are set up anew, and all that are outputs go high. */
    drive_nreset(c, port, port == CMSIS_DAP_PORT_SWD ? PINS_SWD : PINS_JTAG);
    c->deaf = false;
    return port;
}

/* The pins become inputs: what they were set to is gone with the next Connect. */
static uint8_t disconnect(struct cmsis_dap_model *c)
{
    drive_nreset(c, CMSIS_DAP_PORT_OFF, c->pins);
    return STATUS_OK;
}

static uint8_t pins(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    uint8_t output = cmsis_dap_u8(r);
    uint8_t select = cmsis_dap_u8(r);
    uint32_t wait = cmsis_dap_u32(r); /* to settle: they are at once */
    uint8_t exist = c->port == CMSIS_DAP_PORT_JTAG ? PINS_JTAG : PINS_SWD;
    c->counters.pin_waits += wait != 0;
    select &= exist;
    drive_nreset(c, c->port, (uint8_t)((c->pins & ~select) | (output & select)));
    if (c->port == CMSIS_DAP_PORT_OFF)
        return PIN_TMS | PIN_NRESET; /* pulled up */
    if (c->port == CMSIS_DAP_PORT_SWD)
        return c->pins & exist & (c->nreset_stuck ? ~PIN_NRESET : 0xff);
    return (uint8_t)((c->pins & exist) | (tap_chain_tdo(&c->chain, c->dap) ? PIN_TDO : 0));
}

static uint8_t host_status(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    uint8_t type = cmsis_dap_u8(r);
    bool on = cmsis_dap_u8(r) & 1;
    if (type == 0)
        c->connect_led = on;
    else if (type == 1)
        c->run_led = on;
    return type < 2 ? STATUS_OK : STATUS_ERROR;
}

static uint8_t transfer_configure(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    c->idle_cycles = cmsis_dap_u8(r);
    c->wait_retries = cmsis_dap_u16(r);
    c->match_retries = cmsis_dap_u16(r);
    return STATUS_OK;
}

static uint8_t write_abort(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    c->jtag_index = cmsis_dap_u8(r);
    uint32_t value = cmsis_dap_u32(r);
    if (c->port == CMSIS_DAP_PORT_JTAG && c->jtag_index >= c->jtag_devices)
        return STATUS_ERROR;
    if (c->port == CMSIS_DAP_PORT_OFF)
        return STATUS_ERROR;
    cmsis_dap_access(c, 0, &value); /* nobody looks what became of it */
    return STATUS_OK;
}

static uint8_t swj_clock(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    uint32_t hz = cmsis_dap_u32(r);
    if (hz == 0)
        return STATUS_ERROR;
    c->clock = hz;
    return STATUS_OK;
}

static uint8_t swd_configure(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    uint8_t value = cmsis_dap_u8(r);
    c->turnround = (value & 3u) + 1;
    c->data_phase = value >> 2 & 1;
    return STATUS_OK;
}

static uint8_t jtag_configure(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    unsigned count = cmsis_dap_u8(r);
    for (unsigned i = 0; i < count; i++) {
        uint8_t length = cmsis_dap_u8(r);
        if (i < sizeof c->jtag_ir)
            c->jtag_ir[i] = length;
    }
    if (count > sizeof c->jtag_ir)
        return STATUS_ERROR;
    c->jtag_devices = count;
    return STATUS_OK;
}

static void jtag_idcode(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                        struct cmsis_dap_writer *w)
{
    unsigned index = cmsis_dap_u8(r);
    if (c->port != CMSIS_DAP_PORT_JTAG || index >= c->jtag_devices) {
        cmsis_dap_put(w, STATUS_ERROR, 1);
        return;
    }
    c->jtag_index = index;
    cmsis_dap_put(w, STATUS_OK, 1);
    cmsis_dap_put(w, cmsis_dap_jtag_idcode(c), 4);
}

static void sequence(struct cmsis_dap_model *c, uint8_t id, struct cmsis_dap_reader *r,
                     struct cmsis_dap_writer *w)
{
    size_t status = w->size;
    cmsis_dap_put(w, STATUS_OK, 1);
    if (id == ID_SWJ_SEQUENCE)
        cmsis_dap_swj_sequence(c, r);
    else
        cmsis_dap_jtag_sequence(c, r, w);
    if (c->port == CMSIS_DAP_PORT_OFF && status < w->limit)
        w->bytes[status] = STATUS_ERROR;
}

/* Commands that answer with one byte. */
static uint8_t simple(struct cmsis_dap_model *c, uint8_t id, struct cmsis_dap_reader *r)
{
    switch (id) {
    case ID_HOST_STATUS:
        return host_status(c, r);
    case ID_CONNECT:
        return connect_port(c, cmsis_dap_u8(r));
    case ID_DISCONNECT:
        return disconnect(c);
    case ID_TRANSFER_CONFIGURE:
        return transfer_configure(c, r);
    case ID_WRITE_ABORT:
        return write_abort(c, r);
    case ID_DELAY:
        c->timer += cmsis_dap_u16(r);
        return STATUS_OK;
    case ID_SWJ_PINS:
        return pins(c, r);
    case ID_SWJ_CLOCK:
        return swj_clock(c, r);
    case ID_SWD_CONFIGURE:
        return swd_configure(c, r);
    default:
        return jtag_configure(c, r);
    }
}

/* One command; its response begins with its ID. */
static void execute(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                    struct cmsis_dap_writer *w)
{
    uint8_t id = cmsis_dap_u8(r);
    size_t start = w->size;
    cmsis_dap_put(w, id, 1);
    switch (id) {
    case ID_INFO:
        info(c, cmsis_dap_u8(r), w);
        break;
    case ID_TRANSFER:
        cmsis_dap_transfer(c, r, w);
        break;
    case ID_TRANSFER_BLOCK:
        cmsis_dap_transfer_block(c, r, w);
        break;
    case ID_RESET_TARGET:
        cmsis_dap_put(w, STATUS_OK, 2); /* no device specific sequence */
        break;
    case ID_SWJ_SEQUENCE:
    case ID_JTAG_SEQUENCE:
        sequence(c, id, r, w);
        break;
    case ID_JTAG_IDCODE:
        jtag_idcode(c, r, w);
        break;
    case ID_HOST_STATUS:
    case ID_CONNECT:
    case ID_DISCONNECT:
    case ID_TRANSFER_CONFIGURE:
    case ID_WRITE_ABORT:
    case ID_DELAY:
    case ID_SWJ_PINS:
    case ID_SWJ_CLOCK:
    case ID_SWD_CONFIGURE:
    case ID_JTAG_CONFIGURE:
        cmsis_dap_put(w, simple(c, id, r), 1);
        break;
    default:
        if ((id >= ID_SWO_FIRST && id <= ID_SWO_LAST) || id == ID_SWO_EXTENDED) {
            cmsis_dap_swo_command(c, id, r, w);
        } else {
            c->counters.unknown++;
            w->size = start;
            cmsis_dap_put(w, 0xff, 1);
        }
        break;
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A packet comes a microframe after it was sent, one is executed after the other, and the answer
 * comes a microframe after that. */
static uint64_t end_of_packet(struct cmsis_dap_model *c, uint64_t clocks)
{
    uint64_t begins = now_ns() + MICROFRAME_NS;
    begins = begins > c->busy_until ? begins : c->busy_until;
    c->busy_until = begins + clocks * 1000000000 / c->clock;
    return c->busy_until + MICROFRAME_NS;
}

static void run_packet(struct cmsis_dap_model *c, const uint8_t *packet, size_t size)
{
    unsigned slot = (c->response_first + c->response_count) % CMSIS_DAP_QUEUE;
    struct cmsis_dap_packet *out = &c->response[slot];
    struct cmsis_dap_reader r = {packet, size, false};
    struct cmsis_dap_writer w = {out->bytes, 0, c->options.packet_size, false};
    unsigned waits = c->counters.pin_waits;
    uint64_t clocks = c->clocks;
    execute(c, &r, &w);
    c->bus_ns += (c->clocks - clocks) * 1000000000 / c->clock;
    c->bus_ns += c->response_count ? 0 : 2 * MICROFRAME_NS;
    out->due = c->options.timed ? end_of_packet(c, c->clocks - clocks) : 0;
    if (c->options.quirks.pin_wait && c->counters.pin_waits != waits)
        w.size = 0;
    c->counters.malformed += r.bad;
    c->counters.overflowed += w.full;
    out->size = w.size;
    if (w.size)
        c->response_count++;
}

void cmsis_dap_submit(struct cmsis_dap_model *c, const uint8_t *packet, size_t size)
{
    c->counters.packets++;
    if (size == 0 || size > c->options.packet_size) {
        c->counters.oversized++;
        return;
    }
    if (c->response_count >= c->options.packet_count) {
        c->counters.overruns++;
        return;
    }
    run_packet(c, packet, size);
}

bool cmsis_dap_answers(const struct cmsis_dap_model *c)
{
    uint64_t due = c->response[c->response_first].due;
    return c->response_count && (!due || due <= now_ns());
}

size_t cmsis_dap_response(struct cmsis_dap_model *c, uint8_t *bytes)
{
    if (c->response_count == 0)
        return 0;
    const struct cmsis_dap_packet *p = &c->response[c->response_first];
    memcpy(bytes, p->bytes, p->size);
    c->response_first = (c->response_first + 1) % CMSIS_DAP_QUEUE;
    c->response_count--;
    return p->size;
}
