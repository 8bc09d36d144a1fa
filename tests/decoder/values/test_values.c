/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests decoder/values/values.c, values_a.c, values_build.c, values_memory.c, values_rules.c,
 * values_stack.c, values_state.c, and decoder/effect/effect_a32.c, effect_t16.c and
 * effect_t32.c.
 */
/* Reconstruction of registers and memory: single rules by hand.
 * Everything at once: tests/bench/values. */
#include "tests/decoder/values/values_path.h"

START_TEST(test_backwards)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe0810002, BT_COND_PASS); /* add r0, r1, r2 */
    add(&p, 0xe24dd010, BT_COND_PASS); /* sub sp, sp, #16 */
    p.w.final[0] = 50;
    p.w.final[1] = 20;
    p.w.final[2] = 30;
    p.w.final[13] = 0x20000100;
    struct values *r = work(&p);
    ck_assert(is_known(r, 0, 13, 0x20000110));
    ck_assert(is_known(r, 1, 0, 50));
    ck_assert(!is_known(r, 0, 0, 0));
    ck_assert(is_known(r, 0, 1, 20));
    values_free(r);
}
END_TEST

START_TEST(test_constants)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe59f0000, BT_COND_PASS); /* ldr r0, [pc]: the word at 0x8008 */
    add(&p, 0xe3a0000c, BT_COND_PASS); /* mov r0, #12 */
    add(&p, 0xe2800001, BT_COND_PASS); /* add r0, r0, #1 */
    add(&p, 0xe1a00001, BT_COND_PASS); /* mov r0, r1 */
    struct values *r = work(&p);
    struct values_answer a;
    ck_assert(values_register(r, 1, 0, &a));
    ck_assert_uint_eq(a.value, 0xc0de8008);
    ck_assert_uint_eq(a.how, VALUES_CODE);
    ck_assert_uint_eq(a.step, 0);
    ck_assert(is_known(r, 2, 0, 12));
    ck_assert(is_known(r, 3, 0, 13));
    values_free(r);
}
END_TEST

/* What is stored between a change of translation and what makes it count may be anywhere. */
START_TEST(test_translation)
{
    static const uint32_t rows[][2] = {
        {0xee010f10, 0xf57ff06f}, /* mcr SCTLR; isb */
        {0xee020f10, 0xee070f95}, /* mcr TTBR0; mcr ISB */
        {0xec410f02, 0xf57ff06f}, /* mcrr TTBR0 */
        {0xee080f17, 0xf57ff06f}, /* mcr TLBIALL without a dsb */
        {0xe1a00000, 0xe1a00000}, /* neither */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct path p;
        bool same = rows[i][0] == rows[i][1];
        begin(&p, BT_ISA_A32);
        add(&p, 0xe3a00007, BT_COND_PASS); /* mov r0, #7 */
        add(&p, rows[i][0], BT_COND_PASS);
        add(&p, 0xe58d0000, BT_COND_PASS); /* str r0, [sp] */
        add(&p, rows[i][1], BT_COND_PASS);
        add(&p, 0xe59d1000, BT_COND_PASS); /* ldr r1, [sp] */
        add(&p, 0xe3a01000, BT_COND_PASS); /* mov r1, #0 */
        p.w.final[0] = 7;
        p.w.final[13] = RAM + 16;
        p.ram[4] = same ? 7 : 9;
        struct values *r = work(&p);
        struct values_counts counts;
        values_counts(r, &counts);
        ck_assert_uint_eq(counts.conflicts, 0);
        ck_assert_int_eq(is_known(r, 5, 1, p.ram[4]), i != 3);
        struct values_answer word;
        ck_assert_int_eq(values_word(r, 3, RAM + 16, &word), same);
        values_free(r);
    }
}
END_TEST

