/* SPDX-License-Identifier: BSD-3-Clause */
/* Formatter: worked examples (IHI 0029E, trace formatter), every split of them, loss and
 * recovery. */
#include "decoder/port/formatter.h"
#include "drivers/virtual/encoder/frame_builder.h"
#include "tests/support/by_source.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Output as text, joined however the runs were cut: "10:0102 T 20:03 L". */
struct text {
    char s[65536];
    size_t len;
    int id;
};

static void put_run(void *ctx, const struct formatter_run *run)
{
    struct text *t = ctx;
    if (run->kind == FORMATTER_DATA) {
        if (t->id != run->id)
            t->len += (size_t)sprintf(t->s + t->len, "%s%02x:", t->len ? " " : "", run->id);
        for (uint32_t i = 0; i < run->len && t->len < sizeof t->s - 8; i++)
            t->len += (size_t)sprintf(t->s + t->len, "%02x", run->data[i]);
        t->id = run->id;
        return;
    }
    t->len += (size_t)sprintf(t->s + t->len, "%s%c", t->len ? " " : "",
                              run->kind == FORMATTER_TRIGGER ? 'T' : 'L');
    t->id = -1;
}

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    while (*hex) {
        if (*hex == ' ') {
            hex++;
            continue;
        }
        char pair[3] = {hex[0], hex[1], 0};
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
        hex += 2;
    }
    return n;
}

/* Every way to cut the input in two, and byte by byte, gives the same. */
static void expect(enum formatter_mode mode, const char *hex, const char *expected)
{
    uint8_t bytes[512];
    size_t len = unhex(hex, bytes);
    char *wanted = by_source(expected);
    for (size_t cut = 0; cut <= len + 1; cut++) {
        struct formatter f;
        static struct text t;
        memset(&t, 0, sizeof t);
        t.id = -1;
        formatter_init(&f, mode);
        if (cut > len) {
            for (size_t i = 0; i < len; i++)
                formatter_feed(&f, bytes + i, 1, put_run, &t);
        } else {
            formatter_feed(&f, bytes, cut, put_run, &t);
            formatter_feed(&f, bytes + cut, len - cut, put_run, &t);
        }
        char *got = by_source(t.s);
        ck_assert_msg(strcmp(got, wanted) == 0, "cut %zu: '%s' instead of '%s'", cut, t.s,
                      expected);
        free(got);
    }
    free(wanted);
}

START_TEST(e1_one_source)
{
    expect(FORMATTER_ALIGNED, "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00",
           "10:1112131415161718191a1b1c1d1e");
}
END_TEST

START_TEST(e2_two_sources)
{
    expect(FORMATTER_ALIGNED, "21 01 02 03 04 05 06 07 41 08 08 0A 0A 0C 0C E0",
           "10:01020304050607 20:08090a0b0c0d");
}
END_TEST

START_TEST(e3_delayed_change)
{
    expect(FORMATTER_ALIGNED, "21 A1 A2 A3 41 A4 B0 B2 B2 B4 B4 B6 B6 B8 B8 FC",
           "10:a1a2a3a4 20:b1b2b3b4b5b6b7b8b9");
}
END_TEST

START_TEST(e4_id_carried_over)
{
    expect(FORMATTER_ALIGNED,
           "21 31 30 31 30 31 30 31 30 31 30 31 30 31 30 FE"
           "C0 C2 C2 C4 01 C5 00 00 00 00 00 00 00 00 00 07",
           "10:3131313131313131313131313131c1c2c3c4c5");
}
END_TEST

START_TEST(e5_trigger)
{
    expect(FORMATTER_ALIGNED, "21 01 02 03 FB 00 21 04 04 06 06 08 08 0A 0A F0",
           "10:010203 T 10:0405060708090a0b");
}
END_TEST

START_TEST(e6_syncs)
{
    expect(FORMATTER_SYNC,
           "FF FF FF 7F 03 80 08 55 FF 7F 98 AB CC EF 10 22 FF 7F FF 7F 32 44 54 66 76 FC"
           "FF FF FF 7F",
           "01:80085599abcdef11223344556677");
}
END_TEST

