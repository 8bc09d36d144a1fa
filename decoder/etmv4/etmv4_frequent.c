/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4: what the header alone says of a packet (IHI 0064H.b chapter 6). */
#include "etmv4_internal.h"

#define PACKET(h, k, bytes, ...) [h] = {.kind = (k), .header = (h), .size = (bytes), __VA_ARGS__}
#define ATOMS(h, atoms, count)   PACKET(h, ETMV4_ATOM, 1, .value = (atoms), .n = (count))
#define E_RUN(h)                 ATOMS(h, (1u << (((h)&0x1f) + 4)) - 1, ((h)&0x1f) + 4)
#define N_RUN(h)                 ATOMS(h, (1u << (((h)&0x1f) + 3)) - 1, ((h)&0x1f) + 4)
#define FOUR(f, h)               f(h), f((h) + 1), f((h) + 2), f((h) + 3)
#define RUNS(f, h)                                                                                 \
    FOUR(f, h), FOUR(f, (h) + 4), FOUR(f, (h) + 8), FOUR(f, (h) + 12), FOUR(f, (h) + 16),          \
        f((h) + 20)
#define THREE(h) ATOMS(h, (h)&7, 3)
#define TURN(h, k, atoms, count, cancelled)                                                        \
    PACKET(h, k, 1, .flags = ETMV4_MISPREDICTS, .value = (atoms), .n = (count),                    \
           .commit = (cancelled))
#define COUNT(h)               PACKET(h, ETMV4_CYCLES, 1)
#define ADDRESS(h, bytes)      PACKET(h, ETMV4_ADDRESS, bytes)
#define WITH_CONTEXT(h, bytes) PACKET(h, ETMV4_ADDRESS, bytes, .flags = ETMV4_HAS_CONTEXT)
#define CANCEL_MORE(h, n)      TURN(h, ETMV4_CANCEL, 0, 0, n), TURN((h) + 1, ETMV4_CANCEL, 1, 1, n)

const struct etmv4_packet etmv4_packets[256] = {
    PACKET(0x06, ETMV4_EXCEPTION, 2),
    PACKET(0x07, ETMV4_EXC_RETURN, 1),
    PACKET(0x0c, ETMV4_CYCLES, 2),
    PACKET(0x0d, ETMV4_CYCLES, 2),
    PACKET(0x0e, ETMV4_CYCLES, 3),
    FOUR(COUNT, 0x10),
    FOUR(COUNT, 0x14),
    FOUR(COUNT, 0x18),
    FOUR(COUNT, 0x1c),
    PACKET(0x2d, ETMV4_COMMIT, 2),
    PACKET(0x2e, ETMV4_CANCEL, 2),
    PACKET(0x2f, ETMV4_CANCEL, 2, .flags = ETMV4_MISPREDICTS),
    TURN(0x30, ETMV4_MISPREDICT, 0, 0, 1),
    TURN(0x31, ETMV4_MISPREDICT, 1, 1, 1),
    TURN(0x32, ETMV4_MISPREDICT, 3, 2, 1),
    TURN(0x33, ETMV4_MISPREDICT, 0, 1, 1),
    TURN(0x34, ETMV4_CANCEL, 0, 0, 1),
    TURN(0x35, ETMV4_CANCEL, 1, 1, 1),
    TURN(0x36, ETMV4_CANCEL, 3, 2, 1),
    TURN(0x37, ETMV4_CANCEL, 0, 1, 1),
    CANCEL_MORE(0x38, 2),
    CANCEL_MORE(0x3a, 3),
    CANCEL_MORE(0x3c, 4),
    CANCEL_MORE(0x3e, 5),
    PACKET(0x81, ETMV4_CONTEXT, 2, .flags = ETMV4_HAS_CONTEXT),
    WITH_CONTEXT(0x82, 6),
    WITH_CONTEXT(0x83, 6),
    WITH_CONTEXT(0x85, 10),
    WITH_CONTEXT(0x86, 10),
    ADDRESS(0x90, 1),
    ADDRESS(0x91, 1),
    ADDRESS(0x92, 1),
    ADDRESS(0x95, 2),
    ADDRESS(0x96, 2),
    ADDRESS(0x9a, 5),
    ADDRESS(0x9b, 5),
    ADDRESS(0x9d, 9),
    ADDRESS(0x9e, 9),
    RUNS(E_RUN, 0xc0),
    ATOMS(0xd5, 0x00, 5), /* NNNNN */
    ATOMS(0xd6, 0x0a, 5), /* NENEN */
    ATOMS(0xd7, 0x15, 5), /* ENENE */
    ATOMS(0xd8, 0, 2),
    ATOMS(0xd9, 1, 2),
    ATOMS(0xda, 2, 2),
    ATOMS(0xdb, 3, 2),
    ATOMS(0xdc, 0xe, 4), /* NEEE */
    ATOMS(0xdd, 0x0, 4), /* NNNN */
    ATOMS(0xde, 0xa, 4), /* NENE */
    ATOMS(0xdf, 0x5, 4), /* ENEN */
    RUNS(N_RUN, 0xe0),
    ATOMS(0xf5, 0x1e, 5), /* NEEEE */
    ATOMS(0xf6, 0, 1),
    ATOMS(0xf7, 1, 1),
    FOUR(THREE, 0xf8),
    FOUR(THREE, 0xfc),
};

