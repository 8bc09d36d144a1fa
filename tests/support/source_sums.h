/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums that depend on the order of each source's bytes and of the marks between them, but not on
 * the turns in which the sources come. */
#ifndef TESTS_SUPPORT_SOURCE_SUMS_H
#define TESTS_SUPPORT_SOURCE_SUMS_H

#include "decoder/port/formatter.h"

struct source_sums {
    uint64_t of[FORMATTER_ID_MAX + 1]; /* since the last mark */
    uint64_t all;                      /* up to it */
};

static inline void source_sums_add(struct source_sums *s, uint8_t id, uint8_t byte)
{
    s->of[id] = s->of[id] * 31 + 256 + byte;
}

static inline void source_sums_mark(struct source_sums *s, uint64_t mark)
{
    for (unsigned id = 0; id <= FORMATTER_ID_MAX; id++) {
        s->all = s->all * 31 + s->of[id];
        s->of[id] = 0;
    }
    s->all = s->all * 31 + mark;
}

#endif
