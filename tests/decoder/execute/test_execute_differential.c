/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random A32 and T32 instructions against an emulator: execute.c, execute_alu.c, execute_dsp.c,
 * execute_float.c, execute_real.c.
 * What is called known after an instruction is what the emulator has. Some of what is there before
 * is not known. Instructions that the architecture calls UNPREDICTABLE are left out, as far as the
 * emulator runs them. EXECUTE_SEED, EXECUTE_INSNS in the environment; EXECUTE_NAMES=1 tells what
 * was unknown behind instructions before which all was known.
 */
#include "decoder/execute/execute.h"
#include "decoder/program/insn.h"
#include "tests/support/unit_main.h"

#include <capstone/capstone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unicorn/unicorn.h>

#define CODE     0x00010000u
#define RAM      0x20000000u
#define RAM_SIZE 0x400u

static const int ids[17] = {
    UC_ARM_REG_R0,  UC_ARM_REG_R1, UC_ARM_REG_R2, UC_ARM_REG_R3, UC_ARM_REG_R4,  UC_ARM_REG_R5,
    UC_ARM_REG_R6,  UC_ARM_REG_R7, UC_ARM_REG_R8, UC_ARM_REG_R9, UC_ARM_REG_R10, UC_ARM_REG_R11,
    UC_ARM_REG_R12, UC_ARM_REG_SP, UC_ARM_REG_LR, UC_ARM_REG_PC, UC_ARM_REG_CPSR};

#define EMULATOR_TRIES 100000u
#define NAMES          1024

/* A mnemonic: how often it ran with all known, and left something that was not. */
struct name {
    char text[32];
    uint64_t ran, unknown;
};

struct trial {
    uc_engine *uc;
    csh names_of[2];
    struct name *names; /* NULL: not wanted */
    uint64_t seed;
    uint8_t code[0x1000], ram[RAM_SIZE];
    uint32_t before[17], after[17];
    uint64_t real[32]; /* d0 to d31 */
    uint32_t fpscr;
    bool floats;
    uint64_t ran, known, bounded, real_known, wrong, refused;
    struct execute_code *cache;
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
    struct trial *t = context;
    *from = *to = 0;
    *bytes = t->code;
    if (address - CODE < sizeof t->code) {
        *from = CODE;
        *to = CODE + sizeof t->code;
        return EXECUTE_MEMORY_CONST;
    }
    if (address - RAM >= RAM_SIZE)
        return EXECUTE_MEMORY_OTHER;
    *from = RAM;
    *to = RAM + RAM_SIZE;
    return EXECUTE_MEMORY_RAM;
}

static void draw_state(struct trial *t, bool thumb)
{
    static const uint32_t corners[8] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 2, 31, 0x8000};
    for (unsigned i = 0; i < 15; i++) {
        uint32_t r = draw(t);
        t->before[i] = r & 1   ? RAM + 0x100 + (draw(t) & 0x1ff & (r & 2 ? ~3u : ~0u))
                       : r & 4 ? corners[r >> 3 & 7]
                               : draw(t);
    }
    t->before[13] = RAM + 0x100 + (draw(t) & 0x1fc);
    t->before[15] = CODE + 0x400 + (draw(t) & 0x3fc);
    t->before[16] = (draw(t) & 0xf80f0000u) | 0x10 | (thumb ? 0x20 : 0);
    for (unsigned i = 0; i < RAM_SIZE / 4; i += 4)
        t->ram[draw(t) % RAM_SIZE] = (uint8_t)draw(t);
}

/*
 * T32: comparisons without flags, and ORRS of SP or PC, which are v8.1-M's long shifts. A32: LDRD
 * whose offset is a register that it loads. Both: multiplications into the PC.
 */
