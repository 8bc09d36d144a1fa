/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a live target's cores at a halt, for the values of the past: all registers, and
 * RAM, which is read in pieces behind what clients ask for, until the cores run.
 */
#ifndef SERVER_LIVE_SNAPSHOT_H
#define SERVER_LIVE_SNAPSHOT_H

#include "drivers/target/target.h"
#include "server/reverse/reverse_forward.h"

#define LIVE_SNAPSHOT_RANGES 64u

struct live;

/* Of one core. */
struct live_snapshot_core {
    struct reverse_forward forward;
    struct live *live;
    unsigned core; /* of the board file */
    /* What is to be read of it at this halt, the likely first, and where that is. */
    struct reverse_span ranges[LIVE_SNAPSHOT_RANGES];
    size_t range_count, range;
    uint64_t next;
};

/* READING: a question is under way, or its turn comes; HOLDING: and clients are not told of the
 * halt before all is read. To IDLE from each, when it is over or the cores run. */
enum live_snapshot_reading {
    LIVE_SNAPSHOT_IDLE,
    LIVE_SNAPSHOT_READING,
    LIVE_SNAPSHOT_HOLDING,
};

struct live_snapshot {
    enum live_snapshot_reading reading;
    struct live_snapshot_core *cores[TARGET_CORES_MAX]; /* NULL: its past is not worked out */
    uint32_t halt;     /* number of the halt, or of what was written at it */
    bool moved, reset; /* registers were written; all may be otherwise; to be looked at */
    bool ran;          /* the cores have run since the latest state */
    bool steps;        /* the cores were let run for one instruction */
    bool stepped;      /* and have: nothing is kept of this halt until nobody asks any more */
    bool left_out;     /* a recording does not take more states, and it was said */
    unsigned core;     /* whose RAM is being read */
    size_t piece;      /* bytes of the next question; 0: none was asked yet */
    uint64_t bytes;    /* read at this halt */
    uint64_t asked_ns; /* when the question under way was */
};

/* All else of a halt is known, and clients are about to be told. True: live.tell() is called,
 * maybe from within, when its RAM has been read, too. */
bool live_snapshot_halted(struct live *l);
/* Now and then: who steps waits for nothing; where stepping has come to rest is a halt as others.
 */
void live_snapshot_tick(struct live *l);
/* The cores run: what was read is known. */
void live_snapshot_resumed(struct live *l);
/* The debugger has written registers, or (reset) the target has started over. */
void live_snapshot_moved(struct live *l, bool reset);
/* It has written memory. */
void live_snapshot_written(struct live *l, uint64_t address, uint64_t length);
/* A recording begins at this halt, or while the cores run; or it is about to end. */
void live_snapshot_record(struct live *l, bool begins);
/* Numbers of instructions mean others now. */
void live_snapshot_renumbered(struct live *l);
void live_snapshot_release(struct live *l);

#endif
