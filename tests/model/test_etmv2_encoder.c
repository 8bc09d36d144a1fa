/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv2 model: the worked examples of etmv2-examples.case, cycle for cycle (X16 is for decoders
 * only). */
#include "tests/support/etmv2_script.h"
#include "tests/support/unit_main.h"

#define PORT_4    ETMV2_MODEL_CR_PORT(0)
#define PORT_8    ETMV2_MODEL_CR_PORT(1)
#define PORT_16   ETMV2_MODEL_CR_PORT(2)
#define VALUES    ETMV2_MODEL_CR_DATA_VALUE
#define ADDRESSES ETMV2_MODEL_CR_DATA_ADDRESS
#define DATA      (VALUES | ADDRESSES)
#define CONTEXT_1 ETMV2_MODEL_CR_CONTEXT_ID(1)
#define CONTEXT_4 ETMV2_MODEL_CR_CONTEXT_ID(3)

/* Trace off at `address`. */
static void start(struct etmv2_script *s, uint32_t etmcr, uint32_t address)
{
    struct etmv2_encoder_options o;

    etmv2_script_options(&o, etmcr);
    ck_assert(etmv2_script_start(s, &o, address));
}

/* Trace on at `address`, its TFO out. */
static void start_on(struct etmv2_script *s, uint32_t etmcr, uint32_t address)
{
    start(s, etmcr, address);
    etmv2_script_on(s);
}

static void finish(struct etmv2_script *s, const char *text)
{
    ck_assert_str_eq(etmv2_script_drained(s), text);
    etmv2_script_end(s);
}

/* A transfer by a coprocessor: data with A = 0. */
static void transfer(struct etmv2_script *s, uint32_t value)
{
    const struct etmv2_model_access a = {.value = value, .first = true, .cprt = true};

    ck_assert_int_eq(etmv2_encoder_data(s->encoder, &a), 0);
}

static void run_busy(struct etmv2_script *s, uint32_t opcode)
{
    struct etmv2_insn insn = {
        .at = s->pc, .opcode = opcode, .pass = true, .next = s->pc, .in_progress = true};

    insn.next.address += 4;
    ck_assert_int_eq(etmv2_encoder_insn(s->encoder, &insn), 0);
    s->pc = insn.next;
}

/* A branch from a base of `from` to `to` (bit 0: Thumb). */
static void check_branch(uint32_t from, uint32_t to, const char *text)
{
    struct etmv2_script s;

    start_on(&s, PORT_8, from);
    etmv2_script_branch(&s, from & 1 ? T16_BX_LR : A32_BX_LR, to);
    finish(&s, text);
}

START_TEST(test_x1_to_x7)
{
    check_branch(0x8000, 0x8010, "DE 09");
    check_branch(0x8000, 0x8124, "DE 93 | WT 01");
    check_branch(0x8000, 0x12344, "DE A3 | WT A3 | WT 02");
    check_branch(0x8000, 0x20008000, "DE 81 | WT 80 | WT 81 | WT 80 | WT 09");
    check_branch(0x8000, 0xffff0018, "DE 8D | WT 80 | WT FE | WT FF | WT 0F");
    check_branch(0x8000, 0x9001, "DE 81 | WT A0 | WT 82 | WT 80 | WT 10");
    check_branch(0x9001, 0x9007, "DE 07");
    check_branch(0x9001, 0x9101, "DE 81 | WT 22");
    check_branch(0x9007, 0x8000, "DE 81 | WT 80 | WT 81 | WT 80 | WT 08");
    check_branch(0x8040, 0x8040, "DE 21");
}
END_TEST

static void check_exception(uint32_t from, bool cancel, uint32_t vector, const char *text)
{
    struct etmv2_script s;

    start_on(&s, PORT_8, from);
    etmv2_script_run(&s, from & 1 ? T16_NOP : A32_NOP);
    etmv2_script_exception(&s, cancel, vector);
    finish(&s, text);
}

START_TEST(test_x6)
{
    check_exception(0x8124, true, 0x18, "IE 00 | DW 8D | WT 80 | WT 80 | WT 80 | WT 48");
    check_exception(0x8125, true, 0x18, "IE 00 | DW 8D | WT 80 | WT 80 | WT 80 | WT 48");
    check_exception(0x8124, false, 0x08, "IE 00 | DW 85 | WT 80 | WT 00");
}
END_TEST

