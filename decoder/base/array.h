/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DECODER_ARRAY_H
#define DECODER_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more of `count` items of `size` bytes; it doubles. `array`: the pointer to the items
 * of the owner, who frees them; *max: for how many there is room. False: no memory, all stays. */
static inline bool array_room(void *array, size_t count, size_t *max, size_t size)
{
    void *items;
    size_t more = *max ? 2 * *max : 32;
    if (count < *max)
        return true;
    memcpy(&items, array, sizeof items);
    void *grown = realloc(items, more * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *max = more;
    /* cppcheck-suppress memleak */ /* the owner has it */
    return true;
}

#endif
