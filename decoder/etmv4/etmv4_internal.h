/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv4 parser: etmv4.c finds packets, etmv4_packets.c and
 * etmv4_counts.c take them apart. */
#ifndef DECODER_ETMV4_INTERNAL_H
#define DECODER_ETMV4_INTERNAL_H

#include "decoder/etmv4/etmv4.h"

/* etmv4_parse_packet() returns 1, or one of these. */
#define ETMV4_NEED_MORE 0
#define ETMV4_BAD       (-1)

/* Bytes of one packet while it is taken apart. */
struct etmv4_cursor {
    const uint8_t *p;
    const uint8_t *end;
};

/*
 * One packet, at c->p, of a stream in which a Trace Info was seen, into the cleared *k; also an
 * extension packet that is no A-sync. c->p ends behind it. The parser's state changes only when the
 * packet is complete.
 */
int etmv4_parse_packet(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);

/* IHI 0064H.b chapter 6: an address, into the registers. */
static inline void etmv4_push_address(struct etmv4_address last[3], uint64_t value, uint8_t isa_bit)
{
    last[2] = last[1];
    last[1] = last[0];
    last[0] = (struct etmv4_address){value, isa_bit};
}

static inline bool etmv4_has(const struct etmv4_cursor *c, size_t n)
{
    return (size_t)(c->end - c->p) >= n;
}

/*
 * Seven bits a byte, the least significant first, at most `max` bytes; the last of `full` bytes
 * has eight bits and always ends it (0: none). 1, or what etmv4_parse_packet() returns.
 */
static inline int etmv4_varint(struct etmv4_cursor *c, unsigned max, unsigned full, uint64_t *value,
                               unsigned *bits)
{
    *value = 0;
    for (unsigned i = 0; i < max; i++) {
        if (!etmv4_has(c, 1))
            return ETMV4_NEED_MORE;
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
    return ETMV4_BAD;
}

static inline int etmv4_number32(struct etmv4_cursor *c, unsigned max, uint32_t *number)
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

/* Packets of etmv4_counts.c, at their headers. */
int etmv4_parse_timestamp(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);
int etmv4_parse_cycles1(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);
int etmv4_parse_cycles2(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);
int etmv4_parse_cycles3(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);
int etmv4_parse_commit(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);
int etmv4_parse_mispredict(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);
int etmv4_parse_condition(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k);

#endif
