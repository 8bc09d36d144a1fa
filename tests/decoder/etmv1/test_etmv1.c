/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/etmv1/etmv1.c and decoder/etmv1/etmv1_flow.c. */
/* ETMv1: addresses by all values, cuts of the input, synchronisation from anywhere, damage. */
#include "decoder/stream/stream.h"
#include "tests/support/decoded.h"
#include "tests/support/port_text.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <string.h>

#define MAX 4096

/* Worked examples E9 and E11 joined: trace on, a load, a backlog of addresses, a full address. */
static const char e11[] =
    "BE 80 1 | IE 80 | IE 82 | IE 80 | ID 10 | IE 80 | WT 82 | WT 80 | WT 80 | WT 04 | WT 78 | "
    "WT 56 | WT 34 | WT 12 | BE A4 1 | IE 02 | IE EE | ID 04 | BE 01 | IE 00 | IE 00 | BE 00 | "
    "ID 90 1 | IE 00 | WT 80 1 | WT 80 | WT 82 | WT 80 | WT 40 | IE EE | TD 00 | IE EE";
#define LAST_BRANCH 21 /* its cycle */

struct run {
    struct etmv1 parser;
    struct etmv1_packet packets[MAX];
    size_t count;
};

static void begin(struct run *r, unsigned minor, uint32_t etmcr)
{
    struct etmv1_config c;
    ck_assert_int_eq(etmv1_config_from_regs(&c, etmcr, minor), BT_OK);
    c.port.layout = PORT_CYCLES;
    memset(r, 0, sizeof *r);
    ck_assert_int_eq(etmv1_init(&r->parser, &c), BT_OK);
}

static void feed(struct run *r, const uint8_t *data, size_t len)
{
    while (len) {
        size_t count, used;
        ck_assert_uint_le(r->count + 4, MAX);
        used = etmv1_parse(&r->parser, data, len, r->packets + r->count, 4, &count);
        r->count += count;
        ck_assert_uint_gt(used, 0);
        data += used;
        len -= used;
    }
}

static void feed_text(struct run *r, const char *text)
{
    uint8_t bytes[PORT_TEXT_MAX];
    feed(r, bytes, port_text(text, port_v1_statuses, 8, 8, bytes));
}

/* The latest packet that is no cycle; NULL: none. */
static const struct etmv1_packet *last(const struct run *r)
{
    for (size_t i = r->count; i > 0; i--)
        if (r->packets[i - 1].kind != ETMV1_CYCLE)
            return &r->packets[i - 1];
    return NULL;
}

/* Addresses (IHI 0014Q chapter 5). */

/* Written from IHI 0014Q chapter 5, apart from the decoder. */
static size_t encode(uint32_t base, uint32_t target, uint8_t *out)
{
    uint32_t x = base ^ target;
    size_t n = x < 1u << 7 ? 1 : x < 1u << 14 ? 2 : x < 1u << 21 ? 3 : x < 1u << 28 ? 4 : 5;
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((target >> 7 * i & 0x7f) | (i + 1 < n ? 0x80 : 0));
    if (n == 5)
        out[4] &= 0x0f;
    return n;
}

START_TEST(test_address_random)
{
    uint32_t base = 0x8000, seed = 1;
    struct run r;
    begin(&r, 2, 0x10);
    feed_text(&r, "BE 80 1 | IE 80 | IE 82 | WT 80 | WT 10");
    for (unsigned i = 0; i < 2000; i++) {
        random_next(&seed);
        uint32_t spread = seed >> 27;
        random_next(&seed);
        uint32_t target = base ^ (seed & (uint32_t)(((uint64_t)2 << spread) - 1));
        target &= target & 1 ? ~0u : ~3u;
        uint8_t bytes[5];
        size_t n = encode(base, target, bytes);
        r.count = 0;
        for (size_t b = 0; b < n; b++) {
            char text[16];
            snprintf(text, sizeof text, "%s %02X %u", b ? "WT" : "BE", bytes[b], b == 0);
            feed_text(&r, text);
            ck_assert_int_eq(last(&r) != NULL, b + 1 == n);
        }
        ck_assert_uint_eq(last(&r)->kind, ETMV1_ADDRESS);
        ck_assert_uint_eq(last(&r)->value, target & ~1u);
        ck_assert_uint_eq(last(&r)->isa, target & 1 ? BT_ISA_T32 : BT_ISA_A32);
        ck_assert_uint_eq(last(&r)->raw_len, n);
        base = target;
    }
}
END_TEST

