/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests decoder/values/values.c, values_a.c, values_build.c, values_m.c, values_memory.c,
 * values_rules.c, values_stack.c, values_state.c, and decoder/effect/effect_a32.c, effect_t16.c and
 * effect_t32.c.
 */
/* Reconstruction of registers and memory: single rules by hand.
 * Everything at once: tests/bench/values. */
#include "decoder/values/values.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define RAM 0x20000000u

struct path {
    struct values_insn insns[32];
    struct bt_event events[4];
    struct values_window w;
    uint32_t ram[64]; /* present, from RAM */
    uint32_t next;
};

static enum values_memory read_ram(void *context, uint32_t address, uint32_t *value)
{
    const struct path *p = context;
    if (address - RAM < sizeof p->ram) {
        *value = p->ram[(address - RAM) / 4];
        return VALUES_MEMORY_RAM;
    }
    if (address - 0x8000 < 0x1000) {
        *value = 0xc0de0000u | address;
        return VALUES_MEMORY_CONST;
    }
    return VALUES_MEMORY_OTHER;
}

static void begin(struct path *p, enum bt_isa isa)
{
    memset(p, 0, sizeof *p);
    p->next = 0x8000;
    p->w = (struct values_window){.insns = p->insns,
                                  .events = p->events,
                                  .read = read_ram,
                                  .context = p,
                                  .final_isa = (uint8_t)isa};
}

static struct values_insn *add(struct path *p, uint32_t opcode, enum bt_cond cond)
{
    struct values_insn *i = &p->insns[p->w.count++];
    bool t32 = p->w.final_isa == BT_ISA_T32;
    *i = (struct values_insn){.address = p->next,
                              .opcode = opcode,
                              .isa = p->w.final_isa,
                              .size = t32 && opcode < 0x10000 ? 2 : 4,
                              .cond = (uint8_t)cond};
    p->next += i->size;
    return i;
}

/* Worked out in the smallest slices: the same. */
static void compare_slices(const struct path *p, const struct values *whole)
{
    struct values *r = NULL;
    struct values_counts a, b;
    ck_assert_int_eq(values_begin(&r, &p->w), 0);
    for (bool done = false; !done;)
        ck_assert_int_eq(values_work(r, 1, &done), 0);
    values_counts(whole, &a);
    values_counts(r, &b);
    ck_assert(a.values == b.values && a.rules == b.rules && a.rounds == b.rounds);
    for (size_t at = 0; at <= p->w.count; at++)
        for (unsigned reg = 0; reg < VALUES_REGS; reg++) {
            struct values_answer x, y;
            ck_assert_int_eq(values_register(whole, at, reg, &x), values_register(r, at, reg, &y));
            ck_assert(x.value == y.value && x.how == y.how && x.inferred == y.inferred);
        }
    values_free(r);
}

/* The core halted behind the last instruction; all registers are known. */
static struct values *work(struct path *p)
{
    struct values *r = NULL;
    p->w.final[15] = p->next;
    p->w.final_known = 0xffff;
    bool done;
    ck_assert_int_eq(values_begin(&r, &p->w), 0);
    ck_assert_int_eq(values_work(r, SIZE_MAX, &done), 0);
    compare_slices(p, r);
    return r;
}

static bool is_known(const struct values *r, size_t at, unsigned reg, uint32_t value)
{
    struct values_answer a;
    bool known = values_register(r, at, reg, &a);
    if (known)
        ck_assert_uint_eq(a.value, value);
    return known;
}

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
    add(&p, 0xe3a00005, BT_COND_PASS);    /* mov r0, #5 */
    add(&p, 0x03a00006, BT_COND_UNKNOWN); /* moveq r0, #6 */
    add(&p, 0xe1a01000, BT_COND_PASS);    /* mov r1, r0 */
    add(&p, 0xe3a00000, BT_COND_PASS);    /* mov r0, #0 */
    add(&p, 0xe3a01000, BT_COND_PASS);    /* mov r1, #0 */
    struct values *r = work(&p);
    ck_assert(is_known(r, 1, 0, 5));
    ck_assert(!is_known(r, 2, 0, 0));
    values_free(r);

    p.w.count = 4; /* r1 is what it became: the condition passed */
    p.next -= 4;
    p.w.final[1] = 6;
    r = work(&p);
    uint32_t mask, inferred, flags = values_flags(r, 1, &mask, &inferred);
    ck_assert(is_known(r, 2, 0, 6));
    ck_assert_uint_eq(mask & 0x40000000, 0x40000000);
    ck_assert_uint_eq(flags & 0x40000000, 0x40000000);
    ck_assert_uint_eq(inferred, 0);
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

