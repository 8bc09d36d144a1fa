/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a core's instructions have stored, and what that leaves of other cores' memory. */
#include "reverse_stores.h"

#include "decoder/base/array.h"
#include "decoder/base/search.h"

#include <stdlib.h>
#include <string.h>

#define SPANS_MAX 1024u

/* Memory that was stored to. */

static size_t first_span_to(const struct reverse_stores *s, uint64_t to)
{
    size_t low;
    SEARCH_FIRST(low, s->count, s->at[low].to < to);
    return low;
}

static struct reverse_span in_grains(const struct reverse_stores *s, struct reverse_span span)
{
    uint64_t part = (UINT64_C(1) << s->grain) - 1;
    span.from &= ~part;
    span.to = span.to > UINT64_MAX - part ? UINT64_MAX : (span.to + part) & ~part;
    return span;
}

/* Fewer spans, of more bytes. */
static void make_coarser(struct reverse_stores *s)
{
    while (s->count > SPANS_MAX / 2) {
        size_t kept = 0;
        s->grain++;
        for (size_t i = 0; i < s->count; i++) {
            const struct reverse_span span = in_grains(s, s->at[i]);
            if (kept && s->at[kept - 1].to >= span.from)
                s->at[kept - 1].to = span.to;
            else
                s->at[kept++] = span;
        }
        s->count = kept;
    }
}

/* True: that is new. */
static bool add_stored(struct reverse_stores *s, uint64_t from, uint64_t to)
{
    if (s->all)
        return false;
    struct reverse_span span = in_grains(s, (struct reverse_span){from, to});
    size_t first = first_span_to(s, span.from), last = first;
    if (first < s->count && s->at[first].from <= span.from && s->at[first].to >= span.to)
        return false;
    for (; last < s->count && s->at[last].from <= span.to; last++) {
        span.from = s->at[last].from < span.from ? s->at[last].from : span.from;
        span.to = s->at[last].to > span.to ? s->at[last].to : span.to;
    }
    if (span.to == UINT64_MAX ||
        (first == last && !array_room(&s->at, s->count, &s->max, sizeof *s->at))) {
        s->all = true;
        return true;
    }
    memmove(s->at + first + 1, s->at + last, (s->count - last) * sizeof *s->at);
    s->at[first] = span;
    s->count = s->count + 1 - (last - first);
    if (s->count > SPANS_MAX)
        make_coarser(s);
    return true;
}

bool reverse_stores_add(struct reverse_stores *to, const struct reverse_stores *from)
{
    bool grew = from->all && !to->all;
    to->all |= from->all;
    for (size_t i = 0; i < from->count; i++)
        grew |= add_stored(to, from->at[i].from, from->at[i].to);
    return grew;
}

static void forget_stored(struct reverse_stores *s)
{
    free(s->at);
    *s = (struct reverse_stores){.at = NULL};
}

void reverse_stores_release(struct reverse_segment *s)
{
    forget_stored(&s->stores);
    forget_stored(&s->shared);
    s->settled = s->moved = false;
    s->shares = 0;
}

/* What lies where. */

static void keep_within(uint64_t *from, uint64_t *to, uint64_t low, uint64_t high)
{
    *from = *from > low ? *from : low;
    *to = *to < high ? *to : high;
}

/* The board file calls it the core's own: the halt is to prove that. */
static bool is_promised(const struct reverse_forward *f, uint64_t address, uint64_t *from,
                        uint64_t *to)
{
    for (unsigned i = 0; i < f->promised.count; i++) {
        uint64_t low = f->promised.at[i].address, high = low + f->promised.at[i].size;
        if (address >= low && address < high) {
            keep_within(from, to, low, high);
            return true;
        }
        keep_within(from, to, address >= high ? high : 0, address < low ? low : UINT64_MAX);
    }
    return false;
}

enum execute_memory_kind reverse_stores_kind(void *context, uint64_t address, uint64_t *from,
                                             uint64_t *to, const uint8_t **bytes)
{
    const struct reverse_segment *s = context;
    const struct reverse_stores *shared = &s->shared;
    enum execute_memory_kind kind = reverse_map_kind(&s->of->map, address, from, to, bytes);
    if (kind != EXECUTE_MEMORY_RAM || (!shared->all && !shared->count) ||
        is_promised(s->of, address, from, to))
        return kind;
    if (shared->all)
        return EXECUTE_MEMORY_OTHER;
    size_t i = first_span_to(shared, address + 1);
    if (i < shared->count && shared->at[i].from <= address) {
        keep_within(from, to, shared->at[i].from, shared->at[i].to);
        return EXECUTE_MEMORY_OTHER;
    }
    keep_within(from, to, i ? shared->at[i - 1].to : 0,
                i < shared->count ? shared->at[i].from : UINT64_MAX);
    return kind;
}

/* At once, or by words: stores to who knows where may be most of all instructions. */
static void note_lines(struct reverse_forward *f, uint64_t from, uint64_t to)
{
    uint64_t last = (to - 1) / REVERSE_FORWARD_LINE, at = from / REVERSE_FORWARD_LINE;
    if (last - at >= REVERSE_FORWARD_LINES - 1) {
        memset(f->stored, 0xff, sizeof f->stored);
        return;
    }
    for (; at <= last; at = (at | 31) + 1) {
        uint32_t upto = (at | 31) <= last ? UINT32_MAX : UINT32_MAX >> (31 - last % 32);
        f->stored[at % REVERSE_FORWARD_LINES / 32] |= UINT32_MAX << at % 32 & upto;
    }
}

void reverse_stores_note(struct reverse_forward *f, const struct execute_access *a)
{
    struct reverse_segment *s = f->walked;
    if (a->store && a->from < a->to)
        note_lines(f, a->from, a->to);
    if (!f->owner.other || !s)
        return;
    if (f->walk.x.regs.translation != EXECUTE_TRANSLATION_FLAT)
        s->moved = s->stores.all = true;
    if (a->store)
        add_stored(&s->stores, a->from, a->to);
}
