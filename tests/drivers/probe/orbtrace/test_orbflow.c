/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests drivers/probe/orbtrace/orbflow.c, orbflow_frames.c and frame_packer.c. */
/* ORBFLOW: a worked example, every split, damage; and the way into frames and out again through the
 * formatter. */
#include "decoder/port/formatter.h"
#include "drivers/probe/orbtrace/frame_packer.h"
#include "drivers/probe/orbtrace/orbflow.h"
#include "drivers/probe/orbtrace/orbflow_frames.h"
#include "tests/support/by_source.h"
#include "tests/support/random_next.h"
#include "tests/support/sink_room.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "25254f5242464c4f57312e302e302525"
#define GOOD  "0402088003552100" /* tag 2: 08 80 00 55 */
#define OTHER "0403aa5300"       /* tag 3: aa */

struct text {
    char s[65536];
    size_t length;
    int id; /* of the run that is open */
};

static void report(struct text *t, const char *word)
{
    t->length += (size_t)sprintf(t->s + t->length, "%s%s", t->length ? " " : "", word);
    t->id = -1;
}

static void report_bytes(struct text *t, int id, const uint8_t *data, size_t length)
{
    if (t->id != id)
        t->length += (size_t)sprintf(t->s + t->length, "%s%02x:", t->length ? " " : "", id);
    for (size_t i = 0; i < length; i++)
        t->length += (size_t)sprintf(t->s + t->length, "%02x", data[i]);
    t->id = id;
}

static void on_packet(void *user, uint8_t tag, const uint8_t *payload, size_t length)
{
    struct text *t = user;
    t->id = -1;
    report_bytes(t, tag, payload, length);
}

