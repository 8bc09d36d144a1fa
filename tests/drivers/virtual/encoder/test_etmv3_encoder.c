/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/virtual/encoder/etmv3_encoder.c, etmv3_atoms.c, etmv3_output.c, etmv3_packets.c and
 * etmv3_sync.c. */
/*
 * ETMv3 model: worked examples byte for byte. I-syncs and branches; for the rest see
 * test_etmv3_pheaders.c, test_etmv3_exceptions.c and test_etmv3_encoder_data.c.
 */
#include <string.h>

#include "tests/support/etmv3_script_case.h"

#define ASYNC "00 00 00 00 00 80 "
#define CA    ETMV3_CR_CYCLE_ACCURATE

/* Nothing executed in between: only the packet of the branch is wanted. */
static void goes_to(struct etmv3_script *s, uint32_t target)
{
    etmv3_script_branch(s, s->pc.isa == BT_ISA_A32 ? A32_BX_R3 : T16_BX_LR, target);
}

START_TEST(test_isync_thumb)
{
    struct etmv3_script s;

    start(&s, 0, ETMV3_IDR_A7, 0xc002115d);
    etmv3_script_on(&s, 0);
    finish(&s, ASYNC "08 21 5D 11 02 C0");
}
END_TEST

START_TEST(test_isync_context_sizes)
{
    static const char *const hex[] = {ASYNC "08 29 00 80 00 00", ASYNC "08 78 29 00 80 00 00 6E 44",
                                      ASYNC "08 78 56 29 00 80 00 00 6E 44 33",
                                      ASYNC "08 78 56 34 12 29 00 80 00 00 6E 44 33 22 11"};
    struct etmv3_script s;

    start(&s, ETMV3_CR_CONTEXT_ID(_i), ETMV3_IDR_A7, 0x8000);
    s.pc.security = BT_SEC_NONSECURE;
    etmv3_encoder_set_context_id(s.encoder, 0x12345678);
    etmv3_script_on(&s, 0);
    etmv3_encoder_set_context_id(s.encoder, 0x11223344);
    finish(&s, hex[_i]);
}
END_TEST

START_TEST(test_isync_states)
{
    static const struct {
        uint8_t minor;
        enum bt_isa isa;
        enum bt_security security;
        const char *hex;
    } rows[] = {
        {5, BT_ISA_A32, BT_SEC_SECURE, "08 21 00 80 00 00"},
        {5, BT_ISA_T32, BT_SEC_NONSECURE, "08 29 01 80 00 00"},
        {5, BT_ISA_T32EE, BT_SEC_SECURE, "08 25 01 80 00 00"},
        {2, BT_ISA_T32EE, BT_SEC_SECURE, "08 21 01 80 00 00"},
        {5, BT_ISA_JAZELLE, BT_SEC_SECURE, "08 31 00 80 00 00"},
        {5, BT_ISA_A32, BT_SEC_HYP, "08 2B 00 80 00 00"},
        {4, BT_ISA_A32, BT_SEC_HYP, "08 29 00 80 00 00"},
        {1, BT_ISA_A32, BT_SEC_NONSECURE, "08 21 00 80 00 00"},
    };
    struct etmv3_script s;

    start(&s, 0, ETMV3_IDR_MINOR(ETMV3_IDR_A7, rows[_i].minor), 0x8000);
    etmv3_encoder_trigger(s.encoder);
    s.mark = s.out.size;
    s.pc.isa = rows[_i].isa;
    s.pc.security = rows[_i].security;
    etmv3_script_on(&s, 0);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_isync_count)
{
    struct etmv3_script s;

    start(&s, CA | ETMV3_CR_CONTEXT_ID(1), ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_set_context_id(s.encoder, 0xaa);
    etmv3_script_on(&s, 7695);
    finish(&s, ASYNC "70 8F 3C AA 21 00 80 00 00");
}
END_TEST

START_TEST(test_isync_count_packet)
{
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, CA, ETMV3_IDR_A7);
    o.count_percent = 100;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 128);
    etmv3_script_run(&s, A32_NOP);
    finish(&s, ASYNC "08 21 00 80 00 00 84 04 80 01");
}
END_TEST

