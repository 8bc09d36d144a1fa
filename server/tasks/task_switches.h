/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which task ran when, in the history of a halted core: each store to the kernel's pointer to the
 * current task that the DWT told of (address of the instruction, value) is found on the traced
 * path. Both are whole and in order, so that the last store of one is the last of the other, and so
 * on backwards. That ends where either lacks something, or one contradicts the other; and nothing
 * is said where the last value is not the present one.
 */
#ifndef SERVER_TASK_SWITCHES_H
#define SERVER_TASK_SWITCHES_H

#include "server/reverse/reverse.h"

#define TASK_SWITCHES_MAX 4096u
#define TASK_STORE_SITES  8u

struct task_store {
    uint32_t pc, value;
};

/* From `position` on `task` is the current one, up to the next entry's. */
struct task_switch {
    uint64_t position;
    uint32_t task; /* address of its control block */
};

/* All zero: nothing is known yet. */
struct task_switches {
    struct task_store *stores; /* newest first */
    size_t store_count, store_next;
    uint32_t sites[TASK_STORE_SITES]; /* instructions that store */
    size_t site_count;
    struct task_switch *list; /* newest first; behind the last of `list` it is known, too: */
    size_t count;
    uint32_t task;    /* that ran from `reached` up to the oldest switch */
    uint64_t reached; /* from here on it is known */
    uint64_t end;     /* position of the halted core */
    bool begun, ended;
    char why[96]; /* why it ended */
};

void task_switches_release(struct task_switches *s);

/* `stores`, newest first, are copied; `present` is what the pointer holds at the halt, which is at
 * p->end. BT_OK or BT_ERR_NOMEM. */
int task_switches_begin(struct task_switches *s, const struct reverse *p,
                        const struct task_store *stores, size_t count, uint32_t present);

/*
 * Looks further back: until the task at `position` is known, or `count` switches are, or `blocks`
 * of the history have been looked at. True: it has come so far, or to where nothing more can be
 * known. With the history locked.
 */
bool task_switches_extend(struct task_switches *s, struct reverse *p, uint64_t position,
                          size_t count, size_t blocks);

/* The current task at a position; false: it is not known. */
bool task_switches_at(const struct task_switches *s, uint64_t position, uint32_t *task);

#endif
