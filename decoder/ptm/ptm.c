/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/ptm/ptm.h"
#include "ptm_internal.h"

#include <string.h>

/* Registers of the trace unit that shape the stream: IHI 0035B chapter 3. */

#define ETMCR_RETURN_STACK     (1u << 29)
#define ETMCR_CYCLE_ACCURATE   (1u << 12)
#define ETMIDR_T32_ONE         (1u << 18)
#define ETMCCER_TS64           (1u << 29)
#define ETMCCER_TS_BINARY      (1u << 28)
#define ETMCCER_VIRTUALIZATION (1u << 26)
#define ETMCCER_BARRIERS       (1u << 24)

int ptm_config_from_regs(struct ptm_config *config, uint32_t etmcr, uint32_t etmidr,
                         uint32_t etmccer, uint32_t etmtraceidr)
{
    static const uint8_t context_bytes[4] = {0, 1, 2, 4};
    if ((etmidr >> 8 & 0xf) != 3)
        return BT_ERR_INVAL;
    memset(config, 0, sizeof *config);
    config->trace_id = etmtraceidr & 0x7f;
    config->version_minor = etmidr >> 4 & 0xf;
    config->context_bytes = context_bytes[etmcr >> 14 & 3];
    config->cycle_accurate = etmcr & ETMCR_CYCLE_ACCURATE;
    /* ETMCCER[23] is not asked: some parts read 0 there with a working return stack. */
    config->return_stack = etmcr & ETMCR_RETURN_STACK;
    config->barrier_waypoints = etmccer & ETMCCER_BARRIERS;
    config->t32_split = !(etmidr & ETMIDR_T32_ONE);
    if (config->version_minor == 0) {
        config->timestamp_gray = true;
        return BT_OK;
    }
    config->virtualization = etmccer & ETMCCER_VIRTUALIZATION;
    config->timestamp64 = etmccer & ETMCCER_TS64;
    config->timestamp_gray = !(etmccer & ETMCCER_TS_BINARY);
    return BT_OK;
}

/* PTM packets byte by byte: IHI 0035B 4.5. */

#define HDR_ISYNC     0x08
#define HDR_TRIGGER   0x0c
#define HDR_VMID      0x3c
#define HDR_TIMESTAMP 0x42 /* bit 2: clock frequency changed */
#define HDR_IGNORE    0x66
#define HDR_CONTEXT   0x6e

/* A cycle count (IHI 0035B 4.5.3). The first byte's count bits and continuation are given by the
 * caller. */
static bool count_rest(struct packet_cursor *c, bool more, uint32_t *count)
{
    uint8_t byte = 0;
    for (unsigned i = 0; more && i < 4; i++) {
        if (!packet_byte(c, &byte))
            return false;
        *count |= (uint32_t)(byte & 0x7f) << (4 + 7 * i);
        more = byte & 0x80;
    }
    return true;
}

static bool cycle_count(struct packet_cursor *c, struct ptm_packet *k)
{
    uint8_t byte;
    if (!packet_byte(c, &byte))
        return false;
    k->cycles = byte >> 2 & 0xf;
    k->flags |= PTM_HAS_CYCLES;
    return count_rest(c, byte & 0x40, &k->cycles);
}

static bool ptm_context_id(const struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    unsigned n = p->config.context_bytes;
    if ((size_t)(c->end - c->p) < n)
        return false;
    k->context = 0;
    for (unsigned i = 0; i < n; i++)
        k->context |= (uint32_t)*c->p++ << 8 * i;
    if (n)
        k->flags |= PTM_HAS_CONTEXT;
    return true;
}

static void set_state(const struct ptm *p, struct ptm_packet *k, uint8_t isa)
{
    k->isa_state = ptm_isa_state(p, isa);
    k->value = p->last_address;
}

/* IHI 0035B 4.5.2. */
static int parse_isync(struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    if (c->end - c->p < 6)
        return PACKET_NEED_MORE;
    const uint8_t *b = c->p + 1;
    uint32_t address = bytes_word(b);
    uint8_t info = b[4];
    c->p += 6;
    k->number = info >> 5 & 3;
    if (p->config.cycle_accurate && k->number != 0 && !cycle_count(c, k))
        return PACKET_NEED_MORE;
    if (!ptm_context_id(p, c, k))
        return PACKET_NEED_MORE;
    k->kind = PTM_ISYNC;
    p->last_ns = info & 8;
    p->last_hyp = info & 2;
    p->last_alt_isa = info & 4;
    p->last_isa = address & 1 ? BT_ISA_T32 : BT_ISA_A32;
    p->last_address = address & ~1u;
    p->based = true;
    set_state(p, k, p->last_isa);
    return 1;
}

