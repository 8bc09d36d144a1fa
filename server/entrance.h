/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may enter: the listening sockets of [gdb] listen, and what a connection must show before a
 * session sees it.
 */
#ifndef SERVER_ENTRANCE_H
#define SERVER_ENTRANCE_H

#include "server/connection.h"
#include "server/listener.h"

#define ENTRANCE_MAX_LISTENERS 32 /* with those that systemd hands over */

struct entrance {
    uv_loop_t *loop;
    struct listener listeners[ENTRANCE_MAX_LISTENERS];
    unsigned count;
    /* Gets a connection that is not started, and owns it. */
    void (*admitted)(void *ctx, struct connection *c);
    void *ctx;
};

/*
 * Takes all addresses, so that what is wrong with them shows before anything is started. Nobody
 * can connect yet. 0, or BT_ERR_IO with *why filled and nothing left to stop.
 */
int entrance_open(struct entrance *e, const struct config_access *config, struct message *why);

/* Accepts from now on. The structure must stay until the loop has ended. As entrance_open(). */
int entrance_start(struct entrance *e, uv_loop_t *loop,
                   void (*admitted)(void *ctx, struct connection *c), void *ctx,
                   struct message *why);

/* Closes the listening sockets; who was admitted stays. */
void entrance_stop(struct entrance *e);

/* A line for each address, first what to type in GDB: `extended` or not. The port lines are what
 * front ends that start a server look for. */
void entrance_announce(const struct entrance *e, bool extended);

#endif
