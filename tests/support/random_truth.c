/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_truth.h"

#include <stdlib.h>

/* Room for one more item; the array may move. */
static int reserve(void *array, size_t *room, size_t count, size_t size)
{
    void **p = array;

    if (count < *room)
        return 0;
    size_t more = *room ? 2 * *room : 1024;
    void *grown = realloc(*p, more * size);
    if (!grown)
        return BT_ERR_NOMEM;
    *p = grown;
    *room = more;
    return 0;
}

int truth_add_insn(struct truth *t, const struct random_flow_insn *insn)
{
    struct random_flow *f = t->flow;
    void *array = f->insns;
    int error = reserve(&array, &t->insn_room, f->insn_count, sizeof *insn);

    f->insns = array;
    if (!error)
        f->insns[f->insn_count++] = *insn;
    return error;
}

void truth_report(struct truth *t, size_t end)
{
    struct random_flow *f = t->flow;

    if (end <= t->reported)
        return;
    for (size_t i = t->reported; i < end; i++)
        f->insns[i].traced = true;
    f->insns[end - 1].closes = true;
    f->traced_count += end - t->reported;
    t->reported = end;
}

void truth_skip(struct truth *t)
{
    t->reported = t->flow->insn_count;
}

void truth_take_back(struct truth *t, unsigned waypoints)
{
    struct random_flow *f = t->flow;
    size_t i = t->reported;

    while (waypoints > 0) {
        struct random_flow_insn *insn = &f->insns[--i];
        insn->traced = false;
        insn->closes = false;
        f->traced_count--;
        waypoints -= insn->waypoint;
    }
    /* The rest of that last waypoint's range. */
    for (; waypoints == 0 && i < t->reported && i > 0; i--) {
        struct random_flow_insn *insn = &f->insns[i - 1];
        if (insn->closes || !insn->traced)
            break;
        insn->traced = false;
        f->traced_count--;
    }
    truth_skip(t);
}

int truth_add_event(struct truth *t, const struct bt_event *event)
{
    struct random_flow *f = t->flow;
    void *array = f->events;
    int error = reserve(&array, &t->event_room, f->event_count, sizeof *event);

    f->events = array;
    if (error)
        return error;
    f->events[f->event_count] = *event;
    f->events[f->event_count++].position = f->traced_count;
    return 0;
}
