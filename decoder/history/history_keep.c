/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole history as bytes: its arrays one behind the other, as they are in memory. */
#include "history_internal.h"

#include <stdlib.h>
#include <string.h>

struct kept_history {
    uint64_t window_bytes;
    uint64_t checkpoints, states, spacing, marks, gaps; /* counts, but for `spacing` */
    uint64_t state_size;
    uint64_t totals[BT_GAP_CAUSES];
    struct gap_entry last;
};

static void put_bytes(uint8_t **to, const void *from, size_t size)
{
    if (size)
        memcpy(*to, from, size);
    *to += size;
}

int history_keep(const struct history *h, uint8_t **data, size_t *size)
{
    struct kept_history k;
    struct stream live;
    memset(&k, 0, sizeof k); /* padding, too, is written */
    memset(&live, 0, sizeof live);
    k.window_bytes = h->window_bytes;
    k.checkpoints = h->checkpoint_count;
    k.states = h->states.count;
    k.spacing = h->states.spacing;
    k.marks = h->mark_count;
    k.gaps = h->gaps.count;
    k.state_size = h->states.size;
    memcpy(k.totals, h->gaps.totals, sizeof k.totals);
    k.last = h->gaps.last;
    stream_save(&h->live, &live);
    *size = sizeof k + (h->states.count + 1) * h->states.size +
            h->checkpoint_count * sizeof *h->checkpoints + h->mark_count * sizeof *h->marks +
            h->gaps.count * sizeof *h->gaps.entries;
    uint8_t *to = *data = malloc(*size);
    if (!to)
        return BT_ERR_NOMEM;
    put_bytes(&to, &k, sizeof k);
    put_bytes(&to, &live, h->states.size);
    put_bytes(&to, h->states.kept, h->states.count * h->states.size);
    put_bytes(&to, h->checkpoints, h->checkpoint_count * sizeof *h->checkpoints);
    put_bytes(&to, h->marks, h->mark_count * sizeof *h->marks);
    put_bytes(&to, h->gaps.entries, h->gaps.count * sizeof *h->gaps.entries);
    return BT_OK;
}

struct kept_reader {
    const uint8_t *at;
    size_t left;
    int error;
};

/* `count` items, to be freed; NULL for none. */
static void *take_items(struct kept_reader *r, uint64_t count, size_t item, size_t limit)
{
    if (r->error || count == 0)
        return NULL;
    if (count > limit || count > r->left / item) {
        r->error = BT_ERR_FORMAT;
        return NULL;
    }
    void *items = malloc((size_t)count * item);
    if (!items) {
        r->error = BT_ERR_NOMEM;
        return NULL;
    }
    memcpy(items, r->at, (size_t)count * item);
    r->at += (size_t)count * item;
    r->left -= (size_t)count * item;
    return items;
}

/* Windows follow each other, and each has its marks and, every so often, a state. */
static bool windows_fit(const struct history *h)
{
    const struct history_states *st = &h->states;
    uint64_t end = stream_offset(&h->live);
    for (size_t i = 0; i < h->checkpoint_count; i++) {
        const struct checkpoint *c = &h->checkpoints[i], *before = i ? c - 1 : c;
        if (c->offset > end || c->marks > h->mark_count || before->offset > c->offset ||
            before->marks > c->marks || before->instructions > c->instructions)
            return false;
    }
    for (size_t i = 0; i < h->mark_count; i++)
        if (h->marks[i].offset > end || (i && h->marks[i - 1].offset > h->marks[i].offset))
            return false;
    return st->spacing && !(st->spacing & (st->spacing - 1)) &&
           st->count == h->checkpoint_count / st->spacing + !!(h->checkpoint_count % st->spacing);
}

static bool states_fit(const struct history *h, const struct stream *live)
{
    struct stream one;
    bool fit = live->size == h->states.size && live->protocol == h->live.protocol;
    for (size_t i = 0; i < h->states.count && fit; i++) {
        memset(&one, 0, sizeof one);
        memcpy(&one, h->states.kept + i * h->states.size, h->states.size);
        fit = one.size == live->size && one.protocol == live->protocol;
    }
    return fit;
}

int history_restore(struct history *h, const uint8_t *data, size_t size)
{
    struct kept_reader r = {data, size, BT_OK};
    struct history_states *st = &h->states;
    struct kept_history k;
    struct stream live;
    if (!h->config.read || h->checkpoint_count || size < sizeof k + st->size)
        return BT_ERR_FORMAT;
    memcpy(&k, data, sizeof k);
    memset(&live, 0, sizeof live);
    memcpy(&live, data + sizeof k, st->size);
    r.at += sizeof k + st->size;
    r.left -= sizeof k + st->size;
    if (k.state_size != st->size || k.window_bytes < h->config.checkpoint_bytes)
        return BT_ERR_FORMAT;
    st->kept = take_items(&r, k.states, st->size, st->limit);
    st->count = st->max = st->kept ? (size_t)k.states : 0;
    st->spacing = (size_t)k.spacing;
    h->checkpoints =
        take_items(&r, k.checkpoints, sizeof *h->checkpoints, h->config.max_checkpoints);
    h->checkpoint_count = h->checkpoint_max = h->checkpoints ? (size_t)k.checkpoints : 0;
    h->marks = take_items(&r, k.marks, sizeof *h->marks, SIZE_MAX);
    h->mark_count = h->mark_max = h->marks ? (size_t)k.marks : 0;
    h->gaps.entries = take_items(&r, k.gaps, sizeof *h->gaps.entries, h->gaps.limit);
    h->gaps.count = h->gaps.max = h->gaps.entries ? (size_t)k.gaps : 0;
    if (!r.error && (r.left || !states_fit(h, &live)))
        r.error = BT_ERR_FORMAT;
    if (r.error)
        return r.error;
    memcpy(h->gaps.totals, k.totals, sizeof k.totals);
    h->gaps.last = k.last;
    h->window_bytes = k.window_bytes;
    h->finished = true;
    stream_resume(&h->live, &live, &h->code);
    return windows_fit(h) ? BT_OK : BT_ERR_FORMAT;
}
