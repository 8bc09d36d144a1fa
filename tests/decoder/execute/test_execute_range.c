/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs do with numbers from outside, of which only spans are known (execute_range.c,
 * execute_remainder.c): random sequences of instructions, run once with all known and once with
 * some of it not. What the second one says of registers, flags and memory holds for the first one,
 * whose instructions test_execute_differential.c holds against an emulator. EXECUTE_SEED,
 * EXECUTE_INSNS in the environment: sequences.
 */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RAM      0x20000000u
#define RAM_SIZE 0x100u
#define LENGTH   40u
#define REGS     8u /* r0 to r5 hold numbers, r6 and r7 addresses of RAM */

struct trial {
    uint64_t seed;
    struct execute known, spans;
    uint64_t ran, bounded, wrong, lost, remainders, divided, parts, halved, interrupted;
};

static uint32_t draw(struct trial *t)
{
    t->seed ^= t->seed << 13;
    t->seed ^= t->seed >> 7;
    t->seed ^= t->seed << 17;
    return (uint32_t)(t->seed >> 16);
}

static enum execute_memory_kind kind(void *context, uint64_t address, uint64_t *from, uint64_t *to,
                                     const uint8_t **bytes)
{
    bool ram = address - RAM < RAM_SIZE;
    (void)context;
    (void)bytes;
    *from = ram ? RAM : address < RAM ? 0 : RAM + RAM_SIZE;
    *to = ram ? RAM + RAM_SIZE : address < RAM ? RAM : UINT64_C(1) << 32;
    return ram ? EXECUTE_MEMORY_RAM : EXECUTE_MEMORY_OTHER;
}

/* Small ones, those around a sign, and any. */
static uint32_t draw_number(struct trial *t)
{
    switch (draw(t) & 7) {
    case 0:
        return draw(t);
    case 1:
        return 0u - (draw(t) & 0xff);
    case 2:
        return 0x80000000u + (draw(t) & 15) - 8;
    default:
        return draw(t) & (draw(t) & 1 ? 0xfff : 0x1f);
    }
}

static void begin(struct trial *t, struct execute_budget *budget)
{
    t->known = (struct execute){.core = {.profile = EXECUTE_PROFILE_AR}};
    execute_memory_init(&t->known.memory, budget, kind, t);
    t->known.regs.known = 0x7fff;
    t->known.regs.psr_known = UINT32_MAX;
    t->known.regs.psr = 0x1f | (draw(t) & 0xf8000000u);
    t->known.regs.known |= UINT64_C(1) << execute_bank_reg(EXECUTE_BANK_IRQ);
    t->known.regs.value[execute_bank_reg(EXECUTE_BANK_IRQ)] = RAM + 0x80 + (draw(t) & 0x1c);
    t->spans = t->known;
    for (unsigned i = 0; i < REGS; i++) {
        struct execute_regs *r = &t->spans.regs;
        uint32_t v = draw_number(t), range = draw(t) & (draw(t) & 1 ? 0xff : 0xffffff);
        bool address = i >= 6;
        v = address ? RAM + (draw(t) & 0x3c) : v;
        t->known.regs.value[i] = r->value[i] = v;
        if (address || !(draw(t) & 3))
            continue;
        r->known &= ~(UINT64_C(1) << i);
        if (!range || draw(t) & 1)
            continue;
        r->value[i] = (uint32_t)(v - draw(t) % (range + 1));
        r->range[i] = range;
        r->bounded |= 1u << i;
    }
    for (unsigned k = 0; k < RAM_SIZE; k += 4) {
        uint32_t word = draw_number(t);
        ck_assert(!execute_memory_write(&t->known.memory, RAM + k, &word, 4));
        if (draw(t) & 3)
            ck_assert(!execute_memory_write(&t->spans.memory, RAM + k, &word, 4));
        else if (draw(t) & 1)
            execute_memory_bound(&t->spans.memory, RAM + k, 1, word & 0xf0, 15);
        else
            execute_memory_bound(&t->spans.memory, RAM + k, 2, word & 0xfff8, 7);
    }
    if (draw(t) & 1)
        t->spans.regs.psr_known &= ~(draw(t) & 0xf0000000u);
}

