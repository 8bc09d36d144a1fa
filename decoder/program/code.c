/* SPDX-License-Identifier: BSD-3-Clause */
/* The program image, and the cache of its instructions: ranges up to the next waypoint. */
#include "decoder/program/code.h"
#include "decoder/base/array.h"
#include "decoder/base/bytes.h"
#include "decoder/program/code_image.h"
#include "decoder/program/code_steps.h"
#include "insn_plain.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST     4096u /* bytes of a range, or a little more */
#define MOST_RANGES (1u << 20)
#define VIEWS_MAX   64
#define HASH_MIN    1024
#define CACHE_LINE  CODE_PLACES /* bytes; CODE_RANGE_CHUNK ranges are a multiple of it */

void code_image_init(struct code_image *image)
{
    memset(image, 0, sizeof *image);
}

void code_image_release(struct code_image *image)
{
    free(image->regions);
    code_image_init(image);
}

int code_image_add(struct code_image *image, const struct code_region *region)
{
    if (region->size == 0 || region->address + (region->size - 1) < region->address)
        return BT_ERR_INVAL;
    if (!array_room(&image->regions, image->count, &image->capacity, sizeof *image->regions))
        return BT_ERR_NOMEM;
    image->regions[image->count++] = *region;
    image->by |= region->by;
    if (region->generation > image->generation)
        image->generation = region->generation;
    return BT_OK;
}

uint32_t code_image_new_generation(struct code_image *image)
{
    return ++image->generation;
}

static bool region_visible(const struct code_region *r, const struct code_key *key)
{
    if (r->generation > key->generation)
        return false;
    if ((r->by & CODE_BY_CORE) && r->core != key->core)
        return false;
    if ((r->by & CODE_BY_SECURITY) && r->security != key->security)
        return false;
    if ((r->by & CODE_BY_VMID) && (!key->has_vmid || r->vmid != key->vmid))
        return false;
    if ((r->by & CODE_BY_CONTEXT) && (!key->has_context || r->context != key->context))
        return false;
    return true;
}

static bool region_better(const struct code_region *a, const struct code_region *b)
{
    int sa = __builtin_popcount(a->by), sb = __builtin_popcount(b->by);
    if (sa != sb)
        return sa > sb;
    return a->generation > b->generation;
}

static size_t image_resolve(const struct code_image *image, const struct code_key *key,
                            const struct code_region **out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < image->count; i++) {
        const struct code_region *r = &image->regions[i];
        if (!region_visible(r, key))
            continue;
        size_t at = n;
        while (at > 0 && region_better(r, out[at - 1]))
            at--;
        if (at >= max)
            continue;
        size_t moved = (n < max ? n : max - 1) - at;
        memmove(out + at + 1, out + at, moved * sizeof *out);
        out[at] = r;
        if (n < max)
            n++;
    }
    return n;
}

/* The best region at `address`, and how far it goes before a better one begins. */
static const struct code_region *region_at(const struct code_region *const *regions, size_t count,
                                           uint64_t address, uint64_t *run)
{
    uint64_t limit = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        const struct code_region *r = regions[i];
        if (address - r->address < r->size) {
            uint64_t rest = r->size - (address - r->address);
            *run = rest < limit ? rest : limit;
            return r;
        }
        if (r->address > address && r->address - address < limit)
            limit = r->address - address;
    }
    return NULL;
}

static const uint8_t *regions_span(const struct code_region *const *regions, size_t count,
                                   uint64_t address, uint64_t *size, bool *big_endian)
{
    const struct code_region *r = region_at(regions, count, address, size);
    if (!r) {
        *size = 0;
        return NULL;
    }
    *big_endian = r->big_endian;
    return r->bytes + (address - r->address);
}

static size_t regions_read(const struct code_region *const *regions, size_t count, uint64_t address,
                           uint8_t *out, size_t len, bool *big_endian)
{
    size_t done = 0;
    while (done < len) {
        uint64_t run;
        const struct code_region *r = region_at(regions, count, address + done, &run);
        if (!r)
            break;
        if (done == 0)
            *big_endian = r->big_endian;
        size_t n = len - done < run ? len - done : (size_t)run;
        memcpy(out + done, r->bytes + (address + done - r->address), n);
        done += n;
    }
    return done;
}