/* The popped PC is the return address; the word that held it and SP follow. */
START_TEST(test_return_reveals)
{
    struct path p;
    begin(&p, BT_ISA_T32);
    for (unsigned i = 0; i < 4; i++)
        add(&p, 0xbf00, BT_COND_PASS); /* nop: an IT block that began before is over */
    add(&p, 0xb500, BT_COND_PASS);     /* push {lr} */
    add(&p, 0xbd00, BT_COND_PASS);     /* pop {pc} */
    p.next = 0x8400;
    add(&p, 0x46c6, BT_COND_PASS); /* mov lr, r8 */
    p.w.final[13] = RAM + 16;
    struct values *r = work(&p);
    struct values_answer a;
    ck_assert(is_known(r, 4, 14, 0x8401));
    ck_assert(values_word(r, 5, RAM + 12, &a));
    ck_assert_uint_eq(a.value, 0x8401);
    ck_assert(is_known(r, 5, 13, RAM + 12));
    values_free(r);
}
END_TEST

START_TEST(test_store_anywhere)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe1a00000, BT_COND_PASS); /* nop */
    add(&p, 0xe5810000, BT_COND_PASS); /* str r0, [r1] */
    add(&p, 0xe3a01000, BT_COND_PASS); /* mov r1, #0 */
    p.ram[3] = 77;
    struct values *r = work(&p);
    struct values_answer a;
    ck_assert(!values_word(r, 1, RAM + 12, &a));
    ck_assert(values_word(r, 2, RAM + 12, &a));
    ck_assert_uint_eq(a.value, 77);
    ck_assert(!values_word(r, 2, 0x40000000, &a));
    values_free(r);

    p.insns[2].opcode = 0xe1a02000; /* mov r2, r0: now the address is known */
    p.w.final[1] = RAM + 4;
    r = work(&p);
    ck_assert(values_word(r, 1, RAM + 12, &a));
    ck_assert(!values_word(r, 1, RAM + 4, &a));
    ck_assert(values_word(r, 2, RAM + 4, &a));
    values_free(r);
}
END_TEST

START_TEST(test_condition_unknown)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe3530000, BT_COND_PASS);    /* cmp r3, #0 */
    add(&p, 0xe3a00005, BT_COND_PASS);    /* mov r0, #5 */
    add(&p, 0x03a00006, BT_COND_UNKNOWN); /* moveq r0, #6 */
    add(&p, 0xe3a03000, BT_COND_PASS);    /* mov r3, #0 */
    add(&p, 0xe1a01000, BT_COND_PASS);    /* mov r1, r0 */
    add(&p, 0xe3a00000, BT_COND_PASS);    /* mov r0, #0 */
    add(&p, 0xe3a01000, BT_COND_PASS);    /* mov r1, #0 */
    struct values *r = work(&p);
    ck_assert(is_known(r, 2, 0, 5));
    ck_assert(!is_known(r, 3, 0, 0));
    values_free(r);

    p.w.count = 6; /* r1 is what it became: the condition passed */
    p.next -= 4;
    p.w.final[1] = 6;
    r = work(&p);
    uint32_t mask, inferred, flags = values_flags(r, 2, &mask, &inferred);
    ck_assert(is_known(r, 3, 0, 6));
    ck_assert_uint_eq(mask & 0x40000000, 0x40000000);
    ck_assert_uint_eq(flags & 0x40000000, 0x40000000);
    ck_assert_uint_eq(inferred, 0);
    values_free(r);

    p.insns[0].opcode = 0xe128f003; /* msr CPSR_f, r3: N may be set, too */
    r = work(&p);
    flags = values_flags(r, 2, &mask, &inferred);
    ck_assert(is_known(r, 3, 0, 6));
    ck_assert_uint_eq(mask & 0xc0000000, 0);
    values_free(r);
}
END_TEST

START_TEST(test_branch_implies)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe3500009, BT_COND_PASS); /* cmp r0, #9 */
    add(&p, 0x0a000006, BT_COND_PASS); /* beq */
    p.next += 28;
    add(&p, 0xe3a00000, BT_COND_PASS); /* mov r0, #0 */
    struct values *r = work(&p);
    ck_assert(is_known(r, 0, 0, 9));
    values_free(r);
    p.insns[1].cond = BT_COND_FAIL;
    p.insns[2].address = p.insns[1].address + 4;
    r = work(&p);
    ck_assert(!is_known(r, 0, 0, 0));
    values_free(r);
}
END_TEST

