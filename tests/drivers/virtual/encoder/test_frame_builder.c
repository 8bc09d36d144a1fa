/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/virtual/encoder/frame_builder.c. */
/* Formatter model: every worked frame example, byte for byte, and properties of random streams. */
#include <stdlib.h>
#include <string.h>

#include "drivers/virtual/encoder/frame_builder.h"
#include "tests/support/unit_main.h"

/* Expected bytes as text, "21 11 12 ..."; spaces are optional. */
static size_t from_hex(const char *text, uint8_t *bytes, size_t room)
{
    size_t n = 0;
    char pair[3] = {0};

    while (*text) {
        if (*text == ' ') {
            text++;
            continue;
        }
        ck_assert_uint_lt(n, room);
        pair[0] = text[0];
        pair[1] = text[1];
        bytes[n++] = (uint8_t)strtoul(pair, NULL, 16);
        text += 2;
    }
    return n;
}

static void assert_bytes(const struct trace_bytes *got, const char *hex)
{
    uint8_t want[256];
    size_t size = from_hex(hex, want, sizeof want);

    ck_assert_uint_eq(got->size, size);
    ck_assert_mem_eq(got->data, want, size);
}

/* first, first + 1, ... last, all of one source */
static void put_range(struct frame_builder *b, uint8_t id, unsigned first, unsigned last)
{
    for (unsigned value = first; value <= last; value++)
        ck_assert_int_eq(frame_builder_put(b, id, (uint8_t)value), 0);
}

struct fixture {
    struct trace_bytes out;
    struct frame_builder builder;
};

static struct fixture start(const struct frame_options *o)
{
    static const struct frame_options aligned;
    struct fixture f = {0};

    frame_builder_init(&f.builder, o ? o : &aligned, NULL);
    return f;
}

static void finish(struct fixture *f, const char *hex)
{
    ck_assert_int_eq(frame_builder_flush(&f->builder), 0);
    assert_bytes(&f->out, hex);
    trace_bytes_release(&f->out);
}

START_TEST(test_one_source)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0x11, 0x1e);
    finish(&f, "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00");
}
END_TEST

START_TEST(test_immediate_change)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0x01, 0x07);
    put_range(&f.builder, 0x20, 0x08, 0x0d);
    finish(&f, "21 01 02 03 04 05 06 07 41 08 08 0A 0A 0C 0C E0");
}
END_TEST

START_TEST(test_delayed_change)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0xa1, 0xa4);
    put_range(&f.builder, 0x20, 0xb1, 0xb9);
    finish(&f, "21 A1 A2 A3 41 A4 B0 B2 B2 B4 B4 B6 B6 B8 B8 FC");
}
END_TEST

START_TEST(test_carried_id_and_padding)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    for (unsigned i = 0; i < 14; i++)
        put_range(&f.builder, 0x10, 0x31, 0x31);
    put_range(&f.builder, 0x10, 0xc1, 0xc5);
    finish(&f, "21 31 30 31 30 31 30 31 30 31 30 31 30 31 30 FE"
               "C0 C2 C2 C4 01 C5 00 00 00 00 00 00 00 00 00 07");
}
END_TEST

START_TEST(test_trigger_marker)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0x01, 0x03);
    ck_assert_int_eq(frame_builder_trigger(&f.builder), 0);
    put_range(&f.builder, 0x10, 0x04, 0x0b);
    finish(&f, "21 01 02 03 FB 00 21 04 04 06 06 08 08 0A 0A F0");
}
END_TEST

START_TEST(test_syncs)
{
    static const uint8_t bytes[] = {0x80, 0x08, 0x55, 0x99, 0xab, 0xcd, 0xef,
                                    0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77};
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    frame_builder_full_sync(&f.builder);
    ck_assert_int_eq(frame_builder_write(&f.builder, 1, bytes, 3), 0);
    frame_builder_half_sync(&f.builder);
    ck_assert_int_eq(frame_builder_write(&f.builder, 1, bytes + 3, 6), 0);
    frame_builder_half_sync(&f.builder);
    frame_builder_half_sync(&f.builder);
    ck_assert_int_eq(frame_builder_write(&f.builder, 1, bytes + 9, 5), 0);
    ck_assert_int_eq(frame_builder_flush(&f.builder), 0);
    ck_assert_int_eq(frame_builder_idle(&f.builder, true), 0);
    finish(&f, "FF FF FF 7F 03 80 08 55 FF 7F 98 AB CC EF 10 22 FF 7F FF 7F 32 44 54 66 76 FC"
               "FF FF FF 7F");
}
END_TEST

