/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests decoder/execute/execute.c, execute_alu.c, execute_memory.c and
 * execute_state.c: single rules by
 * hand. Exceptions: test_execute_m.c. Instructions at random: test_execute_differential.c.
 */
#include "tests/decoder/execute/execute_case.h"

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
        execute_memory_bound(&b, RAM + at, 4, 1, 2);
    execute_memory_forget(&b);
    ck_assert(!execute_memory_read(&b, RAM + 256, &got, 2));
    ck_assert_uint_eq(execute_memory_range(&b, RAM + 4, 4, &got), 0);
    execute_memory_bound(&b, RAM + 4, 4, 5, 6); /* what was there before says nothing any more */
    ck_assert_uint_eq(execute_memory_range(&b, RAM, 4, &got), 0);
    ck_assert_uint_eq(execute_memory_range(&b, RAM + 4, 4, &got), 6);
    ck_assert_uint_eq(got, 5);
    ck_assert_int_eq(execute_memory_write(&b, RAM + 4, NULL, 4), BT_OK);
    ck_assert_uint_eq(execute_memory_range(&b, RAM + 4, 4, &got), 0);
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

/* A halfword that was compared, and a signed byte, as they are loaded again. */
START_TEST(test_parts)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.regs.value[1] = RAM;
    ck_assert_int_eq(step(&x, 0x8808, 0x100, 0x102), BT_OK); /* LDRH r0, [r1] */
    ck_assert_int_eq(step(&x, 0x2828, 0x102, 0x104), BT_OK); /* CMP r0, #40 */
    ck_assert_int_eq(step(&x, 0xd905, 0x104, 0x112), BT_OK); /* BLS */
    ck_assert_int_eq(step(&x, 0x880a, 0x112, 0x114), BT_OK); /* LDRH r2, [r1] */
    ck_assert(!(x.regs.known & 4) && x.regs.bounded & 4);
    ck_assert_uint_eq(x.regs.range[2], 40);
    ck_assert_int_eq(step(&x, 0x780a, 0x114, 0x116), BT_OK); /* LDRB r2, [r1]: another width */
    ck_assert_uint_eq(x.regs.range[2], 0xff);
    ck_assert_int_eq(step(&x, 0xf080020f, 0x10a, 0x10e), BT_OK); /* EOR r2, r0, #15: up to 63 */
    ck_assert_int_eq(step(&x, 0x708a, 0x10e, 0x110), BT_OK);     /* STRB r2, [r1, #2] */
    ck_assert_int_eq(step(&x, 0xf9913002, 0x110, 0x114), BT_OK); /* LDRSB r3, [r1, #2] */
    ck_assert(x.regs.bounded & 8 && x.regs.value[3] == 0 && x.regs.range[3] == 63);
    ck_assert_int_eq(step(&x, 0xf9913001, 0x114, 0x118), BT_OK); /* LDRSB r3, [r1, #1] */
    ck_assert(x.regs.bounded & 8 && x.regs.value[3] == 0xffffff80 && x.regs.range[3] == 0xff);
    ck_assert_int_eq(step(&x, 0x8048, 0x118, 0x11a), BT_OK);     /* STRH r0, [r1, #2] */
    ck_assert_int_eq(step(&x, 0xf9913002, 0x11a, 0x11e), BT_OK); /* LDRSB r3, [r1, #2] */
    ck_assert_uint_eq(x.regs.range[3], 0xff);
    execute_memory_release(&x.memory);
}
END_TEST