START_TEST(e7_id_in_byte_14)
{
    expect(FORMATTER_ALIGNED,
           "21 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 41 00"
           "0E 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C 00",
           "10:0102030405060708090a0b0c0d 20:0e0f101112131415161718191a1b1c");
    expect(FORMATTER_ALIGNED,
           "21 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 41 80"
           "0E 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C 00",
           "10:0102030405060708090a0b0c0d 20:0e0f101112131415161718191a1b1c");
}
END_TEST

START_TEST(e8_several_ids)
{
    expect(FORMATTER_ALIGNED, "21 01 41 02 21 03 04 05 61 06 06 08 21 09 0A 24",
           "10:01 20:0203 10:0405 30:060708 10:090a");
}
END_TEST

START_TEST(e9_dstream)
{
    expect(FORMATTER_SYNC,
           "FF FF FF 7F 03 00 00 00 00 00 00 00 00 00 00 00 80 01 00 80"
           "00 9D 00 00 00 00 00 00 00 00 04 85 2E 74 DE 00"
           "FF FF FF 7F DE 00 00 00 00 13 D4 D4 D4 D4 D4 D4 D4 D4 D4 01",
           "01:0000000000000000000000800101009d0000000000000000"
           "04852e74dedf0000000013d4d4d4d4d4d4d4d4d4");
}
END_TEST

START_TEST(e10_idle_port)
{
    expect(FORMATTER_SYNC, "FF 7F FF 7F FF 7F FF FF FF 7F FF 7F FF 7F", "");
}
END_TEST

START_TEST(e11_truncated_frame)
{
    expect(FORMATTER_SYNC,
           "FF FF FF 7F 21 01 02 03 FF FF FF 7F 21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00",
           "L 10:1112131415161718191a1b1c1d1e");
}
END_TEST

START_TEST(impossible_id)
{
    /* ID 0x7F: in memory the next frame stands where it stands; on a port a sync must come. */
    const char *frames = "FF 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
                         "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00";
    expect(FORMATTER_ALIGNED, frames, "L 10:1112131415161718191a1b1c1d1e");
    char port[256];
    snprintf(port, sizeof port, "FF FF FF 7F %s FF FF FF 7F %s", frames,
             "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00");
    expect(FORMATTER_SYNC, port, "L 10:1112131415161718191a1b1c1d1e");
}
END_TEST

START_TEST(half_sync_where_none_may_be)
{
    expect(FORMATTER_FULLSYNC,
           "FF FF FF 7F 21 01 FF 7F 02 03 FF FF FF 7F 21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D"
           "1E 00",
           "L 10:1112131415161718191a1b1c1d1e");
}
END_TEST

START_TEST(discontinuity)
{
    struct formatter f;
    static struct text t;
    uint8_t bytes[64];
    memset(&t, 0, sizeof t);
    t.id = -1;
    formatter_init(&f, FORMATTER_ALIGNED);
    size_t len = unhex("21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00 30 31", bytes);
    formatter_feed(&f, bytes, len, put_run, &t);
    formatter_discontinuity(&f, put_run, &t);
    /* The source is not known any more until the next ID byte. */
    len = unhex("30 31 32 33 34 35 36 37 41 39 3A 3B 3C 3D 3E 00", bytes);
    formatter_feed(&f, bytes, len, put_run, &t);
    ck_assert_str_eq(t.s, "10:1112131415161718191a1b1c1d1e L 20:393a3b3c3d3e");
    ck_assert_uint_eq(f.losses, 1);
}
END_TEST

/* Property: what the model of a formatter builds is taken apart again, however it is cut. */

struct truth {
    uint8_t *bytes[128];
    size_t len[128];
    size_t got[128];
    uint64_t triggers;
    uint64_t losses;
};

static void check_run(void *ctx, const struct formatter_run *run)
{
    struct truth *t = ctx;
    if (run->kind == FORMATTER_TRIGGER)
        t->triggers++;
    if (run->kind == FORMATTER_LOSS)
        t->losses++;
    if (run->kind != FORMATTER_DATA)
        return;
    ck_assert_uint_le(t->got[run->id] + run->len, t->len[run->id]);
    ck_assert_int_eq(memcmp(t->bytes[run->id] + t->got[run->id], run->data, run->len), 0);
    t->got[run->id] += run->len;
}

