/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds packets in a stream of bytes: what the parsers of PTM, ETMv3 and ETMv4 share. Their streams
 * synchronise at an A-sync, a run of zeros with a byte behind it; a packet may be cut by the end of
 * the input, and is then carried over to the next one.
 *
 * A protocol describes itself in a constant struct packet_format. All is inline, and calls of its
 * members become direct ones: each parser has its own loop. Offsets and sizes are in bytes; nothing
 * is allocated, and bad input never fails. For parsers; private to decoder/.
 */
#ifndef DECODER_PACKET_SCAN_H
#define DECODER_PACKET_SCAN_H

#include "btrace/types.h"
#include "decoder/base/bytes.h"

#include <string.h>

#define PACKET_CARRY 32 /* longer than any packet but A-sync */

/* Where a parser is; plain data. */
struct packet_scan {
    uint64_t offset;       /* of the next byte to be read */
    uint64_t resync_start; /* offset where the search for an A-sync began */
    uint64_t zeros;        /* length of the run of zero bytes before `offset` */
    bool synced;           /* an A-sync was seen since the last loss */
    bool in_zeros;         /* inside an A-sync (or what may become one) */
    uint8_t carry_len;
    uint8_t carry[PACKET_CARRY]; /* begin of a packet whose end has not come yet */
};

/* Bytes of one packet while it is taken apart; `p` ends behind the packet. */
struct packet_cursor {
    const uint8_t *p;
    const uint8_t *end;
};

/* What taking a packet apart comes to. */
enum packet_result {
    PACKET_BAD = -1,
    PACKET_NEED_MORE, /* it does not end within the bytes at hand; the state has not changed */
    PACKET_DONE,
};

struct packet_format {
    size_t size;                         /* of a packet's record */
    uint8_t async, unsynced, incomplete; /* kinds */

    /* A record of this kind that stands for `count` bytes from `from` on. */
    void (*report)(void *out, uint8_t kind, uint64_t from, uint64_t count);

    /* Zeros, or the search for an A-sync: until one, or until it is clear that there is none.
     * Returns bytes consumed, adds to *count the packets at out[*count]: two at most. */
    size_t (*zeros)(void *parser, const uint8_t *data, size_t len, void *out, size_t *count);

    /* Frequent packets from a header on, up to out[max - 1]. Returns bytes consumed. NULL: none. */
    size_t (*frequent)(void *parser, const uint8_t *data, size_t len, void *out, size_t max,
                       size_t *count);

    /* One packet that is no A-sync, but for the parser's offset. */
    enum packet_result (*packet)(void *parser, struct packet_cursor *c, void *out);

    /* It was bad: the search starts at the byte behind its header. `reserved`: that showed it. */
    void (*bad)(void *parser, void *out, uint8_t header, bool reserved);
};

static inline bool packet_has(const struct packet_cursor *c, size_t n)
{
    return (size_t)(c->end - c->p) >= n;
}

static inline bool packet_byte(struct packet_cursor *c, uint8_t *byte)
{
    if (c->p == c->end)
        return false;
    *byte = *c->p++;
    return true;
}

/* A number of n bytes, least significant first. */
static inline bool packet_number(struct packet_cursor *c, unsigned n, uint32_t *value)
{
    if (!packet_has(c, n))
        return false;
    *value = 0;
    for (unsigned i = 0; i < n; i++)
        *value |= (uint32_t)*c->p++ << 8 * i;
    return true;
}

/*
 * A timestamp of up to 48 bits in 7 bytes, or `wide`, of 64 in 9 (IHI 0035B 4.5, IHI 0014Q 7.7):
 * the groups that were sent, least significant first, and the number of their bits.
 */
static inline bool packet_timestamp(struct packet_cursor *c, bool wide, uint64_t *value,
                                    unsigned *bits)
{
    unsigned last = wide ? 9 : 7;
    uint8_t byte = 0x80;
    *value = 0;
    *bits = 0;
    for (unsigned n = 1; n < last && (byte & 0x80); n++, *bits += 7) {
        if (!packet_byte(c, &byte))
            return false;
        *value |= (uint64_t)(byte & 0x7f) << *bits;
    }
    if (byte & 0x80) { /* the last byte is all data */
        unsigned width = wide ? 8 : 6;
        if (!packet_byte(c, &byte))
            return false;
        *value |= (uint64_t)(byte & ((1u << width) - 1)) << *bits;
        *bits += width;
    }
    return true;
}

/* `raw` with the groups of a timestamp: missing ones keep their old bits. */
static inline uint64_t packet_merge_time(uint64_t raw, uint64_t value, unsigned bits)
{
    uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    return (raw & ~mask) | value;
}

/* Time from a merged raw value: Gray code undone where the unit sends it (IHI 0035B 2.4, IHI 0014Q
 * 7.7). */
static inline uint64_t packet_time(uint64_t raw, bool gray)
{
    for (unsigned shift = 1; gray && shift < 64; shift *= 2)
        raw ^= raw >> shift;
    return raw;
}

/* A record's size: 0xffff where it is larger, see its value. */
static inline uint16_t packet_size16(uint64_t count)
{
    return count < 0xffff ? (uint16_t)count : 0xffff;
}

