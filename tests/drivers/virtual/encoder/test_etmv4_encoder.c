/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/virtual/encoder/etmv4_encoder.c, etmv4_output.c, etmv4_packets.c and
 * etmv4_speculation.c, p0_insn.c. */
/*
 * Model of an ETMv4: its bytes against the worked examples of etmv4-examples.case and its M-profile
 * twin, whose numbers the tests bear. No decoder is asked.
 */
#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "tests/support/unit_main.h"

#define START_LEAST 20 /* bytes of A-sync, Trace Info, Trace On, address and context */

#define A64_CBZ  0xb4000080u /* at 8004, to 8014 */
#define A64_BL   0x94000004u /* at 8008, to 8018 */
#define A64_B    0x14000002u /* at 800c, to 8014 */
#define A64_RET  0xd65f03c0u
#define A64_ISB  0xd5033fdfu
#define T32_POP  0xbd10u
#define T32_CBZ  0xb118u /* at 8002 */
#define M33      0x47724a13u
#define M33_IDR2 0x00000004u

static struct etmv4_encoder *encoder;
static struct trace_bytes out;

static void begin(uint32_t configr, bool m_profile)
{
    struct etmv4_encoder_options o;
    struct etmv4_place here = {0x8000, m_profile ? BT_ISA_T32 : BT_ISA_A64};

    etmv4_encoder_default_options(&o);
    o.configr |= configr;
    if (m_profile) {
        o.m_profile = true;
        o.devarch = M33;
        o.idr2 = M33_IDR2;
    }
    encoder = etmv4_encoder_new(&o, &out);
    ck_assert_ptr_nonnull(encoder);
    ck_assert_int_eq(etmv4_encoder_trace_on(encoder, &here), 0);
}

static void end(void)
{
    etmv4_encoder_free(encoder);
    trace_bytes_release(&out);
}

static void insn(uint64_t address, uint32_t opcode, bool taken, uint64_t next, enum bt_isa isa,
                 enum etmv4_special special)
{
    const struct etmv4_insn i = {.at = {address, isa},
                                 .opcode = opcode,
                                 .taken = taken,
                                 .special = special,
                                 .next = {next, isa}};

    ck_assert_int_eq(etmv4_encoder_insn(encoder, &i), ETMV4_TRACED_P0);
}

static void a64(uint64_t address, uint32_t opcode, bool taken, uint64_t next)
{
    insn(address, opcode, taken, next, BT_ISA_A64, ETMV4_BRANCH);
}

static void t32(uint64_t address, uint32_t opcode, bool taken, uint64_t next,
                enum etmv4_special special)
{
    insn(address, opcode, taken, next, BT_ISA_T32, special);
}

/* What stands at the end, with the atoms that are pending. */
static void expect(const char *bytes, size_t size)
{
    ck_assert_int_eq(etmv4_encoder_flush(encoder), 0);
    ck_assert_uint_ge(out.size, size + START_LEAST);
    ck_assert_mem_eq(out.data + out.size - size, bytes, size);
    end();
}

START_TEST(atoms_and_addresses)
{
    begin(0, false); /* 2: N, E, E, E, address, E */
    a64(0x8004, A64_CBZ, false, 0x8008);
    a64(0x8008, A64_BL, true, 0x8018);
    a64(0x801c, A64_ISB, true, 0x8020);
    a64(0x8020, A64_RET, true, 0x800c);
    a64(0x800c, A64_B, true, 0x8014);
    expect("\xdc\x95\x03\xf7", 4);           /* the four atoms in one packet */
    begin(ETMV4_CONFIG_RETURN_STACK, false); /* 27: the return needs no address */
    a64(0x8004, A64_CBZ, false, 0x8008);
    a64(0x8008, A64_BL, true, 0x8018);
    a64(0x801c, A64_ISB, true, 0x8020);
    a64(0x8020, A64_RET, true, 0x800c);
    a64(0x800c, A64_B, true, 0x8014);
    expect("\xf5", 1);
    begin(ETMV4_CONFIG_BROADCAST, false); /* 28: BL tells its target, too */
    a64(0x8004, A64_CBZ, false, 0x8008);
    a64(0x8008, A64_BL, true, 0x8018);
    a64(0x801c, A64_ISB, true, 0x8020);
    expect("\xda\x95\x06\xf7", 4);
}
END_TEST

START_TEST(exceptions)
{
    const struct etmv4_exception irq = {
        .type = 14, .preferred = {0x8008, BT_ISA_A64}, .vector = {0x20000200, BT_ISA_A64}};

    begin(0, false); /* 8, up to the handler's address: nothing ran there */
    a64(0x8004, A64_CBZ, false, 0x8008);
    ck_assert_int_eq(etmv4_encoder_exception(encoder, &irq), 0);
    expect("\xf6\x06\x1d\x95\x02", 5);
}
END_TEST

START_TEST(m_profile)
{
    const struct etmv4_exception tick = {.type = 15,
                                         .no_return = true,
                                         .preferred = {0, BT_ISA_T32},
                                         .vector = {0x9020, BT_ISA_T32}};
    const struct etmv4_exception irq24 = {
        .type = 0x218, .preferred = {0x8004, BT_ISA_T32}, .vector = {0x9020, BT_ISA_T32}};

    begin(0, true); /* 36: no return address */
    t32(0x8002, T32_CBZ, false, 0x8004, ETMV4_BRANCH);
    ck_assert_int_eq(etmv4_encoder_exception(encoder, &tick), 0);
    expect("\xf6\x06\x1f\x9b\x7f\xff\xff\xff", 8);
    begin(0, true); /* 35: a type of two bytes */
    t32(0x8002, T32_CBZ, false, 0x8004, ETMV4_BRANCH);
    ck_assert_int_eq(etmv4_encoder_exception(encoder, &irq24), 0);
    expect("\xf6\x06\xb1\x10\x96\x02", 6);
    begin(0, true); /* 38, 39: returns that are more than a branch */
    t32(0x8014, T32_POP, true, 0x8004, ETMV4_EXCEPTION_RETURN);
    t32(0x8002, T32_CBZ, false, 0x8004, ETMV4_BRANCH);
    expect("\xf7\x07\x96\x02\xf6", 5);
    begin(0, true);
    t32(0x8014, T32_POP, true, 0x8004, ETMV4_FUNCTION_RETURN);
    t32(0x8002, T32_CBZ, false, 0x8004, ETMV4_BRANCH);
    expect("\xf7\x05\x96\x02\xf6", 5);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv4 encoder");

    unit_case(s, "etmv4 encoder: atoms and addresses", atoms_and_addresses);
    unit_case(s, "etmv4 encoder: exceptions", exceptions);
    unit_case(s, "etmv4 encoder: M profile", m_profile);
    return s;
}
