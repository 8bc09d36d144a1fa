/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watchpoints at replay positions, by the addresses of the accesses that the history tells of.
 *
 * GDB takes a stop at a watchpoint for one in front of the access (ARM), steps over it by itself in
 * the direction of the motion, and shows the stop if the value is another one than it has seen
 * last. Going back it is stopped behind the access, so that its step ends in front of it. Where
 * GDB would see no other value, because neither is known, it gets a stop that it does not look
 * into, and the text says which watchpoint it is.
 */
#ifndef SERVER_REVERSE_WATCH_H
#define SERVER_REVERSE_WATCH_H

#include "server/reverse/reverse_accesses.h"

#define REVERSE_WATCHES_MAX  32
#define REVERSE_WATCH_BYTES  64 /* of a longer one GDB's values are not followed */
#define REVERSE_POSSIBLE_MAX 20 /* that are listed */
#define REVERSE_SIGHTS       8

enum reverse_sight {
    REVERSE_SIGHT_NONE,  /* GDB is told that it cannot be read */
    REVERSE_SIGHT_BYTES, /* known */
    REVERSE_SIGHT_OTHER, /* GDB sees a value that is not looked at here */
};

struct reverse_content {
    enum reverse_sight sight;
    uint8_t bytes[REVERSE_WATCH_BYTES];
};

/* What GDB may have seen of a watchpoint last: when it stopped there, or where motions began since,
 * for it may have been set anew there. */
struct reverse_seen {
    struct target_breakpoint w;
    struct reverse_content last[REVERSE_SIGHTS]; /* different ones */
    unsigned count;                              /* more than fit: it may be any */
};

/* Accesses to addresses that are not known, in the order of the motion. */
struct reverse_possible {
    uint64_t count;
    uint64_t at[REVERSE_POSSIBLE_MAX]; /* instructions */
};

struct reverse_watching {
    struct reverse_accesses accesses;
    struct reverse_seen seen[REVERSE_WATCHES_MAX];
    size_t seen_count;
    bool told;          /* a stop was told in front of, or behind, that instruction: */
    uint64_t told_insn; /* the next motion goes over it */
    uint64_t told_at;   /* position of the stop */
    bool warned;        /* that steps pass such accesses */
    uint64_t shown;     /* how far a search was when that was said last */
    unsigned rounds;    /* of fetching memory for a window */

    /* The motion under way, or the last one. */
    struct target_breakpoint watches[REVERSE_WATCHES_MAX];
    size_t count;
    struct reverse_scan scan;
    struct reverse *reverse; /* while `take` runs */
    const struct reverse_values *values;
    const struct reverse_machine *machine;
    uint64_t from;
    bool noted; /* what was seen at `from` is in `seen` */
    struct reverse_possible possible;
    unsigned looks; /* of the slice at what one way alone does not know */
    bool again;     /* the slice ends, the instruction is looked at in the next */
    uint64_t hit;   /* instruction */
    const struct target_breakpoint *by;
    struct values_touch touch;
};

/* Is any of them a watchpoint? Those are taken for the motion from `position`; those that are gone
 * are forgotten, unless it is GDB's own step. */
bool reverse_watch_take(struct reverse_watching *g, uint64_t position,
                        const struct target_breakpoint *set, size_t count);

/* From position `from` to `to`, either way. */
void reverse_watch_begin(struct reverse_watching *g, uint64_t from, uint64_t to);

/* Does GDB watch a place there? */
bool reverse_watch_covers(const struct reverse_watching *g, uint64_t address, size_t len);

enum reverse_watch_result { REVERSE_WATCH_NONE, REVERSE_WATCH_HIT = 2 };

/* A slice. An enum reverse_watch_result, TARGET_PENDING, or a bt_error. */
int reverse_watch_some(struct reverse_watching *g, struct reverse *p,
                       const struct reverse_values *v, const struct reverse_machine *m,
                       uint32_t infer);

/*
 * The stop for the hit: its kind and address, and the position. True: GDB would not show it by
 * itself, `text` says it.
 */
bool reverse_watch_stop(struct reverse_watching *g, struct target_stop *stop, uint64_t *position,
                        char *text, size_t size);

/* What is to be said of accesses that may have been hits; "" if there were none. */
void reverse_watch_doubt(const struct reverse_watching *g, bool hit, char *text, size_t size);

/* Instruction `position` is added. */
void reverse_possible_add(struct reverse_possible *b, uint64_t position);

#endif
