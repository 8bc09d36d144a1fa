/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What registers tell of each other is kept where an exception comes. Its handler puts registers
 * away and gives them back as it likes: what is loaded from where such a register was stored, with
 * nothing written there meanwhile, is what the register held. So is the status that it returns to,
 * which says whose registers they are: another task may be next.
 */
#include "execute_work.h"

static uint32_t bit_of(uint8_t reg)
{
    return reg ? 1u << (reg - 1) : 0;
}

static struct execute_before *before(struct execute_interrupted *i, uint32_t number)
{
    for (unsigned n = 0; number && n < EXECUTE_INTERRUPTED; n++)
        if (i->before[n].number == number)
            return &i->before[n];
    return NULL;
}

/* One that is free, or the oldest one. */
static struct execute_before *oldest_before(struct execute_interrupted *i)
{
    struct execute_before *p = &i->before[0];
    for (unsigned n = 1; n < EXECUTE_INTERRUPTED; n++)
        p = i->before[n].number < p->number ? &i->before[n] : p;
    return p;
}

/* Where the word is that is watched, from now on with the exception's number; false: it was written
 * to. */
static bool hold_watched(struct execute *x, enum execute_watch n, uint32_t number, uint64_t *at)
{
    if (!execute_memory_is_same(&x->memory, n, at))
        return false;
    execute_memory_hold(&x->memory, *at, number, EXECUTE_HELD_WORD);
    return true;
}

uint32_t execute_interrupt(struct execute *x)
{
    struct execute_regs *r = &x->regs;
    const struct execute_multiples *m = &r->multiples;
    struct execute_interrupted *i = &r->interrupted;
    uint32_t tell =
        m->sources | m->of | m->uppers | m->others | bit_of(r->compared.reg) | bit_of(r->mirror);
    if (!tell && !m->kept && !i->number)
        return 0;
    struct execute_before *b = oldest_before(i);
    execute_memory_let_go(&x->memory, b->number);
    *b = (struct execute_before){.number = ++x->memory.latest,
                                 .within = i->number,
                                 .within_same = i->same,
                                 .mirror = r->mirror,
                                 .mirror_width = r->mirror_width,
                                 .compared = r->compared,
                                 .multiples = *m};
    if (b->mirror && !hold_watched(x, EXECUTE_WATCH_MIRROR, b->number, &b->mirror_at))
        b->mirror = 0;
    if ((m->stored || m->kept) && !hold_watched(x, EXECUTE_WATCH_STORED, b->number, &b->stored_at))
        b->multiples.stored = b->multiples.kept = 0;
    i->same = tell | (i->number ? i->same : 0);
    i->number = b->number;
    return b->number;
}

static bool is_held(struct execute *x, const struct execute_before *b, uint64_t at)
{
    return execute_memory_held(&x->memory, at, EXECUTE_HELD_WORD, b->number);
}

void execute_interrupt_end(struct execute *x, uint32_t number)
{
    struct execute_regs *r = &x->regs;
    struct execute_interrupted *i = &r->interrupted;
    struct execute_before *b = before(i, number);
    uint32_t same = i->number == number ? i->same : 0;
    i->number = 0;
    if (!b)
        return;
    r->compared = b->compared;
    r->multiples = b->multiples;
    r->mirror = b->mirror && is_held(x, b, b->mirror_at) ? b->mirror : 0;
    r->mirror_width = b->mirror_width;
    if (r->mirror)
        execute_memory_watch(&x->memory, EXECUTE_WATCH_MIRROR, b->mirror_at, b->mirror_width);
    if (is_held(x, b, b->stored_at))
        execute_memory_watch(&x->memory, EXECUTE_WATCH_STORED, b->stored_at, 4);
    else
        r->multiples.stored = r->multiples.kept = 0;
    execute_note_others(&r->multiples);
    execute_unrelate(r, ~same);
    if (bit_of(r->compared.reg) & ~same)
        r->compared.reg = 0;
    i->number = b->within;
    i->same = b->within_same & same;
    execute_memory_let_go(&x->memory, number);
    b->number = 0;
}

void execute_hold(struct execute *x, unsigned reg, uint64_t address)
{
    const struct execute_interrupted *i = &x->regs.interrupted;
    if (reg >= EXECUTE_PC || address & 3 || !execute_is_own_order(x))
        return;
    if (i->number && i->same >> reg & 1)
        execute_memory_hold(&x->memory, address, i->number, (uint8_t)reg);
    if (i->status == reg + 1)
        execute_hold_status(x, i->status_of, address);
}

/* The handler of that exception was interrupted, or one whose handler was. */
static bool is_within(struct execute_interrupted *i, uint32_t number)
{
    const struct execute_before *b = before(i, i->number);
    while (b && b->within != number)
        b = before(i, b->within);
    return b;
}

void execute_take_held(struct execute *x, unsigned reg, uint64_t address)
{
    struct execute_interrupted *i = &x->regs.interrupted;
    if (reg >= EXECUTE_PC || !execute_is_own_order(x))
        return;
    uint32_t number = execute_memory_held(&x->memory, address, (uint8_t)reg, 0),
             status = execute_held_status(x, address);
    if (number != i->number && before(i, number) && !is_within(i, number)) {
        i->number = number; /* another task's */
        i->same = 0;
    }
    if (number && number == i->number)
        i->same |= 1u << reg;
    if (status) {
        i->status = (uint8_t)(reg + 1);
        i->status_of = status;
    }
}

void execute_hold_status(struct execute *x, uint32_t number, uint64_t address)
{
    if (!(address & 3) && execute_is_own_order(x))
        execute_memory_hold(&x->memory, address, number, EXECUTE_HELD_STATUS);
}

uint32_t execute_held_status(const struct execute *x, uint64_t address)
{
    return execute_is_own_order(x)
               ? execute_memory_held(&x->memory, address, EXECUTE_HELD_STATUS, 0)
               : 0;
}
