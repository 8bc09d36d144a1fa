/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What values of A64 may be that are not known: execute_a64_range.c, execute_a64_derived.c,
 * execute_remainder.c. Random code runs twice, once with all that it begins with, and once without
 * some of it on the path that the first one took: what the second one says has what the first one
 * has. EXECUTE_SEED, EXECUTE_INSNS in the environment. Then what compilers make of some statements.
 */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RAM      0x20000000u
#define RAM_SIZE 0x400u
#define DATA     (RAM + 0x100) /* in x20 */
#define REGS     7u            /* that the code works with, from x0 on; x9 to x11 are constants */
#define LENGTH   60u           /* instructions of a piece */
#define NZCV     0xf0000000u

struct pair {
    struct execute is, said;
    struct execute_budget budget[2];
    uint64_t seed, address, wrong, bounded;
};

static enum execute_memory_kind kind(void *context, uint64_t address, uint64_t *from, uint64_t *to,
                                     const uint8_t **bytes)
{
    bool ram = address - RAM < RAM_SIZE;
    (void)context;
    (void)bytes;
    *from = ram ? RAM : address < RAM ? 0 : RAM + RAM_SIZE;
    *to = ram ? RAM + RAM_SIZE : address < RAM ? RAM : UINT64_MAX;
    return ram ? EXECUTE_MEMORY_RAM : EXECUTE_MEMORY_OTHER;
}

static uint32_t draw(struct pair *p, uint32_t below)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return (uint32_t)(p->seed * UINT64_C(0x2545f4914f6cdd1d) >> 32) % below;
}

static uint32_t reg(struct pair *p)
{
    return draw(p, 12) ? draw(p, REGS) : 31;
}

static uint32_t three(struct pair *p)
{
    return reg(p) | reg(p) << 5 | reg(p) << 16;
}

static uint32_t wide(struct pair *p)
{
    return draw(p, 3) ? 0 : 1u << 31;
}

static uint32_t draw_sum(struct pair *p)
{
    uint32_t op = wide(p) | draw(p, 4) << 29; /* add, adds, sub, subs */
    switch (draw(p, 3)) {
    case 0:
        return op | 0x11000000 | draw(p, REGS) | draw(p, REGS) << 5 | draw(p, 100) << 10;
    case 1: /* shifted */
        return op | 0x0b000000 | three(p) | draw(p, 3) << 22 | draw(p, 8) << 10;
    default: /* extended */
        return op | 0x0b200000 | draw(p, REGS) | draw(p, REGS) << 5 | reg(p) << 16 |
               draw(p, 8) << 13 | draw(p, 5) << 10;
    }
}

static uint32_t draw_logical(struct pair *p)
{
    uint32_t op = wide(p) | draw(p, 4) << 29, regs = three(p);
    if (draw(p, 2)) /* low bits */
        return op | 0x12000000 | (op >> 31) << 22 | draw(p, REGS) | (regs & 0x3e0) |
               draw(p, 20) << 10;
    return op | 0x0a000000 | draw(p, 2) << 21 | regs | draw(p, 3) << 22 | draw(p, 6) << 10;
}

static uint32_t draw_field(struct pair *p)
{
    uint32_t op = wide(p), top = op ? 63 : 31, lsb = draw(p, 40) & top;
    uint32_t high = draw(p, 2) ? top : draw(p, top + 1);
    op |= draw(p, 2) ? 0x13000000 : 0x53000000;
    return op | (op >> 31) << 22 | reg(p) | reg(p) << 5 | lsb << 16 | high << 10;
}

/* By a constant as often as not, a reciprocal. */
static uint32_t draw_product(struct pair *p)
{
    static const uint32_t ops[] = {0x1b000000, 0x1b008000, 0x9b000000, 0x9b008000, 0x9ba00000,
                                   0x9ba00000, 0x9bc00000, 0x9b200000, 0x1b007c00, 0x9b007c00};
    uint32_t op = ops[draw(p, sizeof ops / sizeof *ops)], constant = 9 + draw(p, 3);
    uint32_t ra = op & 0x7c00 || (op >> 23 & 1) || draw(p, 2) ? 31 : reg(p);
    return (op & ~0x7c00u) | reg(p) | reg(p) << 5 | (draw(p, 2) ? constant : reg(p)) << 16 |
           ra << 10;
}

