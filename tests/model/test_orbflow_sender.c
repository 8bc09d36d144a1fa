/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ORBFLOW packets against a worked example and a decoder written from its rules; the sampler and
 * the frames against the worked examples of test_formatter.c.
 */
#include <stdio.h>
#include <string.h>

#include "orbflow_sender.h"
#include "port_sampler.h"
#include "tests/support/unit_main.h"

static uint8_t wire[100 * ORBFLOW_WIRE];
static size_t wire_size, packets;

static void on_packet(void *ctx, const uint8_t *bytes, size_t size)
{
    (void)ctx;
    ck_assert_uint_le(size, ORBFLOW_WIRE);
    ck_assert_uint_le(wire_size + size, sizeof wire);
    memcpy(wire + wire_size, bytes, size);
    wire_size += size;
    packets++;
}

static struct orbflow_sender start(void)
{
    wire_size = packets = 0;
    return (struct orbflow_sender){.send = on_packet};
}

/* The packet at `at`, decoded: its size with tag and checksum; *at moves behind its zero. */
static size_t decode(size_t *at, uint8_t *packet)
{
    size_t n = 0;
    while (wire[*at]) {
        unsigned code = wire[(*at)++];
        for (unsigned i = 1; i < code; i++) {
            ck_assert_uint_ne(wire[*at], 0);
            packet[n++] = wire[(*at)++];
        }
        if (code < 255 && wire[*at])
            packet[n++] = 0;
    }
    ++*at;
    return n;
}

static void check_packet(size_t *at, uint8_t tag, const uint8_t *payload, size_t size)
{
    uint8_t packet[2 * ORBFLOW_WIRE];
    uint8_t sum = 0;
    size_t n = decode(at, packet);
    ck_assert_uint_eq(n, size + 2);
    ck_assert_uint_eq(packet[0], tag);
    ck_assert_mem_eq(packet + 1, payload, size);
    for (size_t i = 0; i < n; i++)
        sum = (uint8_t)(sum + packet[i]);
    ck_assert_uint_eq(sum, 0);
}

START_TEST(test_example)
{
    static const uint8_t wanted[] = {0x04, 0x02, 0x08, 0x80, 0x03, 0x55, 0x21, 0x00};
    uint8_t got[ORBFLOW_WIRE];
    ck_assert_uint_eq(orbflow_sender_encode(2, (const uint8_t *)"\x08\x80\x00\x55", 4, got),
                      sizeof wanted);
    ck_assert_mem_eq(got, wanted, sizeof wanted);
}
END_TEST

/* Runs without a zero around the length of a group, and zeros at every place around it. */
START_TEST(test_groups)
{
    uint8_t payload[ORBFLOW_PAYLOAD];
    for (unsigned size = 1; size <= ORBFLOW_PAYLOAD; size += size < 520 || size > 1015 ? 1 : 50) {
        for (unsigned zero = 0; zero < 3; zero++) {
            memset(payload, 0x40, sizeof payload);
            if (zero > 0)
                payload[(size - 1) / zero] = 0;
            wire_size = orbflow_sender_encode(0x11, payload, size, wire);
            ck_assert_uint_le(wire_size, ORBFLOW_WIRE);
            ck_assert_ptr_eq(memchr(wire, 0, wire_size), wire + wire_size - 1);
            size_t at = 0;
            check_packet(&at, 0x11, payload, size);
        }
    }
    memset(payload, 0, sizeof payload);
    wire_size = orbflow_sender_encode(0x11, payload, sizeof payload, wire);
    size_t at = 0;
    check_packet(&at, 0x11, payload, sizeof payload);
}
END_TEST

/* A packet ends with another ID, at 1024 bytes and by its age; ID 0 leaves no trace. */
START_TEST(test_ends)
{
    uint8_t bytes[3000];
    struct orbflow_sender o = start();
    size_t at = 0;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    orbflow_sender_put(&o, 0, 1, bytes, 10);
    orbflow_sender_put(&o, 1, 0, bytes, 10);
    orbflow_sender_put(&o, 2, 1, bytes + 10, 10);
    ck_assert_uint_eq(packets, 0);
    orbflow_sender_put(&o, 3, 2, bytes, 2500);
    ck_assert_uint_eq(packets, 3);
    ck_assert(!orbflow_sender_tick(&o, 100002));
    ck_assert(orbflow_sender_tick(&o, 100003));
    ck_assert(!orbflow_sender_tick(&o, 300000));
    ck_assert_uint_eq(packets, 4);
    check_packet(&at, 1, bytes, 20);
    check_packet(&at, 2, bytes, 1024);
    check_packet(&at, 2, bytes + 1024, 1024);
    check_packet(&at, 2, bytes + 2048, 452);
    ck_assert_uint_eq(at, wire_size);
}
END_TEST

static char text[1024]; /* "ID: bytes" of what the frames held */
static unsigned frames;
static uint8_t current, last_id;

