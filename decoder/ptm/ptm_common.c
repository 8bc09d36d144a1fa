/* SPDX-License-Identifier: BSD-3-Clause */
/* The packets that most of a PTM stream is made of, whole in the bytes at hand: IHI 0035B 4.5. */
#include "ptm_internal.h"

/* IHI 0035B 4.5.3: atoms and their number for each header of a stream that is not
 * cycle-accurate. */
#define ATOMS(h, n)                                                                                \
    {                                                                                              \
        (h) >> 1 & ((1u << (n)) - 1), n                                                            \
    }
#define FOUR(h, n)  ATOMS(h, n), ATOMS(h + 2, n), ATOMS(h + 4, n), ATOMS(h + 6, n)
#define EIGHT(h, n) FOUR(h, n), FOUR(h + 8, n)

const struct ptm_atom_header ptm_atom_headers[64] = {
    {0, 0},         {0, 0},         ATOMS(0x84, 1), ATOMS(0x86, 1), FOUR(0x88, 2),  EIGHT(0x90, 3),
    EIGHT(0xa0, 4), EIGHT(0xb0, 4), EIGHT(0xc0, 5), EIGHT(0xd0, 5), EIGHT(0xe0, 5), EIGHT(0xf0, 5),
};

/* What consecutive packets have in common, and the base of the next address. */
struct common {
    uint32_t address;
    uint8_t shift;
    uint8_t state;
    uint8_t flags; /* of all addresses */
    bool counted;
};

static inline void common_load(const struct ptm *p, struct common *c)
{
    c->address = p->last_address;
    c->shift = ptm_shift(p);
    c->state = ptm_isa_state(p, p->last_isa);
    c->flags = p->based ? 0 : PTM_PARTIAL;
    c->counted = p->config.cycle_accurate;
}

/* A branch without an information byte, with its count in cycle-accurate mode; 0: another one. */
static inline unsigned short_branch(struct common *c, const uint8_t *b, size_t len, uint64_t offset,
                                    struct ptm_packet *k, bool counted)
{
    struct ptm_short a;
    uint32_t cycles = 0;
    if (!ptm_short_address(c->address, c->shift, b, len, &a) || a.e)
        return 0;
    unsigned n = a.bytes;
    if (counted) {
        if (n == len)
            return 0;
        uint8_t byte = b[n++];
        cycles = byte >> 2 & 0xf;
        if (!ptm_more_count(b, len, &n, byte & 0x40, &cycles))
            return 0;
    }
    c->address = a.address;
    *k = (struct ptm_packet){.offset = offset,
                             .value = a.address,
                             .cycles = cycles,
                             .size = (uint16_t)n,
                             .kind = PTM_BRANCH,
                             .flags = c->flags | (counted ? PTM_HAS_CYCLES : 0),
                             .isa_state = c->state,
                             .n = (uint8_t)a.bytes};
    return n;
}

/* An atom header; 0: it is something else, or not all there. */
static inline unsigned short_atom(const uint8_t *b, size_t len, uint64_t offset,
                                  struct ptm_packet *k, bool counted)
{
    uint8_t header = b[0];
    if (counted) { /* IHI 0035B 4.5.3 */
        uint32_t cycles = header >> 2 & 0xf;
        unsigned n = 1;
        if (header < 0x80 || !ptm_more_count(b, len, &n, header & 0x40, &cycles))
            return 0;
        *k = (struct ptm_packet){.offset = offset,
                                 .value = header >> 1 & 1,
                                 .cycles = cycles,
                                 .size = (uint16_t)n,
                                 .kind = PTM_ATOM,
                                 .flags = PTM_HAS_CYCLES,
                                 .n = 1};
        return n;
    }
    if (header < 0x84)
        return 0;
    unsigned atom = (unsigned)(header - 0x80) / 2;
    *k = (struct ptm_packet){.offset = offset,
                             .value = ptm_atom_headers[atom].value,
                             .size = 1,
                             .kind = PTM_ATOM,
                             .n = ptm_atom_headers[atom].n};
    return 1;
}

