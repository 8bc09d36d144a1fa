/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/virtual/encoder/waypoint.c. */
/*
 * The trace unit model's table of waypoint instructions: each row of IHI 0035B 2.2 with an opcode
 * inside and a neighbour outside, and agreement with the random code generator, which has its own
 * tables.
 */
#include "drivers/virtual/encoder/waypoint.h"
#include "tests/support/random_code.h"
#include "tests/support/unit_main.h"

#define NONE     WAYPOINT_NONE
#define DIRECT   WAYPOINT_DIRECT
#define INDIRECT WAYPOINT_INDIRECT
#define ISB      WAYPOINT_ISB
#define BARRIER  WAYPOINT_BARRIER
#define LINK     1u
#define RETURN   2u

struct row {
    uint32_t opcode;
    enum waypoint_class cls;
    unsigned flags;
};

static void check_rows(enum bt_isa isa, const struct row *rows, size_t count)
{
    struct waypoint w;

    for (size_t i = 0; i < count; i++) {
        waypoint_classify(isa, rows[i].opcode, 0x1000, &w);
        ck_assert_msg(w.cls == rows[i].cls, "%08x is of class %d", rows[i].opcode, (int)w.cls);
        ck_assert_msg(w.link == !!(rows[i].flags & LINK), "%08x: link", rows[i].opcode);
        ck_assert_msg(w.exception_return == !!(rows[i].flags & RETURN), "%08x: return",
                      rows[i].opcode);
        ck_assert_uint_eq(w.size, isa == BT_ISA_A32 || rows[i].opcode > 0xffff ? 4 : 2);
    }
}

#define CHECK_ROWS(isa, rows) check_rows(isa, rows, sizeof(rows) / sizeof(rows)[0])

START_TEST(test_a32)
{
    static const struct row rows[] = {
        {0xfa00003e, DIRECT, LINK},     {0xfb00003e, DIRECT, LINK},
        {0xfc00003e, NONE, 0},          {0xf8900a00, INDIRECT, RETURN},
        {0xf9bd0a00, INDIRECT, RETURN}, {0xf8d00a00, NONE, 0},
        {0xf57ff04f, BARRIER, 0},       {0xf57ff05f, BARRIER, 0},
        {0xf57ff06f, ISB, 0},           {0xf57ff01f, NONE, 0},
        {0xf5d0f000, NONE, 0},          {0xea000000, DIRECT, 0},
        {0x0affffff, DIRECT, 0},        {0xeb000000, DIRECT, LINK},
        {0xe9900001, NONE, 0},          {0xe12fff1e, INDIRECT, 0},
        {0xe12fff23, INDIRECT, 0},      {0xe12fff33, INDIRECT, LINK},
        {0xe12fff43, NONE, 0},          {0xe160006e, INDIRECT, RETURN},
        {0xe1600070, NONE, 0},          {0xe8bd8010, INDIRECT, 0},
        {0xe8bd4010, NONE, 0},          {0xe8ad8010, NONE, 0},
        {0xe8fd8010, INDIRECT, RETURN}, {0xe8fd4010, NONE, 0},
        {0xe59ff020, INDIRECT, 0},      {0xe49df004, INDIRECT, 0},
        {0xe5dff020, NONE, 0},          {0xe58ff020, NONE, 0},
        {0xe59fe020, NONE, 0},          {0xe79ff103, INDIRECT, 0},
        {0xe79ff113, NONE, 0},          {0xee070f95, ISB, 0},
        {0xee073f9a, BARRIER, 0},       {0xee07cfba, BARRIER, 0},
        {0xee070f15, NONE, 0},          {0xfe070f95, NONE, 0},
        {0xe1a0f00e, INDIRECT, 0},      {0xe1b0f00e, INDIRECT, RETURN},
        {0xe1a0e00f, NONE, 0},          {0xe08ff103, INDIRECT, 0},
        {0xe25ef004, INDIRECT, RETURN}, {0xe28ff004, INDIRECT, 0},
        {0xe35ff004, NONE, 0},          {0xe15ff000, NONE, 0},
        {0xe128f000, NONE, 0},          {0xe320f000, NONE, 0},
        {0xe00ff091, NONE, 0},          {0xe1cff0b0, NONE, 0},
        {0xef000000, NONE, 0},          {0xe1200070, NONE, 0},
        {0xe1400070, NONE, 0},          {0xe7f000f0, NONE, 0},
        {0xe320f003, NONE, 0},          {0xe7fff000, NONE, 0},
    };

    CHECK_ROWS(BT_ISA_A32, rows);
}
END_TEST

