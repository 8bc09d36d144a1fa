/* SPDX-License-Identifier: BSD-3-Clause */
/* A state that was read from a core of M profile whose debugger shows both stack pointers. */
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

Suite *unit_suite(void)
{
    Suite *s = suite_create("reverse_snapshot");
    unit_case(s, "reverse_snapshot: the stack in use", the_stack_in_use_is_r13);
    unit_case(s, "reverse_snapshot: no CONTROL", without_control_no_one_knows_which);
    return s;
}