/* Reason, Jazelle bit and context ID in each version. */
START_TEST(test_fifth_byte)
{
    unsigned minor = (unsigned)_i;
    for (unsigned b = 0; b < 256; b++) {
        struct run r;
        char text[120];
        unsigned reason = b >> 4 & 7;
        bool good = reason <= 4 && (minor == 3 || b < 0x80);
        bool context = reason && minor >= 2;
        begin(&r, minor, 0x8010);
        snprintf(text, sizeof text, "BE 81 1 | IE 80 | IE 82 | WT 80 | WT %02X", b);
        feed_text(&r, text);
        ck_assert_int_eq(last(&r) != NULL, !context);
        feed_text(&r, "WT 34 | WT 12");
        ck_assert_uint_eq(last(&r)->kind, good ? ETMV1_ADDRESS : ETMV1_MALFORMED);
        if (!good)
            continue;
        ck_assert_uint_eq(last(&r)->reason, reason);
        ck_assert_uint_eq(last(&r)->isa, b & 0x80 ? BT_ISA_JAZELLE : BT_ISA_T32);
        ck_assert_uint_eq(last(&r)->value, (0x8000 + (b >> 7)) | (b & 0xf) << 28);
        ck_assert_int_eq((last(&r)->flags & ETMV1_HAS_CONTEXT) != 0, context);
        ck_assert_uint_eq(last(&r)->context, context ? 0x1234 : 0);
        ck_assert(!(last(&r)->flags & ETMV1_PARTIAL));
    }
}
END_TEST

/* In Jazelle state bit 0 is a bit of the address, and only five bytes leave it. */
START_TEST(test_jazelle_short)
{
    struct run r;
    begin(&r, 3, 0x10);
    feed_text(&r, "BE 83 1 | IE 84 | IE 84 | WT 80 | WT 80 | BE 04 1");
    ck_assert_uint_eq(last(&r)->isa, BT_ISA_JAZELLE);
    ck_assert_uint_eq(last(&r)->value, 0x10204);
}
END_TEST

/* Cuts, checkpoints, where decoding begins. */

START_TEST(test_cuts)
{
    uint8_t bytes[PORT_TEXT_MAX];
    struct run whole, cut;
    size_t len = port_text(e11, port_v1_statuses, 8, 8, bytes);
    begin(&whole, 2, 0x1c);
    feed(&whole, bytes, len);
    for (size_t step = 1; step < len; step++) {
        begin(&cut, 2, 0x1c);
        for (size_t i = 0; i < len; i += step)
            feed(&cut, bytes + i, len - i < step ? len - i : step);
        ck_assert_uint_eq(cut.count, whole.count);
        ck_assert_mem_eq(cut.packets, whole.packets, whole.count * sizeof *whole.packets);
    }
}
END_TEST

static void put(uint8_t *code, unsigned at, uint32_t opcode)
{
    memcpy(code + at, &opcode, 4);
}

static void program(struct code_image *image, uint8_t *code)
{
    for (unsigned i = 0; i < 0x400; i += 4)
        put(code, i, 0xe1a00000);
    put(code, 0x004, 0xe5910000); /* ldr r0, [r1] */
    put(code, 0x00c, 0xe12fff13); /* bx r3 */
    put(code, 0x010, 0xe12fff13);
    put(code, 0x124, 0xe5910000);
    put(code, 0x128, 0xe12fff13);
    code_image_init(image);
    struct code_region region = {.address = 0x8000, .size = 0x400, .bytes = code};
    ck_assert_int_eq(code_image_add(image, &region), BT_OK);
}

