/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the ETMv4 parser share. Packets that are frequent are taken apart without a
 * loop or a look at how many bytes are left: most of what they are is in tables. Private to
 * decoder/etmv4; IHI 0064H.b chapter 6.
 */
#ifndef DECODER_ETMV4_INTERNAL_H
#define DECODER_ETMV4_INTERNAL_H

#include "decoder/etmv4/etmv4.h"

#include <string.h>

/* IHI 0064H.b chapter 6: an address, into the registers. */
static inline void etmv4_push_address(struct etmv4_address last[3], uint64_t value, uint8_t isa_bit)
{
    last[2] = last[1];
    last[1] = last[0];
    last[0] = (struct etmv4_address){value, isa_bit};
}

/*
 * Seven bits a byte, the least significant first, at most `max` bytes; the last of `full` bytes
 * has eight bits and always ends it (0: none). 1, or what etmv4_parse_packet() returns.
 */
static inline int etmv4_varint(struct packet_cursor *c, unsigned max, unsigned full,
                               uint64_t *value, unsigned *bits)
{
    *value = 0;
    for (unsigned i = 0; i < max; i++) {
        if (!packet_has(c, 1))
            return PACKET_NEED_MORE;
        uint8_t byte = *c->p++;
        if (i + 1 == full) {
            *value |= (uint64_t)byte << 7 * i;
            *bits = 64;
            return 1;
        }
        *value |= (uint64_t)(byte & 0x7f) << 7 * i;
        *bits = 7 * (i + 1);
        if (!(byte & 0x80))
            return 1;
    }
    return PACKET_BAD;
}

static inline int etmv4_number32(struct packet_cursor *c, unsigned max, uint32_t *number)
{
    uint64_t value;
    unsigned bits;
    int result = etmv4_varint(c, max, 0, &value, &bits);
    *number = (uint32_t)value;
    return result;
}

/* IHI 0064H.b chapter 6: commits only where the unit's cycle counts carry them. */
static inline void etmv4_set_count(const struct etmv4 *p, struct etmv4_packet *k, uint32_t commit,
                                   uint32_t count)
{
    k->kind = ETMV4_CYCLES;
    k->flags |= ETMV4_COUNTED;
    k->cycles = count + p->threshold;
    if (!p->config.counts_commit)
        return;
    k->commit = commit;
    k->flags |= ETMV4_COMMITS;
}

#define ETMV4_HDR_SHORT 0x95 /* the next one: with IS */
#define ETMV4_HDR_ATOM  0xc0 /* this one and all above */

/* How a header is taken apart that is no atom's. */
enum etmv4_class {
    ETMV4_OTHER, /* not here */
    ETMV4_PLACE, /* an address */
    ETMV4_PLACE_WHO,
    ETMV4_WHO,     /* a context */
    ETMV4_NUMBER,  /* commits, cancels */
    ETMV4_TURN,    /* mispredicts of one byte */
    ETMV4_ENTRY,   /* an exception */
    ETMV4_LEAVE,   /* an exception return */
    ETMV4_COUNT_1, /* cycles */
    ETMV4_COUNT_2,
    ETMV4_COUNT_3,
};

/* An address that is not short is a shift and masks away from its bytes. */
struct etmv4_form {
    uint64_t mask;   /* bits of the address that it brings */
    uint16_t second; /* bits of its second byte that it uses, where they are */
    uint8_t class;   /* enum etmv4_class */
    uint8_t shift;   /* of its first byte */
    uint8_t isa_bit;
    uint8_t which; /* register that the other bits are of */
    uint8_t exact; /* 1: IS is that of the register, too */
};
extern const struct etmv4_form etmv4_forms[ETMV4_HDR_ATOM];

/* Packets as far as their headers tell; kind 0 and n 0: others. */
extern const struct etmv4_packet etmv4_packets[256];

/* IHI 0064H.b chapter 6: the address whose payload is at `at`, 8 bytes being there. Nothing depends
 * on its form but data: which one comes cannot be predicted. */
static inline void etmv4_take_place(const struct etmv4_form *form, struct etmv4_address last[3],
                                    const uint8_t *at, struct etmv4_packet *k)
{
    uint64_t w = bytes_double(at);
    const struct etmv4_address *base = &last[form->which];
    uint64_t bits = (w & 0x7f) << form->shift | (w & form->second) << (form->shift - 1) |
                    (w & ~(uint64_t)0xffff);
    k->value = (base->value & ~form->mask) | (bits & form->mask);
    k->isa_bit = form->isa_bit | (base->isa_bit & form->exact);
    etmv4_push_address(last, k->value, k->isa_bit);
}

