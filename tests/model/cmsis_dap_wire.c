/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers and sequences, clock by clock (IHI 0031F chapters B3 and B4). */
#include "cmsis_dap_model.h"

#define REQUEST_AP   0x01u
#define REQUEST_READ 0x02u
#define DATA_BITS    33
#define IR_ABORT     0x8u
#define IR_DPACC     0xau
#define IR_APACC     0xbu
#define IR_IDCODE    0xeu
#define ACC_WAIT     1u
#define ACC_OK       2u

static void drive(struct cmsis_dap_model *c, uint64_t bits, unsigned count)
{
    c->clocks += count;
    for (unsigned i = 0; i < count; i++)
        dap_swd_clock(c->dap, !c->deaf, (unsigned)(bits >> i & 1));
}

static uint64_t sample(struct cmsis_dap_model *c, unsigned count)
{
    uint64_t bits = 0;
    c->clocks += count;
    for (unsigned i = 0; i < count; i++)
        bits |= (uint64_t)dap_swd_clock(c->dap, false, 0) << i;
    return bits;
}

static unsigned finish_read(struct cmsis_dap_model *c, uint32_t *data)
{
    uint64_t frame = sample(c, DATA_BITS);
    sample(c, c->turnround);
    *data = (uint32_t)frame;
    bool good = (unsigned)__builtin_parity(*data) == (unsigned)(frame >> 32);
    return good ? DAP_ACK_OK : CMSIS_DAP_ACK_ERROR;
}

static void finish_write(struct cmsis_dap_model *c, uint32_t data)
{
    sample(c, c->turnround);
    drive(c, data | (uint64_t)__builtin_parity(data) << 32, DATA_BITS);
}

static unsigned swd_once(struct cmsis_dap_model *c, unsigned request, uint32_t *data)
{
    bool read = request & REQUEST_READ;
    unsigned body = request & 0xf;
    unsigned parity = (unsigned)__builtin_parity(body);
    drive(c, 0x81u | body << 1 | parity << 5, 8);
    sample(c, c->turnround);
    unsigned ack = (unsigned)sample(c, 3);
    if (ack == DAP_ACK_OK) {
        if (read)
            ack = finish_read(c, data);
        else
            finish_write(c, *data);
        drive(c, 0, c->idle_cycles);
    } else if (ack == DAP_ACK_WAIT || ack == DAP_ACK_FAULT) {
        if (!c->data_phase) {
            sample(c, c->turnround);
        } else if (read) {
            sample(c, DATA_BITS + c->turnround);
        } else {
            sample(c, c->turnround);
            drive(c, 0, DATA_BITS);
        }
    } else {
        sample(c, c->turnround + DATA_BITS); /* in case somebody wants to drive data */
        c->deaf = c->options.quirks.deaf;
    }
    return ack;
}

static unsigned clock_jtag(struct cmsis_dap_model *c, unsigned tms, unsigned tdi)
{
    c->clocks++;
    return tap_chain_clock(&c->chain, c->dap, tms, tdi);
}

static unsigned tms(struct cmsis_dap_model *c, unsigned bits, unsigned count)
{
    unsigned tdo = 0;
    for (unsigned i = 0; i < count; i++)
        tdo = clock_jtag(c, bits >> i & 1, 1);
    return tdo;
}

/* Bits of the devices between `from` and `to` in a scan, device 0 next to TDO: one of each in its
 * BYPASS register. */
static unsigned bits_of(const struct cmsis_dap_model *c, bool ir, unsigned from, unsigned to)
{
    unsigned bits = ir ? 0 : to - from;
    for (unsigned i = from; ir && i < to; i++)
        bits += c->jtag_ir[i];
    return bits;
}

/* From run-test/idle and back; `count` bits of the device that is addressed, the others are in
 * BYPASS. The last bit of all is shifted on the way to the exit state. */