static void build(struct frame_builder *b, struct truth *t, unsigned count, uint64_t *triggers)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t id = (uint8_t)(1 + rand() % 3), byte = (uint8_t)rand();
        unsigned run = rand() % 8 ? 1u : (unsigned)(rand() % 60);
        for (unsigned k = 0; k < run; k++) {
            t->bytes[id][t->len[id]++] = byte;
            ck_assert_int_eq(frame_builder_put(b, id, byte++), 0);
        }
        if (rand() % 50 == 0) {
            frame_builder_trigger(b);
            (*triggers)++;
        }
        if (rand() % 40 == 0)
            frame_builder_flush(b);
    }
    frame_builder_flush(b);
}

START_TEST(built_frames_come_apart)
{
    srand((unsigned)_i + 1);
    struct truth t = {0};
    for (int id = 0; id < 128; id++)
        t.bytes[id] = malloc(1 << 18);
    struct trace_bytes out = {0};
    bool port = _i & 1;
    struct frame_options o = {.seed = (uint64_t)_i, .repeat_id_period = (unsigned)(rand() % 10)};
    if (port) {
        o.full_sync_period = 8;
        o.full_sync_percent = 5;
        o.half_sync_percent = 20;
    }
    struct frame_builder b;
    frame_builder_init(&b, &o, &out);
    uint64_t triggers = 0;
    build(&b, &t, 3000, &triggers);
    struct formatter f;
    formatter_init(&f, port ? FORMATTER_SYNC : FORMATTER_ALIGNED);
    for (size_t at = 0; at < out.size;) {
        size_t n = 1 + (size_t)rand() % (rand() % 4 ? 40 : 4000);
        if (n > out.size - at)
            n = out.size - at;
        formatter_feed(&f, out.data + at, n, check_run, &t);
        at += n;
    }
    for (int id = 1; id < 4; id++)
        ck_assert_uint_eq(t.got[id], t.len[id]);
    ck_assert_uint_eq(t.triggers, triggers);
    ck_assert_uint_eq(t.losses, 0);
    for (int id = 0; id < 128; id++)
        free(t.bytes[id]);
    trace_bytes_release(&out);
}
END_TEST

/* A port's stream in the blocks of a DSTREAM dump: 504 bytes, then a footer of 8. */
static struct trace_bytes in_blocks(const struct trace_bytes *stream)
{
    static const uint8_t footer[FORMATTER_FOOTER] = {0, 0, 0, 0, 0x7e, 0x10, 0xfe, 0x0f};
    struct trace_bytes out = {0};
    for (size_t at = 0; at < stream->size; at += 504) {
        size_t n = stream->size - at < 504 ? stream->size - at : 504;
        ck_assert_int_eq(trace_bytes_append(&out, stream->data + at, n), 0);
        if (n == 504)
            ck_assert_int_eq(trace_bytes_append(&out, footer, sizeof footer), 0);
    }
    return out;
}

static void port_stream(struct trace_bytes *out, struct truth *t, unsigned sync_period)
{
    uint64_t triggers = 0;
    struct frame_options o = {.seed = (uint64_t)rand(), .full_sync_period = sync_period};
    struct frame_builder b;
    frame_builder_init(&b, &o, out);
    build(&b, t, 3000, &triggers);
}

static void dump_test_init(struct truth *t)
{
    unsigned seed = (unsigned)time(NULL) ^ (unsigned)getpid() << 12;
    printf("seed %u\n", seed);
    srand(seed);
    memset(t, 0, sizeof *t);
    for (int id = 0; id < 128; id++)
        t->bytes[id] = malloc(1 << 18);
}

static void dump_test_end(struct truth *t, struct trace_bytes *stream)
{
    for (int id = 0; id < 128; id++)
        free(t->bytes[id]);
    trace_bytes_release(stream);
}

