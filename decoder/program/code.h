/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instruction ranges of the program image, classified once per start address: from an address
 * to the next waypoint (or some 4 kB on, or to the end of known code). Ranges are linked to their
 * successors, so following a hot loop is pointer chasing. One cache serves one decoder and
 * belongs to its thread; the image must not change while it is followed.
 */
#ifndef DECODER_CODE_H
#define DECODER_CODE_H

#include "decoder/program/code_image.h"
#include "decoder/program/insn.h"

#include <string.h>

enum code_end {
    CODE_END_DIRECT,   /* direct branch: target known */
    CODE_END_BARRIER,  /* waypoint whose target is the next instruction */
    CODE_END_INDIRECT, /* target computed */
    CODE_END_PAGE,     /* no waypoint in 4 kB: goes on behind the last instruction */
    CODE_END_NO_CODE,  /* no code behind the last instruction; count may be 0 */
};

/* Ways on from a range; CODE_TAKEN of an indirect branch is a guess: where it went last. */
enum code_way {
    CODE_TAKEN,
    CODE_ONWARD, /* to the instruction behind the last one */
};

/*
 * Half a cache line: of a large program there are many, and a loop that follows them waits for
 * memory first of all. Addresses have 32 bits here; A64, whose instructions are all alike in size,
 * keeps the upper half in `wide`.
 */
struct code_range {
    struct code_range *next[2]; /* by enum code_way; NULL: ask code_taken(), code_onward() */
    /* from here on as in struct bt_block, but for what `wide`, `end` and `last` add */
    uint32_t start;
    uint32_t wide;   /* bit i: instruction i, of the first CODE_WIDE_BITS, has four bytes; A64:
                        upper half of `start` */
    uint16_t extent; /* bytes from start to the last instruction's first byte */
    uint8_t end;     /* enum code_end */
    uint8_t last;  /* INSN_* of the last instruction, CODE_SURE, its size / 2 << CODE_SIZE_SHIFT */
    uint32_t info; /* bt_block_info() with condition unknown, CODE_LEAVES */
};

#define CODE_WIDE_BITS  32u
#define CODE_SIZE_SHIFT 6
#define CODE_SURE       0x10u /* a direct branch that no condition keeps from being taken */
#define CODE_LEAVES     0x40u /* `leaves` of struct code_options: its end may be a transfer */

static inline uint32_t code_range_count(const struct code_range *range)
{
    return range->info >> 8;
}

static inline enum bt_isa code_range_isa(const struct code_range *range)
{
    return (enum bt_isa)(range->info & 0xf);
}

/* Bytes from start to the byte behind the last instruction. */
static inline uint32_t code_range_length(const struct code_range *range)
{
    return range->extent + 2u * (range->last >> CODE_SIZE_SHIFT);
}

/* The first byte of the last instruction, and the byte behind it. */
static inline uint32_t code_range_last(const struct code_range *range)
{
    return range->start + range->extent;
}

static inline uint32_t code_range_behind(const struct code_range *range)
{
    return range->start + code_range_length(range);
}

/* The same of any instruction set. */
static inline uint64_t code_range_first64(const struct code_range *range)
{
    return code_range_isa(range) == BT_ISA_A64 ? (uint64_t)range->wide << 32 | range->start
                                               : range->start;
}

static inline uint64_t code_range_last64(const struct code_range *range)
{
    return code_range_first64(range) + range->extent;
}

static inline uint64_t code_range_behind64(const struct code_range *range)
{
    uint64_t behind = code_range_first64(range) + code_range_length(range);
    return code_range_isa(range) == BT_ISA_A64 ? behind : (uint32_t)behind;
}

/* All of it ran; at its end it branched, or failed to. */
static inline struct bt_block code_range_block(const struct code_range *range, unsigned fail)
{
    return (struct bt_block){code_range_first64(range), range->extent,
                             bt_block_info(code_range_count(range), code_range_isa(range),
                                           fail ? BT_COND_FAIL : BT_COND_PASS)};
}

#define CODE_PLACES 64u /* bytes from one range to the next, with times: as many addresses */

#define CODE_RANGE_CHUNK 1024 /* ranges lie in pieces of so many */

/* How often the range ran to its end, by the way on from there; where the cache counts that: beside
 * the range, in its cache line. */
static inline uint64_t *code_range_times(struct code_range *range)
{
    return (uint64_t *)(range + 1);
}

struct code_view; /* the image as one key sees it */

struct code_options {
    bool barrier_waypoints; /* DMB, DSB end a range */
    bool t32_split;         /* BL/BLX pairs in T32 are two instructions */
    bool wait_waypoints;    /* WFI, WFE end a range */
    bool start_waypoints;   /* TSTART ends a range */
    size_t max_ranges;      /* memory limit: the cache starts over when it is reached; 0: default */

    /* Optional: ranges have times, see code_range_times(). How often a block ran that is a whole
     * range: it is about to be dropped, at the latest by code_cache_release(), or times begin at 0
     * again. There are steps, too: decoder/program/code_steps.h. */
    void (*times)(void *ctx, const struct bt_block *block, uint64_t times);

    /* Optional: whether the addresses are in different functions. Ranges are marked with
     * CODE_LEAVES that do not surely end with a direct branch inside their function. */
    bool (*leaves)(void *ctx, uint64_t from, uint64_t to);
    void *ctx;
};

#define CODE_EPOCH_NONE UINT32_MAX /* no cache is ever in it */

#define CODE_CALLS 16 /* a power of two */

