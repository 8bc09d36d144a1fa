/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_forms.h"

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static const struct code_form a32_plain[] = {
    {0x01a00000, 0x00100fe0, REG12 | REG0, CODE_PLAIN, 0, 0},         /* MOV, LSL, LSR ... */
    {0x00000000, 0x00700f60, REG16 | REG12 | REG0, CODE_PLAIN, 0, 0}, /* AND, EOR, SUB, RSB */
    {0x00800000, 0x00700000, REG16 | REG12 | REG0, CODE_PLAIN, 0, 0}, /* ADD, ADC, SBC, RSC */
    {0x01900000, 0x00000fe0, REG16 | REG12 | REG0, CODE_PLAIN, 0, 0}, /* ORRS */
    {0x02000000, 0x00f00fff, REG16 | REG12, CODE_PLAIN, 0, 0},        /* same, immediate */
    {0x03500000, 0x00200fff, REG16, CODE_PLAIN, 0, 0},                /* CMP, CMN */
    {0x03100000, 0x00200fff, REG16, CODE_PLAIN, 0, 0},                /* TST, TEQ */
    {0x01500000, 0x00200fe0, REG16 | REG0, CODE_PLAIN, 0, 0},         /* CMP register */
    {0x03000000, 0x004f0fff, REG12, CODE_PLAIN, 0, 0},                /* MOVW, MOVT */
    {0x05800000, 0x00500fff, REG16 | REG12, CODE_PLAIN, 0, 0},        /* LDR(B), STR(B) */
    {0x051f0000, 0x00800fff, REG12, CODE_PLAIN, 0, 0},                /* LDR literal */
    {0x07800000, 0x00500f80, REG16 | REG12 | REG0, CODE_PLAIN, 0, 0}, /* register offset */
    {0x01c000b0, 0x00100f0f, REG16 | REG12, CODE_PLAIN, 0, 0},        /* LDRH, STRH */
    {0x08000000, 0x01900000, REG16 | LIST13, CODE_PLAIN, 0, 0},       /* LDM, STM */
    {0x08008000, 0x01800000, REG16 | LIST13, CODE_PLAIN, 0, 0},       /* STM with PC */
    {0x00000090, 0x00000000, REG16 | REG8 | REG0, CODE_PLAIN, 0, 0},  /* MUL */
    {0x0320f000, 0x00000000, 0, CODE_PLAIN, 0, 0},                    /* NOP */
    {0x0320f002, 0x00000001, 0, CODE_PLAIN, 0, 0},                    /* WFE, WFI */
    {0x016f0f10, 0x00000000, REG12 | REG0, CODE_PLAIN, 0, 0},         /* CLZ */
    {0x06bf0f30, 0x00000000, REG12 | REG0, CODE_PLAIN, 0, 0},         /* REV */
    {0x010f0000, 0x00000000, REG12, CODE_PLAIN, 0, 0},                /* MRS */
    {0x0128f000, 0x00000000, REG0, CODE_PLAIN, 0, 0},                 /* MSR */
    {0x0e010f10, 0x00000000, REG12, CODE_PLAIN, 0, 0},                /* MCR SCTLR */
    {0x0e070f15, 0x00000000, REG12, CODE_PLAIN, 0, 0},                /* MCR ICIALLU */
    {0x0e300a00, 0x0040f02f, 0, CODE_PLAIN, 0, 0},                    /* VADD */
    {0x0d900a00, 0x0040f0ff, REG16, CODE_PLAIN, 0, 0},                /* VLDR */
    {0xf5d0f000, 0x00000fff, REG16 | ALWAYS, CODE_PLAIN, 0, 0},       /* PLD */
    {0xf57ff01f, 0x00000000, ALWAYS, CODE_PLAIN, 0, 0},               /* CLREX */
    {0xf1080080, 0x00000040, ALWAYS, CODE_PLAIN, 0, 0},               /* CPSIE */
    {0xf84d0500, 0x0000001f, ALWAYS, CODE_PLAIN, 0, 0},               /* SRSDA */
};