static void on_damage(void *user)
{
    report(user, "X");
}

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    for (; *hex; hex += 2) {
        const char pair[3] = {hex[0], hex[1], 0};
        out[n++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    return n;
}

/* Cut in two at every place, and byte by byte. */
static void expect(const char *hex, const char *wanted)
{
    uint8_t bytes[512];
    size_t length = unhex(hex, bytes);
    for (size_t cut = 0; cut <= length + 1; cut++) {
        static struct text t;
        struct orbflow o;
        const struct orbflow_sink sink = {&t, on_packet, on_damage};
        t = (struct text){.id = -1};
        orbflow_init(&o);
        for (size_t i = 0; cut > length && i < length; i++)
            orbflow_feed(&o, bytes + i, 1, &sink);
        if (cut <= length) {
            orbflow_feed(&o, bytes, cut, &sink);
            orbflow_feed(&o, bytes + cut, length - cut, &sink);
        }
        ck_assert_str_eq(t.s, wanted);
    }
}

START_TEST(packets)
{
    expect("00" GOOD, "02:08800055");
    expect("00" GOOD OTHER GOOD, "02:08800055 03:aa 02:08800055");
    expect("000000" GOOD "00" OTHER, "02:08800055 03:aa");
    /* The packet that was joined in the middle, and that of which the end is missing. */
    expect("5521"
           "00" GOOD "0402",
           "02:08800055");
    expect("0402088003552100" OTHER, "03:aa");
    /* A payload that ends in zero, and one of zeros alone. */
    expect("00"
           "020202fe00",
           "02:00");
    expect("00"
           "02020102fe00",
           "02:0000");
}
END_TEST

START_TEST(a_file_is_known_by_its_header)
{
    expect(MAGIC GOOD OTHER, "02:08800055 03:aa");
    expect(MAGIC "00" GOOD, "02:08800055");
    expect("25254f52" GOOD OTHER, "03:aa"); /* not quite */
}
END_TEST

START_TEST(damage)
{
    expect("00"
           "0402088003552200" GOOD,
           "X 02:08800055"); /* checksum */
    expect("00"
           "0302fe00" GOOD,
           "X 02:08800055"); /* no payload */
    expect("00"
           "0400aa5600" GOOD,
           "X 02:08800055"); /* zero in a group: the next goes, too */
    expect("00"
           "0480aad600" GOOD,
           "X 02:08800055"); /* tag 0x80 */
    expect("00"
           "0101"
           "0301ff"
           "00" GOOD,
           "X 02:08800055"); /* tag 0 */
}
END_TEST

/* Groups of 254 bytes without a zero behind them, up to the longest packet and past it. */
static size_t encode(uint8_t tag, const uint8_t *data, size_t length, uint8_t *out)
{
    static uint8_t plain[2 * ORBFLOW_PACKET_MAX];
    uint8_t sum = tag;
    plain[0] = tag;
    memcpy(plain + 1, data, length);
    for (size_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + data[i]);
    plain[length + 1] = (uint8_t)-sum;
    size_t code = 0, n = 1;
    for (size_t i = 0; i < length + 2; i++) {
        if (plain[i] != 0)
            out[n++] = plain[i];
        if (plain[i] == 0 || (n - code == 255 && i + 1 < length + 2)) {
            out[code] = (uint8_t)(n - code);
            code = n++;
        }
    }
    out[code] = (uint8_t)(n - code);
    out[n++] = 0;
    return n;
}

static void count_packet(void *user, uint8_t tag, const uint8_t *payload, size_t length)
{
    size_t *seen = user;
    ck_assert_uint_eq(tag, 5);
    ck_assert_uint_eq(payload[length - 1], (length - 1) % 255 + 1);
    *seen += length;
}

static void count_damage(void *user)
{
    *(size_t *)user += 1000000;
}

START_TEST(long_packets)
{
    static uint8_t data[ORBFLOW_PACKET_MAX], wire[3 * ORBFLOW_PACKET_MAX];
    static const size_t lengths[] = {
        252, 253, 254, 255, 506, 507, 508, 1024, ORBFLOW_PACKET_MAX - 2};
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i % 255 + 1);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        struct orbflow o;
        size_t seen = 0;
        const struct orbflow_sink sink = {&seen, count_packet, count_damage};
        wire[0] = 0;
        size_t n = 1 + encode(5, data, lengths[k], wire + 1);
        orbflow_init(&o);
        orbflow_feed(&o, wire, n, &sink);
        ck_assert_uint_eq(seen, lengths[k]);
    }
    struct orbflow o;
    size_t seen = 0;
    const struct orbflow_sink sink = {&seen, count_packet, count_damage};
    orbflow_init(&o);
    size_t n = 1 + encode(5, data, ORBFLOW_PACKET_MAX - 1, wire + 1);
    n += encode(5, data, 7, wire + n);
    orbflow_feed(&o, wire, n, &sink);
    ck_assert_uint_eq(seen, 1000007);
}
END_TEST

struct read_back {
    struct formatter formatter;
    struct text text;
    size_t calls;
};

static void on_run(void *ctx, const struct formatter_run *run)
{
    struct text *t = ctx;
    if (run->kind == FORMATTER_DATA)
        report_bytes(t, run->id, run->data, run->len);
    else
        report(t, run->kind == FORMATTER_TRIGGER ? "T" : "L");
}

static void on_frames(void *user, const uint8_t *data, size_t length)
{
    struct read_back *r = user;
    ck_assert(length > 0 && length % FRAME_PACKER_FRAME == 0);
    r->calls++;
    formatter_feed(&r->formatter, data, length, on_run, &r->text);
}

static void on_lost(void *user, enum bt_gap_cause cause)
{
    struct read_back *r = user;
    ck_assert_int_eq(cause, BT_GAP_LOST_BYTES);
    report(&r->text, "lost");
}

static void expect_same(const char *got, const char *wanted)
{
    char *a = by_source(got), *b = by_source(wanted);
    ck_assert_msg(strcmp(a, b) == 0, "'%.400s' instead of '%.400s'", a, b);
    free(a);
    free(b);
}

