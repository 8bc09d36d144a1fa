/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places in a recording's raw buffer from which bytes of one source's stream are found again. When
 * there are more than the limit, every second one goes: from then on one is taken
 * half as often. */
#ifndef SERVER_RECORDING_INDEX_H
#define SERVER_RECORDING_INDEX_H

#include "decoder/port/formatter.h"

#define RECORDING_PLACES 2048 /* the limit, if nobody says another one */

/* A place, the formatter's state there, and how much it had given before. */
struct recording_place {
    uint64_t offset; /* in the source's stream */
    uint64_t at;     /* in the file */
    size_t file;
    struct formatter formatter;
};

struct recording_index {
    struct recording_place *places; /* [0, count): in order */
    size_t count;
    size_t max;   /* room in `places` */
    size_t limit; /* of `count` */
    size_t every; /* that many come by for one that is taken */
    size_t seen;
};

/* `limit` 0: RECORDING_PLACES. */
void recording_index_init(struct recording_index *x, size_t limit);
void recording_index_release(struct recording_index *x);

/* The source's next place; `offset` and place never go back. BT_ERR_NOMEM. */
int recording_index_add(struct recording_index *x, const struct recording_place *place);

/* The nearest place at or before `offset`; the index is not empty. */
const struct recording_place *recording_index_find(const struct recording_index *x,
                                                   uint64_t offset);

#endif