START_TEST(test_x8)
{
    struct etmv2_script s;
    const struct etmv2_model_access miss = {.address = 0x100, .first = true, .miss = true};
    const struct etmv2_model_access filtered = {.filtered = true};

    start_on(&s, PORT_8 | DATA | CONTEXT_1, 0x8000);
    etmv2_script_run(&s, A32_LOAD_MULTIPLE);
    etmv2_script_data(&s, 0x40000100, 0x12345678);
    etmv2_script_more(&s, 0x1234);
    ck_assert_int_eq(etmv2_encoder_data(s.encoder, &filtered), 0);
    ck_assert_int_eq(etmv2_encoder_data(s.encoder, &filtered), 0);
    etmv2_encoder_set_context_id(s.encoder, 7);
    etmv2_encoder_set_context_id(s.encoder, 8);
    ck_assert_str_eq(etmv2_script_drained(&s),
                     "DE AE | WT 80 | WT 82 | WT 80 | WT 80 | WT 04 | WT 78 | WT 56 | WT 34 | "
                     "WT 12 | WT 8A | WT 34 | WT 12 | WT EA | WT EA | WT EE | WT 07 | WT 6E | "
                     "WT 08");
    for (int tag = 1; tag <= 3; tag++) {
        etmv2_script_run(&s, A32_LOAD);
        ck_assert_int_eq(etmv2_encoder_data(s.encoder, &miss), tag);
    }
    etmv2_script_run(&s, A32_LOAD);
    ck_assert_int_eq(etmv2_encoder_data(s.encoder, &miss), 0);
    etmv2_encoder_late_value(s.encoder, 1, 0x10203040);
    etmv2_encoder_late_value(s.encoder, 2, 0x55);
    ck_assert_str_eq(etmv2_script_drained(&s),
                     "DE 74 | DE 80 | DE 82 | DE 80 | WT 80 | WT 00 | WT 78 | WT 00 | WT 7C | "
                     "WT 00 | WT A2 | WT 00 | WT AC | WT 40 | WT 30 | WT 20 | WT 10 | WT 44 | "
                     "WT 55");
    ck_assert(!etmv2_encoder_tag_out(s.encoder, 1));
    ck_assert(etmv2_encoder_tag_out(s.encoder, 3));
    etmv2_script_end(&s);
}
END_TEST

START_TEST(test_x9)
{
    struct etmv2_script s;

    start_on(&s, PORT_8 | DATA, 0x8000);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000100, 0x12345678);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 2E | WT 80 | WT 82 | WT 80 | WT 80 | WT 04 | "
                                               "WT 78 | WT 56 | WT 34 | WT 12");
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000104, 0);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 22 | WT 04");
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000200, 0x7f);
    finish(&s, "DE 26 | WT 80 | WT 04 | WT 7F");

    start_on(&s, PORT_8 | VALUES, 0x8000);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000100, 0x12345678);
    finish(&s, "DE 2E | WT 78 | WT 56 | WT 34 | WT 12");

    start_on(&s, PORT_8 | ADDRESSES, 0x8000);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000100, 0x12345678);
    finish(&s, "DE 2E | WT 80 | WT 82 | WT 80 | WT 80 | WT 04");
}
END_TEST

START_TEST(test_x10)
{
    struct etmv2_script s;

    start_on(&s, PORT_8 | VALUES | ETMV2_MODEL_CR_CPRT, 0x8000);
    etmv2_script_branch(&s, A32_BX_LR, 0x8124);
    transfer(&s, 0xabcd);
    finish(&s, "DE 8A | WT CD | WT AB | WT 93 | WT 01");
}
END_TEST

START_TEST(test_x11)
{
    struct etmv2_script s;
    struct etmv2_model_access a = {.address = 0x40000100, .first = true, .filtered = true};

    start_on(&s, PORT_8 | DATA, 0x8000);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000104, 1);
    etmv2_script_drained(&s);
    run_busy(&s, A32_LOAD_MULTIPLE);
    for (unsigned i = 0; i < 5; i++) {
        a.value = i == 2 ? 0x11 : 0x1234;
        a.filtered = i != 2 && i != 4;
        ck_assert_int_eq(etmv2_encoder_data(s.encoder, &a), 0);
        if (i >= 2)
            etmv2_encoder_wait(s.encoder, i == 2 ? 2 : 0);
        a.address += 4;
        a.first = false;
    }
    etmv2_encoder_data_done(s.encoder);
    finish(&s, "DE 26 | WT 08 | WT 11 | DW 6A | DW 0A | WT 34 | WT 12");
}
END_TEST

