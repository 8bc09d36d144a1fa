/* SPDX-License-Identifier: BSD-3-Clause */
#include "orbtrace_units.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_ALIVE 0xa6u /* first byte of such a unit */
#define LOST_AT    6u
#define SYNC_AT    12u
#define PIECE      65536u /* delivered at once: what a full ring then drops */

static const uint8_t FULL_SYNC[] = {0xff, 0xff, 0xff, 0x7f};

int orbtrace_units_init(struct orbtrace_units *u)
{
    *u = (struct orbtrace_units){.hold = malloc(ORBTRACE_HOLD)};
    return u->hold ? 0 : BT_ERR_NOMEM;
}

void orbtrace_units_release(struct orbtrace_units *u)
{
    free(u->hold);
    u->hold = NULL;
}

void orbtrace_units_restart(struct orbtrace_units *u)
{
    u->held = 0;
    u->counted = u->hole = u->spoiled = false;
}

static void drop_held(struct orbtrace_units *u, const struct trace_sink *sink)
{
    u->held = 0;
    if (!u->hole)
        sink->lost(sink->user, BT_GAP_LOST_BYTES);
    u->hole = true;
}

static void deliver_held(struct orbtrace_units *u, const struct trace_sink *sink)
{
    for (size_t at = 0; at < u->held; at += PIECE) {
        size_t left = u->held - at;
        sink->bytes(sink->user, u->hold + at, left < PIECE ? left : PIECE);
        u->hole = false;
    }
    u->held = 0;
}

/* A sync is never inside a frame, so this is none. */
static bool is_keep_alive(const uint8_t *unit)
{
    return unit[0] == KEEP_ALIVE && memcmp(unit + SYNC_AT, FULL_SYNC, sizeof FULL_SYNC) == 0;
}

/* The first count may be that of a capture of long ago; only 0 says that nothing is missing. */
static void take_keep_alive(struct orbtrace_units *u, const uint8_t *unit,
                            const struct trace_sink *sink)
{
    uint16_t count = (uint16_t)(unit[LOST_AT] | unit[LOST_AT + 1] << 8);
    bool grown = count != (u->counted ? u->count : 0);
    if ((grown && (u->counted || u->held > 0)) || u->spoiled)
        drop_held(u, sink);
    else
        deliver_held(u, sink);
    u->spoiled = false;
    u->counted = true;
    u->count = count;
}

static void orbtrace_hold(struct orbtrace_units *u, const uint8_t *unit,
                          const struct trace_sink *sink)
{
    if (u->spoiled)
        return;
    if (u->held + ORBTRACE_UNIT > ORBTRACE_HOLD) {
        u->spoiled = true; /* no keep-alive for so long: nobody knows what is missing */
        drop_held(u, sink);
        return;
    }
    memcpy(u->hold + u->held, unit, ORBTRACE_UNIT);
    u->held += ORBTRACE_UNIT;
}

void orbtrace_units_feed(struct orbtrace_units *u, const uint8_t *data, size_t length,
                         const struct trace_sink *sink)
{
    size_t whole = length - length % ORBTRACE_UNIT;
    for (size_t at = 0; at < whole; at += ORBTRACE_UNIT) {
        if (is_keep_alive(data + at))
            take_keep_alive(u, data + at, sink);
        else
            orbtrace_hold(u, data + at, sink);
    }
    if (whole != length)
        orbtrace_units_lost(u, sink);
}

void orbtrace_units_lost(struct orbtrace_units *u, const struct trace_sink *sink)
{
    u->spoiled = true;
    drop_held(u, sink);
}
