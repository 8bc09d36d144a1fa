/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random A64 instructions against an emulator: execute_a64.c, execute_a64_data.c,
 * execute_a64_memory.c, execute_a64_range.c, execute_a64_system.c, execute_a64_float.c;
 * execute_a64_translation.c. What is called known after an instruction, or within a range, is what
 * the emulator has. Some of what is there before is not known, or but for its range.
 * EXECUTE_SEED, EXECUTE_INSNS in the environment.
 */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unicorn/unicorn.h>

/* Unicorn faults after some millions of them. */
#define EMULATOR_TRIES 100000u
#define IN_A_ROW       8u /* instructions at most that are tried on one state */

#define CODE     0x00100000u
#define RAM      0x20000000u
#define RAM_SIZE 0x800u
#define REGS     33u /* x0 to x30, SP, PC */
#define SP       31u
#define PC       32u
#define SP_EL1   32u /* where execute_regs has it */

struct a64_state {
    uint64_t regs[REGS], nzcv, fpcr, vector[64];
};

struct trial {
    uc_engine *uc;
    uint64_t seed;
    uint8_t code[0x1000], ram[RAM_SIZE];
    struct a64_state before, after;
    uint64_t ran, known, bounded, wrong, refused;
    bool newest;
};

static uint64_t draw(struct trial *t)
{
    t->seed ^= t->seed << 13;
    t->seed ^= t->seed >> 7;
    t->seed ^= t->seed << 17;
    return t->seed * UINT64_C(0x2545f4914f6cdd1d) >> 8;
}

static enum execute_memory_kind kind(void *context, uint64_t address, uint64_t *from, uint64_t *to,
                                     const uint8_t **bytes)
{
    struct trial *t = context;
    bool code = address - CODE < sizeof t->code, ram = address - RAM < RAM_SIZE;
    *from = code ? CODE : ram ? RAM : 0;
    *to = code ? CODE + sizeof t->code : ram ? RAM + RAM_SIZE : 0;
    *bytes = t->code;
    return code ? EXECUTE_MEMORY_CONST : ram ? EXECUTE_MEMORY_RAM : EXECUTE_MEMORY_OTHER;
}

static uint64_t draw_value(struct trial *t)
{
    static const uint64_t corners[8] = {0,          1,         INT64_MAX, UINT64_C(1) << 63,
                                        UINT64_MAX, INT32_MAX, 1u << 31,  UINT32_MAX};
    uint64_t r = draw(t);
    switch (r & 7) {
    case 0:
        return corners[r >> 3 & 7];
    case 1:
        return r >> 3 & 0xff;
    case 2:
        return draw(t) << 32 | (draw(t) & UINT32_MAX);
    default:
        return RAM + 0x200 + (r >> 8 & 0x3ff & (r & 8 ? ~UINT64_C(7) : ~UINT64_C(0)));
    }
}

/* Halves of vectors: doubles, or two of single precision; often such as calculations go wrong at.
 */
