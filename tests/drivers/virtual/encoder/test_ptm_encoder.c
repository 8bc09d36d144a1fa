/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/virtual/encoder/ptm_encoder.c, ptm_output.c and ptm_packets.c. */
/*
 * PTM model: the worked examples of the pft-E cases, byte for byte, but for those with exceptions
 * (test_ptm_exceptions.c) and E32, a damaged stream.
 */
#include "tests/support/encoder_script_case.h"

#define CCER_BARRIERS (PTM_CCER_A15 | PTM_CCER_DMB_DSB)
/* Conditional branches to the next word, one a letter E or N; then the header. */
static void atoms(struct script *s, const char *letters)
{
    for (; *letters; letters++)
        *letters == 'E' ? script_run(s, A32_BEQ) : script_fail(s, A32_BEQ);
    ptm_encoder_flush(s->encoder);
}

START_TEST(test_e1)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    o.zeros_min = o.zeros_max = 7;
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    ptm_encoder_ignore(s.encoder);
    script_trace_on(&s);
    atoms(&s, "E");
    finish(&s, "00 00 00 00 00 00 00 80 66 08 00 10 00 00 21 84");
}
END_TEST

START_TEST(test_e2)
{
    static const char *const headers[] = {"E",     "N",     "EE",    "EN",   "NE",
                                          "NN",    "EEE",   "NNN",   "EEEN", "NNNE",
                                          "EEEEE", "EEEEN", "NEEEE", "NNNNN"};
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    for (unsigned i = 0; i < sizeof headers / sizeof headers[0]; i++)
        atoms(&s, headers[i]);
    finish(&s, ON_1000 "84 86 88 8A 8C 8E 90 9E A2 BC C0 C2 E0 FE");
}
END_TEST

START_TEST(test_e3)
{
    static const struct {
        uint32_t cycles;
        const char *atom;
    } rows[] = {{1, "E"}, {0, "N"}, {15, "N"}, {16, "N"}, {86, "E"}, {0xffffffff, "E"}};
    struct script s;

    start(&s, PTM_CR_CYCLE_ACCURATE, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    s.mark = s.out.size;
    ptm_encoder_request_sync(s.encoder);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ptm_encoder_add_cycles(s.encoder, rows[i].cycles);
        atoms(&s, rows[i].atom);
    }
    finish(&s, ASYNC "08 00 10 00 00 01 84 82 BE C2 01 D8 05 FC FF FF FF 7F");
}
END_TEST

START_TEST(test_e4)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0xd000, PTM_IDR_A15, PTM_CCER_A15);
    o.plain_isync_count = true;
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    script_secure(&s, BT_SEC_NONSECURE);
    ptm_encoder_set_context_id(s.encoder, 0x12345678);
    ptm_encoder_add_cycles(s.encoder, 19);
    script_trace_on(&s);
    ptm_encoder_add_cycles(s.encoder, 1);
    atoms(&s, "E");
    ptm_encoder_set_context_id(s.encoder, 0x87654321);
    ptm_encoder_add_cycles(s.encoder, 1);
    atoms(&s, "N");
    finish(&s, ASYNC "08 00 10 00 00 29 4C 01 78 56 34 12 84 6E 21 43 65 87 86");
}
END_TEST

START_TEST(test_e5)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0x40008000, PTM_IDR_A15, PTM_CCER_A15);
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    ptm_encoder_set_context_id(s.encoder, 0x1234aa55);
    script_trace_on(&s);
    script_run(&s, A32_BEQ);
    ptm_encoder_set_context_id(s.encoder, 0x5678bb66);
    script_run(&s, A32_BEQ);
    ptm_encoder_set_vmid(s.encoder, 7);
    script_run(&s, A32_BEQ);
    ptm_encoder_trigger(s.encoder);
    ptm_encoder_ignore(s.encoder);
    script_run(&s, A32_BEQ);
    finish(&s, ON_1000 "55 AA 84 6E 66 BB 84 3C 07 84 0C 66 84");
}
END_TEST