/* IHI 0035B 4.5.4: a branch with one information byte. It may change the state. */
static unsigned info_branch(struct ptm *p, struct common *c, const uint8_t *b, size_t len,
                            uint64_t offset, struct ptm_packet *k)
{
    struct ptm_short a;
    uint32_t cycles = 0;
    if (!ptm_short_address(c->address, c->shift, b, len, &a) || !a.e || len < a.bytes + 2u ||
        (b[a.bytes] & 0x80))
        return 0;
    unsigned n = a.bytes;
    uint8_t info = b[n++];
    if (c->counted) {
        uint8_t byte = b[n++];
        cycles = byte >> 2 & 0xf;
        if (!ptm_more_count(b, len, &n, byte & 0x40, &cycles))
            return 0;
    }
    p->last_address = a.address;
    p->last_alt_isa = info & 0x40;
    p->last_ns = info & 1;
    common_load(p, c);
    *k = (struct ptm_packet){.offset = offset,
                             .value = a.address,
                             .cycles = cycles,
                             .size = (uint16_t)n,
                             .number = info >> 1 & 0xf,
                             .kind = PTM_BRANCH,
                             .flags = c->flags | PTM_HAS_INFO | (c->counted ? PTM_HAS_CYCLES : 0),
                             .isa_state = c->state,
                             .n = (uint8_t)a.bytes};
    return n;
}

/* IHI 0035B 4.5.5. */
static unsigned short_update(struct common *c, const uint8_t *b, size_t len, uint64_t offset,
                             struct ptm_packet *k)
{
    struct ptm_short a;
    if (!ptm_short_address(c->address, c->shift, b + 1, len - 1, &a))
        return 0;
    c->address = a.address;
    *k = (struct ptm_packet){.offset = offset,
                             .value = a.address,
                             .size = (uint16_t)(a.bytes + 1),
                             .kind = PTM_UPDATE,
                             .flags = c->flags,
                             .isa_state = c->state,
                             .n = (uint8_t)a.bytes};
    return a.bytes + 1;
}

/* What interrupts are made of. */
static __attribute__((noinline)) unsigned rare(struct ptm *p, struct common *c, const uint8_t *b,
                                               size_t len, uint64_t offset, struct ptm_packet *k)
{
    if (b[0] & 1)
        return info_branch(p, c, b, len, offset, k);
    if (b[0] == PTM_HDR_UPDATE)
        return short_update(c, b, len, offset, k);
    if (b[0] != PTM_HDR_EXC_RETURN)
        return 0;
    *k = (struct ptm_packet){.offset = offset, .size = 1, .kind = PTM_EXC_RETURN};
    return 1;
}

/* Up to `last`, or to the first packet that is none of these. What the loop needs at each step is
 * in copies: so that compilers keep it in registers. */
static inline struct ptm_packet *take_all(struct ptm *p, const uint8_t **data, const uint8_t *end,
                                          struct ptm_packet *k, const struct ptm_packet *last,
                                          bool counted)
{
    const uint8_t *at = *data;
    uint64_t base = p->scan.offset - (uintptr_t)at;
    struct common c;
    common_load(p, &c);
    while (at < end && k < last) {
        size_t len = (size_t)(end - at);
        uint64_t offset = base + (uintptr_t)at;
        unsigned size = *at & 1 ? short_branch(&c, at, len, offset, k, counted)
                                : short_atom(at, len, offset, k, counted);
        if (size == 0) {
            struct common now = c;
            size = rare(p, &now, at, len, offset, k);
            if (size == 0)
                break;
            c = now;
        }
        at += size;
        k++;
    }
    p->last_address = c.address;
    p->scan.offset = base + (uintptr_t)at;
    *data = at;
    return k;
}

size_t ptm_parse_common(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out,
                        size_t max, size_t *count)
{
    const uint8_t *at = data, *end = data + len;
    struct ptm_packet *k = out + *count;
    if (p->config.cycle_accurate)
        k = take_all(p, &at, end, k, out + max, true);
    else
        k = take_all(p, &at, end, k, out + max, false);
    *count = (size_t)(k - out);
    return (size_t)(at - data);
}
