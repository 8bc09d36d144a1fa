/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/execute/execute_m.c: exceptions, stacks and system registers of the M profile, by
 * hand. */
#include "tests/decoder/execute/execute_case.h"

/* Thread mode on PSP, SP not a multiple of 8, with and without floating-point registers. */
START_TEST(test_frame)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1234);
    bool floats = _i == 1;
    uint32_t size = floats ? 0x68 : 0x20, frame = RAM + 0x1000 - size;
    begin(&x, &budget);
    x.core.fpu = x.core.limits = _i;
    x.regs.value[EXECUTE_CONTROL] = floats ? 6 : 2;
    x.regs.psr |= 1u << 29;
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x2000);
    ck_assert_uint_eq(x.regs.value[EXECUTE_PSP], frame);
    ck_assert_uint_eq(x.regs.value[EXECUTE_LR], floats ? 0xffffffed : 0xfffffffd);
    ck_assert(!(x.regs.known & 0x100f));
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(word(&x, frame + 4 * i), 0x100 + i);
    ck_assert_uint_eq(word(&x, frame + 24), 0x1234);
    uint32_t status = 0;
    if (_i) /* bit 20 is SFPA with v8-M: not known */
        ck_assert_uint_eq(execute_memory_bits(&x.memory, frame + 28, &status), ~(1u << 20));
    else
        status = word(&x, frame + 28);
    ck_assert_uint_eq(status, 1u << 29 | 1u << 24 | 1u << 9);
    ck_assert_int_eq(step(&x, 0xf3ef8009, 0x8000, 0x8004), BT_OK); /* MRS r0, PSP */
    ck_assert_uint_eq(x.regs.value[0], frame);
    ck_assert_int_eq(step(&x, 0xb500, 0x8004, 0x8006), BT_OK); /* PUSH {lr} */
    ck_assert_int_eq(step(&x, 0xbd00, 0x8006, 0x1234), BT_OK); /* POP {pc} */
    ck_assert_int_eq(execute_exception_return(&x, &event, 0x1234), BT_OK);
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(x.regs.value[i], 0x100 + i);
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x1004);
    ck_assert_uint_eq(x.regs.value[EXECUTE_MSP], RAM + 0x2000);
    ck_assert_uint_eq(x.regs.value[EXECUTE_CONTROL], floats ? 6 : 2);
    ck_assert_uint_eq(x.regs.psr, 1u << 29 | 1u << 24);
    ck_assert(x.regs.known & 1u << EXECUTE_SP);
    execute_memory_release(&x.memory);
}
END_TEST

/* What the exception comes back to has begun, perhaps: an LDM or STM in part, or not at all. */
START_TEST(test_begun)
{
    static const uint16_t opcodes[] = {0xcc24, 0xc424, 0x6822}; /* LDM, STM r4!, {r2, r5}; LDR r2 */
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, RAM + 0x400);
    uint32_t old = 0x105, word;
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    x.regs.value[4] = RAM + 0x100;
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x100, &(uint32_t){1}, 4), BT_OK);
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x104, &old, 4), BT_OK);
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x400, &opcodes[_i], 2), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    uint32_t frame = (uint32_t)x.regs.value[EXECUTE_PSP];
    ck_assert_uint_eq(x.regs.value[4], RAM + 0x100);
    ck_assert_uint_eq(x.regs.known >> 4 & 3, 3); /* r5 is what would be loaded */
    ck_assert_int_eq(execute_memory_read(&x.memory, frame + 8, &word, 4), _i != 0);
    ck_assert_int_eq(execute_memory_read(&x.memory, RAM + 0x100, &word, 4), _i != 1);
    ck_assert(execute_memory_read(&x.memory, RAM + 0x104, &word, 4));
    execute_memory_release(&x.memory);
}
END_TEST

