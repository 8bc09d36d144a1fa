/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DECODER_SEARCH_H
#define DECODER_SEARCH_H

#include <stddef.h>

/* The size_t `i` becomes the index of the first of `count` items in order for which `is_before`, an
 * expression of `i`, does not hold; `count`: it holds for all of them. */
#define SEARCH_FIRST(i, count, is_before)                                                          \
    do {                                                                                           \
        size_t low_ = 0, high_ = (count);                                                          \
        while (low_ < high_) {                                                                     \
            (i) = low_ + (high_ - low_) / 2;                                                       \
            if (is_before)                                                                         \
                low_ = (i) + 1;                                                                    \
            else                                                                                   \
                high_ = (i);                                                                       \
        }                                                                                          \
        (i) = low_;                                                                                \
    } while (0)

/* The last item for which `is_so` holds, as it does for those before it; the first if it holds for
 * none. */
#define SEARCH_LAST(i, count, is_so)                                                               \
    do {                                                                                           \
        SEARCH_FIRST(i, count, is_so);                                                             \
        (i) -= (i) > 0;                                                                            \
    } while (0)

#endif
