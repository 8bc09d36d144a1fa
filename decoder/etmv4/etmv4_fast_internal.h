/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fast path works on: its cursor, addresses and atoms. Private to etmv4_fast.c. */
#ifndef DECODER_ETMV4_FAST_INTERNAL_H
#define DECODER_ETMV4_FAST_INTERNAL_H

#include "etmv4_flow_internal.h"
#include "etmv4_internal.h"

#include <string.h>

#define ETMV4_HDR_ADDRESS 0x90 /* up to ETMV4_HDR_ADDRESS + 0xf */

/* Bytes on the fast path. */
struct etmv4_bytes {
    struct etmv4 *p;
    const uint8_t *at;
    const uint8_t *end;
    const uint8_t *start; /* of the bytes at hand: at the parser's offset */
    uint64_t inner;       /* bytes of packets behind their first ones */
    unsigned left; /* atoms of the header before `at` that have yet to be taken, by the slow path */
};

/* A block as a whole: its address, and the rest. */
typedef uint64_t etmv4_bits __attribute__((vector_size(16)));

/* What the packets of one call work on; written back when it ends. */
struct etmv4_fast_cursor {
    struct etmv4_flow *f;
    etmv4_bits mask;           /* what of a range's second half is its block */
    struct code_range **calls; /* those of the cache: the next one's place is call_count */
    struct code_range *range;  /* that execution is in front of, or `due`:
                                  the branch that was taken */
    struct bt_block *b;
    struct flow_mark *marks;     /* the next one; NULL: without times */
    struct code_steps *steps;    /* NULL: none */
    uint64_t more;               /* blocks, where one of `b` stands for several */
    const struct bt_block *base; /* no block before it ends with a P0 instruction not yet noted */
    uint64_t instructions;       /* number of the next one */
    uint64_t agreed;
    uint32_t call_count;
    bool due;   /* an address must come */
    bool pops;  /* or the return stack has it */
    bool stack; /* the unit has one */
};

/* Note the last P0 instruction, before something else is put out. */
static inline __attribute__((always_inline)) void
etmv4_fast_cursor_note(struct etmv4_fast_cursor *t)
{
    if (t->b > t->base)
        t->f->last_p0 = flow_block_last(t->f->core.code, t->b - 1);
    t->base = t->b;
}

/* Whose addresses come: those of A64. Nothing but a context packet changes that. */
static inline __attribute__((always_inline)) bool
etmv4_fast_cursor_is_wide(const struct etmv4_flow *f)
{
    return f->aarch64 && !f->config.m_profile;
}

/* How much of an address a header brings: IHI 0064H.b chapter 6. */
static const struct etmv4_address_form {
    uint8_t size; /* bytes of the packet; of a short one, with its first payload byte; 0: other */
    uint8_t isa_bit;
    uint8_t full; /* 1: 32 bits */
} etmv4_address_forms[16] = {
    [0x5] = {2, 0, 0}, [0x6] = {2, 1, 0}, [0xa] = {5, 0, 1}, [0xb] = {5, 1, 1}};

#define ETMV4_EXACT_FORMS 3

struct etmv4_target {
    uint64_t value;
    uint8_t isa_bit;
    uint8_t size;
    uint8_t packets; /* 2: with a context in front of it */
};

/* The address packet with this header and what is behind it at `at`, of 32 bits or less, relative
 * to `last`; false: it is another packet, or not all there. Branches only where most packets of a
 * stream are alike. */
