/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/virtual/encoder/etmv3_data.c and trace_bytes.c. */
/*
 * ETMv3 model: data packets, timestamps, VMID, and trace that begins during a data instruction,
 * byte for byte.
 */
#include "tests/model/etmv3_filter.h"
#include "tests/support/etmv3_script.h"
#include "tests/support/unit_main.h"

#define CA   ETMV3_CR_CYCLE_ACCURATE
#define BOTH (ETMV3_CR_DATA_ADDRESS | ETMV3_CR_DATA_VALUE)

static void start(struct etmv3_script *s, uint32_t etmcr, uint32_t etmidr, uint32_t address)
{
    struct etmv3_encoder_options o;

    etmv3_script_options(&o, etmcr, etmidr);
    o.no_auto_timestamps = true;
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

/* A transfer of a word; `first` of its instruction. */
static void word(struct etmv3_script *s, uint32_t address, uint32_t value, bool first)
{
    const struct etmv3_access a = {.address = address, .value = value, .size = 4, .first = first};

    ck_assert_int_eq(etmv3_encoder_data(s->encoder, &a), 0);
}

START_TEST(test_values)
{
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, ETMV3_CR_DATA_VALUE, ETMV3_IDR_A7);
    o.plain_data_headers = true;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 0);
    s.mark = s.out.size;
    word(&s, 0x1000, 0, true);
    word(&s, 0x1000, 0x55, true);
    word(&s, 0x1000, 0x1234, true);
    word(&s, 0x1000, 0x12345678, true);
    finish(&s, "02 06 55 0A 34 12 0E 78 56 34 12");
}
END_TEST

START_TEST(test_addresses)
{
    struct etmv3_script s;
    const struct etmv3_access first = {
        .address = 0x20000000, .value = 0x11223344, .size = 4, .first = true, .big_endian = true};
    struct etmv3_access second = {
        .address = 0x20000084, .value = 0x55, .size = 1, .first = true, .big_endian = true};

    start_on(&s, BOTH, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_data(s.encoder, &first);
    etmv3_encoder_data(s.encoder, &second);
    second.address = 0x20000088;
    second.value = 0;
    etmv3_encoder_data(s.encoder, &second);
    finish(&s, "2E 80 80 80 80 12 44 33 22 11 26 84 01 55 22 08");
}
END_TEST

START_TEST(test_sequential)
{
    static const struct {
        uint32_t etmcr;
        const char *hex;
    } rows[] = {{BOTH, "26 80 A0 80 80 00 11 06 22 26 10 33"},
                {ETMV3_CR_DATA_ADDRESS, "22 80 A0 80 80 00 02 22 10"},
                {ETMV3_CR_DATA_VALUE, "26 11 06 22 26 33"}};
    struct etmv3_script s;

    start_on(&s, rows[_i].etmcr, ETMV3_IDR_A7, 0x8000);
    word(&s, 0x1000, 0x11, true);
    word(&s, 0x1004, 0x22, false);
    word(&s, 0x1010, 0x33, false);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_late_values)
{
    struct etmv3_script s;
    struct etmv3_access a = {.address = 0x1000, .size = 4, .first = true, .late = true};

    start_on(&s, BOTH, ETMV3_IDR_A7, 0x8000);
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 1);
    a.first = false;
    a.address += 4;
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 2);
    a.address += 4;
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 3);
    a.address += 4;
    a.value = 7;
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 0); /* no tag left */
    etmv3_encoder_late_value(s.encoder, 2, 0xbbaa);
    etmv3_encoder_late_value(s.encoder, 3, 0xddccbbaa);
    etmv3_encoder_late_value(s.encoder, 1, 0);
    etmv3_encoder_late_value(s.encoder, 1, 0); /* not out: nothing */
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 1);
    finish(&s, "74 80 A0 80 80 00 58 5C 06 07 48 AA BB 6C AA BB CC DD 20 74 0C");
}
END_TEST

