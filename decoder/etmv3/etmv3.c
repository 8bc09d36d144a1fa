/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv3/etmv3.h"

#include "etmv3_headers.h"
#include "etmv3_parse.h"

#include <string.h>

#define ASYNC_ZEROS 5
#define ASYNC_END   0x80
#define END_MARKER  0x01
#define PER_STEP    3 /* packets that one step may give */

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

void etmv3_init(struct etmv3 *p, const struct etmv3_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
}

static void lose_sync(struct etmv3 *p, uint64_t from)
{
    p->synced = p->in_zeros = p->marker = false;
    p->zeros = 0;
    p->resync_start = from;
    p->ts_valid = false;
    p->ts_raw = 0;
    p->data_base = 0;
    p->data_bits = 0;
    memset(&p->base, 0, sizeof p->base);
}

void etmv3_discontinuity(struct etmv3 *p)
{
    p->offset += p->carry_len;
    p->carry_len = 0;
    lose_sync(p, p->offset);
}

static int single(struct etmv3_packet *k, enum etmv3_kind kind)
{
    k->kind = (uint8_t)kind;
    return PARSED;
}

static int parse_vmid(struct cursor *c, struct etmv3_packet *k)
{
    uint8_t byte;
    if (!next_byte(c, &byte))
        return NEED_MORE;
    k->value = byte;
    return single(k, ETMV3_VMID);
}

static int parse_cycle_count(struct cursor *c, struct etmv3_packet *k)
{
    k->kind = ETMV3_CYCLE_COUNT;
    return etmv3_parse_count(c, &k->cycles) ? PARSED : NEED_MORE;
}

/* Packets that data-only mode has, too (IHI 0014Q 7.4). */
static int parse_common(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k, uint8_t header)
{
    switch (header_class[header / 2]) {
    case H_DATA:
        return etmv3_parse_data(p, c, k, header);
    case H_ISYNC:
        return etmv3_parse_isync(p, c, k, false);
    case H_TRIGGER:
        return single(k, ETMV3_TRIGGER);
    case H_IGNORE:
        return single(k, ETMV3_IGNORE);
    case H_VMID:
        return parse_vmid(c, k);
    case H_TIME:
        return etmv3_parse_timestamp(p, c, k, header);
    case H_CONTEXT:
        return etmv3_parse_context(p, c, k);
    default:
        return BAD;
    }
}

/* What a P-header says; false if it says nothing in this configuration. */
static bool atoms(const struct etmv3 *p, uint8_t header, struct etmv3_packet *k)
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
static int parse_packet(struct etmv3 *p, struct cursor *c, struct etmv3_packet *k)
{
    uint8_t header = *c->p;
    if (header & 1)
        return p->config.data_only ? BAD : etmv3_parse_branch(p, c, k);
    c->p++;
    if (header & 0x80)
        return atoms(p, header, k) ? PARSED : BAD;
    if (p->config.data_only)
        return parse_common(p, c, k, header);
    switch (header_class[header / 2]) {
    case H_ISYNC_COUNT:
        return etmv3_parse_isync(p, c, k, true);
    case H_COUNT:
        return parse_cycle_count(c, k);
    case H_EXIT:
        return single(k, ETMV3_EXC_RETURN);
    case H_ENTRY:
        return single(k, ETMV3_EXC_ENTRY);
    default:
        return parse_common(p, c, k, header);
    }
}

static inline void clear_packet(struct etmv3_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
}

/* A single bad byte: the search for an A-sync starts behind it. */
static void emit_bad(struct etmv3 *p, struct etmv3_packet *k, uint64_t offset, uint8_t header,
                     enum etmv3_kind kind)
{
    clear_packet(k, offset);
    k->kind = (uint8_t)kind;
    k->value = header;
    k->size = 1;
    lose_sync(p, offset + 1);
}

/* Reserved headers have no meaning in this configuration; others begin a packet that is damaged. */
static enum etmv3_kind bad_kind(const struct etmv3 *p, uint8_t header)
{
    if ((header & 1) && !p->config.data_only)
        return ETMV3_MALFORMED;
    uint8_t class = header < 0x80 && !(header & 1) ? header_class[header / 2] : H_BAD;
    return class == H_ISYNC || class == H_ISYNC_COUNT ? ETMV3_MALFORMED : ETMV3_RESERVED;
}

/* Synced, at a header. Returns bytes consumed, one packet stored; 0: wait for more bytes. */
static inline size_t parse_one(struct etmv3 *p, const uint8_t *data, size_t len,
                               struct etmv3_packet *k)
{
    struct cursor c = {data, data + len};
    clear_packet(k, p->offset);
    int result = parse_packet(p, &c, k);
    if (result == NEED_MORE)
        return 0;
    if (result == BAD) {
        emit_bad(p, k, p->offset, *data, bad_kind(p, *data));
        p->offset++;
        return 1;
    }
    k->size = (uint16_t)(c.p - data);
    p->offset += k->size;
    return k->size;
}

/* A-sync (IHI 0014Q 7.10). */