/* What the address bytes of a branch or waypoint update said. */
struct address {
    uint32_t value; /* address bits [.. ] before the shift of the instruction set */
    uint8_t bytes;
    uint8_t fifth;
    bool e; /* bit 6 of the last byte: an information byte follows */
};

/* IHI 0035B 4.5.4: one to five bytes, continue bit 7; the last of two to four has six address
 * bits. */
static bool ptm_address_bytes(struct packet_cursor *c, struct address *a)
{
    uint8_t byte;
    if (!packet_byte(c, &byte))
        return false;
    a->value = byte >> 1 & 0x3f;
    a->bytes = 1;
    a->e = false;
    unsigned shift = 6;
    while ((byte & 0x80) && a->bytes < 5) {
        if (!packet_byte(c, &byte))
            return false;
        a->bytes++;
        if (a->bytes == 5 || !(byte & 0x80))
            a->e = byte & 0x40;
        if (a->bytes < 5)
            a->value |= (uint32_t)(byte & (byte & 0x80 ? 0x7f : 0x3f)) << shift;
        shift += 7;
    }
    a->fifth = byte;
    return true;
}

/* IHI 0035B 4.5.4: new low bits over LastState's address; five bytes also give the state. */
static void merge_address(const struct address *a, uint32_t *address, uint8_t *isa)
{
    /* Low bits replaced by 1..4 bytes, before the shift: byte 1 has 6, the last 6, others 7. */
    static const uint8_t bits[5] = {0, 6, 12, 19, 26};
    static const uint8_t shifts[] = {[BT_ISA_A32] = 2, [BT_ISA_T32] = 1, [BT_ISA_JAZELLE] = 0};
    if (a->bytes < 5) {
        unsigned n = bits[a->bytes] + shifts[*isa];
        *address = (*address & ~((1u << n) - 1)) | a->value << shifts[*isa];
        return;
    }
    if (a->fifth & 0x20) {
        *isa = BT_ISA_JAZELLE;
        *address = a->value | (uint32_t)(a->fifth & 0x1f) << 27;
    } else if (a->fifth & 0x10) {
        *isa = BT_ISA_T32;
        *address = a->value << 1 | (uint32_t)(a->fifth & 0xf) << 28;
    } else { /* the code without bit 3 is reserved: read as A32 */
        *isa = BT_ISA_A32;
        *address = a->value << 2 | (uint32_t)(a->fifth & 7) << 29;
    }
}

static uint8_t address_flags(const struct ptm *p, const struct address *a)
{
    bool odd = a->bytes == 5 && (a->fifth & 0x38) == 0;
    return (uint8_t)((odd ? PTM_ODD_STATE : 0) | (p->based || a->bytes == 5 ? 0 : PTM_PARTIAL));
}

/* IHI 0035B 4.5.4. LastState is written only when the packet is complete. */
static int ptm_parse_branch(struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    struct address a;
    uint8_t info0 = 0, info1 = 0;
    if (!ptm_address_bytes(c, &a))
        return PACKET_NEED_MORE;
    if (a.e && !packet_byte(c, &info0))
        return PACKET_NEED_MORE;
    bool second = a.e && (info0 & 0x80);
    if (second && !packet_byte(c, &info1))
        return PACKET_NEED_MORE;
    if (info1 & 0x80)
        return PACKET_BAD;
    if (p->config.cycle_accurate && !cycle_count(c, k))
        return PACKET_NEED_MORE;
    k->kind = PTM_BRANCH;
    k->n = a.bytes;
    k->flags |= address_flags(p, &a);
    merge_address(&a, &p->last_address, &p->last_isa);
    if (a.e) {
        k->flags |= PTM_HAS_INFO;
        k->number = (uint16_t)((info0 >> 1 & 0xf) | (info1 & 0x1f) << 4);
        p->last_alt_isa = info0 & 0x40;
        p->last_ns = info0 & 1;
        if (second)
            p->last_hyp = info1 & 0x20;
    }
    set_state(p, k, p->last_isa);
    return 1;
}