size_t code_image_read(const struct code_image *image, const struct code_key *key, uint64_t address,
                       uint8_t *out, size_t len)
{
    if (image->count == 0)
        return 0;
    const struct code_region **regions = malloc(image->count * sizeof *regions);
    if (!regions)
        return 0;
    bool big_endian;
    size_t n = image_resolve(image, key, regions, image->count);
    size_t done = regions_read(regions, n, address, out, len, &big_endian);
    free(regions);
    return done;
}

/*
 * A slot of the hash: the number of a range in the low bits, and in the others some of the hash, so
 * that few ranges are looked at in vain. 0: free.
 */
#define SLOT_NUMBER (2 * MOST_RANGES - 1)
#define SLOT_TAG    (~SLOT_NUMBER)

struct code_view {
    const struct code_region **regions; /* best first */
    size_t region_count;
    uint32_t *hash;   /* open addressing; numbers of ranges from 1 on */
    size_t hash_size; /* a power of two */
    size_t used;
};

static void view_free(struct code_view *view)
{
    if (!view)
        return;
    free(view->regions);
    free(view->hash);
    free(view);
}

int code_cache_init(struct code_cache *cache, const struct code_image *image,
                    const struct code_options *options)
{
    memset(cache, 0, sizeof *cache);
    cache->image = image;
    cache->options = *options;
    if (cache->options.max_ranges == 0 || cache->options.max_ranges > MOST_RANGES)
        cache->options.max_ranges = MOST_RANGES;
    if (cache->options.max_ranges < CODE_RANGE_CHUNK)
        cache->options.max_ranges = CODE_RANGE_CHUNK;
    cache->range_bytes = options->times ? CACHE_LINE : sizeof(struct code_range);
    cache->steps = options->times ? code_steps_new() : NULL;
    return options->times && !cache->steps ? BT_ERR_NOMEM : BT_OK;
}

/* Range number `number` of the cache, from 1 on. */
static inline struct code_range *range_number(const struct code_cache *cache, uint32_t number)
{
    char *chunk = (char *)cache->chunks[(number - 1) / CODE_RANGE_CHUNK];
    return (struct code_range *)(chunk + (number - 1) % CODE_RANGE_CHUNK * cache->range_bytes);
}

void code_cache_report_times(struct code_cache *cache)
{
    if (cache->steps)
        code_steps_report(cache->steps, &cache->options);
    for (size_t i = 0; i < cache->range_count && cache->options.times; i++) {
        struct code_range *range = range_number(cache, (uint32_t)i + 1);
        uint64_t *times = code_range_times(range);
        for (unsigned fail = 0; fail < 2; fail++) {
            const struct bt_block b = code_range_block(range, fail);
            if (times[fail])
                cache->options.times(cache->options.ctx, &b, times[fail]);
            times[fail] = 0;
        }
    }
}

static void drop_ranges(struct code_cache *cache)
{
    code_cache_report_times(cache);
    for (size_t i = 0; i < cache->view_count; i++) {
        struct code_view *view = cache->views[i];
        if (view->hash)
            memset(view->hash, 0, view->hash_size * sizeof *view->hash);
        view->used = 0;
    }
    for (size_t i = 0; i < cache->chunk_count; i++)
        free(cache->chunks[i]);
    free(cache->chunks);
    cache->chunks = NULL;
    cache->chunk_count = 0;
    cache->range_count = 0;
    memset(&cache->calls, 0, sizeof cache->calls);
    if (cache->steps)
        code_steps_drop(cache->steps);
    if (++cache->epoch == CODE_EPOCH_NONE)
        cache->epoch = 0;
}

static void drop_views(struct code_cache *cache)
{
    drop_ranges(cache);
    for (size_t i = 0; i < cache->view_count; i++)
        view_free(cache->views[i]);
    free(cache->views);
    cache->views = NULL;
    cache->view_count = 0;
}