static uint64_t draw_reals(struct trial *t)
{
    static const uint64_t wide[] = {
        0,
        UINT64_C(0x3ff0000000000000), /* 1 */
        UINT64_C(0x7ff0000000000000), /* infinity */
        UINT64_C(0x7ff8000000000000), /* NaN */
        UINT64_C(0x0010000000000000), /* the smallest that is normal */
        UINT64_C(0x7fefffffffffffff), /* the greatest */
        UINT64_C(0x43e0000000000000), /* integers of 64 and 32 bits end there */
        UINT64_C(0x41e0000000000000),
        UINT64_C(0x3fe0000000000000),
        UINT64_C(0x3810000000000000), /* as the smallest of single precision */
        UINT64_C(0x47f0000000000000),
        UINT64_C(0x3f10000000000000), /* and of half precision */
        UINT64_C(0x40f0000000000000),
    };
    static const uint32_t narrow[] = {0,          0x3f800000, 0x7f800000, 0x7fc00000, 0x00800000,
                                      0x7f7fffff, 0x5f000000, 0x4f000000, 0x3f000000, 0x38800000,
                                      0x47800000, 0x477fe000, 0x7c00,     0x7e00,     0x0400};
    uint64_t sign = draw(t) & 7 ? 0 : UINT64_C(1) << 63, r = draw(t), both = 0;
    int64_t away = (int64_t)(draw(t) & 7) - 3;
    switch (r % 5) {
    case 0:
        return (wide[(r >> 8) % (sizeof wide / sizeof *wide)] + (uint64_t)away) ^ sign;
    case 1: /* numbers with short fractions, so that results are exact or end in halves */
        return (0x3c0 + (r >> 8 & 0x7f)) << 52 | (r >> 20 & 0x3ff) << 42 | sign;
    case 2:
        return draw(t) << 32 ^ draw(t);
    default:
        for (unsigned n = 0; n < 2; n++) {
            uint64_t drawn = draw(t);
            uint32_t number = narrow[(drawn >> 8) % (sizeof narrow / sizeof *narrow)];
            if (drawn & 1)
                number += (uint32_t)(drawn >> 3 & 7) - 3;
            if (drawn & 2)
                number = (uint32_t)(0x70 + (drawn >> 20 & 31)) << 23 | (drawn >> 30 & 0xff) << 15;
            both = both << 32 | (number ^ (drawn & 4 ? 1u << 31 : 0));
        }
        return both;
    }
}

static void draw_state(struct trial *t)
{
    for (unsigned i = 0; i < SP; i++)
        t->before.regs[i] = draw_value(t);
    t->before.regs[SP] = RAM + 0x200 + (draw(t) & 0x3f0);
    t->before.regs[PC] = CODE + 0x400 + (draw(t) & 0x7fc);
    t->before.nzcv = draw(t) & 0xf0000000u;
    for (unsigned i = 0; i < 64; i++)
        t->before.vector[i] = draw_reals(t);
    t->before.fpcr = draw(t) & 1 ? 0 : draw(t) & 0x07c00000; /* AHP, DN, FZ, RMode */
    for (unsigned i = 0; i < RAM_SIZE / 16; i++)
        t->ram[draw(t) % RAM_SIZE] = (uint8_t)draw(t);
}

/* Opcodes with a group's bits set: most random ones are not instructions at all. */
static uint32_t draw_opcode(struct trial *t)
{
    static const struct {
        uint32_t mask, bits;
    } groups[] = {
        {0x1c000000, 0x10000000}, /* immediates */
        {0x0e000000, 0x0a000000}, /* registers */
        {0x1fe00000, 0x1ac00000}, /* one or two sources */
        {0x1f000000, 0x1b000000}, /* multiplications */
        {0x1fe00000, 0x1a400000}, /* conditional comparison */
        {0x1fe00000, 0x1a800000}, /* and selection */
        {0x1c000000, 0x14000000}, /* branches */
        {0x0a000000, 0x08000000}, /* memory */
        {0x3a000000, 0x28000000}, /* pairs */
        {0x3a000000, 0x38000000}, /* single */
        {0x3b200c00, 0x38200000}, /* atomic */
        {0x3f000000, 0x08000000}, /* exclusive */
        {0xbe000000, 0x0c000000}, /* structures */
        {0x0e000000, 0x0e000000}, /* SIMD */
        {0x5f000000, 0x1e000000}, /* floating point */
        {0xff800000, 0x1e000000}, /* of single and double precision */
        {0xff800c00, 0x1e200800}, /* two operands */
        {0xff807c00, 0x1e204000}, /* one */
        {0x7f80fc00, 0x1e200000}, /* to and from integers */
        {0xff800000, 0x1f000000}, /* three */
        {0x9f20c400, 0x0e20c400}, /* vectors: two, */
        {0x9f3e0c00, 0x0e200800}, /* one, */
        {0x9f800400, 0x0f800000}, /* with an element */
        {0xdf3e0c00, 0x5e200800}, /* one lane */
        {0xffe0fc00, 0x5e000400}, {0xffe08400, 0x6e000400},
        {0x9ff8ec00, 0x0f000400}, /* constants */
        {0x7f36fc00, 0x1e260000}, /* FMOV, general */
        {0xff3ffc00, 0x1e204000}, /* FMOV, register */
        {0xbfe08400, 0x0e000400}, /* elements to and from registers */
        {0xfffff000, 0xd503f000}, /* barriers */
        {0xffffffe0, 0xd53b4200}, /* NZCV */
        {0xffffffe0, 0xd51b4200}, {0, 0},
    };
    uint64_t r = draw(t);
    unsigned g = (unsigned)((r >> 40) % (sizeof groups / sizeof *groups));
    uint32_t op = ((uint32_t)r & ~groups[g].mask) | groups[g].bits;
    if (r >> 36 & 1) /* registers meet */
        op = (op & ~0x1fu) | (op >> 5 & 0x1f);
    return op;
}

