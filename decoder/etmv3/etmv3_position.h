/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the loop without cycle counts is: what its atoms do, each and in steps. All of it is inline
 * for the loop, where its state stays in registers. Private to decoder/etmv3.
 */
#ifndef DECODER_ETMV3_POSITION_H
#define DECODER_ETMV3_POSITION_H

#include "etmv3_fast_internal.h"

/* The loop is one function: its state stays in registers. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

#define JOINED_MAX (1 << 20) /* instructions of one block: longer ones are for the slow path */

/* A block as a whole: in a register, and where it lies. No memcpy() copies it: where the C library
 * checks that (_FORTIFY_SOURCE), compilers weigh it as a call when they order branches, and put the
 * usual case behind the loop. */
typedef uint64_t block_bits __attribute__((vector_size(16)));
typedef block_bits block_memory __attribute__((aligned(4), may_alias));

/* What of a range's second half is its block. */
static const block_bits range_block = {UINT32_MAX, 0xffffffff0000ffff};

/* Where execution is. */
struct etmv3_position {
    struct code_range *range;
    struct code_range *before; /* if `joined` is more than 0: the range before; NULL:
                                  see the flow */
    struct bt_block *b;        /* the next block */
    struct flow_mark *marks;   /* the next one; NULL: without times */
    uint64_t number;           /* of the instruction behind the blocks, with `leaves` */
    uint64_t more;             /* blocks, where one of `b` stands for several */
    uint64_t first;            /* where the open block begins, if `joined` is not 0 */
    uint32_t left;             /* instructions of the range that were not executed yet */
    int32_t joined; /* instructions of the open block in earlier ranges, less those of this range
                       that are not in it */
    bool pending;   /* the range's indirect branch was executed: its branch packet must come */
};

static ALWAYS_INLINE void etmv3_position_enter(struct etmv3_position *s, struct code_range *range)
{
    s->range = range;
    s->left = code_range_count(range);
    s->joined = 0;
}

/* Where the open block begins, or will begin. */
static inline uint64_t etmv3_position_first(const struct etmv3_position *s)
{
    return s->joined ? s->first : s->range->start;
}

static inline uint32_t etmv3_position_done(const struct etmv3_position *s)
{
    return code_range_count(s->range) - s->left;
}

/* Nothing is open: the latest atom ended a block. */
static inline bool etmv3_position_ended(const struct etmv3_position *s)
{
    return s->pending || s->joined + (int32_t)etmv3_position_done(s) == 0;
}

/* What is known where the loop is compiled, once for each. */
struct kind {
    bool counts; /* the processor counts bits with one instruction */
    bool times;  /* of ranges are counted */
    bool leaves; /* their ends are marked */
};

/* The block at s->b is whole. */
static ALWAYS_INLINE void etmv3_position_put(struct etmv3_position *s, struct kind kind, bool mark)
{
    if (kind.leaves)
        s->number += bt_block_count(s->b);
    if (kind.leaves || (kind.times && mark)) {
        *s->marks = (struct flow_mark){s->b, s->number};
        s->marks += mark;
    }
    s->b++;
}

/* A block ends with the last instruction of the range, and mostly began with its first. */
static ALWAYS_INLINE void etmv3_position_block(struct etmv3_position *s, struct code_range *range,
                                               enum bt_cond cond, struct kind kind)
{
    if (s->joined == 0) {
        const uint64_t info = (uint64_t)cond << 4 | (kind.times ? FLOW_COUNTED : 0);
        block_bits block = *(const block_memory *)&range->start & range_block;
        *(block_memory *)s->b = block + (block_bits){0, info << 32};
        if (kind.times)
            code_range_times(range)[cond - BT_COND_PASS]++;
        etmv3_position_put(s, kind, kind.leaves && range->info & CODE_LEAVES);
    } else {
        s->b->first = s->first;
        s->b->extent = (uint32_t)(range->start - s->first) + range->extent;
        s->b->info = range->info + ((uint32_t)s->joined << 8) + ((uint32_t)cond << 4);
        etmv3_position_put(s, kind, true);
    }
}

