/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv2 model: branch addresses, rule by rule as IHI 0014Q 6.7.1 states them, and the options that
 * change how cycles look.
 */
#include "tests/support/etmv2_script.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <string.h>

#define PORT_8 ETMV2_MODEL_CR_PORT(1)
#define CPRT   (ETMV2_MODEL_CR_DATA_VALUE | ETMV2_MODEL_CR_CPRT)

static void start(struct etmv2_script *s, uint32_t etmcr, uint32_t address)
{
    struct etmv2_encoder_options o;

    etmv2_script_options(&o, etmcr);
    ck_assert(etmv2_script_start(s, &o, address));
    etmv2_script_on(s);
}

/* Bytes of a branch from a base of `from` to `to` (bit 0: Thumb). */
static unsigned branch_bytes(uint32_t from, uint32_t to, uint8_t *bytes)
{
    struct etmv2_script s;
    unsigned n = 0;

    start(&s, PORT_8, from);
    etmv2_script_branch(&s, from & 1 ? T16_BX_LR : A32_BX_LR, to);
    etmv2_encoder_drain(s.encoder);
    for (size_t i = s.mark; i < s.out.size && n < 8; i += 2)
        bytes[n++] = (uint8_t)(s.out.data[i] >> 3 | s.out.data[i + 1] << 5);
    etmv2_script_end(&s);
    return n;
}

static void check_bytes(uint32_t from, uint32_t to, const char *text)
{
    uint8_t bytes[8];
    char hex[32] = "";
    unsigned n = branch_bytes(from, to, bytes);

    for (unsigned i = 0; i < n; i++)
        snprintf(hex + strlen(hex), sizeof hex - strlen(hex), i ? " %02X" : "%02X", bytes[i]);
    ck_assert_str_eq(hex, text);
}

/* BA1, BA3, BA4, BA20, BA23, BA24: as many low groups as cover what changed. */
START_TEST(test_lengths)
{
    check_bytes(0x8000, 0x8010, "09");
    check_bytes(0x8000, 0x8124, "93 01");
    check_bytes(0x8000, 0x12344, "A3 A3 02");
    check_bytes(0x8000, 0x10008000, "81 80 81 40");
    check_bytes(0x8000, 0x20008000, "81 80 81 80 09");
    check_bytes(0x8000, 0x88000, "81 80 11");
    check_bytes(0x8001, 0x88001, "81 80 22");
    check_bytes(0x8000, 0xfffffffc, "FF FF FF FF 0F");
    check_bytes(0x8000, 0xffffffff, "FF FF FF FF 1F");
}
END_TEST

/* BA2: the base is the last address output; direct branches without packet do not move it. */
START_TEST(test_base)
{
    struct etmv2_script s;

    start(&s, PORT_8, 0x8000);
    for (unsigned i = 0; i < 3; i++)
        etmv2_script_branch(&s, A32_B, 0x10000000 * (i + 1));
    etmv2_script_branch(&s, A32_BX_LR, 0x8124);
    ck_assert_str_eq(etmv2_script_drained(&s), "IE 00 | IE 00 | IE 00 | DE 93 | WT 01");
    etmv2_script_end(&s);
}
END_TEST

/* BA9: in its cycle the address is last, whatever comes after the branch in time. */
START_TEST(test_last_of_cycle)
{
    const struct etmv2_model_access a = {.value = 0xab, .first = true, .cprt = true};
    struct etmv2_script s;

    start(&s, PORT_8 | CPRT | ETMV2_MODEL_CR_CONTEXT_ID(1), 0x8000);
    etmv2_script_branch(&s, A32_BX_LR, 0x8010);
    etmv2_encoder_data(s.encoder, &a);
    etmv2_encoder_set_context_id(s.encoder, 1);
    etmv2_encoder_data(s.encoder, &a);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 86 | WT AB | WT EE | WT 01 | WT 86 | WT AB | "
                                               "WT 09");
    etmv2_script_branch(&s, A32_BX_LR, 0x8014);
    etmv2_script_exception(&s, false, 0x18);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 0B | DW 8D | WT 80 | WT 00");
    etmv2_script_end(&s);
}
END_TEST