START_TEST(test_x12)
{
    struct etmv2_script s;
    struct etmv2_model_access miss = {.address = 0x40000300, .first = true, .miss = true};

    start_on(&s, PORT_8 | DATA, 0x8000);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000200, 1);
    etmv2_script_drained(&s);
    etmv2_script_run(&s, A32_LOAD);
    ck_assert_int_eq(etmv2_encoder_data(s.encoder, &miss), 1);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 74 | WT 80 | WT 06");
    etmv2_encoder_late_value(s.encoder, 1, 0xdeadbeef);
    ck_assert_str_eq(etmv2_script_drained(&s), "DW 2C | WT EF | WT BE | WT AD | WT DE");
    miss.wide = true;
    etmv2_script_run(&s, A32_LOAD);
    ck_assert_int_eq(etmv2_encoder_data(s.encoder, &miss), 1);
    etmv2_script_drained(&s);
    etmv2_encoder_late_value(s.encoder, 1, 0x9911223344u);
    finish(&s, "DW 8C | WT 44 | WT 33 | WT 22 | WT 11 | WT 24 | WT 99");
}
END_TEST

START_TEST(test_x13)
{
    struct etmv2_script s;

    start_on(&s, PORT_8 | CONTEXT_4, 0x8000);
    etmv2_encoder_set_context_id(s.encoder, 0x12345678);
    ck_assert_str_eq(etmv2_script_drained(&s), "DW 6E | WT 78 | WT 56 | WT 34 | WT 12");
    etmv2_script_branch(&s, A32_BX_LR, 0x8010);
    etmv2_encoder_set_context_id(s.encoder, 1);
    finish(&s, "DE EE | WT 01 | WT 00 | WT 00 | WT 00 | WT 09");
}
END_TEST

START_TEST(test_x14)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    etmv2_script_options(&o, PORT_8 | DATA);
    o.phantom_percent = 100;
    ck_assert(etmv2_script_start(&s, &o, 0x8000));
    etmv2_encoder_trace_on(s.encoder, &s.pc, false);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000100, 0x12345678);
    etmv2_encoder_wait(s.encoder, 12);
    etmv2_script_fail(&s, A32_NOP);
    etmv2_script_branch(&s, A32_B, 0x9000);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_branch(&s, A32_BX_LR, 0x8124);
    etmv2_encoder_wait(s.encoder, 2);
    etmv2_script_run(&s, A32_NOP);
    finish(&s, "TD 01 | IE 20 | IE 00 | DE 80 | WT 00 | WT 00 | WT 2E | WT 80 | WT 82 | WT 80 | "
               "WT 80 | WT 04 | WT 78 | WT 56 | WT 34 | WT 12 | IN 00 | PTIE 00 | DE 93 | WT 01 | "
               "TD 00 | IE 00");
}
END_TEST

START_TEST(test_x15)
{
    struct etmv2_script s;

    start_on(&s, PORT_8 | VALUES | ETMV2_MODEL_CR_CPRT, 0x8008);
    etmv2_script_run(&s, A32_MCR);
    transfer(&s, 0xabcd);
    etmv2_script_run(&s, A32_MCR);
    transfer(&s, 0x7f);
    etmv2_encoder_request_sync(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_NOP);
    etmv2_encoder_wait(s.encoder, 8);
    finish(&s, "DE 0A | DE CD | TD 31 | IE AB | WT 06 | WT 7F | WT 00 | WT 10 | WT 80 | WT 00 | "
               "WT 00 | TD 00");
}
END_TEST

START_TEST(test_x17)
{
    struct etmv2_script s;

    start(&s, PORT_16 | VALUES | ETMV2_MODEL_CR_CPRT, 0x8000);
    etmv2_encoder_trace_on(s.encoder, &s.pc, false);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_branch(&s, A32_BX_LR, 0x9001);
    transfer(&s, 0x7f);
    etmv2_encoder_wait(s.encoder, 5);
    finish(&s, "TD 0001 | IE 0020 | DE 0080 | WT 8600 | WT 817F | WT 82A0 | WT 1080 | TD 0000");
}
END_TEST

