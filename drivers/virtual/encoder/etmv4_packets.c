/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv4_packets.h"

#include <string.h>

#define MORE 0x80

#define HEADER_TRACE_INFO      0x01
#define HEADER_TIMESTAMP       0x02
#define HEADER_EXCEPTION       0x06
#define HEADER_INSTRUMENTATION 0x09
#define HEADER_CYCLES_2        0x0c
#define HEADER_CYCLES_1        0x0e
#define HEADER_CYCLES_3        0x10
#define HEADER_CONTEXT         0x81
#define HEADER_WITH_CONTEXT_32 0x82
#define HEADER_WITH_CONTEXT_64 0x85
#define HEADER_SHORT           0x95
#define HEADER_LONG_32         0x9a
#define HEADER_LONG_64         0x9d
#define HEADER_SOURCE_SHORT    0xb4
#define HEADER_SOURCE_LONG_32  0xb6
#define HEADER_SOURCE_LONG_64  0xb8

#define ASYNC_ZEROS 11

#define INFO_SECTION  1u
#define SPEC_SECTION  4u
#define CYCT_SECTION  8u
#define CONTEXT_V     0x40u
#define CONTEXT_C     0x80u
#define EXCEPTION_C   0x80u
#define EXCEPTION_E1  0x40u
#define EXCEPTION_E0  0x01u
#define EXCEPTION_P   0x20u
#define TIME_BYTES    9
#define CYCLES_1_NONE 1u

unsigned etmv4_varint_bytes(uint64_t value, unsigned max)
{
    unsigned n = 1;

    while (n < max && value >> 7 * n)
        n++;
    return n;
}

size_t etmv4_put_varint(uint8_t *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)((value >> 7 * i & 0x7f) | (i + 1 < bytes ? MORE : 0));
    return bytes;
}

static size_t put_short_varint(uint8_t *p, uint64_t value)
{
    return etmv4_put_varint(p, value, etmv4_varint_bytes(value, 5));
}

static size_t etmv4_packets_put_bytes(uint8_t *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> 8 * i);
    return bytes;
}

size_t etmv4_put_async(uint8_t *p)
{
    memset(p, 0, ASYNC_ZEROS);
    p[ASYNC_ZEROS] = 0x80;
    return ASYNC_ZEROS + 1;
}

size_t etmv4_put_trace_info(uint8_t *p, const struct etmv4_info_fields *f)
{
    size_t n = 2;
    unsigned sections = 0;

    if (f->info || f->empty_section) {
        sections |= INFO_SECTION;
        n += put_short_varint(p + n, f->info);
    }
    if (f->speculation) {
        sections |= SPEC_SECTION;
        n += put_short_varint(p + n, f->speculation);
    }
    if (f->threshold) {
        sections |= CYCT_SECTION;
        n += put_short_varint(p + n, f->threshold);
    }
    p[0] = HEADER_TRACE_INFO;
    p[1] = (uint8_t)sections;
    return n;
}

size_t etmv4_put_timestamp(uint8_t *p, uint64_t time, unsigned bytes, int64_t count)
{
    size_t n = 1;

    p[0] = HEADER_TIMESTAMP | (count >= 0);
    for (unsigned i = 0; i < bytes; i++) {
        if (i == TIME_BYTES - 1)
            p[n++] = (uint8_t)(time >> 56); /* eight bits, and nothing behind */
        else
            p[n++] = (uint8_t)((time >> 7 * i & 0x7f) | (i + 1 < bytes ? MORE : 0));
    }
    if (count >= 0)
        n += etmv4_put_varint(p + n, (uint64_t)count, etmv4_varint_bytes((uint64_t)count, 3));
    return n;
}

uint64_t etmv4_address_kept(enum etmv4_reach reach, bool is1)
{
    static const uint8_t bits[2][ETMV4_REACHES] = {{9, 17, 32, 64}, {8, 16, 32, 64}};
    unsigned n = bits[is1][reach];

    return n == 64 ? 0 : UINT64_MAX << n;
}

/* Payload of the long forms: seven bits, seven (IS0) or eight (IS1), whole bytes. */
static size_t put_long(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach)
{
    unsigned bytes = reach == ETMV4_LONG_64 ? 8 : 4;

    p[0] = (uint8_t)(address >> (is1 ? 1 : 2) & 0x7f);
    p[1] = (uint8_t)(is1 ? address >> 8 & 0xff : address >> 9 & 0x7f);
    etmv4_packets_put_bytes(p + 2, address >> 16, bytes - 2);
    return bytes;
}

static size_t put_short(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach)
{
    p[0] = (uint8_t)(address >> (is1 ? 1 : 2) & 0x7f);
    if (reach == ETMV4_SHORT_1)
        return 1;
    p[0] |= MORE;
    p[1] = (uint8_t)(address >> (is1 ? 8 : 9));
    return 2;
}

static size_t put_any(uint8_t *p, const uint8_t headers[3], uint64_t address, bool is1,
                      enum etmv4_reach reach)
{
    if (reach <= ETMV4_SHORT_2) {
        p[0] = (uint8_t)(headers[0] + is1);
        return 1 + put_short(p + 1, address, is1, reach);
    }
    p[0] = (uint8_t)(headers[reach == ETMV4_LONG_32 ? 1 : 2] + is1);
    return 1 + put_long(p + 1, address, is1, reach);
}

size_t etmv4_put_address(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach)
{
    static const uint8_t headers[3] = {HEADER_SHORT, HEADER_LONG_32, HEADER_LONG_64};

    return put_any(p, headers, address, is1, reach);
}

