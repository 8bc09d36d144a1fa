/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ran when: calls, exceptions and gaps of each core as a Perfetto trace. The trace is walked
 * twice: what there is, and how calls spread over their lengths, is known before a byte is written.
 */
#ifndef SERVER_TIMELINE_H
#define SERVER_TIMELINE_H

#include "server/export/export_args.h"

struct timeline_result {
    uint64_t left_out; /* calls: too short, or no room for them */
    uint64_t untold;   /* what the ITM told, and there was no room for */
    uint64_t shortest; /* calls of fewer instructions are left out */
};

/* Of all sources. 0 or a bt_error; what cannot be written shows at the file. *out may be NULL: then
 * export_create() makes it, once there is something to be written. *why is filled for
 * BT_ERR_INVAL: the window is none. */
int timeline_write(const struct export_args *args, struct export_opened *o, FILE **out,
                   struct export_loss *loss, struct timeline_result *result, struct message *why);

#endif