static inline __attribute__((always_inline)) bool
etmv4_near_address(const struct etmv4_address *last, uint8_t header, const uint8_t *at,
                   const uint8_t *end, struct etmv4_target *a)
{
    unsigned h = header - ETMV4_HDR_ADDRESS;
    const struct etmv4_address_form *form = &etmv4_address_forms[h & 0xf];
    if (h < ETMV4_EXACT_FORMS) {
        *a = (struct etmv4_target){last[h].value, last[h].isa_bit, 1, 1};
        return true;
    }
    if (h > 0xf || form->size == 0 || end - at < 4)
        return false;
    uint32_t w = bytes_word(at), bits, mask;
    unsigned more = w >> 7 & 1 & ~(unsigned)form->full;
    if (form->isa_bit) {
        bits = (w & 0x7f) << 1 | (w & 0xffffff00);
        mask = (0x100u << 8 * more) - 1;
    } else {
        bits = (w & 0x7f) << 2;
        bits |= form->full ? (w & 0x7f00) << 1 | (w & 0xffff0000) : (w & 0xff00) << 1;
        mask = (0x200u << 8 * more) - 1;
    }
    mask |= 0u - form->full;
    a->value = (last[0].value & ~(uint64_t)mask) | (bits & mask);
    a->isa_bit = form->isa_bit;
    a->size = (uint8_t)(form->size + more);
    a->packets = 1;
    return true;
}

/* Here and below, `wide`: all code is A64; else none is. `times`: whether
 * those of ranges are counted, and blocks of ranges with CODE_LEAVES marked. */
enum etmv4_counting { ETMV4_NO_TIMES, ETMV4_TIMES, ETMV4_LEAVES };

static inline __attribute__((always_inline)) enum bt_isa
etmv4_fast_cursor_isa(const struct etmv4_fast_cursor *t, uint8_t isa_bit, bool wide)
{
    if (wide)
        return BT_ISA_A64;
    return isa_bit || t->f->config.m_profile ? BT_ISA_T32 : BT_ISA_A32;
}

/* As code_went(), with the count of calls that is at hand. */
static inline __attribute__((always_inline)) struct code_range *
etmv4_fast_cursor_went(struct etmv4_fast_cursor *t, uint64_t address, enum bt_isa isa, bool wide)
{
    const struct flow_core *core = &t->f->core;
    const struct code_range *call = t->calls[(t->call_count - 1) % CODE_CALLS];
    struct code_range **guess = &t->range->next[CODE_TAKEN];
    if (!(t->range->last & INSN_LINK) && call && code_range_isa(call) == isa &&
        (wide ? code_range_behind64(call) : code_range_behind(call)) == address) {
        t->call_count--;
        guess = &t->calls[t->call_count % CODE_CALLS]->next[CODE_ONWARD];
    }
    if (!*guess || !code_range_at(*guess, address, isa, wide))
        *guess = code_find(core->code, core->view, address, isa);
    return *guess;
}

/* Execution is told to be there: where the indirect branch went, or what is known already. */
static inline __attribute__((always_inline)) bool
etmv4_fast_cursor_reach(struct etmv4_fast_cursor *t, uint64_t address, enum bt_isa isa, bool wide)
{
    if (!wide && address > UINT32_MAX)
        return false;
    if (t->due) {
        struct code_range *next = etmv4_fast_cursor_went(t, address, isa, wide);
        if (!next)
            return false;
        t->range = next;
        t->due = false;
        return true;
    }
    if (!code_range_at(t->range, address, isa, wide))
        return false;
    t->agreed = t->instructions;
    return true;
}

/* The same of a packet. */
static inline __attribute__((always_inline)) bool
etmv4_fast_cursor_there(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                        const struct etmv4_target *a, bool wide)
{
    if (!etmv4_fast_cursor_reach(t, a->value, etmv4_fast_cursor_isa(t, a->isa_bit, wide), wide))
        return false;
    t->f->isa_bit = a->isa_bit;
    etmv4_push_address(in->p->last, a->value, a->isa_bit);
    in->at += a->size;
    in->inner += (size_t)(a->size - a->packets);
    return true;
}

/* Atoms. */

_Static_assert(offsetof(struct code_range, wide) - offsetof(struct code_range, start) == 4 &&
                   offsetof(struct code_range, extent) - offsetof(struct code_range, start) ==
                       offsetof(struct bt_block, extent) &&
                   offsetof(struct code_range, info) - offsetof(struct code_range, start) ==
                       offsetof(struct bt_block, info),
               "a range's second half is a block");

