/* SPDX-License-Identifier: BSD-3-Clause */
/* Waypoint instructions of the PFT architecture: IHI 0035B 2.2. */
#include "decoder/program/insn.h"

/* First match wins; `skip_mask`/`skip_value` excludes a sub-space of the pattern (0/1 = none). */
struct rule {
    uint32_t mask;
    uint32_t value;
    uint32_t skip_mask;
    uint32_t skip_value;
    uint8_t cls;
    uint8_t flags;
};

#define NO_SKIP 0, 1

/* cond = 1111: the unconditional space. */
static const struct rule a32_uncond[] = {
    {0xfe000000, 0xfa000000, NO_SKIP, INSN_DIRECT, INSN_LINK | INSN_SWITCH_ISA}, /* BLX imm */
    {0xfe500000, 0xf8100000, NO_SKIP, INSN_INDIRECT, INSN_EXC_RETURN},           /* RFE */
    {0xfff000f0, 0xf5700040, NO_SKIP, INSN_BARRIER, 0},                          /* DSB */
    {0xfff000f0, 0xf5700050, NO_SKIP, INSN_BARRIER, 0},                          /* DMB */
    {0xfff000f0, 0xf5700060, NO_SKIP, INSN_ISB, 0},                              /* ISB */
};

static const struct rule a32_branches[] = {
    {0x0f000000, 0x0a000000, NO_SKIP, INSN_DIRECT, 0},         /* B */
    {0x0f000000, 0x0b000000, NO_SKIP, INSN_DIRECT, INSN_LINK}, /* BL */
};

/* i[27:25] = 000: branch and exchange, ERET, data processing (register) to the PC. The last row
 * leaves out i[24:23] = 10 (TST.., miscellaneous); a further test removes i[7] = i[4] = 1. */
static const struct rule a32_misc[] = {
    {0x0ff000f0, 0x01200010, NO_SKIP, INSN_INDIRECT, 0},               /* BX */
    {0x0ff000f0, 0x01200020, NO_SKIP, INSN_INDIRECT, 0},               /* BXJ */
    {0x0ff000f0, 0x01200030, NO_SKIP, INSN_INDIRECT, INSN_LINK},       /* BLX reg */
    {0x0fffffff, 0x0160006e, NO_SKIP, INSN_INDIRECT, INSN_EXC_RETURN}, /* ERET */
    {0x0e000090, 0x00000090, NO_SKIP, INSN_OTHER, 0},                  /* multiplies, extra ld/st */
    {0x0e10f000, 0x0010f000, 0x01800000, 0x01000000, INSN_INDIRECT, INSN_EXC_RETURN},
    {0x0e00f000, 0x0000f000, 0x01800000, 0x01000000, INSN_INDIRECT, 0},
};

static const struct rule a32_imm[] = {
    {0x0ffffffe, 0x0320f002, NO_SKIP, INSN_WAIT, 0}, /* WFE, WFI */
    {0x0e10f000, 0x0210f000, 0x01800000, 0x01000000, INSN_INDIRECT, INSN_EXC_RETURN},
    {0x0e00f000, 0x0200f000, 0x01800000, 0x01000000, INSN_INDIRECT, 0},
};

static const struct rule a32_loads[] = {
    {0x0e50f000, 0x0410f000, NO_SKIP, INSN_INDIRECT, 0},               /* LDR PC, immediate */
    {0x0e50f010, 0x0610f000, NO_SKIP, INSN_INDIRECT, 0},               /* LDR PC, register */
    {0x0e508000, 0x08508000, NO_SKIP, INSN_INDIRECT, INSN_EXC_RETURN}, /* LDM ^ with PC */
    {0x0e108000, 0x08108000, NO_SKIP, INSN_INDIRECT, 0},               /* LDM with PC, POP */
};

static const struct rule a32_cp15[] = {
    {0x0fff0fff, 0x0e070f95, NO_SKIP, INSN_ISB, 0},
    {0x0fff0fff, 0x0e070f9a, NO_SKIP, INSN_BARRIER, 0},
    {0x0fff0fff, 0x0e070fba, NO_SKIP, INSN_BARRIER, 0},
};

