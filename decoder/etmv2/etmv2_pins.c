/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv2_pins.h"

#define TFO_BIAS 16 /* hypothesis H2, see etmv2_pins.h */

void etmv2_read_pins(const struct etmv2_config *config, const struct port_cycle *raw,
                     struct etmv2_cycle *c)
{
    unsigned bits = config->port.bits;
    uint32_t word = raw->status | (uint32_t)raw->pkt << 3 | (uint32_t)raw->high << (bits + 3);
    unsigned pins = (unsigned)raw->status | (unsigned)raw->high << 3;
    c->pkt = raw->pkt;
    if (config->status_together) {
        pins = word & 0xf;
        c->pkt = (uint16_t)(word >> 4);
    }
    c->status = config->status_codes >> 4 * pins & 0xf;
    c->trigger = c->status == ETMV2_TR;
    if (c->trigger)
        c->status = config->status_codes >> 4 * (c->pkt & 0xf) & 0xf;
}

bool etmv2_is_tfo(const struct etmv2_config *config, const struct etmv2_cycle *c)
{
    if (c->status != ETMV2_TD)
        return false;
    if (c->trigger)
        return true;
    /* Cycle-accurate: one code of TRACEPKT[3:1] is a plain wait (IHI 0014Q 6.5). */
    unsigned wait = config->wait_zeros ? 0 : 7;
    return (c->pkt & 1) && !(config->cycle_accurate && (c->pkt >> 1 & 7) == wait);
}

uint8_t etmv2_tfo_number(const struct etmv2_config *c, unsigned three, unsigned four)
{
    unsigned n = c->tfo_straight ? four << 3 | three : three << 4 | four;
    unsigned bias = c->cycle_accurate && c->wait_zeros ? TFO_BIAS : 0;
    return (uint8_t)(n >= bias ? n - bias : 0);
}