struct history {
    struct code_image image;
    struct stream_config config;
    struct decoded d;
    uint8_t code[0x400];
};

static void open_history(struct history *h)
{
    memset(h, 0, sizeof *h);
    program(&h->image, h->code);
    h->config.protocol = STREAM_ETMV1;
    ck_assert_int_eq(etmv1_config_from_regs(&h->config.etmv1, 0x1c, 2), BT_OK);
    h->config.etmv1.port.layout = PORT_CYCLES;
    decoded_init(&h->d, &h->config, &h->image);
}

static void finish(struct history *h)
{
    stream_finish(&h->d.stream, &h->d.sink);
    decoded_take(&h->d);
}

static void close_history(struct history *h)
{
    decoded_release(&h->d);
    code_image_release(&h->image);
}

START_TEST(test_checkpoints)
{
    uint8_t bytes[PORT_TEXT_MAX];
    static struct history whole, saved;
    size_t len = port_text(e11, port_v1_statuses, 8, 8, bytes);
    open_history(&whole);
    open_history(&saved);
    decoded_feed(&whole.d, bytes, len, 0);
    for (size_t i = 0; i < len; i++) {
        struct stream copy;
        stream_save(&saved.d.stream, &copy);
        stream_resume(&saved.d.stream, &copy, &saved.d.code);
        decoded_feed(&saved.d, bytes + i, 1, 0);
    }
    finish(&whole);
    finish(&saved);
    ck_assert_pstr_eq(decoded_difference(&whole.d, &saved.d), NULL);
    ck_assert_uint_eq(stream_instructions(&whole.d.stream), 9);
    close_history(&whole);
    close_history(&saved);
}
END_TEST

/* Does the last instruction stand at `address`? */
static bool ends_at(const struct history *h, uint32_t address)
{
    const struct bt_block *b = &h->d.blocks[h->d.block_count - 1];
    return h->d.block_count && bt_block_last(b) == address;
}

/* A buffer that wrapped begins anywhere: from each cycle on, what is told is part of the whole. */
START_TEST(test_any_start)
{
    uint8_t bytes[PORT_TEXT_MAX];
    size_t len = port_text(e11, port_v1_statuses, 8, 8, bytes);
    static struct history whole, part;
    open_history(&whole);
    decoded_feed(&whole.d, bytes, len, 0);
    finish(&whole);
    ck_assert(ends_at(&whole, 0x8004));
    for (size_t at = 2; at <= 2 * LAST_BRANCH; at += 2) {
        open_history(&part);
        decoded_feed(&part.d, bytes + at, len - at, 0);
        finish(&part);
        ck_assert_uint_gt(part.d.block_count, 0);
        ck_assert_uint_eq(part.d.events[0].kind, BT_EVENT_TRACE_ON);
        ck_assert(ends_at(&part, 0x8004));
        for (size_t i = 0; i < part.d.block_count; i++) {
            const struct bt_block *b = &whole.d.blocks[whole.d.block_count - 1 - i];
            ck_assert_mem_eq(&part.d.blocks[part.d.block_count - 1 - i], b, sizeof *b);
        }
        close_history(&part);
    }
    close_history(&whole);
}
END_TEST

/* Any one cycle lost, doubled or changed: the full address behind it is found. */
START_TEST(test_damage)
{
    char text[1024];
    snprintf(text, sizeof text, "%s | IE EE | TD 00 | %s", e11,
             "BE 80 1 | IE 84 | IE 82 | WT 80 | WT 40 | IE EE | IE EE");
    uint8_t bytes[PORT_TEXT_MAX], bad[PORT_TEXT_MAX + 2];
    size_t len = port_text(text, port_v1_statuses, 8, 8, bytes);
    size_t end = len - 2 * 8;
    static struct history h;
    for (size_t at = 0; at < end; at += 2) {
        for (unsigned how = 0; how < 4; how++) {
            size_t n = 0;
            for (size_t i = 0; i < len; i += 2) {
                for (unsigned k = i == at ? (how == 0 ? 0 : how == 1 ? 2 : 1) : 1; k > 0; k--) {
                    memcpy(bad + n, bytes + i, 2);
                    n += 2;
                }
                if (i == at && how >= 2)
                    bad[n - 2] ^= how == 2 ? 7 : 0x28;
            }
            open_history(&h);
            decoded_feed(&h.d, bad, n, 0);
            finish(&h);
            ck_assert_msg(ends_at(&h, 0x8204), "cycle %zu, damage %u", at / 2, how);
            close_history(&h);
        }
    }
}
END_TEST

