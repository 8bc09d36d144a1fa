/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/flow/flow_cursor.c and transfer.c. */
/* Tests decoder/etmv2/etmv2.c, decoder/etmv2/etmv2_flow.c and decoder/etmv2/etmv2_group.c. */
/* ETMv2: what needs all values of a byte, cuts of the input, finding back after damage. */
#include "decoder/etmv2/etmv2_internal.h"
#include "decoder/stream/stream.h"
#include "tests/support/decoded.h"
#include "tests/support/port_text.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <string.h>

/* Set-up K: a TFO at ARM 0x8000, nothing executed. */
#define K   "TD 01 | WT 20 | WT 00 | WT 80 | WT 00 | WT 00 | "
#define MAX 4096

/* Worked example X14: the start of a trace with data, a phantom branch and a late branch. */
static const char x14[] =
    "TD 01 | IE 20 | IE 00 | DE 80 | WT 00 | WT 00 | WT 2E | WT 80 | WT 82 | WT 80 | WT 80 | WT 04 "
    "| WT 78 | WT 56 | WT 34 | WT 12 | IN EE | PTIE EE | DE 93 | WT 01 | TD 00 | IE EE | TD 01 | "
    "IE 00 | WT 28 | WT 81 | WT 00 | WT 00";

struct run {
    struct etmv2 parser;
    struct etmv2_packet packets[MAX];
    size_t count;
};

static void config_8bit(struct etmv2_config *c)
{
    ck_assert_int_eq(etmv2_config_from_regs(c, 0x1c, 0x41000100), BT_OK);
    c->port.layout = PORT_CYCLES;
}

static void begin(struct run *r)
{
    struct etmv2_config c;
    config_8bit(&c);
    memset(r, 0, sizeof *r);
    ck_assert_int_eq(etmv2_init(&r->parser, &c), BT_OK);
}

static void feed(struct run *r, const uint8_t *data, size_t len)
{
    while (len) {
        size_t count, used;
        ck_assert_uint_le(r->count + 8, MAX);
        used = etmv2_parse(&r->parser, data, len, r->packets + r->count, 8, &count);
        r->count += count;
        ck_assert(used || count); /* it goes on */
        data += used;
        len -= used;
    }
}

static void feed_text(struct run *r, const char *text)
{
    uint8_t bytes[PORT_TEXT_MAX];
    feed(r, bytes, port_text(text, port_v2_statuses, 16, 8, bytes));
}

/* The latest packet from number `from` on that is no status; NULL: none. */
static const struct etmv2_packet *last_from(const struct run *r, size_t from)
{
    for (size_t i = r->count; i > from; i--)
        if (r->packets[i - 1].kind != ETMV2_STATUS)
            return &r->packets[i - 1];
    return NULL;
}

/* All packets but statuses. */
static size_t others(const struct run *r, const struct etmv2_packet **out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->count; i++)
        if (r->packets[i].kind != ETMV2_STATUS)
            out[n++] = &r->packets[i];
    return n;
}

/* Branch addresses (BA13, BA25, BA26, BA30, BA35, BA36). */

/* Written from IHI 0014Q 6.7.1, apart from the decoder: bytes of `target`, as few as it takes. */
static size_t encode(uint32_t base, bool base_thumb, uint32_t target, bool thumb, uint8_t *out)
{
    uint64_t v[2] = {((uint64_t)1 << 32) + base, ((uint64_t)1 << 32) + target};
    uint64_t old = v[0] / (base_thumb ? 2 : 4) * 2 + 1, new = v[1] / (thumb ? 2 : 4) * 2 + 1;
    size_t n = 1;
    for (size_t i = 1; i < 5; i++)
        if ((old ^ new) >> 7 * i)
            n = i + 1;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((new >> 7 * i & 0x7f) | (i + 1 < n ? 0x80 : 0));
    return n;
}

