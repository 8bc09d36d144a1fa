/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where nothing but counts is wanted: the blocks that the atoms of a header, or of a few, lead
 * through are remembered as one step, which from then on is one look-up and one count, however many
 * blocks it goes through. Belongs to a cache of code.
 */
#ifndef DECODER_CODE_STEPS_H
#define DECODER_CODE_STEPS_H

#include "decoder/program/code.h"

#define CODE_STEP_BLOCKS 32u
#define CODE_STEPS       8192u /* a power of two */

_Static_assert(CODE_STEPS == 1u << (32 - 19) && CODE_STEPS <= CODE_PLACES << 7,
               "code_step_place() has as many, and the same for a range as code_step_at_range()");

/* Half a cache line, as a range is. Where it begins and ends is a range, or whatever the protocol
 * takes for a place: an address in the memory of a range. */
struct code_step {
    const void *from; /* NULL: a free one */
    void *to;         /* behind it; `due`: the indirect branch that was taken last; NULL: none */
    uint64_t times;   /* that it was taken */
    uint32_t header;  /* or whatever stands for its atoms */
    uint16_t insns;   /* of its blocks */
    uint8_t blocks;
    unsigned size : 3; /* headers that it takes, where they may be several */
    unsigned due : 1;
    unsigned calls : 1;  /* there is a call on the way */
    unsigned leaves : 1; /* so is a range with CODE_LEAVES */
};

_Static_assert(CODE_STEP_BLOCKS <= UINT8_MAX && sizeof(struct code_step) <= 32,
               "two in a cache line");

/* A way through blocks; of a step, what is looked at more rarely. */
struct code_step_way {
    void *to;
    struct code_range *call; /* the one call; NULL: there is none */
    uint32_t insns;
    uint32_t count;
    uint32_t size;
    uint32_t leaves; /* bit i: block i is a range with CODE_LEAVES */
    bool due;
    struct bt_block blocks[CODE_STEP_BLOCKS];
};

struct code_steps {
    struct code_step steps[CODE_STEPS];
    struct code_range *calls[CODE_STEPS]; /* of the step with the same number */
    uint32_t firsts[CODE_STEPS];          /* of its blocks in the pool */
    uint32_t leaves[CODE_STEPS];          /* as in struct code_step_way */
    struct bt_block *pool;
    size_t pooled, room;
};

static inline size_t code_step_place(const void *from, uint32_t header)
{
    const uintptr_t at = (uintptr_t)from;
    return (at / CODE_PLACES ^ at << 7 ^ header * 2654435769u >> 19) % CODE_STEPS;
}

static inline bool code_step_is(const struct code_step *step, const void *from, uint32_t header)
{
    return step->from == from && step->header == header;
}

/* NULL: it is not at its first place. */
static inline struct code_step *code_step_at(struct code_steps *s, const void *from,
                                             uint32_t header)
{
    struct code_step *step = &s->steps[code_step_place(from, header)];
    return code_step_is(step, from, header) ? step : NULL;
}

/* The same where it begins at a range: one turn less, for which the next look-up would wait. */
static inline struct code_step *code_step_at_range(struct code_steps *s,
                                                   const struct code_range *from, uint32_t header)
{
    struct code_step *step =
        &s->steps[((uintptr_t)from / CODE_PLACES ^ header * 2654435769u >> 19) % CODE_STEPS];
    return code_step_is(step, from, header) ? step : NULL;
}

/* The same at any place; NULL: it is not there. */
struct code_step *code_step_find(struct code_steps *s, const void *from, uint32_t header);

static inline void code_step_way_init(struct code_step_way *way, void *from)
{
    way->to = from;
    way->call = NULL;
    way->insns = way->count = way->size = way->leaves = 0;
    way->due = false;
}

/* The next block of a way. False: that cannot be in a step. */
bool code_step_way_add_block(struct code_step_way *way, const struct bt_block *block);

/* The same of a range, which failed to branch or not. */
bool code_step_way_add(struct code_step_way *way, struct code_range *range, unsigned fail);

/* Whether code_step_add() can have a place for it. */
bool code_step_has_room(struct code_steps *s, const void *from, uint32_t header);

/* NULL: there is no room for it. A way without `to`, or without blocks where the protocol's steps
 * have some: the header cannot be one step. */
struct code_step *code_step_add(struct code_steps *s, const void *from, uint32_t header,
                                const struct code_step_way *way);

static inline struct code_range *code_step_call(const struct code_steps *s,
                                                const struct code_step *step)
{
    return s->calls[step - s->steps];
}

/* step->blocks of them. They stay when ranges are dropped, until the cache is released. */
static inline const struct bt_block *code_step_blocks(const struct code_steps *s,
                                                      const struct code_step *step)
{
    return s->pool + s->firsts[step - s->steps];
}

/* Bit i: block i may be a transfer. */
static inline uint32_t code_step_leaves(const struct code_steps *s, const struct code_step *step)
{
    return s->leaves[step - s->steps];
}

/* Their times are told block by block, and begin at 0 again. */
void code_steps_report(struct code_steps *s, const struct code_options *options);

/* Ranges are void: no step is found any more. */
void code_steps_drop(struct code_steps *s);

struct code_steps *code_steps_new(void);
void code_steps_free(struct code_steps *s);

#endif
