/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DECODER_ARRAY_H
#define DECODER_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` behind `count` items of `size` bytes; it doubles at least. `array`: the pointer
 * to the items of the owner, who frees them; *max: for how many there is room. False: no memory,
 * all stays. */
static inline bool array_room_for(void *array, size_t count, size_t *max, size_t more, size_t size)
{
    void *items;
    size_t wanted = *max ? 2 * *max : 32;
    if (count + more <= *max)
        return true;
    if (wanted < count + more)
        wanted = count + more;
    memcpy(&items, array, sizeof items);
    void *grown = realloc(items, wanted * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *max = wanted;
    /* cppcheck-suppress memleak */ /* the owner has it */
    return true;
}

static inline bool array_room(void *array, size_t count, size_t *max, size_t size)
{
    return array_room_for(array, count, max, 1, size);
}

#endif
