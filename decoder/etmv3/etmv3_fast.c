/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams without cycle counts: a block ends with a taken branch, or with an instruction that
 * failed its condition. What can be told at the end is not kept on the way.
 */
#include "decoder/etmv3/etmv3_fast.h"

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

static void etmv3_position_load(const struct etmv3_flow *f, const struct flow_out *out,
                                struct etmv3_position *s)
{
    *s = (struct etmv3_position){.range = f->core.range,
                                 .b = out->blocks + out->block_count,
                                 .marks = out->times ? out->marks + out->mark_count : NULL,
                                 .number = f->core.instructions,
                                 .first = f->first,
                                 .left = code_range_count(f->core.range) - f->done,
                                 .joined = (int32_t)f->joined - (int32_t)f->begin,
                                 .pending = f->pending};
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

/* Steps: decoder/program/code_steps.h. A place that one begins and ends at is an address in the
 * memory of a range and its times: 0: at its start; 1 to 30: before the instruction with that
 * index, behind one that failed; 32 more: the same, with all before it in the open block; the last
 * one: the branch was executed that ends the range. */
#define PLACE_INDEX 32u
#define PLACE_DUE   63u

#define STEP_HEADERS 4u
#define STEP_BLOCKS  16u /* a newest one is unfolded where FLOW_SLACK blocks have room */

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

static ALWAYS_INLINE void etmv3_position_go_to(struct etmv3_position *s, void *place,
                                               struct kind kind)
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
    s->first = range->start + (code_range_isa(range) == BT_ISA_A32
                                   ? 4 * done
                                   : etmv3_position_offset(range, done, kind.counts));
}

/* Instructions of the open block. */
static inline uint32_t etmv3_place_open(const void *place)
{
    uint32_t at = (uintptr_t)place % CODE_PLACES;
    return at >= PLACE_INDEX && at != PLACE_DUE ? at % PLACE_INDEX : 0;
}

/* The blocks that one header led through. False, and nothing is added: not in this step. */
static bool etmv3_way_add(struct code_step_way *way, const struct bt_block *blocks, size_t count)
{
    const uint32_t before = way->count, insns = way->insns;
    bool fits = before + count <= STEP_BLOCKS;
    for (size_t i = 0; i < count && fits; i++)
        fits = code_step_way_add_block(way, blocks + i);
    if (!fits) {
        way->count = before;
        way->insns = insns;
    }
    return fits;
}

/* Takes as many of the headers as lead from place to place. False: a range is not linked yet. */
static bool etmv3_way_take(struct code_step_way *way, uint32_t headers)
{
    struct etmv3_position s = {.range = NULL};
    const struct kind kind = {.times = false};
    struct code_calls calls = {.count = 0};
    struct bt_block blocks[STEP_BLOCKS];
    etmv3_position_go_to(&s, way->to, kind);
    for (; headers && !s.pending; headers >>= 8) {
        const struct etmv3_header *h = &etmv3_plain_headers[headers >> 1 & 63];
        s.b = blocks;
        if (h->n == 0)
            break;
        if (etmv3_position_header(&s, &calls, h, kind))
            return false;
        void *to = etmv3_position_place(&s);
        if (!to || !etmv3_way_add(way, blocks, (size_t)(s.b - blocks)))
            break;
        way->to = to;
        way->size++;
    }
    return true;
}

/* The step that the headers begin with, seen for the first time. NULL: there is no room, or a range
 * is not linked yet. */
static __attribute__((noinline)) struct code_step *etmv3_learn(struct code_steps *steps, void *from,
                                                               uint32_t headers)
{
    struct code_step *known = code_step_find(steps, from, headers);
    struct code_step_way way;
    if (known || !code_step_has_room(steps, from, headers))
        return known;
    code_step_way_init(&way, from);
    if (!etmv3_way_take(&way, headers))
        return NULL;
    if (way.size == 0)
        way.to = NULL;
    return code_step_add(steps, from, headers, &way);
}