/* A branch that never gets its address does not hold up the stream for ever. */
START_TEST(test_no_address)
{
    static struct history h;
    uint8_t bytes[PORT_TEXT_MAX];
    open_history(&h);
    size_t len = port_text("BE 80 1 | IE 80 | IE 82 | WT 80 | WT 10 | BE EE | IE EE | IE EE",
                           port_v1_statuses, 8, 8, bytes);
    decoded_feed(&h.d, bytes, len, 0);
    len = port_text("IE EE", port_v1_statuses, 8, 8, bytes);
    for (unsigned i = 0; i < 1000; i++)
        decoded_feed(&h.d, bytes, len, 0);
    ck_assert_uint_eq(h.d.events[h.d.event_count - 1].kind, BT_EVENT_GAP);
    len =
        port_text("BE 80 1 | IE 84 | IE 82 | WT 80 | WT 40 | IE EE", port_v1_statuses, 8, 8, bytes);
    decoded_feed(&h.d, bytes, len, 0);
    finish(&h);
    ck_assert(ends_at(&h, 0x8200));
    close_history(&h);
}
END_TEST

START_TEST(test_registers)
{
    struct etmv1_config c;
    static const int minors[8] = {0, 1, 2, 3, 2, 3, BT_ERR_INVAL, 3};
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(etmv1_minor_of_ccr(i << 28 | 0x0fffffff), minors[i]);
    ck_assert_int_eq(etmv1_minor_of_ccr(0x80000000), BT_ERR_INVAL);
    ck_assert_int_eq(etmv1_config_from_regs(&c, 0xd02a, 2), BT_OK);
    ck_assert_uint_eq(c.port.bits, 16);
    ck_assert_uint_eq(c.context_bytes, 4);
    ck_assert(c.cycle_accurate && c.monitor_cprt && c.data_address && !c.data_value);
    ck_assert_int_eq(etmv1_config_from_regs(&c, 0xc104, 1), BT_OK);
    ck_assert_uint_eq(c.context_bytes, 0);
    ck_assert(c.data_value && !c.data_address);
    ck_assert_int_eq(etmv1_config_from_regs(&c, 0x30, 1), BT_ERR_INVAL);
    ck_assert_int_eq(etmv1_config_from_regs(&c, 0x10, 4), BT_ERR_INVAL);
}
END_TEST

/* Sizes of transfers. */