/* Reciprocals as compilers have them, and others. */
static uint32_t draw_magic(struct trial *t)
{
    static const uint32_t magics[] = {0xcccccccdu, 0xaaaaaaabu, 0x51eb851fu, 0x38e38e39u,
                                      0x24924925u, 0x66666667u, 0x10624dd3u, 0x80000001u};
    return draw(t) & 7 ? magics[draw(t) % 8] : draw(t);
}

static uint32_t data(uint32_t op, bool flags, uint32_t rn, uint32_t rd, uint32_t operand)
{
    return op << 21 | (uint32_t)flags << 20 | rn << 16 | rd << 12 | operand;
}

/* A32, without its condition. */
static uint32_t draw_opcode(struct trial *t)
{
    uint32_t a = draw(t) % 6, b = draw(t) % 6, c = draw(t) % 6, d = draw(t) % 6, n = draw(t) & 31;
    uint32_t moved = b | (draw(t) & 1 ? (draw(t) & 7) << 7 | (draw(t) & 3) << 5 : 0);
    switch (draw(t) % 24) {
    case 0: /* two operands: AND to BIC, with or without flags, but for what compares */
    case 1:
    case 2:
        return data(draw(t) & 1 ? draw(t) % 8 : 12 + draw(t) % 4, draw(t) & 1, a, c, moved);
    case 3:
    case 4:
        return data(draw(t) & 1 ? draw(t) % 5 : 12 + draw(t) % 4, draw(t) & 1, a, c,
                    1u << 25 | (draw(t) & 0xff));
    case 5: /* TST, TEQ, CMP, CMN */
    case 6:
    case 7:
        return data(draw(t) & 3 ? 10 : 8 + draw(t) % 4, true, a, 0,
                    draw(t) & 3 ? 1u << 25 | (draw(t) & 0x1f) : b);
    case 8: /* MUL, MLA, MLS, UMULL, SMULL */
        return 0x00000090u | (draw(t) & 1) << 21 | d << 16 | c << 12 | b << 8 | a;
    case 9:
        return 0x00600090u | d << 16 | c << 12 | b << 8 | a;
    case 10:
        return 0x00800090u | (draw(t) & 1) << 22 | c << 16 | (c + 1) % 6 << 12 | b << 8 | a;
    case 11: /* UDIV, SDIV */
        return 0x0710f010u | (draw(t) & 1) << 21 | d << 16 | b << 8 | a;
    case 12: /* SSAT, USAT */
        return 0x06a00010u | (draw(t) & 1) << 22 | n << 16 | d << 12 |
               (draw(t) & 1 ? (draw(t) & 31) << 7 | (draw(t) & 1) << 6 : 0) | a;
    case 13: /* SXTB to UXTAH */
        return 0x06a00070u | (draw(t) & 1) << 20 | (draw(t) & 1) << 22 |
               (draw(t) & 1 ? 15u : b) << 16 | d << 12 | (draw(t) & 3 ? 0 : draw(t) & 3) << 10 | a;
    case 14: /* UBFX, SBFX */
        return 0x07a00050u | (draw(t) & 1) << 22 | (draw(t) % (32 - n)) << 16 | d << 12 | n << 7 |
               a;
    case 15: /* CLZ */
        return 0x016f0f10u | d << 12 | a;
    case 16: /* LDR, STR, LDRB, STRB: at a register, or a number behind */
    case 17:
    case 18:
        return 0x05800000u | (draw(t) & 1) << 20 | (draw(t) & 1) << 22 | (6 + (draw(t) & 1)) << 16 |
               d << 12 | (draw(t) & 0x7c);
    case 19:
    case 20:
        return 0x07800000u | (draw(t) & 1) << 20 | (draw(t) & 1) << 22 | (6 + (draw(t) & 1)) << 16 |
               d << 12 | (draw(t) & 3) << 7 | a;
    case 21: /* LDRH, LDRSB, LDRSH, STRH */
        return 0x018000b0u | (draw(t) & 1) << 20 | 6u << 16 | d << 12 | a;
    case 22:
        return 0x01d000d0u | (draw(t) & 1) << 5 | 7u << 16 | d << 12 | (draw(t) & 0xe);
    default: /* MVN, MOV of a shifted register; SETEND now and then */
        if (!(draw(t) & 31))
            return 0xf1010000u | (draw(t) & 1) << 9;
        return data(draw(t) & 1 ? 13 : 15, draw(t) & 1, 0, c, moved);
    }
}

