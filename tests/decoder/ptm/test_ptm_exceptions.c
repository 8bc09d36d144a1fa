/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/ptm/ptm_flow.c. */
/* PTM model, exceptions: worked examples and the tables of IHI 0035B 5.2.3, byte for byte. */
#include "tests/support/encoder_script_case.h"

START_TEST(test_e7)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x0f00);
    script_branch(&s, 0x0a00003f, 0x1004);
    script_run_to(&s, 0x100c);
    script_exception(&s, 14, 0x18);
    script_branch(&s, A32_LDR_PC, 0x3000);
    finish(&s, ASYNC "08 00 0F 00 00 21 84 72 85 10 8D 40 1C 81 30");
}
END_TEST

START_TEST(test_e8)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x0f00);
    script_branch(&s, 0x0a00003f, 0x1004);
    script_exception(&s, 14, 0x18);
    script_branch(&s, A32_LDR_PC, 0x3000);
    finish(&s, ASYNC "08 00 0F 00 00 21 84 8D 40 1C 81 30");
}
END_TEST

/* IHI 0035B table 5-3 from the MOV at 0x1000 (already the present place) to the return to
 * 0x1004. */
static void run_table_5_3(struct script *s)
{
    script_run(s, 0xe3a00001);
    script_exception(s, 14, 0x18);
    script_exception(s, 15, 0x1c);
    script_branch(s, A32_LDR_PC, 0x2000);
    script_run_to(s, 0x2100);
    script_branch(s, A32_SUBS_PC, 0x18);
    script_branch(s, A32_LDR_PC, 0x3000);
    script_run_to(s, 0x3100);
    script_branch(s, A32_SUBS_PC, 0x1004);
}

START_TEST(test_e9)
{
    struct script s;

    start(&s, 0, PTM_IDR_A9, PTM_CCER_A9, 0x1000);
    run_table_5_3(&s);
    finish(&s, ON_1000 "72 01 8D 40 1C 8F 40 1E 81 20 8D 00 81 30 83 10");
}
END_TEST

START_TEST(test_e10)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    run_table_5_3(&s);
    script_run_to(&s, 0x100c);
    script_exception(&s, 14, 0x18);
    finish(&s, ON_1000 "72 01 8D 40 1C 8F 40 1E 81 20 8D 00 76 81 30 83 10 76 72 05 8D 40 1C");
}
END_TEST

/* IHI 0035B table 5-4: the branch at the IRQ vector runs before the FIQ. */
static void run_table_5_4(struct script *s)
{
    script_run(s, 0xe3a00001);
    script_exception(s, 14, 0x18);
    script_branch(s, A32_LDR_PC, 0x3000);
    script_exception(s, 15, 0x1c);
    script_branch(s, A32_LDR_PC, 0x2000);
    script_run_to(s, 0x2100);
    script_branch(s, A32_SUBS_PC, 0x3000);
    script_run_to(s, 0x3100);
    script_branch(s, A32_SUBS_PC, 0x1004);
}

START_TEST(test_e11)
{
    struct script s;

    start(&s, 0, PTM_IDR_A9, PTM_CCER_A9, 0x1000);
    run_table_5_4(&s);
    finish(&s, ON_1000 "72 01 8D 40 1C 81 30 8F 40 1E 81 20 81 30 83 10");
}
END_TEST

/* IHI 0035B table 5-5: a 16-bit NOP at the IRQ vector runs before the FIQ. */
static void run_table_5_5(struct script *s)
{
    script_run(s, 0xe3a00001);
    script_exception(s, 14, 0x18 | 1);
    script_run(s, T16_NOP);
    script_exception(s, 15, 0x1c | 1);
    script_branch(s, 0xf8dff020, 0x2000 | 1);
    script_run_to(s, 0x2100);
    script_branch(s, 0xf3de8f04, 0x1a | 1);
    script_branch(s, 0xe031, 0x80 | 1);
    script_run_to(s, 0x100);
    script_branch(s, 0xf3de8f04, 0x1004);
}

START_TEST(test_e12)
{
    struct script s;

    start(&s, 0, PTM_IDR_A9, PTM_CCER_A9, 0x1000);
    run_table_5_5(&s);
    finish(&s, ON_1000 "72 01 99 80 80 80 50 1C 72 19 9D 40 1E 81 C0 00 9B 80 00 84 "
                       "83 90 80 80 08");
}
END_TEST

START_TEST(test_e13)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0, PTM_IDR_A9, PTM_CCER_A9);
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    script_run(&s, A32_NOP); /* not traced */
    script_exception(&s, 14, 0x18);
    script_trace_on(&s);
    script_exception(&s, 15, 0x1c);
    script_branch(&s, A32_LDR_PC, 0x2000);
    script_run_to(&s, 0x2100);
    script_branch(&s, A32_SUBS_PC, 0x18);
    script_branch(&s, A32_LDR_PC, 0x3000);
    finish(&s, ASYNC "08 18 00 00 00 21 8F 40 1E 81 20 8D 00 81 30");
}
END_TEST