void code_cache_release(struct code_cache *cache)
{
    drop_views(cache);
    code_steps_free(cache->steps);
    cache->steps = NULL;
}

static struct code_view *view_new(const struct code_region **regions, size_t count)
{
    struct code_view *view = calloc(1, sizeof *view);
    if (!view)
        return NULL;
    view->regions = regions;
    view->region_count = count;
    view->hash_size = HASH_MIN;
    view->hash = calloc(view->hash_size, sizeof *view->hash);
    if (view->hash)
        return view;
    free(view);
    return NULL;
}

/* Views are shared by all keys that see the same regions: one for a simple system. */
struct code_view *code_select(struct code_cache *cache, const struct code_key *key)
{
    size_t max = cache->image->count;
    const struct code_region **regions = malloc((max ? max : 1) * sizeof *regions);
    if (!regions)
        return NULL;
    size_t n = image_resolve(cache->image, key, regions, max);
    for (size_t i = 0; i < cache->view_count; i++) {
        struct code_view *view = cache->views[i];
        if (view->region_count == n && memcmp(view->regions, regions, n * sizeof *regions) == 0) {
            free(regions);
            return view;
        }
    }
    if (cache->view_count == VIEWS_MAX)
        drop_views(cache);
    struct code_view **grown =
        realloc(cache->views, (cache->view_count + 1) * sizeof *cache->views);
    struct code_view *view = grown ? view_new(regions, n) : NULL;
    if (grown)
        cache->views = grown;
    if (!view) {
        free(regions);
        return NULL;
    }
    cache->views[cache->view_count++] = view;
    return view;
}

static inline uint64_t hash_of(uint64_t address, enum bt_isa isa)
{
    return (address ^ (uint64_t)isa << 60) * 0x9e3779b97f4a7c15u;
}

static inline size_t hash_place(const struct code_view *view, uint64_t hash)
{
    return (size_t)(hash >> 20) & (view->hash_size - 1);
}

static inline struct code_range *hash_find(const struct code_cache *cache,
                                           const struct code_view *view, uint64_t address,
                                           enum bt_isa isa)
{
    uint64_t hash = hash_of(address, isa);
    size_t place = hash_place(view, hash);
    uint32_t tag = (uint32_t)(hash >> 32) & SLOT_TAG;
    for (uint32_t found; (found = view->hash[place]) != 0;
         place = (place + 1) & (view->hash_size - 1)) {
        if ((found & SLOT_TAG) != tag)
            continue;
        struct code_range *range = range_number(cache, found & SLOT_NUMBER);
        if (code_range_at(range, address, isa, true))
            return range;
    }
    return NULL;
}

static void hash_put(struct code_view *view, uint32_t number, uint64_t hash)
{
    size_t place = hash_place(view, hash);
    while (view->hash[place])
        place = (place + 1) & (view->hash_size - 1);
    view->hash[place] = ((uint32_t)(hash >> 32) & SLOT_TAG) | number;
}

static bool hash_grow(const struct code_cache *cache, struct code_view *view)
{
    uint32_t *old = view->hash;
    size_t old_size = view->hash_size;
    uint32_t *fresh = calloc(old_size * 2, sizeof *fresh);
    if (!fresh)
        return false;
    view->hash = fresh;
    view->hash_size = old_size * 2;
    for (size_t i = 0; i < old_size; i++) {
        uint32_t number = old[i] & SLOT_NUMBER;
        if (!number)
            continue;
        const struct code_range *range = range_number(cache, number);
        hash_put(view, number, hash_of(code_range_first64(range), code_range_isa(range)));
    }
    free(old);
    return true;
}

static size_t view_read(const struct code_view *view, uint64_t address, uint8_t *out, size_t len)
{
    bool big_endian;
    return regions_read(view->regions, view->region_count, address, out, len, &big_endian);
}

/* Bytes that lie in one piece, so that not each instruction of a range asks all regions. */
struct span {
    const uint8_t *bytes;
    uint64_t address;
    uint64_t size;
    bool big_endian;
};