/* `byte % 5`: a compiler that knows how great the quotient is masks it with AND. */
START_TEST(test_remainder)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    x.regs.value[1] = RAM;
    x.regs.value[3] = 0xcccccccd;
    ck_assert_int_eq(step(&x, 0x7809, 0x100, 0x102), BT_OK);     /* LDRB r1, [r1] */
    ck_assert_int_eq(step(&x, 0xfba12303, 0x102, 0x106), BT_OK); /* UMULL r2, r3, r1, r3 */
    ck_assert_int_eq(step(&x, 0xf00302fc, 0x106, 0x10a), BT_OK); /* AND r2, r3, #0xfc */
    ck_assert_int_eq(step(&x, 0xeb020293, 0x10a, 0x10e), BT_OK); /* ADD r2, r2, r3, LSR #2 */
    ck_assert_int_eq(step(&x, 0x1a89, 0x10e, 0x110), BT_OK);     /* SUBS r1, r1, r2 */
    ck_assert(x.regs.bounded & 2 && x.regs.value[1] == 0 && x.regs.range[1] == 4);
    execute_memory_release(&x.memory);
}
END_TEST

/* `length = byte & 15`, of which a compiler tests bits 3 and 2 in the byte: LDRB r0, [r1]; AND r2,
 * r0, #15; TST r0, #12. */
static void test_bits_of(struct execute *x, uint32_t branch, uint32_t opcode)
{
    x->regs.value[1] = RAM + (branch >> 8 & 1); /* what is learnt of it stays there */
    ck_assert_int_eq(step(x, 0x7808, 0x100, 0x102), BT_OK);
    ck_assert_int_eq(step(x, opcode, 0x102, 0x106), BT_OK);
    ck_assert_int_eq(step(x, 0xf0100f0c, 0x106, 0x10a), BT_OK);
    ck_assert_int_eq(step(x, branch, 0x10a, 0x118), BT_OK);
}

START_TEST(test_tested_bits)
{
    struct execute x;
    struct execute_budget budget;
    begin(&x, &budget);
    test_bits_of(&x, 0xd105, 0xf000020f); /* BNE */
    ck_assert(x.regs.value[2] == 4 && x.regs.range[2] == 11);
    ck_assert(x.regs.value[0] == 4 && x.regs.range[0] == 251);
    test_bits_of(&x, 0xd005, 0xf000020f); /* BEQ */
    ck_assert(x.regs.value[2] == 0 && x.regs.range[2] == 3);
    ck_assert(x.regs.value[0] == 0 && x.regs.range[0] == 0xf3);
    test_bits_of(&x, 0xd105, 0xf0000207); /* AND r2, r0, #7: bit 3 may be the one */
    ck_assert(x.regs.value[2] == 0 && x.regs.range[2] == 7);
    ck_assert_uint_eq(x.clobbers, 0);
    execute_memory_release(&x.memory);
}
END_TEST

/* __aeabi_uidivmod() of libgcc: r1 is r0 % r1, of r0 nothing is known. It ends in one of three
 * ways. */
static void begin_division(struct execute *x, struct execute_budget *budget, uint32_t divisor)
{
    begin(x, budget);
    x->regs.known &= ~1u;
    x->regs.value[1] = divisor;
    ck_assert_int_eq(step(x, 0xb403, 0x100, 0x102), BT_OK); /* PUSH {r0, r1} */
}

static void end_division(struct execute *x, uint32_t divisor)
{
    ck_assert_int_eq(step(x, 0xbc06, 0x200, 0x202), BT_OK);     /* POP {r1, r2} */
    ck_assert_int_eq(step(x, 0xfb02f300, 0x202, 0x206), BT_OK); /* MUL r3, r2, r0 */
    ck_assert_int_eq(step(x, 0xeba10103, 0x206, 0x20a), BT_OK); /* SUB r1, r1, r3 */
    ck_assert(x->regs.bounded & 2 && x->regs.value[1] == 0);
    ck_assert_uint_eq(x->regs.range[1], divisor - 1);
    execute_memory_release(&x->memory);
}

/* An unrolled step of it is 16 bytes; that for the highest bit comes first. */
static void shift_and_subtract(struct execute *x, unsigned shift)
{
    uint32_t by = (shift >> 2) << 12 | (shift & 3) << 6;
    ck_assert_int_eq(step(x, 0xebb00f01 | by, 0x120, 0x124), BT_OK); /* CMP r0, r1, LSL */
    ck_assert_int_eq(step(x, 0xeb420202, 0x124, 0x128), BT_OK);      /* ADC r2, r2, r2 */
    ck_assert_int_eq(step(x, 0xbf28, 0x128, 0x12a), BT_OK);          /* IT CS */
    ck_assert_int_eq(step(x, 0xeba00001 | by, 0x12a, 0x12e), BT_OK); /* SUBCS r0, r0, r1, LSL */
}

