/* SPDX-License-Identifier: BSD-3-Clause */
/* What memory held, in order of addresses: sorted in slices, runs first, which are merged then. */
#include "values_work.h"

#include <stdlib.h>
#include <string.h>

#define RUN 64

static bool before(const struct values_record *x, const struct values_record *y)
{
    return x->address != y->address ? x->address < y->address : x->from < y->from;
}

static void sort_run(struct values_record *at, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct values_record x = at[i];
        size_t k = i;
        for (; k > 0 && before(&x, &at[k - 1]); k--)
            at[k] = at[k - 1];
        at[k] = x;
    }
}

static void merge(const struct values_record *a, size_t a_count, const struct values_record *b,
                  size_t b_count, struct values_record *out)
{
    while (a_count && b_count) {
        if (before(b, a)) {
            *out++ = *b++;
            b_count--;
        } else {
            *out++ = *a++;
            a_count--;
        }
    }
    memcpy(out, a, a_count * sizeof *a);
    memcpy(out + a_count, b, b_count * sizeof *b);
}

static size_t at_most(size_t n, size_t limit)
{
    return n < limit ? n : limit;
}

/* The next two runs become one. */
static size_t merge_next(struct values_memory_state *m, struct values_sort *s)
{
    size_t left = m->record_count - s->at;
    size_t a = at_most(s->width, left), b = at_most(s->width, left - a);
    const struct values_record *from = m->records + s->at;
    merge(from, a, from + a, b, s->other + s->at);
    s->at += a + b;
    return a + b;
}

static void swap_sides(struct values_memory_state *m, struct values_sort *s)
{
    struct values_record *sorted = s->other;
    s->other = m->records;
    m->records = sorted;
    m->record_max = m->record_count;
    s->width *= 2;
    s->at = 0;
}

bool values_sort_some(struct values *r, size_t *budget)
{
    struct values_memory_state *m = &r->memory;
    struct values_sort *s = &r->sort;
    for (; !s->width && s->at < m->record_count && *budget; s->at += RUN) {
        size_t n = at_most(RUN, m->record_count - s->at);
        sort_run(m->records + s->at, n);
        *budget -= at_most(n, *budget);
    }
    if (!s->width && s->at >= m->record_count) {
        s->width = RUN;
        s->at = 0;
    }
    if (s->width && s->width < m->record_count && !s->other) {
        s->other = malloc(m->record_count * sizeof *s->other);
        r->rules.nomem |= !s->other;
    }
    while (s->other && s->width < m->record_count && *budget) {
        *budget -= at_most(merge_next(m, s) / 2, *budget);
        if (s->at >= m->record_count)
            swap_sides(m, s);
    }
    if (!s->width || s->width < m->record_count)
        return false;
    free(s->other);
    *s = (struct values_sort){0};
    return true;
}
