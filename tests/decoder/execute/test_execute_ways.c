/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/execute/execute_ways.c: both ways that an unknown condition chooses between, when
 * an exception interrupts them. */
#include "tests/decoder/execute/execute_case.h"

#define FLAGS 0xf0000000u

static struct execute x;
static struct execute_budget budget;
static uint64_t at;

static void run(uint32_t opcode)
{
    uint64_t next = at + (opcode >> 16 ? 4 : 2);
    ck_assert_int_eq(step(&x, opcode, at, next), BT_OK);
    at = next;
}

/* Thread mode on PSP; r4 and r5 are addresses or not known, by flags that nobody knows. */
static void choose(void)
{
    begin(&x, &budget);
    x.regs.value[EXECUTE_CONTROL] = 2;
    x.regs.psr_known &= ~FLAGS;
    x.regs.known &= ~(UINT64_C(1) << 5 | 1u << 2);
    at = 0x1300;
    x.regs.value[4] = RAM + 0x8000;
    x.regs.value[0] = RAM + 0x100;
    run(0xbf0c);     /* ITE EQ */
    run(0x4604);     /* MOVEQ r4, r0 */
    run(0xf04f0508); /* MOVNE r5, #8 */
    run(0xbf0c);     /* ITE EQ */
    run(0x2210);     /* MOVEQ r2, #16 */
    run(0x2220);     /* MOVNE r2, #32 */
}

static void interrupt(void)
{
    struct bt_event event = entry(14, at);
    ck_assert_int_eq(execute_exception(&x, &event, 0x8000), BT_OK);
}

static void back(void)
{
    struct bt_event event = {.kind = BT_EVENT_EXCEPTION_RET};
    ck_assert_int_eq(step(&x, 0x4770, 0x8100, at), BT_OK); /* BX lr */
    ck_assert_int_eq(execute_exception_return(&x, &event, at), BT_OK);
}

static void handler(uint32_t opcode, uint64_t address)
{
    ck_assert_int_eq(step(&x, opcode, address, address + (opcode >> 16 ? 4 : 2)), BT_OK);
}

/* As a kernel's switch does: r4 to r11 go to the task's stack, and come back later. */
static void switch_task(void)
{
    handler(0xf3ef8009, 0x8000); /* MRS r0, PSP */
    handler(0xe9200ff0, 0x8004); /* STMDB r0!, {r4-r11} */
    for (unsigned i = 4; i < 12; i++)
        handler(0x2000 | i << 8 | 7, 0x8008 + 2 * i); /* MOVS: r4 to r7, r0 to r3 twice */
    handler(0xf3ef8009, 0x8020);                      /* MRS r0, PSP */
    handler(0xf1a00020, 0x8024);                      /* SUB r0, r0, #32 */
    handler(0xe8b00ff0, 0x8028);                      /* LDM r0!, {r4-r11} */
}

static bool is_known(uint32_t address)
{
    uint32_t word;
    return execute_memory_read(&x.memory, address, &word, 4);
}

/* A store that goes to one address or the other hits nothing between them. */
START_TEST(test_interrupted)
{
    uint8_t all[0x10000] = {0};
    choose();
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM, all, sizeof all), BT_OK);
    if (_i)
        interrupt();
    if (_i == 2)
        switch_task();
    if (_i)
        back();
    run(0xbf08);     /* IT EQ */
    run(0xf04f0508); /* MOVEQ r5, #8 */
    ck_assert(x.regs.known >> 5 & 1 && x.regs.value[5] == 8);
    run(0x5165); /* STR r5, [r4, r5] */
    ck_assert_uint_eq(x.clobbers, 0);
    ck_assert(!is_known(RAM + 0x108) && !is_known(RAM + 0x8008));
    ck_assert(is_known(RAM + 0x10c) && is_known(RAM + 0x8004) && is_known(RAM + 0x800c));
    run(0xbf08); /* IT EQ */
    run(0x3210); /* ADDEQ r2, #16 */
    ck_assert(x.regs.known >> 2 & 1 && x.regs.value[2] == 32);
    ck_assert_int_eq(step(&x, 0xd004, at, at + 12), BT_OK); /* BEQ: taken */
    ck_assert(x.regs.known >> 4 & 1 && x.regs.value[4] == RAM + 0x100);
    execute_memory_release(&x.memory);
}
END_TEST

/* What the handler writes to its caller's frame is no longer what was interrupted; its own choices
 * are not its caller's. */
START_TEST(test_changed)
{
    static const uint32_t opcodes[] = {0x9006, 0x9007}; /* STR r0, [sp, #24]; [sp, #28] */
    choose();
    interrupt();
    x.regs.value[EXECUTE_SP] = _i < 2 ? x.regs.value[EXECUTE_PSP] - (_i ? 0 : 16) : RAM + 0x3000;
    if (_i < 2) {
        handler(opcodes[_i], 0x8000);
    } else {
        handler(0xbf08, 0x8000);     /* IT EQ */
        handler(0xf04f0409, 0x8002); /* MOVEQ r4, #9 */
    }
    back();
    run(0xbf08); /* IT EQ */
    run(0x3210); /* ADDEQ r2, #16 */
    ck_assert_int_eq(x.regs.known >> 2 & 1, _i == 2);
    ck_assert(!(x.regs.known >> 4 & 1));
    execute_memory_release(&x.memory);
}
END_TEST

