/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests decoder/execute/execute.c, execute_alu.c, execute_m.c, execute_memory.c and
 * execute_state.c: single rules by
 * hand. Instructions at random: test_execute_differential.c.
 */
#include "decoder/execute/execute.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define RAM 0x20000000u

static enum execute_memory_kind all_ram(void *context, uint64_t address, uint64_t *from,
                                        uint64_t *to, const uint8_t **bytes)
{
    (void)context;
    (void)bytes;
    *from = address < RAM ? 0 : address < RAM + 0x10000 ? RAM : RAM + 0x10000;
    *to = address < RAM ? RAM : address < RAM + 0x10000 ? RAM + 0x10000 : UINT32_MAX;
    return *from == RAM ? EXECUTE_MEMORY_RAM : EXECUTE_MEMORY_OTHER;
}

/* Below it there are NOPs, from 0x1200 on. */
static enum execute_memory_kind code_and_ram(void *context, uint64_t address, uint64_t *from,
                                             uint64_t *to, const uint8_t **bytes)
{
    static uint8_t nops[0xf000];
    if (address < 0x1200 || address >= 0x1200 + sizeof nops)
        return all_ram(context, address, from, to, bytes);
    for (unsigned i = 1; i < sizeof nops; i += 2)
        nops[i] = 0xbf;
    *from = 0x1200;
    *to = *from + sizeof nops;
    *bytes = nops;
    return EXECUTE_MEMORY_CONST;
}

static void begin(struct execute *x, struct execute_budget *budget)
{
    *x = (struct execute){.core = {.profile = EXECUTE_PROFILE_M}};
    *budget = (struct execute_budget){.limit = 1 << 20};
    execute_memory_init(&x->memory, budget, code_and_ram, NULL);
    x->regs.psr_known = UINT32_MAX;
    x->regs.psr = 1u << 24;
    x->regs.known = UINT64_MAX;
    for (unsigned i = 0; i < 15; i++)
        x->regs.value[i] = 0x100 + i;
    x->regs.value[EXECUTE_SP] = RAM + 0x1004;
    x->regs.value[EXECUTE_MSP] = RAM + 0x2000;
    x->regs.value[EXECUTE_CCR] = 1u << 9;
}

static int step(struct execute *x, uint32_t opcode, uint64_t address, uint64_t next)
{
    bool wide = opcode >> 16;
    return execute_step(x, &(struct execute_insn){.address = address,
                                                  .opcode = opcode,
                                                  .isa = BT_ISA_T32,
                                                  .size = wide ? 4 : 2,
                                                  .next = next,
                                                  .has_next = true});
}

static uint32_t word(struct execute *x, uint32_t address)
{
    uint32_t v = 0;
    ck_assert_msg(execute_memory_read(&x->memory, address, &v, 4), "%x is not known", address);
    return v;
}