/* Up to four bytes as regions_read() gives them. */
static inline size_t fetch(const struct code_view *view, struct span *span, uint64_t address,
                           uint8_t *b, bool *big_endian)
{
    uint64_t at = address - span->address;
    if (at >= span->size || span->size - at < 4) {
        span->address = address;
        span->bytes = regions_span(view->regions, view->region_count, address, &span->size,
                                   &span->big_endian);
        at = 0;
        if (span->size < 4)
            return regions_read(view->regions, view->region_count, address, b, 4, big_endian);
    }
    *big_endian = span->big_endian;
    memcpy(b, span->bytes + at, 4);
    return 4;
}

static uint16_t half(const uint8_t *b, bool big_endian)
{
    return big_endian ? (uint16_t)(b[0] << 8 | b[1]) : (uint16_t)(b[1] << 8 | b[0]);
}

/* BL/BLX pair traced as two instructions: the second half, when the first stands before it. */
static bool split_suffix(const struct code_view *view, uint64_t address, uint16_t h2,
                         struct insn *insn, bool big_endian)
{
    uint8_t b[2];
    if ((h2 & 0xe800) != 0xe800 || view_read(view, address - 2, b, 2) != 2)
        return false;
    uint16_t h1 = half(b, big_endian);
    if ((h1 & 0xf800) != 0xf000)
        return false;
    insn_decode_t32(h1, h2, address - 2, insn);
    insn->size = 2;
    return insn->cls == INSN_DIRECT && (insn->flags & INSN_LINK);
}

static int insn_t32(const struct code_cache *cache, const struct code_view *view, struct span *span,
                    uint64_t address, enum bt_isa isa, struct insn *insn, uint32_t *opcode)
{
    uint8_t b[4];
    bool be = false;
    size_t n = fetch(view, span, address & ~(uint64_t)1, b, &be);
    if (n < 2)
        return BT_ERR_NO_CODE;
    uint16_t h1 = half(b, be), h2 = 0;
    *opcode = h1;
    if (cache->options.t32_split && split_suffix(view, address, h1, insn, be))
        return BT_OK;
    if (insn_t32_size(h1) == 4) {
        if (n < 4)
            return BT_ERR_NO_CODE;
        h2 = half(b + 2, be);
        *opcode = (uint32_t)h1 << 16 | h2;
    }
    if (isa == BT_ISA_T32EE)
        insn_decode_t32ee(h1, h2, address, insn);
    else
        insn_decode_t32(h1, h2, address, insn);
    bool pair = insn->cls == INSN_DIRECT && insn->size == 4 && (insn->flags & INSN_LINK);
    if (cache->options.t32_split && pair) {
        *insn = (struct insn){.size = 2, .cls = INSN_OTHER, .target_isa = (uint8_t)isa};
        *opcode = h1;
    }
    return BT_OK;
}

static int insn_at(const struct code_cache *cache, const struct code_view *view, struct span *span,
                   uint64_t address, enum bt_isa isa, struct insn *insn, uint32_t *opcode)
{
    if (isa == BT_ISA_T32 || isa == BT_ISA_T32EE)
        return insn_t32(cache, view, span, address, isa, insn, opcode);
    if (isa != BT_ISA_A32 && isa != BT_ISA_A64)
        return BT_ERR_UNSUPPORTED;
    uint8_t b[4];
    bool be = false;
    if (fetch(view, span, address, b, &be) != 4)
        return BT_ERR_NO_CODE;
    uint32_t h0 = half(b, be), h1 = half(b + 2, be);
    *opcode = be ? h0 << 16 | h1 : h1 << 16 | h0;
    if (isa == BT_ISA_A64)
        insn_decode_a64(*opcode, address, insn);
    else
        insn_decode_a32(*opcode, address, insn);
    return BT_OK;
}

int code_insn(const struct code_cache *cache, const struct code_view *view, uint64_t address,
              enum bt_isa isa, struct insn *insn, uint32_t *opcode)
{
    struct span span = {.bytes = NULL};
    return insn_at(cache, view, &span, address, isa, insn, opcode);
}

