/* SPDX-License-Identifier: BSD-3-Clause */
#include "cortex_a_access.h"

#define CPSR      16u
#define CPSR_C    (1u << 29)
#define CPSR_T    (1u << 5)
#define LOAD_BIT  (1u << 20)
#define WRITEBACK (1u << 21)
#define UP_BIT    (1u << 23)
#define INDEX_BIT (1u << 24)

static unsigned bits(uint32_t code, unsigned low, unsigned count)
{
    return code >> low & ((1u << count) - 1);
}

/* As a base or offset: the PC is ahead, and a word's. */
static uint32_t reg(const uint32_t *r, unsigned n)
{
    bool thumb = (r[CPSR] & CPSR_T) != 0;
    return n == 15 ? (r[15] + (thumb ? 4 : 8)) & ~3u : r[n];
}

static bool found(struct cortex_a_access *a, uint32_t address, uint32_t length, bool load)
{
    *a = (struct cortex_a_access){address, length, load, !load};
    return true;
}

static unsigned ones(uint32_t list)
{
    unsigned n = 0;
    for (; list; list &= list - 1)
        n++;
    return n;
}

static bool several(struct cortex_a_access *a, uint32_t base, unsigned count, bool up, bool before,
                    bool load)
{
    uint32_t low = up ? base : base - 4 * count;
    return found(a, low + (up == before ? 4 : 0), 4 * count, load);
}

/* A register, shifted by a constant. */
static uint32_t shifted(uint32_t code, const uint32_t *r)
{
    uint32_t value = reg(r, bits(code, 0, 4));
    unsigned amount = bits(code, 7, 5), kind = bits(code, 5, 2);
    switch (kind) {
    case 0:
        return value << amount;
    case 1:
        return amount ? value >> amount : 0;
    case 2:
        amount = amount ? amount : 31;
        return value >> amount | (value >> 31 ? ~(UINT32_MAX >> amount) : 0);
    default:
        if (amount == 0)
            return value >> 1 | ((r[CPSR] & CPSR_C) != 0 ? 1u << 31 : 0);
        return value >> amount | value << (32 - amount);
    }
}

/* Base, and the offset before the access if it is indexed. */
static uint32_t arm_address(uint32_t code, const uint32_t *r, uint32_t offset)
{
    uint32_t base = reg(r, bits(code, 16, 4));
    if ((code & INDEX_BIT) == 0)
        return base;
    return (code & UP_BIT) != 0 ? base + offset : base - offset;
}

/* LDRH, LDRSB, LDRSH, LDRD, STRH, STRD; SWP and the exclusive ones. */
static bool arm_extra(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    unsigned op = bits(code, 5, 2);
    bool load = (code & LOAD_BIT) != 0;
    if (op == 0 && bits(code, 23, 5) == 0x03) {
        static const uint8_t sizes[] = {4, 8, 1, 2};
        return found(a, reg(r, bits(code, 16, 4)), sizes[bits(code, 21, 2)], load);
    }
    if (op == 0 && bits(code, 23, 5) == 0x02 && bits(code, 20, 2) == 0) {
        found(a, reg(r, bits(code, 16, 4)), (code & 1u << 22) != 0 ? 1 : 4, true);
        a->store = true;
        return true;
    }
    if (op == 0)
        return false;
    bool immediate = (code & 1u << 22) != 0;
    uint32_t offset =
        immediate ? bits(code, 8, 4) << 4 | bits(code, 0, 4) : reg(r, bits(code, 0, 4));
    uint32_t size = op == 1 ? 2 : load ? op == 2 ? 1 : 2 : 8;
    return found(a, arm_address(code, r, offset), size, load || op == 2);
}

/* VLDR, VSTR, VLDM, VSTM, LDC, STC. */
static bool coprocessor(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    uint32_t words = bits(code, 0, 8), base = reg(r, bits(code, 16, 4));
    bool load = (code & LOAD_BIT) != 0, up = (code & UP_BIT) != 0;
    bool before = (code & INDEX_BIT) != 0, back = (code & WRITEBACK) != 0;
    if (bits(code, 21, 4) == 0 || bits(code, 21, 4) == 2) /* transfers between registers */
        return false;
    if (before && !back)
        return found(a, up ? base + 4 * words : base - 4 * words, (code & 1u << 8) != 0 ? 8 : 4,
                     load);
    return found(a, up ? base : base - 4 * words, 4 * words, load);
}