START_TEST(test_address_random)
{
    uint32_t base = 0x8000;
    bool thumb = false;
    uint32_t seed = 1;
    for (unsigned i = 0; i < 10000; i++) {
        random_next(&seed);
        uint32_t spread = seed >> 27;
        random_next(&seed);
        bool to_thumb = (seed >> 9 & 7) == 0 ? !thumb : thumb;
        uint32_t target =
            (base ^ (seed & (uint32_t)(((uint64_t)2 << spread) - 1))) & (to_thumb ? ~1u : ~3u);
        struct etmv2 p = {.base = base, .base_isa = thumb ? BT_ISA_T32 : BT_ISA_A32};
        struct etmv2_packet k;
        p.raw_len = (uint8_t)encode(base, thumb, target, to_thumb, p.raw);
        ck_assert_int_eq(etmv2_parse_packet(&p, false, &k), ETMV2_DONE);
        ck_assert_uint_eq(k.kind, ETMV2_BRANCH);
        ck_assert_uint_eq(k.value, target);
        ck_assert_uint_eq(k.isa, to_thumb ? BT_ISA_T32 : BT_ISA_A32);
        ck_assert(!(k.flags & ETMV2_CANCEL));
        base = target;
        thumb = to_thumb;
    }
}
END_TEST

/* The 1 goes just above A[31], index 32: only so the fifth bytes of ARM and Thumb come out. */
static void check_marker(enum bt_isa isa, uint8_t fifth, uint32_t address)
{
    struct etmv2 p = {.base = 0x8000, .base_isa = (uint8_t)isa, .raw_len = 5};
    struct etmv2_packet k;
    uint32_t low = address >> (isa == BT_ISA_A32 ? 2 : 1) << 1 | 1;
    for (unsigned i = 0; i < 4; i++)
        p.raw[i] = (uint8_t)(low >> 7 * i | 0x80);
    p.raw[4] = fifth;
    ck_assert_int_eq(etmv2_parse_packet(&p, false, &k), ETMV2_DONE);
    ck_assert_uint_eq(k.value, address);
    ck_assert_uint_eq(k.isa, isa);
}

START_TEST(test_marker)
{
    check_marker(BT_ISA_A32, 0x0f, 0xfffffffc);
    check_marker(BT_ISA_A32, 0x08, 0);
    check_marker(BT_ISA_T32, 0x1f, 0xfffffffe);
    check_marker(BT_ISA_T32, 0x10, 0);
}
END_TEST

START_TEST(test_fifth_byte)
{
    for (unsigned b = 0; b < 256; b++) {
        struct etmv2 p = {
            .base_isa = BT_ISA_A32, .raw = {0x81, 0x80, 0x81, 0x80, (uint8_t)b}, .raw_len = 5};
        struct etmv2_packet k;
        bool arm = (b >= 0x08 && b <= 0x0f) || (b >= 0x48 && b <= 0x4f);
        bool thumb = b >= 0x10 && b <= 0x1f;
        ck_assert_int_eq(etmv2_parse_packet(&p, false, &k), arm || thumb ? ETMV2_DONE : ETMV2_BAD);
        if (arm) {
            ck_assert_uint_eq(k.isa, BT_ISA_A32);
            ck_assert_uint_eq(k.value, 0x8000 | (b & 7) << 29);
            ck_assert_int_eq((k.flags & ETMV2_CANCEL) != 0, b >= 0x48);
        } else if (thumb) {
            ck_assert_uint_eq(k.isa, BT_ISA_T32);
            ck_assert_uint_eq(k.value, 0x4000 | (b & 0xf) << 28);
            ck_assert(!(k.flags & ETMV2_CANCEL));
        } else {
            ck_assert_uint_eq(p.base, 0);
        }
        struct run r;
        char text[160];
        snprintf(text, sizeof text, K "IE 00 | DW 81 | WT 80 | WT 81 | WT 80 | WT %02X", b);
        begin(&r);
        feed_text(&r, text);
        ck_assert_int_eq(last_from(&r, 0)->kind, arm || thumb ? ETMV2_BRANCH : ETMV2_RESERVED);
        ck_assert_int_eq(r.parser.sync == ETMV2_SYNC_FOLLOWS, arm || thumb);
    }
}
END_TEST