bool code_address_of(struct code_cache *cache, const struct code_key *key, uint64_t first,
                     enum bt_isa isa, uint64_t index, uint64_t *address)
{
    *address = first;
    if (isa == BT_ISA_A32 || isa == BT_ISA_A64) {
        *address += 4 * index;
        return true;
    }
    struct code_view *view = code_select(cache, key);
    for (; index; index--) {
        struct insn insn;
        uint32_t opcode;
        if (!view || code_insn(cache, view, *address, isa, &insn, &opcode) != BT_OK)
            return false;
        *address += insn.size;
    }
    return true;
}

bool code_index_of(struct code_cache *cache, const struct code_key *key,
                   const struct bt_block *block, uint64_t address, uint64_t *index)
{
    enum bt_isa isa = bt_block_isa(block);
    uint64_t at = block->first;
    if (address < at || address > bt_block_last(block))
        return false;
    *index = (address - at) / 4;
    if (isa == BT_ISA_A32 || isa == BT_ISA_A64)
        return (address - at) % 4 == 0;
    struct code_view *view = code_select(cache, key);
    for (*index = 0; at < address; ++*index) {
        struct insn insn;
        uint32_t opcode;
        if (!view || code_insn(cache, view, at, isa, &insn, &opcode) != BT_OK)
            return false;
        at += insn.size;
    }
    return at == address;
}

unsigned code_insn_size(const struct code_view *view, uint64_t address, enum bt_isa isa)
{
    uint8_t b[4];
    bool be = false;
    bool t32 = isa == BT_ISA_T32 || isa == BT_ISA_T32EE;
    if (!t32 && isa != BT_ISA_A32 && isa != BT_ISA_A64)
        return 0;
    if (t32)
        address &= ~(uint64_t)1;
    size_t n = regions_read(view->regions, view->region_count, address, b, 4, &be);
    if (n < 2)
        return 0;
    unsigned size = t32 ? insn_t32_size(half(b, be)) : 4;
    return n < size ? 0 : size;
}

/* Barriers that are waypoints only where the trace unit says so. */
static bool is_waypoint(const struct code_options *options, uint8_t cls)
{
    return (cls == INSN_BARRIER && options->barrier_waypoints) ||
           (cls == INSN_WAIT && options->wait_waypoints) ||
           (cls == INSN_START && options->start_waypoints);
}

/* True when `insn` ends a range; fills how. */
static bool ends_range(const struct code_cache *cache, const struct insn *insn,
                       struct code_range *range)
{
    switch (insn->cls) {
    case INSN_DIRECT:
        range->end = CODE_END_DIRECT;
        break;
    case INSN_INDIRECT:
        range->end = CODE_END_INDIRECT;
        break;
    case INSN_ISB:
        range->end = CODE_END_BARRIER;
        break;
    default:
        if (!is_waypoint(&cache->options, insn->cls))
            return false;
        range->end = CODE_END_BARRIER;
        break;
    }
    range->last = insn->flags;
    return true;
}

/* T32 may stand in an IT block, which is not seen here. */
static bool is_sure(const struct insn *insn, enum bt_isa isa, uint64_t behind)
{
    return insn->cls == INSN_DIRECT && !(insn->flags & INSN_CONDITIONAL) &&
           (isa == BT_ISA_A32 || isa == BT_ISA_A64) && insn->target != behind;
}

/* Its end may be more than a direct branch inside a function, or none. */
static bool may_leave(const struct code_options *options, const struct code_range *range,
                      const struct insn *insn, uint64_t last, uint64_t behind)
{
    return range->end == CODE_END_INDIRECT || range->end == CODE_END_NO_CODE ||
           (range->last & (INSN_LINK | INSN_EXC_RETURN)) ||
           options->leaves(options->ctx, last, behind) ||
           (range->end == CODE_END_DIRECT && options->leaves(options->ctx, last, insn->target));
}