static inline __attribute__((always_inline)) void
etmv4_fast_cursor_block(struct etmv4_fast_cursor *t, struct code_range *range, unsigned fail,
                        enum etmv4_counting times)
{
    const uint64_t cond = (BT_COND_PASS + fail) << 4 | (times ? FLOW_COUNTED : 0);
    etmv4_bits block;
    memcpy(&block, &range->start, sizeof block);
    block = (block & t->mask) + (etmv4_bits){0, cond << 32};
    memcpy(t->b, &block, sizeof block);
    t->instructions += range->info >> 8;
    if (times)
        code_range_times(range)[fail]++;
    if (times == ETMV4_LEAVES) {
        *t->marks = (struct flow_mark){t->b, t->instructions};
        t->marks += range->info / CODE_LEAVES % 2;
    }
    t->b++;
}

/* The branch that ends `range` was taken. */
static inline __attribute__((always_inline)) void
etmv4_fast_cursor_push(struct etmv4_fast_cursor *t, struct code_range *range)
{
    if (!t->stack) {
        t->calls[t->call_count % CODE_CALLS] = range;
        t->call_count += range->last & INSN_LINK;
    } else if (range->last & INSN_LINK) {
        etmv4_flow_push(t->f, range);
    }
}

/* An indirect branch went where the return stack says, if that is at hand. */
static inline __attribute__((always_inline)) bool etmv4_fast_cursor_pop(struct etmv4_fast_cursor *t,
                                                                        bool wide)
{
    struct etmv4_flow *f = t->f;
    unsigned top = (f->rs_top + ETMV4_RETURN_STACK - 1u) % ETMV4_RETURN_STACK;
    if (!t->pops || f->rs_count == 0 || !f->rs[top].from)
        return false;
    struct code_range *next = f->rs[top].from->next[CODE_ONWARD];
    if (!next || (code_range_isa(next) == BT_ISA_A64) != wide)
        return false;
    f->rs_count--;
    f->rs_top = (uint8_t)top;
    t->range = next;
    t->due = false;
    return true;
}

/* `e` times E, along cached ranges: returns how many are left. */
static inline __attribute__((always_inline)) unsigned
etmv4_fast_cursor_passed(struct etmv4_fast_cursor *t, unsigned e, enum etmv4_counting times)
{
    for (; e > 0; e--) {
        struct code_range *range = t->range, *next = range->next[CODE_TAKEN];
        if (range->end >= CODE_END_INDIRECT || !next)
            break;
        etmv4_fast_cursor_block(t, range, 0, times);
        etmv4_fast_cursor_push(t, range);
        t->range = next;
    }
    return e;
}

/* An E on an indirect branch. False: it is none. */
static inline __attribute__((always_inline)) bool
etmv4_fast_cursor_indirect(struct etmv4_fast_cursor *t, enum etmv4_counting times)
{
    struct code_range *range = t->range;
    if (range->end != CODE_END_INDIRECT)
        return false;
    etmv4_fast_cursor_block(t, range, 0, times);
    etmv4_fast_cursor_push(t, range);
    t->due = true;
    t->pops = t->stack;
    return true;
}

/* An N. False: it has yet to be taken, by the slow path. */
static inline __attribute__((always_inline)) bool
etmv4_fast_cursor_failed(struct etmv4_fast_cursor *t, enum etmv4_counting times)
{
    struct code_range *range = t->range, *next = range->next[CODE_ONWARD];
    if (range->end > CODE_END_INDIRECT || !next || (range->last & CODE_SURE))
        return false;
    etmv4_fast_cursor_block(t, range, 1, times);
    t->range = next;
    return true;
}

/* Atoms along cached ranges, oldest in bit 0: returns how many are left. */
static inline __attribute__((always_inline)) unsigned
etmv4_fast_cursor_atoms(struct etmv4_fast_cursor *t, uint32_t atoms, unsigned n, bool wide,
                        enum etmv4_counting times)
{
    while (n > 0) {
        unsigned e = (unsigned)__builtin_ctz(~atoms);
        if (t->due && !etmv4_fast_cursor_pop(t, wide))
            return n;
        unsigned left = etmv4_fast_cursor_passed(t, e, times);
        n -= e - left;
        atoms >>= e - left;
        if (n == 0)
            return 0;
        if (!(left ? etmv4_fast_cursor_indirect(t, times) : etmv4_fast_cursor_failed(t, times)))
            return n;
        n--;
        atoms >>= 1;
    }
    return 0;
}

