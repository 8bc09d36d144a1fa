/* SPDX-License-Identifier: BSD-3-Clause */
/* A live target without GDB, for `btraced run`: `btraced record` with somebody who looks on. */
#ifndef SERVER_SERVE_H
#define SERVER_SERVE_H

#include "server/config/serve_args.h"
#include "server/live/live.h"

/* Called from the event loop. */
struct serve_attendant {
    /* The target is halted for the first time, and recorded; target_resume() is to follow. */
    void (*ready)(void *ctx, struct live *l);
    /* Everything about a halt is known. True: it is the last one. Otherwise the target is to be
     * resumed. */
    bool (*halted)(void *ctx, struct live *l);
    /* A line of the board's program. */
    void (*said)(void *ctx, const char *line);
    /* The end, whatever its reason; the recording is still open, what `ready` has opened on the
     * loop is to be closed. Also called when `ready` was not. */
    void (*ended)(void *ctx, struct live *l);
    void *ctx;
};

/* Runs the target until an end; `args` as of `btraced record`. EXIT_OK, or an exit code whose
 * reason is logged. */
int serve_unattended(const struct serve_args *args, const struct serve_attendant *attendant);

/* From within: the end, with that exit code, as soon as the target has been let go. */
void serve_end(struct live *l, int code);

#endif