static bool arm(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    bool load = (code & LOAD_BIT) != 0;
    uint32_t offset;
    switch (bits(code, 25, 3)) {
    case 0:
        return (code & 0x90) == 0x90 && arm_extra(code, r, a);
    case 2:
    case 3:
        if ((code & 0x02000010u) == 0x02000010u)
            return false;
        offset = (code & 1u << 25) != 0 ? shifted(code, r) : bits(code, 0, 12);
        return found(a, arm_address(code, r, offset), (code & 1u << 22) != 0 ? 1 : 4, load);
    case 4:
        return several(a, reg(r, bits(code, 16, 4)), ones(code & 0xffff), (code & UP_BIT) != 0,
                       (code & INDEX_BIT) != 0, load);
    case 6:
        return coprocessor(code, r, a);
    default:
        return false;
    }
}

static bool thumb16(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    static const uint8_t sizes[] = {4, 2, 1, 1, 4, 2, 1, 2}; /* STR STRH STRB LDRSB LDR ... */
    uint32_t base = r[bits(code, 3, 3)], n = bits(code, 6, 5);
    bool load = (code & 0x800) != 0;
    unsigned op = bits(code, 9, 3);
    switch (code >> 11) {
    case 0x09: /* literal */
        return found(a, reg(r, 15) + 4 * bits(code, 0, 8), 4, true);
    case 0x0a:
    case 0x0b:
        return found(a, base + r[bits(code, 6, 3)], sizes[op], op >= 3);
    case 0x0c:
    case 0x0d:
        return found(a, base + 4 * n, 4, load);
    case 0x0e:
    case 0x0f:
        return found(a, base + n, 1, load);
    case 0x10:
    case 0x11:
        return found(a, base + 2 * n, 2, load);
    case 0x12:
    case 0x13:
        return found(a, r[13] + 4 * bits(code, 0, 8), 4, load);
    case 0x16:
    case 0x17:
        if ((code & 0x600) != 0x400)
            return false;
        return several(a, r[13], ones(code & 0x1ff), load, !load, load);
    case 0x18:
    case 0x19:
        return several(a, r[bits(code, 8, 3)], ones(code & 0xff), true, false, load);
    default:
        return false;
    }
}

/* Single ones: the size in 22:21, immediates of 12 and 8 bits, or a register. */
static bool thumb_single(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    unsigned n = bits(code, 16, 4);
    uint32_t base = reg(r, n), size = 1u << bits(code, 21, 2), imm8 = bits(code, 0, 8);
    bool load = (code & LOAD_BIT) != 0;
    if (n == 15)
        return found(a, (code & UP_BIT) != 0 ? base + bits(code, 0, 12) : base - bits(code, 0, 12),
                     size, load);
    if ((code & UP_BIT) != 0)
        return found(a, base + bits(code, 0, 12), size, load);
    if ((code & 0x800) == 0)
        return found(a, base + (reg(r, bits(code, 0, 4)) << bits(code, 4, 2)), size, load);
    if ((code & 0x400) == 0)
        return found(a, base, size, load);
    return found(a, (code & 0x200) != 0 ? base + imm8 : base - imm8, size, load);
}

/* Two registers, and the exclusive ones. */
static bool thumb_dual(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    static const uint8_t sizes[] = {1, 2, 4, 8};
    uint32_t base = reg(r, bits(code, 16, 4)), offset = 4 * bits(code, 0, 8);
    bool load = (code & LOAD_BIT) != 0;
    if (bits(code, 21, 4) == 2) /* P and W are 0, U is 0: LDREX, STREX */
        return found(a, base + offset, 4, load);
    if (bits(code, 21, 4) == 6)
        return bits(code, 6, 2) == 1 && found(a, base, sizes[bits(code, 4, 2)], load);
    if ((code & INDEX_BIT) == 0)
        offset = 0;
    return found(a, (code & UP_BIT) != 0 ? base + offset : base - offset, 8, load);
}

static bool thumb32(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    bool load = (code & LOAD_BIT) != 0;
    if (code >> 25 == 0x7c && bits(code, 21, 2) != 3)
        return thumb_single(code, r, a);
    if (code >> 25 == 0x74 && (code & 1u << 22) != 0)
        return thumb_dual(code, r, a);
    if (code >> 25 == 0x74 && bits(code, 23, 2) != 0 && bits(code, 23, 2) != 3)
        return several(a, reg(r, bits(code, 16, 4)), ones(code & 0xffff), (code & UP_BIT) != 0,
                       (code & INDEX_BIT) != 0, load);
    return code >> 25 == 0x76 && coprocessor(code, r, a);
}

bool cortex_a_find_access(uint32_t code, const uint32_t *regs, struct cortex_a_access *access)
{
    if ((regs[CPSR] & CPSR_T) == 0)
        return code >> 28 != 15 && arm(code, regs, access);
    return code >> 16 != 0 ? thumb32(code, regs, access) : thumb16(code, regs, access);
}