/* SP has no bits 1 and 0; nor has what it may be. */
START_TEST(test_stack_bits)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.regs.value[0] = RAM + 0x403;
    x.regs.known = _i ? x.regs.known & ~1u : x.regs.known;
    x.regs.bounded = _i;
    x.regs.range[0] = 6;
    ck_assert_int_eq(step(&x, 0x4685, 0x8000, 0x8002), BT_OK); /* MOV sp, r0 */
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x400);
    ck_assert_int_eq(x.regs.known >> EXECUTE_SP & 1, !_i);
    ck_assert(!_i || x.regs.range[EXECUTE_SP] == 8);
    execute_memory_release(&x.memory);
}
END_TEST

/* Registers that are in memory: STR and STRB r1, [r0]. */
START_TEST(test_system_registers)
{
    static const struct {
        uint32_t opcode, address, number, place;
    } rows[] = {{0x6001, 0xe000ef3c, 0x034000ff, EXECUTE_FPDSCR},
                {0x7001, 0xe000ed14, 0, EXECUTE_CCR}};
    struct execute x;
    struct execute_budget budget;
    uint64_t place = UINT64_C(1) << rows[_i].place;
    begin(&x, &budget);
    x.regs.value[0] = rows[_i].address;
    x.regs.value[1] = rows[_i].number;
    ck_assert_int_eq(step(&x, rows[_i].opcode, 0x8000, 0x8002), BT_OK);
    ck_assert_int_eq((x.regs.known & place) != 0, rows[_i].opcode == 0x6001);
    ck_assert_uint_eq(x.regs.value[rows[_i].place], rows[_i].number & ~0xffu);
    execute_memory_release(&x.memory);
}
END_TEST

/* Memory may be protected, the stack of a v8-M core at its limit: no frame then. */
START_TEST(test_no_room)
{
    static const struct {
        uint8_t number, mpu;
        bool limits;
        uint32_t limit; /* 1: not known */
        bool written, sp;
    } rows[] = {{3, 0, false, 0, true, true},           {3, 1, false, 0, false, true},
                {4, 1, false, 0, false, true},          {6, 1, false, 0, true, true},
                {6, 0, true, RAM + 0xfe8, false, true}, {6, 0, true, RAM, true, true},
                {6, 0, true, 1, false, false},          {15, 0, true, 1, true, true}};
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(rows[_i].number, 0x1234);
    uint32_t pc;
    begin(&x, &budget);
    x.core.limits = rows[_i].limits;
    x.regs.value[EXECUTE_CONTROL] = 2;
    x.regs.value[EXECUTE_SP] = RAM + 0x1000;
    x.regs.value[EXECUTE_MPU_CTRL] = rows[_i].mpu;
    x.regs.value[EXECUTE_PSPLIM] = rows[_i].limit;
    if (rows[_i].limit == 1)
        x.regs.known &= ~(UINT64_C(1) << EXECUTE_PSPLIM);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_int_eq(execute_memory_read(&x.memory, RAM + 0xfe0 + 24, &pc, 4), rows[_i].written);
    ck_assert_int_eq(x.regs.known >> EXECUTE_PSP & 1, rows[_i].sp);
    if (rows[_i].sp)
        ck_assert_uint_eq(x.regs.value[EXECUTE_PSP],
                          rows[_i].limit > RAM + 0xfe0 ? rows[_i].limit : RAM + 0xfe0);
    execute_memory_release(&x.memory);
}
END_TEST

/* A frame where memory ends is not written, or in part; SP is there all the same. */
START_TEST(test_no_memory)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry((uint16_t)_i, 0x1234);
    uint32_t pc = 0;
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    x.regs.value[EXECUTE_SP] = RAM + 8;
    x.regs.value[EXECUTE_MPU_CTRL] = 0;
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM, &(uint32_t){7}, 4), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_int_eq(execute_memory_read(&x.memory, RAM, &pc, 4), _i != 3 && _i != 5);
    ck_assert_uint_eq(x.regs.value[EXECUTE_PSP], RAM - 24);
    ck_assert(x.regs.known >> EXECUTE_PSP & 1);
    execute_memory_release(&x.memory);
}
END_TEST

