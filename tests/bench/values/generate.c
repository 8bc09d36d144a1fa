/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/values/generate.h"

#include "tests/bench/values/machine.h"

#include <string.h>

struct out {
    uint8_t *code;
    size_t at, max;
    uint32_t seed;
    unsigned it; /* T32: instructions left in an IT block */
};

static unsigned pick(struct out *o, unsigned n)
{
    return (machine_random(&o->seed) >> 5) % n;
}

static unsigned reg(struct out *o) /* any but SP and PC */
{
    unsigned r = pick(o, 14);
    return r == 13 ? 14 : r;
}

static unsigned reg_but(struct out *o, unsigned a, unsigned b)
{
    unsigned r;
    do
        r = reg(o);
    while (r == a || r == b);
    return r;
}

static void put32(struct out *o, uint32_t op)
{
    if (o->at + 4 <= o->max)
        memcpy(o->code + o->at, &op, 4);
    o->at += 4;
}

static void put16(struct out *o, unsigned op)
{
    uint16_t half = (uint16_t)op;
    if (o->at + 2 <= o->max)
        memcpy(o->code + o->at, &half, 2);
    o->at += 2;
}

static void wide(struct out *o, uint32_t op)
{
    put16(o, op >> 16);
    put16(o, op & 0xffff);
}

static uint32_t cond_a32(struct out *o)
{
    return (pick(o, 2) ? 14u : pick(o, 14)) << 28;
}

static uint32_t ram_address(struct out *o, unsigned align)
{
    return RAM_BASE + 0x1000 + pick(o, 64) * 16 + (align ? 0 : pick(o, 16));
}

/* A32. */

static void a32_base(struct out *o, unsigned rn, unsigned align)
{
    uint32_t a = ram_address(o, align);
    put32(o, 0xe3000000 | (a >> 12 & 15) << 16 | rn << 12 | (a & 0xfff));
    put32(o, 0xe3400000 | (a >> 28) << 16 | rn << 12 | (a >> 16 & 0xfff));
}

static void a32_data(struct out *o)
{
    unsigned op = pick(o, 16);
    bool test = op >= 8 && op < 12;
    uint32_t w = cond_a32(o) | op << 21 | (test || pick(o, 2) ? 1u << 20 : 0);
    w |= op == 13 || op == 15 ? 0 : reg(o) << 16;
    w |= test ? 0 : reg(o) << 12;
    switch (pick(o, 3)) {
    case 0:
        w |= 1u << 25 | pick(o, 0x1000);
        break;
    case 1:
        w |= pick(o, 32) << 7 | pick(o, 4) << 5 | reg(o);
        break;
    default:
        w |= reg(o) << 8 | pick(o, 4) << 5 | 1u << 4 | reg(o);
    }
    put32(o, w);
}

static void a32_other(struct out *o)
{
    unsigned lsb = pick(o, 32), d = reg(o), n = reg(o), m = reg(o), a = reg_but(o, d, d);
    uint32_t c = cond_a32(o);
    static const uint32_t reversals[] = {0x06bf0f30, 0x06bf0fb0, 0x06ff0f30, 0x06ff0fb0};
    static const uint32_t extends[] = {0x06af0070, 0x06bf0070, 0x06ef0070,
                                       0x06ff0070, 0x068f0070, 0x06cf0070};
    switch (pick(o, 14)) {
    case 0:
        put32(o, c | 0x00000090 | d << 16 | m << 8 | n | pick(o, 2) << 20);
        break;
    case 1:
        put32(o, c | 0x00200090 | d << 16 | a << 12 | m << 8 | n | pick(o, 2) << 20);
        break;
    case 2:
        put32(o, c | 0x00600090 | d << 16 | a << 12 | m << 8 | n);
        break;
    case 3:
        put32(o, c | 0x00800090 | pick(o, 4) << 21 | d << 16 | a << 12 | m << 8 | n |
                     pick(o, 2) << 20);
        break;
    case 4:
        put32(o, c | 0x07e00050 | pick(o, 32 - lsb) << 16 | d << 12 | lsb << 7 | n);
        break;
    case 5:
        put32(o, c | 0x07a00050 | pick(o, 32 - lsb) << 16 | d << 12 | lsb << 7 | n);
        break;
    case 6:
        put32(o, c | 0x07c00010 | (lsb + pick(o, 32 - lsb)) << 16 | d << 12 | lsb << 7 |
                     (pick(o, 3) ? n : 15));
        break;
    case 7:
        put32(o, c | reversals[pick(o, 4)] | d << 12 | n);
        break;
    case 8:
        put32(o, c | extends[pick(o, 6)] | d << 12 | pick(o, 4) << 10 | n);
        break;
    case 9:
        put32(o, c | 0x0710f010 | pick(o, 2) << 21 | d << 16 | m << 8 | n);
        break;
    case 10:
        put32(o, c | 0x016f0f10 | d << 12 | n);
        break;
    case 11:
        put32(o, c | (pick(o, 2) ? 0x03000000u : 0x03400000u) | pick(o, 16) << 16 | d << 12 |
                     pick(o, 0x1000));
        break;
    case 12: /* saturation, parallel addition, PKH, SMLABB */
        put32(o, c | (pick(o, 2) ? 0x06a00010u : 0x06100f10u | m << 16) | d << 12 | n);
        break;
    default:
        put32(o, c | 0x0a000000 | pick(o, 4)); /* B over some */
    }
}

