/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 packets that carry counts: times, cycles, commits, conditions: IHI 0064H.b chapter 6. */
#include "etmv4_forms.h"

/* Times and counts. */

int etmv4_parse_timestamp(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    uint64_t value;
    unsigned bits;
    c->p++;
    int result = etmv4_varint(c, 9, 9, &value, &bits);
    if (result != 1)
        return result;
    if (k->header & 1) {
        result = etmv4_number32(c, 3, &k->cycles);
        if (result != 1)
            return result;
        k->cycles &= p->config.cycle_mask;
        k->flags |= ETMV4_COUNTED;
    }
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    k->kind = ETMV4_TIMESTAMP;
    k->value = p->timestamp = (p->timestamp & ~mask) | value;
    return 1;
}

int etmv4_parse_cycles1(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    uint32_t commit = 0, count = 0;
    bool unknown = k->header & 1;
    c->p++;
    int result = p->config.counts_commit ? etmv4_number32(c, 5, &commit) : 1;
    if (result == 1 && !unknown)
        result = etmv4_number32(c, 3, &count);
    if (result != 1)
        return result;
    etmv4_set_count(p, k, commit, count);
    if (unknown) {
        k->flags &= (uint8_t)~ETMV4_COUNTED;
        k->cycles = 0;
    }
    return 1;
}

int etmv4_parse_cycles2(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    c->p++;
    if (!etmv4_has(c, 1))
        return ETMV4_NEED_MORE;
    uint32_t a = *c->p >> 4, b = *c->p & 0xf, max = p->config.max_speculated;
    bool from_the_end = k->header & 1;
    c->p++;
    if (p->config.counts_commit && from_the_end && max + a < 15)
        return ETMV4_BAD;
    etmv4_set_count(p, k, from_the_end ? max + a - 15 : a + 1, b);
    return 1;
}

int etmv4_parse_cycles3(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    etmv4_set_count(p, k, (k->header >> 2 & 3u) + 1, k->header & 3);
    c->p++;
    return 1;
}

/* Speculation. */

int etmv4_parse_commit(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    (void)p;
    c->p++;
    k->kind = k->header == 0x2d ? ETMV4_COMMIT : ETMV4_CANCEL;
    k->flags |= k->header == 0x2f ? ETMV4_MISPREDICTS : 0;
    return etmv4_number32(c, 5, &k->commit);
}

int etmv4_parse_mispredict(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    const struct etmv4_packet *known = &etmv4_packets[k->header];
    (void)p;
    c->p++;
    k->kind = known->kind;
    k->flags |= known->flags;
    k->commit = known->commit;
    k->value = known->value;
    k->n = known->n;
    return 1;
}

/* Conditional tracing: lengths only; it never changes the flow. */

int etmv4_parse_condition(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    uint8_t h = k->header;
    uint64_t value;
    unsigned bits, payloads = h >= 0x68 && h <= 0x6b ? 2 : h >= 0x6e ? 1 : 0;
    bool reserved = h == 0x47 || h == 0x4b || h == 0x4f || (h >= 0x60 && h <= 0x67);
    if (!p->config.conditional || reserved)
        return ETMV4_BAD;
    k->kind = ETMV4_CONDITION;
    c->p++;
    if (h == 0x6c)
        return etmv4_varint(c, 5, 0, &value, &bits);
    if (h == 0x6d || (h >= 0x50 && h <= 0x5f)) {
        if (!etmv4_has(c, 1))
            return ETMV4_NEED_MORE;
        c->p++;
    }
    while (payloads-- > 0) {
        int result = etmv4_varint(c, 6, 0, &value, &bits);
        if (result != 1)
            return result;
    }
    return 1;
}
