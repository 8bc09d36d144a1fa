/* SPDX-License-Identifier: BSD-3-Clause */
/* What is told at a replay position of which nothing was worked out. */
#include "server/reverse/reverse_values.h"

#include "tests/support/unit_main.h"

#define HANDLER 11u /* SVCall */

/* Registers where the core is halted: nothing is worked out there, SP and LR are not known. */
static struct target_regs told(struct reverse_machine *machine, uint32_t xpsr)
{
    static struct reverse at_halt;
    struct reverse_values values;
    struct target_regs regs;
    machine->profile = EXECUTE_PROFILE_M;
    machine->regs.known = 1u << TARGET_REG_SP | 1u << TARGET_REG_PSR;
    machine->regs.value[TARGET_REG_PSR] = xpsr;
    reverse_values_init(&values, 0, 0, REVERSE_MEMORY_ERROR);
    ck_assert_int_eq(reverse_values_regs(&values, &at_halt, machine, 0, &regs, NULL), BT_OK);
    ck_assert_uint_eq(regs.value[TARGET_REG_SP], REVERSE_NO_STACK);
    ck_assert_uint_eq(regs.value[TARGET_REG_LR], REVERSE_NO_STACK);
    return regs;
}

/* Halted with PSP in use, in Non-secure state. */
static const struct reverse_machine nonsecure_thread = {
    .regs.value[TARGET_REG_SP] = 0x222,
    .regs.stack = {0x111, 0x222, 0x333, 0x444, 0x111, 0x222},
    .regs.stack_known = (1u << TARGET_STACKS) - 1,
};

START_TEST(stacks_of_a_thread)
{
    struct reverse_machine machine = nonsecure_thread;
    struct target_regs regs = told(&machine, 0);
    ck_assert_uint_eq(regs.stack_known, (1u << TARGET_STACKS) - 1);
    for (unsigned i = 0; i < TARGET_STACKS; i++) /* where the others were nobody knows */
        ck_assert_uint_eq(regs.stack[i], REVERSE_NO_STACK);
}
END_TEST

static enum values_memory kinds(void *context, uint32_t address, uint32_t *value)
{
    (void)context;
    *value = 0;
    return (enum values_memory)(address >> 8 & 0xf);
}

/* Nothing is worked out: RAM is not told, but code, and what nobody says to be RAM. */
START_TEST(memory_not_known)
{
    static const size_t told[] = {[VALUES_MEMORY_OTHER] = 8,
                                  [VALUES_MEMORY_SHARED] = 0,
                                  [VALUES_MEMORY_CONST] = 8,
                                  [VALUES_MEMORY_RAM] = 0,
                                  [VALUES_MEMORY_UNREAD] = 0};
    struct reverse_machine machine = {.profile = EXECUTE_PROFILE_AR, .read = kinds};
    struct reverse_values values;
    uint8_t bytes[8] = {0};
    reverse_values_init(&values, 0, 0, REVERSE_MEMORY_ERROR);
    for (uint32_t kind = 0; kind < sizeof told / sizeof *told; kind++)
        ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, kind << 8, bytes, 8, 8, true),
                          told[kind]);
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0x1fe, bytes, 8, 8, true), 0);
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0xfe, bytes, 8, 8, true), 2);
    machine.profile = EXECUTE_PROFILE_M; /* where its RAM is the architecture says */
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0x20000000, bytes, 8, 8, true),
                      0);
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0x40000000, bytes, 8, 8, true),
                      8);
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0x40000000, bytes, 4, 8, true),
                      4);
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0x40000000, bytes, 0, 8, true),
                      0);
    values.memory = REVERSE_MEMORY_PRESENT;
    ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, 0x20000000, bytes, 8, 8, true),
                      8);
    machine.profile = EXECUTE_PROFILE_A64; /* what was not executed is not known */
    for (uint32_t kind = 0; kind < sizeof told / sizeof *told; kind++)
        ck_assert_uint_eq(reverse_values_memory(&values, &machine, 0, kind << 8, bytes, 8, 8, true),
                          0);
}
END_TEST

START_TEST(registers_of_a64)
{
    static struct reverse at_halt;
    const struct reverse_machine machine = {.profile = EXECUTE_PROFILE_A64};
    struct reverse_values values;
    struct target_regs regs;
    uint32_t estimated;
    at_halt.view.pc = 0xffffff8000001234;
    reverse_values_init(&values, 0, 0, REVERSE_MEMORY_ERROR);
    ck_assert_int_eq(reverse_values_regs(&values, &at_halt, &machine, 0, &regs, &estimated), BT_OK);
    ck_assert_uint_eq(regs.known, 1u << TARGET_REG_PC);
    ck_assert_uint_eq(regs.value[TARGET_REG_PC], 0xffffff8000001234);
    ck_assert_uint_eq(estimated, 0);
}
END_TEST

/* Whatever SP was at the halt. The other one is not in use. */
START_TEST(handlers_have_the_main_stack)
{
    struct reverse_machine machine = nonsecure_thread;
    machine.program.one_stack = true;
    struct target_regs regs = told(&machine, HANDLER);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP], REVERSE_NO_STACK);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP_NS], REVERSE_NO_STACK);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP_S], 0x333);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_PSP], 0x222);
}
END_TEST

START_TEST(stack_of_secure_state)
{
    struct reverse_machine machine = nonsecure_thread;
    machine.program.one_stack = true;
    machine.regs.value[TARGET_REG_SP] = 0x999;
    machine.regs.stack[TARGET_STACK_MSP_S] = machine.regs.stack[TARGET_STACK_MSP];
    struct target_regs regs = told(&machine, 0);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP], REVERSE_NO_STACK);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP_S], REVERSE_NO_STACK);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP_NS], 0x111);
}
END_TEST

/* GDB gives up unwinding without the one in use. */
START_TEST(stacks_that_the_target_does_not_tell)
{
    struct reverse_machine machine = {.regs.value[TARGET_REG_SP] = 0x222};
    struct target_regs regs = told(&machine, 0);
    ck_assert_uint_eq(regs.stack_known, 1u << TARGET_STACK_MSP | 1u << TARGET_STACK_MSP_S);
    ck_assert_uint_eq(regs.stack[TARGET_STACK_MSP], REVERSE_NO_STACK);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("reverse_values");
    unit_case(s, "reverse values: memory that is not known", memory_not_known);
    unit_case(s, "reverse values: registers of AArch64", registers_of_a64);
    unit_case(s, "reverse values: stack pointers of a thread", stacks_of_a_thread);
    unit_case(s, "reverse values: handlers have the main stack", handlers_have_the_main_stack);
    unit_case(s, "reverse values: the state that the core is halted in", stack_of_secure_state);
    unit_case(s, "reverse values: stacks that are not known", stacks_that_the_target_does_not_tell);
    return s;
}