/* What is there to be met: shifts of a product as registers and as operands. */
static uint32_t draw_shift(struct pair *p)
{
    uint32_t regs = draw(p, REGS) | draw(p, REGS) << 5, by = 30 + draw(p, 12);
    if (draw(p, 2))
        return 0xd340fc00 | regs | by << 16; /* lsr */
    by = draw(p, 3) ? by : draw(p, 4);
    return 0x8b000000 | draw(p, 2) << 30 | regs | draw(p, REGS) << 16 | draw(p, 2) << 22 | by << 10;
}

static uint32_t draw_two(struct pair *p)
{
    static const uint32_t ops[] = {0x1ac00800, 0x1ac00c00, 0x1ac02000, 0x1ac02400, 0x1ac02800};
    if (!draw(p, 4))
        return wide(p) | 0x5ac01000 | reg(p) | reg(p) << 5; /* clz */
    return wide(p) | ops[draw(p, 5)] | three(p);
}

/* Comparisons, also conditional ones, and selections. */
static uint32_t draw_condition(struct pair *p)
{
    uint32_t op = wide(p), regs = three(p) & ~0x1fu, cond = draw(p, 14) << 12;
    switch (draw(p, 6)) {
    case 0:
        return op | 0x7100001f | draw(p, REGS) << 5 | draw(p, 100) << 10;
    case 1:
        return op | 0x6b00001f | regs;
    case 2:
        return op | 0x7a400800 | (regs & ~0x1f0000u) | draw(p, 32) << 16 | cond | draw(p, 16);
    case 3:
        return op | 0x7a400000 | regs | cond | draw(p, 16);
    default:
        return op | 0x1a800000 | draw(p, 2) << 30 | draw(p, 2) << 10 | regs | reg(p) | cond;
    }
}

static uint32_t draw_branch(struct pair *p)
{
    switch (draw(p, 3)) {
    case 0:
        return 0x54000040 | draw(p, 14);
    case 1:
        return wide(p) | 0x34000040 | draw(p, 2) << 24 | draw(p, REGS);
    default:
        return 0x36000040 | draw(p, 2) << 24 | draw(p, 8) << 19 | draw(p, REGS);
    }
}

static uint32_t draw_access(struct pair *p)
{
    uint32_t size = draw(p, 4), opc = draw(p, size == 3 ? 2 : size == 2 ? 3 : 4);
    uint32_t op = size << 30 | opc << 22 | draw(p, REGS);
    uint32_t index = draw(p, REGS), sign = draw(p, 2), scaled = draw(p, 2);
    uint64_t by = (uint32_t)p->is.regs.value[index];
    by = (sign ? (uint64_t)(int32_t)by : by) << (scaled ? size : 0);
    if (draw(p, 3) || DATA + by - RAM > RAM_SIZE - 8)
        return op | 0x39000000 | 20 << 5 | draw(p, 6) << 10;
    return op | 0x38200800 | 20 << 5 | index << 16 | (sign ? 6u : 2u) << 13 | scaled << 12;
}

static uint32_t draw_opcode(struct pair *p)
{
    static uint32_t (*const kinds[])(struct pair * p) = {
        draw_sum,     draw_sum,   draw_logical,   draw_field,     draw_field,
        draw_product, draw_two,   draw_condition, draw_condition, draw_branch,
        draw_branch,  draw_shift, draw_product,   draw_access,    draw_access,
    };
    if (!draw(p, 10)) /* mov */
        return wide(p) | 0x2a0003e0 | draw(p, REGS) | draw(p, REGS) << 16;
    return kinds[draw(p, sizeof kinds / sizeof *kinds)](p);
}

static bool is_branch(uint32_t op)
{
    return op >> 24 == 0x54 || (op & 0x7c000000) == 0x34000000;
}

static int step(struct execute *x, uint64_t address, uint32_t opcode, uint64_t next)
{
    return execute_step(x, &(struct execute_insn){.address = address,
                                                  .opcode = opcode,
                                                  .isa = BT_ISA_A64,
                                                  .size = 4,
                                                  .next = next,
                                                  .has_next = true});
}

