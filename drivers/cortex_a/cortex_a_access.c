/* SPDX-License-Identifier: BSD-3-Clause */
#include "cortex_a_access.h"

#define CPSR      16u
#define CPSR_C    (1u << 29)
#define CPSR_T    (1u << 5)
#define LOAD_BIT  (1u << 20)
#define WRITEBACK (1u << 21)
#define UP_BIT    (1u << 23)
#define INDEX_BIT (1u << 24)

static unsigned cortex_a_bits(uint32_t code, unsigned low, unsigned count)
{
    return code >> low & ((1u << count) - 1);
}

/* As a base or offset: the PC is ahead, and a word's. */
static uint32_t cortex_a_reg(const uint32_t *r, unsigned n)
{
    bool thumb = (r[CPSR] & CPSR_T) != 0;
    return n == 15 ? (r[15] + (thumb ? 4 : 8)) & ~3u : r[n];
}

static bool cortex_a_found(struct cortex_a_access *a, uint32_t address, uint32_t length, bool load)
{
    *a = (struct cortex_a_access){address, length, load, !load};
    return true;
}

static unsigned cortex_a_ones(uint32_t list)
{
    unsigned n = 0;
    for (; list; list &= list - 1)
        n++;
    return n;
}

static bool cortex_a_several(struct cortex_a_access *a, uint32_t base, unsigned count, bool up, bool before,
                    bool load)
{
    uint32_t low = up ? base : base - 4 * count;
    return cortex_a_found(a, low + (up == before ? 4 : 0), 4 * count, load);
}

/* A register, shifted by a constant. */
static uint32_t cortex_a_shifted(uint32_t code, const uint32_t *r)
{
    uint32_t value = cortex_a_reg(r, cortex_a_bits(code, 0, 4));
    unsigned amount = cortex_a_bits(code, 7, 5), kind = cortex_a_bits(code, 5, 2);
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
    uint32_t base = cortex_a_reg(r, cortex_a_bits(code, 16, 4));
    if ((code & INDEX_BIT) == 0)
        return base;
    return (code & UP_BIT) != 0 ? base + offset : base - offset;
}

/* LDRH, LDRSB, LDRSH, LDRD, STRH, STRD; SWP and the exclusive ones. */
static bool arm_extra(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    unsigned op = cortex_a_bits(code, 5, 2);
    bool load = (code & LOAD_BIT) != 0;
    if (op == 0 && cortex_a_bits(code, 23, 5) == 0x03) {
        static const uint8_t sizes[] = {4, 8, 1, 2};
        return cortex_a_found(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)), sizes[cortex_a_bits(code, 21, 2)], load);
    }
    if (op == 0 && cortex_a_bits(code, 23, 5) == 0x02 && cortex_a_bits(code, 20, 2) == 0) {
        cortex_a_found(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)), (code & 1u << 22) != 0 ? 1 : 4, true);
        a->store = true;
        return true;
    }
    if (op == 0)
        return false;
    bool immediate = (code & 1u << 22) != 0;
    uint32_t offset =
        immediate ? cortex_a_bits(code, 8, 4) << 4 | cortex_a_bits(code, 0, 4) : cortex_a_reg(r, cortex_a_bits(code, 0, 4));
    uint32_t size = op == 1 ? 2 : load ? op == 2 ? 1 : 2 : 8;
    return cortex_a_found(a, arm_address(code, r, offset), size, load || op == 2);
}

/* VLDR, VSTR, VLDM, VSTM, LDC, STC. */
static bool cortex_a_coprocessor(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    uint32_t words = cortex_a_bits(code, 0, 8), base = cortex_a_reg(r, cortex_a_bits(code, 16, 4));
    bool load = (code & LOAD_BIT) != 0, up = (code & UP_BIT) != 0;
    bool before = (code & INDEX_BIT) != 0, back = (code & WRITEBACK) != 0;
    if (cortex_a_bits(code, 21, 4) == 0 || cortex_a_bits(code, 21, 4) == 2) /* transfers between registers */
        return false;
    if (before && !back)
        return cortex_a_found(a, up ? base + 4 * words : base - 4 * words, (code & 1u << 8) != 0 ? 8 : 4,
                     load);
    return cortex_a_found(a, up ? base : base - 4 * words, 4 * words, load);
}

static bool cortex_a_arm(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    bool load = (code & LOAD_BIT) != 0;
    uint32_t offset;
    switch (cortex_a_bits(code, 25, 3)) {
    case 0:
        return (code & 0x90) == 0x90 && arm_extra(code, r, a);
    case 2:
    case 3:
        if ((code & 0x02000010u) == 0x02000010u)
            return false;
        offset = (code & 1u << 25) != 0 ? cortex_a_shifted(code, r) : cortex_a_bits(code, 0, 12);
        return cortex_a_found(a, arm_address(code, r, offset), (code & 1u << 22) != 0 ? 1 : 4, load);
    case 4:
        return cortex_a_several(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)), cortex_a_ones(code & 0xffff), (code & UP_BIT) != 0,
                       (code & INDEX_BIT) != 0, load);
    case 6:
        return cortex_a_coprocessor(code, r, a);
    default:
        return false;
    }
}

