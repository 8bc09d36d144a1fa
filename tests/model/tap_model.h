/* SPDX-License-Identifier: BSD-3-Clause */
/* Another device in a JTAG chain: a TAP that has an IDCODE or not, and bypass. */
#ifndef TESTS_USB_TAP_MODEL_H
#define TESTS_USB_TAP_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "tap_state.h"

#define TAP_IR_MAX 31

/* Set `ir_bits` (2 to TAP_IR_MAX) and `idcode` (0: it has none); the rest is private. */
struct tap_model {
    unsigned ir_bits;
    uint32_t idcode;
    enum tap_state state;
    uint32_t ir, ir_shift;
    uint32_t dr;
    unsigned dr_bits;
};

/* As TRST leaves it. Instruction 1 is IDCODE, all others are BYPASS. */
void tap_reset(struct tap_model *t);

/* One clock. Returns TDO as it was before it; 1 when not driven. */
unsigned tap_clock(struct tap_model *t, unsigned tms, unsigned tdi);

/* TDO behind a falling edge. */
unsigned tap_tdo(const struct tap_model *t);

#endif