static void begin(struct pair *p)
{
    for (unsigned n = 0; n < 2; n++) {
        struct execute *x = n ? &p->said : &p->is;
        *x = (struct execute){.core = {.profile = EXECUTE_PROFILE_A64}};
        p->budget[n] = (struct execute_budget){.limit = 1 << 20};
        execute_memory_init(&x->memory, &p->budget[n], kind, NULL);
        x->regs.psr = 5;
        x->regs.psr_known = UINT32_MAX;
        x->regs.known = UINT64_MAX;
    }
}

static void end(struct pair *p)
{
    execute_memory_release(&p->is.memory);
    execute_memory_release(&p->said.memory);
}

static void draw_state(struct pair *p)
{
    static const uint64_t magic[] = {0xcccccccd, 0xaaaaaaab, 0x24924925,
                                     0x51eb851f, 0x38e38e39, UINT64_C(0xcccccccccccccccd),
                                     10,         5};
    uint8_t bytes[RAM_SIZE];
    begin(p);
    for (unsigned r = 0; r < 31; r++) {
        uint64_t v = draw(p, UINT32_MAX) >> draw(p, 32);
        v = draw(p, 6) ? v : draw(p, 2) ? 0 - v : v << 32;
        v = r >= 9 && r < 12 ? magic[draw(p, 8)] : r == 20 ? DATA : v;
        p->is.regs.value[r] = p->said.regs.value[r] = v;
        if (r < REGS && draw(p, 2))
            p->said.regs.known &= ~(UINT64_C(1) << r);
    }
    for (unsigned k = 0; k < RAM_SIZE; k++)
        bytes[k] = (uint8_t)draw(p, 256);
    ck_assert(!execute_memory_write(&p->is.memory, RAM, bytes, RAM_SIZE));
    ck_assert(!execute_memory_write(&p->said.memory, RAM, bytes, RAM_SIZE));
    ck_assert(!execute_memory_write(&p->said.memory, DATA, NULL, draw(p, 64)));
}

static void compare_registers(struct pair *p)
{
    const struct execute_regs *is = &p->is.regs, *said = &p->said.regs;
    for (unsigned k = 0; k < 31; k++) {
        bool known = said->known >> k & 1, bounded = !known && said->bounded >> k & 1,
             word = bounded && said->words >> k & 1;
        uint64_t away = is->value[k] - said->value[k];
        away = word ? (uint32_t)away : away;
        p->bounded += bounded;
        if (!(known && away) && !(bounded && away > said->range[k]) &&
            !(word && is->value[k] > UINT32_MAX))
            continue;
        printf("x%u is %llx, said %llx or %llx more\n", k, (unsigned long long)is->value[k],
               (unsigned long long)said->value[k], known ? 0 : (unsigned long long)said->range[k]);
        p->wrong++;
    }
    if ((is->psr ^ said->psr) & said->psr_known & NZCV) {
        printf("flags are %08x, said %08x known %08x\n", is->psr, said->psr, said->psr_known);
        p->wrong++;
    }
}

static void compare_memory(struct pair *p)
{
    uint8_t is[4], said;
    for (unsigned k = 0; k < RAM_SIZE; k++)
        if (execute_memory_read(&p->said.memory, RAM + k, &said, 1) &&
            execute_memory_read(&p->is.memory, RAM + k, is, 1) && is[0] != said) {
            printf("byte %x is %02x, said %02x\n", RAM + k, is[0], said);
            p->wrong++;
        }
    for (unsigned k = 0; k < p->said.memory.bound_count; k++) {
        const struct execute_bound *b = &p->said.memory.bounds[k];
        uint32_t number = 0;
        if (!b->range || !execute_memory_read(&p->is.memory, b->address, is, b->width))
            continue;
        for (unsigned n = 0; n < b->width; n++)
            number |= (uint32_t)is[n] << 8 * n;
        if (number - b->number <= b->range)
            continue;
        printf("%u bytes at %llx are %x, said %x or %x more\n", b->width,
               (unsigned long long)b->address, number, b->number, b->range);
        p->wrong++;
    }
}