/* ARMv7-M: the frame that an exception pushed has LR, xPSR bit 9 tells of the alignment. */
START_TEST(test_exception_frame)
{
    struct path p;
    struct values_answer a;
    begin(&p, BT_ISA_T32);
    p.w.m_profile = p.w.m_one_stack = true;
    add(&p, 0x3101, BT_COND_PASS);
    add(&p, 0x3101, BT_COND_PASS);
    p.next = 0x8200;
    add(&p, 0x3201, BT_COND_PASS); /* adds r2, #1 */
    p.events[0] = (struct bt_event){.position = 2,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8004, .has_return = true}};
    p.w.event_count = 1;
    p.w.final[13] = RAM + 16;
    p.w.final[14] = 0xfffffff9;
    p.ram[4] = 1000;
    p.ram[9] = 0x8111;      /* LR */
    p.ram[11] = 0x01000200; /* xPSR: SP was moved by 4 */
    struct values *r = work(&p);
    ck_assert(is_known(r, 2, 13, RAM + 16));
    ck_assert(!is_known(r, 0, 0, 0)); /* a first instruction may be of an IT block */
    ck_assert(values_word(r, 2, RAM + 16 + 24, &a));
    values_free(r);

    /* With the IT state known the frame tells the registers from before. */
    begin(&p, BT_ISA_A32);
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.w.m_profile = p.w.m_one_stack = true;
    p.events[0] = (struct bt_event){.position = 1,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8004, .has_return = true}};
    p.w.event_count = 1;
    add(&p, 0xe1a00000, BT_COND_PASS);
    p.w.final[13] = RAM + 16;
    p.w.final[14] = 0xfffffff9;
    p.ram[4] = 1000;
    p.ram[9] = 0x8111;
    p.ram[10] = 0x8004;
    p.ram[11] = 0x01000200;
    r = work(&p);
    ck_assert(is_known(r, 0, 13, RAM + 16 + 0x24));
    ck_assert(is_known(r, 0, 0, 1000));
    ck_assert(is_known(r, 0, 14, 0x8111));
    struct values_counts c;
    values_counts(r, &c);
    ck_assert_uint_eq(c.conflicts, 0);
    values_free(r);
}
END_TEST

/* The instruction in front has used floating-point registers: there is room for them. Otherwise LR
 * tells; `mov lr, r0` leaves nothing of it. */
START_TEST(test_exception_floats)
{
    static const struct {
        uint32_t before, after, lr, size;
    } cases[4] = {{0xee300a20, 0x4686, 0, 0x68},          /* vadd.f32 s0, s0, s1 */
                  {0xf3af8000, 0x4686, 0, 0},             /* nop.w */
                  {0xf3af8000, 0x3201, 0xfffffff9, 0x20}, /* adds r2, #1 */
                  {0xf3af8000, 0x3201, 0xffffffe9, 0x68}};
    for (unsigned i = 0; i < 4; i++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = p.w.m_fpu = true;
        for (unsigned k = 0; k < 8; k++) /* the IT state is known */
            add(&p, 0xbf00, BT_COND_PASS);
        add(&p, cases[i].before, BT_COND_PASS);
        p.next = 0x8200;
        add(&p, cases[i].after, BT_COND_PASS);
        p.events[0] =
            (struct bt_event){.position = 9,
                              .kind = BT_EVENT_EXCEPTION,
                              .u.exception = {.return_address = 0x8014, .has_return = true}};
        p.w.event_count = 1;
        p.w.final[13] = RAM;
        p.w.final[14] = cases[i].lr;
        p.ram[7] = 0x01000000; /* xPSR */
        struct values *r = work(&p);
        ck_assert(is_known(r, 9, 13, RAM));
        ck_assert_int_eq(is_known(r, 8, 13, RAM + cases[i].size), cases[i].size != 0);
        ck_assert_int_eq(values_word(r, 8, RAM + 0x18, &a), 0);
        values_free(r);
    }
}
END_TEST

/* ARMv7-M: a return that the next exception takes over leaves the frame where it is. An ETMv4 tells
 * that return, and the halt behind it all. */