START_TEST(test_e6)
{
    static const uint32_t a32[] = {0x10fc, 0x3000, 0x123000, 0x0fff0000, 0xf0000000, 0x8001};
    static const uint32_t t32[] = {0x807f, 0x9fff, 0x2000};
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    for (unsigned i = 0; i < 6; i++)
        script_branch(&s, A32_BX_R3, a32[i]);
    for (unsigned i = 0; i < 3; i++)
        script_branch(&s, 0x4718, t32[i]);
    finish(&s, ON_1000 "7F 81 30 81 B0 24 81 80 FE 3F 81 80 80 C0 0F 81 80 82 80 10 7F FF 3F "
                       "81 A0 80 80 08");
}
END_TEST

/* The program of E18 to E21 up to the second header, at 0x1204. */
static void run_calls(struct script *s, unsigned depth)
{
    struct ptm_encoder_options o;

    script_options(&o, PTM_CR_RETURN_STACK, PTM_IDR_A15, PTM_CCER_A15);
    o.return_stack_depth = depth;
    ck_assert(script_start(s, &o));
    script_at(s, 0x1000);
    script_trace_on(s);
    script_branch(s, A32_BL, 0x1100);
    script_branch(s, A32_BX_LR, 0x1004);
    script_run(s, A32_NOP);
    script_branch(s, A32_BL, 0x1200);
    ptm_encoder_flush(s->encoder);
    script_branch(s, A32_BL, 0x1100);
    script_branch(s, A32_BX_LR, 0x1204);
}

START_TEST(test_e18)
{
    struct script s;

    run_calls(&s, 16);
    script_branch(&s, A32_BLX_R3, 0x1100);
    script_branch(&s, A32_BX_LR, 0x1208);
    script_branch(&s, A32_BX_LR, 0x100c);
    finish(&s, ON_1000 "90 88 81 11 88");
}
END_TEST

START_TEST(test_e19)
{
    struct script s;

    run_calls(&s, 1);
    script_branch(&s, A32_BLX_R3, 0x1100);
    script_branch(&s, A32_BX_LR, 0x1208);
    script_branch(&s, A32_BX_LR, 0x100c);
    script_branch(&s, A32_B, 0x100c);
    finish(&s, ON_1000 "90 88 81 11 84 87 10 84");
}
END_TEST

START_TEST(test_e20)
{
    struct script s;

    run_calls(&s, 16);
    script_branch(&s, A32_BLX_R3, 0x100c);
    ptm_encoder_flush(s.encoder);
    script_branch(&s, A32_B, 0x100c);
    finish(&s, ON_1000 "90 90 84");
}
END_TEST

START_TEST(test_e21)
{
    struct script s;

    start(&s, PTM_CR_RETURN_STACK, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    script_branch(&s, A32_BL, 0x1100);
    ptm_encoder_request_sync(s.encoder);
    script_branch(&s, A32_BX_LR, 0x1004);
    finish(&s, ON_1000 "84 " ASYNC "08 00 11 00 00 01 83 10");
}
END_TEST

START_TEST(test_e22)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x2001);
    script_run(&s, 0x2001);
    script_branch(&s, 0xf000f81d, 0x2041);
    script_run(&s, 0xb510);
    script_branch(&s, 0xbd10, 0x2007);
    script_fail(&s, 0xb118);
    script_branch(&s, 0xd1fa, 0x2001);
    ptm_encoder_flush(s.encoder);
    script_run(&s, 0x2001);
    script_branch(&s, 0xf000f81d, 0x2041);
    script_run(&s, 0xb510);
    script_branch(&s, 0xbd10, 0x2021);
    script_branch(&s, 0xf8dff01c, 0x3000);
    finish(&s, ASYNC "08 01 20 00 00 21 84 07 8C 84 21 81 B0 80 80 08");
}
END_TEST

/* The example's stream has five bytes at the end; by its own rule two are enough. */
static void run_e23(struct script *s, bool full_on_isa_change)
{
    struct ptm_encoder_options o;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    o.full_on_isa_change = full_on_isa_change;
    ck_assert(script_start(s, &o));
    script_at(s, 0x1000);
    script_trace_on(s);
    script_branch(s, 0xfa00003e, 0x1101);
    script_branch(s, 0xb130, 0x1111);
    script_fail(s, 0xd0f6);
    script_branch(s, 0xf000f805, 0x1121);
    script_branch(s, T16_BX_LR, 0x2000);
}

