/* SPDX-License-Identifier: BSD-3-Clause */
/* Branch packets in both encodings and their exception information: IHI 0014Q 7.3. */
#include "etmv3_internal.h"

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
static bool etmv3_address_bytes(bool alternative, struct packet_cursor *c, struct address *a)
{
    uint8_t byte;
    if (!packet_byte(c, &byte))
        return false;
    *a = (struct address){.value = byte >> 1 & 0x3f, .bits = 6, .bytes = 1};
    while ((byte & 0x80) && a->bytes < 5) {
        if (!packet_byte(c, &byte))
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
static inline void address_at_hand(bool alternative, struct packet_cursor *c, struct address *a)
{
    uint32_t w = bytes_word(c->p), stop = ~w & 0x80808080u;
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
static inline bool etmv3_fifth_byte(const struct address *a, struct etmv3_base *base)
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
        return etmv3_fifth_byte(a, base);
    unsigned shift = shifts[base->isa];
    uint32_t mask = (1u << (a->bits + shift)) - 1;
    base->address = (base->address & ~mask) | a->value << shift;
    return true;
}

/* Exception information (IHI 0014Q 7.3): byte 0; byte 0 and 1; byte 0 and 2; all three. */
static inline int info_bytes(struct packet_cursor *c, struct info *x)
{
    uint8_t byte;
    *x = (struct info){0};
    if (!packet_byte(c, &byte))
        return PACKET_NEED_MORE;
    x->byte0 = byte;
    x->number = byte >> 1 & 0xf;
    if (!(byte & 0x80))
        return PACKET_DONE;
    if (!packet_byte(c, &byte))
        return PACKET_NEED_MORE;
    if (!(byte & 0x40)) {
        x->has_byte1 = true;
        x->hyp = byte & 0x20;
        x->number |= (uint16_t)((byte & 0x1f) << 4);
        if (!(byte & 0x80))
            return PACKET_DONE;
        if (!packet_byte(c, &byte))
            return PACKET_NEED_MORE;
        if (!(byte & 0x40))
            return PACKET_BAD;
    }
    if (byte & 0x80)
        return PACKET_BAD;
    x->has_resume = true;
    x->resume = byte & 0xf;
    return PACKET_DONE;
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

static inline __attribute__((always_inline)) int
take_apart(const struct etmv3 *p, struct packet_cursor *c, struct address *a, struct info *x)
{
    if (c->end - c->p >= 5)
        address_at_hand(p->config.alternative, c, a);
    else if (!etmv3_address_bytes(p->config.alternative, c, a))
        return PACKET_NEED_MORE;
    if (a->in_line && p->config.alternative)
        return PACKET_BAD;
    *x = (struct info){0};
    return a->info ? info_bytes(c, x) : PACKET_DONE;
}

int etmv3_parse_branch(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k)
{
    struct address a;
    struct info x;
    struct etmv3_base base = p->base;
    int result = take_apart(p, c, &a, &x);
    if (result != PACKET_DONE)
        return result;
    if (!merge(&a, &base))
        return PACKET_BAD;
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
    return PACKET_DONE;
}

static int etmv3_parse_current(const struct etmv3 *p, struct packet_cursor *c,
                               struct etmv3_base *base)
{
    struct address a;
    struct info x;
    int result = take_apart(p, c, &a, &x);
    if (result != PACKET_DONE)
        return result;
    bool exception = a.in_line || x.number != 0 || (x.byte0 & 0x20);
    if (exception || !merge(&a, base))
        return PACKET_BAD;
    if (a.info)
        apply_info(p, &x, base);
    return PACKET_DONE;
}

/* Data trace packets: IHI 0014Q 7.4. */

static const uint8_t value_bytes[4] = {0, 1, 2, 4};

/* IHI 0014Q 7.4.2: groups of seven bits; the fifth byte has four, and the BE bit. */
static bool etmv3_data_address(const struct etmv3 *p, struct packet_cursor *c,
                               struct etmv3_packet *k, uint8_t *bits)
{
    uint8_t byte = 0x80;
    uint32_t value = 0;
    unsigned n = 0;
    while ((byte & 0x80) && n < 4) {
        if (!packet_byte(c, &byte))
            return false;
        value |= (uint32_t)(byte & 0x7f) << 7 * n++;
    }
    *bits = (uint8_t)(7 * n);
    if (byte & 0x80) {
        if (!packet_byte(c, &byte))
            return false;
        value |= (uint32_t)(byte & 0xf) << 28;
        k->flags |= byte & 0x10 ? ETMV3_BIG_ENDIAN : 0;
        *bits = 32;
    }
    uint32_t mask = *bits == 32 ? ~0u : (1u << *bits) - 1;
    k->address = (p->data_base & ~mask) | value;
    k->flags |= ETMV3_HAS_ADDRESS;
    return true;
}

static bool etmv3_data_value(const struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k,
                             unsigned code)
{
    uint32_t value = 0;
    if (!p->config.data_value)
        return true;
    if (!packet_number(c, value_bytes[code], &value))
        return false;
    k->flags |= ETMV3_HAS_VALUE;
    k->value = value;
    k->n = value_bytes[code];
    return true;
}

/* Kind, whether an address may follow, and the value's size code (4: no value). */
static bool etmv3_classify(uint8_t h, struct etmv3_packet *k, bool *address, unsigned *value)
{
    *value = 4;
    *address = false;
    if ((h & 0xd3) == 0x02) { /* b00A0SS10 */
        k->kind = ETMV3_DATA;
        *address = h & 0x20;
        *value = h >> 2 & 3;
    } else if ((h & 0xef) == 0x6a) { /* b011A1010: bit 4 */
        k->kind = ETMV3_NOT_TRACED;
        *address = h & 0x10;
    } else if ((h & 0xd3) == 0x50 && (h & 0x0c)) { /* b01A1TT00 */
        k->kind = ETMV3_PLACEHOLDER;
        k->number = h >> 2 & 3;
        *address = h & 0x20;
    } else if ((h & 0x93) == 0 && (h & 0x60)) { /* b0TT0SS00 */
        k->kind = ETMV3_OOO_DATA;
        k->number = h >> 5 & 3;
        *value = h >> 2 & 3;
    } else if (h == 0x50) {
        k->kind = ETMV3_STORE_FAILED;
    } else if (h == 0x62) {
        k->kind = ETMV3_SUPPRESSED;
    } else {
        return false;
    }
    return true;
}

static int etmv3_parse_data(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k,
                            uint8_t header)
{
    bool has_address;
    unsigned value;
    uint8_t bits = 0;
    if (!p->config.data_value && !p->config.data_address)
        return PACKET_BAD;
    if (!etmv3_classify(header, k, &has_address, &value))
        return PACKET_BAD;
    if (has_address && p->config.data_address && !etmv3_data_address(p, c, k, &bits))
        return PACKET_NEED_MORE;
    if (value < 4 && !etmv3_data_value(p, c, k, value))
        return PACKET_NEED_MORE;
    if (bits) {
        p->data_base = k->address;
        if (bits > p->data_bits)
            p->data_bits = bits;
        k->extra = p->data_bits;
    }
    /* Up to v3.2 the next address is a full one; later ones keep the base (IHI 0014Q 7.4). */
    if (k->kind == ETMV3_SUPPRESSED && p->config.version_minor < 3)
        p->data_bits = 0;
    return PACKET_DONE;
}

/* I-sync in its five forms, counts, context and time: IHI 0014Q 7.10.5, 7.7. */

#define INFO_LSIP 0x80
#define INFO_J    0x10
#define INFO_NS   0x08
#define INFO_ALT  0x04
#define INFO_HYP  0x02

/* A cycle count (IHI 0014Q table 7-1): five bytes at most; the fifth has four bits and always ends
 * the field. */
static bool etmv3_parse_count(struct packet_cursor *c, uint32_t *count)
{
    uint8_t byte = 0x80;
    *count = 0;
    for (unsigned i = 0; i < 5 && (byte & 0x80); i++) {
        if (!packet_byte(c, &byte))
            return false;
        *count |= (uint32_t)(byte & 0x7f) << 7 * i;
    }
    return true;
}

static bool etmv3_context_id(const struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k)
{
    if (!packet_number(c, p->config.context_bytes, &k->context))
        return false;
    if (p->config.context_bytes)
        k->flags |= ETMV3_HAS_CONTEXT;
    return true;
}

static int etmv3_parse_context(const struct etmv3 *p, struct packet_cursor *c,
                               struct etmv3_packet *k)
{
    k->kind = ETMV3_CONTEXT;
    if (p->config.context_bytes == 0) /* never sent then */
        return PACKET_BAD;
    return etmv3_context_id(p, c, k) ? PACKET_DONE : PACKET_NEED_MORE;
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
    return PACKET_DONE;
}

static int etmv3_parse_isync(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k,
                             bool with_count)
{
    uint8_t info;
    uint32_t address;
    struct etmv3_base base;
    k->kind = ETMV3_ISYNC;
    if (with_count && !etmv3_parse_count(c, &k->cycles))
        return PACKET_NEED_MORE;
    if (with_count)
        k->flags |= ETMV3_HAS_CYCLES;
    if (!etmv3_context_id(p, c, k) || !packet_byte(c, &info))
        return PACKET_NEED_MORE;
    k->number = info >> 5 & 3;
    if (p->config.data_only)
        return with_count ? PACKET_BAD : data_only(p, info, k);
    if (k->number == 0 && (with_count || (info & INFO_LSIP))) /* never periodic: IHI 0014Q 7.10.5 */
        return PACKET_BAD;
    if (!packet_number(c, 4, &address))
        return PACKET_NEED_MORE;
    set_base(p, info, address, &base, k);
    if (info & INFO_LSIP) {
        k->flags |= ETMV3_LSIP;
        k->address = base.address;
        k->extra = etmv3_state(p, &base);
        int result = etmv3_parse_current(p, c, &base);
        if (result != PACKET_DONE)
            return result;
    }
    p->base = base;
    k->value = base.address;
    k->isa_state = etmv3_state(p, &base);
    return PACKET_DONE;
}

/* IHI 0014Q 7.7. */
static int etmv3_parse_timestamp(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k,
                                 uint8_t header)
{
    uint64_t value;
    unsigned bits;
    if (!packet_timestamp(c, p->config.timestamp64, &value, &bits))
        return PACKET_NEED_MORE;
    p->ts_raw = packet_merge_time(p->ts_raw, value, bits);
    p->ts_valid |= bits == (p->config.timestamp64 ? 64 : 48);
    k->kind = ETMV3_TIMESTAMP;
    k->value = p->ts_raw;
    k->n = (uint8_t)bits;
    k->flags |= (p->ts_valid ? ETMV3_TS_VALID : 0) | (header & 4 ? ETMV3_TS_FREQ : 0);
    return PACKET_DONE;
}

/* Headers below 0x80 that are no branch, by value / 2 (IHI 0014Q table 7-1). */
enum {
    H_BAD, /* reserved */
    H_DATA,
    H_COUNT,
    H_ISYNC,
    H_ISYNC_COUNT,
    H_TRIGGER,
    H_VMID,
    H_TIME,
    H_IGNORE,
    H_CONTEXT,
    H_EXIT,
    H_ENTRY,
};

static const uint8_t header_class[64] = {
    [0x02 / 2] = H_DATA,           [0x06 / 2] = H_DATA,    [0x0a / 2] = H_DATA,
    [0x0e / 2] = H_DATA,           [0x20 / 2] = H_DATA,    [0x22 / 2] = H_DATA,
    [0x24 / 2] = H_DATA,           [0x26 / 2] = H_DATA,    [0x28 / 2] = H_DATA,
    [0x2a / 2] = H_DATA,           [0x2c / 2] = H_DATA,    [0x2e / 2] = H_DATA,
    [0x40 / 2] = H_DATA,           [0x44 / 2] = H_DATA,    [0x48 / 2] = H_DATA,
    [0x4c / 2] = H_DATA,           [0x50 / 2] = H_DATA,    [0x54 / 2] = H_DATA,
    [0x58 / 2] = H_DATA,           [0x5c / 2] = H_DATA,    [0x60 / 2] = H_DATA,
    [0x62 / 2] = H_DATA,           [0x64 / 2] = H_DATA,    [0x68 / 2] = H_DATA,
    [0x6a / 2] = H_DATA,           [0x6c / 2] = H_DATA,    [0x74 / 2] = H_DATA,
    [0x78 / 2] = H_DATA,           [0x7a / 2] = H_DATA,    [0x7c / 2] = H_DATA,
    [0x04 / 2] = H_COUNT,          [0x08 / 2] = H_ISYNC,   [0x0c / 2] = H_TRIGGER,
    [0x3c / 2] = H_VMID,           [0x42 / 2] = H_TIME,    [0x46 / 2] = H_TIME,
    [0x66 / 2] = H_IGNORE,         [0x6e / 2] = H_CONTEXT, [0x70 / 2] = H_ISYNC_COUNT,
    [ETMV3_EXC_EXIT / 2] = H_EXIT, [0x7e / 2] = H_ENTRY,
};

static int etmv3_packets_single(struct etmv3_packet *k, enum etmv3_kind kind)
{
    k->kind = (uint8_t)kind;
    return PACKET_DONE;
}

static int etmv3_parse_vmid(struct packet_cursor *c, struct etmv3_packet *k)
{
    uint8_t byte;
    if (!packet_byte(c, &byte))
        return PACKET_NEED_MORE;
    k->value = byte;
    return etmv3_packets_single(k, ETMV3_VMID);
}

static int parse_cycle_count(struct packet_cursor *c, struct etmv3_packet *k)
{
    k->kind = ETMV3_CYCLE_COUNT;
    return etmv3_parse_count(c, &k->cycles) ? PACKET_DONE : PACKET_NEED_MORE;
}

/* Packets that data-only mode has, too (IHI 0014Q 7.4). */
static int parse_common(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k,
                        uint8_t header)
{
    switch (header_class[header / 2]) {
    case H_DATA:
        return etmv3_parse_data(p, c, k, header);
    case H_ISYNC:
        return etmv3_parse_isync(p, c, k, false);
    case H_TRIGGER:
        return etmv3_packets_single(k, ETMV3_TRIGGER);
    case H_IGNORE:
        return etmv3_packets_single(k, ETMV3_IGNORE);
    case H_VMID:
        return etmv3_parse_vmid(c, k);
    case H_TIME:
        return etmv3_parse_timestamp(p, c, k, header);
    case H_CONTEXT:
        return etmv3_parse_context(p, c, k);
    default:
        return PACKET_BAD;
    }
}

/* What a P-header says; false if it says nothing in this configuration. */
static bool etmv3_packets_atoms(const struct etmv3 *p, uint8_t header, struct etmv3_packet *k)
{
    const struct etmv3_header *h = &etmv3_header_table(&p->config)[header >> 1 & 63];
    k->kind = ETMV3_ATOM;
    k->n = h->n;
    k->value = h->value;
    k->cycles = h->cycles;
    k->flags = etmv3_header_flags(h);
    return !p->config.data_only && (h->versions >> p->config.version_minor & 1);
}

/* One packet that is no A-sync; c->p ends behind it. */
static int parse_whole(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k)
{
    uint8_t header = *c->p;
    if (header & 1)
        return p->config.data_only ? PACKET_BAD : etmv3_parse_branch(p, c, k);
    c->p++;
    if (header & 0x80)
        return etmv3_packets_atoms(p, header, k) ? PACKET_DONE : PACKET_BAD;
    if (p->config.data_only)
        return parse_common(p, c, k, header);
    switch (header_class[header / 2]) {
    case H_ISYNC_COUNT:
        return etmv3_parse_isync(p, c, k, true);
    case H_COUNT:
        return parse_cycle_count(c, k);
    case H_EXIT:
        return etmv3_packets_single(k, ETMV3_EXC_RETURN);
    case H_ENTRY:
        return etmv3_packets_single(k, ETMV3_EXC_ENTRY);
    default:
        return parse_common(p, c, k, header);
    }
}

/* Reserved headers have no meaning in this configuration; others begin a packet that is damaged. */
static enum etmv3_kind bad_kind(const struct etmv3 *p, uint8_t header)
{
    if ((header & 1) && !p->config.data_only)
        return ETMV3_MALFORMED;
    uint8_t class = header < 0x80 && !(header & 1) ? header_class[header / 2] : H_BAD;
    return class == H_ISYNC || class == H_ISYNC_COUNT ? ETMV3_MALFORMED : ETMV3_RESERVED;
}

int etmv3_parse_packet(struct etmv3 *p, struct packet_cursor *c, struct etmv3_packet *k)
{
    uint8_t header = *c->p;
    int result = parse_whole(p, c, k);
    if (result == PACKET_BAD)
        k->kind = (uint8_t)bad_kind(p, header);
    return result;
}

size_t etmv3_exception_packet(struct etmv3 *p, const uint8_t *data, const uint8_t *end,
                              struct etmv3_packet *k)
{
    struct packet_cursor c = {data, end};
    if (!(*data & 1) || *data == ETMV3_END_MARKER || etmv3_parse_branch(p, &c, k) != PACKET_DONE)
        return 0;
    k->size = (uint16_t)(c.p - data);
    return k->size;
}