/* The packet appears with the first byte whose bit 7 is 0. */
START_TEST(test_address_ends)
{
    static const char *const bytes[] = {"09", "93 01", "81 80 11", "93 81 81 00", "81 80 81 80 09"};
    for (size_t i = 0; i < 5; i++) {
        struct run r;
        uint8_t data[8], record[2];
        size_t n = port_hex(bytes[i], data, sizeof data);
        begin(&r);
        feed_text(&r, K "IE 00");
        for (size_t b = 0; b < n; b++) {
            char text[16];
            snprintf(text, sizeof text, "%s %02X", b ? "WT" : "DW", data[b]);
            ck_assert_uint_eq(port_text(text, port_v2_statuses, 16, 8, record), 2);
            feed(&r, record, 1);
            size_t before = r.count;
            feed(&r, record + 1, 1);
            const struct etmv2_packet *k = last_from(&r, before);
            ck_assert_int_eq(k && k->kind == ETMV2_BRANCH, b + 1 == n);
        }
        ck_assert_uint_eq(last_from(&r, 0)->n, n);
    }
}
END_TEST

/* Headers (IHI 0014Q table 6-2). */

/* Does `byte` match a pattern of 0, 1 and x? */
static bool matches(unsigned byte, const char *pattern)
{
    for (unsigned i = 0; i < 8; i++)
        if (pattern[i] != 'x' && (byte >> (7 - i) & 1) != (unsigned)(pattern[i] - '0'))
            return false;
    return true;
}

START_TEST(test_headers)
{
    static const struct {
        const char *pattern;
        int kind;
    } table[] = {
        {"xxxxxxx1", ETMV2_BRANCH},   {"x0x0xx10", ETMV2_DATA},     {"x1101010", ETMV2_NOT_TRACED},
        {"x1101110", ETMV2_CONTEXT},  {"x1x1xx00", ETMV2_MISS},     {"xxx0xx00", ETMV2_MISS_DATA},
        {"x0x1xx00", ETMV2_RESERVED}, {"x0x1xx10", ETMV2_RESERVED}, {"x10xxx10", ETMV2_RESERVED},
        {"x1100x10", ETMV2_RESERVED}, {"x111xx10", ETMV2_RESERVED},
    };
    for (unsigned b = 0; b < 256; b++) {
        int kind = -1;
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            if (!matches(b, table[i].pattern))
                continue;
            ck_assert_int_eq(kind, -1); /* the table itself is unambiguous */
            kind = table[i].kind;
        }
        ck_assert_int_ne(kind, -1);
        if (kind == ETMV2_MISS && (b & 0x0c) == 0)
            kind = ETMV2_RESERVED; /* no tag */
        struct run r;
        char text[160];
        const struct etmv2_packet *found[64];
        snprintf(text, sizeof text,
                 K "DE %02X | WT 00 | WT 00 | WT 00 | WT 00 | WT 00 | WT 00 | WT 00 | WT 00", b);
        begin(&r);
        feed_text(&r, text);
        ck_assert_uint_ge(others(&r, found), 2);
        ck_assert_int_eq(found[1]->kind, kind);
        ck_assert_uint_eq(found[1]->offset, 12);
        if (kind != ETMV2_BRANCH && kind != ETMV2_RESERVED)
            ck_assert_int_eq((found[1]->flags & ETMV2_MORE) != 0, b >> 7);
    }
}
END_TEST

START_TEST(test_tfo_headers)
{
    for (unsigned b = 0; b < 256; b++) {
        struct run r;
        char text[160];
        const struct etmv2_packet *found[64];
        snprintf(text, sizeof text,
                 K "TD 01 | IE %02X | WT 00 | WT 81 | WT 00 | WT 00 | WT 05 | WT 00", b);
        begin(&r);
        feed_text(&r, text);
        size_t n = others(&r, found);
        bool good = (b & 0x1f) == 0 && b != 0x80;
        ck_assert_uint_ge(n, 2);
        ck_assert_int_eq(found[1]->kind, good ? ETMV2_TFO : ETMV2_RESERVED);
        if (!good)
            continue;
        ck_assert_uint_eq(found[1]->number, b >> 5 & 3);
        ck_assert_uint_eq(found[1]->value, 0x8100);
        ck_assert_int_eq((found[1]->flags & ETMV2_LSIP) != 0, b >> 7);
        if (b >> 7)
            ck_assert_uint_eq(found[1]->address, 0x8108);
    }
}
END_TEST