static const struct code_form a32_waypoint[] = {
    {0x0a000000, 0, 0, CODE_DIRECT, 0, FIELD_A32_B},
    {0x0a000000, 0, 0, CODE_DIRECT, 0, FIELD_A32_B},
    {0x0a000000, 0, 0, CODE_DIRECT, 0, FIELD_A32_B},
    {0x0b000000, 0, 0, CODE_DIRECT, CODE_LINK, FIELD_A32_B},
    {0x0b000000, 0, 0, CODE_DIRECT, CODE_LINK, FIELD_A32_B},
    {0xfa000000, 0, ALWAYS, CODE_DIRECT, CODE_LINK | CODE_FAR_ISA, FIELD_A32_BLX},
    {0x012fff10, 0, REG0, CODE_INDIRECT, 0, 0},                              /* BX */
    {0x012fff1e, 0, 0, CODE_INDIRECT, 0, 0},                                 /* BX LR */
    {0x012fff20, 0, REG0, CODE_INDIRECT, 0, 0},                              /* BXJ */
    {0x012fff30, 0, REG0, CODE_INDIRECT, CODE_LINK, 0},                      /* BLX register */
    {0x08108000, 0x01a00000, REG16 | LIST13, CODE_INDIRECT, 0, 0},           /* LDM with PC */
    {0x08bd8000, 0, LIST13, CODE_INDIRECT, 0, 0},                            /* POP */
    {0x0510f000, 0x00a00fff, REG16, CODE_INDIRECT, 0, 0},                    /* LDR PC, imm */
    {0x051ff000, 0x00800fff, 0, CODE_INDIRECT, 0, 0},                        /* LDR PC, literal */
    {0x049df004, 0, 0, CODE_INDIRECT, 0, 0},                                 /* POP {PC} */
    {0x0710f000, 0x00800fe0, REG16 | REG0, CODE_INDIRECT, 0, 0},             /* LDR PC, register */
    {0x01a0f000, 0, REG0, CODE_INDIRECT, 0, 0},                              /* MOV PC */
    {0x008ff000, 0x00000fe0, REG0, CODE_INDIRECT, 0, 0},                     /* ADD PC, PC, Rm */
    {0x0280f000, 0x00000fff, REG16, CODE_INDIRECT, 0, 0},                    /* ADD PC, imm */
    {0x08508000, 0x01800000, REG16 | LIST13, CODE_INDIRECT, CODE_RETURN, 0}, /* LDM ^ */
    {0x025ef004, 0, 0, CODE_INDIRECT, CODE_RETURN, 0},                       /* SUBS PC, LR, #4 */
    {0x01b0f00e, 0, 0, CODE_INDIRECT, CODE_RETURN, 0},                       /* MOVS PC, LR */
    {0xf8100a00, 0x01a00000, REG16 | ALWAYS, CODE_INDIRECT, CODE_RETURN, 0}, /* RFE */
    {0xf57ff060, 0x0000000f, ALWAYS, CODE_ISB, 0, 0},
    {0x0e070f95, 0, REG12, CODE_ISB, 0, 0},
    {0xf57ff040, 0x0000000f, ALWAYS, CODE_BARRIER, 0, 0},
    {0xf57ff050, 0x0000000f, ALWAYS, CODE_BARRIER, 0, 0},
    {0x0e070f9a, 0, REG12, CODE_BARRIER, 0, 0},
    {0x0e070fba, 0, REG12, CODE_BARRIER, 0, 0},
};

