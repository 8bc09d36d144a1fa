/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work in slices: what is done in which order does not depend on where they end. A unit of a
 * budget is about one value passed on, or one access to memory looked at.
 */
#include "values_work.h"

/* Each pass finds what the one before made possible; chains of more are rare. */
#define ROUNDS_MAX 256

static bool spend(size_t *budget, size_t units)
{
    *budget -= units < *budget ? units : *budget;
    return *budget != 0;
}

/* A call that is seen not to keep a register is not believed for the others either. */
static bool contradicted(const struct values *r, const struct values_pair *p)
{
    for (unsigned reg = 0; reg < VALUES_STATE_REGS; reg++) {
        const struct values_value *x = &r->rules.values[p->before[reg]];
        const struct values_value *y = &r->rules.values[p->after[reg]];
        if (p->kept >> reg & 1 && x->how && y->how && x->number != y->number)
            return true;
    }
    return false;
}

static void keep(struct values *r, const struct values_pair *p, unsigned reg)
{
    if (p->kept >> reg & 1)
        rules_equal(&r->rules, p->after[reg], p->before[reg], p->step, VALUES_CALL);
}

/* An exception in the mode that it goes to has overwritten LR: nobody can give it back. */
static bool keeps_lr(const struct values *r, const struct values_pair *p)
{
    const struct values_value *mode = &r->rules.values[p->before[VALUES_MODE]];
    return !p->mode || (mode->how && mode->number != p->mode);
}

static void keep_registers(struct values *r, const struct values_pair *p)
{
    for (unsigned reg = 0; reg < VALUES_MODE; reg++)
        if (reg != 14 || keeps_lr(r, p))
            keep(r, p, reg);
}

static void enter(struct values *r, enum values_stage stage)
{
    r->stage = stage;
    r->at = 0;
}

/* What is learnt is passed on, then memory is looked at again and again. */
static void again_from_rules(struct values *r)
{
    r->passes = 0;
    enter(r, VALUES_RULES);
}

static void begin_pass(struct values *r)
{
    r->rounds++;
    r->passes++;
    values_memory_begin(r);
    enter(r, VALUES_ACCESSES);
}

static void end_pass(struct values *r)
{
    if (r->changed && r->passes < ROUNDS_MAX)
        begin_pass(r);
    else
        enter(r, VALUES_SORT);
}

static void begin_pairs(struct values *r)
{
    r->rules.inferring = true;
    r->keep_saved = r->infer & VALUES_INFER_ABI;
    if (r->align)
        rules_align_frames(&r->rules);
    r->pair = r->pair_count;
    enter(r, VALUES_PAIR);
}

static void next_pair(struct values *r)
{
    while (r->pair && contradicted(r, &r->pairs[r->pair - 1]))
        r->pair--;
    if (!r->pair) {
        again_from_rules(r);
        return;
    }
    keep(r, &r->pairs[--r->pair], VALUES_MODE);
    enter(r, VALUES_PAIR_MODE);
}

static void memory_done(struct values *r)
{
    bool first = !r->rules.inferring;
    if (first)
        values_memory_keep(r);
    if (first && (r->pair_count || r->infer))
        begin_pairs(r);
    else
        enter(r, VALUES_DONE);
}

/* One stage, or as much of it as the budget allows. */
static void stage(struct values *r, size_t *budget)
{
    struct values_rules *rules = &r->rules;
    switch (r->stage) {
    case VALUES_BUILD:
        if (values_build_some(r, budget))
            again_from_rules(r);
        break;
    case VALUES_RULES:
        if (rules_run_some(rules, budget))
            begin_pass(r);
        break;
    case VALUES_ACCESSES:
        if (values_memory_accesses(r, &r->at, budget))
            enter(r, VALUES_CELLS);
        break;
    case VALUES_CELLS:
        if (values_memory_cells(r, &r->at, budget)) {
            r->changed = values_memory_changed(r);
            enter(r, VALUES_PASSED);
        }
        break;
    case VALUES_PASSED:
        if (rules_run_some(rules, budget))
            end_pass(r);
        break;
    case VALUES_SORT:
        if (values_sort_some(r, budget))
            memory_done(r);
        break;
    case VALUES_PAIR:
        if (rules_run_some(rules, budget))
            next_pair(r);
        spend(budget, 4);
        break;
    case VALUES_PAIR_MODE:
        if (rules_run_some(rules, budget)) {
            keep_registers(r, &r->pairs[r->pair]);
            enter(r, VALUES_PAIR);
        }
        break;
    default:
        break;
    }
}

int values_work(struct values *r, size_t budget, bool *done)
{
    while (budget && r->stage != VALUES_DONE && !r->rules.nomem)
        stage(r, &budget);
    *done = r->stage == VALUES_DONE;
    return r->rules.nomem ? BT_ERR_NOMEM : 0;
}