START_TEST(test_tfo_values)
{
    static const struct {
        unsigned n, pkt;
    } table[] = {{0, 0x01}, {1, 0x11}, {3, 0x31}, {15, 0xf1}, {16, 0x03}, {37, 0x55}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct run r;
        char text[1200];
        const struct etmv2_packet *found[8];
        size_t len = (size_t)snprintf(text, sizeof text, "TD %02X", table[i].pkt);
        for (unsigned b = 0; b < table[i].n; b++)
            len += (size_t)snprintf(text + len, sizeof text - len, " | WT 11");
        snprintf(text + len, sizeof text - len, " | WT 20 | WT 00 | WT 80 | WT 00 | WT 00");
        begin(&r);
        feed_text(&r, text);
        ck_assert_uint_eq(r.packets[0].kind, ETMV2_STATUS);
        ck_assert_uint_eq(r.packets[0].value, table[i].n);
        ck_assert_uint_eq(others(&r, found), 1);
        ck_assert_uint_eq(found[0]->kind, ETMV2_TFO);
        ck_assert_uint_eq(found[0]->offset, 2 * (table[i].n + 1));
    }
}
END_TEST

/* Cuts and checkpoints. */

START_TEST(test_cuts)
{
    uint8_t bytes[PORT_TEXT_MAX];
    struct run whole, cut;
    size_t len = port_text(x14, port_v2_statuses, 16, 8, bytes);
    begin(&whole);
    feed(&whole, bytes, len);
    for (size_t step = 1; step < len; step++) {
        begin(&cut);
        for (size_t i = 0; i < len; i += step)
            feed(&cut, bytes + i, len - i < step ? len - i : step);
        ck_assert_uint_eq(cut.count, whole.count);
        ck_assert_mem_eq(cut.packets, whole.packets, whole.count * sizeof *whole.packets);
    }
}
END_TEST

static void program(struct code_image *image, uint8_t *code)
{
    for (unsigned i = 0; i < 0x400; i += 4)
        memcpy(code + i, (const uint8_t[]){0x00, 0x00, 0xa0, 0xe1}, 4);
    memcpy(code + 0x08, (const uint8_t[]){0x00, 0x00, 0x91, 0xe5}, 4);  /* ldr r0, [r1] */
    memcpy(code + 0x10, (const uint8_t[]){0x3a, 0x00, 0x00, 0xea}, 4);  /* b 0x8100 */
    memcpy(code + 0x104, (const uint8_t[]){0x13, 0xff, 0x2f, 0xe1}, 4); /* bx r3 */
    code_image_init(image);
    struct code_region region = {.address = 0x8000, .size = 0x400, .bytes = code};
    ck_assert_int_eq(code_image_add(image, &region), BT_OK);
}

/* The stream saved and brought back before every byte gives the same history. */
START_TEST(test_checkpoints)
{
    uint8_t bytes[PORT_TEXT_MAX], code[0x400];
    struct code_image image;
    struct stream_config config = {.protocol = STREAM_ETMV2};
    struct decoded whole, saved;
    size_t len = port_text(x14, port_v2_statuses, 16, 8, bytes);
    program(&image, code);
    config_8bit(&config.etmv2);
    decoded_init(&whole, &config, &image);
    decoded_init(&saved, &config, &image);
    decoded_feed(&whole, bytes, len, 0);
    for (size_t i = 0; i < len; i++) {
        struct stream copy;
        stream_save(&saved.stream, &copy);
        stream_resume(&saved.stream, &copy, &saved.code);
        decoded_feed(&saved, bytes + i, 1, 0);
    }
    stream_finish(&whole.stream, &whole.sink);
    stream_finish(&saved.stream, &saved.sink);
    decoded_take(&whole);
    decoded_take(&saved);
    ck_assert_pstr_eq(decoded_difference(&whole, &saved), NULL);
    ck_assert_uint_eq(stream_instructions(&whole.stream), 10);
    decoded_release(&whole);
    decoded_release(&saved);
    code_image_release(&image);
}
END_TEST