/* The range was executed to its end, which is no branch: the open block goes on behind it. */
static ALWAYS_INLINE bool etmv3_position_join(struct etmv3_position *s)
{
    struct code_range *range = s->range, *next = range->next[CODE_ONWARD];
    int32_t joined = s->joined + (int32_t)code_range_count(range);
    if (!next || range->end == CODE_END_NO_CODE || joined > JOINED_MAX)
        return false;
    s->first = etmv3_position_first(s);
    s->range = next;
    s->before = range;
    s->left = code_range_count(next);
    s->joined = joined;
    return true;
}

/* As etmv3_wide_offset(). */
static ALWAYS_INLINE uint32_t etmv3_position_offset(const struct code_range *range, uint32_t index,
                                                    bool counts)
{
    uint32_t before = range->wide & (uint32_t)(((uint64_t)1 << index) - 1);
    return 2 * index + 2 * (counts ? (uint32_t)__builtin_popcount(before) : etmv3_bits_set(before));
}

/* An N inside the range: a block ends there. */
static ALWAYS_INLINE bool etmv3_position_inside(struct etmv3_position *s, struct kind kind)
{
    const struct code_range *range = s->range;
    uint32_t index = etmv3_position_done(s), size = 4, offset = 4 * index;
    if (code_range_isa(range) != BT_ISA_A32) {
        if (index >= CODE_WIDE_BITS)
            return false;
        offset = etmv3_position_offset(range, index, kind.counts);
        size = 2 + 2 * (range->wide >> index & 1);
    }
    uint64_t last = range->start + offset;
    s->b->first = etmv3_position_first(s);
    s->b->extent = (uint32_t)(last - s->b->first);
    s->b->info =
        bt_block_info((uint32_t)s->joined + index + 1, code_range_isa(range), BT_COND_FAIL);
    etmv3_position_put(s, kind, true);
    s->first = last + size;
    s->left--;
    s->joined = -(int32_t)(index + 1);
    return true;
}

/* One instruction failed. False: it has yet to be taken, by the slow path. */
static ALWAYS_INLINE bool etmv3_position_failed(struct etmv3_position *s, struct kind kind)
{
    struct code_range *range = s->range, *next = range->next[CODE_ONWARD];
    if (s->joined > 0 || s->left == 0) /* what was joined could not be told from it at the end */
        return false;
    if (s->left > 1)
        return etmv3_position_inside(s, kind);
    if (!next || range->end == CODE_END_NO_CODE)
        return false;
    etmv3_position_block(s, range, BT_COND_FAIL, kind);
    etmv3_position_enter(s, next);
    return true;
}

/* `e` instructions passed. Returns those that have yet to be taken, by the slow path. */
static ALWAYS_INLINE uint32_t etmv3_position_passed(struct etmv3_position *s,
                                                    struct code_calls *calls, uint32_t e,
                                                    struct kind kind)
{
    while (e >= s->left) {
        struct code_range *range = s->range, *next = range->next[CODE_TAKEN];
        uint32_t left = s->left;
        if (range->end != CODE_END_DIRECT) {
            if (range->end != CODE_END_INDIRECT) {
                if (!etmv3_position_join(s))
                    return e;
                e -= left;
                continue;
            }
            if (e != left)
                return e;
            etmv3_position_block(s, range, BT_COND_PASS, kind);
            code_note_call(calls, range);
            s->pending = true;
            return 0;
        }
        if (!next)
            return e;
        etmv3_position_block(s, range, BT_COND_PASS, kind);
        code_note_call(calls, range);
        etmv3_position_enter(s, next);
        e -= left;
    }
    s->left -= e;
    return 0;
}

/* The same for all atoms of a header. */
static ALWAYS_INLINE uint32_t etmv3_position_header(struct etmv3_position *s,
                                                    struct code_calls *calls,
                                                    const struct etmv3_header *h, struct kind kind)
{
    uint32_t e = h->passed, rest = h->n - e; /* 0, 1, or 2 when the first failed */
    for (;;) {
        e = etmv3_position_passed(s, calls, e, kind);
        if (e || rest == 0)
            return e + rest;
        if (s->pending || !etmv3_position_failed(s, kind))
            return rest;
        if (--rest == 0)
            return 0;
        e = ~h->value & 1;
        rest -= e;
    }
}

#endif