/* A range while it is made. */
struct growing {
    struct code_range *range;
    uint64_t start;
    uint64_t behind; /* the last instruction so far */
    uint32_t count;
    uint32_t size; /* of the last instruction */
};

static inline void grow_hash(struct growing *g, uint32_t size, bool wide)
{
    if (wide && g->count < CODE_WIDE_BITS)
        g->range->wide |= 1u << g->count;
    g->count++;
    g->size = size;
    g->behind += size;
}

/* Instructions that are no waypoints, as many as follow each other. */
static void grow_plain_words(struct growing *g, const uint8_t *at, uint64_t room, enum bt_isa isa)
{
    for (; room >= 4; at += 4, room -= 4) {
        uint32_t op = bytes_word(at);
        if (!(isa == BT_ISA_A64 ? insn_a64_plain(op) : insn_a32_plain(op)))
            return;
        grow_hash(g, 4, isa != BT_ISA_A64);
    }
}

static void grow_plain_halves(struct growing *g, const uint8_t *at, uint64_t room)
{
    uint32_t size;
    for (; room >= 4; at += size, room -= size) {
        uint32_t h1 = bytes_half(at), h2 = bytes_half(at + 2);
        size = insn_t32_size((uint16_t)h1);
        if (!(size == 2 ? insn_t16_plain(h1) : insn_t32_plain(h1, h2)))
            return;
        grow_hash(g, size, size == 4);
    }
}

/* The same from where the range has come to: never up to its longest, nor to the end of `span`. */
static void grow_plain(const struct code_cache *cache, const struct span *span, struct growing *g,
                       enum bt_isa isa)
{
    uint64_t at = g->behind - span->address, length = g->behind - g->start;
    if (at >= span->size || span->big_endian || length >= LONGEST)
        return;
    uint64_t room = span->size - at < LONGEST - 1 - length ? span->size - at : LONGEST - 1 - length;
    if (isa == BT_ISA_A32 || isa == BT_ISA_A64)
        grow_plain_words(g, span->bytes + at, room, isa);
    else if (isa == BT_ISA_T32 && !cache->options.t32_split && !(g->behind & 1))
        grow_plain_halves(g, span->bytes + at, room);
}

static void build_range(const struct code_cache *cache, const struct code_view *view,
                        struct code_range *range, enum bt_isa isa)
{
    uint64_t start = isa == BT_ISA_A64 ? (uint64_t)range->wide << 32 | range->start : range->start;
    struct growing g = {.range = range, .start = start, .behind = start};
    struct span span = {.bytes = NULL};
    struct insn insn = {.size = 0};
    uint32_t opcode;
    uint8_t first[4];
    bool big_endian;
    for (fetch(view, &span, start, first, &big_endian);;) {
        grow_plain(cache, &span, &g, isa);
        if (isa != BT_ISA_A64)
            g.behind = (uint32_t)g.behind;
        if (g.behind - start >= LONGEST) { /* or round the end of the address space */
            range->end = CODE_END_PAGE;
            break;
        }
        if (insn_at(cache, view, &span, g.behind, isa, &insn, &opcode) != BT_OK) {
            range->end = CODE_END_NO_CODE;
            break;
        }
        grow_hash(&g, insn.size, insn.size == 4 && isa != BT_ISA_A64);
        if (ends_range(cache, &insn, range))
            break;
    }
    if (isa != BT_ISA_A64)
        g.behind = (uint32_t)g.behind;
    range->extent = (uint16_t)(g.behind - g.size - start);
    if (range->end == CODE_END_DIRECT && is_sure(&insn, isa, g.behind))
        range->last |= CODE_SURE;
    range->last |= (uint8_t)(g.size / 2 << CODE_SIZE_SHIFT);
    range->info = bt_block_info(g.count, isa, BT_COND_UNKNOWN);
    if (cache->options.leaves &&
        may_leave(&cache->options, range, &insn, g.behind - g.size, g.behind))
        range->info |= CODE_LEAVES;
}