static uint64_t scan(struct cmsis_dap_model *c, bool ir, uint64_t value, unsigned count)
{
    uint64_t out = 0;
    unsigned before = bits_of(c, ir, 0, c->jtag_index);
    unsigned all = before + count + bits_of(c, ir, c->jtag_index + 1, c->jtag_devices);
    tms(c, ir ? 0x3 : 0x1, ir ? 4 : 3);
    for (unsigned i = 0; i < all; i++) {
        bool own = i >= before && i < before + count;
        unsigned tdi = own ? (unsigned)(value >> (i - before) & 1) : 1;
        unsigned tdo = clock_jtag(c, i + 1 == all, tdi);
        out |= own ? (uint64_t)tdo << (i - before) : 0;
    }
    tms(c, 0x1, 2);
    return out;
}

static unsigned jtag_scan(struct cmsis_dap_model *c, unsigned request, uint32_t *data)
{
    uint64_t acc = (request & REQUEST_READ ? 1u : 0u) | (request >> 2 & 3) << 1;
    acc |= (uint64_t)*data << 3;
    scan(c, true, request & REQUEST_AP ? IR_APACC : IR_DPACC, 4);
    uint64_t got = scan(c, false, acc, 35);
    tms(c, 0, c->idle_cycles);
    *data = (uint32_t)(got >> 3);
    switch (got & 7) {
    case ACC_OK:
        return DAP_ACK_OK;
    case ACC_WAIT:
        return DAP_ACK_WAIT;
    default:
        return CMSIS_DAP_ACK_ERROR;
    }
}

/* JTAG has no ABORT register behind DPACC: it is an instruction of its own. */
static unsigned jtag_once(struct cmsis_dap_model *c, unsigned request, uint32_t *data)
{
    if ((request & 0xf) == 0) {
        scan(c, true, IR_ABORT, 4);
        scan(c, false, (uint64_t)*data << 3, 35);
        return DAP_ACK_OK;
    }
    return jtag_scan(c, request, data);
}

unsigned cmsis_dap_access(struct cmsis_dap_model *c, unsigned request, uint32_t *data)
{
    unsigned retries = c->wait_retries;
    uint32_t value;
    unsigned ack;
    do {
        value = *data;
        ack = c->port == CMSIS_DAP_PORT_JTAG ? jtag_once(c, request, &value)
                                             : swd_once(c, request, &value);
    } while (ack == DAP_ACK_WAIT && retries--);
    if (request & REQUEST_READ || c->port == CMSIS_DAP_PORT_JTAG)
        *data = value;
    return ack;
}

uint32_t cmsis_dap_jtag_idcode(struct cmsis_dap_model *c)
{
    scan(c, true, IR_IDCODE, 4);
    return (uint32_t)scan(c, false, 0, 32);
}

void cmsis_dap_swj_sequence(struct cmsis_dap_model *c, struct cmsis_dap_reader *r)
{
    unsigned count = cmsis_dap_u8(r);
    uint8_t byte = 0;
    count = count ? count : 256;
    for (unsigned i = 0; i < count && !r->bad; i++) {
        if (i % 8 == 0)
            byte = cmsis_dap_u8(r);
        if (c->port == CMSIS_DAP_PORT_OFF)
            continue;
        if (c->port == CMSIS_DAP_PORT_JTAG)
            clock_jtag(c, byte >> i % 8 & 1, 1);
        else
            drive(c, byte >> i % 8 & 1, 1);
    }
}

void cmsis_dap_jtag_sequence(struct cmsis_dap_model *c, struct cmsis_dap_reader *r,
                             struct cmsis_dap_writer *w)
{
    unsigned count = cmsis_dap_u8(r);
    for (unsigned n = 0; n < count && !r->bad; n++) {
        unsigned head = cmsis_dap_u8(r);
        unsigned clocks = head & 0x3f ? head & 0x3f : 64;
        unsigned tms_level = head >> 6 & 1;
        for (unsigned done = 0; done < clocks && !r->bad; done += 8) {
            unsigned part = clocks - done < 8 ? clocks - done : 8;
            unsigned tdi = cmsis_dap_u8(r);
            unsigned tdo = 0;
            for (unsigned i = 0; i < part && c->port == CMSIS_DAP_PORT_JTAG; i++)
                tdo |= clock_jtag(c, tms_level, tdi >> i & 1) << i;
            if (head & 0x80)
                cmsis_dap_put(w, tdo, 1);
        }
    }
}
