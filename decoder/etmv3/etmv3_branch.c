/* SPDX-License-Identifier: BSD-3-Clause */
/* Branch packets in both encodings and their exception information: IHI 0014Q 7.3. */
#include "etmv3_parse.h"

/* Address bytes of one packet. */
struct address {
    uint32_t value; /* before the shift of the instruction set; without those of the fifth byte */
    uint8_t bits;   /* in `value` */
    uint8_t bytes;
    uint8_t fifth;
    bool info;    /* exception information bytes follow */
    bool in_line; /* the fifth byte is the deprecated in-line exception */
};

struct info {
    uint16_t number;
    uint8_t byte0;
    uint8_t resume;
    bool has_byte1;
    bool hyp;
    bool has_resume;
};

/* IHI 0014Q 7.3, branch packets. A last byte in positions 1 to 3 has one bit less in the
 * alternative encoding. */
static bool address_bytes(bool alternative, struct cursor *c, struct address *a)
{
    uint8_t byte;
    if (!next_byte(c, &byte))
        return false;
    *a = (struct address){.value = byte >> 1 & 0x3f, .bits = 6, .bytes = 1};
    while ((byte & 0x80) && a->bytes < 5) {
        if (!next_byte(c, &byte))
            return false;
        a->bytes++;
        if (a->bytes == 5)
            break;
        bool short_byte = alternative && !(byte & 0x80);
        unsigned width = short_byte ? 6 : 7;
        a->value |= (uint32_t)(byte & ((1u << width) - 1)) << a->bits;
        a->bits = (uint8_t)(a->bits + width);
        a->info = short_byte && (byte & 0x40);
    }
    if (a->bytes == 5) {
        a->fifth = byte;
        a->in_line = byte & 0x80;
        a->info = !a->in_line && (byte & 0x40);
    }
    return true;
}

/* The same where five bytes are at hand: most exceptions have as many. */
static inline void address_at_hand(bool alternative, struct cursor *c, struct address *a)
{
    uint32_t w = etmv3_word(c->p), stop = ~w & 0x80808080u;
    if (stop) {
        unsigned place = (unsigned)__builtin_ctz(stop);
        bool short_byte = alternative && place > 7;
        a->bytes = (uint8_t)(place / 8 + 1);
        a->bits = (uint8_t)(7 * a->bytes - 1 - short_byte);
        a->value = etmv3_address_bits(w) & ((1u << a->bits) - 1);
        a->info = short_byte && (w >> (place - 1) & 1);
        a->in_line = false;
        a->fifth = 0;
    } else {
        a->bytes = 5;
        a->bits = 27;
        a->value = etmv3_address_bits(w);
        a->fifth = c->p[4];
        a->in_line = a->fifth & 0x80;
        a->info = (a->fifth & 0xc0) == 0x40;
    }
    c->p += a->bytes;
}

/* The original encoding (IHI 0014Q 7.3): what the fifth byte says; false for a reserved code. */
static inline bool fifth_byte(const struct address *a, struct etmv3_base *base)
{
    uint8_t byte = a->fifth;
    if (a->in_line || (byte & 0x38) == 0x08) {
        base->isa = BT_ISA_A32;
        base->address = a->value << 2 | (uint32_t)(byte & 7) << 29;
    } else if (byte & 0x20) {
        base->isa = BT_ISA_JAZELLE;
        base->address = a->value | (uint32_t)(byte & 0x1f) << 27;
    } else if (byte & 0x10) {
        base->isa = BT_ISA_T32;
        base->address = a->value << 1 | (uint32_t)(byte & 0xf) << 28;
    } else {
        return false;
    }
    return true;
}

/* IHI 0014Q 7.3, branch packets. */
static inline __attribute__((always_inline)) bool merge(const struct address *a,
                                                        struct etmv3_base *base)
{
    static const uint8_t shifts[] = {[BT_ISA_A32] = 2, [BT_ISA_T32] = 1, [BT_ISA_JAZELLE] = 0};
    if (a->bytes == 5)
        return fifth_byte(a, base);
    unsigned shift = shifts[base->isa];
    uint32_t mask = (1u << (a->bits + shift)) - 1;
    base->address = (base->address & ~mask) | a->value << shift;
    return true;
}

