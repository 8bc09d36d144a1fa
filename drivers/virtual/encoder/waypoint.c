/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/virtual/encoder/waypoint.h"

/* How the target of a direct branch is coded. */
enum target_form {
    FORM_NONE,
    FORM_A32_B,
    FORM_A32_BLX,
    FORM_T16_BCOND,
    FORM_T16_B,
    FORM_T16_CB,
    FORM_T32_BCOND,
    FORM_T32_B,
    FORM_T32_BLX,
    FORM_NEXT_T32, /* LEAVEX */
    FORM_NEXT_EE,  /* ENTERX */
};

#define LINK   1u
#define RETURN 2u /* exception return */
#define RET22  4u /* exception return if bit 22 is set */
#define RET20  8u /* exception return if bit 20 is set */

/* First row that matches wins. For 32-bit T32 the first halfword is in the upper 16 bits. */
struct row {
    uint32_t mask;
    uint32_t value;
    uint8_t cls;
    uint8_t flags;
    uint8_t form;
};

static const struct row a32_uncond[] = {
    {0xfe000000, 0xfa000000, WAYPOINT_DIRECT, LINK, FORM_A32_BLX},
    {0xfe500000, 0xf8100000, WAYPOINT_INDIRECT, RETURN, FORM_NONE}, /* RFE */
    {0xfff000f0, 0xf5700040, WAYPOINT_BARRIER, 0, FORM_NONE},       /* DSB */
    {0xfff000f0, 0xf5700050, WAYPOINT_BARRIER, 0, FORM_NONE},       /* DMB */
    {0xfff000f0, 0xf5700060, WAYPOINT_ISB, 0, FORM_NONE},
    {0, 0, WAYPOINT_NONE, 0, FORM_NONE},
};