START_TEST(test_e23)
{
    struct script s;

    run_e23(&s, true);
    finish(&s, ON_1000 "A4 81 A0 80 80 08");
    run_e23(&s, false);
    finish(&s, ON_1000 "A4 81 20");
}
END_TEST

START_TEST(test_e24)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    script_run(&s, 0xf57ff06f);
    ptm_encoder_flush(s.encoder);
    script_run(&s, 0xf57ff05f);
    script_run(&s, 0xf57ff04f);
    script_branch(&s, 0xeafffffb, 0x1000);
    finish(&s, ON_1000 "84 84");
}
END_TEST

START_TEST(test_e25)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, CCER_BARRIERS, 0x1000);
    script_run(&s, 0xf57ff06f);
    script_run(&s, 0xf57ff05f);
    script_run(&s, 0xf57ff04f);
    script_branch(&s, 0xeafffffb, 0x1000);
    finish(&s, ON_1000 "A0");
}
END_TEST

static void timestamp(struct script *s, uint64_t time, unsigned cycles)
{
    ptm_encoder_set_time(s->encoder, time);
    ptm_encoder_add_cycles(s->encoder, cycles);
    ptm_encoder_request_timestamp(s->encoder, false);
}

START_TEST(test_e26)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0x10001000, PTM_IDR_A9, PTM_CCER_A9);
    o.plain_isync_count = true;
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    ptm_encoder_add_cycles(s.encoder, 1);
    script_trace_on(&s);
    timestamp(&s, 0x6f4e348ee0, 1);
    ptm_encoder_add_cycles(s.encoder, 23);
    script_run(&s, A32_BEQ);
    timestamp(&s, 0x6f4e348ef8, 1);
    ptm_encoder_add_cycles(s.encoder, 26);
    script_run(&s, A32_BEQ);
    timestamp(&s, 0x6f4e348f13, 1);
    finish(&s, ON_1000 "04 42 90 93 BB C9 8E 8B 00 04 DC 01 42 04 04 E8 01 42 9A 11 04");
}
END_TEST

START_TEST(test_e27)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0x10001000, PTM_IDR_A15, PTM_CCER_A15);
    o.plain_isync_count = true;
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x1000);
    ptm_encoder_set_time(s.encoder, 0x82f9d18bcc);
    ptm_encoder_add_cycles(s.encoder, 1);
    script_trace_on(&s);
    timestamp(&s, 0x82f9d18bcd, 0);
    ptm_encoder_set_time(s.encoder, 0x82f9d18cc8);
    ptm_encoder_add_cycles(s.encoder, 1);
    script_run(&s, A32_BEQ);
    timestamp(&s, 0x82f9d18fff, 17); /* v1.1: the time of the waypoint is sent */
    finish(&s, ON_1000 "04 42 CC 97 C6 CE AF 90 80 80 00 00 84 42 C8 19 44 01");
}
END_TEST

START_TEST(test_e29)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    atoms(&s, "E");
    script_run(&s, A32_BEQ); /* pending: lost */
    ptm_encoder_overflow(s.encoder);
    atoms(&s, "EEE");
    script_at(&s, 0x1020);
    ptm_encoder_restart(s.encoder, &s.pc);
    atoms(&s, "N");
    finish(&s, ON_1000 "84 08 20 10 00 00 41 86");
}
END_TEST

START_TEST(test_e30)
{
    struct script s;

    start(&s, 0, PTM_IDR_A15, PTM_CCER_A15, 0x1000);
    script_run_to(&s, 0x3000);
    script_branch(&s, A32_B, 0x1000);
    finish(&s, ON_1000 "72 FF 1F 84");
}
END_TEST

static void run_e31(struct script *s, bool update_is_not_base)
{
    struct ptm_encoder_options o;

    script_options(&o, 0, PTM_IDR_A15, PTM_CCER_A15);
    o.no_block_updates = true; /* the block is longer than 4096 bytes */
    o.update_is_not_base = update_is_not_base;
    ck_assert(script_start(s, &o));
    script_at(s, 0x1000);
    script_trace_on(s);
    script_branch(s, A32_B, 0x101000);
    script_run_to(s, 0x102044);
    script_exception(s, 14, 0x30);
}

START_TEST(test_e31)
{
    struct script s;

    run_e31(&s, false);
    finish(&s, ON_1000 "84 72 A1 A0 20 99 80 40 1C");
    run_e31(&s, true);
    finish(&s, ON_1000 "84 72 A1 A0 20 99 40 1C");
}
END_TEST