/* The next P-headers, up to STEP_HEADERS; returns how many. */
static ALWAYS_INLINE uint32_t etmv3_headers_at(const uint8_t *at, uint32_t *headers)
{
    uint32_t word = packet_word(at);
    uint64_t other = ((word & 0x81818181) ^ 0x80808080) | (uint64_t)1 << 32;
    uint32_t bits = (uint32_t)__builtin_ctzll(other) & ~7u;
    *headers = word & (uint32_t)(((uint64_t)1 << bits) - 1);
    return bits / 8;
}

/* The newest step becomes the blocks that it stands for: what is kept as pending, or noted as the
 * latest one, is a block. */
static void etmv3_position_unfold(struct etmv3_position *s, const struct bt_block *base,
                                  struct code_steps *steps)
{
    const struct code_step *newest = s->b > base ? flow_step_of(s->b - 1) : NULL;
    if (!newest)
        return;
    const struct bt_block *blocks = code_step_blocks(steps, newest);
    steps->steps[newest - steps->steps].times--;
    s->more -= newest->blocks - 1u;
    s->b--;
    for (unsigned i = 0; i < newest->blocks; i++) {
        *s->b = blocks[i];
        etmv3_position_put(s, (struct kind){.times = true}, true);
    }
}

/* A branch packet: where the indirect branch went, or what is known already. */
static ALWAYS_INLINE bool etmv3_position_branch(struct etmv3_flow *f, struct etmv3_position *s,
                                                struct etmv3_bytes *in)
{
    struct etmv3_short k;
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if (!etmv3_short_branch(&form, in->at, in->end, &k))
        return false;
    if (s->pending) {
        struct code_range *next = code_went(f->core.code, f->core.view, s->range, k.address, isa);
        if (!next)
            return false;
        etmv3_position_enter(s, next);
        s->pending = false;
    } else if (!etmv3_position_ended(s) || etmv3_position_first(s) != k.address ||
               code_range_isa(s->range) != isa) {
        return false;
    }
    etmv3_short_take(in, &k);
    return true;
}

/* The range where an indirect branch goes, seen for the first time: a step without blocks. NULL: it
 * is not known. */
static __attribute__((noinline)) void *etmv3_learn_target(const struct flow_core *core, void *from,
                                                          uint32_t address, enum bt_isa isa)
{
    struct code_steps *steps = core->code->steps;
    struct code_step *known = code_step_find(steps, from, address | isa);
    struct code_range *range = code_find(core->code, core->view, address, isa);
    if (range && !known && code_step_has_room(steps, from, address | isa)) {
        struct code_step_way way;
        code_step_way_init(&way, range);
        code_step_add(steps, from, address | isa, &way);
    }
    return range;
}