/* Flags that are set anew choose nothing; VCVT leaves them. */
START_TEST(test_flags)
{
    static const uint32_t opcodes[] = {0xeefd7ac7, 0x4288, 0xf3808800, 0xeef1fa10, 0xbf00};
    choose(); /* VCVT.S32.F32 s15, s14; CMP r0, r1; MSR APSR_nzcvq, r0; VMRS APSR_nzcv; NOP */
    x.core.fpu = true;
    x.regs.fpscr_known = 0;
    x.regs.known &= ~1u;
    run(opcodes[_i]);
    run(0xbf08); /* IT EQ */
    run(0x3210); /* ADDEQ r2, #16 */
    ck_assert_int_eq(x.regs.known >> 2 & 1, _i == 0 || _i == 4);
    execute_memory_release(&x.memory);
}
END_TEST

/* A register that is memory, too, may have been written. */
START_TEST(test_system)
{
    choose();
    x.regs.value[0] = 0xe000ed14;
    run(0xbf08); /* IT EQ */
    run(0x6001); /* STREQ r1, [r0]: CCR */
    ck_assert(!(x.regs.known >> EXECUTE_CCR & 1));
    execute_memory_release(&x.memory);
}
END_TEST

/* `a > 9 || b > 4`: 0 or 1 on the first one's ways, perhaps 1 on the second one's. */
START_TEST(test_either)
{
    begin(&x, &budget);
    x.regs.known &= ~UINT64_C(7);
    at = 0x1300;
    run(0x2809);     /* CMP r0, #9 */
    run(0xbf94);     /* ITE LS */
    run(0x2200);     /* MOVLS r2, #0 */
    run(0x2201);     /* MOVHI r2, #1 */
    run(0x2904);     /* CMP r1, #4 */
    run(0xbf88);     /* IT HI */
    run(0xf0420201); /* ORRHI r2, r2, #1 */
    ck_assert(!(x.regs.known & 4) && x.regs.bounded & 4);
    if (_i == 1)
        run(0x2100); /* MOVS r1, #0 */
    if (_i == 2)
        run(0x2000);                                                          /* MOVS r0, #0 */
    ck_assert_int_eq(step(&x, _i == 3 ? 0xb902 : 0xb102, at, at + 4), BT_OK); /* CBZ, CBNZ r2 */
    ck_assert_int_eq(x.regs.known & 1, _i == 2);
    ck_assert_int_eq(x.regs.bounded & 1 && x.regs.range[0] == 9, _i < 2);
    execute_memory_release(&x.memory);
}
END_TEST

/* Where execution goes on from registers and memory that were kept no choice is open; what memory
 * has of older ones is of none that comes. */
START_TEST(test_gone_on)
{
    choose();
    run(0x9200); /* STR r2, [SP] */
    x.ways = (struct execute_ways){0};
    run(0x2900); /* CMP r1, #0 */
    x.regs.psr_known &= ~FLAGS;
    run(0xbf08);                                            /* IT EQ */
    run(0xf04f0508);                                        /* MOVEQ r5, #8 */
    run(0x9b00);                                            /* LDR r3, [SP] */
    run(0x9a00);                                            /* LDR r2, [SP] */
    ck_assert_int_eq(step(&x, 0xd004, at, at + 12), BT_OK); /* BEQ: taken */
    ck_assert(!(x.regs.known >> 2 & 1));
    execute_memory_release(&x.memory);
}
END_TEST

/* if (value > highest) highest = value, where an address is in the register of the older one: that
 * is on the way on which it is stored to, also once the older one is such a choice itself. */
START_TEST(test_address)
{
    begin(&x, &budget);
    x.regs.known &= ~UINT64_C(1);
    x.regs.psr_known &= ~FLAGS;
    x.regs.value[5] = RAM + 0x100;
    at = 0x1300;
    ck_assert_int_eq(execute_memory_write(&x.memory, RAM, (uint8_t[0x400]){3}, 0x400), BT_OK);
    for (unsigned n = 0; n < 3; n++) {
        run(0x2900); /* CMP r1, #0 */
        run(0x6e2b); /* LDR r3, [r5, #96] */
        run(0x4283); /* CMP r3, r0 */
        run(0xbf3c); /* ITT CC */
        run(0x462b); /* MOVCC r3, r5 */
        run(0x6618); /* STRCC r0, [r3, #96] */
        ck_assert_uint_eq(word(&x, RAM), 3);
    }
    ck_assert(!execute_memory_read(&x.memory, RAM + 0x160, &(uint32_t){0}, 4));
    execute_memory_release(&x.memory);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute_ways");
    unit_cases(s, "execute: interrupted between two blocks", test_interrupted, 0, 3);
    unit_cases(s, "execute: a handler changes its caller's choice", test_changed, 0, 3);
    unit_cases(s, "execute: what ends a choice", test_flags, 0, 5);
    unit_case(s, "execute: a system register, perhaps", test_system);
    unit_case(s, "execute: a choice of before a point that was kept", test_gone_on);
    unit_cases(s, "execute: one condition or another", test_either, 0, 4);
    unit_case(s, "execute: stored to an address that is one of two", test_address);
    return s;
}
