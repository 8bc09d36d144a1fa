/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/execute/execute_ar.c, execute.c, execute_alu.c: modes, statuses of which not all is
 * known, A32 conditions. */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#define RAM    0x60000000u
#define STACK  0x60001000u
#define FLAGS  0xf0000000u
#define SYSTEM 0x1fu
#define IRQ    0x12u

struct bench {
    struct execute x;
    struct execute_budget budget;
};

static enum execute_memory_kind all_ram(void *context, uint64_t address, uint64_t *from,
                                        uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    *bytes = NULL;
    *from = address < RAM ? 0 : RAM;
    *to = address < RAM ? RAM : UINT64_C(1) << 32;
    return address < RAM ? EXECUTE_MEMORY_OTHER : EXECUTE_MEMORY_RAM;
}

/* In System mode, of the flags all or none known; stacks of the modes 0x100 apart. */
static struct execute_regs *begin(struct bench *b, bool flags)
{
    *b = (struct bench){.x = {.core = {.profile = EXECUTE_PROFILE_AR}},
                        .budget = {.limit = 1 << 20}};
    struct execute_regs *r = &b->x.regs;
    execute_memory_init(&b->x.memory, &b->budget, all_ram, NULL);
    r->known = UINT64_MAX;
    r->psr_known = flags ? UINT32_MAX : ~FLAGS;
    r->psr = SYSTEM;
    for (unsigned i = 0; i < 15; i++)
        r->value[i] = 0x100 + i;
    r->value[EXECUTE_SP] = STACK;
    for (unsigned bank = 1; bank <= EXECUTE_BANK_MONITOR; bank++)
        r->value[execute_bank_reg(bank)] = STACK + 0x100 * bank;
    return r;
}

static void end(struct bench *b)
{
    execute_memory_release(&b->x.memory);
    ck_assert_uint_eq(b->budget.used, 0);
}

static void step_to(struct bench *b, uint32_t opcode, uint32_t next)
{
    ck_assert_int_eq(execute_step(&b->x, &(struct execute_insn){.address = 0x100,
                                                                .opcode = opcode,
                                                                .isa = BT_ISA_A32,
                                                                .size = 4,
                                                                .next = next,
                                                                .has_next = true}),
                     BT_OK);
}

static void step(struct bench *b, uint32_t opcode)
{
    step_to(b, opcode, 0x104);
}

static void interrupt(struct bench *b)
{
    const struct bt_event event = {
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = 14, .has_return = true, .return_address = 0x8000, .return_isa = BT_ISA_T32}};
    ck_assert_int_eq(execute_exception(&b->x, &event, 0x18), BT_OK);
}

/* A service: registers, SP and status come back. */
START_TEST(test_load_return)
{
    struct bench b;
    struct execute_regs *r = begin(&b, _i);
    interrupt(&b);
    ck_assert_uint_eq(r->value[EXECUTE_SP], STACK + 0x200);
    step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
    step(&b, 0xe92d500f);            /* push {r0-r3, r12, lr} */
    step(&b, 0xe3a00007);            /* mov r0, #7 */
    step(&b, 0xe58d0004);            /* str r0, [sp, #4] */
    step(&b, 0xe3a0c000);            /* mov r12, #0 */
    step_to(&b, 0xe8fd900f, 0x8000); /* ldm sp!, {r0-r3, r12, pc}^ */
    ck_assert_uint_eq(r->known & 0x7fff, 0x7fff);
    ck_assert_uint_eq(r->value[0], 0x100);
    ck_assert_uint_eq(r->value[1], 7);
    ck_assert_uint_eq(r->value[12], 0x10c);
    ck_assert_uint_eq(r->value[EXECUTE_SP], STACK);
    ck_assert_uint_eq(r->value[execute_bank_reg(EXECUTE_BANK_IRQ)], STACK + 0x200);
    ck_assert_uint_eq(r->psr & r->psr_known, SYSTEM | 0x20);
    ck_assert_uint_eq(r->psr_known & FLAGS, _i ? FLAGS : 0);
    end(&b);
}
END_TEST

/* Flags that nobody knows cost nothing else of a status that is put away and given back. */
START_TEST(test_partial)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    interrupt(&b);
    if (_i == 0) {
        step(&b, 0xe14f1000); /* mrs r1, spsr */
        ck_assert(!(r->known & 2));
        step(&b, 0xe92d0006); /* push {r1, r2} */
        step(&b, 0xe3110020); /* tst r1, #0x20 */
        ck_assert_uint_eq(r->psr & r->psr_known & 0xc0000000u, 0);
        ck_assert_uint_eq(r->psr_known & 0xc0000000u, 0xc0000000u);
        step(&b, 0xe3a01000);            /* mov r1, #0 */
        step(&b, 0xe16ff001);            /* msr spsr_fsxc, r1 */
        step(&b, 0xe8bd0018);            /* pop {r3, r4} */
        step(&b, 0xe1a05003);            /* mov r5, r3 */
        step(&b, 0xe16ff005);            /* msr spsr_fsxc, r5 */
        step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
        step_to(&b, 0xe1b0f00e, 0x8000); /* movs pc, lr */
    } else {
        step(&b, 0xe24ee004);            /* sub lr, lr, #4 */
        step(&b, 0xf96d051f);            /* srsdb sp!, #0x1f */
        step(&b, 0xf102001f);            /* cps #0x1f */
        step_to(&b, 0xf8bd0a00, 0x8000); /* rfeia sp! */
    }
    ck_assert_uint_eq(r->psr & r->psr_known, SYSTEM | 0x20);
    ck_assert_uint_eq(r->psr_known, ~FLAGS);
    ck_assert_uint_eq(r->value[EXECUTE_SP], STACK);
    ck_assert(r->known >> EXECUTE_SP & 1);
    end(&b);
}
END_TEST