static struct code_range *range_alloc(struct code_cache *cache)
{
    if (cache->range_count == cache->options.max_ranges)
        drop_ranges(cache);
    size_t chunk = cache->range_count / CODE_RANGE_CHUNK;
    if (chunk == cache->chunk_count) {
        struct code_range **grown = realloc(cache->chunks, (chunk + 1) * sizeof *grown);
        if (!grown)
            return NULL;
        cache->chunks = grown;
        grown[chunk] = aligned_alloc(CACHE_LINE, CODE_RANGE_CHUNK * cache->range_bytes);
        if (!grown[chunk])
            return NULL;
        cache->chunk_count++;
    }
    struct code_range *range = range_number(cache, (uint32_t)++cache->range_count);
    memset(range, 0, cache->range_bytes);
    return range;
}

static struct code_range *add_range(struct code_cache *cache, struct code_view *view,
                                    uint64_t address, enum bt_isa isa)
{
    struct code_range *range = range_alloc(cache);
    if (!range || (2 * (view->used + 1) > view->hash_size && !hash_grow(cache, view)))
        return NULL;
    range->start = (uint32_t)address;
    if (isa == BT_ISA_A64)
        range->wide = (uint32_t)(address >> 32);
    build_range(cache, view, range, isa);
    hash_put(view, (uint32_t)cache->range_count, hash_of(address, isa));
    view->used++;
    return range;
}

struct code_range *code_lookup(struct code_cache *cache, struct code_view *view, uint64_t address,
                               enum bt_isa isa)
{
    address = isa == BT_ISA_A64 ? address : (uint32_t)address;
    struct code_range *range = hash_find(cache, view, address, isa);
    return range ? range : add_range(cache, view, address, isa);
}

struct code_range *code_find(const struct code_cache *cache, const struct code_view *view,
                             uint64_t address, enum bt_isa isa)
{
    return hash_find(cache, view, isa == BT_ISA_A64 ? address : (uint32_t)address, isa);
}

struct code_range *code_indirect(struct code_cache *cache, struct code_view *view,
                                 struct code_range *from, uint64_t address, enum bt_isa isa)
{
    struct code_range *guess = from->next[CODE_TAKEN];
    if (guess && code_range_at(guess, address, isa, true))
        return guess;
    uint32_t epoch = cache->epoch;
    struct code_range *next = code_lookup(cache, view, address, isa);
    if (epoch == cache->epoch)
        from->next[CODE_TAKEN] = next;
    return next;
}

uint64_t code_target(const struct code_cache *cache, const struct code_view *view,
                     const struct code_range *range, enum bt_isa *isa)
{
    const struct code_range *next = range->next[CODE_TAKEN];
    struct insn insn;
    uint32_t opcode;
    if (next) {
        *isa = code_range_isa(next);
        return code_range_first64(next);
    }
    *isa = code_range_isa(range);
    if (range->end != CODE_END_DIRECT || /* a barrier leads on: IHI 0035B 2.2 */
        code_insn(cache, view, code_range_last64(range), *isa, &insn, &opcode) != BT_OK)
        return code_range_behind64(range);
    *isa = (enum bt_isa)insn.target_isa;
    return insn.target;
}

struct code_range *code_taken(struct code_cache *cache, struct code_view *view,
                              struct code_range *range)
{
    if (range->next[CODE_TAKEN])
        return range->next[CODE_TAKEN];
    uint32_t epoch = cache->epoch;
    enum bt_isa isa;
    uint64_t target = code_target(cache, view, range, &isa);
    struct code_range *next = code_lookup(cache, view, target, isa);
    if (epoch == cache->epoch)
        range->next[CODE_TAKEN] = next;
    return next;
}

struct code_range *code_onward(struct code_cache *cache, struct code_view *view,
                               struct code_range *range)
{
    if (range->next[CODE_ONWARD])
        return range->next[CODE_ONWARD];
    uint32_t epoch = cache->epoch;
    struct code_range *next =
        code_lookup(cache, view, code_range_behind64(range), code_range_isa(range));
    if (epoch == cache->epoch)
        range->next[CODE_ONWARD] = next;
    return next;
}
