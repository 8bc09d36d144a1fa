/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv2 packets as bytes (IHI 0014Q chapter 6). */
#include "etmv2_encoder_state.h"

#define ADDRESS_BYTES 5
#define CANCEL        0x40 /* of the fifth byte */

/* Steps 1 to 3 of the construction: a 1 above the address, the shift, a 1 at the end. */
static uint64_t branch_value(const struct etmv2_place *place)
{
    uint64_t value = (uint64_t)1 << 32 | place->address;

    return value >> (place->isa == BT_ISA_A32 ? 2 : 1) << 1 | 1;
}

/* Groups of seven bits up to the highest one in `changed`; at least one. */
static unsigned groups(uint64_t changed)
{
    unsigned n = 1;

    while (n < ADDRESS_BYTES && changed >> 7 * n)
        n++;
    return n;
}

static unsigned put_groups(uint8_t *p, uint64_t value, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        p[i] = (uint8_t)((value >> 7 * i & 0x7f) | (i + 1 < n ? 0x80 : 0));
    return n;
}

static unsigned longer(unsigned n, unsigned extra)
{
    return n + extra < ADDRESS_BYTES ? n + extra : ADDRESS_BYTES;
}

unsigned etmv2_put_branch(uint8_t *p, struct etmv2_place *base, const struct etmv2_place *target,
                          bool cancel, unsigned extra)
{
    uint64_t value = branch_value(target);
    unsigned n = cancel ? ADDRESS_BYTES : longer(groups(value ^ branch_value(base)), extra);

    put_groups(p, value, n);
    if (cancel)
        p[ADDRESS_BYTES - 1] |= CANCEL;
    *base = *target;
    return n;
}

unsigned etmv2_put_data_address(uint8_t *p, uint32_t *base, uint32_t address, bool full,
                                unsigned extra)
{
    unsigned n = full ? ADDRESS_BYTES : longer(groups(address ^ *base), extra);

    *base = address;
    return put_groups(p, address, n);
}

unsigned etmv2_put_word(uint8_t *p, uint32_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(value >> 8 * i);
    return size;
}

unsigned etmv2_value_code(uint32_t value)
{
    return value == 0 ? 0 : value < 0x100 ? 1 : value < 0x10000 ? 2 : 3;
}

unsigned etmv2_put_value(uint8_t *p, uint32_t value)
{
    static const unsigned bytes[] = {0, 1, 2, 4};

    return etmv2_put_word(p, value, bytes[etmv2_value_code(value)]);
}