static void run_piece(struct pair *p)
{
    uint32_t opcodes[LENGTH];
    draw_state(p);
    for (unsigned n = 0; n < LENGTH && !p->wrong; n++, p->address += 4) {
        uint32_t op = opcodes[n] = draw_opcode(p);
        uint64_t next = p->address + 4;
        int error = step(&p->is, p->address, op, next);
        if (error && is_branch(op)) {
            next = p->address + 8;
            error = step(&p->is, p->address, op, next);
        }
        ck_assert_msg(!error, "%08x: error %d", op, error);
        ck_assert((p->is.regs.known & INT32_MAX) == INT32_MAX);
        error = step(&p->said, p->address, op, next);
        p->wrong += error != 0;
        if (error)
            printf("said to be impossible\n");
        compare_registers(p);
        compare_memory(p);
        for (unsigned k = 0; p->wrong && k <= n; k++)
            printf("  .inst 0x%08x%s\n", opcodes[k], k == n ? " // here" : "");
    }
    end(p);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

START_TEST(test_random)
{
    struct pair *p = calloc(1, sizeof *p);
    uint64_t count = from_environment("EXECUTE_INSNS", 100000);
    ck_assert_ptr_nonnull(p);
    p->seed = from_environment("EXECUTE_SEED", (uint64_t)time(NULL) * 2654435761u) | 1;
    printf("EXECUTE_SEED=%llu\n", (unsigned long long)p->seed);
    for (uint64_t k = 0; k < count && !p->wrong; k += LENGTH)
        run_piece(p);
    ck_assert_uint_eq(p->wrong, 0);
    ck_assert_uint_gt(p->bounded, count);
    free(p);
}
END_TEST

/* x0 and x1 are not known, x9, x10 are constants; what x8 is at most, behind it. */
struct idiom {
    uint32_t opcodes[8];
    uint64_t constant[2], most;
};

static const struct idiom idioms[] = {
    /* x < 4800 ? x / 400 : 11 */
    {{0x9ba97c08, 0x53067c0b, 0x71012d7f, 0xd367fd08, 0x1a8a3108}, {0x51eb851f, 11}, 11},
    {{0x9ba97c08, 0x53067c0b, 0x71012d7f, 0xd367fd08, 0x54000042}, {0x51eb851f, 0}, 11},
    /* x % 5, x % 7 */
    {{0x9ba97c08, 0xd362fd08, 0x0b080908, 0x4b080008}, {0xcccccccd, 0}, 4},
    {{0x9ba97c08, 0xd360fd08, 0x4b08000b, 0x0b4b0508, 0x53027d08, 0x4b080d08, 0x0b080008},
     {0x24924925, 0},
     6},
    /* x > 9 || y > 20: not so; y is at most */
    {{0x7100241f, 0x7a549822, 0x54000048, 0x2a0103e8}, {0, 0}, 20},
    {{0x7100241f, 0x7a549822, 0x54000048, 0x2a0003e8}, {0, 0}, 9},
    /* what was compared is in memory: [x20] */
    {{0xb9400280, 0x7100241f, 0x54000048, 0xb9400288}, {0, 0}, 9},
};

START_TEST(test_idiom)
{
    const struct idiom *i = &idioms[_i];
    struct pair *p = calloc(1, sizeof *p);
    ck_assert_ptr_nonnull(p);
    begin(p);
    struct execute_regs *r = &p->said.regs;
    r->known &= ~UINT64_C(0x103);
    r->bounded = r->words = 3;
    r->range[0] = r->range[1] = UINT32_MAX;
    r->value[0] = r->value[1] = 0;
    ck_assert(!execute_memory_write(&p->said.memory, RAM, &(uint32_t){0}, 4));
    r->value[9] = i->constant[0];
    r->value[10] = i->constant[1];
    r->value[20] = DATA;
    for (unsigned n = 0; n < 8 && i->opcodes[n]; n++)
        ck_assert(!step(&p->said, 4 * n, i->opcodes[n], 4 * n + 4));
    ck_assert(!(r->known >> 8 & 1));
    ck_assert(r->bounded >> 8 & 1);
    ck_assert_uint_eq(r->value[8], 0);
    ck_assert_uint_eq(r->range[8], i->most);
    end(p);
    free(p);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_a64_range");
    setvbuf(stdout, NULL, _IOLBF, 0); /* what differs is seen when it fails */
    unit_case(s, "execute: ranges of random A64 code", test_random);
    unit_cases(s, "execute: ranges of what compilers make of A64", test_idiom, 0,
               sizeof idioms / sizeof *idioms);
    return s;
}
