/* SPDX-License-Identifier: BSD-3-Clause */
/* Switching sequences on TMS/SWDIO (IHI 0031F chapter B5). */
#include <string.h>

#include "dap_model.h"

#define SELECT_ONES     50
#define JTAG_TO_SWD     0xe79eu
#define SWD_TO_JTAG     0xe73cu
#define SWD_TO_DORMANT  0xe3bcu
#define JTAG_TO_DORMANT 0x33bbbbbau /* 31 bits, behind five or more 1 bits */
#define ACTIVATION_BITS 12          /* four 0 bits, then the code */
#define ACTIVATE_SWD    0x1au
#define ACTIVATE_JTAG   0x00u

/* The selection alert sequence, in the order of the wire, bit 0 first. */
#define ALERT_LOW  0x86852d956209f392ull
#define ALERT_HIGH 0x19bc0ea2e3ddafe9ull

/* `n` bits, the newest in bit n-1, that ended `skip` bits ago. */
static uint64_t past(const struct dap_switch *s, unsigned skip, unsigned n)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned age = skip + i;
        uint64_t bit = s->history[age / 64] >> (63 - age % 64) & 1;
        value |= bit << (n - 1 - i);
    }
    return value;
}

static void push(struct dap_switch *s, unsigned bit)
{
    s->history[2] = s->history[2] >> 1 | s->history[1] << 63;
    s->history[1] = s->history[1] >> 1 | s->history[0] << 63;
    s->history[0] = s->history[0] >> 1 | (uint64_t)bit << 63;
    s->ones = bit ? s->ones + 1 : 0;
}

static bool all_ones(const struct dap_switch *s, unsigned skip, unsigned n)
{
    return past(s, skip, n) == (1ull << n) - 1;
}

static void enter(struct dap_model *d, enum dap_wire wire)
{
    if (wire == DAP_WIRE_JTAG && d->options.swd_only)
        return;
    d->wire = wire;
    dap_swd_reset(d);
    dap_jtag_reset(d);
}

/* Out of dormant: the alert, four 0 bits, eight bits of activation code. */
static void dormant_bit(struct dap_model *d, unsigned bit)
{
    struct dap_switch *s = &d->sw;
    if (s->activation) {
        s->code |= bit << (s->activation - 1);
        if (s->activation++ < ACTIVATION_BITS)
            return;
        s->activation = 0;
        if (s->code == ACTIVATE_SWD << 4)
            enter(d, DAP_WIRE_SWD);
        else if (s->code == ACTIVATE_JTAG << 4)
            enter(d, DAP_WIRE_JTAG);
    } else if (past(s, 0, 64) == ALERT_HIGH && past(s, 64, 64) == ALERT_LOW) {
        s->activation = 1;
        s->code = 0;
    }
}

void dap_switch_bit(struct dap_model *d, unsigned bit)
{
    struct dap_switch *s = &d->sw;
    push(s, bit);
    if (d->wire == DAP_WIRE_DORMANT) {
        dormant_bit(d, bit);
        return;
    }
    /* Only the last bit of a sequence needs a look at the past: all but one end in 1. */
    uint64_t code = s->history[0] >> 48;
    if (d->wire == DAP_WIRE_JTAG && code == JTAG_TO_SWD && all_ones(s, 16, SELECT_ONES))
        enter(d, DAP_WIRE_SWD);
    else if (d->wire == DAP_WIRE_SWD && code == SWD_TO_JTAG && all_ones(s, 16, SELECT_ONES))
        enter(d, DAP_WIRE_JTAG);
    else if (d->wire == DAP_WIRE_SWD && code == SWD_TO_DORMANT && all_ones(s, 16, SELECT_ONES))
        enter(d, DAP_WIRE_DORMANT);
    else if (d->wire == DAP_WIRE_JTAG && s->history[0] >> 33 == JTAG_TO_DORMANT &&
             all_ones(s, 31, 5))
        enter(d, DAP_WIRE_DORMANT);
}