START_TEST(footers_of_a_dump)
{
    struct truth t;
    struct trace_bytes stream = {0};
    dump_test_init(&t);
    port_stream(&stream, &t, 1 + (unsigned)_i * 3);
    struct trace_bytes dump = in_blocks(&stream);
    ck_assert_int_eq(formatter_find_blocks(stream.data, stream.size), FORMATTER_SYNC);
    ck_assert_int_eq(formatter_find_blocks(dump.data, dump.size), FORMATTER_BLOCKS);
    struct formatter f;
    formatter_init(&f, FORMATTER_BLOCKS);
    for (size_t at = 0; at < dump.size;) {
        size_t n = 1 + (size_t)rand() % (rand() % 4 ? 40 : 4000);
        if (n > dump.size - at)
            n = dump.size - at;
        formatter_feed(&f, dump.data + at, n, check_run, &t);
        at += n;
    }
    for (int id = 1; id < 4; id++)
        ck_assert_uint_eq(t.got[id], t.len[id]);
    ck_assert_uint_eq(t.losses, 0);
    ck_assert_uint_eq(f.offset, dump.size);
    trace_bytes_release(&dump);
    dump_test_end(&t, &stream);
}
END_TEST

/* Flipped bits make no footers of a stream that has none, and hide none of a dump. */
START_TEST(footers_and_damage)
{
    struct truth t;
    struct trace_bytes stream = {0};
    dump_test_init(&t);
    port_stream(&stream, &t, 1 + (unsigned)_i * 8);
    struct trace_bytes dump = in_blocks(&stream);
    for (unsigned n = 0; n < 12; n++) {
        stream.data[(size_t)rand() % stream.size] ^= (uint8_t)(1u << rand() % 8);
        ck_assert_int_eq(formatter_find_blocks(stream.data, stream.size), FORMATTER_SYNC);
    }
    dump.data[(size_t)rand() % dump.size] ^= 0x10;
    ck_assert_int_eq(formatter_find_blocks(dump.data, dump.size), FORMATTER_BLOCKS);
    trace_bytes_release(&dump);
    dump_test_end(&t, &stream);
}
END_TEST

static void put_loss(void *ctx, const struct formatter_run *run)
{
    if (run->kind == FORMATTER_LOSS)
        *(uint64_t *)ctx = run->offset;
}

/* A loss stands behind the frame that shows it, however the frame arrives. */
START_TEST(loss_offset)
{
    uint8_t bytes[64];
    size_t len = unhex("21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00"
                       "FF 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
                       "21 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 00",
                       bytes);
    for (size_t cut = 0; cut <= len; cut++) {
        struct formatter f;
        uint64_t offset = 0;
        formatter_init(&f, FORMATTER_ALIGNED);
        formatter_feed(&f, bytes, cut, put_loss, &offset);
        formatter_feed(&f, bytes + cut, len - cut, put_loss, &offset);
        ck_assert_uint_eq(offset, 32);
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("formatter");
    unit_case(s, "formatter: E1 one source", e1_one_source);
    unit_case(s, "formatter: E2 two sources, immediate change", e2_two_sources);
    unit_case(s, "formatter: E3 delayed change", e3_delayed_change);
    unit_case(s, "formatter: E4 ID carried over a frame", e4_id_carried_over);
    unit_case(s, "formatter: E5 trigger marker", e5_trigger);
    unit_case(s, "formatter: E6 full and half syncs", e6_syncs);
    unit_case(s, "formatter: E7 ID byte in byte 14", e7_id_in_byte_14);
    unit_case(s, "formatter: E8 several IDs in one frame", e8_several_ids);
    unit_case(s, "formatter: E9 DSTREAM framing", e9_dstream);
    unit_case(s, "formatter: E10 idle port", e10_idle_port);
    unit_case(s, "formatter: E11 truncated frame", e11_truncated_frame);
    unit_case(s, "formatter: impossible ID", impossible_id);
    unit_case(s, "formatter: half sync in a full-sync stream", half_sync_where_none_may_be);
    unit_case(s, "formatter: discontinuity", discontinuity);
    unit_case(s, "formatter: offset of a loss, any cut", loss_offset);
    unit_cases(s, "formatter: a DSTREAM dump has a footer each 512 bytes", footers_of_a_dump, 0, 4);
    unit_cases(s, "formatter: damage makes no footers", footers_and_damage, 0, 4);
    unit_cases(s, "formatter: built frames come apart, any cut", built_frames_come_apart, 0, 16);
    return s;
}