static bool step_to(struct trial *t, uint32_t opcode, uint32_t at, uint32_t next)
{
    static const uint32_t pass[] = {0x40000000u, 0x20000000u, 0x80000000u, 0x10000000u};
    struct execute_insn i = {.address = 0x1000 + 4 * at,
                             .opcode = opcode,
                             .isa = BT_ISA_A32,
                             .size = 4,
                             .next = next,
                             .has_next = true};
    uint32_t cond = opcode >> 28, psr = t->known.regs.psr;
    bool n = psr >> 31, z = psr >> 30 & 1, c = psr >> 29 & 1, v = psr >> 28 & 1, holds = true;
    if (cond < 8)
        holds = ((psr & pass[cond >> 1]) != 0) != (cond & 1);
    else if (cond < 14)
        holds = (cond >> 1 == 4 ? c && !z : cond >> 1 == 5 ? n == v : n == v && !z) != (cond & 1);
    int error = execute_step(&t->known, &i);
    if (error || (t->known.regs.known & 0xff) != 0xff || t->known.clobbers ||
        (t->known.regs.psr_known & 0xf0000000u) != 0xf0000000u)
        return false; /* such as a division by zero */
    if (cond < 14 && draw(t) & 1)
        i.cond = holds ? BT_COND_PASS : BT_COND_FAIL;
    error = execute_step(&t->spans, &i);
    if (error) {
        printf("error %d\n", error);
        t->wrong++;
    }
    t->ran++;
    return !error;
}

static bool step(struct trial *t, uint32_t opcode, uint32_t at)
{
    return step_to(t, opcode, at, 0x1004 + 4 * at);
}

static void compare(struct trial *t)
{
    const struct execute_regs *is = &t->known.regs, *said = &t->spans.regs;
    for (unsigned k = 0; k < REGS; k++) {
        uint32_t apart = (uint32_t)is->value[k] - (uint32_t)said->value[k];
        bool known = said->known >> k & 1, bounded = !known && said->bounded >> k & 1;
        t->bounded += bounded;
        if ((known && apart) || (bounded && apart > said->range[k])) {
            printf("r%u is %08x, said %08x or %x more\n", k, (uint32_t)is->value[k],
                   (uint32_t)said->value[k], known ? 0 : (uint32_t)said->range[k]);
            t->wrong++;
        }
    }
    if ((is->psr ^ said->psr) & said->psr_known & 0xf0000000u) {
        printf("flags are %08x, said %08x known %08x\n", is->psr, said->psr, said->psr_known);
        t->wrong++;
    }
    for (unsigned k = 0; k < RAM_SIZE; k++) {
        uint8_t byte, told;
        uint32_t number;
        if (execute_memory_read(&t->known.memory, RAM + k, &byte, 1) &&
            execute_memory_read(&t->spans.memory, RAM + k, &told, 1) && byte != told) {
            printf("byte %x is %02x, said %02x\n", k, byte, told);
            t->wrong++;
        }
        for (unsigned width = 1; width <= 4; width *= 2) {
            uint32_t range = execute_memory_range(&t->spans.memory, RAM + k, width, &number),
                     there = 0;
            if (!range || !execute_memory_read(&t->known.memory, RAM + k, &there, width))
                continue;
            t->parts += width < 4;
            if (there - number > range) {
                printf("%u bytes at %x are %x, said %x or %x more\n", width, k, there, number,
                       range);
                t->wrong++;
            }
        }
    }
}