/* A branch to an even address: the fault's frame has no T bit. */
START_TEST(test_even)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(6, 0x2000);
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    x.regs.value[EXECUTE_MPU_CTRL] = 0;
    x.regs.value[EXECUTE_SP] = RAM + 0x1000;
    x.regs.value[3] = 0x2000 + _i % 2;
    if (_i == 2)
        x.regs.known &= ~8u;
    ck_assert_int_eq(step(&x, 0x4718, 0x1300, 0x2000), BT_OK); /* BX r3 */
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    uint32_t status, known = execute_memory_bits(&x.memory, RAM + 0xffc, &status);
    if (_i < 2)
        ck_assert_uint_eq(word(&x, RAM + 0xffc) >> 24 & 1, _i);
    else
        ck_assert_uint_eq(known & 1u << 24, 0);
    ck_assert_uint_eq(x.regs.psr & x.regs.psr_known & 1u << 24, 1u << 24);
    execute_memory_release(&x.memory);
}
END_TEST

/* v8-M: CONTROL.SFPA is not followed. */
START_TEST(test_control)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.core.fpu = true;
    x.core.limits = _i;
    x.regs.value[EXECUTE_CONTROL] = 4;
    ck_assert_int_eq(step(&x, 0xf3ef8014, 0x1300, 0x1304), BT_OK); /* MRS r0, CONTROL */
    ck_assert_int_eq(x.regs.known & 1, !_i);
    ck_assert_uint_eq(x.regs.value[0], 4);
    execute_memory_release(&x.memory);
}
END_TEST

/* The trace unit tells of the second handler alone. */
START_TEST(test_tail_chain)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1234), other = entry(16, 0);
    other.u.exception.has_return = false;
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    uint32_t frame = (uint32_t)x.regs.value[EXECUTE_PSP];
    if (_i)
        x.regs.known &= ~(1u << EXECUTE_LR);
    ck_assert_int_eq(execute_step(&x, &(struct execute_insn){.address = 0x8000,
                                                             .opcode = 0x4770, /* BX LR */
                                                             .isa = BT_ISA_T32,
                                                             .size = 2}),
                     BT_OK);
    ck_assert_int_eq(execute_exception(&x, &other, 0x9000), BT_OK);
    ck_assert_int_eq(x.regs.known >> EXECUTE_SP & 1, !_i);
    if (!_i) {
        ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x2000);
        ck_assert_uint_eq(x.regs.value[EXECUTE_PSP], frame);
        ck_assert_uint_eq(x.regs.value[EXECUTE_LR], 0xfffffffd);
        ck_assert_uint_eq(x.regs.psr & 0x1ff, 16);
        ck_assert(!(x.regs.known & 0x100f));
        ck_assert_uint_eq(word(&x, frame + 24), 0x1234);
    }
    execute_memory_release(&x.memory);
}
END_TEST

/* The trace unit tells of the return, too, but of no address behind it. */
START_TEST(test_return_chain)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1234), other = entry(16, 0);
    other.u.exception.has_return = false;
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    uint32_t frame = (uint32_t)x.regs.value[EXECUTE_PSP];
    ck_assert_int_eq(step(&x, 0x4770, 0x8000, 0x1234), BT_OK); /* BX LR */
    ck_assert_int_eq(execute_exception_return(&x, &event, EXECUTE_NO_ADDRESS), BT_OK);
    if (_i) /* something has run: nobody knows where it was interrupted */
        ck_assert_int_eq(step(&x, 0xbf00, 0x1234, 0x1236), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &other, 0x9000), BT_OK);
    ck_assert_int_eq(x.regs.known >> 4 & 1, !_i);
    if (!_i) {
        ck_assert_uint_eq(x.regs.value[EXECUTE_PSP], frame);
        ck_assert_uint_eq(x.regs.value[EXECUTE_LR], 0xfffffffd);
        ck_assert_uint_eq(word(&x, frame + 24), 0x1234);
    }
    execute_memory_release(&x.memory);
}
END_TEST

