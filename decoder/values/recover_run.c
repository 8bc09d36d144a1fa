/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work in slices: what is done in which order does not depend on where they end. A unit of a
 * budget is about one value passed on, or one access to memory looked at.
 */
#include "recover_work.h"

/* Each pass finds what the one before made possible; chains of more are rare. */
#define ROUNDS_MAX 256

static bool spend(size_t *budget, size_t units)
{
    *budget -= units < *budget ? units : *budget;
    return *budget != 0;
}

/* A call that is seen not to keep a register is not believed for the others either. */
static bool contradicted(const struct recover *r, const struct recover_pair *p)
{
    for (unsigned reg = 0; reg < RECOVER_STATE_REGS; reg++) {
        const struct recover_value *x = &r->rules.values[p->before[reg]];
        const struct recover_value *y = &r->rules.values[p->after[reg]];
        if (p->kept >> reg & 1 && x->how && y->how && x->number != y->number)
            return true;
    }
    return false;
}

static void keep(struct recover *r, const struct recover_pair *p, unsigned reg)
{
    if (p->kept >> reg & 1)
        rules_equal(&r->rules, p->after[reg], p->before[reg], p->step, RECOVER_CALL);
}

/* An exception in the mode that it goes to has overwritten LR: nobody can give it back. */
static bool keeps_lr(const struct recover *r, const struct recover_pair *p)
{
    const struct recover_value *mode = &r->rules.values[p->before[RECOVER_MODE]];
    return !p->mode || (mode->how && mode->number != p->mode);
}

static void keep_registers(struct recover *r, const struct recover_pair *p)
{
    for (unsigned reg = 0; reg < RECOVER_MODE; reg++)
        if (reg != 14 || keeps_lr(r, p))
            keep(r, p, reg);
}

static void enter(struct recover *r, enum recover_stage stage)
{
    r->stage = stage;
    r->at = 0;
}

/* What is learnt is passed on, then memory is looked at again and again. */
static void settle(struct recover *r)
{
    r->passes = 0;
    enter(r, RECOVER_RULES);
}

static void begin_pass(struct recover *r)
{
    r->rounds++;
    r->passes++;
    recover_memory_begin(r);
    enter(r, RECOVER_ACCESSES);
}

static void end_pass(struct recover *r)
{
    if (r->changed && r->passes < ROUNDS_MAX)
        begin_pass(r);
    else
        enter(r, RECOVER_SORT);
}

static void begin_pairs(struct recover *r)
{
    r->rules.inferring = true;
    r->keep_saved = r->infer & RECOVER_INFER_ABI;
    if (r->align)
        rules_align_frames(&r->rules);
    r->pair = r->pair_count;
    enter(r, RECOVER_PAIR);
}

static void next_pair(struct recover *r)
{
    while (r->pair && contradicted(r, &r->pairs[r->pair - 1]))
        r->pair--;
    if (!r->pair) {
        settle(r);
        return;
    }
    keep(r, &r->pairs[--r->pair], RECOVER_MODE);
    enter(r, RECOVER_PAIR_MODE);
}

static void settled(struct recover *r)
{
    bool first = !r->rules.inferring;
    if (first)
        recover_memory_keep(r);
    if (first && (r->pair_count || r->infer))
        begin_pairs(r);
    else
        enter(r, RECOVER_DONE);
}

/* One stage, or as much of it as the budget allows. */
static void stage(struct recover *r, size_t *budget)
{
    struct recover_rules *rules = &r->rules;
    switch (r->stage) {
    case RECOVER_BUILD:
        if (recover_build_some(r, budget))
            settle(r);
        break;
    case RECOVER_RULES:
        if (rules_run_some(rules, budget))
            begin_pass(r);
        break;
    case RECOVER_ACCESSES:
        if (recover_memory_accesses(r, &r->at, budget))
            enter(r, RECOVER_CELLS);
        break;
    case RECOVER_CELLS:
        if (recover_memory_cells(r, &r->at, budget)) {
            r->changed = recover_memory_changed(r);
            enter(r, RECOVER_PASSED);
        }
        break;
    case RECOVER_PASSED:
        if (rules_run_some(rules, budget))
            end_pass(r);
        break;
    case RECOVER_SORT:
        if (recover_sort_some(r, budget))
            settled(r);
        break;
    case RECOVER_PAIR:
        if (rules_run_some(rules, budget))
            next_pair(r);
        spend(budget, 4);
        break;
    case RECOVER_PAIR_MODE:
        if (rules_run_some(rules, budget)) {
            keep_registers(r, &r->pairs[r->pair]);
            enter(r, RECOVER_PAIR);
        }
        break;
    default:
        break;
    }
}

int recover_work(struct recover *r, size_t budget, bool *done)
{
    while (budget && r->stage != RECOVER_DONE && !r->rules.nomem)
        stage(r, &budget);
    *done = r->stage == RECOVER_DONE;
    return r->rules.nomem ? BT_ERR_NOMEM : 0;
}
