/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of a group: IHI 0014Q 6.4, 6.5 and 6.7.1. */
#include "decoder/base/bytes.h"
#include "etmv2_internal.h"

#include <string.h>

#define HDR_NOT_TRACED 0x6a /* without the C bit */
#define HDR_CONTEXT    0x6e
#define MORE           0x80 /* C bit of a header, continue bit of an address */
#define FIFTH          28   /* bits that four address bytes hold */

/* Bytes of one packet while it is taken apart. */
struct cursor {
    const uint8_t *p;
    const uint8_t *end;
};

/*
 * Branch address compression (IHI 0014Q 6.7.1): the 33-bit value that is cut into bytes, and the
 * address and state that `n` bytes (1 to 5) give over the base. False: the fifth byte is reserved.
 */
static uint64_t etmv2_address_code(uint32_t address, enum bt_isa isa)
{
    uint64_t v = (uint64_t)1 << 32 | address;
    return (v >> (isa == BT_ISA_A32 ? 2 : 1)) << 1 | 1;
}

static bool etmv2_address(const uint8_t *bytes, unsigned n, uint32_t *base, uint8_t *isa,
                          bool *cancel)
{
    uint64_t v = etmv2_address_code(*base, (enum bt_isa) * isa);
    uint8_t state = *isa;
    bool e = false;
    for (unsigned i = 0; i < n && i < 4; i++)
        v = (v & ~((uint64_t)0x7f << 7 * i)) | (uint64_t)(bytes[i] & 0x7f) << 7 * i;
    if (n == 5) {
        uint8_t last = bytes[4];
        if ((last & 0xb8) == 0x08) {
            state = BT_ISA_A32;
            e = last & 0x40;
        } else if ((last & 0xf0) == 0x10) {
            state = BT_ISA_T32;
        } else {
            return false;
        }
        v = (v & (((uint64_t)1 << FIFTH) - 1)) | (uint64_t)(last & 0x1f) << FIFTH;
    }
    *base = (uint32_t)(v >> 1 << (state == BT_ISA_A32 ? 2 : 1));
    *isa = state;
    *cancel = e;
    return true;
}

/* Length of the address at the cursor, 1 to 5; 0: its end has not come. */
static unsigned address_length(const struct cursor *c)
{
    for (unsigned i = 0; i < 5 && c->p + i < c->end; i++)
        if (i == 4 || !(c->p[i] & MORE))
            return i + 1;
    return 0;
}

static enum etmv2_parsed etmv2_group_parse_branch(struct etmv2 *p, struct cursor *c,
                                                  struct etmv2_packet *k)
{
    unsigned n = address_length(c);
    bool cancel;
    if (n == 0)
        return ETMV2_NEED_MORE;
    if (!etmv2_address(c->p, n, &p->base, &p->base_isa, &cancel))
        return ETMV2_BAD;
    k->kind = ETMV2_BRANCH;
    k->value = p->base;
    k->isa = p->base_isa;
    k->n = (uint8_t)n;
    k->flags = cancel ? ETMV2_CANCEL : 0;
    return ETMV2_DONE;
}

/* IHI 0014Q 6.4.2: not shifted, with a base of its own. */
static enum etmv2_parsed etmv2_group_data_address(struct etmv2 *p, struct cursor *c,
                                                  struct etmv2_packet *k, uint32_t *base,
                                                  bool *known)
{
    *base = p->data_base;
    *known = p->data_known;
    if (!(k->flags & ETMV2_FIRST) || !p->config.data_address)
        return ETMV2_DONE;
    unsigned n = address_length(c);
    if (n == 0)
        return ETMV2_NEED_MORE;
    if (n == 5 && (c->p[4] & MORE))
        return ETMV2_BAD;
    for (unsigned i = 0; i < n; i++) {
        uint32_t mask = i == 4 ? 0xf : 0x7f;
        *base = (*base & ~(mask << 7 * i)) | (c->p[i] & mask) << 7 * i;
    }
    *known |= n == 5;
    k->address = *base;
    if (*known)
        k->flags |= ETMV2_HAS_ADDRESS;
    c->p += n;
    return ETMV2_DONE;
}

static enum etmv2_parsed etmv2_group_data_value(const struct etmv2 *p, struct cursor *c,
                                                unsigned size, struct etmv2_packet *k)
{
    static const uint8_t bytes[4] = {0, 1, 2, 4};
    unsigned n = bytes[size];
    if (!p->config.data_value)
        return ETMV2_DONE;
    if ((size_t)(c->end - c->p) < n)
        return ETMV2_NEED_MORE;
    for (unsigned i = 0; i < n; i++)
        k->value |= (uint64_t)*c->p++ << 8 * (p->config.big_endian ? n - 1 - i : i);
    k->flags |= ETMV2_HAS_VALUE;
    return ETMV2_DONE;
}

static enum etmv2_parsed parse_normal(struct etmv2 *p, struct cursor *c, struct etmv2_packet *k)
{
    uint8_t header = *c->p++;
    uint32_t base;
    bool known;
    k->kind = ETMV2_DATA;
    k->flags |= header & 0x20 ? ETMV2_FIRST : 0;
    enum etmv2_parsed result = etmv2_group_data_address(p, c, k, &base, &known);
    if (result == ETMV2_DONE)
        result = etmv2_group_data_value(p, c, header >> 2 & 3, k);
    if (result == ETMV2_DONE) {
        p->data_base = base;
        p->data_known = known;
    }
    return result;
}