START_TEST(test_gap)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe3a00005, BT_COND_PASS); /* mov r0, #5 */
    add(&p, 0xe1a00000, BT_COND_PASS);
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.events[0] = (struct bt_event){.position = 102, .kind = BT_EVENT_GAP};
    p.w.event_count = 1;
    p.w.first = 100;
    p.w.final[0] = p.w.final[4] = 3;
    struct values *r = work(&p);
    struct values_answer a;
    ck_assert(is_known(r, 1, 0, 5));
    ck_assert(is_known(r, 2, 0, 3));
    ck_assert(is_known(r, 2, 4, 3));
    ck_assert(!is_known(r, 1, 4, 0));
    ck_assert(!values_word(r, 1, RAM, &a));
    ck_assert(values_word(r, 2, RAM, &a));
    values_free(r);
}
END_TEST

/* A call keeps r4 by the standard, which is an assumption; what it wrote is not known. */
START_TEST(test_call_assumed)
{
    struct path p;
    struct values_answer a;
    for (unsigned infer = 0; infer < 2; infer++) {
        begin(&p, BT_ISA_A32);
        p.w.infer = infer ? VALUES_INFER_ABI : 0;
        add(&p, 0xeb00003e, BT_COND_PASS); /* bl 0x8100 */
        p.next = 0x8100;
        add(&p, 0xe5974000, BT_COND_PASS); /* ldr r4, [r7] */
        add(&p, 0xe5964000, BT_COND_PASS); /* ldr r4, [r6] */
        add(&p, 0xe12fff1e, BT_COND_PASS); /* bx lr */
        p.next = 0x8004;
        add(&p, 0xe1a00000, BT_COND_PASS);
        p.w.final[4] = 44;
        p.w.final[6] = p.w.final[7] = 0x40000000;
        struct values *r = work(&p);
        ck_assert(is_known(r, 1, 14, 0x8004));
        ck_assert_int_eq(values_register(r, 0, 4, &a), infer);
        if (infer) {
            ck_assert_uint_eq(a.value, 44);
            ck_assert(a.inferred);
        }
        ck_assert(!is_known(r, 2, 4, 0));
        ck_assert(values_register(r, 4, 4, &a) && !a.inferred);
        values_free(r);
    }
}
END_TEST

/* SP comes from memory meanwhile: it is somebody else who goes on at that place. */
START_TEST(test_other_stack)
{
    static const uint32_t moves[] = {0xe1a0d003, 0xe59fd000,
                                     0xe1a0d00b}; /* mov sp, r3; ldr; mov sp, r11 */
    for (unsigned i = 0; i < 3; i++) {
        struct path p;
        begin(&p, BT_ISA_A32);
        p.w.infer = VALUES_INFER_ALL;
        add(&p, 0xeb00003e, BT_COND_PASS); /* bl 0x8100 */
        p.next = 0x8100;
        add(&p, 0xe5974000, BT_COND_PASS); /* ldr r4, [r7] */
        add(&p, 0xe28db000, BT_COND_PASS); /* add r11, sp, #0 */
        add(&p, moves[i], BT_COND_PASS);
        add(&p, 0xe12fff1e, BT_COND_PASS); /* bx lr */
        p.next = 0x8004;
        add(&p, 0xe1a00000, BT_COND_PASS);
        p.w.final[4] = 44;
        p.w.final[7] = 0x40000000;
        struct values *r = work(&p);
        ck_assert(is_known(r, 0, 4, 44) == (i == 2)); /* that was this stack's */
        values_free(r);
    }
}
END_TEST

/*
 * SP moves by what nobody knows, past a word that was saved, and comes back below it: other
 * registers were pushed there meanwhile.
 */
