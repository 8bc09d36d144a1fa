/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/ptm/ptm.h"
#include "ptm_internal.h"

#include <string.h>

/* Registers of the trace unit that shape the stream: IHI 0035B chapter 3. */

#define ETMCR_RETURN_STACK     (1u << 29)
#define ETMCR_CYCLE_ACCURATE   (1u << 12)
#define ETMCR_BRANCH_BROADCAST (1u << 8)
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
    config->branch_broadcast = etmcr & ETMCR_BRANCH_BROADCAST;
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

uint64_t ptm_timestamp(const struct ptm_config *config, uint64_t raw)
{
    if (!config->timestamp_gray)
        return raw;
    for (unsigned shift = 1; shift < 64; shift *= 2)
        raw ^= raw >> shift;
    return raw;
}

/* PTM packets byte by byte: IHI 0035B 4.5. */

#define HDR_ISYNC     0x08
#define HDR_TRIGGER   0x0c
#define HDR_VMID      0x3c
#define HDR_TIMESTAMP 0x42 /* bit 2: clock frequency changed */
#define HDR_IGNORE    0x66
#define HDR_CONTEXT   0x6e

static inline bool next_byte(struct ptm_cursor *c, uint8_t *byte)
{
    if (c->p == c->end)
        return false;
    *byte = *c->p++;
    return true;
}

/* A cycle count (IHI 0035B 4.5.3). The first byte's count bits and continuation are given by the
 * caller. */
static bool count_rest(struct ptm_cursor *c, bool more, uint32_t *count)
{
    uint8_t byte = 0;
    for (unsigned i = 0; more && i < 4; i++) {
        if (!next_byte(c, &byte))
            return false;
        *count |= (uint32_t)(byte & 0x7f) << (4 + 7 * i);
        more = byte & 0x80;
    }
    return true;
}

static bool cycle_count(struct ptm_cursor *c, struct ptm_packet *k)
{
    uint8_t byte;
    if (!next_byte(c, &byte))
        return false;
    k->cycles = byte >> 2 & 0xf;
    k->flags |= PTM_HAS_CYCLES;
    return count_rest(c, byte & 0x40, &k->cycles);
}