/* Exception information (IHI 0014Q 7.3): byte 0; byte 0 and 1; byte 0 and 2; all three. */
static inline int info_bytes(struct cursor *c, struct info *x)
{
    uint8_t byte;
    *x = (struct info){0};
    if (!next_byte(c, &byte))
        return NEED_MORE;
    x->byte0 = byte;
    x->number = byte >> 1 & 0xf;
    if (!(byte & 0x80))
        return PARSED;
    if (!next_byte(c, &byte))
        return NEED_MORE;
    if (!(byte & 0x40)) {
        x->has_byte1 = true;
        x->hyp = byte & 0x20;
        x->number |= (uint16_t)((byte & 0x1f) << 4);
        if (!(byte & 0x80))
            return PARSED;
        if (!next_byte(c, &byte))
            return NEED_MORE;
        if (!(byte & 0x40))
            return BAD;
    }
    if (byte & 0x80)
        return BAD;
    x->has_resume = true;
    x->resume = byte & 0xf;
    return PARSED;
}

/* IHI 0014Q 7.3: bytes that are missing leave what they would say as it was. */
static inline void apply_info(const struct etmv3 *p, const struct info *x, struct etmv3_base *base)
{
    base->ns = x->byte0 & 1;
    if (p->config.version_minor >= 3)
        base->alt_isa = x->byte0 & 0x40;
    if (x->has_byte1)
        base->hyp = x->hyp;
}

/* The codes within an address as the numbers of IHI 0014Q table 7-12. "Other" exceptions are told
 * apart by their vector. */
static uint16_t in_line_number(uint8_t fifth, uint32_t vector)
{
    static const uint8_t numbers[8] = {0, 14, 6, 7, 5, 15, 4, 1};
    static const uint8_t others[8] = {8, 9, 10, 11, 12, 13, 13, 13};
    unsigned code = fifth >> 3 & 7;
    return code ? numbers[code] : others[vector >> 2 & 7];
}

static inline __attribute__((always_inline)) int take_apart(const struct etmv3 *p, struct cursor *c,
                                                            struct address *a, struct info *x)
{
    if (c->end - c->p >= 5)
        address_at_hand(p->config.alternative, c, a);
    else if (!address_bytes(p->config.alternative, c, a))
        return NEED_MORE;
    if (a->in_line && p->config.alternative)
        return BAD;
    *x = (struct info){0};
    return a->info ? info_bytes(c, x) : PARSED;
}

int etmv3_parse_branch(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k)
{
    struct address a;
    struct info x;
    struct etmv3_base base = p->base;
    int result = take_apart(p, c, &a, &x);
    if (result != PARSED)
        return result;
    if (!merge(&a, &base))
        return BAD;
    k->kind = ETMV3_BRANCH;
    if (a.info) {
        apply_info(p, &x, &base);
        k->flags |= ETMV3_HAS_INFO | (x.byte0 & 0x20 ? ETMV3_CANCEL : 0) |
                    (x.has_resume ? ETMV3_RESUME : 0);
        k->number = p->config.m_profile ? x.number : x.number & 0xf;
        k->extra = x.resume;
    } else if (a.in_line) {
        k->flags |= ETMV3_INLINE | (a.fifth & 0x40 ? ETMV3_CANCEL : 0);
        k->number = in_line_number(a.fifth, base.address);
    }
    if (!base.known && a.bytes < 5)
        k->flags |= ETMV3_PARTIAL;
    p->base = base;
    k->value = base.address;
    k->isa_state = etmv3_state(p, &base);
    return PARSED;
}

int etmv3_parse_current(const struct etmv3 *p, struct cursor *c, struct etmv3_base *base)
{
    struct address a;
    struct info x;
    int result = take_apart(p, c, &a, &x);
    if (result != PARSED)
        return result;
    bool exception = a.in_line || x.number != 0 || (x.byte0 & 0x20);
    if (exception || !merge(&a, base))
        return BAD;
    if (a.info)
        apply_info(p, &x, base);
    return PARSED;
}