static void a32_memory(struct out *o)
{
    unsigned n = reg(o), t = reg_but(o, n, n), m = reg_but(o, n, t);
    uint32_t c = cond_a32(o), mode = pick(o, 8), list;
    uint32_t puw = (mode & 1) << 24 | (mode >> 1 & 1) << 23 | (mode & 1 ? (mode >> 2) << 21 : 0);
    a32_base(o, n, 1);
    switch (pick(o, 6)) {
    case 0:
        put32(o, c | 0x04000000 | puw | pick(o, 2) << 22 | pick(o, 2) << 20 | n << 16 | t << 12 |
                     pick(o, 16) * 4);
        break;
    case 1: /* register offset, small */
        put32(o, 0xe3a00000 | m << 12 | pick(o, 64));
        put32(o, c | 0x06000000 | puw | pick(o, 2) << 22 | pick(o, 2) << 20 | n << 16 | t << 12 |
                     pick(o, 3) << 7 | m);
        break;
    case 2:
        put32(o, c | 0x00400090 | puw | n << 16 | t << 12 | pick(o, 4) << 8 | pick(o, 8) * 2 |
                     (pick(o, 4) ? (1 + pick(o, 3)) << 5 | 1u << 20 : 1u << 5));
        break;
    case 3: /* dual */
        t = pick(o, 6) * 2;
        if (n == t || n == t + 1)
            break;
        put32(o, c | 0x004000d0 | puw | n << 16 | t << 12 | pick(o, 4) << 8 | pick(o, 2) << 5);
        break;
    case 4:
        list = (machine_random(&o->seed) & 0x5fff & ~(1u << n)) | 1u << t;
        put32(o, c | 0x08000000 | pick(o, 4) << 23 | pick(o, 2) << 21 | pick(o, 2) << 20 | n << 16 |
                     list);
        break;
    default:
        list = (machine_random(&o->seed) & 0x5fff) | 1;
        put32(o, 0xe92d0000 | list); /* PUSH */
        a32_data(o);
        put32(o, 0xe8bd0000 | list);
    }
}

/* T32. */

static void t32_base(struct out *o, unsigned rn, unsigned align)
{
    uint32_t a = ram_address(o, align), lo = a & 0xffff, hi = a >> 16;
    wide(o, 0xf2400000 | (lo >> 12) << 16 | (lo >> 11 & 1) << 26 | (lo >> 8 & 7) << 12 | rn << 8 |
                (lo & 0xff));
    wide(o, 0xf2c00000 | (hi >> 12) << 16 | (hi >> 11 & 1) << 26 | (hi >> 8 & 7) << 12 | rn << 8 |
                (hi & 0xff));
}

static void t16_data(struct out *o)
{
    unsigned low = pick(o, 8), n = reg(o), d = reg(o);
    switch (pick(o, 6)) {
    case 0:
    case 1:
        put16(o, pick(o, 0x4000));
        break;
    case 2:
        put16(o, 0x4000 | pick(o, 0x400));
        break;
    case 3:
        n = n < 8 && d < 8 ? n + 8 : n;
        n = n == 13 ? 12 : n;
        put16(o, 0x4400 | pick(o, 3) << 8 | (d & 8) << 4 | n << 3 | (d & 7));
        break;
    case 4:
        put16(o, 0xb200 | pick(o, 256));
        break;
    default:
        put16(o, pick(o, 2) ? 0xa000 | low << 8 | pick(o, 256)
                            : 0xba00 | pick(o, 2) << 6 | low | pick(o, 8) << 3);
    }
}

static void t32_data(struct out *o)
{
    static const uint8_t codes[] = {0, 1, 2, 3, 4, 8, 10, 11, 13, 14};
    unsigned op = codes[pick(o, 10)], d = reg(o), n = reg(o), m = reg(o), lsb = pick(o, 32);
    uint32_t imm = pick(o, 8) << 12 | pick(o, 256);
    uint32_t imm26 = pick(o, 2) << 26 | imm;
    unsigned msb = lsb + pick(o, 32 - lsb);
    switch (pick(o, 9)) {
    case 0:
        if (!(imm26 & 0x04007000) || imm26 & 0x04004000 || imm & 0xff)
            wide(o, 0xf0000000 | op << 21 | pick(o, 2) << 20 | n << 16 | d << 8 | imm26);
        break;
    case 1:
        wide(o, 0xea000000 | op << 21 | pick(o, 2) << 20 | n << 16 | d << 8 | pick(o, 8) << 12 |
                    pick(o, 16) << 4 | m);
        break;
    case 2:
        wide(o, (pick(o, 2) ? 0xf2000000u : 0xf2a00000u) | n << 16 | d << 8 | imm26);
        break;
    case 3:
        wide(o, (pick(o, 2) ? 0xf3c00000u : 0xf3400000u) | n << 16 | (lsb >> 2) << 12 | d << 8 |
                    (lsb & 3) << 6 | (msb - lsb));
        break;
    case 4:
        wide(o, 0xf3600000 | (pick(o, 3) ? n : 15) << 16 | (lsb >> 2) << 12 | d << 8 |
                    (lsb & 3) << 6 | msb);
        break;
    case 5:
        wide(o, 0xfa00f000 | pick(o, 8) << 20 | n << 16 | d << 8 | m);
        break;
    case 6:
        wide(o, pick(o, 2) ? 0xfa0ff080 | pick(o, 2) << 20 | pick(o, 2) << 22 | d << 8 |
                                 pick(o, 4) << 4 | m
                           : 0xfa90f080 | m << 16 | d << 8 | pick(o, 4) << 4 | m);
        break;
    case 7:
        wide(o, 0xfb000000 | n << 16 | (pick(o, 2) ? 15 : reg(o)) << 12 | d << 8 | m);
        break;
    default:
        wide(o, pick(o, 2) ? 0xfb000010 | n << 16 | reg(o) << 12 | d << 8 | m
                           : (pick(o, 2) ? 0xfb90f0f0u : 0xfbb0f0f0u) | n << 16 | d << 8 | m);
    }
}