/* Flags or SP that nobody knows cost what depends on them, and nothing else. */
START_TEST(test_frame_unknown)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1234);
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    if (_i)
        x.regs.known &= ~(1u << EXECUTE_SP);
    else
        x.regs.psr_known &= ~0xf0000000u;
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x3000, "abcd", 4), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x2000);
    ck_assert_int_eq(step(&x, 0x4770, 0x8000, 0x1234), BT_OK); /* BX LR */
    ck_assert_int_eq(execute_exception_return(&x, &event, 0x1234), BT_OK);
    ck_assert_uint_eq(x.regs.value[EXECUTE_MSP], RAM + 0x2000);
    ck_assert(x.regs.known >> EXECUTE_MSP & x.regs.known >> EXECUTE_CONTROL & 1);
    ck_assert_uint_eq(x.regs.known & 0xff0, 0xff0);
    ck_assert_uint_eq(x.regs.known & 0x700f, _i ? 0 : 0x700f);
    ck_assert_uint_eq(x.regs.psr_known & 0xf00001ff, 0x1ff);
    uint8_t byte;
    ck_assert_int_eq(execute_memory_read(&x.memory, RAM + 0x3000, &byte, 1), !_i);
    execute_memory_release(&x.memory);
}
END_TEST

/* An interrupt between a comparison and its branch, which tells of the word that was compared:
 * nothing; the handler looks at another word; it writes to that one; to what it comes back with. */
START_TEST(test_compared_word)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1304);
    uint32_t v;
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 0;
    x.regs.value[EXECUTE_SP] = x.regs.value[EXECUTE_MSP];
    x.regs.value[1] = RAM + 0x100;
    x.regs.value[2] = RAM + 0x200;
    x.regs.value[4] = x.regs.value[EXECUTE_SP] - 32;
    ck_assert_int_eq(step(&x, 0x6808, 0x1300, 0x1302), BT_OK); /* LDR r0, [r1] */
    ck_assert_int_eq(step(&x, 0x280f, 0x1302, 0x1304), BT_OK); /* CMP r0, #15 */
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    if (_i == 1) {
        ck_assert_int_eq(step(&x, 0x6810, 0x8000, 0x8002), BT_OK); /* LDR r0, [r2] */
        ck_assert_int_eq(step(&x, 0x2803, 0x8002, 0x8004), BT_OK); /* CMP r0, #3 */
    } else if (_i == 2) {
        ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x100, NULL, 4), BT_OK);
    } else if (_i == 3) {
        ck_assert_int_eq(step(&x, 0x6022, 0x8000, 0x8002), BT_OK); /* STR r2, [r4] */
    }
    ck_assert_int_eq(step(&x, 0x4770, 0x8004, 0x1304), BT_OK); /* BX LR */
    ck_assert_int_eq(execute_exception_return(&x, &event, 0x1304), BT_OK);
    struct execute_insn beq = {.address = 0x1304,
                               .opcode = 0xd001,
                               .isa = BT_ISA_T32,
                               .size = 2,
                               .cond = BT_COND_PASS,
                               .next = 0x130a,
                               .has_next = true};
    ck_assert_int_eq(execute_step(&x, &beq), BT_OK);
    bool known = execute_memory_read(&x.memory, RAM + 0x100, &v, 4);
    ck_assert_int_eq(known, _i < 2);
    ck_assert(!known || v == 15);
    ck_assert(!execute_memory_read(&x.memory, RAM + 0x200, &v, 4));
    execute_memory_release(&x.memory);
}
END_TEST

/* A division in registers of which handlers push some, one of them interrupted itself; one that
 * changes such a register where it is pushed. */