/* Calls seen last: guesses where a return goes, for protocols that tell its target anyway. */
struct code_calls {
    const struct code_view *view; /* that the ranges are of */
    struct code_range *from[CODE_CALLS];
    uint32_t count; /* modulo CODE_CALLS: the next free entry */
};

struct code_cache {
    const struct code_image *image;
    struct code_options options;
    struct code_view **views;
    size_t view_count;
    struct code_range **chunks;
    size_t chunk_count;
    size_t range_count;
    size_t range_bytes;       /* from one range to the next */
    uint32_t epoch;           /* changes when ranges given out earlier are void */
    struct code_steps *steps; /* NULL: none */
    struct code_calls calls;
};

/* `image` must outlive the cache. BT_ERR_NOMEM. */
int code_cache_init(struct code_cache *cache, const struct code_image *image,
                    const struct code_options *options);
void code_cache_release(struct code_cache *cache);

/* With `times`: who counts them is told of all of them, which then begin at 0 again. */
void code_cache_report_times(struct code_cache *cache);

/* The view for `key`: valid until code_cache_release() or a refresh that dropped.
 * NULL: no memory. */
struct code_view *code_select(struct code_cache *cache, const struct code_key *key);

/*
 * The range that starts at `address`. NULL: no memory. May start the cache over (epoch
 * changes); then every range given out before is void.
 */
struct code_range *code_lookup(struct code_cache *cache, struct code_view *view, uint64_t address,
                               enum bt_isa isa);

/*
 * The range at `address` where `from`, an indirect branch, went: remembers the last target, since
 * most branches go where they went before.
 */
struct code_range *code_indirect(struct code_cache *cache, struct code_view *view,
                                 struct code_range *from, uint64_t address, enum bt_isa isa);

/* Whether the next range that is made leaves those valid that were given out before. */
static inline bool code_has_room(const struct code_cache *cache)
{
    return cache->range_count < cache->options.max_ranges;
}

/* Where the branch leads that ends `range`; CODE_END_DIRECT, CODE_END_BARRIER. */
uint64_t code_target(const struct code_cache *cache, const struct code_view *view,
                     const struct code_range *range, enum bt_isa *isa);

/* Successors of a range; the first call looks up, later ones follow the link. */
struct code_range *code_taken(struct code_cache *cache, struct code_view *view,
                              struct code_range *range);
struct code_range *code_onward(struct code_cache *cache, struct code_view *view,
                               struct code_range *range);

/* Before code_note_call() and code_went() are used on ranges of `view`. */
static inline void code_calls_of(struct code_cache *cache, const struct code_view *view)
{
    if (cache->calls.view == view)
        return;
    memset(&cache->calls, 0, sizeof cache->calls);
    cache->calls.view = view;
}

/* The branch that ends `range` was taken if `taken` is 1, not if it is 0:
 * remembered if it is a call. */
static inline void code_note_call_if(struct code_calls *c, struct code_range *range, unsigned taken)
{
    c->from[c->count % CODE_CALLS] = range;
    c->count += range->last & INSN_LINK & taken;
}

static inline void code_note_call(struct code_calls *c, struct code_range *range)
{
    code_note_call_if(c, range, 1);
}

/* As code_lookup() if the range is there; never makes one, so that none is void afterwards. */
struct code_range *code_find(const struct code_cache *cache, const struct code_view *view,
                             uint64_t address, enum bt_isa isa);

/* Whether a range starts there. `wide`: it may be A64. */
static inline bool code_range_at(const struct code_range *range, uint64_t address, enum bt_isa isa,
                                 bool wide)
{
    return range->start == (uint32_t)address && code_range_isa(range) == isa &&
           (!wide || isa != BT_ISA_A64 || range->wide == address >> 32);
}

/* As code_indirect() with code_find(), for an address of 32 bits; returns are first looked for
 * behind the latest call. */
static inline struct code_range *code_went(struct code_cache *cache, const struct code_view *view,
                                           struct code_range *from, uint64_t address,
                                           enum bt_isa isa)
{
    struct code_calls *c = &cache->calls;
    struct code_range *call = c->from[(c->count - 1) % CODE_CALLS];
    struct code_range **guess = &from->next[CODE_TAKEN];
    if (!(from->last & INSN_LINK) && call && code_range_isa(call) == isa &&
        code_range_behind(call) == address) {
        c->count--;
        guess = &call->next[CODE_ONWARD];
    }
    if (!*guess || !code_range_at(*guess, address, isa, false))
        *guess = code_find(cache, view, address, isa);
    return *guess;
}

/*
 * One instruction: its class, and its opcode (T32: first halfword in the upper half if 4 bytes).
 * BT_ERR_NO_CODE, or BT_ERR_UNSUPPORTED for an instruction set that cannot be followed.
 */
int code_insn(const struct code_cache *cache, const struct code_view *view, uint64_t address,
              enum bt_isa isa, struct insn *insn, uint32_t *opcode);

/* The address of instruction number `index` of straight code from `first` on; false: there is code
 * on the way that is not known. */
bool code_address_of(struct code_cache *cache, const struct code_key *key, uint64_t first,
                     enum bt_isa isa, uint64_t index, uint64_t *address);

/* The same the other way: the number of a block's instruction at `address`; false: none begins
 * there. */
bool code_index_of(struct code_cache *cache, const struct code_key *key,
                   const struct bt_block *block, uint64_t address, uint64_t *index);

/* Bytes of the instruction at `address`, T32's pairs not split; 0: where code_insn() fails. */
unsigned code_insn_size(const struct code_view *view, uint64_t address, enum bt_isa isa);

/* Raw bytes as the view sees them; returns how many there are. */

#endif
