/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is worked out next: one core alone, or several that share RAM.
 *
 * Each is executed along its own path: where the instructions of one have stored between two halts,
 * the others know nothing of RAM; all else is as if they were alone. For as long as what is known
 * is so, so is where the next store goes, in whatever order the cores ran. Nothing is told of any
 * of them before all have been executed from halt to halt, and the halts prove it.
 *
 * Where a core has stored to an address that is not known, or it is not known what it ran or what
 * its addresses mean, the others know nothing of RAM between these halts, but for what the board
 * file calls their own.
 */
#include "reverse_stores.h"

#include <string.h>

#define SHARES_MAX 100u /* then all is given up */

/* The cores from one halt to the next. */

struct cores_member {
    struct reverse_forward *f;
    struct reverse *p;
    size_t i; /* of the segment */
};

struct cores_group {
    struct cores_member at[TARGET_CORES_MAX];
    unsigned count;
};

static struct reverse_segment *segment_of(const struct cores_member *m)
{
    return m->f->segments[m->i];
}

/* No instruction has run. */
static bool is_empty(const struct cores_member *m)
{
    return segment_of(m)->state.position == m->f->segments[m->i + 1]->state.position;
}

/* Its history up to the halt of now. */
static struct reverse *open_place(struct reverse_forward *f)
{
    struct btrace_view view;
    if (f->placed)
        return &f->place;
    memset(&view, 0, sizeof view);
    if (!f->owner.view || !f->owner.view(f->owner.ctx, &view))
        return NULL;
    f->placed = reverse_init(&f->place, &view) == BT_OK;
    if (!f->placed)
        reverse_release(&f->place);
    return f->placed ? &f->place : NULL;
}

/* The M profile is left out: two cores may have other memory at the same address. Where a core is
 * said not to have run it must be where it was, and its trace must have been seen before. */
static bool add_member(struct cores_group *g, struct reverse_forward *f, struct reverse *p,
                       uint32_t begin, uint32_t end)
{
    size_t i = 0;
    if (!p || !begin || begin >= end || f->core.profile == EXECUTE_PROFILE_M)
        return false;
    while (i + 1 < f->count &&
           !(f->segments[i]->state.begins && f->segments[i]->state.halt == begin))
        i++;
    if (i + 1 >= f->count || g->count == TARGET_CORES_MAX)
        return false;
    const struct reverse_snapshot *from = &f->segments[i]->state, *to = &f->segments[i + 1]->state;
    if (!to->ends || to->halt != end ||
        (from->position == to->position && (!to->position || from->pc != to->pc)))
        return false;
    g->at[g->count++] = (struct cores_member){f, p, i};
    return true;
}

static bool find_group(struct cores_group *g, struct reverse_forward *f, struct reverse *p,
                       size_t i)
{
    struct reverse_forward *other;
    uint32_t begin = f->segments[i]->state.halt, end = f->segments[i + 1]->state.halt;
    g->count = 0;
    if (!add_member(g, f, p, begin, end) || g->at[0].i != i)
        return false;
    for (unsigned n = 0; f->owner.other(f->owner.ctx, n, &other); n++)
        if (!other || !add_member(g, other, open_place(other), begin, end))
            return false;
    return true;
}

/* What they have stored is not known to each other: again without that. */
static bool share_stores(const struct cores_group *g)
{
    bool grew = false;
    for (unsigned m = 0; m < g->count; m++) {
        struct reverse_segment *s = segment_of(&g->at[m]);
        bool more = s->moved && !s->shared.all;
        s->shared.all |= s->moved;
        for (unsigned n = 0; n < g->count; n++)
            if (n != m)
                more |= reverse_stores_add(&s->shared, &segment_of(&g->at[n])->stores);
        if (more && ++s->shares > SHARES_MAX)
            s->shared.all = true;
        if (more)
            reverse_forward_forget(g->at[m].f, s);
        grew |= more;
    }
    return grew;
}

/* It is not known where one has stored that was not executed to its end, or is contradicted. */
static bool give_up_stores(const struct cores_group *g)
{
    bool grew = false;
    for (unsigned m = 0; m < g->count; m++) {
        struct reverse_segment *s = segment_of(&g->at[m]);
        if (s->status <= REVERSE_SEGMENT_PROVED || s->stores.all)
            continue;
        s->stores.all = grew = true;
    }
    return grew;
}

static int prove_group(const struct cores_group *g)
{
    int result = BT_OK;
    bool waits = false;
    for (unsigned m = 0; m < g->count && result == BT_OK; m++) {
        if (segment_of(&g->at[m])->status != REVERSE_SEGMENT_COMPARING)
            continue;
        result = reverse_proof(g->at[m].f, g->at[m].i);
        waits |= result == BT_OK;
    }
    if (result == REVERSE_PROOF_WITHDRAW) {
        reverse_forward_withdraw(g->at[0].f);
        return TARGET_PENDING;
    }
    if (result != BT_OK || waits)
        return result;
    for (unsigned m = 0; m < g->count; m++) {
        struct reverse_segment *s = segment_of(&g->at[m]);
        s->settled = true;
        if (s->status == REVERSE_SEGMENT_BROKEN && s->why == REVERSE_WHY_PATH &&
            g->at[m].f->segments[g->at[m].i + 1]->state.ends) {
            reverse_forward_forget(g->at[m].f, s);
            s->believes = true;
        }
    }
    return TARGET_PENDING;
}

static int work_together(struct reverse_forward *f, struct reverse *p, size_t i, size_t budget)
{
    struct cores_group g;
    struct reverse_segment *s = f->segments[i];
    if (!find_group(&g, f, p, i)) {
        if (!s->shared.all)
            reverse_forward_forget(f, s);
        s->shared.all = s->settled = true;
        return TARGET_PENDING;
    }
    for (unsigned m = 0; m < g.count; m++)
        if (segment_of(&g.at[m])->status == REVERSE_SEGMENT_OPEN && !is_empty(&g.at[m]))
            return reverse_forward_walk(g.at[m].f, g.at[m].p, g.at[m].i, budget);
    if (share_stores(&g) || give_up_stores(&g))
        return TARGET_PENDING;
    return prove_group(&g);
}

int reverse_forward_work(struct reverse_forward *f, struct reverse *p, uint64_t position,
                         size_t budget)
{
    size_t i = reverse_forward_next(f, position);
    if (i == f->count)
        return BT_OK;
    if (f->owner.other && !f->segments[i]->settled)
        return work_together(f, p, i, budget);
    if (f->segments[i]->status != REVERSE_SEGMENT_COMPARING)
        return reverse_forward_walk(f, p, i, budget);
    int proof = reverse_proof(f, i);
    if (proof != REVERSE_PROOF_WITHDRAW)
        return proof;
    reverse_forward_withdraw(f);
    return TARGET_PENDING;
}