static bool is_unpredictable(const struct execute_insn *i)
{
    uint32_t op = i->opcode;
    if (i->isa == BT_ISA_A32)
        return ((op & 0x0e5000f0) == 0x000000d0 && (op & 14) == (op >> 12 & 14)) ||
               ((op & 0x0f0000f0) == 0x00000090 && (~op & 0xf000 ? !(~op & 0xf0000) : true)) ||
               ((op & 0x0f900090) == 0x01000080 && !(~op & 0xf0000)); /* SMLAL<x><y> jumps there */
    bool divides = (op & 0x00500000) == 0x00100000 || (op & 0x00f00000) == 0x00b00000;
    if ((op & 0xff800000) == 0xfb800000 && !divides && (!(~op & 0xf000) || !(~op & 0xf00)))
        return true;
    bool arithmetic = (op & 0xfe000000) == 0xea000000 || (op & 0xf8008000) == 0xf0000000;
    return i->isa == BT_ISA_T32 && i->size == 4 &&
           ((arithmetic && (op & 0x00100f00) == 0x00000f00) || (op & 0xfff0000d) == 0xea50000d);
}

/* Numbers of both precisions whose arithmetic has corners. */
static uint64_t draw_real(struct trial *t)
{
    static const uint32_t corners[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0x7f800001, 1,          0x80000001,
                                       0x007fffff, 0x00800000, 0x7f7fffff, 0x4f000000, 0xcf000000,
                                       0x3f7fffff, 0x3f000000, 0x4b800001};
    uint64_t number = corners[draw(t) % (sizeof corners / sizeof *corners)];
    switch (draw(t) % 11) {
    case 8: /* NaNs of both kinds, each another */
        return UINT64_C(0x7ff000007f800000) |
               (((uint64_t)draw(t) << 32 | draw(t)) & UINT64_C(0x8008ffff8043ffff));
    case 9: /* near the smallest normal numbers, */
        return UINT64_C(0x0010000000800000) + (draw(t) & 3) - ((uint64_t)(draw(t) & 3) << 32);
    case 10: /* which these are multiplied to */
        return UINT64_C(0x3fefffff3f7fffff) - (draw(t) & 1) + ((uint64_t)(draw(t) & 1) << 32);
    case 0:
        return number | (uint64_t)draw(t) << 32;
    case 1:
        return number << 32 | number;
    case 2: /* doubles that are near ones */
        return UINT64_C(0x3ff0000000000000) + (draw(t) & 3) - ((uint64_t)(draw(t) & 3) << 52);
    case 3: /* floats that are near ones */
        return (uint64_t)(0x3f800000u + (draw(t) & 7)) << 32 | (0xbf800000u - (draw(t) & 7));
    case 4:
        return UINT64_C(0x41e0000000000000) - draw(t);
    default:
        return (uint64_t)draw(t) << 32 | draw(t);
    }
}

/* Of scalar floating point: data processing, and moves from and to core registers. */
static uint32_t draw_float(struct trial *t)
{
    uint32_t op = draw(t) & 0x00ffffff;
    switch (draw(t) % 10) {
    case 8:
    case 9: /* what v8 has without conditions */
        return 0xfe000a00 | (op & 0x00fff1ef) | (draw(t) & 1 ? 0x00b80040 : 0);
    case 0:
        return 0xec400a10 | (op & 0x001ff12f);
    case 1:
        return 0xee000a10 | (op & 0x001ff080);
    case 2:
        return 0xee000b10 | (op & 0x003ff000);
    case 3:
        return 0xeee10a10 | (op & 0x0010f000);
    case 4:
        return 0xeeb00a00 | (op & 0x004ff1af) | (op & 0x800000 ? 0x40 : 0);
    default:
        return 0xee000a00 | (op & 0x00fff1ef);
    }
}

/* Of saturating, parallel and accumulating arithmetic; other things are between them. */
static uint32_t draw_dsp(struct trial *t, bool thumb)
{
    static const struct {
        uint32_t bits, drawn;
    } sets[2][6] = {{{0xe6000f10, 0x00fff0ef},
                     {0xe6800010, 0x007fffef},
                     {0xe7000010, 0x00ffffef},
                     {0xe1000080, 0x006fff6f},
                     {0xe1000050, 0x006ff00f},
                     {0xe0000090, 0x00ffff0f}},
                    {{0xfa80f000, 0x007f0f7f},
                     {0xfa00f080, 0x00ff0f7f},
                     {0xfb000000, 0x007fff3f},
                     {0xfb800000, 0x007fffff},
                     {0xf3000000, 0x00bf7fdf},
                     {0xeac00000, 0x000f7fef}}};
    unsigned k = draw(t) % 6;
    return sets[thumb][k].bits | (draw(t) & sets[thumb][k].drawn);
}

