/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/flow/access.h"

static struct access access_memory(bool store, unsigned bytes)
{
    return (struct access){ACCESS_MEMORY, store, (uint8_t)bytes};
}

static struct access access_none(void)
{
    return (struct access){0};
}

/* The coprocessor space is the same in A32 and T32: bits 27:24 and L. */
static struct access access_coprocessor(uint32_t op)
{
    bool load = op >> 20 & 1;
    if ((op & 0x0f000010) == 0x0e000010) /* MCR, MRC and their VFP forms */
        return (struct access){ACCESS_REGISTER, !load, 4};
    if ((op & 0x0fe00000) == 0x0c400000) /* MCRR, MRRC */
        return (struct access){ACCESS_REGISTER, !load, 4};
    if ((op & 0x0e000000) == 0x0c000000 && (op & 0x01a00000)) /* LDC, STC, VLDR, VLDM ... */
        return access_memory(!load, 4);
    return access_none();
}

/* i[27:25] = 000 with bits 7 and 4 set: halfwords, doubles, exclusives, swaps. */
static struct access a32_extra(uint32_t op)
{
    bool load = op >> 20 & 1;
    unsigned sh = op >> 5 & 3;
    if (sh == 0) {
        static const uint8_t exclusive[4] = {4, 4, 1, 2};
        if ((op & 0x0f800000) == 0x01800000) /* LDREX, STREX, LDREXD, LDREXB, LDREXH ... */
            return access_memory(!load, exclusive[op >> 21 & 3]);
        if ((op & 0x0fb00000) == 0x01000000) /* SWP, SWPB */
            return access_memory(false, op >> 22 & 1 ? 1 : 4);
        return access_none(); /* multiplies */
    }
    if (!load && sh >= 2) /* LDRD, STRD */
        return access_memory(sh == 3, 4);
    return access_memory(!load, sh == 2 ? 1 : 2);
}

static struct access access_a32(uint32_t op)
{
    bool load = op >> 20 & 1;
    if (op >> 28 == 0xf) {
        if ((op & 0xfe000000) == 0xf8000000) /* SRS, RFE */
            return access_memory(!load, 4);
        if ((op & 0xff100000) == 0xf4000000) /* VLD1 .., VST1 .. */
            return access_memory(!(op >> 21 & 1), 4);
        return (op & 0x0c000000) == 0x0c000000 ? access_coprocessor(op) : access_none();
    }
    switch (op >> 25 & 7) {
    case 0:
        return (op & 0x90) == 0x90 ? a32_extra(op) : access_none();
    case 2:
        return access_memory(!load, op >> 22 & 1 ? 1 : 4);
    case 3:
        return op & 0x10 ? access_none() : access_memory(!load, op >> 22 & 1 ? 1 : 4);
    case 4:
        return access_memory(!load, 4);
    case 6:
    case 7:
        return access_coprocessor(op);
    default:
        return access_none();
    }
}

static struct access access_t16(uint32_t h, enum bt_isa isa)
{
    /* 0101 ooo: STR STRH STRB LDRSB LDR LDRH LDRB LDRSH */
    static const uint8_t sizes[8] = {4, 2, 1, 1, 4, 2, 1, 2};
    bool load = h >> 11 & 1;
    switch (h >> 12) {
    case 4:
        return h >> 11 == 9 ? access_memory(false, 4) : access_none(); /* LDR literal */
    case 5:
        return access_memory((h >> 9 & 7) < 3, sizes[h >> 9 & 7]);
    case 6:
    case 9:
        return access_memory(!load, 4);
    case 7:
        return access_memory(!load, 1);
    case 8:
        return access_memory(!load, 2);
    case 0xb:
        return (h & 0xf600) == 0xb400 ? access_memory(!load, 4) : access_none(); /* PUSH, POP */
    case 0xc:
        return isa == BT_ISA_T32EE ? access_none()
                                   : access_memory(!load, 4); /* handler branches there */
    default:
        return access_none();
    }
}

/* 1111100x: one register; PLD and PLI are loads to the PC of less than a word. */
static struct access t32_single(uint32_t op)
{
    bool load = op >> 20 & 1;
    unsigned size = op >> 21 & 3;
    if (size == 3)
        return access_none();
    if (load && size < 2 && (op >> 12 & 0xf) == 0xf)
        return access_none();
    return access_memory(!load, 1u << size);
}

/* 1110100x: multiple, double, exclusive, table branches. */
static struct access t32_multiple(uint32_t op)
{
    bool load = op >> 20 & 1;
    if (!(op >> 22 & 1)) /* LDM, STM, RFE, SRS */
        return access_memory(!load, 4);
    if ((op & 0xffe00000) == 0xe8c00000) { /* exclusives of all sizes; TBB, TBH */
        unsigned code = op >> 4 & 7;
        return access_memory(!load, code == 0 || code == 4 ? 1 : code == 1 || code == 5 ? 2 : 4);
    }
    return access_memory(!load, 4);
}

struct access access_of(uint32_t opcode, unsigned size, enum bt_isa isa)
{
    if (isa == BT_ISA_A32)
        return access_a32(opcode);
    if (isa != BT_ISA_T32 && isa != BT_ISA_T32EE)
        return access_none();
    if (size == 2)
        return access_t16(opcode, isa);
    if ((opcode & 0xfe000000) == 0xe8000000)
        return t32_multiple(opcode);
    if ((opcode & 0xff100000) == 0xf9000000) /* VLD1 .., VST1 .. */
        return access_memory(!(opcode >> 21 & 1), 4);
    if ((opcode & 0xfe000000) == 0xf8000000)
        return t32_single(opcode);
    if ((opcode & 0xec000000) == 0xec000000)
        return access_coprocessor(opcode);
    return access_none();
}
