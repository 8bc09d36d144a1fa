/* SPDX-License-Identifier: BSD-3-Clause */
/* The JTAG-DP in a chain as shifts. AN_108; IHI 0031F chapter B3. */
#include "ftdi_internal.h"

#include <string.h>

#define IR_DPACC    0x0au
#define IR_APACC    0x0bu
#define ACCESS_BITS 35u
#define ACK_OK      2u
#define ACK_WAIT    1u
#define ACK_NOTHING 7u /* TDO high */
#define SCAN_BYTES  8u
#define IR_BYTES    (FTDI_MAX_CHAIN * FTDI_MAX_IR / 8)

/* TMS, first bit lowest, from run-test/idle and back to it. */
#define TMS_TO_SHIFT_DR 0x01u /* 1 0 0 */
#define TMS_TO_SHIFT_IR 0x03u /* 1 1 0 0 */
#define TMS_TO_IDLE     0x01u /* from exit1: 1 0 */

static unsigned scan_bits(const struct ftdi *f)
{
    return ACCESS_BITS + f->chain_count - 1;
}

/* All others are in BYPASS: all ones. The device next to TDO gets the first bits. */
static void put_ir(struct ftdi *f, struct mpsse *m, uint8_t ir)
{
    uint8_t bits[IR_BYTES];
    unsigned total = 0;
    unsigned at = 0;
    for (unsigned k = 0; k < f->chain_count; k++) {
        if (k < f->chain_dap)
            at += f->ir_lengths[k];
        total += f->ir_lengths[k];
    }
    memset(bits, 0xff, sizeof bits);
    for (unsigned k = 0; k < 4; k++) {
        if ((ir >> k & 1) == 0)
            bits[(at + k) / 8] &= (uint8_t) ~(1u << (at + k) % 8);
    }
    mpsse_tms(m, 4, TMS_TO_SHIFT_IR, true, false);
    mpsse_shift(m, bits, total, false);
    mpsse_tms(m, 2, TMS_TO_IDLE, true, false);
    f->ir = ir;
}

static void put_idle(struct mpsse *m, unsigned clocks)
{
    while (clocks > 0) {
        unsigned now = clocks < MPSSE_MAX_TMS ? clocks : MPSSE_MAX_TMS;
        mpsse_tms(m, now, 0, true, false);
        clocks -= now;
    }
}

void ftdi_jtag_put(struct ftdi *f, struct mpsse *m, const struct ftdi_op *op)
{
    uint8_t ir = ftdi_is_ap(op->request) ? IR_APACC : IR_DPACC;
    uint64_t access = (ftdi_reads(op->request) ? 1u : 0u) |
                      (unsigned)(op->request & DEBUG_REG_MASK) >> 1 | (uint64_t)op->value << 3;
    uint8_t bits[SCAN_BYTES] = {0};
    if (f->ir != ir)
        put_ir(f, m, ir);
    for (unsigned k = 0; k < ACCESS_BITS; k++) {
        if ((access >> k & 1) != 0)
            bits[(f->chain_dap + k) / 8] |= (uint8_t)(1u << (f->chain_dap + k) % 8);
    }
    mpsse_tms(m, 3, TMS_TO_SHIFT_DR, true, false);
    mpsse_shift(m, bits, scan_bits(f), true);
    mpsse_tms(m, 2, TMS_TO_IDLE, true, false);
    put_idle(m, f->idle_clocks);
}

size_t ftdi_jtag_length(const struct ftdi *f)
{
    return mpsse_shift_length(scan_bits(f));
}

enum debug_ack ftdi_jtag_take(const struct ftdi *f, const uint8_t *answer, uint32_t *value)
{
    uint8_t bits[SCAN_BYTES] = {0};
    uint64_t scan = 0;
    mpsse_shift_answer(answer, scan_bits(f), bits);
    for (unsigned k = 0; k < SCAN_BYTES; k++)
        scan |= (uint64_t)bits[k] << (8 * k);
    scan >>= f->chain_dap;
    *value = (uint32_t)(scan >> 3);
    switch (scan & 7) {
    case ACK_OK:
        return DEBUG_ACK_OK;
    case ACK_WAIT:
        return DEBUG_ACK_WAIT;
    case 0:
    case ACK_NOTHING:
        return DEBUG_ACK_NONE;
    default:
        return DEBUG_ACK_PROTOCOL;
    }
}

void ftdi_jtag_put_sequence(struct mpsse *m, unsigned bits, const uint8_t *bytes)
{
    for (unsigned at = 0; at < bits;) {
        unsigned now = bits - at < MPSSE_MAX_TMS ? bits - at : MPSSE_MAX_TMS;
        unsigned value = 0;
        for (unsigned k = 0; k < now; k++)
            value |= (unsigned)(bytes[(at + k) / 8] >> (at + k) % 8 & 1) << k;
        mpsse_tms(m, now, (uint8_t)value, true, false);
        at += now;
    }
}

int ftdi_link_chain(void *self, const uint8_t *ir_lengths, unsigned count, unsigned dap)
{
    struct ftdi *f = self;
    if (count == 0 || count > FTDI_MAX_CHAIN || dap >= count || ir_lengths[dap] < 4)
        return BT_ERR_INVAL;
    for (unsigned k = 0; k < count; k++) {
        if (ir_lengths[k] < 2 || ir_lengths[k] > FTDI_MAX_IR)
            return BT_ERR_INVAL;
    }
    memcpy(f->ir_lengths, ir_lengths, count);
    f->chain_count = count;
    f->chain_dap = dap;
    f->ir = FTDI_IR_UNKNOWN;
    return 0;
}