START_TEST(test_memory_shared)
{
    struct execute_budget budget = {.limit = 4000};
    struct execute_memory a, b;
    uint32_t v = 0x11223344, got;
    execute_memory_init(&a, &budget, all_ram, NULL);
    ck_assert_int_eq(execute_memory_write(&a, RAM + 254, &v, 4), BT_OK); /* two pages */
    ck_assert_int_eq(execute_memory_share(&b, &a), BT_OK);
    ck_assert(execute_memory_is_shared(&a, &b, RAM + 254, 4));
    ck_assert(!execute_memory_is_shared(&a, &b, RAM + 254, 300)); /* of the third page nothing */
    ck_assert_int_eq(execute_memory_write(&b, RAM + 254, &(uint32_t){5}, 2), BT_OK);
    ck_assert(!execute_memory_is_shared(&a, &b, RAM + 254, 4));
    ck_assert(execute_memory_is_shared(&a, &b, RAM + 256, 2));
    ck_assert_int_eq(execute_memory_write(&b, RAM + 254, &(uint32_t){5}, 4), BT_OK);
    ck_assert(!execute_memory_is_shared(&a, &b, RAM + 256, 2));
    ck_assert(execute_memory_read(&a, RAM + 254, &got, 4));
    ck_assert_uint_eq(got, v);
    ck_assert(execute_memory_read(&b, RAM + 254, &got, 4));
    ck_assert_uint_eq(got, 5);
    ck_assert_int_eq(execute_memory_write(&b, RAM + 255, NULL, 1), BT_OK);
    ck_assert(!execute_memory_read(&b, RAM + 254, &got, 4));
    ck_assert(execute_memory_read(&b, RAM + 256, &got, 2));
    ck_assert(!execute_memory_read(&a, RAM + 250, &got, 8));
    int error = BT_OK;
    for (uint32_t at = 0; at < 0x10000 && !error; at += EXECUTE_PAGE)
        error = execute_memory_write(&a, RAM + at, &v, 4);
    ck_assert_int_eq(error, BT_ERR_NOMEM);
    ck_assert_uint_le(budget.used, budget.limit);
    ck_assert_int_eq(execute_memory_write(&b, 0x1000, &v, 4), BT_OK); /* no RAM: no effect */
    ck_assert(!execute_memory_read(&b, 0x1000, &got, 4));
    for (uint32_t at = 0; at < 12; at += 4)
        execute_memory_bound(&b, RAM + at, 1, 2);
    execute_memory_forget(&b);
    ck_assert(!execute_memory_read(&b, RAM + 256, &got, 2));
    ck_assert_uint_eq(execute_memory_range(&b, RAM + 4, &got), 0);
    execute_memory_bound(&b, RAM + 4, 5, 6); /* what was there before says nothing any more */
    ck_assert_uint_eq(execute_memory_range(&b, RAM, &got), 0);
    ck_assert_uint_eq(execute_memory_range(&b, RAM + 4, &got), 6);
    ck_assert_uint_eq(got, 5);
    ck_assert_int_eq(execute_memory_write(&b, RAM + 4, NULL, 4), BT_OK);
    ck_assert_uint_eq(execute_memory_range(&b, RAM + 4, &got), 0);
    execute_memory_release(&a);
    execute_memory_release(&b);
    ck_assert_uint_eq(budget.used, 0);
}
END_TEST

START_TEST(test_conditions)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.regs.psr = 1u << 24 | 1u << 30;                               /* Z */
    ck_assert_int_eq(step(&x, 0xd102, 0x100, 0x108), BT_ERR_RANGE); /* BNE, taken */
    x.regs.psr_known &= ~0xf0000000u;
    x.regs.psr = 1u << 24;
    ck_assert_int_eq(step(&x, 0xd002, 0x100, 0x108), BT_OK); /* BEQ, taken */
    ck_assert_uint_eq(x.regs.psr & x.regs.psr_known & 0xf0000000u, 1u << 30);
    x.regs.known &= ~8u;
    ck_assert_int_eq(step(&x, 0xb11b, 0x100, 0x10a), BT_OK); /* CBZ r3, taken */
    ck_assert_uint_eq(x.regs.value[3], 0);
    ck_assert(x.regs.known >> 3 & 1);
    ck_assert_int_eq(step(&x, 0xbf0c, 0x100, 0x102), BT_OK); /* ITE EQ */
    ck_assert_int_eq(step(&x, 0x2001, 0x102, 0x104), BT_OK); /* MOVEQ r0, #1 */
    ck_assert_int_eq(step(&x, 0x2102, 0x104, 0x106), BT_OK); /* MOVNE r1, #2 */
    ck_assert_uint_eq(x.regs.value[0], 1);
    ck_assert_uint_eq(x.regs.value[1], 0x101);
    x.regs.known &= ~1u;
    ck_assert_int_eq(step(&x, 0x6001, 0x106, 0x108), BT_OK); /* STR r1, [r0] */
    ck_assert_uint_eq(x.clobbers, 1);
    ck_assert_int_eq(step(&x, 0x4700, 0x106, 0x200), BT_OK); /* BX r0, not known */
    x.regs.known |= 1u;
    ck_assert_int_eq(step(&x, 0x4700, 0x106, 0x300), BT_ERR_RANGE);
    execute_memory_release(&x.memory);
}
END_TEST

static struct bt_event entry(uint16_t number, uint64_t from)
{
    return (struct bt_event){
        .kind = BT_EVENT_EXCEPTION,
        .u.exception = {
            .number = number, .m_profile = true, .has_return = true, .return_address = from}};
}

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