START_TEST(test_saved_below)
{
    static const uint32_t moves[][2] = {
        {0xe04dd001, 0xe08dd002}, /* sub sp, sp, r1; add sp, sp, r2 */
        {0xe28b0000, 0xe08dd002}, /* add r0, r11, #0; add sp, sp, r2 */
        {0xe28b0000, 0x128dd008}, /* add r0, r11, #0; addne sp, sp, #8 */
        {0xe28b0000, 0x18bd0300}, /* add r0, r11, #0; popne {r8, r9} */
    };
    for (unsigned i = 0; i < 4; i++) {
        struct path p;
        begin(&p, BT_ISA_A32);
        p.w.infer = VALUES_INFER_ALL;
        add(&p, 0xe3a0d202, BT_COND_PASS); /* mov sp, #0x20000000 */
        add(&p, 0xe28dd040, BT_COND_PASS); /* add sp, sp, #64 */
        add(&p, 0xe92d4010, BT_COND_PASS); /* push {r4, lr} */
        for (unsigned k = 0; k < 2; k++)
            add(&p, moves[i][k], moves[i][k] >> 28 == 1 ? BT_COND_UNKNOWN : BT_COND_PASS);
        add(&p, 0xe92d0060, BT_COND_PASS); /* push {r5, r6} */
        add(&p, 0xe3a0d202, BT_COND_PASS); /* mov sp, #0x20000000 */
        add(&p, 0xe28dd038, BT_COND_PASS); /* add sp, sp, #56 */
        add(&p, 0xe8bd0180, BT_COND_PASS); /* pop {r7, r8} */
        add(&p, 0xe5832000, BT_COND_PASS); /* str r2, [r3] */
        for (unsigned reg = 0; reg < 4; reg++)
            add(&p, 0xe3a00000 | reg << 12, BT_COND_PASS);
        add(&p, 0xe3a07000, BT_COND_PASS); /* mov r7, #0 */
        p.w.final[4] = 44;
        p.w.final[13] = RAM + 64;
        struct values *r = work(&p);
        struct values_answer a;
        ck_assert(!values_register(r, 9, 7, &a));
        values_free(r);
    }
}
END_TEST

/* With one stack what is popped from an unknown place may be any that was saved. */
START_TEST(test_saved_popped)
{
    static const uint32_t insns[] = {
        0xbf00,     0xbf00, 0xbf00, 0xbf00, 0xf04f5000, /* nop; mov r0, #0x20000000 */
        0x4685,     0xb010, 0xb510,                     /* mov sp, r0; add sp, #64; push {r4, lr} */
        0xebad0d01, 0xbc60, 0xb460, /* sub sp, sp, r1; pop {r5, r6}; push {r5, r6} */
        0x4685,     0xb00e, 0xbcc0, /* mov sp, r0; add sp, #56; pop {r6, r7} */
        0x601a,     0x2100, 0x2200, 0x2300, 0x2600}; /* str r2, [r3]; movs r1-r3, r6, #0 */
    struct path p;
    begin(&p, BT_ISA_T32);
    p.w.infer = VALUES_INFER_ALL;
    p.w.m_profile = p.w.m_one_stack = true;
    for (unsigned i = 0; i < sizeof insns / sizeof *insns; i++)
        add(&p, insns[i], BT_COND_PASS);
    p.w.final[0] = RAM;
    p.w.final[4] = 44;
    p.w.final[13] = RAM + 64;
    struct values *r = work(&p);
    struct values_answer a;
    ck_assert(is_known(r, 13, 13, RAM + 56));
    ck_assert(!values_register(r, 14, 6, &a));
    values_free(r);
}
END_TEST

/* An interrupt gives everything back, a service r4-r11 and SP. */
START_TEST(test_service)
{
    for (unsigned number = 11; number <= 15; number += 4) {
        struct path p;
        begin(&p, BT_ISA_T32);
        p.w.infer = VALUES_INFER_ALL;
        p.w.m_profile = true;
        for (unsigned i = 0; i < 5; i++)
            add(&p, 0xbf00, BT_COND_PASS);
        p.next = 0x8200;
        add(&p, 0x4770, BT_COND_PASS); /* bx lr */
        p.next = 0x800a;
        add(&p, 0xbf00, BT_COND_PASS);
        p.events[0] = (struct bt_event){.position = 5,
                                        .kind = BT_EVENT_EXCEPTION,
                                        .u.exception = {.number = (uint16_t)number,
                                                        .return_address = 0x800a,
                                                        .has_return = true,
                                                        .m_profile = true}};
        p.events[1] = (struct bt_event){.position = 6, .kind = BT_EVENT_EXCEPTION_RET};
        p.w.event_count = 2;
        p.w.final[0] = 1;
        p.w.final[4] = 4;
        struct values *r = work(&p);
        ck_assert(is_known(r, 5, 4, 4));
        ck_assert(is_known(r, 4, 13, 0));
        ck_assert(is_known(r, 4, 0, 1) == (number == 15));
        values_free(r);
    }
}
END_TEST

