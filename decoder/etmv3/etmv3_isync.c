/* SPDX-License-Identifier: BSD-3-Clause */
/* I-sync in its five forms, counts, context and time: IHI 0014Q 7.10.5, 7.7. */
#include "etmv3_parse.h"

#define INFO_LSIP 0x80
#define INFO_J    0x10
#define INFO_NS   0x08
#define INFO_ALT  0x04
#define INFO_HYP  0x02

/* A cycle count (IHI 0014Q table 7-1): five bytes at most; the fifth has four bits and always ends
 * the field. */
bool etmv3_parse_count(struct cursor *c, uint32_t *count)
{
    uint8_t byte = 0x80;
    *count = 0;
    for (unsigned i = 0; i < 5 && (byte & 0x80); i++) {
        if (!next_byte(c, &byte))
            return false;
        *count |= (uint32_t)(byte & 0x7f) << 7 * i;
    }
    return true;
}

static bool context_id(const struct etmv3 *p, struct cursor *c, struct etmv3_packet *k)
{
    if (!little_endian(c, p->config.context_bytes, &k->context))
        return false;
    if (p->config.context_bytes)
        k->flags |= ETMV3_HAS_CONTEXT;
    return true;
}

int etmv3_parse_context(const struct etmv3 *p, struct cursor *c, struct etmv3_packet *k)
{
    k->kind = ETMV3_CONTEXT;
    if (p->config.context_bytes == 0) /* never sent then */
        return BAD;
    return context_id(p, c, k) ? PARSED : NEED_MORE;
}

/*
 * IHI 0014Q 7.10.5. The reserved combinations are told; they are followed by nobody. Nor is a state
 * that an M-profile core does not have: it executes plain T32 alone,
 * so that the packet is damaged. */
static void set_base(const struct etmv3 *p, uint8_t info, uint32_t address, struct etmv3_base *b,
                     struct etmv3_packet *k)
{
    *b = (struct etmv3_base){.known = true, .ns = info & INFO_NS, .hyp = info & INFO_HYP};
    b->alt_isa = p->config.version_minor >= 3 && (info & INFO_ALT);
    bool thumb = !(info & INFO_J) && (address & 1);
    if ((b->alt_isa && !thumb) || (p->config.m_profile && (b->alt_isa || !thumb))) {
        k->flags |= ETMV3_ODD_STATE;
        b->alt_isa = false;
    }
    if (info & INFO_J)
        b->isa = BT_ISA_JAZELLE;
    else
        b->isa = thumb ? BT_ISA_T32 : BT_ISA_A32;
    b->address = info & INFO_J ? address : thumb ? address & ~1u : address & ~3u;
}

static int data_only(const struct etmv3 *p, uint8_t info, struct etmv3_packet *k)
{
    struct etmv3_base base = {.ns = info & INFO_NS, .hyp = info & INFO_HYP};
    k->flags |= ETMV3_DATA_ONLY;
    k->isa_state = etmv3_state(p, &base);
    return PARSED;
}

int etmv3_parse_isync(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k, bool with_count)
{
    uint8_t info;
    uint32_t address;
    struct etmv3_base base;
    k->kind = ETMV3_ISYNC;
    if (with_count && !etmv3_parse_count(c, &k->cycles))
        return NEED_MORE;
    if (with_count)
        k->flags |= ETMV3_HAS_CYCLES;
    if (!context_id(p, c, k) || !next_byte(c, &info))
        return NEED_MORE;
    k->number = info >> 5 & 3;
    if (p->config.data_only)
        return with_count ? BAD : data_only(p, info, k);
    if (k->number == 0 && (with_count || (info & INFO_LSIP))) /* never periodic: IHI 0014Q 7.10.5 */
        return BAD;
    if (!little_endian(c, 4, &address))
        return NEED_MORE;
    set_base(p, info, address, &base, k);
    if (info & INFO_LSIP) {
        k->flags |= ETMV3_LSIP;
        k->address = base.address;
        k->extra = etmv3_state(p, &base);
        int result = etmv3_parse_current(p, c, &base);
        if (result != PARSED)
            return result;
    }
    p->base = base;
    k->value = base.address;
    k->isa_state = etmv3_state(p, &base);
    return PARSED;
}

/* IHI 0014Q 7.7: least significant group first; missing groups keep their old bits. */
int etmv3_parse_timestamp(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k, uint8_t header)
{
    unsigned last = p->config.timestamp64 ? 9 : 7;
    uint64_t value = 0;
    unsigned bits = 0;
    uint8_t byte = 0x80;
    for (unsigned n = 1; n < last && (byte & 0x80); n++, bits += 7) {
        if (!next_byte(c, &byte))
            return NEED_MORE;
        value |= (uint64_t)(byte & 0x7f) << bits;
    }
    if (byte & 0x80) { /* the last byte is all data */
        unsigned width = p->config.timestamp64 ? 8 : 6;
        if (!next_byte(c, &byte))
            return NEED_MORE;
        value |= (uint64_t)(byte & ((1u << width) - 1)) << bits;
        bits += width;
    }
    uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    p->ts_raw = (p->ts_raw & ~mask) | value;
    p->ts_valid |= bits == (p->config.timestamp64 ? 64 : 48);
    k->kind = ETMV3_TIMESTAMP;
    k->value = p->ts_raw;
    k->n = (uint8_t)bits;
    k->flags |= (p->ts_valid ? ETMV3_TS_VALID : 0) | (header & 4 ? ETMV3_TS_FREQ : 0);
    return PARSED;
}