/* The encodings of coprocessors, SIMD and status registers are not of interest here. */
static void draw_insn(struct trial *t, bool thumb, struct execute_insn *i)
{
    uint32_t op = draw(t);
    *i = (struct execute_insn){
        .address = t->before[15], .opcode = op, .isa = thumb ? BT_ISA_T32 : BT_ISA_A32, .size = 4};
    if ((op & 0x0c000000) == 0x0c000000)
        op ^= 0x08000000;
    if (t->floats) {
        i->opcode = draw_float(t);
    } else if (draw(t) % 3 == 0) {
        i->opcode = draw_dsp(t, thumb);
    } else if (!thumb) {
        i->opcode = draw(t) % 3 ? (op & 0x0fffffff) | 0xe0000000u : op;
    } else {
        op = draw(t) & 1 ? (op & 0x1fffffff) | 0xe0000000u : op; /* more of 32 bits */
        i->size = (uint8_t)insn_t32_size((uint16_t)(op >> 16));
        i->opcode = i->size == 2 ? op >> 16 : op;
    }
    uint8_t *p = t->code + (t->before[15] - CODE);
    uint32_t w = i->opcode;
    if (thumb && i->size == 4)
        w = w << 16 | w >> 16;
    for (unsigned k = 0; k < i->size; k++)
        p[k] = (uint8_t)(w >> (8 * k));
}

static void move_reals(struct trial *t, bool write)
{
    int list[33];
    void *to[33];
    for (int k = 0; k < 32; k++) {
        list[k] = UC_ARM_REG_D0 + k;
        to[k] = &t->real[k];
    }
    list[32] = UC_ARM_REG_FPSCR;
    to[32] = &t->fpscr;
    if (write)
        uc_reg_write_batch(t->uc, list, to, 33);
    else
        uc_reg_read_batch(t->uc, list, to, 33);
}

static bool emulate(struct trial *t, bool thumb, const struct execute_insn *i)
{
    int list[17];
    void *to[17];
    memcpy(list, ids, sizeof list);
    if (t->floats)
        move_reals(t, true);
    for (unsigned k = 0; k < 17; k++)
        to[k] = &t->before[k];
    uc_reg_write(t->uc, UC_ARM_REG_CPSR, &t->before[16]); /* first: SP and LR are this mode's */
    uc_reg_write_batch(t->uc, list, to, 17);
    uc_ctl_remove_cache(t->uc, i->address, i->address + 4);
    if (uc_emu_start(t->uc, i->address | thumb, i->address + i->size, 0, 1))
        return false;
    for (unsigned k = 0; k < 17; k++)
        to[k] = &t->after[k];
    uc_reg_read_batch(t->uc, list, to, 17);
    if (t->floats)
        move_reals(t, false);
    return true;
}

/* True: something that is called known is not so. */
static bool compare_reals(struct trial *t, const struct execute_regs *r)
{
    bool wrong = false;
    for (unsigned k = 0; k < 64; k++) {
        unsigned half = k & 1 ? 32 : 0;
        bool known = k < 32 ? r->vector_known >> k & 1 : r->vector_known64 >> (k / 2 - 16) & 1;
        uint32_t is = (uint32_t)(t->real[k / 2] >> half),
                 said = (uint32_t)(r->vector[k / 2] >> half);
        t->real_known += known;
        if (!known || is == said)
            continue;
        printf("%s half of d%u is %08x, said %08x\n", half ? "upper" : "lower", k / 2, is, said);
        wrong = true;
    }
    if ((t->fpscr ^ r->fpscr) & r->fpscr_known) {
        printf("FPSCR is %08x, said %08x known %08x\n", t->fpscr, r->fpscr, r->fpscr_known);
        wrong = true;
    }
    return wrong;
}