/* The same of a short one, which most are where the code is small: these can be predicted. */
static inline unsigned etmv4_take_short(unsigned isa_bit, struct etmv4_address last[3],
                                        const uint8_t *at, struct etmv4_packet *k)
{
    unsigned shift = 2 - isa_bit, more = at[1] >> 7;
    uint64_t mask = ((uint64_t)1 << (7 + shift)) - 1, value = (at[1] & 0x7fu) << shift;
    if (more) {
        mask = ((uint64_t)1 << (15 + shift)) - 1;
        value |= (uint64_t)at[2] << (7 + shift);
    }
    k->value = (last[0].value & ~mask) | value;
    k->isa_bit = (uint8_t)isa_bit;
    k->size = (uint16_t)(2 + more);
    etmv4_push_address(last, k->value, k->isa_bit);
    return 2 + more;
}

/*
 * Frequent packets from a header on, while there are bytes enough for any, up to out[max - 1]. Adds
 * to *count; returns bytes consumed.
 */
size_t etmv4_parse_frequent(struct etmv4 *p, const uint8_t *data, size_t len,
                            struct etmv4_packet *out, size_t max, size_t *count);

#define ETMV4_INFO_MORE (ETMV4_INFO_VMID | ETMV4_INFO_CONTEXT)

/* Exceptions (IHI 0064H.b chapter 6), but for what only ETE has. */
static inline unsigned etmv4_take_entry(const uint8_t *at, struct etmv4_packet *k)
{
    unsigned b1 = at[1], two = b1 >> 7, b2 = at[2] & (0u - two);
    k->n = (uint8_t)((b1 >> 5 & 2) | (b1 & 1));
    k->number = (uint16_t)((b1 >> 1 & 0x1f) | (b2 & 0x1f) << 5);
    k->flags = b2 & 0x20 ? ETMV4_PENDING : 0;
    k->size = (uint16_t)(2 + two);
    return k->n == ETMV4_RETURN || k->n == ETMV4_TARGET ? k->size : 0;
}

/* Cycle counts (IHI 0064H.b chapter 6), format 1: a commit below 128 and a count below 16384. */
static inline unsigned etmv4_take_count1(const struct etmv4 *p, const uint8_t *at,
                                         struct etmv4_packet *k)
{
    unsigned size = 1u + p->config.counts_commit;
    uint32_t commit = at[1], low = at[size], high = at[size + 1];
    if ((p->config.counts_commit && commit > 0x7f) || (low & high & 0x80))
        return 0;
    unsigned more = low >> 7;
    etmv4_set_count(p, k, commit, (low & 0x7f) | (high & (0u - more)) << 7);
    k->size = (uint16_t)(size + 1 + more);
    return k->size;
}

/* Format 2. */
static inline unsigned etmv4_take_count2(const struct etmv4 *p, const uint8_t *at,
                                         struct etmv4_packet *k)
{
    uint32_t a = at[1] >> 4, b = at[1] & 0xf, max = p->config.max_speculated;
    if ((at[0] & 1) && max + a < 15)
        return 0;
    etmv4_set_count(p, k, at[0] & 1 ? max + a - 15 : a + 1, b);
    return 2;
}

/*
 * The packet at `at`, where PACKET_CARRY bytes are there; it begins at `offset` of the stream.
 * Returns its size; 0: it is none of these, or one that is rare,
 * and only *k has changed. */
static inline unsigned etmv4_take_frequent(const struct etmv4 *p, struct etmv4_address last[3],
                                           const uint8_t *at, uint64_t offset,
                                           struct etmv4_packet *k)
{
    unsigned h = *at;
    *k = etmv4_packets[h];
    k->offset = offset;
    if (h >= ETMV4_HDR_ATOM)
        return 1;
    if (h - ETMV4_HDR_SHORT < 2)
        return etmv4_take_short(h - ETMV4_HDR_SHORT, last, at, k);
    const struct etmv4_form *form = &etmv4_forms[h];
    unsigned size = etmv4_packets[h].size;
    switch ((enum etmv4_class)form->class) {
    case ETMV4_PLACE:
        etmv4_take_place(form, last, at + 1, k);
        return size;
    case ETMV4_PLACE_WHO:
        k->info = at[size - 1];
        if ((k->info & ETMV4_INFO_MORE) || p->numbers_due)
            return 0;
        etmv4_take_place(form, last, at + 1, k);
        return size;
    case ETMV4_WHO:
        k->info = at[1];
        return (k->info & ETMV4_INFO_MORE) || p->numbers_due ? 0 : 2;
    case ETMV4_NUMBER:
        k->commit = at[1];
        return at[1] & 0x80 ? 0 : 2;
    case ETMV4_TURN:
        return 1;
    case ETMV4_ENTRY:
        return p->config.ete ? 0 : etmv4_take_entry(at, k);
    case ETMV4_LEAVE:
        return p->config.ete ? 0 : 1;
    case ETMV4_COUNT_1:
        return etmv4_take_count1(p, at, k);
    case ETMV4_COUNT_2:
        return etmv4_take_count2(p, at, k);
    case ETMV4_COUNT_3:
        etmv4_set_count(p, k, (h >> 2 & 3) + 1, h & 3);
        return 1;
    case ETMV4_OTHER:
        break;
    }
    return 0;
}

#endif