static const struct code_form t32_plain[] = {
    {0x2000, 0x1fff, 0, CODE_PLAIN, 0, 0}, /* MOVS, CMP, ADDS, SUBS */
    {0x0000, 0x0fff, 0, CODE_PLAIN, 0, 0}, /* LSLS, LSRS */
    {0x1800, 0x07ff, 0, CODE_PLAIN, 0, 0}, /* ADDS, SUBS */
    {0x4000, 0x03ff, 0, CODE_PLAIN, 0, 0}, /* data processing */
    {0x4408, 0x0037, 0, CODE_PLAIN, 0, 0}, /* ADD high registers */
    {0x4608, 0x0037, 0, CODE_PLAIN, 0, 0}, /* MOV high registers */
    {0x4800, 0x07ff, 0, CODE_PLAIN, 0, 0}, /* LDR literal */
    {0x5000, 0x0fff, 0, CODE_PLAIN, 0, 0}, /* loads, stores */
    {0x6000, 0x1fff, 0, CODE_PLAIN, 0, 0},
    {0xb000, 0x00ff, 0, CODE_PLAIN, 0, 0},                           /* ADD, SUB SP */
    {0xb400, 0x0100, LIST8, CODE_PLAIN, 0, 0},                       /* PUSH */
    {0xbc00, 0x0000, LIST8, CODE_PLAIN, 0, 0},                       /* POP without PC */
    {0xbf00, 0x0000, 0, CODE_PLAIN, 0, 0},                           /* NOP */
    {0xbf20, 0x0010, 0, CODE_PLAIN, 0, 0},                           /* WFE, WFI */
    {0xb662, 0x0000, ALWAYS, CODE_PLAIN, 0, 0},                      /* CPSIE */
    {0xc000, 0x0f00, LIST8, CODE_PLAIN, 0, 0},                       /* STM, LDM */
    {0xba00, 0x003f, 0, CODE_PLAIN, 0, 0},                           /* REV */
    {0xf2400000, 0x048f70ff, REG8, CODE_PLAIN, 0, 0},                /* MOVW, MOVT */
    {0xf0400000, 0x040070ff, REG16 | REG8, CODE_PLAIN, 0, 0},        /* ORR */
    {0xeb000000, 0x001070f0, REG16 | REG8 | REG0, CODE_PLAIN, 0, 0}, /* ADD.W */
    {0xf8c00000, 0x00100fff, REG16 | REG12, CODE_PLAIN, 0, 0},       /* STR.W, LDR.W */
    {0xf8900000, 0x00000fff, REG16 | REG12, CODE_PLAIN, 0, 0},       /* LDRB.W */
    {0xf8df0000, 0x00000fff, REG12, CODE_PLAIN, 0, 0},               /* LDR.W literal */
    {0xe8900000, 0x00000000, REG16 | LIST13, CODE_PLAIN, 0, 0},      /* LDM.W */
    {0xe9200000, 0x00000000, REG16 | LIST13, CODE_PLAIN, 0, 0},      /* STMDB */
    {0xe9c00100, 0x000000ff, REG16, CODE_PLAIN, 0, 0},               /* STRD */
    {0xfb00f000, 0x00000000, REG16 | REG8 | REG0, CODE_PLAIN, 0, 0}, /* MUL */
    {0xf3ef8000, 0x00000000, REG8, CODE_PLAIN, 0, 0},                /* MRS */
    {0xf3808800, 0x00000000, REG16, CODE_PLAIN, 0, 0},               /* MSR */
    {0xf3af8000, 0x00000000, 0, CODE_PLAIN, 0, 0},                   /* NOP.W */
    {0xf3bf8f2f, 0x00000000, 0, CODE_PLAIN, 0, 0},                   /* CLREX */
    {0xf890f000, 0x00000fff, REG16, CODE_PLAIN, 0, 0},               /* PLD */
    {0xee300a00, 0x0040f02f, 0, CODE_PLAIN, 0, 0},                   /* VADD */
    {0xee010f10, 0x00000000, REG12, CODE_PLAIN, 0, 0},               /* MCR SCTLR */
};

