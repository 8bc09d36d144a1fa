/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An ORBFLOW stream turned into CoreSight frames: whole ones, without syncs, in the sink's own
 * room(). What goes out with one call begins with an ID, and nothing of what came in is held back
 * but the packet that has not ended: so it can be dropped as a whole.
 */
#ifndef DRIVERS_ORBFLOW_FRAMES_H
#define DRIVERS_ORBFLOW_FRAMES_H

#include "drivers/probe/trace_stream.h"

struct orbflow_frames; /* private */

/* NULL: out of memory. */
struct orbflow_frames *orbflow_frames_new(void);
void orbflow_frames_free(struct orbflow_frames *f);

/* A new connection: what was begun is forgotten. */
void orbflow_frames_restart(struct orbflow_frames *f);

/* The source was silent: see orbflow_begin(). */
void orbflow_frames_begin(struct orbflow_frames *f);

/* Calls the sink for frames and losses. */
void orbflow_frames_feed(struct orbflow_frames *f, const uint8_t *data, size_t length,
                         const struct trace_sink *sink);

/* Bytes are missing before the next feed; tells the sink. */
void orbflow_frames_lost(struct orbflow_frames *f, const struct trace_sink *sink);

#endif
