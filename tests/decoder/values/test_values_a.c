/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/values/values_a.c: what handlers of A- and R-profile cores may change. */
#include "tests/decoder/values/values_path.h"

#define NOP        0xe1a00000u
#define UDF        0xe7f000f0u
#define RETURN     0xe1b0f00eu /* movs pc, lr */
#define RETURN_4   0xe25ef004u /* subs pc, lr, #4 */
#define UNDEFINED  9
#define SERVICE    10
#define ABORT      12
#define INTERRUPT  14
#define HANDLER    0x8100u
#define AFTERWARDS 0x8004u
#define UNREAD     0xa000u /* code that only the path has */

static void run(struct path *p, uint32_t opcode)
{
    add(p, opcode, BT_COND_UNKNOWN);
}

static void take(struct path *p, uint16_t number, uint32_t back, uint32_t to)
{
    p->events[p->w.event_count++] =
        (struct bt_event){.position = p->w.count,
                          .kind = BT_EVENT_EXCEPTION,
                          .u.exception = {.number = number,
                                          .has_return = true,
                                          .return_address = back,
                                          .return_isa = p->w.final_isa}};
    p->next = to;
}

static void begin_a(struct path *p, uint32_t mode)
{
    begin(p, BT_ISA_A32);
    p->w.a_banks = p->w.final_cpsr_known = true;
    p->w.final_cpsr = mode;
    p->w.infer = VALUES_INFER_ALL;
}

/* LR of the mode that an exception goes to is overwritten, by one within it, too. */
START_TEST(test_lost_lr)
{
    struct path p;
    begin_a(&p, _i == 1 ? 0x12 : _i == 2 ? 0x1b : 0x1f);
    run(&p, NOP);
    take(&p, INTERRUPT, AFTERWARDS, HANDLER);
    if (_i == 2) {
        run(&p, UDF);
        take(&p, UNDEFINED, HANDLER + 4, HANDLER + 0x40);
        run(&p, RETURN);
        p.next = HANDLER + 4;
    }
    run(&p, RETURN_4);
    p.next = AFTERWARDS;
    run(&p, NOP);
    p.w.final[14] = _i == 1 ? AFTERWARDS + 4 : _i == 2 ? HANDLER + 4 : 0x1234;
    struct values *r = work(&p);
    ck_assert(is_known(r, p.w.count - 1, 14, p.w.final[14]));
    ck_assert(is_known(r, 0, 14, p.w.final[14]) == (_i == 0));
    ck_assert(is_known(r, 0, 13, 0));
    values_free(r);
}
END_TEST

/* Where a protocol tells of the place behind an undefined instruction a handler goes over it. */
START_TEST(test_goes_over)
{
    struct path p;
    uint32_t back = _i ? AFTERWARDS : 0x8008;
    begin_a(&p, 0x1f);
    run(&p, UDF);
    take(&p, UNDEFINED, back, HANDLER);
    run(&p, 0xe59d0000); /* ldr r0, [sp] */
    run(&p, RETURN);
    p.next = back;
    run(&p, NOP);
    p.w.final[0] = 7;
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 0, 7) != _i);
    values_free(r);
}
END_TEST

/* In which instruction of an IT block it then goes on the handler says. */
START_TEST(test_goes_over_in_block)
{
    struct path p;
    begin_a(&p, 0x1f);
    p.w.final_isa = BT_ISA_T32;
    run(&p, 0xbf1c); /* itt ne */
    run(&p, 0xde00); /* udfne */
    take(&p, UNDEFINED, AFTERWARDS, HANDLER);
    run(&p, 0xf3de8f00); /* subs pc, lr, #0 */
    p.next = AFTERWARDS;
    run(&p, 0x2102); /* movs r1, #2 */
    run(&p, 0x2303); /* movs r3, #3 */
    run(&p, 0x2300); /* movs r3, #0 */
    for (unsigned i = 0; i < 4; i++)
        run(&p, 0x2300);
    struct values *r = work(&p);
    ck_assert(!is_known(r, 5, 3, 4));
    values_free(r);
}
END_TEST

/* A service that takes the stack pointer of a task from anywhere may go on in another one. */
START_TEST(test_other_task)
{
    struct path p;
    begin_a(&p, 0x1f);
    run(&p, 0xef000000);
    take(&p, SERVICE, AFTERWARDS, HANDLER);
    if (_i) {
        run(&p, 0xe8cd6000); /* stmia sp, {sp, lr}^ */
        run(&p, 0xe92d4010); /* push {r4, lr} */
        run(&p, 0xe8bd4010); /* pop {r4, lr} */
    }
    run(&p, 0xe8dd6000); /* ldmia sp, {sp, lr}^ */
    run(&p, RETURN);
    p.next = AFTERWARDS;
    run(&p, NOP);
    p.w.final[13] = RAM + 0x80;
    struct values *r = work(&p);
    ck_assert(is_known(r, 0, 13, RAM + 0x80) == _i);
    values_free(r);
}
END_TEST

