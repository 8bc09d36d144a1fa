/* SPDX-License-Identifier: BSD-3-Clause */
/* The next breakpoint, or place where trace is missing, along the blocks of the history. */
#include "server/reverse/reverse_motion.h"

#define SLICE     16    /* windows between two looks at what GDB sends, */
#define SLICE_MAX 50000 /* and blocks in them: a few milliseconds, or one dense window */

static void sort_addresses(struct reverse_search *s)
{
    for (size_t i = 1; i < s->address_count; i++) {
        uint64_t a = s->addresses[i];
        size_t k = i;
        for (; k > 0 && s->addresses[k - 1] > a; k--)
            s->addresses[k] = s->addresses[k - 1];
        s->addresses[k] = a;
    }
    s->low = s->address_count ? s->addresses[0] : 1;
    s->high = s->address_count ? s->addresses[s->address_count - 1] : 0;
}

/* From p->position. */
int reverse_search_open(struct reverse *p, struct reverse_search *s)
{
    sort_addresses(s);
    s->from = s->reached = s->found = p->position;
    s->left_out = 0;
    s->cause = BT_GAP_NONE;
    uint64_t in = s->from < p->end ? s->from : p->end - 1;
    return reverse_history_window_find(p, in, &s->next);
}

/* In the order of motion `a` comes before `b`. */
static bool is_sooner(const struct reverse_search *q, uint64_t a, uint64_t b)
{
    return q->back ? a > b : a < b;
}

static bool is_ahead(const struct reverse_search *q, uint64_t position)
{
    return is_sooner(q, q->from, position);
}

/* The first breakpoint in the block, whose first instruction is `number`. */
static bool hit_in(struct reverse *p, const struct reverse_history_window *s,
                   const struct reverse_search *q, const struct bt_block *block, uint64_t number,
                   uint64_t *hit)
{
    bool any = false;
    for (size_t i = 0; i < q->address_count; i++) {
        uint64_t index;
        if (!code_index_of(&p->code, &s->key, block, q->addresses[i], &index) ||
            !is_ahead(q, number + index) || number + index >= p->end)
            continue;
        if (!any || is_sooner(q, number + index, *hit))
            *hit = number + index;
        any = true;
    }
    return any;
}

static bool may_hit(const struct reverse_search *q, const struct bt_block *block)
{
    return block->first <= q->high && bt_block_last(block) >= q->low;
}

/* The first one in the window in the order of motion. */
static bool find_hit(struct reverse *p, const struct reverse_history_window *s,
                     const struct reverse_search *q, uint64_t *hit)
{
    uint64_t number = q->back ? s->end : s->first;
    for (size_t i = 0; i < s->block_count; i++) {
        struct bt_block block;
        reverse_block(s, q->back ? s->block_count - 1 - i : i, &block);
        uint64_t count = bt_block_count(&block), first = q->back ? number - count : number;
        if (may_hit(q, &block) && (q->back ? first < q->from : first + count > q->from) &&
            hit_in(p, s, q, &block, first, hit))
            return true;
        number = q->back ? first : first + count;
    }
    return false;
}

static void note_gap(struct reverse_search *q, uint64_t position, enum bt_gap_cause cause,
                     bool *any, uint64_t *at)
{
    if (!is_ahead(q, position))
        return;
    if (cause == BT_GAP_TRACE_ON && !q->all_gaps) {
        q->left_out++;
        return;
    }
    if (!*any || is_sooner(q, position, *at)) {
        *at = position;
        q->cause = cause;
    }
    *any = true;
}

/* The gap that comes first in the window. */
static bool gap_in(struct reverse *p, const struct reverse_history_window *s,
                   struct reverse_search *q, uint64_t *at)
{
    bool any = false;
    for (size_t i = 0; i < s->window.event_count; i++) {
        const struct bt_event *e = &s->window.events[i];
        if (reverse_is_gap(p, e))
            note_gap(q, e->position, (enum bt_gap_cause)e->cause, &any, at);
    }
    return any;
}

/* One window: REVERSE_FOUND_MORE if there is nothing in it. */
static int look_at_window(struct reverse *p, struct reverse_search *q,
                          const struct reverse_history_window *s)
{
    uint64_t hit = 0, gap = 0;
    bool hits = find_hit(p, s, q, &hit);
    bool gaps = gap_in(p, s, q, &gap);
    if (!hits && !gaps)
        return REVERSE_FOUND_MORE;
    if (hits && (!gaps || !is_sooner(q, gap, hit))) {
        q->found = hit;
        return REVERSE_FOUND_BREAKPOINT;
    }
    q->found = gap;
    return REVERSE_FOUND_GAP;
}

/* None of the addresses is in the window, and nothing is missing: it is not decoded. */
static bool passes_over(const struct reverse *p, const struct reverse_search *q)
{
    struct history_reach r;
    if (q->next >= history_window_count(p->view.history))
        return false; /* what lies behind its end */
    history_window_reach(p->view.history, q->next, &r);
    return !r.events && (q->low > q->high || r.low > q->high || r.high < q->low);
}

int reverse_search_some(struct reverse *p, struct reverse_search *q)
{
    struct reverse_history_window s = {.first = q->reached, .end = q->reached};
    size_t blocks = 0;
    for (unsigned windows = 0; windows < SLICE && blocks < SLICE_MAX;) {
        if (!passes_over(p, q)) {
            int found = reverse_history_window(p, q->next, &s);
            if (found == BT_OK)
                found = look_at_window(p, q, &s);
            if (found != REVERSE_FOUND_MORE)
                return found;
            blocks += s.block_count;
            windows++;
        }
        bool last = q->back ? q->next == 0 : q->next + 1 == reverse_history_window_count(p);
        if (last) {
            q->found = q->reached = q->back ? p->first : p->end;
            return REVERSE_FOUND_NOTHING;
        }
        uint64_t edge = q->back ? s.first : s.end;
        if (!is_sooner(q, edge, q->reached))
            q->reached = edge;
        q->next = q->back ? q->next - 1 : q->next + 1;
    }
    return REVERSE_FOUND_MORE;
}