/* The count is what has passed since the last P-header; too much for 32 bits is 0, unknown. */
START_TEST(test_isync_gap)
{
    struct etmv3_script s;

    start_on(&s, CA, ETMV3_IDR_A7, 0x8000);
    etmv3_script_run(&s, A32_NOP);
    etmv3_encoder_add_cycles(s.encoder, 2);
    etmv3_encoder_trace_off(s.encoder);
    etmv3_script_run(&s, A32_NOP);
    etmv3_script_on(&s, 0);
    etmv3_encoder_trace_off(s.encoder);
    etmv3_encoder_add_cycles(s.encoder, UINT32_MAX);
    etmv3_script_on(&s, 0);
    etmv3_encoder_trace_off(s.encoder);
    etmv3_encoder_add_cycles(s.encoder, (uint64_t)1 << 32);
    etmv3_script_on(&s, 0);
    finish(&s, "84 70 03 21 08 80 00 00 70 FF FF FF FF 0F 21 08 80 00 00 "
               "70 00 21 08 80 00 00");
}
END_TEST

START_TEST(test_isync_reasons)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_request_sync(s.encoder);
    etmv3_encoder_overflow(s.encoder);
    etmv3_encoder_restart(s.encoder, &s.pc, false);
    etmv3_encoder_debug_entry(s.encoder, false, false);
    etmv3_encoder_debug_exit(s.encoder, &s.pc);
    finish(&s, ASYNC "08 01 00 80 00 00 08 41 00 80 00 00 08 61 00 80 00 00");
}
END_TEST

START_TEST(test_periodic_sync_split)
{
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, CA, ETMV3_IDR_A7);
    o.isync_delay = 1;
    o.packing = ETMV3_PACK_SINGLE;
    for (o.seed = 0;; o.seed++) {
        ck_assert(etmv3_script_start(&s, &o, 0xc00456bb));
        etmv3_script_on(&s, 0);
        s.mark = s.out.size;
        etmv3_encoder_request_sync(s.encoder);
        etmv3_script_run(&s, 0xf3af8000); /* NOP of 32 bits */
        etmv3_script_run(&s, T16_NOP);
        /* One seed in two waits for the next instruction. */
        if (strncmp(etmv3_script_hex(&s), ASYNC "84", 20) == 0)
            break;
        etmv3_script_end(&s);
        ck_assert_uint_lt(o.seed, 20);
    }
    finish(&s, ASYNC "84 08 01 BF 56 04 C0 84");
}
END_TEST

START_TEST(test_async_zeros)
{
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, 0, ETMV3_IDR_A7);
    o.zeros_min = o.zeros_max = 7;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_encoder_trigger(s.encoder);
    etmv3_script_on(&s, 0);
    finish(&s, "00 00 00 00 00 00 00 80 0C 08 21 00 80 00 00");
}
END_TEST

static void branches_of(struct etmv3_script *s, const uint32_t *targets, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        goes_to(s, targets[i]);
}

START_TEST(test_branch_a32)
{
    const uint32_t targets[] = {0x8010, 0x9004, 0x0003d834};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    branches_of(&s, targets, 3);
    finish(&s, "84 09 84 83 10 84 9B D8 07");
}
END_TEST

START_TEST(test_branch_longer)
{
    const uint32_t target = 0x0003d834;
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, 0, ETMV3_IDR_A7);
    o.longer_percent = 100;
    for (o.seed = 0; o.seed < 20; o.seed++) {
        ck_assert(etmv3_script_start(&s, &o, 0x9004));
        etmv3_script_on(&s, 0);
        s.mark = s.out.size;
        goes_to(&s, target);
        const char *hex = etmv3_script_hex(&s);
        ck_assert(strcmp(hex, "84 9B D8 87 00") == 0 || strcmp(hex, "84 9B D8 87 80 08") == 0);
        etmv3_script_end(&s);
    }
}
END_TEST

START_TEST(test_branch_t32)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0xc0008001);
    goes_to(&s, 0xc0364dbf);
    finish(&s, "84 BF 9B D9 01");
}
END_TEST

START_TEST(test_branch_to_t32)
{
    const uint32_t targets[] = {0x00011135, 0x00011107};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    branches_of(&s, targets, 2);
    finish(&s, "84 B5 A2 84 80 10 84 07");
}
END_TEST

static void bytecode(struct etmv3_script *s, uint8_t code, uint32_t target)
{
    const struct etmv3_insn insn = {
        .address = s->pc.address,
        .isa = BT_ISA_JAZELLE,
        .opcode = code,
        .pass = true,
        .next = {.address = target, .isa = BT_ISA_JAZELLE, .security = s->pc.security}};

    etmv3_encoder_insn(s->encoder, &insn);
    s->pc = insn.next;
}

