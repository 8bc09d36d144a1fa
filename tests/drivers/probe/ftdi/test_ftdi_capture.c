/* SPDX-License-Identifier: BSD-3-Clause */
/* Two status bytes in front of each packet of an FTDI chip: what is left, and overruns. */
#include "drivers/probe/ftdi/ftdi_capture_strip.h"
#include "tests/support/sink_room.h"
#include "tests/support/unit_main.h"

#include <string.h>

#define PACKET 64u

static char reported[1024];

static void on_bytes(void *user, const uint8_t *data, size_t length)
{
    (void)user;
    ck_assert_uint_gt(length, 0);
    size_t used = strlen(reported);
    memcpy(reported + used, data, length);
    reported[used + length] = '\0';
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    (void)user;
    ck_assert_int_eq(cause, BT_GAP_LOST_BYTES);
    strcat(reported, "-");
}

/* Packets of one letter each, as many bytes as told; a capital one has the overrun bit. */
static const char *strip(const char *letters, const size_t *lengths)
{
    static const struct trace_sink sink = {.bytes = on_bytes, .lost = on_lost, .room = sink_room};
    uint8_t transfer[8 * PACKET];
    size_t used = 0;
    for (size_t i = 0; letters[i]; i++) {
        bool overrun = letters[i] < 'a';
        transfer[used] = 0x01;
        transfer[used + 1] = overrun ? 0x62 : 0x60;
        memset(transfer + used + 2, letters[i], lengths[i]);
        used += 2 + lengths[i];
    }
    memset(reported, 0, sizeof reported);
    ftdi_capture_strip(transfer, used, PACKET, &sink);
    return reported;
}

START_TEST(status_bytes_go)
{
    static const size_t lengths[] = {62, 62, 3};
    char wanted[128];
    memset(wanted, 'a', 62);
    memset(wanted + 62, 'b', 62);
    strcpy(wanted + 124, "ccc");
    ck_assert_str_eq(strip("abc", lengths), wanted);
    ck_assert_str_eq(strip("a", (const size_t[]){1}), "a");
    ck_assert_str_eq(strip("a", (const size_t[]){0}), ""); /* idle */
    ck_assert_str_eq(strip("", lengths), "");
}
END_TEST

START_TEST(overruns_are_reported_where_they_are)
{
    static const size_t lengths[] = {62, 2};
    char wanted[128];
    memset(wanted, 'a', 62);
    strcpy(wanted + 62, "-BB");
    ck_assert_str_eq(strip("aB", lengths), wanted);
    ck_assert_str_eq(strip("A", (const size_t[]){0}), "-");
}
END_TEST

START_TEST(a_packet_that_is_no_packet)
{
    static const struct trace_sink sink = {.bytes = on_bytes, .lost = on_lost, .room = sink_room};
    const uint8_t one[] = {0x01};
    memset(reported, 0, sizeof reported);
    ftdi_capture_strip(one, sizeof one, PACKET, &sink);
    ck_assert_str_eq(reported, "");
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("ftdi_capture");
    unit_case(s, "ftdi capture: status bytes go", status_bytes_go);
    unit_case(s, "ftdi capture: overruns are told where they are",
              overruns_are_reported_where_they_are);
    unit_case(s, "ftdi capture: a packet that is no packet", a_packet_that_is_no_packet);
    return s;
}