static const struct code_form t32_waypoint[] = {
    {0xd000, 0, ALWAYS, CODE_DIRECT, CODE_CONDITIONAL, FIELD_T16_BCOND},
    {0xd000, 0, ALWAYS, CODE_DIRECT, CODE_CONDITIONAL, FIELD_T16_BCOND},
    {0xe000, 0, LAST_ONLY, CODE_DIRECT, 0, FIELD_T16_B},
    {0xb100, 0x0807, ALWAYS, CODE_DIRECT, CODE_CONDITIONAL, FIELD_T16_CB},
    {0xf0008000, 0, ALWAYS, CODE_DIRECT, CODE_CONDITIONAL, FIELD_T32_BCOND},
    {0xf0009000, 0, LAST_ONLY, CODE_DIRECT, 0, FIELD_T32_B},
    {0xf000d000, 0, LAST_ONLY, CODE_DIRECT, CODE_LINK, FIELD_T32_B},
    {0xf000d000, 0, LAST_ONLY, CODE_DIRECT, CODE_LINK, FIELD_T32_B},
    {0xf000c000, 0, LAST_ONLY, CODE_DIRECT, CODE_LINK | CODE_FAR_ISA, FIELD_T32_BLX},
    {0x4700, 0x0038, LAST_ONLY, CODE_INDIRECT, 0, 0},                          /* BX */
    {0x4770, 0, LAST_ONLY, CODE_INDIRECT, 0, 0},                               /* BX LR */
    {0x4780, 0x0038, LAST_ONLY, CODE_INDIRECT, CODE_LINK, 0},                  /* BLX register */
    {0xbd00, 0x00ff, LAST_ONLY, CODE_INDIRECT, 0, 0},                          /* POP with PC */
    {0x4487, 0x0038, LAST_ONLY, CODE_INDIRECT, CODE_SAME_ISA, 0},              /* ADD PC */
    {0x4687, 0x0038, LAST_ONLY, CODE_INDIRECT, CODE_SAME_ISA, 0},              /* MOV PC */
    {0xf3c08f00, 0, REG16 | LAST_ONLY, CODE_INDIRECT, 0, 0},                   /* BXJ */
    {0xe8908000, 0x00200000, REG16 | LIST13 | LAST_ONLY, CODE_INDIRECT, 0, 0}, /* LDMIA */
    {0xe9108000, 0x00200000, REG16 | LIST13 | LAST_ONLY, CODE_INDIRECT, 0, 0}, /* LDMDB */
    {0xe8d0f000, 0x00000010, REG16 | REG0 | LAST_ONLY, CODE_INDIRECT, CODE_SAME_ISA, 0},
    {0xf8d0f000, 0x00000fff, REG16 | LAST_ONLY, CODE_INDIRECT, 0, 0}, /* LDR.W PC, imm12 */
    {0xf85ff000, 0x00800fff, LAST_ONLY, CODE_INDIRECT, 0, 0},         /* literal */
    {0xf850fc00, 0x000001ff, REG16 | LAST_ONLY, CODE_INDIRECT, 0, 0}, /* pre-indexed, offset */
    {0xf85dfb04, 0, LAST_ONLY, CODE_INDIRECT, 0, 0},                  /* POP.W {PC} */
    {0xf850f000, 0x00000030, REG16 | REG0 | LAST_ONLY, CODE_INDIRECT, 0, 0},    /* register */
    {0xe810c000, 0x00200000, REG16 | LAST_ONLY, CODE_INDIRECT, CODE_RETURN, 0}, /* RFEDB */
    {0xe990c000, 0x00200000, REG16 | LAST_ONLY, CODE_INDIRECT, CODE_RETURN, 0}, /* RFEIA */
    {0xf3de8f00, 0x000000ff, LAST_ONLY, CODE_INDIRECT, CODE_RETURN, 0}, /* SUBS PC, LR; ERET */
    {0xf3bf8f60, 0x0000000f, 0, CODE_ISB, 0, 0},
    {0xee070f95, 0, REG12, CODE_ISB, 0, 0},
    {0xf3bf8f40, 0x0000000f, 0, CODE_BARRIER, 0, 0},
    {0xf3bf8f50, 0x0000000f, 0, CODE_BARRIER, 0, 0},
    {0xee070f9a, 0, REG12, CODE_BARRIER, 0, 0},
    {0xee070fba, 0, REG12, CODE_BARRIER, 0, 0},
};

