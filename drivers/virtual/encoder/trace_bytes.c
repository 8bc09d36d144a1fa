/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/virtual/encoder/trace_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "btrace/types.h"

int trace_bytes_append(struct trace_bytes *b, const void *bytes, size_t size)
{
    if (size == 0)
        return 0;
    if (size > b->capacity - b->size) {
        size_t capacity = b->capacity ? b->capacity : 256;
        while (capacity - b->size < size) {
            if (capacity > SIZE_MAX / 2)
                return BT_ERR_NOMEM;
            capacity *= 2;
        }
        uint8_t *data = realloc(b->data, capacity);
        if (!data)
            return BT_ERR_NOMEM;
        b->data = data;
        b->capacity = capacity;
    }
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
    return 0;
}

void trace_bytes_release(struct trace_bytes *b)
{
    free(b->data);
    *b = (struct trace_bytes){0};
}

/* splitmix64: one add and two multiplies, no bad seeds. */
uint64_t trace_random_next(struct trace_random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t trace_random_below(struct trace_random *r, uint32_t limit)
{
    return limit ? (uint32_t)((trace_random_next(r) >> 32) * limit >> 32) : 0;
}

int trace_random_percent(struct trace_random *r, unsigned percent)
{
    return percent != 0 && trace_random_below(r, 100) < percent;
}