/* IHI 0014Q 6.4, Load Miss. A miss without a tag cannot be found again. */
static enum etmv2_parsed parse_miss(struct etmv2 *p, struct cursor *c, struct etmv2_packet *k)
{
    uint8_t header = *c->p++;
    uint32_t base;
    bool known;
    k->kind = ETMV2_MISS;
    k->n = header >> 2 & 3;
    k->flags |= header & 0x20 ? ETMV2_FIRST : 0;
    if (k->n == 0)
        return ETMV2_BAD;
    enum etmv2_parsed result = etmv2_group_data_address(p, c, k, &base, &known);
    if (result == ETMV2_DONE) {
        p->data_base = base;
        p->data_known = known;
    }
    return result;
}

static enum etmv2_parsed etmv2_group_context_id(const struct etmv2 *p, struct cursor *c,
                                                struct etmv2_packet *k)
{
    unsigned n = p->config.context_bytes;
    if ((size_t)(c->end - c->p) < n)
        return ETMV2_NEED_MORE;
    for (unsigned i = 0; i < n; i++)
        k->context |= (uint32_t)*c->p++ << 8 * i;
    if (n)
        k->flags |= ETMV2_HAS_CONTEXT;
    return ETMV2_DONE;
}

static enum etmv2_parsed parse_headed(struct etmv2 *p, struct cursor *c, struct etmv2_packet *k)
{
    uint8_t header = *c->p;
    k->flags = header & MORE ? ETMV2_MORE : 0;
    if ((header & 3) == 2 && (header & 0x50) == 0)
        return parse_normal(p, c, k);
    if ((header & 0x7f) == HDR_NOT_TRACED) {
        k->kind = ETMV2_NOT_TRACED;
        return ETMV2_DONE;
    }
    if ((header & 0x7f) == HDR_CONTEXT) {
        c->p++;
        k->kind = ETMV2_CONTEXT;
        return etmv2_group_context_id(p, c, k);
    }
    if ((header & 3) == 0 && (header & 0x10) == 0) {
        c->p++;
        k->kind = ETMV2_MISS_DATA;
        k->n = header >> 5 & 3;
        if (k->n == 0 && p->config.no_tag_reserved)
            return ETMV2_BAD;
        return etmv2_group_data_value(p, c, header >> 2 & 3, k);
    }
    if ((header & 3) == 0 && (header & 0x50) == 0x50)
        return parse_miss(p, c, k);
    return ETMV2_BAD;
}

bool etmv2_read_tfo_header(const struct etmv2_config *config, uint8_t byte,
                           struct etmv2_tfo_header *header)
{
    unsigned lsip = config->tfo_header >> 4, reason = config->tfo_header & 0xf;
    *header = (struct etmv2_tfo_header){byte >> reason & 3, byte >> lsip & 1};
    bool periodic_lsip = header->lsip && header->reason == 0;
    return (byte & ~(1u << lsip | 3u << reason)) == 0 && !periodic_lsip;
}

/* IHI 0014Q 6.5.4. */
static enum etmv2_parsed parse_tfo(struct etmv2 *p, struct cursor *c, struct etmv2_packet *k)
{
    struct etmv2_tfo_header header;
    bool cancel;
    if (!etmv2_read_tfo_header(&p->config, *c->p++, &header))
        return ETMV2_BAD;
    k->kind = ETMV2_TFO;
    k->number = header.reason;
    if (etmv2_group_context_id(p, c, k) != ETMV2_DONE || c->end - c->p < 4)
        return ETMV2_NEED_MORE;
    uint32_t address = bytes_word(c->p);
    uint8_t isa = address & 1 ? BT_ISA_T32 : BT_ISA_A32;
    c->p += 4;
    k->value = address &= ~1u;
    k->isa = isa;
    if (header.lsip) {
        unsigned n = address_length(c);
        if (n == 0)
            return ETMV2_NEED_MORE;
        if (!(*c->p & 1) || !etmv2_address(c->p, n, &address, &isa, &cancel) || cancel)
            return ETMV2_BAD;
        k->flags |= ETMV2_LSIP;
        k->address = address;
        k->isa2 = isa;
    }
    p->base = address;
    p->base_isa = isa;
    if (k->number)
        p->data_known = false;
    return ETMV2_DONE;
}

enum etmv2_parsed etmv2_parse_packet(struct etmv2 *p, bool tfo, struct etmv2_packet *k)
{
    struct cursor c = {p->raw, p->raw + p->raw_len};
    memset(k, 0, sizeof *k);
    enum etmv2_parsed result = tfo             ? parse_tfo(p, &c, k)
                               : p->raw[0] & 1 ? etmv2_group_parse_branch(p, &c, k)
                                               : parse_headed(p, &c, k);
    if (result == ETMV2_DONE) {
        memcpy(k->raw, p->raw, p->raw_len);
        k->raw_len = p->raw_len;
    }
    return result;
}