START_TEST(test_transfers)
{
    static const struct {
        uint32_t opcode;
        uint8_t thumb, kind, store, bytes, count;
    } table[] = {
        {0xe5d10000, 0, ACCESS_MEMORY, 0, 1, 1},   /* ldrb r0, [r1] */
        {0xe1d100d0, 0, ACCESS_MEMORY, 0, 1, 1},   /* ldrsb */
        {0xe1d100b0, 0, ACCESS_MEMORY, 0, 2, 1},   /* ldrh */
        {0xe1c100b0, 0, ACCESS_MEMORY, 1, 2, 1},   /* strh */
        {0xe4b10000, 0, ACCESS_MEMORY, 0, 4, 1},   /* ldrt r0, [r1], #0 */
        {0xe5810000, 0, ACCESS_MEMORY, 1, 4, 1},   /* str */
        {0xe8bd8010, 0, ACCESS_MEMORY, 0, 4, 2},   /* pop {r4, pc} */
        {0xe8a1ffff, 0, ACCESS_MEMORY, 1, 4, 16},  /* stmia r1!, {r0-pc} */
        {0xe1c120d0, 0, ACCESS_MEMORY, 0, 4, 2},   /* ldrd r2, [r1] */
        {0xe1c120f0, 0, ACCESS_MEMORY, 1, 4, 2},   /* strd r2, [r1] */
        {0xe1010092, 0, ACCESS_MEMORY, 0, 4, 2},   /* swp r0, r2, [r1] */
        {0xe1410092, 0, ACCESS_MEMORY, 0, 1, 2},   /* swpb */
        {0xee010f10, 0, ACCESS_REGISTER, 1, 4, 1}, /* mcr */
        {0xee110f10, 0, ACCESS_REGISTER, 0, 4, 1}, /* mrc */
        {0xec410f00, 0, ACCESS_REGISTER, 1, 4, 2}, /* mcrr */
        {0xec510f00, 0, ACCESS_REGISTER, 0, 4, 2}, /* mrrc */
        {0xed910100, 0, ACCESS_MEMORY, 0, 4, 0},   /* ldc p1, c0, [r1] */
        {0xf5d1f000, 0, ACCESS_NONE, 0, 0, 0},     /* pld [r1] */
        {0xe0010092, 0, ACCESS_NONE, 0, 0, 0},     /* mul */
        {0xe1a00000, 0, ACCESS_NONE, 0, 0, 0},     /* mov */
        {0xb5f0, 1, ACCESS_MEMORY, 1, 4, 5},       /* push {r4-r7, lr} */
        {0xbd01, 1, ACCESS_MEMORY, 0, 4, 2},       /* pop {r0, pc} */
        {0xc10f, 1, ACCESS_MEMORY, 1, 4, 4},       /* stmia r1!, {r0-r3} */
        {0x7808, 1, ACCESS_MEMORY, 0, 1, 1},       /* ldrb r0, [r1] */
        {0x8008, 1, ACCESS_MEMORY, 1, 2, 1},       /* strh */
        {0x4801, 1, ACCESS_MEMORY, 0, 4, 1},       /* ldr r0, [pc, #4] */
        {0x46c0, 1, ACCESS_NONE, 0, 0, 0},         /* mov r8, r8 */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        bool thumb = table[i].thumb;
        struct transfer t =
            transfer_of(table[i].opcode, thumb ? 2 : 4, thumb ? BT_ISA_T32 : BT_ISA_A32);
        ck_assert_msg(t.kind == table[i].kind && t.bytes == table[i].bytes &&
                          t.count == table[i].count && t.store == table[i].store,
                      "0x%08x: kind %u, store %u, %u x %u bytes", table[i].opcode, t.kind, t.store,
                      t.count, t.bytes);
        ck_assert_int_eq(t.swap, (table[i].opcode & 0x0fb000f0) == 0x01000090);
    }
}
END_TEST

#define ADD(name, function, from, to)                                                              \
    do {                                                                                           \
        TCase *t = tcase_create("etmv1: " name);                                                   \
        tcase_add_loop_test(t, function, from, to);                                                \
        suite_add_tcase(s, t);                                                                     \
    } while (0)

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv1");
    ADD("random addresses, encoded apart, decode", test_address_random, 0, 1);
    ADD("all fifth address bytes, in each version", test_fifth_byte, 0, 4);
    ADD("short addresses stay in Jazelle state", test_jazelle_short, 0, 1);
    ADD("packets are the same however the input is cut", test_cuts, 0, 1);
    ADD("a checkpoint before every byte changes nothing", test_checkpoints, 0, 1);
    ADD("synchronisation from every cycle of a wrapped buffer", test_any_start, 0, 1);
    ADD("one damaged cycle: the next full address is found", test_damage, 0, 1);
    ADD("a branch without an address is given up", test_no_address, 0, 1);
    ADD("configuration from registers", test_registers, 0, 1);
    ADD("sizes of transfers", test_transfers, 0, 1);
    return s;
}