/* A remainder as compilers make it, among other instructions. */
static unsigned draw_remainder(struct trial *t, uint32_t *code)
{
    uint32_t magic = draw_magic(t), shift = draw(t) % 6, x = draw(t) % 3, n = 0;
    uint32_t divisor =
        (uint32_t)(((UINT64_C(1) << (32 + shift)) + magic - 1) / (magic ? magic : 1));
    code[n++] = 0x03000000u | (magic >> 12 & 15) << 16 | 3u << 12 | (magic & 0xfff);
    code[n++] = 0x03400000u | (magic >> 28) << 16 | 3u << 12 | (magic >> 16 & 0xfff);
    code[n++] = 0x00834090u | 3u << 8 | x;
    if (draw(t) & 1 || !shift) {
        code[n++] = 0x01a03003u | shift << 7 | (shift ? 1u << 5 : 0);
        code[n++] = 0x03005000u | (divisor >> 12 & 15) << 16 | (divisor & 0xfff);
        code[n++] = 0x00650093u | 5u << 8 | x << 12 | 5u << 16; /* MLS r5, r3, r5, rx */
    } else {
        uint32_t low = (1u << shift) - 1;
        code[n++] =
            draw(t) & 1 ? 0x02034000u | (0xffu & ~low) : 0x03c34000u | low; /* AND, BIC r4, r3 */
        code[n++] = 0x00844003u | shift << 7 | 1u << 5; /* ADD r4, r4, r3, LSR: 2^n + 1 */
        code[n++] = 0x00455004u | x << 16 | 5u << 12;
        code[n - 1] = 0x00405004u | x << 16;
    }
    return n;
}

/* Likewise by a reciprocal of 33 bits, or what nearly is one: half of x less the upper word is
 * added to that. */
static unsigned draw_halved(struct trial *t, uint32_t *code)
{
    uint32_t divisor = 3 + draw(t) % 97, x = draw(t) % 3, n = 0;
    unsigned shift = 32 - (unsigned)__builtin_clz(divisor - 1);
    uint32_t magic = (uint32_t)(((UINT64_C(1) << shift) - divisor) * (UINT64_C(1) << 32) / divisor +
                                1 - !(draw(t) & 7));
    code[n++] = 0x03000000u | (magic >> 12 & 15) << 16 | 3u << 12 | (magic & 0xfff);
    code[n++] = 0x03400000u | (magic >> 28) << 16 | 3u << 12 | (magic >> 16 & 0xfff);
    code[n++] = 0x00834090u | 3u << 8 | x;
    code[n++] = 0x00404003u | x << 16; /* SUB r4, rx, r3 */
    if (draw(t) & 1) {
        code[n++] = 0x008330a4u; /* ADD r3, r3, r4, LSR #1 */
    } else {
        code[n++] = 0x01a040a4u; /* MOV r4, r4, LSR #1 */
        code[n++] = 0x00833004u;
    }
    code[n++] = 0x01a03023u | (shift - 1) << 7 | (shift > 1 ? 0 : 3u << 5);
    code[n++] = 0x03005000u | divisor;
    code[n++] = 0x00650093u | 5u << 8 | x << 12 | 5u << 16; /* MLS r5, r3, r5, rx */
    return n;
}

/* `a || b` as compilers make it of two comparisons, and what compares that. */
static unsigned draw_either(struct trial *t, uint32_t *code)
{
    uint32_t cond[2] = {draw(t) % 14, draw(t) % 14}, n = 0;
    code[n++] = 0xe3500000u | (draw(t) % 3) << 16 | (draw(t) & 0x1f);
    code[n++] = 0x03a03000u | cond[0] << 28 | (draw(t) & 1);
    code[n++] = 0x03a03000u | (cond[0] ^ 1) << 28 | (draw(t) & 1);
    code[n++] = 0xe3500000u | (draw(t) % 3) << 16 | (draw(t) & 0x1f);
    code[n++] = 0x03833001u | cond[1] << 28;
    code[n++] = 0xe3530000u | (draw(t) & 1);
    code[n++] = (draw(t) & 1) << 28 | 0x02844001u; /* which is told */
    return n;
}