/* BA12, BA22, BA24 to BA26, BA31 to BA35: any pair of places, at the minimum length. */
START_TEST(test_random_pairs)
{
    struct trace_random random = {.state = 26};

    for (unsigned i = 0; i < 10000; i++) {
        uint32_t from = (uint32_t)trace_random_next(&random);
        uint32_t to =
            from ^ (uint32_t)(trace_random_next(&random) >> trace_random_below(&random, 63));
        from &= from & 1 ? 0xffffffff : 0xfffffffc;
        to &= to & 1 ? 0xffffffff : 0xfffffffc;
        unsigned shift = to & 1 ? 1 : 2;
        uint64_t old = ((uint64_t)1 << 32 | (from & ~1u)) >> (from & 1 ? 1 : 2) << 1 | 1;
        uint64_t value = ((uint64_t)1 << 32 | (to & ~1u)) >> shift << 1 | 1;
        uint8_t bytes[8];
        unsigned n = branch_bytes(from, to, bytes);
        uint64_t got = old;
        ck_assert_uint_le(n, 5);
        ck_assert(bytes[0] & 1);
        for (unsigned k = 0; k < n; k++) {
            ck_assert_int_eq(bytes[k] >> 7, k + 1 < n);
            got = (got & ~((uint64_t)0x7f << 7 * k)) | (uint64_t)(bytes[k] & 0x7f) << 7 * k;
        }
        ck_assert_msg(got == value, "0x%x to 0x%x: 0x%llx", from, to, (unsigned long long)got);
        ck_assert(n == 1 || (old ^ value) >> 7 * (n - 1) != 0);
        if (n == 5)
            ck_assert_int_eq(bytes[4] & (to & 1 ? 0xf0 : 0xf8), to & 1 ? 0x10 : 0x08);
    }
}
END_TEST

/* BA17: no instruction in the cycle, so the status is DW. */
START_TEST(test_late_is_dw)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    etmv2_script_options(&o, PORT_8);
    o.late_percent = 100;
    ck_assert(etmv2_script_start(&s, &o, 0x8000));
    etmv2_script_on(&s);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_branch(&s, A32_BX_LR, 0x8124);
    etmv2_encoder_wait(s.encoder, 1);
    etmv2_script_run(&s, A32_NOP);
    ck_assert_str_eq(etmv2_script_drained(&s), "IE 00 | IE 00 | TD 00 | DW 93 | IE 01");
    etmv2_script_branch(&s, A32_BX_LR, 0x8128);
    etmv2_encoder_trace_off(s.encoder);
    ck_assert_str_eq(etmv2_script_drained(&s), "IE 00 | DW 15");
    etmv2_script_end(&s);
}
END_TEST

/* BA28: canceling exceptions have five bytes, even if one would do. Never to Thumb code (BA30). */
START_TEST(test_cancel)
{
    const struct etmv2_place thumb = {.address = 0x18, .isa = BT_ISA_T32};
    struct etmv2_script s;

    start(&s, PORT_8, 0x14);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_exception(&s, true, 0x18);
    ck_assert_str_eq(etmv2_script_drained(&s), "IE 00 | DW 8D | WT 80 | WT 80 | WT 80 | WT 48");
    etmv2_script_exception(&s, false, 0x1c);
    ck_assert_str_eq(etmv2_script_drained(&s), "DW 0F");
    ck_assert_int_eq(etmv2_encoder_exception(s.encoder, true, &thumb), BT_ERR_INVAL);
    etmv2_script_end(&s);
}
END_TEST

START_TEST(test_broadcast)
{
    struct etmv2_script s;

    start(&s, PORT_8 | ETMV2_MODEL_CR_BROADCAST, 0x8000);
    etmv2_script_branch(&s, A32_B, 0x8010);
    etmv2_script_fail(&s, A32_BEQ);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 09 | IN 00");
    etmv2_script_end(&s);
}
END_TEST

/* Thumb BL of v4T: the second half is direct behind the first, and an indirect branch elsewhere. */
START_TEST(test_thumb_call)
{
    struct etmv2_script s;

    start(&s, PORT_8, 0x8001);
    etmv2_script_run(&s, 0xf000);
    etmv2_script_branch(&s, 0xf802, 0x8009);
    etmv2_script_branch(&s, 0xf802, 0x8021);
    ck_assert_str_eq(etmv2_script_drained(&s), "IE 00 | IE 00 | DE 21");
    etmv2_script_end(&s);
}
END_TEST