static void t32_memory(struct out *o)
{
    unsigned n = reg(o), t = reg_but(o, n, n), u = reg_but(o, n, t), size = pick(o, 3);
    unsigned low = pick(o, 8), lt = (low + 1 + pick(o, 7)) & 7;
    uint32_t list;
    switch (pick(o, 8)) {
    case 0:
        t32_base(o, n, 1);
        wide(o, 0xf8800000 | size << 21 | pick(o, 2) << 20 | n << 16 | t << 12 | pick(o, 40));
        break;
    case 1:
        t32_base(o, n, 1);
        wide(o, 0xf8000800 | size << 21 | pick(o, 2) << 20 | n << 16 | t << 12 |
                    (pick(o, 2) ? 0x500 : 0x100) | pick(o, 2) << 9 | pick(o, 16) * 4);
        break;
    case 2:
        t32_base(o, n, 1);
        wide(o, 0xe8400000 | 1u << 24 | pick(o, 2) << 23 | pick(o, 2) << 21 | pick(o, 2) << 20 |
                    n << 16 | t << 12 | u << 8 | pick(o, 8));
        break;
    case 3:
        t32_base(o, n, 1);
        list = (machine_random(&o->seed) & 0x5fff & ~(1u << n)) | 1u << t | 1u << u;
        wide(o, (pick(o, 2) ? 0xe8800000u : 0xe9000000u) | pick(o, 2) << 21 | pick(o, 2) << 20 |
                    n << 16 | list);
        break;
    case 4:
        t32_base(o, low, 1);
        put16(o, 0x6000 + pick(o, 0x3000 >> 6) * 64 + (low << 3 | lt));
        break;
    case 5:
        t32_base(o, low, 1);
        put16(o, 0xc000 | pick(o, 2) << 11 | low << 8 | ((pick(o, 256) & ~(1u << low)) | 1u << lt));
        break;
    case 6:
        put16(o, 0x9000 | pick(o, 2) << 11 | low << 8 | pick(o, 16));
        break;
    default:
        list = pick(o, 255) + 1;
        put16(o, 0xb400 | list);
        t16_data(o);
        put16(o, 0xbc00 | list);
    }
}

static void t32_it(struct out *o)
{
    unsigned mask = 1 + pick(o, 15), count = 4;
    for (unsigned m = mask; !(m & 1); m >>= 1)
        count--;
    put16(o, 0xbf00 | pick(o, 14) << 4 | mask);
    for (unsigned i = 0; i < count; i++) {
        if (pick(o, 2))
            put16(o, pick(o, 0x4000));
        else
            wide(o, 0xea000000 | 8u << 21 | pick(o, 2) << 20 | reg(o) << 16 | reg(o) << 8 |
                        pick(o, 16) << 4 | reg(o));
    }
}

static void t32_branch(struct out *o)
{
    unsigned skip = pick(o, 3) + 1;
    if (pick(o, 2))
        put16(o, 0xb100 | pick(o, 2) << 11 | (skip - 1) << 3 | pick(o, 8));
    else
        put16(o, 0xd000 | pick(o, 14) << 8 | (skip - 1));
    for (unsigned i = 0; i < skip; i++)
        put16(o, pick(o, 0x4000));
}

size_t generate(uint8_t *code, size_t max, bool thumb, uint32_t seed)
{
    struct out o = {.code = code, .max = max, .seed = seed | 1};
    while (o.at + 64 < max) {
        unsigned what = pick(&o, 8);
        if (!thumb && what < 3)
            a32_data(&o);
        else if (!thumb && what < 6)
            a32_other(&o);
        else if (!thumb)
            a32_memory(&o);
        else if (what < 2)
            t16_data(&o);
        else if (what < 4)
            t32_data(&o);
        else if (what < 6)
            t32_memory(&o);
        else if (what == 6)
            t32_it(&o);
        else
            t32_branch(&o);
    }
    return o.at < max ? o.at : max;
}