struct form_table code_forms(unsigned state, enum form_use use)
{
    static const struct form_table tables[2][FORMS_USES] = {
        {{a32_plain, COUNT(a32_plain)}, {a32_waypoint, COUNT(a32_waypoint)}},
        {{t32_plain, COUNT(t32_plain)}, {t32_waypoint, COUNT(t32_waypoint)}},
    };

    return tables[state][use];
}

/* `offset` fits a signed field of `bits` bits in units of `unit` bytes. */
static bool fits(int64_t offset, unsigned bits, unsigned unit)
{
    int64_t reach = ((int64_t)1 << (bits - 1)) * unit;

    return offset % (int64_t)unit == 0 && offset >= -reach && offset < reach;
}

/* S:I1:I2:imm10:imm11 of B.W, BL and BLX. */
static uint32_t far_bits(int64_t offset)
{
    uint32_t o = (uint32_t)offset;
    uint32_t s = o >> 24 & 1;
    uint32_t j1 = (o >> 23 & 1) ^ s ^ 1;
    uint32_t j2 = (o >> 22 & 1) ^ s ^ 1;

    return s << 26 | (o >> 12 & 0x3ff) << 16 | j1 << 13 | j2 << 11 | (o >> 1 & 0x7ff);
}

static uint32_t cond_bits(int64_t offset)
{
    uint32_t o = (uint32_t)offset;

    return (o >> 20 & 1) << 26 | (o >> 12 & 0x3f) << 16 | (o >> 18 & 1) << 13 |
           (o >> 19 & 1) << 11 | (o >> 1 & 0x7ff);
}

bool code_set_target(uint32_t *opcode, enum code_field field, uint32_t address, uint32_t target)
{
    bool a32 = field == FIELD_A32_B || field == FIELD_A32_BLX;
    uint32_t base = field == FIELD_T32_BLX ? address & ~3u : address;
    int64_t offset = (int64_t)target - ((int64_t)base + (a32 ? 8 : 4));

    switch (field) {
    case FIELD_A32_B:
        *opcode |= (uint32_t)(offset >> 2) & 0xffffff;
        return fits(offset, 24, 4);
    case FIELD_A32_BLX:
        *opcode |= ((uint32_t)(offset >> 2) & 0xffffff) | ((uint32_t)offset >> 1 & 1) << 24;
        return fits(offset & ~(int64_t)3, 24, 4) && offset % 2 == 0;
    case FIELD_T16_BCOND:
        *opcode |= (uint32_t)(offset >> 1) & 0xff;
        return fits(offset, 8, 2);
    case FIELD_T16_B:
        *opcode |= (uint32_t)(offset >> 1) & 0x7ff;
        return fits(offset, 11, 2);
    case FIELD_T16_CB:
        *opcode |= ((uint32_t)offset >> 6 & 1) << 9 | ((uint32_t)offset >> 1 & 0x1f) << 3;
        return offset >= 0 && offset <= 126 && offset % 2 == 0;
    case FIELD_T32_BCOND:
        *opcode |= cond_bits(offset);
        return fits(offset, 20, 2);
    case FIELD_T32_B:
        *opcode |= far_bits(offset);
        return fits(offset, 24, 2);
    case FIELD_T32_BLX:
        *opcode |= far_bits(offset);
        return fits(offset, 23, 4);
    case FIELD_NONE:
        break;
    }
    return false;
}
