/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv1 model: the worked examples of etmv1-examples.case, cycle for cycle (E12 is for decoders
 * only). */
#include "tests/support/etmv1_script.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define PORT_4     ETMV1_MODEL_CR_PORT(0)
#define PORT_8     ETMV1_MODEL_CR_PORT(1)
#define PORT_16    ETMV1_MODEL_CR_PORT(2)
#define VALUES     ETMV1_MODEL_CR_DATA_VALUE
#define ADDRESSES  ETMV1_MODEL_CR_DATA_ADDRESS
#define DATA       (VALUES | ADDRESSES)
#define A32_LDRB   0xe5d10000u
#define A32_LDRH   0xe1d100b0u
#define A32_LDRD   0xe1c200d0u
#define A32_LDM_PC 0xe8908002u
#define A32_BXJ    0xe12fff23u
#define SEEDS      20000

/* Trace off at `address`. */
static void start(struct etmv1_script *s, uint32_t etmcr, uint32_t etmccr, uint32_t address)
{
    struct etmv1_encoder_options o;

    etmv1_script_options(&o, etmcr);
    o.etmccr = etmccr;
    ck_assert(etmv1_script_start(s, &o, address));
}

/* Trace on at `address`, the FIFO empty. */
static void start_on(struct etmv1_script *s, uint32_t etmcr, uint32_t address)
{
    start(s, etmcr, ETMV1_MODEL_CCR_V13, address);
    etmv1_script_on(s);
}

static void finish(struct etmv1_script *s, const char *text)
{
    ck_assert_str_eq(etmv1_script_drained(s), text);
    etmv1_script_end(s);
}

/* A branch from a base of `from` to `to` (bit 0: Thumb). */
static void check_branch(uint32_t from, uint32_t to, const char *text)
{
    struct etmv1_script s;

    start_on(&s, PORT_8, from);
    etmv1_script_branch(&s, from & 1 ? T16_BX_LR : A32_BX_LR, to);
    finish(&s, text);
}

START_TEST(test_e1_to_e6)
{
    check_branch(0x8000, 0x12344, "BE C4s | IE C6 | IE 04");
    check_branch(0x12344, 0x12381, "BE 81s | IE 47 | IE 00");
    check_branch(0x12345678, 0x12345678, "BE 78s | IE 00 | IE 00");
    check_branch(0x8000, 0x08008000, "BE 80s | IE 80 | IE 82 | WT 40");
    check_branch(0x8000, 0xffff0018, "BE 98s | IE 80 | IE FC | WT FF | WT 0F");
}
END_TEST

START_TEST(test_e2)
{
    struct etmv1_script s;

    start(&s, PORT_8, ETMV1_MODEL_CCR_V11, 0x8000);
    etmv1_encoder_trace_on(s.encoder, &s.pc);
    finish(&s, "BE 80s | IE 80 | IE 82 | WT 80 | WT 10");
}
END_TEST

/* High vectors: no context ID behind reason 0, whatever its size. */
START_TEST(test_e6)
{
    struct etmv1_script s;

    start_on(&s, PORT_8 | ETMV1_MODEL_CR_CONTEXT_ID(3), 0x8000);
    etmv1_script_exception(&s, false, 0xffff0018);
    finish(&s, "BE 98s | IE 80 | IE FC | WT FF | WT 0F");
}
END_TEST

START_TEST(test_e7)
{
    struct etmv1_script s;

    start(&s, PORT_8 | ETMV1_MODEL_CR_CONTEXT_ID(2), ETMV1_MODEL_CCR_V12, 0x8000);
    etmv1_encoder_set_context_id(s.encoder, 0x1234);
    etmv1_script_on(&s);
    etmv1_encoder_request_sync(s.encoder);
    etmv1_script_branch(&s, A32_BX_LR, 0xa010);
    ck_assert_str_eq(etmv1_script_drained(&s),
                     "BE 90s | IE C0 | IE 82 | WT 80 | WT 40 | WT 34 | WT 12");
    /* A new context ID: even a direct branch tells it. */
    etmv1_encoder_set_context_id(s.encoder, 0x5678);
    etmv1_script_branch(&s, A32_B, 0xa010);
    etmv1_script_branch(&s, A32_B, 0xa010);
    finish(&s, "BE 90s | IE C0 | IE 82 | IE 80 | WT 40 | WT 78 | WT 56");

    /* v1.1: reason 0, and no context ID at all. */
    start(&s, PORT_8 | ETMV1_MODEL_CR_CONTEXT_ID(2), ETMV1_MODEL_CCR_V11, 0x8000);
    etmv1_script_on(&s);
    etmv1_encoder_set_context_id(s.encoder, 0x1234);
    etmv1_script_branch(&s, A32_B, 0xa010);
    etmv1_encoder_request_sync(s.encoder);
    etmv1_script_branch(&s, A32_B, 0xa010);
    finish(&s, "IE 00 | BE 90s | IE C0 | IE 82 | WT 80 | WT 00");
}
END_TEST