START_TEST(test_division_interrupted)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1304), inner = entry(14, 0x8004);
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 0;
    x.regs.value[EXECUTE_SP] = x.regs.value[EXECUTE_MSP];
    x.regs.value[1] = 0xcccccccd;
    x.regs.known &= ~UINT64_C(0x10);
    ck_assert_int_eq(step(&x, 0xfba42501, 0x1300, 0x1304), BT_OK); /* UMULL r2, r5, r4, r1 */
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_int_eq(step(&x, 0xb530, 0x8000, 0x8002), BT_OK); /* PUSH {r4, r5, LR} */
    ck_assert_int_eq(step(&x, 0x2500, 0x8002, 0x8004), BT_OK); /* MOVS r5, #0 */
    if (_i == 1) {
        ck_assert_int_eq(execute_exception(&x, &inner, 0x8100), BT_OK);
        ck_assert_int_eq(step(&x, 0x2400, 0x8100, 0x8102), BT_OK); /* MOVS r4, #0 */
        ck_assert_int_eq(step(&x, 0x4770, 0x8102, 0x8004), BT_OK); /* BX LR */
        ck_assert_int_eq(execute_exception_return(&x, &inner, 0x8004), BT_OK);
    } else if (_i == 2) {
        ck_assert_int_eq(step(&x, 0x9501, 0x8004, 0x8006), BT_OK); /* STR r5, [SP, #4] */
    }
    ck_assert_int_eq(step(&x, 0xbd30, 0x8006, 0x1304), BT_OK); /* POP {r4, r5, PC} */
    ck_assert_int_eq(execute_exception_return(&x, &event, 0x1304), BT_OK);
    ck_assert_int_eq(step(&x, 0xea4f0595, 0x1304, 0x1308), BT_OK); /* LSR r5, r5, #2 */
    ck_assert_int_eq(step(&x, 0xeb050585, 0x1308, 0x130c), BT_OK); /* ADD r5, r5, r5, LSL #2 */
    ck_assert_int_eq(step(&x, 0x1b64, 0x130c, 0x130e), BT_OK);     /* SUBS r4, r4, r5 */
    ck_assert_int_eq(x.regs.bounded >> 4 & 1 && x.regs.range[4] == 4, _i < 2);
    execute_memory_release(&x.memory);
}
END_TEST

/* Back to another place than the frame says. */
START_TEST(test_frame_contradicts)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(16, 0x1234);
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 0;
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_uint_eq(x.regs.value[EXECUTE_LR], 0xfffffff9);
    ck_assert_int_eq(step(&x, 0x4770, 0x8000, 0x1238), BT_OK); /* BX LR */
    ck_assert_int_eq(execute_exception_return(&x, &event, 0x1238), BT_ERR_RANGE);
    execute_memory_release(&x.memory);
}
END_TEST

/* A handler that was chained and interrupted before its first instruction: the return address is
 * its own. */
START_TEST(test_third_handler)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1234), other = entry(16, 0xa000);
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    uint32_t frame = (uint32_t)x.regs.value[EXECUTE_PSP];
    ck_assert_int_eq(execute_step(&x, &(struct execute_insn){.address = 0x8000,
                                                             .opcode = 0x4770, /* BX LR */
                                                             .isa = BT_ISA_T32,
                                                             .size = 2}),
                     BT_OK);
    ck_assert_int_eq(execute_exception(&x, &other, 0x9000), BT_OK);
    ck_assert_uint_eq(x.regs.value[EXECUTE_PSP], frame);
    ck_assert_uint_eq(x.regs.value[EXECUTE_LR], 0xfffffff1);
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x2000 - 0x20);
    ck_assert_uint_eq(word(&x, RAM + 0x2000 - 0x20 + 20), 0xfffffffd);
    ck_assert_uint_eq(word(&x, RAM + 0x2000 - 0x20 + 24), 0xa000);
    ck_assert_int_eq(step(&x, 0x4770, 0x9000, 0xa000), BT_OK); /* BX LR */
    ck_assert_int_eq(execute_exception_return(&x, &other, 0xa000), BT_OK);
    ck_assert_uint_eq(x.regs.value[EXECUTE_LR], 0xfffffffd);
    ck_assert_int_eq(step(&x, 0x4770, 0xa000, 0x1234), BT_OK); /* BX LR */
    ck_assert_int_eq(execute_exception_return(&x, &event, 0x1234), BT_OK);
    ck_assert_uint_eq(x.regs.value[3], 0x103);
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], RAM + 0x1004);
    execute_memory_release(&x.memory);
}
END_TEST

