/* SPDX-License-Identifier: BSD-3-Clause */
/* A state that was read from a core of M profile whose debugger shows both stack pointers, and of
 * AArch64. */
#include "server/reverse/reverse_snapshot.h"
#include "tests/support/unit_main.h"

#define THREAD    0x01000000u
#define HANDLER   0x01000003u
#define SP_IN_USE 0x20001000u

enum { LIST_MSP = TARGET_REG_COUNT, LIST_PSP, LIST_CONTROL, LIST_COUNT };

static struct target_register list[LIST_COUNT] = {
    [LIST_MSP] = {"org.gnu.gdb.arm.m-system", "msp", "data_ptr", 32, 26},
    [LIST_PSP] = {"org.gnu.gdb.arm.m-system", "psp", "data_ptr", 32, 27},
    [LIST_CONTROL] = {"org.gnu.gdb.arm.m-system", "control", "uint32", 32, 28},
};

static void take(struct reverse_snapshot *s, uint32_t psr, unsigned count, uint32_t control)
{
    ck_assert_uint_eq(target_describe_core(list, TARGET_PROFILE_M), TARGET_REG_COUNT);
    bool process = psr == THREAD && (control & 2);
    struct target_regs regs = {.known = 1u << TARGET_REG_PSR | 1u << EXECUTE_SP};
    regs.value[TARGET_REG_PSR] = psr;
    regs.value[EXECUTE_SP] = SP_IN_USE;
    target_regs_set(&regs, list, LIST_MSP, process ? 0x20002000u : SP_IN_USE);
    target_regs_set(&regs, list, LIST_PSP, process ? SP_IN_USE : 0x20002000u);
    if (count > LIST_CONTROL)
        target_regs_set(&regs, list, LIST_CONTROL, control);
    reverse_snapshot_regs(s, &regs, list, count, EXECUTE_PROFILE_M);
    ck_assert_uint_eq(s->regs.value[EXECUTE_SP], SP_IN_USE);
}

static bool knows(const struct reverse_snapshot *s, unsigned reg)
{
    return s->regs.known >> reg & 1;
}

START_TEST(the_stack_in_use_is_r13)
{
    struct reverse_snapshot s = {0};
    take(&s, THREAD, LIST_COUNT, 0);
    ck_assert(!knows(&s, EXECUTE_MSP) && knows(&s, EXECUTE_PSP));
    ck_assert_uint_eq(s.regs.value[EXECUTE_PSP], 0x20002000u);
    take(&s, THREAD, LIST_COUNT, 2);
    ck_assert(knows(&s, EXECUTE_MSP) && !knows(&s, EXECUTE_PSP));
    ck_assert_uint_eq(s.regs.value[EXECUTE_MSP], 0x20002000u);
    take(&s, HANDLER, LIST_COUNT, 2);
    ck_assert(!knows(&s, EXECUTE_MSP) && knows(&s, EXECUTE_PSP));
}
END_TEST

START_TEST(without_control_no_one_knows_which)
{
    struct reverse_snapshot s = {0};
    take(&s, THREAD, LIST_CONTROL, 0);
    ck_assert(!knows(&s, EXECUTE_MSP) && !knows(&s, EXECUTE_PSP) && !knows(&s, EXECUTE_CONTROL));
    take(&s, HANDLER, LIST_CONTROL, 0);
    ck_assert(!knows(&s, EXECUTE_MSP) && knows(&s, EXECUTE_PSP));
    take(&s, THREAD, LIST_CONTROL, 0);
    reverse_snapshot_reset(&s);
    ck_assert(!knows(&s, EXECUTE_MSP) && knows(&s, EXECUTE_CONTROL));
}
END_TEST

/* Of AArch64 the stack pointers that are not in use, and what says which memory an address is. */
START_TEST(levels_of_a64)
{
    struct target_register all[TARGET_A64_COUNT + 6];
    unsigned n = target_describe_core(all, TARGET_PROFILE_A64), count = n;
    struct target_regs regs = {.known = 1u << TARGET_REG_PSR};
    struct reverse_snapshot s;
    const char *const names[] = {"SP_EL1", "SP_EL2", "SCTLR", "SCTLR_EL3", "SPSR_EL2", "HCR_EL2"};
    for (unsigned i = 0; i < 6; i++)
        all[count++] = (struct target_register){.name = names[i], .number = 100 + i, .bits = 64};
    for (unsigned i = 0; i < 6; i++)
        target_regs_set(&regs, all, n + i, 0x1000 + i + (i == 3 ? UINT64_C(1) << 40 : 0));
    target_regs_set(&regs, all, 31, 0x800); /* SP */
    regs.value[TARGET_REG_PSR] = 0x3c5;
    reverse_snapshot_regs(&s, &regs, all, count, EXECUTE_PROFILE_A64);
    ck_assert_uint_eq(s.regs.known, UINT64_C(1) << (A64_SP0 + 1) | UINT64_C(1) << (A64_SP0 + 2) |
                                        UINT64_C(1) << A64_SCTLR1 | UINT64_C(1) << A64_HCR |
                                        UINT64_C(1) << (A64_SPSR1 + 1));
    ck_assert_uint_eq(s.regs.value[A64_SP0 + 1], 0x800);
    ck_assert_uint_eq(s.regs.value[A64_SP0 + 2], 0x1001);
    ck_assert_uint_eq(s.regs.value[A64_SPSR1 + 1], 0xffffffff00001004);
    ck_assert_uint_eq(s.regs.value[A64_HCR], 0x1005);
    regs.system_known &= ~(1u << TARGET_SYSTEM_HCR); /* there is no EL2 */
    reverse_snapshot_regs(&s, &regs, all, count, EXECUTE_PROFILE_A64);
    ck_assert(knows(&s, A64_HCR) && !s.regs.value[A64_HCR]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("reverse_snapshot");
    unit_case(s, "reverse_snapshot: the stack in use", the_stack_in_use_is_r13);
    unit_case(s, "reverse_snapshot: no CONTROL", without_control_no_one_knows_which);
    unit_case(s, "reverse_snapshot: levels of AArch64", levels_of_a64);
    return s;
}
