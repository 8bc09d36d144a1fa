/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests decoder/etmv3/etmv3.c and decoder/etmv3/etmv3_packets.c. */
/* ETMv3 packets: every header in every configuration, addresses, cuts, what registers mean. */
#include "decoder/etmv3/etmv3.h"
#include "tests/support/random_next.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define PACKETS 4096

static const uint8_t async[6] = {0, 0, 0, 0, 0, 0x80};

static struct etmv3_config configured(uint32_t etmcr, unsigned minor, bool alternative)
{
    struct etmv3_config c;
    uint32_t idr = 0x41040200 | minor << 4 | (alternative ? 1u << 20 : 0);
    ck_assert_int_eq(etmv3_config_from_regs(&c, etmcr, idr, 0x344008f2, 0x10), 0);
    return c;
}

static size_t parse_all(const struct etmv3_config *c, const uint8_t *data, size_t len,
                        struct etmv3_packet *out, uint32_t seed)
{
    struct etmv3 p;
    size_t n = 0;
    etmv3_init(&p, c);
    while (len) {
        random_next(&seed);
        size_t piece = seed & 1 ? 1 + (seed >> 24) % 9 : len, count;
        if (piece > len)
            piece = len;
        uint8_t *copy = malloc(piece); /* exactly as large: reading past it is seen */
        memcpy(copy, data, piece);
        /* room for few packets: parsing stops and goes on */
        size_t used = etmv3_parse(&p, copy, piece, out + n, 4, &count);
        free(copy);
        ck_assert_uint_le(n + count, PACKETS - 8);
        n += count;
        data += used;
        len -= used;
    }
    return n + etmv3_finish(&p, out + n);
}

/* One packet that begins with `header`, zeros behind it. */
static struct etmv3_packet first_packet(const struct etmv3_config *c, uint8_t header)
{
    uint8_t data[40] = {0};
    struct etmv3_packet out[64];
    memcpy(data, async, sizeof async);
    data[6] = header;
    memset(data + 7, 0x66, sizeof data - 7);
    if (header == 0x08 || header == 0x70)
        memset(data + 7, 0x21, 8);
    size_t n = parse_all(c, data, sizeof data, out, 0);
    ck_assert_uint_ge(n, 2);
    ck_assert_uint_eq(out[1].offset, 6);
    return out[1];
}

START_TEST(p_headers_are_counted)
{
    struct etmv3_config plain = configured(0, 5, false), cycles = configured(0x1000, 5, false);
    unsigned kinds[2][5] = {{0}};
    for (unsigned h = 0x80; h < 0x100; h += 2) {
        struct etmv3_packet a = first_packet(&plain, (uint8_t)h);
        kinds[0][a.kind == ETMV3_ATOM ? ((h & 3) ? 2 : 1) : 0]++;
        struct etmv3_packet b = first_packet(&cycles, (uint8_t)h);
        unsigned format = (b.flags & ETMV3_W_EACH) ? 1 : b.n == 2 ? 2 : (h & 0x20) ? 3 : 4;
        kinds[1][b.kind == ETMV3_ATOM ? format : 0]++;
    }
    ck_assert_uint_eq(kinds[0][1], 32); /* PH14 */
    ck_assert_uint_eq(kinds[0][2], 4);
    ck_assert_uint_eq(kinds[0][0], 28);
    ck_assert_uint_eq(kinds[1][1], 15); /* PH32 */
    ck_assert_uint_eq(kinds[1][2], 4);
    ck_assert_uint_eq(kinds[1][3], 16);
    ck_assert_uint_eq(kinds[1][4], 2);
    ck_assert_uint_eq(kinds[1][0], 27);
}
END_TEST

/* IHI 0014Q table 7-1, row by row: the kind of each even header below 0x80, with all data
 * traced. */