/* FPCCR leaves them where they are until the handler wants them, or it does not: s1 comes back, and
 * flags of which Q is not known, too. */
START_TEST(test_lazy_floats)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(15, 0x1234);
    uint32_t place = RAM + 0x1000 - 0x68 + 0x20;
    bool lazy = _i & 1, used = _i & 2;
    begin(&x, &budget);
    x.core.fpu = true;
    x.regs.value[EXECUTE_CONTROL] = 6;
    x.regs.value[EXECUTE_FPCCR] = lazy ? 0xc0000000 : 0x80000000;
    x.regs.value[EXECUTE_FPDSCR] = 0;
    x.regs.float_settled = true;
    x.regs.vector[0] = UINT64_C(0x4048f5c300000000);
    x.regs.vector_known = 2;
    x.regs.fpscr_known = UINT32_MAX;
    x.regs.fpscr = 0x20000010;
    x.regs.psr |= 1u << 29;
    x.regs.psr_known &= ~(1u << 27);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    if (used) /* VMOV.F32 s1, #1.0 */
        ck_assert_int_eq(step(&x, 0xeef70a00, 0x8000, 0x8004), BT_OK);
    uint32_t stored;
    ck_assert_int_eq(execute_memory_read(&x.memory, place + 4, &stored, 4), used || !lazy);
    ck_assert(lazy && !used ? x.regs.vector_known == 2 : true);
    ck_assert(!used || (uint32_t)(x.regs.vector[0] >> 32) == 0x3f800000);
    for (unsigned chained = 0; chained < 2; chained++) {
        ck_assert_int_eq(step(&x, 0x4770, 0x8004, 0x1234), BT_OK); /* BX LR */
        ck_assert_int_eq(execute_exception_return(&x, &event, 0x1234), BT_OK);
        ck_assert_uint_eq(x.regs.vector_known, 2);
        ck_assert_uint_eq(x.regs.vector[0] >> 32, 0x4048f5c3);
        if (chained)
            continue;
        ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
        /* What the handler before has left there, if it has; FPCAR likewise. */
        bool left = used || !lazy;
        ck_assert_uint_eq(x.regs.vector_known, left ? 0 : 2);
        ck_assert_int_eq(x.regs.known >> EXECUTE_FPCAR & 1, !left);
    }
    ck_assert_uint_eq(x.regs.fpscr_known, UINT32_MAX);
    ck_assert_uint_eq(x.regs.fpscr, 0x20000010);
    ck_assert_uint_eq(x.regs.psr_known >> 24, 0xf7);
    ck_assert_uint_eq(x.regs.psr >> 28, 2);
    ck_assert(x.regs.float_settled);
    execute_memory_release(&x.memory);
}
END_TEST

/* What a program writes into FPDSCR its next context begins with: 1 / 3 is rounded to nearest, or
 * towards minus infinity. */
START_TEST(test_default_status)
{
    static const uint16_t stores[] = {0x6020, 0x6020, 0x7020,
                                      0x8060}; /* STR r0, [r4], twice; STRB; STRH r0, [r4, #2] */
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.core.fpu = true;
    x.regs.value[0] = _i ? 0x00800000 : 0;
    x.regs.value[4] = 0xe000ef3c;
    x.regs.value[EXECUTE_CONTROL] = x.regs.value[EXECUTE_FPDSCR] = 0;
    x.regs.value[EXECUTE_FPCCR] = 0xc0000000;
    x.regs.float_settled = true;
    ck_assert_int_eq(step(&x, stores[_i], 0x8000, 0x8002), BT_OK);
    ck_assert_int_eq(step(&x, 0xeef70a00, 0x8002, 0x8006), BT_OK); /* VMOV.F32 s1, #1.0 */
    ck_assert_int_eq(step(&x, 0xeeb00a08, 0x8006, 0x800a), BT_OK); /* VMOV.F32 s0, #3.0 */
    ck_assert_int_eq(step(&x, 0xee800a80, 0x800a, 0x800e), BT_OK); /* VDIV.F32 s0, s1, s0 */
    ck_assert_int_eq(x.regs.vector_known & 1, _i < 2);
    ck_assert(_i >= 2 || (uint32_t)x.regs.vector[0] == 0x3eaaaaabu - (unsigned)_i);
    execute_memory_release(&x.memory);
}
END_TEST