START_TEST(test_e33)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0x20000400, PTM_IDR_A15, PTM_CCER_A15);
    ck_assert(script_start(&s, &o));
    script_at(&s, 0x80000558);
    ptm_encoder_debug_exit(s.encoder, &s.pc);
    script_branch(&s, A32_BL, 0x80000504);
    ptm_encoder_debug_entry(s.encoder);
    ptm_encoder_debug_exit(s.encoder, &s.pc);
    atoms(&s, "ENEEEENEENNEEENNNE");
    script_branch(&s, A32_BX_LR, 0x8000055c);
    ptm_encoder_debug_entry(s.encoder);
    finish(&s, ASYNC "08 58 05 00 80 61 84 81 80 80 80 48 02 08 04 05 00 80 61 D0 D2 E2 9C 2F "
                     "81 80 80 80 48 02");
}
END_TEST

START_TEST(test_e34)
{
    struct ptm_encoder_options o;
    struct script s;

    script_options(&o, 0x10001000, PTM_IDR_A9, 0x8ea);
    ck_assert(script_start(&s, &o));
    script_secure(&s, BT_SEC_NONSECURE);
    script_at(&s, 0xc0020a20);
    script_trace_on(&s);
    s.mark = s.out.size;
    ptm_encoder_set_time(s.encoder, 0x6f4e0fda47);
    ptm_encoder_add_cycles(s.encoder, 111269);
    ptm_encoder_request_sync(s.encoder);
    ptm_encoder_add_cycles(s.encoder, 12);
    script_branch(&s, A32_BX_LR, 0xc0010ef0);
    script_run(&s, A32_NOP);
    ptm_encoder_add_cycles(s.encoder, 15);
    script_exception(&s, 14, 0xffff0018);
    ptm_encoder_trace_off(s.encoder);
    ptm_encoder_add_cycles(s.encoder, 77);
    script_at(&s, 0xc000fd00);
    script_trace_on(&s);
    finish(&s, ASYNC "08 20 0A 02 C0 09 42 E4 EE A0 C8 8E 8B 00 54 AA 36 F9 8E 02 30 72 79 "
                     "8D 80 FE FF 4F 1D 3C 08 00 FD 00 C0 29 F4 04");
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
    Suite *s = suite_create("ptm_encoder");

    add(s, "ptm_encoder: long A-sync and Ignore (E1)", test_e1);
    add(s, "ptm_encoder: atom headers (E2)", test_e2);
    add(s, "ptm_encoder: cycle-accurate atoms, periodic I-sync (E3)", test_e3);
    add(s, "ptm_encoder: I-sync with count and context ID (E4)", test_e4);
    add(s, "ptm_encoder: context ID, VMID, trigger, Ignore (E5)", test_e5);
    add(s, "ptm_encoder: branches of one to five bytes (E6)", test_e6);
    add(s, "ptm_encoder: return stack (E18)", test_e18);
    add(s, "ptm_encoder: return stack of one entry (E19)", test_e19);
    add(s, "ptm_encoder: return stack, BLX pops and pushes (E20)", test_e20);
    add(s, "ptm_encoder: I-sync empties the return stack (E21)", test_e21);
    add(s, "ptm_encoder: T32 flow (E22)", test_e22);
    add(s, "ptm_encoder: BLX changes state without an address (E23)", test_e23);
    add(s, "ptm_encoder: barriers, ETMCCER[24] = 0 (E24)", test_e24);
    add(s, "ptm_encoder: barriers, ETMCCER[24] = 1 (E25)", test_e25);
    add(s, "ptm_encoder: 48-bit Gray timestamps (E26)", test_e26);
    add(s, "ptm_encoder: 64-bit binary timestamps (E27)", test_e27);
    add(s, "ptm_encoder: overflow (E29)", test_e29);
    add(s, "ptm_encoder: block over 4096 bytes (E30)", test_e30);
    add(s, "ptm_encoder: waypoint update as base (E31)", test_e31);
    add(s, "ptm_encoder: Cortex-A15 stream (E33)", test_e33);
    add(s, "ptm_encoder: Cortex-A9 stream (E34)", test_e34);
    return s;
}
