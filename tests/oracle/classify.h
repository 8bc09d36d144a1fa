/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the programs that hold decoder/program/insn.h against an independent classifier: the
 * words to try (those of A64: classify_a64.h), the comparison, and the ledger of explained
 * differences. Every explanation is a predicate on the opcode alone that must hold exactly where
 * the two sides differ, and its count is asserted: the words come from a fixed seed, so the counts
 * never change.
 */
#ifndef TESTS_ORACLE_CLASSIFY_H
#define TESTS_ORACLE_CLASSIFY_H

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

extern "C" {
#include "decoder/program/insn.h"
}

/* One instruction to classify. A 16-bit T32 instruction stands in the upper half of `op`. */
struct word {
    uint32_t op;
    uint64_t address;
};

enum word_set { SET_A32, SET_T16, SET_T32, SET_A64 };

/* What one side says about a word. */
struct view {
    uint8_t cls = INSN_OTHER; /* enum insn_class */
    uint8_t size = 0;
    uint8_t target_isa = BT_ISA_A32; /* direct branches only, as is target */
    bool link = false;
    bool conditional = false;
    bool exc_return = false;
    uint64_t target = 0;
};

enum {
    DIFF_CLASS = 1, /* if the class differs nothing else is compared */
    DIFF_SIZE = 2,
    DIFF_LINK = 4,
    DIFF_TARGET = 8,
    DIFF_ISA = 16,
    DIFF_CONDITION = 32, /* of waypoints */
    DIFF_EXC_RETURN = 64,
};

#define SOME (~0ul) /* differences: not counted, at least one */

/* An explained difference between decoder/program/insn.h ("ours") and the other side. */
struct reason {
    const char *name;
    word_set set;
    bool (*holds)(uint32_t op);
    unsigned diff; /* exactly these DIFF_* bits */
    int ours;      /* class on either side */
    int theirs;
    unsigned long expected; /* words of the fixed seed for which it holds */
    unsigned long seen;
    bool younger = false; /* a newer version of the other side knows it, and agrees */
};

/* xorshift64*: the sequence is part of the test, the library's generators may change. */
struct random_source {
    uint64_t state;

    uint32_t next()
    {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<uint32_t>((state * 0x2545f4914f6cdd1dull) >> 32);
    }
};

/* Encodings that deserve more than their share of a uniform draw; free bits are random. */
struct shape {
    uint32_t mask;
    uint32_t value;
};

static const shape a32_shapes[] = {
    {0x0e000000, 0x0a000000}, {0xfe000000, 0xfa000000}, {0x0ff000f0, 0x01200010},
    {0x0ff000f0, 0x01200020}, {0x0ff000f0, 0x01200030}, {0x0ffffff0, 0x012fff10},
    {0x0ffffff0, 0x012fff20}, {0x0ffffff0, 0x012fff30}, {0x0fffffff, 0x0160006e},
    {0x0e108000, 0x08108000}, {0x0fff8000, 0x08bd8000}, {0x0e508000, 0x08508000},
    {0x0e50f000, 0x0410f000}, {0x0fff0fff, 0x049d0004}, {0x0e50f010, 0x0610f000},
    {0x0e50fff0, 0x0610f000}, {0x0e00f000, 0x0200f000}, {0x0e00f000, 0x0000f000},
    {0x0e00f010, 0x0000f000}, {0x0e00f090, 0x0000f090}, {0x0e00f090, 0x0000f010},
    {0x0ffff000, 0x025ef000}, {0x0feffff0, 0x01a0f000}, {0xfe500000, 0xf8100000},
    {0xfe50ffff, 0xf8100a00}, {0xfff00000, 0xf5700000}, {0xffffff00, 0xf57ff000},
    {0x0fff0fff, 0x0e070f95}, {0x0fff0fff, 0x0e070f9a}, {0x0fff0fff, 0x0e070fba},
    {0x0f900000, 0x01000000}, {0x0fb00000, 0x03000000}, {0x0ffff000, 0x0320f000},
    {0x0f000000, 0x0f000000}, {0x0ff000f0, 0x01600070}, {0x0ff000f0, 0x01400070},
};

