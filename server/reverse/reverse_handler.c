/* SPDX-License-Identifier: BSD-3-Clause */
/* Which exception a core of M profile handles at a position. */
#include "server/reverse/reverse_values.h"

#define FAR  2 /* windows that are looked through, in each direction */
#define NEAR 1

static bool turns(const struct bt_event *e)
{
    return e->kind == BT_EVENT_EXCEPTION || e->kind == BT_EVENT_EXCEPTION_RET;
}

/* The positions around `position` that no exception and no return lies between. */
static void find_bounds(struct reverse_handler *h, const struct reverse_history_window *s,
                        uint64_t position)
{
    h->first = s->first;
    h->end = s->end;
    for (size_t i = 0; i < s->window.event_count; i++) {
        const struct bt_event *e = &s->window.events[i];
        if (!turns(e))
            continue;
        if (e->position > position) {
            h->end = e->position < h->end ? e->position : h->end;
            return;
        }
        h->first = e->position > h->first ? e->position : h->first;
    }
}

/* The handler that the events of one window before `position` leave the core in. */
static bool number_before(const struct reverse_history_window *s, uint64_t position, int *depth,
                          uint32_t *number)
{
    for (size_t i = s->window.event_count; i > 0; i--) {
        const struct bt_event *e = &s->window.events[i - 1];
        if (e->position > position)
            continue;
        if (e->kind == BT_EVENT_EXCEPTION_RET) {
            ++*depth;
        } else if (e->kind == BT_EVENT_EXCEPTION && (*depth)-- == 0) {
            *number = e->number;
            return true;
        }
    }
    return false;
}

/* No handler was entered before: it is the present one if none is left or entered since. */
static bool number_after(const struct reverse_history_window *s, uint64_t position, int *depth)
{
    for (size_t i = 0; i < s->window.event_count; i++) {
        const struct bt_event *e = &s->window.events[i];
        if (e->position <= position)
            continue;
        *depth += e->kind == BT_EVENT_EXCEPTION;
        if (e->kind == BT_EVENT_EXCEPTION_RET && (*depth)-- == 0)
            return false;
    }
    return true;
}

static uint32_t look(struct reverse *p, size_t at, uint64_t position, uint32_t now, size_t tries)
{
    struct reverse_history_window s;
    int depth = 0;
    uint32_t number;
    for (size_t i = at + 1; i > 0 && at + 1 - i < tries; i--)
        if (reverse_history_window(p, i - 1, &s) == BT_OK &&
            number_before(&s, position, &depth, &number))
            return number;
    depth = 0;
    for (size_t i = at; i < reverse_history_window_count(p) && i < at + tries; i++)
        if (reverse_history_window(p, i, &s) == BT_OK && !number_after(&s, position, &depth))
            return REVERSE_HANDLER_ANY;
    return depth == 0 ? now : REVERSE_HANDLER_ANY;
}

uint32_t reverse_handler_at(struct reverse_handler *h, struct reverse *p, uint64_t position,
                            uint32_t now, bool near)
{
    struct reverse_history_window s;
    size_t at;
    if (h->known && position >= h->first && position < h->end)
        return h->number;
    if (reverse_history_window_find(p, position, &at) != BT_OK)
        return now;
    uint32_t number = look(p, at, position, now, near ? NEAR : FAR);
    if (!near && reverse_history_window(p, at, &s) == BT_OK) {
        h->number = number;
        h->known = true;
        find_bounds(h, &s, position);
    }
    return number;
}