START_TEST(headers_below_0x80)
{
    struct etmv3_config c = configured(0xc00c, 5, false);
    struct etmv3_config off = configured(0xc000, 5, false);
    static const uint8_t reserved[] = {0x10, 0x12, 0x14, 0x16, 0x18, 0x1a, 0x1c, 0x1e,
                                       0x30, 0x32, 0x34, 0x36, 0x38, 0x3a, 0x3e, 0x4a,
                                       0x4e, 0x52, 0x56, 0x5a, 0x5e, 0x72};
    static const struct {
        uint8_t header, kind;
    } rows[] = {
        {0x02, ETMV3_DATA},        {0x04, ETMV3_CYCLE_COUNT},  {0x06, ETMV3_DATA},
        {0x08, ETMV3_ISYNC},       {0x0a, ETMV3_DATA},         {0x0c, ETMV3_TRIGGER},
        {0x0e, ETMV3_DATA},        {0x20, ETMV3_OOO_DATA},     {0x22, ETMV3_DATA},
        {0x24, ETMV3_OOO_DATA},    {0x26, ETMV3_DATA},         {0x28, ETMV3_OOO_DATA},
        {0x2a, ETMV3_DATA},        {0x2c, ETMV3_OOO_DATA},     {0x2e, ETMV3_DATA},
        {0x3c, ETMV3_VMID},        {0x40, ETMV3_OOO_DATA},     {0x42, ETMV3_TIMESTAMP},
        {0x44, ETMV3_OOO_DATA},    {0x46, ETMV3_TIMESTAMP},    {0x48, ETMV3_OOO_DATA},
        {0x4c, ETMV3_OOO_DATA},    {0x50, ETMV3_STORE_FAILED}, {0x54, ETMV3_PLACEHOLDER},
        {0x58, ETMV3_PLACEHOLDER}, {0x5c, ETMV3_PLACEHOLDER},  {0x60, ETMV3_OOO_DATA},
        {0x62, ETMV3_SUPPRESSED},  {0x64, ETMV3_OOO_DATA},     {0x66, ETMV3_IGNORE},
        {0x68, ETMV3_OOO_DATA},    {0x6a, ETMV3_NOT_TRACED},   {0x6c, ETMV3_OOO_DATA},
        {0x6e, ETMV3_CONTEXT},     {0x70, ETMV3_ISYNC},        {0x74, ETMV3_PLACEHOLDER},
        {0x76, ETMV3_EXC_RETURN},  {0x78, ETMV3_PLACEHOLDER},  {0x7a, ETMV3_NOT_TRACED},
        {0x7c, ETMV3_PLACEHOLDER}, {0x7e, ETMV3_EXC_ENTRY},
    };
    ck_assert_uint_eq(sizeof reserved + sizeof rows / sizeof *rows, 63); /* all but 0x00 */
    for (size_t i = 0; i < sizeof reserved; i++)
        ck_assert_uint_eq(first_packet(&c, reserved[i]).kind, ETMV3_RESERVED);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct etmv3_packet k = first_packet(&c, rows[i].header);
        ck_assert_msg(k.kind == rows[i].kind, "header %02x: kind %u", rows[i].header, k.kind);
        bool data = k.kind >= ETMV3_DATA && k.kind <= ETMV3_SUPPRESSED;
        k = first_packet(&off, rows[i].header);
        ck_assert_uint_eq(k.kind, data ? ETMV3_RESERVED : rows[i].kind);
    }
}
END_TEST

static const uint8_t shifts[4] = {[BT_ISA_A32] = 2, [BT_ISA_T32] = 1, [BT_ISA_JAZELLE] = 0};

/* IHI 0014Q 7.3: a branch packet of `n` bytes. */
static size_t make_branch(uint8_t *b, uint32_t address, enum bt_isa isa, unsigned n,
                          bool alternative)
{
    static const uint8_t marks[4] = {[BT_ISA_A32] = 8, [BT_ISA_T32] = 16, [BT_ISA_JAZELLE] = 32};
    uint32_t v = address >> shifts[isa];
    b[0] = (uint8_t)((v & 0x3f) << 1 | 1);
    v >>= 6;
    for (unsigned k = 1; k < n && k < 4; k++, v >>= 7)
        b[k] = v & 0x7f;
    if (n == 5)
        b[4] = (uint8_t)(marks[isa] | (v & (marks[isa] - 1u)));
    for (unsigned k = 0; k + 1 < n; k++)
        b[k] |= 0x80;
    if (alternative && n > 1 && n < 5)
        b[n - 1] &= 0x3f;
    return n;
}

/* Bits of the address that a packet of `n` bytes replaces. */
static uint32_t covered(enum bt_isa isa, unsigned n, bool alternative)
{
    unsigned bits = n == 1 ? 6 : 7 * n - 1 - (alternative ? 1 : 0);
    return n == 5 ? ~0u : (1u << (bits + shifts[isa])) - 1;
}