START_TEST(test_x18)
{
    struct etmv2_script s;

    start_on(&s, PORT_4 | VALUES | ETMV2_MODEL_CR_CPRT, 0x8000);
    etmv2_script_branch(&s, A32_BX_LR, 0x8124);
    etmv2_encoder_wait(s.encoder, 4);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 3 | WT 9 | WT 1 | WT 0 | TD 0");
    etmv2_script_run(&s, A32_MCR);
    transfer(&s, 0x1234);
    etmv2_encoder_wait(s.encoder, 1);
    etmv2_script_run(&s, A32_MCR);
    transfer(&s, 0);
    etmv2_encoder_request_sync(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_NOP);
    /* The TFO comes between the nibbles of 34: what is left is 12, 02, which makes N = 2. */
    ck_assert_str_eq(etmv2_script_text(&s), "DE A | WT 0 | DE 4 | TD 1 | IE 2");
    finish(&s, "DE A | WT 0 | DE 4 | TD 1 | IE 2 | WT 3 | WT 2 | WT 1 | WT 2 | WT 0 | "
               "WT 0 | WT 0 | WT C | WT 2 | WT 1 | WT 8 | WT 0 | WT 0 | WT 0 | WT 0");
}
END_TEST

/* N = 3 on a 4-bit port takes two cycles; a second gap cycle is an option. */
START_TEST(test_x18_tfo)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    for (unsigned extra = 1; extra <= 2; extra++) {
        etmv2_script_options(&o, PORT_4 | VALUES | ETMV2_MODEL_CR_CPRT);
        o.tfo4_extra = extra;
        ck_assert(etmv2_script_start(&s, &o, 0x8000));
        etmv2_script_on(&s);
        etmv2_script_run(&s, A32_MCR);
        transfer(&s, 0x12345678);
        etmv2_encoder_wait(s.encoder, 3);
        etmv2_encoder_request_sync(s.encoder);
        etmv2_script_run(&s, A32_NOP);
        etmv2_encoder_wait(s.encoder, 3);
        ck_assert_str_eq(etmv2_script_text(&s), extra == 1
                                                    ? "DE E | WT 0 | WT 8 | WT 7 | TD 1 | WT 3 | "
                                                      "WT 6 | WT 5"
                                                    : "DE E | WT 0 | WT 8 | WT 7 | TD 1 | WT 3 | "
                                                      "WT 0 | WT 6");
        etmv2_script_end(&s);
    }
}
END_TEST