size_t etmv4_put_source_address(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach)
{
    static const uint8_t headers[3] = {HEADER_SOURCE_SHORT, HEADER_SOURCE_LONG_32,
                                       HEADER_SOURCE_LONG_64};

    return put_any(p, headers, address, is1, reach);
}

static size_t put_context_payload(uint8_t *p, const struct etmv4_context_fields *f)
{
    size_t n = 1;

    p[0] = f->info;
    if (f->info & CONTEXT_V)
        n += etmv4_packets_put_bytes(p + n, f->vmid, f->vmid_bytes);
    if (f->info & CONTEXT_C)
        n += etmv4_packets_put_bytes(p + n, f->context_id, f->context_bytes);
    return n;
}

size_t etmv4_put_context(uint8_t *p, const struct etmv4_context_fields *f)
{
    p[0] = HEADER_CONTEXT;
    return 1 + put_context_payload(p + 1, f);
}

size_t etmv4_put_address_context(uint8_t *p, uint64_t address, bool is1, enum etmv4_reach reach,
                                 const struct etmv4_context_fields *f)
{
    p[0] =
        (uint8_t)((reach == ETMV4_LONG_32 ? HEADER_WITH_CONTEXT_32 : HEADER_WITH_CONTEXT_64) + is1);
    size_t n = 1 + put_long(p + 1, address, is1, reach);
    return n + put_context_payload(p + n, f);
}

size_t etmv4_put_exception(uint8_t *p, unsigned type, bool target, bool pending, bool long_form)
{
    bool second = type > 0x1f || pending || long_form;

    p[0] = HEADER_EXCEPTION;
    p[1] = (uint8_t)((type & 0x1f) << 1 | (target ? EXCEPTION_E1 : EXCEPTION_E0) |
                     (second ? EXCEPTION_C : 0));
    p[2] = (uint8_t)(type >> 5 | (pending ? EXCEPTION_P : 0));
    return second ? 3 : 2;
}

/* Formats 1 to 5 as patterns; all of one length stand together, longest first. */
static const struct {
    uint8_t length;
    uint8_t atoms; /* oldest in bit 0 */
    uint8_t header;
} patterns[] = {
    {5, 0x1e, 0xf5}, {5, 0x00, 0xd5}, {5, 0x0a, 0xd6}, {5, 0x15, 0xd7}, {4, 0x0e, 0xdc},
    {4, 0x00, 0xdd}, {4, 0x0a, 0xde}, {4, 0x05, 0xdf}, {3, 0, 0xf8},    {3, 1, 0xf9},
    {3, 2, 0xfa},    {3, 3, 0xfb},    {3, 4, 0xfc},    {3, 5, 0xfd},    {3, 6, 0xfe},
    {3, 7, 0xff},    {2, 0, 0xd8},    {2, 1, 0xd9},    {2, 2, 0xda},    {2, 3, 0xdb},
    {1, 0, 0xf6},    {1, 1, 0xf7},
};

#define FORMAT_6_LEAST 3 /* E atoms in front of the last one */
#define FORMAT_6_MOST  23
#define FORMAT_6_E     0xc0
#define FORMAT_6_N     0xe0

size_t etmv4_put_atoms(uint8_t *p, uint32_t atoms, unsigned count, unsigned *taken)
{
    unsigned run = 0, i = 0;

    while (run < count && atoms >> run & 1)
        run++;
    unsigned front = run < count ? run : run - 1; /* of the last atom in format 6 */
    if (run > 0 && front > FORMAT_6_MOST)
        front = FORMAT_6_MOST;
    bool ends_in_e = run > front;
    /* A longer pattern begins with fewer E than format 6 needs: they never compete. */
    if (run > 0 && front >= FORMAT_6_LEAST) {
        p[0] = (uint8_t)((ends_in_e ? FORMAT_6_E : FORMAT_6_N) + front - FORMAT_6_LEAST);
        *taken = front + 1;
        return 1;
    }
    while (patterns[i].length > count ||
           ((atoms ^ patterns[i].atoms) & ((1u << patterns[i].length) - 1)))
        i++;
    p[0] = patterns[i].header;
    *taken = patterns[i].length;
    return 1;
}

size_t etmv4_put_cycles_1(uint8_t *p, int64_t commit, int64_t value)
{
    size_t n = 1;

    p[0] = HEADER_CYCLES_1 | (value < 0 ? CYCLES_1_NONE : 0);
    if (commit >= 0)
        n += put_short_varint(p + n, (uint64_t)commit);
    if (value >= 0)
        n += etmv4_put_varint(p + n, (uint64_t)value, etmv4_varint_bytes((uint64_t)value, 3));
    return n;
}

size_t etmv4_put_cycles_2(uint8_t *p, bool f, unsigned a, unsigned b)
{
    p[0] = HEADER_CYCLES_2 | f;
    p[1] = (uint8_t)(a << 4 | b);
    return 2;
}

size_t etmv4_put_cycles_3(uint8_t *p, unsigned a, unsigned b)
{
    p[0] = (uint8_t)(HEADER_CYCLES_3 | a << 2 | b);
    return 1;
}

size_t etmv4_put_instrumentation(uint8_t *p, unsigned level, uint64_t value)
{
    p[0] = HEADER_INSTRUMENTATION;
    p[1] = (uint8_t)level;
    return 2 + etmv4_packets_put_bytes(p + 2, value, 8);
}