START_TEST(test_id_in_byte_14)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0x01, 0x0d);
    put_range(&f.builder, 0x20, 0x0e, 0x1c);
    finish(&f, "21 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 41 00"
               "0E 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C 00");
}
END_TEST

START_TEST(test_several_ids)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0x01, 0x01);
    put_range(&f.builder, 0x20, 0x02, 0x03);
    put_range(&f.builder, 0x10, 0x04, 0x05);
    put_range(&f.builder, 0x30, 0x06, 0x08);
    put_range(&f.builder, 0x10, 0x09, 0x0a);
    finish(&f, "21 01 41 02 21 03 04 05 61 06 06 08 21 09 0A 24");
}
END_TEST

START_TEST(test_idle_port)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(frame_builder_idle(&f.builder, false), 0);
    ck_assert_int_eq(frame_builder_idle(&f.builder, true), 0);
    put_range(&f.builder, 0x10, 0x01, 0x03); /* two of them are in the frame */
    ck_assert_int_eq(frame_builder_idle(&f.builder, false), BT_ERR_INVAL);
    ck_assert_uint_eq(f.out.size, 10);
    finish(&f, "FF 7F FF 7F FF 7F FF FF FF 7F"
               "21 01 02 03 01 00 00 00 00 00 00 00 00 00 00 00");
}
END_TEST

START_TEST(test_bad_id)
{
    struct fixture f = start(NULL);
    f.builder.out = &f.out;
    ck_assert_int_eq(frame_builder_put(&f.builder, 0x7f, 0), BT_ERR_INVAL);
    ck_assert_int_eq(frame_builder_put(&f.builder, 0x7e, 0), 0);
    trace_bytes_release(&f.out);
}
END_TEST

/* The textbook deframer of one frame, written for this test. */
static void take_apart(const uint8_t *frame, uint8_t *id, struct trace_bytes streams[128])
{
    for (unsigned k = 0; k < 8; k++) {
        uint8_t even = frame[2 * k];
        uint8_t aux = frame[15] >> k & 1;
        uint8_t old = *id;
        if (even & 1)
            *id = even >> 1;
        else
            even |= aux;
        ck_assert_uint_ne(*id, 0x7f);
        if (!(frame[2 * k] & 1))
            trace_bytes_append(&streams[*id], &even, 1);
        if (k < 7)
            trace_bytes_append(&streams[(frame[2 * k] & 1) && aux ? old : *id], &frame[2 * k + 1],
                               1);
        else if (frame[2 * k] & 1)
            ck_assert_uint_eq(aux, 0);
    }
}

/* Removes sync words by the rules for an aligned stream and takes all frames apart. */
static void take_stream_apart(const struct trace_bytes *port, struct trace_bytes streams[128],
                              unsigned syncs[2])
{
    uint8_t frame[16];
    uint8_t id = 0;
    size_t fill = 0;

    for (size_t i = 0; i + 1 < port->size; i += 2) {
        if (port->data[i] == 0xff && port->data[i + 1] == 0xff) {
            ck_assert_uint_eq(fill, 0);
            ck_assert_uint_eq(port->data[i + 3], 0x7f);
            i += 2;
            syncs[1]++;
        } else if (port->data[i] == 0xff) {
            ck_assert_uint_eq(port->data[i + 1], 0x7f);
            syncs[0]++;
        } else {
            frame[fill++] = port->data[i];
            frame[fill++] = port->data[i + 1];
        }
        if (fill == sizeof frame) {
            take_apart(frame, &id, streams);
            fill = 0;
        }
    }
    ck_assert_uint_eq(fill, 0);
}