/* What the handler of a fault has pushed first it may change through any pointer; an interrupt's
 * does not. */
START_TEST(test_changed_frame)
{
    struct path p;
    begin_a(&p, _i ? 0x12 : 0x1b);
    run(&p, NOP);
    take(&p, _i ? INTERRUPT : UNDEFINED, 0x8008, HANDLER);
    run(&p, 0xe92d4010); /* push {r4, lr} */
    run(&p, 0xe5821000); /* str r1, [r2] */
    run(&p, 0xe8bd4010); /* pop {r4, lr} */
    run(&p, 0xe3a02000); /* mov r2, #0 */
    p.w.final[4] = 7;
    p.w.final[13] = RAM + 0x40;
    p.ram[14] = 7;
    p.ram[15] = 0x8008 + (_i ? 4 : 0);
    p.w.final[14] = p.ram[15];
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 4, 7) == _i);
    values_free(r);
}
END_TEST

/* What an interrupt comes back to has begun and is given up: its registers are not those of before.
 */
START_TEST(test_begun)
{
    struct path p;
    begin_a(&p, 0x1f);
    p.next = UNREAD;
    run(&p, 0xe3a01005); /* mov r1, #5 */
    take(&p, INTERRUPT, UNREAD + 4, HANDLER);
    run(&p, RETURN_4);
    take(&p, ABORT, UNREAD + 4, HANDLER);
    run(&p, 0xe25ef008); /* subs pc, lr, #8 */
    p.next = UNREAD + 4;
    run(&p, 0xe8900006); /* ldm r0, {r1, r2} */
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 1, 5));
    ck_assert(!is_known(r, 2, 1, 6));
    values_free(r);
}
END_TEST

/* SETEND: bytes of a word are in the other order. */
START_TEST(test_order)
{
    struct path p;
    begin_a(&p, 0x1f);
    run(&p, 0xe3a00202);                   /* mov r0, #RAM */
    run(&p, _i == 1 ? 0xf1010200u : NOP);  /* setend be */
    run(&p, 0xe5901000);                   /* ldr r1, [r0] */
    run(&p, _i == 1 ? 0xf1010000u : NOP);  /* setend le */
    run(&p, 0xe3a01000);                   /* mov r1, #0 */
    p.w.final_cpsr |= _i == 2 ? 0x200 : 0; /* it was before the window */
    p.w.final[0] = RAM;
    p.ram[0] = 0x12345678;
    struct values *r = work(&p);
    struct values_answer a;
    ck_assert(is_known(r, 3, 1, 0x12345678) == (_i == 0));
    ck_assert(values_word(r, 0, RAM, &a) && a.value == 0x12345678);
    values_free(r);
}
END_TEST

/* What was pushed and popped in either order of data is room for others afterwards. */
START_TEST(test_order_given_back)
{
    struct path p;
    struct values_answer a;
    begin_a(&p, 0x1f);
    run(&p, 0xe3a0d202); /* mov sp, #RAM */
    run(&p, 0xe28dd008); /* add sp, sp, #8 */
    run(&p, 0xf1010200); /* setend be */
    run(&p, 0xe52d4004); /* push {r4} */
    run(&p, 0xf1010000); /* setend le */
    run(&p, 0xe49d4004); /* pop {r4} */
    run(&p, 0xe5856000); /* str r6, [r5] */
    run(&p, 0xe3a05000); /* mov r5, #0 */
    p.w.final[13] = RAM + 8;
    p.ram[1] = 0x55;
    struct values *r = work(&p);
    ck_assert(is_known(r, 4, 13, RAM + 4));
    ck_assert(!values_word(r, 4, RAM + 4, &a));
    values_free(r);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("values_a");
    unit_cases(s, "values: A profile, LR of a mode that is interrupted", test_lost_lr, 0, 3);
    unit_cases(s, "values: A profile, a handler goes over an instruction", test_goes_over, 0, 2);
    unit_case(s, "values: A profile, and goes on in an IT block", test_goes_over_in_block);
    unit_cases(s, "values: A profile, a service that changes the task", test_other_task, 0, 2);
    unit_cases(s, "values: A profile, a handler changes what it has pushed", test_changed_frame, 0,
               2);
    unit_case(s, "values: A profile, an interrupt comes back to what is given up", test_begun);
    unit_cases(s, "values: A profile, the order of data", test_order, 0, 3);
    unit_case(s, "values: A profile, popped in either order of data", test_order_given_back);
    return s;
}