/* mrs, bic, orr, msr: into another mode. What is written over is another number. */
START_TEST(test_partial_constants)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    step(&b, 0xe10f1000); /* mrs r1, cpsr */
    step(&b, 0xe3c1101f); /* bic r1, r1, #0x1f */
    step(&b, 0xe3811012); /* orr r1, r1, #0x12 */
    if (_i == 1)
        step(&b, 0xe0811002); /* add r1, r1, r2 */
    if (_i == 2)
        step(&b, 0xe5911000); /* ldr r1, [r1] */
    if (_i == 3)
        step(&b, 0xee111f50); /* mrc p15, 0, r1, c1, c0, 2 */
    step(&b, 0xe121f001);     /* msr cpsr_c, r1 */
    ck_assert_int_eq((r->psr_known & 0x1f) == 0x1f, !_i);
    if (!_i) {
        ck_assert_uint_eq(r->psr & 0x1f, IRQ);
        ck_assert_uint_eq(r->value[EXECUTE_SP], STACK + 0x200);
    }
    ck_assert_uint_eq(r->known >> EXECUTE_SP & 1, !_i);
    end(&b);
}
END_TEST

/* Asynchronous aborts are masked for certain in Secure state. */
START_TEST(test_masks)
{
    struct bench b;
    struct execute_regs *r = begin(&b, true);
    r->value[EXECUTE_SCR] = _i == 1;
    r->known &= _i == 2 ? ~(UINT64_C(1) << EXECUTE_SCR) : UINT64_MAX;
    interrupt(&b);
    ck_assert_int_eq(r->psr_known >> 8 & 1, !_i);
    ck_assert(_i || r->psr & 0x100);
    end(&b);
}
END_TEST

/* A condition that nobody knows holds or not for all instructions up to one that sets the flags. */
START_TEST(test_ways)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(0x17); /* r0, r1, r2, r4 */
    step(&b, 0x03a00014);        /* moveq r0, #20 */
    step(&b, 0xe2833004);        /* add r3, r3, #4 */
    step(&b, 0xe58d3000);        /* str r3, [sp] */
    step(&b, 0x10801003);        /* addne r1, r0, r3 */
    step(&b, 0xe59d4000);        /* ldr r4, [sp] */
    step(&b, 0x13a00010);        /* movne r0, #16 */
    step(&b, 0xe0802004);        /* add r2, r0, r4 */
    ck_assert(r->bounded & 1 && r->value[0] == 16 && r->range[0] == 4);
    ck_assert(r->bounded & 4 && r->value[2] == 16 + 0x107 && r->range[2] == 4);
    ck_assert(!((r->known | r->bounded) & 2));
    ck_assert(r->known & 0x10 && r->value[4] == 0x107);
    step(&b, 0xe3520000); /* cmp r2, #0 */
    step(&b, 0x03a00001); /* moveq r0, #1 */
    ck_assert(r->bounded & 1 && r->value[0] == 1 && r->range[0] == 19);
    step(&b, 0x23a00005); /* movcs r0, #5: another condition */
    ck_assert(r->bounded & 1 && r->value[0] == 1 && r->range[0] == 19);
    end(&b);
}
END_TEST

/* A handler's conditions are not those of what it interrupts. */
START_TEST(test_ways_interrupted)
{
    struct bench b;
    struct execute_regs *r = begin(&b, false);
    r->known &= ~UINT64_C(1);
    step(&b, 0x03a00014); /* moveq r0, #20 */
    if (_i)
        interrupt(&b);
    step(&b, 0x13a00010); /* movne r0, #16 */
    ck_assert_int_eq(r->bounded & 1, !_i);
    ck_assert(!(r->known & 1));
    end(&b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_ar");
    unit_cases(s, "execute: LDM that returns from an exception", test_load_return, 0, 2);
    unit_cases(s, "execute: a saved status whose flags are not known", test_partial, 0, 2);
    unit_cases(s, "execute: a status with constants", test_partial_constants, 0, 4);
    unit_cases(s, "execute: masks by security state", test_masks, 0, 3);
    unit_case(s, "execute: both ways of A32 conditions", test_ways);
    unit_cases(s, "execute: a handler between A32 conditions", test_ways_interrupted, 0, 2);
    return s;
}