static bool cortex_a_thumb16(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    static const uint8_t sizes[] = {4, 2, 1, 1, 4, 2, 1, 2}; /* STR STRH STRB LDRSB LDR ... */
    uint32_t base = r[cortex_a_bits(code, 3, 3)], n = cortex_a_bits(code, 6, 5);
    bool load = (code & 0x800) != 0;
    unsigned op = cortex_a_bits(code, 9, 3);
    switch (code >> 11) {
    case 0x09: /* literal */
        return cortex_a_found(a, cortex_a_reg(r, 15) + 4 * cortex_a_bits(code, 0, 8), 4, true);
    case 0x0a:
    case 0x0b:
        return cortex_a_found(a, base + r[cortex_a_bits(code, 6, 3)], sizes[op], op >= 3);
    case 0x0c:
    case 0x0d:
        return cortex_a_found(a, base + 4 * n, 4, load);
    case 0x0e:
    case 0x0f:
        return cortex_a_found(a, base + n, 1, load);
    case 0x10:
    case 0x11:
        return cortex_a_found(a, base + 2 * n, 2, load);
    case 0x12:
    case 0x13:
        return cortex_a_found(a, r[13] + 4 * cortex_a_bits(code, 0, 8), 4, load);
    case 0x16:
    case 0x17:
        if ((code & 0x600) != 0x400)
            return false;
        return cortex_a_several(a, r[13], cortex_a_ones(code & 0x1ff), load, !load, load);
    case 0x18:
    case 0x19:
        return cortex_a_several(a, r[cortex_a_bits(code, 8, 3)], cortex_a_ones(code & 0xff), true, false, load);
    default:
        return false;
    }
}

/* Single ones: the size in 22:21, immediates of 12 and 8 bits, or a register. */
static bool thumb_single(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    unsigned n = cortex_a_bits(code, 16, 4);
    uint32_t base = cortex_a_reg(r, n), size = 1u << cortex_a_bits(code, 21, 2), imm8 = cortex_a_bits(code, 0, 8);
    bool load = (code & LOAD_BIT) != 0;
    if (n == 15)
        return cortex_a_found(a, (code & UP_BIT) != 0 ? base + cortex_a_bits(code, 0, 12) : base - cortex_a_bits(code, 0, 12),
                     size, load);
    if ((code & UP_BIT) != 0)
        return cortex_a_found(a, base + cortex_a_bits(code, 0, 12), size, load);
    if ((code & 0x800) == 0)
        return cortex_a_found(a, base + (cortex_a_reg(r, cortex_a_bits(code, 0, 4)) << cortex_a_bits(code, 4, 2)), size, load);
    if ((code & 0x400) == 0)
        return cortex_a_found(a, base, size, load);
    return cortex_a_found(a, (code & 0x200) != 0 ? base + imm8 : base - imm8, size, load);
}

/* Two registers, and the exclusive ones. */
static bool thumb_dual(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    static const uint8_t sizes[] = {1, 2, 4, 8};
    uint32_t base = cortex_a_reg(r, cortex_a_bits(code, 16, 4)), offset = 4 * cortex_a_bits(code, 0, 8);
    bool load = (code & LOAD_BIT) != 0;
    if (cortex_a_bits(code, 21, 4) == 2) /* P and W are 0, U is 0: LDREX, STREX */
        return cortex_a_found(a, base + offset, 4, load);
    if (cortex_a_bits(code, 21, 4) == 6)
        return cortex_a_bits(code, 6, 2) == 1 && cortex_a_found(a, base, sizes[cortex_a_bits(code, 4, 2)], load);
    if ((code & INDEX_BIT) == 0)
        offset = 0;
    return cortex_a_found(a, (code & UP_BIT) != 0 ? base + offset : base - offset, 8, load);
}

static bool cortex_a_thumb32(uint32_t code, const uint32_t *r, struct cortex_a_access *a)
{
    bool load = (code & LOAD_BIT) != 0;
    if (code >> 25 == 0x7c && cortex_a_bits(code, 21, 2) != 3)
        return thumb_single(code, r, a);
    if (code >> 25 == 0x74 && (code & 1u << 22) != 0)
        return thumb_dual(code, r, a);
    if (code >> 25 == 0x74 && cortex_a_bits(code, 23, 2) != 0 && cortex_a_bits(code, 23, 2) != 3)
        return cortex_a_several(a, cortex_a_reg(r, cortex_a_bits(code, 16, 4)), cortex_a_ones(code & 0xffff), (code & UP_BIT) != 0,
                       (code & INDEX_BIT) != 0, load);
    return code >> 25 == 0x76 && cortex_a_coprocessor(code, r, a);
}

bool cortex_a_find_access(uint32_t code, const uint32_t *regs, struct cortex_a_access *access)
{
    if ((regs[CPSR] & CPSR_T) == 0)
        return code >> 28 != 15 && cortex_a_arm(code, regs, access);
    return code >> 16 != 0 ? cortex_a_thumb32(code, regs, access) : cortex_a_thumb16(code, regs, access);
}
