/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values forwards: from what is known of a core at a halt, or at a reset, the history is executed
 * up to the next place where something is known, and compared with it. A segment of the history
 * between two such places is told when its end has proved it, or when trace is missing before the
 * end; one that contradicts itself never is.
 *
 * RAM that differs at the end was written from outside: its ranges are not trusted from then on,
 * and all is worked out again without them. For one thread, that of the event loop; positions are
 * those of the core's history.
 */
#ifndef SERVER_REVERSE_FORWARD_H
#define SERVER_REVERSE_FORWARD_H

#include "server/base/console.h"
#include "server/config/config.h"
#include "server/reverse/reverse_map.h"
#include "server/reverse/reverse_path.h"
#include "server/reverse/reverse_snapshot.h"

#define REVERSE_FORWARD_MEMORY  (256u << 20) /* default budget */
#define REVERSE_FORWARD_OUTSIDE 64u          /* ranges written from outside that are remembered */
#define REVERSE_FORWARD_LINE    32u          /* bytes around one that somebody else has written, */
#define REVERSE_FORWARD_LINES   65536u       /* and how many of them are told apart */
#define REVERSE_FORWARD_STATES  512u         /* the oldest go */
#define REVERSE_STACK_NEAR      16384u       /* bytes on either side of SP that are the stack */
#define REVERSE_FORWARD_SLICE   8192u        /* instructions of a millisecond or less */

/*
 * OPEN      not worked out, or not to its end yet
 * COMPARING its end is being compared
 * PROVED    its end is as it was predicted
 * CUT       up to `reach` only: trace, or code, is missing there, and no halt proves it
 * BROKEN    not told: see `why`
 *
 * OPEN to COMPARING to PROVED or BROKEN, OPEN to CUT or BROKEN; from each to OPEN when a range is
 * found to be written from outside.
 */
enum reverse_segment_status {
    REVERSE_SEGMENT_OPEN,
    REVERSE_SEGMENT_COMPARING,
    REVERSE_SEGMENT_PROVED,
    REVERSE_SEGMENT_CUT,
    REVERSE_SEGMENT_BROKEN,
};

enum reverse_segment_why {
    REVERSE_WHY_NONE,
    REVERSE_WHY_GAP,      /* trace is missing */
    REVERSE_WHY_CODE,     /* what ran there is not known */
    REVERSE_WHY_PATH,     /* what is known leads elsewhere than the trace */
    REVERSE_WHY_REGISTER, /* one is another one at the halt */
    REVERSE_WHY_MEMORY,   /* too much of RAM is other than predicted */
    REVERSE_WHY_MOVED,    /* the history has it no more, or elsewhere */
    REVERSE_WHY_BUDGET,   /* it takes more memory than allowed */
};

/* A checkpoint. */
struct reverse_point {
    uint64_t position;
    struct execute_regs regs;
    struct execute_memory memory;
};

/* Memory that was stored to: sorted, apart from each other, in multiples of 1 << grain bytes. */
struct reverse_stores {
    struct reverse_span *at;
    size_t count, max;
    unsigned grain;
    bool all; /* any address */
};

/* What was known at a place, and what follows from it. */
struct reverse_segment {
    struct reverse_snapshot state;
    enum reverse_segment_status status;
    enum reverse_segment_why why;
    unsigned reg;   /* of REVERSE_WHY_REGISTER */
    uint64_t reach; /* PROVED, CUT: told of positions less than this */
    struct reverse_point *points;
    size_t point_count, point_max;
    uint64_t interval; /* instructions between points */
    size_t compared;   /* pieces of the state at its end */
    bool differs;      /* one of them did, in memory that no instruction has stored to, */
    bool derives;      /* or that one has: it may follow from such memory */
    bool believes;     /* worked out against what contradicts the path at `reach`: to see what of
                          memory differs at its end */
    /* With several cores, see reverse_cores.c. */
    struct reverse_forward *of;
    struct reverse_stores stores; /* by its instructions, or perhaps so */
    struct reverse_stores shared; /* by those of other cores meanwhile */
    unsigned shares;              /* how often more of these were found */
    bool settled;                 /* all are */
    bool moved;                   /* addresses were not those of memory, or may have been others */
};

/* Memory that somebody else has written. */
struct reverse_outside {
    uint64_t from, to;
    char name[64];    /* of the variable; "": none */
    uint64_t touched; /* position behind the latest instruction that accessed it; 0: none has */
    uint64_t pc;      /* of that */
};

struct reverse_forward;

struct reverse_forward_owner {
    /* RAM and constants of the core: BT_OK or BT_ERR_NOMEM. */
    int (*map)(void *ctx, struct reverse_map *map);
    /* The variable that holds an address, for its name and its bounds; false: none. */
    bool (*variable)(void *ctx, uint64_t address, uint64_t *start, uint64_t *size,
                     const char **name);
    /* Of several cores that share RAM, the others: number `n`, *f NULL if nothing is known
     * forwards of it. False: there are no more. NULL: it is alone. */
    bool (*other)(void *ctx, unsigned n, struct reverse_forward **f);
    /* This core's history at the halt of now, for the others. False: there is none. */
    bool (*view)(void *ctx, struct btrace_view *view);
    void *ctx;
};