static void compare(struct trial *t, const struct execute_insn *i, struct execute *x)
{
    const struct execute_regs *r = &x->regs;
    bool wrong = false;
    for (unsigned k = 0; k < 15; k++) {
        t->known += r->known >> k & 1;
        if (r->known >> k & 1 && (uint32_t)r->value[k] != t->after[k]) {
            printf("r%u is %08x, said %08x\n", k, t->after[k], (uint32_t)r->value[k]);
            wrong = true;
        }
        bool bounded = !(r->known >> k & 1) && r->bounded >> k & 1;
        t->bounded += bounded;
        if (bounded && t->after[k] - (uint32_t)r->value[k] > r->range[k]) {
            printf("r%u is %08x, said %08x or %x more\n", k, t->after[k], (uint32_t)r->value[k],
                   (uint32_t)r->range[k]);
            wrong = true;
        }
    }
    if ((r->psr ^ t->after[16]) & r->psr_known & 0xf80f0000u) {
        printf("flags are %08x, said %08x known %08x\n", t->after[16], r->psr, r->psr_known);
        wrong = true;
    }
    for (unsigned k = 0; k < RAM_SIZE; k++) {
        uint8_t byte;
        if (execute_memory_read(&x->memory, RAM + k, &byte, 1) && byte != t->ram[k]) {
            printf("byte %08x is %02x, said %02x\n", RAM + k, t->ram[k], byte);
            wrong = true;
        }
    }
    for (unsigned k = 0; k < RAM_SIZE; k += 4) {
        uint32_t number, word, range = execute_memory_range(&x->memory, RAM + k, 4, &number);
        memcpy(&word, t->ram + k, 4);
        if (range && word - number > range) {
            printf("word %08x is %08x, said %08x or %x more\n", RAM + k, word, number, range);
            wrong = true;
        }
    }
    if (t->floats)
        wrong |= compare_reals(t, r);
    if (wrong)
        printf("  insn %08x isa %u size %u\n", i->opcode, i->isa, i->size);
    t->wrong += wrong;
}

/* Of some registers that are not known it is known how great they may be. */
static void draw_ranges(struct trial *t, struct execute_regs *r)
{
    for (unsigned k = 0; k < 15; k++) {
        uint32_t range = draw(t) & (draw(t) & 1 ? 15 : 0xffffffu);
        if (r->known >> k & 1 || !range || draw(t) & 1)
            continue;
        r->value[k] = (uint32_t)r->value[k] - draw(t) % (range + 1);
        r->range[k] = range;
        r->bounded |= 1u << k;
    }
}

/* The flags are of a comparison. */
static void draw_compared(struct trial *t, struct execute_regs *r)
{
    unsigned k = draw(t) % 13, how = draw(t) % 3;
    uint32_t shift = how || draw(t) & 1 ? 0 : draw(t) & 7, v = t->before[k] + shift;
    uint32_t with = how == EXECUTE_COMPARED_RESULT ? 0 : v + draw(t) % 7 - 3;
    uint32_t a = how == EXECUTE_COMPARED_BY ? with : v, b = how == EXECUTE_COMPARED_BY ? v : with;
    uint32_t d = a - b, carries = t->before[16] & 0x30000000u;
    if (draw(t) & 3)
        return;
    if (how != EXECUTE_COMPARED_RESULT)
        carries = (a >= b ? 0x20000000u : 0) | ((a ^ b) & (a ^ d)) >> 31 << 28;
    t->before[16] =
        (t->before[16] & 0x0fffffff) | (d & 0x80000000u) | (d ? 0 : 0x40000000u) | carries;
    r->compared = (struct execute_compared){
        .with = with, .shift = shift, .reg = (uint8_t)(k + 1), .how = (uint8_t)how};
}