/* `a[i & 7] = r0`: what it may hit is unknown, and nothing else. */
START_TEST(test_range)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    for (uint32_t at = RAM; at < RAM + 0x1100; at += 4)
        ck_assert_int_eq(execute_memory_write(&x.memory, at, "abcd", 4), BT_OK);
    x.regs.value[2] = RAM + 0x100;
    x.regs.known &= ~2u;
    ck_assert_int_eq(step(&x, 0xf0010107, 0x8000, 0x8004), BT_OK); /* AND r1, r1, #7 */
    ck_assert_int_eq(step(&x, 0xf84d1c10, 0x8004, 0x8008), BT_OK); /* STR r1, [sp, #-16] */
    ck_assert_int_eq(step(&x, 0x4619, 0x8008, 0x800a), BT_OK);     /* MOV r1, r3 */
    ck_assert_int_eq(step(&x, 0xf85d1c10, 0x800a, 0x800e), BT_OK); /* LDR r1, [sp, #-16] */
    ck_assert_int_eq(step(&x, 0xf8420021, 0x800e, 0x8012), BT_OK); /* STR r0, [r2, r1, LSL #2] */
    for (uint32_t i = 0; i < 32; i++) {
        uint8_t byte;
        bool hit = i >= 16 && i < 24, around = i >= 15 && i <= 25;
        bool known = execute_memory_read(&x.memory, RAM + 0xc0 + 4 * i, &byte, 1);
        ck_assert(known ? !hit : around);
    }
    ck_assert_uint_eq(x.clobbers, 0);
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

/* Two blocks in a row, of conditions that are not known. */
START_TEST(test_ways)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.regs.psr_known &= ~0xf0000000u;
    x.regs.known &= ~7u;                                     /* r0, r1, r2 */
    ck_assert_int_eq(step(&x, 0xbf0c, 0x100, 0x102), BT_OK); /* ITE EQ */
    ck_assert_int_eq(step(&x, 0x2014, 0x102, 0x104), BT_OK); /* MOVEQ r0, #20 */
    ck_assert_int_eq(step(&x, 0x2010, 0x104, 0x106), BT_OK); /* MOVNE r0, #16 */
    ck_assert(!(x.regs.known & 1) && x.regs.bounded & 1);
    ck_assert_uint_eq(x.regs.value[0], 16);
    ck_assert_uint_eq(x.regs.range[0], 4);
    ck_assert_int_eq(step(&x, 0xbf35, 0x106, 0x108), BT_OK); /* ITETE CC */
    ck_assert_int_eq(step(&x, 0x2101, 0x108, 0x10a), BT_OK); /* MOVCC r1, #1 */
    ck_assert_int_eq(step(&x, 0x1c42, 0x10a, 0x10c), BT_OK); /* ADDCS r2, r0, #1 */
    ck_assert_int_eq(step(&x, 0x1c4a, 0x10c, 0x10e), BT_OK); /* ADDCC r2, r1, #1 */
    ck_assert_int_eq(step(&x, 0x2101, 0x10e, 0x110), BT_OK); /* MOVCS r1, #1 */
    ck_assert(x.regs.known & 2);
    ck_assert_uint_eq(x.regs.value[1], 1);
    ck_assert(!(x.regs.known & 4) && x.regs.bounded & 4);
    ck_assert_uint_eq(x.regs.value[2], 2);
    ck_assert_uint_eq(x.regs.range[2], 19);
    x.regs.known &= ~1u;
    x.regs.bounded &= ~1u;
    ck_assert_int_eq(step(&x, 0xbf08, 0x110, 0x112), BT_OK); /* IT EQ */
    ck_assert_int_eq(step(&x, 0x2014, 0x112, 0x114), BT_OK); /* MOVEQ r0, #20: or what it was */
    ck_assert(!((x.regs.known | x.regs.bounded) & 1));
    ck_assert_int_eq(step(&x, 0xbf18, 0x114, 0x116), BT_OK); /* IT NE: the same condition */
    ck_assert_int_eq(step(&x, 0x2010, 0x116, 0x118), BT_OK); /* MOVNE r0, #16 */
    ck_assert_int_eq(step(&x, 0x4602, 0x118, 0x11a), BT_OK); /* MOV r2, r0 */
    ck_assert(x.regs.bounded & 1 && x.regs.value[0] == 16 && x.regs.range[0] == 4);
    ck_assert(x.regs.bounded & 4 && x.regs.value[2] == 16 && x.regs.range[2] == 4);
    x.regs.bounded &= ~1u;
    ck_assert_int_eq(step(&x, 0x4288, 0x11a, 0x11c), BT_OK); /* CMP r0, r1 */
    ck_assert_int_eq(step(&x, 0xbf0c, 0x114, 0x116), BT_OK); /* ITE EQ */
    ck_assert_int_eq(step(&x, 0x2014, 0x116, 0x116), BT_OK); /* MOVEQ r0, #20: interrupted */
    ck_assert(!((x.regs.known | x.regs.bounded) & 1));
    execute_memory_release(&x.memory);
}
END_TEST

