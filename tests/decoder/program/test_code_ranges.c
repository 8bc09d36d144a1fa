/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/program/code.c, insn.c and insn_a64.c. */
/* Instruction ranges: what is told by a few bits, and by all of them, is the same. */
#include "decoder/program/code.h"
#include "decoder/program/insn_plain.h"
#include "drivers/virtual/encoder/trace_bytes.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define LONGEST 4096u /* bytes after which a range ends where the next instruction begins */

/* Instructions that are no waypoints. */

static unsigned plain, all; /* of those tried in a test */

static void compare(bool reported, const struct insn *insn, uint32_t op, unsigned size)
{
    all++;
    plain += reported;
    if (reported && (insn->cls != INSN_OTHER || insn->size != size))
        ck_abort_msg("%08x is of class %d and has %d bytes", op, insn->cls, insn->size);
}

/* Low bits that rules look at, and others. */
static const uint32_t fills[] = {0x0000, 0xffff, 0x0010, 0x006e, 0x0f95, 0x0060, 0x1234, 0x8001};
#define FILLS (sizeof fills / sizeof *fills)

START_TEST(plain_a32)
{
    struct insn insn;
    for (uint32_t high = 0; high < 1u << 14; high++)
        for (uint32_t middle = 0; middle < 1u << 8; middle++) {
            uint32_t rn = (0xfd10u >> 4 * (high & 3)) & 0xf;
            uint32_t op = high >> 2 << 20 | rn << 16 | (middle & 0xf0) << 8 | (middle & 0xf) << 4 |
                          (fills[(high + middle) % FILLS] & 0x0f0f);
            insn_decode_a32(op, 0x1000, &insn);
            compare(insn_a32_plain(op), &insn, op, 4);
        }
    ck_assert_uint_gt(plain, all / 10 * 3);
}
END_TEST

START_TEST(plain_a64)
{
    struct insn insn;
    for (uint32_t high = 0; high < 1u << 16; high++)
        for (size_t i = 0; i < FILLS; i++) {
            uint32_t op = high << 16 | fills[i];
            insn_decode_a64(op, 0x1000, &insn);
            compare(insn_a64_plain(op), &insn, op, 4);
        }
    ck_assert_uint_gt(plain, all / 2);
}
END_TEST

START_TEST(plain_t32)
{
    struct insn insn;
    for (uint32_t h1 = 0; h1 < 1u << 16; h1++) {
        unsigned size = insn_t32_size((uint16_t)h1);
        for (uint32_t i = 0; i < (size == 2 ? 1 : 1u << 8); i++) {
            uint32_t h2 = i << 8 | (fills[(h1 + i) % FILLS] & 0xff);
            insn_decode_t32((uint16_t)h1, (uint16_t)h2, 0x1000, &insn);
            compare(size == 2 ? insn_t16_plain(h1) : insn_t32_plain(h1, h2), &insn, h1 << 16 | h2,
                    size);
        }
    }
    ck_assert_uint_gt(plain, all / 2);
}
END_TEST

struct expected {
    uint32_t count, extent, length, wide;
    uint8_t end, flags;
};

/* The range at `address`, an instruction at a time. */
static struct expected walk(const struct code_cache *cache, const struct code_view *view,
                            uint64_t address, enum bt_isa isa)
{
    struct expected e = {.end = CODE_END_PAGE};
    uint32_t opcode;
    uint64_t end = isa == BT_ISA_A64 ? UINT64_MAX : (uint64_t)1 << 32; /* no range goes round it */
    while (e.length < LONGEST && address + e.length < end) {
        struct insn insn;
        if (code_insn(cache, view, address + e.length, isa, &insn, &opcode)) {
            e.end = CODE_END_NO_CODE;
            break;
        }
        if (e.count < CODE_WIDE_BITS && insn.size == 4 && isa != BT_ISA_A64)
            e.wide |= 1u << e.count;
        e.extent = e.length;
        e.length += insn.size;
        e.count++;
        if (insn.cls == INSN_OTHER || insn.cls == INSN_START ||
            (insn.cls == INSN_BARRIER && !cache->options.barrier_waypoints) ||
            (insn.cls == INSN_WAIT && !cache->options.wait_waypoints))
            continue;
        e.end = insn.cls == INSN_DIRECT     ? CODE_END_DIRECT
                : insn.cls == INSN_INDIRECT ? CODE_END_INDIRECT
                                            : CODE_END_BARRIER;
        e.flags = insn.flags;
        break;
    }
    return e;
}