/* Not synchronised from there on. */
static inline void packet_scan_lose(struct packet_scan *s, uint64_t from)
{
    s->synced = s->in_zeros = false;
    s->zeros = 0;
    s->resync_start = from;
}

/* Bytes are missing: what was carried over is lost, too. */
static inline void packet_scan_skip(struct packet_scan *s)
{
    s->offset += s->carry_len;
    s->carry_len = 0;
}

static inline void *packet_at(const struct packet_format *f, void *out, size_t i)
{
    return (char *)out + i * f->size;
}

/* Returns the number of records: none of no bytes. */
static inline size_t packet_report(const struct packet_format *f, void *out, uint8_t kind,
                                   uint64_t from, uint64_t count)
{
    if (count)
        f->report(out, kind, from, count);
    return count != 0;
}

/* A-sync complete at s->offset. Gives the skipped bytes before it, too. */
static inline size_t packet_scan_async(struct packet_scan *s, const struct packet_format *f,
                                       void *out)
{
    uint64_t start = s->offset - 1 - s->zeros;
    size_t n = 0;
    if (!s->synced)
        n = packet_report(f, out, f->unsynced, s->resync_start, start - s->resync_start);
    packet_report(f, packet_at(f, out, n), f->async, start, s->zeros + 1);
    s->synced = true;
    s->in_zeros = false;
    s->zeros = 0;
    return n + 1;
}

/* End of stream: 0 or 1 record. */
static inline size_t packet_scan_finish(const struct packet_scan *s, const struct packet_format *f,
                                        void *out)
{
    if (!s->synced)
        return packet_report(f, out, f->unsynced, s->resync_start, s->offset - s->resync_start);
    if (s->in_zeros)
        return packet_report(f, out, f->incomplete, s->offset - s->zeros, s->zeros);
    return packet_report(f, out, f->incomplete, s->offset, s->carry_len);
}

/* Completes the packet whose begin was carried over. Returns bytes of `data` consumed. */
static inline size_t packet_scan_carried(void *parser, struct packet_scan *s,
                                         const struct packet_format *f, const uint8_t *data,
                                         size_t len, void *out, size_t *count)
{
    size_t had = s->carry_len;
    size_t take = PACKET_CARRY - had < len ? PACKET_CARRY - had : len;
    memcpy(s->carry + had, data, take);
    struct packet_cursor c = {s->carry, s->carry + had + take};
    enum packet_result result = f->packet(parser, &c, out);
    if (result == PACKET_NEED_MORE) {
        s->carry_len = (uint8_t)(had + take);
        return take;
    }
    (*count)++;
    s->carry_len = 0;
    if (result == PACKET_BAD) {
        /* The byte that shows it has yet to be taken. Those behind the header are looked at again:
         * they hold no A-sync. */
        uint8_t tail[PACKET_CARRY];
        memcpy(tail, s->carry + 1, had - 1);
        f->bad(parser, out, s->carry[0], false);
        f->zeros(parser, tail, had - 1, out, count);
        return 0;
    }
    size_t size = (size_t)(c.p - s->carry);
    s->offset += size;
    return size - had;
}

/* Synced, at a header with all of `data` at hand. Returns bytes consumed; 0: carry the rest. */
static inline size_t packet_scan_one(void *parser, struct packet_scan *s,
                                     const struct packet_format *f, const uint8_t *data, size_t len,
                                     void *out)
{
    struct packet_cursor c = {data, data + len};
    enum packet_result result = f->packet(parser, &c, out);
    if (result == PACKET_NEED_MORE)
        return 0;
    if (result == PACKET_BAD) {
        f->bad(parser, out, *data, c.p == data);
        return 1;
    }
    s->offset += (size_t)(c.p - data);
    return (size_t)(c.p - data);
}

/*
 * Parses `len` bytes into at most `max` records (max >= 2); stores their number in *count. Returns
 * the bytes consumed: fewer than `len` only when `out` is full.
 */
static inline __attribute__((always_inline)) size_t
packet_scan_parse(void *parser, struct packet_scan *s, const struct packet_format *f,
                  const uint8_t *data, size_t len, void *out, size_t max, size_t *count)
{
    size_t i = 0, n = 0;
    if (s->carry_len && len)
        i = packet_scan_carried(parser, s, f, data, len, out, &n);
    while (i < len && n + 2 <= max) {
        if (!s->synced || s->in_zeros) {
            i += f->zeros(parser, data + i, len - i, out, &n);
            continue;
        }
        if (f->frequent)
            i += f->frequent(parser, data + i, len - i, out, max - 1, &n);
        if (i == len || n + 2 > max)
            break;
        if (data[i] == 0) {
            s->in_zeros = true;
            continue;
        }
        size_t used = packet_scan_one(parser, s, f, data + i, len - i, packet_at(f, out, n));
        if (used == 0) { /* fewer than PACKET_CARRY bytes: every packet is shorter */
            s->carry_len = (uint8_t)(len - i);
            memcpy(s->carry, data + i, len - i);
            i = len;
            break;
        }
        i += used;
        n++;
    }
    *count = n;
    return i;
}

#endif
