/* SPDX-License-Identifier: BSD-3-Clause */
/* Working a window out, from the history to what is known. */
#include "server/reverse/past_values.h"

#include <string.h>

#define UNITS_AN_INSN 2 /* of a budget: what it takes to fetch an instruction */

int past_work_begin(struct past_work *w, struct past *p, const struct past_machine *m,
                    uint64_t from, uint64_t to, uint32_t infer)
{
    past_work_end(w);
    w->active = true;
    w->wanted = from;
    w->to = to;
    w->halted = to == p->end;
    w->infer = infer;
    return past_window_begin(&w->window, p, m, from, to);
}

static int fill(struct past_work *w, size_t budget, bool *done)
{
    int error = past_window_fill(&w->window, budget / UNITS_AN_INSN, &w->filled);
    if (error || !w->filled)
        return error;
    w->window.w.infer = w->infer;
    if (w->window.w.count)
        return values_begin(&w->values, &w->window.w);
    *done = true;
    return BT_OK;
}

int past_work_go_on(struct past_work *w, size_t budget, bool *done)
{
    *done = false;
    if (!w->filled)
        return fill(w, budget, done);
    return values_work(w->values, budget, done);
}

void past_work_take(struct past_work *w, struct past_known *known)
{
    past_known_release(known);
    known->values = w->values;
    known->wanted = w->wanted;
    known->from = w->values ? w->window.w.first : w->wanted;
    known->to = w->to;
    known->halted = w->halted;
    known->built = true;
    if (known->values) {
        values_counts(known->values, &known->counts);
        known->stack_known =
            values_range(known->values, GDB_REG_SP, &known->stack_low, &known->stack_high);
    }
    known->conflict = known->counts.conflicts != 0;
    w->values = NULL;
    past_work_end(w);
}

void past_work_end(struct past_work *w)
{
    values_free(w->values);
    past_window_release(&w->window);
    memset(w, 0, sizeof *w);
}

void past_known_release(struct past_known *k)
{
    values_free(k->values);
    memset(k, 0, sizeof *k);
}

bool past_known_holds(const struct past_known *k, uint64_t position)
{
    return k->built && position >= k->from && position <= k->to;
}