START_TEST(test_e14)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x8000);
    script_run(&s, 0xe3a07001);
    script_run(&s, 0xef000000);
    script_exception(&s, 10, 0x08);
    script_branch(&s, A32_LDR_PC, 0x9000);
    script_run_to(&s, 0x9008);
    script_branch(&s, 0xe1b0f00e, 0x8008);
    finish(&s, ASYNC "08 00 80 00 00 21 72 03 85 80 40 14 81 90 01 85 00 76");
}
END_TEST

START_TEST(test_e15)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x0f00);
    script_branch(&s, A32_LDR_PC, 0x1004);
    script_exception(&s, 12, 0x10);
    script_branch(&s, A32_LDR_PC, 0x3400);
    finish(&s, ASYNC "08 00 0F 00 00 21 83 10 89 40 18 81 34");
}
END_TEST

START_TEST(test_e16)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x8000);
    script_secure(&s, BT_SEC_NONSECURE);
    script_trace_on(&s);
    script_run(&s, 0xe1400070);
    script_secure(&s, BT_SEC_HYP);
    script_exception(&s, 3, 0x80000014);
    script_secure(&s, BT_SEC_NONSECURE);
    script_branch(&s, 0xe160006e, 0x8004);
    finish(&s, ASYNC "08 00 80 00 00 29 72 01 8B 80 80 80 4C 87 20 83 80 81 80 48 81 00 76");
}
END_TEST

START_TEST(test_e17)
{
    struct script s;

    start(&s, 0, PTM_IDR_A9, PTM_CCER_A9, 0x2100);
    script_secure(&s, BT_SEC_NONSECURE);
    script_branch(&s, A32_SUBS_PC, 0x3000);
    finish(&s, ASYNC "08 00 21 00 00 21 81 70 01");
}
END_TEST

START_TEST(test_e28)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    ptm_encoder_debug_exit(s.encoder, &s.pc);
    script_branch(&s, A32_BL, 0x1010);
    ptm_encoder_debug_entry(s.encoder);
    ptm_encoder_debug_exit(s.encoder, &s.pc);
    script_run_to(&s, 0x1018);
    ptm_encoder_debug_entry(s.encoder);
    finish(&s, ASYNC "08 00 10 00 00 61 84 81 80 80 80 48 02 08 10 10 00 00 61 72 0B "
                     "81 80 80 80 48 02");
}
END_TEST

START_TEST(test_bb6)
{
    struct script s;

    start(&s, 0, PTM_IDR_A9, PTM_CCER_A9, 0x1000);
    script_run(&s, 0xe3a00001);
    ck_assert(!ptm_encoder_at_boundary(s.encoder));
    finish(&s, "00 00 00 00 00 80 08 00 10 00 00 21");
}
END_TEST

/* BB18, BB33, BB46: an atom that is pending comes before the update and the exception. */
START_TEST(test_bb18)
{
    static void (*const tables[])(struct script *) = {run_table_5_3, run_table_5_4, run_table_5_5};
    static const char *const streams[] = {
        "84 72 81 10 8D 40 1C 8F 40 1E 81 20 8D 00 81 30 83 10",
        "84 72 81 10 8D 40 1C 81 30 8F 40 1E 81 20 81 30 83 10",
        "84 72 81 10 99 80 80 80 50 1C 72 19 9D 40 1E 81 C0 00 9B 80 00 84 83 90 80 80 08"};
    struct script s;

    for (unsigned i = 0; i < 3; i++) {
        start(&s, 0, PTM_IDR_A9, PTM_CCER_A9, 0x0f00);
        s.mark = s.out.size;
        script_branch(&s, A32_B, 0x1000);
        tables[i](&s);
        finish(&s, streams[i]);
    }
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_test(tc, test);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("ptm_exceptions");

    add(s, "ptm_encoder: exception after a non-waypoint (E7)", test_e7);
    add(s, "ptm_encoder: exception after a waypoint (E8)", test_e8);
    add(s, "ptm_encoder: back-to-back exceptions, v1.0 (E9, BB2, BB7 to BB16)", test_e9);
    add(s, "ptm_encoder: back-to-back exceptions, v1.1 (E10, BB13)", test_e10);
    add(s, "ptm_encoder: FIQ behind a branch at the vector (E11, BB22 to BB32)", test_e11);
    add(s, "ptm_encoder: FIQ behind a NOP at the vector (E12, BB34 to BB44)", test_e12);
    add(s, "ptm_encoder: trace on between two exceptions (E13, BB47, BB48)", test_e13);
    add(s, "ptm_encoder: SVC (E14)", test_e14);
    add(s, "ptm_encoder: data abort behind a waypoint (E15)", test_e15);
    add(s, "ptm_encoder: HVC and ERET (E16)", test_e16);
    add(s, "ptm_encoder: Secure to Non-secure return (E17)", test_e17);
    add(s, "ptm_encoder: Debug state (E28)", test_e28);
    add(s, "ptm_encoder: a non-waypoint leaves no trace (BB6)", test_bb6);
    add(s, "ptm_encoder: atoms before update and exception (BB18, BB33, BB46)", test_bb18);
    return s;
}
