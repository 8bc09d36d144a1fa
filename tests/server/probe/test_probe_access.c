/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/probe/probe_access.c: what an instruction is about to access. */
#include "server/probe/probe_target.h"
#include "tests/support/unit_main.h"

#define THUMB 0x20u
#define CARRY 0x20000000u
#define PC    0x8002u

/* r0 is 0x1000, r1 0x1010, and so on. */
static void fill_registers(uint32_t regs[17], uint32_t cpsr)
{
    for (unsigned i = 0; i < 15; i++)
        regs[i] = 0x1000 + 0x10 * i;
    regs[15] = cpsr & THUMB ? PC : PC & ~3u;
    regs[16] = cpsr;
}

START_TEST(accesses_are_known)
{
    static const struct {
        uint32_t cpsr, code, address, length;
        bool load, store;
    } cases[] = {
        {0, 0xe5910004, 0x1014, 4, true, false},              /* ldr r0, [r1, #4] */
        {0, 0xe4110004, 0x1010, 4, true, false},              /* ldr r0, [r1], #-4 */
        {0, 0xe7810102, 0x1010 + 0x4080, 4, false, true},     /* str r0, [r1, r2, lsl #2] */
        {0, 0xe7110142, 0x1010 - 0x408, 4, true, false},      /* ldr r0, [r1, -r2, asr #2] */
        {CARRY, 0xe7910062, 0x80001820, 4, true, false},      /* ldr r0, [r1, r2, rrx] */
        {0, 0xe5d10000, 0x1010, 1, true, false},              /* ldrb r0, [r1] */
        {0, 0xe1c100b2, 0x1012, 2, false, true},              /* strh r0, [r1, #2] */
        {0, 0xe1c100d8, 0x1018, 8, true, false},              /* ldrd r0, [r1, #8] */
        {0, 0xe59f0008, 0x8010, 4, true, false},              /* ldr r0, [pc, #8] */
        {0, 0xe92d4003, 0x10d0 - 12, 12, false, true},        /* push {r0, r1, lr} */
        {0, 0xe8b10009, 0x1010, 8, true, false},              /* ldm r1!, {r0, r3} */
        {0, 0xe1010090, 0x1010, 4, true, true},               /* swp r0, r0, [r1] */
        {0, 0xe1910f9f, 0x1010, 4, true, false},              /* ldrex r0, [r1] */
        {0, 0xed910b02, 0x1018, 8, true, false},              /* vldr d0, [r1, #8] */
        {0, 0xed2d0b04, 0x10d0 - 16, 16, false, true},        /* vpush {d0, d1} */
        {THUMB, 0x6848, 0x1014, 4, true, false},              /* ldr r0, [r1, #4] */
        {THUMB, 0x5488, 0x1010 + 0x1020, 1, false, true},     /* strb r0, [r1, r2] */
        {THUMB, 0x4801, 0x8008, 4, true, false},              /* ldr r0, [pc, #4] */
        {THUMB, 0xb503, 0x10d0 - 12, 12, false, true},        /* push {r0, r1, lr} */
        {THUMB, 0xbd03, 0x10d0, 12, true, false},             /* pop {r0, r1, pc} */
        {THUMB, 0xf8510c04, 0x100c, 4, true, false},          /* ldr r0, [r1, #-4] */
        {THUMB, 0xf8410022, 0x1010 + 0x4080, 4, false, true}, /* str r0, [r1, r2, lsl #2] */
        {THUMB, 0xe9d10102, 0x1018, 8, true, false},          /* ldrd r0, r1, [r1, #8] */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t regs[17];
        struct cortex_a_access a = {.length = 0};
        fill_registers(regs, cases[i].cpsr);
        bool known = probe_a_find_access(cases[i].code, regs, &a);
        ck_assert_msg(known, "%08x", cases[i].code);
        ck_assert_msg(a.address == cases[i].address, "%08x: 0x%x", cases[i].code, a.address);
        ck_assert_msg(a.length == cases[i].length, "%08x: %u", cases[i].code, a.length);
        ck_assert_int_eq(a.load, cases[i].load);
        ck_assert_int_eq(a.store, cases[i].store);
    }
}
END_TEST

START_TEST(what_accesses_nothing)
{
    static const struct {
        uint32_t cpsr, code;
    } cases[] = {
        {0, 0xe0810002},     /* add r0, r1, r2 */
        {0, 0xf5d1f000},     /* pld [r1] */
        {0, 0xee111f10},     /* mrc p15 */
        {0, 0xec915e01},     /* ldc p14: it does, and is not known */
        {THUMB, 0x1888},     /* adds r0, r1, r2 */
        {THUMB, 0xf0000001}, /* and r0, r0, #1 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t regs[17];
        struct cortex_a_access a;
        fill_registers(regs, cases[i].cpsr);
        ck_assert_msg(!probe_a_find_access(cases[i].code, regs, &a), "%08x", cases[i].code);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("probe_access");
    unit_case(s, "probe_access: what is read and written", accesses_are_known);
    unit_case(s, "probe_access: what accesses nothing", what_accesses_nothing);
    return s;
}