/*
 * What the emulator does not run as the architecture says: minimum and maximum in memory of less
 * than 64 bits (unicorn 2.0.1 compares them unextended), and writes of breakpoint registers and
 * vector instructions of later cores, at some of which it ends.
 */
static bool is_left_out(const struct trial *t, uint32_t op)
{
    bool extreme = (op & 0x3f20cc00) == 0x38204000 && op >> 30 != 3;
    bool debugs = (op & 0xfff80000) == 0xd5100000;
    return extreme || debugs || (t->newest && (op >> 25 & 7) == 7);
}

static void all_registers(struct trial *t, struct a64_state *s, bool write)
{
    int list[REGS + 2 + 32];
    void *at[REGS + 2 + 32];
    unsigned n = 0;
    for (unsigned i = 0; i < 32; i++) {
        list[n] = UC_ARM64_REG_Q0 + (int)i;
        at[n++] = &s->vector[2 * i];
    }
    for (unsigned i = 0; i < 29; i++) {
        list[n] = UC_ARM64_REG_X0 + (int)i;
        at[n++] = &s->regs[i];
    }
    const int others[] = {UC_ARM64_REG_X29, UC_ARM64_REG_X30, UC_ARM64_REG_SP, UC_ARM64_REG_PC};
    for (unsigned i = 0; i < 4; i++) {
        list[n] = others[i];
        at[n++] = &s->regs[29 + i];
    }
    list[n] = UC_ARM64_REG_NZCV;
    at[n++] = &s->nzcv;
    list[n] = UC_ARM64_REG_FPCR;
    at[n++] = &s->fpcr;
    if (write)
        uc_reg_write_batch(t->uc, list, at, (int)n);
    else
        uc_reg_read_batch(t->uc, list, at, (int)n);
}

static bool emulate(struct trial *t, uint32_t opcode)
{
    uint64_t pc = t->before.regs[PC];
    memcpy(t->code + (pc - CODE), &opcode, 4);
    all_registers(t, &t->before, true);
    uc_ctl_remove_cache(t->uc, pc, pc + 4);
    if (uc_emu_start(t->uc, pc, pc + 4, 0, 1))
        return false;
    all_registers(t, &t->after, false);
    return true;
}

static bool differs(struct trial *t, const char *what, unsigned n, uint64_t is, uint64_t said)
{
    if (is != said)
        printf("%s%u is %016llx, said %016llx\n", what, n, (unsigned long long)is,
               (unsigned long long)said);
    t->known++;
    return is != said;
}

static bool is_outside(struct trial *t, const char *what, uint64_t place, uint64_t away,
                       uint64_t range)
{
    if (away > range)
        printf("%s%llx is %llx behind the least, said at most %llx\n", what,
               (unsigned long long)place, (unsigned long long)away, (unsigned long long)range);
    t->bounded++;
    return away > range;
}

