/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/history_difference.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char text[200];

static const char *differ(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return text;
}

static bool same_events(const struct history_window *a, const struct history_window *b)
{
    return a->event_count == b->event_count &&
           (!a->event_count ||
            memcmp(a->events, b->events, a->event_count * sizeof *a->events) == 0);
}

static bool same_key(const struct code_key *a, const struct code_key *b)
{
    return a->generation == b->generation && a->core == b->core && a->security == b->security &&
           a->has_context == b->has_context && (!a->has_context || a->context == b->context) &&
           a->has_vmid == b->has_vmid && (!a->has_vmid || a->vmid == b->vmid);
}

static const char *window_difference(const struct history_window *a, const struct history_window *b)
{
    if (a->first != b->first || a->end != b->end || a->block_count != b->block_count)
        return "instructions";
    if (!same_events(a, b))
        return "events";
    if (!same_key(&a->key, &b->key))
        return "who looks at the code";
    for (size_t i = 0; i < a->block_count; i++) {
        struct bt_block x, y;
        history_block(a, i, &x);
        history_block(b, i, &y);
        if (x.first != y.first || x.extent != y.extent || x.info != y.info ||
            history_block_cycles(a, i) != history_block_cycles(b, i))
            return "a block";
    }
    return NULL;
}

static bool same_gap(const struct gap_entry *a, const struct gap_entry *b)
{
    return a->position == b->position && a->offset == b->offset && a->bytes == b->bytes &&
           a->doubtful == b->doubtful && a->address == b->address && a->cause == b->cause &&
           a->has_address == b->has_address;
}

static const char *gap_difference(const struct history *a, const struct history *b)
{
    const struct gap_entry *x, *y;
    size_t n = history_gaps(a, &x), m = history_gaps(b, &y);
    for (size_t i = 0; i < n && i < m; i++)
        if (!same_gap(&x[i], &y[i]))
            return differ("gap %zu", i);
    for (unsigned i = 0; i < BT_GAP_CAUSES; i++)
        if (history_gap_count(a, (enum bt_gap_cause)i) !=
            history_gap_count(b, (enum bt_gap_cause)i))
            return differ("gaps of cause %u", i);
    return n == m ? NULL : differ("%zu and %zu gaps", n, m);
}

static const char *total_difference(struct history *a, struct history *b)
{
    struct history_totals x, y;
    struct history_tail s, t;
    history_totals(a, &x);
    history_totals(b, &y);
    if (x.bytes != y.bytes || x.packets != y.packets || x.skipped != y.skipped ||
        x.blocks != y.blocks)
        return differ("totals: %llu and %llu bytes, %llu and %llu blocks",
                      (unsigned long long)x.bytes, (unsigned long long)y.bytes,
                      (unsigned long long)x.blocks, (unsigned long long)y.blocks);
    history_tail(a, &s);
    history_tail(b, &t);
    if (s.count != t.count || s.instructions != t.instructions || s.known != t.known ||
        (s.known && (s.address != t.address || s.isa != t.isa)))
        return "the tail";
    return history_first(a) == history_first(b) && history_end(a) == history_end(b)
               ? NULL
               : "the first or the last instruction";
}

const char *history_difference(struct history *a, struct history *b)
{
    const char *what = total_difference(a, b);
    if (!what)
        what = gap_difference(a, b);
    if (!what && (history_window_count(a) != history_window_count(b) ||
                  history_windows_dropped(a) != history_windows_dropped(b)))
        what = "the number of windows";
    for (size_t i = 0; i < history_window_count(a) && !what; i++) {
        struct history_window v, w;
        struct history_reach r, s;
        history_window_reach(a, i, &r);
        history_window_reach(b, i, &s);
        if (r.low != s.low || r.high != s.high || r.isas != s.isas || r.events != s.events)
            what = differ("window %zu: what it reaches", i);
        else if (history_window_index(a, i, &v) || history_window_index(b, i, &w))
            what = differ("window %zu: an error", i);
        else if ((what = window_difference(&v, &w)) != NULL)
            what = differ("window %zu: %s", i, what);
    }
    return what;
}
