/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What software tells by an STM, on tracks of its own: text and numbers of each channel of each
 * master, triggers, losses. Time is that of its timestamps. Private to the timeline.
 */
#ifndef SERVER_TIMELINE_STM_H
#define SERVER_TIMELINE_STM_H

#include "perfetto.h"
#include "server/export/export_args.h"

/*
 * As a process of its own. At most `max_bytes` are added to `out`, 0: no limit was asked for;
 * events without room are added to *left_out. 0 or a bt_error.
 */
int timeline_stm(struct export_opened *o, const struct recording_source *stm, uint64_t max_bytes,
                 uint64_t track, struct perfetto *out, uint64_t *left_out);

#endif
