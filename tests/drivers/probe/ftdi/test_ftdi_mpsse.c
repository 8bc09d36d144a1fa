/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes of MPSSE commands as AN_108 has them. */
#include "drivers/probe/ftdi/ftdi_mpsse.h"

#include <string.h>

#include "tests/support/unit_main.h"

static uint8_t buffer[70000];
static struct mpsse m;

static void begin(void)
{
    mpsse_start(&m, buffer, sizeof buffer, false);
}

static void expect(const char *bytes, size_t length, size_t reply)
{
    ck_assert(!m.overflow);
    ck_assert_uint_eq(m.length, length);
    ck_assert_int_eq(memcmp(m.bytes, bytes, length), 0);
    ck_assert_uint_eq(m.reply, reply);
}

#define EXPECT(text, reply) expect(text, sizeof text - 1, reply)

START_TEST(test_instruction_scan)
{
    const uint8_t ir[] = {0x0a};
    begin();
    mpsse_tms(&m, 4, 0x03, false, false);
    mpsse_shift(&m, ir, 4, false);
    mpsse_tms(&m, 2, 0x01, false, false);
    EXPECT("\x4b\x03\x03\x1b\x02\x02\x4b\x00\x81\x4b\x01\x01", 0);
    ck_assert_uint_eq(m.clocks, 10);
}
END_TEST

START_TEST(test_data_scan)
{
    /* 35 bits: CTRL/STAT = 0x50000000. */
    const uint8_t dr[] = {0x02, 0x00, 0x00, 0x80, 0x02};
    begin();
    mpsse_tms(&m, 3, 0x01, false, false);
    mpsse_shift(&m, dr, 35, true);
    mpsse_tms(&m, 2, 0x01, false, false);
    EXPECT("\x4b\x02\x01\x39\x03\x00\x02\x00\x00\x80\x3b\x01\x02\x6b\x00\x01\x4b\x01\x01", 6);
    ck_assert_uint_eq(mpsse_shift_length(35), 6);
}
END_TEST

START_TEST(test_data_answer)
{
    /* IDCODE in shifts of AN_108: 4 bytes, 7 bits and 1 bit make 32; here read with one shift. */
    const uint8_t answer[] = {0x77, 0x04, 0xa0, 0x96, 0x00};
    uint8_t out[4];
    ck_assert_uint_eq(mpsse_shift_length(32), 5);
    mpsse_shift_answer(answer, 32, out);
    ck_assert_int_eq(memcmp(out, "\x77\x04\xa0\x4b", 4), 0);
    const uint8_t one[] = {0x80};
    ck_assert_uint_eq(mpsse_shift_length(1), 1);
    mpsse_shift_answer(one, 1, out);
    ck_assert_uint_eq(out[0], 1);
    const uint8_t nine[] = {0x5a, 0x80};
    ck_assert_uint_eq(mpsse_shift_length(9), 2);
    mpsse_shift_answer(nine, 9, out);
    ck_assert(out[0] == 0x5a && out[1] == 1);
    ck_assert_uint_eq(mpsse_bits(0xc0, 2), 3);
    ck_assert_uint_eq(mpsse_bits(0x5a, 8), 0x5a);
}
END_TEST

START_TEST(test_shift_any_length)
{
    const uint8_t ones[] = {0xff, 0xff, 0xff};
    for (unsigned bits = 1; bits <= 24; bits++) {
        begin();
        mpsse_shift(&m, ones, bits, true);
        ck_assert(!m.overflow);
        ck_assert_uint_eq(m.clocks, bits);
        ck_assert_uint_eq(m.reply, mpsse_shift_length(bits));
        ck_assert_int_eq(memcmp(m.bytes + m.length - 3, "\x6b\x00\x81", 3), 0);
    }
}
END_TEST

START_TEST(test_swd_pieces)
{
    const uint8_t data[] = {0x11, 0x22, 0x33, 0x44};
    begin();
    mpsse_bytes_out(&m, (const uint8_t *)"\xa5", 1);
    mpsse_command_with(&m, MPSSE_SET_LOW, 0x08, 0x09);
    mpsse_bytes_in(&m, 4);
    mpsse_bits_in(&m, 6);
    mpsse_command_with(&m, MPSSE_SET_LOW, 0x08, 0x0b);
    mpsse_bits_in(&m, 5);
    mpsse_bytes_out(&m, data, 4);
    mpsse_bits_out(&m, 1, 1);
    mpsse_command(&m, MPSSE_SEND_IMMEDIATE, 0);
    EXPECT("\x19\x00\x00\xa5\x80\x08\x09\x28\x03\x00\x2a\x05\x80\x08\x0b\x2a\x04\x19\x03\x00\x11"
           "\x22\x33\x44\x1b\x00\x01\x87",
           6);
}
END_TEST

START_TEST(test_settings)
{
    begin();
    mpsse_set_clock(&m, false, 0x1234);
    mpsse_set_clock(&m, true, 0xffff);
    mpsse_command(&m, MPSSE_ADAPTIVE_OFF, 0);
    mpsse_command(&m, MPSSE_ADAPTIVE_ON, 0);
    mpsse_command(&m, MPSSE_THREE_PHASE_OFF, 0);
    mpsse_command(&m, MPSSE_LOOPBACK_OFF, 0);
    mpsse_command(&m, MPSSE_LOOPBACK_ON, 0);
    mpsse_command_with(&m, MPSSE_SET_HIGH, 0xfe, 0x01);
    mpsse_command(&m, MPSSE_READ_LOW, 1);
    mpsse_command(&m, MPSSE_READ_HIGH, 1);
    mpsse_command(&m, 0xaa, 2);
    EXPECT("\x8a\x86\x34\x12\x8b\x86\xff\xff\x97\x96\x8d\x85\x84\x82\xfe\x01\x81\x83\xaa", 4);
}
END_TEST