static size_t emit_run(struct etmv3_packet *out, enum etmv3_kind kind, uint64_t from,
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

/* The 0x01 before the zeros was a branch after all: they are not the end of the capture. */
static size_t emit_marker(struct etmv3 *p, struct etmv3_packet *out, uint64_t offset)
{
    static const uint8_t byte = END_MARKER;
    struct cursor c = {&byte, &byte + 1};
    if (!p->marker)
        return 0;
    p->marker = false;
    clear_packet(out, offset);
    etmv3_parse_branch(p, &c, out);
    out->size = 1;
    return 1;
}

/* `zeros` zeros and this byte end at p->offset. */
static size_t end_zeros(struct etmv3 *p, uint8_t byte, struct etmv3_packet *out)
{
    uint64_t start = p->offset - 1 - p->zeros;
    size_t n = emit_marker(p, out, start - 1);
    if (byte == ASYNC_END && p->zeros >= ASYNC_ZEROS) {
        if (!p->synced)
            n += emit_run(out + n, ETMV3_UNSYNCED, p->resync_start, start - p->resync_start);
        n += emit_run(out + n, ETMV3_ASYNC, start, p->zeros + 1);
        p->synced = true;
        p->in_zeros = false;
        p->zeros = 0;
    } else if (p->synced) {
        emit_bad(p, out + n++, start, 0, ETMV3_MALFORMED);
        /* What follows the first zero is looked at again: it has no A-sync, but may begin one. */
    }
    return n;
}

/* Looks for an A-sync, or goes through one. Returns bytes consumed, adds packets. */
static size_t scan_zeros(struct etmv3 *p, const uint8_t *data, size_t len, struct etmv3_packet *out,
                         size_t *count)
{
    for (size_t i = 0; i < len; i++) {
        p->offset++;
        if (data[i] == 0) {
            p->zeros++;
            continue;
        }
        size_t n = end_zeros(p, data[i], out + *count);
        p->zeros = 0;
        *count += n;
        if (n)
            return i + 1;
    }
    return len;
}

static size_t enter_zeros(struct etmv3 *p, bool marker)
{
    p->in_zeros = true;
    p->marker = marker;
    p->offset += marker;
    return marker;
}

/* Up to PER_STEP packets. Returns bytes consumed; 0: more bytes are needed to go on. */
static inline size_t step(struct etmv3 *p, const uint8_t *data, size_t len,
                          struct etmv3_packet *out, size_t *count)
{
    size_t used = 0;
    if (p->synced && !p->in_zeros) {
        if (data[0] == END_MARKER) {
            if (len < 2)
                return 0;
            if (data[1] == 0 && !p->config.data_only)
                used = enter_zeros(p, true);
        } else if (data[0] == 0) {
            enter_zeros(p, false);
        }
    }
    if (!p->synced || p->in_zeros)
        return used + scan_zeros(p, data + used, len - used, out, count);
    used = parse_one(p, data, len, &out[*count]);
    *count += used != 0;
    return used;
}

/* Goes on with the bytes carried over. Returns bytes of `data` consumed. */
static size_t step_carried(struct etmv3 *p, const uint8_t *data, size_t len,
                           struct etmv3_packet *out, size_t *count)
{
    size_t had = p->carry_len;
    size_t take = ETMV3_CARRY - had < len ? ETMV3_CARRY - had : len;
    memcpy(p->carry + had, data, take);
    size_t used = step(p, p->carry, had + take, out, count);
    if (used == 0) {
        p->carry_len = (uint8_t)(had + take);
        return take;
    }
    if (used >= had) {
        p->carry_len = 0;
        return used - had;
    }
    memmove(p->carry, p->carry + used, had - used);
    p->carry_len = (uint8_t)(had - used);
    return 0;
}

size_t etmv3_exception_packet(struct etmv3 *p, const uint8_t *data, const uint8_t *end,
                              struct etmv3_packet *k)
{
    struct cursor c = {data, end};
    if (!(*data & 1) || *data == END_MARKER || etmv3_parse_branch(p, &c, k) != PARSED)
        return 0;
    k->size = (uint16_t)(c.p - data);
    return k->size;
}

size_t etmv3_parse(struct etmv3 *p, const uint8_t *data, size_t len, struct etmv3_packet *out,
                   size_t max, size_t *count)
{
    size_t i = 0, n = 0;
    while (p->carry_len && i < len && n + PER_STEP <= max)
        i += step_carried(p, data + i, len - i, out, &n);
    while (i < len && n + PER_STEP <= max) {
        if (p->synced && !p->in_zeros && data[i] && !p->config.data_only) {
            size_t got =
                etmv3_parse_frequent(p, data + i, len - i, out + n, max - n - (PER_STEP - 1), &n);
            i += got;
            if (got)
                continue;
        }
        size_t used = step(p, data + i, len - i, out, &n);
        if (used == 0) { /* fewer than ETMV3_CARRY bytes: every packet is shorter */
            p->carry_len = (uint8_t)(len - i);
            memcpy(p->carry, data + i, len - i);
            i = len;
            break;
        }
        i += used;
    }
    *count = n;
    return i;
}

size_t etmv3_finish(struct etmv3 *p, struct etmv3_packet *out)
{
    uint64_t start = p->offset - p->zeros;
    if (!p->synced)
        return emit_run(out, ETMV3_UNSYNCED, p->resync_start, p->offset - p->resync_start);
    if (p->marker)
        return emit_run(out, ETMV3_END, start - 1, p->zeros + 1);
    if (p->in_zeros)
        return emit_run(out, ETMV3_INCOMPLETE, start, p->zeros);
    if (p->carry_len == 1 && p->carry[0] == END_MARKER) {
        p->marker = true;
        p->carry_len = 0;
        return emit_marker(p, out, p->offset++);
    }
    return emit_run(out, ETMV3_INCOMPLETE, p->offset, p->carry_len);
}