static bool compare_ranges(struct trial *t, struct execute *x)
{
    const struct execute_regs *r = &x->regs;
    bool wrong = false;
    for (unsigned k = 0; k < SP; k++) {
        if (r->known >> k & 1 || !(r->bounded >> k & 1))
            continue;
        bool word = r->words >> k & 1;
        uint64_t is = t->after.regs[k], away = is - r->value[k];
        wrong |= word && is > UINT32_MAX;
        wrong |= is_outside(t, "x", k, word ? (uint32_t)away : away, r->range[k]);
    }
    for (unsigned k = 0; k < x->memory.bound_count; k++) {
        const struct execute_bound *b = &x->memory.bounds[k];
        uint32_t is = 0;
        if (!b->range || b->address - RAM > RAM_SIZE - b->width)
            continue;
        memcpy(&is, t->ram + (b->address - RAM), b->width);
        wrong |= is_outside(t, "memory ", b->address, is - b->number, b->range);
    }
    return wrong;
}

static void compare(struct trial *t, uint32_t opcode, struct execute *x)
{
    const struct execute_regs *r = &x->regs;
    bool wrong = false;
    for (unsigned k = 0; k < SP; k++)
        if (r->known >> k & 1)
            wrong |= differs(t, "x", k, t->after.regs[k], r->value[k]);
    if (r->known >> SP_EL1 & 1)
        wrong |= differs(t, "sp", 1, t->after.regs[SP], r->value[SP_EL1]);
    for (unsigned k = 0; k < 64; k++)
        if (r->vector_known64 >> k & 1)
            wrong |= differs(t, "vector half ", k, t->after.vector[k], r->vector[k]);
    uint32_t flags = r->psr_known & 0xf0000000u;
    wrong |= differs(t, "flags", 0, t->after.nzcv & flags, r->psr & flags);
    for (unsigned k = 0; k < RAM_SIZE; k++) {
        uint8_t bytes[16];
        while (k % 16 == 0 && k < RAM_SIZE && execute_memory_read(&x->memory, RAM + k, bytes, 16) &&
               memcmp(bytes, t->ram + k, 16) == 0)
            k += 16;
        if (k < RAM_SIZE && execute_memory_read(&x->memory, RAM + k, bytes, 1) &&
            bytes[0] != t->ram[k])
            wrong |= differs(t, "byte ", k, t->ram[k], bytes[0]);
    }
    wrong |= compare_ranges(t, x);
    if (wrong)
        printf("  insn %08x fpcr %08llx\n", opcode, (unsigned long long)t->before.fpcr);
    t->wrong += wrong;
}

static void take_state(struct trial *t, struct execute *x)
{
    for (unsigned k = 0; k < SP; k++)
        x->regs.value[k] = t->before.regs[k];
    x->regs.value[SP_EL1] = t->before.regs[SP];
    /* Other system registers are as the instructions before left them in the emulator. */
    x->regs.known = (draw(t) % 3 ? UINT64_MAX : draw(t)) & (UINT64_C(1) << SP_EL1 | INT32_MAX);
    for (unsigned k = 0; k < SP; k++) {
        uint64_t range = draw(t) >> draw(t) % 56, apart = range ? draw(t) % (range + 1) : 0;
        bool word = t->before.regs[k] <= UINT32_MAX && range < UINT32_MAX && draw(t) & 1;
        if (x->regs.known >> k & 1 || !range || draw(t) & 1)
            continue;
        x->regs.value[k] -= apart;
        x->regs.value[k] &= word ? UINT32_MAX : UINT64_MAX;
        x->regs.range[k] = range;
        x->regs.bounded |= 1u << k;
        x->regs.words |= (uint32_t)word << k;
    }
    memcpy(x->regs.vector, t->before.vector, sizeof t->before.vector);
    x->regs.vector_known64 = draw(t) % 3 ? UINT64_MAX : draw(t) << 32 ^ draw(t);
    x->regs.fpscr = (uint32_t)t->before.fpcr;
    x->regs.fpscr_known = draw(t) & 15 ? UINT32_MAX : 0;
    x->regs.psr = (uint32_t)t->before.nzcv | 5; /* EL1, its own SP */
    x->regs.psr_known = 0xdu | (draw(t) % 3 ? 0xf0000000u : draw(t) & 0xf0000000u);
    for (unsigned k = 0; k < RAM_SIZE; k += 64)
        if (draw(t) & 7)
            ck_assert(!execute_memory_write(&x->memory, RAM + k, t->ram + k, 64));
}