static void check_chained(bool etmv4)
{
    struct path p;
    begin(&p, BT_ISA_T32);
    p.w.m_profile = p.w.m_one_stack = true;
    for (unsigned i = 0; i < 8; i++)
        add(&p, 0xbf00, BT_COND_PASS);
    p.next = 0x8200;
    add(&p, 0x4770, BT_COND_PASS); /* bx lr */
    p.next = 0x8300;
    add(&p, 0x3201, BT_COND_PASS); /* adds r2, #1 */
    p.events[0] = (struct bt_event){.position = 8,
                                    .kind = BT_EVENT_EXCEPTION,
                                    .u.exception = {.return_address = 0x8010, .has_return = true}};
    p.w.event_count = 1;
    if (etmv4)
        p.events[p.w.event_count++] =
            (struct bt_event){.position = 9, .kind = BT_EVENT_EXCEPTION_RET};
    p.events[p.w.event_count++] =
        (struct bt_event){.position = 9,
                          .kind = BT_EVENT_EXCEPTION,
                          .u.exception = {.number = 15, .m_profile = true}};
    if (etmv4)
        p.events[p.w.event_count++] =
            (struct bt_event){.position = 10, .kind = BT_EVENT_EXCEPTION, .u.exception.number = 1};
    p.w.final[13] = RAM;
    p.w.final[14] = 0xfffffff9;
    p.ram[7] = 0x01000000;
    struct values *r = work(&p);
    ck_assert(is_known(r, 9, 13, RAM));
    ck_assert(is_known(r, 8, 13, RAM));
    ck_assert(is_known(r, 7, 13, RAM + 0x20));
    ck_assert(is_known(r, 8, 14, 0xfffffff9));
    values_free(r);
}

START_TEST(test_exception_chained)
{
    check_chained(false);
    check_chained(true);
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

/* A scheduler: PendSV keeps one task's PSP in memory and takes another's from there. */
START_TEST(test_two_stacks)
{
    static const uint32_t handler[] = {
        0xf3ef8009, 0xf2400200, 0xf2c20200, /* mrs r0, psp; movw r2, #0; movt r2, #0x2000 */
        0xe9200ff0, 0x6010,     0x6850,  /* stmdb r0!, {r4-r11}; str r0, [r2]; ldr r0, [r2, #4] */
        0xe8b00ff0, 0xf3808809, 0x4770}; /* ldmia r0!, {r4-r11}; msr psp, r0; bx lr */
    for (unsigned told = 0; told < 2; told++) {
        struct path p;
        uint32_t stacks[2];
        bool process;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = true;
        for (unsigned i = 0; i < 8; i++)
            add(&p, 0xbf00, BT_COND_PASS);
        p.next = 0x8200;
        for (unsigned i = 0; i < sizeof handler / sizeof *handler; i++)
            add(&p, handler[i], BT_COND_PASS);
        p.events[0] = (struct bt_event){
            .position = 8,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 14, .return_address = 0x8010, .has_return = true, .m_profile = true}};
        p.events[1] = (struct bt_event){.position = 17, .kind = BT_EVENT_EXCEPTION_RET};
        p.w.event_count = 2;
        p.next = 0x8010; /* where the first one was, too */
        add(&p, 0xbf00, BT_COND_PASS);
        p.ram[0] = RAM + 0x40;  /* top of the first task */
        p.ram[1] = RAM + 0x80;  /* and of the other one */
        p.ram[31] = 0x01000000; /* their status */
        p.ram[47] = 0x01000000;
        p.w.final[13] = p.w.final_psp = RAM + 0xc0;
        p.w.final_msp = RAM + 0xf0;
        p.w.final_stacks_known = told;
        p.w.final_cpsr = 0x01000000;
        p.w.final_cpsr_known = true;
        struct values *r = work(&p);
        ck_assert_int_eq(is_known(r, 17, 13, RAM + 0xc0), 1);
        ck_assert_int_eq(is_known(r, 16, 13, RAM + 0xf0), told);
        ck_assert_int_eq(is_known(r, 16, 14, 0xfffffffd), told);
        ck_assert_int_eq(is_known(r, 7, 13, RAM + 0x80), told);
        ck_assert_uint_eq(values_stacks(r, 7, stacks, &process), told ? 7 : 0);
        ck_assert(!told || (process && stacks[0] == RAM + 0xf0 && stacks[1] == RAM + 0x80));
        ck_assert_uint_eq(values_stacks(r, 15, stacks, &process), told ? 7 : 6);
        ck_assert(!process && (!told || stacks[0] == RAM + 0xf0) && stacks[1] == RAM + 0x60);
        values_free(r);
    }
}
END_TEST

