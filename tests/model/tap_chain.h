/* SPDX-License-Identifier: BSD-3-Clause */
/* A JTAG chain: a DAP, and other TAPs before and behind it. */
#ifndef TESTS_USB_TAP_CHAIN_H
#define TESTS_USB_TAP_CHAIN_H

#include "dap_model.h"
#include "tap_model.h"

#define TAP_CHAIN_MAX 8

/* All zero: the DAP alone. */
struct tap_chain {
    struct tap_model taps[TAP_CHAIN_MAX]; /* from TDI to TDO, the DAP among them */
    unsigned count, before_dap;
};

/*
 * The chain from text: items from TDI to TDO, comma separated: `dap`, or IRBITS:IDCODE. `dap` must
 * be there once. 0, or -1.
 */
int tap_chain_parse(struct tap_chain *c, const char *text);

/* As TRST leaves all of them. */
void tap_chain_reset(struct tap_chain *c, struct dap_model *dap);

/* One clock. Returns TDO as it was before it; 1 when not driven. */
unsigned tap_chain_clock(struct tap_chain *c, struct dap_model *dap, unsigned tms, unsigned tdi);

/* TDO behind a falling edge. */
unsigned tap_chain_tdo(const struct tap_chain *c, const struct dap_model *dap);

#endif