static bool context_id(const struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
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
static int parse_isync(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    if (c->end - c->p < 6)
        return PTM_NEED_MORE;
    const uint8_t *b = c->p + 1;
    uint32_t address = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    uint8_t info = b[4];
    c->p += 6;
    k->number = info >> 5 & 3;
    if (p->config.cycle_accurate && k->number != 0 && !cycle_count(c, k))
        return PTM_NEED_MORE;
    if (!context_id(p, c, k))
        return PTM_NEED_MORE;
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
static bool address_bytes(struct ptm_cursor *c, struct address *a)
{
    uint8_t byte;
    if (!next_byte(c, &byte))
        return false;
    a->value = byte >> 1 & 0x3f;
    a->bytes = 1;
    a->e = false;
    unsigned shift = 6;
    while ((byte & 0x80) && a->bytes < 5) {
        if (!next_byte(c, &byte))
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
static int parse_branch(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    struct address a;
    uint8_t info0 = 0, info1 = 0;
    if (!address_bytes(c, &a))
        return PTM_NEED_MORE;
    if (a.e && !next_byte(c, &info0))
        return PTM_NEED_MORE;
    bool second = a.e && (info0 & 0x80);
    if (second && !next_byte(c, &info1))
        return PTM_NEED_MORE;
    if (info1 & 0x80)
        return PTM_BAD;
    if (p->config.cycle_accurate && !cycle_count(c, k))
        return PTM_NEED_MORE;
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
static int parse_update(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    struct address a;
    uint8_t info;
    c->p++;
    if (!address_bytes(c, &a))
        return PTM_NEED_MORE;
    bool thumb5 = a.bytes == 5 && (a.fifth & 0x30) == 0x10;
    bool has_info = thumb5 && a.e;
    if (has_info && !next_byte(c, &info))
        return PTM_NEED_MORE;
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
    if (!p->config.update_keeps_base)
        p->last_address = address;
    return 1;
}

/* Timestamps (IHI 0035B 4.5): least significant group first; missing groups keep their old bits. */
static int parse_timestamp(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    unsigned last = p->config.timestamp64 ? 9 : 7;
    uint64_t value = 0;
    unsigned bits = 0;
    uint8_t byte, header = *c->p++;
    for (unsigned n = 1;; n++) {
        if (!next_byte(c, &byte))
            return PTM_NEED_MORE;
        if (n == last) {
            unsigned width = p->config.timestamp64 ? 8 : 6;
            value |= (uint64_t)(byte & ((1u << width) - 1)) << bits;
            bits += width;
            break;
        }
        value |= (uint64_t)(byte & 0x7f) << bits;
        bits += 7;
        if (!(byte & 0x80))
            break;
    }
    if (p->config.cycle_accurate && !cycle_count(c, k))
        return PTM_NEED_MORE;
    bool full = bits >= 48 && (bits == 64 || !p->config.timestamp64);
    uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    p->ts_raw = (p->ts_raw & ~mask) | value;
    p->ts_valid |= full;
    k->kind = PTM_TIMESTAMP;
    k->value = p->ts_raw;
    k->n = (uint8_t)bits;
    k->flags |= (p->ts_valid ? PTM_TS_VALID : 0) | (header & 4 ? PTM_TS_FREQ : 0);
    return 1;
}

static int parse_context(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    c->p++;
    k->kind = PTM_CONTEXT;
    return context_id(p, c, k) ? 1 : PTM_NEED_MORE;
}

static int parse_vmid(struct ptm_cursor *c, struct ptm_packet *k)
{
    if (c->end - c->p < 2)
        return PTM_NEED_MORE;
    k->kind = PTM_VMID;
    k->value = c->p[1];
    c->p += 2;
    return 1;
}

static int parse_single(struct ptm_cursor *c, struct ptm_packet *k, enum ptm_kind kind)
{
    c->p++;
    k->kind = (uint8_t)kind;
    return 1;
}

/* IHI 0035B 4.5.3: one atom with its count. */
static int parse_atom_cycles(struct ptm_cursor *c, struct ptm_packet *k)
{
    uint8_t header = *c->p++;
    k->kind = PTM_ATOM;
    k->n = 1;
    k->value = header >> 1 & 1;
    k->cycles = header >> 2 & 0xf;
    k->flags = PTM_HAS_CYCLES;
    return count_rest(c, header & 0x40, &k->cycles) ? 1 : PTM_NEED_MORE;
}

/* IHI 0035B 4.5.3: the atoms below the marker bit, the oldest next to it. */
static inline void atoms(uint8_t header, struct ptm_packet *k)
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

static int parse_atoms(const struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    if (p->config.cycle_accurate)
        return parse_atom_cycles(c, k);
    if (*c->p < 0x84)
        return PTM_BAD;
    atoms(*c->p++, k);
    return 1;
}

static int ptm_parse_packet(struct ptm *p, struct ptm_cursor *c, struct ptm_packet *k)
{
    uint8_t header = *c->p;
    if (header & 1)
        return parse_branch(p, c, k);
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
        return parse_context(p, c, k);
    case HDR_VMID:
        return parse_vmid(c, k);
    case PTM_HDR_EXC_RETURN:
        return parse_single(c, k, PTM_EXC_RETURN);
    case HDR_TRIGGER:
        return parse_single(c, k, PTM_TRIGGER);
    case HDR_IGNORE:
        return parse_single(c, k, PTM_IGNORE);
    default:
        return PTM_BAD;
    }
}

#define ASYNC_ZEROS 5
#define ASYNC_END   0x80

void ptm_init(struct ptm *p, const struct ptm_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
}

static void lose_sync(struct ptm *p, uint64_t from)
{
    p->synced = p->based = false;
    p->in_zeros = false;
    p->zeros = 0;
    p->resync_start = from;
    p->ts_valid = false;
    p->ts_raw = 0;
    p->last_address = 0;
    p->last_isa = BT_ISA_A32;
    p->last_alt_isa = p->last_ns = p->last_hyp = false;
}

void ptm_discontinuity(struct ptm *p)
{
    p->offset += p->carry_len;
    p->carry_len = 0;
    lose_sync(p, p->offset);
}

static void clear_packet(struct ptm_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
}

static size_t emit_skipped(struct ptm_packet *out, enum ptm_kind kind, uint64_t from,
                           uint64_t count)
{
    if (count == 0)
        return 0;
    clear_packet(out, from);
    out->kind = (uint8_t)kind;
    out->value = count;
    out->size = count < 0xffff ? (uint16_t)count : 0xffff;
    return 1;
}

/* A-sync complete at p->offset (behind the 0x80). Gives the skipped bytes before it, too. */
static size_t emit_async(struct ptm *p, struct ptm_packet *out)
{
    uint64_t start = p->offset - 1 - p->zeros;
    size_t n = 0;
    if (!p->synced)
        n = emit_skipped(out, PTM_UNSYNCED, p->resync_start, start - p->resync_start);
    emit_skipped(out + n, PTM_ASYNC, start, p->zeros + 1);
    p->synced = true;
    p->in_zeros = false;
    p->zeros = 0;
    return n + 1;
}

/* Looks for an A-sync, or goes through one. Returns bytes consumed, adds packets. */
static size_t scan_zeros(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out,
                         size_t *count)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = data[i];
        p->offset++;
        if (byte == 0) {
            p->zeros++;
            continue;
        }
        if (byte == ASYNC_END && p->zeros >= ASYNC_ZEROS) {
            *count += emit_async(p, out + *count);
            return i + 1;
        }
        if (p->synced) { /* zeros that did not become an A-sync */
            uint64_t start = p->offset - 1 - p->zeros;
            struct ptm_packet *k = &out[(*count)++];
            clear_packet(k, start);
            k->kind = PTM_MALFORMED;
            k->size = 1;
            lose_sync(p, start + 1);
            return i + 1;
        }
        p->zeros = 0;
    }
    return len;
}

/* Bad header at k->offset: the search starts at the byte behind it. */
static void lose_at(struct ptm *p, struct ptm_packet *k, uint8_t header)
{
    uint64_t offset = k->offset;
    clear_packet(k, offset);
    k->kind = header & 1 ? PTM_MALFORMED : PTM_RESERVED;
    k->value = header;
    k->size = 1;
    lose_sync(p, offset + 1);
    p->offset = offset + 1;
}

/* Completes the packet whose begin was carried over. Returns bytes of `data` consumed. */
static size_t parse_carried(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out,
                            size_t *count)
{
    size_t had = p->carry_len;
    size_t take = PTM_CARRY - had < len ? PTM_CARRY - had : len;
    memcpy(p->carry + had, data, take);
    struct ptm_cursor c = {p->carry, p->carry + had + take};
    struct ptm_packet *k = &out[*count];
    clear_packet(k, p->offset);
    int result = ptm_parse_packet(p, &c, k);
    if (result == PTM_NEED_MORE) {
        p->carry_len = (uint8_t)(had + take);
        return take;
    }
    (*count)++;
    p->carry_len = 0;
    if (result == PTM_BAD) {
        /* The carried bytes behind the header have no zeros that matter: they are looked at
         * again here, the rest by the caller. */
        uint8_t tail[PTM_CARRY];
        memcpy(tail, p->carry + 1, had - 1);
        lose_at(p, k, p->carry[0]);
        scan_zeros(p, tail, had - 1, out, count);
        return 0;
    }
    size_t size = (size_t)(c.p - p->carry);
    k->size = (uint16_t)size;
    p->offset += size;
    return size - had;
}

/* Synced, at a header with all of `data` at hand. Returns bytes consumed; 0: carry the rest. */
static inline size_t parse_one(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *k)
{
    struct ptm_cursor c = {data, data + len};
    clear_packet(k, p->offset);
    int result = ptm_parse_packet(p, &c, k);
    if (result == PTM_NEED_MORE)
        return 0;
    if (result == PTM_BAD) {
        lose_at(p, k, *data);
        return 1;
    }
    k->size = (uint16_t)(c.p - data);
    p->offset += k->size;
    return k->size;
}

size_t ptm_parse(struct ptm *p, const uint8_t *data, size_t len, struct ptm_packet *out, size_t max,
                 size_t *count)
{
    size_t i = 0, n = 0;
    if (p->carry_len && len)
        i = parse_carried(p, data, len, out, &n);
    while (i < len && n + 2 <= max) {
        if (!p->synced || p->in_zeros) {
            i += scan_zeros(p, data + i, len - i, out, &n);
            continue;
        }
        i += ptm_parse_common(p, data + i, len - i, out, max - 1, &n);
        if (i == len || n + 2 > max)
            break;
        if (data[i] == 0) {
            p->in_zeros = true;
            continue;
        }
        size_t used = parse_one(p, data + i, len - i, &out[n]);
        if (used == 0) { /* fewer than PTM_CARRY bytes: every packet is shorter */
            p->carry_len = (uint8_t)(len - i);
            memcpy(p->carry, data + i, len - i);
            i = len;
            break;
        }
        i += used;
        n++;
    }
    *count = n;
    return i;
}

size_t ptm_finish(struct ptm *p, struct ptm_packet *out)
{
    if (!p->synced)
        return emit_skipped(out, PTM_UNSYNCED, p->resync_start, p->offset - p->resync_start);
    if (p->in_zeros)
        return emit_skipped(out, PTM_INCOMPLETE, p->offset - p->zeros, p->zeros);
    return emit_skipped(out, PTM_INCOMPLETE, p->offset, p->carry_len);
}