/* A part of a number, and a comparison with bits of it. */
static unsigned draw_part(struct trial *t, uint32_t *code)
{
    uint32_t x = draw(t) % 3, mask = draw(t) & 0xff, n = 0;
    code[n++] = 0xe2004000u | x << 16 | (draw(t) & 1 ? mask : 15);
    code[n++] = 0xe3100000u | (draw(t) & 7 ? x : 4) << 16 | (draw(t) & 1 ? mask : 12);
    code[n++] = (draw(t) & 1) << 28 | 0x02845001u; /* which is told */
    code[n++] = 0xe2443000u | (draw(t) & 15);
    return n;
}

#define PLACE 4u /* of the instruction in draw_division() that its first digit depends on */

/* x % d in r5, by a division that shifts and subtracts, and is entered where x has its first bit.
 * Now and then something else is in between. */
static unsigned draw_division(struct trial *t, uint32_t *code)
{
    uint32_t x = draw(t) % 3, n = 0;
    code[n++] = 0xe5860000u | x << 12;            /* STR x, [r6] */
    code[n++] = 0xe3003000u | (1 + draw(t) % 60); /* MOVW r3 */
    code[n++] = 0xe16f5f10u | x;                  /* CLZ r5, x */
    code[n++] = 0xe265501fu;                      /* RSB r5, r5, #31 */
    code[n++] = 0xe3004000u;                      /* MOVW r4 */
    code[n++] = 0xe0845205u;                      /* ADD r5, r4, r5, LSL #4 */
    code[n++] = 0xe1a0f005u;                      /* MOV pc, r5 */
    code[n++] = 0xe3a04000u;
    for (uint32_t k = draw(t) % 8 + 1; k--;) {
        code[n++] = 0xe1500003u | x << 16 | k << 7; /* CMP x, r3, LSL */
        code[n++] = 0xe0a44004u;                    /* ADC r4, r4, r4 */
        code[n++] = 0x20400003u | x << 16 | x << 12 | k << 7;
    }
    if (!(draw(t) & 3))
        code[8 + draw(t) % (n - 8)] = draw_opcode(t) | 0xe0000000u;
    code[n++] = 0xe5965000u; /* LDR r5, [r6] */
    code[n++] = 0xe0030493u; /* MUL r3, r3, r4 */
    code[n++] = 0xe0455003u; /* SUB r5, r5, r3 */
    return n;
}

/* The path goes straight on. */
static void place_division(const struct trial *t, uint32_t *code)
{
    uint32_t x = (uint32_t)t->known.regs.value[code[0] >> 12 & 15],
             to = 0x1000 + 4 * (PLACE + 3) - 16 * (31 - (x ? (uint32_t)__builtin_clz(x) : 32));
    code[PLACE] |= (to >> 12 & 15) << 16 | (to & 0xfff);
}

/* What is interrupted in front of `at` comes back, but for what random instructions change of it
 * where it was pushed. */
static bool interrupt(struct trial *t, uint32_t at)
{
    uint32_t back = 0x1000 + 4 * at, handler = 0x400, count = draw(t) % 6;
    const struct bt_event e = {
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = 14, .has_return = true, .return_address = back, .return_isa = BT_ISA_A32}};
    if (execute_exception(&t->known, &e, 0x18) || execute_exception(&t->spans, &e, 0x18) ||
        !step(t, 0xe24ee004, handler++) || /* SUB lr, lr, #4 */
        !step(t, 0xe92d403f, handler++))   /* PUSH {r0-r5, lr} */
        return false;
    while (count--)
        if (!step(t, draw_opcode(t) | (draw(t) & 1 ? draw(t) % 14 : 14u) << 28, handler++))
            return false;
    return step_to(t, 0xe8fd803f, handler, back); /* LDM sp!, {r0-r5, pc}^ */
}

