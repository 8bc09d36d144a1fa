/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The A64 words of classify_a64.cpp: the space of branches, exceptions and system instructions
 * with every value of the bits that tell one instruction from another, random words of all kinds,
 * and near misses. A64 keeps opcode bits and operands apart, so that "every value of the opcode
 * bits, operands at their limits and at random" is a few million words instead of 2^32.
 */
#ifndef TESTS_ORACLE_CLASSIFY_A64_H
#define TESTS_ORACLE_CLASSIFY_A64_H

#include "tests/oracle/classify.h"

#define A64_BASE 0xffffffc000000000ull /* targets need all their bits */

/* Words of `value` with each combination of the bits `each`; the bits `operands` are filled. */
struct a64_group {
    uint32_t value;
    uint32_t each;
    uint32_t operands;
    unsigned fillings; /* for one combination; the first four are the limits */
};

/* In seconds. */
static const a64_group a64_quick[] = {
    {0x14000000, 0x80000000, 0x03ffffff, 20000}, /* B, BL */
    {0x34000000, 0x8100001f, 0x00ffffe0, 400},   /* CBZ, CBNZ */
    {0x36000000, 0x81f80000, 0x0007ffff, 200},   /* TBZ, TBNZ */
    {0x54000000, 0x0100001f, 0x00ffffe0, 1000},  /* B.cond, BC.cond, RETAASPPC and their holes */
    {0x74000000, 0x81e0c000, 0x001f3fff, 200},   /* CB<cc>, CBB, CBH and their holes */
    {0xd4000000, 0x00e0001f, 0x001fffe0, 40},    /* exception generation */
    {0xd61f0000, 0x01e0fc1f, 0x000003e0, 6},     /* branches to registers, pointer authentication */
    {0xd6000000, 0x01ff0000, 0x0000ffff, 200},   /* the same, op2 not 31 */
    {0xd5000000, 0x003fffe0, 0x0000001f, 1},     /* system, Rt = 0 */
    {0xd500001f, 0x003fffe0, 0x00000000, 1},     /* system, Rt = 31 */
    {0xd5400000, 0x003fe000, 0x00001fff, 8},     /* system, pairs of registers */
    {0x00000000, 0xffff0000, 0x0000ffff, 6},     /* all there is, by the upper half */
};

/* In minutes. */
static const a64_group a64_full[] = {
    {0x14000000, 0x83f00000, 0x000fffff, 2000}, {0x34000000, 0x81ff001f, 0x0000ffe0, 16},
    {0x36000000, 0x81fe001f, 0x0001ffe0, 16},   {0x54000000, 0x01ff001f, 0x0000ffe0, 16},
    {0x74000000, 0x81e0ffff, 0x001f0000, 4},    {0xd4000000, 0x00e0001f, 0x001fffe0, 4000},
    {0xd6000000, 0x01fffc1f, 0x000003e0, 4},    {0xd61f0000, 0x01e0ffff, 0x00000000, 1},
    {0xd5000000, 0x003fffff, 0x00000000, 1},    {0xd5400000, 0x003fffff, 0x00000000, 1},
    {0x00000000, 0xffff0000, 0x0000ffff, 60},
};

/* Zero, all ones, the largest and the smallest signed number, then chance. */
static inline uint32_t a64_fill(random_source &rnd, uint32_t operands, unsigned filling)
{
    uint32_t top = operands & ~(operands >> 1);
    switch (filling) {
    case 0:
        return 0;
    case 1:
        return operands;
    case 2:
        return operands & ~top;
    case 3:
        return top;
    default:
        return rnd.next() & operands;
    }
}

static inline void a64_add(std::vector<word> &words, uint32_t op)
{
    words.push_back({op, A64_BASE + 4 * words.size()});
}

static inline void a64_add_group(std::vector<word> &words, random_source &rnd, const a64_group &g)
{
    uint32_t bits = 0;
    do {
        for (unsigned i = 0; i < g.fillings; i++)
            a64_add(words, g.value | bits | a64_fill(rnd, g.operands, i));
        bits = (bits - g.each) & g.each; /* the next subset */
    } while (bits);
}

/* The groups, then `uniform` random words, then as many words of the groups with a bit flipped. */
static inline std::vector<word> a64_words(const a64_group *groups, size_t count, uint64_t seed,
                                          size_t uniform)
{
    random_source rnd = {seed};
    std::vector<word> words;
    for (size_t i = 0; i < count; i++)
        a64_add_group(words, rnd, groups[i]);
    for (size_t i = 0; i < uniform; i++)
        a64_add(words, rnd.next());
    for (size_t i = 0; i < uniform; i++) {
        const a64_group &g = groups[rnd.next() % (count - 1)];
        uint32_t op = g.value | (rnd.next() & (g.each | g.operands));
        a64_add(words, op ^ 1u << (rnd.next() & 31));
    }
    return words;
}

static inline view a64_our_view(const word &w)
{
    struct insn in;
    view v;
    insn_decode_a64(w.op, w.address, &in);
    v.cls = in.cls;
    v.size = in.size;
    v.link = (in.flags & INSN_LINK) != 0;
    v.conditional = (in.flags & INSN_CONDITIONAL) != 0;
    v.exc_return = (in.flags & INSN_EXC_RETURN) != 0;
    v.target = in.target;
    v.target_isa = in.target_isa;
    return v;
}

#endif
