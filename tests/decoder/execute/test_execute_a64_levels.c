/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exception levels, translation and what instructions leave undone, executed forwards, by hand:
 * execute_a64_system.c, execute_a64_translation.c, execute_a64.c.
 */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define RAM       0x20000000u
#define SP_EL1    32u /* where execute_regs has it */
#define ELR_EL1   36u
#define SPSR_EL1  39u
#define VBAR_EL1  43u
#define SCTLR_EL1 51u
#define TTBR_EL1  54u
#define TCR_EL1   57u
#define HCR_EL2   62u

/* Of known: SCTLR, TTBR0, TTBR1, TCR of all levels, HCR. */
#define TRANSLATION (UINT64_C(0x3ff) << SCTLR_EL1 | UINT64_C(1) << HCR_EL2)

static int step_at(struct execute *x, uint64_t address, uint32_t opcode, uint64_t next)
{
    const struct execute_insn i = {.address = address,
                                   .opcode = opcode,
                                   .isa = BT_ISA_A64,
                                   .size = 4,
                                   .next = next,
                                   .has_next = true};
    return execute_step(x, &i);
}

START_TEST(test_exception)
{
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
    struct bt_event e = {.kind = BT_EVENT_EXCEPTION};
    e.u.exception = (struct bt_exception){.type = 0xe, .has_return = true, .return_address = 0x104};
    execute_memory_init(&x.memory, NULL, NULL, NULL);
    x.regs.known = UINT64_MAX;
    x.regs.value[SP_EL1] = 0x1000;
    x.regs.value[VBAR_EL1] = 0x2000;
    x.regs.psr = 0x60000004; /* EL1 with SP_EL0 */
    x.regs.psr_known = UINT32_MAX;
    ck_assert(!step_at(&x, 0x100, 0xd4000001, 0x104)); /* svc */
    ck_assert(!execute_exception(&x, &e, 0x2000));
    ck_assert_uint_eq(x.regs.psr & x.regs.psr_known & 0x3cf, 0x3c5);
    ck_assert(!step_at(&x, 0x2000, 0xd10043ff, 0x2004)); /* sub sp, sp, #16 */
    ck_assert_uint_eq(x.regs.value[SP_EL1], 0xff0);
    ck_assert(!step_at(&x, 0x2004, 0xd5384020, 0x2008)); /* mrs x0, elr_el1 */
    ck_assert_uint_eq(x.regs.value[0], 0x104);
    ck_assert_int_eq(step_at(&x, 0x2008, 0xd69f03e0, 0x108), BT_ERR_RANGE); /* eret elsewhere */
    x.regs.psr = 0x3c5;
    x.regs.psr_known = UINT32_MAX;
    ck_assert(!step_at(&x, 0x2008, 0xd69f03e0, 0x104));
    ck_assert_uint_eq(x.regs.psr & x.regs.psr_known, 0x60000004);
    execute_memory_release(&x.memory);
}
END_TEST

static enum execute_memory_kind all_ram(void *context, uint64_t address, uint64_t *from,
                                        uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    (void)address;
    *from = 0;
    *to = UINT64_MAX;
    *bytes = NULL;
    return EXECUTE_MEMORY_RAM;
}

static void check_register(const struct execute *x, unsigned reg, bool known, uint64_t value)
{
    ck_assert_int_eq(x->regs.known >> reg & 1, known);
    if (known)
        ck_assert_uint_eq(x->regs.value[reg], value);
}

/* Data in the order of SCTLR_EL1.EE, which begins with an ISB; of one that nobody knows the bytes
 * are unknown, but for single ones. */
