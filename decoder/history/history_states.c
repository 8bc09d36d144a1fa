/* SPDX-License-Identifier: BSD-3-Clause */
/* States of the decoder from which windows are decoded again. */
#include "history_internal.h"

#include <stdlib.h>
#include <string.h>

#define STATES_MIN 64

void history_states_init(struct history_states *st, size_t size, size_t limit)
{
    memset(st, 0, sizeof *st);
    st->size = size;
    st->limit = limit;
    st->spacing = 1;
}

void history_states_release(struct history_states *st)
{
    free(st->kept);
    for (size_t i = 0; i < STATE_SPANS; i++)
        free(st->spans[i].states);
    memset(st, 0, sizeof *st);
}

static void store_state(const struct history_states *st, uint8_t *states, size_t i,
                        const struct stream *s)
{
    struct stream copy;
    stream_save(s, &copy);
    memcpy(states + i * st->size, &copy, st->size);
}

/* The latest spans. */

static void forget_spans(struct history_states *st)
{
    for (size_t i = 0; i < STATE_SPANS; i++)
        st->spans[i].count = 0;
}

/* The span that begins at window `first`; NULL: nothing of it was met. */
static struct state_span *find_span(struct history_states *st, size_t first)
{
    for (size_t i = 0; i < STATE_SPANS; i++)
        if (st->spans[i].count && st->spans[i].first == first)
            return &st->spans[i];
    return NULL;
}

/* An empty span in the place of the oldest; NULL without memory. */
static struct state_span *new_span(struct history_states *st, size_t first)
{
    struct state_span *oldest = &st->spans[0];
    for (size_t i = 1; i < STATE_SPANS; i++)
        if (st->spans[i].used < oldest->used)
            oldest = &st->spans[i];
    oldest->first = first;
    oldest->count = 0;
    if (oldest->max < st->spacing - 1) {
        uint8_t *grown = realloc(oldest->states, (st->spacing - 1) * st->size);
        if (!grown)
            return NULL;
        oldest->states = grown;
        oldest->max = st->spacing - 1;
    }
    return oldest;
}

void history_states_met(struct history_states *st, size_t window, const struct stream *s)
{
    size_t behind = window % st->spacing;
    if (behind == 0)
        return;
    struct state_span *span = find_span(st, window - behind);
    if (!span && behind == 1)
        span = new_span(st, window - behind);
    if (!span || span->count + 1 != behind)
        return;
    store_state(st, span->states, span->count++, s);
    span->used = ++st->clock;
}

size_t history_states_before(struct history_states *st, size_t window, struct stream *out)
{
    size_t behind = window % st->spacing, first = window - behind;
    const uint8_t *state = st->kept + first / st->spacing * st->size;
    struct state_span *span = behind ? find_span(st, first) : NULL;
    behind = !span ? 0 : behind < span->count ? behind : span->count;
    if (span)
        state = span->states + (behind - 1) * st->size;
    if (span && out)
        span->used = ++st->clock;
    if (out) {
        memset(out, 0, sizeof *out);
        memcpy(out, state, st->size);
    }
    return first + behind;
}

/* Those that are kept. */

static void keep_every_second(struct history_states *st)
{
    st->count = (st->count + 1) / 2;
    for (size_t i = 1; i < st->count; i++)
        memcpy(st->kept + i * st->size, st->kept + 2 * i * st->size, st->size);
    forget_spans(st);
}

static bool grow_states(struct history_states *st)
{
    size_t max = st->max ? st->max * 2 : STATES_MIN;
    if (max > st->limit)
        max = st->limit;
    uint8_t *grown = realloc(st->kept, max * st->size);
    if (!grown)
        return false;
    st->kept = grown;
    st->max = max;
    return true;
}

int history_states_add(struct history_states *st, size_t window, const struct stream *s)
{
    if (st->count == st->limit && window % st->spacing == 0) {
        keep_every_second(st);
        st->spacing *= 2;
    }
    if (window % st->spacing) {
        history_states_met(st, window, s); /* who looks at it looks at its end first */
        return BT_OK;
    }
    if (st->count == st->max && !grow_states(st))
        return BT_ERR_NOMEM;
    store_state(st, st->kept, st->count++, s);
    return BT_OK;
}

void history_states_drop(struct history_states *st, size_t windows)
{
    st->count -= windows;
    memmove(st->kept, st->kept + windows * st->size, st->count * st->size);
}

void history_states_cut(struct history_states *st)
{
    st->count = 1;
    forget_spans(st);
}

void history_states_pair(struct history_states *st)
{
    if (st->spacing == 1)
        keep_every_second(st);
    else
        st->spacing /= 2;
    forget_spans(st);
}

size_t history_states_memory(const struct history_states *st)
{
    size_t states = st->max;
    for (size_t i = 0; i < STATE_SPANS; i++)
        states += st->spans[i].max;
    return states * st->size;
}