/* A bit by its second address is one of its word; an address that is no memory may be a second one.
 */
START_TEST(test_second_addresses)
{
    struct path p;
    struct values_counts c;
    for (unsigned bit_band = 0; bit_band < 2; bit_band++) {
        begin(&p, BT_ISA_A32);
        p.w.m_profile = true;
        p.w.m_bit_band = bit_band;
        add(&p, 0xe5801000, BT_COND_PASS); /* str r1, [r0] */
        add(&p, 0xe582100c, BT_COND_PASS); /* str r1, [r2, #12] */
        add(&p, 0xe5903000, BT_COND_PASS); /* ldr r3, [r0] */
        add(&p, 0xe3a03000, BT_COND_PASS); /* mov r3, #0 */
        p.w.final[0] = RAM;
        p.w.final[1] = 5;
        p.w.final[2] = 0x22000000;
        p.ram[0] = 13;
        struct values *r = work(&p);
        ck_assert(is_known(r, 3, 3, 13));
        values_counts(r, &c);
        ck_assert_uint_eq(c.conflicts, 0);
        values_free(r);
    }
}
END_TEST

/* A store to one of four words, nobody knows which: all others are as they were. */
START_TEST(test_store_among)
{
    struct path p;
    struct values_answer a;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe5940000, BT_COND_PASS); /* ldr r0, [r4]: a device */
    add(&p, 0xe2001003, BT_COND_PASS); /* and r1, r0, #3 */
    add(&p, 0xe7832101, BT_COND_PASS); /* str r2, [r3, r1, lsl #2] */
    add(&p, 0xe3a00000, BT_COND_PASS); /* mov r0, #0 */
    add(&p, 0xe3a01000, BT_COND_PASS); /* mov r1, #0 */
    p.w.final[3] = RAM + 16;
    p.w.final[4] = 0x40000000;
    for (uint32_t i = 0; i < 8; i++)
        p.ram[2 + i] = 1000 + i;
    struct values *r = work(&p);
    ck_assert(!is_known(r, 2, 1, 0));
    for (uint32_t i = 0; i < 8; i++)
        for (size_t at = 0; at <= p.w.count; at++) {
            bool among = i >= 2 && i < 6;
            ck_assert_int_eq(values_word(r, at, RAM + 8 + 4 * i, &a), !among || at > 2);
            ck_assert(!a.how || a.value == 1000 + i);
        }
    values_free(r);
}
END_TEST

/* VPUSH and VPOP move SP and write what nobody knows. */
START_TEST(test_float_stack)
{
    struct path p;
    struct values_answer a;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe58d0000, BT_COND_PASS); /* str r0, [sp] */
    add(&p, 0xe58d0004, BT_COND_PASS); /* str r0, [sp, #4] */
    add(&p, 0xed2d8b02, BT_COND_PASS); /* vpush {d8} */
    add(&p, 0xecbd8b02, BT_COND_PASS); /* vpop {d8} */
    add(&p, 0xed8d0a00, BT_COND_PASS); /* vstr s0, [sp] */
    p.w.final[0] = 7;
    p.w.final[13] = RAM + 16;
    p.ram[4] = 1;
    struct values *r = work(&p);
    ck_assert(is_known(r, 3, 13, RAM + 8));
    ck_assert(is_known(r, 0, 13, RAM + 16));
    ck_assert(values_word(r, 4, RAM + 16, &a) && a.value == 7);
    ck_assert(values_word(r, 5, RAM + 20, &a) && a.value == 7);
    ck_assert(values_word(r, 5, RAM + 16, &a) && a.value == 1);
    ck_assert(!values_word(r, 2, RAM + 8, &a));
    values_free(r);
}
END_TEST