static void expect_frames(const char *hex, const char *wanted, size_t calls)
{
    static struct read_back r;
    uint8_t bytes[512];
    size_t length = unhex(hex, bytes);
    const struct trace_sink sink = {
        .user = &r, .bytes = on_frames, .lost = on_lost, .room = sink_room};
    struct orbflow_frames *f = orbflow_frames_new();
    for (size_t cut = 0; cut <= length; cut++) {
        r = (struct read_back){.text = {.id = -1}};
        formatter_init(&r.formatter, FORMATTER_ALIGNED);
        orbflow_frames_restart(f);
        orbflow_frames_feed(f, bytes, cut, &sink);
        orbflow_frames_feed(f, bytes + cut, length - cut, &sink);
        expect_same(r.text.s, wanted);
        if (cut == 0)
            ck_assert_uint_eq(r.calls, calls);
    }
    orbflow_frames_free(f);
}

START_TEST(frames)
{
    expect_frames("00" GOOD, "02:08800055", 1);
    expect_frames("00" GOOD GOOD OTHER, "02:0880005508800055 03:aa", 1);
    expect_frames("00" OTHER OTHER OTHER GOOD, "03:aaaaaa 02:08800055", 1);
    expect_frames("00" GOOD "0402088003552200" OTHER, "02:08800055 lost 03:aa", 2);
    /* One loss, however many packets are damaged. */
    expect_frames("00"
                  "0403aa5400"
                  "0403aa5500" OTHER,
                  "lost 03:aa", 1);
    /* The trigger's tag, and one that is no source. */
    expect_frames("00" OTHER "027d0283"
                  "00" OTHER,
                  "03:aa T 03:aa", 1);
    expect_frames("00"
                  "047b018400" OTHER,
                  "03:aa", 1);
}
END_TEST

static void pack_and_read(uint32_t seed)
{
    static struct read_back r;
    static uint8_t out[65536];
    static struct text wanted;
    uint32_t random = seed;
    struct frame_packer p;
    size_t used = 0;
    r = (struct read_back){.text = {.id = -1}};
    wanted = (struct text){.id = -1};
    frame_packer_init(&p);
    formatter_init(&r.formatter, FORMATTER_ALIGNED);
    for (unsigned k = 0; k < 200; k++) {
        uint8_t data[64];
        uint8_t id = (uint8_t)(1 + random_next16(&random) % 3);
        size_t length = random_next16(&random) % (k % 5 ? 4 : sizeof data);
        for (size_t i = 0; i < length; i++)
            data[i] = (uint8_t)random_next16(&random);
        size_t n = frame_packer_put(&p, id, data, length, out + used);
        ck_assert_uint_le(n, FRAME_PACKER_ROOM(length));
        used += n;
        if (length)
            report_bytes(&wanted, id, data, length);
        if (random_next16(&random) % 16 == 0)
            used += frame_packer_flush(&p, out + used);
    }
    used += frame_packer_flush(&p, out + used);
    ck_assert_uint_eq(frame_packer_flush(&p, out + used), 0);
    on_frames(&r, out, used);
    expect_same(r.text.s, wanted.s);
    ck_assert_uint_eq(r.formatter.losses, 0);
}

/* Sources change at any slot: what the formatter reads is what was put in. */
START_TEST(packer_and_formatter)
{
    for (uint32_t seed = 0; seed < 50; seed++)
        pack_and_read(seed);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("orbflow");
    unit_case(s, "orbflow: packets, however they are cut", packets);
    unit_case(s, "orbflow: a file is known by its header", a_file_is_known_by_its_header);
    unit_case(s, "orbflow: damage", damage);
    unit_case(s, "orbflow: long packets", long_packets);
    unit_case(s, "orbflow: packets become frames", frames);
    unit_case(s, "orbflow: the formatter reads what was packed", packer_and_formatter);
    return s;
}
