/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/port/formatter.h"
#include "decoder/base/bytes.h"

#include <string.h>

#define FULL_SYNC 0xffffff7fu /* last four bytes, newest in the low byte */
#define RUN_MAX   4096

/* In the loop over frames a call of each would cost as much as the frame. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Bytes of each source, gathered until the call ends, a mark comes, or there is no room: sources in
 * turns of a few bytes would cost a run a turn. A frame may be stored whole where some bytes of it
 * count, so there is room for more.
 */
#define SLOTS     8
#define SPLIT_MAX 24u /* half syncs, in and before a frame that is looked for */
struct slot {
    uint64_t offset;
    uint32_t len;
    uint8_t id;
    uint8_t data[RUN_MAX + 2 * FORMATTER_FRAME];
};

struct gather {
    formatter_sink *sink;
    void *ctx;
    unsigned used;
    bool in_turn;                          /* of the slots one at most has bytes */
    uint8_t slot_of[FORMATTER_ID_MAX + 1]; /* 0: none */
    struct slot slots[1 + SLOTS];          /* the first is nobody's and empty; valid up to `used` */
};

static void gather_init(struct gather *g, formatter_sink *sink, void *ctx)
{
    g->sink = sink;
    g->ctx = ctx;
    g->used = 0;
    g->slots[0].len = 0;
    memset(g->slot_of, 0, sizeof g->slot_of);
}

static void slot_flush(const struct gather *g, struct slot *s)
{
    if (s->len == 0)
        return;
    struct formatter_run run = {s->offset, s->data, s->len, FORMATTER_DATA, s->id};
    g->sink(g->ctx, &run);
    s->len = 0;
}

static void gather_flush(struct gather *g)
{
    for (unsigned k = 1; k <= g->used; k++)
        slot_flush(g, &g->slots[k]);
}

static struct slot *slot_new(struct gather *g, uint8_t id)
{
    if (g->used == SLOTS) {
        gather_flush(g);
        gather_init(g, g->sink, g->ctx);
    }
    struct slot *s = &g->slots[++g->used];
    s->len = 0;
    s->id = id;
    g->slot_of[id] = (uint8_t)g->used;
    return s;
}

/* Empty, or full, or there is none. */
static __attribute__((noinline)) struct slot *slot_begin(struct gather *g, uint8_t id,
                                                         uint64_t offset)
{
    unsigned n = g->slot_of[id];
    struct slot *s = n ? &g->slots[n] : slot_new(g, id);
    slot_flush(g, s);
    if (g->in_turn)
        gather_flush(g);
    s->offset = offset;
    return s;
}

/* Where bytes of a source go, at least a frame of them; `id` is 1 to FORMATTER_ID_MAX. */
static ALWAYS_INLINE struct slot *slot_for(struct gather *g, uint8_t id, uint64_t offset)
{
    struct slot *s = &g->slots[g->slot_of[id]];
    return s->len - 1 < RUN_MAX - FORMATTER_FRAME ? s : slot_begin(g, id, offset);
}

static void emit_mark(struct gather *g, enum formatter_kind kind, uint64_t offset)
{
    gather_flush(g);
    struct formatter_run run = {offset, NULL, 0, (uint8_t)kind, FORMATTER_ID_UNKNOWN};
    g->sink(g->ctx, &run);
}

void formatter_init(struct formatter *f, enum formatter_mode mode)
{
    memset(f, 0, sizeof *f);
    f->mode = (uint8_t)mode;
    f->aligned = mode == FORMATTER_ALIGNED;
    f->id = FORMATTER_ID_UNKNOWN;
}

/* Everything that depends on earlier bytes is void. */
static void formatter_lose(struct formatter *f, struct gather *g, bool keep_alignment)
{
    f->losses++;
    f->skipped += f->fill;
    f->fill = 0;
    f->id = FORMATTER_ID_UNKNOWN;
    f->want_sync_tail = false;
    f->aligned = keep_alignment;
    f->window = 0;
    emit_mark(g, FORMATTER_LOSS, f->offset);
}

