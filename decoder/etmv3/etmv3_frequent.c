/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv3_internal.h"

#include <string.h>

/* The loop that most bytes of packets go through: apart from the others, for its registers. */

#define AT_HAND     8u /* bytes that a branch is read with */
#define ANY_ADDRESS 4u /* a fifth byte: the whole address, and the instruction set */
#define MORE        0x80u
#define INFO_NS     0x01u
#define INFO_CANCEL 0x20u
#define INFO_ALT    0x40u

/* What branches are relative to, and how the usual ones are written. */
struct usual {
    uint32_t address;
    uint8_t shift;           /* bits that addresses leave out */
    uint8_t set_mask, set;   /* of a fifth byte that keeps the instruction set */
    uint8_t info_mask, info; /* of an information byte that keeps the state, and is the last */
    uint8_t state;           /* of packets */
    uint16_t partial;
};

static struct usual etmv3_frequent_usual(const struct etmv3 *p)
{
    static const uint8_t shifts[] = {[BT_ISA_A32] = 2, [BT_ISA_T32] = 1, [BT_ISA_JAZELLE] = 0};
    static const uint8_t masks[] = {
        [BT_ISA_A32] = 0x38, [BT_ISA_T32] = 0x30, [BT_ISA_JAZELLE] = 0x20};
    static const uint8_t sets[] = {
        [BT_ISA_A32] = 0x08, [BT_ISA_T32] = 0x10, [BT_ISA_JAZELLE] = 0x20};
    uint8_t alt = p->config.version_minor >= 3 ? INFO_ALT : 0;
    return (struct usual){.address = p->base.address,
                          .shift = shifts[p->base.isa],
                          .set_mask = masks[p->base.isa],
                          .set = sets[p->base.isa],
                          .info_mask = MORE | INFO_NS | alt,
                          .info = (p->base.ns ? INFO_NS : 0) | (p->base.alt_isa ? alt : 0),
                          .state = etmv3_state(p, &p->base),
                          .partial = p->base.known ? 0 : ETMV3_PARTIAL};
}

/*
 * A branch of any length, with or without a byte of exception information, that changes no state.
 * Takes no branches that depend on which it is: nobody could predict them. 0: it is another one,
 * or none.
 */
static inline __attribute__((always_inline)) unsigned
usual_branch(struct usual *u, bool alternative, const uint8_t *at, uint64_t offset,
             struct etmv3_packet *k)
{
    uint64_t w = bytes_double(at),
             stop = ~w & UINT64_C(0x8080808080); /* the lowest: in the last byte */
    if ((w & 0xffff) == 0x0001u || !stop)        /* 01 00: the end of the capture? */
        return 0;
    unsigned place = (unsigned)__builtin_ctzll(stop) / 8, whole = place == ANY_ADDRESS;
    unsigned fifth = (unsigned)(w >> 32) & 0xff, info = (unsigned)(w >> 40) & 0xff;
    unsigned has = whole & fifth >> 6, shorter = 0;
    if (alternative) { /* others than the first byte may announce information, and lack a bit */
        info = (unsigned)(w >> 8 * (place + 1)) & 0xff;
        has = place ? w >> (8 * place + 6) & 1 : 0;
        shorter = place && !whole;
    }
    if ((whole && ((fifth ^ u->set) & u->set_mask)) || (has && ((info ^ u->info) & u->info_mask)))
        return 0;
    uint64_t mask = (UINT64_C(1) << (6 + 7 * place - shorter + u->shift)) - 1;
    uint32_t bits = etmv3_address_bits((uint32_t)w) | (uint32_t)(w >> 32) << 27;
    u->address = (u->address & (uint32_t)~mask) | (bits << u->shift & (uint32_t)mask);
    unsigned size = place + 1 + has;
    unsigned cancel = has && info & INFO_CANCEL ? ETMV3_CANCEL : 0;
    *k = (struct etmv3_packet){
        .offset = offset,
        .value = u->address,
        .size = (uint16_t)size,
        .number = has ? info >> 1 & 0xf : 0,
        .flags = (uint16_t)((whole ? 0 : u->partial) | (has ? ETMV3_HAS_INFO : 0) | cancel),
        .kind = ETMV3_BRANCH,
        .isa_state = u->state};
    return size;
}

/* Others are rarer: away from the loop, but without leaving it. */
static __attribute__((noinline)) size_t unusual_branch(struct etmv3 *p, struct usual *u,
                                                       const uint8_t *at, const uint8_t *end,
                                                       uint64_t offset, struct etmv3_packet *k)
{
    p->base.address = u->address;
    memset(k, 0, sizeof *k);
    k->offset = offset;
    size_t size = etmv3_exception_packet(p, at, end, k);
    *u = etmv3_frequent_usual(p);
    return size;
}

static inline __attribute__((always_inline)) size_t parse(struct etmv3 *p, bool alternative,
                                                          const uint8_t *data, size_t len,
                                                          struct etmv3_packet *out, size_t max,
                                                          size_t *count)
{
    const struct etmv3_single *singles =
        p->config.cycle_accurate ? etmv3_cycle_singles : etmv3_plain_singles;
    const uint8_t *at = data, *end = data + len;
    const struct etmv3_packet *last = out + max;
    uint8_t version = (uint8_t)(1u << p->config.version_minor);
    uint64_t base = p->scan.offset - (uintptr_t)at;
    struct usual u = etmv3_frequent_usual(p);
    struct etmv3_packet *k = out;
    for (; at < end && k < last; k++) {
        uint64_t offset = base + (uintptr_t)at;
        size_t size = 0;
        if (!(*at & 1)) {
            const struct etmv3_single *s = &singles[*at / 2];
            if (!(s->versions & version))
                break;
            *k = s->packet;
            k->offset = offset;
            at++;
            continue;
        }
        if ((size_t)(end - at) >= AT_HAND)
            size = usual_branch(&u, alternative, at, offset, k);
        if (size == 0) {
            struct usual now = u;
            size = unusual_branch(p, &now, at, end, offset, k);
            if (size == 0)
                break;
            u = now;
        }
        at += size;
    }
    p->base.address = u.address;
    p->scan.offset = base + (uintptr_t)at;
    *count += (size_t)(k - out);
    return (size_t)(at - data);
}

size_t etmv3_parse_frequent(struct etmv3 *p, const uint8_t *data, size_t len,
                            struct etmv3_packet *out, size_t max, size_t *count)
{
    return p->config.alternative ? parse(p, true, data, len, out, max, count)
                                 : parse(p, false, data, len, out, max, count);
}