/* IHI 0035B 4.5.5: address bytes as in a branch; never a cycle count. */
static int parse_update(struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    struct address a;
    uint8_t info;
    c->p++;
    if (!ptm_address_bytes(c, &a))
        return PACKET_NEED_MORE;
    bool thumb5 = a.bytes == 5 && (a.fifth & 0x30) == 0x10;
    bool has_info = thumb5 && a.e;
    if (has_info && !packet_byte(c, &info))
        return PACKET_NEED_MORE;
    uint32_t address = p->last_address;
    uint8_t isa = p->last_isa;
    merge_address(&a, &address, &isa);
    if (has_info)
        p->last_alt_isa = info & 0x40;
    k->kind = PTM_UPDATE;
    k->n = a.bytes;
    k->flags |= address_flags(p, &a);
    set_state(p, k, isa);
    k->value = address;
    p->last_isa = isa;
    p->last_address = address;
    return 1;
}

/* IHI 0035B 4.5. */
static int parse_timestamp(struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    uint64_t value;
    unsigned bits;
    uint8_t header = *c->p++;
    if (!packet_timestamp(c, p->config.timestamp64, &value, &bits))
        return PACKET_NEED_MORE;
    if (p->config.cycle_accurate && !cycle_count(c, k))
        return PACKET_NEED_MORE;
    p->ts_raw = packet_merge_time(p->ts_raw, value, bits);
    p->ts_valid |= bits == (p->config.timestamp64 ? 64 : 48);
    k->kind = PTM_TIMESTAMP;
    k->value = p->ts_raw;
    k->n = (uint8_t)bits;
    k->flags |= (p->ts_valid ? PTM_TS_VALID : 0) | (header & 4 ? PTM_TS_FREQ : 0);
    return 1;
}

static int ptm_parse_context(struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    c->p++;
    k->kind = PTM_CONTEXT;
    return ptm_context_id(p, c, k) ? 1 : PACKET_NEED_MORE;
}

static int ptm_parse_vmid(struct packet_cursor *c, struct ptm_packet *k)
{
    if (c->end - c->p < 2)
        return PACKET_NEED_MORE;
    k->kind = PTM_VMID;
    k->value = c->p[1];
    c->p += 2;
    return 1;
}

static int parse_single(struct packet_cursor *c, struct ptm_packet *k, enum ptm_kind kind)
{
    c->p++;
    k->kind = (uint8_t)kind;
    return 1;
}

/* IHI 0035B 4.5.3: one atom with its count. */
static int parse_atom_cycles(struct packet_cursor *c, struct ptm_packet *k)
{
    uint8_t header = *c->p++;
    k->kind = PTM_ATOM;
    k->n = 1;
    k->value = header >> 1 & 1;
    k->cycles = header >> 2 & 0xf;
    k->flags = PTM_HAS_CYCLES;
    return count_rest(c, header & 0x40, &k->cycles) ? 1 : PACKET_NEED_MORE;
}

/* IHI 0035B 4.5.3: the atoms below the marker bit, the oldest next to it. */
static inline void ptm_atoms(uint8_t header, struct ptm_packet *k)
{
    k->kind = PTM_ATOM;
    if (header & 0x40) {
        k->n = 5;
        k->value = header >> 1 & 0x1f;
        return;
    }
    unsigned marker = 31 - (unsigned)__builtin_clz(header & 0x3f);
    k->n = (uint8_t)(marker - 1);
    k->value = header >> 1 & ((1u << (marker - 1)) - 1);
}

static int parse_atoms(const struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    if (p->config.cycle_accurate)
        return parse_atom_cycles(c, k);
    if (*c->p < 0x84)
        return PACKET_BAD;
    ptm_atoms(*c->p++, k);
    return 1;
}

static int ptm_parse_packet(struct ptm *p, struct packet_cursor *c, struct ptm_packet *k)
{
    uint8_t header = *c->p;
    if (header & 1)
        return ptm_parse_branch(p, c, k);
    if (header & 0x80)
        return parse_atoms(p, c, k);
    switch (header) {
    case HDR_ISYNC:
        return parse_isync(p, c, k);
    case HDR_TIMESTAMP:
    case HDR_TIMESTAMP | 4:
        return parse_timestamp(p, c, k);
    case PTM_HDR_UPDATE:
        return parse_update(p, c, k);
    case HDR_CONTEXT:
        return ptm_parse_context(p, c, k);
    case HDR_VMID:
        return ptm_parse_vmid(c, k);
    case PTM_HDR_EXC_RETURN:
        return parse_single(c, k, PTM_EXC_RETURN);
    case HDR_TRIGGER:
        return parse_single(c, k, PTM_TRIGGER);
    case HDR_IGNORE:
        return parse_single(c, k, PTM_IGNORE);
    default:
        return PACKET_BAD;
    }
}