/* Registers that are stacked at once are, but where CPACR has the unit off. */
START_TEST(test_unit_off)
{
    static const uint32_t values[] = {0xf00000, 0, 0x500000};
    struct execute x;
    struct execute_budget budget;
    struct bt_event event = entry(_i == 3 ? 6 : 15, 0x1234);
    uint32_t place = RAM + 0x1000 - 0x68 + 0x20, got;
    begin(&x, &budget);
    x.core.fpu = true;
    x.regs.value[EXECUTE_CONTROL] = 4;
    x.regs.value[EXECUTE_FPCCR] = 0x80000000;
    x.regs.float_settled = true;
    x.regs.vector_known = 1;
    x.regs.value[0] = values[_i % 3];
    x.regs.value[4] = 0xe000ed88;
    ck_assert_int_eq(step(&x, 0x6020, 0x8000, 0x8002), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &event, 0x9000), BT_OK);
    ck_assert_int_eq(execute_memory_read(&x.memory, place, &got, 4), _i == 0);
    ck_assert_uint_eq(x.regs.value[EXECUTE_SP], place - 0x20);
    execute_memory_release(&x.memory);
}
END_TEST

/* A load of floating-point registers that a fault comes back to: whether it was fetched, and so has
 * made the context one with such registers, is not known; an interrupt is assumed to come before
 * it. */
START_TEST(test_begun_floats)
{
    static const uint16_t vldr[] = {0xed94, 0x7a00}; /* VLDR s14, [r4] */
    struct execute x;
    struct execute_budget budget;
    bool fault = _i;
    struct bt_event event = entry(fault ? 4 : 15, RAM + 0x400);
    begin(&x, &budget);
    x.core.fpu = true;
    x.regs.value[4] = RAM + 0x100;
    x.regs.value[EXECUTE_CONTROL] = 0;
    x.regs.value[EXECUTE_FPCCR] = 0xc0000000;
    x.regs.value[EXECUTE_MPU_CTRL] = 0;
    x.regs.float_settled = true;
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x400, vldr, 4), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
    ck_assert_int_eq(x.regs.known >> EXECUTE_SP & 1, !fault);
    ck_assert(fault || x.regs.value[EXECUTE_SP] == RAM + 0x1000 - 0x20);
    execute_memory_release(&x.memory);
}
END_TEST

/* A handler behind a return: whether its frame was taken and put there again nobody knows. Its
 * floating-point registers are there when they are settled, whatever was pushed in between. */
