/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/ptm/ptm.h"

#include "ptm_internal.h"

#include <string.h>

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