START_TEST(branch_addresses)
{
    static const uint8_t isas[3] = {BT_ISA_A32, BT_ISA_T32, BT_ISA_JAZELLE};
    bool alternative = _i;
    struct etmv3_config c = configured(0, 5, alternative);
    struct etmv3 p;
    struct etmv3_packet out[8];
    size_t count;
    uint32_t seed = 1, address = 0;
    uint8_t isa = BT_ISA_A32;
    etmv3_init(&p, &c);
    etmv3_parse(&p, async, sizeof async, out, 8, &count);
    static const uint8_t isync[] = {0x08, 0x21, 0, 0, 0, 0};
    etmv3_parse(&p, isync, sizeof isync, out, 8, &count);
    for (unsigned i = 0; i < 8000; i++) {
        uint8_t bytes[8] = {0};
        random_next(&seed);
        unsigned n = 1 + (seed >> 28) % 5;
        if (n == 5)
            isa = isas[(seed >> 20) % 3];
        uint32_t target = seed ^ seed << 13;
        target &= ~((1u << shifts[isa]) - 1);
        uint32_t mask = covered((enum bt_isa)isa, n, alternative);
        address = (address & ~mask) | (target & mask);
        size_t size = make_branch(bytes, target, (enum bt_isa)isa, n, alternative);
        bytes[size] = 0x66; /* a lone 01 waits for what follows it */
        ck_assert_uint_eq(etmv3_parse(&p, bytes, size + 1, out, 8, &count), size + 1);
        ck_assert_uint_eq(count, 2);
        ck_assert_uint_eq(out[0].kind, ETMV3_BRANCH);
        ck_assert_uint_eq(out[0].size, size);
        ck_assert_uint_eq(out[0].value, address);
        ck_assert_uint_eq(etmv3_packet_isa(&out[0]), isa);
    }
}
END_TEST

static size_t random_stream(uint8_t *data, size_t max, uint32_t seed)
{
    size_t n = 0;
    while (n + 16 < max) {
        random_next(&seed);
        if (seed >> 27 == 0) {
            memcpy(data + n, async, sizeof async);
            n += sizeof async;
        } else if (seed >> 27 < 3) {
            static const uint8_t isync[] = {0x08, 0x21, 0x01, 0x80, 0x00, 0x00};
            memcpy(data + n, isync, sizeof isync);
            n += sizeof isync;
        } else {
            data[n++] = (uint8_t)(seed >> 16 & (seed >> 8 & 1 ? 0xff : 0x0f));
        }
    }
    return n;
}

/* Packets do not depend on the cuts, and no byte is lost or counted twice. */
START_TEST(cuts_change_nothing)
{
    static struct etmv3_packet whole[PACKETS], cut[PACKETS];
    static uint8_t data[3000];
    uint32_t seed = (uint32_t)_i * 2654435761u;
    struct etmv3_config c = configured(seed >> 8 & 0x0010d00c, (unsigned)_i % 6, _i & 1);
    size_t len = random_stream(data, sizeof data, seed);
    size_t n = parse_all(&c, data, len, whole, 0);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(whole[i].offset, at);
        at += whole[i].size == 0xffff ? whole[i].value : whole[i].size;
    }
    ck_assert_uint_eq(at, len);
    for (uint32_t s = 1; s < 6; s++) {
        ck_assert_uint_eq(parse_all(&c, data, len, cut, seed + s), n);
        ck_assert_int_eq(memcmp(whole, cut, n * sizeof *whole), 0);
    }
}
END_TEST

/* The tail of a bad packet may hold an A-sync: it is found, also when the packet was cut. */
START_TEST(a_sync_inside_a_bad_packet)
{
    static const uint8_t data[] = {0, 0,    0,    0,    0, 0x80, 0x70, 5, 0, 0,    0,   0,
                                   0, 0x80, 0x0c, 0x66, 0, 0,    0,    0, 0, 0x80, 0x0c};
    struct etmv3_config c = configured(0xc000, 5, false);
    struct etmv3_packet out[64];
    for (uint32_t seed = 0; seed < 50; seed++) {
        size_t n = parse_all(&c, data, sizeof data, out, seed);
        ck_assert_uint_eq(n, 8);
        ck_assert_uint_eq(out[1].kind, ETMV3_MALFORMED);
        ck_assert_uint_eq(out[2].kind, ETMV3_UNSYNCED);
        ck_assert_uint_eq(out[3].kind, ETMV3_ASYNC);
        ck_assert_uint_eq(out[4].kind, ETMV3_TRIGGER);
        ck_assert_uint_eq(out[5].kind, ETMV3_IGNORE);
        ck_assert_uint_eq(out[7].kind, ETMV3_TRIGGER);
    }
}
END_TEST

/* 0x01 and zeros are the end of a capture; if an A-sync ends them it is a branch. */
START_TEST(end_of_a_capture)
{
    static const uint8_t data[] = {0, 0, 0, 0, 0, 0x80, 0x08, 0x21, 0, 0x80, 0, 0,   0x84,
                                   1, 0, 0, 0, 0, 0,    0,    0,    0, 0,    0, 0x80};
    struct etmv3_config c = configured(0, 5, _i);
    struct etmv3_packet out[64];
    for (uint32_t seed = 0; seed < 50; seed++) {
        size_t n = parse_all(&c, data, sizeof data - 1, out, seed);
        ck_assert_uint_eq(n, 4);
        ck_assert_uint_eq(out[2].kind, ETMV3_ATOM);
        ck_assert_uint_eq(out[3].kind, ETMV3_END);
        ck_assert_uint_eq(out[3].value, 11);
        n = parse_all(&c, data, sizeof data, out, seed);
        ck_assert_uint_eq(n, 5);
        ck_assert_uint_eq(out[3].kind, ETMV3_BRANCH);
        ck_assert_uint_eq(out[3].size, 1);
        ck_assert_uint_eq(out[4].kind, ETMV3_ASYNC);
    }
}
END_TEST