START_TEST(test_division)
{
    struct execute x;
    struct execute_budget budget;
    begin_division(&x, &budget, 6);
    ck_assert_int_eq(step(&x, 0xfab0f380, 0x102, 0x106), BT_OK); /* CLZ r3, r0 */
    ck_assert_int_eq(step(&x, 0xfab1f281, 0x106, 0x10a), BT_OK); /* CLZ r2, r1 */
    ck_assert_int_eq(step(&x, 0xeba20303, 0x10a, 0x10e), BT_OK); /* SUB r3, r2, r3 */
    ck_assert_int_eq(step(&x, 0xf1c3031f, 0x10e, 0x112), BT_OK); /* RSB r3, #31 */
    ck_assert_int_eq(step(&x, 0xa204, 0x112, 0x114), BT_OK);     /* ADR r2, 0x124 */
    ck_assert_int_eq(step(&x, 0xeb021303, 0x114, 0x118), BT_OK); /* ADD r3, r2, r3, LSL #4 */
    ck_assert_int_eq(step(&x, 0xf04f0200, 0x118, 0x11c), BT_OK); /* MOV r2, #0 */
    ck_assert_int_eq(step(&x, 0x469f, 0x11c, 0x124 + 16 * (31 - 5)), BT_OK); /* MOV pc, r3 */
    ck_assert(x.regs.bounded & 1 && x.regs.value[0] == 128 && x.regs.range[0] == 127);
    for (unsigned shift = 6; shift--;)
        shift_and_subtract(&x, shift);
    ck_assert_int_eq(step(&x, 0x4610, 0x12e, 0x130), BT_OK); /* MOV r0, r2 */
    end_division(&x, 6);

    begin_division(&x, &budget, 6);                          /* not more than the divisor */
    ck_assert_int_eq(step(&x, 0x4288, 0x102, 0x104), BT_OK); /* CMP r0, r1 */
    ck_assert_int_eq(step(&x, 0xd905, 0x104, 0x112), BT_OK); /* BLS */
    ck_assert_int_eq(step(&x, 0xbf0c, 0x112, 0x114), BT_OK); /* ITE EQ */
    ck_assert_int_eq(step(&x, 0x2001, 0x114, 0x116), BT_OK); /* MOVEQ r0, #1 */
    ck_assert_int_eq(step(&x, 0x2000, 0x116, 0x118), BT_OK); /* MOVNE r0, #0 */
    end_division(&x, 6);

    begin_division(&x, &budget, 16);                             /* a power of two */
    ck_assert_int_eq(step(&x, 0xfab1f281, 0x102, 0x106), BT_OK); /* CLZ r2, r1 */
    ck_assert_int_eq(step(&x, 0xf1c2021f, 0x106, 0x10a), BT_OK); /* RSB r2, #31 */
    ck_assert_int_eq(step(&x, 0xfa20f002, 0x10a, 0x10e), BT_OK); /* LSR r0, r2 */
    end_division(&x, 16);
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
    x.ways.flags = false;
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
    unit_case(s, "execute: a store of which the range is known", test_range);
    unit_case(s, "execute: halfwords and bytes of which the range is known", test_parts);
    unit_case(s, "execute: a remainder whose quotient is masked", test_remainder);
    unit_case(s, "execute: a division by a library", test_division);
    unit_case(s, "execute: bits that are tested in another register", test_tested_bits);
    unit_case(s, "execute: both ways through an IT block", test_ways);
    unit_case(s, "execute: what is told of accesses", test_accesses);
    unit_case(s, "execute: writes of coprocessors that leave memory as it is", test_coprocessor);
    return s;
}