struct reverse_forward {
    struct reverse_forward_owner owner;
    struct execute_core core;
    struct execute_budget budget;
    struct reverse_map map;
    bool mapped;
    struct config_ranges promised; /* RAM that no other core writes, as the board file says */
    uint32_t halt;                 /* number of the halt of now, the same for all cores; not 0 */
    struct reverse place;          /* the history at that halt, if `placed`: for other cores */
    bool placed;
    struct reverse_segment **segments; /* oldest first; each ends where the next begins */
    size_t count, max;
    struct reverse_path_cache cache;
    struct execute_code *code; /* NULL: not made yet */
    struct reverse_path walk, view;
    struct reverse_segment *walked, *viewed;     /* NULL: none */
    uint32_t stored[REVERSE_FORWARD_LINES / 32]; /* while walking: lines that were stored to */
    struct reverse_outside outside[REVERSE_FORWARD_OUTSIDE];
    size_t outside_count;
    unsigned outside_found; /* changes when another one is found, or grows */
    unsigned rounds;        /* of finding such ranges, since the last state came */
    uint64_t insns;         /* executed */
    uint64_t conflicts;     /* what is known backwards and forwards, and differs */
};

/*
 * For the owner's map(), behind the program: what the board file says of RAM, and where SP was at
 * halts so far. BT_OK or BT_ERR_NOMEM.
 */
int reverse_forward_map(struct reverse_forward *f, struct reverse_map *map,
                        const struct config_ranges *ram, const struct config_ranges *shared);

void reverse_forward_init(struct reverse_forward *f, const struct execute_core *core,
                          const struct reverse_forward_owner *owner, size_t limit);
void reverse_forward_release(struct reverse_forward *f);
/* Positions mean something else now. */
void reverse_forward_clear(struct reverse_forward *f);
/* The core is about to run, or to be changed: its history will be another one. */
void reverse_forward_leave(struct reverse_forward *f);

/*
 * The core is halted at the end of `p`, and runs on from there. The state, to be filled; that of
 * the halt before when the core has not run since (`ran`: it has); NULL: no memory. It is valid
 * until the next call.
 */
struct reverse_snapshot *reverse_forward_halted(struct reverse_forward *f, struct reverse *p,
                                                uint64_t pc, bool ran);
/*
 * The debugger writes at that halt: the state from now on, for what is written. `reset`: nothing
 * that was known is so any more.
 */
struct reverse_snapshot *reverse_forward_written(struct reverse_forward *f, uint64_t pc,
                                                 bool reset);
/* A state that was recorded, behind those that are there: `s` is empty then. BT_OK or
 * BT_ERR_NOMEM. */
int reverse_forward_take(struct reverse_forward *f, struct reverse_snapshot *s);
/* The state of the latest halt, as it runs on from there; NULL: none. */
struct reverse_snapshot *reverse_forward_last(struct reverse_forward *f);
/* More of it has been read: it counts for what ends there, too. */
int reverse_forward_read(struct reverse_forward *f, uint64_t address, const uint8_t *bytes,
                         size_t length);
/* All is read of the latest halt that will be; `whole`: all that was to be read. */
void reverse_forward_complete(struct reverse_forward *f, bool whole);
/* The program in memory is another one. */
static inline void reverse_forward_unmap(struct reverse_forward *f)
{
    f->mapped = false;
}

/*
 * Works on what a position needs, about `budget` instructions. TARGET_PENDING: there is more to do;
 * BT_OK: there is not, or it waits for reverse_forward_complete(); or a bt_error.
 */
int reverse_forward_work(struct reverse_forward *f, struct reverse *p, uint64_t position,
                         size_t budget);
/* There is a segment that may tell of the position, and does not yet. */
bool reverse_forward_waits(const struct reverse_forward *f, uint64_t position);
/*
 * The first such segment from the position on, up to the halt: what is carried back from there
 * rests on nobody else having written it. *at: where it is; *soon: all that it needs is there, and
 * it takes a few milliseconds.
 */
bool reverse_forward_open(const struct reverse_forward *f, uint64_t position, uint64_t *at,
                          bool *soon);
/* Memory that somebody else has written, as far as that was found. */
bool reverse_forward_outside(const struct reverse_forward *f, uint64_t address);

/* The answers that follow are of this position; of the halt's own only if what leads to it is
 * proved. False: nothing is known of it. */
bool reverse_forward_at(struct reverse_forward *f, struct reverse *p, uint64_t position);
/*
 * Whether something is known of the accesses of instruction `position`, and of those around it:
 * *from and *to, at most as they are. If so it is at *from then, and reverse_forward_run() tells of
 * all accesses up to `to`, those of instruction view.insn and of exceptions behind it.
 */
bool reverse_forward_span(struct reverse_forward *f, struct reverse *p, uint64_t position,
                          uint64_t *from, uint64_t *to);
bool reverse_forward_run(struct reverse_forward *f, struct reverse *p, uint64_t to,
                         void (*accessed)(void *ctx, const struct execute_access *a), void *ctx);
/* Whether none of the instructions around `position` has stored into these bytes: *from and *to, at
 * most as they are. */
bool reverse_forward_kept(struct reverse_forward *f, struct reverse *p, uint64_t position,
                          uint64_t address, uint64_t size, uint64_t *from, uint64_t *to);
/* NULL: nothing is. Memory: false unless all bytes (1 to 16) are known. */
const struct execute_regs *reverse_forward_regs(const struct reverse_forward *f, uint64_t position);
bool reverse_forward_memory(struct reverse_forward *f, uint64_t position, uint64_t address,
                            uint8_t *bytes, unsigned size);

/* A byte of the program that is the same at all positions; false: it is none. */
bool reverse_forward_constant(struct reverse_forward *f, uint64_t address, uint8_t *byte);

/*
 * Register `reg` at the position, when `known` says whether *value is what it was as known
 * backwards: whether *value is valid then. Of two that differ neither is.
 */
bool reverse_forward_join(struct reverse_forward *f, uint64_t position, unsigned reg, bool known,
                          uint32_t *value);

/* Lines of `monitor past`. */
void reverse_forward_report(const struct reverse_forward *f, const struct console *c);

#endif