/* Steps begin and end at a range, or a byte further: there its indirect branch was taken. */

/* The step that a header stands for, seen for the first time. NULL: there is no room, or a range is
 * not linked yet. Wants the cursor where it lies: else compilers take it apart before they know
 * `times`, and the loop without them takes a tenth longer. */
static __attribute__((noinline)) struct code_step *
etmv4_fast_cursor_learn(const struct etmv4_fast_cursor *t, struct code_range *from, unsigned header)
{
    struct code_steps *steps = t->steps;
    struct code_step *known = code_step_find(steps, from, header);
    struct code_step_way way;
    uint32_t atoms = (uint32_t)etmv4_packets[header].value;
    if (known || !code_step_has_room(steps, from, header))
        return known;
    code_step_way_init(&way, from);
    for (unsigned i = 0; i < etmv4_packets[header].n; i++) {
        struct code_range *range = way.to;
        unsigned fail = ~atoms >> i & 1;
        if (way.due || !code_step_way_add(&way, range, fail)) {
            way.count = 0;
            break;
        }
        way.due = !fail && range->end == CODE_END_INDIRECT;
        way.to = way.due ? range : range->next[fail ? CODE_ONWARD : CODE_TAKEN];
        if (!way.to || range->end > CODE_END_INDIRECT || (fail && range->last & CODE_SURE))
            return NULL;
    }
    way.to = (char *)way.to + way.due;
    return code_step_add(steps, from, header, &way);
}

/* Where an indirect branch goes by the address that must be next. NULL: it is not, or not along
 * known code. */
static inline __attribute__((always_inline)) void *
etmv4_fast_cursor_place_went(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, const void *place,
                             bool wide)
{
    struct etmv4_target a;
    if (!etmv4_near_address(in->p->last, *in->at, in->at + 1, in->end, &a) ||
        (!wide && a.value > UINT32_MAX))
        return NULL;
    void *to = flow_went(&t->f->core, place, a.value, etmv4_fast_cursor_isa(t, a.isa_bit, wide));
    if (!to)
        return NULL;
    t->f->isa_bit = a.isa_bit;
    etmv4_push_address(in->p->last, a.value, a.isa_bit);
    in->at += a.size;
    in->inner += (size_t)(a.size - a.packets);
    return to;
}

/* As many headers, and addresses behind them, as are steps. False: there is not one. */
static inline __attribute__((always_inline)) bool
etmv4_fast_cursor_steps(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                        const struct bt_block *limit, bool wide, enum etmv4_counting times)
{
    char *place = (char *)t->range + t->due;
    const uint8_t *begin = in->at;
    while (in->at < in->end && t->b <= limit) {
        bool due = (uintptr_t)place & 1;
        if (*in->at < ETMV4_HDR_ATOM) {
            void *to = due ? etmv4_fast_cursor_place_went(t, in, place, wide) : NULL;
            if (!to)
                break;
            place = to;
            continue;
        }
        struct code_step *step = code_step_at(t->steps, place, *in->at);
        if (!step && !due)
            step = etmv4_fast_cursor_learn(t, (struct code_range *)(void *)place, *in->at);
        if (!step || !step->blocks)
            break;
        step->times++;
        *t->b = flow_step_block(step);
        t->instructions += step->insns;
        if (times == ETMV4_LEAVES) {
            *t->marks = (struct flow_mark){t->b, t->instructions};
            t->marks += step->leaves;
        }
        t->b++;
        t->more += step->blocks - 1u;
        if (t->stack && step->calls)
            etmv4_fast_cursor_push(t, code_step_call(t->steps, step));
        t->pops = t->stack;
        place = step->to;
        in->at++;
    }
    t->due = (uintptr_t)place & 1;
    t->range = (struct code_range *)(void *)(place - t->due);
    return in->at > begin;
}

/* An exception of that type, and the packet of it at `offset`. */
struct etmv4_entry {
    uint64_t from;
    uint64_t to;
    uint64_t offset;
    uint16_t type;
    uint8_t from_isa; /* IS */
    uint8_t to_isa;
};

#endif