/* Bytes of IDs that are no trace source: of padding, triggers and reserved ones only triggers mean
 * something (IHI 0029E, trace formatter). */
static void take_special(struct formatter *f, struct gather *g, unsigned len)
{
    while (f->id == FORMATTER_ID_TRIGGER && len--)
        emit_mark(g, FORMATTER_TRIGGER, f->frame_offset);
}

/*
 * A frame as two numbers, byte 0 lowest: its even bytes, the ones that may be IDs, are looked at in
 * one go, and what belongs to one source moves as a whole.
 */
struct frame {
    uint64_t low, high;
};

#define EVEN_BIT0 0x0001000100010001u
#define EVEN_BITS 0x00ff00ff00ff00ffu
#define EVEN_IDS  0x00fe00fe00fe00feu

/* Bit 0 of each even byte that has the ID 0 or one above FORMATTER_ID_MAX. No branches: nobody
 * could predict how many IDs a frame has. */
static inline uint64_t special_ids(uint64_t half)
{
    uint64_t above = (half & half << 1 & half << 2) >> 7;
    uint64_t some = ((half & EVEN_IDS) + EVEN_IDS) >> 8;
    return (above | ~some) & half & EVEN_BIT0;
}

/* Bytes from number `begin` on, 1 to 15; zeros follow. */
static inline struct frame skip_bytes(struct frame frame, unsigned begin)
{
    if (begin >= 8)
        return (struct frame){frame.high >> 8 * (begin - 8), 0};
    return (struct frame){frame.low >> 8 * begin | frame.high << (64 - 8 * begin),
                          frame.high >> 8 * begin};
}

/* Bit 0 of each even byte, the first one lowest. No two of the products meet. */
static inline unsigned even_bits(uint64_t half)
{
    return (unsigned)((half & EVEN_BIT0) * 0x0001000200040008u >> 48) & 0xf;
}

/* What the aux byte puts back into the frame: its bit n is bit 0 of byte 2n. One frame more can be
 * read. */
#define BITS(aux)       (aux) & 1, 0, (aux) >> 1 & 1, 0, (aux) >> 2 & 1, 0, (aux) >> 3 & 1, 0
#define FRAME(aux)      BITS(aux), BITS((aux) >> 4)
#define FOUR(aux)       FRAME(aux), FRAME((aux) + 1), FRAME((aux) + 2), FRAME((aux) + 3)
#define SIXTEEN(aux)    FOUR(aux), FOUR((aux) + 4), FOUR((aux) + 8), FOUR((aux) + 12)
#define SIXTY_FOUR(aux) SIXTEEN(aux), SIXTEEN((aux) + 16), SIXTEEN((aux) + 32), SIXTEEN((aux) + 48)
static const uint8_t put_back[257 * FORMATTER_FRAME] = {SIXTY_FOUR(0), SIXTY_FOUR(64),
                                                        SIXTY_FOUR(128), SIXTY_FOUR(192)};

/* Bit 15 of each pair that begins with FF; above the lowest one others may be set. */
static inline uint64_t even_ffs(uint64_t half)
{
    uint64_t zero_if_ff = ~half & EVEN_BITS;
    return (zero_if_ff - EVEN_BIT0) & ~zero_if_ff & EVEN_BIT0 << 15;
}

/* The first `len` bytes of `data`, 1 to 15, belong to the current source. */
static ALWAYS_INLINE void take_data(struct formatter *f, struct gather *g, struct frame data,
                                    unsigned len)
{
    if (f->id == 0 || f->id > FORMATTER_ID_MAX) {
        take_special(f, g, len);
        return;
    }
    struct slot *s = slot_for(g, f->id, f->frame_offset);
    bytes_set_double(s->data + s->len, data.low);
    bytes_set_double(s->data + s->len + 8, data.high);
    s->len += len;
}

static inline bool is_source(uint8_t id)
{
    return id != 0 && id <= FORMATTER_ID_MAX;
}

/* Bytes of the frame from number `begin` on go to the slot, bit 0 of the even ones put back. More
 * of them than count: what follows is stored over the rest. */
