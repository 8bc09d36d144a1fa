/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/port/port_cycle.h"

#include <string.h>

int port_reader_init(struct port_reader *r, const struct port_format *format)
{
    if ((format->bits != 4 && format->bits != 8 && format->bits != 16) ||
        format->layout >= PORT_LAYOUTS)
        return BT_ERR_INVAL;
    memset(r, 0, sizeof *r);
    r->format = *format;
    return BT_OK;
}

void port_reader_restart(struct port_reader *r)
{
    r->base = r->offset;
    r->cycles = 0;
    r->word = 0;
    r->at = 0;
}

/* Bytes after which the word or record begins anew. */
static unsigned record_size(const struct port_format *f)
{
    if (f->layout == PORT_ETB || f->bits == 16)
        return 4;
    return f->bits == 4 ? 1 : 2;
}

/* Bit where the cycle begins that ends with byte `at` of a record; -1: none ends there. */
static int first_bit(const struct port_format *f, unsigned at)
{
    static const int8_t ends[3][4] = {
        {0, 8, 16, -1},  /* 4-bit port */
        {-1, 0, 12, -1}, /* 8-bit port */
        {-1, -1, 0, -1}, /* 16-bit port */
    };
    return ends[f->bits / 8][at];
}

bool port_peek(const struct port_reader *r, uint8_t byte, struct port_cycle *cycle)
{
    int first = first_bit(&r->format, r->at);
    if (first < 0)
        return false;
    uint32_t word = (r->word | (uint32_t)byte << 8 * r->at) >> first;
    unsigned bits = r->format.bits;
    cycle->status = word & 7;
    cycle->pkt = (uint16_t)(word >> 3 & ((1u << bits) - 1));
    cycle->high = word >> (3 + bits) & 1;
    return true;
}

void port_take(struct port_reader *r, uint8_t byte)
{
    if (first_bit(&r->format, r->at) >= 0)
        r->cycles++;
    r->word |= (uint32_t)byte << 8 * r->at;
    r->at++;
    r->offset++;
    if (r->at == record_size(&r->format)) {
        r->at = 0;
        r->word = 0;
    }
}

uint64_t port_cycle_offset(const struct port_format *f, uint64_t index)
{
    if (f->layout == PORT_CYCLES || f->bits == 16)
        return index * record_size(f);
    return f->bits == 4 ? index / 3 * 4 + index % 3 : index / 2 * 4 + index % 2;
}

unsigned port_cycle_size(const struct port_format *f)
{
    return f->bits == 4 ? 1 : f->bits == 8 ? 2 : 3;
}