START_TEST(test_e8)
{
    struct etmv1_script s;
    struct etmv1_insn bxj = {.opcode = A32_BXJ, .pass = true};

    start_on(&s, PORT_8, 0x10000);
    bxj.at = s.pc;
    bxj.next = (struct etmv1_place){.address = 0x10203, .isa = BT_ISA_JAZELLE};
    ck_assert_int_eq(etmv1_encoder_insn(s.encoder, &bxj), 0);
    ck_assert_str_eq(etmv1_script_drained(&s), "BE 83s | IE 84 | IE 84 | WT 80 | WT 80");
    etmv1_script_exception(&s, false, 0x18);
    finish(&s, "BE 98s | IE 80 | IE 80 | WT 80 | WT 00");

    start(&s, PORT_8, ETMV1_MODEL_CCR_V12, 0x10000);
    ck_assert_int_eq(etmv1_encoder_insn(s.encoder, &bxj), BT_ERR_INVAL);
    ck_assert_int_eq(etmv1_encoder_trace_on(s.encoder, &bxj.next), BT_ERR_INVAL);
    etmv1_script_end(&s);
}
END_TEST

START_TEST(test_e9)
{
    struct etmv1_script s;

    start(&s, PORT_8 | DATA, ETMV1_MODEL_CCR_V13, 0x8000);
    etmv1_encoder_trace_on(s.encoder, &s.pc);
    etmv1_script_run(&s, A32_NOP);
    etmv1_script_run(&s, A32_LOAD_WORD);
    etmv1_script_data(&s, 0x40000100, 0x12345678, 4);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_wait(s.encoder, 9);
    finish(&s, "BE 80s | IE 80 | IE 82 | IE 80 | ID 10 | IE 80 | WT 82 | WT 80 | WT 80 | WT 04 | "
               "WT 78 | WT 56 | WT 34 | WT 12 | TD 00");
}
END_TEST

/* The places of early data are random: one seed gives those of the example. */
START_TEST(test_e10)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;
    bool found = false;

    for (uint64_t seed = 1; !found && seed < SEEDS; seed++) {
        etmv1_script_options(&o, PORT_8 | DATA | ETMV1_MODEL_CR_CYCLE_ACCURATE);
        o.seed = seed;
        o.early_percent = 50;
        ck_assert(etmv1_script_start(&s, &o, 0x8000));
        etmv1_script_on(&s);
        etmv1_script_run(&s, A32_LOAD_WORD);
        etmv1_script_data(&s, 0x40000100, 0, 4);
        etmv1_script_drained(&s);
        etmv1_script_run(&s, A32_NOP);
        etmv1_script_run(&s, A32_LOAD_WORD);
        etmv1_script_data(&s, 0x40000104, 0xddccbbaa, 4);
        etmv1_script_run(&s, A32_NOP);
        etmv1_encoder_wait(s.encoder, 2);
        found = strcmp(etmv1_script_text(&s), "IE 00 | WT 04 | TD 01 | WT AA | ID BB | IE CC | "
                                              "WT DD | TD 01") == 0;
        etmv1_script_end(&s);
    }
    ck_assert(found);
}
END_TEST

START_TEST(test_e11)
{
    struct etmv1_script s;

    start_on(&s, PORT_8 | VALUES, 0x8000);
    etmv1_script_branch(&s, A32_BX_LR, 0x8124);
    etmv1_script_run(&s, A32_LDRD);
    etmv1_script_data(&s, 0, 0x04030201, 4);
    etmv1_script_data(&s, 0, 0x08070605, 4);
    etmv1_script_branch(&s, A32_BX_LR, 0x8000);
    etmv1_script_branch(&s, A32_BX_LR, 0x8010);
    etmv1_encoder_wait(s.encoder, 0);
    etmv1_encoder_request_sync(s.encoder);
    etmv1_script_branch(&s, A32_BX_LR, 0xa000);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_wait(s.encoder, 6);
    finish(&s, "BE A4s | IE 02 | IE 00 | ID 01 | BE 02 | IE 03 | IE 04 | BE 05 | ID 06 | IE 07 | "
               "BE 08 | IN 80s | IE 00 | IE 10s | WT 80s | WT C0 | WT 82 | WT 80 | WT 40 | TD 00");
}
END_TEST