START_TEST(lost_bytes_forget_everything)
{
    static const uint8_t data[] = {0, 0,    0, 0, 0,    0x80, 0x08, 0x21,
                                   0, 0x80, 0, 0, 0x84, 0x08, 0x21};
    struct etmv3_config c = configured(0, 5, false);
    struct etmv3_packet out[16];
    struct etmv3 p;
    size_t count;
    etmv3_init(&p, &c);
    etmv3_parse(&p, data, sizeof data, out, 16, &count);
    ck_assert_uint_eq(count, 3);
    etmv3_discontinuity(&p);
    ck_assert_uint_eq(p.scan.offset, sizeof data);
    ck_assert(!p.scan.synced && !p.base.known);
    etmv3_parse(&p, data, sizeof data, out, 16, &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_uint_eq(out[0].kind, ETMV3_ASYNC);
    ck_assert_uint_eq(out[0].offset, sizeof data);
    ck_assert_uint_eq(etmv3_finish(&p, out), 1);
    ck_assert_uint_eq(out[0].kind, ETMV3_INCOMPLETE);
    ck_assert_uint_eq(out[0].value, 2);
}
END_TEST

START_TEST(registers)
{
    struct etmv3_config c;
    ck_assert_int_eq(etmv3_config_from_regs(&c, 0, 0x411cf312, 0, 0), BT_ERR_INVAL); /* a PTM */
    ck_assert_int_eq(etmv3_config_from_regs(&c, 0, 0x41000100, 0, 0), BT_ERR_INVAL); /* ETMv2 */
    ck_assert_int_eq(etmv3_config_from_regs(&c, 0x10001860, 0x410cf250, 0x344008f2, 0x90), 0);
    ck_assert(c.cycle_accurate && c.timestamp64 && !c.timestamp_gray && c.virtualization);
    ck_assert(!c.alternative && !c.t32_split && !c.data_value && !c.data_address && !c.data_only);
    ck_assert_uint_eq(c.trace_id, 0x10);
    ck_assert_uint_eq(c.version_minor, 5);
    ck_assert_int_eq(etmv3_config_from_regs(&c, 0x980, 0x4114f242, 0x18541800, 2), 0);
    ck_assert(c.alternative && !c.virtualization);
    /* Bits that older versions do not have. */
    ck_assert_int_eq(etmv3_config_from_regs(&c, 0x10000c, 0x4114f200, 0xffffffff, 2), 0);
    ck_assert(!c.alternative && !c.data_only && !c.timestamp64 && c.data_value && c.data_address);
    for (unsigned code = 0; code < 4; code++) {
        static const uint8_t bytes[4] = {0, 1, 2, 4};
        c = configured(code << 14, 5, false);
        ck_assert_uint_eq(c.context_bytes, bytes[code]);
    }
}
END_TEST

START_TEST(gray_code)
{
    struct etmv3_config c = {.timestamp_gray = true};
    for (uint64_t i = 0; i < 100000; i++)
        ck_assert_uint_eq(packet_time(i ^ i >> 1, c.timestamp_gray), i);
    ck_assert_uint_eq(packet_time(0x800000000000, c.timestamp_gray), 0xffffffffffff);
    c.timestamp_gray = false;
    ck_assert_uint_eq(packet_time(0x800000000000, c.timestamp_gray), 0x800000000000);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("etmv3");
    unit_case(s, "etmv3: P-headers, counted", p_headers_are_counted);
    unit_case(s, "etmv3: headers below 0x80", headers_below_0x80);
    unit_cases(s, "etmv3: branch addresses, both encodings", branch_addresses, 0, 2);
    unit_cases(s, "etmv3: cuts change no packet", cuts_change_nothing, 0, 60);
    unit_case(s, "etmv3: an A-sync inside a bad packet", a_sync_inside_a_bad_packet);
    unit_cases(s, "etmv3: the end of a capture", end_of_a_capture, 0, 2);
    unit_case(s, "etmv3: lost bytes forget everything", lost_bytes_forget_everything);
    unit_case(s, "etmv3: registers", registers);
    unit_case(s, "etmv3: Gray code", gray_code);
    return s;
}
