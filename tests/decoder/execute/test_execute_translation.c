/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/execute/execute_translation.c: what is known of RAM where addresses may change. */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define RAM     0x60000000u
#define TABLE   0x60004000u
#define SMALL   0x60008000u /* of the second level */
#define PLACE   0x60010000u /* a word that is known, */
#define OTHER   0x60010100u /* and one that is stored */
#define SECTION 0xc0eu
#define PAGES   0x1u

#define MCR_SCTLR   0xee010f10u /* from r0 */
#define MRC_SCTLR   0xee110f10u
#define MRC_MPIDR   0xee102fb0u /* to r2 */
#define MCR_TTBR0   0xee020f10u
#define MCR_TTBCR   0xee020f50u
#define MCR_DACR    0xee030f10u
#define MCR_CONTEXT 0xee0d0f30u
#define MCR_TLBI    0xee080f17u
#define MCR_ISB     0xee070f95u
#define MCR_DSB     0xee070f9au
#define MCR_SCR     0xee010f11u
#define STR         0xe5831000u /* r1, [r3] */
#define ISB         0xf57ff06fu
#define DSB         0xf57ff04fu

#define M 1u
#define C 4u

static enum execute_memory_kind all_ram(void *context, uint64_t address, uint64_t *from,
                                        uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    *bytes = NULL;
    *from = address < RAM ? 0 : RAM;
    *to = address < RAM ? RAM : UINT64_C(1) << 32;
    return address < RAM ? EXECUTE_MEMORY_OTHER : EXECUTE_MEMORY_RAM;
}

struct bench {
    struct execute x;
    struct execute_budget budget;
};

static void put(struct bench *b, uint32_t address, uint32_t word)
{
    ck_assert_int_eq(execute_memory_write(&b->x.memory, address, &word, 4), BT_OK);
}

/* In System mode, SCTLR as given, all tables flat. */
static void begin(struct bench *b, uint32_t control)
{
    *b = (struct bench){.x = {.core = {.profile = EXECUTE_PROFILE_AR}},
                        .budget = {.limit = 1 << 20}};
    struct execute_regs *r = &b->x.regs;
    execute_memory_init(&b->x.memory, &b->budget, all_ram, NULL);
    r->known = UINT64_MAX;
    r->psr_known = UINT32_MAX;
    r->psr = 0x1f;
    r->value[EXECUTE_SCTLR] = control;
    r->value[EXECUTE_TTBR0] = TABLE | 0x4a;
    r->value[EXECUTE_MPIDR] = 0x80000001;
    r->value[1] = 5;
    r->value[3] = OTHER;
    put(b, PLACE, 7);
    for (uint32_t i = 0; i < 4096; i++)
        put(b, TABLE + 4 * i, i % 3 ? i << 20 | SECTION : 0);
}

static void step(struct bench *b, uint32_t opcode)
{
    static const uint32_t t32[][2] = {{STR, 0xf8c31000}, {ISB, 0xf3bf8f6f}, {DSB, 0xf3bf8f4f}};
    bool thumb = b->x.regs.psr & 0x20;
    for (size_t i = 0; thumb && i < sizeof t32 / sizeof *t32; i++)
        opcode = opcode == t32[i][0] ? t32[i][1] : opcode;
    ck_assert_int_eq(
        execute_step(&b->x, &(struct execute_insn){.address = 0x100,
                                                   .opcode = opcode,
                                                   .isa = thumb ? BT_ISA_T32 : BT_ISA_A32,
                                                   .size = 4,
                                                   .next = 0x104,
                                                   .has_next = true}),
        BT_OK);
}

static void write_cp15(struct bench *b, uint32_t opcode, uint32_t value)
{
    b->x.regs.value[0] = value;
    b->x.regs.known |= 1;
    step(b, opcode);
}

static bool knows(struct bench *b, uint32_t address, uint32_t word)
{
    uint32_t is;
    if (!execute_memory_read(&b->x.memory, address, &is, 4))
        return false;
    ck_assert_uint_eq(is, word);
    return true;
}

static void end(struct bench *b)
{
    execute_memory_release(&b->x.memory);
    ck_assert_uint_eq(b->budget.used, 0);
}

