/* SPDX-License-Identifier: BSD-3-Clause */
/* The room() of a sink that is one test's alone. */
#ifndef TESTS_SUPPORT_SINK_ROOM_H
#define TESTS_SUPPORT_SINK_ROOM_H

#include <stdlib.h>

#include "drivers/probe/trace_stream.h"

static inline uint8_t *sink_room(void *user, size_t least, size_t *size)
{
    static uint8_t room[TRACE_ROOM + TRACE_ROOM_SPARE];
    (void)user;
    if (least > sizeof room)
        abort();
    *size = sizeof room;
    return room;
}

#endif