START_TEST(test_e13)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;
    unsigned early = 0;

    for (uint64_t seed = 1; seed < 40; seed++) {
        etmv1_script_options(&o, PORT_8);
        o.seed = seed;
        o.abandon_percent = 100;
        ck_assert(etmv1_script_start(&s, &o, 0x8000));
        etmv1_script_on(&s);
        etmv1_script_branch(&s, A32_BX_LR, 0x8124);
        etmv1_script_exception(&s, false, 0x18);
        etmv1_script_run(&s, A32_NOP);
        etmv1_encoder_wait(s.encoder, 1);
        const char *text = etmv1_script_drained(&s);
        bool first = strcmp(text, "BE A4s | BE 02 | IE 98s | IE 80 | IE 00 | TD 00") == 0;
        early += first;
        if (!first)
            ck_assert_str_eq(text, "BE A4s | IE 02 | BE 98s | IE 80 | IE 00 | IE 00 | TD 00");
        etmv1_script_end(&s);
    }
    ck_assert_uint_gt(early, 0);
    ck_assert_uint_lt(early, 39);
}
END_TEST

START_TEST(test_e14)
{
    struct etmv1_script s;

    start_on(&s, PORT_4 | VALUES, 0x8000);
    etmv1_script_branch(&s, A32_BX_LR, 0x8124);
    etmv1_script_run(&s, A32_NOP);
    etmv1_script_run(&s, A32_LDRB);
    etmv1_script_data(&s, 0, 0x5a, 1);
    finish(&s, "BE 4s | IE A | IE 2 | IE 0 | ID A | WT 5");
}
END_TEST

START_TEST(test_e15)
{
    struct etmv1_script s;

    start_on(&s, PORT_8 | VALUES, 0x8000);
    etmv1_script_branch(&s, A32_BX_LR, 0x8124);
    etmv1_encoder_wait(s.encoder, 0);
    etmv1_encoder_trigger(s.encoder);
    etmv1_script_run(&s, A32_NOP);
    etmv1_script_run(&s, A32_LDRH);
    etmv1_script_data(&s, 0, 0x15a, 2);
    etmv1_encoder_wait(s.encoder, 0);
    etmv1_encoder_trigger(s.encoder);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_wait(s.encoder, 2);
    finish(&s, "BE A4s | TR 00 | IE 02 | IE 00 | ID 5A | TR 00 | WT 01 | TD 00");
}
END_TEST

START_TEST(test_e16)
{
    struct etmv1_script s;

    start_on(&s, PORT_8 | DATA, 0x8000);
    etmv1_script_run(&s, A32_LOAD_WORD);
    etmv1_script_data(&s, 0x40000100, 0, 4);
    etmv1_script_drained(&s);
    etmv1_script_branch(&s, A32_LDM_PC, 0x8010);
    etmv1_script_data(&s, 0x40000110, 1, 4);
    etmv1_script_data(&s, 0, 0x8010, 4);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_wait(s.encoder, 7);
    finish(&s, "BD 10 | IE 01 | IE 00 | IE 00 | WT 00 | WT 10 | WT 80 | WT 00 | WT 00 | WT 10s | "
               "TD 00");
}
END_TEST

START_TEST(test_e17)
{
    struct etmv1_script s;

    start_on(&s, PORT_16 | VALUES, 0x8000);
    etmv1_script_run(&s, A32_LDRH);
    etmv1_script_data(&s, 0, 0x2211, 2);
    etmv1_script_run(&s, A32_LDRB);
    etmv1_script_data(&s, 0, 0x33, 1);
    etmv1_script_branch(&s, A32_BX_LR, 0x12344);
    etmv1_script_run(&s, A32_NOP);
    finish(&s, "ID 2211 | ID 0033 | BE C6C4s | IE 0004 | IE 0000 | IE 0000");
}
END_TEST

START_TEST(test_e18)
{
    struct etmv1_script s;

    start(&s, PORT_8 | ETMV1_MODEL_CR_CYCLE_ACCURATE, ETMV1_MODEL_CCR_V13, 0x8000);
    etmv1_encoder_trace_on(s.encoder, &s.pc);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_wait(s.encoder, 2);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_wait(s.encoder, 1);
    etmv1_script_run(&s, A32_NOP);
    etmv1_encoder_trace_off(s.encoder);
    etmv1_encoder_wait(s.encoder, 2);
    finish(&s, "BE 80s | IE 80 | IE 82 | IE 80 | WT 10 | TD 01 | IE 00 | TD 01 | IE 00 | TD 00 | "
               "TD 00");
}
END_TEST