static const shape t32_shapes[] = {
    {0xf800d000, 0xf0008000}, {0xf800d000, 0xf0009000}, {0xf800d000, 0xf000d000},
    {0xf800d000, 0xf000c000}, {0xfff0d000, 0xf3c08000}, {0xfff0ffff, 0xf3c08f00},
    {0xfff0d000, 0xf3d08000}, {0xffffff00, 0xf3de8f00}, {0xfff0d000, 0xf3b08000},
    {0xffffff00, 0xf3bf8f00}, {0xffd00000, 0xe8100000}, {0xffd0ffff, 0xe810c000},
    {0xffd00000, 0xe9900000}, {0xffd0ffff, 0xe990c000}, {0xfe500000, 0xe8100000},
    {0xffd0a000, 0xe8908000}, {0xffd0a000, 0xe9108000}, {0xffff0000, 0xe8bd0000},
    {0xfff0ff00, 0xe8d0f000}, {0xfff0fff0, 0xe8d0f000}, {0xff70f000, 0xf850f000},
    {0xff7ff000, 0xf85ff000}, {0xfff0f000, 0xf8d0f000}, {0xfff0f800, 0xf850f800},
    {0xfff0ffc0, 0xf850f000}, {0xffff0fff, 0xf85d0b04}, {0xffff0fff, 0xee070f95},
    {0xffff0fff, 0xee070f9a}, {0xffff0fff, 0xee070fba}, {0xfe000f00, 0xea000f00},
    {0xfa008f00, 0xf0000f00}, {0xfff0f000, 0xf3a08000}, {0xfff0f000, 0xf7f08000},
    {0xfff0f000, 0xf7e08000}, {0xffffd001, 0xf00fc001}, {0xff80f001, 0xf000c001},
};

static inline uint32_t shaped(random_source &rnd, const shape *shapes, size_t count)
{
    const shape &s = shapes[rnd.next() % count];
    uint32_t op = s.value | (rnd.next() & ~s.mask);
    if (!(s.mask & 0xf0000000)) {
        uint32_t dice = rnd.next() & 7;
        if (dice < 4)
            op = (op & 0x0fffffff) | 0xe0000000;
        else if (dice == 4)
            op |= 0xf0000000;
    }
    if ((rnd.next() & 3) == 0) /* a near miss tests the mask from outside */
        op ^= 1u << (rnd.next() & 31);
    return op;
}

static inline bool is_wide(uint32_t op)
{
    return op >> 27 >= 0x1d;
}

/* `uniform` uniformly random words, then `weighted` ones of the shapes above. */
static inline std::vector<word> random_words(word_set set, uint64_t seed, size_t uniform,
                                             size_t weighted)
{
    random_source rnd = {seed};
    std::vector<word> words;
    words.reserve(uniform + weighted);
    while (words.size() < uniform + weighted) {
        uint32_t op;
        if (words.size() < uniform)
            op = set == SET_T32 ? (0xe800 + rnd.next() % 0x1800) << 16 | (rnd.next() & 0xffff)
                                : rnd.next();
        else if (set == SET_T32)
            op = shaped(rnd, t32_shapes, sizeof t32_shapes / sizeof *t32_shapes);
        else
            op = shaped(rnd, a32_shapes, sizeof a32_shapes / sizeof *a32_shapes);
        if (set == SET_T32 && !is_wide(op))
            continue;
        words.push_back({op, rnd.next() & (set == SET_T32 ? ~1u : ~3u)});
    }
    return words;
}

/* Comparison. */