START_TEST(test_order)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
    execute_memory_init(&x.memory, &budget, all_ram, NULL);
    x.regs.known = UINT64_MAX;
    x.regs.value[SCTLR_EL1] = 0x30d00800;
    x.regs.value[1] = 0x0102030405060708;
    x.regs.value[2] = RAM;
    x.regs.value[4] = 0x32d00800;
    x.regs.psr = 0x3c5; /* EL1 */
    x.regs.psr_known = UINT32_MAX;
    x.regs.translation = EXECUTE_TRANSLATION_FLAT;
    ck_assert(!step_at(&x, 0x100, 0xd5181004, 0x104)); /* msr sctlr_el1, x4 */
    ck_assert(!step_at(&x, 0x104, 0xd5033fdf, 0x108)); /* isb */
    ck_assert(!step_at(&x, 0x108, 0xf9000041, 0x10c)); /* str x1, [x2] */
    ck_assert(!step_at(&x, 0x10c, 0x79400043, 0x110)); /* ldrh w3, [x2] */
    check_register(&x, 3, true, 0x0102);
    ck_assert(!step_at(&x, 0x110, 0x39400043, 0x114)); /* ldrb w3, [x2] */
    check_register(&x, 3, true, 1);
    ck_assert(!step_at(&x, 0x114, 0xf9400043, 0x118)); /* ldr x3, [x2] */
    check_register(&x, 3, true, 0x0102030405060708);
    x.regs.psr = 0x3c0;                                /* EL0: SCTLR_EL1.E0E */
    ck_assert(!step_at(&x, 0x118, 0x79400043, 0x11c)); /* ldrh w3, [x2] */
    check_register(&x, 3, true, 0x0201);
    x.regs.psr_known &= ~0xcu; /* of which level */
    ck_assert(!step_at(&x, 0x11c, 0x79400043, 0x120));
    check_register(&x, 3, false, 0);
    ck_assert(!step_at(&x, 0x120, 0xf9000041, 0x124)); /* str x1, [x2] */
    ck_assert(!step_at(&x, 0x124, 0x39400043, 0x128)); /* ldrb w3, [x2] */
    check_register(&x, 3, false, 0);
    ck_assert(!step_at(&x, 0x128, 0x39000041, 0x12c)); /* strb w1, [x2] */
    ck_assert(!step_at(&x, 0x12c, 0x39400043, 0x130)); /* ldrb w3, [x2] */
    check_register(&x, 3, true, 8);
    execute_memory_release(&x.memory);
}
END_TEST

/* Nobody knows what SCTLR was written with: nor the order, from there on. */
START_TEST(test_unknown_order)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
    execute_memory_init(&x.memory, &budget, all_ram, NULL);
    x.regs.known = UINT64_MAX & ~(UINT64_C(1) << 4);
    x.regs.value[1] = 0x0102030405060708;
    x.regs.value[2] = RAM;
    x.regs.psr = 0x3c5; /* EL1 */
    x.regs.psr_known = UINT32_MAX;
    ck_assert(!step_at(&x, 0x100, 0xf9000041, 0x104)); /* str x1, [x2] */
    ck_assert(!step_at(&x, 0x104, 0xf9400043, 0x108)); /* ldr x3, [x2] */
    check_register(&x, 3, true, 0x0102030405060708);
    ck_assert(!step_at(&x, 0x108, 0xd5181004, 0x10c)); /* msr sctlr_el1, x4 */
    ck_assert(!step_at(&x, 0x10c, 0xd5033fdf, 0x110)); /* isb */
    ck_assert(!step_at(&x, 0x110, 0xf9000041, 0x114)); /* str x1, [x2] */
    ck_assert(!step_at(&x, 0x114, 0xf9400043, 0x118)); /* ldr x3, [x2] */
    check_register(&x, 3, false, 0);
    execute_memory_release(&x.memory);
}
END_TEST

/* An exception comes that returns to the instruction itself, or nobody knows what it does. */
START_TEST(test_not_completed)
{
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
    execute_memory_init(&x.memory, NULL, NULL, NULL);
    x.regs.known = UINT64_MAX;
    x.regs.psr_known = UINT32_MAX;
    x.regs.value[1] = 7;
    ck_assert(!step_at(&x, 0x100, 0xd5384021, 0x100)); /* mrs x1, elr_el1: a trap */
    ck_assert(x.regs.known >> 1 & 1);
    ck_assert_uint_eq(x.regs.value[1], 7);
    ck_assert(!step_at(&x, 0x100, 0xf9400041, 0x100)); /* ldr x1, [x2] */
    ck_assert(!(x.regs.known >> 1 & 1));
    ck_assert(x.regs.known >> 2 & 1);
    ck_assert_int_eq(step_at(&x, 0x100, 0x91000400, 0x200), BT_ERR_RANGE); /* add */
    ck_assert(!step_at(&x, 0x100, 0xd45e0000, 0x104)); /* hlt #0xf000: a debugger's service */
    ck_assert_uint_eq(x.regs.known, 0);
    execute_memory_release(&x.memory);
}
END_TEST

