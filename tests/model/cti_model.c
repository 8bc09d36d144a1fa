/* SPDX-License-Identifier: BSD-3-Clause */
#include "cti_model.h"

#include <string.h>

#define LAR      0xfb0
#define KEY      0xc5acce55u
#define CHANNELS ((1u << CTI_CHANNELS) - 1)

void cti_init(struct cti_model *c)
{
    memset(c, 0, sizeof *c);
    c->locked = true;
    c->gate = CHANNELS;
}

static bool on(const struct cti_model *c)
{
    return c->ctrl & 1;
}

/* Trigger inputs that are active, as channels. */
static uint32_t driven(const struct cti_model *c)
{
    uint32_t channels = c->appset;
    for (unsigned i = 0; on(c) && i < CTI_TRIGGERS; i++)
        if (c->inputs >> i & 1)
            channels |= c->inen[i];
    return channels & CHANNELS;
}

uint32_t cti_read(struct cti_model *c, unsigned offset, bool external)
{
    unsigned n = offset / 4 & 7;
    if (offset >= 0x020 && offset < 0x040)
        return c->inen[n];
    if (offset >= 0x0a0 && offset < 0x0c0)
        return c->outen[n];
    switch (offset) {
    case 0x000:
        return c->ctrl;
    case 0x014:
        return c->appset;
    case 0x130:
        return c->inputs;
    case 0x134:
        return c->latched;
    case 0x138:
    case 0x13c:
        return driven(c);
    case 0x140:
        return c->gate;
    case 0xfb4:
        return external ? 0 : 1u | (c->locked ? 2u : 0);
    case 0xfb8:
        return 0xf;
    case 0xfc8: /* 8 triggers, 4 channels */
        return CTI_CHANNELS << 16 | CTI_TRIGGERS << 8;
    case 0xfcc:
        return 0x14;
    default:
        return 0;
    }
}

static uint32_t write_register(struct cti_model *c, unsigned offset, uint32_t value)
{
    unsigned n = offset / 4 & 7;
    uint32_t before = c->appset;
    if (offset >= 0x020 && offset < 0x040)
        c->inen[n] = value & CHANNELS;
    if (offset >= 0x0a0 && offset < 0x0c0)
        c->outen[n] = value & CHANNELS;
    switch (offset) {
    case 0x000:
        c->ctrl = value & 1;
        return 0;
    case 0x010:
        c->latched &= ~value;
        return 0;
    case 0x014:
        c->appset |= value & CHANNELS;
        return c->appset & ~before;
    case 0x018:
        c->appset &= ~value;
        return 0;
    case 0x01c:
        return value & CHANNELS;
    case 0x140:
        c->gate = value & CHANNELS;
        return 0;
    default:
        return 0;
    }
}

uint32_t cti_write(struct cti_model *c, unsigned offset, bool external, uint32_t value)
{
    uint32_t channels = 0;
    if (offset == LAR)
        c->locked = external ? c->locked : value != KEY;
    else if (c->locked && !external)
        c->locked_writes++;
    else
        channels = write_register(c, offset, value);
    if (!on(c))
        return 0;
    cti_event(c, channels, true);
    return channels & c->gate;
}

uint32_t cti_input(struct cti_model *c, unsigned input, bool level)
{
    uint32_t before = driven(c);
    c->inputs = (c->inputs & ~(1u << input)) | (uint32_t)level << input;
    uint32_t begins = driven(c) & ~before;
    if (!on(c))
        return 0;
    cti_event(c, begins, true);
    return begins & c->gate;
}

void cti_event(struct cti_model *c, uint32_t channels, bool own)
{
    if (!own)
        channels &= c->gate;
    for (unsigned i = 0; on(c) && i < CTI_TRIGGERS; i++) {
        if (!(c->outen[i] & channels))
            continue;
        c->pulses |= 1u << i;
        if (i == CTI_OUT_REQUEST)
            c->latched |= 1u << i;
    }
}

bool cti_level(const struct cti_model *c, unsigned output)
{
    return c->latched >> output & 1;
}

bool cti_pulse(struct cti_model *c, unsigned output)
{
    bool reached = c->pulses >> output & 1;
    c->pulses &= ~(1u << output);
    return reached;
}