static inline view our_view(word_set set, const word &w)
{
    struct insn in;
    view v;
    if (set == SET_A32)
        insn_decode_a32(w.op, w.address, &in);
    else
        insn_decode_t32(static_cast<uint16_t>(w.op >> 16), static_cast<uint16_t>(w.op), w.address,
                        &in);
    /* WFI and WFE are waypoints of ETMv4 units that say so, and of no others. */
    v.cls = in.cls == INSN_WAIT ? static_cast<uint8_t>(INSN_OTHER) : in.cls;
    v.size = in.size;
    v.link = (in.flags & INSN_LINK) != 0;
    v.conditional = (in.flags & INSN_CONDITIONAL) != 0;
    v.exc_return = (in.flags & INSN_EXC_RETURN) != 0;
    v.target = static_cast<uint32_t>(in.target);
    v.target_isa = in.target_isa;
    return v;
}

static inline unsigned compare(const view &a, const view &b, unsigned fields)
{
    unsigned diff = 0;
    if (a.size != b.size)
        diff |= DIFF_SIZE;
    if (a.cls != b.cls)
        return (diff | DIFF_CLASS) & fields;
    if (a.link != b.link)
        diff |= DIFF_LINK;
    if (a.cls == INSN_DIRECT && a.target != b.target)
        diff |= DIFF_TARGET;
    if (a.cls == INSN_DIRECT && a.target_isa != b.target_isa)
        diff |= DIFF_ISA;
    if (a.cls != INSN_OTHER && a.conditional != b.conditional)
        diff |= DIFF_CONDITION;
    if (a.cls != INSN_OTHER && a.exc_return != b.exc_return)
        diff |= DIFF_EXC_RETURN;
    return diff & fields;
}

/* Collects the verdicts of one program. */
struct ledger {
    const char *other; /* name of the other side */
    reason *reasons;
    size_t count;
    unsigned fields; /* DIFF_* bits that the other side can answer */
    unsigned long failures = 0;

    void check(word_set set, const word &w, const view &ours, const view &theirs)
    {
        unsigned diff = compare(ours, theirs, fields);
        for (size_t i = 0; i < count; i++) {
            reason &r = reasons[i];
            if (r.set != set || !r.holds(w.op))
                continue;
            r.seen++;
            if (!diff && r.younger)
                return;
            if (diff != r.diff || ours.cls != r.ours || theirs.cls != r.theirs)
                complain(set, w, ours, theirs, r.name);
            return;
        }
        if (diff)
            complain(set, w, ours, theirs, "unexplained");
    }

    void complain(word_set set, const word &w, const view &ours, const view &theirs,
                  const char *why)
    {
        static const char *const sets[] = {"a32", "t16", "t32", "a64"};
        if (++failures > 40)
            return;
        std::printf("# %s %08" PRIx32 " at %08" PRIx64 ": ours class=%d size=%d link=%d cond=%d "
                    "exc=%d target=%08" PRIx64 "/%d, %s class=%d size=%d link=%d cond=%d exc=%d "
                    "target=%08" PRIx64 "/%d: %s\n",
                    sets[set], w.op, w.address, ours.cls, ours.size, ours.link, ours.conditional,
                    ours.exc_return, ours.target, ours.target_isa, other, theirs.cls, theirs.size,
                    theirs.link, theirs.conditional, theirs.exc_return, theirs.target,
                    theirs.target_isa, why);
    }

    /* Prints one line a check and returns the exit status. */
    int finish(unsigned long words)
    {
        int status = failures ? 1 : 0;
        if (failures)
            std::printf("FAIL classify against %s: %lu of %lu words differ without a reason\n",
                        other, failures, words);
        else
            std::printf("PASS classify against %s: %lu words\n", other, words);
        for (size_t i = 0; i < count; i++) {
            const reason &r = reasons[i];
            if (r.seen == r.expected || (r.expected == SOME && r.seen > 0)) {
                std::printf("PASS difference to %s: %s: %lu words\n", other, r.name, r.seen);
                continue;
            }
            std::printf("FAIL difference to %s: %s: %lu words, expected %lu\n", other, r.name,
                        r.seen, r.expected);
            status = 1;
        }
        return status;
    }
};

#endif
