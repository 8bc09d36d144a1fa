/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between two questions of GDB: windows that the next ones will need. Whatever is not ready is not
 * waited for, and no answer depends on it but in that more is known.
 */
#include "server/reverse/reverse_values.h"

#define HALF  (REVERSE_LOCAL_WINDOW / 2)
#define EDGE  (HALF / 2) /* so near to where a window ends another one is wanted */
#define AHEAD 16384u /* instructions: a part of the history is decoded before they are reached */

/* Which of two is better. */

static bool knows_sp(const struct reverse_known *k, uint64_t position)
{
    struct values_answer answer;
    return reverse_known_holds(k, position) && k->values &&
           values_register(k->values, (size_t)(position - k->from), GDB_REG_SP, &answer);
}

/* Distance of a position to the nearer end. */
static uint64_t margin(const struct reverse_known *k, uint64_t position)
{
    uint64_t back = position - k->wanted, on = k->to - position;
    return back < on ? back : on;
}

static bool is_better(const struct reverse_known *next, const struct reverse_known *now,
                      uint64_t position)
{
    if (!reverse_known_holds(next, position))
        return !now->built && next->built;
    if (!reverse_known_holds(now, position))
        return true;
    if (next->conflict || now->conflict)
        return !next->conflict;
    if (knows_sp(now, position) && !knows_sp(next, position))
        return false;
    if (next->halted != now->halted)
        return next->halted;
    return next->halted ? next->wanted < now->wanted
                        : margin(next, position) > margin(now, position);
}

void reverse_values_better(struct reverse_values *v, uint64_t position)
{
    if (!v->next.built || !is_better(&v->next, &v->now, position))
        return;
    reverse_known_release(&v->now);
    v->now = v->next;
    v->next = (struct reverse_known){.values = NULL};
}

size_t reverse_values_reach(const struct reverse_values *v, const struct reverse *p)
{
    uint64_t all = p->end - p->first;
    size_t reach = v->reach < v->limit ? v->reach : v->limit;
    return all < reach ? (size_t)all : reach;
}

/* What contradicts itself still does when more is added. */
static void give_up(struct reverse_values *v)
{
    uint64_t have = v->now.built && v->now.halted ? v->now.to - v->now.wanted : 0;
    v->reach = v->now.conflict ? 0 : (size_t)have;
    reverse_known_release(&v->next);
}

void reverse_values_take(struct reverse_values *v, const struct reverse *p, uint64_t position)
{
    if (v->work.halted)
        v->tried = (size_t)(v->work.to - v->work.wanted);
    reverse_work_take(&v->work, &v->next);
    if (v->next.conflict && v->next.halted)
        give_up(v);
    reverse_values_better(v, position);
    /* Of one that ends at the halt nothing can be hoped for later. */
    if (v->next.built && v->next.to == p->end)
        reverse_known_release(&v->next);
}

void reverse_values_drop(struct reverse_values *v)
{
    reverse_work_end(&v->work);
}

/* What to do next. */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The next longer window that ends at the halt: four times as long, or the longest. */
static bool choose_halted(const struct reverse_values *v, const struct reverse *p,
                          uint64_t position, uint64_t *from)
{
    uint64_t limit = reverse_values_reach(v, p);
    uint64_t have = v->now.built && v->now.halted ? v->now.to - v->now.wanted : 0;
    have = v->tried > have ? v->tried : have;
    if (p->end - position > limit || have >= limit)
        return false;
    uint64_t size = have && 8 * have < limit ? 4 * have : limit;
    *from = p->end - size;
    return true;
}

static bool surrounds(const struct reverse_known *k, const struct reverse *p, uint64_t position)
{
    return k->built && position >= k->wanted && position <= k->to &&
           (k->wanted == p->first || position - k->wanted >= EDGE) &&
           (k->halted || k->to - position >= EDGE);
}

/* A window around the position, where one that ends at the halt does not reach, or hardly. */
static bool choose_local(struct reverse_values *v, const struct reverse *p, uint64_t position,
                         uint64_t *from, uint64_t *to)
{
    uint64_t back = p->end - position, limit = reverse_values_reach(v, p);
    uint64_t around = v->tried_around ? v->tried_around - 1 : UINT64_MAX;
    uint64_t moved = around > position ? around - position : position - around;
    if (limit == p->end - p->first || back + EDGE < limit || surrounds(&v->now, p, position) ||
        surrounds(&v->next, p, position) || (v->tried_around && moved < EDGE))
        return false;
    *from = position > p->first + HALF ? position - HALF : p->first;
    *to = position + least(back, HALF);
    v->tried_around = position + 1;
    return true;
}

/* It was begun for a position that is far away now. */
static bool useless(const struct reverse_values *v, const struct reverse *p, uint64_t position)
{
    const struct reverse_work *w = &v->work;
    if (w->halted && w->to - w->wanted <= reverse_values_reach(v, p))
        return p->end - position > reverse_values_reach(v, p);
    return position < w->wanted || position > w->to;
}

/* The part of the history that steps will come to is decoded, and which handler runs there is
 * found. */
static void warm(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                 uint64_t position)
{
    struct reverse_history_window s;
    size_t index;
    uint64_t at = position > p->first + AHEAD ? position - AHEAD : p->first;
    if (m->m_profile)
        reverse_handler_at(&v->handler, p, position, m->regs.value[GDB_REG_PSR] & 0x1ff, false);
    if (reverse_history_window_find(p, at, &index) != BT_OK || v->warm == index + 1)
        return;
    v->warm = index + 1;
    reverse_history_window(p, index, &s);
}

int reverse_values_ahead(struct reverse_values *v, struct reverse *p,
                         const struct reverse_machine *m, uint64_t position, size_t budget)
{
    uint64_t from, to = p->end;
    bool done = false;
    int error;
    if (v->work.active && useless(v, p, position))
        reverse_work_end(&v->work);
    if (v->work.active) {
        error = reverse_work_go_on(&v->work, budget, &done);
    } else if (choose_halted(v, p, position, &from) || choose_local(v, p, position, &from, &to)) {
        error = reverse_work_begin(&v->work, p, m, from, to, v->infer);
    } else {
        warm(v, p, m, position);
        return BT_OK;
    }
    if (error)
        reverse_work_end(&v->work);
    return error ? error : done ? REVERSE_AHEAD_DONE : GDB_PENDING;
}