static void same_range(struct code_cache *cache, struct code_view *view, uint64_t address,
                       enum bt_isa isa)
{
    struct expected e = walk(cache, view, address, isa);
    const struct code_range *range = code_lookup(cache, view, address, isa);
    ck_assert_ptr_nonnull(range);
    ck_assert_uint_eq(code_range_first64(range), address);
    ck_assert_uint_eq(code_range_count(range), e.count);
    ck_assert_uint_eq(code_range_length(range), e.length);
    ck_assert_uint_eq(range->extent, e.extent);
    ck_assert_uint_eq(range->end, e.end);
    ck_assert_uint_eq(range->last & (INSN_LINK | INSN_CONDITIONAL | INSN_EXC_RETURN), e.flags & 7);
    if (isa != BT_ISA_A64)
        ck_assert_uint_eq(range->wide, e.wide);
}

#define CODE_SIZE 30000u
#define SEQUENCE  9000u /* bytes without any waypoint */

/* Mostly no waypoints, as code is; with a sequence of none, longer than a range may be. */
static void fill(uint8_t *code, size_t size, enum bt_isa isa, uint32_t seed)
{
    struct trace_random random = {seed};
    for (size_t i = 0; i < size; i++)
        code[i] = (uint8_t)(trace_random_next(&random) >> 24);
    for (size_t i = 0; i + 4 <= size; i += 4) {
        bool word = isa == BT_ISA_A32 || isa == BT_ISA_A64;
        if (i < SEQUENCE || trace_random_next(&random) >> 28 < 12)
            memcpy(code + i, word ? "\x01\x10\x81\xe0" : "\x08\x44\x89\x18", 4);
        if (i < SEQUENCE && isa == BT_ISA_A64)
            memcpy(code + i, "\x20\x00\x02\x8b", 4);
        if (i < SEQUENCE && !word)
            memcpy(code + i, i % 3 ? "\x08\x30\x89\x18" : "\x02\xeb\x03\x01", 4);
    }
}

static const struct {
    enum bt_isa isa;
    uint64_t address;
    bool big_endian;
    struct code_options options;
} images[] = {
    {.isa = BT_ISA_A32, .address = 0x8000},
    {.isa = BT_ISA_A32, .address = 0x8000, .options = {.barrier_waypoints = true}},
    {.isa = BT_ISA_A32, .address = 0x8000, .big_endian = true},
    {.isa = BT_ISA_A32, .address = 0xffffffff - CODE_SIZE + 1},
    {.isa = BT_ISA_T32, .address = 0x8002},
    {.isa = BT_ISA_T32, .address = 0x8000, .options = {.wait_waypoints = true}},
    {.isa = BT_ISA_T32, .address = 0x8000, .options = {.t32_split = true}},
    {.isa = BT_ISA_T32, .address = 0xffffffff - CODE_SIZE + 1},
    {.isa = BT_ISA_T32EE, .address = 0x8000},
    {.isa = BT_ISA_A64, .address = 0xffffff8000080000},
    {.isa = BT_ISA_A64, .address = 0x8000, .big_endian = true},
};

START_TEST(ranges_are_what_their_instructions_are)
{
    static uint8_t code[CODE_SIZE];
    struct code_image image;
    struct code_cache cache;
    struct code_key key;
    enum bt_isa isa = images[_i].isa;
    bool word = isa == BT_ISA_A32 || isa == BT_ISA_A64;
    fill(code, sizeof code, isa, (uint32_t)_i + 1);
    code_image_init(&image);
    /* Two regions side by side: instructions lie across their border. */
    struct code_region first = {.address = images[_i].address,
                                .size = CODE_SIZE / 2 + 2,
                                .bytes = code,
                                .big_endian = images[_i].big_endian};
    struct code_region second = first;
    second.address += first.size;
    second.bytes += first.size;
    second.size = CODE_SIZE - first.size;
    ck_assert_int_eq(code_image_add(&image, &first), 0);
    ck_assert_int_eq(code_image_add(&image, &second), 0);
    code_cache_init(&cache, &image, &images[_i].options);
    code_key_init(&key);
    struct code_view *view = code_select(&cache, &key);
    for (uint32_t at = 0; at < CODE_SIZE; at += at < SEQUENCE ? 36 : word ? 4 : 2)
        same_range(&cache, view, images[_i].address + at, isa);
    code_cache_release(&cache);
    code_image_release(&image);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("code_ranges");
    unit_case(s, "code: A32 that a few bits tell is no waypoint", plain_a32);
    unit_case(s, "code: A64 that a few bits tell is no waypoint", plain_a64);
    unit_case(s, "code: T32 that a few bits tell is no waypoint", plain_t32);
    unit_cases(s, "code: ranges are what their instructions are, one at a time",
               ranges_are_what_their_instructions_are, 0, sizeof images / sizeof *images);
    return s;
}