static inline void store_from(struct slot *s, const uint8_t *bytes, unsigned begin, unsigned aux)
{
    const uint8_t *bits = put_back + FORMATTER_FRAME * aux + begin;
    bytes_set_double(s->data + s->len, bytes_double(bytes + begin) | bytes_double(bits));
    bytes_set_double(s->data + s->len + 8,
                     bytes_double(bytes + begin + 8) | bytes_double(bits + 8));
}

/* The same as take_mixed_frame() where all IDs are those of sources, straight from the input, of
 * which two frames' bytes can be read. */
static ALWAYS_INLINE void take_turns(struct formatter *f, struct gather *g, const uint8_t *bytes,
                                     unsigned ids, unsigned aux)
{
    struct slot *s = slot_for(g, f->id, f->frame_offset);
    unsigned begin = 0;
    for (; ids; ids &= ids - 1) {
        unsigned k = (unsigned)__builtin_ctz(ids);
        unsigned delayed = (aux & 0x7f) >> k & 1; /* the odd byte still belongs to the old source */
        store_from(s, bytes, begin, aux);
        s->len += 2 * k - begin;
        s->data[s->len] = bytes[2 * k + 1];
        s->len += delayed;
        begin = 2 * k + 1 + delayed;
        f->id = bytes[2 * k] >> 1;
        s = slot_for(g, f->id, f->frame_offset);
    }
    store_from(s, bytes, begin, aux);
    s->len += FORMATTER_FRAME - 1 - begin;
}

/* Frame with ID bytes: bit k of `ids` is set when byte 2k is one; `data` is the frame with bit 0
 * of data bytes put back. Returns false when an impossible ID shows lost alignment. */
static __attribute__((noinline)) bool take_mixed_frame(struct formatter *f, struct gather *g,
                                                       struct frame data, unsigned ids,
                                                       unsigned aux)
{
    unsigned begin = 0; /* bytes of the frame that are gone from `data` */
    for (; ids; ids &= ids - 1) {
        unsigned k = (unsigned)__builtin_ctz(ids);
        if (2 * k > begin) {
            take_data(f, g, data, 2 * k - begin);
            data = skip_bytes(data, 2 * k - begin);
        }
        uint8_t id = (data.low & 0xff) >> 1;
        if (id == 0x7f)
            return false;
        data = skip_bytes(data, 1);
        begin = 2 * k + 1;
        if (k < 7 && aux >> k & 1) { /* delayed: the odd byte still belongs to the old source */
            take_data(f, g, data, 1);
            data = skip_bytes(data, 1);
            begin++;
        }
        f->id = id;
    }
    if (begin < FORMATTER_FRAME - 1)
        take_data(f, g, data, FORMATTER_FRAME - 1 - begin);
    return true;
}

/* `bytes`: two frames' bytes can be read, of which the first is the frame. */
static ALWAYS_INLINE void take_frame(struct formatter *f, struct gather *g, const uint8_t *bytes)
{
    struct frame frame = {bytes_double(bytes), bytes_double(bytes + 8)};
    unsigned aux = (unsigned)(frame.high >> 56);
    unsigned ids = even_bits(frame.low) | even_bits(frame.high) << 4;
    f->frames++;
    if (ids && is_source(f->id) && !(special_ids(frame.low) | special_ids(frame.high))) {
        take_turns(f, g, bytes, ids, aux);
        return;
    }
    frame.low |= bytes_double(put_back + FORMATTER_FRAME * aux);
    frame.high |= bytes_double(put_back + FORMATTER_FRAME * aux + 8);
    if (!ids) {
        take_data(f, g, frame, FORMATTER_FRAME - 1);
    } else if (!take_mixed_frame(f, g, frame, ids, aux)) {
        /* Frames from memory keep their place whatever is in them. */
        formatter_lose(f, g, f->mode == FORMATTER_ALIGNED);
        f->frames--;
    }
}