static void draw_bound(struct trial *t, struct execute_memory *m, unsigned at)
{
    uint32_t word, range = 1 + (draw(t) & 0xff);
    memcpy(&word, t->ram + at, 4);
    execute_memory_bound(m, RAM + at, 4, word - draw(t) % (range + 1), range);
}

/* FPSCR is often as programs have it, and known. */
static void draw_reals(struct trial *t, struct execute_regs *r)
{
    for (unsigned k = 0; k < 32; k++)
        r->vector[k] = t->real[k] = draw_real(t);
    t->fpscr = draw(t) & 0xf000009f;
    if (!(draw(t) & 7))
        t->fpscr |= draw(t) & 0x07c00000;
    r->fpscr = t->fpscr;
    r->fpscr_known = draw(t) & 7 ? UINT32_MAX : draw(t);
    r->vector_known = draw(t) & 7 ? UINT64_MAX : (uint64_t)draw(t) << 32 | draw(t);
    r->vector_known &= UINT32_MAX;
    r->vector_known64 = draw(t) & 7 ? 0xffff : draw(t) & 0xffff;
}

static bool all_known(const struct trial *t, const struct execute_regs *r)
{
    return (r->known & 0x7fff) == 0x7fff && (r->psr_known & 0xf80f0000u) == 0xf80f0000u &&
           (!t->floats || (r->vector_known == UINT32_MAX && r->vector_known64 == 0xffff &&
                           (r->fpscr_known & ~0x9fu) == ~0x9fu));
}

static void count_name(struct trial *t, const struct execute_insn *i, bool unknown)
{
    cs_insn *insn;
    size_t n = cs_disasm(t->names_of[i->isa == BT_ISA_T32], t->code + (i->address - CODE), i->size,
                         i->address, 1, &insn);
    const char *text = n ? insn->mnemonic : "?";
    for (unsigned k = 0; k < NAMES; k++) {
        if (t->names[k].ran && strcmp(t->names[k].text, text) != 0)
            continue;
        snprintf(t->names[k].text, sizeof t->names[k].text, "%s", text);
        t->names[k].ran++;
        t->names[k].unknown += unknown;
        break;
    }
    if (n)
        cs_free(insn, n);
}

static int more_unknown(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    return (x->unknown < y->unknown) - (x->unknown > y->unknown);
}

static void print_names(struct trial *t)
{
    qsort(t->names, NAMES, sizeof *t->names, more_unknown);
    for (unsigned k = 0; k < NAMES && t->names[k].unknown; k++)
        printf("%-16s ran %8llu with all known, unknown afterwards %8llu\n", t->names[k].text,
               (unsigned long long)t->names[k].ran, (unsigned long long)t->names[k].unknown);
}

static void try_one(struct trial *t, bool thumb)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_AR}, .code = t->cache};
    struct execute_insn i;
    draw_state(t, thumb);
    draw_insn(t, thumb, &i);
    draw_compared(t, &x.regs);
    if (t->floats)
        draw_reals(t, &x.regs);
    execute_memory_init(&x.memory, &budget, kind, t);
    for (unsigned k = 0; k < 15; k++)
        x.regs.value[k] = t->before[k];
    x.regs.known = draw(t) % 3 ? 0x7fff : draw(t) & 0x7fff;
    draw_ranges(t, &x.regs);
    x.regs.psr = t->before[16];
    x.regs.psr_known = draw(t) % 3 ? UINT32_MAX : 0x07f0ffff | (draw(t) & 0xf80f0000u);
    for (unsigned k = 0; k < RAM_SIZE; k += 16)
        if (draw(t) & 7)
            ck_assert(!execute_memory_write(&x.memory, RAM + k, t->ram + k, 16));
        else
            draw_bound(t, &x.memory, k + (draw(t) & 12));
    if (!is_unpredictable(&i) && emulate(t, thumb, &i)) {
        i.next = t->after[15];
        i.has_next = true;
        t->ran++;
        bool whole = all_known(t, &x.regs);
        int error = execute_step(&x, &i);
        if (t->names && whole)
            count_name(t, &i, !all_known(t, &x.regs));
        if (error) {
            printf("error %d at %08x next %08x insn %08x isa %u\n", error, (uint32_t)i.address,
                   (uint32_t)i.next, i.opcode, i.isa);
            t->refused++;
        } else {
            compare(t, &i, &x);
        }
    }
    execute_memory_release(&x.memory);
    ck_assert_uint_eq(budget.used, 0);
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void open_emulator(struct trial *t)
{
    uint64_t access;
    uint32_t enabled = 1u << 30;
    ck_assert(!uc_open(UC_ARCH_ARM, UC_MODE_ARM, &t->uc));
    uc_ctl_set_cpu_model(t->uc, t->floats ? UC_CPU_ARM_MAX : UC_CPU_ARM_CORTEX_A15);
    uc_mem_map_ptr(t->uc, CODE, sizeof t->code, UC_PROT_READ | UC_PROT_EXEC, t->code);
    uc_mem_map_ptr(t->uc, RAM, RAM_SIZE, UC_PROT_READ | UC_PROT_WRITE, t->ram);
    uc_reg_read(t->uc, UC_ARM_REG_C1_C0_2, &access);
    access |= 0xf00000;
    uc_reg_write(t->uc, UC_ARM_REG_C1_C0_2, &access);
    uc_reg_write(t->uc, UC_ARM_REG_FPEXC, &enabled);
}