/* By i[27:25]: most instructions are sorted out by a table of one or two rows, or none. */
static const struct {
    const struct rule *rules;
    unsigned count;
} a32_groups[8] = {
    {a32_misc, 7},      {a32_imm, 3},      {a32_loads, 1}, {a32_loads + 1, 1},
    {a32_loads + 2, 2}, {a32_branches, 2}, {0, 0},         {a32_cp15, 3},
};

/* By h[15:12]: whether a rule has it. */
#define T16_RULED (1u << 0x4 | 1u << 0xb | 1u << 0xd | 1u << 0xe)

static const struct rule t16_rules[] = {
    {0xf000, 0xd000, 0x0e00, 0x0e00, INSN_DIRECT, INSN_CONDITIONAL}, /* B<c>; not UDF, SVC */
    {0xf800, 0xe000, NO_SKIP, INSN_DIRECT, 0},                       /* B */
    {0xf500, 0xb100, NO_SKIP, INSN_DIRECT, INSN_CONDITIONAL},        /* CBZ, CBNZ */
    {0xff80, 0x4700, NO_SKIP, INSN_INDIRECT, 0},                     /* BX */
    {0xff80, 0x4780, NO_SKIP, INSN_INDIRECT, INSN_LINK},             /* BLX reg */
    {0xff00, 0xbd00, NO_SKIP, INSN_INDIRECT, 0},                     /* POP {..,PC} */
    {0xff87, 0x4487, NO_SKIP, INSN_INDIRECT, 0},                     /* ADD PC, Rm */
    {0xff87, 0x4687, NO_SKIP, INSN_INDIRECT, 0},                     /* MOV PC, Rm */
    {0xffef, 0xbf20, 0xffff, 0xbf00, INSN_WAIT, 0},                  /* WFE, WFI */
};

/* h1 in the upper, h2 in the lower half. */
static const struct rule t32_rules[] = {
    {0xffffd0f0, 0xf3bf8040, NO_SKIP, INSN_BARRIER, 0},
    {0xffffd0f0, 0xf3bf8050, NO_SKIP, INSN_BARRIER, 0},
    {0xffffd0f0, 0xf3bf8060, NO_SKIP, INSN_ISB, 0},
    {0xffffd0f0, 0xf3bf8000, NO_SKIP, INSN_DIRECT, 0},                 /* LEAVEX */
    {0xffffd0f0, 0xf3bf8010, NO_SKIP, INSN_DIRECT, 0},                 /* ENTERX */
    {0xfffffffe, 0xf3af8002, NO_SKIP, INSN_WAIT, 0},                   /* WFE, WFI */
    {0xfff0d000, 0xf3c08000, NO_SKIP, INSN_INDIRECT, 0},               /* BXJ */
    {0xfff0d000, 0xf3d08000, NO_SKIP, INSN_INDIRECT, INSN_EXC_RETURN}, /* SUBS PC,LR; ERET */
    {0xf800d000, 0xf0008000, 0x03800000, 0x03800000, INSN_DIRECT, INSN_CONDITIONAL}, /* B<c>.W */
    {0xf800d000, 0xf0009000, NO_SKIP, INSN_DIRECT, 0},                               /* B.W */
    {0xf800d000, 0xf000d000, NO_SKIP, INSN_DIRECT, INSN_LINK},                       /* BL */
    {0xf800d001, 0xf000c000, NO_SKIP, INSN_DIRECT, INSN_LINK | INSN_SWITCH_ISA},     /* BLX imm */
    {0xfffff001, 0xf00fc001, NO_SKIP, INSN_DIRECT, INSN_CONDITIONAL},                /* LE */
    {0xfffff001, 0xf02fc001, NO_SKIP, INSN_DIRECT, 0},                               /* LE, no LR */
    {0xfffff001, 0xf01fc001, NO_SKIP, INSN_DIRECT, INSN_CONDITIONAL},                /* LETP */
    {0xfff0f001, 0xf040c001, NO_SKIP, INSN_DIRECT, INSN_CONDITIONAL},                /* WLS */
    {0xffc0f001, 0xf000c001, NO_SKIP, INSN_DIRECT, INSN_CONDITIONAL},                /* WLSTP */
    {0xffd00000, 0xe8100000, NO_SKIP, INSN_INDIRECT, INSN_EXC_RETURN},               /* RFEDB */
    {0xffd00000, 0xe9900000, NO_SKIP, INSN_INDIRECT, INSN_EXC_RETURN},               /* RFEIA */
    {0xffffa000, 0xe89f8000, NO_SKIP, INSN_OTHER, 0},    /* CLRM with APSR of v8.1-M */
    {0xffd08000, 0xe8908000, NO_SKIP, INSN_INDIRECT, 0}, /* LDMIA, POP.W with PC */
    {0xffd08000, 0xe9108000, NO_SKIP, INSN_INDIRECT, 0}, /* LDMDB with PC */
    {0xfff0ffe0, 0xe8d0f000, NO_SKIP, INSN_INDIRECT, 0}, /* TBB, TBH */
    {0xff7ff000, 0xf85ff000, NO_SKIP, INSN_INDIRECT, 0}, /* LDR.W PC, literal */
    {0xfff0f000, 0xf8d0f000, NO_SKIP, INSN_INDIRECT, 0}, /* LDR.W PC, imm12 */
    {0xfff0ff00, 0xf850fc00, NO_SKIP, INSN_INDIRECT, 0}, /* LDR.W PC, [Rn,#-imm8] */
    {0xfff0f900, 0xf850f900, NO_SKIP, INSN_INDIRECT, 0}, /* LDR.W PC, imm8 with write-back */
    {0xfff0ffc0, 0xf850f000, NO_SKIP, INSN_INDIRECT, 0}, /* LDR.W PC, register */
    {0xffff0fff, 0xee070f95, NO_SKIP, INSN_ISB, 0},
    {0xffff0fff, 0xee070f9a, NO_SKIP, INSN_BARRIER, 0},
    {0xffff0fff, 0xee070fba, NO_SKIP, INSN_BARRIER, 0},
};

