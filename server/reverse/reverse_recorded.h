/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a core at a place of its history, in a recording: written there, and read. */
#ifndef SERVER_REVERSE_RECORDED_H
#define SERVER_REVERSE_RECORDED_H

#include "drivers/snapshot/snapshot.h"
#include "server/recording/recorder.h"
#include "server/reverse/reverse_snapshot.h"

/* How the trace leads to the place. */
struct reverse_recorded_way {
    bool untraced; /* as in struct btrace_view */
    bool first;    /* nothing was traced before */
};

/* As recorder_add_known(), whose `core` it is of. RAM that was written with what nobody knows is
 * not in it: nothing of before is carried over then. */
int reverse_recorded_put(const struct reverse_snapshot *s, enum execute_profile profile,
                         const struct reverse_recorded_way *way, struct recorder *r, unsigned core);

/*
 * Of a device of RECORDER_KNOWN_CLASS: all but its position, which follows from the trace up to
 * *bytes. BT_OK, BT_ERR_FORMAT (it is none), BT_ERR_IO or BT_ERR_NOMEM; release in all cases.
 */
int reverse_recorded_get(struct snapshot *snapshot, const struct snapshot_device *device,
                         enum execute_profile profile, struct reverse_snapshot *s,
                         struct reverse_recorded_way *way, uint64_t *bytes);

#endif