START_TEST(test_both_and_falling)
{
    mpsse_start(&m, buffer, sizeof buffer, true);
    mpsse_shift_bytes(&m, MPSSE_OUT_TDI | MPSSE_IN_TDO, (const uint8_t *)"\x01\x02", 2);
    mpsse_shift_bits(&m, MPSSE_OUT_TDI | MPSSE_IN_TDO, 3, 5);
    mpsse_bytes_in(&m, 1);
    mpsse_bits_in(&m, 8);
    mpsse_tms(&m, 1, 1, false, true);
    mpsse_bytes_out(&m, (const uint8_t *)"\x03", 1);
    EXPECT("\x3d\x01\x00\x01\x02\x3f\x02\x05\x2c\x00\x00\x2e\x07\x6f\x00\x01\x19\x00\x00\x03", 6);
}
END_TEST

START_TEST(test_limits)
{
    static uint8_t zeros[MPSSE_MAX_BYTES + 1];
    begin();
    mpsse_bytes_out(&m, zeros, MPSSE_MAX_BYTES);
    ck_assert(!m.overflow);
    ck_assert_int_eq(memcmp(m.bytes, "\x19\xff\xff", 3), 0);
    for (unsigned k = 0; k < 6; k++) {
        begin();
        switch (k) {
        case 0:
            mpsse_bytes_out(&m, zeros, MPSSE_MAX_BYTES + 1);
            break;
        case 1:
            mpsse_bytes_in(&m, 0);
            break;
        case 2:
            mpsse_bits_out(&m, 9, 0);
            break;
        case 3:
            mpsse_tms(&m, 7, 0, false, false);
            break;
        case 4:
            mpsse_shift(&m, zeros, 0, false);
            break;
        default:
            mpsse_bits_in(&m, 0);
            break;
        }
        ck_assert_msg(m.overflow, "case %u", k);
    }
    mpsse_start(&m, buffer, 3, false);
    mpsse_command_with(&m, MPSSE_SET_LOW, 1, 2);
    ck_assert(!m.overflow);
    mpsse_command(&m, MPSSE_SEND_IMMEDIATE, 0);
    ck_assert(m.overflow && m.length == 3);
}
END_TEST

START_TEST(test_clock)
{
    static const struct {
        uint32_t hz, actual;
        uint16_t divisor;
        bool slow;
    } rows[] = {
        {30000000, 30000000, 0, false}, {100000000, 30000000, 0, false},
        {15000000, 15000000, 1, false}, {29999999, 15000000, 1, false},
        {1000000, 1000000, 29, false},  {4000000, 3750000, 7, false},
        {458, 457, 65502, false},       {457, 456, 13129, true},
        {92, 91, 65217, true},          {1, 91, 65535, true},
        {0, 91, 65535, true},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        bool slow;
        uint16_t divisor;
        uint32_t actual = mpsse_clock(rows[k].hz, &slow, &divisor);
        ck_assert_msg(actual == rows[k].actual && divisor == rows[k].divisor &&
                          slow == rows[k].slow,
                      "%u Hz: %u, divisor %u, %d", rows[k].hz, actual, divisor, slow);
    }
}
END_TEST

START_TEST(test_status_bytes)
{
    uint8_t data[1100];
    size_t packets[] = {512, 64};
    for (unsigned p = 0; p < 2; p++) {
        for (size_t length = 0; length <= sizeof data; length++) {
            size_t expected = 0;
            for (size_t k = 0; k < length; k++) {
                bool status = k % packets[p] < 2;
                data[k] = status ? 0xee : (uint8_t)(expected++ % 251);
            }
            ck_assert_uint_eq(mpsse_strip_status(data, length, packets[p]), expected);
            for (size_t k = 0; k < expected; k++)
                ck_assert_uint_eq(data[k], k % 251);
        }
    }
    ck_assert_uint_eq(mpsse_strip_status(data, 100, 0), 0);
}
END_TEST

START_TEST(test_echo)
{
    uint8_t command = 0;
    ck_assert(mpsse_is_echo((const uint8_t *)"\x01\xfa\xab", 3, &command));
    ck_assert_uint_eq(command, 0xab);
    ck_assert(!mpsse_is_echo((const uint8_t *)"\xfa", 1, &command));
    ck_assert(!mpsse_is_echo((const uint8_t *)"\xfa\x01\x02", 3, &command));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("ftdi_mpsse");
    unit_case(s, "ftdi_mpsse: scan of an instruction", test_instruction_scan);
    unit_case(s, "ftdi_mpsse: scan of data", test_data_scan);
    unit_case(s, "ftdi_mpsse: answers to scans", test_data_answer);
    unit_case(s, "ftdi_mpsse: scans of any length", test_shift_any_length);
    unit_case(s, "ftdi_mpsse: pieces of SWD", test_swd_pieces);
    unit_case(s, "ftdi_mpsse: settings and pins", test_settings);
    unit_case(s, "ftdi_mpsse: both ways, and the falling edge", test_both_and_falling);
    unit_case(s, "ftdi_mpsse: limits", test_limits);
    unit_case(s, "ftdi_mpsse: clocks", test_clock);
    unit_case(s, "ftdi_mpsse: status bytes", test_status_bytes);
    unit_case(s, "ftdi_mpsse: echo of an unknown command", test_echo);
    return s;
}