START_TEST(test_t16)
{
    static const struct row rows[] = {
        {0xd000, DIRECT, 0},   {0xddff, DIRECT, 0},      {0xde00, NONE, 0},
        {0xdf00, NONE, 0},     {0xe7fe, DIRECT, 0},      {0xb100, DIRECT, 0},
        {0xb300, DIRECT, 0},   {0xb900, DIRECT, 0},      {0xbbff, DIRECT, 0},
        {0xb000, NONE, 0},     {0xb200, NONE, 0},        {0xb500, NONE, 0},
        {0x4770, INDIRECT, 0}, {0x4798, INDIRECT, LINK}, {0xbd10, INDIRECT, 0},
        {0xbc10, NONE, 0},     {0x44a7, INDIRECT, 0},    {0x44a6, NONE, 0},
        {0x4427, NONE, 0},     {0x46b7, INDIRECT, 0},    {0x4677, NONE, 0},
        {0x4687, INDIRECT, 0}, {0xbf00, NONE, 0},        {0xbf08, NONE, 0},
        {0xbe00, NONE, 0},     {0xbf30, NONE, 0},        {0xc300, NONE, 0},
    };

    CHECK_ROWS(BT_ISA_T32, rows);
}
END_TEST

START_TEST(test_t32)
{
    static const struct row rows[] = {
        {0xf0008000, DIRECT, 0},        {0xf3408000, DIRECT, 0},    {0xf3808000, NONE, 0},
        {0xf0009000, DIRECT, 0},        {0xf000d000, DIRECT, LINK}, {0xf000c000, DIRECT, LINK},
        {0xf000c001, NONE, 0},          {0xf3c18f00, INDIRECT, 0},  {0xf3d08f00, INDIRECT, RETURN},
        {0xf3de8f04, INDIRECT, RETURN}, {0xf3e08000, NONE, 0},      {0xf3bf8f4f, BARRIER, 0},
        {0xf3bf8f5f, BARRIER, 0},       {0xf3bf8f6f, ISB, 0},       {0xf3bf8f2f, NONE, 0},
        {0xf3bf8f0f, DIRECT, 0},        {0xf3bf8f1f, DIRECT, 0},    {0xe810c000, INDIRECT, RETURN},
        {0xe830c000, INDIRECT, RETURN}, {0xe820c000, NONE, 0},      {0xe990c000, INDIRECT, RETURN},
        {0xe9b0c000, INDIRECT, RETURN}, {0xe980c000, NONE, 0},      {0xe8bd8010, INDIRECT, 0},
        {0xe8bd4010, NONE, 0},          {0xe9308010, INDIRECT, 0},  {0xe8a08010, NONE, 0},
        {0xe8dff001, INDIRECT, 0},      {0xe8dff011, INDIRECT, 0},  {0xe8dff021, NONE, 0},
        {0xf8d1f004, INDIRECT, 0},      {0xf8d1e004, NONE, 0},      {0xf8dff020, INDIRECT, 0},
        {0xf85ff020, INDIRECT, 0},      {0xf85fe020, NONE, 0},      {0xf85dfb04, INDIRECT, 0},
        {0xf851f020, INDIRECT, 0},      {0xf851f040, NONE, 0},      {0xf8cff000, NONE, 0},
        {0xf891f000, NONE, 0},          {0xee070f95, ISB, 0},       {0xee073f9a, BARRIER, 0},
        {0xee073fba, BARRIER, 0},       {0xee070f15, NONE, 0},      {0xf7f08000, NONE, 0},
        {0xf7e08000, NONE, 0},          {0xf7f0a000, NONE, 0},      {0xf3af8000, NONE, 0},
        {0xf04f0f00, NONE, 0},
    };

    CHECK_ROWS(BT_ISA_T32, rows);
}
END_TEST

START_TEST(test_t32ee)
{
    static const struct row rows[] = {
        {0xc000, INDIRECT, 0},    {0xc0ff, INDIRECT, 0},    {0xc100, NONE, 0},
        {0xc200, INDIRECT, 0},    {0xc300, INDIRECT, LINK}, {0xc400, INDIRECT, LINK},
        {0xc7ff, INDIRECT, LINK}, {0xc800, NONE, 0},        {0xca00, NONE, 0},
        {0x4770, INDIRECT, 0},    {0xd000, DIRECT, 0},      {0xf000d000, DIRECT, LINK},
    };

    CHECK_ROWS(BT_ISA_T32EE, rows);
}
END_TEST

