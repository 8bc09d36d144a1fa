/* SPDX-License-Identifier: BSD-3-Clause */
/* ORBTrace's units of 16 bytes: frames wait for the count that says that none is missing. */
#include "drivers/probe/orbtrace/orbtrace_units.h"
#include "tests/support/unit_main.h"

#include <string.h>

static char reported[256];
static struct orbtrace_units units;

/* A frame is one letter here. */
static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    (void)user;
    ck_assert_uint_eq(length % ORBTRACE_UNIT, 0);
    for (size_t at = 0; at < length; at += ORBTRACE_UNIT) {
        size_t used = strlen(reported);
        if (used < sizeof reported - 1)
            reported[used] = (char)data[at];
    }
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    (void)user;
    ck_assert_int_eq(cause, BT_GAP_LOST_BYTES);
    strcat(reported, "-");
}

static const struct trace_sink sink = {.bytes = on_bytes, .lost = on_lost};

/* Letters are frames, digits keep-alives with that count, '!' a transfer that was lost. */
static void expect(const char *input, const char *wanted)
{
    uint8_t transfer[64 * ORBTRACE_UNIT];
    for (unsigned whole = 0; whole < 2; whole++) {
        size_t used = 0;
        memset(reported, 0, sizeof reported);
        orbtrace_units_restart(&units);
        for (const char *s = input; *s; s++) {
            uint8_t unit[ORBTRACE_UNIT] = {(uint8_t)*s};
            if (*s >= '0' && *s <= '9') {
                static const uint8_t tail[] = {0xff, 0xff, 0xff, 0x7f};
                unit[0] = 0xa6;
                unit[6] = (uint8_t)(*s - '0');
                unit[8] = 0x55;
                memcpy(unit + 12, tail, sizeof tail);
            }
            if (*s != '!') {
                memcpy(transfer + used, unit, sizeof unit);
                used += sizeof unit;
            }
            if (!whole || *s == '!') {
                orbtrace_units_feed(&units, transfer, used, &sink);
                used = 0;
            }
            if (*s == '!')
                orbtrace_units_lost(&units, &sink);
        }
        orbtrace_units_feed(&units, transfer, used, &sink);
        ck_assert_str_eq(reported, wanted);
    }
}

START_TEST(frames_wait_for_the_count)
{
    ck_assert_int_eq(orbtrace_units_init(&units), 0);
    expect("abc", "");
    expect("abc0", "abc");
    expect("0abc0de0", "abcde");
    expect("0a0b1c1d1", "a-cd");
    expect("0a1b2c3d4e4", "-e");
    expect("a3b3", "-b"); /* lost long ago, or just now */
    expect("3a3", "a");
    expect("0ab!cd0ef0", "-ef");
    expect("0ab0!cd0ef0", "ab-ef");
    orbtrace_units_release(&units);
}
END_TEST

START_TEST(a_transfer_that_is_no_whole_unit)
{
    uint8_t frame[ORBTRACE_UNIT] = {'a'};
    ck_assert_int_eq(orbtrace_units_init(&units), 0);
    memset(reported, 0, sizeof reported);
    orbtrace_units_feed(&units, frame, 15, &sink);
    ck_assert_str_eq(reported, "-");
    orbtrace_units_release(&units);
}
END_TEST

START_TEST(no_keep_alive_for_long)
{
    static uint8_t frames[65536];
    ck_assert_int_eq(orbtrace_units_init(&units), 0);
    memset(reported, 0, sizeof reported);
    for (size_t n = 0; n <= ORBTRACE_HOLD; n += sizeof frames)
        orbtrace_units_feed(&units, frames, sizeof frames, &sink);
    ck_assert_str_eq(reported, "-");
    orbtrace_units_release(&units);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("orbtrace_units");
    unit_case(s, "orbtrace: frames wait for the count of lost ones", frames_wait_for_the_count);
    unit_case(s, "orbtrace: a transfer that is no whole unit", a_transfer_that_is_no_whole_unit);
    unit_case(s, "orbtrace: no keep-alive for long", no_keep_alive_for_long);
    return s;
}
