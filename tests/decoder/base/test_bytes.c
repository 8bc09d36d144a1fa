/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/base/bytes.h. */
#include "decoder/base/bytes.h"

#include "tests/support/unit_main.h"

START_TEST(numbers_and_back)
{
    static const uint8_t b[8] = {1, 2, 3, 4, 5, 6, 7, 0x88};
    uint8_t out[8];
    ck_assert_uint_eq(bytes_half(b), 0x0201);
    ck_assert_uint_eq(bytes_word(b), 0x04030201);
    ck_assert_uint_eq(bytes_word(b + 4), 0x88070605);
    ck_assert_uint_eq(bytes_double(b), UINT64_C(0x8807060504030201));
    for (unsigned size = 1; size <= sizeof b; size++) {
        for (unsigned big = 0; big < 2; big++) {
            uint64_t number = bytes_number(b, size, big);
            memset(out, 0xee, sizeof out);
            bytes_set_number(out, size, big, number);
            ck_assert_mem_eq(out, b, size);
            ck_assert(size == sizeof out || out[size] == 0xee);
        }
    }
    ck_assert_uint_eq(bytes_number(b, 3, false), 0x030201);
    ck_assert_uint_eq(bytes_number(b, 3, true), 0x010203);
    bytes_set_half(out, 0x10201);
    bytes_set_word(out + 2, 0x06050403);
    ck_assert_mem_eq(out, b, 6);
    bytes_set_double(out, bytes_double(b));
    ck_assert_mem_eq(out, b, sizeof b);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("bytes");
    unit_case(s, "bytes: numbers of each size and order, and back", numbers_and_back);
    return s;
}
