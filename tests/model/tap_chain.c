/* SPDX-License-Identifier: BSD-3-Clause */
#include "tap_chain.h"

#include <stdlib.h>
#include <string.h>

static int add_tap(struct tap_chain *c, const char *item, const char **end)
{
    struct tap_model *t = &c->taps[c->count];
    char *at;
    unsigned long bits = strtoul(item, &at, 0);
    if (c->count == TAP_CHAIN_MAX || bits < 2 || bits > TAP_IR_MAX || *at != ':')
        return -1;
    item = at + 1;
    t->ir_bits = (unsigned)bits;
    t->idcode = (uint32_t)strtoul(item, &at, 0);
    if (at == item)
        return -1;
    tap_reset(t);
    c->count++;
    *end = at;
    return 0;
}

int tap_chain_parse(struct tap_chain *c, const char *text)
{
    unsigned daps = 0;
    c->count = 0;
    for (;;) {
        if (strncmp(text, "dap", 3) == 0) {
            c->before_dap = c->count;
            daps++;
            text += 3;
        } else if (add_tap(c, text, &text) < 0) {
            return -1;
        }
        if (*text != ',')
            return *text || daps != 1 ? -1 : 0;
        text++;
    }
}

void tap_chain_reset(struct tap_chain *c, struct dap_model *dap)
{
    for (unsigned i = 0; i < c->count; i++)
        tap_reset(&c->taps[i]);
    dap_jtag_reset(dap);
}

unsigned tap_chain_clock(struct tap_chain *c, struct dap_model *dap, unsigned tms, unsigned tdi)
{
    unsigned bit = tdi;
    for (unsigned i = 0; i < c->count; i++) {
        if (i == c->before_dap)
            bit = dap_jtag_clock(dap, tms, bit);
        bit = tap_clock(&c->taps[i], tms, bit);
    }
    return c->before_dap == c->count ? dap_jtag_clock(dap, tms, bit) : bit;
}

unsigned tap_chain_tdo(const struct tap_chain *c, const struct dap_model *dap)
{
    return c->count > c->before_dap ? tap_tdo(&c->taps[c->count - 1]) : dap_jtag_tdo(dap);
}