/* From a write on until it counts a store is to one memory or the other; then to one that stays. */
START_TEST(test_between)
{
    static const struct {
        uint32_t write, ends[2];
    } rows[] = {
        {MCR_SCTLR, {ISB}},     {MCR_TTBR0, {ISB}},
        {MCR_TTBCR, {MCR_ISB}}, {MCR_DACR, {ISB}},
        {MCR_CONTEXT, {ISB}},   {MCR_TLBI, {DSB, ISB}},
        {MCR_SCR, {DSB, ISB}},  {MCR_TLBI, {MCR_DSB, MCR_ISB}},
    };
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        struct bench b;
        const uint32_t *ends = rows[i / 2].ends;
        begin(&b, M);
        b.x.regs.psr |= i % 2 ? 0x20 : 0;
        b.x.regs.known &= ~(UINT64_C(7) << EXECUTE_SCTLR);
        step(&b, STR);
        ck_assert(knows(&b, OTHER, 5) && knows(&b, PLACE, 7));
        write_cp15(&b, rows[i / 2].write, M);
        ck_assert(!knows(&b, PLACE, 7));
        step(&b, STR);
        ck_assert(!knows(&b, OTHER, 5));
        if (ends[1]) { /* by itself it ends nothing */
            step(&b, ends[1]);
            step(&b, STR);
            ck_assert(rows[i / 2].write != MCR_TLBI || !knows(&b, OTHER, 5));
        }
        step(&b, ends[0]);
        if (ends[1])
            step(&b, ends[1]);
        ck_assert(rows[i / 2].write != MCR_TLBI || !knows(&b, OTHER, 5));
        step(&b, STR);
        ck_assert(knows(&b, OTHER, 5) && !knows(&b, PLACE, 7));
        end(&b);
    }
}
END_TEST

/* An exception counts as an ISB. */
START_TEST(test_exception)
{
    struct bench b;
    const struct bt_event event = {
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {.number = 14, .has_return = true, .return_address = 0x104}};
    begin(&b, M);
    b.x.regs.known &= ~(UINT64_C(7) << EXECUTE_SCTLR);
    write_cp15(&b, _i ? MCR_TLBI : MCR_SCTLR, M);
    step(&b, STR);
    ck_assert_int_eq(execute_exception(&b.x, &event, 0x18), BT_OK);
    ck_assert(!knows(&b, OTHER, 5));
    step(&b, STR);
    ck_assert_int_eq(knows(&b, OTHER, 5), !_i);
    end(&b);
}
END_TEST

