/* SPDX-License-Identifier: BSD-3-Clause */
/* P0 instructions of A64: IHI 0064H.b, DDI 0487L.a chapter D4. */
#include "decoder/program/insn.h"

enum a64_target {
    TARGET_NONE,
    TARGET_IMM26,
    TARGET_IMM19,
    TARGET_IMM14,
    TARGET_IMM9,
};

struct rule {
    uint32_t mask;
    uint32_t value;
    uint8_t cls;
    uint8_t flags;
    uint8_t target; /* enum a64_target */
};

/* Bits 28 to 26 of all instructions that have a rule; most others have other ones. */
#define RULED(op) (((op) >> 26 & 7) == 5)

/* First match wins. */
static const struct rule rules[] = {
    {0xfc000000, 0x14000000, INSN_DIRECT, 0, TARGET_IMM26},                /* B */
    {0xfc000000, 0x94000000, INSN_DIRECT, INSN_LINK, TARGET_IMM26},        /* BL */
    {0x7e000000, 0x34000000, INSN_DIRECT, INSN_CONDITIONAL, TARGET_IMM19}, /* CBZ, CBNZ */
    {0x7e000000, 0x36000000, INSN_DIRECT, INSN_CONDITIONAL, TARGET_IMM14}, /* TBZ, TBNZ */
    {0xff000000, 0x54000000, INSN_DIRECT, INSN_CONDITIONAL, TARGET_IMM19}, /* B.cond, BC.cond */
    {0xff00c000, 0xf4000000, INSN_DIRECT, INSN_CONDITIONAL, TARGET_IMM9},  /* CB<cc>, 64 bits */
    {0xff00c000, 0x74004000, INSN_OTHER, 0, TARGET_NONE},
    {0xff000000, 0x74000000, INSN_DIRECT, INSN_CONDITIONAL, TARGET_IMM9},  /* CB<cc>, CBB, CBH */
    {0x7f004000, 0x75000000, INSN_DIRECT, INSN_CONDITIONAL, TARGET_IMM9},  /* CB<cc>, immediate */
    {0xfffffc1f, 0xd61f0000, INSN_INDIRECT, 0, TARGET_NONE},               /* BR */
    {0xfffffc1f, 0xd63f0000, INSN_INDIRECT, INSN_LINK, TARGET_NONE},       /* BLR */
    {0xfffffc1f, 0xd65f0000, INSN_INDIRECT, 0, TARGET_NONE},               /* RET */
    {0xfffffbff, 0xd65f0bff, INSN_INDIRECT, 0, TARGET_NONE},               /* RETAA, RETAB */
    {0xfffffbe0, 0xd65f0be0, INSN_INDIRECT, 0, TARGET_NONE},               /* RETAASPPCR */
    {0xffc0001f, 0x5500001f, INSN_INDIRECT, 0, TARGET_NONE},               /* RETAASPPC */
    {0xfffff800, 0xd71f0800, INSN_INDIRECT, 0, TARGET_NONE},               /* BRAA, BRAB */
    {0xfffff800, 0xd73f0800, INSN_INDIRECT, INSN_LINK, TARGET_NONE},       /* BLRAA, BLRAB */
    {0xfffff81f, 0xd61f081f, INSN_INDIRECT, 0, TARGET_NONE},               /* BRAAZ, BRABZ */
    {0xfffff81f, 0xd63f081f, INSN_INDIRECT, INSN_LINK, TARGET_NONE},       /* BLRAAZ, BLRABZ */
    {0xffffffff, 0xd69f03e0, INSN_INDIRECT, INSN_EXC_RETURN, TARGET_NONE}, /* ERET */
    {0xfffffbff, 0xd69f0bff, INSN_INDIRECT, INSN_EXC_RETURN, TARGET_NONE}, /* ERETAA, ERETAB */
    {0xfffffbff, 0xd6ff03e0, INSN_INDIRECT, INSN_EXC_RETURN, TARGET_NONE}, /* TEXIT */
    {0xfffff0ff, 0xd50330df, INSN_ISB, 0, TARGET_NONE},
    {0xffffffdf, 0xd503205f, INSN_WAIT, 0, TARGET_NONE},  /* WFE, WFI */
    {0xffffffc0, 0xd5031000, INSN_WAIT, 0, TARGET_NONE},  /* WFET, WFIT */
    {0xffffffe0, 0xd5233060, INSN_START, 0, TARGET_NONE}, /* TSTART */
};

static uint64_t a64_offset(uint32_t op, unsigned low, unsigned bits)
{
    uint64_t sign = (uint64_t)1 << (bits - 1), value = op >> low & ((2 * sign) - 1);
    return ((value ^ sign) - sign) * 4;
}

static uint64_t a64_target_of(uint32_t op, uint64_t address, enum a64_target kind)
{
    switch (kind) {
    case TARGET_IMM26:
        return address + a64_offset(op, 0, 26);
    case TARGET_IMM19:
        return address + a64_offset(op, 5, 19);
    case TARGET_IMM14:
        return address + a64_offset(op, 5, 14);
    case TARGET_IMM9:
        return address + a64_offset(op, 5, 9);
    case TARGET_NONE:
        break;
    }
    return 0;
}

void insn_decode_a64(uint32_t op, uint64_t address, struct insn *out)
{
    *out = (struct insn){.size = 4, .cls = INSN_OTHER, .target_isa = BT_ISA_A64};
    if (!RULED(op))
        return;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];
        if ((op & r->mask) != r->value)
            continue;
        out->cls = r->cls;
        out->flags = r->flags;
        out->target = a64_target_of(op, address, (enum a64_target)r->target);
        return;
    }
}