static const struct row a32_cond[] = {
    {0x0f000000, 0x0a000000, WAYPOINT_DIRECT, 0, FORM_A32_B},
    {0x0f000000, 0x0b000000, WAYPOINT_DIRECT, LINK, FORM_A32_B},
    {0x0ff000f0, 0x01200010, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* BX */
    {0x0ff000f0, 0x01200020, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* BXJ */
    {0x0ff000f0, 0x01200030, WAYPOINT_INDIRECT, LINK, FORM_NONE},   /* BLX register */
    {0x0fffffff, 0x0160006e, WAYPOINT_INDIRECT, RETURN, FORM_NONE}, /* ERET */
    {0x0e108000, 0x08108000, WAYPOINT_INDIRECT, RET22, FORM_NONE},  /* LDM with PC */
    {0x0e50f000, 0x0410f000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* LDR PC, immediate */
    {0x0e50f010, 0x0610f000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* LDR PC, register */
    {0x0fff0fff, 0x0e070f95, WAYPOINT_ISB, 0, FORM_NONE},           /* CP15 forms */
    {0x0fff0fff, 0x0e070f9a, WAYPOINT_BARRIER, 0, FORM_NONE},
    {0x0fff0fff, 0x0e070fba, WAYPOINT_BARRIER, 0, FORM_NONE},
    /* Data processing with opcode[3:2] = 10: compares, MSR, MOVW: nothing is written to the PC. */
    {0x0d800000, 0x01000000, WAYPOINT_NONE, 0, FORM_NONE},
    {0x0e00f000, 0x0200f000, WAYPOINT_INDIRECT, RET20, FORM_NONE}, /* immediate */
    {0x0e000090, 0x00000090, WAYPOINT_NONE, 0, FORM_NONE},         /* multiplies, extra loads */
    {0x0e00f000, 0x0000f000, WAYPOINT_INDIRECT, RET20, FORM_NONE}, /* register */
    {0, 0, WAYPOINT_NONE, 0, FORM_NONE},
};

static const struct row t16[] = {
    {0xfe00, 0xde00, WAYPOINT_NONE, 0, FORM_NONE}, /* UDF, SVC */
    {0xf000, 0xd000, WAYPOINT_DIRECT, 0, FORM_T16_BCOND},
    {0xf800, 0xe000, WAYPOINT_DIRECT, 0, FORM_T16_B},
    {0xf500, 0xb100, WAYPOINT_DIRECT, 0, FORM_T16_CB},
    {0xff80, 0x4700, WAYPOINT_INDIRECT, 0, FORM_NONE},    /* BX */
    {0xff80, 0x4780, WAYPOINT_INDIRECT, LINK, FORM_NONE}, /* BLX register */
    {0xff00, 0xbd00, WAYPOINT_INDIRECT, 0, FORM_NONE},    /* POP with PC */
    {0xff87, 0x4487, WAYPOINT_INDIRECT, 0, FORM_NONE},    /* ADD PC */
    {0xff87, 0x4687, WAYPOINT_INDIRECT, 0, FORM_NONE},    /* MOV PC */
    {0, 0, WAYPOINT_NONE, 0, FORM_NONE},
};

/* ThumbEE: what differs from t16, asked first. */
static const struct row t16ee[] = {
    {0xff00, 0xc000, WAYPOINT_INDIRECT, 0, FORM_NONE},    /* HBP */
    {0xff00, 0xc200, WAYPOINT_INDIRECT, 0, FORM_NONE},    /* HB */
    {0xff00, 0xc300, WAYPOINT_INDIRECT, LINK, FORM_NONE}, /* HBL */
    {0xfc00, 0xc400, WAYPOINT_INDIRECT, LINK, FORM_NONE}, /* HBLP */
    {0, 0, WAYPOINT_NONE, 0, FORM_NONE},
};

static const struct row t32[] = {
    {0xf800d000, 0xf0009000, WAYPOINT_DIRECT, 0, FORM_T32_B},
    {0xf800d000, 0xf000d000, WAYPOINT_DIRECT, LINK, FORM_T32_B},
    {0xf800d001, 0xf000c000, WAYPOINT_DIRECT, LINK, FORM_T32_BLX},
    {0xfff0d000, 0xf3c08000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* BXJ */
    {0xfff0d000, 0xf3d08000, WAYPOINT_INDIRECT, RETURN, FORM_NONE}, /* SUBS PC,LR; ERET */
    {0xffffd0f0, 0xf3bf8040, WAYPOINT_BARRIER, 0, FORM_NONE},       /* DSB */
    {0xffffd0f0, 0xf3bf8050, WAYPOINT_BARRIER, 0, FORM_NONE},       /* DMB */
    {0xffffd0f0, 0xf3bf8060, WAYPOINT_ISB, 0, FORM_NONE},
    {0xffffd0f0, 0xf3bf8000, WAYPOINT_DIRECT, 0, FORM_NEXT_T32},
    {0xffffd0f0, 0xf3bf8010, WAYPOINT_DIRECT, 0, FORM_NEXT_EE},
    /* The conditional branch has a condition other than 111x: those are the system instructions. */
    {0xfb80d000, 0xf3808000, WAYPOINT_NONE, 0, FORM_NONE},
    {0xf800d000, 0xf0008000, WAYPOINT_DIRECT, 0, FORM_T32_BCOND},
    {0xffd00000, 0xe8100000, WAYPOINT_INDIRECT, RETURN, FORM_NONE}, /* RFEDB */
    {0xffd00000, 0xe9900000, WAYPOINT_INDIRECT, RETURN, FORM_NONE}, /* RFEIA */
    {0xffd08000, 0xe8908000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* LDMIA with PC */
    {0xffd08000, 0xe9108000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* LDMDB with PC */
    {0xfff0ffe0, 0xe8d0f000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* TBB, TBH */
    {0xfff0f000, 0xf8d0f000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* LDR PC: imm12 */
    {0xff7ff000, 0xf85ff000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* literal */
    {0xfff0f800, 0xf850f800, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* imm8 */
    {0xfff0ffc0, 0xf850f000, WAYPOINT_INDIRECT, 0, FORM_NONE},      /* register */
    {0xffff0fff, 0xee070f95, WAYPOINT_ISB, 0, FORM_NONE},           /* CP15 forms */
    {0xffff0fff, 0xee070f9a, WAYPOINT_BARRIER, 0, FORM_NONE},
    {0xffff0fff, 0xee070fba, WAYPOINT_BARRIER, 0, FORM_NONE},
    {0, 0, WAYPOINT_NONE, 0, FORM_NONE},
};

static const struct row *waypoint_find(const struct row *table, uint32_t opcode)
{
    while ((opcode & table->mask) != table->value)
        table++;
    return table;
}

/* Low `bits` of value as a signed number. */
static uint32_t sign_extend(uint32_t value, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1);
    value &= (sign << 1) - 1;
    return (value ^ sign) - sign;
}

static uint32_t waypoint_field(uint32_t value, unsigned high, unsigned low)
{
    return value >> low & ((1u << (high - low + 1)) - 1);
}

/* Offset of BL, BLX and B.W: S, I1, I2, ten bits and eleven bits, times two. */
static uint32_t t32_far_offset(uint32_t op)
{
    uint32_t s = waypoint_field(op, 26, 26);
    uint32_t i1 = ~(waypoint_field(op, 13, 13) ^ s) & 1;
    uint32_t i2 = ~(waypoint_field(op, 11, 11) ^ s) & 1;
    uint32_t offset = s << 24 | i1 << 23 | i2 << 22 | waypoint_field(op, 25, 16) << 12 |
                      waypoint_field(op, 10, 0) << 1;
    return sign_extend(offset, 25);
}

static uint32_t t32_cond_offset(uint32_t op)
{
    uint32_t offset = waypoint_field(op, 26, 26) << 20 | waypoint_field(op, 11, 11) << 19 |
                      waypoint_field(op, 13, 13) << 18 | waypoint_field(op, 21, 16) << 12 |
                      waypoint_field(op, 10, 0) << 1;
    return sign_extend(offset, 21);
}

static uint32_t direct_target(enum target_form form, uint32_t op, uint32_t address)
{
    switch (form) {
    case FORM_A32_B:
        return address + 8 + sign_extend(op << 2, 26);
    case FORM_A32_BLX:
        return address + 8 + sign_extend(op << 2, 26) + (waypoint_field(op, 24, 24) << 1);
    case FORM_T16_BCOND:
        return address + 4 + sign_extend(op << 1, 9);
    case FORM_T16_B:
        return address + 4 + sign_extend(op << 1, 12);
    case FORM_T16_CB:
        return address + 4 + (waypoint_field(op, 9, 9) << 6 | waypoint_field(op, 7, 3) << 1);
    case FORM_T32_BCOND:
        return address + 4 + t32_cond_offset(op);
    case FORM_T32_B:
        return address + 4 + t32_far_offset(op);
    case FORM_T32_BLX:
        return (address & ~3u) + 4 + (t32_far_offset(op) & ~3u);
    case FORM_NEXT_T32:
    case FORM_NEXT_EE:
        return address + 4;
    case FORM_NONE:
        break;
    }
    return 0;
}

static enum bt_isa direct_isa(enum target_form form, enum bt_isa isa)
{
    switch (form) {
    case FORM_A32_BLX:
    case FORM_NEXT_T32:
        return BT_ISA_T32;
    case FORM_T32_BLX:
        return BT_ISA_A32;
    case FORM_NEXT_EE:
        return BT_ISA_T32EE;
    default:
        return isa;
    }
}

unsigned waypoint_t32_size(uint16_t h1)
{
    return h1 >> 11 >= 0x1d ? 4 : 2;
}

static const struct row *find_t32(enum bt_isa isa, uint32_t opcode)
{
    if (opcode > 0xffff)
        return waypoint_find(t32, opcode);
    if (isa == BT_ISA_T32EE && waypoint_find(t16ee, opcode)->cls != WAYPOINT_NONE)
        return waypoint_find(t16ee, opcode);
    return waypoint_find(t16, opcode);
}

void waypoint_classify(enum bt_isa isa, uint32_t opcode, uint64_t address, struct waypoint *out)
{
    const struct row *row;

    *out = (struct waypoint){.cls = WAYPOINT_NONE, .size = 1, .target_isa = isa};
    if (isa == BT_ISA_A32) {
        row = waypoint_find(opcode >> 28 == 0xf ? a32_uncond : a32_cond, opcode);
        out->size = 4;
    } else if (isa == BT_ISA_T32 || isa == BT_ISA_T32EE) {
        row = find_t32(isa, opcode);
        out->size = opcode > 0xffff ? 4 : 2;
    } else {
        return;
    }
    out->cls = row->cls;
    out->link = row->flags & LINK;
    out->exception_return = (row->flags & RETURN) || ((row->flags & RET22) && opcode >> 22 & 1) ||
                            ((row->flags & RET20) && opcode >> 20 & 1);
    if (out->cls == WAYPOINT_DIRECT) {
        out->target = direct_target(row->form, opcode, (uint32_t)address);
        out->target_isa = direct_isa(row->form, isa);
    }
}