/* What changes nothing for flat addresses, and what does. */
START_TEST(test_flat)
{
    static const struct {
        uint32_t control, write, value;
        bool kept;
    } rows[] = {
        {0, MCR_SCTLR, M, true},
        {0, MCR_SCTLR, M | C | 0x1800, true},
        {0, MCR_SCTLR, 0x80, false},  /* another order of bytes */
        {0, MCR_TTBR0, 0x1000, true}, /* with translation off */
        {0, MCR_TTBCR, 7, true},
        {M, MCR_SCTLR, 0, true},
        {M, MCR_SCTLR, M | C, true},
        {M, MCR_SCTLR, M | 0x02000000, false}, /* tables of the other order */
        {M | C, MCR_SCTLR, M, false},          /* memory is older than the cache */
        {M | C, MCR_SCTLR, C, false},
        {C, MCR_SCTLR, 0, true},
        {M, MCR_TTBR0, TABLE, true},
        {M, MCR_TTBR0, TABLE + 0x4000, false},
        {M, MCR_TTBCR, 1, false},
        {M, MCR_TTBCR, 0x80000000, false},
        {M, MCR_DACR, 1, true},
        {M, MCR_CONTEXT, 1, true},
        {M, MCR_TLBI, 0, true},
        {M, MCR_SCR, 1, false},
        {0, 0xee070f56, 0, true}, /* MCR DCISW: there is no cache in use */
        {M | C, 0xee070f56, 0, false},
        {0, 0xee070f5a, 0, false}, /* MCR DCCSW */
        {M | C, 0xee070f5a, 0, true},
        {M | C, 0xee070f5e, 0, true},  /* MCR DCCISW */
        {M | C, 0xec410f02, 0, false}, /* MCRR TTBR0 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench b;
        begin(&b, rows[i].control);
        write_cp15(&b, rows[i].write, rows[i].value);
        ck_assert_msg(knows(&b, PLACE, 7) == rows[i].kept, "row %zu", i);
        step(&b, STR);
        bool cache = rows[i].write >> 16 == 0xee07;
        ck_assert_msg(knows(&b, OTHER, 5) == (rows[i].kept || cache), "row %zu", i);
        end(&b);
    }
}
END_TEST

/* Tables of all kinds of entries, and stores to them. */
START_TEST(test_tables)
{
    static const struct {
        uint32_t at, word;
        bool flat;
    } rows[] = {
        {TABLE + 4 * 5, 5 << 20 | SECTION, true},
        {TABLE + 4 * 5, 6 << 20 | SECTION, false},
        {TABLE + 4 * 4095, 0, true},
        {TABLE + 4 * 18, 1u << 24 | 1u << 18 | SECTION, true}, /* 16 MiB */
        {TABLE + 4 * 18, 2u << 24 | 1u << 18 | SECTION, false},
        {TABLE + 4 * 18, 1u << 24 | 1u << 20 | 1u << 18 | SECTION, false}, /* beyond 4 GiB */
        {SMALL + 4 * 9, 0x60009032, true},
        {SMALL + 4 * 9, 0x6000a032, false},
        {SMALL + 4 * 9, 0x60000031, true}, /* 64 KiB */
        {SMALL + 4 * 9, 0x60010031, false},
        {SMALL + 4 * 9, 0, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench b;
        begin(&b, 0);
        put(&b, TABLE + 4 * 0x600, SMALL | PAGES);
        for (uint32_t k = 0; k < 256; k++)
            put(&b, SMALL + 4 * k, RAM + k * 0x1000 + 0x32);
        write_cp15(&b, MCR_SCTLR, M);
        ck_assert(knows(&b, PLACE, 7));
        b.x.regs.value[1] = rows[i].word;
        b.x.regs.value[3] = rows[i].at;
        step(&b, STR);
        ck_assert_msg(knows(&b, PLACE, 7) == rows[i].flat, "row %zu", i);
        end(&b);
        begin(&b, 0); /* the same while translation is off */
        put(&b, TABLE + 4 * 0x600, SMALL | PAGES);
        for (uint32_t k = 0; k < 256; k++)
            put(&b, SMALL + 4 * k, RAM + k * 0x1000 + 0x32);
        put(&b, rows[i].at, rows[i].word);
        write_cp15(&b, MCR_SCTLR, M);
        ck_assert_msg(knows(&b, PLACE, 7) == rows[i].flat, "row %zu", i);
        end(&b);
    }
}
END_TEST

/* A word of a table that is not known, or a store that may have been to one. */
START_TEST(test_unknown_tables)
{
    struct bench b;
    begin(&b, 0);
    ck_assert_int_eq(execute_memory_write(&b.x.memory, TABLE + 5, NULL, 1), BT_OK);
    write_cp15(&b, MCR_SCTLR, M);
    ck_assert(!knows(&b, PLACE, 7));
    end(&b);
    begin(&b, M);
    b.x.regs.known &= ~(UINT64_C(1) << 3);
    step(&b, STR);
    put(&b, PLACE, 7);
    write_cp15(&b, MCR_TLBI, 0);
    ck_assert(!knows(&b, PLACE, 7));
    end(&b);
    begin(&b, M); /* nor the value of the register */
    b.x.regs.known &= ~UINT64_C(1);
    step(&b, MCR_SCTLR);
    ck_assert(!knows(&b, PLACE, 7));
    end(&b);
}
END_TEST

START_TEST(test_registers)
{
    struct bench b;
    begin(&b, 0x00c50078);
    step(&b, MRC_MPIDR);
    ck_assert(b.x.regs.known >> 2 & 1);
    ck_assert_uint_eq(b.x.regs.value[2], 0x80000001);
    write_cp15(&b, MCR_SCTLR, 0x00c50079);
    step(&b, MRC_SCTLR);
    ck_assert(b.x.regs.known & 1);
    ck_assert_uint_eq(b.x.regs.value[0], 0x00c50079);
    write_cp15(&b, MCR_SCTLR, 0x00c70079); /* not a bit of every core */
    ck_assert(knows(&b, PLACE, 7));
    step(&b, MRC_SCTLR);
    ck_assert(!(b.x.regs.known & 1));
    end(&b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_translation");
    unit_case(s, "execute: stores between a change of translation and the ISB", test_between);
    unit_cases(s, "execute: a change of translation, and an exception", test_exception, 0, 2);
    unit_case(s, "execute: changes of translation where all addresses are flat", test_flat);
    unit_case(s, "execute: translation tables", test_tables);
    unit_case(s, "execute: translation tables that are not known", test_unknown_tables);
    unit_case(s, "execute: SCTLR and MPIDR", test_registers);
    return s;
}