static struct execute_access told[20];
static size_t told_count;

static void tell(void *ctx, const struct execute_access *access)
{
    (void)ctx;
    ck_assert_uint_lt(told_count, sizeof told / sizeof *told);
    told[told_count++] = *access;
}

static bool tells(size_t i, uint64_t from, uint64_t to, bool store, bool perhaps)
{
    const struct execute_access *a = &told[i];
    return a->from == from && a->to == to && a->store == store && a->load == !store &&
           a->perhaps == perhaps;
}

START_TEST(test_accesses)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    told_count = 0;
    x.accessed = tell;
    ck_assert_int_eq(step(&x, 0xb503, 0x100, 0x102), BT_OK); /* PUSH {r0, r1, lr} */
    ck_assert_uint_eq(told_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert(tells(i, RAM + 0xff8 + 4 * i, RAM + 0xffc + 4 * i, true, false));
    ck_assert_int_eq(step(&x, 0xf89d2001, 0x102, 0x106), BT_OK); /* LDRB r2, [sp, #1] */
    ck_assert(told_count == 4 && tells(3, RAM + 0xff9, RAM + 0xffa, false, false));
    x.regs.psr_known &= ~0xf0000000u;
    ck_assert_int_eq(step(&x, 0xbf08, 0x106, 0x108), BT_OK); /* IT EQ */
    ck_assert_int_eq(step(&x, 0x9000, 0x108, 0x10a), BT_OK); /* STREQ r0, [sp] */
    ck_assert(told_count == 5 && tells(4, RAM + 0xff8, RAM + 0xffc, true, true));
    x.regs.known &= ~8u;
    x.ways.open = false;
    ck_assert_int_eq(step(&x, 0xf0030007, 0x10a, 0x10e), BT_OK); /* AND r0, r3, #7 */
    ck_assert_int_eq(step(&x, 0xf80d1000, 0x10e, 0x112), BT_OK); /* STRB r1, [sp, r0] */
    ck_assert_uint_eq(told_count, 6);
    ck_assert(told[5].perhaps && told[5].store && !told[5].load && told[5].from <= RAM + 0xff8 &&
              told[5].to >= RAM + 0x1000 && told[5].to < RAM + 0x1100);
    ck_assert_int_eq(step(&x, 0x6818, 0x112, 0x114), BT_OK); /* LDR r0, [r3] */
    ck_assert(told_count == 7 && tells(6, 0, UINT64_MAX, false, true));
    ck_assert_int_eq(step(&x, 0xbf04, 0x114, 0x116), BT_OK); /* ITT EQ */
    ck_assert_int_eq(step(&x, 0x466b, 0x116, 0x118), BT_OK); /* MOVEQ r3, sp */
    ck_assert(!((x.regs.known | x.regs.bounded) & 8));
    ck_assert_int_eq(step(&x, 0x6019, 0x118, 0x11a), BT_OK); /* STREQ r1, [r3]: where it is SP */
    ck_assert(told_count == 8 && tells(7, RAM + 0xff8, RAM + 0xffc, true, true));
    ck_assert_uint_eq(x.clobbers, 0);
    execute_memory_release(&x.memory);
}
END_TEST