static struct trial *new_trial(bool floats)
{
    struct trial *t = calloc(1, sizeof *t);
    ck_assert_ptr_nonnull(t);
    t->floats = floats;
    t->seed = from_environment("EXECUTE_SEED", (uint64_t)time(NULL) * 2654435761u) | 1;
    printf("EXECUTE_SEED=%llu\n", (unsigned long long)t->seed);
    t->cache = execute_code_new();
    ck_assert_ptr_nonnull(t->cache);
    if (getenv("EXECUTE_NAMES")) {
        t->names = calloc(NAMES, sizeof *t->names);
        cs_open(CS_ARCH_ARM, CS_MODE_ARM | CS_MODE_V8, &t->names_of[0]);
        cs_open(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_V8, &t->names_of[1]);
    }
    open_emulator(t);
    return t;
}

static void end_trial(struct trial *t)
{
    uc_close(t->uc);
    if (t->names)
        print_names(t);
    free(t->names);
    printf("%llu ran, %llu registers known, %llu bounded, %llu floats\n",
           (unsigned long long)t->ran, (unsigned long long)t->known, (unsigned long long)t->bounded,
           (unsigned long long)t->real_known);
    ck_assert_uint_eq(t->wrong + t->refused, 0);
    ck_assert_uint_gt(t->known, 5 * t->ran);
    execute_code_free(t->cache);
    free(t);
}

/* The emulator forgets each instruction's code, and crashes after some millions of that. */
static void try_many(struct trial *t, uint64_t count)
{
    for (uint64_t k = 0; k < count && t->wrong + t->refused < 20; k++) {
        if (k % EMULATOR_TRIES == EMULATOR_TRIES - 1) {
            uc_close(t->uc);
            open_emulator(t);
        }
        try_one(t, k & 1);
    }
}

START_TEST(test_random)
{
    struct trial *t = new_trial(false);
    uint64_t count = from_environment("EXECUTE_INSNS", 20000);
    try_many(t, count);
    ck_assert_uint_gt(t->ran, count / 10);
    ck_assert_uint_gt(t->bounded, t->ran / 10);
    end_trial(t);
}
END_TEST

START_TEST(test_random_floats)
{
    struct trial *t = new_trial(true);
    uint64_t count = from_environment("EXECUTE_INSNS", 20000);
    try_many(t, count);
    ck_assert_uint_gt(t->ran, count / 3);
    ck_assert_uint_gt(t->real_known, 50 * t->ran);
    end_trial(t);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_differential");
    setvbuf(stdout, NULL, _IOLBF, 0); /* what differs is seen when it fails */
    unit_case(s, "execute: random instructions as an emulator runs them", test_random);
    unit_case(s, "execute: random floating-point instructions likewise", test_random_floats);
    return s;
}
