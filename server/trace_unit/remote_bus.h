/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CoreSight bus whose accesses are memory packets of a remote target's GDB server. That server is
 * talked to on the event loop; who uses the bus waits in another thread (one at a time), never on
 * the loop. The cores must be halted. Packets m and M: GDB manual, "Packets".
 */
#ifndef SERVER_REMOTE_BUS_H
#define SERVER_REMOTE_BUS_H

#include "drivers/coresight/coresight.h"
#include "protocol/remote/gdb_remote.h"

#include <uv.h>

#define REMOTE_BUS_WORDS 256 /* of one access on the loop */

/* CLOSED -> OPEN -> STOPPING -> CLOSED. */
enum remote_bus_state {
    REMOTE_BUS_CLOSED,
    REMOTE_BUS_OPEN,
    REMOTE_BUS_STOPPING, /* accesses fail */
};

/* DONE -> WANTED -> ASKED -> DONE; from WANTED to DONE, too, when it comes too late. */
enum remote_bus_access {
    REMOTE_BUS_DONE,   /* or none yet */
    REMOTE_BUS_WANTED, /* the loop is to ask */
    REMOTE_BUS_ASKED,
};

/* Whoever holds the lock; but `bus` is the user's. */
struct remote_bus {
    struct coresight_bus bus;
    struct gdb_remote *remote;
    unsigned timeout_ms;
    bool big_endian; /* words in memory are */
    uv_async_t wake;
    uv_mutex_t lock;
    uv_cond_t done;
    enum remote_bus_state state;
    bool failed; /* since remote_bus_begin(): accesses fail at once */
    /* The access under way. */
    uint64_t serial; /* of it; an answer to another one comes too late */
    enum remote_bus_access access;
    bool write;
    uint64_t address;
    size_t count, good; /* words */
    uint8_t bytes[4 * REMOTE_BUS_WORDS];
};

/* On the loop. 0 or BT_ERR_NOMEM; close in all cases. `timeout_ms` is for one access. */
int remote_bus_open(struct remote_bus *b, uv_loop_t *loop, struct gdb_remote *remote,
                    unsigned timeout_ms, bool big_endian);

/*
 * In the thread that uses b->bus, before it begins: a time-out makes all accesses behind it fail at
 * once, until here.
 */
void remote_bus_begin(struct remote_bus *b);

/* On the loop: accesses fail from now on, and the handle is closed. */
void remote_bus_stop(struct remote_bus *b);

/* When the loop has ended and nobody uses the bus. */
void remote_bus_close(struct remote_bus *b);

#endif
