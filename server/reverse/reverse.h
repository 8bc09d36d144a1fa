/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A position in the history of one halted core, and motion along it in both directions (GDB manual,
 * "Reverse Execution"). Position p is the state before instruction number p runs; the last position
 * is the halted core.
 */
#ifndef SERVER_REVERSE_H
#define SERVER_REVERSE_H

#include "server/history/btrace_blocks.h"

struct reverse {
    struct btrace_view view;
    struct code_cache code;
    struct halt_join join;
    /* Behind the end of the history, oldest first. */
    struct bt_block extra[HISTORY_TAIL_MAX + HALT_JOIN_BRANCHES + 1];
    size_t extra_count;
    uint64_t first;    /* oldest position */
    uint64_t end;      /* of the halted core */
    uint64_t position; /* first .. end */
};

/*
 * What is at hand of the history: from one checkpoint to the next, or what lies behind its end.
 * Valid until the next call with that history.
 */
struct reverse_history_window {
    struct history_window window;
    const struct bt_block *extra; /* instead of the window's blocks; NULL: those of the window */
    uint64_t first, end;
    size_t block_count;
    struct code_key key; /* who reads code at the window's end */
};

/*
 * The core is halted as `view` says; what it points to must stay as long. The position is the
 * halted core's. BT_OK, BT_ERR_NOMEM, or BT_ERR_RANGE when there is no history; release in all
 * cases.
 */
int reverse_init(struct reverse *p, const struct btrace_view *view);
void reverse_release(struct reverse *p);

/* The core is shown as it was, not as it is. */
static inline bool reverse_active(const struct reverse *p)
{
    return p->position < p->end;
}

/* Whether the instructions of a block before its last one have run. */
enum bt_cond reverse_inner_condition(const struct reverse *p,
                                     const struct reverse_history_window *s,
                                     const struct bt_block *b);

/* The PC at a position. BT_OK, BT_ERR_RANGE, or what reading the history returned. */
int reverse_pc(struct reverse *p, uint64_t position, uint64_t *pc, enum bt_isa *isa);

/* Does an instruction that was executed near the position lie in the four bytes there? It had run
 * by then, or ran there, unless `later` ones count, too. */
bool reverse_ran(struct reverse *p, uint64_t address, bool later);

/* Who has executed the instruction at a position less than p->end: security state, context ID.
 * BT_OK, BT_ERR_RANGE, or what reading the history returned. */
int reverse_key(struct reverse *p, uint64_t position, struct code_key *key);

/* Number of windows, and each of them, oldest first. As history_window_index(). */
static inline size_t reverse_history_window_count(const struct reverse *p)
{
    return history_window_count(p->view.history) + 1;
}

int reverse_history_window(struct reverse *p, size_t index, struct reverse_history_window *out);
/* Index of the window that holds `position`, which is less than p->end. */
int reverse_history_window_find(const struct reverse *p, uint64_t position, size_t *index);

/* Block number `i` of the window. */
static inline void reverse_block(const struct reverse_history_window *s, size_t i,
                                 struct bt_block *out)
{
    if (s->extra)
        *out = s->extra[i];
    else
        history_block(&s->window, i, out);
}

/* Index of the block of `s` that holds `position`; returns the number of its first instruction. */
uint64_t reverse_block_find(const struct reverse_history_window *s, uint64_t position,
                            size_t *index);

/* The event means that instructions are missing at its position. */
bool reverse_is_gap(const struct reverse *p, const struct bt_event *event);

/* Why the place right before `position` is one where trace is missing; BT_GAP_NONE if it is not. */
enum bt_gap_cause reverse_gap_before(struct reverse *p, uint64_t position);

#endif