static void check_random_stream(const struct frame_options *o, uint64_t seed)
{
    static const uint8_t ids[] = {0x01, 0x10, 0x6f, 0x7d, 0x33};
    struct trace_random random = {.state = seed};
    struct trace_bytes want[128] = {{0}}, got[128] = {{0}}, out = {0};
    struct frame_builder b;
    unsigned syncs[2] = {0};
    uint8_t id = ids[0];

    frame_builder_init(&b, o, &out);
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t byte = (uint8_t)trace_random_next(&random);
        if (trace_random_percent(&random, 30))
            id = ids[trace_random_below(&random, 5)];
        trace_bytes_append(&want[id], &byte, 1);
        ck_assert_int_eq(frame_builder_put(&b, id, byte), 0);
        if (trace_random_percent(&random, 1))
            ck_assert_int_eq(frame_builder_flush(&b), 0);
    }
    ck_assert_int_eq(frame_builder_flush(&b), 0);
    take_stream_apart(&out, got, syncs);
    for (unsigned i = 1; i < 128; i++) {
        ck_assert_uint_eq(got[i].size, want[i].size);
        if (want[i].size)
            ck_assert_mem_eq(got[i].data, want[i].data, want[i].size);
    }
    ck_assert_int_eq(syncs[0] > 0, o->half_sync_percent > 0);
    ck_assert_int_eq(syncs[1] > 0, o->full_sync_percent + o->full_sync_period > 0);
    ck_assert_uint_eq(out.size, 16 * frame_builder_frames(&b) + 2u * syncs[0] + 4u * syncs[1]);
    for (unsigned i = 0; i < 128; i++) {
        trace_bytes_release(&want[i]);
        trace_bytes_release(&got[i]);
    }
    trace_bytes_release(&out);
}

START_TEST(test_random_aligned)
{
    struct frame_options o = {0};
    for (uint64_t seed = 0; seed < 20; seed++)
        check_random_stream(&o, seed);
}
END_TEST

START_TEST(test_random_with_syncs)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct frame_options o = {.seed = seed,
                                  .full_sync_period = seed % 3 ? 7 : 0,
                                  .full_sync_percent = 20,
                                  .half_sync_percent = 15,
                                  .repeat_id_period = 2,
                                  .no_delayed = seed % 2};
        check_random_stream(&o, seed);
    }
}
END_TEST

START_TEST(test_no_delayed_changes)
{
    struct frame_options o = {.no_delayed = true};
    struct fixture f = start(&o);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0xa1, 0xa4);
    put_range(&f.builder, 0x20, 0xb1, 0xb7);
    finish(&f, "21 A1 A2 A3 21 A4 41 B1 B2 B3 B4 B5 B6 B7 01 00");
}
END_TEST

START_TEST(test_repeated_id)
{
    struct frame_options o = {.repeat_id_period = 1};
    struct fixture f = start(&o);
    f.builder.out = &f.out;
    put_range(&f.builder, 0x10, 0x01, 0x1c);
    finish(&f, "21 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 00"
               "21 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C 00");
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
    Suite *s = suite_create("frame_builder");

    add(s, "frame_builder: one source fills a frame (E1)", test_one_source);
    add(s, "frame_builder: immediate ID change (E2)", test_immediate_change);
    add(s, "frame_builder: delayed ID change (E3)", test_delayed_change);
    add(s, "frame_builder: ID carried over, flush padding (E4)", test_carried_id_and_padding);
    add(s, "frame_builder: trigger marker (E5)", test_trigger_marker);
    add(s, "frame_builder: full and half syncs (E6)", test_syncs);
    add(s, "frame_builder: ID in byte 14 (E7)", test_id_in_byte_14);
    add(s, "frame_builder: several IDs in one frame (E8)", test_several_ids);
    add(s, "frame_builder: idle port (E10), sync only between frames", test_idle_port);
    add(s, "frame_builder: ID 0x7F is refused", test_bad_id);
    add(s, "frame_builder: random aligned streams come apart again", test_random_aligned);
    add(s, "frame_builder: random streams with syncs come apart again", test_random_with_syncs);
    add(s, "frame_builder: without delayed changes", test_no_delayed_changes);
    add(s, "frame_builder: ID repeated in each frame", test_repeated_id);
    return s;
}