START_TEST(test_exception_a)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe1a00000, BT_COND_PASS);
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.events[0] =
        (struct bt_event){.position = 1, .kind = BT_EVENT_EXCEPTION, .u.exception.number = 14};
    p.w.event_count = 1;
    p.w.final[0] = 9;
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 13, 0));
    ck_assert(!is_known(r, 0, 13, 0));
    ck_assert(!is_known(r, 0, 14, 0));
    ck_assert(is_known(r, 0, 0, 9));
    values_free(r);
}
END_TEST

/* A data abort: the load is come back to, so it has not loaded. */
START_TEST(test_aborted)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe3a00005, BT_COND_PASS); /* mov r0, #5 */
    add(&p, 0xe4910004, BT_COND_PASS); /* ldr r0, [r1], #4 */
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.events[0] = (struct bt_event){.position = 2,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8004, .has_return = true}};
    p.w.event_count = 1;
    p.w.final[0] = 5;
    p.w.final[1] = RAM;
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 0, 5));
    ck_assert(is_known(r, 2, 1, RAM));
    ck_assert(is_known(r, 1, 1, RAM));
    values_free(r);
    p.w.v4t = true; /* there the base may have been changed */
    r = work(&p);
    ck_assert(!is_known(r, 1, 1, 0));
    values_free(r);
}
END_TEST

/* Debug state in the middle loses everything, the one that the core is in loses nothing. */
START_TEST(test_debug_entry)
{
    struct path p;
    for (unsigned at = 1; at < 3; at++) {
        begin(&p, BT_ISA_A32);
        add(&p, 0xe1a00000, BT_COND_PASS);
        add(&p, 0xe1a00000, BT_COND_PASS);
        p.events[0] =
            (struct bt_event){.position = at, .kind = BT_EVENT_EXCEPTION, .u.exception.number = 1};
        p.w.event_count = 1;
        p.w.final[4] = 4;
        struct values *r = work(&p);
        ck_assert(is_known(r, 2, 4, 4));
        ck_assert(is_known(r, 0, 4, 4) == (at == 2));
        values_free(r);
    }
}
END_TEST

START_TEST(test_bytes)
{
    struct path p;
    for (unsigned big = 0; big < 2; big++) {
        begin(&p, BT_ISA_A32);
        p.w.big_endian = big;
        add(&p, 0xe5d10001, BT_COND_PASS); /* ldrb r0, [r1, #1] */
        add(&p, 0xe3a00000, BT_COND_PASS); /* mov r0, #0 */
        p.w.final[1] = RAM;
        p.ram[0] = 0x11223344;
        struct values *r = work(&p);
        ck_assert(is_known(r, 1, 0, big ? 0x22 : 0x33));
        values_free(r);
    }
}
END_TEST

START_TEST(test_data_trace)
{
    struct path p;
    begin(&p, BT_ISA_A32);
    add(&p, 0xe5910000, BT_COND_PASS); /* ldr r0, [r1] */
    add(&p, 0xe3a00000, BT_COND_PASS);
    add(&p, 0xe3a01000, BT_COND_PASS);
    p.events[0] = (struct bt_event){.position = 1,
                                    .kind = BT_EVENT_DATA,
                                    .u.data = {.back = 1,
                                               .address = 0x40001000,
                                               .value = 0x1234,
                                               .bytes = 4,
                                               .has_address = true,
                                               .has_value = true}};
    p.w.event_count = 1;
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 0, 0x1234));
    ck_assert(is_known(r, 0, 1, 0x40001000));
    values_free(r);
}
END_TEST