/* Four phantom pairs; a branch that nothing can run beside is alone. */
START_TEST(test_phantoms)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    etmv2_script_options(&o, PORT_8);
    o.phantom_percent = 100;
    ck_assert(etmv2_script_start(&s, &o, 0x8000));
    etmv2_script_on(&s);
    for (unsigned i = 0; i < 4; i++) {
        i & 1 ? etmv2_script_fail(&s, A32_BEQ) : etmv2_script_run(&s, A32_BEQ);
        i & 2 ? etmv2_script_fail(&s, A32_NOP) : etmv2_script_run(&s, A32_NOP);
    }
    etmv2_script_run(&s, A32_BEQ);
    etmv2_script_branch(&s, A32_BX_LR, 0x8004);
    etmv2_script_fail(&s, A32_BEQ);
    etmv2_script_exception(&s, false, 0x8018);
    etmv2_script_run(&s, A32_BEQ);
    etmv2_encoder_request_sync(s.encoder);
    etmv2_script_run(&s, A32_NOP);
    etmv2_script_run(&s, A32_NOP);
    ck_assert_str_eq(etmv2_script_drained(&s), "PTIE 00 | PNIE 00 | PTIN 00 | PNIN 00 | PTDE 03 | "
                                               "IN 00 | DW 0D | PTIE 00 | TD 01 | WT 00 | WT 20 | "
                                               "WT 80 | WT 00 | WT 00");
    etmv2_script_end(&s);
}
END_TEST

/* Cycle-accurate: a wait cycle without a byte is a TD that must be kept, by either code. */
START_TEST(test_cycle_accurate)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    for (unsigned wait = 0; wait < 2; wait++) {
        etmv2_script_options(&o, PORT_8 | ETMV2_MODEL_CR_CYCLE_ACCURATE);
        o.wait = wait ? ETMV2_MODEL_WAIT_ZEROS : ETMV2_MODEL_WAIT_ONES;
        o.drop_idle = true;
        ck_assert(etmv2_script_start(&s, &o, 0x8000));
        etmv2_encoder_wait(s.encoder, 3);
        ck_assert_str_eq(etmv2_script_text(&s), "");
        etmv2_encoder_trace_on(s.encoder, &s.pc, false);
        etmv2_encoder_wait(s.encoder, 7);
        etmv2_encoder_trace_off(s.encoder);
        etmv2_encoder_wait(s.encoder, 5);
        ck_assert_str_eq(etmv2_script_drained(&s),
                         wait ? "TD 03 | WT 20 | WT 00 | WT 80 | WT 00 | WT 00 | TD 01 | TD 01"
                              : "TD 01 | WT 20 | WT 00 | WT 80 | WT 00 | WT 00 | TD 0F | TD 0F");
        etmv2_script_end(&s);
    }
}
END_TEST

/* A group's first byte a cycle later than its status. */
START_TEST(test_late_group)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    etmv2_script_options(&o, PORT_8);
    o.late_group = true;
    ck_assert(etmv2_script_start(&s, &o, 0x8000));
    etmv2_script_on(&s);
    etmv2_script_branch(&s, A32_BX_LR, 0x8124);
    etmv2_script_run(&s, A32_NOP);
    ck_assert_str_eq(etmv2_script_drained(&s), "DE 00 | IE 93 | WT 01");
    etmv2_script_end(&s);
}
END_TEST

/* No IE for two sync periods is an overflow; an IE in time is a periodic TFO. */
START_TEST(test_sync_period)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    etmv2_script_options(&o, PORT_8);
    o.sync_period = 10;
    ck_assert(etmv2_script_start(&s, &o, 0x8000));
    etmv2_script_on(&s);
    etmv2_encoder_wait(s.encoder, 5);
    s.mark = s.out.size;
    etmv2_script_run(&s, A32_NOP);
    etmv2_encoder_wait(s.encoder, 5);
    ck_assert_str_eq(etmv2_script_drained(&s), "TD 01 | WT 00 | WT 00 | WT 80 | WT 00 | WT 00");
    for (unsigned i = 0; i < 15; i++)
        etmv2_script_fail(&s, A32_NOP);
    etmv2_script_drained(&s);
    etmv2_script_run(&s, A32_NOP);
    ck_assert_str_eq(etmv2_script_drained(&s), "TD 01 | IE 40 | WT 40 | WT 80 | WT 00 | WT 00");
    etmv2_script_end(&s);
}
END_TEST

