/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TraceEnable as far as address range comparators make it: what of the program is traced. */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_FILTER_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define BOARD_RANGES 4 /* pairs of comparators that a unit has for each list */

/* Both ends belong to it. */
struct board_range {
    uint64_t first;
    uint64_t last;
};

struct board_ranges {
    unsigned count;
    struct board_range all[BOARD_RANGES];
};

/* Without ranges everything is traced. */
struct board_filter {
    struct board_ranges include; /* none: everything */
    struct board_ranges exclude;
};

/* Adds "FIRST-LAST". False: not a range, or no comparator is left. */
bool board_ranges_add(struct board_ranges *r, const char *text);

bool board_filter_active(const struct board_filter *f);

/* Are instructions from the one at `first` to the one at `last`, which run in a row, traced? */
bool board_filter_selects(const struct board_filter *f, uint64_t first, uint64_t last);

#endif
