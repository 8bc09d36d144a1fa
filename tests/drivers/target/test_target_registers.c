/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/target/target.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/unit_main.h"

START_TEST(test_names)
{
    static const struct {
        const char *name;
        int reg, stack;
    } names[] = {{"r0", 0, -1},    {"r12", 12, -1},   {"r13", -1, -1}, {"SP", 13, -1},
                 {"lr", 14, -1},   {"x30", 14, -1},   {"pc", 15, -1},  {"cpsr", 16, -1},
                 {"xPSR", 16, -1}, {"r1x", -1, -1},   {"rx", -1, -1},  {"", -1, -1},
                 {"msp", -1, 0},   {"PSP_NS", -1, 5}, {"x0", -1, -1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct target_register r = {.name = names[i].name};
        ck_assert_int_eq(target_register_reg(&r), names[i].reg);
        ck_assert_int_eq(target_register_stack(&r), names[i].stack);
    }
}
END_TEST

/* By name where there is one, else by place. */
START_TEST(test_places)
{
    char text[90][8];
    struct target_register list[90] = {{.name = "pc"}, {.name = "r3"}};
    struct target_regs regs = {.known = 0};
    uint64_t value;
    for (unsigned i = 2; i < 90; i++) {
        snprintf(text[i], sizeof text[i], "d%u", i);
        list[i].name = i == 20 ? "msp" : text[i];
    }
    for (unsigned i = 0; i < 90; i++)
        target_regs_set(&regs, list, i, 100 + i);
    ck_assert_uint_eq(regs.value[TARGET_REG_PC], 100);
    ck_assert_uint_eq(regs.value[3], 101);
    ck_assert_uint_eq(regs.known, 1u << 15 | 1u << 3);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP], 120);
    ck_assert_uint_eq(regs.extra[0], 117);
    ck_assert_uint_eq(regs.extra[63], 180);
    ck_assert_uint_eq(regs.extra_known, ~(uint64_t)(1 << 3));
    for (unsigned i = 0; i < 90; i++) {
        bool has = i < 2 || (i >= 17 && i < 81);
        ck_assert_int_eq(target_regs_get(&regs, list, i, &value), has);
        ck_assert(!has || value == 100 + i);
    }
    /* One that is no stack pointer to whoever has written the values. */
    regs.stack_known = 0;
    regs.extra[3] = 7;
    regs.extra_known = 1 << 3;
    ck_assert(target_regs_get(&regs, list, 20, &value));
    ck_assert_uint_eq(value, 7);
}
END_TEST

/* AArch64: registers of 128 bits have a place of their own, those behind them follow on the core's.
 */
START_TEST(test_vectors)
{
    char text[TARGET_VECTORS][8];
    struct target_register list[TARGET_A64_COUNT + TARGET_VECTORS + 2];
    unsigned n = target_describe_core(list, TARGET_PROFILE_A64);
    struct target_regs regs = {.known = 0};
    uint64_t value;
    for (unsigned i = 0; i < TARGET_VECTORS; i++) {
        snprintf(text[i], sizeof text[i], "v%u", i);
        list[n + i] = (struct target_register){.name = text[i], .bits = 128};
        ck_assert_int_eq(target_register_vector(&list[n + i]), (int)i);
        target_regs_set(&regs, list, n + i, 1);
    }
    ck_assert(!regs.known && !regs.extra_known && !regs.vector_known);
    ck_assert_int_eq(target_register_vector(&(struct target_register){.name = "v32", .bits = 128}),
                     -1);
    ck_assert_int_eq(target_register_vector(&(struct target_register){.name = "v1", .bits = 64}),
                     -1);
    list[n + 32] = (struct target_register){.name = "fpsr", .bits = 32};
    list[n + 33] = (struct target_register){.name = "fpcr", .bits = 32};
    target_regs_set(&regs, list, n + 33, 5);
    ck_assert_uint_eq(regs.extra[n + 1], 5);
    ck_assert(target_regs_get(&regs, list, n + 33, &value) && value == 5);
    ck_assert(!target_regs_get(&regs, list, n + 32, &value));
}
END_TEST

START_TEST(test_descriptions)
{
    struct target_register list[TARGET_A64_COUNT + TARGET_DOUBLES_MAX + 1];
    ck_assert_uint_eq(target_describe_core(list, TARGET_PROFILE_A64), 34);
    ck_assert_str_eq(list[30].name, "x30");
    ck_assert_uint_eq(list[30].bits, 64);
    ck_assert_str_eq(list[33].name, "cpsr");
    ck_assert_uint_eq(list[33].bits, 32);
    ck_assert_uint_eq(list[33].number, 33);
    ck_assert_uint_eq(target_describe_core(list, TARGET_PROFILE_M), 17);
    ck_assert_str_eq(list[16].name, "xpsr");
    ck_assert_str_eq(list[16].feature, "org.gnu.gdb.arm.m-profile");
    ck_assert_uint_eq(target_describe_core(list, TARGET_PROFILE_R), 17);
    ck_assert_str_eq(list[16].name, "cpsr");
    ck_assert_uint_eq(list[16].number, 25);
    ck_assert_str_eq(list[13].type, "data_ptr");
    ck_assert_str_eq(list[15].type, "code_ptr");
    ck_assert_str_eq(list[12].type, "uint32");
    ck_assert_ptr_null(list[14].type);
    ck_assert_uint_eq(target_describe_float(list + 17, 32), 33);
    ck_assert_str_eq(list[48].name, "d31");
    ck_assert_str_eq(list[49].name, "fpscr");
    ck_assert_uint_eq(list[49].number, 26 + 32);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *suite = suite_create("target_registers");
    unit_case(suite, "registers by name", test_names);
    unit_case(suite, "registers by place", test_places);
    unit_case(suite, "registers of 128 bits", test_vectors);
    unit_case(suite, "registers of a profile", test_descriptions);
    return suite;
}