/* A handler within a handler: what LR is in Secure state is not taken for that of the other one. */
START_TEST(test_nonsecure)
{
    for (unsigned nonsecure = 0; nonsecure < 2; nonsecure++) {
        struct path p;
        struct values_answer a;
        begin(&p, BT_ISA_T32);
        p.w.m_profile = p.w.m_one_stack = true;
        p.w.m_nonsecure = nonsecure;
        for (unsigned i = 0; i < 3; i++) {
            p.next = 0x8000 + 0x100 * i;
            add(&p, 0xbf00, BT_COND_PASS);
        }
        add(&p, 0x2001, BT_COND_PASS); /* movs r0, #1 */
        add(&p, 0x4686, BT_COND_PASS); /* mov lr, r0 */
        for (unsigned i = 0; i < 2; i++)
            p.events[i] = (struct bt_event){.position = i + 1,
                                            .kind = BT_EVENT_EXCEPTION,
                                            .u.exception = {.number = 15 - i,
                                                            .return_address = 0x8002 + 0x100 * i,
                                                            .has_return = true,
                                                            .m_profile = true}};
        p.w.event_count = 2;
        struct values *r = work(&p);
        ck_assert_int_eq(is_known(r, 3, 14, 0xfffffff1), !nonsecure);
        ck_assert_int_eq(values_register(r, 3, 14, &a), !nonsecure);
        values_free(r);
    }
}
END_TEST

/* The first instructions may be of an IT block. */
#define IT_KNOWN 5

static void begin_with_it_state(struct path *p)
{
    begin(p, BT_ISA_T32);
    p->w.m_profile = true;
    for (unsigned i = 0; i < IT_KNOWN; i++)
        add(p, 0xbf00, BT_COND_PASS);
}

static void add_state(struct path *p, uint64_t position, enum bt_security security)
{
    p->events[p->w.event_count++] = (struct bt_event){
        .position = position, .kind = BT_EVENT_STATE, .u.state.security = (uint8_t)security};
}

/* An exception to the other state and back: the frame is on a stack that nobody knows. */
START_TEST(test_two_states)
{
    for (unsigned infer = 0; infer < 2; infer++) {
        struct path p;
        struct values_answer a;
        begin_with_it_state(&p);
        p.w.m_one_stack = true;
        p.w.infer = infer ? VALUES_INFER_ALL : 0;
        uint32_t back = p.next;
        p.events[p.w.event_count++] = (struct bt_event){
            .position = IT_KNOWN,
            .kind = BT_EVENT_EXCEPTION,
            .u.exception = {
                .number = 15, .return_address = back, .has_return = true, .m_profile = true}};
        add_state(&p, IT_KNOWN, BT_SEC_NONSECURE);
        p.next = 0x8200;
        add(&p, 0xbf00, BT_COND_PASS);
        add(&p, 0x4770, BT_COND_PASS); /* bx lr */
        p.events[p.w.event_count++] =
            (struct bt_event){.position = IT_KNOWN + 2, .kind = BT_EVENT_EXCEPTION_RET};
        add_state(&p, IT_KNOWN + 2, BT_SEC_SECURE);
        p.next = back;
        add(&p, 0xbf00, BT_COND_PASS);
        p.w.final[13] = RAM + 0x20;
        p.w.final[7] = 7;
        struct values *r = work(&p);
        for (size_t at = IT_KNOWN; at < IT_KNOWN + 2; at++) {
            ck_assert(!values_register(r, at, 13, &a)); /* not SP - 0x20 */
            ck_assert(!values_register(r, at, 7, &a));  /* the core took it away */
            ck_assert(!values_register(r, at, 14, &a)); /* not 0xfffffff9 */
        }
        ck_assert_int_eq(is_known(r, IT_KNOWN - 1, 13, RAM + 0x20), infer);
        ck_assert_int_eq(is_known(r, IT_KNOWN - 1, 7, 7), infer);
        values_free(r);
    }
}
END_TEST

/* A Non-secure function gives back what it was called with, but has another SP, and FNC_RETURN. */
START_TEST(test_nonsecure_call)
{
    struct path p;
    struct values_answer a;
    begin_with_it_state(&p);
    p.w.infer = VALUES_INFER_ALL;
    add(&p, 0x47a4, BT_COND_PASS); /* blxns r4 */
    add_state(&p, IT_KNOWN + 1, BT_SEC_NONSECURE);
    uint32_t back = p.next;
    p.next = 0x8200;
    add(&p, 0x4770, BT_COND_PASS); /* bx lr */
    add_state(&p, IT_KNOWN + 2, BT_SEC_SECURE);
    p.next = back;
    add(&p, 0xbf00, BT_COND_PASS);
    p.w.final[13] = RAM;
    p.w.final[5] = 5;
    struct values *r = work(&p);
    ck_assert(is_known(r, IT_KNOWN, 13, RAM) && is_known(r, IT_KNOWN, 5, 5));
    ck_assert(!values_register(r, IT_KNOWN + 1, 13, &a));
    ck_assert(!values_register(r, IT_KNOWN + 1, 14, &a));
    values_free(r);
}
END_TEST

