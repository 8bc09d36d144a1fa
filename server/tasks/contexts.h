/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Context IDs in the trace of a core as its tasks: an operating system writes one for each. One
 * holds from its place in the history up to the next one's, or to where bytes of the trace are
 * missing. Behind the last branch before a halt none is told: the trace may not have come to it.
 */
#ifndef SERVER_CONTEXTS_H
#define SERVER_CONTEXTS_H

#include "server/base/console.h"
#include "server/reverse/reverse_motion.h"

/* At a replay position: which one ran there is added to `text`, a string, of `size` bytes. False:
 * that is not known. */
bool contexts_status(struct reverse_motion *m, int core, char *text, size_t size);

/*
 * `monitor tasks`, with what stands behind it: which one ran at the position, the switches before
 * it, or a jump to the next one. BT_OK: all is said; TARGET_PENDING: host.answered() follows;
 * BT_ERR_UNSUPPORTED: the core has no history, or no context IDs in it; or BT_ERR_NOMEM.
 */
int contexts_command(struct reverse_motion *m, int core, const char *rest, const struct console *c);

#endif
