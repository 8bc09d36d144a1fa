/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CoreSight bus over the memory of a target. The target belongs to the event loop; who uses the
 * bus waits in another thread (one at a time), never on the loop. The cores must be halted. An
 * access ends at the latest when the target's deadline is over, for which the loop must go on.
 */
#ifndef SERVER_TARGET_BUS_H
#define SERVER_TARGET_BUS_H

#include "drivers/coresight/coresight.h"
#include "drivers/target/target.h"

#include <uv.h>

#define TARGET_BUS_WORDS 256 /* of one access on the loop */

/* CLOSED -> OPEN -> STOPPING -> CLOSED. */
enum target_bus_state {
    TARGET_BUS_CLOSED,
    TARGET_BUS_OPEN,
    TARGET_BUS_STOPPING, /* accesses fail */
};

/* DONE -> WANTED -> ASKED -> DONE. */
enum target_bus_access {
    TARGET_BUS_DONE,   /* or none yet */
    TARGET_BUS_WANTED, /* the loop is to ask */
    TARGET_BUS_ASKED,
};

/* Whoever holds the lock; but `bus` is the user's. */
struct target_bus {
    struct coresight_bus bus;
    struct target *target;
    bool big_endian; /* words in memory are */
    uv_async_t wake;
    uv_mutex_t lock;
    uv_cond_t done;
    enum target_bus_state state;
    enum debug_failure failed; /* since target_bus_begin(): accesses fail at once */
    /* The access under way. */
    enum target_bus_access access;
    bool write;
    uint64_t address;
    size_t count, good; /* words */
    uint8_t bytes[4 * TARGET_BUS_WORDS];
};

/* On the loop. 0 or BT_ERR_NOMEM; close in all cases. */
int target_bus_open(struct target_bus *b, uv_loop_t *loop, struct target *target, bool big_endian);

/*
 * In the thread that uses b->bus, before it begins: a target that is late or lost makes all
 * accesses behind it fail at once, until here.
 */
void target_bus_begin(struct target_bus *b);

/* On the loop: accesses fail from now on, and the handle is closed. The target must have answered
 * what it was asked, or do so before target_bus_close(). */
void target_bus_stop(struct target_bus *b);

/* When the loop has ended and nobody uses the bus. */
void target_bus_close(struct target_bus *b);

#endif