/* In front of it SP and LR are others. */
START_TEST(test_gate)
{
    struct path p;
    struct values_answer a;
    begin_with_it_state(&p);
    add(&p, 0xe97fe97f, BT_COND_PASS); /* sg */
    add(&p, 0xbf00, BT_COND_PASS);
    p.w.final[13] = RAM;
    p.w.final[14] = 0x100;
    p.w.final[5] = 5;
    struct values *r = work(&p);
    ck_assert(is_known(r, IT_KNOWN + 1, 13, RAM) && is_known(r, IT_KNOWN + 1, 14, 0x100));
    ck_assert(is_known(r, IT_KNOWN, 5, 5));
    ck_assert(!values_register(r, IT_KNOWN, 13, &a));
    ck_assert(!values_register(r, IT_KNOWN, 14, &a));
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

/* v8.1-M: what older cores have in the place of these is not what they do. */
START_TEST(test_v81m)
{
    static const struct {
        uint32_t opcode;
        uint32_t r0, r3; /* behind it */
    } rows[] = {
        {0xea518012, 2, 8},    /* csel r0, r1, r2, ne */
        {0xea51901f, 1, 8},    /* csinc r0, r1, zr, ne */
        {0xea50132f, 0x10, 0}, /* asrl r0, r3, #4 */
        {0xea530fbf, 7, 32},   /* sqshl r3, #2 */
        {0xe89f0009, 0, 0},    /* clrm {r0, r3} */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct path p;
        struct values_counts counts;
        begin(&p, BT_ISA_T32);
        add(&p, 0x2007, BT_COND_PASS); /* movs r0, #7 */
        add(&p, 0x2101, BT_COND_PASS); /* movs r1, #1 */
        add(&p, 0x2202, BT_COND_PASS); /* movs r2, #2 */
        add(&p, 0x2308, BT_COND_PASS); /* movs r3, #8 */
        add(&p, 0x2404, BT_COND_PASS); /* movs r4, #4 */
        add(&p, rows[i].opcode, BT_COND_PASS);
        add(&p, 0xbf00, BT_COND_PASS); /* nop */
        p.w.m_profile = true;
        p.w.final[0] = rows[i].r0;
        p.w.final[1] = 1;
        p.w.final[2] = 2;
        p.w.final[3] = rows[i].r3;
        p.w.final[4] = 4;
        struct values *r = work(&p);
        values_counts(r, &counts);
        ck_assert_uint_eq(counts.conflicts, 0);
        ck_assert(is_known(r, 6, 0, rows[i].r0));
        ck_assert(is_known(r, 6, 3, rows[i].r3));
        values_free(r);
    }
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

Suite *unit_suite(void)
{
    Suite *s = suite_create("values");
    unit_case(s, "values: halted registers reach back to their last write", test_backwards);
    unit_case(s, "values: immediates and literals", test_constants);
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
    unit_case(s, "values: M-profile exception frame", test_exception_frame);
    unit_case(s, "values: a store to one of a few words", test_store_among);
    unit_case(s, "values: M-profile, two stacks", test_two_stacks);
    unit_case(s, "values: M-profile frame with floating-point registers", test_exception_floats);
    unit_case(s, "values: M-profile exceptions in a row", test_exception_chained);
    unit_case(s, "values: M profile, handlers in Non-secure state", test_nonsecure);
    unit_case(s, "values: v8-M, a handler in the other security state", test_two_states);
    unit_case(s, "values: v8-M, BLXNS and FNC_RETURN", test_nonsecure_call);
    unit_case(s, "values: v8-M, SG", test_gate);
    unit_case(s, "values: floating-point registers on the stack", test_float_stack);
    unit_case(s, "values: A-profile exception has its own SP and LR", test_exception_a);
    unit_case(s, "values: an instruction that aborted", test_aborted);
    unit_case(s, "values: Debug state", test_debug_entry);
    unit_case(s, "values: bytes in both orders", test_bytes);
    unit_case(s, "values: data trace", test_data_trace);
    unit_case(s, "values: instructions of v8.1-M", test_v81m);
    unit_case(s, "values: a window that ends before the halt", test_earlier);
    unit_case(s, "values: windows that are refused", test_refused);
    return s;
}