static uint32_t first_word(uint32_t etmcr, uint32_t from, uint32_t to)
{
    struct etmv1_encoder_options o;
    struct etmv1_script s;

    etmv1_script_options(&o, etmcr);
    o.layout = PORT_MODEL_ETB;
    o.etmccr = ETMV1_MODEL_CCR_V13;
    ck_assert(etmv1_script_start(&s, &o, from));
    etmv1_encoder_trace_on(s.encoder, &s.pc);
    if (to) {
        etmv1_encoder_finish(s.encoder);
        s.mark = s.out.size;
        etmv1_script_branch(&s, A32_BX_LR, to);
    }
    etmv1_encoder_finish(s.encoder);
    const uint8_t *p = s.out.data + s.mark;
    uint32_t word = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    etmv1_script_end(&s);
    return word;
}

START_TEST(test_e19)
{
    ck_assert_uint_eq(first_word(PORT_8, 0x8000, 0), 0x00400c04);
    ck_assert_uint_eq(first_word(PORT_16, 0x8000, 0x12344), 0x000e3624);
    /* A4, 50, then not WT but the IE of an APO: bits [18:16] are not those of the example. */
    ck_assert_uint_eq(first_word(PORT_4, 0x8000, 0x8124), 0x001050a4);
}
END_TEST

START_TEST(test_e20)
{
    struct etmv1_script s;

    start(&s, PORT_8 | ETMV1_MODEL_CR_CONTEXT_ID(1), ETMV1_MODEL_CCR_V12, 0x8000);
    etmv1_script_on(&s);
    etmv1_script_branch(&s, A32_BX_LR, 0x20008000);
    etmv1_encoder_overflow(s.encoder, 100);
    etmv1_encoder_set_context_id(s.encoder, 7);
    etmv1_script_at(&s, 0x8000);
    etmv1_encoder_restart(s.encoder, &s.pc);
    ck_assert_str_eq(etmv1_script_drained(&s),
                     "BE 80s | IE 80 | IE 82 | WT 80 | WT 02 | BE 80s | IE 80 | IE 82 | WT 80 | "
                     "WT 20 | WT 07");
    etmv1_script_end(&s);
}
END_TEST

/* A second restart takes the place of the first one's APO cycles. */
START_TEST(test_e20_twice)
{
    struct etmv1_script s;

    start_on(&s, PORT_8, 0x8000);
    etmv1_encoder_overflow(s.encoder, 0);
    etmv1_encoder_restart(s.encoder, &s.pc);
    etmv1_script_at(&s, 0x9000);
    etmv1_encoder_restart(s.encoder, &s.pc);
    const char *text = etmv1_script_drained(&s);
    bool at_once = strstr(text, "BE 80s | BE 80 |") == text;
    ck_assert_str_eq(text, at_once ? "BE 80s | BE 80 | IE 82 | IE 80 | WT 20 | WT 80s | WT A0 | "
                                     "WT 82 | WT 80 | WT 20"
                                   : "BE 80s | IE 80 | BE 82 | IE 80 | IE 20 | WT 80s | WT A0 | "
                                     "WT 82 | WT 80 | WT 20");
    etmv1_script_end(&s);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv1 encoder");

    unit_case(s, "etmv1_encoder: E1, E3 to E6 addresses", test_e1_to_e6);
    unit_case(s, "etmv1_encoder: E2 trace on", test_e2);
    unit_case(s, "etmv1_encoder: E6 high vectors", test_e6);
    unit_case(s, "etmv1_encoder: E7 periodic sync, context ID", test_e7);
    unit_case(s, "etmv1_encoder: E8 Jazelle", test_e8);
    unit_case(s, "etmv1_encoder: E9 start of trace", test_e9);
    unit_case(s, "etmv1_encoder: E10 early packets", test_e10);
    unit_case(s, "etmv1_encoder: E11 APO with a backlog", test_e11);
    unit_case(s, "etmv1_encoder: E13 abandoned branch", test_e13);
    unit_case(s, "etmv1_encoder: E14 4-bit port", test_e14);
    unit_case(s, "etmv1_encoder: E15 triggers", test_e15);
    unit_case(s, "etmv1_encoder: E16 branch with data", test_e16);
    unit_case(s, "etmv1_encoder: E17 16-bit port", test_e17);
    unit_case(s, "etmv1_encoder: E18 cycle-accurate", test_e18);
    unit_case(s, "etmv1_encoder: E19 ETB words", test_e19);
    unit_case(s, "etmv1_encoder: E20 overflow", test_e20);
    unit_case(s, "etmv1_encoder: E20 restart replaced", test_e20_twice);
    return s;
}