/* Addresses. */

#define EXACT(h, register) [h] = {.class = ETMV4_PLACE, .shift = 1, .which = (register), .exact = 1}
#define FORM(h, c, is, bits)                                                                       \
    [h] = {.class = (c),                                                                           \
           .shift = 2 - (is),                                                                      \
           .isa_bit = (is),                                                                        \
           .second = (is) ? 0xff00 : 0x7f00,                                                       \
           .mask = (bits)}
#define CLASS(h, c) [h] = {.class = (c)}
#define COUNTS(h)   CLASS(h, ETMV4_COUNT_3)
#define TURNS(h)    CLASS(h, ETMV4_TURN)

const struct etmv4_form etmv4_forms[ETMV4_HDR_ATOM] = {
    CLASS(0x06, ETMV4_ENTRY),
    CLASS(0x07, ETMV4_LEAVE),
    CLASS(0x0c, ETMV4_COUNT_2),
    CLASS(0x0d, ETMV4_COUNT_2),
    CLASS(0x0e, ETMV4_COUNT_1),
    FOUR(COUNTS, 0x10),
    FOUR(COUNTS, 0x14),
    FOUR(COUNTS, 0x18),
    FOUR(COUNTS, 0x1c),
    CLASS(0x2d, ETMV4_NUMBER),
    CLASS(0x2e, ETMV4_NUMBER),
    CLASS(0x2f, ETMV4_NUMBER),
    FOUR(TURNS, 0x30),
    FOUR(TURNS, 0x34),
    FOUR(TURNS, 0x38),
    FOUR(TURNS, 0x3c),
    CLASS(0x81, ETMV4_WHO),
    FORM(0x82, ETMV4_PLACE_WHO, 0, UINT32_MAX),
    FORM(0x83, ETMV4_PLACE_WHO, 1, UINT32_MAX),
    FORM(0x85, ETMV4_PLACE_WHO, 0, UINT64_MAX),
    FORM(0x86, ETMV4_PLACE_WHO, 1, UINT64_MAX),
    EXACT(0x90, 0),
    EXACT(0x91, 1),
    EXACT(0x92, 2),
    FORM(0x9a, ETMV4_PLACE, 0, UINT32_MAX),
    FORM(0x9b, ETMV4_PLACE, 1, UINT32_MAX),
    FORM(0x9d, ETMV4_PLACE, 0, UINT64_MAX),
    FORM(0x9e, ETMV4_PLACE, 1, UINT64_MAX),
};

/* The loop that most bytes of packets go through: apart from the others, for its registers. */

size_t etmv4_parse_frequent(struct etmv4 *p, const uint8_t *data, size_t len,
                            struct etmv4_packet *out, size_t max, size_t *count)
{
    const uint8_t *at = data, *end = data + len;
    struct etmv4_packet *k = out + *count, *limit = out + max;
    uint64_t base = p->scan.offset - (uintptr_t)data;
    struct etmv4_address last[3] = {p->last[0], p->last[1], p->last[2]};
    for (; k < limit && end - at >= PACKET_CARRY; k++) {
        unsigned size = etmv4_take_frequent(p, last, at, base + (uintptr_t)at, k);
        if (!size)
            break;
        at += size;
    }
    memcpy(p->last, last, sizeof last);
    p->scan.offset += (size_t)(at - data);
    *count = (size_t)(k - out);
    return (size_t)(at - data);
}