START_TEST(test_targets)
{
    static const struct {
        enum bt_isa isa;
        uint32_t opcode, address, target;
        enum bt_isa target_isa;
    } rows[] = {
        {BT_ISA_A32, 0xeafffffe, 0x1000, 0x1000, BT_ISA_A32},
        {BT_ISA_A32, 0x0a00003f, 0x0f00, 0x1004, BT_ISA_A32},
        {BT_ISA_A32, 0xea800000, 0x0, 0xfe000008, BT_ISA_A32},
        {BT_ISA_A32, 0xfa00003e, 0x1000, 0x1100, BT_ISA_T32},
        {BT_ISA_A32, 0xfb00003e, 0x1000, 0x1102, BT_ISA_T32},
        {BT_ISA_T32, 0xd1fa, 0x2008, 0x2000, BT_ISA_T32},
        {BT_ISA_T32, 0xe031, 0x1a, 0x80, BT_ISA_T32},
        {BT_ISA_T32, 0xe400, 0x1000, 0x804, BT_ISA_T32},
        {BT_ISA_T32, 0xb118, 0x2006, 0x2010, BT_ISA_T32},
        {BT_ISA_T32, 0xb3f8, 0x2000, 0x2082, BT_ISA_T32},
        {BT_ISA_T32, 0xf000f81d, 0x2002, 0x2040, BT_ISA_T32},
        {BT_ISA_T32, 0xf7fffffe, 0x2000, 0x2000, BT_ISA_T32},
        {BT_ISA_T32, 0xf400d000, 0x2000, 0xff002004, BT_ISA_T32},
        {BT_ISA_T32, 0xf43fafff, 0x2000, 0x2002, BT_ISA_T32},
        {BT_ISA_T32, 0xf0408000, 0x2000, 0x2004, BT_ISA_T32},
        {BT_ISA_T32, 0xf0018000, 0x2000, 0x3004, BT_ISA_T32},
        {BT_ISA_T32, 0xf000a000, 0x2000, 0x42004, BT_ISA_T32},
        {BT_ISA_T32, 0xf0008800, 0x2000, 0x82004, BT_ISA_T32},
        {BT_ISA_T32, 0xf000e802, 0x2002, 0x2008, BT_ISA_A32},
        {BT_ISA_T32, 0xf3bf8f1f, 0x2000, 0x2004, BT_ISA_T32EE},
        {BT_ISA_T32EE, 0xf3bf8f0f, 0x2000, 0x2004, BT_ISA_T32},
    };
    struct waypoint w;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        waypoint_classify(rows[i].isa, rows[i].opcode, rows[i].address, &w);
        ck_assert_int_eq(w.cls, WAYPOINT_DIRECT);
        ck_assert_msg(w.target == rows[i].target, "%08x goes to %#lx", rows[i].opcode,
                      (unsigned long)w.target);
        ck_assert_int_eq(w.target_isa, rows[i].target_isa);
    }
}
END_TEST

START_TEST(test_sizes)
{
    ck_assert_uint_eq(waypoint_t32_size(0xe7ff), 2);
    ck_assert_uint_eq(waypoint_t32_size(0xe800), 4);
    ck_assert_uint_eq(waypoint_t32_size(0xf000), 4);
    ck_assert_uint_eq(waypoint_t32_size(0xffff), 4);
    ck_assert_uint_eq(waypoint_t32_size(0xbf00), 2);
}
END_TEST

static enum waypoint_class generated_class(const struct code_insn *insn)
{
    switch (insn->kind) {
    case CODE_DIRECT:
        return WAYPOINT_DIRECT;
    case CODE_INDIRECT:
        return WAYPOINT_INDIRECT;
    case CODE_ISB:
        return WAYPOINT_ISB;
    case CODE_BARRIER:
        return WAYPOINT_BARRIER;
    default:
        return WAYPOINT_NONE;
    }
}

START_TEST(test_generated_code)
{
    struct random_flow_options o;
    unsigned direct = 0;

    random_flow_default_options(&o);
    o.smc_insns = o.hvc_insns = o.eret_a32 = true;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct trace_random random = {.state = seed};
        struct random_code c;
        ck_assert_int_eq(random_code_init(&c, &o, &random), 0);
        for (uint32_t i = 0; i < c.insn_count; i++) {
            const struct code_insn *insn = &c.insns[i];
            struct waypoint w;
            waypoint_classify((enum bt_isa)insn->isa, insn->opcode, insn->address, &w);
            ck_assert_msg(w.cls == generated_class(insn), "%08x", insn->opcode);
            ck_assert_uint_eq(w.size, insn->size);
            ck_assert_int_eq(w.link, !!(insn->flags & CODE_LINK));
            ck_assert_int_eq(w.exception_return, !!(insn->flags & CODE_RETURN));
            if (w.cls != WAYPOINT_DIRECT)
                continue;
            direct++;
            ck_assert_uint_eq(w.target, c.insns[insn->target].address);
            ck_assert_uint_eq(w.target_isa, c.insns[insn->target].isa);
        }
        random_code_release(&c);
    }
    ck_assert_uint_gt(direct, 1000);
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
    Suite *s = suite_create("waypoint");

    add(s, "waypoint: A32 table", test_a32);
    add(s, "waypoint: T32 table, 16 bits", test_t16);
    add(s, "waypoint: T32 table, 32 bits", test_t32);
    add(s, "waypoint: ThumbEE handler branches", test_t32ee);
    add(s, "waypoint: targets of direct branches", test_targets);
    add(s, "waypoint: size from the first halfword", test_sizes);
    add(s, "waypoint: agrees with the generator of random code", test_generated_code);
    return s;
}