START_TEST(test_x19)
{
    struct etmv2_script s;

    start_on(&s, PORT_8 | VALUES | ETMV2_MODEL_CR_CPRT, 0x8000);
    etmv2_script_run(&s, A32_MCR);
    transfer(&s, 0xabcd);
    etmv2_encoder_wait(s.encoder, 0);
    etmv2_encoder_trigger(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    etmv2_encoder_wait(s.encoder, 3);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 0A | TR 00 | WT CD | WT AB | TD 00");
    etmv2_encoder_trigger(s.encoder);
    etmv2_encoder_wait(s.encoder, 1);
    ck_assert_str_eq(etmv2_script_drained(&s), "TR 04");
    etmv2_script_run(&s, A32_MCR);
    transfer(&s, 0xabcd);
    etmv2_encoder_wait(s.encoder, 0);
    etmv2_encoder_request_sync(s.encoder);
    etmv2_encoder_trigger(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_NOP);
    finish(&s, "DE 0A | TR 07 | IE 21 | WT CD | WT AB | WT 00 | WT 0C | WT 80 | WT 00 | WT 00");
}
END_TEST

START_TEST(test_x20)
{
    struct etmv2_script s;

    start_on(&s, PORT_8, 0x8124);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_exception(&s, true, 0x18);
    etmv2_encoder_wait(s.encoder, 4);
    etmv2_script_run(&s, A32_NOP);
    finish(&s, "IE 00 | IE 00 | DW 8D | WT 80 | WT 80 | WT 80 | WT 48 | IE 00");
}
END_TEST

START_TEST(test_x21)
{
    struct etmv2_script s;

    start(&s, PORT_8 | CONTEXT_1 | VALUES, 0x8040);
    etmv2_encoder_set_context_id(s.encoder, 5);
    run_busy(&s, A32_LOAD_MULTIPLE);
    s.mark = s.out.size;
    etmv2_script_at(&s, 0x8050);
    etmv2_encoder_trace_on(s.encoder, &s.pc, true);
    etmv2_encoder_wait(s.encoder, 6);
    etmv2_script_run(&s, A32_NOP);
    finish(&s, "TD 01 | WT A0 | WT 05 | WT 40 | WT 80 | WT 00 | WT 00 | IE 29");
}
END_TEST

/* No instruction in the pipeline: Normal TFO, and a branch address if others have run since. */
START_TEST(test_x21_normal)
{
    struct etmv2_script s;

    start(&s, PORT_8 | VALUES, 0x8040);
    run_busy(&s, A32_LOAD_MULTIPLE);
    s.mark = s.out.size;
    etmv2_encoder_trace_on(s.encoder, &s.pc, false);
    etmv2_script_data(&s, 0x100, 1);
    ck_assert_str_eq(etmv2_script_drained(&s),
                     "TD 01 | DE 20 | WT 40 | WT 80 | WT 00 | WT 00 | WT 26 | WT 01");
    etmv2_encoder_overflow(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    s.mark = s.out.size;
    etmv2_encoder_restart(s.encoder, &s.pc, false);
    finish(&s, "TD 01 | DE 40 | WT 40 | WT 80 | WT 00 | WT 00 | WT 25");
}
END_TEST

START_TEST(test_x22)
{
    struct etmv2_script s;

    start_on(&s, PORT_8 | DATA, 0x8000);
    etmv2_script_run(&s, A32_LOAD);
    etmv2_script_data(&s, 0x40000100, 0);
    etmv2_encoder_wait(s.encoder, 0);
    etmv2_script_run(&s, A32_NOP);
    etmv2_encoder_overflow(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_at(&s, 0xa000);
    etmv2_encoder_restart(s.encoder, &s.pc, false);
    ck_assert_str_eq(etmv2_script_drained(&s),
                     "DE 22 | WT 80 | WT 82 | WT 80 | WT 80 | WT 04 | TD 01 | WT 40 | WT 00 | "
                     "WT A0 | WT 00 | WT 00");
    etmv2_encoder_debug_entry(s.encoder);
    etmv2_script_at(&s, 0xa001);
    etmv2_encoder_debug_exit(s.encoder, &s.pc);
    ck_assert_str_eq(etmv2_script_drained(&s), "TD 01 | WT 60 | WT 01 | WT A0 | WT 00 | WT 00");
    etmv2_script_run(&s, T16_NOP);
    etmv2_script_data(&s, 0x40000100, 0);
    finish(&s, "DE 22 | WT 80 | WT 82 | WT 80 | WT 80 | WT 04");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv2 encoder");

    unit_case(s, "etmv2_encoder: X1 to X5, X7 branch addresses", test_x1_to_x7);
    unit_case(s, "etmv2_encoder: X6 exceptions", test_x6);
    unit_case(s, "etmv2_encoder: X8 headers", test_x8);
    unit_case(s, "etmv2_encoder: X9 data", test_x9);
    unit_case(s, "etmv2_encoder: X10 two packets in one cycle", test_x10);
    unit_case(s, "etmv2_encoder: X11 part of an LSM", test_x11);
    unit_case(s, "etmv2_encoder: X12 load miss", test_x12);
    unit_case(s, "etmv2_encoder: X13 context ID", test_x13);
    unit_case(s, "etmv2_encoder: X14 trace on, phantom branch", test_x14);
    unit_case(s, "etmv2_encoder: X15 periodic TFO", test_x15);
    unit_case(s, "etmv2_encoder: X17 16-bit port", test_x17);
    unit_case(s, "etmv2_encoder: X18 4-bit port, TFO inside a byte", test_x18);
    unit_case(s, "etmv2_encoder: X18 4-bit port, gap cycles", test_x18_tfo);
    unit_case(s, "etmv2_encoder: X19 trigger", test_x19);
    unit_case(s, "etmv2_encoder: X20 late branch with cancel", test_x20);
    unit_case(s, "etmv2_encoder: X21 LSM in progress", test_x21);
    unit_case(s, "etmv2_encoder: X21 LSM in progress, Normal TFO", test_x21_normal);
    unit_case(s, "etmv2_encoder: X22 overflow, debug exit", test_x22);
    return s;
}