#define ASYNC_ZEROS 5
#define ASYNC_END   0x80

void ptm_init(struct ptm *p, const struct ptm_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
}

static void ptm_lose_sync(struct ptm *p, uint64_t from)
{
    packet_scan_lose(&p->scan, from);
    p->based = false;
    p->ts_valid = false;
    p->ts_raw = 0;
    p->last_address = 0;
    p->last_isa = BT_ISA_A32;
    p->last_alt_isa = p->last_ns = p->last_hyp = false;
}

void ptm_discontinuity(struct ptm *p)
{
    packet_scan_skip(&p->scan);
    ptm_lose_sync(p, p->scan.offset);
}

static const struct packet_format format;

static void ptm_clear_packet(struct ptm_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
}

static void ptm_report_bytes(void *out, uint8_t kind, uint64_t from, uint64_t count)
{
    struct ptm_packet *k = out;
    ptm_clear_packet(k, from);
    k->kind = kind;
    k->value = count;
    k->size = packet_size16(count);
}

static size_t ptm_scan_zeros(void *parser, const uint8_t *data, size_t len, void *out,
                             size_t *count)
{
    struct ptm *p = parser;
    struct packet_scan *s = &p->scan;
    struct ptm_packet *packets = out;
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = data[i];
        s->offset++;
        if (byte == 0) {
            s->zeros++;
            continue;
        }
        if (byte == ASYNC_END && s->zeros >= ASYNC_ZEROS) {
            *count += packet_scan_async(s, &format, packets + *count);
            return i + 1;
        }
        if (s->synced) { /* zeros that did not become an A-sync */
            uint64_t start = s->offset - 1 - s->zeros;
            struct ptm_packet *k = &packets[(*count)++];
            ptm_clear_packet(k, start);
            k->kind = PTM_MALFORMED;
            k->size = 1;
            ptm_lose_sync(p, start + 1);
            return i + 1;
        }
        s->zeros = 0;
    }
    return len;
}

static void ptm_lose_at(void *parser, void *out, uint8_t header, bool reserved)
{
    struct ptm *p = parser;
    struct ptm_packet *k = out;
    uint64_t offset = k->offset;
    (void)reserved;
    ptm_clear_packet(k, offset);
    k->kind = header & 1 ? PTM_MALFORMED : PTM_RESERVED;
    k->value = header;
    k->size = 1;
    ptm_lose_sync(p, offset + 1);
    p->scan.offset = offset + 1;
}

static enum packet_result ptm_scan_packet(void *parser, struct packet_cursor *c, void *out)
{
    struct ptm *p = parser;
    struct ptm_packet *k = out;
    const uint8_t *start = c->p;
    ptm_clear_packet(k, p->scan.offset);
    int result = ptm_parse_packet(p, c, k);
    if (result == PACKET_DONE)
        k->size = (uint16_t)(c->p - start);
    return (enum packet_result)result;
}

static size_t scan_common(void *parser, const uint8_t *data, size_t len, void *out, size_t max,
                          size_t *count)
{
    return ptm_parse_common(parser, data, len, out, max, count);
}

static const struct packet_format format = {.size = sizeof(struct ptm_packet),
                                            .async = PTM_ASYNC,
                                            .unsynced = PTM_UNSYNCED,
                                            .incomplete = PTM_INCOMPLETE,
                                            .report = ptm_report_bytes,
                                            .zeros = ptm_scan_zeros,
                                            .frequent = scan_common,
                                            .packet = ptm_scan_packet,
                                            .bad = ptm_lose_at};

size_t ptm_parse(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out, size_t max,
                 size_t *count)
{
    return packet_scan_parse(p, &p->scan, &format, data, len, out, max, count);
}

size_t ptm_finish(struct ptm *p, struct ptm_packet *out)
{
    return packet_scan_finish(&p->scan, &format, out);
}
