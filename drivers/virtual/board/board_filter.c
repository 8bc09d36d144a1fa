/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_filter.h"

#include <errno.h>
#include <stdlib.h>

/* Digits only: strtoull() takes signs and spaces, too. */
static bool board_filter_parse_address(const char **text, uint64_t *address)
{
    unsigned long long value;
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    value = strtoull(*text, &end, 0);
    *text = end;
    *address = value;
    return errno == 0;
}

bool board_ranges_add(struct board_ranges *r, const char *text)
{
    struct board_range range;

    if (r->count == BOARD_RANGES || !board_filter_parse_address(&text, &range.first) ||
        *text++ != '-' || !board_filter_parse_address(&text, &range.last) || *text != '\0' ||
        range.first > range.last)
        return false;
    r->all[r->count++] = range;
    return true;
}

bool board_filter_active(const struct board_filter *f)
{
    return f->include.count > 0 || f->exclude.count > 0;
}

/* A run of instructions is in if one of them is, and out only if all of them are. */
bool board_filter_selects(const struct board_filter *f, uint64_t first, uint64_t last)
{
    bool in = f->include.count == 0;

    for (unsigned i = 0; i < f->include.count; i++)
        in |= first <= f->include.all[i].last && last >= f->include.all[i].first;
    for (unsigned i = 0; i < f->exclude.count; i++)
        in &= first < f->exclude.all[i].first || last > f->exclude.all[i].last;
    return in;
}