/* Any one cycle lost, doubled or changed: the TFO at the end is found, or the one before it. */
START_TEST(test_damage)
{
    static const char good[] =
        K "IE 00 | DE 93 | WT 01 | IE 00 | IE 00 | TD 01 | IE 00 | WT 2C | WT 81 | WT 00 | WT 00 | "
          "IE 00 | DE 0A | WT 12 | WT 34 | IE 00 | TD 00 | TD 01 | WT 20 | WT 00 | WT 82 | WT 00 | "
          "WT 00 | IE 00 | IE 00";
    uint8_t bytes[PORT_TEXT_MAX], bad[PORT_TEXT_MAX + 2];
    size_t len = port_text(good, port_v2_statuses, 16, 8, bytes);
    size_t end = len - 2 * 8; /* the last TFO and what follows stays whole */
    for (size_t at = 0; at < end; at += 2) {
        for (unsigned how = 0; how < 4; how++) {
            struct run r;
            size_t n = 0;
            for (size_t i = 0; i < len; i += 2) {
                if (i == at && how == 0)
                    continue;
                memcpy(bad + n, bytes + i, 2);
                n += 2;
                if (i == at && how == 1) {
                    memcpy(bad + n, bytes + i, 2);
                    n += 2;
                }
                if (i == at && how >= 2)
                    bad[n - 2] ^= how == 2 ? 7 : 0x28;
            }
            begin(&r);
            feed(&r, bad, n);
            bool found = false;
            for (size_t i = 0; i < r.count; i++)
                found |= r.packets[i].kind == ETMV2_TFO && r.packets[i].value == 0x8200;
            ck_assert_msg(found, "cycle %zu, damage %u", at / 2, how);
            ck_assert(r.parser.sync == ETMV2_SYNC_FOLLOWS);
        }
    }
}
END_TEST

START_TEST(test_registers)
{
    struct etmv2_config c;
    ck_assert_int_eq(etmv2_config_from_regs(&c, 0x1012e, 0x41000110), BT_OK);
    ck_assert_uint_eq(c.port.bits, 16);
    ck_assert(c.data_value && c.data_address && c.monitor_cprt);
    ck_assert(!c.cycle_accurate);
    ck_assert_uint_eq(c.context_bytes, 0);
    ck_assert_int_eq(etmv2_config_from_regs(&c, 0xd000, 0x41000100), BT_OK);
    ck_assert(c.cycle_accurate);
    ck_assert_uint_eq(c.context_bytes, 4);
    ck_assert_uint_eq(c.port.bits, 4);
    ck_assert_int_eq(etmv2_config_from_regs(&c, 0x30, 0x41000100), BT_ERR_INVAL);
    ck_assert_int_eq(etmv2_config_from_regs(&c, 0, 0x41000200), BT_ERR_INVAL);
}
END_TEST

#define ADD(name, function)                                                                        \
    do {                                                                                           \
        TCase *t = tcase_create("etmv2: " name);                                                   \
        tcase_add_test(t, function);                                                               \
        suite_add_tcase(s, t);                                                                     \
    } while (0)

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv2");
    ADD("BA18, BA23 the place of the marker", test_marker);
    ADD("BA26, BA31 to BA34 random addresses, encoded apart, decode", test_address_random);
    ADD("BA25, BA30, BA35, BA36 all fifth address bytes", test_fifth_byte);
    ADD("BA13 an address ends with the first byte without bit 7", test_address_ends);
    ADD("all header bytes", test_headers);
    ADD("all TFO header bytes", test_tfo_headers);
    ADD("TFO values", test_tfo_values);
    ADD("packets are the same however the input is cut", test_cuts);
    ADD("a checkpoint before every byte changes nothing", test_checkpoints);
    ADD("one damaged cycle: the next TFO is found", test_damage);
    ADD("configuration from registers", test_registers);
    return s;
}
