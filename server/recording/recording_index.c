/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/recording/recording_index.h"

#include <stdlib.h>
#include <string.h>

#define PLACES_MIN 64

void recording_index_init(struct recording_index *x, size_t limit)
{
    memset(x, 0, sizeof *x);
    x->limit = limit ? limit : RECORDING_PLACES;
    x->every = 1;
}

void recording_index_release(struct recording_index *x)
{
    free(x->places);
    memset(x, 0, sizeof *x);
}

static bool grow(struct recording_index *x)
{
    size_t max = x->max ? x->max * 2 : PLACES_MIN;
    if (max > x->limit)
        max = x->limit;
    struct recording_place *grown = realloc(x->places, max * sizeof *grown);
    if (!grown)
        return false;
    x->places = grown;
    x->max = max;
    return true;
}

static void keep_every_second(struct recording_index *x)
{
    x->count = (x->count + 1) / 2;
    for (size_t i = 1; i < x->count; i++)
        x->places[i] = x->places[2 * i];
    x->every *= 2;
}

int recording_index_add(struct recording_index *x, const struct recording_place *place)
{
    if (x->count == x->limit && x->seen % x->every == 0)
        keep_every_second(x);
    if (x->seen % x->every == 0) {
        if (x->count == x->max && !grow(x))
            return BT_ERR_NOMEM;
        x->places[x->count++] = *place;
    }
    x->seen++;
    return BT_OK;
}

const struct recording_place *recording_index_find(const struct recording_index *x, uint64_t offset)
{
    size_t low = 0, high = x->count;
    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;
        if (x->places[mid].offset <= offset)
            low = mid;
        else
            high = mid;
    }
    return &x->places[low];
}