/* Frames of a sink's memory: FF at an even offset is damage, found by its ID 0x7F. */
static void feed_aligned(struct formatter *f, struct gather *g, const uint8_t *data, size_t len)
{
    while (len > 0) {
        if (f->fill == 0 && len >= 2 * FORMATTER_FRAME) {
            f->frame_offset = f->offset;
            f->offset += FORMATTER_FRAME;
            take_frame(f, g, data);
            data += FORMATTER_FRAME;
            len -= FORMATTER_FRAME;
            continue;
        }
        if (f->fill == 0)
            f->frame_offset = f->offset;
        f->frame[f->fill++] = *data++;
        f->offset++;
        len--;
        if (f->fill == FORMATTER_FRAME) {
            f->fill = 0;
            take_frame(f, g, f->frame);
        }
    }
}

/* The rules of IHI 0029E for IDs and data, for one pair of bytes at an even frame offset. */
static void take_pair(struct formatter *f, struct gather *g, uint8_t a, uint8_t b)
{
    if (a == 0xff && b == 0x7f) {
        bool tail = f->want_sync_tail;
        f->want_sync_tail = false;
        if (!tail && f->mode == FORMATTER_FULLSYNC)
            formatter_lose(f, g, false);
        return;
    }
    if (f->want_sync_tail) { /* FF FF without its second half */
        formatter_lose(f, g, false);
        return;
    }
    if (a == 0xff && b == 0xff) {
        if (f->fill != 0)
            formatter_lose(f, g, true);
        f->want_sync_tail = true;
        return;
    }
    if (f->fill == 0)
        f->frame_offset = f->offset - 2;
    f->frame[f->fill] = a;
    f->frame[f->fill + 1] = b;
    f->fill += 2;
    if (f->fill == FORMATTER_FRAME) {
        f->fill = 0;
        take_frame(f, g, f->frame);
    }
}

/* Nothing but a full sync gives the frame's start (IHI 0029E). Returns bytes consumed. */
static size_t formatter_resync(struct formatter *f, const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        f->window = f->window << 8 | data[i];
        f->offset++;
        if (f->window != FULL_SYNC) {
            f->skipped++;
            continue;
        }
        f->skipped -= f->skipped < 3 ? f->skipped : 3; /* the sync word itself is not lost data */
        f->aligned = true;
        f->half = false;
        f->fill = 0;
        f->id = FORMATTER_ID_UNKNOWN;
        return i + 1;
    }
    return len;
}

/*
 * Half syncs, and a frame with some of them between its pairs. Returns bytes consumed; 0: something
 * else is there, or the input ends soon.
 */
static size_t take_split_frame(struct formatter *f, struct gather *g, const uint8_t *data,
                               size_t len)
{
    uint8_t bytes[2 * FORMATTER_FRAME] = {0};
    size_t syncs = 0, begin = 0;
    if (f->mode != FORMATTER_SYNC || len < 2 * SPLIT_MAX + FORMATTER_FRAME)
        return 0;
    uint64_t low = bytes_double(data), high = bytes_double(data + 8), ffs;
    while ((ffs = even_ffs(low)) != 0 || even_ffs(high)) {
        /* From its first FF on the frame is what stands a pair further on. */
        const uint8_t *from = data + 2 * ++syncs;
        unsigned bit = (unsigned)__builtin_ctzll(ffs ? ffs : even_ffs(high)) - 15;
        uint64_t before = ((uint64_t)1 << bit) - 1;
        if (((ffs ? low : high) >> bit & 0xffff) != 0x7fff || syncs > SPLIT_MAX)
            return begin;
        low = ffs ? (low & before) | (bytes_double(from) & ~before) : low;
        high = (ffs ? 0 : high & before) | (bytes_double(from + 8) & ~(ffs ? 0 : before));
        unsigned leads = ffs && bit == 0 && begin == 2 * syncs - 2 ? 2 : 0;
        begin += leads;
        f->offset += leads;
    }
    bytes_set_double(bytes, low);
    bytes_set_double(bytes + 8, high);
    f->frame_offset = f->offset;
    f->offset += 2 * syncs + FORMATTER_FRAME - begin;
    take_frame(f, g, bytes);
    return 2 * syncs + FORMATTER_FRAME;
}

/* Sync words begin with FF at an even place, where a frame has an ID byte that no source has: a
 * frame without FF there holds none. Returns bytes consumed. */
