/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GDB server in a thread of its own, for a target behind a probe of ours: USB calls wait, and the
 * probe belongs to one thread. The rest of the daemon is its client over a pair of sockets, as it
 * is that of any other target's GDB server.
 *
 * Trace comes to the sink in that thread; at a halt all of it before the stop reply.
 */
#ifndef SERVER_PROBE_SERVER_H
#define SERVER_PROBE_SERVER_H

#include "server/probe/probe_target.h"

#include <uv.h>

#define PROBE_SERVER_SUMMARY 2048

struct probe_server {
    struct probe_target target; /* of the thread once it runs, but for what is atomic */
    struct gdb_session session;
    bool opened, started;
    uv_thread_t thread;
    int socket;                         /* the thread's end */
    char summary[PROBE_SERVER_SUMMARY]; /* what there was when it was opened, as lines */
    char sink[128];                     /* where trace goes to, in words; "": there is none */
};

/*
 * Opens probe, core, flash algorithm and trace units; see probe_target_open(). Nothing runs yet.
 * 0, or a bt_error with *why filled. probe_server_stop() in all cases.
 */
int probe_server_open(struct probe_server *n, struct config *config, const struct trace_sink *sink,
                      struct message *why);

/*
 * Starts the thread. `moved` is called in it when the halted core is elsewhere than it was, without
 * any packet having told so. Returns the caller's end of the connection, or a bt_error.
 */
int probe_server_start(struct probe_server *n, void (*moved)(void *ctx), void *ctx);

/* Waits for the end of the thread, which comes when the caller's end is closed, and closes
 * everything. Nothing is called after it. Also for a server that is all zero. */
void probe_server_stop(struct probe_server *n);

/* Resets of the target so far, those by others too. Any thread. */
static inline unsigned probe_server_resets(const struct probe_server *n)
{
    return atomic_load(&n->target.resets);
}

/* Whether the probe or the target does not answer now, and how often that began. Any thread. */
static inline bool probe_server_is_lost(const struct probe_server *n, unsigned *losses)
{
    *losses = atomic_load(&n->target.losses);
    return atomic_load(&n->target.gone);
}

#endif
