/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A position in the history of one halted core, and motion along it in both directions (GDB manual,
 * "Reverse Execution"). Position p is the state before instruction number p runs; the last position
 * is the halted core. Searches decode the history window by window and look at blocks, not at
 * single instructions; they can be done in slices.
 *
 * Places where trace is missing are never passed unnoticed: a search ends right behind one, a
 * step says so.
 */
#ifndef SERVER_REVERSE_H
#define SERVER_REVERSE_H

#include "server/history/btrace_blocks.h"

#define REVERSE_BREAKPOINTS_MAX 256

struct reverse {
    struct btrace_view view;
    struct code_cache code;
    struct halt_join join;
    struct bt_block extra[HISTORY_TAIL_MAX + 1]; /* behind the end of the history, oldest first */
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
bool reverse_active(const struct reverse *p);

/* The PC at a position. BT_OK, BT_ERR_RANGE, or what reading the history returned. */
int reverse_pc(struct reverse *p, uint64_t position, uint64_t *pc, enum bt_isa *isa);

/* The security state that the instruction at a position less than p->end was executed in. BT_OK,
 * BT_ERR_RANGE, or what reading the history returned. */
int reverse_security(struct reverse *p, uint64_t position, enum bt_security *security);

/* Number of windows, and each of them, oldest first. As history_window_index(). */
size_t reverse_history_window_count(const struct reverse *p);
int reverse_history_window(struct reverse *p, size_t index, struct reverse_history_window *out);
/* Index of the window that holds `position`, which is less than p->end. */
int reverse_history_window_find(const struct reverse *p, uint64_t position, size_t *index);
void reverse_block(const struct reverse_history_window *s, size_t i, struct bt_block *out);
/* Index of the block of `s` that holds `position`; returns the number of its first instruction. */
uint64_t reverse_block_find(const struct reverse_history_window *s, uint64_t position,
                            size_t *index);

/* Address of instruction `index` of a block; BT_ERR_NO_CODE if its code is not known. */
int reverse_address(struct reverse *p, const struct code_key *key, const struct bt_block *block,
                    uint64_t index, uint64_t *address);

/* The event means that instructions are missing at its position. */
bool reverse_is_gap(const struct reverse *p, const struct bt_event *event);

/* Why the place right before `position` is one where trace is missing; BT_GAP_NONE if it is not. */
enum bt_gap_cause reverse_gap_before(struct reverse *p, uint64_t position);

enum reverse_found {
    REVERSE_FOUND_NOTHING, /* the end of the history was reached; position is first or end */
    REVERSE_FOUND_BREAKPOINT,
    REVERSE_FOUND_GAP,  /* trace is missing right before the position */
    REVERSE_FOUND_MORE, /* the slice is over: go on with reverse_search_run() */
};

/* A motion to the next breakpoint. The position where it starts does not count. */
struct reverse_search {
    uint64_t from;
    bool back;
    bool all_gaps; /* stops also where the trace unit was told to leave instructions out */
    uint64_t addresses[REVERSE_BREAKPOINTS_MAX];
    size_t address_count;
    uint64_t low, high;      /* of the addresses; set by reverse_search_begin() */
    size_t next;             /* window to be looked at next */
    uint64_t reached;        /* all positions up to here are looked at: where an interrupt stops */
    uint64_t found;          /* where the search ended */
    enum bt_gap_cause cause; /* of the gap found */
    size_t left_out;         /* places passed where the trace unit left instructions out */
};

/* From p->position; addresses and `back` are set by the caller. */
int reverse_search_begin(struct reverse *p, struct reverse_search *s);

/*
 * Looks at windows until something is found or `windows` of them are done. The result is an
 * enum reverse_found or a bt_error; the position of `p` does not change.
 */
int reverse_search_run(struct reverse *p, struct reverse_search *s, size_t windows);

#endif
