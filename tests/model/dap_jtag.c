/* SPDX-License-Identifier: BSD-3-Clause */
/* The TAP of JTAG-DP: one clock a call (IHI 0031F chapter B3). */
#include <string.h>

#include "dap_model.h"
#include "tap_state.h"

#define IR_BITS    4
#define IR_CAPTURE 0x1
#define IR_ABORT   0x8
#define IR_DPACC   0xa
#define IR_APACC   0xb
#define IR_IDCODE  0xe
#define ACC_BITS   35
#define ACC_OK     2u
#define ACC_WAIT   1u

void dap_jtag_reset(struct dap_model *d)
{
    memset(&d->jtag, 0, sizeof d->jtag);
    d->jtag.ir = IR_IDCODE;
}

static bool is_acc(unsigned ir)
{
    return ir == IR_DPACC || ir == IR_APACC;
}

static void capture_dr(struct dap_model *d)
{
    struct dap_jtag *j = &d->jtag;
    j->wait = false;
    if (j->ir == IR_IDCODE) {
        j->dr_length = 32;
        j->dr = d->options.idcode;
    } else if (is_acc(j->ir)) {
        /* The state of the AP decides, whichever register this scan wants. */
        j->wait = dap_dp_check(d, true, true, 0, true) == DAP_ACK_WAIT;
        j->dr_length = ACC_BITS;
        j->dr = j->wait ? ACC_WAIT : (uint64_t)j->result << 3 | ACC_OK;
        d->counters.jtag_waits += j->wait;
        if (j->wait && d->ctrl_stat & DP_CS_ORUNDETECT)
            d->ctrl_stat |= DP_CS_STICKYORUN;
    } else if (j->ir == IR_ABORT) {
        j->dr_length = ACC_BITS;
        j->dr = 0;
    } else {
        j->dr_length = 1;
        j->dr = 0;
    }
}

/* The transfer of the scan that ends; its result is for the next one. */
static void update_dr(struct dap_model *d)
{
    struct dap_jtag *j = &d->jtag;
    bool read = j->dr & 1;
    bool ap = j->ir == IR_APACC;
    unsigned reg = (unsigned)(j->dr >> 1 & 3) << 2;
    uint32_t value = (uint32_t)(j->dr >> 3);
    if (j->ir == IR_ABORT) {
        if (value & 1)
            d->faults.wait = 0;
        return;
    }
    if (!is_acc(j->ir) || j->wait)
        return;
    if (!read) {
        dap_dp_write(d, ap, reg, value, true);
    } else if (ap) {
        dap_dp_read(d, true, reg, true);
        j->result = d->ap_result;
    } else {
        j->result = dap_dp_read(d, false, reg, true);
    }
}

static unsigned shift(uint64_t *reg, unsigned length, unsigned tdi)
{
    unsigned out = (unsigned)(*reg & 1);
    *reg = *reg >> 1 | (uint64_t)(tdi & 1) << (length - 1);
    return out;
}

static void tap_enter(struct dap_model *d, unsigned state)
{
    struct dap_jtag *j = &d->jtag;
    switch (state) {
    case TAP_RESET:
        j->ir = IR_IDCODE;
        break;
    case TAP_CAPTURE_DR:
        capture_dr(d);
        break;
    case TAP_UPDATE_DR:
        update_dr(d);
        break;
    case TAP_CAPTURE_IR:
        j->ir_shift = IR_CAPTURE;
        break;
    case TAP_UPDATE_IR:
        j->ir = j->ir_shift;
        break;
    default:
        break;
    }
}

unsigned dap_jtag_clock(struct dap_model *d, unsigned tms, unsigned tdi)
{
    struct dap_jtag *j = &d->jtag;
    unsigned tdo = 1;
    tms &= 1;
    if (d->dark)
        return tdo;
    if (d->wire == DAP_WIRE_SWD) {
        dap_swd_clock(d, true, tms);
        return tdo;
    }
    dap_switch_bit(d, tms);
    if (d->wire != DAP_WIRE_JTAG)
        return tdo;
    if (j->state == TAP_SHIFT_DR) {
        tdo = shift(&j->dr, j->dr_length, tdi);
    } else if (j->state == TAP_SHIFT_IR) {
        uint64_t ir = j->ir_shift;
        tdo = shift(&ir, IR_BITS, tdi);
        j->ir_shift = (unsigned)ir;
    }
    unsigned state = tap_next(j->state, tms);
    /* Only an arrival acts, but in reset every clock does: harmless. */
    j->state = state;
    if (state != TAP_SHIFT_DR && state != TAP_SHIFT_IR)
        tap_enter(d, state);
    return tdo;
}

unsigned dap_jtag_tdo(const struct dap_model *d)
{
    if (d->wire != DAP_WIRE_JTAG)
        return 1;
    switch (d->jtag.state) {
    case TAP_SHIFT_DR:
        return (unsigned)(d->jtag.dr & 1);
    case TAP_SHIFT_IR:
        return d->jtag.ir_shift & 1;
    default:
        return 1;
    }
}