START_TEST(test_branch_jazelle)
{
    struct etmv3_script s;
    const struct etmv3_insn bxj = {.address = 0x8000,
                                   .isa = BT_ISA_A32,
                                   .opcode = 0xe12fff21,
                                   .pass = true,
                                   .next = {.address = 0x81, .isa = BT_ISA_JAZELLE}};

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_insn(s.encoder, &bxj);
    s.pc = bxj.next;
    bytecode(&s, 0xa9, 0x86); /* ret */
    bytecode(&s, 0x00, 0x87);
    bytecode(&s, 0xa7, 0x90); /* goto */
    finish(&s, "84 83 82 80 80 20 84 0D 88");
}
END_TEST

START_TEST(test_branch_alternative)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_M4, 0x08008001);
    goes_to(&s, 0x08008803);
    goes_to(&s, 0x08364dbf);
    finish(&s, "84 83 10 84 BF 9B D9 01");
}
END_TEST

START_TEST(test_flow_a32)
{
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    etmv3_script_run(&s, A32_NOP);
    etmv3_script_fail(&s, A32_BEQ);
    etmv3_script_run(&s, A32_ADD);
    etmv3_script_branch(&s, A32_B, 0x8000);
    etmv3_script_run(&s, A32_NOP);
    etmv3_script_branch(&s, A32_BEQ, 0x8010);
    goes_to(&s, 0xa000);
    finish(&s, "C4 94 81 20");
}
END_TEST

START_TEST(test_broadcast)
{
    struct etmv3_script s;

    start_on(&s, ETMV3_CR_BROADCAST, ETMV3_IDR_A7, 0x8000);
    etmv3_script_branch(&s, A32_B, 0x8010);
    etmv3_script_fail(&s, A32_BEQ);
    finish(&s, "84 09 C0");
}
END_TEST

/* Without a packet base and state stay those of the I-sync, in spite of BLX. */
START_TEST(test_blx)
{
    static const char *const hex[] = {"8C 81 80 02", "84 91 80 82 80 10 88 81 80 82 80 08"};
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, 0, ETMV3_IDR_A7);
    o.blx_packets = _i;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 0);
    s.mark = s.out.size;
    etmv3_script_branch(&s, 0xfa000000, 0x8011);
    etmv3_script_run(&s, T16_NOP);
    etmv3_script_branch(&s, T16_BX_LR, 0x10000);
    finish(&s, hex[_i]);
}
END_TEST

START_TEST(test_t32_pairs)
{
    static const char *const hex[] = {"88", "84"};
    struct etmv3_script s;

    start_on(&s, 0, _i ? ETMV3_IDR_A7 : ETMV3_IDR_A7 & ~ETMV3_IDR_T32_WHOLE, 0x9001);
    etmv3_script_branch(&s, T32_BL, 0x9011);
    finish(&s, hex[_i]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3_encoder");

    unit_case(s, "etmv3_encoder: I-sync in Thumb state", test_isync_thumb);
    unit_cases(s, "etmv3_encoder: context ID sizes", test_isync_context_sizes, 0, 4);
    unit_cases(s, "etmv3_encoder: I-sync states by version", test_isync_states, 0, 8);
    unit_case(s, "etmv3_encoder: I-sync with cycle count", test_isync_count);
    unit_case(s, "etmv3_encoder: cycle count packet", test_isync_count_packet);
    unit_case(s, "etmv3_encoder: gaps and their counts", test_isync_gap);
    unit_case(s, "etmv3_encoder: reasons", test_isync_reasons);
    unit_case(s, "etmv3_encoder: atoms between A-sync and I-sync", test_periodic_sync_split);
    unit_case(s, "etmv3_encoder: A-sync of seven zeros, trigger first", test_async_zeros);
    unit_case(s, "etmv3_encoder: A32 branches", test_branch_a32);
    unit_case(s, "etmv3_encoder: longer addresses", test_branch_longer);
    unit_case(s, "etmv3_encoder: T32 branch of four bytes", test_branch_t32);
    unit_case(s, "etmv3_encoder: A32 to T32", test_branch_to_t32);
    unit_case(s, "etmv3_encoder: Jazelle", test_branch_jazelle);
    unit_case(s, "etmv3_encoder: alternative branch encoding", test_branch_alternative);
    unit_case(s, "etmv3_encoder: A32 flow", test_flow_a32);
    unit_case(s, "etmv3_encoder: branch broadcast", test_broadcast);
    unit_cases(s, "etmv3_encoder: BLX immediate with and without a packet", test_blx, 0, 2);
    unit_cases(s, "etmv3_encoder: BL as two instructions", test_t32_pairs, 0, 2);
    return s;
}