static void try_one(struct trial *t)
{
    struct execute_budget budget = {.limit = 1 << 20};
    uint32_t code[LENGTH];
    unsigned kind_of = draw(t) % 7, made, at = 0, cut = draw(t) & 1 ? draw(t) % 12 : LENGTH;
    unsigned count = made = kind_of == 6   ? draw_halved(t, code)
                            : kind_of == 5 ? draw_division(t, code)
                            : kind_of == 4 ? draw_part(t, code)
                            : kind_of > 1  ? draw_remainder(t, code)
                            : kind_of == 1 ? draw_either(t, code)
                                           : 0;
    uint64_t wrong = t->wrong;
    while (count < LENGTH)
        code[count++] = draw_opcode(t);
    begin(t, &budget);
    if (kind_of == 5)
        place_division(t, code);
    for (; at < LENGTH && t->wrong == wrong; at++) {
        uint32_t cond = at > 8 && draw(t) & 1 ? draw(t) % 14 : 14;
        code[at] |= (kind_of == 1 || kind_of == 4 || kind_of == 5) && at < made ? 0 : cond << 28;
        bool placed = kind_of == 5 && at < 7; /* where it goes would be another place */
        if (at == cut && !placed && !interrupt(t, at))
            break;
        if (!step(t, code[at], at))
            break;
        compare(t);
        bool halved = kind_of == 6 && at == made - 1 && t->spans.regs.bounded >> 5 & 1 &&
                      t->spans.regs.range[5] < 100;
        t->halved += halved;
        t->interrupted += halved && cut > 2 && cut < at;
        t->remainders += kind_of < 4 && at == 5 && t->spans.regs.bounded >> 5 & 1;
        t->divided += kind_of == 5 && at == made - 1 && t->spans.regs.bounded >> 5 & 1 &&
                      t->spans.regs.range[5] < (code[1] & 0xff);
    }
    t->lost += t->spans.clobbers != 0;
    for (unsigned k = 0; t->wrong != wrong && k <= at && k < LENGTH; k++)
        printf("  %08x\n", code[k]);
    execute_memory_release(&t->known.memory);
    execute_memory_release(&t->spans.memory);
}

START_TEST(test_sequences)
{
    struct trial t = {.seed = (uint64_t)time(NULL) * 2654435761u | 1};
    const char *seed = getenv("EXECUTE_SEED"), *many = getenv("EXECUTE_INSNS");
    uint64_t count = many ? strtoull(many, NULL, 0) : 20000;
    t.seed = seed ? strtoull(seed, NULL, 0) | 1 : t.seed;
    printf("EXECUTE_SEED=%llu\n", (unsigned long long)t.seed);
    for (uint64_t k = 0; k < count && t.wrong < 8; k++)
        try_one(&t);
    printf(
        "%llu instructions, %llu registers bounded, %llu, %llu, %llu and %llu remainders, memory "
        "lost in %llu sequences\n",
        (unsigned long long)t.ran, (unsigned long long)t.bounded, (unsigned long long)t.remainders,
        (unsigned long long)t.divided, (unsigned long long)t.halved,
        (unsigned long long)t.interrupted, (unsigned long long)t.lost);
    ck_assert_uint_eq(t.wrong, 0);
    ck_assert_uint_gt(t.bounded, t.ran / 2);
    ck_assert_uint_gt(t.parts, t.ran);
    ck_assert_uint_gt(t.remainders, count / 10);
    ck_assert_uint_gt(t.divided, count / 50);
    ck_assert_uint_gt(t.halved, count / 50);
    ck_assert_uint_gt(t.interrupted, count / 500);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_range");
    setvbuf(stdout, NULL, _IOLBF, 0);
    unit_case(s, "execute: spans hold along random sequences", test_sequences);
    return s;
}
