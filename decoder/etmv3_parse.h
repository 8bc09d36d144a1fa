/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the ETMv3 parser share. Private to decoder/etmv3*.c. */
#ifndef DECODER_ETMV3_PARSE_H
#define DECODER_ETMV3_PARSE_H

#include "decoder/etmv3.h"

/* Results of a function that takes one packet apart. */
#define PARSED    1
#define NEED_MORE 0 /* it does not end within the bytes at hand; the state has not changed */
#define BAD       (-1)

/* Bytes of one packet while it is taken apart; `p` ends behind the packet. */
struct cursor {
    const uint8_t *p;
    const uint8_t *end;
};

static inline bool next_byte(struct cursor *c, uint8_t *byte)
{
    if (c->p == c->end)
        return false;
    *byte = *c->p++;
    return true;
}

static inline bool little_endian(struct cursor *c, unsigned n, uint32_t *value)
{
    if ((size_t)(c->end - c->p) < n)
        return false;
    *value = 0;
    for (unsigned i = 0; i < n; i++)
        *value |= (uint32_t)*c->p++ << 8 * i;
    return true;
}

/* etmv3_branch.c: the cursor stands at the first address byte. */
int etmv3_parse_branch(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k);

/*
 * Second address of an LSiP I-sync: relative to *base, which it updates. BAD where an exception is
 * indicated: that is never sent here.
 */
int etmv3_parse_current(const struct etmv3 *p, struct cursor *c, struct etmv3_base *base);

/* The same for a branch of up to four address bytes without exception information, all of it in
 * `len` bytes: returns its size; 0: it is none. */
size_t etmv3_short_branch(struct etmv3 *p, const uint8_t *data, size_t len, struct etmv3_packet *k);

/* Instruction set and security state as packets carry them. */
static inline uint8_t etmv3_state(const struct etmv3 *p, const struct etmv3_base *base)
{
    uint8_t isa = base->isa == BT_ISA_T32 && base->alt_isa ? BT_ISA_T32EE : base->isa;
    enum bt_security security = base->ns ? BT_SEC_NONSECURE : BT_SEC_SECURE;
    if (base->hyp && p->config.virtualization)
        security = BT_SEC_HYP;
    return (uint8_t)(isa | security << 4);
}

/* etmv3_isync.c: cursor behind the header. */
int etmv3_parse_isync(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k, bool with_count);
bool etmv3_parse_count(struct cursor *c, uint32_t *count);
int etmv3_parse_context(const struct etmv3 *p, struct cursor *c, struct etmv3_packet *k);
int etmv3_parse_timestamp(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k,
                          uint8_t header);

/* etmv3_data.c: cursor behind the header. BAD where the unit is not set to trace data. */
int etmv3_parse_data(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k, uint8_t header);

#endif