static const struct rule *match_rule(const struct rule *rules, size_t count, uint32_t op)
{
    for (size_t i = 0; i < count; i++) {
        const struct rule *r = &rules[i];
        if ((op & r->mask) == r->value && (op & r->skip_mask) != r->skip_value)
            return r;
    }
    return NULL;
}

static void fill_insn(struct insn *out, const struct rule *r, unsigned size, enum bt_isa isa)
{
    out->size = (uint8_t)size;
    out->cls = r ? r->cls : INSN_OTHER;
    out->flags = r ? r->flags : 0;
    out->target = 0;
    out->target_isa = (uint8_t)isa;
}

static uint32_t sign_extend(uint32_t value, unsigned bits)
{
    uint32_t sign = 1u << (bits - 1);
    return (value ^ sign) - sign;
}

void insn_decode_a32(uint32_t op, uint64_t address, struct insn *out)
{
    const struct rule *r;
    bool uncond = op >> 28 == 0xf;
    if (uncond)
        r = match_rule(a32_uncond, sizeof a32_uncond / sizeof *a32_uncond, op);
    else
        r = match_rule(a32_groups[op >> 25 & 7].rules, a32_groups[op >> 25 & 7].count, op);
    fill_insn(out, r, 4, BT_ISA_A32);
    if (!uncond && op >> 28 != 0xe)
        out->flags |= INSN_CONDITIONAL;
    if (out->cls != INSN_DIRECT)
        return;
    uint32_t offset = sign_extend((op & 0xffffff) << 2, 26);
    if (out->flags & INSN_SWITCH_ISA) {
        offset += op >> 23 & 2;
        out->target_isa = BT_ISA_T32;
    }
    out->target = (uint32_t)(address + 8 + offset);
}

static uint32_t t16_offset(uint16_t h)
{
    if ((h & 0xf000) == 0xd000)
        return sign_extend((uint32_t)(h & 0xff) << 1, 9);
    if ((h & 0xf800) == 0xe000)
        return sign_extend((uint32_t)(h & 0x7ff) << 1, 12);
    return (uint32_t)(h >> 9 & 1) << 6 | (uint32_t)(h >> 3 & 0x1f) << 1;
}

static uint32_t t32_cond_offset(uint16_t h1, uint16_t h2)
{
    uint32_t s = h1 >> 10 & 1, j1 = h2 >> 13 & 1, j2 = h2 >> 11 & 1;
    uint32_t v =
        s << 20 | j2 << 19 | j1 << 18 | (uint32_t)(h1 & 0x3f) << 12 | (uint32_t)(h2 & 0x7ff) << 1;
    return sign_extend(v, 21);
}

