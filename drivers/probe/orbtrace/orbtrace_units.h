/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first trace protocol of ORBTrace: units of 16 bytes, CoreSight frames without syncs, and
 * between them keep-alive units that count the frames that the probe has lost.
 * Found in ORBTrace's own gateware; no manual has it.
 *
 * Where a frame was lost is not told, only that it was since the last keep-alive. So frames are
 * passed on when a later keep-alive has told of no loss; those between two counts that differ are
 * thrown away, since frames would be joined across a hole in them.
 */
#ifndef DRIVERS_ORBTRACE_UNITS_H
#define DRIVERS_ORBTRACE_UNITS_H

#include "drivers/probe/trace_stream.h"

#define ORBTRACE_UNIT 16u
/* Frames that wait for a keep-alive, which comes ten times a second: a third of a second at the
 * pace of USB. */
#define ORBTRACE_HOLD (16u << 20)

/* Private. */
struct orbtrace_units {
    uint8_t *hold; /* ORBTRACE_HOLD bytes */
    size_t held;
    bool counted;   /* a keep-alive has come */
    bool hole;      /* a loss was told, and nothing since */
    bool spoiled;   /* what comes up to the next keep-alive is not to be used */
    uint16_t count; /* of lost frames */
};

/* 0 or BT_ERR_NOMEM. */
int orbtrace_units_init(struct orbtrace_units *u);
void orbtrace_units_release(struct orbtrace_units *u);

/* A new capture: what was held is forgotten. */
void orbtrace_units_restart(struct orbtrace_units *u);

/* One USB transfer, which begins with a unit. Calls the sink for frames and losses. */
void orbtrace_units_feed(struct orbtrace_units *u, const uint8_t *data, size_t length,
                         const struct trace_sink *sink);

/* Transfers are missing before the next one. */
void orbtrace_units_lost(struct orbtrace_units *u, const struct trace_sink *sink);

#endif
