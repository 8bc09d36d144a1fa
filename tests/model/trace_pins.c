/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_pins.h"

#include <string.h>
#include <time.h>

#define IDLE_MAX  1024u /* bytes between two looks */
#define IDLE_STEP 500u  /* microseconds: who takes until nothing is left comes to an end */
#define SECOND    1000000u

void trace_pins_put(struct trace_pins *p, const uint8_t *bytes, size_t size)
{
    size_t room = p->full ? 0 : sizeof p->bytes - p->size;
    size_t take = size < room ? size : room;
    if (take > 0) /* bytes may be NULL then */
        memcpy(p->bytes + p->size, bytes, take);
    p->size += take;
    p->full |= take < size;
}

size_t trace_pins_take(struct trace_pins *p, uint8_t *bytes, size_t size)
{
    if (size > p->size)
        size = p->size;
    memcpy(bytes, p->bytes, size);
    memmove(p->bytes, p->bytes + size, p->size - size);
    p->size -= size;
    if (p->full && p->size == 0) {
        p->full = false;
        p->holes++;
    }
    return size;
}

void trace_pins_clear(struct trace_pins *p)
{
    p->size = 0;
    p->full = false;
    p->idle_us = 0;
}

static uint64_t microseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec / 1000;
}

void trace_pins_rest(struct trace_pins *p, struct frame_builder *frames, bool idle, uint64_t rate)
{
    static const uint8_t half[2] = {0xff, 0x7f};
    uint64_t now = microseconds();
    if (idle && p->idle_us == 0)
        frame_builder_half_sync(frames);
    if (!idle || p->idle_us == 0) {
        p->idle_us = idle ? now : 0;
        return;
    }
    if (now - p->idle_us < IDLE_STEP)
        return;
    uint64_t pairs = (now - p->idle_us) * rate / 2 / SECOND;
    for (uint64_t i = 0; i < pairs && p->size < IDLE_MAX; i++)
        trace_pins_put(p, half, sizeof half);
    if (pairs > 0)
        p->idle_us = now;
}