static uint32_t t32_wide_offset(uint16_t h1, uint16_t h2)
{
    uint32_t s = h1 >> 10 & 1;
    uint32_t i1 = ~((uint32_t)(h2 >> 13) ^ s) & 1, i2 = ~((uint32_t)(h2 >> 11) ^ s) & 1;
    uint32_t v =
        s << 24 | i1 << 23 | i2 << 22 | (uint32_t)(h1 & 0x3ff) << 12 | (uint32_t)(h2 & 0x7ff) << 1;
    return sign_extend(v, 25);
}

/* LE and LETP go back, WLS and WLSTP forward. */
static uint32_t loop_offset(uint32_t op)
{
    uint32_t distance = (op & 0x7fe) << 1 | (op & 0x800) >> 10;
    return (op >> 16 & 0xf) == 0xf && (op & 0x00400000) == 0 ? 0 - distance : distance;
}

static void t32_target(uint16_t h1, uint16_t h2, uint64_t address, struct insn *out)
{
    if ((h1 & 0xfff0) == 0xf3b0 && (h2 & 0xd000) == 0x8000) { /* ENTERX, LEAVEX */
        out->target = (uint32_t)(address + 4);
        out->target_isa = h2 & 0x10 ? BT_ISA_T32EE : BT_ISA_T32;
        return;
    }
    if ((h1 & 0xf800) == 0xf000 && (h2 & 0xf001) == 0xc001) {
        out->target = (uint32_t)(address + 4 + loop_offset((uint32_t)h1 << 16 | h2));
        return;
    }
    if (out->flags & INSN_SWITCH_ISA) {
        out->target = (uint32_t)((address & ~(uint64_t)3) + 4 + t32_wide_offset(h1, h2));
        out->target_isa = BT_ISA_A32;
        return;
    }
    uint32_t offset =
        out->flags & INSN_CONDITIONAL ? t32_cond_offset(h1, h2) : t32_wide_offset(h1, h2);
    out->target = (uint32_t)(address + 4 + offset);
}

void insn_decode_t32(uint16_t h1, uint16_t h2, uint64_t address, struct insn *out)
{
    if (insn_t32_size(h1) == 2) {
        size_t count = T16_RULED >> (h1 >> 12) & 1 ? sizeof t16_rules / sizeof *t16_rules : 0;
        fill_insn(out, match_rule(t16_rules, count, h1), 2, BT_ISA_T32);
        if (out->cls == INSN_DIRECT)
            out->target = (uint32_t)(address + 4 + t16_offset(h1));
        return;
    }
    uint32_t op = (uint32_t)h1 << 16 | h2;
    fill_insn(out, match_rule(t32_rules, sizeof t32_rules / sizeof *t32_rules, op), 4, BT_ISA_T32);
    if (out->cls == INSN_DIRECT)
        t32_target(h1, h2, address, out);
}

/* ThumbEE replaces the 16-bit space 1100xxxx (DDI 0406C.d chapter A9). */
void insn_decode_t32ee(uint16_t h1, uint16_t h2, uint64_t address, struct insn *out)
{
    if ((h1 & 0xf000) != 0xc000) {
        insn_decode_t32(h1, h2, address, out);
        bool leaves = out->cls == INSN_DIRECT && (h1 & 0xfff0) == 0xf3b0 && !(h2 & 0x10);
        if (out->target_isa == BT_ISA_T32 && !leaves)
            out->target_isa = BT_ISA_T32EE;
        return;
    }
    static const struct rule handlers[] = {
        {0xff00, 0xc000, NO_SKIP, INSN_INDIRECT, 0},         /* HBP */
        {0xff00, 0xc200, NO_SKIP, INSN_INDIRECT, 0},         /* HB */
        {0xff00, 0xc300, NO_SKIP, INSN_INDIRECT, INSN_LINK}, /* HBL */
        {0xfc00, 0xc400, NO_SKIP, INSN_INDIRECT, INSN_LINK}, /* HBLP */
    };
    fill_insn(out, match_rule(handlers, sizeof handlers / sizeof *handlers, h1), 2, BT_ISA_T32EE);
}