/* Words of RAM at the end of a window are the present ones only where it ends at the halt. */
START_TEST(test_earlier)
{
    for (int earlier = 0; earlier < 2; earlier++) {
        struct path p;
        begin(&p, BT_ISA_A32);
        add(&p, 0xe5910000, BT_COND_PASS); /* ldr r0, [r1] */
        add(&p, 0xe3a00000, BT_COND_PASS); /* mov r0, #0 */
        add(&p, 0xe59f2000, BT_COND_PASS); /* ldr r2, [pc]: the word at 0x8010 */
        add(&p, 0xe3a02000, BT_COND_PASS); /* mov r2, #0 */
        p.w.earlier = earlier;
        p.w.final[1] = RAM + 8;
        p.ram[2] = 0x1234;
        struct values *r = work(&p);
        struct values_answer a;
        ck_assert_int_eq(is_known(r, 1, 0, 0x1234), !earlier);
        ck_assert_int_eq(values_word(r, 0, RAM + 8, &a), !earlier);
        ck_assert_int_eq(values_word(r, 4, RAM + 8, &a), !earlier);
        ck_assert(is_known(r, 3, 2, 0xc0de8010)); /* constant at any time */
        ck_assert(values_word(r, 0, 0x8010, &a) && a.value == 0xc0de8010);
        values_free(r);
    }
}
END_TEST

START_TEST(test_refused)
{
    struct path p;
    struct values *r;
    begin(&p, BT_ISA_A32);
    ck_assert_int_eq(values_begin(&r, &p.w), BT_ERR_INVAL);
    add(&p, 0, BT_COND_PASS)->isa = BT_ISA_A64;
    ck_assert_int_eq(values_begin(&r, &p.w), BT_ERR_UNSUPPORTED);
    ck_assert_ptr_null(r);
    values_free(r);
}
END_TEST

/* SP of the M profile has no bits 1 and 0: what they were in the register is an assumption. */
START_TEST(test_stack_bits)
{
    for (unsigned i = 0; i < 4; i++) {
        struct path p;
        struct values_answer a;
        bool m_profile = i & 1, infer = i & 2;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = m_profile;
        p.w.infer = infer ? VALUES_INFER_ALL : 0;
        for (unsigned k = 0; k < 4; k++)
            add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0x4685, BT_COND_PASS);     /* mov sp, r0 */
        add(&p, 0xf2400043, BT_COND_PASS); /* movw r0, #0x43 */
        add(&p, 0x4685, BT_COND_PASS);
        add(&p, 0xaf02, BT_COND_PASS); /* add r7, sp, #8 */
        add(&p, 0x46bd, BT_COND_PASS); /* mov sp, r7 */
        add(&p, 0x2700, BT_COND_PASS); /* movs r7, #0 */
        p.w.final[0] = 0x43;
        p.w.final[13] = m_profile ? 0x48 : 0x4b;
        struct values *r = work(&p);
        ck_assert(is_known(r, 7, 13, m_profile ? 0x40 : 0x43));
        ck_assert(is_known(r, 9, 7, m_profile ? 0x48 : 0x4b));
        values_free(r);
        p.w.count = 5;
        p.next = p.insns[5].address;
        p.insns[4].opcode = 0x46a5;    /* mov sp, r4 */
        add(&p, 0x2400, BT_COND_PASS); /* movs r4, #0 */
        p.w.final[13] = 0x48;
        r = work(&p);
        ck_assert_int_eq(values_register(r, 4, 4, &a), !m_profile || infer);
        ck_assert_int_eq(a.inferred, m_profile && infer);
        values_free(r);
    }
}
END_TEST

/* A store to nobody knows where hits no register that is saved, but others that are on the stack.
 */
START_TEST(test_not_saved)
{
    struct path p;
    struct values_answer a;
    begin(&p, BT_ISA_T32);
    p.w.infer = VALUES_INFER_ALL;
    for (unsigned k = 0; k < 4; k++)
        add(&p, 0xbf00, BT_COND_PASS);
    add(&p, 0xf000f87a, BT_COND_PASS); /* bl 0x8100 */
    p.next = 0x8100;
    add(&p, 0x4770, BT_COND_PASS); /* bx lr */
    p.next = 0x800c;
    add(&p, 0xb411, BT_COND_PASS);     /* push {r0, r4} */
    add(&p, 0x6011, BT_COND_PASS);     /* str r1, [r2] */
    add(&p, 0x2200, BT_COND_PASS);     /* movs r2, #0 */
    add(&p, 0xe89d0011, BT_COND_PASS); /* ldm sp, {r0, r4} */
    p.w.final[0] = p.ram[8] = 5;
    p.w.final[4] = p.ram[9] = 6;
    p.w.final[13] = RAM + 0x20;
    p.w.final[14] = 0x800d;
    struct values *r = work(&p);
    ck_assert(values_word(r, 7, RAM + 0x24, &a) && a.value == 6);
    ck_assert(!values_word(r, 7, RAM + 0x20, &a));
    ck_assert(values_word(r, 9, RAM + 0x20, &a) && a.value == 5);
    values_free(r);
}
END_TEST