static void on_run(void *ctx, uint8_t id, const uint8_t *bytes, size_t size)
{
    (void)ctx;
    size_t at = strlen(text);
    if (id == 0)
        return;
    if (id != last_id)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02X:", at ? " " : "", id);
    last_id = id;
    for (size_t i = 0; i < size; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %02X", bytes[i]);
}

static void on_frame(void *ctx, const uint8_t frame[PORT_FRAME])
{
    frames++;
    port_deframe(&current, frame, on_run, ctx);
}

static size_t parse(const char *hex, uint8_t *bytes)
{
    size_t n = 0;
    int used;
    unsigned value;
    for (; sscanf(hex, "%x%n", &value, &used) == 1; hex += used)
        bytes[n++] = (uint8_t)value;
    return n;
}

/* The bytes in pieces of `step`. */
static struct port_sampler sample(const char *hex, size_t step)
{
    struct port_sampler s = {.frame = on_frame};
    uint8_t bytes[256];
    size_t n = parse(hex, bytes);
    text[0] = '\0';
    frames = current = last_id = 0;
    for (size_t at = 0; at < n; at += step)
        port_sampler_put(&s, bytes + at, n - at < step ? n - at : step);
    return s;
}

#define SYNC "FF FF FF 7F "

static const struct {
    const char *stream, *wanted;
    unsigned frames, cut;
} examples[] = {
    {"12 FF 7F " SYNC "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00",
     "10: 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E", 1, 0},
    {SYNC "21 01 02 03 04 05 06 07 41 08 08 0A 0A 0C 0C E0",
     "10: 01 02 03 04 05 06 07 20: 08 09 0A 0B 0C 0D", 1, 0},
    {SYNC "21 A1 A2 A3 41 A4 B0 B2 B2 B4 B4 B6 B6 B8 B8 FC",
     "10: A1 A2 A3 A4 20: B1 B2 B3 B4 B5 B6 B7 B8 B9", 1, 0},
    {SYNC "21 31 30 31 30 31 30 31 30 31 30 31 30 31 30 FE"
          " C0 C2 C2 C4 01 C5 00 00 00 00 00 00 00 00 00 07",
     "10: 31 31 31 31 31 31 31 31 31 31 31 31 31 31 C1 C2 C3 C4 C5", 2, 0},
    {SYNC "21 01 02 03 FB 00 21 04 04 06 06 08 08 0A 0A F0",
     "10: 01 02 03 7D: 00 10: 04 05 06 07 08 09 0A 0B", 1, 0},
    {SYNC "03 80 08 55 FF 7F 98 AB CC EF 10 22 FF 7F FF 7F 32 44 54 66 76 FC " SYNC,
     "01: 80 08 55 99 AB CD EF 11 22 33 44 55 66 77", 1, 0},
    {SYNC "21 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 41 00 "
          "0E 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C 00",
     "10: 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D "
     "20: 0E 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C",
     2, 0},
    {SYNC "21 01 41 02 21 03 04 05 61 06 06 08 21 09 0A 24",
     "10: 01 20: 02 03 10: 04 05 30: 06 07 08 10: 09 0A", 1, 0},
    {"FF 7F FF 7F FF 7F " SYNC "FF 7F FF 7F", "", 0, 0},
    {SYNC "21 01 02 03 " SYNC "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00",
     "10: 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E", 1, 1},
    /* No source has ID 0x7F: this is no frame, nor is what follows before the next full sync. */
    {SYNC "FF 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 00 "
          "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00",
     "", 0, 1},
};

START_TEST(test_port)
{
    for (size_t step = 1; step < 40; step++) {
        struct port_sampler s = sample(examples[_i].stream, step);
        ck_assert_str_eq(text, examples[_i].wanted);
        ck_assert_uint_eq(frames, examples[_i].frames);
        ck_assert_uint_eq(s.cut, examples[_i].cut);
    }
}
END_TEST

START_TEST(test_port_lost)
{
    static const uint8_t frame[] = {0x21, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0};
    struct port_sampler s = sample(SYNC "21 01 02", 3);
    port_sampler_lost(&s);
    port_sampler_put(&s, frame, sizeof frame);
    ck_assert_uint_eq(frames, 0);
    port_sampler_put(&s, (const uint8_t *)"\xff\xff\xff\x7f", 4);
    port_sampler_put(&s, frame, sizeof frame);
    ck_assert_uint_eq(frames, 1);
    ck_assert_uint_eq(s.unsynced, 4 + sizeof frame + 4);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("orbflow_sender");
    unit_case(s, "orbflow_sender: the worked example", test_example);
    unit_case(s, "orbflow_sender: COBS groups and zeros", test_groups);
    unit_case(s, "orbflow_sender: where packets end", test_ends);
    unit_cases(s, "orbflow_sender: frames of the port", test_port, 0,
               sizeof examples / sizeof *examples);
    unit_case(s, "orbflow_sender: a port with a hole", test_port_lost);
    return s;
}
