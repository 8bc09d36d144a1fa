/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_data.h"

/* How many transfers, when it is not a fixed number. */
enum { LIST16 = 32, LIST9, LIST8 };

#define L_BIT(n) (0x40u | (n)) /* a load if bit n of the opcode is set */
#define LOADS    0x20u
#define STORES   0u

struct row {
    uint32_t mask;
    uint32_t value;
    uint8_t count;
    uint8_t size;
    uint8_t direction;
};

#define NO_DATA(mask, value)                                                                       \
    {                                                                                              \
        mask, value, 0, 0, 0                                                                       \
    }
#define CPRT 0xff

static const struct row a32_uncond[] = {
    {0xfe500000, 0xf8400000, 2, 4, STORES}, /* SRS */
    {0xfe500000, 0xf8100000, 2, 4, LOADS},  /* RFE */
    NO_DATA(0, 0),
};

static const struct row a32[] = {
    NO_DATA(0x0e000010, 0x06000010), /* media */
    {0x0c400000, 0x04000000, 1, 4, L_BIT(20)},
    {0x0c400000, 0x04400000, 1, 1, L_BIT(20)},
    {0x0e0000f0, 0x000000b0, 1, 2, L_BIT(20)},
    {0x0e000000, 0x08000000, LIST16, 4, L_BIT(20)},
    {0x0f300f00, 0x0d100a00, 1, 4, LOADS}, /* VLDR, single */
    {0x0f000010, 0x0e000010, CPRT, 4, L_BIT(20)},
    NO_DATA(0, 0),
};

static const struct row t16[] = {
    {0xf800, 0x4800, 1, 4, LOADS},
    {0xfe00, 0x5000, 1, 4, STORES},
    {0xfe00, 0x5200, 1, 2, STORES},
    {0xfe00, 0x5400, 1, 1, STORES},
    {0xfe00, 0x5600, 1, 1, LOADS},
    {0xfe00, 0x5800, 1, 4, LOADS},
    {0xfe00, 0x5a00, 1, 2, LOADS},
    {0xfe00, 0x5c00, 1, 1, LOADS},
    {0xfe00, 0x5e00, 1, 2, LOADS},
    {0xf000, 0x6000, 1, 4, L_BIT(11)},
    {0xf000, 0x7000, 1, 1, L_BIT(11)},
    {0xf000, 0x8000, 1, 2, L_BIT(11)},
    {0xf000, 0x9000, 1, 4, L_BIT(11)},
    {0xfe00, 0xb400, LIST9, 4, STORES},
    {0xfe00, 0xbc00, LIST9, 4, LOADS},
    {0xf000, 0xc000, LIST8, 4, L_BIT(11)},
    NO_DATA(0, 0),
};

static const struct row t32[] = {
    {0xffd00000, 0xe8000000, 2, 4, STORES}, /* SRS and RFE, decrement before */
    {0xffd00000, 0xe8100000, 2, 4, LOADS},
    {0xffd00000, 0xe9800000, 2, 4, STORES}, /* and increment after */
    {0xffd00000, 0xe9900000, 2, 4, LOADS},
    {0xfe400000, 0xe8000000, LIST16, 4, L_BIT(20)},
    {0xfff000f0, 0xe8d00000, 1, 1, LOADS}, /* TBB */
    {0xfff000f0, 0xe8d00010, 1, 2, LOADS}, /* TBH */
    {0xfff00000, 0xe9c00000, 2, 4, STORES},
    NO_DATA(0xfff0f000, 0xf890f000), /* PLD */
    {0xfff00000, 0xf8900000, 1, 1, LOADS},
    {0xfff00000, 0xf8c00000, 1, 4, STORES},
    {0xff700000, 0xf8500000, 1, 4, LOADS},
    {0xff000010, 0xee000010, CPRT, 4, L_BIT(20)},
    NO_DATA(0, 0),
};

static unsigned ones(uint32_t bits)
{
    unsigned n = 0;

    for (; bits; bits &= bits - 1)
        n++;
    return n;
}

static unsigned transfers(const struct row *r, uint32_t opcode)
{
    switch (r->count) {
    case LIST16:
        return ones(opcode & 0xffff);
    case LIST9:
        return ones(opcode & 0x1ff);
    case LIST8:
        return ones(opcode & 0xff);
    case CPRT:
        return 1;
    default:
        return r->count;
    }
}

void data_plan(enum bt_isa isa, uint32_t opcode, struct data_plan *plan)
{
    const struct row *r = opcode > 0xffff ? t32 : t16;

    if (isa == BT_ISA_A32)
        r = opcode >> 28 == 0xf ? a32_uncond : a32;
    while ((opcode & r->mask) != r->value)
        r++;
    *plan = (struct data_plan){
        .count = transfers(r, opcode), .size = r->size, .cprt = r->count == CPRT};
    plan->store =
        r->direction & 0x40 ? !(opcode >> (r->direction & 0x1f) & 1) : r->direction != LOADS;
}
