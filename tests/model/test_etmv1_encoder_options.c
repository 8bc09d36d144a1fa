/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv1 model: what the worked examples do not show. */
#include "tests/support/etmv1_script.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define PORT_8    ETMV1_MODEL_CR_PORT(1)
#define PORT_16   ETMV1_MODEL_CR_PORT(2)
#define VALUES    ETMV1_MODEL_CR_DATA_VALUE
#define ADDRESSES ETMV1_MODEL_CR_DATA_ADDRESS
#define A32_MCR   0xee010f10u
#define A32_LDRB  0xe5d10000u

static void start_on(struct etmv1_script *s, struct etmv1_encoder_options *o, uint32_t address)
{
    ck_assert(etmv1_script_start(s, o, address));
    etmv1_script_on(s);
}

/* The counter asks for an indirect branch first, and takes a direct one when none came in time. */
START_TEST(test_sync_period)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, PORT_8);
    o.sync_period = 10;
    o.sync_patience = 5;
    start_on(&s, &o, 0x8000);
    etmv1_encoder_wait(s.encoder, 5);
    s.mark = s.out.size;
    etmv1_script_branch(&s, A32_B, 0x8000);
    etmv1_script_branch(&s, A32_BX_LR, 0x8000);
    ck_assert_str_eq(etmv1_script_drained(&s), "IE 00 | BE 80s | IE 80 | IE 82 | WT 80 | WT 40");
    etmv1_encoder_wait(s.encoder, 9);
    s.mark = s.out.size;
    etmv1_script_branch(&s, A32_B, 0x8000);
    etmv1_script_branch(&s, A32_B, 0x8000);
    ck_assert_str_eq(etmv1_script_drained(&s), "IE 00 | BE 80s | IE 80 | IE 82 | WT 80 | WT 40");
    etmv1_script_branch(&s, A32_BX_LR, 0x8000);
    ck_assert_str_eq(etmv1_script_drained(&s), "BE 00s | IE 00 | IE 00");
    etmv1_script_end(&s);
}
END_TEST

START_TEST(test_broadcast)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, PORT_8 | ETMV1_MODEL_CR_BROADCAST);
    start_on(&s, &o, 0x8000);
    etmv1_script_branch(&s, A32_B, 0x8010);
    etmv1_script_fail(&s, A32_BEQ);
    ck_assert_str_eq(etmv1_script_drained(&s), "BE 10s | IE 00 | IE 00 | IN 00");
    etmv1_script_end(&s);
}
END_TEST

/* Fifteen addresses wait and cannot be told apart any more. */
START_TEST(test_offset_limit)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;
    const char *want = "BE 11 | IN 11 | WT 11 | BE 11 | WT 11 | WT 11 | BE 11 | WT 11 | WT 11";

    etmv1_script_options(&o, PORT_8 | VALUES);
    o.fifo_size = 250;
    start_on(&s, &o, 0x8000);
    etmv1_script_run(&s, A32_LOAD_WORD);
    for (unsigned i = 0; i < 16; i++)
        etmv1_script_data(&s, 0, 0x11111111, 4);
    for (unsigned i = 0; i < 17; i++)
        etmv1_script_branch(&s, A32_BX_LR, 0x8000 + 8 * i);
    etmv1_encoder_wait(s.encoder, 2);
    const char *text = etmv1_script_text(&s);
    ck_assert_uint_gt(strlen(text), 80);
    ck_assert_str_eq(text + strlen(text) - strlen(want), want);
    etmv1_script_end(&s);
}
END_TEST

/* Data goes out with one of three selections; coprocessor transfers have no address. */
START_TEST(test_data_access)
{
    static const struct {
        uint32_t etmcr;
        const char *text;
    } rows[] = {
        {0, "IE 00 | IE 00"},
        {VALUES | ETMV1_MODEL_CR_CPRT, "ID 34 | ID 12 | WT 78 | WT 56 | WT 34 | WT 12"},
        {ADDRESSES | ETMV1_MODEL_CR_CPRT, "ID 80 | IE 82 | WT 80 | WT 80 | WT 04"},
        {VALUES | ADDRESSES, "ID 80 | IE 82 | WT 80 | WT 80 | WT 04 | WT 34 | WT 12"},
    };
    const struct etmv1_model_access cprt = {.value = 0x12345678, .size = 4, .cprt = true};

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct etmv1_encoder_options o;
        struct etmv1_script s;
        etmv1_script_options(&o, PORT_8 | rows[i].etmcr);
        start_on(&s, &o, 0x8000);
        etmv1_script_run(&s, A32_LOAD_WORD);
        etmv1_script_data(&s, 0x40000100, 0x1234, 2);
        etmv1_script_run(&s, A32_MCR);
        ck_assert_int_eq(etmv1_encoder_data(s.encoder, &cprt), 0);
        ck_assert_str_eq(etmv1_script_drained(&s), rows[i].text);
        etmv1_script_end(&s);
    }
}
END_TEST

START_TEST(test_big_endian)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, PORT_8 | VALUES);
    o.big_endian = true;
    start_on(&s, &o, 0x8000);
    etmv1_script_run(&s, A32_LOAD_WORD);
    etmv1_script_data(&s, 0, 0x1234, 2);
    ck_assert_str_eq(etmv1_script_drained(&s), "ID 12 | WT 34");
    etmv1_script_end(&s);
}
END_TEST

