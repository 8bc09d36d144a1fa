/* SPDX-License-Identifier: BSD-3-Clause */
#include "tap_model.h"

#define IR_IDCODE  1u
#define IR_CAPTURE 1u /* the two low bits that every TAP captures */

static uint32_t bypass(const struct tap_model *t)
{
    return (1u << t->ir_bits) - 1;
}

static uint32_t first_instruction(const struct tap_model *t)
{
    return t->idcode ? IR_IDCODE : bypass(t);
}

void tap_reset(struct tap_model *t)
{
    t->state = TAP_RESET;
    t->ir = first_instruction(t);
}

unsigned tap_tdo(const struct tap_model *t)
{
    if (t->state == TAP_SHIFT_DR)
        return t->dr & 1;
    return t->state == TAP_SHIFT_IR ? t->ir_shift & 1 : 1;
}

static void shift(uint32_t *reg, unsigned bits, unsigned tdi)
{
    *reg = *reg >> 1 | (uint32_t)(tdi & 1) << (bits - 1);
}

unsigned tap_clock(struct tap_model *t, unsigned tms, unsigned tdi)
{
    unsigned tdo = tap_tdo(t);
    if (t->state == TAP_SHIFT_DR)
        shift(&t->dr, t->dr_bits, tdi);
    else if (t->state == TAP_SHIFT_IR)
        shift(&t->ir_shift, t->ir_bits, tdi);
    t->state = tap_next(t->state, tms);
    switch (t->state) {
    case TAP_RESET:
        t->ir = first_instruction(t);
        break;
    case TAP_CAPTURE_DR:
        t->dr_bits = t->ir == IR_IDCODE && t->idcode ? 32 : 1;
        t->dr = t->dr_bits == 1 ? 0 : t->idcode;
        break;
    case TAP_CAPTURE_IR:
        t->ir_shift = IR_CAPTURE;
        break;
    case TAP_UPDATE_IR:
        t->ir = t->ir_shift;
        break;
    default:
        break;
    }
    return tdo;
}