/* Where addresses get another meaning what was there says nothing any more. */
START_TEST(test_translation)
{
    static const struct {
        uint32_t opcode, psr;
        bool kept;
    } list[] = {
        {0xd5182000, 0x3c5, false}, /* msr ttbr0_el1, x0 */
        {0xd5182020, 0x3c5, false}, /* msr ttbr1_el1, x0 */
        {0xd5182040, 0x3c5, false}, /* msr tcr_el1, x0 */
        {0xd5181000, 0x3c5, false}, /* msr sctlr_el1, x0 */
        {0xd508871f, 0x3c5, false}, /* tlbi vmalle1 */
        {0xd69f03e0, 0x3c9, false}, /* eret from EL2 to EL1 */
        {0xd69f03e0, 0x3c5, true},  /* within EL1 */
        {0xd518d040, 0x3c5, true},  /* msr tpidr_el0, x0 */
        {0xd503201f, 0x3c5, true},  /* nop */
    };
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
        uint32_t word = 7;
        execute_memory_init(&x.memory, &budget, all_ram, NULL);
        ck_assert(!execute_memory_write(&x.memory, 0x1000, &word, 4));
        x.regs.known = ~TRANSLATION;
        x.regs.value[ELR_EL1] = x.regs.value[ELR_EL1 + 1] = 0x104;
        x.regs.value[SPSR_EL1] = x.regs.value[SPSR_EL1 + 1] = 0xffffffff000003c5;
        x.regs.psr = list[i].psr;
        x.regs.psr_known = UINT32_MAX;
        ck_assert(!step_at(&x, 0x100, list[i].opcode, 0x104));
        ck_assert_int_eq(execute_memory_read(&x.memory, 0x1000, &word, 4), list[i].kept);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* What is stored before the change counts may be anywhere. */
START_TEST(test_changing)
{
    static const struct {
        uint32_t change, ends[2];
    } list[] = {
        {0xd5181000, {0xd5033fdf}},             /* msr sctlr_el1, x0; isb */
        {0xd5182000, {0xd5033fdf}},             /* msr ttbr0_el1, x0 */
        {0xd508871f, {0xd5033f9f, 0xd5033fdf}}, /* tlbi vmalle1; dsb sy; isb */
        {0xd5181000, {0xd69f03e0}},             /* eret */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct execute_budget budget = {.limit = 1 << 20};
        struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
        uint32_t word;
        execute_memory_init(&x.memory, &budget, all_ram, NULL);
        x.regs.known = ~TRANSLATION;
        x.regs.value[2] = 0x1000;
        x.regs.value[ELR_EL1] = 0x104;
        x.regs.value[SPSR_EL1] = 0xffffffff000003c5;
        x.regs.psr = 0x3c5;
        x.regs.psr_known = UINT32_MAX;
        ck_assert(!step_at(&x, 0x100, list[i].change, 0x104));
        ck_assert(!step_at(&x, 0x100, 0xb9000041, 0x104)); /* str w1, [x2] */
        ck_assert(!execute_memory_read(&x.memory, 0x1000, &word, 4));
        for (unsigned k = 0; k < 2 && list[i].ends[k]; k++)
            ck_assert(!step_at(&x, 0x100, list[i].ends[k], 0x104));
        ck_assert(!execute_memory_read(&x.memory, 0x1000, &word, 4));
        ck_assert(!step_at(&x, 0x100, 0xb9000041, 0x104));
        ck_assert(execute_memory_read(&x.memory, 0x1000, &word, 4));
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* Registers of the tests below, of which those of translation are as they are named. */
static void begin(struct execute *x, struct execute_budget *budget, uint32_t psr)
{
    uint32_t word = 7;
    *x = (struct execute){.core = {.profile = EXECUTE_PROFILE_A64}};
    execute_memory_init(&x->memory, budget, all_ram, NULL);
    ck_assert(!execute_memory_write(&x->memory, 0x1000, &word, 4));
    x->regs.known = UINT64_MAX;
    x->regs.psr = psr;
    x->regs.psr_known = UINT32_MAX;
    x->regs.value[2] = 0x1000;
    for (unsigned level = 0; level < 3; level++)
        x->regs.value[VBAR_EL1 + level] = 0x2000;
}

static bool is_kept(struct execute *x)
{
    uint32_t word;
    return execute_memory_read(&x->memory, 0x1000, &word, 4) && word == 7;
}

/* Tables at 0x2000 for 39 bits, and one of the second level: all addresses are their own. */
static void put_tables(struct execute *x)
{
    for (uint64_t n = 0; n < 512; n++) {
        uint64_t first = n << 30 | 0x405, second = n << 21 | 0x405;
        ck_assert(!execute_memory_write(&x->memory, 0x2000 + 8 * n, &first, 8));
        ck_assert(!execute_memory_write(&x->memory, 0x3000 + 8 * n, &second, 8));
    }
    uint64_t table = 0x3003;
    ck_assert(!execute_memory_write(&x->memory, 0x2000, &table, 8));
    x->regs.value[TTBR_EL1] = 0x2000;
    x->regs.value[TCR_EL1] = 25 | 1u << 23;
}

/* What is known of RAM lasts where each address is its own before and behind it. */
START_TEST(test_flat)
{
    static const struct {
        uint32_t opcode, psr;
        unsigned reg; /* has this value, or is not known */
        uint64_t value;
        bool known, kept;
    } list[] = {
        {0xd5181000, 0x3c5, 0, 1, true, true},            /* msr sctlr_el1, x0: translation on */
        {0xd5181000, 0x3c5, 0, 1, false, false},          /* who knows */
        {0xd5181000, 0x3c5, 0, 1 | 1 << 25, true, false}, /* in another order of bytes */
        {0xd5181000, 0x3c5, TCR_EL1, 25, true, false},    /* with an upper half */
        {0xd5181000, 0x3c5, TCR_EL1, 25 | 1 << 14 | 1 << 23, true, false}, /* other granules */
        {0xd5181000, 0x3c5, TTBR_EL1, 0x3000, true, false},
        {0xd5181000, 0x3c5, TTBR_EL1, 0x2000, false, false},
        {0xd5181000, 0x3c9, 0, 1, true, true},        /* from EL2 */
        {0xd5182000, 0x3c5, 0, 0x4000, true, true},   /* msr ttbr0_el1, x0: it is off */
        {0xd508871f, 0x3c5, 0, 0, true, true},        /* tlbi vmalle1 */
        {0xd69f03e0, 0x3c9, 0, 0, true, true},        /* eret from EL2 to EL1 */
        {0xd69f03e0, 0x3c9, HCR_EL2, 1, true, false}, /* with a second stage */
        {0xd69f03e0, 0x3c9, HCR_EL2, 0, false, false},
        {0xd69f03e0, 0x3c9, SCTLR_EL1, 1, true, true}, /* its tables are good */
        {0xd69f03e0, 0x3cd, SCTLR_EL1, UINT64_C(1) << 32, true, false},
        {0xd51c1100, 0x3c9, 0, 1, true, true},                  /* msr hcr_el2, x0 */
        {0xd51c1100, 0x3c9, 0, UINT64_C(1) << 34, true, false}, /* EL2 is a host */
    };
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct execute x;
        begin(&x, &budget, list[i].psr);
        put_tables(&x);
        x.regs.value[0] = 1;
        for (unsigned level = 0; level < 3; level++) {
            x.regs.value[ELR_EL1 + level] = 0x104;
            x.regs.value[SPSR_EL1 + level] = 0xffffffff000003c5;
        }
        x.regs.value[list[i].reg] = list[i].value;
        x.regs.known &= ~((uint64_t)!list[i].known << list[i].reg);
        ck_assert(!step_at(&x, 0x100, list[i].opcode, 0x104));
        ck_assert_msg(is_kept(&x) == list[i].kept, "case %zu", i);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* Tables in use: another entry that is as good, one that is not, and a store somewhere. */
START_TEST(test_flat_tables)
{
    static const struct {
        uint64_t address, entry;
        bool known, kept;
    } list[] = {
        {0x3008, 0x200745, true, true},  {0x3008, 0, true, true},
        {0x3008, 0x400745, true, false}, {0x3008, 0x200745, false, false},
        {0x2008, 0x4003, true, false},   {0x4000, 0x400745, true, true},
    };
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct execute x;
        begin(&x, &budget, 0x3c5);
        put_tables(&x);
        x.regs.value[SCTLR_EL1] = 1;
        x.regs.value[1] = list[i].entry;
        x.regs.value[2] = list[i].address;
        x.regs.known &= ~((uint64_t)!list[i].known << 1);
        ck_assert(!step_at(&x, 0x100, 0xf9000041, 0x104)); /* str x1, [x2] */
        ck_assert_msg(is_kept(&x) == list[i].kept, "case %zu", i);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* HVC and SMC go to their levels, also where both have the same vectors; without an exception
 * somebody else has done what they do. */
START_TEST(test_firmware)
{
    static const struct {
        uint32_t opcode, psr;
        unsigned level;
    } list[] = {{0xd4000002, 0x3c5, 2},
                {0xd4000003, 0x3c5, 3},
                {0xd4000003, 0x3c9, 3},
                {0xd4000002, 0x3cd, 3}};
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct bt_event e = {.kind = BT_EVENT_EXCEPTION};
        struct execute x;
        e.u.exception =
            (struct bt_exception){.type = 2, .has_return = true, .return_address = 0x104};
        begin(&x, &budget, list[i].psr);
        ck_assert(!step_at(&x, 0x100, list[i].opcode, 0x104));
        ck_assert(!execute_exception(&x, &e, 0x2400));
        ck_assert_uint_eq(x.regs.psr >> 2 & 3, list[i].level);
        ck_assert_uint_eq(x.regs.value[ELR_EL1 + list[i].level - 1], 0x104);
        ck_assert(is_kept(&x));
        ck_assert(!step_at(&x, 0x2400, 0xd503201f, 0x2404));
        ck_assert(x.regs.known & 1);
        ck_assert(!step_at(&x, 0x2404, list[i].opcode, 0x2408));
        ck_assert(!step_at(&x, 0x2408, 0xd503201f, 0x240c));
        ck_assert_uint_eq(x.regs.known & 0x7fffffff, 0x7ffc0000);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* What an exception comes back to is not in the path, but may be done in part: `x1` loaded, or
 * [x2 - 16, x2) stored. */
START_TEST(test_abandoned)
{
    static const struct {
        uint32_t opcode;
        uint8_t type;
        bool loads, stores;
    } list[] = {
        {0xa9bf0c41, 12, false, true},                                 /* stp x1, x3, [x2, #-16]! */
        {0xa9bf0c41, 14, false, true},                                 /* an interrupt */
        {0xa9bf0c41, 3, false, false},                                 /* a trap */
        {0xf81f0041, 12, false, true},                                 /* stur x1, [x2, #-16] */
        {0xf81f0041, 14, false, false},                                /* of one access */
        {0xa9400c41, 12, true, false},                                 /* ldp x1, x3, [x2] */
        {0xa9400c41, 15, true, false},  {0xf9400041, 12, true, false}, /* ldr x1, [x2] */
        {0xf9400041, 14, false, false}, {0x8b030021, 12, false, false}, /* add x1, x1, x3 */
    };
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct bt_event e = {.kind = BT_EVENT_EXCEPTION};
        struct execute x;
        uint64_t zero[2] = {0, 0};
        e.u.exception = (struct bt_exception){
            .type = list[i].type, .has_return = true, .return_address = 0x104};
        begin(&x, &budget, 0x3c5);
        ck_assert(!execute_memory_write(&x.memory, 0x104, &list[i].opcode, 4));
        ck_assert(!execute_memory_write(&x.memory, 0xff0, zero, 16));
        x.regs.value[1] = 5;
        ck_assert(!execute_exception(&x, &e, 0x2200));
        ck_assert_msg((x.regs.known >> 1 & 1) == !list[i].loads, "case %zu", i);
        ck_assert(x.regs.known >> 2 & 1 && x.regs.value[2] == 0x1000);
        ck_assert_msg(execute_memory_read(&x.memory, 0xff0, zero, 8) == !list[i].stores, "case %zu",
                      i);
        ck_assert(is_kept(&x));
        ck_assert_uint_eq(x.regs.value[ELR_EL1], 0x104);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* Vectors that are loaded one after the other; code that nobody knows. */
START_TEST(test_abandoned_vectors)
{
    struct bt_event e = {.kind = BT_EVENT_EXCEPTION};
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x;
    uint32_t opcode = 0xad400841; /* ldp q1, q2, [x2] */
    e.u.exception = (struct bt_exception){.type = 12, .has_return = true, .return_address = 0x104};
    begin(&x, &budget, 0x3c5);
    ck_assert(!execute_memory_write(&x.memory, 0x104, &opcode, 4));
    x.regs.vector_known64 = UINT64_MAX;
    ck_assert(!execute_exception(&x, &e, 0x2200));
    ck_assert_uint_eq(x.regs.vector_known64, ~UINT64_C(0x3c));
    e.u.exception.return_address = 0x800;
    ck_assert(!execute_exception(&x, &e, 0x2200));
    ck_assert_uint_eq(x.regs.known & 0x7fffffff, 0);
    ck_assert_uint_eq(x.regs.vector_known64, 0);
    ck_assert(!is_kept(&x));
    execute_memory_release(&x.memory);
}
END_TEST

/* Bits 1 and 0 of an address are not traced: a branch to where no instruction can be. */
START_TEST(test_unaligned)
{
    static const struct {
        uint64_t target;
        uint8_t type;
        bool known;
    } list[] = {{0x202, 10, false}, {0x202, 14, false}, {0x200, 10, false}, {0x200, 14, true}};
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct bt_event e = {.kind = BT_EVENT_EXCEPTION};
        struct execute x;
        e.u.exception = (struct bt_exception){
            .type = list[i].type, .has_return = true, .return_address = 0x200};
        begin(&x, &budget, 0x3c5);
        x.regs.value[16] = list[i].target;
        ck_assert(!step_at(&x, 0x100, 0xd61f0200, 0x200)); /* br x16 */
        ck_assert(!execute_exception(&x, &e, 0x2200));
        ck_assert_msg((x.regs.known >> ELR_EL1 & 1) == list[i].known, "case %zu", i);
        ck_assert_uint_eq(x.regs.psr & 0xf, 5);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* Where the level is not known ERET leaves the general registers. */
START_TEST(test_return_from_somewhere)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x;
    begin(&x, &budget, 0x3c5);
    x.regs.psr_known = 0;
    x.regs.value[5] = 9;
    ck_assert(!step_at(&x, 0x100, 0xd69f03e0, 0x204)); /* eret */
    ck_assert(x.regs.known >> 5 & 1);
    ck_assert_uint_eq(x.regs.value[5], 9);
    ck_assert_uint_eq(x.regs.psr_known, 0);
    ck_assert(!is_kept(&x));
    execute_memory_release(&x.memory);
}
END_TEST

/* To a mode that there is not, or that of a higher level: it stays where it is. */
START_TEST(test_illegal_return)
{
    static const struct {
        uint32_t status, known, psr, psr_known;
    } list[] = {
        {0x3c5, UINT32_MAX, 0x3c5, UINT32_MAX},
        {0x3c9, UINT32_MAX, 5, 0xd},
        {0x3c1, UINT32_MAX, 5, 0xd},
        {0x3c6, UINT32_MAX, 5, 0xd},
        {0x3c0, ~2u, 0x3c0, ~(2u | 0xd)},
    };
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct execute x;
        begin(&x, &budget, 0x3c5);
        x.regs.value[ELR_EL1] = 0x204;
        x.regs.value[SPSR_EL1] = (uint64_t)list[i].known << 32 | list[i].status;
        ck_assert(!step_at(&x, 0x100, 0xd69f03e0, 0x204)); /* eret */
        ck_assert_uint_eq(x.regs.psr_known, list[i].psr_known);
        ck_assert_uint_eq(x.regs.psr & x.regs.psr_known, list[i].psr & list[i].psr_known);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* Bits that a core need not have read as zero: of FPCR, of VBAR; EL1 reads VMPIDR. */
START_TEST(test_bits_that_are_not)
{
    static const struct {
        uint32_t write, read;
        uint64_t value;
        bool known;
    } list[] = {
        {0xd51b4401, 0xd53b4402, 0x07c00000, true}, /* msr fpcr, x1; mrs x2, fpcr */
        {0xd51b4401, 0xd53b4402, 0x07c00100, false},
        {0xd518c001, 0xd538c002, 0x4800, true}, /* vbar_el1 */
        {0xd518c001, 0xd538c002, 0x4810, false},
        {0xd51c00a1, 0xd53800a2, 3, true}, /* vmpidr_el2, mpidr_el1 */
    };
    struct execute_budget budget = {.limit = 1 << 20};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct execute x;
        begin(&x, &budget, 0x3c9);
        x.regs.value[1] = list[i].value;
        x.regs.value[EXECUTE_MPIDR] = 0x80000000;
        ck_assert(!step_at(&x, 0x100, list[i].write, 0x104));
        x.regs.psr = 0x3c5;
        ck_assert(!step_at(&x, 0x104, list[i].read, 0x108));
        ck_assert_msg((x.regs.known >> 2 & 1) == list[i].known, "case %zu", i);
        ck_assert(!list[i].known || x.regs.value[2] == list[i].value);
        execute_memory_release(&x.memory);
    }
}
END_TEST

/* An interrupt behind an HVC that an emulator did; a vector that is not the table's. */
START_TEST(test_interrupt_behind_firmware)
{
    struct bt_event e = {.kind = BT_EVENT_EXCEPTION};
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x;
    e.u.exception = (struct bt_exception){.type = 14, .has_return = true, .return_address = 0x104};
    begin(&x, &budget, 0x3c5);
    ck_assert(!execute_memory_write(&x.memory, 0x104, &(uint32_t){0xd503201f}, 4));
    ck_assert(!step_at(&x, 0x100, 0xd4000002, 0x104)); /* hvc #0 */
    ck_assert(!execute_exception(&x, &e, 0x2280));
    ck_assert_uint_eq(x.regs.psr & x.regs.psr_known & 0xf, 5);
    ck_assert_uint_eq(x.regs.value[ELR_EL1], 0x104);
    ck_assert(!(x.regs.known & 1) && x.regs.known >> 18 & 1);
    ck_assert_int_eq(execute_exception(&x, &e, 0x2a80), BT_ERR_RANGE);
    execute_memory_release(&x.memory);
}
END_TEST

/* A status of which not all is known is pushed and comes back. */
START_TEST(test_partial_status)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x;
    begin(&x, &budget, 0x3c5);
    x.regs.value[2] = 0x1800;
    x.regs.value[ELR_EL1] = 0x204;
    x.regs.value[SPSR_EL1] = 0x0fffffff20000004;       /* not the flags */
    ck_assert(!step_at(&x, 0x100, 0xd5384003, 0x104)); /* mrs x3, spsr_el1 */
    ck_assert(!(x.regs.known >> 3 & 1));
    ck_assert(!step_at(&x, 0x104, 0xa9000c41, 0x108)); /* stp x1, x3, [x2] */
    ck_assert(!step_at(&x, 0x108, 0xd5184001, 0x10c)); /* msr spsr_el1, x1 */
    ck_assert(!step_at(&x, 0x10c, 0xf9400444, 0x110)); /* ldr x4, [x2, #8] */
    ck_assert(!step_at(&x, 0x110, 0xd5184004, 0x114)); /* msr spsr_el1, x4 */
    ck_assert(!step_at(&x, 0x114, 0xd69f03e0, 0x204)); /* eret */
    ck_assert_uint_eq(x.regs.psr_known, 0x0fffffff);
    ck_assert_uint_eq(x.regs.psr & 0x0fffffff, 4);
    ck_assert(!step_at(&x, 0x204, 0x91000484, 0x208)); /* add x4, x4, #1 */
    ck_assert_uint_eq(x.regs.partial, 0);
    x.regs.psr = 0x3c5;
    x.regs.psr_known = UINT32_MAX;
    x.regs.value[SCTLR_EL1] = 0x30000000c50830;        /* not bits 21 and 20 */
    ck_assert(!step_at(&x, 0x208, 0xd5381000, 0x20c)); /* mrs x0, sctlr_el1 */
    ck_assert(!(x.regs.known & 1));
    ck_assert(!step_at(&x, 0x20c, 0xb27e0000, 0x210)); /* orr x0, x0, #4 */
    ck_assert(!step_at(&x, 0x210, 0x927cec00, 0x214)); /* and x0, x0, #~15 */
    ck_assert(!step_at(&x, 0x214, 0xd5181000, 0x218)); /* msr sctlr_el1, x0 */
    ck_assert_uint_eq(x.regs.value[SCTLR_EL1] | 0x300000, 0x30000000f50830);
    ck_assert(is_kept(&x));
    execute_memory_release(&x.memory);
}
END_TEST

START_TEST(test_exclusive)
{
    struct execute_budget budget = {.limit = 1 << 20};
    struct execute x = {.core = {.profile = EXECUTE_PROFILE_A64}};
    uint32_t word = 7;
    execute_memory_init(&x.memory, &budget, all_ram, NULL);
    ck_assert(!execute_memory_write(&x.memory, 0x1000, &word, 4));
    x.regs.known = UINT64_MAX;
    x.regs.psr_known = UINT32_MAX;
    x.regs.value[1] = 9;
    x.regs.value[3] = 0x1000;
    ck_assert(!step_at(&x, 0x100, 0x88027c61, 0x104)); /* stxr w2, w1, [x3] */
    ck_assert(!(x.regs.known & 4));
    ck_assert(!execute_memory_read(&x.memory, 0x1000, &word, 4));
    if (_i == 2)
        ck_assert(!step_at(&x, 0x104, 0xaa0203e2, 0x108));               /* mov x2, x2 */
    ck_assert(!step_at(&x, 0x108, 0x35ffffc2, _i == 1 ? 0x100 : 0x10c)); /* cbnz w2, .-8 */
    ck_assert_int_eq(execute_memory_read(&x.memory, 0x1000, &word, 4), _i != 2);
    ck_assert(_i == 2 || (word == (_i ? 7 : 9) && x.regs.value[2] == (uint64_t)_i));
    execute_memory_release(&x.memory);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_a64_levels");
    unit_case(s, "execute: A64 exception and its return", test_exception);
    unit_case(s, "execute: A64 order of data", test_order);
    unit_case(s, "execute: A64 order of data that nobody knows", test_unknown_order);
    unit_case(s, "execute: A64 instructions that did not complete", test_not_completed);
    unit_case(s, "execute: A64 loads and stores that exceptions came in", test_abandoned);
    unit_case(s, "execute: A64 vectors that exceptions came in", test_abandoned_vectors);
    unit_case(s, "execute: A64 branches to no instruction", test_unaligned);
    unit_case(s, "execute: A64 return from a level that is not known", test_return_from_somewhere);
    unit_case(s, "execute: A64 returns that are illegal", test_illegal_return);
    unit_case(s, "execute: bits that a core need not have", test_bits_that_are_not);
    unit_case(s, "execute: an interrupt behind an HVC", test_interrupt_behind_firmware);
    unit_case(s, "execute: A64 translation that changes", test_translation);
    unit_case(s, "execute: A64 stores while it changes", test_changing);
    unit_case(s, "execute: A64 addresses that are their own", test_flat);
    unit_case(s, "execute: A64 translation tables in use", test_flat_tables);
    unit_case(s, "execute: HVC and SMC", test_firmware);
    unit_case(s, "execute: a status of A64 that is known in part", test_partial_status);
    unit_cases(s, "execute: A64 store-exclusive and what the path shows", test_exclusive, 0, 3);
    return s;
}
