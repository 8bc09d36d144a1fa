/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv3 model: worked examples byte for byte. Atoms, branches, exceptions and I-syncs; for data,
 * time stamps and what depends on the filter see test_etmv3_encoder_data.c.
 */
#include <string.h>

#include "tests/support/etmv3_script.h"
#include "tests/unit/unit_main.h"

#define ASYNC "00 00 00 00 00 80 "
#define CA    ETMV3_CR_CYCLE_ACCURATE

static void start(struct etmv3_script *s, uint32_t etmcr, uint32_t etmidr, uint32_t address)
{
    struct etmv3_encoder_options o;

    etmv3_script_options(&o, etmcr, etmidr);
    ck_assert(etmv3_script_start(s, &o, address));
}

static void start_on(struct etmv3_script *s, uint32_t etmcr, uint32_t etmidr, uint32_t address)
{
    start(s, etmcr, etmidr, address);
    etmv3_script_on(s, 5);
    s->mark = s->out.size;
}

static void finish(struct etmv3_script *s, const char *hex)
{
    ck_assert_str_eq(etmv3_script_hex(s), hex);
    etmv3_script_end(s);
}

/* Nothing executed in between: only the packet of the branch is wanted. */
static void goes_to(struct etmv3_script *s, uint32_t target)
{
    etmv3_script_branch(s, s->pc.isa == BT_ISA_A32 ? A32_BX_R3 : T16_BX_LR, target);
}

/* ---- I-sync ----------------------------------------------------------------------------------
 */

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

/* ---- branches --------------------------------------------------------------------------------
 */

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

/* ---- exceptions ------------------------------------------------------------------------------
 */

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

/* ---- P-headers -------------------------------------------------------------------------------
 */

/* E and N: one instruction each, '.' a cycle, when cycle-accurate. */
static void atoms(struct etmv3_script *s, const char *letters)
{
    s->cycles = 0;
    for (; *letters; letters++) {
        if (*letters == '.')
            etmv3_encoder_add_cycles(s->encoder, 1);
        else if (*letters == 'E')
            etmv3_script_run(s, A32_NOP);
        else
            etmv3_script_fail(s, A32_BEQ);
    }
}

START_TEST(test_pheaders_plain)
{
    static const struct {
        const char *atoms;
        const char *hex;
    } rows[] = {{"EEN", "C8"}, {"NE", "8A"}, {"EEEEEEEEEEEEEEEN", "FC"},    {"EE", "88"},
                {"EN", "C4"},  {"NN", "8E"}, {"EEEEEEEEEEEEEEEEE", "BC 88"}};
    struct etmv3_script s;

    start_on(&s, 0, ETMV3_IDR_A7, 0x8000);
    atoms(&s, rows[_i].atoms);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_pheaders_cycles)
{
    static const struct {
        uint8_t minor;
        const char *atoms;
        const char *hex;
    } rows[] = {
        {5, ".E.E.N", "C8"},    {5, ".NE", "8A"},     {5, "..", "A4"},
        {5, "...E", "E8"},      {5, ".EE", "82"},     {5, "E", "92"},
        {5, "N", "96"},         {2, "E", "84"},       {2, ".EEE", "82 84"},
        {2, "...EN", "A4 86"},  {3, ".EEE", "82 92"}, {5, "........................", "BC BC BC"},
        {5, "........E", "FC"}, {0, "...E", "E8"}};
    struct etmv3_script s;

    start_on(&s, CA, ETMV3_IDR_MINOR(ETMV3_IDR_A7, rows[_i].minor), 0x8000);
    atoms(&s, rows[_i].atoms);
    finish(&s, rows[_i].hex);
}
END_TEST

/* What a header unpacks to, straight from tables 7.2 and 7.3; false: reserved. */
static bool unpack(uint8_t h, bool cycles, unsigned minor, char *text)
{
    char *p = text + strlen(text);

    if ((h & 0xf3) == 0x82) {
        if (cycles)
            *p++ = '.';
        *p++ = h & 8 ? 'N' : 'E';
        *p++ = h & 4 ? 'N' : 'E';
    } else if (!cycles && (h & 0x83) == 0x80) {
        for (unsigned i = 0; i < (h >> 2 & 15u); i++)
            *p++ = 'E';
        if (h & 0x40)
            *p++ = 'N';
    } else if (cycles && h == 0x80) {
        *p++ = '.';
        *p = 0;
        return minor == 0;
    } else if (cycles && (h & 0xa3) == 0x80) {
        for (unsigned i = 0; i < (h >> 2 & 7u); i++) {
            *p++ = '.';
            *p++ = 'E';
        }
        if (h & 0x40) {
            *p++ = '.';
            *p++ = 'N';
        }
    } else if (cycles && (h & 0xa3) == 0xa0) {
        for (unsigned i = 0; i <= (h >> 2 & 7u); i++)
            *p++ = '.';
        if (h & 0x40)
            *p++ = 'E';
    } else if (cycles && (h & 0xfb) == 0x92) {
        *p++ = h & 4 ? 'N' : 'E';
        *p = 0;
        return minor >= 3;
    } else {
        return false;
    }
    *p = 0;
    return true;
}