/* What the call would have to give back contradicts itself: nothing that is assumed is left. */
START_TEST(test_contradiction)
{
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        struct path p;
        struct values_answer a;
        struct values_counts c;
        begin(&p, BT_ISA_A32);
        p.w.infer = VALUES_INFER_ALL;
        add(&p, 0xe1a00000, BT_COND_PASS);
        add(&p, 0xe2846001, BT_COND_PASS); /* add r6, r4, #1 */
        add(&p, 0xeb00003c, BT_COND_PASS); /* bl 0x8100 */
        uint32_t back = p.next;
        p.next = 0x8100;
        add(&p, 0xe3a04001, BT_COND_PASS); /* mov r4, #1 */
        p.w.final[6] = keeps ? 2 : 7;
        add(&p, 0xe3a06000 | p.w.final[6], BT_COND_PASS); /* mov r6, ... */
        add(&p, 0xe12fff1e, BT_COND_PASS);                /* bx lr */
        p.next = back;
        add(&p, 0xe1a00000, BT_COND_PASS); /* nop */
        p.w.final[4] = 1;
        p.w.final[14] = back;
        p.w.final[8] = 8;
        struct values *r = work(&p);
        values_counts(r, &c);
        ck_assert_uint_eq(c.conflicts, 0);
        ck_assert_int_eq(c.inferred_conflicts != 0, !keeps);
        ck_assert_uint_eq(c.inferred_at, !keeps);
        ck_assert_int_eq(values_register(r, 2, 6, &a), keeps);
        ck_assert(is_known(r, 0, 8, 8) && is_known(r, 5, 4, 1));
        values_free(r);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("values");
    unit_case(s, "values: halted registers reach back to their last write", test_backwards);
    unit_case(s, "values: immediates and literals", test_constants);
    unit_case(s, "values: stores while translation changes", test_translation);
    unit_case(s, "values: a return reveals LR and the stack", test_return_reveals);
    unit_case(s, "values: a store to an unknown address", test_store_anywhere);
    unit_case(s, "values: a condition that the trace does not tell", test_condition_unknown);
    unit_case(s, "values: what a branch implies", test_branch_implies);
    unit_case(s, "values: nothing crosses a gap", test_gap);
    unit_case(s, "values: calls by the standard are marked", test_call_assumed);
    unit_case(s, "values: calls that another stack comes between", test_other_stack);
    unit_case(s, "values: what was saved below a stack pointer that is not known",
              test_saved_below);
    unit_case(s, "values: what a pop from an unknown place gives back", test_saved_popped);
    unit_case(s, "values: what a service may change", test_service);
    unit_case(s, "values: second addresses", test_second_addresses);
    unit_case(s, "values: a store to one of a few words", test_store_among);
    unit_case(s, "values: floating-point registers on the stack", test_float_stack);
    unit_case(s, "values: A-profile exception has its own SP and LR", test_exception_a);
    unit_case(s, "values: an instruction that aborted", test_aborted);
    unit_case(s, "values: Debug state", test_debug_entry);
    unit_case(s, "values: bytes in both orders", test_bytes);
    unit_case(s, "values: data trace", test_data_trace);
    unit_case(s, "values: a window that ends before the halt", test_earlier);
    unit_case(s, "values: windows that are refused", test_refused);
    unit_case(s, "values: M profile, bits that SP has not", test_stack_bits);
    unit_case(s, "values: pushed, but not saved", test_not_saved);
    unit_case(s, "values: assumptions that contradict each other", test_contradiction);
    return s;
}
