/* SPDX-License-Identifier: BSD-3-Clause */
/* SWD as shifts. AN_108; IHI 0031F chapter B4. */
#include "ftdi_internal.h"

#define START_PARK     0x81u
#define ACK_BITS       4u /* turnaround, acknowledge */
#define WRITE_ACK_BITS 5u /* ... and turnaround */
#define READ_TAIL_BITS 6u /* of 38: turnaround, acknowledge, data, parity, turnaround */
#define DATA_TAIL_BITS 2u /* of 34: data, parity, turnaround */
#define END_CLOCKS     8u /* for the access to get through inside the port */

static unsigned ftdi_parity(uint32_t value)
{
    value ^= value >> 16;
    value ^= value >> 8;
    value ^= value >> 4;
    return 0x6996u >> (value & 0xf) & 1;
}

static void put_request(struct ftdi *f, struct mpsse *m, uint8_t request)
{
    unsigned bits = request & FTDI_REQUEST_MASK;
    uint8_t byte = (uint8_t)(START_PARK | bits << 1 | ftdi_parity(bits) << 5);
    mpsse_bytes_out(m, &byte, 1);
    ftdi_put_swdio(f, m, false);
}

static void put_zeros(struct mpsse *m, unsigned bits)
{
    static const uint8_t ZEROS[32];
    while (bits >= 8) {
        unsigned bytes = bits / 8 < sizeof ZEROS ? bits / 8 : (unsigned)sizeof ZEROS;
        mpsse_bytes_out(m, ZEROS, bytes);
        bits -= 8 * bytes;
    }
    if (bits > 0)
        mpsse_bits_out(m, bits, 0);
}

static void put_data(struct mpsse *m, uint32_t value)
{
    const uint8_t bytes[] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                             (uint8_t)(value >> 24)};
    mpsse_bytes_out(m, bytes, sizeof bytes);
    mpsse_bits_out(m, 1, (uint8_t)ftdi_parity(value));
}

void ftdi_swd_put(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op)
{
    put_request(f, m, op->request);
    if (ftdi_reads(op->request)) {
        mpsse_bytes_in(m, 4);
        mpsse_bits_in(m, READ_TAIL_BITS);
        ftdi_put_swdio(f, m, true);
    } else {
        mpsse_bits_in(m, WRITE_ACK_BITS);
        ftdi_put_swdio(f, m, true);
        put_data(m, op->value);
    }
    put_zeros(m, f->idle_clocks);
}

void ftdi_swd_put_end(struct ftdi *f, struct mpsse *m)
{
    if (f->idle_clocks < END_CLOCKS)
        put_zeros(m, END_CLOCKS - f->idle_clocks);
}

size_t ftdi_swd_length(const struct ftdi_op *op)
{
    return ftdi_reads(op->request) ? 5 : 1;
}

static enum debug_ack ack_of(unsigned bits)
{
    switch (bits & 7) {
    case 1:
        return DEBUG_ACK_OK;
    case 2:
        return DEBUG_ACK_WAIT;
    case 4:
        return DEBUG_ACK_FAULT;
    case 0: /* our own level, or a line that something holds */
    case 7:
        return DEBUG_ACK_NONE;
    default:
        return DEBUG_ACK_PROTOCOL;
    }
}

static uint64_t little_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned k = 0; k < 4; k++)
        value |= (uint64_t)bytes[k] << (8 * k);
    return value;
}

enum debug_ack ftdi_swd_take(const struct ftdi_op *op, const uint8_t *answer, uint32_t *value)
{
    *value = 0;
    if (!ftdi_reads(op->request))
        return ack_of((unsigned)mpsse_bits(answer[0], WRITE_ACK_BITS) >> 1);
    uint64_t bits = little_endian(answer) | (uint64_t)mpsse_bits(answer[4], READ_TAIL_BITS) << 32;
    enum debug_ack ack = ack_of((unsigned)(bits >> 1));
    *value = (uint32_t)(bits >> 4);
    if (ack == DEBUG_ACK_OK && (bits >> 36 & 1) != ftdi_parity(*value))
        return DEBUG_ACK_PROTOCOL;
    return ack;
}

/* What follows the acknowledge. */
static void put_rest(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op, enum debug_ack ack)
{
    bool refused = ack == DEBUG_ACK_WAIT || ack == DEBUG_ACK_FAULT;
    bool data = ack == DEBUG_ACK_OK || (refused && f->overrun);
    if (data && ftdi_reads(op->request)) {
        mpsse_bytes_in(m, 4);
        mpsse_bits_in(m, DATA_TAIL_BITS);
    } else {
        mpsse_bits_in(m, 1);
    }
    ftdi_put_swdio(f, m, true);
    if (data && !ftdi_reads(op->request))
        put_data(m, ack == DEBUG_ACK_OK ? op->value : 0);
    put_zeros(m, f->idle_clocks);
    ftdi_swd_put_end(f, m);
}

int ftdi_swd_step(struct ftdi *f, const struct ftdi_op *op, enum debug_ack *ack, uint32_t *value)
{
    struct mpsse m;
    ftdi_start(f, &m);
    put_request(f, &m, op->request);
    mpsse_bits_in(&m, ACK_BITS);
    int rc = ftdi_run(f, &m);
    if (rc != 0)
        return rc;
    *ack = ack_of((unsigned)mpsse_bits(f->answer[0], ACK_BITS) >> 1);
    ftdi_start(f, &m);
    put_rest(f, &m, op, *ack);
    rc = ftdi_run(f, &m);
    if (rc != 0 || *ack != DEBUG_ACK_OK || !ftdi_reads(op->request))
        return rc;
    *value = (uint32_t)little_endian(f->answer);
    if ((mpsse_bits(f->answer[4], DATA_TAIL_BITS) & 1) != ftdi_parity(*value))
        *ack = DEBUG_ACK_PROTOCOL;
    return 0;
}

void ftdi_swd_put_sequence(struct ftdi *f, struct mpsse *m, unsigned bits, const uint8_t *bytes)
{
    ftdi_put_swdio(f, m, true);
    if (bits >= 8)
        mpsse_bytes_out(m, bytes, bits / 8);
    if (bits % 8 != 0)
        mpsse_bits_out(m, bits % 8, bytes[bits / 8]);
}