/* Random packing: every legal header is used, none but legal ones, and the atoms come back. */
START_TEST(test_pheaders_random)
{
    static char wanted[8000];
    static char got[9000];
    struct trace_random random = {.state = 77};
    bool cycles = _i < 6;
    unsigned minor = cycles ? (unsigned)_i : 5;
    bool used[256] = {false};
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, cycles ? CA : 0, ETMV3_IDR_MINOR(ETMV3_IDR_A7, minor));
    o.packing = ETMV3_PACK_RANDOM;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 5);
    size_t mark = s.out.size;
    unsigned bare = 0;
    wanted[0] = got[0] = 0;
    for (size_t n = 0; n + 20 < sizeof wanted;) {
        bool bursts = trace_random_percent(&random, 60);
        unsigned idle = !cycles ? 0 : bursts ? 1 : trace_random_below(&random, 12);
        /* Before v3.3 a header holds at most two of one cycle, and begins with a W. */
        bare = idle ? 0 : bare + 1;
        if (cycles && minor < 3 && (bare > 1 || n == 0)) {
            idle = 1;
            bare = 0;
        }
        bool fail = trace_random_percent(&random, 20);
        for (unsigned i = 0; i < idle; i++)
            wanted[n++] = '.';
        wanted[n++] = fail ? 'N' : 'E';
        wanted[n] = 0;
        s.cycles = idle;
        fail ? etmv3_script_fail(&s, A32_BEQ) : etmv3_script_run(&s, A32_NOP);
    }
    etmv3_encoder_flush(s.encoder);
    for (size_t i = mark; i < s.out.size; i++) {
        used[s.out.data[i]] = true;
        ck_assert_msg(unpack(s.out.data[i], cycles, minor, got), "reserved header");
        ck_assert_uint_lt(strlen(got), sizeof got - 20);
    }
    if (!cycles || minor >= 3)
        ck_assert_str_eq(got, wanted);
    unsigned missing = 0;
    for (unsigned h = 0x84; h < 0x100; h += 2) {
        char text[40] = "";
        missing += unpack((uint8_t)h, cycles, minor, text) && !used[h];
    }
    /* Long runs of E are rare in random atoms; most headers must be there. */
    ck_assert_uint_le(missing, 12);
    etmv3_script_end(&s);
}
END_TEST

/* The same program in both modes: the same E and N, not more bytes without cycles. */
START_TEST(test_modes_agree)
{
    char text[2][64] = {"", ""};
    size_t size[2];

    for (unsigned mode = 0; mode < 2; mode++) {
        struct etmv3_script s;
        start_on(&s, mode ? CA : 0, ETMV3_IDR_A7, 0x8000);
        atoms(&s, mode ? ".E.EE...N.E.N.N" : "EEENENN");
        etmv3_encoder_flush(s.encoder);
        size[mode] = s.out.size - s.mark;
        for (size_t i = s.mark; i < s.out.size; i++)
            ck_assert(unpack(s.out.data[i], mode, 5, text[mode]));
        etmv3_script_end(&s);
    }
    ck_assert_str_eq(text[0], "EEENENN");
    ck_assert_str_eq(text[1], ".E.EE...N.E.N.N");
    ck_assert_uint_le(size[0], size[1]);
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
    unit_cases(s, "etmv3_encoder: P-headers", test_pheaders_plain, 0, 7);
    unit_cases(s, "etmv3_encoder: cycle-accurate P-headers", test_pheaders_cycles, 0, 14);
    unit_cases(s, "etmv3_encoder: random packing", test_pheaders_random, 0, 7);
    unit_case(s, "etmv3_encoder: both modes give the same atoms", test_modes_agree);
    return s;
}
