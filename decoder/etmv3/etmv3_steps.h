/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps of a few P-headers (decoder/program/code_steps.h): where nothing but counts is wanted, the
 * blocks that they lead through are not put out one by one. Private to decoder/etmv3.
 */
#ifndef DECODER_ETMV3_STEPS_H
#define DECODER_ETMV3_STEPS_H

#include "etmv3_position.h"

/* A place that one begins and ends at is an address in the memory of a range and its times: 0: at
 * its start; 1 to 30: before the instruction with that index, behind one that failed; 32 more: the
 * same, with all before it in the open block; the last one: the branch was executed that ends the
 * range. */
#define PLACE_INDEX 32u
#define PLACE_DUE   63u

#define STEP_BLOCKS 16u /* a newest one is unfolded where FLOW_SLACK blocks have room */

static inline struct code_range *etmv3_place_range(void *place)
{
    return (struct code_range *)(void *)((char *)place - (uintptr_t)place % CODE_PLACES);
}

/* NULL: none for it. */
static ALWAYS_INLINE void *etmv3_position_place(const struct etmv3_position *s)
{
    uint32_t done = etmv3_position_done(s), begin = (uint32_t)-s->joined;
    if (s->pending)
        return (char *)s->range + PLACE_DUE;
    if (done >= PLACE_INDEX || s->joined > 0 || (begin && begin != done) ||
        done + PLACE_INDEX == PLACE_DUE)
        return NULL;
    return (char *)s->range + done + (begin == done ? 0 : PLACE_INDEX);
}

static inline void etmv3_position_go_to(struct etmv3_position *s, void *place)
{
    uint32_t at = (uintptr_t)place % CODE_PLACES, done = at % PLACE_INDEX;
    struct code_range *range = etmv3_place_range(place);
    etmv3_position_enter(s, range);
    s->pending = at == PLACE_DUE;
    if (s->pending || !done)
        return;
    s->left -= done;
    if (at >= PLACE_INDEX)
        return;
    s->joined = -(int32_t)done;
    s->first = range->start +
               (code_range_isa(range) == BT_ISA_A32 ? 4 * done : etmv3_wide_offset(range, done));
}

/* Instructions of the open block. */
static inline uint32_t etmv3_place_open(const void *place)
{
    uint32_t at = (uintptr_t)place % CODE_PLACES;
    return at >= PLACE_INDEX && at != PLACE_DUE ? at % PLACE_INDEX : 0;
}

/* The step that the headers begin with, seen for the first time. NULL: there is no room, or a range
 * is not linked yet. */
struct code_step *etmv3_learn(const struct code_cache *code, void *from, uint32_t headers);

/* step->size, no choice of two values: see etmv3_position_step(). */
uint32_t etmv3_step_size(const struct code_step *step);

/* The newest step becomes the blocks that it stands for: what is kept as pending, or noted as the
 * latest one, is a block. */
void etmv3_position_unfold(struct etmv3_position *s, const struct bt_block *base,
                           struct code_steps *steps, bool leaves);

/* The next P-headers, up to 4; returns how many. */
static ALWAYS_INLINE uint32_t etmv3_headers_at(const uint8_t *at, uint32_t *headers)
{
    uint32_t word = bytes_word(at);
    uint64_t other = ((word & 0x81818181) ^ 0x80808080) | (uint64_t)1 << 32;
    uint32_t bits = (uint32_t)__builtin_ctzll(other) & ~7u;
    *headers = word & (uint32_t)(((uint64_t)1 << bits) - 1);
    return bits / 8;
}

/* Where an indirect branch goes by the branch packet that must be next. NULL: it is not. */
static ALWAYS_INLINE void *etmv3_place_went(const struct flow_core *core, void *place,
                                            struct etmv3_bytes *in)
{
    struct etmv3_short k;
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if ((uintptr_t)place % CODE_PLACES != PLACE_DUE ||
        !etmv3_short_branch(&form, in->at, in->end, &k))
        return NULL;
    void *to = flow_went(core, place, k.address, isa);
    if (!to)
        return NULL;
    etmv3_short_take(in, &k);
    in->branched = in->at;
    return to;
}

/* `n`, of which compilers know nothing more. */
static ALWAYS_INLINE uint32_t etmv3_opaque(uint32_t n)
{
    __asm__("" : "+r"(n));
    return n;
}

/* The step of `n` headers. NULL: there is none. */
static ALWAYS_INLINE void *etmv3_position_step(struct etmv3_position *s, struct etmv3_bytes *in,
                                               const struct code_cache *code, void *place,
                                               uint32_t headers, uint32_t n, bool leaves)
{
    struct code_step *step = code_step_at(code->steps, place, headers);
    if (!step)
        step = etmv3_learn(code, place, headers);
    if (!step || !step->to)
        return NULL;
    step->times++;
    *s->b = flow_step_block(step);
    if (leaves) {
        s->number += step->insns;
        *s->marks = (struct flow_mark){s->b, s->number};
        s->marks += step->leaves;
    }
    s->b += step->blocks > 0;
    s->more += step->blocks - (uint64_t)(step->blocks > 0);
    in->atoms += step->insns;
    /* Mostly all headers: the bytes behind them are looked at before the step is there. */
    uint32_t size = etmv3_opaque(n);
    if (step->size != n)
        size = etmv3_step_size(step);
    in->at += size;
    return step->to;
}

/* As many steps and branch packets between them as there are. False: there is not one. Which of the
 * two comes next the bytes say, which are at hand before the place is. */
static ALWAYS_INLINE bool etmv3_position_steps(struct etmv3_flow *f, struct etmv3_position *s,
                                               struct etmv3_bytes *in, const struct bt_block *limit,
                                               bool leaves)
{
    void *from = in->has_pending ? NULL : etmv3_position_place(s), *place = from, *next = from;
    const uint8_t *at = in->at;
    while (next && s->b <= limit && in->end - in->at >= 4) {
        uint32_t headers, n = etmv3_headers_at(in->at, &headers);
        place = next;
        next = n ? etmv3_position_step(s, in, f->core.code, place, headers, n, leaves)
                 : etmv3_place_went(&f->core, place, in);
    }
    place = next ? next : place;
    if (at == in->at)
        return false;
    in->atoms += (uint64_t)etmv3_place_open(place) - etmv3_place_open(from);
    etmv3_position_go_to(s, place);
    return true;
}

#endif
