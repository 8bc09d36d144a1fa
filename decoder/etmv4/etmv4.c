/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4/etmv4.h"

#include "etmv4_forms.h"

#include <string.h>

#define ASYNC_ZEROS 11
#define ASYNC_END   0x80

#define EXT_DISCARD      0x03
#define EXT_OVERFLOW     0x05
#define EXT_FUTURE_FLUSH 0x07

void etmv4_init(struct etmv4 *p, const struct etmv4_config *config)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
    p->lost = true;
}

static void lose_sync(struct etmv4 *p, uint64_t from)
{
    p->synced = p->in_zeros = false;
    p->lost = true;
    p->zeros = 0;
    p->resync_start = from;
}

void etmv4_discontinuity(struct etmv4 *p)
{
    p->offset += p->carry_len;
    p->carry_len = 0;
    lose_sync(p, p->offset);
}

static struct etmv4_packet *clear_packet(struct etmv4_packet *k, uint64_t offset)
{
    memset(k, 0, sizeof *k);
    k->offset = offset;
    return k;
}

static size_t emit_bytes(struct etmv4_packet *out, enum etmv4_kind kind, uint64_t from,
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
static size_t emit_async(struct etmv4 *p, struct etmv4_packet *out)
{
    uint64_t start = p->offset - 1 - p->zeros;
    size_t n = 0;
    if (!p->synced)
        n = emit_bytes(out, ETMV4_UNSYNCED, p->resync_start, start - p->resync_start);
    emit_bytes(out + n, ETMV4_ASYNC, start, p->zeros + 1);
    p->synced = true;
    p->in_zeros = false;
    p->zeros = 0;
    return n + 1;
}

static void emit_bad(struct etmv4_packet *k, uint64_t offset, uint8_t header, bool reserved)
{
    clear_packet(k, offset);
    k->kind = reserved ? ETMV4_RESERVED : ETMV4_MALFORMED;
    k->header = header;
    k->value = header;
    k->size = 1;
}

/* A zero byte and another one behind it, in a synchronised stream: p->offset is behind both. */
static void emit_extension(struct etmv4 *p, uint8_t code, struct etmv4_packet *k)
{
    uint64_t start = p->offset - 2;
    bool flush = code == EXT_FUTURE_FLUSH && p->config.m_profile;
    p->in_zeros = false;
    p->zeros = 0;
    clear_packet(k, start);
    k->size = 2;
    if (code != EXT_DISCARD && code != EXT_OVERFLOW && !flush) {
        emit_bad(k, start, 0, false);
        lose_sync(p, start + 1);
        return;
    }
    k->kind = flush ? ETMV4_FUTURE_FLUSH : code == EXT_DISCARD ? ETMV4_DISCARD : ETMV4_OVERFLOW;
    if (!flush)
        lose_sync(p, p->offset);
}

/* A run of zeros that can be no A-sync: one too many, or it ends with another byte. */
static void emit_bad_zeros(struct etmv4 *p, uint64_t start, uint64_t zeros_left,
                           struct etmv4_packet *k)
{
    emit_bad(k, start, 0, false);
    lose_sync(p, start + 1);
    p->zeros = zeros_left;
}

/* Looks for an A-sync, or goes through one. Returns bytes consumed, adds packets. */
static size_t scan_zeros(struct etmv4 *p, const uint8_t *data, size_t len, struct etmv4_packet *out,
                         size_t *count)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = data[i];
        uint64_t start = p->offset - p->zeros;
        p->offset++;
        if (byte == 0) {
            p->zeros++;
            if (!p->synced || p->zeros <= ASYNC_ZEROS)
                continue;
            emit_bad_zeros(p, start, ASYNC_ZEROS, &out[(*count)++]);
            return i + 1;
        }
        if (byte == ASYNC_END && p->zeros >= ASYNC_ZEROS) {
            *count += emit_async(p, out + *count);
            return i + 1;
        }
        if (p->synced && p->zeros == 1) {
            emit_extension(p, byte, &out[(*count)++]);
            return i + 1;
        }
        if (p->synced) {
            emit_bad_zeros(p, start, 0, &out[(*count)++]);
            return i + 1;
        }
        p->zeros = 0;
    }
    return len;
}

