/* SPDX-License-Identifier: BSD-3-Clause */
/* Working a window out, from the history to what is known. */
#include "server/reverse/reverse_values.h"

#include <string.h>

#define UNITS_AN_INSN 2 /* of a budget: what it takes to fetch an instruction */

int reverse_work_begin(struct reverse_work *w, struct reverse *p, const struct reverse_machine *m,
                       uint64_t from, uint64_t to, uint32_t infer)
{
    reverse_work_end(w);
    w->active = true;
    w->wanted = from;
    w->to = to;
    w->halted = to == p->end;
    w->infer = infer;
    return reverse_window_begin(&w->window, p, m, from, to);
}

static int fill(struct reverse_work *w, size_t budget, bool *done)
{
    int error = reverse_window_fill(&w->window, budget / UNITS_AN_INSN, &w->filled);
    if (error || !w->filled)
        return error;
    w->window.w.infer = w->infer;
    if (w->window.w.count)
        return values_begin(&w->values, &w->window.w);
    *done = true;
    return BT_OK;
}

int reverse_work_go_on(struct reverse_work *w, size_t budget, bool *done)
{
    *done = false;
    if (!w->filled)
        return fill(w, budget, done);
    return values_work(w->values, budget, done);
}

void reverse_work_take(struct reverse_work *w, struct reverse_known *known)
{
    reverse_known_release(known);
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
    reverse_work_end(w);
}

void reverse_work_end(struct reverse_work *w)
{
    values_free(w->values);
    reverse_window_release(&w->window);
    memset(w, 0, sizeof *w);
}

void reverse_known_release(struct reverse_known *k)
{
    values_free(k->values);
    memset(k, 0, sizeof *k);
}

bool reverse_known_holds(const struct reverse_known *k, uint64_t position)
{
    return k->built && position >= k->from && position <= k->to;
}
