/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who called whom, along the transfers that counts.h reports: the stack of open calls, and what ran
 * in each path of calls. Exceptions are roots of their own, and so is what follows a gap: nothing
 * is said of callers that the trace does not show. A jump into another function opens a call that
 * returns with its caller. A stack that an exception's return leaves for another one (a task's) is
 * kept, and found again by the task, if the caller says which one runs, otherwise by the address
 * where it was interrupted. Memory is bounded.
 */
#ifndef DECODER_CALLS_H
#define DECODER_CALLS_H

#include "decoder/counts/counts.h"

#define CALLS_DEPTH   512u
#define CALLS_CALLEES 2048u /* a power of two */
#define CALLS_NO_PATH UINT32_MAX

/* One way of calls that led into a function. A path stands behind that of its caller. */
struct calls_path {
    uint64_t function; /* its first address, or where it was entered if no name is known */
    uint64_t calls;
    uint64_t self; /* instructions in the function itself */
    uint64_t site; /* the instruction that called it; 0: a root, or right below a task */
    uint64_t self_cycles;
    uint64_t all; /* calls_finish(): with everything called from there, but for exceptions */
    uint64_t all_cycles;
    uint32_t parent;   /* index; CALLS_NO_PATH: a root */
    int32_t exception; /* its number, of an exception's root; otherwise -1 */
    bool task; /* a root in which a task's calls are: `function` is that of calls_switch() */
};

/* Which path an edge led to, from another one. */
struct calls_callee {
    uint64_t way; /* the other one, and the edge's id; 0: nothing */
    uint32_t path;
};

struct calls_frame {
    uint64_t return_address; /* of an exception: where it interrupted; 0: not known */
    uint64_t function;
    uint32_t path;
    int32_t exception; /* -1: none */
    uint16_t below;    /* frames that stay when it returns */
    bool tail;         /* jumped to: it returns where the frame below does */
    bool begun;
    bool arrived; /* a root that went over to the stack of a task of which no calls are known */
};

struct calls_config {
    size_t max_paths; /* what is called by further ones counts for its caller; 0: 64 Ki */
    bool m_profile;   /* events of an exception return end exceptions */

    /* Optional: a call begins before instruction `number`; the newest one ends. */
    void (*begin)(void *ctx, const struct calls_frame *frame, uint64_t number, uint64_t cycles);
    void (*end)(void *ctx, uint64_t number, uint64_t cycles);
    void *ctx;
};

#define CALLS_STACKS 32u /* of tasks that do not run */

struct calls_stack {
    struct calls_frame *frames;
    uint64_t resume;
    uint64_t used; /* when it was put away */
    uint32_t task; /* as in struct calls */
    unsigned count;
};

struct calls {
    struct calls_config config;
    struct calls_path *paths;
    size_t path_count, path_max;
    uint32_t *places; /* a hash table of the paths */
    size_t place_count;
    struct calls_callee callees[CALLS_CALLEES]; /* some of them, by a hash of the way */
    struct calls_frame frames[CALLS_DEPTH];
    unsigned depth, deepest; /* calls_follow(): the most since its user set it */
    struct calls_stack stacks[CALLS_STACKS];
    uint64_t stacks_used;
    uint32_t task;        /* path of the one that runs; CALLS_NO_PATH: not known */
    bool switched;        /* calls_switch(): calls may be those of another task */
    uint64_t interrupted; /* where the exception did that an event has closed last */
    uint64_t number;      /* up to here it is known what ran where */
    uint64_t cycles;
    uint64_t crowded; /* calls that found no room */
};

/* BT_ERR_NOMEM. Release in both cases. */
int calls_init(struct calls *c, const struct calls_config *config);
void calls_release(struct calls *c);

/* In the order and with the arguments of struct counts_config. All edges are those of the same
 * counts. */
void calls_transfer(void *calls, const struct counts_edge *edge, uint64_t number, uint64_t cycles);
void calls_transfers(void *calls, const struct counts_transfer *transfers, size_t count,
                     uint64_t cycles);
void calls_event(void *calls, const struct bt_event *event, uint64_t cycles);

/* From instruction `number` on `task` is the current one: the address of its control block; 0: that
 * is not known. Before what comes there. What runs outside of exceptions is the current task's. */
void calls_switch(struct calls *c, uint64_t task, uint64_t number);

/* Nothing more runs: ends what is open, and adds up. */
void calls_finish(struct calls *c, uint64_t number, uint64_t cycles);

#endif