static size_t take_whole_frames(struct formatter *f, struct gather *g, const uint8_t *data,
                                size_t len)
{
    size_t i = 0;
    while (len - i >= 2 * FORMATTER_FRAME && f->aligned && !even_ffs(bytes_double(data + i)) &&
           !even_ffs(bytes_double(data + i + 8))) {
        f->frame_offset = f->offset;
        f->offset += FORMATTER_FRAME;
        take_frame(f, g, data + i);
        i += FORMATTER_FRAME;
    }
    return i;
}

static void feed_port(struct formatter *f, struct gather *g, const uint8_t *data, size_t len)
{
    size_t i = 0;
    while (i < len) {
        if (!f->aligned) {
            i += formatter_resync(f, data + i, len - i);
            continue;
        }
        if (!f->half && f->fill == 0 && !f->want_sync_tail) {
            i += take_whole_frames(f, g, data + i, len - i);
            size_t split = f->aligned ? take_split_frame(f, g, data + i, len - i) : 0;
            i += split;
            if (split || i == len || !f->aligned)
                continue;
        }
        f->offset++;
        if (!f->half) {
            f->pair = data[i++];
            f->half = true;
            continue;
        }
        f->half = false;
        take_pair(f, g, f->pair, data[i++]);
    }
}

/* A DSTREAM dump: what stands before the footer of each block. */
static void feed_blocks(struct formatter *f, struct gather *g, const uint8_t *data, size_t len)
{
    while (len > 0) {
        size_t at = f->offset % FORMATTER_BLOCK, stream = FORMATTER_BLOCK - FORMATTER_FOOTER;
        size_t part = at < stream ? stream - at : FORMATTER_BLOCK - at;
        part = part < len ? part : len;
        if (at < stream)
            feed_port(f, g, data, part);
        else
            f->offset += part;
        data += part;
        len -= part;
    }
}

void formatter_feed(struct formatter *f, const uint8_t *data, size_t len, formatter_sink *sink,
                    void *ctx)
{
    struct gather g;
    gather_init(&g, sink, ctx);
    g.in_turn = f->in_turn;
    if (f->mode == FORMATTER_ALIGNED)
        feed_aligned(f, &g, data, len);
    else if (f->mode == FORMATTER_BLOCKS)
        feed_blocks(f, &g, data, len);
    else
        feed_port(f, &g, data, len);
    gather_flush(&g);
}

void formatter_ignore_run(void *ctx, const struct formatter_run *run)
{
    (void)ctx, (void)run;
}

static uint64_t losses_as(enum formatter_mode mode, const uint8_t *data, size_t len)
{
    struct formatter f;
    formatter_init(&f, mode);
    formatter_feed(&f, data, len, formatter_ignore_run, NULL);
    return f.losses;
}

enum formatter_mode formatter_find_blocks(const uint8_t *data, size_t len)
{
    uint64_t plain = losses_as(FORMATTER_SYNC, data, len);
    if (plain < 2 || plain < len / FORMATTER_BLOCK / 4)
        return FORMATTER_SYNC; /* a footer breaks each block that has a sync behind it */
    return 4 * losses_as(FORMATTER_BLOCKS, data, len) <= plain ? FORMATTER_BLOCKS : FORMATTER_SYNC;
}

bool formatter_same(const struct formatter *a, const struct formatter *b)
{
    return a->mode == b->mode && a->aligned && b->aligned && a->id == b->id &&
           a->id != FORMATTER_ID_UNKNOWN && a->want_sync_tail == b->want_sync_tail &&
           a->half == b->half && (!a->half || a->pair == b->pair) && a->fill == b->fill &&
           memcmp(a->frame, b->frame, a->fill) == 0 &&
           (a->mode != FORMATTER_BLOCKS ||
            a->offset % FORMATTER_BLOCK == b->offset % FORMATTER_BLOCK);
}

void formatter_discontinuity(struct formatter *f, formatter_sink *sink, void *ctx)
{
    struct gather g;
    gather_init(&g, sink, ctx);
    f->half = false;
    formatter_lose(f, &g, f->mode == FORMATTER_ALIGNED);
}