/* The same by the branch packet that must be next. NULL: it is not. */
static ALWAYS_INLINE void *etmv3_place_went(const struct flow_core *core, void *place,
                                            struct etmv3_bytes *in)
{
    struct etmv3_short k;
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    if ((uintptr_t)place % CODE_PLACES != PLACE_DUE ||
        !etmv3_short_branch(&form, in->at, in->end, &k))
        return NULL;
    const struct code_step *step = code_step_at(core->code->steps, place, k.address | isa);
    void *to = step ? step->to : etmv3_learn_target(core, place, k.address, isa);
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

/* No choice of two values: see below. */
static __attribute__((noinline)) uint32_t etmv3_step_size(const struct code_step *step)
{
    return step->size;
}

/* The step of `n` headers. NULL: there is none. */
static ALWAYS_INLINE void *etmv3_position_step(struct etmv3_position *s, struct etmv3_bytes *in,
                                               struct code_steps *steps, void *place,
                                               uint32_t headers, uint32_t n)
{
    struct code_step *step = code_step_at(steps, place, headers);
    if (!step)
        step = etmv3_learn(steps, place, headers);
    if (!step || !step->to)
        return NULL;
    step->times++;
    *s->b = flow_step_block(step);
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

/* As many steps and branch packets between them as there are. False: there is not one. Which of
 * them comes next the bytes say, which are at hand before the place is. */
static ALWAYS_INLINE bool etmv3_position_steps(struct etmv3_flow *f, struct etmv3_position *s,
                                               struct etmv3_bytes *in, const struct bt_block *limit,
                                               struct kind kind)
{
    void *from = in->has_pending ? NULL : etmv3_position_place(s), *place = from, *next = from;
    struct code_steps *steps = f->core.code->steps;
    const uint8_t *at = in->at;
    while (next && s->b <= limit && in->end - in->at >= 4) {
        uint32_t headers, n = etmv3_headers_at(in->at, &headers);
        place = next;
        next = n ? etmv3_position_step(s, in, steps, place, headers, n)
                 : etmv3_place_went(&f->core, place, in);
    }
    place = next ? next : place;
    if (at == in->at)
        return false;
    in->atoms += (uint64_t)etmv3_place_open(place) - etmv3_place_open(from);
    etmv3_position_go_to(s, place, kind);
    return true;
}

/* Code seen for the first time. */

/* The range where the branch packet leads that comes next. */
static bool etmv3_position_link_branch(struct etmv3_flow *f, const struct etmv3_bytes *in)
{
    struct etmv3_form form = etmv3_form(in->p);
    enum bt_isa isa = (enum bt_isa)in->p->base.isa;
    struct etmv3_short k;
    return !in->has_pending && etmv3_short_branch(&form, in->at, in->end, &k) &&
           !code_find(f->core.code, f->core.view, k.address, isa) &&
           code_lookup(f->core.code, f->core.view, k.address, isa);
}

/* The successor that the next of the atoms wants that are left. */
static bool etmv3_position_link_next(struct etmv3_flow *f, struct etmv3_position *s,
                                     const struct etmv3_header *left)
{
    struct code_range *range = s->range;
    bool taken = left->passed > 0 && range->end == CODE_END_DIRECT;
    if (left->passed ? left->passed < s->left : s->left != 1)
        return false;
    if (range->end == CODE_END_NO_CODE || (left->passed && range->end == CODE_END_INDIRECT) ||
        range->next[taken ? CODE_TAKEN : CODE_ONWARD])
        return false;
    return taken ? code_taken(f->core.code, f->core.view, range)
                 : code_onward(f->core.code, f->core.view, range);
}

/* The loop has stopped for want of a range, or of a link to it: that is made, and the rest of the
 * header taken. False: it was something else. */
static __attribute__((noinline)) bool etmv3_position_link(struct etmv3_flow *f,
                                                          struct etmv3_position *s,
                                                          struct etmv3_bytes *in,
                                                          const struct flow_out *out)
{
    if (!in->left)
        return s->pending && code_has_room(f->core.code) && etmv3_position_link_branch(f, in);
    while (in->left) {
        struct etmv3_header h = {.n = (uint8_t)in->left, .value = (uint8_t)in->value};
        h.passed = (uint8_t)(h.n - (h.value ? 32 - __builtin_clz(h.value) : 0));
        if (s->pending || s->b > out->blocks + (out->block_max - FLOW_SLACK) ||
            !code_has_room(f->core.code) || !etmv3_position_link_next(f, s, &h))
            return false;
        const struct kind kind = {.times = out->times, .leaves = out->leaves};
        uint32_t left = etmv3_position_header(s, &f->core.code->calls, &h, kind);
        in->atoms += h.n - left;
        in->value &= (1u << left) - 1;
        in->left = left;
    }
    return true;
}

/* Where the next instruction is, and the block that ends before it, if one is open: 1 or 0 blocks
 * at s->b, -1 where it takes longer to tell. */
static int etmv3_position_close(const struct etmv3_position *s, uint64_t *here)
{
    const struct code_range *range = s->range;
    uint32_t done = etmv3_position_done(s), offset, size = 4;
    *here = etmv3_position_first(s);
    if (etmv3_position_ended(s))
        return 0;
    if (done == 0 || (code_range_isa(range) != BT_ISA_A32 && done > CODE_WIDE_BITS))
        return -1;
    offset =
        code_range_isa(range) == BT_ISA_A32 ? 4 * (done - 1) : etmv3_wide_offset(range, done - 1);
    if (code_range_isa(range) != BT_ISA_A32)
        size = 2 + 2 * (range->wide >> (done - 1) & 1);
    uint64_t last = range->start + offset;
    s->b->first = etmv3_position_first(s);
    s->b->extent = (uint32_t)(last - s->b->first);
    s->b->info = bt_block_info((uint32_t)s->joined + done, code_range_isa(range), BT_COND_PASS);
    *here = (uint32_t)(last + size);
    return 1;
}

/* An exception, or the exit from one. False: it is something else. */
static bool etmv3_position_interrupt(struct etmv3_flow *f, struct etmv3_position *s,
                                     struct etmv3_bytes *in, struct flow_out *out)
{
    struct etmv3_origin from = {.isa = code_range_isa(s->range), .known = !s->pending};
    if (in->at == in->end || in->left)
        return false;
    if (*in->at == ETMV3_EXC_EXIT)
        return etmv3_position_ended(s) && etmv3_uncommitted(in) &&
               etmv3_fast_return(f, in, s->b - 1, out);
    int blocks = etmv3_position_close(s, &from.address);
    struct code_range *range = blocks < 0 ? NULL : etmv3_fast_exception(f, in, &from, out);
    if (!range)
        return false;
    if (blocks)
        etmv3_position_put(s, (struct kind){.times = out->times, .leaves = out->leaves}, true);
    s->pending = false;
    etmv3_position_enter(s, range);
    return true;
}

/* Back to the flow's state. */

/* What was put out last, or joined. A branch that was taken counts while it is pending, an
 * instruction that failed does not. */
static void etmv3_position_last(struct etmv3_flow *f, const struct etmv3_position *s, bool keep,
                                const struct bt_block *base)
{
    const struct bt_block *b = s->b;
    if (s->joined > 0 && !s->pending) {
        if (s->before)
            etmv3_set_last(f, code_range_last(s->before), code_range_isa(s->before));
        return;
    }
    if (keep && bt_block_cond(b - 1) != BT_COND_PASS)
        b--;
    if (b > base)
        etmv3_set_last(f, bt_block_last(b - 1), bt_block_isa(b - 1));
}

/* It is not put out yet, and not of a range when it is. */
static void etmv3_position_uncount(const struct etmv3_flow *f, const struct bt_block *b)
{
    const struct flow_core *core = &f->core;
    struct code_range *range = b->info & FLOW_COUNTED
                                   ? code_find(core->code, core->view, b->first, bt_block_isa(b))
                                   : NULL;
    if (range)
        code_range_times(range)[bt_block_cond(b) - BT_COND_PASS]--;
}

static void etmv3_position_store(struct etmv3_flow *f, struct etmv3_position *s,
                                 struct etmv3_bytes *in, struct flow_out *out)
{
    uint64_t instructions = in->atoms + etmv3_open(f);
    bool keep = etmv3_uncommitted(in) && etmv3_position_ended(s);
    etmv3_position_last(f, s, keep, out->blocks + out->block_count);
    if (in->atoms)
        f->branched = ETMV3_BRANCHED_NOT;
    if (keep) {
        etmv3_position_uncount(f, --s->b);
        if (out->times && s->marks > out->marks && s->marks[-1].block == s->b)
            s->marks--;
        etmv3_fast_keep_pending(f, in, s->b, FLOW_NO_CYCLES, out);
        instructions -= f->pending_block.count;
        if (f->pending_block.cond == BT_COND_PASS)
            f->branched = ETMV3_BRANCHED_DIRECT;
    }
    if (in->branched == in->at)
        f->branched = ETMV3_BRANCHED_PACKET;
    f->core.range = s->range;
    f->core.cur.isa = code_range_isa(s->range);
    f->core.cur.known = !s->pending;
    f->core.cur.address = s->pending ? f->last : s->range->start;
    f->first = s->pending ? f->last : etmv3_position_first(s);
    f->since = in->atoms + f->since > 1 ? 2 : (uint8_t)(in->atoms + f->since);
    f->near_index = 0;
    f->done = s->pending ? 0 : etmv3_position_done(s);
    f->joined = s->pending || s->joined < 0 ? 0 : (uint32_t)s->joined;
    f->begin = s->pending || s->joined > 0 ? 0 : (uint32_t)-s->joined;
    f->pending = s->pending;
    size_t count = (size_t)(s->b - (out->blocks + out->block_count));
    if (out->times)
        out->mark_count = (size_t)(s->marks - out->marks);
    if (out->cycles)
        memset(out->cycles + out->block_count, 0xff, count * sizeof *out->cycles);
    etmv3_emitted(f, out, s->b, instructions - etmv3_open(f));
    f->core.blocks += s->more;
}

/* Goes on until `bytes` or `out` ends, or something is not simple. On its own, and on copies: so
 * that compilers keep them in registers. */
static ALWAYS_INLINE void etmv3_position_run(struct etmv3_flow *f, struct etmv3_position *position,
                                             struct etmv3_bytes *bytes, struct flow_out *out,
                                             struct kind kind)
{
    const struct bt_block *limit = out->blocks + (out->block_max - FLOW_SLACK);
    struct code_calls *calls = &f->core.code->calls;
    struct etmv3_bytes in = *bytes;
    struct etmv3_position s = *position;
    while (in.at < in.end && s.b <= limit) {
        if (kind.times && !kind.leaves && etmv3_position_steps(f, &s, &in, limit, kind))
            continue;
        uint8_t header = *in.at;
        if (s.pending || !etmv3_is_pheader(header)) {
            if (!etmv3_position_branch(f, &s, &in))
                break;
            in.branched = in.at;
            continue;
        }
        const struct etmv3_header *h = &etmv3_plain_headers[header >> 1 & 63];
        if (h->n == 0)
            break;
        if (in.has_pending) {
            etmv3_release(f, out);
            s.b = out->blocks + out->block_count;
            if (kind.times)
                s.marks = out->marks + out->mark_count;
            s.number = f->core.instructions;
            in.has_pending = false;
        }
        in.at++;
        uint32_t left = etmv3_position_header(&s, calls, h, kind);
        in.atoms += h->n - left;
        if (left) {
            etmv3_leave(&in, left, h);
            break;
        }
    }
    *position = s;
    *bytes = in;
}

#define FAST_LOOP(name, attributes, ...)                                                           \
    static __attribute__((attributes)) void name(struct etmv3_flow *f, struct etmv3_position *s,   \
                                                 struct etmv3_bytes *in, struct flow_out *out)     \
    {                                                                                              \
        etmv3_position_run(f, s, in, out, (struct kind){__VA_ARGS__});                             \
    }
FAST_LOOP(fast_loop, noinline, false, false, false)
FAST_LOOP(fast_loop_times, noinline, false, true, false)
FAST_LOOP(fast_loop_leaves, noinline, false, true, true)

/* Each N inside a range counts the wide instructions before it: a tenth of the loop's time on
 * processors that are only known to be x86-64. */
#ifdef __x86_64__
#define POPCNT     noinline, target("popcnt")
#define HAS_POPCNT (__builtin_cpu_supports("popcnt") != 0)
FAST_LOOP(fast_loop_popcnt, POPCNT, true, false, false)
FAST_LOOP(fast_loop_times_popcnt, POPCNT, true, true, false)
FAST_LOOP(fast_loop_leaves_popcnt, POPCNT, true, true, true)
#else
#define fast_loop_popcnt        fast_loop
#define fast_loop_times_popcnt  fast_loop_times
#define fast_loop_leaves_popcnt fast_loop_leaves
#define HAS_POPCNT              false
#endif

/* By bits that are counted, times and leaves. */
static void (*const fast_loops[2][3])(struct etmv3_flow *f, struct etmv3_position *s,
                                      struct etmv3_bytes *in, struct flow_out *out) = {
    {fast_loop, fast_loop_times, fast_loop_leaves},
    {fast_loop_popcnt, fast_loop_times_popcnt, fast_loop_leaves_popcnt}};

static __attribute__((noinline)) void etmv3_fast_plain(struct etmv3_flow *f, struct etmv3_bytes *in,
                                                       struct flow_out *out)
{
    struct etmv3_position s;
    etmv3_position_load(f, out, &s);
    do {
        fast_loops[HAS_POPCNT][out->times + out->leaves](f, &s, in, out);
        if (out->times && !out->leaves)
            etmv3_position_unfold(&s, out->blocks + out->block_count, f->core.code->steps);
    } while (etmv3_position_interrupt(f, &s, in, out) || etmv3_position_link(f, &s, in, out));
    etmv3_position_store(f, &s, in, out);
}

/* Short branches leave it as it is. */
static bool same_security(const struct etmv3 *p, const struct etmv3_flow *f)
{
    return etmv3_state(p, &p->base) >> 4 == f->core.cur.security;
}

/* The range at the position, as the next atom would look for it. */
static void find_range(struct flow_core *c)
{
    struct code_view *view = flow_view(c);
    if (view && !c->range && c->cur.known)
        c->range = code_lookup(c->code, view, c->cur.address, (enum bt_isa)c->cur.isa);
}

static bool etmv3_fast_fast_path_may_begin(const struct etmv3 *p, const struct etmv3_flow *f)
{
    if (!p->scan.synced || p->scan.in_zeros || p->scan.carry_len || !p->base.known ||
        p->config.data_only)
        return false;
    if (p->base.isa > BT_ISA_T32 || p->base.alt_isa || !same_security(p, f))
        return false;
    if (!f->synced || f->has_deferred || f->blind || etmv3_has_data(f))
        return false;
    return f->core.cur.known || f->pending;
}

/* What the two loops can take at in->at, out of them: false, and nothing is taken. */
static bool etmv3_fast_fast_path(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    if (!etmv3_fast_fast_path_may_begin(in->p, f))
        return false;
    if (f->done == 0)
        find_range(&f->core);
    if (!f->core.range || f->core.view_stale || !flow_room(out))
        return false;
    code_calls_of(f->core.code, f->core.view);
    in->start = in->at;
    in->branched = NULL;
    in->atoms = in->committed = 0;
    in->returned = UINT64_MAX;
    in->has_pending = etmv3_has_pending(f);
    if (in->p->config.cycle_accurate)
        etmv3_fast_cycles(f, in, out);
    else
        etmv3_fast_plain(f, in, out);
    in->p->scan.offset += (size_t)(in->at - in->start);
    return true;
}

/* What the loop left of a P-header. */
static bool take_left(struct etmv3_flow *f, struct etmv3_bytes *in, struct flow_out *out)
{
    if (in->left == 0)
        return false;
    const struct etmv3_packet k = {.offset = in->p->scan.offset - 1,
                                   .value = in->value,
                                   .size = 1,
                                   .flags = in->flags,
                                   .kind = ETMV3_ATOM,
                                   .n = (uint8_t)in->left};
    in->left = 0;
    etmv3_atoms(f, &k, out);
    return true;
}

/* One packet that the loops cannot take: the slow path, but at once. */
static bool etmv3_fast_slow_packet(struct etmv3_flow *f, struct etmv3_bytes *in,
                                   struct flow_out *out)
{
    struct etmv3_packet k[3]; /* what one step of the parser may need */
    struct etmv3 *p = in->p;
    size_t count = 0;
    bool room = out->block_max - out->block_count >= 3 * FLOW_SLACK &&
                out->event_max - out->event_count >= 3 * FLOW_SLACK;
    if (in->at == in->end || !room || !p->scan.synced || p->scan.in_zeros || p->scan.carry_len)
        return false;
    size_t size = etmv3_parse(p, in->at, (size_t)(in->end - in->at), k, 3, &count);
    etmv3_flow_run(f, k, count, out);
    in->at += size;
    in->inner += size - count;
    return true;
}

size_t etmv3_fast(struct etmv3 *p, struct etmv3_flow *f, const uint8_t *data, size_t len,
                  struct flow_out *out, uint64_t *packets)
{
    struct etmv3_bytes in = {.p = p, .at = data, .end = data + len};
    while (etmv3_fast_fast_path(f, &in, out) &&
           (take_left(f, &in, out) || etmv3_fast_slow_packet(f, &in, out)))
        ;
    size_t used = (size_t)(in.at - data);
    *packets += used - in.inner;
    return used;
}