/* A placeholder before the gap: its tag is not used again before its value has come. */
START_TEST(test_late_value_after_gap)
{
    struct etmv3_script s;
    const struct etmv3_access a = {.address = 0x1000, .size = 4, .first = true, .late = true};

    start_on(&s, ETMV3_CR_DATA_VALUE, ETMV3_IDR_A7, 0x8000);
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 1);
    ck_assert(etmv3_encoder_tag_out(s.encoder, 1));
    etmv3_encoder_overflow(s.encoder);
    etmv3_encoder_restart(s.encoder, &s.pc, false);
    ck_assert(!etmv3_encoder_tag_out(s.encoder, 1));
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 2);
    etmv3_encoder_late_value(s.encoder, 1, 9);
    ck_assert_int_eq(etmv3_encoder_data(s.encoder, &a), 1);
    finish(&s, "74 08 41 00 80 00 00 78 24 09 74");
}
END_TEST

START_TEST(test_store_failed)
{
    struct etmv3_script s;
    const struct etmv3_access a = {
        .address = 0x1000, .value = 5, .size = 4, .first = true, .failed = true};

    start_on(&s, ETMV3_CR_DATA_VALUE, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_data(s.encoder, &a);
    etmv3_encoder_ignore(s.encoder);
    finish(&s, "22 50 66");
}
END_TEST

START_TEST(test_suppressed)
{
    static const struct {
        uint8_t minor;
        const char *hex;
    } rows[] = {{2, "62 26 90 A0 80 80 00 09"}, {3, "62 26 10 09"}};
    struct etmv3_script s;

    start_on(&s, BOTH, ETMV3_IDR_MINOR(ETMV3_IDR_A7, rows[_i].minor), 0x8000);
    word(&s, 0x1000, 1, true);
    s.mark = s.out.size;
    etmv3_encoder_suppress_data(s.encoder, true);
    word(&s, 0x1004, 2, false);
    word(&s, 0x1008, 3, true);
    etmv3_encoder_suppress_data(s.encoder, false);
    word(&s, 0x100c, 4, false); /* same instruction */
    word(&s, 0x1010, 9, true);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_not_traced)
{
    struct etmv3_script s;
    struct etmv3_access a = {.address = 0x1ffffffc, .size = 4, .first = true, .filtered = true};

    start_on(&s, BOTH, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_data(s.encoder, &a); /* before the first that is traced: nothing */
    word(&s, 0x20000000, 0x11223344, false);
    a.first = false;
    a.address = 0x20000004;
    etmv3_encoder_data(s.encoder, &a);
    a.address = 0x20000090;
    etmv3_encoder_data(s.encoder, &a);
    etmv3_script_run(&s, A32_NOP);
    finish(&s, "2E 80 80 80 80 02 44 33 22 11 6A 7A 90 01 84");
}
END_TEST

START_TEST(test_cprt)
{
    static const char *const hex[] = {"", "06 07"};
    struct etmv3_script s;
    const struct etmv3_access a = {.value = 7, .size = 4, .first = true, .cprt = true};

    start_on(&s, BOTH | (_i ? ETMV3_CR_CPRT : 0), ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_data(s.encoder, &a);
    finish(&s, hex[_i]);
}
END_TEST

START_TEST(test_data_only)
{
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, BOTH | ETMV3_CR_DATA_ONLY | ETMV3_CR_CONTEXT_ID(3), ETMV3_IDR_A7);
    o.no_value_not_traced = true;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_encoder_set_context_id(s.encoder, 0x44332211);
    etmv3_script_on(&s, 0);
    s.mark = 6;
    etmv3_script_run(&s, A32_NOP);
    etmv3_script_branch(&s, A32_BX_LR, 0x9000);
    word(&s, 0x1000, 0x80000001, true);
    const struct etmv3_access filtered = {.address = 0x1004, .size = 4, .filtered = true};
    etmv3_encoder_data(s.encoder, &filtered);
    word(&s, 0x1008, 0, false);
    finish(&s, "08 11 22 33 44 21 2E 80 A0 80 80 00 01 00 00 80 22 08");
}
END_TEST

/* A load and an addition in one cycle: the data between them, so no format 2. */
START_TEST(test_data_in_cycle)
{
    struct etmv3_script s;
    const struct etmv3_access a = {.address = 0x1000, .value = 0x55, .size = 1, .first = true};

    start_on(&s, CA | ETMV3_CR_DATA_VALUE, ETMV3_IDR_A7, 0x1000);
    etmv3_script_step(&s, A32_LDR, 1);
    etmv3_encoder_data(s.encoder, &a);
    etmv3_script_step(&s, A32_ADD, 0);
    finish(&s, "84 26 55 92");
}
END_TEST

START_TEST(test_branch_in_cycle)
{
    struct etmv3_script s;

    start_on(&s, CA, ETMV3_IDR_A7, 0x8000);
    etmv3_script_branch(&s, A32_BX_LR, 0x8100);
    etmv3_script_step(&s, A32_ADD, 0);
    finish(&s, "84 81 01 92");
}
END_TEST

START_TEST(test_entry_and_trigger)
{
    struct etmv3_script s;

    start_on(&s, ETMV3_CR_DATA_VALUE, ETMV3_IDR_M4, 0x8001);
    etmv3_encoder_trigger(s.encoder);
    etmv3_encoder_ignore(s.encoder);
    etmv3_encoder_exception_entry(s.encoder);
    word(&s, 0x20000000, 1, true);
    finish(&s, "0C 66 7E 26 01");
}
END_TEST

/* Time stamps, VMID. */

static void stamp(struct etmv3_script *s, uint64_t time, bool clock_changed)
{
    etmv3_encoder_set_time(s->encoder, time);
    etmv3_encoder_request_timestamp(s->encoder, clock_changed);
}

START_TEST(test_timestamps)
{
    struct etmv3_script s;

    start_on(&s, ETMV3_CR_TIMESTAMP, ETMV3_IDR_A7, 0x8000);
    stamp(&s, 0x82f9d0cd3d, false);
    stamp(&s, 0x82f9d0cf5f, false);
    stamp(&s, 0x82f9d0cf05, true);
    stamp(&s, 0x8100000000000000, false);
    finish(&s, "42 BD 9A C3 CE AF 90 80 80 00 42 DF 1E 46 05 42 80 80 80 80 80 80 80 80 81");
}
END_TEST

START_TEST(test_timestamps_narrow)
{
    static const struct {
        uint32_t etmccer;
        uint64_t time;
        const char *hex;
    } rows[] = {{0x144008f2, 0xfc82f9d0cd3d, "42 BD 9A C3 CE AF 90 3F"},
                {0x044008f2, 2, "42 83 80 80 80 80 80 00"},
                {0x044008f2, 0xffffffffffff, "42 80 80 80 80 80 80 20"}};
    struct etmv3_encoder_options o;
    struct etmv3_script s;

    etmv3_script_options(&o, ETMV3_CR_TIMESTAMP, ETMV3_IDR_A7);
    o.etmccer = rows[_i].etmccer;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_script_on(&s, 0);
    s.mark = s.out.size;
    stamp(&s, rows[_i].time, false);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_vmid)
{
    struct etmv3_script s;

    start(&s, ETMV3_CR_VMID, ETMV3_IDR_A7, 0x8000);
    etmv3_encoder_set_vmid(s.encoder, 7);
    s.pc.security = BT_SEC_NONSECURE;
    etmv3_script_on(&s, 0);
    s.mark = 6;
    etmv3_encoder_set_vmid(s.encoder, 8);
    finish(&s, "08 29 00 80 00 00 3C 07 3C 08");
}
END_TEST

/* Trace on during a data instruction. */

static struct etmv3_insn insn_at(uint32_t address, uint32_t opcode, bool in_progress)
{
    return (struct etmv3_insn){.address = address,
                               .isa = BT_ISA_A32,
                               .opcode = opcode,
                               .pass = true,
                               .next = {.address = address + 4, .isa = BT_ISA_A32},
                               .in_progress = in_progress};
}

/* LDM at 0x8000 with ADD at 0x8004 underneath, NOP at 0x8008; its two transfers are at 0x2000. */
static void run_filtered(struct etmv3_script *s, uint32_t etmcr, struct etmv3_range insns,
                         struct etmv3_range data, bool underneath)
{
    struct etmv3_filter f = {.insns = insns, .data = data};
    const struct etmv3_insn ldm = insn_at(0x8000, A32_LDM, true);
    const struct etmv3_insn add = insn_at(0x8004, A32_ADD, false);
    const struct etmv3_insn nop = insn_at(0x8008, A32_NOP, false);
    const struct etmv3_state at_add = {.address = 0x8004, .isa = BT_ISA_A32};
    struct etmv3_access a = {.address = 0x2000, .value = 1, .size = 4, .first = true};

    start(s, etmcr, ETMV3_IDR_A7, 0x8000);
    f.encoder = s->encoder;
    etmv3_encoder_trigger(s->encoder);
    s->mark = s->out.size;
    etmv3_encoder_add_cycles(s->encoder, 5);
    etmv3_filter_insn(&f, &ldm);
    etmv3_filter_data(&f, &a, underneath ? &at_add : NULL);
    if (underneath)
        etmv3_filter_insn(&f, &add);
    a.address += 4;
    a.first = false;
    etmv3_filter_data(&f, &a, NULL);
    etmv3_filter_data_done(&f);
    if (!underneath)
        etmv3_filter_insn(&f, &add);
    etmv3_filter_insn(&f, &nop);
}

static const struct etmv3_range nowhere = {1, 0};

START_TEST(test_filter_instructions)
{
    static const struct {
        struct etmv3_range range;
        bool underneath;
        const char *hex;
    } rows[] = {
        /* The load alone; with the addition underneath, which is traced with it. */
        {{0x8000, 0x8000}, false, "08 21 00 80 00 00 84"},
        {{0x8000, 0x8000}, true, "08 21 00 80 00 00 88"},
        /* The addition alone; underneath, it brings the load with it. */
        {{0x8004, 0x8004}, false, "08 21 04 80 00 00 84"},
        {{0x8004, 0x8004}, true, "08 A1 00 80 00 00 03 84"},
    };
    struct etmv3_script s;

    run_filtered(&s, 0, rows[_i].range, nowhere, rows[_i].underneath);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_filter_data)
{
    static const struct {
        uint32_t etmcr;
        uint32_t hit; /* second transfer: when the addition has left, or nothing ran */
        bool underneath;
        const char *hex;
    } rows[] = {
        {0, 0x2000, false, "08 21 00 80 00 00 84"},
        {0, 0x2000, true, "08 A1 00 80 00 00 03 84"},
        {CA, 0x2000, true, "70 05 A1 00 80 00 00 03 92"},
        {0, 0x2004, true, "08 21 00 80 00 00 05"},
        {ETMV3_CR_DATA_VALUE, 0x2000, true, "08 A1 00 80 00 00 03 26 01 84 06 01"},
    };
    struct etmv3_script s;

    run_filtered(&s, rows[_i].etmcr, nowhere, (struct etmv3_range){rows[_i].hit, rows[_i].hit},
                 rows[_i].underneath);
    finish(&s, rows[_i].hex);
}
END_TEST

static void start_busy(struct etmv3_script *s, uint32_t etmcr, uint32_t etmidr, uint32_t address)
{
    struct etmv3_insn insn = insn_at(address & ~1u, A32_LDM, true);

    if (address & 1)
        insn.isa = BT_ISA_T32;
    start(s, etmcr, etmidr, address);
    etmv3_encoder_trigger(s->encoder);
    s->mark = s->out.size;
    etmv3_encoder_insn(s->encoder, &insn);
}

START_TEST(test_lsip)
{
    static const struct {
        uint32_t etmcr;
        uint32_t etmidr;
        uint32_t load;
        uint32_t current;
        const char *hex;
    } rows[] = {
        {0, ETMV3_IDR_A7, 0x8001, 0x8802, "08 A1 01 80 00 00 83 10"},
        {CA, ETMV3_IDR_A7, 0x8001, 0x8008, "70 05 A1 01 80 00 00 09"},
        {0, ETMV3_IDR_A7, 0x8000, 0x10010, "08 A1 00 80 00 00 89 80 02"},
        {0, ETMV3_IDR_M4, 0x8001, 0x8202, "08 A1 01 80 00 00 83 04"},
        {ETMV3_CR_CONTEXT_ID(1), ETMV3_IDR_A7, 0x8000, 0x8010, "08 00 A1 00 80 00 00 09"},
    };
    struct etmv3_script s;

    start_busy(&s, rows[_i].etmcr, rows[_i].etmidr, rows[_i].load);
    etmv3_encoder_add_cycles(s.encoder, 5);
    s.pc.address = rows[_i].current;
    etmv3_encoder_trace_on(s.encoder, &s.pc, true);
    finish(&s, rows[_i].hex);
}
END_TEST

START_TEST(test_lsip_security)
{
    struct etmv3_script s;

    start_busy(&s, 0, ETMV3_IDR_A7, 0x8000);
    s.pc =
        (struct etmv3_state){.address = 0x10010, .isa = BT_ISA_A32, .security = BT_SEC_NONSECURE};
    etmv3_encoder_restart(s.encoder, &s.pc, true);
    etmv3_script_run(&s, A32_NOP);
    finish(&s, "08 C1 00 80 00 00 89 80 82 80 48 01 84");
}
END_TEST

START_TEST(test_lsip_overtaken)
{
    static const char *const hex[] = {"08 21 00 80 00 00 09 84", "08 21 00 80 00 00 84 09 84"};
    struct etmv3_encoder_options o;
    struct etmv3_script s;
    const struct etmv3_insn ldm = insn_at(0x8000, A32_LDM, true);

    etmv3_script_options(&o, 0, ETMV3_IDR_A7);
    o.gap_atom = _i;
    ck_assert(etmv3_script_start(&s, &o, 0x8000));
    etmv3_encoder_insn(s.encoder, &ldm);
    etmv3_script_at(&s, 0x8004);
    etmv3_script_branch(&s, A32_BX_LR, 0x8010);
    etmv3_encoder_trace_on(s.encoder, &s.pc, false);
    etmv3_script_run(&s, A32_NOP);
    s.mark = 6;
    finish(&s, hex[_i]);
}
END_TEST

/* The second address is the base from there on. */
START_TEST(test_lsip_base)
{
    struct etmv3_script s;

    start_busy(&s, 0, ETMV3_IDR_A7, 0x8000);
    s.pc.address = 0x9010;
    etmv3_encoder_trace_on(s.encoder, &s.pc, true);
    etmv3_script_branch(&s, A32_BX_LR, 0x9020);
    finish(&s, "08 A1 00 80 00 00 89 10 84 11");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3_encoder_data");

    unit_case(s, "etmv3_encoder: data values", test_values);
    unit_case(s, "etmv3_encoder: data addresses", test_addresses);
    unit_cases(s, "etmv3_encoder: sequential transfers", test_sequential, 0, 3);
    unit_case(s, "etmv3_encoder: out-of-order data", test_late_values);
    unit_case(s, "etmv3_encoder: out-of-order data over a gap", test_late_value_after_gap);
    unit_case(s, "etmv3_encoder: store failed", test_store_failed);
    unit_cases(s, "etmv3_encoder: data suppressed", test_suppressed, 0, 2);
    unit_case(s, "etmv3_encoder: value not traced", test_not_traced);
    unit_cases(s, "etmv3_encoder: coprocessor transfers", test_cprt, 0, 2);
    unit_case(s, "etmv3_encoder: data-only mode", test_data_only);
    unit_case(s, "etmv3_encoder: data between two of a cycle", test_data_in_cycle);
    unit_case(s, "etmv3_encoder: branch between two of a cycle", test_branch_in_cycle);
    unit_case(s, "etmv3_encoder: exception entry, trigger, Ignore", test_entry_and_trigger);
    unit_case(s, "etmv3_encoder: timestamps", test_timestamps);
    unit_cases(s, "etmv3_encoder: 48-bit and Gray timestamps", test_timestamps_narrow, 0, 3);
    unit_case(s, "etmv3_encoder: VMID", test_vmid);
    unit_cases(s, "etmv3_encoder: instruction filter and LSiP", test_filter_instructions, 0, 4);
    unit_cases(s, "etmv3_encoder: data filter and LSiP", test_filter_data, 0, 5);
    unit_cases(s, "etmv3_encoder: LSiP addresses", test_lsip, 0, 5);
    unit_case(s, "etmv3_encoder: LSiP with a change of security", test_lsip_security);
    unit_cases(s, "etmv3_encoder: load in progress, nothing executing", test_lsip_overtaken, 0, 2);
    unit_case(s, "etmv3_encoder: base after LSiP", test_lsip_base);
    return s;
}