/* A full FIFO stalls the core, or is an overflow: all of a cycle or nothing. */
START_TEST(test_full)
{
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    for (unsigned lose = 0; lose < 2; lose++) {
        etmv2_script_options(&o, PORT_8);
        o.fifo_size = 24;
        o.lose_when_full = lose;
        ck_assert(etmv2_script_start(&s, &o, 0x8000));
        etmv2_script_on(&s);
        for (unsigned i = 0; i < 6; i++)
            etmv2_script_branch(&s, A32_BX_LR, i & 1 ? 0x8000 : 0x20008000);
        const char *text = etmv2_script_text(&s);
        ck_assert_str_eq(text, lose ? "DE 81 | DE 80 | DE 81 | DE 80 | DE 09 | WT 81"
                                    : "DE 81 | DE 80 | DE 81 | DE 80 | DE 09 | WT 81 | DE 80");
        ck_assert(etmv2_encoder_tracing(s.encoder) == !lose);
        etmv2_script_end(&s);
    }
}
END_TEST

/* ETB words of an 8-bit port: TD 01, WT 20 are 0x00f and 0x104 (PIPESTAT[3] is bit 11). */
START_TEST(test_etb)
{
    static const uint8_t words[] = {0x0f, 0x40, 0x10, 0x00, 0x04, 0x40,
                                    0x40, 0x00, 0x04, 0x40, 0x00, 0x00};
    struct etmv2_encoder_options o;
    struct etmv2_script s;

    etmv2_script_options(&o, PORT_8);
    o.layout = PORT_MODEL_ETB;
    ck_assert(etmv2_script_start(&s, &o, 0x8000));
    etmv2_encoder_trace_on(s.encoder, &s.pc, false);
    etmv2_encoder_finish(s.encoder);
    ck_assert_uint_eq(s.out.size, sizeof words);
    ck_assert_mem_eq(s.out.data, words, sizeof words);
    etmv2_script_end(&s);
}
END_TEST

START_TEST(test_options)
{
    struct etmv2_encoder_options o;
    struct trace_bytes out = {0};

    etmv2_encoder_default_options(&o);
    o.etmidr = 0x410cf250; /* an ETMv3 */
    ck_assert_ptr_null(etmv2_encoder_new(&o, &out));
    etmv2_encoder_default_options(&o);
    o.etmcr = ETMV2_MODEL_CR_PORT(3);
    ck_assert_ptr_null(etmv2_encoder_new(&o, &out));
    etmv2_encoder_default_options(&o);
    o.fifo_size = 120;
    ck_assert_ptr_null(etmv2_encoder_new(&o, &out));
    etmv2_encoder_default_options(&o);
    o.tfo4_extra = 0;
    ck_assert_ptr_null(etmv2_encoder_new(&o, &out));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv2 encoder branches");

    unit_case(s, "etmv2_encoder: branch of one to five bytes", test_lengths);
    unit_case(s, "etmv2_encoder: base of compression", test_base);
    unit_case(s, "etmv2_encoder: branch address is last of its cycle", test_last_of_cycle);
    unit_case(s, "etmv2_encoder: 10,000 branches at minimum length", test_random_pairs);
    unit_case(s, "etmv2_encoder: late branch is DW", test_late_is_dw);
    unit_case(s, "etmv2_encoder: canceling exception has five bytes", test_cancel);
    unit_case(s, "etmv2_encoder: branch broadcast", test_broadcast);
    unit_case(s, "etmv2_encoder: Thumb BL in two halves", test_thumb_call);
    unit_case(s, "etmv2_encoder: phantom branches", test_phantoms);
    unit_case(s, "etmv2_encoder: cycle-accurate waits", test_cycle_accurate);
    unit_case(s, "etmv2_encoder: group a cycle late", test_late_group);
    unit_case(s, "etmv2_encoder: sync period", test_sync_period);
    unit_case(s, "etmv2_encoder: full FIFO", test_full);
    unit_case(s, "etmv2_encoder: ETB words", test_etb);
    unit_case(s, "etmv2_encoder: options out of range", test_options);
    return s;
}
