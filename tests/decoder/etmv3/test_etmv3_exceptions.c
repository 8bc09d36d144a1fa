/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 model: exceptions, their returns, security changes and Debug entry, byte for byte. */
#include "tests/support/etmv3_script_case.h"

START_TEST(test_exception_cancel)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    etmv3_script_run(&s, A32_NOP);
    etmv3_script_run(&s, A32_NOP);
    etmv3_script_exception(&s, 14, true, 0x18);
    finish(&s, "88 8D 80 80 80 48 3C");
}
END_TEST

START_TEST(test_exception_inline)
{
    /* The first three share a code: the vector tells them apart. */
    static const struct {
        uint8_t number;
        const char *hex;
    } rows[] = {{8, "8D 80 80 80 80"},  {9, "8D 80 80 80 80"}, {12, "8D 80 80 80 80"},
                {14, "8D 80 80 80 88"}, {5, "8D 80 80 80 A0"}, {15, "8D 80 80 80 A8"},
                {4, "8D 80 80 80 B0"}};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_MINOR(ETMV3_IDR_A7, 1), 0x8000);
    etmv3_script_exception(&s, rows[_i].number, false, 0x18);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_exception_inline_cancel)
{
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, 0, ETMV3_IDR_A7);
    o.inline_percent = 100;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 0);
    s.mark = s.out.size;
    etmv3_script_exception(&s, 14, true, 0x18);
    finish(&s, "8D 80 80 80 C8");
}
END_TEST

START_TEST(test_exception_old_refused)
{
    const struct etmv3_state vector = {.address = 0x18, .isa = BT_ISA_T32};
    struct etmv3_exception x = {.number = 14};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_MINOR(ETMV3_IDR_A7, 1), 0x8000);
    ck_assert_int_eq(etmv3_encoder_exception(s.encoder, &x, &vector), BT_ERR_INVAL);
    x.number = 2; /* SMC came later */
    ck_assert_int_eq(etmv3_encoder_exception(s.encoder, &x, &s.pc), BT_ERR_INVAL);
    finish(&s, "");
}
END_TEST

START_TEST(test_exception_hyp)
{
    struct etmv3_script s;

    start(&s, 0, ETMV3_IDR_A7, 0x8000);
    s.pc.security = BT_SEC_NONSECURE;
    etmv3_script_on(&s, 0);
    s.mark = s.out.size;
    s.pc.security = BT_SEC_HYP;
    etmv3_script_exception(&s, 3, false, 0x14);
    finish(&s, "8B 80 80 80 48 87 20");
}
END_TEST

START_TEST(test_exception_m)
{
    static const struct {
        uint16_t number;
        bool cancel;
        uint32_t vector;
        const char *hex;
    } rows[] = {{15, true, 0x08008139, "B9 42 3E"},
                {25, false, 0x08008013, "93 40 92 01"},
                {56, false, 0x08008013, "93 40 90 03"},
                {19, true, 0x10000121, "A1 82 80 80 51 A6 01"}};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_M4, 0x08008001);
    etmv3_script_exception(&s, rows[_i].number, rows[_i].cancel, rows[_i].vector);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_resume_m)
{
    struct etmv3_script s;
    const struct etmv3_insn insn = {.address = 0x08008000,
                                    .isa = BT_ISA_T32,
                                    .opcode = T16_BX_LR,
                                    .pass = true,
                                    .exception_return = true,
                                    .resume = 5,
                                    .next = {.address = 0x08008012, .isa = BT_ISA_T32}};

    start_on(&s, ETMV3_CR_DATA_VALUE, ETMV3_IDR_M4, 0x08008001);
    etmv3_encoder_insn(s.encoder, &insn);
    finish(&s, "84 76 93 40 80 45");
}
END_TEST

START_TEST(test_return_m)
{
    static const char *const hex[] = {"84 76 13", "84 76 C1 41 3E"};
    struct etmv3_script s;
    struct etmv3_insn insn = {.address = 0x08008000,
                              .isa = BT_ISA_T32,
                              .opcode = T16_BX_LR,
                              .pass = true,
                              .exception_return = true,
                              .preempted = _i,
                              .next = {.address = 0x08008012, .isa = BT_ISA_T32}};

    start_on(&s, 0, ETMV3_IDR_M4, 0x08008001);
    etmv3_encoder_insn(s.encoder, &insn);
    if (_i)
        etmv3_script_exception(&s, 15, true, 0x080080c1);
    finish(&s, hex[_i]);
}
END_TEST

START_TEST(test_return_a)
{
    static const struct {
        uint8_t minor;
        const char *hex;
    } rows[] = {{5, "84 76 09"}, {4, "84 09"}};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_MINOR(ETMV3_IDR_A7, rows[_i].minor), 0x8000);
    etmv3_script_branch(&s, A32_SUBS_PC, 0x8010);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_security_change)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_set_security(s.encoder, BT_SEC_NONSECURE);
    finish(&s, "81 80 81 80 48 01");
}
END_TEST

START_TEST(test_debug_entry)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    etmv3_script_run(&s, A32_NOP);
    etmv3_encoder_debug_entry(s.encoder, true, false);
    finish(&s, "84 83 80 81 80 48 02");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3_exceptions");

    unit_case(s, "etmv3_encoder: canceling exception", test_exception_cancel);
    unit_cases(s, "etmv3_encoder: in-line exceptions", test_exception_inline, 0, 7);
    unit_case(s, "etmv3_encoder: in-line exception that cancels", test_exception_inline_cancel);
    unit_case(s, "etmv3_encoder: what old versions cannot tell", test_exception_old_refused);
    unit_case(s, "etmv3_encoder: Hyp entry", test_exception_hyp);
    unit_cases(s, "etmv3_encoder: M-profile exceptions", test_exception_m, 0, 4);
    unit_case(s, "etmv3_encoder: resumed LDM", test_resume_m);
    unit_cases(s, "etmv3_encoder: M-profile return, preempted return", test_return_m, 0, 2);
    unit_cases(s, "etmv3_encoder: A-profile return by version", test_return_a, 0, 2);
    unit_case(s, "etmv3_encoder: security change", test_security_change);
    unit_case(s, "etmv3_encoder: debug entry", test_debug_entry);
    return s;
}