START_TEST(test_chained_floats)
{
    struct execute x;
    struct execute_budget budget;
    struct bt_event first = entry(15, 0x1234), second = entry(14, RAM + 0x400);
    uint32_t place = RAM + 0x1000 - 0x68 + 0x20, push = 0xb503 /* PUSH {r0, r1, lr} */, got;
    bool written = _i & 1, elsewhere = _i & 2;
    begin(&x, &budget);
    x.core.fpu = true;
    x.regs.value[EXECUTE_CONTROL] = 4;
    x.regs.value[EXECUTE_FPCCR] = 0xc0000000;
    x.regs.float_settled = true;
    x.regs.vector[7] = UINT64_C(0x4048f5c300000000); /* s15 */
    x.regs.vector_known = 0x8000;
    x.regs.fpscr_known = UINT32_MAX;
    x.regs.fpscr = 0x20000010;
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x400, &push, 2), BT_OK);
    ck_assert_int_eq(execute_exception(&x, &first, 0x8000), BT_OK);
    ck_assert_int_eq(step(&x, 0xeef70a00, 0x8000, 0x8004), BT_OK); /* VMOV.F32 s1, #1.0 */
    ck_assert_int_eq(
        execute_memory_write(&x.memory, place - 8, &second.u.exception.return_address, 4), BT_OK);
    ck_assert_int_eq(step(&x, 0x4770, 0x8004, RAM + 0x400), BT_OK);
    ck_assert_int_eq(execute_exception_return(&x, &first, RAM + 0x400), BT_OK);
    ck_assert_uint_eq(x.regs.fpscr_known, UINT32_MAX);
    ck_assert_int_eq(execute_exception(&x, &second, 0x8000), BT_OK);
    ck_assert(!execute_memory_read(&x.memory, place + 0x40, &got, 4)); /* pushed there, or not */
    ck_assert_uint_eq(x.regs.fpscr_known | x.regs.vector_known, 0);
    if (written) { /* STR r4, [r7] */
        x.regs.value[7] = place + 0x3c;
        x.regs.known |= 1u << 7;
        ck_assert_int_eq(step(&x, 0x603c, 0x8000, 0x8002), BT_OK);
    }
    if (elsewhere) { /* returns by a frame of its own making */
        x.regs.value[EXECUTE_SP] = RAM + 0x2000;
        ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x2018, &(uint32_t){0x1234}, 4),
                         BT_OK);
        ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x201c, &(uint32_t){1u << 24}, 4),
                         BT_OK);
        ck_assert_int_eq(execute_memory_write(&x.memory, RAM + 0x2060, &(uint32_t){0}, 4), BT_OK);
        ck_assert_int_eq(step(&x, 0x4770, 0x8002, 0x1234), BT_OK);
        ck_assert_int_eq(execute_exception_return(&x, &second, 0x1234), BT_OK);
        ck_assert_int_eq(x.regs.fpscr_known == 0, !written);
    } else {
        ck_assert_int_eq(step(&x, 0xeef70a00, 0x8002, 0x8006), BT_OK);
        ck_assert_int_eq(execute_memory_read(&x.memory, place + 0x40, &got, 4), !written);
        ck_assert(written || got == 0x20000010);
        ck_assert_int_eq(execute_memory_read(&x.memory, place + 0x3c, &got, 4), true);
        ck_assert_uint_eq(got, written ? 0x104 : 0x4048f5c3);
    }
    execute_memory_release(&x.memory);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_m");
    unit_cases(s, "execute: M-profile exception frame", test_frame, 0, 3);
    unit_cases(s, "execute: what an exception comes back to has begun", test_begun, 0, 3);
    unit_cases(s, "execute: no room for a frame", test_no_room, 0, 8);
    unit_cases(s, "execute: a branch to an even address", test_even, 0, 3);
    unit_cases(s, "execute: CONTROL of v8-M", test_control, 0, 2);
    unit_cases(s, "execute: a handler behind another one", test_tail_chain, 0, 2);
    unit_cases(s, "execute: a handler behind a return", test_return_chain, 0, 2);
    unit_cases(s, "execute: frames of which something is not known", test_frame_unknown, 0, 2);
    unit_cases(s, "execute: a word that was compared before an interrupt", test_compared_word, 0,
               4);
    unit_case(s, "execute: a return that contradicts its frame", test_frame_contradicts);
    unit_case(s, "execute: a handler that was interrupted before it began", test_third_handler);
    unit_cases(s, "execute: a division in front of an exception", test_division_interrupted, 0, 3);
    unit_cases(s, "execute: floating-point registers in frames", test_lazy_floats, 0, 4);
    unit_cases(s, "execute: floating-point registers in frames, chained", test_chained_floats, 0,
               4);
    unit_cases(s, "execute: FPDSCR is written", test_default_status, 0, 4);
    unit_cases(s, "execute: CPACR is written", test_unit_off, 0, 4);
    unit_cases(s, "execute: a floating-point access has begun", test_begun_floats, 0, 2);
    unit_cases(s, "execute: a frame where memory ends", test_no_memory, 3, 7);
    unit_cases(s, "execute: bits that SP has not", test_stack_bits, 0, 2);
    unit_cases(s, "execute: registers in memory", test_system_registers, 0, 2);
    return s;
}
