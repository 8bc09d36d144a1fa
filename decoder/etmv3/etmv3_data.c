/* SPDX-License-Identifier: BSD-3-Clause */
/* Data trace packets: IHI 0014Q 7.4. */
#include "etmv3_parse.h"

static const uint8_t value_bytes[4] = {0, 1, 2, 4};

/* IHI 0014Q 7.4.2: groups of seven bits; the fifth byte has four, and the BE bit. */
static bool data_address(const struct etmv3 *p, struct cursor *c, struct etmv3_packet *k,
                         uint8_t *bits)
{
    uint8_t byte = 0x80;
    uint32_t value = 0;
    unsigned n = 0;
    while ((byte & 0x80) && n < 4) {
        if (!next_byte(c, &byte))
            return false;
        value |= (uint32_t)(byte & 0x7f) << 7 * n++;
    }
    *bits = (uint8_t)(7 * n);
    if (byte & 0x80) {
        if (!next_byte(c, &byte))
            return false;
        value |= (uint32_t)(byte & 0xf) << 28;
        k->flags |= byte & 0x10 ? ETMV3_BIG_ENDIAN : 0;
        *bits = 32;
    }
    uint32_t mask = *bits == 32 ? ~0u : (1u << *bits) - 1;
    k->address = (p->data_base & ~mask) | value;
    k->flags |= ETMV3_HAS_ADDRESS;
    return true;
}

static bool data_value(const struct etmv3 *p, struct cursor *c, struct etmv3_packet *k,
                       unsigned code)
{
    uint32_t value = 0;
    if (!p->config.data_value)
        return true;
    if (!little_endian(c, value_bytes[code], &value))
        return false;
    k->flags |= ETMV3_HAS_VALUE;
    k->value = value;
    k->n = value_bytes[code];
    return true;
}

/* Kind, whether an address may follow, and the value's size code (4: no value). */
static bool classify(uint8_t h, struct etmv3_packet *k, bool *address, unsigned *value)
{
    *value = 4;
    *address = false;
    if ((h & 0xd3) == 0x02) { /* b00A0SS10 */
        k->kind = ETMV3_DATA;
        *address = h & 0x20;
        *value = h >> 2 & 3;
    } else if ((h & 0xef) == 0x6a) { /* b011A1010: bit 4 */
        k->kind = ETMV3_NOT_TRACED;
        *address = h & 0x10;
    } else if ((h & 0xd3) == 0x50 && (h & 0x0c)) { /* b01A1TT00 */
        k->kind = ETMV3_PLACEHOLDER;
        k->number = h >> 2 & 3;
        *address = h & 0x20;
    } else if ((h & 0x93) == 0 && (h & 0x60)) { /* b0TT0SS00 */
        k->kind = ETMV3_OOO_DATA;
        k->number = h >> 5 & 3;
        *value = h >> 2 & 3;
    } else if (h == 0x50) {
        k->kind = ETMV3_STORE_FAILED;
    } else if (h == 0x62) {
        k->kind = ETMV3_SUPPRESSED;
    } else {
        return false;
    }
    return true;
}

int etmv3_parse_data(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k, uint8_t header)
{
    bool has_address;
    unsigned value;
    uint8_t bits = 0;
    if (!p->config.data_value && !p->config.data_address)
        return BAD;
    if (!classify(header, k, &has_address, &value))
        return BAD;
    if (has_address && p->config.data_address && !data_address(p, c, k, &bits))
        return NEED_MORE;
    if (value < 4 && !data_value(p, c, k, value))
        return NEED_MORE;
    if (bits) {
        p->data_base = k->address;
        if (bits > p->data_bits)
            p->data_bits = bits;
        k->extra = p->data_bits;
    }
    /* Up to v3.2 the next address is a full one; later ones keep the base (IHI 0014Q 7.4). */
    if (k->kind == ETMV3_SUPPRESSED && p->config.version_minor < 3)
        p->data_bits = 0;
    return PARSED;
}