/* Bad packet at k->offset: the search starts at the byte behind its header. */
static void lose_at(struct etmv4 *p, struct etmv4_packet *k, uint8_t header, bool reserved)
{
    uint64_t offset = k->offset;
    emit_bad(k, offset, header, reserved);
    lose_sync(p, offset + 1);
    p->offset = offset + 1;
}

/*
 * IHI 0064H.b chapter 6 has nothing but events between A-sync and Trace Info, but a Cortex-A53 was
 * seen to put an atom there: so all packets are taken, and the flow is told which Trace Info is the
 * first. */
static int parse_at(struct etmv4 *p, struct etmv4_cursor *c, struct etmv4_packet *k)
{
    k->header = *c->p;
    const uint8_t *start = c->p;
    int result = etmv4_parse_packet(p, c, k);
    if (result != 1)
        return result;
    k->size = (uint16_t)(c->p - start);
    if (k->kind == ETMV4_TRACE_INFO) {
        k->flags |= p->lost ? ETMV4_STARTING : 0;
        p->lost = false;
    }
    return 1;
}

static void move_on(struct etmv4 *p, const struct etmv4_packet *k)
{
    p->offset += k->size;
    if (k->kind == ETMV4_RESYNC)
        lose_sync(p, p->offset);
}

/* Completes the packet whose begin was carried over. Returns bytes of `data` consumed. */
static size_t parse_carried(struct etmv4 *p, const uint8_t *data, size_t len,
                            struct etmv4_packet *out, size_t *count)
{
    size_t had = p->carry_len;
    size_t take = ETMV4_CARRY - had < len ? ETMV4_CARRY - had : len;
    memcpy(p->carry + had, data, take);
    struct etmv4_cursor c = {p->carry, p->carry + had + take};
    struct etmv4_packet *k = clear_packet(&out[*count], p->offset);
    int result = parse_at(p, &c, k);
    if (result == ETMV4_NEED_MORE) {
        p->carry_len = (uint8_t)(had + take);
        return take;
    }
    (*count)++;
    p->carry_len = 0;
    if (result == ETMV4_BAD) {
        /* The byte that shows it is not zero and not in the carried ones: these hold no A-sync. */
        uint8_t tail[ETMV4_CARRY];
        memcpy(tail, p->carry + 1, had - 1);
        lose_at(p, k, p->carry[0], false);
        scan_zeros(p, tail, had - 1, out, count);
        return 0;
    }
    move_on(p, k);
    return k->size - had;
}

/* Synced, at a header with all of `data` at hand. Returns bytes consumed; 0: carry the rest. */
static inline size_t parse_one(struct etmv4 *p, const uint8_t *data, size_t len,
                               struct etmv4_packet *k)
{
    struct etmv4_cursor c = {data, data + len};
    clear_packet(k, p->offset);
    int result = parse_at(p, &c, k);
    if (result == ETMV4_NEED_MORE)
        return 0;
    if (result == ETMV4_BAD) {
        lose_at(p, k, *data, c.p == data);
        return 1;
    }
    move_on(p, k);
    return k->size;
}

size_t etmv4_parse(struct etmv4 *p, const uint8_t *data, size_t len, struct etmv4_packet *out,
                   size_t max, size_t *count)
{
    size_t i = 0, n = 0;
    if (p->carry_len && len)
        i = parse_carried(p, data, len, out, &n);
    while (i < len && n + 2 <= max) {
        if (!p->synced || p->in_zeros) {
            i += scan_zeros(p, data + i, len - i, out, &n);
            continue;
        }
        i += etmv4_parse_frequent(p, data + i, len - i, out, max - 1, &n);
        if (i == len || n + 2 > max)
            break;
        if (data[i] == 0) {
            p->in_zeros = true;
            continue;
        }
        size_t used = parse_one(p, data + i, len - i, &out[n]);
        if (used == 0) { /* fewer than ETMV4_CARRY bytes: every packet is shorter */
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

size_t etmv4_finish(struct etmv4 *p, struct etmv4_packet *out)
{
    if (!p->synced)
        return emit_bytes(out, ETMV4_UNSYNCED, p->resync_start, p->offset - p->resync_start);
    if (p->in_zeros)
        return emit_bytes(out, ETMV4_INCOMPLETE, p->offset - p->zeros, p->zeros);
    return emit_bytes(out, ETMV4_INCOMPLETE, p->offset, p->carry_len);
}