/* A data address is full after 1024 cycles, and when trace was interrupted. */
START_TEST(test_full_data_address)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, PORT_8 | ADDRESSES);
    o.drop_idle = true;
    start_on(&s, &o, 0x8000);
    for (unsigned i = 0; i < 4; i++) {
        etmv1_script_run(&s, A32_LOAD_WORD);
        etmv1_script_data(&s, 0x104, 0, 4);
        ck_assert_str_eq(etmv1_script_drained(&s),
                         i == 1 ? "ID 04" : "ID 84 | WT 82 | WT 80 | WT 80 | WT 00");
        if (i == 1)
            etmv1_encoder_wait(s.encoder, 1024);
        if (i == 2) {
            etmv1_encoder_debug_entry(s.encoder);
            etmv1_script_run(&s, A32_NOP);
            s.mark = s.out.size;
            etmv1_encoder_debug_exit(s.encoder, &s.pc);
            ck_assert_str_eq(etmv1_script_drained(&s), "BE 90s | IE 80 | IE 82 | WT 80 | WT 30");
        }
    }
    etmv1_script_end(&s);
}
END_TEST

/* The load's status still comes, and what was in the FIFO, but nothing behind it. */
START_TEST(test_overflow)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, PORT_8 | VALUES);
    start_on(&s, &o, 0x8000);
    etmv1_script_run(&s, A32_LOAD_WORD);
    etmv1_script_data(&s, 0, 0x12345678, 4);
    etmv1_encoder_overflow(s.encoder, 1);
    etmv1_script_run(&s, A32_NOP);
    ck_assert_str_eq(etmv1_script_drained(&s), "ID 78 | TD 00");
    etmv1_script_end(&s);
}
END_TEST

/* An exception that the open instruction causes is its own branch. */
START_TEST(test_own_exception)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, PORT_8 | VALUES);
    start_on(&s, &o, 0x8000);
    etmv1_script_run(&s, A32_LDRB);
    etmv1_script_data(&s, 0, 0xab, 1);
    etmv1_script_exception(&s, true, 0x10);
    ck_assert_str_eq(etmv1_script_drained(&s), "BD AB | IE 90s | IE 80 | WT 00");
    etmv1_script_run(&s, A32_NOP);
    etmv1_script_exception(&s, true, 0x08);
    ck_assert_str_eq(etmv1_script_drained(&s), "BE 08s | IE 00 | IE 00");
    etmv1_script_end(&s);
}
END_TEST

/* 16-bit port: three bytes; the last one goes at once, or waits for a fourth. */
START_TEST(test_lone_byte)
{
    for (unsigned hold = 0; hold < 2; hold++) {
        struct etmv1_encoder_options o;
        struct etmv1_script s;
        etmv1_script_options(&o, PORT_16 | VALUES);
        o.hold_single = hold;
        start_on(&s, &o, 0x8000);
        etmv1_script_run(&s, A32_LDRB);
        etmv1_script_data(&s, 0, 0x2211, 2);
        etmv1_script_data(&s, 0, 0x33, 1);
        etmv1_encoder_wait(s.encoder, 1);
        etmv1_script_run(&s, A32_NOP);
        etmv1_script_run(&s, A32_LDRB);
        etmv1_script_data(&s, 0, 0x44, 1);
        ck_assert_str_eq(etmv1_script_text(&s), hold ? "ID 2211 | TD 0000 | IE 0000 | ID 4433"
                                                     : "ID 2211 | WT 0033 | IE 0000 | ID 0044");
        etmv1_script_end(&s);
    }
}
END_TEST

START_TEST(test_options)
{
    struct etmv1_encoder_options o;
    struct trace_bytes out = {0};

    etmv1_encoder_default_options(&o);
    o.etmccr = 0x80000000; /* has an ID register: not an ETMv1 */
    ck_assert_ptr_null(etmv1_encoder_new(&o, &out));
    etmv1_encoder_default_options(&o);
    o.etmcr = ETMV1_MODEL_CR_PORT(4);
    ck_assert_ptr_null(etmv1_encoder_new(&o, &out));
    etmv1_encoder_default_options(&o);
    o.fifo_size = 8;
    ck_assert_ptr_null(etmv1_encoder_new(&o, &out));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv1 encoder options");

    unit_case(s, "etmv1_encoder: full addresses in time", test_sync_period);
    unit_case(s, "etmv1_encoder: branch broadcast", test_broadcast);
    unit_case(s, "etmv1_encoder: APO 15", test_offset_limit);
    unit_case(s, "etmv1_encoder: values, addresses, both", test_data_access);
    unit_case(s, "etmv1_encoder: big-endian values", test_big_endian);
    unit_case(s, "etmv1_encoder: full data addresses", test_full_data_address);
    unit_case(s, "etmv1_encoder: overflow inside a load", test_overflow);
    unit_case(s, "etmv1_encoder: exception of the instruction itself", test_own_exception);
    unit_case(s, "etmv1_encoder: single bytes on a 16-bit port", test_lone_byte);
    unit_case(s, "etmv1_encoder: options out of range", test_options);
    return s;
}