/* Cortex-A9: what is written to CP15, and whether the word that is known in RAM still is. */
START_TEST(test_coprocessor)
{
    static const struct {
        uint32_t opcode;
        bool known;
    } rows[] = {
        {0xee0c0f10, true},  /* MCR p15, 0, r0, c12, c0, 0: VBAR */
        {0xee0c0f30, true},  /* MVBAR */
        {0xee0c0f50, false}, /* RMR: a reset */
        {0xee8c0f10, false}, /* HVBAR */
        {0xee010f50, true},  /* CPACR */
        {0xee010f10, false}, /* SCTLR */
        {0xee010f30, false}, /* ACTLR */
        {0xee011f11, false}, /* SCR */
        {0xee020f10, false}, /* TTBR0 */
        {0xee020f50, false}, /* TTBCR */
        {0xee030f10, false}, /* DACR */
        {0xee070f15, true},  /* ICIALLU */
        {0xee070f35, true},  /* ICIMVAU */
        {0xee070fd5, true},  /* BPIALL */
        {0xee070fd1, true},  /* BPIALLIS */
        {0xee070f95, true},  /* ISB */
        {0xee070f9a, true},  /* DSB */
        {0xee070fba, true},  /* DMB */
        {0xee070f3a, false}, /* DCCMVAC */
        {0xee070f36, false}, /* DCIMVAC */
        {0xee070f3e, false}, /* DCCIMVAC */
        {0xee080f17, false}, /* TLBIALL */
        {0xee090f1c, true},  /* PMCR */
        {0xee090f11, false}, /* a TCM's region, where there is one */
        {0xee0a0f12, false}, /* PRRR */
        {0xee0d0f10, false}, /* FCSEIDR */
        {0xee0d0f30, false}, /* CONTEXTIDR */
        {0xee0d0f50, true},  /* TPIDRURW */
        {0xee0d0f90, true},  /* TPIDRPRW */
        {0xee0d0fb0, false}, /* not one of them */
        {0xee0e0f31, true},  /* CNTKCTL */
        {0xee0f0f10, false}, /* the core's own */
        {0xee1c0f10, true},  /* MRC: VBAR is read */
        {0xec410f02, false}, /* MCRR p15, 0, r0, r1, c2: TTBR0 */
        {0xec410f2e, true},  /* MCRR p15, 2, r0, r1, c14: CNTP_CVAL */
        {0xec510f02, true},  /* MRRC: TTBR0 is read */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned isa = 0; isa < 2; isa++) {
            struct execute x;
            struct execute_budget budget;
            uint32_t v = 0x11223344;
            begin(&x, &budget);
            x.core.profile = EXECUTE_PROFILE_AR;
            x.regs.psr = 0x1f;
            x.regs.known &= ~(UINT64_C(7) << EXECUTE_SCTLR);
            ck_assert_int_eq(execute_memory_write(&x.memory, RAM, &v, 4), BT_OK);
            ck_assert_int_eq(
                execute_step(&x, &(struct execute_insn){.address = 0x100,
                                                        .opcode = rows[i].opcode,
                                                        .isa = isa ? BT_ISA_T32 : BT_ISA_A32,
                                                        .size = 4,
                                                        .next = 0x104,
                                                        .has_next = true}),
                BT_OK);
            ck_assert_msg(execute_memory_read(&x.memory, RAM, &v, 4) == rows[i].known, "%08x",
                          rows[i].opcode);
            execute_memory_release(&x.memory);
        }
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("execute");
    unit_case(s, "execute: memory that states share", test_memory_shared);
    unit_case(s, "execute: conditions, and what contradicts the path", test_conditions);
    unit_cases(s, "execute: M-profile exception frame", test_frame, 0, 3);
    unit_cases(s, "execute: what an exception comes back to has begun", test_begun, 0, 3);
    unit_cases(s, "execute: no room for a frame", test_no_room, 0, 8);
    unit_cases(s, "execute: a branch to an even address", test_even, 0, 3);
    unit_cases(s, "execute: CONTROL of v8-M", test_control, 0, 2);
    unit_cases(s, "execute: a handler behind another one", test_tail_chain, 0, 2);
    unit_cases(s, "execute: a handler behind a return", test_return_chain, 0, 2);
    unit_cases(s, "execute: frames of which something is not known", test_frame_unknown, 0, 2);
    unit_case(s, "execute: a store of which the range is known", test_range);
    unit_case(s, "execute: both ways through an IT block", test_ways);
    unit_case(s, "execute: what is told of accesses", test_accesses);
    unit_case(s, "execute: writes of coprocessors that leave memory as it is", test_coprocessor);
    unit_case(s, "execute: a return that contradicts its frame", test_frame_contradicts);
    unit_case(s, "execute: a handler that was interrupted before it began", test_third_handler);
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
