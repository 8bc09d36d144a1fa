/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_etmv4_work.h"

static int grow(void **array, size_t count, size_t *room, size_t item)
{
    if (count < *room)
        return 0;
    size_t more = *room ? 2 * *room : 256;
    void *grown = realloc(*array, more * item);
    if (!grown)
        return BT_ERR_NOMEM;
    *array = grown;
    *room = more;
    return 0;
}

int v4_add_insn(struct random_etmv4_work *w, const struct v4_insn *insn)
{
    struct random_etmv4 *f = w->flow;
    void *insns = f->insns;
    int error = grow(&insns, f->insn_count, &w->insn_room, sizeof *f->insns);

    f->insns = insns;
    if (error)
        return error;
    f->insns[f->insn_count++] = (struct random_etmv4_insn){.address = insn->address,
                                                           .isa = insn->isa,
                                                           .size = (uint8_t)insn->p0.size,
                                                           .context_id = w->context.context_id,
                                                           .vmid = w->context.vmid};
    return 0;
}

int v4_add_event(struct random_etmv4_work *w, const struct bt_event *event)
{
    struct random_etmv4 *f = w->flow;
    void *events = f->events;
    int error = grow(&events, f->event_count, &w->event_room, sizeof *f->events);

    f->events = events;
    if (error)
        return error;
    f->events[f->event_count] = *event;
    f->events[f->event_count++].position = f->traced_count;
    return 0;
}

int v4_commit(struct random_etmv4_work *w)
{
    struct random_etmv4 *f = w->flow;

    if (w->open != V4_NO_EVENT)
        f->events[w->open].u.exception.has_vector = true;
    w->open = V4_NO_EVENT;
    if (w->announced)
        return 0;
    w->announced = true;
    /* The first instruction since is the first that the block will show. */
    const struct random_etmv4_insn *first = &f->insns[w->reported];
    bool ran = w->reported < f->insn_count;
    const struct etmv4_place here = v4_place(w, w->pc);
    const struct bt_event on = {.kind = BT_EVENT_TRACE_ON,
                                .u.trace_on = {.has_address = true,
                                               .address = ran ? first->address : here.address,
                                               .isa = ran ? first->isa : (uint8_t)here.isa}};
    return v4_add_event(w, &on);
}

void v4_report(struct random_etmv4_work *w)
{
    struct random_etmv4 *f = w->flow;

    w->before[w->p0_count++ % V4_HELD_MAX] = w->reported;
    for (; w->reported < f->insn_count; w->reported++) {
        f->insns[w->reported].traced = true;
        f->traced_count++;
    }
}

void v4_skip(struct random_etmv4_work *w)
{
    w->reported = w->flow->insn_count;
}

void v4_take_back(struct random_etmv4_work *w, unsigned atoms)
{
    struct random_etmv4 *f = w->flow;

    if (atoms == 0)
        return;
    for (size_t i = w->before[(w->p0_count - atoms) % V4_HELD_MAX]; i < f->insn_count; i++) {
        f->traced_count -= f->insns[i].traced;
        f->insns[i].traced = false;
    }
}

/*
 * With speculation an exception return behind the last P0 element waits for the next one to be
 * committed, and is lost with it (IHI 0064H.b, speculation).
 */
void v4_lose_return(struct random_etmv4_work *w)
{
    struct random_etmv4 *f = w->flow;
    size_t i = f->event_count;

    if (w->options.encoder.idr8 == 0)
        return;
    while (i > 0 && (f->events[i - 1].kind == BT_EVENT_TIMESTAMP ||
                     f->events[i - 1].kind == BT_EVENT_TRIGGER ||
                     f->events[i - 1].kind == BT_EVENT_SOFTWARE))
        i--;
    if (i == 0 || f->events[i - 1].kind != BT_EVENT_EXCEPTION_RET ||
        f->events[i - 1].position != f->traced_count)
        return;
    memmove(&f->events[i - 1], &f->events[i], (f->event_count - i) * sizeof *f->events);
    f->event_count--;
}