static bool try_one(struct trial *t, struct execute *x)
{
    uint32_t opcode = draw_opcode(t);
    if (is_left_out(t, opcode) || !emulate(t, opcode))
        return false;
    const struct execute_insn i = {.address = t->before.regs[PC],
                                   .opcode = opcode,
                                   .isa = BT_ISA_A64,
                                   .size = 4,
                                   .next = t->after.regs[PC],
                                   .has_next = true};
    t->ran++;
    int error = execute_step(x, &i);
    if (error) {
        printf("error %d at %llx next %llx insn %08x\n", error, (unsigned long long)i.address,
               (unsigned long long)i.next, opcode);
        t->refused++;
        return false;
    }
    compare(t, opcode, x);
    t->before = t->after;
    return t->after.regs[PC] - CODE < sizeof t->code && !(t->after.regs[PC] & 3);
}

static void try_some(struct trial *t)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
    draw_state(t);
    execute_memory_init(&x.memory, &budget, kind, t);
    take_state(t, &x);
    for (unsigned n = 0; n < IN_A_ROW && t->wrong == 0 && try_one(t, &x); n++)
        ;
    execute_memory_release(&x.memory);
    ck_assert_uint_eq(budget.used, 0);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void open_emulator(struct trial *t, int model)
{
    uint64_t fpen = 3u << 20;
    if (t->uc)
        uc_close(t->uc);
    ck_assert(!uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &t->uc));
    uc_ctl_set_cpu_model(t->uc, model);
    uc_mem_map_ptr(t->uc, CODE, sizeof t->code, UC_PROT_READ | UC_PROT_EXEC, t->code);
    uc_mem_map_ptr(t->uc, RAM, RAM_SIZE, UC_PROT_READ | UC_PROT_WRITE, t->ram);
    uc_reg_write(t->uc, UC_ARM64_REG_CPACR_EL1, &fpen);
}

static void compare_many(int model)
{
    struct trial *t = calloc(1, sizeof *t);
    uint64_t count = from_environment("EXECUTE_INSNS", 20000);
    ck_assert_ptr_nonnull(t);
    t->seed = from_environment("EXECUTE_SEED", (uint64_t)time(NULL) * 2654435761u) | 1;
    printf("EXECUTE_SEED=%llu\n", (unsigned long long)t->seed);
    t->newest = model == UC_CPU_ARM64_MAX;
    for (uint64_t k = 0; t->ran < count && t->wrong + t->refused < 20; k++) {
        if (k % EMULATOR_TRIES == 0)
            open_emulator(t, model);
        try_some(t);
    }
    uc_close(t->uc);
    printf("%llu ran, %llu values known, %llu ranges\n", (unsigned long long)t->ran,
           (unsigned long long)t->known, (unsigned long long)t->bounded);
    ck_assert_uint_eq(t->wrong + t->refused, 0);
    ck_assert_uint_gt(t->known, 20 * t->ran);
    ck_assert_uint_gt(t->bounded, t->ran);
    free(t);
}

START_TEST(test_a53)
{
    compare_many(UC_CPU_ARM64_A53);
}
END_TEST

START_TEST(test_newest)
{
    compare_many(UC_CPU_ARM64_MAX);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_a64");
    setvbuf(stdout, NULL, _IOLBF, 0); /* what differs is seen when it fails */
    unit_case(s, "execute: random A64 instructions as a Cortex-A53 runs them", test_a53);
    unit_case(s, "execute: random A64 instructions of later cores", test_newest);
    return s;
}
