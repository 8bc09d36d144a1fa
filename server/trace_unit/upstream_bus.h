/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CoreSight bus whose accesses are memory packets of the target's own GDB server. That server is
 * talked to on the event loop; who uses the bus waits in another thread (one at a time), never on
 * the loop. The cores must be halted. Specification: coresight-registers, section 2.
 */
#ifndef SERVER_UPSTREAM_BUS_H
#define SERVER_UPSTREAM_BUS_H

#include "drivers/coresight/coresight.h"
#include "protocol/remote/gdb_upstream.h"

#include <uv.h>

#define UPSTREAM_BUS_WORDS 256 /* of one access on the loop */

/* Whoever holds the lock; but `bus` is the user's. */
struct upstream_bus {
    struct coresight_bus bus;
    struct gdb_upstream *upstream;
    unsigned timeout_ms;
    bool big_endian; /* words in memory are */
    uv_async_t wake;
    uv_mutex_t lock;
    uv_cond_t done;
    bool open, stopping;
    bool failed; /* since upstream_bus_begin(): accesses fail at once */
    /* The access under way. */
    uint64_t serial; /* of it; an answer to another one comes too late */
    bool wanted, finished, write;
    uint64_t address;
    size_t count, good; /* words */
    uint8_t bytes[4 * UPSTREAM_BUS_WORDS];
};

/* On the loop. 0 or BT_ERR_NOMEM; close in all cases. `timeout_ms` is for one access. */
int upstream_bus_open(struct upstream_bus *b, uv_loop_t *loop, struct gdb_upstream *upstream,
                      unsigned timeout_ms, bool big_endian);

/*
 * In the thread that uses b->bus, before it begins: a time-out makes all accesses behind it fail at
 * once, until here.
 */
void upstream_bus_begin(struct upstream_bus *b);

/* On the loop: accesses fail from now on, and the handle is closed. */
void upstream_bus_stop(struct upstream_bus *b);

/* When the loop has ended and nobody uses the bus. */
void upstream_bus_close(struct upstream_bus *b);

#endif
